/* TLS: whom we trust, what is resumed, what the certificate says. */
#include "fetch.h"

#include "tlscert.h"
#include "tlstalk.h"

static char cert[64], key[64], other_cert[64], other_key[64];
static struct httpserver *server;

static int begin(void **state)
{
    (void)state;
    snprintf(cert, sizeof cert, "/tmp/plimsoll-tls-%d.pem", (int)getpid());
    snprintf(key, sizeof key, "/tmp/plimsoll-tls-%d.key", (int)getpid());
    snprintf(other_cert, sizeof other_cert, "/tmp/plimsoll-other-%d.pem", (int)getpid());
    snprintf(other_key, sizeof other_key, "/tmp/plimsoll-other-%d.key", (int)getpid());
    tlscert_write(cert, key);
    tlscert_write(other_cert, other_key);
    server = httpserver_start(&(struct httpserver_spec){.cert_path = cert, .key_path = key});
    return 0;
}

static int end(void **state)
{
    (void)state;
    httpserver_stop(server);
    unlink(cert);
    unlink(key);
    unlink(other_cert);
    unlink(other_key);
    return 0;
}

static struct fetched first_of(const struct http_spec *spec, const char *host)
{
    struct fetcher *one = fetcher_new(spec);
    fetch(one, 0, http_origin(one->engine, true, slice(host), httpserver_port(server)), "GET", "/plain");
    struct fetched got = one->got[0];
    fetcher_free(one);
    return got;
}

static void test_verification(void **state)
{
    (void)state;
    struct fetched got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert}, "localhost");
    assert_answered(&got, 200);
    assert_true(got.is_tls && !got.is_resumed);
    assert_string_equal(got.body, "hello, world\n");
    got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert}, "127.0.0.1");
    assert_answered(&got, 200);
    got = first_of(&(struct http_spec){.clients = 1}, "localhost"); /* self-signed, and nobody vouches for it */
    assert_failed(&got, "tls:CERTIFICATE");
    setenv("SSL_CERT_FILE", cert, 1); /* the system's */
    got = first_of(&(struct http_spec){.clients = 1}, "localhost");
    assert_answered(&got, 200);
    unsetenv("SSL_CERT_FILE");
    got = first_of(&(struct http_spec){.clients = 1, .ca_file = other_cert}, "localhost");
    assert_failed(&got, "tls:CERTIFICATE");
    got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert, .server_name = "example.com"}, "localhost");
    assert_failed(&got, "tls:CERTIFICATE");
    assert_non_null(strcasestr(got.text, "host"));
    got = first_of(&(struct http_spec){.clients = 1, .insecure = true, .server_name = "example.com"}, "localhost");
    assert_answered(&got, 200);
    got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert, .server_name = "localhost"}, "127.0.0.1");
    assert_answered(&got, 200);
    assert_int_equal(httpserver_by_name(server, "example.com"), 1); /* the refused one never became a connection */
}

/* An address is never asked for by name, and is verified as an address; a name's last dot is not the certificate's. */
static void test_names(void **state)
{
    (void)state;
    char route[64];
    snprintf(route, sizeof route, "localhost.:443:127.0.0.1:%u", httpserver_port(server));
    const char *const connect_to[] = {route, NULL};
    struct fetched got =
        first_of(&(struct http_spec){.clients = 1, .ca_file = cert, .server_name = "127.0.0.1"}, "localhost");
    assert_answered(&got, 200);
    assert_int_equal(httpserver_by_name(server, "127.0.0.1"), 0);
    got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert, .server_name = "127.0.0.2"}, "localhost");
    assert_failed(&got, "tls:CERTIFICATE");
    int64_t named = httpserver_by_name(server, "localhost");
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .ca_file = cert, .connect_to = connect_to});
    assert_answered(fetch(one, 0, http_origin(one->engine, true, slice("localhost."), 0), "GET", "/plain"), 200);
    assert_int_equal(httpserver_by_name(server, "localhost"), named + 1);
    fetcher_free(one);
}

/* A body that ends with the connection has come whole when the server has said goodbye, and perhaps not when it has not. */
static void test_end_of_stream(void **state)
{
    (void)state;
    static const char *const pieces[] = {"HTTP/1.1 200 OK\r\n\r\n", "all there was", NULL};
    for (int abrupt = 0; abrupt < 2; abrupt++) {
        struct tlstalk *talk = tlstalk_start(cert, key, NULL, pieces, abrupt ? TLSTALK_ABRUPT : TLSTALK_GOODBYE);
        struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .ca_file = cert});
        int origin = http_origin(one->engine, true, slice("localhost"), talk->port);
        const struct fetched *got = fetch(one, 0, origin, "GET", "/");
        if (abrupt) {
            assert_failed(got, "body:TRUNCATED");
        } else {
            assert_answered(got, 200);
            assert_string_equal(got->body, "all there was");
        }
        assert_int_equal(one->stats.answers, !abrupt);
        fetcher_free(one);
        tlstalk_stop(talk);
    }
}

/* A record behind the answer that nobody asked for is not the next one's answer. */
static void test_unasked(void **state)
{
    (void)state;
    static const char *const pieces[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                                         "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", NULL};
    struct tlstalk *talk = tlstalk_start(cert, key, NULL, pieces, TLSTALK_STAYS);
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .ca_file = cert});
    struct http_request request =
        request_of(http_origin(one->engine, true, slice("localhost"), talk->port), "POST", "/plain");
    fetch_many(one, 1, 10, &request);
    assert_answered(&one->got[0], 200);
    assert_int_equal(one->stats.statuses[200], 10);
    assert_int_equal(one->stats.connections_opened, 10);
    fetcher_free(one);
    assert_int_equal(talk->requests, 10);
    tlstalk_stop(talk);
}

