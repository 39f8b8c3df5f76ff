/* What a study takes before its first trial: which variants, how much disk, and that too little of it is told at once. */
#include "support.h"

#include <string.h>

#include "app/conduct_int.h"
#include "script/program.h"

static struct plan *plan_of(struct pl_arena *arena, const char *stages)
{
    char message[1100];
    struct pl_err err = {0};
    struct plan *plan = NULL;
    const char *text =
        pl_format(arena, "study: A\nservices: {db: {kind: postgres, data: {kind: tpcb, scale: 10}}}\nstages:\n%s", stages);
    if (plan_parse("x.yaml", text, strlen(text), builtin_script_names, arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    return plan;
}

static struct conduct_outline outline_of(struct pl_arena *arena, const char *stages)
{
    char message[1100];
    struct pl_err err = {0};
    struct conduct_outline outline;
    if (conduct_check(plan_of(arena, stages), arena, &outline, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    return outline;
}

#define MIB (1024.0 * 1024)

static void test_one_service(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct conduct_outline outline = outline_of(arena, "  - {kind: footprint}\n");
    assert_int_equal(outline.variant_count, 0);
    assert_close((double)outline.disk_bytes, (64 + 160) * MIB, 1e-9, 0);
    assert_true(outline.start_ns > 0 && outline.place[0] == '/');
    pl_arena_free(arena);
}

/* Two settings of two sizes are four variants, and each size is also kept as it was built. */
static void test_variants(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct conduct_outline outline =
        outline_of(arena, "  - {kind: footprint, over: {db.data.scale: [1, 10], db.settings: {a: {}, b: {}}}}\n");
    assert_int_equal(outline.variant_count, 4);
    assert_string_equal(outline.variants[3]->scope, "db data.scale=10 settings=b");
    assert_close((double)outline.disk_bytes, (6 * 64 + 3 * 16 + 3 * 160) * MIB, 1e-9, 0);
    /* the same variants in a second stage are no more of them */
    struct conduct_outline again =
        outline_of(arena, "  - {kind: footprint, over: {db.data.scale: [1, 10], db.settings: {a: {}, b: {}}}}\n"
                          "  - {kind: footprint, name: more, over: {db.settings: [b, a], db.data.scale: [10, 1]}}\n");
    assert_int_equal(again.variant_count, 4);
    assert_int_equal(again.disk_bytes, outline.disk_bytes);
    pl_arena_free(arena);
}

static void test_growth(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct conduct_outline small = outline_of(arena, "  - {kind: clients, script: tpcb-like, transactions: 1000}\n");
    struct conduct_outline large =
        outline_of(arena, "  - {kind: clients, script: tpcb-like, clients: 10, transactions: 1000, iterations: 3}\n");
    assert_int_equal(large.disk_bytes - small.disk_bytes, 100 * 1000 * 29);
    pl_arena_free(arena);
}

static void test_disk_is_checked(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = plan_of(arena, "  - {kind: footprint, over: {db.data.scale: [1, 100000]}}\n");
    const struct conduct_spec spec = {.plan = plan};
    struct conduct conduct = {.spec = &spec, .plan = plan, .arena = arena};
    assert_int_equal(conduct_prepare(&conduct, &err), PL_OK);
    for (size_t i = 0; i < 2; i++)
        conduct_variant(&conduct, 0, &conduct.stages[0]->cases[i].services[0]);
    assert_int_equal(conduct_check_disk(&conduct, &err), PL_OK); /* none is wanted */
    for (size_t i = 0; i < 2; i++)
        conduct_variant(&conduct, 0, &conduct.stages[0]->cases[i].services[0])->wanted = true;
    assert_int_equal(conduct_check_disk(&conduct, &err), PL_USAGE); /* 3 TiB */
    assert_non_null(strstr(err.what, "the data of the study need about 3"));
    assert_non_null(strstr(err.hint, "TMPDIR"));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_service), cmocka_unit_test(test_variants),
                                       cmocka_unit_test(test_growth), cmocka_unit_test(test_disk_is_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
