/* HTTP/2 against nghttp2's own server session. */
#include "fetch.h"

#include <signal.h>

#include "h2server.h"
#include "http/http_int.h"
#include "tlscert.h"

static struct h2server *server;

static int begin(void **state)
{
    (void)state;
    server = h2server_start(100, NULL, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    h2server_stop(server);
    return 0;
}

static int there(struct fetcher *fetcher)
{
    return http_origin(fetcher->engine, false, slice("127.0.0.1"), server->port);
}

static void test_plain(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true});
    const struct fetched *got = fetch(one, 0, there(one), "GET", "/plain");
    assert_answered(got, 200);
    assert_string_equal(got->body, "hhhhhhhhhhhhh");
    assert_int_equal(got->version, 20);
    assert_string_equal(got->server, "h2server");
    assert_int_equal(got->raw_bytes, 13);
    assert_true(got->sent_ns > 0 && got->sent_ns <= got->first_byte_ns && got->first_byte_ns <= got->done_ns);
    assert_answered(fetch(one, 0, there(one), "GET", "/status/404"), 404);
    assert_answered(fetch(one, 0, there(one), "GET", "/interim"), 200);
    assert_int_equal(got->interim_count, 1);
    assert_answered(fetch(one, 0, there(one), "GET", "/trailers"), 200);
    assert_string_equal(got->trailer, "last");
    assert_answered(fetch(one, 0, there(one), "HEAD", "/big/0"), 200);
    assert_answered(fetch(one, 0, there(one), "HEAD", "/big/700"), 200); /* which says how long it would be */
    assert_int_equal(got->raw_bytes, 0);
    assert_int_equal(one->stats.connections_opened, 1);
    assert_int_equal(one->stats.answers, 6);
    assert_int_equal(server->answers, 6);
    fetcher_free(one);
}

static void test_bodies(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true, .body_keep_most_bytes = 100000});
    struct http_request request = request_of(there(one), "POST", "/echo");
    char *body = calloc(1, 3000000);
    request.has_body = true;
    request.keeps_body = false;
    static const size_t lengths[] = {0, 1, 100000, 3000000};
    for (size_t i = 0; i < 4; i++) {
        request.body = (struct http_slice){body, lengths[i]};
        const struct fetched *got = fetch_request(one, 0, &request);
        assert_answered(got, 200);
        assert_int_equal((size_t)got->raw_bytes, lengths[i]);
    }
    assert_int_equal(server->body_bytes, 3100001);
    request.keeps_body = true;
    assert_failed(fetch_request(one, 0, &request), "body:TOO_LARGE");
    assert_answered(fetch(one, 0, there(one), "GET", "/big/100000"), 200); /* on the same connection */
    assert_int_equal(one->stats.connections_opened, 1);
    free(body);
    fetcher_free(one);
}

/* Connections are as few as the streams allow, and the server's word counts. */
static void streams_obeyed(uint32_t allowed, int clients, int connections)
{
    struct h2server *strict = h2server_start(allowed, NULL, NULL);
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = clients, .connections = connections, .http2 = true});
    struct http_request request =
        request_of(http_origin(many->engine, false, slice("127.0.0.1"), strict->port), "GET", "/plain");
    fetch_many(many, clients, 1000, &request);
    for (int i = 0; i < clients; i++)
        assert_answered(&many->got[i], 200);
    assert_int_equal(strict->answers, 1000);
    assert_int_equal(many->stats.answers, 1000);
    assert_int_equal(many->stats.requests, 1000 + many->stats.retries);
    assert_true(strict->open_most <= (long)allowed && strict->open_most <= 10);
    assert_true(strict->conn_count <= connections);
    fetcher_free(many);
    h2server_stop(strict);
}

static void test_streams(void **state)
{
    (void)state;
    streams_obeyed(100, 100, 10);
    streams_obeyed(3, 50, 5);
    streams_obeyed(1, 20, 2);
}

static void test_refused(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true});
    for (int i = 0; i < 10; i++)
        assert_answered(fetch(one, 0, there(one), "POST", "/refuse"), 200); /* it was not begun: safe for every method */
    assert_int_equal(one->stats.retries, server->refused);
    assert_int_equal(server->refused, 10);
    fetcher_free(one);
}

