/* Dates: formats written and read, against the C library's own calendar. */
#include "run_test.h"

#include <time.h>

static struct hurl_slice slice_of(const char *text)
{
    return (struct hurl_slice){text, strlen(text)};
}

static const char *written(const struct hurl_any *date, const char *format)
{
    struct hurl_scratch scratch = {.most = 100000};
    hurl_scratch_open(&scratch);
    char wrong = hurl_date_put(&scratch, date, slice_of(format));
    struct hurl_slice text = hurl_scratch_close(&scratch);
    const char *copy = wrong != '\0' ? pl_format(arena, "wrong %c", wrong) : pl_strndup(arena, text.text, text.length);
    hurl_scratch_release(&scratch);
    return copy;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* Every second of the day and every day from 1700 to 2300 as gmtime_r and strftime have it. */
static void test_write(void **state)
{
    (void)state;
    static const char shared[] = "%Y-%m-%d %H:%M:%S %y %e %j %a %A %b %B %h %I %l %k %p %u %w %C %D %F %R %T";
    const char *format = pl_format(arena, "%s %%Z %%z %%s %%%%%%n%%t", shared);
    struct pl_rng random;
    pl_rng_init(&random, 1, PL_RNG_TEST, 0);
    for (int i = 0; i < 20000; i++) {
        struct hurl_any date = {.kind = HURL_DATE, .i = pl_rng_range(&random, -8520336000, 10413792000)};
        time_t seconds = (time_t)date.i;
        struct tm parts;
        char expected[300];
        assert_non_null(gmtime_r(&seconds, &parts));
        parts.tm_zone = "UTC";
        parts.tm_gmtoff = 0;
        assert_true(strftime(expected, sizeof expected, pl_strndup(arena, format, sizeof shared - 1), &parts) > 0);
        const char *text = written(&date, format);
        if (strncmp(text, expected, strlen(expected)) != 0)
            fail_msg("%s\n%s", text, expected);
        assert_string_equal(text + strlen(expected), pl_format(arena, " UTC +0000 %lld %%\n\t", (long long)date.i));
    }
}

static void test_write_more(void **state)
{
    (void)state;
    const struct hurl_any date = {.kind = HURL_DATE, .i = 1674498343, .nanos = 511000000},
                          whole = {.kind = HURL_DATE, .i = 1674498343}, fine = {.kind = HURL_DATE, .nanos = 5001};
    static const struct {
        const char *format, *text, *fine;
    } formats[] = {{"%.f", ".511", ".000005001"},
                   {"%f", "511000000", "000005001"},
                   {"%.3f|%.6f|%.9f", ".511|.511000|.511000000", ".000|.000005|.000005001"},
                   {"%3f", "511", "000"},
                   {"%+", "2023-01-23T18:25:43.511+00:00", "1970-01-01T00:00:00.000005001+00:00"},
                   {"%:z %c", "+00:00 Mon Jan 23 18:25:43 2023", "+00:00 Thu Jan  1 00:00:00 1970"},
                   {"%-d/%-m %_H %v %r", "23/1 18 23-Jan-2023 06:25:43 PM", "1/1  0  1-Jan-1970 12:00:00 AM"},
                   {"%x %X %P", "01/23/23 18:25:43 pm", "01/01/70 00:00:00 am"},
                   {"%Q", "wrong Q", "wrong Q"},
                   {"a%", "wrong %", "wrong %"}};
    for (size_t i = 0; i < COUNT(formats); i++) {
        assert_string_equal(written(&date, formats[i].format), formats[i].text);
        assert_string_equal(written(&fine, formats[i].format), formats[i].fine);
    }
    assert_string_equal(written(&whole, "%S%.f|"), "43|");
}

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *format;
        int64_t unix_s;
        uint32_t nanos;
    } dates[] = {{"2023-01-23T18:25:43.511Z", "%+", 1674498343, 511000000},
                 {"2023-01-23T18:25:43Z", "%+", 1674498343, 0},
                 {"2023-01-23T20:25:43.000000001+02:00", "%+", 1674498343, 1},
                 {"2023-01-23T18:25:43.511Z", "%Y-%m-%dT%H:%M:%S%.fZ", 1674498343, 511000000},
                 {"2020-08-27 09:07:46 +02:00", "%Y-%m-%d %H:%M:%S %:z", 1598512066, 0},
                 {"Thu Aug 27 09:07:46 2020 +0200", "%a %b %d %H:%M:%S %Y %z", 1598512066, 0},
                 {"Thursday,   27 August 2020", "%A, %d %B %Y", 1598486400, 0},
                 {"2020-08-27", "%Y-%m-%d", 1598486400, 0},
                 {"2020-02-29", "%F", 1582934400, 0},
                 {"2020-060", "%Y-%j", 1582934400, 0},
                 {"1/2/70 3:04 pm", "%m/%d/%y %I:%M %p", 140640, 0},
                 {"12:30 AM 01.01.1970", "%I:%M %p %d.%m.%Y", 1800, 0},
                 {"1969-12-31 23:59:59", "%F %T", -1, 0},
                 {"-86400", "%s", -86400, 0},
                 {"1598512066", "%s", 1598512066, 0},
                 {"Wed, 13 Jan 2021 22:23:01 GMT", "%a, %d %b %Y %H:%M:%S GMT", 1610576581, 0},
                 {"100%", "1%d%%", 0, 0}};
    char wrong;
    for (size_t i = 0; i < COUNT(dates); i++) {
        struct hurl_any date;
        bool is_good = hurl_date_parse(slice_of(dates[i].text), slice_of(dates[i].format), &date, &wrong);
        if (i == COUNT(dates) - 1)
            assert_false(is_good); /* a day alone is no date */
        else if (!is_good || date.i != dates[i].unix_s || date.nanos != dates[i].nanos)
            fail_msg("%s by %s: %d %lld %u", dates[i].text, dates[i].format, is_good, (long long)date.i, date.nanos);
    }
    static const char *const bad[][2] = {{"2020-13-01", "%F"},
                                         {"2020-02-30", "%F"},
                                         {"2019-02-29", "%F"},
                                         {"2020-08-27x", "%F"},
                                         {"2020-08-2", "%F %T"},
                                         {"10:20", "%H:%M"},
                                         {"24:00 2020-01-01", "%H:%M %F"},
                                         {"", "%F"},
                                         {"Foo 2020", "%a %Y"},
                                         {"2020-01-01 +2500", "%F %z"},
                                         {"2020", "%Y"},
                                         {"1970-01-01 13 PM", "%F %I %p"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct hurl_any date;
        if (hurl_date_parse(slice_of(bad[i][0]), slice_of(bad[i][1]), &date, &wrong))
            fail_msg("%s by %s", bad[i][0], bad[i][1]);
        assert_int_equal(wrong, '\0');
    }
}

