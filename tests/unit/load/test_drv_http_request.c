/* What the driver of HTTP sends: URLs, headers, bodies, byte for byte as a server got them. */
#include "drv_http_test.h"

#include "load/drv_http_int.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static const struct tap_answer every_answer[] = {
    {"/", OK_ANSWER}, {"/a", OK_ANSWER}, {"/base/a", OK_ANSWER}, {"/base", OK_ANSWER}, {NULL, NULL}};

/* One request of one client; what was sent, with the port written as '$'. */
static const char *sent_by(struct rig *rig, const char *hurl, struct tap *tap)
{
    static char text[TAP_BYTES];
    char port[16];
    int length = snprintf(port, sizeof port, "%d", tap->port);
    rig_open(rig, hurl, tap->port);
    if (names_find(rig->names, "nothing", 7) >= 0)
        *rig_var(rig, 0, "nothing") = (struct value){.type = VALUE_INT};
    if (rig_do(rig, 0, 0) != DRIVER_OK)
        fail_msg("%s: %s", rig->done.code, rig->text);
    char *to = text;
    for (const char *from = tap_take(tap); *from != '\0';)
        if (strncmp(from, port, (size_t)length) == 0) {
            *to++ = '$';
            from += length;
        } else {
            *to++ = *from++;
        }
    *to = '\0';
    rig_close(rig);
    return text;
}

#define OWN "User-Agent: plimsoll/" PLIMSOLL_VERSION "\r\nAccept: */*\r\n"

