/* The command line: one table of options, read with getopt_long; then what does not go together. */
#include "pgbench/options_int.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

enum {
    DEFAULT_TRANSACTIONS = 10,
    HELP_COLUMN = 27,
    FIRST_LONG_ONLY = 256, /* what getopt_long returns for options without a letter: above any of them */
};
#define SECONDS_MAX INT64_C(3000000000) /* 95 years: in ns, twice that still fits */

/* Where an option belongs: to -i, to a run, or to both. */
enum option_use { USE_COMMON, USE_INIT, USE_BENCH };

enum option_kind { OPTION_FLAG, OPTION_INT, OPTION_TEXT, OPTION_CALL };

/* A row without a name begins a section of the help. */
struct option_row {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* as the help shows it; NULL: takes none */
    const char *help;     /* further lines after a line feed */
    enum option_use use;
    enum option_kind kind;
    size_t offset;     /* FLAG: a bool, INT: an int64_t, TEXT: a const char *, in struct pgbench_parse */
    int64_t low, high; /* INT */
    bool (*call)(struct pgbench_parse *parse, const char *text);
};

static bool take_simple_update(struct pgbench_parse *parse, const char *text)
{
    (void)text;
    return pgbench_script_builtin(parse, "simple-update");
}

static bool take_select_only(struct pgbench_parse *parse, const char *text)
{
    (void)text;
    return pgbench_script_builtin(parse, "select-only");
}

static bool take_seed(struct pgbench_parse *parse, const char *text)
{
    return pgbench_value_seed(parse, text, "--random-seed option");
}

#define AT(field) offsetof(struct pgbench_parse, field)
#define FLAG(name, letter, use, field, help)                                                                               \
    {                                                                                                                      \
        name, letter, NULL, help, use, OPTION_FLAG, AT(field), 0, 0, NULL                                                  \
    }
#define INT(name, letter, argument, use, field, low, high, help)                                                           \
    {                                                                                                                      \
        name, letter, argument, help, use, OPTION_INT, AT(field), low, high, NULL                                          \
    }
#define TEXT(name, letter, argument, use, field, help)                                                                     \
    {                                                                                                                      \
        name, letter, argument, help, use, OPTION_TEXT, AT(field), 0, 0, NULL                                              \
    }
#define CALL(name, letter, argument, use, call, help)                                                                      \
    {                                                                                                                      \
        name, letter, argument, help, use, OPTION_CALL, 0, 0, 0, call                                                      \
    }
#define SECTION(title)                                                                                                     \
    {                                                                                                                      \
        NULL, 0, NULL, title, USE_COMMON, OPTION_FLAG, 0, 0, 0, NULL                                                       \
    }

