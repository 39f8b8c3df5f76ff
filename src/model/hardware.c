/* The reference environment and the idle service: probes of the machine, footprint. */
#include "model/model_int.h"

#include <string.h>

#include "base/num.h"

#include "base/ban.h"

static const struct probe_row {
    const char *name, *unit, *probe;
} probe_rows[] = {
    {"flush_p50_ns", "ns", "flush"},           {"flush_p99_ns", "ns", "flush"},   {"flush_per_s", "1/s", "flush"},
    {"commit_p50_ns", "ns", "commit"},         {"commit_p99_ns", "ns", "commit"}, {"round_trip_p50_ns", "ns", "round_trip"},
    {"round_trip_p99_ns", "ns", "round_trip"},
};
#define PROBE_ROWS (sizeof probe_rows / sizeof *probe_rows)

/* Why a probe left nothing: the probe itself says so in a fact. */
static const char *probe_why(struct model_build *build, const char *probe, const char *metric)
{
    const char *name = pl_format(build->arena, "probe.%s", probe);
    for (size_t i = 0; i < build->study->fact_count; i++)
        if (strcmp(build->study->facts[i].name, name) == 0)
            return build->study->facts[i].value;
    return pl_format(build->arena, "%s was not probed", metric);
}

/* All repeats of one probe in the trials of the case; count 0 when there are none. */
static struct model_values probe_values(struct model_build *build, const struct model_case *cs, const char *name,
                                        struct model_values *ret_trials)
{
    const struct study *study = build->study;
    const struct metric *metric = study_metric(study, "hardware", name);
    size_t total = 0, count;
    for (size_t i = 0; metric != NULL && i < cs->count; i++) {
        study_samples(study, cs->trials[i]->id, metric->id, &count);
        total += count;
    }
    struct model_values values = model_values_new(build, total);
    *ret_trials = model_values_new(build, cs->count);
    for (size_t i = 0; metric != NULL && i < cs->count; i++) {
        const struct sample *samples = study_samples(study, cs->trials[i]->id, metric->id, &count);
        for (size_t k = 0; k < count; k++)
            model_values_add(&values, cs->trials[i]->id, samples[k].value, 0);
        if (count > 0)
            model_values_add(ret_trials, cs->trials[i]->id, 0, 0);
    }
    return values;
}

static void put_probe(struct model_build *build, const struct model_case *cs, const char *name, const char *unit,
                      const char *why)
{
    struct model_values trials, values = probe_values(build, cs, name, &trials);
    if (values.count == 0)
        model_values_lack(&trials, 0, why);
    model_put_repeats(build, name, unit, "", &values, &trials);
}

void model_put_hardware(struct model_build *build, const struct model_case *cs)
{
    for (size_t i = 0; i < PROBE_ROWS; i++)
        put_probe(build, cs, probe_rows[i].name, probe_rows[i].unit,
                  probe_why(build, probe_rows[i].probe, probe_rows[i].name));
    for (size_t i = 0; i < build->study->metric_count; i++) {
        const struct metric *metric = &build->study->metrics[i];
        bool known = strcmp(metric->source, "hardware") != 0;
        for (size_t k = 0; k < PROBE_ROWS; k++)
            known |= strcmp(metric->name, probe_rows[k].name) == 0;
        if (!known)
            put_probe(build, cs, metric->name, metric->unit, "the probe left no value");
    }
}

static void put_ready(struct model_build *build, const struct model_case *cs)
{
    static const char method[] = "From the start of the service's first process to its first good answer.";
    struct model_label label = {"ready_ns", build->study->subject, "ns", method};
    const struct fact *fact = study_fact(
        build->study, param_scope(cs->row->params, cs->row->param_count, build->study->subject, build->arena), "ready_ns");
    double value;
    if (fact == NULL || pl_num_f64(fact->value, strlen(fact->value), &value) != PL_NUM_OK) {
        model_put_absent(build, &label, "how long the service took to answer was not recorded");
        return;
    }
    struct model_values none = model_values_new(build, 1);
    model_values_add(&none, 0, value, 0);
    struct figure *figure = model_put(build, &label, &none);
    figure->value = value;
    figure->trials = NULL;
    figure->trial_count = 0;
}

/* Read at quiet points only, so the first or last reading of each trial counts, whatever its phase. */
static void put_backends(struct model_build *build, const struct model_case *cs, const char *name, const char *method,
                         bool is_first)
{
    const struct study *study = build->study;
    struct model_values values = model_values_new(build, cs->count);
    const struct metric *metric = study_metric(study, study->subject, "backend_pss_anon_bytes");
    const struct metric *sampled = study_metric(study, study->subject, "backend_pss_anon_sampled");
    double backends = 0;
    for (size_t i = 0; i < cs->count; i++) {
        size_t count = 0, sampled_count = 0;
        const struct sample *samples = metric == NULL ? NULL : study_samples(study, cs->trials[i]->id, metric->id, &count);
        const struct sample *how_many =
            sampled == NULL ? NULL : study_samples(study, cs->trials[i]->id, sampled->id, &sampled_count);
        size_t at = is_first || count == 0 ? 0 : count - 1;
        bool nobody = count == 0 && sampled_count > 0;
        if (count == 0)
            model_values_lack(&values, cs->trials[i]->id,
                              nobody ? "there was no backend to read" : "no backend's memory was read at a quiet point");
        else
            model_values_add(&values, cs->trials[i]->id, samples[at].value, 0);
        for (size_t k = 0; k < sampled_count; k++) /* read in the same pass */
            backends += count > 0 && how_many[k].t_ns == samples[at].t_ns ? how_many[k].value : 0;
    }
    struct figure *figure = model_put_mean(build, &(struct model_label){name, study->subject, "bytes", method}, &values);
    if (figure != NULL && backends > 0)
        model_note(build, figure, pl_format(build->arena, "%.0f backends were read in all", backends));
}

void model_put_backends(struct model_build *build, const struct model_case *cs)
{
    put_backends(
        build, cs, "backend_fresh_pss_anon_bytes",
        "Proportional anonymous memory of a backend that has connected and prepared its statements and done nothing "
        "else: mean over a seeded sample of backends at the first quiet point of each trial; mean over trials.",
        true);
    put_backends(
        build, cs, "backend_pss_anon_bytes",
        "Proportional anonymous memory of a backend: mean over a seeded sample of backends at the last quiet point of "
        "each trial, after the load and before its connections were closed; mean over trials.",
        false);
}

void model_put_footprint(struct model_build *build, const struct model_case *cs)
{
    model_put_costs(build, cs);
    put_ready(build, cs);
}
