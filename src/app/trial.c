/* One trial: the acts of its stage kind, with the sensors beside them. */
#include "app/conduct_int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "hardware/hardware.h"
#include "load/load.h"
#include "wire/pgconn.h"

#include "base/ban.h"

static const int64_t poll_ns = PL_NS_PER_S / 20;
static const int64_t flush_probe_ns = PL_NS_PER_S / 10;
static const int64_t hardware_probe_ns = PL_NS_PER_S; /* each probe, each repeat */

static bool is_stopped(const struct trial_run *run)
{
    return *run->conduct->spec->stop != 0;
}

/* The first reason stays. */
PL_PRINTF(2, 3) static void trial_fail(struct trial_run *run, const char *fmt, ...)
{
    if (run->row.state != TRIAL_DONE)
        return;
    run->row.state = TRIAL_FAILED;
    va_list args;
    va_start(args, fmt);
    vsnprintf(run->why, sizeof run->why, fmt, args);
    va_end(args);
}

static enum pl_code push_sample(struct trial_run *run, enum conduct_metric metric, enum phase phase, int64_t t_ns,
                                double value, struct pl_err *err)
{
    struct sink *sink = &run->conduct->sink;
    struct sample sample = {.trial_id = run->row.id, .t_ns = t_ns, .phase = phase, .metric_id = metric, .value = value};
    return sink->sample(sink->ctx, &sample, err);
}

/* Are all services alive? A dead one is a fault of this trial. */
static enum pl_code trial_check_services(struct trial_run *run, enum phase phase, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    for (size_t i = 0; i < c->plan->service_count && !run->service_died; i++) {
        struct fault fault = {0};
        if (c->services[i] == NULL || service_check(c->services[i], c->arena, &fault))
            continue;
        run->service_died = true;
        fault.trial_id = run->row.id;
        fault.phase = phase;
        trial_fail(run, "%s ended while it was measured (%s)", c->services[i]->name, fault.code);
        enum pl_code code = c->sink.fault(c->sink.ctx, &fault, err);
        if (code != PL_OK)
            return code;
    }
    return PL_OK;
}

static void trial_show(struct trial_run *run, const char *phase, const struct load_glance *load)
{
    struct conduct *c = run->conduct;
    if (is_stopped(run))
        live_stopping(c->spec->live);
    struct sense_glance subject = sense_look(c->sense);
    int64_t spent_ns = pl_clock_ns() - run->begin_ns;
    int64_t trial_left_ns = run->estimate_ns > spent_ns ? run->estimate_ns - spent_ns : 0;
    struct live_view view = {.phase = phase,
                             .done_frac = run->estimate_ns > 0 ? 1 - (double)trial_left_ns / (double)run->estimate_ns : 1,
                             .left_ns = c->total_ns - c->done_ns - run->estimate_ns + trial_left_ns,
                             .memory_bytes = c->subject->is_attached ? -1 : subject.memory_bytes,
                             .cpu_cores = subject.cpu_cores};
    if (load != NULL) {
        view.has_load = true;
        view.completed_per_s = load->completed_per_s;
        view.p50_ns = load->p50_ns;
        view.p99_ns = load->p99_ns;
        view.failed = load->failed - run->expired; /* the load counts both as failed */
        view.expired = run->expired;
    }
    live_update(c->spec->live, &view);
}

/* Waits, with the sensors going on. Ends early when the user stops or a service dies. */
static enum pl_code trial_wait(struct trial_run *run, int64_t duration_ns, enum phase phase, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    int64_t end_ns = pl_clock_ns() + duration_ns;
    for (int64_t now_ns; (now_ns = pl_clock_ns()) < end_ns && !is_stopped(run) && !run->service_died;) {
        pl_clock_sleep_until(now_ns + poll_ns < end_ns ? now_ns + poll_ns : end_ns);
        enum pl_code code = sense_poll(c->sense, &c->sink, err);
        if (code == PL_OK)
            code = trial_check_services(run, phase, err);
        if (code != PL_OK)
            return code;
        trial_show(run, phase_name(phase), NULL);
    }
    return PL_OK;
}

