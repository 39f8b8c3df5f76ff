/* Requests: as the bytes of HTTP/1.1, or as the fields of HTTP/2. */
#include "http/http_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ban.h"

/* What a script states itself. */
struct stated {
    bool host, content_length, transfer_encoding, connection, expect;
    bool is_chunked, closes;
    struct http_slice host_value;
};

bool http_is_named(struct http_slice name, const char *lower, size_t length)
{
    return name.length == length && (name.text[0] | 0x20) == lower[0] && strncasecmp(name.text, lower, length) == 0;
}

static bool slice_has(struct http_slice value, const char *word, size_t length)
{
    for (size_t i = 0; i + length <= value.length; i++)
        if (strncasecmp(value.text + i, word, length) == 0)
            return true;
    return false;
}

static void note(struct stated *stated, struct http_slice name, struct http_slice value)
{
    switch (name.length) {
    case 4:
        if (http_is_named(name, "host", 4)) {
            stated->host = true;
            stated->host_value = value;
        }
        return;
    case 6:
        stated->expect = stated->expect || http_is_named(name, "expect", 6);
        return;
    case 10:
        if (http_is_named(name, "connection", 10)) {
            stated->connection = true;
            stated->closes = stated->closes || slice_has(value, "close", 5);
        }
        return;
    case 14:
        stated->content_length = stated->content_length || http_is_named(name, "content-length", 14);
        return;
    case 17:
        if (http_is_named(name, "transfer-encoding", 17)) {
            stated->transfer_encoding = true;
            stated->is_chunked = stated->is_chunked || slice_has(value, "chunked", 7);
        }
        return;
    default:
        return;
    }
}

/* The next line of "Name: value\r\n" lines. */
static bool line_next(struct http_slice *lines, struct http_header *ret_header)
{
    while (lines->length > 0) {
        const char *end = memchr(lines->text, '\n', lines->length);
        size_t length = end != NULL ? (size_t)(end - lines->text) : lines->length;
        struct http_slice line = {lines->text, length};
        size_t taken = end != NULL ? length + 1 : length;
        lines->text += taken;
        lines->length -= taken;
        if (line.length > 0 && line.text[line.length - 1] == '\r')
            line.length--;
        const char *colon = memchr(line.text, ':', line.length);
        if (colon == NULL)
            continue;
        size_t at = (size_t)(colon - line.text);
        ret_header->name = (struct http_slice){line.text, at++};
        while (at < line.length && (line.text[at] == ' ' || line.text[at] == '\t'))
            at++;
        ret_header->value = (struct http_slice){line.text + at, line.length - at};
        return true;
    }
    return false;
}

static void note_all(struct stated *stated, const struct http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        note(stated, request->headers[i].name, request->headers[i].value);
    struct http_slice lines = request->more_headers;
    struct http_header header;
    while (lines.length > 0 && line_next(&lines, &header))
        note(stated, header.name, header.value);
}

static struct http_slice authority_of(const struct http_engine *engine, const struct http_request *request)
{
    if (request->authority.text != NULL)
        return request->authority;
    const char *own = engine->origins[request->origin].authority;
    return (struct http_slice){own, strlen(own)};
}

/* ---- HTTP/1.1 ---- */

#define PUT(buf, literal) pl_buf_put_bytes(buf, literal, sizeof literal - 1)

static void put_slice(struct pl_buf *buf, struct http_slice slice)
{
    pl_buf_put_bytes(buf, slice.text, slice.length);
}

static void put_field(struct pl_buf *buf, const struct http_header *header)
{
    put_slice(buf, header->name);
    PUT(buf, ": ");
    put_slice(buf, header->value);
    PUT(buf, "\r\n");
}

static void put_own_fields(const struct http_engine *engine, const struct http_request *request,
                           const struct stated *stated, struct pl_buf *into)
{
    if (request->has_body && !stated->content_length && !stated->transfer_encoding)
        pl_buf_printf(into, "Content-Length: %zu\r\n", request->body.length);
    if (!stated->connection && engine->spec.close_each)
        PUT(into, "Connection: close\r\n");
    else if (!stated->connection && engine->spec.http1_0)
        PUT(into, "Connection: keep-alive\r\n");
    if (request->expects_continue && !stated->expect)
        PUT(into, "Expect: 100-continue\r\n");
}

/* Is the body a part of the bytes? */
static bool is_inline(const struct http_request *request, const struct stated *stated)
{
    return stated->is_chunked || (!request->expects_continue && request->body.length <= HTTP_INLINE_BODY_BYTES);
}

static void put_request(const struct http_engine *engine, const struct http_request *request, const struct stated *stated,
                        struct pl_buf *into)
{
    put_slice(into, request->method);
    PUT(into, " ");
    put_slice(into, request->target);
    if (engine->spec.http1_0)
        PUT(into, " HTTP/1.0\r\n");
    else
        PUT(into, " HTTP/1.1\r\n");
    if (!stated->host) {
        PUT(into, "Host: ");
        put_slice(into, authority_of(engine, request));
        PUT(into, "\r\n");
    }
    for (size_t i = 0; i < request->header_count; i++)
        put_field(into, &request->headers[i]);
    put_slice(into, request->more_headers);
    put_own_fields(engine, request, stated, into);
    PUT(into, "\r\n");
    if (!request->has_body || !is_inline(request, stated))
        return;
    if (!stated->is_chunked) {
        put_slice(into, request->body);
        return;
    }
    if (request->body.length > 0) {
        pl_buf_printf(into, "%zx\r\n", request->body.length);
        put_slice(into, request->body);
        PUT(into, "\r\n");
    }
    PUT(into, "0\r\n\r\n");
}

