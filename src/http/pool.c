/* Who gets which connection.
 *
 * Order: a client's own last one; another idle one of the origin, if the client has one elsewhere or there may be no more
 * (HTTP/2: always); a new one when the budget allows it; the place of the one that any origin has not used for longest; or
 * the end of the queue. Nobody overtakes the queue. */
#include "http/http_int.h"

#include <assert.h>

#include "base/clock.h"

#include "base/ban.h"

void http_pool_init(struct http_engine *engine)
{
    engine->conns = pl_new((size_t)engine->conn_most, sizeof *engine->conns);
    engine->conn_free = engine->conn_most > 0 ? 0 : -1;
    for (int i = 0; i < engine->conn_most; i++) {
        engine->conns[i].socket.fd = -1;
        engine->conns[i].next = i + 1 < engine->conn_most ? i + 1 : -1;
    }
    engine->idle_first = engine->idle_last = engine->blocked_first = engine->blocked_last = -1;
}

/* ---- places ---- */

struct http_conn *http_pool_take(struct http_engine *engine)
{
    assert(engine->conn_free >= 0);
    struct http_conn *conn = &engine->conns[engine->conn_free];
    engine->conn_free = conn->next;
    engine->conn_count++;
    *conn = (struct http_conn){.socket.fd = -1,
                               .first = -1,
                               .last_client = -1,
                               .previous = -1,
                               .next = -1,
                               .idle_previous = -1,
                               .idle_next = -1,
                               .due_ns = INT64_MAX};
    return conn;
}

void http_pool_give(struct http_engine *engine, struct http_conn *conn)
{
    conn->state = CONN_NONE;
    conn->next = engine->conn_free;
    engine->conn_free = (int32_t)http_conn_index(engine, conn);
    engine->conn_count--;
}

/* ---- lists ---- */

static void list_in_origin(struct http_engine *engine, struct http_conn *conn)
{
    struct http_origin_entry *origin = &engine->origins[conn->origin];
    int32_t index = (int32_t)http_conn_index(engine, conn);
    conn->is_listed = true;
    conn->previous = -1;
    conn->next = origin->free_first;
    if (conn->next >= 0)
        engine->conns[conn->next].previous = index;
    origin->free_first = index;
}

static void unlist_in_origin(struct http_engine *engine, struct http_conn *conn)
{
    conn->is_listed = false;
    if (conn->next >= 0)
        engine->conns[conn->next].previous = conn->previous;
    if (conn->previous >= 0)
        engine->conns[conn->previous].next = conn->next;
    else
        engine->origins[conn->origin].free_first = conn->next;
}

static void idle_append(struct http_engine *engine, struct http_conn *conn)
{
    int32_t index = (int32_t)http_conn_index(engine, conn);
    conn->idle_next = -1;
    conn->idle_previous = engine->idle_last;
    if (engine->idle_last >= 0)
        engine->conns[engine->idle_last].idle_next = index;
    else
        engine->idle_first = index;
    engine->idle_last = index;
}

static void idle_remove(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->idle_next >= 0)
        engine->conns[conn->idle_next].idle_previous = conn->idle_previous;
    else
        engine->idle_last = conn->idle_previous;
    if (conn->idle_previous >= 0)
        engine->conns[conn->idle_previous].idle_next = conn->idle_next;
    else
        engine->idle_first = conn->idle_next;
}

static void idle_begin(struct http_engine *engine, struct http_conn *conn)
{
    conn->state = CONN_IDLE;
    idle_append(engine, conn);
    if (engine->spec.idle_timeout_ns > 0) {
        conn->due_ns = pl_clock_ns() + engine->spec.idle_timeout_ns;
        http_timers_lower(&engine->timers, http_conn_timer(engine, conn), conn->due_ns);
    }
}

void http_pool_sort(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->state == CONN_BUSY && conn->streams == 0) {
        idle_begin(engine, conn);
    } else if (conn->state == CONN_IDLE && conn->streams > 0) {
        idle_remove(engine, conn);
        conn->state = CONN_BUSY;
        conn->due_ns = INT64_MAX;
    }
    bool can_take = conn->streams < conn->stream_most && (conn->h2 == NULL || !conn->h2->is_finished);
    if (can_take && !conn->is_listed)
        list_in_origin(engine, conn);
    else if (!can_take && conn->is_listed)
        unlist_in_origin(engine, conn);
}

void http_pool_leave(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->state == CONN_IDLE)
        idle_remove(engine, conn);
    if (conn->is_listed)
        unlist_in_origin(engine, conn);
}

void http_pool_attach(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    int32_t client = http_client_of(engine, exchange);
    exchange->conn = exchange->last_conn = (int32_t)http_conn_index(engine, conn);
    exchange->previous = -1;
    exchange->next = conn->first;
    if (conn->first >= 0)
        engine->exchanges[conn->first].previous = client;
    conn->first = conn->last_client = client;
    conn->streams++;
    http_pool_sort(engine, conn);
}

