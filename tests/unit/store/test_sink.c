/* What the sink promises, and what it refuses. */
#include <math.h>

#include "store_room.h"

static void test_the_first_error_of_a_trial_stays(void **state)
{
    struct room *room = *state;
    declare(room, 1, "memory", "");
    begin(room, 1);
    struct sink sink = store_sink(room->store);
    struct sample stray = {.trial_id = 1, .metric_id = 99}, good = {.trial_id = 1, .metric_id = 1};
    struct pl_err first = {0}, second = {0}, third = {0}, fourth = {0};
    assert_int_equal(sink.sample(sink.ctx, &stray, &first), PL_STORE);
    assert_non_null(strstr(first.what, "metric 99"));
    assert_int_equal(sink.sample(sink.ctx, &good, &second), PL_STORE);
    assert_string_equal(second.what, first.what);
    assert_int_equal(store_put_facts(room->store, NULL, 0, &third), PL_STORE);
    struct trial_row trial = trial_of(1);
    assert_int_equal(store_trial_commit(room->store, &trial, &fourth), PL_STORE);
    assert_string_equal(fourth.what, first.what);
    assert_int_equal(load(room)->trial_count, 0);
    /* the next trial begins afresh */
    begin(room, 1);
    push(room, 1, 1, 1.0);
    commit(room, 1);
    assert_int_equal(load(room)->sample_count, 1);
}

static void test_what_the_sink_refuses(void **state)
{
    struct room *room = *state;
    struct sink sink = store_sink(room->store);
    declare(room, 1, "memory", "");
    struct slice slice = {.trial_id = 1};
    struct sample sample = {.trial_id = 1, .metric_id = 1};
    struct fault fault = {.trial_id = 1, .source = "", .code = "", .example = ""};
    struct pl_err err = {0};
    assert_int_equal(sink.slice(sink.ctx, &slice, &err), PL_STORE); /* no trial is open */
    begin(room, 1);
    slice.trial_id = sample.trial_id = fault.trial_id = 2;
    assert_int_equal(sink.slice(sink.ctx, &slice, &(struct pl_err){0}), PL_STORE);
    store_trial_abandon(room->store);
    begin(room, 1);
    assert_int_equal(sink.sample(sink.ctx, &sample, &(struct pl_err){0}), PL_STORE);
    store_trial_abandon(room->store);
    begin(room, 1);
    assert_int_equal(sink.fault(sink.ctx, &fault, &(struct pl_err){0}), PL_STORE);
    store_trial_abandon(room->store);
    const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        begin(room, 1);
        sample = (struct sample){.trial_id = 1, .metric_id = 1, .value = values[i]};
        assert_int_equal(sink.sample(sink.ctx, &sample, &(struct pl_err){0}), PL_STORE);
        store_trial_abandon(room->store);
    }
    struct metric other = {.id = 1, .source = "db", .name = "memory", .unit = "bytes", .kind = METRIC_COUNTER, .how = ""};
    err = (struct pl_err){0};
    assert_int_equal(sink.metric(sink.ctx, &other, &err), PL_STORE); /* it was a gauge */
    assert_non_null(strstr(err.what, "gauge"));
}

static void test_faults_are_counted_together(void **state)
{
    struct room *room = *state;
    struct sink sink = store_sink(room->store);
    begin(room, 1);
    const struct fault faults[] = {{.trial_id = 1,
                                    .source = "load",
                                    .phase = PHASE_MEASURE,
                                    .code = "40001",
                                    .count = 2,
                                    .first_ns = 50,
                                    .example = "later"},
                                   {.trial_id = 1,
                                    .source = "load",
                                    .phase = PHASE_MEASURE,
                                    .code = "40001",
                                    .count = 3,
                                    .first_ns = 20,
                                    .example = "first"},
                                   {.trial_id = 1,
                                    .source = "load",
                                    .phase = PHASE_DRAIN,
                                    .code = "40001",
                                    .count = 1,
                                    .first_ns = 90,
                                    .example = "drain"},
                                   {.trial_id = 1,
                                    .source = "load",
                                    .phase = PHASE_MEASURE,
                                    .code = "40001",
                                    .count = 1,
                                    .first_ns = 60,
                                    .example = "last"}};
    for (size_t i = 0; i < 4; i++)
        GEN_OK(sink.fault(sink.ctx, &faults[i], &room->err), room->err);
    commit(room, 1);
    struct study *study = load(room);
    assert_int_equal(study->fault_count, 2);
    const struct fault *measured = study->faults[0].phase == PHASE_MEASURE ? &study->faults[0] : &study->faults[1];
    assert_int_equal(measured->count, 6);
    assert_int_equal(measured->first_ns, 20);
    assert_string_equal(measured->example, "first");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_error_of_a_trial_stays),
        TEST(test_what_the_sink_refuses),
        TEST(test_faults_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
