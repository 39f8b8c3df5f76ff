/* The open loop: what is too late is skipped, what nobody can start is never started, and both are counted. */
#include "fake_run.h"

static struct load_spec open_one(struct fake_scripts *scripts, double rate_per_s)
{
    fake_scripts_init(scripts);
    fake_script(scripts, 1, "SELECT 1;\n");
    struct load_spec spec = fake_spec(scripts);
    spec.clients = 1;
    spec.open_loop = true;
    spec.rate_per_s = rate_per_s;
    spec.log_operations = true;
    return spec;
}

static int64_t delay_ns;

static void be_slow(struct fake *fake, int client, const struct step *step, const struct value *vars,
                    struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    answer->delay_ns = delay_ns;
}

/* One operation due each millisecond, a client that needs ten for one, and a limit of five: it starts what was due at 0, at
 * 10 ms what was due at 5 (that is at the limit), at 20 what was due at 15, and skips the nine between them. */
static void test_skipping_is_exact(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = open_one(&scripts, 1000);
    struct fake_run *fake = fake_run_new();
    spec.latency_limit_ns = 5 * MS;
    spec.at_end = LOAD_STOP_AT_END;
    delay_ns = 10 * MS;
    fake_world.decide = be_slow;
    fake_run(&spec, fake_new, fake);
    const struct ledger *total = &fake->run.result.total;
    assert_int_equal(total->due, 1000);
    assert_int_equal(total->completed, 100);
    /* at 10, 20, ... 990 ms; of the first ten only four had become too late */
    assert_int_equal(total->skipped, 4 + 98 * 9);
    assert_int_equal(total->unfinished, 1000 - 100 - (4 + 98 * 9));
    assert_int_equal(total->never_started, total->unfinished);
    assert_int_equal(fake_result_attempts(&fake->run.result).above_limit, 100);
    struct hist lateness;
    hist_init_latency(&lateness);
    load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 'l', &lateness);
    assert_int_equal(lateness.max, 5 * MS);
    hist_release(&lateness);
    assert_int_equal(fake->operation_count, total->completed + total->skipped);
    for (size_t i = 0; i < fake->operation_count; i++) {
        const struct operation *operation = &fake->operations[i];
        assert_true(operation->end == OPERATION_SKIPPED || operation->end == OPERATION_COMPLETED);
        if (operation->end == OPERATION_SKIPPED)
            assert_true(operation->sent_ns == 0 && operation->done_ns - operation->due_ns > 5 * MS);
        else
            assert_true(operation->sent_ns - operation->due_ns <= 5 * MS);
    }
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* A hundred thousand a second are due and one slow client is there: nearly all of them are skipped, each counted and logged
 * once, in a mix of two scripts. */
