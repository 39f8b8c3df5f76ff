/* The second half of the report: the protocol, what went wrong, the load's own health, objectives; and the last line. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "httpload/figures_int.h"
#include "httpload/output_int.h"
#include "httpload/say_int.h"

#include "base/ban.h"

enum { EXAMPLE_BYTES = 300, STATUS_FIRST = 100, STATUS_END = 600, ADDRESSES_SHOWN = 16 };

/* ---- the protocol ---- */

static void put_statuses(FILE *out, const struct http_stats *stats)
{
    fputs("status:", out);
    for (int begin = STATUS_FIRST; begin < STATUS_END; begin += 100) {
        int64_t sum = 0;
        for (int status = begin; status < begin + 100; status++)
            sum += stats->statuses[status];
        if (sum == 0)
            continue;
        fprintf(out, "  %dxx %lld (", begin / 100, (long long)sum);
        bool is_first = true;
        for (int status = begin; status < begin + 100; status++)
            if (stats->statuses[status] > 0) {
                fprintf(out, "%s%d: %lld", is_first ? "" : ", ", status, (long long)stats->statuses[status]);
                is_first = false;
            }
        fputc(')', out);
    }
    if (stats->other_statuses > 0)
        fprintf(out, "  others %lld", (long long)stats->other_statuses);
    if (stats->answers == 0)
        fputs("  no answer", out);
    fputc('\n', out);
}

static void put_connections(FILE *out, const struct load_http_result *http)
{
    const struct http_stats *stats = &http->measured, *before = &http->warm_up;
    char received[24], sent[24], body[24];
    fprintf(out, "requests: %lld sent, %lld answered; %lld redirects followed, %lld sent again on a new connection\n",
            (long long)stats->requests, (long long)stats->answers, (long long)http->redirects, (long long)stats->retries);
    fprintf(out, "bytes: %s received (%s of bodies), %s sent\n",
            pl_num_text_bytes(received, sizeof received, (double)stats->received_bytes),
            pl_num_text_bytes(body, sizeof body, (double)stats->body_bytes),
            pl_num_text_bytes(sent, sizeof sent, (double)stats->sent_bytes));
    fprintf(out,
            "connections: %lld opened (%lld before the measured time), %lld failed, %lld closed unannounced, %lld given "
            "to other hosts\n",
            (long long)(stats->connections_opened + before->connections_opened), (long long)before->connections_opened,
            (long long)(stats->connections_failed + before->connections_failed),
            (long long)stats->connections_closed_by_peer, (long long)stats->connections_evicted);
    if (stats->exchanges_per_connection.total > 0)
        fprintf(out, "requests per connection: mean %.1f, min %lld, p50 %lld, max %lld\n",
                hist_mean(&stats->exchanges_per_connection), (long long)stats->exchanges_per_connection.min,
                (long long)hist_quantile(&stats->exchanges_per_connection, 0.5),
                (long long)stats->exchanges_per_connection.max);
    int64_t full = stats->handshakes_full + before->handshakes_full,
            resumed = stats->handshakes_resumed + before->handshakes_resumed;
    if (full + resumed > 0)
        fprintf(out, "TLS handshakes: %lld full, %lld resumed\n", (long long)full, (long long)resumed);
    if (stats->blocked > 0)
        fprintf(out, "blocked: %lld requests waited for a connection of the budget\n", (long long)stats->blocked);
}

static void put_addresses(FILE *out, const struct httpload_total *total)
{
    const struct load_http_result *http = total->result.http;
    if (http->address_count < 2)
        return;
    fputs("addresses:\n", out);
    for (size_t i = 0; i < http->address_count && i < ADDRESSES_SHOWN; i++)
        fprintf(out, "  %-40s %lld opened, %lld failed\n", httpload_clean(total->arena, http->addresses[i].text, 79, false),
                (long long)http->addresses[i].opened, (long long)http->addresses[i].failed);
    if (http->address_count > ADDRESSES_SHOWN)
        fprintf(out, "  and %zu more: --json has them\n", http->address_count - ADDRESSES_SHOWN);
}

