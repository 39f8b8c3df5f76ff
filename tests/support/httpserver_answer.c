/* How the HTTP server for tests answers each path. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <zlib.h>

#include "httpserver_int.h"

#define MS INT64_C(1000000)
#define PLAIN "hello, world\n"

/* One answer in the making. */
struct answer {
    struct httpserver *server;
    struct peer *peer;
    const struct request *request;
    const char *rest; /* of the path, behind the route's name: "" or "/..." */
    int step;
    bool ended; /* the pieces say how the connection goes on */
};

static struct piece *piece_add(struct peer *peer, enum piece_kind kind, int64_t left)
{
    must(peer->piece_count < PIECES_MOST);
    if (peer->pieces == NULL)
        peer->pieces = calloc(PIECES_MOST, sizeof *peer->pieces);
    must(peer->pieces != NULL);
    struct piece *piece = &peer->pieces[peer->piece_count++];
    *piece = (struct piece){.kind = kind, .left = left};
    return piece;
}

static void put_bytes(struct answer *answer, const void *bytes, size_t length)
{
    struct peer *peer = answer->peer;
    while (peer->out_size - peer->out_length < length) {
        peer->out_size = peer->out_size == 0 ? 1024 : peer->out_size * 2;
        peer->out = realloc(peer->out, peer->out_size);
        must(peer->out != NULL);
    }
    memcpy(peer->out + peer->out_length, bytes, length);
    peer->out_length += length;
    struct piece *last = peer->piece_count > peer->piece_at ? &peer->pieces[peer->piece_count - 1] : NULL;
    if (last == NULL || last->kind != PIECE_BYTES) {
        last = piece_add(peer, PIECE_BYTES, 0);
        last->step = answer->step;
    }
    last->left += (int64_t)length;
}

__attribute__((format(printf, 2, 3))) static void put(struct answer *answer, const char *format, ...)
{
    char text[TEXT_MOST + 512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(length >= 0 && (size_t)length < sizeof text);
    put_bytes(answer, text, (size_t)length);
}

static void put_wait(struct answer *answer, int64_t ns)
{
    piece_add(answer->peer, PIECE_WAIT, ns);
}

static void put_end(struct answer *answer, enum piece_kind kind, int64_t left)
{
    piece_add(answer->peer, kind, left);
    answer->ended = true;
}

static void put_done(struct answer *answer)
{
    piece_add(answer->peer, PIECE_DONE, 0);
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {302, "Found"},
                   {304, "Not Modified"},
                   {401, "Unauthorized"},
                   {404, "Not Found"},
                   {413, "Content Too Large"},
                   {417, "Expectation Failed"},
                   {500, "Internal Server Error"}};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Of Its Own";
}

