/* Origins, and where they lead. */
#include "fetch.h"

#include "http/http_int.h"

static void test_origins(void **state)
{
    (void)state;
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1});
    struct http_engine *engine = one->engine;
    int first = http_origin(engine, false, slice("127.0.0.1"), 0);
    assert_int_equal(first, 0);
    assert_int_equal(http_origin(engine, false, slice("127.0.0.1"), 80), first);
    assert_int_equal(http_origin(engine, true, slice("127.0.0.1"), 0), 1);
    assert_int_equal(http_origin(engine, true, slice("127.0.0.1"), 443), 1);
    assert_int_equal(http_origin(engine, true, slice("127.0.0.1"), 80), 2);
    assert_int_equal(http_origin(engine, false, slice("localhost"), 80), 3);
    assert_int_equal(http_origin(engine, false, slice("LOCALHOST"), 80), 3);
    assert_int_equal(http_origin(engine, false, slice("[::1]"), 80), 4);
    assert_int_equal(http_origin(engine, false, slice("::1"), 80), 4);
    int zone = http_origin(engine, false, slice("[fe80::1%lo]"), 81);
    assert_int_equal(http_origin(engine, false, slice("fe80::1%lo"), 81), zone);
    assert_string_equal(engine->origins[zone].authority, "[fe80::1]:81"); /* the zone is no part of Host */
    assert_string_equal(engine->origins[4].authority, "[::1]");
    assert_true(http_is_ip("::1") && http_is_ip("127.0.0.1") && !http_is_ip("127.0.0.1.") && !http_is_ip("localhost"));
    char longest[257];
    memset(longest, 'a', 256);
    longest[256] = '\0';
    static const char *const wrong[] = {"", "a b", "a/b", "a@b", "a\nb", "[]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(http_origin(engine, false, slice(wrong[i]), 80), -1);
    assert_int_equal(http_origin(engine, false, slice(longest), 80), -1);
    fetcher_free(one);
}

/* As many tenants as there may be, all at one address, found again. */
static void test_many(void **state)
{
    (void)state;
    enum { MOST = 65536 };
    struct fetcher *one =
        fetcher_new(&(struct http_spec){.clients = 1, .connect_to = (const char *const[]){"::127.0.0.1:9", NULL}});
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MOST; i++) {
            char host[32];
            snprintf(host, sizeof host, "t%d.test", i);
            assert_int_equal(http_origin(one->engine, false, slice(host), 80), i);
        }
    assert_int_equal(http_origin(one->engine, false, slice("one-more.test"), 80), -1);
    struct http_address address;
    assert_true(http_engine_address(one->engine, 0, &address));
    assert_string_equal(address.text, "127.0.0.1:9");
    assert_false(http_engine_address(one->engine, 1, &address));
    fetcher_free(one);
}

static void test_connect_to(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    char exact[64], port_only[64];
    snprintf(exact, sizeof exact, "Exact.test:81:127.0.0.1:%u", httpserver_port(server));
    snprintf(port_only, sizeof port_only, ":82::%u", httpserver_port(server));
    struct fetcher *one =
        fetcher_new(&(struct http_spec){.clients = 1, .connect_to = (const char *const[]){exact, port_only, NULL}});
    assert_answered(fetch(one, 0, http_origin(one->engine, false, slice("exact.test"), 81), "GET", "/plain"), 200);
    assert_int_equal(httpserver_by_host(server, "exact.test:81"), 1);
    assert_answered(fetch(one, 0, http_origin(one->engine, false, slice("127.0.0.1"), 82), "GET", "/plain"), 200);
    assert_failed(fetch(one, 0, http_origin(one->engine, false, slice("exact.test"), 83), "GET", "/"), "resolve:NOT_FOUND");
    fetcher_free(one);
    httpserver_stop(server);
}

/* A name with two addresses, of which one answers: after a refusal comes the other, and then it is known. */
static void test_next_address(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .close_each = true});
    struct http_request request =
        request_of(http_origin(one->engine, false, slice("localhost"), httpserver_port(server)), "GET", "/plain");
    fetch_many(one, 1, 10, &request);
    assert_answered(&one->got[0], 200);
    assert_int_equal(one->stats.connections_opened, 10);
    assert_in_range(one->stats.connections_failed, 0, 1);
    int64_t opened = 0, failed = 0;
    struct http_address address;
    for (size_t i = 0; http_engine_address(one->engine, i, &address); i++) {
        opened += address.opened;
        failed += address.failed;
    }
    assert_int_equal(opened, 10);
    assert_int_equal(failed, one->stats.connections_failed);
    fetcher_free(one);
    httpserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_connect_to),
        cmocka_unit_test(test_next_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
