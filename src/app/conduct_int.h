/* Private to the files of the conductor: the running experiment. */
#ifndef PL_APP_CONDUCT_INT_H
#define PL_APP_CONDUCT_INT_H

#include "app/conduct.h"
#include "base/arena.h"
#include "load/load.h"
#include "record/sink.h"
#include "script/program.h"
#include "sense/sense.h"
#include "service/guard.h"
#include "service/service.h"
#include "stage/stage.h"
#include "store/store.h"

/* Metrics that the conductor itself pushes; ids count from 1. */
enum conduct_metric {
    CONDUCT_LOAD_CPU = 1,
    CONDUCT_LOAD_SETUP,
    CONDUCT_FLUSH_P50,
    CONDUCT_FLUSH_P99,
    CONDUCT_TOLD /* the first of those in told.c */
};

/* Facts of scope "plan": the text of a script; rows and hash of a feed, and of the tenants. */
#define CONDUCT_SCRIPT_FACT "script."
#define CONDUCT_FEED_FACT "feed."
#define CONDUCT_TENANTS_FACT "tenants"

/* What a case makes of a service of the plan; the scope of its facts tells variants apart. */
struct conduct_variant {
    size_t service; /* index into the plan's services */
    const struct plan_service *plan;
    struct service *kept; /* its files: running (then conduct.running has it) or paused; NULL: none yet */
    bool wanted;          /* by a trial that is still to be done */
    bool facts_put;
};

/* Files that variants with the same version and data begin with. */
struct conduct_origin {
    size_t service;
    const struct plan_service *plan;
    struct service *kept; /* paused */
};

/* What the clients of a case do: scripts over one set of variables. Cases with the same mix share it. */
struct conduct_load {
    const char *mix; /* as the case's parameter `script` */
    struct load_script *scripts;
    size_t script_count;
    struct load_variable *variables; /* that the plan gives as constants */
    size_t variable_count;
    struct feed *tenants; /* NULL: none */
    struct feed **feeds;  /* as many as the plan has */
    size_t feed_count;
    struct conduct_drawn *drawn; /* private to data.c: variables that are evaluated for each operation */
    size_t drawn_count;
};

struct conduct {
    const struct conduct_spec *spec;
    const struct plan *plan;
    struct pl_arena *arena;
    struct guard *guard;
    struct store *store;
    struct sink sink;
    struct stage **stages;            /* as many as the plan has */
    struct conduct_load **loads;      /* [stage case, flattened]: by case id - 1; NULL for a case without load */
    size_t case_count;                /* of them, as far as they are known */
    struct service **services;        /* as many as the plan has; NULL: not running */
    struct conduct_variant **running; /* which variant each of them is */
    struct conduct_variant **variants;
    size_t variant_count, variant_capacity;
    struct conduct_origin **origins;
    size_t origin_count, origin_capacity;
    bool host_facts_put;
    struct service *subject;
    struct sense *sense;
    int64_t next_metric_id;
    struct trial_row *stored; /* trials that were in the study when it was opened */
    size_t stored_count;
    int64_t next_trial_id;
    int next_ordinal;
    struct fact *notes; /* facts learned inside a trial, stored after it */
    size_t note_count, note_capacity;
    int64_t done_ns, total_ns; /* estimates of the trials behind and of all, for the time left */
    struct conduct_result result;
};

/* One execution of one case. */
struct trial_run {
    struct conduct *conduct;
    const struct stage *stage;
    const struct stage_case *stage_case;
    const struct conduct_load *load;
    struct trial_row row;
    char why[400];
    int64_t expired;  /* operations, so far */
    char errors[320]; /* of a trial that is done: what went wrong in it, for the person in front; "": nothing */
    bool service_died;
    int64_t begin_ns, estimate_ns;
};

/* Carries one trial out, act by act, inside the open transaction of the study; fills run->row. An error is one that ends
 * the study; what the service or the load did wrong ends up in run->row.state and in faults. */
PL_MUST_CHECK enum pl_code trial_carry_out(struct trial_run *run, struct pl_err *err);

/* That the study of this head may go on: the same plan, --quick as before, the same tool. PL_USAGE says what differs. */
PL_MUST_CHECK enum pl_code conduct_check_same(struct conduct *conduct, const struct store_head *head, struct pl_err *err);

/* Stores facts of one scope. PL_USAGE, and nothing stored, when the study has facts of that scope and one on which its
 * figures rest (version, settings, CPUs, memory, kernel) has changed. Of how long a service took to start, the first stays.
 */
PL_MUST_CHECK enum pl_code conduct_put_facts(struct conduct *conduct, const struct fact *facts, size_t count,
                                             struct pl_err *err);

/* Expands the stages, numbers the cases, compiles the scripts, checks that they fit the services. */
PL_MUST_CHECK enum pl_code conduct_prepare(struct conduct *conduct, struct pl_err *err);

