/* Time limits in each phase, forgetting, and what an end says. */
#include "fetch.h"

static void expire(enum httpserver_mode mode, const char *path, bool is_tls, const char *code, enum http_phase phase)
{
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.mode = mode});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 2, .connections = 1, .insecure = true});
    int origin = http_origin(one->engine, is_tls, slice("127.0.0.1"), httpserver_port(server));
    struct http_request request = request_of(origin, "GET", path);
    char *body = malloc(20000000);
    memset(body, 'x', 20000000);
    if (phase == HTTP_SEND) {
        request.has_body = true;
        request.body = (struct http_slice){body, 20000000};
    }
    request.timeout_ns = 50 * PL_NS_PER_MS;
    const struct fetched *got = fetch_request(one, 0, &request);
    assert_int_equal(got->outcome, HTTP_EXPIRED);
    assert_string_equal(got->code, code);
    assert_int_equal(got->phase, phase);
    assert_true(got->done_ns - got->submitted_ns >= request.timeout_ns);
    assert_int_equal(got->count, 1);
    if (mode == HTTPSERVER_SERVES) { /* its connection is gone with it */
        assert_answered(fetch(one, 1, origin, "GET", "/plain"), 200);
        assert_true(one->got[1].is_new_connection);
    }
    free(body);
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_expiry(void **state)
{
    (void)state;
    expire(HTTPSERVER_SERVES, "/hole", false, "head:EXPIRED", HTTP_HEAD);
    expire(HTTPSERVER_SERVES, "/half/head/silence", false, "head:EXPIRED", HTTP_HEAD);
    expire(HTTPSERVER_SERVES, "/half/body/silence", false, "body:EXPIRED", HTTP_BODY);
    expire(HTTPSERVER_BLACK_HOLE, "/", false, "connect:EXPIRED", HTTP_CONNECT);
    expire(HTTPSERVER_IGNORES, "/", true, "tls:EXPIRED", HTTP_TLS);
    expire(HTTPSERVER_IGNORES, "/", false, "send:EXPIRED", HTTP_SEND);
}

static void test_expiry_blocked(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *two = fetcher_new(&(struct http_spec){.clients = 2, .connections = 1});
    struct http_request request = request_of(origin_of(two, server), "GET", "/delay/300");
    http_submit(two->engine, 0, &request);
    request.timeout_ns = 30 * PL_NS_PER_MS;
    const struct fetched *got = fetch_request(two, 1, &request);
    assert_string_equal(got->code, "wait:EXPIRED");
    assert_int_equal(got->sent_ns, 0);
    fetch_wait(two, 2);
    assert_answered(&two->got[0], 200);
    assert_int_equal(httpserver_requests(server, NULL), 1);
    fetcher_free(two);
    httpserver_stop(server);
}

static void test_connect_timeout(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_BLACK_HOLE});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .connect_timeout_ns = 30 * PL_NS_PER_MS});
    assert_failed(fetch(one, 0, origin_of(one, server), "GET", "/"), "connect:TIMEOUT");
    assert_int_equal(one->stats.connections_failed, 1);
    fetcher_free(one);
    httpserver_stop(server);
}

/* In each state: nothing is reported, and the client is free. */
static void test_forget(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *few = fetcher_new(&(struct http_spec){.clients = 3, .connections = 1});
    int origin = origin_of(few, server);
    struct http_request hole = request_of(origin, "GET", "/hole");
    http_submit(few->engine, 0, &hole); /* opening */
    http_submit(few->engine, 1, &hole); /* blocked */
    http_forget(few->engine, 1);
    http_forget(few->engine, 0);
    http_submit(few->engine, 0, &hole);
    fetch_idle(few, 20 * PL_NS_PER_MS); /* active */
    http_submit(few->engine, 1, &hole);
    http_forget(few->engine, 0);
    fetch_idle(few, 20 * PL_NS_PER_MS);
    http_forget(few->engine, 1);
    int nowhere = http_origin(few->engine, false, slice("no-such-host.invalid"), 80);
    struct http_request lost = request_of(nowhere, "GET", "/");
    http_submit(few->engine, 2, &lost); /* ended, not reported yet */
    http_forget(few->engine, 2);
    http_forget(few->engine, 2); /* has none */
    assert_answered(fetch(few, 0, origin, "GET", "/plain"), 200);
    assert_int_equal(few->ended, 1);
    assert_int_equal(httpserver_answers(server, NULL), 1);
    fetcher_free(few);
    httpserver_stop(server);
}

static void test_faults_of_opening(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_REFUSES});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
    const struct fetched *got = fetch(one, 0, origin_of(one, server), "GET", "/");
    assert_failed(got, "connect:ECONNREFUSED");
    assert_non_null(strstr(got->text, "127.0.0.1:"));
    assert_int_equal(got->sent_ns, 0);
    got = fetch(one, 0, http_origin(one->engine, false, slice("no-such-host.invalid"), 80), "GET", "/");
    assert_failed(got, "resolve:NOT_FOUND");
    assert_non_null(strstr(got->text, "no-such-host.invalid"));
    assert_int_equal(one->stats.requests, 0);
    assert_int_equal(one->stats.connections_failed, 1);
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(http_phase_name(HTTP_WAIT), "wait");
    assert_string_equal(http_phase_name(HTTP_BODY), "body");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expiry), cmocka_unit_test(test_expiry_blocked),    cmocka_unit_test(test_connect_timeout),
        cmocka_unit_test(test_forget), cmocka_unit_test(test_faults_of_opening), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
