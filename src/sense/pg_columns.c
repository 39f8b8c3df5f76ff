/* Which columns of PostgreSQL's views are read, and the queries that read them. Columns are looked for in the server's own
 * catalog, never derived from its version: a release that moves a column needs a row here, and one that only drops it needs
 * nothing. Several rows may give one metric: the first whose column exists wins. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "sense/sense_int.h"

#include "base/ban.h"

enum pg_view { VIEW_DATABASE, VIEW_WAL, VIEW_CHECKPOINTER, VIEW_BGWRITER, VIEW_IO_WAL, VIEW_IO_RELATION, VIEW_COUNT };

static const struct {
    const char *name;  /* as the catalog knows it */
    const char *where; /* the database's name follows that of VIEW_DATABASE */
    bool sum;          /* of many rows; else the view has one row at most */
    const char *how;
} pg_views[VIEW_COUNT] = {
    [VIEW_DATABASE] = {"pg_stat_database", " WHERE datname = ", false, " of the load's database"},
    [VIEW_WAL] = {"pg_stat_wal", "", false, ""},
    [VIEW_CHECKPOINTER] = {"pg_stat_checkpointer", "", false, ""},
    [VIEW_BGWRITER] = {"pg_stat_bgwriter", "", false, ""},
    [VIEW_IO_WAL] = {"pg_stat_io", " WHERE object = 'wal'", true, ", sum of object wal"},
    [VIEW_IO_RELATION] = {"pg_stat_io", " WHERE object LIKE '%relation'", true, ", sum of relations and temp relations"},
};

enum pg_scale { SCALE_ONE, SCALE_MS_TO_NS };

static const struct pg_column {
    enum pg_view view;
    const char *column, *metric, *unit;
    enum pg_scale scale;
} pg_columns[] = {
    {VIEW_DATABASE, "xact_commit", "commits", "count", SCALE_ONE},
    {VIEW_DATABASE, "xact_rollback", "rollbacks", "count", SCALE_ONE},
    {VIEW_DATABASE, "deadlocks", "deadlocks", "count", SCALE_ONE},
    {VIEW_DATABASE, "conflicts", "conflicts", "count", SCALE_ONE},
    {VIEW_DATABASE, "sessions", "connections_opened", "count", SCALE_ONE},
    {VIEW_DATABASE, "temp_files", "temp_files", "count", SCALE_ONE},
    {VIEW_DATABASE, "temp_bytes", "temp_bytes", "bytes", SCALE_ONE},
    {VIEW_DATABASE, "blks_read", "blocks_read", "count", SCALE_ONE},
    {VIEW_DATABASE, "blks_hit", "blocks_hit", "count", SCALE_ONE},
    {VIEW_DATABASE, "tup_returned", "tuples_returned", "count", SCALE_ONE},
    {VIEW_DATABASE, "tup_fetched", "tuples_fetched", "count", SCALE_ONE},
    {VIEW_DATABASE, "tup_inserted", "tuples_inserted", "count", SCALE_ONE},
    {VIEW_DATABASE, "tup_updated", "tuples_updated", "count", SCALE_ONE},
    {VIEW_DATABASE, "tup_deleted", "tuples_deleted", "count", SCALE_ONE},
    {VIEW_WAL, "wal_records", "wal_records", "count", SCALE_ONE},
    {VIEW_WAL, "wal_fpi", "wal_fpi", "count", SCALE_ONE},
    {VIEW_WAL, "wal_bytes", "wal_bytes", "bytes", SCALE_ONE},
    {VIEW_WAL, "wal_fpi_bytes", "wal_fpi_bytes", "bytes", SCALE_ONE},
    {VIEW_WAL, "wal_buffers_full", "wal_buffers_full", "count", SCALE_ONE},
    {VIEW_WAL, "wal_write", "wal_writes", "count", SCALE_ONE},
    {VIEW_IO_WAL, "writes", "wal_writes", "count", SCALE_ONE},
    {VIEW_WAL, "wal_sync", "wal_syncs", "count", SCALE_ONE},
    {VIEW_IO_WAL, "fsyncs", "wal_syncs", "count", SCALE_ONE},
    {VIEW_CHECKPOINTER, "num_timed", "checkpoints_timed", "count", SCALE_ONE},
    {VIEW_BGWRITER, "checkpoints_timed", "checkpoints_timed", "count", SCALE_ONE},
    {VIEW_CHECKPOINTER, "num_requested", "checkpoints_requested", "count", SCALE_ONE},
    {VIEW_BGWRITER, "checkpoints_req", "checkpoints_requested", "count", SCALE_ONE},
    {VIEW_CHECKPOINTER, "num_done", "checkpoints_done", "count", SCALE_ONE},
    {VIEW_CHECKPOINTER, "buffers_written", "checkpoint_buffers", "count", SCALE_ONE},
    {VIEW_BGWRITER, "buffers_checkpoint", "checkpoint_buffers", "count", SCALE_ONE},
    {VIEW_CHECKPOINTER, "write_time", "checkpoint_write_ns", "ns", SCALE_MS_TO_NS},
    {VIEW_BGWRITER, "checkpoint_write_time", "checkpoint_write_ns", "ns", SCALE_MS_TO_NS},
    {VIEW_CHECKPOINTER, "sync_time", "checkpoint_sync_ns", "ns", SCALE_MS_TO_NS},
    {VIEW_BGWRITER, "checkpoint_sync_time", "checkpoint_sync_ns", "ns", SCALE_MS_TO_NS},
    {VIEW_BGWRITER, "buffers_clean", "bgwriter_buffers", "count", SCALE_ONE},
    {VIEW_BGWRITER, "buffers_alloc", "buffers_allocated", "count", SCALE_ONE},
    {VIEW_BGWRITER, "buffers_backend", "backend_buffers", "count", SCALE_ONE},
    {VIEW_IO_RELATION, "reads", "relation_reads", "count", SCALE_ONE},
    {VIEW_IO_RELATION, "writes", "relation_writes", "count", SCALE_ONE},
    {VIEW_IO_RELATION, "extends", "relation_extends", "count", SCALE_ONE},
    {VIEW_IO_RELATION, "evictions", "buffer_evictions", "count", SCALE_ONE},
    {VIEW_IO_RELATION, "fsyncs", "relation_syncs", "count", SCALE_ONE},
};

