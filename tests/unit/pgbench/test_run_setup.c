/* What a run does before the load: options become the engine's spec; files; the server is looked at. */
#include "pgbench_test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pgbench/run_int.h"
#include "pgserver.h"

static int group_setup(void **state)
{
    unsetenv("PGBENCH_RANDOM_SEED");
    *state = pgserver_start();
    return 0;
}

static int group_teardown(void **state)
{
    pgserver_stop(*state);
    return 0;
}

static struct pl_arena *arena;
static const volatile int no_stop;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static struct pgbench_options options_of(const char *line)
{
    static struct printed printed;
    struct pgbench_options options;
    int exit_code;
    if (!line_parse(line, arena, &options, &printed, &exit_code))
        fail_msg("\"%s\": %s", line, printed.text);
    return options;
}

static const struct value *variable(const struct load_spec *spec, const char *name)
{
    const struct value *found = NULL;
    for (int v = 0; v < spec->variable_count; v++)
        if (strcmp(spec->variables[v].name, name) == 0) {
            assert_null(found);
            found = &spec->variables[v].value;
        }
    return found;
}

static void test_spec_closed(void **state)
{
    (void)state;
    int script[4];
    struct dataset_found found = {.scale = 9};
    struct pgbench_options options = options_of("-c 7 -j 3 -t 5000000000 --random-seed=11 -D a=b");
    struct load_spec spec = pgbench_setup_spec(&options, &found, arena, script);
    assert_int_equal(spec.driver, LOAD_PG);
    assert_int_equal(spec.clients, 7);
    assert_int_equal(spec.workers, 3);
    assert_false(spec.open_loop);
    assert_true(spec.operations_per_client == INT64_C(5000000000) && spec.measure_ns == 0 && spec.operations == 0);
    assert_int_equal(spec.warm_up_ns, 0);
    assert_int_equal(spec.at_end, LOAD_STOP_AT_END);
    assert_int_equal(spec.on_error, LOAD_END_CLIENT);
    assert_int_equal(spec.max_tries, 1);
    assert_true(spec.prepare_lazily && spec.no_steps);
    assert_false(spec.every_step || spec.tell_failures || spec.log_operations || spec.connect_each);
    assert_false(spec.stop_on_lost_client);
    assert_int_equal(spec.slice_ns, PL_NS_PER_S);
    assert_int_equal(spec.protocol, PLAN_SIMPLE);
    assert_true(spec.drain_ns > INT64_C(86400) * 365 * PL_NS_PER_S);
    assert_int_equal(variable(&spec, "scale")->i, 9);
    assert_int_equal(variable(&spec, "random_seed")->i, 11);
    assert_int_equal(variable(&spec, "default_seed")->type, VALUE_INT);
    assert_int_equal(variable(&spec, "a")->type, VALUE_TEXT);
    assert_string_equal(variable(&spec, "a")->text, "b");
    assert_int_equal(variable(&spec, "a")->length, 1);
    /* the same seed gives the same default_seed, another one another */
    struct load_spec again = pgbench_setup_spec(&options, &found, arena, script);
    assert_true(variable(&again, "default_seed")->i == variable(&spec, "default_seed")->i);
    options.seed++;
    again = pgbench_setup_spec(&options, &found, arena, script);
    assert_true(variable(&again, "default_seed")->i != variable(&spec, "default_seed")->i);
}

