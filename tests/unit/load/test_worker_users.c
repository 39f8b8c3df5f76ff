/* Clients that think, users that come and go, and tenants. */
#include "fake_run.h"

#include <math.h>

#include "script/feed.h"
#include "stats/interval.h"

static const struct step one_request[] = {{.kind = STEP_HTTP, .text = "GET /"}};

static struct load_spec request_spec(struct fake_scripts *scripts)
{
    fake_scripts_init(scripts);
    fake_program(scripts, 1, one_request, 1);
    struct load_spec spec = fake_spec(scripts);
    spec.log_operations = true;
    return spec;
}

static int by_client_and_number(const void *a, const void *b)
{
    const struct operation *one = a, *two = b;
    return one->client != two->client ? (one->client > two->client) - (one->client < two->client)
                                      : (one->number > two->number) - (one->number < two->number);
}

static void sort_operations(struct fake_run *fake)
{
    qsort(fake->operations, fake->operation_count, sizeof *fake->operations, by_client_and_number);
}

static void done_with(struct fake_run *fake, struct fake_scripts *scripts)
{
    fake_run_release(fake);
    pl_arena_free(scripts->arena);
}

/* ---- think time ---- */

/* Each answer takes 1 ms: with 9 of thinking a client's operations are due every 10 ms, and nothing is late. */
static void test_think_time(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 3; workers++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.workers = workers;
        spec.think_ns = 9 * MS;
        fake_run(&spec, fake_new, fake);
        assert_int_equal(fake->run.result.total.due, 4 * 100);
        assert_int_equal(fake->run.result.total.completed, 4 * 100);
        sort_operations(fake);
        for (size_t i = 0; i < fake->operation_count; i++) {
            const struct operation *operation = &fake->operations[i];
            assert_int_equal(operation->due_ns, START_NS + (operation->number - 1) * 10 * MS);
            assert_true(operation->sent_ns == operation->due_ns && operation->done_ns == operation->due_ns + MS);
        }
        assert_true(isnan(fake->run.self.gap_cv) && isnan(fake->run.self.gap_cv_asked));
        done_with(fake, &scripts);
    }
}

/* What a client does does not depend on the number of workers, nor does how long it thinks. */
static void test_exponential_think_time(void **state)
{
    (void)state;
    int64_t due_ns[2][64] = {{0}};
    for (int variant = 0; variant < 2; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.clients = 64;
        spec.workers = variant == 0 ? 1 : 5;
        spec.think_ns = 19 * MS;
        spec.think_exponential = true;
        spec.measure_ns = 100 * SEC;
        spec.slice_ns = 50 * SEC;
        fake_run(&spec, fake_new, fake);
        /* a cycle takes 20 ms in the mean, with a deviation of 19 */
        double cycles = 64 * 100 / 0.020;
        assert_close((double)fake->run.result.total.due, cycles, 4 * 0.95 / sqrt(cycles), 0);
        sort_operations(fake);
        struct hist think;
        hist_init_latency(&think);
        for (size_t i = 1; i < fake->operation_count; i++) {
            const struct operation *before = &fake->operations[i - 1], *operation = &fake->operations[i];
            if (before->client == operation->client)
                hist_record(&think, operation->due_ns - before->done_ns);
            if (operation->number == 1000)
                due_ns[variant][operation->client] = operation->due_ns;
        }
        assert_close(hist_mean(&think), 19e6, 0.01, 0);
        assert_close(hist_stddev(&think), 19e6, 0.02, 0);
        assert_close((double)hist_quantile(&think, 0.5), 19e6 * log(2), 0.02, 0);
        hist_release(&think);
        done_with(fake, &scripts);
    }
    assert_memory_equal(due_ns[0], due_ns[1], sizeof due_ns[0]);
    assert_true(due_ns[0][63] != 0 && due_ns[0][62] != due_ns[0][63]);
}

