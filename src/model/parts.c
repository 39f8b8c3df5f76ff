/* What the single scripts of a mix, and the groups of tenants, come to: the ledger, throughput and latencies of each. */
#include "model/model_int.h"

#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

enum { ALL = -1 };

const char *model_script_row(const struct study *study, int64_t case_id, int script, int step)
{
    for (size_t i = 0; i < study->script_count; i++) {
        const struct script_row *row = &study->scripts[i];
        if (row->case_id == case_id && row->script == script && row->step == step)
            return row->name;
    }
    return NULL;
}

const char *model_script_name(struct model_build *build, const struct model_case *cs, int script)
{
    const char *name = model_script_row(build->study, cs->row->id, script, -1);
    if (name == NULL && script == 0)
        name = param_value(cs->row->params, cs->row->param_count, "script");
    return name != NULL ? name : pl_format(build->arena, "script %d", script + 1);
}

static bool is_of(const struct slice *slice, int64_t trial_id, int script, int group)
{
    return slice->trial_id == trial_id && slice->step == -1 && (script == ALL || slice->script == script) &&
           (group == ALL || slice->group == group);
}

static const struct part_count {
    const char *name;
    size_t offset;
} part_counts[] = {
    {"due", offsetof(struct ledger, due)},         {"completed", offsetof(struct ledger, completed)},
    {"failed", offsetof(struct ledger, failed)},   {"skipped", offsetof(struct ledger, skipped)},
    {"expired", offsetof(struct ledger, expired)}, {"unfinished", offsetof(struct ledger, unfinished)},
};

static void put_part_ledger(struct model_build *build, const struct model_case *cs, const struct ledger *ledgers,
                            const char *subject)
{
    for (size_t k = 0; k < sizeof part_counts / sizeof *part_counts; k++) {
        struct model_values values = model_values_new(build, cs->count);
        for (size_t i = 0; i < cs->count; i++) {
            int64_t count;
            memcpy(&count, (const char *)&ledgers[i] + part_counts[k].offset, sizeof count);
            model_values_add(&values, cs->trials[i]->id, (double)count, 0);
        }
        model_put_sum(build,
                      &(struct model_label){part_counts[k].name, subject, "count",
                                            "Operations of this part of the load that were due inside the measured window, "
                                            "by how they ended; summed over trials."},
                      &values);
    }
    struct model_values errors = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++)
        model_values_add(&errors, cs->trials[i]->id, (double)(ledgers[i].failed + ledgers[i].expired),
                         (double)ledgers[i].due);
    model_put_ratio(build,
                    &(struct model_label){"error_frac", subject, "1",
                                          "Operations of this part of the load that were due in the window and failed or "
                                          "expired, over all of it due in the window; ratio of the sums over trials."},
                    &errors);
}

static void put_part(struct model_build *build, const struct model_case *cs, int script, int group, const char *subject)
{
    const struct study *study = build->study;
    struct ledger *ledgers = pl_alloc(build->arena, cs->count + 1, sizeof *ledgers);
    struct model_values tps = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        const struct trial_row *trial = cs->trials[i];
        int64_t in_window = 0;
        for (size_t k = 0; k < study->slice_count; k++) {
            const struct slice *slice = &study->slices[k];
            if (!is_of(slice, trial->id, script, group))
                continue;
            if (slice->due_in == PHASE_MEASURE)
                ledger_add(&ledgers[i], &slice->ledger);
            if (slice->during == PHASE_MEASURE)
                in_window += slice->ledger.completed;
        }
        double window_s = (double)(trial->measure_end_ns - trial->measure_start_ns) / (double)PL_NS_PER_S;
        if (trial->measure_start_ns > 0 && window_s > 0)
            model_values_add(&tps, trial->id, (double)in_window / window_s, 0);
        else
            model_values_lack(&tps, trial->id, "it has no measured window");
    }
    put_part_ledger(build, cs, ledgers, subject);
    struct figure *figure = model_put_mean(
        build,
        &(struct model_label){"tps", subject, "1/s",
                              "Operations of this part of the load that ended inside the measured window, over its length; "
                              "mean over trials, Student's t interval."},
        &tps);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
    model_put_part_latencies(build, cs, script, group, subject);
}

/* A part that is the whole needs no figures of its own. */
void model_put_parts(struct model_build *build, const struct model_case *cs)
{
    const struct study *study = build->study;
    int scripts = 0, groups = 0;
    while (model_script_row(study, cs->row->id, scripts, -1) != NULL)
        scripts++;
    while (study_group(study, cs->row->id, groups) != NULL)
        groups++;
    for (int i = 0; scripts > 1 && i < scripts; i++)
        put_part(build, cs, i, ALL, pl_format(build->arena, MODEL_SCRIPT_PART "%s", model_script_name(build, cs, i)));
    for (int i = 0; groups > 1 && i < groups; i++)
        put_part(build, cs, ALL, i,
                 pl_format(build->arena, MODEL_GROUP_PART "%s", study_group(study, cs->row->id, i)->name));
}
