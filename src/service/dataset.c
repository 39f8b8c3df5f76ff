/* The TPC-B-like data of pgbench: the same tables, columns, types, values, partitions and keys, so that results compare.
 *
 * The tables are emptied in the transaction that fills them, so that COPY may write frozen rows; keys come last, when
 * sorting beats inserting. */
#include "service/dataset.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum {
    TELLERS_PER_BRANCH = 10,
    ACCOUNTS_PER_BRANCH = 100000,
    BIGINT_SCALE = 20000, /* from here on aid does not fit an int */
    FREEZE_VERSION = 140000,
    NO_UNLOGGED_PARENT_VERSION = 180000,
    ROWS_PER_REPORT = 100000,
    CHUNK_BYTES = 256 * 1024,
    ROW_BYTES_MAX = 64,
    SQL_BYTES_MAX = 16 * 1024
};

/* Only against a server that hangs: the keys of a large scale take hours. */
#define STATEMENT_LIMIT_NS (24 * 3600 * PL_NS_PER_S)
#define CHUNK_LIMIT_NS (300 * PL_NS_PER_S)

static const char tables_all[] = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/* The rows of 'g': "ID [\t BRANCH] REST". Filler is NULL in branches and tellers; in accounts it is an empty text, which
 * char(84) pads with blanks. */
struct dataset_table {
    const char *name;
    int64_t rows_per_branch;
    bool has_branch;
    const char *rest;
};

static const struct dataset_table dataset_tables[] = {
    {"pgbench_branches", 1, false, "\t0\t\\N\n"},
    {"pgbench_tellers", TELLERS_PER_BRANCH, true, "\t0\t\\N\n"},
    {"pgbench_accounts", ACCOUNTS_PER_BRANCH, true, "\t0\t\n"},
};

struct dataset {
    PGconn *conn;
    const struct dataset_spec *spec;
    const struct dataset_watch *watch;
    const volatile int *stop;
    struct pl_buf sql;
    char *chunk;
    size_t used;
};

static enum pl_code dataset_interrupted(const struct dataset *data, struct pl_err *err)
{
    if (data->stop == NULL || *data->stop == 0)
        return PL_OK;
    return pl_err_set(err, PL_INTERRUPTED, "interrupted while the data were built");
}

/* Passes on what the server refused; a deadline has no words of the server's. Without a result (of COPY) they are put
 * together from the error. */
