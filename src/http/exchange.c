/* A client's exchange, from http_submit to its report. */
#include "http/http_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

enum { REFUSALS_MOST = 5, TEXT_BYTES = 400, CODE_TEXT_MOST = HTTP_CODE_BYTES - 1 };
#define CONTINUE_WAIT_NS PL_NS_PER_S

const char *http_phase_name(enum http_phase phase)
{
    static const char *const names[HTTP_PHASE_COUNT] = {"wait", "resolve", "connect", "tls", "send", "head", "body"};
    return names[phase];
}

enum http_phase http_exchange_phase(const struct http_engine *engine, const struct http_exchange *exchange)
{
    if (exchange->state == EXCHANGE_BLOCKED)
        return HTTP_WAIT;
    const struct http_conn *conn = &engine->conns[exchange->conn];
    if (conn->state == CONN_CONNECTING)
        return HTTP_CONNECT;
    if (conn->state == CONN_TLS)
        return HTTP_TLS;
    if (exchange->status >= 200)
        return HTTP_BODY;
    bool is_sent = exchange->sent >= exchange->may_send;
    if (conn->h2 != NULL)
        is_sent = exchange->is_begun && (exchange->sent == exchange->body.length || exchange->awaits_continue);
    return exchange->first_byte_ns > 0 || is_sent ? HTTP_HEAD : HTTP_SEND;
}

/* ---- beginning ---- */

int64_t http_submit(struct http_engine *engine, uint32_t client, const struct http_request *request)
{
    assert(client < (uint32_t)engine->spec.clients && (size_t)request->origin < engine->origin_count);
    struct http_exchange *exchange = &engine->exchanges[client];
    assert(exchange->state == EXCHANGE_NONE);
    int64_t now_ns = pl_clock_ns();
    exchange->origin = (uint32_t)request->origin;
    exchange->is_head = request->method.length == 4 && memcmp(request->method.text, "HEAD", 4) == 0;
    exchange->keeps_body = request->keeps_body;
    exchange->decodes = request->decodes;
    exchange->is_safe = request->is_safe;
    exchange->is_retried = exchange->awaits_continue = exchange->wants_fresh = false;
    exchange->refusals = 0;
    exchange->conn = exchange->peer = -1;
    exchange->status = exchange->interim_count = 0;
    exchange->sent = 0;
    exchange->raw_bytes = 0;
    exchange->fields = 0;
    exchange->submitted_ns = now_ns;
    exchange->sent_ns = exchange->first_byte_ns = exchange->blocked_ns = 0;
    exchange->deadline_ns = request->timeout_ns < INT64_MAX - now_ns ? now_ns + request->timeout_ns : INT64_MAX;
    http_request_keep(engine, exchange, request);
    if (exchange->deadline_ns != INT64_MAX)
        http_timers_lower(&engine->timers, client, exchange->deadline_ns);
    if (__builtin_expect(exchange->out.full, 0))
        http_exchange_fail(engine, exchange, (struct http_fault){HTTP_SEND, "TOO_LARGE", "the request is too large"});
    else if (__builtin_expect(engine->origins[request->origin].peer_count == 0, 0))
        http_exchange_fail(engine, exchange, (struct http_fault){HTTP_RESOLVE, "NOT_FOUND", "the name has no address"});
    else if (engine->blocked_first >= 0 || !http_pool_place(engine, exchange))
        http_pool_block(engine, exchange);
    return now_ns;
}

bool http_exchange_retry(struct http_engine *engine, struct http_exchange *exchange, bool was_refused)
{
    const struct http_conn *conn = &engine->conns[exchange->conn];
    bool is_unsent = conn->h2 != NULL && !exchange->is_begun;
    if (conn->is_in_ring && conn->h2 == NULL) {
        /* nothing was sent: it might as well have been given another connection */
    } else if (was_refused || is_unsent) {
        if (exchange->refusals == REFUSALS_MOST)
            return false;
        exchange->refusals++;
        engine->stats->retries += !is_unsent;
    } else {
        if (!exchange->is_safe || exchange->is_retried || exchange->is_new_connection || exchange->first_byte_ns != 0)
            return false;
        exchange->is_retried = true;
        engine->stats->retries++;
    }
    http_pool_detach(engine, exchange);
    exchange->wants_fresh = !was_refused;
    exchange->sent = 0;
    exchange->status = exchange->interim_count = 0;
    exchange->raw_bytes = 0;
    exchange->first_byte_ns = 0;
    exchange->awaits_continue = false;
    exchange->fields = 0;
    if (exchange->expects_continue)
        exchange->may_send = exchange->length;
    http_pool_block_first(engine, exchange);
    return true;
}

/* ---- ending ---- */

