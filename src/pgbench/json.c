/* --json: the whole result as one document, docs/pgbench.schema.json. Numbers in full precision, the unit at the end of
 * each name; what there is none of is null. */
#include "pgbench/output_int.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "record/as_json.h"

#include "base/ban.h"

#define JSON_SCHEMA_VERSION 1

static json_t *json_failures(const struct pgbench_cell *cell)
{
    const struct attempts *attempts = &cell->attempts;
    json_t *object = json_object();
    json_object_set_new(object, "serialization", json_integer(attempts->serialization));
    json_object_set_new(object, "deadlock", json_integer(attempts->deadlock));
    json_object_set_new(object, "other", json_integer(cell->ledger.failed - attempts->serialization - attempts->deadlock));
    return object;
}

static json_t *json_latency(const struct hist *hist)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"p50_ns", 0.5},  {"p90_ns", 0.9},     {"p95_ns", 0.95},
                     {"p99_ns", 0.99}, {"p99_9_ns", 0.999}, {"p99_99_ns", 0.9999}};
    bool any = hist->total > 0;
    json_t *object = json_object();
    json_object_set_new(object, "count", json_integer(hist->total));
    json_object_set_new(object, "above_range", json_integer(hist->clipped));
    json_object_set_new(object, "min_ns", any ? json_integer(hist->min) : json_null());
    json_object_set_new(object, "mean_ns", record_json_real(hist_mean(hist)));
    json_object_set_new(object, "stddev_ns", record_json_real(hist_stddev(hist)));
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        json_object_set_new(object, quantiles[i].name,
                            any ? json_integer(hist_quantile(hist, quantiles[i].q)) : json_null());
    json_object_set_new(object, "max_ns", any ? json_integer(hist->max) : json_null());
    return object;
}

/* What every level has: the whole, a script. */
static void cell_put(json_t *object, const struct pgbench_total *total, const struct pgbench_cell *cell)
{
    json_object_set_new(object, "ledger", record_json_ledger(&cell->ledger));
    json_object_set_new(object, "failures", json_failures(cell));
    json_object_set_new(object, "retried", json_integer(cell->attempts.retried));
    json_object_set_new(object, "retries", json_integer(cell->attempts.retries));
    json_object_set_new(object, "above_latency_limit",
                        total->options->latency_limit_ns > 0 ? json_integer(cell->attempts.above_limit) : json_null());
    json_object_set_new(object, "completed_in_window", json_integer(cell->completed_in_window));
    json_object_set_new(object, "tps_per_s", record_json_real(pgbench_tps_of(total, cell)));
    json_object_set_new(object, "response", json_latency(&cell->response));
    json_object_set_new(object, "service", json_latency(&cell->service));
    json_object_set_new(object, "lateness", json_latency(&cell->lateness));
}

static json_t *json_command(struct pl_arena *arena, const struct step *step, const struct pgbench_cell *cell)
{
    json_t *object = json_object();
    json_object_set_new(object, "number", json_integer(step->number));
    json_object_set_new(object, "line", json_integer(step->line));
    json_object_set_new(object, "text", record_json_text(arena, step->text));
    json_object_set_new(object, "completed", json_integer(cell->ledger.completed));
    json_object_set_new(object, "failed", json_integer(cell->ledger.failed));
    json_object_set_new(object, "retries", json_integer(cell->attempts.retries));
    json_object_set_new(object, "service", json_latency(&cell->service));
    return object;
}

static json_t *json_script(struct pl_arena *arena, const struct pgbench_total *total, int index)
{
    const struct pgbench_script *script = &total->options->scripts[index];
    json_t *object = json_object(), *commands = json_null();
    json_object_set_new(object, "title", record_json_text(arena, script->title));
    json_object_set_new(object, "builtin", record_json_text(arena, script->builtin));
    json_object_set_new(object, "path", record_json_text(arena, script->path));
    json_object_set_new(object, "weight", json_integer(script->weight));
    cell_put(object, total, &total->scripts[index]);
    if (total->commands != NULL) {
        commands = json_array();
        for (size_t i = 0; i < script->program->step_count; i++) {
            const struct step *step = &script->program->steps[i];
            if (step->number >= 0)
                json_array_append_new(commands, json_command(arena, step, &total->commands[index][step->number]));
        }
    }
    json_object_set_new(object, "commands", commands);
    return object;
}

