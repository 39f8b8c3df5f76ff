/* Ratios of means: by hand, against the t test of the difference, and by how often the interval holds the truth. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "stats/ratio.h"

static double normal(struct pl_rng *rng)
{
    return sqrt(-2 * log(1 - pl_rng_unit(rng))) * cos(2 * M_PI * pl_rng_unit(rng));
}

static struct moments moments_of(const double *values, size_t n)
{
    struct moments moments = {0};
    for (size_t i = 0; i < n; i++)
        moments_add(&moments, values[i]);
    return moments;
}

/* a is constant, so the interval is that of mean(b) over it: 20 +- t (12.706 with one degree of freedom) * sqrt(2) /
 * sqrt(2) */
static void test_by_hand(void **state)
{
    (void)state;
    const double a[] = {10, 10}, b[] = {19, 21};
    struct interval_ratio paired = interval_ratio_paired(a, b, 2, 0.95);
    assert_close(paired.ratio, 2, 1e-15, 0);
    assert_close(paired.interval.low, (20 - 12.70620473617471) / 10, 1e-9, 0);
    assert_close(paired.interval.high, (20 + 12.70620473617471) / 10, 1e-9, 0);
    assert_true(paired.interval.confidence == 0.95);
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    const double one[] = {5}, two[] = {10}, same[] = {3, 3, 3}, zero[] = {-1, 1}, wild[] = {1, 199}, calm[] = {99, 101};
    struct interval_ratio ratio = interval_ratio_paired(one, two, 1, 0.95);
    assert_true(ratio.ratio == 2 && ratio.interval.confidence == 0 && isnan(ratio.interval.low));
    assert_true(interval_ratio_paired(same, same, 3, 0.95).interval.confidence == 0);
    assert_true(isnan(interval_ratio_paired(zero, calm, 2, 0.95).ratio));
    assert_true(isnan(interval_ratio_paired(one, two, 0, 0.95).ratio));
    /* mean(a) is not told from 0 by two values that far apart: every ratio would do */
    assert_true(interval_ratio_paired(wild, calm, 2, 0.95).interval.confidence == 0);
    struct moments empty = {0}, some = moments_of(calm, 2);
    assert_true(interval_ratio_welch(&empty, &some, 0.95).interval.confidence == 0);
    assert_true(interval_ratio_welch(&some, &empty, 0.95).interval.confidence == 0);
}

/* The interval holds 1 exactly when the t test does not reject. */
static void test_agrees_with_the_t_test(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    int rejected = 0, told = 0;
    for (int round = 0; round < 2000; round++) {
        double a[9], b[9], shift = pl_rng_unit(&rng) * 30;
        for (int i = 0; i < 9; i++) {
            a[i] = 100 + 10 * normal(&rng);
            b[i] = 0.5 * a[i] + 50 + shift + 10 * normal(&rng);
        }
        struct moments of_a = moments_of(a, 9), of_b = moments_of(b, 9);
        const struct t_test tests[] = {t_test_paired(a, b, 9, 0.95), t_test_welch(&of_a, &of_b, 0.95)};
        const struct interval_ratio ratios[] = {interval_ratio_paired(a, b, 9, 0.95),
                                                interval_ratio_welch(&of_a, &of_b, 0.95)};
        for (int i = 0; i < 2; i++) {
            assert_close(ratios[i].ratio, of_b.mean / of_a.mean, 1e-12, 0);
            assert_true(ratios[i].interval.confidence == 0.95);
            assert_true(ratios[i].interval.low <= ratios[i].ratio && ratios[i].ratio <= ratios[i].interval.high);
            bool outside = ratios[i].interval.low > 1 || ratios[i].interval.high < 1;
            assert_int_equal(outside, tests[i].p < 0.05);
            rejected += outside;
            told++;
        }
    }
    assert_in_range(rejected, told / 4, told * 9 / 10); /* both happened often */
}

static void test_holds_the_truth(void **state)
{
    (void)state;
    enum { ROUNDS = 4000 };
    struct pl_rng rng;
    pl_rng_init(&rng, 4, PL_RNG_TEST, 0);
    int paired = 0, welch = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double a[8], b[8];
        for (int i = 0; i < 8; i++) {
            double block = 10 * normal(&rng);
            a[i] = 100 + block + 5 * normal(&rng);
            b[i] = 120 + block + 5 * normal(&rng);
        }
        struct interval_ratio ratio = interval_ratio_paired(a, b, 8, 0.95);
        paired += ratio.interval.low <= 1.2 && 1.2 <= ratio.interval.high;
        for (int i = 0; i < 8; i++) {
            a[i] = 100 + 20 * normal(&rng);
            b[i] = 120 + 5 * normal(&rng);
        }
        struct moments of_a = moments_of(a, 8), of_b = moments_of(b, 8);
        ratio = interval_ratio_welch(&of_a, &of_b, 0.95);
        welch += ratio.interval.low <= 1.2 && 1.2 <= ratio.interval.high;
    }
    print_message("# the truth inside 95 %% intervals: paired %.1f %%, independent %.1f %%\n", 100.0 * paired / ROUNDS,
                  100.0 * welch / ROUNDS);
    assert_in_range(paired, ROUNDS * 93 / 100, ROUNDS * 97 / 100);
    assert_in_range(welch, ROUNDS * 93 / 100, ROUNDS * 97 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_nothing_to_say),
                                       cmocka_unit_test(test_agrees_with_the_t_test),
                                       cmocka_unit_test(test_holds_the_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