/* What is written is read back. */
static void test_round_trip(void **state)
{
    (void)state;
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S%.f%:z", "%a, %d %b %Y %H:%M:%S%.9f %z",
                                          "%A %e %B %Y %I:%M:%S %p%.f", "%Y %j %T%.f"};
    struct pl_rng random;
    pl_rng_init(&random, 2, PL_RNG_TEST, 0);
    for (int i = 0; i < 5000; i++) {
        struct hurl_any date = {.kind = HURL_DATE,
                                .i = pl_rng_range(&random, -8520336000, 10413792000),
                                .nanos = (uint32_t)pl_rng_range(&random, 0, 999999999)},
                        back;
        const char *format = formats[i % (int)COUNT(formats)], *text = written(&date, format);
        char wrong;
        if (!hurl_date_parse(slice_of(text), slice_of(format), &back, &wrong) || back.i != date.i ||
            back.nanos != date.nanos)
            fail_msg("%s by %s", text, format);
    }
}

static void test_http_and_iso(void **state)
{
    (void)state;
    static const char *const dates[] = {"Wed, 13 Jan 2021 22:23:01 GMT", "Wed, 13-Jan-2021 22:23:01 GMT",
                                        "Wed, 13-Jan-21 22:23:01 GMT", "Wed Jan 13 22:23:01 2021"};
    struct hurl_any date;
    for (size_t i = 0; i < COUNT(dates); i++) {
        assert_true(hurl_date_of_http(slice_of(dates[i]), &date));
        assert_int_equal(date.i, 1610576581);
    }
    assert_false(hurl_date_of_http(slice_of("tomorrow"), &date));
    static const char *const iso[] = {"1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00", "1990-12-31T23:59:60Z",
                                      "1937-01-01T12:00:27.87+00:20", "2024-02-29t00:00:00z"};
    static const char *const not_iso[] = {"1978-01-15",
                                          "",
                                          "1985-04-12T23:20:50",
                                          "1985-04-12T23:20:50+0100",
                                          "1985-4-12T23:20:50Z",
                                          "1985-02-30T23:20:50Z",
                                          "1985-04-12T25:20:50Z",
                                          "1985-04-12T23:20:50.Z",
                                          "1985-04-12T23:20:50Zx",
                                          "1985/04/12T23:20:50Z",
                                          "1985-04-12T23:20:50.111111111111111111111111111111111111111111111Z"};
    for (size_t i = 0; i < COUNT(iso); i++)
        if (!hurl_date_is_iso(slice_of(iso[i])))
            fail_msg("%s", iso[i]);
    for (size_t i = 0; i < COUNT(not_iso); i++)
        if (hurl_date_is_iso(slice_of(not_iso[i])))
            fail_msg("%s", not_iso[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_write_more, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_read, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_http_and_iso, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("date", tests, NULL, NULL);
}
