/* A binary heap of due times. */
#include "http/http_int.h"

#include <assert.h>

#include "base/ban.h"

void http_timers_init(struct http_timers *timers, size_t ids)
{
    *timers = (struct http_timers){.heap = pl_new(ids, sizeof *timers->heap),
                                   .keys = pl_new(ids, sizeof *timers->keys),
                                   .where = pl_new(ids, sizeof *timers->where)};
    for (size_t i = 0; i < ids; i++)
        timers->where[i] = -1;
}

void http_timers_release(struct http_timers *timers)
{
    pl_free(timers->heap);
    pl_free(timers->keys);
    pl_free(timers->where);
    *timers = (struct http_timers){0};
}

static void place(struct http_timers *timers, int at, uint32_t id, int64_t key)
{
    timers->heap[at] = id;
    timers->keys[at] = key;
    timers->where[id] = at;
}

static void sift_up(struct http_timers *timers, int at, uint32_t id, int64_t key)
{
    while (at > 0 && timers->keys[(at - 1) / 2] > key) {
        place(timers, at, timers->heap[(at - 1) / 2], timers->keys[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(timers, at, id, key);
}

static void sift_down(struct http_timers *timers, int at, uint32_t id, int64_t key)
{
    for (int child = 2 * at + 1; child < timers->count; child = 2 * at + 1) {
        if (child + 1 < timers->count && timers->keys[child + 1] < timers->keys[child])
            child++;
        if (timers->keys[child] >= key)
            break;
        place(timers, at, timers->heap[child], timers->keys[child]);
        at = child;
    }
    place(timers, at, id, key);
}

void http_timers_lower(struct http_timers *timers, uint32_t id, int64_t due_ns)
{
    int at = timers->where[id];
    if (at < 0)
        sift_up(timers, timers->count++, id, due_ns);
    else if (due_ns < timers->keys[at])
        sift_up(timers, at, id, due_ns);
}

int64_t http_timers_first_ns(const struct http_timers *timers)
{
    return timers->count > 0 ? timers->keys[0] : INT64_MAX;
}

int32_t http_timers_take(struct http_timers *timers, int64_t now_ns)
{
    if (timers->count == 0 || timers->keys[0] > now_ns)
        return -1;
    uint32_t id = timers->heap[0];
    timers->where[id] = -1;
    int last = --timers->count;
    if (last > 0)
        sift_down(timers, 0, timers->heap[last], timers->keys[last]);
    return (int32_t)id;
}
