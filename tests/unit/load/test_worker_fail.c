/* Operations that get no answer in time, requests that are tried again, and steps that were sent later than they were
 * handed over. */
#include "fake_run.h"

static struct hist sums[4]; /* response, service, lateness, censored */

static struct ledger sum_all(const struct load_run *run, int step)
{
    static const char which[] = "rslc";
    struct ledger ledger = {0};
    for (int i = 0; i < 4; i++) {
        hist_release(&sums[i]);
        hist_init_latency(&sums[i]);
        if (step < 0 || which[i] == 's' || which[i] == 'c')
            ledger = load_run_sum(run, PHASE_COUNT, -1, step, which[i], &sums[i]);
    }
    return ledger;
}

static const struct hist *censored = &sums[3], *service = &sums[1];

static const struct step one_request[] = {{.kind = STEP_HTTP, .text = "GET /"}};

static struct load_spec requests_spec(struct fake_scripts *scripts)
{
    fake_scripts_init(scripts);
    fake_program(scripts, 1, one_request, 1);
    struct load_spec spec = fake_spec(scripts);
    spec.open_loop = true;
    spec.rate_per_s = 100;
    spec.log_operations = spec.tell_failures = true;
    return spec;
}

static void done_with(struct fake_run *fake, struct fake_scripts *scripts)
{
    fake_run_release(fake);
    pl_arena_free(scripts->arena);
    for (int i = 0; i < 4; i++)
        hist_release(&sums[i]);
}

static void answer_never(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    *answer = (struct fake_answer){
        .delay_ns = 300 * MS, .outcome = DRIVER_EXPIRED, .code = "head:EXPIRED", .text = "no answer within 300 ms"};
}

/* A black hole: nothing is completed, and every operation stands in the distribution as "at least the time limit". */
static void test_black_hole(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 40; /* 30 are waiting at a time */
    spec.workers = 2;
    fake_world.decide = answer_never;
    fake_run(&spec, fake_new, fake);
    const struct ledger *total = &fake->run.result.total;
    assert_int_equal(total->due, 100);
    assert_int_equal(total->expired, 100);
    sum_all(&fake->run, -1);
    assert_true(censored->total == 100 && censored->min == 300 * MS && censored->max == 300 * MS);
    bool at_least = false;
    for (int percent = 1; percent <= 100; percent++) {
        int64_t value = hist_quantile_censored(&sums[0], censored, percent / 100.0, &at_least);
        assert_true(at_least && value == 300 * MS);
    }
    struct ledger step = sum_all(&fake->run, 0);
    assert_true(step.expired == 100 && step.completed == 0 && step.failed == 0);
    assert_true(censored->total == 100 && censored->min == 300 * MS);
    assert_int_equal(fake_notices(fake, LOAD_FAILURE), 100);
    const struct fault *fault = load_run_fault(&fake->run, "head:EXPIRED");
    assert_non_null(fault);
    assert_string_equal(fault->example, "no answer within 300 ms");
    assert_int_equal(fake->operation_count, 100);
    for (size_t i = 0; i < fake->operation_count; i++) {
        const struct operation *operation = &fake->operations[i];
        assert_int_equal(operation->end, OPERATION_EXPIRED);
        assert_int_equal(operation->done_ns - operation->due_ns, 300 * MS);
    }
    assert_int_equal(fake->run.glance.failed, 100);
    done_with(fake, &scripts);
}

/* With fewer clients than it takes: what a client waited for is a part of what is known, and those that nobody started are
 * known to have waited until the end. */
static void test_black_hole_with_a_queue(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 1;
    spec.rate_per_s = 10;
    spec.drain_ns = 250 * MS;
    fake_world.decide = answer_never;
    fake_run(&spec, fake_new, fake);
    /* due at 0, 100, ... 900; ends at 300, 600, 900, 1200; one is under way at 1250, five were never started */
    const struct ledger *total = &fake->run.result.total;
    assert_true(total->due == 10 && total->expired == 4 && total->unfinished == 6 && total->never_started == 5);
    sum_all(&fake->run, -1);
    int64_t expired_ms = 300 + 500 + 700 + 900, unfinished_ms = 6 * 1250 - (400 + 500 + 600 + 700 + 800 + 900);
    assert_int_equal(censored->total, 10);
    assert_true(censored->sum == (expired_ms + unfinished_ms) * MS);
    assert_true(censored->min == 300 * MS && censored->max == 900 * MS);
    struct ledger step = sum_all(&fake->run, 0);
    assert_true(step.expired == 4 && censored->total == 4 && censored->max == 300 * MS);
    done_with(fake, &scripts);
}

static int64_t sent_after_ns;

static void answer_late(struct fake *fake, int client, const struct step *step, const struct value *vars,
                        struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    answer->delay_ns = 10 * MS;
    answer->sent_after_ns = sent_after_ns;
}

