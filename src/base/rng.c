/* xoshiro256++ and the draws that more than one room needs. */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

#include "base/ban.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void pl_rng_init(struct pl_rng *rng, uint64_t seed, enum pl_rng_purpose purpose, uint64_t index)
{
    /* each word passes through splitmix64 on its own, so that (seed, purpose, index) cannot cancel out by addition */
    uint64_t state = seed;
    state = splitmix64(&state) ^ (uint64_t)purpose;
    state = splitmix64(&state) ^ index;
    for (int i = 0; i < 4; i++)
        rng->s[i] = splitmix64(&state);
}

uint64_t pl_rng_u64(struct pl_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double pl_rng_unit(struct pl_rng *rng)
{
    return (double)(pl_rng_u64(rng) >> 11) * 0x1.0p-53;
}

int64_t pl_rng_range(struct pl_rng *rng, int64_t low, int64_t high)
{
    assert(low <= high);
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    if (span == 0)
        return (int64_t)pl_rng_u64(rng);
    __uint128_t product = (__uint128_t)pl_rng_u64(rng) * span;
    if ((uint64_t)product < span) {
        uint64_t threshold = -span % span;
        while ((uint64_t)product < threshold)
            product = (__uint128_t)pl_rng_u64(rng) * span;
    }
    return (int64_t)((uint64_t)low + (uint64_t)(product >> 64));
}

double pl_rng_exponential(struct pl_rng *rng, double mean)
{
    assert(mean > 0);
    return -mean * log1p(-pl_rng_unit(rng));
}
