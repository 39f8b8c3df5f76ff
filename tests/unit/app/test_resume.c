/* A study goes on only as it began: options, versions, settings, the machine. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/conduct_int.h"

struct going_on {
    struct conduct conduct;
    struct conduct_spec spec;
    struct plan plan;
    char folder[64], path[96];
    struct store_head head;
};

static int setup(void **state)
{
    struct going_on *on = pl_new(1, sizeof *on);
    struct pl_err err = {0};
    snprintf(on->folder, sizeof on->folder, "/tmp/plimsoll-test-resume-XXXXXX");
    assert_non_null(mkdtemp(on->folder));
    snprintf(on->path, sizeof on->path, "%s/p.study", on->folder);
    on->plan = (struct plan){.path = "p.yaml", .text = "the plan"};
    on->spec = (struct conduct_spec){.plan = &on->plan, .study_path = on->path, .resume = true};
    on->conduct = (struct conduct){.spec = &on->spec, .plan = &on->plan, .arena = pl_arena_new()};
    on->head = (struct store_head){
        .title = "t", .plan_text = "the plan", .plan_path = "p.yaml", .subject = "db", .tool_version = PLIMSOLL_VERSION};
    assert_int_equal(store_create(on->path, &on->conduct.store, &err), PL_OK);
    assert_int_equal(store_put_head(on->conduct.store, &on->head, &err), PL_OK);
    *state = on;
    return 0;
}

static int teardown(void **state)
{
    struct going_on *on = *state;
    struct pl_err err = {0};
    assert_int_equal(store_close(on->conduct.store, &err), PL_OK);
    assert_int_equal(unlink(on->path) | rmdir(on->folder), 0);
    pl_arena_free(on->conduct.arena);
    pl_free(on);
    return 0;
}

static void put(struct going_on *on, const struct fact *facts, size_t count)
{
    struct pl_err err = {0};
    if (conduct_put_facts(&on->conduct, facts, count, &err) != PL_OK)
        fail_msg("%s", err.what);
}

static void refused(struct going_on *on, const struct fact *facts, size_t count, const char *first, const char *second)
{
    struct pl_err err = {0};
    assert_int_equal(conduct_put_facts(&on->conduct, facts, count, &err), PL_USAGE);
    if (strstr(err.what, first) == NULL || strstr(err.what, second) == NULL)
        fail_msg("\"%s\" has no \"%s\" or no \"%s\"", err.what, first, second);
    assert_non_null(strstr(err.hint, "new study"));
}

static const char *stored(struct going_on *on, const char *name)
{
    struct fact *facts = NULL;
    size_t count = 0;
    struct pl_err err = {0};
    assert_int_equal(store_facts(on->conduct.store, on->conduct.arena, &facts, &count, &err), PL_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    return NULL;
}

static void test_service_facts(void **state)
{
    struct going_on *on = *state;
    struct fact facts[] = {{"db", "server_version", "15.4", "", ""},
                           {"db", "setting.shared_buffers", "16MB", "", ""},
                           {"db", "cgroup.layout", "v1", "", ""},
                           {"db", "ready_ns", "100", "ns", ""}};
    enum { COUNT = sizeof facts / sizeof facts[0] };
    put(on, facts, COUNT);
    facts[2].value = "v2";
    facts[3].value = "900";
    put(on, facts, COUNT); /* restarted */
    assert_string_equal(stored(on, "cgroup.layout"), "v2");
    assert_string_equal(stored(on, "ready_ns"), "100");
    facts[2].value = "none";
    facts[0].value = "16.1";
    refused(on, facts, COUNT, "\"15.4\"", "\"16.1\"");
    facts[0].value = "15.4";
    facts[1].value = "32MB";
    refused(on, facts, COUNT, "setting.shared_buffers", "\"32MB\"");
    facts[1].name = "setting.work_mem"; /* another one, and the old one gone */
    refused(on, facts, COUNT, "setting.work_mem", "default");
    facts[1] = facts[3];
    refused(on, facts, 3, "setting.shared_buffers", "default");
    assert_string_equal(stored(on, "cgroup.layout"), "v2"); /* of what was refused nothing is stored */
    assert_string_equal(stored(on, "server_version"), "15.4");
}

static void test_host_facts(void **state)
{
    struct going_on *on = *state;
    struct fact facts[] = {{"host", "cpu_model", "Z80", "", ""},
                           {"host", "memory_bytes", "1000000000", "bytes", ""},
                           {"host", "kernel", "Linux 6.1", "", ""},
                           {"host", "clock_source", "tsc", "", ""}};
    enum { COUNT = sizeof facts / sizeof facts[0] };
    put(on, facts, COUNT);
    facts[1].value = "1000004096"; /* another boot */
    facts[3].value = "hpet";
    put(on, facts, COUNT);
    assert_string_equal(stored(on, "memory_bytes"), "1000000000");
    assert_string_equal(stored(on, "clock_source"), "hpet");
    facts[1].value = "2000000000";
    refused(on, facts, COUNT, "memory_bytes", "\"2000000000\"");
    facts[1].value = "1000000000";
    facts[0].value = "6502";
    refused(on, facts, COUNT, "\"Z80\"", "\"6502\"");
    facts[0].value = "Z80";
    facts[2].value = "Linux 6.2";
    refused(on, facts, COUNT, "kernel", "\"Linux 6.2\"");
}

static void test_options(void **state)
{
    struct going_on *on = *state;
    const struct fact quick = {"tool", "quick", "yes", "", ""};
    struct pl_err err = {0};
    assert_int_equal(store_put_facts(on->conduct.store, &quick, 1, &err), PL_OK);
    assert_int_equal(conduct_check_same(&on->conduct, &on->head, &err), PL_USAGE);
    assert_non_null(strstr(err.what, "begun with --quick"));
    assert_non_null(strstr(err.hint, "plimsoll run p.yaml -o "));
    assert_non_null(strstr(err.hint, " --quick --resume"));
    on->spec.quick = true;
    err = (struct pl_err){0};
    assert_int_equal(conduct_check_same(&on->conduct, &on->head, &err), PL_OK);
    on->head.tool_version = "0.0.1";
    assert_int_equal(conduct_check_same(&on->conduct, &on->head, &err), PL_USAGE);
    assert_non_null(strstr(err.what, "0.0.1"));
    on->head.plan_text = "another";
    err = (struct pl_err){0};
    assert_int_equal(conduct_check_same(&on->conduct, &on->head, &err), PL_USAGE);
    assert_non_null(strstr(err.what, "another plan"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_service_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_host_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
