/* The command line: what each option does, how they may be written, and what pgbench says of wrong ones. */
#include "pgbench_test.h"

#include <stdlib.h>

#include "base/clock.h"

struct fixture {
    struct pl_arena *arena;
    struct pgbench_options options;
    struct printed printed;
    int exit_code;
    char script[64], empty[64], missing[64];
};

static void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->arena = pl_arena_new();
    snprintf(fixture->script, sizeof fixture->script, "/tmp/plimsoll-test-options-%d.sql", (int)getpid());
    file_put(fixture->script, "\\set x 1\nSELECT :x;\n");
    unsetenv("PGBENCH_RANDOM_SEED");
    unsetenv("POSIXLY_CORRECT");
    unsetenv("PGDATABASE");
    unsetenv("PGAPPNAME");
    setenv("PGUSER", "somebody", 1);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->script);
    pl_arena_free(fixture->arena);
    pl_free(fixture);
    return 0;
}

/* "%f" in a line stands for a script file that exists. */
static bool parse(struct fixture *fixture, const char *line)
{
    char *full = pl_alloc(fixture->arena, strlen(line) + 16 * sizeof fixture->script, 1), *at = full;
    for (; *line != '\0'; line++) {
        if (line[0] == '%' && line[1] == 'f') {
            at = mempcpy(at, fixture->script, strlen(fixture->script));
            line++;
        } else {
            *at++ = *line;
        }
    }
    fixture->options = (struct pgbench_options){0};
    return line_parse(full, fixture->arena, &fixture->options, &fixture->printed, &fixture->exit_code);
}

static const struct pgbench_options *good(struct fixture *fixture, const char *line)
{
    if (!parse(fixture, line))
        fail_msg("\"%s\" was refused: %s", line, fixture->printed.text);
    return &fixture->options;
}

/* ---- what is refused, and in which words ---- */

#define ERR "pgbench: error: "
#define TRY_HELP "pgbench: hint: Try \"pgbench --help\" for more information.\n"
#define NOT_INIT ERR "some of the specified options cannot be used in initialization (-i) mode\n"
#define NOT_BENCH ERR "some of the specified options cannot be used in benchmarking mode\n"
#define BUILTINS                                                                                                           \
    "Available builtin scripts:\n"                                                                                         \
    "      tpcb-like: <builtin: TPC-B (sort of)>\n"                                                                        \
    "  simple-update: <builtin: simple update>\n"                                                                          \
    "    select-only: <builtin: select only>\n\n"
#define SEED_TAIL                                                                                                          \
    "pgbench: detail: Expecting an unsigned integer, \"time\" or \"rand\".\n" ERR                                          \
    "error while setting random seed from --random-seed option\n"

