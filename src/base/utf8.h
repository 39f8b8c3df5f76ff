/* Text from outside as valid UTF-8. */
#ifndef PL_BASE_UTF8_H
#define PL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define PL_UTF8_REPLACEMENT 0xFFFDU

/* One character; returns its length, or 0 when the bytes are not UTF-8 (overlong, surrogate, too large, cut off). left
 * >= 1.
 */
size_t pl_utf8_decode(const unsigned char *bytes, size_t left, uint32_t *ret_code);

/* Writes a character (at most 4 bytes); returns its end. */
char *pl_utf8_encode(char *at, uint32_t code);

/* A copy in which each byte that is not UTF-8 is U+FFFD; everything else stays. */
const char *pl_utf8_repair(struct pl_arena *arena, const char *text);

#endif
