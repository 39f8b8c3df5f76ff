/* The driver that answers at once, alone and under the engine. */
#include "load_test.h"

#include "load/load_int.h"

static void test_null_open_loop_counts(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++) {
        struct load_spec spec = open_spec();
        struct load_run run;
        spec.driver = LOAD_NULL;
        spec.workers = workers;
        spec.arrivals = PLAN_CONSTANT;
        spec.warm_up_ns = 100 * MS;
        spec.measure_ns = 400 * MS;
        spec.slice_ns = 50 * MS;
        spec.rate_per_s = 20000;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.warm_up.due, 2000);
        assert_int_equal(run.result.measured.due, 8000);
        assert_int_equal(run.result.total.completed, 10000);
        assert_int_equal(run.result.window_ns, 400 * MS);
        load_run_release(&run);
    }
}

/* Reports what was submitted, no more than asked for, and sleeps only when there is nothing. */
static void test_driver_alone(void **state)
{
    (void)state;
    struct pl_err err = {0};
    struct driver *driver = driver_null_new(NULL);
    struct driver_done done[8];
    bool ended[5] = {false};
    assert_string_equal(driver->ops->name, "null");
    assert_false(driver->ops->virtual_time);
    assert_int_equal(driver->ops->open(driver, 5, &err), PL_OK);
    int64_t before_ns = driver->ops->now(driver), sent_ns = 0;
    for (uint32_t client = 0; client < 5; client++) {
        sent_ns = driver->ops->submit(driver, client, &load_test_one, &load_test_steps[0], NULL);
        assert_true(sent_ns >= before_ns);
    }
    int count = 0;
    while (count < 5) {
        int got = driver->ops->wait(driver, INT64_MAX, done, 2);
        assert_in_range(got, 1, 2);
        for (int i = 0; i < got; i++) {
            assert_int_equal(done[i].outcome, DRIVER_OK);
            assert_true(done[i].done_ns >= sent_ns);
            assert_false(ended[done[i].client]);
            ended[done[i].client] = true;
        }
        count += got;
    }
    int64_t until_ns = driver->ops->now(driver) + 2 * MS;
    assert_int_equal(driver->ops->wait(driver, until_ns, done, 8), 0);
    assert_true(driver->ops->now(driver) >= until_ns);
    assert_int_equal(driver->ops->wait(driver, 0, done, 8), 0);
    driver->ops->close(driver);
}

static void test_closed_loop(void **state)
{
    (void)state;
    struct load_spec spec = sim_spec();
    struct load_run run;
    spec.driver = LOAD_NULL;
    spec.operations = 50000;
    spec.workers = 3;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.completed, 50000);
    assert_string_equal(run.result.event_loop, "none");
    assert_true(run.result.cpu_ns > 0);
    load_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_open_loop_counts),
        cmocka_unit_test(test_driver_alone),
        cmocka_unit_test(test_closed_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
