/* Slices and faults of one worker. */
#include "load/recorder_int.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

#include "base/arena.h"

#include "base/ban.h"

static void cell_init(struct recorder_cell *cell, bool whole)
{
    hist_init_latency(&cell->service);
    if (whole) {
        hist_init_latency(&cell->response);
        hist_init_latency(&cell->lateness);
    }
}

static bool cell_is_whole(const struct load_shape *shape, size_t index)
{
    for (int script = 0; script < shape->script_count; script++)
        if (shape->first_cell[script] == index % shape->cell_count)
            return true;
    return false;
}

void recorder_init(struct recorder *recorder, const struct load_shape *shape, bool patient, const atomic_int *hurry)
{
    *recorder = (struct recorder){.shape = shape, .patient = patient, .hurry = hurry};
    pl_ring_init(&recorder->full, sizeof(struct recorder_buffer *), RECORDER_BUFFERS);
    pl_ring_init(&recorder->empty, sizeof(struct recorder_buffer *), RECORDER_BUFFERS);
    for (int i = 0; i < RECORDER_BUFFERS; i++) {
        struct recorder_buffer *buffer = &recorder->buffers[i];
        buffer->cells = pl_new(2 * shape->cell_count, sizeof(struct recorder_cell));
        for (size_t cell = 0; cell < 2 * shape->cell_count; cell++)
            cell_init(&buffer->cells[cell], cell_is_whole(shape, cell));
        recorder->spare[recorder->spare_count++] = buffer;
    }
}

void recorder_release(struct recorder *recorder)
{
    for (int i = 0; i < RECORDER_BUFFERS && recorder->buffers[i].cells != NULL; i++) {
        for (size_t cell = 0; cell < 2 * recorder->shape->cell_count; cell++) {
            hist_release(&recorder->buffers[i].cells[cell].service);
            if (cell_is_whole(recorder->shape, cell)) {
                hist_release(&recorder->buffers[i].cells[cell].response);
                hist_release(&recorder->buffers[i].cells[cell].lateness);
            }
        }
        pl_free(recorder->buffers[i].cells);
        recorder->buffers[i].cells = NULL;
    }
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

void recorder_complete(struct recorder *recorder, enum phase due_in, int script, int64_t due_ns, int64_t sent_ns,
                       int64_t done_ns)
{
    assert(due_ns <= sent_ns && sent_ns <= done_ns);
    struct recorder_cell *cell = recorder_cell(recorder, due_in, script, -1);
    cell->ledger.completed++;
    hist_record(&cell->response, done_ns - due_ns);
    hist_record(&cell->service, done_ns - sent_ns);
    hist_record(&cell->lateness, sent_ns - due_ns);
}

void recorder_step(struct recorder *recorder, enum phase due_in, int script, int step, int64_t service_ns)
{
    struct recorder_cell *cell = recorder_cell(recorder, due_in, script, step);
    cell->ledger.completed++;
    hist_record(&cell->service, service_ns);
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
        if (cell->response.counts != NULL) {
            hist_clear(&cell->response);
            hist_clear(&cell->lateness);
        }
    }
    bool pushed = pl_ring_push(&recorder->empty, &buffer);
    assert(pushed);
    (void)pushed;
}
