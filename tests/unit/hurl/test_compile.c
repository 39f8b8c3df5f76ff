/* Requests and responses, what names a step, and requests without a file. */
#include "parse_test.h"

static void test_requests(void **state)
{
    (void)state;
    const struct program *program =
        compile("GET http://a/b?c={{user}} # comment\n\nM-SEARCH /x\nHTTP 200\n\nDELETE {{host}}/y\n");
    assert_int_equal(program->io_step_count, 3);
    assert_int_equal(program->command_count, 3);
    assert_int_equal(program->step_count, 3);
    assert_string_equal(program->name, "t.hurl");
    assert_ptr_equal(program->names, names);
    static const struct {
        const char *text, *method, *url;
        int line;
    } steps[] = {{"GET http://a/b?c={{user}}", "GET", "http://a/b?c={user}", 1},
                 {"M-SEARCH /x", "M-SEARCH", "/x", 3},
                 {"DELETE {{host}}/y", "DELETE", "{host}/y", 6}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        const struct step *step = &program->steps[i];
        assert_int_equal(step->kind, STEP_HTTP);
        assert_int_equal(step->line, steps[i].line);
        assert_int_equal(step->io_index, i);
        assert_int_equal(step->number, i);
        assert_string_equal(step->text, steps[i].text);
        assert_string_equal(step->http->method, steps[i].method);
        assert_string_equal(shown(&step->http->url), steps[i].url);
        assert_string_equal(step->http->name, "t.hurl");
    }
}

static void test_responses(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int version, status;
    } cases[] = {{"HTTP 200", 0, 200},    {"HTTP *", 0, 0},          {"HTTP/1.0 404", 10, 404}, {"HTTP/1.1 100", 11, 100},
                 {"HTTP/2 999", 20, 999}, {"HTTP/2.0 200", 20, 200}, {"HTTP/* 301", 0, 301},    {"HTTP/1.1 *", 11, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hurl_request *request = compile_one(pl_format(arena, "GET /\n%s\n", cases[i].line));
        assert_true(request->has_response);
        assert_int_equal(request->expected_version, cases[i].version);
        assert_int_equal(request->expected_status, cases[i].status);
    }
    assert_false(compile_one("GET /\n")->has_response);
}

/* One line, without a password, cut when it is long. */
static void test_step_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"GET http://alice:s3cret@host/x@y", "GET http://alice:***@host/x@y"},
        {"GET http://alice@host/", "GET http://alice@host/"},
        {"GET http://{{user}}:{{password}}@host/", "GET http://{{user}}:***@host/"},
        {"GET http://a:p:q@r@host/", "GET http://a:***@host/"},
        {"GET http://host/a:b@c", "GET http://host/a:b@c"},
        {"GET /a?b=c:d@e", "GET /a?b=c:d@e"},
        {"GET http://h/a?token=t0p&x=1&password=p", "GET http://h/a?token=***&x=1&password=***"},
        {"GET http://h/a?x=token&api_key={{password}}&secret", "GET http://h/a?x=token&api_key={{password}}&secret"},
        {"GET   /tabs\t ", "GET /tabs"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(compile(pl_format(arena, "%s\n", cases[i][0]))->steps[0].text, cases[i][1]);
    char url[1001];
    memset(url, 'u', sizeof url - 1);
    url[0] = '/';
    url[1000] = '\0';
    const char *text = compile(pl_format(arena, "GET %s\n", url))->steps[0].text;
    assert_int_equal(strlen(text), 4 + PARSE_SHOWN_BYTES + 3);
    assert_string_equal(text + strlen(text) - 5, "uu...");
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const good[] = {
        "http://h",        "https://h:1/",          "http://[::1]:8/x",    "/",   "/p?q",       "{{host}}", "{{host}}/x",
        "http://{{host}}", "https://{{host}}:80/x", "http://h-{{count}}/", "//x", "/a{{user}}b"};
    for (size_t i = 0; i < COUNT(good); i++)
        compile(pl_format(arena, "GET %s\n", good[i]));
    static const char *const bad[] = {"h",         "x{{host}}", "http:/h", "http://", "http://:80", "http://@h",
                                      "http://?x", "ws://h",    "?x",      "*",       "\\u{20}"};
    for (size_t i = 0; i < COUNT(bad); i++)
        refusal(pl_format(arena, "GET %s\n", bad[i]));
}

