/* Somebody's numbers by the time at which something is due for them, the earliest first; of two at the same time the one
 * that was put in first. Each push and pop costs O(log n). One owner; only init allocates. */
#ifndef PL_BASE_WAKES_H
#define PL_BASE_WAKES_H

#include <stddef.h>
#include <stdint.h>

struct pl_wake {
    int64_t at_ns;
    uint64_t order;
    uint32_t client;
};
struct pl_wakes {
    struct pl_wake *heap;
    size_t count;
    uint64_t pushed;
};
void pl_wakes_init(struct pl_wakes *wakes, size_t capacity);
void pl_wakes_release(struct pl_wakes *wakes);
void pl_wakes_push(struct pl_wakes *wakes, uint32_t client, int64_t at_ns); /* there is room */
struct pl_wake pl_wakes_pop(struct pl_wakes *wakes);                        /* there is one */
void pl_wakes_remove(struct pl_wakes *wakes, uint32_t client);              /* O(n); it may be in once or not at all */
static inline int64_t pl_wakes_next_ns(const struct pl_wakes *wakes)
{
    return wakes->count == 0 ? INT64_MAX : wakes->heap[0].at_ns;
}

#endif
