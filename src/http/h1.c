/* HTTP/1.1 on an open connection: one request, then its response.
 *
 * What comes is read into one buffer of the engine. A response that is whole there is reported from there; of others the
 * exchange keeps the head, and the body when it is wanted. */
#include "http/http_int.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

enum { TLS_READS_MOST = 8 };

/* ---- the request ---- */

static void request_counted(struct http_engine *engine, struct http_exchange *exchange)
{
    engine->stats->requests++;
    if (exchange->sent_ns == 0)
        exchange->sent_ns = pl_clock_ns();
}

static void continue_wait_begin(struct http_engine *engine, struct http_exchange *exchange)
{
    exchange->awaits_continue = true;
    exchange->continue_ns = pl_clock_ns();
    engine->stats->continues++;
    http_timers_lower(&engine->timers, (uint32_t)http_client_of(engine, exchange), exchange->continue_ns + PL_NS_PER_S);
}

/* For what is unsent, or what TLS has to send before it can read on. */
static void watch(struct http_engine *engine, struct http_conn *conn, const struct http_exchange *exchange)
{
    http_conn_watch(engine, conn,
                    conn->socket.wants_write || (exchange->sent < exchange->may_send && !conn->socket.wants_read));
}

void http_h1_sent(struct http_engine *engine, struct http_conn *conn, enum wire_io result, size_t count)
{
    struct http_exchange *exchange = &engine->exchanges[conn->first];
    exchange->sent += count;
    engine->stats->sent_bytes += (int64_t)count;
    if (result == WIRE_DONE || result == WIRE_AGAIN) {
        watch(engine, conn, exchange);
        return;
    }
    /* why it failed may stand in what the server sent before: that is read first */
    conn->is_broken = true;
    conn->write_errno = conn->socket.os_errno;
    http_conn_watch(engine, conn, false);
    http_conn_again(engine, conn);
}

static void request_write(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    while (exchange->sent < exchange->may_send && !conn->is_broken && !conn->is_in_ring) {
        const char *from = exchange->bytes + exchange->sent;
        size_t left = exchange->length - exchange->sent, count = 0;
        if (exchange->sent >= exchange->length) {
            from = exchange->body.text + (exchange->sent - exchange->length);
            left = exchange->may_send - exchange->sent;
        }
        enum wire_io result = wire_write(&conn->socket, from, left, &count);
        if (exchange->sent == 0 && count > 0)
            request_counted(engine, exchange);
        http_h1_sent(engine, conn, result, count);
        if (result != WIRE_DONE)
            return;
    }
}

void http_h1_begin(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    exchange->state = EXCHANGE_ACTIVE;
    exchange->peer = (int32_t)conn->peer;
    exchange->is_tls = conn->socket.ssl != NULL;
    exchange->is_new_connection = conn->served == 0;
    exchange->is_resumed = conn->is_resumed;
    conn->stage = H1_HEAD;
    conn->seen = 0;
    if (__builtin_expect(exchange->may_send == exchange->length && exchange->length <= UINT32_MAX, 1) &&
        wire_ring_put(&engine->ring, &conn->socket, http_conn_index(engine, conn), exchange->bytes,
                      (uint32_t)exchange->length)) {
        exchange->sent = exchange->length; /* the flush says when it is not so */
        conn->is_in_ring = true;
    } else {
        request_write(engine, conn, exchange);
    }
    if (__builtin_expect(exchange->expects_continue, 0))
        continue_wait_begin(engine, exchange);
}

void http_h1_continue(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    exchange->awaits_continue = false;
    hist_record(&engine->stats->continue_wait, pl_clock_ns() - exchange->continue_ns);
    exchange->may_send = exchange->length + exchange->body.length;
    request_write(engine, conn, exchange);
}

/* ---- the end of a response ---- */

/* The connection serves no other exchange when one side has said so, or when it is not clear any more what stands on it. */
static bool must_close(const struct http_engine *engine, const struct http_conn *conn, const struct http_exchange *exchange,
                       size_t leftover)
{
    int64_t most = engine->spec.exchanges_per_connection;
    return exchange->closes || leftover > 0 || conn->is_hung_up || conn->is_broken ||
           exchange->sent < exchange->length + exchange->body.length || (most > 0 && conn->served >= most);
}

