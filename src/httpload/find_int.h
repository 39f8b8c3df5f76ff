/* Private to src/httpload: --find-max. The search itself is stats/search.h; here is the loop that carries its trials out.
 */
#ifndef PL_HTTPLOAD_FIND_INT_H
#define PL_HTTPLOAD_FIND_INT_H

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "httpload/collect_int.h"
#include "stats/search.h"

struct httpload_trial {
    double rate_per_s, due_per_s, completed_per_s;
    enum search_verdict verdict;
    int64_t due, completed;
    struct httpload_latency response;
    uint64_t seed;
    int64_t clients;
    bool waited;      /* it failed by the wait for a client: without it the objective was met */
    const char *mark; /* why its latencies are the client's, too; NULL: they are not */
};

struct httpload_find {
    struct search search;
    struct httpload_trial *trials; /* in the order of execution */
    size_t trial_count, trial_capacity;
};

/* Carries out one load at a rate, from a fresh start to the end of its drain. Fills all of the trial but rate_per_s. */
typedef enum pl_code httpload_try(void *context, double rate_per_s, struct httpload_trial *ret_trial, struct pl_err *err);

/* Runs trials until the search ends. An error of a trial (PL_INTERRUPTED too) ends it; what was tried until then stands. */
PL_MUST_CHECK enum pl_code httpload_find_run(struct httpload_find *find, const struct search_spec *spec,
                                             struct pl_arena *arena, httpload_try *try_rate, void *context,
                                             void (*on_trial)(const struct httpload_find *find), struct pl_err *err);

struct search_spec httpload_find_spec(const struct httpload_options *options);

/* What a finished load says. One that is marked may pass, as lateness of the client only lengthens responses, but what it
 * misses is NO_DATA. Unless the objective speaks of errors, a load in which more than 1 % of what was due did not complete
 * fails. */
struct httpload_trial httpload_find_trial(const struct httpload_total *total);

/* "found", "above_max", "below_min", "gave_up", "unfinished". */
const char *httpload_find_end_name(const struct httpload_find *find);
enum httpload_exit httpload_find_exit(const struct httpload_find *find);

/* ---- report ---- */
void httpload_find_put_trial(FILE *out, const struct httpload_find *find); /* the last one */
/* text: the objective as a terminal may see it. */
void httpload_find_put_answer(FILE *out, const struct httpload_find *find, const struct objective *objective,
                              const char *text);

#endif
