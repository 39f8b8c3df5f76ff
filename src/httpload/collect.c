/* Adding slices up, and what follows from the sums. */
#include "httpload/collect_int.h"

#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

const double httpload_quantiles[HTTPLOAD_QUANTILES] = {0, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
const char *const httpload_quantile_names[HTTPLOAD_QUANTILES] = {"min", "p50", "p90", "p95", "p99", "p99_9", "max"};

static void cell_init(struct httpload_cell *cell)
{
    hist_init_latency(&cell->response);
    hist_init_latency(&cell->service);
    hist_init_latency(&cell->lateness);
    hist_init_latency(&cell->censored);
}

static void cell_release(struct httpload_cell *cell)
{
    hist_release(&cell->response);
    hist_release(&cell->service);
    hist_release(&cell->lateness);
    hist_release(&cell->censored);
}

static struct httpload_cell *cells_new(size_t count)
{
    struct httpload_cell *cells = pl_new(count + 1, sizeof *cells);
    for (size_t i = 0; i < count; i++)
        cell_init(&cells[i]);
    return cells;
}

static size_t group_count(const struct httpload_options *options)
{
    return options->tenants == NULL ? 0 : options->tenants->group_count;
}

void httpload_total_init(struct httpload_total *total, const struct httpload_options *options, double rate_per_s)
{
    size_t count = (size_t)options->script_count;
    *total = (struct httpload_total){
        .options = options, .rate_per_s = rate_per_s, .seed = options->seed, .arena = pl_arena_new()};
    cell_init(&total->whole);
    total->scripts = cells_new(count);
    if (group_count(options) > 0)
        total->groups = cells_new(group_count(options));
    total->steps = pl_new(count + 1, sizeof *total->steps);
    for (size_t s = 0; s < count; s++) {
        size_t steps = options->scripts[s].program->io_step_count;
        total->steps[s] = pl_new(steps + 1, sizeof **total->steps);
        for (size_t i = 0; i < steps; i++) {
            hist_init_latency(&total->steps[s][i].service);
            hist_init_latency(&total->steps[s][i].censored);
        }
    }
}

void httpload_total_release(struct httpload_total *total)
{
    if (total->options == NULL)
        return;
    size_t count = (size_t)total->options->script_count;
    load_free(total->load);
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < total->options->scripts[s].program->io_step_count; i++) {
            hist_release(&total->steps[s][i].service);
            hist_release(&total->steps[s][i].censored);
        }
        pl_free(total->steps[s]);
        cell_release(&total->scripts[s]);
    }
    for (size_t g = 0; g < group_count(total->options) && total->groups != NULL; g++)
        cell_release(&total->groups[g]);
    pl_free(total->steps);
    pl_free(total->scripts);
    pl_free(total->groups);
    cell_release(&total->whole);
    pl_arena_free(total->arena);
    *total = (struct httpload_total){0};
}

static void merge_if(struct hist *into, const struct hist *from)
{
    if (from != NULL)
        hist_merge(into, from);
}

static void cell_add(struct httpload_cell *cell, const struct slice *slice)
{
    ledger_add(&cell->ledger, &slice->ledger);
    attempts_add(&cell->attempts, &slice->attempts);
    if (slice->during == PHASE_MEASURE)
        cell->completed_in_window += slice->ledger.completed;
    merge_if(&cell->response, slice->response);
    merge_if(&cell->service, slice->service);
    merge_if(&cell->lateness, slice->lateness);
    merge_if(&cell->censored, slice->censored);
}

static void step_add(struct httpload_step *step, const struct slice *slice)
{
    step->completed += slice->ledger.completed;
    step->failed += slice->ledger.failed;
    step->expired += slice->ledger.expired;
    step->retries += slice->attempts.retries;
    merge_if(&step->service, slice->service);
    merge_if(&step->censored, slice->censored);
}

void httpload_total_add(struct httpload_total *total, const struct slice *slice)
{
    if (slice->due_in != PHASE_MEASURE)
        return;
    if (slice->step >= 0) {
        step_add(&total->steps[slice->script][slice->step], slice);
        return;
    }
    cell_add(&total->whole, slice);
    cell_add(&total->scripts[slice->script], slice);
    if (total->groups != NULL)
        cell_add(&total->groups[slice->group], slice);
}

void httpload_total_fault(struct httpload_total *total, const struct fault *fault)
{
    size_t at = 0;
    bool is_before = fault->phase == PHASE_WARM_UP || fault->phase == PHASE_START || fault->phase == PHASE_SETTLE;
    int64_t first_ns = fault->first_ns - total->start_ns;
    while (at < total->fault_count && strcmp(total->faults[at].code, fault->code) != 0)
        at++;
    if (at == total->fault_count) {
        total->faults = pl_grow(total->arena, total->faults, total->fault_count, total->fault_count + 1,
                                sizeof *total->faults, &total->fault_capacity);
        total->faults[total->fault_count++] =
            (struct httpload_fault){.code = pl_strdup(total->arena, fault->code), .example = "", .first_ns = INT64_MAX};
    }
    struct httpload_fault *sum = &total->faults[at];
    sum->count += fault->count;
    sum->before_window += is_before ? fault->count : 0;
    if (first_ns < sum->first_ns) {
        sum->first_ns = first_ns;
        sum->example = pl_strdup(total->arena, fault->example);
    }
}

