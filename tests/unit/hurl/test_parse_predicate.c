/* Predicates and operands. */
#include "parse_test.h"

static const struct hurl_predicate *predicate_of(const char *text)
{
    const struct hurl_request *request = compile_one(pl_format(arena, "GET /\nHTTP 200\n[Asserts]\nbody %s\n", text));
    assert_int_equal(request->assert_count, 1);
    return &request->asserts[0].predicate;
}

static void test_words(void **state)
{
    (void)state;
    static const char *const operands[] = {"", " 1", " 1", " \"x\"", " /x/"};
    for (size_t i = 0; i < parse_predicates.count; i++) {
        const struct parse_word *word = &parse_predicates.list[i];
        const char *text = pl_format(arena, "%s%s", word->name, operands[word->arguments]);
        const struct hurl_predicate *predicate = predicate_of(text);
        assert_int_equal(predicate->kind, word->kind);
        assert_false(predicate->is_negated);
        assert_int_equal(predicate->place.col, 6);
        assert_int_equal(predicate->operand.kind == HURL_OPERAND_NONE, word->arguments == 0);
        predicate = predicate_of(pl_format(arena, "not %s", text));
        assert_int_equal(predicate->kind, word->kind);
        assert_true(predicate->is_negated);
    }
}

static void test_operands(void **state)
{
    (void)state;
    assert_int_equal(predicate_of("== null")->operand.kind, HURL_OPERAND_NULL);
    assert_int_equal(predicate_of("== true")->operand.kind, HURL_OPERAND_BOOL);
    assert_true(predicate_of("== true")->operand.b);
    assert_int_equal(predicate_of("== false")->operand.kind, HURL_OPERAND_BOOL);
    assert_false(predicate_of("== false")->operand.b);
    assert_int_equal(predicate_of("== hex,00ff;")->operand.kind, HURL_OPERAND_BYTES);
    assert_string_equal(hex_of(predicate_of("== hex,00ff;")->operand.bytes), "00ff");
    assert_string_equal(hex_of(predicate_of("startsWith base64,AAEC;")->operand.bytes), "000102");
    assert_string_equal(hex_of(predicate_of("endsWith file,data/hello.txt;")->operand.bytes), "68656c6c6f0a");
    const struct hurl_operand *operand = &predicate_of("== {{user urlEncode}}")->operand;
    assert_int_equal(operand->kind, HURL_OPERAND_VARIABLE);
    assert_int_equal(operand->text.piece_count, 1);
    assert_string_equal(shown(&operand->text), "{user|1}");
    operand = &predicate_of("== ```\na\n{{user}}\n```")->operand;
    assert_int_equal(operand->kind, HURL_OPERAND_TEXT);
    assert_string_equal(shown(&operand->text), "a\n{user}\n");
    operand = &predicate_of("== ```base64\nAAE=\n```")->operand;
    assert_int_equal(operand->kind, HURL_OPERAND_BYTES);
    assert_string_equal(hex_of(operand->bytes), "0001");
    operand = &predicate_of("matches /^a$/")->operand;
    assert_non_null(operand->regex.code);
    assert_string_equal(shown(&operand->text), "^a$");
    assert_null(predicate_of("matches \"^{{user}}$\"")->operand.regex.code);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t i;
    } integers[] = {{"0", 0},
                    {"-0", 0},
                    {"7", 7},
                    {"-12", -12},
                    {"9223372036854775807", INT64_MAX},
                    {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < COUNT(integers); i++) {
        const struct hurl_operand *operand = &predicate_of(pl_format(arena, "== %s", integers[i].text))->operand;
        assert_int_equal(operand->kind, HURL_OPERAND_INT);
        assert_true(operand->i == integers[i].i);
    }
    static const struct {
        const char *text;
        double d;
    } doubles[] = {{"1.5", 1.5},   {"-0.25", -0.25}, {"1e3", 1000},
                   {"1E-2", 0.01}, {"1.5e+1", 15},   {"9223372036854775808", 0x1p63}};
    for (size_t i = 0; i < COUNT(doubles); i++) {
        const struct hurl_operand *operand = &predicate_of(pl_format(arena, "> %s", doubles[i].text))->operand;
        assert_int_equal(operand->kind, HURL_OPERAND_DOUBLE);
        assert_true(operand->d == doubles[i].d);
    }
    assert_int_equal(predicate_of("==5")->operand.i, 5);
    assert_int_equal(predicate_of(">=5")->kind, HURL_GREATER_OR_EQUAL);
    assert_string_equal(refusal("GET /\nHTTP 200\n[Asserts]\nbody equals5\n"),
                        "4:6: there is no filter or predicate \"equals5\": did you mean \"equals\"?");
}

/* What an assert is called in messages: its line, or the first of several. */
static void test_text(void **state)
{
    (void)state;
    const struct hurl_request *request =
        compile_one("GET /\nHTTP 200\n[Asserts]\n  jsonpath \"$.a\"  count ==  3  # comment\nbody == ```\na\n```\n");
    assert_string_equal(request->asserts[0].text, "jsonpath \"$.a\"  count ==  3");
    assert_string_equal(request->asserts[1].text, "body == ```");
    assert_int_equal(request->asserts[0].query.place.col, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_words), PARSE_TEST(test_operands), PARSE_TEST(test_numbers),
                                       PARSE_TEST(test_text)};
    return cmocka_run_group_tests_name("parse_predicate", tests, NULL, NULL);
}
