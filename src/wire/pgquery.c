/* Ordinary queries with a deadline: libpq in its non-blocking form under poll. */
#include "wire/pgconn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/num.h"
#include "wire/pgconn_int.h"

#include "base/ban.h"

#define CANCEL_WAIT_NS (2 * PL_NS_PER_S)
#define STOP_POLL_NS (PL_NS_PER_S / 10) /* how long a request to stop may go unnoticed */

/* How long a query may take, and who may end it before. */
struct patience {
    int64_t deadline_ns, timeout_ns;
    const volatile int *stop; /* may be NULL */
};

/* A cancel request on its way. Owned by the helper thread once that has started. */
struct cancelling {
    PGcancel *cancel;
    char text[256];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended, sent; /* under lock */
    bool abandoned;   /* under lock: the waiting side has left, the thread frees */
};

static void cancelling_free(struct cancelling *cancelling)
{
    PQfreeCancel(cancelling->cancel);
    pthread_mutex_destroy(&cancelling->lock);
    pthread_cond_destroy(&cancelling->changed);
    pl_free(cancelling);
}

static void *cancelling_run(void *arg)
{
    struct cancelling *cancelling = arg;
    bool sent = PQcancel(cancelling->cancel, cancelling->text, sizeof cancelling->text) == 1;
    pthread_mutex_lock(&cancelling->lock);
    cancelling->sent = sent;
    cancelling->ended = true;
    bool abandoned = cancelling->abandoned;
    pthread_cond_signal(&cancelling->changed);
    pthread_mutex_unlock(&cancelling->lock);
    if (abandoned)
        cancelling_free(cancelling);
    return NULL;
}

static bool cancelling_start(struct cancelling *cancelling)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that expect them */
    int os_errno = pthread_create(&thread, &attr, cancelling_run, cancelling);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return os_errno == 0;
}

/* Asks the server to end what conn is doing. PQcancel blocks for as long as the server likes, which has just shown that it
 * is slow: a thread of its own waits for it, and is left behind after two seconds. Returns what to say about it. */
static const char *query_cancel(PGconn *conn)
{
    static const char not_sent[] = "it could not be cancelled";
    struct cancelling *cancelling = pl_new(1, sizeof *cancelling);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cancelling->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&cancelling->lock, NULL);
    cancelling->cancel = PQgetCancel(conn);
    if (cancelling->cancel == NULL || !cancelling_start(cancelling)) {
        cancelling_free(cancelling);
        return not_sent;
    }
    int64_t until_ns = pl_clock_ns() + CANCEL_WAIT_NS;
    struct timespec until = {.tv_sec = until_ns / PL_NS_PER_S, .tv_nsec = until_ns % PL_NS_PER_S};
    pthread_mutex_lock(&cancelling->lock);
    int os_errno = 0;
    while (!cancelling->ended && os_errno == 0)
        os_errno = pthread_cond_timedwait(&cancelling->changed, &cancelling->lock, &until);
    bool ended = cancelling->ended, sent = cancelling->sent;
    cancelling->abandoned = !ended;
    pthread_mutex_unlock(&cancelling->lock);
    if (!ended)
        return "it could not be cancelled: the server does not answer";
    cancelling_free(cancelling);
    return sent ? "it was cancelled" : not_sent;
}

static enum pl_code query_timed_out(PGconn *conn, const struct patience *patience, struct pl_err *err)
{
    char took[32];
    const char *cancelled = query_cancel(conn);
    return pl_err_set(err, PL_SERVICE, "no answer to a query within %s; %s",
                      pl_num_text_ns(took, sizeof took, (double)patience->timeout_ns), cancelled);
}

static bool is_stopped(const struct patience *patience)
{
    return patience->stop != NULL && __atomic_load_n(patience->stop, __ATOMIC_RELAXED) != 0;
}

/* Waits until the socket is ready. false with errno 0: the deadline has passed, or somebody wants to stop. */
static bool socket_wait(PGconn *conn, short events, const struct patience *patience)
{
    for (;;) {
        int64_t left_ns = patience->deadline_ns - pl_clock_ns();
        if (left_ns <= 0 || is_stopped(patience)) {
            errno = 0;
            return false;
        }
        if (patience->stop != NULL && left_ns > STOP_POLL_NS)
            left_ns = STOP_POLL_NS;
        struct pollfd poll_one = {.fd = PQsocket(conn), .events = events};
        struct timespec left = {.tv_sec = left_ns / PL_NS_PER_S, .tv_nsec = left_ns % PL_NS_PER_S};
        int count = ppoll(&poll_one, 1, &left, NULL);
        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return false;
    }
}

static enum pl_code wait_or_fail(PGconn *conn, short events, const struct patience *patience, struct pl_err *err)
{
    if (socket_wait(conn, events, patience))
        return PL_OK;
    if (errno != 0)
        return pl_err_os(err, PL_IO, errno, "cannot wait for PostgreSQL");
    if (is_stopped(patience))
        return pl_err_set(err, PL_INTERRUPTED, "interrupted while PostgreSQL worked; %s", query_cancel(conn));
    return query_timed_out(conn, patience, err);
}

/* Sends what libpq holds; reads meanwhile, or two full buffers would wait for each other. */
static enum pl_code query_flush(PGconn *conn, const struct patience *patience, struct pl_err *err)
{
    for (;;) {
        int left = PQflush(conn);
        if (left == 0)
            return PL_OK;
        if (left < 0)
            return pgconn_error(conn, PQerrorMessage(conn), err);
        if (wait_or_fail(conn, POLLIN | POLLOUT, patience, err) != PL_OK)
            return err->code;
        if (PQconsumeInput(conn) == 0)
            return pgconn_error(conn, PQerrorMessage(conn), err);
    }
}

