/* Nothing is printed that does not hold: every derived figure is computed again here, from other figures or from the study,
 * before a page is written. */
#include "page/page_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "stats/holm.h"

#include "base/ban.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct check {
    const struct study *study;
    const struct figures *figures;
    struct pl_arena *arena;
    const struct stage_row *stage;
    const struct case_row *row;
    struct pl_err *err;
};

static const struct figure *given(const struct check *check, const char *subject, const char *name)
{
    const struct figure *figure = model_figure(check->figures, check->stage->id, check->row->id, subject, name);
    return figure == NULL || figure->status == FIGURE_ABSENT ? NULL : figure;
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b)) + 1e-300;
}

static enum pl_code broken(const struct check *check, const char *what, double printed, double again)
{
    pl_err_set(check->err, PL_BALANCE, "stage \"%s\"%s%s: %s is given as %.12g, but is %.12g when computed again",
               check->stage->name, check->row->label[0] == '\0' ? "" : ", case ", check->row->label, what, printed, again);
    pl_err_hint(check->err,
                "The page is not written, because it would state what does not hold. The study file is unchanged.");
    return check->err->code;
}

/* due = completed + failed + skipped + expired + unfinished. prefix "" (window) or "all_" (whole trials). */
static enum pl_code check_ledger(const struct check *check, const char *prefix)
{
    static const char *const ends[] = {"completed", "failed", "skipped", "expired", "unfinished"};
    const struct figure *due = given(check, "", pl_format(check->arena, "%sdue", prefix));
    if (due == NULL)
        return PL_OK;
    double sum = 0, last = 0;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct figure *figure = given(check, "", pl_format(check->arena, "%s%s", prefix, ends[i]));
        last = figure == NULL ? 0 : figure->value;
        sum += last;
    }
    if (due->value != sum)
        return broken(check,
                      prefix[0] == '\0' ? "the number of operations due in the window" : "the number of operations due",
                      due->value, sum);
    const struct figure *never = given(check, "", pl_format(check->arena, "%snever_started", prefix));
    if (never != NULL && never->value > last)
        return broken(check, "the number of unfinished operations", last, never->value);
    return PL_OK;
}

static double window_of(const struct study *study, int64_t trial_id)
{
    const struct trial_row *trial = study_trial(study, trial_id);
    return trial == NULL ? 0 : (double)(trial->measure_end_ns - trial->measure_start_ns);
}

/* Operations of a trial: all that completed, or those that ended inside the window. */
static double operations_of(const struct study *study, int64_t trial_id, bool window)
{
    double sum = 0;
    for (size_t i = 0; i < study->slice_count; i++) {
        const struct slice *slice = &study->slices[i];
        if (slice->trial_id == trial_id && slice->step == -1 && (!window || slice->during == PHASE_MEASURE))
            sum += (double)slice->ledger.completed;
    }
    return sum;
}

/* Throughput is the mean over its trials of completed / window; the achieved rate is the ratio of the sums. */
static enum pl_code check_throughput(const struct check *check)
{
    const struct figure *tps = given(check, "", "tps"), *achieved = given(check, "", "achieved_per_s");
    double sum = 0;
    for (size_t i = 0; tps != NULL && i < tps->trial_count; i++)
        sum += operations_of(check->study, tps->trials[i], true) * (double)PL_NS_PER_S /
               window_of(check->study, tps->trials[i]);
    if (tps != NULL && tps->trial_count > 0 && !is_near(tps->value, sum / (double)tps->trial_count, 1e-9))
        return broken(check, "the throughput", tps->value, sum / (double)tps->trial_count);
    const struct figure *completed = given(check, "", "completed_in_window"), *window = given(check, "", "window_ns");
    if (achieved == NULL || completed == NULL || window == NULL)
        return PL_OK;
    double again = completed->value * (double)PL_NS_PER_S / window->value;
    return is_near(achieved->value, again, 1e-9) ? PL_OK : broken(check, "the achieved rate", achieved->value, again);
}

/* Costs for each operation: total over the operations of the trials that the total came from. */
static const struct ratio {
    const char *each, *total;
    bool window; /* operations that ended inside the window, not all of the trial */
} ratios[] = {
    {"wal_bytes_per_operation", "wal_bytes", false},
    {"wal_records_per_operation", "wal_records", false},
    {"wal_fpi_per_operation", "wal_fpi", false},
    {"commits_per_operation", "commits", false},
    {"database_bytes_per_operation", "database_growth_bytes", false},
    {"table_bytes_per_operation", "table_growth_bytes", false},
    {"index_bytes_per_operation", "index_growth_bytes", false},
    {"rows_per_operation", "rows_growth", false},
    {"cpu_ns_per_operation", "cpu_window_ns", true},
};

