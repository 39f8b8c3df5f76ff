/* The waiting loop: every exchange ends once, at most as many as were asked for are reported, time limits. */
#include "fetch.h"

#include <sys/resource.h>

static void test_refused_specs(void **state)
{
    (void)state;
    const struct {
        struct http_spec spec;
        enum pl_code code;
    } cases[] = {
        {{.clients = 0}, PL_LIMIT},
        {{.clients = 1, .connections = -1}, PL_LIMIT},
        {{.clients = 1, .streams = 100000}, PL_LIMIT},
        {{.clients = 1, .http2 = true, .http1_0 = true}, PL_INPUT},
        {{.clients = 1, .unix_socket = ""}, PL_INPUT},
        {{.clients = 1, .ca_file = "/nowhere/ca.pem"}, PL_INPUT},
        {{.clients = 1, .cert_file = "/nowhere/cert.pem"}, PL_INPUT},
        {{.clients = 1, .connect_to = (const char *const[]){"a:b:c:d", NULL}}, PL_INPUT},
        {{.clients = 1, .sources = (const char *const[]){"nonsense", NULL}}, PL_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_err err = {0};
        struct http_engine *engine = NULL;
        assert_int_equal(http_engine_new(&cases[i].spec, NULL, &engine, &err), cases[i].code);
        assert_null(engine);
        assert_true(err.what[0] != '\0');
    }
}

static void count_end(void *context, const struct http_end *end)
{
    (void)end;
    ++*(int *)context;
}

static void test_most(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    {
        struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 50});
        struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
        for (uint32_t i = 0; i < 50; i++)
            http_submit(many->engine, i, &request);
        for (int ended = 0; ended < 50;) {
            int seen = 0, reported = http_wait(many->engine, pl_clock_ns() + PL_NS_PER_S, 3, count_end, &seen);
            assert_int_equal(reported, seen);
            assert_in_range(reported, 1, 3);
            ended += reported;
        }
        fetcher_free(many);
    }
    httpserver_stop(server);
}

static void test_until(void **state)
{
    (void)state;
    struct fetcher *none = fetcher_new(&(struct http_spec){.clients = 1});
    int64_t until_ns = pl_clock_ns() + 5 * PL_NS_PER_MS;
    int seen = 0;
    assert_int_equal(http_wait(none->engine, until_ns, 1, count_end, &seen), 0);
    assert_true(pl_clock_ns() >= until_ns);
    assert_int_equal(http_wait(none->engine, 0, 1, count_end, &seen), 0);
    assert_non_null(strstr(http_engine_loop(none->engine), "epoll"));
    fetcher_free(none);
}

/* A body that never pauses does not keep a wait beyond its time, nor does it take memory. */
static void test_until_while_busy(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
    struct http_request request = request_of(origin_of(one, server), "GET", "/big/2000000000");
    request.keeps_body = false;
    http_submit(one->engine, 0, &request);
    for (int i = 0; i < 1000 && (i < 2 || one->stats.received_bytes == 0); i++) {
        int64_t until_ns = pl_clock_ns() + 20 * PL_NS_PER_MS;
        assert_int_equal(http_wait(one->engine, until_ns, 1, fetcher_on_end, one), 0);
        assert_true(pl_clock_ns() >= until_ns);
    }
    assert_true(one->stats.received_bytes > 0);
    http_forget(one->engine, 0);
    assert_answered(fetch(one, 0, request.origin, "GET", "/plain"), 200);
    fetcher_free(one);
    httpserver_stop(server);
}

/* A thousand connections: what we count is what the server counts. */
static void test_thousand(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    enum { CLIENTS = 1000, REQUESTS = 20000 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = CLIENTS});
    struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
    struct pl_buf wire;
    pl_buf_init(&wire, 4096);
    http_prepare(many->engine, &request, &wire);
    request.wire = (struct http_slice){wire.data, wire.len};
    fetch_many(many, CLIENTS, REQUESTS, &request);
    assert_int_equal(many->stats.requests, REQUESTS);
    assert_int_equal(many->stats.answers, REQUESTS);
    assert_int_equal(many->stats.statuses[200], REQUESTS);
    assert_int_equal(httpserver_requests(server, "/plain"), REQUESTS);
    assert_int_equal(httpserver_answers(server, "/plain"), REQUESTS);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), CLIENTS);
    assert_int_equal(many->stats.connections_opened, CLIENTS);
    assert_int_equal(many->stats.sent_bytes, (int64_t)(REQUESTS * wire.len));
    int ends = 0;
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(many->got[i].outcome, HTTP_ANSWERED);
        ends += many->got[i].count;
    }
    assert_int_equal(ends, REQUESTS);
    pl_buf_release(&wire);
    fetcher_free(many);
    httpserver_stop(server);
}

/* Whatever the server does, each exchange ends once. */
static void test_everything_once(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/plain", "/drop",       "/reset",       "/chunked", "/two",          "/half/body/reset", "/malformed/status",
        "/eof",   "/idle-close", "/drop-reused", "/hole",    "/delay/5/plain"};
    enum { PATHS = sizeof paths / sizeof *paths, CLIENTS = 4 * PATHS, ROUNDS = 20 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = CLIENTS, .connections = PATHS});
    int origin = origin_of(many, server);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            struct http_request request = request_of(origin, "GET", paths[(i + (uint32_t)round) % PATHS]);
            request.timeout_ns = 200 * PL_NS_PER_MS;
            http_submit(many->engine, i, &request);
        }
        fetch_wait(many, (round + 1) * CLIENTS);
        for (int i = 0; i < CLIENTS; i++)
            assert_int_equal(many->got[i].count, round + 1);
    }
    assert_true(many->stats.answers > 0 && many->stats.answers < ROUNDS * CLIENTS);
    fetcher_free(many);
    httpserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_specs),    cmocka_unit_test(test_most),     cmocka_unit_test(test_until),
        cmocka_unit_test(test_until_while_busy), cmocka_unit_test(test_thousand), cmocka_unit_test(test_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