enum { PG_COLUMNS = sizeof pg_columns / sizeof *pg_columns };
_Static_assert((int)PG_COLUMNS <= (int)SENSE_PG_METERS, "room for every column");

/* Counts of one look at pg_stat_activity, of which our own connections are left out. */
static const struct {
    const char *metric, *where;
} pg_activities[] = {
    {"connections", "client"},
    {"connections_active", "client AND state = 'active'"},
    {"connections_idle", "client AND state = 'idle'"},
    {"connections_idle_in_transaction", "client AND state LIKE 'idle in transaction%'"},
    {"connections_waiting", "client AND state = 'active' AND wait_event_type IS NOT NULL"},
    {"connections_waiting_lock", "client AND state = 'active' AND wait_event_type = 'Lock'"},
    {"connections_waiting_lwlock", "client AND state = 'active' AND wait_event_type = 'LWLock'"},
    {"connections_waiting_io", "client AND state = 'active' AND wait_event_type = 'IO'"},
    {"connections_waiting_ipc", "client AND state = 'active' AND wait_event_type = 'IPC'"},
    {"connections_waiting_buffer", "client AND state = 'active' AND wait_event_type LIKE 'Buffer%'"},
    {"connections_waiting_client", "client AND state = 'active' AND wait_event_type = 'Client'"},
    {"connections_waiting_timeout", "client AND state = 'active' AND wait_event_type = 'Timeout'"},
    {"connections_waiting_extension", "client AND state = 'active' AND wait_event_type = 'Extension'"},
    {"autovacuum_workers", "backend_type = 'autovacuum worker'"},
    {"parallel_workers", "backend_type = 'parallel worker'"},
};

const char sense_pg_catalog_sql[] =
    "SELECT coalesce(string_agg(line, E'\\n'), '') FROM ("
    "SELECT c.relname || '.' || a.attname AS line FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = "
    "a.attrelid WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid IN ("
    "to_regclass('pg_catalog.pg_stat_activity'), to_regclass('pg_catalog.pg_stat_database'), "
    "to_regclass('pg_catalog.pg_stat_wal'), to_regclass('pg_catalog.pg_stat_bgwriter'), "
    "to_regclass('pg_catalog.pg_stat_checkpointer'), to_regclass('pg_catalog.pg_stat_io'))"
    " UNION ALL SELECT 'role.pg_read_all_stats' WHERE pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')) AS lines";

static bool catalog_has(const char *catalog, const char *view, const char *column)
{
    char line[160];
    int length = snprintf(line, sizeof line, "%s.%s", view, column);
    if (length < 0 || (size_t)length >= sizeof line)
        return false;
    for (const char *at = catalog; *at != '\0';) {
        size_t here = strcspn(at, "\n");
        if (here == (size_t)length && memcmp(at, line, here) == 0)
            return true;
        at += here + (at[here] != '\0');
    }
    return false;
}

static void query_add(struct sense_pg_query *query, const char *metric, const char *unit, enum metric_kind kind,
                      enum sense_rule rule, const char *how)
{
    query->defs[query->count] = (struct sense_def){.name = metric, .unit = unit, .kind = kind, .rule = rule};
    query->hows[query->count] = how;
    query->count++;
}