static void put_status(struct answer *answer, int status)
{
    put(answer, "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    if (answer->peer->log_at >= 0)
        answer->server->counts.log[answer->peer->log_at].status = status;
}

static bool has_body(const struct answer *answer, int status)
{
    return !answer->request->is_head && status != 204 && status != 304;
}

/* A whole answer with a length. headers: whole lines. */
static void put_answer(struct answer *answer, int status, const char *headers, const void *body, size_t length)
{
    put_status(answer, status);
    if (status != 204)
        put(answer, "Content-Length: %zu\r\n", length);
    put(answer, "%s%s\r\n", headers, answer->request->closes ? "Connection: close\r\n" : "");
    if (has_body(answer, status))
        put_bytes(answer, body, length);
    put_done(answer);
}

static void put_text(struct answer *answer, int status, const char *headers, const char *body)
{
    put_answer(answer, status, headers, body, strlen(body));
}

/* The number in "/N..."; *ret_rest stands behind it. */
static int64_t number_at(const char *rest, int64_t otherwise, const char **ret_rest)
{
    char *end = NULL;
    int64_t value = *rest == '/' ? strtoll(rest + 1, &end, 10) : 0;
    bool is_number = end != NULL && end != rest + 1 && value >= 0;
    if (ret_rest != NULL)
        *ret_rest = is_number ? end : rest;
    return is_number ? value : otherwise;
}

static bool is_rest(const struct answer *answer, const char *text)
{
    return strcmp(answer->rest, text) == 0;
}

static void route(struct answer *answer, const char *path);

/* ---- answers that are right ---- */

static void answer_plain(struct answer *answer)
{
    put_text(answer, 200, "Content-Type: text/plain\r\n", PLAIN);
}

static void answer_length(struct answer *answer)
{
    int64_t length = number_at(answer->rest, 0, NULL);
    put_status(answer, 200);
    put(answer, "Content-Length: %" PRId64 "\r\n%s\r\n", length, answer->request->closes ? "Connection: close\r\n" : "");
    if (!answer->request->is_head && length > 0)
        piece_add(answer->peer, PIECE_FILL, length)->step = answer->step;
    put_done(answer);
}

static void answer_status(struct answer *answer)
{
    int64_t status = number_at(answer->rest, 200, NULL);
    status = status < 100 || status > 999 ? 200 : status;
    if (status < 200) {
        put(answer, "HTTP/1.1 %d Interim\r\n\r\n", (int)status);
        put_end(answer, PIECE_SILENCE, 0);
        return;
    }
    put_text(answer, (int)status, "", PLAIN);
}

static void answer_204(struct answer *answer)
{
    put_text(answer, 204, "", "");
}

static void answer_304(struct answer *answer)
{
    put_text(answer, 304, "ETag: \"x\"\r\n", PLAIN);
}

static void answer_interim(struct answer *answer)
{
    put(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX-A: b\r\n\r\n");
    put(answer, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
    answer_plain(answer);
}

/* The pauses make packets that end within a chunk's size, its data, a line end and the trailer. */
static void answer_chunked(struct answer *answer)
{
    static const char *const parts[] = {
        "5;name=\"va;lue\"\r\nhel", "lo\r", "\n00", "8 ; x\r\n, world\n\r\n", "0;last\r\nX-Trailer: o",
        "ne\r\nX-Other: two\r\n\r", "\n"};
    put_status(answer, 200);
    put(answer, "Transfer-Encoding: chunked\r\nTrailer: X-Trailer\r\n%s\r\n",
        answer->request->closes ? "Connection: close\r\n" : "");
    for (size_t i = 0; !answer->request->is_head && i < sizeof parts / sizeof parts[0]; i++) {
        put_wait(answer, MS / 5);
        put(answer, "%s", parts[i]);
    }
    put_done(answer);
}

static void answer_eof(struct answer *answer)
{
    put_status(answer, 200);
    put(answer, "Connection: close\r\n\r\n%s", answer->request->is_head ? "" : PLAIN);
    put_done(answer);
    put_end(answer, PIECE_CLOSE, 0);
}

static void answer_eof10(struct answer *answer)
{
    put(answer, "HTTP/1.0 200 OK\r\n\r\n%s", answer->request->is_head ? "" : PLAIN);
    put_done(answer);
    put_end(answer, PIECE_CLOSE, 0);
}

static void answer_close(struct answer *answer)
{
    put_text(answer, 200, answer->request->closes ? "" : "Connection: close\r\n", PLAIN);
    put_end(answer, PIECE_CLOSE, 0);
}

static void answer_idle_close(struct answer *answer)
{
    int64_t ms = number_at(answer->rest, 0, NULL);
    answer_plain(answer);
    put_end(answer, ms == 0 ? PIECE_END : PIECE_IDLE, ms * MS);
}

static void answer_bytewise(struct answer *answer)
{
    answer->step = 1;
    route(answer, answer->rest);
}

/* Both go in one packet: what came after the next request would be its answer, for all that anybody could tell. */
static void answer_two(struct answer *answer)
{
    put_status(answer, 200);
    put(answer, "Content-Length: %zu\r\n\r\n%s", strlen(PLAIN), answer->request->is_head ? "" : PLAIN);
    put(answer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nunasked\r\n");
    put_done(answer);
}

static void answer_delay(struct answer *answer)
{
    const char *rest;
    put_wait(answer, number_at(answer->rest, 0, &rest) * MS);
    route(answer, rest);
}

static void answer_slow_body(struct answer *answer)
{
    put_status(answer, 200);
    put(answer, "Content-Length: 100\r\n%s\r\n", answer->request->closes ? "Connection: close\r\n" : "");
    for (int i = 0; i < 10 && !answer->request->is_head; i++) {
        put_wait(answer, 10 * MS);
        put(answer, "123456789\n");
    }
    put_done(answer);
}

/* ---- answers that do not come, or not whole ---- */

static void answer_hole(struct answer *answer)
{
    put_end(answer, PIECE_SILENCE, 0);
}

static void answer_drop(struct answer *answer)
{
    put_end(answer, PIECE_CLOSE, 0);
}

static void answer_drop_reused(struct answer *answer)
{
    if (answer->peer->served > 1)
        put_end(answer, PIECE_CLOSE, 0);
    else
        route(answer, answer->rest);
}

static void answer_reset(struct answer *answer)
{
    put_end(answer, PIECE_RESET, 0);
}

static void answer_half(struct answer *answer)
{
    const char *end = strrchr(answer->rest, '/');
    if (strncmp(answer->rest, "/head", 5) == 0)
        put(answer, "HTTP/1.1 200 OK\r\nContent-Le");
    else
        put(answer, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nhello,");
    put_wait(answer, 2 * MS); /* so that it has been read before a reset throws it away */
    if (end != NULL && strcmp(end, "/silence") == 0)
        put_end(answer, PIECE_SILENCE, 0);
    else
        put_end(answer, end != NULL && strcmp(end, "/close") == 0 ? PIECE_CLOSE : PIECE_RESET, 0);
}

static void answer_malformed(struct answer *answer)
{
    static const struct {
        const char *name, *bytes;
        size_t length;
    } kinds[] = {
#define KIND(name, bytes) {name, bytes, sizeof(bytes) - 1}
        KIND("/status", "HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\nok"),
        KIND("/version", "HTTP/9 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        KIND("/length", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"),
        KIND("/negative", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
        KIND("/two-lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!"),
        KIND("/space", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
        KIND("/nul", "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok"),
        KIND("/fold", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok"),
        KIND("/chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5x\r\nhello\r\n0\r\n\r\n"),
        KIND("/noise", "\x16\x03\x01\xff\xfe\x1b[31mSSH-2.0-x\r\n\r\n"),
#undef KIND
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_rest(answer, kinds[i].name))
            put_bytes(answer, kinds[i].bytes, kinds[i].length);
    bool is_large = is_rest(answer, "/large");
    if (is_large || is_rest(answer, "/many")) {
        put(answer, "HTTP/1.1 200 OK\r\n");
        char line[1024];
        memset(line, 'a', sizeof line);
        for (int i = 0; i < (is_large ? 256 : 4000); i++)
            put(answer, "X-%d: %.*s\r\n", i, is_large ? (int)sizeof line : 4, line);
        put(answer, "Content-Length: 2\r\n\r\nok");
    }
    put_end(answer, PIECE_CLOSE, 0);
}

/* ---- redirects, cookies, credentials ---- */

static void answer_redirect(struct answer *answer)
{
    char header[64];
    int64_t left = number_at(answer->rest, 1, NULL);
    snprintf(header, sizeof header, "Location: /%s%" PRId64 "\r\n", left > 1 ? "redirect/" : "plain?", left - 1);
    put_text(answer, 302, header, "elsewhere\n");
}

static void answer_redirect_to(struct answer *answer)
{
    char header[TEXT_MOST + 32];
    snprintf(header, sizeof header, "Location: %s\r\n", answer->request->query);
    put_text(answer, 302, header, "elsewhere\n");
}

static void answer_set_cookie(struct answer *answer)
{
    char header[TEXT_MOST + 32];
    if (answer->request->query[0] != '\0')
        snprintf(header, sizeof header, "Set-Cookie: %s\r\n", answer->request->query);
    else
        snprintf(header, sizeof header, "Set-Cookie: sid=s%" PRId64 "; Path=/\r\n", answer->server->answer_number);
    put_text(answer, 200, header, PLAIN);
}

static void put_json(FILE *out, const char *text, size_t length)
{
    fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\')
            fprintf(out, "\\u%04x", byte); /* bytes as Latin-1: what matters is that each can be told */
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

static void answer_cookies(struct answer *answer)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    must(out != NULL);
    fputs("{\"cookies\":", out);
    put_json(out, answer->request->cookie, strlen(answer->request->cookie));
    fputs("}\n", out);
    must(fclose(out) == 0);
    put_answer(answer, 200, "Content-Type: application/json\r\n", text, length);
    free(text);
}

static void answer_auth(struct answer *answer)
{
    if (strcmp(answer->request->authorization, "Basic dXNlcjpwYXNz") == 0)
        answer_plain(answer);
    else
        put_text(answer, 401, "WWW-Authenticate: Basic realm=\"test\"\r\n", "who are you?\n");
}

/* ---- bodies to be looked into ---- */

static void put_json_headers(FILE *out, const struct request *request)
{
    const char *between = "", *end = request->head + request->head_length;
    const char *line = memmem(request->head, request->head_length, "\r\n", 2);
    for (line += 2; line < end;) {
        const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2), *colon;
        if (stop == NULL || stop == line || (colon = memchr(line, ':', (size_t)(stop - line))) == NULL)
            break;
        fputs(between, out);
        put_json(out, line, (size_t)(colon - line));
        fputc(':', out);
        for (colon++; colon < stop && *colon == ' '; colon++)
            ;
        put_json(out, colon, (size_t)(stop - colon));
        between = ",";
        line = stop + 2;
    }
}

static void answer_echo(struct answer *answer)
{
    const struct request *request = answer->request;
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    must(out != NULL);
    fputs("{\"method\":", out);
    put_json(out, request->method, strlen(request->method));
    fputs(",\"target\":", out);
    put_json(out, request->target, strlen(request->target));
    fputs(",\"headers\":{", out);
    put_json_headers(out, request);
    fprintf(out, "},\"length\":%" PRId64 ",\"body\":", request->content_length);
    put_json(out, request->body, request->body_length);
    fputs("}\n", out);
    must(fclose(out) == 0);
    put_answer(answer, 200, "Content-Type: application/json\r\n", text, length);
    free(text);
}

static void answer_json(struct answer *answer)
{
    char body[256];
    int64_t number = answer->server->answer_number;
    snprintf(body, sizeof body,
             "{\"id\":%" PRId64 ",\"token\":\"t-%" PRId64 "\",\"ok\":true,\"items\":[{\"name\":\"a\",\"price\":1.5},"
             "{\"name\":\"b\",\"price\":2}]}\n",
             number, number);
    put_text(answer, 200, "Content-Type: application/json\r\n", body);
}

static void put_encoded(struct answer *answer, const char *plain, size_t length, bool is_gzip)
{
    z_stream stream = {0};
    must(deflateInit2(&stream, 6, Z_DEFLATED, is_gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    size_t most = deflateBound(&stream, length);
    unsigned char *packed = malloc(most);
    must(packed != NULL);
    stream.next_in = (Bytef *)(uintptr_t)plain;
    stream.avail_in = (uInt)length;
    stream.next_out = packed;
    stream.avail_out = (uInt)most;
    must(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    put_answer(answer, 200, is_gzip ? "Content-Encoding: gzip\r\n" : "Content-Encoding: deflate\r\n", packed,
               stream.total_out);
    deflateEnd(&stream);
    free(packed);
}

static void answer_gzip(struct answer *answer)
{
    int64_t length = number_at(answer->rest, 1000, NULL);
    length = length > 64 * 1024 * 1024 ? 64 * 1024 * 1024 : length;
    char *plain = malloc((size_t)length + 1);
    must(plain != NULL);
    for (int64_t i = 0; i < length; i++)
        plain[i] = "gzip me "[i % 8];
    if (answer->request->accepts_gzip)
        put_encoded(answer, plain, (size_t)length, true);
    else
        put_answer(answer, 200, "", plain, (size_t)length);
    free(plain);
}

static void answer_deflate(struct answer *answer)
{
    if (answer->request->accepts_deflate)
        put_encoded(answer, PLAIN, strlen(PLAIN), false);
    else
        answer_plain(answer);
}

static void answer_gzip_bomb(struct answer *answer)
{
    enum { BYTES = 64 * 1024 * 1024 };
    char *zeros = calloc(BYTES, 1);
    must(zeros != NULL);
    put_encoded(answer, zeros, BYTES, true);
    free(zeros);
}

/* Asks come and go with the head (answer_head). */
static void answer_continue(struct answer *answer)
{
    char body[64];
    snprintf(body, sizeof body, "%s%" PRId64 "\n", answer->request->expects_continue ? "continued " : "",
             answer->request->content_length);
    put_text(answer, 200, "", body);
}

/* ---- the table ---- */

static const struct route {
    const char *name;
    void (*answer)(struct answer *answer);
} routes[] = {
    {"/plain", answer_plain},
    {"/head", answer_plain},
    {"/stall", answer_plain},
    {"/", answer_plain},
    {"", answer_plain},
    {"/length", answer_length},
    {"/big", answer_length},
    {"/status", answer_status},
    {"/204", answer_204},
    {"/304", answer_304},
    {"/interim", answer_interim},
    {"/chunked", answer_chunked},
    {"/eof", answer_eof},
    {"/eof10", answer_eof10},
    {"/close", answer_close},
    {"/idle-close", answer_idle_close},
    {"/bytewise", answer_bytewise},
    {"/two", answer_two},
    {"/delay", answer_delay},
    {"/slow-body", answer_slow_body},
    {"/hole", answer_hole},
    {"/drop", answer_drop},
    {"/drop-reused", answer_drop_reused},
    {"/reset", answer_reset},
    {"/half", answer_half},
    {"/malformed", answer_malformed},
    {"/redirect", answer_redirect},
    {"/redirect-to", answer_redirect_to},
    {"/set-cookie", answer_set_cookie},
    {"/cookies", answer_cookies},
    {"/auth", answer_auth},
    {"/echo", answer_echo},
    {"/json", answer_json},
    {"/gzip", answer_gzip},
    {"/deflate", answer_deflate},
    {"/gzip-bomb", answer_gzip_bomb},
    {"/continue", answer_continue},
    {"/early", answer_continue},
};

static void route(struct answer *answer, const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        size_t length = strlen(routes[i].name);
        if (strncmp(path, routes[i].name, length) == 0 && (path[length] == '\0' || path[length] == '/')) {
            if (length <= 1 && path[length] != '\0')
                continue;
            answer->rest = path + length;
            routes[i].answer(answer);
            return;
        }
    }
    put_text(answer, 404, "", "there is no such path\n");
}

static bool is_at(const char *path, const char *name)
{
    return strcmp(path, name) == 0;
}

/* The paths that speak of the server itself; false: it is none of them. */
static bool answer_own(struct answer *answer)
{
    const char *path = answer->request->path;
    size_t length = 0;
    char *text = NULL;
    if (is_at(path, "/_counts"))
        text = counts_json(&answer->server->counts, &length);
    else if (is_at(path, "/_log"))
        text = counts_log(&answer->server->counts, &length);
    else if (is_at(path, "/_forget"))
        counts_forget(&answer->server->counts);
    else
        return false;
    put_answer(answer, 200, "", text != NULL ? text : "", length);
    free(text);
    return true;
}

void answer_request(struct httpserver *server, struct peer *peer, const struct request *request)
{
    struct answer answer = {.server = server, .peer = peer, .request = request, .step = server->spec.step_bytes};
    if (!answer_own(&answer))
        route(&answer, request->path);
    if (!answer.ended && request->closes)
        put_end(&answer, PIECE_CLOSE, 0);
}

bool answer_head(struct httpserver *server, struct peer *peer, const struct request *request)
{
    struct answer answer = {.server = server, .peer = peer, .request = request, .step = server->spec.step_bytes};
    bool is_early = is_at(request->path, "/early");
    if (is_early || is_at(request->path, "/continue/refuse")) {
        put_text(&answer, is_early ? 413 : 417, request->closes ? "" : "Connection: close\r\n", "no\n");
        put_end(&answer, PIECE_CLOSE, 0);
        return true;
    }
    if (!request->expects_continue || is_at(request->path, "/continue/never"))
        return false;
    atomic_fetch_add(&server->counts.counters[HTTPSERVER_CONTINUES], 1);
    put(&answer, "HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

void answer_refusal(struct peer *peer, const char *status)
{
    struct answer answer = {.peer = peer};
    put(&answer, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    put_end(&answer, PIECE_CLOSE, 0);
}
