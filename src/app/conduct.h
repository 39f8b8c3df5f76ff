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
    bool quick;       /* conduct_make_quick was used on the plan */
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

/* What a study takes before its first trial. */
struct conduct_outline {
    int64_t start_ns;                     /* building data, copying them, starting services; a rough estimate */
    int64_t disk_bytes;                   /* of data, without write-ahead log */
    int64_t free_bytes;                   /* where they will be; negative: not known */
    const char *place;                    /* the directory for temporary files */
    const struct plan_service **variants; /* of services that stages vary */
    size_t variant_count;
    const char **data; /* a line for each feed, and for the tenants */
    size_t data_count;
};

/* Finds what would keep conduct_run from beginning, as far as the plan and its scripts tell, without doing anything. The
 * outline lives in the arena. */
PL_MUST_CHECK enum pl_code conduct_check(const struct plan *plan, struct pl_arena *arena,
                                         struct conduct_outline *ret_outline, struct pl_err *err);

/* Shortens a plan for `quick`, in the arena it was read into: every duration at most 1 s, 2 iterations, operations at most
 * 200, transactions one in 500, data at scale 1 (one hundredth of a scale that is varied). Values of `over:` go on
 * differing from one another. */
void conduct_make_quick(struct plan *plan, struct pl_arena *arena);

#endif
