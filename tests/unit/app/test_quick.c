/* --quick: the same questions, cut short; what differed goes on differing. */
#include "support.h"

#include <string.h>

#include "app/conduct.h"

static const char *const builtins[] = {"tpcb-like", NULL};

static struct plan *quick(struct pl_arena *arena, const char *stage)
{
    char message[1100];
    struct pl_err err = {0};
    struct plan *plan = NULL;
    const char *text = pl_format(arena,
                                 "study: A\nservices: {db: {kind: postgres, data: {kind: tpcb, scale: 50}}}\n"
                                 "stages:\n  - {kind: clients, script: tpcb-like, %s}\n",
                                 stage);
    if (plan_parse("x.yaml", text, strlen(text), builtins, arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    conduct_make_quick(plan, arena);
    return plan;
}

static void test_times_and_counts(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct plan *plan = quick(arena, "iterations: 16, settle: 1m, for: 5m, warm_up: 1m, cooldown: 1m");
    const struct plan_params *params = &plan->stages[0].params;
    assert_int_equal(params->iterations, 2);
    assert_int_equal(params->for_ns, 1000000000);
    assert_int_equal(params->warm_up_ns, 200000000);
    assert_int_equal(params->settle_ns, 200000000);
    assert_int_equal(quick(arena, "think: 1m")->stages[0].params.think_ns, 1000000000);
    assert_int_equal(params->cooldown_ns, 0);
    assert_int_equal(plan->services[0].data_scale, 1);
    assert_ptr_equal(plan->subject, &plan->services[0]);
    assert_int_equal(quick(arena, "operations: 5000")->stages[0].params.operations, 200);
    assert_int_equal(quick(arena, "transactions: 5000")->stages[0].params.transactions, 10);
    assert_int_equal(quick(arena, "transactions: 5")->stages[0].params.transactions, 1);
    assert_int_equal(quick(arena, "for: 1s")->stages[0].params.transactions, 0); /* nothing stays nothing */
    pl_arena_free(arena);
}

static void holds(const struct plan_axis *axis, const char *const *values, size_t count)
{
    assert_int_equal(axis->value_count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(axis->values[i], values[i]);
}

static void test_varied(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct plan *plan =
        quick(arena, "over: {db.data.scale: [1, 10, 300], transactions: [0, 1000, 1001, 10000], clients: [1, 500], "
                     "db.settings: {a: {}, b: {}}}");
    static const char *const scales[] = {"1", "2", "3"}, *const transactions[] = {"0", "2", "3", "20"},
                             *const clients[] = {"1", "500"}, *const bundles[] = {"a", "b"};
    holds(&plan->stages[0].axes[0], scales, 3);
    holds(&plan->stages[0].axes[1], transactions, 4);
    holds(&plan->stages[0].axes[2], clients, 2);
    holds(&plan->stages[0].axes[3], bundles, 2);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times_and_counts), cmocka_unit_test(test_varied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
