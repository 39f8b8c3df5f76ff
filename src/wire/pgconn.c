/* Opening PostgreSQL connections, many at once. */
#include "wire/pgconn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "wire/pgconn_int.h"

#include "base/ban.h"

enum {
    STOP_POLL_MS = 100,   /* how long a request to stop may go unnoticed */
    BACKLOG_RETRY_MS = 2, /* a full accept queue of a Unix socket cannot be waited for */
    SPARE_DESCRIPTORS = 128,
};

/* The life of one connection being opened. */
enum opening_state {
    OPENING_FREE,    /* the slot is not in use */
    OPENING_READING, /* libpq waits for the socket to become readable */
    OPENING_WRITING, /* libpq waits for the socket to become writable */
};

struct opening {
    enum opening_state state;
    PGconn *conn;
    int index; /* in the caller's arrays */
    int64_t start_ns;
};

struct opener {
    const char *conninfo;
    int count, at_once;
    int64_t deadline_ns;
    const volatile int *stop;
    PGconn **conns;
    int64_t *connect_ns;
    int *waiting; /* indexes still to be started, a stack */
    int waiting_count;
    int open_count, opening_count;
    bool is_backlog_full;  /* found so since the last wait */
    struct opening *slots; /* at_once */
    struct pollfd *polls;  /* at_once */
};

/* libpq says what is wrong with a connection string by quoting it: nothing of that may be passed on. */
static enum pl_code conninfo_check(const char *conninfo, struct pl_err *err)
{
    char *detail = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &detail);
    PQfreemem(detail);
    if (options == NULL) {
        pl_err_set(err, PL_INPUT, "the connection string cannot be read");
        pl_err_hint(err,
                    "It is either \"host=... port=... dbname=... user=...\", with values quoted where they hold spaces, or "
                    "postgresql://USER@HOST:PORT/DATABASE.");
        return err->code;
    }
    bool is_host_odd = false;
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        is_host_odd = is_host_odd || (strcmp(option->keyword, "host") == 0 && option->val != NULL &&
                                      option->val[0] != '/' && option->val[0] != '@' && strchr(option->val, '@') != NULL);
    PQconninfoFree(options);
    if (is_host_odd) { /* its first half is the end of a password, and libpq would print it */
        pl_err_set(err, PL_INPUT, "the connection string has a host with an @ in it");
        pl_err_hint(err, "Write an @ inside a password as %%40 in a URI.");
        return err->code;
    }
    return PL_OK;
}

/* libpq prints notices to standard error unless told otherwise. */
static void notice_ignore(void *ctx, const PGresult *result)
{
    (void)ctx, (void)result;
}

/* When the accept queue of a Unix socket is full, connect says EAGAIN at once; there is no waiting for it as with TCP.
 * libpq keeps the errno to itself, but words it as the C library does. */
static bool is_backlog_full(const PGconn *conn)
{
    char buf[128];
    const char *host = PQhost(conn);
    bool is_unix = host != NULL && (host[0] == '/' || host[0] == '@');
    return is_unix && strstr(PQerrorMessage(conn), strerror_r(EAGAIN, buf, sizeof buf)) != NULL;
}

enum pgconn_progress pgconn_begin(const char *conninfo, const char *hostaddr, PGconn **ret_conn)
{
    /* later keywords win over what is in the connection string: encryption by GSSAPI would hide the bytes from us */
    const char *const keywords[] = {"dbname", "gssencmode", "fallback_application_name",
                                    hostaddr != NULL ? "hostaddr" : NULL, NULL};
    const char *const values[] = {conninfo, "disable", "plimsoll", hostaddr, NULL};
    PGconn *conn = PQconnectStartParams(keywords, values, 1);
    if (conn == NULL)
        pl_panic("libpq has no memory for a connection");
    PQsetNoticeReceiver(conn, notice_ignore, NULL);
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* the only way to a SQLSTATE while connecting */
    *ret_conn = conn;
    if (PQstatus(conn) != CONNECTION_BAD)
        return PGCONN_WRITING;
    return is_backlog_full(conn) ? PGCONN_BACKLOG : PGCONN_FAILED;
}

