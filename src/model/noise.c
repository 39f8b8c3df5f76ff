/* How quiet the host was, and what the sensors cost. */
#include "model/model_int.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

#include "base/ban.h"

enum noise_kind {
    NOISE_SHARE, /* counter over the counter cpu_total_ns */
    NOISE_RATE,  /* counter over time: a share of time, or cores */
    NOISE_GAUGE
};

static const struct noise_row {
    const char *metric, *name, *unit;
    enum noise_kind kind;
    const char *method;
} noise_rows[] = {
    {"cpu_busy_ns", "noise_cpu_busy_frac", "1", NOISE_SHARE, "Busy time of all CPUs of the host over all their time."},
    {"cpu_steal_ns", "noise_steal_frac", "1", NOISE_SHARE,
     "Time in which the hypervisor ran something else, over the time of all CPUs."},
    {"psi_cpu_some_ns", "noise_cpu_wait_frac", "1", NOISE_RATE,
     "Share of time in which some task waited for a CPU (pressure stall information, from its total)."},
    {"psi_io_some_ns", "noise_io_wait_frac", "1", NOISE_RATE,
     "Share of time in which some task waited for input or output (pressure stall information, from its total)."},
    {"psi_memory_some_ns", "noise_memory_wait_frac", "1", NOISE_RATE,
     "Share of time in which some task waited for memory (pressure stall information, from its total)."},
    {"foreign_cpu_ns", "noise_foreign_cpu_cores", "cores", NOISE_RATE,
     "CPU of processes that belong neither to the services nor to the tool."},
    {"run_queue", "noise_run_queue", "count", NOISE_GAUGE, "Tasks that run or are ready to run; mean of the readings."},
};
#define NOISE_ROWS (sizeof noise_rows / sizeof *noise_rows)

/* Over the window; over the whole trial when that is all there is: a trial that failed early, a window of a second. */
static struct model_span noise_span(struct model_build *build, const struct trial_row *trial, const char *name,
                                    bool *ret_whole)
{
    struct model_span span = model_read_window(build, trial, "host", name);
    *ret_whole = span.why != NULL;
    return *ret_whole ? model_read_all(build, trial, "host", name) : span;
}

/* NULL, or why there is no value. *ret_whole: it is of the whole trial, not of the window. */
static const char *noise_value(struct model_build *build, const struct trial_row *trial, const struct noise_row *row,
                               double *ret_value, bool *ret_whole)
{
    *ret_whole = false;
    if (row->kind == NOISE_GAUGE) {
        struct model_gauge gauge = model_read_gauge(build, trial, "host", row->metric);
        *ret_value = gauge.mean;
        return gauge.why;
    }
    bool total_whole = false;
    struct model_span span = noise_span(build, trial, row->metric, ret_whole);
    if (span.why != NULL)
        return span.why;
    double below = (double)(span.to_ns - span.from_ns);
    if (row->kind == NOISE_SHARE) {
        struct model_span total = noise_span(build, trial, "cpu_total_ns", &total_whole);
        if (total.why != NULL)
            return total.why;
        below = total.delta;
        *ret_whole |= total_whole;
    }
    if (!(below > 0))
        return "no time passed between the readings";
    *ret_value = span.delta / below;
    return NULL;
}

static void note_whole(struct model_build *build, struct figure *figure, size_t wholes)
{
    if (wholes > 0)
        model_note(build, figure,
                   pl_format(build->arena,
                             "%zu trial%s had fewer than two readings inside the window: of the whole trial there", wholes,
                             wholes == 1 ? "" : "s"));
}

void model_put_trial_noise(struct model_build *build, const struct trial_row *trial)
{
    const char *subject = pl_format(build->arena, "trial %lld", (long long)trial->id);
    for (size_t i = 0; i < NOISE_ROWS; i++) {
        const struct noise_row *row = &noise_rows[i];
        struct model_values values = model_values_new(build, 1);
        double value;
        bool whole;
        const char *why = noise_value(build, trial, row, &value, &whole);
        if (why != NULL)
            model_values_lack(&values, trial->id, why);
        else
            model_values_add(&values, trial->id, value, 0);
        note_whole(build, model_put_max(build, &(struct model_label){row->name, subject, row->unit, row->method}, &values),
                   why == NULL && whole);
    }
}