/* By number: nobody thinks after the last operation, and the load ends with it. */
static void test_think_time_by_number(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.measure_ns = 0;
        spec.think_ns = 9 * MS;
        if (variant == 0)
            spec.operations_per_client = 5;
        else
            spec.operations = 18;
        fake_run(&spec, fake_new, fake);
        assert_int_equal(fake->run.result.total.completed, variant == 0 ? 20 : 18);
        assert_int_equal(fake->run.result.window_ns, 41 * MS);
        done_with(fake, &scripts);
    }
}

/* A client whose connection is gone while it thinks has ended. */
static void test_lost_while_thinking(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.think_ns = 9 * MS;
    fake_world.lost_client = 2;
    fake_world.lost_at_ns = START_NS + 505 * MS;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.due, 3 * 100 + 51);
    assert_int_equal(fake->run.result.clients_lost, 1);
    done_with(fake, &scripts);
}

/* What became due in the window and could not be started before its end is started late, or never. The clock jumps over
 * the end: each submit takes 7 ms, so that what the others are due for waits. */
static void test_think_time_at_the_end(void **state)
{
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.at_end = stop ? LOAD_STOP_AT_END : LOAD_START_LATE;
        spec.clients = 20;
        spec.think_ns = 50 * MS;
        spec.think_exponential = true;
        fake_world.submit_ns = 7 * MS;
        fake_run(&spec, fake_new, fake);
        const struct ledger *total = &fake->run.result.total;
        assert_int_equal(total->completed + total->unfinished, total->due);
        assert_int_equal(total->unfinished, total->never_started);
        assert_true(stop ? total->never_started > 0 : total->never_started == 0);
        assert_true(fake->run.self.lateness.max >= 6 * MS); /* and all of that is the load's own fault */
        done_with(fake, &scripts);
    }
}

/* Each look at the clock takes 1 ms. */
static int64_t now_ticks(struct driver *driver)
{
    return fake_of(driver)->now_ns += MS;
}

/* Of a script that waits for nothing: who gets ready while others are started has its turn next, not when something
 * happens. */
static void test_ready_while_others_start(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\set x 1\n");
    struct load_spec spec = fake_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    struct driver_ops ticks = fake_ops;
    ticks.now = now_ticks;
    fake_world.ops = &ticks;
    spec.clients = 20;
    spec.think_ns = 1000 * MS;
    spec.think_exponential = true;
    spec.measure_ns = 60 * SEC;
    fake_run(&spec, fake_new, fake);
    assert_true(fake->run.self.starts > 60 * 20 / 2);
    assert_true(fake->run.self.lateness.max < 50 * MS);
    done_with(fake, &scripts);
}

/* The second answer to client 1 takes 500 ms. */
static void slow_second(struct fake *fake, int client, const struct step *step, const struct value *vars,
                        struct fake_answer *answer)
{
    (void)step, (void)vars;
    if (client == 1 && fake->clients[client].submits == 2)
        answer->delay_ns = 500 * MS;
}

/* What the end of the window keeps from starting stays unfinished when its client's connection goes, and the others' is
 * awaited. All begin at 0; the clock is at 300 ms then. At 950 ms the first two begin again, which takes until 1150: the
 * third is ready too late. */
static void test_lost_while_held(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.at_end = LOAD_STOP_AT_END;
        spec.clients = 3;
        spec.think_ns = 650 * MS;
        fake_world.submit_ns = 100 * MS;
        fake_world.decide = slow_second;
        fake_world.lost_client = 2;
        fake_world.lost_at_ns = lost ? START_NS + 1300 * MS : 0;
        fake_run(&spec, fake_new, fake);
        const struct ledger *total = &fake->run.result.total;
        assert_true(total->due == 6 && total->completed == 5 && total->unfinished == 1 && total->never_started == 1);
        assert_int_equal(fake->run.result.drain_end_ns, START_NS + 1650 * MS);
        assert_int_equal(fake->run.result.clients_ended_early, 0);
        done_with(fake, &scripts);
    }
}

