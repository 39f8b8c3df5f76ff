/* The driver of HTTP: the life of a step, over a server that gives literal answers and over one that misbehaves. */
#include "drv_http_test.h"

#include "httpserver.h"
#include "tlscert.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void test_answers_and_checks(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/good", "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"id\": \"seven\"}"},
        {"/bad", "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"},
        {"/any", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig,
             "GET http://127.0.0.1:$/good\nHTTP 200\n[Captures]\nid: jsonpath \"$.id\"\n[Asserts]\njsonpath \"$.id\" == "
             "\"seven\"\nduration < 100000\n"
             "GET http://127.0.0.1:$/bad\nHTTP 200\n"
             "GET http://127.0.0.1:$/any\n"
             "GET http://127.0.0.1:$/good\nHTTP 200\n[Captures]\nid: jsonpath \"$.none\"\n",
             tap->port);
    assert_int_equal(rig_do(&rig, 1, 0), DRIVER_OK);
    assert_string_equal(rig_var(&rig, 1, "id")->text, "seven");
    assert_int_equal(rig_var(&rig, 0, "id")->type, VALUE_UNSET);
    assert_int_equal(rig_do(&rig, 1, 1), DRIVER_ERROR);
    assert_fault(&rig, DRIVER_ERROR, "check:STATUS", "500");
    assert_false(rig.done.is_script_fault);
    assert_int_equal(rig_do(&rig, 1, 2), DRIVER_OK); /* without a response section any answer is good */
    rig_do(&rig, 1, 3);
    assert_fault(&rig, DRIVER_ERROR, "check:CAPTURE", "test.hurl");
    assert_string_equal(rig_var(&rig, 1, "id")->text, "seven");
    assert_int_equal(tap->requests, 4);
    assert_int_equal(tap->connections, 1);
    rig_close(&rig);
    tap_stop(tap);
}

static void test_what_was_captured_is_sent(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/token", "HTTP/1.1 200 OK\r\nX-Token: t-1\r\nContent-Length: 0\r\n\r\n"}, {"/use/t-1", OK_ANSWER}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig,
             "GET http://127.0.0.1:$/token\nHTTP 200\n[Captures]\ntoken: header \"X-Token\"\n"
             "POST http://127.0.0.1:$/use/{{token}}\nAuthorization: Bearer {{token}}\n```\nbody {{token}}\n```\nHTTP 200\n",
             tap->port);
    for (uint32_t c = 0; c < RIG_CLIENTS; c++) {
        rig_all(&rig, c);
        const char *sent = tap_take(tap);
        assert_non_null(strstr(sent, "POST /use/t-1 HTTP/1.1\r\n"));
        assert_non_null(strstr(sent, "\r\nAuthorization: Bearer t-1\r\n"));
        assert_non_null(strstr(sent, "\r\n\r\nbody t-1\n"));
    }
    rig_close(&rig);
    tap_stop(tap);
}

/* A request that cannot be rendered: the script's fault, nothing is sent, and the client can do the next one. */
static void test_what_cannot_be_rendered(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/good", OK_ANSWER}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    names_predefine(rig.names, "word");
    rig_open(&rig, "GET http://127.0.0.1:$/{{word}}\nGET {{word}}\nGET http://127.0.0.1:$/good\nX: {{word}}\n", tap->port);
    rig_do(&rig, 2, 0);
    assert_fault(&rig, DRIVER_ERROR, "SCRIPT", "test.hurl:1:");
    assert_true(rig.done.is_script_fault);
    assert_int_equal(rig.done.sent_ns, -1);
    *rig_var(&rig, 2, "word") = (struct value){.type = VALUE_TEXT, .length = 4, .text = "good"};
    assert_int_equal(rig_do(&rig, 2, 0), DRIVER_OK);
    rig_do(&rig, 2, 1);
    assert_fault(&rig, DRIVER_ERROR, "SCRIPT", "neither http:// nor https://");
    *rig_var(&rig, 2, "word") = (struct value){.type = VALUE_TEXT, .length = 5, .text = "/path"};
    rig_do(&rig, 2, 1);
    assert_fault(&rig, DRIVER_ERROR, "SCRIPT", "base URL");
    *rig_var(&rig, 2, "word") = (struct value){.type = VALUE_TEXT,
                                               .length = 3,
                                               .text = "a\x1b"
                                                       "b"};
    rig_do(&rig, 2, 2);
    assert_fault(&rig, DRIVER_ERROR, "SCRIPT", "control character");

    /* several at once: each has its own end and its own text */
    *rig_var(&rig, 0, "word") = (struct value){.type = VALUE_TEXT, .length = 7, .text = "http://"};
    *rig_var(&rig, 1, "word") = (struct value){.type = VALUE_TEXT, .length = 9, .text = "ftp://a/b"};
    rig_submit(&rig, 0, 1);
    rig_submit(&rig, 1, 1);
    rig_submit(&rig, 3, 1);
    struct driver_done done[8];
    bool seen[RIG_CLIENTS] = {false};
    for (int count = 0; count < 3;) {
        int some = rig.driver->ops->wait(rig.driver, INT64_MAX, done, 8);
        for (int i = 0; i < some; i++) {
            assert_int_equal(done[i].outcome, DRIVER_ERROR);
            assert_string_equal(done[i].code, "SCRIPT");
            assert_non_null(strstr(done[i].text, done[i].client == 0   ? "no host"
                                                 : done[i].client == 1 ? "neither"
                                                                       : "word"));
            assert_false(seen[done[i].client]);
            seen[done[i].client] = true;
        }
        count += some;
    }
    assert_int_equal(tap->requests, 1);
    rig_close(&rig);
    tap_stop(tap);
}

