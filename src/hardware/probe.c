/* The probes, repeated, as samples. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "hardware/hardware_int.h"
#include "service/spawn.h"
#include "wire/pgconn.h"

#include "base/ban.h"

static const char source[] = "hardware";

/* Of one statement: a server that hangs must not hang the study. */
static const int64_t statement_limit_ns = 60 * PL_NS_PER_S;
static const int64_t connect_limit_ns = 30 * PL_NS_PER_S;

enum probe { PROBE_FLUSH, PROBE_COMMIT, PROBE_ROUND_TRIP, PROBE_COUNT };

enum { PROBE_METRICS_MAX = 4 };

struct probe_metric {
    const char *name, *unit;
};

/* What each probe yields, in the order in which it fills its values. */
static const struct probe_row {
    const char *name, *how;
    struct probe_metric metrics[PROBE_METRICS_MAX];
    int metric_count;
} probes[PROBE_COUNT] = {
    [PROBE_FLUSH] = {"flush",
                     "fio, 8 KiB sequential writes with fsync after each: latency of fsync",
                     {{"flush_p50_ns", "ns"}, {"flush_p99_ns", "ns"}, {"flush_per_s", "1/s"}, {"flush_count", "count"}},
                     4},
    [PROBE_COMMIT] = {"commit",
                      "one-row inserts, each a transaction of its own, one connection",
                      {{"commit_p50_ns", "ns"}, {"commit_p99_ns", "ns"}, {"commit_count", "count"}},
                      3},
    [PROBE_ROUND_TRIP] = {"round_trip",
                          "SELECT 1 as a simple query, one connection",
                          {{"round_trip_p50_ns", "ns"}, {"round_trip_p99_ns", "ns"}, {"round_trip_count", "count"}},
                          3},
};

struct probing {
    const struct hardware_spec *spec;
    struct sink *sink;
    int64_t first_id[PROBE_COUNT]; /* 0: the probe is left out */
    int64_t next_id;
    char fio[512];
    PGconn *conn;
    char table[64];
};

static bool is_stopped(const struct probing *probing)
{
    return probing->spec->stop != NULL && *probing->spec->stop != 0;
}

static void probe_note(const struct probing *probing, enum probe probe, const char *reason)
{
    char name[64];
    snprintf(name, sizeof name, "probe.%s", probes[probe].name);
    struct fact fact = {.scope = "host", .name = name, .value = reason, .unit = "", .how = probes[probe].how};
    if (probing->spec->note != NULL)
        probing->spec->note(probing->spec->note_ctx, &fact);
}

static enum pl_code probe_declare(struct probing *probing, enum probe probe, struct pl_err *err)
{
    probing->first_id[probe] = probing->next_id;
    for (int i = 0; i < probes[probe].metric_count; i++) {
        struct metric metric = {.id = probing->next_id++,
                                .source = source,
                                .name = probes[probe].metrics[i].name,
                                .unit = probes[probe].metrics[i].unit,
                                .kind = METRIC_GAUGE,
                                .how = probes[probe].how};
        enum pl_code code = probing->sink->metric(probing->sink->ctx, &metric, err);
        if (code != PL_OK)
            return code;
    }
    return PL_OK;
}

static enum pl_code probe_push(struct probing *probing, enum probe probe, const double *values, struct pl_err *err)
{
    int64_t now_ns = pl_clock_ns();
    for (int i = 0; i < probes[probe].metric_count; i++) {
        struct sample sample = {.trial_id = probing->spec->trial_id,
                                .t_ns = now_ns,
                                .phase = PHASE_MEASURE,
                                .metric_id = probing->first_id[probe] + i,
                                .value = values[i]};
        enum pl_code code = probing->sink->sample(probing->sink->ctx, &sample, err);
        if (code != PL_OK)
            return code;
    }
    return PL_OK;
}

/* The server failed: data of the study, and the end of what needs the server. */
static enum pl_code probe_fault(struct probing *probing, const PGresult *result, const char *message, struct pl_err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    struct fault fault = {.trial_id = probing->spec->trial_id,
                          .source = source,
                          .phase = PHASE_MEASURE,
                          .code = state != NULL ? state : "CONNECTION",
                          .count = 1,
                          .first_ns = pl_clock_ns(),
                          .example = message};
    for (int probe = PROBE_COMMIT; probe <= PROBE_ROUND_TRIP; probe++) {
        probe_note(probing, (enum probe)probe, message);
        probing->first_id[probe] = 0;
    }
    return probing->sink->fault(probing->sink->ctx, &fault, err);
}

/* Runs a statement; false when the server failed, which has then been told (with *ret_code for the sink's answer). */
static bool probe_exec(struct probing *probing, const char *sql, enum pl_code *ret_code, struct pl_err *err)
{
    PGresult *result = NULL;
    struct pl_err failed = {0};
    enum pl_code code = pgquery_run_unless(probing->conn, sql, statement_limit_ns, probing->spec->stop, &result, &failed);
    if (code == PL_INTERRUPTED)
        *ret_code = pl_err_set(err, code, "%s", failed.what);
    else if (code != PL_OK)
        *ret_code = probe_fault(probing, result, failed.what, err);
    PQclear(result);
    return code == PL_OK;
}

