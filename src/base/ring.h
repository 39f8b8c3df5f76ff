/* A bounded single-producer, single-consumer ring of fixed-size items. Never blocks, never allocates after init.
 * Lamport 1977 with C11 acquire/release; head and tail stand on cache lines of their own. */
#ifndef PL_BASE_RING_H
#define PL_BASE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pl_ring {
    alignas(64) atomic_size_t head; /* next to pop; written by the consumer */
    alignas(64) atomic_size_t tail; /* next to push; written by the producer */
    alignas(64) unsigned char *items;
    size_t item_size, mask;
};

/* capacity is rounded up to a power of two. */
void pl_ring_init(struct pl_ring *ring, size_t item_size, size_t capacity);
void pl_ring_release(struct pl_ring *ring);

bool pl_ring_push(struct pl_ring *ring, const void *item); /* producer only; false when full */
bool pl_ring_pop(struct pl_ring *ring, void *ret_item);    /* consumer only; false when empty */

#endif
