/* The data set against the one that the real pgbench makes, on the installed PostgreSQL and on version 18. */
#include "dataset_support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

enum { TEXT_BYTES = 64 * 1024, VERSION_18 = 180000 };

static int start(void **state)
{
    static const char *const settings[] = {"log_statement=all", "autovacuum=off", NULL};
    *state = pgserver_start_with(settings, false);
    return 0;
}

static int stop(void **state)
{
    pgserver_stop(*state);
    return 0;
}

/* ---- what is compared ---- */

/* One line for each thing, in an order that does not depend on numbers the server gives. */
static const char *const catalog[] = {
    "SELECT string_agg(format('%s %s %s %s %s %s', c.relname, c.relkind, c.relpersistence, c.reloptions,"
    " (SELECT spcname FROM pg_tablespace s WHERE s.oid = c.reltablespace), pg_get_expr(c.relpartbound, c.oid)), E'\\n'"
    " ORDER BY c.relname) FROM pg_class c WHERE relnamespace = 'public'::regnamespace",
    "SELECT string_agg(format('%s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull), "
    "E'\\n'"
    " ORDER BY attrelid::regclass::text, attnum) FROM pg_attribute WHERE attnum > 0 AND attrelid IN"
    " (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)",
    "SELECT string_agg(format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), E'\\n'"
    " ORDER BY conrelid::regclass::text, conname) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
    "SELECT string_agg(pg_get_indexdef(indexrelid), E'\\n' ORDER BY indexrelid::regclass::text) FROM pg_index"
    " WHERE indexrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)",
    "SELECT string_agg(format('%s %s', partrelid::regclass, pg_get_partkeydef(partrelid)), E'\\n') FROM "
    "pg_partitioned_table",
};

/* All rows in physical order, so that also the order is compared, with what vacuum made of the pages. */
static const char rows_of[] =
    "SELECT format('%%s %%s %%s', count(*), md5(string_agg(md5(t::text), '' ORDER BY tableoid::regclass::text, ctid)),"
    " pg_relation_size('%s')) FROM %s t";
/* Vacuum passes by a page that the checkpointer is just writing. */
static const char pages_of[] = "SELECT format('%%s %%s %%s', reltuples, relpages, relpages < 100 OR"
                               " relallvisible > 0.9 * relpages) FROM pg_class WHERE oid = '%s'::regclass";
static const char *const tables[] = {"pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"};

static void put(char *text, const char *part)
{
    size_t used = strlen(text);
    assert_true(used + strlen(part) + 2 < TEXT_BYTES);
    snprintf(text + used, TEXT_BYTES - used, "%s\n", part);
}

static char *describe(PGconn *conn)
{
    char *text = calloc(1, TEXT_BYTES), sql[512];
    assert_non_null(text);
    for (size_t i = 0; i < sizeof catalog / sizeof *catalog; i++)
        put(text, query(conn, catalog[i]));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, rows_of, tables[i], tables[i]);
        put(text, query(conn, sql));
        snprintf(sql, sizeof sql, pages_of, tables[i]);
        put(text, query(conn, sql));
    }
    return text;
}

/* ---- combinations ---- */

struct combination {
    struct dataset_spec spec;
    const char *arguments[8]; /* pgbench's, beside steps, scale, and fillfactor */
};

#define SPACES .tablespace = "Space \"1\"", .index_tablespace = "space2"
#define SPACE_ARGUMENTS "--tablespace=Space \"1\"", "--index-tablespace=space2"

