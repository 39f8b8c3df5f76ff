/* The PostgreSQL driver's steps against a real server, without the engine: values, rows, pipelines, COPY. */
#include "drv_pg_test.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "pgserver.h"

struct fixture {
    struct pgserver *server;
    PGconn *conn;
};
static struct fixture fixtures[2]; /* the second one speaks TLS */

static int group_setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        struct pl_err err = {0};
        fixtures[i].server = i == 0 ? pgserver_start() : pgserver_start_tls();
        if (fixtures[i].server == NULL)
            continue;
        if (pgconn_open(fixtures[i].server->conninfo, DRIVEN_PATIENCE_NS, &fixtures[i].conn, &err) != PL_OK)
            fail_msg("%s", err.what);
        if (pgquery_run(fixtures[i].conn, "CREATE TABLE t (i int, x text)", DRIVEN_PATIENCE_NS, NULL, &err) != PL_OK)
            fail_msg("%s", err.what);
    }
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        PQfinish(fixtures[i].conn);
        pgserver_stop(fixtures[i].server);
    }
    return 0;
}

static struct fixture *fixture_of(void **state)
{
    struct fixture *fixture = *state;
    pgserver_or_skip(fixture->server);
    return fixture;
}

static int64_t number(const struct fixture *fixture, const char *text)
{
    struct pl_err err = {0};
    int64_t value = 0;
    if (pgquery_i64(fixture->conn, text, DRIVEN_PATIENCE_NS, &value, &err) != PL_OK)
        fail_msg("%s", err.what);
    return value;
}

static void start(struct driven *driven, const struct fixture *fixture, enum plan_protocol protocol, const char *text)
{
    driven_init(driven, fixture->server->conninfo, protocol, 1);
    driven->spec.prepare_lazily = true;
    driven_script(driven, text);
    driven_open(driven);
}

/* ---- values ---- */

/* A text is pasted as it is, quotes and all, or bound whole; both ways it comes back the same. */
static void test_texts(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const char text[] = "it's \\ \"so\" $1 :a; -- \xc3\xbc";
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        start(&driven, fixture, (enum plan_protocol)protocol,
              "SELECT :a::text AS b, length(:a::text) AS n \\gset p_\n"
              "SELECT :p_b, :p_n;\n");
        driven_set_text(&driven, 0, "a", protocol == PLAN_SIMPLE ? "'it''s \\ \"so\" $1 :a; -- \xc3\xbc'" : text);
        const struct program *program = driven.programs[0];
        for (int i = 0; i < 3; i++) { /* prepared: the second and third run use what the first one prepared */
            *driven_value(&driven, 0, "p_b") = (struct value){.type = VALUE_UNSET};
            driven.driver->ops->submit(driven.driver, 0, program, &program->steps[0], driven.vars);
            assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
            assert_variable(&driven, "p_b", text);
            assert_variable(&driven, "p_n", "23");
        }
        driven_stop(&driven);
    }
}

static void test_long_texts(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const size_t lengths[] = {1, 100, 5000, 40000, 1000000, 3, 6000000, 0};
    char *text = malloc(6000003), script[] = "SELECT :a::text AS b, md5(:a::text) AS m \\gset\nSELECT :b, :m;\n";
    assert_non_null(text);
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        bool pastes = protocol == PLAN_SIMPLE;
        start(&driven, fixture, (enum plan_protocol)protocol, script);
        const struct program *program = driven.programs[0];
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            size_t length = 0;
            if (pastes)
                text[length++] = '\'';
            for (size_t c = 0; c < lengths[i]; c++)
                text[length++] = (char)('a' + (c * 7 + i) % 26);
            if (pastes)
                text[length++] = '\'';
            text[length] = '\0';
            driven_set_text(&driven, 0, "a", text);
            driven.driver->ops->submit(driven.driver, 0, program, &program->steps[0], driven.vars);
            if (driven_wait(&driven, 0) != DRIVER_OK)
                fail_msg("%s: %s", driven.done.code, driven.done.text);
            const struct value *got = driven_value(&driven, 0, "b");
            assert_int_equal(got->length, lengths[i]);
            assert_memory_equal(got->text, text + pastes, lengths[i]);
            assert_int_equal(driven_value(&driven, 0, "m")->length, 32);
        }
        driven_stop(&driven);
    }
    free(text);
}