/* The driver had no connection for it at first: that is lateness, not service. */
static void test_sent_later(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    sent_after_ns = 3 * MS;
    fake_world.decide = answer_late;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(sum_all(&fake->run, -1).completed, 100);
    assert_true(sums[0].min == 10 * MS && sums[0].max == 10 * MS);
    assert_true(sums[1].min == 7 * MS && sums[1].max == 7 * MS);
    assert_true(sums[2].min == 3 * MS && sums[2].max == 3 * MS);
    assert_int_equal(fake->run.self.lateness.max, 0); /* but not the load's own */
    sum_all(&fake->run, 0);
    assert_true(service->min == 7 * MS && service->max == 7 * MS);
    for (size_t i = 0; i < fake->operation_count; i++)
        assert_int_equal(fake->operations[i].sent_ns - fake->operations[i].due_ns, 3 * MS);
    done_with(fake, &scripts);
}

/* The second step's correction leaves the operation's first sent moment alone, also when both are the same. */
static void correct_second(struct fake *fake, int client, const struct step *step, const struct value *vars,
                           struct fake_answer *answer)
{
    (void)fake, (void)client, (void)vars;
    answer->delay_ns = step->io_index == 0 ? 0 : 10 * MS;
    answer->sent_after_ns = step->io_index == 0 ? 0 : 4 * MS;
}

static void test_second_sent_later(void **state)
{
    (void)state;
    static const struct step two[] = {{.kind = STEP_HTTP, .text = "GET /a"}, {.kind = STEP_HTTP, .text = "GET /b"}};
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    scripts.count = 0;
    fake_program(&scripts, 1, two, 2);
    fake_world.decide = correct_second;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(sum_all(&fake->run, -1).completed, 100);
    assert_true(sums[2].max == 0 && sums[1].min == 10 * MS);
    sum_all(&fake->run, 1);
    assert_true(service->min == 6 * MS && service->max == 6 * MS);
    done_with(fake, &scripts);
}

static void refuse(struct fake *fake, int client, const struct step *step, const struct value *vars,
                   struct fake_answer *answer)
{
    (void)fake, (void)client, (void)step, (void)vars;
    *answer = (struct fake_answer){.delay_ns = 2 * MS,
                                   .outcome = DRIVER_ERROR,
                                   .code = "connect:ECONNREFUSED",
                                   .text = "nobody listens",
                                   .sent_after_ns = -1};
}

/* A failed connection is a failed operation, with the whole of its code; its client goes on. Closed loop: not at once. */
static void test_refused(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        struct fake_scripts scripts;
        struct load_spec spec = requests_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.open_loop = !closed;
        spec.clients = 1;
        fake_world.decide = refuse;
        fake_run(&spec, fake_new, fake);
        const struct ledger *total = &fake->run.result.total;
        assert_int_equal(total->failed, total->due);
        assert_int_equal(total->due, closed ? 334 : 100); /* 2 ms, and 1 of pause */
        assert_true(fake->run.result.clients_lost == 0 && fake->run.result.clients_ended_early == 0);
        assert_int_equal(load_run_fault(&fake->run, "connect:ECONNREFUSED")->count,
                         closed ? 333 : 100); /* one in the drain */
        assert_string_equal(fake->notices[0].code, "connect:ECONNREFUSED");
        for (size_t i = 0; i < fake->operation_count; i++)
            assert_true(fake->operations[i].sent_ns == 0 && fake->operations[i].end == OPERATION_FAILED);
        done_with(fake, &scripts);
    }
}

/* Expired before anything was sent: of its service nothing is known, and that is said. */
static void expire_unsent(struct fake *fake, int client, const struct step *step, const struct value *vars,
                          struct fake_answer *answer)
{
    answer_never(fake, client, step, vars, answer);
    answer->sent_after_ns = -1;
}

static void test_expired_unsent(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 40;
    fake_world.decide = expire_unsent;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(sum_all(&fake->run, -1).expired, 100);
    assert_true(censored->min == 300 * MS);
    assert_int_equal(sum_all(&fake->run, 0).expired, 100);
    assert_int_equal(censored->max, 0);
    assert_int_equal(fake->operations[0].sent_ns, 0);
    done_with(fake, &scripts);
}

/* ---- a script that tries again ---- */

enum { TRIES_LEFT = 3 };

/* STEP_CALL: fills the count up. HTTP's: asks for another try as long as there is something left of it. */
static const char *fill(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    scene->vars[step->variable] = (struct value){.type = VALUE_INT, .i = TRIES_LEFT};
    *ret_goes_on = true;
    return NULL;
}

static const char *again(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    struct value *left = &scene->vars[step->variable];
    *ret_goes_on = left->i-- == 0;
    return NULL;
}

static const char *again_is_wrong(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    (void)step, (void)scene, (void)ret_goes_on;
    return "the count is no number";
}

