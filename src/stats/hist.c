/* The bucket rule, after HdrHistogram_c: bucket 0 holds sub_bucket_count linear sub-buckets of one unit each; every further
 * bucket doubles the unit and uses only the upper half of its sub-buckets, as the lower half is what the bucket below
 * holds. All counts stand in one array: bucket 0's two halves, then one half per bucket. */
#include "stats/hist.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/arena.h"

#include "base/ban.h"

enum { FORM_VERSION = 1, MAX_DIGITS = 5 };
#define HIGHEST_LIMIT (INT64_C(1) << 62)

static bool hist_is_geometry(int64_t lowest, int64_t highest, int64_t digits)
{
    return lowest >= 1 && highest < HIGHEST_LIMIT && lowest <= highest / 2 && digits >= 1 && digits <= MAX_DIGITS;
}

/* Everything of the geometry but the memory. */
static void hist_set_geometry(struct hist *hist, int64_t lowest, int64_t highest, int digits)
{
    int64_t single_unit_values = 2; /* values up to 2 * 10^digits keep a resolution of one unit */
    for (int i = 0; i < digits; i++)
        single_unit_values *= 10;
    int magnitude = 64 - __builtin_clzll((unsigned long long)single_unit_values - 1);
    int unit_magnitude = 63 - __builtin_clzll((unsigned long long)lowest);
    if (unit_magnitude > 62 - magnitude)
        unit_magnitude = 62 - magnitude; /* finer than asked for; one bucket then reaches HIGHEST_LIMIT */
    *hist = (struct hist){
        .lowest = lowest,
        .highest = highest,
        .digits = digits,
        .unit_magnitude = unit_magnitude,
        .sub_bucket_half_magnitude = magnitude - 1,
        .sub_bucket_count = (int32_t)1 << magnitude,
        .sub_bucket_half_count = (int32_t)1 << (magnitude - 1),
        .sub_bucket_mask = (((int64_t)1 << magnitude) - 1) << unit_magnitude,
    };
    int buckets = 1;
    for (int64_t beyond = (int64_t)1 << (magnitude + unit_magnitude); beyond <= highest; beyond *= 2)
        buckets++;
    hist->counts_length = (buckets + 1) * hist->sub_bucket_half_count;
    hist->first_used = hist->counts_length;
    hist->last_used = -1;
}

void hist_init(struct hist *hist, int64_t lowest, int64_t highest, int digits)
{
    assert(hist_is_geometry(lowest, highest, digits));
    hist_set_geometry(hist, lowest, highest, digits);
    hist->counts = pl_new((size_t)hist->counts_length, sizeof *hist->counts);
}

void hist_release(struct hist *hist)
{
    pl_free(hist->counts);
    hist->counts = NULL;
}

void hist_clear(struct hist *hist)
{
    for (int32_t i = hist->first_used; i <= hist->last_used; i++)
        hist->counts[i] = 0;
    hist->first_used = hist->counts_length;
    hist->last_used = -1;
    hist->total = hist->clipped = hist->min = hist->max = 0;
    hist->sum = 0;
}

static void hist_set_latency_geometry(struct hist *hist)
{
    hist_set_geometry(hist, 64, INT64_C(3600) * 1000 * 1000 * 1000, 3);
}

size_t hist_latency_counts(void)
{
    struct hist hist;
    hist_set_latency_geometry(&hist);
    return (size_t)hist.counts_length;
}

void hist_init_latency_on(struct hist *hist, int64_t *counts)
{
    hist_set_latency_geometry(hist);
    hist->counts = counts;
}

void hist_init_latency(struct hist *hist)
{
    hist_set_latency_geometry(hist);
    hist->counts = pl_new((size_t)hist->counts_length, sizeof *hist->counts);
}

/* The inverse of hist_index: the bounds of what is counted at an index, both included. */
static void hist_bounds(const struct hist *hist, int32_t index, int64_t *ret_low, int64_t *ret_high)
{
    int32_t bucket = (index >> hist->sub_bucket_half_magnitude) - 1;
    if (bucket < 0)
        bucket = 0;
    int64_t sub_bucket = index - (bucket << hist->sub_bucket_half_magnitude);
    int shift = bucket + hist->unit_magnitude;
    *ret_low = sub_bucket << shift;
    *ret_high = *ret_low + (((int64_t)1 << shift) - 1);
}

