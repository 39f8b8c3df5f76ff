/* Mean and variance of a stream, numerically stable (Welford 1962; merge: Chan, Golub, LeVeque 1979). */
#ifndef PL_STATS_MOMENTS_H
#define PL_STATS_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

struct moments {
    int64_t n;
    double mean, m2; /* m2: sum of squared deviations from the mean */
    double min, max; /* 0 when n is 0, as is the mean */
};

void moments_add(struct moments *moments, double value); /* start from {0} */
void moments_merge(struct moments *into, const struct moments *from);
double moments_variance(const struct moments *moments); /* n - 1; NAN when n < 2 */
double moments_stddev(const struct moments *moments);
double moments_cv(const struct moments *moments); /* stddev / |mean|; NAN when n < 2 or the mean is 0 */

#endif
