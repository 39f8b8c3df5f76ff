/* Heads and chunked bodies of HTTP/1. Every input stands right before a page that cannot be read, and is given whole, byte
 * by byte and cut at each place. */
#include "support.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "wire/http1.h"

enum { FIELDS = 16 };

struct taken {
    enum http1_result result;
    struct http1_head head;
    struct http1_field fields[FIELDS];
};

static char *guarded(const char *bytes, size_t length)
{
    char *copy = support_guard_alloc(length);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static void assert_same(const char *bytes, const struct taken *one, const char *other_bytes, const struct taken *other)
{
    assert_int_equal(one->result, other->result);
    if (one->result != HTTP1_OK) {
        assert_int_equal(one->head.wrong == NULL, other->head.wrong == NULL);
        if (one->head.wrong != NULL)
            assert_string_equal(one->head.wrong, other->head.wrong);
        return;
    }
    const struct http1_head *a = &one->head, *b = &other->head;
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->framing, b->framing);
    assert_int_equal(a->content_length, b->content_length);
    assert_int_equal(a->keeps_alive, b->keeps_alive);
    assert_int_equal(a->has_gzip, b->has_gzip);
    assert_int_equal(a->has_deflate, b->has_deflate);
    assert_int_equal(a->reason - bytes, b->reason - other_bytes);
    assert_int_equal(a->reason_length, b->reason_length);
    assert_int_equal(a->field_count, b->field_count);
    for (int i = 0; i < a->field_count; i++) {
        assert_int_equal(one->fields[i].name - bytes, other->fields[i].name - other_bytes);
        assert_int_equal(one->fields[i].value - bytes, other->fields[i].value - other_bytes);
        assert_int_equal(one->fields[i].name_length, other->fields[i].name_length);
        assert_int_equal(one->fields[i].value_length, other->fields[i].value_length);
    }
}

/* What comes in pieces that end at the given places; stops at the first that decides. */
static struct taken take_cut(const char *bytes, const size_t *cuts, size_t cut_count, bool is_head)
{
    struct taken taken = {.result = HTTP1_PARTIAL};
    size_t seen = 0;
    for (size_t i = 0; i < cut_count && taken.result == HTTP1_PARTIAL; i++) {
        /* the later bytes have not come: they must not be read */
        char *here = guarded(bytes, cuts[i]);
        taken.result = http1_read_head(here, cuts[i], seen, is_head, taken.fields, FIELDS, &taken.head);
        support_guard_free(here, cuts[i]);
        seen = cuts[i];
    }
    if (taken.result != HTTP1_OK)
        return taken;
    /* the slices point into memory that is gone: once more over the caller's bytes */
    assert_int_equal(http1_read_head(bytes, seen, 0, is_head, taken.fields, FIELDS, &taken.head), HTTP1_OK);
    return taken;
}

/* The whole, and the same in every way of cutting it in two, and byte by byte. */
static struct taken take(const char *text, size_t length, bool is_head)
{
    char *bytes = guarded(text, length);
    struct taken whole;
    whole.result = http1_read_head(bytes, length, 0, is_head, whole.fields, FIELDS, &whole.head);
    for (size_t cut = 1; cut < length; cut++) {
        struct taken cut_in_two = take_cut(bytes, (size_t[]){cut, length}, 2, is_head);
        assert_same(bytes, &whole, bytes, &cut_in_two);
    }
    size_t *cuts = pl_new(length + 1, sizeof *cuts);
    for (size_t i = 0; i < length; i++)
        cuts[i] = i + 1;
    struct taken by_bytes = take_cut(bytes, cuts, length, is_head);
    assert_same(bytes, &whole, bytes, &by_bytes);
    pl_free(cuts);

    struct taken result = {.result = whole.result, .head = whole.head};
    if (whole.result == HTTP1_OK) {
        assert_true(whole.head.length <= length);
        assert_int_equal(http1_read_head(text, length, 0, is_head, result.fields, FIELDS, &result.head), HTTP1_OK);
    }
    support_guard_free(bytes, length);
    return result;
}