/* ---- what went wrong ---- */

static void put_faults(FILE *out, const struct httpload_total *total)
{
    if (total->fault_count == 0)
        return;
    fprintf(out, "\n%-28s %10s  %s\n", "faults", "count", "first example");
    for (size_t i = 0; i < total->fault_count; i++) {
        const struct httpload_fault *fault = &total->faults[i];
        fprintf(out, "%-28s %10lld  at %.3f s: %s", httpload_clean(total->arena, fault->code, 60, false),
                (long long)fault->count, (double)fault->first_ns / (double)PL_NS_PER_S,
                httpload_clean(total->arena, fault->example, EXAMPLE_BYTES, false));
        if (fault->before_window > 0)
            fprintf(out, " (%lld of them in the warm-up)", (long long)fault->before_window);
        fputc('\n', out);
    }
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* What may be meant, for faults of a wrong command line rather than of a server. */
static const char *advice(const struct httpload_total *total, const char *code)
{
    const struct httpload_options *options = total->options;
    bool is_all = total->whole.ledger.completed == 0;
    if (strcmp(code, "tls:CERTIFICATE") == 0)
        return "--cacert FILE trusts the authority that signed it; --insecure verifies nothing";
    if (strcmp(code, "tls:HANDSHAKE") == 0 && is_all)
        return "does the server speak TLS there? http:// goes without";
    if (strcmp(code, "check:STATUS") == 0 && options->url != NULL)
        return "without a Hurl file a status of 400 or above is a failure; --any-status takes each for good";
    if (begins_with(code, "head:") && is_all && options->http2 && options->url != NULL &&
        begins_with(options->url, "http://"))
        return "does the server speak HTTP/2 without TLS? --http2 takes that for granted there";
    return NULL;
}

static void put_advice(FILE *out, const struct httpload_total *total)
{
    for (size_t i = 0; i < total->fault_count; i++) {
        const char *text = advice(total, total->faults[i].code);
        if (text != NULL)
            fprintf(out, "%s: %s\n", httpload_clean(total->arena, total->faults[i].code, 60, false), text);
    }
}

/* ---- the load's own health ---- */

static void put_gaps(FILE *out, const struct load_self *self)
{
    if (isfinite(self->gap_cv) && isfinite(self->gap_cv_asked))
        fprintf(out, "gaps between starts: coefficient of variation %.3f, of the schedule %.3f\n", self->gap_cv,
                self->gap_cv_asked);
}

static void put_client(FILE *out, const struct httpload_total *total)
{
    const struct load_result *result = &total->result;
    const struct ledger *ledger = &total->whole.ledger;
    int64_t started = ledger->due - ledger->skipped - ledger->never_started;
    char half[HTTPLOAD_FIGURE_BYTES], most[HTTPLOAD_FIGURE_BYTES], all[HTTPLOAD_FIGURE_BYTES];
    fputs("\nthe load itself:\n", out);
    if (result->self != NULL) {
        const struct hist *late = &result->self->lateness;
        if (late->total > 0)
            fprintf(out, "own lateness: p50 %s ms, p99 %s ms, max %s ms, of %lld starts\n",
                    httpload_figure_ms(half, sizeof half, (double)hist_quantile(late, 0.5)),
                    httpload_figure_ms(most, sizeof most, (double)hist_quantile(late, 0.99)),
                    httpload_figure_ms(all, sizeof all, (double)late->max), (long long)late->total);
        put_gaps(out, result->self);
        fprintf(out, "CPU: %.1f %% of a core in the busiest of %d thread%s", 100 * result->self->busiest_frac,
                result->workers, result->workers == 1 ? "" : "s");
        if (started > 0)
            fprintf(out, ", %.1f us an operation", (double)result->window_cpu_ns / (double)PL_NS_PER_US / (double)started);
        fprintf(out, "; %s\n", result->event_loop);
    }
    fprintf(out, "the client was the limit: %s%s\n", total->mark != NULL ? "yes: " : "no",
            total->mark != NULL ? total->mark : "");
}

/* ---- objectives ---- */

static void put_value(FILE *out, const struct objective_term *term, double value, bool at_least)
{
    const char *bound = at_least ? ">= " : "";
    char text[HTTPLOAD_FIGURE_BYTES];
    switch (term->measure) {
    case OBJECTIVE_QUANTILE:
    case OBJECTIVE_MEAN:
        fprintf(out, "%s%s ms", bound, httpload_figure_ms(text, sizeof text, value));
        return;
    case OBJECTIVE_ERRORS:
        fprintf(out, "%s %%", httpload_figure(text, sizeof text, 100 * value));
        return;
    case OBJECTIVE_RATE:
        fprintf(out, "%s/s", httpload_figure(text, sizeof text, value));
        return;
    case OBJECTIVE_COUNT:
        break;
    }
    fprintf(out, "%.0f", value);
}

static void put_objective(FILE *out, const struct httpload_total *total, const struct httpload_objective *objective)
{
    static const char *const words[] = {
        [OBJECTIVE_HOLDS] = "true", [OBJECTIVE_FAILS] = "false", [OBJECTIVE_NO_DATA] = "no data"};
    const struct objective_view view = httpload_view(total);
    fprintf(out, "%s %s: %s", objective->is_fail_if ? "fail if" : "threshold",
            httpload_clean(total->arena, objective->objective.text, EXAMPLE_BYTES, false),
            httpload_verdict_name(httpload_judge(total, objective)));
    for (size_t i = 0; i < objective->objective.term_count; i++) {
        const struct objective_term *term = &objective->objective.terms[i];
        double value;
        bool at_least;
        enum objective_verdict verdict = objective_judge_term(term, &view, &value, &at_least);
        fprintf(out, "%s%s is %s", i == 0 ? " (" : ", ", httpload_clean(total->arena, term->text, EXAMPLE_BYTES, false),
                words[verdict]);
        if (verdict != OBJECTIVE_NO_DATA || at_least) {
            fputs(": ", out);
            put_value(out, term, value, at_least);
        }
    }
    fputs(")\n", out);
}

void httpload_report_http(FILE *out, const struct httpload_total *total)
{
    fputc('\n', out);
    if (total->result.http != NULL) {
        put_statuses(out, &total->result.http->measured);
        put_connections(out, total->result.http);
        put_addresses(out, total);
    }
    put_faults(out, total);
    put_advice(out, total);
    put_client(out, total);
    for (size_t i = 0; i < total->options->objective_count; i++) {
        fputs(i == 0 ? "\n" : "", out);
        put_objective(out, total, &total->options->objectives[i]);
    }
}

void httpload_report_last(FILE *out, const struct httpload_total *total, const struct httpload_find *find,
                          enum httpload_exit exit_code)
{
    const struct ledger *ledger = &total->whole.ledger;
    const struct httpload_latency latency = httpload_latency_of(&total->whole.response, &total->whole.censored);
    char rate[HTTPLOAD_FIGURE_BYTES];
    fprintf(
        out,
        "plimsoll-http: verdict=%s exit=%d due=%lld completed=%lld failed=%lld skipped=%lld expired=%lld unfinished=%lld "
        "never_started=%lld rate_per_s=%s",
        httpload_verdict(total), (int)exit_code, (long long)ledger->due, (long long)ledger->completed,
        (long long)ledger->failed, (long long)ledger->skipped, (long long)ledger->expired, (long long)ledger->unfinished,
        (long long)ledger->never_started, httpload_figure_plain(rate, sizeof rate, httpload_completed_per_s(total)));
    if (latency.count > 0)
        fprintf(out, " p50_ms=%.3f p99_ms=%.3f p99_at_least=%s", (double)latency.ns[1] / (double)PL_NS_PER_MS,
                (double)latency.ns[4] / (double)PL_NS_PER_MS, latency.at_least[4] ? "yes" : "no");
    if (find != NULL)
        fprintf(out, " search=%s max_rate_per_s=%s", httpload_find_end_name(find),
                httpload_figure_plain(rate, sizeof rate, find->search.last_pass));
    fprintf(out, " client_limit=%s\n", total->mark != NULL ? "yes" : "no");
}
