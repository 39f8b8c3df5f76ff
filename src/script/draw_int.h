/* Private to src/script: draws from the distributions of \set, each in constant time. All need low <= high and a range of
 * less than 2^63 numbers; no allocation. */
#ifndef PL_SCRIPT_DRAW_INT_H
#define PL_SCRIPT_DRAW_INT_H

#include <stdint.h>

#include "base/rng.h"

int64_t draw_uniform(struct pl_rng *rng, int64_t low, int64_t high);

/* Truncated exponential over the slots of [low, high]: shape > 0, the larger the more the low values are preferred.
 * PostgreSQL manual, pgbench, "Built-in Functions": f(x) = exp(-shape * (x - min) / (max - min + 1)) / (1 - exp(-shape)).
 */
int64_t draw_exponential(struct pl_rng *rng, int64_t low, int64_t high, double shape);

/* Normal law cut at +-shape standard deviations, centred on the interval. Box and Muller 1958. */
#define DRAW_GAUSSIAN_LEAST 2.0
int64_t draw_gaussian(struct pl_rng *rng, int64_t low, int64_t high, double shape);

/* Zipf with any finite shape >= 0: rejection-inversion, Hoermann and Derflinger, "Rejection-inversion to generate variates
 * from monotone discrete distributions", ACM TOMACS 6(3), 1996. */
int64_t draw_zipfian(struct pl_rng *rng, int64_t low, int64_t high, double shape);

#endif
