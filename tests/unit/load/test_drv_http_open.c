/* What the driver of HTTP does before the load: options of all connections, base URLs, tenants, and what it refuses. */
#include "drv_http_test.h"

#include <math.h>

#include "httpserver.h"
#include "load/drv_http_int.h"
#include "script/feed.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void assert_refused(const char *hurl, const struct load_http *http, const char *what)
{
    struct rig rig;
    rig_init(&rig);
    if (http != NULL)
        rig.http = *http;
    rig_script(&rig, hurl, 1);
    assert_int_equal(rig_try_open(&rig), PL_INPUT);
    char text[3000];
    pl_err_text(&rig.err, text, sizeof text);
    if (strstr(text, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, what);
    rig_close(&rig);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const char *const no_colon[] = {"X-Good: 1", "X-Bad 2", NULL}, *const breaks[] = {"X: a\r\nY: b", NULL};
    const char *plain = "GET http://127.0.0.1:$/\n";
    assert_refused("GET /a\n", NULL, "base URL");
    assert_refused(plain, &(struct load_http){.base_url = "localhost:8080"}, "base URL");
    assert_refused(plain, &(struct load_http){.base_url = "http://a/?b=c"}, "query");
    assert_refused(plain, &(struct load_http){.headers = no_colon}, "header 2");
    assert_refused(plain, &(struct load_http){.headers = breaks}, "header 1");
    assert_refused("GET http://127.0.0.1:$/\n[Options]\ninsecure: true\nGET http://127.0.0.1:$/\n", NULL, "insecure");
    assert_refused("GET http://127.0.0.1:$/\n[Options]\nhttp1.1: true\nGET http://127.0.0.1:$/\n[Options]\nhttp2: true\n",
                   NULL, "http2");
    assert_refused("GET http://127.0.0.1:$/\n[Options]\nhttp1.1: true\n", &(struct load_http){.engine = {.http2 = true}},
                   "http1.1");
    assert_refused("GET http://127.0.0.1:$/\n[Options]\nunix-socket: /x\nGET http://127.0.0.1:$/\n", NULL, "unix-socket");
    assert_refused("GET http://127.0.0.1:$/\n[Options]\nconnect-timeout: 1s\nGET http://127.0.0.1:$/\n[Options]\n"
                   "connect-timeout: 2s\n",
                   NULL, "connect-timeout");
}

/* What those that say something agree on holds for all; test_drv_http.c has what `insecure` does. */
static void test_what_is_settled(void **state)
{
    (void)state;
    static const struct {
        const char *hurl;
        bool is_http2;
    } cases[] = {
        {"GET http://127.0.0.1:$/\n[Options]\ninsecure: true\nGET http://127.0.0.1:$/\n[Options]\ninsecure: true\n", false},
        {"GET http://127.0.0.1:$/\n[Options]\nhttp1.1: true\nGET http://127.0.0.1:$/\n", false},
        {"GET http://127.0.0.1:$/\nGET http://127.0.0.1:$/\n[Options]\nhttp2: true\n", true},
        {"GET http://127.0.0.1:$/\n[Options]\nconnect-timeout: 1s\nGET http://127.0.0.1:$/\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        rig_init(&rig);
        rig_open(&rig, cases[i].hurl, 1);
        assert_int_equal(driver_http_of(rig.driver)->is_http2, cases[i].is_http2);
        rig_close(&rig);
    }
}

/* ---- tenants ---- */

static void rig_tenants(struct rig *rig, const char *csv)
{
    struct feed *feed;
    if (feed_parse("tenants.csv", csv, strlen(csv), FEED_RANDOM, rig->names, rig->arena, &feed, &rig->err) != PL_OK)
        fail_msg("%s", rig->err.what);
    rig->spec.tenants = feed;
}

static void test_tenants(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/one/a", OK_ANSWER}, {"/a", OK_ANSWER}, {"/b", OK_ANSWER}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    char csv[1024], base[64];
    snprintf(csv, sizeof csv,
             "url,host,user,header.X-Tenant,name\n"
             "http://127.0.0.1:%d/one,,,1,first\n"
             ",two.example,,2,second\n"
             "http://127.0.0.1:%d,three.example:81,me:pass,,third\n",
             tap->port, tap->port);
    snprintf(base, sizeof base, "http://u:p@127.0.0.1:%d", tap->port);
    static const char *const headers[] = {"X-Tenant: none", NULL};
    struct rig rig;
    rig_init(&rig);
    rig.http = (struct load_http){.base_url = base, .headers = headers};
    rig_tenants(&rig, csv);
    rig_open(&rig, "GET /a\nGET http://127.0.0.1:$/b\nGET /{{name}}\nHost: own\n", tap->port);
    char host[64];
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", tap->port);
    const struct {
        const char *line, *host, *authorization, *header;
    } expected[] = {
        {"GET /one/a ", host, NULL, "X-Tenant: 1\r\n"},
        {"GET /a ", "Host: two.example\r\n", "Authorization: Basic dTpw\r\n", "X-Tenant: 2\r\n"},
        {"GET /a ", "Host: three.example:81\r\n", "Authorization: Basic bWU6cGFzcw==\r\n", "X-Tenant: none\r\n"},
    };
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t tenant = round % 3;
        rig.tenant_of[1] = tenant;
        assert_int_equal(rig_do(&rig, 1, 0), DRIVER_OK);
        const char *sent = tap_take(tap);
        assert_ptr_equal(strstr(sent, expected[tenant].line), sent);
        assert_non_null(strstr(sent, expected[tenant].host));
        assert_non_null(strstr(sent, expected[tenant].header));
        if (expected[tenant].authorization == NULL)
            assert_null(strstr(sent, "Authorization"));
        else
            assert_non_null(strstr(sent, expected[tenant].authorization));
        assert_int_equal(rig_do(&rig, 1, 1), DRIVER_OK); /* an absolute URL leads there, whoever the tenant is */
        sent = tap_take(tap);
        assert_ptr_equal(strstr(sent, "GET /b "), sent);
        assert_non_null(strstr(sent, expected[tenant].host));
        feed_set(rig.spec.tenants, tenant, rig_vars(&rig, 1));
        rig_do(&rig, 1, 2);
        sent = tap_take(tap);
        static const char *const lines[] = {"GET /one/first ", "GET /second ", "GET /third "};
        assert_ptr_equal(strstr(sent, lines[tenant]), sent);
        assert_non_null(strstr(sent, "Host: own\r\n")); /* the script's own word counts more */
        assert_non_null(strstr(sent, expected[tenant].header));
    }
    rig_close(&rig);
    tap_stop(tap);
}

/* No tenant sees the cookies of another one, and none of those that share a host. */
static void test_cookies_of_tenants(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/a", "HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n"},
                                                {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_tenants(&rig, "header.X\n1\n2\n");
    rig_open(&rig, "GET http://127.0.0.1:$/a\n", tap->port);
    static const struct {
        uint32_t tenant;
        bool has_cookie;
    } cases[] = {{0, false}, {0, true}, {1, false}, {1, true}, {0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig.tenant_of[0] = cases[i].tenant;
        assert_int_equal(rig_do(&rig, 0, 0), DRIVER_OK);
        assert_int_equal(strstr(tap_take(tap), "Cookie: s=1\r\n") != NULL, cases[i].has_cookie);
    }
    rig_close(&rig);
    tap_stop(tap);
}

static void test_wrong_tenants(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"url\nhttp://a\nhttp://a b\n", "tenants.csv: tenant 2, url: a blank or control character"},
        {"url\nhttp://a?b\n", "tenant 1, url: a query"},
        {"host\na\n\"b\nc\"\n", "tenant 2, host: a blank or control character"},
        {"header.X,host\n\"a\nb\",c\n", "tenant 1, header.X"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        rig_init(&rig);
        rig_tenants(&rig, cases[i][0]);
        rig_script(&rig, "GET http://127.0.0.1:$/\n", 1);
        assert_int_equal(rig_try_open(&rig), PL_INPUT);
        if (strstr(rig.err.what, cases[i][1]) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", rig.err.what, cases[i][1]);
        rig_close(&rig);
    }
}

/* ---- whole loads ---- */

/* 10,000 tenants, the n-th of weight n: the server has seen each host as often as the load says that the tenant had
 * operations, and three quarters of them are of the second half (within five standard deviations). */
static void test_ten_thousand_tenants(void **state)
{
    (void)state;
    enum { TENANTS = 10000, OPERATIONS = 30000 };
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct rig rig;
    rig_init(&rig);
    const struct feed_pattern columns[] = {{"host", "t{n}.example"}, {"header.X-Tenant", "{n:05}"}, {"weight", "{n}"}};
    struct feed *feed;
    assert_int_equal(feed_from_pattern("tenants", columns, 3, TENANTS, rig.names, rig.arena, &feed, &rig.err), PL_OK);
    rig_script(&rig, "GET http://127.0.0.1:$/plain\nHTTP 200\nGET http://127.0.0.1:$/plain?{{host}}\nHTTP 200\n",
               httpserver_port(server));
    struct load_spec spec = {.driver = LOAD_HTTP,
                             .http = &rig.http,
                             .tenants = feed,
                             .scripts = &rig.script,
                             .script_count = 1,
                             .clients = 32,
                             .workers = 2,
                             .operations = OPERATIONS,
                             .drain_ns = 10 * SEC,
                             .seed = 3};
    struct load *load;
    struct load_run run = {0};
    memory_sink_init(&run.memory);
    assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
    load_run_connected(load, pl_clock_ns(), 0, &run);
    if (run.code != PL_OK)
        fail_msg("%s", run.err.what);
    assert_int_equal(run.result.measured.completed, OPERATIONS);
    assert_int_equal(run.result.measured.failed, 0);
    assert_int_equal(run.result.http->measured.answers, 2 * OPERATIONS);
    assert_int_equal(httpserver_requests(server, NULL), 2 * OPERATIONS);
    int64_t sum = 0, second_half = 0;
    for (int t = 0; t < TENANTS; t++) {
        char host[32];
        snprintf(host, sizeof host, "t%d.example", t + 1);
        int64_t seen = httpserver_by_host(server, host);
        assert_int_equal(seen, 2 * run.result.tenants[t].completed);
        sum += seen;
        second_half += t < TENANTS / 2 ? 0 : run.result.tenants[t].completed;
    }
    assert_int_equal(sum, 2 * OPERATIONS);
    assert_close((double)second_half / OPERATIONS, 0.75, 0, 5 * sqrt(0.75 * 0.25 / OPERATIONS));
    load_free(load);
    load_run_release(&run);
    pl_arena_free(rig.arena);
    httpserver_stop(server);
}

/* Counts are the server's own, whatever it does; and a failed operation is no lost client. */
static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool fails;
    } cases[] = {{"/plain", false},      {"/chunked", false},     {"/bytewise", false},
                 {"/interim", false},    {"/204", false},         {"/304", false},
                 {"/eof", false},        {"/eof10", false},       {"/close", false},
                 {"/idle-close", false}, {"/length/5000", false}, {"/gzip", false},
                 {"/redirect/3", false}, {"/drop-reused", false}, {"/malformed/status", true}};
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        rig_init(&rig);
        rig.http.follows = true;
        char hurl[200];
        snprintf(hurl, sizeof hurl, "GET http://127.0.0.1:$%s\nHEAD http://127.0.0.1:$%s\n", cases[i].path,
                 cases[i].fails ? "/plain" : cases[i].path);
        rig_script(&rig, hurl, httpserver_port(server));
        enum { CLIENTS = 8, EACH = 25 };
        struct load_spec spec = {.driver = LOAD_HTTP,
                                 .http = &rig.http,
                                 .scripts = &rig.script,
                                 .script_count = 1,
                                 .clients = CLIENTS,
                                 .workers = 2,
                                 .operations_per_client = EACH,
                                 .drain_ns = 10 * SEC};
        int64_t requests = httpserver_requests(server, NULL), good = httpserver_answers(server, NULL);
        struct load *load;
        struct load_run run = {0};
        memory_sink_init(&run.memory);
        assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
        load_run_connected(load, pl_clock_ns(), 0, &run);
        assert_int_equal(run.code, PL_OK);
        load_run_check(&run);
        int64_t failed = cases[i].fails ? CLIENTS * EACH : 0;
        if (run.result.measured.completed != CLIENTS * EACH - failed || run.result.measured.failed != failed)
            fail_msg("%s: %ld completed, %ld failed, %s", cases[i].path, (long)run.result.measured.completed,
                     (long)run.result.measured.failed,
                     run.memory.fault_count > 0 ? run.memory.faults[0].code : "without a fault");
        const struct http_stats *stats = &run.result.http->measured;
        /* what is sent into a connection that the server has closed, it never sees: it is sent once more, and counted so */
        int64_t unseen = strcmp(cases[i].path, "/idle-close") == 0 ? stats->retries : 0;
        assert_int_equal(stats->requests - unseen, httpserver_requests(server, NULL) - requests);
        assert_int_equal(stats->answers, httpserver_answers(server, NULL) - good);
        assert_int_equal((int64_t)stats->exchanges_per_connection.sum, stats->answers);
        assert_int_equal(run.result.clients_lost, 0);
        load_free(load);
        load_run_release(&run);
        pl_arena_free(rig.arena);
    }
    httpserver_stop(server);
}

