/* Metrics and how a reading becomes a sample. */
#include "pass.h"

#include "memory_sink.h"

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

/* How counters that step back are read. */
static void test_rules(void **state)
{
    (void)state;
    static const double readings[] = {10, 15, 12, 20};
    static const struct {
        enum sense_rule rule;
        double expected[4];
    } rows[] = {{SENSE_PLAIN, {10, 15, 12, 20}}, {SENSE_CLAMP, {10, 15, 15, 20}}, {SENSE_REBASE, {10, 15, 27, 35}}};
    for (size_t i = 0; i < 3; i++) {
        struct sense_def def = {"x", "count", METRIC_COUNTER, rows[i].rule};
        struct sense_meter meter;
        sense_registry_add(&test.registry, "s", &def, "how", &meter);
        for (size_t k = 0; k < 4; k++) {
            sense_pass_put(&test.pass, &meter, readings[k]);
            assert_close(test_pass_last(&test, "s", "x"), rows[i].expected[k], 0, 0);
        }
    }
    struct sense_meter undeclared = {0};
    sense_pass_put(&test.pass, &undeclared, 1);
    assert_true(isnan(test_pass_last(&test, "s", "x")));
}

/* A metric is told once, in order; a sink that fails is told again from there. */
static void test_tell(void **state)
{
    (void)state;
    static const struct sense_def def = {"x", "count", METRIC_GAUGE, SENSE_PLAIN};
    struct memory_sink memory;
    struct pl_err err = {0};
    struct sense_meter meter;
    memory_sink_init(&memory);
    struct sink sink = memory_sink(&memory);
    for (int i = 0; i < 3; i++)
        sense_registry_add(&test.registry, "s", &def, "how", &meter);
    assert_int_equal(meter.id, 3);
    memory.fail_at = 2;
    assert_int_equal(sense_registry_tell(&test.registry, &sink, &err), PL_STORE);
    memory.fail_at = 0;
    err = (struct pl_err){0};
    assert_int_equal(sense_registry_tell(&test.registry, &sink, &err), PL_OK);
    assert_int_equal(sense_registry_tell(&test.registry, &sink, &err), PL_OK);
    assert_int_equal(memory.metric_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(memory.metrics[i].id, (int64_t)i + 1);
    memory_sink_release(&memory);
}

/* A full ring loses samples and counts each of them. */
static void test_full(void **state)
{
    (void)state;
    static const struct sense_def def = {"x", "count", METRIC_GAUGE, SENSE_PLAIN};
    struct sense_meter meter;
    sense_registry_add(&test.registry, "s", &def, "how", &meter);
    for (int i = 0; i < 4096 + 17; i++)
        sense_pass_put(&test.pass, &meter, i);
    assert_int_equal(atomic_load(&test.pass.dropped), 17);
    assert_close(test_pass_last(&test, "s", "x"), 4095, 0, 0);
    sense_pass_put_known(&test.pass, &meter, -1); /* absent is no sample */
    assert_true(isnan(test_pass_last(&test, "s", "x")));
    sense_pass_put_known(&test.pass, &meter, 0);
    assert_close(test_pass_last(&test, "s", "x"), 0, 0, 0);
    assert_int_equal(sense_pass_read(&test.pass, "/nowhere", "x"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_rules, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_tell, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_full, setup, teardown)};
    return cmocka_run_group_tests_name("sense registry", tests, NULL, NULL);
}
