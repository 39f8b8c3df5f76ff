/* Positions only grow; the index is position & mask. */
#include "base/ring.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

#include "base/ban.h"

void pl_ring_init(struct pl_ring *ring, size_t item_size, size_t capacity)
{
    assert(item_size > 0 && capacity > 0 && capacity <= SIZE_MAX / 2);
    size_t rounded = 1;
    while (rounded < capacity)
        rounded *= 2;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ring->items = pl_new(rounded, item_size);
    ring->item_size = item_size;
    ring->mask = rounded - 1;
}

void pl_ring_release(struct pl_ring *ring)
{
    pl_free(ring->items);
    ring->items = NULL;
}

bool pl_ring_push(struct pl_ring *ring, const void *item)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (tail - head > ring->mask)
        return false;
    memcpy(ring->items + (tail & ring->mask) * ring->item_size, item, ring->item_size);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

bool pl_ring_pop(struct pl_ring *ring, void *ret_item)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head == tail)
        return false;
    memcpy(ret_item, ring->items + (head & ring->mask) * ring->item_size, ring->item_size);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}
