/* The load engine: W workers, each with its own clients, driver, random streams and histograms, run programs closed loop
 * (as fast as the clients can) or open loop (when a timetable says). See worker.c for the life of an operation.
 *
 * Order of calls, all from the conducting thread: load_new, load_connect, load_start, load_poll (until it says ended),
 * load_finish, load_free. Between load_start and the end nothing in the workers allocates, blocks, logs or formats. */
#ifndef PL_LOAD_LOAD_H
#define PL_LOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "http/http.h"
#include "load/driver.h"
#include "plan/plan.h"
#include "record/sink.h"
#include "script/feed.h"
#include "script/program.h"
#include "stats/hist.h"

enum load_driver { LOAD_PG, LOAD_HTTP, LOAD_NULL, LOAD_SIM };

/* What all requests of a load share. */
struct load_http {
    struct http_spec engine;    /* clients is filled in; connections: of the whole load, divided over the workers */
    const char *base_url;       /* completes URLs that are only a path; NULL: none. A tenant's `url` wins */
    const char *const *headers; /* NULL-ended "Name: value", for every request that does not state the name; may be NULL */
    const char *credentials;    /* "user:password", basic auth likewise; NULL: none. A tenant's `user` wins */
    int64_t max_time_ns;        /* of a request that states none; 0: 30 s */
    bool follows;               /* redirects, also where the script does not say so */
    bool compressed;            /* asks for gzip, also where the script does not say so */
    bool no_cookies;            /* clients remember none */
};

/* The rows of load_spec.tenants: the columns `url` (base URL), `host` (what Host says), `user` ("name:password") and
 * `header.NAME` are used by the driver of HTTP; all columns are variables. Each operation is of one tenant, drawn by
 * weight. */
struct load_tenant_count {
    int64_t completed, failed; /* operations due in the measured window, as in the ledger; expired ones: failed */
};

/* What the driver of HTTP has counted, all workers. */
struct load_http_result {
    struct http_stats warm_up, measured; /* until the measured window began; from then to the end of the drain */
    int64_t redirects;                   /* followed; each is a request of its own in the stats */
    struct http_address *addresses;
    size_t address_count;
};

/* How the load kept its own promise. */
struct load_self {
    struct hist lateness; /* ns, measured window: from the moment from which an operation could have been started (due, and
                             a client free for it) until it was: what is the load's own fault, and nobody else's */
    int64_t starts;       /* as many */
    double gap_cv, gap_cv_asked; /* coefficient of variation of the gaps between starts, and between the due times, within
                                    workers; NAN: fewer than 3. Closed loop: NAN */
    double busiest_frac;         /* CPU time of the busiest worker over the window: near 1 the client is the limit */
};

/* The law of a simulated server: `servers` of them behind one first-come-first-served queue, per worker. In
 * [stall_at_ns, stall_at_ns + stall_ns) after the start all of them stand still. */
enum load_sim_law { LOAD_SIM_EXPONENTIAL, LOAD_SIM_CONSTANT };
struct load_sim {
    int servers;
    double mean_service_ns;
    enum load_sim_law law;
    int64_t stall_at_ns, stall_ns; /* 0: none */
};

/* LOAD_START_LATE: they are started while the drain lasts, those that could not be are unfinished. LOAD_STOP_AT_END:
 * nothing starts after the window; they are unfinished and never started. */
enum load_end { LOAD_START_LATE, LOAD_STOP_AT_END };

/* LOAD_GO_ON: an operation that fails is counted and its client goes on with the next. LOAD_END_CLIENT: as pgbench, an
 * error of the server (beyond what is retried: 40001 and 40P01 fail and go on) or of a meta command ends the client, its
 * connection is closed. LOAD_GO_ON_AFTER_SQL: as --continue-on-error: only errors of meta commands, and transactions or
 * pipelines left open, do. */
enum load_on_error { LOAD_GO_ON, LOAD_END_CLIENT, LOAD_GO_ON_AFTER_SQL };

struct load_script {
    const struct program *program;
    int weight; /* >= 1 */
};

/* Set in every client before the first operation, when the program has it. The engine itself sets `client_id` (of the whole
 * load, from 0) and `random_seed`; a variable of that name given here wins. */
struct load_variable {
    const char *name;
    struct value value;
};