static void test_spec_open(void **state)
{
    (void)state;
    int script[4] = {-1, -1, -1, -1};
    struct dataset_found found = {.scale = 9};
    struct pgbench_options options = options_of(
        "-T 3000000000 -R 12.5 -L 3 --max-tries=0 -C -r -l --sampling-rate=.25 -P 5 -M prepared --verbose-errors "
        "--continue-on-error --exit-on-abort -b se@0 -b si@2 -b tp@0 -b se@3 -D scale=77 -D default_seed=1");
    struct load_spec spec = pgbench_setup_spec(&options, &found, arena, script);
    assert_true(spec.open_loop);
    assert_close(spec.rate_per_s, 12.5, 0, 0);
    assert_int_equal(spec.arrivals, PLAN_POISSON);
    assert_true(spec.measure_ns == INT64_C(3000000000) * PL_NS_PER_S && spec.operations_per_client == 0);
    int64_t end_ns;
    assert_false(__builtin_add_overflow(pl_clock_ns() + spec.measure_ns, spec.drain_ns, &end_ns));
    assert_int_equal(spec.latency_limit_ns, 3 * PL_NS_PER_MS);
    assert_int_equal(spec.max_tries, -1);
    assert_false(spec.no_steps);
    assert_true(spec.connect_each && spec.every_step && spec.log_operations && spec.tell_failures);
    assert_true(spec.stop_on_lost_client);
    assert_close(spec.sampling_frac, 0.25, 0, 0);
    assert_int_equal(spec.slice_ns, 5 * PL_NS_PER_S);
    assert_int_equal(spec.protocol, PLAN_PREPARED);
    assert_int_equal(spec.on_error, LOAD_GO_ON_AFTER_SQL);
    /* scripts of weight 0 never run: the engine does not know them */
    assert_int_equal(spec.script_count, 2);
    assert_int_equal(script[0], 1);
    assert_int_equal(script[1], 3);
    assert_int_equal(spec.scripts[0].weight, 2);
    assert_int_equal(spec.scripts[1].weight, 3);
    assert_ptr_equal(spec.scripts[1].program, options.scripts[3].program);
    /* -D wins */
    assert_string_equal(variable(&spec, "scale")->text, "77");
    assert_string_equal(variable(&spec, "default_seed")->text, "1");
}

static void test_can_write(void **state)
{
    (void)state;
    static struct printed printed;
    char folder[] = "/tmp/plimsoll-test-XXXXXX", inside[64];
    assert_non_null(mkdtemp(folder));
    snprintf(inside, sizeof inside, "%s/new", folder);
    assert_true(pgbench_setup_can_write(NULL));
    assert_true(pgbench_setup_can_write(inside));
    assert_true(pgbench_setup_can_write("/dev/null"));
    assert_true(pgbench_setup_can_write("in-the-current-folder"));
    printed_begin(&printed, stderr);
    bool as_folder = pgbench_setup_can_write(folder), nowhere = pgbench_setup_can_write("/nonexistent/file");
    printed_end(&printed, stderr);
    assert_false(as_folder || nowhere);
    assert_non_null(strstr(printed.text, "\": Is a directory\n"));
    assert_non_null(strstr(printed.text, "could not write file \"/nonexistent/file\": No such file or directory\n"));
    rmdir(folder);
}

static void test_connect(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    static struct printed printed;
    struct pgbench_options options = {.conninfo = server->conninfo};
    PGconn *conn = pgbench_connect(&options, arena, "setup", &no_stop);
    assert_non_null(conn);
    PQfinish(conn);
    options.conninfo = pl_format(arena, "%s dbname=nowhere", server->conninfo);
    printed_begin(&printed, stderr);
    conn = pgbench_connect(&options, arena, "setup", &no_stop);
    printed_end(&printed, stderr);
    assert_null(conn);
    assert_non_null(strstr(printed.text, "pgbench: error: connection to server on socket "));
    assert_non_null(strstr(printed.text, "FATAL:  database \"nowhere\" does not exist\n"
                                         "pgbench: error: could not create connection for setup\n"));
    /* u:p@ss@h: libpq would print half of the password as the name of a host */
    options.conninfo = "user=u password=p host=ss@h dbname=db";
    printed_begin(&printed, stderr);
    conn = pgbench_connect(&options, arena, "setup", &no_stop);
    printed_end(&printed, stderr);
    assert_null(conn);
    assert_null(strstr(printed.text, "ss@h"));
    assert_non_null(strstr(printed.text, "pgbench: error: could not create connection for setup\n"));
    /* whoever gives up has said why */
    static const volatile int stop = 1;
    options.conninfo = server->conninfo;
    printed_begin(&printed, stderr);
    conn = pgbench_connect(&options, arena, "setup", &stop);
    assert_string_equal(printed_end(&printed, stderr), "");
    assert_null(conn);
}

