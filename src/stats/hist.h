/* A log-linear histogram of non-negative integers, with HdrHistogram's bucket rule (G. Tene; HdrHistogram_c): values in
 * [lowest, highest] are kept with `digits` significant decimal digits, so that histograms merge exactly and quantiles have
 * a stated error. Exact minimum, maximum and sum are kept beside the buckets.
 *
 * Not thread safe: one owner. Recording never allocates. */
#ifndef PL_STATS_HIST_H
#define PL_STATS_HIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* What hist_record touches stands first: two cache lines, and the one of the count. */
struct hist {
    int64_t highest; /* the range asked for, any unit; for latencies ns */
    int64_t sub_bucket_mask;
    int64_t *counts; /* owned, or borrowed (hist_init_latency_on) */
    int unit_magnitude, sub_bucket_half_magnitude;
    int32_t counts_length;
    int32_t first_used, last_used; /* range of indices that may be non-zero; first > last when empty */
    int32_t sub_bucket_count, sub_bucket_half_count;
    int64_t total;    /* recorded values, clipped ones included */
    int64_t clipped;  /* values above highest: counted in the last bucket, in max and in sum with their true size */
    int64_t min, max; /* exact; 0 when total is 0 */
    __int128_t sum;   /* exact */
    int64_t lowest;
    int digits; /* 1..5 */
};

/* 1 <= lowest, 2 * lowest <= highest < 2^62, 1 <= digits <= 5; other values are a programming error. Allocates; pages of
 * counts that are never touched cost address space only. */
void hist_init(struct hist *hist, int64_t lowest, int64_t highest, int digits);
void hist_release(struct hist *hist);
void hist_clear(struct hist *hist); /* forgets the values; cost grows with the range of indices used, not with the size */

/* The one geometry used for latencies: 64 ns resolution, up to 1 h, 3 digits. */
void hist_init_latency(struct hist *hist);
/* The same on memory of the caller's: hist_latency_counts() counts, all 0, which outlive it. Not to be released. */
size_t hist_latency_counts(void);
void hist_init_latency_on(struct hist *hist, int64_t *counts);

/* value >= 0 (a negative one is a programming error). Values above highest are counted in `clipped` and reported, never
 * dropped silently. Amortised O(1), no allocation. Cannot fail. */
static inline void hist_record(struct hist *hist, int64_t value);
void hist_record_n(struct hist *hist, int64_t value, int64_t count); /* count >= 0 */

/* Adds all of `from` into `into`; both must have the same geometry. Exact. */
void hist_merge(struct hist *into, const struct hist *from);

/* The smallest recorded bucket whose cumulated count reaches ceil(q * total) (nearest rank), q in [0, 1]; returns the top
 * of that bucket as HdrHistogram does, but never more than the exact maximum nor, for q = 0, anything but the exact
 * minimum. So the result is never below the true order statistic, and above it by less than one bucket: at most 10^-digits
 * of it, or a unit (the power of two at or below `lowest`). A rank among the clipped values gives the maximum. 0 when
 * empty. */
int64_t hist_quantile(const struct hist *hist, double q);

/* The bucket value at a given rank (1-based, 1 <= rank <= total), as hist_quantile. */
int64_t hist_value_at_rank(const struct hist *hist, int64_t rank);

/* The quantile of values of which some (`censored`, may be NULL or empty) are only known to be at least so much: the
 * nearest rank with each of them taken at what is known. Where it could be more, *ret_at_least is true: the result is a
 * lower bound, to be printed as ">= T". It is exact when taking them all as infinite gives the same. Same geometry. 0 when
 * both are empty. (Type I and random right censoring; bounds of the empirical distribution, not Kaplan-Meier's estimate.)
 */
int64_t hist_quantile_censored(const struct hist *ended, const struct hist *censored, double q, bool *ret_at_least);

double hist_mean(const struct hist *hist); /* from the exact sum; NAN when empty */

/* n - 1, from bucket midpoints about the exact mean, clipped values as if all were the maximum; NAN when total < 2. */
double hist_stddev(const struct hist *hist);

/* Values in buckets up to and including value's; clipped ones count only when value is above `highest`. value >= 0. */
int64_t hist_count_at_most(const struct hist *hist, int64_t value);

/* Serialised form: version byte, geometry, counters, then (skip, count) for each non-empty bucket; all LEB128 varints in
 * their shortest form, so equal histograms have equal bytes. hist_decode initialises `ret_hist` (release it) only when it
 * returns PL_OK; bytes from outside: any wrong or inconsistent input gives PL_INPUT and never more memory than the geometry
 * allows (48 MB for the largest). The bytes of one histogram and nothing else: trailing bytes are wrong input. */
void hist_encode(const struct hist *hist, struct pl_buf *out);
PL_MUST_CHECK enum pl_code hist_decode(const void *bytes, size_t length, struct hist *ret_hist, struct pl_err *err);

/* Walks the non-empty buckets, lowest first: low and high are the bucket's inclusive bounds (of the last bucket also when
 * it holds clipped values). */
struct hist_bucket {
    int64_t low, high, count;
    int32_t index; /* private; start with {.index = -1} */
};
bool hist_next_bucket(const struct hist *hist, struct hist_bucket *bucket);

/* ---- private: inline, as recording is most of what the load itself does for an operation ---- */

/* 0 <= value <= highest. */
static inline int32_t hist_index(const struct hist *hist, int64_t value)
{
    int magnitude = 64 - __builtin_clzll((unsigned long long)(value | hist->sub_bucket_mask));
    int bucket = magnitude - hist->unit_magnitude - (hist->sub_bucket_half_magnitude + 1);
    int32_t sub_bucket = (int32_t)(value >> (bucket + hist->unit_magnitude));
    /* sub_bucket is in the upper half for every bucket but 0, so the halves below it add up to `bucket` of them */
    return (bucket << hist->sub_bucket_half_magnitude) + sub_bucket;
}

/* count > 0 */
static inline void hist_add(struct hist *hist, int64_t value, int64_t count)
{
    int32_t index = hist->counts_length - 1;
    if (__builtin_expect(value > hist->highest, 0))
        hist->clipped += count;
    else
        index = hist_index(hist, value);
    hist->counts[index] += count;
    if (__builtin_expect(index < hist->first_used, 0))
        hist->first_used = index;
    if (__builtin_expect(index > hist->last_used, 0))
        hist->last_used = index;
    if (__builtin_expect(hist->total == 0 || value < hist->min, 0))
        hist->min = value;
    if (__builtin_expect(value > hist->max, 0))
        hist->max = value;
    hist->total += count;
    hist->sum += (__int128_t)value * count;
}

static inline void hist_record(struct hist *hist, int64_t value)
{
    assert(value >= 0);
    hist_add(hist, value, 1);
}

#endif
