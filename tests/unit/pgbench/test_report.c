/* Reports of made-up runs compared byte for byte with tests/golden/pgbench. After an intended change:
 * PLIMSOLL_UPDATE_GOLDEN=1 and read the difference. */
#include "totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "pgbench/output_int.h"

struct made {
    struct pgbench_script scripts[2];
    struct pgbench_options options;
    struct pgbench_total total;
    struct hist connect;
};

static struct made *made_new(void)
{
    struct made *made = pl_new(1, sizeof *made);
    made->options = totals_options(made->scripts);
    hist_init_latency(&made->connect);
    return made;
}

/* Takes the options as they are by now. */
static void made_begin(struct made *made)
{
    pgbench_total_init(&made->total, &made->options);
}

static void made_add(struct made *made, struct totals_slice slice)
{
    totals_add(&made->total, &slice);
}

static char *report_text(const struct pgbench_total *total)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    pgbench_report(out, total);
    fclose(out);
    return text;
}

static void made_compare(struct made *made, const char *name)
{
    char path[200], *text = report_text(&made->total), *golden = NULL;
    snprintf(path, sizeof path, "tests/golden/pgbench/%s.txt", name);
    struct pl_err err = {0};
    struct pl_arena *arena = pl_arena_new();
    size_t length = 0;
    const char *update = getenv("PLIMSOLL_UPDATE_GOLDEN");
    if (update != NULL && strcmp(update, "1") == 0)
        assert_int_equal(pl_file_write(path, text, strlen(text), &err), PL_OK);
    if (pl_file_read(path, 1 << 20, arena, &golden, &length, &err) != PL_OK)
        fail_msg("%s: %s", path, err.what);
    if (strcmp(text, golden) != 0)
        fail_msg("%s is now\n%s\nif that is meant, run with PLIMSOLL_UPDATE_GOLDEN=1", path, text);
    pl_arena_free(arena);
    free(text);
    pgbench_total_release(&made->total);
    hist_release(&made->connect);
    pl_free(made);
}

static struct ledger completed(int64_t count)
{
    return (struct ledger){.due = count, .completed = count};
}

static void test_plain(void **state)
{
    (void)state;
    struct made *made = made_new();
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1, .during = PHASE_MEASURE, .ledger = completed(40), .service_us = 500, .spread_us = 50});
    totals_clock(&made->total, 8, 40);
    made_compare(made, "plain");
}

static void test_one_transaction(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.clients = made->options.threads = made->options.transactions = 1;
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1, .during = PHASE_MEASURE, .ledger = completed(1), .service_us = 1234});
    totals_clock(&made->total, 2, 1);
    made->total.result.workers = 1;
    made_compare(made, "one");
}

static void test_commands(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.report_per_command = true;
    made->options.protocol = PLAN_PREPARED;
    made->options.transactions = 0;
    made->options.duration_s = 2;
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1, .during = PHASE_MEASURE, .ledger = completed(400), .service_us = 500, .spread_us = 50});
    made_add(made, (struct totals_slice){.step = -1, .during = PHASE_DRAIN, .ledger = completed(4), .service_us = 700});
    made_add(made, (struct totals_slice){.step = 0, .during = PHASE_MEASURE, .ledger = completed(404), .service_us = 2});
    made_add(made, (struct totals_slice){.step = 1, .during = PHASE_MEASURE, .ledger = completed(404), .service_us = 480});
    totals_clock(&made->total, 2000, 400);
    made->total.data = (struct dataset_found){.scale = 3, .partitioning = DATASET_HASH, .partitions = 7};
    made_compare(made, "commands");
}

/* Rate and limit: what was skipped and what was never started stands beside the latency. */
static void test_overload(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.transactions = 0;
    made->options.duration_s = 3;
    made->options.rate_per_s = 1000;
    made->options.latency_limit_ns = 10 * PL_NS_PER_MS;
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1,
                       .during = PHASE_MEASURE,
                       .ledger = {.due = 3000, .completed = 1500, .skipped = 1400, .unfinished = 100, .never_started = 100},
                       .attempts = {.above_limit = 300},
                       .service_us = 900,
                       .spread_us = 10,
                       .lateness_us = 9000});
    totals_clock(&made->total, 3000, 1490);
    made_compare(made, "overload");
}

