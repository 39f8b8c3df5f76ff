/* Programs: conditions, shared names, sizes. */
#include "script_test.h"

#include "base/limits.h"

/* Runs the steps as the engine does and writes down the SQL that is reached. */
static const char *run(const struct program *program)
{
    const char *trace = "";
    for (size_t s = 0; s < program->step_count;) {
        const struct step *step = &program->steps[s++];
        bool taken = true;
        switch (step->kind) {
        case STEP_SET:
            assert_null(program_eval(program, step, vars, &rng));
            break;
        case STEP_IF:
            assert_null(program_branch(program, step, vars, &rng, &taken));
            s = taken ? s : step->target;
            break;
        case STEP_JUMP:
            s = step->target;
            break;
        case STEP_SQL:
            trace = pl_format(arena, "%s%s", trace, step->prepared_text);
            break;
        default:
            assert_int_equal(step->kind, STEP_NOTHING);
        }
        assert_true(s <= program->step_count);
    }
    return trace;
}

static void test_conditions(void **state)
{
    (void)state;
    static const char text[] = "a;\n"
                               "\\if :x = 1\n"
                               "b;\n"
                               "\\if :y = 1\n"
                               "c;\n"
                               "\\elif :y = 2\n"
                               "d;\n"
                               "\\endif\n"
                               "e;\n"
                               "\\elif :x = 2\n"
                               "\\elif :x = 3\n"
                               "f;\n"
                               "\\else\n"
                               "g;\n"
                               "\\if :y = 1\n"
                               "h;\n"
                               "\\else\n"
                               "i;\n"
                               "\\endif\n"
                               "\\endif\n"
                               "j";
    static const struct {
        int x, y;
        const char *trace;
    } cases[] = {{1, 1, "abcej"}, {1, 2, "abdej"}, {1, 3, "abej"}, {2, 1, "aj"},
                 {3, 1, "afj"},   {4, 1, "aghj"},  {4, 2, "agij"}};
    int x = names_predefine(names, "x"), y = names_predefine(names, "y");
    struct program *program = script_compile(PROGRAM_STRICT, text);
    for (size_t i = 0; i < COUNT(cases); i++) {
        vars[x] = (struct value){.type = VALUE_INT, .i = cases[i].x};
        vars[y] = (struct value){.type = VALUE_INT, .i = cases[i].y};
        assert_string_equal(run(program), cases[i].trace);
    }
    /* commands are counted as written; the jumps that \elif implies are none */
    assert_int_equal(program->command_count, 21);
    assert_int_equal(program->step_count, 24);
    int number = 0;
    for (size_t s = 0; s < program->step_count; s++) {
        const struct step *step = &program->steps[s];
        assert_int_equal(step->number, step->text != NULL ? number++ : -1);
        assert_int_equal(step->line, step->text != NULL ? number : number + 1);
    }
    assert_int_equal(program->io_step_count, 10);
}

/* A condition at the very end goes on after the last step. */
static void test_ends(void **state)
{
    (void)state;
    assert_string_equal(run(script_compile(PROGRAM_STRICT, "a;\n\\if 0\nb;\n\\endif")), "a");
    assert_string_equal(run(script_compile(PROGRAM_STRICT, "a;\n\\if 1\n\\else\nb;\n\\endif")), "a");
    assert_string_equal(run(script_compile(PROGRAM_STRICT, "a;\\if 1\n\\if 1\n\\if 0\n\\endif\n\\endif\n\\endif")), "a");
}

static void test_shared_names(void **state)
{
    (void)state;
    struct program *one = script_compile(PROGRAM_STRICT, "\\set x 1\nSELECT :x;");
    struct program *two = script_compile(PROGRAM_STRICT, "SELECT :x;\n\\set z 1\n");
    assert_ptr_equal(one->names, two->names);
    assert_int_equal(program_variable(one, "x"), program_variable(two, "x"));
    assert_int_equal(program_variable(one, "z"), two->steps[1].variable);
    assert_int_equal(two->steps[0].parameters[0], one->steps[0].variable);
}

static void test_as_pgbench(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_AS_PGBENCH, "\\set x 1\n\\sleep 1 us\n");
    assert_int_equal(program->io_step_count, 0);
    assert_int_equal(program->command_count, 2);
    program = script_compile(PROGRAM_AS_PGBENCH, "\\set x :nothing + 1\n");
    assert_string_equal(program_eval(program, &program->steps[0], vars, &rng), "undefined variable \"nothing\"");
}

static enum pl_code compile(const char *text, size_t length, struct pl_err *err)
{
    struct program *program = NULL;
    return program_compile("s.sql", text, length, PROGRAM_AS_PGBENCH, names, arena, &program, err);
}

static void test_limits(void **state)
{
    (void)state;
    enum { SPACE = 2 * 1024 * 1024 };
    char *text = pl_alloc(arena, SPACE, 1);
    for (int more = 0; more <= 1; more++) {
        struct pl_err err = {0};
        size_t length = script_add(text, 0, "SELECT 1");
        for (int i = 0; i < PL_MAX_PARAMETERS + more; i++)
            length = script_add(text, length, "+:v%d", i);
        assert_int_equal(compile(text, length, &err), more ? PL_LIMIT : PL_OK);
    }
    for (int more = 0; more <= 1; more++) {
        struct pl_err err = {0};
        size_t length = 0;
        for (int i = 0; i < PL_MAX_STEPS + more; i++)
            length = script_add(text, length, "SELECT 1;\n");
        assert_int_equal(compile(text, length, &err), more ? PL_LIMIT : PL_OK);
        assert_int_equal(err.line, more ? PL_MAX_STEPS + 1 : 0);
    }
    struct pl_err err = {0};
    size_t length = 0;
    for (int i = 0; i < PL_MAX_VARIABLES + 1; i++)
        length = script_add(text, length, "\\set w%d 1\n", i);
    assert_int_equal(compile(text, length, &err), PL_LIMIT);
    assert_string_equal(err.what, "more than 4096 variables");
    err = (struct pl_err){0};
    assert_int_equal(compile(text, PL_MAX_SCRIPT_BYTES + 1, &err), PL_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_conditions, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_ends, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_shared_names, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_as_pgbench, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_limits, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
