/* The log is read back by a decoder written from the format's description, with zlib. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/rng.h"
#include "stats/hlog.h"

enum { PLAIN_MOST = 4 * 1024 * 1024 };

static size_t decode_base64(const char *text, size_t length, unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t have = 0;
    assert_int_equal(length % 4, 0);
    for (size_t i = 0; i < length; i += 4) {
        uint32_t bits = 0;
        int padding = 0;
        for (size_t j = 0; j < 4; j++) {
            const char *digit = text[i + j] == '=' ? digits : strchr(digits, text[i + j]);
            assert_non_null(digit);
            padding += text[i + j] == '=';
            bits = bits << 6 | (uint32_t)(digit - digits);
        }
        assert_true(padding == 0 || (i + 4 == length && padding <= 2));
        for (int j = 0; j < 3 - padding; j++)
            bytes[have++] = (unsigned char)(bits >> (16 - 8 * j));
    }
    return have;
}

static int64_t take_big_endian(const unsigned char **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | *(*at)++;
    return (int64_t)value;
}

static int64_t take_zigzag(const unsigned char **at)
{
    uint64_t value = 0;
    for (int i = 0; i < 9; i++) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(i < 8 ? byte & 0x7f : byte) << (7 * i);
        if (i < 8 && byte < 0x80)
            break;
    }
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The counts of a packed histogram, and that they are the same as those of `hist`. */
static void check_packed(const char *text, size_t length, const struct hist *hist)
{
    unsigned char *packed = malloc(length), *plain = malloc(PLAIN_MOST);
    assert_true(packed != NULL && plain != NULL);
    size_t packed_length = decode_base64(text, length, packed);
    const unsigned char *at = packed;
    assert_int_equal(take_big_endian(&at, 4), 0x1c849314);
    assert_int_equal(take_big_endian(&at, 4), packed_length - 8);
    uLongf plain_length = PLAIN_MOST;
    assert_int_equal(uncompress(plain, &plain_length, at, packed_length - 8), Z_OK);
    at = plain;
    assert_int_equal(take_big_endian(&at, 4), 0x1c849313);
    assert_int_equal(take_big_endian(&at, 4), plain_length - 40);
    assert_int_equal(take_big_endian(&at, 4), 0);
    assert_int_equal(take_big_endian(&at, 4), hist->digits);
    assert_int_equal(take_big_endian(&at, 8), hist->lowest);
    assert_int_equal(take_big_endian(&at, 8), hist->highest);
    assert_int_equal(take_big_endian(&at, 8), INT64_C(0x3ff0000000000000)); /* 1.0 */
    int64_t index = 0, total = 0;
    while (at < plain + plain_length) {
        int64_t count = take_zigzag(&at);
        for (int64_t zeros = count < 0 ? -count : 0; zeros > 0; zeros--)
            assert_int_equal(hist->counts[index++], 0);
        if (count >= 0)
            assert_int_equal(hist->counts[index++], count);
        total += count > 0 ? count : 0;
        assert_true(index <= hist->counts_length);
    }
    assert_ptr_equal(at, plain + plain_length);
    assert_int_equal(total, hist->total);
    free(packed);
    free(plain);
}

/* One interval with this histogram, read back. */
static void check_interval(const struct hist *hist, const char *tag, const char *before)
{
    struct pl_buf out;
    pl_buf_init(&out, PLAIN_MOST);
    hlog_interval(&out, tag, INT64_C(1500000000), INT64_C(250000000), hist);
    const char *text = pl_buf_text(&out), *packed = strrchr(text, ',') + 1;
    assert_int_equal(strncmp(text, before, strlen(before)), 0);
    assert_int_equal(text[out.len - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + out.len - 1);
    check_packed(packed, out.len - 1 - (size_t)(packed - text), hist);
    pl_buf_release(&out);
}

static void test_counts(void **state)
{
    (void)state;
    struct hist hist;
    hist_init_latency(&hist);
    check_interval(&hist, NULL, "1.500,0.250,0.000,");
    hist_record(&hist, 0);
    check_interval(&hist, "", "1.500,0.250,0.000,");
    hist_record_n(&hist, 12345678, INT64_C(1) << 61); /* nine bytes */
    check_interval(&hist, "a", "Tag=a,1.500,0.250,12.346,");
    hist_record_n(&hist, 12345678, INT64_C(1) << 60);
    check_interval(&hist, NULL, "1.500,0.250,12.346,");
    hist_record_n(&hist, INT64_C(7200000000000), 5); /* clipped */
    check_interval(&hist, NULL, "1.500,0.250,7200000.000,");
    hist_release(&hist);
}

static void test_random_histograms(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_TEST, 0);
    for (int round = 0; round < 60; round++) {
        struct hist hist;
        int64_t lowest = INT64_C(1) << pl_rng_range(&rng, 0, 12);
        hist_init(&hist, lowest, lowest * 2 + (INT64_C(1) << pl_rng_range(&rng, 1, 45)), (int)pl_rng_range(&rng, 1, 4));
        for (int64_t i = pl_rng_range(&rng, 0, 400); i > 0; i--)
            hist_record_n(&hist, pl_rng_range(&rng, 0, hist.highest >> pl_rng_range(&rng, 0, 40)),
                          INT64_C(1) << pl_rng_range(&rng, 0, 50));
        check_interval(&hist, NULL, "1.500,0.250,");
        hist_release(&hist);
    }
}

/* A byte of a tag that the format has no room for stands as a percent sign and its number. */
static void test_tags(void **state)
{
    (void)state;
    struct hist hist;
    hist_init_latency(&hist);
    check_interval(&hist, "a b,c%\n\x7f.d-\"e\"", "Tag=a%20b%2Cc%25%0A%7F.d-\"e\",1.500,");
    hist_release(&hist);
}

static void test_head(void **state)
{
    (void)state;
    struct pl_buf out;
    pl_buf_init(&out, 4096);
    hlog_head(&out, "GET\nhttp://x/", INT64_C(1441812279474000000));
    assert_string_equal(pl_buf_text(&out),
                        "#[Histogram log format version 1.3]\n"
                        "# GET http://x/\n"
                        "#[StartTime: 1441812279.474 (seconds since epoch)]\n"
                        "#[BaseTime: 1441812279.474 (seconds since epoch)]\n"
                        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
    pl_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_random_histograms),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