void http_pool_detach(struct http_engine *engine, struct http_exchange *exchange)
{
    struct http_conn *conn = &engine->conns[exchange->conn];
    if (exchange->next >= 0)
        engine->exchanges[exchange->next].previous = exchange->previous;
    if (exchange->previous >= 0)
        engine->exchanges[exchange->previous].next = exchange->next;
    else
        conn->first = exchange->next;
    exchange->conn = -1;
    conn->streams--;
}

/* ---- the queue ---- */

void http_pool_block(struct http_engine *engine, struct http_exchange *exchange)
{
    int32_t client = http_client_of(engine, exchange);
    exchange->state = EXCHANGE_BLOCKED;
    exchange->blocked_ns = exchange->submitted_ns;
    engine->stats->blocked++;
    exchange->next = -1;
    exchange->previous = engine->blocked_last;
    if (engine->blocked_last >= 0)
        engine->exchanges[engine->blocked_last].next = client;
    else
        engine->blocked_first = client;
    engine->blocked_last = client;
}

void http_pool_block_first(struct http_engine *engine, struct http_exchange *exchange)
{
    int32_t client = http_client_of(engine, exchange);
    exchange->state = EXCHANGE_BLOCKED;
    exchange->blocked_ns = 0;
    exchange->previous = -1;
    exchange->next = engine->blocked_first;
    if (engine->blocked_first >= 0)
        engine->exchanges[engine->blocked_first].previous = client;
    else
        engine->blocked_last = client;
    engine->blocked_first = client;
}

void http_pool_unblock(struct http_engine *engine, struct http_exchange *exchange)
{
    if (exchange->next >= 0)
        engine->exchanges[exchange->next].previous = exchange->previous;
    else
        engine->blocked_last = exchange->previous;
    if (exchange->previous >= 0)
        engine->exchanges[exchange->previous].next = exchange->next;
    else
        engine->blocked_first = exchange->next;
}

void http_pool_serve(struct http_engine *engine)
{
    if (engine->is_serving) /* placing one may end another's connection */
        return;
    engine->is_serving = true;
    while (engine->blocked_first >= 0) {
        struct http_exchange *exchange = &engine->exchanges[engine->blocked_first];
        int64_t blocked_ns = exchange->blocked_ns;
        http_pool_unblock(engine, exchange);
        if (!http_pool_place(engine, exchange)) {
            http_pool_block_first(engine, exchange);
            exchange->blocked_ns = blocked_ns;
            break;
        }
        if (blocked_ns > 0)
            hist_record(&engine->stats->blocked_wait, pl_clock_ns() - blocked_ns);
    }
    engine->is_serving = false;
}

/* ---- choosing ---- */

/* A simulated user's connection is his: who has none opens one as long as the budget allows it, and does not borrow. */
static struct http_conn *find(const struct http_engine *engine, const struct http_exchange *exchange)
{
    bool has_own = engine->spec.http2;
    if (exchange->wants_fresh)
        return NULL;
    if (exchange->last_conn >= 0) {
        struct http_conn *last = &engine->conns[exchange->last_conn];
        bool is_own = last->state != CONN_NONE && last->last_client == http_client_of(engine, exchange);
        if (last->is_listed && last->origin == exchange->origin && (engine->spec.http2 || is_own))
            return last;
        has_own = has_own || is_own;
    }
    int32_t first = engine->origins[exchange->origin].free_first;
    return first >= 0 && (has_own || engine->conn_count == engine->conn_most) ? &engine->conns[first] : NULL;
}

static void begin_stream(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    http_h2_begin(engine, conn, exchange);
    if (__builtin_expect(!conn->h2->is_finished, 1))
        return;
    if (conn->streams == 0)
        http_conn_close(engine, conn);
    else
        http_pool_sort(engine, conn);
}

bool http_pool_place(struct http_engine *engine, struct http_exchange *exchange)
{
    struct http_conn *conn = find(engine, exchange);
    if (__builtin_expect(conn != NULL, 1)) {
        bool is_open = conn->state >= CONN_IDLE;
        http_pool_attach(engine, conn, exchange);
        exchange->state = EXCHANGE_OPENING;
        if (is_open && engine->spec.http2)
            begin_stream(engine, conn, exchange);
        else if (is_open)
            http_h1_begin(engine, conn, exchange);
        return true;
    }
    if (engine->conn_count == engine->conn_most) {
        if (engine->idle_first < 0)
            return false;
        engine->stats->connections_evicted++;
        http_conn_close(engine, &engine->conns[engine->idle_first]);
    }
    http_conn_open(engine, exchange->origin, exchange);
    return true;
}
