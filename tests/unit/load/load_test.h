/* What the tests of this room share: programs by hand, a load run from beginning to end, sums over its slices. */
#ifndef PL_TESTS_LOAD_TEST_H
#define PL_TESTS_LOAD_TEST_H

#include "support.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "load/load.h"
#include "memory_sink.h"

#define MS PL_NS_PER_MS
#define SEC PL_NS_PER_S
#define START_NS (1000 * SEC) /* of runs in virtual time */

#define UNUSED __attribute__((unused))

/* Two programs without variables: one and three round trips. */
UNUSED static const struct step load_test_steps[] = {
    {.kind = STEP_SQL,
     .io_index = 0,
     .text = "a",
     .pieces = &(struct sql_piece){"a", 1, -1},
     .piece_count = 1,
     .prepared_text = "a"},
    {.kind = STEP_SQL,
     .io_index = 1,
     .text = "b",
     .pieces = &(struct sql_piece){"b", 1, -1},
     .piece_count = 1,
     .prepared_text = "b"},
    {.kind = STEP_SQL,
     .io_index = 2,
     .text = "c",
     .pieces = &(struct sql_piece){"c", 1, -1},
     .piece_count = 1,
     .prepared_text = "c"},
};
UNUSED static const struct program load_test_one = {
    .name = "one", .steps = load_test_steps, .step_count = 1, .io_step_count = 1};
UNUSED static const struct program load_test_three = {
    .name = "three", .steps = load_test_steps, .step_count = 3, .io_step_count = 3};
UNUSED static const struct load_script load_test_script_one = {.program = &load_test_one, .weight = 1};

/* Three scripts, twelve clients, four servers. */
UNUSED static const struct load_script mix[] = {{.program = &load_test_one, .weight = 5},
                                                {.program = &load_test_three, .weight = 1},
                                                {.program = &load_test_one, .weight = 2}};

UNUSED static struct load_spec sim_spec(void)
{
    return (struct load_spec){.driver = LOAD_SIM,
                              .sim = {.servers = 4, .mean_service_ns = 1e6},
                              .scripts = mix,
                              .script_count = 3,
                              .clients = 12,
                              .workers = 1,
                              .warm_up_ns = 1500 * MS,
                              .measure_ns = 4250 * MS,
                              .drain_ns = 2 * SEC,
                              .seed = 5};
}

UNUSED static struct load_spec open_spec(void)
{
    struct load_spec spec = sim_spec();
    spec.open_loop = true;
    spec.rate_per_s = 1000;
    spec.arrivals = PLAN_POISSON;
    return spec;
}

struct load_run {
    struct memory_sink memory;
    struct load_result result;
    struct load_glance glance; /* the last one */
    struct pl_err err;
    enum pl_code code;
    struct load_self self;             /* copies of what the result points to, which goes with the load */
    struct load_tenant_count *tenants; /* NULL: none */
};

/* Before load_free. */
UNUSED static void load_run_keep(const struct load_spec *spec, struct load_run *run)
{
    struct load_result *result = &run->result;
    if (result->self == NULL)
        return;
    run->self = *result->self;
    hist_init_latency(&run->self.lateness);
    hist_merge(&run->self.lateness, &result->self->lateness);
    if (result->tenants != NULL) {
        run->tenants = pl_new(spec->tenants->row_count, sizeof *run->tenants);
        memcpy(run->tenants, result->tenants, spec->tenants->row_count * sizeof *run->tenants);
    }
    result->self = &run->self;
    result->tenants = run->tenants;
    result->http = NULL;
    result->connect = NULL;
}

/* Runs a load that was connected. stop_at: load_stop once so many operations have completed (0: never). */
UNUSED static void load_run_connected(struct load *load, int64_t start_ns, int64_t stop_at, struct load_run *run)
{
    struct sink sink = memory_sink(&run->memory);
    load_start(load, start_ns);
    do {
        if (load_poll(load, 7, &sink, &run->glance, &run->err) != PL_OK)
            break;
        if (stop_at > 0 && run->glance.completed >= stop_at)
            load_stop(load);
        sched_yield();
    } while (!run->glance.ended);
    if (run->err.code == PL_OK)
        run->code = load_finish(load, 7, &sink, &run->result, &run->err);
}

UNUSED static void load_run_any(const struct load_spec *spec, int64_t start_ns, struct load_run *run)
{
    struct load *load;
    *run = (struct load_run){0};
    memory_sink_init(&run->memory);
    assert_int_equal(load_new(spec, &load, &run->err), PL_OK);
    run->code = load_connect(load, NULL, &run->err);
    if (run->code == PL_OK)
        load_run_connected(load, start_ns, 0, run);
    load_run_keep(spec, run);
    load_free(load);
}

