/* Objectives: the language, and what it means when some values are only known to be "at least" so much. */
#include "stats/objective.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

enum { TERMS_MOST = 32, TEXT_BYTES_MOST = 400 };

/* What k6 names its metrics: they say what a measure is of. */
enum metric { METRIC_NONE, METRIC_TREND, METRIC_FAILED, METRIC_REQUESTS };

static const struct {
    const char *name;
    enum metric metric;
} metrics[] = {
    {"http_req_duration", METRIC_TREND}, {"iteration_duration", METRIC_TREND}, {"http_req_failed", METRIC_FAILED},
    {"http_reqs", METRIC_REQUESTS},      {"iterations", METRIC_REQUESTS},
};

struct reading {
    const char *text, *at;
    struct pl_arena *arena;
    struct pl_err *err;
};

/* The caret line: the text may hold bytes of any kind, each takes one column here. */
static enum pl_code wrong(struct reading *reading, const char *at, const char *advice, const char *fmt, ...)
    PL_PRINTF(4, 5);
static enum pl_code wrong(struct reading *reading, const char *at, const char *advice, const char *fmt, ...)
{
    char what[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    pl_err_set(reading->err, PL_INPUT, "objective \"%.120s\": %s", reading->text, what);
    pl_err_hint(reading->err, "%s\n%*s^ %s", reading->text, (int)(at - reading->text), "", advice);
    return reading->err->code;
}

static void skip_blanks(struct reading *reading)
{
    reading->at += strspn(reading->at, " \t");
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
           (at[length] == '.' && isdigit((unsigned char)at[length + 1])))
        length++;
    return length;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

/* ---- the measure ---- */

#define MEASURES "a percentile (p50, p99.9, p(95)), med, min, max, mean, avg, errors, rate or count is right here"

/* "99.9" of p99.9 or p(99.9). */
static enum pl_code percentile(struct reading *reading, const char *at, size_t length, struct objective_term *term)
{
    double percent;
    if (pl_num_f64(at, length, &percent) != PL_NUM_OK)
        return wrong(reading, at, "a number from 0 to 100 is right here", "\"%.*s\" is no percentile",
                     (int)(length < 40 ? length : 40), at);
    if (percent < 0 || percent > 100)
        return wrong(reading, at, "a number from 0 to 100 is right here", "there is no percentile %.*s",
                     (int)(length < 40 ? length : 40), at);
    term->measure = OBJECTIVE_QUANTILE;
    term->quantile = percent / 100;
    return PL_OK;
}

static enum pl_code percentile_in_brackets(struct reading *reading, struct objective_term *term)
{
    const char *open = reading->at + 1;
    size_t length = strcspn(open + 1, ")");
    if (open[1 + length] != ')')
        return wrong(reading, open, "a closing bracket is missing: p(95)", "the bracket of p( does not end");
    reading->at = open + length + 2;
    return percentile(reading, open + 1, length, term);
}

/* Measures that are one word. */
static bool measure_word(const char *at, size_t length, enum metric metric, struct objective_term *term)
{
    static const struct {
        const char *word;
        enum objective_measure measure;
        double quantile;
        unsigned metrics; /* with which it may stand */
    } words[] = {
        {"med", OBJECTIVE_QUANTILE, 0.5, 1U << METRIC_NONE | 1U << METRIC_TREND},
        {"median", OBJECTIVE_QUANTILE, 0.5, 1U << METRIC_NONE},
        {"min", OBJECTIVE_QUANTILE, 0, 1U << METRIC_NONE | 1U << METRIC_TREND},
        {"max", OBJECTIVE_QUANTILE, 1, 1U << METRIC_NONE | 1U << METRIC_TREND},
        {"mean", OBJECTIVE_MEAN, 0, 1U << METRIC_NONE | 1U << METRIC_TREND},
        {"avg", OBJECTIVE_MEAN, 0, 1U << METRIC_NONE | 1U << METRIC_TREND},
        {"errors", OBJECTIVE_ERRORS, 0, 1U << METRIC_NONE},
        {"rate", OBJECTIVE_ERRORS, 0, 1U << METRIC_FAILED},
        {"rate", OBJECTIVE_RATE, 0, 1U << METRIC_NONE | 1U << METRIC_REQUESTS},
        {"count", OBJECTIVE_COUNT, 0, 1U << METRIC_NONE | 1U << METRIC_REQUESTS},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((words[i].metrics & 1U << metric) != 0 && is_word(at, length, words[i].word)) {
            term->measure = words[i].measure;
            term->quantile = words[i].quantile;
            return true;
        }
    return false;
}

static const char *measure_advice(enum metric metric)
{
    switch (metric) {
    case METRIC_NONE:
        return MEASURES;
    case METRIC_TREND:
        return "p(N), med, min, max or avg is right here";
    case METRIC_FAILED:
        return "rate is right here";
    case METRIC_REQUESTS:
        break;
    }
    return "rate or count is right here";
}

static enum pl_code measure(struct reading *reading, enum metric metric, struct objective_term *term)
{
    const char *at = reading->at;
    size_t length = word_length(at);
    bool may_be_quantile = metric == METRIC_NONE || metric == METRIC_TREND;
    if (may_be_quantile && length == 1 && at[0] == 'p' && at[1] == '(')
        return percentile_in_brackets(reading, term);
    if (may_be_quantile && length > 1 && at[0] == 'p' && isdigit((unsigned char)at[1])) {
        reading->at += length;
        return percentile(reading, at + 1, length - 1, term);
    }
    if (length == 0)
        return wrong(reading, at, measure_advice(metric), "a measure is missing");
    if (!measure_word(at, length, metric, term))
        return wrong(reading, at, measure_advice(metric), "\"%.*s\" is no measure%s", (int)(length < 40 ? length : 40), at,
                     metric == METRIC_NONE ? "" : " of this metric");
    reading->at += length;
    return PL_OK;
}

/* "http_req_duration:" before a measure. */
static enum pl_code metric_prefix(struct reading *reading, enum metric *ret_metric)
{
    const char *at = reading->at, *behind = at + word_length(at);
    size_t length = (size_t)(behind - at);
    *ret_metric = METRIC_NONE;
    if (length > 0 && *behind == '{')
        return wrong(reading, behind, "name the metric alone", "a metric of some tags only is not known");
    behind += strspn(behind, " \t");
    if (length == 0 || *behind != ':')
        return PL_OK;
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (is_word(at, length, metrics[i].name)) {
            *ret_metric = metrics[i].metric;
            reading->at = behind + 1;
            skip_blanks(reading);
            return PL_OK;
        }
    return wrong(reading, at,
                 "http_req_duration, iteration_duration, http_req_failed, http_reqs or iterations is right here",
                 "\"%.*s\" is no metric that can be judged", (int)(length < 40 ? length : 40), at);
}

/* ---- relation and limit ---- */

static enum pl_code relation(struct reading *reading, struct objective_term *term)
{
    static const struct {
        const char *text;
        enum objective_relation relation;
    } known[] = {{"<=", OBJECTIVE_AT_MOST}, {">=", OBJECTIVE_AT_LEAST}, {"<", OBJECTIVE_LESS}, {">", OBJECTIVE_MORE}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].text);
        if (strncmp(reading->at, known[i].text, length) == 0) {
            term->relation = known[i].relation;
            reading->at += length;
            return PL_OK;
        }
    }
    if (reading->at[0] == '=' || reading->at[0] == '!')
        return wrong(reading, reading->at, "<, <=, > or >= is right here",
                     "measured values are never compared for equality");
    return wrong(reading, reading->at, "<, <=, > or >= is right here", "a relation is missing");
}

