/* Expected values: R 4 (t.test, qt, pbinom) and the tables of Conover; see each test. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "stats/interval.h"

static struct moments moments_of(int64_t n, double mean, double stddev)
{
    return (struct moments){.n = n, .mean = mean, .m2 = stddev * stddev * (double)(n - 1)};
}

static void test_mean_half_width_of_a_published_cell(void **state)
{
    (void)state;
    /* pgbench, scale 1, one client, sixteen runs: 962.736320 +- 29.086186; t(0.975, 15) = 2.131450 */
    struct moments cell = moments_of(16, 962.736320, 29.086186);
    struct interval interval = interval_mean(&cell, 0.95);
    assert_close((interval.high - interval.low) / 2, 15.498934, 1e-6, 0);
    assert_close((interval.high + interval.low) / 2, 962.736320, 1e-12, 0);
    assert_true(interval.confidence == 0.95);
}

static void test_mean_of_too_few(void **state)
{
    (void)state;
    struct moments one = {0};
    moments_add(&one, 5);
    struct interval interval = interval_mean(&one, 0.95);
    assert_true(interval.confidence == 0 && isnan(interval.low) && isnan(interval.high));
    struct moments same = {0};
    moments_add(&same, 5);
    moments_add(&same, 5);
    interval = interval_mean(&same, 0.95);
    assert_true(interval.low == 5 && interval.high == 5 && interval.confidence == 0.95);
}

/* Of intervals from normal samples of five, about 95 in 100 hold the true mean. */
static void test_mean_covers(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_TEST, 0);
    int held = 0, rounds = 4000;
    for (int round = 0; round < rounds; round++) {
        struct moments moments = {0};
        for (int i = 0; i < 5; i++) {
            double radius = sqrt(pl_rng_exponential(&rng, 2)); /* Box and Muller */
            moments_add(&moments, 100 + 3 * radius * cos(2 * M_PI * pl_rng_unit(&rng)));
        }
        struct interval interval = interval_mean(&moments, 0.95);
        held += interval.low <= 100 && 100 <= interval.high;
    }
    /* four standard errors of a binomial share */
    assert_close((double)held / rounds, 0.95, 0, 4 * sqrt(0.95 * 0.05 / rounds));
}

static void test_quantile_ranks_of_tables(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        double q;
        int64_t low, high;
        double reached; /* 0: not in the tables */
    } rows[] = {{10, 0.5, 2, 9, 0.9785},      {20, 0.5, 6, 15, 0.9586},  {100, 0.5, 40, 61, 0.9648},
                {1000, 0.95, 936, 964, 0},    {1000, 0.99, 983, 997, 0}, {10000, 0.99, 9880, 9920, 0},
                {10000, 0.999, 9983, 9997, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t low, high;
        double reached;
        assert_true(interval_quantile_ranks(rows[i].n, rows[i].q, 0.95, &low, &high, &reached));
        assert_int_equal(low, rows[i].low);
        assert_int_equal(high, rows[i].high);
        assert_true(reached >= 0.95);
        if (rows[i].reached > 0)
            assert_close(reached, rows[i].reached, 0, 5e-5);
    }
}

/* P(17 <= B < 19), B binomial(35, 1/2), is .264121: a confidence just below it gives these ranks and reaches it exactly. */
static void test_quantile_ranks_reach_exactly(void **state)
{
    (void)state;
    int64_t low, high;
    double reached;
    assert_true(interval_quantile_ranks(35, 0.5, 0.2641, &low, &high, &reached));
    assert_int_equal(low, 17);
    assert_int_equal(high, 19);
    assert_close(reached, 0.264121, 0, 5e-7);
}

/* The binomial by its recurrence, as an oracle for every small case. */
static double binomial_sum(int64_t from, int64_t until, double q, int64_t n)
{
    double sum = 0, mass = pow(1 - q, (double)n);
    for (int64_t k = 0; k < until; k++) {
        sum += k >= from ? mass : 0;
        mass *= (double)(n - k) / (double)(k + 1) * (q / (1 - q));
    }
    return sum;
}

