/* The grammar of expressions: how deep they may be, how long, which operators bind tighter. Its errors: test_bad.c. */
#include "script_test.h"

#include <stdlib.h>

static enum pl_code compile(const char *text, struct pl_err *err)
{
    struct program *program = NULL;
    return program_compile("s.sql", text, strlen(text), PROGRAM_AS_PGBENCH, names, arena, &program, err);
}

/* Each pair is the same with the parentheses that the precedence implies, and not the same without it. */
static void test_precedence(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"1 + 2 * 3", "1 + (2 * 3)"},
        {"10 - 3 - 2", "(10 - 3) - 2"},
        {"100 / 10 / 5", "(100 / 10) / 5"},
        {"2 * 7 % 4", "(2 * 7) % 4"},
        {"1 | 2 & 4", "(1 | 2) & 4"},
        {"7 & 3 << 1", "(7 & 3) << 1"},
        {"1 << 2 + 1", "1 << (2 + 1)"},
        {"~1 + 2", "~(1 + 2)"},
        {"~1 | 2", "(~1) | 2"},
        {"-1 | 2", "(-1) | 2"},
        {"-2 * 3", "(-2) * 3"},
        {"5 & 3 = 1", "(5 & 3) = 1"},
        {"1 < 2 is null", "(1 < 2) is null"},
        {"not 1 is null", "not (1 is null)"},
        {"not false and false", "(not false) and false"},
        {"true or true and false", "true or (true and false)"},
        {"not 1 = 2", "not (1 = 2)"},
        {"1 isnull isnull", "(1 isnull) isnull"},
        {"2 * case when true then 1 end + 3", "(2 * (case when true then 1 end)) + 3"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++)
        assert_string_equal(script_shown(pairs[i][0]), script_shown(pairs[i][1]));
}

static void test_case_of_letters(void **state)
{
    (void)state;
    assert_string_equal(script_shown("CASE WHEN True AND NOT faLSE Is Null THEN ABS(-1) ELSE Pi() END"), "int 1");
}

/* Parentheses, signs and functions in each other: refused from some depth on, never a crash. */
static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *open, *close;
    } nests[] = {{"(", ")"},
                 {"-", ""},
                 {"not ", ""},
                 {"1+(", ")"},
                 {"abs(", ")"},
                 {"greatest(1,2,3,", ")"},
                 {"case when 1 then ", " end"},
                 {"~ + - ", ""}};
    for (size_t n = 0; n < COUNT(nests); n++) {
        bool was_refused = false;
        for (size_t depth = 1; depth < 3000; depth += depth < 100 ? 20 : 300) {
            static char text[3000 * 32 + 512];
            size_t length = script_add(text, 0, "\\set x ");
            for (size_t i = 0; i < depth; i++)
                length = script_add(text, length, "%s", nests[n].open);
            length = script_add(text, length, "1");
            for (size_t i = 0; i < depth; i++)
                length = script_add(text, length, "%s", nests[n].close);
            struct pl_err err = {0};
            enum pl_code code = compile(text, &err);
            if (code != PL_OK)
                assert_string_equal(err.what, "expression too deep in command \"set\"");
            assert_true(code == PL_OK || depth >= 60);
            was_refused = was_refused || code != PL_OK;
        }
        assert_true(was_refused);
    }
}

/* Chains are no nests. */
static void test_length(void **state)
{
    (void)state;
    enum { TERMS = 50000 };
    static char text[TERMS * 32 + 256];
    size_t length = script_add(text, 0, "0");
    for (int i = 0; i < TERMS; i++)
        length = script_add(text, length, " + 1");
    assert_string_equal(script_shown(text), "int 50000");
    length = script_add(text, 0, "case");
    for (int i = 0; i < TERMS; i++)
        length = script_add(text, length, " when false then 1");
    script_add(text, length, " else 7 end");
    assert_string_equal(script_shown(text), "int 7");
    length = script_add(text, 0, "false");
    for (int i = 0; i < TERMS; i++)
        length = script_add(text, length, " or false");
    assert_string_equal(script_shown(text), "boolean false");
}

static void test_continuation(void **state)
{
    (void)state;
    assert_string_equal(script_shown("\\\n 1 \\\r\n + \\\n\\\n 2"), "int 3");
    assert_string_equal(script_shown("1\t+\v2\f+3"), "int 6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_precedence, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_case_of_letters, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_depth, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_length, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_continuation, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
