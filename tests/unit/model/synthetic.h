/* A study built in memory, with answers that are known by construction: what test programs of model and page share. */
#ifndef PL_TESTS_SYNTHETIC_H
#define PL_TESTS_SYNTHETIC_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "record/study.h"

#define SYNTH_MAX_ROWS 4096
#define SYNTH_MAX_SAMPLES 65536

struct synth {
    struct pl_arena *arena;
    struct study study;
    struct fact *facts;
    struct stage_row *stages;
    struct case_row *cases;
    struct trial_row *trials;
    struct script_row *scripts;
    struct group_row *groups;
    struct slice *slices;
    struct metric *metrics;
    struct sample *samples;
    struct fault *faults;
    struct hist *hists[SYNTH_MAX_ROWS];
    size_t hist_count;
};

static inline struct synth *synth_new(void)
{
    struct synth *synth = pl_new(1, sizeof *synth);
    struct pl_arena *arena = pl_arena_new();
    synth->arena = arena;
    synth->facts = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->facts);
    synth->stages = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->stages);
    synth->cases = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->cases);
    synth->trials = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->trials);
    synth->scripts = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->scripts);
    synth->groups = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->groups);
    synth->slices = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->slices);
    synth->metrics = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->metrics);
    synth->samples = pl_alloc(arena, SYNTH_MAX_SAMPLES, sizeof *synth->samples);
    synth->faults = pl_alloc(arena, SYNTH_MAX_ROWS, sizeof *synth->faults);
    synth->study =
        (struct study){.arena = arena,
                       .schema_version = 1,
                       .title = "A study of known answers",
                       .plan_text = "study: A study of known answers\nservices:\n  db: {settings: {shared_buffers: "
                                    "256MB}}\nstages:\n  - {kind: clients}\n",
                       .plan_path = "plans/known.yaml",
                       .subject = "db",
                       .tool_version = "0.1.0",
                       .seed = 42,
                       .started_unix_ns = INT64_C(1764493200000000000),
                       .ended_unix_ns = INT64_C(1764493380000000000)};
    return synth;
}

static inline void synth_free(struct synth *synth)
{
    for (size_t i = 0; i < synth->hist_count; i++) {
        hist_release(synth->hists[i]);
        pl_free(synth->hists[i]);
    }
    pl_arena_free(synth->arena);
    pl_free(synth);
}

static inline void synth_fact(struct synth *synth, const char *scope, const char *name, const char *value, const char *unit,
                              const char *how)
{
    synth->facts[synth->study.fact_count++] = (struct fact){scope, name, value, unit, how};
}

/* "a=1 b=2" -> params */
static inline struct param *synth_params(struct synth *synth, const char *text, size_t *ret_count)
{
    struct param *params = pl_alloc(synth->arena, 32, sizeof *params);
    *ret_count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " "), name = strcspn(text, "=");
        params[*ret_count].name = pl_strndup(synth->arena, text, name);
        params[(*ret_count)++].value = pl_strndup(synth->arena, text + name + 1, length - name - 1);
        text += length + (text[length] == ' ');
    }
    return params;
}

static inline int64_t synth_stage(struct synth *synth, const char *kind, const char *question, const char *params)
{
    struct stage_row *stage = &synth->stages[synth->study.stage_count++];
    *stage = (struct stage_row){.id = (int64_t)synth->study.stage_count, .kind = kind, .name = kind, .question = question};
    stage->params = synth_params(synth, params, &stage->param_count);
    return stage->id;
}

static inline int64_t synth_case(struct synth *synth, int64_t stage_id, const char *label)
{
    int ordinal = 0;
    for (size_t i = 0; i < synth->study.case_count; i++)
        ordinal += synth->cases[i].stage_id == stage_id;
    struct case_row *row = &synth->cases[synth->study.case_count++];
    *row =
        (struct case_row){.id = (int64_t)synth->study.case_count, .stage_id = stage_id, .ordinal = ordinal, .label = label};
    row->params = synth_params(synth, label, &row->param_count);
    return row->id;
}

