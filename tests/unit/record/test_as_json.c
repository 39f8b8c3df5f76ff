/* Small values as JSON. */
#include <math.h>

#include "record/as_json.h"
#include "support.h"

static void is(json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

static void test_values(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    is(record_json_text(arena, NULL), "null");
    is(record_json_text(arena, "a\"b"), "\"a\\\"b\"");
    is(record_json_text(arena, "a\xff"), "\"a\xef\xbf\xbd\"");
    is(record_json_real(0.5), "0.5");
    is(record_json_real(NAN), "null");
    is(record_json_real(INFINITY), "null");
    is(record_json_positive(3), "3");
    is(record_json_positive(0), "null");
    is(record_json_positive_real(1.5), "1.5");
    is(record_json_positive_real(0), "null");
    pl_arena_free(arena);
}

static void test_ledger(void **state)
{
    (void)state;
    const struct ledger ledger = {
        .due = 21, .completed = 1, .failed = 2, .skipped = 3, .expired = 4, .unfinished = 11, .never_started = 6};
    is(record_json_ledger(&ledger),
       "{\"due\":21,\"completed\":1,\"failed\":2,\"skipped\":3,\"expired\":4,\"unfinished\":11,"
       "\"never_started\":6}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
