/* Private to src/httpload: what one load adds up to. Every line of every output comes from here. */
#ifndef PL_HTTPLOAD_COLLECT_INT_H
#define PL_HTTPLOAD_COLLECT_INT_H

#include "httpload/options_int.h"
#include "load/load.h"
#include "record/record.h"
#include "stats/hist.h"

/* Operations that were due in the measured window: of all, of a script, of a group of tenants. */
struct httpload_cell {
    struct ledger ledger;
    struct attempts attempts;
    int64_t completed_in_window;             /* of ledger.completed: ended before the measured window did */
    struct hist response, service, lateness; /* ns; of completed ones */
    struct hist censored;                    /* ns; without an answer after so long */
};

/* One request of a script. */
struct httpload_step {
    int64_t completed, failed, expired, retries;
    struct hist service, censored;
};

/* What went wrong, by what the load calls it ("connect:ECONNREFUSED"). */
struct httpload_fault {
    const char *code, *example;
    int64_t count, before_window; /* before_window: of count, in the warm-up */
    int64_t first_ns;             /* since the start of the load */
};

struct httpload_total {
    const struct httpload_options *options;
    double rate_per_s; /* that was asked for; 0: a closed loop */
    uint64_t seed;     /* of this load: trials of a search have their own */
    struct pl_arena *arena;
    struct httpload_cell whole, *scripts, *groups; /* groups: NULL without tenants */
    struct httpload_step **steps;                  /* [script_count][io_step_count] */
    struct httpload_fault *faults;
    size_t fault_count, fault_capacity;
    struct load *load; /* owned: the result points into it */
    struct load_result result;
    const char *mark; /* load_result_mark: the client was the limit, or did not keep its schedule; NULL: neither */
    int64_t start_unix_ns, start_ns;
    bool was_interrupted;
};

void httpload_total_init(struct httpload_total *total, const struct httpload_options *options, double rate_per_s);
void httpload_total_release(struct httpload_total *total); /* frees the load too */

void httpload_total_add(struct httpload_total *total, const struct slice *slice);
void httpload_total_fault(struct httpload_total *total, const struct fault *fault);
/* After load_finish: takes the mark. */
void httpload_total_end(struct httpload_total *total);

/* A row of latencies. Quantiles above which something is only known from below say so. */
enum { HTTPLOAD_QUANTILES = 7 };
extern const double httpload_quantiles[HTTPLOAD_QUANTILES];           /* min, p50, p90, p95, p99, p99.9, max */
extern const char *const httpload_quantile_names[HTTPLOAD_QUANTILES]; /* "min", "p50", ... "p99_9", "max" */
struct httpload_latency {
    int64_t count, censored; /* censored: of count */
    double mean_ns;
    bool mean_at_least;
    int64_t ns[HTTPLOAD_QUANTILES];
    bool at_least[HTTPLOAD_QUANTILES];
};
/* censored: NULL for none. */
struct httpload_latency httpload_latency_of(const struct hist *ended, const struct hist *censored);

double httpload_completed_per_s(const struct httpload_total *total); /* of the window; 0 without one */
double httpload_due_per_s(const struct httpload_total *total);

/* ---- verdicts ---- */

struct objective_view httpload_view(const struct httpload_total *total);
/* Whether the run is as the objective wants it: a --fail-if that is true FAILS. */
enum objective_verdict httpload_judge(const struct httpload_total *total, const struct httpload_objective *objective);
/* "pass", "fail", "no_data". */
const char *httpload_verdict_name(enum objective_verdict verdict);
/* All objectives; "none" when there are none. */
const char *httpload_verdict(const struct httpload_total *total);

/* Something went wrong that was not asked for: failed or expired operations, ones without an end, nothing completed. */
bool httpload_has_failed(const struct httpload_total *total);

enum httpload_exit {
    HTTPLOAD_GOOD = 0,
    HTTPLOAD_MISSED = 1,
    HTTPLOAD_WRONG = 2,
    HTTPLOAD_FAILED = 3,
    HTTPLOAD_NO_DATA = 4,
    HTTPLOAD_INTERRUPTED = 130
};
/* Of the two the one that counts: the first of 130, 2, 1, 4, 3. */
enum httpload_exit httpload_exit_worse(enum httpload_exit a, enum httpload_exit b);
enum httpload_exit httpload_exit_of(const struct httpload_total *total);

#endif
