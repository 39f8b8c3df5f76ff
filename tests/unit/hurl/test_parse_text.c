/* Strings: escapes, templates, and which variables they may name. */
#include "parse_test.h"

static const char *value_of(const char *text)
{
    const struct hurl_request *request = compile_one(pl_format(arena, "GET /\n[Query]\nq: %s\n", text));
    return shown(&request->query[0].value);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *written, *meant;
    } cases[] = {{"plain", "plain"},
                 {"", ""},
                 {"  in the middle  of blanks \t ", "in the middle  of blanks"},
                 {"\"quotes\" 'stay'", "\"quotes\" 'stay'"},
                 {"a # comment", "a"},
                 {"a#comment", "a"},
                 {"a\\#b", "a#b"},
                 {"tail\\u{20} # kept", "tail "},
                 {"\\\"\\`\\#\\:\\;\\\\\\/\\{\\}\\ \\b\\f\\n\\r\\t", "\"`#:;\\/{} \b\f\n\r\t"},
                 {"\\u{41}\\u{e9}\\u{20ac}\\u{1F600}", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
                 {"{{user}}", "{user}"},
                 {"{{ user }}", "{user}"},
                 {"a{{user}}b{{count}}c", "a{user}b{count}c"},
                 {"{{user}}{{count}}", "{user}{count}"},
                 {"{{user}}}", "{user}}"},
                 {"{ {user} }", "{ {user} }"},
                 {"\\{\\{user}}", "{{user}}"},
                 {"{{newUuid}}-{{newDate}}", "{newUuid}-{newDate}"},
                 {"{{user urlEncode}}", "{user|1}"},
                 {"{{user  replace \"a\" \"b\"  urlEncode }}", "{user|2}"},
                 {"{{user replace \"#\" \"}}\"}} # comment", "{user|1}"},
                 {"{{newDate dateFormat \"%Y\"}}", "{newDate|1}"}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(value_of(cases[i].written), cases[i].meant);
}

/* Property: any characters, each escaped, are themselves; a text without braces and escapes is itself. */
static void test_any_text(void **state)
{
    (void)state;
    enum { ROUNDS = 300, LENGTH = 40 };
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_SCRIPT, 0);
    for (int round = 0; round < ROUNDS; round++) {
        const char *written = "", *meant = "";
        for (int i = 0; i < LENGTH; i++) {
            int c = (int)pl_rng_range(&rng, 1, 126);
            bool is_plain = c > ' ' && strchr("\\#{", c) == NULL;
            bool is_escaped = !is_plain || pl_rng_range(&rng, 0, 3) == 0;
            written =
                is_escaped ? pl_format(arena, "%s\\u{%x}", written, (unsigned)c) : pl_format(arena, "%s%c", written, c);
            meant = pl_format(arena, "%s%c", meant, c);
        }
        assert_string_equal(value_of(written), meant);
    }
}

static void test_quoted(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\nHTTP 200\n[Asserts]\n"
                                                     "body == \"a # b \\\"c\\\" {{user}}\"\n"
                                                     "body == \"\"\n"
                                                     "body == `a \"b\" # \\` {{user}}`\n"
                                                     "body == \"{{user split \",\" nth 0}}\"\n");
    assert_string_equal(shown(&request->asserts[0].predicate.operand.text), "a # b \"c\" {user}");
    assert_int_equal(request->asserts[1].predicate.operand.text.piece_count, 0);
    assert_string_equal(shown(&request->asserts[2].predicate.operand.text), "a \"b\" # ` {user}");
    assert_string_equal(shown(&request->asserts[3].predicate.operand.text), "{user|2}");
}

/* A text that is a constant is one piece, an empty one none. */
static void test_pieces(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\n[Query]\na: b\nc:\nd: {{user}}\ne: x{{user}}y\n");
    assert_int_equal(request->query[0].value.piece_count, 1);
    assert_int_equal(request->query[1].value.piece_count, 0);
    assert_int_equal(request->query[2].value.piece_count, 1);
    assert_int_equal(request->query[3].value.piece_count, 2);
    assert_true(hurl_text_is_constant(&request->query[0].value));
    assert_true(hurl_text_is_constant(&request->query[1].value));
    assert_false(hurl_text_is_constant(&request->query[2].value));
    assert_int_equal(request->query[3].value.pieces[1].variable, -1);
}

