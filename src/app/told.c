/* What the load says once a trial: how it kept its own promise, and what it counted of HTTP. Metrics of the source "load",
 * read at the end of the measured window. */
#include <math.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/clock.h"

#include "base/ban.h"

#define OWN_LATENESS "from the moment an operation could be started until it was, in the window"
#define HTTP_COUNT "counted by the load from the beginning of the window to the end of the drain"

/* One metric: a number of one of the structs below, or NAN when there is none. */
struct told {
    const char *name, *unit, *how;
    double (*of)(const struct load_result *result);
};

/* ---- the load itself ---- */

static double quantile(const struct hist *hist, double q)
{
    return hist->total > 0 ? (double)hist_quantile(hist, q) : (double)NAN;
}

static double own_p50(const struct load_result *result)
{
    return quantile(&result->self->lateness, 0.5);
}

static double own_p99(const struct load_result *result)
{
    return quantile(&result->self->lateness, 0.99);
}

static double own_max(const struct load_result *result)
{
    return result->self->lateness.total > 0 ? (double)result->self->lateness.max : (double)NAN;
}

static double gap_cv(const struct load_result *result)
{
    return result->self->gap_cv;
}

static double gap_cv_asked(const struct load_result *result)
{
    return result->self->gap_cv_asked;
}

static double busiest(const struct load_result *result)
{
    return result->self->busiest_frac;
}

static const struct told of_self[] = {
    {"own_lateness_p50_ns", "ns", OWN_LATENESS, own_p50},
    {"own_lateness_p99_ns", "ns", OWN_LATENESS, own_p99},
    {"own_lateness_max_ns", "ns", OWN_LATENESS, own_max},
    {"gap_cv", "1", "standard deviation of the gaps between starts over their mean, within workers; open loop", gap_cv},
    {"gap_cv_asked", "1", "the same of the moments at which operations were due; open loop", gap_cv_asked},
    {"busiest_worker_frac", "1", "CPU time of the busiest worker over the window", busiest},
};
enum { SELF_COUNT = sizeof of_self / sizeof of_self[0] };

/* ---- HTTP ---- */

/* A plain count of the stats. */
static const struct counted {
    const char *name, *unit;
    size_t offset; /* into struct http_stats */
} of_http[] = {
    {"http_requests", "count", offsetof(struct http_stats, requests)},
    {"http_answers", "count", offsetof(struct http_stats, answers)},
    {"http_informational", "count", offsetof(struct http_stats, interim)},
    {"http_status_other", "count", offsetof(struct http_stats, other_statuses)},
    {"http_retries", "count", offsetof(struct http_stats, retries)},
    {"http_connections_opened", "count", offsetof(struct http_stats, connections_opened)},
    {"http_connections_failed", "count", offsetof(struct http_stats, connections_failed)},
    {"http_connections_closed_by_peer", "count", offsetof(struct http_stats, connections_closed_by_peer)},
    {"http_connections_evicted", "count", offsetof(struct http_stats, connections_evicted)},
    {"http_handshakes_full", "count", offsetof(struct http_stats, handshakes_full)},
    {"http_handshakes_resumed", "count", offsetof(struct http_stats, handshakes_resumed)},
    {"http_blocked", "count", offsetof(struct http_stats, blocked)},
    {"http_sent_bytes", "bytes", offsetof(struct http_stats, sent_bytes)},
    {"http_received_bytes", "bytes", offsetof(struct http_stats, received_bytes)},
    {"http_body_bytes", "bytes", offsetof(struct http_stats, body_bytes)},
};
enum { HTTP_COUNTS = sizeof of_http / sizeof of_http[0] };

static const struct timed {
    const char *name, *how;
    size_t offset; /* of a histogram */
    double q;
} of_times[] = {
    {"http_connect_p50_ns", "opening of a TCP connection", offsetof(struct http_stats, connect), 0.5},
    {"http_connect_p99_ns", "opening of a TCP connection", offsetof(struct http_stats, connect), 0.99},
    {"http_tls_p50_ns", "handshake of TLS", offsetof(struct http_stats, tls), 0.5},
    {"http_tls_p99_ns", "handshake of TLS", offsetof(struct http_stats, tls), 0.99},
    {"http_first_byte_p50_ns", "from sending a request to the first byte of its answer",
     offsetof(struct http_stats, first_byte), 0.5},
    {"http_first_byte_p99_ns", "from sending a request to the first byte of its answer",
     offsetof(struct http_stats, first_byte), 0.99},
    {"http_blocked_wait_p99_ns", "wait of those requests that found no connection free",
     offsetof(struct http_stats, blocked_wait), 0.99},
};
enum { HTTP_TIMES = sizeof of_times / sizeof of_times[0] };

