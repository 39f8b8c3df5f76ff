/* What workers say, in pgbench's words. */
#include "pgbench_test.h"

#include "base/clock.h"
#include "pgbench/run_int.h"

static const struct step steps[] = {
    {.kind = STEP_SET, .number = 0, .text = "\\set x 1"},
    {.kind = STEP_SQL, .number = 1, .text = "SELECT 1;"},
    {.kind = STEP_IF, .number = 2, .text = "\\if :x"},
    {.kind = STEP_JUMP, .number = -1},
    {.kind = STEP_IF, .number = 3, .text = "\\elif :y"},
    {.kind = STEP_SHELL, .number = 4, .text = "\\shell false"},
    {.kind = STEP_SETSHELL, .number = 5, .text = "\\setshell x y"},
    {.kind = STEP_SLEEP, .number = 6, .text = "\\sleep :x"},
    {.kind = STEP_END_PIPELINE, .number = 7, .text = "\\endpipeline"},
};
static const struct program program = {.name = "s", .steps = steps, .step_count = 9, .command_count = 8};

#define ENDED .kind = LOAD_CLIENT_ENDED, .client = 3, .script = 1, .tries = 1
#define E "pgbench: error: "

static const struct {
    struct load_notice notice;
    const char *said;
} cases[] = {
    {{ENDED, .step = 1, .code = "22012", .text = "division by zero"},
     E "client 3 script 1 aborted in command 1 query 0: ERROR:  division by zero\n"},
    {{ENDED, .step = 1, .code = "22012", .text = "ERROR:  division by zero"},
     E "client 3 script 1 aborted in command 1 query 0: ERROR:  division by zero\n"},
    {{ENDED, .step = 8, .code = "22012", .text = "division by zero"},
     E "client 3 script 1 aborted in command 7 query 0: ERROR:  division by zero\n"},
    {{ENDED, .step = 1, .is_lost = true, .code = "57P01", .text = "terminating connection"},
     E "client 3 script 1 aborted in command 1 query 0: FATAL:  terminating connection\n"},
    {{ENDED, .step = 1, .is_lost = true, .code = "CLOSED", .text = "the server closed the connection"},
     E "client 3 aborted in command 1 (SQL) of script 1; perhaps the backend died while processing: the server closed the "
       "connection\n"},
    {{ENDED, .step = -1, .is_lost = true, .code = "57P01", .text = "terminating connection"},
     E "client 3 aborted: the server closed its connection while it was idle: FATAL:  terminating connection\n"},
    {{ENDED, .step = -1, .is_lost = true, .while_connecting = true, .code = "53300",
      .text = "sorry, too many clients already"},
     E "FATAL:  sorry, too many clients already\n" E "client 3 aborted while establishing connection\n"},
    {{ENDED, .step = 0, .code = "SCRIPT", .text = "division by zero"},
     E "division by zero\n" E "client 3 aborted in command 0 (set) of script 1; evaluation of meta-command failed\n"},
    {{ENDED, .step = 2, .code = "SCRIPT", .text = "t"},
     E "t\n" E "client 3 aborted in command 2 (if) of script 1; evaluation of meta-command failed\n"},
    {{ENDED, .step = 4, .code = "SCRIPT", .text = "t"},
     E "t\n" E "client 3 aborted in command 3 (elif) of script 1; evaluation of meta-command failed\n"},
    {{ENDED, .step = 5, .code = "SCRIPT", .text = "t"},
     E "t\n" E "client 3 aborted in command 4 (shell) of script 1; execution of meta-command failed\n"},
    {{ENDED, .step = 6, .code = "SCRIPT", .text = "t"},
     E "t\n" E "client 3 aborted in command 5 (setshell) of script 1; execution of meta-command failed\n"},
    {{ENDED, .step = 7, .code = "SCRIPT", .text = "t"},
     E "t\n" E "client 3 aborted in command 6 (sleep) of script 1; execution of meta-command failed\n"},
    {{ENDED, .step = -1, .code = "IN_TRANSACTION", .text = "x"},
     E "client 3 aborted: end of script reached without completing the last transaction\n"},
    {{ENDED, .step = -1, .code = "IN_PIPELINE", .text = "x"},
     E "client 3 aborted: end of script reached with pipeline open\n"},
    {{ENDED, .step = 1, .code = "ROWS", .text = "expected one row, got 2"},
     E "client 3 script 1 command 1 query 0: expected one row, got 2\n"},
    {{ENDED, .step = 1, .code = "NAME", .text = "gset: invalid variable name: \"a \"b\""},
     E "gset: invalid variable name: \"a \"b\"\n" E
       "client 3 script 1 command 1 query 0: error storing into variable a \"b\n"},
    {{ENDED, .step = 1, .code = "NAME", .text = "no quotes here"},
     E "no quotes here\n" E "client 3 script 1 command 1 query 0: error storing into variable \n"},
    {{ENDED, .step = 1, .code = "COPY", .text = "x"},
     E "client 3 aborted in command 1 of script 1: COPY is not supported in pgbench, aborting\n"},
    {{ENDED, .step = 1, .code = "QUOTES", .text = "a variable stands inside quotes"},
     E "client 3 script 1 aborted in command 1 query 0: a variable stands inside quotes\n"},
    {{ENDED, .step = 99, .code = "22012", .text = "x"}, E "client 3 script 1 aborted in command 0 query 0: ERROR:  x\n"},
};