static void test_whole_requests(void **state)
{
    (void)state;
    static const struct {
        const char *hurl, *base, *sent;
    } cases[] = {
        {"GET http://127.0.0.1:$/a\n", NULL, "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$\n", NULL, "GET / HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$?x=1\n", NULL, "GET /?x=1 HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$/a?x=1\n[Query]\ny: b c\n", NULL,
         "GET /a?x=1&y=b%20c HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET /a?x=%2f\n", "http://127.0.0.1:$", "GET /a?x=%2f HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET /a\n", "http://127.0.0.1:$/base//", "GET /base/a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"GET /a\n", "http://127.0.0.1:$/base#part", "GET /base/a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "\r\n"},
        {"POST http://127.0.0.1:$/a\n`text`\n", NULL,
         "POST /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "Content-Length: 4\r\n\r\ntext"},
        {"PUT http://127.0.0.1:$/a\n``\n", NULL,
         "PUT /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "Content-Length: 0\r\n\r\n"},
        {"POST http://127.0.0.1:$/a\n[Form]\nx: 1 2\n", NULL,
         "POST /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nContent-Type: application/x-www-form-urlencoded\r\n" OWN
         "Content-Length: 7\r\n\r\nx=1%202"},
        {"GET http://127.0.0.1:$/a\nuser-agent: mine\nACCEPT: text/html\nX-Two: 1\nX-Two: 2\nX-Empty:\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nuser-agent: mine\r\nACCEPT: text/html\r\nX-Two: 1\r\nX-Two: 2\r\n"
         "X-Empty: \r\n\r\n"},
        {"GET http://127.0.0.1:$/a\nHost: shop.example\n", NULL, "GET /a HTTP/1.1\r\nHost: shop.example\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$/a\n[BasicAuth]\nme: pass\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nAuthorization: Basic bWU6cGFzcw==\r\n" OWN "\r\n"},
        {"GET http://m%65:pa%3ass@127.0.0.1:$/a\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nAuthorization: Basic bWU6cGE6c3M=\r\n" OWN "\r\n"},
        {"GET http://me@127.0.0.1:$/a\nAuthorization: x\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nAuthorization: x\r\n" OWN "\r\n"},
        {"GET /a\n", "http://me@127.0.0.1:$",
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nAuthorization: Basic bWU6\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$/a\n[Options]\ncompressed: true\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "Accept-Encoding: gzip, deflate\r\n\r\n"},
        {"GET http://127.0.0.1:$/a\nAccept-Encoding: br\n[Options]\ncompressed: true\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nAccept-Encoding: br\r\n" OWN "\r\n"},
        {"GET http://127.0.0.1:$/a\nCookie: a=1\n[Cookies]\nb: 2\nc: 3\n", NULL,
         "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\n" OWN "Cookie: a=1; b=2; c=3\r\n\r\n"},
    };
    struct tap *tap = tap_start(every_answer);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* the same must be sent when nothing can be prepared: then a variable stands where it has no effect */
        for (int is_constant = 0; is_constant < 2; is_constant++) {
            char base[256], hurl[1024];
            struct rig rig;
            rig_init(&rig);
            const char *mark = cases[i].base == NULL ? NULL : strchr(cases[i].base, '$');
            if (mark != NULL) {
                snprintf(base, sizeof base, "%.*s%d%s", (int)(mark - cases[i].base), cases[i].base, tap->port, mark + 1);
                rig.http.base_url = base;
            }
            const char *line_end = strchr(cases[i].hurl, '\n');
            snprintf(hurl, sizeof hurl, "%.*s%s%s", (int)(line_end - cases[i].hurl), cases[i].hurl,
                     is_constant ? "" : "#{{nothing}}", line_end);
            if (!is_constant)
                names_predefine(rig.names, "nothing");
            const char *sent = sent_by(&rig, hurl, tap);
            if (strcmp(sent, cases[i].sent) != 0)
                fail_msg("case %zu, %s:\n%s--- is not\n%s", i, is_constant ? "constant" : "not constant", sent,
                         cases[i].sent);
        }
    }
    tap_stop(tap);
}

static void test_headers_of_the_load(void **state)
{
    (void)state;
    static const char *const headers[] = {"X-Load: 1", "Accept:text/plain", "x-mine:  two words ", "User-Agent: u", NULL};
    struct tap *tap = tap_start(every_answer);
    struct rig rig;
    rig_init(&rig);
    rig.http = (struct load_http){.headers = headers, .credentials = "a:b", .compressed = true};
    assert_string_equal(sent_by(&rig, "GET http://127.0.0.1:$/a\nX-Load: 2\n", tap),
                        "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nX-Load: 2\r\nAccept: text/plain\r\n"
                        "x-mine: two words\r\nUser-Agent: u\r\nAuthorization: Basic YTpi\r\n"
                        "Accept-Encoding: gzip, deflate\r\n\r\n");
    rig_init(&rig);
    rig.http = (struct load_http){.credentials = "a:b"};
    assert_string_equal(sent_by(&rig, "GET http://127.0.0.1:$/a\nauthorization: mine\n", tap),
                        "GET /a HTTP/1.1\r\nHost: 127.0.0.1:$\r\nauthorization: mine\r\n" OWN "\r\n");
    tap_stop(tap);
}

static void test_expect_continue(void **state)
{
    (void)state;
    static const struct tap_answer answers[] = {{"/a", "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"}, {NULL, NULL}};
    struct tap *tap = tap_start(answers);
    struct rig rig;
    rig_init(&rig);
    rig_open(&rig, "POST http://127.0.0.1:$/a\nExpect: 100-continue\nContent-Length: 5\n`hello`\nHTTP 417\n", tap->port);
    /* the tap answers what is whole, so without a word from it the body comes after a while; what matters is that the head
       came first */
    rig_submit(&rig, 0, 0);
    assert_int_equal(rig_wait(&rig), DRIVER_OK);
    assert_non_null(strstr(tap_take(tap), "Expect: 100-continue\r\n"));
    struct load_http_result result = {0};
    http_stats_init(&result.warm_up);
    http_stats_init(&result.measured);
    rig.driver->ops->gather(rig.driver, &result);
    assert_int_equal(result.warm_up.continues, 1);
    http_stats_release(&result.warm_up);
    http_stats_release(&result.measured);
    pl_free(result.addresses);
    rig_close(&rig);
    tap_stop(tap);
}

/* Bodies of many clients at a time must not mix: each is the client's own until its request has ended. */
static void test_bodies_at_a_time(void **state)
{
    (void)state;
    struct tap *tap = tap_start(every_answer);
    struct rig rig;
    rig_init(&rig);
    names_predefine(rig.names, "fill");
    rig_open(&rig, "POST http://127.0.0.1:$/a\n```\n{{fill}}\n```\n", tap->port);
    static char fills[RIG_CLIENTS][4001];
    for (uint32_t c = 0; c < RIG_CLIENTS; c++) {
        memset(fills[c], 'a' + (int)c, 4000);
        *rig_var(&rig, c, "fill") = (struct value){.type = VALUE_TEXT, .length = 4000, .text = fills[c]};
    }
    for (int round = 0; round < 3; round++) {
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            rig_submit(&rig, c, 0);
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            assert_int_equal(rig_wait(&rig), DRIVER_OK);
        const char *sent = tap_take(tap);
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            assert_non_null(strstr(sent, fills[c]));
    }
    rig_close(&rig);
    tap_stop(tap);
}

static void test_basic(void **state)
{
    (void)state;
    /* RFC 4648, 10, behind a colon that is there already */
    static const char *const cases[][2] = {{":", "Basic Og=="},   {":f", "Basic OmY="},
                                           {":fo", "Basic OmZv"}, {"foobar", "Basic Zm9vYmFyOg=="},
                                           {"", "Basic Og=="},    {"a%3Ab", "Basic YTpiOg=="}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_buf buf;
        pl_buf_init(&buf, 100);
        driver_http_put_basic((struct http_slice){.text = cases[i][0], .length = strlen(cases[i][0])}, true, &buf);
        assert_string_equal(pl_buf_text(&buf), cases[i][1]);
        pl_buf_release(&buf);
    }
    struct pl_buf buf;
    pl_buf_init(&buf, 100);
    driver_http_put_basic((struct http_slice){.text = "a%3A", .length = 4}, false, &buf);
    assert_string_equal(pl_buf_text(&buf), "Basic YSUzQTo=");
    pl_buf_release(&buf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_requests),  cmocka_unit_test(test_headers_of_the_load),
        cmocka_unit_test(test_expect_continue), cmocka_unit_test(test_bodies_at_a_time),
        cmocka_unit_test(test_basic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