static const struct option_row rows[] = {
    SECTION("Initialization options:"),
    FLAG("initialize", 'i', USE_COMMON, chosen.initialize, "invokes initialization mode"),
    CALL("init-steps", 'I', "[dtgGvpf]+", USE_INIT, pgbench_value_init_steps,
         "run selected initialization steps, in\nthis order (default \"dtgvp\")"),
    INT("fillfactor", 'F', "NUM", USE_INIT, fillfactor, 10, 100, "set fill factor"),
    FLAG("no-vacuum", 'n', USE_COMMON, chosen.no_vacuum, "do not run VACUUM during initialization"),
    FLAG("quiet", 'q', USE_INIT, chosen.quiet, "quiet logging (one message each 5 seconds)"),
    INT("scale", 's', "NUM", USE_COMMON, chosen.scale, 1, INT_MAX, "scaling factor"),
    FLAG("foreign-keys", 0, USE_INIT, foreign_keys, "create foreign key constraints between tables"),
    TEXT("index-tablespace", 0, "TABLESPACE", USE_INIT, chosen.data.index_tablespace,
         "create indexes in the specified tablespace"),
    CALL("partition-method", 0, "(range|hash)", USE_INIT, pgbench_value_partition_method,
         "partition pgbench_accounts with this method\n(default: range)"),
    INT("partitions", 0, "NUM", USE_INIT, partitions, 0, INT_MAX,
        "partition pgbench_accounts into NUM parts\n(default: 0)"),
    TEXT("tablespace", 0, "TABLESPACE", USE_INIT, chosen.data.tablespace, "create tables in the specified tablespace"),
    FLAG("unlogged-tables", 0, USE_INIT, chosen.data.unlogged, "create tables as unlogged tables"),

    SECTION("Options to select what to run:"),
    CALL("builtin", 'b', "NAME[@W]", USE_BENCH, pgbench_script_builtin,
         "add builtin script NAME weighted at W (default: 1)\n(use \"-b list\" to list available scripts)"),
    CALL("file", 'f', "FILENAME[@W]", USE_BENCH, pgbench_script_file,
         "add script FILENAME weighted at W (default: 1);\n\"-\" is standard input"),
    CALL("skip-some-updates", 'N', NULL, USE_BENCH, take_simple_update,
         "skip updates of pgbench_tellers and pgbench_branches\n(same as \"-b simple-update\")"),
    CALL("select-only", 'S', NULL, USE_BENCH, take_select_only,
         "perform SELECT-only transactions\n(same as \"-b select-only\")"),

    SECTION("Benchmarking options:"),
    INT("client", 'c', "NUM", USE_BENCH, chosen.clients, 1, PL_MAX_CLIENTS,
        "number of concurrent database clients (default: 1)"),
    FLAG("connect", 'C', USE_BENCH, chosen.connect, "establish new connection for each transaction"),
    CALL("define", 'D', "VARNAME=VALUE", USE_BENCH, pgbench_value_define, "define variable for use by custom script"),
    INT("jobs", 'j', "NUM", USE_BENCH, chosen.threads, 1, INT_MAX, "number of threads (default: 1)"),
    FLAG("log", 'l', USE_BENCH, chosen.log, "write transaction times to log file"),
    CALL("latency-limit", 'L', "NUM", USE_BENCH, pgbench_value_latency_limit,
         "count transactions lasting more than NUM ms as late"),
    CALL("protocol", 'M', "simple|extended|prepared", USE_BENCH, pgbench_value_protocol,
         "protocol for submitting queries (default: simple)"),
    FLAG("no-vacuum", 'n', USE_COMMON, chosen.no_vacuum, "do not run VACUUM before tests"),
    INT("progress", 'P', "NUM", USE_BENCH, chosen.progress_s, 1, SECONDS_MAX, "show progress report every NUM seconds"),
    FLAG("report-per-command", 'r', USE_BENCH, chosen.report_per_command,
         "report latencies, failures, and retries per command"),
    CALL("rate", 'R', "NUM", USE_BENCH, pgbench_value_rate, "target rate in transactions per second"),
    INT("scale", 's', "NUM", USE_COMMON, chosen.scale, 1, INT_MAX, "report this scale factor in output"),
    INT("transactions", 't', "NUM", USE_BENCH, chosen.transactions, 1, INT64_MAX,
        "number of transactions each client runs (default: 10)"),
    INT("time", 'T', "NUM", USE_BENCH, chosen.duration_s, 1, SECONDS_MAX, "duration of benchmark test in seconds"),
    FLAG("vacuum-all", 'v', USE_BENCH, chosen.vacuum_all, "vacuum all four standard tables before tests"),
    INT("aggregate-interval", 0, "NUM", USE_BENCH, chosen.aggregate_interval_s, 1, SECONDS_MAX,
        "aggregate data over NUM seconds"),
    FLAG("continue-on-error", 0, USE_BENCH, chosen.continue_on_error, "continue running after an SQL error"),
    FLAG("exit-on-abort", 0, USE_BENCH, chosen.exit_on_abort, "exit when any client is aborted"),
    FLAG("failures-detailed", 0, USE_BENCH, chosen.failures_detailed, "report the failures grouped by basic types"),
    TEXT("log-prefix", 0, "PREFIX", USE_BENCH, chosen.log_prefix,
         "prefix for transaction time log file\n(default: \"pgbench_log\")"),
    CALL("max-tries", 0, "NUM", USE_BENCH, pgbench_value_max_tries, "max number of tries to run transaction (default: 1)"),
    FLAG("progress-timestamp", 0, USE_BENCH, chosen.progress_timestamp, "use Unix epoch timestamps for progress"),
    CALL("random-seed", 0, "SEED", USE_BENCH, take_seed, "set random seed (\"time\", \"rand\", integer)"),
    CALL("sampling-rate", 0, "NUM", USE_BENCH, pgbench_value_sampling_rate,
         "fraction of transactions to log (e.g., 0.01 for 1%)"),
    CALL("show-script", 0, "NAME", USE_BENCH, pgbench_script_show, "show builtin script code, then exit"),
    FLAG("verbose-errors", 0, USE_BENCH, chosen.verbose_errors, "print messages of all errors"),

    SECTION("Options that pgbench does not have:"),
    TEXT("json", 0, "FILE", USE_BENCH, chosen.json_path, "write everything that was measured as JSON"),
    TEXT("hdr", 0, "FILE", USE_BENCH, chosen.hgrm_path,
         "write the percentiles of the response times in the\nform of HdrHistogram (.hgrm)"),
    TEXT("study", 0, "FILE", USE_BENCH, chosen.study_path, "keep a study that \"plimsoll page\" can print"),

    SECTION("Common options:"),
    FLAG("debug", 0, USE_COMMON, chosen.debug, "print debugging output"),
    TEXT("dbname", 'd', "DBNAME", USE_COMMON, dbname, "database name to connect to, or a connection string"),
    TEXT("host", 'h', "HOSTNAME", USE_COMMON, host, "database server host or socket directory"),
    TEXT("port", 'p', "PORT", USE_COMMON, port, "database server port number"),
    TEXT("username", 'U', "USERNAME", USE_COMMON, user, "connect as specified database user"),
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* ---- help ---- */

static void print_row(const char *option, const char *help)
{
    size_t length = strlen(option);
    printf("%s%*s", option, length < HELP_COLUMN ? (int)(HELP_COLUMN - length) : 0, "");
    if (length >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    for (; *help != '\0'; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static void print_help(void)
{
    fputs("pgbench runs a benchmark test on PostgreSQL; this one is part of Plimsoll.\n\nUsage:\n"
          "  pgbench [OPTION]... [DBNAME]\n",
          stdout);
    for (size_t r = 0; r < ROW_COUNT; r++) {
        const struct option_row *row = &rows[r];
        char option[80];
        if (row->name == NULL) {
            printf("\n%s\n", row->help);
            continue;
        }
        int length = row->letter != 0 ? snprintf(option, sizeof option, "  -%c, --%s", row->letter, row->name)
                                      : snprintf(option, sizeof option, "  --%s", row->name);
        if (row->argument != NULL)
            snprintf(option + length, sizeof option - (size_t)length, "=%s", row->argument);
        print_row(option, row->help);
    }
    print_row("  -V, --version", "output version information, then exit");
    print_row("  -?, --help", "show this help, then exit");
    fputs("\nExit codes: 0 good; 1 wrong usage, or it could not start; 2 clients ended early, or no transaction was\n"
          "completed; 130 interrupted.\n",
          stdout);
}

/* As pgbench: only as the first argument. */
static bool is_only_printing(int argc, char **argv)
{
    if (argc < 2)
        return false;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_help();
        return true;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("pgbench (Plimsoll) " PLIMSOLL_VERSION);
        return true;
    }
    return false;
}

/* ---- reading ---- */

static bool take_row(struct pgbench_parse *parse, const struct option_row *row, const char *text)
{
    void *target = (char *)parse + row->offset;
    char given[64], letter[] = {'-', row->letter, '/', '\0'};
    snprintf(given, sizeof given, "%s--%s", row->letter != 0 ? letter : "", row->name);
    parse->has_init_option = parse->has_init_option || row->use == USE_INIT;
    parse->has_bench_option = parse->has_bench_option || row->use == USE_BENCH;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return true;
    case OPTION_INT:
        return pgbench_value_int(given, text, row->low, row->high, target);
    case OPTION_TEXT:
        *(const char **)target = text;
        return true;
    case OPTION_CALL:
        return row->call(parse, text);
    }
    return false;
}

/* Where getopt_long's answers lead: by letter, and beyond them by the place in the table. */
struct grammar {
    struct option longs[ROW_COUNT + 1];
    char letters[3 * ROW_COUNT + 1];
    const struct option_row *by_value[FIRST_LONG_ONLY + ROW_COUNT];
};

static void grammar_make(struct grammar *grammar)
{
    size_t long_count = 0, letter_count = 0;
    *grammar = (struct grammar){0};
    for (size_t r = 0; r < ROW_COUNT; r++) {
        const struct option_row *row = &rows[r];
        int value = row->letter != 0 ? row->letter : FIRST_LONG_ONLY + (int)r;
        if (row->name == NULL || grammar->by_value[value] != NULL) /* a section; a row that the help shows twice */
            continue;
        grammar->by_value[value] = row;
        grammar->longs[long_count++] = (struct option){
            .name = row->name, .has_arg = row->argument != NULL ? required_argument : no_argument, .val = value};
        if (row->letter != 0) {
            grammar->letters[letter_count++] = row->letter;
            if (row->argument != NULL)
                grammar->letters[letter_count++] = ':';
        }
    }
}

static bool say_try_help(void)
{
    pgbench_say(SAY_HINT, "Try \"pgbench --help\" for more information.");
    return false;
}

/* getopt_long permutes its array and prints argv[0]: it gets one of its own. Begins anew, also when it was used before. */
static char **reading_begin(int argc, char **argv, struct pl_arena *arena, struct grammar *grammar)
{
    static char program_name[] = "pgbench";
    grammar_make(grammar);
    char **words = pl_alloc(arena, (size_t)argc + 2, sizeof *words);
    for (int i = 1; i < argc; i++)
        words[i] = argv[i];
    words[0] = program_name;
    optind = 0;
    return words;
}

size_t pgbench_options_databases(int argc, char **argv, struct pl_arena *arena, const char ***ret_texts)
{
    struct grammar *grammar = pl_alloc(arena, 1, sizeof *grammar);
    char **words = reading_begin(argc, argv, arena, grammar);
    const char **texts = pl_alloc(arena, (size_t)argc + 1, sizeof *texts);
    size_t count = 0;
    int value, opterr_before = opterr;
    opterr = 0;
    while ((value = getopt_long(argc, words, grammar->letters, grammar->longs, NULL)) != -1)
        if (value == 'd' && count < (size_t)argc) /* a bundle has but one: it takes the rest */
            texts[count++] = optarg;
    for (int i = optind; i < argc && count < (size_t)argc; i++)
        texts[count++] = words[i];
    opterr = opterr_before;
    *ret_texts = texts;
    return count;
}

static bool read_arguments(struct pgbench_parse *parse, int argc, char **argv)
{
    struct grammar *grammar = pl_alloc(parse->arena, 1, sizeof *grammar);
    char **words = reading_begin(argc, argv, parse->arena, grammar);
    int count = argc < 1 ? 1 : argc;
    int value;
    while ((value = getopt_long(count, words, grammar->letters, grammar->longs, NULL)) != -1) {
        const struct option_row *row = value != '?' ? grammar->by_value[value] : NULL;
        if (row == NULL)
            return say_try_help();
        if (!take_row(parse, row, optarg))
            return false;
        if (parse->is_over)
            return true;
    }
    if (optind < count && parse->dbname == NULL)
        parse->dbname = words[optind++];
    if (optind < count) {
        pgbench_say(SAY_ERROR, "too many command-line arguments (first is \"%s\")", words[optind]);
        return say_try_help();
    }
    return true;
}

/* ---- what goes together ---- */

static bool refuse(const char *text)
{
    pgbench_say(SAY_ERROR, "%s", text);
    return false;
}

/* -n takes the step of the vacuum out, --foreign-keys adds theirs. */
static void steps_complete(struct pgbench_parse *parse)
{
    const char *steps = parse->chosen.data.steps;
    if (parse->foreign_keys && strchr(steps, 'f') == NULL)
        steps = pl_format(parse->arena, "%sf", steps);
    if (parse->chosen.no_vacuum) {
        char *without = pl_strdup(parse->arena, steps);
        for (char *step = without; *step != '\0'; step++)
            *step = *step == 'v' ? ' ' : *step;
        steps = without;
    }
    parse->chosen.data.steps = steps;
}

static bool check_init(struct pgbench_parse *parse)
{
    struct pgbench_options *chosen = &parse->chosen;
    struct dataset_spec *data = &chosen->data;
    if (parse->has_bench_option)
        return refuse("some of the specified options cannot be used in initialization (-i) mode");
    if (data->partitioning != DATASET_NO_PARTITIONS && parse->partitions == 0)
        return refuse("--partition-method requires greater than zero --partitions");
    if (parse->partitions > 0 && data->partitioning == DATASET_NO_PARTITIONS)
        data->partitioning = DATASET_RANGE;
    data->partitions = (int)parse->partitions;
    data->fillfactor = (int)parse->fillfactor;
    data->scale = chosen->scale > 0 ? chosen->scale : 1;
    steps_complete(parse);
    return true;
}

static bool check_log(const struct pgbench_options *chosen)
{
    if (chosen->sampling_rate > 0 && !chosen->log)
        return refuse("log sampling (--sampling-rate) is allowed only when logging transactions (-l)");
    if (chosen->sampling_rate > 0 && chosen->aggregate_interval_s > 0)
        return refuse("log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same "
                      "time");
    if (chosen->aggregate_interval_s > 0 && !chosen->log)
        return refuse("log aggregation is allowed only when actually logging transactions");
    if (chosen->log_prefix != NULL && !chosen->log)
        return refuse("log file prefix (--log-prefix) is allowed only when logging transactions (-l)");
    if (chosen->duration_s == 0 || chosen->aggregate_interval_s == 0)
        return true;
    if (chosen->aggregate_interval_s > chosen->duration_s) {
        pgbench_say(SAY_ERROR, "number of seconds for aggregation (%lld) must not be higher than test duration (%lld)",
                    (long long)chosen->aggregate_interval_s, (long long)chosen->duration_s);
        return false;
    }
    if (chosen->duration_s % chosen->aggregate_interval_s != 0) {
        pgbench_say(SAY_ERROR, "duration (%lld) must be a multiple of aggregation interval (%lld)",
                    (long long)chosen->duration_s, (long long)chosen->aggregate_interval_s);
        return false;
    }
    return true;
}

/* Files of results that the run could not keep apart. */
static bool check_files(const struct pgbench_options *chosen)
{
    const struct {
        const char *option, *path;
    } files[] = {{"--json", chosen->json_path}, {"--hdr", chosen->hgrm_path}, {"--study", chosen->study_path}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].path == NULL)
            continue;
        if (files[i].path[0] == '\0') {
            pgbench_say(SAY_ERROR, "%s needs the name of a file", files[i].option);
            return false;
        }
        for (size_t k = 0; k < i; k++)
            if (files[k].path != NULL && strcmp(files[k].path, files[i].path) == 0) {
                pgbench_say(SAY_ERROR, "%s and %s name the same file: \"%s\"", files[k].option, files[i].option,
                            files[i].path);
                return false;
            }
    }
    return true;
}

