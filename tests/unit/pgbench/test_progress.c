/* Progress lines from slices: exact text, one line an interval, and nothing twice or lost. */
#include "outputs.h"

#include "base/rng.h"

#define START (50 * SECOND)

/* One script unless a test says otherwise. */
struct lines {
    struct pgbench_progress *progress;
    FILE *out;
    char *text;
    size_t length;
};

static void lines_open(struct lines *lines, struct outputs *outputs, int workers)
{
    *lines = (struct lines){.out = open_memstream(&lines->text, &lines->length)};
    assert_non_null(lines->out);
    if (outputs->options.progress_s == 0)
        outputs->options.progress_s = 1;
    lines->progress = pgbench_progress_new(&outputs->options, workers, lines->out);
    pgbench_progress_start(lines->progress, START, 1700000000 * SECOND - START);
}

static const char *lines_so_far(struct lines *lines)
{
    fflush(lines->out);
    return lines->text;
}

/* Ends the run; returns all lines. */
static const char *lines_close(struct outputs *outputs, struct lines *lines)
{
    pgbench_progress_free(lines->progress);
    fclose(lines->out);
    const char *text = pl_strdup(outputs->arena, lines->text);
    free(lines->text);
    return text;
}

static int count_lines(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

struct piece {
    int from_ms, to_ms;
    enum phase during;
    int script;
    int completed, response_us, lateness_us; /* each of them */
    struct ledger ledger;                    /* the rest */
    struct attempts attempts;
};

static void push(struct lines *lines, const struct piece *piece)
{
    struct hist response, lateness;
    hist_init_latency(&response);
    hist_init_latency(&lateness);
    hist_record_n(&response, piece->response_us * US, piece->completed);
    hist_record_n(&lateness, piece->lateness_us * US, piece->completed);
    struct slice slice = {.start_ns = START + piece->from_ms * MS,
                          .end_ns = START + piece->to_ms * MS,
                          .during = piece->during,
                          .due_in = PHASE_MEASURE,
                          .script = piece->script,
                          .step = -1,
                          .ledger = piece->ledger,
                          .attempts = piece->attempts,
                          .response = &response,
                          .lateness = &lateness};
    slice.ledger.completed = piece->completed;
    pgbench_progress_slice(lines->progress, &slice);
    /* steps are no transactions */
    slice.step = 0;
    pgbench_progress_slice(lines->progress, &slice);
    hist_release(&response);
    hist_release(&lateness);
}

static void push_plain(struct lines *lines, int from_ms, int to_ms, enum phase during, int completed)
{
    push(lines, &(struct piece){
                    .from_ms = from_ms, .to_ms = to_ms, .during = during, .completed = completed, .response_us = 1000});
}

static void test_exact_text(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    struct lines lines;
    lines_open(&lines, outputs, 2);
    push(&lines,
         &(struct piece){
             .to_ms = 1000, .during = PHASE_MEASURE, .completed = 300, .response_us = 1000, .ledger = {.failed = 2}});
    assert_string_equal(lines_so_far(&lines), ""); /* the other worker is missing */
    push(&lines, &(struct piece){.to_ms = 1000, .during = PHASE_MEASURE, .completed = 100, .response_us = 2000});
    assert_string_equal(lines_so_far(&lines), "progress: 1.0 s, 400.0 tps, lat 1.250 ms stddev 0.433, 2 failed\n");
    push_plain(&lines, 1000, 2000, PHASE_MEASURE, 0);
    push_plain(&lines, 1000, 2000, PHASE_MEASURE, 0);
    assert_string_equal(lines_close(outputs, &lines), "progress: 1.0 s, 400.0 tps, lat 1.250 ms stddev 0.433, 2 failed\n"
                                                      "progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n");
}

static void test_all_parts(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    outputs->options.rate_per_s = 100;
    outputs->options.latency_limit_ns = MS;
    outputs->options.max_tries = 0;
    outputs->options.progress_timestamp = true;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    push(&lines, &(struct piece){.to_ms = 1000,
                                 .during = PHASE_MEASURE,
                                 .completed = 4,
                                 .response_us = 1500,
                                 .lateness_us = 250,
                                 .ledger = {.failed = 1, .skipped = 7},
                                 .attempts = {3, 5, 1, 0, 2}});
    assert_string_equal(
        lines_close(outputs, &lines),
        "progress: 1700000001.000 s, 4.0 tps, lat 1.500 ms stddev 0.000, 1 failed, lag 0.250 ms, 7 skipped, "
        "3 retried, 5 retries\n");
}

static void test_lag_without_limit(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    outputs->options.rate_per_s = 100;
    outputs->options.progress_s = 5;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    push(&lines,
         &(struct piece){.to_ms = 5000, .during = PHASE_MEASURE, .completed = 20, .response_us = 1500, .lateness_us = 100});
    assert_string_equal(lines_close(outputs, &lines),
                        "progress: 5.0 s, 4.0 tps, lat 1.500 ms stddev 0.000, 0 failed, lag 0.100 ms\n");
}

/* A run of 3 s has 3 lines; what ended after the window is in the last one. */
static void test_the_drain_is_in_the_last_line(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    outputs->options.duration_s = 3;
    struct lines lines;
    lines_open(&lines, outputs, 2);
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < 2; w++)
            push_plain(&lines, s * 1000, s * 1000 + 1000, PHASE_MEASURE, 10);
    assert_int_equal(count_lines(lines_so_far(&lines)), 2);
    push_plain(&lines, 3000, 3010, PHASE_DRAIN, 4);
    push_plain(&lines, 3000, 3250, PHASE_DRAIN, 1);
    const char *text = lines_close(outputs, &lines);
    assert_int_equal(count_lines(text), 3);
    assert_non_null(strstr(text, "progress: 3.2 s, 20.0 tps, lat 1.000 ms")); /* 25 in 1.25 s */
}

