/* The builtin scripts compile to the transactions that pgbench's manual lists. */
#include "support.h"

#include <string.h>

#include "script/program.h"

static const char *const predefined[] = {"scale", "client_id", NULL};

static struct program *compile(struct pl_arena *arena, const char *name)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    const char *text = builtin_script(name);
    assert_non_null(text);
    assert_int_equal(program_compile(name, text, strlen(text), predefined, arena, &program, &err), PL_OK);
    return program;
}

static void test_step_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t steps, io_steps;
    } expected[] = {{"tpcb-like", 11, 7}, {"simple-update", 9, 5}, {"select-only", 2, 1}};
    struct pl_arena *arena = pl_arena_new();
    size_t count = 0;
    while (builtin_script_names[count] != NULL)
        count++;
    assert_int_equal(count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++) {
        struct program *program = compile(arena, expected[i].name);
        assert_int_equal(program->step_count, expected[i].steps);
        assert_int_equal(program->io_step_count, expected[i].io_steps);
    }
    assert_null(builtin_script("tpcb"));
    pl_arena_free(arena);
}

static void test_key_ranges(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct program *program = compile(arena, "tpcb-like");
    struct value vars[8] = {0};
    int scale = program_variable(program, "scale"), aid = program_variable(program, "aid");
    int tid = program_variable(program, "tid"), bid = program_variable(program, "bid");
    int delta = program_variable(program, "delta");
    vars[scale] = (struct value){.type = VALUE_INT, .i = 3};
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_SCRIPT, 0);
    int64_t aid_max = 0, tid_max = 0, bid_max = 0, delta_min = 0;
    for (int round = 0; round < 200000; round++) {
        for (size_t i = 0; program->steps[i].kind == STEP_SET; i++)
            assert_null(program_eval(&program->steps[i], vars, &rng));
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
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_step_counts), cmocka_unit_test(test_key_ranges)};
    return cmocka_run_group_tests_name("builtin", tests, NULL, NULL);
}
