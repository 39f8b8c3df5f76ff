/* The life of an operation: tries, failures, ends of clients, connections of its own, and that everything is counted and
 * told exactly once. */
#include "fake_run.h"

/* ---- tries ---- */

/* Each operation's first two tries fail. */
static void fail_twice(struct fake *fake, int client, const struct step *step, const struct value *vars,
                       struct fake_answer *answer)
{
    (void)vars;
    if (is_sql(step, "UPDATE") && fake->clients[client - fake->first_client].user++ % 3 < 2)
        fail_with(answer, "40001");
}

/* A retry sees the same random numbers and the same variables, and the next operation others. */
static void test_retry_begins_where_the_operation_began(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers += 3) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.max_tries = 3;
        spec.workers = workers;
        spec.operations_per_client = 40;
        spec.measure_ns = 0;
        fake_world.decide = fail_twice;
        fake_run(&spec, fake_new, fake);
        const struct load_result *result = &fake->run.result;
        assert_int_equal(result->total.completed, 160);
        struct attempts attempts = fake_result_attempts(result);
        assert_int_equal(attempts.retried, 160);
        assert_int_equal(attempts.retries, 320);
        assert_int_equal(attempts.serialization + attempts.deadlock, 0);
        assert_int_equal(fake_attempts(&fake->run, 0, 1).retries, 320); /* BEGIN, UPDATE, END */
        assert_int_equal(fake_attempts(&fake->run, 0, 0).retries + fake_attempts(&fake->run, 0, 2).retries, 0);
        assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', NULL).failed, 0);
        assert_int_equal(fake_calls('r'), 320);
        int64_t updates[4] = {0}, last[4] = {0}, different = 0;
        for (int w = 0; w < workers; w++)
            for (size_t i = 0; i < fake_world.fakes[w]->call_count; i++) {
                const struct fake_call *call = &fake_world.fakes[w]->calls[i];
                if (call->what != 's' || !is_sql(call->step, "UPDATE"))
                    continue;
                assert_int_equal(call->value / 1000, updates[call->client] / 3 + 1);
                if (updates[call->client]++ % 3 == 0)
                    different += call->value % 1000 != last[call->client] % 1000;
                else
                    assert_int_equal(call->value, last[call->client]);
                last[call->client] = call->value;
            }
        assert_true(different > 150);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