enum pgconn_progress pgconn_advance(PGconn *conn)
{
    switch (PQconnectPoll(conn)) {
    case PGRES_POLLING_OK:
        PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
        return PGCONN_OPEN;
    case PGRES_POLLING_READING:
        return PGCONN_READING;
    case PGRES_POLLING_WRITING:
        return PGCONN_WRITING;
    default:
        return PGCONN_FAILED;
    }
}

const char *pgconn_looked_up(PGconn *conn)
{
    const char *host = PQhost(conn), *address = PQhostaddr(conn);
    if (host == NULL || address == NULL || *address == '\0' || *host == '/' || *host == '@' || strcmp(host, address) == 0)
        return NULL;
    bool is_one = true;
    PQconninfoOption *options = PQconninfo(conn);
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (option->val != NULL && ((strcmp(option->keyword, "hostaddr") == 0 && *option->val != '\0') ||
                                    (strcmp(option->keyword, "host") == 0 && strchr(option->val, ',') != NULL)))
            is_one = false;
    PQconninfoFree(options);
    return is_one ? address : NULL;
}

static enum pl_code opener_fail(struct opener *opener, const struct opening *opening, struct pl_err *err)
{
    pgconn_error(opening->conn, PQerrorMessage(opening->conn), err);
    if (opener->count > 1)
        pl_err_context(err, "connection %d of %d", opening->index + 1, opener->count);
    return err->code;
}

static struct opening *opener_free_slot(struct opener *opener)
{
    struct opening *slot = opener->slots;
    while (slot->state != OPENING_FREE)
        slot++;
    return slot;
}

/* Starts as many as may be under way together. */
static enum pl_code opener_start(struct opener *opener, struct pl_err *err)
{
    opener->is_backlog_full = false;
    while (opener->waiting_count > 0 && opener->opening_count < opener->at_once) {
        struct opening *slot = opener_free_slot(opener);
        int index = opener->waiting[--opener->waiting_count];
        *slot = (struct opening){.state = OPENING_WRITING, .index = index, .start_ns = pl_clock_ns()};
        enum pgconn_progress progress = pgconn_begin(opener->conninfo, NULL, &slot->conn);
        opener->opening_count++;
        if (progress == PGCONN_WRITING)
            continue;
        if (progress == PGCONN_FAILED)
            return opener_fail(opener, slot, err);
        PQfinish(slot->conn);
        *slot = (struct opening){.state = OPENING_FREE};
        opener->opening_count--;
        opener->waiting[opener->waiting_count++] = index;
        opener->is_backlog_full = true;
        break;
    }
    return PL_OK;
}

static void opener_done(struct opener *opener, struct opening *slot)
{
    if (opener->connect_ns != NULL)
        opener->connect_ns[slot->index] = pl_clock_ns() - slot->start_ns;
    opener->conns[slot->index] = slot->conn;
    *slot = (struct opening){.state = OPENING_FREE};
    opener->opening_count--;
    opener->open_count++;
}

static enum pl_code opener_wait(struct opener *opener, struct pl_err *err)
{
    int64_t left_ns = opener->deadline_ns - pl_clock_ns();
    if (opener->stop != NULL && __atomic_load_n(opener->stop, __ATOMIC_RELAXED) != 0)
        return pl_err_set(err, PL_INTERRUPTED, "interrupted while connecting");
    if (left_ns <= 0) {
        pl_err_set(err, PL_SERVICE, "%d of %d connections were open when the time to connect was over", opener->open_count,
                   opener->count);
        pl_err_hint(err, "The server may be overloaded, or not a PostgreSQL.");
        return err->code;
    }
    int64_t left_ms = left_ns / PL_NS_PER_MS + 1;
    int timeout_ms = opener->is_backlog_full ? BACKLOG_RETRY_MS : STOP_POLL_MS;
    for (int i = 0; i < opener->at_once; i++) {
        const struct opening *slot = &opener->slots[i];
        opener->polls[i] = (struct pollfd){.fd = slot->state != OPENING_FREE ? PQsocket(slot->conn) : -1,
                                           .events = slot->state == OPENING_READING ? POLLIN : POLLOUT};
    }
    if (poll(opener->polls, (nfds_t)opener->at_once, left_ms < timeout_ms ? (int)left_ms : timeout_ms) < 0 &&
        errno != EINTR)
        return pl_err_os(err, PL_IO, errno, "cannot wait for connections");
    return PL_OK;
}

