/* What the tool says of itself. */
#include "pass.h"

static struct test_pass test;

static int setup(void **state)
{
    (void)state;
    test_pass_init(&test);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_pass_release(&test);
    return 0;
}

static void test_reading(void **state)
{
    (void)state;
    struct sense_tool tool = {.dropped_id = 0};
    sense_tool_init(&tool, &test.registry);
    int64_t before_ns = pl_clock_process_cpu_ns(), start_ns = pl_clock_ns();
    double cpu_ns = sense_tool_read(&tool, &test.pass, start_ns, 3);
    assert_true(cpu_ns >= (double)before_ns && cpu_ns <= (double)pl_clock_process_cpu_ns());
    assert_close(test_pass_last(&test, "tool", "cpu_ns"), cpu_ns, 0, 0);
    sense_tool_read(&tool, &test.pass, start_ns, 3);
    assert_close(test_pass_last(&test, "tool", "sense_skipped"), 3, 0, 0);
    test.pass.missed = 5;
    sense_tool_read(&tool, &test.pass, start_ns, 3);
    assert_close(test_pass_last(&test, "tool", "sense_missed"), 5, 0, 0);
    sense_tool_read(&tool, &test.pass, start_ns, 3);
    assert_true(test_pass_last(&test, "tool", "memory_anon_bytes") > 10000);
    sense_tool_read(&tool, &test.pass, start_ns, 3);
    assert_true(test_pass_last(&test, "tool", "sense_cpu_ns") <= (double)pl_clock_thread_cpu_ns());
}

/* A quiet reading takes long on purpose: it does not count among the readings under load. */
static void test_quiet_is_apart(void **state)
{
    (void)state;
    struct sense_tool tool = {.dropped_id = 0};
    sense_tool_init(&tool, &test.registry);
    test.pass.depth = SENSE_QUIET;
    sense_tool_read(&tool, &test.pass, pl_clock_ns(), 0);
    assert_true(isnan(test_pass_last(&test, "tool", "sense_pass_ns")));
    sense_tool_read(&tool, &test.pass, pl_clock_ns() - 1000, 0);
    assert_true(test_pass_last(&test, "tool", "sense_quiet_ns") >= 1000);
    test.pass.depth = SENSE_TICK;
    sense_tool_read(&tool, &test.pass, pl_clock_ns() - 1000, 0);
    assert_true(test_pass_last(&test, "tool", "sense_pass_ns") >= 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_reading, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_quiet_is_apart, setup, teardown)};
    return cmocka_run_group_tests_name("sense tool", tests, NULL, NULL);
}
