/* Bodies of every kind, and included files. */
#include "parse_test.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static const struct hurl_body *body_of(const char *text)
{
    return &compile_one(pl_format(arena, "POST /\n%s\n", text))->body;
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *written;
        enum hurl_body_kind kind;
        const char *text, *content_type;
        bool is_json;
    } cases[] = {
        {"", HURL_BODY_NONE, "", NULL, false},
        {"`one {{user}} \\` \\n`", HURL_BODY_TEXT, "one {user} ` \n", NULL, false},
        {"``", HURL_BODY_TEXT, "", NULL, false},
        {"```one {{user}} \\n```", HURL_BODY_TEXT, "one {user} \\n", NULL, false},
        {"``````", HURL_BODY_TEXT, "", NULL, false},
        {"```\n```", HURL_BODY_TEXT, "", NULL, false},
        {"```  \na\n `b` {{user}}\n```", HURL_BODY_TEXT, "a\n `b` {user}\n", NULL, false},
        {"```\na```", HURL_BODY_TEXT, "a", NULL, false},
        {"```json\n{{user}}\n```", HURL_BODY_TEXT, "{user}\n", "application/json", false},
        {"```xml\n<a>\n```", HURL_BODY_TEXT, "<a>\n", "application/xml", false},
        {"```raw\n{{ x }}\\n\n```", HURL_BODY_TEXT, "{{ x }}\\n\n", NULL, false},
        {"```novariable\n{{ x }}\\n\n```", HURL_BODY_TEXT, "{{ x }}\\n\n", NULL, false},
        {"```escape\n{{user}}\\t\\u{41}\n```", HURL_BODY_TEXT, "{user}\tA\n", NULL, false},
        {"```json, escape ,novariable \n{{\\u{41}\n```", HURL_BODY_TEXT, "{{A\n", "application/json", false},
        {"{\"a\": {{user}}}", HURL_BODY_TEXT, "{\"a\": {user}}", "application/json", true},
        {"<a>{{user}}</a>", HURL_BODY_TEXT, "<a>{{user}}</a>", "application/xml", false},
        {"```graphql\n{a}\n```", HURL_BODY_GRAPHQL, "{a}\n", "application/json", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hurl_body *body = body_of(cases[i].written);
        assert_int_equal(body->kind, cases[i].kind);
        assert_string_equal(shown(&body->text), cases[i].text);
        assert_int_equal(body->is_json, cases[i].is_json);
        if (cases[i].content_type == NULL)
            assert_null(body->content_type);
        else
            assert_string_equal(body->content_type, cases[i].content_type);
        assert_int_equal(body->place.line, cases[i].kind == HURL_BODY_NONE ? 0 : 2);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *written, *bytes;
    } cases[] = {{"hex,00FFa9;", "00ffa9"},
                 {"hex, 00 ff ;", "00ff"},
                 {"hex,;", ""},
                 {"base64,AAECAw==;", "00010203"},
                 {"base64,AAECAw;", "00010203"},
                 {"base64, AAE\n CAw= = ;", "00010203"},
                 {"base64,+/+/;", "fbffbf"},
                 {"base64,;", ""},
                 {"```hex\n00 ff\na9\n```", "00ffa9"},
                 {"```base64\nAAEC\nAw==\n```", "00010203"},
                 {"file,data/hello.txt;", "68656c6c6f0a"},
                 {"file, data/hello.txt ; # comment", "68656c6c6f0a"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hurl_body *body = body_of(cases[i].written);
        assert_int_equal(body->kind, HURL_BODY_BYTES);
        assert_string_equal(hex_of(body->bytes), cases[i].bytes);
    }
}

/* Property: any bytes, written as base64 or hexadecimal digits, are themselves. */
static void test_any_bytes(void **state)
{
    (void)state;
    enum { ROUNDS = 200, MOST = 50 };
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_SCRIPT, 0);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char bytes[MOST + 3] = {0};
        size_t length = (size_t)pl_rng_range(&rng, 0, MOST);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)pl_rng_range(&rng, 0, 255);
        const char *hex = hex_of((struct hurl_slice){(const char *)bytes, length}), *base64 = "";
        for (size_t i = 0; i < length; i += 3) {
            uint32_t three = (uint32_t)(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
            base64 = pl_format(arena, "%s%c%c%c%c", base64, digits[three >> 18], digits[three >> 12 & 63],
                               i + 1 < length ? digits[three >> 6 & 63] : '=', i + 2 < length ? digits[three & 63] : '=');
        }
        assert_string_equal(hex_of(body_of(pl_format(arena, "hex,%s;", hex))->bytes), hex);
        assert_string_equal(hex_of(body_of(pl_format(arena, "base64,%s;", base64))->bytes), hex);
    }
}

