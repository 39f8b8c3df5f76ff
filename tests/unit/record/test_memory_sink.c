/* The sink that other rooms are tested with keeps copies, and fails when told to. */
#include "memory_sink.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static void test_keeps_copies(void **state)
{
    (void)state;
    struct memory_sink memory;
    memory_sink_init(&memory);
    struct sink sink = memory_sink(&memory);
    struct pl_err err = {0};
    char text[16] = "cpu_ns";
    struct hist hist;
    hist_init_latency(&hist);
    hist_record(&hist, 5000);
    for (int64_t i = 0; i < 100; i++) {
        struct slice slice = {.trial_id = i, .script = (int)i, .step = -1, .service = &hist};
        assert_int_equal(sink.slice(sink.ctx, &slice, &err), PL_OK);
        struct sample sample = {.trial_id = i, .value = (double)i};
        assert_int_equal(sink.sample(sink.ctx, &sample, &err), PL_OK);
    }
    struct metric metric = {.id = 1, .source = "host", .name = text, .unit = "ns", .how = "here"};
    assert_int_equal(sink.metric(sink.ctx, &metric, &err), PL_OK);
    struct fault fault = {.trial_id = 1, .source = "load", .code = text, .count = 2, .example = text};
    assert_int_equal(sink.fault(sink.ctx, &fault, &err), PL_OK);
    snprintf(text, sizeof text, "gone");
    hist_release(&hist);
    assert_int_equal(memory.slice_count, 100);
    assert_int_equal(memory.slices[99].script, 99);
    assert_int_equal(hist_quantile(memory.slices[99].service, 1.0), 5000);
    assert_null(memory.slices[99].response);
    assert_int_equal(memory.sample_count, 100);
    assert_close(memory.samples[42].value, 42.0, 0.0, 0.0);
    assert_string_equal(memory.faults[0].code, "cpu_ns");
    assert_non_null(memory_sink_metric(&memory, "host", "cpu_ns"));
    assert_null(memory_sink_metric(&memory, "tool", "cpu_ns"));
    memory_sink_release(&memory);
}

static void test_fails_from_the_call_it_was_told(void **state)
{
    (void)state;
    struct memory_sink memory;
    memory_sink_init(&memory);
    memory.fail_at = 2;
    struct sink sink = memory_sink(&memory);
    struct sample sample = {0};
    struct slice slice = {0};
    struct pl_err err = {0};
    assert_int_equal(sink.sample(sink.ctx, &sample, &err), PL_OK);
    assert_int_equal(sink.slice(sink.ctx, &slice, &err), PL_STORE);
    assert_int_equal(err.code, PL_STORE);
    struct pl_err again = {0};
    assert_int_equal(sink.sample(sink.ctx, &sample, &again), PL_STORE);
    assert_int_equal(memory.sample_count, 1);
    assert_int_equal(memory.slice_count, 0);
    memory_sink_release(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_copies),
        cmocka_unit_test(test_fails_from_the_call_it_was_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
