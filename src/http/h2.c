/* HTTP/2 on an open connection: nghttp2's client session, its streams are exchanges.
 *
 * What a session has to say is gathered before the next wait, for all exchanges of the turn in one send. Nothing is freed
 * or given away while nghttp2 calls back: ends go among the ended, what was refused before the blocked. */
#include "http/http_int.h"

#include <assert.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "base/clock.h"

#include "base/ban.h"

enum {
    STREAM_WINDOW_BYTES = 16 * 1024 * 1024,
    CONNECTION_WINDOW_BYTES = 256 * 1024 * 1024,
    UNSENT_MOST_BYTES = 2 * HTTP_READ_BYTES,
    GATHER_BYTES = HTTP_READ_BYTES - 20 * 1024, /* a frame more always fits */
    TLS_READS_MOST = 8,
    PSEUDO_MOST = 4,
    FIELDS_MOST = HTTP_HEADERS_MOST
};

static void dirty_add(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->is_dirty)
        return;
    conn->is_dirty = true;
    engine->dirty[engine->dirty_count++] = http_conn_index(engine, conn);
}

/* ---- what a session calls ---- */

static struct http_exchange *exchange_at(struct http_h2 *h2, int32_t stream)
{
    if (h2->at_stream != stream) {
        h2->at_stream = stream;
        h2->at = nghttp2_session_get_stream_user_data(h2->session, stream);
    }
    return h2->at;
}

/* The stream belongs to nobody any more. */
static void stream_leave(struct http_h2 *h2, int32_t stream)
{
    nghttp2_session_set_stream_user_data(h2->session, stream, NULL);
    h2->at_stream = 0;
}

static void stream_fail(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange,
                        struct http_fault fault)
{
    http_h2_cancel(engine, conn, exchange);
    http_exchange_fail(engine, exchange, fault);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    (void)session;
    struct http_h2 *h2 = ((struct http_conn *)context)->h2;
    struct http_exchange *exchange = exchange_at(h2, frame->hd.stream_id);
    if (exchange == NULL || exchange->first_byte_ns != 0)
        return 0;
    exchange->first_byte_ns = h2->now_ns;
    pl_buf_clear(&exchange->head);
    pl_buf_clear(&exchange->got);
    return 0;
}

static int status_of(const uint8_t *value, size_t length)
{
    int status = 0;
    for (size_t i = 0; i < length && i < 3; i++)
        status = status * 10 + (value[i] - '0');
    return status;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t value_length, uint8_t flags, void *context)
{
    (void)session;
    (void)flags;
    struct http_conn *conn = context;
    struct http_engine *engine = conn->h2->engine;
    struct http_exchange *exchange = exchange_at(conn->h2, frame->hd.stream_id);
    if (exchange == NULL)
        return 0;
    if (name_length > 0 && name[0] == ':') {
        exchange->status = status_of(value, value_length);
        return 0;
    }
    if (exchange->fields == FIELDS_MOST ||
        exchange->head.len + name_length + value_length + 2 * sizeof(uint32_t) > engine->spec.head_most_bytes) {
        stream_fail(engine, conn, exchange,
                    (struct http_fault){HTTP_HEAD, "TOO_LARGE", "the head of the response is too large"});
        return 0;
    }
    exchange->fields++;
    http_fields_put(&exchange->head, (const char *)name, name_length, (const char *)value, value_length);
    return 0;
}

static void interim_end(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    exchange->interim_count++;
    engine->stats->interim++;
    if (exchange->status == 100 && exchange->awaits_continue)
        http_h2_continue(engine, conn, exchange);
    exchange->status = 0;
    exchange->fields = 0;
    pl_buf_clear(&exchange->head);
}