/* Clearing up, also after a stop. A connection on which a statement still runs is of no use for it. */
static void probe_forget(struct probing *probing, const char *sql)
{
    struct pl_err ignored = {0}; /* the server is a throwaway, and what went wrong with it was told already */
    if (PQtransactionStatus(probing->conn) == PQTRANS_IDLE &&
        pgquery_run(probing->conn, sql, 5 * PL_NS_PER_S, NULL, &ignored) != PL_OK)
        return;
}

/* Repeats one statement for the time; a first one, not counted, fills caches and makes the plan. */
static enum pl_code probe_statement(struct probing *probing, enum probe probe, const char *sql, struct pl_err *err)
{
    struct hist hist;
    enum pl_code code = PL_OK;
    if (!probe_exec(probing, sql, &code, err))
        return code;
    hist_init_latency(&hist);
    int64_t deadline_ns = pl_clock_ns() + probing->spec->for_ns;
    bool good = true;
    do {
        int64_t start_ns = pl_clock_ns();
        good = probe_exec(probing, sql, &code, err);
        if (good)
            hist_record(&hist, pl_clock_ns() - start_ns);
    } while (good && pl_clock_ns() < deadline_ns && !is_stopped(probing));
    if (good && !is_stopped(probing)) {
        double values[] = {(double)hist_quantile(&hist, 0.50), (double)hist_quantile(&hist, 0.99), (double)hist.total};
        code = probe_push(probing, probe, values, err);
    }
    hist_release(&hist);
    return code;
}

static enum pl_code probe_commit(struct probing *probing, struct pl_err *err)
{
    char sql[160];
    enum pl_code code = PL_OK;
    /* an ordinary table: a TEMPORARY one writes no log, so that its commits would flush nothing */
    snprintf(sql, sizeof sql, "CREATE TABLE %s (id bigint, t timestamptz)", probing->table);
    if (!probe_exec(probing, sql, &code, err))
        return code;
    snprintf(sql, sizeof sql, "EXECUTE plimsoll_probe");
    char prepare[200];
    snprintf(prepare, sizeof prepare, "PREPARE plimsoll_probe AS INSERT INTO %s VALUES (1, now())", probing->table);
    if (probe_exec(probing, prepare, &code, err)) {
        code = probe_statement(probing, PROBE_COMMIT, sql, err);
        probe_forget(probing, "DEALLOCATE plimsoll_probe");
    }
    snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS %s", probing->table);
    probe_forget(probing, sql);
    return code;
}

static enum pl_code probe_flush(struct probing *probing, struct pl_err *err)
{
    struct hardware_fio fio;
    enum pl_code code = hardware_run_fio(probing->fio, probing->spec->data_directory, probing->spec->for_ns,
                                         probing->spec->stop, &fio, err);
    if (code != PL_OK)
        return code;
    double values[] = {(double)fio.flush_p50_ns, (double)fio.flush_p99_ns, fio.writes_per_s, (double)fio.flush_count};
    return probe_push(probing, PROBE_FLUSH, values, err);
}

static enum pl_code probe_open(struct probing *probing, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    if (spawn_find_program("fio", probing->fio, sizeof probing->fio))
        code = probe_declare(probing, PROBE_FLUSH, err);
    else
        probe_note(probing, PROBE_FLUSH, "not measured: fio is not installed; the Debian package fio brings it");
    if (code != PL_OK || probing->spec->conninfo == NULL)
        return code;
    struct pl_err failed = {0};
    code = pgconn_open_unless(probing->spec->conninfo, connect_limit_ns, probing->spec->stop, &probing->conn, &failed);
    if (code == PL_INTERRUPTED)
        return pl_err_set(err, code, "%s", failed.what);
    if (code != PL_OK)
        return probe_fault(probing, NULL, failed.what, err);
    snprintf(probing->table, sizeof probing->table, "plimsoll_probe_%d", (int)getpid());
    code = probe_declare(probing, PROBE_COMMIT, err);
    return code == PL_OK ? probe_declare(probing, PROBE_ROUND_TRIP, err) : code;
}

static enum pl_code probe_all(struct probing *probing, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (int repeat = 0; repeat < probing->spec->repeats && code == PL_OK; repeat++) {
        if (probing->first_id[PROBE_FLUSH] != 0)
            code = probe_flush(probing, err);
        if (code == PL_OK && probing->first_id[PROBE_COMMIT] != 0)
            code = probe_commit(probing, err);
        if (code == PL_OK && probing->first_id[PROBE_ROUND_TRIP] != 0)
            code = probe_statement(probing, PROBE_ROUND_TRIP, "SELECT 1", err);
        if (code == PL_OK && is_stopped(probing))
            code = pl_err_set(err, PL_INTERRUPTED, "interrupted while the hardware was probed");
    }
    return code;
}

enum pl_code hardware_probe(const struct hardware_spec *spec, struct sink *sink, int64_t *ret_next_metric_id,
                            struct pl_err *err)
{
    struct probing probing = {.spec = spec, .sink = sink, .next_id = spec->first_metric_id};
    enum pl_code code = probe_open(&probing, err);
    if (code == PL_OK)
        code = probe_all(&probing, err);
    PQfinish(probing.conn);
    if (code == PL_OK)
        *ret_next_metric_id = probing.next_id;
    return code;
}
