/* The bucket rule against values of HdrHistogram_c, and properties against sorted samples. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "stats/hist.h"

/* Mean and population deviation as HdrHistogram computes them: from the middle value of each bucket. */
static double hdr_mean(const struct hist *hist)
{
    double sum = 0;
    for (struct hist_bucket bucket = {.index = -1}; hist_next_bucket(hist, &bucket);)
        sum += (double)(bucket.low + (bucket.high - bucket.low + 1) / 2) * (double)bucket.count;
    return sum / (double)hist->total;
}

static double hdr_stddev(const struct hist *hist)
{
    double mean = hdr_mean(hist), sum = 0;
    for (struct hist_bucket bucket = {.index = -1}; hist_next_bucket(hist, &bucket);) {
        double off = (double)(bucket.low + (bucket.high - bucket.low + 1) / 2) - mean;
        sum += off * off * (double)bucket.count;
    }
    return sqrt(sum / (double)hist->total);
}

/* HdrHistogram's own test data: a thousand steady values and one stall. */
static void record_stall(struct hist *hist, bool corrected)
{
    hist_init(hist, 1, INT64_C(3600000000), 3);
    for (int i = 0; i < 10000; i++)
        hist_record(hist, 1000);
    for (int64_t value = 100000000; value >= 10000; value -= 10000) {
        hist_record(hist, value);
        if (!corrected)
            break;
    }
}

static void test_hdr_raw(void **state)
{
    (void)state;
    struct hist hist;
    record_stall(&hist, false);
    assert_int_equal(hist.total, 10001);
    assert_int_equal(hist.min, 1000);
    assert_int_equal(hist.max, 100000000);
    const double at_1000[] = {0.3, 0.5, 0.9, 0.99, 0.999, 0.9999};
    for (int i = 0; i < 6; i++)
        assert_int_equal(hist_quantile(&hist, at_1000[i]), 1000);
    assert_int_equal(hist_quantile(&hist, 0.99999), 100000000); /* the bucket's top is 100007935, the maximum is below */
    struct hist_bucket bucket = {.index = -1};
    assert_true(hist_next_bucket(&hist, &bucket));
    assert_int_equal(bucket.count, 10000);
    assert_true(hist_next_bucket(&hist, &bucket));
    assert_int_equal(bucket.high, 100007935);
    assert_int_equal(bucket.count, 1);
    assert_false(hist_next_bucket(&hist, &bucket));
    assert_close(hdr_mean(&hist), 10996.417158, 1e-9, 0);
    assert_close(hdr_stddev(&hist), 999641.715828, 1e-9, 0);
    assert_close(hist_mean(&hist), (1e7 + 1e8) / 10001, 1e-15, 0);
    assert_close(hist_stddev(&hist), 999641.715828 * sqrt(10001.0 / 10000), 1e-6, 0);
    hist_release(&hist);
}

static void test_hdr_corrected(void **state)
{
    (void)state;
    struct hist hist;
    record_stall(&hist, true);
    assert_int_equal(hist.total, 20000);
    assert_int_equal(hist_quantile(&hist, 0.5), 1000);
    assert_int_equal(hist_quantile(&hist, 0.75), 50003967);
    assert_int_equal(hist_quantile(&hist, 0.9), 80019455);
    assert_int_equal(hist_quantile(&hist, 0.99), 98041855);
    assert_close(hdr_mean(&hist), 25003006.6994, 1e-11, 0);
    assert_close(hdr_stddev(&hist), 32276410.4791, 1e-11, 0);
    assert_close(hist_stddev(&hist), 32276410.4791 * sqrt(20000.0 / 19999), 1e-6, 0);
    hist_release(&hist);
}

static void test_hdr_linear_buckets(void **state)
{
    (void)state;
    struct hist hist;
    record_stall(&hist, true);
    assert_int_equal(hist_count_at_most(&hist, 9999), 10000);
    assert_int_equal(hist_count_at_most(&hist, 10000), 10001);
    assert_int_equal(hist_count_at_most(&hist, 100000000), 20000);
    assert_int_equal(hist_count_at_most(&hist, 0), 0);
    hist_release(&hist);
}

