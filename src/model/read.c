/* From samples to numbers: differences of counters and summaries of gauges, each over a stated part of a trial. */
#include "model/model_int.h"

#include <math.h>

#include "base/clock.h"

#include "base/ban.h"

struct readings {
    const struct sample *items;
    size_t count;
    const char *why; /* NULL when there are some */
};

static struct readings readings_of(struct model_build *build, const struct trial_row *trial, const char *source,
                                   const char *name)
{
    const struct metric *metric = study_metric(build->study, source, name);
    if (metric == NULL)
        return (struct readings){.why = pl_format(build->arena, "no sensor of %s reads it", source)};
    struct readings readings = {0};
    readings.items = study_samples(build->study, trial->id, metric->id, &readings.count);
    if (readings.count == 0)
        readings.why = pl_format(build->arena, "%s was not watched in the trial", source);
    return readings;
}

static bool has_window(const struct trial_row *trial)
{
    return trial->measure_start_ns > 0 && trial->measure_end_ns > trial->measure_start_ns;
}

/* The reading at the end of the window ends a moment after it. A counter's counts with its own time, so differences stay
 * exact; a gauge's was read when the load had stopped, so it says nothing of the window. */
#define EDGE_COUNTER_NS (100 * PL_NS_PER_MS)
#define EDGE_GAUGE_NS INT64_C(0)

static bool is_inside(const struct trial_row *trial, const struct sample *sample, int64_t edge_ns)
{
    if (has_window(trial))
        return sample->phase != PHASE_AFTER && sample->t_ns >= trial->measure_start_ns &&
               sample->t_ns <= trial->measure_end_ns + edge_ns;
    return sample->phase == PHASE_MEASURE;
}

/* The readings inside the window: contiguous, because samples are sorted by time. */
static struct readings readings_inside(const struct trial_row *trial, struct readings all, int64_t edge_ns)
{
    while (all.count > 0 && !is_inside(trial, all.items, edge_ns)) {
        all.items++;
        all.count--;
    }
    size_t count = 0;
    while (count < all.count && is_inside(trial, &all.items[count], edge_ns))
        count++;
    all.count = count;
    return all;
}

const struct sample *model_read_samples(const struct study *study, const struct trial_row *trial, const char *source,
                                        const char *name, size_t *ret_count)
{
    *ret_count = 0;
    const struct metric *metric = study_metric(study, source, name);
    if (metric == NULL)
        return NULL;
    struct readings readings = {0};
    readings.items = study_samples(study, trial->id, metric->id, &readings.count);
    readings = readings_inside(trial, readings, EDGE_GAUGE_NS);
    *ret_count = readings.count;
    return readings.items;
}

static struct model_span span_between(struct model_build *build, const struct sample *from, const struct sample *to,
                                      const char *source)
{
    if (to->t_ns <= from->t_ns)
        return (struct model_span){.why = pl_format(build->arena, "only one reading of %s", source)};
    if (!(to->value >= from->value) || isinf(to->value))
        return (struct model_span){.why = pl_format(build->arena, "a counter of %s went backwards", source)};
    return (struct model_span){.delta = to->value - from->value, .from_ns = from->t_ns, .to_ns = to->t_ns};
}

struct model_span model_read_window(struct model_build *build, const struct trial_row *trial, const char *source,
                                    const char *name)
{
    struct readings readings = readings_of(build, trial, source, name);
    if (readings.why != NULL)
        return (struct model_span){.why = readings.why};
    readings = readings_inside(trial, readings, EDGE_COUNTER_NS);
    if (readings.count < 2)
        return (struct model_span){
            .why = pl_format(build->arena, "fewer than two readings of %s inside the measured window", source)};
    return span_between(build, &readings.items[0], &readings.items[readings.count - 1], source);
}

struct model_span model_read_all(struct model_build *build, const struct trial_row *trial, const char *source,
                                 const char *name)
{
    struct readings readings = readings_of(build, trial, source, name);
    if (readings.why != NULL)
        return (struct model_span){.why = readings.why};
    return span_between(build, &readings.items[0], &readings.items[readings.count - 1], source);
}

/* Before: the last reading that is not later than the start of the load, so that tidying up (vacuum, checkpoint) between
 * two early readings is not charged to the load; else the first one of an early phase. After: the last one of PHASE_AFTER.
 */
static const char *trial_ends(struct model_build *build, const struct readings *readings, const struct trial_row *trial,
                              const struct sample **ret_before, const struct sample **ret_after)
{
    int64_t load_start_ns = trial->warm_up_start_ns > 0 ? trial->warm_up_start_ns : trial->measure_start_ns;
    const struct sample *before = NULL, *after = NULL;
    for (size_t i = 0; i < readings->count; i++) {
        const struct sample *sample = &readings->items[i];
        if (sample->phase <= PHASE_WARM_UP && (before == NULL || sample->t_ns <= load_start_ns))
            before = sample;
        if (sample->phase == PHASE_AFTER)
            after = sample;
    }
    if (before == NULL)
        return pl_strdup(build->arena, "no reading before the load started");
    if (after == NULL)
        return pl_strdup(build->arena, "no reading after the load ended");
    *ret_before = before;
    *ret_after = after;
    return NULL;
}

struct model_span model_read_trial(struct model_build *build, const struct trial_row *trial, const char *source,
                                   const char *name)
{
    struct readings readings = readings_of(build, trial, source, name);
    const struct sample *before = NULL, *after = NULL;
    const char *why = readings.why != NULL ? readings.why : trial_ends(build, &readings, trial, &before, &after);
    if (why != NULL)
        return (struct model_span){.why = why};
    return span_between(build, before, after, source);
}

bool model_read_ends(struct model_build *build, const struct trial_row *trial, const char *source, const char *name,
                     double *ret_before, double *ret_after, const char **ret_why)
{
    struct readings readings = readings_of(build, trial, source, name);
    const struct sample *before = NULL, *after = NULL;
    const char *why = readings.why != NULL ? readings.why : trial_ends(build, &readings, trial, &before, &after);
    if (why != NULL) {
        *ret_why = why;
        return false;
    }
    *ret_before = before->value;
    *ret_after = after->value;
    return true;
}

struct model_gauge model_read_gauge(struct model_build *build, const struct trial_row *trial, const char *source,
                                    const char *name)
{
    struct readings readings = readings_of(build, trial, source, name);
    if (readings.why != NULL)
        return (struct model_gauge){.why = readings.why};
    readings = readings_inside(trial, readings, EDGE_GAUGE_NS);
    if (readings.count == 0)
        return (struct model_gauge){.why = pl_format(build->arena, "no reading of %s inside the measured window", source)};
    struct model_gauge gauge = {.count = readings.count, .max = readings.items[0].value};
    for (size_t i = 0; i < readings.count; i++) {
        gauge.mean += (readings.items[i].value - gauge.mean) / (double)(i + 1);
        gauge.max = fmax(gauge.max, readings.items[i].value);
    }
    return gauge;
}
