/* Options as the engine's spec. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "httpload/run_int.h"

#include "base/ban.h"

enum {
    STREAMS_DEFAULT = 10,
    OTHER_DESCRIPTORS = 64,      /* files, event loops, name lookups */
    DESTINATIONS_COUNTED = 65536 /* as many as the engine knows */
};

static void spec_http(struct load_http *http, const struct httpload_options *options)
{
    *http = (struct load_http){
        .engine =
            {
                .connections = (int)options->connections_total,
                .http2 = options->http2,
                .streams = (int)options->streams,
                .http1_0 = options->http1_0,
                .close_each = options->no_keepalive,
                .connect_timeout_ns = options->connect_timeout_ns,
                .insecure = options->insecure,
                .ca_file = options->cacert,
                .cert_file = options->cert,
                .key_file = options->key,
                .unix_socket = options->unix_socket,
                .connect_to = options->connect_to.count > 0 ? options->connect_to.items : NULL,
                .sources = options->sources.count > 0 ? options->sources.items : NULL,
            },
        .base_url = options->base_url,
        .headers = options->headers.count > 0 ? options->headers.items : NULL,
        .credentials = options->user,
        .max_time_ns = options->timeout_ns,
        .follows = options->follow,
        .compressed = options->compressed,
        .no_cookies = options->no_cookies,
    };
}

static void spec_scripts(struct load_spec *spec, const struct httpload_options *options, struct pl_arena *arena)
{
    struct load_script *scripts = pl_alloc(arena, (size_t)options->script_count, sizeof *scripts);
    for (int s = 0; s < options->script_count; s++)
        scripts[s] = (struct load_script){options->scripts[s].program, options->scripts[s].weight};
    spec->scripts = scripts;
    spec->script_count = options->script_count;
}

static void spec_variables(struct load_spec *spec, const struct httpload_options *options, struct pl_arena *arena)
{
    const struct program_givens *givens = &options->givens;
    struct load_variable *variables = pl_alloc(arena, givens->constant_count + 1, sizeof *variables);
    for (size_t i = 0; i < givens->constant_count; i++)
        variables[i] = (struct load_variable){givens->constants[i].name, givens->constants[i].value};
    spec->variables = variables;
    spec->variable_count = (int)givens->constant_count;
}

struct load_spec httpload_spec(const struct httpload_options *options, double rate_per_s, struct pl_arena *arena)
{
    struct load_http *http = pl_alloc(arena, 1, sizeof *http);
    bool is_open = rate_per_s > 0;
    spec_http(http, options);
    struct load_spec spec = {
        .driver = LOAD_HTTP,
        .http = http,
        .tenants = options->tenants,
        .clients = (int)options->clients,
        .workers = (int)options->workers,
        .open_loop = is_open,
        .rate_per_s = rate_per_s,
        .arrivals = options->constant ? PLAN_CONSTANT : PLAN_POISSON,
        .operations = is_open ? 0 : options->operations,
        .operations_per_client = is_open ? options->operations / options->clients : 0,
        .warm_up_ns = options->warm_up_ns,
        .measure_ns = options->find_text != NULL ? options->step_ns : options->duration_ns,
        .drain_ns = options->drain_ns,
        .seed = options->seed,
        .at_end = LOAD_START_LATE,
        .on_error = LOAD_GO_ON,
        .log_operations = options->log_path != NULL,
        .think_ns = options->think_ns,
        .think_exponential = options->think_exponential,
        .session_operations = is_open ? options->session_operations : 0,
        .session_geometric = options->session_geometric,
    };
    spec_scripts(&spec, options, arena);
    spec_variables(&spec, options, arena);
    return spec;
}

/* ---- what it will need ---- */

/* The distinct hosts and ports that texts "METHOD URL" and tenants' URLs name, as far as they can be told. */
struct hosts {
    struct pl_arena *arena;
    const char **names;
    size_t count, capacity;
};

static void hosts_add(struct hosts *hosts, const char *url)
{
    const char *begin = strstr(url, "://");
    if (begin == NULL || hosts->count >= DESTINATIONS_COUNTED)
        return;
    size_t length = strcspn(begin + 3, "/?#");
    if (memmem(begin, length + 3, "{{", 2) != NULL) /* known when it runs */
        return;
    /* the last ones first: rows of one host mostly stand together */
    for (size_t i = hosts->count; i > 0 && hosts->count - i < 64; i--)
        if (strlen(hosts->names[i - 1]) == length && strncmp(hosts->names[i - 1], begin + 3, length) == 0)
            return;
    hosts->names =
        pl_grow(hosts->arena, hosts->names, hosts->count, hosts->count + 1, sizeof *hosts->names, &hosts->capacity);
    hosts->names[hosts->count++] = pl_strndup(hosts->arena, begin + 3, length);
}

static int64_t hosts_count(const struct httpload_options *options)
{
    struct hosts hosts = {.arena = pl_arena_new()};
    for (int s = 0; s < options->script_count; s++)
        for (size_t i = 0; i < options->scripts[s].program->step_count; i++)
            if (options->scripts[s].program->steps[i].kind == STEP_HTTP)
                hosts_add(&hosts, options->scripts[s].program->steps[i].text);
    if (options->base_url != NULL)
        hosts_add(&hosts, options->base_url);
    int url = options->tenants != NULL ? feed_column(options->tenants, "url") : -1;
    for (size_t row = 0; url >= 0 && row < options->tenants->row_count; row++) {
        const struct value *cell = &options->tenants->cells[row * options->tenants->column_count + (size_t)url];
        if (cell->type == VALUE_TEXT)
            hosts_add(&hosts, cell->text);
    }
    int64_t count = (int64_t)hosts.count;
    pl_arena_free(hosts.arena);
    return count > 0 ? count : 1;
}

struct http_need httpload_need(const struct httpload_options *options)
{
    int64_t streams = options->streams > 0 ? options->streams : STREAMS_DEFAULT;
    int64_t connections = options->http2 ? (options->clients + streams - 1) / streams : options->clients;
    if (options->connections_total > 0)
        connections = options->connections_total;
    double rate_per_s = options->find_text != NULL ? options->most_per_s : options->rate_per_s;
    int64_t duration_ns = options->warm_up_ns + (options->find_text != NULL ? options->step_ns : options->duration_ns);
    return (struct http_need){
        .connections = connections,
        .destinations = options->unix_socket != NULL ? 0 : hosts_count(options),
        .sources = options->sources.count > 0 ? (int64_t)options->sources.count : 1,
        .new_connections_per_s = options->no_keepalive ? rate_per_s : 0,
        .duration_s = (double)duration_ns / (double)PL_NS_PER_S,
        .other_descriptors = OTHER_DESCRIPTORS,
    };
}
