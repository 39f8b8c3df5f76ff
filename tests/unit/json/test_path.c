/* Paths that are none: each with the byte where it goes wrong. */
#include "json_test.h"

static const struct bad {
    const char *text;
    size_t at;
    const char *wrong;
} bads[] = {{"", 0, "begins with $"},
            {"a", 0, "begins with $"},
            {".a", 0, "begins with $"},
            {"@.a", 0, "begins with $"},
            {"$a", 1, "dot or ["},
            {"$.", 2, "a name is due"},
            {"$..", 3, "a name is due"},
            {"$. a", 2, "a name is due"},
            {"$.a.", 4, "a name is due"},
            {"$.a b", 4, "dot or ["},
            {"$.a?", 3, "dot or ["},
            {"$[", 2, "an index is due"},
            {"$[]", 2, "an index is due"},
            {"$[a]", 2, "an index is due"},
            {"$['a", 4, "does not end"},
            {"$['a'", 5, "] or a comma"},
            {"$['a\\x']", 4, "an escape"},
            {"$['a','b'", 9, "] or a comma"},
            {"$[1,]", 4, "an index is due"},
            {"$[1 2]", 4, "] or a comma"},
            {"$[-]", 3, "an index is due"},
            {"$[9007199254740992]", 18, "too large"},
            {"$[99999999999999999999]", 22, "too large"},
            {"$[1:2:3:4]", 7, "] or a comma"},
            {"$[(@.length-1)]", 2, "[-1]"},
            {"$[?]", 3, "a value, @ or $"},
            {"$[?()]", 4, "a value, @ or $"},
            {"$[?(@.a]", 7, ") is due"},
            {"$[?(@.a == )]", 11, "a value, @ or $"},
            {"$[?(@.a = 1)]", 8, "=="},
            {"$[?(@.a == 'x)]", 15, "does not end"},
            {"$[?(@.a == foo)]", 11, "a value, @ or $"},
            {"$[?(1)]", 4, "no condition"},
            {"$[?('a')]", 4, "no condition"},
            {"$[?(@.* == 1)]", 12, "cannot be compared"},
            {"$[?(@..a < 1)]", 12, "cannot be compared"},
            {"$[?(1 == @[0:1])]", 15, "cannot be compared"},
            {"$[?(@.a && )]", 11, "a value, @ or $"},
            {"$[?(@.a | @.b)]", 8, ") is due"},
            {"$[?match(@.a, 'b')]", 3, "length() and count()"},
            {"$[?(@.a =~ /x/)]", 8, "=="},
            {"$[?(count(1) == 1)]", 11, "takes a path"},
            {"$[?(length(@.a == 1)]", 15, ") is due"},
            {"$[?(@.a == 1.)]", 13, "after its point"},
            {"$[?(@.a == 1e)]", 13, "its exponent"},
            {"$['\xff']", 3, "UTF-8"},
            {"$['\n']", 3, "control character"}};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bads); i++) {
        const struct json_path *path = NULL;
        size_t at = 999;
        const char *wrong = json_path_compile(bads[i].text, strlen(bads[i].text), arena, &path, &at);
        if (wrong == NULL || strstr(wrong, bads[i].wrong) == NULL || at != bads[i].at)
            fail_msg("%s: %s at %zu", bads[i].text, wrong == NULL ? "taken" : wrong, at);
    }
}

static char *repeated(const char *begin, const char *text, size_t count, const char *end)
{
    size_t length = strlen(text);
    char *result = pl_alloc(arena, strlen(begin) + length * count + strlen(end) + 1, 1), *at = result;
    memcpy(at, begin, strlen(begin));
    at += strlen(begin);
    for (size_t i = 0; i < count; i++, at += length)
        memcpy(at, text, length);
    memcpy(at, end, strlen(end));
    return result;
}

static void expect_refused(const char *text)
{
    const struct json_path *path;
    size_t at;
    assert_non_null(json_path_compile(text, strlen(text), arena, &path, &at));
}

static void test_limits(void **state)
{
    (void)state;
    json_must_compile(repeated("$", ".a", 128, ""));
    expect_refused(repeated("$", ".a", 129, ""));
    json_must_compile(repeated("$[?", "(", 60, repeated("@.a", ")", 60, "]")));
    expect_refused(repeated("$[?", "(", 70, repeated("@.a", ")", 70, "]")));
    expect_refused(repeated("$[?", "!", 70, "@.a]"));
    json_must_compile(repeated("$", "[?@", 8, repeated("", "]", 8, "")));
    expect_refused(repeated("$", "[?@", 9, repeated("", "]", 9, "")));
    expect_refused(repeated("$[?", "length(", 70, repeated("@", ")", 70, " == 1]")));
    json_must_compile(repeated("$[?@.a", " || @.a", 900, "]"));
    expect_refused(repeated("$[?@.a", " || @.a", 1000, "]"));
    expect_refused(repeated("$.", "a", 70000, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_bad, json_setup, json_teardown),
                                       cmocka_unit_test_setup_teardown(test_limits, json_setup, json_teardown)};
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
