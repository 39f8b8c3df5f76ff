/* Private to src/script: hashes and the pseudorandom permutation, value for value those of pgbench 14 and later. */
#ifndef PL_SCRIPT_HASH_INT_H
#define PL_SCRIPT_HASH_INT_H

#include <stdint.h>

/* FNV-1a over the eight bytes of the value, the lowest first. Fowler, Noll, Vo. */
int64_t hash_fnv1a(int64_t value, int64_t seed);

/* MurmurHash2, 64 bits, over the eight bytes of the value. Appleby. */
int64_t hash_murmur2(int64_t value, int64_t seed);

/* Where `value` (modulo size) stands in a permutation of 0 .. size - 1 that the seed selects; size >= 1. */
int64_t hash_permute(int64_t value, int64_t size, int64_t seed);

#endif
