/* Asking PostgreSQL. One connection of our own, in autocommit, read only, to a database that the load does not use. Each
 * question has a deadline: a server that hangs costs one deadline, then the connection is given up and tried again later.
 */
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "sense/sense_int.h"
#include "wire/pgconn.h"

#include "base/ban.h"

#define PG_DEADLINE_NS (500 * PL_NS_PER_MS)
#define PG_STATEMENT_NS (400 * PL_NS_PER_MS) /* the server is to give up before we do */
#define PG_FIRST_NS (5 * PL_NS_PER_S)        /* the first connection: nothing is measured yet */
#define PG_SIZES_NS (10 * PL_NS_PER_S)       /* of sizes, at quiet points: every file of the database is looked at */
#define PG_RETRY_NS (5 * PL_NS_PER_S)

/* Our session must not disturb: it writes nothing, compiles nothing, and ends its own statements (text is our deadline). */
static const char pg_session_sql[] = "SET application_name = 'plimsoll-sense'; SET default_transaction_read_only = on; "
                                     "SET jit = off; SET max_parallel_workers_per_gather = 0; SET statement_timeout = ";

struct sense_postgres {
    char *conninfo, *load_conninfo; /* load_conninfo: NULL when no database was named */
    PGconn *conn;                   /* NULL: lost, or given up */
    int64_t retry_ns;               /* not before that, unless the pass is a mark */
    struct pl_arena *arena;
    struct sense_pg_query fast, slow;
    struct sense_meter fast_meters[SENSE_PG_METERS], slow_meters[SENSE_PG_METERS], database_meter;
    int64_t shared_bytes;
    struct pl_arena *found; /* of the last quiet pass; NULL before it */
    struct sense_relation *relations;
    size_t relation_count, relation_capacity;
};

static void conninfo_put(struct pl_buf *buf, const char *keyword, const char *value)
{
    pl_buf_printf(buf, "%s='", keyword);
    for (; *value != '\0'; value++) {
        if (*value == '\'' || *value == '\\')
            pl_buf_put(buf, "\\");
        pl_buf_put_bytes(buf, value, 1);
    }
    pl_buf_put(buf, "' ");
}

char *sense_pg_conninfo(const char *conninfo, const char *database)
{
    char *detail = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &detail);
    PQfreemem(detail);
    if (options == NULL)
        return NULL;
    struct pl_buf buf;
    pl_buf_init(&buf, 1 << 16);
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        bool replaced = strcmp(option->keyword, "application_name") == 0 ||
                        (database != NULL && strcmp(option->keyword, "dbname") == 0);
        if (option->val != NULL && !replaced)
            conninfo_put(&buf, option->keyword, option->val);
    }
    PQconninfoFree(options);
    if (database != NULL)
        conninfo_put(&buf, "dbname", database);
    conninfo_put(&buf, "application_name", "plimsoll-sense");
    char *text = NULL;
    if (!buf.full) {
        text = pl_new(buf.len + 1, 1);
        memcpy(text, pl_buf_text(&buf), buf.len + 1);
    }
    if (buf.data != NULL)
        explicit_bzero(buf.data, buf.len);
    pl_buf_release(&buf);
    return text;
}

static void secret_free(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    pl_free(text);
}

/* Waits until there is something to read (or, when asked, room to write). */
static bool pg_wait(PGconn *conn, bool write, int64_t deadline_ns)
{
    for (;;) {
        int64_t left_ns = deadline_ns - pl_clock_ns();
        if (left_ns <= 0)
            return false;
        struct pollfd one = {.fd = PQsocket(conn), .events = (short)(write ? POLLIN | POLLOUT : POLLIN)};
        struct timespec left = {.tv_sec = left_ns / PL_NS_PER_S, .tv_nsec = left_ns % PL_NS_PER_S};
        if (ppoll(&one, 1, &left, NULL) > 0)
            return true;
    }
}

/* The last result of one or several commands, or NULL when one failed or the time was over. Other than pgquery_run it sends
 * no cancel request after the deadline, for which it would have to wait: the server's statement_timeout does that. */
