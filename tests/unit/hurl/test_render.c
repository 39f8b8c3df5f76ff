/* Rendering: URL and query, headers and what is implied, cookies, every kind of body; JSON stays JSON for any values. */
#include "run_test.h"

#include <strings.h>

static struct hurl_message message;

static const char *rendered(const char *file)
{
    return hurl_render(run_request(file), vars, work, &message);
}

static void render(const char *file)
{
    const char *wrong = rendered(file);
    if (wrong != NULL)
        fail_msg("%s\n%s", wrong, file);
}

static const char *text_of(struct hurl_slice slice)
{
    return pl_strndup(arena, slice.text, slice.length);
}

static const char *header_of(const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < message.header_count; i++)
        if (strcasecmp(text_of(message.headers[i].name), name) == 0) {
            assert_null(found);
            found = text_of(message.headers[i].value);
        }
    return found;
}

static void expect_url(const char *file, const char *url)
{
    render(file);
    assert_string_equal(text_of(message.url), url);
}

static void test_url(void **state)
{
    (void)state;
    run_define("name", "a b\xc3\xa9&c");
    run_define("frag", "x#y");
    run_define("k", "k&");
    run_define_int("n", -5);
    *run_variable("f") = (struct value){.type = VALUE_DOUBLE, .d = 3};
    *run_variable("b") = (struct value){.type = VALUE_BOOL, .b = true};
    *run_variable("z") = (struct value){.type = VALUE_NULL};
    run_variable("unset");
    expect_url("GET http://h/p\n", "http://h/p");
    assert_string_equal(text_of(message.method), "GET");
    assert_false(message.has_body);
    expect_url("GET http://h/p?x=1#frag\n", "http://h/p?x=1");
    expect_url("GET /p/{{n}}/{{f}}/{{b}}/{{z}}\n", "/p/-5/3.0/true/null");
    expect_url("GET http://h/{{name}}?q=%20{{name}}\n", "http://h/a%20b%C3%A9&c?q=%20a%20b%C3%A9&c");
    expect_url("GET http://h/{{frag}}\n", "http://h/x");
    expect_url("GET http://h/p\n[Query]\na: b c\n{{k}}: {{name}}\n", "http://h/p?a=b%20c&k%26=a%20b%C3%A9%26c");
    expect_url("GET http://h/p?x=1\n[QueryStringParams]\na: b\n", "http://h/p?x=1&a=b");
    expect_url("GET http://h/p?\n[Query]\na: b\n", "http://h/p?a=b");
    expect_url("GET http://h/p?x=1&\n[Query]\na: b\n", "http://h/p?x=1&a=b");
    expect_url("GET http://h/p#f\n[Query]\na: ~-._\n", "http://h/p?a=~-._");
    const char *wrong = rendered("GET http://h/{{unset}}\n");
    assert_non_null(wrong);
    assert_string_equal(wrong, "t.hurl:1:14: variable \"unset\" has no value");
    render("GET http://h/p\n"); /* and the next one is not touched by that */
}

/* Every byte that a variable can hold: what a URL may hold stays, all else is percent-encoded. */
static void test_every_byte(void **state)
{
    (void)state;
    static const char legal[] = "!#$%&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~";
    run_variable("c");
    const struct hurl_request *request = run_request("GET http://h/{{c}}\n[Query]\nq: {{c}}\n");
    for (int c = 1; c < 256; c++) {
        const char text[] = {(char)c, '\0'};
        run_define("c", text);
        assert_null(hurl_render(request, vars, work, &message));
        bool is_unreserved =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-._~", c);
        const char *encoded = pl_format(arena, "%%%02X", (unsigned)c);
        const char *path = c == '#' ? "" : strchr(legal, c) != NULL ? text : encoded;
        const char *joint = c == '?' ? "" : "?";
        assert_string_equal(text_of(message.url),
                            pl_format(arena, "http://h/%s%sq=%s", path, joint, is_unreserved ? text : encoded));
    }
}

