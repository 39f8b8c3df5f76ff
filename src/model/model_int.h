/* What the files of this room share: a list of figures under construction, and values gathered from trials. */
#ifndef PL_MODEL_MODEL_INT_H
#define PL_MODEL_MODEL_INT_H

#include <stdbool.h>

#include "base/arena.h"
#include "model/model.h"
#include "record/study.h"

#define MODEL_CONFIDENCE 0.95

struct model_build {
    const struct study *study;
    struct pl_arena *arena;
    struct figure *items;
    size_t count, capacity;
    int64_t stage_id, case_id; /* stamped on every figure that is put */
};

/* The trials of one case that figures may use. */
struct model_case {
    const struct stage_row *stage;
    const struct case_row *row;
    const struct trial_row **trials; /* in state DONE, by ordinal; marked ones too, see figures.c */
    size_t count;
    bool open_loop;
};

struct model_label {
    const char *name, *subject, *unit;
    const char *method; /* a sentence */
};

/* One value of each trial, and why a trial has none. `below` holds the denominators when the figure is a ratio. */
struct model_values {
    double *values, *below;
    int64_t *trials;
    size_t count, room;
    const char *why; /* "" when every trial had one; else why the first of the others had none */
    int64_t why_trial;
    size_t lacking;
};

/* --- build.c: putting figures --- */
struct model_values model_values_new(struct model_build *build, size_t room);
void model_values_add(struct model_values *values, int64_t trial_id, double value, double below);
void model_values_lack(struct model_values *values, int64_t trial_id, const char *why);

/* Adds a figure with the label's names, the trials of `values`, n = their count and the value NAN; when there is no value
 * at all, an absent one with the reason. Returns NULL when absent. Valid until the next put. */
struct figure *model_put(struct model_build *build, const struct model_label *label, const struct model_values *values);
void model_put_absent(struct model_build *build, const struct model_label *label, const char *why);
struct figure *model_put_mean(struct model_build *build, const struct model_label *label,
                              const struct model_values *values);
struct figure *model_put_sum(struct model_build *build, const struct model_label *label, const struct model_values *values);
struct figure *model_put_max(struct model_build *build, const struct model_label *label, const struct model_values *values);
/* sum of values / sum of below, with the interval of the ratio estimator (Cochran, Sampling Techniques, 6.3). */
struct figure *model_put_ratio(struct model_build *build, const struct model_label *label,
                               const struct model_values *values);
/* Median, lowest and highest of repeated readings (which are sorted in place); `trials` names where they came from. `what`
 * is the first sentence of the method, or "". */
void model_put_repeats(struct model_build *build, const char *name, const char *unit, const char *what,
                       struct model_values *values, const struct model_values *trials);
void model_note(struct model_build *build, struct figure *figure, const char *note); /* appends; figure may be NULL */

/* "flush_p50_ns", "lowest" -> "flush_p50_lowest_ns": units stay last. */
const char *model_name_with(struct model_build *build, const char *name, const char *word);

/* --- read.c: from samples to numbers --- */
struct model_span {
    double delta;
    int64_t from_ns, to_ns; /* when the two readings were taken */
    const char *why;        /* NULL when delta is known; else why not */
};
struct model_gauge {
    double mean, max;
    size_t count;
    const char *why; /* as above */
};
/* A counter's difference between its first and last reading inside the measured window; the reading made at its end is
 * ready a moment later and counts too. */
struct model_span model_read_window(struct model_build *build, const struct trial_row *trial, const char *source,
                                    const char *name);
/* ... between the last reading before the load started and the last one after it ended: exact for the whole trial. */
struct model_span model_read_trial(struct model_build *build, const struct trial_row *trial, const char *source,
                                   const char *name);
/* ... between the first and the last reading of the trial, whatever its phase. */
struct model_span model_read_all(struct model_build *build, const struct trial_row *trial, const char *source,
                                 const char *name);
/* Gauges: readings inside the window, and none that was made after its end, when the load had stopped. */
struct model_gauge model_read_gauge(struct model_build *build, const struct trial_row *trial, const char *source,
                                    const char *name);
/* Those readings: pointer to the first, and their count. */
const struct sample *model_read_samples(const struct study *study, const struct trial_row *trial, const char *source,
                                        const char *name, size_t *ret_count);
/* A gauge at the two ends of a trial, as model_read_trial chooses them; false when one is not there. */
bool model_read_ends(struct model_build *build, const struct trial_row *trial, const char *source, const char *name,
                     double *ret_before, double *ret_after, const char **ret_why);

/* --- latency.c: histograms of one case, merged over its trials --- */
void model_put_latencies(struct model_build *build, const struct model_case *cs);
/* Response and service of one script or group of tenants; -1: of all. */
void model_put_part_latencies(struct model_build *build, const struct model_case *cs, int script, int group,
                              const char *subject);

/* --- parts.c: what single scripts and groups of tenants of a case's load come to --- */
void model_put_parts(struct model_build *build, const struct model_case *cs);
/* The recorded name of a script (step -1) or step; NULL: there is none. */
const char *model_script_row(const struct study *study, int64_t case_id, int script, int step);
const char *model_script_name(struct model_build *build, const struct model_case *cs, int script);

/* --- client.c: how the load generator itself did, and what it counted of HTTP --- */
void model_put_client(struct model_build *build, const struct model_case *cs);

/* --- cost.c: what services and the tool used --- */
void model_put_costs(struct model_build *build, const struct model_case *cs);
void model_put_wal(struct model_build *build, const struct model_case *cs);
/* Operations completed in one trial: due at any time (whole), or ended inside the window. */
int64_t model_completed_in_trial(const struct study *study, int64_t trial_id);
int64_t model_completed_in_window(const struct study *study, int64_t trial_id);

/* --- one file per group of stages --- */
void model_put_hardware(struct model_build *build, const struct model_case *cs);
void model_put_backends(struct model_build *build, const struct model_case *cs); /* memory of single backends */
void model_put_footprint(struct model_build *build, const struct model_case *cs);
void model_put_load(struct model_build *build, const struct model_case *cs);
void model_put_storage(struct model_build *build, const struct model_case *cs);
void model_put_trial_noise(struct model_build *build, const struct trial_row *trial);
void model_put_stage_noise(struct model_build *build, const struct stage_row *stage);
void model_put_study_noise(struct model_build *build);

/* --- compare.c: cases held against one another, corrected for all of the study --- */
void model_put_comparisons(struct model_build *build);

#endif
