/* What pgbench does not say: the ledger, whole distributions, and what the figures are worth. */
#include "pgbench/output_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

#include "base/ban.h"

#define TOLD_SKIPPED_FRAC 0.01 /* from here on it is said what skipping does to the latencies */
#define TOLD_RATE_FRAC 0.02    /* an offered rate that is farther than this from the asked one is told */
#define TOLD_GAP_NS (300 * PL_NS_PER_MS)

static double ms(double ns)
{
    return ns / (double)PL_NS_PER_MS;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)PL_NS_PER_S;
}

static double percent(int64_t part, int64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

const char *pgbench_why_nothing(const struct pgbench_total *total, char *buf, size_t size)
{
    const struct ledger *ledger = &total->whole.ledger;
    int64_t ended_early = total->result.clients_ended_early;
    if (ended_early > 0 && ended_early == total->options->clients)
        snprintf(buf, size, "%s ended early", ended_early == 1 ? "the client" : "all clients");
    else if (!pgbench_is_window_whole(total))
        snprintf(buf, size, "the run was interrupted before");
    else if (ledger->due == 0)
        snprintf(buf, size, "none became due");
    else if (ledger->failed > 0 && ledger->failed == ledger->due)
        snprintf(buf, size, "all that were due failed (%lld)", (long long)ledger->failed);
    else if (ledger->skipped > 0 && ledger->skipped == ledger->due)
        snprintf(buf, size, "all that were due were later than the latency limit before they could start (%lld)",
                 (long long)ledger->skipped);
    else
        snprintf(buf, size, "of %lld that were due, %lld failed, %lld were skipped and %lld did not end",
                 (long long)ledger->due, (long long)ledger->failed, (long long)ledger->skipped,
                 (long long)ledger->unfinished);
    return buf;
}

static void put_ledger(FILE *out, const struct pgbench_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    fprintf(out,
            "transactions due: %lld = %lld completed + %lld failed + %lld skipped + %lld unfinished (%lld of them never "
            "started)\n",
            (long long)ledger->due, (long long)ledger->completed, (long long)ledger->failed, (long long)ledger->skipped,
            (long long)ledger->unfinished, (long long)ledger->never_started);
    const struct load_result *result = &total->result;
    fprintf(out, "measured window: %.3f s, begun when all clients %s; %lld completed inside it, %lld after its end\n",
            seconds(result->window_ns), total->options->connect ? "were ready" : "were connected",
            (long long)result->completed_in_window, (long long)(ledger->completed - result->completed_in_window));
}

static void put_distribution(FILE *out, const char *name, const struct hist *hist)
{
    static const double quantiles[] = {0, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
    fprintf(out, "%-14s %11lld", name, (long long)hist->total);
    for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++)
        fprintf(out, " %10.3f", ms((double)hist_quantile(hist, quantiles[q])));
    fputc('\n', out);
}

static void put_distributions(FILE *out, const struct pgbench_total *total)
{
    const struct pgbench_cell *whole = &total->whole;
    if (whole->response.total == 0)
        return;
    fprintf(out, "%-14s %11s %10s %10s %10s %10s %10s %10s %10s\n", "", "count", "min", "p50", "p90", "p95", "p99", "p99.9",
            "max");
    put_distribution(out, "response (ms)", &whole->response);
    put_distribution(out, "service (ms)", &whole->service);
    put_distribution(out, "lateness (ms)", &whole->lateness);
    if (total->result.connect != NULL)
        put_distribution(out, "connect (ms)", total->result.connect);
}

static void put_client(FILE *out, const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    char why[300];
    double busy_frac;
    bool is_bound = pgbench_is_client_bound(total, &busy_frac, why, sizeof why);
    int64_t ended = pgbench_ended(&total->whole) - total->whole.ledger.skipped;
    if (ended > 0)
        fprintf(out, "client CPU: %.1f us a transaction, %.1f %% of a core in %s\n",
                (double)result->cpu_ns / (double)PL_NS_PER_US / (double)ended, 100 * busy_frac,
                result->workers == 1 ? "its one thread" : "each thread");
    fprintf(out, "client-bound: %s (%s)\n", is_bound ? "yes" : "no", why);
    if (result->longest_gap_ns > TOLD_GAP_NS)
        fprintf(out, "a thread of the client did not get to run for %.3f s: what was measured then is the client's doing\n",
                seconds(result->longest_gap_ns));
}

static void put_ended_early(FILE *out, const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    if (result->clients_ended_early == 0)
        return;
    fprintf(out, "%lld of %lld clients ended early", (long long)result->clients_ended_early,
            (long long)total->options->clients);
    if (total->ended_count > 0)
        fprintf(out, ", the first %.3f s after the start", seconds(total->first_ended_ns - result->warm_up_start_ns));
    fprintf(out, ": the figures cover %.1f %% of %s\n", 100 * pgbench_covered_frac(total),
            total->options->duration_s > 0 ? "the clients' time" : "the transactions asked for");
}

/* A Poisson process offers more or less than its mean, and the less time there is the farther from it. */
static void put_rate(FILE *out, const struct pgbench_total *total)
{
    double asked_per_s = total->options->rate_per_s, window_s = seconds(total->result.window_ns);
    if (asked_per_s <= 0 || window_s <= 0)
        return;
    double offered_per_s = (double)total->whole.ledger.due / window_s;
    if (fabs(offered_per_s - asked_per_s) > TOLD_RATE_FRAC * asked_per_s)
        fprintf(out, "rate: %.1f/s were asked for, %.1f/s were offered (%lld due in %.3f s)\n", asked_per_s, offered_per_s,
                (long long)total->whole.ledger.due, window_s);
}

static void put_backlog(FILE *out, const struct pgbench_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    if (total->options->rate_per_s > 0 && ledger->never_started > 0)
        fprintf(out,
                "backlog: %lld of %lld transactions due (%.1f %%) were never started, because no client was free for them; "
                "the latencies are those of the others\n",
                (long long)ledger->never_started, (long long)ledger->due, percent(ledger->never_started, ledger->due));
    if (ledger->skipped == 0)
        return;
    fprintf(out, "skipped: %lld of %lld transactions due (%.1f %%) were never sent, because they were too late already",
            (long long)ledger->skipped, (long long)ledger->due, percent(ledger->skipped, ledger->due));
    if ((double)ledger->skipped > TOLD_SKIPPED_FRAC * (double)ledger->due)
        fputs("; so the latencies of the others stay near the limit and say little about the server", out);
    fputc('\n', out);
}

/* Every transaction of the builtin tpcb-like updates one of so few rows. */
static void put_contention(FILE *out, const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    bool is_used = false;
    for (int s = 0; s < options->script_count; s++)
        is_used = is_used || (options->scripts[s].builtin != NULL && options->scripts[s].weight > 0 &&
                              strcmp(options->scripts[s].builtin, "tpcb-like") == 0);
    if (is_used && options->clients > total->data.scale)
        fprintf(out, "contention: %lld clients update %lld row%s of pgbench_branches: they wait for one another's locks\n",
                (long long)options->clients, (long long)total->data.scale, total->data.scale == 1 ? "" : "s");
}

/* Is the first word of a command one of these? */
static bool begins_with(const struct step *step, const char *const *words)
{
    const char *text = step->text + strspn(step->text, " \t\r\n");
    size_t length = strcspn(text, " \t\r\n;\\");
    for (; *words != NULL; words++)
        if (strlen(*words) == length && strncasecmp(text, *words, length) == 0)
            return true;
    return false;
}

/* Does a script, carried out from its beginning to its end, commit something before its last command? */
static bool commits_before_end(const struct program *program)
{
    static const char *const begins[] = {"begin", "start", NULL}, *const ends[] = {"commit", "end", "rollback", "abort",
                                                                                   NULL};
    bool in_block = false, in_pipeline = false, has_committed = false;
    for (size_t s = 0; s < program->step_count; s++) {
        const struct step *step = &program->steps[s];
        if (step->kind == STEP_START_PIPELINE) {
            in_pipeline = true;
        } else if (step->kind == STEP_SYNC_PIPELINE || step->kind == STEP_END_PIPELINE) {
            in_pipeline = step->kind == STEP_SYNC_PIPELINE;
            has_committed = has_committed || !in_block;
        } else if (step->kind == STEP_SQL && has_committed) {
            return true;
        } else if (step->kind == STEP_SQL && begins_with(step, begins)) {
            in_block = true;
        } else if (step->kind == STEP_SQL && begins_with(step, ends)) {
            in_block = false;
            has_committed = true;
        } else if (step->kind == STEP_SQL && !in_block && !in_pipeline) {
            has_committed = true;
        }
    }
    return false;
}

static void put_repeated_commits(FILE *out, const struct pgbench_total *total)
{
    int64_t retries = 0;
    for (int s = 0; s < total->options->script_count; s++)
        if (commits_before_end(total->options->scripts[s].program))
            retries += total->scripts[s].attempts.retries;
    if (retries > 0)
        fprintf(
            out,
            "retries: %lld tries began a script again that commits before its last command: what it had committed by then "
            "was done more than once\n",
            (long long)retries);
}

static void put_interruption(FILE *out, const struct pgbench_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    if (!total->was_interrupted)
        return;
    if (pgbench_is_window_whole(total))
        fprintf(
            out,
            "the run was interrupted after the measured window, which is complete: transactions under way that were cut "
            "off: %lld\n",
            (long long)(ledger->unfinished - ledger->never_started));
    else
        fprintf(out, "the run was interrupted after %.3f s: the figures cover that time\n",
                seconds(total->result.window_ns));
}

void pgbench_report_own(FILE *out, const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    char why[300];
    fputs("\nPlimsoll's figures:\n", out);
    put_ledger(out, total);
    if (total->whole.ledger.completed == 0)
        fprintf(out, "no transaction was completed: %s\n", pgbench_why_nothing(total, why, sizeof why));
    put_distributions(out, total);
    put_client(out, total);
    put_ended_early(out, total);
    put_rate(out, total);
    put_backlog(out, total);
    put_contention(out, total);
    put_repeated_commits(out, total);
    put_interruption(out, total);
    if (result->log_wait_ns > 0)
        fprintf(out, "threads stood still for %.3f s in all, because the log could not be written as fast\n",
                seconds(result->log_wait_ns));
    if (result->notices_missed > 0)
        fprintf(out, "messages of failures that are not shown: %lld\n", (long long)result->notices_missed);
}
