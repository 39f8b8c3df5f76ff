/* Phases, slices, counts and mixes: the engine in virtual time, where exact numbers can be asserted. */
#include "load_test.h"

#include <math.h>

/* 1.5 s of warm-up and 4.25 s of measuring in slices of 1 s: the boundaries are known. */
static void check_boundaries(const struct load_run *run, int workers)
{
    static const int64_t ends_ms[] = {0, 1000, 1500, 2000, 3000, 4000, 5000, 5750};
    enum { SLICES = 7 };
    int seen[SLICES] = {0};
    for (size_t i = 0; i < run->memory.slice_count; i++) {
        const struct slice *slice = &run->memory.slices[i];
        if (slice->during == PHASE_DRAIN) {
            assert_true(slice->start_ns >= START_NS + 5750 * MS && slice->end_ns <= START_NS + 7750 * MS);
            continue;
        }
        int k = 0;
        while (k < SLICES && slice->start_ns != START_NS + ends_ms[k] * MS)
            k++;
        assert_true(k < SLICES);
        assert_int_equal(slice->end_ns, START_NS + ends_ms[k + 1] * MS);
        assert_int_equal(slice->during, k < 2 ? PHASE_WARM_UP : PHASE_MEASURE);
        seen[k] += slice->step < 0 && slice->script == 0 && slice->due_in == slice->during;
    }
    for (int k = 0; k < SLICES; k++)
        assert_int_equal(seen[k], workers);
    assert_int_equal(run->result.warm_up_start_ns, START_NS);
    assert_int_equal(run->result.measure_start_ns, START_NS + 1500 * MS);
    assert_int_equal(run->result.measure_end_ns, START_NS + 5750 * MS);
    assert_true(run->result.drain_end_ns >= run->result.measure_end_ns);
    assert_int_equal(run->result.window_ns, 4250 * MS);
}

static void test_slices_sum_to_totals(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++)
        for (int open_loop = 0; open_loop < 2; open_loop++) {
            struct load_spec spec = open_loop ? open_spec() : sim_spec();
            struct load_run run;
            spec.workers = workers;
            load_run_virtual(&spec, &run);
            load_run_check(&run);
            check_boundaries(&run, workers);
            assert_int_equal(run.result.workers, workers);
            assert_string_equal(run.result.event_loop, "virtual");
            assert_int_equal(run.result.clients_lost, 0);
            assert_int_equal(run.result.total.failed + run.result.total.unfinished, 0);
            assert_true(run.result.warm_up.due > 0 && run.result.measured.due > run.result.warm_up.due);
            assert_int_equal(run.memory.fault_count, 0);
            load_run_release(&run);
        }
}

/* Operations due every millisecond from the start, each taking 2.5 ms: what must be counted in each slice is known. */
static void test_slice_counts_are_exact(void **state)
{
    (void)state;
    struct load_spec spec = open_spec();
    spec.arrivals = PLAN_CONSTANT;
    spec.sim = (struct load_sim){.servers = 12, .mean_service_ns = 2.5e6, .law = LOAD_SIM_CONSTANT};
    spec.scripts = &load_test_script_one;
    spec.script_count = 1;
    for (int workers = 1; workers <= 3; workers++) {
        static const int64_t starts_ms[] = {0, 1000, 1500, 2000, 3000, 4000, 5000, 5750};
        struct load_run run;
        spec.workers = workers;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        for (size_t k = 0; k < 8; k++) {
            struct ledger sum = {0};
            for (size_t i = 0; i < run.memory.slice_count; i++)
                if (run.memory.slices[i].step < 0 && run.memory.slices[i].start_ns == START_NS + starts_ms[k] * MS)
                    ledger_add(&sum, &run.memory.slices[i].ledger);
            int64_t length_ms = k < 7 ? starts_ms[k + 1] - starts_ms[k] : 0;
            assert_int_equal(sum.due, length_ms);
            assert_int_equal(sum.completed, k == 0 ? length_ms - 2 : k == 7 ? 2 : length_ms);
        }
        assert_int_equal(run.result.warm_up.due, 1500);
        assert_int_equal(run.result.measured.due, 4250);
        assert_int_equal(run.result.completed_in_window, 4250);
        load_run_release(&run);
    }
}

