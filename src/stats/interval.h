/* Confidence intervals and the tests that go with them. Distribution functions come from GSL. */
#ifndef PL_STATS_INTERVAL_H
#define PL_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/moments.h"

struct interval {
    double low, high;
    double confidence; /* what was reached, e.g. 0.95; 0 when there is no interval: low and high are NAN then */
};

/* `confidence` and q are always inside (0, 1), ends excluded; other values are a programming error. */

/* Student's t interval of the mean over independent runs: mean +- t(1 - (1-c)/2, n-1) * s / sqrt(n). n < 2: no interval. */
struct interval interval_mean(const struct moments *moments, double confidence);

/* Order-statistic interval of a quantile (binomial; Conover, Practical Nonparametric Statistics, 3.2): ranks low < high
 * (1-based) so that the q-quantile of the law lies between the values of these ranks with at least `confidence`. The tails
 * are equal: low is the largest and high the smallest rank that leaves at most (1 - confidence) / 2 outside on its side;
 * *ret_reached is the exact P(low <= B < high), B binomial(n, q). Returns false, and sets nothing, when n is too small for
 * a two-sided interval. Any n up to 2^53; cost O(log n). */
bool interval_quantile_ranks(int64_t n, double q, double confidence, int64_t *ret_low, int64_t *ret_high,
                             double *ret_reached);

/* Smallest n with P(max >= q-quantile) >= confidence: 1 - q^n >= confidence (q .99 at 95 % -> 299). */
int64_t interval_quantile_min_n(double q, double confidence);

/* Welch's two-sample t test and the paired t test: difference b - a, its interval, t, degrees of freedom, two-sided p.
 * With fewer than two values on a side, or no spread at all, there is no test: t, p and the interval are NAN (confidence 0)
 * and only the difference is given (NAN when a side is empty). */
struct t_test {
    double difference, t, df, p;
    struct interval interval;
};
struct t_test t_test_welch(const struct moments *a, const struct moments *b, double confidence);
struct t_test t_test_paired(const double *a, const double *b, size_t n, double confidence);

/* One-sample Kolmogorov-Smirnov test against an exponential law of known mean (> 0): values are sorted in place. Returns
 * the statistic D; *ret_p is Stephens' approximation for a fully specified law (J. R. Stat. Soc. B 32, 1970): Kolmogorov's
 * limit at D (sqrt(n) + 0.12 + 0.11 / sqrt(n)). Both are NAN when n is 0. */
double ks_test_exponential(double *values, size_t n, double mean, double *ret_p);

/* Pearson's chi-square: observed against expected counts (> 0), df = n - 1. Returns the upper tail probability; NAN when
 * n < 2. The approximation wants expected counts of about 5 and more. */
double chi_square_p(const int64_t *observed, const double *expected, size_t n);

#endif
