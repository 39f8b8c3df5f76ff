/* Opening PostgreSQL connections with libpq and asking simple questions over them (control plane: may block and allocate).
 * The load takes over the socket of an opened connection and speaks the protocol itself (pgmsg.h). */
#ifndef PL_WIRE_PGCONN_H
#define PL_WIRE_PGCONN_H

#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/io.h"

/* Opens `count` connections, at most `at_once` being opened at a time (more than the server's accept queue holds is fine:
 * the rest is tried again), all before deadline_ns (looking a host name up is libpq's and blocks). connect_ns[i], if not
 * NULL, receives how long each took. PL_INPUT: conninfo cannot be read. PL_SERVICE with the server's words and SQLSTATE for
 * the first that failed, or when the time was over (none is left open then, conns[] is all NULL). `stop` (may be NULL) is
 * polled at least every 100 ms: non-zero ends with PL_INTERRUPTED. conninfo is a libpq string or URI; it may hold a
 * password and is never put into an error. GSSAPI encryption is off. Raises the process's soft limit of descriptors when
 * `count` needs it. */
PL_MUST_CHECK enum pl_code pgconn_open_many(const char *conninfo, int count, int at_once, int64_t deadline_ns,
                                            const volatile int *stop, PGconn **conns, int64_t *connect_ns,
                                            struct pl_err *err);

/* Raises the process's soft limit of descriptors, as far as the hard one allows, so that `count` connections have room. */
void pgconn_descriptors_raise(int count);

/* One connection, blocking for at most timeout_ns. */
PL_MUST_CHECK enum pl_code pgconn_open(const char *conninfo, int64_t timeout_ns, PGconn **ret_conn, struct pl_err *err);

/* The same, looking at *stop (may be NULL) at least every 100 ms: non-zero ends with PL_INTERRUPTED. */
PL_MUST_CHECK enum pl_code pgconn_open_unless(const char *conninfo, int64_t timeout_ns, const volatile int *stop,
                                              PGconn **ret_conn, struct pl_err *err);

/* Opening one connection in the caller's own event loop. libpq allocates, but for a host name that is looked up (give
 * hostaddr) it does not block. Whatever is answered, *ret_conn is not NULL and the caller's to PQfinish. After READING or
 * WRITING call pgconn_advance when the socket is ready for that; between two calls its descriptor may change, also for
 * another with the same number: it has to be taken out of the loop before each call. BACKLOG: the accept queue of a Unix
 * socket is full, which cannot be waited for: PQfinish and begin again a little later. FAILED: pgconn_failure says why.
 * conninfo must have been checked (pgconn_open does), as libpq would quote it. */
enum pgconn_progress { PGCONN_READING, PGCONN_WRITING, PGCONN_OPEN, PGCONN_BACKLOG, PGCONN_FAILED };
enum pgconn_progress pgconn_begin(const char *conninfo, const char *hostaddr, PGconn **ret_conn); /* hostaddr may be NULL */
enum pgconn_progress pgconn_advance(PGconn *conn);

/* The address that an open connection found by looking its host name up; NULL when there was nothing to look up, or more
 * than one host to choose from. Valid as long as conn. */
const char *pgconn_looked_up(PGconn *conn);

/* Why a connection could not be opened: a SQLSTATE that the server sent, an errno name ("ECONNREFUSED"), "CLOSED" (the
 * server ended the conversation), or "08001" when only libpq's words are there; and these, without secrets and HINT. */
struct pgconn_failure {
    char code[16];
    char text[400];
};
void pgconn_failure(PGconn *conn, struct pgconn_failure *ret_failure);

/* The socket of an idle connection, non-blocking from here on; libpq must not use the connection afterwards, except
 * PQfinish, which also ends the socket: take it out of its loop first. Notices never reach standard error. */
struct wire_socket pgconn_socket(PGconn *conn);

/* Runs SQL (one or several commands), waits at most timeout_ns, gives the last result (caller: PQclear) or NULL for none
 * wanted (ret_result NULL). PL_SERVICE carries SQLSTATE and the server's message. A query that timed out is cancelled
 * (which may take two seconds more) and the error says whether that was possible; its connection is not usable any more.
 * When the SQL ends in a COPY, the result is the COPY's and the caller goes on with PQputCopyData or PQgetCopyData. */
PL_MUST_CHECK enum pl_code pgquery_run(PGconn *conn, const char *sql, int64_t timeout_ns, PGresult **ret_result,
                                       struct pl_err *err);

/* The same, looking at *stop (may be NULL) at least every 100 ms: non-zero ends as a deadline does, with PL_INTERRUPTED.
 * When the server refused, *ret_result is its refusal (for the SQLSTATE); it is NULL when there is none. */
PL_MUST_CHECK enum pl_code pgquery_run_unless(PGconn *conn, const char *sql, int64_t timeout_ns, const volatile int *stop,
                                              PGresult **ret_result, struct pl_err *err);

/* Data for a connection in COPY FROM STDIN, at most INT_MAX bytes; waits until the server has taken what it can. Time and
 * stop as above. */
PL_MUST_CHECK enum pl_code pgquery_copy_put(PGconn *conn, const char *data, size_t length, int64_t timeout_ns,
                                            const volatile int *stop, struct pl_err *err);

/* Ends the COPY: well with `why` NULL, else the server is told why it fails, which is an error here too. */
PL_MUST_CHECK enum pl_code pgquery_copy_end(PGconn *conn, const char *why, int64_t timeout_ns, const volatile int *stop,
                                            struct pl_err *err);

/* First column of the first row, as text in the arena ("" for NULL or no row). */
PL_MUST_CHECK enum pl_code pgquery_text(PGconn *conn, const char *sql, int64_t timeout_ns, struct pl_arena *arena,
                                        const char **ret_text, struct pl_err *err);

/* The same as a whole number. PL_SERVICE when it is none (NULL, no row, a fraction). */
PL_MUST_CHECK enum pl_code pgquery_i64(PGconn *conn, const char *sql, int64_t timeout_ns, int64_t *ret_value,
                                       struct pl_err *err);

#endif