static void settings_take(struct http_engine *engine, struct http_conn *conn)
{
    uint32_t most = nghttp2_session_get_remote_settings(conn->h2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    uint32_t own = engine->spec.close_each ? 1 : (uint32_t)engine->spec.streams;
    conn->stream_most = (uint16_t)(most < own ? most : own);
    engine->origins[conn->origin].streams = conn->stream_most;
}

static void continue_waited(struct http_engine *engine, struct http_exchange *exchange)
{
    if (!exchange->awaits_continue)
        return;
    exchange->awaits_continue = false;
    hist_record(&engine->stats->continue_wait, pl_clock_ns() - exchange->continue_ns);
}

/* The answer is whole, and with it the exchange: what of the request was not sent is not wanted (RFC 9113, 8.1). */
static void answer_end(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    exchange->done_ns = conn->h2->now_ns;
    exchange->version = 20;
    stream_leave(conn->h2, exchange->stream);
    if (exchange->sent < exchange->body.length)
        nghttp2_submit_rst_stream(conn->h2->session, NGHTTP2_FLAG_NONE, exchange->stream, NGHTTP2_NO_ERROR);
    continue_waited(engine, exchange);
    conn->served++;
    http_exchange_answer(engine, exchange);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    (void)session;
    struct http_conn *conn = context;
    struct http_engine *engine = conn->h2->engine;
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
        settings_take(engine, conn);
    if (frame->hd.type == NGHTTP2_GOAWAY)
        conn->h2->is_finished = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct http_exchange *exchange = exchange_at(conn->h2, frame->hd.stream_id);
    if (exchange == NULL)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && exchange->status < 200)
        interim_end(engine, conn, exchange);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && exchange->status >= 200)
        answer_end(engine, conn, exchange);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t length,
                   void *context)
{
    (void)session;
    (void)flags;
    struct http_conn *conn = context;
    struct http_engine *engine = conn->h2->engine;
    struct http_exchange *exchange = exchange_at(conn->h2, stream);
    if (exchange == NULL)
        return 0;
    exchange->raw_bytes += (int64_t)length;
    engine->stats->body_bytes += (int64_t)length;
    if (!exchange->keeps_body)
        return 0;
    pl_buf_put_bytes(&exchange->got, bytes, length);
    if (exchange->got.full)
        stream_fail(engine, conn, exchange,
                    (struct http_fault){HTTP_BODY, "TOO_LARGE", "the body is longer than what may be kept"});
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context)
{
    (void)session;
    struct http_conn *conn = context;
    struct http_engine *engine = conn->h2->engine;
    struct http_exchange *exchange = exchange_at(conn->h2, stream);
    if (exchange == NULL)
        return 0;
    stream_leave(conn->h2, stream);
    continue_waited(engine, exchange);
    bool was_refused = code == NGHTTP2_REFUSED_STREAM || !exchange->is_begun;
    if (was_refused && http_exchange_retry(engine, exchange, true))
        return 0;
    http_exchange_fail(engine, exchange,
                       (struct http_fault){http_exchange_phase(engine, exchange), nghttp2_http2_strerror(code),
                                           code == NGHTTP2_PROTOCOL_ERROR ? "one side found the other's stream malformed"
                                                                          : "the server gave the stream up"});
    return 0;
}

/* A request may have waited in the session until the server allowed its stream. */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    (void)session;
    struct http_conn *conn = context;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct http_exchange *exchange = exchange_at(conn->h2, frame->hd.stream_id);
    if (exchange == NULL)
        return 0;
    exchange->is_begun = true;
    conn->h2->engine->stats->requests++;
    if (exchange->sent_ns == 0)
        exchange->sent_ns = conn->h2->now_ns;
    return 0;
}

