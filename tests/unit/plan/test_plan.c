/* Good plans: what ends up in struct plan, and the file itself. */
#include "support.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "plan/plan.h"

static const char *const builtins[] = {"tpcb-like", "simple-update", "select-only", NULL};

static struct plan *parse(struct pl_arena *arena, const char *text)
{
    struct pl_err err = {0};
    struct plan *plan = NULL;
    if (plan_parse("folder/test.yaml", text, strlen(text), builtins, arena, &plan, &err) != PL_OK) {
        char message[1100];
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    }
    assert_int_equal(err.code, PL_OK);
    return plan;
}

static void test_defaults(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = parse(arena, "study: A\nservices: {db: {kind: postgres}}\nstages:\n"
                                     "  - {kind: clients, script: select-only}\n  - {kind: hardware}\n");
    assert_string_equal(plan->title, "A");
    assert_string_equal(plan->page_title, "A");
    assert_int_equal(plan->seed, 1);
    assert_int_equal(plan->service_count, 1);
    assert_ptr_equal(plan->subject, &plan->services[0]);
    const struct plan_service *db = plan->subject;
    assert_string_equal(db->name, "db");
    assert_string_equal(db->kind, "postgres");
    assert_null(db->version);
    assert_null(db->directory);
    assert_null(db->user);
    assert_null(db->data_kind);
    assert_int_equal(db->setting_count, 0);
    assert_int_equal(db->line, 2);
    assert_int_equal(db->col, 12);
    assert_int_equal(plan->script_count, 0);
    assert_int_equal(plan->stage_count, 2);
    const struct plan_stage *clients = &plan->stages[0];
    assert_int_equal(clients->kind, PLAN_CLIENTS);
    assert_string_equal(clients->name, "clients");
    assert_string_equal(clients->params.script, "select-only");
    assert_int_equal(clients->params.clients, 1);
    assert_int_equal(clients->params.workers, 0);
    assert_int_equal(clients->params.protocol, PLAN_PREPARED);
    assert_int_equal(clients->params.iterations, 1);
    assert_int_equal(clients->params.for_ns, 30000000000);
    assert_int_equal(clients->params.warm_up_ns, 5000000000);
    assert_int_equal(clients->axis_count, 0);
    assert_int_equal(clients->line, 4);
    assert_int_equal(clients->col, 5);
    assert_int_equal(plan->stages[1].params.iterations, 1);
    pl_arena_free(arena);
}

static void test_services(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = parse(arena, "study: A\nsubject: two\nseed: 4_000\nservices:\n"
                                     "  one: {kind: postgres, version: \"16\", directory: pg/bin, user: nobody}\n"
                                     "  two:\n    kind: postgres\n    version: 15\n    directory: /opt/pg\n"
                                     "    settings:\n      shared_buffers: 256MB\n      fsync: off\n"
                                     "      random_page_cost: 1.10\n      shared_preload_libraries: ''\n"
                                     "      auto_explain.log_min_duration: 0\n"
                                     "    data: {kind: tpcb}\n"
                                     "stages: [{kind: hardware}]\npage: {title: \"Gr\xc3\xb6\xc3\x9f"
                                     "e\"}\n");
    assert_int_equal(plan->seed, 4000);
    assert_int_equal(plan->service_count, 2);
    assert_ptr_equal(plan->subject, &plan->services[1]);
    assert_string_equal(plan->page_title, "Gr\xc3\xb6\xc3\x9f"
                                          "e");
    assert_string_equal(plan->services[0].version, "16");
    assert_string_equal(plan->services[0].directory, "folder/pg/bin");
    assert_string_equal(plan->services[0].user, "nobody");
    const struct plan_service *two = plan->subject;
    assert_string_equal(two->directory, "/opt/pg");
    assert_string_equal(two->data_kind, "tpcb");
    assert_int_equal(two->data_scale, 1);
    static const char *const expected[][2] = {{"shared_buffers", "256MB"},
                                              {"fsync", "off"},
                                              {"random_page_cost", "1.10"},
                                              {"shared_preload_libraries", ""},
                                              {"auto_explain.log_min_duration", "0"}};
    assert_int_equal(two->setting_count, 5);
    for (size_t i = 0; i < two->setting_count; i++) {
        assert_string_equal(two->settings[i].name, expected[i][0]);
        assert_string_equal(two->settings[i].value, expected[i][1]);
        assert_int_equal(two->settings[i].line, 11 + i);
        assert_int_equal(two->settings[i].col, 7);
    }
    pl_arena_free(arena);
}

