/* Latencies of one case: histograms merged over slices and trials, never percentiles averaged. */
#include "model/model_int.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "stats/interval.h"

#include "base/ban.h"

static const struct quantile {
    const char *suffix;
    double q;
    bool by_trial; /* also say how it ranged over the trials */
} quantiles[] = {
    {"p50", 0.5, true}, {"p90", 0.9, false}, {"p95", 0.95, false}, {"p99", 0.99, true}, {"p999", 0.999, false},
};

enum law { LAW_RESPONSE, LAW_SERVICE, LAW_LATENESS, LAW_COUNT };
static const char *const law_names[LAW_COUNT] = {"response", "service", "lateness"};
/* Histograms hold only operations that ended well, so what did not end must be added where ranks are counted: it is the
 * slowest part of an overload. Of the response it is known how long each of them had taken when it was given up: it took at
 * least so long, and a percentile that this leaves open is given as a lower bound. Where that was not recorded (studies of
 * older formats, and laws that begin when an operation is sent) it is ranked as the longest: that it is slower than all
 * that ended holds where operations are served in the order in which they were due; where it does not hold, the bound is
 * too high rather than too low. */
#define RANKED                                                                                                             \
    "histograms of all trials merged, nearest rank; operations that had not ended (unfinished, expired) are ranked as "    \
    "longer than all others, failed and skipped ones are left out; interval from order statistics (Conover, Practical "    \
    "Nonparametric Statistics, 3.2), as if operations were independent."
#define KNOWN                                                                                                              \
    "histograms of all trials merged, nearest rank; an operation that had not ended (unfinished, expired) took at least "  \
    "as long as it had when it was given up, failed and skipped ones are left out; interval from order statistics "        \
    "(Conover, Practical Nonparametric Statistics, 3.2), as if operations were independent."
static const char *const law_methods[LAW_COUNT] = {
    "From the moment an operation was due to its end, of all operations due inside the measured window; " RANKED,
    "From the moment an operation was sent to its end, of all operations due inside the measured window; " RANKED,
    "From the moment an operation was due to the moment it was sent, of all operations due inside the measured "
    "window; " RANKED,
};
static const char known_method[] =
    "From the moment an operation was due to its end, of all operations due inside the measured window; " KNOWN;
static const char step_method[] =
    "From the moment a step was sent to its end, of all steps that ended, of operations due inside the measured window; "
    "histograms of all trials merged, nearest rank; steps that failed or had not ended are left out; interval from order "
    "statistics (Conover, Practical Nonparametric Statistics, 3.2), as if operations were independent.";
static const char known_step_method[] =
    "From the moment a step was sent to its end, of operations due inside the measured window; histograms of all trials "
    "merged, nearest rank; a step that expired took at least as long as it had when it was given up, those that failed or "
    "were under way at the end are left out; interval from order statistics (Conover, Practical Nonparametric Statistics, "
    "3.2), as if operations were independent.";

static const struct hist *slice_hist(const struct slice *slice, enum law law)
{
    return law == LAW_RESPONSE ? slice->response : law == LAW_SERVICE ? slice->service : slice->lateness;
}

/* Which operations: of one script or step or group of tenants; ALL: of every one. */
enum { ALL = -1 };
struct part {
    int script, step, group; /* step -1: whole operations */
};
static const struct part whole = {ALL, -1, ALL};

static bool is_of(const struct part *part, const struct slice *slice)
{
    return (part->script == ALL || slice->script == part->script) && (part->group == ALL || slice->group == part->group);
}

/* A merged histogram and the trials that are in it. */
struct merged {
    struct hist hist, censored; /* what ended, and as at least so long what did not */
    bool started;
    bool mixed; /* a histogram of another geometry was left out */
    bool step;  /* of one step: the ledger is that of its script's operations */
    bool sent;  /* of whole operations, from the moment they were sent: `censored` is not of that law */
    struct ledger ledger;
    int64_t step_expired;
    const struct trial_row **trials;
    size_t trial_count;
};

static void merged_start(struct merged *merged, const struct hist *like)
{
    if (merged->started)
        return;
    hist_init(&merged->hist, like->lowest, like->highest, like->digits);
    hist_init(&merged->censored, like->lowest, like->highest, like->digits);
    merged->started = true;
}

static void merged_add(struct merged *merged, struct hist *into, const struct hist *hist)
{
    if (into->lowest != hist->lowest || into->highest != hist->highest || into->digits != hist->digits)
        merged->mixed = true;
    else
        hist_merge(into, hist);
}

