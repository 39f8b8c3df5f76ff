/* The names of variables: a list by index, and a table by hash. */
#include "script/names_int.h"

#include <string.h>

#include "base/ban.h"

struct name {
    const char *text;
    size_t length;
    uint64_t hash;
    bool is_set, is_used;
};

struct names {
    struct pl_arena *arena;
    struct name *list;
    size_t count, capacity;
    int *slots; /* open addressing: index + 1, 0 = free; never more than half full */
    size_t slot_count;
    struct names *prefixes; /* of \gset and \aset; NULL: none */
};

struct names *names_new(struct pl_arena *arena)
{
    enum { FIRST_SLOTS = 64 };
    struct names *names = pl_alloc(arena, 1, sizeof *names);
    names->arena = arena;
    names->slot_count = FIRST_SLOTS;
    names->slots = pl_alloc(arena, names->slot_count, sizeof *names->slots);
    return names;
}

/* FNV-1a, byte by byte, so that the hashes of all beginnings of a name come at the price of one. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_add(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

/* Where the name with this hash stands, or the free slot where it would. */
static size_t names_slot_of(const struct names *names, uint64_t hash, const char *name, size_t length)
{
    size_t mask = names->slot_count - 1, slot = (size_t)(hash ^ hash >> 32) & mask;
    while (names->slots[slot] != 0) {
        const struct name *there = &names->list[names->slots[slot] - 1];
        if (there->hash == hash && there->length == length && memcmp(there->text, name, length) == 0)
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

static uint64_t name_hash(const char *name, size_t length)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < length; i++)
        hash = hash_add(hash, name[i]);
    return hash;
}

static void names_widen(struct names *names)
{
    names->slot_count *= 2;
    names->slots = pl_alloc(names->arena, names->slot_count, sizeof *names->slots);
    for (size_t i = 0; i < names->count; i++) {
        const struct name *name = &names->list[i];
        names->slots[names_slot_of(names, name->hash, name->text, name->length)] = (int)i + 1;
    }
}

int names_find(const struct names *names, const char *name, size_t length)
{
    return names == NULL ? -1 : names->slots[names_slot_of(names, name_hash(name, length), name, length)] - 1;
}

int names_add(struct names *names, const char *name, size_t length)
{
    uint64_t hash = name_hash(name, length);
    int found = names->slots[names_slot_of(names, hash, name, length)] - 1;
    if (found >= 0) {
        names->list[found].is_used = true;
        return found;
    }
    if (names->count * 2 >= names->slot_count)
        names_widen(names);
    names->list = pl_grow(names->arena, names->list, names->count, names->count + 1, sizeof *names->list, &names->capacity);
    names->list[names->count] =
        (struct name){.text = pl_strndup(names->arena, name, length), .length = length, .hash = hash, .is_used = true};
    names->slots[names_slot_of(names, hash, name, length)] = (int)names->count + 1;
    return (int)names->count++;
}

int names_use(struct names *names, const char *name, size_t length)
{
    int found = names_find(names, name, length);
    if (found >= 0)
        names->list[found].is_used = true;
    return found;
}

void names_forget_uses(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        names->list[i].is_used = false;
}

bool names_is_used(const struct names *names, int index)
{
    return names->list[index].is_used;
}

int names_predefine(struct names *names, const char *name)
{
    int index = names_add(names, name, strlen(name));
    names_mark_set(names, index);
    return index;
}

const char *names_at(const struct names *names, int index)
{
    return names->list[index].text;
}

size_t names_count(const struct names *names)
{
    return names == NULL ? 0 : names->count;
}

void names_mark_set(struct names *names, int index)
{
    names->list[index].is_set = true;
}

void names_mark_prefix(struct names *names, const char *prefix)
{
    if (names->prefixes == NULL)
        names->prefixes = names_new(names->arena);
    names_add(names->prefixes, prefix, strlen(prefix));
}

bool names_is_set(const struct names *names, int index)
{
    const struct name *name = &names->list[index];
    const struct names *prefixes = names->prefixes;
    uint64_t hash = HASH_START;
    if (name->is_set || prefixes == NULL)
        return name->is_set;
    for (size_t length = 0;; hash = hash_add(hash, name->text[length++])) {
        if (prefixes->slots[names_slot_of(prefixes, hash, name->text, length)] != 0)
            return true;
        if (length == name->length)
            return false;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool names_is_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) || (unsigned char)c > 127;
}

size_t names_length_at(const char *text, size_t length, bool may_begin_with_digit)
{
    size_t n = 0;
    if (length > 0 && (may_begin_with_digit || !is_digit(text[0])))
        while (n < length && names_is_char(text[n]))
            n++;
    return n;
}

bool names_is_valid(const char *name, size_t length)
{
    return length > 0 && names_length_at(name, length, false) == length;
}
