/* Look-ups in a loaded study. */
#include "record/study.h"

#include <string.h>

#include "base/ban.h"

const struct fact *study_fact(const struct study *study, const char *scope, const char *name)
{
    for (size_t i = 0; i < study->fact_count; i++) {
        const struct fact *fact = &study->facts[i];
        if (strcmp(fact->scope, scope) == 0 && strcmp(fact->name, name) == 0)
            return fact;
    }
    return NULL;
}

const struct stage_row *study_stage(const struct study *study, int64_t id)
{
    for (size_t i = 0; i < study->stage_count; i++) {
        if (study->stages[i].id == id)
            return &study->stages[i];
    }
    return NULL;
}

const struct case_row *study_case(const struct study *study, int64_t id)
{
    for (size_t i = 0; i < study->case_count; i++) {
        if (study->cases[i].id == id)
            return &study->cases[i];
    }
    return NULL;
}

const struct trial_row *study_trial(const struct study *study, int64_t id)
{
    for (size_t i = 0; i < study->trial_count; i++) {
        if (study->trials[i].id == id)
            return &study->trials[i];
    }
    return NULL;
}

const struct metric *study_metric(const struct study *study, const char *source, const char *name)
{
    for (size_t i = 0; i < study->metric_count; i++) {
        const struct metric *metric = &study->metrics[i];
        if (strcmp(metric->source, source) == 0 && strcmp(metric->name, name) == 0)
            return metric;
    }
    return NULL;
}

const struct group_row *study_group(const struct study *study, int64_t case_id, int group)
{
    for (size_t i = 0; i < study->group_count; i++) {
        if (study->groups[i].case_id == case_id && study->groups[i].group == group)
            return &study->groups[i];
    }
    return NULL;
}

const char *param_value(const struct param *params, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(params[i].name, name) == 0)
            return params[i].value;
    }
    return NULL;
}

/* What stands behind "SERVICE." in a parameter's name; NULL when it is of something else. */
static const char *name_within(const struct param *param, const char *service)
{
    size_t length = strlen(service);
    return strncmp(param->name, service, length) == 0 && param->name[length] == '.' ? param->name + length + 1 : NULL;
}

const char *param_scope(const struct param *params, size_t count, const char *service, struct pl_arena *arena)
{
    const char *scope = service, *last = "";
    for (size_t round = 0; round < count; round++) {
        const char *next = NULL, *value = NULL;
        for (size_t i = 0; i < count; i++) {
            const char *name = name_within(&params[i], service);
            if (name == NULL || strcmp(name, last) <= 0 || (next != NULL && strcmp(name, next) >= 0))
                continue;
            next = name;
            value = params[i].value;
        }
        if (next == NULL)
            break;
        scope = pl_format(arena, "%s %s=%s", scope, next, value);
        last = next;
    }
    return scope;
}

static bool sample_before(const struct sample *sample, int64_t trial_id, int64_t metric_id)
{
    return sample->trial_id < trial_id || (sample->trial_id == trial_id && sample->metric_id < metric_id);
}

/* Index of the first sample that is not before (trial, metric). */
static size_t sample_lower_bound(const struct study *study, int64_t trial_id, int64_t metric_id)
{
    size_t low = 0, high = study->sample_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sample_before(&study->samples[middle], trial_id, metric_id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sample *study_samples(const struct study *study, int64_t trial_id, int64_t metric_id, size_t *ret_count)
{
    size_t first = sample_lower_bound(study, trial_id, metric_id), end = first;
    while (end < study->sample_count && study->samples[end].trial_id == trial_id &&
           study->samples[end].metric_id == metric_id)
        end++;
    *ret_count = end - first;
    return end > first ? &study->samples[first] : NULL;
}