void http_prepare(const struct http_engine *engine, const struct http_request *request, struct pl_buf *into)
{
    struct stated stated = {0};
    note_all(&stated, request);
    put_request(engine, request, &stated, into);
}

/* ---- HTTP/2 ---- */

void http_fields_put(struct pl_buf *buf, const char *name, size_t name_length, const char *value, size_t value_length)
{
    uint32_t lengths[2] = {(uint32_t)name_length, (uint32_t)value_length};
    size_t all = sizeof lengths + name_length + value_length;
    if (__builtin_expect(buf->cap <= buf->len + all, 0)) { /* it has to grow */
        pl_buf_put_bytes(buf, lengths, sizeof lengths);
        pl_buf_put_bytes(buf, name, name_length);
        pl_buf_put_bytes(buf, value, value_length);
        return;
    }
    char *to = buf->data + buf->len;
    memcpy(to, lengths, sizeof lengths);
    memcpy(to + sizeof lengths, name, name_length);
    memcpy(to + sizeof lengths + name_length, value, value_length);
    to[all] = '\0';
    buf->len += all;
}

bool http_fields_next(const struct pl_buf *buf, size_t *at, struct http_header *ret_field)
{
    uint32_t lengths[2];
    if (*at + sizeof lengths > buf->len)
        return false;
    memcpy(lengths, buf->data + *at, sizeof lengths);
    *at += sizeof lengths;
    ret_field->name = (struct http_slice){buf->data + *at, lengths[0]};
    *at += lengths[0];
    ret_field->value = (struct http_slice){buf->data + *at, lengths[1]};
    *at += lengths[1];
    return true;
}

/* HTTP/2 has none of these (RFC 9113, 8.2.2). */
static bool is_of_connection(struct http_slice name)
{
    static const char *const names[] = {"host",   "connection", "keep-alive", "proxy-connection", "transfer-encoding",
                                        "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_is_named(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static void put_h2_field(struct pl_buf *buf, const struct http_header *header)
{
    if (is_of_connection(header->name))
        return;
    http_fields_put(buf, header->name.text, header->name.length, header->value.text, header->value.length);
    char *name = buf->data + (buf->len - header->value.length - header->name.length);
    for (size_t i = 0; i < header->name.length && !buf->full; i++)
        if (name[i] >= 'A' && name[i] <= 'Z')
            name[i] = (char)(name[i] - 'A' + 'a');
}

static void put_pseudo(struct pl_buf *buf, const char *name, struct http_slice value)
{
    http_fields_put(buf, name, strlen(name), value.text, value.length);
}

static void put_h2(const struct http_engine *engine, const struct http_request *request, const struct stated *stated,
                   struct pl_buf *into)
{
    static const struct http_slice https = {"https", 5}, http = {"http", 4};
    put_pseudo(into, ":method", request->method);
    put_pseudo(into, ":scheme", engine->origins[request->origin].is_tls ? https : http);
    put_pseudo(into, ":authority", stated->host ? stated->host_value : authority_of(engine, request));
    put_pseudo(into, ":path", request->target);
    for (size_t i = 0; i < request->header_count; i++)
        put_h2_field(into, &request->headers[i]);
    struct http_slice lines = request->more_headers;
    struct http_header header;
    while (lines.length > 0 && line_next(&lines, &header))
        put_h2_field(into, &header);
    if (request->has_body && !stated->content_length) {
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%zu", request->body.length);
        http_fields_put(into, "content-length", 14, digits, (size_t)length);
    }
    if (request->expects_continue && !stated->expect)
        http_fields_put(into, "expect", 6, "100-continue", 12);
}

/* ---- both ---- */

void http_request_keep(struct http_engine *engine, struct http_exchange *exchange, const struct http_request *request)
{
    exchange->closes = engine->spec.close_each;
    exchange->out.full = false;
    exchange->body = request->has_body ? request->body : (struct http_slice){"", 0};
    if (__builtin_expect(request->wire.text != NULL && !engine->spec.http2, 1)) {
        struct stated stated = {0};
        if (request->header_count > 0 || request->more_headers.length > 0)
            note_all(&stated, request);
        exchange->closes = exchange->closes || stated.closes;
        exchange->bytes = request->wire.text;
        exchange->length = request->wire.length;
        if (is_inline(request, &stated))
            exchange->body.length = 0;
    } else {
        struct stated stated = {0};
        note_all(&stated, request);
        exchange->out.len = 0;
        exchange->closes = exchange->closes || stated.closes;
        if (engine->spec.http2) {
            put_h2(engine, request, &stated, &exchange->out);
        } else {
            put_request(engine, request, &stated, &exchange->out);
            if (is_inline(request, &stated))
                exchange->body.length = 0;
        }
        exchange->bytes = exchange->out.data;
        exchange->length = exchange->out.len;
    }
    exchange->expects_continue = request->expects_continue && exchange->body.length > 0;
    exchange->may_send = exchange->length + (exchange->expects_continue ? 0 : exchange->body.length);
}
