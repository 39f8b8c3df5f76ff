/* Messages, and text from outside. */
#include "printed.h"

#include "httpload/say_int.h"

static void test_clean(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
        size_t most;
        bool keeps_lines;
    } texts[] = {
        {"plain \xc3\xa4", "plain \xc3\xa4", 100, false},
        {"a\x1b[31mb\x07\x7f", "a\\x1b[31mb\\x07\\x7f", 100, false},
        {"a\r\nb", "a\\x0d\\x0ab", 100, false},
        {"a\r\nb\n", "a\\x0d\nb\n", 100, true},
        {"\xff\xfe\xc3", "\\xff\\xfe\\xc3", 100, false},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b"
         "31m",
         100, false}, /* a control character of eight bits */
        {"abcdef", "abc...", 3, false},
        {"ab\xc3\xa4", "ab...", 3, false},
        {"abc", "abc", 3, false},
        {"", "", 3, false},
    };
    struct pl_arena *arena = pl_arena_new();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_string_equal(httpload_clean(arena, texts[i].text, texts[i].most, texts[i].keeps_lines), texts[i].shown);
    pl_arena_free(arena);
}

static void test_say(void **state)
{
    (void)state;
    static struct printed printed;
    struct pl_err err = {0};
    printed_begin(&printed, stderr);
    assert_false(httpload_say("no %s", "\x1b]0;x"));
    assert_string_equal(printed_end(&printed, stderr), "plimsoll http: no \\x1b]0;x\n");
    pl_err_at(&err, PL_INPUT, "a.hurl", 3, 4, "wrong \x1b");
    pl_err_hint(&err, "line\n   ^ here");
    printed_begin(&printed, stderr);
    assert_false(httpload_say_err(&err));
    assert_string_equal(printed_end(&printed, stderr), "plimsoll http: a.hurl:3:4: wrong \\x1b\nline\n   ^ here\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