/* Lets libpq go on where the socket is ready. */
static enum pl_code opener_advance(struct opener *opener, struct pl_err *err)
{
    for (int i = 0; i < opener->at_once; i++) {
        struct opening *slot = &opener->slots[i];
        if (slot->state == OPENING_FREE || opener->polls[i].revents == 0)
            continue;
        switch (pgconn_advance(slot->conn)) {
        case PGCONN_OPEN:
            opener_done(opener, slot);
            break;
        case PGCONN_READING:
            slot->state = OPENING_READING;
            break;
        case PGCONN_WRITING:
            slot->state = OPENING_WRITING;
            break;
        default:
            return opener_fail(opener, slot, err);
        }
    }
    return PL_OK;
}

void pgconn_descriptors_raise(int count)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)count + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static enum pl_code opener_run(struct opener *opener, struct pl_err *err)
{
    while (opener->open_count < opener->count) {
        if (opener_start(opener, err) != PL_OK || opener_wait(opener, err) != PL_OK || opener_advance(opener, err) != PL_OK)
            return err->code;
    }
    assert(opener->opening_count == 0 && opener->waiting_count == 0);
    return PL_OK;
}

enum pl_code pgconn_open_many(const char *conninfo, int count, int at_once, int64_t deadline_ns, const volatile int *stop,
                              PGconn **conns, int64_t *connect_ns, struct pl_err *err)
{
    assert(count >= 0 && at_once >= 1);
    if (at_once > count)
        at_once = count > 0 ? count : 1;
    for (int i = 0; i < count; i++)
        conns[i] = NULL;
    if (conninfo_check(conninfo, err) != PL_OK)
        return err->code;
    pgconn_descriptors_raise(count);
    struct opener opener = {.conninfo = conninfo,
                            .count = count,
                            .at_once = at_once,
                            .deadline_ns = deadline_ns,
                            .stop = stop,
                            .conns = conns,
                            .connect_ns = connect_ns,
                            .waiting_count = count};
    opener.waiting = pl_new((size_t)count + 1, sizeof *opener.waiting);
    opener.slots = pl_new((size_t)at_once, sizeof *opener.slots);
    opener.polls = pl_new((size_t)at_once, sizeof *opener.polls);
    for (int i = 0; i < count; i++)
        opener.waiting[i] = count - 1 - i;
    enum pl_code code = opener_run(&opener, err);
    for (int i = 0; i < at_once; i++)
        if (opener.slots[i].state != OPENING_FREE)
            PQfinish(opener.slots[i].conn);
    for (int i = 0; code != PL_OK && i < count; i++) {
        PQfinish(conns[i]);
        conns[i] = NULL;
    }
    pl_free(opener.waiting);
    pl_free(opener.slots);
    pl_free(opener.polls);
    return code;
}

enum pl_code pgconn_open_unless(const char *conninfo, int64_t timeout_ns, const volatile int *stop, PGconn **ret_conn,
                                struct pl_err *err)
{
    PGconn *conn = NULL;
    if (pgconn_open_many(conninfo, 1, 1, pl_clock_ns() + timeout_ns, stop, &conn, NULL, err) != PL_OK)
        return err->code;
    *ret_conn = conn;
    return PL_OK;
}

enum pl_code pgconn_open(const char *conninfo, int64_t timeout_ns, PGconn **ret_conn, struct pl_err *err)
{
    return pgconn_open_unless(conninfo, timeout_ns, NULL, ret_conn, err);
}

struct wire_socket pgconn_socket(PGconn *conn)
{
    assert(PQstatus(conn) == CONNECTION_OK && PQtransactionStatus(conn) == PQTRANS_IDLE);
    struct wire_socket socket = {.fd = PQsocket(conn), .ssl = PQsslStruct(conn, "OpenSSL")};
    int flags = fcntl(socket.fd, F_GETFL);
    if ((flags & O_NONBLOCK) == 0)
        fcntl(socket.fd, F_SETFL, flags | O_NONBLOCK);
    if (socket.ssl != NULL)
        wire_tls_tune(socket.ssl);
    return socket;
}
