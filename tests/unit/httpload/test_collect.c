/* What slices and faults add up to, and what follows from it. */
#include "made.h"

static void test_sums(void **state)
{
    struct made *made = *state;
    made_two_files(made);
    made_tenants(made);
    made_begin(made, 50);
    made_add(made,
             (struct made_slice){
                 .script = 0, .group = 1, .ledger = {.due = 10, .completed = 8, .failed = 2}, .low_ns = MS, .high_ns = MS});
    made_add(made, (struct made_slice){.script = 1,
                                       .group = 0,
                                       .ledger = {.due = 5, .completed = 2, .expired = 2, .unfinished = 1},
                                       .low_ns = 2 * MS,
                                       .high_ns = 2 * MS,
                                       .censored_ns = SECOND});
    made_add(made,
             (struct made_slice){
                 .script = 1, .group = 0, .during = PHASE_DRAIN, .ledger = {.completed = 4}, .low_ns = MS, .high_ns = MS});
    made_add(made,
             (struct made_slice){.due_in = PHASE_WARM_UP, .during = PHASE_MEASURE, .ledger = {.due = 7, .completed = 7}});
    made_add_step(made, 0, 1, 8, 2, MS);
    const struct httpload_total *total = &made->total;
    assert_int_equal(total->whole.ledger.due, 15);
    assert_int_equal(total->whole.ledger.completed, 14);
    assert_int_equal(total->whole.completed_in_window, 10);
    assert_int_equal(total->scripts[0].ledger.failed, 2);
    assert_int_equal(total->scripts[1].ledger.expired, 2);
    assert_int_equal(total->groups[0].ledger.due, 5);
    assert_int_equal(total->groups[1].ledger.due, 10);
    assert_int_equal(total->whole.response.total, 14);
    assert_int_equal(total->whole.censored.total, 3);
    assert_int_equal(total->scripts[1].censored.total, 3);
    assert_int_equal(total->steps[0][1].completed, 8);
    assert_int_equal(total->steps[0][1].failed, 2);
    assert_int_equal(total->steps[0][0].completed, 0);
    assert_close(httpload_due_per_s(total), 1.5, 1e-12, 0);
    assert_close(httpload_completed_per_s(total), 1.0, 1e-12, 0);
}

static void test_latency(void **state)
{
    struct made *made = *state;
    made_begin(made, 50);
    made_add(made, (struct made_slice){.ledger = {.due = 100, .completed = 96, .expired = 4},
                                       .low_ns = MS,
                                       .high_ns = MS,
                                       .censored_ns = 30 * SECOND});
    const struct httpload_latency latency = httpload_latency_of(&made->total.whole.response, &made->total.whole.censored);
    assert_int_equal(latency.count, 100);
    assert_int_equal(latency.censored, 4);
    assert_true(latency.mean_at_least);
    assert_close(latency.mean_ns, (96 * 1e6 + 4 * 30e9) / 100, 1e-12, 0);
    assert_int_equal(latency.ns[0], MS);
    assert_false(latency.at_least[0] || latency.at_least[1] || latency.at_least[2] || latency.at_least[3]);
    assert_true(latency.at_least[4] && latency.at_least[5] && latency.at_least[6]);
    assert_int_equal(latency.ns[6], 30 * SECOND);
    const struct httpload_latency service = httpload_latency_of(&made->total.whole.service, NULL);
    assert_int_equal(service.count, 96);
    assert_false(service.mean_at_least || service.at_least[6]);
}

static void test_faults(void **state)
{
    struct made *made = *state;
    made_begin(made, 0);
    made_fault(made, PHASE_MEASURE, "a", 2, 5 * SECOND, "second");
    made_fault(made, PHASE_MEASURE, "b", 1, 6 * SECOND, "other");
    made_fault(made, PHASE_WARM_UP, "a", 3, 1 * SECOND, "first");
    made_fault(made, PHASE_DRAIN, "a", 4, 9 * SECOND, "third");
    assert_int_equal(made->total.fault_count, 2);
    assert_int_equal(made->total.faults[0].count, 9);
    assert_int_equal(made->total.faults[0].before_window, 3);
    assert_int_equal(made->total.faults[0].first_ns, SECOND);
    assert_string_equal(made->total.faults[0].example, "first");
}