static ssize_t body_read(nghttp2_session *session, int32_t stream, uint8_t *into, size_t size, uint32_t *flags,
                         nghttp2_data_source *source, void *context)
{
    (void)session;
    (void)source;
    const struct http_conn *conn = context;
    struct http_exchange *exchange = exchange_at(conn->h2, stream);
    if (exchange == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (exchange->awaits_continue)
        return NGHTTP2_ERR_DEFERRED;
    size_t left = exchange->body.length - exchange->sent;
    size_t count = left < size ? left : size;
    memcpy(into, exchange->body.text + exchange->sent, count);
    exchange->sent += count;
    if (exchange->sent == exchange->body.length)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

/* ---- life ---- */

void http_h2_init(struct http_engine *engine)
{
    if (!engine->spec.http2)
        return;
    if (nghttp2_session_callbacks_new(&engine->h2_callbacks) != 0 || nghttp2_option_new(&engine->h2_option) != 0)
        pl_panic("out of memory for HTTP/2");
    nghttp2_session_callbacks_set_on_begin_headers_callback(engine->h2_callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(engine->h2_callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(engine->h2_callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(engine->h2_callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(engine->h2_callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(engine->h2_callbacks, on_stream_close);
    nghttp2_option_set_no_closed_streams(engine->h2_option, 1);
}

void http_h2_release(struct http_engine *engine)
{
    nghttp2_session_callbacks_del(engine->h2_callbacks);
    nghttp2_option_del(engine->h2_option);
}

void http_h2_open(struct http_engine *engine, struct http_conn *conn)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
    };
    conn->h2 = pl_new(1, sizeof *conn->h2);
    conn->h2->engine = engine;
    pl_buf_init(&conn->h2->unsent, UNSENT_MOST_BYTES);
    nghttp2_option_set_peer_max_concurrent_streams(engine->h2_option, conn->stream_most);
    if (nghttp2_session_client_new2(&conn->h2->session, engine->h2_callbacks, conn, engine->h2_option) != 0)
        pl_panic("out of memory for HTTP/2");
    nghttp2_submit_settings(conn->h2->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings);
    nghttp2_session_set_local_window_size(conn->h2->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW_BYTES);
    dirty_add(engine, conn);
    /* a begun exchange stays attached, so the list does not change; a refused one leaves it */
    for (int32_t client = conn->first; client >= 0;) {
        int32_t next = engine->exchanges[client].next;
        http_h2_begin(engine, conn, &engine->exchanges[client]);
        client = next;
    }
    http_pool_sort(engine, conn);
}

void http_h2_close(struct http_conn *conn)
{
    nghttp2_session_del(conn->h2->session);
    pl_buf_release(&conn->h2->unsent);
    pl_free(conn->h2);
    conn->h2 = NULL;
}

/* ---- exchanges ---- */

static size_t fields_gather(const struct http_exchange *exchange, nghttp2_nv *fields, size_t capacity)
{
    size_t count = 0, at = 0;
    struct http_header field;
    while (count < capacity && http_fields_next(&exchange->out, &at, &field))
        fields[count++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)field.name.text,
                                       .namelen = field.name.length,
                                       .value = (uint8_t *)(uintptr_t)field.value.text,
                                       .valuelen = field.value.length};
    return count;
}

void http_h2_begin(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    nghttp2_nv fields[FIELDS_MOST + PSEUDO_MOST];
    exchange->state = EXCHANGE_ACTIVE;
    exchange->peer = (int32_t)conn->peer;
    exchange->is_tls = conn->socket.ssl != NULL;
    exchange->is_new_connection = conn->served == 0;
    exchange->is_resumed = conn->is_resumed;
    exchange->sent = 0; /* of the body */
    exchange->is_begun = false;
    conn->h2->at_stream = 0;
    exchange->awaits_continue = exchange->expects_continue;
    nghttp2_data_provider provider = {.read_callback = body_read};
    size_t count = fields_gather(exchange, fields, sizeof fields / sizeof *fields);
    exchange->stream = nghttp2_submit_request(conn->h2->session, NULL, fields, count,
                                              exchange->body.length > 0 ? &provider : NULL, exchange);
    if (exchange->stream < 0) {
        /* all its stream numbers are used up: another connection has more. This one is the caller's to sort out */
        conn->h2->is_finished = true;
        exchange->awaits_continue = false;
        if (!http_exchange_retry(engine, exchange, true))
            http_exchange_fail(engine, exchange,
                               (struct http_fault){HTTP_SEND, "STREAM", nghttp2_strerror(exchange->stream)});
        return;
    }
    if (exchange->awaits_continue) {
        exchange->continue_ns = pl_clock_ns();
        engine->stats->continues++;
        http_timers_lower(&engine->timers, (uint32_t)http_client_of(engine, exchange), exchange->continue_ns + PL_NS_PER_S);
    }
    dirty_add(engine, conn);
}

void http_h2_continue(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    continue_waited(engine, exchange);
    nghttp2_session_resume_data(conn->h2->session, exchange->stream);
    dirty_add(engine, conn);
}

void http_h2_cancel(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange)
{
    if (exchange->state != EXCHANGE_ACTIVE)
        return;
    stream_leave(conn->h2, exchange->stream);
    nghttp2_submit_rst_stream(conn->h2->session, NGHTTP2_FLAG_NONE, exchange->stream, NGHTTP2_CANCEL);
    dirty_add(engine, conn);
}

/* Has a connection without streams had its time? */
static bool has_ended(const struct http_engine *engine, const struct http_conn *conn)
{
    const struct http_h2 *h2 = conn->h2;
    return h2->is_finished || engine->spec.close_each ||
           (!nghttp2_session_want_read(h2->session) && !nghttp2_session_want_write(h2->session));
}

/* Brings the lists in line with its streams. true: it is gone. */
static bool conn_sort(struct http_engine *engine, struct http_conn *conn)
{
    if (conn->streams == 0 && has_ended(engine, conn)) {
        http_conn_close(engine, conn);
        return true;
    }
    http_pool_sort(engine, conn);
    return false;
}

/* ---- sending ---- */

static bool unsent_is_empty(const struct http_h2 *h2)
{
    return h2->unsent_at == h2->unsent.len;
}

/* For what is unsent, or what TLS has to send before it can read on. */
static void watch(struct http_engine *engine, struct http_conn *conn)
{
    http_conn_watch(engine, conn, conn->socket.wants_write || (!unsent_is_empty(conn->h2) && !conn->socket.wants_read));
}

void http_h2_sent(struct http_engine *engine, struct http_conn *conn, enum wire_io result, const char *bytes, size_t length,
                  size_t count)
{
    engine->stats->sent_bytes += (int64_t)count;
    if (result == WIRE_DONE || result == WIRE_AGAIN) {
        if (count < length)
            pl_buf_put_bytes(&conn->h2->unsent, bytes + count, length - count);
        assert(!conn->h2->unsent.full); /* nothing is asked of the session while something is unsent */
        watch(engine, conn);
        return;
    }
    conn->is_broken = true;
    conn->write_errno = conn->socket.os_errno;
    http_conn_watch(engine, conn, false);
    http_conn_again(engine, conn);
}

static void unsent_write(struct http_engine *engine, struct http_conn *conn)
{
    struct http_h2 *h2 = conn->h2;
    if (unsent_is_empty(h2) || conn->is_broken)
        return;
    size_t count = 0;
    enum wire_io result =
        wire_write(&conn->socket, h2->unsent.data + h2->unsent_at, h2->unsent.len - h2->unsent_at, &count);
    h2->unsent_at += count;
    if (unsent_is_empty(h2)) {
        pl_buf_clear(&h2->unsent);
        h2->unsent_at = 0;
        dirty_add(engine, conn);
    }
    http_h2_sent(engine, conn, result, "", count, count);
}

/* Gathers frames, and sends them. true: the session has more to say. */
static bool session_send(struct http_engine *engine, struct http_conn *conn)
{
    size_t length = 0;
    bool has_more = true;
    conn->h2->now_ns = pl_clock_ns();
    while (length <= GATHER_BYTES) {
        const uint8_t *bytes;
        ssize_t count = nghttp2_session_mem_send(conn->h2->session, &bytes);
        if (count < 0)
            pl_panic("out of memory for HTTP/2");
        has_more = count > 0;
        if (!has_more)
            break;
        assert(length + (size_t)count <= HTTP_READ_BYTES);
        memcpy(engine->out + length, bytes, (size_t)count);
        length += (size_t)count;
    }
    if (length == 0)
        return false;
    if (!has_more &&
        wire_ring_put(&engine->ring, &conn->socket, http_conn_index(engine, conn), engine->out, (uint32_t)length)) {
        conn->is_in_ring = true;
        return false;
    }
    size_t count = 0;
    enum wire_io result = wire_write(&conn->socket, engine->out, length, &count);
    http_h2_sent(engine, conn, result, engine->out, length, count);
    return has_more && result == WIRE_DONE && count == length;
}

void http_h2_flush(struct http_engine *engine)
{
    for (int i = 0; i < engine->dirty_count; i++) {
        struct http_conn *conn = &engine->conns[engine->dirty[i]];
        conn->is_dirty = false;
        bool has_more = true;
        while (has_more && unsent_is_empty(conn->h2) && !conn->is_broken)
            has_more = session_send(engine, conn);
        conn_sort(engine, conn); /* a reset that has gone out closes its stream */
    }
    engine->dirty_count = 0;
}

/* ---- receiving ---- */

/* After what came. true: the connection is gone. */
static bool conn_settle(struct http_engine *engine, struct http_conn *conn)
{
    if (nghttp2_session_want_write(conn->h2->session))
        dirty_add(engine, conn);
    return conn_sort(engine, conn);
}

static void conn_closed(struct http_engine *engine, struct http_conn *conn, enum wire_io result)
{
    engine->stats->connections_closed_by_peer++;
    struct http_fault fault = http_fault_read(conn, result);
    if (conn->is_broken && fault.word[0] == 'C' && conn->write_errno != 0)
        fault = http_fault_io(HTTP_PHASE_COUNT, WIRE_CLOSED, conn->write_errno);
    http_conn_fail(engine, conn, fault);
}

void http_h2_event(struct http_engine *engine, struct http_conn *conn)
{
    unsent_write(engine, conn);
    for (int i = 0; i < TLS_READS_MOST; i++) {
        size_t count;
        enum wire_io result = wire_read(&conn->socket, engine->in, HTTP_READ_BYTES, &count);
        if (result != WIRE_DONE) {
            if (result != WIRE_AGAIN || conn->is_broken)
                conn_closed(engine, conn, result == WIRE_AGAIN ? WIRE_CLOSED : result);
            else
                watch(engine, conn);
            return;
        }
        engine->stats->received_bytes += (int64_t)count;
        conn->h2->now_ns = pl_clock_ns();
        ssize_t taken = nghttp2_session_mem_recv(conn->h2->session, (const uint8_t *)engine->in, count);
        if (taken < 0) {
            http_conn_fail(engine, conn, (struct http_fault){HTTP_PHASE_COUNT, "MALFORMED", nghttp2_strerror((int)taken)});
            return;
        }
        if (conn_settle(engine, conn) || !wire_has_buffered(&conn->socket))
            return;
    }
    http_conn_look_again(engine, conn);
}
