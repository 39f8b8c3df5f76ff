/* The HTTP server for tests, seen through plain sockets: what others rely on. */
#include "support.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "httpserver.h"
#include "tlscert.h"

static int dial(const struct httpserver *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons(httpserver_port(server));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void ask(int fd, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    say(fd, text);
}

/* Reads until `end` is what was read last, or the connection ends; returns how recv ended: 1, 0 or -errno. */
static int hear(int fd, const char *end, char *text, size_t size)
{
    size_t have = 0, wanted = strlen(end);
    int how = 1;
    while (have + 1 < size && (wanted == 0 || have < wanted || memcmp(text + have - wanted, end, wanted) != 0)) {
        ssize_t count = recv(fd, text + have, size - 1 - have, 0);
        how = count > 0 ? 1 : count == 0 ? 0 : -errno;
        if (count <= 0)
            break;
        have += (size_t)count;
    }
    text[have] = '\0';
    return how;
}

static void test_whole_answers(void **state)
{
    (void)state;
    static const struct {
        const char *path, *end;
        int how;
    } cases[] = {{"/plain", "world\n", 1},
                 {"/length/7", "xxxxxxx", 1},
                 {"/204", "\r\n\r\n", 1},
                 {"/304", "\r\n\r\n", 1},
                 {"/interim", "world\n", 1},
                 {"/chunked", "X-Other: two\r\n\r\n", 1},
                 {"/bytewise/chunked", "X-Other: two\r\n\r\n", 1},
                 {"/two", "unasked\r\n", 1},
                 {"/delay/1/json", "}\n", 1},
                 {"/eof", "", 0},
                 {"/eof10", "", 0},
                 {"/close", "", 0},
                 {"/idle-close", "", 0},
                 {"/idle-close/5", "", 0},
                 {"/redirect/3", "elsewhere\n", 1},
                 {"/set-cookie", "world\n", 1},
                 {"/auth", "you?\n", 1},
                 {"/status/503", "world\n", 1},
                 {"/echo?x", "}\n", 1}};
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = dial(server);
        ask(fd, cases[i].path);
        assert_int_equal(hear(fd, cases[i].end, text, sizeof text), cases[i].how);
        assert_int_equal(strncmp(text, "HTTP/1.", 7), 0);
        close(fd);
        assert_int_equal(httpserver_requests(server, i == 18 ? "/echo" : cases[i].path), 1);
    }
    size_t count = sizeof cases / sizeof cases[0], logged;
    assert_int_equal(httpserver_requests(server, NULL), count);
    assert_int_equal(httpserver_answers(server, NULL), count);
    assert_int_equal(httpserver_by_host(server, "h"), count);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), count);
    const struct httpserver_arrival *log = httpserver_log(server, &logged);
    assert_int_equal(logged, count);
    assert_string_equal(log[0].path, "/plain");
    assert_int_equal(log[0].status, 200);
    for (size_t i = 0; i < logged; i++)
        assert_true(log[i].came_ns > 0 && log[i].answered_ns >= log[i].came_ns);
    httpserver_stop(server);
}

static void test_pipelined_head_and_body(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.step_bytes = 7});
    char text[4096];
    int fd = dial(server);
    say(fd, "HEAD /length/9 HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n"
            "Authorization: Basic dXNlcjpwYXNz\r\n\r\nxyzGET /plain HTTP/1.0\r\n\r\n");
    assert_int_equal(hear(fd, "", text, sizeof text), 0);
    assert_non_null(strstr(text, "Content-Length: 9\r\n\r\nHTTP/1.1 200 OK")); /* HEAD: no body between */
    assert_non_null(strstr(text, "\"body\":\"xyz\""));
    assert_non_null(strstr(text, "Connection: close\r\n\r\nhello, world\n"));
    assert_int_equal(httpserver_answers(server, NULL), 3);
    assert_int_equal(httpserver_by_host(server, "b"), 1);
    assert_int_equal(httpserver_by_authorization(server, "Basic dXNlcjpwYXNz"), 1);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONNECTIONS), 1);
    close(fd);
    httpserver_stop(server);
}

static void test_answers_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int how;
    } cases[] = {{"/reset", -ECONNRESET},           {"/drop", 0},
                 {"/half/head/reset", -ECONNRESET}, {"/half/body/reset", -ECONNRESET},
                 {"/half/body/close", 0},           {"/malformed/status", 0},
                 {"/malformed/large", 0},           {"/malformed/two-lengths", 0}};
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    static char text[512 * 1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = dial(server);
        ask(fd, cases[i].path);
        assert_int_equal(hear(fd, "", text, sizeof text), cases[i].how);
        assert_int_equal(strncmp(text, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nhello, world\n", 53) == 0, false);
        close(fd);
        assert_int_equal(httpserver_requests(server, cases[i].path), 1);
        assert_int_equal(httpserver_answers(server, cases[i].path), 0);
    }
    int hole = dial(server), half = dial(server);
    ask(hole, "/hole");
    ask(half, "/half/head/silence");
    assert_int_equal(hear(half, "-Le", text, sizeof text), 1);
    struct pollfd silent = {.fd = hole, .events = POLLIN};
    assert_int_equal(poll(&silent, 1, 20), 0);
    assert_int_equal(httpserver_requests(server, "/hole"), 1);
    int reused = dial(server);
    ask(reused, "/drop-reused/plain");
    assert_int_equal(hear(reused, "world\n", text, sizeof text), 1);
    ask(reused, "/drop-reused/plain");
    assert_int_equal(hear(reused, "", text, sizeof text), 0);
    assert_string_equal(text, "");
    close(reused);
    close(hole);
    close(half);
    httpserver_stop(server);
}

static void test_continue(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
    char text[4096];
    int fd = dial(server);
    say(fd, "POST /continue HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(hear(fd, "\r\n\r\n", text, sizeof text), 1);
    assert_string_equal(text, "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "ab");
    assert_int_equal(hear(fd, "continued 2\n", text, sizeof text), 1);
    say(fd, "POST /continue/refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(hear(fd, "", text, sizeof text), 0);
    assert_int_equal(strncmp(text, "HTTP/1.1 417 ", 13), 0);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_CONTINUES), 1);
    assert_int_equal(httpserver_answers(server, NULL), 2);
    close(fd);
    httpserver_stop(server);
}

static void test_stall(void **state)
{
    (void)state;
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.stall_after_ms = 5, .stall_ms = 30});
    char text[4096];
    int fd = dial(server);
    for (int i = 0; i < 10000 && httpserver_counter(server, HTTPSERVER_STALL_ENDED_NS) == 0; i++) {
        ask(fd, "/stall");
        assert_int_equal(hear(fd, "world\n", text, sizeof text), 1);
        poll(NULL, 0, 1);
    }
    int64_t began = httpserver_counter(server, HTTPSERVER_STALL_BEGAN_NS);
    int64_t ended = httpserver_counter(server, HTTPSERVER_STALL_ENDED_NS);
    assert_true(began > 0 && ended > began);
    size_t count;
    const struct httpserver_arrival *log = httpserver_log(server, &count);
    for (size_t i = 0; i < count; i++)
        assert_false(log[i].came_ns > began && log[i].came_ns < ended);
    close(fd);
    httpserver_stop(server);
}

