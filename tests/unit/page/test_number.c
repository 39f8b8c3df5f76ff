/* Numbers for people. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "page/page_int.h"

static struct pl_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static const char *shown(const char *name, const char *unit, double value, double half_width, enum doc_part part)
{
    struct figure figure = {.name = name,
                            .unit = unit,
                            .value = value,
                            .stddev = half_width / 2,
                            .has_interval = half_width > 0,
                            .low = value - half_width,
                            .high = value + half_width,
                            .n = 12345};
    struct page_scale scale = page_scale_of(&figure, value);
    const char *text = page_figure_text(arena, &figure, part, scale);
    return scale.unit[0] == '\0' ? text : pl_format(arena, "%s %s", text, scale.unit);
}

static void test_units_fit(void **state)
{
    (void)state;
    assert_string_equal(shown("x_ns", "ns", 950, 0, DOC_VALUE), "950 ns");
    assert_string_equal(shown("x_ns", "ns", 1230, 0, DOC_VALUE), "1.23 \xc2\xb5s");
    assert_string_equal(shown("x_ns", "ns", 4.56e6, 0, DOC_VALUE), "4.56 ms");
    assert_string_equal(shown("x_ns", "ns", 999.7e6, 0, DOC_VALUE), "1.00 s"); /* and not 1,000 ms */
    assert_string_equal(shown("x_bytes", "bytes", 512, 0, DOC_VALUE), "512 B");
    assert_string_equal(shown("x_bytes", "bytes", 1536, 0, DOC_VALUE), "1.50 KiB");
    assert_string_equal(shown("x_bytes", "bytes", 97 * 1048576.0, 0, DOC_VALUE), "97.0 MiB");
    assert_string_equal(shown("x_per_s", "bytes/s", 2.5 * 1048576, 0, DOC_VALUE), "2.50 MiB/s");
    assert_string_equal(shown("x_frac", "1", 0.0123, 0, DOC_VALUE), "1.23 %");
    assert_string_equal(shown("concurrency", "1", 3.99, 0, DOC_VALUE), "3.99");
    assert_string_equal(shown("due", "count", 1234567, 0, DOC_VALUE), "1,234,567");
    assert_string_equal(shown("cpu_cores", "cores", 0.00412, 0, DOC_VALUE), "0.004 cores");
    assert_string_equal(shown("x_ns", "ns", 0, 0, DOC_VALUE), "0 ns");
}

static void test_digits_follow_the_interval(void **state)
{
    (void)state;
    assert_string_equal(shown("tps", "1/s", 10234.56, 2500, DOC_VALUE), "10,200 /s");
    assert_string_equal(shown("tps", "1/s", 10234.56, 21.7, DOC_VALUE), "10,235 /s");
    assert_string_equal(shown("tps", "1/s", 962.736320, 15.498934, DOC_VALUE), "963 /s");
    assert_string_equal(shown("tps", "1/s", 962.736320, 15.498934, DOC_INTERVAL), "947\xe2\x80\x93"
                                                                                  "978 /s");
    assert_string_equal(shown("tps", "1/s", 962.736320, 1.5, DOC_VALUE), "962.7 /s");
    assert_string_equal(shown("tps", "1/s", 5, 400, DOC_VALUE), "5.0 /s"); /* no less than two digits */
    assert_string_equal(shown("tps", "1/s", 962.7, 30, DOC_STDDEV), "15 /s");
    assert_string_equal(shown("tps", "1/s", 962.7, 0, DOC_INTERVAL), " /s");
    assert_string_equal(shown("tps", "1/s", 100, 1000, DOC_INTERVAL), "0\xe2\x80\x93"
                                                                      "1,100 /s");
    assert_string_equal(shown("rows_growth", "1/s", 100, 1000, DOC_INTERVAL), "\xe2\x88\x92"
                                                                              "900 to 1,100 /s");
    assert_string_equal(shown("tps", "1/s", 962.7, 0, DOC_COUNT), "12,345 /s");
    /* a histogram keeps three digits, however narrow the interval */
    assert_string_equal(shown("x_ns", "ns", 4.5678912e6, 10, DOC_VALUE), "4.568 ms");
}

static void test_plain_numbers(void **state)
{
    (void)state;
    assert_string_equal(page_number(arena, 1234567.891, 2), "1,234,567.89");
    assert_string_equal(page_number(arena, -1234.5, 0), "\xe2\x88\x92"
                                                        "1,234");
    assert_string_equal(page_number(arena, 999, 0), "999");
    assert_string_equal(page_number(arena, 12345, -2), "12,300");
    assert_string_equal(page_number(arena, -0.0001, 2), "0.00"); /* no minus before nothing */
    assert_string_equal(page_number(arena, (double)NAN, 2), "\xe2\x80\x94");
    assert_string_equal(page_number(arena, 1.5e-12, 14), "1.50e-12");
    assert_string_equal(page_exact(arena, 0.1), "0.1");
    assert_string_equal(page_exact(arena, 1.0 / 3), "0.3333333333333333");
    assert_string_equal(page_time(arena, INT64_C(1764493200000000000)), "2025-11-30 09:00 UTC");
    assert_string_equal(page_time(arena, 0), "not recorded");
    assert_string_equal(page_duration(arena, 412e6), "412 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_fit),
        cmocka_unit_test(test_digits_follow_the_interval),
        cmocka_unit_test(test_plain_numbers),
    };
    return cmocka_run_group_tests_name("number", tests, setup, teardown);
}
