/* Requests as bytes, to the last one. */
#include "fetch.h"

static void expect(const struct http_spec *spec, const struct http_request *request, const char *bytes)
{
    struct fetcher *one = fetcher_new(spec);
    assert_int_equal(http_origin(one->engine, false, slice("example.test"), 8080), 0);
    struct pl_buf buf;
    pl_buf_init(&buf, 100000);
    http_prepare(one->engine, request, &buf);
    assert_string_equal(pl_buf_text(&buf), bytes);
    pl_buf_release(&buf);
    fetcher_free(one);
}

static void test_bytes(void **state)
{
    (void)state;
    const struct http_spec plain = {.clients = 1}, old = {.clients = 1, .http1_0 = true},
                           churn = {.clients = 1, .close_each = true};
    struct http_request request = request_of(0, "GET", "/a?b=c");
    expect(&plain, &request, "GET /a?b=c HTTP/1.1\r\nHost: example.test:8080\r\n\r\n");
    expect(&old, &request, "GET /a?b=c HTTP/1.0\r\nHost: example.test:8080\r\nConnection: keep-alive\r\n\r\n");
    expect(&churn, &request, "GET /a?b=c HTTP/1.1\r\nHost: example.test:8080\r\nConnection: close\r\n\r\n");
    request.authority = slice("other.test");
    struct http_header headers[] = {{slice("Accept"), slice("*/*")}, {slice("X"), slice("")}};
    request.headers = headers;
    request.header_count = 2;
    request.more_headers = slice("Cookie: a=1\r\nTraceparent: 00\r\n");
    expect(&plain, &request,
           "GET /a?b=c HTTP/1.1\r\nHost: other.test\r\nAccept: */*\r\nX: \r\nCookie: a=1\r\nTraceparent: 00\r\n\r\n");
}

static void test_bodies(void **state)
{
    (void)state;
    const struct http_spec plain = {.clients = 1}, churn = {.clients = 1, .close_each = true};
    struct http_request request = request_of(0, "POST", "/");
    request.has_body = true;
    expect(&plain, &request, "POST / HTTP/1.1\r\nHost: example.test:8080\r\nContent-Length: 0\r\n\r\n");
    request.body = slice("abc");
    expect(&plain, &request, "POST / HTTP/1.1\r\nHost: example.test:8080\r\nContent-Length: 3\r\n\r\nabc");
    request.expects_continue = true;
    expect(&plain, &request,
           "POST / HTTP/1.1\r\nHost: example.test:8080\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    request.expects_continue = false;
    /* what the script states is sent instead of our own */
    struct http_header headers[] = {
        {slice("host"), slice("h")}, {slice("CONTENT-LENGTH"), slice("2")}, {slice("Connection"), slice("x")}};
    request.headers = headers;
    request.header_count = 3;
    expect(&churn, &request, "POST / HTTP/1.1\r\nhost: h\r\nCONTENT-LENGTH: 2\r\nConnection: x\r\n\r\nabc");
    request.header_count = 0;
    request.more_headers = slice("Transfer-Encoding: chunked\r\n");
    expect(&plain, &request,
           "POST / HTTP/1.1\r\nHost: example.test:8080\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    request.body = slice("");
    expect(&plain, &request, "POST / HTTP/1.1\r\nHost: example.test:8080\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

/* What was prepared is what would be sent without, also with bodies that do not fit into one piece with the head. */
static void test_prepared(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    static const size_t lengths[] = {0, 100, 16384, 16385, 100000};
    char *body = calloc(1, 100000);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int waits = 0; waits < 2; waits++) {
            struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
            struct http_request request = request_of(origin_of(one, server), "POST", "/plain");
            request.has_body = true;
            request.body = (struct http_slice){body, lengths[i]};
            request.expects_continue = waits == 1;
            int64_t before = httpserver_counter(server, HTTPSERVER_BODY_BYTES);
            assert_answered(fetch_request(one, 0, &request), 200);
            int64_t bytes = one->stats.sent_bytes;
            struct pl_buf wire;
            pl_buf_init(&wire, 200000);
            http_prepare(one->engine, &request, &wire);
            request.wire = (struct http_slice){wire.data, wire.len};
            assert_answered(fetch_request(one, 0, &request), 200);
            assert_int_equal(one->stats.sent_bytes, 2 * bytes);
            assert_int_equal(httpserver_counter(server, HTTPSERVER_BODY_BYTES) - before, (int64_t)(2 * lengths[i]));
            assert_int_equal(one->stats.connections_opened, 1);
            pl_buf_release(&wire);
            fetcher_free(one);
        }
    free(body);
    httpserver_stop(server);
}

/* Head and headers need not outlive the call, also when the request has to wait for its connection. */
static void test_copied(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *two = fetcher_new(&(struct http_spec){.clients = 2, .connections = 1});
    int origin = origin_of(two, server);
    for (uint32_t i = 0; i < 2; i++) {
        char target[16] = "/echo?a", name[8] = "X-Name", value[8] = "value";
        struct http_header header = {slice(name), slice(value)};
        struct http_request request = request_of(origin, "GET", target);
        request.headers = &header;
        request.header_count = 1;
        http_submit(two->engine, i, &request);
        memset(target, 'z', sizeof target);
        memset(name, 'z', sizeof name);
        memset(value, 'z', sizeof value);
    }
    fetch_wait(two, 2);
    for (int i = 0; i < 2; i++) {
        assert_answered(&two->got[i], 200);
        assert_non_null(strstr(two->got[i].body, "/echo?a"));
        assert_non_null(strstr(two->got[i].body, "value"));
    }
    fetcher_free(two);
    httpserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