static const char *const of_classes[] = {"http_status_2xx", "http_status_3xx", "http_status_4xx", "http_status_5xx"};
enum { HTTP_CLASSES = sizeof of_classes / sizeof of_classes[0] };

static double class_count(const struct http_stats *stats, int hundred)
{
    int64_t sum = 0;
    for (int status = hundred * 100; status < hundred * 100 + 100; status++)
        sum += stats->statuses[status];
    return (double)sum;
}

/* Ids: those of the load itself, counts, times, classes, redirects. */
enum {
    FIRST_COUNT = CONDUCT_TOLD + SELF_COUNT,
    FIRST_TIME = FIRST_COUNT + HTTP_COUNTS,
    FIRST_CLASS = FIRST_TIME + HTTP_TIMES,
    REDIRECTS = FIRST_CLASS + HTTP_CLASSES,
    TOLD_END
};

int64_t conduct_told_end(void)
{
    return TOLD_END;
}

static enum pl_code declare(struct conduct *c, int64_t id, const char *name, const char *unit, const char *how,
                            struct pl_err *err)
{
    const struct metric metric = {.id = id, .source = "load", .name = name, .unit = unit, .kind = METRIC_GAUGE, .how = how};
    return c->sink.metric(c->sink.ctx, &metric, err);
}

static enum pl_code declare_http(struct conduct *c, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (int i = 0; i < HTTP_COUNTS && code == PL_OK; i++)
        code = declare(c, FIRST_COUNT + i, of_http[i].name, of_http[i].unit, HTTP_COUNT, err);
    for (int i = 0; i < HTTP_TIMES && code == PL_OK; i++)
        code = declare(c, FIRST_TIME + i, of_times[i].name, "ns", of_times[i].how, err);
    for (int i = 0; i < HTTP_CLASSES && code == PL_OK; i++)
        code = declare(c, FIRST_CLASS + i, of_classes[i], "count", HTTP_COUNT, err);
    return code == PL_OK ? declare(c, REDIRECTS, "http_redirects", "count", HTTP_COUNT, err) : code;
}

enum pl_code conduct_declare_told(struct conduct *c, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (int i = 0; i < SELF_COUNT && code == PL_OK; i++)
        code = declare(c, CONDUCT_TOLD + i, of_self[i].name, of_self[i].unit, of_self[i].how, err);
    if (code == PL_OK && plan_speech_of(c->plan->subject) == PLAN_HTTP)
        code = declare_http(c, err);
    return code;
}

/* What cannot be given (a median of nothing) is absent. */
static enum pl_code push(struct trial_run *run, const struct load_result *result, int64_t id, double value,
                         struct pl_err *err)
{
    struct sink *sink = &run->conduct->sink;
    const struct sample sample = {
        .trial_id = run->row.id, .t_ns = result->measure_end_ns, .phase = PHASE_MEASURE, .metric_id = id, .value = value};
    return isfinite(value) ? sink->sample(sink->ctx, &sample, err) : PL_OK;
}

static enum pl_code push_http(struct trial_run *run, const struct load_result *result, struct pl_err *err)
{
    const struct http_stats *stats = &result->http->measured;
    enum pl_code code = PL_OK;
    for (int i = 0; i < HTTP_COUNTS && code == PL_OK; i++) {
        int64_t count;
        memcpy(&count, (const char *)stats + of_http[i].offset, sizeof count);
        code = push(run, result, FIRST_COUNT + i, (double)count, err);
    }
    for (int i = 0; i < HTTP_TIMES && code == PL_OK; i++) {
        const struct hist *hist = (const struct hist *)((const char *)stats + of_times[i].offset);
        code = push(run, result, FIRST_TIME + i, quantile(hist, of_times[i].q), err);
    }
    for (int i = 0; i < HTTP_CLASSES && code == PL_OK; i++)
        code = push(run, result, FIRST_CLASS + i, class_count(stats, 2 + i), err);
    return code == PL_OK ? push(run, result, REDIRECTS, (double)result->http->redirects, err) : code;
}

enum pl_code conduct_push_told(struct trial_run *run, const struct load_result *result, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    if (result->measure_end_ns == 0) /* it ended before its window began */
        return PL_OK;
    for (int i = 0; result->self != NULL && i < SELF_COUNT && code == PL_OK; i++)
        code = push(run, result, CONDUCT_TOLD + i, of_self[i].of(result), err);
    return code == PL_OK && result->http != NULL ? push_http(run, result, err) : code;
}