/* A trial with a clock: connects for 100 ms, warms up for 1 s, measures for `window_s`, drains for 10 ms. */
static inline struct trial_row *synth_trial(struct synth *synth, int64_t case_id, int iteration, double window_s,
                                            int clients)
{
    struct trial_row *trial = &synth->trials[synth->study.trial_count++];
    int64_t start_ns = (int64_t)synth->study.trial_count * 1000 * PL_NS_PER_S;
    *trial = (struct trial_row){.id = (int64_t)synth->study.trial_count,
                                .case_id = case_id,
                                .iteration = iteration,
                                .ordinal = (int)synth->study.trial_count - 1,
                                .state = TRIAL_DONE,
                                .why = "",
                                .seed = 1000 + synth->study.trial_count,
                                .started_unix_ns = synth->study.started_unix_ns + start_ns,
                                .connect_start_ns = start_ns,
                                .connect_end_ns = start_ns + 100 * PL_NS_PER_MS,
                                .warm_up_start_ns = start_ns + PL_NS_PER_S,
                                .measure_start_ns = start_ns + 2 * PL_NS_PER_S,
                                .clients = clients,
                                .workers = 1,
                                .event_loop = "epoll"};
    trial->measure_end_ns = trial->measure_start_ns + (int64_t)llround(window_s * (double)PL_NS_PER_S);
    trial->drain_end_ns = trial->measure_end_ns + 10 * PL_NS_PER_MS;
    return trial;
}

static inline void synth_script(struct synth *synth, int64_t case_id, int script, int step, const char *name)
{
    synth->scripts[synth->study.script_count++] = (struct script_row){case_id, script, step, name};
}

static inline void synth_group(struct synth *synth, int64_t case_id, int group, const char *name, int64_t tenants,
                               double weight_frac)
{
    synth->groups[synth->study.group_count++] = (struct group_row){case_id, group, name, tenants, weight_frac};
}

static inline struct hist *synth_hist(struct synth *synth)
{
    struct hist *hist = pl_new(1, sizeof *hist);
    hist_init_latency(hist);
    synth->hists[synth->hist_count++] = hist;
    return hist;
}

static inline struct slice *synth_slice(struct synth *synth, const struct trial_row *trial, enum phase during,
                                        enum phase due_in, int step)
{
    struct slice *slice = &synth->slices[synth->study.slice_count++];
    *slice = (struct slice){.trial_id = trial->id,
                            .start_ns = trial->measure_start_ns,
                            .end_ns = trial->measure_end_ns,
                            .during = during,
                            .due_in = due_in,
                            .step = step};
    return slice;
}

static inline int64_t synth_metric(struct synth *synth, const char *source, const char *name, const char *unit,
                                   enum metric_kind kind)
{
    for (size_t i = 0; i < synth->study.metric_count; i++)
        if (strcmp(synth->metrics[i].source, source) == 0 && strcmp(synth->metrics[i].name, name) == 0)
            return synth->metrics[i].id;
    struct metric *metric = &synth->metrics[synth->study.metric_count++];
    *metric = (struct metric){(int64_t)synth->study.metric_count, source, name, unit, kind, "made up"};
    return metric->id;
}

static inline void synth_sample(struct synth *synth, const struct trial_row *trial, int64_t metric_id, enum phase phase,
                                int64_t t_ns, double value)
{
    synth->samples[synth->study.sample_count++] = (struct sample){trial->id, t_ns, phase, metric_id, value};
}

/* A reading before the load, one each second inside the window (both ends included), one after. `rate` is growth per
 * second; a gauge has the values base + k * rate with k = 0, 1, ... inside the window. */
static inline void synth_series(struct synth *synth, const struct trial_row *trial, const char *source, const char *name,
                                const char *unit, enum metric_kind kind, double base, double rate)
{
    int64_t id = synth_metric(synth, source, name, unit, kind);
    double origin = (double)trial->measure_start_ns;
    int64_t before_ns = trial->connect_start_ns - PL_NS_PER_MS, after_ns = trial->drain_end_ns + PL_NS_PER_S;
    double slope = kind == METRIC_COUNTER ? rate / (double)PL_NS_PER_S : 0;
    synth_sample(synth, trial, id, PHASE_START, before_ns, base + slope * ((double)before_ns - origin + 1e10));
    for (int64_t t = trial->measure_start_ns, k = 0; t <= trial->measure_end_ns; t += PL_NS_PER_S, k++)
        synth_sample(synth, trial, id, PHASE_MEASURE, t,
                     kind == METRIC_COUNTER ? base + slope * ((double)t - origin + 1e10) : base + (double)k * rate);
    synth_sample(synth, trial, id, PHASE_AFTER, after_ns, base + slope * ((double)after_ns - origin + 1e10));
}

