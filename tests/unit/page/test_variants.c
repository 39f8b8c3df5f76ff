/* A service in variants: what all share stands once, what differs with the variants that have it. */
#include "pages.h"

static void test_shared_and_not(void **state)
{
    (void)state;
    char *page = markdown_of(compared_study());
    const char *settings = strstr(page, "<a id=\"settings\"></a>");
    assert_non_null(settings);
    const char *shared = strstr(settings, "**Settings of db that the plan sets or that differ from the defaults**");
    const char *apart = strstr(settings, "**What the variants of db do not share**");
    assert_true(shared != NULL && apart != NULL && shared < apart);
    const char *common = strstr(shared, "`max_connections`");
    assert_true(common != NULL && common < apart);
    assert_null(strstr(common + 1, "`max_connections`"));
    const char *buffers = strstr(shared, "`shared_buffers`");
    assert_true(buffers != NULL && buffers > apart);
    assert_holds(apart, "data.scale=1 settings=custom; data.scale=10 settings=custom");
    assert_holds(apart, "the default");
    pl_free(page);
}

static void test_one_variant_is_the_service(void **state)
{
    (void)state;
    char *page = markdown_of(small_study());
    assert_lacks(page, "variant");
    pl_free(page);
}

/* "dbx" is another service than "db". */
static void test_scopes(void **state)
{
    (void)state;
    assert_true(page_is_scope_of("db", "db") && page_is_scope_of("db version=15", "db"));
    assert_false(page_is_scope_of("dbx", "db") || page_is_scope_of("d", "db") || page_is_scope_of("", "db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared_and_not),
                                       cmocka_unit_test(test_one_variant_is_the_service), cmocka_unit_test(test_scopes)};
    return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