static void test_failures_never_lose_the_client(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/good", OK_ANSWER}, {"/closed", NULL}, {"/noise", "SSH-2.0-x\r\n"}, {"/silent", ""}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct httpserver *refuser = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_REFUSES});
    char refused[64];
    snprintf(refused, sizeof refused, "http://127.0.0.1:%d/", httpserver_port(refuser));
    struct rig rig;
    rig_init(&rig);
    names_predefine(rig.names, "refused");
    rig_open(&rig,
             "GET http://127.0.0.1:$/good\nPOST http://127.0.0.1:$/closed\nGET http://127.0.0.1:$/noise\n"
             "GET {{refused}}\nGET http://127.0.0.1:$/silent\n[Options]\nmax-time: 50ms\n",
             tap->port);
    *rig_var(&rig, 0, "refused") = (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(refused), .text = refused};
    for (int round = 0; round < 2; round++) {
        assert_int_equal(rig_do(&rig, 0, 0), DRIVER_OK);
        assert_int_equal(rig_do(&rig, 0, 1), DRIVER_ERROR);
        assert_string_equal(rig.done.code, "head:CLOSED");
        assert_int_equal(rig_do(&rig, 0, 2), DRIVER_ERROR);
        assert_string_equal(rig.done.code, "head:MALFORMED");
        assert_int_equal(rig_do(&rig, 0, 3), DRIVER_ERROR);
        assert_string_equal(rig.done.code, "connect:ECONNREFUSED");
        assert_int_equal(rig.done.sent_ns, -1);
        int64_t before_ns = pl_clock_ns();
        assert_int_equal(rig_do(&rig, 0, 4), DRIVER_EXPIRED);
        assert_string_equal(rig.done.code, "head:EXPIRED");
        assert_true(rig.done.done_ns - before_ns >= 50 * MS);
    }
    httpserver_stop(refuser);
    rig_close(&rig);
    tap_stop(tap);
}

/* ---- redirects ---- */

static const struct tap_answer redirect_answers[] = {
    {"/301", "HTTP/1.1 301 x\r\nLocation: /end?301\r\nContent-Length: 0\r\n\r\n"},
    {"/302", "HTTP/1.1 302 x\r\nLocation: end?302\r\nContent-Length: 3\r\n\r\nabc"},
    {"/303", "HTTP/1.1 303 x\r\nLocation: ../end?303#f\r\nContent-Length: 0\r\n\r\n"},
    {"/307", "HTTP/1.1 307 x\r\nLocation: /308\r\nContent-Length: 0\r\n\r\n"},
    {"/308", "HTTP/1.1 308 x\r\nLocation: /end?308\r\nContent-Length: 0\r\n\r\n"},
    {"/300", "HTTP/1.1 300 x\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n"},
    {"/nowhere", "HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n"},
    {"/wrong", "HTTP/1.1 302 x\r\nLocation: ftp://a/\r\nContent-Length: 0\r\n\r\n"},
    {"/loop", "HTTP/1.1 302 x\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n"},
    {"/end", OK_ANSWER},
    {NULL, NULL}};

