/* Figures as people and programs read them. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "httpload/figures_int.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_figures(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *read, *plain;
    } cases[] = {
        {0, "0", "0"},
        {200, "200", "200"},
        {1.5, "1.5", "1.5"},
        {0.0123456789, "0.012346", "0.012346"},
        {7.254126074, "7.2541", "7.25413"},
        {190.333, "190.33", "190.333"},
        {999.999, "1,000", "999.999"},
        {1000, "1,000", "1000"},
        {2043.427, "2,043.4", "2043.43"},
        {94522, "94,522", "94522"},
        {94522.51, "94,523", "94522.5"},
        {123456.7, "123,457", "123457"},
        {1e6, "1,000,000", "1000000"},
        {1234567890, "1,234,567,890", "1234567890"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[HTTPLOAD_FIGURE_BYTES];
        assert_string_equal(httpload_figure(text, sizeof text, cases[i].value), cases[i].read);
        assert_string_equal(httpload_figure_plain(text, sizeof text, cases[i].value), cases[i].plain);
    }
    char text[HTTPLOAD_FIGURE_BYTES], small[6];
    assert_string_equal(httpload_figure(text, sizeof text, INFINITY), "inf");
    assert_true(strlen(httpload_figure(small, sizeof small, 1e12)) < sizeof small); /* too small: cut, not overrun */
    assert_true(strlen(httpload_figure(text, sizeof text, 1e300)) < sizeof text);
}

static void test_ms(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } cases[] = {{0, "0.000"},          {133000, "0.133"},      {99999000, "99.999"},
                 {101712000, "101.71"}, {1907360000, "1907.4"}, {31006000000, "31006"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[HTTPLOAD_FIGURE_BYTES];
        assert_string_equal(httpload_figure_ms(text, sizeof text, cases[i].ns), cases[i].text);
    }
}

static void test_columns(void **state)
{
    (void)state;
    assert_int_equal(httpload_columns(""), 0);
    assert_int_equal(httpload_columns("142 \xc2\xb5s"), 6);
    assert_int_equal(httpload_columns_fit("142 \xc2\xb5s", 6), 7);
    assert_int_equal(httpload_columns_fit("142 \xc2\xb5s", 5), 6); /* no half character */
    assert_int_equal(httpload_columns_fit("142 \xc2\xb5s", 4), 4);
    assert_int_equal(httpload_columns_fit("142", 100), 3);
    assert_int_equal(httpload_columns_fit("142", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures), cmocka_unit_test(test_ms),
                                       cmocka_unit_test(test_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
