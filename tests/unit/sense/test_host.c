/* The host: sums, foreign CPU, which disks count. */
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

static int64_t id_of(const char *name)
{
    for (size_t i = 0; i < test.registry.count; i++)
        if (strcmp(test.registry.metrics[i].name, name) == 0)
            return test.registry.metrics[i].id;
    fail_msg("%s is not declared", name);
    return 0;
}

/* Totals are what they are made of. */
static void test_adds_up(void **state)
{
    (void)state;
    static const char *const parts[] = {"cpu_user_ns", "cpu_nice_ns", "cpu_system_ns", "cpu_irq_ns"};
    static const char *const rest[] = {"cpu_idle_ns", "cpu_iowait_ns", "cpu_steal_ns"};
    struct sense_host host = {.busy_ns = 0};
    struct sample sample;
    double values[64] = {0}, busy = 0, all = 0;
    sense_host_init(&host, &test.registry, &test.pass);
    sense_host_read(&host, &test.pass);
    sense_host_put_foreign(&host, &test.pass, 1000);
    assert_true(test.registry.count < 64);
    while (pl_ring_pop(&test.ring, &sample))
        values[sample.metric_id] = sample.value;
    for (size_t i = 0; i < 4; i++)
        busy += values[id_of(parts[i])];
    assert_true(busy > 0);
    assert_close(values[id_of("cpu_busy_ns")], busy, 0, 0);
    assert_close(values[id_of("foreign_cpu_ns")], busy - 1000, 0, 0);
    all = busy;
    for (size_t i = 0; i < 3; i++)
        all += values[id_of(rest[i])];
    assert_close(values[id_of("cpu_total_ns")], all, 0, 0);
    assert_true(values[id_of("memory_available_bytes")] > 1e6);
    assert_int_equal(test.pass.missed, 0);
}

/* What is busy beyond our own is foreign; without a reading there is none. */
static void test_foreign(void **state)
{
    (void)state;
    struct sense_host host = {.busy_ns = 0};
    sense_host_init(&host, &test.registry, &test.pass);
    host.busy_ns = 5e9;
    sense_host_put_foreign(&host, &test.pass, 2e9);
    assert_close(test_pass_last(&test, "host", "foreign_cpu_ns"), 3e9, 0, 0);
    sense_host_put_foreign(&host, &test.pass, 2.1e9); /* ticks against ns: a step back is held */
    assert_close(test_pass_last(&test, "host", "foreign_cpu_ns"), 3e9, 0, 0);
    host.busy_ns = -1;
    sense_host_put_foreign(&host, &test.pass, 2e9);
    assert_true(isnan(test_pass_last(&test, "host", "foreign_cpu_ns")));
}

static void test_whole_disks(void **state)
{
    (void)state;
    static const char *const no[] = {"loop0", "ram1", "zram0", "dm-0", "md127", "sr0", "no-such-disk"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(sense_disk_is_whole(no[i], "/sys/block"));
    assert_true(sense_disk_is_whole("stat", "/proc")); /* any folder with an entry of that name */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_adds_up, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_whole_disks, setup, teardown)};
    return cmocka_run_group_tests_name("sense host", tests, NULL, NULL);
}
