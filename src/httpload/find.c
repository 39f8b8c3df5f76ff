/* --find-max. */
#include "httpload/find_int.h"

#include <stdio.h>

#include "base/clock.h"

#include "base/ban.h"

#define ERRORS_MOST_FRAC 0.01 /* of a trial whose objective does not speak of them */
#define FIRST_PER_S 100.0

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

static enum search_verdict verdict_of(const struct httpload_total *total)
{
    const struct objective *objective = &total->options->find;
    const struct objective_view view = httpload_view(total);
    if (total->mark != NULL || view.due == 0)
        return SEARCH_NO_DATA;
    int64_t errors = view.due - view.completed + httpload_error_answers(total);
    bool has_errors = (double)errors > ERRORS_MOST_FRAC * (double)view.due;
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

struct httpload_trial httpload_find_trial(const struct httpload_total *total)
{
    return (struct httpload_trial){.due_per_s = httpload_due_per_s(total),
                                   .completed_per_s = httpload_completed_per_s(total),
                                   .verdict = verdict_of(total),
                                   .due = total->whole.ledger.due,
                                   .completed = total->whole.ledger.completed,
                                   .response = httpload_latency_of(&total->whole.response, &total->whole.censored),
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

static double ms(double ns)
{
    return ns / (double)PL_NS_PER_MS;
}

void httpload_find_put_trial(FILE *out, const struct httpload_find *find)
{
    static const char *const words[] = {[SEARCH_PASS] = "pass", [SEARCH_FAIL] = "fail", [SEARCH_NO_DATA] = "no data"};
    const struct httpload_trial *trial = &find->trials[find->trial_count - 1];
    const struct httpload_latency *latency = &trial->response;
    fprintf(out,
            "trial %2zu: %12.3f/s  %-7s  completed %12.3f/s  p50 %s%.3f ms  p99 %s%.3f ms  not completed %.2f %%%s%s\n",
            find->trial_count, trial->rate_per_s, words[trial->verdict], trial->completed_per_s,
            latency->at_least[1] ? ">= " : "", ms((double)latency->ns[1]), latency->at_least[4] ? ">= " : "",
            ms((double)latency->ns[4]),
            trial->due > 0 ? 100.0 * (double)(trial->due - trial->completed) / (double)trial->due : 0,
            trial->mark != NULL ? ": " : "", trial->mark != NULL ? trial->mark : "");
    fflush(out);
}

static const struct search_point *point_at(const struct search *search, double load)
{
    for (int i = 0; i < search->point_count; i++)
        if (search->points[i].load == load)
            return &search->points[i];
    return NULL;
}

void httpload_find_put_answer(FILE *out, const struct httpload_find *find, const char *objective)
{
    const struct search *search = &find->search;
    const struct search_point *pass = point_at(search, search->last_pass), *fail = point_at(search, search->first_fail);
    switch (search->end) {
    case SEARCH_FOUND:
        fprintf(out, "highest rate at which %s: %.3f/s\n", objective, search->last_pass);
        break;
    case SEARCH_ABOVE_MOST:
        fprintf(out, "highest rate at which %s: %.3f/s or more; --max did not let it go on\n", objective,
                search->last_pass);
        break;
    case SEARCH_BELOW_LEAST:
        fprintf(out, "no rate was found at which %s: --min, %.3f/s, is too much\n", objective, search->spec.least);
        break;
    case SEARCH_GAVE_UP:
        fprintf(out, "no answer for %s: %s\n", objective,
                search->no_data > 0 ? "trials gave no data" : "trials contradict one another");
        break;
    case SEARCH_GOES_ON:
        fprintf(out, "no answer for %s: the search was ended\n", objective);
        break;
    }
    if (pass != NULL)
        fprintf(out, "  last pass  %12.3f/s: %d of %d trials passed\n", pass->load, pass->passes,
                pass->passes + pass->failures);
    if (fail != NULL)
        fprintf(out, "  first fail %12.3f/s: %d of %d trials failed\n", fail->load, fail->failures,
                fail->passes + fail->failures);
}