void httpload_total_end(struct httpload_total *total)
{
    total->mark = load_result_mark(&total->result, &total->whole.response, total->rate_per_s > 0, total->arena);
}

struct httpload_latency httpload_latency_of(const struct hist *ended, const struct hist *censored)
{
    struct httpload_latency latency = {.count = ended->total};
    __int128_t sum = ended->sum;
    if (censored != NULL) {
        latency.count += censored->total;
        latency.censored = censored->total;
        sum += censored->sum;
    }
    latency.mean_at_least = latency.censored > 0;
    latency.mean_ns = latency.count > 0 ? (double)sum / (double)latency.count : 0;
    for (int i = 0; i < HTTPLOAD_QUANTILES; i++)
        latency.ns[i] = hist_quantile_censored(ended, censored, httpload_quantiles[i], &latency.at_least[i]);
    return latency;
}

static double per_s(int64_t count, int64_t duration_ns)
{
    return duration_ns <= 0 ? 0 : (double)count * (double)PL_NS_PER_S / (double)duration_ns;
}

double httpload_completed_per_s(const struct httpload_total *total)
{
    return per_s(total->result.completed_in_window, total->result.window_ns);
}

double httpload_due_per_s(const struct httpload_total *total)
{
    return per_s(total->whole.ledger.due, total->result.window_ns);
}

/* ---- verdicts ---- */

struct objective_view httpload_view(const struct httpload_total *total)
{
    return (struct objective_view){.response = &total->whole.response,
                                   .censored = &total->whole.censored,
                                   .due = total->whole.ledger.due,
                                   .completed = total->whole.ledger.completed,
                                   .window_s = (double)total->result.window_ns / (double)PL_NS_PER_S};
}

enum objective_verdict httpload_judge(const struct httpload_total *total, const struct httpload_objective *objective)
{
    const struct objective_view view = httpload_view(total);
    enum objective_verdict verdict = objective_judge(&objective->objective, &view);
    if (!objective->is_fail_if || verdict == OBJECTIVE_NO_DATA)
        return verdict;
    return verdict == OBJECTIVE_HOLDS ? OBJECTIVE_FAILS : OBJECTIVE_HOLDS;
}

const char *httpload_verdict_name(enum objective_verdict verdict)
{
    switch (verdict) {
    case OBJECTIVE_HOLDS:
        return "pass";
    case OBJECTIVE_FAILS:
        return "fail";
    case OBJECTIVE_NO_DATA:
        break;
    }
    return "no_data";
}

static enum httpload_exit exit_of_verdict(enum objective_verdict verdict)
{
    switch (verdict) {
    case OBJECTIVE_HOLDS:
        return HTTPLOAD_GOOD;
    case OBJECTIVE_FAILS:
        return HTTPLOAD_MISSED;
    case OBJECTIVE_NO_DATA:
        break;
    }
    return HTTPLOAD_NO_DATA;
}

static enum httpload_exit exit_of_objectives(const struct httpload_total *total)
{
    enum httpload_exit code = HTTPLOAD_GOOD;
    for (size_t i = 0; i < total->options->objective_count; i++)
        code = httpload_exit_worse(code, exit_of_verdict(httpload_judge(total, &total->options->objectives[i])));
    return code;
}

const char *httpload_verdict(const struct httpload_total *total)
{
    if (total->options->objective_count == 0)
        return "none";
    enum httpload_exit code = exit_of_objectives(total);
    return code == HTTPLOAD_GOOD ? "pass" : code == HTTPLOAD_MISSED ? "fail" : "no_data";
}

/* What an interruption cut off was not the server's doing, nor was what no client was free for. */
bool httpload_has_failed(const struct httpload_total *total)
{
    const struct ledger *ledger = &total->whole.ledger;
    int64_t cut_off = total->was_interrupted ? 0 : ledger->unfinished - ledger->never_started;
    return ledger->failed > 0 || ledger->expired > 0 || cut_off > 0 || ledger->completed == 0;
}

enum httpload_exit httpload_exit_worse(enum httpload_exit a, enum httpload_exit b)
{
    static const enum httpload_exit order[] = {HTTPLOAD_INTERRUPTED, HTTPLOAD_WRONG, HTTPLOAD_MISSED, HTTPLOAD_NO_DATA,
                                               HTTPLOAD_FAILED};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return HTTPLOAD_GOOD;
}

enum httpload_exit httpload_exit_of(const struct httpload_total *total)
{
    enum httpload_exit code = exit_of_objectives(total);
    if (total->was_interrupted)
        code = httpload_exit_worse(code, HTTPLOAD_INTERRUPTED);
    return httpload_has_failed(total) ? httpload_exit_worse(code, HTTPLOAD_FAILED) : code;
}
