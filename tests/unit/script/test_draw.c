/* Each distribution against its law: chi-square over the slots of a small range, bounds on wide ones, refusals. */
#include "support.h"

#include <math.h>

#include "script/draw_int.h"

enum { DRAWS = 200000, SLOTS = 10 };

typedef const char *draw3(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value);

/* The statistic for 9 degrees of freedom; 33.7 is its 0.9999 quantile, and the seed is fixed. */
static void check_law(draw3 *draw, double parameter, const double *shares)
{
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_TEST, 3);
    int64_t counts[SLOTS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        int64_t value;
        assert_null(draw(&rng, 101, 100 + SLOTS, parameter, &value));
        assert_in_range(value, 101, 100 + SLOTS);
        counts[value - 101]++;
    }
    double statistic = 0;
    for (int i = 0; i < SLOTS; i++) {
        double expected = shares[i] * DRAWS;
        statistic += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    if (statistic > 33.7)
        fail_msg("chi-square %.2f with parameter %g", statistic, parameter);
}

static void test_zipfian(void **state)
{
    (void)state;
    static const double exponents[] = {0, 0.5, 0.99, 1, 1.001, 1.5, 3};
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        double shares[SLOTS], sum = 0;
        for (int i = 0; i < SLOTS; i++)
            sum += shares[i] = pow(i + 1, -exponents[e]);
        for (int i = 0; i < SLOTS; i++)
            shares[i] /= sum;
        check_law(draw_zipfian, exponents[e], shares);
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
    static const double parameters[] = {2, 3};
    for (size_t p = 0; p < sizeof parameters / sizeof parameters[0]; p++) {
        double shares[SLOTS], parameter = parameters[p], all = normal(parameter) - normal(-parameter);
        for (int i = 0; i < SLOTS; i++)
            shares[i] =
                (normal(-parameter + 2 * parameter * (i + 1) / SLOTS) - normal(-parameter + 2 * parameter * i / SLOTS)) /
                all;
        check_law(draw_gaussian, parameter, shares);
    }
}

static const char *draw_uniform3(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value)
{
    (void)parameter;
    return draw_uniform(rng, low, high, ret_value);
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
    int64_t value = 0;
    draw3 *const draws[] = {draw_uniform3, draw_zipfian, draw_exponential, draw_gaussian};
    for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
        assert_non_null(draws[d](&rng, 2, 1, 2.5, &value));
        assert_non_null(draws[d](&rng, INT64_MIN, INT64_MAX, 2.5, &value));
        for (int i = 0; i < 1000; i++) {
            assert_null(draws[d](&rng, 5, 5, 2.5, &value));
            assert_int_equal(value, 5);
            assert_null(draws[d](&rng, INT64_MAX - 1, INT64_MAX, 2.5, &value));
            assert_true(value >= INT64_MAX - 1);
            assert_null(draws[d](&rng, -INT64_MAX / 2, INT64_MAX / 2, 2.5, &value));
            assert_true(value >= -INT64_MAX / 2 && value <= INT64_MAX / 2);
        }
    }
    assert_non_null(draw_zipfian(&rng, 1, 10, -0.1, &value));
    assert_non_null(draw_zipfian(&rng, 1, 10, (double)NAN, &value));
    assert_non_null(draw_zipfian(&rng, 1, 10, (double)INFINITY, &value));
    assert_non_null(draw_exponential(&rng, 1, 10, 0, &value));
    assert_non_null(draw_gaussian(&rng, 1, 10, 1.99, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_uniform), cmocka_unit_test(test_zipfian),
                                       cmocka_unit_test(test_exponential), cmocka_unit_test(test_gaussian),
                                       cmocka_unit_test(test_edges)};
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
