/* Every predicate on values of every kind, as it is written and negated. */
#include "run_test.h"

#include "base/utf8.h"

static const char body[] =
    "{\"i\":5,\"n\":-3,\"f\":2.5,\"w\":5.0,\"big\":18446744073709551615,\"t\":\"hello\",\"e\":\"\",\"b\":true,\"no\":false,"
    "\"z\":null,\"l\":[1,2.0,\"x\",[3],null],\"el\":[],\"o\":{\"a\":1},\"eo\":{},\"iso\":\"2024-02-29T23:59:60Z\","
    "\"v4\":\"10.0.0.255\",\"v6\":\"fe80::1\",\"u\":\"0531f78f-7f87-44be-a7f2-969a1c4e6d97\",\"u\\u0001\":\"\\u00e9\\n\"}";

/* holds: 'y' when the assert holds and its negation not, 'n' the other way round, 'k' when neither holds: not for this kind
 */
static const struct asked {
    char holds;
    const char *query, *predicate;
} table[] = {
    /* equality */
    {'y', "jsonpath \"$.i\"", "== 5"},
    {'y', "jsonpath \"$.i\"", "== 5.0"},
    {'n', "jsonpath \"$.i\"", "== 6"},
    {'n', "jsonpath \"$.i\"", "== \"5\""},
    {'y', "jsonpath \"$.w\"", "== 5"},
    {'y', "jsonpath \"$.f\"", "== 2.5"},
    {'n', "jsonpath \"$.f\"", "== 2"},
    {'y', "jsonpath \"$.n\"", "== -3"},
    {'y', "jsonpath \"$.t\"", "== \"hello\""},
    {'n', "jsonpath \"$.t\"", "== \"Hello\""},
    {'y', "jsonpath \"$.e\"", "== \"\""},
    {'y', "jsonpath \"$.b\"", "== true"},
    {'n', "jsonpath \"$.b\"", "== false"},
    {'n', "jsonpath \"$.no\"", "== null"},
    {'y', "jsonpath \"$.z\"", "== null"},
    {'n', "jsonpath \"$.i\"", "== null"},
    {'n', "jsonpath \"$.l\"", "== 5"},
    {'n', "jsonpath \"$.missing\"", "== 5"},
    {'n', "jsonpath \"$.missing\"", "== null"},
    {'y', "bytes", "startsWith hex,7b22;"},
    {'n', "bytes", "== hex,7b22;"},
    {'y', "jsonpath \"$.i\"", "!= 6"},
    {'n', "jsonpath \"$.i\"", "!= 5"},
    {'y', "jsonpath \"$.i\"", "!= \"5\""},
    {'y', "jsonpath \"$.z\"", "!= 1"},
    {'n', "jsonpath \"$.missing\"", "!= 5"},
    {'k', "cookie \"s[Secure]\"", "== true"},
    {'k', "cookie \"s[Secure]\"", "!= true"},
    /* order */
    {'y', "jsonpath \"$.i\"", "> 4"},
    {'n', "jsonpath \"$.i\"", "> 5"},
    {'y', "jsonpath \"$.i\"", "> 4.9"},
    {'y', "jsonpath \"$.i\"", ">= 5"},
    {'n', "jsonpath \"$.i\"", ">= 5.1"},
    {'y', "jsonpath \"$.f\"", "< 3"},
    {'n', "jsonpath \"$.f\"", "< 2.5"},
    {'y', "jsonpath \"$.f\"", "<= 2.5"},
    {'n', "jsonpath \"$.f\"", "<= 2"},
    {'y', "jsonpath \"$.big\"", "> 5"},
    {'y', "jsonpath \"$.t\"", "> \"h\""},
    {'n', "jsonpath \"$.t\"", "< \"h\""},
    {'k', "jsonpath \"$.t\"", "> 5"},
    {'k', "jsonpath \"$.b\"", "> 0"},
    {'k', "jsonpath \"$.z\"", "< 5"},
    {'n', "jsonpath \"$.missing\"", "> 5"},
    {'y', "status", "<= 200"},
    /* parts */
    {'y', "jsonpath \"$.t\"", "startsWith \"he\""},
    {'n', "jsonpath \"$.t\"", "startsWith \"el\""},
    {'n', "jsonpath \"$.t\"", "startsWith \"hello!\""},
    {'y', "jsonpath \"$.t\"", "startsWith \"\""},
    {'k', "jsonpath \"$.i\"", "startsWith \"5\""},
    {'k', "bytes", "startsWith \"{\""},
    {'y', "jsonpath \"$.t\"", "endsWith \"llo\""},
    {'n', "jsonpath \"$.t\"", "endsWith \"ll\""},
    {'y', "bytes", "endsWith hex,7d;"},
    {'n', "bytes", "endsWith hex,7d7d;"},
    {'y', "jsonpath \"$.t\"", "contains \"ell\""},
    {'n', "jsonpath \"$.t\"", "contains \"elo\""},
    {'y', "bytes", "contains hex,68656c6c6f;"},
    {'n', "bytes", "contains hex,ff;"},
    {'y', "jsonpath \"$.l\"", "contains \"x\""},
    {'n', "jsonpath \"$.l\"", "contains \"y\""},
    {'k', "jsonpath \"$.i\"", "contains \"5\""},
    {'y', "jsonpath \"$.l\"", "includes 1"},
    {'y', "jsonpath \"$.l\"", "includes 2"},
    {'y', "jsonpath \"$.l\"", "includes \"x\""},
    {'y', "jsonpath \"$.l\"", "includes null"},
    {'n', "jsonpath \"$.l\"", "includes true"},
    {'n', "jsonpath \"$.el\"", "includes 1"},
    {'y', "jsonpath \"$.l[*]\"", "includes 1"},
    {'y', "header \"Vary\"", "includes \"B\""},
    {'n', "header \"Vary\"", "includes \"C\""},
    {'k', "jsonpath \"$.t\"", "includes \"h\""},
    {'y', "jsonpath \"$.t\"", "matches /^h.l+o$/"},
    {'y', "jsonpath \"$.t\"", "matches \"l{2}\""},
    {'n', "jsonpath \"$.t\"", "matches /^l/"},
    {'k', "jsonpath \"$.i\"", "matches /5/"},
    {'n', "jsonpath \"$.missing\"", "matches /5/"},
    /* kinds */
    {'y', "jsonpath \"$.i\"", "exists"},
    {'y', "jsonpath \"$.z\"", "exists"},
    {'n', "jsonpath \"$.missing\"", "exists"},
    {'y', "jsonpath \"$.l[?(@ == 9)]\"", "exists"},
    {'y', "cookie \"s[Secure]\"", "exists"},
    {'n', "cookie \"s[HttpOnly]\"", "exists"},
    {'y', "jsonpath \"$.b\"", "isBoolean"},
    {'n', "jsonpath \"$.i\"", "isBoolean"},
    {'y', "jsonpath \"$.l\"", "isCollection"},
    {'y', "jsonpath \"$.o\"", "isCollection"},
    {'y', "bytes", "isCollection"},
    {'n', "jsonpath \"$.t\"", "isCollection"},
    {'y', "cookie \"s[Expires]\"", "isDate"},
    {'n', "jsonpath \"$.iso\"", "isDate"},
    {'y', "jsonpath \"$.el\"", "isEmpty"},
    {'y', "jsonpath \"$.eo\"", "isEmpty"},
    {'y', "jsonpath \"$.e\"", "isEmpty"},
    {'n', "jsonpath \"$.o\"", "isEmpty"},
    {'n', "bytes", "isEmpty"},
    {'k', "jsonpath \"$.i\"", "isEmpty"},
    {'y', "jsonpath \"$.f\"", "isFloat"},
    {'y', "jsonpath \"$.w\"", "isFloat"},
    {'n', "jsonpath \"$.i\"", "isFloat"},
    {'y', "jsonpath \"$.i\"", "isInteger"},
    {'y', "jsonpath \"$.big\"", "isInteger"},
    {'n', "jsonpath \"$.w\"", "isInteger"},
    {'y', "jsonpath \"$.iso\"", "isIsoDate"},
    {'n', "jsonpath \"$.t\"", "isIsoDate"},
    {'k', "jsonpath \"$.i\"", "isIsoDate"},
    {'y', "jsonpath \"$.v4\"", "isIpv4"},
    {'n', "jsonpath \"$.v6\"", "isIpv4"},
    {'k', "jsonpath \"$.i\"", "isIpv4"},
    {'y', "jsonpath \"$.v6\"", "isIpv6"},
    {'n', "jsonpath \"$.v4\"", "isIpv6"},
    {'y', "jsonpath \"$.l\"", "isList"},
    {'y', "bytes", "isList"},
    {'n', "jsonpath \"$.o\"", "isList"},
    {'y', "jsonpath \"$.i\"", "isNumber"},
    {'y', "jsonpath \"$.f\"", "isNumber"},
    {'n', "jsonpath \"$.t\"", "isNumber"},
    {'y', "jsonpath \"$.o\"", "isObject"},
    {'n', "jsonpath \"$.l\"", "isObject"},
    {'y', "jsonpath \"$.t\"", "isString"},
    {'n', "jsonpath \"$.i\"", "isString"},
    {'n', "jsonpath \"$.missing\"", "isString"},
    {'y', "jsonpath \"$.u\"", "isUuid"},
    {'n', "jsonpath \"$.t\"", "isUuid"},
    {'k', "jsonpath \"$.b\"", "isUuid"},
    /* variables with their type */
    {'y', "jsonpath \"$.i\"", "== {{five}}"},
    {'n', "jsonpath \"$.i\"", "== \"{{five}}\""},
    {'y', "jsonpath \"$.i\"", "== {{fivetext}}"},
    {'y', "variable \"fivetext\"", "== 5"},
    {'y', "variable \"fivetext\"", "== \"5\""},
    {'y', "variable \"list\"", "contains \"a\""},
    {'y', "variable \"list\"", "includes \"a\""},
    {'y', "variable \"list\"", "isList"},
    {'y', "variable \"list\"", "isString"},
    {'n', "variable \"list\"", "isEmpty"},
    {'y', "jsonpath \"$.o\"", "== {{object}}"},
    {'n', "jsonpath \"$.o\"", "== {{list}}"},
    {'y', "jsonpath \"$.t\"", "startsWith \"{{he}}\""},
    {'y', "jsonpath \"$.t\"", "matches \"^{{he}}\""},
};