static void test_hdr_ramp(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist, 1, 1000000, 3);
    for (int64_t value = 1; value <= 100000; value++)
        hist_record(&hist, value);
    assert_int_equal(hist_quantile(&hist, 0.5), 50015);
    assert_int_equal(hist_quantile(&hist, 0.9), 90047);
    assert_int_equal(hist_quantile(&hist, 0.99), 99007);
    assert_int_equal(hist_quantile(&hist, 0.999), 99903);
    assert_int_equal(hist_quantile(&hist, 1), 100000);
    assert_int_equal(hist_quantile(&hist, 0), 1);
    assert_close(hdr_mean(&hist), 50000.9949, 1e-9, 0);
    assert_close(hist_mean(&hist), 50000.5, 1e-15, 0);
    hist_release(&hist);
}

static void test_nearest_rank(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist, 1, 1000, 3);
    for (int64_t value = 1; value <= 10; value++)
        hist_record(&hist, value);
    assert_int_equal(hist_quantile(&hist, 0.9), 9);
    assert_int_equal(hist_quantile(&hist, 0.95), 10);
    assert_int_equal(hist_quantile(&hist, 0.99), 10);
    assert_int_equal(hist_quantile(&hist, 0.1), 1);
    assert_int_equal(hist_quantile(&hist, 1e-9), 1);
    hist_clear(&hist);
    /* every hundredth of a hundred values is exactly its own rank, whatever the rounding of q * 100 */
    for (int64_t value = 1; value <= 100; value++)
        hist_record(&hist, value);
    for (int rank = 1; rank <= 100; rank++) {
        assert_int_equal(hist_quantile(&hist, rank / 100.0), rank);
        assert_int_equal(hist_value_at_rank(&hist, rank), rank);
    }
    hist_release(&hist);
}

static void test_empty(void **state)
{
    (void)state;
    struct hist hist;
    hist_init_latency(&hist);
    assert_int_equal(hist_quantile(&hist, 0.5), 0);
    assert_int_equal(hist_quantile(&hist, 0), 0);
    assert_true(isnan(hist_mean(&hist)) && isnan(hist_stddev(&hist)));
    assert_int_equal(hist_count_at_most(&hist, 1000), 0);
    struct hist_bucket bucket = {.index = -1};
    assert_false(hist_next_bucket(&hist, &bucket));
    hist_record_n(&hist, 77, 0);
    assert_true(hist.total == 0 && hist.first_used > hist.last_used);
    hist_record(&hist, 77);
    assert_true(isnan(hist_stddev(&hist)) && hist_mean(&hist) == 77);
    hist_release(&hist);
}

/* The whole range in every geometry: bounds join without a gap, and each value lies in the bucket that counts it. */
static void test_buckets_tile_the_range(void **state)
{
    (void)state;
    static const struct {
        int64_t lowest, highest;
        int digits;
    } rows[] = {{1, 2, 1},
                {1, 1000, 1},
                {64, INT64_C(3600000000000), 3},
                {1000, INT64_C(1) << 40, 2},
                {3, 1000000, 4},
                {1, (INT64_C(1) << 62) - 1, 3},
                {INT64_C(1) << 60, (INT64_C(1) << 62) - 1, 5}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        struct hist hist;
        hist_init(&hist, rows[row].lowest, rows[row].highest, rows[row].digits);
        double power = pow(10, rows[row].digits);
        int64_t value = 0, buckets = 0;
        while (value <= rows[row].highest) {
            hist_clear(&hist);
            hist_record(&hist, value);
            struct hist_bucket bucket = {.index = -1};
            assert_true(hist_next_bucket(&hist, &bucket));
            assert_int_equal(bucket.low, value);
            assert_true((double)(bucket.high - bucket.low) <= fmax((double)rows[row].lowest, (double)value / power));
            hist_record(&hist, bucket.high < rows[row].highest ? bucket.high : rows[row].highest);
            assert_int_equal(hist_count_at_most(&hist, value), 2);
            assert_int_equal(hist.first_used, hist.last_used);
            assert_int_equal(bucket.index, buckets);
            value = bucket.high + 1;
            buckets++;
        }
        assert_true(buckets <= hist.counts_length);
        hist_release(&hist);
    }
}

static void test_clipped_values(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist, 1, 1000, 2);
    hist_record_n(&hist, 10, 98);
    hist_record(&hist, 5000);
    hist_record(&hist, INT64_MAX);
    assert_int_equal(hist.total, 100);
    assert_int_equal(hist.clipped, 2);
    assert_true(hist.max == INT64_MAX);
    assert_true(hist.sum == (__int128_t)INT64_MAX + 980 + 5000);
    assert_int_equal(hist_quantile(&hist, 0.98), 10);
    assert_true(hist_quantile(&hist, 0.99) == INT64_MAX);
    assert_int_equal(hist_count_at_most(&hist, 1000), 98);
    assert_int_equal(hist_count_at_most(&hist, 1001), 100);
    hist_release(&hist);
}

