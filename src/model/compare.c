/* Cases that differ in one thing of a service, held against one another: is the one faster than the other? */
#include "model/model_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "stats/holm.h"
#include "stats/ratio.h"

#include "base/ban.h"

/* A thing of a service that makes another arm; another size of the data would be another load. */
static bool is_arm(const struct param *param)
{
    const char *point = strchr(param->name, '.');
    size_t length = strlen(param->name);
    static const char scale[] = ".data.scale";
    size_t tail = strlen(scale);
    return point != NULL && !(length > tail && strcmp(param->name + length - tail, scale) == 0);
}

static bool is_same_but(const struct case_row *a, const struct case_row *b, size_t but)
{
    if (a->stage_id != b->stage_id || a->param_count != b->param_count)
        return false;
    for (size_t i = 0; i < a->param_count; i++)
        if (strcmp(a->params[i].name, b->params[i].name) != 0 ||
            (i != but && strcmp(a->params[i].value, b->params[i].value) != 0))
            return false;
    return true;
}

/* The first case that is the same but for one parameter: cases stand in the order of the plan's values. NULL when it is the
 * case itself. */
static const struct case_row *base_of(const struct study *study, const struct case_row *row, size_t param)
{
    for (const struct case_row *base = study->cases; base < row; base++)
        if (is_same_but(base, row, param))
            return base;
    return NULL;
}

const struct model_comparison *model_comparisons(const struct study *study, struct pl_arena *arena, size_t *ret_count)
{
    struct model_comparison *list = NULL;
    size_t count = 0, capacity = 0;
    for (size_t s = 0; s < study->stage_count; s++) {
        const struct stage_row *stage = &study->stages[s];
        size_t params = 0;
        for (size_t i = 0; i < study->case_count; i++)
            if (study->cases[i].stage_id == stage->id && study->cases[i].param_count > params)
                params = study->cases[i].param_count;
        for (size_t k = 0; k < params && strcmp(stage->kind, "clients") == 0; k++)
            for (size_t i = 0; i < study->case_count; i++) {
                const struct case_row *row = &study->cases[i];
                if (row->stage_id != stage->id || k >= row->param_count || !is_arm(&row->params[k]))
                    continue;
                const struct case_row *base = base_of(study, row, k);
                if (base == NULL)
                    continue;
                list = pl_grow(arena, list, count, count + 1, sizeof *list, &capacity);
                list[count++] = (struct model_comparison){stage, base, row, row->params[k].name};
            }
    }
    *ret_count = count;
    return list;
}

/* Throughput of the trials of one side, by iteration. */
struct side {
    struct model_values tps;
    int *iterations;
    struct moments moments;
};

static struct side side_of(struct model_build *build, const struct case_row *row)
{
    const struct study *study = build->study;
    struct side side = {.tps = model_values_new(build, study->trial_count)};
    side.iterations = pl_alloc(build->arena, study->trial_count + 1, sizeof *side.iterations);
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct trial_row *trial = &study->trials[i];
        double window_ns = (double)(trial->measure_end_ns - trial->measure_start_ns);
        if (trial->case_id != row->id || trial->state != TRIAL_DONE || trial->measure_start_ns <= 0 || !(window_ns > 0))
            continue;
        double tps = (double)model_completed_in_window(study, trial->id) * (double)PL_NS_PER_S / window_ns;
        side.iterations[side.tps.count] = trial->iteration;
        moments_add(&side.moments, tps);
        model_values_add(&side.tps, trial->id, tps, 0);
    }
    return side;
}

/* b's throughputs in the order of a's iterations; false unless both have the same ones, each once. */
static bool pair_up(const struct side *a, const struct side *b, double *ret_b)
{
    if (a->tps.count != b->tps.count)
        return false;
    for (size_t i = 0; i < a->tps.count; i++) {
        size_t found = 0;
        for (size_t k = 0; k < a->tps.count; k++) {
            if (k != i && a->iterations[k] == a->iterations[i])
                return false;
            if (b->iterations[k] == a->iterations[i]) {
                ret_b[i] = b->tps.values[k];
                found++;
            }
        }
        if (found != 1)
            return false;
    }
    return true;
}

struct outcome {
    const struct model_comparison *comparison;
    struct model_values trials; /* of both sides */
    bool paired;
    size_t pairs;
    struct interval_ratio ratio;
    double p;
    const char *why; /* NULL, or why nothing can be said */
};