static json_t *json_scripts(struct pl_arena *arena, const struct pgbench_total *total)
{
    json_t *array = json_array();
    for (int s = 0; s < total->options->script_count; s++)
        json_array_append_new(array, json_script(arena, total, s));
    return array;
}

static json_t *json_defines(struct pl_arena *arena, const struct pgbench_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; i < options->define_count; i++)
        json_object_set_new(object, pl_utf8_repair(arena, options->defines[i].name),
                            record_json_text(arena, options->defines[i].value));
    return object;
}

static json_t *json_options(struct pl_arena *arena, const struct pgbench_options *options)
{
    static const char *const protocols[] = {
        [PLAN_SIMPLE] = "simple", [PLAN_EXTENDED] = "extended", [PLAN_PREPARED] = "prepared"};
    const struct {
        const char *name;
        bool value;
    } flags[] = {
        {"connect", options->connect},
        {"no_vacuum", options->no_vacuum},
        {"vacuum_all", options->vacuum_all},
        {"continue_on_error", options->continue_on_error},
        {"exit_on_abort", options->exit_on_abort},
        {"failures_detailed", options->failures_detailed},
        {"verbose_errors", options->verbose_errors},
        {"report_per_command", options->report_per_command},
        {"progress_timestamp", options->progress_timestamp},
        {"log", options->log},
        {"seed_is_given", options->seed_is_given},
    };
    json_t *object = json_object();
    json_object_set_new(object, "clients", json_integer(options->clients));
    json_object_set_new(object, "threads", json_integer(options->threads));
    json_object_set_new(object, "transactions_per_client", record_json_positive(options->transactions));
    json_object_set_new(object, "duration_s", record_json_positive(options->duration_s));
    json_object_set_new(object, "protocol", json_string(protocols[options->protocol]));
    json_object_set_new(object, "scale", record_json_positive(options->scale));
    json_object_set_new(object, "max_tries", record_json_positive(options->max_tries));
    json_object_set_new(object, "rate_per_s", record_json_positive_real(options->rate_per_s));
    json_object_set_new(object, "latency_limit_ns", record_json_positive(options->latency_limit_ns));
    json_object_set_new(object, "progress_s", record_json_positive(options->progress_s));
    json_object_set_new(object, "aggregate_interval_s", record_json_positive(options->aggregate_interval_s));
    json_object_set_new(object, "sampling_rate", record_json_positive_real(options->sampling_rate));
    json_object_set_new(object, "log_prefix", options->log ? record_json_text(arena, options->log_prefix) : json_null());
    json_object_set_new(object, "random_seed", json_string(pl_format(arena, "%llu", (unsigned long long)options->seed)));
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        json_object_set_new(object, flags[i].name, json_boolean(flags[i].value));
    json_object_set_new(object, "defines", json_defines(arena, options));
    return object;
}

static json_t *json_server(struct pl_arena *arena, const struct pgbench_total *total)
{
    static const char *const partitioning[] = {
        [DATASET_NO_PARTITIONS] = NULL, [DATASET_RANGE] = "range", [DATASET_HASH] = "hash"};
    json_t *object = json_object(), *connection = json_object();
    struct param *params = NULL;
    size_t count = pgbench_conninfo_public(total->options->conninfo, arena, &params);
    for (size_t i = 0; i < count; i++)
        json_object_set_new(connection, params[i].name, record_json_text(arena, params[i].value));
    json_object_set_new(object, "version", record_json_text(arena, total->server_version));
    json_object_set_new(object, "connection", connection);
    json_object_set_new(object, "scale", record_json_positive(total->data.scale));
    json_object_set_new(object, "partitioning", record_json_text(arena, partitioning[total->data.partitioning]));
    json_object_set_new(object, "partitions", json_integer(total->data.partitions));
    return object;
}

