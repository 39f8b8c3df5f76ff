/* Totals of runs that never were, for the tests of what is made of totals. */
#ifndef PL_TESTS_TOTALS_H
#define PL_TESTS_TOTALS_H

#include "support.h"

#include "base/clock.h"
#include "pgbench/collect_int.h"

static const struct step point_steps[] = {
    {.kind = STEP_SET, .number = 0, .io_index = -1, .text = "\\set aid random(1, 100000 * :scale)"},
    {.kind = STEP_JUMP, .number = -1, .io_index = -1},
    {.kind = STEP_SQL, .number = 1, .io_index = 0, .text = "SELECT abalance\n  FROM pgbench_accounts\n WHERE aid = :aid;"},
};
static const struct program point_program = {
    .name = "point", .steps = point_steps, .step_count = 3, .io_step_count = 1, .command_count = 2};
static const struct step block_steps[] = {
    {.kind = STEP_SQL, .number = 0, .io_index = 0, .text = "BEGIN;"},
    {.kind = STEP_SQL, .number = 1, .io_index = 1, .text = "UPDATE t SET a = a + 1;"},
    {.kind = STEP_SQL, .number = 2, .io_index = 2, .text = "END;"},
};
static const struct program block_program = {
    .name = "block", .steps = block_steps, .step_count = 3, .io_step_count = 3, .command_count = 3};

/* Two scripts; one_script hides the second. */
static inline struct pgbench_options totals_options(struct pgbench_script scripts[2])
{
    scripts[0] = (struct pgbench_script){
        .title = "<builtin: select only>", .builtin = "select-only", .weight = 3, .program = &point_program};
    scripts[1] = (struct pgbench_script){.title = "block.sql", .path = "block.sql", .weight = 1, .program = &block_program};
    return (struct pgbench_options){.scripts = scripts,
                                    .script_count = 1,
                                    .conninfo = "",
                                    .database = "bank",
                                    .uses_builtin = true,
                                    .clients = 4,
                                    .threads = 2,
                                    .transactions = 10,
                                    .max_tries = 1};
}

/* What one worker may have recorded in one interval. */
struct totals_slice {
    int script, step;
    enum phase during;
    struct ledger ledger;
    struct attempts attempts;
    int64_t service_us, lateness_us, spread_us; /* of the completed ones: service + i % 10 * spread */
};

static inline void totals_add(struct pgbench_total *total, const struct totals_slice *from)
{
    struct hist response, service, lateness;
    hist_init_latency(&response);
    hist_init_latency(&service);
    hist_init_latency(&lateness);
    for (int64_t i = 0; i < from->ledger.completed; i++) {
        int64_t service_ns = (from->service_us + i % 10 * from->spread_us) * PL_NS_PER_US;
        hist_record(&service, service_ns);
        hist_record(&lateness, from->lateness_us * PL_NS_PER_US);
        hist_record(&response, service_ns + from->lateness_us * PL_NS_PER_US);
    }
    bool is_whole = from->step < 0;
    struct slice slice = {.during = from->during,
                          .due_in = PHASE_MEASURE,
                          .script = from->script,
                          .step = from->step,
                          .ledger = from->ledger,
                          .attempts = from->attempts,
                          .response = is_whole ? &response : NULL,
                          .service = &service,
                          .lateness = is_whole ? &lateness : NULL};
    pgbench_total_add(total, &slice);
    hist_release(&response);
    hist_release(&service);
    hist_release(&lateness);
}

/* The clock of a run: connected in 20 ms, started 1 s after the beginning of time, a window of so many ms. */
static inline void totals_clock(struct pgbench_total *total, int64_t window_ms, int64_t completed_in_window)
{
    total->server_version = "15.20";
    total->data = (struct dataset_found){.scale = 10};
    total->result.connect_start_ns = 970 * PL_NS_PER_MS;
    total->result.connect_end_ns = 990 * PL_NS_PER_MS;
    total->result.warm_up_start_ns = total->result.measure_start_ns = PL_NS_PER_S;
    total->result.measure_end_ns = total->result.drain_end_ns = PL_NS_PER_S + window_ms * PL_NS_PER_MS;
    total->result.window_ns = window_ms * PL_NS_PER_MS;
    total->result.completed_in_window = completed_in_window;
    total->result.workers = 2;
    total->result.event_loop = "epoll";
    total->result.cpu_ns = total->result.window_cpu_ns = window_ms * PL_NS_PER_MS / 10;
    total->result.measured = total->result.total = total->whole.ledger;
}

#endif