static const struct {
    const char *line, *said;
} refused[] = {
    /* whole numbers: no number, out of range, too large for any */
    {"-c 0", ERR "-c/--client must be in range 1..100000\n"},
    {"-c -1", ERR "-c/--client must be in range 1..100000\n"},
    {"-c 99999999999999999999", ERR "-c/--client must be in range 1..100000\n"},
    {"-c 5x", ERR "invalid value \"5x\" for option -c/--client\n"},
    {"-c ''", ERR "invalid value \"\" for option -c/--client\n"},
    {"-c 1_000", ERR "invalid value \"1_000\" for option -c/--client\n"},
    {"--client=x", ERR "invalid value \"x\" for option -c/--client\n"},
    {"-j 0", ERR "-j/--jobs must be in range 1..2147483647\n"},
    {"-j x", ERR "invalid value \"x\" for option -j/--jobs\n"},
    {"-s 0", ERR "-s/--scale must be in range 1..2147483647\n"},
    {"-s 2147483648", ERR "-s/--scale must be in range 1..2147483647\n"},
    {"-s 1x", ERR "invalid value \"1x\" for option -s/--scale\n"},
    {"-t 0", ERR "-t/--transactions must be in range 1..9223372036854775807\n"},
    {"-t 9223372036854775808", ERR "-t/--transactions must be in range 1..9223372036854775807\n"},
    {"-t 1.5", ERR "invalid value \"1.5\" for option -t/--transactions\n"},
    {"-T 0", ERR "-T/--time must be in range 1..3000000000\n"},
    {"-T 1.5", ERR "invalid value \"1.5\" for option -T/--time\n"},
    {"-T 5s", ERR "invalid value \"5s\" for option -T/--time\n"},
    {"-P 0", ERR "-P/--progress must be in range 1..3000000000\n"},
    {"-P x", ERR "invalid value \"x\" for option -P/--progress\n"},
    {"-F 9 -i", ERR "-F/--fillfactor must be in range 10..100\n"},
    {"-F 101 -i", ERR "-F/--fillfactor must be in range 10..100\n"},
    {"-F x -i", ERR "invalid value \"x\" for option -F/--fillfactor\n"},
    {"--partitions=-1 -i", ERR "--partitions must be in range 0..2147483647\n"},
    {"--partitions=x -i", ERR "invalid value \"x\" for option --partitions\n"},
    {"--aggregate-interval=0 -l", ERR "--aggregate-interval must be in range 1..3000000000\n"},
    {"--aggregate-interval=x -l", ERR "invalid value \"x\" for option --aggregate-interval\n"},
    {"-c 2 -t 9223372036854775807",
     ERR "2 clients with 9223372036854775807 transactions each are more than can be counted\n"},
    /* files */
    {"--json=", ERR "--json needs the name of a file\n"},
    {"--json=r --hdr=h --study=r", ERR "--json and --study name the same file: \"r\"\n"},
    /* other numbers */
    {"-R 0", ERR "invalid rate limit: \"0\"\n"},
    {"-R -1", ERR "invalid rate limit: \"-1\"\n"},
    {"-R x", ERR "invalid rate limit: \"x\"\n"},
    {"-R 50abc", ERR "invalid rate limit: \"50abc\"\n"},
    {"-R nan", ERR "invalid rate limit: \"nan\"\n"},
    {"-R inf", ERR "invalid rate limit: \"inf\"\n"},
    {"-L 0", ERR "invalid latency limit: \"0\"\n"},
    {"-L x", ERR "invalid latency limit: \"x\"\n"},
    {"-L 5ms", ERR "invalid latency limit: \"5ms\"\n"},
    {"--sampling-rate=0 -l", ERR "invalid sampling rate: \"0\"\n"},
    {"--sampling-rate=1.01 -l", ERR "invalid sampling rate: \"1.01\"\n"},
    {"--sampling-rate=x -l", ERR "invalid sampling rate: \"x\"\n"},
    {"--max-tries=-1", ERR "invalid number of maximum tries: \"-1\"\n"},
    {"--max-tries=3x", ERR "invalid number of maximum tries: \"3x\"\n"},
    {"--max-tries=''", ERR "invalid number of maximum tries: \"\"\n"},
    /* words */
    {"-M foo", ERR "invalid query mode (-M): \"foo\"\n"},
    {"-M pre", ERR "invalid query mode (-M): \"pre\"\n"},
    {"-D foo", ERR "invalid variable definition: \"foo\"\n"},
    {"-D =x", ERR "invalid variable definition: \"=x\"\n"},
    {"-D a=", ERR "invalid variable definition: \"a=\"\n"},
    {"-D 'a b=1'", ERR "option: invalid variable name: \"a b\"\n"},
    {"-D 1a=1", ERR "option: invalid variable name: \"1a\"\n"},
    {"-i -I xyz",
     ERR "unrecognized initialization step \"x\"\npgbench: detail: Allowed step characters are: \"dtgGvpf\".\n"},
    {"-i -I ''", ERR "no initialization steps specified\n"},
    {"-i --partition-method=foo", ERR "invalid partition method, expecting \"range\" or \"hash\", got: \"foo\"\n"},
    {"--random-seed=abc", ERR "unrecognized random seed option \"abc\"\n" SEED_TAIL},
    {"--random-seed=", ERR "unrecognized random seed option \"\"\n" SEED_TAIL},
    {"--random-seed=12x", ERR "unrecognized random seed option \"12x\"\n" SEED_TAIL},
    {"--random-seed=-5", ERR "unrecognized random seed option \"-5\"\n" SEED_TAIL},
    {"--random-seed=18446744073709551616", ERR "unrecognized random seed option \"18446744073709551616\"\n" SEED_TAIL},
    /* scripts */
    {"-b foo", ERR "no builtin script found for name \"foo\"\n" BUILTINS},
    {"-b s", ERR "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"\n" BUILTINS},
    {"-b ''", ERR "ambiguous builtin name: 3 builtin scripts found for prefix \"\"\n" BUILTINS},
    {"--show-script=foo", ERR "no builtin script found for name \"foo\"\n" BUILTINS},
    {"--show-script=s", ERR "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"\n" BUILTINS},
    {"-b se@x", ERR "invalid weight specification: @x\n"},
    {"-b se@1x", ERR "invalid weight specification: @1x\n"},
    {"-b se@", ERR "invalid weight specification: @\n"},
    {"-b se@-1", ERR "weight specification out of range (0 .. 2147483647): -1\n"},
    {"-b se@99999999999", ERR "weight specification out of range (0 .. 2147483647): 99999999999\n"},
    {"-b se@0", ERR "total script weight must not be zero\n"},
    {"-b se@0 -f %f@0", ERR "total script weight must not be zero\n"},
    {"-f x@y", ERR "invalid weight specification: @y\n"},
    {"-f /nonexistent/file", ERR "could not open file \"/nonexistent/file\": No such file or directory\n"},
    {"-f /tmp", ERR "could not read file \"/tmp\": Is a directory\n"},
    {"-f /dev/null", ERR "empty command list for script \"/dev/null\"\n"},
    /* what does not go together */
    {"-t 5 -T 5", ERR "specify either a number of transactions (-t) or a duration (-T), not both\n"},
    {"--sampling-rate=0.1", ERR "log sampling (--sampling-rate) is allowed only when logging transactions (-l)\n"},
    {"-l --aggregate-interval=1 --sampling-rate=.5",
     ERR "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time\n"},
    {"--aggregate-interval=1", ERR "log aggregation is allowed only when actually logging transactions\n"},
    {"--log-prefix=x", ERR "log file prefix (--log-prefix) is allowed only when logging transactions (-l)\n"},
    {"-l --aggregate-interval=2 -T 1",
     ERR "number of seconds for aggregation (2) must not be higher than test duration (1)\n"},
    {"-l --aggregate-interval=2 -T 3", ERR "duration (3) must be a multiple of aggregation interval (2)\n"},
    {"--progress-timestamp", ERR "--progress-timestamp is allowed only under --progress\n"},
    {"--max-tries=0",
     ERR "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)\n"},
    {"-i --partition-method=hash", ERR "--partition-method requires greater than zero --partitions\n"},
    /* the grammar */
    {"a b c", ERR "too many command-line arguments (first is \"b\")\n" TRY_HELP},
    {"-d a b", ERR "too many command-line arguments (first is \"b\")\n" TRY_HELP},
    {"--foo", "pgbench: unrecognized option '--foo'\n" TRY_HELP},
    {"-Z", "pgbench: invalid option -- 'Z'\n" TRY_HELP},
    {"-c", "pgbench: option requires an argument -- 'c'\n" TRY_HELP},
    {"--client", "pgbench: option '--client' requires an argument\n" TRY_HELP},
    {"--quiet=3", "pgbench: option '--quiet' doesn't allow an argument\n" TRY_HELP},
    {"--pro=3",
     "pgbench: option '--pro=3' is ambiguous; possibilities: '--protocol' '--progress' '--progress-timestamp'\n" TRY_HELP},
    {"-n --help", "pgbench: unrecognized option '--help'\n" TRY_HELP},
    /* one way of running only */
    {"-F 50", NOT_BENCH},
    {"-I dt", NOT_BENCH},
    {"-q", NOT_BENCH},
    {"--foreign-keys", NOT_BENCH},
    {"--unlogged-tables", NOT_BENCH},
    {"--tablespace=x", NOT_BENCH},
    {"--index-tablespace=x", NOT_BENCH},
    {"--partitions=2", NOT_BENCH},
    {"--partition-method=hash", NOT_BENCH},
    {"-i -c 2", NOT_INIT},
    {"-i -t 5", NOT_INIT},
    {"-i -T 5", NOT_INIT},
    {"-i -S", NOT_INIT},
    {"-i -N", NOT_INIT},
    {"-i -b se", NOT_INIT},
    {"-i -f %f", NOT_INIT},
    {"-i -l", NOT_INIT},
    {"-i -C", NOT_INIT},
    {"-i -r", NOT_INIT},
    {"-i -R 5", NOT_INIT},
    {"-i -L 5", NOT_INIT},
    {"-i -P 5", NOT_INIT},
    {"-i -j 2", NOT_INIT},
    {"-i -M simple", NOT_INIT},
    {"-i -v", NOT_INIT},
    {"-i -D a=1", NOT_INIT},
    {"-i --sampling-rate=0.1", NOT_INIT},
    {"-i --aggregate-interval=1", NOT_INIT},
    {"-i --max-tries=2", NOT_INIT},
    {"-i --random-seed=1", "pgbench: setting random seed to 1\n" NOT_INIT},
    {"-i --failures-detailed", NOT_INIT},
    {"-i --verbose-errors", NOT_INIT},
    {"-i --progress-timestamp", NOT_INIT},
    {"-i --log-prefix=x", NOT_INIT},
    {"-i --continue-on-error", NOT_INIT},
    {"-i --exit-on-abort", NOT_INIT},
    {"-i --json=x", NOT_INIT},
    {"-i --hdr=x", NOT_INIT},
    {"-i --study=x", NOT_INIT},
};

static void test_refused(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        fixture->exit_code = -1;
        if (parse(fixture, refused[i].line))
            fail_msg("\"%s\" was taken", refused[i].line);
        if (strcmp(fixture->printed.text, refused[i].said) != 0)
            fail_msg("\"%s\"\nsays    %s\nand not %s", refused[i].line, fixture->printed.text, refused[i].said);
        assert_int_equal(fixture->exit_code, 1);
    }
}

/* A script that does not compile is said with its file, line and place, as the compiler says it. */
static void test_bad_script(void **state)
{
    struct fixture *fixture = *state;
    file_put(fixture->script, "SELECT 1;\n\\set x 1 +* 2\n");
    assert_false(parse(fixture, "-f %f"));
    assert_int_equal(fixture->exit_code, 1);
    char place[128];
    snprintf(place, sizeof place, ERR "%s:2:", fixture->script);
    assert_memory_equal(fixture->printed.text, place, strlen(place));
    assert_non_null(strstr(fixture->printed.text, "\n\\set x 1 +* 2\n          ^ error found here\n"));
    file_put(fixture->script, "\\set x 1\nSELECT :x;\n");
}

static void test_too_many_scripts(void **state)
{
    struct fixture *fixture = *state;
    char line[129 * 3 + 1] = "";
    for (int i = 0; i < 128; i++)
        memcpy(line + 3 * i, "-S ", 4);
    assert_int_equal(good(fixture, line)->script_count, 128);
    memcpy(line + 3 * 128, "-S ", 4);
    assert_false(parse(fixture, line));
    assert_string_equal(fixture->printed.text, ERR "at most 128 SQL scripts are allowed\n");
}

/* ---- what is taken ---- */

static void test_defaults(void **state)
{
    struct fixture *fixture = *state;
    const struct pgbench_options *options = good(fixture, "");
    assert_string_equal(fixture->printed.text, "");
    assert_int_equal(options->script_count, 1);
    assert_string_equal(options->scripts[0].title, "<builtin: TPC-B (sort of)>");
    assert_int_equal(options->scripts[0].weight, 1);
    assert_int_equal(options->scripts[0].program->command_count, 11);
    assert_true(options->uses_builtin);
    assert_int_equal(options->clients, 1);
    assert_int_equal(options->threads, 1);
    assert_int_equal(options->transactions, 10);
    assert_int_equal(options->duration_s, 0);
    assert_int_equal(options->max_tries, 1);
    assert_int_equal(options->protocol, PLAN_SIMPLE);
    assert_int_equal(options->scale, 0);
    assert_false(options->initialize || options->connect || options->no_vacuum || options->log || options->seed_is_given);
    assert_null(options->log_prefix);
    assert_null(options->json_path);
    assert_string_equal(options->database, "somebody");
}

static void test_everything(void **state)
{
    struct fixture *fixture = *state;
    const struct pgbench_options *options = good(
        fixture, "-c 12 -C -D a=1 -D b=x=y -D a=2 -j 3 -l -L 2.5 -M prepared -n -P 7 -r -R 12.5 -s 4 -T 60 -v "
                 "--aggregate-interval=5 --continue-on-error --exit-on-abort --failures-detailed --log-prefix=/tmp/l "
                 "--max-tries=0 --progress-timestamp --random-seed=18446744073709551615 --verbose-errors --debug --json=j "
                 "--hdr=h --study=s -f %f@3 -b se@0 -N -S bank");
    assert_string_equal(fixture->printed.text, "pgbench: setting random seed to 18446744073709551615\n");
    assert_int_equal(options->clients, 12);
    assert_int_equal(options->threads, 3);
    assert_true(options->connect && options->log && options->no_vacuum && options->report_per_command);
    assert_true(options->vacuum_all && options->continue_on_error && options->exit_on_abort);
    assert_true(options->failures_detailed && options->progress_timestamp && options->verbose_errors && options->debug);
    assert_int_equal(options->define_count, 2);
    assert_string_equal(options->defines[0].name, "a");
    assert_string_equal(options->defines[0].value, "2");
    assert_string_equal(options->defines[1].name, "b");
    assert_string_equal(options->defines[1].value, "x=y");
    assert_int_equal(options->latency_limit_ns, 2500000);
    assert_int_equal(options->protocol, PLAN_PREPARED);
    assert_int_equal(options->progress_s, 7);
    assert_close(options->rate_per_s, 12.5, 0, 0);
    assert_int_equal(options->scale, 4);
    assert_int_equal(options->duration_s, 60);
    assert_int_equal(options->transactions, 0);
    assert_int_equal(options->aggregate_interval_s, 5);
    assert_string_equal(options->log_prefix, "/tmp/l");
    assert_int_equal(options->max_tries, 0);
    assert_true(options->seed == UINT64_MAX && options->seed_is_given);
    assert_string_equal(options->json_path, "j");
    assert_string_equal(options->hgrm_path, "h");
    assert_string_equal(options->study_path, "s");
    assert_int_equal(options->script_count, 4);
    assert_string_equal(options->scripts[0].title, fixture->script);
    assert_int_equal(options->scripts[0].weight, 3);
    assert_int_equal(options->scripts[1].weight, 0);
    assert_string_equal(options->scripts[2].builtin, "simple-update");
    assert_string_equal(options->scripts[3].builtin, "select-only");
    assert_string_equal(options->database, "bank");
}

static void test_initialization(void **state)
{
    struct fixture *fixture = *state;
    const struct pgbench_options *options = good(fixture, "-i");
    assert_true(options->initialize);
    assert_string_equal(options->data.steps, "dtgvp");
    assert_int_equal(options->data.scale, 1);
    assert_int_equal(options->data.fillfactor, 100);
    assert_int_equal(options->data.partitioning, DATASET_NO_PARTITIONS);
    options = good(fixture, "-i -n");
    assert_string_equal(options->data.steps, "dtg p");
    options = good(fixture, "-i --foreign-keys");
    assert_string_equal(options->data.steps, "dtgvpf");
    options = good(fixture, "-i -I 'dt fGv' --foreign-keys");
    assert_string_equal(options->data.steps, "dt fGv");
    options = good(fixture, "-i --partitions=3");
    assert_int_equal(options->data.partitioning, DATASET_RANGE);
    options = good(fixture, "-iq -s 20 -F 90 --partitions=4 --partition-method=hash --unlogged-tables --tablespace=a "
                            "--index-tablespace=b -d x");
    assert_true(options->quiet && options->data.unlogged);
    assert_int_equal(options->data.scale, 20);
    assert_int_equal(options->data.fillfactor, 90);
    assert_int_equal(options->data.partitioning, DATASET_HASH);
    assert_int_equal(options->data.partitions, 4);
    assert_string_equal(options->data.tablespace, "a");
    assert_string_equal(options->data.index_tablespace, "b");
}

/* The same wish in every way that getopt_long takes. */
static void test_ways_of_writing(void **state)
{
    struct fixture *fixture = *state;
    static const char *const lines[] = {
        "-c5 -nS -T2 db",
        "-c 5 -n -S -T 2 db",
        "--client=5 --no-vacuum --select-only --time=2 db",
        "--client 5 --no-vacuum --select-only --time 2 db",
        "--cli=5 --no-v --sel --ti=2 db",
        "db -c 5 -nST2",
        "-nSc5 -T2 -- db",
        "-nSc5T -T2 db",
        "-c 1 -c 5 -n -S -T 9 -T 2 -d db",
        "-nSc ' 5 ' -T2 --db=db",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(lines[i], "-nSc5T -T2 db") == 0) { /* what follows -c is its value, whole */
            assert_false(parse(fixture, lines[i]));
            continue;
        }
        const struct pgbench_options *options = good(fixture, lines[i]);
        assert_int_equal(options->clients, 5);
        assert_true(options->no_vacuum);
        assert_int_equal(options->script_count, 1);
        assert_string_equal(options->scripts[0].builtin, "select-only");
        assert_int_equal(options->duration_s, 2);
        assert_string_equal(options->database, "db");
    }
}