static void test_headers(void **state)
{
    (void)state;
    run_define("v", "x y");
    run_define("split", "a\r\nEvil: 1");
    run_define("nl", "a\nb");
    run_define("empty", "");
    render("GET http://h\nA: 1\na: {{v}}\nX-{{v replace \" \" \"\"}}: z\nHost: other\nE: {{empty}}\n");
    assert_int_equal(message.header_count, 5);
    assert_string_equal(text_of(message.headers[0].value), "1");
    assert_string_equal(text_of(message.headers[1].name), "a");
    assert_string_equal(text_of(message.headers[1].value), "x y");
    assert_string_equal(text_of(message.headers[2].name), "X-xy");
    assert_string_equal(header_of("Host"), "other");
    assert_string_equal(header_of("E"), "");
    static const char *const bad[] = {"GET http://h\nA: {{split}}\n", "GET http://h\nA: {{nl}}\n",
                                      "GET http://h\n{{v}}: 1\n", "GET http://h\n{{empty}}: 1\n",
                                      "GET http://h\n[Cookies]\na: {{nl}}\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *wrong = rendered(bad[i]);
        if (wrong == NULL || strstr(wrong, i == 2 || i == 3 ? "is not the name of a header" : "a line break") == NULL)
            fail_msg("%s: %s", bad[i], wrong);
    }
}