/* Only before and after: sizes, whole-trial counters. */
static inline void synth_ends(struct synth *synth, const struct trial_row *trial, const char *source, const char *name,
                              const char *unit, enum metric_kind kind, double before, double after)
{
    int64_t id = synth_metric(synth, source, name, unit, kind);
    synth_sample(synth, trial, id, PHASE_START, trial->connect_start_ns - PL_NS_PER_MS, before);
    synth_sample(synth, trial, id, PHASE_AFTER, trial->drain_end_ns + PL_NS_PER_S, after);
}

static inline int synth_compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->trial_id != y->trial_id)
        return x->trial_id < y->trial_id ? -1 : 1;
    if (x->metric_id != y->metric_id)
        return x->metric_id < y->metric_id ? -1 : 1;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static inline const struct study *synth_study(struct synth *synth)
{
    struct study *study = &synth->study;
    if (study->sample_count > 0)
        qsort(synth->samples, study->sample_count, sizeof *synth->samples, synth_compare);
    study->facts = synth->facts;
    study->stages = synth->stages;
    study->cases = synth->cases;
    study->trials = synth->trials;
    study->scripts = synth->scripts;
    study->groups = synth->groups;
    study->slices = synth->slices;
    study->metrics = synth->metrics;
    study->samples = synth->samples;
    study->faults = synth->faults;
    return study;
}

/* A closed loop of the trial's clients whose responses are uniform between 0.5 and 1.5 of `mean_ns`: so many operations
 * that Little's law holds, all due and ended inside the window but the last one of each client, which ends while draining;
 * and `warm_up` operations of the warm-up. Returns the operations due in the window. */
static inline int64_t synth_closed_loop(struct synth *synth, const struct trial_row *trial, double mean_ns, int64_t warm_up)
{
    struct slice *early = synth_slice(synth, trial, PHASE_WARM_UP, PHASE_WARM_UP, -1);
    early->ledger = (struct ledger){.due = warm_up, .completed = warm_up};
    struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct slice *late = synth_slice(synth, trial, PHASE_DRAIN, PHASE_MEASURE, -1);
    struct pl_rng rng;
    pl_rng_init(&rng, trial->seed, PL_RNG_TEST, 0);
    double budget = (double)(trial->measure_end_ns - trial->measure_start_ns) * trial->clients, spent = 0;
    int64_t due = 0, *took = NULL;
    size_t capacity = 0;
    for (; spent < budget; due++) {
        took = pl_grow(synth->arena, took, (size_t)due, (size_t)due + 1, sizeof *took, &capacity);
        took[due] = (int64_t)(mean_ns * (0.5 + pl_rng_unit(&rng)));
        spent += (double)took[due];
    }
    struct slice *const slices[] = {slice, late};
    for (int i = 0; i < 2; i++) {
        struct hist *response = synth_hist(synth), *service = synth_hist(synth), *lateness = synth_hist(synth);
        for (int64_t k = i == 0 ? 0 : due - trial->clients; k < (i == 0 ? due - trial->clients : due); k++) {
            hist_record(response, took[k]);
            hist_record(service, took[k] - 2000);
            hist_record(lateness, 2000);
        }
        slices[i]->response = response;
        slices[i]->service = service;
        slices[i]->lateness = lateness;
    }
    slice->ledger = (struct ledger){.due = due, .completed = due - trial->clients};
    late->ledger = (struct ledger){.completed = trial->clients};
    return due;
}

/* What the load tells once, at the end of the window. */
static inline void synth_told(struct synth *synth, const struct trial_row *trial, const char *name, const char *unit,
                              double value)
{
    synth_sample(synth, trial, synth_metric(synth, "load", name, unit, METRIC_GAUGE), PHASE_MEASURE, trial->measure_end_ns,
                 value);
}

