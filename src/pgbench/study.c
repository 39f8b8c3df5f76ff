/* --study: the run as a study of one stage, one case and one trial, which `plimsoll page` prints. Nothing but the load was
 * watched: the server was there before. */
#include "pgbench/output_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "hardware/hardware.h"
#include "stage/stage.h"
#include "store/store.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum { STAGE_ID = 1, CASE_ID = 1, TRIAL_ID = 1, CPU_METRIC_ID = 1 };
#define SUBJECT "server"
#define ANSWER_LIMIT_NS (10 * PL_NS_PER_S)

struct pgbench_study {
    struct pl_arena *arena;
    const struct pgbench_options *options;
    const char *path;
    struct store *store;
    struct sink store_sink, sink;
    uint64_t seed;
};

/* ---- what the study is ---- */

/* As `plimsoll run` numbers the parameters of a stage of this kind. */
static struct stage_row stage_row_of(const struct pgbench_study *study)
{
    const struct pgbench_options *options = study->options;
    const enum plan_kind kind = options->rate_per_s > 0 ? PLAN_RATE : PLAN_CLIENTS;
    const struct plan_params plan = {
        .script = options->script_count == 1 ? options->scripts[0].title : "several",
        .clients = options->clients,
        .workers = options->threads,
        .protocol = (int64_t)options->protocol,
        .arrivals = PLAN_POISSON,
        .rate_per_s = options->rate_per_s,
        .transactions = options->transactions,
        .for_ns = options->duration_s * PL_NS_PER_S,
        .iterations = 1,
    };
    struct param *params = pl_alloc(study->arena, plan_stage_key_count, sizeof *params);
    size_t count = 0;
    for (size_t i = 0; i < plan_stage_key_count; i++)
        if ((plan_stage_keys[i].kinds >> kind & 1U) != 0)
            params[count++] = (struct param){.name = plan_stage_keys[i].name,
                                             .value = plan_params_text(&plan, &plan_stage_keys[i], study->arena)};
    return (struct stage_row){.id = STAGE_ID,
                              .kind = plan_kind_name(kind),
                              .name = plan_kind_name(kind),
                              .question = stage_kind_of(kind)->question,
                              .params = params,
                              .param_count = count};
}

static const char *title_of(const struct pgbench_study *study)
{
    const struct pgbench_options *options = study->options;
    return options->script_count == 1 ? pl_format(study->arena, "pgbench %s", options->scripts[0].title)
                                      : pl_format(study->arena, "pgbench, %d scripts", options->script_count);
}

/* Steps have the numbers that slices give them: with -r all commands as written, else those that ask the server. */
static enum pl_code put_names(struct pgbench_study *study, int script, struct pl_err *err)
{
    const struct pgbench_script *of = &study->options->scripts[script];
    struct script_row row = {.case_id = CASE_ID, .script = script, .step = -1, .name = of->title};
    enum pl_code code = store_put_script(study->store, &row, err);
    for (size_t i = 0; i < of->program->step_count && code == PL_OK; i++) {
        const struct step *step = &of->program->steps[i];
        row.step = study->options->report_per_command ? step->number : step->io_index;
        row.name = step->text;
        if (row.step >= 0 && step->text != NULL)
            code = store_put_script(study->store, &row, err);
    }
    return code;
}

/* What ran: the file as it is now, or (from standard input) the commands that were understood. */
static struct fact script_fact(struct pgbench_study *study, const struct pgbench_script *script)
{
    struct fact fact = {.scope = "plan",
                        .name = pl_format(study->arena, "script.%s", script->title),
                        .unit = "",
                        .how = script->path != NULL ? script->path : "built in"};
    char *text = NULL;
    size_t length = 0;
    struct pl_err ignored = {0};
    if (script->builtin != NULL) {
        fact.value = builtin_script(script->builtin);
        return fact;
    }
    if (strcmp(script->path, "-") != 0 &&
        pl_file_read(script->path, PL_MAX_SCRIPT_BYTES, study->arena, &text, &length, &ignored) == PL_OK &&
        strlen(text) == length) {
        fact.value = text;
        return fact;
    }
    struct pl_buf commands;
    pl_buf_init(&commands, PL_MAX_SCRIPT_BYTES);
    for (size_t i = 0; i < script->program->step_count; i++)
        if (script->program->steps[i].text != NULL)
            pl_buf_printf(&commands, "%s\n", script->program->steps[i].text);
    fact.value = pl_strdup(study->arena, pl_buf_text(&commands));
    fact.how = "the commands that were understood";
    pl_buf_release(&commands);
    return fact;
}

