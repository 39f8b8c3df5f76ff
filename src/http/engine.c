/* The life of an engine, and its waiting loop. */
#include "http/http_int.h"

#include <assert.h>

#include "base/clock.h"
#include "base/limits.h"

#include "base/ban.h"

enum {
    DEFAULT_STREAMS = 10,
    STREAMS_MOST = 1000,
    DEFAULT_HEAD_BYTES = 64 * 1024,
    DEFAULT_KEEP_BYTES = 64 * 1024 * 1024,
    KEPT_ALL_BYTES = 16 * 1024 * 1024, /* of the buffers that clients keep between answers, together */
    KEPT_LEAST_BYTES = 2 * 1024,
    REQUEST_MOST_BYTES = 1 << 30
};
#define DEFAULT_CONNECT_NS (10 * PL_NS_PER_S)

/* ---- life ---- */

static enum pl_code spec_take(struct http_engine *engine, const struct http_spec *spec, struct pl_err *err)
{
    engine->spec = *spec;
    struct http_spec *own = &engine->spec;
    if (spec->clients < 1 || spec->clients > PL_MAX_CLIENTS)
        return pl_err_set(err, PL_LIMIT, "%d clients of a worker: 1 to %d are possible", spec->clients, PL_MAX_CLIENTS);
    if (spec->connections < 0 || spec->connections > PL_MAX_CLIENTS)
        return pl_err_set(err, PL_LIMIT, "%d connections of a worker: 1 to %d are possible", spec->connections,
                          PL_MAX_CLIENTS);
    if (spec->streams < 0 || spec->streams > STREAMS_MOST)
        return pl_err_set(err, PL_LIMIT, "%d streams on a connection: 1 to %d are possible", spec->streams, STREAMS_MOST);
    if (spec->http2 && spec->http1_0)
        return pl_err_set(err, PL_INPUT, "HTTP/1.0 and HTTP/2 exclude each other");
    if (own->streams == 0)
        own->streams = DEFAULT_STREAMS;
    int each = own->http2 && !own->close_each ? own->streams : 1;
    engine->conn_most = own->connections > 0 ? own->connections : (own->clients + each - 1) / each;
    if (own->connect_timeout_ns <= 0)
        own->connect_timeout_ns = DEFAULT_CONNECT_NS;
    if (own->head_most_bytes == 0)
        own->head_most_bytes = DEFAULT_HEAD_BYTES;
    if (own->body_keep_most_bytes == 0)
        own->body_keep_most_bytes = DEFAULT_KEEP_BYTES;
    return PL_OK;
}

static void exchanges_init(struct http_engine *engine)
{
    size_t count = (size_t)engine->spec.clients;
    engine->exchanges = pl_new(count, sizeof *engine->exchanges);
    engine->ended_first = engine->ended_last = -1;
    for (size_t i = 0; i < count; i++) {
        struct http_exchange *exchange = &engine->exchanges[i];
        exchange->conn = exchange->last_conn = exchange->peer = -1;
        pl_buf_init(&exchange->out, REQUEST_MOST_BYTES);
        pl_buf_init(&exchange->head, engine->spec.head_most_bytes + 2 * (size_t)HTTP_READ_BYTES);
        pl_buf_init(&exchange->got, engine->spec.body_keep_most_bytes);
    }
    pl_buf_init(&engine->decoded, engine->spec.body_keep_most_bytes);
    engine->keep_bytes = KEPT_ALL_BYTES / count;
    if (engine->keep_bytes < KEPT_LEAST_BYTES)
        engine->keep_bytes = KEPT_LEAST_BYTES;
}