static void test_file_names(void **state)
{
    (void)state;
    assert_true(hurl_is_file_name("a.hurl"));
    assert_true(hurl_is_file_name("x/y.z/a.b.hurl"));
    assert_false(hurl_is_file_name(".hurl"));
    assert_false(hurl_is_file_name("a.sql"));
    assert_false(hurl_is_file_name("hurl"));
    assert_false(hurl_is_file_name(""));
    assert_false(hurl_is_file_name("a.hurl.bak"));
}

static enum pl_code plain(const struct hurl_plain *request, struct program **ret_program, const char **ret_what)
{
    struct pl_err *err = pl_alloc(arena, 1, sizeof *err);
    enum pl_code code = hurl_compile_plain(request, names, arena, ret_program, err);
    *ret_what = err->what;
    return code;
}

static void test_plain(void **state)
{
    (void)state;
    static const char *const headers[] = {"Accept: */*", "X-A:b:c", "X-Empty:", "Host: {{user}}"};
    struct program *program;
    const char *what;
    const struct hurl_plain request = {"PUT", "http://u:p@h/{{user}}#x", headers, COUNT(headers), "a\0b", 3, false};
    assert_int_equal(plain(&request, &program, &what), PL_OK);
    assert_int_equal(program->step_count, 1);
    assert_int_equal(program->io_step_count, 1);
    const struct step *step = &program->steps[0];
    assert_string_equal(step->text, "PUT http://u:***@h/{{user}}#x");
    assert_int_equal(step->io_index, 0);
    assert_int_equal(step->line, 1);
    const struct hurl_request *http = step->http;
    assert_string_equal(shown(&http->url), "http://u:p@h/{{user}}#x"); /* no templates */
    assert_string_equal(shown_pairs(http->headers, http->header_count), "Accept=*/*;X-A=b:c;X-Empty=;Host={{user}};");
    assert_string_equal(hex_of(http->body.bytes), "610062");
    assert_true(http->facts.is_constant);
    assert_false(http->facts.keeps_body || http->has_response);
    assert_string_equal(http->facts.source, "");
    assert_true(http->refuses_errors);
    assert_int_equal(http->facts.max_redirects, 50);
    const struct hurl_plain empty = {"GET", "/", NULL, 0, "", 0, true}, none = {"GET", "/", NULL, 0, NULL, 0, false};
    assert_int_equal(plain(&empty, &program, &what), PL_OK);
    assert_int_equal(program->steps[0].http->body.kind, HURL_BODY_BYTES);
    assert_false(program->steps[0].http->refuses_errors);
    assert_int_equal(plain(&none, &program, &what), PL_OK);
    assert_int_equal(program->steps[0].http->body.kind, HURL_BODY_NONE);
}

static void test_plain_errors(void **state)
{
    (void)state;
    static const char *const headers[] = {"no colon", ": x", "a b: c", "A: b\r\nC: d"};
    static const char *const whats[] = {"this is no header: \"no\"", "this is no header: \"\"", "this is no header: \"a\"",
                                        "this is no header: \"A\""}; /* never its value */
    struct program *program;
    const char *what;
    for (size_t i = 0; i < COUNT(headers); i++) {
        const struct hurl_plain request = {"GET", "/", &headers[i], 1, NULL, 0, false};
        assert_int_equal(plain(&request, &program, &what), PL_USAGE);
        assert_string_equal(what, whats[i]);
    }
    const struct hurl_plain request = {"GE T", "/", NULL, 0, NULL, 0, false};
    assert_int_equal(plain(&request, &program, &what), PL_USAGE);
    assert_string_equal(what, "this is no method: \"GE T\"");
}

static void test_captures(void **state)
{
    (void)state;
    assert_false(hurl_program_captures(compile("GET /\nHTTP 200\n[Asserts]\nstatus == 200\n")));
    assert_false(hurl_program_captures(compile("GET /\n[Options]\nvariable: a=b\nrepeat: {{count}}\n")));
    assert_true(hurl_program_captures(compile("GET /\n\nGET /\nHTTP 200\n[Captures]\na: status\n")));
    assert_true(hurl_program_captures(compile("GET /\n[Options]\nvariable: a={{user}}\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARSE_TEST(test_requests),   PARSE_TEST(test_responses), PARSE_TEST(test_step_text),    PARSE_TEST(test_urls),
        PARSE_TEST(test_file_names), PARSE_TEST(test_plain),     PARSE_TEST(test_plain_errors), PARSE_TEST(test_captures)};
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