static enum pl_code dataset_refused(const struct dataset *data, const char *sql, const PGresult *result,
                                    const struct pl_err *err)
{
    enum { SQLSTATE_LENGTH = 5 };
    char text[sizeof err->what + sizeof err->hint + 64];
    const char *message = result != NULL ? PQresultErrorMessage(result) : "", *what = err->what;
    if (err->code != PL_SERVICE || data->watch->refused == NULL)
        return err->code;
    if (message[0] == '\0') {
        if (strspn(what, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == SQLSTATE_LENGTH &&
            strncmp(what + SQLSTATE_LENGTH, ": ", 2) == 0)
            what += SQLSTATE_LENGTH + 2;
        snprintf(text, sizeof text, "ERROR:  %s%s%s\n", what, err->hint[0] != '\0' ? "\nHINT:  " : "", err->hint);
        message = text;
    }
    data->watch->refused(data->watch->ctx, sql, message);
    return err->code;
}

/* Runs what stands in data->sql. */
static enum pl_code dataset_run_built(struct dataset *data, PGresult **ret_result, struct pl_err *err)
{
    assert(!data->sql.full);
    PGresult *result = NULL;
    const char *sql = pl_buf_text(&data->sql);
    if (dataset_interrupted(data, err) != PL_OK)
        return err->code;
    enum pl_code code = pgquery_run_unless(data->conn, sql, STATEMENT_LIMIT_NS, data->stop, &result, err);
    if (code != PL_OK)
        code = dataset_refused(data, sql, result, err);
    if (code == PL_OK && ret_result != NULL)
        *ret_result = result;
    else
        PQclear(result);
    return code;
}

PL_PRINTF(3, 4) static enum pl_code dataset_run(struct dataset *data, struct pl_err *err, const char *fmt, ...)
{
    char sql[1024];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(sql, sizeof sql, fmt, args);
    va_end(args);
    assert(length > 0 && (size_t)length < sizeof sql);
    pl_buf_clear(&data->sql);
    pl_buf_put(&data->sql, sql);
    return dataset_run_built(data, NULL, err);
}

static enum pl_code dataset_put_identifier(struct dataset *data, const char *before, const char *name, struct pl_err *err)
{
    if (name == NULL)
        return PL_OK;
    char *quoted = PQescapeIdentifier(data->conn, name, strlen(name));
    if (quoted == NULL) /* bytes that are no text in the connection's encoding */
        return pl_err_set(err, PL_USAGE, "\"%.100s\" cannot be the name of a tablespace: %s", name,
                          PQerrorMessage(data->conn));
    pl_buf_put(&data->sql, before);
    pl_buf_put(&data->sql, quoted);
    PQfreemem(quoted);
    return PL_OK;
}

static enum pl_code dataset_drop(struct dataset *data, struct pl_err *err)
{
    return dataset_run(data, err, "drop table if exists %s", tables_all);
}

static enum pl_code dataset_create_partitions(struct dataset *data, struct pl_err *err)
{
    const struct dataset_spec *spec = data->spec;
    int64_t count = spec->partitions, size = (spec->scale * ACCOUNTS_PER_BRANCH + count - 1) / count;
    enum pl_code code = PL_OK;
    if (data->watch->partitions != NULL)
        data->watch->partitions(data->watch->ctx, spec->partitions);
    for (int64_t number = 1; number <= count && code == PL_OK; number++) {
        char from[32] = "minvalue", to[32] = "maxvalue", bounds[128];
        if (number > 1)
            snprintf(from, sizeof from, "%lld", (long long)((number - 1) * size + 1));
        if (number < count)
            snprintf(to, sizeof to, "%lld", (long long)(number * size + 1));
        if (spec->partitioning == DATASET_RANGE)
            snprintf(bounds, sizeof bounds, "from (%s) to (%s)", from, to);
        else
            snprintf(bounds, sizeof bounds, "with (modulus %lld, remainder %lld)", (long long)count,
                     (long long)(number - 1));
        code = dataset_run(data, err,
                           "create%s table pgbench_accounts_%lld partition of pgbench_accounts for values %s"
                           " with (fillfactor=%d)",
                           spec->unlogged ? " unlogged" : "", (long long)number, bounds, spec->fillfactor);
    }
    return code;
}

static enum pl_code dataset_create(struct dataset *data, struct pl_err *err)
{
    static const struct {
        const char *name, *columns; /* %s: the type of an account's number */
        bool has_aid, is_filled;
    } tables[] = {
        {"pgbench_history", "tid int, bid int, aid %s, delta int, mtime timestamp, filler char(22)", true, false},
        {"pgbench_tellers", "tid int not null, bid int, tbalance int, filler char(84)", false, true},
        {"pgbench_accounts", "aid %s not null, bid int, abalance int, filler char(84)", true, true},
        {"pgbench_branches", "bid int not null, bbalance int, filler char(88)", false, true},
    };
    const struct dataset_spec *spec = data->spec;
    const char *aid = spec->scale >= BIGINT_SCALE ? "bigint" : "int";
    bool parent_may_be_unlogged = PQserverVersion(data->conn) < NO_UNLOGGED_PARENT_VERSION;
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && code == PL_OK; i++) {
        bool is_parent = spec->partitioning != DATASET_NO_PARTITIONS && tables[i].has_aid && tables[i].is_filled;
        bool unlogged = spec->unlogged && (!is_parent || parent_may_be_unlogged);
        const char *mark = strstr(tables[i].columns, "%s");
        int before = mark != NULL ? (int)(mark - tables[i].columns) : (int)strlen(tables[i].columns);
        pl_buf_clear(&data->sql);
        pl_buf_printf(&data->sql, "create%s table %s(%.*s%s%s)", unlogged ? " unlogged" : "", tables[i].name, before,
                      tables[i].columns, mark != NULL ? aid : "", mark != NULL ? mark + 2 : "");
        if (is_parent)
            pl_buf_printf(&data->sql, " partition by %s (aid)", spec->partitioning == DATASET_RANGE ? "range" : "hash");
        else if (tables[i].is_filled)
            pl_buf_printf(&data->sql, " with (fillfactor=%d)", spec->fillfactor);
        code = dataset_put_identifier(data, " tablespace ", spec->tablespace, err);
        if (code == PL_OK)
            code = dataset_run_built(data, NULL, err);
    }
    if (code == PL_OK && spec->partitioning != DATASET_NO_PARTITIONS)
        code = dataset_create_partitions(data, err);
    return code;
}

/* Decimal digits without printf: it would be half of the client's work. Returns how many. */
static size_t dataset_digits(char *to, int64_t value)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

static enum pl_code dataset_flush(struct dataset *data, struct pl_err *err)
{
    size_t used = data->used;
    data->used = 0;
    enum pl_code code = dataset_interrupted(data, err);
    return code == PL_OK && used > 0 ? pgquery_copy_put(data->conn, data->chunk, used, CHUNK_LIMIT_NS, data->stop, err)
                                     : code;
}

