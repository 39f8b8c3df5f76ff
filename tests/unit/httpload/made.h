/* What a load could have recorded, made up: options as the command line would give them, and what slices add up to. */
#ifndef PL_TESTS_HTTPLOAD_MADE_H
#define PL_TESTS_HTTPLOAD_MADE_H

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "httpload/output_int.h"

#define MADE_UNUSED __attribute__((unused))

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)
#define US INT64_C(1000)
#define START (50 * SECOND)

#define MUST(call, err)                                                                                                    \
    do {                                                                                                                   \
        if ((call) != PL_OK) {                                                                                             \
            print_error("%s\n%s\n", (err).what, (err).hint);                                                               \
            _fail(__FILE__, __LINE__);                                                                                     \
        }                                                                                                                  \
    } while (0)

struct made {
    struct pl_arena *arena;
    struct httpload_options options;
    struct httpload_total total;
    struct load_http_result http;
    struct load_self self;
    struct load_tenant_count tenant_counts[3];
};

MADE_UNUSED static const struct program *made_program(struct pl_arena *arena, const char *name, const char *const *texts)
{
    size_t count = 0;
    while (texts[count] != NULL)
        count++;
    struct step *steps = pl_alloc(arena, count + 1, sizeof *steps);
    struct program *program = pl_alloc(arena, 1, sizeof *program);
    steps[0] = (struct step){.kind = STEP_FEED, .io_index = -1, .number = -1};
    for (size_t i = 0; i < count; i++)
        steps[i + 1] = (struct step){
            .kind = STEP_HTTP, .io_index = (int)i, .number = (int)i, .line = 3 * (int)i + 1, .text = texts[i]};
    *program = (struct program){
        .name = name, .steps = steps, .step_count = count + 1, .io_step_count = count, .command_count = count};
    return program;
}

/* One URL, ten clients, ten seconds. */
MADE_UNUSED static int made_setup(void **state)
{
    struct made *made = pl_new(1, sizeof *made);
    static const char *const texts[] = {"GET http://127.0.0.1:8080/", NULL};
    made->arena = pl_arena_new();
    struct httpload_script *scripts = pl_alloc(made->arena, 2, sizeof *scripts);
    scripts[0] =
        (struct httpload_script){.title = texts[0], .weight = 1, .program = made_program(made->arena, "url", texts)};
    made->options = (struct httpload_options){.url = "http://127.0.0.1:8080/",
                                              .method = "GET",
                                              .scripts = scripts,
                                              .script_count = 1,
                                              .clients = 10,
                                              .duration_ns = 10 * SECOND,
                                              .timeout_ns = 30 * SECOND,
                                              .drain_ns = 30 * SECOND,
                                              .least_per_s = 1,
                                              .seed = 1234};
    http_stats_init(&made->http.warm_up);
    http_stats_init(&made->http.measured);
    hist_init_latency(&made->self.lateness);
    *state = made;
    return 0;
}

MADE_UNUSED static int made_teardown(void **state)
{
    struct made *made = *state;
    httpload_total_release(&made->total);
    http_stats_release(&made->http.warm_up);
    http_stats_release(&made->http.measured);
    hist_release(&made->self.lateness);
    pl_arena_free(made->arena);
    pl_free(made);
    return 0;
}

/* Takes the options as they are by now. */
MADE_UNUSED static void made_begin(struct made *made, double rate_per_s)
{
    httpload_total_init(&made->total, &made->options, rate_per_s);
    made->self.busiest_frac = 0.125;
    made->self.gap_cv = made->self.gap_cv_asked = NAN;
    made->total.start_ns = START;
    made->total.start_unix_ns = 1700000000 * SECOND;
    made->total.result = (struct load_result){.window_ns = 10 * SECOND,
                                              .connect_start_ns = START - SECOND,
                                              .connect_end_ns = START - SECOND / 2,
                                              .warm_up_start_ns = START,
                                              .measure_start_ns = START,
                                              .measure_end_ns = START + 10 * SECOND,
                                              .drain_end_ns = START + 10 * SECOND + 12 * MS,
                                              .cpu_ns = SECOND,
                                              .window_cpu_ns = SECOND - 1,
                                              .workers = 2,
                                              .event_loop = "epoll",
                                              .self = &made->self,
                                              .http = &made->http};
}

/* `completed` operations with latencies spread evenly from low to high; the rest is as the ledger says. */
struct made_slice {
    int script, group;
    enum phase due_in, during; /* 0: MEASURE */
    struct ledger ledger;
    int64_t low_ns, high_ns, late_ns, censored_ns;
};