/* ---- sessions ---- */

/* A user comes every 100 ms and does three things, each 1 ms long and 49 ms of thinking apart. */
static void test_sessions_of_fixed_length(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.open_loop = true;
    spec.rate_per_s = 10;
    spec.session_operations = 3;
    spec.think_ns = 49 * MS;
    spec.measure_ns = 10 * SEC;
    fake_run(&spec, fake_new, fake);
    int64_t expected = 0;
    for (int user = 0; user < 100; user++)
        for (int n = 0; n < 3; n++)
            expected += user * 100 + n * 50 < 10000;
    assert_int_equal(expected, 299);
    assert_int_equal(fake->run.result.total.due, expected);
    assert_int_equal(fake->run.result.total.completed, expected);
    assert_int_equal(fake_calls('f'), 100);
    struct hist response, lateness;
    hist_init_latency(&response);
    hist_init_latency(&lateness);
    load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 'r', &response);
    load_run_sum(&fake->run, PHASE_COUNT, 0, -1, 'l', &lateness);
    assert_true(response.min == MS && response.max == MS && lateness.max == 0);
    hist_release(&response);
    hist_release(&lateness);
    /* arrivals alone are the schedule */
    assert_close(fake->run.self.gap_cv, 0, 0, 1e-9);
    assert_close(fake->run.self.gap_cv_asked, 0, 0, 1e-9);
    for (size_t i = 0; i < fake->operation_count; i++)
        assert_int_equal((fake->operations[i].due_ns - START_NS) % (50 * MS), 0);
    done_with(fake, &scripts);
}

/* One client: while it is one user's, the others wait, and what they waited is in their first response only. */
static void test_sessions_that_wait(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 1;
    spec.open_loop = true;
    spec.rate_per_s = 10;
    spec.session_operations = 3;
    spec.think_ns = 99 * MS; /* a session takes 201 ms */
    fake_run(&spec, fake_new, fake);
    sort_operations(fake);
    size_t at = 0;
    for (int64_t user = 0; user < 5; user++) {
        int64_t begin_ns = START_NS + user * 201 * MS;
        for (int n = 0; n < 3; n++) {
            const struct operation *operation = &fake->operations[at];
            int64_t sent_ns = begin_ns + n * 100 * MS;
            if (sent_ns >= START_NS + SEC)
                break;
            at++;
            assert_int_equal(operation->sent_ns, sent_ns);
            assert_int_equal(operation->due_ns, n == 0 ? START_NS + user * 100 * MS : sent_ns);
        }
    }
    assert_true(at >= 13);
    /* nobody was free for them; who thinks when the window ends goes, and makes room */
    assert_int_equal(fake->run.self.lateness.max, 0);
    assert_int_equal(fake->operations[at].sent_ns, START_NS + SEC);
    assert_int_equal(fake->run.result.total.due, fake->run.result.total.completed);
    done_with(fake, &scripts);
}

/* The mean length is what was asked for, its law is geometric, and a user's length does not depend on the workers. */
static void test_sessions_of_geometric_length(void **state)
{
    (void)state;
    int64_t due[2] = {0};
    for (int variant = 0; variant < 2; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        spec.clients = 1000;
        spec.workers = variant == 0 ? 1 : 4;
        spec.open_loop = true;
        spec.rate_per_s = 100;
        spec.session_operations = 4;
        spec.session_geometric = true;
        spec.measure_ns = 100 * SEC;
        fake_run(&spec, fake_new, fake);
        int64_t users = fake_calls('f');
        assert_int_equal(users, 10000);
        due[variant] = fake->run.result.total.due;
        /* variance (1 - p) / p^2 with p = 1/4 */
        assert_close((double)due[variant] / (double)users, 4, 0, 4 * sqrt(12.0 / (double)users));
        done_with(fake, &scripts);
    }
    assert_in_range(due[0], due[1] - 5, due[1] + 5); /* those that run when the window ends are cut short */
}

