/* The ratio of two means with its interval (Fieller, J. R. Stat. Soc. B 16, 1954): all r for which mean(b) - r mean(a) is
 * not told from 0. Made from the same t test as the difference, it holds 1 exactly when that test does not reject at the
 * level. */
#ifndef PL_STATS_RATIO_H
#define PL_STATS_RATIO_H

#include "stats/interval.h"
#include "stats/moments.h"

struct interval_ratio {
    double ratio; /* mean(b) / mean(a); NAN when a side is empty or mean(a) is 0 */
    /* confidence 0: fewer than two values on a side, no spread at all, or so few and so scattered that mean(a) itself is
     * not told from 0 and every ratio would do */
    struct interval interval;
};

/* b[i] belongs to a[i]: their covariance counts, n - 1 degrees of freedom. */
struct interval_ratio interval_ratio_paired(const double *a, const double *b, size_t n, double confidence);

/* Independent values; the degrees of freedom are those of t_test_welch. */
struct interval_ratio interval_ratio_welch(const struct moments *a, const struct moments *b, double confidence);

#endif
