/* What leaves a worker one by one: ended operations, in chunks, and notices. */
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "load/recorder_int.h"

#include "base/ban.h"

enum { NAP_NS = 50000 };

/* ---- ended operations ---- */

void recorder_log_init(struct recorder_log *log, bool is_wanted, const atomic_int *hurry)
{
    *log = (struct recorder_log){.hurry = hurry};
    if (!is_wanted)
        return;
    log->chunks = pl_new(RECORDER_CHUNKS, sizeof *log->chunks);
    pl_ring_init(&log->full, sizeof(struct recorder_chunk *), RECORDER_CHUNKS);
    pl_ring_init(&log->empty, sizeof(struct recorder_chunk *), RECORDER_CHUNKS);
    log->current = &log->chunks[0];
    for (int i = 1; i < RECORDER_CHUNKS; i++)
        recorder_log_give(log, &log->chunks[i]);
}

void recorder_log_release(struct recorder_log *log)
{
    if (log->chunks == NULL)
        return;
    pl_free(log->chunks);
    log->chunks = log->current = NULL;
    pl_ring_release(&log->full);
    pl_ring_release(&log->empty);
}

static void chunk_push(struct pl_ring *ring, struct recorder_chunk *chunk)
{
    bool pushed = pl_ring_push(ring, &chunk);
    assert(pushed); /* there is room for every chunk there is */
    (void)pushed;
}

/* Stands still until there is a chunk; when nobody takes any more what was logged is forgotten. */
static struct recorder_chunk *chunk_await(struct recorder_log *log)
{
    struct recorder_chunk *chunk = NULL;
    int64_t start_ns = pl_clock_ns();
    while (!pl_ring_pop(&log->empty, &chunk) && atomic_load_explicit(log->hurry, memory_order_relaxed) < RECORDER_ABANDONED)
        pl_clock_sleep_until(pl_clock_ns() + NAP_NS);
    log->wait_ns += pl_clock_ns() - start_ns;
    return chunk;
}

void recorder_log_add(struct recorder_log *log, const struct operation *operation)
{
    struct recorder_chunk *current = log->current;
    if (__builtin_expect(current->count == RECORDER_CHUNK_OPERATIONS, 0)) {
        struct recorder_chunk *next;
        if (!pl_ring_pop(&log->empty, &next))
            next = chunk_await(log);
        if (next == NULL) {
            current->count = 0;
        } else {
            chunk_push(&log->full, current);
            current = log->current = next;
        }
    }
    current->operations[current->count++] = *operation;
    log->logged++;
}

void recorder_log_flush(struct recorder_log *log)
{
    struct recorder_chunk *next;
    if (log->current == NULL || log->current->count == 0 || !pl_ring_pop(&log->empty, &next))
        return;
    chunk_push(&log->full, log->current);
    log->current = next;
}

void recorder_log_finish(struct recorder_log *log)
{
    if (log->current != NULL && log->current->count > 0)
        chunk_push(&log->full, log->current);
    log->current = NULL;
}

struct recorder_chunk *recorder_log_take(struct recorder_log *log)
{
    struct recorder_chunk *chunk;
    return log->chunks != NULL && pl_ring_pop(&log->full, &chunk) ? chunk : NULL;
}

void recorder_log_give(struct recorder_log *log, struct recorder_chunk *chunk)
{
    chunk->count = 0;
    chunk_push(&log->empty, chunk);
}

/* ---- notices ---- */

void recorder_notices_init(struct recorder_notices *notices, int clients, bool tells_failures)
{
    *notices = (struct recorder_notices){0};
    atomic_init(&notices->taken, 0);
    pl_ring_init(&notices->ring, sizeof(struct load_notice), (size_t)clients + (tells_failures ? RECORDER_NOTICES : 0));
}

void recorder_notices_release(struct recorder_notices *notices)
{
    pl_ring_release(&notices->ring);
}

void recorder_notice(struct recorder_notices *notices, const struct load_notice *notice)
{
    /* not acquire: the ring itself orders what is in it */
    int64_t waiting = notices->pushed - atomic_load_explicit(&notices->taken, memory_order_relaxed);
    if (notice->kind != LOAD_CLIENT_ENDED && waiting >= RECORDER_NOTICES) {
        notices->missed++;
        return;
    }
    bool pushed = pl_ring_push(&notices->ring, notice);
    assert(pushed); /* of failures there are never more than RECORDER_NOTICES in it */
    (void)pushed;
    notices->pushed++;
}

bool recorder_notice_take(struct recorder_notices *notices, struct load_notice *ret_notice)
{
    if (!pl_ring_pop(&notices->ring, ret_notice))
        return false;
    atomic_fetch_add_explicit(&notices->taken, 1, memory_order_relaxed);
    return true;
}
