/* The PostgreSQL driver against a real server: what the load says it did is what the server says was done. */
#include "load_test.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "pgserver.h"
#include "wire/pgconn.h"

#define PATIENCE_NS (60 * SEC)

struct fixture {
    struct pgserver *server;
    PGconn *conn;
    struct pl_arena *arena;
};

static void sql(struct fixture *fixture, const char *text)
{
    struct pl_err err = {0};
    if (pgquery_run(fixture->conn, text, PATIENCE_NS, NULL, &err) != PL_OK)
        fail_msg("%s", err.what);
}

static int64_t number(struct fixture *fixture, const char *text)
{
    struct pl_err err = {0};
    int64_t value = 0;
    if (pgquery_i64(fixture->conn, text, PATIENCE_NS, &value, &err) != PL_OK)
        fail_msg("%s", err.what);
    return value;
}

static struct program *compile(struct fixture *fixture, const char *name, const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    struct names *names = names_new(fixture->arena);
    names_predefine(names, "scale");
    names_predefine(names, "client_id");
    if (program_compile(name, text, strlen(text), PROGRAM_STRICT, names, fixture->arena, &program, &err) != PL_OK)
        fail_msg("%s", err.what);
    return program;
}

/* One server speaks TLS. */
static struct fixture fixtures[2];

static void fixture_init(struct fixture *fixture, struct pgserver *server)
{
    struct pl_err err = {0};
    signal(SIGPIPE, SIG_IGN);
    fixture->arena = pl_arena_new();
    fixture->server = server;
    if (server == NULL)
        return;
    if (pgconn_open(server->conninfo, PATIENCE_NS, &fixture->conn, &err) != PL_OK)
        fail_msg("%s", err.what);
    sql(fixture, "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84));"
                 "CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84));"
                 "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(84));"
                 "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));"
                 "INSERT INTO pgbench_branches VALUES (1, 0);"
                 "INSERT INTO pgbench_tellers SELECT i, 1, 0 FROM generate_series(1, 10) i;"
                 "INSERT INTO pgbench_accounts SELECT i, 1, 0 FROM generate_series(1, 100000) i");
}

static int group_setup(void **state)
{
    (void)state;
    fixture_init(&fixtures[0], pgserver_start());
    fixture_init(&fixtures[1], pgserver_start_tls());
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        PQfinish(fixtures[i].conn);
        pgserver_stop(fixtures[i].server);
        pl_arena_free(fixtures[i].arena);
    }
    return 0;
}

static struct fixture *fixture_of(void **state)
{
    struct fixture *fixture = *state;
    pgserver_or_skip(fixture->server);
    return fixture;
}

static const struct load_variable scale_one = {.name = "scale", .value = {.type = VALUE_INT, .i = 1}};

static struct load_spec spec_for(const struct fixture *fixture, const struct load_script *script,
                                 enum plan_protocol protocol)
{
    return (struct load_spec){.driver = LOAD_PG,
                              .conninfo = fixture->server->conninfo,
                              .protocol = protocol,
                              .scripts = script,
                              .script_count = 1,
                              .variables = &scale_one,
                              .variable_count = 1,
                              .clients = 6,
                              .workers = 2,
                              .operations = 600,
                              .drain_ns = 20 * SEC,
                              .slice_ns = 100 * MS,
                              .seed = 11};
}

static void print_faults(const struct load_run *run)
{
    for (size_t i = 0; i < run->memory.fault_count; i++)
        print_error("%d fault %s: %s\n", (int)run->memory.faults[i].count, run->memory.faults[i].code,
                    run->memory.faults[i].example);
}

static void assert_no_faults(const struct load_run *run)
{
    print_faults(run);
    assert_int_equal(run->memory.fault_count, 0);
}

/* Until the server has noticed that the load's connections are closed. */
static void wait_until_alone(struct fixture *fixture)
{
    static const char text[] = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    for (int i = 0; i < 1200 && number(fixture, text) > 1; i++)
        pl_clock_sleep_until(pl_clock_ns() + 50 * MS);
    assert_int_equal(number(fixture, text), 1);
}

