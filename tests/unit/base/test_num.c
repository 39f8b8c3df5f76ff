#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/rng.h"

#define BAD PL_NUM_BAD
#define OK PL_NUM_OK
#define NO_UNIT PL_NUM_NO_UNIT
#define BAD_UNIT PL_NUM_BAD_UNIT
#define RANGE PL_NUM_RANGE

static void test_i64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pl_num_result result;
        int64_t value;
    } rows[] = {
        {"0", OK, 0},
        {"-0", OK, 0},
        {"+7", OK, 7},
        {"50", OK, 50},
        {"007", OK, 7},
        {"1_000", OK, 1000},
        {"-10_000_000", OK, -10000000},
        {"9223372036854775807", OK, INT64_MAX},
        {"-9223372036854775808", OK, INT64_MIN},
        {"9_223_372_036_854_775_807", OK, INT64_MAX},
        {"9223372036854775808", RANGE, 0},
        {"-9223372036854775809", RANGE, 0},
        {"92233720368547758070", RANGE, 0},
        {"-99999999999999999999999", RANGE, 0},
        {"99999999999999999999999x", BAD, 0},
        {"", BAD, 0},
        {"-", BAD, 0},
        {"+", BAD, 0},
        {"--1", BAD, 0},
        {"- 1", BAD, 0},
        {" 1", BAD, 0},
        {"1 ", BAD, 0},
        {"50abc", BAD, 0},
        {"0x10", BAD, 0},
        {"1e3", BAD, 0},
        {"1.0", BAD, 0},
        {"_1", BAD, 0},
        {"1_", BAD, 0},
        {"1__0", BAD, 0},
        {"-_1", BAD, 0},
        {"1_a", BAD, 0},
        {"\xd9\xa1", BAD, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = 4711;
        enum pl_num_result result = pl_num_i64(rows[i].text, strlen(rows[i].text), &value);
        if (result != rows[i].result || value != (result == OK ? rows[i].value : 4711))
            fail_msg("\"%s\": result %d, value %jd", rows[i].text, result, (intmax_t)value);
    }
}

static void test_length_is_obeyed(void **state)
{
    (void)state;
    int64_t value;
    double real;
    assert_int_equal(pl_num_i64("123456", 3, &value), OK);
    assert_int_equal(value, 123);
    assert_int_equal(pl_num_i64("1\0", 2, &value), BAD);
    assert_int_equal(pl_num_f64("1.5e3", 3, &real), OK);
    assert_true(real == 1.5);
    assert_int_equal(pl_num_duration_ns("5s\0", 3, &value), BAD_UNIT);
    assert_int_equal(pl_num_duration_ns("5min", 2, &value), OK);
    assert_true(value == INT64_C(300) * 1000000000);
}

static void test_f64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pl_num_result result;
        double value;
    } rows[] = {
        {"0", OK, 0},        {"-2.5", OK, -2.5},      {"+1.25e2", OK, 125}, {"1E-3", OK, 0.001},
        {".5", OK, 0.5},     {"1_000.5", OK, 1000.5}, {"1e308", OK, 1e308}, {"1e-400", OK, 0},
        {"1e400", RANGE, 0}, {"-1e400", RANGE, 0},    {"", BAD, 0},         {"-", BAD, 0},
        {".", BAD, 0},       {"5.", BAD, 0},          {"1e", BAD, 0},       {"1e+", BAD, 0},
        {"e5", BAD, 0},      {"1.5.2", BAD, 0},       {"1,5", BAD, 0},      {"inf", BAD, 0},
        {"nan", BAD, 0},     {"0x1p3", BAD, 0},       {" 1", BAD, 0},       {"1 ", BAD, 0},
        {"50abc", BAD, 0},   {"1._5", BAD, 0},        {"1_.5", BAD, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = 4711;
        enum pl_num_result result = pl_num_f64(rows[i].text, strlen(rows[i].text), &value);
        if (result != rows[i].result || value != (result == OK ? rows[i].value : 4711))
            fail_msg("\"%s\": result %d, value %g", rows[i].text, result, value);
    }
    char digits[200];
    memset(digits, '1', sizeof digits);
    double value;
    assert_int_equal(pl_num_f64(digits, 127, &value), OK);
    assert_int_equal(pl_num_f64(digits, 128, &value), RANGE);
}

struct whole_row {
    const char *text;
    enum pl_num_result result;
    int64_t value;
};

static void check_whole(enum pl_num_result (*parse)(const char *, size_t, int64_t *), const struct whole_row *rows,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = 4711;
        enum pl_num_result result = parse(rows[i].text, strlen(rows[i].text), &value);
        if (result != rows[i].result || value != (result == OK ? rows[i].value : 4711))
            fail_msg("\"%s\": result %d, value %jd", rows[i].text, result, (intmax_t)value);
    }
}

