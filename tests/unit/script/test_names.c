/* Names: found again among many, set by command or by prefix, spelled right. */
#include "script_test.h"

#include "script/names_int.h"

static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    char name[16];
    size_t first = names_count(names);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(names_find(names, name, strlen(name)), -1);
        assert_int_equal(names_add(names, name, strlen(name)), (int)first + i);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(names_add(names, name, strlen(name)), (int)first + i);
        assert_string_equal(names_at(names, (int)first + i), name);
    }
    assert_int_equal(names_count(names), first + MANY);
    assert_int_equal(names_find(names, "v1x", 2), names_find(names, "v1", 2));
}

static void test_set(void **state)
{
    (void)state;
    int plain = names_add(names, "plain", 5), p_one = names_add(names, "p_one", 5);
    assert_true(names_is_set(names, names_find(names, "scale", 5)));
    assert_false(names_is_set(names, plain));
    names_mark_prefix(names, "p_");
    names_mark_prefix(names, "p_"); /* once is enough */
    assert_true(names_is_set(names, p_one));
    assert_false(names_is_set(names, plain));
    names_mark_set(names, plain);
    assert_true(names_is_set(names, plain));
    int late = names_add(names, "late", 4);
    assert_false(names_is_set(names, late));
    names_mark_prefix(names, "");
    assert_true(names_is_set(names, late));
}

/* What a program uses is known from what was asked for while it was compiled. */
static void test_uses(void **state)
{
    (void)state;
    int a = names_add(names, "use_a", 5), b = names_add(names, "use_b", 5), c = names_add(names, "use_c", 5);
    assert_true(names_is_used(names, a));
    names_forget_uses(names);
    assert_false(names_is_used(names, a));
    assert_int_equal(names_add(names, "use_b", 5), b);
    assert_int_equal(names_use(names, "use_c", 5), c);
    assert_int_equal(names_use(names, "use_d", 5), -1);
    assert_int_equal(names_find(names, "use_a", 5), a); /* looking is no use */
    assert_false(names_is_used(names, a));
    assert_true(names_is_used(names, b));
    assert_true(names_is_used(names, c));
}

/* Many prefixes, some of them beginnings of others. */
static void test_prefixes(void **state)
{
    (void)state;
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "p%d_", i);
        names_mark_prefix(names, text);
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof text, "p%d_x", i);
        assert_int_equal(names_is_set(names, names_add(names, text, strlen(text))), i < 5000);
        snprintf(text, sizeof text, "p%d", i);
        assert_false(names_is_set(names, names_add(names, text, strlen(text))));
    }
    assert_true(names_is_set(names, names_add(names, "p7_", 3)));
}

static void test_spelling(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "_", "A1", "x_y", "\xc3\xa9t\xc3\xa9", "_1"};
    static const char *const bad[] = {"", "1", "1x", "a-b", "a b", "a:b", "?column?", "a.b"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(names_is_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(names_is_valid(bad[i], strlen(bad[i])));
}

/* Programs that are written by hand have no names. */
static void test_none(void **state)
{
    (void)state;
    assert_int_equal(names_count(NULL), 0);
    assert_int_equal(program_variable(&(struct program){0}, "x"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_many, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_set, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_uses, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_prefixes, script_setup, script_teardown),
                                       cmocka_unit_test(test_spelling),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