static void ended_append(struct http_engine *engine, struct http_exchange *exchange)
{
    if (exchange->conn >= 0)
        http_pool_detach(engine, exchange);
    else if (exchange->state == EXCHANGE_BLOCKED)
        http_pool_unblock(engine, exchange);
    int32_t client = http_client_of(engine, exchange);
    exchange->state = EXCHANGE_ENDED;
    exchange->next = -1;
    exchange->previous = engine->ended_last;
    if (engine->ended_last >= 0)
        engine->exchanges[engine->ended_last].next = client;
    else
        engine->ended_first = client;
    engine->ended_last = client;
}

static void ended_remove(struct http_engine *engine, struct http_exchange *exchange)
{
    if (exchange->next >= 0)
        engine->exchanges[exchange->next].previous = exchange->previous;
    else
        engine->ended_last = exchange->previous;
    if (exchange->previous >= 0)
        engine->exchanges[exchange->previous].next = exchange->next;
    else
        engine->ended_first = exchange->next;
    exchange->state = EXCHANGE_NONE;
}

void http_exchange_fail(struct http_engine *engine, struct http_exchange *exchange, struct http_fault fault)
{
    exchange->outcome = HTTP_FAILED;
    exchange->fault = fault;
    exchange->done_ns = pl_clock_ns();
    ended_append(engine, exchange);
}

void http_exchange_count(struct http_engine *engine, const struct http_exchange *exchange)
{
    struct http_stats *stats = engine->stats;
    stats->answers++;
    if (exchange->status < 600)
        stats->statuses[exchange->status]++;
    else
        stats->other_statuses++;
    if (exchange->sent_ns > 0 && exchange->first_byte_ns >= exchange->sent_ns)
        hist_record(&stats->first_byte, exchange->first_byte_ns - exchange->sent_ns);
}

void http_exchange_answer(struct http_engine *engine, struct http_exchange *exchange)
{
    exchange->outcome = HTTP_ANSWERED;
    http_exchange_count(engine, exchange);
    ended_append(engine, exchange);
}

static void exchange_expire(struct http_engine *engine, struct http_exchange *exchange)
{
    struct http_conn *conn = exchange->conn >= 0 ? &engine->conns[exchange->conn] : NULL;
    exchange->outcome = HTTP_EXPIRED;
    exchange->fault = (struct http_fault){http_exchange_phase(engine, exchange), "EXPIRED", "no answer within its time"};
    exchange->done_ns = pl_clock_ns();
    if (conn != NULL)
        exchange->peer = (int32_t)conn->peer;
    if (conn != NULL && conn->h2 != NULL)
        http_h2_cancel(engine, conn, exchange);
    ended_append(engine, exchange);
    if (conn == NULL)
        return;
    if (conn->streams == 0 && (conn->h2 == NULL || engine->spec.close_each))
        http_conn_close(engine, conn);
    else
        http_pool_sort(engine, conn);
}

void http_exchange_due(struct http_engine *engine, struct http_exchange *exchange, int64_t now_ns)
{
    if (exchange->state == EXCHANGE_NONE || exchange->state == EXCHANGE_ENDED)
        return;
    if (exchange->deadline_ns <= now_ns) {
        exchange_expire(engine, exchange);
        return;
    }
    int64_t due_ns = exchange->deadline_ns;
    if (exchange->awaits_continue) {
        int64_t continue_due_ns = exchange->continue_ns + CONTINUE_WAIT_NS;
        struct http_conn *conn = &engine->conns[exchange->conn];
        if (continue_due_ns > now_ns)
            due_ns = continue_due_ns < due_ns ? continue_due_ns : due_ns;
        else if (conn->h2 != NULL)
            http_h2_continue(engine, conn, exchange);
        else
            http_h1_continue(engine, conn, exchange);
    }
    if (due_ns != INT64_MAX)
        http_timers_lower(&engine->timers, (uint32_t)http_client_of(engine, exchange), due_ns);
}

void http_forget(struct http_engine *engine, uint32_t client)
{
    struct http_exchange *exchange = &engine->exchanges[client];
    exchange->last_conn = -1;
    struct http_conn *conn = NULL;
    switch (exchange->state) {
    case EXCHANGE_NONE:
        return;
    case EXCHANGE_BLOCKED:
        http_pool_unblock(engine, exchange);
        break;
    case EXCHANGE_ENDED:
        ended_remove(engine, exchange);
        break;
    default:
        conn = &engine->conns[exchange->conn];
        if (conn->h2 != NULL)
            http_h2_cancel(engine, conn, exchange);
        http_pool_detach(engine, exchange);
        break;
    }
    exchange->state = EXCHANGE_NONE;
    if (conn == NULL)
        return;
    if (conn->streams == 0 && (conn->h2 == NULL || engine->spec.close_each))
        http_conn_close(engine, conn);
    else
        http_pool_sort(engine, conn);
}

/* ---- reporting ---- */

