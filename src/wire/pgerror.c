/* What libpq says, made into errors that hold no secret. */
#include "wire/pgconn_int.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum { MAX_TEXT_BYTES = 64 * 1024, SQLSTATE_LENGTH = 5 };

/* Copies text with every occurrence of secret replaced. */
static void put_without(struct pl_buf *out, const char *text, const char *secret)
{
    const char *found;
    while (secret != NULL && *secret != '\0' && (found = strstr(text, secret)) != NULL) {
        pl_buf_put_bytes(out, text, (size_t)(found - text));
        pl_buf_put(out, "***");
        text = found + strlen(secret);
    }
    pl_buf_put(out, text);
}

static void redact(struct pl_buf *text, const char *secret)
{
    struct pl_buf clean;
    pl_buf_init(&clean, MAX_TEXT_BYTES);
    put_without(&clean, pl_buf_text(text), secret);
    pl_buf_release(text);
    *text = clean;
}

static void redact_all(struct pl_buf *text, PGconn *conn)
{
    /* from a password file too, which the options do not show */
    redact(text, PQpass(conn));
    PQconninfoOption *options = PQconninfo(conn);
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (option->val != NULL && option->dispchar[0] == '*') /* how libpq marks what must not be shown */
            redact(text, option->val);
    PQconninfoFree(options);
}

static bool is_line(const char *line, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

static void put_joined(struct pl_buf *out, const char *line, size_t length, const char *separator)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    if (length == 0)
        return;
    if (out->len > 0)
        pl_buf_put(out, separator);
    pl_buf_put_bytes(out, line, length);
}

/* Sorts the lines of a message into the fact and the hint. */
static void split(const char *text, struct pl_buf *what, struct pl_buf *hint)
{
    static const char hint_prefix[] = "HINT:";
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (is_line(text, length, hint_prefix))
            put_joined(hint, text + strlen(hint_prefix), length - strlen(hint_prefix), " ");
        else if (*text == '\t') /* "Is the server running ... ?" */
            put_joined(hint, text, length, " ");
        else if (!is_line(text, length, "LOCATION:"))
            put_joined(what, text, length, "; ");
        text += length + (text[length] == '\n');
    }
}

static enum pl_code error_from(PGconn *conn, struct pl_buf *text, struct pl_err *err)
{
    struct pl_buf what, hint;
    pl_buf_init(&what, MAX_TEXT_BYTES);
    pl_buf_init(&hint, MAX_TEXT_BYTES);
    redact_all(text, conn);
    split(pl_buf_text(text), &what, &hint);
    pl_err_set(err, PL_SERVICE, "%s", what.len > 0 ? pl_buf_text(&what) : "PostgreSQL gave no reason");
    if (hint.len > 0)
        pl_err_hint(err, "%s", pl_buf_text(&hint));
    pl_buf_release(&what);
    pl_buf_release(&hint);
    return PL_SERVICE;
}

/* "FATAL:  28P01: password ..." as libpq writes it in its verbose form; the severity may be in any language. NULL: none. */
static const char *sqlstate_find(const char *text)
{
    for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        const char *state = at + 3;
        if (strspn(state, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == SQLSTATE_LENGTH &&
            strncmp(state + SQLSTATE_LENGTH, ": ", 2) == 0)
            return state;
    }
    return NULL;
}

/* libpq keeps the errno to itself, but words it as the C library does. */
static int errno_find(const char *text)
{
    static const int known[] = {ECONNREFUSED, ENOENT,   ECONNRESET, ETIMEDOUT,     EHOSTUNREACH, ENETUNREACH,
                                EACCES,       EPIPE,    EAGAIN,     EADDRNOTAVAIL, EMFILE,       ENFILE,
                                ENOBUFS,      ENETDOWN, EHOSTDOWN,  ECONNABORTED};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char buf[128];
        if (strstr(text, strerror_r(known[i], buf, sizeof buf)) != NULL)
            return known[i];
    }
    return 0;
}

void pgconn_failure(PGconn *conn, struct pgconn_failure *ret_failure)
{
    struct pl_err err = {0};
    const char *message = PQerrorMessage(conn), *state = sqlstate_find(message);
    int os_errno = state == NULL ? errno_find(message) : 0;
    if (state != NULL)
        snprintf(ret_failure->code, sizeof ret_failure->code, "%.*s", SQLSTATE_LENGTH, state);
    else if (os_errno != 0)
        snprintf(ret_failure->code, sizeof ret_failure->code, "%s", strerrorname_np(os_errno));
    else if (strstr(message, "server closed the connection unexpectedly") != NULL)
        snprintf(ret_failure->code, sizeof ret_failure->code, "CLOSED");
    else
        snprintf(ret_failure->code, sizeof ret_failure->code, "08001"); /* the client cannot establish the connection */
    pgconn_error(conn, message, &err);
    snprintf(ret_failure->text, sizeof ret_failure->text, "%s", err.what);
}

enum pl_code pgconn_error(PGconn *conn, const char *message, struct pl_err *err)
{
    struct pl_buf text;
    pl_buf_init(&text, MAX_TEXT_BYTES);
    pl_buf_put(&text, message);
    enum pl_code code = error_from(conn, &text, err);
    pl_buf_release(&text);
    return code;
}

enum pl_code pgconn_error_result(PGconn *conn, const PGresult *result, struct pl_err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    if (state == NULL || primary == NULL) /* libpq's own words: the connection is gone */
        return pgconn_error(conn, PQresultErrorMessage(result), err);
    struct pl_buf text;
    pl_buf_init(&text, MAX_TEXT_BYTES);
    pl_buf_printf(&text, "%s: %s\n", state, primary);
    if (detail != NULL)
        pl_buf_printf(&text, "%s\n", detail);
    if (hint != NULL)
        pl_buf_printf(&text, "HINT: %s\n", hint);
    enum pl_code code = error_from(conn, &text, err);
    pl_buf_release(&text);
    return code;
}