/* By number of operations, whoever's they are; and users whose operations fail stay, too. */
static void fail_some(struct fake *fake, int client, const struct step *step, const struct value *vars,
                      struct fake_answer *answer)
{
    (void)step, (void)vars;
    if (++fake->clients[client - fake->first_client].user % 3 == 0)
        fail_with(answer, "check:STATUS");
}

static void test_sessions_by_number(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.clients = 10;
    spec.open_loop = true;
    spec.rate_per_s = 100;
    spec.session_operations = 7;
    spec.measure_ns = 0;
    spec.operations_per_client = 30;
    fake_world.decide = fail_some;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.total.due, 300);
    assert_int_equal(fake->run.result.total.completed + fake->run.result.total.failed, 300);
    assert_in_range(fake->run.result.total.failed, 80, 100);
    assert_in_range(fake_calls('f'), 300 / 7 - 10, 300 / 7 + 1);
    done_with(fake, &scripts);
}

/* ---- tenants ---- */

enum { TENANTS = 1000, GROUPS = 3 };

/* Weights 1 to 10 in turn, groups of very different sizes. */
static struct feed *tenants_of(struct fake_scripts *scripts)
{
    struct pl_buf text;
    struct pl_err err = {0};
    struct feed *feed = NULL;
    pl_buf_init(&text, 1 << 20);
    pl_buf_printf(&text, "tenant,weight,group\n");
    for (int t = 0; t < TENANTS; t++)
        pl_buf_printf(&text, "t%d,%d,%s\n", t, t % 10 + 1, t < 10 ? "gold" : t < 300 ? "silver" : "free");
    if (feed_parse("tenants.csv", text.data, text.len, FEED_RANDOM, scripts->names, scripts->arena, &feed, &err) != PL_OK)
        fail_msg("%s", err.what);
    pl_buf_release(&text);
    assert_int_equal(feed->group_count, GROUPS);
    return feed;
}

static int64_t group_due(const struct load_run *run, int script, int group)
{
    int64_t due = 0;
    for (size_t i = 0; i < run->memory.slice_count; i++) {
        const struct slice *slice = &run->memory.slices[i];
        if (slice->script == script && slice->group == group && slice->step < 0)
            due += slice->ledger.due;
    }
    return due;
}

/* A thousand tenants are served by their weights, groups and scripts by theirs; open loop, closed loop, sessions. */
static void test_tenants_by_weight(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        fake_program(&scripts, 3, one_request, 1);
        struct feed *tenants = tenants_of(&scripts);
        spec.script_count = 2;
        spec.tenants = tenants;
        spec.clients = 200;
        spec.workers = 2;
        spec.log_operations = false;
        spec.measure_ns = variant == 1 ? SEC : 20 * SEC;
        spec.slice_ns = 20 * SEC;
        spec.open_loop = variant != 1;
        spec.rate_per_s = variant == 2 ? 2500 : 10000;
        spec.session_operations = variant == 2 ? 4 : 0;
        fake_run(&spec, fake_new, fake);
        const struct ledger *total = &fake->run.result.total;
        assert_close((double)total->due, 200000, 0.01, 0);
        static double expected[TENANTS];
        static int64_t observed[TENANTS];
        double groups[GROUPS] = {0};
        int users_of = variant == 2 ? 4 : 1; /* operations of one draw: a user is of one tenant */
        for (size_t t = 0; t < TENANTS; t++) {
            double share = (double)(t % 10 + 1) / (5.5 * TENANTS);
            expected[t] = share * (double)total->completed / users_of;
            observed[t] = (fake->run.tenants[t].completed + users_of / 2) / users_of;
            groups[tenants->group_of[t]] += share;
        }
        assert_true(chi_square_p(observed, expected, TENANTS) > 0.001);
        int64_t lanes[2 * GROUPS];
        double lanes_expected[2 * GROUPS];
        for (int l = 0; l < 2 * GROUPS; l++) {
            lanes[l] = group_due(&fake->run, l / GROUPS, l % GROUPS) / users_of;
            lanes_expected[l] = groups[l % GROUPS] * (l < GROUPS ? 0.25 : 0.75) * (double)total->due / users_of;
        }
        assert_true(chi_square_p(lanes, lanes_expected, 2 * GROUPS) > 0.001);
        done_with(fake, &scripts);
    }
}