/* The bytes of "50ms", "50 ms", "0.1 %", "200/s": up to what follows a term. */
static size_t limit_length(const char *at)
{
    size_t length = strcspn(at, " \t&<>"), unit = length + strspn(at + length, " \t");
    size_t word = strcspn(at + unit, " \t&<>");
    if (length > 0 && strspn(at, "0123456789._+-eE") == length && word > 0 && !is_word(at + unit, word, "and"))
        return unit + word;
    return length;
}

static enum pl_code limit_time(struct reading *reading, const char *text, size_t length, struct objective_term *term)
{
    double ms;
    int64_t ns;
    if (pl_num_f64(text, length, &ms) == PL_NUM_OK) {
        if (ms < 0 || ms > 1e12)
            return wrong(reading, reading->at, "a time from 0 to 1e12 ms is right here", "there is no such time");
        term->limit = ms * (double)PL_NS_PER_MS;
        return PL_OK;
    }
    enum pl_num_result result = pl_num_duration_ns(text, length, &ns);
    if (result != PL_NUM_OK)
        return wrong(reading, reading->at, "a time is right here: 50ms, 1.5s, or a number of ms", "\"%.40s\" is no time",
                     text);
    term->limit = (double)ns;
    return PL_OK;
}

static enum pl_code limit_frac(struct reading *reading, const char *text, size_t length, struct objective_term *term)
{
    bool is_percent = length > 0 && text[length - 1] == '%';
    double value;
    if (pl_num_f64(text, length - is_percent, &value) != PL_NUM_OK || value < 0 || value > (is_percent ? 100 : 1))
        return wrong(reading, reading->at, "a share is right here: 0.1%, or a fraction from 0 to 1",
                     "\"%.40s\" is no share", text);
    term->limit = is_percent ? value / 100 : value;
    return PL_OK;
}

