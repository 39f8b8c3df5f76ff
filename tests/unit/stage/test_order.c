/* The order of trials where a stage varies a service: arms of a cell next to each other, each as often first as last. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "record/study.h"
#include "stage/stage.h"

static const char *const builtins[] = {"tpcb-like", NULL};

static struct stage *expand(struct pl_arena *arena, const char *over, int iterations, uint64_t seed)
{
    struct pl_err err = {0};
    struct plan *plan = NULL;
    struct stage *stage = NULL;
    const char *text = pl_format(arena,
                                 "study: A\nservices: {db: {kind: postgres, data: {kind: tpcb}}}\nstages:\n"
                                 "  - {kind: clients, script: tpcb-like, iterations: %d, over: {%s}}\n",
                                 iterations, over);
    assert_int_equal(plan_parse("x.yaml", text, strlen(text), builtins, arena, &plan, &err), PL_OK);
    plan->seed = seed;
    assert_int_equal(stage_expand(plan, &plan->stages[0], arena, &stage, &err), PL_OK);
    return stage;
}

static const char *value(const struct stage *stage, size_t trial, const char *name)
{
    const struct case_row *row = &stage->cases[stage->trials[trial].case_index].row;
    const char *text = param_value(row->params, row->param_count, name);
    assert_non_null(text);
    return text;
}

static void test_pairs_are_neighbours(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    /* wherever the axis stands */
    static const char *const overs[] = {"clients: [1, 2, 3], transactions: [10, 20], db.settings: {a: {}, b: {}}",
                                        "db.settings: {a: {}, b: {}}, clients: [1, 2, 3], transactions: [10, 20]",
                                        "clients: [1, 2, 3], db.settings: {a: {}, b: {}}, transactions: [10, 20]"};
    for (size_t o = 0; o < 3; o++) {
        struct stage *stage = expand(arena, overs[o], 16, 7);
        assert_int_equal(stage->trial_count, 6 * 2 * 16);
        assert_true(stage->restarts);
        bool seen[12 * 16] = {false};
        for (size_t i = 0; i < stage->trial_count; i += 2) {
            assert_int_equal(stage->trials[i].iteration, i / 12);
            assert_int_equal(stage->trials[i + 1].iteration, i / 12);
            assert_string_equal(value(stage, i, "clients"), value(stage, i + 1, "clients"));
            assert_string_equal(value(stage, i, "transactions"), value(stage, i + 1, "transactions"));
            assert_string_not_equal(value(stage, i, "db.settings"), value(stage, i + 1, "db.settings"));
            for (size_t k = i; k < i + 2; k++) {
                size_t at = (size_t)stage->trials[k].iteration * 12 + (size_t)stage->trials[k].case_index;
                assert_false(seen[at]);
                seen[at] = true;
            }
        }
    }
    pl_arena_free(arena);
}

static void test_each_comes_first_as_often(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage = expand(arena, "clients: [1, 2, 3], db.settings: {a: {}, b: {}}", 16, 3);
    int firsts[3] = {0};
    bool first_of[3][16];
    for (size_t i = 0; i < stage->trial_count; i += 2) {
        int cell = value(stage, i, "clients")[0] - '1';
        bool is_a = strcmp(value(stage, i, "db.settings"), "a") == 0;
        firsts[cell] += is_a;
        first_of[cell][stage->trials[i].iteration] = is_a;
    }
    int turns = 0;
    for (int cell = 0; cell < 3; cell++) {
        assert_int_equal(firsts[cell], 8);
        for (int iteration = 0; iteration < 16; iteration += 2) {
            assert_true(first_of[cell][iteration] != first_of[cell][iteration + 1]);
            turns += first_of[cell][iteration];
        }
    }
    assert_in_range(turns, 4, 20); /* of 24 coins */
    pl_arena_free(arena);
}

/* Three settings and two versions: six arms, one cell for each number of clients and each size of the data. */
static void test_several_arms(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage = expand(arena,
                                 "db.version: [15, 16], clients: [1, 2], db.data.scale: [1, 10], "
                                 "db.settings.work_mem: [1MB, 2MB, 4MB]",
                                 2, 1);
    assert_int_equal(stage->trial_count, 2 * 2 * 2 * 3 * 2);
    for (size_t i = 0; i < stage->trial_count; i++) {
        size_t block = i / 6 * 6;
        assert_string_equal(value(stage, i, "clients"), value(stage, block, "clients"));
        assert_string_equal(value(stage, i, "db.data.scale"), value(stage, block, "db.data.scale"));
        for (size_t k = block; k < i; k++)
            assert_int_not_equal(stage->trials[i].case_index, stage->trials[k].case_index);
    }
    pl_arena_free(arena);
}

static void test_more_iterations_append(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    static const char over[] = "clients: [1, 2, 3, 4], db.settings: {a: {}, b: {}, c: {}}";
    struct stage *few = expand(arena, over, 3, 1), *many = expand(arena, over, 5, 1), *other = expand(arena, over, 3, 2);
    size_t bytes = few->trial_count * sizeof *few->trials;
    assert_memory_equal(few->trials, many->trials, bytes);
    assert_memory_not_equal(few->trials, other->trials, bytes);
    pl_arena_free(arena);
}

static void test_nothing_of_a_service(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    assert_false(expand(arena, "clients: [1, 2]", 2, 1)->restarts);
    assert_true(expand(arena, "db.data.scale: [1, 2]", 2, 1)->restarts);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_neighbours), cmocka_unit_test(test_each_comes_first_as_often),
        cmocka_unit_test(test_several_arms),         cmocka_unit_test(test_more_iterations_append),
        cmocka_unit_test(test_nothing_of_a_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