/* Copied by load_new, except the programs, which must live until load_free. */
struct load_spec {
    enum load_driver driver;
    const char *conninfo;         /* LOAD_PG; may hold a password */
    const struct load_http *http; /* LOAD_HTTP; may hold secrets */
    const struct feed *tenants;   /* NULL: none; must live until load_free */
    enum plan_protocol protocol;
    struct load_sim sim; /* LOAD_SIM */
    const struct load_script *scripts;
    int script_count;
    const struct load_variable *variables;
    int variable_count;
    int clients,
        workers; /* workers 0: chosen; never more than clients, or than connections of HTTP when these are stated */
    bool open_loop;
    double rate_per_s; /* for one worker at most 2e6: arrivals are drawn one by one. Poisson: each has the share of its
                          clients */
    enum plan_arrivals arrivals;
    int64_t operations; /* closed loop: each trial ends after so many in all; 0 = by time. No warm-up then. */
    int64_t warm_up_ns, measure_ns, drain_ns; /* drain_ns: at most, then what is under way is unfinished */
    int64_t slice_ns;                         /* 0 = 1 s */
    uint64_t seed;
    int64_t connect_timeout_ns; /* 0 = 30 s */

    /* All that follows: zero is what a plan's stages do. */
    int64_t operations_per_client; /* each client carries out so many (skipped and failed ones count), then it is done; open
                                      loop: clients * this many become due. Instead of `operations`; measure_ns is 0. */
    enum load_end at_end;          /* what happens to due operations that have not started when the window ends */
    enum load_on_error on_error;
    bool stop_on_lost_client; /* the whole load stops when a client ends early */
    int max_tries;            /* of an operation that fails with SQLSTATE 40001 or 40P01; 0 and 1: one; -1: no limit but
                                 latency_limit_ns and the end of the window. A retry begins the script again with the
                                 client's random stream and variables as they were at its start. */
    int64_t latency_limit_ns; /* 0: none. Responses above it are counted; open loop: an operation that is later than this
                                 when a client is free for it is skipped; a try that would begin later than this after due
                                 is not made. */
    bool connect_each;        /* each operation opens its own connection and closes it */
    bool prepare_lazily;      /* PLAN_PREPARED: each connection prepares a command when it first runs it */
    bool every_step;          /* record all commands as written (slice.step = step.number), not only the I/O steps */
    bool no_steps;            /* record no steps, only whole operations: no limit then to the length of the scripts */
    bool tell_failures;       /* notices of failures and retries too, not only of clients that end */
    bool log_operations;      /* push ended operations to sink.operations */
    double sampling_frac;     /* of them, chosen at random; 0 = all */
    int64_t think_ns;         /* closed loop, and within sessions: a client waits so long between two operations; what comes
                                 next is due when it has */
    bool think_exponential;   /* think_ns is the mean of an exponential law */
    double session_operations; /* open loop: what arrives is a user who carries out so many operations one after the other:
                                  the first is due on arrival, each further one when the one before has ended and the user
                                  has thought. Then the client is forgotten: variables and random streams go on, cookies and
                                  the connection do not. All his operations are of one tenant. 0: none */
    bool session_geometric;    /* session_operations is the mean of a geometric law on 1, 2, ... */
};

/* What the live view shows: since load_start. */
struct load_glance {
    enum phase phase;
    double completed_per_s;    /* over the last slice */
    int64_t p50_ns, p99_ns;    /* response, over the last slice */
    int64_t completed, failed; /* failed: expired ones, too */
    bool ended;
};

/* What a worker has to say while the load runs, in the order in which it happened. */
enum load_notice_kind {
    LOAD_CLIENT_ENDED, /* early: its connection is gone, or an error ended it (on_error) */
    LOAD_FAILURE,      /* tell_failures: an operation failed and is not tried again */
    LOAD_RETRY         /* tell_failures: it failed and is tried again */
};

enum { LOAD_NOTICE_TEXT_BYTES = 1000 };

struct load_notice {
    enum load_notice_kind kind;
    int client;            /* of the whole load */
    int worker;            /* which it belongs to */
    int script, step;      /* step: its index among the program's steps; -1: outside of any (after the last, connecting) */
    int tries;             /* so far */
    int64_t at_ns, due_ns; /* due_ns: of the operation */
    bool is_lost;          /* the connection is gone */
    bool while_connecting; /* connect_each: it was opening its connection */
    char code[DRIVER_CODE_BYTES];      /* as in struct driver_done, or one of the engine's own: "SCRIPT" (a meta command),
                                          "IN_TRANSACTION", "IN_PIPELINE" (left open at the end of the script) */
    char text[LOAD_NOTICE_TEXT_BYTES]; /* a longer one is cut at the border of a character */
};

