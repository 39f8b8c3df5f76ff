/* A path and a document: the path is the first line. Whatever they are, reading, searching, comparing and taking texts
 * apart stay inside their bytes and inside their number of steps. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A table in which every value stands where it should. */
static void check_table(const struct json *json)
{
    for (uint32_t i = 0; i < json->count; i++) {
        const struct json_token *t = &json->tokens[i];
        assert(t->after > i && t->after <= json->count && t->at + (size_t)t->bytes <= json->length);
        if (t->kind == JSON_STRING) {
            char *text = malloc(t->bytes + 1), *escaped = malloc(6 * (size_t)t->bytes + 1);
            assert(text != NULL && escaped != NULL);
            size_t length = json_unescape(json, i, text);
            assert(length <= t->bytes && json_string_is(json, i, text, length));
            assert(json_escape(text, length, escaped) <= escaped + 6 * length);
            free(text);
            free(escaped);
        } else if (t->kind == JSON_INTEGER || t->kind == JSON_FLOAT) {
            int64_t integer;
            double number = json_as_double(json, i);
            assert(number == number);
            if (json_get_integer(json, i, &integer))
                assert((double)integer == number);
        } else if (t->kind >= JSON_LIST) {
            uint32_t at = i + 1;
            for (uint32_t k = 0; k < t->count; k++) {
                if (t->kind == JSON_OBJECT)
                    assert(json->tokens[at].kind == JSON_STRING && json->tokens[at++].is_key);
                assert(!json->tokens[at].is_key);
                at = json->tokens[at].after;
            }
            assert(at == t->after);
        }
    }
}

static void check_search(const char *path_text, size_t path_length, const struct json *json)
{
    struct pl_arena *arena = pl_arena_new();
    const struct json_path *path = NULL;
    struct json_search search = {0};
    size_t at = path_length + 1;
    const char *wrong = json_path_compile(path_text, path_length, arena, &path, &at);
    if (wrong != NULL) {
        assert(at <= path_length);
    } else if (json->count > 0 && json_path_find(path, json, &search)) {
        assert(search.kind != JSON_FOUND_NOTHING || search.count == 0);
        assert(search.kind != JSON_FOUND_ONE || search.count == 1);
        for (size_t i = 0; i < search.count; i++)
            assert(search.found[i] < json->count && !json->tokens[search.found[i]].is_key);
    }
    json_search_release(&search);
    pl_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t path_length = newline != NULL ? (size_t)(newline - data) : size, at = 0;
    size_t skip = newline != NULL ? path_length + 1 : size;
    struct json json = {0}, again = {0};
    const char *text = (const char *)data + skip;
    const char *wrong = json_read(&json, text, size - skip, &at);
    assert(wrong == NULL || (json.count == 0 && at <= size - skip));
    if (wrong == NULL) {
        uint64_t steps = JSON_STEPS_MOST;
        check_table(&json);
        assert(json_read(&again, text, size - skip, &at) == NULL);
        assert(json_is_same(&json, 0, &again, 0, &steps) || steps == 0 || memmem(text, size - skip, "\":", 2) != NULL);
    }
    check_search((const char *)data, path_length, &json);
    json_release(&json);
    json_release(&again);
    return 0;
}
