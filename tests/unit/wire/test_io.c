/* Bytes over socket pairs and loopback, plain and through TLS. SIGPIPE keeps its default: one that came would end the test.
 */
#include "support.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tlscert.h"
#include "wire/io.h"

/* How often OpenSSL took so much memory that it is a buffer. */
static long buffers;

static void *counting_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    buffers += size >= 1024;
    return malloc(size);
}

static void *counting_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    buffers += size >= 1024;
    return realloc(memory, size);
}

static void counting_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

static void pair_make(struct wire_socket *a, struct wire_socket *b)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0); /* blocking: the calls must not be */
    *a = (struct wire_socket){.fd = fds[0]};
    *b = (struct wire_socket){.fd = fds[1]};
}

/* The same over TCP on 127.0.0.1. */
static void tcp_pair_make(struct wire_socket *a, struct wire_socket *b)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *a = (struct wire_socket){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(a->fd, (struct sockaddr *)&address, size), 0);
    *b = (struct wire_socket){.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)};
    assert_true(b->fd >= 0);
    close(listener);
    int on = 1;
    assert_int_equal(setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    assert_int_equal(setsockopt(b->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
}

static void close_end(struct wire_socket *end)
{
    SSL_free(end->ssl);
    if (end->fd >= 0)
        close(end->fd);
    *end = (struct wire_socket){.fd = -1};
}

/* Aborts a TCP connection: the peer gets a reset. */
static void reset_end(struct wire_socket *end)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close_end(end);
}

static void expect_read(struct wire_socket *end, const char *text)
{
    char bytes[64];
    size_t count = 0;
    assert_int_equal(wire_read(end, bytes, sizeof bytes, &count), WIRE_DONE);
    assert_int_equal(count, strlen(text));
    assert_memory_equal(bytes, text, count);
    assert_int_equal(end->os_errno, 0);
}

static void expect_write(struct wire_socket *end, const char *text)
{
    size_t count = 0;
    assert_int_equal(wire_write(end, text, strlen(text), &count), WIRE_DONE);
    assert_int_equal(count, strlen(text));
}

static enum wire_io read_any(struct wire_socket *end)
{
    char bytes[64];
    size_t count = 99;
    enum wire_io io = wire_read(end, bytes, sizeof bytes, &count);
    if (io != WIRE_DONE)
        assert_int_equal(count, 0);
    return io;
}

static enum wire_io write_any(struct wire_socket *end)
{
    size_t count = 99;
    enum wire_io io = wire_write(end, "x", 1, &count);
    if (io != WIRE_DONE)
        assert_int_equal(count, 0);
    return io;
}

static void test_plain(void **state)
{
    (void)state;
    struct wire_socket a, b;
    pair_make(&a, &b);
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_int_equal(a.os_errno, 0);
    expect_write(&b, "hello");
    expect_read(&a, "hello");
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_false(wire_has_buffered(&a));
    /* a short read: what does not fit stays */
    char byte;
    size_t count;
    expect_write(&b, "xy");
    assert_int_equal(wire_read(&a, &byte, 1, &count), WIRE_DONE);
    assert_int_equal(count, 1);
    expect_read(&a, "y");
    close_end(&a);
    close_end(&b);
}

static void test_plain_closed(void **state)
{
    (void)state;
    struct wire_socket a, b;
    pair_make(&a, &b);
    expect_write(&b, "last");
    close_end(&b);
    assert_int_equal(write_any(&a), WIRE_CLOSED); /* and no SIGPIPE */
    assert_int_equal(a.os_errno, EPIPE);
    expect_read(&a, "last"); /* what was said before the end is still there */
    assert_int_equal(read_any(&a), WIRE_CLOSED);
    assert_int_equal(read_any(&a), WIRE_CLOSED);
    close_end(&a);
}

static void test_plain_reset(void **state)
{
    (void)state;
    struct wire_socket a, b;
    pair_make(&a, &b);
    expect_write(&a, "never read");
    close_end(&b);
    assert_int_equal(read_any(&a), WIRE_FAILED);
    assert_int_equal(a.os_errno, ECONNRESET);
    close_end(&a);
    tcp_pair_make(&a, &b);
    reset_end(&b);
    assert_int_equal(read_any(&a), WIRE_FAILED);
    assert_int_equal(a.os_errno, ECONNRESET);
    assert_int_equal(write_any(&a), WIRE_CLOSED);
    close_end(&a);
}

static void test_plain_not_a_socket(void **state)
{
    (void)state;
    struct wire_socket file = {.fd = STDIN_FILENO};
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    file.fd = pipe_fds[0];
    assert_int_equal(read_any(&file), WIRE_FAILED);
    assert_int_equal(file.os_errno, ENOTSOCK);
    assert_int_equal(write_any(&file), WIRE_FAILED);
    assert_int_equal(file.os_errno, ENOTSOCK);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

enum { BULK_BYTES = 1 << 20 };

static unsigned char bulk_byte(size_t at)
{
    return (unsigned char)(at * 31 + at / 251);
}

/* Sends more than the buffers hold, in both plain and TLS: short writes, AGAIN on both sides, nothing lost. */
static void bulk(struct wire_socket *from, struct wire_socket *to)
{
    unsigned char *data = malloc(BULK_BYTES), *other = malloc(BULK_BYTES), part[5000];
    size_t sent = 0, received = 0, count;
    int again_writes = 0, short_writes = 0;
    assert_true(data != NULL && other != NULL);
    for (size_t i = 0; i < BULK_BYTES; i++)
        data[i] = other[i] = bulk_byte(i);
    while (received < BULK_BYTES) {
        enum wire_io io = WIRE_DONE;
        while (sent < BULK_BYTES && io == WIRE_DONE) {
            /* the same bytes at another address, as after a buffer was moved */
            const unsigned char *bytes = again_writes % 2 == 0 ? data : other;
            io = wire_write(from, bytes + sent, BULK_BYTES - sent, &count);
            assert_true(io == WIRE_DONE || io == WIRE_AGAIN);
            short_writes += io == WIRE_DONE && count < BULK_BYTES - sent;
            again_writes += io == WIRE_AGAIN;
            sent += count;
        }
        io = wire_read(to, part, 1 + received % sizeof part, &count);
        assert_true(io == WIRE_DONE || io == WIRE_AGAIN);
        assert_int_equal(memcmp(part, data + received, count), 0);
        received += count;
    }
    assert_int_equal(sent, received);
    assert_true(again_writes > 1);
    assert_true(short_writes > 1 || from->ssl != NULL);
    assert_int_equal(read_any(to), WIRE_AGAIN);
    free(data);
    free(other);
}

static void small_buffers(const struct wire_socket *end)
{
    int size = 4096;
    assert_int_equal(setsockopt(end->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    assert_int_equal(setsockopt(end->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
}

static void test_plain_bulk(void **state)
{
    (void)state;
    struct wire_socket a, b;
    pair_make(&a, &b);
    small_buffers(&a);
    small_buffers(&b);
    bulk(&a, &b);
    bulk(&b, &a);
    close_end(&a);
    close_end(&b);
}

/* TLS: both ends in this thread, so the sockets do not block. */
struct tls {
    SSL_CTX *client, *server;
};

static int tls_setup(void **state)
{
    static struct tls tls;
    char folder[] = "/tmp/plimsoll-test-tls-XXXXXX", cert[64], key[64];
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    tlscert_write(cert, key);
    tls.server = SSL_CTX_new(TLS_server_method());
    tls.client = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_use_certificate_file(tls.server, cert, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(tls.server, key, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_load_verify_locations(tls.client, cert, NULL), 1);
    SSL_CTX_set_verify(tls.client, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(tls.client, SSL_MODE_RELEASE_BUFFERS); /* as libpq has it */
    unlink(cert);
    unlink(key);
    rmdir(folder);
    *state = &tls;
    return 0;
}

static int tls_teardown(void **state)
{
    struct tls *tls = *state;
    SSL_CTX_free(tls->client);
    SSL_CTX_free(tls->server);
    return 0;
}

static void tls_begin(const struct tls *tls, struct wire_socket *client, struct wire_socket *server, int version)
{
    signal(SIGPIPE, SIG_IGN); /* OpenSSL's own BIO, unlike libpq's, would raise it; so far it keeps its default */
    assert_int_equal(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0); /* as libpq's sockets are */
    assert_int_equal(fcntl(server->fd, F_SETFL, O_NONBLOCK), 0);
    client->ssl = SSL_new(tls->client);
    server->ssl = SSL_new(tls->server);
    SSL_set_min_proto_version(client->ssl, version);
    SSL_set_max_proto_version(client->ssl, version);
    SSL_set_num_tickets(server->ssl, 0);
    assert_int_equal(SSL_set_fd(client->ssl, client->fd), 1);
    assert_int_equal(SSL_set_fd(server->ssl, server->fd), 1);
    SSL_set_connect_state(client->ssl);
    SSL_set_accept_state(server->ssl);
    int client_done = 0, server_done = 0;
    for (int turn = 0; turn < 1000 && (client_done != 1 || server_done != 1); turn++) {
        client_done = SSL_do_handshake(client->ssl);
        server_done = SSL_do_handshake(server->ssl);
    }
    assert_int_equal(client_done, 1);
    assert_int_equal(server_done, 1);
    ERR_clear_error();
    wire_tls_tune(client->ssl);
    wire_tls_tune(server->ssl);
}

static void tls_pair_make(const struct tls *tls, struct wire_socket *client, struct wire_socket *server)
{
    pair_make(client, server);
    tls_begin(tls, client, server, TLS1_3_VERSION);
}

static void test_tls(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        struct wire_socket a, b;
        if (i == 0)
            pair_make(&a, &b);
        else
            tcp_pair_make(&a, &b);
        tls_begin(*state, &a, &b, versions[i]);
        assert_int_equal(read_any(&a), WIRE_AGAIN);
        assert_int_equal(a.os_errno, 0);
        assert_false(a.wants_write);
        expect_write(&a, "to the server");
        expect_read(&b, "to the server");
        expect_write(&b, "to the client");
        expect_read(&a, "to the client");
        assert_int_equal(read_any(&a), WIRE_AGAIN);
        assert_int_equal(ERR_peek_error(), 0);
        close_end(&a);
        close_end(&b);
    }
}

static void test_tls_tuned(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b);
    long mode = SSL_get_mode(a.ssl);
    assert_int_equal(mode & (long)SSL_MODE_RELEASE_BUFFERS, 0);
    assert_true((mode & (long)SSL_MODE_ENABLE_PARTIAL_WRITE) != 0);
    assert_int_equal(SSL_get_read_ahead(a.ssl), 1);
    close_end(&a);
    close_end(&b);
}

static bool socket_is_empty(const struct wire_socket *end)
{
    char byte;
    return recv(end->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* One recv takes several records: epoll sees nothing more, wire_has_buffered does. */
static void test_tls_buffered(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b);
    assert_false(wire_has_buffered(&a));
    expect_write(&b, "one");
    expect_write(&b, "two");
    expect_write(&b, "three");
    expect_read(&a, "one");
    assert_true(socket_is_empty(&a));
    assert_true(wire_has_buffered(&a));
    expect_read(&a, "two");
    assert_true(wire_has_buffered(&a));
    expect_read(&a, "three");
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_false(wire_has_buffered(&a));
    /* the rest of a record that was read in part */
    char bytes[4];
    size_t count;
    expect_write(&b, "abcdef");
    assert_int_equal(wire_read(&a, bytes, sizeof bytes, &count), WIRE_DONE);
    assert_true(wire_has_buffered(&a));
    expect_read(&a, "ef");
    close_end(&a);
    close_end(&b);
}

/* A record that is there in part is not "buffered": asking for it again before more comes would never end. */
static void test_tls_split_record(void **state)
{
    struct wire_socket a, b;
    unsigned char record[256];
    tls_pair_make(*state, &a, &b);
    BIO *tap = BIO_new(BIO_s_mem());
    SSL_set0_wbio(b.ssl, tap);
    for (size_t cut = 1; cut < 30; cut++) {
        expect_write(&b, "in two pieces");
        int size = BIO_read(tap, record, sizeof record);
        assert_true(size > 30);
        assert_int_equal(send(b.fd, record, cut, MSG_NOSIGNAL), cut);
        assert_int_equal(read_any(&a), WIRE_AGAIN);
        assert_false(wire_has_buffered(&a));
        assert_int_equal(send(b.fd, record + cut, (size_t)size - cut, MSG_NOSIGNAL), size - cut);
        expect_read(&a, "in two pieces");
    }
    /* a whole record with half of the next */
    expect_write(&b, "first");
    expect_write(&b, "second");
    int size = BIO_read(tap, record, sizeof record);
    assert_int_equal(send(b.fd, record, (size_t)size - 3, MSG_NOSIGNAL), size - 3);
    expect_read(&a, "first");
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_false(wire_has_buffered(&a));
    assert_int_equal(send(b.fd, record + size - 3, 3, MSG_NOSIGNAL), 3);
    expect_read(&a, "second");
    close_end(&a);
    close_end(&b);
}

static void test_tls_closed(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b); /* with a goodbye */
    expect_write(&b, "last");
    SSL_shutdown(b.ssl);
    expect_read(&a, "last");
    assert_int_equal(read_any(&a), WIRE_CLOSED);
    close_end(&a);
    close_end(&b);
    tls_pair_make(*state, &a, &b); /* without one */
    expect_write(&b, "last");
    close(b.fd);
    b.fd = -1;
    expect_read(&a, "last");
    assert_int_equal(read_any(&a), WIRE_CLOSED);
    assert_int_equal(ERR_peek_error(), 0);
    close_end(&a);
    close_end(&b);
}

static void test_tls_reset(void **state)
{
    struct wire_socket a, b;
    tcp_pair_make(&a, &b);
    tls_begin(*state, &a, &b, TLS1_3_VERSION);
    reset_end(&b);
    assert_int_equal(read_any(&a), WIRE_FAILED);
    assert_int_equal(a.os_errno, ECONNRESET);
    assert_int_equal(ERR_peek_error(), 0);
    close_end(&a);
}

/* A record that was tampered with, and bytes that are no TLS at all. */
static void test_tls_garbage(void **state)
{
    struct wire_socket a, b;
    for (int kind = 0; kind < 2; kind++) {
        tls_pair_make(*state, &a, &b);
        unsigned char record[256] = "E\0\0\0\10no TLS at all, not a bit";
        int size = 30;
        if (kind == 1) {
            BIO *tap = BIO_new(BIO_s_mem());
            SSL_set0_wbio(b.ssl, tap);
            expect_write(&b, "tampered");
            size = BIO_read(tap, record, sizeof record);
            record[size - 1] ^= 1;
        }
        assert_int_equal(send(b.fd, record, (size_t)size, MSG_NOSIGNAL), size);
        assert_int_equal(read_any(&a), WIRE_FAILED);
        assert_int_equal(a.os_errno, 0);
        assert_int_equal(ERR_peek_error(), 0);
        close_end(&a);
        close_end(&b);
    }
}

/* An error that someone else left in OpenSSL's queue is not taken for ours. */
static void test_tls_foreign_error(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b);
    ERR_raise(ERR_LIB_USER, 1);
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    ERR_raise(ERR_LIB_USER, 1);
    expect_write(&a, "fine");
    expect_read(&b, "fine");
    close_end(&a);
    close_end(&b);
}

static void test_tls_bulk(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b);
    small_buffers(&a);
    small_buffers(&b);
    bulk(&a, &b);
    bulk(&b, &a);
    close_end(&a);
    close_end(&b);
}

/* The peer asks for a new handshake (TLS 1.2) while our socket is full: its start cannot be written, so the read waits for
 * that. */
static void test_tls_read_wants_write(void **state)
{
    struct wire_socket a, b;
    char bytes[4096] = {0};
    pair_make(&a, &b);
    tls_begin(*state, &a, &b, TLS1_2_VERSION);
    small_buffers(&a);
    while (send(a.fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) /* not TLS, but nobody is going to read it */
        continue;
    assert_int_equal(SSL_renegotiate(b.ssl), 1);
    SSL_do_handshake(b.ssl);
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_true(a.wants_write);
    while (recv(b.fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    assert_int_equal(read_any(&a), WIRE_AGAIN);
    assert_false(a.wants_write); /* it is the peer's turn now */
    close_end(&a);
    close_end(&b);
}

/* Our own new handshake makes a write wait for a read. */
static void test_tls_write_wants_read(void **state)
{
    struct wire_socket a, b;
    pair_make(&a, &b);
    tls_begin(*state, &a, &b, TLS1_2_VERSION);
    SSL_set_options(b.ssl, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
    assert_int_equal(SSL_renegotiate(a.ssl), 1);
    assert_int_equal(write_any(&a), WIRE_AGAIN);
    assert_true(a.wants_read);
    assert_int_equal(read_any(&b), WIRE_AGAIN); /* answers the handshake on the way */
    assert_int_equal(write_any(&a), WIRE_AGAIN);
    assert_int_equal(read_any(&b), WIRE_AGAIN);
    assert_int_equal(write_any(&a), WIRE_DONE);
    assert_false(a.wants_read);
    expect_read(&b, "x");
    close_end(&a);
    close_end(&b);
}

static void round_trip(struct wire_socket *a, struct wire_socket *b)
{
    expect_write(a, "there");
    expect_read(b, "there");
    expect_write(b, "and back");
    expect_read(a, "and back");
    assert_int_equal(read_any(a), WIRE_AGAIN);
}

/* Once both directions have been used, OpenSSL takes no buffer any more. (It does take 40 bytes a few times for each
 * record, which nobody can keep it from.) */
static void test_tls_buffers_stay(void **state)
{
    struct wire_socket a, b;
    tls_pair_make(*state, &a, &b);
    round_trip(&a, &b);
    long before = buffers;
    assert_true(before > 0);
    for (int i = 0; i < 100; i++)
        round_trip(&a, &b);
    assert_int_equal(buffers, before);
    close_end(&a);
    close_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_plain_closed),
        cmocka_unit_test(test_plain_reset),
        cmocka_unit_test(test_plain_not_a_socket),
        cmocka_unit_test(test_plain_bulk),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_tuned),
        cmocka_unit_test(test_tls_buffered),
        cmocka_unit_test(test_tls_split_record),
        cmocka_unit_test(test_tls_closed),
        cmocka_unit_test(test_tls_reset),
        cmocka_unit_test(test_tls_garbage),
        cmocka_unit_test(test_tls_foreign_error),
        cmocka_unit_test(test_tls_bulk),
        cmocka_unit_test(test_tls_read_wants_write),
        cmocka_unit_test(test_tls_write_wants_read),
        cmocka_unit_test(test_tls_buffers_stay),
    };
    /* before OpenSSL has taken any memory */
    assert(CRYPTO_set_mem_functions(counting_malloc, counting_realloc, counting_free) == 1);
    return cmocka_run_group_tests(tests, tls_setup, tls_teardown);
}
