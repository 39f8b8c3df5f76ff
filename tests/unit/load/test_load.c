/* The conducting side: stopping, giving up, errors, what the live view is told. */
#include "load_test.h"

#include <math.h>
#include <sys/resource.h>

#include "load/recorder_int.h"

static void test_stop_drains(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_spec spec = open_loop ? open_spec() : sim_spec();
        struct load_run run = {0};
        struct load *load;
        spec.driver = LOAD_NULL;
        spec.workers = 2;
        spec.measure_ns = 3600 * SEC;
        spec.warm_up_ns = 10 * MS;
        memory_sink_init(&run.memory);
        assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
        int64_t start_ns = pl_clock_ns() + 30 * MS;
        load_run_connected(load, start_ns, 1,
                           &run); /* slices come late: stop is called after the first one at the earliest */
        load_run_keep(&spec, &run);
        load_free(load);
        assert_int_equal(run.code, PL_OK);
        load_run_check(&run);
        assert_true(run.result.measure_start_ns == start_ns + 10 * MS);
        assert_true(run.result.measure_end_ns < start_ns + 3600 * SEC);
        assert_int_equal(run.result.total.unfinished, run.result.total.never_started);
        assert_true(run.result.total.completed > 0);
        assert_int_equal(run.glance.phase, PHASE_AFTER);
        assert_true(run.result.cpu_ns > 0 && run.result.window_cpu_ns <= run.result.cpu_ns);
        load_run_release(&run);
    }
}

static void test_stop_before_the_window(void **state)
{
    (void)state;
    struct load_spec spec = open_spec();
    struct load_run run = {0};
    struct load *load;
    spec.driver = LOAD_NULL;
    spec.warm_up_ns = 3600 * SEC;
    spec.slice_ns = 20 * MS;
    memory_sink_init(&run.memory);
    assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
    load_run_connected(load, pl_clock_ns(), 1, &run);
    load_run_keep(&spec, &run);
    load_free(load);
    assert_int_equal(run.code, PL_OK);
    load_run_check(&run);
    assert_int_equal(run.result.measure_start_ns, 0);
    assert_int_equal(run.result.measure_end_ns, 0);
    assert_int_equal(run.result.window_ns, 0);
    assert_int_equal(run.result.measured.due, 0);
    assert_true(run.result.warm_up.due > 0);
    load_run_release(&run);
}

static void test_free_at_any_point(void **state)
{
    (void)state;
    for (int point = 0; point < 5; point++) {
        struct load_spec spec = point % 2 ? open_spec() : sim_spec();
        struct load *load;
        struct pl_err err = {0};
        spec.workers = 3;
        spec.measure_ns = 3600 * SEC;
        spec.slice_ns = 10 * MS;
        if (point == 4)
            spec.driver = LOAD_NULL;
        assert_int_equal(load_new(&spec, &load, &err), PL_OK);
        if (point >= 1)
            assert_int_equal(load_connect(load, NULL, &err), PL_OK);
        if (point >= 2)
            load_start(load, point == 3 ? START_NS : pl_clock_ns());
        if (point >= 3)
            pl_clock_sleep_until(pl_clock_ns() + 50 * MS); /* virtual time: the workers wait for somebody to take slices */
        load_free(load);
    }
    load_free(NULL);
}

static void test_stop_while_connecting(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load *load;
    struct pl_err err = {0};
    volatile int stop = 1;
    spec.workers = 2;
    assert_int_equal(load_new(&spec, &load, &err), PL_OK);
    enum pl_code code = load_connect(load, &stop, &err);
    assert_true(code == PL_INTERRUPTED || code == PL_OK); /* a driver without a network may have been quicker */
    load_free(load);
}

