/* Values of expressions, as pgbench has them (test_pgbench.c asks it), and what is wrong with those that have none. */
#include "script_test.h"

#include "expressions.h"

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expression_cases) + COUNT(own_expression_cases); i++) {
        const struct expression_case *the =
            i < COUNT(expression_cases) ? &expression_cases[i] : &own_expression_cases[i - COUNT(expression_cases)];
        const char *shown = script_shown(the->expression);
        if (strcmp(shown, the->expected) != 0)
            fail_msg("\"%s\" is \"%s\"", the->expression, shown);
    }
}

/* Draws stay in their range and reach its ends. */
static void test_draws(void **state)
{
    (void)state;
    static const char *const expressions[] = {"random(-2, 2)", "random_exponential(-2, 2, 1)", "random_gaussian(-2, 2, 2)",
                                              "random_zipfian(-2, 2, 0.5)"};
    for (size_t e = 0; e < COUNT(expressions); e++) {
        struct program *program = script_compile(PROGRAM_AS_PGBENCH, pl_format(arena, "\\set drawn %s\n", expressions[e]));
        int drawn = program_variable(program, "drawn"), counts[5] = {0};
        for (int i = 0; i < 2000; i++) {
            assert_null(program_eval(program, &program->steps[0], vars, &rng));
            assert_true(vars[drawn].type == VALUE_INT && vars[drawn].i >= -2 && vars[drawn].i <= 2);
            counts[vars[drawn].i + 2]++;
        }
        for (int i = 0; i < 5; i++)
            assert_true(counts[i] > 0);
    }
}

/* The same stream gives the same draws: what a retry needs. */
static void test_draws_repeat(void **state)
{
    (void)state;
    struct program *program = script_compile(
        PROGRAM_AS_PGBENCH, "\\set a random(1, 1000000) + random_zipfian(1, 1000000, 0.99) * random_gaussian(1, 100, 3)\n");
    int a = program_variable(program, "a");
    for (int i = 0; i < 1000; i++) {
        struct pl_rng before = rng;
        assert_null(program_eval(program, &program->steps[0], vars, &rng));
        struct value first = vars[a];
        rng = before;
        assert_null(program_eval(program, &program->steps[0], vars, &rng));
        assert_true(vars[a].i == first.i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_values, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_draws, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_draws_repeat, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("functions", tests, NULL, NULL);
}
