/* Connections: how long they live, and where they lead. */
#include "fetch.h"

#include <sys/resource.h>

static void test_churn(void **state)
{
    (void)state;
    enum { CLIENTS = 8, REQUESTS = 200 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = CLIENTS, .close_each = true});
    struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
    fetch_many(many, CLIENTS, REQUESTS, &request);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), REQUESTS);
    assert_int_equal(many->stats.connections_opened, REQUESTS);
    assert_int_equal(many->stats.connect.total, REQUESTS);
    assert_int_equal(many->stats.connections_closed_by_peer, 0);
    assert_int_equal(many->stats.exchanges_per_connection.total, REQUESTS);
    assert_int_equal(many->stats.exchanges_per_connection.max, 1);
    struct http_address address;
    assert_true(http_engine_address(many->engine, 0, &address));
    assert_int_equal(address.opened, REQUESTS);
    assert_int_equal(address.failed, 0);
    assert_false(http_engine_address(many->engine, 1, &address));
    fetcher_free(many);
    httpserver_stop(server);
}

static void test_exchanges_per_connection(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .exchanges_per_connection = 7});
    struct http_request request = request_of(origin_of(one, server), "GET", "/plain");
    fetch_many(one, 1, 24, &request);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), 4);
    assert_int_equal(one->stats.exchanges_per_connection.total, 3);
    assert_int_equal(one->stats.exchanges_per_connection.min, 7);
    struct http_stats other;
    http_stats_init(&other);
    http_count_into(one->engine, &other); /* the one that is open has had 3 so far */
    assert_int_equal(one->stats.exchanges_per_connection.total, 4);
    assert_int_equal(one->stats.exchanges_per_connection.min, 3);
    fetcher_free(one);
    http_stats_release(&other);
    httpserver_stop(server);
}

static void test_idle_timeout(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .idle_timeout_ns = 20 * PL_NS_PER_MS});
    int origin = origin_of(one, server);
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    fetch_idle(one, 60 * PL_NS_PER_MS);
    assert_int_equal(one->stats.exchanges_per_connection.total, 1);
    assert_true(fetch(one, 0, origin, "GET", "/plain")->is_new_connection);
    assert_int_equal(one->stats.connections_closed_by_peer, 0);
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_unix_socket(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/plimsoll-http-%d.sock", (int)getpid());
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.unix_path = path});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 300, .unix_socket = path});
    struct http_request request = request_of(http_origin(many->engine, false, slice("any.test"), 0), "GET", "/plain");
    fetch_many(many, 300, 900, &request); /* more than its accept queue may hold */
    for (int i = 0; i < 300; i++)
        assert_answered(&many->got[i], 200);
    assert_int_equal(httpserver_by_host(server, "any.test"), 900);
    assert_string_equal(many->got[0].ip, "");
    assert_int_equal(many->stats.connections_failed, 0);
    fetcher_free(many);
    httpserver_stop(server);
    struct fetcher *none = fetcher_new(&(struct http_spec){.clients = 1, .unix_socket = path});
    assert_failed(fetch(none, 0, http_origin(none->engine, false, slice("any.test"), 0), "GET", "/"), "connect:ENOENT");
    fetcher_free(none);
}

static void test_ipv6(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.host = "::1"});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
    int origin = http_origin(one->engine, false, slice("[::1]"), httpserver_port(server));
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    assert_string_equal(one->got[0].ip, "::1");
    char host[32];
    snprintf(host, sizeof host, "[::1]:%u", httpserver_port(server));
    assert_int_equal(httpserver_by_host(server, host), 1);
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_sources(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){
        .clients = 1, .close_each = true, .sources = (const char *const[]){"127.0.0.2", "127.0.0.3", NULL}});
    struct http_request request = request_of(origin_of(one, server), "GET", "/plain");
    fetch_many(one, 1, 4, &request);
    assert_answered(&one->got[0], 200);
    fetcher_free(one);
    /* one that is not ours */
    one = fetcher_new(&(struct http_spec){.clients = 1, .sources = (const char *const[]){"192.0.2.1", NULL}});
    assert_failed(fetch(one, 0, origin_of(one, server), "GET", "/plain"), "connect:PORTS");
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_descriptors(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
    int origin = origin_of(one, server);
    struct rlimit limit, low;
    getrlimit(RLIMIT_NOFILE, &limit);
    low = limit;
    low.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &low);
    const struct fetched *got = fetch(one, 0, origin, "GET", "/plain");
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_failed(got, "wait:DESCRIPTORS");
    assert_answered(fetch(one, 0, origin, "GET", "/plain"), 200);
    fetcher_free(one);
    httpserver_stop(server);
}

static void test_accepted_and_gone(void **state)
{
    (void)state;
    static const enum httpserver_mode modes[] = {HTTPSERVER_CLOSES, HTTPSERVER_RESETS};
    for (int i = 0; i < 2; i++) {
        struct httpserver *server = httpserver_start(&(struct httpserver_spec){.mode = modes[i]});
        struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 10});
        struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
        fetch_many(many, 10, 100, &request);
        for (int c = 0; c < 10; c++) {
            assert_int_equal(many->got[c].outcome, HTTP_FAILED);
            assert_true(many->got[c].phase >= HTTP_CONNECT && many->got[c].phase <= HTTP_HEAD);
        }
        assert_int_equal(many->stats.answers, 0);
        assert_int_equal(many->stats.retries, 0); /* none of them was used before */
        fetcher_free(many);
        httpserver_stop(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_churn),        cmocka_unit_test(test_exchanges_per_connection),
        cmocka_unit_test(test_idle_timeout), cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_ipv6),         cmocka_unit_test(test_sources),
        cmocka_unit_test(test_descriptors),  cmocka_unit_test(test_accepted_and_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
