/* Somebody's numbers by the time at which something is due for them, the earliest first; of two at the same time the one
 * that was put in first. Each push and pop costs O(log n). One owner; only init allocates. */
#ifndef PL_STAGE_WAKES_H
#define PL_STAGE_WAKES_H

#include <stddef.h>
#include <stdint.h>

struct stage_wake {
    int64_t at_ns;
    uint64_t order;
    uint32_t client;
};
struct stage_wakes {
    struct stage_wake *heap;
    size_t count;
    uint64_t pushed;
};
void stage_wakes_init(struct stage_wakes *wakes, size_t capacity);
void stage_wakes_release(struct stage_wakes *wakes);
void stage_wakes_push(struct stage_wakes *wakes, uint32_t client, int64_t at_ns); /* there is room */
struct stage_wake stage_wakes_pop(struct stage_wakes *wakes);                     /* there is one */
void stage_wakes_remove(struct stage_wakes *wakes, uint32_t client); /* O(n); it may be in once or not at all */
static inline int64_t stage_wakes_next_ns(const struct stage_wakes *wakes)
{
    return wakes->count == 0 ? INT64_MAX : wakes->heap[0].at_ns;
}

#endif
