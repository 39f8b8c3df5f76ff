/* Private to src/pgbench: logs, progress, and the files of results. All from the conducting thread. */
#ifndef PL_PGBENCH_OUTPUT_INT_H
#define PL_PGBENCH_OUTPUT_INT_H

#include <stdio.h>

#include "pgbench/collect_int.h"

/* ---- report: standard output, pgbench's lines in pgbench's order, then our own block ---- */
void pgbench_report(FILE *out, const struct pgbench_total *total);
/* Its second half: what pgbench does not say. */
void pgbench_report_own(FILE *out, const struct pgbench_total *total);
/* Why no transaction was completed, half a sentence; only when none was. */
const char *pgbench_why_nothing(const struct pgbench_total *total, char *buf, size_t size);

/* ---- logs: one file a worker, PREFIX.PID and PREFIX.PID.k ---- */
struct pgbench_log;
/* Creates the files. PL_IO with the name when one cannot be. */
PL_MUST_CHECK enum pl_code pgbench_log_open(const struct pgbench_options *options, int workers, int pid,
                                            struct pgbench_log **ret_log, struct pl_err *err);
/* unix_minus_monotonic_ns: wall clock = monotonic + this; start_ns: when the load's clock starts (monotonic). */
void pgbench_log_start(struct pgbench_log *log, int64_t start_ns, int64_t unix_minus_monotonic_ns);
/* For sink.operations. */
PL_MUST_CHECK enum pl_code pgbench_log_operations(struct pgbench_log *log, int worker, const struct operation *operations,
                                                  size_t count, struct pl_err *err);
/* Writes what is left, the last interval included, which ends at end_ns, and closes. NULL is fine. Frees. */
PL_MUST_CHECK enum pl_code pgbench_log_close(struct pgbench_log *log, int64_t end_ns, struct pl_err *err);

/* ---- progress: standard error, from slices (load_spec.slice_ns is the interval of the progress) ----
 * One line an interval. What is under way when a run by time ends is counted in its last line, unless that takes longer
 * than an interval; a run that ends inside an interval has a last line for the part of it. So all lines together hold
 * every transaction, once. */
struct pgbench_progress;
struct pgbench_progress *pgbench_progress_new(const struct pgbench_options *options, int workers, FILE *out);
void pgbench_progress_start(struct pgbench_progress *progress, int64_t start_ns, int64_t unix_minus_monotonic_ns);
/* Prints the line of an interval once the slices of all workers that end in it are there. */
void pgbench_progress_slice(struct pgbench_progress *progress, const struct slice *slice);
void pgbench_progress_free(struct pgbench_progress *progress); /* what was not printed is printed; NULL is fine */

/* ---- what may be told of how the server was reached (conninfo.c) ---- */
/* The settings of a libpq string or URI that are no secret, in libpq's order; what libpq itself would not show on a screen
 * (password, sslpassword, keys) is left out. Returns their count: 0 also when libpq cannot read it. */
size_t pgbench_conninfo_public(const char *conninfo, struct pl_arena *arena, struct param **ret_params);

/* The command line as one could type it again, without secrets: in arguments that libpq reads as a connection string the
 * secret ones are left out. Arguments are quoted for a shell where need be. */
const char *pgbench_command_public(int argc, char **argv, struct pl_arena *arena);

/* ---- files ---- */
PL_MUST_CHECK enum pl_code pgbench_json_write(const char *path, const struct pgbench_total *total, struct pl_err *err);
/* response of all scripts as HdrHistogram's percentile listing, values in milliseconds */
PL_MUST_CHECK enum pl_code pgbench_hgrm_write(const char *path, const struct pgbench_total *total, struct pl_err *err);

/* ---- a study of one stage, one case, one trial, that `plimsoll page` can print ---- */
struct pgbench_study;
/* Before the load: refuses when the file exists. conn: for facts about the server. */
PL_MUST_CHECK enum pl_code pgbench_study_open(const struct pgbench_options *options, PGconn *conn, int argc, char **argv,
                                              struct pgbench_study **ret_study, struct pl_err *err);
/* The store's sink: slices and faults go there. */
struct sink *pgbench_study_sink(struct pgbench_study *study);
PL_MUST_CHECK enum pl_code pgbench_study_close(struct pgbench_study *study, const struct pgbench_total *total,
                                               struct pl_err *err); /* frees; NULL is fine */

#endif