/* What no variable ever was: NULL when it is bound, its own name when it is pasted. */
static void test_unset(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        start(&driven, fixture, (enum plan_protocol)protocol,
              "SELECT coalesce(:nobody::text, 'null') AS a \\gset\nSELECT :a;\n");
        const struct program *program = driven.programs[0];
        driven.driver->ops->submit(driven.driver, 0, program, &program->steps[0], driven.vars);
        if (driven_wait(&driven, 0) != (protocol == PLAN_SIMPLE ? DRIVER_ERROR : DRIVER_OK))
            fail_msg("%s: %s", driven.done.code, driven.done.text);
        if (protocol == PLAN_SIMPLE) {
            assert_done(&driven, DRIVER_ERROR, "42601", "\":\"");
        } else {
            assert_variable(&driven, "a", "null");
        }
        driven_stop(&driven);
    }
}

/* ---- rows ---- */

static void test_gset(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        driven_init(&driven, fixture->server->conninfo, (enum plan_protocol)protocol, 1);
        driven.spec.prepare_lazily = true;
        names_add(driven.names, "p_q", 3);
        names_add(driven.names, "p_e", 3);
        driven_script(&driven,
                      "SELECT 'it''s' AS q, '' AS e, NULL AS n, 1.5 AS d, 'x' AS unused, 'y' AS \"gr\xc3\xb6\xc3\x9f"
                      "e\" \\gset p_\n\\set x :p_d * 2\nSELECT :x::float8 + 1 AS y \\gset\n"
                      "SELECT :p_n::text IS NULL AS n, :y AS y \\gset z_\nSELECT :z_y;\n");
        names_add(driven.names, "z_n", 3);
        driven_open(&driven);
        for (int i = 0; i < 3; i++) {
            assert_runs(&driven);
            assert_variable(&driven, "p_q", "it's");
            assert_variable(&driven, "p_e", "");
            assert_variable(&driven, "p_d", "1.5");
            assert_variable(&driven, "y", "4");
            assert_variable(&driven, "z_y", "4");
            assert_variable(&driven, "z_n", "t");
            assert_int_equal(driven_value(&driven, 0, "p_n")->type, VALUE_NULL);
        }
        driven_stop(&driven);
    }
}

static void test_gset_faults(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const struct {
        const char *text, *code, *words;
    } cases[] = {
        {"SELECT 1 AS a WHERE false \\gset\nSELECT :a;\n", "ROWS", "expected one row, got 0"},
        {"SELECT g AS a FROM generate_series(1, 3) g \\gset\nSELECT :a;\n", "ROWS", "expected one row, got 3"},
        {"UPDATE t SET i = 1 WHERE false \\gset\n", "ROWS", "expected one row, got 0"},
        {"SELECT 1 \\gset\n", "NAME", "gset: invalid variable name: \"?column?\""},
        {"SELECT 1 \\aset\n", "NAME", "aset: invalid variable name: \"?column?\""},
    };
    for (int protocol = 0; protocol < 3; protocol++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct driven driven;
            start(&driven, fixture, (enum plan_protocol)protocol, cases[i].text);
            for (int round = 0; round < 2; round++)
                assert_script_fault(&driven, cases[i].code, cases[i].words);
            driven_stop(&driven);
        }
}