/* `highest` may stand in the last bucket itself: then a good value and clipped ones share it. */
static void test_clipped_values_beside_the_highest(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist, 1, 255, 2);
    hist_record_n(&hist, 255, 3);
    hist_record(&hist, 256);
    assert_int_equal(hist.first_used, hist.counts_length - 1);
    assert_int_equal(hist_count_at_most(&hist, 255), 3);
    assert_int_equal(hist_quantile(&hist, 0.75), 255);
    assert_int_equal(hist_quantile(&hist, 0.76), 256);
    assert_close(hist_stddev(&hist), 0.5, 1e-12, 0);
    hist_release(&hist);
}

static void test_deviation_against_the_values(void **state)
{
    (void)state;
    struct hist hist;
    hist_init(&hist, 1, 2000, 3); /* every value has a bucket of its own */
    const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (int i = 0; i < 8; i++)
        hist_record(&hist, values[i]);
    assert_close(hist_stddev(&hist), sqrt(32.0 / 7), 1e-14, 0);
    hist_release(&hist);
}

/* Latencies as they come: a body, a tail, and now and then an end of the range. */
static int64_t draw_value(struct pl_rng *rng, int64_t highest)
{
    switch (pl_rng_range(rng, 0, 9)) {
    case 0:
        return pl_rng_range(rng, 0, highest);
    case 1:
        return pl_rng_range(rng, 0, 100);
    case 2:
        return pl_rng_range(rng, highest, highest + highest / 2);
    default:
        return (int64_t)pl_rng_exponential(rng, 1e6) % highest;
    }
}

static int compare_i64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void assert_same(const struct hist *a, const struct hist *b)
{
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->clipped, b->clipped);
    assert_true(a->min == b->min && a->max == b->max && a->sum == b->sum);
    assert_int_equal(a->first_used, b->first_used);
    assert_int_equal(a->last_used, b->last_used);
    assert_int_equal(a->counts_length, b->counts_length);
    assert_memory_equal(a->counts, b->counts, (size_t)a->counts_length * sizeof *a->counts);
}

static void test_quantiles_bound_the_sample(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_TEST, 0);
    enum { MOST = 500 };
    struct hist hist;
    hist_init(&hist, 64, 1000000000, 3);
    for (int round = 0; round < 200; round++) {
        int64_t values[MOST], n = pl_rng_range(&rng, 1, MOST);
        hist_clear(&hist);
        for (int64_t i = 0; i < n; i++)
            hist_record(&hist, values[i] = draw_value(&rng, hist.highest));
        qsort(values, (size_t)n, sizeof values[0], compare_i64);
        assert_true(hist_quantile(&hist, 0) == values[0] && hist_quantile(&hist, 1) == values[n - 1]);
        for (int64_t rank = 1; rank <= n; rank++) {
            int64_t truth = values[rank - 1], told = hist_value_at_rank(&hist, rank);
            assert_true(told >= truth);
            if (truth <= hist.highest)
                assert_true(told - truth <= (truth / 1000 > 64 ? truth / 1000 : 64));
        }
        int64_t at_most = 0, limit = draw_value(&rng, hist.highest);
        for (int64_t i = 0; i < n; i++)
            at_most += values[i] <= limit;
        assert_true(hist_count_at_most(&hist, limit) >= at_most);
    }
    hist_release(&hist);
}