/* The next result, NULL when there is none any more. */
static enum pl_code query_next(PGconn *conn, const struct patience *patience, PGresult **ret_result, struct pl_err *err)
{
    while (PQisBusy(conn)) {
        if (wait_or_fail(conn, POLLIN, patience, err) != PL_OK)
            return err->code;
        if (PQconsumeInput(conn) == 0)
            break; /* PQgetResult knows more: what the server said last */
    }
    *ret_result = PQgetResult(conn);
    return PL_OK;
}

static bool is_copy(ExecStatusType status)
{
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

static bool is_good(ExecStatusType status)
{
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY || is_copy(status);
}

/* Takes all results and keeps the last good one. After the first bad one the rest is only drained. */
static enum pl_code query_collect(PGconn *conn, const struct patience *patience, PGresult **ret_last, struct pl_err *err)
{
    PGresult *result = NULL;
    enum pl_code code = PL_OK;
    do {
        if (query_next(conn, patience, &result, err) != PL_OK)
            return err->code;
        if (result == NULL)
            break;
        if (!is_good(PQresultStatus(result)))
            code = pgconn_error_result(conn, result, err);
        PQclear(*ret_last);
        *ret_last = result;
    } while (!is_copy(PQresultStatus(result)));
    return code;
}

static struct patience patience_of(int64_t timeout_ns, const volatile int *stop)
{
    return (struct patience){.deadline_ns = pl_clock_ns() + timeout_ns, .timeout_ns = timeout_ns, .stop = stop};
}

/* After a time-out the connection stays as it is: PQfinish must not block. */
static void query_leave(PGconn *conn)
{
    if (!PQisBusy(conn))
        PQsetnonblocking(conn, 0);
}

enum pl_code pgquery_run_unless(PGconn *conn, const char *sql, int64_t timeout_ns, const volatile int *stop,
                                PGresult **ret_result, struct pl_err *err)
{
    struct patience patience = patience_of(timeout_ns, stop);
    PGresult *last = NULL;
    if (ret_result != NULL)
        *ret_result = NULL;
    PQsetnonblocking(conn, 1);
    if (PQsendQuery(conn, sql) == 0)
        return pgconn_error(conn, PQerrorMessage(conn), err);
    enum pl_code code = query_flush(conn, &patience, err);
    if (code == PL_OK)
        code = query_collect(conn, &patience, &last, err);
    if (code == PL_OK && is_copy(PQresultStatus(last)) && ret_result == NULL)
        code = pl_err_set(err, PL_SERVICE, "a COPY command stands where none is expected");
    query_leave(conn);
    if (ret_result != NULL)
        *ret_result = last;
    else
        PQclear(last);
    return code;
}

enum pl_code pgquery_run(PGconn *conn, const char *sql, int64_t timeout_ns, PGresult **ret_result, struct pl_err *err)
{
    PGresult *result = NULL;
    enum pl_code code = pgquery_run_unless(conn, sql, timeout_ns, NULL, ret_result != NULL ? &result : NULL, err);
    if (code != PL_OK)
        PQclear(result);
    else if (ret_result != NULL)
        *ret_result = result;
    return code;
}

enum pl_code pgquery_copy_put(PGconn *conn, const char *data, size_t length, int64_t timeout_ns, const volatile int *stop,
                              struct pl_err *err)
{
    struct patience patience = patience_of(timeout_ns, stop);
    PQsetnonblocking(conn, 1);
    if (PQputCopyData(conn, data, (int)length) != 1)
        return pgconn_error(conn, PQerrorMessage(conn), err);
    return query_flush(conn, &patience, err);
}

enum pl_code pgquery_copy_end(PGconn *conn, const char *why, int64_t timeout_ns, const volatile int *stop,
                              struct pl_err *err)
{
    struct patience patience = patience_of(timeout_ns, stop);
    PGresult *last = NULL;
    PQsetnonblocking(conn, 1);
    if (PQputCopyEnd(conn, why) != 1)
        return pgconn_error(conn, PQerrorMessage(conn), err);
    enum pl_code code = query_flush(conn, &patience, err);
    if (code == PL_OK)
        code = query_collect(conn, &patience, &last, err);
    PQclear(last);
    query_leave(conn);
    return code;
}

enum pl_code pgquery_text(PGconn *conn, const char *sql, int64_t timeout_ns, struct pl_arena *arena, const char **ret_text,
                          struct pl_err *err)
{
    PGresult *result = NULL;
    if (pgquery_run(conn, sql, timeout_ns, &result, err) != PL_OK)
        return err->code;
    bool has_value = PQntuples(result) > 0 && PQnfields(result) > 0; /* PQgetvalue of NULL is "" */
    *ret_text = pl_strdup(arena, has_value ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return PL_OK;
}

enum pl_code pgquery_i64(PGconn *conn, const char *sql, int64_t timeout_ns, int64_t *ret_value, struct pl_err *err)
{
    PGresult *result = NULL;
    int64_t value = 0;
    if (pgquery_run(conn, sql, timeout_ns, &result, err) != PL_OK)
        return err->code;
    const char *text = PQntuples(result) > 0 && PQnfields(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    enum pl_code code = PL_OK;
    if (pl_num_i64(text, strlen(text), &value) == PL_NUM_OK)
        *ret_value = value;
    else
        code = pl_err_set(err, PL_SERVICE, "PostgreSQL answered \"%.40s\" where a whole number was expected", text);
    PQclear(result);
    return code;
}