static void test_axes(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = parse(arena, "study: A\nservices: {db: {kind: postgres}}\nstages:\n"
                                     "  - kind: rate\n    name: at-night\n    script: tpcb-like\n    for: 1m\n"
                                     "    over:\n      rate: [90/min, 200/s]\n      arrivals: constant\n");
    const struct plan_stage *stage = &plan->stages[0];
    assert_string_equal(stage->name, "at-night");
    assert_int_equal(stage->params.clients, 16);
    assert_int_equal(stage->params.for_ns, 60000000000);
    assert_int_equal(stage->axis_count, 2);
    assert_string_equal(stage->axes[0].key->name, "rate");
    assert_int_equal(stage->axes[0].value_count, 2);
    assert_string_equal(stage->axes[0].values[0], "90/min");
    assert_string_equal(stage->axes[0].values[1], "200/s");
    assert_int_equal(stage->axes[0].line, 9);
    assert_int_equal(stage->axes[0].col, 7);
    assert_int_equal(stage->axes[1].value_count, 1);
    assert_string_equal(stage->axes[1].values[0], "constant");
    /* the first values stand in params, so that a stage is whole without its matrix */
    assert_close(stage->params.rate_per_s, 1.5, 0, 1e-12);
    assert_int_equal(stage->params.arrivals, PLAN_CONSTANT);
    pl_arena_free(arena);
}

static void test_order_of_keys(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    /* stages before services, kind last: the order in the file does not matter; a byte order mark and CRLF neither */
    struct plan *plan = parse(arena, "\xef\xbb\xbfstages:\r\n  - {script: select-only, for: 2s, kind: clients}\r\n"
                                     "subject: db\r\nservices: {db: {settings: {}, kind: postgres}}\r\nstudy: A\r\n");
    assert_int_equal(plan->stages[0].params.for_ns, 2000000000);
    assert_int_equal(plan->stages[0].line, 2);
    assert_string_equal(plan->title, "A");
    pl_arena_free(arena);
}

static void test_lengths(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = parse(arena, "study: A\nservices: {db: {kind: postgres}}\nstages:\n"
                                     "  - {kind: clients, script: select-only, operations: 0, for: 5s}\n"
                                     "  - {kind: clients, name: b, script: select-only, operations: 500}\n"
                                     "  - {kind: storage, script: select-only}\n");
    assert_int_equal(plan->stages[0].params.operations, 0);
    assert_int_equal(plan->stages[1].params.operations, 500);
    assert_int_equal(plan->stages[2].params.operations, 10000);
    pl_arena_free(arena);
}

struct folder {
    char path[64];
    char file[96];
};

static void folder_make(struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "/tmp/plimsoll-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->file, sizeof folder->file, "%s/plan.yaml", folder->path);
}

static void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_scripts(void **state)
{
    (void)state;
    struct folder folder;
    folder_make(&folder);
    char script[96];
    snprintf(script, sizeof script, "%s/mine.sql", folder.path);
    file_put(script, "SELECT 1;\n");
    file_put(folder.file, "study: A\nservices: {db: {kind: postgres}}\n"
                          "stages: [{kind: clients, over: {script: [mine, select-only]}}]\nscripts: {mine: mine.sql}\n");
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    assert_int_equal(plan_read(folder.file, builtins, arena, &plan, &err), PL_OK);
    assert_int_equal(plan->script_count, 1);
    assert_string_equal(plan->scripts[0].name, "mine");
    assert_string_equal(plan->scripts[0].path, script);
    assert_string_equal(plan->scripts[0].text, "SELECT 1;\n");
    assert_int_equal(plan->scripts[0].length, 10);
    assert_int_equal(plan->scripts[0].line, 4);
    assert_string_equal(plan->stages[0].axes[0].values[0], "mine");
    assert_string_equal(plan->path, folder.file);
    assert_int_equal(plan->length, strlen(plan->text));
    unlink(script);
    plan = NULL;
    assert_int_equal(plan_read(folder.file, builtins, arena, &plan, &err), PL_INPUT);
    assert_null(plan);
    assert_int_equal(err.line, 4);
    assert_int_equal(err.col, 17);
    assert_string_equal(err.file, folder.file);
    pl_arena_free(arena);
    unlink(folder.file);
    rmdir(folder.path);
}

