/* --json: the whole result as one document, docs/http.schema.json. Numbers in full precision, the unit at the end of each
 * name; what there is none of is null. Headers, users and values of variables may be secret: none is here. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "httpload/output_int.h"
#include "record/as_json.h"

#include "base/ban.h"

#define JSON_SCHEMA_VERSION 1

enum { STATUS_FIRST = 100, STATUS_END = 600 };

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* ns; with the quantiles that are only lower bounds by name. */
static json_t *json_latency(const struct httpload_latency *latency)
{
    json_t *object = json_object(), *bounds = json_array();
    bool any = latency->count > 0;
    set(object, "count", json_integer(latency->count));
    set(object, "censored", json_integer(latency->censored));
    set(object, "mean_ns", any ? record_json_real(latency->mean_ns) : json_null());
    if (latency->mean_at_least)
        json_array_append_new(bounds, json_string("mean_ns"));
    for (int i = 0; i < HTTPLOAD_QUANTILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_ns", httpload_quantile_names[i]);
        set(object, name, any ? json_integer(latency->ns[i]) : json_null());
        if (latency->at_least[i])
            json_array_append_new(bounds, json_string(name));
    }
    set(object, "at_least", bounds);
    return object;
}

static json_t *json_hist(const struct hist *ended, const struct hist *censored)
{
    const struct httpload_latency latency = httpload_latency_of(ended, censored);
    return json_latency(&latency);
}

static void cell_put(json_t *object, const struct httpload_cell *cell)
{
    set(object, "ledger", record_json_ledger(&cell->ledger));
    set(object, "completed_in_window", json_integer(cell->completed_in_window));
    set(object, "retries", json_integer(cell->attempts.retries));
    set(object, "response", json_hist(&cell->response, &cell->censored));
    set(object, "service", json_hist(&cell->service, NULL));
    set(object, "lateness", json_hist(&cell->lateness, NULL));
}

/* ---- parts ---- */

