/* The TPC-B-like data of pgbench (src/bin/pgbench/pgbench.c: initCreateTables, initGenerateDataClientSide, initVacuum,
 * initCreatePKeys): the same tables, columns, types, values and keys, so that results compare.
 *
 * Tables are made in the transaction that fills them, so COPY may write frozen rows; keys come last, when sorting beats
 * inserting. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "service/postgres_int.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum {
    TELLERS_PER_BRANCH = 10,
    ACCOUNTS_PER_BRANCH = 100000,
    BIGINT_SCALE = 20000, /* from here on aid does not fit an int (SCALE_32BIT_THRESHOLD) */
    CHUNK_BYTES = 256 * 1024,
    ROW_BYTES_MAX = 64
};

/* Only against a server that hangs: the keys of a large scale take hours. */
#define STATEMENT_LIMIT_NS (24 * 3600 * PL_NS_PER_S)
#define CHUNK_LIMIT_NS (300 * PL_NS_PER_S)

/* How much of the whole a step is, for the bar: measured at scale 50. */
static const double COPY_SHARE = 0.70, VACUUM_SHARE = 0.05;

struct dataset {
    PGconn *conn;
    int64_t scale;
    void (*progress)(void *ctx, double done);
    void *ctx;
    const volatile int *stop;
    char *chunk;
    size_t used;
};

static bool is_stopped(const volatile int *stop)
{
    return stop != NULL && *stop != 0;
}

static void dataset_tell(const struct dataset *data, double done)
{
    if (data->progress != NULL)
        data->progress(data->ctx, done);
}

static enum pl_code dataset_run(const struct dataset *data, const char *const *statements, size_t count, double from,
                                double share, struct pl_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (is_stopped(data->stop))
            return pl_err_set(err, PL_INTERRUPTED, "interrupted while the data were built");
        enum pl_code code = pgquery_run_unless(data->conn, statements[i], STATEMENT_LIMIT_NS, data->stop, NULL, err);
        if (code != PL_OK)
            return code;
        dataset_tell(data, from + share * (double)(i + 1) / (double)count);
    }
    return PL_OK;
}

/* Decimal digits without printf: it is half of the client's work otherwise. */
static void dataset_put_number(struct dataset *data, int64_t value)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (count > 0)
        data->chunk[data->used++] = digits[--count];
}

static void dataset_put_text(struct dataset *data, const char *text)
{
    size_t length = strlen(text);
    memcpy(data->chunk + data->used, text, length);
    data->used += length;
}

static enum pl_code dataset_flush(struct dataset *data, struct pl_err *err)
{
    size_t used = data->used;
    data->used = 0;
    return used > 0 ? pgquery_copy_put(data->conn, data->chunk, used, CHUNK_LIMIT_NS, data->stop, err) : PL_OK;
}

struct dataset_table {
    const char *copy;
    int64_t rows_per_branch;
    const char *rest; /* what follows "ID \t [BRANCH \t]" */
    bool has_branch;
};

static enum pl_code dataset_copy(struct dataset *data, const struct dataset_table *table, bool tell, struct pl_err *err)
{
    PGresult *begun = NULL;
    enum pl_code code = pgquery_run_unless(data->conn, table->copy, STATEMENT_LIMIT_NS, data->stop, &begun, err);
    PQclear(begun);
    if (code != PL_OK)
        return code;
    int64_t rows = table->rows_per_branch * data->scale;
    for (int64_t row = 0; row < rows && code == PL_OK; row++) {
        dataset_put_number(data, row + 1);
        dataset_put_text(data, "\t");
        if (table->has_branch)
            dataset_put_number(data, row / table->rows_per_branch + 1);
        dataset_put_text(data, table->rest);
        if (data->used + ROW_BYTES_MAX <= CHUNK_BYTES)
            continue;
        code = dataset_flush(data, err);
        if (code == PL_OK && is_stopped(data->stop))
            code = pl_err_set(err, PL_INTERRUPTED, "interrupted while the data were built");
        if (tell)
            dataset_tell(data, COPY_SHARE * (double)(row + 1) / (double)rows);
    }
    if (code == PL_OK)
        code = dataset_flush(data, err);
    data->used = 0;
    /* after an error the connection is closed, which ends the COPY too */
    return code == PL_OK ? pgquery_copy_end(data->conn, NULL, STATEMENT_LIMIT_NS, data->stop, err) : code;
}

static enum pl_code dataset_fill(struct dataset *data, struct pl_err *err)
{
    /* filler: NULL in branches and tellers; in accounts an empty text, which char(84) pads with blanks */
    static const struct dataset_table tables[] = {
        {"COPY pgbench_branches (bid, bbalance) FROM STDIN WITH (FREEZE ON)", 1, "0\n", false},
        {"COPY pgbench_tellers (tid, bid, tbalance) FROM STDIN WITH (FREEZE ON)", TELLERS_PER_BRANCH, "\t0\n", true},
        {"COPY pgbench_accounts (aid, bid, abalance, filler) FROM STDIN WITH (FREEZE ON)", ACCOUNTS_PER_BRANCH, "\t0\t\n",
         true},
    };
    const char *aid = data->scale >= BIGINT_SCALE ? "bigint" : "int";
    char create[1024];
    snprintf(create, sizeof create,
             "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers;"
             "CREATE TABLE pgbench_history(tid int, bid int, aid %s, delta int, mtime timestamp, filler char(22));"
             "CREATE TABLE pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84)) WITH (fillfactor=100);"
             "CREATE TABLE pgbench_accounts(aid %s not null, bid int, abalance int, filler char(84)) WITH (fillfactor=100);"
             "CREATE TABLE pgbench_branches(bid int not null, bbalance int, filler char(88)) WITH (fillfactor=100)",
             aid, aid);
    const char *const begin[] = {"BEGIN", create}, *const commit[] = {"COMMIT"};
    enum pl_code code = dataset_run(data, begin, 2, 0, 0, err);
    for (size_t i = 0; i < 3 && code == PL_OK; i++)
        code = dataset_copy(data, &tables[i], i == 2, err);
    if (code == PL_OK)
        code = dataset_run(data, commit, 1, COPY_SHARE, 0, err);
    return code;
}

enum pl_code dataset_load_tpcb(PGconn *conn, int64_t scale, void (*progress)(void *ctx, double done), void *ctx,
                               const volatile int *stop, struct pl_err *err)
{
    static const char *const vacuum[] = {"VACUUM ANALYZE pgbench_branches", "VACUUM ANALYZE pgbench_tellers",
                                         "VACUUM ANALYZE pgbench_accounts", "VACUUM ANALYZE pgbench_history"};
    static const char *const keys[] = {"ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid)",
                                       "ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid)",
                                       "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)"};
    if (scale < 1 || scale > INT32_MAX / TELLERS_PER_BRANCH)
        return pl_err_set(err, PL_USAGE, "the scale %lld is out of range", (long long)scale);
    struct dataset data = {.conn = conn, .scale = scale, .progress = progress, .ctx = ctx, .stop = stop};
    data.chunk = pl_new(CHUNK_BYTES + ROW_BYTES_MAX, 1);
    dataset_tell(&data, 0);
    enum pl_code code = dataset_fill(&data, err);
    pl_free(data.chunk);
    if (code == PL_OK)
        code = dataset_run(&data, vacuum, 4, COPY_SHARE, VACUUM_SHARE, err);
    if (code == PL_OK)
        code = dataset_run(&data, keys, 3, COPY_SHARE + VACUUM_SHARE, 1 - COPY_SHARE - VACUUM_SHARE, err);
    return code;
}
