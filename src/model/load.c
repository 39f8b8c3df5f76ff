/* Stages with a load: the ledger, throughput, and whether the client was the limit. */
#include "model/model_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

static const struct count_row {
    const char *name;
    size_t offset;
} count_rows[] = {
    {"due", offsetof(struct ledger, due)},
    {"completed", offsetof(struct ledger, completed)},
    {"failed", offsetof(struct ledger, failed)},
    {"skipped", offsetof(struct ledger, skipped)},
    {"expired", offsetof(struct ledger, expired)},
    {"unfinished", offsetof(struct ledger, unfinished)},
    {"never_started", offsetof(struct ledger, never_started)},
};

static int64_t ledger_count(const struct ledger *ledger, size_t offset)
{
    int64_t count;
    memcpy(&count, (const char *)ledger + offset, sizeof count);
    return count;
}

static struct ledger trial_ledger(const struct study *study, int64_t trial_id, bool window_only)
{
    struct ledger sum = {0};
    for (size_t i = 0; i < study->slice_count; i++) {
        const struct slice *slice = &study->slices[i];
        if (slice->trial_id == trial_id && slice->step == -1 && (!window_only || slice->due_in == PHASE_MEASURE))
            ledger_add(&sum, &slice->ledger);
    }
    return sum;
}

static void put_ledger(struct model_build *build, const struct model_case *cs, bool window_only)
{
    for (size_t row = 0; row < sizeof count_rows / sizeof *count_rows; row++) {
        struct model_values values = model_values_new(build, cs->count);
        for (size_t i = 0; i < cs->count; i++) {
            struct ledger ledger = trial_ledger(build->study, cs->trials[i]->id, window_only);
            model_values_add(&values, cs->trials[i]->id, (double)ledger_count(&ledger, count_rows[row].offset), 0);
        }
        struct model_label label = {.subject = "", .unit = "count"};
        label.name = window_only ? count_rows[row].name : pl_format(build->arena, "all_%s", count_rows[row].name);
        label.method = window_only
                           ? "Operations due inside the measured window, by how they ended; summed over trials."
                           : "All operations of the trials, warm-up included, by how they ended; summed over trials.";
        model_put_sum(build, &label, &values);
    }
}

static double window_ns(const struct trial_row *trial)
{
    return (double)(trial->measure_end_ns - trial->measure_start_ns);
}

static bool has_window(const struct trial_row *trial)
{
    return trial->measure_start_ns > 0 && trial->measure_end_ns > trial->measure_start_ns;
}

/* What throughput is made of, one value of each trial. */
struct throughput {
    struct model_values completed, windows, tps, with_connects, achieved, offered, unfailed, errors;
};

static struct throughput throughput_of(struct model_build *build, const struct model_case *cs)
{
    struct throughput through;
    struct model_values *const all[] = {&through.completed, &through.windows, &through.tps,      &through.with_connects,
                                        &through.achieved,  &through.offered, &through.unfailed, &through.errors};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        *all[k] = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        const struct trial_row *trial = cs->trials[i];
        if (!has_window(trial)) {
            for (size_t k = 0; k < sizeof all / sizeof *all; k++)
                model_values_lack(all[k], trial->id, "it has no measured window");
            continue;
        }
        double completed = (double)model_completed_in_window(build->study, trial->id);
        double window_s = window_ns(trial) / (double)PL_NS_PER_S;
        double connect_s = (double)(trial->connect_end_ns - trial->connect_start_ns) / (double)PL_NS_PER_S;
        struct ledger ledger = trial_ledger(build->study, trial->id, true);
        model_values_add(&through.completed, trial->id, completed, 0);
        model_values_add(&through.windows, trial->id, window_ns(trial), 0);
        model_values_add(&through.tps, trial->id, completed / window_s, 0);
        model_values_add(&through.with_connects, trial->id, completed / (window_s + connect_s), 0);
        model_values_add(&through.achieved, trial->id, completed, window_s);
        model_values_add(&through.offered, trial->id, (double)ledger.due, window_s);
        model_values_add(&through.unfailed, trial->id, (double)ledger.failed, (double)ledger.due);
        model_values_add(&through.errors, trial->id, (double)ledger.failed + (double)ledger.expired, (double)ledger.due);
    }
    return through;
}

static const struct model_label tps_label = {"tps", "", "1/s",
                                             "Operations that ended inside the measured window, over its length; "
                                             "connecting is not counted; mean over trials, Student's t "
                                             "interval."};