static bool check_bench(struct pgbench_parse *parse)
{
    struct pgbench_options *chosen = &parse->chosen;
    if (parse->has_init_option)
        return refuse("some of the specified options cannot be used in benchmarking mode");
    if (chosen->transactions > 0 && chosen->duration_s > 0)
        return refuse("specify either a number of transactions (-t) or a duration (-T), not both");
    if (chosen->transactions == 0 && chosen->duration_s == 0)
        chosen->transactions = DEFAULT_TRANSACTIONS;
    if (!check_log(chosen) || !check_files(chosen))
        return false;
    if (chosen->progress_timestamp && chosen->progress_s == 0)
        return refuse("--progress-timestamp is allowed only under --progress");
    if (chosen->max_tries == 0 && chosen->latency_limit_ns == 0 && chosen->duration_s == 0)
        return refuse("an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)");
    int64_t planned;
    if (__builtin_mul_overflow(chosen->clients, chosen->transactions, &planned)) {
        pgbench_say(SAY_ERROR, "%lld clients with %lld transactions each are more than can be counted",
                    (long long)chosen->clients, (long long)chosen->transactions);
        return false;
    }
    if (chosen->threads > chosen->clients)
        chosen->threads = chosen->clients;
    if (chosen->threads > PL_MAX_WORKERS) {
        pgbench_say(SAY_WARNING, "%lld threads are more than the %d there can be", (long long)chosen->threads,
                    PL_MAX_WORKERS);
        chosen->threads = PL_MAX_WORKERS;
    }
    return true;
}

