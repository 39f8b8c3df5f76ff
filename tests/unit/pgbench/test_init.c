/* `pgbench -i`: what it prints and how it exits, on the installed PostgreSQL and on version 18. */
#include "pgserver.h"
#include "support.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "pgbench/init_int.h"
#include "pgbench/run_int.h"

enum { TEXT_BYTES = 64 * 1024 };

/* ---- lines ---- */

struct lines_test {
    struct pgbench_init_lines lines;
    char *text;
    size_t size;
    FILE *out;
};

static void begin(struct lines_test *test, bool is_terminal, bool quiet)
{
    test->out = open_memstream(&test->text, &test->size);
    assert_non_null(test->out);
    pgbench_init_lines_begin(&test->lines, test->out, is_terminal, quiet);
}

static void rows(struct lines_test *test, int64_t done, int64_t total, double elapsed_s)
{
    pgbench_init_lines_rows(&test->lines, "pgbench_accounts", done, total, (int64_t)(elapsed_s * 1e9));
}

static void check_text(struct lines_test *test, const char *expected)
{
    fclose(test->out);
    assert_string_equal(test->text, expected);
    free(test->text);
}

static void a_line_each_100000_rows(void **state)
{
    (void)state;
    struct lines_test test;
    begin(&test, false, false);
    rows(&test, 1, 1, 0); /* branches and tellers have no line */
    rows(&test, 30, 30, 0);
    rows(&test, 100000, 700000, 1);
    rows(&test, 200000, 700000, 1.001);
    rows(&test, 700000, 700000, 3.5);
    check_text(&test, "100000 of 700000 tuples (14%) of pgbench_accounts done (elapsed 1.00 s, remaining 6.00 s)\n"
                      "200000 of 700000 tuples (28%) of pgbench_accounts done (elapsed 1.00 s, remaining 2.50 s)\n"
                      "700000 of 700000 tuples (100%) of pgbench_accounts done (elapsed 3.50 s, remaining 0.00 s)\n");
}

static void large_numbers_stay_exact(void **state)
{
    (void)state;
    struct lines_test test;
    begin(&test, false, false);
    rows(&test, INT64_C(106300000000000), INT64_C(214748364700000), 1e6);
    check_text(&test, "106300000000000 of 214748364700000 tuples (49%) of pgbench_accounts done"
                      " (elapsed 1000000.00 s, remaining 1020210.39 s)\n");
}

static void quiet_is_a_line_each_5_s(void **state)
{
    (void)state;
    struct lines_test test;
    begin(&test, false, true);
    rows(&test, 100000, 1000000, 1);
    rows(&test, 200000, 1000000, 4.99);
    rows(&test, 300000, 1000000, 5.5);
    rows(&test, 400000, 1000000, 9.9);
    rows(&test, 500000, 1000000, 17);
    rows(&test, 600000, 1000000, 19);
    rows(&test, 700000, 1000000, 20);
    rows(&test, 1000000, 1000000, 21);
    check_text(&test, "300000 of 1000000 tuples (30%) of pgbench_accounts done (elapsed 5.50 s, remaining 12.83 s)\n"
                      "500000 of 1000000 tuples (50%) of pgbench_accounts done (elapsed 17.00 s, remaining 17.00 s)\n"
                      "700000 of 1000000 tuples (70%) of pgbench_accounts done (elapsed 20.00 s, remaining 8.57 s)\n"
                      "1000000 of 1000000 tuples (100%) of pgbench_accounts done (elapsed 21.00 s, remaining 0.00 s)\n");
}

/* One line, written over at most ten times a second, padded where the one before was longer, cleared at the end. */
static void a_terminal_has_one_line(void **state)
{
    (void)state;
    struct lines_test test;
    char expected[1024];
    begin(&test, true, false);
    rows(&test, 100000, 1000000, 0.5);
    rows(&test, 200000, 1000000, 0.59);
    rows(&test, 300000, 1000000, 0.7);
    rows(&test, 900000, 1000000, 0.79);
    rows(&test, 1000000, 1000000, 0.795);
    static const char first[] =
        "100000 of 1000000 tuples (10%) of pgbench_accounts done (elapsed 0.50 s, remaining 4.50 s)";
    static const char last[] =
        "1000000 of 1000000 tuples (100%) of pgbench_accounts done (elapsed 0.80 s, remaining 0.00 s)";
    snprintf(expected, sizeof expected,
             "%s\r300000 of 1000000 tuples (30%%) of pgbench_accounts done (elapsed 0.70 s, remaining 1.63 s)\r%s\r%*s\r",
             first, last, (int)strlen(last), "");
    check_text(&test, expected);
}

