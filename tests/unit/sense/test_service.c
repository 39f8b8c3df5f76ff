/* One service: what it tells with a group, without one, and when all of it is gone. */
#define FIXTURES "tests/unit/sense/fixtures/"
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

/* What a service of a v2 group tells: every metric from a file, none of them made up. */
static void test_service_of_v2(void **state)
{
    (void)state;
    struct sense_target target = {.source = "db", .v1_cpuacct = "", .v1_memory = "", .v2 = FIXTURES "v2"};
    struct sense_service service;
    sense_service_init(&service, &target, 1, &test.registry, &test.pass);
    static const struct {
        const char *name;
        double value;
    } expected[] = {{"cpu_ns", 48123456e3},
                    {"cpu_throttled_ns", 345678e3},
                    {"memory_anon_bytes", 75706368},
                    {"memory_shared_bytes", 788836352},
                    {"memory_kernel_bytes", 109314048},
                    {"memory_cache_bytes", 1401966592},
                    {"memory_usage_bytes", 2375823360},
                    {"processes", 3},
                    {"threads", 4},
                    {"io_read_bytes", 4097024},
                    {"io_write_bytes", 83888128},
                    {"psi_cpu_some_ns", 81234567e3},
                    {"psi_io_full_ns", 900e3}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        sense_service_read(&service, &test.pass);
        assert_close(test_pass_last(&test, "db", expected[i].name), expected[i].value, 0, 0);
    }
    sense_service_read(&service, &test.pass);
    assert_true(isnan(test_pass_last(&test, "db", "psi_cpu_full_ns"))); /* this file has no such line */
    assert_close(service.memory_bytes, 75706368.0 + 788836352 + 109314048, 0, 0);
    assert_int_equal(test.pass.missed, 0);
    sense_service_release(&service);
}

static double service_value(struct sense_service *service, const char *name)
{
    sense_service_read(service, &test.pass);
    return test_pass_last(&test, "job", name);
}

/* 64 MiB of each kind, touched by a child, against what is read without a control group. */
static void test_memory_and_counts(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_target target = {.source = "job", .pid = puppet.pid, .v1_cpuacct = "", .v1_memory = "", .v2 = ""};
    struct sense_service service;
    sense_service_init(&service, &target, 1, &test.registry, &test.pass);
    double anon = service_value(&service, "memory_anon_bytes"), shared = service_value(&service, "memory_shared_bytes");
    double kernel = service_value(&service, "memory_kernel_bytes"), files = service_value(&service, "file_descriptors");
    double threads = service_value(&service, "threads"), top = service_value(&service, "memory_top_bytes");
    puppet_do(&puppet, 'm');
    puppet_do(&puppet, 's');
    puppet_do(&puppet, 'd');
    puppet_do(&puppet, 'd');
    puppet_do(&puppet, 't');
    /* the kernel's counters of one process are kept for each CPU and may lag by some pages */
    assert_close(service_value(&service, "memory_anon_bytes") - anon, TOUCH_BYTES, 0.05, 0);
    assert_close(service_value(&service, "memory_shared_bytes") - shared, TOUCH_BYTES, 0.05, 0);
    assert_close(service_value(&service, "memory_top_bytes") - top, 2.0 * TOUCH_BYTES, 0.05, 0);
    assert_true(service_value(&service, "memory_kernel_bytes") - kernel >= 2.0 * TOUCH_BYTES / 512); /* 8 bytes a page */
    assert_close(service_value(&service, "file_descriptors") - files, 2, 0, 0);
    assert_close(service_value(&service, "threads") - threads, 1, 0, TEST_THREADS_ARE_OURS ? 0 : 1);
    assert_close(service_value(&service, "processes"), 1, 0, 0);
    /* after a fork RssAnon counts twice, as its `how` says, and Pss_Anon does not */
    puppet_do(&puppet, 'f');
    test.pass.depth = SENSE_QUIET;
    assert_true(service_value(&service, "memory_anon_bytes") - anon > 1.9 * TOUCH_BYTES);
    assert_close(service_value(&service, "memory_pss_anon_bytes") - anon, TOUCH_BYTES, 0.1, 0);
    assert_close(service_value(&service, "memory_pss_shared_bytes"), TOUCH_BYTES, 0.05, 0);
    const struct metric *metric = NULL;
    for (size_t i = 0; i < test.registry.count; i++)
        if (strcmp(test.registry.metrics[i].name, "memory_anon_bytes") == 0)
            metric = &test.registry.metrics[i];
    assert_non_null(metric);
    assert_non_null(strstr(metric->how, "too high"));
    puppet_stop(&puppet);
    sense_service_release(&service);
}

/* Everything of the service is gone: its metrics are absent, the failures are counted. */
static void test_vanished_service(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_target target = {.source = "job", .pid = puppet.pid, .v1_cpuacct = "", .v1_memory = "", .v2 = ""};
    struct sense_service service;
    sense_service_init(&service, &target, 1, &test.registry, &test.pass);
    assert_false(isnan(service_value(&service, "cpu_ns")));
    puppet_stop(&puppet);
    test.pass.depth = SENSE_QUIET;
    int64_t missed = test.pass.missed;
    static const char *const names[] = {
        "cpu_ns",        "memory_anon_bytes",      "processes",       "threads", "file_descriptors",
        "io_read_bytes", "backend_pss_anon_bytes", "memory_top_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(isnan(service_value(&service, names[i])));
    assert_true(test.pass.missed > missed);
    assert_true(service.cpu_ns < 0);
    sense_service_release(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_service_of_v2, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_memory_and_counts, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_vanished_service, setup, teardown)};
    return cmocka_run_group_tests_name("sense service", tests, NULL, NULL);
}