static void test_aset(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        start(&driven, fixture, (enum plan_protocol)protocol,
              "SELECT g AS a, g * 2 AS b FROM generate_series(1, 5) g \\aset\n"
              "SELECT 1 AS c WHERE false \\aset\nUPDATE t SET i = 1 WHERE false \\aset\nSELECT :a, :b, :c::text;\n");
        driven_set_text(&driven, 0, "c", "7");
        assert_runs(&driven);
        assert_variable(&driven, "a", "5");
        assert_variable(&driven, "b", "10");
        assert_variable(&driven, "c", "7");
        driven_stop(&driven);
    }
}

/* Several commands in one message: that is the simple protocol's; the others get the server's word for it. */
static void test_compounds(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const char aset[] = "SELECT 1 AS a, 2 AS b \\; CREATE TEMP TABLE tt (i int) \\; DROP TABLE tt \\; "
                               "SELECT g AS b FROM generate_series(3, 4) g \\; SELECT 5 AS c WHERE false \\aset p_\n"
                               "SELECT :p_a, :p_b, :p_c;\n";
    static const char gset[] = "SELECT 1 AS a \\; SELECT 2 AS b FROM generate_series(1, 3) \\; SELECT 3 AS c \\gset\n"
                               "SELECT :a, :b, :c;\n";
    for (int i = 0; i < 2; i++)
        for (int protocol = 0; protocol < 3; protocol++) {
            struct driven driven;
            start(&driven, fixture, (enum plan_protocol)protocol, i ? gset : aset);
            const struct program *program = driven.programs[0];
            driven.driver->ops->submit(driven.driver, 0, program, &program->steps[0], driven.vars);
            assert_int_equal(driven_wait(&driven, 0), protocol == PLAN_SIMPLE ? DRIVER_OK : DRIVER_ERROR);
            if (protocol != PLAN_SIMPLE) {
                assert_done(&driven, DRIVER_ERROR, "42601", "cannot insert multiple commands into a prepared statement");
                assert_false(driven.done.is_script_fault);
            } else if (i == 0) {
                assert_variable(&driven, "p_a", "1");
                assert_variable(&driven, "p_b", "4");
                assert_variable(&driven, "p_c", NULL);
            } else {
                assert_variable(&driven, "a", NULL);
                assert_variable(&driven, "b", NULL);
                assert_variable(&driven, "c", "3");
            }
            driven_stop(&driven);
        }
    /* an error in the middle of one: nothing of it is set, and what was done is undone */
    struct driven driven;
    start(&driven, fixture, PLAN_SIMPLE,
          "INSERT INTO t VALUES (77) \\; SELECT 1 AS a \\; SELECT 1 / 0 AS b \\aset\nSELECT :a;\n");
    assert_int_equal(driven_run(&driven), DRIVER_ERROR);
    assert_done(&driven, DRIVER_ERROR, "22012", "division by zero");
    assert_variable(&driven, "a", NULL);
    assert_int_equal(number(fixture, "SELECT count(*) FROM t WHERE i = 77"), 0);
    driven_stop(&driven);
}

/* ---- preparing at first use ---- */