/* How quick is a flush right now? Beside every load, before and after it: the disk is shared with others. */
static enum pl_code trial_probe_flush(struct trial_run *run, enum phase phase, struct pl_err *err)
{
    int64_t p50_ns, p99_ns, count;
    struct pl_err probe = {0};
    if (run->conduct->subject->is_attached)
        return PL_OK;
    if (hardware_flush(run->conduct->subject->directory, flush_probe_ns, &p50_ns, &p99_ns, &count, &probe) != PL_OK)
        return PL_OK; /* absent: the page says so */
    int64_t now_ns = pl_clock_ns();
    enum pl_code code = push_sample(run, CONDUCT_FLUSH_P50, phase, now_ns, (double)p50_ns, err);
    return code == PL_OK ? push_sample(run, CONDUCT_FLUSH_P99, phase, now_ns, (double)p99_ns, err) : code;
}

/* ---- the acts ---- */

static void trial_note(void *ctx, const struct fact *fact)
{
    struct conduct *c = ctx;
    c->notes = pl_grow(c->arena, c->notes, c->note_count, c->note_count + 1, sizeof *c->notes, &c->note_capacity);
    c->notes[c->note_count++] = (struct fact){.scope = pl_strdup(c->arena, fact->scope),
                                              .name = pl_strdup(c->arena, fact->name),
                                              .value = pl_strdup(c->arena, fact->value),
                                              .unit = pl_strdup(c->arena, fact->unit),
                                              .how = pl_strdup(c->arena, fact->how)};
}

static enum pl_code act_probe(struct trial_run *run, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    char conninfo[512];
    run->row.measure_start_ns = pl_clock_ns();
    sense_mark(c->sense, PHASE_MEASURE);
    struct hardware_spec spec = {.data_directory = c->subject->directory,
                                 .conninfo = service_conninfo(c->subject, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo),
                                 .repeats = 3,
                                 .for_ns = c->spec->quick ? hardware_probe_ns / 10 : hardware_probe_ns,
                                 .trial_id = run->row.id,
                                 .first_metric_id = c->next_metric_id,
                                 .note = trial_note,
                                 .note_ctx = c,
                                 .stop = c->spec->stop};
    struct pl_err probe = {0};
    enum pl_code code = hardware_probe(&spec, &c->sink, &c->next_metric_id, &probe);
    sense_skip_metric_ids(c->sense, c->next_metric_id);
    sense_mark(c->sense, PHASE_MEASURE);
    run->row.measure_end_ns = pl_clock_ns();
    if (code == PL_STORE) {
        *err = probe;
        return code;
    }
    if (code != PL_OK && code != PL_INTERRUPTED)
        trial_fail(run, "%s", probe.what);
    return PL_OK;
}

static enum pl_code act_settle(struct trial_run *run, struct pl_err *err)
{
    return trial_wait(run, run->stage_case->params.settle_ns, PHASE_SETTLE, err);
}

static enum pl_code act_idle(struct trial_run *run, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    run->row.measure_start_ns = pl_clock_ns();
    sense_mark(c->sense, PHASE_MEASURE);
    sense_begin(c->sense, run->row.id, PHASE_MEASURE, run->row.measure_start_ns + PL_NS_PER_S);
    enum pl_code code = trial_wait(run, run->stage_case->params.for_ns, PHASE_MEASURE, err);
    sense_mark(c->sense, PHASE_MEASURE);
    run->row.measure_end_ns = pl_clock_ns();
    sense_end(c->sense);
    return code == PL_OK ? sense_poll(c->sense, &c->sink, err) : code;
}

static enum pl_code act_tidy(struct trial_run *run, struct pl_err *err)
{
    (void)err;
    struct pl_err tidy = {0};
    enum pl_code code = service_tidy(run->conduct->subject, run->conduct->spec->stop, &tidy);
    if (code != PL_OK && code != PL_INTERRUPTED)
        trial_fail(run, "cannot tidy before the trial: %.300s", tidy.what);
    return PL_OK;
}

static enum pl_code act_sizes(struct trial_run *run, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    enum phase phase = run->row.measure_end_ns > 0 ? PHASE_AFTER : PHASE_START;
    enum pl_code code = sense_quiet(c->sense, phase, &c->sink, err);
    c->next_metric_id = sense_next_metric_id(c->sense); /* relations that were new */
    return code == PL_OK ? sense_poll(c->sense, &c->sink, err) : code;
}

