/* Scripts to programs: where commands end, what is a variable, errors with their place. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "script/program.h"

static const char *const predefined[] = {"scale", NULL};
static struct pl_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static struct program *compile(const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    if (program_compile("s.sql", text, strlen(text), predefined, arena, &program, &err) != PL_OK)
        fail_msg("%d:%d: %s in \"%s\"", err.line, err.col, err.what, text);
    return program;
}

/* What the simple protocol would send, with :name for each variable. */
static const char *simple_text(const struct program *program, const struct step *step)
{
    size_t length = 0;
    char *text = pl_alloc(arena, 4096, 1);
    for (size_t i = 0; i < step->piece_count; i++) {
        length += (size_t)sprintf(text + length, "%.*s", (int)step->pieces[i].length, step->pieces[i].text);
        if (step->pieces[i].variable >= 0)
            length += (size_t)sprintf(text + length, ":%s", program->variables[step->pieces[i].variable]);
    }
    return text;
}

static void test_commands_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *commands[4];
    } cases[] = {
        {"SELECT 1;", {"SELECT 1"}},
        {"SELECT 1", {"SELECT 1"}},
        {"  SELECT 1  ;\n\n SELECT 2 ;;; ", {"SELECT 1", "SELECT 2"}},
        {"SELECT ';', E'\\';', \";\";SELECT 2", {"SELECT ';', E'\\';', \";\"", "SELECT 2"}},
        {"SELECT '\\';SELECT 2", {"SELECT '\\'", "SELECT 2"}},
        {"SELECT 'it''s;';SELECT 2", {"SELECT 'it''s;'", "SELECT 2"}},
        {"SELECT $$;$$, $a$;$$;$a$;SELECT 2", {"SELECT $$;$$, $a$;$$;$a$", "SELECT 2"}},
        {"SELECT a$b$ FROM c;SELECT 2", {"SELECT a$b$ FROM c", "SELECT 2"}},
        {"-- first; not\n/* no; /* nested; */ ; */ SELECT 1 -- tail; no\n, 2;", {"SELECT 1 -- tail; no\n, 2"}},
        {"SELECT 1 /* ; */;SELECT 2", {"SELECT 1 /* ; */", "SELECT 2"}},
        {"SELECT 1\n\\set x 5\nSELECT :x;", {"SELECT 1", "SELECT :x"}},
        {"SELECT x::int;", {"SELECT x::int"}},
        {"SELECT a[1:2], '12:30';", {"SELECT a[1:2], '12:30'"}},
        {"\\set x 1\r\nSELECT :x;\r\n", {"SELECT :x"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program *program = compile(cases[i].text);
        size_t count = 0;
        for (size_t s = 0; s < program->step_count; s++) {
            if (program->steps[s].kind != STEP_SQL)
                continue;
            assert_int_equal(program->steps[s].io_index, count);
            assert_non_null(cases[i].commands[count]);
            assert_string_equal(simple_text(program, &program->steps[s]), cases[i].commands[count]);
            count++;
        }
        assert_int_equal(program->io_step_count, count);
        assert_true(count == 4 || cases[i].commands[count] == NULL);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    struct program *program = compile("\\set a 1\n\\set b 2\nSELECT :a + :b, :a, :scale, ':a', x::int -- :zz\n;");
    const struct step *step = &program->steps[2];
    assert_string_equal(step->prepared_text, "SELECT $1 + $2, $1, $3, ':a', x::int -- :zz");
    assert_int_equal(step->parameter_count, 3);
    assert_int_equal(step->parameters[0], program_variable(program, "a"));
    assert_int_equal(step->parameters[1], program_variable(program, "b"));
    assert_int_equal(step->parameters[2], program_variable(program, "scale"));
    assert_int_equal(step->line, 3);
    assert_int_equal(program_variable(program, "nothing"), -1);
}

static void test_values_flow(void **state)
{
    (void)state;
    struct program *program = compile("\\set a 2 * :scale\n\\set a :a + 1\nSELECT :a;");
    struct value vars[4] = {0};
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_SCRIPT, 0);
    vars[program_variable(program, "scale")] = (struct value){.type = VALUE_INT, .i = 10};
    assert_null(program_eval(&program->steps[0], vars, &rng));
    assert_null(program_eval(&program->steps[1], vars, &rng));
    assert_int_equal(vars[program_variable(program, "a")].i, 21);
    /* a fault changes nothing */
    vars[program_variable(program, "a")] = (struct value){.type = VALUE_INT, .i = INT64_MAX};
    assert_non_null(program_eval(&program->steps[1], vars, &rng));
    assert_true(vars[program_variable(program, "a")].i == INT64_MAX);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, col;
        const char *expected;
    } cases[] = {
        {"", 0, 0, "the script has no SQL command"},
        {"\\set x 1\n", 0, 0, "the script has no SQL command"},
        {"-- only a comment", 0, 0, "the script has no SQL command"},
        {"SELECT :x;", 1, 8, "variable \"x\" is used before it is set"},
        {"SELECT 1;\n  SELECT :y", 2, 10, "variable \"y\" is used before it is set"},
        {"SELECT :x;\n\\set x 1\n", 1, 8, "variable \"x\" is used before it is set"},
        {"\\set", 1, 5, "\\set needs the name of a variable"},
        {"\\set 1x 1", 1, 6, "\\set needs the name of a variable"},
        {"\\set x", 1, 7, "\\set needs an expression after the name"},
        {"\\set x-y 1", 1, 7, "a name has only letters, digits and _"},
        {"SELECT 1;\n \\set x 1 +", 2, 12, "the expression ends where a value is expected"},
        {"\\sleep 5 ms\nSELECT 1", 1, 1, "meta command \"\\sleep\" is not known"},
        {"  \\setx y 1", 1, 3, "meta command \"\\setx\" is not known"},
        {"SELECT 1 \\; SELECT 2;", 1, 10, "several commands in one message (\\;) are not supported"},
        {"SELECT 'abc", 1, 8, "the quote that begins here does not end"},
        {"SELECT \"abc", 1, 8, "the quote that begins here does not end"},
        {"SELECT 1;\nSELECT $x$ abc $y$", 2, 8, "the dollar quote that begins here does not end"},
        {"SELECT 1 /* /* */", 1, 10, "the comment that begins here does not end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_err err = {0};
        struct program *program = NULL;
        assert_int_equal(program_compile("s.sql", cases[i].text, strlen(cases[i].text), predefined, arena, &program, &err),
                         PL_INPUT);
        assert_null(program);
        assert_string_equal(err.what, cases[i].expected);
        assert_string_equal(err.file, "s.sql");
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.col, cases[i].col);
    }
    struct pl_err err = {0};
    struct program *program = NULL;
    assert_int_equal(program_compile("s.sql", "SELECT\0 1", 9, predefined, arena, &program, &err), PL_INPUT);
    assert_string_equal(err.what, "byte 6 is NUL: this is not a text file");
}

static void test_limits(void **state)
{
    (void)state;
    /* one command may use PL_MAX_PARAMETERS variables and not one more */
    for (int count = PL_MAX_PARAMETERS; count <= PL_MAX_PARAMETERS + 1; count++) {
        char *text = pl_alloc(arena, 64 * 1024, 1);
        size_t length = 0;
        for (int i = 0; i < count; i++)
            length += (size_t)sprintf(text + length, "\\set v%d %d\n", i, i);
        length += (size_t)sprintf(text + length, "SELECT 1");
        for (int i = 0; i < count; i++)
            length += (size_t)sprintf(text + length, "+:v%d", i);
        struct pl_err err = {0};
        struct program *program = NULL;
        enum pl_code code = program_compile("s.sql", text, length, predefined, arena, &program, &err);
        assert_int_equal(code, count == PL_MAX_PARAMETERS ? PL_OK : PL_LIMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands_end), cmocka_unit_test(test_parameters),
                                       cmocka_unit_test(test_values_flow), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests_name("program", tests, setup, teardown);
}
