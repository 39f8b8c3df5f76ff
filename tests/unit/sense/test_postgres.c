/* A real PostgreSQL (the newest that is installed, or PLIMSOLL_TEST_PGBIN), one that hangs and one that is killed. */
#include "pass.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "fakepg.h"
#include "memory_sink.h"
#include "pgserver.h"
#include "wire/pgconn.h"

static struct pgserver *server;
static struct memory_sink memory;
static struct sink sink;
static PGconn *conn; /* to the load's database */

static void run_on(PGconn *on, const char *sql)
{
    struct pl_err err = {0};
    if (pgquery_run(on, sql, 30 * PL_NS_PER_S, NULL, &err) != PL_OK)
        fail_msg("%s: %s", sql, err.what);
}

static int64_t number_of(const char *sql)
{
    struct pl_err err = {0};
    int64_t value = -1;
    if (pgquery_i64(conn, sql, 30 * PL_NS_PER_S, &value, &err) != PL_OK)
        fail_msg("%s: %s", sql, err.what);
    return value;
}

static int setup_server(void **state)
{
    (void)state;
    server = pgserver_start();
    if (server == NULL)
        return 0;
    struct pl_err err = {0};
    PGconn *first = NULL;
    assert_int_equal(pgconn_open(server->conninfo, 10 * PL_NS_PER_S, &first, &err), PL_OK);
    run_on(first, "CREATE DATABASE bench");
    PQfinish(first);
    return 0;
}

static int teardown_server(void **state)
{
    (void)state;
    pgserver_stop(server);
    return 0;
}

static PGconn *bench_open(void)
{
    struct pl_err err = {0};
    PGconn *opened = NULL;
    char *conninfo = sense_pg_conninfo(server->conninfo, "bench");
    assert_int_equal(pgconn_open(conninfo, 10 * PL_NS_PER_S, &opened, &err), PL_OK);
    run_on(opened, "SET application_name = 'load'");
    pl_free(conninfo);
    return opened;
}

static int setup(void **state)
{
    (void)state;
    memory_sink_init(&memory);
    sink = memory_sink(&memory);
    conn = server != NULL ? bench_open() : NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    PQfinish(conn);
    memory_sink_release(&memory);
    return 0;
}

static struct sense *start(const char *conninfo, pid_t pid, int64_t interval_ns)
{
    struct pl_err err = {0};
    struct sense *sense = NULL;
    struct sense_target target = {
        .source = "db", .pid = pid, .v1_cpuacct = "", .v1_memory = "", .v2 = "", .conninfo = conninfo, .database = "bench"};
    struct sense_spec spec = {.targets = &target, .target_count = 1, .interval_ns = interval_ns, .seed = 5};
    assert_int_equal(sense_new(&spec, 1, &sink, &sense, &err), PL_OK);
    return sense;
}

static void poll_all(struct sense *sense)
{
    struct pl_err err = {0};
    assert_int_equal(sense_poll(sense, &sink, &err), PL_OK);
}

/* The last sample of it; NAN when there is none since `from`. */
static double last_since(const char *source, const char *name, size_t from)
{
    const struct metric *metric = memory_sink_metric(&memory, source, name);
    if (metric == NULL)
        return (double)NAN;
    for (size_t i = memory.sample_count; i-- > from;)
        if (memory.samples[i].metric_id == metric->id)
            return memory.samples[i].value;
    return (double)NAN;
}

static double mark(struct sense *sense, const char *name)
{
    size_t from = memory.sample_count;
    sense_mark(sense, PHASE_MEASURE);
    poll_all(sense);
    return last_since("db", name, from);
}

static void test_wal_is_exact(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 0);
    run_on(conn, "CREATE TABLE wal_test (id int, filler text)");
    run_on(conn, "SELECT pg_switch_wal()"); /* a fresh segment, and nobody else writes */
    double before = (double)NAN, after = (double)NAN;
    int64_t own = -1;
    /* the server itself may write a little at any moment: then once more */
    for (int round = 0; round < 20 && !(after - before == (double)own); round++) {
        int64_t first = number_of("SELECT (pg_current_wal_lsn() - '0/0')::bigint");
        before = mark(sense, "wal_lsn_bytes");
        run_on(conn, "INSERT INTO wal_test SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i");
        after = mark(sense, "wal_lsn_bytes");
        own = number_of("SELECT (pg_current_wal_lsn() - '0/0')::bigint") - first;
    }
    assert_true(own > 2000 * 500);
    assert_close(after - before, (double)own, 0, 0);
    run_on(conn, "DROP TABLE wal_test");
    sense_free(sense);
}

