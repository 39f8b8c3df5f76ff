/* The one place that sees every room and runs the experiment: starts services, carries out each stage's trials act by act,
 * and puts everything that was observed into the study. */
#ifndef PL_APP_CONDUCT_H
#define PL_APP_CONDUCT_H

#include <stdbool.h>

#include "app/live.h"
#include "base/err.h"
#include "plan/plan.h"

struct conduct_spec {
    const struct plan *plan;
    const char *study_path;
    bool resume;      /* go on with study_path after its last finished trial */
    const char *only; /* name of the one stage to run; NULL: all */
    bool quick;       /* every duration at most 1 s, at most 2 iterations, scale 1: to try a plan out */
    struct live *live;
    const volatile int *stop; /* set by a signal */
};

struct conduct_result {
    int trials_done, trials_failed, trials_void;
    bool opened;    /* the study file is this study's: created, or found to be the one to go on with */
    bool completed; /* every trial of the plan has been carried out */
};

/* Runs the plan. PL_OK also when trials failed: the result says so. Errors: what kept the study from going on; everything
 * that was measured until then is in the study. PL_INTERRUPTED: the user stopped it. Everything that was started is
 * stopped. */
PL_MUST_CHECK enum pl_code conduct_run(const struct conduct_spec *spec, struct conduct_result *ret_result,
                                       struct pl_err *err);

/* Finds what would keep conduct_run from beginning, as far as the plan and its scripts tell, without doing anything. */
PL_MUST_CHECK enum pl_code conduct_check(const struct plan *plan, struct pl_err *err);

/* Shortens a plan's stages for `quick`, in place of the ones in the arena it was read into. */
void conduct_make_quick(struct plan *plan, struct pl_arena *arena);

#endif
