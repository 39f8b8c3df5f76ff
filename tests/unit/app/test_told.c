/* What the load says of itself and of HTTP reaches the study, each number under its own name. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "app/conduct_int.h"
#include "memory_sink.h"

struct telling {
    struct memory_sink memory;
    struct plan plan;
    struct plan_service service;
    struct conduct_spec spec;
    struct conduct conduct;
    struct trial_run run;
    struct load_self self;
    struct load_http_result http;
    struct load_result result;
};

static void begin(struct telling *t, const char *kind)
{
    *t = (struct telling){.service = {.name = "x", .kind = kind}};
    memory_sink_init(&t->memory);
    t->plan = (struct plan){.services = &t->service, .service_count = 1, .subject = &t->service};
    t->spec = (struct conduct_spec){.plan = &t->plan};
    t->conduct = (struct conduct){.spec = &t->spec, .plan = &t->plan, .sink = memory_sink(&t->memory)};
    t->run = (struct trial_run){.conduct = &t->conduct, .row = {.id = 3}};
    hist_init_latency(&t->self.lateness);
    http_stats_init(&t->http.measured);
    t->self.gap_cv = t->self.gap_cv_asked = (double)NAN;
    t->result = (struct load_result){.measure_start_ns = 10, .measure_end_ns = 20, .self = &t->self};
}

static void end(struct telling *t)
{
    hist_release(&t->self.lateness);
    http_stats_release(&t->http.measured);
    memory_sink_release(&t->memory);
}

/* NAN: it was not told. */
static double told(const struct telling *t, const char *name)
{
    double value = (double)NAN;
    const struct metric *metric = memory_sink_metric(&t->memory, "load", name);
    for (size_t i = 0; metric != NULL && i < t->memory.sample_count; i++)
        if (t->memory.samples[i].metric_id == metric->id) {
            assert_true(isnan(value)); /* once */
            assert_int_equal(t->memory.samples[i].trial_id, 3);
            assert_int_equal(t->memory.samples[i].t_ns, 20);
            assert_int_equal(t->memory.samples[i].phase, PHASE_MEASURE);
            value = t->memory.samples[i].value;
        }
    return value;
}

static void tell(struct telling *t)
{
    struct pl_err err = {0};
    assert_int_equal(conduct_declare_told(&t->conduct, &err), PL_OK);
    assert_int_equal(conduct_push_told(&t->run, &t->result, &err), PL_OK);
    for (size_t i = 0; i < t->memory.metric_count; i++)
        assert_in_range(t->memory.metrics[i].id, CONDUCT_TOLD, conduct_told_end() - 1);
}

static void test_http(void **state)
{
    (void)state;
    struct telling t;
    begin(&t, "attach");
    struct http_stats *stats = &t.http.measured;
    for (int i = 1; i <= 100; i++) {
        hist_record(&t.self.lateness, i * 1000);
        hist_record(&stats->connect, i * 2000);
    }
    t.self.gap_cv = 1.25;
    t.self.busiest_frac = 0.5;
    t.result.http = &t.http;
    t.http.redirects = 4;
    stats->requests = 11;
    stats->answers = 10;
    stats->statuses[200] = 5;
    stats->statuses[299] = 1;
    stats->statuses[404] = 2;
    stats->statuses[599] = 1;
    stats->other_statuses = 1;
    stats->sent_bytes = 1234;
    stats->connections_failed = 6;
    stats->handshakes_resumed = 7;
    tell(&t);
    static const struct {
        const char *name;
        double value;
    } cases[] = {{"own_lateness_p50_ns", 50000},
                 {"own_lateness_p99_ns", 99000},
                 {"own_lateness_max_ns", 100000},
                 {"gap_cv", 1.25},
                 {"busiest_worker_frac", 0.5},
                 {"http_requests", 11},
                 {"http_answers", 10},
                 {"http_status_2xx", 6},
                 {"http_status_3xx", 0},
                 {"http_status_4xx", 2},
                 {"http_status_5xx", 1},
                 {"http_status_other", 1},
                 {"http_sent_bytes", 1234},
                 {"http_connections_failed", 6},
                 {"http_handshakes_resumed", 7},
                 {"http_redirects", 4},
                 {"http_connect_p50_ns", 100000},
                 {"http_connect_p99_ns", 198000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_close(told(&t, cases[i].name), cases[i].value, 0.002, 0);
    assert_true(isnan(told(&t, "gap_cv_asked")));
    assert_true(isnan(told(&t, "http_tls_p50_ns")));
    end(&t);
}

/* SQL has none of it, and a load that ended before its window tells nothing. */
static void test_sql(void **state)
{
    (void)state;
    struct telling t;
    begin(&t, "postgres");
    t.self.busiest_frac = 0.25;
    tell(&t);
    assert_null(memory_sink_metric(&t.memory, "load", "http_requests"));
    assert_close(told(&t, "busiest_worker_frac"), 0.25, 0, 0);
    assert_true(isnan(told(&t, "own_lateness_p50_ns")));
    end(&t);
    begin(&t, "attach");
    t.result.measure_end_ns = 0;
    tell(&t);
    assert_int_equal(t.memory.sample_count, 0);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_http), cmocka_unit_test(test_sql)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
