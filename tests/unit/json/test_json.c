/* The reader: what is JSON and what is not, numbers and strings, equality, and what hostile texts cost. */
#include "json_test.h"

#include <math.h>

#include "base/rng.h"

static void test_good(void **state)
{
    (void)state;
    static const char *const good[] = {"null",
                                       " true ",
                                       "false",
                                       "0",
                                       "-0",
                                       "12",
                                       "-1.5",
                                       "1e5",
                                       "1E+5",
                                       "0.25e-3",
                                       "\"\"",
                                       "\"a\"",
                                       "[]",
                                       "{}",
                                       "[1,2]",
                                       "{\"a\":1}",
                                       "\t[\r\n1 , 2 ]\n",
                                       "{\"a\":{\"b\":[{}]},\"c\":\"d\"}",
                                       "\"\\u00e9\\n\\\\\\/\\\"\"",
                                       "\"\\ud834\\udd1e\"",
                                       "\"\xc3\xa9\xe4\xbd\xa0\xf0\x9d\x8c\x86\"",
                                       "[[[[[[]]]]]]"};
    struct json json = {0};
    for (size_t i = 0; i < COUNT(good); i++)
        json_must_read(&json, good[i]);
    json_release(&json);
}

static const struct bad {
    const char *text;
    size_t at;
} bads[] = {{"", 0},
            {" ", 1},
            {"nul", 0},
            {"True", 0},
            {"01", 2},
            {"-", 1},
            {"1.", 2},
            {".5", 0},
            {"1e", 2},
            {"1e+", 3},
            {"+1", 0},
            {"\"a", 2},
            {"\"a\nb\"", 2},
            {"\"\\x\"", 1},
            {"\"\\u12g4\"", 1},
            {"\"\\ud834\"", 1},
            {"\"\\udd1e\"", 1},
            {"\"\\ud834\\u0041\"", 1},
            {"\"\xff\"", 1},
            {"\"\xc3\"", 1},
            {"\"\xc0\x80\"", 1},
            {"\"\xed\xa0\x80\"", 1},
            {"[", 1},
            {"[1", 2},
            {"[1,]", 3},
            {"[1 2]", 3},
            {"]", 0},
            {"{\"a\"}", 4},
            {"{\"a\":}", 5},
            {"{\"a\":1,}", 7},
            {"{a:1}", 1},
            {"{\"a\":1 \"b\":2}", 7},
            {"1 2", 2},
            {"null,", 4},
            {"NaN", 0},
            {"'a'", 0}};

static void test_bad(void **state)
{
    (void)state;
    struct json json = {0};
    for (size_t i = 0; i < COUNT(bads); i++) {
        size_t at = 999;
        const char *wrong = json_read(&json, bads[i].text, strlen(bads[i].text), &at);
        if (wrong == NULL || at != bads[i].at)
            fail_msg("%s: %s at %zu", bads[i].text, wrong == NULL ? "taken" : wrong, at);
        assert_int_equal(json.count, 0);
    }
    json_release(&json);
}

/* Not a byte behind the text is looked at. */
static void test_no_byte_too_many(void **state)
{
    (void)state;
    static const char text[] = "{\"key\": [1.5e3, \"\\u00e9\\ud834\\udd1e\xf0\x9d\x8c\x86\", true, null, false, -12]}";
    struct json json = {0};
    for (size_t size = 1; size < sizeof text; size++) {
        char *bytes = support_guard_alloc(size);
        size_t at;
        memcpy(bytes, text, size);
        const char *wrong = json_read(&json, bytes, size, &at);
        assert_true((wrong == NULL) == (size == sizeof text - 1));
        support_guard_free(bytes, size);
    }
    json_release(&json);
}

