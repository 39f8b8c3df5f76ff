/* Ordinary queries with a deadline, on a real PostgreSQL and on a scripted server that misbehaves. */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "fakepg.h"
#include "pgserver.h"
#include "wire/pgconn.h"

#define PATIENCE_NS (60 * PL_NS_PER_S)

static int setup(void **state)
{
    *state = pgserver_start();
    return 0;
}

static int teardown(void **state)
{
    pgserver_stop(*state);
    return 0;
}

static PGconn *open_one(const char *conninfo)
{
    struct pl_err err = {0};
    PGconn *conn = NULL;
    if (pgconn_open(conninfo, PATIENCE_NS, &conn, &err) != PL_OK)
        fail_msg("%s", err.what);
    return conn;
}

static PGconn *open_real(void **state)
{
    return open_one(pgserver_or_skip(*state)->conninfo);
}

static struct pl_err fails(PGconn *conn, const char *sql, int64_t timeout_ns)
{
    struct pl_err err = {0};
    PGresult *result = NULL;
    assert_int_equal(pgquery_run(conn, sql, timeout_ns, &result, &err), PL_SERVICE);
    assert_null(result);
    assert_int_equal(err.code, PL_SERVICE);
    return err;
}

static int64_t ask(PGconn *conn, const char *sql)
{
    struct pl_err err = {0};
    int64_t value = 0;
    if (pgquery_i64(conn, sql, PATIENCE_NS, &value, &err) != PL_OK)
        fail_msg("%s", err.what);
    return value;
}

