/* Values as SQL reads them, and text from outside as values. */
#include "script_test.h"

#include <float.h>
#include <math.h>

static void check(struct value value, const char *expected)
{
    char buf[VALUE_TEXT_BYTES];
    assert_int_equal(value_text(&value, buf), strlen(expected));
    assert_string_equal(buf, expected);
    assert_int_equal(value_text_bytes(&value), VALUE_TEXT_BYTES);
}

static void test_texts(void **state)
{
    (void)state;
    check((struct value){.type = VALUE_INT, .i = 0}, "0");
    check((struct value){.type = VALUE_INT, .i = 42}, "42");
    check((struct value){.type = VALUE_INT, .i = -100200}, "-100200");
    check((struct value){.type = VALUE_INT, .i = INT64_MAX}, "9223372036854775807");
    check((struct value){.type = VALUE_INT, .i = INT64_MIN}, "-9223372036854775808");
    check((struct value){.type = VALUE_DOUBLE, .d = 0.5}, "0.5");
    check((struct value){.type = VALUE_DOUBLE, .d = 0.1}, "0.1");
    check((struct value){.type = VALUE_DOUBLE, .d = 0.1 + 0.2}, "0.30000000000000004");
    check((struct value){.type = VALUE_DOUBLE, .d = 1e15}, "1e+15");
    check((struct value){.type = VALUE_DOUBLE, .d = -DBL_MAX}, "-1.7976931348623157e+308");
    check((struct value){.type = VALUE_DOUBLE, .d = (double)INFINITY}, "Infinity");
    check((struct value){.type = VALUE_DOUBLE, .d = (double)-INFINITY}, "-Infinity");
    check((struct value){.type = VALUE_DOUBLE, .d = (double)NAN}, "NaN");
    check((struct value){.type = VALUE_BOOL, .b = true}, "true");
    check((struct value){.type = VALUE_BOOL, .b = false}, "false");
    check((struct value){.type = VALUE_NULL}, "NULL");
    struct value text = {.type = VALUE_TEXT, .length = 5, .text = "hello"};
    char buf[8];
    assert_int_equal(value_text_bytes(&text), 6);
    assert_int_equal(value_text(&text, buf), 5);
    assert_string_equal(buf, "hello");
}

/* Every double comes back as it was. */
static void test_doubles_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        union {
            uint64_t bits;
            double d;
        } of = {.bits = pl_rng_u64(&rng)};
        if (!isfinite(of.d))
            continue;
        char buf[VALUE_TEXT_BYTES];
        struct value back;
        value_text(&(struct value){.type = VALUE_DOUBLE, .d = of.d}, buf);
        script_define("v", buf);
        assert_null(script_value(":v", &back));
        if (back.type != VALUE_DOUBLE && back.type != VALUE_INT)
            fail_msg("%s", buf);
        assert_true((back.type == VALUE_INT ? (double)back.i : back.d) == of.d);
    }
}

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"NULL", "null"},
        {"null", "null"},
        {"Null", "null"},
        {"true", "boolean true"},
        {"TRUE", "boolean true"},
        {"t", "boolean true"},
        {"tr", "boolean true"},
        {"yes", "boolean true"},
        {"y", "boolean true"},
        {"on", "boolean true"},
        {"o", "malformed variable \"v\" value: \"o\""},
        {"off", "boolean false"},
        {"of", "boolean false"},
        {"f", "boolean false"},
        {"fals", "boolean false"},
        {"n", "boolean false"},
        {"no", "boolean false"},
        {"truee", "malformed variable \"v\" value: \"truee\""},
        {"1", "int 1"},
        {"+1", "int 1"},
        {"-1", "int -1"},
        {" 1", "int 1"},
        {"\t\n1", "int 1"},
        {"1 ", "malformed variable \"v\" value: \"1 \""},
        {"0007", "int 7"},
        {"9223372036854775807", "int 9223372036854775807"},
        {"-9223372036854775808", "int -9223372036854775808"},
        {"9223372036854775808", "value \"9223372036854775808\" is out of range for type bigint"},
        {"1.5", "double 1.5"},
        {" -1.5", "double -1.5"},
        {"1e5", "double 100000"},
        {".5", "double 0.5"},
        {"5.", "double 5"},
        {"-.5e1", "double -5"},
        {"1.5 ", "malformed variable \"v\" value: \"1.5 \""},
        {"1e400", "malformed variable \"v\" value: \"1e400\""},
        {"1e-400", "malformed variable \"v\" value: \"1e-400\""},
        {"0e-400", "double 0"},
        {"inf", "double Infinity"},
        {"Infinity", "double Infinity"},
        {"-inf", "double -Infinity"},
        {"NaN", "double NaN"},
        {"infi", "malformed variable \"v\" value: \"infi\""},
        {"1_000", "malformed variable \"v\" value: \"1_000\""},
        {"0x10", "malformed variable \"v\" value: \"0x10\""},
        {"50abc", "malformed variable \"v\" value: \"50abc\""},
        {".", "malformed variable \"v\" value: \".\""},
        {"-", "malformed variable \"v\" value: \"-\""},
        {"", "malformed variable \"v\" value: \"\""},
        {"abc", "malformed variable \"v\" value: \"abc\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        script_define("v", cases[i].text);
        assert_string_equal(script_shown(":v"), cases[i].expected);
    }
}

static void test_describe(void **state)
{
    (void)state;
    char buf[VALUE_DESCRIBE_BYTES];
    assert_int_equal(value_describe(&(struct value){.type = VALUE_INT, .i = INT64_MIN}, buf), 24);
    assert_string_equal(buf, "int -9223372036854775808");
    value_describe(&(struct value){.type = VALUE_DOUBLE, .d = -DBL_MAX}, buf);
    assert_string_equal(buf, "double -1.7976931348623157e+308");
    value_describe(&(struct value){.type = VALUE_UNSET}, buf);
    assert_string_equal(buf, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts), cmocka_unit_test_setup_teardown(test_doubles_survive, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_read, script_setup, script_teardown), cmocka_unit_test(test_describe)};
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