static json_t *json_times(const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    json_t *object = json_object();
    json_object_set_new(object, "started_unix_ns", json_integer(total->start_unix_ns));
    json_object_set_new(object, "connect_ns", json_integer(result->connect_end_ns - result->connect_start_ns));
    json_object_set_new(object, "window_ns", json_integer(result->window_ns));
    json_object_set_new(object, "drain_ns",
                        result->measure_end_ns > 0 ? json_integer(result->drain_end_ns - result->measure_end_ns)
                                                   : json_null());
    json_object_set_new(object, "connect_each", result->connect != NULL ? json_latency(result->connect) : json_null());
    return object;
}

static json_t *json_client(struct pl_arena *arena, const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    char why[600] = "";
    double busy_frac = 0;
    bool is_bound = pgbench_is_client_bound(total, &busy_frac, why, sizeof why);
    json_t *object = json_object();
    json_object_set_new(object, "workers", json_integer(result->workers));
    json_object_set_new(object, "event_loop", record_json_text(arena, result->event_loop));
    json_object_set_new(object, "cpu_ns", json_integer(result->cpu_ns));
    json_object_set_new(object, "window_cpu_ns", json_integer(result->window_cpu_ns));
    json_object_set_new(object, "busy_frac", record_json_real(busy_frac));
    json_object_set_new(object, "longest_gap_ns", json_integer(result->longest_gap_ns));
    json_object_set_new(object, "log_wait_ns", json_integer(result->log_wait_ns));
    json_object_set_new(object, "is_the_limit", json_boolean(is_bound));
    json_object_set_new(object, "why", record_json_text(arena, why));
    return object;
}

static json_t *json_clients(const struct pgbench_total *total)
{
    json_t *object = json_object();
    json_object_set_new(object, "count", json_integer(total->options->clients));
    json_object_set_new(object, "ended_early", json_integer(total->result.clients_ended_early));
    json_object_set_new(object, "lost", json_integer(total->result.clients_lost));
    json_object_set_new(object, "covered_frac", record_json_real(pgbench_covered_frac(total)));
    return object;
}

/* Whether the run did all that it was to do. */
static bool is_whole(const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    if (options->duration_s > 0)
        return total->result.window_ns >= options->duration_s * PL_NS_PER_S;
    return total->whole.ledger.due >= options->clients * options->transactions && total->whole.ledger.unfinished == 0;
}

static const char *exit_reason(const struct pgbench_total *total)
{
    if (!pgbench_is_window_whole(total))
        return "interrupted";
    if (total->result.clients_ended_early > 0)
        return "clients_ended_early";
    if (total->whole.ledger.completed == 0)
        return "no_transactions";
    return is_whole(total) ? "completed" : "stopped_early";
}

static json_t *json_root(struct pl_arena *arena, const struct pgbench_total *total)
{
    json_t *root = json_object(), *tool = json_object(), *tps = json_object();
    json_object_set_new(root, "schema", json_string("plimsoll-pgbench"));
    json_object_set_new(root, "schema_version", json_integer(JSON_SCHEMA_VERSION));
    json_object_set_new(tool, "name", json_string("plimsoll"));
    json_object_set_new(tool, "version", json_string(PLIMSOLL_VERSION));
    json_object_set_new(root, "tool", tool);
    json_object_set_new(root, "server", json_server(arena, total));
    json_object_set_new(root, "options", json_options(arena, total->options));
    json_object_set_new(root, "exit_reason", json_string(exit_reason(total)));
    json_object_set_new(root, "times", json_times(total));
    json_object_set_new(root, "clients", json_clients(total));
    json_object_set_new(root, "client_load", json_client(arena, total));
    json_object_set_new(tps, "without_connecting_per_s", record_json_real(pgbench_tps(total)));
    json_object_set_new(tps, "with_connecting_per_s", record_json_real(pgbench_tps_with_connecting(total)));
    json_object_set_new(root, "tps", tps);
    cell_put(root, total, &total->whole);
    json_object_set_new(root, "scripts", json_scripts(arena, total));
    return root;
}

enum pl_code pgbench_json_write(const char *path, const struct pgbench_total *total, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    json_t *root = json_root(arena, total);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL)
        pl_panic("the result cannot be written as JSON");
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL, which is not written */
    enum pl_code code = pl_file_write(path, text, length + 1, err);
    free(text);
    json_decref(root);
    pl_arena_free(arena);
    return code;
}