/* TLS has read on behind the answer. What stands there may be a ticket; anything else nobody has asked for, and the next
 * exchange would take it for its own. */
static bool tls_has_leftover(struct http_engine *engine, struct http_conn *conn)
{
    if (!wire_has_buffered(&conn->socket))
        return false;
    size_t count;
    enum wire_io result = wire_read(&conn->socket, engine->out, HTTP_READ_BYTES, &count);
    conn->is_hung_up |= result == WIRE_CLOSED || result == WIRE_FAILED;
    return result != WIRE_AGAIN;
}

/* engine->fields hold what the head says. */
static void response_end(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                         int field_count, struct http_slice body, size_t leftover)
{
    conn->served++;
    http_exchange_count(engine, exchange);
    struct http_response response = {.headers = engine->headers, .header_count = (size_t)field_count};
    for (int i = 0; i < field_count; i++) {
        const struct http1_field *field = &engine->fields[i];
        engine->headers[i] = (struct http_header){{field->name, field->name_length}, {field->value, field->value_length}};
    }
    if (exchange->keeps_body)
        response.body = body;
    http_pool_detach(engine, exchange);
    engine->reported_tls = conn->socket.ssl;
    if (must_close(engine, conn, exchange, leftover) || tls_has_leftover(engine, conn)) {
        engine->stats->connections_closed_by_peer += !exchange->closes && conn->is_hung_up;
        http_conn_close(engine, conn);
    } else {
        watch(engine, conn, exchange);
        http_pool_sort(engine, conn);
    }
    if (engine->blocked_first >= 0)
        http_pool_serve(engine);
    http_exchange_report(engine, exchange, &response);
}

/* The head was read before: it stands in the exchange. */
static void response_end_later(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                               size_t leftover)
{
    struct http1_head head;
    enum http1_result result = http1_read_head(exchange->head.data, exchange->head.len, 0, exchange->is_head,
                                               engine->fields, HTTP_HEADERS_MOST, &head);
    assert(result == HTTP1_OK); /* as it was the first time */
    (void)result;
    struct http_slice body = {pl_buf_text(&exchange->got), exchange->got.len};
    response_end(engine, conn, exchange, head.field_count, body, leftover);
}

static void response_wrong(struct http_engine *engine, struct http_conn *conn, enum http_phase phase, const char *word,
                           const char *text)
{
    http_exchange_fail(engine, &engine->exchanges[conn->first], (struct http_fault){phase, word, text});
    http_conn_close(engine, conn);
}

/* ---- the body ---- */

enum took { TOOK_ALL, TOOK_END, TOOK_WRONG };

/* false: it is longer than what may be kept; the exchange has ended. */
static bool body_take(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange, const char *bytes,
                      size_t length)
{
    exchange->raw_bytes += (int64_t)length;
    engine->stats->body_bytes += (int64_t)length;
    if (!exchange->keeps_body || length == 0)
        return true;
    pl_buf_put_bytes(&exchange->got, bytes, length);
    if (!exchange->got.full)
        return true;
    response_wrong(engine, conn, HTTP_BODY, "TOO_LARGE", "the body is longer than what may be kept");
    return false;
}

static enum took chunks_take(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                             const char *bytes, size_t length, size_t *ret_leftover)
{
    size_t at = 0;
    for (;;) {
        const char *data;
        size_t count;
        enum http1_result result = http1_read_chunks(&conn->chunks, bytes, length, &at, &data, &count);
        if (result == HTTP1_PARTIAL)
            return TOOK_ALL;
        if (result != HTTP1_OK) {
            response_wrong(engine, conn, HTTP_BODY, "MALFORMED",
                           conn->chunks.wrong != NULL ? conn->chunks.wrong : "the chunks are malformed");
            return TOOK_WRONG;
        }
        if (count == 0) {
            *ret_leftover = length - at;
            return TOOK_END;
        }
        if (!body_take(engine, conn, exchange, data, count))
            return TOOK_WRONG;
    }
}

