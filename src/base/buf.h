/* Text that grows up to a stated maximum. Going past it sets `full` and keeps what fits: the writer checks once, at the
 * end. */
#ifndef PL_BASE_BUF_H
#define PL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pl_buf {
    char *data;      /* always ends in NUL once something was put; owned */
    size_t len, cap; /* bytes, without the NUL */
    size_t max;      /* bytes */
    bool full;
};

void pl_buf_init(struct pl_buf *buf, size_t max_bytes);
void pl_buf_release(struct pl_buf *buf); /* frees; init makes it usable again */
void pl_buf_clear(struct pl_buf *buf);   /* empties, keeps the memory */

void pl_buf_put(struct pl_buf *buf, const char *text);
void pl_buf_put_bytes(struct pl_buf *buf, const void *bytes, size_t length);
void pl_buf_printf(struct pl_buf *buf, const char *fmt, ...) PL_PRINTF(2, 3);

/* The text, "" when empty; valid until the next call on buf. */
const char *pl_buf_text(const struct pl_buf *buf);

#endif
