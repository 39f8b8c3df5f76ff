/* SQL commands: where they end, what is a variable in them. */
#include "script_test.h"

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
        {"SELECT e'a\\'b;', E'\\\\';SELECT 2", {"SELECT e'a\\'b;', E'\\\\'", "SELECT 2"}},
        {"SELECT ae'\\';SELECT 2", {"SELECT ae'\\'", "SELECT 2"}},
        {"SELECT 'it''s;';SELECT 2", {"SELECT 'it''s;'", "SELECT 2"}},
        {"SELECT \"a\"\";b\";SELECT 2", {"SELECT \"a\"\";b\"", "SELECT 2"}},
        {"SELECT $$;$$, $a$;$$;$a$;SELECT 2", {"SELECT $$;$$, $a$;$$;$a$", "SELECT 2"}},
        {"SELECT a$b$ FROM c;SELECT 2", {"SELECT a$b$ FROM c", "SELECT 2"}},
        {"SELECT $1, $b;SELECT 2", {"SELECT $1, $b", "SELECT 2"}},
        {"-- first; not\n/* no; /* nested; */ ; */ SELECT 1 -- tail; no\n, 2;",
         {"/* no; /* nested; */ ; */ SELECT 1 -- tail; no\n, 2"}},
        {"/*+ SeqScan(t) */ SELECT 1;", {"/*+ SeqScan(t) */ SELECT 1"}},
        {"SELECT 1 /* ; */;SELECT 2", {"SELECT 1 /* ; */", "SELECT 2"}},
        {"SELECT 1;/* only */;\n/* only */\n", {"SELECT 1"}},
        {"/* only */ \\set x 5\nSELECT 1;/* at the end", {"SELECT 1"}},
        {"SELECT 1\n\\set x 5\nSELECT :x;", {"SELECT 1", "SELECT {x}"}},
        {"SELECT 1 \\set x 5\nSELECT 2", {"SELECT 1", "SELECT 2"}},
        {"SELECT (1;2);SELECT 2", {"SELECT (1;2)", "SELECT 2"}},
        {"SELECT (1 \\set x 1\n);SELECT 2", {"SELECT (1", ")", "SELECT 2"}},
        {"SELECT 1);SELECT 2", {"SELECT 1)", "SELECT 2"}},
        {"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3;",
         {"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "SELECT 3"}},
        {"create or replace procedure p() begin atomic select 1; end;BEGIN;END;",
         {"create or replace procedure p() begin atomic select 1; end", "BEGIN", "END"}},
        {"BEGIN; SELECT 1; END;", {"BEGIN", "SELECT 1", "END"}},
        {"SELECT x::int, a[1:2], '12:30', ':', y:::z;", {"SELECT x::int, a[1:2], '12:30', ':', y:::z"}},
        {"SELECT 1 \\; SELECT 2\\;SELECT 3;SELECT 4", {"SELECT 1 ; SELECT 2;SELECT 3", "SELECT 4"}},
        {"\\; SELECT 1;", {"; SELECT 1"}},
        {"SELECT \\:\\:int;", {"SELECT ::int"}},
        {"\\set x 1\r\nSELECT 1;\r\n", {"SELECT 1"}},
        {"SELECT 1\r\n, 2\r\n;", {"SELECT 1\r\n, 2"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct program *program = script_compile(PROGRAM_AS_PGBENCH, cases[i].text);
        size_t count = 0;
        for (size_t s = 0; s < program->step_count; s++) {
            if (program->steps[s].kind != STEP_SQL)
                continue;
            assert_int_equal(program->steps[s].io_index, count);
            assert_true(count < 4 && cases[i].commands[count] != NULL);
            assert_string_equal(script_sent(&program->steps[s]), cases[i].commands[count]);
            count++;
        }
        assert_int_equal(program->io_step_count, count);
        assert_true(count == 4 || cases[i].commands[count] == NULL);
    }
}

static void test_parameters(void **state)
{
    (void)state;
    struct program *program = script_compile(
        PROGRAM_STRICT, "\\set a 1\n\\set b 2\nSELECT :a + :b, :a, :scale, ':no', x::int, \":a\" -- :b :zz\n;");
    const struct step *step = &program->steps[2];
    assert_string_equal(step->prepared_text, "SELECT $1 + $2, $1, $3, ':no', x::int, \":a\" -- :b :zz");
    assert_string_equal(script_sent(step), "SELECT {a} + {b}, {a}, {scale}, ':no', x::int, \"{a}\" -- {b} :zz");
    assert_string_equal(step->text, "SELECT :a + :b, :a, :scale, ':no', x::int, \":a\" -- :b :zz\n;");
    assert_int_equal(step->parameter_count, 3);
    assert_int_equal(step->parameters[0], program_variable(program, "a"));
    assert_int_equal(step->parameters[1], program_variable(program, "b"));
    assert_int_equal(step->parameters[2], program_variable(program, "scale"));
    assert_int_equal(step->line, 3);
    assert_true(step->quotes_variables);
    assert_int_equal(program_variable(program, "nothing"), -1);
}

/* Ten parameters and more, and a text that ends with one. */
static void test_many_parameters(void **state)
{
    (void)state;
    const char *text = "SELECT 1", *numbered = "SELECT 1";
    for (int i = 0; i < 40; i++) {
        names_predefine(names, pl_format(arena, "v%d", i));
        text = pl_format(arena, "%s+:v%d", text, i);
        numbered = pl_format(arena, "%s+$%d", numbered, i + 1);
    }
    assert_string_equal(script_compile(PROGRAM_STRICT, text)->steps[0].prepared_text, numbered);
}

static void test_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sent, *prepared;
        bool quotes_variables;
    } cases[] = {
        {"SELECT ':scale'", "SELECT '{scale}'", "SELECT ':scale'", true},
        {"SELECT $$:scale$$", "SELECT $${scale}$$", "SELECT $$:scale$$", true},
        {"SELECT \":scale\"", "SELECT \"{scale}\"", "SELECT \":scale\"", true},
        {"SELECT E'\\':scale'", "SELECT E'\\'{scale}'", "SELECT E'\\':scale'", true},
        {"SELECT 1 /* :scale */", "SELECT 1 /* {scale} */", "SELECT 1 /* :scale */", false},
        {"SELECT 1 -- :scale", "SELECT 1 -- {scale}", "SELECT 1 -- :scale", false},
        {"SELECT '12:ab'", "SELECT '12:ab'", "SELECT '12:ab'", false},
        {"SELECT '::scale'", "SELECT '::scale'", "SELECT '::scale'", false},
        {"SELECT :scale:scale", "SELECT {scale}{scale}", "SELECT $1$1", false},
        {"SELECT ':late'\n\\set late 1\n", "SELECT '{late}'", "SELECT ':late'", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool is_late = strstr(cases[i].text, "late") != NULL;
        struct program *program = script_compile(is_late ? PROGRAM_AS_PGBENCH : PROGRAM_STRICT, cases[i].text);
        assert_string_equal(script_sent(&program->steps[0]), cases[i].sent);
        assert_string_equal(program->steps[0].prepared_text, cases[i].prepared);
        assert_int_equal(program->steps[0].quotes_variables, cases[i].quotes_variables);
    }
}

/* What nothing sets is a variable all the same: it is decided when the command runs; but it needs no quotes to be pasted.
 */
static void test_as_pgbench(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_AS_PGBENCH, "SELECT :x, ':y', 'open");
    assert_string_equal(script_sent(&program->steps[0]), "SELECT {x}, '{y}', 'open");
    assert_string_equal(program->steps[0].prepared_text, "SELECT $1, ':y', 'open");
    assert_false(program->steps[0].quotes_variables);
    static const char *const open[] = {"SELECT \"x", "SELECT $a$ x $b$", "SELECT 1 /* /* */", "SELECT E'\\'", "SELECT (1"};
    for (size_t i = 0; i < COUNT(open); i++)
        assert_string_equal(script_sent(&script_compile(PROGRAM_AS_PGBENCH, open[i])->steps[0]), open[i]);
}

static void test_compound(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_STRICT, "BEGIN \\; SELECT :scale \\; END;SELECT 1;");
    assert_int_equal(program->steps[0].message_count, 3);
    assert_string_equal(program->steps[0].text, "BEGIN ; SELECT :scale ; END;");
    assert_string_equal(program->steps[0].prepared_text, "BEGIN ; SELECT $1 ; END");
    assert_int_equal(program->steps[1].message_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_commands_end, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_parameters, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_many_parameters, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_quotes, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_as_pgbench, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_compound, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("sql", tests, NULL, NULL);
}
