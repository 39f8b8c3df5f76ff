/* Reports of made-up runs compared byte for byte with tests/golden/httpload. After an intended change:
 * PLIMSOLL_UPDATE_GOLDEN=1 and read the difference. */
#include "made.h"

#include <stdlib.h>

#include "base/file.h"

static void compare(struct made *made, const char *name, const struct httpload_find *find)
{
    char path[200], *text = NULL, *golden = NULL;
    size_t length = 0, golden_length = 0;
    struct pl_err err = {0};
    FILE *out = open_memstream(&text, &length);
    if (find != NULL) {
        httpload_find_put_trial(out, find);
        httpload_find_put_answer(out, find, &made->options.find, "p99<50ms");
    }
    httpload_report(out, &made->total);
    httpload_report_last(out, &made->total, find, httpload_exit_of(&made->total));
    fclose(out);
    snprintf(path, sizeof path, "tests/golden/httpload/%s.txt", name);
    const char *update = getenv("PLIMSOLL_UPDATE_GOLDEN");
    if (update != NULL && strcmp(update, "1") == 0)
        MUST(pl_file_write(path, text, length, &err), err);
    MUST(pl_file_read(path, 1 << 20, made->arena, &golden, &golden_length, &err), err);
    if (strcmp(text, golden) != 0)
        fail_msg("%s is not what it was:\n%s", path, text);
    for (size_t i = 0; i < length; i++) /* nothing that a terminal would obey */
        assert_true((unsigned char)text[i] >= ' ' || text[i] == '\n');
    free(text);
}

static void test_plain(void **state)
{
    struct made *made = *state;
    made_begin(made, 0);
    made_add(made, (struct made_slice){.ledger = {.due = 1000, .completed = 1000}, .low_ns = MS, .high_ns = 3 * MS});
    made_add(made, (struct made_slice){
                       .ledger = {.due = 3, .completed = 3}, .during = PHASE_DRAIN, .low_ns = MS, .high_ns = 3 * MS});
    made_add(made,
             (struct made_slice){.due_in = PHASE_WARM_UP, .during = PHASE_WARM_UP, .ledger = {.due = 99, .completed = 99}});
    made_stats(made, 1003);
    compare(made, "plain", NULL);
}

static void test_rate_with_everything(void **state)
{
    struct made *made = *state;
    made_objective(made, true, "p99>50ms");
    made_objective(made, false, "p50<5ms and errors<0.1%");
    made_objective(made, false, "p99.9<60s");
    made_objective(made, false, "http_reqs: rate>10");
    made->options.warm_up_ns = 2 * SECOND;
    made->options.rate_per_s = 100;
    made_begin(made, 100);
    made_add(made, (struct made_slice){.ledger = {.due = 1010,
                                                  .completed = 950,
                                                  .failed = 20,
                                                  .skipped = 5,
                                                  .expired = 25,
                                                  .unfinished = 10,
                                                  .never_started = 4},
                                       .low_ns = MS,
                                       .high_ns = 9 * MS,
                                       .late_ns = 20 * US,
                                       .censored_ns = 30 * SECOND});
    made_stats(made, 970);
    struct http_stats *stats = &made->http.measured;
    stats->statuses[200] = 950;
    stats->statuses[201] = 2;
    stats->statuses[503] = 18;
    stats->other_statuses = 1;
    stats->retries = 3;
    stats->connections_failed = 7;
    stats->connections_closed_by_peer = 4;
    stats->connections_evicted = 2;
    stats->blocked = 6;
    stats->handshakes_full = 2;
    stats->handshakes_resumed = 8;
    made->http.warm_up.connections_opened = 100;
    hist_record_n(&stats->tls, 2 * MS, 10);
    hist_record_n(&stats->blocked_wait, MS, 6);
    made->http.redirects = 12;
    struct http_address addresses[] = {{"127.0.0.1:8080", 60, 0}, {"[::1]:8080", 50, 7}};
    made->http.addresses = addresses;
    made->http.address_count = 2;
    made->self.gap_cv = 1.013;
    made->self.gap_cv_asked = 0.998;
    hist_record_n(&made->self.lateness, 20 * US, 990);
    hist_record_n(&made->self.lateness, 3 * MS, 11);
    made_fault(made, PHASE_MEASURE, "connect:ECONNREFUSED", 5, 3 * SECOND, "[::1]:8080: Connection refused");
    made_fault(made, PHASE_WARM_UP, "connect:ECONNREFUSED", 2, SECOND, "[::1]:8080: Connection refused at first");
    made_fault(made, PHASE_MEASURE, "check:STATUS", 18, 4 * SECOND, "a.hurl:3:6: \x1b]0;title\x07 503\r\nnext");
    made->total.mark = "own lateness of 3.000 ms at p99";
    compare(made, "rate", NULL);
}

