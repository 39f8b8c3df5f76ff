/* HTTP/1.1 against a server that does everything, right and wrong. */
#include "fetch.h"

#include "http/http_int.h"

static struct httpserver *server;
static struct fetcher *one;
static int origin;

static int begin(void **state)
{
    (void)state;
    server = httpserver_start(&(struct httpserver_spec){0});
    one = fetcher_new(&(struct http_spec){.clients = 8});
    origin = origin_of(one, server);
    return 0;
}

/* Some containers have no io_uring. */
static int begin_without_ring(void **state)
{
    begin(state);
    wire_ring_release(&one->engine->ring);
    assert_string_equal(http_engine_loop(one->engine), "epoll");
    return 0;
}

static int end(void **state)
{
    (void)state;
    fetcher_free(one);
    httpserver_stop(server);
    return 0;
}

static void test_plain(void **state)
{
    (void)state;
    const struct fetched *got = fetch(one, 0, origin, "GET", "/plain");
    assert_answered(got, 200);
    assert_string_equal(got->body, "hello, world\n");
    assert_int_equal(got->raw_bytes, 13);
    assert_int_equal(got->body_bytes, 13);
    assert_int_equal(got->version, 11);
    assert_string_equal(got->ip, "127.0.0.1");
    assert_true(got->is_new_connection && !got->is_tls);
    assert_true(got->submitted_ns <= got->sent_ns && got->sent_ns <= got->first_byte_ns &&
                got->first_byte_ns <= got->done_ns);
    assert_false(fetch(one, 0, origin, "GET", "/plain")->is_new_connection);
    assert_int_equal(one->stats.connections_opened, 1);
    assert_int_equal(one->stats.statuses[200], 2);
    assert_int_equal(one->stats.first_byte.total, 2);
}

/* Every way in which an answer may be framed, over one connection after another, and one byte a packet. */
static void test_framing(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path;
        int status;
        int64_t bytes;
        int interim;
    } cases[] = {
        {"GET", "/204", 204, 0, 0},         {"GET", "/304", 304, 0, 0},
        {"HEAD", "/plain", 200, 0, 0},      {"HEAD", "/chunked", 200, 0, 0},
        {"GET", "/interim", 200, -1, 3},    {"GET", "/length/0", 200, 0, 0},
        {"GET", "/length/1", 200, 1, 0},    {"GET", "/length/70000", 200, 70000, 0},
        {"GET", "/chunked", 200, -1, 0},    {"GET", "/eof", 200, -1, 0},
        {"GET", "/eof10", 200, -1, 0},      {"GET", "/close", 200, -1, 0},
        {"GET", "/slow-body", 200, -1, 0},  {"GET", "/status/404", 404, -1, 0},
        {"GET", "/status/503", 503, -1, 0},
    };
    for (int bytewise = 0; bytewise < 2; bytewise++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char path[64];
            if (bytewise && (cases[i].bytes > 1000 || strcmp(cases[i].path, "/slow-body") == 0))
                continue;
            snprintf(path, sizeof path, "%s%s", bytewise ? "/bytewise" : "", cases[i].path);
            const struct fetched *got = fetch(one, 0, origin, cases[i].method, path);
            assert_answered(got, cases[i].status);
            if (cases[i].bytes >= 0)
                assert_int_equal(got->raw_bytes, cases[i].bytes);
            else
                assert_true(got->raw_bytes > 0);
            assert_int_equal((int64_t)got->body_length, got->raw_bytes);
            assert_int_equal(got->interim_count, cases[i].interim);
        }
    assert_int_equal(one->stats.requests, httpserver_requests(server, NULL));
    assert_int_equal(one->stats.answers, httpserver_answers(server, NULL));
    assert_int_equal(one->stats.connections_opened, httpserver_counter(server, HTTPSERVER_CONNECTIONS));
    assert_int_equal(one->stats.retries, 0);
}

/* The same body, whether it came whole, in chunks, or to the end of the connection. */
static void test_bodies_equal(void **state)
{
    (void)state;
    char whole[FETCH_BODY_BYTES];
    snprintf(whole, sizeof whole, "%s", fetch(one, 0, origin, "GET", "/chunked")->body);
    assert_true(strlen(whole) > 10);
    assert_string_equal(fetch(one, 0, origin, "GET", "/bytewise/chunked")->body, whole);
}

static void test_not_kept(void **state)
{
    (void)state;
    struct http_request request = request_of(origin, "GET", "/big/3000000");
    request.keeps_body = false;
    const struct fetched *got = fetch_request(one, 0, &request);
    assert_answered(got, 200);
    assert_int_equal(got->raw_bytes, 3000000);
    assert_int_equal((int64_t)got->body_length, 0);
    assert_int_equal(one->stats.body_bytes, 3000000);
}

/* An answer that nobody asked for ends the connection, and is not taken for the next one's. */
static void test_leftover(void **state)
{
    (void)state;
    assert_answered(fetch(one, 0, origin, "GET", "/two"), 200);
    fetch_idle(one, 20 * PL_NS_PER_MS);
    const struct fetched *got = fetch(one, 0, origin, "GET", "/status/404");
    assert_answered(got, 404);
    assert_true(got->is_new_connection);
    assert_int_equal(one->stats.answers, 2);
}

static void test_idle_close(void **state)
{
    (void)state;
    /* the server closes behind the answer, without a word: noticed before the next request, or it is sent again */
    for (int i = 0; i < 20; i++)
        assert_answered(fetch(one, 0, origin, "GET", "/idle-close"), 200);
    assert_int_equal(one->stats.answers, 20);
    assert_int_equal(httpserver_answers(server, NULL), 20);
    assert_true(one->stats.connections_closed_by_peer + one->stats.retries >= 19);
}

