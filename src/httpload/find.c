/* --find-max. */
#include "httpload/find_int.h"

#include <stdio.h>

#include "httpload/figures_int.h"

#include "base/ban.h"

#define ERRORS_MOST_FRAC 0.01 /* of a trial whose objective does not speak of them */
#define FIRST_PER_S 100.0

enum { ENOUGH_ABOVE = 10 }; /* operations above a percentile, for it to mean something */

struct search_spec httpload_find_spec(const struct httpload_options *options)
{
    struct search_spec spec = {.start = options->rate_per_s > 0 ? options->rate_per_s : FIRST_PER_S,
                               .least = options->least_per_s,
                               .most = options->most_per_s};
    if (spec.start < spec.least)
        spec.start = spec.least;
    if (spec.most > 0 && spec.start > spec.most)
        spec.start = spec.most;
    return spec;
}

static bool speaks_of_errors(const struct objective *objective)
{
    for (size_t i = 0; i < objective->term_count; i++)
        if (objective->terms[i].measure == OBJECTIVE_ERRORS)
            return true;
    return false;
}

/* Without a look at the mark. */
static enum search_verdict verdict_of_figures(const struct httpload_total *total)
{
    const struct objective *objective = &total->options->find;
    const struct objective_view view = httpload_view(total);
    if (view.due == 0)
        return SEARCH_NO_DATA;
    bool has_errors = (double)(view.due - view.completed) > ERRORS_MOST_FRAC * (double)view.due;
    if (has_errors && !speaks_of_errors(objective))
        return SEARCH_FAIL;
    switch (objective_judge(objective, &view)) {
    case OBJECTIVE_HOLDS:
        return SEARCH_PASS;
    case OBJECTIVE_FAILS:
        return SEARCH_FAIL;
    case OBJECTIVE_NO_DATA:
        break;
    }
    return SEARCH_NO_DATA;
}

static enum search_verdict verdict_of(const struct httpload_total *total)
{
    enum search_verdict verdict = verdict_of_figures(total);
    return total->mark != NULL && verdict == SEARCH_FAIL ? SEARCH_NO_DATA : verdict;
}

static bool has_waited(const struct httpload_total *total)
{
    struct objective_view view = httpload_view(total);
    view.response = &total->whole.service;
    return verdict_of(total) == SEARCH_FAIL && objective_judge(&total->options->find, &view) == OBJECTIVE_HOLDS;
}

struct httpload_trial httpload_find_trial(const struct httpload_total *total)
{
    return (struct httpload_trial){.due_per_s = httpload_due_per_s(total),
                                   .completed_per_s = httpload_completed_per_s(total),
                                   .verdict = verdict_of(total),
                                   .due = total->whole.ledger.due,
                                   .completed = total->whole.ledger.completed,
                                   .response = httpload_latency_of(&total->whole.response, &total->whole.censored),
                                   .seed = total->seed,
                                   .clients = total->options->clients,
                                   .waited = has_waited(total),
                                   .mark = total->mark};
}

enum pl_code httpload_find_run(struct httpload_find *find, const struct search_spec *spec, struct pl_arena *arena,
                               httpload_try *try_rate, void *context, void (*on_trial)(const struct httpload_find *find),
                               struct pl_err *err)
{
    double rate_per_s;
    *find = (struct httpload_find){0};
    search_begin(&find->search, spec);
    while (search_next(&find->search, &rate_per_s)) {
        struct httpload_trial trial = {0};
        enum pl_code code = try_rate(context, rate_per_s, &trial, err);
        if (code != PL_OK)
            return code;
        trial.rate_per_s = rate_per_s;
        trial.mark = trial.mark != NULL ? pl_strdup(arena, trial.mark) : NULL;
        find->trials = pl_grow(arena, find->trials, find->trial_count, find->trial_count + 1, sizeof *find->trials,
                               &find->trial_capacity);
        find->trials[find->trial_count++] = trial;
        search_take(&find->search, trial.verdict);
        on_trial(find);
    }
    return PL_OK;
}

const char *httpload_find_end_name(const struct httpload_find *find)
{
    switch (find->search.end) {
    case SEARCH_FOUND:
        return "found";
    case SEARCH_ABOVE_MOST:
        return "above_max";
    case SEARCH_BELOW_LEAST:
        return "below_min";
    case SEARCH_GAVE_UP:
        return "gave_up";
    case SEARCH_GOES_ON:
        break;
    }
    return "unfinished";
}

enum httpload_exit httpload_find_exit(const struct httpload_find *find)
{
    switch (find->search.end) {
    case SEARCH_FOUND:
    case SEARCH_ABOVE_MOST:
        return HTTPLOAD_GOOD;
    case SEARCH_BELOW_LEAST:
        return HTTPLOAD_MISSED;
    case SEARCH_GAVE_UP:
    case SEARCH_GOES_ON:
        break;
    }
    return HTTPLOAD_NO_DATA;
}

/* ---- report ---- */

static void put_quantile(FILE *out, const char *name, const struct httpload_latency *latency, int quantile)
{
    char text[HTTPLOAD_FIGURE_BYTES], cell[HTTPLOAD_FIGURE_BYTES + 8];
    if (latency->count == 0)
        snprintf(cell, sizeof cell, "-");
    else
        snprintf(cell, sizeof cell, "%s%s ms", latency->at_least[quantile] ? ">= " : "",
                 httpload_figure_ms(text, sizeof text, (double)latency->ns[quantile]));
    fprintf(out, "  %s %12s", name, cell);
}

