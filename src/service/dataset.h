/* The TPC-B-like data of pgbench, built over any connection: same tables, columns, types, values and keys as pgbench's own
 * initialisation, so that results compare. Control plane. */
#ifndef PL_SERVICE_DATASET_H
#define PL_SERVICE_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"

enum dataset_partitioning { DATASET_NO_PARTITIONS, DATASET_RANGE, DATASET_HASH };

struct dataset_spec {
    const char *steps; /* of "dtgGvpf" (and blanks), in the order of execution; checked by dataset_check_steps */
    int64_t scale;     /* 1 .. INT32_MAX; account ids are bigint from 20000 on */
    int fillfactor;    /* 10..100 */
    enum dataset_partitioning partitioning;
    int partitions; /* >= 1 when there are any */
    bool unlogged;
    const char *tablespace, *index_tablespace; /* NULL: the default one */
};

/* What is told while it works; any function may be NULL. */
struct dataset_watch {
    void *ctx;
    void (*step_begins)(void *ctx, char step);
    void (*partitions)(void *ctx, int count); /* 't': the four tables are there, the partitions come now */
    void (*rows)(void *ctx, const char *table, int64_t done, int64_t total, int64_t elapsed_ns); /* 'g': each 100,000
                                                                                      rows, and after the last */
    void (*step_ended)(void *ctx, char step, int64_t duration_ns);
    /* What the server refused, and its words as libpq lays them out, of one line or more: before dataset_build fails. */
    void (*refused)(void *ctx, const char *sql, const char *message);
};

/* The first character that is no step, or '\0'. */
char dataset_check_steps(const char *steps);

/* Carries the steps out on an idle connection; watch may be NULL. PL_SERVICE with the server's words; PL_INTERRUPTED soon
 * after *stop (may be NULL) is not zero. After an error a transaction or a COPY may be open: the connection is only good
 * for PQfinish. Against a server of version 18 or later the parent of partitions is never unlogged, which it would refuse.
 */
PL_MUST_CHECK enum pl_code dataset_build(PGconn *conn, const struct dataset_spec *spec, const struct dataset_watch *watch,
                                         const volatile int *stop, struct pl_err *err);

enum { DATASET_WARNING_BYTES = 300 };

/* What pgbench does before a run: vacuums branches and tellers and empties the history (all: vacuums and analyzes the
 * accounts too). What the server refuses is written to `warning` (of DATASET_WARNING_BYTES; a line or more, cut where it
 * does not fit; "" for nothing) and is no error; a lost connection is. */
PL_MUST_CHECK enum pl_code dataset_vacuum(PGconn *conn, bool all, const volatile int *stop, char *warning,
                                          struct pl_err *err);

/* What a database holds: the scale by counting pgbench_branches (0 when there is no row), and how pgbench_accounts is
 * partitioned. PL_SERVICE when there is none: `what` is pgbench's message with the server's words, of one line or more, and
 * `hint` is pgbench's too when the tables are not there. PL_INTERRUPTED soon after *stop (may be NULL) is not zero. */
struct dataset_found {
    int64_t scale;
    enum dataset_partitioning partitioning;
    int partitions;
};
PL_MUST_CHECK enum pl_code dataset_look(PGconn *conn, const volatile int *stop, struct dataset_found *ret_found,
                                        struct pl_err *err);

#endif