static void run_sql(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
}

/* The scale of what is there wins over -s when a builtin script runs, and -s counts for others. */
static void test_look(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    static struct printed printed;
    struct pgbench_options options = {.conninfo = server->conninfo, .uses_builtin = true};
    struct dataset_found found;
    PGconn *conn = pgbench_connect(&options, arena, "setup", &no_stop);
    printed_begin(&printed, stderr);
    bool is_good = pgbench_setup_look(conn, &options, &no_stop, &found);
    printed_end(&printed, stderr);
    assert_false(is_good);
    assert_non_null(strstr(printed.text, "relation \"pgbench_branches\" does not exist"));
    assert_non_null(strstr(printed.text,
                           "pgbench: hint: Perhaps you need to do initialization (\"pgbench -i\") in database "
                           "\"postgres\".\n"));
    options.uses_builtin = false;
    assert_true(pgbench_setup_look(conn, &options, &no_stop, &found));
    assert_int_equal(found.scale, 1);
    options.scale = 12;
    assert_true(pgbench_setup_look(conn, &options, &no_stop, &found));
    assert_int_equal(found.scale, 12);
    run_sql(conn, "CREATE TABLE pgbench_branches AS SELECT generate_series(1, 5) AS bid");
    run_sql(conn, "CREATE TABLE pgbench_accounts(aid int)");
    options.uses_builtin = true;
    printed_begin(&printed, stderr);
    is_good = pgbench_setup_look(conn, &options, &no_stop, &found);
    printed_end(&printed, stderr);
    assert_true(is_good);
    assert_int_equal(found.scale, 5);
    assert_string_equal(printed.text,
                        "pgbench: warning: scale option ignored, using count from pgbench_branches table (5)\n");
    run_sql(conn, "DROP TABLE pgbench_branches, pgbench_accounts");
    PQfinish(conn);
}

/* What is not there cannot be vacuumed: said, and no reason to stop. */
static void test_vacuum(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    static struct printed printed;
    struct pgbench_options options = {.conninfo = server->conninfo};
    PGconn *conn = pgbench_connect(&options, arena, "setup", &no_stop);
    printed_begin(&printed, stderr);
    bool is_good = pgbench_setup_vacuum(conn, &options, NULL);
    printed_end(&printed, stderr);
    assert_true(is_good);
    assert_memory_equal(printed.text, "starting vacuum...pgbench: error: ", 33);
    assert_non_null(strstr(printed.text, "pgbench: detail: (ignoring this error and continuing anyway)\nend.\n"));
    options.no_vacuum = true;
    printed_begin(&printed, stderr);
    is_good = pgbench_setup_vacuum(conn, &options, NULL);
    assert_string_equal(printed_end(&printed, stderr), "");
    assert_true(is_good);
    run_sql(conn, "CREATE TABLE pgbench_branches(a int); CREATE TABLE pgbench_tellers(a int); "
                  "CREATE TABLE pgbench_history(a int); CREATE TABLE pgbench_accounts(a int); "
                  "INSERT INTO pgbench_history VALUES (1)");
    options = (struct pgbench_options){.conninfo = server->conninfo, .vacuum_all = true};
    printed_begin(&printed, stderr);
    is_good = pgbench_setup_vacuum(conn, &options, NULL);
    assert_string_equal(printed_end(&printed, stderr), "starting vacuum...end.\nstarting vacuum pgbench_accounts...end.\n");
    assert_true(is_good);
    PQfinish(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spec_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spec_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_can_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connect, setup, teardown),
        cmocka_unit_test_setup_teardown(test_look, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vacuum, setup, teardown),
    };
    return cmocka_run_group_tests_name("run_setup", tests, group_setup, group_teardown);
}