static void test_quantile_ranks_are_the_tightest(void **state)
{
    (void)state;
    const double quantiles[] = {0.1, 0.5, 0.75, 0.9, 0.95}, tail = 0.025;
    for (int64_t n = 1; n <= 150; n++)
        for (int i = 0; i < 5; i++) {
            double q = quantiles[i], reached;
            int64_t low, high;
            bool found = interval_quantile_ranks(n, q, 0.95, &low, &high, &reached);
            assert_int_equal(found, pow(1 - q, (double)n) <= tail && pow(q, (double)n) <= tail);
            if (!found)
                continue;
            assert_true(1 <= low && low < high && high <= n);
            assert_true(binomial_sum(0, low, q, n) <= tail && binomial_sum(0, low + 1, q, n) > tail);
            assert_true(binomial_sum(high, n + 1, q, n) <= tail && binomial_sum(high - 1, n + 1, q, n) > tail);
            assert_close(reached, binomial_sum(low, high, q, n), 1e-9, 0);
        }
}

static void test_quantile_ranks_of_many(void **state)
{
    (void)state;
    int64_t low, high, n = INT64_C(20) * 1000 * 1000 * 1000; /* more than an unsigned int */
    double reached;
    assert_true(interval_quantile_ranks(n, 0.99, 0.95, &low, &high, &reached));
    double stddev = sqrt((double)n * 0.99 * 0.01);
    assert_close((double)low, 0.99 * (double)n - 1.959964 * stddev, 0, 3);
    assert_close((double)high, 0.99 * (double)n + 1.959964 * stddev, 0, 3);
    assert_close(reached, 0.95, 0, 1e-4);
}

static void test_quantile_min_n(void **state)
{
    (void)state;
    assert_int_equal(interval_quantile_min_n(0.5, 0.95), 5);
    assert_int_equal(interval_quantile_min_n(0.95, 0.95), 59);
    assert_int_equal(interval_quantile_min_n(0.99, 0.95), 299);
    assert_int_equal(interval_quantile_min_n(0.999, 0.95), 2995);
    assert_int_equal(interval_quantile_min_n(0.5, 0.75), 2); /* exactly reached */
    assert_int_equal(interval_quantile_min_n(0.9, 0.19), 2);
    assert_int_equal(interval_quantile_min_n(0.01, 0.5), 1);
}

/* R's `sleep`: extra hours of sleep under two drugs, ten people. */
static const double sleep_a[] = {.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2};
static const double sleep_b[] = {1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4};

static void test_sleep_welch(void **state)
{
    (void)state;
    struct moments a = {0}, b = {0};
    for (int i = 0; i < 10; i++) {
        moments_add(&a, sleep_a[i]);
        moments_add(&b, sleep_b[i]);
    }
    struct t_test test = t_test_welch(&a, &b, 0.95);
    assert_close(test.difference, 1.58, 1e-12, 0);
    assert_close(test.t, 1.8608135, 1e-7, 0);
    assert_close(test.df, 17.776474, 1e-7, 0);
    assert_close(test.p, 0.0793941, 1e-6, 0);
    assert_close(test.interval.low, -0.2054832, 1e-6, 0);
    assert_close(test.interval.high, 3.3654832, 1e-7, 0);
}

static void test_sleep_paired(void **state)
{
    (void)state;
    struct t_test test = t_test_paired(sleep_a, sleep_b, 10, 0.95);
    assert_close(test.t, 4.0621277, 1e-7, 0);
    assert_close(test.df, 9, 0, 0);
    assert_close(test.p, 0.0028329, 0, 5e-8);
    assert_close(test.interval.low, 0.7001142, 1e-6, 0);
    assert_close(test.interval.high, 2.4598858, 1e-7, 0);
}

