/* What the files of this room share: the tree that YAML becomes, the tables of keys, the reader that turns one into the
 * other. */
#ifndef PL_PLAN_PLAN_INT_H
#define PL_PLAN_PLAN_INT_H

#include "base/num.h"
#include "plan/plan.h"

enum node_type { NODE_SCALAR, NODE_LIST, NODE_MAP };

/* One node of the YAML text, in the arena. Keys of a map are scalars and differ from one another. */
struct node {
    enum node_type type;
    int line, col;    /* 1-based; columns count characters */
    const char *text; /* scalar: ends in NUL, holds no other NUL */
    size_t length;
    bool plain;          /* scalar: written without quotes */
    size_t start, end;   /* scalar: its characters in the text, quotes included */
    struct node **items; /* list: the items; map: the values */
    struct node **keys;  /* map */
    size_t count;
};

/* Text to tree. PL_INPUT and PL_LIMIT, always with a place. */
PL_MUST_CHECK enum pl_code plan_node_read(const char *path, const char *text, size_t length, struct pl_arena *arena,
                                          struct node **ret_root, struct pl_err *err);

/* The value of a key; NULL when the map has no such key. */
const struct node *plan_node_find(const struct node *map, const char *name);

/* Nothing was written: empty, ~ or null, unquoted. */
bool plan_node_is_null(const struct node *node);

/* What may stand behind a key that is no stage parameter. */
enum form {
    FORM_TEXT, /* one line */
    FORM_INTEGER,
    FORM_NAME, /* of a stage; plan_is_name */
    FORM_VERSION,
    FORM_PATH,
    FORM_USER,
    FORM_CHOICE, /* one of field.choices, stored as text */
    FORM_KIND,   /* a stage kind, stored as enum plan_kind */
    FORM_SETTINGS,
    FORM_DATA,
    FORM_PAGE,
    FORM_SERVICES,
    FORM_SUBJECT, /* the name of a service */
    FORM_SCRIPTS,
    FORM_STAGES,
    FORM_OVER,
    FORM_FLAG, /* yes or no, stored as bool; FORM_NO_FLAG: stored turned around */
    FORM_NO_FLAG,
    FORM_DURATION,
    FORM_ORDER, /* of a feed, stored as enum plan_feed_order */
    FORM_URL,
    FORM_HTTP,
    FORM_VARIABLES,
    FORM_FEEDS,
    FORM_TENANTS,
    FORM_PATTERN,  /* of tenants: a column */
    FORM_PATTERNS, /* of tenants: columns that are variables */
    FORM_COUNT
};

/* One row of a table of keys that are not stage parameters. */
struct field {
    const char *name;
    enum form form;
    size_t offset; /* into the level's struct, for the forms that are one value */
    bool required;
    const char *unset;          /* default as plan text; NULL: none */
    double low, high;           /* FORM_INTEGER, inclusive */
    const char *const *choices; /* FORM_CHOICE, NULL-ended */
    const char *fallback;       /* what holds when it is absent, for the reference; NULL: see unset */
    const char *doc;
};

/* The keys that may stand in one map of the plan. */
struct level {
    const char *heading;
    const struct field *fields;
    size_t count;
};
extern const struct level plan_level_top, plan_level_service, plan_level_data, plan_level_page, plan_level_stage,
    plan_level_http, plan_level_feed, plan_level_tenants;

#define PLAN_HEADER_PREFIX "header." /* of tenants: such keys are columns too */

/* A setting that a plan may not change, and why. */
struct owned_setting {
    const char *name, *why;
};
extern const struct owned_setting plan_owned_settings[]; /* ended by a NULL name */

/* What the names of settings with secret values have in them (NULL-ended), the one such name that has none, and why plans
 * may not hold them. */
extern const char *const plan_secret_marks[];
extern const char plan_secret_exception[], plan_secret_why[];

/* Names of services that the records use for something else. NULL-ended. */
extern const char *const plan_reserved_services[];

extern const char *const plan_kind_names[]; /* NULL-ended, by enum plan_kind */

/* What of a service a stage can vary. `name` is what stands behind "SERVICE." in `over:`. */
struct service_axis {
    const char *name;
    enum plan_axis_kind kind;
    const char *values; /* what it takes, for the reference */
    const char *doc;
};
extern const struct service_axis plan_service_axes[]; /* ended by a NULL name */

/* The state of one reading. */
struct reader {
    const char *path;
    const char *const *builtin_names;
    struct pl_arena *arena;
    struct pl_err *err;
    struct plan *plan;
    const struct node *root;
    struct secret *secrets; /* by place */
    size_t secret_count, secret_capacity;
};

/* What the plan that is kept must not hold. */
struct secret {
    size_t start, end;   /* characters */
    const char *instead; /* in double quotes */
};

/* Sets PL_INPUT at a node; `return fail(...)` reads well. */
enum pl_code plan_fail(struct reader *reader, const struct node *at, const char *fmt, ...) PL_PRINTF(3, 4);

/* The text in quotes, shortened, without control characters: for messages. In the arena. */
const char *plan_shown(struct pl_arena *arena, const char *text);

/* Hint that names the candidate nearest to word by edit distance, or lists them all when none is near. `lead` begins the
 * list: "The keys here are". NULL-ended candidates. */