/* One history row for each completed operation, and the balances agree, in all protocols. */
static void test_tpcb_leaves_its_trace(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        const struct load_script script = {compile(fixture, "tpcb-like", builtin_script("tpcb-like")), 1};
        struct load_spec spec = spec_for(fixture, &script, (enum plan_protocol)protocol);
        struct load_run run;
        sql(fixture, "TRUNCATE pgbench_history; UPDATE pgbench_accounts SET abalance = 0 WHERE abalance <> 0;"
                     "UPDATE pgbench_branches SET bbalance = 0");
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_no_faults(&run);
        assert_int_equal(run.result.total.completed, 600);
        assert_int_equal(number(fixture, "SELECT count(*) FROM pgbench_history"), 600);
        assert_int_equal(number(fixture, "SELECT sum(delta) FROM pgbench_history"),
                         number(fixture, "SELECT bbalance FROM pgbench_branches"));
        assert_int_equal(number(fixture, "SELECT sum(delta) FROM pgbench_history"),
                         number(fixture, "SELECT sum(abalance) FROM pgbench_accounts"));
        load_run_release(&run);
    }
}

/* By time, closed and open: rows equal completed operations, whatever was under way when the window ended. */
static void test_by_time(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        const struct load_script script = {compile(fixture, "tpcb-like", builtin_script("tpcb-like")), 1};
        struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
        struct load_run run;
        sql(fixture, "TRUNCATE pgbench_history");
        spec.operations = 0;
        spec.warm_up_ns = 200 * MS;
        spec.measure_ns = 600 * MS;
        spec.open_loop = open_loop;
        spec.rate_per_s = 50;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_no_faults(&run);
        assert_int_equal(run.result.total.unfinished, 0);
        assert_int_equal(number(fixture, "SELECT count(*) FROM pgbench_history"), run.result.total.completed);
        if (open_loop) {
            assert_int_equal(run.result.warm_up.due, 10);
            assert_int_equal(run.result.measured.due, 30);
        }
        load_run_release(&run);
    }
}

/* The same seed binds the same values, however many workers share the clients. */
static void test_values_follow_the_seed(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "note",
                                               "\\set r random(1, 1000000000)\n"
                                               "INSERT INTO noted (client, r) VALUES (:client_id, :r);\n"),
                                       1};
    int64_t expected = 0;
    sql(fixture, "CREATE TABLE noted (n bigserial, client int, r bigint)");
    for (int workers = 1; workers <= 3; workers++) {
        struct load_spec spec = spec_for(fixture, &script, workers == 2 ? PLAN_SIMPLE : PLAN_PREPARED);
        struct load_run run;
        spec.workers = workers;
        spec.operations = 0; /* by time: of a number of operations a client may get none */
        spec.measure_ns = 200 * MS;
        sql(fixture, "TRUNCATE noted");
        load_run_real(&spec, &run);
        assert_no_faults(&run);
        /* each client's first value: which client does more is a matter of luck */
        int64_t sum = number(fixture, "SELECT coalesce(sum(client * 1000003 + r), 0) FROM"
                                      " (SELECT DISTINCT ON (client) client, r FROM noted ORDER BY client, n) t"
                                      " WHERE client = 0");
        if (workers == 1)
            expected = sum;
        assert_int_equal(sum, expected);
        load_run_release(&run);
    }
    assert_true(expected > 0);
    assert_in_range(number(fixture, "SELECT max(client) FROM noted"), 0, 5);
}

static void test_errors(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        static const char text[] = "\\set x random(0, 2)\nBEGIN;\nSELECT 1 / (:x)::int;\nEND;\n";
        const struct load_script script = {compile(fixture, "divide", text), 1};
        struct load_spec spec = spec_for(fixture, &script, (enum plan_protocol)protocol);
        struct load_run run;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.due, 600);
        assert_in_range(run.result.total.failed, 120, 280); /* a third */
        assert_int_equal(run.memory.fault_count, 1);
        assert_string_equal(run.memory.faults[0].code, "22012");
        assert_string_equal(run.memory.faults[0].example, "division by zero");
        assert_int_equal(run.memory.faults[0].count, run.result.total.failed);
        assert_int_equal(run.result.clients_lost, 0);
        load_run_release(&run);
    }
    wait_until_alone(fixture);
}

static void test_prepare_error(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "wrong", "SELECT 1;\nSELECT * FROM no_such_table;\n"), 1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load *load;
    struct pl_err err = {0};
    assert_int_equal(load_new(&spec, &load, &err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &err), PL_SERVICE);
    assert_non_null(strstr(err.what, "script \"wrong\", line 2"));
    assert_non_null(strstr(err.what, "42P01"));
    load_free(load);
}

