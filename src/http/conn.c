/* A connection: opening it, watching it, ending it. */
#include "http/http_int.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/ban.h"

enum { BACKLOG_RETRY_NS = 1000000, BACKLOG_RETRY_SHARE = 8 };

struct http_fault http_fault_io(enum http_phase phase, enum wire_io result, int os_errno)
{
    const char *name = os_errno == 0 ? NULL : strerrorname_np(os_errno);
    if (name != NULL)
        return (struct http_fault){phase, name, strerrordesc_np(os_errno)};
    if (result == WIRE_CLOSED)
        return (struct http_fault){phase, "CLOSED", "the server closed the connection"};
    return (struct http_fault){phase, "TLS", "the encrypted connection failed"};
}

struct http_fault http_fault_read(const struct http_conn *conn, enum wire_io result)
{
    struct http_fault fault = http_fault_io(HTTP_PHASE_COUNT, result, conn->socket.os_errno);
    const char *reason = result == WIRE_FAILED && conn->socket.os_errno == 0 ? http_tls_reason(conn) : NULL;
    if (reason != NULL)
        fault.text = reason;
    return fault;
}

static struct http_fault fault_connect(int os_errno)
{
    if (os_errno == EMFILE || os_errno == ENFILE)
        return (struct http_fault){HTTP_WAIT, "DESCRIPTORS", "this process has no descriptor left"};
    if (os_errno == EADDRNOTAVAIL)
        return (struct http_fault){HTTP_CONNECT, "PORTS", "no local port is left for this destination"};
    return http_fault_io(HTTP_CONNECT, WIRE_FAILED, os_errno);
}

/* ---- watching ---- */

void http_conn_watch(struct http_engine *engine, struct http_conn *conn, bool write)
{
    if (write == conn->watches_write)
        return;
    conn->watches_write = write;
    loop_change(&engine->loop, conn->socket.fd, http_conn_index(engine, conn), write ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

void http_conn_again(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->is_again)
        return;
    conn->is_again = true;
    engine->again[engine->again_count++] = http_conn_index(engine, conn);
}

void http_conn_look_again(struct http_engine *engine, struct http_conn *conn)
{
    if (wire_has_buffered(&conn->socket))
        http_conn_again(engine, conn);
}

/* ---- opening ---- */

/* The address that is next in turn, but for those that have never been reached while another one has. */
static uint32_t turn_next(struct http_engine *engine, struct http_origin_entry *origin)
{
    uint32_t turn = origin->turn++;
    for (uint32_t i = 0; i < origin->peer_count; i++) {
        const struct http_peer *peer = &engine->peers[origin->peers[(turn + i) % origin->peer_count]];
        if (peer->opened > 0 || peer->failed == 0)
            return turn + i;
    }
    return turn;
}

/* 0 or an errno. */
static int bind_source(struct http_engine *engine, int fd, int family)
{
    for (size_t i = 0; i < engine->source_count; i++) {
        const struct http_peer *source = &engine->sources[engine->source_turn++ % engine->source_count];
        if (source->address.ss_family != family)
            continue;
        int on = 1;
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        return bind(fd, (const struct sockaddr *)&source->address, source->length) == 0 ? 0 : errno;
    }
    return engine->source_count == 0 ? 0 : EAFNOSUPPORT;
}

/* Begins to connect to one address: 0 (it is connected), EINPROGRESS, or why not. */
static int connect_begin(struct http_engine *engine, struct http_conn *conn, const struct http_peer *peer)
{
    int family = peer->address.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    conn->socket.fd = fd;
    if (family != AF_UNIX) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        int os_errno = bind_source(engine, fd, family);
        if (os_errno != 0)
            return os_errno;
    }
    return connect(fd, (const struct sockaddr *)&peer->address, peer->length) == 0 ? 0 : errno;
}

static void socket_drop(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->socket.fd < 0)
        return;
    loop_remove(&engine->loop, conn->socket.fd);
    close(conn->socket.fd);
    conn->socket.fd = -1;
    conn->watches_write = false;
}

static void peer_failed(struct http_engine *engine, struct http_conn *conn)
{
    engine->stats->connections_failed++;
    engine->peers[conn->peer].failed++;
}