static const struct combination combinations[] = {
    {{.steps = "dtgvp", .scale = 1, .fillfactor = 100}, {NULL}},
    {{.steps = "dtgvp", .scale = 3, .fillfactor = 70}, {NULL}},
    {{.steps = "dtGvp", .scale = 1, .fillfactor = 100}, {NULL}},
    {{.steps = "dtGvpf", .scale = 3, .fillfactor = 95}, {NULL}},
    {{.steps = "dtGv", .scale = 1, .fillfactor = 10}, {NULL}},
    {{.steps = "dtgvpf", .scale = 1, .fillfactor = 100, .unlogged = true}, {"--unlogged-tables"}},
    {{.steps = "dt p fgv", .scale = 2, .fillfactor = 90, SPACES}, {SPACE_ARGUMENTS}},
    {{.steps = "dtg", .scale = 1, .fillfactor = 100}, {NULL}},
    {{.steps = "dtgGgvp", .scale = 1, .fillfactor = 100}, {NULL}},
    {{.steps = "dt", .scale = 20000, .fillfactor = 100}, {NULL}},
    {{.steps = "dt", .scale = 19999, .fillfactor = 100}, {NULL}},
    {{.steps = "dtgvp", .scale = 1, .fillfactor = 100, .partitioning = DATASET_RANGE, .partitions = 1}, {"--partitions=1"}},
    {{.steps = "dtgvpf", .scale = 2, .fillfactor = 80, .partitioning = DATASET_RANGE, .partitions = 13, SPACES},
     {"--partitions=13", SPACE_ARGUMENTS}},
    {{.steps = "dtGvpf", .scale = 3, .fillfactor = 100, .partitioning = DATASET_HASH, .partitions = 4},
     {"--partitions=4", "--partition-method=hash"}},
    {{.steps = "dtpgvf", .scale = 1, .fillfactor = 100, .partitioning = DATASET_HASH, .partitions = 1, SPACES},
     {"--partitions=1", "--partition-method=hash", SPACE_ARGUMENTS}},
    {{.steps = "dtp", .scale = 214748, .fillfactor = 55, .partitioning = DATASET_RANGE, .partitions = 7},
     {"--partitions=7", "--partition-method=range"}},
    {{.steps = "dtgvpf", .scale = 1, .fillfactor = 100, .unlogged = true, .partitioning = DATASET_RANGE, .partitions = 3},
     {"--partitions=3", "--unlogged-tables"}},
};

static void run_pgbench(const struct pgserver *server, const char *database, const struct combination *combination)
{
    char program[512], port[16], scale[32], fillfactor[16];
    if (!spawn_find_program("pgbench", program, sizeof program)) {
        print_message("# skipped: pgbench is not installed, so there is nothing to compare with\n");
        skip();
    }
    snprintf(port, sizeof port, "%d", server->port);
    snprintf(scale, sizeof scale, "%lld", (long long)combination->spec.scale);
    snprintf(fillfactor, sizeof fillfactor, "%d", combination->spec.fillfactor);
    const char *argv[32] = {
        "pgbench", "-i", "-q",       "-h", server->folder,          "-p",    port, "-U", "postgres", "-s",
        scale,     "-F", fillfactor, "-I", combination->spec.steps, database};
    size_t count = 16;
    for (size_t i = 0; combination->arguments[i] != NULL; i++)
        argv[count++] = combination->arguments[i];
    int status = -1, null = open("/dev/null", O_WRONLY);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(null, STDERR_FILENO);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(null);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void make_tablespaces(struct pgserver *server)
{
    static const char *const names[] = {"\"Space \"\"1\"\"\"", "space2"};
    struct stat owner;
    char path[200], sql[400];
    PGconn *conn = connect_to(server, "postgres");
    snprintf(path, sizeof path, "%s/data", server->folder);
    assert_int_equal(stat(path, &owner), 0);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/space%zu", server->folder, i);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chown(path, owner.st_uid, owner.st_gid), 0);
        snprintf(sql, sizeof sql, "CREATE TABLESPACE %s LOCATION '%s'", names[i], path);
        query(conn, sql);
    }
    PQfinish(conn);
}

static void check_same(size_t combination, const char *expected, const char *actual)
{
    size_t same = 0;
    while (expected[same] != '\0' && expected[same] == actual[same])
        same++;
    if (expected[same] == actual[same])
        return;
    while (same > 0 && expected[same - 1] != '\n')
        same--;
    fail_msg("combination %zu\n  pgbench's: %.*s\n  ours:      %.*s", combination, (int)strcspn(expected + same, "\n"),
             expected + same, (int)strcspn(actual + same, "\n"), actual + same);
}

static void makes_what_pgbench_makes(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    make_tablespaces(server);
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        const struct combination *combination = &combinations[i];
        struct pl_err err = {0};
        PGconn *theirs = fresh_database(server, "theirs"), *ours = fresh_database(server, "ours");
        bool is_refused = combination->spec.unlogged && combination->spec.partitions > 0;
        if (PQserverVersion(ours) < VERSION_18 || !is_refused) {
            run_pgbench(server, "theirs", combination);
            assert_ok(dataset_build(ours, &combination->spec, NULL, NULL, &err));
            char *expected = describe(theirs), *actual = describe(ours);
            check_same(i, expected, actual);
            free(expected);
            free(actual);
        }
        PQfinish(ours);
        PQfinish(theirs);
    }
}

/* Version 18 refuses an unlogged parent of partitions: all that holds rows is unlogged, on every version. */
static void unlogged_partitions(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct dataset_spec spec = {
        .steps = "tg", .scale = 1, .fillfactor = 100, .unlogged = true, .partitioning = DATASET_HASH, .partitions = 3};
    PGconn *conn = fresh_database(server, "ours");
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    assert_string_equal(query(conn, "SELECT string_agg(relpersistence::text, '' ORDER BY relname) FROM pg_class"
                                    " WHERE relname ~ '^pgbench' AND relkind = 'r'"),
                        "uuuuuu");
    assert_string_equal(query(conn, "SELECT relpersistence FROM pg_class WHERE relkind = 'p'"),
                        PQserverVersion(conn) < VERSION_18 ? "u" : "p");
    PQfinish(conn);
}

