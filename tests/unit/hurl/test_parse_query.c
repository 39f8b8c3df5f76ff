/* Queries, filters, regular expressions, paths. */
#include "parse_test.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static const struct hurl_query *query_of(const char *text)
{
    const struct hurl_request *request = compile_one(pl_format(arena, "GET /\nHTTP 200\n[Asserts]\n%s exists\n", text));
    assert_int_equal(request->assert_count, 1);
    return &request->asserts[0].query;
}

/* Each word is its kind, and nothing else is one. */
static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < parse_queries.count; i++) {
        const struct parse_word *word = &parse_queries.list[i];
        if (word->refused != NULL)
            continue;
        static const char *const arguments[] = {"", " \"x\"", " \"x\"", " \"$.x\"", " /(x)/", " \"x\"", " \"Subject\""};
        const char *text = pl_format(arena, "%s%s", word->name, arguments[word->arguments]);
        assert_int_equal(query_of(text)->kind, word->kind);
        assert_int_equal(query_of(text)->filter_count, 0);
    }
    for (size_t i = 0; i < parse_filters.count; i++) {
        const struct parse_word *word = &parse_filters.list[i];
        if (word->refused != NULL)
            continue;
        static const char *const arguments[] = {"", " \"x\"", " \"x\" \"y\"", " /(x)/", " /(x)/ \"y\"", " \"$.x\"", " -1"};
        const struct hurl_query *query =
            query_of(pl_format(arena, "body %s%s count", word->name, arguments[word->arguments]));
        assert_int_equal(query->filter_count, 2);
        assert_int_equal(query->filters[0].kind, word->kind);
        assert_int_equal(query->filters[1].kind, HURL_FILTER_COUNT);
        assert_int_equal(query->filters[0].place.line, 4);
        assert_int_equal(query->filters[0].place.col, 6);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    assert_string_equal(shown(&query_of("header \"X-{{user}}\"")->text), "X-{user}");
    assert_string_equal(shown(&query_of("jsonpath \"$.{{user}}\"")->path.text), "$.{user}");
    assert_null(query_of("jsonpath \"$.{{user}}\"")->path.path);
    assert_non_null(query_of("jsonpath \"$.a\"")->path.path);
    const struct hurl_filter *filter = query_of("body replace \"a{{user}}\" \"b\"")->filters;
    assert_string_equal(shown(&filter->text), "a{user}");
    assert_string_equal(shown(&filter->second), "b");
    filter = query_of("body replaceRegex /a/ \"{{user}}\"")->filters;
    assert_non_null(filter->regex.code);
    assert_string_equal(shown(&filter->second), "{user}");
    filter = query_of("body nth -12")->filters;
    assert_int_equal(filter->number, -12);
    filter = query_of("body replace /a/ \"b\"")->filters; /* of older files */
    assert_int_equal(filter->kind, HURL_FILTER_REPLACE_REGEX);
}

static void test_cookies(void **state)
{
    (void)state;
    static const struct {
        const char *written, *name;
        enum hurl_cookie_attribute attribute;
    } cases[] = {{"a", "a", HURL_COOKIE_VALUE},
                 {"a[Value]", "a", HURL_COOKIE_VALUE},
                 {"a[Expires]", "a", HURL_COOKIE_EXPIRES},
                 {"a[Max-Age]", "a", HURL_COOKIE_MAX_AGE},
                 {"a[max-age]", "a", HURL_COOKIE_MAX_AGE},
                 {"a[Domain]", "a", HURL_COOKIE_DOMAIN},
                 {"a[Path]", "a", HURL_COOKIE_PATH},
                 {"a[ Secure ]", "a", HURL_COOKIE_SECURE},
                 {"a[HttpOnly]", "a", HURL_COOKIE_HTTP_ONLY},
                 {"a[SameSite]", "a", HURL_COOKIE_SAME_SITE},
                 {"{{user}}[Path]", "{user}", HURL_COOKIE_PATH},
                 {"a-{{user}}-b[Path]", "a-{user}-b", HURL_COOKIE_PATH},
                 {"{{user}}", "{user}", HURL_COOKIE_VALUE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hurl_query *query = query_of(pl_format(arena, "cookie \"%s\"", cases[i].written));
        assert_string_equal(shown(&query->text), cases[i].name);
        assert_int_equal(query->cookie, cases[i].attribute);
    }
}

static void test_certificate(void **state)
{
    (void)state;
    static const char *const fields[] = {"Subject", "Issuer", "Start-Date", "Expire-Date", "Serial-Number"};
    for (size_t i = 0; i < COUNT(fields); i++)
        assert_int_equal(query_of(pl_format(arena, "certificate \"%s\"", fields[i]))->certificate, i);
    assert_true(compile_one("GET /\nHTTP *\n[Captures]\na: certificate \"Issuer\"\n")->facts.reads_certificate);
    assert_false(compile_one("GET /\nHTTP *\n[Captures]\na: status\n")->facts.reads_certificate);
}

static bool matches(const struct hurl_regex *regex, const char *subject)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    int result = pcre2_match(regex->code, (PCRE2_SPTR)subject, strlen(subject), 0, 0, data, NULL);
    pcre2_match_data_free(data);
    return result > 0;
}

static void test_regex(void **state)
{
    (void)state;
    static const struct {
        const char *written, *subject;
        bool matches;
    } cases[] = {{"/^a(.)c$/", "abc", true},
                 {"/^a(.)c$/",
                  "a\xc3\xa9"
                  "c",
                  true},
                 {"/^(a)\\/b$/", "a/b", true},
                 {"/^(\\d+)\\\\$/", "12\\", true},
                 {"/^(\\d)$/", "\xd9\xa3", true}, /* a digit of another script */
                 {"/^(a)$/", "a\n", false},
                 {"/(?i)^(ABC)/", "abc", true},
                 {"/(#)/", "#", true},
                 {"\"^(\\\\d)\\\\.$\"", "1.", true},
                 {"\"(\\u{e9})\"", "\xc3\xa9", true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hurl_query *query = query_of(pl_format(arena, "regex %s", cases[i].written));
        assert_non_null(query->regex.code);
        assert_int_equal(matches(&query->regex, cases[i].subject), cases[i].matches);
    }
    const struct hurl_query *query = query_of("regex \"({{user}})\"");
    assert_null(query->regex.code);
    assert_string_equal(shown(&query->regex.text), "({user})");
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_words), PARSE_TEST(test_arguments), PARSE_TEST(test_cookies),
                                       PARSE_TEST(test_certificate), PARSE_TEST(test_regex)};
    return cmocka_run_group_tests_name("parse_query", tests, NULL, NULL);
}
