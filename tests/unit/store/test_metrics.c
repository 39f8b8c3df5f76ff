/* One row for one metric, under whatever ids and however often it is declared. */
#include "store_room.h"

static void test_an_abandoned_trial_leaves_no_trace(void **state)
{
    struct room *room = *state;
    begin(room, 1);
    declare(room, 10, "memory", "here");
    push(room, 1, 10, 1.0);
    struct sink sink = store_sink(room->store);
    struct fault fault = {.trial_id = 1, .source = "load", .code = "40001", .count = 1, .example = ""};
    GEN_OK(sink.fault(sink.ctx, &fault, &room->err), room->err);
    store_trial_abandon(room->store);
    store_trial_abandon(room->store); /* nothing is open: nothing happens */
    struct study *study = load(room);
    assert_int_equal(study->trial_count, 0);
    assert_int_equal(study->sample_count, 0);
    assert_int_equal(study->fault_count, 0);
    assert_int_equal(study->metric_count, 0);
    /* its metric stays declared: the sensors tell of it once, and go on */
    begin(room, 1);
    push(room, 1, 10, 2.0);
    commit(room, 1);
    study = load(room);
    assert_int_equal(study->trial_count, 1);
    assert_int_equal(study->metric_count, 1);
    assert_string_equal(study->metrics[0].name, "memory");
    assert_string_equal(study->metrics[0].how, "here");
    assert_int_equal(study->sample_count, 1);
    assert_close(study->samples[0].value, 2.0, 0.0, 0.0);
}

static void test_one_row_for_one_metric(void **state)
{
    struct room *room = *state;
    declare(room, 1, "memory", "cgroup");
    declare(room, 2, "cpu", "cgroup");
    declare(room, 7, "memory", "cgroup");
    begin(room, 1);
    push(room, 1, 1, 1.0);
    push(room, 1, 7, 3.0);
    push(room, 1, 2, 2.0);
    commit(room, 1);
    reopen(room);
    /* a resumed run numbers its metrics anew, and reads one of them elsewhere */
    declare(room, 1, "cpu", "cgroup");
    declare(room, 2, "memory", "process tree");
    declare(room, 3, "threads", "process tree");
    begin(room, 2);
    push(room, 2, 1, 20.0);
    push(room, 2, 2, 10.0);
    push(room, 2, 3, 30.0);
    commit(room, 2);
    struct study *study = load(room);
    assert_int_equal(study->metric_count, 3);
    const struct metric *memory = study_metric(study, "db", "memory"), *cpu = study_metric(study, "db", "cpu");
    assert_string_equal(memory->how, "cgroup; process tree");
    assert_string_equal(cpu->how, "cgroup");
    size_t count = 0;
    const struct sample *samples = study_samples(study, 1, memory->id, &count);
    assert_int_equal(count, 2);
    samples = study_samples(study, 2, memory->id, &count);
    assert_int_equal(count, 1);
    assert_close(samples[0].value, 10.0, 0.0, 0.0);
    samples = study_samples(study, 2, cpu->id, &count);
    assert_close(samples[0].value, 20.0, 0.0, 0.0);
}

static void test_many_metrics_in_any_order(void **state)
{
    struct room *room = *state;
    struct pl_rng rng;
    pl_rng_init(&rng, 12, PL_RNG_TEST, 0);
    int64_t ids[300];
    for (int64_t i = 0; i < 300; i++)
        ids[i] = i * 31 + 1;
    for (size_t i = 300; i > 1; i--) {
        size_t other = (size_t)pl_rng_range(&rng, 0, (int64_t)i - 1);
        int64_t keep = ids[i - 1];
        ids[i - 1] = ids[other];
        ids[other] = keep;
    }
    begin(room, 1);
    for (size_t i = 0; i < 300; i++)
        declare(room, ids[i], pl_format(room->arena, "m%lld", (long long)ids[i]), "");
    for (size_t i = 0; i < 300; i++)
        push(room, 1, ids[299 - i], (double)ids[299 - i]);
    commit(room, 1);
    struct study *study = load(room);
    assert_int_equal(study->metric_count, 300);
    for (size_t i = 0; i < 300; i++) {
        const struct metric *metric = study_metric(study, "db", pl_format(room->arena, "m%lld", (long long)ids[i]));
        size_t count = 0;
        const struct sample *sample = study_samples(study, 1, metric->id, &count);
        assert_int_equal(count, 1);
        assert_close(sample->value, (double)ids[i], 0.0, 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_abandoned_trial_leaves_no_trace),
        TEST(test_one_row_for_one_metric),
        TEST(test_many_metrics_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