static struct pgbench_script scripts[2] = {{.program = &program}, {.program = &program}};

static void test_ended(void **state)
{
    (void)state;
    static struct printed printed;
    struct pgbench_options options = {.scripts = scripts, .script_count = 2, .max_tries = 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        printed_begin(&printed, stderr);
        pgbench_notice_say(&options, &cases[i].notice);
        assert_string_equal(printed_end(&printed, stderr), cases[i].said);
    }
}

/* --verbose-errors: which limit, and how much of it. */
static void test_tries(void **state)
{
    (void)state;
    static struct printed printed;
    struct pgbench_options options = {.scripts = scripts, .script_count = 2, .max_tries = 3};
    struct load_notice retry = {.kind = LOAD_RETRY,
                                .client = 2,
                                .script = 1,
                                .step = 1,
                                .tries = 1,
                                .due_ns = PL_NS_PER_S,
                                .at_ns = PL_NS_PER_S + 5 * PL_NS_PER_MS,
                                .code = "40001",
                                .text = "could not serialize"};
    struct load_notice failure = retry;
    failure.kind = LOAD_FAILURE;
    failure.tries = 3;
    printed_begin(&printed, stderr);
    pgbench_notice_say(&options, &retry);
    pgbench_notice_say(&options, &failure);
    options.latency_limit_ns = 4 * PL_NS_PER_MS;
    pgbench_notice_say(&options, &failure);
    options.max_tries = 0;
    pgbench_notice_say(&options, &failure);
    options.latency_limit_ns = 0;
    pgbench_notice_say(&options, &retry);
    const char *error = "pgbench: client 2 got an error in command 1 (SQL) of script 1; ERROR:  could not serialize\n";
    char wanted[2000];
    snprintf(wanted, sizeof wanted,
             "%spgbench: client 2 repeats the transaction after the error (try 1/3)\n"
             "%spgbench: client 2 ends the failed transaction (try 3/3)\n"
             "%spgbench: client 2 ends the failed transaction (try 3/3, 125.000%% of the maximum time of tries was used)\n"
             "%spgbench: client 2 ends the failed transaction (try 3, 125.000%% of the maximum time of tries was used)\n"
             "%spgbench: client 2 repeats the transaction after the error (try 1)\n",
             error, error, error, error, error);
    assert_string_equal(printed_end(&printed, stderr), wanted);
}

/* One line for each call, with the place of the command. */
static void test_debug(void **state)
{
    (void)state;
    static struct printed printed;
    static const struct program other = {.name = "o"};
    struct pgbench_script of[2] = {{.program = &other}, {.program = &program}};
    struct pgbench_options options = {.scripts = of, .script_count = 2};
    printed_begin(&printed, stderr);
    pgbench_debug_say(&options, &program, &steps[2], &(struct value){.type = VALUE_INT, .i = INT64_MIN});
    pgbench_debug_say(&options, &other, &steps[0], &(struct value){.type = VALUE_BOOL, .b = true});
    pgbench_debug_say(&options, &program, &steps[0], &(struct value){.type = VALUE_DOUBLE, .d = -1.25e-300});
    pgbench_debug_say(&options, &program, &steps[0], &(struct value){.type = VALUE_NULL});
    assert_string_equal(printed_end(&printed, stderr), "debug(script=1,command=3): int -9223372036854775808\n"
                                                       "debug(script=0,command=1): boolean true\n"
                                                       "debug(script=1,command=1): double -1.25e-300\n"
                                                       "debug(script=1,command=1): null\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ended), cmocka_unit_test(test_tries),
                                       cmocka_unit_test(test_debug)};
    return cmocka_run_group_tests_name("run_notice", tests, NULL, NULL);
}