static void test_large_numbers(void **state)
{
    struct fixture *fixture = *state;
    const struct pgbench_options *options = good(fixture, "-c 2 -t 2147483647");
    assert_true(options->clients * options->transactions == INT64_C(4294967294));
    options = good(fixture, "-t 9223372036854775807");
    assert_true(options->transactions == INT64_MAX);
    options = good(fixture, "-T 3000000000");
    assert_true(options->duration_s == INT64_C(3000000000));
    options = good(fixture, "-c 2 -j 500");
    assert_int_equal(options->threads, 2);
    options = good(fixture, "-c 500 -j 500");
    assert_int_equal(options->threads, 256);
    assert_string_equal(fixture->printed.text, "pgbench: warning: 500 threads are more than the 256 there can be\n");
    options = good(fixture, "-R .5");
    assert_close(options->rate_per_s, 0.5, 0, 0);
    options = good(fixture, "-R 1e5");
    assert_close(options->rate_per_s, 1e5, 0, 0);
}

static void test_seed(void **state)
{
    struct fixture *fixture = *state;
    setenv("PGBENCH_RANDOM_SEED", "7", 1);
    assert_true(good(fixture, "")->seed == 7);
    assert_string_equal(fixture->printed.text, "pgbench: setting random seed to 7\n");
    assert_true(good(fixture, "--random-seed=8")->seed == 8);
    setenv("PGBENCH_RANDOM_SEED", "x", 1);
    assert_false(parse(fixture, ""));
    assert_non_null(strstr(fixture->printed.text, "random seed from PGBENCH_RANDOM_SEED environment variable\n"));
    unsetenv("PGBENCH_RANDOM_SEED");
    assert_true(good(fixture, "--random-seed=time")->seed_is_given);
    uint64_t first = good(fixture, "--random-seed=rand")->seed;
    assert_true(good(fixture, "--random-seed=rand")->seed != first);
}

