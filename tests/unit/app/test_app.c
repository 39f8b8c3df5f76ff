/* Exit codes by the kind of error, and the table of commands. */
#include "support.h"

#include <string.h>

#include "app/app.h"

static void test_exit_codes(void **state)
{
    (void)state;
    static const int expected[PL_CODE_COUNT] = {
        [PL_OK] = 0, [PL_USAGE] = 2, [PL_INPUT] = 2,   [PL_NOT_FOUND] = 2, [PL_LIMIT] = 2,
        [PL_IO] = 3, [PL_STORE] = 3, [PL_SERVICE] = 3, [PL_BALANCE] = 3,   [PL_INTERRUPTED] = 130,
    };
    for (int code = 0; code < PL_CODE_COUNT; code++)
        assert_int_equal(app_exit_of((enum pl_code)code), expected[code]);
}

static void test_commands(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct app_command *command = app_commands; command->name != NULL; command++, count++) {
        assert_non_null(command->run);
        assert_true(strlen(command->summary) > 0 && command->summary[strlen(command->summary) - 1] != '.');
    }
    assert_true(count >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exit_codes), cmocka_unit_test(test_commands)};
    return cmocka_run_group_tests_name("app", tests, NULL, NULL);
}
