/* What the tests of this room share: texts read, paths compiled, what is found as one text. */
#ifndef PL_TESTS_JSON_TEST_H
#define PL_TESTS_JSON_TEST_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "json/json.h"

#define UNUSED __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct pl_arena *arena;

UNUSED static int json_setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

UNUSED static int json_teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

UNUSED static void json_must_read(struct json *json, const char *text)
{
    size_t at = 0;
    const char *wrong = json_read(json, text, strlen(text), &at);
    if (wrong != NULL)
        fail_msg("%s at byte %zu of %s", wrong, at, text);
}

UNUSED static const struct json_path *json_must_compile(const char *text)
{
    const struct json_path *path = NULL;
    size_t at = 0;
    const char *wrong = json_path_compile(text, strlen(text), arena, &path, &at);
    if (wrong != NULL)
        fail_msg("%s at byte %zu of %s", wrong, at, text);
    return path;
}

/* A token as it is written. */
UNUSED static const char *json_written(const struct json *json, uint32_t token)
{
    const struct json_token *t = &json->tokens[token];
    size_t quote = t->kind == JSON_STRING;
    return pl_strndup(arena, json->text + t->at - quote, t->bytes + 2 * quote);
}

/* "nothing", the value, or "[" and the values of a list. */
UNUSED static const char *json_found(const struct json *json, const char *path)
{
    struct json_search search = {0};
    const char *text = "[";
    assert_true(json_path_find(json_must_compile(path), json, &search));
    if (search.kind == JSON_FOUND_NOTHING)
        text = "nothing";
    else if (search.kind == JSON_FOUND_ONE)
        text = json_written(json, search.found[0]);
    for (size_t i = 0; search.kind == JSON_FOUND_LIST && i < search.count; i++)
        text = pl_format(arena, "%s%s%s", text, i > 0 ? "," : "", json_written(json, search.found[i]));
    json_search_release(&search);
    return text;
}

#endif
