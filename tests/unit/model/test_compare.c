/* Comparisons: which cases are held against which, the tests, the correction. Throughputs are planted: a trial's window is
 * 1 s, so that its completed operations are its throughput. */
#include "figures.h"

#include "stats/holm.h"
#include "stats/ratio.h"

static void trial(struct synth *synth, int64_t row, int iteration, int64_t tps)
{
    const struct trial_row *at = synth_trial(synth, row, iteration, 1, 1);
    struct slice *slice = synth_slice(synth, at, PHASE_MEASURE, PHASE_MEASURE, -1);
    slice->ledger = (struct ledger){.due = tps, .completed = tps};
}

struct compared {
    struct synth *synth;
    struct pl_arena *arena;
    struct figures figures;
};

static struct compared compared_of(struct synth *synth)
{
    struct compared compared = {.synth = synth, .arena = pl_arena_new()};
    compared.figures = model_figures(synth_study(synth), compared.arena);
    return compared;
}

static void compared_free(struct compared *compared)
{
    pl_arena_free(compared->arena);
    synth_free(compared->synth);
}

static const struct figure *figure(const struct compared *compared, int64_t row, const char *name)
{
    const struct figure *found =
        model_figure(&compared->figures, study_case(&compared->synth->study, row)->stage_id, row, "db.settings", name);
    assert_non_null(found);
    return found;
}

static const double sleep_a[] = {1007, 984, 998, 988, 999, 1034, 1037, 1008, 1000, 1020};
static const double sleep_b[] = {1019, 1008, 1011, 1001, 999, 1044, 1055, 1016, 1046, 1034};

/* R's data set "sleep", ten times each value plus 1,000: p = .0028329 in pairs, .0793941 without. */
static void test_pairs_by_iteration(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like");
    int64_t a = synth_case(synth, stage, "db.settings=default"), b = synth_case(synth, stage, "db.settings=custom");
    for (int i = 0; i < 10; i++)
        trial(synth, a, i, (int64_t)sleep_a[i]);
    for (int i = 9; i >= 0; i--) /* the order of execution does not make the pairs */
        trial(synth, b, i, (int64_t)sleep_b[i]);
    struct compared compared = compared_of(synth);
    const struct figure *change = figure(&compared, b, "tps_change_frac"), *p = figure(&compared, b, "tps_change_p");
    struct t_test test = t_test_paired(sleep_a, sleep_b, 10, 0.95);
    struct interval_ratio ratio = interval_ratio_paired(sleep_a, sleep_b, 10, 0.95);
    assert_close(p->value, test.p, 1e-9, 0);
    assert_close(p->value, .0028329, 1e-4, 0);
    assert_close(change->value, ratio.ratio - 1, 1e-9, 0);
    assert_close(change->low, ratio.interval.low - 1, 1e-9, 0);
    assert_close(change->high, ratio.interval.high - 1, 1e-9, 0);
    assert_int_equal(change->n, 10);
    assert_int_equal(change->trial_count, 20);
    assert_non_null(strstr(p->method, "paired"));
    assert_close(figure(&compared, b, "tps_change_corrected_p")->value, test.p, 1e-9, 0); /* there is but one */
    assert_true(model_figure(&compared.figures, 0, 0, "", "comparisons")->value == 1);
    assert_null(model_figure(&compared.figures, stage, a, "db.settings", "tps_change_frac"));
    compared_free(&compared);
}

/* One trial is missing, or has failed: the others are not forced into pairs. */
static void test_welch_when_iterations_differ(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct synth *synth = synth_new();
        int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like");
        int64_t a = synth_case(synth, stage, "db.settings=default"), b = synth_case(synth, stage, "db.settings=custom");
        struct moments of_a = {0}, of_b = {0};
        for (int i = 0; i < 10; i++) {
            trial(synth, a, i, (int64_t)sleep_a[i]);
            moments_add(&of_a, sleep_a[i]);
            if (kind == 0 && i == 4)
                continue;
            trial(synth, b, i, (int64_t)sleep_b[i]);
            if (kind == 1 && i == 4)
                synth->trials[synth->study.trial_count - 1].state = TRIAL_FAILED;
            else
                moments_add(&of_b, sleep_b[i]);
        }
        struct compared compared = compared_of(synth);
        const struct figure *p = figure(&compared, b, "tps_change_p"), *change = figure(&compared, b, "tps_change_frac");
        assert_close(p->value, t_test_welch(&of_a, &of_b, 0.95).p, 1e-9, 0);
        assert_non_null(strstr(p->method, "Welch"));
        assert_int_equal(change->n, 19);
        assert_int_equal(change->trial_count, 19);
        assert_close(change->value, of_b.mean / of_a.mean - 1, 1e-9, 0);
        compared_free(&compared);
    }
}