static void test_graphql(void **state)
{
    (void)state;
    const struct hurl_body *body =
        body_of("```graphql\nquery A { a(x: \"{{user}}\") }\n\nvariables { \"b\": \"{{user}}\",\n \"c\": "
                "{{count}} }\n\n```");
    assert_string_equal(shown(&body->text), "query A { a(x: \"{user}\") }\n\n");
    assert_string_equal(shown(&body->variables), "{ \"b\": \"{user}\",\n \"c\": {count} }");
    body = body_of("```graphql\n{ a(variables: 1) }\n variables { x }\nvariables_of { y }\n```");
    assert_string_equal(shown(&body->text), "{ a(variables: 1) }\n variables { x }\nvariables_of { y }\n");
    assert_int_equal(body->variables.piece_count, 0);
}

/* Of a response they are what is expected. */
static void test_expected(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\nHTTP 200\n[Asserts]\nstatus == 200\n{\"a\": 1}\n");
    assert_int_equal(request->body.kind, HURL_BODY_NONE);
    assert_true(request->expected_body.is_json);
    assert_true(request->facts.keeps_body);
    assert_int_equal(request->assert_count, 1);
    assert_string_equal(hex_of(compile_one("GET /\nHTTP 200\nhex,00;\n")->expected_body.bytes), "00");
}

static const char *const body_queries[] = {"body", "bytes", "rawbytes", "jsonpath \"$.a\"", "regex /(a)/", "sha256", "md5"};
static const char *const other_queries[] = {"status",       "version",           "url",      "ip",       "header \"a\"",
                                            "cookie \"a\"", "variable \"user\"", "duration", "redirects"};

static void test_keeps_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(body_queries); i++) {
        assert_true(compile_one(pl_format(arena, "GET /\nHTTP *\n[Asserts]\nstatus exists\n%s exists\n", body_queries[i]))
                        ->facts.keeps_body);
        assert_true(compile_one(pl_format(arena, "GET /\nHTTP *\n[Captures]\na: %s\nb: status\n", body_queries[i]))
                        ->facts.keeps_body);
    }
    for (size_t i = 0; i < COUNT(other_queries); i++)
        assert_false(
            compile_one(pl_format(arena, "GET /\nHTTP *\n[Asserts]\n%s exists\n", other_queries[i]))->facts.keeps_body);
}

static void test_constant(void **state)
{
    (void)state;
    static const char *const constant[] = {"", "X: y\n[Query]\na: b\n[Cookies]\nc: d\n[BasicAuth]\ne: f\n{\"a\": 1}",
                                           "[Multipart]\na: b\nc: file,data/hello.txt;", "[Form]\na: b"};
    static const char *const varying[] = {"X: {{user}}",
                                          "{{user}}: y",
                                          "[Query]\na: {{user}}",
                                          "[Cookies]\na: {{newUuid}}",
                                          "[BasicAuth]\na: {{password}}",
                                          "[Form]\na: {{user}}",
                                          "[Multipart]\na: {{user}}",
                                          "[Multipart]\na: file,data/hello.txt; {{user}}",
                                          "{\"a\": {{user}}}",
                                          "`{{newDate}}`",
                                          "```graphql\n{a}\nvariables {\"a\": {{user}}}\n```"};
    for (size_t i = 0; i < COUNT(constant); i++)
        assert_true(compile_one(pl_format(arena, "POST /\n%s\n", constant[i]))->facts.is_constant);
    for (size_t i = 0; i < COUNT(varying); i++)
        assert_false(compile_one(pl_format(arena, "POST /\n%s\n", varying[i]))->facts.is_constant);
    assert_false(compile_one("GET {{host}}/\n")->facts.is_constant);
}

/* ---- files ---- */

static void put(const char *path, const char *text)
{
    struct pl_err err = {0};
    if (pl_file_write(path, text, strlen(text), &err) != PL_OK)
        fail_msg("%s", err.what);
}