static void test_retries(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.max_tries = 0;
    made->options.latency_limit_ns = 50 * PL_NS_PER_MS;
    made->options.failures_detailed = made->options.report_per_command = true;
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1,
                       .during = PHASE_MEASURE,
                       .ledger = {.due = 40, .completed = 30, .failed = 10},
                       .attempts = {.retried = 20, .retries = 55, .serialization = 6, .deadlock = 3, .above_limit = 2},
                       .service_us = 2000,
                       .spread_us = 700});
    made_add(made, (struct totals_slice){.step = 1,
                                         .during = PHASE_MEASURE,
                                         .ledger = {.completed = 30, .failed = 10},
                                         .attempts = {.retries = 55},
                                         .service_us = 1900});
    totals_clock(&made->total, 100, 30);
    made_compare(made, "retries");
}

/* Several scripts, one of them with weight 0. */
static void test_scripts(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.script_count = 2;
    made->options.report_per_command = true;
    made->options.max_tries = 3;
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1, .during = PHASE_MEASURE, .ledger = completed(29), .service_us = 300, .spread_us = 10});
    made_add(made, (struct totals_slice){.step = 1, .during = PHASE_MEASURE, .ledger = completed(29), .service_us = 290});
    made_add(made, (struct totals_slice){.script = 1,
                                         .step = -1,
                                         .during = PHASE_MEASURE,
                                         .ledger = {.due = 11, .completed = 10, .failed = 1},
                                         .attempts = {.retried = 2, .retries = 4, .serialization = 1},
                                         .service_us = 1000});
    for (int step = 0; step < 3; step++)
        made_add(made, (struct totals_slice){
                           .script = 1, .step = step, .during = PHASE_MEASURE, .ledger = completed(10), .service_us = 330});
    totals_clock(&made->total, 50, 39);
    made_compare(made, "scripts");
}

static void test_script_of_weight_zero(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.script_count = 2;
    made->scripts[1].weight = 0;
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1, .during = PHASE_MEASURE, .ledger = completed(40), .service_us = 300});
    totals_clock(&made->total, 50, 40);
    made_compare(made, "weight-zero");
}

static void test_connect(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.connect = true;
    made_begin(made);
    made_add(made, (struct totals_slice){
                       .step = -1, .during = PHASE_MEASURE, .ledger = completed(40), .service_us = 5000, .spread_us = 20});
    totals_clock(&made->total, 60, 40);
    for (int i = 0; i < 40; i++)
        hist_record(&made->connect, (3000 + i) * PL_NS_PER_US);
    made->total.result.connect = &made->connect;
    made_compare(made, "connect");
}

/* Three of four clients died: the report says what its figures cover. */
static void test_ended_early(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.transactions = 0;
    made->options.duration_s = 10;
    made->options.log = true;
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1,
                                         .during = PHASE_MEASURE,
                                         .ledger = {.due = 1003, .completed = 1000, .failed = 3},
                                         .service_us = 8000,
                                         .spread_us = 200});
    totals_clock(&made->total, 10000, 1000);
    made->total.result.clients_ended_early = made->total.result.clients_lost = 3;
    for (int client = 0; client < 3; client++)
        pgbench_total_client_ended(&made->total, PL_NS_PER_S + (2 + client) * PL_NS_PER_S);
    made->total.result.log_wait_ns = 1500 * PL_NS_PER_MS;
    made->total.result.notices_missed = 17;
    made->total.result.longest_gap_ns = 700 * PL_NS_PER_MS;
    made_compare(made, "ended-early");
}

static void test_nothing(void **state)
{
    (void)state;
    struct made *made = made_new();
    made_begin(made);
    totals_clock(&made->total, 0, 0);
    made->total.result.measure_start_ns = made->total.result.measure_end_ns = made->total.result.cpu_ns = 0;
    made_compare(made, "nothing");
}

