/* Who gets which connection. */
#include "fetch.h"

static void test_budget_fifo(void **state)
{
    (void)state;
    enum { CLIENTS = 40 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = CLIENTS, .connections = 1});
    struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
    for (int i = CLIENTS - 1; i >= 0; i--)
        http_submit(many->engine, (uint32_t)i, &request);
    fetch_wait(many, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        assert_answered(&many->got[i], 200);
        assert_int_equal(many->got[i].place, CLIENTS - 1 - i); /* first come, first served */
    }
    assert_int_equal(many->stats.blocked, CLIENTS - 1);
    assert_int_equal(many->stats.blocked_wait.total, CLIENTS - 1);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), 1);
    fetcher_free(many);
    httpserver_stop(server);
}

/* Nobody overtakes: a client that asks again goes behind those that wait. */
static void test_fair(void **state)
{
    (void)state;
    enum { CLIENTS = 10, REQUESTS = 200 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = CLIENTS, .connections = 2});
    struct http_request request = request_of(origin_of(many, server), "GET", "/plain");
    fetch_many(many, CLIENTS, REQUESTS, &request);
    for (int i = 0; i < CLIENTS; i++)
        assert_in_range(many->got[i].count, REQUESTS / CLIENTS - 2, REQUESTS / CLIENTS + 2);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_OPEN_MOST), 2);
    fetcher_free(many);
    httpserver_stop(server);
}

static void test_eviction(void **state)
{
    (void)state;
    enum { ORIGINS = 5 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    char route[64];
    snprintf(route, sizeof route, "::127.0.0.1:%u", httpserver_port(server));
    struct fetcher *one =
        fetcher_new(&(struct http_spec){.clients = 1, .connections = 2, .connect_to = (const char *const[]){route, NULL}});
    int origins[ORIGINS];
    for (int i = 0; i < ORIGINS; i++) {
        char host[32];
        snprintf(host, sizeof host, "tenant-%d.test", i);
        origins[i] = http_origin(one->engine, false, slice(host), 80);
        assert_int_equal(origins[i], i);
    }
    assert_answered(fetch(one, 0, origins[0], "GET", "/plain"), 200);
    assert_answered(fetch(one, 0, origins[1], "GET", "/plain"), 200);
    assert_int_equal(one->stats.connections_evicted, 0);
    assert_false(fetch(one, 0, origins[0], "GET", "/plain")->is_new_connection);
    assert_true(fetch(one, 0, origins[2], "GET", "/plain")->is_new_connection); /* takes 1's, which was used before 0's */
    assert_int_equal(one->stats.connections_evicted, 1);
    assert_false(fetch(one, 0, origins[0], "GET", "/plain")->is_new_connection);
    assert_true(fetch(one, 0, origins[1], "GET", "/plain")->is_new_connection);
    for (int i = 0; i < ORIGINS; i++)
        assert_answered(fetch(one, 0, origins[i], "GET", "/plain"), 200);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_OPEN_MOST), 2);
    assert_int_equal(httpserver_by_host(server, "tenant-4.test"), 1);
    assert_int_equal(httpserver_by_host(server, "tenant-0.test"), 4);
    fetcher_free(one);
    httpserver_stop(server);
}

/* A client goes back to its own connection, and after forgetting takes the one that was used last. */
static void test_own(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *two = fetcher_new(&(struct http_spec){.clients = 2});
    int origin = origin_of(two, server);
    struct http_request request = request_of(origin, "GET", "/plain");
    http_submit(two->engine, 0, &request);
    http_submit(two->engine, 1, &request);
    fetch_wait(two, 2);
    for (int i = 0; i < 6; i++)
        fetch(two, i % 3 != 0, origin, "GET", "/plain");
    size_t count;
    const struct httpserver_arrival *log = httpserver_log(server, &count);
    assert_int_equal(count, 8);
    int own[2] = {log[2].connection, log[3].connection};
    assert_int_not_equal(own[0], own[1]);
    for (int i = 0; i < 6; i++)
        assert_int_equal(log[2 + i].connection, own[i % 3 != 0]);
    assert_int_equal(two->stats.connections_opened, 2);
    fetcher_free(two);
    httpserver_stop(server);
}

/* A client without a connection opens one beside the idle one of another, as long as the budget has room. */
static void test_no_borrowing(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *three = fetcher_new(&(struct http_spec){.clients = 3, .connections = 2});
    int origin = origin_of(three, server);
    for (int i = 0; i < 6; i++) {
        fetch(three, i % 3, origin, "GET", "/plain");
        assert_int_equal(three->stats.connections_opened, i == 0 ? 1 : 2);
    }
    fetcher_free(three);
    httpserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget_fifo),
        cmocka_unit_test(test_fair),
        cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_no_borrowing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