static void test_cookies_and_authorization(void **state)
{
    (void)state;
    run_define("v", "x y");
    run_define("password", "open sesame");
    render("GET http://h\n[Cookies]\na: 1\nb: {{v}}\n[BasicAuth]\nAladdin: {{password}}\n");
    assert_string_equal(text_of(message.cookies), "a=1; b=x y");
    assert_null(header_of("Cookie"));
    assert_string_equal(header_of("Authorization"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    render("GET http://h\nCookie: own=1\n");
    assert_int_equal(message.cookies.length, 0);
    assert_string_equal(header_of("Cookie"), "own=1");
}

static void expect_body(const char *file, const char *type, const char *body)
{
    render(file);
    assert_true(message.has_body);
    assert_string_equal(text_of(message.body), body);
    if (type == NULL)
        assert_null(header_of("Content-Type"));
    else
        assert_string_equal(header_of("Content-Type"), type);
}

static void test_bodies(void **state)
{
    (void)state;
    run_define("v", "x y&\xc3\xa9");
    expect_body("POST http://h\n`hi {{v}}`\n", NULL, "hi x y&\xc3\xa9");
    expect_body("POST http://h\n```\nline {{v}}\n```\n", NULL, "line x y&\xc3\xa9\n");
    expect_body("POST http://h\nhex,00ff;\n", NULL, "");
    assert_int_equal(message.body.length, 2);
    expect_body("POST http://h\n``\n", NULL, "");
    expect_body("POST http://h\n{\"a\": [1]}\n", "application/json", "{\"a\": [1]}");
    expect_body("POST http://h\ncontent-type: x/y\n{\"a\": 1}\n", "x/y", "{\"a\": 1}");
    expect_body("POST http://h\n[Form]\na: b c\n{{v}}: +/\n", "application/x-www-form-urlencoded",
                "a=b%20c&x%20y%26%C3%A9=%2B%2F");
    expect_body("POST http://h\n```graphql\n{ a(x: \"q\") }\n```\n", "application/json",
                "{\"query\":\"{ a(x: \\\"q\\\") }\\n\"}");
}

static void test_multipart(void **state)
{
    (void)state;
    run_define("v", "x\"\r\ny");
    const char *wrong = rendered("POST http://h\n[Multipart]\na: {{v}}\n{{v}}: 2\n");
    assert_null(wrong);
    const char *type = header_of("Content-Type"), *boundary = strstr(type, "boundary=") + 9;
    assert_int_equal(strncmp(type, "multipart/form-data; boundary=", 30), 0);
    assert_string_equal(text_of(message.body),
                        pl_format(arena,
                                  "--%s\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\"\r\ny\r\n"
                                  "--%s\r\nContent-Disposition: form-data; name=\"x%%22%%0D%%0Ay\"\r\n\r\n2\r\n--%s--\r\n",
                                  boundary, boundary, boundary));
    struct hurl_work *other = hurl_work_new();
    assert_string_not_equal(other->boundary, work->boundary);
    hurl_work_free(other);
    render("POST http://h\nContent-Type: multipart/mixed\n[Multipart]\na: 1\n");
    assert_string_equal(header_of("Content-Type"), pl_format(arena, "multipart/mixed; boundary=%s", work->boundary));
    /* a part that is a file, by hand: reading it is the compiler's */
    static const struct hurl_piece name = {.text = "f", .length = 1, .variable = -1},
                                   file_name = {.text = "a\"b.txt", .length = 7, .variable = -1},
                                   content_type = {.text = "text/plain", .length = 10, .variable = -1};
    const struct hurl_part parts[] = {{.name = {&name, 1},
                                       .file = {"\0\1", 2},
                                       .file_name = {&file_name, 1},
                                       .content_type = {&content_type, 1},
                                       .is_file = true},
                                      {.name = {&name, 1}, .file = {"x", 1}, .file_name = {&name, 1}, .is_file = true}};
    struct hurl_request request = *run_request("POST http://h\n");
    request.parts = parts;
    request.part_count = COUNT(parts);
    request.body.kind = HURL_BODY_MULTIPART;
    assert_null(hurl_render(&request, vars, work, &message));
    const char *expected = pl_format(arena,
                                     "--%s\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%%22b.txt\"\r\n"
                                     "Content-Type: text/plain\r\n\r\n",
                                     work->boundary);
    assert_memory_equal(message.body.text, expected, strlen(expected));
    assert_memory_equal(message.body.text + strlen(expected), "\0\1\r\n", 4);
    assert_non_null(
        memmem(message.body.text, message.body.length, "Content-Type: application/octet-stream\r\n\r\nx\r\n", 45));
}

static void test_json_values(void **state)
{
    (void)state;
    run_define("t", "say \"hi\"\\\n\t\x01\xff");
    run_define("num", "-1.5e3");
    run_define("list", "[1, {\"a\": null}]");
    run_define("word", "Bob");
    run_define_int("i", 42);
    *run_variable("f") = (struct value){.type = VALUE_DOUBLE, .d = 2};
    *run_variable("nan") = (struct value){.type = VALUE_DOUBLE, .d = 0.0 / 0.0};
    *run_variable("b") = (struct value){.type = VALUE_BOOL, .b = false};
    *run_variable("z") = (struct value){.type = VALUE_NULL};
    expect_body(
        "POST http://h\n{\"a\":\"x{{t}}y\",\"{{word}}\":\"{{i}} {{f}} {{b}} {{z}} {{list}}\"}\n", "application/json",
        "{\"a\":\"xsay \\\"hi\\\"\\\\\\n\\t\\u0001\xef\xbf\xbdy\",\"Bob\":\"42 2.0 false null [1, {\\\"a\\\": null}]\"}");
    expect_body("POST http://h\n{\"a\":{{i}},\"b\":[{{f}},{{b}},{{z}},{{num}},{{list}}]}\n", "application/json",
                "{\"a\":42,\"b\":[2.0,false,null,-1.5e3,[1, {\"a\": null}]]}");
    expect_body("POST http://h\n{\"q\\\"\":\"\\\\\",\"a\":{{i}},\"\\\"{{i}}\":\"{{i}}\"}\n", "application/json",
                "{\"q\\\"\":\"\\\\\",\"a\":42,\"\\\"42\":\"42\"}");
    const char *wrong = rendered("POST http://h\n{\"a\":{{word}}}\n");
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "t.hurl:2:"));
    assert_non_null(strstr(wrong, "is a text that is no JSON: it belongs into quotes"));
    assert_null(strstr(wrong, "Bob"));
    assert_non_null(strstr(rendered("POST http://h\n{\"a\":{{nan}}}\n"), "JSON has no float"));
}