/* A COPY fails its operation; the connection serves the next one. */
static void test_copy(void **state)
{
    struct fixture *fixture = fixture_of(state);
    static const char *const texts[] = {"COPY pgbench_branches TO STDOUT;\n", "COPY pgbench_history FROM STDIN;\n"};
    for (int i = 0; i < 4; i++) {
        struct program *program = NULL;
        struct pl_err err = {0};
        const char *text = texts[i % 2];
        assert_int_equal(program_compile("copy", text, strlen(text), PROGRAM_AS_PGBENCH, names_new(fixture->arena),
                                         fixture->arena, &program, &err),
                         PL_OK);
        const struct load_script script = {program, 1};
        struct load_spec spec = spec_for(fixture, &script, i < 2 ? PLAN_SIMPLE : PLAN_PREPARED);
        struct load_run run;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.clients_lost, 0);
        assert_int_equal(run.result.total.failed, 600);
        assert_int_equal(load_run_fault(&run, "COPY")->count, 600);
        load_run_release(&run);
    }
}

/* Rows that are larger than every buffer, notices, and parameter changes. */
static void test_large_results(void **state)
{
    struct fixture *fixture = fixture_of(state);
    static const char text[] = "SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) i;\n"
                               "SELECT repeat('y', 3000000);\n"
                               "SET application_name = 'load';\n"
                               "DO $$ BEGIN RAISE NOTICE '%', repeat('n', 5000); END $$;\n";
    for (int protocol = 0; protocol < 3; protocol++) {
        const struct load_script script = {compile(fixture, "large", text), 1};
        struct load_spec spec = spec_for(fixture, &script, (enum plan_protocol)protocol);
        struct load_run run;
        spec.operations = 24;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_no_faults(&run);
        assert_int_equal(run.result.total.completed, 24);
        load_run_release(&run);
    }
}

/* The driver's own transactions are the server's: commits counted by pg_stat_database. */
static void test_commits_agree(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "select-only", builtin_script("select-only")), 1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load_run run;
    spec.operations = 5000;
    static const char text[] = "SELECT pg_stat_get_db_xact_commit(oid) FROM pg_database WHERE datname = current_database()";
    sql(fixture, "SELECT pg_stat_force_next_flush()");
    int64_t before = number(fixture, text);
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_no_faults(&run);
    wait_until_alone(fixture); /* backends report when they end */
    int64_t commits = number(fixture, text) - before;
    /* besides the operations: this test's own questions, and one transaction by client for Parse and its Sync */
    assert_in_range(commits, 5000, 5000 + 6 + 220);
    load_run_release(&run);
}

/* Runs until `completed` operations, then runs `then` once, then to the end. */
static void run_and_disturb(const struct load_spec *spec, struct load_run *run, int64_t completed,
                            void (*then)(struct fixture *), struct fixture *fixture)
{
    struct load *load;
    *run = (struct load_run){0};
    memory_sink_init(&run->memory);
    struct sink sink = memory_sink(&run->memory);
    assert_int_equal(load_new(spec, &load, &run->err), PL_OK);
    if (load_connect(load, NULL, &run->err) != PL_OK)
        fail_msg("%s", run->err.what);
    load_start(load, pl_clock_ns());
    bool done = false;
    while (!run->glance.ended) {
        assert_int_equal(load_poll(load, 7, &sink, &run->glance, &run->err), PL_OK);
        if (!done && run->glance.completed >= completed) {
            then(fixture);
            done = true;
        }
        pl_clock_sleep_until(pl_clock_ns() + 5 * MS);
    }
    assert_true(done);
    assert_int_equal(load_finish(load, 7, &sink, &run->result, &run->err), PL_OK);
    load_run_keep(spec, run);
    load_free(load);
}

static void kill_one(struct fixture *fixture)
{
    sql(fixture, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plimsoll'"
                 " AND pid <> pg_backend_pid() ORDER BY pid LIMIT 1");
}

static void kill_all(struct fixture *fixture)
{
    sql(fixture, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plimsoll'"
                 " AND pid <> pg_backend_pid()");
}