/* The client's variables and the driver see the same tenant, one of the operation's group; what became of it is counted as
 * the tenant's; and which it is does not depend on the number of workers. */
static int tenant_variable;
static int64_t seen[TENANTS];

static void look_at_tenant(struct fake *fake, int client, const struct step *step, const struct value *vars,
                           struct fake_answer *answer)
{
    (void)step;
    uint32_t row = fake->setup.tenant_of[client - fake->first_client];
    char name[16];
    snprintf(name, sizeof name, "t%u", (unsigned)row);
    assert_int_equal(vars[tenant_variable].type, VALUE_TEXT);
    assert_string_equal(vars[tenant_variable].text, name);
    __atomic_fetch_add(&seen[row], 1, __ATOMIC_RELAXED);
    if (row % 7 == 3)
        fail_with(answer, "check:STATUS");
    if (row % 7 == 4)
        *answer = (struct fake_answer){.delay_ns = MS, .outcome = DRIVER_EXPIRED, .code = "head:EXPIRED", .text = "late"};
}

static void test_tenant_of_an_operation(void **state)
{
    (void)state;
    struct load_tenant_count counts[4][TENANTS];
    for (int variant = 0; variant < 4; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        struct feed *tenants = tenants_of(&scripts);
        tenant_variable = names_find(scripts.names, "tenant", 6);
        memset(seen, 0, sizeof seen);
        spec.tenants = tenants;
        spec.clients = 12;
        spec.workers = variant % 2 == 0 ? 1 : 4;
        spec.open_loop = variant >= 2;
        spec.rate_per_s = 1000;
        spec.operations_per_client = 100;
        spec.measure_ns = 0;
        fake_world.decide = look_at_tenant;
        fake_run(&spec, fake_new, fake);
        int64_t completed = 0, failed = 0;
        for (size_t t = 0; t < TENANTS; t++) {
            const struct load_tenant_count *count = &fake->run.tenants[t];
            assert_int_equal(count->completed + count->failed, seen[t]);
            assert_int_equal(count->failed, t % 7 == 3 || t % 7 == 4 ? seen[t] : 0);
            completed += count->completed;
            failed += count->failed;
            counts[variant][t] = *count;
        }
        assert_int_equal(completed, fake->run.result.measured.completed);
        assert_int_equal(failed, fake->run.result.measured.failed + fake->run.result.measured.expired);
        assert_int_equal(completed + failed, 1200);
        done_with(fake, &scripts);
    }
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    assert_memory_equal(counts[2], counts[3], sizeof counts[2]);
}

/* All operations of a user are of one tenant: by count nothing is cut off, so each tenant has whole users. */
static void test_user_keeps_his_tenant(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.tenants = tenants_of(&scripts);
    spec.clients = 40;
    spec.workers = 2;
    spec.open_loop = true;
    spec.rate_per_s = 100;
    spec.session_operations = 5;
    spec.operations_per_client = 50;
    spec.measure_ns = 0;
    fake_run(&spec, fake_new, fake);
    assert_int_equal(fake->run.result.measured.completed, 2000);
    int64_t tenants = 0;
    for (size_t t = 0; t < TENANTS; t++) {
        assert_int_equal(fake->run.tenants[t].completed % 5, 0);
        tenants += fake->run.tenants[t].completed > 0;
    }
    assert_in_range(tenants, 100, 400);
    done_with(fake, &scripts);
}