void plan_hint_nearest(struct reader *reader, const char *word, const char *const *candidates, const char *lead);

/* "a, b and c", in the arena. */
const char *plan_join(struct pl_arena *arena, const char *const *words, const char *last);

/* Letters, digits, '_', '-', '.', at most 63 bytes, begins with a letter or a digit: what may stand in a label, a file name
 * or on a command line as it is. */
bool plan_is_name(const char *text);

/* The node is a scalar with something in it. `name` is its key. */
PL_MUST_CHECK enum pl_code plan_need_scalar(struct reader *reader, const char *name, const struct node *node);

/* Every key of the map is known to the level. owner: "service \"db\"". */
PL_MUST_CHECK enum pl_code plan_check_known(struct reader *reader, const struct level *level, const struct node *map,
                                            const char *owner);

/* Takes the level's fields from the map into a struct, and the defaults of those that are absent. */
PL_MUST_CHECK enum pl_code plan_take_fields(struct reader *reader, const struct level *level, const struct node *map,
                                            const char *owner, void *into);

/* Checks one value against the key and stores it. */
PL_MUST_CHECK enum pl_code plan_take_param(struct reader *reader, const struct plan_key *key, const struct node *node,
                                           struct plan_params *params);

/* Takes one field of a level from its node, into the level's struct. */
PL_MUST_CHECK enum pl_code plan_take_field(struct reader *reader, const struct field *field, const struct node *node,
                                           void *into);

/* A map of settings, each checked. owner: "\"settings\"". */
PL_MUST_CHECK enum pl_code plan_take_settings(struct reader *reader, const struct node *node, const char *owner,
                                              const struct plan_setting **ret_settings, size_t *ret_count);
PL_MUST_CHECK enum pl_code plan_check_setting(struct reader *reader, const struct node *key, const struct node *value);

/* Refuses a name that plan_is_name does not take. what: "stage". */
enum pl_code plan_refuse_name(struct reader *reader, const struct node *node, const char *what);

/* A key of a stage or of its `over:` that its kind does not take. */
enum pl_code plan_refuse_key(struct reader *reader, const struct plan_stage *stage, const struct node *key, bool in_over);

/* The `over:` of a stage. map: the stage; index: its place among reader->plan->stages, those before it are complete. */
PL_MUST_CHECK enum pl_code plan_take_over(struct reader *reader, const struct node *map, struct plan_stage *stages,
                                          size_t index);

/* Once all stages are known: each service is told which of its settings are varied. */
void plan_tell_services(struct reader *reader);

/* `stages:` into reader->plan. */
PL_MUST_CHECK enum pl_code plan_take_stages(struct reader *reader, const struct node *list);

/* What plan_params_set does, with an answer instead of a panic. A name always fits. */
enum pl_num_result plan_params_try(struct plan_params *params, const struct plan_key *key, const char *text);

/* A number in the key's stored unit as plan text, in the arena. */
const char *plan_number_text(enum plan_type type, double value, struct pl_arena *arena);

/* --- http.c: what plans say of HTTP, and of data for scripts --- */
PL_MUST_CHECK enum pl_code plan_take_url(struct reader *reader, const struct field *field, const struct node *node,
                                         void *at);
PL_MUST_CHECK enum pl_code plan_take_variables(struct reader *reader, const struct field *field, const struct node *node,
                                               void *into);
PL_MUST_CHECK enum pl_code plan_take_feeds(struct reader *reader, const struct field *field, const struct node *node,
                                           void *into);
PL_MUST_CHECK enum pl_code plan_take_tenants(struct reader *reader, const struct field *field, const struct node *node,
                                             void *into);
/* That a service has the keys of its kind and no others. map: where they stand. */
PL_MUST_CHECK enum pl_code plan_check_service(struct reader *reader, const struct plan_service *service,
                                              const struct node *map);
/* That a stage asks of its subject what can be asked of it. map: the stage. */
PL_MUST_CHECK enum pl_code plan_check_speech(struct reader *reader, const struct plan_stage *stage, const struct node *map);
/* That a script of that name can be sent to the subject. */
PL_MUST_CHECK enum pl_code plan_check_script_speech(struct reader *reader, const struct node *node, const char *script);

/* --- mix.c --- */
/* The text of a `script:`, canonical: of a name, a map of names to weights, or the canonical text itself. */
PL_MUST_CHECK enum pl_code plan_take_mix(struct reader *reader, const struct node *node, const char **ret_text);

/* --- parse.c --- */
const char *plan_beside(struct reader *reader, const char *name); /* under the plan's folder, unless it is absolute */
PL_MUST_CHECK enum pl_code plan_need_map(struct reader *reader, const struct node *node, const char *owner,
                                         const char *example);
PL_MUST_CHECK enum pl_code plan_take_level(struct reader *reader, const struct level *level, const struct node *node,
                                           const char *owner, const char *example, void *into);

/* --- secret.c --- */
/* "user:password@" in a URL stays out of what is kept. */
void plan_hide_url(struct reader *reader, const struct node *node);
void plan_hide(struct reader *reader, const struct node *node);
/* The text with the secrets replaced. In the arena. */
const char *plan_text_kept(struct reader *reader, const char *text, size_t length, size_t *ret_length);

#endif