static void test_modes(void **state)
{
    (void)state;
    char text[64];
    struct httpserver *resets = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_RESETS});
    int fd = dial(resets);
    assert_int_equal(hear(fd, "", text, sizeof text), -ECONNRESET);
    close(fd);
    httpserver_stop(resets);
    struct httpserver *closes = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_CLOSES});
    fd = dial(closes);
    assert_int_equal(hear(fd, "", text, sizeof text), 0);
    close(fd);
    httpserver_stop(closes);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct httpserver *refuses = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_REFUSES});
    address.sin_port = htons(httpserver_port(refuses));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    httpserver_stop(refuses);

    struct httpserver *hole = httpserver_start(&(struct httpserver_spec){.mode = HTTPSERVER_BLACK_HOLE});
    address.sin_port = htons(httpserver_port(hole));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), -1);
    struct pollfd silent = {.fd = fd, .events = POLLOUT};
    assert_int_equal(poll(&silent, 1, 50), 0);
    close(fd);
    httpserver_stop(hole);
}

static void test_unix_and_ipv6(void **state)
{
    (void)state;
    char folder[] = "/tmp/plimsoll-test-http-XXXXXX", path[64], text[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.unix_path = path});
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ask(fd, "/plain");
    assert_int_equal(hear(fd, "world\n", text, sizeof text), 1);
    close(fd);
    httpserver_stop(server);
    assert_int_equal(rmdir(folder), 0); /* the socket is gone */

    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (fd < 0 || bind(fd, (struct sockaddr *)&loopback, sizeof loopback) != 0) {
        print_message("# no IPv6 on this machine's loopback: that part is skipped\n");
        close(fd);
        return;
    }
    server = httpserver_start(&(struct httpserver_spec){.host = "::1"});
    loopback.sin6_port = htons(httpserver_port(server));
    assert_int_equal(connect(fd, (struct sockaddr *)&loopback, sizeof loopback), 0);
    ask(fd, "/plain");
    assert_int_equal(hear(fd, "world\n", text, sizeof text), 1);
    close(fd);
    httpserver_stop(server);
}

/* One exchange over TLS; the session is kept for the next one. */
static void exchange_tls(struct httpserver *server, SSL_CTX *context, SSL_SESSION **session)
{
    int fd = dial(server), count;
    SSL *ssl = SSL_new(context);
    assert_non_null(ssl);
    SSL_set_fd(ssl, fd);
    SSL_set_tlsext_host_name(ssl, "some.test");
    if (*session != NULL)
        SSL_set_session(ssl, *session);
    assert_int_equal(SSL_connect(ssl), 1);
    static const char request[] = "GET /chunked HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert_int_equal(SSL_write(ssl, request, sizeof request - 1), sizeof request - 1);
    char text[4096];
    int have = 0;
    while ((count = SSL_read(ssl, text + have, (int)sizeof text - have - 1)) > 0)
        have += count;
    text[have] = '\0';
    assert_non_null(strstr(text, "X-Other: two\r\n\r\n"));
    SSL_SESSION_free(*session);
    *session = SSL_get1_session(ssl);
    SSL_shutdown(ssl);
    SSL_free(ssl);
    close(fd);
}

static void test_tls(void **state)
{
    (void)state;
    char folder[] = "/tmp/plimsoll-test-http-XXXXXX", cert[64], key[64];
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    tlscert_write(cert, key);
    struct httpserver *server = httpserver_start(&(struct httpserver_spec){.cert_path = cert, .key_path = key});
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_SESSION *session = NULL;
    exchange_tls(server, context, &session);
    exchange_tls(server, context, &session);
    assert_int_equal(httpserver_answers(server, "/chunked"), 2);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_HANDSHAKES), 1);
    assert_int_equal(httpserver_counter(server, HTTPSERVER_RESUMED), 1);
    assert_int_equal(httpserver_by_name(server, "some.test"), 2);
    SSL_SESSION_free(session);
    SSL_CTX_free(context);
    httpserver_stop(server);
    unlink(cert);
    unlink(key);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_answers),
        cmocka_unit_test(test_pipelined_head_and_body),
        cmocka_unit_test(test_answers_that_fail),
        cmocka_unit_test(test_continue),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_unix_and_ipv6),
        cmocka_unit_test(test_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
