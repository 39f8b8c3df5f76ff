/* The logs, line by line. */
#include "outputs.h"

#include "base/rng.h"

enum { PID = 4711 };

#define START (7 * SECOND)                       /* monotonic */
#define SHIFT (1700000000 * SECOND - 7 * SECOND) /* the load starts at 1700000000.0 */

static const struct operation five[] = {
    /* due, sent, done, number, client, retries, script, end */
    {START + 1 * MS, START + 3 * MS, START + 5241 * US + 400, 199, 0, 0, 0, OPERATION_COMPLETED},
    {START + 2 * MS, 0, START + 10 * MS, 200, 0, 0, 1, OPERATION_SKIPPED},
    {START + 3 * MS, START + 3 * MS, START + 999 * MS + 999999, 7, 12, 9, 0, OPERATION_SERIALIZATION},
    {START + 3 * MS, START + 4 * MS, START + SECOND + 608 * US, 8, 12, 2, 0, OPERATION_DEADLOCK},
    {START + 3 * MS, START + 5 * MS, START + SECOND + 700 * US, 3, 99999, 0, 1, OPERATION_FAILED},
};

static struct pgbench_log *log_open(struct outputs *outputs, int workers)
{
    struct pl_err err = {0};
    struct pgbench_log *log = NULL;
    OK(pgbench_log_open(&outputs->options, workers, PID, &log, &err), err);
    pgbench_log_start(log, START, SHIFT);
    return log;
}

static void log_write(struct pgbench_log *log, int worker, const struct operation *operations, size_t count)
{
    struct pl_err err = {0};
    OK(pgbench_log_operations(log, worker, operations, count, &err), err);
}

static const char *log_text(struct outputs *outputs, struct pgbench_log *log, int64_t end_ns, const char *name)
{
    struct pl_err err = {0};
    OK(pgbench_log_close(log, end_ns, &err), err);
    return outputs_read(outputs, name);
}

static void test_plain_lines(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_log *log = log_open(outputs, 1);
    log_write(log, 0, five, 5);
    assert_string_equal(log_text(outputs, log, START + 2 * SECOND, "log.4711"), "0 199 4241 0 1700000000 5241\n"
                                                                                "0 200 skipped 1 1700000000 10000\n"
                                                                                "12 7 failed 0 1700000000 999999\n"
                                                                                "12 8 failed 0 1700000001 608\n"
                                                                                "99999 3 failed 1 1700000001 700\n");
}

static void test_all_columns(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.rate_per_s = 100;
    outputs->options.max_tries = 0;
    outputs->options.failures_detailed = true;
    struct pgbench_log *log = log_open(outputs, 1);
    log_write(log, 0, five, 5);
    assert_string_equal(log_text(outputs, log, START + 2 * SECOND, "log.4711"),
                        "0 199 4241 0 1700000000 5241 2000 0\n"
                        "0 200 skipped 1 1700000000 10000 8000 0\n"
                        "12 7 serialization 0 1700000000 999999 0 9\n"
                        "12 8 deadlock 0 1700000001 608 1000 2\n"
                        "99999 3 other 1 1700000001 700 2000 0\n");
}

static void test_retries_without_rate(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.max_tries = 10;
    struct pgbench_log *log = log_open(outputs, 1);
    log_write(log, 0, &five[2], 1);
    assert_string_equal(log_text(outputs, log, START, "log.4711"), "12 7 failed 0 1700000000 999999 9\n");
}

static void test_one_file_a_worker(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_log *log = log_open(outputs, 3);
    log_write(log, 2, &five[0], 1);
    log_write(log, 0, &five[3], 1);
    assert_string_equal(log_text(outputs, log, START, "log.4711"), "12 8 failed 0 1700000001 608\n");
    assert_string_equal(outputs_read(outputs, "log.4711.1"), "");
    assert_string_equal(outputs_read(outputs, "log.4711.2"), "0 199 4241 0 1700000000 5241\n");
}

