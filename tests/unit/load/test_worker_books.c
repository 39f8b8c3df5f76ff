/* That everything is counted, logged and told exactly once, for any number of workers. */
#include "fake_run.h"

#include "script/feed.h"

/* ---- counts ---- */

/* A mix of all that can happen, different for each client. */
static void anything(struct fake *fake, int client, const struct step *step, const struct value *vars,
                     struct fake_answer *answer)
{
    (void)vars;
    int64_t n = fake->clients[client - fake->first_client].user++ + client;
    answer->delay_ns = (n % 7 + 1) * 100000;
    if (step->kind == STEP_SQL && n % 11 == 0)
        fail_with(answer, "40001");
    else if (step->kind == STEP_SQL && n % 13 == 0)
        fail_with(answer, "40P01");
    else if (n % 17 == 0)
        fail_with(answer, "23505");
}

static void any_scripts(struct fake_scripts *scripts)
{
    fake_scripts_init(scripts);
    fake_script(scripts, 3, "\\set x random(1, 10)\nBEGIN;\nUPDATE :x;\n\\sleep 300 us\nEND;\n");
    fake_script(scripts, 2,
                "\\set y random(1, 3)\n\\if :y = 1\nSELECT 1;\n\\elif :y = 2\n\\set x 2\n\\else\n\\sleep 1 ms\n\\endif\n");
    fake_script(scripts, 1, "SELECT 0;\n\\startpipeline\nSELECT 1;\nSELECT 2;\n\\syncpipeline\n\\endpipeline\n");
}

static void check_steps(const struct fake_run *fake, const struct fake_scripts *scripts, bool every_step)
{
    for (int s = 0; s < scripts->count; s++) {
        const struct program *program = scripts->scripts[s].program;
        struct ledger whole = load_run_sum(&fake->run, PHASE_COUNT, s, -1, 's', NULL);
        struct attempts attempts = fake_attempts(&fake->run, s, -1), steps = {0};
        int64_t failed = 0;
        for (int step = 0; step < (int)(every_step ? program->command_count : program->io_step_count); step++) {
            struct attempts one = fake_attempts(&fake->run, s, step);
            struct ledger ledger = load_run_sum(&fake->run, PHASE_COUNT, s, step, 's', NULL);
            attempts_add(&steps, &one);
            failed += ledger.failed;
            /* every try begins with the first command */
            if (step == 0 && (every_step || s != 1))
                assert_int_equal(ledger.completed + ledger.failed + one.retries,
                                 whole.due - whole.never_started + attempts.retries);
        }
        assert_int_equal(failed, whole.failed);
        assert_int_equal(steps.retries, attempts.retries);
        assert_int_equal(steps.serialization, attempts.serialization);
        assert_int_equal(steps.deadlock, attempts.deadlock);
        assert_true(whole.completed > 0 && attempts.retries > 0 && attempts.serialization > 0 && whole.failed > 0);
    }
}