static void opened(struct http_engine *engine, struct http_conn *conn)
{
    engine->stats->connections_opened++;
    engine->peers[conn->peer].opened++;
    conn->state = CONN_BUSY;
    conn->due_ns = INT64_MAX;
    http_conn_watch(engine, conn, false);
    if (engine->spec.http2)
        http_h2_open(engine, conn);
    else
        http_h1_begin(engine, conn, &engine->exchanges[conn->first]);
}

static void handshake_advance(struct http_engine *engine, struct http_conn *conn)
{
    struct http_fault fault;
    switch (http_tls_advance(engine, conn, &fault)) {
    case HTTP_TLS_READING:
        http_conn_watch(engine, conn, false);
        return;
    case HTTP_TLS_WRITING:
        http_conn_watch(engine, conn, true);
        return;
    case HTTP_TLS_FAILED:
        http_conn_fail(engine, conn, fault);
        return;
    case HTTP_TLS_DONE:
        hist_record(&engine->stats->tls, pl_clock_ns() - conn->tls_ns);
        opened(engine, conn);
        return;
    }
}

static void connected(struct http_engine *engine, struct http_conn *conn)
{
    int64_t now_ns = pl_clock_ns();
    hist_record(&engine->stats->connect, now_ns - conn->begun_ns);
    if (!engine->origins[conn->origin].is_tls) {
        opened(engine, conn);
        return;
    }
    conn->state = CONN_TLS;
    conn->tls_ns = now_ns;
    if (http_tls_begin(engine, conn))
        handshake_advance(engine, conn);
    else
        http_conn_fail(engine, conn, (struct http_fault){HTTP_TLS, "HANDSHAKE", "OpenSSL could not begin"});
}

/* Goes on to the addresses that were not tried yet. os_errno: why the last one failed; 0: none has. */
static void connect_try(struct http_engine *engine, struct http_conn *conn, int os_errno)
{
    const struct http_origin_entry *origin = &engine->origins[conn->origin];
    struct pl_err unused = {0};
    for (; conn->tried < origin->peer_count; conn->tried++) {
        conn->peer = origin->peers[(conn->turn + conn->tried) % origin->peer_count];
        os_errno = connect_begin(engine, conn, &engine->peers[conn->peer]);
        bool is_under_way = os_errno == 0 || os_errno == EINPROGRESS;
        if (is_under_way && loop_add(&engine->loop, conn->socket.fd, http_conn_index(engine, conn),
                                     os_errno == 0 ? LOOP_READ : LOOP_READ | LOOP_WRITE, &unused) != PL_OK)
            os_errno = unused.os_errno;
        if (os_errno == EINPROGRESS) {
            conn->watches_write = true;
            return;
        }
        if (os_errno == 0) {
            connected(engine, conn);
            return;
        }
        socket_drop(engine, conn);
        if (os_errno == EAGAIN) { /* the accept queue of a Unix socket is full, which no event ends */
            /* the longer it has waited the more there are of its kind: thousands of them must not take all the time */
            int64_t now_ns = pl_clock_ns();
            conn->retry_ns = now_ns + BACKLOG_RETRY_NS + (now_ns - conn->begun_ns) / BACKLOG_RETRY_SHARE;
            http_timers_lower(&engine->timers, http_conn_timer(engine, conn), conn->retry_ns);
            return;
        }
        peer_failed(engine, conn);
        if (os_errno == EMFILE || os_errno == ENFILE)
            break;
    }
    http_conn_fail(engine, conn, fault_connect(os_errno));
}

void http_conn_open(struct http_engine *engine, uint32_t origin, struct http_exchange *exchange)
{
    struct http_conn *conn = http_pool_take(engine);
    conn->state = CONN_CONNECTING;
    conn->origin = origin;
    conn->turn = turn_next(engine, &engine->origins[origin]);
    conn->stream_most = 1;
    if (engine->spec.http2 && !engine->spec.close_each) {
        uint16_t known = engine->origins[origin].streams;
        conn->stream_most = known > 0 ? known : (uint16_t)engine->spec.streams;
    }
    conn->begun_ns = pl_clock_ns();
    conn->due_ns = conn->begun_ns + engine->spec.connect_timeout_ns;
    http_timers_lower(&engine->timers, http_conn_timer(engine, conn), conn->due_ns);
    http_pool_attach(engine, conn, exchange);
    exchange->state = EXCHANGE_OPENING;
    connect_try(engine, conn, 0);
}