static void test_lazy_after_errors(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    struct driven driven;
    struct pl_err err = {0};
    start(&driven, fixture, PLAN_PREPARED,
          "SELECT * FROM later;\nSELECT count(*) AS n FROM pg_prepared_statements \\gset\nSELECT :n;\n");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(driven_run(&driven), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "42P01", "later");
    }
    assert_int_equal(pgquery_run(fixture->conn, "CREATE TABLE later (i int)", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
    for (int i = 0; i < 2; i++) {
        assert_runs(&driven);
        assert_variable(&driven, "n", i == 0 ? "2" : "3"); /* itself included; the last one comes after it */
    }
    driven_stop(&driven);
    assert_int_equal(pgquery_run(fixture->conn, "DROP TABLE later", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
}

/* ---- pipelines ---- */

static void test_pipeline(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    struct pl_err err = {0};
    for (int protocol = PLAN_EXTENDED; protocol <= PLAN_PREPARED; protocol++) {
        struct driven driven;
        assert_int_equal(pgquery_run(fixture->conn, "TRUNCATE t", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
        start(&driven, fixture, (enum plan_protocol)protocol,
              "\\set x 1\n\\startpipeline\nINSERT INTO t VALUES (:x);\n\\set x 2\nINSERT INTO t VALUES (:x);\n"
              "\\syncpipeline\n\\set x 3\nSELECT count(*) FROM t;\nINSERT INTO t VALUES (:x);\n\\endpipeline\n"
              "SELECT 1;\n");
        for (int i = 0; i < 3; i++)
            assert_runs(&driven);
        assert_false(driven.driver->ops->in_transaction(driven.driver, 0));
        assert_int_equal(number(fixture, "SELECT count(*) FROM t"), 9);
        assert_int_equal(number(fixture, "SELECT sum(i) FROM t"), 18);
        driven_stop(&driven);
    }
}

/* An error undoes what was queued between two Syncs, and says which step it was; the next segment is carried out. */
static void test_pipeline_errors(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    struct pl_err err = {0};
    static const struct {
        const char *text;
        size_t step;
        int64_t rows;
        bool in_transaction;
    } cases[] = {
        {"\\startpipeline\nINSERT INTO t VALUES (1);\nSELECT 1 / 0;\nINSERT INTO t VALUES (2);\n\\syncpipeline\n"
         "INSERT INTO t VALUES (4);\n\\endpipeline\n",
         2, 4, false},
        {"\\startpipeline\nINSERT INTO t VALUES (1);\n\\syncpipeline\nINSERT INTO t VALUES (2);\nSELECT 1 / 0;\n"
         "INSERT INTO t VALUES (4);\n\\endpipeline\n",
         4, 1, false},
        {"\\startpipeline\nINSERT INTO t VALUES (1);\nBEGIN;\n\\syncpipeline\nINSERT INTO t VALUES (2);\nSELECT 1 / 0;\n"
         "\\syncpipeline\nINSERT INTO t VALUES (4);\n\\endpipeline\n",
         5, 0, true},
    };
    for (int protocol = PLAN_EXTENDED; protocol <= PLAN_PREPARED; protocol++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct driven driven;
            start(&driven, fixture, (enum plan_protocol)protocol, cases[i].text);
            for (int round = 0; round < 3; round++) {
                assert_int_equal(pgquery_run(fixture->conn, "TRUNCATE t", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
                assert_int_equal(driven_run(&driven), DRIVER_ERROR);
                assert_done(&driven, DRIVER_ERROR, "22012", "division by zero");
                assert_ptr_equal(driven.done.fault_step, &driven.programs[0]->steps[cases[i].step]);
                assert_int_equal(driven.driver->ops->in_transaction(driven.driver, 0), cases[i].in_transaction);
                if (driven.driver->ops->recover(driven.driver, 0))
                    assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
                assert_false(driven.driver->ops->in_transaction(driven.driver, 0));
                assert_int_equal(number(fixture, "SELECT coalesce(sum(i), 0) FROM t"), cases[i].rows);
            }
            driven_stop(&driven);
        }
}

/* Ten thousand commands, whose requests and answers are each megabytes: nobody waits for the other. */
static void test_large_pipeline(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    enum { COMMANDS = 10000 };
    struct pl_err err = {0};
    char *script = malloc(COMMANDS * 80 + 100);
    assert_non_null(script);
    size_t length = (size_t)sprintf(script, "\\startpipeline\n");
    for (int i = 0; i < COMMANDS; i++)
        length += (size_t)sprintf(script + length, i % 100 == 0 ? "INSERT INTO t VALUES (%d);\n" : "SELECT %d, :r;\n", i);
    sprintf(script + length, "\\endpipeline\n");
    for (int protocol = PLAN_EXTENDED; protocol <= PLAN_PREPARED; protocol++) {
        struct driven driven;
        static char text[1001];
        memset(text, 'r', 1000);
        assert_int_equal(pgquery_run(fixture->conn, "TRUNCATE t", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
        start(&driven, fixture, (enum plan_protocol)protocol, script);
        driven_set_text(&driven, 0, "r", text);
        for (int i = 0; i < 2; i++)
            assert_runs(&driven);
        assert_int_equal(number(fixture, "SELECT count(*) FROM t"), 2 * COMMANDS / 100);
        driven_stop(&driven);
    }
    free(script);
}

/* ---- COPY ---- */

/* Refused, and the connection serves the next command. */
static void test_copy(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const char *const texts[] = {
        "COPY t FROM STDIN;\n",
        "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000)) TO STDOUT;\n",
        "BEGIN;\nCOPY t FROM STDIN;\n",
        "BEGIN;\nCOPY t TO STDOUT;\n",
    };
    for (int protocol = 0; protocol < 3; protocol++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct driven driven;
            driven_init(&driven, fixture->server->conninfo, (enum plan_protocol)protocol, 1);
            driven.spec.prepare_lazily = true;
            driven_script(&driven, texts[i]);
            driven_script(&driven, "SELECT 7 AS a \\gset\nSELECT :a;\n");
            driven_open(&driven);
            for (int round = 0; round < 3; round++) {
                assert_script_fault(&driven, "COPY", "COPY");
                assert_int_equal(driven.driver->ops->recover(driven.driver, 0), i >= 2);
                if (i >= 2)
                    assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
                assert_int_equal(driven_run_for(&driven, 0, 1), DRIVER_OK);
                assert_variable(&driven, "a", "7");
            }
            driven_stop(&driven);
        }
}

static void test_copy_in_compounds_and_pipelines(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const struct {
        enum plan_protocol protocol;
        const char *text;
        enum driver_outcome outcome;
    } cases[] = {
        {PLAN_SIMPLE, "SELECT 1 \\; COPY t FROM STDIN \\; SELECT 2;\n", DRIVER_ERROR},
        {PLAN_SIMPLE, "SELECT 1 \\; COPY t TO STDOUT \\; SELECT 2;\n", DRIVER_ERROR},
        {PLAN_EXTENDED, "\\startpipeline\nSELECT 1;\nCOPY t TO STDOUT;\nSELECT 1;\n\\endpipeline\n", DRIVER_ERROR},
        {PLAN_EXTENDED, "\\startpipeline\nSELECT 1;\nCOPY t FROM STDIN;\n\\syncpipeline\n\\endpipeline\n", DRIVER_ERROR},
        /* the server ends the connection itself when it meets another command in a COPY */
        {PLAN_EXTENDED, "\\startpipeline\nSELECT 1;\nCOPY t FROM STDIN;\nSELECT 1;\n\\endpipeline\n", DRIVER_LOST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct driven driven;
        start(&driven, fixture, cases[i].protocol, cases[i].text);
        for (int round = 0; round < 3 && driven.done.outcome != DRIVER_LOST; round++) {
            assert_int_equal(driven_run(&driven), cases[i].outcome);
            assert_done(&driven, cases[i].outcome, "COPY", "COPY");
            assert_true(driven.done.is_script_fault);
        }
        driven_stop(&driven);
    }
}

/* ---- one connection for each operation ---- */

static void check_connect_each(const char *conninfo)
{
    for (int protocol = 0; protocol < 3; protocol++) {
        enum { CLIENTS = 5 };
        struct driven driven;
        driven_init(&driven, conninfo, (enum plan_protocol)protocol, CLIENTS);
        driven.spec.connect_each = true;
        driven_script(&driven, "SELECT pg_backend_pid() AS pid, :x::text AS x \\gset p_\nSELECT :p_pid, :p_x::text;\n");
        driven_open(&driven);
        const struct driver_ops *ops = driven.driver->ops;
        for (int round = 0; round < 3; round++) {
            for (int c = 0; c < CLIENTS; c++)
                ops->connect(driven.driver, (uint32_t)c);
            for (int left = CLIENTS; left > 0;) {
                int count = ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_S, &driven.done, 1);
                left -= count;
                if (count > 0 && driven.done.outcome != DRIVER_OK)
                    fail_msg("%s: %s", driven.done.code, driven.done.text);
            }
            for (int c = 0; c < CLIENTS; c++) {
                driven_set_text(&driven, c, "x", "7");
                assert_int_equal(driven_run_for(&driven, c, 0), DRIVER_OK);
                assert_string_equal(driven_value(&driven, c, "p_x")->text, "7");
                for (int other = 0; other < c; other++)
                    assert_string_not_equal(driven_value(&driven, c, "p_pid")->text,
                                            driven_value(&driven, other, "p_pid")->text);
            }
            for (int c = 0; c < CLIENTS; c++)
                ops->disconnect(driven.driver, (uint32_t)c);
        }
        driven_stop(&driven);
    }
}

static void test_connect_each(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    char conninfo[300];
    check_connect_each(fixture->server->conninfo);
    snprintf(conninfo, sizeof conninfo, "%s sslmode=disable", fixture->server->conninfo); /* over TCP without TLS, too */
    check_connect_each(conninfo);
}

/* The same with a password, wrong and right, and none. */
static void test_connect_each_password(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    static const char *const passwords[] = {"s3cret", "wrong-hunter2"};
    struct pl_err err = {0};
    assert_int_equal(pgquery_run(fixture->conn, "DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 's3cret'",
                                 DRIVEN_PATIENCE_NS, NULL, &err),
                     PL_OK);
    for (int i = 0; i < 2; i++) {
        char conninfo[400];
        struct driven driven;
        snprintf(conninfo, sizeof conninfo, "%s user=guarded password=%s", fixture->server->conninfo, passwords[i]);
        driven_init(&driven, conninfo, PLAN_SIMPLE, 1);
        driven.spec.connect_each = true;
        driven_script(&driven, "SELECT 1;\n");
        err = (struct pl_err){0};
        assert_int_equal(driven_try(&driven, &err), i == 0 ? PL_OK : PL_SERVICE);
        if (i == 1) {
            assert_non_null(strstr(err.what, "28P01"));
            assert_null(strstr(err.what, passwords[1]));
        } else {
            /* the password changes while the load runs: that is what each connection says, and the next may try again */
            static const char *const changes[] = {"ALTER ROLE guarded PASSWORD 'other'",
                                                  "ALTER ROLE guarded PASSWORD 's3cret'"};
            for (int round = 0; round < 4; round++) {
                assert_int_equal(pgquery_run(fixture->conn, changes[round % 2], DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
                driven.driver->ops->connect(driven.driver, 0);
                assert_int_equal(driven_wait(&driven, 0), round % 2 == 0 ? DRIVER_LOST : DRIVER_OK);
                if (round % 2 == 0) {
                    assert_done(&driven, DRIVER_LOST, "28P01", "password authentication failed");
                    assert_null(strstr(driven.done.text, "s3cret"));
                    continue;
                }
                assert_runs(&driven);
                driven.driver->ops->disconnect(driven.driver, 0);
            }
        }
        driven_stop(&driven);
    }
}

/* A client is closed in the middle of a transaction and of a command: the server undoes it, the next operation is new. */
static void test_disconnect_busy(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    struct pl_err err = {0};
    assert_int_equal(pgquery_run(fixture->conn, "TRUNCATE t", DRIVEN_PATIENCE_NS, NULL, &err), PL_OK);
    struct driven driven;
    driven_init(&driven, fixture->server->conninfo, PLAN_PREPARED, 1);
    driven.spec.connect_each = true;
    driven_script(&driven, "BEGIN;\nINSERT INTO t VALUES (1);\n");
    driven_script(&driven, "SELECT pg_sleep(0.3);\n");
    driven_open(&driven);
    const struct driver_ops *ops = driven.driver->ops;
    for (int round = 0; round < 3; round++) {
        ops->connect(driven.driver, 0);
        assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
        assert_int_equal(driven_run(&driven), DRIVER_OK);
        assert_true(ops->in_transaction(driven.driver, 0));
        ops->submit(driven.driver, 0, driven.programs[1], &driven.programs[1]->steps[0], driven.vars);
        ops->disconnect(driven.driver, 0);
        struct driver_done done;
        assert_int_equal(ops->wait(driven.driver, 0, &done, 1), 0);
    }
    driven_stop(&driven);
    assert_int_equal(number(fixture, "SELECT count(*) FROM t"), 0);
}

/* The server goes while connections are being opened: each of them ends, one way or the other, and so does each later one.
 */
static void test_server_goes(void **state)
{
    const struct fixture *fixture = fixture_of(state);
    enum { CLIENTS = 20 };
    struct driven driven;
    driven_init(&driven, fixture->server->conninfo, PLAN_SIMPLE, CLIENTS);
    driven.spec.connect_each = true;
    driven_script(&driven, "SELECT 1;\n");
    driven_open(&driven);
    const struct driver_ops *ops = driven.driver->ops;
    int opened = 0, lost = 0, after = 0;
    for (int c = 0; c < CLIENTS; c++)
        ops->connect(driven.driver, (uint32_t)c);
    kill(fixture->server->pid, SIGQUIT);
    /* those that open in time are idle, and lost when their server process ends */
    for (int64_t until_ns = pl_clock_ns() + DRIVEN_PATIENCE_NS; lost < CLIENTS && pl_clock_ns() < until_ns;) {
        if (ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_S, &driven.done, 1) == 0)
            continue;
        assert_true(driven.done.outcome == DRIVER_OK || driven.done.outcome == DRIVER_LOST);
        *(driven.done.outcome == DRIVER_OK ? &opened : &lost) += 1;
    }
    assert_int_equal(lost, CLIENTS);
    assert_in_range(opened, 0, CLIENTS);
    for (; after < 1000; after++) { /* until the socket is gone, too */
        ops->connect(driven.driver, 0);
        assert_int_equal(driven_wait(&driven, 0), DRIVER_LOST);
        if (strcmp(driven.done.code, "ENOENT") == 0 || strcmp(driven.done.code, "ECONNREFUSED") == 0)
            break;
        pl_clock_sleep_until(pl_clock_ns() + 20 * PL_NS_PER_MS);
    }
    assert_true(after < 1000);
    driven_stop(&driven);
}

#define TEST_PLAIN(test) cmocka_unit_test_prestate(test, &fixtures[0])
#define TEST_TLS(test) cmocka_unit_test_prestate(test, &fixtures[1])

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_PLAIN(test_texts),
        TEST_PLAIN(test_long_texts),
        TEST_PLAIN(test_unset),
        TEST_PLAIN(test_gset),
        TEST_PLAIN(test_gset_faults),
        TEST_PLAIN(test_aset),
        TEST_PLAIN(test_compounds),
        TEST_PLAIN(test_lazy_after_errors),
        TEST_PLAIN(test_pipeline),
        TEST_PLAIN(test_pipeline_errors),
        TEST_PLAIN(test_large_pipeline),
        TEST_PLAIN(test_copy),
        TEST_PLAIN(test_copy_in_compounds_and_pipelines),
        TEST_PLAIN(test_connect_each),
        TEST_PLAIN(test_connect_each_password),
        TEST_PLAIN(test_disconnect_busy),
        TEST_PLAIN(test_server_goes), /* last: nothing is there any more */
        TEST_TLS(test_long_texts),
        TEST_TLS(test_gset),
        TEST_TLS(test_pipeline_errors),
        TEST_TLS(test_large_pipeline),
        TEST_TLS(test_copy),
        TEST_TLS(test_connect_each),
        TEST_TLS(test_connect_each_password),
        TEST_TLS(test_disconnect_busy),
        TEST_TLS(test_server_goes),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
