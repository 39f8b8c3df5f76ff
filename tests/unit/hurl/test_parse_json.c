/* JSON bodies are kept byte for byte, and where they end is where JSON ends. */
#include "parse_test.h"

#include "json/json.h"

static void test_kept(void **state)
{
    (void)state;
    static const char *const texts[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "-0",
                                        "12",
                                        "-1.5e+10",
                                        "1E5",
                                        "0.25",
                                        "\"\"",
                                        "\"a \\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9\"",
                                        "[]",
                                        "[ ]",
                                        "{}",
                                        "{ }",
                                        "[1,2 , 3]",
                                        "{\"a\":1,\"b\":[{}],\"\":{\"c\":null}}",
                                        "[\n\t1,\r\n 2\n]",
                                        "{\"a{b\": \"{ {\", \"c\": \"}}\"}",
                                        "\"# no comment\"",
                                        "[\"\xc3\xa9\xf0\x9f\x98\x80\"]"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct hurl_body *body = &compile_one(pl_format(arena, "POST /\n%s # c\nHTTP 200\n", texts[i]))->body;
        assert_true(body->is_json);
        assert_string_equal(shown(&body->text), texts[i]);
    }
}

static void test_templates(void **state)
{
    (void)state;
    static const struct {
        const char *written, *meant;
    } cases[] = {{"{{user}}", "{user}"},
                 {"{\"a\":{{user}}}", "{\"a\":{user}}"},
                 {"{\"a\":{\"b\":{{user}}}}", "{\"a\":{\"b\":{user}}}"},
                 {"[{{user}},{{count}}]", "[{user},{count}]"},
                 {"\"{{user}}\"", "\"{user}\""},
                 {"{\"x{{user}}y\": \"{{newUuid}}-{{newDate}}\"}", "{\"x{user}y\": \"{newUuid}-{newDate}\"}"},
                 {"{\"a\": {{user urlEncode}}}", "{\"a\": {user|1}}"}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(shown(&compile_one(pl_format(arena, "POST /\n%s\n", cases[i].written))->body.text),
                            cases[i].meant);
}

/* Property: random JSON is taken as it is, and what JSON's own reader refuses is refused. */
static const char *random_json(struct pl_rng *rng, int depth)
{
    static const char *const leaves[] = {"null", "true", "-1.5e3", "0", "\"a\\n\\u0041\"", "\"\"", "123", "\"[{,:\""};
    int64_t kind = pl_rng_range(rng, 0, depth > 0 ? 3 : 1);
    if (kind < 2)
        return leaves[pl_rng_range(rng, 0, (int64_t)COUNT(leaves) - 1)];
    const char *all = kind == 2 ? "[" : "{";
    for (int64_t i = 0, count = pl_rng_range(rng, 0, 3); i < count; i++)
        all = pl_format(arena, "%s%s%s%s%s", all, i > 0 ? "," : "", pl_rng_range(rng, 0, 1) ? " \n" : "",
                        kind == 3 ? "\"k\" :" : "", random_json(rng, depth - 1));
    return pl_format(arena, "%s%s", all, kind == 2 ? "]" : "}");
}

static void test_random(void **state)
{
    (void)state;
    enum { ROUNDS = 400, DEPTH = 5 };
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_SCRIPT, 0);
    struct json json = {0};
    size_t refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const char *text = pl_format(arena, "[%s]", random_json(&rng, DEPTH));
        assert_string_equal(shown(&compile_one(pl_format(arena, "POST /\n%s\n", text))->body.text), text);
        char *broken = pl_strdup(arena, text);
        static const char bytes[] = "[]{},:\"1e-. nt\\";
        broken[pl_rng_range(&rng, 1, (int64_t)strlen(text) - 1)] = bytes[pl_rng_range(&rng, 0, (int64_t)sizeof bytes - 2)];
        size_t at;
        const char *wrong = json_read(&json, broken, strlen(broken), &at);
        struct pl_err err = {0};
        struct program *program;
        const char *file = pl_format(arena, "POST /\n%s\n", broken);
        enum pl_code code = hurl_compile("t.hurl", file, strlen(file), NULL, names, arena, &program, &err);
        if ((wrong == NULL) != (code == PL_OK) && strstr(broken, "{{") == NULL)
            fail_msg("%s: JSON says %s, Hurl %s", broken, wrong, err.what);
        refused += wrong != NULL;
    }
    assert_true(refused > ROUNDS / 4);
    json_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_kept), PARSE_TEST(test_templates), PARSE_TEST(test_random)};
    return cmocka_run_group_tests_name("parse_json", tests, NULL, NULL);
}