static void prepare(void)
{
    response.header_count = 0;
    run_header("Vary", "A");
    run_header("vary", "B");
    run_header("Set-Cookie", "s=secret; Secure; Expires=Wed, 13 Jan 2021 22:23:01 GMT");
    run_body(body);
    run_define_int("five", 5);
    run_define("fivetext", "5");
    run_define("list", "[\"a\",{\"b\":1}]");
    run_define("object", "{\"a\":1.0}");
    run_define("he", "he");
}

static bool holds(const char *query, const char *predicate, bool is_negated, const char **ret_message)
{
    struct hurl_fault fault;
    const char *wrong =
        run_judge(pl_format(arena, "HTTP *\n[Asserts]\n%s %s%s", query, is_negated ? "not " : "", predicate), &fault);
    *ret_message = wrong != NULL ? pl_strdup(arena, wrong) : NULL;
    return wrong == NULL;
}

static void test_table(void **state)
{
    (void)state;
    bool asked[HURL_IS_UUID + 1] = {false};
    prepare();
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *message, *negated;
        bool is_good = holds(table[i].query, table[i].predicate, false, &message);
        bool is_bad = holds(table[i].query, table[i].predicate, true, &negated);
        char verdict = is_good && !is_bad ? 'y' : !is_good && is_bad ? 'n' : !is_good && !is_bad ? 'k' : '?';
        if (verdict != table[i].holds)
            fail_msg("%s %s: %c\n%s\n%s", table[i].query, table[i].predicate, verdict, message, negated);
        asked[run_request(pl_format(arena, "GET http://h\nHTTP *\n[Asserts]\n%s %s\n", table[i].query, table[i].predicate))
                  ->asserts[0]
                  .predicate.kind] = true;
        if (message != NULL)
            assert_null(strstr(message, "secret;"));
    }
    for (size_t i = 0; i < COUNT(asked); i++)
        if (!asked[i])
            fail_msg("predicate %zu is not in the table", i);
}

