/* Whole runs, in this process, against a throwaway PostgreSQL: exit codes, and where what is recorded goes. */
#include "pgbench_test.h"

#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "pgbench/pgbench.h"
#include "pgserver.h"

struct fixture {
    struct pgserver *server;
    struct printed out, err;
    char folder[64], script[96], bad[96];
};
static struct fixture fixture;

static void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    unsetenv("PGBENCH_RANDOM_SEED");
    fixture.server = pgserver_start();
    snprintf(fixture.folder, sizeof fixture.folder, "/tmp/plimsoll-run-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    snprintf(fixture.script, sizeof fixture.script, "%s/good.sql", fixture.folder);
    snprintf(fixture.bad, sizeof fixture.bad, "%s/bad.sql", fixture.folder);
    file_put(fixture.script, "SELECT 1;\n");
    file_put(fixture.bad, "SELECT 1 / 0;\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char pattern[80];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*", fixture.folder);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
    rmdir(fixture.folder);
    pgserver_stop(fixture.server);
    return 0;
}

/* "%s" in the line stands for the good script, "%b" for the bad one, "%d" for the folder. The server is added. */
static int run(const char *line)
{
    struct pl_arena *arena = pl_arena_new();
    char *full = pl_alloc(arena, 4096, 1), *at = full;
    for (; *line != '\0'; line++) {
        const char *word = NULL;
        if (*line == '%')
            word = line[1] == 's' ? fixture.script : line[1] == 'b' ? fixture.bad : fixture.folder;
        if (word != NULL) {
            at = mempcpy(at, word, strlen(word));
            line++;
        } else {
            *at++ = *line;
        }
    }
    char *buf = pl_alloc(arena, 4096, 1), **words = pl_alloc(arena, WORDS_MAX + 2, sizeof *words);
    char minus_d[] = "-d";
    int count = words_split(full, buf, 4096, words);
    if (fixture.server != NULL) {
        words[count++] = minus_d;
        words[count++] = fixture.server->conninfo;
    }
    printed_begin(&fixture.out, stdout);
    printed_begin(&fixture.err, stderr);
    int exit_code = pgbench_main(count, words);
    printed_end(&fixture.err, stderr);
    printed_end(&fixture.out, stdout);
    pl_arena_free(arena);
    return exit_code;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("there is no \"%s\" in\n%s", part, text);
}

static void test_exit_codes(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    assert_int_equal(run("-c 0"), 1);
    assert_int_equal(run("-n -f %s --json=/nonexistent/x"), 1);
    assert_int_equal(run("-n -f %s -c 2 -t 5"), 0);
    assert_has(fixture.out.text, "number of transactions actually processed: 10/10\n");
    assert_string_equal(fixture.err.text, "");
    assert_int_equal(run("-n -f %b -c 2 -t 5"), 2);
    assert_has(fixture.err.text,
               "pgbench: error: client 1 script 0 aborted in command 0 query 0: ERROR:  division by zero\n");
    assert_has(fixture.err.text, "pgbench: error: Run was aborted; the above results are incomplete.\n");
    assert_has(fixture.err.text, "pgbench: error: no transaction was completed: all clients ended early\n");
    assert_int_equal(run("-n -f %b -c 2 -t 5 --continue-on-error"), 2);
    assert_has(fixture.out.text, "transactions due: 10 = 0 completed + 10 failed + 0 skipped + 0 unfinished");
    assert_int_equal(run("-n -f %b -f %s -c 2 -t 100 --continue-on-error"), 0);
    assert_int_equal(run("-n -f %b -c 3 -j 3 -t 5 --exit-on-abort"), 2);
    assert_null(strstr(fixture.out.text, "transaction type"));
    assert_has(fixture.err.text, "pgbench: error: Run was aborted due to an error in thread ");
}

/* How many there are; each is of the script (-1: of any). */
static int log_lines(const char *prefix, int script)
{
    char pattern[128], line[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s.*", fixture.folder, prefix);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    int count = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");
        for (; fgets(line, sizeof line, file) != NULL; count++) {
            char *end = line;
            long columns[4];
            for (int c = 0; c < 4; c++)
                columns[c] = strtol(end, &end, 10);
            if (script >= 0)
                assert_int_equal(columns[3], script);
        }
        fclose(file);
        unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return count;
}

/* Scripts of weight 0 never reach the engine; what it records is of the scripts of the command line all the same. */
static void test_scripts_keep_their_places(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    assert_int_equal(run("-n -f %b@0 -f %s@2 -f %b@0 -c 4 -j 2 -t 300 -l --log-prefix=%d/places -r"), 0);
    assert_has(fixture.out.text, " - weight: 0 (targets 0.0% of total)\n - 0 transactions (0.0% of total)\n");
    assert_has(fixture.out.text, " - weight: 2 (targets 100.0% of total)\n - 1200 transactions (100.0% of total)\n");
    assert_int_equal(log_lines("places", 1), 1200);
    assert_int_equal(run("-n -f %s@0 -f %b -c 1 -t 1"), 2);
    assert_has(fixture.err.text, "client 0 script 1 aborted in command 0 query 0: ERROR:  division by zero\n");
}