static void test_wrong_specs(void **state)
{
    (void)state;
    static const struct load_script weightless = {.program = &load_test_one, .weight = 0};
    for (int i = 0; i < 12; i++) {
        struct load_spec spec = i % 2 ? open_spec() : sim_spec();
        struct load *load = NULL;
        struct pl_err err = {0};
        switch (i) {
        case 0:
            spec.clients = 0;
            break;
        case 1:
            spec.rate_per_s = 0;
            break;
        case 2:
            spec.clients = 100001;
            break;
        case 3:
            spec.operations = 5;
            break;
        case 4:
            spec.script_count = 0;
            break;
        case 5:
            spec.rate_per_s = (double)NAN;
            break;
        case 6:
            spec.scripts = &weightless;
            spec.script_count = 1;
            break;
        case 7:
            spec.measure_ns = 0;
            break;
        case 8:
            spec.workers = 257;
            break;
        case 9:
            spec.drain_ns = -1;
            break;
        case 10:
            spec.sim.servers = 0;
            break;
        default:
            spec.sim.mean_service_ns = 0;
            break;
        }
        enum pl_code code = load_new(&spec, &load, &err);
        assert_true(code == PL_INPUT || code == PL_LIMIT);
        assert_true(err.what[0] != '\0');
        assert_null(load);
    }
    struct load_spec spec = sim_spec();
    struct load *load = NULL;
    struct pl_err err = {0};
    struct program huge = load_test_one;
    const struct load_script script = {.program = &huge, .weight = 1};
    huge.io_step_count = 60000;
    spec.scripts = &script;
    spec.script_count = 1;
    assert_int_equal(load_new(&spec, &load, &err), PL_LIMIT);
}

/* Arrivals are drawn one by one: a rate that no worker could keep up with is refused. */
static void test_rates_that_are_too_high(void **state)
{
    (void)state;
    static const struct {
        int clients, workers;
        double rate_per_s;
        bool is_refused;
    } cases[] = {{1, 1, 2e6, false}, {1, 1, 2.01e6, true}, {8, 4, 8e6, false}, {8, 4, 8.1e6, true},
                 {3, 2, 3e6, false}, {3, 2, 3.1e6, true},  {1, 8, 4e6, true},  {16, 16, 1e9, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct load_spec spec = open_spec();
        struct load *load = NULL;
        struct pl_err err = {0};
        spec.driver = LOAD_NULL;
        spec.clients = cases[i].clients;
        spec.workers = cases[i].workers;
        spec.rate_per_s = cases[i].rate_per_s;
        assert_int_equal(load_new(&spec, &load, &err), cases[i].is_refused ? PL_LIMIT : PL_OK);
        assert_true(!cases[i].is_refused || strstr(err.what, "rate") != NULL);
        load_free(load);
    }
}

/* One descriptor for each client of all workers, also when connections are opened later. */
static void test_descriptors(void **state)
{
    (void)state;
    struct rlimit before, low, after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int connect_each = 0; connect_each < 2; connect_each++) {
        struct load_spec spec = sim_spec();
        struct load *load;
        struct pl_err err = {0};
        spec.driver = LOAD_NULL;
        spec.clients = 300;
        spec.workers = 4;
        spec.connect_each = connect_each;
        low = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        assert_int_equal(load_new(&spec, &load, &err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &err), PL_OK);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
        assert_true(after.rlim_cur >= 304);
        load_free(load);
    }
    setrlimit(RLIMIT_NOFILE, &before);
}

static void assert_refused(const struct load_spec *spec)
{
    struct load *load = NULL;
    struct pl_err err = {0};
    assert_int_equal(load_new(spec, &load, &err), PL_INPUT);
    assert_true(err.what[0] != '\0');
    assert_null(load);
}