static enum pl_code limit_rate(struct reading *reading, const char *text, size_t length, struct objective_term *term)
{
    bool is_plain = pl_num_f64(text, length, &term->limit) == PL_NUM_OK && term->limit >= 0;
    if (!is_plain && pl_num_rate(text, length, &term->limit) != PL_NUM_OK)
        return wrong(reading, reading->at, "a rate is right here: 200/s, 90/min, or a number per second",
                     "\"%.40s\" is no rate", text);
    return PL_OK;
}

static enum pl_code limit_count(struct reading *reading, const char *text, size_t length, struct objective_term *term)
{
    int64_t count;
    if (pl_num_i64(text, length, &count) != PL_NUM_OK || count < 0)
        return wrong(reading, reading->at, "a whole number is right here", "\"%.40s\" is no count", text);
    term->limit = (double)count;
    return PL_OK;
}

static enum pl_code limit(struct reading *reading, struct objective_term *term)
{
    size_t length = limit_length(reading->at), kept = 0;
    char *text = pl_alloc(reading->arena, length + 1, 1); /* without the blank before the unit */
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < length; i++)
        if (reading->at[i] != ' ' && reading->at[i] != '\t')
            text[kept++] = reading->at[i];
    if (length == 0)
        return wrong(reading, reading->at, "what it is compared with is missing here", "a limit is missing");
    switch (term->measure) {
    case OBJECTIVE_QUANTILE:
    case OBJECTIVE_MEAN:
        code = limit_time(reading, text, kept, term);
        break;
    case OBJECTIVE_ERRORS:
        code = limit_frac(reading, text, kept, term);
        break;
    case OBJECTIVE_RATE:
        code = limit_rate(reading, text, kept, term);
        break;
    case OBJECTIVE_COUNT:
        code = limit_count(reading, text, kept, term);
        break;
    }
    if (code == PL_OK)
        reading->at += length;
    return code;
}

/* ---- the whole ---- */

static enum pl_code term_read(struct reading *reading, struct objective_term *term)
{
    enum metric metric;
    skip_blanks(reading);
    const char *begin = reading->at;
    enum pl_code code = metric_prefix(reading, &metric);
    if (code == PL_OK)
        code = measure(reading, metric, term);
    skip_blanks(reading);
    if (code == PL_OK)
        code = relation(reading, term);
    skip_blanks(reading);
    if (code == PL_OK)
        code = limit(reading, term);
    if (code == PL_OK)
        term->text = pl_strndup(reading->arena, begin, (size_t)(reading->at - begin));
    skip_blanks(reading);
    return code;
}

/* What joins two terms; false: the end, or something else. */
static bool join_read(struct reading *reading)
{
    size_t length = strncmp(reading->at, "&&", 2) == 0 ? 2 : 0;
    if (length == 0 && is_word(reading->at, word_length(reading->at), "and"))
        length = 3;
    reading->at += length;
    return length > 0;
}

