/* The load generator: whether it was the limit, whether it kept its schedule, what it counted of HTTP. */
#include "model/model_int.h"

#include "base/ban.h"

/* Above this share of its workers' time the load generator is taken to be the limit. */
#define CLIENT_BOUND_FRAC 0.8

static const struct model_label load_cpu_label = {
    "cpu_cores", "load", "cores", "CPU of the load's workers inside the measured window; mean over trials."};
static const struct model_label share_label = {
    "load_cpu_frac", "", "1",
    "CPU of the load's workers inside the measured window over the number of workers; mean over trials."};
static const struct model_label bound_label = {"client_bound", "", "1",
                                               "1 when a trial's load workers were busy for more than 80 % of the window, "
                                               "so that the load generator may have been the limit; "
                                               "else 0."};

/* The load's own counter, or the whole tool's where there is none: then the sensors are in it, which errs to the safe side.
 */
static void put_cpu(struct model_build *build, const struct model_case *cs)
{
    bool own = study_metric(build->study, "load", "cpu_ns") != NULL;
    struct model_values cores = model_values_new(build, cs->count), shares = model_values_new(build, cs->count);
    struct model_values workers = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        const struct trial_row *trial = cs->trials[i];
        struct model_span span = model_read_window(build, trial, own ? "load" : "tool", "cpu_ns");
        model_values_add(&workers, trial->id, trial->workers, 0);
        if (span.why != NULL || trial->workers < 1) {
            const char *why = span.why != NULL ? span.why : "the number of workers is not known";
            model_values_lack(&cores, trial->id, why);
            model_values_lack(&shares, trial->id, why);
            continue;
        }
        double value = span.delta / (double)(span.to_ns - span.from_ns);
        model_values_add(&cores, trial->id, value, 0);
        model_values_add(&shares, trial->id, value / trial->workers, 0);
    }
    struct figure *figure = model_put_mean(build, &load_cpu_label, &cores);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
    if (!own)
        model_note(build, figure, "of the whole tool, sensors included: the load's own CPU was not read");
    figure = model_put_mean(build, &share_label, &shares);
    if (figure != NULL)
        figure->status = FIGURE_COMPUTED;
    figure = model_put_max(build, &bound_label, &shares);
    if (figure != NULL) {
        figure->status = FIGURE_COMPUTED;
        figure->value = figure->value > CLIENT_BOUND_FRAC ? 1 : 0;
    }
    model_put_max(build, &(struct model_label){"workers", "", "count", "Threads of the load generator."}, &workers);
}

enum fold { FOLD_SUM, FOLD_MAX, FOLD_MEAN };

/* What the load says of a trial once, at the end of its window. The figure has the metric's name. */
static const struct told {
    const char *name, *unit;
    enum fold fold;
    const char *method;
} tolds[] = {
#define OWN "From the moment an operation could have been started (it was due, and a client was free for it) until it was: "
    {"own_lateness_p50_ns", "ns", FOLD_MAX, OWN "median of a trial, the highest over trials."},
    {"own_lateness_p99_ns", "ns", FOLD_MAX, OWN "99th percentile of a trial, the highest over trials."},
    {"own_lateness_max_ns", "ns", FOLD_MAX, OWN "the longest."},
#undef OWN
    {"gap_cv", "1", FOLD_MEAN, "Standard deviation of the gaps between starts over their mean; mean over trials."},
    {"gap_cv_asked", "1", FOLD_MEAN, "The same of the moments at which operations were due."},
    {"busiest_worker_frac", "1", FOLD_MAX, "CPU of the busiest worker over the window; the highest over trials."},
#define COUNTED "Counted by the load from the beginning of the window to the end of the drain; summed over trials."
    {"http_requests", "count", FOLD_SUM, COUNTED},
    {"http_answers", "count", FOLD_SUM, COUNTED},
    {"http_informational", "count", FOLD_SUM, COUNTED},
    {"http_status_2xx", "count", FOLD_SUM, COUNTED},
    {"http_status_3xx", "count", FOLD_SUM, COUNTED},
    {"http_status_4xx", "count", FOLD_SUM, COUNTED},
    {"http_status_5xx", "count", FOLD_SUM, COUNTED},
    {"http_status_other", "count", FOLD_SUM, COUNTED},
    {"http_redirects", "count", FOLD_SUM, COUNTED},
    {"http_retries", "count", FOLD_SUM, COUNTED},
    {"http_connections_opened", "count", FOLD_SUM, COUNTED},
    {"http_connections_failed", "count", FOLD_SUM, COUNTED},
    {"http_connections_closed_by_peer", "count", FOLD_SUM, COUNTED},
    {"http_connections_evicted", "count", FOLD_SUM, COUNTED},
    {"http_handshakes_full", "count", FOLD_SUM, COUNTED},
    {"http_handshakes_resumed", "count", FOLD_SUM, COUNTED},
    {"http_blocked", "count", FOLD_SUM, COUNTED},
    {"http_sent_bytes", "bytes", FOLD_SUM, COUNTED},
    {"http_received_bytes", "bytes", FOLD_SUM, COUNTED},
    {"http_body_bytes", "bytes", FOLD_SUM, COUNTED},
#undef COUNTED
#define TIMED                                                                                                              \
    "Of connections and answers from the beginning of the window to the end of the drain, of one trial; the highest over " \
    "trials."
    {"http_connect_p50_ns", "ns", FOLD_MAX, TIMED},
    {"http_connect_p99_ns", "ns", FOLD_MAX, TIMED},
    {"http_tls_p50_ns", "ns", FOLD_MAX, TIMED},
    {"http_tls_p99_ns", "ns", FOLD_MAX, TIMED},
    {"http_first_byte_p50_ns", "ns", FOLD_MAX, TIMED},
    {"http_first_byte_p99_ns", "ns", FOLD_MAX, TIMED},
    {"http_blocked_wait_p99_ns", "ns", FOLD_MAX, TIMED},
#undef TIMED
};

/* Of trials in which the load said it; of a case in which it never did there is no such figure. */
static void put_told(struct model_build *build, const struct model_case *cs, const struct told *told)
{
    struct model_values values = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        struct model_gauge gauge = model_read_gauge(build, cs->trials[i], "load", told->name);
        if (gauge.why != NULL)
            model_values_lack(&values, cs->trials[i]->id, "the load did not tell it");
        else
            model_values_add(&values, cs->trials[i]->id, gauge.max, 0);
    }
    if (values.count == 0)
        return;
    const struct model_label label = {told->name, "", told->unit, told->method};
    if (told->fold == FOLD_SUM)
        model_put_sum(build, &label, &values);
    else if (told->fold == FOLD_MAX)
        model_put_max(build, &label, &values);
    else
        model_put_mean(build, &label, &values);
}

void model_put_client(struct model_build *build, const struct model_case *cs)
{
    put_cpu(build, cs);
    for (size_t i = 0; i < sizeof tolds / sizeof *tolds; i++)
        if (study_metric(build->study, "load", tolds[i].name) != NULL)
            put_told(build, cs, &tolds[i]);
}
