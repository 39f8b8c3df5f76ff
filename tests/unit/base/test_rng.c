#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"

/* The authors' xoshiro256plusplus.c from the state 1, 2, 3, 4. */
static void test_known_answers(void **state)
{
    (void)state;
    struct pl_rng rng = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {UINT64_C(41943041),
                                        UINT64_C(58720359),
                                        UINT64_C(3588806011781223),
                                        UINT64_C(3591011842654386),
                                        UINT64_C(9228616714210784205),
                                        UINT64_C(9973669472204895162)};
    for (int i = 0; i < 6; i++)
        assert_true(pl_rng_u64(&rng) == expected[i]);
}

/* A stored seed must give the same run for ever: from an independent computation of the seeding rule. */
static void test_seeding_never_changes(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 42, PL_RNG_CHOICE, 7);
    static const uint64_t expected[] = {UINT64_C(4913511644961304674), UINT64_C(12320721811484853944),
                                        UINT64_C(12457287621385168006), UINT64_C(4105369760279257731)};
    for (int i = 0; i < 4; i++)
        assert_true(pl_rng_u64(&rng) == expected[i]);
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Neighbouring seeds, purposes and indices: no two streams share even one value, and none is correlated with another. */
static void test_streams_differ(void **state)
{
    (void)state;
    enum { DRAWS = 64 };
    static uint64_t values[4 * 8 * 50 * DRAWS];
    size_t count = 0;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int purpose = 0; purpose <= PL_RNG_TEST; purpose++)
            for (uint64_t index = 0; index < 50; index++) {
                struct pl_rng rng;
                pl_rng_init(&rng, seed, (enum pl_rng_purpose)purpose, index);
                for (int i = 0; i < DRAWS; i++)
                    values[count++] = pl_rng_u64(&rng);
            }
    qsort(values, count, sizeof values[0], compare_u64);
    for (size_t i = 1; i < count; i++)
        assert_true(values[i] != values[i - 1]);
}

static void test_streams_are_not_correlated(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    for (uint64_t index = 0; index < 20; index++) {
        struct pl_rng a, b;
        pl_rng_init(&a, 9, PL_RNG_ARRIVAL, index);
        pl_rng_init(&b, 9, PL_RNG_ARRIVAL, index + 1);
        double sum = 0;
        for (int i = 0; i < DRAWS; i++)
            sum += (pl_rng_unit(&a) - 0.5) * (pl_rng_unit(&b) - 0.5);
        /* correlation has standard error 1 / sqrt(DRAWS); both variances are 1/12 */
        assert_close(sum / DRAWS * 12, 0, 0, 4.5 / sqrt(DRAWS));
    }
}

static double chi_square(const int64_t *cells, int count, double expected)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += ((double)cells[i] - expected) * ((double)cells[i] - expected) / expected;
    return sum;
}

static void test_unit_is_uniform(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 2, PL_RNG_TEST, 0);
    int64_t cells[64] = {0};
    for (int i = 0; i < 640000; i++) {
        double unit = pl_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        cells[(int)(unit * 64)]++;
    }
    double sum = chi_square(cells, 64, 10000);
    assert_true(sum > 30 && sum < 110); /* 63 degrees of freedom: .9999 below 110, .9999 above 30 */
}

static void test_range_is_uniform_and_inside(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    int64_t cells[10] = {0};
    for (int i = 0; i < 100000; i++) {
        int64_t value = pl_rng_range(&rng, -3, 6);
        assert_true(value >= -3 && value <= 6);
        cells[value + 3]++;
    }
    assert_true(chi_square(cells, 10, 10000) < 33.7); /* 9 degrees of freedom: .9999 below */
}

/* With 3/4 of 2^64 as its span, a draw by remainder or by multiplication alone puts a half, not a third, into one third. */
static void test_range_has_no_bias(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 4, PL_RNG_TEST, 0);
    const int64_t third = INT64_C(1) << 62;
    int64_t cells[3] = {0}, low = -third - third / 2; /* low .. low + 3 * 2^62 - 1 */
    for (int i = 0; i < 90000; i++) {
        int64_t value = pl_rng_range(&rng, low, low + third - 1 + third + third);
        cells[((uint64_t)value - (uint64_t)low) / (uint64_t)third]++;
    }
    assert_true(chi_square(cells, 3, 30000) < 18.5);
    int64_t rests[3] = {0};
    for (int i = 0; i < 90000; i++)
        rests[((uint64_t)pl_rng_range(&rng, low, low + third - 1 + third + third) - (uint64_t)low) % 3]++;
    assert_true(chi_square(rests, 3, 30000) < 18.5);
}

static void test_range_at_its_ends(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_TEST, 0);
    assert_true(pl_rng_range(&rng, 7, 7) == 7);
    assert_true(pl_rng_range(&rng, INT64_MIN, INT64_MIN) == INT64_MIN);
    assert_true(pl_rng_range(&rng, INT64_MAX, INT64_MAX) == INT64_MAX);
    bool seen[2] = {false, false};
    int64_t octants[8] = {0};
    for (int i = 0; i < 80000; i++) {
        int64_t edge = pl_rng_range(&rng, INT64_MAX - 1, INT64_MAX);
        assert_true(edge >= INT64_MAX - 1);
        seen[edge == INT64_MAX] = true;
        octants[((uint64_t)pl_rng_range(&rng, INT64_MIN, INT64_MAX)) >> 61]++;
        assert_true(pl_rng_range(&rng, INT64_MIN + 1, INT64_MAX) > INT64_MIN);
    }
    assert_true(seen[0] && seen[1]);
    assert_true(chi_square(octants, 8, 10000) < 29.9); /* 7 degrees of freedom */
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Kolmogorov-Smirnov against the law with this mean and no other. */
static double exponential_distance(double drawn_mean, double mean)
{
    enum { DRAWS = 20000 };
    static double values[DRAWS];
    struct pl_rng rng;
    pl_rng_init(&rng, 6, PL_RNG_TEST, 0);
    for (int i = 0; i < DRAWS; i++) {
        values[i] = pl_rng_exponential(&rng, drawn_mean);
        assert_true(values[i] >= 0 && isfinite(values[i]));
    }
    qsort(values, DRAWS, sizeof values[0], compare_doubles);
    double distance = 0;
    for (int i = 0; i < DRAWS; i++) {
        double law = -expm1(-values[i] / mean);
        distance = fmax(distance, fmax((i + 1.0) / DRAWS - law, law - (double)i / DRAWS));
    }
    return distance * sqrt(DRAWS);
}

static void test_exponential(void **state)
{
    (void)state;
    assert_true(exponential_distance(2e6, 2e6) < 1.95); /* p = .001 */
    assert_true(exponential_distance(2e6, 2.1e6) > 1.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),     cmocka_unit_test(test_seeding_never_changes),
        cmocka_unit_test(test_streams_differ),    cmocka_unit_test(test_streams_are_not_correlated),
        cmocka_unit_test(test_unit_is_uniform),   cmocka_unit_test(test_range_is_uniform_and_inside),
        cmocka_unit_test(test_range_has_no_bias), cmocka_unit_test(test_range_at_its_ends),
        cmocka_unit_test(test_exponential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
