/* Growing text with a maximum. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PL_HOME_OF_MEMORY
#include "base/ban.h"

void pl_buf_init(struct pl_buf *buf, size_t max_bytes)
{
    *buf = (struct pl_buf){.max = max_bytes};
}

void pl_buf_release(struct pl_buf *buf)
{
    free(buf->data);
    *buf = (struct pl_buf){.max = buf->max};
}

void pl_buf_clear(struct pl_buf *buf)
{
    buf->len = 0;
    buf->full = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Makes room for `more` bytes and a NUL, or as many as the maximum allows; returns how many. */
static size_t buf_reserve(struct pl_buf *buf, size_t more)
{
    if (more > buf->max - buf->len) {
        more = buf->max - buf->len;
        buf->full = true;
    }
    if (buf->len + more + 1 > buf->cap) {
        size_t cap = buf->cap < 256 ? 256 : buf->cap * 2;
        if (cap < buf->len + more + 1)
            cap = buf->len + more + 1;
        buf->data = realloc(buf->data, cap);
        if (buf->data == NULL)
            pl_panic("out of memory: %zu bytes", cap);
        buf->cap = cap;
    }
    return more;
}

void pl_buf_put_bytes(struct pl_buf *buf, const void *bytes, size_t length)
{
    size_t room = buf_reserve(buf, length);
    if (room > 0)
        memcpy(buf->data + buf->len, bytes, room);
    buf->len += room;
    buf->data[buf->len] = '\0';
}

void pl_buf_put(struct pl_buf *buf, const char *text)
{
    pl_buf_put_bytes(buf, text, strlen(text));
}

void pl_buf_printf(struct pl_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0)
        pl_panic("cannot format \"%s\"", fmt);
    size_t room = buf_reserve(buf, (size_t)length);
    va_start(args, fmt);
    vsnprintf(buf->data + buf->len, room + 1, fmt, args);
    va_end(args);
    buf->len += room;
}

const char *pl_buf_text(const struct pl_buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}