/* Scripts and steps, each counted once, for any number of workers; the log says the same. */
static void test_books_of_many_workers(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 7; workers++)
        for (int variant = 0; variant < 3; variant++) {
            struct fake_scripts scripts;
            struct fake_run *fake = fake_run_new();
            any_scripts(&scripts);
            struct load_spec spec = fake_spec(&scripts);
            spec.clients = 17;
            spec.workers = workers;
            spec.every_step = variant != 1;
            spec.max_tries = 2;
            spec.log_operations = spec.tell_failures = true;
            spec.slice_ns = 50 * MS;
            if (variant != 2) {
                spec.operations_per_client = 60;
                spec.measure_ns = 0;
            }
            fake_world.decide = anything;
            fake_run(&spec, fake_new, fake);
            const struct load_result *result = &fake->run.result;
            check_steps(fake, &scripts, spec.every_step);
            assert_int_equal(fake->operation_count, result->total.completed + result->total.failed);
            struct attempts attempts = fake_result_attempts(result), logged = {0};
            int64_t completed = 0;
            for (size_t i = 0; i < fake->operation_count; i++) {
                const struct operation *operation = &fake->operations[i];
                completed += operation->end == OPERATION_COMPLETED;
                logged.serialization += operation->end == OPERATION_SERIALIZATION;
                logged.deadlock += operation->end == OPERATION_DEADLOCK;
                logged.retried += operation->retries > 0;
                logged.retries += operation->retries;
                assert_true(operation->due_ns <= operation->done_ns);
                assert_true(operation->sent_ns == 0 || operation->sent_ns >= operation->due_ns);
            }
            assert_int_equal(completed, result->total.completed);
            assert_int_equal(logged.serialization, attempts.serialization);
            assert_int_equal(logged.deadlock, attempts.deadlock);
            assert_int_equal(logged.retried, attempts.retried);
            assert_int_equal(logged.retries, attempts.retries);
            if (variant != 2) {
                assert_int_equal(result->total.due, 17 * 60);
                for (int c = 0; c < 17; c++)
                    assert_int_equal(fake->last_number[c], 60);
            }
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

/* Clients that end early leave the others' numbers alone. */
static void test_counts_with_lost_clients(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.workers = workers;
        spec.operations_per_client = 20;
        spec.measure_ns = 0;
        spec.log_operations = true;
        wrong_code = "CLOSED";
        wrong_outcome = DRIVER_LOST;
        fake_world.decide = fail_fifth;
        fake_run(&spec, fake_new, fake);
        for (int c = 0; c < 4; c++)
            assert_int_equal(fake->last_number[c], c == 2 ? 5 : 20);
        assert_int_equal(fake->run.result.total.due, 65);
        assert_int_equal(fake->run.result.total.unfinished, 0);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

static void test_above_limit(void **state)
{
    (void)state;
    for (int limit_ms = 1; limit_ms <= 4; limit_ms++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.latency_limit_ns = limit_ms * MS;
        fake_run(&spec, fake_new, fake); /* three steps: 3 ms */
        assert_int_equal(fake_result_attempts(&fake->run.result).above_limit,
                         limit_ms < 3 ? fake->run.result.total.completed : 0);
        assert_true(fake->run.result.total.completed > 1000);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* ---- what is told ---- */

static void test_notices(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = counting_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.max_tries = 3;
    spec.operations_per_client = 3;
    spec.measure_ns = 0;
    spec.tell_failures = true;
    fake_world.decide = fail_always;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake_notices(fake, LOAD_RETRY), 24);
    assert_int_equal(fake_notices(fake, LOAD_FAILURE), 12);
    int64_t last_ns = 0;
    for (size_t i = 0; i < fake->notice_count; i++) {
        const struct load_notice *notice = &fake->notices[i];
        assert_string_equal(notice->code, "40P01");
        assert_string_equal(notice->text, "the server did not like it");
        assert_true(notice->kind == LOAD_RETRY ? notice->tries < 3 : notice->tries == 3);
        assert_true(notice->at_ns >= last_ns);
        last_ns = notice->at_ns;
    }
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

static void lose_late(struct fake *fake, int client, const struct step *step, const struct value *vars,
                      struct fake_answer *answer)
{
    if (++fake->clients[client - fake->first_client].user > 3000)
        *answer = (struct fake_answer){.delay_ns = MS, .outcome = DRIVER_LOST, .code = "CLOSED", .text = "gone"};
    else
        fail_always(fake, client, step, vars, answer);
}

/* Nobody listens: failures are missed and counted, the ends of clients are not. */
static void test_notices_missed(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = counting_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.tell_failures = true;
    spec.clients = 40;
    spec.workers = 2;
    spec.measure_ns = 3600 * SEC;
    fake->is_deaf = true;
    fake_world.decide = lose_late;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.clients_lost, 40);
    assert_int_equal(fake_notices(fake, LOAD_CLIENT_ENDED), 40);
    int64_t told = fake_notices(fake, LOAD_FAILURE);
    assert_int_equal(told, 2 * RECORDER_NOTICES);
    assert_int_equal(fake->run.result.notices_missed, fake->run.result.total.failed - 40 - told);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* The share, and which ones: the same for any number of workers. */
static void test_sampling(void **state)
{
    (void)state;
    uint64_t chosen = 0;
    for (int workers = 1; workers <= 3; workers++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        uint64_t sum = 0;
        spec.workers = workers;
        spec.operations_per_client = 2500;
        spec.measure_ns = 0;
        spec.log_operations = true;
        spec.sampling_frac = 0.1;
        fake_run(&spec, fake_new, fake);
        assert_in_range(fake->operation_count, 1000 - 120, 1000 + 120); /* four standard deviations */
        for (size_t i = 0; i < fake->operation_count; i++)
            sum += (uint64_t)(fake->operations[i].client + 1) * 1000003U * (uint64_t)fake->operations[i].number;
        assert_true(workers == 1 || sum == chosen);
        chosen = sum;
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* Without steps there is no limit to a script's length. */
static void test_no_steps(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    struct fake_scripts scripts;
    struct fake_run *fake = fake_run_new();
    char *text = calloc(LINES, 10);
    size_t length = 0;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        length += (size_t)snprintf(text + length, 10, "SELECT 1;");
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, text);
    struct load_spec spec = fake_spec(&scripts);
    struct load *load = NULL;
    struct pl_err err = {0};
    spec.operations_per_client = 2;
    spec.measure_ns = 0;
    assert_int_equal(load_new_with(&spec, fake_new, &load, &err), PL_LIMIT);
    spec.no_steps = true;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.completed, 8);
    for (size_t i = 0; i < fake->run.memory.slice_count; i++)
        assert_int_equal(fake->run.memory.slices[i].step, -1);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
    free(text);
}

/* ---- whatever happens ---- */

/* Anything a driver may report of a request, in proportions of the run's own. */
static int64_t proportions[6];

static void at_random(struct fake *fake, int client, const struct step *step, const struct value *vars,
                      struct fake_answer *answer)
{
    (void)vars;
    struct pl_rng rng;
    struct fake_client *one = &fake->clients[client - fake->first_client];
    pl_rng_init(&rng, (uint64_t)client, PL_RNG_TEST, (uint64_t)one->user++);
    answer->delay_ns = pl_rng_range(&rng, 0, 5 * MS);
    int64_t draw = pl_rng_range(&rng, 0, 99);
    int what = 0;
    while (what < 5 && draw >= proportions[what])
        draw -= proportions[what++];
    if (what < 3 && answer->delay_ns > 0 && pl_rng_range(&rng, 0, 1) == 1)
        answer->sent_after_ns = pl_rng_range(&rng, 1, answer->delay_ns);
    if (what == 1 || what == 2)
        fail_with(answer, what == 1 ? "check:STATUS" : step->kind == STEP_SQL ? "40001" : "body:ECONNRESET");
    if (what == 3)
        *answer = (struct fake_answer){
            .delay_ns = answer->delay_ns, .outcome = DRIVER_ERROR, .code = "connect:ECONNREFUSED", .sent_after_ns = -1};
    if (what == 4)
        *answer = (struct fake_answer){.delay_ns = 20 * MS,
                                       .outcome = DRIVER_EXPIRED,
                                       .code = "head:EXPIRED",
                                       .text = "late",
                                       .sent_after_ns = draw % 2 == 0 ? -1 : 0};
    if (what == 5)
        *answer = (struct fake_answer){.outcome = DRIVER_LOST, .code = "CLOSED", .text = "gone"};
}

static const char *sometimes_again(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    (void)step;
    *ret_goes_on = pl_rng_range(scene->rng, 0, 2) != 0;
    return NULL;
}

static struct load_spec random_spec(struct fake_scripts *scripts, struct pl_rng *rng)
{
    static const char csv[] = "tenant,weight,group\na,1,x\nb,3,y\nc,1,x\nd,2,z\n";
    static const struct step requests[] = {
        {.kind = STEP_HTTP, .text = "GET /a"},
        {.kind = STEP_HTTP, .text = "GET /b", .call = sometimes_again, .target = 1},
        {.kind = STEP_HTTP, .text = "GET /c", .call = sometimes_again, .target = 0},
    };
    fake_scripts_init(scripts);
    fake_program(scripts, 2, requests, 3);
    fake_script(scripts, 1, "\\set x random(1, 3)\n\\if :x = 1\nSELECT 1;\n\\elif :x = 2\n\\set y 1 / 0\n\\endif\n");
    struct feed *tenants = NULL;
    struct pl_err err = {0};
    assert_int_equal(feed_parse("t.csv", csv, strlen(csv), FEED_RANDOM, scripts->names, scripts->arena, &tenants, &err),
                     PL_OK);
    struct load_spec spec = fake_spec(scripts);
    spec.clients = (int)pl_rng_range(rng, 1, 30);
    spec.workers = (int)pl_rng_range(rng, 1, 4);
    spec.open_loop = pl_rng_range(rng, 0, 2) > 0;
    spec.rate_per_s = (double)pl_rng_range(rng, 100, 8000);
    spec.arrivals = pl_rng_range(rng, 0, 1) == 0 ? PLAN_CONSTANT : PLAN_POISSON;
    spec.session_operations = spec.open_loop && pl_rng_range(rng, 0, 1) == 1 ? (double)pl_rng_range(rng, 1, 6) : 0;
    spec.session_geometric = pl_rng_range(rng, 0, 1) == 1;
    bool may_think = !spec.open_loop || spec.session_operations > 0;
    spec.think_ns = may_think && pl_rng_range(rng, 0, 1) == 1 ? pl_rng_range(rng, 1, 30 * MS) : 0;
    spec.think_exponential = pl_rng_range(rng, 0, 1) == 1;
    spec.tenants = pl_rng_range(rng, 0, 1) == 1 ? tenants : NULL;
    spec.at_end = pl_rng_range(rng, 0, 1) == 1 ? LOAD_STOP_AT_END : LOAD_START_LATE;
    spec.latency_limit_ns = pl_rng_range(rng, 0, 2) == 0 ? pl_rng_range(rng, MS, 50 * MS) : 0;
    spec.max_tries = (int)pl_rng_range(rng, 0, 3);
    spec.warm_up_ns = pl_rng_range(rng, 0, 1) * 200 * MS;
    spec.measure_ns = 400 * MS;
    spec.drain_ns = pl_rng_range(rng, 0, 2) * 10 * MS;
    spec.slice_ns = 50 * MS;
    spec.log_operations = spec.tell_failures = true;
    spec.every_step = pl_rng_range(rng, 0, 2) == 0;
    spec.on_error = pl_rng_range(rng, 0, 9) == 0 ? LOAD_END_CLIENT : LOAD_GO_ON;
    if (pl_rng_range(rng, 0, 3) == 0) {
        spec.operations_per_client = pl_rng_range(rng, 1, 40);
        spec.measure_ns = 0;
    }
    return spec;
}

/* Of any load with any outcomes the books balance, for each script and group and in all: load_finish says so, and so do the
 * slices, whose censored latencies are as many as what got no answer (load_run_check). */
static void test_books_of_anything(void **state)
{
    (void)state;
    struct pl_rng rng;
    struct ledger all = {0};
    int64_t lost = 0, retries = 0;
    pl_rng_init(&rng, 4, PL_RNG_TEST, 1);
    for (int i = 0; i < 300; i++) {
        struct fake_scripts scripts;
        struct fake_run *fake = fake_run_new();
        struct load_spec spec = random_spec(&scripts, &rng);
        int64_t left = 99;
        for (int what = 5; what > 0; what--) {
            proportions[what] = pl_rng_range(&rng, 0, what == 5 ? 1 : left / 3);
            left -= proportions[what];
        }
        proportions[0] = left + 1;
        fake_world.decide = at_random;
        fake_run(&spec, fake_new, fake);
        const struct load_result *result = &fake->run.result;
        assert_int_equal(fake->operation_count,
                         result->total.completed + result->total.failed + result->total.expired + result->total.skipped);
        int64_t ends[OPERATION_EXPIRED + 1] = {0};
        for (size_t o = 0; o < fake->operation_count; o++)
            ends[fake->operations[o].end]++;
        assert_int_equal(ends[OPERATION_EXPIRED], result->total.expired);
        assert_int_equal(ends[OPERATION_SKIPPED], result->total.skipped);
        assert_int_equal(ends[OPERATION_COMPLETED], result->total.completed);
        if (spec.operations_per_client > 0 && result->clients_ended_early == 0)
            assert_int_equal(result->total.due, spec.operations_per_client * spec.clients);
        ledger_add(&all, &result->total);
        lost += result->clients_lost;
        retries += fake_result_attempts(result).retries;
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
    /* all of it has happened */
    assert_true(all.completed > 10000 && all.failed > 10000 && all.expired > 1000 && all.skipped > 1000);
    assert_true(all.unfinished > all.never_started && all.never_started > 100 && lost > 100 && retries > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_books_of_anything),
        cmocka_unit_test(test_books_of_many_workers),
        cmocka_unit_test(test_counts_with_lost_clients),
        cmocka_unit_test(test_above_limit),
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_notices_missed),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