static void check_unreadable(const char *path, enum pl_code code, const char *what)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    assert_int_equal(plan_read(path, builtins, arena, &plan, &err), code);
    assert_null(plan);
    char message[1100];
    pl_err_text(&err, message, sizeof message);
    if (strstr(message, what) == NULL || strstr(message, path) == NULL || err.hint[0] == '\0')
        fail_msg("\"%s\" and the path expected in:\n%s", what, message);
    pl_arena_free(arena);
}

static void test_unreadable(void **state)
{
    (void)state;
    struct folder folder;
    folder_make(&folder);
    check_unreadable(folder.path, PL_INPUT, "is a directory");
    check_unreadable(folder.file, PL_NOT_FOUND, "No such file");
    file_put(folder.file, "study: A\n");
    assert_int_equal(truncate(folder.file, 100 * 1000 * 1000), 0); /* a hole: 100 MB that take no disk */
    check_unreadable(folder.file, PL_LIMIT, "100000000 bytes");
    assert_int_equal(truncate(folder.file, 0), 0);
    check_unreadable(folder.file, PL_INPUT, "the plan is empty");
    unlink(folder.file);
    rmdir(folder.path);
}

/* A plan that is cut anywhere is refused or read, never more; the bytes end right before a page that cannot be read. */
static void test_every_prefix(void **state)
{
    (void)state;
    static const char text[] =
        "study: \"\xc3\x84\"\nservices:\n  db: {kind: postgres, data: {kind: tpcb, scale: 2}}\nstages:\n"
        "  - {kind: rate, script: tpcb-like, over: {rate: [5/s, 10/s]}}\n";
    struct pl_arena *arena = pl_arena_new();
    for (size_t length = 0; length < sizeof text; length++) {
        char *guarded = support_guard_alloc(length + 1);
        memcpy(guarded + 1, text, length);
        struct pl_err err = {0};
        struct plan *plan = NULL;
        enum pl_code code = plan_parse("x", guarded + 1, length, builtins, arena, &plan, &err);
        assert_true(code == PL_OK ? plan != NULL : code == PL_INPUT && err.line > 0 && err.hint[0] != '\0');
        support_guard_free(guarded, length + 1);
    }
    pl_arena_free(arena);
}

/* Deep nesting and many equal-looking keys end at the limits, before they cost anything. */
static void test_limits(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    char *text = pl_alloc(arena, PL_MAX_PLAN_BYTES + 2, 1);
    struct pl_err err = {0};
    struct plan *plan = NULL;
    memset(text, '[', PL_MAX_PLAN_BYTES + 1);
    assert_int_equal(plan_parse("x", text, PL_MAX_PLAN_BYTES, builtins, arena, &plan, &err), PL_LIMIT);
    assert_int_equal(err.col, PL_MAX_PLAN_DEPTH + 1);
    err = (struct pl_err){0};
    assert_int_equal(plan_parse("x", text, PL_MAX_PLAN_BYTES + 1, builtins, arena, &plan, &err), PL_LIMIT);
    for (size_t i = 0; i < PL_MAX_PLAN_BYTES; i++)
        text[i] = "- \n-"[i % 3];
    err = (struct pl_err){0};
    assert_int_equal(plan_parse("x", text, PL_MAX_PLAN_BYTES, builtins, arena, &plan, &err), PL_LIMIT);
    assert_int_equal(err.line, PL_MAX_PLAN_NODES);
    pl_arena_free(arena);
}

