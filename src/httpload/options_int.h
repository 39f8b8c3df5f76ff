/* Private to src/httpload: the command line, checked. */
#ifndef PL_HTTPLOAD_OPTIONS_INT_H
#define PL_HTTPLOAD_OPTIONS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "script/feed.h"
#include "script/program.h"
#include "stats/objective.h"

/* A list of texts, in the order given. */
struct httpload_texts {
    const char **items; /* NULL-ended once one was added */
    size_t count, capacity;
};

struct httpload_script {
    const char *title; /* as reports show it: "GET http://host/" or the file's name */
    const char *path;  /* NULL: a URL of the command line */
    int weight;
    const struct program *program; /* compiled by httpload_scripts_load */
};

struct httpload_objective {
    bool is_fail_if; /* --fail-if: the run fails when it is true; --threshold: it must hold */
    struct objective objective;
};

struct httpload_options {
    /* what is asked for */
    const char *url;      /* NULL: files only. Without user and password, which are in `user` */
    const char *base_url; /* NULL: none */
    const char *method;
    struct httpload_texts headers;
    const char *data; /* --data and -d@FILE, as given; NULL: none */
    const void *body;
    size_t body_length;
    const char *user; /* "name:password"; secret */
    struct httpload_script *scripts;
    int script_count;
    struct names *names;

    /* how connections are made */
    bool http2, http1_0, no_keepalive, insecure, follow, compressed, no_cookies, any_status;
    int64_t streams; /* 0: not given */
    const char *cacert, *cert, *key, *unix_socket;
    struct httpload_texts connect_to, sources;
    int64_t timeout_ns, connect_timeout_ns; /* 0: the second was not given */
    int64_t connections_total;              /* 0: as many as clients */

    /* how much */
    int64_t clients;
    int64_t duration_ns; /* 0: by operations */
    int64_t operations;  /* 0: by time */
    double rate_per_s;   /* 0: a closed loop */
    bool constant;
    int64_t warm_up_ns, drain_ns, think_ns;
    bool think_exponential;
    double session_operations; /* 0: none */
    bool session_geometric;
    int64_t workers; /* 0: chosen */
    uint64_t seed;

    /* data */
    struct httpload_texts variables, feeds, tenant_columns;
    const char *tenants_text; /* --tenants as given; NULL: none */
    int64_t tenant_count;     /* --tenants N; 0: a file */
    const struct feed *tenants;
    struct program_givens givens;

    /* --find-max */
    const char *find_text; /* NULL: not wanted */
    struct objective find;
    int64_t step_ns;
    double least_per_s, most_per_s; /* 0: no most */

    /* verdicts */
    struct httpload_objective *objectives;
    size_t objective_count;

    /* output */
    bool json; /* with json_path NULL: to standard output, and the report to standard error */
    const char *json_path, *hgrm_path, *hlog_path, *log_path; /* NULL: not wanted */
    bool progress, quiet;
};

/* Parses and checks what can be checked without reading a file. What only prints (--help, --version) is printed, and
 * *ret_exit is 0. On an error everything has been said on standard error, and *ret_exit is 2. true: go on. Everything
 * lives in the arena. */
bool httpload_options_parse(int argc, char **argv, struct pl_arena *arena, struct httpload_options *options, int *ret_exit);

/* Reads the body, data files, tenants and scripts, and compiles. Errors have been said. */
bool httpload_scripts_load(struct httpload_options *options, struct pl_arena *arena);

/* ---- between the options*.c: what is known while a command line is read ---- */

struct httpload_parse {
    struct httpload_options chosen;
    struct pl_arena *arena;
    struct httpload_texts operands, fail_ifs, thresholds;
    bool has_clients, has_duration, has_timeout, has_drain, has_warm_up, has_step, has_least, has_most;
    bool is_over; /* something was asked for that only prints, and it has been printed */
};

void httpload_texts_add(struct httpload_texts *texts, struct pl_arena *arena, const char *text);

/* One option's value, taken over into the parse. false: it is wrong, and that has been said. `given` names the option as
 * messages do: "-c/--connections", "--think". */
bool httpload_value_int(const char *given, const char *text, int64_t low, int64_t high, int64_t *ret_value);
bool httpload_value_duration(const char *given, const char *text, int64_t low_ns, int64_t *ret_ns);
bool httpload_value_rate(const char *given, const char *text, double *ret_per_s);
bool httpload_value_seed(const char *given, const char *text, uint64_t *ret_seed);
bool httpload_value_think(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_sessions(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_method(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_header(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_user(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_variable(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_connect_to(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_source(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_tenants(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_tenant(struct httpload_parse *parse, const char *given, const char *text);
bool httpload_value_file(const char *given, const char *text, const char **ret_path);

/* "FILE[:sequential|random|unique]". */
bool httpload_feed_split(struct pl_arena *arena, const char *text, const char **ret_path, enum feed_order *ret_order);

/* Operands, and what goes together. */
bool httpload_check(struct httpload_parse *parse);

#endif