static void test_text(void **state)
{
    PGconn *conn = open_real(state);
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    static const struct {
        const char *sql, *text;
    } cases[] = {{"select 'abc'", "abc"},
                 {"select null", ""},
                 {"select 1 where false", ""},
                 {"values ('x','y'),('z','w')", "x"},
                 {"select 1; select 'last'", "last"},
                 {"set work_mem = '4MB'", ""},
                 {"", ""},
                 {"select", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = NULL;
        assert_int_equal(pgquery_text(conn, cases[i].sql, PATIENCE_NS, arena, &text, &err), PL_OK);
        assert_string_equal(text, cases[i].text);
    }
    pl_arena_free(arena);
    PQfinish(conn);
}

static void test_i64(void **state)
{
    PGconn *conn = open_real(state);
    assert_int_equal(ask(conn, "select 42"), 42);
    assert_true(ask(conn, "select '-9223372036854775808'::bigint") == INT64_MIN);
    assert_true(ask(conn, "select 9223372036854775807") == INT64_MAX);
    static const char *const none[] = {"select null::int",           "select 1 where false", "select 1.5",
                                       "select 9223372036854775808", "select 'x'",           "set work_mem = '4MB'"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct pl_err err = {0};
        int64_t value = 77;
        assert_int_equal(pgquery_i64(conn, none[i], PATIENCE_NS, &value, &err), PL_SERVICE);
        assert_int_equal(value, 77);
        assert_non_null(strstr(err.what, "whole number"));
    }
    PQfinish(conn);
}

static void test_results(void **state)
{
    PGconn *conn = open_real(state);
    struct pl_err err = {0};
    PGresult *result = NULL;
    assert_int_equal(pgquery_run(conn, "select 1; select generate_series(1,3)", PATIENCE_NS, &result, &err), PL_OK);
    assert_int_equal(PQntuples(result), 3);
    PQclear(result);
    assert_int_equal(pgquery_run(conn, "create temp table t (a int)", PATIENCE_NS, NULL, &err), PL_OK);
    assert_int_equal(pgquery_run(conn, "insert into t values (1),(2)", PATIENCE_NS, &result, &err), PL_OK);
    assert_string_equal(PQcmdTuples(result), "2");
    PQclear(result);
    PQfinish(conn);
}

/* More than the sockets' buffers hold, in both directions at once. */
static void test_large(void **state)
{
    PGconn *conn = open_real(state);
    enum { BYTES = 4 << 20 };
    char *sql = malloc(BYTES + 64);
    assert_non_null(sql);
    int length = snprintf(sql, 64, "select 'first', repeat('r', 3000000); select length('");
    memset(sql + length, 'x', BYTES);
    memcpy(sql + length + BYTES, "')", 3);
    assert_int_equal(ask(conn, sql), BYTES);
    free(sql);
    PQfinish(conn);
}

static void test_errors(void **state)
{
    PGconn *conn = open_real(state);
    struct pl_err err = fails(conn, "select 1/0", PATIENCE_NS);
    assert_string_equal(err.what, "22012: division by zero");
    err = fails(conn, "selec 1", PATIENCE_NS);
    assert_string_equal(err.what, "42601: syntax error at or near \"selec\"");
    err = fails(conn, "select abs('x'::text)", PATIENCE_NS);
    assert_non_null(strstr(err.what, "42883"));
    assert_non_null(strstr(err.hint, "explicit type casts"));
    /* the second of three commands; the connection goes on */
    err = fails(conn, "select 1; select nope; select 2", PATIENCE_NS);
    assert_non_null(strstr(err.what, "42703"));
    assert_int_equal(ask(conn, "select 3"), 3);
    assert_int_equal(PQisnonblocking(conn), 0);
    PQfinish(conn);
}

/* Notices do not reach standard error: libpq's own receiver would print them. */
static void test_notice(void **state)
{
    PGconn *conn = open_real(state);
    char path[] = "/tmp/plimsoll-test-stderr-XXXXXX";
    int file = mkstemp(path), before = dup(STDERR_FILENO);
    assert_true(file >= 0 && before >= 0);
    assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
    struct pl_err err = {0};
    enum pl_code code = pgquery_run(conn, "do $$ begin raise warning 'hello'; end $$", PATIENCE_NS, NULL, &err);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(code, PL_OK);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    close(file);
    close(before);
    unlink(path);
    PQfinish(conn);
}

static void test_time_out(void **state)
{
    PGconn *conn = open_real(state), *other = open_real(state);
    char sql[200];
    snprintf(sql, sizeof sql, "select count(*) from pg_stat_activity where pid = %d and state = 'active'",
             PQbackendPID(conn));
    struct pl_err err = fails(conn, "select pg_sleep(600)", 50 * PL_NS_PER_MS);
    assert_string_equal(err.what, "no answer to a query within 50.0 ms; it was cancelled");
    while (ask(other, sql) > 0) /* ends only if the cancel request did its work */
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    err = fails(conn, "select 1", PATIENCE_NS); /* not usable any more, and says so */
    assert_non_null(strstr(err.what, "another command is already in progress"));
    PQfinish(conn);
    PQfinish(other);
}

static void test_killed(void **state)
{
    PGconn *conn = open_real(state), *other = open_real(state);
    char sql[100];
    struct pl_err err = fails(conn, "select pg_terminate_backend(pg_backend_pid())", PATIENCE_NS);
    assert_string_equal(err.what, "57P01: terminating connection due to administrator command");
    err = fails(conn, "select 1", PATIENCE_NS);
    assert_true(err.what[0] != '\0');
    PQfinish(conn);
    conn = open_real(state); /* killed while idle */
    snprintf(sql, sizeof sql, "select pg_terminate_backend(%d, 60000)::int", PQbackendPID(conn));
    assert_int_equal(ask(other, sql), 1);
    err = fails(conn, "select 1", PATIENCE_NS);
    assert_true(err.what[0] != '\0');
    assert_null(strchr(err.what, '\n'));
    PQfinish(conn);
    PQfinish(other);
}

static void test_copy(void **state)
{
    PGconn *conn = open_real(state);
    struct pl_err err = {0};
    PGresult *result = NULL;
    assert_int_equal(pgquery_run(conn, "create temp table c (a int); copy c from stdin", PATIENCE_NS, &result, &err),
                     PL_OK);
    assert_int_equal(PQresultStatus(result), PGRES_COPY_IN);
    PQclear(result);
    assert_int_equal(PQputCopyData(conn, "1\n2\n", 4), 1);
    assert_int_equal(PQputCopyEnd(conn, NULL), 1);
    result = PQgetResult(conn);
    assert_string_equal(PQcmdTuples(result), "2");
    PQclear(result);
    assert_null(PQgetResult(conn));
    assert_int_equal(ask(conn, "select sum(a) from c"), 3);
    assert_int_equal(pgquery_run(conn, "copy c to stdout", PATIENCE_NS, NULL, &err), PL_SERVICE);
    assert_non_null(strstr(err.what, "COPY"));
    PQfinish(conn);
}

/* Rows in many pieces arrive; one that ends badly says the server's word for it. */
static void test_copy_in_pieces(void **state)
{
    PGconn *conn = open_real(state);
    struct pl_err err = {0};
    PGresult *result = NULL;
    assert_int_equal(pgquery_run(conn, "create temp table c (a int)", PATIENCE_NS, NULL, &err), PL_OK);
    for (int good = 1; good >= 0; good--) {
        assert_int_equal(pgquery_run_unless(conn, "copy c from stdin", PATIENCE_NS, NULL, &result, &err), PL_OK);
        PQclear(result);
        for (int i = 0; i < 20000; i++)
            assert_int_equal(pgquery_copy_put(conn, "12345678\n", 9, PATIENCE_NS, NULL, &err), PL_OK);
        assert_int_equal(pgquery_copy_end(conn, good ? NULL : "changed my mind", PATIENCE_NS, NULL, &err),
                         good ? PL_OK : PL_SERVICE);
        assert_int_equal(ask(conn, "select count(*) from c"), 20000);
        assert_int_equal(PQisnonblocking(conn), 0);
    }
    assert_non_null(strstr(err.what, "changed my mind"));
    PQfinish(conn);
}

static void *raise_later(void *arg)
{
    pl_clock_sleep_until(pl_clock_ns() + 50 * PL_NS_PER_MS);
    __atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void test_stop(void **state)
{
    PGconn *conn = open_real(state), *other = open_real(state);
    int stop = 0;
    pthread_t thread;
    PGresult *result = NULL;
    char sql[200];
    struct pl_err err = {0};
    snprintf(sql, sizeof sql, "select count(*) from pg_stat_activity where pid = %d and state = 'active'",
             PQbackendPID(conn));
    assert_int_equal(pthread_create(&thread, NULL, raise_later, &stop), 0);
    assert_int_equal(pgquery_run_unless(conn, "select pg_sleep(600)", 3600 * PL_NS_PER_S, &stop, &result, &err),
                     PL_INTERRUPTED);
    assert_null(result);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (ask(other, sql) > 0) /* it was cancelled */
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    PQfinish(conn);
    conn = NULL;
    err = (struct pl_err){0};
    assert_int_equal(pgconn_open_unless(pgserver_or_skip(*state)->conninfo, PATIENCE_NS, &stop, &conn, &err),
                     PL_INTERRUPTED);
    assert_null(conn);
    /* a refusal is handed out, for its SQLSTATE */
    stop = 0;
    err = (struct pl_err){0};
    assert_int_equal(pgquery_run_unless(other, "select 1/0", PATIENCE_NS, &stop, &result, &err), PL_SERVICE);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "22012");
    PQclear(result);
    PQfinish(other);
}

static struct pl_err fake_fails(enum fakepg_act act, int64_t timeout_ns)
{
    struct fakepg_rule rule = {
        .when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 1, .act = act, .sqlstate = "40P01"};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    PGconn *conn = open_one(fakepg_conninfo(fake));
    assert_int_equal(ask(conn, "select 1"), 1);
    struct pl_err err = fails(conn, "select 1", timeout_ns);
    PQfinish(conn);
    if (act == FAKEPG_STALL)
        assert_int_equal(fakepg_cancelled(fake), 1);
    fakepg_stop(fake);
    return err;
}

static void test_misbehaviour(void **state)
{
    (void)state;
    struct pl_err err = fake_fails(FAKEPG_ERROR, PATIENCE_NS);
    assert_string_equal(err.what, "40P01: said the scripted server");
    fake_fails(FAKEPG_RESET, PATIENCE_NS);
    err = fake_fails(FAKEPG_CLOSE, PATIENCE_NS);
    assert_non_null(strstr(err.what, "server closed the connection unexpectedly"));
    fake_fails(FAKEPG_HALF, PATIENCE_NS);
    fake_fails(FAKEPG_GARBAGE, PL_NS_PER_S / 2);
    err = fake_fails(FAKEPG_STALL, PL_NS_PER_S / 20);
    assert_string_equal(err.what, "no answer to a query within 50.0 ms; it was cancelled");
}

/* A server so stuck that it does not even take the cancel request: the call comes back all the same. */
static void test_cancel_stalls(void **state)
{
    (void)state;
    static const struct fakepg_rule rules[] = {{.when = FAKEPG_AT_COMMAND, .connection = 0, .act = FAKEPG_STALL},
                                               {.when = FAKEPG_AT_ACCEPT, .connection = 1, .act = FAKEPG_STALL}};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 2});
    PGconn *conn = open_one(fakepg_conninfo(fake));
    struct pl_err err = fails(conn, "select 1", PL_NS_PER_MS);
    assert_string_equal(err.what,
                        "no answer to a query within 1.00 ms; it could not be cancelled: the server does not answer");
    PQfinish(conn);
    fakepg_stop(fake);
}

