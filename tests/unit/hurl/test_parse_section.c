/* Headers and sections. */
#include "parse_test.h"

static void test_headers(void **state)
{
    (void)state;
    const struct hurl_request *request =
        compile_one("GET /\nAccept: */*\nif-match:\"x\"\n{{user}}-{{count}}: a: b\nX-Empty:\n"
                    "HTTP 200\nContent-Type : text/html; charset=utf-8\n");
    assert_string_equal(shown_pairs(request->headers, request->header_count),
                        "Accept=*/*;if-match=\"x\";{user}-{count}=a: b;X-Empty=;");
    assert_string_equal(shown_pairs(request->expected_headers, request->expected_header_count),
                        "Content-Type=text/html; charset=utf-8;");
}

static void test_pairs(void **state)
{
    (void)state;
    const struct hurl_request *request =
        compile_one("POST /\n[Query]\n$top: 5\nuser[0]: b\na.b@c_d-e: f\nk\\:\\u{20}l: m\n\xc3\xbc: n\n"
                    "[Cookies]\na: b=c; d\n");
    assert_string_equal(shown_pairs(request->query, request->query_count),
                        "$top=5;user[0]=b;a.b@c_d-e=f;k: l=m;\xc3\xbc=n;");
    assert_string_equal(shown_pairs(request->cookies, request->cookie_count), "a=b=c; d;");
    assert_int_equal(request->body.kind, HURL_BODY_NONE);
}

static void test_old_and_new_names(void **state)
{
    (void)state;
    static const char *const names_of[][2] = {
        {"Query", "QueryStringParams"}, {"Form", "FormParams"}, {"Multipart", "MultipartFormData"}};
    for (size_t i = 0; i < COUNT(names_of); i++)
        for (size_t k = 0; k < 2; k++) {
            const struct hurl_request *request = compile_one(pl_format(arena, "POST /\n[%s]\na: b\n", names_of[i][k]));
            assert_int_equal(request->query_count, i == 0);
            assert_int_equal(request->form_count, i == 1);
            assert_int_equal(request->part_count, i == 2);
            assert_int_equal(request->body.kind, i == 0 ? HURL_BODY_NONE : i == 1 ? HURL_BODY_FORM : HURL_BODY_MULTIPART);
        }
    assert_string_equal(compile_one("POST /\n[Form]\na: b\n")->body.content_type, "application/x-www-form-urlencoded");
}

static void test_multipart(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("POST /\n[Multipart]\ntext: a {{user}}\nplain: file,data/hello.txt;\n"
                                                     "typed: file, data/hello.txt ; text/csv; charset={{user}} # c\n"
                                                     "blank: file,data/with\\ space.txt;\npic: file,data/pixel.gif; # c\n"
                                                     "bin: file,data/blob.bin;\npage: file,data/page.html;\n");
    static const struct {
        const char *name, *type, *file;
    } parts[] = {{"text", "", NULL},
                 {"plain", "text/plain", "data/hello.txt"},
                 {"typed", "text/csv; charset={user}", "data/hello.txt"},
                 {"blank", "text/plain", "data/with space.txt"},
                 {"pic", "image/gif", "data/pixel.gif"},
                 {"bin", "application/octet-stream", "data/blob.bin"},
                 {"page", "text/html", "data/page.html"}};
    assert_int_equal(request->part_count, COUNT(parts));
    for (size_t i = 0; i < COUNT(parts); i++) {
        const struct hurl_part *part = &request->parts[i];
        assert_string_equal(shown(&part->name), parts[i].name);
        assert_int_equal(part->is_file, parts[i].file != NULL);
        if (part->is_file) {
            assert_string_equal(shown(&part->file_name), parts[i].file);
            assert_string_equal(shown(&part->content_type), parts[i].type);
        }
    }
    assert_string_equal(shown(&request->parts[0].value), "a {user}");
    assert_int_equal(request->parts[1].file.length, 6);
    assert_memory_equal(request->parts[1].file.text, "hello\n", 6);
    assert_ptr_equal(request->parts[1].file.text, request->parts[2].file.text); /* read once */
    assert_int_equal(request->parts[5].file.length, 256);
}

static void test_auth(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\n[BasicAuth]\n{{user}}: a {{password}}\n");
    assert_true(request->has_basic_auth);
    assert_string_equal(shown(&request->user), "{user}");
    assert_string_equal(shown(&request->password), "a {password}");
    assert_false(compile_one("GET /\n[BasicAuth]\n")->has_basic_auth);
}

static void test_captures(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\nHTTP 200\n[Captures]\na: status\nb-c: body count redact\n"
                                                     "d_1: jsonpath \"$.x\" nth 1 # comment\n");
    assert_int_equal(request->capture_count, 3);
    assert_int_equal(request->captures[0].variable, names_find(names, "a", 1));
    assert_int_equal(request->captures[1].variable, names_find(names, "b-c", 3));
    assert_false(request->captures[0].is_redacted);
    assert_true(request->captures[1].is_redacted);
    assert_int_equal(request->captures[1].query.filter_count, 1);
    assert_int_equal(request->captures[2].query.filters[0].number, 1);
    assert_int_equal(request->captures[2].place.line, 6);
}

/* Sections of a request and a response in each order mean the same. */
static void test_order(void **state)
{
    (void)state;
    static const char *const sections[] = {"[Query]\nq: 1\n", "[Form]\nf: 2\n", "[Cookies]\nc: 3\n", "[BasicAuth]\nu: p\n",
                                           "[Options]\nlocation: true\n"};
    for (size_t first = 0; first < COUNT(sections); first++) {
        const char *text = "POST /\nH: h\n";
        for (size_t i = 0; i < COUNT(sections); i++)
            text = pl_format(arena, "%s%s", text, sections[(first + i * 2) % COUNT(sections)]);
        const struct hurl_request *request = compile_one(text);
        assert_string_equal(shown_pairs(request->query, request->query_count), "q=1;");
        assert_string_equal(shown_pairs(request->form, request->form_count), "f=2;");
        assert_string_equal(shown_pairs(request->cookies, request->cookie_count), "c=3;");
        assert_string_equal(shown(&request->user), "u");
        assert_true(request->facts.follows);
    }
}

/* What looks like a section and is JSON. */
static void test_json_lists(void **state)
{
    (void)state;
    static const char *const lists[] = {"[]", "[1]", "[true]", "[null]", "[ 1 ]", "[\"Query\"]", "[{}]", "[[]]"};
    for (size_t i = 0; i < COUNT(lists); i++) {
        const struct hurl_request *request = compile_one(pl_format(arena, "POST /\n[Query]\na: b\n%s\n", lists[i]));
        assert_true(request->body.is_json);
        assert_string_equal(shown(&request->body.text), lists[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARSE_TEST(test_headers),   PARSE_TEST(test_pairs),     PARSE_TEST(test_old_and_new_names),
        PARSE_TEST(test_multipart), PARSE_TEST(test_auth),      PARSE_TEST(test_captures),
        PARSE_TEST(test_order),     PARSE_TEST(test_json_lists)};
    return cmocka_run_group_tests_name("parse_section", tests, NULL, NULL);
}
