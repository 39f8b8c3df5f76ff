/* Fieller's interval. */
#include "stats/ratio.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "base/ban.h"

/* Two means, the variances of these means, and their covariance. */
struct means {
    double a, b, var_a, var_b, cov;
};

/* The roots of (b - r a)^2 = t^2 (var_b - 2 r cov + r^2 var_a) in r. */
static struct interval_ratio fieller(const struct means *means, double df, double confidence)
{
    struct interval_ratio result = {.ratio = means->a != 0 ? means->b / means->a : (double)NAN};
    result.interval = (struct interval){.low = (double)NAN, .high = (double)NAN};
    if (!(df > 0) || !(means->var_a + means->var_b > 0) || means->a == 0)
        return result;
    double t = gsl_cdf_tdist_Qinv((1 - confidence) / 2, df), square = t * t;
    double first = means->a * means->a - square * means->var_a;
    double half = means->a * means->b - square * means->cov;
    double last = means->b * means->b - square * means->var_b;
    double below = half * half - first * last;
    if (!(first > 0) || !(below >= 0))
        return result;
    double root = sqrt(below);
    /* the ratio itself lies inside but for rounding */
    result.interval = (struct interval){.low = fmin((half - root) / first, result.ratio),
                                        .high = fmax((half + root) / first, result.ratio),
                                        .confidence = confidence};
    return result;
}

struct interval_ratio interval_ratio_paired(const double *a, const double *b, size_t n, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    struct moments of_a = {0}, of_b = {0};
    for (size_t i = 0; i < n; i++) {
        moments_add(&of_a, a[i]);
        moments_add(&of_b, b[i]);
    }
    double together = 0;
    for (size_t i = 0; i < n; i++)
        together += (a[i] - of_a.mean) * (b[i] - of_b.mean);
    double count = (double)n, scale = n > 1 ? count * (count - 1) : (double)NAN;
    struct means means = {of_a.mean, of_b.mean, of_a.m2 / scale, of_b.m2 / scale, together / scale};
    return fieller(&means, count - 1, confidence);
}

struct interval_ratio interval_ratio_welch(const struct moments *a, const struct moments *b, double confidence)
{
    struct means means = {a->mean, b->mean, moments_variance(a) / (double)a->n, moments_variance(b) / (double)b->n, 0};
    double df = a->n > 1 && b->n > 1 ? t_test_welch(a, b, confidence).df : (double)NAN;
    return fieller(&means, df, confidence);
}