/* ---- COPY and FREEZE ---- */

static int count_in_log(const struct pgserver *server, const char *text)
{
    char path[200], line[4096];
    int count = 0;
    snprintf(path, sizeof path, "%s/log", server->folder);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log) != NULL)
        count += strstr(line, text) != NULL;
    fclose(log);
    return count;
}

static void copies_frozen_rows_where_it_can(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    int branches = count_in_log(server, ": copy pgbench_branches from stdin with (freeze on)");
    int tellers = count_in_log(server, ": copy pgbench_tellers from stdin with (freeze on)");
    int accounts = count_in_log(server, ": copy pgbench_accounts from stdin with (freeze on)");
    int partitioned = count_in_log(server, ": copy pgbench_accounts from stdin\n");
    struct dataset_spec spec = {.steps = "dtg", .scale = 1, .fillfactor = 100};
    PGconn *conn = fresh_database(server, "ours");
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    assert_int_equal(count_in_log(server, ": copy pgbench_branches from stdin with (freeze on)"), branches + 1);
    assert_int_equal(count_in_log(server, ": copy pgbench_tellers from stdin with (freeze on)"), tellers + 1);
    assert_int_equal(count_in_log(server, ": copy pgbench_accounts from stdin with (freeze on)"), accounts + 1);
    spec.partitioning = DATASET_RANGE;
    spec.partitions = 2;
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    assert_int_equal(count_in_log(server, ": copy pgbench_accounts from stdin\n"), partitioned + 1);
    /* what counts is what the table is, not what this time was asked for */
    spec = (struct dataset_spec){.steps = "g", .scale = 1, .fillfactor = 100};
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    assert_int_equal(count_in_log(server, ": copy pgbench_accounts from stdin\n"), partitioned + 2);
    assert_int_equal(count_in_log(server, ": copy pgbench_accounts from stdin with (freeze on)"), accounts + 1);
    assert_string_equal(query(conn, "SELECT count(*) FROM pgbench_accounts"), "100000");
    PQfinish(conn);
}

/* ---- what is told ---- */

struct seen {
    char text[8192];
    volatile int *stop;
    int64_t last_ns;
};

static void see(struct seen *seen, const char *what)
{
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s\n", what);
}

static void see_begin(void *ctx, char step)
{
    char text[32];
    snprintf(text, sizeof text, "%c begins", step);
    see(ctx, text);
}

static void see_partitions(void *ctx, int count)
{
    char text[32];
    snprintf(text, sizeof text, "%d partitions", count);
    see(ctx, text);
}

static void see_rows(void *ctx, const char *table, int64_t done, int64_t total, int64_t elapsed_ns)
{
    struct seen *seen = ctx;
    char text[128];
    assert_true(elapsed_ns >= 0);
    snprintf(text, sizeof text, "%s %lld of %lld", table, (long long)done, (long long)total);
    see(seen, text);
    if (seen->stop != NULL && done == 100000)
        *seen->stop = 1;
}

static void see_end(void *ctx, char step, int64_t duration_ns)
{
    char text[32];
    assert_true(duration_ns >= 0);
    snprintf(text, sizeof text, "%c ended", step);
    see(ctx, text);
}

static void see_refused(void *ctx, const char *sql, const char *message)
{
    see(ctx, sql);
    see(ctx, message);
}

static struct dataset_watch watch_of(struct seen *seen)
{
    return (struct dataset_watch){.ctx = seen,
                                  .step_begins = see_begin,
                                  .partitions = see_partitions,
                                  .rows = see_rows,
                                  .step_ended = see_end,
                                  .refused = see_refused};
}

static void tells_how_far_it_is(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct seen seen = {.text = ""};
    struct dataset_watch watch = watch_of(&seen);
    struct dataset_spec spec = {
        .steps = "d t gv", .scale = 2, .fillfactor = 100, .partitioning = DATASET_RANGE, .partitions = 5};
    PGconn *conn = fresh_database(server, "ours");
    assert_ok(dataset_build(conn, &spec, &watch, NULL, &err));
    assert_string_equal(seen.text, "d begins\nd ended\nt begins\n5 partitions\nt ended\ng begins\n"
                                   "pgbench_branches 2 of 2\npgbench_tellers 20 of 20\n"
                                   "pgbench_accounts 100000 of 200000\npgbench_accounts 200000 of 200000\n"
                                   "g ended\nv begins\nv ended\n");
    PQfinish(conn);
}