/* What of these bytes is the body's. */
static enum took body_bytes(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                            const char *bytes, size_t length, size_t *ret_leftover)
{
    *ret_leftover = 0;
    if (conn->stage == H1_CHUNKED)
        return chunks_take(engine, conn, exchange, bytes, length, ret_leftover);
    size_t own = length;
    if (conn->stage == H1_LENGTH && (int64_t)own > conn->left)
        own = (size_t)conn->left;
    if (!body_take(engine, conn, exchange, bytes, own))
        return TOOK_WRONG;
    if (conn->stage == H1_UNTIL_CLOSE)
        return TOOK_ALL;
    conn->left -= (int64_t)own;
    *ret_leftover = length - own;
    return conn->left == 0 ? TOOK_END : TOOK_ALL;
}

/* ---- the head ---- */

/* What is kept of the head are these bytes, which may be some of those that are kept already. */
static void head_keep(struct http_exchange *exchange, const char *bytes, size_t length)
{
    struct pl_buf *head = &exchange->head;
    if (head->data != NULL && bytes >= head->data && bytes <= head->data + head->len) {
        memmove(head->data, bytes, length);
        head->len = length;
        return;
    }
    head->len = 0;
    pl_buf_put_bytes(head, bytes, length);
}

/* A final head: its body begins at `rest`. */
static void head_final(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                       const struct http1_head *head, const char *bytes, size_t length)
{
    exchange->status = head->status;
    exchange->version = (uint8_t)head->version;
    exchange->closes = exchange->closes || !head->keeps_alive;
    if (exchange->awaits_continue) {
        exchange->awaits_continue = false;
        hist_record(&engine->stats->continue_wait, pl_clock_ns() - exchange->continue_ns);
    }
    const char *rest = bytes + head->length;
    size_t rest_length = length - head->length;
    if (head->framing == HTTP1_NO_BODY || (head->framing == HTTP1_LENGTH && head->content_length == 0)) {
        response_end(engine, conn, exchange, head->field_count, (struct http_slice){"", 0}, rest_length);
        return;
    }
    if (head->framing == HTTP1_LENGTH && (int64_t)rest_length >= head->content_length &&
        (size_t)head->content_length <= engine->spec.body_keep_most_bytes) {
        size_t own = (size_t)head->content_length;
        exchange->raw_bytes = (int64_t)own;
        engine->stats->body_bytes += (int64_t)own;
        response_end(engine, conn, exchange, head->field_count, (struct http_slice){rest, own}, rest_length - own);
        return;
    }
    conn->left = head->content_length;
    conn->stage = head->framing == HTTP1_LENGTH ? H1_LENGTH : head->framing == HTTP1_CHUNKED ? H1_CHUNKED : H1_UNTIL_CLOSE;
    http1_chunks_begin(&conn->chunks);
    size_t leftover = 0;
    switch (body_bytes(engine, conn, exchange, rest, rest_length, &leftover)) {
    case TOOK_END:
        response_end(engine, conn, exchange, head->field_count,
                     (struct http_slice){pl_buf_text(&exchange->got), exchange->got.len}, leftover);
        break;
    case TOOK_ALL:
        head_keep(exchange, bytes, head->length);
        break;
    case TOOK_WRONG:
        break;
    }
}

/* false: the exchange has ended. */
static bool head_interim(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange, int status)
{
    if (status == 101) {
        response_wrong(engine, conn, HTTP_HEAD, "UPGRADE", "101: the server changes to another protocol");
        return false;
    }
    exchange->interim_count++;
    engine->stats->interim++;
    if (status == 100 && exchange->awaits_continue)
        http_h1_continue(engine, conn, exchange);
    return true;
}

