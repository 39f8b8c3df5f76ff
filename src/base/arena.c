/* A list of blocks; each allocation is bumped off the newest. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PL_HOME_OF_MEMORY
#include "base/ban.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

struct farewell {
    struct farewell *next;
    void (*release)(void *what);
    void *what;
};

struct pl_arena {
    struct block *head;
    struct farewell *farewells;
};

void *pl_new(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        pl_panic("allocation of %zu x %zu bytes overflows", count, size);
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        pl_panic("out of memory: %zu bytes", bytes);
    return memory;
}

void pl_free(void *memory)
{
    free(memory);
}

struct pl_arena *pl_arena_new(void)
{
    return pl_new(1, sizeof(struct pl_arena));
}

void pl_arena_free(struct pl_arena *arena)
{
    if (arena == NULL)
        return;
    for (const struct farewell *last = arena->farewells; last != NULL; last = last->next)
        last->release(last->what);
    for (struct block *block = arena->head, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

static struct block *arena_add_block(struct pl_arena *arena, size_t bytes)
{
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    struct block *block = pl_new(1, sizeof *block + size);
    block->size = size;
    block->next = arena->head;
    arena->head = block;
    return block;
}

void *pl_alloc(struct pl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    size_t align = alignof(max_align_t);
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        pl_panic("allocation of %zu x %zu bytes overflows", count, size);
    bytes = (bytes + align - 1) / align * align;
    struct block *block = arena->head;
    if (block == NULL || block->size - block->used < bytes)
        block = arena_add_block(arena, bytes);
    void *memory = block->bytes + block->used;
    block->used += bytes;
    return memory;
}

void pl_arena_on_free(struct pl_arena *arena, void (*release)(void *what), void *what)
{
    struct farewell *farewell = pl_alloc(arena, 1, sizeof *farewell);
    *farewell = (struct farewell){.next = arena->farewells, .release = release, .what = what};
    arena->farewells = farewell;
}

char *pl_strndup(struct pl_arena *arena, const char *text, size_t length)
{
    char *copy = pl_alloc(arena, length + 1, 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *pl_strdup(struct pl_arena *arena, const char *text)
{
    return pl_strndup(arena, text, strlen(text));
}

char *pl_format(struct pl_arena *arena, const char *fmt, ...)
{
    assert(fmt != NULL);
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0)
        pl_panic("cannot format \"%s\"", fmt);
    char *text = pl_alloc(arena, (size_t)length + 1, 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, args);
    va_end(args);
    return text;
}

void *pl_grow(struct pl_arena *arena, void *old, size_t count, size_t need, size_t item_size, size_t *capacity)
{
    if (need <= *capacity)
        return old;
    size_t wanted = *capacity < 8 ? 8 : *capacity * 2;
    if (wanted < need)
        wanted = need;
    void *items = pl_alloc(arena, wanted, item_size);
    if (count > 0)
        memcpy(items, old, count * item_size);
    *capacity = wanted;
    return items;
}
