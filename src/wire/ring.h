/* Many sends in one system call (io_uring). A send that wakes its reader lets that reader take the processor as soon as
 * the call returns; with one call for all that is ready the sender is put aside once and not once a send, which is what
 * costs a busy client most. Waiting stays the loop's business, and reading io.h's.
 *
 * Nothing stays in the kernel between calls: a send that cannot be done at once is told as short, with what it moved. So
 * descriptors may be closed and memory used again without a word to the ring. No allocation after init. */
#ifndef PL_WIRE_RING_H
#define PL_WIRE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/io.h"

struct io_uring; /* liburing's */

enum { WIRE_RING_SENDS = 64, WIRE_RING_BYTES = 64 * 1024 };

struct wire_ring_send {
    int fd;
    uint32_t tag;
    uint32_t at, length; /* in bytes */
};

struct wire_ring {
    struct io_uring *uring; /* owned; NULL: there is none */
    uint8_t *bytes;         /* what is to be sent, WIRE_RING_BYTES; owned */
    uint32_t used;
    int count;
    struct wire_ring_send sends[WIRE_RING_SENDS];
};

/* A send that did not move all its bytes: `result` and os_errno as wire_write says them (DONE: a part), `moved` how many
 * went. */
struct wire_ring_short {
    uint32_t tag;
    enum wire_io result;
    int os_errno;
    size_t moved;
};

/* Looks whether the kernel has what is needed. false: it has not, or does not let us (some containers), or no descriptor is
 * left; the ring is zeroed then and every put says false, so that a caller needs no second way of its own. */
bool wire_ring_init(struct wire_ring *ring);
void wire_ring_release(struct wire_ring *ring);           /* a ring that was zeroed or released already is fine */
const char *wire_ring_name(const struct wire_ring *ring); /* "io_uring", or "" without one */

/* Copies a request that the next flush sends. false: nothing was kept, there is no ring, no room, or the socket speaks TLS:
 * wire_write it. At most one put for a tag between two flushes, and nothing else is written to its socket there. */
bool wire_ring_put(struct wire_ring *ring, const struct wire_socket *socket, uint32_t tag, const void *bytes,
                   uint32_t length);

/* What was put for the tag is not sent. To be called before its descriptor is closed. */
void wire_ring_forget(struct wire_ring *ring, uint32_t tag);

/* Sends all that was put, in order. Returns how many were short; the others are done. Never blocks, never raises SIGPIPE.
 */
int wire_ring_flush(struct wire_ring *ring, struct wire_ring_short ret_shorts[WIRE_RING_SENDS]);

#endif