/* Three comparisons of a published pgbench page, n = 16 each. */
static void test_welch_of_published_cells(void **state)
{
    (void)state;
    static const struct {
        double mean_a, stddev_a, mean_b, stddev_b, t, df, p, p_digits, low, high;
    } rows[] = {
        {962.736320, 29.086186, 953.260669, 21.815866, -1.042470, 27.8197, 0.306169, 5e-7, -28.1003, 9.1490},
        {611.550012, 57.845445, 853.060159, 405.833183, 2.356570, 15.6092, 0.0318744, 5e-8, 23.8115, 459.2088},
        {755.576707, 103.414956, 1307.793540, 108.549542, 14.733099, 29.9298, 2.95e-15, 5e-18, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct moments a = moments_of(16, rows[i].mean_a, rows[i].stddev_a);
        struct moments b = moments_of(16, rows[i].mean_b, rows[i].stddev_b);
        struct t_test test = t_test_welch(&a, &b, 0.95);
        assert_close(test.difference, rows[i].mean_b - rows[i].mean_a, 1e-12, 0);
        assert_close(test.t, rows[i].t, 1e-6, 0);
        assert_close(test.df, rows[i].df, 0, 5e-5);
        assert_close(test.p, rows[i].p, 0, rows[i].p_digits);
        if (rows[i].high != 0) {
            assert_close(test.interval.low, rows[i].low, 0, 1e-4);
            assert_close(test.interval.high, rows[i].high, 0, 1e-4);
        }
    }
}

static void test_no_test_without_spread(void **state)
{
    (void)state;
    struct moments empty = {0}, one = {0}, same = {0};
    moments_add(&one, 3);
    moments_add(&same, 5);
    moments_add(&same, 5);
    const struct moments *pairs[][2] = {{&one, &same}, {&same, &one}, {&same, &same}};
    const double differences[] = {2, -2, 0};
    for (int i = 0; i < 3; i++) {
        struct t_test test = t_test_welch(pairs[i][0], pairs[i][1], 0.95);
        assert_true(test.difference == differences[i] && isnan(test.t) && isnan(test.p));
        assert_true(test.interval.confidence == 0 && isnan(test.interval.low) && isnan(test.interval.high));
    }
    assert_true(isnan(t_test_welch(&empty, &same, 0.95).difference));
    const double a[] = {1, 2, 3}, b[] = {2, 3, 4};
    struct t_test test = t_test_paired(a, b, 3, 0.95);
    assert_true(test.difference == 1 && isnan(test.p) && test.interval.confidence == 0);
    test = t_test_paired(a, b, 1, 0.95);
    assert_true(test.difference == 1 && isnan(test.p));
    assert_true(isnan(t_test_paired(a, b, 0, 0.95).difference));
}

/* D of three values by hand: the law is at 1 - exp(-x). */
static void test_ks_statistic_by_hand(void **state)
{
    (void)state;
    double values[] = {log(4), log(2), log(4.0 / 3)}; /* 3/4, 1/2, 1/4 of the law, unsorted */
    double p;
    assert_close(ks_test_exponential(values, 3, 1, &p), 0.25, 1e-12, 0);
    assert_true(values[0] < values[1] && values[1] < values[2]);
    assert_true(p > 0.97);
    double shifted[] = {-1, log(2)}; /* a negative value is at 0 of the law: half the sample stands there */
    assert_close(ks_test_exponential(shifted, 2, 1, &p), 0.5, 1e-12, 0);
    assert_true(isnan(ks_test_exponential(values, 0, 1, &p)) && isnan(p));
}

/* Critical values of Stephens' table for a fully specified law: sqrt(n) modified D of 1.224, 1.358, 1.628 are p of .10,
 * .05, .01. A sample that stands at (i + 1/2) / n of the law, moved by `gap`, has D = gap + 1 / 2n. */
static void test_ks_p_at_critical_values(void **state)
{
    (void)state;
    const double critical[] = {1.138, 1.224, 1.358, 1.480, 1.628}, tails[] = {0.15, 0.10, 0.05, 0.025, 0.01};
    enum { N = 400 };
    for (int c = 0; c < 5; c++) {
        double wanted = critical[c] / (sqrt(N) + 0.12 + 0.11 / sqrt(N)), values[N], p;
        for (int i = 0; i < N; i++) {
            double at = (i + 0.5) / N - (wanted - 0.5 / N);
            values[i] = at > 0 ? -250 * log1p(-at) : 0;
        }
        assert_close(ks_test_exponential(values, N, 250, &p), wanted, 1e-9, 0);
        assert_close(p, tails[c], 0.01, 0);
    }
}

/* A sample that lies as near to the law as it can. */
static void test_ks_p_of_a_perfect_sample(void **state)
{
    (void)state;
    enum { N = 400 };
    double values[N], p;
    for (int i = 0; i < N; i++)
        values[i] = -log1p(-(i + 0.5) / N);
    assert_close(ks_test_exponential(values, N, 1, &p), 0.5 / N, 1e-9, 0);
    assert_close(p, 1, 1e-12, 0);
}

/* The two series of Kolmogorov's law meet: p has no step, and falls. */
static void test_ks_p_is_smooth(void **state)
{
    (void)state;
    double last = 0;
    for (int i = 0; i < 1000; i++) {
        double value = -log1p(-(0.5 + i / 2002.0)), p; /* one value: D = max(F, 1 - F) */
        ks_test_exponential(&value, 1, 1, &p);
        assert_true(i == 0 ? p > 0.8 : p <= last && p >= last - 0.003);
        last = p;
    }
    assert_true(last < 0.12);
}

static void test_ks_p_is_uniform_under_the_law(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    enum { ROUNDS = 2000, N = 50 };
    int64_t deciles[10] = {0};
    double expected[10];
    for (int round = 0; round < ROUNDS; round++) {
        double values[N], p;
        for (int i = 0; i < N; i++)
            values[i] = pl_rng_exponential(&rng, 2.5);
        ks_test_exponential(values, N, 2.5, &p);
        deciles[p >= 1 ? 9 : (int)(p * 10)]++;
    }
    for (int i = 0; i < 10; i++)
        expected[i] = ROUNDS / 10.0;
    assert_true(chi_square_p(deciles, expected, 10) > 0.001);
}

static void test_ks_refuses_another_law(void **state)
{
    (void)state;
    double values[200], p;
    for (int i = 0; i < 200; i++)
        values[i] = 1 + i / 1000.0;
    ks_test_exponential(values, 200, 1.1, &p);
    assert_true(p < 1e-10);
}

static void test_chi_square(void **state)
{
    (void)state;
    /* critical values: 3.841459 with 1, 18.307038 with 10 degrees of freedom leave 5 % */
    double off = sqrt(3.841459 * 500000); /* two cells of 1e6: the sum is 2 off^2 / 1e6 */
    const int64_t two[] = {1000000 + (int64_t)round(off), 1000000 - (int64_t)round(off)};
    const double million[] = {1e6, 1e6};
    assert_close(chi_square_p(two, million, 2), 0.05, 1e-3, 0);
    /* Mendel's peas: 315, 108, 101, 32 against 9:3:3:1 of 556, chi-square 0.470024 with 3 df */
    const int64_t peas[] = {315, 108, 101, 32};
    const double shares[] = {312.75, 104.25, 104.25, 34.75};
    assert_close(chi_square_p(peas, shares, 4), 0.925425895103616, 1e-9, 0);
    assert_true(isnan(chi_square_p(peas, shares, 1)));
    assert_close(chi_square_p((const int64_t[]){5, 5}, (const double[]){5, 5}, 2), 1, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_half_width_of_a_published_cell),
        cmocka_unit_test(test_mean_of_too_few),
        cmocka_unit_test(test_mean_covers),
        cmocka_unit_test(test_quantile_ranks_of_tables),
        cmocka_unit_test(test_quantile_ranks_reach_exactly),
        cmocka_unit_test(test_quantile_ranks_are_the_tightest),
        cmocka_unit_test(test_quantile_ranks_of_many),
        cmocka_unit_test(test_quantile_min_n),
        cmocka_unit_test(test_sleep_welch),
        cmocka_unit_test(test_sleep_paired),
        cmocka_unit_test(test_welch_of_published_cells),
        cmocka_unit_test(test_no_test_without_spread),
        cmocka_unit_test(test_ks_statistic_by_hand),
        cmocka_unit_test(test_ks_p_at_critical_values),
        cmocka_unit_test(test_ks_p_of_a_perfect_sample),
        cmocka_unit_test(test_ks_p_is_smooth),
        cmocka_unit_test(test_ks_p_is_uniform_under_the_law),
        cmocka_unit_test(test_ks_refuses_another_law),
        cmocka_unit_test(test_chi_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
