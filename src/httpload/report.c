/* What was asked for, what happened, how long it took; then the rows of scripts, requests and tenants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "httpload/figures_int.h"
#include "httpload/output_int.h"
#include "httpload/say_int.h"

#include "base/ban.h"

enum { NAME_BYTES = 200, GROUPS_SHOWN = 20, CELL_BYTES = HTTPLOAD_FIGURE_BYTES + 4 };

#define WAIT_TOLD_NS PL_NS_PER_MS

static double seconds(int64_t ns)
{
    return (double)ns / (double)PL_NS_PER_S;
}

/* ---- rows of latencies ---- */

void httpload_put_latency_head(FILE *out, const char *title)
{
    static const char *const columns[] = {"mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max"};
    fprintf(out, "%-14s %10s", title, "n");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        fprintf(out, " %12s", columns[i]);
    fputc('\n', out);
}

static void put_cell(FILE *out, double ns, bool at_least)
{
    char text[CELL_BYTES], figure[HTTPLOAD_FIGURE_BYTES];
    snprintf(text, sizeof text, "%s%s", at_least ? ">= " : "", httpload_figure_ms(figure, sizeof figure, ns));
    fprintf(out, " %12s", text);
}

void httpload_put_latency(FILE *out, const char *name, const struct hist *ended, const struct hist *censored)
{
    const struct httpload_latency latency = httpload_latency_of(ended, censored);
    fprintf(out, "%-14s %10lld", name, (long long)latency.count);
    if (latency.count > 0) {
        put_cell(out, latency.mean_ns, latency.mean_at_least);
        for (int i = 0; i < HTTPLOAD_QUANTILES; i++)
            put_cell(out, (double)latency.ns[i], latency.at_least[i]);
    }
    fputc('\n', out);
}

/* ---- what was asked for ---- */

static void put_asked(FILE *out, const struct httpload_total *total)
{
    const struct httpload_options *options = total->options;
    char time[32], warm_up[32], rate[HTTPLOAD_FIGURE_BYTES];
    httpload_figure(rate, sizeof rate, total->rate_per_s);
    fprintf(out, "asked: ");
    if (total->rate_per_s > 0 && options->session_operations > 0)
        fprintf(out, "%s users/s (%s), each %.10g operations%s, at most %lld at a time", rate,
                options->constant ? "constant" : "Poisson", options->session_operations,
                options->session_geometric ? " in the mean" : "", (long long)options->clients);
    else if (total->rate_per_s > 0)
        fprintf(out, "%s/s (%s), at most %lld at a time", rate, options->constant ? "constant" : "Poisson",
                (long long)options->clients);
    else
        fprintf(out, "%lld client%s, each as fast as it is answered", (long long)options->clients,
                options->clients == 1 ? "" : "s");
    int64_t window_ns = options->find_text != NULL ? options->step_ns : options->duration_ns;
    if (window_ns > 0)
        fprintf(out, ", for %s", pl_num_text_ns(time, sizeof time, (double)window_ns));
    else
        fprintf(out, ", %lld operations", (long long)options->operations);
    if (options->warm_up_ns > 0)
        fprintf(out, " after %s of warm-up", pl_num_text_ns(warm_up, sizeof warm_up, (double)options->warm_up_ns));
    fprintf(out, "; seed %llu\n", (unsigned long long)total->seed);
}

static void put_title(FILE *out, const struct httpload_total *total)
{
    const struct httpload_options *options = total->options;
    fprintf(out, "plimsoll http %s:", PLIMSOLL_VERSION);
    for (int s = 0; s < options->script_count; s++) {
        fprintf(out, "%s %s", s > 0 ? "," : "", httpload_clean(total->arena, options->scripts[s].title, NAME_BYTES, false));
        if (options->script_count > 1)
            fprintf(out, " (weight %d)", options->scripts[s].weight);
    }
    if (options->tenants != NULL)
        fprintf(out, "; %zu tenants", options->tenants->row_count);
    fputc('\n', out);
}

/* ---- what happened ---- */

static void put_ledger(FILE *out, const struct ledger *ledger)
{
    fprintf(out,
            "due %lld = %lld completed + %lld failed + %lld skipped + %lld expired + %lld unfinished (%lld of them never "
            "started)\n",
            (long long)ledger->due, (long long)ledger->completed, (long long)ledger->failed, (long long)ledger->skipped,
            (long long)ledger->expired, (long long)ledger->unfinished, (long long)ledger->never_started);
}

