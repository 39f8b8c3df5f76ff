/* What a client does without the driver: branches, sleeps, pipelines. */
#include "fake_run.h"

#include "script/feed.h"

/* Runs `each` operations of each client. */
static struct fake_run *run(struct fake_scripts *scripts, const char *text, int64_t each, int clients)
{
    struct fake_run *fake = fake_run_new();
    fake_scripts_init(scripts);
    fake_script(scripts, 1, text);
    struct load_spec spec = fake_spec(scripts);
    spec.clients = clients;
    spec.operations_per_client = each;
    spec.measure_ns = 0;
    spec.every_step = true;
    fake_run(&spec, fake_new, fake);
    return fake;
}

/* What client 0 asked of the driver, as text: "s:BEGIN q:SELECT 1". */
static const char *calls_of(char *text, size_t size)
{
    const struct fake *fake = fake_world.fakes[0];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < fake->call_count && length < size; i++) {
        const struct fake_call *call = &fake->calls[i];
        const char *name = call->step == NULL ? "" : call->step->text;
        if (call->client == 0)
            length += (size_t)snprintf(text + length, size - length, "%s%c:%.*s", length == 0 ? "" : " ", call->what,
                                       (int)strcspn(name, ";"), name);
    }
    return text;
}

static void test_branches(void **state)
{
    (void)state;
    static const struct {
        int n;
        const char *calls;
    } cases[] = {{1, "s:SELECT 1 s:SELECT 9"}, {2, "s:SELECT 2 s:SELECT 9"}, {3, "s:SELECT 3 s:SELECT 9"}};
    for (size_t i = 0; i < 3; i++) {
        char script[300], text[200];
        struct fake_scripts scripts;
        snprintf(script, sizeof script,
                 "\\set n %d\n\\if :n = 1\nSELECT 1;\n\\elif :n = 2\n\\if false\nSELECT 0;\n\\else\nSELECT 2;\n\\endif\n"
                 "\\else\nSELECT 3;\n\\endif\nSELECT 9;\n",
                 cases[i].n);
        struct fake_run *fake = run(&scripts, script, 1, 1);
        assert_string_equal(calls_of(text, sizeof text), cases[i].calls);
        assert_int_equal(fake->run.result.total.completed, 1);
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

static const char *fault_of(const char *text, enum plan_protocol protocol)
{
    static char example[RECORDER_EXAMPLE_BYTES];
    struct fake_scripts scripts;
    struct fake_run *fake = fake_run_new();
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, text);
    struct load_spec spec = fake_spec(&scripts);
    spec.protocol = protocol;
    spec.operations_per_client = 1;
    spec.measure_ns = 0;
    spec.on_error = LOAD_GO_ON_AFTER_SQL;
    fake_run(&spec, fake_new, fake);
    const struct load_run *all = &fake->run;
    assert_int_equal(all->memory.fault_count, all->result.total.failed > 0);
    snprintf(example, sizeof example, "%s", all->memory.fault_count > 0 ? all->memory.faults[0].example : "");
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
    return example;
}

static void test_pipelines(void **state)
{
    (void)state;
    char text[300];
    struct fake_scripts scripts;
    struct fake_run *fake = run(&scripts,
                                "BEGIN;\n\\startpipeline\n\\set x 5\nSELECT 1;\n\\set x 6\nSELECT 2;\n\\syncpipeline\n"
                                "SELECT 3;\n\\endpipeline\nEND;\n",
                                2, 1);
    static const char once[] = "s:BEGIN q:SELECT 1 q:SELECT 2 q:\\syncpipeline q:SELECT 3 s:\\endpipeline s:END";
    char twice[300];
    snprintf(twice, sizeof twice, "%s %s", once, once);
    assert_string_equal(calls_of(text, sizeof text), twice);
    assert_int_equal(fake_world.fakes[0]->calls[1].value, 5);
    assert_int_equal(fake_world.fakes[0]->calls[2].value, 6);
    /* what is queued takes no time of its own; every command is counted */
    for (int step = 0; step < 10; step++)
        assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, step, 's', NULL).completed, 2);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

