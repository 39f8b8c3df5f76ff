/* A PostgreSQL of its own: settings, facts, and the reasons when it does not start. */
#include "service_support.h"

static const struct fact *fact_named(const struct fact *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

static void check_facts(struct service *service, struct pl_arena *arena)
{
    struct pl_err err = {0};
    struct fact *facts;
    size_t count;
    assert_ok(service_facts(service, NULL, arena, &facts, &count, &err));
    static const char *const wanted[] = {
        "server_version", "block_size",    "wal_segment_size", "data_checksums", "tls", "program.postgres",
        "program.initdb", "cgroup.layout", "ready_ns",         "user",           "kind"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (fact_named(facts, count, wanted[i]) == NULL)
            fail_msg("no fact %s", wanted[i]);
    assert_string_equal(fact_named(facts, count, "setting.work_mem")->value, "7MB");
    assert_string_equal(fact_named(facts, count, "setting.shared_buffers")->value, "16MB");
    assert_string_equal(fact_named(facts, count, "setting.fsync")->value, "on"); /* a default that the plan states */
    assert_string_equal(fact_named(facts, count, "block_size")->value, "8192");
    assert_string_equal(fact_named(facts, count, "setting.primary_conninfo")->value, "(not recorded)");
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(facts[i].scope, "db");
        assert_null(strstr(facts[i].value, "hunter2"));
    }
}

static void what_does_not_start_says_why(void **state)
{
    (void)state;
    need_postgres();
    struct plan_setting unknown = {.name = "no_such_setting", .value = "1"}, reserved = {.name = "PORT", .value = "5433"},
                        newline = {.name = "work_mem", .value = "1MB'\nport = 7"};
    struct plan_service plan = plain_plan();
    plan.settings = &unknown;
    plan.setting_count = 1;
    check_refused(&plan, PL_SERVICE, "did not start", "no_such_setting");
    plan.settings = &reserved;
    check_refused(&plan, PL_INPUT, "cannot be chosen", "");
    plan.settings = &newline;
    check_refused(&plan, PL_INPUT, "control character", "");
    plan = plain_plan();
    plan.version = "9.1";
    check_refused(&plan, PL_NOT_FOUND, "no PostgreSQL 9.1", "postgresql-9 ");
    plan = plain_plan();
    plan.directory = "/usr/share/doc";
    check_refused(&plan, PL_NOT_FOUND, "no PostgreSQL was found", "/usr/share/doc/bin");
    check_refused(&plan, PL_NOT_FOUND, "no PostgreSQL was found", "postgresql-15");
    plan = plain_plan();
    plan.kind = "abacus";
    check_refused(&plan, PL_USAGE, "abacus", "");
    if (geteuid() == 0) {
        plan = plain_plan();
        plan.user = "no-such-user";
        check_refused(&plan, PL_NOT_FOUND, "no-such-user", "");
        plan.user = "root";
        check_refused(&plan, PL_USAGE, "root", "");
    }
    assert_int_equal(own_temporary_directories(), 0);
}

static void exec_in(const struct service *service, const char *sql)
{
    char conninfo[512];
    PGconn *conn = PQconnectdb(service_conninfo(service, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo));
    PGresult *result = PQexec(conn, sql);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
    PQfinish(conn);
}

static void tells_what_it_is(void **state)
{
    (void)state;
    need_postgres();
    static const struct plan_setting settings[] = {{.name = "shared_buffers", .value = "16MB"},
                                                   {.name = "work_mem", .value = "7MB"},
                                                   {.name = "fsync", .value = "on"}};
    struct plan_service plan = plain_plan();
    plan.settings = settings;
    plan.setting_count = sizeof settings / sizeof *settings;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct service *service;
    assert_ok(service_start(&plan, NULL, NULL, arena, &service, &err)); /* also without a guard */
    /* a plan may not hold it, but others may set it */
    exec_in(service, "ALTER SYSTEM SET primary_conninfo = 'password=hunter2'");
    query_in(service, SERVICE_DATA_DATABASE, "SELECT pg_reload_conf()");
    wait_until(strcmp(query_in(service, SERVICE_DATA_DATABASE, "SHOW primary_conninfo"), "password=hunter2") == 0);
    check_facts(service, arena);
    assert_ok(service_stop(service, SERVICE_STOP_CLEAN, &err));
    pl_arena_free(arena);
}

/* Durable as a real one: nothing is switched off behind the plan's back. */
static void defaults_are_those_of_the_server(void **state)
{
    (void)state;
    need_postgres();
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct service *service;
    assert_ok(service_start(&plan, NULL, NULL, arena, &service, &err));
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE,
                                 "SELECT count(*) FROM pg_settings WHERE setting <> boot_val AND name IN ('fsync', "
                                 "'synchronous_commit', 'full_page_writes', 'wal_level', 'autovacuum', 'shared_buffers', "
                                 "'wal_sync_method', 'jit', 'checkpoint_timeout')"),
                        "0");
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE,
                                 "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
                        "0");
    assert_ok(service_stop(service, SERVICE_STOP_KILL, &err));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_it_is),
        cmocka_unit_test(defaults_are_those_of_the_server),
        cmocka_unit_test(what_does_not_start_says_why),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
