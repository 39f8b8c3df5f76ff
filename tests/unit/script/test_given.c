/* Variables given from outside: what is a constant of which type, what an expression, what an error; steps put in front. */
#include "script_test.h"

static struct program_givens givens;

static enum pl_code give(const struct program_given *given, size_t count, struct pl_err *err)
{
    *err = (struct pl_err){0};
    return program_give(given, count, names, arena, &givens, err);
}

static const char *shown(const struct value *value)
{
    char text[VALUE_DESCRIBE_BYTES];
    if (value->type == VALUE_TEXT)
        return pl_format(arena, "text %s", value->text);
    value_describe(value, text);
    return pl_strdup(arena, text);
}

static void test_constants(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } constants[] = {{"10", "int 10"},
                     {"-3", "int -3"},
                     {"0", "int 0"},
                     {"9223372036854775807", "int 9223372036854775807"},
                     {"9223372036854775808", "text 9223372036854775808"},
                     {"0.5", "double 0.5"},
                     {"-2.25", "double -2.25"},
                     {"true", "boolean true"},
                     {"false", "boolean false"},
                     {"null", "null"},
                     {"", "text "},
                     {"ann", "text ann"},
                     {"True", "text True"},
                     {"nan", "text nan"},
                     /* what a number would not give back stays as it is written */
                     {"007", "text 007"},
                     {"+49", "text +49"},
                     {"1.50", "text 1.50"},
                     {"10_000", "text 10_000"},
                     {"1e3", "text 1e3"},
                     {" 5", "text  5"},
                     /* no calls */
                     {"Ann (admin)", "text Ann (admin)"},
                     {"(x)", "text (x)"},
                     {":scale", "text :scale"},
                     {"1 + 2", "text 1 + 2"},
                     {"http://h/f(x)", "text http://h/f(x)"},
                     {"random", "text random"},
                     {"my_random (5)", "text my_random (5)"}};
    for (size_t i = 0; i < COUNT(constants); i++) {
        struct pl_err err;
        const struct program_given given = {.name = "v", .text = constants[i].text, .source = "--variable"};
        if (give(&given, 1, &err) != PL_OK)
            fail_msg("%s: %s", constants[i].text, err.what);
        assert_int_equal(givens.constant_count, 1);
        assert_int_equal(givens.step_count, 0);
        assert_string_equal(givens.constants[0].name, "v");
        assert_string_equal(shown(&givens.constants[0].value), constants[i].value);
    }
}

static void test_expressions(void **state)
{
    (void)state;
    static const struct program_given given[] = {
        {.name = "users", .text = "1000", .source = "p.yaml", .line = 3, .col = 5},
        {.name = "user", .text = "random(1, :users)", .source = "p.yaml", .line = 4, .col = 5},
        {.name = "other", .text = "1 + random (1, 2) * 0", .source = "p.yaml", .line = 5, .col = 5},
        {.name = "both", .text = "  greatest(:user, :other, :scale)", .source = "p.yaml", .line = 6, .col = 5},
        {.name = "with-hyphen", .text = "least(:scale, 3)", .source = "p.yaml", .line = 7, .col = 5},
        {.name = "word-2", .text = "x", .source = "p.yaml", .line = 8, .col = 5}};
    struct pl_err err;
    if (give(given, COUNT(given), &err) != PL_OK)
        fail_msg("%s", err.what);
    assert_int_equal(givens.constant_count, 2);
    assert_int_equal(givens.step_count, 4);
    vars[names_find(names, "users", 5)] = givens.constants[0].value;
    struct program program = {.steps = givens.steps, .step_count = givens.step_count, .names = names};
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < givens.step_count; i++) {
            assert_int_equal(givens.steps[i].kind, STEP_SET);
            assert_int_equal(givens.steps[i].io_index, -1);
            assert_int_equal(givens.steps[i].number, -1);
            assert_null(program_eval(&program, &givens.steps[i], vars, &rng));
        }
        assert_in_range(vars[names_find(names, "user", 4)].i, 1, 1000);
        assert_int_equal(vars[names_find(names, "other", 5)].i, 1);
        assert_true(vars[names_find(names, "both", 4)].i >= 10);
        assert_int_equal(vars[names_find(names, "with-hyphen", 11)].i, 3);
    }
    /* scripts compiled later know them */
    script_compile(PROGRAM_STRICT, "SELECT :user, :both, :users;");
}

