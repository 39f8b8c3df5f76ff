/* What the files of this room share. SQLite is known here and nowhere else. */
#ifndef PL_STORE_STORE_INT_H
#define PL_STORE_STORE_INT_H

#include <sqlite3.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/store.h"

#define STORE_APPLICATION_ID 0x504C494D /* "PLIM", at byte 68 of the file */

struct schema_object {
    const char *name, *sql; /* sql without the semicolon */
};
extern const struct schema_object store_schema[];
extern const size_t store_schema_count;

/* That the file is a study of a known version with exactly that version's tables. *ret_rc is the SQLite code when it could
 * not be read, so that a reader can try in another way; SQLITE_OK when it was read and judged. */
PL_MUST_CHECK enum pl_code store_schema_check(sqlite3 *db, const char *path, int *ret_version, int *ret_rc,
                                              struct pl_err *err);
/* The table of that name as a schema version has it; NULL: it has none. */
const char *store_schema_sql(const char *name, int version);

/* Brings the tables of an open store from an older version to the present one: all of it or, on an error, nothing. */
PL_MUST_CHECK enum pl_code store_migrate(struct store *store, int version, struct pl_err *err);

/* Turns a failed SQLite call into a PL_STORE error of the file `path`: "DOING: reason", with a hint for what a user can
 * mend. db may be NULL. Call it before any other call on db. */
enum pl_code store_fail(sqlite3 *db, int rc, const char *path, const char *doing, struct pl_err *err);

/* "./NAME" for a relative path, so that SQLite takes no name for ":memory:" or a URI. */
char *store_sqlite_path(struct pl_arena *arena, const char *path);

enum statement {
    PUT_HEAD,
    GET_HEAD,
    PUT_ENDED,
    PUT_FACT,
    GET_FACTS,
    PUT_STAGE,
    PUT_STAGE_PARAM,
    PUT_CASE,
    PUT_CASE_PARAM,
    PUT_SCRIPT,
    PUT_GROUP,
    PUT_TRIAL,
    UPDATE_TRIAL,
    GET_TRIALS,
    GET_LARGEST,
    PUT_METRIC,
    GET_METRIC,
    PUT_SLICE,
    PUT_SAMPLE,
    PUT_FAULT,
    STATEMENT_COUNT
};

/* A metric that the caller declared, by its identity: source, name, unit. Kept in memory because a trial that is abandoned
 * takes the metric's row with it, while the caller goes on using its id in the next trial. */
struct known_metric {
    struct metric row;  /* strings in the store's arena; id is the stored one, 0 = not stored */
    bool of_open_trial; /* its row is not committed yet */
};

struct metric_alias {
    int64_t caller_id;
    struct known_metric *metric;
};

struct metric_map {
    struct known_metric **known; /* sorted by identity */
    size_t known_count, known_cap;
    struct metric_alias *aliases; /* sorted by caller_id */
    size_t alias_count, alias_cap;
};

enum { SLICE_HISTOGRAMS = 4 };

struct store {
    struct pl_arena *arena;
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared when first used */
    int lock_fd; /* carries the flock that keeps other runs out; closed after db, see open.c */
    dev_t device;
    ino_t inode;
    struct store *next; /* stores that this process has open */
    bool trial_open;
    int64_t trial_id;
    struct pl_err failed; /* the first error of the open trial: it stays until the trial ends */
    struct metric_map metrics;
    struct pl_buf blobs[SLICE_HISTOGRAMS];
};

/* Runs constant SQL. */
PL_MUST_CHECK enum pl_code store_run(struct store *store, const char *sql, const char *doing, struct pl_err *err);
/* Sets the journal mode; PL_STORE when SQLite did not take it. *ret_busy (may be NULL) says that another connection was in
 * the way. */
PL_MUST_CHECK enum pl_code store_journal_mode(struct store *store, const char *mode, bool *ret_busy, struct pl_err *err);
/* Frees everything, checkpoints nothing. */
void store_free(struct store *store);

/* Values on their way into a prepared statement, in the order of its parameters. Text and blobs are borrowed until
 * binding_run. */
struct binding {
    struct store *store;
    sqlite3_stmt *stmt; /* NULL when it could not be prepared; rc says why */
    int count, rc;
};
struct binding binding_start(struct store *store, enum statement which);
void binding_i64(struct binding *binding, int64_t value);
void binding_f64(struct binding *binding, double value);
void binding_text(struct binding *binding, const char *text);
void binding_blob(struct binding *binding, const struct pl_buf *blob); /* NULL gives NULL */
/* Runs a statement that returns no rows, and readies it for its next use. */
PL_MUST_CHECK enum pl_code binding_run(struct binding *binding, const char *doing, struct pl_err *err);
void binding_end(struct binding *binding); /* after the rows of a query were read */

/* Tells the map of a metric and stores it when it is new. */
PL_MUST_CHECK enum pl_code metrics_declare(struct store *store, const struct metric *metric, struct pl_err *err);
/* The id under which the samples of the caller's metric are stored. */
PL_MUST_CHECK enum pl_code metrics_stored_id(struct store *store, int64_t caller_id, int64_t *ret_id, struct pl_err *err);
/* The open trial ended: its metrics are stored for good, or are not stored any more. */
void metrics_trial_ended(struct store *store, bool committed);

const char *metric_kind_text(enum metric_kind kind);

/* One row of a query, checked value by value. The first value that is not what the schema says sets *err; later ones are
 * then not looked at and read as 0 or "". */
struct row {
    sqlite3_stmt *stmt;
    const char *path, *table;
    int64_t number;         /* of the row in its table, from 1, for messages */
    struct pl_arena *arena; /* takes texts */
    struct pl_err *err;
};
int64_t row_i64(struct row *row, int column, int64_t low, int64_t high);
int row_int(struct row *row, int column, int low);
double row_f64(struct row *row, int column);
const char *row_text(struct row *row, int column);
int row_enum(struct row *row, int column, const char *(*name)(int value), int count);
enum phase row_phase(struct row *row, int column);
/* A histogram or NULL, which is fine. The caller releases it. */
struct hist *row_hist(struct row *row, int column);
PL_PRINTF(2, 3) void row_bad(struct row *row, const char *fmt, ...);
/* All columns of `trial`, in the order of TRIAL_COLUMNS. */
void row_trial(struct row *row, struct trial_row *ret_trial);

#define TRIAL_COLUMNS                                                                                                      \
    "id, case_id, iteration, ordinal, attempt, state, why, seed, started_unix_ns, connect_start_ns, connect_end_ns, "      \
    "warm_up_start_ns, measure_start_ns, measure_end_ns, drain_end_ns, clients, clients_lost, workers, event_loop"

#endif