static void assert_slices_equal(const struct load_run *a, const struct load_run *b)
{
    assert_int_equal(a->memory.slice_count, b->memory.slice_count);
    for (size_t i = 0; i < a->memory.slice_count; i++) {
        const struct slice *x = &a->memory.slices[i], *y = &b->memory.slices[i];
        assert_int_equal(x->start_ns, y->start_ns);
        assert_int_equal(x->end_ns, y->end_ns);
        assert_true(x->during == y->during && x->due_in == y->due_in && x->script == y->script && x->step == y->step);
        assert_ledger_equal(&x->ledger, &y->ledger);
        struct pl_buf p, q;
        pl_buf_init(&p, 1 << 20);
        pl_buf_init(&q, 1 << 20);
        hist_encode(x->step < 0 ? x->response : x->service, &p);
        hist_encode(y->step < 0 ? y->response : y->service, &q);
        assert_int_equal(p.len, q.len);
        assert_memory_equal(p.data, q.data, p.len);
        pl_buf_release(&p);
        pl_buf_release(&q);
    }
}

static void test_same_seed_same_slices(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_spec spec = open_loop ? open_spec() : sim_spec();
        struct load_run a, b, c;
        load_run_virtual(&spec, &a);
        load_run_virtual(&spec, &b);
        assert_slices_equal(&a, &b);
        spec.seed++;
        load_run_virtual(&spec, &c);
        assert_true(a.result.total.due != c.result.total.due || a.result.total.completed != c.result.total.completed ||
                    a.memory.slices[0].response->sum != c.memory.slices[0].response->sum);
        load_run_release(&a);
        load_run_release(&b);
        load_run_release(&c);
    }
}

static void test_slice_length_changes_nothing(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_spec spec = open_loop ? open_spec() : sim_spec();
        struct hist first, other;
        struct load_run run;
        static const int64_t lengths[] = {0, 100 * MS, 333333333, 60 * SEC, 50 * MS};
        struct load_result expected = {0};
        hist_init_latency(&first);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            spec.slice_ns = lengths[i];
            load_run_virtual(&spec, &run);
            load_run_check(&run);
            hist_init_latency(&other);
            load_run_sum(&run, PHASE_MEASURE, -1, -1, 'r', i == 0 ? &first : &other);
            if (i == 0)
                expected = run.result;
            assert_ledger_equal(&run.result.warm_up, &expected.warm_up);
            assert_ledger_equal(&run.result.measured, &expected.measured);
            assert_int_equal(run.result.completed_in_window, expected.completed_in_window);
            assert_int_equal(run.result.drain_end_ns, expected.drain_end_ns);
            if (i > 0) {
                assert_true(first.sum == other.sum && first.max == other.max && first.total == other.total);
                assert_int_equal(hist_quantile(&first, 0.9), hist_quantile(&other, 0.9));
            }
            hist_release(&other);
            load_run_release(&run);
        }
        hist_release(&first);
    }
}

/* Ten times more is due than the server can do: nothing that was due disappears. */
static void test_overload(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 2; workers++) {
        struct load_spec spec = open_spec();
        struct load_run run;
        spec.scripts = &load_test_script_one;
        spec.script_count = 1;
        spec.workers = workers;
        spec.arrivals = PLAN_CONSTANT;
        spec.rate_per_s = 20000 * workers; /* of 2000 that each worker's two servers can do */
        spec.sim = (struct load_sim){.servers = 2, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        const struct ledger *total = &run.result.total;
        assert_int_equal(total->due, 5.75 * spec.rate_per_s);
        assert_int_equal(run.result.measured.due, 4.25 * spec.rate_per_s);
        assert_int_equal(run.result.completed_in_window, 4.25 * 2000 * workers);
        assert_int_equal(run.result.drain_end_ns, START_NS + 7750 * MS); /* the drain did not help, and is bounded */
        assert_close((double)total->completed, 7.75 * 2000 * workers, 0, 4 * workers);
        assert_int_equal(total->unfinished, total->due - total->completed);
        assert_in_range(total->unfinished - total->never_started, 1, spec.clients); /* those were under way */
        assert_true(run.result.measured.never_started == run.result.measured.due);
        load_run_release(&run);
    }
}