static struct outcome compare(struct model_build *build, const struct model_comparison *comparison)
{
    struct side a = side_of(build, comparison->base), b = side_of(build, comparison->other);
    struct outcome outcome = {.comparison = comparison, .p = (double)NAN};
    outcome.trials = model_values_new(build, a.tps.count + b.tps.count);
    for (size_t i = 0; i < a.tps.count; i++)
        model_values_add(&outcome.trials, a.tps.trials[i], a.tps.values[i], 0);
    for (size_t i = 0; i < b.tps.count; i++)
        model_values_add(&outcome.trials, b.tps.trials[i], b.tps.values[i], 0);
    double *partner = pl_alloc(build->arena, b.tps.count + 1, sizeof *partner);
    outcome.paired = pair_up(&a, &b, partner);
    outcome.pairs = a.tps.count;
    if (a.tps.count == 0 || b.tps.count == 0) {
        outcome.why = "one of the two has no trial that was completed";
    } else if (!(a.moments.mean > 0)) {
        outcome.why = "nothing was completed";
    } else if (outcome.paired) {
        outcome.ratio = interval_ratio_paired(a.tps.values, partner, a.tps.count, 1 - MODEL_COMPARISON_LEVEL);
        outcome.p = t_test_paired(a.tps.values, partner, a.tps.count, 1 - MODEL_COMPARISON_LEVEL).p;
    } else {
        outcome.ratio = interval_ratio_welch(&a.moments, &b.moments, 1 - MODEL_COMPARISON_LEVEL);
        outcome.p = t_test_welch(&a.moments, &b.moments, 1 - MODEL_COMPARISON_LEVEL).p;
    }
    return outcome;
}

static const char change_paired[] = "Mean throughput over that of the same load with the plan's first value, less 1. "
                                    "Trials of one iteration, which ran next to "
                                    "each other, are pairs; interval of Fieller for the ratio of paired means.";
static const char change_welch[] =
    "Mean throughput over that of the same load with the plan's first value, less 1. The two sides do not have the same "
    "iterations, so they are taken as independent; interval of Fieller for the ratio of means, degrees of freedom of "
    "Welch.";
static const char p_paired[] = "Two-sided paired t test of the trials' throughput, pairs by iteration; not corrected.";
static const char p_welch[] = "Welch's two-sided t test of the trials' throughput; not corrected.";
static const char p_corrected[] =
    "The p value, corrected for the number of all comparisons of the study (Holm, Scand. J. Stat. 6, 1979).";

static void put_p(struct model_build *build, const struct outcome *outcome, const char *name, const char *method, double p)
{
    const struct model_label label = {name, outcome->comparison->axis, "1", method};
    if (isnan(p)) {
        model_put_absent(build, &label,
                         outcome->why != NULL ? outcome->why : "a test needs two trials of each side that differ");
        return;
    }
    struct figure *figure = model_put(build, &label, &outcome->trials);
    figure->status = FIGURE_COMPUTED;
    figure->value = p;
}

static void put_outcome(struct model_build *build, const struct outcome *outcome, double corrected)
{
    const struct model_label label = {"tps_change_frac", outcome->comparison->axis, "1",
                                      outcome->paired ? change_paired : change_welch};
    build->stage_id = outcome->comparison->stage->id;
    build->case_id = outcome->comparison->other->id;
    if (outcome->why != NULL) {
        model_put_absent(build, &label, outcome->why);
    } else {
        struct figure *figure = model_put(build, &label, &outcome->trials);
        figure->status = FIGURE_COMPUTED;
        figure->value = outcome->ratio.ratio - 1;
        if (outcome->paired)
            figure->n = (int64_t)outcome->pairs;
        figure->has_interval = outcome->ratio.interval.confidence > 0;
        if (figure->has_interval) {
            figure->low = outcome->ratio.interval.low - 1;
            figure->high = outcome->ratio.interval.high - 1;
            figure->confidence = outcome->ratio.interval.confidence;
        }
    }
    put_p(build, outcome, "tps_change_p", outcome->paired ? p_paired : p_welch, outcome->p);
    put_p(build, outcome, "tps_change_corrected_p", p_corrected, corrected);
}

void model_put_comparisons(struct model_build *build)
{
    size_t count = 0;
    const struct model_comparison *comparisons = model_comparisons(build->study, build->arena, &count);
    if (count == 0)
        return;
    struct outcome *outcomes = pl_alloc(build->arena, count, sizeof *outcomes);
    double *p = pl_alloc(build->arena, count, sizeof *p), *corrected = pl_alloc(build->arena, count, sizeof *corrected);
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = compare(build, &comparisons[i]);
        p[i] = outcomes[i].p;
    }
    size_t tested = holm_correct(p, count, corrected);
    for (size_t i = 0; i < count; i++)
        put_outcome(build, &outcomes[i], corrected[i]);
    build->stage_id = build->case_id = 0;
    struct model_values none = model_values_new(build, 1);
    model_values_add(&none, 0, 0, 0);
    struct figure *figure =
        model_put(build,
                  &(struct model_label){"comparisons", "", "count",
                                        "Comparisons that were tested; their p values are corrected for it."},
                  &none);
    figure->status = FIGURE_COMPUTED;
    figure->value = (double)tested;
    figure->trials = NULL;
    figure->trial_count = 0;
}
