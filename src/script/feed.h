/* Rows of named values from outside, handed to clients: a CSV or JSON-lines file of test data, or the table of tenants. All
 * of it is read before the load starts, is immutable then (but for one counter) and shared by all threads; the texts that
 * it puts into variables are its own and live as long as its arena.
 *
 * Rows may have weights and belong to groups: columns named `weight` (a number above 0) and `group` (a name) are not
 * variables but say so. */
#ifndef PL_SCRIPT_FEED_H
#define PL_SCRIPT_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"
#include "script/program.h"

/* SEQUENTIAL: row after row over all clients of the load, from the beginning again after the last. RANDOM: by weight.
 * UNIQUE: each row once in the whole load; when they are used up an operation that wants one fails. */
enum feed_order { FEED_SEQUENTIAL, FEED_RANDOM, FEED_UNIQUE };

struct feed_column {
    const char *name;
    int variable; /* in the names that the feed was made with */
};

struct feed_group {
    const char *name;
    double weight; /* the sum of its rows' */
    size_t row_count;
};

struct feed {
    const char *name; /* for messages: the file's */
    enum feed_order order;
    const struct feed_column *columns;
    size_t column_count;
    const struct value *cells; /* [row][column] */
    size_t row_count;          /* at least 1 */
    const struct feed_group *groups;
    size_t group_count;               /* at least 1; without a column `group` one, named "" */
    const uint32_t *group_of;         /* [row] */
    const struct feed_alias *aliases; /* private: how rows are drawn by weight (Vose 1991) */
    atomic_llong *next;               /* private: SEQUENTIAL, UNIQUE */
};

/* Reads a file: JSON lines (one object a line) when its name ends in .jsonl, .ndjson or .json, else CSV (RFC 4180; the
 * first line names the columns; LF or CRLF; blank lines are no rows). A CSV cell is a text, which expressions read as a
 * number where it is one; of JSON numbers, booleans and null keep their type; lists, objects and numbers beyond 64
 * bits are their JSON text.
 * Columns become variables: their names are added to `names`. Errors with file, line and column: a row with another number
 * of cells, a name that no variable may have, a weight that is no number above 0, more rows than 5 million, an empty file.
 */
PL_MUST_CHECK enum pl_code feed_read(const char *path, enum feed_order order, struct names *names, struct pl_arena *arena,
                                     struct feed **ret_feed, struct pl_err *err);
/* The same from text; `path` decides the format and names it in errors. */
PL_MUST_CHECK enum pl_code feed_parse(const char *path, const char *text, size_t length, enum feed_order order,
                                      struct names *names, struct pl_arena *arena, struct feed **ret_feed,
                                      struct pl_err *err);

/* `count` rows from a pattern: in each text {n} is replaced by the row's number from 1, and {n:04} by the same with leading
 * zeros. weight and group may be among the columns. */
struct feed_pattern {
    const char *name, *text;
};
PL_MUST_CHECK enum pl_code feed_from_pattern(const char *name, const struct feed_pattern *columns, size_t column_count,
                                             size_t count, struct names *names, struct pl_arena *arena,
                                             struct feed **ret_feed, struct pl_err *err);

/* A trial begins: SEQUENTIAL and UNIQUE start with the first row again. While no load runs. */
static inline void feed_rewind(const struct feed *feed)
{
    if (feed->next != NULL)
        atomic_store_explicit(feed->next, 0, memory_order_relaxed);
}

/* -1 when it has no such column. */
int feed_column(const struct feed *feed, const char *name);

/* Data plane, any thread. The next row in the feed's order; false: UNIQUE, and all were used. */
bool feed_take(const struct feed *feed, struct pl_rng *rng, uint32_t *ret_row);
/* A row of one group, by weight. */
uint32_t feed_draw(const struct feed *feed, uint32_t group, struct pl_rng *rng);
/* Sets the variables of all columns to the row's values, which are borrowed. */
void feed_set(const struct feed *feed, uint32_t row, struct value *vars);

#endif