/* What is set where, and by what. */
static void test_variables(void **state)
{
    (void)state;
    compile("GET /{{a}}\nX: {{a}}\n[Options]\nvariable: a=1\n");
    compile("GET /\nHTTP *\n[Captures]\nb: status\n\nGET /{{b}}/{{a}}\n"); /* a: from the script above */
    compile("GET /\nHTTP *\n[Asserts]\nbody == {{c}}\nvariable \"c\" exists\n[Captures]\nc: status\n");
    compile("GET /\nHTTP *\n[Captures]\nd: status\nf: jsonpath \"$.{{d}}\"\n{\"x\": {{f}}}\n");
    compile("GET /\nHTTP *\n[Captures]\ng-1_h: status\n\n\nGET /{{g-1_h}}\n");
    assert_string_equal(refusal("GET /{{x}}\nHTTP *\n[Captures]\nx: status\n"),
                        "1:8: nothing sets the variable \"x\" before it is used here");
    assert_string_equal(refusal("GET /\nX: {{y}}{{z}}\n[Options]\nvariable: z=1\n"),
                        "2:6: nothing sets the variable \"y\" before it is used here");
    assert_string_equal(refusal("GET /\n\nGET /{{later}}\n\nGET /\nHTTP *\n[Captures]\nlater: status\n"),
                        "3:8: nothing sets the variable \"later\" before it is used here");
    assert_string_equal(refusal("GET /\nHTTP *\n[Asserts]\nbody == {{tennant}}\n"),
                        "4:11: nothing sets the variable \"tennant\" before it is used here: did you mean \"tenant\"?");
}

/* `variable "x"` may ask for what nobody sets. */
static void test_query_variable(void **state)
{
    (void)state;
    const struct hurl_request *request = compile_one("GET /\nHTTP *\n[Asserts]\nvariable \"user\" exists\n"
                                                     "variable \"nobody\" not exists\nvariable \"mine\" exists\n"
                                                     "[Captures]\nmine: status\n");
    assert_int_equal(request->asserts[0].query.variable, names_find(names, "user", 4));
    assert_int_equal(request->asserts[1].query.variable, -1);
    assert_int_equal(request->asserts[2].query.variable, names_find(names, "mine", 4));
}

static void test_split(void **state)
{
    (void)state;
    struct parser p = {.arena = arena, .names = names};
    static const struct {
        const char *before, *after;
    } cases[] = {{"X-A", "b:c"}, {"X", ""}};
    struct hurl_text text = parse_constant(&p, "X-A: \t b:c", 10), before, after;
    assert_true(parse_split(&p, &text, &before, &after));
    assert_string_equal(shown(&before), cases[0].before);
    assert_string_equal(shown(&after), cases[0].after);
    text = parse_constant(&p, "X:", 2);
    assert_true(parse_split(&p, &text, &before, &after));
    assert_string_equal(shown(&before), cases[1].before);
    assert_string_equal(shown(&after), cases[1].after);
    text = parse_constant(&p, "none", 4);
    assert_false(parse_split(&p, &text, &before, &after));
    const struct hurl_request *request =
        compile_one("GET /\n[Options]\nuser: a{{user}}b:c{{password}}d\nheader: {{user}}: {{count}}x\n"
                    "header: A:{{user}}\n");
    assert_string_equal(shown(&request->user), "a{user}b");
    assert_string_equal(shown(&request->password), "c{password}d");
    assert_string_equal(shown_pairs(request->headers, request->header_count), "{user}={count}x;A={user};");
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_values), PARSE_TEST(test_any_text),  PARSE_TEST(test_quoted),
                                       PARSE_TEST(test_pieces), PARSE_TEST(test_variables), PARSE_TEST(test_query_variable),
                                       PARSE_TEST(test_split)};
    return cmocka_run_group_tests_name("parse_text", tests, NULL, NULL);
}