/* Those due in the warm-up are not counted. */
static void test_tenants_in_the_warm_up(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    spec.tenants = tenants_of(&scripts);
    spec.warm_up_ns = SEC;
    fake_run(&spec, fake_new, fake);
    int64_t completed = 0;
    for (size_t t = 0; t < TENANTS; t++)
        completed += fake->run.tenants[t].completed;
    assert_int_equal(completed, fake->run.result.measured.completed);
    assert_true(fake->run.result.warm_up.completed > 3000);
    assert_int_equal(fake_world.fakes[0]->measures, 1);
    assert_int_equal(fake_world.fakes[0]->measure_ns, START_NS + SEC);
    done_with(fake, &scripts);
}

/* Loads without tenants draw what they always drew. */
static void test_tenants_leave_the_scripts_alone(void **state)
{
    (void)state;
    int64_t by_script[2][3];
    for (int variant = 0; variant < 2; variant++) {
        struct fake_scripts scripts;
        struct load_spec spec = request_spec(&scripts);
        struct fake_run *fake = fake_run_new();
        fake_program(&scripts, 2, one_request, 1);
        fake_program(&scripts, 5, one_request, 1);
        spec.script_count = 3;
        spec.tenants = variant == 1 ? tenants_of(&scripts) : NULL;
        fake_run(&spec, fake_new, fake);
        for (int s = 0; s < 3; s++)
            by_script[variant][s] = load_run_sum(&fake->run, PHASE_COUNT, s, -1, 's', NULL).due;
        done_with(fake, &scripts);
    }
    assert_memory_equal(by_script[0], by_script[1], sizeof by_script[0]);
}

/* ---- what the driver counts ---- */

/* Every worker's driver is told when the window begins, once, and is asked at the end what it has counted. */
static void test_measure_and_gather(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    struct load_spec spec = request_spec(&scripts);
    struct fake_run *fake = fake_run_new();
    struct pl_err err = {0};
    struct load_result result;
    struct load *load;
    spec.driver = LOAD_HTTP;
    spec.log_operations = false;
    spec.workers = 3;
    spec.warm_up_ns = 500 * MS;
    memory_sink_init(&fake->run.memory);
    struct sink sink = memory_sink(&fake->run.memory);
    assert_int_equal(load_new_with(&spec, fake_new, &load, &err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &err), PL_OK);
    load_start(load, START_NS);
    do
        assert_int_equal(load_poll(load, 7, &sink, &fake->run.glance, &err), PL_OK);
    while (!fake->run.glance.ended);
    assert_int_equal(load_finish(load, 7, &sink, &result, &err), PL_OK);
    assert_int_equal(result.http->redirects, 3);
    assert_int_equal(result.http->measured.requests, 3);
    assert_int_equal(result.http->warm_up.requests, 0);
    for (int w = 0; w < 3; w++) {
        assert_int_equal(fake_world.fakes[w]->measures, 1);
        assert_int_equal(fake_world.fakes[w]->measure_ns, START_NS + 500 * MS);
    }
    load_free(load);
    done_with(fake, &scripts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_think_time),
        cmocka_unit_test(test_exponential_think_time),
        cmocka_unit_test(test_think_time_by_number),
        cmocka_unit_test(test_lost_while_thinking),
        cmocka_unit_test(test_think_time_at_the_end),
        cmocka_unit_test(test_ready_while_others_start),
        cmocka_unit_test(test_lost_while_held),
        cmocka_unit_test(test_sessions_of_fixed_length),
        cmocka_unit_test(test_sessions_that_wait),
        cmocka_unit_test(test_sessions_of_geometric_length),
        cmocka_unit_test(test_sessions_by_number),
        cmocka_unit_test(test_tenants_by_weight),
        cmocka_unit_test(test_tenant_of_an_operation),
        cmocka_unit_test(test_tenants_in_the_warm_up),
        cmocka_unit_test(test_user_keeps_his_tenant),
        cmocka_unit_test(test_tenants_leave_the_scripts_alone),
        cmocka_unit_test(test_measure_and_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
