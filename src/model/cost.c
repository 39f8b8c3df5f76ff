/* What the services and the tool used: memory as a decomposition, CPU in cores, rates of counters, write-ahead log. */
#include "model/model_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

int64_t model_completed_in_trial(const struct study *study, int64_t trial_id)
{
    int64_t completed = 0;
    for (size_t i = 0; i < study->slice_count; i++)
        if (study->slices[i].trial_id == trial_id && study->slices[i].step == -1)
            completed += study->slices[i].ledger.completed;
    return completed;
}

int64_t model_completed_in_window(const struct study *study, int64_t trial_id)
{
    int64_t completed = 0;
    for (size_t i = 0; i < study->slice_count; i++) {
        const struct slice *slice = &study->slices[i];
        if (slice->trial_id == trial_id && slice->step == -1 && slice->during == PHASE_MEASURE)
            completed += slice->ledger.completed;
    }
    return completed;
}

/* Gauges over the measured window. The mean is a mean over trials of the mean of the readings; max is the highest reading.
 */
static const struct gauge_row {
    const char *metric, *max_name, *unit;
    bool tool_too;
} gauge_rows[] = {
    {"memory_anon_bytes", "memory_anon_max_bytes", "bytes", true},
    {"memory_shared_bytes", "memory_shared_max_bytes", "bytes", false},
    {"memory_kernel_bytes", "memory_kernel_max_bytes", "bytes", false},
    {"memory_cache_bytes", "memory_cache_max_bytes", "bytes", false},
    {"memory_top_bytes", NULL, "bytes", false},
    {"processes", "processes_max", "count", false},
    {"threads", "threads_max", "count", false},
    {"file_descriptors", "file_descriptors_max", "count", false},
    {"connections", "connections_max", "count", false},
    {"connections_active", "connections_active_max", "count", false},
    {"connections_idle", "connections_idle_max", "count", false},
    {"connections_waiting", "connections_waiting_max", "count", false},
};

static const char gauge_method[] = "Mean over trials of the mean of the readings inside the measured window.";
static const char gauge_max_method[] = "The highest reading inside the measured window of any trial.";
static const char top_warning[] =
    "the sum of resident sizes as top shows them: shared memory is counted once for every process "
    "that maps it, so this is not what the service needs";

static void put_gauge(struct model_build *build, const struct model_case *cs, const char *source,
                      const struct gauge_row *row)
{
    struct model_values means = model_values_new(build, cs->count), highs = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        struct model_gauge gauge = model_read_gauge(build, cs->trials[i], source, row->metric);
        if (gauge.why != NULL) {
            model_values_lack(&means, cs->trials[i]->id, gauge.why);
            model_values_lack(&highs, cs->trials[i]->id, gauge.why);
        } else {
            model_values_add(&means, cs->trials[i]->id, gauge.mean, 0);
            model_values_add(&highs, cs->trials[i]->id, gauge.max, 0);
        }
    }
    struct figure *figure =
        model_put_mean(build, &(struct model_label){row->metric, source, row->unit, gauge_method}, &means);
    if (strcmp(row->metric, "memory_top_bytes") == 0)
        model_note(build, figure, top_warning);
    if (row->max_name != NULL)
        model_put_max(build, &(struct model_label){row->max_name, source, row->unit, gauge_max_method}, &highs);
}

#define MEMORY_PARTS 3
static const char *const memory_parts[MEMORY_PARTS] = {"memory_anon_bytes", "memory_shared_bytes", "memory_kernel_bytes"};

/* Mean and highest sum of the parts of one trial, reading by reading. A part that is never read is left out (bit in
 * *lacks); the highest is NAN when the parts were not read equally often. */
