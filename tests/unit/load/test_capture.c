/* Texts of variables: copied, and those of the beginning of an operation stay until its end. */
#include "load_test.h"

#include <stdio.h>

#include "base/rng.h"
#include "load/load_int.h"

enum { CLIENTS = 3, VARIABLES = 4 };

static void check_text(const struct value *value, const char *text)
{
    assert_int_equal(value->type, VALUE_TEXT);
    assert_int_equal(value->length, strlen(text));
    assert_string_equal(value->text, text);
}

static void test_sets_copies(void **state)
{
    (void)state;
    struct value vars[CLIENTS * VARIABLES] = {0};
    struct capture capture;
    char text[] = "first and more";
    capture_init(&capture, CLIENTS, VARIABLES, vars, NULL);
    capture_set(&capture, 1, 2, text, 5);
    memset(text, 'x', sizeof text - 1);
    check_text(&vars[1 * VARIABLES + 2], "first");
    capture_set(&capture, 2, 2, "", 0);
    check_text(&vars[2 * VARIABLES + 2], "");
    check_text(&vars[1 * VARIABLES + 2], "first");
    capture_set(&capture, 1, 2, NULL, 0);
    assert_int_equal(vars[1 * VARIABLES + 2].type, VALUE_NULL);
    for (int i = 0; i < CLIENTS * VARIABLES; i++)
        assert_true(i == 1 * VARIABLES + 2 || i == 2 * VARIABLES + 2 || vars[i].type == VALUE_UNSET);
    capture_release(&capture);
}

/* Against copies that the test keeps: whatever an operation sets, and however often, the values of its beginning can be
 * read again. */
static void test_saved_values_stay(void **state)
{
    (void)state;
    struct value vars[VARIABLES] = {0}, saved[VARIABLES] = {0};
    static char now[VARIABLES][3000], before[VARIABLES][3000];
    bool is_text[VARIABLES] = {false}, was_text[VARIABLES] = {false};
    struct capture capture;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    capture_init(&capture, 1, VARIABLES, vars, saved);
    for (int operation = 0; operation < 2000; operation++) {
        memcpy(saved, vars, sizeof saved);
        memcpy(before, now, sizeof before);
        memcpy(was_text, is_text, sizeof was_text);
        for (int64_t sets = pl_rng_range(&rng, 0, 6); sets > 0; sets--) {
            int64_t v = pl_rng_range(&rng, 0, VARIABLES - 1), kind = pl_rng_range(&rng, 0, 9);
            if (kind == 0) { /* \set */
                vars[v] = (struct value){.type = VALUE_INT, .i = operation};
                is_text[v] = false;
                continue;
            }
            int length = (int)pl_rng_range(&rng, 0, kind == 1 ? 2900 : 40);
            memset(now[v], 'a' + operation % 26, (size_t)length);
            now[v][length] = '\0';
            is_text[v] = true;
            capture_set(&capture, 0, (int)v, now[v], (size_t)length);
        }
        for (int v = 0; v < VARIABLES; v++) {
            if (is_text[v])
                check_text(&vars[v], now[v]);
            if (was_text[v])
                check_text(&saved[v], before[v]);
        }
        if (pl_rng_range(&rng, 0, 2) == 0) { /* another try */
            memcpy(vars, saved, sizeof vars);
            memcpy(now, before, sizeof now);
            memcpy(is_text, was_text, sizeof is_text);
        }
    }
    capture_release(&capture);
}

/* A text may be set from a part of itself, while it grows, too. */
static void test_from_itself(void **state)
{
    (void)state;
    struct value vars[2] = {0};
    struct capture capture;
    char expected[20000] = "x";
    capture_init(&capture, 1, 2, vars, NULL);
    capture_set_text(&capture, 0, 1, "x", 1);
    for (int i = 0; i < 13; i++) {
        size_t length = strlen(expected);
        char *twice = malloc(2 * length);
        memcpy(twice, expected, length);
        memcpy(twice + length, expected, length);
        capture_set_text(&capture, 0, 1, twice, 2 * length);
        free(twice);
        memcpy(expected + length, expected, length);
        expected[2 * length] = '\0';
        check_text(&vars[1], expected);
    }
    capture_set_text(&capture, 0, 1, vars[1].text + 5, vars[1].length - 5);
    check_text(&vars[1], expected + 5);
    capture_release(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_copies),
        cmocka_unit_test(test_saved_values_stay),
        cmocka_unit_test(test_from_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
