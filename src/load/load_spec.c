/* What a load is asked for: checked, copied, and laid out in lanes and cells. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "load/load_int.h"

#include "base/ban.h"

enum { CLIENTS_PER_WORKER = 16, MAX_WORKER_RATE_PER_S = 2 * 1000 * 1000, MAX_LANES = INT16_MAX };

/* ---- checks ---- */

static bool step_is_sql(const struct step *step)
{
    return step->kind == STEP_SQL || step->kind == STEP_START_PIPELINE || step->kind == STEP_SYNC_PIPELINE ||
           step->kind == STEP_END_PIPELINE;
}

/* Steps that the driver does not know. */
static enum pl_code steps_check(const struct load_spec *spec, const struct program *program, struct pl_err *err)
{
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        if (spec->driver == LOAD_HTTP && step_is_sql(step)) {
            pl_err_set(err, PL_INPUT, "script \"%s\", line %d: SQL, and this load speaks HTTP", program->name, step->line);
            pl_err_hint(err, "Scripts of requests are Hurl files; a script with SQL needs a PostgreSQL server.");
            return err->code;
        }
        if (spec->driver == LOAD_PG && step->kind == STEP_HTTP) {
            pl_err_set(err, PL_INPUT, "script \"%s\", line %d: an HTTP request, and this load speaks to PostgreSQL",
                       program->name, step->line);
            pl_err_hint(err, "A Hurl file needs an HTTP server; scripts for PostgreSQL are pgbench's.");
            return err->code;
        }
    }
    return PL_OK;
}

static enum pl_code scripts_check(const struct load_spec *spec, struct pl_err *err)
{
    const struct names *names = spec->scripts[0].program->names;
    for (int s = 0; s < spec->script_count; s++) {
        const struct program *program = spec->scripts[s].program;
        if (spec->scripts[s].weight < 1 || program->step_count < 1)
            return pl_err_set(err, PL_INPUT, "script \"%s\" needs a weight of at least 1 and at least one command",
                              program->name);
        if (program->names != names)
            return pl_err_set(err, PL_INPUT, "the scripts of a load must share their variables: \"%s\" and \"%s\" do not",
                              spec->scripts[0].program->name, program->name);
    }
    return PL_OK;
}

static enum pl_code times_check(const struct load_spec *spec, struct pl_err *err)
{
    int64_t per_client = spec->operations_per_client;
    if (spec->warm_up_ns < 0 || spec->drain_ns < 0 || spec->slice_ns < 0 || spec->connect_timeout_ns < 0 ||
        spec->think_ns < 0)
        return pl_err_set(err, PL_INPUT, "a duration of the load is negative");
    if (per_client < 0 || per_client > INT64_MAX / PL_MAX_CLIENTS)
        return pl_err_set(err, PL_INPUT, "a client cannot carry out %lld operations", (long long)per_client);
    if (per_client > 0 && (spec->operations > 0 || spec->measure_ns != 0))
        return pl_err_set(err, PL_INPUT, "a load ends by time, or by one number of operations");
    if (spec->operations < 0 || (spec->operations == 0 && per_client == 0 && spec->measure_ns <= 0))
        return pl_err_set(err, PL_INPUT, "a load needs a duration or a number of operations");
    if (spec->open_loop && (spec->operations > 0 || !(spec->rate_per_s > 0)))
        return pl_err_set(err, PL_INPUT, "an open loop has a rate above 0, and ends by time or by operations per client");
    return PL_OK;
}