enum pl_code objective_parse(const char *text, struct pl_arena *arena, struct objective *ret_objective, struct pl_err *err)
{
    struct reading reading = {.text = text, .at = text, .arena = arena, .err = err};
    struct objective_term *terms = NULL;
    size_t count = 0, capacity = 0;
    if (strlen(text) > TEXT_BYTES_MOST)
        return pl_err_set(err, PL_INPUT, "an objective has at most %d bytes, this one %zu", TEXT_BYTES_MOST, strlen(text));
    do {
        if (count == TERMS_MOST)
            return wrong(&reading, reading.at, "this one is too many", "an objective has at most %d terms", TERMS_MOST);
        terms = pl_grow(arena, terms, count, count + 1, sizeof *terms, &capacity);
        terms[count] = (struct objective_term){0};
        enum pl_code code = term_read(&reading, &terms[count]);
        if (code != PL_OK)
            return code;
        count++;
    } while (join_read(&reading));
    if (*reading.at != '\0')
        return wrong(&reading, reading.at, "\"and\" or the end is right here",
                     strncmp(reading.at, "||", 2) == 0 || is_word(reading.at, word_length(reading.at), "or")
                         ? "alternatives are not known: all terms must hold"
                         : "it goes on behind a term");
    *ret_objective = (struct objective){.terms = terms, .term_count = count, .text = pl_strdup(arena, text)};
    return PL_OK;
}

/* ---- judging ---- */

static bool holds(enum objective_relation relation, double value, double limit)
{
    switch (relation) {
    case OBJECTIVE_LESS:
        return value < limit;
    case OBJECTIVE_AT_MOST:
        return value <= limit;
    case OBJECTIVE_MORE:
        return value > limit;
    case OBJECTIVE_AT_LEAST:
        break;
    }
    return value >= limit;
}

static int64_t censored_count(const struct objective_view *view)
{
    return view->censored == NULL ? 0 : view->censored->total;
}

static double mean_of(const struct objective_view *view)
{
    __int128_t sum = view->response->sum + (view->censored == NULL ? 0 : view->censored->sum);
    return (double)sum / (double)(view->response->total + censored_count(view));
}

/* false: there is nothing to be measured. */
static bool measured(const struct objective_term *term, const struct objective_view *view, double *ret_value,
                     bool *ret_at_least)
{
    bool any = view->response->total + censored_count(view) > 0;
    switch (term->measure) {
    case OBJECTIVE_QUANTILE:
        *ret_value = (double)hist_quantile_censored(view->response, view->censored, term->quantile, ret_at_least);
        return any;
    case OBJECTIVE_MEAN:
        *ret_at_least = censored_count(view) > 0;
        *ret_value = any ? mean_of(view) : 0;
        return any;
    case OBJECTIVE_ERRORS:
        *ret_value = view->due > 0 ? (double)(view->due - view->completed) / (double)view->due : 0;
        return view->due > 0;
    case OBJECTIVE_RATE:
        *ret_value = view->window_s > 0 ? (double)view->completed / view->window_s : 0;
        return view->window_s > 0 && view->due > 0;
    case OBJECTIVE_COUNT:
        break;
    }
    *ret_value = (double)view->completed;
    return view->due > 0;
}

enum objective_verdict objective_judge_term(const struct objective_term *term, const struct objective_view *view,
                                            double *ret_value, bool *ret_at_least)
{
    *ret_value = 0;
    *ret_at_least = false;
    if (!measured(term, view, ret_value, ret_at_least))
        return OBJECTIVE_NO_DATA;
    bool is_held = holds(term->relation, *ret_value, term->limit);
    bool is_upper = term->relation == OBJECTIVE_LESS || term->relation == OBJECTIVE_AT_MOST;
    /* more than is known could turn what holds below a limit, and what fails above one */
    if (*ret_at_least && is_held == is_upper)
        return OBJECTIVE_NO_DATA;
    return is_held ? OBJECTIVE_HOLDS : OBJECTIVE_FAILS;
}

enum objective_verdict objective_judge(const struct objective *objective, const struct objective_view *view)
{
    enum objective_verdict verdict = OBJECTIVE_HOLDS;
    assert(objective->term_count > 0);
    for (size_t i = 0; i < objective->term_count && verdict != OBJECTIVE_FAILS; i++) {
        double value;
        bool at_least;
        enum objective_verdict of_term = objective_judge_term(&objective->terms[i], view, &value, &at_least);
        if (of_term != OBJECTIVE_HOLDS)
            verdict = of_term;
    }
    return verdict;
}