enum pl_code http_engine_new(const struct http_spec *spec, const volatile int *stop, struct http_engine **ret_engine,
                             struct pl_err *err)
{
    struct http_engine *engine = pl_new(1, sizeof *engine);
    engine->stop = stop;
    engine->arena = pl_arena_new();
    http_stats_init(&engine->own_stats);
    engine->stats = &engine->own_stats;
    enum pl_code code = spec_take(engine, spec, err);
    if (code == PL_OK)
        code = http_resolve_init(engine, err);
    if (code == PL_OK)
        code = http_tls_init(engine, err);
    if (code == PL_OK)
        code = loop_init(&engine->loop, err);
    engine->has_loop = code == PL_OK;
    if (code != PL_OK) {
        http_engine_free(engine);
        return code;
    }
    loop_be_punctual(&engine->loop);
    wire_ring_init(&engine->ring);
    exchanges_init(engine);
    http_pool_init(engine);
    http_timers_init(&engine->timers, (size_t)engine->spec.clients + (size_t)engine->conn_most);
    http_h2_init(engine);
    engine->again = pl_new((size_t)engine->conn_most, sizeof *engine->again);
    engine->dirty = pl_new((size_t)engine->conn_most, sizeof *engine->dirty);
    engine->in = pl_new(HTTP_READ_BYTES, 1);
    engine->out = pl_new(HTTP_READ_BYTES, 1);
    *ret_engine = engine;
    return PL_OK;
}

static void conns_free(struct http_engine *engine)
{
    for (int i = 0; engine->conns != NULL && i < engine->conn_most; i++) {
        struct http_conn *conn = &engine->conns[i];
        if (conn->state == CONN_NONE)
            continue;
        while (conn->first >= 0)
            http_pool_detach(engine, &engine->exchanges[conn->first]);
        http_conn_close(engine, conn);
    }
    pl_free(engine->conns);
}

void http_engine_free(struct http_engine *engine)
{
    if (engine == NULL)
        return;
    engine->stats = &engine->own_stats; /* the caller's may be gone */
    conns_free(engine);
    for (int i = 0; engine->exchanges != NULL && i < engine->spec.clients; i++) {
        pl_buf_release(&engine->exchanges[i].out);
        pl_buf_release(&engine->exchanges[i].head);
        pl_buf_release(&engine->exchanges[i].got);
    }
    pl_buf_release(&engine->decoded);
    pl_free(engine->exchanges);
    http_timers_release(&engine->timers);
    http_h2_release(engine);
    http_tls_release(engine);
    http_resolve_release(engine);
    http_decode_release(engine);
    wire_ring_release(&engine->ring);
    if (engine->has_loop)
        loop_release(&engine->loop);
    http_stats_release(&engine->own_stats);
    pl_arena_free(engine->arena);
    pl_free(engine->again);
    pl_free(engine->dirty);
    pl_free(engine->in);
    pl_free(engine->out);
    pl_free(engine);
}

const char *http_engine_loop(const struct http_engine *engine)
{
    return wire_ring_name(&engine->ring)[0] != '\0' ? "epoll, sends by io_uring" : loop_name();
}

/* ---- sending what this turn has gathered ---- */

/* flushed_ns: what sends_flush has put as the time of sending. */
static void short_handle(struct http_engine *engine, const struct wire_ring_short *what, const struct wire_ring_send *send,
                         int64_t flushed_ns)
{
    struct http_conn *conn = &engine->conns[what->tag];
    conn->socket.os_errno = what->os_errno;
    engine->stats->sent_bytes -= (int64_t)send->length;
    if (conn->h2 != NULL) {
        http_h2_sent(engine, conn, what->result, (const char *)engine->ring.bytes + send->at, send->length, what->moved);
        return;
    }
    struct http_exchange *exchange = &engine->exchanges[conn->first];
    exchange->sent = 0;
    if (what->moved == 0) { /* it has not left this process */
        engine->stats->requests--;
        if (exchange->sent_ns == flushed_ns)
            exchange->sent_ns = 0;
    }
    http_h1_sent(engine, conn, what->result, what->moved);
}

