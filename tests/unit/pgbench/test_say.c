/* Messages have the form of PostgreSQL's programs. */
#include "pgbench_test.h"

#include "pgbench/say_int.h"

static void test_levels(void **state)
{
    (void)state;
    static struct printed printed;
    printed_begin(&printed, stderr);
    pgbench_say(SAY_ERROR, "it is %d\n", 5);
    pgbench_say(SAY_WARNING, "w");
    pgbench_say(SAY_INFO, "i\n\n");
    pgbench_say(SAY_DETAIL, "two\nlines");
    pgbench_say(SAY_HINT, "%s", "");
    assert_string_equal(printed_end(&printed, stderr), "pgbench: error: it is 5\npgbench: warning: w\npgbench: i\n"
                                                       "pgbench: detail: two\nlines\npgbench: hint: \n");
}

/* What is too long is cut, and still ends its line. */
static void test_long(void **state)
{
    (void)state;
    static struct printed printed;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    printed_begin(&printed, stderr);
    pgbench_say(SAY_ERROR, "%s", text);
    const char *said = printed_end(&printed, stderr);
    assert_in_range(strlen(said), 8000, 9000);
    assert_int_equal(said[strlen(said) - 1], '\n');
}

static void test_err(void **state)
{
    (void)state;
    static struct printed printed;
    struct pl_err placed = {0}, bare = {0}, file = {0};
    pl_err_at(&placed, PL_INPUT, "s.sql", 7, 3, "syntax error");
    pl_err_hint(&placed, "\\set x\n   ^ error found here");
    pl_err_set(&bare, PL_SERVICE, "it is gone");
    pl_err_at(&file, PL_LIMIT, "s.sql", 0, 0, "too large");
    printed_begin(&printed, stderr);
    pgbench_say_err(&placed);
    pgbench_say_err(&bare);
    pgbench_say_err(&file);
    assert_string_equal(printed_end(&printed, stderr),
                        "pgbench: error: s.sql:7: syntax error\n\\set x\n   ^ error found here\n"
                        "pgbench: error: it is gone\npgbench: error: s.sql: too large\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_err)};
    return cmocka_run_group_tests_name("say", tests, NULL, NULL);
}
