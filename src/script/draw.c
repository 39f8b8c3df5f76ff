/* The four distributions. */
#include "script/draw_int.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/ban.h"

int64_t draw_uniform(struct pl_rng *rng, int64_t low, int64_t high)
{
    return pl_rng_range(rng, low, high);
}

/* The slot of [low, high] that a fraction in [0, 1) falls into. */
static int64_t draw_slot(int64_t low, int64_t high, double fraction)
{
    uint64_t last = (uint64_t)high - (uint64_t)low;
    uint64_t slot = (uint64_t)(fraction * ((double)last + 1));
    return (int64_t)((uint64_t)low + (slot < last ? slot : last));
}

int64_t draw_exponential(struct pl_rng *rng, int64_t low, int64_t high, double shape)
{
    double cut = -expm1(-shape); /* 1 - exp(-shape) */
    return draw_slot(low, high, -log1p(-cut * pl_rng_unit(rng)) / shape);
}

int64_t draw_gaussian(struct pl_rng *rng, int64_t low, int64_t high, double shape)
{
    double deviate;
    do {
        double radius = sqrt(-2.0 * log1p(-pl_rng_unit(rng)));
        deviate = radius * sin(2.0 * M_PI * pl_rng_unit(rng));
    } while (deviate < -shape || deviate >= shape);
    return draw_slot(low, high, (deviate + shape) / (2.0 * shape));
}

/* ---- Zipf ---- */

/* The law of one (n, s). A draw inverts the integral H of x^-s at a uniform point and rounds; it is kept when it lies in
 * the part of the hat that the law fills. `limits` holds the border for the numbers that are drawn most; others compute it.
 */
enum { ZIPF_LIMITS = 64, ZIPF_LAWS = 8 };
struct zipf {
    double n, s;
    double one_minus_s, inverse; /* 1 - s, 1 / (1 - s) */
    double first, width;         /* the points go from first + width down to first */
    double shift;                /* k - x at most this much: kept without a further look */
    bool is_set, is_log;         /* is_log: s is so close to 1 that the limit law is right to 1e-9 and better */
    double limits[ZIPF_LIMITS];
};

/* Of this thread: scripts draw from few laws, again and again. */
static _Thread_local struct zipf zipf_laws[ZIPF_LAWS];

static double zipf_integral(const struct zipf *law, double x)
{
    double log_x = log(x);
    return law->is_log ? log_x : expm1(law->one_minus_s * log_x) * law->inverse;
}

/* log(1 + t) is exact enough where t is not small; where it is, for s near 1, log1p keeps what is left of it. */
static double zipf_inverse(const struct zipf *law, double y)
{
    if (law->is_log)
        return exp(y);
    double t = y * law->one_minus_s;
    if (t <= -1)
        return law->n + 0.5; /* only by rounding */
    return exp((fabs(t) < 1e-3 ? log1p(t) : log(1 + t)) * law->inverse);
}

/* Points at or above it belong to k. */
static double zipf_limit(const struct zipf *law, double k)
{
    return zipf_integral(law, k + 0.5) - exp(-law->s * log(k));
}

static void zipf_init(struct zipf *law, double n, double s)
{
    *law = (struct zipf){.n = n, .s = s, .is_set = true, .one_minus_s = 1 - s};
    law->is_log = fabs(law->one_minus_s) < 1e-12;
    law->inverse = law->is_log ? 0 : 1 / law->one_minus_s;
    law->first = zipf_integral(law, 1.5) - 1;
    law->width = zipf_integral(law, n + 0.5) - law->first;
    law->shift = 2 - zipf_inverse(law, zipf_limit(law, 2));
    for (int k = 1; k <= ZIPF_LIMITS; k++)
        law->limits[k - 1] = zipf_limit(law, k);
}

static const struct zipf *zipf_law(double n, double s)
{
    union {
        double d;
        uint64_t bits;
    } of_n = {.d = n}, of_s = {.d = s};
    uint64_t mixed = (of_n.bits ^ of_s.bits * 3) * UINT64_C(0x9e3779b97f4a7c15);
    struct zipf *law = &zipf_laws[mixed >> 61];
    if (!law->is_set || law->n != n || law->s != s)
        zipf_init(law, n, s);
    return law;
}

int64_t draw_zipfian(struct pl_rng *rng, int64_t low, int64_t high, double shape)
{
    uint64_t last = (uint64_t)high - (uint64_t)low;
    if (shape == 0 || last == 0)
        return pl_rng_range(rng, low, high);
    const struct zipf *law = zipf_law((double)last + 1, shape);
    for (;;) {
        double point = law->first + law->width * (1 - pl_rng_unit(rng));
        double x = zipf_inverse(law, point);
        double k = fmin(x, law->n) + 0.5;
        k = k < 1 ? 1 : k < 0x1p52 ? (double)(int64_t)k : k; /* above, doubles are whole */
        if (k - x > law->shift && point < (k <= ZIPF_LIMITS ? law->limits[(int)k - 1] : zipf_limit(law, k)))
            continue;
        uint64_t slot = (uint64_t)(k - 1);
        return (int64_t)((uint64_t)low + (slot < last ? slot : last));
    }
}
