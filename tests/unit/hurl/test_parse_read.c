/* Places, lines and words: what is skipped, and where a line ends. */
#include "parse_test.h"

static void test_places(void **state)
{
    (void)state;
    const char *text = "GET /a\n\n# c\n  GET /b\nX: {{user}}\nHTTP *\nA: b\n";
    const struct program *program = compile(text);
    const struct hurl_request *second = request_of(program, 1);
    assert_int_equal(second->place.line, 4);
    assert_int_equal(second->place.col, 3);
    assert_int_equal(second->facts.line, 4);
    assert_int_equal(second->headers[0].place.line, 5);
    assert_int_equal(second->headers[0].value.pieces[0].place.col, 4);
    assert_int_equal(second->status_place.line, 6);
    assert_int_equal(second->status_place.col, 6);
    assert_int_equal(second->expected_headers[0].place.line, 7);
    assert_int_equal(program->steps[1].line, 4);
}

/* The same file with both ends of lines, with comments everywhere, and with none at the end. */
static void test_line_ends(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "GET /x\nA: b\n[Query]\nc: d\n`body`\nHTTP 200\n[Asserts]\nstatus == 200\n",
        "GET /x\r\nA: b\r\n[Query]\r\nc: d\r\n`body`\r\nHTTP 200\r\n[Asserts]\r\nstatus == 200\r\n",
        "GET /x # 1\nA: b # 2\n[Query] # 3\nc: d # 4\n`body` # 5\nHTTP 200 # 6\n[Asserts] # 7\nstatus == 200 # 8",
        "\n\n GET /x\n\n\tA: b\n\n  [Query]\n\n c: d\n\n `body`\n\n HTTP 200\n\n [Asserts]\n\n status == 200",
        "#\nGET /x#\n#\nA: b#\n#\n[Query]#\nc: d#\n#\n`body`#\n#\nHTTP 200#\n[Asserts]#\nstatus == 200#\n#",
        "\xEF\xBB\xBFGET\t/x\nA\t:\tb\t\n[Query]\nc:d\n`body`\nHTTP\t200\n[Asserts]\nstatus\t==\t200\t\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct hurl_request *request = compile_one(texts[i]);
        assert_string_equal(shown(&request->url), "/x");
        assert_string_equal(shown_pairs(request->headers, request->header_count), "A=b;");
        assert_string_equal(shown_pairs(request->query, request->query_count), "c=d;");
        assert_string_equal(shown(&request->body.text), "body");
        assert_int_equal(request->expected_status, 200);
        assert_int_equal(request->assert_count, 1);
    }
}

/* A carriage return that ends no line is a character like others. */
static void test_carriage_return(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("POST /\n```\r\na\rb\r\n```\r\n");
    assert_string_equal(shown(&request->body.text), "a\rb\r\n");
    assert_string_equal(refusal("GET /\rx\n"), "1:5: a URL holds no blanks and control characters");
}

static void test_shown(void **state)
{
    (void)state;
    struct parser p = {.arena = arena};
    char text[400];
    memset(text, 'x', sizeof text);
    memcpy(text + PARSE_SHOWN_BYTES - 1, "\xc3\xa9", 2); /* would be cut in two */
    text[3] = '\x1b';
    const char *cut = parse_shown(&p, text, sizeof text);
    assert_int_equal(strlen(cut), PARSE_SHOWN_BYTES - 1 + 3);
    assert_string_equal(cut + PARSE_SHOWN_BYTES - 2, "x...");
    assert_int_equal(cut[3], ' ');
    assert_string_equal(parse_shown(&p, "as it is", 8), "as it is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_places), PARSE_TEST(test_line_ends),
                                       PARSE_TEST(test_carriage_return), PARSE_TEST(test_shown)};
    return cmocka_run_group_tests_name("parse_read", tests, NULL, NULL);
}
