/* Throughput, latency and the ledger on the page. */
#include "pages.h"

static void test_tables_by_script(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "**Throughput by clients, select-only**");
    assert_holds(page, "**Throughput by clients, tpcb-like**");
    assert_holds(page, "| Clients | Throughput, /s | Std. deviation, /s |");
    assert_holds(page, "**Latency by rate, tpcb-like**");
    assert_holds(page, "too few operations: this percentile needs at least 2995");
    assert_holds(page, "| `rate`    | tpcb-like, 50/s        | window      |    [500]");
    assert_holds(page, "**Service time of each step of tpcb-like**");
    assert_holds(page, "`step 1: BEGIN`");
    assert_lacks(page, "**Service time of each step of select-only**");
    assert_lacks(page, "Client-bound: yes");
    pl_free(page);
}

static void test_client_bound_is_said(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like clients=2");
    struct trial_row *trial = synth_trial(synth, synth_case(synth, stage, ""), 0, 3, 2);
    synth_closed_loop(synth, trial, 1e6, 0);
    synth_series(synth, trial, "load", "cpu_ns", "ns", METRIC_COUNTER, 0, 0.97e9);
    char *page = markdown_of(synth);
    assert_holds(page, "> **Client-bound: yes.** In the case `clients` the load's workers were busy [97.0 %]");
    assert_holds(page, "|       2 |"); /* no axis: the number of clients names the row all the same */
    assert_holds(page, "one trial: its spread is not known");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_by_script),
        cmocka_unit_test(test_client_bound_is_said),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