static void test_goaway(void **state)
{
    (void)state;
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 20, .http2 = true});
    struct http_request request = request_of(there(many), "GET", "/goaway");
    fetch_many(many, 20, 200, &request);
    for (int i = 0; i < 20; i++)
        assert_answered(&many->got[i], 200);
    assert_int_equal(many->stats.answers, 200);
    assert_true(many->stats.connections_opened > 2);
    fetcher_free(many);
}

/* The same where requests wait in the session for their streams. */
static void test_goaway_queued(void **state)
{
    (void)state;
    struct h2server *strict = h2server_start(2, NULL, NULL);
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 20, .http2 = true});
    struct http_request request =
        request_of(http_origin(many->engine, false, slice("127.0.0.1"), strict->port), "POST", "/goaway");
    fetch_many(many, 20, 100, &request);
    for (int i = 0; i < 20; i++)
        assert_answered(&many->got[i], 200);
    assert_int_equal(many->stats.answers, 100);
    assert_int_equal(many->stats.requests, 100 + many->stats.retries); /* what was not sent is not sent again */
    fetcher_free(many);
    h2server_stop(strict);
}

static void test_continue(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true});
    struct http_request request = request_of(there(one), "POST", "/continue");
    request.has_body = request.expects_continue = true;
    request.body = slice("0123456789");
    const struct fetched *got = fetch_request(one, 0, &request);
    assert_answered(got, 200);
    assert_int_equal(got->interim_count, 1);
    assert_int_equal(server->body_bytes, 10);
    request.target = slice("/unwanted");
    assert_answered(fetch_request(one, 0, &request), 417);
    assert_int_equal(server->body_bytes, 10);
    request.target = slice("/echo"); /* it does not say: the body goes after a second */
    assert_answered(fetch_request(one, 0, &request), 200);
    assert_int_equal(server->body_bytes, 20);
    assert_int_equal(one->stats.continues, 3);
    assert_int_equal(one->stats.continue_wait.total, 3);
    assert_int_equal(one->stats.connections_opened, 1);
    fetcher_free(one);
}

static void test_faults(void **state)
{
    (void)state;
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 4, .http2 = true});
    int origin = there(few);
    assert_failed(fetch(few, 0, origin, "GET", "/reset"), "head:INTERNAL_ERROR");
    assert_failed(fetch(few, 0, origin, "POST", "/drop"), "head:CLOSED");
    struct http_request hole = request_of(origin, "GET", "/hole");
    hole.timeout_ns = 30 * PL_NS_PER_MS;
    const struct fetched *got = fetch_request(few, 0, &hole);
    assert_int_equal(got->outcome, HTTP_EXPIRED);
    assert_string_equal(got->code, "head:EXPIRED");
    int64_t opened = few->stats.connections_opened;
    assert_answered(fetch(few, 1, origin, "GET", "/plain"), 200);
    assert_int_equal(few->stats.connections_opened, opened); /* an expired stream is no reason to close */
    hole.timeout_ns = 20 * PL_NS_PER_S;
    http_submit(few->engine, 0, &hole);
    fetch_idle(few, 10 * PL_NS_PER_MS);
    http_forget(few->engine, 0);
    assert_answered(fetch(few, 0, origin, "GET", "/plain"), 200);
    assert_true(server->resets >= 1);
    /* no retry for one that was alone on a fresh connection, one for those whose connection had served */
    http_submit(few->engine, 0,
                &(struct http_request){.origin = origin,
                                       .method = slice("GET"),
                                       .target = slice("/drop"),
                                       .is_safe = true,
                                       .timeout_ns = 20 * PL_NS_PER_S});
    fetch_wait(few, few->ended + 1);
    assert_failed(&few->got[0], "head:CLOSED");
    assert_int_equal(few->stats.retries, 1);
    fetcher_free(few);
}

/* A server that speaks HTTP/1.1 only. */
static void test_not_h2(void **state)
{
    (void)state;
    struct httpserver *old = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true});
    const struct fetched *got = fetch(one, 0, origin_of(one, old), "GET", "/plain");
    assert_int_equal(got->outcome, HTTP_FAILED);
    assert_true(strcmp(got->code, "head:MALFORMED") == 0 || strcmp(got->code, "head:CLOSED") == 0);
    fetcher_free(one);
    httpserver_stop(old);
}

