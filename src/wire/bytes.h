/* Bytes that must not stand where they do, looked for eight at a time. */
#ifndef PL_WIRE_BYTES_H
#define PL_WIRE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Per byte of a word, its top bit: set where the byte is below the limit, and perhaps in bytes behind the first such. */
static inline uint64_t wire_below(uint64_t word, uint8_t limit)
{
    return (word - 0x0101010101010101U * limit) & ~word & 0x8080808080808080U;
}

/* The first byte of [at, end) that is below the limit, which is at most 128, or is `other`; `end` when there is none. */
static inline const char *wire_find_below(const char *at, const char *end, uint8_t limit, char other)
{
    const uint64_t others = 0x0101010101010101U * (uint8_t)other;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word = le64toh(word);
        uint64_t found = wire_below(word, limit) | wire_below(word ^ others, 1);
        if (found != 0)
            return at + (__builtin_ctzll(found) >> 3);
    }
    while (at < end && (uint8_t)*at >= limit && *at != other)
        at++;
    return at;
}

/* Whether a byte of text[0..count) is below the limit. */
static inline bool wire_has_below(const char *text, size_t count, uint8_t limit)
{
    return count > 0 && wire_find_below(text, text + count, limit, '\0') < text + count;
}

/* Whether a name of a header is this one, written in lower case and at least 8 bytes long, as many as the name. The name
 * has no control characters: with its bit of 0x20 set nothing else becomes a letter or a '-'. */
static inline bool wire_is_name(const char *name, const char *lower, size_t length)
{
    for (size_t at = 0;; at += 8) {
        uint64_t one, other;
        if (at + 8 > length)
            at = length - 8;
        memcpy(&one, name + at, sizeof one);
        memcpy(&other, lower + at, sizeof other);
        if ((one | 0x2020202020202020U) != other)
            return false;
        if (at + 8 == length)
            return true;
    }
}

#endif
