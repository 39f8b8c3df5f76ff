/* One worker thread's engine; see worker.c for the life of an operation. */
#ifndef PL_LOAD_WORKER_INT_H
#define PL_LOAD_WORKER_INT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "load/driver.h"
#include "load/load_int.h"
#include "load/recorder_int.h"
#include "stage/timetable.h"

enum client_state {
    /* Has nothing to do. Open loop: it is on the stack of free clients. Closed loop: the load takes no new operations. */
    CLIENT_IDLE,
    /* An operation is under way, and of it one I/O step, whose end the driver will report. */
    CLIENT_RUNNING,
    /* The last operation left a transaction open; the driver rolls it back. */
    CLIENT_RECOVERING,
    /* Closed loop: its script failed before anything was sent. It waits PAUSE_NS, so that a script that always fails does
     * not spin, and becomes free then. */
    CLIENT_PAUSED,
    /* Its connection is gone. */
    CLIENT_DEAD
};

/* Two cache lines: everything that a step touches. */
struct client {
    alignas(64) enum client_state state;
    int script;
    enum phase due_in;
    uint32_t step; /* index into the program's steps */
    int64_t due_ns;
    int64_t sent_ns; /* of the operation's first I/O step; -1: none was sent */
    int64_t step_sent_ns;
    int64_t free_ns;      /* CLIENT_PAUSED: when the pause ends */
    struct value *vars;   /* of all scripts, at shape->first_variable */
    struct pl_rng rng;    /* values inside scripts */
    struct pl_rng choice; /* which script is next, closed loop */
};
_Static_assert(sizeof(struct client) == 128, "two cache lines");

/* A place in the stream of arrivals; two with the same seed give the same times and scripts. */
struct worker_arrivals {
    struct timetable timetable;
    int64_t index; /* in the stream of all workers */
};

/* What the engine itself counts, beside the recorder: the ledger is checked against it. */
struct worker_count {
    int64_t due, completed, failed, unfinished, never_started;
};

enum { WORKER_BATCH = 64 };

/* What the workers of one load share. */
struct worker_shared {
    atomic_int stop;    /* 0: go on, 1: drain, 2: end at once */
    atomic_int alive;   /* clients with a connection */
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
    struct driver_done *done; /* [WORKER_BATCH] */
    uint32_t *stack;          /* open loop: free clients, the last one freed on top */
    int stack_count;
    uint32_t *pause; /* ring of paused clients, in order of free_ns */
    int pause_first, pause_count;
    struct recorder recorder;

    enum phase phase; /* WARM_UP, MEASURE, DRAIN */
    bool stopped, finished;
    int alive, running; /* clients with a connection; operations under way */
    bool has_quota;     /* closed loop: only so many operations start */
    int64_t last_ns;    /* the latest time seen */
    int64_t next_cut_ns, next_slice_ns, next_phase_ns;
    int64_t start_ns, measure_start_ns, measure_end_ns, drain_end_ns; /* planned, then as they came */
    struct worker_arrivals due_next, start_next;                      /* to be counted as due; to be started */
    int64_t backlog;                                                  /* due but not started */
    struct worker_count count;
    int64_t cpu_start_ns, cpu_ns, window_cpu_start_ns, window_cpu_ns;
    int64_t longest_gap_ns; /* inside the window, between two looks at the world, which are LOOK_NS apart at most */

    atomic_int phase_seen; /* for the conductor */
    atomic_bool ended;
};

/* Clients first_client .. first_client + client_count of the whole load. The driver becomes the worker's. */
void worker_init(struct worker *worker, const struct load_spec *spec, const struct load_shape *shape, int index,
                 int workers, struct driver *driver, struct worker_shared *shared);
void worker_release(struct worker *worker); /* not the driver: whoever opened it closes it */

/* The data plane: from start_ns to the end of the drain, in the worker's thread. */
void worker_run(struct worker *worker, int64_t start_ns);

#endif