static void test_retry(void **state)
{
    (void)state;
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    const struct fetched *got = fetch(one, 0, origin, "GET", "/drop-reused/plain");
    assert_answered(got, 200);
    assert_true(got->is_new_connection);
    assert_int_equal(one->stats.retries, 1);
    assert_int_equal(one->stats.connections_closed_by_peer, 1);
    assert_int_equal(one->stats.requests, 3);
    assert_int_equal(one->stats.answers, 2);
    assert_failed(fetch(one, 0, origin, "POST", "/drop-reused/plain"), "head:CLOSED");
    assert_failed(fetch(one, 0, origin, "GET", "/drop"), "head:CLOSED"); /* on a new connection, as the last was closed */
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    assert_failed(fetch(one, 0, origin, "GET", "/drop"), "head:CLOSED"); /* sent again, and lost again */
    assert_int_equal(one->stats.retries, 2);
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/reset", "head:ECONNRESET"},
        {"/drop", "head:CLOSED"},
        {"/half/head/close", "head:CLOSED"},
        {"/half/body/close", "body:CLOSED"},
        {"/half/body/reset", "body:ECONNRESET"},
        {"/malformed/status", "head:MALFORMED"},
        {"/malformed/two-lengths", "head:MALFORMED"},
        {"/malformed/chunk", "body:MALFORMED"},
        {"/malformed/large", "head:TOO_LARGE"},
        {"/malformed/many", "head:TOO_LARGE"},
        {"/malformed/noise", "head:MALFORMED"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_failed(fetch(one, 0, origin, "POST", cases[i][0]), cases[i][1]);
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    assert_int_equal(one->stats.answers, 1);
}

static void test_too_large(void **state)
{
    (void)state;
    struct fetcher *small = fetcher_new(&(struct http_spec){.clients = 1, .body_keep_most_bytes = 1000});
    int there = origin_of(small, server);
    assert_answered(fetch(small, 0, there, "GET", "/length/1000"), 200);
    assert_failed(fetch(small, 0, there, "GET", "/length/1001"), "body:TOO_LARGE");
    assert_failed(fetch(small, 0, there, "GET", "/length/200000"), "body:TOO_LARGE");
    assert_answered(fetch(small, 0, there, "GET", "/length/1000"), 200);
    fetcher_free(small);
}

static void test_continue(void **state)
{
    (void)state;
    struct http_request request = request_of(origin, "POST", "/echo");
    request.has_body = request.expects_continue = true;
    request.body = slice("0123456789");
    assert_answered(fetch_request(one, 0, &request), 200);
    assert_non_null(strstr(one->got[0].body, "0123456789"));
    assert_int_equal(one->stats.continues, 1);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONTINUES), 1);
    assert_int_equal(one->stats.continue_wait.total, 1);
    int64_t with_body_bytes = one->stats.sent_bytes;
    request.target = slice("/continue/refuse"); /* 11 bytes longer, and without the 10 of the body */
    assert_answered(fetch_request(one, 0, &request), 417);
    assert_int_equal(one->stats.sent_bytes - with_body_bytes, with_body_bytes + 1);
    request.target = slice("/continue/never"); /* the body goes after a second */
    const struct fetched *got = fetch_request(one, 0, &request);
    assert_answered(got, 200);
    assert_true(got->done_ns - got->sent_ns >= PL_NS_PER_S - PL_NS_PER_MS);
    assert_int_equal(one->stats.continue_wait.total, 3);
}

static void test_bodies_sent(void **state)
{
    (void)state;
    enum { MOST = 4000000 };
    char *body = malloc(MOST);
    memset(body, 'b', MOST);
    int64_t sum = 0;
    static const size_t lengths[] = {0, 1, 16384, 16385, 300000, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct http_request request = request_of(origin, "POST", "/plain");
        request.has_body = true;
        request.body = (struct http_slice){body, lengths[i]};
        assert_answered(fetch_request(one, 0, &request), 200);
        sum += (int64_t)lengths[i];
        assert_int_equal(httpserver_counter(server, HTTPSERVER_BODY_BYTES), sum);
    }
    assert_int_equal(one->stats.connections_opened, 1);
    struct http_request request = request_of(origin, "POST", "/early");
    request.has_body = true;
    request.body = (struct http_slice){body, MOST};
    assert_answered(fetch_request(one, 0, &request), 413);
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    free(body);
}

/* What the kernel refuses was not sent: the server's count of requests is ours. */
static void test_refused_send(void **state)
{
    (void)state;
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    int fd = one->engine->conns[one->engine->exchanges[0].last_conn].socket.fd;
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    assert_int_equal(one->stats.requests, 2);
    assert_int_equal(httpserver_requests(server, NULL), 2);
    assert_int_equal(one->stats.connections_opened, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, begin, end),
        cmocka_unit_test_setup_teardown(test_framing, begin, end),
        cmocka_unit_test_setup_teardown(test_framing, begin_without_ring, end),
        cmocka_unit_test_setup_teardown(test_retry, begin_without_ring, end),
        cmocka_unit_test_setup_teardown(test_refused_send, begin, end),
        cmocka_unit_test_setup_teardown(test_refused_send, begin_without_ring, end),
        cmocka_unit_test_setup_teardown(test_bodies_equal, begin, end),
        cmocka_unit_test_setup_teardown(test_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_leftover, begin, end),
        cmocka_unit_test_setup_teardown(test_idle_close, begin, end),
        cmocka_unit_test_setup_teardown(test_retry, begin, end),
        cmocka_unit_test_setup_teardown(test_faults, begin, end),
        cmocka_unit_test_setup_teardown(test_too_large, begin, end),
        cmocka_unit_test_setup_teardown(test_continue, begin, end),
        cmocka_unit_test_setup_teardown(test_bodies_sent, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
