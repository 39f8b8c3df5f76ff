/* Private to src/pgbench: what slices add up to. One ledger of everything: every line of a report comes from here. */
#ifndef PL_PGBENCH_COLLECT_INT_H
#define PL_PGBENCH_COLLECT_INT_H

#include "load/load.h"
#include "pgbench/options_int.h"
#include "record/sink.h"
#include "stats/hist.h"

struct pgbench_cell {
    struct ledger ledger;
    struct attempts attempts;
    int64_t completed_in_window;             /* of ledger.completed: ended before the measured window did */
    struct hist response, service, lateness; /* ns; of transactions that were completed */
};

struct pgbench_total {
    const struct pgbench_options *options;
    const char *server_version;     /* "15.20", as the server says */
    struct dataset_found data;      /* scale and partitions as found or given */
    struct pgbench_cell whole;      /* all scripts */
    struct pgbench_cell *scripts;   /* [script_count] */
    struct pgbench_cell **commands; /* [script_count][program->command_count]; only service, completed, failed, attempts;
                                       NULL without report_per_command */
    struct load_result result;
    int64_t start_unix_ns; /* wall clock at result.warm_up_start_ns */
    bool was_interrupted;
    /* When clients ended early (monotonic), inside the window or after it: by pgbench_total_client_ended. */
    int64_t *ended_ns; /* [clients] */
    int64_t ended_count;
    int64_t first_ended_ns; /* 0: none has */
};

void pgbench_total_init(struct pgbench_total *total, const struct pgbench_options *options);
void pgbench_total_release(struct pgbench_total *total);
/* A slice of the load; its script counts among options->scripts. */
void pgbench_total_add(struct pgbench_total *total, const struct slice *slice);
void pgbench_total_client_ended(struct pgbench_total *total, int64_t at_ns); /* once for each that does */

/* Completed transactions per second of the window, without and with the time to connect before it. With -C both contain
 * the time to connect, because it lies inside the window. 0 when there was no window. */
double pgbench_tps(const struct pgbench_total *total);
double pgbench_tps_with_connecting(const struct pgbench_total *total);

/* The same of one script; its transactions that have ended, however; and the share of all scripts' that they are. */
double pgbench_tps_of(const struct pgbench_total *total, const struct pgbench_cell *cell);
int64_t pgbench_ended(const struct pgbench_cell *cell);

/* How much of what was asked for the figures cover, 0..1, 1 when no client ended early. By time: the share of the clients'
 * time in the window that was asked for (to the interruption, when there was one) for which they were there; by count: the
 * share of the transactions asked for that have ended. */
double pgbench_covered_frac(const struct pgbench_total *total);

/* Is nothing missing from the window: was the run not interrupted, or only after its end? */
bool pgbench_is_window_whole(const struct pgbench_total *total);

/* Share of one core that the workers used inside the window, per worker, 0..1 (several workers: their mean); and whether
 * the client was the limit: workers busy for more than 0.9 of the window, or in an open loop transactions that were sent
 * late although clients were free. why: a sentence with the figures. */
bool pgbench_is_client_bound(const struct pgbench_total *total, double *ret_busy_frac, char *why, size_t why_size);

#endif
