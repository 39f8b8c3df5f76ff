/* Private to src/script: draws from the distributions of \set. All need low <= high. The returned text is NULL, or says
 * what is wrong with the parameters. No allocation. */
#ifndef PL_SCRIPT_DRAW_INT_H
#define PL_SCRIPT_DRAW_INT_H

#include <stdint.h>

#include "base/rng.h"

const char *draw_uniform(struct pl_rng *rng, int64_t low, int64_t high, int64_t *ret_value);

/* Truncated exponential over the slots of [low, high]: parameter > 0, the larger the more the low values are preferred.
 * PostgreSQL manual, pgbench, "Built-in Functions": f(x) = exp(-parameter * (x - min) / (max - min + 1)) / (1 -
 * exp(-parameter)). */
const char *draw_exponential(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value);

/* Normal law cut at +-parameter standard deviations (>= 2), centred on the interval. Box and Muller 1958. */
const char *draw_gaussian(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value);

/* Zipf with any exponent >= 0 in O(1): rejection-inversion, Hoermann and Derflinger, "Rejection-inversion to generate
 * variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. */
const char *draw_zipfian(struct pl_rng *rng, int64_t low, int64_t high, double exponent, int64_t *ret_value);

#endif
