/* The builtin scripts compile to the transactions that pgbench's manual lists. */
#include "script_test.h"

static void test_step_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name, *title;
        size_t steps, io_steps;
    } expected[] = {{"tpcb-like", "<builtin: TPC-B (sort of)>", 11, 7},
                    {"simple-update", "<builtin: simple update>", 9, 5},
                    {"select-only", "<builtin: select only>", 2, 1}};
    size_t count = 0;
    while (builtin_script_names[count] != NULL)
        count++;
    assert_int_equal(count, COUNT(expected));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(builtin_script_names[i], expected[i].name);
        assert_string_equal(builtin_script_title(expected[i].name), expected[i].title);
        struct program *program = script_compile(PROGRAM_STRICT, builtin_script(expected[i].name));
        assert_int_equal(program->step_count, expected[i].steps);
        assert_int_equal(program->command_count, expected[i].steps);
        assert_int_equal(program->io_step_count, expected[i].io_steps);
    }
    assert_null(builtin_script("tpcb"));
    assert_null(builtin_script_title("tpcb"));
}

static void test_key_ranges(void **state)
{
    (void)state;
    struct program *program = script_compile(PROGRAM_STRICT, builtin_script("tpcb-like"));
    int aid = program_variable(program, "aid"), tid = program_variable(program, "tid");
    int bid = program_variable(program, "bid"), delta = program_variable(program, "delta");
    vars[program_variable(program, "scale")] = (struct value){.type = VALUE_INT, .i = 3};
    int64_t aid_max = 0, tid_max = 0, bid_max = 0, delta_min = 0;
    for (int round = 0; round < 200000; round++) {
        for (size_t i = 0; program->steps[i].kind == STEP_SET; i++)
            assert_null(program_eval(program, &program->steps[i], vars, &rng));
        assert_true(vars[aid].i >= 1 && vars[tid].i >= 1 && vars[bid].i >= 1 && vars[delta].i <= 5000);
        aid_max = vars[aid].i > aid_max ? vars[aid].i : aid_max;
        tid_max = vars[tid].i > tid_max ? vars[tid].i : tid_max;
        bid_max = vars[bid].i > bid_max ? vars[bid].i : bid_max;
        delta_min = vars[delta].i < delta_min ? vars[delta].i : delta_min;
    }
    assert_true(aid_max > 299000 && aid_max <= 300000);
    assert_int_equal(tid_max, 30);
    assert_int_equal(bid_max, 3);
    assert_int_equal(delta_min, -5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_step_counts, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_key_ranges, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("builtin", tests, NULL, NULL);
}