static enum pl_code dataset_send_rows(struct dataset *data, const struct dataset_table *table, struct pl_err *err)
{
    int64_t rows = table->rows_per_branch * data->spec->scale, start_ns = pl_clock_ns();
    char end[ROW_BYTES_MAX];
    size_t end_length = 0;
    enum pl_code code = PL_OK;
    for (int64_t row = 0; row < rows && code == PL_OK; row++) {
        if (row % table->rows_per_branch == 0) {
            end[0] = '\t';
            size_t head = table->has_branch ? 1 + dataset_digits(end + 1, row / table->rows_per_branch + 1) : 0;
            end_length = strlen(table->rest);
            memcpy(end + head, table->rest, end_length);
            end_length += head;
        }
        data->used += dataset_digits(data->chunk + data->used, row + 1);
        memcpy(data->chunk + data->used, end, end_length);
        data->used += end_length;
        if (data->used + ROW_BYTES_MAX > CHUNK_BYTES || row + 1 == rows)
            code = dataset_flush(data, err);
        if (data->watch->rows != NULL && code == PL_OK && ((row + 1) % ROWS_PER_REPORT == 0 || row + 1 == rows))
            data->watch->rows(data->watch->ctx, table->name, row + 1, rows, pl_clock_ns() - start_ns);
    }
    return code;
}

/* Rows can be frozen in ordinary tables only; somebody may have made a table that is none before. */
static enum pl_code dataset_may_freeze(struct dataset *data, const char *table, bool *ret_may, struct pl_err *err)
{
    PGresult *result = NULL;
    *ret_may = false;
    if (PQserverVersion(data->conn) < FREEZE_VERSION)
        return PL_OK;
    pl_buf_clear(&data->sql);
    pl_buf_printf(&data->sql, "select relkind from pg_catalog.pg_class where oid = '%s'::pg_catalog.regclass", table);
    enum pl_code code = dataset_run_built(data, &result, err);
    *ret_may = code == PL_OK && PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "r") == 0;
    PQclear(result);
    return code;
}

static enum pl_code dataset_copy(struct dataset *data, const struct dataset_table *table, struct pl_err *err)
{
    PGresult *begun = NULL;
    bool freeze;
    enum pl_code code = dataset_may_freeze(data, table->name, &freeze, err);
    if (code != PL_OK)
        return code;
    pl_buf_clear(&data->sql);
    pl_buf_printf(&data->sql, "copy %s from stdin%s", table->name, freeze ? " with (freeze on)" : "");
    code = dataset_run_built(data, &begun, err);
    PQclear(begun);
    if (code != PL_OK)
        return code;
    code = dataset_send_rows(data, table, err);
    if (code == PL_OK)
        code = pgquery_copy_end(data->conn, NULL, STATEMENT_LIMIT_NS, data->stop, err);
    return code != PL_OK ? dataset_refused(data, pl_buf_text(&data->sql), NULL, err) : PL_OK;
}

static enum pl_code dataset_begin_filling(struct dataset *data, struct pl_err *err)
{
    enum pl_code code = dataset_run(data, err, "begin");
    return code == PL_OK ? dataset_run(data, err, "truncate table %s", tables_all) : code;
}

static enum pl_code dataset_fill_from_client(struct dataset *data, struct pl_err *err)
{
    enum pl_code code = dataset_begin_filling(data, err);
    data->chunk = pl_new(CHUNK_BYTES + ROW_BYTES_MAX, 1);
    data->used = 0;
    for (size_t i = 0; i < sizeof dataset_tables / sizeof *dataset_tables && code == PL_OK; i++)
        code = dataset_copy(data, &dataset_tables[i], err);
    pl_free(data->chunk);
    return code == PL_OK ? dataset_run(data, err, "commit") : code;
}

static enum pl_code dataset_fill_on_server(struct dataset *data, struct pl_err *err)
{
    long long scale = data->spec->scale;
    enum pl_code code = dataset_begin_filling(data, err);
    if (code == PL_OK)
        code = dataset_run(data, err,
                           "insert into pgbench_branches(bid, bbalance) select bid, 0 from generate_series(1, %lld) as bid",
                           scale);
    if (code == PL_OK)
        code = dataset_run(data, err,
                           "insert into pgbench_tellers(tid, bid, tbalance) select tid, (tid - 1) / %d + 1, 0"
                           " from generate_series(1, %lld) as tid",
                           TELLERS_PER_BRANCH, scale * TELLERS_PER_BRANCH);
    if (code == PL_OK)
        code = dataset_run(data, err,
                           "insert into pgbench_accounts(aid, bid, abalance, filler) select aid, (aid - 1) / %d + 1, 0, ''"
                           " from generate_series(1, %lld) as aid",
                           ACCOUNTS_PER_BRANCH, scale * ACCOUNTS_PER_BRANCH);
    return code == PL_OK ? dataset_run(data, err, "commit") : code;
}