static void tells_what_was_refused(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct seen seen = {.text = ""};
    struct dataset_watch watch = watch_of(&seen);
    struct dataset_spec spec = {.steps = "tt", .scale = 1, .fillfactor = 100};
    PGconn *conn = fresh_database(server, "ours");
    assert_int_equal(dataset_build(conn, &spec, &watch, NULL, &err), PL_SERVICE);
    assert_string_equal(err.what, "42P07: relation \"pgbench_history\" already exists");
    assert_string_equal(
        seen.text, "t begins\nt ended\nt begins\n"
                   "create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))\n"
                   "ERROR:  relation \"pgbench_history\" already exists\n\n");
    PQfinish(conn);
}

/* In the middle of the rows: a table that does not take them. */
static void tells_of_rows_that_were_refused(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct seen seen = {.text = ""};
    struct dataset_watch watch = watch_of(&seen);
    struct dataset_spec spec = {.steps = "t", .scale = 2, .fillfactor = 100};
    PGconn *conn = fresh_database(server, "ours");
    assert_ok(dataset_build(conn, &spec, NULL, NULL, &err));
    query(conn, "ALTER TABLE pgbench_accounts ADD CONSTRAINT small CHECK (aid < 150000)");
    spec.steps = "g";
    assert_int_equal(dataset_build(conn, &spec, &watch, NULL, &err), PL_SERVICE);
    assert_non_null(strstr(err.what, "23514"));
    assert_non_null(strstr(seen.text, "copy pgbench_accounts from stdin with (freeze on)\nERROR:  new row for relation"));
    PQfinish(conn);
}

/* ---- interruption ---- */

static volatile int interrupted;

static void on_alarm(int number)
{
    (void)number;
    interrupted = 1;
}

static void stops_between_rows(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    interrupted = 0;
    struct seen seen = {.stop = &interrupted};
    struct dataset_watch watch = watch_of(&seen);
    struct dataset_spec spec = {.steps = "dtgvp", .scale = 5, .fillfactor = 100};
    PGconn *conn = fresh_database(server, "ours");
    assert_int_equal(dataset_build(conn, &spec, &watch, &interrupted, &err), PL_INTERRUPTED);
    assert_null(strstr(seen.text, "200000 of"));
    assert_null(strstr(seen.text, "g ended"));
    PQfinish(conn);
    conn = connect_to(server, "ours");
    assert_string_equal(query(conn, "SELECT count(*) FROM pgbench_accounts"), "0");
    PQfinish(conn);
}

/* A statement that the server works at for long is cancelled. */
static void stops_while_the_server_works(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    struct pl_err err = {0};
    struct sigaction action = {.sa_handler = on_alarm};
    interrupted = 0;
    sigaction(SIGALRM, &action, NULL);
    struct dataset_spec spec = {.steps = "dtG", .scale = 5000, .fillfactor = 100};
    PGconn *conn = fresh_database(server, "ours");
    ualarm(300000, 0);
    assert_int_equal(dataset_build(conn, &spec, NULL, &interrupted, &err), PL_INTERRUPTED);
    PQfinish(conn);
    conn = connect_to(server, "postgres");
    int64_t limit_ns = pl_clock_ns() + 60 * PL_NS_PER_S; /* it has to undo, and only a broken build takes that long */
    while (strcmp(query(conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'ours'"), "0") != 0 &&
           pl_clock_ns() < limit_ns)
        pl_clock_sleep_until(pl_clock_ns() + 10 * PL_NS_PER_MS);
    assert_string_equal(query(conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'ours'"), "0");
    PQfinish(conn);
}

static void checks_steps(void **state)
{
    (void)state;
    assert_int_equal(dataset_check_steps("dtgGvpf"), '\0');
    assert_int_equal(dataset_check_steps(" d  t "), '\0');
    assert_int_equal(dataset_check_steps(""), '\0');
    assert_int_equal(dataset_check_steps("dtx"), 'x');
    assert_int_equal(dataset_check_steps("D"), 'D');
    assert_int_equal(dataset_check_steps("d\tt"), '\t');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_steps),
        cmocka_unit_test(makes_what_pgbench_makes),
        cmocka_unit_test(unlogged_partitions),
        cmocka_unit_test(copies_frozen_rows_where_it_can),
        cmocka_unit_test(tells_how_far_it_is),
        cmocka_unit_test(tells_what_was_refused),
        cmocka_unit_test(tells_of_rows_that_were_refused),
        cmocka_unit_test(stops_between_rows),
        cmocka_unit_test(stops_while_the_server_works),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