static void a_half_written_line_is_ended(void **state)
{
    (void)state;
    struct lines_test test;
    begin(&test, true, false);
    pgbench_init_lines_break(&test.lines);
    rows(&test, 100000, 200000, 100);
    pgbench_init_lines_break(&test.lines);
    pgbench_init_lines_break(&test.lines);
    rows(&test, 200000, 200000, 2);
    fclose(test.out);
    static const char start[] =
        "100000 of 200000 tuples (50%) of pgbench_accounts done (elapsed 100.00 s, remaining 100.00 s)\r\n"
        "200000 of 200000";
    assert_memory_equal(test.text, start, strlen(start));
    free(test.text);
}

/* ---- the whole ---- */

static int start(void **state)
{
    *state = pgserver_start();
    return 0;
}

static int stop(void **state)
{
    pgserver_stop(*state);
    return 0;
}

static void ignore_notice(void *ctx, const PGresult *result)
{
    (void)ctx, (void)result;
}

static void sql(const struct pgserver *server, const char *text, char *ret_value, size_t size)
{
    PGconn *conn = PQconnectdb(server->conninfo);
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
    PGresult *result = PQexec(conn, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(conn));
    if (ret_value != NULL)
        snprintf(ret_value, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    PQfinish(conn);
}

/* Starts it in a process of its own; what it says on standard error comes out of *ret_fd. */
static pid_t init_start(const struct pgbench_options *options, int *ret_fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        _exit(pgbench_init_run(options));
    }
    close(ends[1]);
    *ret_fd = ends[0];
    return pid;
}

/* Reads until the end, or until the text is there. */
static void read_until(int fd, char *text, const char *wanted)
{
    size_t used = strlen(text);
    ssize_t count;
    while ((wanted == NULL || strstr(text, wanted) == NULL) && (count = read(fd, text + used, TEXT_BYTES - 1 - used)) > 0) {
        used += (size_t)count;
        text[used] = '\0';
    }
}

