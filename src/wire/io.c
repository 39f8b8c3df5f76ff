/* Bytes over a plain or TLS socket. */
#include "wire/io.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/ban.h"

/* What a failed system call means. */
static enum wire_io from_errno(struct wire_socket *socket, int os_errno)
{
    if (os_errno == EAGAIN || os_errno == EWOULDBLOCK)
        return WIRE_AGAIN;
    socket->os_errno = os_errno;
    return os_errno == EPIPE ? WIRE_CLOSED : WIRE_FAILED;
}

/* What a TLS call that moved nothing means. Leaves OpenSSL's error queue of this thread empty, or the next caller would
 * take our fault for its own. */
static enum wire_io from_tls(struct wire_socket *socket, int result, int os_errno)
{
    int reason = SSL_get_error(socket->ssl, result);
    unsigned long first = ERR_peek_error();
    ERR_clear_error();
    switch (reason) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return WIRE_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return WIRE_CLOSED;
    case SSL_ERROR_SYSCALL:
        /* without an errno: the end of the stream, as OpenSSL before 3.0 says it */
        return os_errno == 0 ? WIRE_CLOSED : from_errno(socket, os_errno);
    default:
        /* a server that dies does not say goodbye first */
        socket->tls_error = (uint32_t)first;
        return ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? WIRE_CLOSED : WIRE_FAILED;
    }
}

static enum wire_io tls_read(struct wire_socket *socket, void *bytes, size_t size, size_t *ret_count)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_read_ex(socket->ssl, bytes, size, ret_count);
    socket->wants_write = false;
    socket->drained = false;
    if (result > 0)
        return WIRE_DONE;
    int os_errno = errno;
    socket->wants_write = SSL_want_write(socket->ssl);
    socket->drained = true;
    return from_tls(socket, result, os_errno);
}

static enum wire_io tls_write(struct wire_socket *socket, const void *bytes, size_t size, size_t *ret_count)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_write_ex(socket->ssl, bytes, size, ret_count);
    socket->wants_read = false;
    if (result > 0)
        return WIRE_DONE;
    int os_errno = errno;
    socket->wants_read = SSL_want_read(socket->ssl);
    return from_tls(socket, result, os_errno);
}

enum wire_io wire_read(struct wire_socket *socket, void *bytes, size_t size, size_t *ret_count)
{
    assert(socket->fd >= 0 && size > 0);
    socket->os_errno = 0;
    *ret_count = 0;
    if (socket->ssl != NULL)
        return tls_read(socket, bytes, size, ret_count);
    ssize_t count;
    do
        count = recv(socket->fd, bytes, size, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return from_errno(socket, errno);
    *ret_count = (size_t)count;
    return count > 0 ? WIRE_DONE : WIRE_CLOSED;
}

enum wire_io wire_write(struct wire_socket *socket, const void *bytes, size_t size, size_t *ret_count)
{
    assert(socket->fd >= 0 && size > 0);
    socket->os_errno = 0;
    *ret_count = 0;
    if (socket->ssl != NULL)
        return tls_write(socket, bytes, size, ret_count);
    ssize_t count;
    do
        count = send(socket->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return from_errno(socket, errno);
    *ret_count = (size_t)count;
    return WIRE_DONE;
}

bool wire_has_buffered(const struct wire_socket *socket)
{
    return socket->ssl != NULL && !socket->drained && SSL_has_pending(socket->ssl) == 1;
}

void wire_tls_tune(struct ssl_st *ssl)
{
    /* libpq asks OpenSSL to free its buffers whenever they are empty: an allocation for every record */
    SSL_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* one recv for a record in place of one for its header and one for the rest */
    SSL_set_read_ahead(ssl, 1);
}
