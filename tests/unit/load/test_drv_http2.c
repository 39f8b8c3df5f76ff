/* The driver of HTTP over HTTP/2: what is judged and captured is the same as over HTTP/1.1. */
#include "drv_http_test.h"

#include "../http/h2server.h"

static const char hurl[] = "POST /status/201\nX-Mixed-Case: yes\n```\nany body\n```\n"
                           "HTTP/2 201\nserver: h2server\n[Captures]\nname: header \"Server\"\ncode: status\n"
                           "POST /echo\nX-Name: {{name}}\n`{{name}}-{{code}}`\n"
                           "HTTP 200\n[Captures]\nback: body\n[Asserts]\nbytes count == 12\nversion == \"2\"\n"
                           "GET /status/{{code}}\nHTTP 201\n"
                           "HEAD /big/700\nHTTP 200\n[Asserts]\nheader \"Content-Length\" == \"700\"\nbytes count == 0\n"
                           "GET /plain\nHTTP 204\n";

static void test_captures(void **state)
{
    (void)state;
    struct h2server *server = h2server_start(100, NULL, NULL);
    char base[64];
    snprintf(base, sizeof base, "http://127.0.0.1:%u", server->port);
    struct rig rig;
    rig_init(&rig);
    rig.http = (struct load_http){.base_url = base, .engine = {.http2 = true}};
    rig_open(&rig, hurl, 0);
    for (int round = 0; round < 3; round++)
        for (uint32_t client = 0; client < RIG_CLIENTS; client++) {
            for (int i = 0; i < 4; i++)
                if (rig_do(&rig, client, i) != DRIVER_OK)
                    fail_msg("request %d: %s: %s", i, rig.done.code, rig.text);
            assert_string_equal(rig_var(&rig, client, "name")->text, "h2server");
            assert_int_equal(rig_var(&rig, client, "code")->i, 201);
            assert_string_equal(rig_var(&rig, client, "back")->text, "hhhhhhhhhhhh");
            assert_int_equal(rig_do(&rig, client, 4), DRIVER_ERROR);
            assert_fault(&rig, DRIVER_ERROR, "check:STATUS", "200");
        }
    assert_int_equal(server->requests, 5 * 3 * RIG_CLIENTS);
    assert_int_equal(server->conn_count, 1);
    rig_close(&rig);
    h2server_stop(server);
}

/* Clients at a time on one connection, each with its own variables. */
static void test_at_a_time(void **state)
{
    (void)state;
    struct h2server *server = h2server_start(2, NULL, NULL);
    char base[64];
    snprintf(base, sizeof base, "http://127.0.0.1:%u", server->port);
    struct rig rig;
    rig_init(&rig);
    rig.http = (struct load_http){.base_url = base, .engine = {.http2 = true, .connections = 1}};
    names_predefine(rig.names, "fill");
    rig_open(&rig, "POST /echo\n`{{fill}}`\nHTTP 200\n[Captures]\nback: body\n", 0);
    static const char fills[RIG_CLIENTS][8] = {"a", "bb", "ccc", "dddd"};
    for (int round = 0; round < 20; round++) {
        for (uint32_t c = 0; c < RIG_CLIENTS; c++) {
            *rig_var(&rig, c, "fill") =
                (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(fills[c]), .text = fills[c]};
            rig_submit(&rig, c, 0);
        }
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            assert_int_equal(rig_wait(&rig), DRIVER_OK);
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            assert_int_equal(strlen(rig_var(&rig, c, "back")->text), strlen(fills[c]));
    }
    assert_int_equal(server->answers, 20 * RIG_CLIENTS);
    rig_close(&rig);
    h2server_stop(server);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_captures), cmocka_unit_test(test_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
