/* Tables of scripts of a mix, of groups of tenants, and what a page says of a server that was attached to. */
#include "pages.h"

static void test_tables_of_parts(void **state)
{
    (void)state;
    char *page = markdown_of(http_study());
    assert_holds(page, "Scripts of the mix");
    assert_holds(page, "Groups of tenants");
    assert_holds(page, "gold (10 tenants, 75.0 % of the load)");
    assert_holds(page, "others (990 tenants, 25.0 % of the load)");
    assert_holds(page, "Requests and answers, browse");
    assert_holds(page, "Did the load keep its schedule?");
    pl_free(page);
}

/* Parts are no steps: the table of requests does not show them. */
static void test_parts_are_no_steps(void **state)
{
    (void)state;
    assert_true(page_is_part("script:browse"));
    assert_true(page_is_part("group:"));
    assert_false(page_is_part("browse step 1: GET /"));
    assert_false(page_is_part(""));
    assert_false(page_is_part("web"));
    char *page = markdown_of(http_study());
    const char *steps = strstr(page, "Service time of each step of browse&#64;3+buy&#64;1");
    assert_non_null(steps);
    const char *end = strstr(steps, "\n#");
    assert_non_null(end);
    const char *part = strstr(steps, "group:gold");
    assert_true(part == NULL || part > end);
    assert_holds(page, "buy step 2: POST /buy");
    pl_free(page);
}

static void test_attached(void **state)
{
    (void)state;
    char *page = markdown_of(http_study());
    assert_holds(page, "It was running already, and was loaded from");
    assert_holds(page, "nothing was read of its memory, CPU and disk");
    assert_lacks(page, "CPU of the service");
    assert_lacks(page, "With connecting");
    assert_lacks(page, "PostgreSQL");
    assert_holds(page, "Expired");
    assert_holds(page, "connect:ECONNREFUSED");
    assert_holds(page, "1 of 4 trials is marked");
    assert_holds(page, "\xe2\x89\xa5 "); /* a percentile that is known from below */
    pl_free(page);
    page = markdown_of(small_study());
    assert_lacks(page, "Errors");
    assert_holds(page, "With connecting");
    assert_lacks(page, "are marked");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_of_parts),
        cmocka_unit_test(test_parts_are_no_steps),
        cmocka_unit_test(test_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
