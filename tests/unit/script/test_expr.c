/* Expressions: values, precedence, run-time faults, compile errors with their column. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script/expr_int.h"

static struct pl_arena *arena;
static struct expr_names names;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    names = (struct expr_names){.arena = arena};
    expr_name_set(&names, "one", 3);
    expr_name_set(&names, "half", 4);
    expr_name_index(&names, "later", 5);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static const char *run(const char *text, struct value *ret_value)
{
    struct pl_err err = {0};
    const struct expr *expr = NULL;
    struct expr_source source = {.file = "t", .text = text, .length = strlen(text), .line = 1, .col = 1};
    if (expr_compile(&source, &names, arena, &expr, &err) != PL_OK)
        fail_msg("\"%s\": %s", text, err.what);
    struct value vars[] = {{.type = VALUE_INT, .i = 1}, {.type = VALUE_DOUBLE, .d = 0.5}, {.type = VALUE_UNSET}};
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_SCRIPT, 0);
    return expr_eval(expr, vars, &rng, ret_value);
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t expected;
    } cases[] = {
        {"1", 1},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 3 - 2", 5},
        {"100 / 10 / 5", 2},
        {"7 / 2", 3},
        {"-7 / 2", -3},
        {"-7 % 3", -1},
        {"7 % -3", 1},
        {"-9223372036854775807 - 1", INT64_MIN},
        {"(-9223372036854775807 - 1) % -1", 0},
        {"9223372036854775807", INT64_MAX},
        {"--3", 3},
        {"- -3 + +2", 5},
        {":one + 1", 2},
        {"100000*:one", 100000},
        {"abs(-5)", 5},
        {"abs(5)", 5},
        {"greatest(3, -4)", 3},
        {"least(3, -4)", -4},
        {"mod(11, 4)", 3},
        {"int(2.5)", 2},
        {"int(3.5)", 4},
        {"int(-1.2)", -1},
        {"random(4, 4)", 4},
        {"random_zipfian(9, 9, 0.99)", 9},
        {"random_gaussian(9, 9, 2.0)", 9},
        {"random_exponential(9, 9, 1)", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct value value;
        const char *wrong = run(cases[i].text, &value);
        if (wrong != NULL || value.type != VALUE_INT || value.i != cases[i].expected)
            fail_msg("\"%s\" gives %lld (%s)", cases[i].text, (long long)value.i, wrong != NULL ? wrong : "type?");
    }
}

static void test_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double expected;
    } cases[] = {{"1.5 + 1", 2.5},  {"7 / 2.0", 3.5},          {":half * 4", 2},     {"1e3", 1000},
                 {".25", 0.25},     {"sqrt(2)", M_SQRT2},      {"pi()", M_PI},       {"exp(1)", M_E},
                 {"ln(exp(2))", 2}, {"power(2, 10)", 1024},    {"pow(2, -1)", 0.5},  {"double(3)", 3},
                 {"-0.5", -0.5},    {"greatest(1, 1.5)", 1.5}, {"least(1, 1.5)", 1}, {"1.5e-3 * 2", 0.003},
                 {"abs(-1.5)", 1.5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct value value = {0};
        assert_null(run(cases[i].text, &value));
        assert_int_equal(value.type, VALUE_DOUBLE);
        assert_close(value.d, cases[i].expected, 1e-15, 0);
    }
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"1 / 0", "division by zero"},
        {"1 % 0", "division by zero"},
        {"1 / 0.0", "division by zero"},
        {"9223372036854775807 + 1", "integer overflow"},
        {"-9223372036854775807 - 2", "integer overflow"},
        {"9223372036854775807 * 2", "integer overflow"},
        {"(-9223372036854775807 - 1) / -1", "integer overflow"},
        {"-(-9223372036854775807 - 1)", "integer overflow"},
        {"1.5 % 2", "% needs integers"},
        {"int(1e19)", "a double is out of the range of integers"},
        {"random(2, 1)", "the lower bound of a random range is above its upper bound"},
        {"random_gaussian(1, 2, 1)", "the parameter of random_gaussian must be at least 2.0"},
        {"random_exponential(1, 2, 0)", "the parameter of random_exponential must be above 0"},
        {"random_zipfian(1, 2, -1)", "the parameter of random_zipfian must be at least 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct value value;
        const char *wrong = run(cases[i].text, &value);
        if (wrong == NULL)
            fail_msg("\"%s\" is no fault", cases[i].text);
        assert_string_equal(wrong, cases[i].expected);
    }
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int col;
        const char *expected;
    } cases[] = {
        {"", 1, "the expression ends where a value is expected"},
        {"1 +", 4, "the expression ends where a value is expected"},
        {"(1", 3, "\")\" is missing"},
        {"1 2", 3, "unexpected \"2\" after the expression"},
        {"1 )", 3, "unexpected \")\" after the expression"},
        {"* 1", 1, "unexpected \"*\""},
        {"50abc", 1, "\"50abc\" is not a number in the range of 64 bits"},
        {"9223372036854775808a", 1, "\"9223372036854775808a\" is not a number in the range of 64 bits"},
        {"1_000.5", 1, "\"1_000.5\" is not a number in the range of 64 bits"},
        {"1e999", 1, "\"1e999\" is not a number in the range of 64 bits"},
        {":", 1, "a variable name must follow \":\""},
        {":1x", 1, "a variable name must follow \":\""},
        {"1 + :nothing", 5, "variable \"nothing\" is used before it is set"},
        {":later", 1, "variable \"later\" is used before it is set"},
        {"rnd(1)", 1, "there is no function \"rnd\""},
        {"random 1", 8, "\"(\" is missing after \"random\""},
        {"random(1)", 1, "wrong number of arguments for \"random\""},
        {"random(1, 2, 3, 4)", 1, "wrong number of arguments for \"random\""},
        {"random(1, 2", 12, "\",\" or \")\" is missing"},
        {"pi(1)", 1, "wrong number of arguments for \"pi\""},
        {"1 & 2", 3, "unexpected \"&\" after the expression"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_err err = {0};
        const struct expr *expr = NULL;
        struct expr_source source = {
            .file = "f.sql", .text = cases[i].text, .length = strlen(cases[i].text), .line = 7, .col = 1};
        assert_int_equal(expr_compile(&source, &names, arena, &expr, &err), PL_INPUT);
        assert_null(expr);
        assert_string_equal(err.what, cases[i].expected);
        assert_string_equal(err.file, "f.sql");
        assert_int_equal(err.line, 7);
        assert_int_equal(err.col, cases[i].col);
    }
}

static void test_depth(void **state)
{
    (void)state;
    char text[4096];
    for (int depth = 1; depth < 2000; depth += 50) {
        struct pl_err err = {0};
        const struct expr *expr = NULL;
        memset(text, '(', (size_t)depth);
        text[depth] = '1';
        memset(text + depth + 1, ')', (size_t)depth);
        struct expr_source source = {.file = "t", .text = text, .length = (size_t)depth * 2 + 1, .line = 1, .col = 1};
        assert_int_equal(expr_compile(&source, &names, arena, &expr, &err), depth < 100 ? PL_OK : PL_INPUT);
    }
    /* a right-leaning chain is what fills the stack of values */
    size_t length = 0;
    for (int i = 0; i < 90; i++)
        length += (size_t)sprintf(text + length, "1+(");
    struct pl_err err = {0};
    const struct expr *expr = NULL;
    length += (size_t)sprintf(text + length, "1");
    memset(text + length, ')', 90);
    struct expr_source source = {.file = "t", .text = text, .length = length + 90, .line = 1, .col = 1};
    assert_int_equal(expr_compile(&source, &names, arena, &expr, &err), PL_INPUT);
    assert_string_equal(err.what, "the expression is too deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_doubles),
                                       cmocka_unit_test(test_faults), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests_name("expr", tests, setup, teardown);
}
