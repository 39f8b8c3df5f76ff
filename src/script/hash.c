/* Hashes and permutations. The constants are those of the published algorithms. */
#include "script/hash_int.h"

#include <assert.h>

#include "base/ban.h"

int64_t hash_fnv1a(int64_t value, int64_t seed)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)seed;
    for (uint64_t rest = (uint64_t)value, i = 0; i < sizeof value; i++, rest >>= 8)
        hash = (hash ^ (rest & 0xff)) * UINT64_C(0x100000001b3);
    return (int64_t)hash;
}

int64_t hash_murmur2(int64_t value, int64_t seed)
{
    const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t key = (uint64_t)value * multiplier;
    key = (key ^ key >> 47) * multiplier;
    uint64_t hash = ((uint64_t)seed ^ sizeof value * multiplier ^ key) * multiplier;
    hash = (hash ^ hash >> 47) * multiplier;
    return (int64_t)(hash ^ hash >> 47);
}

/* ---- permutations ---- */

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* xoroshiro128** (Blackman and Vigna), seeded by two draws of splitmix64: PostgreSQL's generator. */
struct stream {
    uint64_t a, b;
};

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t stream_next(struct stream *stream)
{
    uint64_t a = stream->a, mixed = stream->b ^ a;
    stream->a = rotate_left(a, 24) ^ mixed ^ mixed << 16;
    stream->b = rotate_left(mixed, 37);
    return rotate_left(a * 5, 7) * 9;
}

/* Uniform in [0, last]: the top bits, drawn again when they are too large. */
static uint64_t stream_up_to(struct stream *stream, uint64_t last)
{
    int shift = __builtin_clzll(last);
    for (;;) {
        uint64_t drawn = stream_next(stream) >> shift;
        if (drawn <= last)
            return drawn;
    }
}

/* Permutes the lower 2^bits numbers among themselves (an odd factor, exclusive or, rotation); the others stay. The two
 * draws are made in any case. */
static uint64_t permute_lower(struct stream *stream, uint64_t value, int bits)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t factor = (stream_next(stream) & mask) | 1;
    uint64_t flips = stream_next(stream) & mask;
    if (value > mask)
        return value;
    value = ((value * factor) ^ flips) & mask;
    return ((value << 1) & mask) | value >> (bits - 1);
}

int64_t hash_permute(int64_t value, int64_t size, int64_t seed)
{
    enum { ROUNDS = 6 };
    assert(size >= 1);
    if (size == 1)
        return 0;
    uint64_t state = (uint64_t)seed, count = (uint64_t)size, v = (uint64_t)value % count;
    struct stream stream = {0};
    stream.a = splitmix64(&state);
    stream.b = splitmix64(&state);
    int bits = 63 - __builtin_clzll(count);
    for (int round = 0; round < ROUNDS; round++) {
        v = permute_lower(&stream, v, bits);
        v = count - 1 - permute_lower(&stream, count - 1 - v, bits); /* the upper 2^bits, mirrored */
        v = (v + stream_up_to(&stream, count - 1)) % count;
    }
    return (int64_t)v;
}
