/* A study of an HTTP server that was running already: a mix of two scripts, two groups of tenants, time limits, a marked
 * trial. Response times are steps of 1 ms, so that percentiles are known. */
#ifndef PL_TESTS_HTTP_STUDY_H
#define PL_TESTS_HTTP_STUDY_H

#include "synthetic.h"

#define HTTP_MS (PL_NS_PER_MS)

/* Operations of one script and group: `count` that took 1 ms, 2 ms, ..., and `expired` ones that were given up after
 * 50 ms. */
static inline void http_lane(struct synth *synth, const struct trial_row *trial, int script, int group, int64_t count,
                             int64_t failed, int64_t expired)
{
    struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *response = synth_hist(synth), *service = synth_hist(synth), *censored = synth_hist(synth);
    for (int64_t i = 0; i < count; i++) {
        hist_record(response, (i + 1) * HTTP_MS);
        hist_record(service, i * HTTP_MS + HTTP_MS / 2);
    }
    for (int64_t i = 0; i < expired; i++)
        hist_record(censored, 50 * HTTP_MS);
    slice->script = script;
    slice->group = group;
    slice->response = response;
    slice->service = service;
    slice->censored = censored;
    slice->ledger =
        (struct ledger){.due = count + failed + expired, .completed = count, .failed = failed, .expired = expired};
    /* two requests: of the second one the expired ones are known */
    for (int step = 0; step < 2; step++) {
        struct slice *part = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, step);
        part->script = script;
        part->group = group;
        part->service = service;
        part->censored = step == 1 ? censored : NULL;
        part->ledger = (struct ledger){.completed = count, .expired = step == 1 ? expired : 0};
    }
}

/* A closed loop is longer at work than its window: one more operation, which ended after it. */
static inline void http_last(struct synth *synth, const struct trial_row *trial, int64_t took_ms)
{
    struct slice *slice = synth_slice(synth, trial, PHASE_DRAIN, PHASE_MEASURE, -1);
    struct hist *response = synth_hist(synth), *service = synth_hist(synth);
    hist_record(response, took_ms * HTTP_MS);
    hist_record(service, took_ms * HTTP_MS - HTTP_MS / 2);
    slice->response = response;
    slice->service = service;
    slice->ledger = (struct ledger){.due = 1, .completed = 1};
}

static inline void http_told(struct synth *synth, const struct trial_row *trial)
{
    static const struct {
        const char *name, *unit;
        double value;
    } told[] = {{"own_lateness_p50_ns", "ns", 20000},
                {"own_lateness_p99_ns", "ns", 90000},
                {"own_lateness_max_ns", "ns", 400000},
                {"gap_cv", "1", 1.01},
                {"gap_cv_asked", "1", 1.0},
                {"busiest_worker_frac", "1", 0.12},
                {"http_requests", "count", 620},
                {"http_answers", "count", 600},
                {"http_informational", "count", 0},
                {"http_status_2xx", "count", 580},
                {"http_status_3xx", "count", 0},
                {"http_status_4xx", "count", 12},
                {"http_status_5xx", "count", 8},
                {"http_status_other", "count", 0},
                {"http_redirects", "count", 0},
                {"http_retries", "count", 1},
                {"http_connections_opened", "count", 9},
                {"http_connections_failed", "count", 2},
                {"http_connections_closed_by_peer", "count", 3},
                {"http_connections_evicted", "count", 0},
                {"http_handshakes_full", "count", 0},
                {"http_handshakes_resumed", "count", 0},
                {"http_blocked", "count", 0},
                {"http_sent_bytes", "bytes", 62000},
                {"http_received_bytes", "bytes", 6200000},
                {"http_body_bytes", "bytes", 6000000},
                {"http_connect_p50_ns", "ns", 50000},
                {"http_connect_p99_ns", "ns", 80000},
                {"http_first_byte_p50_ns", "ns", 900000},
                {"http_first_byte_p99_ns", "ns", 40000000}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        synth_told(synth, trial, told[i].name, told[i].unit, told[i].value);
}

static inline struct synth *http_study(void)
{
    struct synth *synth = synth_new();
    synth->study.subject = "web";
    synth->study.plan_text = "study: A shop\nservices:\n  web: {kind: attach, url: \"http://***@127.0.0.1:8080\"}\n";
    synth_fact(synth, "web", "kind", "attach", "", "plan");
    synth_fact(synth, "web", "place", "this machine", "", "whether a socket can be bound to its address");
    synth_fact(synth, "web", "url", "http://127.0.0.1:8080", "", "plan");
    synth_fact(synth, "host", "cpu_model", "A processor", "", "/proc/cpuinfo");
    synth_fact(synth, "plan", "script.browse", "GET /\nHTTP 200\n", "", "browse.hurl");
    int64_t clients = synth_stage(synth, "clients", "How much work gets done when clients ask as fast as they can?",
                                  "script=browse clients=8 for=10s think=0s http2=service iterations=2");
    int64_t closed = synth_case(synth, clients, "clients=8");
    synth_script(synth, closed, 0, -1, "browse");
    synth_script(synth, closed, 0, 0, "GET /");
    synth_script(synth, closed, 0, 1, "GET /cart");
    int64_t rates = synth_stage(synth, "rate", "What do latency and cost come to when operations arrive at a given rate?",
                                "script=browse@3+buy@1 clients=16 rate=62/s for=10s iterations=2");
    int64_t open = synth_case(synth, rates, "rate=62/s");
    static const char *const names[] = {"browse", "buy"}, *const steps[] = {"GET /", "POST /buy"};
    for (int script = 0; script < 2; script++) {
        synth_script(synth, open, script, -1, names[script]);
        for (int step = 0; step < 2; step++)
            synth_script(synth, open, script, step, steps[step]);
    }
    synth_group(synth, open, 0, "gold", 10, 0.75);
    synth_group(synth, open, 1, "others", 990, 0.25);
    for (int i = 0; i < 2; i++) {
        struct trial_row *trial = synth_trial(synth, closed, i, 10, 8);
        http_lane(synth, trial, 0, 0, 399, 0, 0);
        http_last(synth, trial, 400);
        http_told(synth, trial);
        trial = synth_trial(synth, open, i, 10, 16);
        http_lane(synth, trial, 0, 0, 300, 2, 0);
        http_lane(synth, trial, 0, 1, 100, 0, 0);
        http_lane(synth, trial, 1, 0, 100, 0, 10);
        http_lane(synth, trial, 1, 1, 100, 0, 8);
        http_told(synth, trial);
        if (i == 1)
            trial->why = "the load's own lateness had a 99th percentile of 3 ms";
    }
    synth->faults[synth->study.fault_count++] =
        (struct fault){4, "load", PHASE_MEASURE, "head:EXPIRED", 18, 5000000000, "no answer within 50 ms"};
    synth->faults[synth->study.fault_count++] = (struct fault){
        4, "load", PHASE_MEASURE, "connect:ECONNREFUSED", 2, 5000000000, "127.0.0.1:8080: Connection refused"};
    synth_study(synth);
    return synth;
}

#endif