static void test_table(void **state)
{
    (void)state;
    struct json json = {0};
    json_must_read(&json, "{\"a\": [1, \"x\"], \"b\": {}}");
    static const struct json_token expected[] = {{.kind = JSON_OBJECT, .at = 0, .bytes = 24, .count = 2, .after = 7},
                                                 {.kind = JSON_STRING, .is_key = true, .at = 2, .bytes = 1, .after = 2},
                                                 {.kind = JSON_LIST, .at = 6, .bytes = 8, .count = 2, .after = 5},
                                                 {.kind = JSON_INTEGER, .at = 7, .bytes = 1, .after = 4},
                                                 {.kind = JSON_STRING, .at = 11, .bytes = 1, .after = 5},
                                                 {.kind = JSON_STRING, .is_key = true, .at = 17, .bytes = 1, .after = 6},
                                                 {.kind = JSON_OBJECT, .at = 21, .bytes = 2, .count = 0, .after = 7}};
    assert_int_equal(json.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(json.tokens[i].kind, expected[i].kind);
        assert_int_equal(json.tokens[i].is_key, expected[i].is_key);
        assert_int_equal(json.tokens[i].at, expected[i].at);
        assert_int_equal(json.tokens[i].bytes, expected[i].bytes);
        assert_int_equal(json.tokens[i].count, expected[i].count);
        assert_int_equal(json.tokens[i].after, expected[i].after);
    }
    json_release(&json);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_integer;
        int64_t integer;
        double number;
    } numbers[] = {{"0", true, 0, 0},
                   {"-7", true, -7, -7},
                   {"9223372036854775807", true, INT64_MAX, 9223372036854775807.0},
                   {"-9223372036854775808", true, INT64_MIN, -9223372036854775808.0},
                   {"9223372036854775808", false, 0, 9223372036854775808.0},
                   {"18446744073709551615", false, 0, 18446744073709551615.0},
                   {"1.0", false, 0, 1},
                   {"2.5e-3", false, 0, 0.0025},
                   {"1e400", false, 0, HUGE_VAL},
                   {"-1e400", false, 0, -HUGE_VAL},
                   {"1e-400", false, 0, 0},
                   {"1e99999999999999999999", false, 0, HUGE_VAL}};
    struct json json = {0};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        int64_t integer = 0;
        json_must_read(&json, numbers[i].text);
        assert_int_equal(json_get_integer(&json, 0, &integer), numbers[i].is_integer);
        assert_int_equal(integer, numbers[i].integer);
        if (json_as_double(&json, 0) != numbers[i].number)
            fail_msg("%s is %g", numbers[i].text, json_as_double(&json, 0));
    }
    json_release(&json);
}

/* Numbers of more digits than any double has are the nearest double all the same. */
static void test_long_numbers(void **state)
{
    (void)state;
    char text[400];
    struct json json = {0};
    for (int zeros = 0; zeros < 250; zeros += 7) {
        memset(text, '0', sizeof text);
        memcpy(text, "0.", 2);
        memcpy(text + 2 + zeros, "125", 4);
        json_must_read(&json, text);
        assert_close(json_as_double(&json, 0), 0.125 * pow(10, -zeros), 1e-12, 0);
        memset(text, '0', sizeof text);
        memcpy(text, "125", 3);
        text[3 + zeros] = '\0';
        json_must_read(&json, text);
        assert_close(json_as_double(&json, 0), 125 * pow(10, zeros), 1e-12, 0);
    }
    memset(text, '3', sizeof text);
    memcpy(text + 395, "e-2", 4);
    text[1] = '.';
    json_must_read(&json, text);
    assert_close(json_as_double(&json, 0), 0.0333333333333333333, 1e-15, 0);
    json_release(&json);
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *meant;
    } strings[] = {{"\"\"", ""},
                   {"\"abc\"", "abc"},
                   {"\"a\\n\\t\\r\\b\\f\\\\\\/\\\"z\"", "a\n\t\r\b\f\\/\"z"},
                   {"\"\\u0041\\u00e9\\u4f60\"", "A\xc3\xa9\xe4\xbd\xa0"},
                   {"\"\\uD834\\uDF06!\"", "\xf0\x9d\x8c\x86!"},
                   {"\"\xc3\xa9\\u00e9\"", "\xc3\xa9\xc3\xa9"}};
    struct json json = {0}, again = {0};
    for (size_t i = 0; i < COUNT(strings); i++) {
        char out[64], escaped[400];
        json_must_read(&json, strings[i].text);
        size_t length = json_unescape(&json, 0, out);
        assert_int_equal(length, strlen(strings[i].meant));
        assert_memory_equal(out, strings[i].meant, length);
        assert_true(json_string_is(&json, 0, strings[i].meant, length));
        assert_false(json_string_is(&json, 0, "abd", 3));
        escaped[0] = '"';
        char *end = json_escape(out, length, escaped + 1);
        memcpy(end, "\"", 2);
        json_must_read(&again, escaped);
        assert_true(json_is_same(&json, 0, &again, 0, &(uint64_t){100}));
    }
    json_release(&json);
    json_release(&again);
}