static void head_bytes(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                       const char *bytes, size_t length)
{
    if (exchange->head.len > 0) {
        pl_buf_put_bytes(&exchange->head, bytes, length);
        bytes = exchange->head.data;
        length = exchange->head.len;
    }
    while (length > 0) {
        struct http1_head head;
        head.wrong = NULL;
        enum http1_result result =
            http1_read_head(bytes, length, conn->seen, exchange->is_head, engine->fields, HTTP_HEADERS_MOST, &head);
        size_t head_length = result == HTTP1_OK ? head.length : length;
        if (result == HTTP1_BAD) {
            response_wrong(engine, conn, HTTP_HEAD, "MALFORMED",
                           head.wrong != NULL ? head.wrong : "the response is malformed");
            return;
        }
        if (result == HTTP1_TOO_MANY || head_length > engine->spec.head_most_bytes) {
            response_wrong(engine, conn, HTTP_HEAD, "TOO_LARGE", "the head of the response is too large");
            return;
        }
        if (result == HTTP1_PARTIAL) {
            conn->seen = length;
            break;
        }
        if (head.status >= 200) {
            head_final(engine, conn, exchange, &head, bytes, length);
            return;
        }
        if (!head_interim(engine, conn, exchange, head.status))
            return;
        conn->seen = 0;
        bytes += head.length;
        length -= head.length;
    }
    head_keep(exchange, bytes, length);
}

/* ---- events ---- */

static void response_bytes(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                           size_t length)
{
    engine->stats->received_bytes += (int64_t)length;
    if (__builtin_expect(conn->is_in_ring, 0)) {
        /* an answer before the request was sent is a leftover of the one before */
        engine->stats->received_bytes -= (int64_t)length;
        http_exchange_retry(engine, exchange, false);
        http_conn_close(engine, conn);
        return;
    }
    exchange->done_ns = pl_clock_ns();
    if (exchange->first_byte_ns == 0) {
        exchange->first_byte_ns = exchange->done_ns;
        pl_buf_clear(&exchange->head);
        pl_buf_clear(&exchange->got);
    }
    if (conn->stage == H1_HEAD) {
        head_bytes(engine, conn, exchange, engine->in, length);
        return;
    }
    size_t leftover;
    if (body_bytes(engine, conn, exchange, engine->in, length, &leftover) == TOOK_END)
        response_end_later(engine, conn, exchange, leftover);
}

/* The stream has ended, or is broken. */
static void response_closed(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                            enum wire_io result)
{
    if (result == WIRE_CLOSED && conn->stage == H1_UNTIL_CLOSE) {
        if (conn->socket.ssl != NULL && !http_tls_said_goodbye(conn)) {
            response_wrong(engine, conn, HTTP_BODY, "TRUNCATED",
                           "the encrypted connection ended without TLS's goodbye, so the body may be a part");
            return;
        }
        exchange->done_ns = pl_clock_ns();
        exchange->closes = true;
        response_end_later(engine, conn, exchange, 0);
        return;
    }
    engine->stats->connections_closed_by_peer++;
    struct http_fault fault = http_fault_read(conn, result);
    bool is_told = result == WIRE_FAILED && conn->socket.os_errno == 0; /* TLS's own, an alert perhaps */
    if (conn->is_broken && !is_told && exchange->first_byte_ns == 0)
        fault = http_fault_io(HTTP_SEND, WIRE_CLOSED, conn->write_errno);
    http_conn_fail(engine, conn, fault);
}

static void idle_event(struct http_engine *engine, struct http_conn *conn)
{
    size_t count;
    if (wire_read(&conn->socket, engine->in, HTTP_READ_BYTES, &count) == WIRE_AGAIN)
        return;
    engine->stats->connections_closed_by_peer += count == 0;
    http_conn_close(engine, conn);
}

void http_h1_event(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->state == CONN_IDLE) {
        idle_event(engine, conn);
        return;
    }
    int32_t client = conn->first;
    struct http_exchange *exchange = &engine->exchanges[client];
    if (__builtin_expect(exchange->sent < exchange->may_send, 0))
        request_write(engine, conn, exchange);
    for (int i = 0; i < TLS_READS_MOST; i++) {
        size_t count;
        enum wire_io result = wire_read(&conn->socket, engine->in, HTTP_READ_BYTES, &count);
        if (__builtin_expect(result != WIRE_DONE, 0)) {
            if (result != WIRE_AGAIN)
                response_closed(engine, conn, exchange, result);
            else if (conn->is_broken)
                response_closed(engine, conn, exchange, WIRE_CLOSED);
            else
                watch(engine, conn, exchange);
            return;
        }
        int reported = engine->reported;
        response_bytes(engine, conn, exchange, count);
        if (engine->reported != reported || conn->first != client || !wire_has_buffered(&conn->socket))
            return;
    }
    http_conn_look_again(engine, conn);
}