/* Numbers with a decimal point become "#": times differ. */
static void without_times(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t whole = strspn(from, "0123456789"), part = from[whole] == '.' ? strspn(from + whole + 1, "0123456789") : 0;
        if (whole > 0 && part > 0) {
            *to++ = '#';
            from += whole + 1 + part;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static int init_run(const struct pgbench_options *options, char *text)
{
    int fd, status = -1;
    pid_t pid = init_start(options, &fd);
    text[0] = '\0';
    read_until(fd, text, NULL);
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    without_times(text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct pgbench_options options_for(const struct pgserver *server, const char *steps, int64_t scale)
{
    return (struct pgbench_options){.initialize = true,
                                    .conninfo = server->conninfo,
                                    .database = "postgres",
                                    .data = {.steps = steps, .scale = scale, .fillfactor = 100}};
}

static void says_what_pgbench_says(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    char text[TEXT_BYTES], value[32];
    struct pgbench_options options = options_for(server, "dtgvpf", 2);
    sql(server, "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers", NULL, 0);
    assert_int_equal(init_run(&options, text), 0);
    assert_string_equal(text, "dropping old tables...\n"
                              "NOTICE:  table \"pgbench_accounts\" does not exist, skipping\n"
                              "NOTICE:  table \"pgbench_branches\" does not exist, skipping\n"
                              "NOTICE:  table \"pgbench_history\" does not exist, skipping\n"
                              "NOTICE:  table \"pgbench_tellers\" does not exist, skipping\n"
                              "creating tables...\n"
                              "generating data (client-side)...\n"
                              "100000 of 200000 tuples (50%) of pgbench_accounts done (elapsed # s, remaining # s)\n"
                              "200000 of 200000 tuples (100%) of pgbench_accounts done (elapsed # s, remaining # s)\n"
                              "vacuuming...\n"
                              "creating primary keys...\n"
                              "creating foreign keys...\n"
                              "done in # s (drop tables # s, create tables # s, client-side generate # s, vacuum # s,"
                              " primary keys # s, foreign keys # s).\n");
    sql(server, "SELECT count(*) FROM pgbench_accounts", value, sizeof value);
    assert_string_equal(value, "200000");
    options = options_for(server, "d t G", 1);
    options.data.partitioning = DATASET_HASH;
    options.data.partitions = 3;
    assert_int_equal(init_run(&options, text), 0);
    assert_string_equal(text, "dropping old tables...\n"
                              "creating tables...\n"
                              "creating 3 partitions...\n"
                              "generating data (server-side)...\n"
                              "done in # s (drop tables # s, create tables # s, server-side generate # s).\n");
    options = options_for(server, "", 1);
    assert_int_equal(init_run(&options, text), 0);
    assert_string_equal(text, "done in # s ().\n");
}

static void says_what_was_refused(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    char text[TEXT_BYTES];
    struct pgbench_options options = options_for(server, "dtt", 1);
    sql(server, "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers", NULL, 0);
    sql(server,
        "CREATE TABLE pgbench_accounts(); CREATE TABLE pgbench_branches(); CREATE TABLE pgbench_history();"
        "CREATE TABLE pgbench_tellers()",
        NULL, 0);
    assert_int_equal(init_run(&options, text), 1);
    assert_string_equal(text,
                        "dropping old tables...\n"
                        "creating tables...\n"
                        "creating tables...\n"
                        "pgbench: error: query failed: ERROR:  relation \"pgbench_history\" already exists\n"
                        "pgbench: detail: Query was: create table pgbench_history(tid int, bid int, aid int, delta int,"
                        " mtime timestamp, filler char(22))\n");
    /* a hint stands on a line of its own, as the server gives it */
    sql(server, "DROP TABLE pgbench_accounts; CREATE VIEW pgbench_accounts AS SELECT 1", NULL, 0);
    options.data.steps = "d";
    assert_int_equal(init_run(&options, text), 1);
    assert_string_equal(text, "dropping old tables...\n"
                              "pgbench: error: query failed: ERROR:  \"pgbench_accounts\" is not a table\n"
                              "HINT:  Use DROP VIEW to remove a view.\n"
                              "pgbench: detail: Query was: drop table if exists pgbench_accounts, pgbench_branches,"
                              " pgbench_history, pgbench_tellers\n");
    sql(server, "DROP VIEW pgbench_accounts", NULL, 0);
}

static void says_that_it_cannot_connect(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    char text[TEXT_BYTES], conninfo[400], expected[600];
    struct pgbench_options options = options_for(server, "dt", 1);
    snprintf(conninfo, sizeof conninfo, "%s dbname=nowhere", server->conninfo);
    options.conninfo = conninfo;
    assert_int_equal(init_run(&options, text), 1);
    snprintf(expected, sizeof expected,
             "pgbench: error: connection to server on socket \"%s/.s.PGSQL.%d\" failed:"
             " FATAL:  database \"nowhere\" does not exist\n"
             "pgbench: error: could not create connection for initialization\n",
             server->folder, server->port);
    assert_string_equal(text, expected);
}

/* Between the rows, and while the server works alone. */
static void ends_when_it_is_interrupted(void **state)
{
    struct pgserver *server = pgserver_or_skip(*state);
    static const struct {
        const char *steps, *wait_for;
    } cases[] = {{"dtg", "100000 of 500000000 tuples"}, {"dtG", "generating data (server-side)..."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TEXT_BYTES] = "", value[32];
        int fd, status = -1;
        struct pgbench_options options = options_for(server, cases[i].steps, 5000);
        pid_t pid = init_start(&options, &fd);
        read_until(fd, text, cases[i].wait_for);
        assert_non_null(strstr(text, cases[i].wait_for));
        assert_int_equal(kill(pid, SIGINT), 0);
        read_until(fd, text, NULL);
        close(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 130);
        assert_non_null(strstr(text, "pgbench: error: interrupted while"));
        assert_null(strstr(text, "done in"));
        sql(server, "SELECT count(*) FROM pgbench_accounts", value, sizeof value);
        assert_string_equal(value, "0");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_each_100000_rows),      cmocka_unit_test(large_numbers_stay_exact),
        cmocka_unit_test(quiet_is_a_line_each_5_s),     cmocka_unit_test(a_terminal_has_one_line),
        cmocka_unit_test(a_half_written_line_is_ended), cmocka_unit_test(says_what_pgbench_says),
        cmocka_unit_test(says_what_was_refused),        cmocka_unit_test(says_that_it_cannot_connect),
        cmocka_unit_test(ends_when_it_is_interrupted),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