/* The connections of a load are as few as was said, however many workers share them. */
static void test_few_connections(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    for (int connections = 1; connections <= 5; connections += 2) {
        struct rig rig;
        rig_init(&rig);
        rig.http.engine.connections = connections;
        rig_script(&rig, "GET http://127.0.0.1:$/delay/1/plain\n", httpserver_port(server));
        struct load_spec spec = {.driver = LOAD_HTTP,
                                 .http = &rig.http,
                                 .scripts = &rig.script,
                                 .script_count = 1,
                                 .clients = 8,
                                 .workers = 4,
                                 .operations_per_client = 10,
                                 .drain_ns = 10 * SEC};
        struct load *load;
        struct load_run run = {0};
        memory_sink_init(&run.memory);
        assert_int_equal(load_new(&spec, &load, &run.err), PL_OK);
        assert_int_equal(load_connect(load, NULL, &run.err), PL_OK);
        load_run_connected(load, pl_clock_ns(), 0, &run);
        load_run_check(&run);
        assert_int_equal(run.result.measured.completed, 80);
        assert_in_range(httpserver_counter(server, HTTPSERVER_OPEN_MOST), 1, connections);
        load_free(load);
        load_run_release(&run);
        pl_arena_free(rig.arena);
    }
    httpserver_stop(server);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_what_is_settled),
        cmocka_unit_test(test_tenants),         cmocka_unit_test(test_cookies_of_tenants),
        cmocka_unit_test(test_wrong_tenants),   cmocka_unit_test(test_ten_thousand_tenants),
        cmocka_unit_test(test_counts),          cmocka_unit_test(test_few_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
