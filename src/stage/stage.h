/* Stage kinds: a plan's stage becomes cases, trials in an interleaved order, and acts for src/app/conduct to carry out. */
#ifndef PL_STAGE_STAGE_H
#define PL_STAGE_STAGE_H

#include "base/arena.h"
#include "plan/plan.h"
#include "record/record.h"

/* The few acts that every stage kind is made of. */
enum stage_act {
    ACT_END,     /* ends a list */
    ACT_PROBE,   /* measure the machine: flush latency, commit latency, round trip */
    ACT_SETTLE,  /* wait settle_ns with the service idle */
    ACT_IDLE,    /* observe the idle service for for_ns */
    ACT_TIDY,    /* vacuum and checkpoint what the load touches, so that trials start alike */
    ACT_SIZES,   /* read the sizes of database, tables, indexes */
    ACT_LOAD,    /* connect, warm up, measure, drain */
    ACT_COOLDOWN /* wait cooldown_ns */
};

struct stage_kind {
    enum plan_kind kind;
    const char *question;       /* one sentence, ends the heading of its page section */
    const enum stage_act *acts; /* ACT_END-ended */
    bool open_loop;
};
const struct stage_kind *stage_kind_of(enum plan_kind kind);

struct stage_case {
    struct plan_params params; /* with the axis values applied */
    /* As many as the plan has, in its order, with what the case varies applied: settings of the service, over them those of
     * a bundle, over them single ones. The scope of a variant is what param_scope (record) makes of the row's params. */
    const struct plan_service *services;
    struct case_row row; /* label, varied params; ids are filled by the conductor */
};

struct stage_trial {
    int case_index, iteration;
};

struct stage {
    const struct plan_stage *plan;
    const struct stage_kind *kind;
    struct stage_row row;     /* question, all params as text ("[1, 4, 16]" when varied); id is filled by the conductor */
    struct stage_case *cases; /* the matrix, last axis fastest */
    size_t case_count;
    /* In order of execution, iteration by iteration. Cases that differ only in what a service is (settings, version,
     * folder) are arms of one cell: within an iteration they run next to each other. Cells are shuffled; of the arms every
     * second iteration is a shuffle, and the one after it the same order backwards. */
    struct stage_trial *trials;
    size_t trial_count;
    bool restarts; /* it varies a service: every trial begins with one that was just started, so that all start alike */
    int64_t estimate_ns; /* how long it will take, without the service's own start: the stated times, and what
                          * stage.c assumes for acts whose length nobody states */
};

/* The order of trials follows from the plan's seed and the stage's name alone: more iterations append, other stages change
 * nothing. The plan, whose stage it is, must outlive the result. Cannot fail for a checked plan, except that the matrix has
 * more than PL_MAX_CASES (PL_LIMIT, with the place). */
PL_MUST_CHECK enum pl_code stage_expand(const struct plan *plan, const struct plan_stage *plan_stage,
                                        struct pl_arena *arena, struct stage **ret_stage, struct pl_err *err);

#endif
