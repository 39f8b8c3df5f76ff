/* A small HTTP/2 server for tests, over nghttp2's server session: a thread for each connection, blocking. What it does with
 * a request follows from the path:
 *   /plain  /big/N  /status/N     as httpserver.h has them; /echo: how long the body was
 *   /interim  /trailers           103 before the 200; a trailer behind the body
 *   /refuse                       each second one is refused before it is begun
 *   /reset                        reset with INTERNAL_ERROR
 *   /goaway                       answered, then the connection goes away
 *   /continue  /unwanted          100 before the body is read; 417 in place of it
 *   /early  /early-drop           413 in place of reading the body; and the connection is closed behind it
 *   /short                        states a longer body than it has
 *   /lower                        allows one stream at a time from now on
 *   /hole                         no answer
 *   /drop                         the connection is closed */
#ifndef PL_TESTS_UNIT_HTTP_H2SERVER_H
#define PL_TESTS_UNIT_HTTP_H2SERVER_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "support.h"

enum { H2SERVER_CONNS = 256 };

struct h2server {
    int listener;
    uint16_t port;
    uint32_t streams; /* allowed at a time */
    SSL_CTX *tls;
    pthread_t thread, conns[H2SERVER_CONNS];
    int fds[H2SERVER_CONNS];
    atomic_int conn_count;
    atomic_long requests, answers, body_bytes, resets, refused, open_most;
};

struct h2server_stream {
    char path[64];
    size_t left, body; /* of the answer; of the request */
    bool has_trailers, is_head, is_answered;
};

struct h2server_conn {
    struct h2server *server;
    int fd;
    SSL *ssl;
    long open;
    bool drops, goes_away, leaves;
};

static inline int h2server_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2server_conn *conn = context;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, calloc(1, sizeof(struct h2server_stream)));
        if (++conn->open > conn->server->open_most)
            conn->server->open_most = conn->open;
    }
    return 0;
}

static inline int h2server_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                                     void *context)
{
    (void)flags, (void)context;
    struct h2server_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream != NULL && name_length == 5 && memcmp(name, ":path", 5) == 0)
        snprintf(stream->path, sizeof stream->path, "%.*s", (int)value_length, (const char *)value);
    if (stream != NULL && name_length == 7 && memcmp(name, ":method", 7) == 0)
        stream->is_head = value_length == 4 && memcmp(value, "HEAD", 4) == 0;
    return 0;
}

static inline int h2server_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t length,
                                   void *context)
{
    (void)flags, (void)bytes;
    struct h2server_conn *conn = context;
    struct h2server_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    conn->server->body_bytes += (long)length;
    if (stream != NULL)
        stream->body += length;
    return 0;
}

static inline ssize_t h2server_read(nghttp2_session *session, int32_t id, uint8_t *into, size_t size, uint32_t *flags,
                                    nghttp2_data_source *source, void *context)
{
    (void)context;
    struct h2server_stream *stream = source->ptr;
    size_t count = stream->left < size ? stream->left : size;
    memset(into, 'h', count);
    stream->left -= count;
    if (stream->left == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->left == 0 && stream->has_trailers) {
        nghttp2_nv trailer = {(uint8_t *)(uintptr_t) "x-trailer", (uint8_t *)(uintptr_t) "last", 9, 4, 0};
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, &trailer, 1);
    }
    return (ssize_t)count;
}

static inline void h2server_answer(nghttp2_session *session, struct h2server_conn *conn, int32_t id,
                                   struct h2server_stream *stream)
{
    const char *path = stream->path;
    char status[16] = "200", length[24];
    nghttp2_nv fields[3] = {{(uint8_t *)(uintptr_t) ":status", (uint8_t *)status, 7, 3, 0},
                            {(uint8_t *)(uintptr_t) "server", (uint8_t *)(uintptr_t) "h2server", 6, 8, 0},
                            {(uint8_t *)(uintptr_t) "content-length", (uint8_t *)length, 14, 0, 0}};
    nghttp2_data_provider body = {.source.ptr = stream, .read_callback = h2server_read};
    stream->left = 13;
    stream->has_trailers = strcmp(path, "/trailers") == 0;
    if (sscanf(path, "/big/%zu", &stream->left) != 1)
        sscanf(path, "/status/%15s", status);
    if (strcmp(path, "/echo") == 0)
        stream->left = stream->body;
    if (strcmp(path, "/lower") == 0) {
        nghttp2_settings_entry one = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1};
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &one, 1);
    }
    bool is_short = strcmp(path, "/short") == 0;
    fields[2].valuelen = (size_t)snprintf(length, sizeof length, "%zu", stream->left + is_short);
    if (strcmp(path, "/interim") == 0) {
        nghttp2_nv early = {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "103", 7, 3, 0};
        nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, id, NULL, &early, 1, NULL);
    }
    conn->goes_away = conn->goes_away || strcmp(path, "/goaway") == 0;
    conn->server->answers++;
    stream->is_answered = true;
    nghttp2_submit_response(session, id, fields, stream->is_head || is_short ? 3 : 2,
                            stream->left > 0 && !stream->is_head ? &body : NULL);
}

