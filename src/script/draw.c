/* The four distributions. */
#include "script/draw_int.h"

#include <math.h>
#include <stddef.h>

#include "base/ban.h"

static const char *draw_check_range(int64_t low, int64_t high)
{
    if (low > high)
        return "the lower bound of a random range is above its upper bound";
    if ((uint64_t)high - (uint64_t)low > INT64_MAX - 1)
        return "a random range is wider than 2^63";
    return NULL;
}

const char *draw_uniform(struct pl_rng *rng, int64_t low, int64_t high, int64_t *ret_value)
{
    const char *wrong = draw_check_range(low, high);
    if (wrong == NULL)
        *ret_value = pl_rng_range(rng, low, high);
    return wrong;
}

/* The slot of [low, high] that a fraction in [0, 1) falls into. */
static int64_t draw_slot(int64_t low, int64_t high, double fraction)
{
    double slots = (double)((uint64_t)high - (uint64_t)low) + 1;
    uint64_t slot = (uint64_t)(fraction * slots);
    uint64_t last = (uint64_t)high - (uint64_t)low;
    return (int64_t)((uint64_t)low + (slot < last ? slot : last));
}

const char *draw_exponential(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value)
{
    const char *wrong = draw_check_range(low, high);
    if (wrong != NULL)
        return wrong;
    if (!(parameter > 0))
        return "the parameter of random_exponential must be above 0";
    double cut = -expm1(-parameter); /* 1 - exp(-parameter) */
    double fraction = -log1p(-cut * pl_rng_unit(rng)) / parameter;
    *ret_value = draw_slot(low, high, fraction);
    return NULL;
}

const char *draw_gaussian(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value)
{
    const char *wrong = draw_check_range(low, high);
    if (wrong != NULL)
        return wrong;
    if (!(parameter >= 2.0))
        return "the parameter of random_gaussian must be at least 2.0";
    double deviate;
    do {
        double radius = sqrt(-2.0 * log1p(-pl_rng_unit(rng)));
        deviate = radius * sin(2.0 * M_PI * pl_rng_unit(rng));
    } while (deviate < -parameter || deviate >= parameter);
    *ret_value = draw_slot(low, high, (deviate + parameter) / (2.0 * parameter));
    return NULL;
}

/* (exp(x) - 1) / x and log1p(x) / x, also where x is close to 0. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}

static double log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x * (0.5 - x / 3);
}

/* The integral of x^-s from 1 to x, and its inverse; exact in the limit s = 1. */
static double zipf_integral(double x, double s)
{
    double log_x = log(x);
    return expm1_over((1 - s) * log_x) * log_x;
}

static double zipf_integral_inverse(double y, double s)
{
    double t = y * (1 - s);
    if (t < -1)
        t = -1; /* only by rounding */
    return exp(log1p_over(t) * y);
}

const char *draw_zipfian(struct pl_rng *rng, int64_t low, int64_t high, double exponent, int64_t *ret_value)
{
    const char *wrong = draw_check_range(low, high);
    if (wrong != NULL)
        return wrong;
    if (!(exponent >= 0) || !isfinite(exponent))
        return "the parameter of random_zipfian must be at least 0";
    double n = (double)((uint64_t)high - (uint64_t)low) + 1;
    double first = zipf_integral(1.5, exponent) - 1;
    double last = zipf_integral(n + 0.5, exponent);
    double shift = 2 - zipf_integral_inverse(zipf_integral(2.5, exponent) - exp(-exponent * log(2.0)), exponent);
    double k;
    for (;;) {
        double u = last + pl_rng_unit(rng) * (first - last);
        double x = zipf_integral_inverse(u, exponent);
        k = floor(x + 0.5);
        k = k < 1 ? 1 : k > n ? n : k;
        if (k - x <= shift || u >= zipf_integral(k + 0.5, exponent) - exp(-exponent * log(k)))
            break;
    }
    uint64_t slot = (uint64_t)(k - 1), top = (uint64_t)high - (uint64_t)low;
    *ret_value = (int64_t)((uint64_t)low + (slot < top ? slot : top));
    return NULL;
}