static void test_pipelines_that_are_wrong(void **state)
{
    (void)state;
    static const char good[] = "\\startpipeline\nSELECT 1;\n\\endpipeline\n";
    assert_string_equal(fault_of(good, PLAN_EXTENDED), "");
    assert_string_equal(fault_of(good, PLAN_PREPARED), "");
    assert_string_equal(fault_of(good, PLAN_SIMPLE), "cannot use pipeline mode with the simple query protocol");
    assert_string_equal(fault_of("\\startpipeline\n\\startpipeline\nSELECT 1;\n\\endpipeline\n", PLAN_EXTENDED),
                        "already in pipeline mode");
    assert_string_equal(fault_of("SELECT 1;\n\\endpipeline\n", PLAN_EXTENDED), "not in pipeline mode");
    assert_string_equal(fault_of("SELECT 1;\n\\syncpipeline\n", PLAN_EXTENDED), "not in pipeline mode");
    assert_string_equal(fault_of("\\startpipeline\nSELECT 1 AS x \\gset\n\\endpipeline\n", PLAN_EXTENDED),
                        "\\gset is not allowed in pipeline mode");
    assert_string_equal(fault_of("\\startpipeline\nSELECT 1 AS x \\aset\n\\endpipeline\n", PLAN_EXTENDED),
                        "\\aset is not allowed in pipeline mode");
    assert_string_equal(fault_of("\\startpipeline\nSELECT 1;\n", PLAN_EXTENDED), "the script ended with a pipeline open");
}

static int pipeline_case;

/* The command that the driver blames is the one that has failed, and it is tried again from the start. */
static void fail_second_queued(struct fake *fake, int client, const struct step *step, const struct value *vars,
                               struct fake_answer *answer)
{
    (void)vars;
    if (step->kind != STEP_END_PIPELINE)
        return;
    const struct program *program = fake->setup.spec->scripts[0].program;
    bool gives_up = fake->clients[client - fake->first_client].user++ % 2 == 1;
    *answer = (struct fake_answer){.delay_ns = MS,
                                   .outcome = DRIVER_ERROR,
                                   .code = gives_up ? "23505" : "40001",
                                   .text = "no",
                                   .fault_step = &program->steps[2]};
}

static void test_pipelines_that_fail(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct fake_run *fake = fake_run_new();
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n");
    struct load_spec spec = fake_spec(&scripts);
    spec.max_tries = 5;
    spec.operations_per_client = 3;
    spec.measure_ns = 0;
    fake_world.decide = fail_second_queued;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.failed, 12);
    assert_int_equal(fake_result_attempts(&fake->run.result).retries, 12);
    for (int step = 0; step < 3; step++) { /* SELECT 1, SELECT 2, \endpipeline */
        assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, step, 's', NULL).failed, step == 1 ? 12 : 0);
        assert_int_equal(fake_attempts(&fake->run, 0, step).retries, step == 1 ? 12 : 0);
    }
    assert_int_equal(fake->run.result.clients_ended_early, 0); /* the pipeline had ended */
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

enum { UNKNOWN = 1, REFUSED, LOST };

/* SELECT 2 is to blame, or nobody knows, or nothing of it was sent, or the connection goes. */
static void fail_somehow(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer)
{
    (void)vars, (void)client;
    if (step->kind != STEP_END_PIPELINE)
        return;
    *answer = (struct fake_answer){.delay_ns = MS,
                                   .outcome = pipeline_case == LOST ? DRIVER_LOST : DRIVER_ERROR,
                                   .is_script_fault = pipeline_case == REFUSED,
                                   .code = "23505",
                                   .text = "no",
                                   .fault_step = pipeline_case == UNKNOWN || pipeline_case == LOST
                                                     ? NULL
                                                     : &fake->setup.spec->scripts[0].program->steps[3]};
}