static void put_rates(FILE *out, const struct httpload_total *total)
{
    const struct load_result *result = &total->result;
    char asked[HTTPLOAD_FIGURE_BYTES], due[HTTPLOAD_FIGURE_BYTES], completed[HTTPLOAD_FIGURE_BYTES];
    fputs("rate: ", out);
    if (total->rate_per_s > 0)
        fprintf(out, "%s%s/s asked, %s/s due, ", httpload_figure(asked, sizeof asked, total->rate_per_s),
                total->options->session_operations > 0 ? " users" : "",
                httpload_figure(due, sizeof due, httpload_due_per_s(total)));
    fprintf(out, "%s/s completed\n", httpload_figure(completed, sizeof completed, httpload_completed_per_s(total)));
    fprintf(
        out,
        "time: %.3f s measured, then %.3f s until nothing was under way; %lld completed inside the first, %lld after it\n",
        seconds(result->window_ns), result->measure_end_ns > 0 ? seconds(result->drain_end_ns - result->measure_end_ns) : 0,
        (long long)total->whole.completed_in_window,
        (long long)(total->whole.ledger.completed - total->whole.completed_in_window));
}

static const char *why_nothing(const struct httpload_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    if (total->was_interrupted)
        return "the run was interrupted before";
    if (ledger->due == 0)
        return "nothing became due";
    if (ledger->failed == ledger->due)
        return "all failed";
    if (ledger->never_started == ledger->due)
        return "none could be started";
    return ledger->expired + ledger->unfinished == ledger->due ? "none was answered in time"
                                                               : "what was due failed or was not answered";
}

/* Operations that were due waited for one of the clients to become free: from due to sent it took longer than the load's
 * own lateness and opening a connection together can explain. */
static void put_waiting(FILE *out, const struct httpload_total *total)
{
    const struct hist *wait = &total->whole.lateness;
    const struct load_result *result = &total->result;
    char half[HTTPLOAD_FIGURE_BYTES], most[HTTPLOAD_FIGURE_BYTES];
    if (total->rate_per_s <= 0 || wait->total == 0 || result->self == NULL)
        return;
    int64_t wait_ns = hist_quantile(wait, 0.99), explained_ns = hist_quantile(&result->self->lateness, 0.99);
    if (result->http != NULL) {
        const struct http_stats *stats = &result->http->measured;
        explained_ns += stats->connect.max + stats->tls.max + stats->blocked_wait.max;
    }
    if (wait_ns > WAIT_TOLD_NS && wait_ns > 2 * explained_ns)
        fprintf(out,
                "all %lld clients were busy: half of the operations waited for a free one for %s ms or longer, 1 %% for %s "
                "ms or longer; the server does not keep up, or -c is too small for it\n",
                (long long)total->options->clients, httpload_figure_ms(half, sizeof half, (double)hist_quantile(wait, 0.5)),
                httpload_figure_ms(most, sizeof most, (double)wait_ns));
}

static void put_warnings(FILE *out, const struct httpload_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    if (ledger->completed == 0)
        fprintf(out, "nothing was completed: %s\n", why_nothing(total));
    put_waiting(out, total);
    if (total->was_interrupted)
        fprintf(out, "the run was interrupted after %.3f s: the figures cover that time\n",
                seconds(total->result.window_ns));
    if (total->rate_per_s > 0 && ledger->never_started > 0)
        fprintf(out,
                "backlog: %lld operations (%.1f %% of those due) found no client free until the end; more clients (-c) "
                "help only if the server can take them\n",
                (long long)ledger->never_started, 100.0 * (double)ledger->never_started / (double)ledger->due);
}

static void put_http_latencies(FILE *out, const struct http_stats *stats)
{
    const struct {
        const char *name;
        const struct hist *hist;
    } rows[] = {{"first byte", &stats->first_byte},
                {"connect", &stats->connect},
                {"TLS", &stats->tls},
                {"blocked", &stats->blocked_wait},
                {"100-continue", &stats->continue_wait}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].hist->total > 0)
            httpload_put_latency(out, rows[i].name, rows[i].hist, NULL);
}