/* The trials of a stage that count, whatever their case. */
void model_put_stage_noise(struct model_build *build, const struct stage_row *stage)
{
    const struct study *study = build->study;
    for (size_t i = 0; i < NOISE_ROWS; i++) {
        const struct noise_row *row = &noise_rows[i];
        struct model_values values = model_values_new(build, study->trial_count);
        size_t wholes = 0;
        for (size_t k = 0; k < study->trial_count; k++) {
            const struct trial_row *trial = &study->trials[k];
            const struct case_row *cs = study_case(study, trial->case_id);
            if (trial->state != TRIAL_DONE || cs == NULL || cs->stage_id != stage->id)
                continue;
            double value;
            bool whole;
            const char *why = noise_value(build, trial, row, &value, &whole);
            if (why != NULL)
                model_values_lack(&values, trial->id, why);
            else
                model_values_add(&values, trial->id, value, 0);
            wholes += why == NULL && whole;
        }
        const char *mean_method = pl_format(build->arena, "%s Mean over the trials of the stage.", row->method);
        const char *max_method = pl_format(build->arena, "%s The highest of the trials of the stage.", row->method);
        note_whole(build, model_put_mean(build, &(struct model_label){row->name, "", row->unit, mean_method}, &values),
                   wholes);
        const char *max_name = model_name_with(build, row->name, "max");
        note_whole(build, model_put_max(build, &(struct model_label){max_name, "", row->unit, max_method}, &values),
                   wholes);
    }
}

static void put_state_counts(struct model_build *build)
{
    static const char *const names[TRIAL_STATE_COUNT] = {"trials_done", "trials_failed", "trials_void",
                                                         "trials_interrupted"};
    for (size_t state = 0; state < TRIAL_STATE_COUNT; state++) {
        struct model_values values = model_values_new(build, build->study->trial_count + 1);
        for (size_t i = 0; i < build->study->trial_count; i++)
            if (build->study->trials[i].state == (enum trial_state)state)
                model_values_add(&values, build->study->trials[i].id, 1, 0);
        size_t count = values.count;
        if (count == 0)
            model_values_add(&values, 0, 0, 0);
        struct figure *figure = model_put_sum(
            build, &(struct model_label){names[state], "", "count", "Trials of the study that ended this way."}, &values);
        figure->trial_count = count;
    }
}

/* Does this metric, read in this trial and phase, tell the flush latency before (or after) the trials? */
static bool is_flush(const struct study *study, const struct metric *metric, const struct sample *sample, const char *name,
                     const char *plain, bool after)
{
    if (strcmp(metric->name, name) == 0)
        return true;
    if (strcmp(metric->name, plain) != 0 || (after ? sample->phase != PHASE_AFTER : sample->phase > PHASE_WARM_UP))
        return false;
    const struct trial_row *trial = study_trial(study, sample->trial_id);
    const struct case_row *cs = trial == NULL ? NULL : study_case(study, trial->case_id);
    const struct stage_row *stage = cs == NULL ? NULL : study_stage(study, cs->stage_id);
    return stage != NULL && strcmp(stage->kind, "hardware") != 0;
}

/* Samples of the sources "host" and "hardware" and facts count alike. */
static struct model_values flush_values(struct model_build *build, const char *name, const char *plain, bool after)
{
    const struct study *study = build->study;
    struct model_values values = model_values_new(build, study->sample_count + study->fact_count);
    for (size_t i = 0; i < study->metric_count; i++) {
        const struct metric *metric = &study->metrics[i];
        if (strcmp(metric->source, "hardware") != 0 && strcmp(metric->source, "host") != 0)
            continue;
        for (size_t k = 0; k < study->sample_count; k++)
            if (study->samples[k].metric_id == metric->id &&
                is_flush(study, metric, &study->samples[k], name, plain, after))
                model_values_add(&values, study->samples[k].trial_id, study->samples[k].value, 0);
    }
    for (size_t i = 0; i < study->fact_count; i++) {
        const struct fact *fact = &study->facts[i];
        double value;
        if (strcmp(fact->name, name) == 0 && pl_num_f64(fact->value, strlen(fact->value), &value) == PL_NUM_OK)
            model_values_add(&values, 0, value, 0);
    }
    return values;
}