/* Keeps what the next answers will need, and not what one large one did. */
static void memory_trim(struct http_engine *engine, struct http_exchange *exchange)
{
    if (exchange->got.cap > engine->keep_bytes)
        pl_buf_release(&exchange->got);
    if (exchange->head.cap > engine->keep_bytes)
        pl_buf_release(&exchange->head);
    if (exchange->out.cap > engine->keep_bytes && exchange->state == EXCHANGE_NONE)
        pl_buf_release(&exchange->out);
    if (engine->decoded.cap > HTTP_READ_BYTES * 16)
        pl_buf_release(&engine->decoded);
}

static void report(struct http_engine *engine, struct http_exchange *exchange, const struct http_end *end)
{
    engine->reported++;
    exchange->state = EXCHANGE_NONE;
    engine->on_end(engine->context, end);
    if (__builtin_expect(engine->reported_tls != NULL, 0))
        http_tls_reported(engine);
    memory_trim(engine, exchange);
}

static void report_fault(struct http_engine *engine, struct http_exchange *exchange, const struct http_fault *fault)
{
    struct http_end end = {.client = (uint32_t)http_client_of(engine, exchange),
                           .outcome = exchange->outcome,
                           .phase = fault->phase,
                           .submitted_ns = exchange->submitted_ns,
                           .sent_ns = exchange->sent_ns,
                           .first_byte_ns = exchange->first_byte_ns,
                           .done_ns = exchange->done_ns};
    char text[TEXT_BYTES];
    snprintf(end.code, sizeof end.code, "%s:%.30s", http_phase_name(fault->phase), fault->word);
    if (exchange->peer >= 0)
        snprintf(text, sizeof text, "%s: %s", engine->peers[exchange->peer].text, fault->text);
    else if (fault->phase == HTTP_RESOLVE)
        snprintf(text, sizeof text, "%.200s: %s", engine->origins[exchange->origin].host, fault->text);
    else
        snprintf(text, sizeof text, "%s", fault->text);
    end.text = text;
    report(engine, exchange, &end);
}

/* What the body is to be for the caller. false: it cannot be decoded; the fault was reported. */
static bool body_finish(struct http_engine *engine, struct http_exchange *exchange, struct http_response *response)
{
    response->body_bytes = response->raw_bytes;
    enum http_encoding encoding =
        response->raw_bytes > 0 ? http_encoding_of(response->headers, response->header_count) : HTTP_ENCODING_NONE;
    if (__builtin_expect(encoding == HTTP_ENCODING_NONE, 1))
        return true;
    if (!exchange->keeps_body || !exchange->decodes || encoding == HTTP_ENCODING_OTHER) {
        response->body_bytes = -1;
        return true;
    }
    struct http_fault fault = {.phase = HTTP_BODY};
    if (http_decode(engine, encoding, response->body, &fault.word, &fault.text)) {
        response->body = (struct http_slice){pl_buf_text(&engine->decoded), engine->decoded.len};
        response->body_bytes = (int64_t)engine->decoded.len;
        return true;
    }
    exchange->outcome = HTTP_FAILED;
    report_fault(engine, exchange, &fault);
    return false;
}

void http_exchange_report(struct http_engine *engine, struct http_exchange *exchange, struct http_response *response)
{
    const struct http_peer *peer = &engine->peers[exchange->peer];
    response->status = exchange->status;
    response->version = exchange->version;
    response->raw_bytes = exchange->raw_bytes;
    response->interim_count = exchange->interim_count;
    response->is_tls = exchange->is_tls;
    response->is_new_connection = exchange->is_new_connection;
    response->is_resumed = exchange->is_resumed;
    memcpy(engine->reported_ip, peer->text + peer->ip_at, peer->ip_length);
    response->ip = (struct http_slice){engine->reported_ip, peer->ip_length};
    if (!body_finish(engine, exchange, response))
        return;
    struct http_end end = {.client = (uint32_t)http_client_of(engine, exchange),
                           .outcome = HTTP_ANSWERED,
                           .submitted_ns = exchange->submitted_ns,
                           .sent_ns = exchange->sent_ns,
                           .first_byte_ns = exchange->first_byte_ns,
                           .done_ns = exchange->done_ns,
                           .response = response};
    report(engine, exchange, &end);
}

void http_exchange_report_ended(struct http_engine *engine)
{
    struct http_exchange *exchange = &engine->exchanges[engine->ended_first];
    ended_remove(engine, exchange);
    if (exchange->outcome != HTTP_ANSWERED) {
        report_fault(engine, exchange, &exchange->fault);
        return;
    }
    struct http_response response = {.headers = engine->headers,
                                     .body = {pl_buf_text(&exchange->got), exchange->keeps_body ? exchange->got.len : 0}};
    size_t at = 0;
    while (response.header_count < HTTP_HEADERS_MOST &&
           http_fields_next(&exchange->head, &at, &engine->headers[response.header_count]))
        response.header_count++;
    const struct http_conn *conn = &engine->conns[exchange->last_conn];
    if (conn->state >= CONN_IDLE && conn->origin == exchange->origin)
        engine->reported_tls = conn->socket.ssl;
    http_exchange_report(engine, exchange, &response);
}
