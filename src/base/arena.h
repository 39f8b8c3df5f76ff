/* Memory grouped by lifetime: everything taken from an arena lives until the arena is freed.
 *
 * Out of memory is fatal (pl_panic). That is honest only because every size that input can choose is first checked
 * against base/limits.h. An arena belongs to one thread at a time. */
#ifndef PL_BASE_ARENA_H
#define PL_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

struct pl_arena;

struct pl_arena *pl_arena_new(void);
void pl_arena_free(struct pl_arena *arena); /* NULL is fine */

/* Has pl_arena_free call release(what) first, the last one first: for what lives as long as the arena but not in it. */
void pl_arena_on_free(struct pl_arena *arena, void (*release)(void *what), void *what);

/* count * size zeroed bytes, aligned for any type; a product that overflows is fatal. Never NULL. */
void *pl_alloc(struct pl_arena *arena, size_t count, size_t size);

/* Copies; the result ends in NUL. text may be NULL only when length is 0. */
char *pl_strdup(struct pl_arena *arena, const char *text);
char *pl_strndup(struct pl_arena *arena, const char *text, size_t length);
char *pl_format(struct pl_arena *arena, const char *fmt, ...) PL_PRINTF(2, 3);

/* Returns an array of at least `need` items that starts with the `count` items of `old` (NULL when count is 0);
 * *capacity is read and updated. Grows by doubling, so pushing n items costs O(n); the old copy stays in the arena. */
void *pl_grow(struct pl_arena *arena, void *old, size_t count, size_t need, size_t item_size, size_t *capacity);

/* Heap memory for what cannot live in an arena (histograms, rings). Fatal when there is none; zeroed. */
void *pl_new(size_t count, size_t size);
void pl_free(void *memory); /* NULL is fine */

#endif
