/* Words of libpq as errors: one line, SQLSTATE kept, no secret. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/pgconn_int.h"

/* Not connected, but it knows what is in the connection string. */
static PGconn *conn_of(const char *conninfo)
{
    PGconn *conn = PQconnectStart(conninfo);
    assert_non_null(conn);
    return conn;
}

static void check(const char *conninfo, const char *message, const char *what, const char *hint)
{
    PGconn *conn = conn_of(conninfo);
    struct pl_err err = {0};
    assert_int_equal(pgconn_error(conn, message, &err), PL_SERVICE);
    assert_int_equal(err.code, PL_SERVICE);
    assert_string_equal(err.what, what);
    assert_string_equal(err.hint, hint);
    PQfinish(conn);
}

static const char plain[] = "host=/nowhere user=u dbname=d";
static const char secret[] = "host=/nowhere user=u dbname=d password=hunter2 sslpassword=keyring";

static void test_lines(void **state)
{
    (void)state;
    check(plain, "one\n", "one", "");
    check(plain, "one\ntwo\n", "one; two", "");
    check(plain, "", "PostgreSQL gave no reason", "");
    check(plain, "\n\n", "PostgreSQL gave no reason", "");
    check(plain, "FATAL:  3D000: no database\nLOCATION:  InitPostgres, postinit.c:877\n", "FATAL:  3D000: no database", "");
    check(plain, "ERROR:  bad\nDETAIL:  why\nHINT:  do this.\nHINT:  and that.", "ERROR:  bad; DETAIL:  why",
          "do this. and that.");
    check(plain, "refused\n\tIs the server running?\n", "refused", "Is the server running?");
}

static void test_secrets(void **state)
{
    (void)state;
    check(secret, "bad \"hunter2\"", "bad \"***\"", "");
    check(secret, "hunter2hunter2 keyring\nHINT: hunter2", "****** ***", "***");
    check(secret, "\thunter2\n", "PostgreSQL gave no reason", "***");
    check(secret, "hunter", "hunter", "");
    check("host=/nowhere password=''", "nothing to hide", "nothing to hide", "");
}

/* A password that only the password file knows is as secret. */
static void test_password_file(void **state)
{
    (void)state;
    char path[] = "/tmp/plimsoll-test-pass-XXXXXX", conninfo[200];
    int fd = mkstemp(path);
    static const char line[] = "127.0.0.1:1:d:u:fromthefile\n";
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
    close(fd);
    snprintf(conninfo, sizeof conninfo, "host=127.0.0.1 port=1 dbname=d user=u passfile=%s", path);
    check(conninfo, "it is fromthefile", "it is ***", "");
    unlink(path);
}

static void test_long(void **state)
{
    (void)state;
    PGconn *conn = conn_of(secret);
    struct pl_err err = {0};
    size_t size = 200000;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text + 390, "hunter2", 7); /* across the end of the field */
    assert_int_equal(pgconn_error(conn, text, &err), PL_SERVICE);
    assert_null(strstr(err.what, "hunter"));
    assert_true(strlen(err.what) > 300);
    free(text);
    PQfinish(conn);
}

/* An error that is set already is not replaced. */
static void test_first_wins(void **state)
{
    (void)state;
    PGconn *conn = conn_of(plain);
    struct pl_err err = {0};
    pl_err_set(&err, PL_IO, "first");
    pgconn_error(conn, "second", &err);
    assert_int_equal(err.code, PL_IO);
    assert_string_equal(err.what, "first");
    PQfinish(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_secrets),    cmocka_unit_test(test_password_file),
        cmocka_unit_test(test_long),  cmocka_unit_test(test_first_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