static double memory_total(struct model_build *build, const struct trial_row *trial, const char *source, double *ret_max,
                           unsigned *lacks)
{
    const struct sample *parts[MEMORY_PARTS];
    size_t counts[MEMORY_PARTS], most = 0, least = SIZE_MAX;
    double mean = 0, max = 0;
    for (int i = 0; i < MEMORY_PARTS; i++) {
        parts[i] = model_read_samples(build->study, trial, source, memory_parts[i], &counts[i]);
        if (counts[i] == 0) {
            *lacks |= 1U << i;
            continue;
        }
        mean += model_read_gauge(build, trial, source, memory_parts[i]).mean;
        most = counts[i] > most ? counts[i] : most;
        least = counts[i] < least ? counts[i] : least;
    }
    for (size_t k = 0; k < most && most == least; k++) {
        double sum = 0;
        for (int i = 0; i < MEMORY_PARTS; i++)
            sum += counts[i] > 0 ? parts[i][k].value : 0;
        max = fmax(max, sum);
    }
    *ret_max = most == least ? max : (double)NAN;
    return mean;
}

static void put_memory(struct model_build *build, const struct model_case *cs, const char *source)
{
    struct model_values means = model_values_new(build, cs->count), highs = model_values_new(build, cs->count);
    unsigned lacks = 0;
    for (size_t i = 0; i < cs->count; i++) {
        unsigned trial_lacks = 0;
        double max, mean = memory_total(build, cs->trials[i], source, &max, &trial_lacks);
        if ((trial_lacks & 1U) != 0) {
            model_values_lack(&means, cs->trials[i]->id, "anonymous memory was not read");
            model_values_lack(&highs, cs->trials[i]->id, "anonymous memory was not read");
            continue;
        }
        lacks |= trial_lacks;
        model_values_add(&means, cs->trials[i]->id, mean, 0);
        if (isnan(max))
            model_values_lack(&highs, cs->trials[i]->id, "the parts were not read equally often");
        else
            model_values_add(&highs, cs->trials[i]->id, max, 0);
    }
    static const char *const lacking[] = {"",
                                          "",
                                          "without shared memory, which was not read",
                                          "",
                                          "without kernel memory, which was not read",
                                          "",
                                          "without shared and kernel memory, which were not read",
                                          ""};
    struct figure *figure = model_put_mean(
        build,
        &(struct model_label){"memory_bytes", source, "bytes",
                              "Anonymous, shared (once) and kernel memory together, without file cache; mean over trials."},
        &means);
    model_note(build, figure, lacking[lacks]);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
    figure = model_put_max(
        build,
        &(struct model_label){"memory_max_bytes", source, "bytes",
                              "The highest sum of anonymous, shared and kernel memory at one reading inside the measured "
                              "window of any trial."},
        &highs);
    model_note(build, figure, lacking[lacks]);
}

/* Counters as rates: difference between the first and the last reading inside the window, over the time between the two. */
static const struct rate_row {
    const char *metric, *name, *unit;
    double per_s; /* factor to events (or cores) per second */
    bool tool_too;
} rate_rows[] = {
    {"cpu_ns", "cpu_cores", "cores", 1e-9, true},
    {"io_read_bytes", "io_read_bytes_per_s", "bytes/s", 1, false},
    {"io_write_bytes", "io_write_bytes_per_s", "bytes/s", 1, false},
    {"commits", "transactions_per_min", "1/min", 60, false},
    {"rollbacks", "rollbacks_per_min", "1/min", 60, false},
    {"blocks_read", "blocks_read_per_s", "1/s", 1, false},
    {"blocks_hit", "blocks_hit_per_s", "1/s", 1, false},
    {"wal_lsn_bytes", "wal_bytes_per_s", "bytes/s", 1, false},
};
static const char rate_method[] =
    "Difference of the counter between its first and last reading inside the measured window, over "
    "the time between the two; mean over trials.";

static void put_rate(struct model_build *build, const struct model_case *cs, const char *source, const struct rate_row *row)
{
    struct model_values values = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        struct model_span span = model_read_window(build, cs->trials[i], source, row->metric);
        if (span.why != NULL)
            model_values_lack(&values, cs->trials[i]->id, span.why);
        else
            model_values_add(&values, cs->trials[i]->id,
                             span.delta * row->per_s * (double)PL_NS_PER_S / (double)(span.to_ns - span.from_ns), 0);
    }
    struct figure *figure =
        model_put_mean(build, &(struct model_label){row->name, source, row->unit, rate_method}, &values);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
}

