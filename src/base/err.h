/* The one error of the tree.
 *
 * A function that can fail for more than one reason returns enum pl_code (PL_OK = 0) and takes a `struct pl_err *err`,
 * never NULL, as its last argument. `err` is untouched on success. The first error wins: setting an error that is
 * already set does nothing, callers may only add context. Libraries never print and never exit; src/app does both.
 * What the measured server did wrong is not an error: it is a `struct fault` (record/record.h).
 *
 * Not thread safe: an err belongs to one thread. */
#ifndef PL_BASE_ERR_H
#define PL_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

#define PL_MUST_CHECK __attribute__((warn_unused_result))
#define PL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define PL_CODES(X)                                                                                                        \
    X(PL_OK, "done")                                                                                                       \
    X(PL_USAGE, "usage")             /* the command line is wrong: exit 2 */                                               \
    X(PL_INPUT, "input")             /* a file of the user's is wrong: exit 2 */                                           \
    X(PL_NOT_FOUND, "not found")     /* a program or file that is needed is not there: exit 2 */                           \
    X(PL_IO, "input/output")         /* the system refused a read, write, fork, ...: exit 3 */                             \
    X(PL_STORE, "study file")        /* the study file cannot be read or written: exit 3 (2 when it is the input) */       \
    X(PL_SERVICE, "service")         /* a service would not start, answer or stop: exit 3 */                               \
    X(PL_LIMIT, "limit")             /* something is larger than base/limits.h allows: exit 2 */                           \
    X(PL_BALANCE, "ledger")          /* counts do not add up: a fault of ours: exit 3 */                                   \
    X(PL_INTERRUPTED, "interrupted") /* the user said stop: exit 130 */

#define PL_CODE_NAME(name, text) name,
enum pl_code { PL_CODES(PL_CODE_NAME) PL_CODE_COUNT };
#undef PL_CODE_NAME

struct pl_err {
    enum pl_code code;
    int os_errno;   /* 0 or an errno value that explains it */
    int line, col;  /* 1-based place in `file`; 0 when there is none */
    char file[200]; /* the user's file that is wrong; "" when there is none */
    char what[400]; /* short fact with a reason, no full stop, no function name */
    char hint[2000]; /* what would be right, a full sentence; "" when there is nothing to say */
};

/* Text that does not fit its field is cut, never inside a UTF-8 character. Arguments may point into err itself. */

/* Sets code (not PL_OK) and `what` unless an error is set already. Returns err->code, so that `return pl_err_set(...)`
 * reads well. */
enum pl_code pl_err_set(struct pl_err *err, enum pl_code code, const char *fmt, ...) PL_PRINTF(3, 4);

/* As pl_err_set, and keeps os_errno and appends its text to `what` (": No space left on device"). */
enum pl_code pl_err_os(struct pl_err *err, enum pl_code code, int os_errno, const char *fmt, ...) PL_PRINTF(4, 5);

/* As pl_err_set, with a place in a file of the user's. line and col are 1-based, 0 = unknown. */
enum pl_code pl_err_at(struct pl_err *err, enum pl_code code, const char *file, int line, int col, const char *fmt, ...)
    PL_PRINTF(6, 7);

/* Sets the hint if the error has none yet; the error must be set. */
void pl_err_hint(struct pl_err *err, const char *fmt, ...) PL_PRINTF(2, 3);

/* Puts "CONTEXT: " before what; the error must be set. */
void pl_err_context(struct pl_err *err, const char *fmt, ...) PL_PRINTF(2, 3);

/* Writes "FILE:LINE:COL: what\nhint" into buf as text for a person; always ends in NUL. Returns buf. */
const char *pl_err_text(const struct pl_err *err, char *buf, size_t buf_size);

/* "usage", "input", ...; never NULL. */
const char *pl_code_name(enum pl_code code);

/* A broken invariant is our own bug: prints where and what to standard error, and aborts. */
_Noreturn void pl_panic(const char *fmt, ...) PL_PRINTF(1, 2);

#endif
