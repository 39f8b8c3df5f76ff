/* Objectives: "p99 < 50ms", "errors < 0.1%", "rate >= 200/s", and k6's thresholds ("p(95)<500", "http_req_duration:
 * avg<200", "http_req_failed: rate<0.01"), where a number without a unit is in ms. Several are joined by "and" (also "&&").
 */
#ifndef PL_STATS_OBJECTIVE_H
#define PL_STATS_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "stats/hist.h"

enum objective_measure {
    OBJECTIVE_QUANTILE, /* of the response: p50, p99.9, p(95), med, min, max */
    OBJECTIVE_MEAN,     /* mean, avg */
    OBJECTIVE_ERRORS,   /* share of due operations that did not complete: failed, expired, unfinished, skipped */
    OBJECTIVE_RATE,     /* completed per second */
    OBJECTIVE_COUNT     /* completed */
};
enum objective_relation { OBJECTIVE_LESS, OBJECTIVE_AT_MOST, OBJECTIVE_MORE, OBJECTIVE_AT_LEAST };
enum objective_verdict { OBJECTIVE_HOLDS, OBJECTIVE_FAILS, OBJECTIVE_NO_DATA };

struct objective_term {
    enum objective_measure measure;
    enum objective_relation relation;
    double quantile;  /* QUANTILE */
    double limit;     /* ns, a fraction, per second, or a count */
    const char *text; /* this term, "p99 < 50ms" */
};
struct objective {
    const struct objective_term *terms;
    size_t term_count;
    const char *text; /* as given */
};

/* PL_INPUT: what is wrong and what would be right, with a caret line as hint. */
PL_MUST_CHECK enum pl_code objective_parse(const char *text, struct pl_arena *arena, struct objective *ret_objective,
                                           struct pl_err *err);

/* What there is to be judged. censored: operations that had no answer yet, as "at least" this long; may be NULL. */
struct objective_view {
    const struct hist *response, *censored;
    int64_t due, completed;
    double window_s;
};

/* One term. *ret_value: what was measured, in the term's unit; *ret_at_least: it is only known to be so much or more. A
 * limit on a quantile that is only known from below fails when that is beyond it, and has no data when it cannot be told.
 */
enum objective_verdict objective_judge_term(const struct objective_term *term, const struct objective_view *view,
                                            double *ret_value, bool *ret_at_least);
/* All: fails when one does, else no data when one has none. */
enum objective_verdict objective_judge(const struct objective *objective, const struct objective_view *view);

#endif
