/* Figures under construction: means, ratios and sums over trials, with what is known of their spread. */
#include "model/model_int.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "stats/interval.h"

#include "base/ban.h"

struct model_values model_values_new(struct model_build *build, size_t room)
{
    return (struct model_values){
        .values = pl_alloc(build->arena, room + 1, sizeof(double)),
        .below = pl_alloc(build->arena, room + 1, sizeof(double)),
        .trials = pl_alloc(build->arena, room + 1, sizeof(int64_t)),
        .room = room,
        .why = "",
    };
}

void model_values_add(struct model_values *values, int64_t trial_id, double value, double below)
{
    if (values->count == values->room)
        pl_panic("more than %zu values", values->room);
    values->values[values->count] = value;
    values->below[values->count] = below;
    values->trials[values->count++] = trial_id;
}

void model_values_lack(struct model_values *values, int64_t trial_id, const char *why)
{
    if (values->lacking++ == 0) {
        values->why = why;
        values->why_trial = trial_id;
    }
}

void model_note(struct model_build *build, struct figure *figure, const char *note)
{
    if (figure == NULL || note[0] == '\0')
        return;
    figure->note =
        figure->note[0] == '\0' ? pl_strdup(build->arena, note) : pl_format(build->arena, "%s; %s", figure->note, note);
}

static struct figure *build_push(struct model_build *build, const struct model_label *label)
{
    build->items =
        pl_grow(build->arena, build->items, build->count, build->count + 1, sizeof *build->items, &build->capacity);
    struct figure *figure = &build->items[build->count++];
    *figure = (struct figure){
        .stage_id = build->stage_id,
        .case_id = build->case_id,
        .name = label->name,
        .subject = label->subject,
        .unit = label->unit,
        .value = (double)NAN,
        .stddev = (double)NAN,
        .status = FIGURE_MEASURED,
        .method = label->method,
        .note = "",
    };
    return figure;
}

void model_put_absent(struct model_build *build, const struct model_label *label, const char *why)
{
    struct figure *figure = build_push(build, label);
    figure->status = FIGURE_ABSENT;
    figure->note = why;
}

/* "2 of 3 trials are marked (trial 7: ...)": of those in which the load did not keep its schedule or was the limit. */
static void note_marks(struct model_build *build, struct figure *figure)
{
    const struct trial_row *first = NULL;
    size_t marked = 0;
    for (size_t i = 0; i < figure->trial_count; i++) {
        const struct trial_row *trial = study_trial(build->study, figure->trials[i]);
        if (trial == NULL || trial->state != TRIAL_DONE || trial->why[0] == '\0')
            continue;
        marked++;
        first = first == NULL ? trial : first;
    }
    if (marked > 0)
        model_note(build, figure,
                   pl_format(build->arena, "%zu of %zu trials %s marked (trial %lld: %s)", marked, figure->trial_count,
                             marked == 1 ? "is" : "are", (long long)first->id, first->why));
}

struct figure *model_put(struct model_build *build, const struct model_label *label, const struct model_values *values)
{
    if (values->count == 0) {
        model_put_absent(build, label, values->why[0] != '\0' ? values->why : "no trial of this case was completed");
        return NULL;
    }
    struct figure *figure = build_push(build, label);
    figure->n = (int64_t)values->count;
    figure->trials = values->trials;
    figure->trial_count = values->count;
    note_marks(build, figure);
    if (values->lacking > 0)
        model_note(build, figure,
                   pl_format(build->arena, "without %zu of %zu trials (trial %lld: %s)", values->lacking,
                             values->lacking + values->count, (long long)values->why_trial, values->why));
    return figure;
}

static void figure_spread(struct figure *figure, const struct moments *moments)
{
    figure->stddev = moments_stddev(moments);
    struct interval interval = interval_mean(moments, MODEL_CONFIDENCE);
    figure->has_interval = interval.confidence > 0;
    if (figure->has_interval) {
        figure->low = interval.low;
        figure->high = interval.high;
        figure->confidence = interval.confidence;
    }
}