static PGresult *pg_query(PGconn *conn, const char *sql, int64_t timeout_ns)
{
    int64_t deadline_ns = pl_clock_ns() + timeout_ns;
    PGresult *last = NULL;
    bool good = PQsendQuery(conn, sql) == 1;
    while (good) {
        int unsent = PQflush(conn);
        if (unsent == 0 && !PQisBusy(conn)) {
            PGresult *result = PQgetResult(conn);
            if (result == NULL)
                return last;
            PQclear(last);
            last = result;
            good = PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
        } else {
            good = unsent >= 0 && pg_wait(conn, unsent > 0, deadline_ns) && PQconsumeInput(conn) == 1;
        }
    }
    PQclear(last);
    return NULL;
}

static PGconn *pg_open(const char *conninfo, int64_t connect_ns, int64_t statement_ns)
{
    PGconn *conn = NULL;
    struct pl_err err = {0};
    struct pl_buf sql;
    if (pgconn_open(conninfo, connect_ns, &conn, &err) != PL_OK)
        return NULL;
    PQsetnonblocking(conn, 1); /* for good: closing the connection to a server that hangs must not block either */
    pl_buf_init(&sql, 1024);
    pl_buf_printf(&sql, "%s%lld", pg_session_sql, (long long)(statement_ns / PL_NS_PER_MS));
    PGresult *result = pg_query(conn, pl_buf_text(&sql), connect_ns);
    if (result == NULL) {
        PQfinish(conn);
        conn = NULL;
    }
    PQclear(result);
    pl_buf_release(&sql);
    return conn;
}

static void pg_give_up(struct sense_postgres *postgres)
{
    PQfinish(postgres->conn);
    postgres->conn = NULL;
    postgres->retry_ns = pl_clock_ns() + PG_RETRY_NS;
}

/* Planning a query costs the server more than running it, so each session plans once. */
static bool pg_prepare(struct sense_postgres *postgres)
{
    struct pl_buf sql;
    pl_buf_init(&sql, 1 << 18);
    if (postgres->fast.sql[0] != '\0')
        pl_buf_printf(&sql, "PREPARE sense_fast AS %s;", postgres->fast.sql);
    if (postgres->slow.sql[0] != '\0')
        pl_buf_printf(&sql, "PREPARE sense_slow AS %s;", postgres->slow.sql);
    PGresult *result = pg_query(postgres->conn, pl_buf_text(&sql), PG_DEADLINE_NS);
    bool good = result != NULL;
    PQclear(result);
    pl_buf_release(&sql);
    return good;
}

static bool pg_ready(struct sense_postgres *postgres, const struct sense_pass *pass)
{
    if (postgres->conn != NULL)
        return true;
    if (pass->depth < SENSE_MARK && pl_clock_ns() < postgres->retry_ns)
        return false;
    postgres->conn = pg_open(postgres->conninfo, PG_DEADLINE_NS, PG_STATEMENT_NS);
    if (postgres->conn == NULL || !pg_prepare(postgres))
        pg_give_up(postgres);
    return postgres->conn != NULL;
}

static bool field_number(const PGresult *result, int row, int column, double *ret_value)
{
    if (PQgetisnull(result, row, column))
        return false;
    const char *text = PQgetvalue(result, row, column);
    return pl_num_f64(text, strlen(text), ret_value) == PL_NUM_OK;
}

/* One row, a column for each meter. False when it could not be asked. */
static bool pg_ask(struct sense_postgres *postgres, struct sense_pass *pass, const struct sense_pg_query *query,
                   struct sense_meter *meters)
{
    if (query->count == 0)
        return true;
    PGresult *result =
        pg_query(postgres->conn, query == &postgres->fast ? "EXECUTE sense_fast" : "EXECUTE sense_slow", PG_DEADLINE_NS);
    if (result == NULL) {
        pg_give_up(postgres);
        return false;
    }
    sense_pass_stamp(pass);
    int columns = PQntuples(result) == 1 ? PQnfields(result) : 0;
    for (int i = 0; i < columns && i < query->count; i++) {
        double value;
        if (field_number(result, 0, i, &value))
            sense_pass_put(pass, &meters[i], value);
    }
    PQclear(result);
    return columns == query->count;
}