static const char *mark_effect(const struct httpload_trial *trial)
{
    return trial->verdict == SEARCH_PASS ? " It passes all the same." : " What it misses may be the client's doing.";
}

void httpload_find_put_trial(FILE *out, const struct httpload_find *find)
{
    static const char *const words[] = {[SEARCH_PASS] = "pass", [SEARCH_FAIL] = "fail", [SEARCH_NO_DATA] = "no data"};
    const struct httpload_trial *trial = &find->trials[find->trial_count - 1];
    char rate[HTTPLOAD_FIGURE_BYTES], completed[HTTPLOAD_FIGURE_BYTES];
    fprintf(out, "trial %2zu: %10s/s  %-7s  completed %10s/s", find->trial_count,
            httpload_figure(rate, sizeof rate, trial->rate_per_s), words[trial->verdict],
            httpload_figure(completed, sizeof completed, trial->completed_per_s));
    put_quantile(out, "p50", &trial->response, 1);
    put_quantile(out, "p99", &trial->response, 4);
    if (trial->due > 0)
        fprintf(out, "  not completed %.2f %%", 100.0 * (double)(trial->due - trial->completed) / (double)trial->due);
    else
        fputs("  nothing became due", out);
    if (trial->mark != NULL)
        fprintf(out, ": %s%s", trial->mark, mark_effect(trial));
    fputc('\n', out);
    fflush(out);
}

static const struct search_point *point_at(const struct search *search, double load)
{
    for (int i = 0; i < search->point_count; i++)
        if (search->points[i].load == load)
            return &search->points[i];
    return NULL;
}

/* A percentile above which there are only a few operations is one of those few, whichever it was. */
static void put_fewness(FILE *out, const struct httpload_find *find, const struct objective *objective)
{
    double highest = 0;
    int64_t due = 0;
    for (size_t i = 0; i < objective->term_count; i++)
        if (objective->terms[i].measure == OBJECTIVE_QUANTILE && objective->terms[i].quantile < 1 &&
            objective->terms[i].quantile > highest)
            highest = objective->terms[i].quantile;
    for (size_t i = 0; i < find->trial_count; i++)
        if (find->trials[i].rate_per_s == find->search.last_pass)
            due = find->trials[i].due;
    if (due > 0 && (1 - highest) * (double)due < ENOUGH_ABOVE && highest > 0)
        fprintf(out,
                "  few operations: a trial at this rate had %lld, and %.10g %% of them are fewer than %d; a longer "
                "--step-duration judges better\n",
                (long long)due, 100 * (1 - highest), ENOUGH_ABOVE);
}

/* A rate above the answer was missed by waiting for a client, with requests that were fast enough: then either more clients
 * reach more, or they only wait in the server instead. */
static void put_clients(FILE *out, const struct httpload_find *find)
{
    int failed = 0, waited = 0;
    int64_t clients = 0;
    for (size_t i = 0; i < find->trial_count; i++)
        if (find->trials[i].rate_per_s == find->search.first_fail && find->trials[i].verdict == SEARCH_FAIL) {
            failed++;
            waited += find->trials[i].waited;
            clients = find->trials[i].clients;
        }
    if (failed > 0 && 2 * waited > failed)
        fprintf(out,
                "  perhaps -c is the limit: beyond it operations waited for one of the %lld clients, while requests "
                "themselves met the objective; more clients show whether the server can do more\n",
                (long long)clients);
}

static void put_giving_up(FILE *out, const struct search *search, const char *text)
{
    if (search->no_data > 0)
        fprintf(out,
                "no answer for %s: %d trials in a row gave no data: nothing could be judged, or the objective was missed "
                "while the client was the limit\n",
                text, search->no_data);
    else
        fprintf(out, "no answer for %s: trials contradict one another\n", text);
}

void httpload_find_put_answer(FILE *out, const struct httpload_find *find, const struct objective *objective,
                              const char *text)
{
    const struct search *search = &find->search;
    const struct search_point *pass = point_at(search, search->last_pass), *fail = point_at(search, search->first_fail);
    char rate[HTTPLOAD_FIGURE_BYTES];
    switch (search->end) {
    case SEARCH_FOUND:
        fprintf(out, "highest rate at which %s: %s/s\n", text, httpload_figure(rate, sizeof rate, search->last_pass));
        break;
    case SEARCH_ABOVE_MOST:
        fprintf(out, "highest rate at which %s: %s/s or more; --max did not let it go on\n", text,
                httpload_figure(rate, sizeof rate, search->last_pass));
        break;
    case SEARCH_BELOW_LEAST:
        fprintf(out, "no rate was found at which %s: --min, %s/s, is too much\n", text,
                httpload_figure(rate, sizeof rate, search->spec.least));
        break;
    case SEARCH_GAVE_UP:
        put_giving_up(out, search, text);
        break;
    case SEARCH_GOES_ON:
        fprintf(out, "no answer for %s: the search was ended\n", text);
        break;
    }
    if (pass != NULL)
        fprintf(out, "  last pass  %10s/s: %d of %d trials passed\n", httpload_figure(rate, sizeof rate, pass->load),
                pass->passes, pass->passes + pass->failures);
    if (fail != NULL)
        fprintf(out, "  first fail %10s/s: %d of %d trials failed\n", httpload_figure(rate, sizeof rate, fail->load),
                fail->failures, fail->passes + fail->failures);
    put_clients(out, find);
    if (pass != NULL)
        put_fewness(out, find, objective);
}
