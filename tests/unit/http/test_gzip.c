/* Encoded bodies. */
#include "fetch.h"

#include <zlib.h>

#include "http/http_int.h"

static struct http_engine *engine;

static size_t compress_into(char *into, size_t room, const char *text, size_t length, int window_bits)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text;
    stream.avail_in = (uInt)length;
    stream.next_out = (Bytef *)into;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t count = room - stream.avail_out;
    deflateEnd(&stream);
    return count;
}

static void decode_equal(enum http_encoding encoding, const char *bytes, size_t length, const char *text,
                         size_t text_length)
{
    const char *word = "", *why = "";
    if (!http_decode(engine, encoding, (struct http_slice){bytes, length}, &word, &why))
        fail_msg("%s", why);
    assert_int_equal(engine->decoded.len, text_length);
    assert_memory_equal(pl_buf_text(&engine->decoded), text, text_length);
}

static void test_decode(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH), *packed = malloc(2 * LENGTH);
    for (int i = 0; i < LENGTH; i++)
        text[i] = (char)(i * 7 % 251 ^ i / 1000);
    static const size_t lengths[] = {0, 1, 16384, 16385, LENGTH};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = lengths[i];
        decode_equal(HTTP_ENCODING_GZIP, packed, compress_into(packed, 2 * LENGTH, text, length, 15 + 16), text, length);
        decode_equal(HTTP_ENCODING_DEFLATE, packed, compress_into(packed, 2 * LENGTH, text, length, 15), text, length);
        decode_equal(HTTP_ENCODING_DEFLATE, packed, compress_into(packed, 2 * LENGTH, text, length, -15), text, length);
    }
    /* two members, one behind the other */
    size_t first = compress_into(packed, 2 * LENGTH, text, 1000, 15 + 16);
    size_t second = compress_into(packed + first, 2 * LENGTH - first, text + 1000, 500, 15 + 16);
    decode_equal(HTTP_ENCODING_GZIP, packed, first + second, text, 1500);
    /* every way to cut it short is told */
    const char *word, *why;
    for (size_t length = 0; length < first; length++) {
        assert_false(http_decode(engine, HTTP_ENCODING_GZIP, (struct http_slice){packed, length}, &word, &why));
        assert_string_equal(word, "ENCODING");
    }
    assert_false(http_decode(engine, HTTP_ENCODING_GZIP, slice("hello, world, this is no gzip"), &word, &why));
    free(text);
    free(packed);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        enum http_encoding encoding;
    } cases[] = {
        {"gzip", "", HTTP_ENCODING_GZIP},           {"X-GZIP", "identity", HTTP_ENCODING_GZIP},
        {"deflate", "", HTTP_ENCODING_DEFLATE},     {"br", "", HTTP_ENCODING_OTHER},
        {"identity", "", HTTP_ENCODING_NONE},       {"gzip", "gzip", HTTP_ENCODING_OTHER},
        {"gzip, deflate", "", HTTP_ENCODING_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_header headers[] = {{slice("Content-Encoding"), slice(cases[i].first)},
                                        {slice("content-length"), slice("7")},
                                        {slice("content-encoding"), slice(cases[i].second)}};
        assert_int_equal(http_encoding_of(headers, 3), cases[i].encoding);
    }
}

static void test_exchanges(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .body_keep_most_bytes = 1000000});
    struct http_header accept = {slice("Accept-Encoding"), slice("gzip, deflate")};
    static const char *const paths[] = {"/gzip/50000", "/deflate"};
    for (int i = 0; i < 2; i++) {
        struct http_request request = request_of(origin_of(one, server), "GET", paths[i]);
        const struct fetched *got = fetch_request(one, 0, &request); /* not asked for */
        assert_answered(got, 200);
        assert_int_equal(got->body_bytes, got->raw_bytes);
        int64_t plain_bytes = got->raw_bytes;
        char beginning[FETCH_BODY_BYTES];
        memcpy(beginning, got->body, sizeof beginning);
        request.headers = &accept;
        request.header_count = 1;
        request.decodes = true;
        got = fetch_request(one, 0, &request);
        assert_answered(got, 200);
        assert_int_equal(got->body_bytes, plain_bytes);
        assert_int_not_equal(got->raw_bytes, plain_bytes);
        assert_string_equal(got->body, beginning);
        request.decodes = false;
        got = fetch_request(one, 0, &request);
        assert_int_equal(got->body_bytes, -1);
        request.keeps_body = false;
        got = fetch_request(one, 0, &request);
        assert_answered(got, 200);
        assert_int_equal(got->body_bytes, -1);
    }
    struct http_request bomb = request_of(origin_of(one, server), "GET", "/gzip-bomb");
    bomb.headers = &accept;
    bomb.header_count = 1;
    bomb.decodes = true;
    assert_failed(fetch_request(one, 0, &bomb), "body:TOO_LARGE");
    fetcher_free(one);
    httpserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decode), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_exchanges)};
    struct pl_err err = {0};
    if (http_engine_new(&(struct http_spec){.clients = 1}, NULL, &engine, &err) != PL_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_engine_free(engine);
    return failed;
}