/* What waits when the measured window ends is still served in the drain, and counts from when it was due. */
static void test_backlog_is_served_in_the_drain(void **state)
{
    (void)state;
    struct load_spec spec = open_spec();
    struct load_run run;
    spec.warm_up_ns = 0;
    spec.measure_ns = SEC;
    spec.scripts = &load_test_script_one;
    spec.script_count = 1;
    spec.arrivals = PLAN_CONSTANT;
    spec.rate_per_s = 4000;
    spec.sim = (struct load_sim){.servers = 2, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
    load_run_virtual(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.due, 4000);
    assert_int_equal(run.result.total.completed, 4000);
    assert_int_equal(run.result.drain_end_ns, START_NS + 2 * SEC + 250000); /* the second server began one arrival later */
    struct hist response;
    hist_init_latency(&response);
    load_run_sum(&run, PHASE_MEASURE, 0, -1, 'r', &response);
    assert_close((double)response.max, 1e9, 0.002, 0);
    hist_release(&response);
    load_run_release(&run);
}

static void test_count_of_operations(void **state)
{
    (void)state;
    static const struct {
        int64_t operations;
        int clients, workers;
    } cases[] = {{1, 1, 1}, {1, 12, 3}, {1000, 12, 1}, {1001, 12, 4}, {7, 8, 2}, {100000, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct load_spec spec = sim_spec();
        struct load_run run;
        spec.operations = cases[i].operations;
        spec.clients = cases[i].clients;
        spec.workers = cases[i].workers;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.due, cases[i].operations);
        assert_int_equal(run.result.total.completed, cases[i].operations);
        assert_int_equal(run.result.completed_in_window, cases[i].operations);
        assert_int_equal(run.result.warm_up.due, 0);
        assert_int_equal(run.result.measure_start_ns, START_NS);
        assert_int_equal(run.result.drain_end_ns, run.result.measure_end_ns);
        load_run_release(&run);
    }
    /* one client, constant service: the window ends with the last completion, to the nanosecond */
    struct load_spec spec = sim_spec();
    struct load_run run;
    spec.operations = 250;
    spec.clients = 1;
    spec.scripts = &load_test_script_one;
    spec.script_count = 1;
    spec.sim.law = LOAD_SIM_CONSTANT;
    load_run_virtual(&spec, &run);
    assert_int_equal(run.result.window_ns, 250 * MS);
    load_run_release(&run);
}

/* Weights 5, 1, 2: chi-square with two degrees of freedom, 0.1 % is 13.8; and the mix of a client is its own. */
static void test_weights(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_spec spec = open_loop ? open_spec() : sim_spec();
        struct load_run run;
        spec.measure_ns = 40 * SEC;
        spec.slice_ns = 20 * SEC;
        spec.clients = 100;
        spec.sim.servers = 100;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        double chi_square = 0;
        for (int s = 0; s < 3; s++) {
            struct ledger sum = load_run_sum(&run, PHASE_COUNT, s, -1, 'r', NULL);
            double expected = (double)run.result.total.due * mix[s].weight / 8;
            chi_square += pow((double)sum.due - expected, 2) / expected;
            for (int step = 0; step < (int)mix[s].program->io_step_count; step++) {
                struct ledger steps = load_run_sum(&run, PHASE_COUNT, s, step, 's', NULL);
                assert_int_equal(steps.completed, sum.completed);
            }
        }
        assert_true(run.result.total.due > 30000);
        assert_true(chi_square < 13.8);
        load_run_release(&run);
    }
}

