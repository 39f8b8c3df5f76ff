/* A whole study in memory, as src/store loads it and src/model and src/page read it. Everything lives in one arena. */
#ifndef PL_RECORD_STUDY_H
#define PL_RECORD_STUDY_H

#include "base/arena.h"
#include "record/record.h"

struct study {
    struct pl_arena *arena; /* of the caller */
    int schema_version;
    const char *title; /* the plan's `study:` */
    const char *plan_text, *plan_path;
    const char *subject; /* service the study is about */
    const char *tool_version;
    uint64_t seed;
    int64_t started_unix_ns, ended_unix_ns; /* ended 0: not completed */
    const struct fact *facts;
    size_t fact_count;
    const struct stage_row *stages;
    size_t stage_count;
    const struct case_row *cases;
    size_t case_count;
    const struct trial_row *trials; /* by ordinal */
    size_t trial_count;
    const struct script_row *scripts;
    size_t script_count;
    const struct group_row *groups; /* of tenants, by case_id, group */
    size_t group_count;
    const struct slice *slices; /* by trial_id, start_ns; histograms decoded */
    size_t slice_count;
    const struct metric *metrics; /* by id: metrics[id - 1] */
    size_t metric_count;
    const struct sample *samples; /* by trial_id, metric_id, t_ns */
    size_t sample_count;
    const struct fault *faults;
    size_t fault_count;
};

/* NULL when absent. Linear; studies hold a few hundred rows of these. */
const struct fact *study_fact(const struct study *study, const char *scope, const char *name);
const struct stage_row *study_stage(const struct study *study, int64_t id);
const struct case_row *study_case(const struct study *study, int64_t id);
const struct trial_row *study_trial(const struct study *study, int64_t id);
const struct metric *study_metric(const struct study *study, const char *source, const char *name);
const char *param_value(const struct param *params, size_t count, const char *name);

/* The name of a group of tenants in a case; NULL: it has none of that number. */
const struct group_row *study_group(const struct study *study, int64_t case_id, int group);

/* The scope of the facts of a service in a case that varies it: "db", or "db data.scale=10 settings=custom" (by name,
 * whatever the order of the parameters "db.data.scale", "db.settings" is). In the arena. */
const char *param_scope(const struct param *params, size_t count, const char *service, struct pl_arena *arena);

/* The samples of one metric in one trial: pointer to the first and their count (contiguous by the sort order above). NULL
 * and 0 when there are none. Binary search. */
const struct sample *study_samples(const struct study *study, int64_t trial_id, int64_t metric_id, size_t *ret_count);

#endif