/* Everything of one law that was due in the measured window of one trial. */
static void merge_trial(struct merged *merged, const struct study *study, int64_t trial_id, enum law law,
                        const struct part *part)
{
    merged->sent = part->step < 0 && law != LAW_RESPONSE;
    for (size_t i = 0; i < study->slice_count; i++) {
        const struct slice *slice = &study->slices[i];
        const struct hist *hist = slice_hist(slice, law), *censored = merged->sent ? NULL : slice->censored;
        if (slice->trial_id != trial_id || slice->due_in != PHASE_MEASURE || !is_of(part, slice))
            continue;
        if (slice->step == -1)
            ledger_add(&merged->ledger, &slice->ledger);
        if (slice->step != part->step)
            continue;
        merged->step_expired += slice->step >= 0 ? slice->ledger.expired : 0;
        if (hist != NULL || censored != NULL)
            merged_start(merged, hist != NULL ? hist : censored);
        if (hist != NULL)
            merged_add(merged, &merged->hist, hist);
        if (censored != NULL)
            merged_add(merged, &merged->censored, censored);
    }
}

static void merged_release(struct merged *merged)
{
    if (!merged->started)
        return;
    hist_release(&merged->hist);
    hist_release(&merged->censored);
}

static int64_t merged_total(const struct merged *merged)
{
    return merged->started ? merged->hist.total : 0;
}

/* Operations that had not ended and belong to what is ranked. Of a step those that expired in it: whether the others came
 * to it is not known. */
static int64_t merged_open(const struct merged *merged)
{
    const struct ledger *ledger = &merged->ledger;
    return merged->step ? merged->step_expired : ledger->unfinished + ledger->expired;
}

/* Operations of a step's script that were under way at the end, in whatever step. */
static int64_t merged_under_way(const struct merged *merged)
{
    return merged->step ? merged->ledger.unfinished - merged->ledger.never_started : 0;
}

/* How long each of those that had not ended had taken was recorded. */
static bool merged_is_known(const struct merged *merged)
{
    return merged->started && !merged->sent && merged->censored.total == merged_open(merged);
}

/* How many values are ranked: those that ended, and those that did not. */
static int64_t merged_ranked(const struct merged *merged)
{
    bool without = merged->step && !merged_is_known(merged);
    return merged_total(merged) + (without ? 0 : merged_open(merged));
}

/* Nearest rank, as hist_quantile counts it. */
static int64_t quantile_rank(int64_t ranked, double q)
{
    double exact = q * (double)ranked, rank = ceil(exact - exact * (4 * DBL_EPSILON));
    return rank < 1 ? 1 : rank >= (double)ranked ? ranked : (int64_t)rank;
}

/* Of at least one ranked value. *ret_at_least: only a lower bound is known. */
static int64_t merged_quantile(const struct merged *merged, double q, bool *ret_at_least)
{
    if (merged_is_known(merged))
        return hist_quantile_censored(&merged->hist, &merged->censored, q, ret_at_least);
    int64_t rank = quantile_rank(merged_ranked(merged), q);
    *ret_at_least = rank > merged_total(merged);
    return *ret_at_least ? merged->hist.max : hist_value_at_rank(&merged->hist, rank);
}

/* The value at a rank from below: what did not end taken at what it had taken. */
static int64_t merged_low_end(const struct merged *merged, int64_t rank)
{
    if (!merged_is_known(merged) || merged->censored.total == 0)
        return hist_value_at_rank(&merged->hist, rank);
    struct hist both;
    hist_init(&both, merged->hist.lowest, merged->hist.highest, merged->hist.digits);
    hist_merge(&both, &merged->hist);
    hist_merge(&both, &merged->censored);
    int64_t value = hist_value_at_rank(&both, rank);
    hist_release(&both);
    return value;
}

/* "373 of 1800 operations due had not ended"; "" when all had. */
static const char *open_words(struct model_build *build, const struct merged *merged)
{
    if (merged_open(merged) == 0)
        return "";
    if (merged->step)
        return pl_format(build->arena, "%lld steps expired", (long long)merged_open(merged));
    return pl_format(build->arena, "%lld of %lld operations due had not ended", (long long)merged_open(merged),
                     (long long)merged->ledger.due);
}

static void note_left_out(struct model_build *build, struct figure *figure, const struct merged *merged)
{
    if (merged->ledger.failed > 0)
        model_note(build, figure,
                   pl_format(build->arena, "without %lld operations that failed", (long long)merged->ledger.failed));
    if (merged->ledger.skipped > 0)
        model_note(build, figure,
                   pl_format(build->arena, "without %lld operations that were skipped", (long long)merged->ledger.skipped));
}