/* What becomes of a POST. */
static void check_posts(struct rig *rig, struct tap *tap)
{
    static const struct {
        const char *path, *first_line;
        bool keeps_body;
    } cases[] = {{"301", "GET /end?301 HTTP/1.1\r\n", false},
                 {"302", "GET /end?302 HTTP/1.1\r\n", false},
                 {"303", "GET /end?303 HTTP/1.1\r\n", false},
                 {"307", "POST /end?308 HTTP/1.1\r\n", true},
                 {"308", "POST /end?308 HTTP/1.1\r\n", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        *rig_var(rig, 0, "path") = (struct value){.type = VALUE_TEXT, .length = 3, .text = cases[i].path};
        assert_int_equal(rig_do(rig, 0, 0), DRIVER_OK);
        const char *sent = tap_take(tap), *last = strstr(sent, cases[i].first_line);
        assert_non_null(last);
        assert_non_null(strstr(last, "\r\nX-Mine: yes\r\n"));
        assert_int_equal(strstr(last, "Content-Type") != NULL, cases[i].keeps_body);
        assert_int_equal(strstr(last, "Content-Length: 4\r\n") != NULL, cases[i].keeps_body);
        assert_int_equal(strstr(last, "\r\n\r\nbody") != NULL, cases[i].keeps_body);
    }
}

static void check_counts(struct rig *rig, int64_t requests, int64_t redirects)
{
    struct load_http_result result = {0};
    http_stats_init(&result.warm_up);
    http_stats_init(&result.measured);
    rig->driver->ops->gather(rig->driver, &result);
    assert_int_equal(result.redirects, redirects);
    assert_int_equal(result.warm_up.requests, requests);
    assert_int_equal(result.warm_up.answers, requests);
    assert_int_equal(result.measured.requests, 0);
    assert_int_equal(result.address_count, 1);
    http_stats_release(&result.warm_up);
    http_stats_release(&result.measured);
    pl_free(result.addresses);
}

static void test_redirects(void **state)
{
    (void)state;
    struct tap *tap = tap_start(redirect_answers);
    struct rig rig;
    rig_init(&rig);
    names_predefine(rig.names, "path");
    rig.http.follows = true;
    rig_open(&rig,
             "POST http://127.0.0.1:$/{{path}}\nContent-Type: text/plain\nX-Mine: yes\n`body`\n"
             "HEAD http://127.0.0.1:$/303\nHTTP 200\n[Asserts]\nurl endsWith \"/end?303\"\n"
             "GET http://127.0.0.1:$/loop\n[Options]\nmax-redirs: 3\n"
             "GET http://127.0.0.1:$/wrong\n"
             "GET http://127.0.0.1:$/300\nHTTP 300\n"
             "GET http://127.0.0.1:$/nowhere\nHTTP 302\n"
             "POST http://127.0.0.1:$/308\n`again`\nHTTP 200\n",
             tap->port);
    check_posts(&rig, tap);
    assert_int_equal(rig_do(&rig, 0, 1), DRIVER_OK);
    assert_non_null(strstr(tap_take(tap), "HEAD /end?303 HTTP/1.1\r\n"));
    rig_do(&rig, 0, 2);
    assert_fault(&rig, DRIVER_ERROR, "head:REDIRECTS", "more redirects");
    rig_do(&rig, 0, 3);
    assert_fault(&rig, DRIVER_ERROR, "head:LOCATION", "no URL of HTTP");
    assert_int_equal(rig_do(&rig, 0, 4), DRIVER_OK);
    assert_int_equal(rig_do(&rig, 0, 5), DRIVER_OK);
    tap_take(tap);
    assert_int_equal(rig_do(&rig, 0, 6), DRIVER_OK); /* a constant one, which was prepared */
    const char *again = tap_take(tap), *last = strstr(again, "POST /end?308 HTTP/1.1\r\n");
    assert_ptr_equal(strstr(again, "POST /308 HTTP/1.1\r\n"), again);
    assert_non_null(last);
    assert_non_null(strstr(last, "\r\n\r\nagain"));
    check_counts(&rig, tap->requests, 1 + 1 + 1 + 2 + 1 + 1 + 3 + 1);
    rig_close(&rig);
    tap_stop(tap);
}

/* Nothing is followed that was not asked for; `location: true` asks for one request. */
static void test_redirects_are_a_choice(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/302", "HTTP/1.1 302 x\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n"}, {"/end", OK_ANSWER}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig,
             "GET http://127.0.0.1:$/302\nHTTP 302\nGET http://127.0.0.1:$/302\n[Options]\nlocation: true\nHTTP 200\n",
             tap->port);
    rig_all(&rig, 0);
    assert_int_equal(tap->requests, 3);
    rig_close(&rig);
    tap_stop(tap);
}