static inline int h2server_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2server_conn *conn = context;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        conn->server->resets++;
    struct h2server_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream == NULL)
        return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
        nghttp2_nv go_on = {(uint8_t *)(uintptr_t) ":status", (uint8_t *)(uintptr_t) "100", 7, 3, 0};
        if (frame->hd.type == NGHTTP2_HEADERS && strcmp(stream->path, "/continue") == 0)
            nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NULL, &go_on, 1, NULL);
        if (frame->hd.type == NGHTTP2_HEADERS && strcmp(stream->path, "/unwanted") == 0) {
            conn->server->requests++;
            memcpy(stream->path, "/status/417", 12);
            h2server_answer(session, conn, frame->hd.stream_id, stream);
        }
        if (frame->hd.type == NGHTTP2_HEADERS && strncmp(stream->path, "/early", 6) == 0) {
            conn->server->requests++;
            conn->leaves = strcmp(stream->path, "/early-drop") == 0;
            memcpy(stream->path, "/status/413", 12);
            h2server_answer(session, conn, frame->hd.stream_id, stream);
        }
        return 0;
    }
    if (stream->is_answered)
        return 0;
    long number = ++conn->server->requests;
    if (strcmp(stream->path, "/drop") == 0)
        conn->drops = true;
    else if (strcmp(stream->path, "/reset") == 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    else if (strcmp(stream->path, "/refuse") == 0 && number % 2 == 1) {
        conn->server->refused++;
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    } else if (strcmp(stream->path, "/hole") != 0)
        h2server_answer(session, conn, frame->hd.stream_id, stream);
    return 0;
}

static inline int h2server_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    (void)code;
    struct h2server_conn *conn = context;
    conn->open--;
    free(nghttp2_session_get_stream_user_data(session, id));
    return 0;
}

static inline bool h2server_write(struct h2server_conn *conn, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count =
            conn->ssl != NULL ? SSL_write(conn->ssl, bytes, (int)length) : send(conn->fd, bytes, length, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        bytes += count;
        length -= (size_t)count;
    }
    return true;
}

static inline void h2server_talk(struct h2server_conn *conn, nghttp2_session *session)
{
    nghttp2_settings_entry most = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, conn->server->streams};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &most, 1);
    for (;;) {
        uint8_t bytes[16384];
        const uint8_t *out;
        for (ssize_t count; (count = nghttp2_session_mem_send(session, &out)) > 0;)
            if (!h2server_write(conn, out, (size_t)count))
                return;
        if (conn->leaves)
            return;
        if (conn->goes_away) {
            conn->goes_away = false;
            nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session),
                                  NGHTTP2_NO_ERROR, NULL, 0);
            continue;
        }
        ssize_t count =
            conn->ssl != NULL ? SSL_read(conn->ssl, bytes, sizeof bytes) : recv(conn->fd, bytes, sizeof bytes, 0);
        if (count <= 0 || nghttp2_session_mem_recv(session, bytes, (size_t)count) < 0 || conn->drops)
            return;
    }
}

struct h2server_start_args {
    struct h2server *server;
    int fd;
};

static inline void *h2server_conn_run(void *argument)
{
    struct h2server_start_args *args = argument;
    struct h2server_conn conn = {.server = args->server, .fd = args->fd};
    free(args);
    if (conn.server->tls != NULL) {
        conn.ssl = SSL_new(conn.server->tls);
        SSL_set_fd(conn.ssl, conn.fd);
    }
    if (conn.ssl == NULL || SSL_accept(conn.ssl) == 1) {
        nghttp2_session_callbacks *callbacks;
        nghttp2_session *session;
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, h2server_on_begin);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, h2server_on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2server_on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2server_on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2server_on_close);
        nghttp2_session_server_new(&session, callbacks, &conn);
        h2server_talk(&conn, session);
        for (int32_t id = 1; id < 4000; id += 2) /* those that are still open */
            free(nghttp2_session_get_stream_user_data(session, id));
        nghttp2_session_del(session);
        nghttp2_session_callbacks_del(callbacks);
    }
    SSL_free(conn.ssl);
    shutdown(conn.fd, SHUT_RDWR); /* closed by h2server_stop, so that its number is not used again before */
    return NULL;
}

static inline void *h2server_run(void *argument)
{
    struct h2server *server = argument;
    for (;;) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 || server->conn_count == H2SERVER_CONNS)
            return NULL;
        struct h2server_start_args *args = malloc(sizeof *args);
        *args = (struct h2server_start_args){server, fd};
        int index = server->conn_count, on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        server->fds[index] = fd;
        pthread_create(&server->conns[index], NULL, h2server_conn_run, args);
        server->conn_count++;
    }
}

static inline int h2server_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                                unsigned in_length, void *context)
{
    (void)ssl, (void)context;
    return nghttp2_select_next_protocol((unsigned char **)(uintptr_t)out, out_length, in, in_length) == 1
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* cert_path NULL: without TLS. */
static inline struct h2server *h2server_start(uint32_t streams, const char *cert_path, const char *key_path)
{
    struct h2server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->streams = streams;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 128), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    if (cert_path != NULL) {
        server->tls = SSL_CTX_new(TLS_server_method());
        assert_int_equal(SSL_CTX_use_certificate_file(server->tls, cert_path, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(server->tls, key_path, SSL_FILETYPE_PEM), 1);
        SSL_CTX_set_alpn_select_cb(server->tls, h2server_alpn, NULL);
    }
    pthread_create(&server->thread, NULL, h2server_run, server);
    return server;
}

static inline void h2server_stop(struct h2server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (int i = 0; i < server->conn_count; i++) {
        shutdown(server->fds[i], SHUT_RDWR);
        pthread_join(server->conns[i], NULL);
        close(server->fds[i]);
    }
    SSL_CTX_free(server->tls);
    free(server);
}

#endif