static void test_wrong_limits(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    spec.operations_per_client = 5; /* and a window */
    assert_refused(&spec);
    spec.measure_ns = 0;
    spec.operations = 5;
    assert_refused(&spec);
    spec = sim_spec();
    spec.operations_per_client = -1;
    assert_refused(&spec);
    spec.operations_per_client = INT64_MAX;
    spec.measure_ns = 0;
    assert_refused(&spec);
    spec = sim_spec();
    spec.max_tries = -2;
    assert_refused(&spec);
    spec = sim_spec();
    spec.latency_limit_ns = -1;
    assert_refused(&spec);
    for (int i = 0; i < 3; i++) {
        spec = sim_spec();
        spec.sampling_frac = i == 0 ? -0.1 : i == 1 ? 1.01 : (double)NAN;
        assert_refused(&spec);
    }
}

/* Two scripts that know different variables would write into each other's. */
static void test_scripts_of_different_variables(void **state)
{
    (void)state;
    static const char text[] = "\\set x 1\nSELECT :x;\n";
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct program *programs[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            program_compile("s", text, sizeof text - 1, PROGRAM_STRICT, names_new(arena), arena, &programs[i], &err),
            PL_OK);
    const struct load_script scripts[] = {{programs[0], 1}, {programs[1], 1}};
    struct load_spec spec = sim_spec();
    spec.scripts = scripts;
    spec.script_count = 2;
    assert_refused(&spec);
    pl_arena_free(arena);
}

struct operation_book {
    struct memory_sink memory; /* first: it is the sink's */
    int64_t count, last[64];
    enum pl_code code; /* what the sink answers */
};

static enum pl_code operations_book(void *ctx, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    struct operation_book *book = ctx;
    assert_in_range(worker, 0, 1);
    if (book->code != PL_OK)
        return pl_err_set(err, book->code, "the log is full");
    for (size_t i = 0; i < count; i++)
        assert_int_equal(operations[i].number, ++book->last[operations[i].client]);
    book->count += (int64_t)count;
    return PL_OK;
}

/* Hundreds of thousands of operations a second, and a conductor that looks rarely: each of them arrives, once, in order. A
 * sink that fails ends nothing and keeps nobody waiting. */
static void test_log_of_a_slow_conductor(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct load_spec spec = sim_spec();
        struct operation_book book = {.code = fails ? PL_IO : PL_OK};
        struct load *load;
        struct pl_err err = {0};
        struct load_glance glance = {0};
        struct load_result result;
        memory_sink_init(&book.memory);
        struct sink sink = memory_sink(&book.memory);
        sink.operations = operations_book;
        spec.driver = LOAD_NULL;
        spec.workers = 2;
        spec.log_operations = true;
        spec.measure_ns = 0;
        spec.warm_up_ns = 0;
        spec.operations_per_client = 20000;
        assert_int_equal(load_new(&spec, &load, &err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &err), PL_OK);
        load_start(load, pl_clock_ns());
        while (!glance.ended) {
            pl_clock_sleep_until(pl_clock_ns() + 20 * MS);
            assert_int_equal(load_poll(load, 7, &sink, &glance, &err), book.code);
            if (fails && !glance.ended)
                load_stop(load);
        }
        assert_int_equal(load_finish(load, 7, &sink, &result, &err), book.code);
        if (!fails) {
            assert_int_equal(book.count, 12 * 20000);
            assert_int_equal(result.total.completed, 12 * 20000);
            for (int c = 0; c < 12; c++)
                assert_int_equal(book.last[c], 20000);
        }
        load_free(load);
        memory_sink_release(&book.memory);
    }
}

static void test_more_workers_than_clients(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load_run run;
    spec.clients = 2;
    spec.workers = 16;
    load_run_virtual(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.workers, 2);
    load_run_release(&run);
    spec.workers = 0;
    load_run_virtual(&spec, &run);
    assert_int_equal(run.result.workers, 1);
    load_run_release(&run);
}

