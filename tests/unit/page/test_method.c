/* How it was measured, how quiet it was, what went wrong, what is not known. */
#include "pages.h"

static void test_full_study(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "Stage `clients`: 4 cases, 3 iterations, interleaved");
    assert_holds(page, "warm-up 1.00 s, measured window 3.00 s");
    assert_holds(page, "Event loop of the load: `epoll`. Seed of the study: 42;");
    assert_holds(page, "Layout of the control groups of `db`: hybrid");
    assert_holds(page, "Sensors: they used [0.004 cores]");
    assert_holds(page, "2 of 21 trials failed, were void or were interrupted");
    assert_holds(page, "steal was 12 % of the window");
    assert_holds(page, "| `40001`   |    12 |");
    assert_holds(page, "`round_trip_p99_ns`: the server did not answer");
    assert_holds(page, "3 cases with a load rest on fewer than three trials");
    assert_holds(page, "In 7 of 7 cases a trial saw fewer than two checkpoints");
    pl_free(page);
}

static void test_order_of_trials(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", ""),
            ids[] = {synth_case(synth, stage, "clients=1"), synth_case(synth, stage, "clients=2")};
    for (int i = 0; i < 4; i++)
        synth_closed_loop(synth, synth_trial(synth, ids[i / 2], i % 2, 3, i / 2 + 1), 1e6, 0);
    char *page = markdown_of(synth);
    assert_holds(page, "2 cases, 2 iterations, not interleaved");
    assert_holds(page, "Nothing: no trial failed or was void");
    pl_free(page);
}

static void test_a_loud_host(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    for (size_t i = 0; i < synth->study.trial_count; i++) {
        synth_series(synth, &synth->trials[i], "host", "foreign_cpu_ns", "ns", METRIC_COUNTER, 0, 1.5e9);
        synth_series(synth, &synth->trials[i], "tool", "sense_missed", "count", METRIC_COUNTER, 0, 1000);
    }
    char *page = markdown_of(synth);
    assert_holds(page, "> The host was not quiet: other programs used the CPU (at worst [1.50 cores]");
    assert_lacks(page, "the hypervisor took CPU time away");
    assert_holds(page, " readings failed.");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_study),
        cmocka_unit_test(test_order_of_trials),
        cmocka_unit_test(test_a_loud_host),
    };
    return cmocka_run_group_tests_name("method", tests, NULL, NULL);
}