/* Runs in virtual time; it must succeed. */
UNUSED static void load_run_virtual(const struct load_spec *spec, struct load_run *run)
{
    load_run_any(spec, START_NS, run);
    if (run->code != PL_OK)
        print_error("%s\n", run->err.what);
    assert_int_equal(run->code, PL_OK);
}

/* Runs by the clock; it must succeed. */
UNUSED static void load_run_real(const struct load_spec *spec, struct load_run *run)
{
    load_run_any(spec, pl_clock_ns(), run);
    if (run->code != PL_OK)
        print_error("%s\n", run->err.what);
    assert_int_equal(run->code, PL_OK);
}

/* Adds up the slices of one phase of due (or PHASE_COUNT: all), one script (or -1: all) and one step. hist must be
 * initialised and is merged into: 'r'esponse, 's'ervice, 'l'ateness or 'c'ensored. */
UNUSED static struct ledger load_run_sum(const struct load_run *run, enum phase due_in, int script, int step, char which,
                                         struct hist *hist)
{
    struct ledger sum = {0};
    for (size_t i = 0; i < run->memory.slice_count; i++) {
        const struct slice *slice = &run->memory.slices[i];
        if ((due_in != PHASE_COUNT && slice->due_in != due_in) || (script >= 0 && slice->script != script) ||
            slice->step != step)
            continue;
        ledger_add(&sum, &slice->ledger);
        const struct hist *from = which == 'r'   ? slice->response
                                  : which == 's' ? slice->service
                                  : which == 'l' ? slice->lateness
                                                 : slice->censored;
        if (hist != NULL && from != NULL)
            hist_merge(hist, from);
    }
    return sum;
}

UNUSED static void assert_ledger_equal(const struct ledger *a, const struct ledger *b)
{
    assert_int_equal(a->due, b->due);
    assert_int_equal(a->completed, b->completed);
    assert_int_equal(a->failed, b->failed);
    assert_int_equal(a->skipped, b->skipped);
    assert_int_equal(a->expired, b->expired);
    assert_int_equal(a->unfinished, b->unfinished);
    assert_int_equal(a->never_started, b->never_started);
}

/* What must hold for every run, whatever happened in it. */
UNUSED static void load_run_check(const struct load_run *run)
{
    const struct load_result *result = &run->result;
    struct ledger all = load_run_sum(run, PHASE_COUNT, -1, -1, 'r', NULL);
    struct ledger warm_up = load_run_sum(run, PHASE_WARM_UP, -1, -1, 'r', NULL);
    struct ledger measured = load_run_sum(run, PHASE_MEASURE, -1, -1, 'r', NULL);
    assert_ledger_equal(&all, &result->total);
    assert_ledger_equal(&warm_up, &result->warm_up);
    assert_ledger_equal(&measured, &result->measured);
    assert_true(ledger_balances(&all) && ledger_balances(&warm_up) && ledger_balances(&measured));
    int64_t in_window = 0;
    for (size_t i = 0; i < run->memory.slice_count; i++) {
        const struct slice *slice = &run->memory.slices[i];
        assert_int_equal(slice->trial_id, 7);
        assert_true(slice->start_ns <= slice->end_ns);
        assert_true(slice->due_in == PHASE_WARM_UP || slice->due_in == PHASE_MEASURE);
        assert_true(slice->due_in <= slice->during);
        assert_int_equal(slice->service->total, slice->ledger.completed);
        assert_int_equal(slice->censored == NULL ? 0 : slice->censored->total,
                         slice->ledger.expired + slice->ledger.unfinished);
        if (slice->step < 0) {
            assert_int_equal(slice->response->total, slice->ledger.completed);
            assert_int_equal(slice->lateness->total, slice->ledger.completed);
            assert_true(slice->response->sum == slice->service->sum + slice->lateness->sum);
            in_window += slice->during == PHASE_MEASURE ? slice->ledger.completed : 0;
        }
    }
    assert_int_equal(in_window, result->completed_in_window);
    assert_int_equal(result->window_ns, result->measure_end_ns - result->measure_start_ns);
    assert_int_equal(result->self->starts, result->self->lateness.total);
    assert_true(result->self->starts <= result->measured.due);
    assert_true(result->self->starts >= result->measured.completed);
}

UNUSED static void load_run_release(struct load_run *run)
{
    memory_sink_release(&run->memory);
    hist_release(&run->self.lateness);
    pl_free(run->tenants);
}

UNUSED static const struct fault *load_run_fault(const struct load_run *run, const char *code)
{
    for (size_t i = 0; i < run->memory.fault_count; i++)
        if (strcmp(run->memory.faults[i].code, code) == 0)
            return &run->memory.faults[i];
    return NULL;
}

#endif