static void test_commands_add_up(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    char script[128], line[160];
    snprintf(script, sizeof script, "%s/commands.sql", fixture.folder);
    file_put(script, "\\set x 1\n\\if :x = 1\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\nSELECT 3;\n");
    snprintf(line, sizeof line, "-n -f %s -c 2 -t 20 -r", script);
    assert_int_equal(run(line), 0);
    assert_has(fixture.out.text, "statement latencies in milliseconds and failures:\n");
    static const char *const commands[] = {"\\set x 1", "\\if :x = 1", "SELECT 1;", "\\else",
                                           "SELECT 2;", "\\endif",     "SELECT 3;"};
    const char *at = strstr(fixture.out.text, "statement latencies");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "           0  %s\n", commands[i]);
        assert_non_null(at = strstr(at, wanted));
    }
    assert_has(fixture.out.text, "         0.000           0  SELECT 2;\n"); /* never carried out */
}

/* --exit-on-abort: no report, and yet all that ended until then stands in the logs. */
static void test_abort_leaves_whole_logs(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    char script[128], line[256];
    snprintf(script, sizeof script, "%s/abort.sql", fixture.folder);
    file_put(script, "SELECT 1 / 0;\n");
    snprintf(line, sizeof line, "-n -f %s -f %%s@1000 -T 600 -l --log-prefix=%%d/abort --exit-on-abort --random-seed=1",
             script);
    assert_int_equal(run(line), 2);
    assert_null(strstr(fixture.out.text, "transaction"));
    assert_true(log_lines("abort", -1) > 0);
}

/* A log that can no longer be written stops the run: it is said, and what was measured is reported. */
static void test_full_disk(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    struct rlimit before, small = {.rlim_cur = 64 * 1024, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    int exit_code = run("-n -f %s -c 4 -T 600 -l --log-prefix=%d/full");
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(exit_code, 1);
    assert_has(fixture.err.text, "File too large");
    assert_has(fixture.out.text, "number of transactions actually processed: ");
    assert_has(fixture.out.text, "transactions due: ");
}

/* Neighbouring clients share a thread; the first one has one more. */
static void test_abort_names_the_thread(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    char script[128], line[256];
    snprintf(script, sizeof script, "%s/third.sql", fixture.folder);
    file_put(script, "\\if :client_id = 2\nSELECT 1 / 0;\n\\else\nSELECT 1;\n\\endif\n");
    snprintf(line, sizeof line, "-n -f %s -c 5 -j 2 -T 600 --exit-on-abort", script);
    assert_int_equal(run(line), 2);
    assert_has(fixture.err.text, "client 2 script 0 aborted in command 1");
    assert_has(fixture.err.text, "pgbench: error: Run was aborted due to an error in thread 0\n");
}

static void test_debug_prints(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    char script[128], line[256];
    snprintf(script, sizeof script, "%s/debug.sql", fixture.folder);
    file_put(script, "\\set x debug(2)\nSELECT :x;\n\\set y debug(0.5 + :x)\n");
    snprintf(line, sizeof line, "-n -f %s -t 1", script);
    assert_int_equal(run(line), 0);
    assert_string_equal(fixture.err.text, "debug(script=0,command=1): int 2\ndebug(script=0,command=3): double 2.5\n");
}

/* Only when each command is recorded there is a limit, and it is said what to leave out. */
static void test_long_scripts(void **state)
{
    (void)state;
    pgserver_or_skip(fixture.server);
    enum { COMMANDS = 3000, LINE_BYTES = 10 };
    char script[128], line[512], *text = pl_new(COMMANDS * LINE_BYTES + 1, 1), *at = text;
    for (int i = 0; i < COMMANDS; i++)
        at = mempcpy(at, "SELECT 1;\n", LINE_BYTES);
    snprintf(script, sizeof script, "%s/long.sql", fixture.folder);
    file_put(script, text);
    pl_free(text);
    snprintf(line, sizeof line, "-n -f %s -t 1", script);
    assert_int_equal(run(line), 0);
    assert_has(fixture.out.text, "number of transactions actually processed: 1/1\n");
    int length = snprintf(line, sizeof line, "-n -r -c 64 -j 64 -t 1");
    for (int i = 0; i < 4; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " -f %s", script);
    assert_int_equal(run(line), 1);
    assert_has(fixture.err.text, "are too many for 64 workers");
    assert_has(fixture.err.text, "\nWithout --report-per-command there is no limit.\n");
}

static void test_no_server(void **state)
{
    (void)state;
    struct pgserver *server = fixture.server;
    fixture.server = NULL;
    int exit_code = run("-n -S -h /nonexistent/folder");
    fixture.server = server;
    assert_int_equal(exit_code, 1);
    assert_has(fixture.err.text, "pgbench: error: could not create connection for setup\n");
    assert_string_equal(fixture.out.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_scripts_keep_their_places),
        cmocka_unit_test(test_commands_add_up),
        cmocka_unit_test(test_abort_leaves_whole_logs),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_abort_names_the_thread),
        cmocka_unit_test(test_debug_prints),
        cmocka_unit_test(test_long_scripts),
    };
    return cmocka_run_group_tests_name("run", tests, setup, teardown);
}
