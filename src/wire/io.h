/* Non-blocking bytes over a plain or TLS socket. EINTR is handled here and nowhere else. Any thread, one at a time. */
#ifndef PL_WIRE_IO_H
#define PL_WIRE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_st; /* OpenSSL's SSL */

/* DONE: bytes moved. AGAIN: wait until the socket is ready. CLOSED: the other side has ended the conversation (end of
 * stream, with or without TLS's goodbye; EPIPE when writing: what it said last can still be read). FAILED: the connection
 * is broken, see os_errno. After CLOSED and FAILED nothing more comes (or goes, after a write). */
enum wire_io { WIRE_DONE, WIRE_AGAIN, WIRE_CLOSED, WIRE_FAILED };

struct wire_socket {
    int fd;             /* -1: none */
    uint32_t tls_error; /* of the last TLS fault, for ERR_reason_error_string; 0: none is known */
    struct ssl_st *ssl; /* NULL: plain; borrowed; wire_tls_tune it first. SIGPIPE is up to its BIO: never through libpq's */
    int os_errno;       /* why the last call was WIRE_FAILED; 0 for a TLS fault */
    bool wants_write;   /* TLS: a read is waiting for the socket to become writable */
    bool wants_read;    /* TLS: a write is waiting for the socket to become readable */
    bool drained;       /* TLS: the last read found no whole record */
};

/* At most one system call (plain). size > 0. WIRE_DONE: *ret_count > 0 bytes moved, possibly fewer than size. A TLS write
 * that said AGAIN must be repeated with the same bytes (the address may differ). */
enum wire_io wire_read(struct wire_socket *socket, void *bytes, size_t size, size_t *ret_count);
enum wire_io wire_write(struct wire_socket *socket, const void *bytes, size_t size, size_t *ret_count);

/* True when TLS may hold decrypted bytes that epoll will not announce: read again, until WIRE_AGAIN, before waiting. */
bool wire_has_buffered(const struct wire_socket *socket);

/* Sets a connected SSL up for wire_read and wire_write: writes may be partial, one recv for a record, buffers stay once
 * they were taken (some 34 KB a connection). OpenSSL 3 itself still takes and frees 40 bytes a few times for each record.
 * pgconn_socket has done it. */
void wire_tls_tune(struct ssl_st *ssl);

#endif