static void test_a_flood(void **state)
{
    (void)state;
    for (int poisson = 0; poisson < 2; poisson++) {
        struct fake_scripts scripts;
        struct load_spec spec = open_one(&scripts, 100000);
        struct fake_run *fake = fake_run_new();
        fake_script(&scripts, 2, "SELECT 2;\n");
        spec.script_count = 2;
        spec.arrivals = poisson ? PLAN_POISSON : PLAN_CONSTANT;
        spec.latency_limit_ns = 10 * MS;
        spec.measure_ns = 2 * SEC;
        delay_ns = 490 * MS;
        fake_world.decide = be_slow;
        fake_run(&spec, fake_new, fake);
        const struct ledger *total = &fake->run.result.total;
        assert_close((double)total->due, 200000, 0.02, 0);
        assert_int_equal(total->completed, 5);
        assert_int_equal(total->unfinished, 0); /* what waits at the end is too late when the client becomes free */
        assert_int_equal(total->skipped, total->due - 5);
        for (int s = 0; s < 2; s++) {
            struct ledger sum = load_run_sum(&fake->run, PHASE_COUNT, s, -1, 's', NULL);
            assert_true(ledger_balances(&sum) && sum.skipped > 60000);
        }
        assert_int_equal(fake->operation_count, total->due);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* At the end of the window: what waits may be started late, or not at all. */
static void test_at_end(void **state)
{
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        struct fake_scripts scripts;
        struct load_spec spec = open_one(&scripts, 1000);
        struct fake_run *fake = fake_run_new();
        spec.at_end = stop ? LOAD_STOP_AT_END : LOAD_START_LATE;
        delay_ns = 4 * MS;
        fake_world.decide = be_slow;
        fake_run(&spec, fake_new, fake);
        const struct load_result *result = &fake->run.result;
        assert_int_equal(result->total.due, 1000);
        assert_int_equal(result->total.completed, stop ? 250 : 1000);
        assert_int_equal(result->total.never_started, stop ? 750 : 0);
        assert_true(stop ? result->drain_end_ns <= START_NS + SEC + 4 * MS : result->drain_end_ns >= START_NS + 4 * SEC);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* By number: so many become due in all, whoever carries them out. */
static void test_operations_per_client(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 7; workers++)
        for (int poisson = 0; poisson < 2; poisson++) {
            struct fake_scripts scripts;
            struct load_spec spec = open_one(&scripts, 5000);
            struct fake_run *fake = fake_run_new();
            spec.clients = 13;
            spec.workers = workers;
            spec.arrivals = poisson ? PLAN_POISSON : PLAN_CONSTANT;
            spec.operations_per_client = 100;
            spec.warm_up_ns = SEC; /* there is none */
            spec.measure_ns = 0;
            fake_run(&spec, fake_new, fake);
            const struct load_result *result = &fake->run.result;
            assert_int_equal(result->total.due, 1300);
            assert_int_equal(result->total.completed, 1300);
            assert_int_equal(result->warm_up.due, 0);
            assert_int_equal(fake->operation_count, 1300);
            assert_true(result->window_ns > 150 * MS && result->window_ns < 5 * SEC);
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

static void lose_all(struct fake *fake, int client, const struct step *step, const struct value *vars,
                     struct fake_answer *answer)
{
    (void)step, (void)vars;
    if (++fake->clients[client - fake->first_client].user >= 10)
        *answer = (struct fake_answer){.delay_ns = 100000, .outcome = DRIVER_LOST, .code = "CLOSED", .text = "gone"};
}

/* When the last client is gone nothing becomes due any more, and what waits was never started. */
static void test_nobody_left(void **state)
{
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++)
        for (int workers = 1; workers <= 3; workers++) {
            struct fake_scripts scripts;
            struct load_spec spec = open_one(&scripts, 5000);
            struct fake_run *fake = fake_run_new();
            spec.clients = 3;
            spec.workers = workers;
            spec.operations_per_client = by_count ? 1000 : 0;
            spec.measure_ns = by_count ? 0 : 20 * SEC;
            fake_world.decide = lose_all;
            fake_run(&spec, fake_new, fake);
            const struct load_result *result = &fake->run.result;
            assert_int_equal(result->clients_lost, 3);
            assert_int_equal(result->total.completed, 27);
            assert_int_equal(result->total.failed, 3);
            /* in virtual time workers do not meet, so that one goes on until it has heard of the others' ends */
            assert_true(workers == 1 ? result->total.due < 1000 : !by_count || result->total.due <= 3000);
            assert_int_equal(result->total.never_started, result->total.due - 30);
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

static struct load *flooded;

/* The world stands still for a thousand seconds, and before it goes on somebody says stop. */
static int64_t now_stalls(struct driver *driver)
{
    struct fake *fake = fake_of(driver);
    if (fake->now_ns >= START_NS + MS && fake->now_ns < START_NS + SEC) {
        load_stop(flooded);
        fake->now_ns += 1000 * SEC;
    }
    return fake->now_ns;
}

static enum pl_code stop_at_skipped(void *ctx, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    (void)ctx, (void)worker, (void)err;
    for (size_t i = 0; i < count; i++)
        if (operations[i].end == OPERATION_SKIPPED)
            load_stop(flooded);
    return PL_OK;
}

static void run_flooded(const struct load_spec *spec, struct load_run *run)
{
    *run = (struct load_run){0};
    memory_sink_init(&run->memory);
    struct sink sink = memory_sink(&run->memory);
    sink.operations = spec->log_operations ? stop_at_skipped : NULL;
    assert_int_equal(load_new_with(spec, fake_new, &flooded, &run->err), PL_OK);
    assert_int_equal(load_connect(flooded, NULL, &run->err), PL_OK);
    load_start(flooded, START_NS);
    do {
        assert_int_equal(load_poll(flooded, 7, &sink, &run->glance, &run->err), PL_OK);
        sched_yield();
    } while (!run->glance.ended);
    assert_int_equal(load_finish(flooded, 7, &sink, &run->result, &run->err), PL_OK);
    load_run_keep(spec, run);
    load_free(flooded);
    load_run_check(run);
}

/* Two thousand millions are due, but whoever counts them hears that the load is to stop: it ends with those counted. */
static void test_stop_while_counting(void **state)
{
    (void)state;
    for (int poisson = 0; poisson < 2; poisson++) {
        struct fake_scripts scripts;
        struct load_spec spec = open_one(&scripts, 2e6);
        struct load_run run;
        spec.log_operations = false;
        spec.arrivals = poisson ? PLAN_POISSON : PLAN_CONSTANT;
        spec.measure_ns = 1000 * SEC;
        struct driver_ops stalls = fake_ops;
        stalls.now = now_stalls;
        fake_world.ops = &stalls;
        run_flooded(&spec, &run);
        assert_in_range(run.result.total.due, 1, 1000000);
        assert_int_equal(run.result.total.never_started, run.result.total.due - run.result.total.completed);
        assert_close((double)run.result.window_ns, (double)run.result.total.due * 500, 0.1, 0);
        load_run_release(&run);
        fake_forget();
        pl_arena_free(scripts.arena);
    }
}

/* The same of whoever skips what is too late. */
static void test_stop_while_skipping(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = open_one(&scripts, 1e6);
    struct load_run run;
    spec.latency_limit_ns = MS;
    delay_ns = 5 * SEC;
    spec.measure_ns = 10 * SEC;
    fake_world.decide = be_slow;
    run_flooded(&spec, &run);
    /* no more than what the log holds before somebody takes it, and a look's worth */
    assert_in_range(run.result.total.skipped, 1, (RECORDER_CHUNKS + 8) * RECORDER_CHUNK_OPERATIONS);
    assert_in_range(run.result.total.never_started, 4000000, 6000000);
    load_run_release(&run);
    fake_forget();
    pl_arena_free(scripts.arena);
}

/* What was never started is counted in its own script and phase. */
static void test_never_started(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = open_one(&scripts, 10000);
    struct fake_run *fake = fake_run_new();
    fake_script(&scripts, 3, "SELECT 2;\n");
    spec.script_count = 2;
    spec.warm_up_ns = SEC;
    spec.measure_ns = 2 * SEC;
    spec.at_end = LOAD_STOP_AT_END;
    spec.arrivals = PLAN_POISSON;
    delay_ns = 2800 * MS;
    fake_world.decide = be_slow;
    fake_run(&spec, fake_new, fake);
    for (int half = 0; half < 2; half++)
        for (int s = 0; s < 2; s++) {
            struct ledger sum = load_run_sum(&fake->run, half ? PHASE_MEASURE : PHASE_WARM_UP, s, -1, 's', NULL);
            assert_close((double)sum.due, (half ? 20000 : 10000) * (s == 0 ? 0.25 : 0.75), 0.1, 0);
            assert_int_equal(sum.never_started, sum.due - sum.completed);
        }
    assert_int_equal(fake->run.result.total.completed, 2);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* Each worker has a share of the rate as large as its share of the clients, so that each's part lasts equally long. */
static void test_shares_of_the_rate(void **state)
{
    (void)state;
    enum { CLIENTS = 5, WORKERS = 4, EACH = 20000 }; /* 2, 1, 1, 1 */
    struct fake_scripts scripts;
    struct load_spec spec = open_one(&scripts, 50000);
    struct fake_run *fake = fake_run_new();
    int64_t last_due_ns[WORKERS] = {0};
    spec.clients = CLIENTS;
    spec.workers = WORKERS;
    spec.arrivals = PLAN_POISSON;
    spec.operations_per_client = EACH;
    spec.measure_ns = 0;
    delay_ns = 1000;
    fake_world.decide = be_slow;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->operation_count, CLIENTS * EACH);
    for (size_t i = 0; i < fake->operation_count; i++) {
        const struct operation *operation = &fake->operations[i];
        int worker = operation->client < 2 ? 0 : operation->client - 1;
        if (operation->due_ns > last_due_ns[worker])
            last_due_ns[worker] = operation->due_ns;
    }
    for (int w = 0; w < WORKERS; w++) /* 2 s; the standard deviation is below 1 % */
        assert_close((double)(last_due_ns[w] - START_NS), 2e9, 0.05, 0);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* ---- how the load keeps its own promise ---- */

/* The schedule is kept as far as it can be: the gaps are those that were asked for, and what waits for a client is nobody's
 * fault here. */
static void test_gaps(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = open_one(&scripts, 1000);
        struct fake_run *fake = fake_run_new();
        bool is_poisson = variant % 2 == 1, is_short = variant >= 2;
        spec.arrivals = is_poisson ? PLAN_POISSON : PLAN_CONSTANT;
        spec.clients = is_short ? 1 : 100;
        spec.measure_ns = 20 * SEC;
        spec.warm_up_ns = SEC;
        delay_ns = is_short ? 2 * MS : 500000; /* short: half of what is needed */
        fake_world.decide = be_slow;
        fake_run(&spec, fake_new, fake);
        const struct load_self *self = &fake->run.self;
        assert_int_equal(self->lateness.max, 0);
        assert_int_equal(self->starts, fake->run.result.measured.due);
        assert_close(self->gap_cv_asked, is_poisson ? 1 : 0, 0, is_poisson ? 0.03 : 1e-6);
        /* a client that is always busy starts one each 2 ms, whatever was asked for */
        assert_close(self->gap_cv, is_poisson && !is_short ? self->gap_cv_asked : 0, 0, is_short ? 0.05 : 1e-9);
        assert_int_equal(self->busiest_frac, 0); /* virtual time */
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* Each submit takes the worker 300 us: with one due every millisecond it is that late each time, and says so. Asked for
 * four a millisecond it falls behind for good. */
static void test_own_lateness(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = open_one(&scripts, variant == 0 ? 1000 : 4000);
        struct fake_run *fake = fake_run_new();
        spec.clients = 10000;
        delay_ns = 100000;
        fake_world.decide = be_slow;
        fake_world.submit_ns = 300000;
        fake_run(&spec, fake_new, fake);
        const struct load_self *self = &fake->run.self;
        struct pl_arena *arena = pl_arena_new();
        struct hist response;
        hist_init_latency(&response);
        load_run_sum(&fake->run, PHASE_MEASURE, 0, -1, 'r', &response);
        const char *mark = load_result_mark(&fake->run.result, &response, true, arena);
        if (variant == 0) {
            assert_true(self->lateness.min == 300000 && self->lateness.max == 300000);
            assert_null(mark);
        } else {
            assert_close((double)self->lateness.max, 0.2e9, 0.05, 0); /* 4000 * 300 us is 1.2 s */
            assert_non_null(strstr(mark, "schedule"));
        }
        hist_release(&response);
        pl_arena_free(arena);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_own_lateness),
        cmocka_unit_test(test_skipping_is_exact),
        cmocka_unit_test(test_a_flood),
        cmocka_unit_test(test_at_end),
        cmocka_unit_test(test_operations_per_client),
        cmocka_unit_test(test_nobody_left),
        cmocka_unit_test(test_stop_while_counting),
        cmocka_unit_test(test_stop_while_skipping),
        cmocka_unit_test(test_never_started),
        cmocka_unit_test(test_shares_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