static enum pl_code act_cooldown(struct trial_run *run, struct pl_err *err)
{
    return trial_wait(run, run->stage_case->params.cooldown_ns, PHASE_AFTER, err);
}

/* Until a database's backends are gone their counters are not all published; after the socket is closed that takes a
 * moment. */
static void trial_await_disconnect(struct trial_run *run)
{
    char conninfo[512];
    PGconn *conn = NULL;
    struct pl_err ignored = {0};
    if (run->conduct->subject->is_attached)
        return;
    service_conninfo(run->conduct->subject, SERVICE_SENSOR_DATABASE, conninfo, sizeof conninfo);
    if (pgconn_open_unless(conninfo, 2 * PL_NS_PER_S, run->conduct->spec->stop, &conn, &ignored) != PL_OK)
        return;
    int64_t deadline_ns = pl_clock_ns() + 2 * PL_NS_PER_S, backends = 1;
    while (backends > 0 && pl_clock_ns() < deadline_ns && !is_stopped(run)) {
        if (pgquery_i64(conn,
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = '" SERVICE_DATA_DATABASE
                        "' AND backend_type = 'client backend'",
                        PL_NS_PER_S, &backends, &ignored) != PL_OK)
            break;
        if (backends > 0)
            pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    }
    PQfinish(conn);
}

/* It ends after a number of operations, and then has no warm-up. */
static bool is_counted(const struct plan_params *params)
{
    return params->operations > 0 || params->transactions > 0;
}

static struct load_spec trial_load_spec(const struct trial_run *run)
{
    const struct plan_params *params = &run->stage_case->params;
    return (struct load_spec){.driver = LOAD_PG,
                              .protocol = (enum plan_protocol)params->protocol,
                              .scripts = run->load->scripts,
                              .script_count = (int)run->load->script_count,
                              .tenants = run->load->tenants,
                              .clients = (int)params->clients,
                              .workers = (int)params->workers,
                              .open_loop = run->stage->kind->open_loop,
                              .rate_per_s = params->rate_per_s,
                              .arrivals = (enum plan_arrivals)params->arrivals,
                              .operations = params->operations,
                              .operations_per_client = params->transactions,
                              .warm_up_ns = params->transactions > 0 ? 0 : params->warm_up_ns,
                              .measure_ns = params->transactions > 0 ? 0 : params->for_ns,
                              .drain_ns = params->drain_ns,
                              .think_ns = params->think_ns,
                              .think_exponential = params->think_law == PLAN_THINK_EXPONENTIAL,
                              .session_operations = (double)params->session,
                              .session_geometric = params->session_law == PLAN_SESSION_GEOMETRIC,
                              .seed = run->row.seed};
}

/* The sensors' ticks are aligned to the start of the measured window; this is called while the warm-up still runs. */
static void trial_align_sensors(struct trial_run *run, bool *aligned, enum phase phase)
{
    struct conduct *c = run->conduct;
    if (!*aligned && pl_clock_ns() + 2 * poll_ns >= run->row.measure_start_ns) {
        sense_begin(c->sense, run->row.id, PHASE_MEASURE, run->row.measure_start_ns);
        *aligned = true;
    }
    if (phase == PHASE_DRAIN || phase == PHASE_AFTER)
        sense_phase(c->sense, phase);
}

/* Slices on their way to the study: the response of the window is looked at once the load has ended. */
struct overheard {
    struct trial_run *run;
    struct sink *sink;
    struct hist response;
    char first_fault[240]; /* "connect:ECONNREFUSED, 127.0.0.1:80: Connection refused"; "": none */
};

static enum pl_code overhear_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct overheard *overheard = ctx;
    if (slice->step == -1 && slice->due_in == PHASE_MEASURE && slice->response != NULL)
        hist_merge(&overheard->response, slice->response);
    if (slice->step == -1)
        overheard->run->expired += slice->ledger.expired;
    return overheard->sink->slice(overheard->sink->ctx, slice, err);
}

static enum pl_code overhear_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct overheard *overheard = ctx;
    char *first = overheard->first_fault;
    if (first[0] == '\0')
        snprintf(first, sizeof overheard->first_fault, "%s, %s", fault->code, fault->example);
    return overheard->sink->fault(overheard->sink->ctx, fault, err);
}