static struct taken take_text(const char *text, bool is_head)
{
    return take(text, strlen(text), is_head);
}

static void assert_slice(const char *slice, uint32_t length, const char *expected)
{
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(slice, expected, length);
}

static void test_a_whole_head(void **state)
{
    (void)state;
    const char *text =
        "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate:\tMon, 30 Nov 2026 15:41:30 GMT \t \r\n"
        "Content-Type: text/html\r\nContent-Length: 12\r\nX-Empty:\r\nX-Tab: a\tb \xc3\xa9\r\n\r\nhello world\n";
    struct taken taken = take_text(text, false);
    assert_int_equal(taken.result, HTTP1_OK);
    const struct http1_head *head = &taken.head;
    assert_int_equal(head->status, 200);
    assert_int_equal(head->version, 11);
    assert_slice(head->reason, head->reason_length, "OK");
    assert_int_equal(head->length, strlen(text) - 12);
    assert_int_equal(head->framing, HTTP1_LENGTH);
    assert_int_equal(head->content_length, 12);
    assert_true(head->keeps_alive);
    assert_false(head->has_gzip || head->has_deflate);
    assert_int_equal(head->field_count, 6);
    static const char *const expected[][2] = {{"Server", "nginx/1.22.1"},
                                              {"Date", "Mon, 30 Nov 2026 15:41:30 GMT"},
                                              {"Content-Type", "text/html"},
                                              {"Content-Length", "12"},
                                              {"X-Empty", ""},
                                              {"X-Tab", "a\tb \xc3\xa9"}};
    for (int i = 0; i < 6; i++) {
        assert_slice(taken.fields[i].name, taken.fields[i].name_length, expected[i][0]);
        assert_slice(taken.fields[i].value, taken.fields[i].value_length, expected[i][1]);
    }
}

/* RFC 9112, 6.3, rule by rule. */
static void test_framing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_head;
        enum http1_framing framing;
        int64_t length;
        bool keeps_alive;
    } cases[] = {
        /* 1: HEAD, 1xx, 204, 304: no body, whatever the fields say */
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, HTTP1_NO_BODY, 5, true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, HTTP1_NO_BODY, -1, true},
        {"HTTP/1.1 200 OK\r\n\r\n", true, HTTP1_NO_BODY, -1, true},
        {"HTTP/1.1 100 Continue\r\n\r\n", false, HTTP1_NO_BODY, -1, true},
        {"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n", false, HTTP1_NO_BODY, 7, true},
        {"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\r\n", false, HTTP1_NO_BODY, -1, false},
        {"HTTP/1.1 204 No Content\r\n\r\n", false, HTTP1_NO_BODY, -1, true},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", false, HTTP1_NO_BODY, 9, true},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 512\r\n\r\n", false, HTTP1_NO_BODY, 512, true},
        {"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false, HTTP1_NO_BODY, -1, true},
        /* 3: both: the transfer coding wins, and the connection ends */
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false, HTTP1_CHUNKED, 5, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", false, HTTP1_CHUNKED, 5, false},
        /* 4: chunked last, or not last, or not at all */
        {"HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n", false, HTTP1_CHUNKED, -1, true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false, HTTP1_CHUNKED, -1, true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", false, HTTP1_CHUNKED, -1,
         true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", false, HTTP1_UNTIL_CLOSE, -1, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", false, HTTP1_UNTIL_CLOSE, -1, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", false, HTTP1_UNTIL_CLOSE, 3, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 3\r\n\r\n", false, HTTP1_LENGTH, 3, true},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", false, HTTP1_CHUNKED, -1,
         false},
        /* 5: the same length more than once is one length */
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", false, HTTP1_LENGTH, 5, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", false, HTTP1_LENGTH, 5, true},
        /* 6: the length */
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, HTTP1_LENGTH, 0, true},
        {"HTTP/1.1 200 OK\r\ncontent-length:9223372036854775799\r\n\r\n", false, HTTP1_LENGTH, 9223372036854775799, true},
        {"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\n", false, HTTP1_LENGTH, 5, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x, Close ,y\r\n\r\n", false, HTTP1_LENGTH, 5, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: closed\r\n\r\n", false, HTTP1_LENGTH, 5, true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", false, HTTP1_LENGTH, 5, false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n\r\n", false, HTTP1_LENGTH, 5, true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, close\r\n\r\n", false, HTTP1_LENGTH, 5, false},
        /* 8: until the connection is closed */
        {"HTTP/1.1 200 OK\r\n\r\n", false, HTTP1_UNTIL_CLOSE, -1, false},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", false, HTTP1_UNTIL_CLOSE, -1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_text(cases[i].text, cases[i].is_head);
        if (taken.result != HTTP1_OK || taken.head.framing != cases[i].framing ||
            taken.head.content_length != cases[i].length || taken.head.keeps_alive != cases[i].keeps_alive)
            fail_msg("case %zu: result %d (%s), framing %d, length %ld, keeps %d\n%s", i, taken.result, taken.head.wrong,
                     taken.head.framing, (long)taken.head.content_length, taken.head.keeps_alive, cases[i].text);
        assert_int_equal(taken.head.length, strlen(cases[i].text));
    }
}