/* When it takes longer than an interval, the lines go on. */
static void test_a_long_drain(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    outputs->options.duration_s = 1;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 10);
    push_plain(&lines, 1000, 2000, PHASE_DRAIN, 0);
    assert_int_equal(count_lines(lines_so_far(&lines)), 2);
    push_plain(&lines, 2000, 3000, PHASE_DRAIN, 0);
    push_plain(&lines, 3000, 3500, PHASE_DRAIN, 2);
    assert_string_equal(lines_close(outputs, &lines), "progress: 1.0 s, 10.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n"
                                                      "progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n"
                                                      "progress: 3.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n"
                                                      "progress: 3.5 s, 4.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n");
}

/* A run by number of transactions ends anywhere: the rest has a line of its own. */
static void test_the_last_partial_interval(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    outputs->options.transactions = 100;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 10);
    push_plain(&lines, 1000, 1500, PHASE_MEASURE, 8);
    assert_string_equal(lines_close(outputs, &lines), "progress: 1.0 s, 10.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n"
                                                      "progress: 1.5 s, 16.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n");
    outputs->options.duration_s = 5; /* and so has a run that was stopped */
    lines_open(&lines, outputs, 1);
    push_plain(&lines, 0, 500, PHASE_MEASURE, 8);
    assert_string_equal(lines_close(outputs, &lines), "progress: 0.5 s, 16.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n");
}

/* A slice that covers two intervals is counted where it ends; the other worker's are not held back longer than that. */
static void test_a_late_worker(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    struct lines lines;
    lines_open(&lines, outputs, 2);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 10);
    push_plain(&lines, 1000, 2000, PHASE_MEASURE, 10);
    assert_string_equal(lines_so_far(&lines), "");
    push_plain(&lines, 0, 2000, PHASE_MEASURE, 7);
    assert_string_equal(lines_so_far(&lines), "progress: 1.0 s, 10.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n"
                                              "progress: 2.0 s, 17.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n");
    lines_close(outputs, &lines);
}

/* A worker whose clients are done makes no more slices: the others' lines go on without it. */
static void test_a_worker_that_has_ended(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    struct lines lines;
    lines_open(&lines, outputs, 2);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 1);
    push_plain(&lines, 0, 500, PHASE_MEASURE, 2);
    push_plain(&lines, 500, 600, PHASE_DRAIN, 4);
    assert_int_equal(count_lines(lines_so_far(&lines)), 1);
    push_plain(&lines, 1000, 2000, PHASE_MEASURE, 1);
    assert_int_equal(count_lines(lines_so_far(&lines)), 2);
    /* the same, without a trace of the end */
    push_plain(&lines, 2000, 3000, PHASE_MEASURE, 1);
    const char *text = lines_close(outputs, &lines);
    assert_int_equal(count_lines(text), 3);
    assert_non_null(strstr(text, "progress: 1.0 s, 7.0 tps"));

    lines_open(&lines, outputs, 2);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 1);
    push_plain(&lines, 0, 1000, PHASE_MEASURE, 1);
    push_plain(&lines, 1000, 2000, PHASE_MEASURE, 1);
    push_plain(&lines, 2000, 3000, PHASE_MEASURE, 1);
    push_plain(&lines, 3000, 4000, PHASE_MEASURE, 1); /* two intervals further: the second is not waited for */
    assert_int_equal(count_lines(lines_so_far(&lines)), 4);
    lines_close(outputs, &lines);
}

/* Scripts of weight 0 never have slices; the rows of one slice belong together. */
static void test_several_scripts(void **state)
{
    struct outputs *outputs = *state;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    push(&lines, &(struct piece){.to_ms = 1000, .during = PHASE_MEASURE, .completed = 3, .response_us = 1000});
    assert_string_equal(lines_so_far(&lines), "");
    push(&lines, &(struct piece){.to_ms = 1000, .during = PHASE_MEASURE, .completed = 4, .response_us = 1000, .script = 1});
    assert_string_equal(lines_so_far(&lines), "progress: 1.0 s, 7.0 tps, lat 1.000 ms stddev 0.000, 0 failed\n");
    lines_close(outputs, &lines);
    outputs->options.scripts[0].weight = 0;
    lines_open(&lines, outputs, 1);
    push(&lines, &(struct piece){.to_ms = 1000, .during = PHASE_MEASURE, .completed = 4, .response_us = 1000, .script = 1});
    assert_int_equal(count_lines(lines_so_far(&lines)), 1);
    lines_close(outputs, &lines);
}

