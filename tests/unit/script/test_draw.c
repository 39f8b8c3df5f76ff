/* Each distribution against its law: chi-square over the slots of a small range, and over ever wider bins of a large one.
 */
#include "support.h"

#include <math.h>
#include <stdbool.h>

#include "script/draw_int.h"

enum { DRAWS = 200000, SLOTS = 10 };

typedef int64_t draw3(struct pl_rng *rng, int64_t low, int64_t high, double parameter);

/* The statistic for 9 degrees of freedom; 33.7 is its 0.9999 quantile, and the seed is fixed. */
static void check_law(draw3 *draw, double parameter, const double *shares)
{
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_TEST, 3);
    int64_t counts[SLOTS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        int64_t value = draw(&rng, 101, 100 + SLOTS, parameter);
        assert_in_range(value, 101, 100 + SLOTS);
        counts[value - 101]++;
    }
    double statistic = 0;
    for (int i = 0; i < SLOTS; i++) {
        double expected = shares[i] * DRAWS;
        if (expected > 5)
            statistic += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    if (statistic > 33.7)
        fail_msg("chi-square %.2f with parameter %g", statistic, parameter);
}

static void test_zipfian(void **state)
{
    (void)state;
    static const double exponents[] = {0, 1e-9, 0.2, 0.5, 0.99, 1 - 1e-13, 1, 1 + 1e-9, 1.001, 1.07, 1.5, 3, 20};
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        double shares[SLOTS], sum = 0;
        for (int i = 0; i < SLOTS; i++)
            sum += shares[i] = pow(i + 1, -exponents[e]);
        for (int i = 0; i < SLOTS; i++)
            shares[i] /= sum;
        check_law(draw_zipfian, exponents[e], shares);
    }
}

/* A million keys: the first eight one by one, then 9-16, 17-32, ... ; and laws that take turns share nothing. */
static void test_zipfian_wide(void **state)
{
    (void)state;
    enum { KEYS = 1000000, BINS = 26, LAWS = 10 };
    static const double exponents[LAWS] = {0, 0.3, 0.5, 0.9, 0.99, 1, 1.001, 1.07, 1.5, 3};
    double shares[LAWS][BINS] = {0};
    int64_t counts[LAWS][BINS] = {0};
    struct pl_rng rng;
    pl_rng_init(&rng, 12, PL_RNG_TEST, 4);
    for (int e = 0; e < LAWS; e++) {
        double sum = 0;
        for (int k = KEYS; k >= 1; k--) {
            double share = pow(k, -exponents[e]);
            int bin = k <= 8 ? k - 1 : 5 + (int)(31 - __builtin_clz((unsigned)k - 1));
            shares[e][bin] += share;
            sum += share;
        }
        for (int b = 0; b < BINS; b++)
            shares[e][b] /= sum;
    }
    for (int i = 0; i < DRAWS * LAWS; i++) {
        int e = i % LAWS;
        int64_t k = draw_zipfian(&rng, 1, KEYS, exponents[e]);
        assert_in_range(k, 1, KEYS);
        counts[e][k <= 8 ? k - 1 : 5 + (int)(31 - __builtin_clz((unsigned)k - 1))]++;
    }
    for (int e = 0; e < LAWS; e++) {
        double statistic = 0;
        for (int b = 0; b < BINS; b++) {
            double expected = shares[e][b] * DRAWS;
            if (expected > 5)
                statistic += ((double)counts[e][b] - expected) * ((double)counts[e][b] - expected) / expected;
        }
        if (statistic > 62) /* at most 25 degrees of freedom: 0.9999 quantile 61.8 */
            fail_msg("chi-square %.2f with exponent %g", statistic, exponents[e]);
    }
}

static void test_exponential(void **state)
{
    (void)state;
    static const double parameters[] = {0.1, 1, 5};
    for (size_t p = 0; p < sizeof parameters / sizeof parameters[0]; p++) {
        double shares[SLOTS], parameter = parameters[p];
        for (int i = 0; i < SLOTS; i++)
            shares[i] = (exp(-parameter * i / SLOTS) - exp(-parameter * (i + 1) / SLOTS)) / (1 - exp(-parameter));
        check_law(draw_exponential, parameter, shares);
    }
}

static double normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static void test_gaussian(void **state)
{
    (void)state;
    static const double parameters[] = {2, 2.5, 3, 5};
    for (size_t p = 0; p < sizeof parameters / sizeof parameters[0]; p++) {
        double shares[SLOTS], parameter = parameters[p], all = normal(parameter) - normal(-parameter);
        for (int i = 0; i < SLOTS; i++)
            shares[i] =
                (normal(-parameter + 2 * parameter * (i + 1) / SLOTS) - normal(-parameter + 2 * parameter * i / SLOTS)) /
                all;
        check_law(draw_gaussian, parameter, shares);
    }
}

static int64_t draw_uniform3(struct pl_rng *rng, int64_t low, int64_t high, double parameter)
{
    (void)parameter;
    return draw_uniform(rng, low, high);
}

static void test_uniform(void **state)
{
    (void)state;
    double shares[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        shares[i] = 1.0 / SLOTS;
    check_law(draw_uniform3, 0, shares);
}

static void test_edges(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    static const double parameters[] = {2, 2.5, 100, 1e6, 1e300};
    draw3 *const draws[] = {draw_uniform3, draw_zipfian, draw_exponential, draw_gaussian};
    for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
        for (int i = 0; i < 5000; i++) {
            double parameter = parameters[i % 5];
            assert_int_equal(draws[d](&rng, 5, 5, parameter), 5);
            assert_true(draws[d](&rng, INT64_MAX - 1, INT64_MAX, parameter) >= INT64_MAX - 1);
            assert_true(draws[d](&rng, INT64_MIN, INT64_MIN + 1, parameter) <= INT64_MIN + 1);
            int64_t wide = draws[d](&rng, -INT64_MAX / 2, INT64_MAX / 2, parameter);
            assert_true(wide >= -INT64_MAX / 2 && wide <= INT64_MAX / 2);
        }
    }
    static const double small[] = {0, 1e-300, 1e-16, 0.5, 1 - 1e-16, 1, 1 + 1e-15, 1 + 1e-10};
    for (int i = 0; i < 8000; i++) {
        int64_t wide = draw_zipfian(&rng, 0, INT64_MAX - 1, small[i % 8]);
        assert_true(wide >= 0 && wide < INT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_uniform),      cmocka_unit_test(test_zipfian),
                                       cmocka_unit_test(test_zipfian_wide), cmocka_unit_test(test_exponential),
                                       cmocka_unit_test(test_gaussian),     cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