static void test_max_tries(void **state)
{
    (void)state;
    for (int tries = 0; tries <= 4; tries++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        int64_t expected = tries < 1 ? 1 : tries;
        spec.max_tries = tries;
        spec.operations_per_client = 10;
        spec.measure_ns = 0;
        spec.on_error = LOAD_END_CLIENT; /* these are no errors that end a client */
        spec.log_operations = true;
        fake_world.decide = fail_always;
        fake_run(&spec, fake_new, fake);
        struct attempts attempts = fake_result_attempts(&fake->run.result);
        assert_int_equal(fake->run.result.total.failed, 40);
        assert_int_equal(fake->run.result.clients_ended_early, 0);
        assert_int_equal(attempts.deadlock, 40);
        assert_int_equal(attempts.serialization, 0);
        assert_int_equal(attempts.retries, 40 * (expected - 1));
        assert_int_equal(attempts.retried, expected > 1 ? 40 : 0);
        assert_int_equal(fake_calls('s'), 2 * 40 * expected);
        assert_int_equal(fake_attempts(&fake->run, 0, 1).deadlock, 40);
        assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', NULL).failed, 40);
        assert_int_equal(fake->operation_count, 40);
        for (size_t i = 0; i < fake->operation_count; i++) {
            assert_int_equal(fake->operations[i].end, OPERATION_DEADLOCK);
            assert_int_equal(fake->operations[i].retries, expected - 1);
        }
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* BEGIN, UPDATE and ROLLBACK take 1 ms each: the tries begin 0, 3, 6, 9 ms after the operation was due, and after 12 ms,
 * when the limit has passed, none. */
static void test_latency_limit_ends_tries(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = counting_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.max_tries = -1;
    spec.latency_limit_ns = 11500000;
    spec.operations_per_client = 5;
    spec.measure_ns = 0;
    fake_world.decide = fail_always;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.failed, 20);
    assert_int_equal(fake_result_attempts(&fake->run.result).retries, 3 * 20);
    fake_run_release(fake);
    /* a try may begin at the limit, and whether it may is asked when the rollback has ended */
    static const struct {
        int64_t limit_ns, tries;
    } cases[] = {{12 * MS, 5}, {12 * MS - 1, 4}, {9 * MS, 4}, {9 * MS - 1, 3}, {1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake = fake_run_new();
        spec.latency_limit_ns = cases[i].limit_ns;
        fake_world.decide = fail_always;
        fake_run(&spec, fake_new, fake);
        assert_int_equal(fake->run.result.total.failed, 20);
        assert_int_equal(fake_result_attempts(&fake->run.result).retries, (cases[i].tries - 1) * 20);
        fake_run_release(fake);
    }
    pl_arena_free(scripts.arena);
}

static void test_end_of_the_window_ends_tries(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = counting_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.max_tries = -1;
    fake_world.decide = fail_always;
    fake_run(&spec, fake_new, fake);
    const struct load_result *result = &fake->run.result;
    assert_int_equal(result->total.due, 4);
    assert_int_equal(result->total.failed, 4);
    assert_int_equal(fake_result_attempts(result).retries, 4 * 333); /* a try takes 3 ms */
    assert_true(result->drain_end_ns - result->measure_end_ns <= 3 * MS);
    fake_run_release(fake);
    /* what is being tried when the drain ends is unfinished, and its retries count */
    fake = fake_run_new();
    spec.drain_ns = 0;
    fake_world.decide = fail_always;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.unfinished, 4);
    assert_int_equal(fake->run.result.total.never_started, 0);
    assert_int_equal(fake_result_attempts(&fake->run.result).retried, 4);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* ---- ends of clients ---- */

static void test_policies(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum driver_outcome outcome;
        bool is_script;
        bool ends[3]; /* LOAD_GO_ON, LOAD_END_CLIENT, LOAD_GO_ON_AFTER_SQL */
    } cases[] = {{"40001", DRIVER_ERROR, false, {false, false, false}},
                 {"23505", DRIVER_ERROR, false, {false, true, false}},
                 {"ROWS", DRIVER_ERROR, true, {false, true, true}},
                 {"COPY", DRIVER_ERROR, true, {false, true, true}},
                 {"CLOSED", DRIVER_LOST, false, {true, true, true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int policy = 0; policy < 3; policy++) {
            struct fake_scripts scripts;
            struct load_spec spec = counting_spec(&scripts);
            struct fake_run *fake = fake_run_new();
            bool ends = cases[i].ends[policy], is_lost = cases[i].outcome == DRIVER_LOST;
            spec.on_error = (enum load_on_error)policy;
            spec.operations_per_client = 10;
            spec.measure_ns = 0;
            spec.workers = 2;
            spec.log_operations = true;
            spec.tell_failures = policy == 1;
            wrong_code = cases[i].code;
            wrong_outcome = cases[i].outcome;
            wrong_is_script = cases[i].is_script;
            fake_world.decide = fail_fifth;
            fake_run(&spec, fake_new, fake);
            const struct load_result *result = &fake->run.result;
            assert_int_equal(result->total.due, ends ? 35 : 40);
            assert_int_equal(result->total.failed, 1);
            assert_int_equal(result->total.completed, ends ? 34 : 39);
            assert_int_equal(result->clients_ended_early, ends);
            assert_int_equal(result->clients_lost, is_lost);
            assert_int_equal(fake_calls('d'), ends && !is_lost);
            assert_int_equal(fake_notices(fake, LOAD_CLIENT_ENDED), ends);
            assert_int_equal(fake_notices(fake, LOAD_FAILURE), !ends && policy == 1);
            assert_int_equal(fake->run.memory.fault_count, 1);
            for (size_t n = 0; n < fake->notice_count; n++) {
                const struct load_notice *notice = &fake->notices[n];
                assert_int_equal(notice->client, 2);
                assert_int_equal(notice->step, 3);
                assert_int_equal(notice->tries, 1);
                assert_string_equal(notice->code, cases[i].code);
                assert_string_equal(notice->text, "the server did not like it");
                assert_true(notice->is_lost == is_lost && notice->at_ns > notice->due_ns);
            }
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

/* What a script does wrong itself, under each policy; SCRIPT, IN_TRANSACTION, IN_PIPELINE. */
static void test_faults_of_scripts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *code;
        bool always_ends;
    } cases[] = {{"SELECT 1;\n\\set x 1 / 0\n", "SCRIPT", false},
                 {"BEGIN;\nSELECT 1;\n", "IN_TRANSACTION", false},
                 {"SELECT 1;\n\\startpipeline\nSELECT 2;\n", "IN_PIPELINE", true},
                 {"SELECT 1;\n\\startpipeline\nSELECT 2;\n\\set x 1 / 0\n\\endpipeline\n", "SCRIPT", true},
                 {"SELECT 1;\n\\endpipeline\n", "SCRIPT", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int policy = 0; policy < 3; policy++)
            for (int connect_each = 0; connect_each < 2; connect_each++) {
                struct fake_scripts scripts;
                struct fake_run *fake = fake_run_new();
                fake_scripts_init(&scripts);
                fake_script(&scripts, 1, cases[i].text);
                struct load_spec spec = fake_spec(&scripts);
                bool ends = policy != LOAD_GO_ON || (cases[i].always_ends && !connect_each);
                spec.on_error = (enum load_on_error)policy;
                spec.operations_per_client = 5;
                spec.measure_ns = 0;
                spec.connect_each = connect_each;
                fake_run(&spec, fake_new, fake);
                assert_int_equal(fake->run.result.total.failed, ends ? 4 : 20);
                assert_int_equal(fake->run.result.total.due, ends ? 4 : 20);
                assert_int_equal(fake->run.result.clients_ended_early, ends ? 4 : 0);
                assert_int_equal(fake->run.result.clients_lost, 0);
                const struct fault *fault = load_run_fault(&fake->run, cases[i].code);
                assert_non_null(fault);
                assert_int_equal(fault->count, ends ? 4 : 20);
                if (ends)
                    assert_string_equal(fake->notices[0].code, cases[i].code);
                assert_int_equal(fake_calls('r'), !ends && !connect_each && i == 1 ? 20 : 0);
                assert_int_equal(fake_calls('d'), connect_each ? fake_calls('c') : ends ? 4 : 0);
                fake_run_release(fake);
                pl_arena_free(scripts.arena);
            }
}

/* Connections that go while nothing is sent: during a \sleep the operation has failed, between operations none has. */
static void test_lost_without_a_step(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct fake_run *fake = fake_run_new();
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "SELECT 1;\n\\sleep 100 ms\nSELECT 2;\n");
    struct load_spec spec = fake_spec(&scripts);
    spec.every_step = true;
    fake_world.lost_client = 1;
    fake_world.lost_at_ns = START_NS + 50 * MS;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.failed, 1);
    assert_int_equal(fake->run.result.clients_lost, 1);
    assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', NULL).failed, 1); /* the \sleep */
    assert_int_equal(fake->notice_count, 1);
    assert_true(fake->notices[0].is_lost && fake->notices[0].at_ns == START_NS + 50 * MS && fake->notices[0].step == 1);
    fake_run_release(fake);
    /* open loop, nothing due yet */
    fake = fake_run_new();
    spec.open_loop = true;
    spec.rate_per_s = 1;
    spec.warm_up_ns = 0;
    fake_world.lost_client = 3;
    fake_world.lost_at_ns = START_NS + 500 * MS;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.failed, 0);
    assert_int_equal(fake->run.result.total.completed, 1);
    assert_int_equal(fake->run.result.clients_lost, 1);
    assert_int_equal(fake->notices[0].step, -1);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

static void outlast(struct fake *fake, int client, const struct step *step, const struct value *vars,
                    struct fake_answer *answer)
{
    (void)step, (void)vars;
    answer->delay_ns = client == 0 && fake->now_ns >= START_NS + 990 * MS ? 500 * MS : answer->delay_ns;
}

/* While the others are waited for at the end: nobody misses a client that had nothing to do any more. */
static void test_lost_in_the_drain(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++)
        for (int stop = 0; stop < 2; stop++) {
            struct fake_scripts scripts;
            struct fake_run *fake = fake_run_new();
            fake_scripts_init(&scripts);
            fake_script(&scripts, 1, "SELECT 1;\n");
            struct load_spec spec = fake_spec(&scripts);
            spec.open_loop = open_loop;
            spec.rate_per_s = 100;
            spec.at_end = stop ? LOAD_STOP_AT_END : LOAD_START_LATE;
            spec.stop_on_lost_client = true;
            fake_world.decide = outlast;
            fake_world.lost_client = 2;
            fake_world.lost_at_ns = START_NS + SEC + 100 * MS;
            fake_run(&spec, fake_new, fake);
            assert_true(fake_world.fakes[0]->clients == NULL || fake->run.result.drain_end_ns > fake_world.lost_at_ns);
            assert_int_equal(fake->run.result.clients_lost, 0);
            assert_int_equal(fake->run.result.clients_ended_early, 0);
            assert_int_equal(fake->notice_count, 0);
            assert_int_equal(fake->run.result.total.unfinished, 0);
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

static char long_text[LOAD_NOTICE_TEXT_BYTES + 3];

static void fail_at_length(struct fake *fake, int client, const struct step *step, const struct value *vars,
                           struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    fail_with(answer, "40001");
    answer->text = long_text;
}

/* Each says whose client it is, and long texts are told as far as whole characters go. */
static void test_what_notices_say(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = counting_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 5;
    spec.workers = 3; /* 2, 2, 1 */
    spec.operations_per_client = 1;
    spec.measure_ns = 0;
    spec.max_tries = 2;
    spec.tell_failures = true;
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text + LOAD_NOTICE_TEXT_BYTES - 2, "\xc3\xa9", 3);
    fake_world.decide = fail_at_length;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->notice_count, 10);
    for (size_t i = 0; i < fake->notice_count; i++) {
        const struct load_notice *notice = &fake->notices[i];
        assert_int_equal(notice->worker, notice->client / 2);
        assert_int_equal(strlen(notice->text), LOAD_NOTICE_TEXT_BYTES - 2);
        assert_false(notice->while_connecting);
    }
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

static void test_stop_on_lost_client(void **state)
{
    (void)state;
    for (int stops = 0; stops < 2; stops++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.on_error = LOAD_END_CLIENT;
        spec.stop_on_lost_client = stops;
        spec.measure_ns = 20 * SEC;
        wrong_code = "23505";
        wrong_outcome = DRIVER_ERROR;
        wrong_is_script = false;
        fake_world.decide = fail_fifth;
        fake_run(&spec, fake_new, fake);
        const struct load_result *result = &fake->run.result;
        assert_int_equal(result->clients_ended_early, 1);
        if (stops)
            assert_true(result->window_ns < 100 * MS && result->total.unfinished == 0);
        else
            assert_int_equal(result->window_ns, 20 * SEC);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* ---- connect_each ---- */

static void connect_slowly(struct fake *fake, int client, const struct step *step, const struct value *vars,
                           struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    answer->delay_ns = 4 * MS;
}

static void test_connect_each(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 3; workers++)
        for (int open_loop = 0; open_loop < 2; open_loop++) {
            struct fake_scripts scripts;
            struct load_spec spec = counting_spec(&scripts);
            struct fake_run *fake = fake_run_new();
            spec.workers = workers;
            spec.connect_each = true;
            spec.operations_per_client = 10;
            spec.measure_ns = 0;
            spec.open_loop = open_loop;
            spec.rate_per_s = 200;
            fake_world.decide_connect = connect_slowly;
            fake_run(&spec, fake_new, fake);
            assert_int_equal(fake->run.result.total.completed, 40);
            assert_int_equal(fake_calls('c'), 40);
            assert_int_equal(fake_calls('d'), 40);
            assert_int_equal(fake->connects, 40);
            assert_int_equal(fake->connect_max_ns, 4 * MS);
            struct hist response, lateness, service;
            hist_init_latency(&response);
            hist_init_latency(&lateness);
            hist_init_latency(&service);
            load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 'r', &response);
            load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 'l', &lateness);
            load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 's', &service);
            assert_int_equal(lateness.min, 4 * MS); /* the connection, and nothing else when a client is free */
            assert_int_equal(service.min, 3 * MS);
            assert_int_equal(service.max, 3 * MS);
            assert_int_equal(response.min, 7 * MS);
            hist_release(&response);
            hist_release(&lateness);
            hist_release(&service);
            fake_run_release(fake);
            pl_arena_free(scripts.arena);
        }
}

