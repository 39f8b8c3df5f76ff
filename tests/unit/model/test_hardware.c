/* Probes of the machine and the idle service. */
#include "figures.h"

static void test_hardware(void **state)
{
    const struct fixture *fixture = *state;
    assert_figure(fixture, "hardware", "", "", "flush_p50_ns", 420e3);
    assert_figure(fixture, "hardware", "", "", "flush_p50_lowest_ns", 400e3);
    assert_figure(fixture, "hardware", "", "", "flush_p50_highest_ns", 440e3);
    assert_figure(fixture, "hardware", "", "", "flush_p99_ns", 2e6);
    assert_figure(fixture, "hardware", "", "", "flush_per_s", 2300);
    assert_figure(fixture, "hardware", "", "", "flush_lowest_per_s", 2200);
    assert_figure(fixture, "hardware", "", "", "commit_p99_ns", 1.5e6);
    assert_int_equal(find(fixture, "hardware", "", "", "commit_p50_ns")->n, 3);
    assert_absent(fixture, "hardware", "", "", "round_trip_p50_ns", "did not answer");
}

/* Gauges rise by 1 MiB a second over 0..10 s: eleven readings, mean base + 5, highest base + 10. */
static void test_footprint(void **state)
{
    const struct fixture *fixture = *state;
    assert_figure(fixture, "footprint", "", "db", "memory_anon_bytes", 25 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_anon_max_bytes", 30 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_shared_bytes", 64 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_kernel_bytes", 8 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_cache_bytes", 310 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_bytes", 97 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_max_bytes", 102 * MIB);
    assert_figure(fixture, "footprint", "", "db", "memory_top_bytes", 900 * MIB);
    assert_non_null(
        strstr(find(fixture, "footprint", "", "db", "memory_top_bytes")->note, "counted once for every process"));
    assert_figure(fixture, "footprint", "", "db", "cpu_cores", 0.004);
    assert_figure(fixture, "footprint", "", "db", "transactions_per_min", 15);
    assert_figure(fixture, "footprint", "", "db", "connections", 0);
    assert_figure(fixture, "footprint", "", "db", "processes", 7);
    assert_figure(fixture, "footprint", "", "db", "threads", 7);
    assert_figure(fixture, "footprint", "", "db", "file_descriptors", 120);
    assert_figure(fixture, "footprint", "", "db", "ready_ns", 412e6);
    assert_figure(fixture, "rate", "rate=50/s", "db", "backend_fresh_pss_anon_bytes", 1.4e6);
    assert_figure(fixture, "rate", "rate=50/s", "db", "backend_pss_anon_bytes", 1.9e6);
    assert_absent(fixture, "clients", "script=tpcb-like clients=4", "db", "backend_pss_anon_bytes", "quiet point");
    assert_figure(fixture, "footprint", "", "tool", "cpu_cores", 0.3);
    assert_absent(fixture, "footprint", "", "db", "connections_waiting", "no sensor of db");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_hardware),
        figures_test(test_footprint),
    };
    return cmocka_run_group_tests_name("hardware", tests, NULL, NULL);
}
