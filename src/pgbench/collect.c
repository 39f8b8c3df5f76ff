/* Adding slices up, and what follows from the sums. */
#include "pgbench/collect_int.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

#define BUSY_FRAC 0.9 /* of a core: beyond it a worker has no time left for what becomes due */
#define FREE_FRAC 0.5 /* clients busy for less of the time than this were free when something became due */
#define LATE_NS (1.0 * (double)PL_NS_PER_MS) /* what a thread that wakes up as it should stays far below */

static void cell_init(struct pgbench_cell *cell)
{
    hist_init_latency(&cell->response);
    hist_init_latency(&cell->service);
    hist_init_latency(&cell->lateness);
}

static void cell_release(struct pgbench_cell *cell)
{
    hist_release(&cell->response);
    hist_release(&cell->service);
    hist_release(&cell->lateness);
}

void pgbench_total_init(struct pgbench_total *total, const struct pgbench_options *options)
{
    *total = (struct pgbench_total){.options = options, .server_version = ""};
    size_t count = (size_t)options->script_count;
    cell_init(&total->whole);
    total->ended_ns = pl_new((size_t)options->clients + 1, sizeof *total->ended_ns);
    total->scripts = pl_new(count, sizeof *total->scripts);
    for (size_t s = 0; s < count; s++)
        cell_init(&total->scripts[s]);
    if (!options->report_per_command)
        return;
    total->commands = pl_new(count, sizeof *total->commands);
    for (size_t s = 0; s < count; s++) {
        size_t commands = options->scripts[s].program->command_count;
        total->commands[s] = pl_new(commands + 1, sizeof **total->commands);
        for (size_t c = 0; c < commands; c++)
            hist_init_latency(&total->commands[s][c].service);
    }
}

void pgbench_total_release(struct pgbench_total *total)
{
    size_t count = total->options == NULL ? 0 : (size_t)total->options->script_count;
    for (size_t s = 0; s < count && total->commands != NULL; s++) {
        for (size_t c = 0; c < total->options->scripts[s].program->command_count; c++)
            hist_release(&total->commands[s][c].service);
        pl_free(total->commands[s]);
    }
    pl_free(total->commands);
    for (size_t s = 0; s < count; s++)
        cell_release(&total->scripts[s]);
    pl_free(total->scripts);
    cell_release(&total->whole);
    pl_free(total->ended_ns);
    *total = (struct pgbench_total){0};
}

static void hist_take(struct hist *into, const struct hist *from)
{
    if (from != NULL)
        hist_merge(into, from);
}

static void cell_add(struct pgbench_cell *cell, const struct slice *slice)
{
    ledger_add(&cell->ledger, &slice->ledger);
    attempts_add(&cell->attempts, &slice->attempts);
    if (slice->during == PHASE_MEASURE)
        cell->completed_in_window += slice->ledger.completed;
    hist_take(&cell->service, slice->service);
    if (slice->step >= 0)
        return;
    hist_take(&cell->response, slice->response);
    hist_take(&cell->lateness, slice->lateness);
}

void pgbench_total_add(struct pgbench_total *total, const struct slice *slice)
{
    if (slice->step < 0) {
        cell_add(&total->whole, slice);
        cell_add(&total->scripts[slice->script], slice);
    } else if (total->commands != NULL) {
        cell_add(&total->commands[slice->script][slice->step], slice);
    }
}

void pgbench_total_client_ended(struct pgbench_total *total, int64_t at_ns)
{
    assert(total->ended_count < total->options->clients);
    if (total->ended_count == 0 || at_ns < total->first_ended_ns)
        total->first_ended_ns = at_ns;
    total->ended_ns[total->ended_count++] = at_ns;
}

static double per_s(int64_t count, int64_t duration_ns)
{
    return duration_ns <= 0 ? 0 : (double)count * (double)PL_NS_PER_S / (double)duration_ns;
}