static struct operation any_operation(struct pl_rng *rng, int64_t done_ns)
{
    int64_t took_ns = (int64_t)pl_rng_exponential(rng, 5e6), late_ns = (int64_t)pl_rng_exponential(rng, 1e6);
    return (struct operation){.due_ns = done_ns - took_ns - late_ns,
                              .sent_ns = done_ns - took_ns,
                              .done_ns = done_ns,
                              .number = pl_rng_range(rng, 1, INT64_C(1) << pl_rng_range(rng, 1, 62)),
                              .client = (int32_t)pl_rng_range(rng, 0, INT32_MAX),
                              .retries = (int32_t)(pl_rng_range(rng, 0, 9) == 0 ? pl_rng_range(rng, 1, INT32_MAX) : 0),
                              .script = (int16_t)pl_rng_range(rng, 0, INT16_MAX),
                              .end = (uint8_t)pl_rng_range(rng, 0, OPERATION_FAILED)};
}

/* More than the buffer holds, against printf. */
static void test_many_lines(void **state)
{
    static const char *const ends[] = {"", "skipped", "serialization", "deadlock", "other"};
    enum { COUNT = 20000 };
    struct outputs *outputs = *state;
    outputs->options.rate_per_s = 1;
    outputs->options.max_tries = 0;
    outputs->options.failures_detailed = true;
    struct pgbench_log *log = log_open(outputs, 1);
    struct pl_rng rng;
    struct pl_buf expected;
    pl_rng_init(&rng, 1, 0, 0);
    pl_buf_init(&expected, 16 << 20);
    int64_t done_ns = START + SECOND * 100;
    for (int i = 0; i < COUNT; i++) {
        done_ns += pl_rng_range(&rng, 0, SECOND / 100);
        struct operation operation = any_operation(&rng, done_ns);
        log_write(log, 0, &operation, 1);
        int64_t us = (done_ns + SHIFT) / 1000, took_us = (done_ns - operation.due_ns + 500) / 1000;
        char took[32];
        snprintf(took, sizeof took, "%lld", (long long)took_us);
        pl_buf_printf(&expected, "%d %lld %s %d %lld %lld %lld %d\n", operation.client, (long long)operation.number,
                      operation.end == OPERATION_COMPLETED ? took : ends[operation.end], operation.script,
                      (long long)(us / 1000000), (long long)(us % 1000000),
                      (long long)((operation.sent_ns - operation.due_ns + 500) / 1000), operation.retries);
    }
    const char *text = log_text(outputs, log, done_ns, "log.4711");
    assert_int_equal(strlen(text), expected.len);
    assert_int_equal(memcmp(text, pl_buf_text(&expected), expected.len), 0);
    pl_buf_release(&expected);
}

/* ---- intervals ---- */

