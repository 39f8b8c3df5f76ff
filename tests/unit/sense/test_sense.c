/* The sensor thread: schedule, marks, phases, the ring, the sink. No assertion depends on how fast the machine is. */
#include "pass.h"

#include <unistd.h>

#include "memory_sink.h"

static struct memory_sink memory;
static struct sink sink;

static int setup(void **state)
{
    (void)state;
    memory_sink_init(&memory);
    sink = memory_sink(&memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    memory_sink_release(&memory);
    return 0;
}

static struct sense *start(int64_t interval_ns, int64_t first_id)
{
    struct pl_err err = {0};
    struct sense *sense = NULL;
    struct sense_target target = {.source = "me", .pid = getpid(), .v1_cpuacct = "", .v1_memory = "", .v2 = ""};
    struct sense_spec spec = {.targets = &target, .target_count = 1, .interval_ns = interval_ns, .seed = 5};
    assert_int_equal(sense_new(&spec, first_id, &sink, &sense, &err), PL_OK);
    return sense;
}

static void poll_all(struct sense *sense)
{
    struct pl_err err = {0};
    assert_int_equal(sense_poll(sense, &sink, &err), PL_OK);
}

static size_t count_of(const char *source, const char *name)
{
    const struct metric *metric = memory_sink_metric(&memory, source, name);
    size_t count = 0;
    assert_non_null(metric);
    for (size_t i = 0; i < memory.sample_count; i++)
        count += memory.samples[i].metric_id == metric->id;
    return count;
}

static const struct sample *nth_of(const char *source, const char *name, size_t n)
{
    const struct metric *metric = memory_sink_metric(&memory, source, name);
    assert_non_null(metric);
    for (size_t i = 0; i < memory.sample_count; i++)
        if (memory.samples[i].metric_id == metric->id && n-- == 0)
            return &memory.samples[i];
    return NULL;
}

static const char *const always[][2] = {{"host", "cpu_busy_ns"},
                                        {"host", "cpu_steal_ns"},
                                        {"host", "cpu_idle_ns"},
                                        {"host", "cpu_total_ns"},
                                        {"host", "run_queue"},
                                        {"host", "foreign_cpu_ns"},
                                        {"host", "memory_available_bytes"},
                                        {"tool", "cpu_ns"},
                                        {"tool", "memory_anon_bytes"},
                                        {"tool", "sense_cpu_ns"},
                                        {"tool", "sense_pass_ns"},
                                        {"tool", "sense_missed"},
                                        {"tool", "context_switches"},
                                        {"me", "cpu_ns"},
                                        {"me", "memory_anon_bytes"},
                                        {"me", "memory_shared_bytes"},
                                        {"me", "memory_kernel_bytes"},
                                        {"me", "processes"},
                                        {"me", "threads"},
                                        {"me", "file_descriptors"},
                                        {"me", "memory_top_bytes"}};

/* Metrics come before their samples, ids are consecutive from the first one, every counter only grows. */
static void test_declared(void **state)
{
    (void)state;
    struct sense *sense = start(0, 41);
    assert_int_equal(memory.sample_count, 0);
    for (size_t i = 0; i < memory.metric_count; i++) {
        assert_int_equal(memory.metrics[i].id, 41 + (int64_t)i);
        assert_true(memory.metrics[i].how[0] != '\0');
        for (size_t k = 0; k < i; k++)
            assert_false(strcmp(memory.metrics[i].name, memory.metrics[k].name) == 0 &&
                         strcmp(memory.metrics[i].source, memory.metrics[k].source) == 0);
    }
    assert_int_equal(sense_next_metric_id(sense), 41 + (int64_t)memory.metric_count);
    sense_skip_metric_ids(sense, 10);
    assert_int_equal(sense_next_metric_id(sense), 41 + (int64_t)memory.metric_count);
    sense_skip_metric_ids(sense, 5000);
    assert_int_equal(sense_next_metric_id(sense), 5000);
    sense_free(sense);
    sense_free(NULL);
}

static void test_marks(void **state)
{
    (void)state;
    struct sense *sense = start(0, 1);
    sense_begin(sense, 7, PHASE_START, INT64_MAX);
    int64_t before_ns = pl_clock_ns();
    sense_mark(sense, PHASE_SETTLE);
    int64_t after_ns = pl_clock_ns();
    poll_all(sense); /* what a mark read is in the ring when it returns */
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        const struct sample *sample = nth_of(always[i][0], always[i][1], 0);
        assert_int_equal(count_of(always[i][0], always[i][1]), 1);
        assert_int_equal(sample->trial_id, 7);
        assert_int_equal(sample->phase, PHASE_SETTLE);
        assert_true(sample->t_ns >= before_ns && sample->t_ns <= after_ns);
    }
    for (int i = 0; i < 5; i++)
        sense_mark(sense, PHASE_MEASURE);
    sense_begin(sense, 8, PHASE_AFTER, INT64_MAX);
    sense_mark(sense, PHASE_AFTER);
    poll_all(sense);
    for (size_t i = 0; i < memory.metric_count; i++) {
        double last = -1;
        for (size_t k = 0; k < memory.sample_count; k++) {
            if (memory.samples[k].metric_id != memory.metrics[i].id)
                continue;
            assert_true(memory.metrics[i].kind == METRIC_GAUGE || memory.samples[k].value >= last);
            last = memory.samples[k].value;
        }
    }
    assert_int_equal(nth_of("host", "cpu_busy_ns", 6)->trial_id, 8);
    struct sense_glance glance = sense_look(sense);
    assert_true(glance.memory_bytes > 0);
    sense_free(sense);
}

