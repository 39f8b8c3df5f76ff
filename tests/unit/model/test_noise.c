/* How quiet the host was, and what the sensors cost. */
#include "figures.h"

static void test_noise(void **state)
{
    const struct fixture *fixture = *state;
    int64_t rate = stage_of(fixture, "rate"), low = case_of(fixture, "rate", "rate=50/s");
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_steal_frac")->value, 0.01, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_steal_max_frac")->value, 0.01, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_cpu_busy_frac")->value, 0.5, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_io_wait_frac")->value, 0.1, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_foreign_cpu_cores")->value, 0.03, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, rate, 0, "", "noise_run_queue")->value, 2, 1e-9, 0);
    assert_int_equal(model_figure(&fixture->figures, rate, 0, "", "noise_run_queue")->n, 4);
    /* the void trial has its noise told, for it says why it is void */
    assert_close(model_figure(&fixture->figures, rate, low, "trial 20", "noise_cpu_wait_frac")->value, 0.05, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "flush_before_p99_ns")->value, 1.9e6, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "flush_after_p50_ns")->value, 430e3, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "trials_done")->value, 19, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "trials_failed")->value, 1, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "trials_void")->value, 1, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "", "trials_interrupted")->value, 0, 0, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "tool", "sense_cpu_cores")->value, 0.004, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "tool", "sense_pass_ns")->value, 3e6, 1e-9, 0);
    assert_close(model_figure(&fixture->figures, 0, 0, "tool", "sense_missed")->value, 0, 0, 0);
}

/* Flush latency around the trials, as samples: the range over trials. The stage that measures the disk is not among them.
 */
static void test_flush_around_trials(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t probe = synth_case(synth, synth_stage(synth, "hardware", "?", ""), "");
    int64_t row = synth_case(synth, synth_stage(synth, "rate", "?", "rate=1/s"), "");
    int64_t metric = synth_metric(synth, "host", "flush_p50_ns", "ns", METRIC_GAUGE);
    struct trial_row *other = synth_trial(synth, probe, 0, 1, 1);
    synth_sample(synth, other, metric, PHASE_START, 1, 999);
    for (int i = 0; i < 3; i++) {
        struct trial_row *trial = synth_trial(synth, row, i, 1, 1);
        synth_sample(synth, trial, metric, PHASE_START, trial->connect_start_ns - 1, 100 + 10 * i);
        synth_sample(synth, trial, metric, PHASE_AFTER, trial->drain_end_ns + 1, 200 + 10 * i);
    }
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    assert_close(model_figure(&figures, 0, 0, "", "flush_before_p50_ns")->value, 110, 0, 0);
    assert_close(model_figure(&figures, 0, 0, "", "flush_before_p50_lowest_ns")->value, 100, 0, 0);
    assert_close(model_figure(&figures, 0, 0, "", "flush_after_p50_highest_ns")->value, 220, 0, 0);
    assert_int_equal(model_figure(&figures, 0, 0, "", "flush_after_p50_ns")->trial_count, 3);
    assert_int_equal(model_figure(&figures, 0, 0, "", "flush_after_p99_ns")->status, FIGURE_ABSENT);
    synth_free(synth);
}

/* A trial that failed before its window still says how the host was. */
static void test_noise_without_a_window(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "rate", "?", "rate=1/s"), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 1, 1);
    trial->state = TRIAL_FAILED;
    trial->measure_start_ns = trial->measure_end_ns = 0;
    int64_t steal = synth_metric(synth, "host", "cpu_steal_ns", "ns", METRIC_COUNTER);
    int64_t total = synth_metric(synth, "host", "cpu_total_ns", "ns", METRIC_COUNTER);
    synth_sample(synth, trial, steal, PHASE_START, 10, 0);
    synth_sample(synth, trial, steal, PHASE_WARM_UP, 20, 30);
    synth_sample(synth, trial, total, PHASE_START, 10, 100);
    synth_sample(synth, trial, total, PHASE_WARM_UP, 20, 200);
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    assert_close(model_figure(&figures, stage, row, "trial 1", "noise_steal_frac")->value, 0.3, 1e-12, 0);
    assert_int_equal(model_figure(&figures, stage, 0, "", "noise_steal_frac")->status, FIGURE_ABSENT);
    assert_string_equal(model_figure(&figures, stage, row, "trial 1", "noise_steal_frac")->note,
                        "1 trial had fewer than two readings inside the window: of the whole trial there");
    synth_free(synth);
}

/* One reading inside the window: the whole trial is told, and that it is. Two: the window, and nothing is said. */
static void test_noise_of_a_short_window(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "rate", "?", "rate=1/s"), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 1, 1);
    const char *const names[] = {"psi_io_some_ns", "foreign_cpu_ns"};
    for (int i = 0; i < 2; i++) {
        int64_t metric = synth_metric(synth, "host", names[i], "ns", METRIC_COUNTER);
        synth_sample(synth, trial, metric, PHASE_START, trial->measure_start_ns - PL_NS_PER_S, 0);
        synth_sample(synth, trial, metric, PHASE_MEASURE, trial->measure_start_ns, 0.25e9);
        if (i == 1)
            synth_sample(synth, trial, metric, PHASE_MEASURE, trial->measure_end_ns, 0.5e9);
        synth_sample(synth, trial, metric, PHASE_AFTER, trial->measure_end_ns + 2 * PL_NS_PER_S, 2e9);
    }
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    const struct figure *waited = model_figure(&figures, stage, 0, "", "noise_io_wait_frac");
    assert_close(waited->value, 0.5, 1e-12, 0);
    assert_string_equal(waited->note, "1 trial had fewer than two readings inside the window: of the whole trial there");
    assert_string_equal(model_figure(&figures, stage, 0, "", "noise_io_wait_max_frac")->note, waited->note);
    const struct figure *foreign = model_figure(&figures, stage, 0, "", "noise_foreign_cpu_cores");
    assert_close(foreign->value, 0.25, 1e-12, 0);
    assert_string_equal(foreign->note, "");
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_noise),
        cmocka_unit_test(test_flush_around_trials),
        cmocka_unit_test(test_noise_without_a_window),
        cmocka_unit_test(test_noise_of_a_short_window),
    };
    return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