MADE_UNUSED static void made_add(struct made *made, struct made_slice about)
{
    struct hist response, service, lateness, censored;
    hist_init_latency(&response);
    hist_init_latency(&service);
    hist_init_latency(&lateness);
    hist_init_latency(&censored);
    int64_t n = about.ledger.completed;
    for (int64_t i = 0; i < n; i++) {
        int64_t ns = about.low_ns + (about.high_ns - about.low_ns) * i / (n > 1 ? n - 1 : 1);
        hist_record(&service, ns);
        hist_record(&response, ns + about.late_ns);
        hist_record(&lateness, about.late_ns);
    }
    hist_record_n(&censored, about.censored_ns, about.ledger.expired + about.ledger.unfinished);
    const struct slice slice = {.start_ns = START,
                                .end_ns = START + SECOND,
                                .during = about.during != PHASE_START ? about.during : PHASE_MEASURE,
                                .due_in = about.due_in != PHASE_START ? about.due_in : PHASE_MEASURE,
                                .script = about.script,
                                .step = -1,
                                .group = about.group,
                                .ledger = about.ledger,
                                .response = &response,
                                .service = &service,
                                .lateness = &lateness,
                                .censored = &censored};
    httpload_total_add(&made->total, &slice);
    if (slice.during == PHASE_MEASURE && slice.due_in == PHASE_MEASURE)
        made->total.result.completed_in_window += n;
    hist_release(&response);
    hist_release(&service);
    hist_release(&lateness);
    hist_release(&censored);
}

MADE_UNUSED static void made_add_step(struct made *made, int script, int step, int64_t completed, int64_t failed,
                                      int64_t service_ns)
{
    struct hist service;
    hist_init_latency(&service);
    hist_record_n(&service, service_ns, completed);
    const struct slice slice = {.start_ns = START,
                                .end_ns = START + SECOND,
                                .during = PHASE_MEASURE,
                                .due_in = PHASE_MEASURE,
                                .script = script,
                                .step = step,
                                .ledger = {.completed = completed, .failed = failed},
                                .attempts = {.retries = failed},
                                .service = &service};
    httpload_total_add(&made->total, &slice);
    hist_release(&service);
}

MADE_UNUSED static void made_fault(struct made *made, enum phase phase, const char *code, int64_t count, int64_t at_ns,
                                   const char *example)
{
    const struct fault fault = {
        .source = "load", .phase = phase, .code = code, .count = count, .first_ns = START + at_ns, .example = example};
    httpload_total_fault(&made->total, &fault);
}

/* What connections of a keep-alive load look like. */
MADE_UNUSED static void made_stats(struct made *made, int64_t answers)
{
    struct http_stats *stats = &made->http.measured;
    stats->requests = stats->answers = stats->statuses[200] = answers;
    stats->sent_bytes = answers * 40;
    stats->received_bytes = answers * 200;
    stats->body_bytes = answers * 13;
    stats->connections_opened = 10;
    hist_record_n(&stats->connect, 200 * US, 10);
    hist_record_n(&stats->first_byte, 900 * US, answers);
    hist_record_n(&stats->exchanges_per_connection, answers / 10, 10);
}

MADE_UNUSED static void made_objective(struct made *made, bool is_fail_if, const char *text)
{
    static struct httpload_objective objectives[8];
    struct pl_err err = {0};
    if (made->options.objective_count == 0)
        memset(objectives, 0, sizeof objectives);
    struct httpload_objective *objective = &objectives[made->options.objective_count++];
    objective->is_fail_if = is_fail_if;
    MUST(objective_parse(text, made->arena, &objective->objective, &err), err);
    made->options.objectives = objectives;
}

/* A mix of two files. */
MADE_UNUSED static void made_two_files(struct made *made)
{
    static const char *const first[] = {"POST http://127.0.0.1:8080/login", "GET http://127.0.0.1:8080/orders?id={{id}}",
                                        NULL},
                             *const second[] = {"GET http://127.0.0.1:8080/\x1b[31mred", NULL};
    made->options.url = made->options.method = NULL;
    made->options.script_count = 2;
    made->options.scripts[0] = (struct httpload_script){
        .title = "login.hurl", .path = "login.hurl", .weight = 3, .program = made_program(made->arena, "login", first)};
    made->options.scripts[1] = (struct httpload_script){
        .title = "look.hurl", .path = "look.hurl", .weight = 1, .program = made_program(made->arena, "look", second)};
}

/* Three tenants in two groups. */
MADE_UNUSED static void made_tenants(struct made *made)
{
    static const struct feed_group groups[] = {{"gold", 3, 1}, {"free", 1, 2}};
    static const struct feed tenants = {.name = "t.csv", .row_count = 3, .groups = groups, .group_count = 2};
    made->options.tenants = &tenants;
    made->options.tenants_text = "t.csv";
    made->tenant_counts[0] = (struct load_tenant_count){75, 0};
    made->tenant_counts[1] = (struct load_tenant_count){12, 1};
    made->tenant_counts[2] = (struct load_tenant_count){11, 1};
}

#define MADE_TEST(name) cmocka_unit_test_setup_teardown(name, made_setup, made_teardown)

#endif