static json_t *json_requests(struct pl_arena *arena, const struct httpload_total *total, int script)
{
    const struct program *program = total->options->scripts[script].program;
    json_t *array = json_array();
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        if (step->io_index < 0)
            continue;
        const struct httpload_step *sums = &total->steps[script][step->io_index];
        json_t *object = json_object();
        set(object, "number", json_integer(step->io_index + 1));
        set(object, "line", json_integer(step->line));
        set(object, "text", record_json_text(arena, step->text));
        set(object, "answered", json_integer(sums->completed));
        set(object, "failed", json_integer(sums->failed));
        set(object, "expired", json_integer(sums->expired));
        set(object, "retries", json_integer(sums->retries));
        set(object, "service", json_hist(&sums->service, &sums->censored));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_scripts(struct pl_arena *arena, const struct httpload_total *total)
{
    json_t *array = json_array();
    for (int s = 0; s < total->options->script_count; s++) {
        const struct httpload_script *script = &total->options->scripts[s];
        json_t *object = json_object();
        set(object, "title", record_json_text(arena, script->title));
        set(object, "path", record_json_text(arena, script->path));
        set(object, "weight", json_integer(script->weight));
        cell_put(object, &total->scripts[s]);
        set(object, "requests", json_requests(arena, total, s));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_groups(struct pl_arena *arena, const struct httpload_total *total)
{
    const struct feed *tenants = total->options->tenants;
    if (tenants == NULL)
        return json_null();
    json_t *array = json_array();
    for (size_t g = 0; g < tenants->group_count; g++) {
        json_t *object = json_object();
        set(object, "name", record_json_text(arena, tenants->groups[g].name));
        set(object, "tenants", json_integer((json_int_t)tenants->groups[g].row_count));
        set(object, "weight", record_json_real(tenants->groups[g].weight));
        cell_put(object, &total->groups[g]);
        json_array_append_new(array, object);
    }
    return array;
}

/* By row, because a name of one could be a credential. */
static json_t *json_tenants(const struct httpload_total *total)
{
    const struct load_tenant_count *counts = total->result.tenants;
    if (total->options->tenants == NULL || counts == NULL)
        return json_null();
    json_t *array = json_array();
    for (size_t row = 0; row < total->options->tenants->row_count; row++) {
        json_t *object = json_object();
        set(object, "row", json_integer((json_int_t)row + 1));
        set(object, "completed", json_integer(counts[row].completed));
        set(object, "failed", json_integer(counts[row].failed));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_faults(struct pl_arena *arena, const struct httpload_total *total)
{
    json_t *array = json_array();
    for (size_t i = 0; i < total->fault_count; i++) {
        const struct httpload_fault *fault = &total->faults[i];
        json_t *object = json_object();
        set(object, "code", record_json_text(arena, fault->code));
        set(object, "count", json_integer(fault->count));
        set(object, "in_warm_up", json_integer(fault->before_window));
        set(object, "first_ns", json_integer(fault->first_ns));
        set(object, "example", record_json_text(arena, fault->example));
        json_array_append_new(array, object);
    }
    return array;
}

/* ---- the protocol ---- */

static json_t *json_statuses(const struct http_stats *stats)
{
    json_t *object = json_object();
    for (int status = STATUS_FIRST; status < STATUS_END; status++)
        if (stats->statuses[status] > 0) {
            char name[16];
            snprintf(name, sizeof name, "%d", status);
            set(object, name, json_integer(stats->statuses[status]));
        }
    if (stats->other_statuses > 0)
        set(object, "other", json_integer(stats->other_statuses));
    return object;
}

static json_t *json_stats(const struct http_stats *stats)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"requests", stats->requests},
        {"answers", stats->answers},
        {"interim_answers", stats->interim},
        {"sent_bytes", stats->sent_bytes},
        {"received_bytes", stats->received_bytes},
        {"body_bytes", stats->body_bytes},
        {"connections_opened", stats->connections_opened},
        {"connections_failed", stats->connections_failed},
        {"connections_closed_by_server", stats->connections_closed_by_peer},
        {"connections_evicted", stats->connections_evicted},
        {"handshakes_full", stats->handshakes_full},
        {"handshakes_resumed", stats->handshakes_resumed},
        {"sent_again", stats->retries},
        {"blocked", stats->blocked},
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        set(object, counts[i].name, json_integer(counts[i].value));
    set(object, "statuses", json_statuses(stats));
    set(object, "connect", json_hist(&stats->connect, NULL));
    set(object, "tls", json_hist(&stats->tls, NULL));
    set(object, "first_byte", json_hist(&stats->first_byte, NULL));
    set(object, "blocked_wait", json_hist(&stats->blocked_wait, NULL));
    set(object, "continue_wait", json_hist(&stats->continue_wait, NULL));
    const struct hist *exchanges = &stats->exchanges_per_connection;
    set(object, "requests_per_connection_mean",
        exchanges->total > 0 ? record_json_real(hist_mean(exchanges)) : json_null());
    set(object, "requests_per_connection_min", exchanges->total > 0 ? json_integer(exchanges->min) : json_null());
    set(object, "requests_per_connection_max", exchanges->total > 0 ? json_integer(exchanges->max) : json_null());
    return object;
}

static json_t *json_http(struct pl_arena *arena, const struct httpload_total *total)
{
    const struct load_http_result *http = total->result.http;
    if (http == NULL)
        return json_null();
    json_t *object = json_object(), *addresses = json_array();
    set(object, "warm_up", json_stats(&http->warm_up));
    set(object, "measured", json_stats(&http->measured));
    set(object, "redirects", json_integer(http->redirects));
    for (size_t i = 0; i < http->address_count; i++) {
        json_t *address = json_object();
        set(address, "address", record_json_text(arena, http->addresses[i].text));
        set(address, "opened", json_integer(http->addresses[i].opened));
        set(address, "failed", json_integer(http->addresses[i].failed));
        json_array_append_new(addresses, address);
    }
    set(object, "addresses", addresses);
    return object;
}

/* ---- what was asked for, and what the load is worth ---- */

static json_t *json_list(struct pl_arena *arena, const struct httpload_texts *texts, const char *ends)
{
    json_t *array = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(array,
                              record_json_text(arena, pl_strndup(arena, texts->items[i], strcspn(texts->items[i], ends))));
    return array;
}

static json_t *json_options(struct pl_arena *arena, const struct httpload_total *total)
{
    const struct httpload_options *options = total->options;
    const struct {
        const char *name;
        bool value;
    } flags[] = {
        {"constant", options->constant},         {"http2", options->http2},         {"http1_0", options->http1_0},
        {"no_keepalive", options->no_keepalive}, {"insecure", options->insecure},   {"follow", options->follow},
        {"compressed", options->compressed},     {"cookies", !options->no_cookies}, {"any_status", options->any_status},
    };
    json_t *object = json_object();
    /* as the title shows it, behind the method: without secrets */
    const char *shown = options->url != NULL ? strchr(options->scripts[0].title, ' ') : NULL;
    set(object, "url", record_json_text(arena, shown != NULL ? shown + 1 : NULL));
    set(object, "base_url", record_json_text(arena, options->base_url));
    set(object, "method", record_json_text(arena, options->method));
    set(object, "header_names", json_list(arena, &options->headers, ":"));
    set(object, "body_bytes", options->data != NULL ? json_integer((json_int_t)options->body_length) : json_null());
    set(object, "has_user", json_boolean(options->user != NULL));
    set(object, "clients", json_integer(options->clients));
    set(object, "duration_ns", record_json_positive(options->find_text != NULL ? options->step_ns : options->duration_ns));
    set(object, "operations", record_json_positive(options->operations));
    set(object, "rate_per_s", record_json_positive_real(total->rate_per_s));
    set(object, "warm_up_ns", json_integer(options->warm_up_ns));
    set(object, "drain_ns", json_integer(options->drain_ns));
    set(object, "think_ns", json_integer(options->think_ns));
    set(object, "think_exponential", json_boolean(options->think_exponential));
    set(object, "user_operations", record_json_positive_real(options->session_operations));
    set(object, "user_operations_geometric", json_boolean(options->session_geometric));
    set(object, "streams", record_json_positive(options->streams));
    set(object, "connections_total", record_json_positive(options->connections_total));
    set(object, "timeout_ns", json_integer(options->timeout_ns));
    set(object, "connect_timeout_ns", record_json_positive(options->connect_timeout_ns));
    set(object, "unix_socket", record_json_text(arena, options->unix_socket));
    set(object, "connect_to", json_list(arena, &options->connect_to, ""));
    set(object, "sources", json_list(arena, &options->sources, ""));
    set(object, "variable_names", json_list(arena, &options->variables, "="));
    set(object, "feeds", json_list(arena, &options->feeds, ""));
    set(object, "tenants", options->tenants != NULL ? json_integer((json_int_t)options->tenants->row_count) : json_null());
    set(object, "seed", json_string(pl_format(arena, "%llu", (unsigned long long)options->seed)));
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        set(object, flags[i].name, json_boolean(flags[i].value));
    return object;
}

static json_t *json_client(struct pl_arena *arena, const struct httpload_total *total)
{
    const struct load_result *result = &total->result;
    json_t *object = json_object();
    set(object, "workers", json_integer(result->workers));
    set(object, "event_loop", record_json_text(arena, result->event_loop));
    set(object, "cpu_ns", json_integer(result->cpu_ns));
    set(object, "window_cpu_ns", json_integer(result->window_cpu_ns));
    set(object, "longest_gap_ns", json_integer(result->longest_gap_ns));
    set(object, "busiest_frac", result->self != NULL ? record_json_real(result->self->busiest_frac) : json_null());
    set(object, "own_lateness", result->self != NULL ? json_hist(&result->self->lateness, NULL) : json_null());
    set(object, "gap_cv", result->self != NULL ? record_json_real(result->self->gap_cv) : json_null());
    set(object, "gap_cv_asked", result->self != NULL ? record_json_real(result->self->gap_cv_asked) : json_null());
    set(object, "is_the_limit", json_boolean(total->mark != NULL));
    set(object, "why", record_json_text(arena, total->mark));
    return object;
}

static json_t *json_times(const struct httpload_total *total)
{
    const struct load_result *result = &total->result;
    json_t *object = json_object();
    set(object, "started_unix_ns", json_integer(total->start_unix_ns));
    set(object, "window_ns", json_integer(result->window_ns));
    set(object, "drain_ns",
        result->measure_end_ns > 0 ? json_integer(result->drain_end_ns - result->measure_end_ns) : json_null());
    return object;
}

/* ---- verdicts ---- */

static json_t *json_term(struct pl_arena *arena, const struct objective_term *term, const struct objective_view *view)
{
    static const char *const units[] = {[OBJECTIVE_QUANTILE] = "ns",
                                        [OBJECTIVE_MEAN] = "ns",
                                        [OBJECTIVE_ERRORS] = "1",
                                        [OBJECTIVE_RATE] = "1/s",
                                        [OBJECTIVE_COUNT] = "count"};
    static const char *const truths[] = {
        [OBJECTIVE_HOLDS] = "true", [OBJECTIVE_FAILS] = "false", [OBJECTIVE_NO_DATA] = "no_data"};
    double value;
    bool at_least;
    enum objective_verdict verdict = objective_judge_term(term, view, &value, &at_least);
    json_t *object = json_object();
    set(object, "text", record_json_text(arena, term->text));
    set(object, "is", json_string(truths[verdict]));
    set(object, "value", verdict == OBJECTIVE_NO_DATA && !at_least ? json_null() : record_json_real(value));
    set(object, "at_least", json_boolean(at_least));
    set(object, "limit", record_json_real(term->limit));
    set(object, "unit", json_string(units[term->measure]));
    return object;
}

static json_t *json_objectives(struct pl_arena *arena, const struct httpload_total *total)
{
    json_t *array = json_array();
    const struct objective_view view = httpload_view(total);
    for (size_t i = 0; i < total->options->objective_count; i++) {
        const struct httpload_objective *objective = &total->options->objectives[i];
        json_t *object = json_object(), *terms = json_array();
        set(object, "kind", json_string(objective->is_fail_if ? "fail_if" : "threshold"));
        set(object, "expression", record_json_text(arena, objective->objective.text));
        set(object, "verdict", json_string(httpload_verdict_name(httpload_judge(total, objective))));
        for (size_t t = 0; t < objective->objective.term_count; t++)
            json_array_append_new(terms, json_term(arena, &objective->objective.terms[t], &view));
        set(object, "terms", terms);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_trial(struct pl_arena *arena, const struct httpload_trial *trial)
{
    static const char *const words[] = {[SEARCH_PASS] = "pass", [SEARCH_FAIL] = "fail", [SEARCH_NO_DATA] = "no_data"};
    json_t *object = json_object();
    set(object, "rate_per_s", record_json_real(trial->rate_per_s));
    set(object, "due_per_s", record_json_real(trial->due_per_s));
    set(object, "completed_per_s", record_json_real(trial->completed_per_s));
    set(object, "verdict", json_string(words[trial->verdict]));
    set(object, "due", json_integer(trial->due));
    set(object, "completed", json_integer(trial->completed));
    set(object, "response", json_latency(&trial->response));
    set(object, "client_was_the_limit", record_json_text(arena, trial->mark));
    set(object, "seed", json_string(pl_format(arena, "%llu", (unsigned long long)trial->seed)));
    return object;
}

static json_t *json_search(struct pl_arena *arena, const struct httpload_total *total, const struct httpload_find *find)
{
    if (find == NULL)
        return json_null();
    json_t *object = json_object(), *trials = json_array(), *points = json_array();
    set(object, "objective", record_json_text(arena, total->options->find_text));
    set(object, "end", json_string(httpload_find_end_name(find)));
    set(object, "last_pass_per_s", record_json_positive_real(find->search.last_pass));
    set(object, "first_fail_per_s", record_json_positive_real(find->search.first_fail));
    for (int i = 0; i < find->search.point_count; i++) {
        json_t *point = json_object();
        set(point, "rate_per_s", record_json_real(find->search.points[i].load));
        set(point, "passes", json_integer(find->search.points[i].passes));
        set(point, "failures", json_integer(find->search.points[i].failures));
        json_array_append_new(points, point);
    }
    for (size_t i = 0; i < find->trial_count; i++)
        json_array_append_new(trials, json_trial(arena, &find->trials[i]));
    set(object, "points", points);
    set(object, "trials", trials);
    return object;
}

static json_t *json_root(struct pl_arena *arena, const struct httpload_total *total, const struct httpload_find *find,
                         enum httpload_exit exit_code)
{
    json_t *root = json_object(), *tool = json_object();
    set(root, "schema", json_string("plimsoll-http"));
    set(root, "schema_version", json_integer(JSON_SCHEMA_VERSION));
    set(tool, "name", json_string("plimsoll"));
    set(tool, "version", json_string(PLIMSOLL_VERSION));
    set(root, "tool", tool);
    set(root, "options", json_options(arena, total));
    set(root, "exit_code", json_integer((json_int_t)exit_code));
    set(root, "verdict", json_string(httpload_verdict(total)));
    set(root, "was_interrupted", json_boolean(total->was_interrupted));
    set(root, "times", json_times(total));
    set(root, "due_per_s", record_json_real(httpload_due_per_s(total)));
    set(root, "completed_per_s", record_json_real(httpload_completed_per_s(total)));
    cell_put(root, &total->whole);
    set(root, "scripts", json_scripts(arena, total));
    set(root, "groups", json_groups(arena, total));
    set(root, "tenants", json_tenants(total));
    set(root, "http", json_http(arena, total));
    set(root, "faults", json_faults(arena, total));
    set(root, "client_load", json_client(arena, total));
    set(root, "objectives", json_objectives(arena, total));
    set(root, "search", json_search(arena, total, find));
    return root;
}

enum pl_code httpload_json_write(const char *path, const struct httpload_total *total, const struct httpload_find *find,
                                 enum httpload_exit exit_code, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    json_t *root = json_root(arena, total, find, exit_code);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL)
        pl_panic("the result cannot be written as JSON");
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL, which is not written */
    enum pl_code code = PL_OK;
    if (path != NULL)
        code = pl_file_write(path, text, length + 1, err);
    else
        fwrite(text, 1, length + 1, stdout); /* its errors are the caller's to find */
    free(text);
    json_decref(root);
    pl_arena_free(arena);
    return code;
}