/* A figure of the merged operations; NULL when it is absent. ranks_all: those that had not ended are among them. */
static struct figure *put_merged(struct model_build *build, const struct model_label *label, const struct merged *merged,
                                 bool ranks_all)
{
    struct model_values trials = model_values_new(build, merged->trial_count);
    for (size_t i = 0; i < merged->trial_count; i++)
        model_values_add(&trials, merged->trials[i]->id, 0, 0);
    if (merged_total(merged) == 0 && !(ranks_all && merged_is_known(merged) && merged_open(merged) > 0)) {
        model_put_absent(build, label,
                         merged->trial_count == 0 ? "no trial of this case was completed"
                                                  : "no operation was completed in the measured window");
        return NULL;
    }
    struct figure *figure = model_put(build, label, &trials);
    if (figure == NULL)
        return NULL;
    figure->n = merged->hist.total;
    if (merged->mixed)
        model_note(build, figure, "slices whose histograms have another geometry are left out");
    if (merged->hist.clipped > 0)
        model_note(build, figure,
                   pl_format(build->arena, "%lld operations took longer than the histogram can tell",
                             (long long)merged->hist.clipped));
    return figure;
}

/* To three digits; a lower bound must not be rounded up. */
static double round_down(double value)
{
    double unit = value > 0 ? pow(10, floor(log10(value)) - 2) : 1;
    return floor(value / unit) * unit;
}

/* Only a lower bound is known: it stands in the note and, for pages, in the absent figure's value. */
static void put_bound(struct model_build *build, struct figure *figure, const struct merged *merged, int64_t bound)
{
    char least[64];
    figure->status = FIGURE_ABSENT;
    figure->value = (double)bound;
    pl_num_text_ns(least, sizeof least, round_down(figure->value));
    model_note(build, figure,
               merged_is_known(merged)
                   ? pl_format(build->arena, "%s: this percentile is at least %s", open_words(build, merged), least)
                   : pl_format(build->arena, "%s: ranked as the longest, this percentile is at least %s",
                               open_words(build, merged), least));
}

static void put_interval(struct model_build *build, struct figure *figure, const struct merged *merged, double q)
{
    int64_t low, high, total = merged_total(merged);
    double confidence;
    bool open = merged_ranked(merged) > total;
    if (!interval_quantile_ranks(merged_ranked(merged), q, MODEL_CONFIDENCE, &low, &high, &confidence)) {
        model_note(build, figure, "too few operations for an interval on both sides");
    } else if (high > total) {
        model_note(build, figure,
                   pl_format(build->arena, "%s: the upper end of the interval is not known", open_words(build, merged)));
        return;
    } else {
        figure->has_interval = true;
        figure->confidence = confidence;
        figure->low = (double)merged_low_end(merged, low);
        figure->high = (double)hist_value_at_rank(&merged->hist, high); /* as if what did not end never would */
    }
    if (open && !merged_is_known(merged))
        model_note(build, figure, pl_format(build->arena, "%s: ranked as the longest", open_words(build, merged)));
    else if (open)
        model_note(build, figure,
                   pl_format(build->arena, "%s: taken at no less than they had taken", open_words(build, merged)));
}

/* Steps whose operations had not ended are not all ranked. */
static void note_steps(struct model_build *build, struct figure *figure, const struct merged *merged)
{
    int64_t without = merged_under_way(merged);
    if (merged->step && !merged_is_known(merged))
        without += merged->ledger.expired;
    if (merged->step && without > 0)
        model_note(build, figure,
                   pl_format(build->arena, "%lld of %lld operations due had not ended: without them", (long long)without,
                             (long long)merged->ledger.due));
}

static void put_quantile(struct model_build *build, const struct model_label *label, const struct merged *merged, double q)
{
    int64_t ranked = merged_ranked(merged), needed = interval_quantile_min_n(q, MODEL_CONFIDENCE);
    if (ranked > 0 && ranked < needed) {
        model_put_absent(
            build, label,
            pl_format(build->arena, "too few operations: this percentile needs at least %lld", (long long)needed));
        build->items[build->count - 1].n = ranked;
        return;
    }
    struct figure *figure = put_merged(build, label, merged, true);
    if (figure == NULL)
        return;
    bool at_least = false;
    int64_t value = merged_quantile(merged, q, &at_least);
    figure->n = ranked;
    if (at_least) {
        put_bound(build, figure, merged, value);
    } else {
        figure->value = (double)value;
        put_interval(build, figure, merged, q);
    }
    note_steps(build, figure, merged);
    note_left_out(build, figure, merged);
}

