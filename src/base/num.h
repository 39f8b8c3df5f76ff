/* Numbers as people write them: the whole text must be a number of its kind, inside a range, with its unit.
 * "50abc" is refused, "0.5s" is not. No locale is involved. */
#ifndef PL_BASE_NUM_H
#define PL_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a parse can find; ret_value is set on PL_NUM_OK only. The caller words the error: it knows the key and the place. */
enum pl_num_result { PL_NUM_OK, PL_NUM_BAD, PL_NUM_NO_UNIT, PL_NUM_BAD_UNIT, PL_NUM_RANGE };

/* Decimal integer, optional sign; `_` between digits is allowed (10_000). */
enum pl_num_result pl_num_i64(const char *text, size_t length, int64_t *ret_value);
/* Decimal, optional fraction and exponent; no inf, nan or hex; at most 127 characters. */
enum pl_num_result pl_num_f64(const char *text, size_t length, double *ret_value);
/* A duration with unit ns, us, ms, s, m (or min), h, d: "60s", "0.5ms", "1h". 0 needs no unit. Result >= 0,
 * exact when written without a fraction, else the nearest nanosecond. */
enum pl_num_result pl_num_duration_ns(const char *text, size_t length, int64_t *ret_ns);
/* A size with unit B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024). 0 needs no unit. Result >= 0,
 * exact when written without a fraction, else the nearest byte. */
enum pl_num_result pl_num_bytes(const char *text, size_t length, int64_t *ret_bytes);
/* A rate with unit /s, /min (or /m), /h: "200/s", "90/min", "5/h". Result in events per second, > 0. */
enum pl_num_result pl_num_rate(const char *text, size_t length, double *ret_per_s);

/* Text for people, into buf (always NUL-ended, cut when it does not fit; 24 bytes are enough up to 10^15 s); returns buf.
 * Three significant digits and a fitting unit: "1.23 ms", "45.0 s", "3600 s", "512 B", "2.10 GiB". Not for JSON. */
const char *pl_num_text_ns(char *buf, size_t size, double ns);
const char *pl_num_text_bytes(char *buf, size_t size, double bytes);

#endif