/* Every third connection of a client is refused. */
static void refuse_third(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer)
{
    (void)step, (void)vars;
    if (++fake->clients[client - fake->first_client].user % 3 != 0)
        return;
    *answer = (struct fake_answer){
        .delay_ns = MS, .outcome = DRIVER_LOST, .code = "ECONNREFUSED", .text = "nobody listens there"};
}

/* Whoever was refused, after 1 ms, waits another one before it asks again. */
static void check_pauses(const struct fake *fake)
{
    struct fake_call last[4] = {0};
    for (size_t i = 0; i < fake->call_count; i++) {
        const struct fake_call *call = &fake->calls[i];
        if (call->what == 'c' && last[call->client].what == 'c')
            assert_int_equal(call->at_ns, last[call->client].at_ns + 2 * MS);
        last[call->client] = *call;
    }
}

static void test_connections_refused(void **state)
{
    (void)state;
    for (int policy = 0; policy < 3; policy++) {
        struct fake_scripts scripts;
        struct load_spec spec = counting_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.on_error = (enum load_on_error)policy;
        spec.connect_each = true;
        spec.operations_per_client = 9;
        spec.measure_ns = 0;
        spec.log_operations = true;
        fake_world.decide_connect = refuse_third;
        fake_run(&spec, fake_new, fake);
        bool goes_on = policy == LOAD_GO_ON;
        assert_int_equal(fake->run.result.total.failed, goes_on ? 12 : 4);
        assert_int_equal(fake->run.result.total.completed, goes_on ? 24 : 8);
        assert_int_equal(fake->run.result.clients_lost, goes_on ? 0 : 4);
        assert_int_equal(fake->connects, fake->run.result.total.completed);
        assert_int_equal(fake_calls('d'), fake->run.result.total.completed); /* what was refused is closed */
        for (size_t i = 0; i < fake->notice_count; i++)
            assert_true(fake->notices[i].step == -1 && fake->notices[i].is_lost && fake->notices[i].while_connecting);
        check_pauses(fake_world.fakes[0]);
        for (size_t i = 0; i < fake->operation_count; i++)
            assert_true((fake->operations[i].end == OPERATION_FAILED) == (fake->operations[i].sent_ns == 0));
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* ---- variables, and scripts without SQL ---- */

static void test_variables_are_shared(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct fake_run *fake = fake_run_new();
    char text[] = "1700";
    fake_scripts_init(&scripts);
    names_predefine(scripts.names, "start");
    names_predefine(scripts.names, "x");
    fake_script(&scripts, 1, "\\set x :x + 1\nSELECT :x;\n");
    fake_script(&scripts, 1, "\\set x :x + :start + :client_id + :random_seed\nSELECT :x;\n");
    struct load_spec spec = fake_spec(&scripts);
    const struct load_variable variables[] = {
        {.name = "start", .value = {.type = VALUE_TEXT, .length = 4, .text = text}},
        {.name = "x", .value = {.type = VALUE_INT, .i = 5}},
        {.name = "nobody_knows_it", .value = {.type = VALUE_INT, .i = 5}},
    };
    spec.variables = variables;
    spec.variable_count = 3;
    spec.operations_per_client = 50;
    spec.measure_ns = 0;
    struct load *load;
    struct pl_err err = {0};
    struct sink sink;
    memory_sink_init(&fake->run.memory);
    sink = memory_sink(&fake->run.memory);
    assert_int_equal(load_new_with(&spec, fake_new, &load, &err), PL_OK);
    memset(text, '9', 4); /* it was copied */
    assert_int_equal(load_connect(load, NULL, &err), PL_OK);
    load_start(load, START_NS);
    while (!fake->run.glance.ended)
        assert_int_equal(load_poll(load, 7, &sink, &fake->run.glance, &err), PL_OK);
    assert_int_equal(load_finish(load, 7, &sink, &fake->run.result, &err), PL_OK);
    load_free(load);
    int64_t x[4] = {5, 5, 5, 5}, seen[2] = {0};
    const struct fake *one = fake_world.fakes[0];
    for (size_t i = 0; i < one->call_count; i++) {
        const struct fake_call *call = &one->calls[i];
        bool second = call->step == &scripts.scripts[1].program->steps[1];
        x[call->client] += second ? 1700 + call->client + (int64_t)spec.seed : 1;
        assert_int_equal(call->value, x[call->client]);
        seen[second]++;
    }
    assert_true(seen[0] > 50 && seen[1] > 50);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* A script without SQL neither recurses, nor stops time, nor keeps others from their turn. */
static void test_scripts_without_sql(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\set x random(1, 5)\n");
    struct load_spec spec = fake_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    fake_run(&spec, fake_new, fake); /* by virtual time: an operation each PAUSE_NS */
    assert_int_equal(fake->run.result.total.completed, 4 * 1000);
    fake_run_release(fake);
    struct load_run run;
    spec.driver = LOAD_NULL;
    spec.workers = 2;
    spec.measure_ns = 0;
    spec.operations_per_client = 100000;
    spec.every_step = true;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.completed, 400000);
    assert_int_equal(load_run_sum(&run, PHASE_COUNT, 0, 0, 's', NULL).completed, 400000);
    load_run_release(&run);
    spec.operations_per_client = 0;
    spec.measure_ns = 50 * MS;
    spec.drain_ns = SEC;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.window_ns, 50 * MS);
    assert_true(run.result.total.completed > 0);
    load_run_release(&run);
    spec.open_loop = true;
    spec.rate_per_s = 20000;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.due, 1000);
    assert_int_equal(run.result.total.completed, 1000);
    load_run_release(&run);
    pl_arena_free(scripts.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_begins_where_the_operation_began),
        cmocka_unit_test(test_max_tries),
        cmocka_unit_test(test_latency_limit_ends_tries),
        cmocka_unit_test(test_end_of_the_window_ends_tries),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_faults_of_scripts),
        cmocka_unit_test(test_lost_without_a_step),
        cmocka_unit_test(test_lost_in_the_drain),
        cmocka_unit_test(test_what_notices_say),
        cmocka_unit_test(test_stop_on_lost_client),
        cmocka_unit_test(test_connect_each),
        cmocka_unit_test(test_connections_refused),
        cmocka_unit_test(test_variables_are_shared),
        cmocka_unit_test(test_scripts_without_sql),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
