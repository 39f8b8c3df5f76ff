/* Looking at a data set before a run, and making it fresh, on the installed PostgreSQL and on version 18. */
#include "dataset_support.h"

static int start(void **state)
{
    static const char *const settings[] = {"autovacuum=off", NULL};
    *state = pgserver_start_with(settings, false);
    return 0;
}

static int stop(void **state)
{
    pgserver_stop(*state);
    return 0;
}

static PGconn *with_tables(const struct pgserver *server, struct dataset_spec spec)
{
    struct pl_err err = {0};
    PGconn *conn = fresh_database(server, "ours");
    spec.fillfactor = 100;
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    return conn;
}

static void check_look(const struct pgserver *server, struct dataset_spec spec, struct dataset_found expected)
{
    struct pl_err err = {0};
    struct dataset_found found = {.scale = -1};
    PGconn *conn = with_tables(server, spec);
    assert_ok(dataset_look(conn, NULL, &found, &err));
    assert_int_equal(found.scale, expected.scale);
    assert_int_equal(found.partitioning, expected.partitioning);
    assert_int_equal(found.partitions, expected.partitions);
    PQfinish(conn);
}

static void finds_scale_and_partitions(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    check_look(server, (struct dataset_spec){.steps = "tgp", .scale = 3}, (struct dataset_found){.scale = 3});
    check_look(server, (struct dataset_spec){.steps = "t", .scale = 3}, (struct dataset_found){.scale = 0});
    check_look(server, (struct dataset_spec){.steps = "tG", .scale = 2, .partitioning = DATASET_RANGE, .partitions = 4},
               (struct dataset_found){.scale = 2, .partitioning = DATASET_RANGE, .partitions = 4});
    check_look(server, (struct dataset_spec){.steps = "tg", .scale = 1, .partitioning = DATASET_HASH, .partitions = 1},
               (struct dataset_found){.scale = 1, .partitioning = DATASET_HASH, .partitions = 1});
}

static void check_no_look(PGconn *conn, const char *what, const char *hint)
{
    struct pl_err err = {0};
    struct dataset_found found = {.scale = -1};
    assert_int_equal(dataset_look(conn, NULL, &found, &err), PL_SERVICE);
    assert_string_equal(err.what, what);
    assert_string_equal(err.hint, hint);
    assert_int_equal(found.scale, -1);
}

/* A table that somebody has locked is not waited for when a signal comes. */
static void gives_up_when_told(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct dataset_found found = {.scale = -1};
    static const volatile int stop = 1;
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 1});
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "%s dbname=ours", server->conninfo);
    PGconn *other = PQconnectdb(conninfo);
    PQclear(PQexec(other, "BEGIN; LOCK TABLE pgbench_branches"));
    assert_int_equal(dataset_look(conn, &stop, &found, &err), PL_INTERRUPTED);
    assert_int_equal(found.scale, -1);
    PQfinish(other);
    PQfinish(conn);
}

static void says_what_is_missing(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    static const char hint[] = "Perhaps you need to do initialization (\"pgbench -i\") in database \"ours\".";
    PGconn *conn = fresh_database(server, "ours");
    check_no_look(conn,
                  "could not count number of branches: ERROR:  relation \"pgbench_branches\" does not exist\n"
                  "LINE 1: select count(*) from pgbench_branches\n"
                  "                             ^",
                  hint);
    query(conn, "CREATE TABLE pgbench_branches (bid int)");
    check_no_look(conn, "no pgbench_accounts table found in search_path", hint);
    query(conn, "CREATE TABLE pgbench_accounts (aid int) PARTITION BY LIST (aid)");
    check_no_look(conn, "unexpected partition method: \"l\"", "");
    query(conn, "CREATE ROLE stranger; SET ROLE stranger");
    check_no_look(conn, "could not count number of branches: ERROR:  permission denied for table pgbench_branches", "");
    query(conn, "RESET ROLE; DROP ROLE stranger");
    PQfinish(conn);
}

