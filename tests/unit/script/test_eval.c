/* What steps compute: lazily, all or nothing, conditions, sleeps, command lines. */
#include "script_test.h"

static const char *eval(const struct program *program, size_t step)
{
    return program_eval(program, &program->steps[step], vars, &rng);
}

static void test_values_flow(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_STRICT, "\\set a 2 * :scale\n\\set a :a + 1\nSELECT :a;");
    int a = program_variable(program, "a");
    assert_null(eval(program, 0));
    assert_null(eval(program, 1));
    assert_int_equal(vars[a].i, 21);
    /* what is wrong changes nothing */
    vars[a] = (struct value){.type = VALUE_INT, .i = INT64_MAX};
    assert_string_equal(eval(program, 1), "bigint add out of range");
    assert_true(vars[a].i == INT64_MAX);
}

static struct {
    char text[256];
    const struct step *step;
    int calls;
} debugged;

static void note_debug(void *context, const struct program *program, const struct step *step, const struct value *value)
{
    assert_ptr_equal(context, &debugged);
    assert_string_equal(program->name, "s.sql");
    char buf[VALUE_DESCRIBE_BYTES];
    value_describe(value, buf);
    size_t length = strlen(debugged.text);
    snprintf(debugged.text + length, sizeof debugged.text - length, "%s;", buf);
    debugged.step = step;
    debugged.calls++;
}

/* debug() shows what is computed, in order, and what is left out. */
static void test_lazy(void **state)
{
    (void)state;
    static const struct {
        const char *expression, *trace;
    } cases[] = {
        {"debug(1) + debug(2.5)", "int 1;double 2.5;"},
        {"debug(false) and debug(true)", "boolean false;"},
        {"debug(true) and debug(null)", "boolean true;null;"},
        {"debug(null) and debug(true)", "null;"},
        {"debug(true) or debug(false)", "boolean true;"},
        {"debug(false) or debug(true)", "boolean false;boolean true;"},
        {"debug(null) or debug(true)", "null;"},
        {"case when debug(0) then debug(1) when debug(2) then debug(3) else debug(4) end", "int 0;int 2;int 3;"},
        {"case when debug(null) then debug(1) else debug(4) end", "null;int 4;"},
        {"greatest(debug(1), debug(null), debug(3))", "int 1;null;int 3;"},
    };
    program_on_debug(note_debug, &debugged);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value;
        debugged.text[0] = '\0';
        assert_null(script_value(cases[i].expression, &value));
        assert_string_equal(debugged.text, cases[i].trace);
        assert_int_equal(debugged.step->number, 0);
    }
    program_on_debug(NULL, NULL);
    int calls = debugged.calls;
    assert_string_equal(script_shown("debug(7)"), "int 7");
    assert_int_equal(debugged.calls, calls);
}

static void test_branch(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        bool taken;
    } cases[] = {{"1", true},     {"0", false},     {"-1", true},  {"0.0", false},  {"0.5", true},   {"true", true},
                 {"null", false}, {"false", false}, {":on", true}, {":off", false}, {"1 = 2", false}};
    script_define("on", "on");
    script_define("off", "off");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program *program =
            script_compile(PROGRAM_AS_PGBENCH, pl_format(arena, "\\if %s\n\\endif\n", cases[i].expression));
        bool taken = !cases[i].taken;
        assert_null(program_branch(program, &program->steps[0], vars, &rng, &taken));
        assert_int_equal(taken, cases[i].taken);
    }
    struct program *program = script_compile(PROGRAM_AS_PGBENCH, "\\if 1/0\n\\endif\n");
    bool taken;
    assert_string_equal(program_branch(program, &program->steps[0], vars, &rng, &taken), "division by zero");
}

static void test_sleep(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct value v;
        int64_t ns;
        const char *wrong;
    } cases[] = {
        {"1", {0}, 1000000000, NULL},
        {"10 ms", {0}, 10000000, NULL},
        {"10ms", {0}, 10000000, NULL},
        {"7 us", {0}, 7000, NULL},
        {"0.5 s", {0}, 500000000, NULL},
        {"1.5 MS", {0}, 1500000, NULL},
        {"2148 s", {0}, INT64_C(2148000000000), NULL},
        {"9223372036 s", {0}, INT64_C(9223372036000000000), NULL},
        {"-1 ms", {0}, 0, NULL},
        {":v ms", {.type = VALUE_INT, .i = 3}, 3000000, NULL},
        {":v us", {.type = VALUE_INT, .i = INT64_C(9000000000000000)}, INT64_C(9000000000000000000), NULL},
        {":v ms", {.type = VALUE_DOUBLE, .d = 1.9}, 1900000, NULL},
        {":v ms", {.type = VALUE_TEXT, .length = 3, .text = "1.9"}, 1900000, NULL},
        {":v ms", {.type = VALUE_INT, .i = -3}, 0, NULL},
        {":v s", {.type = VALUE_INT, .i = INT64_MAX}, 0, "sleep: sleep time out of range"},
        {":v s", {.type = VALUE_DOUBLE, .d = 1e300}, 0, "sleep: sleep time out of range"},
        {":v s", {.type = VALUE_UNSET}, 0, "sleep: undefined variable \"v\""},
        {":v s", {.type = VALUE_NULL}, 0, "sleep: invalid sleep time \"NULL\" for variable \"v\""},
        {":v s", {.type = VALUE_BOOL, .b = true}, 0, "sleep: invalid sleep time \"true\" for variable \"v\""},
        {":v s",
         {.type = VALUE_TEXT, .length = 3, .text = "abc"},
         0,
         "sleep: invalid sleep time \"abc\" for variable \"v\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        vars[names_add(names, "v", 1)] = cases[i].v;
        struct program *program = script_compile(PROGRAM_AS_PGBENCH, pl_format(arena, "\\sleep %s\n", cases[i].text));
        int64_t ns = -1;
        const char *wrong = program_sleep_ns(program, &program->steps[0], vars, &ns);
        if (cases[i].wrong == NULL) {
            assert_null(wrong);
            assert_true(ns == cases[i].ns);
        } else {
            assert_string_equal(wrong, cases[i].wrong);
        }
    }
}

static void test_shell(void **state)
{
    (void)state;
    char buf[32];
    struct program *program =
        script_compile(PROGRAM_AS_PGBENCH, "\\shell echo   \"a  b\" :scale ::x \\\n  c|cat\n\\setshell y test :nothing\n");
    assert_null(program_shell_text(program, &program->steps[0], vars, buf, sizeof buf));
    assert_string_equal(buf, "echo \"a b\" 10 :x c|cat");
    assert_string_equal(program_shell_text(program, &program->steps[1], vars, buf, sizeof buf),
                        "test: undefined variable \":nothing\"");
    /* every size that is too small is refused, and not a byte more is written */
    char expected[] = "test 1234567890123456789012345678901234567890";
    script_define("nothing", "1234567890123456789012345678901234567890");
    for (size_t size = 0; size < sizeof expected + 3; size++) {
        char *exact = support_guard_alloc(size + 1);
        const char *wrong = program_shell_text(program, &program->steps[1], vars, exact + 1, size);
        if (wrong == NULL)
            assert_string_equal(exact + 1, expected);
        else
            assert_string_equal(wrong, "test: shell command is too long");
        assert_int_equal(wrong == NULL, size >= sizeof expected);
        support_guard_free(exact, size + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_values_flow, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_lazy, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_branch, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_sleep, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_shell, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