static void put_latencies(FILE *out, const struct httpload_total *total)
{
    const struct httpload_cell *whole = &total->whole;
    fputc('\n', out);
    httpload_put_latency_head(out, "ms");
    httpload_put_latency(out, "response", &whole->response, &whole->censored);
    httpload_put_latency(out, "service", &whole->service, NULL);
    if (total->rate_per_s > 0 && whole->lateness.total > 0)
        httpload_put_latency(out, "due to sent", &whole->lateness, NULL);
    if (total->result.http != NULL)
        put_http_latencies(out, &total->result.http->measured);
    if (whole->censored.total > 0)
        fprintf(out, "%lld without an answer count in the response as at least so long: \">=\" is a lower bound\n",
                (long long)whole->censored.total);
}

/* ---- parts ---- */

static void put_step(FILE *out, const struct httpload_total *total, const struct step *step,
                     const struct httpload_step *sums)
{
    fprintf(out, "  %d %s\n", step->io_index + 1, httpload_clean(total->arena, step->text, NAME_BYTES, false));
    fprintf(out, "    answered %lld, failed %lld, expired %lld, tried again %lld\n", (long long)sums->completed,
            (long long)sums->failed, (long long)sums->expired, (long long)sums->retries);
    httpload_put_latency(out, "    service", &sums->service, &sums->censored);
}

static void put_script(FILE *out, const struct httpload_total *total, int script)
{
    const struct httpload_script *about = &total->options->scripts[script];
    const struct httpload_cell *cell = &total->scripts[script];
    const struct program *program = about->program;
    fprintf(out, "\n%s (weight %d)\n", httpload_clean(total->arena, about->title, NAME_BYTES, false), about->weight);
    if (total->options->script_count > 1) {
        fputs("  ", out);
        put_ledger(out, &cell->ledger);
        httpload_put_latency_head(out, "  ms");
        httpload_put_latency(out, "  response", &cell->response, &cell->censored);
        httpload_put_latency(out, "  service", &cell->service, NULL);
    } else {
        httpload_put_latency_head(out, "  ms");
    }
    for (size_t i = 0; i < program->step_count; i++)
        if (program->steps[i].io_index >= 0)
            put_step(out, total, &program->steps[i], &total->steps[script][program->steps[i].io_index]);
}

static void put_scripts(FILE *out, const struct httpload_total *total)
{
    const struct httpload_options *options = total->options;
    bool is_one_request = options->script_count == 1 && options->scripts[0].program->io_step_count == 1;
    for (int s = 0; s < options->script_count && !is_one_request; s++)
        put_script(out, total, s);
}

static void put_group(FILE *out, const struct httpload_total *total, size_t group)
{
    const struct feed_group *about = &total->options->tenants->groups[group];
    const struct httpload_cell *cell = &total->groups[group];
    const char *name = about->name[0] == '\0' ? "(all)" : httpload_clean(total->arena, about->name, 30, false);
    const struct httpload_latency latency = httpload_latency_of(&cell->response, &cell->censored);
    fprintf(out, "  %-30s %8zu %10lld %10lld %10lld %10lld", name, about->row_count, (long long)cell->ledger.due,
            (long long)cell->ledger.completed, (long long)cell->ledger.failed,
            (long long)(cell->ledger.expired + cell->ledger.unfinished));
    if (latency.count > 0) {
        put_cell(out, (double)latency.ns[1], latency.at_least[1]);
        put_cell(out, (double)latency.ns[4], latency.at_least[4]);
        put_cell(out, (double)latency.ns[6], latency.at_least[6]);
    }
    fputc('\n', out);
}

static void put_groups(FILE *out, const struct httpload_total *total)
{
    const struct feed *tenants = total->options->tenants;
    if (tenants == NULL || (tenants->group_count == 1 && tenants->groups[0].name[0] == '\0')) /* that is the whole again */
        return;
    fprintf(out, "\n  %-30s %8s %10s %10s %10s %10s %12s %12s %12s\n", "group of tenants", "tenants", "due", "completed",
            "failed", "no answer", "p50 ms", "p99 ms", "max ms");
    for (size_t g = 0; g < tenants->group_count && g < GROUPS_SHOWN; g++)
        put_group(out, total, g);
    if (tenants->group_count > GROUPS_SHOWN)
        fprintf(out, "  and %zu more groups: --json has them\n", tenants->group_count - GROUPS_SHOWN);
}

void httpload_report(FILE *out, const struct httpload_total *total)
{
    put_title(out, total);
    put_asked(out, total);
    fputc('\n', out);
    put_ledger(out, &total->whole.ledger);
    put_rates(out, total);
    put_warnings(out, total);
    put_latencies(out, total);
    put_scripts(out, total);
    put_groups(out, total);
    httpload_report_http(out, total);
}