/* What is secret stays at the first origin, and comes back to it. */
static void test_redirects_elsewhere(void **state)
{
    (void)state;
    static struct tap_answer answers[] = {{"/away", NULL}, {"/back", NULL}, {"/end", OK_ANSWER}, {NULL, NULL}};
    static char away[256], back[256];
    struct tap *here = tap_start(answers), *there = tap_start(answers);
    snprintf(away, sizeof away,
             "HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:%d/back\r\nSet-Cookie: s=1; Path=/\r\nContent-Length: 0\r\n\r\n",
             there->port);
    snprintf(back, sizeof back, "HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:%d/end\r\nContent-Length: 0\r\n\r\n",
             here->port);
    answers[0].text = away;
    answers[1].text = back;
    struct rig rig;
    rig_init(&rig);
    rig.http.follows = true;
    rig.http.credentials = "load:secret";
    rig_open(&rig,
             "GET http://127.0.0.1:$/away\nHost: shop.example\nAuthorization: Bearer mine\nCookie: c=2\nX: y\n[Cookies]\n"
             "d: 3\nHTTP 200\nGET http://127.0.0.1:$/away\nHTTP 200\n",
             here->port);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_do(&rig, 0, i), DRIVER_OK);
        char first[TAP_BYTES];
        snprintf(first, sizeof first, "%s", tap_take(here));
        const char *elsewhere = tap_take(there), *last = strstr(first, "GET /end ");
        assert_non_null(last);
        assert_non_null(strstr(elsewhere, "GET /back "));
        assert_null(strstr(elsewhere, "Authorization"));
        assert_null(strstr(elsewhere, "shop.example"));
        assert_null(strstr(elsewhere, "c=2"));
        assert_null(strstr(elsewhere, "d=3"));
        if (i == 0) {
            assert_non_null(strstr(elsewhere, "\r\nX: y\r\n"));
            assert_non_null(strstr(first, "Authorization: Bearer mine\r\n"));
            assert_non_null(strstr(first, "Host: shop.example\r\n"));
            assert_non_null(strstr(first, "Cookie: c=2; d=3\r\n"));
            assert_non_null(strstr(last, "Authorization: Bearer mine\r\n"));
            assert_non_null(strstr(last, "Host: shop.example\r\n"));
            assert_non_null(strstr(last, "Cookie: c=2; d=3; s=1\r\n"));
            assert_null(strstr(elsewhere, "s=1"));
        } else {
            assert_non_null(strstr(first, "Authorization: Basic bG9hZDpzZWNyZXQ=\r\n"));
            assert_non_null(strstr(last, "Authorization: Basic bG9hZDpzZWNyZXQ=\r\n"));
        }
    }
    rig_close(&rig);
    tap_stop(here);
    tap_stop(there);
}