static void test_backend_is_killed(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        const struct load_script script = {compile(fixture, "select-only", builtin_script("select-only")), 1};
        struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
        struct load_run run;
        spec.operations = 0;
        spec.measure_ns = 1500 * MS;
        wait_until_alone(fixture);
        spec.open_loop = open_loop; /* hardly ever busy then: the client that dies is idle */
        spec.rate_per_s = 100;
        run_and_disturb(&spec, &run, 10, kill_one, fixture);
        print_faults(&run);
        load_run_check(&run);
        assert_int_equal(run.result.clients_lost, 1);
        assert_int_equal(run.memory.fault_count, 1);
        assert_string_equal(run.memory.faults[0].code, "57P01");
        assert_int_equal(run.memory.faults[0].count, 1);
        assert_in_range(run.result.total.failed, 0, 1);
        assert_true(run.result.total.completed > 20);
        if (open_loop)
            assert_int_equal(run.result.total.due, 150);
        load_run_release(&run);
    }
}

static void test_all_backends_are_killed(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        const struct load_script script = {compile(fixture, "tpcb-like", builtin_script("tpcb-like")), 1};
        struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
        struct load_run run;
        spec.operations = 0;
        spec.measure_ns = 3600 * SEC;
        spec.open_loop = open_loop;
        spec.rate_per_s = 100;
        sql(fixture, "TRUNCATE pgbench_history");
        run_and_disturb(&spec, &run, 10, kill_all, fixture);
        load_run_check(&run);
        assert_int_equal(run.result.clients_lost, 6);
        print_faults(&run);
        assert_int_equal(load_run_fault(&run, "57P01")->count, 6);
        /* one that was killed after its COMMIT and before we heard of it has a row more */
        assert_in_range(number(fixture, "SELECT count(*) FROM pgbench_history"), run.result.total.completed,
                        run.result.total.completed + run.result.total.failed);
        load_run_release(&run);
    }
}

static void lock_branches(struct fixture *fixture)
{
    sql(fixture, "BEGIN; LOCK TABLE pgbench_branches IN ACCESS EXCLUSIVE MODE");
}

/* A lock that nobody releases: the drain is bounded, the rest is unfinished. */
static void test_stuck_on_a_lock(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "tpcb-like", builtin_script("tpcb-like")), 1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load_run run;
    spec.operations = 0;
    spec.measure_ns = SEC;
    spec.drain_ns = 200 * MS;
    sql(fixture, "TRUNCATE pgbench_history");
    run_and_disturb(&spec, &run, 10, lock_branches, fixture);
    load_run_check(&run);
    assert_int_equal(run.result.total.unfinished, 6);
    assert_int_equal(run.result.total.never_started, 0);
    assert_no_faults(&run);
    sql(fixture, "ROLLBACK");
    /* what was unfinished was not committed behind our back: its connection was closed in the middle of a transaction */
    wait_until_alone(fixture);
    assert_int_equal(number(fixture, "SELECT count(*) FROM pgbench_history"), run.result.total.completed);
    load_run_release(&run);
}

static void test_many_clients(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "select-only", builtin_script("select-only")), 1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load_run run;
    spec.clients = 200;
    spec.workers = 4;
    spec.operations = 8000;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_no_faults(&run);
    assert_int_equal(run.result.total.completed, 8000);
    load_run_release(&run);
}

/* Each operation on a connection of its own, in the event loop of its worker. */
static void test_connect_each(void **state)
{
    struct fixture *fixture = fixture_of(state);
    for (int protocol = 0; protocol < 3; protocol++) {
        const struct load_script script = {compile(fixture, "tpcb-like", builtin_script("tpcb-like")), 1};
        struct load_spec spec = spec_for(fixture, &script, (enum plan_protocol)protocol);
        struct load_run run;
        spec.connect_each = true;
        spec.operations = 120;
        sql(fixture, "TRUNCATE pgbench_history");
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_no_faults(&run);
        assert_int_equal(run.result.total.completed, 120);
        assert_int_equal(number(fixture, "SELECT count(*) FROM pgbench_history"), 120);
        load_run_release(&run);
    }
    wait_until_alone(fixture);
}

