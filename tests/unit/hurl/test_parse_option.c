/* [Options]: what becomes a fact of the request. What becomes a step: test_steps.c. */
#include "parse_test.h"

static const struct hurl_facts *facts_of(const char *options)
{
    return hurl_request_facts(compile_one(pl_format(arena, "GET /\n[Options]\n%s", options)));
}

static void test_defaults(void **state)
{
    (void)state;
    const struct hurl_facts *facts = facts_of("");
    assert_string_equal(facts->source, "t.hurl");
    assert_int_equal(facts->line, 1);
    assert_true(facts->is_constant);
    assert_false(facts->keeps_body || facts->decodes || facts->follows || facts->is_insecure || facts->reads_certificate);
    assert_int_equal(facts->max_redirects, 50);
    assert_int_equal(facts->max_time_ns, 0);
    assert_int_equal(facts->connect_timeout_ns, 0);
    assert_int_equal(facts->version, HURL_VERSION_ANY);
    assert_null(facts->unix_socket);
}

static void test_booleans(void **state)
{
    (void)state;
    assert_true(facts_of("compressed: true\n")->decodes);
    assert_false(facts_of("compressed: false\n")->decodes);
    assert_true(facts_of("location: true\n")->follows);
    assert_true(facts_of("insecure : true # comment\n")->is_insecure);
    assert_false(facts_of("insecure: true\ninsecure: false\n")->is_insecure);
    facts_of("verbose: true\nvery-verbose: true\nverbosity: brief\n");
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(facts_of("http1.0: true\n")->version, HURL_VERSION_1_0);
    assert_int_equal(facts_of("http1.1: true\n")->version, HURL_VERSION_1_1);
    assert_int_equal(facts_of("http2: true\n")->version, HURL_VERSION_2);
    assert_int_equal(facts_of("http1.1: true\nhttp2: true\n")->version, HURL_VERSION_2);
    assert_int_equal(facts_of("http2: true\nhttp2: false\n")->version, HURL_VERSION_ANY);
    assert_int_equal(facts_of("http1.1: true\nhttp2: false\n")->version, HURL_VERSION_1_1);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"2", 2000000000}, {"2s", 2000000000}, {"15ms", 15000000}, {"3m", 180000000000}, {"1h", 3600000000000}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(facts_of(pl_format(arena, "max-time: %s\n", cases[i].text))->max_time_ns, cases[i].ns);
        assert_int_equal(facts_of(pl_format(arena, "connect-timeout: %s\n", cases[i].text))->connect_timeout_ns,
                         cases[i].ns);
    }
}

static void test_other_facts(void **state)
{
    (void)state;
    assert_int_equal(facts_of("max-redirs: 7\n")->max_redirects, 7);
    assert_int_equal(facts_of("max-redirs: 0\n")->max_redirects, 0);
    assert_int_equal(facts_of("max-redirs: -1\n")->max_redirects, -1);
    assert_string_equal(facts_of("unix-socket: /run/a b.sock # comment\n")->unix_socket, "/run/a b.sock");
}

/* Headers of options come after those of the file. */
static void test_header(void **state)
{
    (void)state;
    const struct hurl_request *request =
        compile_one("GET /\nA: 1\n[Options]\nheader: B: 2 # c\nheader:C:{{user}}:x\nheader: D:\n");
    assert_string_equal(shown_pairs(request->headers, request->header_count), "A=1;B=2;C={user}:x;D=;");
    assert_false(request->facts.is_constant);
}

/* What a boolean that is not supported asks for when it is false: nothing. */
static void test_false_is_nothing(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < parse_options.count; i++) {
        const struct parse_word *word = &parse_options.list[i];
        if (word->refused == NULL || !word->arguments)
            continue;
        facts_of(pl_format(arena, "%s: false\n", word->name));
        count++;
    }
    assert_true(count >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_defaults),        PARSE_TEST(test_booleans),
                                       PARSE_TEST(test_versions),        PARSE_TEST(test_durations),
                                       PARSE_TEST(test_other_facts),     PARSE_TEST(test_header),
                                       PARSE_TEST(test_false_is_nothing)};
    return cmocka_run_group_tests_name("parse_option", tests, NULL, NULL);
}