static struct moments values_moments(const struct model_values *values)
{
    struct moments moments = {0};
    for (size_t i = 0; i < values->count; i++)
        moments_add(&moments, values->values[i]);
    return moments;
}

struct figure *model_put_mean(struct model_build *build, const struct model_label *label, const struct model_values *values)
{
    struct figure *figure = model_put(build, label, values);
    if (figure == NULL)
        return NULL;
    struct moments moments = values_moments(values);
    figure->value = moments.mean;
    figure_spread(figure, &moments);
    return figure;
}

struct figure *model_put_sum(struct model_build *build, const struct model_label *label, const struct model_values *values)
{
    struct figure *figure = model_put(build, label, values);
    if (figure == NULL)
        return NULL;
    figure->value = 0;
    for (size_t i = 0; i < values->count; i++)
        figure->value += values->values[i];
    return figure;
}

struct figure *model_put_max(struct model_build *build, const struct model_label *label, const struct model_values *values)
{
    struct figure *figure = model_put(build, label, values);
    if (figure != NULL)
        figure->value = values_moments(values).max;
    return figure;
}

struct figure *model_put_ratio(struct model_build *build, const struct model_label *label,
                               const struct model_values *values)
{
    double above = 0, below = 0;
    for (size_t i = 0; i < values->count; i++) {
        above += values->values[i];
        below += values->below[i];
    }
    if (values->count > 0 && !(below > 0)) {
        model_put_absent(build, label, "there was nothing to divide by: no operation was completed, or no time passed");
        return NULL;
    }
    struct figure *figure = model_put(build, label, values);
    if (figure == NULL)
        return NULL;
    figure->status = FIGURE_COMPUTED;
    figure->value = above / below;
    /* r + (a_i - r b_i) / mean(b) has mean r, and its spread over the trials is that of the ratio estimator */
    struct moments moments = {0};
    double mean_below = below / (double)values->count;
    for (size_t i = 0; i < values->count; i++)
        moments_add(&moments, figure->value + (values->values[i] - figure->value * values->below[i]) / mean_below);
    figure_spread(figure, &moments);
    if (figure->has_interval) { /* the mean above is r but for rounding */
        figure->low = fmin(figure->low, figure->value);
        figure->high = fmax(figure->high, figure->value);
    }
    return figure;
}

const char *model_name_with(struct model_build *build, const char *name, const char *word)
{
    static const char *const units[] = {"_ns", "_bytes", "_per_s", "_frac", "_cores"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit = strlen(units[i]);
        if (length > unit && strcmp(name + length - unit, units[i]) == 0)
            return pl_format(build->arena, "%.*s_%s%s", (int)(length - unit), name, word, units[i]);
    }
    return pl_format(build->arena, "%s_%s", name, word);
}

void model_put_repeats(struct model_build *build, const char *name, const char *unit, const char *what,
                       struct model_values *values, const struct model_values *trials)
{
    const char *space = what[0] == '\0' ? "" : " ";
    const char *median = pl_format(build->arena, "%s%sMedian over the repeats, each repeat one value.", what, space);
    const char *range = pl_format(build->arena, "%s%sRange over the repeats.", what, space);
    struct model_values ids = *trials;
    if (values->count == 0) {
        ids.count = 0;
        model_put(build, &(struct model_label){name, "", unit, median}, &ids);
        model_put(build, &(struct model_label){model_name_with(build, name, "lowest"), "", unit, range}, &ids);
        model_put(build, &(struct model_label){model_name_with(build, name, "highest"), "", unit, range}, &ids);
        return;
    }
    gsl_sort(values->values, 1, values->count);
    const struct {
        const char *name, *method;
        double value;
    } rows[] = {
        {name, median, gsl_stats_median_from_sorted_data(values->values, 1, values->count)},
        {model_name_with(build, name, "lowest"), range, values->values[0]},
        {model_name_with(build, name, "highest"), range, values->values[values->count - 1]},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct figure *figure = build_push(build, &(struct model_label){rows[i].name, "", unit, rows[i].method});
        figure->value = rows[i].value;
        figure->n = (int64_t)values->count;
        figure->trials = ids.trials;
        figure->trial_count = ids.count;
    }
}