static void test_black_hole(void **state)
{
    struct made *made = *state;
    made_objective(made, false, "p99<50ms");
    made_begin(made, 100);
    made_add(made,
             (struct made_slice){.ledger = {.due = 1000, .expired = 900, .unfinished = 100}, .censored_ns = 2 * SECOND});
    made->http.measured.requests = 1000;
    made_fault(made, PHASE_MEASURE, "head:EXPIRED", 900, 2 * SECOND, "no answer after 2 s");
    compare(made, "black-hole", NULL);
}

static void test_mix(void **state)
{
    struct made *made = *state;
    made_two_files(made);
    made_begin(made, 0);
    made_add(made,
             (struct made_slice){
                 .script = 0, .ledger = {.due = 300, .completed = 299, .failed = 1}, .low_ns = MS, .high_ns = 3 * MS});
    made_add(made, (struct made_slice){
                       .script = 1, .ledger = {.due = 100, .completed = 100}, .low_ns = 5 * MS, .high_ns = 7 * MS});
    made_add_step(made, 0, 0, 300, 0, MS);
    made_add_step(made, 0, 1, 299, 1, 2 * MS);
    made_add_step(made, 1, 0, 100, 0, 6 * MS);
    made_stats(made, 700);
    compare(made, "mix", NULL);
}

static void test_tenants(void **state)
{
    struct made *made = *state;
    made_tenants(made);
    made_begin(made, 0);
    made_add(made,
             (struct made_slice){.group = 0, .ledger = {.due = 75, .completed = 75}, .low_ns = MS, .high_ns = 3 * MS});
    made_add(made, (struct made_slice){.group = 1,
                                       .ledger = {.due = 25, .completed = 23, .failed = 1, .expired = 1},
                                       .low_ns = MS,
                                       .high_ns = 4 * MS,
                                       .censored_ns = 30 * SECOND});
    made_stats(made, 98);
    compare(made, "tenants", NULL);
}

static void test_users(void **state)
{
    struct made *made = *state;
    made->options.rate_per_s = 20;
    made->options.session_operations = 2.5;
    made->options.session_geometric = true;
    made_begin(made, 20);
    made_add(made, (struct made_slice){.ledger = {.due = 500, .completed = 500}, .low_ns = MS, .high_ns = 3 * MS});
    made_stats(made, 500);
    compare(made, "users", NULL);
}

static void test_nothing(void **state)
{
    struct made *made = *state;
    made_objective(made, false, "p99<50ms");
    made_objective(made, true, "errors>1%");
    made_begin(made, 0.001);
    compare(made, "nothing", NULL);
}

static void test_interrupted(void **state)
{
    struct made *made = *state;
    made_begin(made, 0);
    made->total.was_interrupted = true;
    made->total.result.window_ns = 3 * SECOND;
    made_add(made, (struct made_slice){.ledger = {.due = 30, .completed = 25, .unfinished = 5},
                                       .low_ns = MS,
                                       .high_ns = 3 * MS,
                                       .censored_ns = 5 * SECOND});
    made_stats(made, 25);
    compare(made, "interrupted", NULL);
}

static void test_search(void **state)
{
    struct made *made = *state;
    made->options.find_text = "p99<50ms";
    made->options.step_ns = 5 * SECOND;
    made_begin(made, 800);
    made_add(made, (struct made_slice){.ledger = {.due = 8000, .completed = 8000}, .low_ns = MS, .high_ns = 30 * MS});
    made_stats(made, 8000);
    struct httpload_trial trial = {.rate_per_s = 820,
                                   .due_per_s = 819,
                                   .completed_per_s = 790.5,
                                   .verdict = SEARCH_FAIL,
                                   .response.count = 8200,
                                   .due = 4100,
                                   .completed = 3950};
    trial.response.ns[1] = 20 * MS;
    trial.response.ns[4] = 5 * SECOND;
    trial.response.at_least[4] = true;
    struct httpload_find find = {.trials = &trial, .trial_count = 1};
    find.search = (struct search){
        .points = {{800, 2, 1}, {820, 0, 2}}, .point_count = 2, .end = SEARCH_FOUND, .last_pass = 800, .first_fail = 820};
    compare(made, "search", &find);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_plain),      MADE_TEST(test_rate_with_everything),
        MADE_TEST(test_black_hole), MADE_TEST(test_mix),
        MADE_TEST(test_tenants),    MADE_TEST(test_nothing),
        MADE_TEST(test_users),      MADE_TEST(test_interrupted),
        MADE_TEST(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