/* Frozen, so that rows made on the server or in partitions leave the tables as COPY FREEZE leaves them: what is measured
 * afterwards must not depend on where the data were made. Pages that are frozen already are passed over. */
static enum pl_code dataset_vacuum_new(struct dataset *data, struct pl_err *err)
{
    static const char *const tables[] = {"pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"};
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && code == PL_OK; i++)
        code = dataset_run(data, err, "vacuum (freeze, analyze) %s", tables[i]);
    return code;
}

static enum pl_code dataset_add_primary_keys(struct dataset *data, struct pl_err *err)
{
    static const char *const keys[] = {"alter table pgbench_branches add primary key (bid)",
                                       "alter table pgbench_tellers add primary key (tid)",
                                       "alter table pgbench_accounts add primary key (aid)"};
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && code == PL_OK; i++) {
        pl_buf_clear(&data->sql);
        pl_buf_put(&data->sql, keys[i]);
        code = dataset_put_identifier(data, " using index tablespace ", data->spec->index_tablespace, err);
        if (code == PL_OK)
            code = dataset_run_built(data, NULL, err);
    }
    return code;
}

static enum pl_code dataset_add_foreign_keys(struct dataset *data, struct pl_err *err)
{
    static const struct {
        const char *table, *column, *to;
    } keys[] = {
        {"pgbench_tellers", "bid", "pgbench_branches"}, {"pgbench_accounts", "bid", "pgbench_branches"},
        {"pgbench_history", "bid", "pgbench_branches"}, {"pgbench_history", "tid", "pgbench_tellers"},
        {"pgbench_history", "aid", "pgbench_accounts"},
    };
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && code == PL_OK; i++)
        code = dataset_run(data, err, "alter table %s add constraint %s_%s_fkey foreign key (%s) references %s",
                           keys[i].table, keys[i].table, keys[i].column, keys[i].column, keys[i].to);
    return code;
}

static const struct dataset_step {
    char letter;
    enum pl_code (*run)(struct dataset *data, struct pl_err *err);
} dataset_steps[] = {
    {'d', dataset_drop},
    {'t', dataset_create},
    {'g', dataset_fill_from_client},
    {'G', dataset_fill_on_server},
    {'v', dataset_vacuum_new},
    {'p', dataset_add_primary_keys},
    {'f', dataset_add_foreign_keys},
};

static const struct dataset_step *dataset_step_find(char letter)
{
    for (size_t i = 0; i < sizeof dataset_steps / sizeof *dataset_steps; i++)
        if (dataset_steps[i].letter == letter)
            return &dataset_steps[i];
    return NULL;
}

char dataset_check_steps(const char *steps)
{
    while (*steps == ' ' || dataset_step_find(*steps) != NULL)
        steps++;
    return *steps;
}

enum pl_code dataset_build(PGconn *conn, const struct dataset_spec *spec, const struct dataset_watch *watch,
                           const volatile int *stop, struct pl_err *err)
{
    static const struct dataset_watch nobody = {0};
    struct dataset data = {.conn = conn, .spec = spec, .watch = watch != NULL ? watch : &nobody, .stop = stop};
    assert(dataset_check_steps(spec->steps) == '\0' && spec->scale >= 1 && spec->scale <= INT32_MAX);
    assert(spec->fillfactor >= 10 && spec->fillfactor <= 100);
    assert(spec->partitioning == DATASET_NO_PARTITIONS || spec->partitions >= 1);
    watch = data.watch;
    pl_buf_init(&data.sql, SQL_BYTES_MAX);
    enum pl_code code = PL_OK;
    for (const char *letter = spec->steps; *letter != '\0' && code == PL_OK; letter++) {
        const struct dataset_step *step = dataset_step_find(*letter);
        if (step == NULL) /* a blank */
            continue;
        int64_t start_ns = pl_clock_ns();
        if (watch->step_begins != NULL)
            watch->step_begins(watch->ctx, step->letter);
        code = step->run(&data, err);
        if (code == PL_OK && watch->step_ended != NULL)
            watch->step_ended(watch->ctx, step->letter, pl_clock_ns() - start_ns);
    }
    pl_buf_release(&data.sql);
    return code;
}