/* The truth lies between the order statistic of what is known and the one with the censored values beyond all others. */
static void test_censored_quantiles(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 21, PL_RNG_TEST, 0);
    enum { MOST = 60 };
    static const double quantiles[] = {0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
    struct hist ended, censored;
    hist_init(&ended, 64, 1000000000, 3);
    hist_init(&censored, 64, 1000000000, 3);
    int64_t exact = 0, bounds = 0;
    for (int round = 0; round < 3000; round++) {
        int64_t known[2 * MOST], beyond[2 * MOST], n = 0;
        int64_t ends = pl_rng_range(&rng, 0, MOST), cuts = pl_rng_range(&rng, 0, round % 3 == 0 ? MOST : 4);
        hist_clear(&ended);
        hist_clear(&censored);
        for (; n < ends; n++)
            hist_record(&ended, known[n] = beyond[n] = draw_value(&rng, ended.highest));
        for (; n < ends + cuts; n++) {
            hist_record(&censored, known[n] = draw_value(&rng, ended.highest));
            beyond[n] = INT64_MAX;
        }
        qsort(known, (size_t)n, sizeof known[0], compare_i64);
        qsort(beyond, (size_t)n, sizeof beyond[0], compare_i64);
        for (size_t i = 0; n > 0 && i < sizeof quantiles / sizeof quantiles[0]; i++) {
            int64_t rank = (int64_t)ceil(quantiles[i] * (double)n - 1e-9);
            int64_t low = known[rank < 1 ? 0 : rank - 1], high = beyond[rank < 1 ? 0 : rank - 1];
            bool at_least;
            int64_t told = hist_quantile_censored(&ended, &censored, quantiles[i], &at_least);
            int64_t step = low / 1000 > 64 ? low / 1000 : 64;
            assert_true(told >= low && (low > ended.highest || told - low <= step));
            if (low == high)
                assert_false(at_least);
            if (high - low > 2 * step && low <= ended.highest)
                assert_true(at_least);
            if (!at_least)
                assert_true(told >= high && (high > ended.highest || told - high <= step));
            *(at_least ? &bounds : &exact) += 1;
        }
    }
    assert_true(exact > 1000 && bounds > 1000); /* both were met */
    hist_release(&ended);
    hist_release(&censored);
}

static void test_censored_quantiles_of_a_black_hole(void **state)
{
    (void)state;
    struct hist ended, censored;
    bool at_least = true;
    hist_init_latency(&ended);
    hist_init_latency(&censored);
    assert_int_equal(hist_quantile_censored(&ended, &censored, 0.5, &at_least), 0);
    assert_false(at_least);
    hist_record_n(&censored, 1000000000, 100);
    assert_int_equal(hist_quantile_censored(&ended, &censored, 0.5, &at_least), 1000000000);
    assert_true(at_least);
    /* 100 that timed out beside 900 that came in time: p90 is known, p91 is not */
    hist_record_n(&ended, 5000000, 900);
    assert_int_equal(hist_quantile_censored(&ended, &censored, 0.9, &at_least), hist_quantile(&ended, 1));
    assert_false(at_least);
    assert_int_equal(hist_quantile_censored(&ended, &censored, 0.91, &at_least), 1000000000);
    assert_true(at_least);
    assert_int_equal(hist_quantile_censored(&ended, NULL, 0.91, &at_least), hist_quantile(&ended, 1));
    assert_false(at_least);
    /* what was cut off early could be anything: the middle is a bound, though all that ended are alike */
    hist_clear(&censored);
    hist_record_n(&censored, 1000000, 900);
    assert_int_equal(hist_quantile_censored(&ended, &censored, 0.5, &at_least), hist_quantile(&censored, 1));
    assert_true(at_least);
    hist_release(&ended);
    hist_release(&censored);
}

static void test_merge_is_the_histogram_of_all(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 12, PL_RNG_TEST, 0);
    struct hist whole, merged, parts[5];
    hist_init_latency(&whole);
    hist_init_latency(&merged);
    for (int i = 0; i < 5; i++)
        hist_init_latency(&parts[i]);
    for (int round = 0; round < 100; round++) {
        hist_clear(&whole);
        hist_clear(&merged);
        for (int i = 0; i < 5; i++)
            hist_clear(&parts[i]);
        for (int64_t n = pl_rng_range(&rng, 0, 300); n > 0; n--) {
            int64_t value = draw_value(&rng, whole.highest), count = pl_rng_range(&rng, 1, 3);
            hist_record_n(&whole, value, count);
            hist_record_n(&parts[pl_rng_range(&rng, 0, 4)], value, count);
        }
        for (int i = 0; i < 5; i++)
            hist_merge(&merged, &parts[i]);
        assert_same(&merged, &whole);
    }
    hist_release(&whole);
    hist_release(&merged);
    for (int i = 0; i < 5; i++)
        hist_release(&parts[i]);
}

static void test_clear_forgets_all(void **state)
{
    (void)state;
    struct hist used, fresh;
    hist_init_latency(&used);
    hist_init_latency(&fresh);
    hist_record(&used, 0);
    hist_record(&used, INT64_MAX);
    hist_record(&used, 12345678);
    hist_clear(&used);
    assert_same(&used, &fresh);
    hist_record(&used, 500);
    assert_true(used.min == 500 && used.max == 500);
    hist_release(&used);
    hist_release(&fresh);
}