/* What is no UTF-8 becomes U+FFFD: whatever the bytes are, the inside of a string comes out. */
static void test_escape_any_bytes(void **state)
{
    (void)state;
    struct pl_rng rng;
    struct json json = {0};
    pl_rng_init(&rng, 7, PL_RNG_TEST, 0);
    for (int round = 0; round < 5000; round++) {
        char bytes[40], text[400];
        size_t length = (size_t)pl_rng_range(&rng, 0, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)pl_rng_range(&rng, -128, round % 2 == 0 ? 127 : 40);
        text[0] = '"';
        char *end = json_escape(bytes, length, text + 1);
        assert_true(end <= text + 1 + 6 * length);
        memcpy(end, "\"", 2);
        json_must_read(&json, text);
    }
    json_release(&json);
}

static void test_equal(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_equal;
    } pairs[] = {{"1", "1", true},
                 {"1", "1.0", true},
                 {"1e2", "100", true},
                 {"1", "2", false},
                 {"9007199254740993", "9007199254740992", false},
                 {"1", "\"1\"", false},
                 {"null", "false", false},
                 {"null", "null", true},
                 {"\"\\u0041\"", "\"A\"", true},
                 {"\"\\u00e9\"", "\"\\u00E9\"", true},
                 {"\"a\\n\"", "\"a\\u000a\"", true},
                 {"\"a\\n\"", "\"a\\nb\"", false},
                 {"[1,2]", "[1,2]", true},
                 {"[1,2]", "[2,1]", false},
                 {"[1]", "[1,1]", false},
                 {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
                 {"{\"a\":1}", "{\"a\":2}", false},
                 {"{\"a\":1}", "{\"b\":1}", false},
                 {"{\"\\u0061\":1}", "{\"a\":1}", true},
                 {"{}", "[]", false}};
    struct json a = {0}, b = {0};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        json_must_read(&a, pairs[i].a);
        json_must_read(&b, pairs[i].b);
        if (json_is_same(&a, 0, &b, 0, &(uint64_t){1000}) != pairs[i].is_equal ||
            json_is_same(&b, 0, &a, 0, &(uint64_t){1000}) != pairs[i].is_equal)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
    }
    json_release(&a);
    json_release(&b);
}

static void test_member(void **state)
{
    (void)state;
    struct json json = {0};
    uint64_t steps = 100;
    json_must_read(&json, "{\"a\": 1, \"b\": {\"a\": 2}, \"\\u0063\": 3, \"a\": 4}");
    assert_string_equal(json_written(&json, json_member(&json, 0, "a", 1, &steps)), "4");
    assert_string_equal(json_written(&json, json_member(&json, 0, "c", 1, &steps)), "3");
    assert_int_equal(json_member(&json, 0, "d", 1, &steps), 0);
    steps = 2;
    json_member(&json, 0, "d", 1, &steps);
    assert_int_equal(steps, 0);
    json_release(&json);
}

static void test_limits(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    struct json json = {0};
    size_t at;
    char *text = pl_new(DEEP * 2 + 1, 1);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    assert_non_null(json_read(&json, text, (size_t)DEEP * 2, &at));
    assert_int_equal(at, JSON_DEPTH_MOST);
    assert_null(json_read(&json, text + DEEP - JSON_DEPTH_MOST, (size_t)JSON_DEPTH_MOST * 2, &at));
    assert_int_equal(json.count, JSON_DEPTH_MOST);
    pl_free(text);
    text = pl_new(JSON_BYTES_MOST + 1, 1);
    memset(text, ' ', JSON_BYTES_MOST + 1);
    text[0] = '1';
    assert_null(json_read(&json, text, JSON_BYTES_MOST, &at));
    assert_non_null(json_read(&json, text, JSON_BYTES_MOST + 1, &at));
    text[0] = '[';
    for (size_t i = 1; i + 1 < JSON_BYTES_MOST; i += 2)
        memcpy(text + i, "1,", 2);
    assert_non_null(json_read(&json, text, JSON_BYTES_MOST, &at));
    assert_int_equal(json.capacity, JSON_TOKENS_MOST);
    pl_free(text);
    json_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_no_byte_too_many),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_escape_any_bytes),
        cmocka_unit_test(test_equal),
        cmocka_unit_test_setup_teardown(test_member, json_setup, json_teardown),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
