/* What a plan says of HTTP ends up in struct plan. The messages are in test_bad.c. */
#include "http_plan.h"

static void test_service(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    const struct plan *plan = http_place_parse(&place, http_plan_text);
    const struct plan_service *web = plan->subject;
    assert_int_equal(plan_speech_of(web), PLAN_HTTP);
    assert_string_equal(web->url, "http://bob:hunter2@127.0.0.1:8080/api");
    assert_true(web->http.http2 && web->http.no_keep_alive && !web->http.insecure);
    assert_int_equal(web->http.max_time_ns, 500000000);
    assert_int_equal(web->http.connect_timeout_ns, 10000000000);
    assert_int_equal(web->http.streams, 10);
    assert_string_equal(web->http.ca_file, pl_format(place.arena, "%s/ca.pem", place.folder));
    assert_true(plan->scripts[0].is_hurl);
    assert_false(plan_key_applies(plan, plan_stage_key(PLAN_RATE, "protocol")));
    assert_true(plan_key_applies(plan, plan_stage_key(PLAN_RATE, "streams")));
    assert_true(plan_key_applies(plan, plan_stage_key(PLAN_RATE, "think")));
    http_place_remove(&place);
}

static void test_names_with_a_hyphen(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    char *text = pl_strdup(place.arena, http_plan_text);
    memcpy(strstr(text, "nothing:"), "not-ing:", 8);
    assert_string_equal(http_place_parse(&place, text)->variables[2].name, "not-ing");
    http_place_remove(&place);
}

static void test_data(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    const struct plan *plan = http_place_parse(&place, http_plan_text);
    assert_int_equal(plan->variable_count, 4);
    assert_string_equal(plan->variables[0].text, "random(1, 9)");
    assert_string_equal(plan->variables[1].text, "hunter3");
    assert_string_equal(plan->variables[2].text, "null");
    assert_string_equal(plan->variables[3].text, "a\"b");
    assert_int_equal(plan->feeds[0].order, PLAN_UNIQUE);
    assert_int_equal(plan->feeds[1].order, PLAN_SEQUENTIAL);
    assert_string_equal(plan->feeds[0].path, pl_format(place.arena, "%s/users.csv", place.folder));
    assert_string_equal(plan->feeds[1].path, "/w.jsonl");
    assert_int_equal(plan->tenants->count, 1000);
    assert_int_equal(plan->tenants->column_count, 6);
    assert_string_equal(plan->tenants->columns[0].text, "https://eve:hunter4@t{n}.example.org");
    assert_string_equal(plan->tenants->columns[3].name, "header.Authorization");
    assert_string_equal(plan->tenants->columns[5].name, "shop");
    http_place_remove(&place);
}

static void test_stage(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    const struct plan_stage *stage = &http_place_parse(&place, http_plan_text)->stages[0];
    assert_string_equal(stage->axes[0].values[0], "browse");
    assert_string_equal(stage->axes[0].values[1], "browse@3+buy@1");
    assert_string_equal(stage->params.script, "browse");
    assert_int_equal(stage->params.session, 5);
    assert_int_equal(stage->params.think_ns, 1000000000);
    assert_int_equal(stage->params.http2, PLAN_AS_SERVICE);
    assert_int_equal(stage->params.max_time_ns, 0);
    http_place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_service), cmocka_unit_test(test_names_with_a_hyphen),
                                       cmocka_unit_test(test_data), cmocka_unit_test(test_stage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
