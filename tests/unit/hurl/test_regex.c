/* Patterns: groups, text that is not UTF-8, patterns made of variables, which are compiled once for each text. */
#include "run_test.h"

static void test_query(void **state)
{
    (void)state;
    run_body("id=42; name=\xc3\xa9t\xc3\xa9; empty=;");
    run_holds("regex /id=(\\d+)/ == \"42\"");
    run_holds("regex \"name=(\\\\w+)\" == \"\xc3\xa9t\xc3\xa9\""); /* letters of all languages */
    run_holds("regex /empty=(.*?);/ == \"\"");
    run_holds("regex /(?i)NAME=(.)/ == \"\xc3\xa9\"");
    run_holds("regex /nothing=(.*)/ not exists");
    run_holds("regex /id=(x)?(42)/ not exists"); /* the first group took no part */
    run_body("\xff");
    run_fails("regex /(a)/ exists", "the bytes are not UTF-8");
    headers[0] = (struct hurl_header){{"X", 1}, {"\xff", 1}};
    response.header_count = 1;
    run_fails("header \"X\" regex /(a)/ exists", "the text is not UTF-8");
    run_fails("header \"X\" matches /a/", "the text is not UTF-8");
    run_body("");
    run_holds("regex /^()$/ == \"\"");
}

/* Each place keeps what it compiled last, also when many take turns. */
static void test_templates(void **state)
{
    (void)state;
    enum { PLACES = 12 };
    static char file[PLACES * 100];
    size_t length = (size_t)snprintf(file, sizeof file, "GET http://h\nHTTP *\n[Asserts]\n");
    for (int i = 0; i < PLACES; i++) {
        run_variable(pl_format(arena, "v%d", i));
        length += (size_t)snprintf(file + length, sizeof file - length, "body matches \"^{{v%d}}-%d\"\n", i, i);
    }
    const struct hurl_request *request = run_request(file), *one = run_request("GET http://h\nHTTP *\n[Asserts]\n"
                                                                               "body matches \"^{{v0}}$\"\n");
    struct hurl_fault fault;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < PLACES; i++)
            run_define(pl_strdup(arena, pl_format(arena, "v%d", i)), pl_format(arena, "(%d|x)?.*", round / (i + 1)));
        static char text[100];
        snprintf(text, sizeof text, "%d-0-1-2-3-4-5-6-7-8-9-10-11", round);
        run_body(text);
        assert_true(hurl_judge(request, &response, &scene, work, &fault));
    }
    run_define("v0", "a+");
    run_body("aaa");
    assert_true(hurl_judge(one, &response, &scene, work, &fault));
    void *code = NULL;
    for (size_t i = 0; i < HURL_SLOTS; i++)
        if (work->slots[i].length == 4 && memcmp(work->slots[i].text, "^a+$", 4) == 0)
            code = work->slots[i].code;
    assert_non_null(code);
    assert_true(hurl_judge(one, &response, &scene, work, &fault));
    bool is_kept = false;
    for (size_t i = 0; i < HURL_SLOTS; i++)
        is_kept |= work->slots[i].code == code;
    assert_true(is_kept);
    run_define("v0", "a{2}");
    assert_false(hurl_judge(one, &response, &scene, work, &fault));
    run_define("v0", "(");
    assert_false(hurl_judge(one, &response, &scene, work, &fault));
    assert_non_null(strstr(fault.text, "is not a regular expression: missing closing parenthesis at byte 3"));
    run_define("v0", "a+");
    assert_true(hurl_judge(one, &response, &scene, work, &fault));
}

/* A pattern of variables is read as one without them: $ is the very end. */
static void test_end(void **state)
{
    (void)state;
    run_define("a", "a");
    run_body("a\n");
    run_holds("body not matches /^a$/");
    run_holds("body not matches \"^{{a}}$\"");
}

/* Searches are bounded whatever a server sends; what is usual is not. */
static void test_bounds(void **state)
{
    (void)state;
    enum { LONG = 1 << 20, TOO_LONG = (4 << 20) + 1 };
    static const char *const slow[] = {"regex /(a+)@/ exists", "body matches /a*b@/", "body not matches /(?:a|b)*z@/",
                                       "body replaceRegex /a+@/ \"\" exists", "body replaceRegex /(?=a*@)/ \"\" exists"};
    static const char *const good[] = {"regex /(#\\d+)#/ == \"#42\"", "body matches /(.|\\n)*#42#/",
                                       "body matches /#42#[^@]*@ b z$/", "body not matches /\\d{3}/",
                                       "body replaceRegex /a/ \"bb\" endsWith \"bb @ b z\""};
    char *text = pl_alloc(arena, TOO_LONG, 1);
    memset(text, 'a', TOO_LONG);
    memcpy(text + LONG - 6, " @ b z", 6);
    run_body_bytes(text, LONG);
    for (size_t i = 0; i < COUNT(slow); i++)
        run_expect_wrong(pl_format(arena, "HTTP 200\n[Asserts]\n%s", slow[i]), "check:BODY",
                         "the pattern takes too long on this text of 1048576 bytes");
    run_expect_wrong("HTTP 200\n[Captures]\nx: regex /(a+)@/", "check:BODY", "takes too long on this text");
    run_expect_wrong("HTTP 200\n[Captures]\nx: regex /(a+)@/\n[Asserts]\nstatus == 201", "check:ASSERT", "status == 201");
    for (size_t i = 0; i < 50000; i++)
        text[i] = " a\xc3\xa9\n"[i % 5];
    memcpy(text + 30000, "#42#", 4);
    memcpy(text + 50000 - 6, " @ b z", 6);
    memset(text + 50000 - 10, 'a', 4);
    run_body_bytes(text, 50000);
    for (size_t i = 0; i < COUNT(good); i++)
        run_holds(good[i]);
    run_body_bytes(text, TOO_LONG);
    run_expect_wrong("HTTP 200\n[Asserts]\nbody matches /x/", "check:BODY",
                     "a text of 4194305 bytes is not searched by a pattern: 4194304 are at most");
    run_holds("body contains \"#42#\"");
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
    } texts[] = {{"", true},
                 {"abcdefghijklmnop", true},
                 {"abcdefgh\xc3\xa9", true},
                 {"abcdefg\xc3\xa9hijklmnopqrs\xf0\x9f\x98\x80", true},
                 {"abcdefghijklmno\x80", false},
                 {"abcdefgh\xc3", false},
                 {"\xc0\x80", false},
                 {"\xed\xa0\x80", false}};
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t length = strlen(texts[i].text);
        char *bytes = support_guard_alloc(length + 1);
        memcpy(bytes + 1, texts[i].text, length);
        assert_int_equal(hurl_is_utf8((struct hurl_slice){bytes + 1, length}), texts[i].is_good);
        support_guard_free(bytes, length + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_query, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_templates, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_end, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_bounds, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_utf8, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