static void put_flush(struct model_build *build, const char *quantile, bool after)
{
    const char *name = pl_format(build->arena, "flush_%s_%s_ns", after ? "after" : "before", quantile);
    const char *plain = pl_format(build->arena, "flush_%s_ns", quantile);
    struct model_values values = flush_values(build, name, plain, after);
    if (values.count == 0)
        model_values_lack(&values, 0,
                          after ? "the flush latency was not probed after the trials"
                                : "the flush latency was not probed before the trials");
    struct model_values trials = model_values_new(build, values.count);
    trials.why = values.why;
    for (size_t i = 0; i < values.count; i++)
        if (values.trials[i] != 0 && (trials.count == 0 || trials.trials[trials.count - 1] != values.trials[i]))
            model_values_add(&trials, values.trials[i], 0, 0);
    model_put_repeats(build, name, "ns",
                      after ? "Write of 8 KiB and flush in the data directory after the trials."
                            : "Write of 8 KiB and flush in the data directory before the trials.",
                      &values, &trials);
}

/* The sensors' own cost, over everything they did in trials that count. */
static void put_sensors(struct model_build *build)
{
    static const struct {
        const char *metric, *name, *unit, *method;
        bool per_time;
    } counters[] = {
        {"sense_cpu_ns", "sense_cpu_cores", "cores",
         "CPU of the sensor thread over the time it watched; ratio of the sums over trials.", true},
        {"sense_missed", "sense_missed", "count",
         "Readings that failed, so that their samples are absent; summed over trials.", false},
        {"sense_skipped", "sense_skipped", "count",
         "Readings that were not begun because the one before still went on; summed over trials.", false},
        {"sense_dropped", "sense_dropped", "count",
         "Readings that found no room on their way to the study; summed over trials.", false},
    };
    const struct study *study = build->study;
    for (size_t row = 0; row < sizeof counters / sizeof *counters; row++) {
        struct model_values values = model_values_new(build, study->trial_count);
        for (size_t i = 0; i < study->trial_count; i++) {
            if (study->trials[i].state != TRIAL_DONE)
                continue;
            struct model_span span = model_read_all(build, &study->trials[i], "tool", counters[row].metric);
            if (span.why != NULL)
                model_values_lack(&values, study->trials[i].id, span.why);
            else
                model_values_add(&values, study->trials[i].id, span.delta, (double)(span.to_ns - span.from_ns));
        }
        struct model_label label = {counters[row].name, "tool", counters[row].unit, counters[row].method};
        if (counters[row].per_time)
            model_put_ratio(build, &label, &values);
        else
            model_put_sum(build, &label, &values);
    }
}

static void put_passes(struct model_build *build)
{
    const struct study *study = build->study;
    const struct metric *metric = study_metric(study, "tool", "sense_pass_ns");
    struct model_values means = model_values_new(build, study->trial_count);
    struct model_values highs = model_values_new(build, study->trial_count);
    for (size_t i = 0; i < study->trial_count; i++) {
        size_t count = 0;
        const struct sample *samples =
            metric == NULL ? NULL : study_samples(study, study->trials[i].id, metric->id, &count);
        if (study->trials[i].state != TRIAL_DONE)
            continue;
        if (count == 0) {
            model_values_lack(&means, study->trials[i].id, "how long the sensors' passes took was not read");
            model_values_lack(&highs, study->trials[i].id, "how long the sensors' passes took was not read");
            continue;
        }
        double sum = 0, high = 0;
        for (size_t k = 0; k < count; k++) {
            sum += samples[k].value;
            high = fmax(high, samples[k].value);
        }
        model_values_add(&means, study->trials[i].id, sum / (double)count, 0);
        model_values_add(&highs, study->trials[i].id, high, 0);
    }
    model_put_mean(
        build,
        &(struct model_label){"sense_pass_ns", "tool", "ns",
                              "Time for one reading of all sensors; mean over trials of the mean of the readings."},
        &means);
    model_put_max(
        build, &(struct model_label){"sense_pass_max_ns", "tool", "ns", "The longest reading of all sensors in any trial."},
        &highs);
}

void model_put_study_noise(struct model_build *build)
{
    put_state_counts(build);
    put_flush(build, "p50", false);
    put_flush(build, "p99", false);
    put_flush(build, "p50", true);
    put_flush(build, "p99", true);
    put_sensors(build);
    put_passes(build);
}