/* The query itself cannot be sent: nobody reads, and the buffers are full. */
static void test_send_stalls(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(NULL); /* which stalls by itself at so large a message */
    PGconn *conn = open_one(fakepg_conninfo(fake));
    enum { BYTES = 4 << 20 };
    char *sql = malloc(BYTES + 1);
    assert_non_null(sql);
    memset(sql, ' ', BYTES);
    sql[BYTES] = '\0';
    struct pl_err err = fails(conn, sql, PL_NS_PER_S / 20);
    assert_string_equal(err.what, "no answer to a query within 50.0 ms; it was cancelled");
    free(sql);
    PQfinish(conn); /* must not wait either */
    fakepg_stop(fake);
}

static void test_cancel_refused(void **state)
{
    (void)state;
    struct fakepg_rule rule = {.when = FAKEPG_AT_COMMAND, .connection = 0, .act = FAKEPG_STALL};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    PGconn *conn = open_one(fakepg_conninfo(fake));
    char path[200];
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", PQhost(conn));
    assert_int_equal(remove(path), 0); /* nobody can connect any more */
    struct pl_err err = fails(conn, "select 1", PL_NS_PER_MS);
    assert_string_equal(err.what, "no answer to a query within 1.00 ms; it could not be cancelled");
    PQfinish(conn);
    fakepg_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),           cmocka_unit_test(test_i64),         cmocka_unit_test(test_results),
        cmocka_unit_test(test_large),          cmocka_unit_test(test_errors),      cmocka_unit_test(test_notice),
        cmocka_unit_test(test_time_out),       cmocka_unit_test(test_killed),      cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_in_pieces), cmocka_unit_test(test_stop),        cmocka_unit_test(test_misbehaviour),
        cmocka_unit_test(test_cancel_stalls),  cmocka_unit_test(test_send_stalls), cmocka_unit_test(test_cancel_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