/* The lowest and the highest of the trials' own percentiles: what the merged one hides. */
static void put_range(struct model_build *build, const struct model_case *cs, enum law law, const struct quantile *quantile)
{
    struct model_values values = model_values_new(build, cs->count);
    const char *hidden = NULL; /* a trial whose percentile lies among operations without an end: it may be the highest */
    for (size_t i = 0; i < cs->count; i++) {
        struct merged merged = {0};
        merge_trial(&merged, build->study, cs->trials[i]->id, law, &whole);
        int64_t ranked = merged_ranked(&merged), value = 0;
        bool few = merged_total(&merged) == 0 || ranked < interval_quantile_min_n(quantile->q, MODEL_CONFIDENCE);
        bool at_least = false;
        if (!few)
            value = merged_quantile(&merged, quantile->q, &at_least);
        if (few)
            model_values_lack(&values, cs->trials[i]->id, "its operations are too few for this percentile");
        else if (at_least)
            hidden = pl_format(build->arena, "in trial %lld %s, and this percentile lies among them",
                               (long long)cs->trials[i]->id, open_words(build, &merged));
        else
            model_values_add(&values, cs->trials[i]->id, (double)value, 0);
        merged_release(&merged);
    }
    if (hidden != NULL) {
        values.count = values.lacking = 0;
        values.why = hidden;
    }
    struct model_values lowest = values;
    if (values.count > 0) {
        lowest.values = pl_alloc(build->arena, values.count, sizeof(double));
        for (size_t i = 0; i < values.count; i++)
            lowest.values[i] = -values.values[i];
    }
    struct model_label label = {.subject = "",
                                .unit = "ns",
                                .method = "The trials' own percentiles, each from its own histogram, with operations "
                                          "that had not ended ranked as for the percentile of all trials."};
    label.name = pl_format(build->arena, "%s_%s_lowest_ns", law_names[law], quantile->suffix);
    struct figure *figure = model_put_max(build, &label, &lowest);
    if (figure != NULL)
        figure->value = -figure->value;
    label.name = pl_format(build->arena, "%s_%s_highest_ns", law_names[law], quantile->suffix);
    model_put_max(build, &label, &values);
}

/* Means and the longest know only what ended. */
static void note_ended(struct model_build *build, struct figure *figure, const struct merged *merged)
{
    int64_t open = merged->step ? merged->ledger.expired + merged_under_way(merged) : merged_open(merged);
    if (open > 0)
        model_note(build, figure,
                   pl_format(build->arena, "of those that ended: %lld of %lld operations due had not ended",
                             (long long)open, (long long)merged->ledger.due));
    note_left_out(build, figure, merged);
}

static void put_moments(struct model_build *build, const struct model_label *label, const struct merged *merged,
                        double value)
{
    struct figure *figure = put_merged(build, label, merged, false);
    if (figure == NULL)
        return;
    figure->value = value;
    if (isnan(value)) {
        figure->status = FIGURE_ABSENT;
        model_note(build, figure, "one operation has no spread");
    }
    note_ended(build, figure, merged);
}

/* What did not end may have been waited for longer than anything that did: then only a lower bound is known. */
static void put_longest(struct model_build *build, const struct model_label *label, const struct merged *merged)
{
    bool any = merged_total(merged) > 0, known = merged_is_known(merged) && merged->censored.total > 0;
    if (!known || (any && merged->censored.max <= merged->hist.max)) {
        put_moments(build, label, merged, any ? (double)merged->hist.max : (double)NAN);
        return;
    }
    struct figure *figure = put_merged(build, label, merged, true);
    if (figure == NULL)
        return;
    char least[64];
    figure->status = FIGURE_ABSENT;
    figure->value = (double)merged->censored.max;
    pl_num_text_ns(least, sizeof least, round_down(figure->value));
    model_note(build, figure,
               pl_format(build->arena, "%s: the longest took at least %s", open_words(build, merged), least));
}