/* What all lines say together. tps of a line is exact to 0.05 a second: intervals of one second and whole counts. */
static void sum_lines(const char *text, double *ret_completed, long long *ret_failed)
{
    double before_s = 0;
    for (; *text != '\0'; text = strchr(text, '\n') + 1) {
        double at_s, tps;
        long long failed;
        assert_int_equal(sscanf(text, "progress: %lf s, %lf tps, lat %*f ms stddev %*f, %lld failed", &at_s, &tps, &failed),
                         3);
        assert_true(at_s >= before_s);
        *ret_completed += tps * (at_s > before_s ? at_s - before_s : 1); /* the same time again: what came too late */
        *ret_failed += failed;
        before_s = at_s;
    }
}

/* Workers that are late, that end, that are far ahead, in any order: the lines add up to everything. */
static void test_sums(void **state)
{
    struct outputs *outputs = *state;
    struct pl_rng rng;
    pl_rng_init(&rng, 9, 0, 0);
    for (int round = 0; round < 300; round++) {
        enum { WORKERS = 3 };
        outputs->options.duration_s = round % 2 == 0 ? 0 : pl_rng_range(&rng, 1, 20);
        struct lines lines;
        lines_open(&lines, outputs, WORKERS);
        int reached_ms[WORKERS] = {0}, end_ms[WORKERS];
        int64_t completed = 0, failed = 0;
        for (int w = 0; w < WORKERS; w++)
            end_ms[w] = (int)pl_rng_range(&rng, 1, round % 3 == 0 ? 200 : 20) * 500;
        for (int left = WORKERS; left > 0;) {
            int w = (int)pl_rng_range(&rng, 0, WORKERS - 1);
            if (reached_ms[w] >= end_ms[w])
                continue;
            int64_t steps = pl_rng_range(&rng, 0, 20) == 0 ? pl_rng_range(&rng, 1, 90) : 1;
            int to_ms = (reached_ms[w] / 1000 + (int)steps) * 1000;
            if (to_ms >= end_ms[w]) {
                to_ms = end_ms[w];
                left--;
            }
            for (int script = 0; script < 2; script++) {
                struct piece piece = {.from_ms = reached_ms[w], .to_ms = to_ms, .script = script, .response_us = 1000};
                piece.during = to_ms == end_ms[w] ? PHASE_DRAIN : PHASE_MEASURE;
                piece.completed = (int)pl_rng_range(&rng, 0, 50);
                piece.ledger.failed = pl_rng_range(&rng, 0, 2);
                completed += piece.completed;
                failed += piece.ledger.failed;
                push(&lines, &piece);
            }
            reached_ms[w] = to_ms;
        }
        double told = 0;
        long long told_failed = 0;
        const char *text = lines_close(outputs, &lines);
        sum_lines(text, &told, &told_failed);
        assert_close(told, (double)completed, 0, 0.1 + 0.06 * count_lines(text));
        assert_int_equal(told_failed, failed);
    }
}

/* One worker that is always in time: its lines are those of its slices, for hours. */
static void test_a_long_run(void **state)
{
    struct outputs *outputs = *state;
    outputs->options.script_count = 1;
    struct lines lines;
    lines_open(&lines, outputs, 1);
    for (int s = 0; s < 2000; s++) {
        push_plain(&lines, s * 1000, s * 1000 + 1000, PHASE_MEASURE, s % 7);
        assert_int_equal(count_lines(lines_so_far(&lines)), s + 1);
        if (s > 100 && s % 500 != 0)
            continue;
        char expected[100];
        snprintf(expected, sizeof expected, "progress: %d.0 s, %d.0 tps, ", s + 1, s % 7);
        assert_non_null(strstr(lines.text, expected));
    }
    pgbench_progress_free(NULL);
    lines_close(outputs, &lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTPUTS_TEST(test_exact_text),        OUTPUTS_TEST(test_all_parts),
        OUTPUTS_TEST(test_lag_without_limit), OUTPUTS_TEST(test_the_drain_is_in_the_last_line),
        OUTPUTS_TEST(test_a_long_drain),      OUTPUTS_TEST(test_the_last_partial_interval),
        OUTPUTS_TEST(test_a_late_worker),     OUTPUTS_TEST(test_a_worker_that_has_ended),
        OUTPUTS_TEST(test_several_scripts),   OUTPUTS_TEST(test_sums),
        OUTPUTS_TEST(test_a_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
