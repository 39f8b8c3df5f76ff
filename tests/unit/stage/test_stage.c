/* Expansion: matrix, order of trials, labels, rows, estimate. */
#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "stage/stage.h"

static const char *const builtins[] = {"tpcb-like", "select-only", NULL};

/* A plan with this stage in it. */
static struct plan *plan_of(struct pl_arena *arena, const char *stage_text)
{
    char message[1100];
    struct pl_err err = {0};
    struct plan *plan = NULL;
    const char *text = pl_format(arena, "study: A\nservices: {db: {kind: postgres}}\nstages: [%s]\n", stage_text);
    if (plan_parse("x.yaml", text, strlen(text), builtins, arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    return plan;
}

static struct stage *expand(struct pl_arena *arena, const char *stage_text, uint64_t seed)
{
    struct pl_err err = {0};
    struct stage *stage = NULL;
    struct plan *plan = plan_of(arena, stage_text);
    plan->seed = seed;
    assert_int_equal(stage_expand(plan, &plan->stages[0], arena, &stage, &err), PL_OK);
    return stage;
}

static void test_kinds(void **state)
{
    (void)state;
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++) {
        const struct stage_kind *row = stage_kind_of((enum plan_kind)kind);
        assert_int_equal(row->kind, kind);
        assert_int_equal(row->question[strlen(row->question) - 1], '?');
        assert_int_not_equal(row->acts[0], ACT_END);
        assert_int_equal(row->open_loop, kind == PLAN_RATE);
        /* an act that a kind has is one whose parameters it takes */
        for (const enum stage_act *act = row->acts; *act != ACT_END; act++) {
            if (*act == ACT_SETTLE)
                assert_non_null(plan_stage_key(row->kind, "settle"));
            if (*act == ACT_COOLDOWN)
                assert_non_null(plan_stage_key(row->kind, "cooldown"));
            if (*act == ACT_IDLE)
                assert_non_null(plan_stage_key(row->kind, "for"));
            if (*act == ACT_LOAD)
                assert_non_null(plan_stage_key(row->kind, "script"));
        }
    }
}

static void test_matrix(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage = expand(
        arena, "{kind: clients, over: {script: [select-only, tpcb-like], clients: [1, 4, 16], for: 60s}, iterations: 3}",
        1);
    static const char *const labels[] = {"script=select-only clients=1 for=1m",  "script=select-only clients=4 for=1m",
                                         "script=select-only clients=16 for=1m", "script=tpcb-like clients=1 for=1m",
                                         "script=tpcb-like clients=4 for=1m",    "script=tpcb-like clients=16 for=1m"};
    static const int clients[] = {1, 4, 16};
    assert_int_equal(stage->case_count, 6);
    for (int i = 0; i < 6; i++) {
        const struct stage_case *one = &stage->cases[i];
        assert_int_equal(one->row.ordinal, i);
        assert_string_equal(one->row.label, labels[i]);
        assert_int_equal(one->row.param_count, 3);
        assert_string_equal(one->row.params[0].name, "script");
        assert_string_equal(one->row.params[0].value, i < 3 ? "select-only" : "tpcb-like");
        assert_string_equal(one->params.script, i < 3 ? "select-only" : "tpcb-like");
        assert_int_equal(one->params.clients, clients[i % 3]);
        assert_int_equal(one->params.for_ns, 60000000000);
        assert_int_equal(one->params.protocol, PLAN_PREPARED);
    }
    assert_int_equal(stage->trial_count, 18);
    pl_arena_free(arena);
}

static const char *row_value(const struct stage_row *row, const char *name)
{
    for (size_t i = 0; i < row->param_count; i++)
        if (strcmp(row->params[i].name, name) == 0)
            return row->params[i].value;
    return NULL;
}

static void test_rows(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage =
        expand(arena, "{kind: rate, name: night, script: tpcb-like, over: {rate: [90/min, 200.0/s]}, warm_up: 1500ms}", 1);
    assert_string_equal(stage->row.kind, "rate");
    assert_string_equal(stage->row.name, "night");
    assert_string_equal(stage->row.question, stage_kind_of(PLAN_RATE)->question);
    size_t taken = 0;
    for (size_t i = 0; i < plan_stage_key_count; i++)
        if ((plan_stage_keys[i].kinds >> PLAN_RATE & 1U) != 0) {
            if (plan_stage_keys[i].speech == PLAN_HTTP) { /* the subject is a PostgreSQL */
                assert_null(row_value(&stage->row, plan_stage_keys[i].name));
                continue;
            }
            taken++;
            assert_non_null(row_value(&stage->row, plan_stage_keys[i].name));
        }
    assert_int_equal(stage->row.param_count, taken);
    assert_string_equal(row_value(&stage->row, "rate"), "[1.5/s, 200/s]");
    assert_string_equal(row_value(&stage->row, "clients"), "16");
    assert_string_equal(row_value(&stage->row, "warm_up"), "1500ms");
    assert_string_equal(row_value(&stage->row, "arrivals"), "poisson");
    assert_string_equal(row_value(&stage->row, "script"), "tpcb-like");
    assert_null(row_value(&stage->row, "operations"));
    assert_string_equal(stage->cases[0].row.label, "rate=1.5/s");
    stage = expand(arena, "{kind: hardware}", 1);
    assert_int_equal(stage->case_count, 1);
    assert_int_equal(stage->trial_count, 1);
    assert_string_equal(stage->cases[0].row.label, "");
    assert_int_equal(stage->cases[0].row.param_count, 0);
    pl_arena_free(arena);
}

/* Iteration by iteration, each case once. */
static void check_order(const struct stage *stage)
{
    size_t at = 0;
    for (int iteration = 0; at < stage->trial_count; iteration++) {
        bool seen[64] = {false};
        assert_true(stage->case_count <= 64);
        for (; at < stage->trial_count && stage->trials[at].iteration == iteration; at++) {
            assert_false(seen[stage->trials[at].case_index]);
            seen[stage->trials[at].case_index] = true;
        }
        for (size_t i = 0; i < stage->case_count; i++)
            assert_int_equal(seen[i], iteration < stage->cases[i].params.iterations);
    }
}

static void test_order(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    static const char eight[] =
        "{kind: clients, script: select-only, over: {clients: [1, 2, 3, 4, 5, 6, 7, 8]}, iterations: 4}";
    static const char more[] =
        "{kind: clients, script: select-only, over: {clients: [1, 2, 3, 4, 5, 6, 7, 8]}, iterations: 6}";
    static const char named[] =
        "{kind: clients, name: b, script: select-only, over: {clients: [1, 2, 3, 4, 5, 6, 7, 8]}, iterations: 4}";
    struct stage *first = expand(arena, eight, 1), *again = expand(arena, eight, 1), *other = expand(arena, eight, 2);
    struct stage *longer = expand(arena, more, 1), *renamed = expand(arena, named, 1);
    check_order(first);
    check_order(other);
    check_order(longer);
    size_t bytes = first->trial_count * sizeof *first->trials;
    assert_int_equal(first->trial_count, 32);
    assert_memory_equal(first->trials, again->trials, bytes);
    assert_memory_equal(first->trials, longer->trials, bytes);
    assert_memory_not_equal(first->trials, other->trials, bytes);
    assert_memory_not_equal(first->trials, renamed->trials, bytes);
    /* not the same order in each iteration, and not the order of the matrix */
    int repeats = 0, sorted = 0;
    for (int i = 0; i < 8; i++) {
        repeats += first->trials[i].case_index == first->trials[8 + i].case_index;
        sorted += first->trials[i].case_index == i;
    }
    assert_true(repeats < 8 && sorted < 8);
    pl_arena_free(arena);
}

/* Each case comes first equally often: 8 cases, 1000 iterations, sd of a count 10.5; five of them. */
static void test_order_is_fair(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage = expand(
        arena, "{kind: clients, script: select-only, over: {clients: [1, 2, 3, 4, 5, 6, 7, 8]}, iterations: 1000}", 5);
    int firsts[8] = {0}, lasts[8] = {0};
    for (size_t i = 0; i < stage->trial_count; i += 8) {
        firsts[stage->trials[i].case_index]++;
        lasts[stage->trials[i + 7].case_index]++;
    }
    for (int i = 0; i < 8; i++) {
        assert_in_range(firsts[i], 125 - 53, 125 + 53);
        assert_in_range(lasts[i], 125 - 53, 125 + 53);
    }
    pl_arena_free(arena);
}

static void test_varied_iterations(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct stage *stage =
        expand(arena, "{kind: clients, script: select-only, over: {iterations: [1, 3], clients: [1, 2]}}", 1);
    assert_int_equal(stage->trial_count, 1 + 1 + 3 + 3);
    check_order(stage);
    pl_arena_free(arena);
}

static void test_estimate(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const int64_t s = 1000000000;
    struct stage *idle = expand(arena, "{kind: footprint, settle: 5s, for: 10s, iterations: 2}", 1);
    assert_in_range(idle->estimate_ns, 30 * s, 32 * s);
    struct stage *load = expand(
        arena, "{kind: rate, script: tpcb-like, over: {rate: [1/s, 2/s]}, settle: 3s, warm_up: 1s, for: 8s, cooldown: 2s}",
        1);
    assert_in_range(load->estimate_ns, 28 * s, 34 * s);
    /* every stated time counts once a trial */
    struct stage *longer = expand(
        arena, "{kind: rate, script: tpcb-like, over: {rate: [1/s, 2/s]}, settle: 4s, warm_up: 2s, for: 9s, cooldown: 3s}",
        1);
    assert_int_equal(longer->estimate_ns - load->estimate_ns, 8 * s);
    /* counted: 3 ms each as long as clients do not crowd each other, then 2,000 in a second */
    struct stage *one = expand(arena, "{kind: clients, script: tpcb-like, transactions: 1000}", 1);
    assert_in_range(one->estimate_ns, 3 * s, 5 * s);
    struct stage *crowd = expand(arena, "{kind: clients, script: tpcb-like, clients: 100, transactions: 1000}", 1);
    assert_in_range(crowd->estimate_ns, 50 * s, 53 * s);
    struct stage *few = expand(arena, "{kind: storage, script: tpcb-like, operations: 2000}", 1);
    struct stage *many = expand(arena, "{kind: storage, script: tpcb-like, operations: 20000}", 1);
    assert_true(many->estimate_ns > few->estimate_ns + 10 * s);
    /* 256 cases, 1000 iterations, 8 days each: 1.8e20 ns, more than there are */
    char values[256 * 10] = "7d";
    for (int i = 1; i < 256; i++)
        snprintf(values + strlen(values), sizeof values - strlen(values), ", %ds", 604800 - i);
    const char *text = pl_format(arena, "{kind: footprint, settle: 1d, iterations: 1000, over: {for: [%s]}}", values);
    assert_true(expand(arena, text, 1)->estimate_ns == INT64_MAX);
    pl_arena_free(arena);
}

static void test_too_many_cases(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    char values[65 * 4] = "1";
    for (int i = 2; i <= 65; i++)
        snprintf(values + strlen(values), sizeof values - strlen(values), ", %d", i);
    const char *text =
        pl_format(arena, "{kind: clients, script: select-only, over: {clients: [%s], workers: [%s]}}", values, values);
    struct pl_err err = {0};
    struct stage *stage = NULL;
    const struct plan *plan = plan_of(arena, text);
    assert_int_equal(stage_expand(plan, &plan->stages[0], arena, &stage, &err), PL_LIMIT);
    assert_null(stage);
    assert_string_equal(err.file, "x.yaml");
    assert_int_equal(err.line, 3);
    assert_true(err.col > 50);
    assert_string_equal(err.what, "the matrix of stage \"clients\" has more than 4096 cases");
    assert_true(err.hint[0] != '\0');
    /* 64 x 64 is just allowed */
    *strrchr(values, ',') = '\0';
    text = pl_format(arena, "{kind: clients, script: select-only, over: {clients: [%s], workers: [%s]}}", values, values);
    stage = expand(arena, text, 1);
    assert_int_equal(stage->case_count, PL_MAX_CASES);
    assert_string_equal(stage->cases[PL_MAX_CASES - 1].row.label, "clients=64 workers=64");
    assert_string_equal(stage->cases[1].row.label, "clients=1 workers=2");
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),    cmocka_unit_test(test_matrix),         cmocka_unit_test(test_rows),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_order_is_fair),  cmocka_unit_test(test_varied_iterations),
        cmocka_unit_test(test_estimate), cmocka_unit_test(test_too_many_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