static void put_service(struct model_build *build, const struct model_case *cs, const char *source, bool tool)
{
    for (size_t i = 0; i < sizeof gauge_rows / sizeof *gauge_rows; i++)
        if (!tool || gauge_rows[i].tool_too)
            put_gauge(build, cs, source, &gauge_rows[i]);
    for (size_t i = 0; i < sizeof rate_rows / sizeof *rate_rows; i++)
        if (!tool || rate_rows[i].tool_too)
            put_rate(build, cs, source, &rate_rows[i]);
    if (!tool)
        put_memory(build, cs, source);
}

static bool is_service(const struct study *study, size_t metric)
{
    static const char *const others[] = {"host", "tool", "load", "hardware"};
    const char *source = study->metrics[metric].source;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(source, others[i]) == 0)
            return false;
    if (strchr(source, '/') != NULL || strcmp(source, study->subject) == 0)
        return false;
    for (size_t i = 0; i < metric; i++)
        if (strcmp(source, study->metrics[i].source) == 0)
            return false;
    return true;
}

void model_put_costs(struct model_build *build, const struct model_case *cs)
{
    const struct study *study = build->study;
    put_service(build, cs, study->subject, false);
    for (size_t i = 0; i < study->metric_count; i++)
        if (is_service(study, i))
            put_service(build, cs, study->metrics[i].source, false);
    put_service(build, cs, "tool", true);
}

/* Differences over whole trials, as sums over trials, and divided by all operations that were completed in them. */
static const struct whole_row {
    const char *metric, *total, *per_operation, *unit;
    const char *setup; /* what connecting and preparing took of it, as the load counts it; NULL: it is in the figure */
} whole_rows[] = {
    {"wal_lsn_bytes", "wal_bytes", "wal_bytes_per_operation", "bytes", NULL},
    {"wal_records", "wal_records", "wal_records_per_operation", "count", NULL},
    {"wal_fpi", "wal_fpi", "wal_fpi_per_operation", "count", NULL},
    {"commits", "commits", "commits_per_operation", "count", "setup_transactions"},
    {"rollbacks", "rollbacks", NULL, "count", NULL},
};
static const char whole_method[] =
    "Difference between the last reading before the load and the last one after it, summed over "
    "trials.";
static const char whole_ratio_method[] = "Difference between the last reading before clients connected and the last one "
                                         "after the load, divided by all operations "
                                         "completed in the trial (warm-up and drain included); ratio of the sums over "
                                         "trials. What connecting and preparing costs is in "
                                         "it.";

static const char setup_method[] =
    "Difference between the last reading before clients connected and the last one after the "
    "load, less the transactions in which the load connected and prepared its statements, "
    "summed over trials.";
static const char setup_ratio_method[] =
    "Difference between the last reading before clients connected and the last one after "
    "the load, less the transactions in which the load connected and prepared its "
    "statements, divided by all operations completed in the trial (warm-up and drain "
    "included); ratio of the sums over trials.";

/* The last reading of the load's own count; 0 when it has none. */
static double setup_of(const struct study *study, const struct trial_row *trial, const char *name)
{
    const struct metric *metric = name == NULL ? NULL : study_metric(study, "load", name);
    size_t count = 0;
    const struct sample *samples = metric == NULL ? NULL : study_samples(study, trial->id, metric->id, &count);
    return count > 0 ? samples[count - 1].value : 0;
}

static struct model_values whole_values(struct model_build *build, const struct model_case *cs, const char *metric,
                                        const char *setup)
{
    struct model_values values = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        struct model_span span = model_read_trial(build, cs->trials[i], build->study->subject, metric);
        if (span.why != NULL)
            model_values_lack(&values, cs->trials[i]->id, span.why);
        else
            model_values_add(&values, cs->trials[i]->id, span.delta - setup_of(build->study, cs->trials[i], setup),
                             (double)model_completed_in_trial(build->study, cs->trials[i]->id));
    }
    return values;
}

