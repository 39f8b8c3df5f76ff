/* A TLS server that says what it is told to: for each request the same pieces, each a record of its own and all in one
 * packet, and then one of the ends. One connection at a time. */
#ifndef PL_TESTS_UNIT_HTTP_TLSTALK_H
#define PL_TESTS_UNIT_HTTP_TLSTALK_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "support.h"

enum tlstalk_end {
    TLSTALK_STAYS,
    TLSTALK_GOODBYE, /* close_notify, and the end */
    TLSTALK_ABRUPT   /* the end of TCP's stream alone */
};

struct tlstalk {
    const char *const *pieces; /* NULL-ended */
    enum tlstalk_end end;
    int listener;
    uint16_t port;
    SSL_CTX *tls;
    pthread_t thread;
    atomic_int fd, connections, requests;
};

static inline void tlstalk_answer(struct tlstalk *talk, SSL *ssl)
{
    int on = 1, off = 0;
    setsockopt(talk->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
    for (size_t i = 0; talk->pieces[i] != NULL; i++)
        SSL_write(ssl, talk->pieces[i], (int)strlen(talk->pieces[i]));
    if (talk->end == TLSTALK_GOODBYE)
        SSL_shutdown(ssl);
    setsockopt(talk->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
}

static inline void tlstalk_wait(struct tlstalk *talk)
{
    char in[4096];
    shutdown(talk->fd, SHUT_WR);
    while (read(talk->fd, in, sizeof in) > 0)
        ;
}

static inline void tlstalk_serve(struct tlstalk *talk, SSL *ssl)
{
    char in[4096];
    talk->connections++;
    do {
        int length = SSL_read(ssl, in, sizeof in - 1);
        if (length <= 0)
            return;
        talk->requests++;
        tlstalk_answer(talk, ssl);
    } while (talk->end == TLSTALK_STAYS);
    tlstalk_wait(talk);
}

static inline void *tlstalk_run(void *argument)
{
    struct tlstalk *talk = argument;
    while ((talk->fd = accept4(talk->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        SSL *ssl = SSL_new(talk->tls);
        SSL_set_fd(ssl, talk->fd);
        if (SSL_accept(ssl) == 1)
            tlstalk_serve(talk, ssl);
        else
            tlstalk_wait(talk); /* so that the alert is read, and not lost in a reset */
        SSL_free(ssl);
        close(talk->fd);
    }
    return NULL;
}

/* client_ca: who vouches for the certificate that clients must have; NULL: they need none. */
static inline struct tlstalk *tlstalk_start(const char *cert_path, const char *key_path, const char *client_ca,
                                            const char *const *pieces, enum tlstalk_end end)
{
    struct tlstalk *talk = calloc(1, sizeof *talk);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    signal(SIGPIPE, SIG_IGN);
    talk->pieces = pieces;
    talk->end = end;
    talk->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(talk->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(talk->listener, 16), 0);
    assert_int_equal(getsockname(talk->listener, (struct sockaddr *)&address, &size), 0);
    talk->port = ntohs(address.sin_port);
    talk->tls = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate_file(talk->tls, cert_path, SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(talk->tls, key_path, SSL_FILETYPE_PEM), 1);
    if (client_ca != NULL) {
        assert_int_equal(SSL_CTX_load_verify_locations(talk->tls, client_ca, NULL), 1);
        SSL_CTX_set_verify(talk->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_session_id_context(talk->tls, (const unsigned char *)"talk", 4);
    }
    pthread_create(&talk->thread, NULL, tlstalk_run, talk);
    return talk;
}

/* After the client's connections are closed. */
static inline void tlstalk_stop(struct tlstalk *talk)
{
    shutdown(talk->listener, SHUT_RDWR);
    pthread_join(talk->thread, NULL);
    close(talk->listener);
    SSL_CTX_free(talk->tls);
    free(talk);
}

#endif