/* A backend publishes what it counted when it ends; so that it has ended. */
static void reopen(void)
{
    PQfinish(conn);
    conn = bench_open();
    while (number_of("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'load'") > 1)
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
}

static void test_commits_are_counted(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 0);
    run_on(conn, "CREATE TABLE counted (id int)");
    reopen();
    double commits = mark(sense, "commits"), rollbacks = mark(sense, "rollbacks");
    double inserted = mark(sense, "tuples_inserted");
    for (int i = 0; i < 40; i++)
        run_on(conn, "INSERT INTO counted VALUES (1), (2), (3)");
    for (int i = 0; i < 7; i++) {
        run_on(conn, "BEGIN");
        run_on(conn, "INSERT INTO counted VALUES (4)");
        run_on(conn, "ROLLBACK");
    }
    reopen();
    double committed = mark(sense, "commits") - commits;
    assert_true(committed >= 40 && committed <= 40 + 20); /* and those of the questions above */
    assert_close(mark(sense, "rollbacks") - rollbacks, 7, 0, 0);
    assert_close(mark(sense, "tuples_inserted") - inserted, 40 * 3 + 7, 0, 0);
    sense_free(sense);
}

static void test_connections(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 0);
    run_on(conn, "CREATE TABLE locked (id int)");
    assert_close(mark(sense, "connections"), 1, 0, 0); /* the sensors' own is not in it */
    PGconn *waiting = bench_open(), *idle = bench_open();
    run_on(conn, "BEGIN; LOCK TABLE locked");
    assert_int_equal(PQsendQuery(waiting, "SELECT * FROM locked"), 1);
    PQflush(waiting);
    while (mark(sense, "connections_waiting_lock") < 1)
        ;
    assert_close(mark(sense, "connections"), 3, 0, 0);
    assert_close(mark(sense, "connections_active"), 1, 0, 0);
    assert_close(mark(sense, "connections_waiting"), 1, 0, 0);
    assert_close(mark(sense, "connections_waiting_io"), 0, 0, 0);
    assert_close(mark(sense, "connections_idle"), 1, 0, 0);
    assert_close(mark(sense, "connections_idle_in_transaction"), 1, 0, 0);
    run_on(conn, "ROLLBACK");
    PQfinish(waiting);
    PQfinish(idle);
    run_on(conn, "DROP TABLE locked");
    sense_free(sense);
}

static void quiet(struct sense *sense)
{
    struct pl_err err = {0};
    if (sense_quiet(sense, PHASE_AFTER, &sink, &err) != PL_OK)
        fail_msg("%s", err.what);
}

/* Sizes equal the server's own functions; what is new at the second quiet point is declared then. */
static void test_sizes(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 0);
    run_on(conn, "CREATE TABLE sized (id int PRIMARY KEY, filler text); INSERT INTO sized SELECT i, repeat('y', 200) FROM "
                 "generate_series(1, 5000) i");
    run_on(conn, "VACUUM ANALYZE sized");
    quiet(sense);
    assert_null(memory_sink_metric(&memory, "db/other.more", "table_bytes"));
    int64_t next = sense_next_metric_id(sense);
    run_on(conn, "CREATE SCHEMA other; CREATE TABLE other.more (id int); INSERT INTO other.more VALUES (1)");
    run_on(conn, "CHECKPOINT");
    quiet(sense);
    assert_true(sense_next_metric_id(sense) > next);
    double table = last_since("db/sized", "table_bytes", 0), index = last_since("db/sized", "index_bytes", 0);
    assert_close(table, (double)number_of("SELECT pg_table_size('sized')"), 0, 0);
    assert_close(table + index, (double)number_of("SELECT pg_total_relation_size('sized')"), 0, 0);
    assert_close(last_since("db/sized_pkey", "one_index_bytes", 0), index, 0, 0);
    assert_close(last_since("db/sized", "rows", 0), 5000, 0, 0);
    assert_close(last_since("db/other.more", "table_bytes", 0), 8192, 0, 0);
    assert_close(last_since("db", "database_bytes", 0), (double)number_of("SELECT pg_database_size('bench')"), 0.01, 0);
    assert_true(isnan(last_since("db/pg_class", "table_bytes", 0)));
    for (size_t i = 0; i < memory.metric_count; i++)
        assert_int_equal(memory.metrics[i].id, (int64_t)i + 1);
    /* two clients are open besides the sensors' own connections */
    PGconn *second = bench_open();
    quiet(sense);
    assert_close(last_since("db", "backend_pss_anon_population", 0), 2, 0, 0);
    assert_close(last_since("db", "backend_pss_anon_sampled", 0), 2, 0, 0);
    assert_true(last_since("db", "backend_pss_anon_bytes", 0) > 100e3);
    PQfinish(second);
    /* the connection to the load's database is closed again; the server takes a moment to notice */
    while (number_of("SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench' AND application_name = "
                     "'plimsoll-sense'") > 0)
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    run_on(conn, "DROP TABLE sized, other.more; DROP SCHEMA other");
    sense_free(sense);
}