/* Sessions and think time. */
static enum pl_code users_check(const struct load_spec *spec, struct pl_err *err)
{
    double mean = spec->session_operations;
    if (mean != 0 && !spec->open_loop)
        return pl_err_set(err, PL_INPUT, "sessions need an open loop: a rate at which users arrive");
    if (mean != 0 && !(mean >= 1 && mean <= 1e9))
        return pl_err_set(err, PL_INPUT, "a session has 1 to 1e9 operations, not %.10g", mean);
    if (mean != 0 && !spec->session_geometric && mean != floor(mean))
        return pl_err_set(err, PL_INPUT, "a session cannot have %.10g operations, unless that is the mean of a law", mean);
    if (spec->think_ns > 0 && spec->open_loop && mean == 0) {
        pl_err_set(err, PL_INPUT, "an open loop without sessions has no think time");
        pl_err_hint(err, "Operations come when the rate says so, whatever the clients do. Think time belongs to a closed "
                         "loop, or to sessions.");
        return err->code;
    }
    return PL_OK;
}

static enum pl_code tenants_check(const struct load_spec *spec, struct pl_err *err)
{
    const struct feed *tenants = spec->tenants;
    if (tenants == NULL)
        return PL_OK;
    if (tenants->row_count < 1 || tenants->group_count < 1 || tenants->group_count > MAX_LANES / (size_t)spec->script_count)
        return pl_err_set(err, PL_LIMIT, "%zu groups of tenants are too many for %d scripts", tenants->group_count,
                          spec->script_count);
    const struct names *names = spec->scripts[0].program->names;
    size_t count = names == NULL ? 0 : names_count(names);
    for (size_t c = 0; c < tenants->column_count; c++)
        if (tenants->columns[c].variable < 0 || (size_t)tenants->columns[c].variable >= count)
            return pl_err_set(err, PL_INPUT, "the column \"%s\" of the tenants is no variable of the scripts",
                              tenants->columns[c].name);
    return PL_OK;
}

static int workers_choose(const struct load_spec *spec)
{
    /* a worker without a connection could do nothing, and each having one would be more than was said */
    bool is_bounded = spec->driver == LOAD_HTTP && spec->http != NULL && spec->http->engine.connections > 0;
    int most =
        is_bounded && spec->http->engine.connections < spec->clients ? spec->http->engine.connections : spec->clients;
    if (spec->workers > 0)
        return spec->workers < most ? spec->workers : most;
    if (spec->driver == LOAD_SIM)
        return 1; /* its servers are per worker */
    /* the server often shares the machine: a quarter of the cores, and no thread for a handful of clients */
    int64_t by_cores = sysconf(_SC_NPROCESSORS_ONLN) / 4, by_clients = spec->clients / CLIENTS_PER_WORKER;
    int64_t workers = by_cores < by_clients ? by_cores : by_clients;
    workers = workers < most ? workers : most;
    return workers < 1 ? 1 : workers > PL_MAX_WORKERS ? PL_MAX_WORKERS : (int)workers;
}

/* Arrivals are drawn one by one: with more of them counting alone would take the workers' time. */
static enum pl_code rate_check(const struct load_spec *spec, struct pl_err *err)
{
    int workers = workers_choose(spec), most = (spec->clients + workers - 1) / workers;
    double worker_per_s = spec->rate_per_s * most / spec->clients;
    if (!spec->open_loop || worker_per_s <= MAX_WORKER_RATE_PER_S)
        return PL_OK;
    pl_err_set(err, PL_LIMIT, "a rate of %.10g/s is too high for %d workers: %.10g/s for one, and %d can be counted",
               spec->rate_per_s, workers, worker_per_s, MAX_WORKER_RATE_PER_S);
    pl_err_hint(err, "No server takes as many: without a rate the clients go as fast as they can. More workers may have a "
                     "higher rate together.");
    return err->code;
}

