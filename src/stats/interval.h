/* Confidence intervals and the tests that go with them. Distribution functions come from GSL. */
#ifndef PL_STATS_INTERVAL_H
#define PL_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/moments.h"

struct interval {
    double low, high;
    double confidence; /* what was reached, e.g. 0.95; 0 when there is no interval (too few values) */
};

/* Student's t interval of the mean over independent runs: mean +- t(1 - (1-c)/2, n-1) * s / sqrt(n). n < 2: no interval. */
struct interval interval_mean(const struct moments *moments, double confidence);

/* Order-statistic interval of a quantile (binomial; Conover, Practical Nonparametric Statistics, 3.2): ranks low and high
 * (1-based) so that the q-quantile lies between the values of these ranks with at least `confidence`. Chosen symmetric about
 * n*q: the smallest such pair. Returns false when n is too small for a two-sided interval. */
bool interval_quantile_ranks(int64_t n, double q, double confidence, int64_t *ret_low, int64_t *ret_high, double *ret_reached);

/* Smallest n with P(max >= q-quantile) >= confidence (O-34: q .99 -> 299). */
int64_t interval_quantile_min_n(double q, double confidence);

/* Welch's two-sample t test and paired t test: difference b - a, its interval, t, degrees of freedom, two-sided p. */
struct t_test {
    double difference, t, df, p;
    struct interval interval;
};
struct t_test t_test_welch(const struct moments *a, const struct moments *b, double confidence);
struct t_test t_test_paired(const double *a, const double *b, size_t n, double confidence);

/* One-sample Kolmogorov-Smirnov test against an exponential law of known mean: values are sorted in place. Returns the
 * statistic D; *ret_p is Stephens' (1970) approximation for a fully specified law. */
double ks_test_exponential(double *values, size_t n, double mean, double *ret_p);

/* Pearson's chi-square: observed against expected counts (> 0), df = n - 1. Returns the upper tail probability. */
double chi_square_p(const int64_t *observed, const double *expected, size_t n);

#endif