/* What the load pushes: slices and faults. */
static struct sink overhear(struct overheard *overheard)
{
    return (struct sink){.ctx = overheard, .slice = overhear_slice, .fault = overhear_fault};
}

static enum pl_code trial_watch_load(struct trial_run *run, struct load *load, struct sink *sink, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    bool aligned = false;
    for (;;) {
        struct load_glance glance = {0};
        enum pl_code code = load_poll(load, run->row.id, sink, &glance, err);
        if (code == PL_OK)
            code = sense_poll(c->sense, &c->sink, err);
        if (code == PL_OK && !glance.ended)
            code = trial_check_services(run, glance.phase, err);
        if (code != PL_OK || glance.ended)
            return code;
        if (is_stopped(run) || run->service_died)
            load_stop(load);
        trial_align_sensors(run, &aligned, glance.phase);
        trial_show(run, phase_name(glance.phase), &glance);
        pl_clock_sleep_until(pl_clock_ns() + poll_ns);
    }
}

/* A server that dies takes its clients' connections first and is found dead a moment later: its death is the reason. */
static enum pl_code trial_explain_loss(struct trial_run *run, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    int64_t deadline_ns = pl_clock_ns() + PL_NS_PER_S / 2;
    while (code == PL_OK && !run->service_died && pl_clock_ns() < deadline_ns) {
        code = trial_check_services(run, PHASE_DRAIN, err);
        pl_clock_sleep_until(pl_clock_ns() + poll_ns / 5);
    }
    return code;
}

/* A worker looks at the world at least ten times a second. One that did not for much longer, and for a good part of the
 * window, was stopped (a paused virtual machine, a starved processor): what it shows is not the service. */
static void trial_void_after_gap(struct trial_run *run, const struct load_result *result)
{
    if (run->row.state != TRIAL_DONE || result->longest_gap_ns < PL_NS_PER_S / 2 ||
        result->longest_gap_ns < result->window_ns / 20)
        return;
    run->row.state = TRIAL_VOID;
    snprintf(run->why, sizeof run->why, "the load generator itself did not run for %.1f s of the measured window",
             (double)result->longest_gap_ns / 1e9);
}

/* A trial in which the load did not keep its schedule, or was the limit, is done and says so. */
static void trial_mark(struct trial_run *run, const struct load_result *result, const struct hist *response)
{
    const struct stage_kind *kind = run->stage->kind;
    if (run->row.state != TRIAL_DONE || result->self == NULL || is_stopped(run))
        return;
    const char *mark = load_result_mark(result, response, kind->open_loop, run->conduct->arena);
    if (mark != NULL)
        snprintf(run->why, sizeof run->why, "%s", mark);
}

/* What the person in front learns of errors in a trial that is done all the same: how many, and what one of them was. */
static void trial_tell_errors(struct trial_run *run, const struct load_result *result, const char *first_fault)
{
    const struct ledger *ledger = &result->measured;
    long long errors = (long long)(ledger->failed + ledger->expired);
    if (run->row.state != TRIAL_DONE || errors == 0 || is_stopped(run))
        return;
    snprintf(run->errors, sizeof run->errors, "%lld of %lld operations failed or expired%s%s", errors,
             (long long)ledger->due, first_fault[0] != '\0' ? ": " : "", first_fault);
}