static void test_durations(void **state)
{
    (void)state;
    static const struct whole_row rows[] = {
        {"1ns", OK, 1},
        {"1us", OK, 1000},
        {"0.5ms", OK, 500000},
        {"0.5s", OK, 500000000},
        {"60s", OK, INT64_C(60000000000)},
        {"2m", OK, INT64_C(120000000000)},
        {"2min", OK, INT64_C(120000000000)},
        {"1h", OK, INT64_C(3600000000000)},
        {"1.5h", OK, INT64_C(5400000000000)},
        {"1d", OK, INT64_C(86400000000000)},
        {"1e3s", OK, INT64_C(1000000000000)},
        {"1_000s", OK, INT64_C(1000000000000)},
        {"0", OK, 0},
        {"0.0", OK, 0},
        {"0s", OK, 0},
        {"-0s", OK, 0},
        {"0.4ns", OK, 0},
        {"0.6ns", OK, 1},
        {"9007199254740993ns", OK, INT64_C(9007199254740993)}, /* 2^53 + 1: not a double */
        {"9223372036854775807ns", OK, INT64_MAX},
        {"9223372036854775808ns", RANGE, 0},
        {"106751d", OK, INT64_C(106751) * 86400 * 1000000000},
        {"106752d", RANGE, 0},
        {"1e400s", RANGE, 0},
        {"1e300d", RANGE, 0},
        {"-1s", RANGE, 0},
        {"60", NO_UNIT, 0},
        {"0.5", NO_UNIT, 0},
        {"5 s", BAD_UNIT, 0},
        {"5sec", BAD_UNIT, 0},
        {"5S", BAD_UNIT, 0},
        {"5M", BAD_UNIT, 0},
        {"5e", BAD_UNIT, 0},
        {"5s ", BAD_UNIT, 0},
        {"5KB", BAD_UNIT, 0},
        {"", BAD, 0},
        {"s", BAD, 0},
        {"-", BAD, 0},
        {" 5s", BAD, 0},
        {"infs", BAD, 0},
    };
    check_whole(pl_num_duration_ns, rows, sizeof rows / sizeof rows[0]);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct whole_row rows[] = {
        {"1B", OK, 1},
        {"50KB", OK, 50000},
        {"3MB", OK, 3000000},
        {"2GB", OK, 2000000000},
        {"1TB", OK, INT64_C(1000000000000)},
        {"1KiB", OK, 1024},
        {"256MiB", OK, 268435456},
        {"2GiB", OK, INT64_C(2147483648)},
        {"1TiB", OK, INT64_C(1099511627776)},
        {"1.5KiB", OK, 1536},
        {"0", OK, 0},
        {"8388607TiB", OK, INT64_C(8388607) << 40},
        {"8388608TiB", RANGE, 0},
        {"8388607.9999999999TiB", RANGE, 0}, /* rounds to 2^63 */
        {"-1B", RANGE, 0},
        {"1024", NO_UNIT, 0},
        {"1kB", BAD_UNIT, 0},
        {"1K", BAD_UNIT, 0},
        {"1MIB", BAD_UNIT, 0},
        {"1 MB", BAD_UNIT, 0},
        {"1s", BAD_UNIT, 0},
        {"MB", BAD, 0},
        {"", BAD, 0},
    };
    check_whole(pl_num_bytes, rows, sizeof rows / sizeof rows[0]);
}

static void test_rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pl_num_result result;
        double value;
    } rows[] = {
        {"200/s", OK, 200},    {"90/min", OK, 1.5},     {"90/m", OK, 1.5},        {"3600/h", OK, 1},
        {"0.5/s", OK, 0.5},    {"1e3/s", OK, 1000},     {"0/s", RANGE, 0},        {"0", RANGE, 0},
        {"-1/s", RANGE, 0},    {"1e400/s", RANGE, 0},   {"200", NO_UNIT, 0},      {"200/", BAD_UNIT, 0},
        {"200s", BAD_UNIT, 0}, {"200 /s", BAD_UNIT, 0}, {"200/sec", BAD_UNIT, 0}, {"/s", BAD, 0},
        {"", BAD, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = 4711, expected = rows[i].result == OK ? rows[i].value : 4711;
        enum pl_num_result result = pl_num_rate(rows[i].text, strlen(rows[i].text), &value);
        if (result != rows[i].result || fabs(value - expected) > 1e-12 * expected)
            fail_msg("\"%s\": result %d, value %g", rows[i].text, result, value);
    }
}

/* Whatever is printed is read back as what it was. */
static void test_round_trip(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int i = 0; i < 10000; i++) {
        char text[64];
        int64_t value = pl_rng_range(&rng, INT64_MIN, INT64_MAX) >> pl_rng_range(&rng, 0, 63), back;
        size_t length = (size_t)snprintf(text, sizeof text, "%jd", (intmax_t)value);
        assert_int_equal(pl_num_i64(text, length, &back), OK);
        assert_true(back == value);
        if (value >= 0) {
            length = (size_t)snprintf(text, sizeof text, "%jdns", (intmax_t)value);
            assert_int_equal(pl_num_duration_ns(text, length, &back), OK);
            assert_true(back == value);
        }
        double real = (double)value * pl_rng_unit(&rng), real_back;
        length = (size_t)snprintf(text, sizeof text, "%.17g", real);
        assert_int_equal(pl_num_f64(text, length, &real_back), OK);
        assert_true(real_back == real);
    }
}

static void test_text_of_durations(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } rows[] = {
        {0, "0 s"},           {1, "1.00 ns"},      {999.4, "999 ns"}, {999.6, "1.00 \xc2\xb5s"}, {1234567, "1.23 ms"},
        {12.34e6, "12.3 ms"}, {99.96e6, "100 ms"}, {45e9, "45.0 s"},  {3600e9, "3600 s"},        {-2.5e6, "-2.50 ms"},
    };
    char text[24];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(pl_num_text_ns(text, sizeof text, rows[i].ns), rows[i].text);
    assert_string_equal(pl_num_text_ns(text, 4, 45e9), "45.");
}

static void test_text_of_sizes(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},           {512, "512 B"},
        {1000, "0.98 KiB"},   {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},   {2254857830.4, "2.10 GiB"},
        {1e12, "931 GiB"},    {1048576.0 * 12.34, "12.3 MiB"},
        {-2048, "-2.00 KiB"},
    };
    char text[24];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(pl_num_text_bytes(text, sizeof text, rows[i].bytes), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_i64),           cmocka_unit_test(test_length_is_obeyed),
        cmocka_unit_test(test_f64),           cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_rates),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_text_of_durations),
        cmocka_unit_test(test_text_of_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
