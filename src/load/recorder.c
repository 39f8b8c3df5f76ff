/* Slices and faults of one worker; and what leaves it one by one: ended operations, in chunks, and notices. */
#include "load/recorder_int.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

enum { NAP_NS = 50000 };

/* A histogram on the next counts of the slab. */
static void hist_place(struct hist *hist, int64_t **counts)
{
    hist_init_latency_on(hist, *counts);
    *counts += hist_latency_counts();
}

static void cells_init(struct recorder_cell *cells, const struct load_shape *shape, int64_t **counts)
{
    for (int lane = 0; lane < shape->lane_count; lane++) {
        struct recorder_cell *whole = &cells[shape->lanes[lane].first_cell];
        size_t steps = load_shape_steps(shape, lane);
        hist_place(&whole->response, counts);
        hist_place(&whole->lateness, counts);
        for (size_t cell = 0; cell <= steps; cell++) {
            hist_place(&whole[cell].service, counts);
            hist_place(&whole[cell].censored, counts);
        }
    }
}

/* One mapping for all counts: a process may have 65530 of them, and there may be more histograms. Pages of 2 MB would make
 * memory of what is never touched. */
static void slab_map(struct recorder *recorder)
{
    const struct load_shape *shape = recorder->shape;
    size_t hists = (size_t)2 * RECORDER_BUFFERS * 2 * (shape->cell_count + (size_t)shape->lane_count);
    recorder->slab_bytes = hists * hist_latency_counts() * sizeof *recorder->slab;
    void *slab =
        mmap(NULL, recorder->slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED)
        pl_panic("no memory: %zu bytes of address space for %zu histograms", recorder->slab_bytes, hists);
    madvise(slab, recorder->slab_bytes, MADV_NOHUGEPAGE); /* a kernel without them refuses: fine */
    recorder->slab = slab;
}

void recorder_init(struct recorder *recorder, const struct load_shape *shape, bool patient, const atomic_int *hurry)
{
    *recorder = (struct recorder){.shape = shape, .patient = patient, .hurry = hurry};
    pl_ring_init(&recorder->full, sizeof(struct recorder_buffer *), RECORDER_BUFFERS);
    pl_ring_init(&recorder->empty, sizeof(struct recorder_buffer *), RECORDER_BUFFERS);
    slab_map(recorder);
    int64_t *counts = recorder->slab;
    for (int i = 0; i < RECORDER_BUFFERS; i++) {
        struct recorder_buffer *buffer = &recorder->buffers[i];
        buffer->cells = pl_new(2 * shape->cell_count, sizeof(struct recorder_cell));
        cells_init(buffer->cells, shape, &counts);
        cells_init(buffer->cells + shape->cell_count, shape, &counts);
        recorder->spare[recorder->spare_count++] = buffer;
    }
    assert((size_t)(counts - recorder->slab) * sizeof *counts == recorder->slab_bytes);
}

void recorder_release(struct recorder *recorder)
{
    if (recorder->slab == NULL)
        return;
    for (int i = 0; i < RECORDER_BUFFERS; i++)
        pl_free(recorder->buffers[i].cells);
    munmap(recorder->slab, recorder->slab_bytes);
    recorder->slab = NULL;
    pl_ring_release(&recorder->full);
    pl_ring_release(&recorder->empty);
}

static void buffer_next(struct recorder *recorder, int64_t start_ns, enum phase phase)
{
    assert(recorder->spare_count > 0);
    recorder->current = recorder->spare[--recorder->spare_count];
    recorder->current->start_ns = start_ns;
    recorder->current->during = phase;
}

static void buffer_hand_over(struct recorder *recorder, int64_t end_ns)
{
    recorder->current->end_ns = end_ns;
    bool pushed = pl_ring_push(&recorder->full, &recorder->current);
    assert(pushed); /* the ring has room for every buffer there is */
    (void)pushed;
    recorder->current = NULL;
}

static void spares_collect(struct recorder *recorder)
{
    struct recorder_buffer *buffer;
    while (pl_ring_pop(&recorder->empty, &buffer))
        recorder->spare[recorder->spare_count++] = buffer;
}

void recorder_start(struct recorder *recorder, int64_t start_ns, enum phase phase)
{
    recorder->phase_changes_left = RECORDER_PHASE_CHANGES;
    buffer_next(recorder, start_ns, phase);
}

