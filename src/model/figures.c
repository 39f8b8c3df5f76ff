/* All figures of a study: which figures each kind of stage yields, and how one is found again. */
#include "model/model_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

static const struct kind_row {
    const char *kind;
    bool open_loop;
    void (*put[2])(struct model_build *build, const struct model_case *cs);
} kind_rows[] = {
    {"hardware", false, {model_put_hardware}},
    {"footprint", false, {model_put_footprint}},
    {"clients", false, {model_put_load}},
    {"rate", true, {model_put_load}},
    {"storage", false, {model_put_load, model_put_storage}},
};

static const struct kind_row *kind_of(const struct stage_row *stage)
{
    for (size_t i = 0; i < sizeof kind_rows / sizeof *kind_rows; i++)
        if (strcmp(kind_rows[i].kind, stage->kind) == 0)
            return &kind_rows[i];
    return NULL;
}

/* A stage of a kind that is not open loop by nature is so when it was given a rate and no number of clients decides. */
static bool is_open_loop(const struct kind_row *kind, const struct stage_row *stage, const struct case_row *row)
{
    if (kind->open_loop || strcmp(kind->kind, "clients") == 0)
        return kind->open_loop;
    const char *rate = param_value(row->params, row->param_count, "rate");
    if (rate == NULL)
        rate = param_value(stage->params, stage->param_count, "rate");
    return rate != NULL && rate[0] != '\0' && strcmp(rate, "0") != 0;
}

/* The trials that figures rest on: those that are done. Marked ones (the schedule was not kept, or the client was the
 * limit) are used for means and percentiles, which then say so in a note; what fits a curve through cases must leave them
 * out. */
static struct model_case case_of(struct model_build *build, const struct stage_row *stage, const struct case_row *row)
{
    const struct study *study = build->study;
    struct model_case cs = {.stage = stage, .row = row};
    cs.trials = pl_alloc(build->arena, study->trial_count + 1, sizeof *cs.trials);
    for (size_t i = 0; i < study->trial_count; i++)
        if (study->trials[i].case_id == row->id && study->trials[i].state == TRIAL_DONE)
            cs.trials[cs.count++] = &study->trials[i];
    return cs;
}

static void put_case(struct model_build *build, const struct stage_row *stage, const struct case_row *row)
{
    const struct kind_row *kind = kind_of(stage);
    build->case_id = row->id;
    if (kind != NULL) {
        struct model_case cs = case_of(build, stage, row);
        cs.open_loop = is_open_loop(kind, stage, row);
        for (size_t i = 0; i < 2 && kind->put[i] != NULL; i++)
            kind->put[i](build, &cs);
    }
    for (size_t i = 0; i < build->study->trial_count; i++)
        if (build->study->trials[i].case_id == row->id)
            model_put_trial_noise(build, &build->study->trials[i]);
    build->case_id = 0;
}

static int compare_keys(const struct figure *a, const struct figure *b)
{
    if (a->stage_id != b->stage_id)
        return a->stage_id < b->stage_id ? -1 : 1;
    if (a->case_id != b->case_id)
        return a->case_id < b->case_id ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names != 0 ? names : strcmp(a->subject, b->subject);
}

static int compare_figures(const void *a, const void *b)
{
    return compare_keys(a, b);
}

struct figures model_figures(const struct study *study, struct pl_arena *arena)
{
    struct model_build build = {.study = study, .arena = arena};
    model_put_study_noise(&build);
    for (size_t i = 0; i < study->stage_count; i++) {
        const struct stage_row *stage = &study->stages[i];
        build.stage_id = stage->id;
        model_put_stage_noise(&build, stage);
        for (size_t k = 0; k < study->case_count; k++)
            if (study->cases[k].stage_id == stage->id)
                put_case(&build, stage, &study->cases[k]);
    }
    build.stage_id = 0;
    model_put_comparisons(&build);
    if (build.count > 0)
        qsort(build.items, build.count, sizeof *build.items, compare_figures);
    return (struct figures){.items = build.items, .count = build.count};
}

const struct figure *model_figure(const struct figures *figures, int64_t stage_id, int64_t case_id, const char *subject,
                                  const char *name)
{
    struct figure key = {.stage_id = stage_id, .case_id = case_id, .name = name, .subject = subject};
    if (figures->count == 0)
        return NULL;
    return bsearch(&key, figures->items, figures->count, sizeof key, compare_figures);
}
