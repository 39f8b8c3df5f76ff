/* Against NIST's StRD univariate sets, which a sum of squares gets wrong, and merge against adding. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "stats/moments.h"

static void test_nothing_and_one_value(void **state)
{
    (void)state;
    struct moments moments = {0};
    assert_true(isnan(moments_variance(&moments)) && isnan(moments_stddev(&moments)) && isnan(moments_cv(&moments)));
    moments_add(&moments, -3.5);
    assert_int_equal(moments.n, 1);
    assert_true(moments.mean == -3.5 && moments.min == -3.5 && moments.max == -3.5);
    assert_true(isnan(moments_variance(&moments)));
}

static void test_small_set_by_hand(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* sum of squared deviations 32 */
    struct moments moments = {0};
    for (int i = 0; i < 8; i++)
        moments_add(&moments, values[i]);
    assert_close(moments.mean, 5, 0, 1e-14);
    assert_close(moments_variance(&moments), 32.0 / 7, 1e-14, 0);
    assert_close(moments_cv(&moments), sqrt(32.0 / 7) / 5, 1e-14, 0);
    assert_true(moments.min == 2 && moments.max == 9);
}

static void test_cv_needs_a_mean(void **state)
{
    (void)state;
    struct moments moments = {0};
    moments_add(&moments, -1);
    moments_add(&moments, 1);
    assert_true(isnan(moments_cv(&moments)));
    struct moments negative = {0};
    moments_add(&negative, -2);
    moments_add(&negative, -4);
    assert_close(moments_cv(&negative), sqrt(2) / 3, 1e-14, 0);
}

/* 10000000.2, then 500 pairs of 10000000.1 and 10000000.3 */
static double numacc4(int i)
{
    return i == 0 ? 10000000.2 : i % 2 == 1 ? 10000000.1 : 10000000.3;
}

static void test_numacc4(void **state)
{
    (void)state;
    struct moments moments = {0};
    for (int i = 0; i < 1001; i++)
        moments_add(&moments, numacc4(i));
    assert_close(moments.mean, 10000000.2, 1e-15, 0);
    assert_close(moments_stddev(&moments), 0.1, 1e-7, 0);
}

static void test_numacc4_merged_from_parts(void **state)
{
    (void)state;
    struct moments whole = {0};
    for (int part = 0; part < 7; part++) {
        struct moments moments = {0};
        for (int i = part; i < 1001; i += 7)
            moments_add(&moments, numacc4(i));
        moments_merge(&whole, &moments);
    }
    assert_int_equal(whole.n, 1001);
    assert_close(whole.mean, 10000000.2, 1e-15, 0);
    assert_close(moments_stddev(&whole), 0.1, 1e-7, 0);
}

static void test_merge_equals_adding(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int round = 0; round < 200; round++) {
        struct moments whole = {0}, parts[4] = {{0}}, merged = {0};
        int64_t n = pl_rng_range(&rng, 0, 40); /* some parts stay empty */
        for (int64_t i = 0; i < n; i++) {
            double value = pl_rng_exponential(&rng, 10) - 5;
            moments_add(&whole, value);
            moments_add(&parts[pl_rng_range(&rng, 0, 3)], value);
        }
        for (int i = 0; i < 4; i++)
            moments_merge(&merged, &parts[i]);
        assert_int_equal(merged.n, whole.n);
        assert_close(merged.mean, whole.mean, 1e-12, 1e-12);
        assert_close(merged.m2, whole.m2, 1e-12, 1e-12);
        assert_true(merged.min == whole.min && merged.max == whole.max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_and_one_value),     cmocka_unit_test(test_small_set_by_hand),
        cmocka_unit_test(test_cv_needs_a_mean),           cmocka_unit_test(test_numacc4),
        cmocka_unit_test(test_numacc4_merged_from_parts), cmocka_unit_test(test_merge_equals_adding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