static enum pl_code include(const char *script, const char *root, const char *name, const char **ret_what)
{
    const char *text = pl_format(arena, "POST /\nfile,%s;\n", name);
    struct pl_err *err = pl_alloc(arena, 1, sizeof *err);
    struct program *program;
    enum pl_code code = hurl_compile(script, text, strlen(text), root, names, arena, &program, err);
    *ret_what = err->what;
    return code;
}

/* Inside the root, also by a link; not outside, by no way. */
static void test_files(void **state)
{
    (void)state;
    char top[] = "/tmp/hurl-files-XXXXXX";
    assert_non_null(mkdtemp(top));
    const char *root = pl_format(arena, "%s/root", top), *sub = pl_format(arena, "%s/root/sub", top);
    const char *beside = pl_format(arena, "%s/root-beside", top), *what;
    assert_int_equal(mkdir(root, 0755) | mkdir(sub, 0755) | mkdir(beside, 0755), 0);
    put(pl_format(arena, "%s/in.txt", root), "in");
    put(pl_format(arena, "%s/sub/deep.txt", root), "deep");
    put(pl_format(arena, "%s/..dots", root), "dots");
    put(pl_format(arena, "%s/secret.txt", beside), "secret");
    assert_int_equal(symlink("sub/deep.txt", pl_format(arena, "%s/link", root)), 0);
    assert_int_equal(symlink("../root-beside/secret.txt", pl_format(arena, "%s/out", root)), 0);
    assert_int_equal(symlink("../root-beside", pl_format(arena, "%s/outdir", root)), 0);
    assert_int_equal(symlink("/etc/hostname", pl_format(arena, "%s/abs", root)), 0);
    static const char *const good[] = {"in.txt", "./in.txt", "sub/deep.txt", "link", "..dots", "sub//deep.txt"};
    for (size_t i = 0; i < COUNT(good); i++)
        if (include("x.hurl", root, good[i], &what) != PL_OK)
            fail_msg("%s: %s", good[i], what);
    static const char *const bad[] = {"out", "outdir/secret.txt", "abs", "../root-beside/secret.txt", "sub/../../x",
                                      "..",  "/etc/hostname"};
    for (size_t i = 0; i < COUNT(bad); i++)
        if (include("x.hurl", root, bad[i], &what) != PL_INPUT)
            fail_msg("%s is taken: %s", bad[i], what);
    assert_int_equal(include("x.hurl", root, "none", &what), PL_NOT_FOUND);
    assert_int_not_equal(include("x.hurl", root, "sub", &what), PL_OK); /* a folder */
    /* without a root: the folder of the script */
    assert_int_equal(include(pl_format(arena, "%s/x.hurl", root), NULL, "sub/deep.txt", &what), PL_OK);
    assert_int_equal(include(pl_format(arena, "%s/sub/x.hurl", root), NULL, "deep.txt", &what), PL_OK);
    assert_int_equal(include(pl_format(arena, "%s/sub/x.hurl", root), NULL, "in.txt", &what), PL_NOT_FOUND);
    assert_int_equal(include("x.hurl", pl_format(arena, "%s/none", top), "in.txt", &what), PL_NOT_FOUND);
    const char *large = pl_format(arena, "%s/large", root);
    put(large, "");
    assert_int_equal(truncate(large, PARSE_FILE_BYTES + 1), 0);
    assert_int_equal(include("x.hurl", root, "large", &what), PL_LIMIT);
    static const char *const files[] = {"root/in.txt", "root/sub/deep.txt", "root/..dots", "root-beside/secret.txt",
                                        "root/link",   "root/out",          "root/outdir", "root/abs",
                                        "root/large"};
    for (size_t i = 0; i < COUNT(files); i++)
        assert_int_equal(unlink(pl_format(arena, "%s/%s", top, files[i])), 0);
    assert_int_equal(rmdir(sub) | rmdir(root) | rmdir(beside) | rmdir(top), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_kinds),    PARSE_TEST(test_bytes),    PARSE_TEST(test_any_bytes),
                                       PARSE_TEST(test_graphql),  PARSE_TEST(test_expected), PARSE_TEST(test_keeps_body),
                                       PARSE_TEST(test_constant), PARSE_TEST(test_files)};
    return cmocka_run_group_tests_name("parse_body", tests, NULL, NULL);
}