/* A server that wants to know its clients. */
static void test_client_certificate(void **state)
{
    (void)state;
    static const char *const pieces[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL};
    struct tlstalk *talk = tlstalk_start(cert, key, other_cert, pieces, TLSTALK_STAYS);
    const struct http_spec specs[] = {
        {.clients = 1, .ca_file = cert, .cert_file = other_cert, .key_file = other_key, .close_each = true},
        {.clients = 1, .ca_file = cert},
        {.clients = 1, .ca_file = cert, .cert_file = cert, .key_file = key}};
    for (int i = 0; i < 3; i++) {
        struct fetcher *one = fetcher_new(&specs[i]);
        struct http_request request =
            request_of(http_origin(one->engine, true, slice("localhost"), talk->port), "GET", "/plain");
        fetch_many(one, 1, 3, &request);
        assert_int_equal(one->got[0].outcome, i == 0 ? HTTP_ANSWERED : HTTP_FAILED);
        assert_int_equal(one->stats.answers, i == 0 ? 3 : 0);
        assert_int_equal(one->stats.handshakes_resumed, i == 0 ? 2 : 0);
        if (i > 0) /* in the server's words */
            assert_non_null(strstr(one->got[0].text, i == 1 ? "certificate required" : "unknown ca"));
        fetcher_free(one);
    }
    assert_int_equal(talk->requests, 3);
    tlstalk_stop(talk);
    struct http_engine *engine;
    struct pl_err err = {0};
    assert_int_equal(
        http_engine_new(&(struct http_spec){.clients = 1, .cert_file = cert, .key_file = other_key}, NULL, &engine, &err),
        PL_INPUT);
    assert_non_null(strstr(err.what, "private key"));
}

static void test_certificate(void **state)
{
    (void)state;
    struct fetched got = first_of(&(struct http_spec){.clients = 1, .ca_file = cert, .close_each = true}, "localhost");
    assert_non_null(strstr(got.certificate.subject, "localhost"));
    assert_string_equal(got.certificate.issuer, got.certificate.subject);
    assert_string_equal(got.certificate.serial, "01");
    assert_int_equal(got.certificate.expire_unix_s - got.certificate.start_unix_s, 86400 + 3600);
}

static void test_resumption(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        int64_t full = httpserver_counter(server, HTTPSERVER_HANDSHAKES),
                resumed = httpserver_counter(server, HTTPSERVER_RESUMED);
        struct fetcher *one =
            fetcher_new(&(struct http_spec){.clients = 1, .ca_file = cert, .close_each = true, .no_resumption = off == 1});
        struct http_request request =
            request_of(http_origin(one->engine, true, slice("localhost"), httpserver_port(server)), "GET", "/plain");
        fetch_many(one, 1, 10, &request);
        assert_answered(&one->got[0], 200);
        assert_int_equal(one->got[0].is_resumed, off == 0);
        assert_int_equal(one->stats.handshakes_full, off ? 10 : 1);
        assert_int_equal(one->stats.handshakes_resumed, off ? 0 : 9);
        assert_int_equal(one->stats.tls.total, 10);
        assert_int_equal(httpserver_counter(server, HTTPSERVER_HANDSHAKES) - full, off ? 10 : 1);
        assert_int_equal(httpserver_counter(server, HTTPSERVER_RESUMED) - resumed, off ? 0 : 9);
        fetcher_free(one);
    }
}

static void test_traffic(void **state)
{
    (void)state;
    struct fetcher *many = fetcher_new(&(struct http_spec){.clients = 20, .ca_file = cert});
    int origin = http_origin(many->engine, true, slice("localhost"), httpserver_port(server));
    struct http_request request = request_of(origin, "GET", "/bytewise/chunked");
    fetch_many(many, 20, 100, &request);
    request = request_of(origin, "GET", "/big/2000000");
    fetch_many(many, 20, 40, &request);
    for (int i = 0; i < 20; i++) {
        assert_answered(&many->got[i], 200);
        assert_int_equal(many->got[i].raw_bytes, 2000000);
    }
    char *body = calloc(1, 2000000);
    request = request_of(origin, "POST", "/plain");
    request.has_body = true;
    request.body = (struct http_slice){body, 2000000};
    fetch_many(many, 20, 40, &request);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_BODY_BYTES), 40 * 2000000);
    assert_int_equal(many->stats.connections_opened, 20);
    assert_int_equal(many->stats.answers, 180);
    assert_failed(fetch(many, 0, origin, "POST", "/drop"), "head:CLOSED");
    assert_answered(fetch(many, 0, origin, "GET", "/drop-reused/plain"), 200);
    free(body);
    fetcher_free(many);
}

static void test_not_tls(void **state)
{
    (void)state;
    struct httpserver *plain = httpserver_start(&(struct httpserver_spec){0});
    struct fetcher *one = fetcher_new(&(struct http_spec){.clients = 1, .insecure = true});
    const struct fetched *got =
        fetch(one, 0, http_origin(one->engine, true, slice("localhost"), httpserver_port(plain)), "GET", "/");
    assert_int_equal(got->outcome, HTTP_FAILED);
    assert_int_equal(got->phase, HTTP_TLS);
    assert_int_equal(one->stats.connections_opened, 0);
    fetcher_free(one);
    httpserver_stop(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verification),  cmocka_unit_test(test_certificate), cmocka_unit_test(test_resumption),
        cmocka_unit_test(test_traffic),       cmocka_unit_test(test_not_tls),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_end_of_stream), cmocka_unit_test(test_unasked),     cmocka_unit_test(test_client_certificate),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
