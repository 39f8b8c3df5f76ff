/* Values out of a query. The file may come from anywhere: STRICT tables and CHECKs bind those who write through SQLite, not
 * those who change bytes, so each value is checked again. */
#include "store/store_int.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

void row_bad(struct row *row, const char *fmt, ...)
{
    if (row->err->code != PL_OK)
        return;
    char fact[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(fact, sizeof fact, fmt, args);
    va_end(args);
    pl_err_at(row->err, PL_STORE, row->path, 0, 0, "the study is damaged: table %s, row %lld: %s", row->table,
              (long long)row->number, fact);
    pl_err_hint(row->err, "Something else changed the file: use a copy from before.");
}

static bool column_has_type(struct row *row, int column, int type, const char *wanted)
{
    if (row->err->code != PL_OK)
        return false;
    if (sqlite3_column_type(row->stmt, column) == type)
        return true;
    row_bad(row, "%s is not %s", sqlite3_column_name(row->stmt, column), wanted);
    return false;
}

int64_t row_i64(struct row *row, int column, int64_t low, int64_t high)
{
    if (!column_has_type(row, column, SQLITE_INTEGER, "an integer"))
        return 0;
    int64_t value = sqlite3_column_int64(row->stmt, column);
    if (value >= low && value <= high)
        return value;
    row_bad(row, "%s is %lld", sqlite3_column_name(row->stmt, column), (long long)value);
    return 0;
}

int row_int(struct row *row, int column, int low)
{
    return (int)row_i64(row, column, low, INT_MAX);
}

double row_f64(struct row *row, int column)
{
    if (!column_has_type(row, column, SQLITE_FLOAT, "a number"))
        return 0.0;
    double value = sqlite3_column_double(row->stmt, column);
    if (isfinite(value))
        return value;
    row_bad(row, "%s is not finite", sqlite3_column_name(row->stmt, column));
    return 0.0;
}

/* The column's text and its length, or NULL when it is none. */
static const char *column_text(struct row *row, int column, size_t *ret_length)
{
    if (!column_has_type(row, column, SQLITE_TEXT, "a text"))
        return NULL;
    const char *text = (const char *)sqlite3_column_text(row->stmt, column);
    *ret_length = (size_t)sqlite3_column_bytes(row->stmt, column);
    if (text != NULL && strlen(text) == *ret_length)
        return text;
    row_bad(row, "%s has a zero byte in its text", sqlite3_column_name(row->stmt, column));
    return NULL;
}

const char *row_text(struct row *row, int column)
{
    size_t length = 0;
    const char *text = column_text(row, column, &length);
    return text != NULL ? pl_strndup(row->arena, text, length) : "";
}

int row_enum(struct row *row, int column, const char *(*name)(int value), int count)
{
    size_t length = 0;
    const char *text = column_text(row, column, &length);
    if (text == NULL)
        return 0;
    for (int value = 0; value < count; value++) {
        if (strcmp(text, name(value)) == 0)
            return value;
    }
    row_bad(row, "%s is \"%.40s\"", sqlite3_column_name(row->stmt, column), text);
    return 0;
}

static const char *phase_name_of(int value)
{
    return phase_name((enum phase)value);
}

enum phase row_phase(struct row *row, int column)
{
    return (enum phase)row_enum(row, column, phase_name_of, PHASE_COUNT);
}

struct hist *row_hist(struct row *row, int column)
{
    if (row->err->code != PL_OK || sqlite3_column_type(row->stmt, column) == SQLITE_NULL)
        return NULL;
    if (!column_has_type(row, column, SQLITE_BLOB, "a histogram"))
        return NULL;
    const void *bytes = sqlite3_column_blob(row->stmt, column);
    size_t length = (size_t)sqlite3_column_bytes(row->stmt, column);
    struct hist *hist = pl_alloc(row->arena, 1, sizeof *hist);
    struct pl_err own = {0};
    if (hist_decode(bytes != NULL ? bytes : "", bytes != NULL ? length : 0, hist, &own) == PL_OK)
        return hist;
    row_bad(row, "%s: %s", sqlite3_column_name(row->stmt, column), own.what);
    return NULL;
}

static const char *trial_state_name_of(int value)
{
    return trial_state_name((enum trial_state)value);
}

void row_trial(struct row *row, struct trial_row *ret_trial)
{
    *ret_trial = (struct trial_row){
        .id = row_i64(row, 0, 1, INT64_MAX),
        .case_id = row_i64(row, 1, 1, INT64_MAX),
        .iteration = row_int(row, 2, 0),
        .ordinal = row_int(row, 3, 0),
        .attempt = row_int(row, 4, 0),
        .state = (enum trial_state)row_enum(row, 5, trial_state_name_of, TRIAL_STATE_COUNT),
        .why = row_text(row, 6),
        .seed = (uint64_t)row_i64(row, 7, INT64_MIN, INT64_MAX),
        .started_unix_ns = row_i64(row, 8, INT64_MIN, INT64_MAX),
        .connect_start_ns = row_i64(row, 9, INT64_MIN, INT64_MAX),
        .connect_end_ns = row_i64(row, 10, INT64_MIN, INT64_MAX),
        .warm_up_start_ns = row_i64(row, 11, INT64_MIN, INT64_MAX),
        .measure_start_ns = row_i64(row, 12, INT64_MIN, INT64_MAX),
        .measure_end_ns = row_i64(row, 13, INT64_MIN, INT64_MAX),
        .drain_end_ns = row_i64(row, 14, INT64_MIN, INT64_MAX),
        .clients = row_int(row, 15, 0),
        .clients_lost = row_int(row, 16, 0),
        .workers = row_int(row, 17, 0),
        .event_loop = row_text(row, 18),
    };
}
