/* Mean and variance of a stream, numerically stable (Welford 1962; merge: Chan, Golub, LeVeque 1979). */
#ifndef PL_STATS_MOMENTS_H
#define PL_STATS_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

struct moments {
    int64_t n;
    double mean, m2, min, max;
};

void moments_add(struct moments *moments, double value); /* start from {0} */
void moments_merge(struct moments *into, const struct moments *from);
double moments_variance(const struct moments *moments); /* n - 1; NAN when n < 2 */
double moments_stddev(const struct moments *moments);
double moments_cv(const struct moments *moments); /* stddev / |mean|; NAN when undefined */

#endif