static void test_all_failed(void **state)
{
    (void)state;
    struct made *made = made_new();
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1,
                                         .during = PHASE_MEASURE,
                                         .ledger = {.due = 40, .failed = 40},
                                         .attempts = {.serialization = 40}});
    totals_clock(&made->total, 30, 0);
    made_compare(made, "all-failed");
}

static void test_interrupted(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.transactions = INT64_C(2147483647);
    made->options.clients = 2; /* planned beyond 32 bits */
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1, .during = PHASE_MEASURE, .ledger = completed(100), .service_us = 400});
    totals_clock(&made->total, 20, 100);
    made->total.was_interrupted = true;
    made->total.result.window_cpu_ns = 39 * PL_NS_PER_MS;
    made_compare(made, "interrupted");
}

/* Which scripts are told to have been repeated behind a commit. */
static void test_repeated_commits(void **state)
{
    (void)state;
    static const struct {
        const char *commands[6]; /* of a pipeline: P, Y, E */
        bool is_told;
    } cases[] = {
        {{"SELECT 1;"}, false},
        {{"BEGIN;", "UPDATE a;", "END;"}, false},
        {{"  begin isolation level serializable;", "UPDATE a;", "COMMIT;"}, false},
        {{"BEGIN;", "UPDATE a;", "COMMIT;", "SELECT 1;"}, true},
        {{"INSERT a;", "BEGIN;", "UPDATE a;", "END;"}, true},
        {{"INSERT a;", "INSERT b;"}, true},
        {{"START TRANSACTION;", "INSERT b;", "rollback;", "INSERT b;"}, true},
        {{"ENDLESS;"}, false},
        {{"P", "INSERT a;", "INSERT b;", "E"}, false},
        {{"P", "INSERT a;", "Y", "INSERT b;", "E"}, true},
        {{"P", "INSERT a;", "E", "INSERT b;"}, true},
        {{"P", "BEGIN;", "INSERT a;", "Y", "END;", "E"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct step steps[6] = {{0}};
        size_t count = 0;
        for (; count < 6 && cases[i].commands[count] != NULL; count++) {
            const char *text = cases[i].commands[count];
            bool is_meta = strlen(text) == 1;
            steps[count].kind = !is_meta         ? STEP_SQL
                                : text[0] == 'P' ? STEP_START_PIPELINE
                                : text[0] == 'Y' ? STEP_SYNC_PIPELINE
                                                 : STEP_END_PIPELINE;
            steps[count].text = text;
        }
        struct program program = {.name = "s", .steps = steps, .step_count = count, .command_count = count};
        struct made *made = made_new();
        made->scripts[0] = (struct pgbench_script){.title = "s", .path = "s", .weight = 1, .program = &program};
        made_begin(made);
        made_add(made, (struct totals_slice){.step = -1,
                                             .during = PHASE_MEASURE,
                                             .ledger = completed(4),
                                             .attempts = {.retried = 2, .retries = 38},
                                             .service_us = 100});
        totals_clock(&made->total, 10, 4);
        char *text = report_text(&made->total);
        bool is_told = strstr(text, "retries: 38 tries began a script again that commits before its last command") != NULL;
        if (is_told != cases[i].is_told)
            fail_msg("case %zu: %s", i, text);
        free(text);
        pgbench_total_release(&made->total);
        hist_release(&made->connect);
        pl_free(made);
    }
}

/* More clients than rows that every transaction updates: the locks are what is measured. */
static void test_contention(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->scripts[0].builtin = "tpcb-like";
    made_begin(made);
    made_add(made, (struct totals_slice){.step = -1, .during = PHASE_MEASURE, .ledger = completed(4), .service_us = 100});
    totals_clock(&made->total, 10, 4);
    const char *wanted = "contention: 4 clients update 3 rows of pgbench_branches: they wait for one another's locks\n";
    for (int scale = 3; scale <= 4; scale++) {
        made->total.data.scale = scale;
        char *text = report_text(&made->total);
        assert_true((strstr(text, wanted) != NULL) == (scale == 3));
        assert_true((strstr(text, "contention:") != NULL) == (scale == 3));
        free(text);
    }
    pgbench_total_release(&made->total);
    hist_release(&made->connect);
    pl_free(made);
}

/* What is printed below pgbench's lines. */
static void assert_told(const struct pgbench_total *total, const char *line, bool is_told)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    pgbench_report_own(out, total);
    fclose(out);
    if ((strstr(text, line) != NULL) != is_told)
        fail_msg("\"%s\" should%s be in\n%s", line, is_told ? "" : " not", text);
    free(text);
}

/* A rate that was not offered is told beside the asked one, from 2 % on. */
static void test_offered_rate(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.duration_s = 2;
    made->options.rate_per_s = 500;
    made_begin(made);
    totals_clock(&made->total, 2000, 0);
    made->total.whole.ledger.due = 1020;
    assert_told(&made->total, "\nrate:", false);
    made->total.whole.ledger.due = 1021;
    assert_told(&made->total, "\nrate: 500.0/s were asked for, 510.5/s were offered (1021 due in 2.000 s)\n", true);
    made->total.whole.ledger.due = 979;
    assert_told(&made->total, "\nrate: 500.0/s were asked for, 489.5/s were offered (979 due in 2.000 s)\n", true);
    made->options.rate_per_s = 0;
    assert_told(&made->total, "\nrate:", false);
    pgbench_total_release(&made->total);
    hist_release(&made->connect);
    pl_free(made);
}

static void test_interrupted_after_the_window(void **state)
{
    (void)state;
    struct made *made = made_new();
    made->options.duration_s = 2;
    made_begin(made);
    totals_clock(&made->total, 2000, 0);
    made->total.was_interrupted = true;
    made->total.whole.ledger = (struct ledger){.due = 9, .completed = 2, .unfinished = 7, .never_started = 4};
    assert_told(&made->total, "window, which is complete: transactions under way that were cut off: 3\n", true);
    assert_told(&made->total, "the figures cover that time", false);
    made->options.duration_s = 3;
    assert_told(&made->total, "the run was interrupted after 2.000 s: the figures cover that time\n", true);
    pgbench_total_release(&made->total);
    hist_release(&made->connect);
    pl_free(made);
}

/* Half a sentence for every way to complete nothing. */
static void test_why_nothing(void **state)
{
    (void)state;
    static const struct {
        struct ledger ledger;
        int64_t ended_early;
        bool was_interrupted;
        const char *why;
    } cases[] = {
        {{.due = 4, .failed = 4}, 4, false, "all clients ended early"},
        {{.due = 4, .unfinished = 4}, 0, true, "the run was interrupted before"},
        {{0}, 0, false, "none became due"},
        {{.due = 4, .failed = 4}, 0, false, "all that were due failed (4)"},
        {{.due = 4, .skipped = 4},
         0,
         false,
         "all that were due were later than the latency limit before they could start (4)"},
        {{.due = 9, .failed = 2, .skipped = 3, .unfinished = 4},
         0,
         false,
         "of 9 that were due, 2 failed, 3 were skipped and 4 did not end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pgbench_script scripts[2];
        struct pgbench_options options = totals_options(scripts);
        struct pgbench_total total = {.options = &options, .was_interrupted = cases[i].was_interrupted};
        total.whole.ledger = cases[i].ledger;
        total.result.clients_ended_early = cases[i].ended_early;
        char why[200];
        assert_string_equal(pgbench_why_nothing(&total, why, sizeof why), cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_one_transaction),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_overload),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_script_of_weight_zero),
        cmocka_unit_test(test_ended_early),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_all_failed),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_why_nothing),
        cmocka_unit_test(test_repeated_commits),
        cmocka_unit_test(test_contention),
        cmocka_unit_test(test_offered_rate),
        cmocka_unit_test(test_interrupted_after_the_window),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
