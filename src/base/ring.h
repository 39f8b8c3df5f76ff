/* A bounded single-producer, single-consumer ring of fixed-size items. Never blocks, never allocates after init.
 * Lamport 1977 with C11 acquire/release; head and tail are kept a cache line apart from each other and from everything else
 * by room between them, not by alignment, so that a ring may stand in memory of any alignment. */
#ifndef PL_BASE_RING_H
#define PL_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pl_ring {
    unsigned char before[64];
    atomic_size_t head; /* next to pop; written by the consumer */
    unsigned char between[64];
    atomic_size_t tail; /* next to push; written by the producer */
    unsigned char after[64];
    unsigned char *items;
    size_t item_size, mask;
};

/* capacity (>= 1, items) is rounded up to a power of two; item_size >= 1. */
void pl_ring_init(struct pl_ring *ring, size_t item_size, size_t capacity);
void pl_ring_release(struct pl_ring *ring);

bool pl_ring_push(struct pl_ring *ring, const void *item); /* producer only; false when full */
bool pl_ring_pop(struct pl_ring *ring, void *ret_item);    /* consumer only; false when empty */

#endif