/* Each command is counted once: as failed when it is blamed, as completed when it is known to have been answered. */
static void test_pipelines_count_once(void **state)
{
    (void)state;
    static const int64_t completed[][6] = {/* \startpipeline, SELECT 1, \syncpipeline, SELECT 2, SELECT 3, \endpipeline */
                                           [0] = {4, 4, 4, 0, 0, 0},
                                           [UNKNOWN] = {4, 0, 0, 0, 0, 0},
                                           [REFUSED] = {4, 0, 0, 0, 0, 0},
                                           [LOST] = {4, 0, 0, 0, 0, 0}};
    for (pipeline_case = 0; pipeline_case <= LOST; pipeline_case++) {
        struct fake_scripts scripts;
        struct fake_run *fake = fake_run_new();
        fake_scripts_init(&scripts);
        fake_script(&scripts, 1, "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\nSELECT 3;\n\\endpipeline\n");
        struct load_spec spec = fake_spec(&scripts);
        spec.every_step = true;
        spec.operations_per_client = 1;
        spec.measure_ns = 0;
        fake_world.decide = fail_somehow;
        fake_run(&spec, fake_new, fake);
        int blamed = pipeline_case == UNKNOWN || pipeline_case == LOST ? 5 : 3;
        for (int step = 0; step < 6; step++) {
            struct ledger sum = load_run_sum(&fake->run, PHASE_COUNT, 0, step, 's', NULL);
            assert_int_equal(sum.completed, completed[pipeline_case][step]);
            assert_int_equal(sum.failed, step == blamed ? 4 : 0);
        }
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* A driver without pipelines is given each command. */
static void test_no_pipelines_in_the_driver(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_run run;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n");
    struct load_spec spec = fake_spec(&scripts);
    spec.driver = LOAD_SIM;
    spec.sim = (struct load_sim){.servers = 4, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
    load_run_virtual(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.failed, 0);
    assert_int_equal(run.result.completed_in_window, 4 * 333);
    assert_int_equal(load_run_sum(&run, PHASE_COUNT, 0, 1, 's', NULL).completed, run.result.total.completed);
    load_run_release(&run);
    pl_arena_free(scripts.arena);
}

/* Each client sleeps another time; they come back in the order of their times, to the nanosecond. */
static void test_sleeps_in_order(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct fake_run *fake = run(&scripts, "\\set t (:client_id * 37) % 101\n\\sleep :t us\nSELECT 1;\n", 1, 100);
    const struct fake *one = fake_world.fakes[0];
    int64_t last_ns = 0;
    assert_int_equal(one->call_count, 100);
    for (size_t i = 0; i < one->call_count; i++) {
        assert_int_equal(one->calls[i].at_ns, START_NS + one->calls[i].client * 37 % 101 * PL_NS_PER_US);
        assert_true(one->calls[i].at_ns >= last_ns);
        last_ns = one->calls[i].at_ns;
    }
    struct hist sleeps;
    hist_init_latency(&sleeps);
    assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', &sleeps).completed, 100);
    assert_int_equal(sleeps.max, 100 * PL_NS_PER_US);
    hist_release(&sleeps);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* Longer than 32 bits of microseconds. */
static void test_long_sleeps(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t sleep_ns;
    } cases[] = {{"\\sleep 2148 s\nSELECT 1;\n", 2148 * SEC},
                 {"\\sleep 2147483648 us\nSELECT 1;\n", 2147483648 * PL_NS_PER_US},
                 {"\\set t 5000000\n\\sleep :t ms\nSELECT 1;\n", 5000 * SEC},
                 {"SELECT 1;\n\\sleep 0\n", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_scripts scripts;
        struct load_run run;
        fake_scripts_init(&scripts);
        fake_script(&scripts, 1, cases[i].text);
        struct load_spec spec = fake_spec(&scripts);
        spec.driver = LOAD_SIM;
        spec.sim = (struct load_sim){.servers = 4, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT};
        spec.clients = 2;
        spec.operations_per_client = 2;
        spec.measure_ns = 0;
        spec.slice_ns = 600 * SEC;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.completed, 4);
        assert_int_equal(run.result.window_ns, 2 * (cases[i].sleep_ns + MS));
        load_run_release(&run);
        pl_arena_free(scripts.arena);
    }
}

/* What sleeps when the drain ends is unfinished; without a limit of the drain it is waited for. */
static void test_sleeps_and_the_end(void **state)
{
    (void)state;
    for (int patient = 0; patient < 2; patient++) {
        struct fake_scripts scripts;
        struct fake_run *fake = fake_run_new();
        fake_scripts_init(&scripts);
        fake_script(&scripts, 1, "SELECT 1;\n\\sleep 100 s\n");
        struct load_spec spec = fake_spec(&scripts);
        spec.drain_ns = patient ? INT64_MAX : 2 * SEC;
        spec.slice_ns = 10 * SEC;
        fake_run(&spec, fake_new, fake);
        assert_int_equal(fake->run.result.total.completed, patient ? 4 : 0);
        assert_int_equal(fake->run.result.total.unfinished, patient ? 0 : 4);
        assert_int_equal(fake->run.result.total.never_started, 0);
        assert_int_equal(fake->run.result.drain_end_ns, START_NS + (patient ? 100 * SEC + MS : 3 * SEC));
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

/* ---- steps of other languages ---- */

static struct step_scene last_scene;
static int64_t calls;

/* Goes on every other time, and sets a text that lives no longer than the call. */
static const char *call_in_turn(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    char text[64];
    int length = snprintf(text, sizeof text, "call %lld of %s", (long long)++calls, (const char *)step->data);
    scene->set_text(scene->context, scene->client, step->variable, text, (size_t)length);
    memset(text, '#', sizeof text);
    last_scene = *scene;
    *ret_goes_on = calls % 2 == 1;
    return NULL;
}

static const char *call_fails(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    (void)step, (void)scene, (void)ret_goes_on;
    return "no such luck";
}

static int text_variable;
static char texts_seen[64][64];
static int texts_count;

static void note_text(struct fake *fake, int client, const struct step *step, const struct value *vars,
                      struct fake_answer *answer)
{
    (void)fake, (void)client, (void)answer;
    if (texts_count < 64)
        snprintf(texts_seen[texts_count++], 64, "%s %s", step->text, vars[text_variable].text);
}

static struct fake_run *steps_run(struct fake_scripts *scripts, const struct step *steps, size_t count, int64_t each)
{
    struct fake_run *fake = fake_run_new();
    fake_program(scripts, 1, steps, count);
    struct load_spec spec = fake_spec(scripts);
    spec.clients = 1;
    spec.operations_per_client = each;
    spec.measure_ns = 0;
    spec.log_operations = true;
    fake_world.decide = note_text;
    calls = texts_count = 0;
    fake_run(&spec, fake_new, fake);
    return fake;
}

/* A call sees and sets the client's variables and says where it goes on. */
static void test_calls(void **state)
{
    (void)state;
    static const char name[] = "mine";
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    names_predefine(scripts.names, "text");
    text_variable = names_find(scripts.names, "text", 4);
    const struct step steps[] = {
        {.kind = STEP_CALL, .call = call_in_turn, .variable = text_variable, .data = name, .target = 2},
        {.kind = STEP_HTTP, .text = "GET /odd"},
        {.kind = STEP_HTTP, .text = "GET /all"},
    };
    struct fake_run *fake = steps_run(&scripts, steps, 3, 4);
    static const char *const expected[] = {"GET /odd call 1 of mine", "GET /all call 1 of mine", "GET /all call 2 of mine",
                                           "GET /odd call 3 of mine", "GET /all call 3 of mine", "GET /all call 4 of mine"};
    assert_int_equal(fake->run.result.total.completed, 4);
    assert_int_equal(texts_count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(texts_seen[i], expected[i]);
    assert_true(last_scene.client == 0 && last_scene.rng != NULL);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

static void test_call_that_fails(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    const struct step steps[] = {{.kind = STEP_CALL, .call = call_fails}, {.kind = STEP_HTTP, .text = "GET /"}};
    struct fake_run *fake = steps_run(&scripts, steps, 2, 3);
    assert_int_equal(fake->run.result.total.failed, 3);
    assert_string_equal(load_run_fault(&fake->run, "SCRIPT")->example, "no such luck");
    assert_int_equal(fake_calls('s'), 0);
    fake_run_release(fake);
    pl_arena_free(scripts.arena);
}

/* Rows in order, over all clients; when each may be used once, an operation without one fails, by the script's fault. */
static void test_feeds(void **state)
{
    (void)state;
    static const char csv[] = "text\none\ntwo\nthree\n";
    for (int unique = 0; unique < 2; unique++) {
        struct fake_scripts scripts;
        struct feed *feed;
        struct pl_err err = {0};
        fake_scripts_init(&scripts);
        assert_int_equal(feed_parse("words.csv", csv, strlen(csv), unique ? FEED_UNIQUE : FEED_SEQUENTIAL, scripts.names,
                                    scripts.arena, &feed, &err),
                         PL_OK);
        text_variable = names_find(scripts.names, "text", 4);
        const struct step steps[] = {{.kind = STEP_FEED, .feed = feed}, {.kind = STEP_HTTP, .text = "GET /"}};
        struct fake_run *fake = steps_run(&scripts, steps, 2, 5);
        assert_int_equal(fake->run.result.total.completed, unique ? 3 : 5);
        assert_int_equal(fake->run.result.total.failed, unique ? 2 : 0);
        assert_int_equal(texts_count, unique ? 3 : 5);
        assert_string_equal(texts_seen[0], "GET / one");
        assert_string_equal(texts_seen[2], "GET / three");
        const struct fault *fault = load_run_fault(&fake->run, "SCRIPT");
        if (unique) {
            assert_int_equal(fault->count, 2);
            assert_non_null(strstr(fault->example, "words.csv"));
        } else {
            assert_string_equal(texts_seen[3], "GET / one");
            assert_null(fault);
        }
        fake_run_release(fake);
        pl_arena_free(scripts.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_pipelines),
        cmocka_unit_test(test_pipelines_that_are_wrong),
        cmocka_unit_test(test_pipelines_that_fail),
        cmocka_unit_test(test_pipelines_count_once),
        cmocka_unit_test(test_no_pipelines_in_the_driver),
        cmocka_unit_test(test_sleeps_in_order),
        cmocka_unit_test(test_long_sleeps),
        cmocka_unit_test(test_sleeps_and_the_end),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_call_that_fails),
        cmocka_unit_test(test_feeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
