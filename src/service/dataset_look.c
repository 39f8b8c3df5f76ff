/* The data set as it is found before a run: its scale and partitions, and making it fresh. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "service/dataset.h"
#include "wire/pgconn.h"

#include "base/ban.h"

/* Only against a server that hangs. */
#define LOOK_LIMIT_NS (600 * PL_NS_PER_S)
#define VACUUM_LIMIT_NS (24 * 3600 * PL_NS_PER_S)

enum { PARTITIONS_VERSION = 100000 };

static const char undefined_table[] = "42P01";

/* Length without the line feeds at the end. */
static int message_length(const char *message)
{
    size_t length = strlen(message);
    while (length > 0 && message[length - 1] == '\n')
        length--;
    return (int)length;
}

/* The server's, or else what we say of its silence. */
static const char *refusal_words(const PGresult *result, const struct pl_err *refusal)
{
    return result != NULL && PQresultErrorMessage(result)[0] != '\0' ? PQresultErrorMessage(result) : refusal->what;
}

static enum pl_code hint_at_initialization(PGconn *conn, struct pl_err *err)
{
    pl_err_hint(err, "Perhaps you need to do initialization (\"pgbench -i\") in database \"%s\".", PQdb(conn));
    return err->code;
}

static enum pl_code look_at_scale(PGconn *conn, const volatile int *stop, int64_t *ret_scale, struct pl_err *err)
{
    struct pl_err refusal = {0};
    PGresult *result = NULL;
    enum pl_code code =
        pgquery_run_unless(conn, "select count(*) from pgbench_branches", LOOK_LIMIT_NS, stop, &result, &refusal);
    if (code == PL_OK) {
        const char *count = PQgetvalue(result, 0, 0);
        if (pl_num_i64(count, strlen(count), ret_scale) != PL_NUM_OK)
            code = pl_err_set(err, PL_SERVICE, "invalid count(*) from pgbench_branches: \"%.40s\"", count);
    } else {
        const char *message = refusal_words(result, &refusal);
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        pl_err_set(err, code, "could not count number of branches: %.*s", message_length(message), message);
        if (state != NULL && strcmp(state, undefined_table) == 0)
            hint_at_initialization(conn, err);
    }
    PQclear(result);
    return code;
}

static enum pl_code partitions_read(PGconn *conn, const PGresult *result, struct dataset_found *found, struct pl_err *err)
{
    int64_t count = 0;
    if (PQntuples(result) == 0) {
        pl_err_set(err, PL_SERVICE, "no pgbench_accounts table found in search_path");
        return hint_at_initialization(conn, err);
    }
    const char *strategy = PQgetvalue(result, 0, 0), *partitions = PQgetvalue(result, 0, 1);
    if (PQgetisnull(result, 0, 0))
        return PL_OK;
    if (strcmp(strategy, "r") != 0 && strcmp(strategy, "h") != 0)
        return pl_err_set(err, PL_SERVICE, "unexpected partition method: \"%.20s\"", strategy);
    if (pl_num_i64(partitions, strlen(partitions), &count) != PL_NUM_OK || count > INT32_MAX)
        return pl_err_set(err, PL_SERVICE, "unexpected number of partitions: \"%.40s\"", partitions);
    found->partitioning = *strategy == 'r' ? DATASET_RANGE : DATASET_HASH;
    found->partitions = (int)count;
    return PL_OK;
}

enum pl_code dataset_look(PGconn *conn, const volatile int *stop, struct dataset_found *ret_found, struct pl_err *err)
{
    static const char query[] = "select p.partstrat, (select pg_catalog.count(*) from pg_catalog.pg_inherits i"
                                " where i.inhparent = c.oid) from pg_catalog.pg_class c"
                                " left join pg_catalog.pg_partitioned_table p on p.partrelid = c.oid"
                                " where c.oid = pg_catalog.to_regclass('pgbench_accounts')";
    struct dataset_found found = {.partitioning = DATASET_NO_PARTITIONS};
    PGresult *result = NULL;
    enum pl_code code = look_at_scale(conn, stop, &found.scale, err);
    if (code == PL_OK && PQserverVersion(conn) >= PARTITIONS_VERSION) {
        code = pgquery_run_unless(conn, query, LOOK_LIMIT_NS, stop, &result, err);
        if (code == PL_OK)
            code = partitions_read(conn, result, &found, err);
        PQclear(result);
    }
    if (code == PL_OK)
        *ret_found = found;
    return code;
}

/* Appends a line to the warning, cut where it is full. */
static void warning_add(char *warning, const char *message)
{
    size_t used = strlen(warning);
    snprintf(warning + used, DATASET_WARNING_BYTES - used, "%s%.*s", used > 0 ? "\n" : "", message_length(message),
             message);
}

enum pl_code dataset_vacuum(PGconn *conn, bool all, const volatile int *stop, char *warning, struct pl_err *err)
{
    static const char *const statements[] = {"vacuum pgbench_branches", "vacuum pgbench_tellers",
                                             "truncate pgbench_history", "vacuum analyze pgbench_accounts"};
    size_t count = sizeof statements / sizeof *statements - (all ? 0 : 1);
    warning[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct pl_err refusal = {0};
        PGresult *result = NULL;
        enum pl_code code = pgquery_run_unless(conn, statements[i], VACUUM_LIMIT_NS, stop, &result, &refusal);
        bool is_refused = code == PL_SERVICE && result != NULL && PQstatus(conn) == CONNECTION_OK;
        if (is_refused)
            warning_add(warning, refusal_words(result, &refusal));
        PQclear(result);
        if (code != PL_OK && !is_refused) {
            *err = refusal;
            return code;
        }
    }
    return PL_OK;
}