static void test_tls(void **state)
{
    (void)state;
    char cert[64], key[64];
    signal(SIGPIPE, SIG_IGN); /* the server of this test writes through OpenSSL's own sockets */
    snprintf(cert, sizeof cert, "/tmp/plimsoll-h2-%d.pem", (int)getpid());
    snprintf(key, sizeof key, "/tmp/plimsoll-h2-%d.key", (int)getpid());
    tlscert_write(cert, key);
    struct h2server *tls = h2server_start(100, cert, key);
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 30, .http2 = true, .ca_file = cert});
    struct http_request request =
        request_of(http_origin(many->engine, true, slice("localhost"), tls->port), "GET", "/plain");
    fetch_many(many, 30, 300, &request);
    for (int i = 0; i < 30; i++) {
        assert_answered(&many->got[i], 200);
        assert_true(many->got[i].is_tls);
    }
    assert_int_equal(many->stats.connections_opened, 3);
    assert_non_null(strstr(many->got[0].certificate.subject, "localhost"));
    fetcher_free(many);
    h2server_stop(tls);
    /* one that does not offer it */
    struct httpserver *old = httpserver_start(&(struct httpserver_spec){.cert_path = cert, .key_path = key});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true, .ca_file = cert});
    const struct fetched *got =
        fetch(one, 0, http_origin(one->engine, true, slice("localhost"), httpserver_port(old)), "GET", "/plain");
    assert_int_equal(got->outcome, HTTP_FAILED);
    assert_int_equal(got->phase, HTTP_TLS);
    fetcher_free(one);
    httpserver_stop(old);
    unlink(cert);
    unlink(key);
}

/* An answer that comes before the request is whole is the answer, whatever the connection does then. */
static void test_early(void **state)
{
    (void)state;
    enum { BYTES = 4000000 };
    char *body = calloc(1, BYTES);
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 2, .connections = 1, .streams = 1, .http2 = true});
    struct http_request request = request_of(there(few), "POST", "/early");
    request.has_body = true;
    request.body = (struct http_slice){body, BYTES};
    fetch_many(few, 2, 6, &request); /* one waits for the other's stream */
    assert_answered(&few->got[0], 413);
    assert_answered(&few->got[1], 413);
    request.target = slice("/early-drop");
    assert_answered(fetch_request(few, 0, &request), 413);
    fetch_idle(few, 20 * PL_NS_PER_MS); /* the end of the connection is noticed */
    request.target = slice("/unwanted");
    request.expects_continue = true;
    fetch_many(few, 2, 6, &request);
    assert_answered(&few->got[0], 417);
    assert_answered(&few->got[1], 417);
    assert_int_equal(few->stats.answers, 13);
    assert_int_equal(server->answers, 13);
    assert_int_equal(few->stats.requests, 13);
    fetcher_free(few);
    free(body);
}

/* What is wrong with an answer fails its exchange, and gives its place on the connection to the next one. */
static void test_short_body(void **state)
{
    (void)state;
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 2, .connections = 1, .streams = 1, .http2 = true});
    struct http_request request = request_of(there(few), "GET", "/short");
    fetch_many(few, 2, 6, &request);
    assert_failed(&few->got[0], "body:PROTOCOL_ERROR");
    assert_failed(&few->got[1], "body:PROTOCOL_ERROR");
    assert_answered(fetch(few, 0, there(few), "GET", "/plain"), 200);
    assert_int_equal(few->stats.connections_opened, 1);
    fetcher_free(few);
}

/* One exchange a connection, whatever becomes of it. */
static void test_close_each(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .http2 = true, .close_each = true});
    for (int i = 0; i < 3; i++) {
        assert_failed(fetch(one, 0, there(one), "GET", "/reset"), "head:INTERNAL_ERROR");
        assert_true(fetch(one, 0, there(one), "GET", "/plain")->is_new_connection);
        assert_answered(&one->got[0], 200);
    }
    assert_int_equal(one->stats.connections_opened, 6);
    fetcher_free(one);
}