/* Everything that the sensors read of a service, the host and the tool, with round numbers. */
static inline void synth_sensors(struct synth *synth, const struct trial_row *trial, double cpu_cores,
                                 double wal_bytes_per_s, double commits_per_s)
{
    const double mib = 1048576;
    synth_series(synth, trial, "db", "cpu_ns", "ns", METRIC_COUNTER, 5e9, cpu_cores * 1e9);
    synth_series(synth, trial, "db", "memory_anon_bytes", "bytes", METRIC_GAUGE, 20 * mib, mib);
    synth_series(synth, trial, "db", "memory_shared_bytes", "bytes", METRIC_GAUGE, 64 * mib, 0);
    synth_series(synth, trial, "db", "memory_kernel_bytes", "bytes", METRIC_GAUGE, 8 * mib, 0);
    synth_series(synth, trial, "db", "memory_cache_bytes", "bytes", METRIC_GAUGE, 300 * mib, 2 * mib);
    synth_series(synth, trial, "db", "memory_top_bytes", "bytes", METRIC_GAUGE, 900 * mib, 0);
    synth_series(synth, trial, "db", "processes", "count", METRIC_GAUGE, 7, 0);
    synth_series(synth, trial, "db", "threads", "count", METRIC_GAUGE, 7, 0);
    synth_series(synth, trial, "db", "file_descriptors", "count", METRIC_GAUGE, 120, 0);
    synth_series(synth, trial, "db", "connections", "count", METRIC_GAUGE, trial->clients, 0);
    synth_series(synth, trial, "db", "commits", "count", METRIC_COUNTER, 1000, commits_per_s);
    synth_series(synth, trial, "db", "wal_lsn_bytes", "bytes", METRIC_COUNTER, 16 * mib, wal_bytes_per_s);
    synth_series(synth, trial, "db", "wal_records", "count", METRIC_COUNTER, 100, wal_bytes_per_s / 100);
    synth_series(synth, trial, "db", "wal_fpi", "count", METRIC_COUNTER, 10, wal_bytes_per_s / 16384);
    synth_ends(synth, trial, "db", "checkpoints_timed", "count", METRIC_COUNTER, 3, 3);
    synth_ends(synth, trial, "db", "checkpoints_requested", "count", METRIC_COUNTER, 1, 2);
    synth_series(synth, trial, "host", "cpu_total_ns", "ns", METRIC_COUNTER, 0, 2e9);
    synth_series(synth, trial, "host", "cpu_busy_ns", "ns", METRIC_COUNTER, 0, 1e9);
    synth_series(synth, trial, "host", "cpu_steal_ns", "ns", METRIC_COUNTER, 0, 0.02e9);
    synth_series(synth, trial, "host", "psi_cpu_some_ns", "ns", METRIC_COUNTER, 0, 0.05e9);
    synth_series(synth, trial, "host", "psi_io_some_ns", "ns", METRIC_COUNTER, 0, 0.1e9);
    synth_series(synth, trial, "host", "psi_memory_some_ns", "ns", METRIC_COUNTER, 0, 0);
    synth_series(synth, trial, "host", "foreign_cpu_ns", "ns", METRIC_COUNTER, 0, 0.03e9);
    synth_series(synth, trial, "host", "run_queue", "count", METRIC_GAUGE, 2, 0);
    synth_series(synth, trial, "tool", "cpu_ns", "ns", METRIC_COUNTER, 0, 0.3e9);
    synth_series(synth, trial, "tool", "memory_anon_bytes", "bytes", METRIC_GAUGE, 6 * mib, 0);
    synth_series(synth, trial, "tool", "sense_cpu_ns", "ns", METRIC_COUNTER, 0, 0.004e9);
    synth_series(synth, trial, "tool", "sense_pass_ns", "ns", METRIC_GAUGE, 3e6, 0);
    synth_series(synth, trial, "tool", "sense_missed", "count", METRIC_COUNTER, 0, 0);
    synth_series(synth, trial, "tool", "sense_dropped", "count", METRIC_COUNTER, 0, 0);
    synth_series(synth, trial, "load", "cpu_ns", "ns", METRIC_COUNTER, 0, 0.25e9);
}

#endif