static enum pl_code put_plan(struct pgbench_study *study, int argc, char **argv, struct pl_err *err)
{
    const struct store_head head = {.title = title_of(study),
                                    .plan_text = pgbench_command_public(argc, argv, study->arena),
                                    .plan_path = "",
                                    .subject = SUBJECT,
                                    .tool_version = PLIMSOLL_VERSION,
                                    .seed = study->seed,
                                    .started_unix_ns = pl_clock_unix_ns()};
    const struct stage_row stage = stage_row_of(study);
    const struct case_row row = {.id = CASE_ID, .stage_id = STAGE_ID, .label = ""};
    const struct fact facts[] = {
        {.scope = "tool", .name = "version", .value = PLIMSOLL_VERSION, .unit = "", .how = "built in"},
        {.scope = "tool", .name = "command", .value = "pgbench", .unit = "", .how = "the command line"},
    };
    enum pl_code code = store_put_head(study->store, &head, err);
    if (code == PL_OK)
        code = store_put_stage(study->store, &stage, err);
    if (code == PL_OK)
        code = store_put_case(study->store, &row, err);
    if (code == PL_OK)
        code = store_put_facts(study->store, facts, sizeof facts / sizeof facts[0], err);
    for (int s = 0; s < study->options->script_count && code == PL_OK; s++) {
        const struct fact text = script_fact(study, &study->options->scripts[s]);
        code = put_names(study, s, err);
        if (code == PL_OK)
            code = store_put_facts(study->store, &text, 1, err);
    }
    return code;
}

/* ---- what was measured ---- */

/* Is the server a process of this machine? Then what this machine is tells of the server too. */
static bool is_here(PGconn *conn)
{
    const char *host = PQhost(conn), *address = PQhostaddr(conn);
    if (host != NULL && host[0] == '/')
        return true;
    return address != NULL && (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0);
}

/* Settings that are neither defaults nor of this connection, and a few that a reader always asks for. A server that does
 * not answer leaves a fact that says so: the run itself does not need them. */
static enum pl_code put_settings(struct pgbench_study *study, PGconn *conn, struct pl_err *err)
{
    struct pl_err asked = {0};
    PGresult *rows = NULL;
    enum pl_code code = PL_OK;
    if (pgquery_run(conn,
                    "SELECT name, current_setting(name), source FROM pg_settings WHERE name IN ('data_checksums', "
                    "'shared_buffers', 'max_connections', 'fsync', 'synchronous_commit') OR source NOT IN ('default', "
                    "'override', 'client', 'session') ORDER BY name",
                    ANSWER_LIMIT_NS, &rows, &asked) != PL_OK) {
        const struct fact fact = {.scope = SUBJECT,
                                  .name = "settings",
                                  .value = pl_format(study->arena, "unknown: %s", asked.what),
                                  .unit = "",
                                  .how = "pg_settings"};
        return store_put_facts(study->store, &fact, 1, err);
    }
    for (int row = 0; row < PQntuples(rows) && code == PL_OK; row++) {
        const char *name = PQgetvalue(rows, row, 0);
        const bool is_default = strcmp(PQgetvalue(rows, row, 2), "default") == 0; /* and is told all the same */
        const struct fact fact = {.scope = SUBJECT,
                                  .name = pl_format(study->arena, "%s%s", is_default ? "" : "setting.", name),
                                  .value = PQgetvalue(rows, row, 1),
                                  .unit = "",
                                  .how = pl_format(study->arena, "pg_settings, source %s", PQgetvalue(rows, row, 2))};
        if (!plan_setting_is_secret(name))
            code = store_put_facts(study->store, &fact, 1, err);
    }
    PQclear(rows);
    return code;
}