static void random_value(struct pl_rng *random, const char *name, struct value *ret)
{
    char text[64];
    size_t length = (size_t)pl_rng_range(random, 0, 30);
    switch (pl_rng_range(random, 0, 5)) {
    case 0:
        *ret = (struct value){.type = VALUE_INT, .i = (int64_t)pl_rng_u64(random)};
        return;
    case 1:
        *ret = (struct value){.type = VALUE_DOUBLE,
                              .d = (double)pl_rng_range(random, -1000, 1000) * 1e-3 *
                                   (double)(1ULL << pl_rng_range(random, 0, 62))};
        return;
    case 2:
        *ret = (struct value){.type = VALUE_BOOL, .b = pl_rng_range(random, 0, 1) == 1};
        return;
    case 3:
        *ret = (struct value){.type = VALUE_NULL};
        return;
    default:
        break;
    }
    for (size_t i = 0; i < length; i++) {
        int64_t c =
            pl_rng_range(random, 0, 2) == 0 ? pl_rng_range(random, 1, 255) : "\"\\{}[],:nu0 "[pl_rng_range(random, 0, 11)];
        text[i] = (char)c;
    }
    text[length] = '\0';
    run_define(name, pl_strndup(arena, text, length));
}

/* Whatever values there are: what is rendered is JSON, and each value in quotes is read back as its text. */
static void test_json_stays_json(void **state)
{
    (void)state;
    struct pl_rng random;
    struct json json = {0};
    size_t at, refused = 0;
    pl_rng_init(&random, 11, PL_RNG_TEST, 0);
    run_variable("p");
    run_variable("q");
    run_variable("r");
    const struct hurl_request *quoted = run_request(
                                  "POST http://h\n{\"a\\\\\":\"{{p}}\",\"b\":[\"x{{q}}{{r}}\",{\"{{p}}k\":1}]}\n"),
                              *bare = run_request("POST http://h\n{\"a\":{{p}},\"b\":[{{q}},{\"c\": {{r}} }]}\n");
    for (int round = 0; round < 20000; round++) {
        random_value(&random, "p", run_variable("p"));
        random_value(&random, "q", run_variable("q"));
        random_value(&random, "r", run_variable("r"));
        assert_null(hurl_render(quoted, vars, work, &message));
        const char *wrong = json_read(&json, message.body.text, message.body.length, &at);
        if (wrong != NULL)
            fail_msg("%s at %zu of %s", wrong, at, text_of(message.body));
        const struct value *p = run_variable("p");
        uint32_t token = json_member(&json, 0, "a\\", 2, &(uint64_t){1000});
        assert_int_not_equal(token, 0);
        if (p->type == VALUE_TEXT && hurl_is_utf8((struct hurl_slice){p->text, p->length}))
            assert_true(json_string_is(&json, token, p->text, p->length));
        if (hurl_render(bare, vars, work, &message) != NULL)
            refused++;
        else
            assert_null(json_read(&json, message.body.text, message.body.length, &at));
    }
    assert_in_range(refused, 5000, 19000);
    json_release(&json);
}

static void test_long(void **state)
{
    (void)state;
    enum { LONG = 3000000 };
    char *text = pl_alloc(arena, LONG + 1, 1);
    memset(text, '"', LONG);
    run_define("v", text);
    render("POST http://h/{{v}}\nX: {{v}}\n[Query]\na: {{v}}\n{\"a\": \"{{v}}\"}\n");
    assert_int_equal(message.url.length, strlen("http://h/") + 3 * LONG + strlen("?a=") + 3 * LONG);
    assert_int_equal(message.body.length, 2 * LONG + 9);
    assert_int_equal(message.headers[0].value.length, LONG);
    for (size_t i = 0; i < LONG; i++)
        assert_true(message.headers[0].value.text[i] == '"');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_url, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_every_byte, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_headers, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_cookies_and_authorization, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_bodies, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_multipart, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_json_values, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_json_stays_json, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_long, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