static void test_messages(void **state)
{
    (void)state;
    prepare();
    run_fails("jsonpath \"$.i\" == 6", "t.hurl:4:1: jsonpath \"$.i\" == 6: expected integer 6, got integer 5");
    run_fails("jsonpath \"$.t\" > 6", "expected more than integer 6, got text \"hello\", which it is not for");
    run_fails("jsonpath \"$.missing\" exists", "jsonpath \"$.missing\" exists: it does not");
    run_fails("jsonpath \"$.i\" not exists", "expected not something, got integer 5");
    run_fails("jsonpath \"$.missing\" == 1", "got nothing");
    run_fails("jsonpath \"$.l\" == 1", "got list of 5 items [1,2.0,\"x\",[3],null]");
    run_fails("jsonpath \"$.o\" == 1", "got object of 1 member {\"a\":1}");
    run_fails("jsonpath \"$.b\" isString", "expected text, got boolean true");
    run_fails("jsonpath \"$.f\" isInteger", "got float 2.5");
    run_fails("jsonpath \"$.w\" isInteger", "got float 5.0");
    run_fails("bytes == hex,00;", "expected bytes 00, got bytes 7b2269223a352c226e223a2d332c2266223a322e352c2277... (284)");
    run_fails("cookie \"s\" == \"x\"", "expected text (a secret), got text (a secret)");
    run_fails("cookie \"s[Expires]\" == 1", "got date 2021-01-13T22:23:01Z");
    run_fails("jsonpath \"$['u\\\\u0001']\" == \"x\"", "got text \"\xc3\xa9\\x0a\"");
    run_fails("header \"Vary\" == \"A\"", "got list of 2 items");
}