enum pl_code load_spec_check(const struct load_spec *spec, struct pl_err *err)
{
    if (spec->script_count < 1 || spec->script_count > PL_MAX_SCRIPTS)
        return pl_err_set(err, PL_LIMIT, "a load has 1 to %d scripts, not %d", PL_MAX_SCRIPTS, spec->script_count);
    if (spec->clients < 1 || spec->clients > PL_MAX_CLIENTS)
        return pl_err_set(err, PL_LIMIT, "a load has 1 to %d clients, not %d", PL_MAX_CLIENTS, spec->clients);
    if (spec->workers < 0 || spec->workers > PL_MAX_WORKERS)
        return pl_err_set(err, PL_LIMIT, "a load has 0 to %d workers, not %d", PL_MAX_WORKERS, spec->workers);
    if (scripts_check(spec, err) != PL_OK || times_check(spec, err) != PL_OK || users_check(spec, err) != PL_OK ||
        tenants_check(spec, err) != PL_OK)
        return err->code;
    if (spec->max_tries < -1 || spec->latency_limit_ns < 0)
        return pl_err_set(err, PL_INPUT, "a limit of the load is negative");
    if (!(spec->sampling_frac >= 0 && spec->sampling_frac <= 1))
        return pl_err_set(err, PL_INPUT, "the share of operations to be logged must lie between 0 and 1");
    return rate_check(spec, err);
}

enum pl_code load_driver_check(const struct load_spec *spec, struct pl_err *err)
{
    for (int s = 0; s < spec->script_count; s++)
        if (steps_check(spec, spec->scripts[s].program, err) != PL_OK)
            return err->code;
    if (spec->driver == LOAD_PG && spec->tenants != NULL)
        return pl_err_set(err, PL_INPUT, "a load on PostgreSQL has no tenants");
    if (spec->driver == LOAD_SIM && (spec->sim.servers < 1 || !(spec->sim.mean_service_ns > 0)))
        return pl_err_set(err, PL_INPUT, "a simulated server needs at least one server and a service time above 0");
    if (spec->driver == LOAD_HTTP && spec->http == NULL)
        return pl_err_set(err, PL_INPUT, "a load that speaks HTTP needs to be told how");
    if (spec->driver == LOAD_HTTP && (spec->http->max_time_ns < 0 || spec->http->engine.connections < 0))
        return pl_err_set(err, PL_INPUT, "a limit of the requests is negative");
    return PL_OK;
}

/* ---- copy ---- */

static const char *text_copy(const char *text, struct pl_arena *arena)
{
    return text == NULL ? NULL : pl_strdup(arena, text);
}

static const char *const *texts_copy(const char *const *texts, struct pl_arena *arena)
{
    if (texts == NULL)
        return NULL;
    size_t count = 0;
    while (texts[count] != NULL)
        count++;
    const char **copies = pl_alloc(arena, count + 1, sizeof *copies);
    for (size_t i = 0; i < count; i++)
        copies[i] = pl_strdup(arena, texts[i]);
    copies[count] = NULL;
    return copies;
}

static const struct load_http *http_copy(const struct load_http *http, struct pl_arena *arena)
{
    if (http == NULL)
        return NULL;
    struct load_http *copy = pl_alloc(arena, 1, sizeof *copy);
    *copy = *http;
    copy->base_url = text_copy(http->base_url, arena);
    copy->headers = texts_copy(http->headers, arena);
    copy->credentials = text_copy(http->credentials, arena);
    struct http_spec *engine = &copy->engine;
    engine->ca_file = text_copy(engine->ca_file, arena);
    engine->cert_file = text_copy(engine->cert_file, arena);
    engine->key_file = text_copy(engine->key_file, arena);
    engine->server_name = text_copy(engine->server_name, arena);
    engine->unix_socket = text_copy(engine->unix_socket, arena);
    engine->connect_to = texts_copy(engine->connect_to, arena);
    engine->sources = texts_copy(engine->sources, arena);
    return copy;
}

