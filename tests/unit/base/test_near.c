#include "support.h"

#include <string.h>

#include "base/near.h"

static const char *const keys[] = {"rate", "for", "clients", "iterations", "warm_up", "over"};

static void assert_near(const char *word, const char *expected)
{
    const char *found = pl_near(word, keys, sizeof keys / sizeof keys[0]);
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found != NULL ? found : "(none)", expected);
}

static void test_slips_of_the_finger(void **state)
{
    (void)state;
    assert_near("client", "clients");        /* left out */
    assert_near("clientss", "clients");      /* twice */
    assert_near("cleints", "clients");       /* swapped: one slip, not two */
    assert_near("warm-up", "warm_up");       /* another */
    assert_near("itreatoins", "iterations"); /* two swaps */
    assert_near("rate", "rate");
    assert_near("fro", "for");
}

static void test_other_words_are_not_near(void **state)
{
    (void)state;
    assert_near("tenants", NULL);
    assert_near("xyz", NULL);
    assert_near("", NULL);
    assert_null(pl_near("rate", keys, 0));
}

/* The limit: one change up to five letters, two from six, three from nine; never all of them. */
static void test_how_near_is_near(void **state)
{
    (void)state;
    const char *const nine[] = {"abcdefghi"};
    assert_non_null(pl_near("xyzdefghi", nine, 1));
    assert_null(pl_near("wxyzefghi", nine, 1));
    const char *const six[] = {"abcdef"};
    assert_non_null(pl_near("xycdef", six, 1));
    assert_null(pl_near("xyzdef", six, 1));
    const char *const five[] = {"abcde"};
    assert_non_null(pl_near("xbcde", five, 1));
    assert_null(pl_near("xycde", five, 1));
    const char *const one[] = {"a"};
    assert_null(pl_near("b", one, 1));
    const char *const written[] = {"warm_up"};
    assert_non_null(pl_near("Warm-Up", written, 1));
}

static void test_the_nearest_wins_and_the_first_of_equals(void **state)
{
    (void)state;
    const char *const words[] = {"shared", "share", "sharer"};
    assert_string_equal(pl_near("shar", words, 3), "share");
    assert_string_equal(pl_near("sharex", words, 3), "shared");
    const char *const equals[] = {"abcx", "abcy"};
    assert_string_equal(pl_near("abcz", equals, 2), "abcx");
}

static void test_long_words(void **state)
{
    (void)state;
    char longest[64], longer[65];
    memset(longest, 'a', 63);
    longest[63] = '\0';
    memset(longer, 'a', 64);
    longer[64] = '\0';
    const char *const words[] = {longer, longest};
    assert_ptr_equal(pl_near(longest, words, 2), longest);
    assert_null(pl_near(longer, words, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips_of_the_finger), cmocka_unit_test(test_other_words_are_not_near),
        cmocka_unit_test(test_how_near_is_near),    cmocka_unit_test(test_the_nearest_wins_and_the_first_of_equals),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