static enum pl_code trial_take_result(struct trial_run *run, const struct load_result *result,
                                      const struct overheard *overheard, struct pl_err *err)
{
    struct trial_row *row = &run->row;
    row->connect_start_ns = result->connect_start_ns;
    row->connect_end_ns = result->connect_end_ns;
    row->warm_up_start_ns = result->warm_up_start_ns;
    row->measure_start_ns = result->measure_start_ns;
    row->measure_end_ns = result->measure_end_ns;
    row->drain_end_ns = result->drain_end_ns;
    row->clients_lost = result->clients_lost;
    row->workers = result->workers;
    row->event_loop = result->event_loop;
    if (result->clients_lost > 0) {
        enum pl_code checked = trial_explain_loss(run, err);
        if (checked != PL_OK)
            return checked;
        trial_fail(run, "%d of %d clients lost their connection", result->clients_lost, row->clients);
    } else if (result->completed_in_window == 0 && result->measured.failed > 0 && !is_stopped(run)) {
        trial_fail(run, "all %lld operations failed: %s", (long long)result->measured.failed,
                   overheard->first_fault[0] != '\0' ? overheard->first_fault : "the faults say why");
    } else if (result->completed_in_window == 0 && !is_stopped(run)) {
        trial_fail(run, "no operation ended inside the measured window%s%s", overheard->first_fault[0] != '\0' ? ": " : "",
                   overheard->first_fault);
    }
    trial_void_after_gap(run, result);
    trial_mark(run, result, &overheard->response);
    trial_tell_errors(run, result, overheard->first_fault);
    enum pl_code code = push_sample(run, CONDUCT_LOAD_CPU, PHASE_MEASURE, result->measure_start_ns, 0, err);
    if (code == PL_OK)
        code =
            push_sample(run, CONDUCT_LOAD_CPU, PHASE_MEASURE, result->measure_end_ns, (double)result->window_cpu_ns, err);
    return code == PL_OK ? conduct_push_told(run, result, err) : code;
}

/* From the barrier to the drained end. Whatever happens, load_finish is called: what was measured reaches the study. */
static enum pl_code trial_finish_load(struct trial_run *run, struct load *load, struct overheard *overheard,
                                      struct pl_err *err)
{
    struct conduct *c = run->conduct;
    struct sink sink = overhear(overheard);
    enum pl_code code = trial_watch_load(run, load, &sink, err);
    if (code == PL_OK && !run->service_died && !is_stopped(run))
        sense_backends(c->sense, PHASE_DRAIN); /* nothing is under way, and the connections are still open */
    load_stop(load);
    struct load_result result = {0};
    struct pl_err finish = {0};
    enum pl_code finish_code = load_finish(load, run->row.id, &sink, &result, &finish);
    if (code != PL_OK)
        return code;
    if (finish_code == PL_BALANCE) {
        trial_fail(run, "%s", finish.what);
    } else if (finish_code != PL_OK) {
        *err = finish;
        return finish_code;
    }
    return trial_take_result(run, &result, overheard, err);
}

static enum pl_code trial_run_load(struct trial_run *run, struct load *load, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    struct overheard overheard = {.run = run, .sink = &c->sink};
    hist_init_latency(&overheard.response);
    int64_t start_ns = pl_clock_ns() + 2 * PL_NS_PER_MS;
    run->row.warm_up_start_ns = start_ns;
    run->row.measure_start_ns = start_ns + (is_counted(&run->stage_case->params) ? 0 : run->stage_case->params.warm_up_ns);
    sense_begin(c->sense, run->row.id, PHASE_WARM_UP, start_ns);
    load_start(load, start_ns);
    enum pl_code code = trial_finish_load(run, load, &overheard, err);
    hist_release(&overheard.response);
    return code;
}

/* After the load: its backends gone, one exact reading, the disk once more. */
static enum pl_code trial_after_load(struct trial_run *run, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    if (!run->service_died) {
        trial_await_disconnect(run);
        sense_mark(c->sense, PHASE_AFTER);
    }
    sense_end(c->sense);
    enum pl_code code = sense_poll(c->sense, &c->sink, err);
    if (code == PL_OK && !run->service_died)
        code = trial_probe_flush(run, PHASE_AFTER, err);
    return code;
}

/* Each connection is a transaction for the server, and so is each statement that is prepared. */
static double trial_setup_transactions(const struct trial_run *run)
{
    bool prepares = run->stage_case->params.protocol == PLAN_PREPARED;
    double prepared = 0;
    for (size_t i = 0; prepares && i < run->load->script_count; i++)
        prepared += (double)run->load->scripts[i].program->io_step_count;
    return (double)run->row.clients * (1 + prepared);
}