/* Timed and requested checkpoints are two counters; here they count as one thing. */
static struct model_values checkpoint_values(struct model_build *build, const struct model_case *cs)
{
    static const char *const metrics[] = {"checkpoints_timed", "checkpoints_requested"};
    struct model_values values = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        double sum = 0;
        const char *why = NULL;
        for (size_t k = 0; k < 2; k++) {
            struct model_span span = model_read_trial(build, cs->trials[i], build->study->subject, metrics[k]);
            why = why == NULL ? span.why : why;
            sum += span.why == NULL ? span.delta : 0;
        }
        if (why != NULL)
            model_values_lack(&values, cs->trials[i]->id, why);
        else
            model_values_add(&values, cs->trials[i]->id, sum, 0);
    }
    return values;
}

static const char *checkpoint_note(struct model_build *build, const struct model_values *checkpoints)
{
    if (checkpoints->count == 0)
        return "how many checkpoints fell into the trials is not known";
    double fewest = checkpoints->values[0];
    for (size_t i = 1; i < checkpoints->count; i++)
        fewest = fmin(fewest, checkpoints->values[i]);
    if (fewest >= 2)
        return "";
    return pl_format(
        build->arena,
        "a trial held %.0f checkpoint%s: full-page images follow a checkpoint, so a longer run with two or more may "
        "write more or less per operation",
        fewest, fewest == 1 ? "" : "s");
}

/* Every image is at most a block: holes are left out and compression shrinks it, so this is a bound from above. */
static void put_fpi_share(struct model_build *build, const struct model_case *cs)
{
    static const struct model_label label = {
        "wal_fpi_at_most_frac", "", "1",
        "Full-page images times the block size over WAL bytes, whole trials: the most that images can be of the WAL."};
    const char *subject = build->study->subject;
    const struct fact *block =
        study_fact(build->study, param_scope(cs->row->params, cs->row->param_count, subject, build->arena), "block_size");
    int64_t block_bytes;
    if (block == NULL || pl_num_i64(block->value, strlen(block->value), &block_bytes) != PL_NUM_OK || block_bytes <= 0)
        block_bytes = 8192;
    struct model_values images = whole_values(build, cs, "wal_fpi", NULL);
    struct model_values wal = whole_values(build, cs, "wal_lsn_bytes", NULL);
    struct model_label named = label;
    named.subject = subject;
    if (images.count != wal.count || images.count == 0) {
        const struct model_values *without = images.count < wal.count || images.count == 0 ? &images : &wal;
        model_put_absent(build, &named, without->why[0] != '\0' ? without->why : "no trial of this case was completed");
        return;
    }
    double written = 0;
    for (size_t i = 0; i < images.count; i++) {
        images.values[i] *= (double)block_bytes;
        images.below[i] = wal.values[i];
        written += wal.values[i];
    }
    if (!(written > 0)) {
        model_put_absent(build, &named, "nothing was written to the write-ahead log");
        return;
    }
    struct figure *figure = model_put_ratio(build, &named, &images);
    if (figure == NULL || figure->value <= 1)
        return;
    figure->value = 1;
    figure->has_interval = false;
    model_note(build, figure, "images are compressed or have holes, so the bound says nothing");
}

void model_put_wal(struct model_build *build, const struct model_case *cs)
{
    const char *subject = build->study->subject;
    struct model_values checkpoints = checkpoint_values(build, cs);
    const char *note = checkpoint_note(build, &checkpoints);
    for (size_t i = 0; i < sizeof whole_rows / sizeof *whole_rows; i++) {
        const struct whole_row *row = &whole_rows[i];
        struct model_values values = whole_values(build, cs, row->metric, row->setup);
        model_put_sum(
            build, &(struct model_label){row->total, subject, row->unit, row->setup != NULL ? setup_method : whole_method},
            &values);
        if (row->per_operation == NULL)
            continue;
        const char *unit = strcmp(row->unit, "bytes") == 0 ? "bytes" : "1";
        struct figure *figure =
            model_put_ratio(build,
                            &(struct model_label){row->per_operation, subject, unit,
                                                  row->setup != NULL ? setup_ratio_method : whole_ratio_method},
                            &values);
        if (strncmp(row->metric, "wal", 3) == 0)
            model_note(build, figure, note);
    }
    put_fpi_share(build, cs);
    model_put_sum(
        build,
        &(struct model_label){"checkpoints", subject, "count",
                              "Checkpoints, timed and requested, between the last reading before the load and the last "
                              "one after it, summed over trials."},
        &checkpoints);
}
