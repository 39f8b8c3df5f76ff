/* Values as SQL reads them. */
#include "support.h"

#include <string.h>

#include "script/program.h"

static void check(struct value value, const char *expected)
{
    char buf[VALUE_TEXT_BYTES];
    assert_int_equal(value_text(&value, buf), strlen(expected));
    assert_string_equal(buf, expected);
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
    check((struct value){.type = VALUE_DOUBLE, .d = -1.7976931348623157e308}, "-1.7976931348623157e+308");
    check((struct value){.type = VALUE_BOOL, .b = true}, "true");
    check((struct value){.type = VALUE_BOOL, .b = false}, "false");
    check((struct value){.type = VALUE_NULL}, "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
