/* The report that programs parse: pgbench's lines in pgbench's order and wording. */
#include "pgbench/output_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

static double ms(double ns)
{
    return ns / (double)PL_NS_PER_MS;
}

static double percent(int64_t part, int64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static const char *protocol_name(enum plan_protocol protocol)
{
    switch (protocol) {
    case PLAN_SIMPLE:
        return "simple";
    case PLAN_EXTENDED:
        return "extended";
    case PLAN_PREPARED:
        return "prepared";
    }
    return "";
}

static void put_settings(FILE *out, const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    fprintf(out, "transaction type: %s\n", options->script_count == 1 ? options->scripts[0].title : "multiple scripts");
    fprintf(out, "scaling factor: %lld\n", (long long)total->data.scale);
    if (total->data.partitioning != DATASET_NO_PARTITIONS)
        fprintf(out, "partition method: %s\npartitions: %d\n", total->data.partitioning == DATASET_RANGE ? "range" : "hash",
                total->data.partitions);
    fprintf(out, "query mode: %s\n", protocol_name(options->protocol));
    fprintf(out, "number of clients: %lld\n", (long long)options->clients);
    fprintf(out, "number of threads: %d\n", total->result.workers);
    if (options->max_tries > 0)
        fprintf(out, "maximum number of tries: %lld\n", (long long)options->max_tries);
    if (options->duration_s > 0)
        fprintf(out, "duration: %lld s\n", (long long)options->duration_s);
    else
        fprintf(out, "number of transactions per client: %lld\n", (long long)options->transactions);
    fprintf(out, "number of transactions actually processed: %lld", (long long)total->whole.ledger.completed);
    if (options->duration_s == 0)
        fprintf(out, "/%lld", (long long)(options->clients * options->transactions));
    fputc('\n', out);
}

/* The lines that all scripts together and each of them have; `dash` begins those of a script. */
static void put_failures(FILE *out, const struct pgbench_options *options, const struct pgbench_cell *cell,
                         const char *dash)
{
    const struct ledger *ledger = &cell->ledger;
    const struct attempts *attempts = &cell->attempts;
    int64_t ended = pgbench_ended(cell), other = ledger->failed - attempts->serialization - attempts->deadlock;
    fprintf(out, "%snumber of failed transactions: %lld (%.3f%%)\n", dash, (long long)ledger->failed,
            percent(ledger->failed, ended));
    if (options->failures_detailed) {
        fprintf(out, "%snumber of serialization failures: %lld (%.3f%%)\n", dash, (long long)attempts->serialization,
                percent(attempts->serialization, ended));
        fprintf(out, "%snumber of deadlock failures: %lld (%.3f%%)\n", dash, (long long)attempts->deadlock,
                percent(attempts->deadlock, ended));
        fprintf(out, "%snumber of other failures: %lld (%.3f%%)\n", dash, (long long)other, percent(other, ended));
    }
    if (options->max_tries != 1) {
        fprintf(out, "%snumber of transactions retried: %lld (%.3f%%)\n", dash, (long long)attempts->retried,
                percent(attempts->retried, ended));
        fprintf(out, "%stotal number of retries: %lld\n", dash, (long long)attempts->retries);
    }
    if (options->rate_per_s > 0 && options->latency_limit_ns > 0)
        fprintf(out, "%snumber of transactions skipped: %lld (%.3f%%)\n", dash, (long long)ledger->skipped,
                percent(ledger->skipped, ended));
}

/* One meaning: from the moment a transaction was due until it was completed. */
static void put_latency(FILE *out, const struct pgbench_cell *cell, const char *dash)
{
    if (cell->response.total == 0)
        return;
    double stddev_ns = hist_stddev(&cell->response);
    fprintf(out, "%slatency average = %.3f ms\n", dash, ms(hist_mean(&cell->response)));
    fprintf(out, "%slatency stddev = %.3f ms\n", dash, isnan(stddev_ns) ? 0 : ms(stddev_ns));
}

static void put_connections(FILE *out, const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    if (!total->options->connect)
        fprintf(out, "initial connection time = %.3f ms\n",
                ms((double)(result->connect_end_ns - result->connect_start_ns)));
    else if (result->connect != NULL && result->connect->total > 0)
        fprintf(out, "average connection time = %.3f ms\n", ms(hist_mean(result->connect)));
    fprintf(out, "tps = %f (%s)\n", pgbench_tps(total),
            total->options->connect ? "including reconnection times" : "without initial connection time");
}

static void put_whole(FILE *out, const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    const struct pgbench_cell *whole = &total->whole;
    put_failures(out, options, whole, "");
    if (options->latency_limit_ns > 0)
        fprintf(out, "number of transactions above the %.1f ms latency limit: %lld/%lld (%.3f%%)\n",
                ms((double)options->latency_limit_ns), (long long)whole->attempts.above_limit,
                (long long)whole->ledger.completed, percent(whole->attempts.above_limit, whole->ledger.completed));
    put_latency(out, whole, "");
    if (options->rate_per_s > 0 && whole->lateness.total > 0)
        fprintf(out, "rate limit schedule lag: avg %.3f (max %.3f) ms\n", ms(hist_mean(&whole->lateness)),
                ms((double)whole->lateness.max));
    put_connections(out, total);
}

static void put_commands(FILE *out, const struct pgbench_total *total, int script, const char *dash)
{
    bool has_retries = total->options->max_tries != 1;
    const struct program *program = total->options->scripts[script].program;
    fprintf(out, "%sstatement latencies in milliseconds%s:\n", dash,
            has_retries ? ", failures and retries" : " and failures");
    for (size_t s = 0; s < program->step_count; s++) {
        const struct step *step = &program->steps[s];
        if (step->number < 0)
            continue;
        const struct pgbench_cell *cell = &total->commands[script][step->number];
        fprintf(out, "   %11.3f  %10lld", cell->service.total == 0 ? 0 : ms(hist_mean(&cell->service)),
                (long long)cell->ledger.failed);
        if (has_retries)
            fprintf(out, "  %10lld", (long long)cell->attempts.retries);
        fprintf(out, "  %.*s\n", (int)strcspn(step->text, "\n"), step->text);
    }
}

static void put_script(FILE *out, const struct pgbench_total *total, int script, int64_t weight_sum)
{
    const struct pgbench_script *about = &total->options->scripts[script];
    const struct pgbench_cell *cell = &total->scripts[script];
    int64_t ended = pgbench_ended(cell);
    fprintf(out, "SQL script %d: %s\n", script + 1, about->title);
    fprintf(out, " - weight: %d (targets %.1f%% of total)\n", about->weight, percent(about->weight, weight_sum));
    fprintf(out, " - %lld transactions (%.1f%% of total)\n", (long long)ended,
            percent(ended, pgbench_ended(&total->whole)));
    if (ended == 0)
        return;
    fprintf(out, " - number of transactions actually processed: %lld (tps = %f)\n", (long long)cell->ledger.completed,
            pgbench_tps_of(total, cell));
    put_failures(out, total->options, cell, " - ");
    put_latency(out, cell, " - ");
}

static void put_scripts(FILE *out, const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    int64_t weight_sum = 0;
    for (int s = 0; s < options->script_count; s++)
        weight_sum += options->scripts[s].weight;
    bool is_each = options->script_count > 1;
    for (int s = 0; s < options->script_count; s++) {
        if (is_each)
            put_script(out, total, s, weight_sum);
        if (options->report_per_command)
            put_commands(out, total, s, is_each ? " - " : "");
    }
}

void pgbench_report(FILE *out, const struct pgbench_total *total)
{
    assert(total->options != NULL);
    put_settings(out, total);
    if (pgbench_ended(&total->whole) > 0) { /* else the lines would be of nothing */
        put_whole(out, total);
        put_scripts(out, total);
    }
    pgbench_report_own(out, total);
}
