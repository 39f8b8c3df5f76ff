/* Values in templates: each kind as text, functions, filters beside literals; lists of every make. */
#include "run_test.h"

#include <stdlib.h>

#include "base/clock.h"

static struct hurl_message message;

static const char *rendered(const char *text)
{
    const char *wrong = hurl_render(run_request(pl_format(arena, "POST http://h\n`%s`\n", text)), vars, work, &message);
    return wrong != NULL ? pl_strdup(arena, wrong) : pl_strndup(arena, message.body.text, message.body.length);
}

static void test_kinds(void **state)
{
    (void)state;
    run_define("t", "text");
    run_define("e", "");
    run_define_int("i", INT64_MIN);
    *run_variable("b") = (struct value){.type = VALUE_BOOL, .b = true};
    *run_variable("z") = (struct value){.type = VALUE_NULL};
    static const struct {
        double d;
        const char *text;
    } doubles[] = {{0, "0.0"},      {-0.0, "-0.0"},
                   {2, "2.0"},      {0.1, "0.1"},
                   {1e20, "1e+20"}, {1.0 / 3, "0.333333333333333"},
                   {-2.5, "-2.5"},  {123456789012345, "123456789012345.0"}};
    assert_string_equal(rendered("<{{t}}|{{e}}|{{i}}|{{b}}|{{z}}>"), "<text||-9223372036854775808|true|null>");
    assert_string_equal(rendered("{{t}}{{t}}"), "texttext");
    assert_string_equal(rendered("no variable"), "no variable");
    for (size_t i = 0; i < COUNT(doubles); i++) {
        *run_variable("d") = (struct value){.type = VALUE_DOUBLE, .d = doubles[i].d};
        const char *text = rendered("{{d}}");
        if (i == 5)
            assert_int_equal(strncmp(text, doubles[i].text, 17), 0);
        else
            assert_string_equal(text, doubles[i].text);
    }
    run_variable("u");
    assert_non_null(strstr(rendered("x {{u}}"), "variable \"u\" has no value"));
    assert_non_null(strstr(rendered("{{t regex \"(z)\"}}"), "the filters find nothing"));
    assert_string_equal(rendered("a{{t replace \"t\" \"T\"}}b{{t}}c{{t split \"e\" first}}"), "aTexTbtextct");
    assert_string_equal(rendered("{{t split \"x\"}}"), "[\"te\",\"t\"]");
}

static void test_uuid(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    static char seen[MANY][37];
    unsigned ones[128] = {0};
    for (int i = 0; i < MANY; i++) {
        const char *uuid = rendered("{{newUuid}}");
        assert_int_equal(strlen(uuid), 36);
        int bit = 0;
        for (int k = 0; k < 36; k++) {
            if (k == 8 || k == 13 || k == 18 || k == 23) {
                assert_int_equal(uuid[k], '-');
                continue;
            }
            const char *digit = strchr("0123456789abcdef", uuid[k]);
            assert_non_null(digit);
            for (int b = 3; b >= 0; b--)
                ones[bit++] += (unsigned)((digit - strchr("0123456789abcdef", '0')) >> b & 1);
        }
        memcpy(seen[i], uuid, 37);
    }
    for (int i = 0; i < 128; i++) { /* version 4, variant 10, all else random */
        if (i >= 48 && i < 52)
            assert_int_equal(ones[i], i == 49 ? MANY : 0);
        else if (i == 64 || i == 65)
            assert_int_equal(ones[i], i == 64 ? MANY : 0);
        else
            assert_in_range(ones[i], MANY / 2 - 200, MANY / 2 + 200); /* nine standard deviations */
    }
    qsort(seen, MANY, sizeof seen[0], (int (*)(const void *, const void *))strcmp);
    for (int i = 1; i < MANY; i++)
        assert_string_not_equal(seen[i - 1], seen[i]);
    assert_string_equal(rendered("{{newUuid replace \"-\" \"\" regex \"^(.{0})\"}}"), "");
}

static void test_date(void **state)
{
    (void)state;
    int64_t before_s = pl_clock_unix_ns() / PL_NS_PER_S;
    const char *text = rendered("{{newDate}}");
    struct hurl_any date;
    char wrong;
    assert_true(hurl_date_parse((struct hurl_slice){text, strlen(text)}, (struct hurl_slice){"%Y-%m-%dT%H:%M:%S%.6fZ", 22},
                                &date, &wrong));
    assert_int_equal(strlen(text), 27);
    assert_in_range(date.i, before_s, pl_clock_unix_ns() / PL_NS_PER_S);
    assert_string_equal(rendered("{{newDate regex \"(Z)$\"}}"), "Z");
}

/* Items come out the same by index and one after the other, whatever a list is made of. */
static void test_lists(void **state)
{
    (void)state;
    struct json json = {0};
    size_t at;
    static const char text[] = "[1,\"b\",[2,3],{\"k\":4},null]";
    assert_null(json_read(&json, text, sizeof text - 1, &at));
    static const uint32_t tokens[] = {1, 2, 3, 6, 9};
    struct hurl_any items[5];
    struct hurl_run run = {
        .work = work, .scratch = &work->scratch, .request = &(struct hurl_request){.name = ""}, .vars = vars};
    for (size_t i = 0; i < 5; i++)
        assert_true(hurl_from_json(&run, (struct hurl_place){0}, &json, tokens[i], &items[i]));
    const struct hurl_any lists[] = {{.kind = HURL_LIST, .count = 5, .json = &json},
                                     {.kind = HURL_LIST, .count = 5, .json = &json, .tokens = tokens},
                                     {.kind = HURL_LIST, .count = 5, .items = items}};
    for (size_t l = 0; l < COUNT(lists); l++) {
        size_t next = 0;
        uint32_t token = 0;
        for (size_t i = 0; i < 5; i++) {
            struct hurl_any a, b;
            assert_true(hurl_list_at(&run, (struct hurl_place){0}, &lists[l], i, &a));
            assert_true(hurl_list_next(&run, (struct hurl_place){0}, &lists[l], &next, &token, &b));
            assert_int_equal(a.kind, items[i].kind);
            assert_int_equal(b.kind, items[i].kind);
            assert_int_equal(a.token, b.token);
            assert_int_equal(a.i, b.i);
        }
        assert_int_equal(next, 5);
        hurl_scratch_open(&work->scratch);
        assert_true(hurl_put_json(&work->scratch, &lists[l]));
        struct hurl_slice written = hurl_scratch_close(&work->scratch);
        assert_string_equal(pl_strndup(arena, written.text, written.length), text);
        struct hurl_any kept = lists[l];
        struct json other = {0};
        assert_true(hurl_keep(&run, (struct hurl_place){0}, &other, &kept));
        assert_int_equal(kept.count, 5);
        json_release(&other);
    }
    json_release(&json);
}

static void test_stored(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum hurl_kind kind;
    } texts[] = {{"[1]", HURL_LIST}, {"{}", HURL_OBJECT}, {"[", HURL_TEXT},
                 {"1", HURL_TEXT},   {" []", HURL_TEXT},  {"", HURL_TEXT}};
    struct json json = {0};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct hurl_any value = hurl_text_value(texts[i].text, strlen(texts[i].text));
        hurl_collect(&json, &value);
        assert_int_equal(value.kind, HURL_TEXT); /* what is no variable stays what it is */
        value.is_stored = true;
        hurl_collect(&json, &value);
        assert_int_equal(value.kind, texts[i].kind);
    }
    json_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_uuid, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_date, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_lists, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_stored, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