double pgbench_tps(const struct pgbench_total *total)
{
    return per_s(total->result.completed_in_window, total->result.window_ns);
}

double pgbench_tps_with_connecting(const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    if (total->options->connect || result->window_ns <= 0)
        return pgbench_tps(total);
    return per_s(result->completed_in_window, result->window_ns + result->connect_end_ns - result->connect_start_ns);
}

double pgbench_tps_of(const struct pgbench_total *total, const struct pgbench_cell *cell)
{
    return per_s(cell->completed_in_window, total->result.window_ns);
}

int64_t pgbench_ended(const struct pgbench_cell *cell)
{
    return cell->ledger.completed + cell->ledger.failed + cell->ledger.skipped;
}

double pgbench_covered_frac(const struct pgbench_total *total)
{
    const struct load_result *result = &total->result;
    const struct pgbench_options *options = total->options;
    if (total->ended_count == 0)
        return 1;
    if (options->duration_s == 0)
        return (double)pgbench_ended(&total->whole) / ((double)options->clients * (double)options->transactions);
    /* the window ends early when nobody is left; one that ended after it was there for all of it */
    int64_t asked_ns = total->was_interrupted ? result->window_ns : options->duration_s * PL_NS_PER_S;
    int64_t end_ns = result->measure_start_ns + asked_ns;
    double lost_ns = 0;
    for (int64_t i = 0; i < total->ended_count; i++)
        lost_ns += (double)(end_ns > total->ended_ns[i] ? end_ns - total->ended_ns[i] : 0);
    double all_ns = (double)asked_ns * (double)options->clients;
    return all_ns > 0 ? fmin(1, fmax(0, 1 - lost_ns / all_ns)) : 0;
}

bool pgbench_is_window_whole(const struct pgbench_total *total)
{
    const struct pgbench_options *options = total->options;
    if (!total->was_interrupted)
        return true;
    if (options->duration_s > 0)
        return total->result.window_ns >= options->duration_s * PL_NS_PER_S;
    return pgbench_ended(&total->whole) == options->clients * options->transactions;
}

/* Share of the window for which an average client was carrying a transaction out. */
static double clients_busy_frac(const struct pgbench_total *total)
{
    double busy_ns = (double)total->whole.service.sum;
    return busy_ns / ((double)total->result.window_ns * (double)total->options->clients);
}

bool pgbench_is_client_bound(const struct pgbench_total *total, double *ret_busy_frac, char *why, size_t why_size)
{
    const struct load_result *result = &total->result;
    double window_ns = (double)result->window_ns;
    *ret_busy_frac = 0;
    if (result->window_ns <= 0 || result->workers < 1) {
        snprintf(why, why_size, "nothing was measured");
        return false;
    }
    double busy = (double)result->window_cpu_ns / (window_ns * result->workers);
    *ret_busy_frac = busy;
    if (busy > BUSY_FRAC) {
        snprintf(why, why_size, "%s used %.1f %% of a core%s: more threads (-j) or another machine may give more",
                 result->workers == 1 ? "its one thread" : "its threads", 100 * busy, result->workers == 1 ? "" : " each");
        return true;
    }
    double late_ns = (double)hist_quantile(&total->whole.lateness, 0.5), clients_busy = clients_busy_frac(total);
    bool is_late =
        late_ns > LATE_NS && clients_busy < FREE_FRAC && !total->options->connect; /* connecting takes its time */
    if (total->options->rate_per_s > 0 && is_late) {
        snprintf(why, why_size,
                 "half of the transactions were sent more than %.3f ms late, and the clients were busy only %.0f %% of the "
                 "time",
                 late_ns / (double)PL_NS_PER_MS, 100 * clients_busy);
        return true;
    }
    snprintf(why, why_size, "%s had nothing to do for %.1f %% of the window",
             result->workers == 1 ? "its one thread" : "its threads", 100 * fmax(0, 1 - busy));
    return false;
}