/* --- scripts.c --- */

/* The load of a mix; compiled, with variables, feeds and tenants, when it is met for the first time. */
PL_MUST_CHECK enum pl_code conduct_load_of(struct conduct *c, const char *mix, struct conduct_load **ret_load,
                                           struct pl_err *err);
const struct plan_script *conduct_script_of(const struct plan *plan, const char *name); /* NULL: a builtin */
/* The text of a script as it may be kept: of a Hurl file without passwords and the like. In the arena. */
const char *conduct_script_kept(const struct plan_script *script, struct pl_arena *arena);
/* "GET http://bob:secret@host/x" as it may be kept. In the arena. */
const char *conduct_step_kept(const char *text, struct pl_arena *arena);

/* --- data.c --- */

/* Reads the plan's feeds and tenants, and makes its variables: their names are known from now on. PL_INPUT also when two of
 * them bring the same variable. */
PL_MUST_CHECK enum pl_code conduct_data_read(const struct conduct *c, struct conduct_load *load, struct names *names,
                                             struct pl_err *err);
/* The program with the steps in front of it that its operations begin with: a row of each feed, and a value of each
 * variable, that it uses itself or by way of a variable. names_forget_uses was called before it was compiled. */
const struct program *conduct_data_prepend(const struct conduct *c, const struct conduct_load *load,
                                           const struct program *program, struct names *names);
/* What the data were, for the study: rows, and a hash of what they say. Feeds that no stage's load reads are not there. */
void conduct_data_facts(const struct conduct *c, struct fact **ret_facts, size_t *ret_count);
/* PL_USAGE when the data are not what the facts of a study say. */
PL_MUST_CHECK enum pl_code conduct_data_check_same(const struct conduct *c, const struct fact *stored, size_t count,
                                                   struct pl_err *err);
/* A line for each of them, as `plimsoll check` shows it. */
void conduct_data_outline(const struct conduct *c, struct conduct_outline *outline);

/* --- http.c --- */

/* What a case asks of HTTP: the service's options, and over them those of the stage. In the arena. PL_INPUT: the URL is
 * wrong. */
PL_MUST_CHECK enum pl_code conduct_http(const struct plan_service *service, const struct plan_params *params,
                                        struct pl_arena *arena, struct load_http *ret_http, struct pl_err *err);
/* What would be found wrong only when the load begins. PL_INPUT with the place in the plan. */
PL_MUST_CHECK enum pl_code conduct_check_tenants(const struct conduct *c, const struct feed *tenants, struct pl_err *err);
PL_MUST_CHECK enum pl_code conduct_check_certificates(const struct conduct *c, struct pl_err *err);
/* That this process and machine can open the connections that a case needs. PL_INPUT says what would work. */
PL_MUST_CHECK enum pl_code conduct_check_ports(const struct conduct *c, const struct stage *stage,
                                               const struct stage_case *stage_case, const struct conduct_load *load,
                                               struct pl_err *err);

/* --- told.c --- */

/* Metrics of what the load says of itself, and of HTTP, once a trial. */
PL_MUST_CHECK enum pl_code conduct_declare_told(struct conduct *c, struct pl_err *err);
PL_MUST_CHECK enum pl_code conduct_push_told(struct trial_run *run, const struct load_result *result, struct pl_err *err);
int64_t conduct_told_end(void); /* the first metric id behind them */

/* Is the stage among those that were asked for? */
bool conduct_wants(const struct conduct *c, const struct stage *stage);

/* --- services.c --- */

/* The variant that a case makes of a service; known from now on. */
struct conduct_variant *conduct_variant(struct conduct *c, size_t service, const struct plan_service *plan);
size_t conduct_variant_count(const struct conduct *c, size_t service);
struct conduct_origin *conduct_origin(struct conduct *c, const struct conduct_variant *variant);

/* Makes every wanted variant of services that have several: builds the data, copies them, starts each once, stores its
 * facts and stops it again. */
PL_MUST_CHECK enum pl_code conduct_variants_make(struct conduct *c, struct pl_err *err);

/* Sees to it that the variants of this case run and nothing else, afresh where the stage varies services, with open
 * sensors. Those that are not there yet are made. */
PL_MUST_CHECK enum pl_code conduct_services_start(struct conduct *c, const struct stage *stage,
                                                  const struct stage_case *stage_case, struct pl_err *err);

/* Kills what runs and removes its files: it is not what was measured before. */
void conduct_services_drop(struct conduct *c);

/* Stops what runs and removes all files. */
void conduct_services_stop(struct conduct *c);

/* --- outline.c --- */

/* Of the wanted variants. */
void conduct_outline_make(struct conduct *c, struct conduct_outline *ret_outline);

/* PL_USAGE when the disk has less room than the data will need. */
PL_MUST_CHECK enum pl_code conduct_check_disk(struct conduct *c, struct pl_err *err);

#endif