static void test_record_n_is_n_times_record(void **state)
{
    (void)state;
    struct hist many, once;
    hist_init(&many, 1, 100000, 2);
    hist_init(&once, 1, 100000, 2);
    for (int i = 0; i < 37; i++)
        hist_record(&once, 4321);
    hist_record_n(&many, 4321, 37);
    assert_same(&many, &once);
    hist_release(&many);
    hist_release(&once);
}

static void fill(struct pl_rng *rng, struct hist *hist, int64_t most)
{
    for (int64_t n = pl_rng_range(rng, 0, most); n > 0; n--)
        hist_record_n(hist, draw_value(rng, hist->highest), pl_rng_range(rng, 1, 1000));
}

static void test_encode_decode_identity(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 13, PL_RNG_TEST, 0);
    for (int round = 0; round < 200; round++) {
        struct hist hist, back;
        struct pl_err err = {0};
        int64_t lowest = pl_rng_range(&rng, 1, 1000);
        hist_init(&hist, lowest, pl_rng_range(&rng, 2 * lowest, INT64_C(1) << 40), (int)pl_rng_range(&rng, 1, 3));
        fill(&rng, &hist, 60);
        struct pl_buf bytes, again;
        pl_buf_init(&bytes, 1 << 20);
        pl_buf_init(&again, 1 << 20);
        hist_encode(&hist, &bytes);
        assert_int_equal(hist_decode(bytes.data, bytes.len, &back, &err), PL_OK);
        assert_int_equal(err.code, PL_OK);
        assert_true(back.lowest == hist.lowest && back.highest == hist.highest && back.digits == hist.digits);
        assert_same(&back, &hist);
        hist_encode(&back, &again);
        assert_int_equal(again.len, bytes.len);
        assert_memory_equal(again.data, bytes.data, bytes.len);
        pl_buf_release(&bytes);
        pl_buf_release(&again);
        hist_release(&hist);
        hist_release(&back);
    }
}

static void test_encoded_is_compact(void **state)
{
    (void)state;
    struct hist hist;
    hist_init_latency(&hist);
    struct pl_rng rng;
    pl_rng_init(&rng, 14, PL_RNG_TEST, 0);
    for (int i = 0; i < 100000; i++)
        hist_record(&hist, (int64_t)pl_rng_exponential(&rng, 2e6));
    int buckets = 0;
    for (struct hist_bucket bucket = {.index = -1}; hist_next_bucket(&hist, &bucket);)
        buckets++;
    struct pl_buf bytes;
    pl_buf_init(&bytes, 1 << 20);
    hist_encode(&hist, &bytes);
    assert_true(buckets > 1000 && bytes.len < 60 + 3 * (size_t)buckets);
    pl_buf_release(&bytes);
    hist_release(&hist);
}

/* Bytes that were bent may by chance still be a histogram; then it must be a consistent one, and its bytes these. */
static void decode_bent(const unsigned char *bytes, size_t length)
{
    struct pl_err err = {0};
    struct hist hist;
    unsigned char *copy = support_guard_alloc(length);
    memcpy(copy, bytes, length);
    if (hist_decode(copy, length, &hist, &err) == PL_OK) {
        assert_int_equal(err.code, PL_OK);
        struct pl_buf again;
        pl_buf_init(&again, 1 << 24);
        hist_encode(&hist, &again);
        assert_int_equal(again.len, length);
        assert_memory_equal(again.data, bytes, length);
        if (hist.total > 0)
            assert_true(hist_quantile(&hist, 0) == hist.min && hist_quantile(&hist, 1) == hist.max);
        pl_buf_release(&again);
        hist_release(&hist);
    } else {
        assert_int_equal(err.code, PL_INPUT);
        assert_true(err.what[0] != '\0');
    }
    support_guard_free(copy, length);
}

static void test_decode_of_bent_bytes(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 15, PL_RNG_TEST, 0);
    struct hist hist;
    hist_init(&hist, 64, INT64_C(3600000000000), 2);
    for (int round = 0; round < 30; round++) {
        hist_clear(&hist);
        fill(&rng, &hist, 20);
        struct pl_buf bytes;
        pl_buf_init(&bytes, 1 << 20);
        hist_encode(&hist, &bytes);
        unsigned char *data = (unsigned char *)bytes.data;
        for (size_t cut = 0; cut < bytes.len; cut++) { /* no true start of a histogram is one */
            struct pl_err err = {0};
            struct hist part;
            assert_int_equal(hist_decode(data, cut, &part, &err), PL_INPUT);
        }
        for (int bend = 0; bend < 200; bend++) {
            size_t at = (size_t)pl_rng_range(&rng, 0, (int64_t)bytes.len - 1);
            unsigned char old = data[at];
            data[at] = (unsigned char)pl_rng_u64(&rng);
            decode_bent(data, bytes.len);
            data[at] = old;
        }
        pl_buf_release(&bytes);
    }
    hist_release(&hist);
}