/* Of several the first of 130, 2, 1, 4, 3. */
static void test_exit_order(void **state)
{
    (void)state;
    static const enum httpload_exit order[] = {HTTPLOAD_INTERRUPTED, HTTPLOAD_WRONG,  HTTPLOAD_MISSED,
                                               HTTPLOAD_NO_DATA,     HTTPLOAD_FAILED, HTTPLOAD_GOOD};
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++)
            assert_int_equal(httpload_exit_worse(order[a], order[b]), order[a < b ? a : b]);
}

static enum httpload_exit exit_of(struct made *made, struct ledger ledger)
{
    httpload_total_release(&made->total);
    made_begin(made, 10);
    made_add(made, (struct made_slice){.ledger = ledger, .low_ns = MS, .high_ns = MS, .censored_ns = 2 * MS});
    return httpload_exit_of(&made->total);
}

static void test_exit_codes(void **state)
{
    struct made *made = *state;
    const struct ledger good = {.due = 10, .completed = 10}, failed = {.due = 10, .completed = 9, .failed = 1},
                        expired = {.due = 10, .completed = 9, .expired = 1},
                        open = {.due = 10, .completed = 9, .unfinished = 1},
                        backlog = {.due = 10, .completed = 9, .unfinished = 1, .never_started = 1}, nothing = {.due = 0},
                        skipped = {.due = 10, .completed = 9, .skipped = 1};
    assert_int_equal(exit_of(made, good), HTTPLOAD_GOOD);
    assert_int_equal(exit_of(made, skipped), HTTPLOAD_GOOD);
    assert_int_equal(exit_of(made, backlog), HTTPLOAD_GOOD);
    assert_int_equal(exit_of(made, failed), HTTPLOAD_FAILED);
    assert_int_equal(exit_of(made, expired), HTTPLOAD_FAILED);
    assert_int_equal(exit_of(made, open), HTTPLOAD_FAILED);
    assert_int_equal(exit_of(made, nothing), HTTPLOAD_FAILED);
    made->total.was_interrupted = true;
    assert_int_equal(httpload_exit_of(&made->total), HTTPLOAD_INTERRUPTED);
    assert_string_equal(httpload_verdict(&made->total), "none");
    made->http.measured.statuses[404] = 1; /* whether that is a failure, the operation says */
    assert_int_equal(exit_of(made, good), HTTPLOAD_GOOD);

    made_objective(made, true, "p99>50ms");
    assert_int_equal(exit_of(made, good), HTTPLOAD_GOOD);
    assert_string_equal(httpload_verdict(&made->total), "pass");
    assert_int_equal(exit_of(made, nothing), HTTPLOAD_NO_DATA);
    assert_string_equal(httpload_verdict(&made->total), "no_data");
    made_objective(made, false, "errors<1%");
    assert_int_equal(exit_of(made, failed), HTTPLOAD_MISSED);
    assert_string_equal(httpload_verdict(&made->total), "fail");
    made->total.was_interrupted = true;
    assert_int_equal(httpload_exit_of(&made->total), HTTPLOAD_INTERRUPTED);
    made->options.objective_count = 0;
}

/* --fail-if is the negation, but no data stays no data. */
static void test_fail_if(void **state)
{
    struct made *made = *state;
    made_objective(made, true, "p99>50ms");
    made_objective(made, true, "p99<50ms");
    made_objective(made, true, "p99>3s");
    made_begin(made, 10);
    assert_int_equal(httpload_judge(&made->total, &made->options.objectives[0]), OBJECTIVE_NO_DATA);
    made_add(made, (struct made_slice){.ledger = {.due = 10, .expired = 10}, .censored_ns = 2 * SECOND});
    assert_int_equal(httpload_judge(&made->total, &made->options.objectives[0]), OBJECTIVE_FAILS);
    assert_int_equal(httpload_judge(&made->total, &made->options.objectives[1]), OBJECTIVE_HOLDS);
    assert_int_equal(httpload_judge(&made->total, &made->options.objectives[2]), OBJECTIVE_NO_DATA);
    made->options.objective_count = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_sums),       MADE_TEST(test_latency),    MADE_TEST(test_faults),
        MADE_TEST(test_exit_order), MADE_TEST(test_exit_codes), MADE_TEST(test_fail_if),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
