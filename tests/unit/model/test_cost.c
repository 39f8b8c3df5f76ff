/* What services used: memory, CPU, write-ahead log. */
#include "figures.h"

static void test_load_costs(void **state)
{
    const struct fixture *fixture = *state;
    const char *label = "rate=50/s";
    assert_figure(fixture, "rate", label, "db", "cpu_cores", 0.15);
    /* 0.15 cores over 48.4 operations a second */
    assert_figure(fixture, "rate", label, "db", "cpu_ns_per_operation", 0.15e9 / 48.4);
    assert_figure(fixture, "rate", label, "db", "cpu_window_ns", 2 * 5 * 0.15e9);
    assert_figure(fixture, "rate", label, "db", "wal_bytes_per_s", 30000);
    assert_figure(fixture, "rate", label, "tool", "cpu_cores", 0.3);
    assert_figure(fixture, "rate", label, "tool", "memory_anon_bytes", 6 * MIB);
    assert_figure(fixture, "rate", label, "db", "connections", 8);
}

/* 30,000 bytes/s from 1 ms before connecting to 1 s after the drain: 2.001 + 5 + 1.01 s; 242 operations in each trial. */
static void test_whole_trial_costs(void **state)
{
    const struct fixture *fixture = *state;
    const char *label = "rate=50/s";
    assert_figure(fixture, "rate", label, "db", "wal_bytes", 2 * 30000 * 8.011);
    assert_figure(fixture, "rate", label, "db", "wal_bytes_per_operation", 30000 * 8.011 / 242);
    assert_figure(fixture, "rate", label, "db", "commits_per_operation", (50 * 8.011 - 9) / 242);
    assert_figure(fixture, "rate", label, "db", "checkpoints", 2);
    assert_figure(fixture, "rate", label, "db", "wal_fpi_at_most_frac", 0.5);
    assert_non_null(
        strstr(find(fixture, "rate", label, "db", "wal_bytes_per_operation")->note, "a trial held 1 checkpoint:"));
    assert_absent(fixture, "clients", "script=select-only clients=1", "db", "wal_fpi_at_most_frac", "nothing was written");
}

/* Two checkpoints in each trial need no warning; a block size of its own counts. */
static void test_checkpoints_and_block_size(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", ""), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 3, 1);
    int64_t operations = synth_closed_loop(synth, trial, 1e6, 0);
    synth_fact(synth, "db", "block_size", "16384", "", "pg_settings");
    synth_ends(synth, trial, "db", "wal_lsn_bytes", "bytes", METRIC_COUNTER, 0, 100.0 * (double)operations);
    synth_ends(synth, trial, "db", "wal_fpi", "count", METRIC_COUNTER, 0, (double)operations / 1000);
    synth_ends(synth, trial, "db", "checkpoints_timed", "count", METRIC_COUNTER, 4, 5);
    synth_ends(synth, trial, "db", "checkpoints_requested", "count", METRIC_COUNTER, 0, 1);
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    assert_close(model_figure(&figures, stage, row, "db", "checkpoints")->value, 2, 0, 0);
    const struct figure *wal = model_figure(&figures, stage, row, "db", "wal_bytes_per_operation");
    assert_close(wal->value, 100, 1e-12, 0);
    assert_string_equal(wal->note, "");
    assert_close(model_figure(&figures, stage, row, "db", "wal_fpi_at_most_frac")->value, 0.16384, 1e-12, 0);
    synth_free(synth);
}

/* Where there is no control group kernel memory is not read: the sum says so. A second service has figures of its own. */
static void test_parts_that_were_not_read(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "footprint", "?", ""), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 2, 0);
    synth_series(synth, trial, "db", "memory_anon_bytes", "bytes", METRIC_GAUGE, 10, 1);
    synth_series(synth, trial, "db", "memory_shared_bytes", "bytes", METRIC_GAUGE, 100, -50);
    synth_series(synth, trial, "cache", "memory_anon_bytes", "bytes", METRIC_GAUGE, 7, 0);
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    const struct figure *sum = model_figure(&figures, stage, row, "db", "memory_bytes");
    assert_close(sum->value, 61, 0, 1e-12);
    assert_string_equal(sum->note, "without kernel memory, which was not read");
    /* readings 10 + 100, 11 + 50, 12 + 0: the highest sum is not the sum of the highest */
    assert_close(model_figure(&figures, stage, row, "db", "memory_max_bytes")->value, 110, 0, 1e-12);
    assert_close(model_figure(&figures, stage, row, "cache", "memory_anon_bytes")->value, 7, 0, 1e-12);
    assert_int_equal(model_figure(&figures, stage, row, "db", "memory_kernel_bytes")->status, FIGURE_ABSENT);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_load_costs),
        figures_test(test_whole_trial_costs),
        cmocka_unit_test(test_checkpoints_and_block_size),
        cmocka_unit_test(test_parts_that_were_not_read),
    };
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