/* Each row breaks one rule; the row before the break is a good histogram of the value 5, three times, in 1..1000, 1 digit.
 */
static void test_decode_refuses(void **state)
{
    (void)state;
#define HEAD 1, 1, 0xe8, 0x07, 1
    static const unsigned char good[] = {HEAD, 3, 0, 5, 5, 15, 5, 3};
    struct pl_err err = {0};
    struct hist hist;
    assert_int_equal(hist_decode(good, sizeof good, &hist, &err), PL_OK);
    assert_true(hist.total == 3 && hist.sum == 15 && hist_quantile(&hist, 0.5) == 5);
    hist_release(&hist);
    static const struct {
        const char *why;
        size_t length;
        unsigned char bytes[20];
    } rows[] = {
        {"form", 12, {2, 1, 0xe8, 0x07, 1, 3, 0, 5, 5, 15, 5, 3}},
        {"range", 12, {1, 0, 0xe8, 0x07, 1, 3, 0, 5, 5, 15, 5, 3}},
        {"range", 12, {1, 1, 0xe8, 0x07, 6, 3, 0, 5, 5, 15, 5, 3}},
        {"impossible range", 11, {1, 8, 15, 1, 3, 0, 5, 5, 15, 5, 3}},
        {"longer than", 13, {HEAD, 0x83, 0, 0, 5, 5, 15, 5, 3}},
        {"range", 12, {HEAD, 3, 4, 5, 5, 15, 5, 3}},
        {"maximum", 12, {HEAD, 3, 1, 5, 5, 15, 5, 3}},
        {"minimum", 12, {HEAD, 3, 0, 6, 5, 15, 5, 3}},
        {"minimum", 10, {HEAD, 0, 0, 5, 5, 0}},
        {"limits", 12, {HEAD, 3, 0, 4, 5, 14, 5, 3}},
        {"limits", 12, {HEAD, 3, 0, 5, 6, 16, 5, 3}},
        {"range", 12, {HEAD, 3, 0, 5, 5, 14, 5, 3}},
        {"sum", 16, {HEAD, 3, 0, 1, 9, 14, 1, 1, 3, 1, 3, 1}},
        {"range", 12, {HEAD, 3, 0, 5, 5, 16, 5, 3}},
        {"range", 13, {HEAD, 3, 0, 5, 5, 15, 0xe8, 0x07, 3}},
        {"range", 12, {HEAD, 3, 0, 5, 5, 15, 5, 4}},
        {"range", 12, {HEAD, 3, 0, 5, 5, 15, 5, 0}},
        {"early", 12, {HEAD, 3, 0, 5, 5, 15, 5, 2}},
        {"after its end", 13, {HEAD, 3, 0, 5, 5, 15, 5, 3, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        err = (struct pl_err){0};
        assert_int_equal(hist_decode(rows[i].bytes, rows[i].length, &hist, &err), PL_INPUT);
        if (strstr(err.what, rows[i].why) == NULL)
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, err.what, rows[i].why);
    }
    err = (struct pl_err){0};
    assert_int_equal(hist_decode(NULL, 0, &hist, &err), PL_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hdr_raw),
        cmocka_unit_test(test_hdr_corrected),
        cmocka_unit_test(test_hdr_linear_buckets),
        cmocka_unit_test(test_hdr_ramp),
        cmocka_unit_test(test_nearest_rank),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_buckets_tile_the_range),
        cmocka_unit_test(test_clipped_values),
        cmocka_unit_test(test_clipped_values_beside_the_highest),
        cmocka_unit_test(test_deviation_against_the_values),
        cmocka_unit_test(test_quantiles_bound_the_sample),
        cmocka_unit_test(test_censored_quantiles),
        cmocka_unit_test(test_censored_quantiles_of_a_black_hole),
        cmocka_unit_test(test_merge_is_the_histogram_of_all),
        cmocka_unit_test(test_clear_forgets_all),
        cmocka_unit_test(test_record_n_is_n_times_record),
        cmocka_unit_test(test_encode_decode_identity),
        cmocka_unit_test(test_encoded_is_compact),
        cmocka_unit_test(test_decode_of_bent_bytes),
        cmocka_unit_test(test_decode_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