void load_spec_copy(const struct load_spec *spec, struct pl_arena *arena, struct load_spec *ret_copy)
{
    struct load_spec *copy = ret_copy;
    *copy = *spec;
    struct load_script *scripts = pl_alloc(arena, (size_t)spec->script_count, sizeof *scripts);
    memcpy(scripts, spec->scripts, (size_t)spec->script_count * sizeof *scripts);
    copy->scripts = scripts;
    struct load_variable *variables = pl_alloc(arena, (size_t)spec->variable_count + 1, sizeof *variables);
    for (int v = 0; v < spec->variable_count; v++) {
        variables[v] = spec->variables[v];
        variables[v].name = pl_strdup(arena, spec->variables[v].name);
        if (variables[v].value.type == VALUE_TEXT)
            variables[v].value.text = pl_strndup(arena, variables[v].value.text, variables[v].value.length);
    }
    copy->variables = variables;
    copy->conninfo = pl_strdup(arena, spec->conninfo == NULL ? "" : spec->conninfo);
    copy->http = http_copy(spec->http, arena);
    copy->workers = workers_choose(spec);
    if (copy->slice_ns == 0)
        copy->slice_ns = PL_NS_PER_S;
    if (copy->connect_timeout_ns == 0)
        copy->connect_timeout_ns = 30 * PL_NS_PER_S;
}

/* ---- shape ---- */

/* Every client's variables before its first operation. */
static void variables_init(struct load_shape *shape, const struct load_spec *spec, struct pl_arena *arena)
{
    const struct program *program = shape->scripts[0].program;
    shape->client_id = -1;
    if (program->names == NULL)
        return;
    shape->variable_count = names_count(program->names);
    struct value *initial = pl_alloc(arena, shape->variable_count + 1, sizeof *initial);
    shape->initial = initial;
    shape->client_id = program_variable(program, "client_id");
    int seed = program_variable(program, "random_seed");
    if (seed >= 0)
        initial[seed] = (struct value){.type = VALUE_INT, .i = (int64_t)spec->seed};
    for (int v = 0; v < spec->variable_count; v++) {
        int variable = program_variable(program, spec->variables[v].name);
        if (variable < 0)
            continue;
        initial[variable] = spec->variables[v].value;
        if (variable == shape->client_id)
            shape->client_id = -1;
    }
}

static void groups_init(struct load_shape *shape, const struct feed *tenants, struct pl_arena *arena)
{
    shape->tenants = tenants;
    shape->group_count = tenants == NULL ? 1 : (int)tenants->group_count;
    double *ends = pl_alloc(arena, (size_t)shape->group_count, sizeof *ends), sum = 0;
    for (int g = 0; g < shape->group_count; g++) {
        sum += tenants == NULL ? 1 : tenants->groups[g].weight;
        ends[g] = sum;
    }
    shape->group_ends = ends;
}

int load_shape_group(const struct load_shape *shape, double draw)
{
    double share = draw * shape->group_ends[shape->group_count - 1];
    int low = 0, high = shape->group_count - 1; /* the answer is among these */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (share < shape->group_ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void load_shape_init(struct load_shape *shape, const struct load_spec *spec, struct pl_arena *arena)
{
    *shape = (struct load_shape){.scripts = spec->scripts, .script_count = spec->script_count};
    shape->steps = spec->no_steps ? LOAD_STEPS_NONE : spec->every_step ? LOAD_STEPS_EVERY : LOAD_STEPS_IO;
    groups_init(shape, spec->tenants, arena);
    shape->lane_count = shape->script_count * shape->group_count;
    struct load_lane *lanes = pl_alloc(arena, (size_t)shape->lane_count, sizeof *lanes);
    shape->lanes = lanes;
    for (int s = 0; s < shape->script_count; s++)
        shape->weight_sum += shape->scripts[s].weight;
    for (int l = 0; l < shape->lane_count; l++) {
        int script = l / shape->group_count;
        lanes[l] = (struct load_lane){.program = shape->scripts[script].program,
                                      .first_cell = shape->cell_count,
                                      .script = script,
                                      .group = l % shape->group_count};
        shape->cell_count += 1 + load_shape_steps(shape, l);
    }
    variables_init(shape, spec, arena);
}
