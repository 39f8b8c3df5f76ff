/* One worker thread's engine: worker.c has its run, phases and slices, worker_operation.c the life of an operation,
 * worker_steps.c and worker_shell.c what a client does without the driver, worker_arrivals.c the open loop. */
#ifndef PL_LOAD_WORKER_INT_H
#define PL_LOAD_WORKER_INT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/capture_int.h"
#include "load/driver.h"
#include "load/load_int.h"
#include "load/recorder_int.h"
#include "stage/timetable.h"

enum client_state {
    /* Has nothing to do. Open loop: it is on the stack of free clients. Closed loop: the load takes no new operations from
     * it any more. */
    CLIENT_IDLE,
    /* An operation is under way, and of it one I/O step, whose end the driver will report. */
    CLIENT_RUNNING,
    /* connect_each: an operation is under way, and first the driver opens a connection for it. */
    CLIENT_CONNECTING,
    /* An operation is under way, and of it a \sleep: the client is among the wakes. */
    CLIENT_SLEEPING,
    /* A try has failed with an error after which it may be made again; the driver rolls back what it left open. The
     * operation is still under way: whether there is another try is decided when that has ended. */
    CLIENT_ROLLING_BACK,
    /* The last operation has failed and left a transaction open; the driver rolls it back. */
    CLIENT_RECOVERING,
    /* Closed loop, among the wakes, becomes free then. Its last operation ended without having waited for anything: the
     * others get their turn first. When it failed before anything was sent, and in virtual time, it waits PAUSE_NS, so that
     * a script that always fails does not spin, and time goes on. */
    CLIENT_PAUSED,
    /* It has ended before its time: its connection is gone. */
    CLIENT_DEAD
};

/* Two cache lines: everything that a step touches. */
struct client {
    alignas(64) uint8_t state; /* enum client_state */
    uint8_t due_in;            /* enum phase */
    bool has_waited;           /* the operation under way has, for an event or a time */
    bool in_pipeline;
    int16_t script;
    uint8_t failed_as; /* CLIENT_ROLLING_BACK: enum operation_end */
    bool is_open;      /* connect_each: it has a connection */
    uint32_t step;     /* index into the program's steps */
    int32_t tries;     /* of the operation under way, this one included */
    int64_t due_ns;
    int64_t begun_ns; /* when the script began; a script that sends nothing counts as sent then */
    int64_t sent_ns;  /* of the operation's first I/O step; -1: none was sent */
    int64_t step_sent_ns;
    int64_t number;       /* of its operations that have ended */
    struct value *vars;   /* [shape->variable_count] */
    struct pl_rng rng;    /* values inside scripts */
    struct pl_rng choice; /* which script is next, closed loop */
};
_Static_assert(sizeof(struct client) == 128, "two cache lines");

/* A place in the stream of arrivals; two with the same seed give the same times and scripts. */
struct worker_arrivals {
    struct timetable timetable;
    int64_t index; /* in the stream of all workers */
};

/* Queued in a pipeline: whether it has completed is known when the pipeline has ended. */
struct worker_queued {
    const struct step *step;
    int64_t service_ns;
};

/* What the engine itself counts, beside the recorder: the books are checked against it. */
struct worker_count {
    struct ledger ledger; /* of all operations */
    struct attempts attempts;
    int64_t step_completed, step_failed, step_retries; /* in cells of steps */
};

enum { WORKER_BATCH = 64, WORKER_TEXT_BYTES = 256 };

/* What the workers of one load share. */
struct worker_shared {
    atomic_int stop;    /* 0: go on, 1: drain, 2: end at once, RECORDER_ABANDONED: and nobody takes what is recorded */
    atomic_int alive;   /* clients that have not ended */
    atomic_llong quota; /* operations that may still start when the load is limited by count; may fall below 0 */
};

struct worker {
    const struct load_spec *spec;
    const struct load_shape *shape;
    struct worker_shared *shared;
    atomic_llong *quota;    /* of all workers; in virtual time the worker's own share */
    atomic_llong own_quota; /* workers in virtual time do not meet: the quickest thread would take all */
    int index, workers;
    int first_client, client_count;
    struct driver *driver;
    struct client *clients;
    struct value *vars;
    struct value *saved;      /* [clients][variables] as they were when the operation began; NULL: no retries */
    struct pl_rng *saved_rng; /* the same */
    char (*saved_text)[LOAD_NOTICE_TEXT_BYTES]; /* of the error, while it is rolled back; NULL: nobody is told */
    struct worker_queued *queued;               /* [clients][queued_most]; NULL: no pipelines, or no steps are recorded */
    uint32_t *queued_count;                     /* [clients] */
    size_t queued_most;
    struct capture capture;
    bool has_capture;
    struct hist *connect;     /* connect_each; else NULL */
    struct driver_done *done; /* [WORKER_BATCH] */
    uint32_t *stack;          /* open loop: free clients, the last one freed on top */
    int stack_count;
    struct load_wakes wakes; /* clients that sleep or pause */
    struct recorder recorder;
    struct recorder_log log;
    struct recorder_notices notices;