static void wait_for(struct sense *sense, const char *name, size_t count)
{
    while (count_of("tool", name) < count) {
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
        poll_all(sense);
    }
}

/* No tick is early, none comes twice for one moment, and none after the end. */
static void test_ticks(void **state)
{
    (void)state;
    enum { INTERVAL_MS = 20, TICKS = 12 };
    int64_t interval_ns = INTERVAL_MS * PL_NS_PER_MS;
    struct sense *sense = start(interval_ns, 1);
    int64_t start_ns = pl_clock_ns() + 30 * PL_NS_PER_MS;
    sense_begin(sense, 3, PHASE_WARM_UP, start_ns);
    wait_for(sense, "cpu_ns", TICKS / 2);
    sense_phase(sense, PHASE_MEASURE);
    wait_for(sense, "cpu_ns", TICKS);
    sense_end(sense);
    poll_all(sense);
    size_t count = count_of("tool", "cpu_ns");
    int64_t last_tick = -1, skipped = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sample *sample = nth_of("tool", "cpu_ns", i);
        int64_t tick = (sample->t_ns - start_ns) / interval_ns;
        assert_true(sample->t_ns >= start_ns);
        assert_int_equal(sample->trial_id, 3);
        assert_true(sample->phase == (i == 0 ? PHASE_WARM_UP : sample->phase));
        assert_true(tick > last_tick || (tick == last_tick && i > 0)); /* a late tick may end in the interval of the next */
        last_tick = tick;
    }
    skipped = (int64_t)nth_of("tool", "sense_skipped", count - 1)->value;
    /* taken and skipped ticks together are all that were due until the last one */
    assert_true((int64_t)count + skipped <= last_tick + 1);
    assert_true(nth_of("tool", "cpu_ns", count - 1)->phase == PHASE_MEASURE);
    pl_clock_sleep_until(pl_clock_ns() + 3 * interval_ns);
    poll_all(sense);
    assert_int_equal(count_of("tool", "cpu_ns"), count);
    sense_mark(sense, PHASE_AFTER);
    poll_all(sense);
    assert_int_equal(count_of("tool", "cpu_ns"), count + 1);
    sense_free(sense);
}

/* An interval shorter than a reading: ticks are skipped and counted, the thread does not fall behind. */
static void test_skipped(void **state)
{
    (void)state;
    struct sense *sense = start(1000, 1); /* 1 us */
    sense_begin(sense, 1, PHASE_MEASURE, pl_clock_ns());
    wait_for(sense, "cpu_ns", 20);
    sense_end(sense);
    poll_all(sense);
    size_t count = count_of("tool", "sense_skipped");
    assert_true(nth_of("tool", "sense_skipped", count - 1)->value > 0);
    sense_free(sense);
}

/* Nobody polls: the ring fills, what is lost is counted, and the count reaches the sink although the ring was full. */
static void test_full_ring(void **state)
{
    (void)state;
    struct sense *sense = start(0, 1);
    sense_begin(sense, 9, PHASE_MEASURE, INT64_MAX);
    sense_mark(sense, PHASE_MEASURE);
    poll_all(sense);
    size_t per_mark = memory.sample_count;
    int marks = (int)((1 << 15) / per_mark) + 20;
    for (int i = 0; i < marks; i++)
        sense_mark(sense, PHASE_MEASURE);
    poll_all(sense);
    size_t stored = memory.sample_count - per_mark - 1;
    size_t count = count_of("tool", "sense_dropped");
    const struct sample *last = nth_of("tool", "sense_dropped", count - 1);
    assert_int_equal(stored, 1 << 15);
    assert_int_equal(last->trial_id, 9);
    assert_true(last->value > 0);
    assert_true(stored + (size_t)last->value >= (size_t)marks * (per_mark - 4)); /* nothing is lost without being counted */
    size_t all = memory.sample_count;
    poll_all(sense); /* said once */
    assert_int_equal(memory.sample_count, all);
    sense_free(sense);
}

static void test_sink_fails(void **state)
{
    (void)state;
    struct pl_err err = {0};
    struct sense *sense = NULL;
    struct sense_spec spec = {.target_count = 0};
    memory.fail_at = 3;
    assert_int_equal(sense_new(&spec, 1, &sink, &sense, &err), PL_STORE);
    assert_null(sense);
    memory.fail_at = 0;
    sense = start(0, 1);
    sense_mark(sense, PHASE_MEASURE);
    memory.fail_at = memory.calls + 5;
    err = (struct pl_err){0};
    assert_int_equal(sense_poll(sense, &sink, &err), PL_STORE);
    err = (struct pl_err){0};
    assert_int_equal(sense_quiet(sense, PHASE_AFTER, &sink, &err), PL_STORE);
    sense_free(sense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_declared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ticks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sink_fails, setup, teardown),
    };
    return cmocka_run_group_tests_name("sense", tests, NULL, NULL);
}
