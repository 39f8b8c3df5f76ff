/* The load engine: W workers, each with its own clients, driver, random streams and histograms, run programs closed loop
 * (as fast as the clients can) or open loop (when a timetable says). See worker.c for the life of an operation.
 *
 * Order of calls, all from the conducting thread: load_new, load_connect, load_start, load_poll (until it says ended),
 * load_finish, load_free. Between load_start and the end nothing in the workers allocates, blocks, logs or formats. */
#ifndef PL_LOAD_LOAD_H
#define PL_LOAD_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "load/driver.h"
#include "plan/plan.h"
#include "record/sink.h"
#include "script/program.h"

enum load_driver { LOAD_PG, LOAD_NULL, LOAD_SIM };

/* The law of a simulated server: `servers` of them behind one first-come-first-served queue, per worker. In
 * [stall_at_ns, stall_at_ns + stall_ns) after the start all of them stand still. */
enum load_sim_law { LOAD_SIM_EXPONENTIAL, LOAD_SIM_CONSTANT };
struct load_sim {
    int servers;
    double mean_service_ns;
    enum load_sim_law law;
    int64_t stall_at_ns, stall_ns; /* 0: none */
};

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
    const char *conninfo; /* LOAD_PG; may hold a password */
    enum plan_protocol protocol;
    struct load_sim sim; /* LOAD_SIM */
    const struct load_script *scripts;
    int script_count;
    const struct load_variable *variables;
    int variable_count;
    int clients, workers; /* workers 0: chosen; never more than clients */
    bool open_loop;
    double rate_per_s;
    enum plan_arrivals arrivals;
    int64_t operations; /* closed loop: each trial ends after so many in all; 0 = by time. No warm-up then. */
    int64_t warm_up_ns, measure_ns, drain_ns; /* drain_ns: at most, then what is under way is unfinished */
    int64_t slice_ns;                         /* 0 = 1 s */
    uint64_t seed;
    int64_t connect_timeout_ns; /* 0 = 30 s */
};

/* What the live view shows: since load_start. */
struct load_glance {
    enum phase phase;
    double completed_per_s; /* over the last slice */
    int64_t p50_ns, p99_ns; /* response, over the last slice */
    int64_t completed, failed;
    bool ended;
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
    const char *event_loop; /* "epoll", "virtual", "none" */
};

struct load;

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

/* Ends the trial early: nothing starts any more, what is under way is drained. A worker sees it within 100 ms. Any thread,
 * also before load_start; async-signal-safe. */
void load_stop(struct load *load);

/* After load_poll said ended: joins, hands over the last slices and the faults, closes connections, checks the ledger
 * (PL_BALANCE when it does not balance). Measured data reach the sink also when an error is returned. */
PL_MUST_CHECK enum pl_code load_finish(struct load *load, int64_t trial_id, struct sink *sink,
                                       struct load_result *ret_result, struct pl_err *err);
void load_free(struct load *load); /* NULL is fine; stops and joins first if need be */

#endif
