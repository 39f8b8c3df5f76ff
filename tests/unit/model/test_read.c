/* What the readings around a window say, and what they refuse to say. */
#include "support.h"

#include "full_study.h"
#include "model/model_int.h"

static struct model_build build_of(struct synth *synth)
{
    return (struct model_build){.study = synth_study(synth), .arena = synth->arena};
}

static struct trial_row *one_trial(struct synth *synth)
{
    int64_t stage = synth_stage(synth, "clients", "?", "");
    return synth_trial(synth, synth_case(synth, stage, ""), 0, 4, 1);
}

static void test_window_uses_only_readings_inside(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct trial_row *trial = one_trial(synth);
    int64_t id = synth_metric(synth, "db", "cpu_ns", "ns", METRIC_COUNTER), start = trial->measure_start_ns;
    synth_sample(synth, trial, id, PHASE_WARM_UP, start - PL_NS_PER_S, 0);
    synth_sample(synth, trial, id, PHASE_MEASURE, start + PL_NS_PER_MS, 1000);
    synth_sample(synth, trial, id, PHASE_MEASURE, start + PL_NS_PER_S, 1500);
    synth_sample(synth, trial, id, PHASE_MEASURE, start + 3 * PL_NS_PER_S, 5000);
    /* the window ends at 4 s: the reading made at its end is ready a moment later, what comes later is not the window's */
    synth_sample(synth, trial, id, PHASE_DRAIN, start + 4 * PL_NS_PER_S + 5 * PL_NS_PER_MS, 6000);
    synth_sample(synth, trial, id, PHASE_AFTER, start + 4 * PL_NS_PER_S + 50 * PL_NS_PER_MS, 80000);
    synth_sample(synth, trial, id, PHASE_DRAIN, start + 4 * PL_NS_PER_S + 101 * PL_NS_PER_MS, 90000);
    struct model_build build = build_of(synth);
    struct model_span span = model_read_window(&build, trial, "db", "cpu_ns");
    assert_null(span.why);
    assert_close(span.delta, 5000, 0, 0);
    assert_int_equal(span.to_ns - span.from_ns, 4 * PL_NS_PER_S + 4 * PL_NS_PER_MS); /* their own clock, not the window's */
    struct model_gauge gauge = model_read_gauge(&build, trial, "db", "cpu_ns");
    /* a gauge read when the load had stopped is not of the window: 1000, 1500, 5000 */
    assert_close(gauge.mean, 2500, 0, 0);
    assert_close(gauge.max, 5000, 0, 0);
    assert_int_equal(gauge.count, 3);
    size_t count;
    const struct sample *samples = model_read_samples(build.study, trial, "db", "cpu_ns", &count);
    assert_int_equal(count, 3);
    assert_close(samples[0].value, 1000, 0, 0);
    synth_free(synth);
}

static void test_refusals(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct trial_row *trial = one_trial(synth);
    int64_t one = synth_metric(synth, "db", "one", "count", METRIC_COUNTER);
    int64_t back = synth_metric(synth, "db", "back", "count", METRIC_COUNTER);
    synth_metric(synth, "db", "none", "count", METRIC_COUNTER);
    synth_sample(synth, trial, one, PHASE_MEASURE, trial->measure_start_ns, 5);
    synth_sample(synth, trial, back, PHASE_MEASURE, trial->measure_start_ns, 5);
    synth_sample(synth, trial, back, PHASE_MEASURE, trial->measure_end_ns, 4);
    struct model_build build = build_of(synth);
    assert_non_null(strstr(model_read_window(&build, trial, "db", "one").why, "fewer than two readings"));
    assert_non_null(strstr(model_read_window(&build, trial, "db", "back").why, "backwards"));
    assert_non_null(strstr(model_read_window(&build, trial, "db", "none").why, "not watched"));
    assert_non_null(strstr(model_read_window(&build, trial, "db", "unheard-of").why, "no sensor"));
    assert_non_null(strstr(model_read_trial(&build, trial, "db", "one").why, "before the load"));
    assert_non_null(strstr(model_read_gauge(&build, trial, "db", "none").why, "not watched"));
    double before, after;
    const char *why = NULL;
    assert_false(model_read_ends(&build, trial, "db", "one", &before, &after, &why));
    assert_non_null(why);
    synth_free(synth);
}

/* Tidying up between two early readings is not the load's; the reading while clients connect is the nearest before it. */
static void test_whole_trial_starts_right_before_the_load(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct trial_row *trial = one_trial(synth);
    int64_t id = synth_metric(synth, "db", "wal_lsn_bytes", "bytes", METRIC_COUNTER);
    synth_sample(synth, trial, id, PHASE_START, trial->connect_start_ns - 3 * PL_NS_PER_S, 100);
    synth_sample(synth, trial, id, PHASE_START, trial->connect_start_ns - PL_NS_PER_MS, 700);
    synth_sample(synth, trial, id, PHASE_WARM_UP, trial->warm_up_start_ns + PL_NS_PER_MS, 750);
    synth_sample(synth, trial, id, PHASE_MEASURE, trial->measure_start_ns, 900);
    synth_sample(synth, trial, id, PHASE_DRAIN, trial->drain_end_ns, 1500);
    synth_sample(synth, trial, id, PHASE_AFTER, trial->drain_end_ns + 1, 1600);
    synth_sample(synth, trial, id, PHASE_AFTER, trial->drain_end_ns + PL_NS_PER_S, 1700);
    struct model_build build = build_of(synth);
    struct model_span span = model_read_trial(&build, trial, "db", "wal_lsn_bytes");
    assert_null(span.why);
    assert_close(span.delta, 1000, 0, 0);
    assert_close(model_read_all(&build, trial, "db", "wal_lsn_bytes").delta, 1600, 0, 0);
    synth_free(synth);
}

static void test_without_a_window_the_phase_decides(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct trial_row *trial = one_trial(synth);
    int64_t id = synth_metric(synth, "db", "cpu_ns", "ns", METRIC_COUNTER);
    trial->measure_start_ns = trial->measure_end_ns = 0;
    synth_sample(synth, trial, id, PHASE_START, 1, 0);
    synth_sample(synth, trial, id, PHASE_MEASURE, 2, 10);
    synth_sample(synth, trial, id, PHASE_MEASURE, 3, 30);
    struct model_build build = build_of(synth);
    assert_close(model_read_window(&build, trial, "db", "cpu_ns").delta, 20, 0, 0);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_uses_only_readings_inside),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_whole_trial_starts_right_before_the_load),
        cmocka_unit_test(test_without_a_window_the_phase_decides),
    };
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
