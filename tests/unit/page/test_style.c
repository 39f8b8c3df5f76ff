/* The style sheet: it asks nobody for anything, and its braces close. */
#include "pages.h"

static void test_style_stands_alone(void **state)
{
    (void)state;
    int depth = 0;
    size_t pieces = 0;
    for (; page_style[pieces] != NULL; pieces++) {
        static const char *const forbidden[] = {"url(", "@import", "http", "<", "expression"};
        for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
            assert_lacks(page_style[pieces], forbidden[i]);
        for (const char *at = page_style[pieces]; *at != '\0'; at++) {
            depth += (*at == '{') - (*at == '}');
            assert_in_range(depth, 0, 2);
        }
        assert_int_equal(depth, 0);
    }
    assert_true(pieces > 0);
}

static int channel(const char *hex)
{
    const char *digits = "0123456789abcdef";
    return (int)(strchr(digits, hex[0]) - digits) * 16 + (int)(strchr(digits, hex[1]) - digits);
}

/* Relative luminance (WCAG 2, definition) of the n-th value of a variable. */
static double luminance(const char *style, const char *variable, int nth)
{
    const char *at = style;
    for (int i = 0; i <= nth; i++) {
        at = strstr(at, variable);
        assert_non_null(at);
        at += strlen(variable);
    }
    double parts[3];
    for (int i = 0; i < 3; i++) {
        double c = channel(at + 1 + 2 * i) / 255.0;
        parts[i] = c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

/* Text can be read on its ground: 4.5 to 1 at least, light and dark. */
static void test_contrast(void **state)
{
    (void)state;
    static const char *const inks[] = {"--ink:", "--soft:", "--link:", "--warn:"};
    for (int scheme = 0; scheme < 2; scheme++)
        for (size_t i = 0; i < sizeof inks / sizeof *inks; i++) {
            double paper = luminance(page_style[0], "--paper:", scheme), ink = luminance(page_style[0], inks[i], scheme);
            double contrast = (fmax(paper, ink) + 0.05) / (fmin(paper, ink) + 0.05);
            if (contrast < 4.5)
                fail_msg("%s has a contrast of %.2f in scheme %d", inks[i], contrast, scheme);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_style_stands_alone),
        cmocka_unit_test(test_contrast),
    };
    return cmocka_run_group_tests_name("style", tests, NULL, NULL);
}