static enum pl_code put_server(struct pgbench_study *study, PGconn *conn, struct pl_err *err)
{
    const char *version = PQparameterStatus(conn, "server_version"), *directory = "";
    const bool here = is_here(conn);
    struct pl_err ignored = {0};
    const struct fact facts[] = {
        {SUBJECT, "kind", "postgres", "", "libpq"},
        {SUBJECT, "version", version != NULL ? version : "unknown: the server does not say", "", "server_version"},
        {SUBJECT, "database", PQdb(conn), "", "libpq"},
        {SUBJECT, "place", here ? "this machine" : "another machine", "", "the address of the connection"},
    };
    enum pl_code code = store_put_facts(study->store, facts, sizeof facts / sizeof facts[0], err);
    if (code == PL_OK)
        code = put_settings(study, conn, err);
    if (code != PL_OK)
        return code;
    /* only few users may know it, and a directory of another machine says nothing about ours */
    if (here && pgquery_text(conn, "SELECT current_setting('data_directory', true)", ANSWER_LIMIT_NS, study->arena,
                             &directory, &ignored) != PL_OK)
        directory = "";
    struct fact *host = NULL;
    size_t count = 0;
    code = hardware_facts(directory, study->arena, &host, &count, err);
    return code == PL_OK ? store_put_facts(study->store, host, count, err) : code;
}

/* ---- the trial ---- */

static enum pl_code sink_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct pgbench_study *study = ctx;
    struct slice ours = *slice;
    ours.trial_id = TRIAL_ID;
    return study->store_sink.slice(study->store_sink.ctx, &ours, err);
}

static enum pl_code sink_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct pgbench_study *study = ctx;
    struct fault ours = *fault;
    ours.trial_id = TRIAL_ID;
    return study->store_sink.fault(study->store_sink.ctx, &ours, err);
}

static struct trial_row trial_of(const struct pgbench_study *study)
{
    return (struct trial_row){.id = TRIAL_ID,
                              .case_id = CASE_ID,
                              .state = TRIAL_INTERRUPTED,
                              .why = "",
                              .seed = study->seed,
                              .clients = (int)study->options->clients,
                              .event_loop = ""};
}

static enum pl_code trial_begin(struct pgbench_study *study, struct pl_err *err)
{
    static const struct metric cpu = {CPU_METRIC_ID,  "load",
                                      "cpu_ns",       "ns",
                                      METRIC_COUNTER, "CLOCK_THREAD_CPUTIME_ID of the load's workers, inside the window"};
    const struct trial_row trial = trial_of(study);
    study->store_sink = store_sink(study->store);
    study->sink = (struct sink){.ctx = study, .slice = sink_slice, .fault = sink_fault};
    enum pl_code code = study->store_sink.metric(study->store_sink.ctx, &cpu, err);
    return code == PL_OK ? store_trial_begin(study->store, &trial, err) : code;
}

struct sink *pgbench_study_sink(struct pgbench_study *study)
{
    return &study->sink;
}

static enum pl_code put_cpu(struct pgbench_study *study, const struct load_result *result, struct pl_err *err)
{
    struct sink *sink = &study->store_sink;
    struct sample sample = {
        .trial_id = TRIAL_ID, .t_ns = result->measure_start_ns, .phase = PHASE_MEASURE, .metric_id = CPU_METRIC_ID};
    enum pl_code code = sink->sample(sink->ctx, &sample, err);
    sample.t_ns = result->measure_end_ns;
    sample.value = (double)result->window_cpu_ns;
    return code == PL_OK ? sink->sample(sink->ctx, &sample, err) : code;
}