/* The store fails at the n-th slice: the load still ends, and says so once. */
static void test_sink_that_fails(void **state)
{
    (void)state;
    for (size_t at = 1; at < 12; at += 5) {
        struct load_spec spec = sim_spec();
        struct load_run run = {0};
        struct load *load;
        memory_sink_init(&run.memory);
        run.memory.fail_at = at;
        struct sink sink = memory_sink(&run.memory);
        spec.workers = 2;
        assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
        load_start(load, START_NS);
        enum pl_code code = PL_OK;
        while (!run.glance.ended)
            code = load_poll(load, 7, &sink, &run.glance, &run.err);
        assert_true(code == PL_STORE || at > 1);
        assert_int_equal(load_finish(load, 7, &sink, &run.result, &run.err), PL_STORE);
        assert_int_equal(run.memory.slice_count, at - 1);
        assert_true(ledger_balances(&run.result.total) && run.result.total.completed > 0);
        load_free(load);
        load_run_release(&run);
    }
}

static void test_glance(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load_run run = {0};
    struct load *load;
    spec.scripts = &load_test_script_one;
    spec.script_count = 1;
    spec.workers = 2;
    spec.warm_up_ns = 0;
    spec.drain_ns = 0;
    spec.measure_ns = 4 * SEC;
    spec.sim = (struct load_sim){.servers = 3, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
    memory_sink_init(&run.memory);
    assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
    load_run_connected(load, START_NS, 0, &run);
    assert_int_equal(run.code, PL_OK);
    /* the last whole slice: two workers with three servers and six clients each, 1 ms */
    assert_close(run.glance.completed_per_s, 6000, 0, 0);
    assert_close((double)run.glance.p50_ns, 2e6, 0.002, 0);
    assert_close((double)run.glance.p99_ns, 2e6, 0.002, 0);
    assert_true(run.glance.ended);
    assert_int_equal(run.glance.completed, run.result.total.completed);
    load_free(load);
    load_run_release(&run);
}

/* Nobody takes slices for a while: they get longer, nothing is lost. */
static void test_slow_conductor(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load_run run = {0};
    struct load *load;
    spec.driver = LOAD_NULL;
    spec.workers = 2;
    spec.warm_up_ns = 50 * MS;
    spec.measure_ns = 150 * MS;
    spec.slice_ns = MS;
    memory_sink_init(&run.memory);
    struct sink sink = memory_sink(&run.memory);
    assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
    load_start(load, pl_clock_ns());
    pl_clock_sleep_until(pl_clock_ns() + 400 * MS);
    do
        assert_int_equal(load_poll(load, 7, &sink, &run.glance, &run.err), PL_OK);
    while (!run.glance.ended);
    assert_int_equal(load_finish(load, 7, &sink, &run.result, &run.err), PL_OK);
    load_run_check(&run);
    assert_true(run.result.total.completed > 0);
    int64_t covered_ns = 0;
    for (size_t i = 0; i < run.memory.slice_count; i++) {
        const struct slice *slice = &run.memory.slices[i];
        enum phase own = slice->during == PHASE_WARM_UP ? PHASE_WARM_UP : PHASE_MEASURE;
        if (slice->step < 0 && slice->script == 0 && slice->due_in == own && slice->during != PHASE_DRAIN)
            covered_ns += slice->end_ns - slice->start_ns;
    }
    assert_int_equal(covered_ns, 2 * 200 * MS); /* without gaps, and both phases apart */
    load_free(load);
    load_run_release(&run);
}

/* ---- what the result says of itself ---- */

static void lateness_make(struct hist *hist, int64_t count, int64_t late_ns)
{
    hist_init_latency(hist);
    hist_record_n(hist, 1000, count);
    hist_record_n(hist, late_ns, 2 * count / 98);
}

/* More than one in a hundred was started late_ns later than it could have been. */
static void test_mark(void **state)
{
    (void)state;
    static const struct {
        int64_t late_ns, median_ns;
        double busiest_frac;
        bool open_loop;
        const char *mark; /* NULL: none */
    } cases[] = {
        {900000, MS, 0.5, true, NULL},
        {1100000, MS, 0.5, true, "schedule was not kept"},
        {1100000, MS, 0.5, false, NULL}, /* there is no schedule */
        {1100000, 20 * MS, 0.5, true, NULL},
        {30 * MS, 200 * MS, 0.5, true, "schedule was not kept"},
        {2000, MS, 0.79, true, NULL},
        {2000, MS, 0.81, true, "81 % of a core"},
        {2000, MS, 0.99, false, "99 % of a core"},
        {5 * MS, 0, 0.1, true, "5 ms"}, /* nothing was answered */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_arena *arena = pl_arena_new();
        struct load_self self = {.busiest_frac = cases[i].busiest_frac};
        struct load_result result = {.self = &self};
        struct hist response;
        lateness_make(&self.lateness, 9800, cases[i].late_ns);
        hist_init_latency(&response);
        if (cases[i].median_ns > 0)
            hist_record(&response, cases[i].median_ns);
        const char *mark = load_result_mark(&result, &response, cases[i].open_loop, arena);
        if (cases[i].mark == NULL)
            assert_null(mark);
        else if (mark == NULL || strstr(mark, cases[i].mark) == NULL)
            fail_msg("case %zu: %s", i, mark);
        hist_release(&response);
        hist_release(&self.lateness);
        pl_arena_free(arena);
    }
}

/* The null driver's closed loop is as busy as a worker can be, and says so; what it starts it starts at once. */
static void test_self_of_a_busy_load(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load_run run;
    spec.driver = LOAD_NULL;
    spec.warm_up_ns = 20 * MS;
    spec.measure_ns = 200 * MS;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_true(run.self.busiest_frac > 0 && run.self.busiest_frac < 1.5);
    assert_int_equal(run.self.starts, run.result.measured.due - run.result.measured.never_started);
    assert_true(isnan(run.self.gap_cv) && isnan(run.self.gap_cv_asked));
    load_run_release(&run);
    /* open loop: real gaps of real workers */
    spec = open_spec();
    spec.driver = LOAD_NULL;
    spec.warm_up_ns = 20 * MS;
    spec.measure_ns = 500 * MS;
    spec.rate_per_s = 20000;
    spec.workers = 3;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_close(run.self.gap_cv_asked, 1, 0.1, 0);
    assert_true(run.self.gap_cv > 0);
    assert_int_equal(run.self.starts, run.result.measured.due - run.result.measured.never_started);
    load_run_release(&run);
}

/* Fewer than three gaps say nothing. */
static void test_few_gaps(void **state)
{
    (void)state;
    for (int64_t due = 3; due <= 4; due++) {
        struct load_spec spec = open_spec();
        struct load_run run;
        spec.scripts = &load_test_script_one;
        spec.script_count = 1;
        spec.arrivals = PLAN_CONSTANT;
        spec.rate_per_s = 10;
        spec.warm_up_ns = 0;
        spec.measure_ns = due * 100 * MS;
        load_run_virtual(&spec, &run);
        assert_int_equal(run.result.total.due, due);
        assert_true(due == 3 ? isnan(run.self.gap_cv) : fabs(run.self.gap_cv) < 1e-9);
        load_run_release(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_drains),
        cmocka_unit_test(test_stop_before_the_window),
        cmocka_unit_test(test_free_at_any_point),
        cmocka_unit_test(test_stop_while_connecting),
        cmocka_unit_test(test_wrong_specs),
        cmocka_unit_test(test_rates_that_are_too_high),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_more_workers_than_clients),
        cmocka_unit_test(test_sink_that_fails),
        cmocka_unit_test(test_glance),
        cmocka_unit_test(test_slow_conductor),
        cmocka_unit_test(test_wrong_limits),
        cmocka_unit_test(test_scripts_of_different_variables),
        cmocka_unit_test(test_log_of_a_slow_conductor),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_self_of_a_busy_load),
        cmocka_unit_test(test_few_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
