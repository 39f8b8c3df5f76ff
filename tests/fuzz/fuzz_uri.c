/* A URL, or a base and a reference with a line end between them. What is taken as a URL falls into slices that lie inside
 * it and in order; what a reference resolves to is a URL that resolves to itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_parse(const char *text, size_t length)
{
    struct uri uri;
    size_t at = SIZE_MAX;
    const char *wrong = uri_parse(text, length, &uri, &at);
    must(at <= length || wrong == NULL);
    if (wrong != NULL)
        return;
    const char *end = text + length;
    must(uri.host_length > 0 && uri.host >= uri.authority && uri.port > 0);
    must(uri.host + uri.host_length <= uri.authority + uri.authority_length);
    must(uri.authority + uri.authority_length == uri.path && uri.path + uri.path_length <= end);
    must(uri.user == NULL || uri.user + uri.user_length + 1 == uri.authority);
    must(uri.path_length == 0 || *uri.path == '/' || *uri.path == '?');
    for (const char *c = text; c < end; c++)
        must((uint8_t)*c > ' ' && *c != 0x7f);
}

static void check_resolve(const char *base, size_t base_length, const char *reference, size_t length)
{
    struct pl_buf once, twice;
    pl_buf_init(&once, 4096);
    pl_buf_init(&twice, 4096);
    if (uri_resolve(base, base_length, reference, length, &once)) {
        check_parse(once.data, once.len);
        must(memchr(once.data, '#', once.len) == NULL);
        must(uri_resolve(once.data, once.len, "", 0, &twice));
        must(twice.len == once.len && memcmp(once.data, twice.data, once.len) == 0);
    } else {
        must(once.len == 0);
    }
    pl_buf_release(&once);
    pl_buf_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_parse(text, size);
    const char *line_end = size == 0 ? NULL : memchr(text, '\n', size);
    if (line_end != NULL) {
        size_t base = (size_t)(line_end - text);
        check_resolve(text, base, line_end + 1, size - base - 1);
    }
    struct pl_buf encoded;
    pl_buf_init(&encoded, 3 * size + 1);
    uri_encode(text, size, &encoded);
    must(!encoded.full && encoded.len >= size && encoded.len <= 3 * size);
    pl_buf_release(&encoded);
    return 0;
}