/* Whether figures may use the trial: not when clients were missing for a part of it, as in a study of `plimsoll run`. */
static void trial_judge(struct trial_row *trial, const struct pgbench_total *total, char *why, size_t why_size)
{
    const struct load_result *result = &total->result;
    trial->state = TRIAL_FAILED;
    if (!pgbench_is_window_whole(total)) {
        trial->state = TRIAL_INTERRUPTED;
        snprintf(why, why_size, "the user stopped the run");
    } else if (result->clients_ended_early > 0) {
        snprintf(why, why_size, "%lld of %d clients ended early", (long long)result->clients_ended_early, trial->clients);
    } else if (result->completed_in_window == 0) {
        snprintf(why, why_size,
                 total->whole.ledger.failed > 0 ? "all transactions failed: the faults say why"
                                                : "no transaction ended inside the measured window");
    } else {
        trial->state = TRIAL_DONE;
        why[0] = '\0';
    }
    trial->why = why;
}

static enum pl_code trial_end(struct pgbench_study *study, const struct pgbench_total *total, struct pl_err *err)
{
    const struct load_result *result = &total->result;
    char why[200];
    struct trial_row trial = trial_of(study);
    trial_judge(&trial, total, why, sizeof why);
    trial.started_unix_ns = total->start_unix_ns;
    trial.connect_start_ns = result->connect_start_ns;
    trial.connect_end_ns = result->connect_end_ns;
    trial.warm_up_start_ns = result->warm_up_start_ns;
    trial.measure_start_ns = result->measure_start_ns;
    trial.measure_end_ns = result->measure_end_ns;
    trial.drain_end_ns = result->drain_end_ns;
    trial.clients_lost = result->clients_lost;
    trial.workers = result->workers;
    trial.event_loop = result->event_loop;
    enum pl_code code = result->measure_end_ns > 0 ? put_cpu(study, result, err) : PL_OK;
    if (code == PL_OK)
        code = store_trial_commit(study->store, &trial, err);
    return code == PL_OK ? store_put_ended(study->store, pl_clock_unix_ns(), err) : code;
}

/* ---- the file ---- */

/* With what SQLite may have left beside it when the disk is full. */
static void file_remove(const struct pgbench_study *study)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        unlink(pl_format(study->arena, "%s%s", study->path, endings[i]));
}

enum pl_code pgbench_study_open(const struct pgbench_options *options, PGconn *conn, int argc, char **argv,
                                struct pgbench_study **ret_study, struct pl_err *err)
{
    if (access(options->study_path, F_OK) == 0) {
        pl_err_at(err, PL_USAGE, options->study_path, 0, 0, "the file exists already");
        pl_err_hint(err, "Move it away, or name another file with --study.");
        return err->code;
    }
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_study *study = pl_alloc(arena, 1, sizeof *study);
    *study = (struct pgbench_study){
        .arena = arena, .options = options, .path = pl_strdup(arena, options->study_path), .seed = options->seed};
    enum pl_code code = store_create(study->path, &study->store, err);
    if (code != PL_OK) {
        pl_arena_free(arena);
        return code;
    }
    code = put_plan(study, argc, argv, err);
    if (code == PL_OK)
        code = put_server(study, conn, err);
    if (code == PL_OK)
        code = trial_begin(study, err);
    if (code != PL_OK) {
        store_close(study->store, err);
        file_remove(study);
        pl_arena_free(arena);
        return code;
    }
    *ret_study = study;
    return PL_OK;
}

enum pl_code pgbench_study_close(struct pgbench_study *study, const struct pgbench_total *total, struct pl_err *err)
{
    if (study == NULL)
        return PL_OK;
    bool was_run = total->result.warm_up_start_ns != 0;
    enum pl_code code = was_run ? trial_end(study, total, err) : PL_OK;
    enum pl_code closed = store_close(study->store, err); /* the first error stays */
    if (code == PL_OK)
        code = closed;
    if (!was_run) /* a study in which nothing was observed is of no use */
        file_remove(study);
    pl_arena_free(study->arena);
    return code;
}