/* Closed loop with a server for each client: what a client does depends on its own streams alone, not on how the clients
 * are spread over workers. (Service times are constant, as their stream is a worker's.) */
static void test_workers_change_nothing(void **state)
{
    (void)state;
    int64_t due[3] = {0};
    for (int workers = 1; workers <= 4; workers++) {
        struct load_spec spec = sim_spec();
        struct load_run run;
        spec.workers = workers;
        spec.sim = (struct load_sim){.servers = 12, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
        load_run_virtual(&spec, &run);
        for (int s = 0; s < 3; s++) {
            struct ledger sum = load_run_sum(&run, PHASE_COUNT, s, -1, 'r', NULL);
            if (workers == 1)
                due[s] = sum.due;
            assert_int_equal(sum.due, due[s]);
        }
        load_run_release(&run);
    }
    /* open loop, constant arrivals: the script of an arrival follows from its place in the whole stream */
    for (int workers = 1; workers <= 4; workers++) {
        struct load_spec spec = open_spec();
        struct load_run run;
        spec.workers = workers;
        spec.arrivals = PLAN_CONSTANT;
        load_run_virtual(&spec, &run);
        for (int s = 0; s < 3; s++) {
            struct ledger sum = load_run_sum(&run, PHASE_COUNT, s, -1, 'r', NULL);
            if (workers == 1)
                due[s] = sum.due;
            assert_int_equal(sum.due, due[s]);
        }
        load_run_release(&run);
    }
}

/* A \set that cannot be evaluated: a fault, not a spinning worker, and in virtual time not an endless one. */
static void test_script_fault(void **state)
{
    (void)state;
    static const char text[] = "\\set x 1 / 0\nSELECT :x;\n", late[] = "SELECT 1;\n\\set x 1 / 0\nSELECT :x;\n";
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct program *early_program, *late_program;
    struct names *names = names_new(arena);
    assert_int_equal(program_compile("e", text, sizeof text - 1, PROGRAM_STRICT, names, arena, &early_program, &err),
                     PL_OK);
    assert_int_equal(program_compile("l", late, sizeof late - 1, PROGRAM_STRICT, names, arena, &late_program, &err), PL_OK);
    const struct load_script scripts[] = {{early_program, 1}, {late_program, 1}};
    for (int i = 0; i < 6; i++) {
        struct load_spec spec = i % 2 ? open_spec() : sim_spec();
        struct load_run run;
        spec.scripts = i < 4 ? &scripts[i / 2] : scripts;
        spec.script_count = i < 4 ? 1 : 2;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.completed, 0);
        assert_true(run.result.total.failed > 1000);
        int64_t faults = 0;
        for (size_t f = 0; f < run.memory.fault_count; f++) {
            assert_string_equal(run.memory.faults[f].code, "SCRIPT");
            assert_string_equal(run.memory.faults[f].source, "load");
            assert_true(run.memory.faults[f].example[0] != '\0');
            faults += run.memory.faults[f].count;
        }
        assert_int_equal(faults, run.result.total.failed);
        load_run_release(&run);
    }
    /* by count: failed ones are operations too */
    struct load_spec spec = sim_spec();
    struct load_run run;
    spec.scripts = scripts;
    spec.script_count = 2;
    spec.operations = 500;
    load_run_virtual(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.failed, 500);
    load_run_release(&run);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_sum_to_totals),
        cmocka_unit_test(test_slice_counts_are_exact),
        cmocka_unit_test(test_same_seed_same_slices),
        cmocka_unit_test(test_slice_length_changes_nothing),
        cmocka_unit_test(test_overload),
        cmocka_unit_test(test_backlog_is_served_in_the_drain),
        cmocka_unit_test(test_count_of_operations),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_workers_change_nothing),
        cmocka_unit_test(test_script_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