/* From a load that is ready to be connected to its last sample. */
static enum pl_code trial_load(struct trial_run *run, const struct load_spec *spec, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    run->row.clients = spec->clients;
    enum pl_code code = trial_probe_flush(run, PHASE_START, err);
    if (code != PL_OK)
        return code;
    trial_await_disconnect(run); /* whatever was done before must not be counted here */
    sense_mark(c->sense, PHASE_START);
    struct load *load = NULL;
    code = load_new(spec, &load, err);
    if (code != PL_OK)
        return code;
    struct pl_err connect = {0};
    enum pl_code connected = load_connect(load, c->spec->stop, &connect);
    if (connected == PL_OK) {
        sense_backends(c->sense, PHASE_START);
        if (spec->driver == LOAD_PG)
            code = push_sample(run, CONDUCT_LOAD_SETUP, PHASE_START, pl_clock_ns(), trial_setup_transactions(run), err);
        if (code == PL_OK)
            code = trial_run_load(run, load, err);
    } else if (connected != PL_INTERRUPTED) {
        trial_fail(run, "%s", connect.what);
    }
    load_free(load); /* closes the connections, so that the counters are complete */
    return code == PL_OK ? trial_after_load(run, err) : code;
}

static enum pl_code load_sql(struct trial_run *run, struct load_spec *spec, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    char conninfo[512];
    service_conninfo(c->subject, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo);
    spec->conninfo = conninfo;
    return trial_load(run, spec, err);
}

static enum pl_code load_http(struct trial_run *run, struct load_spec *spec, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    struct load_http http;
    enum pl_code code = conduct_http(c->subject->plan, &run->stage_case->params, c->arena, &http, err);
    if (code != PL_OK)
        return code;
    spec->driver = LOAD_HTTP;
    spec->http = &http;
    return trial_load(run, spec, err);
}

/* What the plan gives, and what pgbench's scripts expect to be there. */
static void trial_variables(const struct trial_run *run, struct load_spec *spec)
{
    const struct conduct *c = run->conduct;
    const struct load_variable own[] = {
        {.name = "scale", .value = {.type = VALUE_INT, .i = c->subject->plan->data_scale}},
        {.name = "default_seed", .value = {.type = VALUE_INT, .i = (int64_t)run->row.seed}}};
    enum { OWN = sizeof own / sizeof own[0] };
    struct load_variable *all = pl_alloc(c->arena, OWN + run->load->variable_count, sizeof *all);
    memcpy(all, own, sizeof own);
    if (run->load->variable_count > 0)
        memcpy(all + OWN, run->load->variables, run->load->variable_count * sizeof *all);
    spec->variables = all;
    spec->variable_count = (int)(OWN + run->load->variable_count);
}

static enum pl_code act_load(struct trial_run *run, struct pl_err *err)
{
    struct load_spec spec = trial_load_spec(run);
    trial_variables(run, &spec);
    for (size_t i = 0; i < run->load->feed_count; i++)
        feed_rewind(run->load->feeds[i]);
    return run->conduct->subject->is_attached ? load_http(run, &spec, err) : load_sql(run, &spec, err);
}

typedef enum pl_code act_function(struct trial_run *run, struct pl_err *err);

static act_function *const acts[] = {
    [ACT_PROBE] = act_probe, [ACT_SETTLE] = act_settle, [ACT_IDLE] = act_idle,         [ACT_TIDY] = act_tidy,
    [ACT_SIZES] = act_sizes, [ACT_LOAD] = act_load,     [ACT_COOLDOWN] = act_cooldown,
};

enum pl_code trial_carry_out(struct trial_run *run, struct pl_err *err)
{
    struct conduct *c = run->conduct;
    run->row.state = TRIAL_DONE;
    run->row.why = run->why;
    run->row.event_loop = "";
    run->begin_ns = pl_clock_ns();
    enum pl_code code = PL_OK;
    sense_begin(c->sense, run->row.id, PHASE_START, INT64_MAX); /* marks carry this trial; no ticks yet */
    for (const enum stage_act *act = run->stage->kind->acts; *act != ACT_END && code == PL_OK; act++) {
        if (is_stopped(run) || run->row.state != TRIAL_DONE)
            break;
        code = acts[*act](run, err);
        if (code == PL_OK)
            code = trial_check_services(run, PHASE_AFTER, err);
    }
    sense_end(c->sense);
    if (code == PL_OK)
        code = sense_poll(c->sense, &c->sink, err);
    if (is_stopped(run) && run->row.state == TRIAL_DONE) {
        run->row.state = TRIAL_INTERRUPTED;
        snprintf(run->why, sizeof run->why, "the user stopped the study");
    }
    return code;
}
