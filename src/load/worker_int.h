/* One worker thread's engine: worker.c has its run, phases and slices, worker_operation.c the life of an operation,
 * worker_fail.c how it fails and what its client does then, worker_steps.c what a client does without the driver,
 * worker_arrivals.c what becomes due when: the open loop, sessions, think time. */
#ifndef PL_LOAD_WORKER_INT_H
#define PL_LOAD_WORKER_INT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rng.h"
#include "load/driver.h"
#include "load/load_int.h"
#include "load/recorder_int.h"
#include "stage/timetable.h"
#include "stage/wakes.h"
#include "stats/moments.h"

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
    /* Closed loop, or within a session: among those that think. Its next operation becomes due when it has. */
    CLIENT_THINKING,
    /* Has thought: its next operation is due and counts as under way, and is started at the end of the worker's turn. */
    CLIENT_READY,
    /* Was ready when nothing might start any more: its operation stays under way, and is unfinished and never started at
     * the end, whatever becomes of its connection. */
    CLIENT_HELD,
    /* It has ended before its time: its connection is gone. */
    CLIENT_DEAD
};

/* Two cache lines: everything that a step touches. */
struct client {
    alignas(64) uint8_t state; /* enum client_state */
    uint8_t due_in;            /* enum phase */
    bool has_waited;           /* the operation under way has, for an event or a time */
    bool in_pipeline : 1;
    bool is_open : 1;     /* connect_each: it has a connection */
    bool sends_first : 1; /* the I/O step under way is what sent_ns tells of */
    int16_t lane;
    uint8_t failed_as; /* CLIENT_ROLLING_BACK: enum operation_end */
    uint32_t step;     /* index into the program's steps */
    int32_t tries;     /* of the operation under way, this one included; further tries of single steps, too */
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

/* A place in the stream of arrivals; two with the same seed give the same times and lanes. */
struct worker_arrivals {
    struct timetable timetable;
    int64_t index; /* in the stream of all workers */
};

/* An operation that is to be carried out. */
struct worker_due {
    int64_t due_ns;
    uint64_t place; /* which of the load's random streams are its own: of an arrival its index, else of client and number */
    int lane;
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
    int64_t step_completed, step_failed, step_expired, step_retries; /* in cells of steps */
};

/* How well the worker keeps its own promise: of operations due in the measured window. */
struct worker_self {
    struct hist lateness;                 /* see struct load_self */
    struct moments gaps, gaps_asked;      /* ns, between arrivals: their starts, and their due times */
    int64_t last_start_ns, last_asked_ns; /* 0: none yet */
    /* of the operation that is being started */
    int64_t could_ns; /* when it could have been */
    bool is_arrival;
};

enum { WORKER_BATCH = 64, WORKER_TEXT_BYTES = 256 };
#define WORKER_PAUSE_NS PL_NS_PER_MS /* see CLIENT_PAUSED */

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
    int64_t *freed_ns; /* open loop: a ring of as many: when there was one more of them, the oldest first */
    int freed_first;
    bool has_dues;             /* something becomes due that is not at once: arrivals, or when a client has thought */
    struct stage_wakes wakes;  /* clients that sleep or pause */
    struct stage_wakes thinks; /* clients that think; empty unless has_dues */
    uint32_t *ready;           /* a ring of [client_count]: clients that are ready, in order; NULL unless has_dues */
    int ready_first, ready_count;
    int held;                          /* clients that are */
    int64_t *session_left;             /* [clients] operations that their user still carries out; NULL: no sessions */
    uint64_t *session_place;           /* [clients] the place of their user's arrival; NULL: no sessions */
    uint32_t *tenant_of;               /* [clients] row of the operation under way; NULL: no tenants */
    struct load_tenant_count *tenants; /* [rows] */
    struct worker_self self;
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
    int64_t (*waiting)[2]; /* the same, of each lane: due in warm-up, in the measured window; NULL: closed loop */
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

static inline const struct program *worker_program(const struct worker *worker, const struct client *client)
{
    return worker->shape->lanes[client->lane].program;
}

/* The client as its script's language sees it. */
static inline struct step_scene worker_scene(struct worker *worker, uint32_t client)
{
    return (struct step_scene){.vars = worker->clients[client].vars,
                               .rng = &worker->clients[client].rng,
                               .client = client,
                               .set_text = capture_set_text,
                               .context = &worker->capture};
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

/* Starts the operation that the client was assigned. could_ns: since when that could have been done. */
void worker_operation_start(struct worker *worker, uint32_t client, int64_t could_ns, int64_t now_ns);
/* Goes on at the client's current step, up to the next that waits or the end. */
void worker_operation_continue(struct worker *worker, uint32_t client, int64_t now_ns);
/* What the driver reported. */
void worker_event(struct worker *worker, const struct driver_done *done);
/* The client's time among the wakes has come. */
void worker_wake(struct worker *worker, uint32_t client, int64_t now_ns);
/* What is under way at the end is unfinished. */
void worker_write_off(struct worker *worker, int64_t end_ns);

/* What is counted of every operation that has ended, however. */
void worker_operation_close(struct worker *worker, uint32_t client, enum operation_end end, int64_t now_ns);
/* What the client does then: its connection must be idle, or gone, before its next operation. */
void worker_client_next(struct worker *worker, uint32_t client, bool has_failed, int64_t now_ns);
/* Adds to the attempts what the operation's tries were. */
void worker_tries_count(struct worker *worker, const struct client *client);
/* It is too late: counted as this client's, and never sent. */
void worker_operation_skip(struct worker *worker, uint32_t client, const struct worker_due *due, int64_t now_ns);

/* ---- worker_fail.c ---- */

/* Why a try ended. */
struct worker_failure {
    const char *code, *text;
    enum operation_end end; /* SERIALIZATION, DEADLOCK, FAILED, EXPIRED */
    bool is_script_fault;   /* the script's doing, not the server's */
    bool is_lost, while_connecting;
    bool in_step; /* the client's current step is to blame */
};

/* There is no other try. */
void worker_operation_fail(struct worker *worker, uint32_t client, const struct worker_failure *failure, int64_t now_ns);
/* The same for what the script itself did wrong: a fault with that code. */
void worker_operation_fail_in_script(struct worker *worker, uint32_t client, const char *code, const char *text,
                                     int64_t now_ns);
/* A try has failed: there may be another. */
void worker_try_fail(struct worker *worker, uint32_t client, const struct worker_failure *failure, int64_t now_ns);
/* The current step has failed, and its script tries again from another one on. */
void worker_step_again(struct worker *worker, uint32_t client, const struct worker_failure *failure, uint32_t target,
                       int64_t now_ns);
/* The end of a CLIENT_ROLLING_BACK. */
void worker_rollback_end(struct worker *worker, const struct driver_done *done);
/* The client's connection is gone, and no operation was under way. */
void worker_client_lose(struct worker *worker, uint32_t client, const struct worker_failure *failure, int64_t now_ns);

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

/* Runs a STEP_SHELL or STEP_SETSHELL and waits for it, however long it takes: the whole worker stands still, and the
 * command cannot be interrupted. Of what a \setshell command writes only the first line is read. Its standard input and
 * error, and the output of \shell, are the tool's own. Returns what went wrong (of this thread, valid until its next call),
 * or NULL. */
const char *worker_shell(const struct program *program, const struct step *step, struct value *vars);

/* ---- worker_arrivals.c ---- */

void worker_arrivals_init(struct worker *worker, int64_t start_ns);
/* When the next operation arrives, open loop; INT64_MAX: none will. */
int64_t worker_arrival_next_ns(const struct worker *worker);
/* Counts everything that has become due by now_ns, in order of time; when the load is told to stop meanwhile, what is due
 * by then. Clients that have thought are ready then. */
void worker_dues_count(struct worker *worker, int64_t now_ns);
/* May what waits be started, if there are clients? */
bool worker_backlog_may_start(const struct worker *worker);
/* Starts waiting operations while there are free clients, WORKER_BATCH at most, and skips those that are too late. */
void worker_backlog_start(struct worker *worker, int64_t now_ns);
/* Starts the operations of the clients that are ready. */
void worker_ready_start(struct worker *worker, int64_t now_ns);
/* What still waits at the end was never started. */
void worker_backlog_write_off(struct worker *worker, int64_t end_ns);
/* The client has nothing to do: closed loop: it begins its next operation. */
void worker_client_free(struct worker *worker, uint32_t client, int64_t now_ns);
/* The client thinks before its next operation, or as a user it leaves. pause_ns: at least so long. */
void worker_client_think(struct worker *worker, uint32_t client, int64_t pause_ns, int64_t now_ns);
/* The window has ended: who still thinks has nothing to do any more. */
void worker_thinkers_leave(struct worker *worker, int64_t now_ns);
/* Draws the tenant of the client's next operation: its row, and the client's variables. Only with tenants. */
void worker_tenant_take(struct worker *worker, uint32_t client, const struct worker_due *due);
/* An arrival was started. */
void worker_gap_count(struct worker *worker, int64_t at_ns);

/* ---- what is done for each operation ---- */

static inline void worker_operation_due(struct worker *worker, const struct worker_due *due)
{
    recorder_cell(&worker->recorder, worker_due_in(worker, due->due_ns), due->lane, -1)->ledger.due++;
    worker->count.ledger.due++;
}

/* The client's next operation, which is due, is this one: it is under way, but nothing of it is done yet. */
static inline void worker_operation_assign(struct worker *worker, uint32_t index, const struct worker_due *due)
{
    struct client *client = &worker->clients[index];
    client->lane = (int16_t)due->lane;
    client->due_in = (uint8_t)worker_due_in(worker, due->due_ns);
    client->step = 0;
    client->tries = 1;
    client->in_pipeline = client->has_waited = false;
    client->due_ns = due->due_ns;
    client->sent_ns = -1;
    if (__builtin_expect(worker->tenant_of != NULL, 0))
        worker_tenant_take(worker, index, due);
    worker->running++;
}

/* The operation that is being started has begun: what comes of it is no longer the worker's doing. */
static inline void worker_has_started(struct worker *worker, const struct client *client, int64_t at_ns)
{
    struct worker_self *self = &worker->self;
    if (client->due_in != PHASE_MEASURE)
        return;
    hist_record(&self->lateness, at_ns > self->could_ns ? at_ns - self->could_ns : 0);
    if (__builtin_expect(self->is_arrival, 0))
        worker_gap_count(worker, at_ns);
}

#endif