static void sends_flush(struct http_engine *engine)
{
    if (engine->dirty_count > 0)
        http_h2_flush(engine);
    struct wire_ring *ring = &engine->ring;
    int count = ring->count;
    if (count == 0)
        return;
    int64_t now_ns = pl_clock_ns();
    for (int i = 0; i < count; i++) {
        struct http_conn *conn = &engine->conns[ring->sends[i].tag];
        conn->is_in_ring = false;
        engine->stats->sent_bytes += ring->sends[i].length;
        if (conn->h2 != NULL)
            continue;
        struct http_exchange *exchange = &engine->exchanges[conn->first];
        engine->stats->requests++;
        if (exchange->sent_ns == 0)
            exchange->sent_ns = now_ns;
    }
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    int short_count = wire_ring_flush(ring, shorts);
    for (int i = 0, at = 0; i < short_count; i++) { /* both are in the order of the puts */
        while (at < count && ring->sends[at].tag != shorts[i].tag)
            at++;
        assert(at < count);
        short_handle(engine, &shorts[i], &ring->sends[at], now_ns);
    }
}

/* ---- waiting ---- */

static void timers_handle(struct http_engine *engine)
{
    if (engine->timers.count == 0)
        return;
    int64_t now_ns = pl_clock_ns();
    for (;;) {
        int32_t id = http_timers_take(&engine->timers, now_ns);
        if (id < 0)
            return;
        if (id < engine->spec.clients)
            http_exchange_due(engine, &engine->exchanges[id], now_ns);
        else
            http_conn_due(engine, &engine->conns[id - engine->spec.clients], now_ns);
    }
}

/* Waits, and gathers whom the kernel tells and whom it would not. false: nothing came. */
static bool events_fill(struct http_engine *engine, int64_t until_ns)
{
    int64_t due_ns = http_timers_first_ns(&engine->timers);
    if (due_ns < until_ns)
        until_ns = due_ns;
    if (engine->again_count > 0)
        until_ns = 0;
    engine->event_next = 0;
    engine->event_count = loop_wait(&engine->loop, until_ns, engine->events, HTTP_EVENTS);
    for (int i = 0; i < HTTP_EVENTS && engine->again_count > 0; i++) {
        uint32_t index = engine->again[--engine->again_count];
        engine->conns[index].is_again = false;
        engine->events[engine->event_count++] = (struct loop_event){.tag = index, .flags = LOOP_READ};
    }
    return engine->event_count > 0;
}

static void ended_report(struct http_engine *engine, int most)
{
    while (engine->ended_first >= 0 && engine->reported < most)
        http_exchange_report_ended(engine);
}

static void events_handle(struct http_engine *engine, int most)
{
    while (engine->event_next < engine->event_count && engine->reported < most) {
        const struct loop_event event = engine->events[engine->event_next++];
        http_conn_event(engine, &engine->conns[event.tag], event.flags);
        if (engine->blocked_first >= 0)
            http_pool_serve(engine);
        ended_report(engine, most);
    }
}

/* Nothing has come: an interrupted wait goes on, but for one that is to stop. */
static bool is_over(const struct http_engine *engine, int64_t until_ns)
{
    return (engine->stop != NULL && *engine->stop != 0) || pl_clock_ns() >= until_ns;
}

int http_wait(struct http_engine *engine, int64_t until_ns, int most, http_on_end *on_end, void *context)
{
    assert(most > 0);
    engine->on_end = on_end;
    engine->context = context;
    engine->reported = 0;
    for (bool is_waiting = true; is_waiting && engine->reported == 0;) {
        if (engine->event_next == engine->event_count && engine->ended_first < 0) {
            sends_flush(engine);
            timers_handle(engine);
            if (engine->blocked_first >= 0)
                http_pool_serve(engine);
            if (engine->ended_first < 0 && engine->ring.count == 0 && engine->dirty_count == 0)
                is_waiting = events_fill(engine, until_ns) || !is_over(engine, until_ns);
        }
        ended_report(engine, most);
        events_handle(engine, most);
        /* large bodies may come without a pause */
        if (engine->reported == 0 && until_ns != INT64_MAX && pl_clock_ns() >= until_ns)
            break;
    }
    return engine->reported;
}