void hist_record_n(struct hist *hist, int64_t value, int64_t count)
{
    assert(value >= 0 && count >= 0 && count <= INT64_MAX - hist->total);
    if (count > 0)
        hist_add(hist, value, count);
}

void hist_merge(struct hist *into, const struct hist *from)
{
    assert(into->lowest == from->lowest && into->highest == from->highest && into->digits == from->digits);
    assert(from->total <= INT64_MAX - into->total);
    if (from->total == 0)
        return;
    for (int32_t i = from->first_used; i <= from->last_used; i++)
        into->counts[i] += from->counts[i];
    if (from->first_used < into->first_used)
        into->first_used = from->first_used;
    if (from->last_used > into->last_used)
        into->last_used = from->last_used;
    if (into->total == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->total += from->total;
    into->clipped += from->clipped;
    into->sum += from->sum;
}

int64_t hist_value_at_rank(const struct hist *hist, int64_t rank)
{
    assert(rank >= 1 && rank <= hist->total);
    if (rank > hist->total - hist->clipped)
        return hist->max;
    int32_t index = hist->first_used;
    for (int64_t reached = hist->counts[index]; reached < rank; reached += hist->counts[index])
        index++;
    int64_t low, high;
    hist_bounds(hist, index, &low, &high);
    return high < hist->max ? high : hist->max;
}

/* The nearest rank, from 1; 0 for q = 0. total > 0. */
static int64_t quantile_rank(int64_t total, double q)
{
    assert(q >= 0 && q <= 1);
    /* q is the double nearest to what was meant: 0.07 * 100 is a little above 7, and must still be rank 7 */
    double exact = q * (double)total;
    double rank = ceil(exact - exact * (4 * DBL_EPSILON));
    if (rank < 1)
        return q > 0 ? 1 : 0;
    return rank >= (double)total ? total : (int64_t)rank;
}

int64_t hist_quantile(const struct hist *hist, double q)
{
    assert(q >= 0 && q <= 1);
    if (hist->total == 0)
        return 0;
    int64_t rank = quantile_rank(hist->total, q);
    return rank == 0 ? hist->min : hist_value_at_rank(hist, rank);
}

/* The index at which the counts of both reach `rank`; counts_length: it is among the clipped. */
static int32_t index_at_rank(const struct hist *a, const struct hist *b, int64_t rank)
{
    if (rank > a->total - a->clipped + b->total - b->clipped)
        return a->counts_length;
    int32_t index = a->first_used < b->first_used ? a->first_used : b->first_used;
    for (int64_t reached = a->counts[index] + b->counts[index]; reached < rank;) {
        index++;
        reached += a->counts[index] + b->counts[index];
    }
    return index;
}

int64_t hist_quantile_censored(const struct hist *ended, const struct hist *censored, double q, bool *ret_at_least)
{
    *ret_at_least = false;
    if (censored == NULL || censored->total == 0)
        return hist_quantile(ended, q);
    assert(ended->lowest == censored->lowest && ended->highest == censored->highest && ended->digits == censored->digits);
    assert(censored->total <= INT64_MAX - ended->total);
    int64_t rank = quantile_rank(ended->total + censored->total, q);
    if (rank == 0) {
        *ret_at_least = ended->total == 0 || censored->min < ended->min;
        return *ret_at_least ? censored->min : ended->min;
    }
    int32_t least = index_at_rank(ended, censored, rank);
    /* with the censored ones beyond all others, the rank is among those that ended, or among them */
    if (rank <= ended->total) {
        int64_t most = hist_value_at_rank(ended, rank);
        if (most > ended->highest ? least == ended->counts_length
                                  : least < ended->counts_length && hist_index(ended, most) == least)
            return most;
    }
    *ret_at_least = true;
    int64_t low, high = INT64_MAX, max = ended->max > censored->max ? ended->max : censored->max;
    if (least < ended->counts_length) {
        hist_bounds(ended, least, &low, &high);
        if (ended->counts[least] == 0) /* a bucket of time limits: the limit, not the top of its bucket */
            max = censored->max;
    }
    return high < max ? high : max;
}

double hist_mean(const struct hist *hist)
{
    return hist->total == 0 ? (double)NAN : (double)hist->sum / (double)hist->total;
}

double hist_stddev(const struct hist *hist)
{
    if (hist->total < 2)
        return (double)NAN;
    double mean = hist_mean(hist), squares = 0;
    for (struct hist_bucket bucket = {.index = -1}; hist_next_bucket(hist, &bucket);) {
        double off = (double)bucket.low + (double)(bucket.high - bucket.low) / 2 - mean;
        int64_t inside = bucket.index == hist->counts_length - 1 ? bucket.count - hist->clipped : bucket.count;
        squares += (double)inside * off * off;
    }
    double clipped_off = (double)hist->max - mean;
    squares += (double)hist->clipped * clipped_off * clipped_off;
    return sqrt(squares / (double)(hist->total - 1));
}

int64_t hist_count_at_most(const struct hist *hist, int64_t value)
{
    assert(value >= 0);
    if (value > hist->highest)
        return hist->total;
    int32_t last = hist_index(hist, value);
    int64_t count = last == hist->counts_length - 1 ? -hist->clipped : 0;
    for (int32_t i = hist->first_used; i <= last && i <= hist->last_used; i++)
        count += hist->counts[i];
    return count;
}

bool hist_next_bucket(const struct hist *hist, struct hist_bucket *bucket)
{
    int32_t index = bucket->index < 0 ? hist->first_used : bucket->index + 1;
    while (index <= hist->last_used && hist->counts[index] == 0)
        index++;
    if (index > hist->last_used)
        return false;
    bucket->index = index;
    bucket->count = hist->counts[index];
    hist_bounds(hist, index, &bucket->low, &bucket->high);
    return true;
}

static void put_varint(struct pl_buf *out, __uint128_t value)
{
    unsigned char bytes[19];
    size_t used = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[used++] = (unsigned char)(value & 0x7f) | 0x80;
    bytes[used++] = (unsigned char)value;
    pl_buf_put_bytes(out, bytes, used);
}

void hist_encode(const struct hist *hist, struct pl_buf *out)
{
    put_varint(out, FORM_VERSION);
    const int64_t head[] = {hist->lowest, hist->highest, hist->digits, hist->total, hist->clipped, hist->min, hist->max};
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        put_varint(out, (uint64_t)head[i]);
    put_varint(out, (__uint128_t)hist->sum);
    int32_t next = 0;
    for (struct hist_bucket bucket = {.index = -1}; hist_next_bucket(hist, &bucket); next = bucket.index + 1) {
        put_varint(out, (uint64_t)(bucket.index - next));
        put_varint(out, (uint64_t)bucket.count);
    }
}

/* What is left to decode. The first wrong byte sets `wrong`, and everything read after it is 0. */
struct decoder {
    const unsigned char *next, *end;
    const char *wrong;
};

static void decoder_require(struct decoder *in, bool holds, const char *otherwise)
{
    if (!holds && in->wrong == NULL)
        in->wrong = otherwise;
}

static __uint128_t take_varint(struct decoder *in, __uint128_t least, __uint128_t most)
{
    __uint128_t value = 0;
    unsigned char byte = 0x80;
    for (int shift = 0; byte >= 0x80 && in->wrong == NULL; shift += 7) {
        decoder_require(in, in->next < in->end, "ends early");
        if (in->wrong != NULL)
            break;
        byte = *in->next++;
        __uint128_t part = byte & 0x7f;
        decoder_require(in, byte != 0 || shift == 0, "has a number that is longer than it need be");
        decoder_require(in, shift < 126 && part <= most >> shift, "has a number that is out of range");
        if (in->wrong == NULL)
            value |= part << shift;
    }
    decoder_require(in, value >= least && value <= most, "has a number that is out of range");
    return in->wrong == NULL ? value : 0;
}

/* Counters and what they must agree on with each other; the buckets come later. */
static void decode_head(struct decoder *in, struct hist *hist)
{
    decoder_require(in, take_varint(in, 0, INT64_MAX) == FORM_VERSION, "has a form this program does not know");
    int64_t lowest = (int64_t)take_varint(in, 1, HIGHEST_LIMIT - 1);
    int64_t highest = (int64_t)take_varint(in, 1, HIGHEST_LIMIT - 1);
    int digits = (int)take_varint(in, 1, MAX_DIGITS);
    decoder_require(in, hist_is_geometry(lowest, highest, digits), "has an impossible range");
    if (in->wrong != NULL)
        return;
    hist_set_geometry(hist, lowest, highest, digits);
    hist->total = (int64_t)take_varint(in, 0, INT64_MAX);
    hist->clipped = (int64_t)take_varint(in, 0, (uint64_t)hist->total);
    hist->min = (int64_t)take_varint(in, 0, INT64_MAX);
    hist->max = (int64_t)take_varint(in, 0, INT64_MAX);
    decoder_require(in, hist->min <= hist->max && (hist->total > 0 || hist->max == 0), "has an impossible minimum");
    /* one value is the minimum and one the maximum; a single value is both */
    __int128_t others = hist->total > 0 ? hist->total - 1 : 0;
    __int128_t least = hist->max + others * hist->min, most = hist->min + others * hist->max;
    hist->sum = (__int128_t)take_varint(in, (__uint128_t)least, (__uint128_t)most);
    decoder_require(in, (hist->max > highest) == (hist->clipped > 0), "has an impossible maximum");
    decoder_require(in, hist->total == 0 || (hist->min > highest) == (hist->clipped == hist->total),
                    "has an impossible minimum");
}

static void decode_buckets(struct decoder *in, struct hist *hist)
{
    int32_t last_index = hist->counts_length - 1, next = 0;
    /* what the sum can be, given the buckets: clipped values lie between `highest` and the maximum */
    __int128_t least = (__int128_t)hist->clipped * (hist->highest + 1), most = (__int128_t)hist->clipped * hist->max;
    for (int64_t left = hist->total; left > 0 && in->wrong == NULL;) {
        decoder_require(in, next <= last_index, "has more counts than buckets");
        int32_t index = next + (int32_t)take_varint(in, 0, (uint64_t)(last_index - next));
        int64_t count = (int64_t)take_varint(in, 1, (uint64_t)left);
        int64_t inside = index == last_index ? count - hist->clipped : count;
        decoder_require(in, inside >= 0, "has fewer clipped values than it says");
        if (in->wrong != NULL)
            return;
        int64_t low, high;
        hist_bounds(hist, index, &low, &high);
        least += (__int128_t)inside * low;
        most += (__int128_t)inside * high;
        hist->counts[index] = count;
        hist->first_used = hist->last_used < 0 ? index : hist->first_used;
        hist->last_used = index;
        left -= count;
        next = index + 1;
    }
    if (hist->total == 0 || in->wrong != NULL)
        return;
    int32_t min_index = hist->min > hist->highest ? last_index : hist_index(hist, hist->min);
    int32_t max_index = hist->max > hist->highest ? last_index : hist_index(hist, hist->max);
    decoder_require(in, min_index == hist->first_used && max_index == hist->last_used, "has counts outside its own limits");
    decoder_require(in, hist->sum >= least && hist->sum <= most, "has a sum that its counts do not allow");
}

enum pl_code hist_decode(const void *bytes, size_t length, struct hist *ret_hist, struct pl_err *err)
{
    struct decoder in = {.next = bytes};
    in.end = length > 0 ? in.next + length : in.next;
    struct hist hist = {0};
    decode_head(&in, &hist);
    if (in.wrong == NULL) {
        hist.counts = pl_new((size_t)hist.counts_length, sizeof *hist.counts);
        decode_buckets(&in, &hist);
        decoder_require(&in, in.next == in.end, "has bytes after its end");
    }
    if (in.wrong != NULL) {
        hist_release(&hist);
        return pl_err_set(err, PL_INPUT, "the stored histogram %s", in.wrong);
    }
    *ret_hist = hist;
    return PL_OK;
}
