/* Private to conduct.c and trial.c: the running experiment. */
#ifndef PL_APP_CONDUCT_INT_H
#define PL_APP_CONDUCT_INT_H

#include "app/conduct.h"
#include "base/arena.h"
#include "record/sink.h"
#include "script/program.h"
#include "sense/sense.h"
#include "service/guard.h"
#include "service/service.h"
#include "stage/stage.h"
#include "store/store.h"

/* Metrics that the conductor itself pushes; ids count from 1. */
enum conduct_metric { CONDUCT_LOAD_CPU = 1, CONDUCT_LOAD_SETUP, CONDUCT_FLUSH_P50, CONDUCT_FLUSH_P99, CONDUCT_METRIC_END };

#define CONDUCT_SCRIPT_FACT "script." /* facts of scope "plan": the text of a script */

struct conduct {
    const struct conduct_spec *spec;
    const struct plan *plan;
    struct pl_arena *arena;
    struct guard *guard;
    struct store *store;
    struct sink sink;
    struct stage **stages;           /* as many as the plan has */
    const struct program **programs; /* [stage case, flattened]: by case id - 1; NULL for a case without load */
    struct service **services;       /* as many as the plan has; NULL: not running */
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
    const struct program *program;
    struct trial_row row;
    char why[400];
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

/* Starts every service of the plan that is not running, loads its data and opens the sensors. */
PL_MUST_CHECK enum pl_code conduct_services_start(struct conduct *conduct, struct pl_err *err);

#endif
