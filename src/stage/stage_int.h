/* What stage.c, order.c and variant.c share. */
#ifndef PL_STAGE_STAGE_INT_H
#define PL_STAGE_STAGE_INT_H

#include "stage/stage.h"

/* The services of a case: the plan's own when the stage varies none. digits: which value of each axis. */
const struct plan_service *stage_variants(const struct plan *plan, const struct plan_stage *stage, const size_t *digits,
                                          const struct case_row *row, struct pl_arena *arena);

/* Fills trials and trial_count; the cases are there. */
void stage_order(struct stage *stage, uint64_t seed, struct pl_arena *arena);

#endif