/* A redirect to the name that Host said stays where it is: no such name need exist. */
static void test_redirect_to_the_said_host(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/", "HTTP/1.1 301 x\r\nLocation: http://shop.invalid/a\r\nContent-Length: 0\r\n\r\n"},
        {"/a", "HTTP/1.1 301 x\r\nLocation: b\r\nContent-Length: 0\r\n\r\n"},
        {"/b", OK_ANSWER},
        {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig.http.follows = true;
    rig_open(&rig, "GET http://127.0.0.1:$/\nHost: shop.invalid\nHTTP 200\n[Asserts]\nurl == \"http://shop.invalid/b\"\n",
             tap->port);
    rig_all(&rig, 0);
    const char *sent = tap_take(tap), *last = strstr(sent, "GET /b ");
    assert_non_null(last);
    assert_non_null(strstr(last, "Host: shop.invalid\r\n"));
    rig_close(&rig);
    tap_stop(tap);
}

/* max-time is for all of it: ten redirects of 30 ms each are no answer within 100 ms. */
static void test_max_time_over_redirects(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    struct rig rig;
    rig_init(&rig);
    rig.http.follows = true;
    rig.http.max_time_ns = 100 * MS;
    rig_open(&rig, "GET http://127.0.0.1:$/delay/30/redirect-to?/hole\n", httpserver_port(server));
    int64_t before_ns = pl_clock_ns();
    assert_int_equal(rig_do(&rig, 0, 0), DRIVER_EXPIRED);
    assert_string_equal(rig.done.code, "head:EXPIRED");
    assert_true(rig.done.done_ns - before_ns >= 100 * MS);
    assert_int_equal(httpserver_requests(server, "/hole"), 1);
    rig_close(&rig);
    httpserver_stop(server);
}

/* ---- cookies ---- */

static void test_cookies(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {
        {"/set", "HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nSet-Cookie: b=2; Path=/deep\r\nSet-Cookie: s=3; Secure\r\n"
                 "Set-Cookie: d=4; Domain=other.example\r\nContent-Length: 0\r\n\r\n"},
        {"/drop", "HTTP/1.1 200 OK\r\nSet-Cookie: a=; Max-Age=0\r\nContent-Length: 0\r\n\r\n"},
        {"/get", OK_ANSWER},
        {"/deep/get", OK_ANSWER},
        {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig,
             "GET http://127.0.0.1:$/set\n"
             "GET http://127.0.0.1:$/get\n"
             "GET http://127.0.0.1:$/deep/get\n[Cookies]\nmine: x\n"
             "GET http://127.0.0.1:$/drop\n",
             tap->port);
    rig_do(&rig, 0, 1);
    assert_null(strstr(tap_take(tap), "Cookie:"));
    rig_do(&rig, 0, 0);
    tap_take(tap);
    rig_do(&rig, 0, 1);
    assert_non_null(strstr(tap_take(tap), "\r\nCookie: a=1\r\n"));
    rig_do(&rig, 0, 2);
    assert_non_null(strstr(tap_take(tap), "\r\nCookie: mine=x; b=2; a=1\r\n"));
    rig_do(&rig, 1, 2); /* another client's jar is another one */
    assert_non_null(strstr(tap_take(tap), "\r\nCookie: mine=x\r\n"));
    rig_do(&rig, 0, 3);
    tap_take(tap);
    rig_do(&rig, 0, 1);
    assert_null(strstr(tap_take(tap), "Cookie:"));
    rig_do(&rig, 0, 2);
    assert_non_null(strstr(tap_take(tap), "\r\nCookie: mine=x; b=2\r\n"));
    rig.driver->ops->forget(rig.driver, 0);
    rig_do(&rig, 0, 2);
    assert_non_null(strstr(tap_take(tap), "\r\nCookie: mine=x\r\n"));
    rig_close(&rig);

    rig_init(&rig);
    rig.http.no_cookies = true;
    rig_open(&rig, "GET http://127.0.0.1:$/set\nGET http://127.0.0.1:$/get\n", tap->port);
    rig_all(&rig, 0);
    assert_null(strstr(tap_take(tap), "Cookie:"));
    rig_close(&rig);
    tap_stop(tap);
}

/* ---- encodings and TLS ---- */

/* Bodies that are looked at are decoded, whoever asked for the encoding; of those that are not, only the raw length is
 * known. */
static void test_gzip(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    static const char *const hurls[] = {
        "GET http://127.0.0.1:$/gzip/4000\n[Options]\ncompressed: true\nHTTP 200\nContent-Encoding: gzip\n[Asserts]\n"
        "bytes count == 4000\nbody startsWith \"gzip me gzip\"\nrawbytes count < 1000\n"
        "GET http://127.0.0.1:$/gzip/4000\nAccept-Encoding: gzip\nHTTP 200\n[Asserts]\nbytes count == 4000\n"
        "GET http://127.0.0.1:$/gzip/4000\nHTTP 200\n[Asserts]\nbytes count == 4000\n"
        "header \"Content-Encoding\" not exists\n",
        "GET http://127.0.0.1:$/gzip/4000\nHTTP 200\nContent-Encoding: gzip\n"};
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        rig_init(&rig);
        rig.http.compressed = i == 1;
        rig_open(&rig, hurls[i], httpserver_port(server));
        rig_all(&rig, 0);
        rig_close(&rig);
    }
    httpserver_stop(server);
}

static void test_tls(void **state)
{
    (void)state;
    char folder[] = "/tmp/plimsoll-test-XXXXXX", cert[64], key[64], base[64];
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    tlscert_write(cert, key);
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.cert_path = cert, .key_path = key});
    snprintf(base, sizeof base, "https://localhost:%d", httpserver_port(server));
    static const char hurl[] = "GET /set-cookie?s=1;Secure\nGET /echo\nHTTP 200\n[Asserts]\n"
                               "certificate \"Subject\" contains \"localhost\"\n"
                               "certificate \"Expire-Date\" daysBeforeNow > -3\n"
                               "jsonpath \"$.headers.Cookie\" == \"s=1\"\n";
    struct rig rig;
    rig_init(&rig);
    rig.http = (struct load_http){.base_url = base, .engine = {.ca_file = cert}};
    rig_open(&rig, hurl, 0);
    rig_all(&rig, 0);
    rig_all(&rig, 0);
    rig_close(&rig);
    rig_init(&rig); /* nobody vouches for it */
    rig.http = (struct load_http){.base_url = base};
    rig_open(&rig, hurl, 0);
    rig_do(&rig, 0, 0);
    assert_fault(&rig, DRIVER_ERROR, "tls:CERTIFICATE", "");
    rig_close(&rig);
    rig_init(&rig); /* and nobody need, when the script says so */
    rig.http = (struct load_http){.base_url = base};
    rig_open(&rig, "GET /plain\n[Options]\ninsecure: true\nHTTP 200\n", 0);
    rig_all(&rig, 0);
    rig_close(&rig);
    httpserver_stop(server);
    unlink(cert);
    unlink(key);
    rmdir(folder);
}

