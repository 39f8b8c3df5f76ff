/* Private to the room: what libpq says, made into errors that hold no secret. */
#ifndef PL_WIRE_PGCONN_INT_H
#define PL_WIRE_PGCONN_INT_H

#include <libpq-fe.h>

#include "base/err.h"

/* Sets PL_SERVICE from a message of libpq: one line, without the place in the server's source, with the server's HINT (or
 * libpq's question) as hint, and with every password that conn knows replaced by ***. Returns the code. */
enum pl_code pgconn_error(PGconn *conn, const char *message, struct pl_err *err);

/* The same from a failed result, with its SQLSTATE. */
enum pl_code pgconn_error_result(PGconn *conn, const PGresult *result, struct pl_err *err);

#endif
