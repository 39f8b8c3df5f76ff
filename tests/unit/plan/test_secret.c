/* What may be a secret is in the struct and not in the text that is kept, whatever way it is written. */
#include "http_plan.h"

static void test_the_kept_text(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    const struct plan *plan = http_place_parse(&place, http_plan_text);
    assert_null(strstr(plan->text, "hunter"));
    assert_null(strstr(plan->text, "a\\\"b"));
    assert_int_equal(plan->length, strlen(plan->text));
    static const char *const holds[] = {
        "\xef\xbb\xbfstudy: Gr\xc3\xb6\xc3\x9f"
        "e\nservices:\n",
        "url: \"http://***@127.0.0.1:8080/api\"   # here\n    http: {",
        "variables: {user: \"random(1, 9)\", password: \"***\", nothing: , api_token: \"***\"}\n",
        "  url: \"https://***@t{n}.example.org\"\n  user: \"***\"\n  header.X-Shop: \"{n:04}\"\n",
        "  header.Authorization: \"***\"\n  weight: 2\n",
    };
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        if (strstr(plan->text, holds[i]) == NULL)
            fail_msg("no \"%s\" in\n%s", holds[i], plan->text);
    /* it is a plan still, and keeping it once more changes nothing */
    assert_string_equal(http_place_parse(&place, plan->text)->text, plan->text);
    http_place_remove(&place);
}

/* A secret in every style that YAML has, among characters of several bytes and line ends of two. */
static void test_styles(void **state)
{
    (void)state;
    static const char *const styles[] = {
        "hunter2",         "'hunter2'",     "\"hunter\\x32\"",      ">-\n  hunter2\n",
        "|-\n  hunter2\n", "\r\n  hunter2", "\"h\xc3\xb6hunter2\"", "hunter2 # a comment",
    };
    struct http_place place;
    http_place_make(&place);
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        const char *text = pl_format(place.arena,
                                     "study: \xe2\x82\xac\r\nservices: {web: {kind: attach, url: http://h}}\n"
                                     "scripts: {get: get.hurl}\nvariables:\n password: %s\n shop: kept\nstages:\n"
                                     "  - {kind: clients, script: get}\n",
                                     styles[i]);
        const struct plan *plan = http_place_parse(&place, text);
        assert_non_null(strstr(plan->variables[0].text, "hunter2"));
        if (strstr(plan->text, "hunter") != NULL || strstr(plan->text, "\"***\"") == NULL)
            fail_msg("style %zu:\n%s", i, plan->text);
        assert_non_null(strstr(plan->text, "\n shop: kept\nstages:\n"));
        assert_non_null(strstr(plan->text, "study: \xe2\x82\xac\r\nservices"));
        assert_string_equal(http_place_parse(&place, plan->text)->variables[1].text, "kept");
    }
    http_place_remove(&place);
}

/* A plan without secrets is kept byte for byte. */
static void test_nothing_to_hide(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    const char *text = "# http://bob:x@h\nstudy: A\nservices: {web: {kind: attach, url: \"http://h/a@b\"}}\n"
                       "scripts: {get: get.hurl}\nstages:\n  - {kind: clients, script: get}\n";
    assert_string_equal(http_place_parse(&place, text)->text, text);
    http_place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_kept_text), cmocka_unit_test(test_styles),
                                       cmocka_unit_test(test_nothing_to_hide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
