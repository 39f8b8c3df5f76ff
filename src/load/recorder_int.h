/* What one worker writes down: counts and histograms of the current slice, faults, ended operations and notices.
 *
 * A slice is a buffer from a small pool. When a slice ends, its buffer goes to the conductor through one ring and a cleared
 * one comes back through another; while there is none the slice simply goes on (it gets longer, nothing is lost). Changes
 * of phase always get a buffer: as many as there are changes to come are kept back.
 *
 * Ended operations go the same way in chunks, but here nothing may be left out or put off: when the pool is empty the
 * worker stands still until the conductor has given a chunk back. Notices go through a ring that has room for the end of
 * every client; of the others those that find no room are counted.
 *
 * Worker thread only, except what ends in _take and _give (conductor). No allocation after init. */
#ifndef PL_LOAD_RECORDER_INT_H
#define PL_LOAD_RECORDER_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ring.h"
#include "load/driver.h"
#include "load/load_int.h"
#include "record/record.h"

enum {
    RECORDER_BUFFERS = 6,
    RECORDER_PHASE_CHANGES = 2, /* to MEASURE, to DRAIN */
    RECORDER_FAULTS = 64,       /* different (phase, code); one more for each phase counts the OTHER ones */
    RECORDER_EXAMPLE_BYTES = 200,
    RECORDER_CHUNKS = 32,
    RECORDER_CHUNK_OPERATIONS = 1024,
    RECORDER_NOTICES = 256, /* of failures and retries, waiting to be taken */
    RECORDER_ABANDONED = 3  /* the conductor has left for good */
};

/* A whole operation, or one step (service and censored only, of the ledger only completed, failed and expired, of the
 * attempts only retries, serialization and deadlock). */
struct recorder_cell {
    struct ledger ledger;
    struct hist service, response, lateness;
    struct attempts attempts; /* far from what every step touches */
    struct hist censored;     /* see struct slice */
};

struct recorder_buffer {
    int64_t start_ns, end_ns;
    enum phase during;
    struct recorder_cell *cells; /* [due in warm-up, due in measure][shape->cell_count] */
};

struct recorder_fault {
    enum phase phase;
    char code[DRIVER_CODE_BYTES];
    char example[RECORDER_EXAMPLE_BYTES];
    int64_t count, first_ns;
};

struct recorder {
    const struct load_shape *shape;
    struct recorder_buffer *current;
    int phase_changes_left;
    bool patient;            /* virtual time: wait for the conductor rather than make a slice longer */
    const atomic_int *hurry; /* patience ends when this is above 1 */
    struct recorder_buffer *spare[RECORDER_BUFFERS];
    int spare_count;
    struct pl_ring full, empty; /* of struct recorder_buffer * */
    struct recorder_buffer buffers[RECORDER_BUFFERS];
    int64_t *slab; /* all counts of all histograms: one mapping, of which only what is touched costs memory */
    size_t slab_bytes;
    struct recorder_fault faults[RECORDER_FAULTS + PHASE_COUNT];
    int fault_count; /* of the first RECORDER_FAULTS */
};

void recorder_init(struct recorder *recorder, const struct load_shape *shape, bool patient, const atomic_int *hurry);
void recorder_release(struct recorder *recorder);

void recorder_start(struct recorder *recorder, int64_t start_ns, enum phase phase);
/* Ends the slice at at_ns and goes on in the same phase. */
void recorder_cut(struct recorder *recorder, int64_t at_ns);
/* The same, and the phase changes: at most RECORDER_PHASE_CHANGES times. */
void recorder_cut_phase(struct recorder *recorder, int64_t at_ns, enum phase phase);
/* Ends the last slice. */
void recorder_finish(struct recorder *recorder, int64_t at_ns);

/* due_in is PHASE_WARM_UP or PHASE_MEASURE; step: -1 for the whole operation, else as load_shape_step says. */
static inline struct recorder_cell *recorder_cell(const struct recorder *recorder, enum phase due_in, int lane, int step)
{
    const struct load_shape *shape = recorder->shape;
    size_t index = (due_in == PHASE_MEASURE ? shape->cell_count : 0) + shape->lanes[lane].first_cell;
    return &recorder->current->cells[index + (size_t)(step + 1)];
}

void recorder_complete(struct recorder *recorder, enum phase due_in, int lane, int64_t due_ns, int64_t sent_ns,
                       int64_t done_ns);
void recorder_step(struct recorder *recorder, enum phase due_in, int lane, int step, int64_t service_ns);
/* An operation (at_least_ns since due) or a step (since sent) that got no answer in time. */
void recorder_expire(struct recorder *recorder, enum phase due_in, int lane, int step, int64_t at_least_ns);
/* An operation that had not ended at the end of the load, at_least_ns after it was due. */
void recorder_unfinished(struct recorder *recorder, enum phase due_in, int lane, bool was_started, int64_t at_least_ns);

/* Counts a fault in the current phase; code and text (may be NULL) are copied, shortened. */
void recorder_fault(struct recorder *recorder, enum phase phase, const char *code, const char *text, int64_t at_ns);

/* Conductor: the oldest full buffer, or NULL; and back, cleared. */
struct recorder_buffer *recorder_take(struct recorder *recorder);
void recorder_give(struct recorder *recorder, struct recorder_buffer *buffer);

/* ---- ended operations ---- */

struct recorder_chunk {
    size_t count;
    struct operation operations[RECORDER_CHUNK_OPERATIONS];
};

struct recorder_log {
    struct recorder_chunk *chunks;  /* [RECORDER_CHUNKS]; NULL when nobody wants a log */
    struct recorder_chunk *current; /* NULL when nobody wants a log */
    const atomic_int *hurry;        /* when this is RECORDER_ABANDONED nobody takes any more */
    struct pl_ring full, empty;     /* of struct recorder_chunk * */
    int64_t logged, wait_ns;
};

void recorder_log_init(struct recorder_log *log, bool is_wanted, const atomic_int *hurry);
void recorder_log_release(struct recorder_log *log);
void recorder_log_add(struct recorder_log *log, const struct operation *operation);
/* Hands over what there is, when that does not mean to wait. */
void recorder_log_flush(struct recorder_log *log);
/* Hands over what there is, the last time. */
void recorder_log_finish(struct recorder_log *log);
/* Conductor: the oldest chunk, or NULL; and back. */
struct recorder_chunk *recorder_log_take(struct recorder_log *log);
void recorder_log_give(struct recorder_log *log, struct recorder_chunk *chunk);

/* ---- notices ---- */

struct recorder_notices {
    struct pl_ring ring; /* of struct load_notice */
    int64_t pushed, missed;
    atomic_llong taken;
};

void recorder_notices_init(struct recorder_notices *notices, int clients, bool tells_failures);
void recorder_notices_release(struct recorder_notices *notices);
/* A client may end once. */
void recorder_notice(struct recorder_notices *notices, const struct load_notice *notice);
/* Conductor. */
bool recorder_notice_take(struct recorder_notices *notices, struct load_notice *ret_notice);

/* Copies a text, shortened to size - 1 bytes, not in the middle of a UTF-8 character. NULL is "". */
void recorder_text(char *to, size_t size, const char *from);

#endif
