/* Throughput, the ledger, whether the client was the limit. */
#include "figures.h"

#include "stats/interval.h"

static void test_throughput(void **state)
{
    const struct fixture *fixture = *state;
    const struct study *study = &fixture->synth->study;
    const char *label = "script=tpcb-like clients=4";
    int64_t row = case_of(fixture, "clients", label), completed = 0;
    struct moments plain = {0}, with = {0};
    for (size_t i = 0; i < study->trial_count; i++) {
        if (study->trials[i].case_id != row)
            continue;
        for (size_t k = 0; k < study->slice_count; k++) {
            if (study->slices[k].trial_id != study->trials[i].id || study->slices[k].during != PHASE_MEASURE)
                continue;
            double ended = (double)study->slices[k].ledger.completed;
            moments_add(&plain, ended / 3);
            moments_add(&with, ended / 3.1);
            completed += study->slices[k].ledger.completed;
        }
    }
    assert_int_equal(plain.n, 3);
    struct interval interval = interval_mean(&plain, 0.95);
    const struct figure *tps = find(fixture, "clients", label, "", "tps");
    assert_figure(fixture, "clients", label, "", "tps", plain.mean);
    assert_close(tps->stddev, moments_stddev(&plain), 1e-9, 0);
    assert_true(tps->has_interval);
    assert_close(tps->low, interval.low, 1e-9, 0);
    assert_close(tps->high, interval.high, 1e-9, 0);
    assert_int_equal(tps->n, 3);
    assert_int_equal(tps->trial_count, 3);
    assert_figure(fixture, "clients", label, "", "tps_with_connects", with.mean);
    assert_figure(fixture, "clients", label, "", "completed_in_window", (double)completed);
    assert_figure(fixture, "clients", label, "", "window_ns", 9e9);
    assert_figure(fixture, "clients", label, "", "tps_cv_frac", moments_stddev(&plain) / plain.mean);
    assert_figure(fixture, "clients", label, "", "failed_frac", 0);
    /* a closed loop of four clients has four operations under way: N = X R */
    assert_close(find(fixture, "clients", label, "", "concurrency")->value, 4, 0.001, 0);
}

static void test_ledger(void **state)
{
    const struct fixture *fixture = *state;
    const char *label = "rate=50/s";
    /* two trials of 250 due: 5 failed, 3 unfinished each; the void third one is not used */
    assert_figure(fixture, "rate", label, "", "due", 500);
    assert_figure(fixture, "rate", label, "", "completed", 484);
    assert_figure(fixture, "rate", label, "", "failed", 10);
    assert_figure(fixture, "rate", label, "", "skipped", 0);
    assert_figure(fixture, "rate", label, "", "expired", 0);
    assert_figure(fixture, "rate", label, "", "unfinished", 6);
    assert_figure(fixture, "rate", label, "", "never_started", 6);
    assert_figure(fixture, "rate", label, "", "all_due", 500);
    assert_figure(fixture, "rate", label, "", "failed_frac", 0.02);
    assert_figure(fixture, "rate", label, "", "achieved_per_s", 48.4);
    assert_figure(fixture, "rate", label, "", "workers", 1);
    assert_figure(fixture, "rate", label, "load", "cpu_cores", 0.25);
    assert_figure(fixture, "rate", label, "", "load_cpu_frac", 0.25);
    assert_figure(fixture, "rate", label, "", "client_bound", 0);
    /* the warm-up of three closed-loop trials has a hundred operations each */
    const char *closed = "script=tpcb-like clients=1";
    double window = find(fixture, "clients", closed, "", "due")->value;
    assert_figure(fixture, "clients", closed, "", "all_due", window + 300);
}

static void test_client_bound_and_unstable(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", ""), row = synth_case(synth, stage, "clients=2");
    for (int i = 0; i < 3; i++) {
        struct trial_row *trial = synth_trial(synth, row, i, 3, 2);
        synth_closed_loop(synth, trial, i == 0 ? 1e6 : 2e6, 0);
        synth_series(synth, trial, "tool", "cpu_ns", "ns", METRIC_COUNTER, 0, i == 2 ? 0.9e9 : 0.2e9);
    }
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    assert_close(model_figure(&figures, stage, row, "", "client_bound")->value, 1, 0, 0);
    assert_non_null(strstr(model_figure(&figures, stage, row, "load", "cpu_cores")->note, "sensors included"));
    assert_non_null(strstr(model_figure(&figures, stage, row, "", "tps")->note, "unstable"));
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_throughput),
        figures_test(test_ledger),
        cmocka_unit_test(test_client_bound_and_unstable),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