static void connecting_event(struct http_engine *engine, struct http_conn *conn)
{
    int os_errno = 0;
    socklen_t length = sizeof os_errno;
    if (getsockopt(conn->socket.fd, SOL_SOCKET, SO_ERROR, &os_errno, &length) != 0)
        os_errno = errno;
    if (os_errno == 0) {
        connected(engine, conn);
        return;
    }
    socket_drop(engine, conn);
    peer_failed(engine, conn);
    conn->tried++;
    connect_try(engine, conn, os_errno);
}

/* ---- events ---- */

void http_conn_event(struct http_engine *engine, struct http_conn *conn, uint32_t flags)
{
    switch (conn->state) {
    case CONN_NONE:
        return;
    case CONN_CONNECTING:
        connecting_event(engine, conn);
        return;
    case CONN_TLS:
        handshake_advance(engine, conn);
        return;
    default:
        break;
    }
    if ((flags & LOOP_HANGUP) != 0)
        conn->is_hung_up = true;
    if (conn->h2 != NULL)
        http_h2_event(engine, conn);
    else
        http_h1_event(engine, conn);
}

void http_conn_due(struct http_engine *engine, struct http_conn *conn, int64_t now_ns)
{
    if (conn->state == CONN_NONE || conn->state == CONN_BUSY)
        return;
    if (conn->due_ns <= now_ns) {
        if (conn->state == CONN_IDLE)
            http_conn_close(engine, conn);
        else
            http_conn_fail(engine, conn,
                           (struct http_fault){conn->state == CONN_TLS ? HTTP_TLS : HTTP_CONNECT, "TIMEOUT",
                                               "the connection could not be opened within its time"});
        return;
    }
    if (conn->retry_ns > 0 && conn->retry_ns <= now_ns) {
        conn->retry_ns = 0;
        connect_try(engine, conn, EAGAIN);
    }
    if (conn->state != CONN_NONE && conn->state != CONN_BUSY && conn->due_ns != INT64_MAX)
        http_timers_lower(&engine->timers, http_conn_timer(engine, conn),
                          conn->retry_ns > 0 && conn->retry_ns < conn->due_ns ? conn->retry_ns : conn->due_ns);
}

/* ---- ending ---- */

static void list_remove(uint32_t *list, int *count, uint32_t index)
{
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (list[i] != index)
            list[kept++] = list[i];
    *count = kept;
}

/* Events of the old connection must not meet a new one. */
static void events_remove(struct http_engine *engine, uint32_t index)
{
    int kept = engine->event_next;
    for (int i = engine->event_next; i < engine->event_count; i++)
        if (engine->events[i].tag != index)
            engine->events[kept++] = engine->events[i];
    engine->event_count = kept;
}

void http_conn_count(struct http_engine *engine, struct http_conn *conn)
{
    hist_record(&engine->stats->exchanges_per_connection, conn->served - conn->counted);
    conn->counted = conn->served;
}

void http_conn_close(struct http_engine *engine, struct http_conn *conn)
{
    assert(conn->first < 0 && conn->state != CONN_NONE);
    uint32_t index = http_conn_index(engine, conn);
    if (conn->state >= CONN_IDLE)
        http_conn_count(engine, conn);
    else if (conn->socket.fd >= 0)
        peer_failed(engine, conn);
    http_pool_leave(engine, conn);
    if (conn->is_again)
        list_remove(engine->again, &engine->again_count, index);
    if (conn->is_dirty)
        list_remove(engine->dirty, &engine->dirty_count, index);
    events_remove(engine, index);
    if (conn->is_in_ring)
        wire_ring_forget(&engine->ring, index);
    if (conn->h2 != NULL)
        http_h2_close(conn);
    if (conn->socket.ssl != NULL)
        http_tls_end(engine, conn);
    socket_drop(engine, conn);
    http_pool_give(engine, conn);
}

void http_conn_fail(struct http_engine *engine, struct http_conn *conn, struct http_fault fault)
{
    bool is_open = conn->state >= CONN_IDLE;
    while (conn->first >= 0) {
        struct http_exchange *exchange = &engine->exchanges[conn->first];
        if (is_open && http_exchange_retry(engine, exchange, false))
            continue;
        struct http_fault own = fault;
        if (own.phase == HTTP_PHASE_COUNT)
            own.phase = http_exchange_phase(engine, exchange);
        exchange->peer = engine->origins[conn->origin].peer_count > 0 ? (int32_t)conn->peer : -1;
        http_exchange_fail(engine, exchange, own);
    }
    http_conn_close(engine, conn);
}