    enum phase phase; /* WARM_UP, MEASURE, DRAIN */
    bool stopped;
    int alive, running; /* clients that have not ended; operations under way */
    bool has_quota;     /* closed loop: only so many operations start */
    int64_t per_client; /* closed loop: so many operations of each client; 0: no such limit */
    int unfinished;     /* per_client: clients that have some left */
    int64_t due_left;   /* open loop: operations that may still become due */
    bool is_by_count;   /* one of these: the window ends with its last event */
    int64_t last_ns;    /* the latest time seen */
    int64_t next_cut_ns, next_slice_ns, next_phase_ns;
    int64_t start_ns, measure_start_ns, measure_end_ns, drain_end_ns; /* planned, then as they came */
    struct worker_arrivals due_next, start_next;                      /* to be counted as due; to be started */
    int64_t backlog;                                                  /* due but not started */
    int64_t (*waiting)[2]; /* the same, of each script: due in warm-up, in the measured window; NULL: closed loop */
    struct worker_count count;
    int ended_early, lost; /* clients; lost ones are among the others */
    int64_t cpu_start_ns, cpu_ns, window_cpu_start_ns, window_cpu_ns;
    int64_t longest_gap_ns; /* inside the window, between two looks at the world, which are LOOK_NS apart at most */

    atomic_int phase_seen; /* for the conductor */
    atomic_bool ended;
};

/* ---- worker.c ---- */

/* Clients first_client .. first_client + client_count of the whole load. worker_take_driver comes next; the driver may use
 * worker->capture when worker->has_capture. */
void worker_init(struct worker *worker, const struct load_spec *spec, const struct load_shape *shape, int index,
                 int workers, struct worker_shared *shared);
void worker_take_driver(struct worker *worker, struct driver *driver);
void worker_release(struct worker *worker); /* not the driver: whoever opened it closes it */

/* The data plane: from start_ns to the end of the drain, in the worker's thread. */
void worker_run(struct worker *worker, int64_t start_ns);

void worker_boundaries_cross(struct worker *worker, int64_t now_ns);

/* To be called with the time of every event before anything of it is recorded. */
static inline void worker_advance(struct worker *worker, int64_t now_ns)
{
    if (now_ns > worker->last_ns)
        worker->last_ns = now_ns;
    if (__builtin_expect(now_ns >= worker->next_cut_ns, 0))
        worker_boundaries_cross(worker, now_ns);
}

/* Reads the clock, counts what has become due and advances. */
int64_t worker_look(struct worker *worker);

/* Looks at whether the load was told to stop: then the window ends with what was last seen. */
void worker_stop_look(struct worker *worker);

/* Nothing that happens now can be recorded any more. */
static inline bool worker_is_past_end(const struct worker *worker)
{
    return worker->phase == PHASE_DRAIN && worker->last_ns >= worker->drain_end_ns;
}

static inline enum phase worker_due_in(const struct worker *worker, int64_t due_ns)
{
    return due_ns < worker->measure_start_ns ? PHASE_WARM_UP : PHASE_MEASURE;
}

/* ---- worker_operation.c ---- */

/* The client has nothing to do: closed loop: it begins its next operation. */
void worker_client_free(struct worker *worker, uint32_t client, int64_t now_ns);
void worker_operation_due(struct worker *worker, int script, int64_t due_ns);
void worker_operation_start(struct worker *worker, uint32_t client, int script, int64_t due_ns, int64_t now_ns);
/* It is too late: counted as this client's, and never sent. */
void worker_operation_skip(struct worker *worker, uint32_t client, int script, int64_t due_ns, int64_t now_ns);
/* What the driver reported. */
void worker_event(struct worker *worker, const struct driver_done *done);
/* The client's time among the wakes has come. */
void worker_wake(struct worker *worker, uint32_t client, int64_t now_ns);
/* What is under way at the end is unfinished. */
void worker_write_off(struct worker *worker);

/* ---- worker_steps.c ---- */

enum worker_step {
    WORKER_STEP_OVER,    /* the client's step is the next one */
    WORKER_STEP_SUBMITS, /* it is the driver's */
    WORKER_STEP_WAITS,   /* the client is among the wakes */
    WORKER_STEP_WRONG
};
/* Carries out the client's current step, anything but SQL outside of a pipeline. *ret_wrong: what went wrong, else NULL; a
 * text as program_eval's. */
enum worker_step worker_step(struct worker *worker, uint32_t client, const struct step *step, const char **ret_wrong);

/* ---- worker_arrivals.c ---- */

void worker_arrivals_init(struct worker *worker, int64_t start_ns);
/* When the next operation becomes due; INT64_MAX: none will. */
int64_t worker_arrival_next_ns(const struct worker *worker);
/* Counts everything that is due by now_ns; when the load is told to stop meanwhile, what is due by then. */
void worker_arrivals_count(struct worker *worker, int64_t now_ns);
/* May what waits be started, if there are clients? */
bool worker_backlog_may_start(const struct worker *worker);
/* Starts waiting operations while there are free clients, WORKER_BATCH at most, and skips those that are too late. */
void worker_backlog_start(struct worker *worker, int64_t now_ns);
/* What still waits at the end was never started. */
void worker_backlog_write_off(struct worker *worker);

/* ---- worker_shell.c ---- */

/* Runs a STEP_SHELL or STEP_SETSHELL and waits for it, however long it takes: the whole worker stands still, and the
 * command cannot be interrupted. Of what a \setshell command writes only the first line is read. Its standard input and
 * error, and the output of \shell, are the tool's own. Returns what went wrong (of this thread, valid until its next call),
 * or NULL. */
const char *worker_shell(const struct program *program, const struct step *step, struct value *vars);

#endif
