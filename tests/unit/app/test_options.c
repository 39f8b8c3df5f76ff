/* Options by table: what is taken, what is refused and how. */
#include "support.h"

#include <string.h>

#include "app/app.h"

static const struct app_command command = {"run", "PLAN [-o FILE]", "carry out a plan", NULL};

struct outcome {
    const char *output;
    bool resume, help;
    const char *operands[2];
    int count;
    struct pl_err err;
};

static struct outcome parse(const char *const *arguments)
{
    struct outcome outcome = {0};
    const struct app_option options[] = {
        {"output", 'o', "FILE", "where", &outcome.output, NULL},
        {"resume", 0, NULL, "go on", NULL, &outcome.resume},
    };
    char *argv[10] = {NULL};
    char copies[10][64];
    int argc = 0;
    for (; arguments[argc] != NULL; argc++)
        argv[argc] = strcpy(copies[argc], arguments[argc]);
    struct app_operands operands = {.capacity = 1};
    enum pl_code code = app_options_parse(&command, options, 2, argc, argv, &operands, &outcome.err);
    outcome.count = operands.count;
    outcome.help = operands.help;
    assert_int_equal(code, outcome.err.code);
    /* the copies go with this frame: keep what the tests look at */
    static char kept[2][64];
    if (outcome.output != NULL)
        outcome.output = strcpy(kept[0], outcome.output);
    if (operands.count > 0)
        outcome.operands[0] = strcpy(kept[1], operands.items[0]);
    return outcome;
}

#define PARSE(...) parse((const char *const[]){"run", __VA_ARGS__, NULL})

static void test_taken(void **state)
{
    (void)state;
    struct outcome outcome = PARSE("plan.yaml", "-o", "x.study", "--resume");
    assert_int_equal(outcome.err.code, PL_OK);
    assert_string_equal(outcome.output, "x.study");
    assert_string_equal(outcome.operands[0], "plan.yaml");
    assert_true(outcome.resume && outcome.count == 1 && !outcome.help);

    outcome = PARSE("--output=x.study", "plan.yaml");
    assert_int_equal(outcome.err.code, PL_OK);
    assert_string_equal(outcome.output, "x.study");
    assert_false(outcome.resume);

    outcome = PARSE("--", "--resume");
    assert_string_equal(outcome.operands[0], "--resume");
    assert_false(outcome.resume);

    outcome = PARSE("-");
    assert_string_equal(outcome.operands[0], "-");
}

static void check_refused(struct outcome outcome, const char *what, const char *hint)
{
    assert_int_equal(outcome.err.code, PL_USAGE);
    assert_string_equal(outcome.err.what, what);
    assert_string_equal(outcome.err.hint, hint);
}

static void test_refused(void **state)
{
    (void)state;
    check_refused(PARSE("--resum"), "\"run\" has no option \"--resum\"", "Did you mean \"--resume\"?");
    check_refused(PARSE("--colour"), "\"run\" has no option \"--colour\"", "\"plimsoll run --help\" lists the options.");
    check_refused(PARSE("-x"), "\"run\" has no option \"-x\"", "\"plimsoll run --help\" lists the options.");
    check_refused(PARSE("-ofile"), "\"run\" has no option \"-ofile\"", "\"plimsoll run --help\" lists the options.");
    check_refused(PARSE("a", "b"), "\"b\" is one argument too many", "usage: plimsoll run PLAN [-o FILE]");
    check_refused(PARSE("--output"), "option \"--output\" needs its FILE", "");
    check_refused(PARSE("--output="), "option \"--output\" needs its FILE, and it is empty", "");
    check_refused(PARSE("-o", "a", "-o", "b"), "option \"--output\" is given twice", "");
    check_refused(PARSE("--resume=1"), "option \"--resume\" takes no value", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
