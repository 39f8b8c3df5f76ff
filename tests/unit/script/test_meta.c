/* Meta commands: what they become. Their errors: test_bad.c. */
#include "script_test.h"

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum step_kind kind;
    } cases[] = {{"\\set x 1", STEP_SET},
                 {"\\SET x 1", STEP_SET},
                 {"\\ set x 1", STEP_SET},
                 {"\\set\\\nx 1", STEP_SET},
                 {"\\sleep 1", STEP_SLEEP},
                 {"\\shell true", STEP_SHELL},
                 {"\\setshell x echo 1", STEP_SETSHELL},
                 {"\\startpipeline", STEP_START_PIPELINE},
                 {"\\syncpipeline", STEP_SYNC_PIPELINE},
                 {"\\endpipeline", STEP_END_PIPELINE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program *program = script_compile(PROGRAM_AS_PGBENCH, cases[i].text);
        assert_int_equal(program->step_count, 1);
        assert_int_equal(program->steps[0].kind, cases[i].kind);
        assert_string_equal(program->steps[0].text, cases[i].text);
        assert_int_equal(program->steps[0].io_index, cases[i].kind == STEP_END_PIPELINE ? 0 : -1);
        assert_int_equal(program->steps[0].number, 0);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_STRICT, "\\set x 1\n"
                                                             "\\sleep :x ms  \r\n"
                                                             "\\sleep 2.5\n"
                                                             "\\shell a\\b ::c :x \\\n d \n"
                                                             "\\setshell y echo 5\n"
                                                             "SELECT :y;");
    const struct step *steps = program->steps;
    assert_int_equal(steps[1].words[0].variable, program_variable(program, "x"));
    assert_true(steps[1].unit_ns == 1000000);
    assert_string_equal(steps[1].text, "\\sleep :x ms");
    assert_int_equal(steps[2].words[0].variable, -1);
    assert_true(steps[2].sleep_literal == 2.5 && steps[2].unit_ns == 1000000000);
    assert_int_equal(steps[3].word_count, 4);
    assert_string_equal(steps[3].words[0].text, "a\\b");
    assert_string_equal(steps[3].words[1].text, ":c");
    assert_int_equal(steps[3].words[1].variable, -1);
    assert_int_equal(steps[3].words[2].variable, program_variable(program, "x"));
    assert_string_equal(steps[3].words[2].text, ":x");
    assert_string_equal(steps[3].words[3].text, "d");
    assert_int_equal(steps[4].variable, program_variable(program, "y"));
    assert_int_equal(steps[4].word_count, 2);
    assert_int_equal(steps[5].line, 7);
}

static void test_capture(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum step_capture capture;
        const char *prefix;
    } cases[] = {{"SELECT 1 AS x;", CAPTURE_NOTHING, ""},
                 {"SELECT 1 AS x \\gset", CAPTURE_ONE_ROW, ""},
                 {"SELECT 1 AS x\n  \\gset p_\n", CAPTURE_ONE_ROW, "p_"},
                 {"SELECT 1 AS x; \\gset p_", CAPTURE_ONE_ROW, "p_"},
                 {"SELECT 1 AS x;\n-- comment\n\\gset", CAPTURE_ONE_ROW, ""},
                 {"SELECT 1 AS x \\; SELECT 2 AS y \\aset q", CAPTURE_ALL, "q"},
                 {"SELECT 1 AS x \\Aset\r\n", CAPTURE_ALL, ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program *program = script_compile(PROGRAM_STRICT, cases[i].text);
        assert_int_equal(program->step_count, 1);
        assert_int_equal(program->steps[0].capture, cases[i].capture);
        assert_string_equal(program->steps[0].prefix, cases[i].prefix);
    }
}

/* What \gset may set counts as set from there on, by its prefix; without one, that is everything. */
static void test_capture_sets(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_right;
    } cases[] = {{"SELECT 1 AS x \\gset\nSELECT :x;", true},
                 {"SELECT 1 AS x \\gset p_\nSELECT :p_x;", true},
                 {"SELECT 1 AS x \\gset p_\nSELECT :x;", false},
                 {"SELECT 1 AS x \\aset p_\n\\set y :p_x\n", true},
                 {"SELECT :x \\gset\n", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pl_err err = {0};
        struct program *program = NULL;
        enum pl_code code = program_compile("s.sql", cases[i].text, strlen(cases[i].text), PROGRAM_STRICT, names_new(arena),
                                            arena, &program, &err);
        assert_int_equal(code, cases[i].is_right ? PL_OK : PL_INPUT);
    }
}

/* A backslash alone ends the SQL before it, as in pgbench. */
static void test_backslash_alone(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_AS_PGBENCH, "SELECT 1 \\\nSELECT 2;\n\\");
    assert_int_equal(program->step_count, 2);
    assert_string_equal(program->steps[0].text, "SELECT 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_arguments, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_capture, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_capture_sets, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_backslash_alone, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}
