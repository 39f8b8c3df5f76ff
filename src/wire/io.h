/* Non-blocking bytes over a plain or TLS socket. EINTR is handled here and nowhere else. */
#ifndef PL_WIRE_IO_H
#define PL_WIRE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_st; /* OpenSSL's SSL */

enum wire_io { WIRE_DONE, WIRE_AGAIN, WIRE_CLOSED, WIRE_FAILED };

struct wire_socket {
    int fd;              /* -1: none */
    struct ssl_st *ssl;  /* NULL: plain */
    int os_errno;        /* why the last call was WIRE_FAILED; 0 for a TLS fault */
    bool wants_write;    /* TLS: a read is waiting for the socket to become writable */
};

/* At most one system call (plain). WIRE_DONE: *ret_count > 0 bytes moved. */
enum wire_io wire_read(struct wire_socket *socket, void *bytes, size_t size, size_t *ret_count);
enum wire_io wire_write(struct wire_socket *socket, const void *bytes, size_t size, size_t *ret_count);

/* True when TLS holds decrypted bytes that epoll will not announce. */
bool wire_has_buffered(const struct wire_socket *socket);

#endif
