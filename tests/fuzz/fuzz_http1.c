/* Whatever a server sends. The first byte says where the rest is cut; the codec must say the same of a response that comes
 * whole as of one that comes in two parts and byte by byte, and stay inside its input. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS = 24 };

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_slice(const char *bytes, size_t length, const char *slice, uint32_t slice_length)
{
    must(slice >= bytes && slice + slice_length <= bytes + length);
    for (uint32_t i = 0; i < slice_length; i++)
        must((uint8_t)slice[i] >= ' ' || slice[i] == '\t');
}

static void check_head(const char *bytes, const struct http1_head *head, const struct http1_field *fields)
{
    must(head->status >= 100 && head->status <= 999 && (head->version == 10 || head->version == 11));
    must(head->length >= 14 && bytes[head->length - 1] == '\n' && head->field_count <= FIELDS);
    check_slice(bytes, head->length, head->reason, head->reason_length);
    for (int i = 0; i < head->field_count; i++) {
        check_slice(bytes, head->length, fields[i].name, fields[i].name_length);
        check_slice(bytes, head->length, fields[i].value, fields[i].value_length);
        must(fields[i].name_length > 0);
    }
    must(head->framing != HTTP1_LENGTH || head->content_length >= 0);
    must(head->framing != HTTP1_UNTIL_CLOSE || !head->keeps_alive);
}

/* The part of `length` bytes in memory of its own, so that a read behind it is found. */
static char *copy_of(const char *bytes, size_t length)
{
    char *copy = malloc(length == 0 ? 1 : length);
    must(copy != NULL);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static enum http1_result read_part(const char *bytes, size_t length, size_t seen, bool is_head, struct http1_head *head)
{
    struct http1_field fields[FIELDS];
    char *part = copy_of(bytes, length);
    enum http1_result result = http1_read_head(part, length, seen, is_head, fields, FIELDS, head);
    if (result == HTTP1_OK)
        check_head(part, head, fields);
    must((result == HTTP1_BAD) == (head->wrong != NULL));
    free(part);
    return result;
}

static void check_same(enum http1_result result, const struct http1_head *head, enum http1_result other_result,
                       const struct http1_head *other)
{
    must(result == other_result && head->wrong == other->wrong);
    must(result != HTTP1_OK ||
         (head->length == other->length && head->framing == other->framing && head->status == other->status &&
          head->content_length == other->content_length && head->keeps_alive == other->keeps_alive &&
          head->field_count == other->field_count && head->has_gzip == other->has_gzip));
}

static void check_heads(const char *bytes, size_t length, size_t cut, bool is_head, size_t *ret_length)
{
    struct http1_head whole, part;
    enum http1_result result = read_part(bytes, length, 0, is_head, &whole), split;
    split = read_part(bytes, cut, 0, is_head, &part);
    if (split == HTTP1_PARTIAL)
        split = read_part(bytes, length, cut, is_head, &part);
    check_same(result, &whole, split, &part);
    split = HTTP1_PARTIAL;
    for (size_t i = 1; i <= length && split == HTTP1_PARTIAL; i++)
        split = read_part(bytes, i, i - 1, is_head, &part);
    if (length > 0)
        check_same(result, &whole, split, &part);
    *ret_length = result == HTTP1_OK ? whole.length : 0;
}

struct sum {
    enum http1_result result;
    size_t used, count;
    uint64_t hash;
};

static struct sum read_chunks(const char *bytes, size_t length, size_t piece)
{
    struct http1_chunks chunks;
    http1_chunks_begin(&chunks);
    struct sum sum = {.result = HTTP1_PARTIAL};
    for (size_t from = 0; from < length && sum.result == HTTP1_PARTIAL; from += piece) {
        size_t here = length - from < piece ? length - from : piece, at = 0, count;
        char *part = copy_of(bytes + from, here);
        const char *data;
        while ((sum.result = http1_read_chunks(&chunks, part, here, &at, &data, &count)) == HTTP1_OK && count > 0) {
            must(data >= part && data + count == part + at);
            sum.count += count;
            for (size_t i = 0; i < count; i++)
                sum.hash = (sum.hash ^ (uint8_t)data[i]) * 0x100000001b3U;
        }
        must(at <= here && (sum.result != HTTP1_PARTIAL || at == here));
        must((sum.result == HTTP1_BAD) == (chunks.wrong != NULL));
        sum.used = from + at;
        free(part);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    size_t length = size - 1, cut = length == 0 ? 0 : data[0] % (length + 1), head = 0;
    check_heads(bytes, length, cut, data[0] >= 0x80, &head);
    struct sum whole = read_chunks(bytes + head, length - head, length + 1),
               bytewise = read_chunks(bytes + head, length - head, 1);
    struct sum pieces = read_chunks(bytes + head, length - head, 1 + cut % 16);
    must(whole.result == bytewise.result && whole.used == bytewise.used && whole.hash == bytewise.hash &&
         whole.count == bytewise.count);
    must(whole.result == pieces.result && whole.used == pieces.used && whole.hash == pieces.hash);
    return 0;
}