struct load_result {
    struct ledger warm_up, measured, total; /* by the phase in which operations were due */
    int64_t completed_in_window;            /* ended inside the measured window, whenever due */
    int64_t window_ns;
    /* monotonic; measure_start_ns and measure_end_ns are 0 when the load ended before the window began */
    int64_t connect_start_ns, connect_end_ns, warm_up_start_ns, measure_start_ns, measure_end_ns, drain_end_ns;
    int64_t cpu_ns;         /* CPU of the workers between load_start and the end */
    int64_t window_cpu_ns;  /* inside the measured window */
    int64_t longest_gap_ns; /* of any worker inside the window: above a few tenths of a second it did not get to run */
    int clients_lost, workers;
    const char *event_loop; /* "epoll", "epoll, sends by io_uring", "virtual", "none"; "" before it was connected */
    struct attempts warm_up_attempts, measured_attempts;
    int64_t clients_ended_early;             /* lost ones included */
    int64_t notices_missed;                  /* that found no room: only LOAD_FAILURE and LOAD_RETRY can be */
    int64_t log_wait_ns;                     /* how long workers stood still because the log could not be written away */
    const struct load_self *self;            /* lives until load_free, as do the next two */
    const struct load_http_result *http;     /* LOAD_HTTP; else NULL */
    const struct load_tenant_count *tenants; /* of each row of spec.tenants; NULL without */
    const struct hist *connect; /* connect_each: ns from the beginning of a connection until it was ready, all workers;
                                   lives until load_free. NULL otherwise */
};

struct load;

/* NULL, or why a result must not be used for fits, a sentence in the arena: own lateness p99 above 1 ms and above a tenth
 * of the response's median (open loop); a worker that used more than 80 % of a core in the window. */
const char *load_result_mark(const struct load_result *result, const struct hist *response, bool open_loop,
                             struct pl_arena *arena);

/* PL_INPUT or PL_LIMIT: what is wrong with the spec. Takes all memory that the workers will use. */
PL_MUST_CHECK enum pl_code load_new(const struct load_spec *spec, struct load **ret_load, struct pl_err *err);

/* Starts the workers, opens all connections and prepares all statements, returns when all have (the barrier).
 * stop (may be NULL): set to non-zero by a signal handler or another thread to give up: PL_INTERRUPTED. PL_SERVICE: the
 * server refused a connection or a statement, or took longer than the time to connect. Then only load_free is left. */
PL_MUST_CHECK enum pl_code load_connect(struct load *load, const volatile int *stop, struct pl_err *err);

/* Opens the barrier: the clock of the trial starts at start_ns (monotonic, may lie a little ahead). */
void load_start(struct load *load, int64_t start_ns);

/* Takes finished slices and hands them to the sink (trial_id is stamped on them), then looks. Never blocks on workers.
 * Slices are those of single workers: W of them cover an interval. After an error of the sink the load goes on: load_stop,
 * and poll until it has ended. */
PL_MUST_CHECK enum pl_code load_poll(struct load *load, int64_t trial_id, struct sink *sink, struct load_glance *ret_glance,
                                     struct pl_err *err);

/* The next notice, after load_poll or load_finish; false: there is none. Conductor. */
bool load_next_notice(struct load *load, struct load_notice *ret_notice);

/* Ends the trial early: nothing starts any more, what is under way is drained. A worker sees it within 100 ms. Any thread,
 * also before load_start; async-signal-safe. */
void load_stop(struct load *load);

/* Ends the drain, too: what is under way is unfinished. After load_stop or instead of it; otherwise as load_stop. */
void load_abandon(struct load *load);

/* After load_poll said ended: joins, hands over the last slices and the faults, closes connections, checks the ledger
 * (PL_BALANCE when it does not balance). Measured data reach the sink also when an error is returned. */
PL_MUST_CHECK enum pl_code load_finish(struct load *load, int64_t trial_id, struct sink *sink,
                                       struct load_result *ret_result, struct pl_err *err);
void load_free(struct load *load); /* NULL is fine; stops and joins first if need be */

#endif