/* Without a wish the clock chooses; PGBENCH_RANDOM_SEED is a wish. */
static bool take_default_seed(struct pgbench_parse *parse)
{
    const char *wish = getenv("PGBENCH_RANDOM_SEED");
    if (wish != NULL)
        return pgbench_value_seed(parse, wish, "PGBENCH_RANDOM_SEED environment variable");
    parse->chosen.seed = (uint64_t)pl_clock_unix_ns();
    return true;
}

static bool parse_all(struct pgbench_parse *parse, int argc, char **argv)
{
    if (!take_default_seed(parse) || !read_arguments(parse, argc, argv))
        return false;
    if (parse->is_over)
        return true;
    if (!parse->chosen.initialize && !pgbench_script_complete(parse))
        return false;
    if (!(parse->chosen.initialize ? check_init(parse) : check_bench(parse)))
        return false;
    return pgbench_conninfo_make(parse);
}

bool pgbench_options_parse(int argc, char **argv, struct pl_arena *arena, struct pgbench_options *options, int *ret_exit)
{
    static const char *const automatic[] = {"scale", "client_id", "random_seed", "default_seed"};
    if (is_only_printing(argc, argv)) {
        *ret_exit = 0;
        return false;
    }
    struct pgbench_parse parse = {
        .arena = arena,
        .fillfactor = 100,
        .chosen = {.data.steps = "dtgvp", .clients = 1, .threads = 1, .max_tries = 1, .names = names_new(arena)}};
    for (size_t i = 0; i < sizeof automatic / sizeof automatic[0]; i++)
        names_predefine(parse.chosen.names, automatic[i]);
    bool is_good = parse_all(&parse, argc, argv);
    if (!is_good || parse.is_over) {
        *ret_exit = is_good ? 0 : 1;
        return false;
    }
    *options = parse.chosen;
    return true;
}
