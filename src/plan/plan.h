/* A plan as parsed and checked: what a YAML file says is to be measured. Every key, its type, default, range and one line
 * of documentation stand in the tables of keys.c; the parser, the reference in docs/plans.md and the JSON schema read them.
 * Everything lives in the arena given to plan_parse. Includes only base: what a stage kind does is src/stage's business. */
#ifndef PL_PLAN_PLAN_H
#define PL_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct pl_buf;

enum plan_protocol { PLAN_SIMPLE, PLAN_EXTENDED, PLAN_PREPARED };
enum plan_arrivals { PLAN_CONSTANT, PLAN_POISSON };

/* The stage kinds that exist. Their names and which keys each takes stand in keys.c. */
enum plan_kind { PLAN_HARDWARE, PLAN_FOOTPRINT, PLAN_CLIENTS, PLAN_RATE, PLAN_STORAGE, PLAN_KIND_COUNT };
const char *plan_kind_name(enum plan_kind kind);

/* What a stage says of HTTP where the service may say it too. */
enum plan_choice { PLAN_AS_SERVICE, PLAN_NO, PLAN_YES };
enum plan_think_law { PLAN_THINK_CONSTANT, PLAN_THINK_EXPONENTIAL };
enum plan_session_law { PLAN_SESSION_FIXED, PLAN_SESSION_GEOMETRIC };

/* Every parameter that any stage kind takes, with units; a kind uses those its table row names. */
struct plan_params {
    const char *script;   /* a builtin's name or a key of `scripts:`, or a mix of them: see plan_mix */
    int64_t clients;      /* simulated users, each with a connection */
    int64_t workers;      /* load threads; 0 = chosen from the number of clients and cores */
    int64_t protocol;     /* enum plan_protocol */
    int64_t arrivals;     /* enum plan_arrivals, open loop only */
    double rate_per_s;    /* open loop: operations due per second */
    int64_t operations;   /* stop after that many instead of after for_ns; 0 = by time */
    int64_t transactions; /* closed loop: each client is done after so many; 0 = see operations. Not both */
    int64_t settle_ns, warm_up_ns, for_ns, drain_ns, cooldown_ns;
    int64_t iterations;
    int64_t think_ns, think_law;  /* a client waits so long between two operations; enum plan_think_law */
    int64_t session, session_law; /* open loop: users that carry out so many operations; 0: none; enum plan_session_law */
    int64_t http2, streams;       /* here and below: HTTP. enum plan_choice; 0: as the service says */
    int64_t connections, keep_alive; /* 0: as the service says; enum plan_choice */
    int64_t max_time_ns;             /* 0: as the service says */
    int64_t follow, compressed;      /* enum plan_choice */
};

enum plan_type { PLAN_TYPE_COUNT, PLAN_TYPE_DURATION, PLAN_TYPE_RATE, PLAN_TYPE_NAME, PLAN_TYPE_CHOICE };

/* How a service is reached. */
enum plan_speech { PLAN_ANY_SPEECH, PLAN_SQL, PLAN_HTTP };

/* One row of the key table for stage parameters. A name may stand in several rows, each for other kinds, where the kinds
 * differ in default or range: look a name up with plan_stage_key, or go through the rows whose `kinds` has the kind's bit.
 */
struct plan_key {
    const char *name; /* as written in a plan: "for" */
    enum plan_type type;
    size_t offset;              /* into struct plan_params */
    const char *const *choices; /* for PLAN_TYPE_CHOICE, NULL-ended; the value is the index */
    const char *unset;          /* default as plan text; NULL: required by the kinds that take it */
    double low, high;           /* inclusive range in the stored unit */
    unsigned kinds;             /* bit (1 << plan_kind) of each kind that takes it */
    enum plan_speech speech;    /* of subjects that are reached in this way only */
    const char *doc;
};
extern const struct plan_key plan_stage_keys[];
extern const size_t plan_stage_key_count;

/* The row of a name for a kind; NULL when the kind does not take it. */
const struct plan_key *plan_stage_key(enum plan_kind kind, const char *name);

struct plan_setting {
    const char *name, *value;
    int line, col;
};

/* Settings of a service under one name; the same name means the same settings in the whole plan. */
struct plan_bundle {
    const char *name;
    const struct plan_setting *settings;
    size_t setting_count;
    int line, col;
};

/* What an axis of `over:` varies: a parameter of the stage, or something of a service, which then runs in variants. */
enum plan_axis_kind {
    PLAN_AXIS_PARAM,
    PLAN_AXIS_SETTINGS, /* named bundles: "db.settings" */
    PLAN_AXIS_SETTING,  /* one: "db.settings.shared_buffers" */
    PLAN_AXIS_VERSION,
    PLAN_AXIS_DIRECTORY,
    PLAN_AXIS_SCALE /* of its data: "db.data.scale" */
};

struct plan_axis {
    enum plan_axis_kind kind;
    const char *name;                  /* as in the plan: "clients", "db.version" */
    const struct plan_key *key;        /* PLAN_AXIS_PARAM */
    size_t service;                    /* all others: index into plan.services */
    const char *setting;               /* PLAN_AXIS_SETTING: its name */
    const struct plan_bundle *bundles; /* PLAN_AXIS_SETTINGS: as many as values, which are their names */
    const char *const *values;         /* plan text, each checked; no two alike; at least 1 */
    size_t value_count;
    int line, col;
};

struct plan_stage {
    enum plan_kind kind;
    const char *name;             /* unique; the kind's name unless `name:` is given */
    struct plan_params params;    /* stated values and defaults; of a parameter in `over:` the first value */
    const struct plan_axis *axes; /* `over:`, in the plan's order */
    size_t axis_count;
    int line, col;
};

