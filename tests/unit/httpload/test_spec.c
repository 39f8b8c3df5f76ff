/* Options as the engine's spec, and what the load will need. */
#include "made.h"

#include <math.h>

#include "httpload/run_int.h"

static void test_closed_loop(void **state)
{
    struct made *made = *state;
    struct load_spec spec = httpload_spec(&made->options, 0, made->arena);
    assert_int_equal(spec.driver, LOAD_HTTP);
    assert_false(spec.open_loop);
    assert_int_equal(spec.clients, 10);
    assert_int_equal(spec.measure_ns, 10 * SECOND);
    assert_int_equal(spec.drain_ns, 30 * SECOND);
    assert_int_equal(spec.seed, 1234);
    assert_int_equal(spec.http->max_time_ns, 30 * SECOND);
    assert_null(spec.http->headers);
    assert_null(spec.http->engine.sources);
    assert_false(spec.log_operations);
    made->options.operations = 500;
    made->options.duration_ns = 0;
    made->options.log_path = "x";
    spec = httpload_spec(&made->options, 0, made->arena);
    assert_int_equal(spec.operations, 500);
    assert_int_equal(spec.operations_per_client, 0);
    assert_true(spec.log_operations);
}

static void test_open_loop(void **state)
{
    struct made *made = *state;
    made->options.constant = true;
    made->options.session_operations = 3;
    made->options.session_geometric = true;
    made->options.think_ns = MS;
    struct load_spec spec = httpload_spec(&made->options, 12.5, made->arena);
    assert_true(spec.open_loop);
    assert_close(spec.rate_per_s, 12.5, 0, 0);
    assert_int_equal(spec.arrivals, PLAN_CONSTANT);
    assert_close(spec.session_operations, 3, 0, 0);
    assert_true(spec.session_geometric);
    assert_int_equal(spec.think_ns, MS);
    made->options.constant = false;
    made->options.operations = 500;
    spec = httpload_spec(&made->options, 12.5, made->arena);
    assert_int_equal(spec.arrivals, PLAN_POISSON);
    assert_int_equal(spec.operations, 0);
    assert_int_equal(spec.operations_per_client, 50);
    made->options.find_text = "p99<1s";
    made->options.step_ns = 4 * SECOND;
    assert_int_equal(httpload_spec(&made->options, 1, made->arena).measure_ns, 4 * SECOND);
}

static void test_http(void **state)
{
    struct made *made = *state;
    static const char *headers[] = {"A: 1", NULL}, *sources[] = {"127.0.0.2", NULL};
    made->options.headers = (struct httpload_texts){headers, 1, 1};
    made->options.sources = (struct httpload_texts){sources, 1, 1};
    made->options.user = "a:b";
    made->options.http2 = made->options.follow = made->options.compressed = made->options.no_cookies = true;
    made->options.streams = 5;
    made->options.no_keepalive = made->options.http1_0 = made->options.insecure = true;
    made->options.connections_total = 7;
    made->options.base_url = "http://h";
    made->options.unix_socket = "/s";
    made->options.cacert = "ca";
    made->options.cert = made->options.key = "pem";
    const struct load_http *http = httpload_spec(&made->options, 0, made->arena).http;
    assert_string_equal(http->headers[0], "A: 1");
    assert_string_equal(http->engine.sources[0], "127.0.0.2");
    assert_string_equal(http->credentials, "a:b");
    assert_true(http->engine.http2 && http->follows && http->compressed && http->no_cookies);
    assert_true(http->engine.close_each && http->engine.http1_0 && http->engine.insecure);
    assert_int_equal(http->engine.streams, 5);
    assert_int_equal(http->engine.connections, 7);
    assert_string_equal(http->base_url, "http://h");
    assert_string_equal(http->engine.unix_socket, "/s");
    assert_string_equal(http->engine.ca_file, "ca");
    assert_string_equal(http->engine.key_file, "pem");
}

static void test_variables(void **state)
{
    struct made *made = *state;
    const struct program_constant constants[] = {{"n", {.type = VALUE_INT, .i = 5}}};
    made->options.givens = (struct program_givens){.constants = constants, .constant_count = 1};
    struct load_spec spec = httpload_spec(&made->options, 0, made->arena);
    assert_int_equal(spec.variable_count, 1);
    assert_string_equal(spec.variables[0].name, "n");
    assert_int_equal(spec.variables[0].value.i, 5);
}

static void test_need(void **state)
{
    struct made *made = *state;
    made->options.warm_up_ns = SECOND;
    struct http_need need = httpload_need(&made->options);
    assert_int_equal(need.connections, 10);
    assert_int_equal(need.destinations, 1);
    assert_int_equal(need.sources, 1);
    assert_close(need.new_connections_per_s, 0, 0, 0);
    assert_close(need.duration_s, 11, 0, 0);
    made->options.http2 = true;
    assert_int_equal(httpload_need(&made->options).connections, 1);
    made->options.streams = 3;
    assert_int_equal(httpload_need(&made->options).connections, 4);
    made->options.connections_total = 77;
    assert_int_equal(httpload_need(&made->options).connections, 77);
    made->options.no_keepalive = true;
    made->options.rate_per_s = 500;
    assert_close(httpload_need(&made->options).new_connections_per_s, 500, 0, 0);
    made->options.unix_socket = "/s";
    assert_int_equal(httpload_need(&made->options).destinations, 0);
}

static void test_destinations(void **state)
{
    struct made *made = *state;
    static const char *const texts[] = {"GET http://a/x",
                                        "GET http://b:81/y",
                                        "POST http://a/z?q=http://c",
                                        "GET {{base}}/x",
                                        "GET http://{{host}}/x",
                                        "GET /path",
                                        NULL};
    made->options.scripts[0].program = made_program(made->arena, "many", texts);
    assert_int_equal(httpload_need(&made->options).destinations, 2);
    made->options.base_url = "https://d/";
    assert_int_equal(httpload_need(&made->options).destinations, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_closed_loop), MADE_TEST(test_open_loop), MADE_TEST(test_http),
        MADE_TEST(test_variables),   MADE_TEST(test_need),      MADE_TEST(test_destinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
