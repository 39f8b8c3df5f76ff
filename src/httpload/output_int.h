/* Private to src/httpload: report, live view, and the files of results. All from the conducting thread. */
#ifndef PL_HTTPLOAD_OUTPUT_INT_H
#define PL_HTTPLOAD_OUTPUT_INT_H

#include <stdio.h>

#include "httpload/collect_int.h"
#include "httpload/find_int.h"

/* ---- report ---- */

/* Everything but the last line. */
void httpload_report(FILE *out, const struct httpload_total *total);
/* Its second half: the protocol, what went wrong, the load's own health, objectives. */
void httpload_report_http(FILE *out, const struct httpload_total *total);
/* The last line, for grep: "plimsoll-http: verdict=pass exit=0 due=2000 ...". find may be NULL. */
void httpload_report_last(FILE *out, const struct httpload_total *total, const struct httpload_find *find,
                          enum httpload_exit exit_code);
/* A row of latencies in ms, and the line above it. */
void httpload_put_latency_head(FILE *out, const char *title);
void httpload_put_latency(FILE *out, const char *name, const struct hist *ended, const struct hist *censored);

/* ---- files ---- */

/* The whole result, docs/http.schema.json. path NULL: to standard output. find may be NULL. */
PL_MUST_CHECK enum pl_code httpload_json_write(const char *path, const struct httpload_total *total,
                                               const struct httpload_find *find, enum httpload_exit exit_code,
                                               struct pl_err *err);
PL_MUST_CHECK enum pl_code httpload_hgrm_write(const char *path, const struct httpload_total *total, struct pl_err *err);

/* A histogram a second, of operations due in the measured window, by when they ended. With tenants one for each group. */
struct httpload_hlog;
PL_MUST_CHECK enum pl_code httpload_hlog_open(const struct httpload_options *options, struct httpload_hlog **ret_hlog,
                                              struct pl_err *err);
PL_MUST_CHECK enum pl_code httpload_hlog_start(struct httpload_hlog *hlog, int64_t start_ns, int64_t start_unix_ns,
                                               struct pl_err *err);
PL_MUST_CHECK enum pl_code httpload_hlog_slice(struct httpload_hlog *hlog, const struct slice *slice, struct pl_err *err);
/* Writes what is left and closes. NULL is fine. Frees. */
PL_MUST_CHECK enum pl_code httpload_hlog_close(struct httpload_hlog *hlog, struct pl_err *err);

/* A line for each operation. */
struct httpload_log;
PL_MUST_CHECK enum pl_code httpload_log_open(const struct httpload_options *options, struct httpload_log **ret_log,
                                             struct pl_err *err);
void httpload_log_start(struct httpload_log *log, int64_t unix_minus_monotonic_ns);
PL_MUST_CHECK enum pl_code httpload_log_operations(struct httpload_log *log, const struct operation *operations,
                                                   size_t count, struct pl_err *err);
PL_MUST_CHECK enum pl_code httpload_log_close(struct httpload_log *log, struct pl_err *err); /* as above */

/* ---- live: one line each second ---- */
struct httpload_live {
    FILE *out; /* NULL: nobody wants it */
    bool is_terminal;
    int64_t start_ns, next_ns;
    int width;   /* of the line that stands on the terminal */
    int columns; /* of the terminal; 0: it is asked */
};
void httpload_live_begin(struct httpload_live *live, FILE *out, bool is_terminal, int64_t start_ns);
void httpload_live_look(struct httpload_live *live, const struct load_glance *glance, int64_t now_ns);
/* Before anything else is printed: takes the line off the terminal. */
void httpload_live_end(struct httpload_live *live);

#endif
