/* Sends in batches. Each is MSG_DONTWAIT, so the kernel ends it, one way or the other, before the call returns. */
#include "wire/ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <liburing.h>

#include "base/arena.h"

#include "base/ban.h"

static bool kernel_can(struct io_uring *uring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(uring);
    bool can = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_SEND);
    io_uring_free_probe(probe);
    return can && (uring->features & IORING_FEAT_NODROP) != 0;
}

bool wire_ring_init(struct wire_ring *ring)
{
    *ring = (struct wire_ring){0};
    struct io_uring *uring = pl_new(1, sizeof *uring);
    if (io_uring_queue_init(WIRE_RING_SENDS, uring, 0) < 0) {
        pl_free(uring);
        return false;
    }
    if (!kernel_can(uring)) {
        io_uring_queue_exit(uring);
        pl_free(uring);
        return false;
    }
    ring->uring = uring;
    ring->bytes = pl_new(WIRE_RING_BYTES, 1);
    return true;
}

void wire_ring_release(struct wire_ring *ring)
{
    if (ring->uring != NULL)
        io_uring_queue_exit(ring->uring);
    pl_free(ring->uring);
    pl_free(ring->bytes);
    *ring = (struct wire_ring){0};
}

const char *wire_ring_name(const struct wire_ring *ring)
{
    return ring->uring != NULL ? "io_uring" : "";
}

bool wire_ring_put(struct wire_ring *ring, const struct wire_socket *socket, uint32_t tag, const void *bytes,
                   uint32_t length)
{
    assert(socket->fd >= 0 && length > 0);
    if (ring->uring == NULL || socket->ssl != NULL || ring->count == WIRE_RING_SENDS ||
        length > WIRE_RING_BYTES - ring->used)
        return false;
    ring->sends[ring->count++] = (struct wire_ring_send){.fd = socket->fd, .tag = tag, .at = ring->used, .length = length};
    memcpy(ring->bytes + ring->used, bytes, length);
    ring->used += length;
    return true;
}

void wire_ring_forget(struct wire_ring *ring, uint32_t tag)
{
    int kept = 0;
    for (int i = 0; i < ring->count; i++)
        if (ring->sends[i].tag != tag)
            ring->sends[kept++] = ring->sends[i];
    ring->count = kept;
    if (kept == 0)
        ring->used = 0;
}

/* Hands all sends to the kernel and gathers what became of each: `moved` by its place. */
static void batch_send(struct wire_ring *ring, int32_t moved[WIRE_RING_SENDS])
{
    for (int i = 0; i < ring->count; i++) {
        const struct wire_ring_send *send = &ring->sends[i];
        struct io_uring_sqe *sqe = io_uring_get_sqe(ring->uring);
        assert(sqe != NULL); /* the queue has as many places as there are sends, and is empty after each flush */
        io_uring_prep_send(sqe, send->fd, ring->bytes + send->at, send->length, MSG_DONTWAIT | MSG_NOSIGNAL);
        sqe->user_data = (uint64_t)i;
    }
    for (int left = ring->count; left > 0;) {
        int result = io_uring_submit_and_wait(ring->uring, (unsigned)left);
        if (result < 0 && result != -EINTR && result != -EAGAIN && result != -EBUSY)
            pl_panic("wire_ring_flush: errno %d", -result);
        struct io_uring_cqe *cqe;
        while (left > 0 && io_uring_peek_cqe(ring->uring, &cqe) == 0) {
            moved[cqe->user_data] = cqe->res;
            io_uring_cqe_seen(ring->uring, cqe);
            left--;
        }
    }
}

/* One send needs no ring. What wire_write says is put as the kernel puts it. */
static void single_send(struct wire_ring *ring, int32_t moved[WIRE_RING_SENDS])
{
    struct wire_socket socket = {.fd = ring->sends[0].fd};
    size_t count;
    enum wire_io result = wire_write(&socket, ring->bytes + ring->sends[0].at, ring->sends[0].length, &count);
    moved[0] = result == WIRE_DONE ? (int32_t)count : result == WIRE_AGAIN ? -EAGAIN : -socket.os_errno;
}

static struct wire_ring_short short_of(uint32_t tag, int32_t moved)
{
    if (moved >= 0)
        return (struct wire_ring_short){.tag = tag, .result = WIRE_DONE, .moved = (size_t)moved};
    if (moved == -EAGAIN || moved == -EINTR)
        return (struct wire_ring_short){.tag = tag, .result = WIRE_AGAIN};
    return (struct wire_ring_short){.tag = tag, .result = moved == -EPIPE ? WIRE_CLOSED : WIRE_FAILED, .os_errno = -moved};
}

int wire_ring_flush(struct wire_ring *ring, struct wire_ring_short ret_shorts[WIRE_RING_SENDS])
{
    int32_t moved[WIRE_RING_SENDS];
    if (ring->count == 0)
        return 0;
    if (ring->count == 1)
        single_send(ring, moved);
    else
        batch_send(ring, moved);
    int shorts = 0;
    for (int i = 0; i < ring->count; i++)
        if (__builtin_expect(moved[i] != (int32_t)ring->sends[i].length, 0))
            ret_shorts[shorts++] = short_of(ring->sends[i].tag, moved[i]);
    ring->count = 0;
    ring->used = 0;
    return shorts;
}