static void test_corrected_over_the_study(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t others[4];
    double raw[4], corrected[4];
    for (int s = 0; s < 2; s++) {
        int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like");
        for (int cell = 0; cell < 2; cell++) {
            int64_t a = synth_case(synth, stage, pl_format(synth->arena, "clients=%d db.settings=default", cell));
            int64_t b = synth_case(synth, stage, pl_format(synth->arena, "clients=%d db.settings=custom", cell));
            for (int i = 0; i < 10; i++) {
                trial(synth, a, i, (int64_t)sleep_a[i]);
                trial(synth, b, i, (int64_t)sleep_b[i] - 4 * (2 * s + cell));
            }
            others[2 * s + cell] = b;
        }
    }
    struct compared compared = compared_of(synth);
    for (int i = 0; i < 4; i++)
        raw[i] = figure(&compared, others[i], "tps_change_p")->value;
    assert_int_equal(holm_correct(raw, 4, corrected), 4);
    for (int i = 0; i < 4; i++) {
        const struct figure *told = figure(&compared, others[i], "tps_change_corrected_p");
        assert_close(told->value, corrected[i], 1e-12, 0);
        assert_true(told->value >= raw[i]);
    }
    assert_true(corrected[0] > raw[0]);
    assert_true(model_figure(&compared.figures, 0, 0, "", "comparisons")->value == 4);
    compared_free(&compared);
}

static void test_too_little(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like");
    int64_t a = synth_case(synth, stage, "clients=1 db.settings=default");
    int64_t b = synth_case(synth, stage, "clients=1 db.settings=custom");
    synth_case(synth, stage, "clients=2 db.settings=default");
    int64_t none = synth_case(synth, stage, "clients=2 db.settings=custom");
    trial(synth, a, 0, 100);
    trial(synth, b, 0, 150);
    struct compared compared = compared_of(synth);
    const struct figure *change = figure(&compared, b, "tps_change_frac");
    assert_close(change->value, 0.5, 1e-12, 0);
    assert_false(change->has_interval);
    assert_int_equal(figure(&compared, b, "tps_change_p")->status, FIGURE_ABSENT);
    assert_int_equal(figure(&compared, none, "tps_change_frac")->status, FIGURE_ABSENT);
    assert_true(figure(&compared, none, "tps_change_frac")->note[0] != '\0');
    assert_true(model_figure(&compared.figures, 0, 0, "", "comparisons")->value == 0);
    compared_free(&compared);
}

/* Two versions with two settings: each other value against the first, all else equal. Sizes of data are never compared. */
static void test_what_is_compared(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like");
    static const char *const labels[] = {
        "db.version=15 db.data.scale=1 db.settings=a",  "db.version=15 db.data.scale=1 db.settings=b",
        "db.version=15 db.data.scale=10 db.settings=a", "db.version=15 db.data.scale=10 db.settings=b",
        "db.version=16 db.data.scale=1 db.settings=a",  "db.version=16 db.data.scale=1 db.settings=b",
        "db.version=16 db.data.scale=10 db.settings=a", "db.version=16 db.data.scale=10 db.settings=b"};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(synth_case(synth, stage, labels[i]), (int64_t)i + 1);
    static const struct {
        const char *axis;
        int64_t base, other;
    } expected[] = {{"db.version", 1, 5},  {"db.version", 2, 6},  {"db.version", 3, 7},  {"db.version", 4, 8},
                    {"db.settings", 1, 2}, {"db.settings", 3, 4}, {"db.settings", 5, 6}, {"db.settings", 7, 8}};
    int64_t open = synth_stage(synth, "rate", "?", "script=tpcb-like");
    synth_case(synth, open, "db.settings=a");
    synth_case(synth, open, "db.settings=b");
    size_t count = 0;
    const struct model_comparison *list = model_comparisons(synth_study(synth), synth->arena, &count);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list[i].axis, expected[i].axis);
        assert_int_equal(list[i].base->id, expected[i].base);
        assert_int_equal(list[i].other->id, expected[i].other);
    }
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_by_iteration),       cmocka_unit_test(test_welch_when_iterations_differ),
        cmocka_unit_test(test_corrected_over_the_study), cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_what_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