void recorder_cut(struct recorder *recorder, int64_t at_ns)
{
    spares_collect(recorder);
    while (recorder->patient && recorder->spare_count <= recorder->phase_changes_left &&
           atomic_load_explicit(recorder->hurry, memory_order_relaxed) <= 1) {
        sched_yield();
        spares_collect(recorder);
    }
    if (recorder->spare_count <= recorder->phase_changes_left)
        return;
    enum phase phase = recorder->current->during;
    buffer_hand_over(recorder, at_ns);
    buffer_next(recorder, at_ns, phase);
}

void recorder_cut_phase(struct recorder *recorder, int64_t at_ns, enum phase phase)
{
    assert(recorder->phase_changes_left > 0);
    recorder->phase_changes_left--;
    spares_collect(recorder);
    buffer_hand_over(recorder, at_ns);
    buffer_next(recorder, at_ns, phase);
}

void recorder_finish(struct recorder *recorder, int64_t at_ns)
{
    buffer_hand_over(recorder, at_ns);
}

void recorder_complete(struct recorder *recorder, enum phase due_in, int lane, int64_t due_ns, int64_t sent_ns,
                       int64_t done_ns)
{
    assert(due_ns <= sent_ns && sent_ns <= done_ns);
    struct recorder_cell *cell = recorder_cell(recorder, due_in, lane, -1);
    cell->ledger.completed++;
    hist_record(&cell->response, done_ns - due_ns);
    hist_record(&cell->service, done_ns - sent_ns);
    hist_record(&cell->lateness, sent_ns - due_ns);
}

void recorder_step(struct recorder *recorder, enum phase due_in, int lane, int step, int64_t service_ns)
{
    struct recorder_cell *cell = recorder_cell(recorder, due_in, lane, step);
    cell->ledger.completed++;
    hist_record(&cell->service, service_ns);
}

void recorder_expire(struct recorder *recorder, enum phase due_in, int lane, int step, int64_t at_least_ns)
{
    struct recorder_cell *cell = recorder_cell(recorder, due_in, lane, step);
    cell->ledger.expired++;
    hist_record(&cell->censored, at_least_ns);
}

void recorder_unfinished(struct recorder *recorder, enum phase due_in, int lane, bool was_started, int64_t at_least_ns)
{
    struct recorder_cell *cell = recorder_cell(recorder, due_in, lane, -1);
    cell->ledger.unfinished++;
    cell->ledger.never_started += !was_started;
    hist_record(&cell->censored, at_least_ns);
}

static struct recorder_fault *fault_entry(struct recorder *recorder, enum phase phase, const char *code)
{
    for (int i = 0; i < recorder->fault_count; i++)
        if (recorder->faults[i].phase == phase && strcmp(recorder->faults[i].code, code) == 0)
            return &recorder->faults[i];
    if (recorder->fault_count < RECORDER_FAULTS)
        return &recorder->faults[recorder->fault_count++];
    return &recorder->faults[RECORDER_FAULTS + (int)phase];
}

void recorder_text(char *to, size_t size, const char *from)
{
    from = from == NULL ? "" : from;
    size_t length = strnlen(from, size - 1);
    while (length > 0 && from[length] != '\0' && ((unsigned char)from[length] & 0xc0U) == 0x80U)
        length--; /* not in the middle of a UTF-8 character */
    memcpy(to, from, length);
    to[length] = '\0';
}

void recorder_fault(struct recorder *recorder, enum phase phase, const char *code, const char *text, int64_t at_ns)
{
    struct recorder_fault *fault = fault_entry(recorder, phase, code);
    if (fault->count++ > 0)
        return;
    fault->phase = phase;
    fault->first_ns = at_ns;
    bool other = fault >= &recorder->faults[RECORDER_FAULTS];
    recorder_text(fault->code, sizeof fault->code, other ? "OTHER" : code);
    recorder_text(fault->example, sizeof fault->example, text);
}

struct recorder_buffer *recorder_take(struct recorder *recorder)
{
    struct recorder_buffer *buffer;
    return pl_ring_pop(&recorder->full, &buffer) ? buffer : NULL;
}

void recorder_give(struct recorder *recorder, struct recorder_buffer *buffer)
{
    for (size_t i = 0; i < 2 * recorder->shape->cell_count; i++) {
        struct recorder_cell *cell = &buffer->cells[i];
        cell->ledger = (struct ledger){0};
        cell->attempts = (struct attempts){0};
        hist_clear(&cell->service);
        hist_clear(&cell->censored);
        if (cell->response.counts != NULL) {
            hist_clear(&cell->response);
            hist_clear(&cell->lateness);
        }
    }
    bool pushed = pl_ring_push(&recorder->empty, &buffer);
    assert(pushed);
    (void)pushed;
}

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