static void test_what_is_lenient(void **state)
{
    (void)state;
    struct taken taken = take_text("HTTP/1.1 200\nA: b\nContent-Length: 1\n\nx", false);
    assert_int_equal(taken.result, HTTP1_OK);
    assert_int_equal(taken.head.reason_length, 0);
    assert_int_equal(taken.head.length, strlen("HTTP/1.1 200\nA: b\nContent-Length: 1\n\n"));
    assert_slice(taken.fields[0].value, taken.fields[0].value_length, "b");
    assert_int_equal(take_text("HTTP/1.1 200 \r\n\n", false).result, HTTP1_OK);
    assert_int_equal(take_text("HTTP/1.1 200 OK\n\r\n", false).result, HTTP1_OK);
    taken = take_text("HTTP/1.1 999 Whatever it takes\r\n\r\n", false);
    assert_int_equal(taken.head.status, 999);
    assert_slice(taken.head.reason, taken.head.reason_length, "Whatever it takes");
    assert_int_equal(take_text("HTTP/1.0 200 OK\r\n\r\n", false).head.version, 10);
    assert_int_equal(take_text("HTTP/1.9 200 OK\r\n\r\n", false).head.version, 11);
}

static void test_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"SSH-2.0-OpenSSH_9.2\r\n", "no status line of HTTP/1"},
        {"\r\nHTTP/1.1 200 OK\r\n\r\n", "no status line of HTTP/1"},
        {"HTTP/2.0 200 OK\r\n\r\n", "no status line of HTTP/1"},
        {"HTTP/1.x 200 OK\r\n\r\n", "no status line of HTTP/1"},
        {"HTTP/1.12200 OK\r\n\r\n", "no status line of HTTP/1"},
        {"HTTP/1.1\r\n\r\n", "no status line of HTTP/1"},
        {"http/1.1 200 OK\r\n\r\n", "no status line of HTTP/1"},
        {"HTTP/1.1 20x OK\r\n\r\n", "a status that is no number of three digits"},
        {"HTTP/1.1 2000 OK\r\n\r\n", "a status that is no number of three digits"},
        {"HTTP/1.1 099 OK\r\n\r\n", "a status that is no number of three digits"},
        {"HTTP/1.1  200 OK\r\n\r\n", "a status that is no number of three digits"},
        {"HTTP/1.1 200 O\001K\r\n\r\n", "a control character in the status line"},
        {"HTTP/1.1 200 O\rK\r\n\r\n", "a control character in the status line"},
        {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "a folded field"},
        {"HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "a folded field"},
        {"HTTP/1.1 200 OK\r\n\tA: b\r\n\r\n", "a folded field"},
        {"HTTP/1.1 200 OK\r\nA\r\n\r\n", "a field without a colon"},
        {"HTTP/1.1 200 OK\r\n: b\r\n\r\n", "a field's name that is none"},
        {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "a field's name that is none"},
        {"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", "a field's name that is none"},
        {"HTTP/1.1 200 OK\r\nContent-Length\t: 5\r\n\r\n", "a field's name that is none"},
        {"HTTP/1.1 200 OK\r\nA\x01: b\r\n\r\n", "a field's name that is none"},
        {"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "a control character in a field"},
        {"HTTP/1.1 200 OK\r\nA: b\x1b[1m\r\n\r\n", "a control character in a field"},
        {"HTTP/1.1 200 OK\r\nA: 0123456789012345\x02\r\n\r\n", "a control character in a field"},
        {"HTTP/1.1 200 OK\r\nA: \x02"
         "123456789012345\r\n\r\n",
         "a control character in a field"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "two different Content-Lengths"},
        {"HTTP/1.1 304 OK\r\nContent-Length: 5, 6\r\n\r\n", "two different Content-Lengths"},
        {"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", "a Content-Length that is no number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "a Content-Length that is no number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "a Content-Length that is no number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", "a Content-Length that is no number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n", "a Content-Length that is no number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", "a Content-Length that is too large"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n\r\n", "a Content-Length that is too large"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "chunked twice"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "chunked twice"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip, chunked\r\n\r\n", "chunked twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_text(cases[i].text, false);
        if (taken.result != HTTP1_BAD || strcmp(taken.head.wrong, cases[i].wrong) != 0)
            fail_msg("case %zu: result %d, %s\n%s", i, taken.result, taken.head.wrong, cases[i].text);
    }
    static const char with_nul[] = "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n";
    assert_int_equal(take(with_nul, sizeof with_nul - 1, false).result, HTTP1_BAD);
}

/* Who does not speak HTTP is found out with his first bytes. */
static void test_wrong_at_once(void **state)
{
    (void)state;
    struct http1_head head;
    assert_int_equal(http1_read_head("S", 1, 0, false, NULL, 0, &head), HTTP1_BAD);
    assert_int_equal(http1_read_head("HTTX", 4, 3, false, NULL, 0, &head), HTTP1_BAD);
    assert_int_equal(http1_read_head("HTTP", 4, 3, false, NULL, 0, &head), HTTP1_PARTIAL);
    assert_int_equal(http1_read_head("", 0, 0, false, NULL, 0, &head), HTTP1_PARTIAL);
    static const char line[] = "HTTP/1.1 2x0 OK\r\nA: ";
    assert_int_equal(http1_read_head(line, sizeof line - 1, 14, false, NULL, 0, &head), HTTP1_BAD);
}

static void test_partial_and_pipelined(void **state)
{
    (void)state;
    const char *first = "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", *second = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    char both[128];
    int length = snprintf(both, sizeof both, "%s%s", first, second);
    for (size_t cut = 0; cut < strlen(first); cut++)
        assert_int_equal(take(both, cut, false).result, HTTP1_PARTIAL);
    struct taken taken = take(both, (size_t)length, false);
    assert_int_equal(taken.result, HTTP1_OK);
    assert_int_equal(taken.head.status, 204);
    assert_int_equal(taken.head.length, strlen(first));
    taken = take(both + taken.head.length, (size_t)length - taken.head.length, false);
    assert_int_equal(taken.head.status, 200);
    assert_int_equal(taken.head.length, strlen(second));
}

static void test_too_many_fields(void **state)
{
    (void)state;
    char text[1024] = "HTTP/1.1 200 OK\r\n";
    size_t length = strlen(text);
    for (int i = 0; i < FIELDS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "X-%d: %d\r\n", i, i);
    snprintf(text + length, sizeof text - length, "\r\n");
    struct taken taken = take_text(text, false);
    assert_int_equal(taken.result, HTTP1_OK);
    assert_int_equal(taken.head.field_count, FIELDS);
    assert_slice(taken.fields[FIELDS - 1].name, taken.fields[FIELDS - 1].name_length, "X-15");
    snprintf(text + length, sizeof text - length, "One: more\r\n\r\n");
    assert_int_equal(take_text(text, false).result, HTTP1_TOO_MANY);
}

static void test_encodings(void **state)
{
    (void)state;
    struct taken taken = take_text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", false);
    assert_true(taken.head.has_gzip && !taken.head.has_deflate);
    taken = take_text("HTTP/1.1 200 OK\r\ncontent-encoding: identity , Deflate\r\n\r\n", false);
    assert_true(!taken.head.has_gzip && taken.head.has_deflate);
    taken = take_text("HTTP/1.1 200 OK\r\nContent-Encoding: x-gzip\r\n\r\n", false);
    assert_true(taken.head.has_gzip);
    taken = take_text("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false);
    assert_true(taken.head.has_gzip);
    taken = take_text("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nX-Content-Encod: gzip\r\n\r\n", false);
    assert_true(!taken.head.has_gzip && !taken.head.has_deflate);
}

/* A head that comes byte by byte costs linear time: 64 KiB of it in as many calls, which quadratic work would make 2e9
 * bytes. Counts nothing, but a test that takes minutes is seen. */
static void test_byte_by_byte(void **state)
{
    (void)state;
    enum { BYTES = 65536 };
    char *text = pl_new(BYTES, 1);
    size_t length = (size_t)snprintf(text, BYTES, "HTTP/1.1 200 OK\r\n");
    while (length + 12 < BYTES)
        length += (size_t)snprintf(text + length, BYTES - length, "A: 345678\r\n");
    length += (size_t)snprintf(text + length, BYTES - length, "\n");
    struct http1_head head;
    struct http1_field *fields = pl_new(BYTES, sizeof *fields);
    for (size_t i = 1; i < length; i++)
        assert_int_equal(http1_read_head(text, i, i - 1, false, fields, BYTES, &head), HTTP1_PARTIAL);
    assert_int_equal(http1_read_head(text, length, length - 1, false, fields, BYTES, &head), HTTP1_OK);
    assert_int_equal(head.length, length);
    pl_free(fields);
    pl_free(text);
}

/* ---- chunks ---- */

struct read_body {
    enum http1_result result;
    char body[512];
    size_t length, used;
    const char *wrong;
};

/* The bytes in pieces that end at each of the cuts. */
static struct read_body read_body(const char *text, const size_t *cuts, size_t cut_count)
{
    struct read_body body = {.result = HTTP1_PARTIAL};
    struct http1_chunks chunks;
    http1_chunks_begin(&chunks);
    size_t from = 0;
    for (size_t i = 0; i < cut_count && body.result == HTTP1_PARTIAL; i++) {
        size_t piece = cuts[i] - from, at = 0;
        char *here = guarded(text + from, piece);
        for (bool more = true; more;) {
            const char *data;
            size_t count;
            body.result = http1_read_chunks(&chunks, here, piece, &at, &data, &count);
            more = body.result == HTTP1_OK && count > 0;
            if (more) {
                assert_true(data >= here && data + count == here + at);
                memcpy(body.body + body.length, data, count);
                body.length += count;
            }
            assert_true(at <= piece);
        }
        assert_true(body.result != HTTP1_PARTIAL || at == piece);
        body.used = from + at;
        from = cuts[i];
        support_guard_free(here, piece);
    }
    body.wrong = chunks.wrong;
    return body;
}

static struct read_body read_all(const char *text)
{
    size_t length = strlen(text);
    size_t cuts[512];
    struct read_body whole = read_body(text, &length, 1);
    for (size_t cut = 0; cut <= length; cut++) {
        cuts[cut] = cut + 1;
        struct read_body two = read_body(text, (size_t[]){cut, length}, 2);
        assert_int_equal(two.result, whole.result);
        assert_int_equal(two.used, whole.used);
        assert_int_equal(two.length, whole.length);
        assert_memory_equal(two.body, whole.body, whole.length);
        assert_ptr_equal(two.wrong, whole.wrong);
    }
    struct read_body bytes = read_body(text, cuts, length);
    assert_int_equal(bytes.result, whole.result);
    assert_int_equal(bytes.used, whole.used);
    assert_int_equal(bytes.length, whole.length);
    assert_memory_equal(bytes.body, whole.body, whole.length);
    return whole;
}

static void test_chunks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *body;
        size_t left;
    } cases[] = {
        {"0\r\n\r\n", "", 0},
        {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
        {"5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n", "hello", 17},
        {"5;name=value;other=\"quoted;\"\r\nhello\r\n6 ; x\r\n world\r\n000;last\r\n\r\n", "hello world", 0},
        {"A\r\n0123456789\r\nb\t\r\n0123456789a\r\n0\r\n\r\nx", "01234567890123456789a", 1},
        {"00000005\r\nhello\r\n0\r\nExpires: never\r\nX-Sum: 12\r\n\r\n", "hello", 0},
        {"5\nhello\n0\nExpires: never\n\n", "hello", 0},
        {"2\r\n\r\n\r\n1\r\n0\r\n0\r\n\r\n", "\r\n0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct read_body body = read_all(cases[i].text);
        assert_int_equal(body.result, HTTP1_OK);
        assert_int_equal(body.length, strlen(cases[i].body));
        assert_memory_equal(body.body, cases[i].body, body.length);
        assert_int_equal(body.used, strlen(cases[i].text) - cases[i].left);
        for (size_t cut = 0; cut < body.used; cut++)
            assert_int_equal(read_body(cases[i].text, &cut, 1).result, HTTP1_PARTIAL);
    }
}

static void test_wrong_chunks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"\r\n", "a chunk without a size"},
        {"-5\r\n", "a chunk without a size"},
        {" 5\r\n", "a chunk without a size"},
        {"5x\r\n", "a chunk's size that is no number"},
        {"5\rx", "a chunk's size line that does not end"},
        {"8000000000000000\r\n", "a chunk's size that is too large"},
        {"10000000000000005\r\n", "a chunk's size that is too large"},
        {"3\r\nhello\r\n", "a chunk longer than its size"},
        {"3\r\nabc\rx", "a chunk longer than its size"},
        {"0\r\n\rx", "a trailer that does not end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct read_body body = read_all(cases[i].text);
        assert_int_equal(body.result, HTTP1_BAD);
        assert_string_equal(body.wrong, cases[i].wrong);
    }
}