/* Longer than every window, kept and not kept. */
static void test_windows(void **state)
{
    (void)state;
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 8, .http2 = true});
    struct http_request request = request_of(there(few), "GET", "/big/40000000");
    for (int keeps = 0; keeps < 2; keeps++) {
        request.keeps_body = keeps == 1;
        assert_answered(fetch_request(few, 0, &request), 200);
        assert_int_equal(few->got[0].raw_bytes, 40000000);
        assert_int_equal((int64_t)few->got[0].body_length, keeps ? 40000000 : 0);
    }
    request = request_of(there(few), "GET", "/big/6000000");
    fetch_many(few, 8, 80, &request); /* more than the window of the connection, all together */
    for (int i = 0; i < 8; i++)
        assert_int_equal((int64_t)few->got[i].body_length, 6000000);
    assert_int_equal(few->stats.connections_opened, 1);
    fetcher_free(few);
}

/* A connection has as many streams as it has numbers: the next one goes on. */
static void test_numbers_used_up(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .connections = 1, .http2 = true});
    assert_answered(fetch(one, 0, there(one), "GET", "/plain"), 200);
    nghttp2_session_set_next_stream_id(one->engine->conns[0].h2->session, INT32_MAX);
    assert_false(fetch(one, 0, there(one), "POST", "/plain")->is_new_connection);
    assert_answered(fetch(one, 0, there(one), "POST", "/plain"), 200);
    assert_true(one->got[0].is_new_connection);
    assert_int_equal(one->stats.connections_opened, 2);
    assert_int_equal(one->stats.connections_evicted, 0);
    assert_int_equal(one->stats.retries, 0); /* it was never sent before */
    assert_int_equal(one->stats.requests, 3);
    fetcher_free(one);
}

/* The server allows fewer streams while there are more. */
static void test_fewer_streams(void **state)
{
    (void)state;
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 20, .connections = 2, .http2 = true});
    struct http_request request = request_of(there(many), "GET", "/lower");
    fetch_many(many, 20, 400, &request);
    for (int i = 0; i < 20; i++)
        assert_answered(&many->got[i], 200);
    assert_int_equal(many->stats.answers, 400);
    assert_int_equal(server->answers, 400);
    for (int i = 0; i < 2; i++)
        assert_int_equal(many->engine->conns[i].stream_most, 1);
    fetcher_free(many);
}

/* Time is over for one that has its stream, and for one that waits for it: neither harms the next one. */
static void test_expired_in_the_session(void **state)
{
    (void)state;
    struct h2server *strict = h2server_start(1, NULL, NULL);
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 3, .connections = 1, .http2 = true});
    struct http_request request =
        request_of(http_origin(few->engine, false, slice("127.0.0.1"), strict->port), "GET", "/hole");
    request.timeout_ns = 60 * PL_NS_PER_MS;
    assert_answered(fetch(few, 2, request.origin, "GET", "/plain"), 200);
    few->engine->conns[0].stream_most = 2; /* as it was when both came before the server's word of it */
    http_submit(few->engine, 0, &request);
    request.target = slice("/plain");
    request.timeout_ns = 20 * PL_NS_PER_MS;
    http_submit(few->engine, 1, &request);
    fetch_wait(few, 3);
    assert_string_equal(few->got[0].code, "head:EXPIRED");
    assert_string_equal(few->got[1].code, "send:EXPIRED");
    for (uint32_t client = 0; client < 3; client++)
        assert_answered(fetch(few, client, request.origin, "GET", "/plain"), 200);
    assert_int_equal(few->stats.connections_opened, 1);
    assert_int_equal(few->stats.requests, strict->requests);
    assert_int_equal(few->stats.answers, 4);
    fetcher_free(few);
    h2server_stop(strict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, begin, end),
        cmocka_unit_test_setup_teardown(test_bodies, begin, end),
        cmocka_unit_test_setup_teardown(test_streams, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_goaway, begin, end),
        cmocka_unit_test_setup_teardown(test_faults, begin, end),
        cmocka_unit_test_setup_teardown(test_continue, begin, end),
        cmocka_unit_test_setup_teardown(test_early, begin, end),
        cmocka_unit_test_setup_teardown(test_short_body, begin, end),
        cmocka_unit_test_setup_teardown(test_close_each, begin, end),
        cmocka_unit_test_setup_teardown(test_windows, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_used_up, begin, end),
        cmocka_unit_test_setup_teardown(test_fewer_streams, begin, end),
        cmocka_unit_test(test_expired_in_the_session),
        cmocka_unit_test(test_goaway_queued),
        cmocka_unit_test(test_not_h2),
        cmocka_unit_test(test_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