/* The largest 500 tables and 500 indexes by name, the rest in one row: a database may hold a hundred thousand of them. */
static const char pg_relations_sql[] =
    "WITH all_relations AS ("
    " SELECT c.oid, c.relkind = 'i' AS is_index, CASE WHEN n.nspname = 'public' THEN '' ELSE n.nspname || '.' END || "
    "c.relname AS name, c.reltuples, pg_catalog.pg_stat_get_live_tuples(c.oid) AS live,"
    " CASE WHEN c.relkind <> 'i' THEN pg_catalog.pg_table_size(c.oid) END AS table_bytes,"
    " CASE WHEN c.relkind = 'i' THEN pg_catalog.pg_relation_size(c.oid) ELSE pg_catalog.pg_indexes_size(c.oid) END AS "
    "index_bytes"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'm', 'i') AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', "
    "'information_schema', 'pg_toast')),"
    " ranked AS (SELECT *, row_number() OVER (PARTITION BY is_index ORDER BY coalesce(table_bytes, 0) + index_bytes DESC "
    "NULLS "
    "LAST, name) AS place FROM all_relations)"
    " SELECT is_index, CASE WHEN place <= 500 THEN name ELSE '(others)' END, sum(table_bytes)::float8, "
    "sum(index_bytes)::float8, sum(CASE WHEN is_index THEN NULL WHEN live > 0 THEN live WHEN reltuples >= 0 THEN reltuples "
    "END)::float8 FROM ranked GROUP BY 1, 2 ORDER BY 1, 2";

static void pg_keep_relation(struct sense_postgres *postgres, const PGresult *result, int row, int64_t t_ns)
{
    struct sense_relation relation = {.table_bytes = -1, .index_bytes = -1, .rows = -1, .t_ns = t_ns};
    relation.is_index = PQgetvalue(result, row, 0)[0] == 't';
    relation.name = pl_strdup(postgres->found, PQgetvalue(result, row, 1));
    field_number(result, row, 2, &relation.table_bytes);
    field_number(result, row, 3, &relation.index_bytes);
    field_number(result, row, 4, &relation.rows);
    postgres->relations = pl_grow(postgres->found, postgres->relations, postgres->relation_count,
                                  postgres->relation_count + 1, sizeof *postgres->relations, &postgres->relation_capacity);
    postgres->relations[postgres->relation_count++] = relation;
}

static bool pg_ask_relations(struct sense_postgres *postgres, PGconn *conn)
{
    PGresult *result = pg_query(conn, pg_relations_sql, PG_SIZES_NS);
    if (result == NULL)
        return false;
    int64_t t_ns = pl_clock_ns();
    for (int i = 0; i < PQntuples(result) && PQnfields(result) == 5; i++)
        pg_keep_relation(postgres, result, i, t_ns);
    PQclear(result);
    return true;
}

static void pg_read_sizes(struct sense_postgres *postgres, struct sense_pass *pass)
{
    static const char size_sql[] = "SELECT pg_catalog.pg_database_size(pg_catalog.current_database())";
    pl_arena_free(postgres->found);
    postgres->found = pl_arena_new();
    postgres->relations = NULL;
    postgres->relation_count = postgres->relation_capacity = 0;
    if (postgres->load_conninfo == NULL)
        return;
    PGconn *conn = pg_open(postgres->load_conninfo, PG_DEADLINE_NS, PG_SIZES_NS);
    PGresult *result = conn == NULL ? NULL : pg_query(conn, size_sql, PG_SIZES_NS);
    double bytes;
    if (result != NULL && PQntuples(result) == 1 && field_number(result, 0, 0, &bytes)) {
        sense_pass_stamp(pass);
        sense_pass_put(pass, &postgres->database_meter, bytes);
    }
    if (result == NULL || !pg_ask_relations(postgres, conn))
        pass->missed++;
    PQclear(result);
    PQfinish(conn);
}

void sense_postgres_read(struct sense_postgres *postgres, struct sense_pass *pass)
{
    if (!pg_ready(postgres, pass) || !pg_ask(postgres, pass, &postgres->fast, postgres->fast_meters) ||
        !pg_ask(postgres, pass, &postgres->slow, postgres->slow_meters))
        pass->missed++;
    if (pass->depth == SENSE_QUIET)
        pg_read_sizes(postgres, pass);
}