static void test_shipped_plan(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    char message[1100];
    if (plan_read("plans/quick.yaml", builtins, arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    assert_int_equal(plan->stage_count, 5);
    if (plan_read("plans/pgbench.yaml", builtins, arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    assert_int_equal(plan->stage_count, 4);
    pl_arena_free(arena);
}

static void test_service_axes(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    static const char text[] = "study: A\n"
                               "services:\n"
                               "  db: {kind: postgres, data: {kind: tpcb}}\n"
                               "stages:\n"
                               "  - kind: clients\n"
                               "    name: one\n"
                               "    script: select-only\n"
                               "    transactions: 7\n"
                               "    over:\n"
                               "      db.settings: {default: {}, custom: {work_mem: 8MB, jit: 'off'}}\n"
                               "      db.settings.random_page_cost: [1.1, 4]\n"
                               "      db.version: 15\n"
                               "      db.directory: [pg/a, /pg/b]\n"
                               "      db.data.scale: [1, 1_0]\n"
                               "  - kind: footprint\n"
                               "    over: {db.settings: [custom, default]}\n";
    assert_int_equal(plan_parse("some/x.yaml", text, strlen(text), builtins, arena, &plan, &err), PL_OK);
    const struct plan_stage *stage = &plan->stages[0];
    static const enum plan_axis_kind kinds[] = {PLAN_AXIS_SETTINGS, PLAN_AXIS_SETTING, PLAN_AXIS_VERSION,
                                                PLAN_AXIS_DIRECTORY, PLAN_AXIS_SCALE};
    static const char *const seconds[] = {"custom", "4", NULL, "/pg/b", "10"};
    assert_int_equal(stage->params.transactions, 7);
    assert_int_equal(stage->axis_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(stage->axes[i].kind, kinds[i]);
        assert_int_equal(stage->axes[i].service, 0);
        assert_int_equal(stage->axes[i].line, 10 + (int)i);
        assert_int_equal(stage->axes[i].value_count, seconds[i] != NULL ? 2 : 1);
        if (seconds[i] != NULL)
            assert_string_equal(stage->axes[i].values[1], seconds[i]);
    }
    assert_string_equal(stage->axes[1].setting, "random_page_cost");
    assert_string_equal(stage->axes[3].values[0], "some/pg/a"); /* relative to the plan */
    const struct plan_bundle *custom = &stage->axes[0].bundles[1];
    assert_int_equal(stage->axes[0].bundles[0].setting_count, 0);
    assert_int_equal(custom->setting_count, 2);
    assert_string_equal(custom->settings[1].name, "jit");
    assert_string_equal(custom->settings[1].value, "off");
    /* named again in another order */
    const struct plan_axis *again = &plan->stages[1].axes[0];
    assert_string_equal(again->values[0], "custom");
    assert_ptr_equal(again->bundles[0].settings, custom->settings);
    assert_string_equal(plan->services[0].told[0], "work_mem");
    assert_string_equal(plan->services[0].told[2], "random_page_cost");
    assert_ptr_equal(plan->subject, &plan->services[0]);
    pl_arena_free(arena);
}

/* A service whose name begins like another's, and one with a point in its name. */
static void test_service_of_an_axis(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    static const char text[] = "study: A\n"
                               "services: {a: {kind: postgres}, a.b: {kind: postgres}, ab: {kind: postgres}}\n"
                               "subject: a\n"
                               "stages:\n"
                               "  - {kind: footprint, over: {ab.version: [15], a.b.version: [16], a.version: [17]}}\n";
    assert_int_equal(plan_parse("x.yaml", text, strlen(text), builtins, arena, &plan, &err), PL_OK);
    assert_int_equal(plan->stages[0].axes[0].service, 2);
    assert_int_equal(plan->stages[0].axes[1].service, 1);
    assert_int_equal(plan->stages[0].axes[2].service, 0);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_services),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_service_axes),
        cmocka_unit_test(test_service_of_an_axis),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_order_of_keys),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_shipped_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
