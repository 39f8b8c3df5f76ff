/* Intervals and tests; the distribution functions are GSL's. GSL aborts on a wrong argument by default, so every argument
 * is brought into its domain here first. */
#include "stats/interval.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "base/ban.h"

/* The factor t so that t standard errors to each side hold `confidence`. */
static double t_factor(double confidence, double df)
{
    return gsl_cdf_tdist_Qinv((1 - confidence) / 2, df);
}

struct interval interval_mean(const struct moments *moments, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    if (moments->n < 2)
        return (struct interval){.low = (double)NAN, .high = (double)NAN};
    double n = (double)moments->n;
    double half = t_factor(confidence, n - 1) * moments_stddev(moments) / sqrt(n);
    return (struct interval){.low = moments->mean - half, .high = moments->mean + half, .confidence = confidence};
}

/* P(B <= k) for B binomial(n, q), through the beta distribution (Abramowitz and Stegun 26.5.24): gsl_cdf_binomial_P does
 * the same, but takes n as an unsigned int only. */
static double binomial_at_most(int64_t k, double q, int64_t n)
{
    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    return gsl_cdf_beta_Q(q, (double)k + 1, (double)(n - k));
}

/* P(B >= k), without the cancellation of 1 - P(B < k). */
static double binomial_at_least(int64_t k, double q, int64_t n)
{
    if (k <= 0)
        return 1;
    if (k > n)
        return 0;
    return gsl_cdf_beta_P(q, (double)k, (double)(n - k) + 1);
}

bool interval_quantile_ranks(int64_t n, double q, double confidence, int64_t *ret_low, int64_t *ret_high,
                             double *ret_reached)
{
    assert(q > 0 && q < 1 && confidence > 0 && confidence < 1);
    double tail = (1 - confidence) / 2;
    if (n < 1 || binomial_at_most(0, q, n) > tail || binomial_at_least(n, q, n) > tail)
        return false;
    /* low: the largest rank with P(B < low) <= tail; rank 1 has it, rank n cannot have it and be below high */
    int64_t low = 1, above = n;
    while (above - low > 1) {
        int64_t middle = low + (above - low) / 2;
        if (binomial_at_most(middle - 1, q, n) <= tail)
            low = middle;
        else
            above = middle;
    }
    int64_t high = n, below = low;
    while (high - below > 1) {
        int64_t middle = below + (high - below) / 2;
        if (binomial_at_least(middle, q, n) <= tail)
            high = middle;
        else
            below = middle;
    }
    *ret_low = low;
    *ret_high = high;
    *ret_reached = 1 - binomial_at_most(low - 1, q, n) - binomial_at_least(high, q, n);
    return true;
}

int64_t interval_quantile_min_n(double q, double confidence)
{
    assert(q > 0 && q < 1 && confidence > 0 && confidence < 1);
    /* P(max < q-quantile) = q^n; the small slack keeps an exact power from being rounded up to the next n */
    double n = log1p(-confidence) / log(q);
    return (int64_t)fmax(1, ceil(n - n * 1e-12));
}

/* Completes a test whose difference and standard error are known. */
static struct t_test t_test_finish(double difference, double se, double df, double confidence)
{
    struct t_test test = {.difference = difference, .t = (double)NAN, .df = df, .p = (double)NAN};
    test.interval = (struct interval){.low = (double)NAN, .high = (double)NAN};
    if (!(se > 0) || !(df > 0))
        return test;
    double half = t_factor(confidence, df) * se;
    test.t = difference / se;
    test.p = 2 * gsl_cdf_tdist_Q(fabs(test.t), df);
    test.interval = (struct interval){.low = difference - half, .high = difference + half, .confidence = confidence};
    return test;
}

struct t_test t_test_welch(const struct moments *a, const struct moments *b, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    double difference = a->n > 0 && b->n > 0 ? b->mean - a->mean : (double)NAN;
    if (a->n < 2 || b->n < 2)
        return t_test_finish(difference, (double)NAN, (double)NAN, confidence);
    double share_a = moments_variance(a) / (double)a->n, share_b = moments_variance(b) / (double)b->n;
    double sum = share_a + share_b;
    /* Welch 1947; in shares of the sum, so that small variances do not underflow when squared */
    double part_a = share_a / sum, part_b = share_b / sum;
    double df = 1 / (part_a * part_a / (double)(a->n - 1) + part_b * part_b / (double)(b->n - 1));
    return t_test_finish(difference, sqrt(sum), df, confidence);
}

struct t_test t_test_paired(const double *a, const double *b, size_t n, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    struct moments differences = {0};
    for (size_t i = 0; i < n; i++)
        moments_add(&differences, b[i] - a[i]);
    double difference = n > 0 ? differences.mean : (double)NAN;
    if (n < 2)
        return t_test_finish(difference, (double)NAN, (double)NAN, confidence);
    return t_test_finish(difference, moments_stddev(&differences) / sqrt((double)n), (double)n - 1, confidence);
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The upper tail of Kolmogorov's law; two series that are one function, each used where it converges within a few terms
 * (Marsaglia, Tsang and Wang, "Evaluating Kolmogorov's distribution", J. Stat. Softw. 8(18), 2003, eq. 1). */
static double kolmogorov_tail(double x)
{
    if (x <= 0)
        return 1;
    double sum = 0;
    if (x < 1.18) {
        for (int k = 1; k <= 7; k += 2)
            sum += exp(-k * k * M_PI * M_PI / (8 * x * x));
        return 1 - sqrt(2 * M_PI) / x * sum;
    }
    for (int k = 1; k <= 8; k++)
        sum += (k % 2 == 1 ? 2 : -2) * exp(-2 * k * k * x * x);
    return sum;
}

double ks_test_exponential(double *values, size_t n, double mean, double *ret_p)
{
    assert(mean > 0);
    *ret_p = (double)NAN;
    if (n == 0)
        return (double)NAN;
    qsort(values, n, sizeof *values, compare_doubles);
    double d = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        double law = values[i] > 0 ? -expm1(-values[i] / mean) : 0;
        d = fmax(d, fmax((double)(i + 1) / count - law, law - (double)i / count));
    }
    double root = sqrt(count);
    *ret_p = kolmogorov_tail(d * (root + 0.12 + 0.11 / root));
    return d;
}

double chi_square_p(const int64_t *observed, const double *expected, size_t n)
{
    if (n < 2)
        return (double)NAN;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        assert(expected[i] > 0);
        double off = (double)observed[i] - expected[i];
        sum += off * off / expected[i];
    }
    return gsl_cdf_chisq_Q(sum, (double)(n - 1));
}