/* The table that the search path finds first, as scripts do. */
static void looks_along_the_search_path(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct dataset_found found;
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 2});
    query(conn, "CREATE SCHEMA other; CREATE TABLE other.pgbench_accounts (aid int) PARTITION BY HASH (aid);"
                "SET search_path = nowhere, other, public");
    assert_ok(dataset_look(conn, NULL, &found, &err));
    assert_int_equal(found.scale, 2);
    assert_int_equal(found.partitioning, DATASET_HASH);
    assert_int_equal(found.partitions, 0);
    query(conn, "SET search_path = public, other");
    assert_ok(dataset_look(conn, NULL, &found, &err));
    assert_int_equal(found.partitioning, DATASET_NO_PARTITIONS);
    PQfinish(conn);
}

static const char *vacuum_counts(PGconn *conn)
{
    return query(conn,
                 "SELECT string_agg(vacuum_count::text || analyze_count, ' ' ORDER BY relname) FROM pg_stat_user_tables");
}

static void vacuums(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    char warning[DATASET_WARNING_BYTES] = "old";
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 1});
    query(conn, "INSERT INTO pgbench_history SELECT 1, 1, 1, 1, now() FROM generate_series(1, 10)");
    assert_ok(dataset_vacuum(conn, false, NULL, warning, &err));
    assert_string_equal(warning, "");
    assert_string_equal(query(conn, "SELECT count(*) FROM pgbench_history"), "0");
    /* accounts, branches, history, tellers */
    assert_string_equal(vacuum_counts(conn), "00 10 00 10");
    assert_ok(dataset_vacuum(conn, true, NULL, warning, &err));
    assert_string_equal(warning, "");
    assert_string_equal(vacuum_counts(conn), "11 20 00 20");
    PQfinish(conn);
}

static void goes_on_after_a_refusal(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    char warning[DATASET_WARNING_BYTES + 1];
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 1});
    query(conn, "DROP TABLE pgbench_tellers");
    query(conn, "INSERT INTO pgbench_history VALUES (1, 1, 1, 1, now())");
    assert_ok(dataset_vacuum(conn, true, NULL, warning, &err));
    assert_string_equal(warning, "ERROR:  relation \"pgbench_tellers\" does not exist");
    assert_string_equal(query(conn, "SELECT count(*) FROM pgbench_history"), "0");
    query(conn, "ALTER TABLE pgbench_accounts RENAME TO x");
    query(conn, "DROP TABLE pgbench_branches, pgbench_history");
    warning[DATASET_WARNING_BYTES] = '!';
    assert_ok(dataset_vacuum(conn, true, NULL, warning, &err));
    assert_int_equal(warning[DATASET_WARNING_BYTES], '!');
    assert_non_null(
        strstr(warning, "ERROR:  relation \"pgbench_branches\" does not exist\nERROR:  relation \"pgbench_tellers\""));
    PQfinish(conn);
}

static void a_lost_connection_is_an_error(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct dataset_found found;
    char warning[DATASET_WARNING_BYTES], sql[100];
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 1});
    PGconn *other = connect_to(server, "ours");
    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 60000)", PQbackendPID(conn));
    assert_string_equal(query(other, sql), "t");
    assert_int_equal(dataset_vacuum(conn, false, NULL, warning, &err), PL_SERVICE);
    assert_string_equal(warning, "");
    err = (struct pl_err){0};
    assert_int_equal(dataset_look(conn, NULL, &found, &err), PL_SERVICE);
    PQfinish(conn);
    PQfinish(other);
}

static void stops_when_it_is_told_to(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    volatile int flag = 1;
    char warning[DATASET_WARNING_BYTES];
    PGconn *conn = with_tables(server, (struct dataset_spec){.steps = "tg", .scale = 1}),
           *other = connect_to(server, "ours");
    query(other, "BEGIN; LOCK TABLE pgbench_branches"); /* vacuum waits for it */
    assert_int_equal(dataset_vacuum(conn, false, &flag, warning, &err), PL_INTERRUPTED);
    PQfinish(conn);
    PQfinish(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_scale_and_partitions),
        cmocka_unit_test(gives_up_when_told),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(looks_along_the_search_path),
        cmocka_unit_test(vacuums),
        cmocka_unit_test(goes_on_after_a_refusal),
        cmocka_unit_test(a_lost_connection_is_an_error),
        cmocka_unit_test(stops_when_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