static const struct model_label with_connects_label = {"tps_with_connects", "", "1/s",
                                                       "Operations that ended inside the measured window, over its length "
                                                       "plus the time in which all clients connected; mean over "
                                                       "trials, Student's t interval."};
static const struct model_label cv_label = {"tps_cv_frac", "", "1",
                                            "Standard deviation of the trials' throughput over their mean."};
static const struct model_label completed_label = {
    "completed_in_window", "", "count",
    "Operations that ended inside the measured window, whenever they were due; summed over trials."};
static const struct model_label window_label = {"window_ns", "", "ns",
                                                "Length of the measured window, summed over trials."};
static const struct model_label achieved_label = {
    "achieved_per_s", "", "1/s", "completed_in_window over window_ns; interval of the ratio estimator (Cochran, 6.3)."};
static const struct model_label offered_label = {
    "offered_per_s", "", "1/s",
    "Operations that were due in the window, over its length; ratio of the sums over trials, interval of the ratio "
    "estimator (Cochran, 6.3)."};
static const struct model_label failed_label = {
    "failed_frac", "", "1", "Operations due in the window that failed, over all due in it; ratio of the sums over trials."};
static const struct model_label error_label = {"error_frac", "", "1",
                                               "Operations due in the window that failed or got no answer within their "
                                               "time limit (expired), over all due in it; ratio "
                                               "of the sums over trials."};

#define UNSTABLE_CV 0.1

static void put_throughput(struct model_build *build, const struct model_case *cs)
{
    struct throughput through = throughput_of(build, cs);
    struct figure *figure = model_put_mean(build, &tps_label, &through.tps);
    double cv = (double)NAN;
    if (figure != NULL) {
        figure->status = FIGURE_COMPUTED;
        cv = figure->value > 0 ? figure->stddev / figure->value : (double)NAN;
        if (cv > UNSTABLE_CV)
            model_note(
                build, figure,
                pl_format(build->arena, "unstable: the trials' standard deviation is %.0f %% of their mean", 100 * cv));
    }
    if (isnan(cv)) {
        model_put_absent(build, &cv_label,
                         through.tps.count < 2 ? "a spread needs at least two trials" : "nothing was completed");
    } else {
        figure = model_put(build, &cv_label, &through.tps);
        figure->value = cv;
        figure->status = FIGURE_COMPUTED;
    }
    figure = model_put_mean(build, &with_connects_label, &through.with_connects);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
    model_put_sum(build, &completed_label, &through.completed);
    model_put_sum(build, &window_label, &through.windows);
    model_put_ratio(build, &failed_label, &through.unfailed);
    model_put_ratio(build, &error_label, &through.errors);
    if (cs->open_loop) {
        model_put_ratio(build, &achieved_label, &through.achieved);
        model_put_ratio(build, &offered_label, &through.offered);
    }
}

/* CPU of a source over the window, for each operation that ended in it: cores times window over operations. */
static void put_cpu_per_operation(struct model_build *build, const struct model_case *cs, const char *source)
{
    struct model_values values = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        const struct trial_row *trial = cs->trials[i];
        struct model_span span = model_read_window(build, trial, source, "cpu_ns");
        if (span.why != NULL)
            model_values_lack(&values, trial->id, span.why);
        else
            model_values_add(&values, trial->id, span.delta / (double)(span.to_ns - span.from_ns) * window_ns(trial),
                             (double)model_completed_in_window(build->study, trial->id));
    }
    model_put_sum(
        build, &(struct model_label){"cpu_window_ns", source, "ns", "CPU in cores times the window; summed over trials."},
        &values);
    model_put_ratio(
        build,
        &(struct model_label){"cpu_ns_per_operation", source, "ns",
                              "CPU in cores times the window, over the operations that ended inside it; ratio of "
                              "the sums over trials."},
        &values);
}

void model_put_load(struct model_build *build, const struct model_case *cs)
{
    put_ledger(build, cs, true);
    put_ledger(build, cs, false);
    put_throughput(build, cs);
    model_put_latencies(build, cs);
    model_put_costs(build, cs);
    put_cpu_per_operation(build, cs, build->study->subject);
    model_put_client(build, cs);
    model_put_parts(build, cs);
    model_put_wal(build, cs);
    model_put_backends(build, cs);
}