static void test_intervals(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.aggregate_interval_s = 2;
    outputs->options.rate_per_s = 10;
    struct pl_err err = {0};
    struct pgbench_log *log = NULL;
    OK(pgbench_log_open(&outputs->options, 2, PID, &log, &err), err);
    pgbench_log_start(log, START, SHIFT + 700 * MS); /* within a second: the first interval begins with it */
    const struct operation operations[] = {
        {START + 1 * MS, START + 3 * MS, START + 11 * MS, 1, 0, 0, 0, OPERATION_COMPLETED},
        {START + 1 * MS, START + 2 * MS, START + 21 * MS, 1, 1, 3, 0, OPERATION_COMPLETED},
        {START + 1 * MS, 0, START + 1299 * MS, 2, 1, 0, 0, OPERATION_SKIPPED},
        /* the interval ends 1.3 s after the start */
        {START + 1 * MS, START + 2 * MS, START + 1300 * MS, 3, 1, 1, 0, OPERATION_SERIALIZATION},
        {START + 1 * MS, START + 2 * MS, START + 1301 * MS, 4, 1, 2, 0, OPERATION_DEADLOCK},
        {START + 1 * MS, START + 2 * MS, START + 1302 * MS, 5, 1, 0, 0, OPERATION_FAILED},
        /* nothing for 4 s; then one in an interval that the end cuts short */
        {START + 7301 * MS, START + 7301 * MS, START + 7302 * MS, 6, 1, 0, 0, OPERATION_COMPLETED},
    };
    log_write(log, 0, operations, 7);
    assert_string_equal(log_text(outputs, log, START + 7500 * MS, "log.4711"),
                        "1700000000 2 30000 500000000 10000 20000 3000 5000000 1000 2000 1 1 3 0 0 0\n"
                        "1700000002 0 0 0 0 0 0 0 0 0 0 2 3 1 1 1\n"
                        "1700000004 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                        "1700000006 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                        "1700000008 1 1000 1000000 1000 1000 0 0 0 0 0 0 0 0 0 0\n");
    assert_string_equal(outputs_read(outputs, "log.4711.1"), "1700000000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                                             "1700000002 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                                             "1700000004 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                                             "1700000006 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                                             "1700000008 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
}

/* An interval that would begin at the very end is none, and without a rate there are no lags. */
static void test_an_end_on_the_boundary(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.aggregate_interval_s = 1;
    struct pgbench_log *log = log_open(outputs, 1);
    log_write(log, 0, &five[0], 1);
    assert_string_equal(log_text(outputs, log, START + 2 * SECOND, "log.4711"),
                        "1700000000 1 4241 17986081 4241 4241 0 0 0 0 0 0 0 0 0 0\n"
                        "1700000001 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
}

/* Nothing is lost, also not in the last interval, and sums of squares leave 64 bits. */
static void test_intervals_hold_everything(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.aggregate_interval_s = 1;
    struct pgbench_log *log = log_open(outputs, 1);
    struct pl_rng rng;
    pl_rng_init(&rng, 2, 0, 0);
    int64_t done_ns = START, count[OPERATION_FAILED + 1] = {0}, retried = 0, sum_us = 0;
    for (int i = 0; i < 5000; i++) {
        done_ns += pl_rng_range(&rng, 0, SECOND / 200);
        struct operation operation = any_operation(&rng, done_ns);
        count[operation.end]++;
        retried += operation.retries > 0;
        sum_us += operation.end == OPERATION_COMPLETED ? (done_ns - operation.due_ns + 500) / 1000 : 0;
        log_write(log, 0, &operation, 1);
    }
    const char *line = log_text(outputs, log, done_ns + 1, "log.4711");
    int64_t total[16] = {0}, before = 1699999999;
    for (; *line != '\0'; line = strchr(line, '\n') + 1) {
        long long value[16];
        assert_int_equal(sscanf(line, "%lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld\n",
                                &value[0], &value[1], &value[2], &value[3], &value[4], &value[5], &value[6], &value[7],
                                &value[8], &value[9], &value[10], &value[11], &value[12], &value[13], &value[14],
                                &value[15]),
                         16);
        assert_int_equal(value[0], before + 1);
        before = value[0];
        for (int i = 0; i < 16; i++)
            total[i] += value[i];
    }
    assert_int_equal(total[1], count[OPERATION_COMPLETED]);
    assert_int_equal(total[2], sum_us);
    assert_int_equal(total[10], count[OPERATION_SKIPPED]);
    assert_int_equal(total[11], retried);
    assert_int_equal(total[13], count[OPERATION_SERIALIZATION]);
    assert_int_equal(total[14], count[OPERATION_DEADLOCK]);
    assert_int_equal(total[15], count[OPERATION_FAILED]);
}

static void test_sums_of_squares_beyond_64_bits(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.aggregate_interval_s = 3600 * 24;
    struct pgbench_log *log = log_open(outputs, 1);
    struct operation slow = {START, START, START + 5000 * SECOND, 1, 0, 0, 0, OPERATION_COMPLETED};
    for (int i = 0; i < 3; i++)
        log_write(log, 0, &slow, 1);
    slow.done_ns += US;
    log_write(log, 0, &slow, 1);
    /* 3 * 5e9^2 + (5e9 + 1)^2; 1700000000 is 22:13:20, and intervals begin with the load, not with the day */
    assert_string_equal(log_text(outputs, log, START + 6000 * SECOND, "log.4711"),
                        "1700000000 4 20000000001 100000000010000000001 5000000000 5000000001 0 0 0 0 0 0 0 0 0 0\n");
}

/* ---- what goes wrong ---- */

static void test_a_file_that_cannot_be_made(void **state)
{
    struct outputs *outputs = *state;
    struct pl_err err = {0};
    struct pgbench_log *log = NULL;
    assert_int_equal(symlink("/nowhere/at/all", outputs_path(outputs, "log.4711.1")), 0);
    assert_int_equal(pgbench_log_open(&outputs->options, 2, PID, &log, &err), PL_IO);
    assert_string_equal(err.what, pl_format(outputs->arena, "could not open logfile \"%s\": No such file or directory",
                                            outputs_path(outputs, "log.4711.1")));
}

static void test_a_full_disk(void **state)
{
    struct outputs *outputs = *state;
    struct pl_err err = {0};
    struct operation operations[200];
    assert_int_equal(symlink("/dev/full", outputs_path(outputs, "log.4711")), 0);
    struct pgbench_log *log = log_open(outputs, 1);
    for (int i = 0; i < 200; i++)
        operations[i] = five[0];
    int batches = 0;
    while (pgbench_log_operations(log, 0, operations, 200, &err) == PL_OK && batches < 1000)
        batches++;
    assert_int_equal(err.code, PL_IO);
    assert_non_null(strstr(err.what, "/log.4711\": No space left on device"));
    assert_in_range(batches, 1, 100);
    /* it stays */
    struct pl_err again = {0}, last = {0};
    assert_int_equal(pgbench_log_operations(log, 0, operations, 1, &again), PL_IO);
    assert_int_equal(pgbench_log_close(log, START, &last), PL_IO);
    assert_string_equal(last.what, err.what);
}

/* What is still in the buffer is not lost silently either. */
static void test_a_full_disk_at_the_end(void **state)
{
    struct outputs *outputs = *state;
    struct pl_err err = {0};
    assert_int_equal(symlink("/dev/full", outputs_path(outputs, "log.4711")), 0);
    struct pgbench_log *log = log_open(outputs, 1);
    log_write(log, 0, five, 1);
    assert_int_equal(pgbench_log_close(log, START, &err), PL_IO);
    assert_non_null(strstr(err.what, "could not write to logfile"));
}

static void test_never_started(void **state)
{
    struct outputs *outputs = *state;
    struct pl_err err = {0};
    struct pgbench_log *log = NULL;
    outputs->options.aggregate_interval_s = 1;
    OK(pgbench_log_open(&outputs->options, 1, PID, &log, &err), err);
    assert_string_equal(log_text(outputs, log, 0, "log.4711"), "");
    OK(pgbench_log_close(NULL, 0, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTPUTS_TEST(test_plain_lines),
        OUTPUTS_TEST(test_all_columns),
        OUTPUTS_TEST(test_retries_without_rate),
        OUTPUTS_TEST(test_one_file_a_worker),
        OUTPUTS_TEST(test_many_lines),
        OUTPUTS_TEST(test_intervals),
        OUTPUTS_TEST(test_an_end_on_the_boundary),
        OUTPUTS_TEST(test_intervals_hold_everything),
        OUTPUTS_TEST(test_sums_of_squares_beyond_64_bits),
        OUTPUTS_TEST(test_a_file_that_cannot_be_made),
        OUTPUTS_TEST(test_a_full_disk),
        OUTPUTS_TEST(test_a_full_disk_at_the_end),
        OUTPUTS_TEST(test_never_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