static struct fake_run *tries_run(struct fake_scripts *scripts, step_call *call, fake_decide *decide)
{
    fake_scripts_init(scripts);
    names_predefine(scripts->names, "left");
    int left = names_find(scripts->names, "left", 4);
    const struct step steps[] = {
        {.kind = STEP_CALL, .call = fill, .variable = left},
        {.kind = STEP_HTTP, .text = "GET /first"},
        {.kind = STEP_JUMP, .target = 4},
        {.kind = STEP_SLEEP, .words = &(struct step_word){"5", -1}, .word_count = 1, .unit_ns = MS, .sleep_literal = 5},
        {.kind = STEP_HTTP, .text = "GET /state", .call = call, .variable = left, .target = 3},
        {.kind = STEP_HTTP, .text = "GET /last"},
    };
    fake_program(scripts, 1, steps, sizeof steps / sizeof *steps);
    struct load_spec spec = fake_spec(scripts);
    struct fake_run *fake = fake_run_new();
    spec.open_loop = true;
    spec.rate_per_s = 10;
    spec.log_operations = spec.tell_failures = true;
    fake_world.decide = decide;
    fake_run(&spec, fake_new, fake);
    return fake;
}

static int64_t bad_answers; /* before the good one */

static void answer_badly(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer)
{
    (void)vars;
    int64_t *asked = &fake->clients[client - fake->first_client].user;
    if (strcmp(step->text, "GET /first") == 0)
        *asked = 0;
    if (strcmp(step->text, "GET /state") == 0 && (*asked)++ < bad_answers) {
        fail_with(answer, "check:STATUS");
        answer->text = "test.hurl:3:1: status 200 was expected, not 503";
    }
}

/* The script tries one request again: the tries are failed steps and retries, the operation is none the worse. */
static void test_tried_again(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    bad_answers = 2;
    struct fake_run *fake = tries_run(&scripts, again, answer_badly);
    assert_int_equal(fake->run.result.total.completed, 10);
    struct ledger state_step = load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', NULL);
    assert_true(state_step.completed == 10 && state_step.failed == 20);
    assert_int_equal(fake_attempts(&fake->run, 0, 1).retries, 20);
    struct attempts whole = fake_attempts(&fake->run, 0, -1);
    assert_true(whole.retried == 10 && whole.retries == 20);
    assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 0, 's', NULL).completed, 10); /* not from the start */
    assert_int_equal(fake_notices(fake, LOAD_RETRY), 20);
    assert_int_equal(load_run_fault(&fake->run, "check:STATUS")->count, 20);
    for (size_t i = 0; i < fake->operation_count; i++) {
        assert_true(fake->operations[i].end == OPERATION_COMPLETED && fake->operations[i].retries == 2);
        /* five requests of 1 ms, two sleeps of 5 */
        assert_int_equal(fake->operations[i].done_ns - fake->operations[i].due_ns, 15 * MS);
    }
    done_with(fake, &scripts);
}

/* No tries are left: the operation has failed, at that step. */
static void test_tried_in_vain(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    bad_answers = 1000;
    struct fake_run *fake = tries_run(&scripts, again, answer_badly);
    assert_int_equal(fake->run.result.total.failed, 10);
    struct ledger state_step = load_run_sum(&fake->run, PHASE_COUNT, 0, 1, 's', NULL);
    assert_int_equal(state_step.failed, 10 * (TRIES_LEFT + 1));
    assert_int_equal(load_run_sum(&fake->run, PHASE_COUNT, 0, 2, 's', NULL).completed, 0);
    assert_int_equal(fake_attempts(&fake->run, 0, -1).retries, 10 * TRIES_LEFT);
    assert_int_equal(fake_notices(fake, LOAD_FAILURE), 10);
    done_with(fake, &scripts);
}

static void expire_state(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer)
{
    if (strcmp(step->text, "GET /state") == 0)
        answer_never(fake, client, step, vars, answer);
}

/* A request that got no answer in time is not tried again: it would hide how long that was. */
static void test_expired_is_not_tried_again(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct fake_run *fake = tries_run(&scripts, again, expire_state);
    assert_int_equal(fake->run.result.total.expired, 10);
    assert_int_equal(fake_attempts(&fake->run, 0, -1).retries, 0);
    done_with(fake, &scripts);
}

static void test_call_goes_wrong(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    bad_answers = 1;
    struct fake_run *fake = tries_run(&scripts, again_is_wrong, answer_badly);
    assert_int_equal(fake->run.result.total.failed, 10);
    assert_string_equal(load_run_fault(&fake->run, "SCRIPT")->example, "the count is no number");
    assert_int_equal(load_run_fault(&fake->run, "check:STATUS")->count, 10);
    done_with(fake, &scripts);
}

/* As an error, so the end of the time limit: where errors end clients, it does, too. */
static void test_expired_ends_the_client(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = requests_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.on_error = LOAD_END_CLIENT;
    fake_world.decide = answer_never;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.expired, 4);
    assert_int_equal(fake->run.result.clients_ended_early, 4);
    done_with(fake, &scripts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_black_hole),
        cmocka_unit_test(test_black_hole_with_a_queue),
        cmocka_unit_test(test_sent_later),
        cmocka_unit_test(test_second_sent_later),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_expired_unsent),
        cmocka_unit_test(test_tried_again),
        cmocka_unit_test(test_tried_in_vain),
        cmocka_unit_test(test_expired_is_not_tried_again),
        cmocka_unit_test(test_call_goes_wrong),
        cmocka_unit_test(test_expired_ends_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