bool sense_postgres_backends(struct sense_postgres *postgres, struct sense_pass *pass, struct sense_pids *pids)
{
    static const char sql[] =
        "SELECT pid FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
        "pg_catalog.pg_backend_pid() AND coalesce(application_name, '') <> 'plimsoll-sense'";
    pids->count = 0;
    if (!pg_ready(postgres, pass))
        return false;
    PGresult *result = pg_query(postgres->conn, sql, PG_DEADLINE_NS);
    if (result == NULL) {
        pg_give_up(postgres);
        return false;
    }
    for (int i = 0; i < PQntuples(result); i++) {
        double pid;
        if (field_number(result, i, 0, &pid) && pid >= 1 && pid < 1e9)
            sense_pids_push(pids, (pid_t)pid);
    }
    PQclear(result);
    return true;
}

size_t sense_postgres_relations(const struct sense_postgres *postgres, const struct sense_relation **ret_relations)
{
    *ret_relations = postgres->relations;
    return postgres->relation_count;
}

int64_t sense_postgres_shared_bytes(const struct sense_postgres *postgres)
{
    return postgres->shared_bytes;
}

static void pg_declare(struct sense_registry *registry, const char *source, const struct sense_pg_query *query,
                       struct sense_meter *meters)
{
    for (int i = 0; i < query->count; i++)
        sense_registry_add(registry, source, &query->defs[i], query->hows[i], &meters[i]);
}

static bool pg_learn(struct sense_postgres *postgres, const struct sense_target *target, struct sense_registry *registry)
{
    static const struct sense_def database_def = {"database_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN};
    struct pl_err err = {0};
    const char *catalog;
    if (pgquery_text(postgres->conn, sense_pg_catalog_sql, PG_FIRST_NS, postgres->arena, &catalog, &err) != PL_OK)
        return false;
    char *literal = PQescapeLiteral(postgres->conn, target->database != NULL ? target->database : "",
                                    target->database != NULL ? strlen(target->database) : 0);
    if (literal == NULL)
        return false;
    sense_pg_fast_query(catalog, postgres->arena, &postgres->fast);
    sense_pg_slow_query(catalog, literal, postgres->arena, &postgres->slow);
    PQfreemem(literal);
    if (!pg_prepare(postgres))
        return false;
    pg_declare(registry, target->source, &postgres->fast, postgres->fast_meters);
    pg_declare(registry, target->source, &postgres->slow, postgres->slow_meters);
    if (postgres->load_conninfo != NULL)
        sense_registry_add(registry, target->source, &database_def,
                           "pg_database_size of the load's database, at quiet points", &postgres->database_meter);
    postgres->shared_bytes = -1;
    int64_t megabytes;
    if (pgquery_i64(postgres->conn, "SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'shared_memory_size'",
                    PG_FIRST_NS, &megabytes, &err) == PL_OK &&
        megabytes > 0 && megabytes < (INT64_C(1) << 40))
        postgres->shared_bytes = megabytes * 1024 * 1024;
    return true;
}

struct sense_postgres *sense_postgres_new(const struct sense_target *target, struct sense_registry *registry)
{
    struct sense_postgres *postgres = pl_new(1, sizeof *postgres);
    postgres->arena = pl_arena_new();
    postgres->fast.sql = postgres->slow.sql = "";
    postgres->conninfo = sense_pg_conninfo(target->conninfo, NULL);
    if (target->database != NULL && target->database[0] != '\0')
        postgres->load_conninfo = sense_pg_conninfo(target->conninfo, target->database);
    if (postgres->conninfo != NULL)
        postgres->conn = pg_open(postgres->conninfo, PG_FIRST_NS, PG_STATEMENT_NS);
    if (postgres->conn == NULL || !pg_learn(postgres, target, registry)) {
        sense_postgres_free(postgres);
        return NULL;
    }
    return postgres;
}

void sense_postgres_free(struct sense_postgres *postgres)
{
    if (postgres == NULL)
        return;
    PQfinish(postgres->conn);
    secret_free(postgres->conninfo);
    secret_free(postgres->load_conninfo);
    pl_arena_free(postgres->arena);
    pl_arena_free(postgres->found);
    pl_free(postgres);
}