static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "_", "user-id", "header.X-A", "a1", "\xc3\xa4"};
    static const char *const bad[] = {"", "1a", "-a", ".a", "a b", "a:b", "a=b"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(program_is_given_name(good[i], strlen(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(program_is_given_name(bad[i], strlen(bad[i])));
    assert_true(program_is_given_name("user-id=5", 7));
}

static const struct bad {
    const char *name, *text, *what;
} bads[] = {{"", "1", "variable \"\": not a name"},
            {"1a", "1", "variable \"1a\": not a name"},
            {"a b", "1", "not a name"},
            {"-a", "1", "not a name"},
            {"a", "rondom(1, 2)", "unexpected function name (rondom)"},
            {"a", "f(x)", "unexpected function name (f)"},
            {"a", "random(1)", "unexpected number of arguments"},
            {"a", "random(1, 2", "syntax error"},
            {"a", "random(1, :nobody)", "nothing sets \":nobody\""},
            {"own", "random(1, :own)", "nothing sets \":own\""},
            {"a", "random(1, 2) or so", "unexpected function name (so)"},
            {"a", "random(1,\n2)", "one line without a backslash"},
            {"a", "random(1, \\\n2)", "one line without a backslash"}};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bads); i++) {
        struct pl_err err;
        const struct program_given at = {bads[i].name, bads[i].text, "p.yaml", 7, 3},
                                   nowhere = {bads[i].name, bads[i].text, "--variable", 0, 0};
        if (give(&at, 1, &err) != PL_INPUT || strstr(err.what, bads[i].what) == NULL || err.hint[0] == '\0')
            fail_msg("%s=%s: %s", bads[i].name, bads[i].text, err.what);
        assert_int_equal(err.line, 7);
        assert_int_equal(err.col, 3);
        assert_string_equal(err.file, "p.yaml");
        if (strcmp(bads[i].name, "own") == 0)
            continue; /* by now something has set it */
        assert_int_equal(give(&nowhere, 1, &err), PL_INPUT);
        assert_int_equal(strncmp(err.what, "--variable: variable \"", 22), 0);
        assert_int_equal(err.line, 0);
    }
    struct pl_err err;
    static const struct program_given twice[] = {{"t", "1", "-", 0, 0}, {"t", "2", "-", 0, 0}};
    assert_int_equal(give(twice, 2, &err), PL_INPUT);
    assert_non_null(strstr(err.what, "given twice"));
    static const struct program_given backwards[] = {{"p", "random(1, :q)", "-", 0, 0}, {"q", "2", "-", 0, 0}};
    assert_int_equal(give(backwards, 2, &err), PL_INPUT);
    assert_non_null(strstr(err.what, "nothing sets \":q\""));
}

/* Jumps still lead to the same steps, and what reports count does not move. */
static void test_prepend(void **state)
{
    (void)state;
    struct pl_err err;
    static const struct program_given given[] = {{"n", "random(7, 7)", "-", 0, 0}, {"m", "greatest(:n, 9)", "-", 0, 0}};
    assert_int_equal(give(given, 2, &err), PL_OK);
    const struct program *program = script_compile(
        PROGRAM_STRICT, "\\if :n = 7\n\\set a 1\n\\elif :n = 8\n\\set a 2\n\\else\n\\set a 3\n\\endif\nSELECT :a, :m;");
    const struct program *whole = program_prepend(program, givens.steps, givens.step_count, arena);
    assert_ptr_equal(program_prepend(program, NULL, 0, arena), program);
    assert_int_equal(whole->step_count, program->step_count + 2);
    assert_int_equal(whole->io_step_count, program->io_step_count);
    assert_int_equal(whole->command_count, program->command_count);
    assert_ptr_equal(whole->names, program->names);
    size_t at = 0, steps = 0;
    for (; at < whole->step_count && whole->steps[at].kind != STEP_SQL; steps++) {
        const struct step *step = &whole->steps[at++];
        bool taken = true;
        if (step->kind == STEP_SET)
            assert_null(program_eval(whole, step, vars, &rng));
        else if (step->kind == STEP_IF)
            assert_null(program_branch(whole, step, vars, &rng, &taken));
        if (!taken || step->kind == STEP_JUMP)
            at = step->target;
    }
    assert_int_equal(whole->steps[at].io_index, 0);
    assert_int_equal(vars[names_find(names, "a", 1)].i, 1);
    assert_int_equal(vars[names_find(names, "m", 1)].i, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_constants, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_names, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_expressions, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_bad, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_prepend, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("given", tests, NULL, NULL);
}