/* ---- forgotten clients ---- */

static void test_disconnect(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/good", OK_ANSWER}, {"/silent", ""}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    names_predefine(rig.names, "word");
    rig_open(&rig, "GET http://127.0.0.1:$/good\nGET http://127.0.0.1:$/silent\nGET http://127.0.0.1:$/{{word}}\n",
             tap->port);
    rig_submit(&rig, 0, 1); /* without an answer, ever */
    rig_submit(&rig, 1, 2); /* not rendered, and not reported either */
    rig.driver->ops->disconnect(rig.driver, 0);
    rig.driver->ops->disconnect(rig.driver, 1);
    rig_submit(&rig, 2, 0);
    assert_int_equal(rig_wait(&rig), DRIVER_OK);
    assert_int_equal(rig.done.client, 2);
    assert_int_equal(rig.driver->ops->wait(rig.driver, pl_clock_ns() + 20 * MS, &rig.done, 1), 0);
    assert_int_equal(rig_do(&rig, 0, 0), DRIVER_OK);
    assert_int_equal(rig_do(&rig, 1, 0), DRIVER_OK);
    rig_close(&rig);
    tap_stop(tap);
}

static void test_measure(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/good", OK_ANSWER}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig, "GET http://127.0.0.1:$/good\n", tap->port);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_do(&rig, 0, 0), DRIVER_OK);
    rig.driver->ops->measure(rig.driver);
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig_do(&rig, 0, 0), DRIVER_OK);
    struct load_http_result result = {0};
    http_stats_init(&result.warm_up);
    http_stats_init(&result.measured);
    rig.driver->ops->gather(rig.driver, &result);
    rig.driver->ops->gather(rig.driver, &result); /* as another worker with the same address */
    assert_int_equal(result.warm_up.answers, 6);
    assert_int_equal(result.measured.answers, 10);
    assert_int_equal(result.measured.statuses[200], 10);
    assert_int_equal(result.address_count, 1);
    assert_int_equal(result.addresses[0].opened, 2);
    http_stats_release(&result.warm_up);
    http_stats_release(&result.measured);
    pl_free(result.addresses);
    rig_close(&rig);
    tap_stop(tap);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_and_checks),
        cmocka_unit_test(test_what_was_captured_is_sent),
        cmocka_unit_test(test_what_cannot_be_rendered),
        cmocka_unit_test(test_failures_never_lose_the_client),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_redirects_are_a_choice),
        cmocka_unit_test(test_redirects_elsewhere),
        cmocka_unit_test(test_redirect_to_the_said_host),
        cmocka_unit_test(test_max_time_over_redirects),
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_disconnect),
        cmocka_unit_test(test_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