static enum pl_code check_ratio(const struct check *check, const struct figure *each)
{
    for (size_t i = 0; i < COUNT_OF(ratios); i++) {
        if (strcmp(each->name, ratios[i].each) != 0)
            continue;
        const struct figure *total = given(check, each->subject, ratios[i].total);
        if (total == NULL)
            return PL_OK;
        double operations = 0;
        for (size_t k = 0; k < total->trial_count; k++)
            operations += operations_of(check->study, total->trials[k], ratios[i].window);
        double again = total->value / operations;
        if (!is_near(each->value, again, 1e-9))
            return broken(check, each->name, each->value, again);
    }
    return PL_OK;
}

static enum pl_code check_memory(const struct check *check, const struct figure *total)
{
    static const char *const parts[] = {"memory_anon_bytes", "memory_shared_bytes", "memory_kernel_bytes"};
    double sum = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct figure *part = given(check, total->subject, parts[i]);
        if (part != NULL && part->trial_count != total->trial_count)
            return PL_OK; /* not of the same trials: nothing to compare */
        sum += part == NULL ? 0 : part->value;
    }
    return is_near(total->value, sum, 1e-9) ? PL_OK : broken(check, "memory as the sum of its parts", total->value, sum);
}

static bool is_given(const struct check *check, const char *name, const char *none)
{
    const char *value = param_value(check->row->params, check->row->param_count, name);
    if (value == NULL)
        value = param_value(check->stage->params, check->stage->param_count, name);
    return value != NULL && strcmp(value, none) != 0;
}

/* Clients that have nothing left to do before the window ends, because operations are counted; or that think between them.
 */
static bool has_idle_clients(const struct check *check)
{
    return is_given(check, "transactions", "0") || is_given(check, "operations", "0") || is_given(check, "think", "0s");
}

/* What crosses the two ends of a trial's window, in client time: operations that became due before it and ended in it or
 * later, operations that were due in it and ended after it. */
struct crossing {
    double in_ns, out_ns;
};

static struct crossing crossing_of(const struct study *study, int64_t trial_id)
{
    struct crossing crossing = {0};
    for (size_t i = 0; i < study->slice_count; i++) {
        const struct slice *slice = &study->slices[i];
        if (slice->trial_id != trial_id || slice->step != -1 || slice->response == NULL || slice->response->total == 0)
            continue;
        double sum_ns = (double)slice->response->sum;
        if (slice->due_in == PHASE_WARM_UP && slice->during != PHASE_WARM_UP)
            crossing.in_ns += sum_ns;
        else if (slice->due_in == PHASE_MEASURE && slice->during != PHASE_MEASURE)
            crossing.out_ns += sum_ns;
    }
    return crossing;
}

/* Clients whose operations failed, or did not end, spent time that no response time holds. */
static bool has_lost_time(const struct check *check)
{
    const struct figure *due = given(check, "", "all_due"), *completed = given(check, "", "all_completed");
    return due == NULL || completed == NULL || due->value != completed->value;
}

/* N = X R of a closed loop. A client's next operation is due at the moment at which its last one has ended, however late
 * the load generator itself gets to run. So the response times of the operations that were due in the window add up to the
 * clients' time in it, less what operations from before the window took of it, and more what those that were due in it took
 * after its end: each of the two lies between nothing and the whole response times of the operations that cross that end.
 */
static enum pl_code check_little(const struct check *check)
{
    const double rounding = 1e-9; /* of sums of doubles: histograms keep exact sums */
    const struct figure *inside = given(check, "", "concurrency");
    if (strcmp(check->stage->kind, "clients") != 0 || inside == NULL || has_lost_time(check))
        return PL_OK;
    struct crossing all = {0};
    double clients_ns = 0, window_ns = 0;
    for (size_t i = 0; i < inside->trial_count; i++) {
        const struct trial_row *trial = study_trial(check->study, inside->trials[i]);
        if (trial == NULL || trial->clients_lost > 0 || trial->clients < 1)
            return PL_OK;
        struct crossing crossing = crossing_of(check->study, trial->id);
        all.in_ns += crossing.in_ns;
        all.out_ns += crossing.out_ns;
        clients_ns += trial->clients * window_of(check->study, trial->id);
        window_ns += window_of(check->study, trial->id);
    }
    double spent_ns = inside->value * window_ns, slack_ns = rounding * clients_ns;
    bool too_little = spent_ns < clients_ns - all.in_ns - slack_ns && !has_idle_clients(check);
    if (too_little || spent_ns > clients_ns + all.out_ns + slack_ns)
        return broken(check, "the number of clients, by Little's law (throughput times mean response),",
                      clients_ns / window_ns, inside->value);
    return PL_OK;
}

static enum pl_code check_order(const struct check *check)
{
    static const char *const laws[] = {"response", "service", "lateness"};
    static const char *const marks[] = {"p50", "p90", "p95", "p99", "p999", "max"};
    for (size_t i = 0; i < COUNT_OF(laws); i++) {
        double last = 0;
        for (size_t k = 0; k < COUNT_OF(marks); k++) {
            const struct figure *figure = given(check, "", pl_format(check->arena, "%s_%s_ns", laws[i], marks[k]));
            if (figure == NULL)
                continue;
            if (figure->value < last)
                return broken(check, figure->name, figure->value, last);
            last = figure->value;
        }
    }
    return PL_OK;
}

