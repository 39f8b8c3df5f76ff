/* The data set of a measured service: it is what pgbench makes, its bar moves, and it can be interrupted. */
#include "service_support.h"

#include "service/spawn.h"

static const char *const tables[] = {"pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"};

static struct guard *guard;
static struct service *service;
static struct pl_arena *arena;
static struct plan_service plan = {.name = "db", .kind = "postgres", .data_kind = "tpcb", .data_scale = 3};

static int start(void **state)
{
    (void)state;
    struct pl_err err = {0};
    char text[1024];
    if (!has_postgres())
        return 0;
    arena = pl_arena_new();
    if (guard_start(&guard, &err) == PL_OK && service_start(&plan, guard, NULL, arena, &service, &err) == PL_OK)
        return 0;
    print_error("%s\n", pl_err_text(&err, text, sizeof text));
    return -1;
}

static int stop(void **state)
{
    (void)state;
    struct pl_err err = {0};
    if (service == NULL)
        return 0;
    int failed = service_stop(service, SERVICE_STOP_CLEAN, &err) != PL_OK;
    guard_stop(guard);
    pl_arena_free(arena);
    return failed;
}

struct seen {
    double last;
    int count;
    bool ordered;
    volatile int *stop;
};

static void see(void *ctx, double done)
{
    struct seen *seen = ctx;
    seen->ordered &= done >= seen->last && done <= 1;
    seen->last = done;
    seen->count++;
    if (seen->stop != NULL && done > 0.1)
        *seen->stop = 1;
}

/* All rows in physical order, so that also the order of rows is compared. */
static void describe_table(const char *database, const char *table, char *text, size_t size)
{
    char sql[512];
    size_t used = 0;
    const char *const queries[] = {
        "SELECT count(*) || ' ' || coalesce(md5(string_agg(md5(t::text), '' ORDER BY ctid)), '') FROM %s t",
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, ', ' ORDER BY attnum)"
        " FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0",
        "SELECT coalesce(array_to_string(reloptions, ','), '-') || ' ' || relpersistence::text || ' ' || relpages"
        " FROM pg_class WHERE oid = '%s'::regclass",
        "SELECT coalesce(string_agg(pg_get_indexdef(indexrelid), ';'), '-') FROM pg_index WHERE indrelid = '%s'::regclass",
        "SELECT pg_relation_size('%s')::text",
        "SELECT (relallvisible = relpages)::text FROM pg_class WHERE oid = '%s'::regclass",
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char pattern[512];
        const char *mark = strstr(queries[i], "%s");
        snprintf(pattern, sizeof pattern, "%.*s", (int)(mark - queries[i]), queries[i]);
        snprintf(sql, sizeof sql, "%s%s%s", pattern, table, mark + 2);
        used += (size_t)snprintf(text + used, size - used, "%s\n", query_in(service, database, sql));
        assert_true(used < size);
    }
}

static void makes_the_tables_of_pgbench(void **state)
{
    (void)state;
    need_postgres();
    struct pl_err err = {0};
    struct seen seen = {.ordered = true};
    char program[512], scale[32], output[4096], ours[4096], theirs[4096];
    assert_ok(service_load_data(service, see, &seen, NULL, &err));
    assert_true(seen.ordered);
    assert_int_equal(seen.count, 1 + 3 + 2); /* the begin, each 100,000 accounts, vacuum and keys */
    assert_close(seen.last, 1.0, 0, 1e-9);
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_accounts"), "300000");
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_tellers"), "30");
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_branches"), "3");
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_history"), "0");
    if (!spawn_find_program("pgbench", program, sizeof program)) {
        print_message("skipped: pgbench is not installed, so there is nothing to compare with\n");
        skip();
    }
    query_in(service, "postgres", "SELECT 1");
    char conninfo[512];
    PGconn *conn = PQconnectdb(service_conninfo(service, "postgres", conninfo, sizeof conninfo));
    PGresult *result = PQexec(conn, "CREATE DATABASE reference");
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
    PQfinish(conn);
    snprintf(scale, sizeof scale, "%d", (int)plan.data_scale);
    const char *const argv[] = {"pgbench", "-i",       "-s",        scale, "-h", service->socket_directory,
                                "-U",      "postgres", "reference", NULL};
    struct spawn_spec spec = {.program = program, .argv = argv, .output_fd = -1};
    assert_ok(spawn_read(&spec, output, sizeof output, &err));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        describe_table("bench", tables[i], ours, sizeof ours);
        describe_table("reference", tables[i], theirs, sizeof theirs);
        assert_string_equal(ours, theirs);
    }
}

static void can_be_made_again(void **state)
{
    (void)state;
    need_postgres();
    struct pl_err err = {0};
    assert_ok(service_load_data(service, NULL, NULL, NULL, &err));
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_accounts"), "300000");
    assert_ok(service_tidy(service, NULL, &err));
}

/* Interrupted in the middle of COPY: the transaction is gone with all of it. */
static void stops_when_it_is_told_to(void **state)
{
    (void)state;
    need_postgres();
    struct pl_err err = {0};
    volatile int flag = 0;
    struct seen seen = {.ordered = true, .stop = &flag};
    assert_int_equal(service_load_data(service, see, &seen, &flag, &err), PL_INTERRUPTED);
    assert_true(seen.last < 0.7);
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_accounts"), "0");
    assert_string_equal(query_in(service, "bench", "SELECT count(*) FROM pgbench_branches"), "0");
    wait_until(
        strcmp(query_in(service, "postgres", "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench'"), "0") == 0);
}

static void refuses_a_scale_that_is_none(void **state)
{
    (void)state;
    struct pl_err err = {0};
    need_postgres();
    plan.data_scale = 0;
    assert_int_equal(service_load_data(service, NULL, NULL, NULL, &err), PL_USAGE);
    plan.data_scale = 3;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_tables_of_pgbench),
        cmocka_unit_test(can_be_made_again),
        cmocka_unit_test(stops_when_it_is_told_to),
        cmocka_unit_test(refuses_a_scale_that_is_none),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
