/* From what was stored to figures. Pure: a study in, figures out; no clock, no file, no server. */
#ifndef PL_MODEL_MODEL_H
#define PL_MODEL_MODEL_H

#include "base/arena.h"
#include "record/study.h"

/* All figures of the study, sorted by stage, case, name, subject. Names, units and formulas stand in docs/figures.md. Only
 * trials in state DONE are used, except for the host's noise: that is told for every trial (subject "trial N"), because it
 * says why one is void. A figure that cannot be given is present with status FIGURE_ABSENT and a note that says why.
 * A percentile that lies among operations without an end is absent too; its value, else NAN, is then a lower bound.
 * Figures and all that they point to live in the arena or in the study. */
struct figures {
    const struct figure *items;
    size_t count;
};
struct figures model_figures(const struct study *study, struct pl_arena *arena);

/* Subjects of figures of one script of a mix, and of one group of tenants, begin with these; their names follow. */
#define MODEL_SCRIPT_PART "script:"
#define MODEL_GROUP_PART "group:"

/* NULL when there is none of that name. subject "" matches only "". Binary search. */
const struct figure *model_figure(const struct figures *figures, int64_t stage_id, int64_t case_id, const char *subject,
                                  const char *name);

/* Two cases of a closed loop that differ in one thing of a service alone (settings, version, folder): `other` is compared
 * with `base`, which has the first value that the plan gives. */
struct model_comparison {
    const struct stage_row *stage;
    const struct case_row *base, *other;
    const char *axis; /* the parameter: "db.settings"; subject of the figures, which belong to the case `other` */
};

/* All that the study holds, by stage, position of the parameter, case. In the arena. */
const struct model_comparison *model_comparisons(const struct study *study, struct pl_arena *arena, size_t *ret_count);

/* The p value below which a difference is told, after correction; intervals hold at one minus it. */
#define MODEL_COMPARISON_LEVEL 0.05

#endif