/* Every metric of the catalog gets a value from a real server. */
static void test_every_column_is_read(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 0);
    quiet(sense);
    int absent = 0;
    for (size_t i = 0; i < memory.metric_count; i++) {
        if (strcmp(memory.metrics[i].source, "db") != 0 || !isnan(last_since("db", memory.metrics[i].name, 0)))
            continue;
        print_message("no reading of %s\n", memory.metrics[i].name);
        absent++;
    }
    assert_int_equal(absent, 0);
    assert_close(last_since("tool", "sense_missed", 0), 0, 0, 0);
    sense_free(sense);
}

/* Stopped in the middle: its SQL metrics are absent, the others go on, and it is asked again when it goes on. */
static void test_server_hangs(void **state)
{
    (void)state;
    struct fakepg_rule rules[] = {
        {.when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 5, .every = 0, .act = FAKEPG_STALL}};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 1});
    struct sense *sense = start(fakepg_conninfo(fake), 0, 0);
    for (int i = 0; i < 3; i++) { /* one of these hangs for its deadline */
        size_t from = memory.sample_count;
        sense_mark(sense, PHASE_MEASURE);
        poll_all(sense);
        assert_false(isnan(last_since("host", "cpu_busy_ns", from)));
        assert_false(isnan(last_since("tool", "cpu_ns", from)));
    }
    assert_true(last_since("tool", "sense_missed", 0) > 0);
    sense_free(sense);
    fakepg_stop(fake);
}

static void test_nobody_listens(void **state)
{
    (void)state;
    struct sense *sense = start("host=/nonexistent port=1 dbname=postgres password=hush", 0, 0);
    assert_null(memory_sink_metric(&memory, "db", "commits"));
    assert_true(isnan(mark(sense, "commits")));
    assert_false(isnan(last_since("tool", "cpu_ns", 0)));
    quiet(sense);
    sense_free(sense);
}

/* Last: kills the server. */
static void test_server_is_killed(void **state)
{
    (void)state;
    pgserver_or_skip(server);
    struct sense *sense = start(server->conninfo, server->pid, 10 * PL_NS_PER_MS);
    assert_false(isnan(mark(sense, "commits")));
    sense_begin(sense, 1, PHASE_MEASURE, pl_clock_ns());
    double missed = last_since("tool", "sense_missed", 0);
    kill(server->pid, SIGQUIT); /* immediate shutdown: its children go with it */
    while (!(last_since("tool", "sense_missed", 0) > missed + 3)) {
        pl_clock_sleep_until(pl_clock_ns() + 10 * PL_NS_PER_MS);
        poll_all(sense);
    }
    sense_end(sense);
    quiet(sense);
    size_t from = memory.sample_count;
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
    quiet(sense);
    static const char *const names[] = {"commits",           "wal_lsn_bytes",  "connections",           "cpu_ns",
                                        "memory_anon_bytes", "database_bytes", "backend_pss_anon_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(isnan(last_since("db", names[i], from)));
    assert_false(isnan(last_since("host", "cpu_busy_ns", from)));
    sense_free(sense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_wal_is_exact, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_commits_are_counted, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_connections, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_every_column_is_read, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_server_hangs, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_nobody_listens, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_server_is_killed, setup, teardown)};
    return cmocka_run_group_tests_name("sense postgres", tests, setup_server, teardown_server);
}