/* Connections prepare when they first run a command, and only then. */
static void test_prepares_lazily(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {
        compile(fixture, "lazy",
                "SELECT 1;\nSELECT 1 / (SELECT (count(*) BETWEEN 2 AND 3)::int FROM pg_prepared_statements);\n"
                "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n"),
        1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load_run run;
    spec.prepare_lazily = true;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_no_faults(&run);
    assert_int_equal(run.result.total.completed, 600);
    load_run_release(&run);
}

/* Rows into variables, a pipeline that uses them, and a compound where the protocol has them: through the whole engine. */
static void test_rows_and_pipelines(void **state)
{
    struct fixture *fixture = fixture_of(state);
    static const char with_pipeline[] =
        "\\set x random(1, 100000)\n"
        "SELECT aid, repeat('a', :x::int % 1000) AS t FROM pgbench_accounts WHERE aid = :x \\gset g_\n"
        "\\startpipeline\n"
        "INSERT INTO gathered VALUES (:g_aid, length(:g_t::text));\n"
        "\\syncpipeline\n"
        "INSERT INTO gathered VALUES (-(:g_aid::int), -(:x::int % 1000));\n"
        "\\endpipeline\n";
    static const char with_compound[] =
        "\\set x random(1, 100000)\n"
        "SELECT aid FROM pgbench_accounts WHERE aid = :x \\; SELECT :x % 1000 AS t \\aset g_\n"
        "INSERT INTO gathered VALUES (:g_aid, :g_t) \\; "
        "INSERT INTO gathered VALUES (-:g_aid, -(:x % 1000));\n";
    sql(fixture, "CREATE TABLE IF NOT EXISTS gathered (aid int, t int)");
    for (int protocol = 0; protocol < 3; protocol++) {
        const char *text = protocol == PLAN_SIMPLE ? with_compound : with_pipeline;
        const struct load_script script = {compile(fixture, "gather", text), 1};
        struct load_spec spec = spec_for(fixture, &script, (enum plan_protocol)protocol);
        struct load_run run;
        spec.prepare_lazily = true;
        sql(fixture, "TRUNCATE gathered");
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_no_faults(&run);
        assert_int_equal(run.result.total.completed, 600);
        assert_int_equal(number(fixture, "SELECT count(*) FROM gathered WHERE aid > 0"), 600);
        assert_int_equal(number(fixture, "SELECT sum(aid) FROM gathered"), 0);
        assert_int_equal(number(fixture, "SELECT sum(t) FROM gathered"), 0);
        assert_true(number(fixture, "SELECT count(DISTINCT aid) FROM gathered") > 600);
        load_run_release(&run);
    }
}

/* In another process's eyes a killed postmaster: all clients are lost, the load ends. Last, as the server is gone then. */
static void kill_server(struct fixture *fixture)
{
    kill(fixture->server->pid, SIGQUIT);
}

static void test_server_goes(void **state)
{
    struct fixture *fixture = fixture_of(state);
    const struct load_script script = {compile(fixture, "select-only", builtin_script("select-only")), 1};
    struct load_spec spec = spec_for(fixture, &script, PLAN_PREPARED);
    struct load_run run;
    spec.operations = 0;
    spec.measure_ns = 3600 * SEC;
    run_and_disturb(&spec, &run, 10, kill_server, fixture);
    load_run_check(&run);
    assert_int_equal(run.result.clients_lost, 6);
    int64_t faults = 0;
    for (size_t i = 0; i < run.memory.fault_count; i++)
        faults += run.memory.faults[i].count;
    assert_int_equal(faults, 6);
    load_run_release(&run);
}

#define TEST_PLAIN(test) cmocka_unit_test_prestate(test, &fixtures[0])
#define TEST_TLS(test) cmocka_unit_test_prestate(test, &fixtures[1])

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_PLAIN(test_tpcb_leaves_its_trace),
        TEST_PLAIN(test_by_time),
        TEST_PLAIN(test_values_follow_the_seed),
        TEST_PLAIN(test_errors),
        TEST_PLAIN(test_prepare_error),
        TEST_PLAIN(test_copy),
        TEST_PLAIN(test_large_results),
        TEST_PLAIN(test_commits_agree),
        TEST_PLAIN(test_backend_is_killed),
        TEST_PLAIN(test_all_backends_are_killed),
        TEST_PLAIN(test_stuck_on_a_lock),
        TEST_PLAIN(test_many_clients),
        TEST_PLAIN(test_connect_each),
        TEST_PLAIN(test_prepares_lazily),
        TEST_PLAIN(test_rows_and_pipelines),
        TEST_PLAIN(test_server_goes),
        TEST_TLS(test_tpcb_leaves_its_trace),
        TEST_TLS(test_errors),
        TEST_TLS(test_large_results),
        TEST_TLS(test_backend_is_killed),
        TEST_TLS(test_connect_each),
        TEST_TLS(test_server_goes),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