/* What comes from outside is shortened and cannot control a terminal. */
static void test_hostile_values(void **state)
{
    (void)state;
    char text[5000];
    struct pl_rng bytes;
    pl_rng_init(&bytes, 2, PL_RNG_TEST, 0);
    for (int round = 0; round < 300; round++) {
        size_t length = (size_t)pl_rng_range(&bytes, 1, sizeof text - 1);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)pl_rng_range(&bytes, 0, round % 3 == 0 ? 127 : 255);
        response.header_count = 0;
        headers[response.header_count++] = (struct hurl_header){{"X", 1}, {text, length}};
        struct hurl_fault fault;
        const char *wrong = run_judge("HTTP *\n[Asserts]\nheader \"X\" == \"no\"", &fault);
        assert_non_null(wrong);
        assert_true(strlen(wrong) < 600);
        for (const char *at = wrong; *at != '\0'; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7F);
        uint32_t code;
        for (size_t i = 0, size; i < strlen(wrong); i += size) {
            size = pl_utf8_decode((const unsigned char *)wrong + i, strlen(wrong) - i, &code);
            assert_true(size > 0 && !(code >= 0x80 && code < 0xA0) && code != 0x202E);
        }
    }
}

/* Integers are compared exactly, however long; beside a number with a fraction they are doubles. */
static void test_long_numbers(void **state)
{
    (void)state;
    run_body("{\"max\":9223372036854775807,\"over\":9223372036854775808,\"over1\":9223372036854775809,\"under\":-"
             "9223372036854775809,"
             "\"long\":123456789012345678901234567890,\"zero\":-0,\"tenth\":0.1,\"inf\":1e400,\"one\":1.0,\"l\":["
             "9223372036854775808]}");
    run_expect_good("HTTP 200\n[Captures]\nover: jsonpath \"$.over\"\nmax: jsonpath \"$.max\"\nl: jsonpath \"$.l\"\nunder: "
                    "jsonpath \"$.under\"");
    run_holds("jsonpath \"$.over\" == {{over}}");
    run_holds("jsonpath \"$.over1\" != {{over}}");
    run_holds("jsonpath \"$.over1\" > {{over}}");
    run_holds("jsonpath \"$.long\" > {{over}}");
    run_holds("jsonpath \"$.max\" < {{over}}");
    run_holds("jsonpath \"$.over\" != {{max}}");
    run_holds("jsonpath \"$.over\" > 9223372036854775807");
    run_holds("jsonpath \"$.under\" < {{max}}");
    run_holds("jsonpath \"$.under\" < -9223372036854775808");
    run_holds("jsonpath \"$.over\" > {{under}}");
    run_holds("jsonpath \"$.l\" == {{l}}");
    run_holds("jsonpath \"$.l\" not includes {{max}}");
    run_holds("jsonpath \"$.over\" == 9223372036854775808.0");
    run_holds("jsonpath \"$.zero\" == 0");
    run_holds("jsonpath \"$.tenth\" == 0.1");
    run_holds("jsonpath \"$.one\" == 1");
    run_holds("jsonpath \"$.one\" not isInteger");
    run_holds("jsonpath \"$.inf\" > 1e300");
    run_holds("jsonpath \"$.over\" toString == \"9223372036854775808\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_long_numbers, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_table, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_messages, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_hostile_values, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("predicates", tests, NULL, NULL);
}