static void put_law(struct model_build *build, enum law law, const struct merged *merged, const char *subject)
{
    const char *name = law_names[law];
    bool known = merged_is_known(merged) && merged->censored.total > 0;
    struct model_label label = {.subject = subject, .unit = "ns", .method = law_methods[law]};
    if (merged->step)
        label.method = known ? known_step_method : step_method;
    else if (known)
        label.method = known_method;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        label.name = pl_format(build->arena, "%s_%s_ns", name, quantiles[i].suffix);
        put_quantile(build, &label, merged, quantiles[i].q);
    }
    bool any = merged_total(merged) > 0;
    label.name = pl_format(build->arena, "%s_mean_ns", name);
    label.method = "Mean over the completed operations due inside the measured window of all trials, from exact sums.";
    put_moments(build, &label, merged, any ? hist_mean(&merged->hist) : (double)NAN);
    label.name = pl_format(build->arena, "%s_stddev_ns", name);
    label.method = "Standard deviation over the completed operations (n - 1), from the merged histogram.";
    put_moments(build, &label, merged, any ? hist_stddev(&merged->hist) : (double)NAN);
    label.name = pl_format(build->arena, "%s_max_ns", name);
    label.method = "The longest of the completed operations due inside the measured window, exact.";
    put_longest(build, &label, merged);
}

static struct merged merge_case(const struct model_build *build, const struct model_case *cs, enum law law,
                                const struct part *part)
{
    struct merged merged = {.trials = cs->trials, .trial_count = cs->count, .step = part->step >= 0};
    for (size_t i = 0; i < cs->count; i++)
        merge_trial(&merged, build->study, cs->trials[i]->id, law, part);
    return merged;
}

static const char *step_subject(struct model_build *build, const struct model_case *cs, int script, int step)
{
    const char *step_name = model_script_row(build->study, cs->row->id, script, step);
    return pl_format(build->arena, "%s step %d%s%s", model_script_name(build, cs, script), step + 1,
                     step_name != NULL ? ": " : "", step_name != NULL ? step_name : "");
}

/* Every (script, step) that a slice of the case's trials tells of, in order; a step has service times only. */
static void put_steps(struct model_build *build, const struct model_case *cs)
{
    const struct study *study = build->study;
    int script = -1, step = -1;
    for (;;) {
        int next_script = INT32_MAX, next_step = INT32_MAX;
        for (size_t i = 0; i < study->slice_count; i++) {
            const struct slice *slice = &study->slices[i];
            bool mine = false;
            for (size_t k = 0; k < cs->count; k++)
                mine |= slice->trial_id == cs->trials[k]->id;
            bool later = slice->script > script || (slice->script == script && slice->step > step);
            bool sooner = slice->script < next_script || (slice->script == next_script && slice->step < next_step);
            if (mine && slice->step >= 0 && slice->service != NULL && later && sooner) {
                next_script = slice->script;
                next_step = slice->step;
            }
        }
        if (next_script == INT32_MAX)
            return;
        script = next_script;
        step = next_step;
        const struct part part = {script, step, ALL};
        struct merged merged = merge_case(build, cs, LAW_SERVICE, &part);
        put_law(build, LAW_SERVICE, &merged, step_subject(build, cs, script, step));
        merged_release(&merged);
    }
}

/* Operations in the system, by Little's law (Little 1961): N = X R, with X the operations due in the window that completed.
 */
static void put_concurrency(struct model_build *build, const struct model_case *cs, const struct merged *response)
{
    static const struct model_label label = {"concurrency", "", "1",
                                             "Operations under way on average, without those that never ended: completed "
                                             "operations due in the window times their mean "
                                             "response, divided by the window (Little 1961)."};
    double window_ns = 0;
    for (size_t i = 0; i < cs->count; i++)
        window_ns += (double)(cs->trials[i]->measure_end_ns - cs->trials[i]->measure_start_ns);
    if (merged_total(response) > 0 && !(window_ns > 0)) {
        model_put_absent(build, &label, "the trials have no measured window");
        return;
    }
    struct figure *figure = put_merged(build, &label, response, false);
    if (figure == NULL)
        return;
    figure->status = FIGURE_COMPUTED;
    figure->value = (double)response->hist.total * hist_mean(&response->hist) / window_ns;
    note_ended(build, figure, response);
}

void model_put_latencies(struct model_build *build, const struct model_case *cs)
{
    for (enum law law = 0; law < LAW_COUNT; law++) {
        struct merged merged = merge_case(build, cs, law, &whole);
        put_law(build, law, &merged, "");
        if (law == LAW_RESPONSE) {
            put_concurrency(build, cs, &merged);
            for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
                if (quantiles[i].by_trial)
                    put_range(build, cs, law, &quantiles[i]);
        }
        merged_release(&merged);
    }
    put_steps(build, cs);
}

void model_put_part_latencies(struct model_build *build, const struct model_case *cs, int script, int group,
                              const char *subject)
{
    const struct part part = {script, -1, group};
    for (enum law law = 0; law <= LAW_SERVICE; law++) {
        struct merged merged = merge_case(build, cs, law, &part);
        put_law(build, law, &merged, subject);
        merged_release(&merged);
    }
}