/* What only prints: exit code 0, and nothing is run. */
static void test_printing(void **state)
{
    struct fixture *fixture = *state;
    static struct printed out;
    assert_false(parse(fixture, "-b list"));
    assert_int_equal(fixture->exit_code, 0);
    assert_string_equal(fixture->printed.text, BUILTINS);
    fixture->exit_code = -1;
    assert_false(parse(fixture, "--show-script=sel"));
    assert_int_equal(fixture->exit_code, 0);
    assert_string_equal(fixture->printed.text, "-- select-only: <builtin: select only>\n"
                                               "\\set aid random(1, 100000 * :scale)\n"
                                               "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\n");
    static const char *const lines[] = {"--version", "-V", "--help", "-?"};
    for (size_t i = 0; i < 4; i++) {
        fixture->exit_code = -1;
        printed_begin(&out, stdout);
        bool is_good = parse(fixture, lines[i]);
        printed_end(&out, stdout);
        assert_false(is_good);
        assert_int_equal(fixture->exit_code, 0);
        assert_string_equal(fixture->printed.text, "");
        assert_memory_equal(out.text, "pgbench ", 8);
    }
}

/* The help names every option. */
static void test_help(void **state)
{
    struct fixture *fixture = *state;
    static struct printed out;
    printed_begin(&out, stdout);
    bool is_good = parse(fixture, "--help");
    printed_end(&out, stdout);
    assert_false(is_good);
    static const char *const names[] = {
        "-i, --initialize",
        "-I, --init-steps=[dtgGvpf]+",
        "-F, --fillfactor=NUM",
        "-n, --no-vacuum",
        "-q, --quiet",
        "-s, --scale=NUM",
        "--foreign-keys",
        "--index-tablespace=TABLESPACE",
        "--partition-method=(range|hash)",
        "--partitions=NUM",
        "--tablespace=TABLESPACE",
        "--unlogged-tables",
        "-b, --builtin=NAME[@W]",
        "-f, --file=FILENAME[@W]",
        "-N, --skip-some-updates",
        "-S, --select-only",
        "-c, --client=NUM",
        "-C, --connect",
        "-D, --define=VARNAME=VALUE",
        "-j, --jobs=NUM",
        "-l, --log",
        "-L, --latency-limit=NUM",
        "-M, --protocol=simple|extended|prepared",
        "-P, --progress=NUM",
        "-r, --report-per-command",
        "-R, --rate=NUM",
        "-t, --transactions=NUM",
        "-T, --time=NUM",
        "-v, --vacuum-all",
        "--aggregate-interval=NUM",
        "--continue-on-error",
        "--exit-on-abort",
        "--failures-detailed",
        "--log-prefix=PREFIX",
        "--max-tries=NUM",
        "--progress-timestamp",
        "--random-seed=SEED",
        "--sampling-rate=NUM",
        "--show-script=NAME",
        "--verbose-errors",
        "--json=FILE",
        "--hdr=FILE",
        "--study=FILE",
        "--debug",
        "-d, --dbname=DBNAME",
        "-h, --host=HOSTNAME",
        "-p, --port=PORT",
        "-U, --username=USERNAME",
        "-V, --version",
        "-?, --help",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(out.text, names[i]) == NULL)
            fail_msg("the help has no %s", names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bad_script),
        cmocka_unit_test(test_too_many_scripts),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_initialization),
        cmocka_unit_test(test_ways_of_writing),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests_name("options", tests, setup, teardown);
}