static enum pl_code check_case(struct check *check)
{
    enum pl_code (*const whole[])(const struct check *) = {check_throughput, check_little, check_order};
    enum pl_code code = check_ledger(check, "");
    if (code == PL_OK)
        code = check_ledger(check, "all_");
    for (size_t i = 0; i < COUNT_OF(whole) && code == PL_OK; i++)
        code = whole[i](check);
    for (size_t i = 0; i < check->figures->count && code == PL_OK; i++) {
        const struct figure *figure = &check->figures->items[i];
        if (figure->case_id != check->row->id || figure->status == FIGURE_ABSENT)
            continue;
        code = check_ratio(check, figure);
        if (code == PL_OK && strcmp(figure->name, "memory_bytes") == 0)
            code = check_memory(check, figure);
        if (code == PL_OK && figure->has_interval && !(figure->low <= figure->value && figure->value <= figure->high))
            code = broken(check, figure->name, figure->value, figure->value < figure->low ? figure->low : figure->high);
    }
    return code;
}

static enum pl_code check_trials(const struct study *study, const struct figures *figures, struct pl_err *err)
{
    static const char *const names[] = {"trials_done", "trials_failed", "trials_void", "trials_interrupted"};
    double sum = 0;
    bool known = true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct figure *figure = model_figure(figures, 0, 0, "", names[i]);
        known &= figure != NULL;
        sum += figure == NULL ? 0 : figure->value;
    }
    if (known && sum != (double)study->trial_count)
        return pl_err_set(err, PL_BALANCE, "the study has %zu trials, but %.0f by state", study->trial_count, sum);
    return PL_OK;
}

/* A difference is that of the two throughputs beside it; its interval and its p value say the same; the corrected p values
 * are those of all comparisons together. */
static enum pl_code check_comparison(struct check *check, const struct model_comparison *comparison, double corrected)
{
    check->stage = comparison->stage;
    check->row = comparison->base;
    const struct figure *base = given(check, "", "tps");
    check->row = comparison->other;
    const struct figure *other = given(check, "", "tps"), *change = given(check, comparison->axis, "tps_change_frac");
    const struct figure *p = given(check, comparison->axis, "tps_change_p");
    const struct figure *printed = given(check, comparison->axis, "tps_change_corrected_p");
    if (base != NULL && other != NULL && change != NULL && !is_near(1 + change->value, other->value / base->value, 1e-9))
        return broken(check, "the difference of throughputs", change->value, other->value / base->value - 1);
    if (p != NULL && change != NULL && change->has_interval) {
        bool outside = change->low > 0 || change->high < 0, told = p->value < MODEL_COMPARISON_LEVEL;
        bool on_edge = fabs(p->value - MODEL_COMPARISON_LEVEL) < 1e-9;
        if (outside != told && !on_edge)
            return broken(check, "the p value, whose interval says otherwise,", p->value, MODEL_COMPARISON_LEVEL);
    }
    if (printed != NULL && !is_near(printed->value, corrected, 1e-12))
        return broken(check, "the corrected p value", printed->value, corrected);
    return PL_OK;
}

static enum pl_code check_comparisons(struct check *check)
{
    size_t count = 0;
    const struct model_comparison *list = model_comparisons(check->study, check->arena, &count);
    double *p = pl_alloc(check->arena, count + 1, sizeof *p);
    for (size_t i = 0; i < count; i++) {
        check->stage = list[i].stage;
        check->row = list[i].other;
        const struct figure *raw = given(check, list[i].axis, "tps_change_p");
        p[i] = raw != NULL ? raw->value : (double)NAN;
    }
    size_t tested = holm_correct(p, count, p);
    const struct figure *told = model_figure(check->figures, 0, 0, "", "comparisons");
    if (told != NULL && told->value != (double)tested)
        return pl_err_set(check->err, PL_BALANCE, "%.0f comparisons are told, but %zu were tested", told->value, tested);
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < count && code == PL_OK; i++)
        code = check_comparison(check, &list[i], p[i]);
    return code;
}

enum pl_code page_check(const struct study *study, const struct figures *figures, struct pl_err *err)
{
    struct check check = {.study = study, .figures = figures, .arena = pl_arena_new(), .err = err};
    enum pl_code code = check_trials(study, figures, err);
    for (size_t i = 0; i < study->case_count && code == PL_OK; i++) {
        check.row = &study->cases[i];
        check.stage = study_stage(study, check.row->stage_id);
        if (check.stage != NULL)
            code = check_case(&check);
    }
    if (code == PL_OK)
        code = check_comparisons(&check);
    pl_arena_free(check.arena);
    return code;
}