/* A line of 16 KiB is read, one of more is wrong; and so is a size with as many zeros in front. */
static void test_long_lines_of_chunks(void **state)
{
    (void)state;
    static const char *const begins[] = {"5;", "0\r\nA: ", "0"};
    enum { MOST = 16384 };
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        for (size_t fill = MOST - 16; fill < MOST + 16; fill += 31) {
            struct http1_chunks chunks;
            http1_chunks_begin(&chunks);
            const char *data;
            size_t count, at = 0, length = strlen(begins[i]);
            assert_int_equal(http1_read_chunks(&chunks, begins[i], length, &at, &data, &count), HTTP1_PARTIAL);
            enum http1_result result = HTTP1_PARTIAL;
            for (size_t byte = 0; byte < fill && result == HTTP1_PARTIAL; byte++) {
                at = 0;
                result = http1_read_chunks(&chunks, "0", 1, &at, &data, &count);
            }
            assert_int_equal(result, fill < MOST ? HTTP1_PARTIAL : HTTP1_BAD);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_head),    cmocka_unit_test(test_framing),
        cmocka_unit_test(test_what_is_lenient), cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_wrong_at_once),   cmocka_unit_test(test_partial_and_pipelined),
        cmocka_unit_test(test_too_many_fields), cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_byte_by_byte),    cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_wrong_chunks),    cmocka_unit_test(test_long_lines_of_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
