/* Values over trials become figures. */
#include "support.h"

#include "full_study.h"
#include "model/model_int.h"

static struct model_build build_of(struct synth *synth)
{
    return (struct model_build){.study = synth_study(synth), .arena = synth->arena};
}

/* Cochran's ratio estimator by hand: a = 2, 3, 7; b = 1, 2, 3: r = 2, d = a - r b = 0, -1, 1, mean b = 2. */
static void test_ratio(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct model_build build = build_of(synth);
    struct model_values values = model_values_new(&build, 3);
    model_values_add(&values, 1, 2, 1);
    model_values_add(&values, 2, 3, 2);
    model_values_add(&values, 3, 7, 3);
    static const struct model_label label = {"x_per_operation", "", "bytes", "Made up."};
    struct figure *figure = model_put_ratio(&build, &label, &values);
    assert_close(figure->value, 2, 1e-15, 0);
    assert_close(figure->stddev, 0.5, 1e-12, 0);
    assert_close(figure->high - figure->value, 4.302652729911275 * 0.5 / sqrt(3), 1e-9, 0);
    assert_int_equal(figure->status, FIGURE_COMPUTED);
    struct model_values nothing = model_values_new(&build, 1);
    model_values_add(&nothing, 1, 5, 0);
    assert_null(model_put_ratio(&build, &label, &nothing));
    assert_int_equal(build.items[build.count - 1].status, FIGURE_ABSENT);
    synth_free(synth);
}

/* The published series of sixteen runs of one client: mean 962.736320, standard deviation 29.086186, half width 15.498934.
 * A series with exactly these two moments gives that interval. */
static void test_mean_of_sixteen_runs(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct model_build build = build_of(synth);
    struct model_values values = model_values_new(&build, 17);
    double step = 29.086186 * sqrt(15.0 / 16);
    for (int i = 0; i < 16; i++)
        model_values_add(&values, i + 1, 962.736320 + (i % 2 == 0 ? step : -step), 0);
    static const struct model_label label = {"tps", "", "1/s", "Made up."};
    struct figure *figure = model_put_mean(&build, &label, &values);
    assert_close(figure->value, 962.736320, 1e-12, 0);
    assert_close(figure->stddev, 29.086186, 1e-9, 0);
    assert_close((figure->high - figure->low) / 2, 15.498934, 0, 1e-6);
    model_values_lack(&values, 17, "the service was down");
    figure = model_put_mean(&build, &label, &values);
    assert_string_equal(figure->note, "without 1 of 17 trials (trial 17: the service was down)");
    synth_free(synth);
}

static void test_names_keep_their_unit_last(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct model_build build = build_of(synth);
    assert_string_equal(model_name_with(&build, "flush_p50_ns", "lowest"), "flush_p50_lowest_ns");
    assert_string_equal(model_name_with(&build, "flush_per_s", "highest"), "flush_highest_per_s");
    assert_string_equal(model_name_with(&build, "noise_steal_frac", "max"), "noise_steal_max_frac");
    assert_string_equal(model_name_with(&build, "noise_run_queue", "max"), "noise_run_queue_max");
    synth_free(synth);
}

static void test_repeats(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct model_build build = build_of(synth);
    struct model_values values = model_values_new(&build, 4), trials = model_values_new(&build, 1);
    static const double readings[] = {8, 2, 6, 4};
    for (size_t i = 0; i < 4; i++)
        model_values_add(&values, 9, readings[i], 0);
    model_values_add(&trials, 9, 0, 0);
    model_put_repeats(&build, "flush_p50_ns", "ns", "Made up.", &values, &trials);
    assert_int_equal(build.count, 3);
    assert_close(build.items[0].value, 5, 0, 0);
    assert_close(build.items[1].value, 2, 0, 0);
    assert_close(build.items[2].value, 8, 0, 0);
    assert_int_equal(build.items[0].n, 4);
    assert_int_equal(build.items[0].trials[0], 9);
    struct model_values none = model_values_new(&build, 1);
    model_values_lack(&trials, 9, "the disk was away");
    model_put_repeats(&build, "flush_p99_ns", "ns", "", &none, &trials);
    assert_int_equal(build.items[3].status, FIGURE_ABSENT);
    assert_string_equal(build.items[3].note, "the disk was away");
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_mean_of_sixteen_runs),
        cmocka_unit_test(test_names_keep_their_unit_last),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
