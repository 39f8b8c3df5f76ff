/* What a case makes of the services: settings of the service, over them those of the bundle, over them single ones. */
#include "support.h"

#include <string.h>

#include "stage/stage.h"

static const char *const builtins[] = {"tpcb-like", NULL};

static struct stage *expand(struct pl_arena *arena, const char *over, struct plan **ret_plan)
{
    struct pl_err err = {0};
    char message[1100];
    struct stage *stage = NULL;
    const char *text = pl_format(arena,
                                 "study: A\nservices:\n"
                                 "  db: {kind: postgres, version: 15, settings: {work_mem: 1MB, max_connections: 50}, "
                                 "data: {kind: tpcb, scale: 3}}\n"
                                 "  other: {kind: postgres}\nsubject: db\nstages:\n"
                                 "  - {kind: clients, script: tpcb-like, over: {%s}}\n",
                                 over);
    if (plan_parse("x.yaml", text, strlen(text), builtins, arena, ret_plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    assert_int_equal(stage_expand(*ret_plan, &(*ret_plan)->stages[0], arena, &stage, &err), PL_OK);
    return stage;
}

static void holds(const struct plan_service *service, const char *const (*settings)[2], size_t count)
{
    assert_int_equal(service->setting_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(service->settings[i].name, settings[i][0]);
        assert_string_equal(service->settings[i].value, settings[i][1]);
    }
}

static void test_nothing_varied(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = NULL;
    struct stage *stage = expand(arena, "clients: [1, 2]", &plan);
    for (int i = 0; i < 2; i++)
        assert_ptr_equal(stage->cases[i].services, plan->services);
    assert_string_equal(plan->services[0].scope, "db");
    assert_null(plan->services[0].told);
    pl_arena_free(arena);
}

static void test_layers(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = NULL;
    struct stage *stage = expand(arena,
                                 "db.settings: {default: {}, custom: {work_mem: 8MB, shared_buffers: 64MB}}, "
                                 "db.settings.max_connections: [60, 70]",
                                 &plan);
    assert_int_equal(stage->case_count, 4);
    static const char *const plain[][2] = {{"work_mem", "1MB"}, {"max_connections", "60"}};
    static const char *const custom[][2] = {{"work_mem", "8MB"}, {"max_connections", "70"}, {"shared_buffers", "64MB"}};
    holds(&stage->cases[0].services[0], plain, 2);
    holds(&stage->cases[3].services[0], custom, 3);
    assert_string_equal(stage->cases[3].services[0].scope, "db settings=custom settings.max_connections=70");
    assert_string_equal(stage->cases[3].row.label, "db.settings=custom db.settings.max_connections=70");
    /* the plan's own service is as it was, and the other one is not touched */
    assert_int_equal(plan->services[0].setting_count, 2);
    assert_string_equal(plan->services[0].settings[0].value, "1MB");
    assert_string_equal(stage->cases[3].services[1].scope, "other");
    assert_int_equal(stage->cases[3].services[1].setting_count, 0);
    /* every variant tells the values of all that is varied, its defaults too */
    static const char *const told[] = {"work_mem", "shared_buffers", "max_connections"};
    for (int i = 0; i < 3; i++)
        assert_string_equal(stage->cases[0].services[0].told[i], told[i]);
    assert_null(stage->cases[0].services[0].told[3]);
    pl_arena_free(arena);
}

static void test_version_directory_scale(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = NULL;
    struct stage *stage = expand(arena, "db.data.scale: [1_0, 20], db.version: [16, 17], db.directory: [/opt/a]", &plan);
    const struct plan_service *first = &stage->cases[0].services[0], *last = &stage->cases[3].services[0];
    assert_int_equal(first->data_scale, 10);
    assert_string_equal(first->version, "16");
    assert_string_equal(first->directory, "/opt/a");
    assert_string_equal(first->scope, "db data.scale=10 directory=/opt/a version=16");
    assert_int_equal(last->data_scale, 20);
    assert_string_equal(last->version, "17");
    assert_int_equal(last->setting_count, 2);
    assert_int_equal(plan->services[0].data_scale, 3);
    assert_string_equal(plan->services[0].version, "15");
    const struct stage_row *row = &stage->row;
    assert_string_equal(row->params[row->param_count - 1].name, "db.directory");
    assert_string_equal(row->params[row->param_count - 1].value, "[/opt/a]");
    assert_string_equal(row->params[row->param_count - 3].value, "[10, 20]");
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_varied), cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_version_directory_scale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
