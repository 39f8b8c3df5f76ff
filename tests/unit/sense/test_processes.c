/* Sums over processes, some of which are not there. */
#include "puppet.h"

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

/* Process ids that do not exist, in every sum. */
static void test_vanished_processes(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_pids pids = {0};
    struct sense_memory_sums with, without;
    struct sense_io_sums io;
    sense_pids_push(&pids, puppet.pid);
    sense_sum_memory(&pids, &test.pass, &without);
    int64_t files = sense_sum_descriptors(&pids);
    for (int i = 0; i < 100; i++)
        sense_pids_push(&pids, 99999990 + i);
    sense_sum_memory(&pids, &test.pass, &with);
    assert_true(with.rss > 0 && with.pte == without.pte);
    assert_close((double)with.rss, (double)without.rss, 0.05, 0); /* the counters are kept for each CPU and lag a little */
    assert_int_equal(sense_sum_descriptors(&pids), files);
    assert_true(sense_sum_rss(&pids, &test.pass) > 0);
    sense_sum_io(&pids, &test.pass, &io);
    assert_true(io.processes <= 1);
    assert_int_equal(sense_process_hugetlb(99999990, &test.pass), -1);
    sense_pids_release(&pids);
    puppet_stop(&puppet);
}

/* Counts go by the process: a descriptor more is one more, a MiB touched is a MiB more. */
static void test_sums(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_pids pids = {0};
    struct sense_memory_sums before, after;
    sense_pids_push(&pids, puppet.pid);
    int64_t files = sense_sum_descriptors(&pids);
    sense_sum_memory(&pids, &test.pass, &before);
    puppet_do(&puppet, 'd');
    puppet_do(&puppet, 's');
    sense_sum_memory(&pids, &test.pass, &after);
    assert_int_equal(sense_sum_descriptors(&pids), files + 1);
    assert_close((double)(after.shmem_max - before.shmem_max), TOUCH_BYTES, 0.05, 0);
    assert_close((double)(after.rss - before.rss), TOUCH_BYTES, 0.05, 0);
    sense_pids_push(&pids, puppet.pid); /* twice the same: all is doubled but the largest pool */
    struct sense_memory_sums twice;
    sense_sum_memory(&pids, &test.pass, &twice);
    assert_int_equal(sense_sum_descriptors(&pids), 2 * (files + 1));
    assert_close((double)twice.rss, 2.0 * (double)after.rss, 0.05, 0);
    assert_close((double)twice.shmem_max, (double)after.shmem_max, 0.05, 0);
    assert_int_equal(sense_process_hugetlb(puppet.pid, &test.pass), 0);
    sense_pids_release(&pids);
    puppet_stop(&puppet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_vanished_processes, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_sums, setup, teardown)};
    return cmocka_run_group_tests_name("sense processes", tests, NULL, NULL);
}