static bool query_has(const struct sense_pg_query *query, const char *metric)
{
    for (int i = 0; i < query->count; i++)
        if (strcmp(query->defs[i].name, metric) == 0)
            return true;
    return false;
}

void sense_pg_fast_query(const char *catalog, struct pl_arena *arena, struct sense_pg_query *ret_query)
{
    enum { ACTIVITIES = sizeof pg_activities / sizeof *pg_activities };
    _Static_assert((int)ACTIVITIES + 1 <= (int)SENSE_PG_METERS, "room for every count");
    struct sense_pg_query query = {.sql = "", .count = 0};
    struct pl_buf sql;
    pl_buf_init(&sql, 1 << 16);
    pl_buf_put(&sql, "SELECT (CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE "
                     "pg_catalog.pg_current_wal_lsn() END - '0/0'::pg_catalog.pg_lsn)::numeric");
    query_add(&query, "wal_lsn_bytes", "bytes", METRIC_COUNTER, SENSE_PLAIN,
              "pg_current_wal_lsn(), bytes since 0/0 (of a standby: pg_last_wal_replay_lsn())");
    bool activity =
        catalog_has(catalog, "role", "pg_read_all_stats") && catalog_has(catalog, "pg_stat_activity", "backend_type") &&
        catalog_has(catalog, "pg_stat_activity", "state") && catalog_has(catalog, "pg_stat_activity", "wait_event_type");
    for (int i = 0; activity && i < (int)ACTIVITIES; i++) {
        pl_buf_printf(&sql, ", count(*) FILTER (WHERE %s)", pg_activities[i].where);
        query_add(&query, pg_activities[i].metric, "count", METRIC_GAUGE, SENSE_PLAIN,
                  pl_format(arena, "pg_stat_activity: %s; the sensors' own connections left out", pg_activities[i].where));
    }
    if (activity)
        pl_buf_put(&sql,
                   " FROM (SELECT backend_type, state, wait_event_type, backend_type = 'client backend' AS client FROM "
                   "pg_catalog.pg_stat_activity WHERE pid <> pg_catalog.pg_backend_pid() AND "
                   "coalesce(application_name, '') <> 'plimsoll-sense') AS sessions");
    query.sql = pl_strdup(arena, pl_buf_text(&sql));
    pl_buf_release(&sql);
    *ret_query = query;
}

/* LEFT JOIN (SELECT the chosen columns FROM the view) AS vN ON true */
static void put_join(struct pl_buf *sql, enum pg_view view, const bool *chosen, const char *database)
{
    bool any = false;
    for (size_t i = 0; i < PG_COLUMNS; i++) {
        if (!chosen[i] || pg_columns[i].view != view)
            continue;
        pl_buf_put(sql, any ? ", " : " LEFT JOIN (SELECT ");
        pl_buf_printf(sql, "%s(%s) AS %s", pg_views[view].sum ? "sum" : "", pg_columns[i].column, pg_columns[i].column);
        any = true;
    }
    if (any)
        pl_buf_printf(sql, " FROM pg_catalog.%s%s%s) AS v%d ON true", pg_views[view].name, pg_views[view].where,
                      view == VIEW_DATABASE ? database : "", (int)view);
}

void sense_pg_slow_query(const char *catalog, const char *database, struct pl_arena *arena,
                         struct sense_pg_query *ret_query)
{
    struct sense_pg_query query = {.sql = "", .count = 0};
    bool chosen[PG_COLUMNS] = {false};
    struct pl_buf sql;
    pl_buf_init(&sql, 1 << 16);
    for (size_t i = 0; i < PG_COLUMNS; i++) {
        const struct pg_column *column = &pg_columns[i];
        const char *view = pg_views[column->view].name;
        if (query_has(&query, column->metric) || !catalog_has(catalog, view, column->column))
            continue;
        chosen[i] = true;
        pl_buf_printf(&sql, "%s(v%d.%s%s)::float8", query.count == 0 ? "SELECT " : ", ", (int)column->view, column->column,
                      column->scale == SCALE_MS_TO_NS ? " * 1e6" : "");
        query_add(&query, column->metric, column->unit, METRIC_COUNTER, SENSE_REBASE,
                  pl_format(arena, "%s.%s%s", view, column->column, pg_views[column->view].how));
    }
    pl_buf_put(&sql, " FROM (SELECT 1) AS one");
    for (int i = 0; i < (int)VIEW_COUNT; i++)
        put_join(&sql, (enum pg_view)i, chosen, database);
    query.sql = query.count > 0 ? pl_strdup(arena, pl_buf_text(&sql)) : "";
    pl_buf_release(&sql);
    *ret_query = query;
}
