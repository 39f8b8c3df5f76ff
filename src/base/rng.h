/* Random streams: one per purpose and per client, so that adding a draw in one place never changes another.
 *
 * xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021), seeded
 * by splitmix64 over (seed, purpose, index). Not for secrets. A stream belongs to one thread. */
#ifndef PL_BASE_RNG_H
#define PL_BASE_RNG_H

#include <stdint.h>

enum pl_rng_purpose {
    PL_RNG_SCRIPT,  /* values inside scripts, one stream per client */
    PL_RNG_CHOICE,  /* which script runs next, one per client */
    PL_RNG_ARRIVAL, /* arrival times, one per worker */
    PL_RNG_SERVICE, /* simulated service times */
    PL_RNG_SAMPLE,  /* which backends are sampled */
    PL_RNG_ORDER,   /* order of trials */
    PL_RNG_DATA,    /* filler of data sets */
    PL_RNG_TEST,
    PL_RNG_TENANT,  /* which tenant an operation is of, one per operation */
    PL_RNG_SESSION, /* how many operations a user carries out, one per user */
    PL_RNG_THINK    /* how long a client thinks, one per operation */
};

struct pl_rng {
    uint64_t s[4];
};

void pl_rng_init(struct pl_rng *rng, uint64_t seed, enum pl_rng_purpose purpose, uint64_t index);
uint64_t pl_rng_u64(struct pl_rng *rng);

/* Uniform in [0, 1), 53 bits. */
double pl_rng_unit(struct pl_rng *rng);

/* Uniform in [low, high], both included, without bias (Lemire 2019); low <= high. The whole int64 range is allowed. */
int64_t pl_rng_range(struct pl_rng *rng, int64_t low, int64_t high);

/* Exponential with the given mean (> 0, any unit). */
double pl_rng_exponential(struct pl_rng *rng, double mean);

#endif