/* How requests are made of a service that is reached by HTTP; 0 and NULL: the load engine's defaults. */
struct plan_http {
    bool http2, insecure, follow, compressed, no_keep_alive;
    int64_t streams, connections, connect_timeout_ns, max_time_ns;
    const char *ca_file; /* as opened */
};

struct plan_service {
    const char *name;
    const char *scope;     /* under which its facts are recorded; NULL: its name. Of a variant see stage.h */
    const char *kind;      /* "postgres", "attach" */
    const char *url;       /* attach: where it is; may hold "user:password@". NULL otherwise */
    struct plan_http http; /* attach */
    const char *version;   /* "15"; NULL: the newest found */
    const char *directory; /* bin directory or prefix, as opened (relative to the plan's folder); NULL: searched */
    const char *user;      /* who it runs as when the tool is root; NULL: "postgres", else "nobody" */
    const struct plan_setting *settings;
    size_t setting_count;
    const char *const
        *told;             /* NULL-ended: settings that stages vary; their values are facts also where they are defaults */
    const char *data_kind; /* data set built once it is ready: "tpcb"; NULL: none */
    int64_t data_scale;    /* 1..100000 */
    int line, col;
};

struct plan_script {
    const char *name;
    const char *path; /* as opened: relative names are relative to the plan's folder */
    const char *text; /* its content, read and kept in the plan; never empty */
    size_t length;
    bool is_hurl; /* its path ends in ".hurl": requests of HTTP; else pgbench's script language */
    int line, col;
};

/* A variable of scripts that the plan gives: what program_give (src/script) makes of its text. */
struct plan_variable {
    const char *name, *text;
    int line, col;
};

enum plan_feed_order { PLAN_SEQUENTIAL, PLAN_RANDOM, PLAN_UNIQUE };

/* A file of test data whose columns become variables; each operation takes the next row. */
struct plan_feed {
    const char *name;
    const char *path; /* as opened */
    int64_t order;    /* enum plan_feed_order */
    int line, col;
};

/* Whom the load speaks for: a file of targets, or `count` of them from patterns. */
struct plan_column {
    const char *name, *text; /* "url", "host", "user", "header.NAME", "weight", "group", or a variable */
};
struct plan_tenants {
    const char *path; /* as opened; NULL: from patterns */
    int64_t count;
    const struct plan_column *columns;
    size_t column_count;
    int line, col;
};

struct plan {
    const char *path; /* as given */
    const char *text; /* the whole file as it may be kept: with "***" for what may be a secret */
    size_t length;
    const char *title;      /* `study:` */
    const char *page_title; /* `page: {title:}`; the study's title when absent */
    uint64_t seed;          /* `seed:`; 1 when absent */
    const struct plan_service *services;
    size_t service_count;
    const struct plan_service *subject;
    const struct plan_script *scripts;
    size_t script_count;
    const struct plan_variable *variables;
    size_t variable_count;
    const struct plan_feed *feeds;
    size_t feed_count;
    const struct plan_tenants *tenants; /* NULL: none */
    const struct plan_stage *stages;
    size_t stage_count;
};

/* Reads and checks a plan. Codes: PL_INPUT with file, line and column for what is wrong in the text; PL_NOT_FOUND,
 * PL_LIMIT, PL_IO for the file itself. builtin_names: NULL-ended names of builtin scripts that `script:` may use (plan
 * cannot see src/script). ret_plan is untouched on failure. */
PL_MUST_CHECK enum pl_code plan_read(const char *path, const char *const *builtin_names, struct pl_arena *arena,
                                     struct plan **ret_plan, struct pl_err *err);

/* The same from text (for tests and fuzzing); `path` is only a name and the folder of relative script files. */
PL_MUST_CHECK enum pl_code plan_parse(const char *path, const char *text, size_t length, const char *const *builtin_names,
                                      struct pl_arena *arena, struct plan **ret_plan, struct pl_err *err);

/* Sets one parameter from plan text that was checked before (an axis value); a value that does not fit is our bug. */
void plan_params_set(struct plan_params *params, const struct plan_key *key, const char *text);

/* Canonical plan text of one parameter ("5s", "200/s", "prepared"), in the arena; "" for a name that is not set. Read back
 * with plan_params_set it gives the same value. */
const char *plan_params_text(const struct plan_params *params, const struct plan_key *key, struct pl_arena *arena);

/* How the service is reached. */
enum plan_speech plan_speech_of(const struct plan_service *service);

/* Whether the key means anything for the plan's subject. */
bool plan_key_applies(const struct plan *plan, const struct plan_key *key);

/* One script of a mix. */
struct plan_share {
    const char *script; /* its name; in the arena of plan_mix */
    int64_t weight;
};
enum { PLAN_MIX_SCRIPTS = 32 };
#define PLAN_MIX_WEIGHT 1e6

/* What a stage's `script` says: "browse", or several with their weights, "browse@3+buy@1". Returns how many there are,
 * at most PLAN_MIX_SCRIPTS; 0: the text is none. */
size_t plan_mix(const char *text, struct pl_arena *arena, struct plan_share shares[PLAN_MIX_SCRIPTS]);

/* Why a plan may not set a setting of a service, or NULL when it may. Upper and lower case are the same. */
const char *plan_setting_refusal(const char *name);

/* Whether the value of a setting may be a secret, by its name: it is never recorded. */
bool plan_setting_is_secret(const char *name);

/* The reference of all keys as Markdown (the part of docs/plans.md between its markers), and as a JSON schema (draft
 * 2020-12) for editors. Both come from the tables that the parser reads. */
void plan_keys_markdown(struct pl_buf *buf);
void plan_keys_json_schema(struct pl_buf *buf);

#endif
