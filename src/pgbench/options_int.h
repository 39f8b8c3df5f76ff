/* Private to src/pgbench: the command line and the environment, checked. */
#ifndef PL_PGBENCH_OPTIONS_INT_H
#define PL_PGBENCH_OPTIONS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "script/program.h"
#include "service/dataset.h"

struct pgbench_script {
    const char *title;   /* as reports show it: "<builtin: TPC-B (sort of)>" or the file's name */
    const char *builtin; /* NULL: a file */
    const char *path;    /* as given; "-": standard input */
    int weight;          /* >= 0; 0: never runs, and is shown */
    const struct program *program;
};

struct pgbench_define {
    const char *name, *value;
};

struct pgbench_options {
    bool initialize;
    struct dataset_spec data;
    bool quiet;

    const char *conninfo; /* of everything that was said about the server; may hold a password */
    const char *database; /* its name, for messages */

    struct pgbench_script *scripts; /* at least one, compiled */
    int script_count;
    struct names *names;
    const struct pgbench_define *defines;
    size_t define_count;
    bool uses_builtin; /* one of the scripts at least is builtin: the scale is looked up in the database */
    int64_t scale;     /* -s; 0: not given */

    int64_t clients, threads;
    int64_t transactions; /* per client; 0: by time */
    int64_t duration_s;   /* 0: by transactions */
    enum plan_protocol protocol;
    bool connect, no_vacuum, vacuum_all, debug;
    bool continue_on_error, exit_on_abort, failures_detailed, verbose_errors, report_per_command;
    int64_t max_tries;        /* 0: no limit */
    double rate_per_s;        /* 0: none */
    int64_t latency_limit_ns; /* 0: none */
    int64_t progress_s;       /* 0: none */
    bool progress_timestamp;
    bool log;
    const char *log_prefix;
    int64_t aggregate_interval_s; /* 0: raw */
    double sampling_rate;         /* 0: all */
    uint64_t seed;
    bool seed_is_given; /* then it is shown */

    const char *json_path, *hgrm_path, *study_path; /* NULL: not wanted */
};

/* Parses, reads the scripts and compiles them. What only prints (--help, --version, -b list, --show-script) is printed, and
 * *ret_exit is 0. On an error everything has been said on standard error as pgbench says it, and *ret_exit is 1. true: go
 * on. Everything lives in the arena. */
bool pgbench_options_parse(int argc, char **argv, struct pl_arena *arena, struct pgbench_options *options, int *ret_exit);

/* Where in the arguments the database is named, by an option in whatever spelling or without one: pointers into argv, at
 * most one for each argument. Nothing is printed. */
size_t pgbench_options_databases(int argc, char **argv, struct pl_arena *arena, const char ***ret_texts);

/* ---- between the options*.c: what is known while a command line is read ---- */

struct pgbench_parse {
    struct pgbench_options chosen;
    struct pl_arena *arena;
    const char *host, *port, *user, *dbname; /* NULL: not given */
    int64_t fillfactor, partitions;
    bool foreign_keys;
    bool has_init_option, has_bench_option; /* one that belongs to one way of running only */
    bool is_over;                           /* something was asked for that only prints, and it has been printed */
    size_t script_capacity, define_capacity;
    bool has_read_stdin;
};

/* One option's value, taken over into the parse. false: it is wrong, and that has been said. `given` names the option as
 * messages do: "-c/--client", "--partitions". */
bool pgbench_value_int(const char *given, const char *text, int64_t low, int64_t high, int64_t *ret_value);
bool pgbench_value_rate(struct pgbench_parse *parse, const char *text);
bool pgbench_value_latency_limit(struct pgbench_parse *parse, const char *text);
bool pgbench_value_sampling_rate(struct pgbench_parse *parse, const char *text);
bool pgbench_value_max_tries(struct pgbench_parse *parse, const char *text);
bool pgbench_value_protocol(struct pgbench_parse *parse, const char *text);
bool pgbench_value_define(struct pgbench_parse *parse, const char *text);
bool pgbench_value_init_steps(struct pgbench_parse *parse, const char *text);
bool pgbench_value_partition_method(struct pgbench_parse *parse, const char *text);
/* source: "--random-seed option", for the message. */
bool pgbench_value_seed(struct pgbench_parse *parse, const char *text, const char *source);

/* -f, -b, -N and -S, --show-script. */
bool pgbench_script_file(struct pgbench_parse *parse, const char *text);
bool pgbench_script_builtin(struct pgbench_parse *parse, const char *text);
bool pgbench_script_show(struct pgbench_parse *parse, const char *text);
/* The default script when there is none; all weights zero. */
bool pgbench_script_complete(struct pgbench_parse *parse);

/* Makes chosen.conninfo and chosen.database of what was said and of libpq's defaults. */
bool pgbench_conninfo_make(struct pgbench_parse *parse);

#endif
