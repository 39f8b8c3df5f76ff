/* The one text of a mix, and what it is made of. The messages are in test_bad.c. */
#include "http_plan.h"

static void test_mix(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan_share shares[PLAN_MIX_SCRIPTS];
    assert_int_equal(plan_mix("browse", arena, shares), 1);
    assert_string_equal(shares[0].script, "browse");
    assert_int_equal(shares[0].weight, 1);
    assert_int_equal(plan_mix("browse@3+buy@1+x", arena, shares), 3);
    assert_string_equal(shares[1].script, "buy");
    assert_int_equal(shares[0].weight, 3);
    assert_int_equal(shares[2].weight, 1);
    static const char *const none[] = {"", "+", "a+", "a@", "a@0", "a@x", "a@1000001", "a b", "@1"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(plan_mix(none[i], arena, shares), 0);
    pl_arena_free(arena);
}

/* A map, the text itself and a script alone. */
static void test_texts(void **state)
{
    (void)state;
    struct http_place place;
    http_place_make(&place);
    static const char *const cases[][2] = {{"{browse: 3, buy: 1}", "browse@3+buy@1"},
                                           {"browse@3+buy", "browse@3+buy@1"},
                                           {"{browse: 7}", "browse"},
                                           {"browse@7", "browse"},
                                           {"browse", "browse"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = pl_format(place.arena,
                                     "study: A\nservices: {web: {kind: attach, url: http://h}}\n"
                                     "scripts: {browse: get.hurl, buy: get.hurl}\nstages:\n"
                                     "  - {kind: clients, script: %s}\n",
                                     cases[i][0]);
        assert_string_equal(http_place_parse(&place, text)->stages[0].params.script, cases[i][1]);
    }
    http_place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mix), cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
