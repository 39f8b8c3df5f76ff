/* A binary heap of times. */
#include "stage/wakes.h"

#include <assert.h>
#include <stdbool.h>

#include "base/arena.h"

#include "base/ban.h"

void stage_wakes_init(struct stage_wakes *wakes, size_t capacity)
{
    *wakes = (struct stage_wakes){.heap = pl_new(capacity, sizeof *wakes->heap)};
}

void stage_wakes_release(struct stage_wakes *wakes)
{
    pl_free(wakes->heap);
    wakes->heap = NULL;
}

static bool is_before(const struct stage_wake *a, const struct stage_wake *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

/* Puts a wake where `at` is free, or above. */
static void heap_rise(struct stage_wakes *wakes, size_t at, struct stage_wake wake)
{
    while (at > 0 && is_before(&wake, &wakes->heap[(at - 1) / 2])) {
        wakes->heap[at] = wakes->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    wakes->heap[at] = wake;
}

/* The same, or below. */
static void heap_sink(struct stage_wakes *wakes, size_t at, struct stage_wake wake)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= wakes->count)
            break;
        if (child + 1 < wakes->count && is_before(&wakes->heap[child + 1], &wakes->heap[child]))
            child++;
        if (!is_before(&wakes->heap[child], &wake))
            break;
        wakes->heap[at] = wakes->heap[child];
        at = child;
    }
    wakes->heap[at] = wake;
}

void stage_wakes_push(struct stage_wakes *wakes, uint32_t client, int64_t at_ns)
{
    heap_rise(wakes, wakes->count++, (struct stage_wake){.at_ns = at_ns, .order = wakes->pushed++, .client = client});
}

struct stage_wake stage_wakes_pop(struct stage_wakes *wakes)
{
    assert(wakes->count > 0);
    struct stage_wake first = wakes->heap[0], last = wakes->heap[--wakes->count];
    if (wakes->count > 0)
        heap_sink(wakes, 0, last);
    return first;
}

void stage_wakes_remove(struct stage_wakes *wakes, uint32_t client)
{
    size_t at = 0;
    while (at < wakes->count && wakes->heap[at].client != client)
        at++;
    if (at == wakes->count)
        return;
    struct stage_wake last = wakes->heap[--wakes->count];
    if (at == wakes->count)
        return;
    if (at > 0 && is_before(&last, &wakes->heap[(at - 1) / 2]))
        heap_rise(wakes, at, last);
    else
        heap_sink(wakes, at, last);
}
