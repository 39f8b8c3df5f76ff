/* Percentiles: merged, with intervals from order statistics, absent when data are too few. */
#include "figures.h"

#include "stats/interval.h"

static void test_latencies_are_merged(void **state)
{
    const struct fixture *fixture = *state;
    const struct study *study = &fixture->synth->study;
    const char *label = "script=tpcb-like clients=1";
    int64_t row = case_of(fixture, "clients", label);
    struct hist merged;
    double lowest = (double)INFINITY, highest = 0;
    hist_init_latency(&merged);
    for (size_t t = 0; t < study->trial_count; t++) {
        struct hist own;
        hist_init_latency(&own);
        for (size_t i = 0; study->trials[t].case_id == row && i < study->slice_count; i++)
            if (study->slices[i].trial_id == study->trials[t].id && study->slices[i].response != NULL)
                hist_merge(&own, study->slices[i].response);
        hist_merge(&merged, &own);
        if (own.total > 0) {
            lowest = fmin(lowest, (double)hist_quantile(&own, 0.99));
            highest = fmax(highest, (double)hist_quantile(&own, 0.99));
        }
        hist_release(&own);
    }
    assert_figure(fixture, "clients", label, "", "response_p50_ns", (double)hist_quantile(&merged, 0.5));
    assert_figure(fixture, "clients", label, "", "response_p99_ns", (double)hist_quantile(&merged, 0.99));
    assert_figure(fixture, "clients", label, "", "response_max_ns", (double)merged.max);
    assert_figure(fixture, "clients", label, "", "response_mean_ns", hist_mean(&merged));
    assert_figure(fixture, "clients", label, "", "response_stddev_ns", hist_stddev(&merged));
    assert_figure(fixture, "clients", label, "", "response_p99_lowest_ns", lowest);
    assert_figure(fixture, "clients", label, "", "response_p99_highest_ns", highest);
    const struct figure *p99 = find(fixture, "clients", label, "", "response_p99_ns");
    int64_t low, high;
    double reached;
    assert_true(interval_quantile_ranks(merged.total, 0.99, 0.95, &low, &high, &reached));
    assert_int_equal(p99->n, merged.total);
    assert_close(p99->low, (double)hist_value_at_rank(&merged, low), 0, 0);
    assert_close(p99->high, (double)hist_value_at_rank(&merged, high), 0, 0);
    assert_close(p99->confidence, reached, 1e-12, 0);
    hist_release(&merged);
    assert_figure(fixture, "clients", label, "", "lateness_max_ns", 2000);
}

static void test_steps(void **state)
{
    const struct fixture *fixture = *state;
    const char *label = "rate=50/s", *step = "tpcb-like step 1: BEGIN";
    assert_int_equal(find(fixture, "rate", label, step, "service_p50_ns")->n, 484);
    assert_close(find(fixture, "rate", label, step, "service_mean_ns")->value, 100120.5, 1e-9, 0);
    const char *second = "tpcb-like step 2: UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2";
    assert_close(find(fixture, "rate", label, second, "service_mean_ns")->value, 200120.5, 1e-9, 0);
    assert_absent(fixture, "rate", label, "", "response_p999_ns", "at least 2995");
}

/* Nearest rank on a histogram that is exact there: 400 operations of 64 ns to 25,600 ns. */
static void test_known_percentiles(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "rate", "?", "rate=100/s"), row = synth_case(synth, stage, "");
    struct trial_row *trials[] = {synth_trial(synth, row, 0, 2, 2), synth_trial(synth, row, 1, 2, 2)};
    for (int i = 0; i < 2; i++) {
        struct slice *slice = synth_slice(synth, trials[i], PHASE_MEASURE, PHASE_MEASURE, -1);
        struct hist *hist = synth_hist(synth);
        for (int k = 0; k < 200; k++)
            hist_record(hist, 64 * (200 * i + k + 1));
        slice->response = hist;
        slice->ledger = (struct ledger){.due = 200, .completed = 200};
    }
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    /* the top of the bucket of the 200th and the 396th value; not 6,400 and 19,136, the averages of the trials' medians and
     * p99 */
    assert_close(model_figure(&figures, stage, row, "", "response_p50_ns")->value, 200 * 64 + 63, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "response_p99_ns")->value, 396 * 64 + 63, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "response_max_ns")->value, 400 * 64, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "response_p50_lowest_ns")->value, 100 * 64 + 63, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "response_p50_highest_ns")->value, 300 * 64 + 63, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "response_mean_ns")->value, 64 * 200.5, 0, 0);
    assert_close(model_figure(&figures, stage, row, "", "concurrency")->value, 400 * 64 * 200.5 / 4e9, 1e-12, 0);
    synth_free(synth);
}

/* Thirty operations: a median can be given, a p99 cannot, and neither is it made up. */
static void test_too_few_operations(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "rate", "?", "rate=10/s"), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 3, 2);
    struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *hist = synth_hist(synth);
    for (int i = 0; i < 30; i++)
        hist_record(hist, 1000000 + i * 1000);
    slice->response = hist;
    slice->ledger = (struct ledger){.due = 30, .completed = 30};
    struct figures figures = model_figures(synth_study(synth), synth->arena);
    const struct figure *p99 = model_figure(&figures, stage, row, "", "response_p99_ns");
    assert_int_equal(p99->status, FIGURE_ABSENT);
    assert_string_equal(p99->note, "too few operations: this percentile needs at least 299");
    assert_int_equal(p99->n, 30);
    assert_int_equal(model_figure(&figures, stage, row, "", "response_p95_ns")->status, FIGURE_ABSENT);
    assert_int_equal(model_figure(&figures, stage, row, "", "response_p50_ns")->status, FIGURE_MEASURED);
    assert_true(model_figure(&figures, stage, row, "", "response_p50_ns")->has_interval);
    assert_int_equal(model_figure(&figures, stage, row, "", "service_p50_ns")->status, FIGURE_ABSENT);
    assert_close(model_figure(&figures, stage, row, "", "achieved_per_s")->value, 10, 1e-12, 0);
    synth_free(synth);
}

/* An open loop that is not kept up: 1800 due, of which `open` have no end and `failed` failed; the others took 1 ms, 2 ms,
 * ... in one trial. */
struct overload {
    struct synth *synth;
    struct figures figures;
    int64_t stage, row;
};

static struct overload overloaded(int64_t open, int64_t failed)
{
    struct overload over = {.synth = synth_new()};
    over.stage = synth_stage(over.synth, "rate", "?", "rate=600/s");
    over.row = synth_case(over.synth, over.stage, "");
    struct trial_row *trial = synth_trial(over.synth, over.row, 0, 3, 8);
    struct slice *slice = synth_slice(over.synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *response = synth_hist(over.synth), *service = synth_hist(over.synth), *lateness = synth_hist(over.synth);
    int64_t completed = 1800 - open - failed;
    for (int64_t i = 0; i < completed; i++) {
        hist_record(response, (i + 1) * PL_NS_PER_MS);
        hist_record(service, 500000);
        hist_record(lateness, i * PL_NS_PER_MS);
    }
    slice->response = response;
    slice->service = service;
    slice->lateness = lateness;
    slice->ledger = (struct ledger){.due = 1800,
                                    .completed = completed,
                                    .failed = failed,
                                    .unfinished = open - open / 4,
                                    .expired = open / 4,
                                    .never_started = open / 2};
    over.figures = model_figures(synth_study(over.synth), over.synth->arena);
    return over;
}

static const struct figure *of(const struct overload *over, const char *name)
{
    return model_figure(&over->figures, over->stage, over->row, "", name);
}

/* 373 of 1800 without an end: p90 and above lie among them; p50 is the 900th of 1800, not the 714th of 1427. */
static void test_operations_without_an_end_are_ranked(void **state)
{
    (void)state;
    struct overload over = overloaded(373, 0);
    assert_close(of(&over, "response_p50_ns")->value, 900e6, 1e-3, 0);
    assert_int_equal(of(&over, "response_p50_ns")->n, 1800);
    assert_true(of(&over, "response_p50_ns")->has_interval);
    assert_string_equal(of(&over, "response_p50_ns")->note,
                        "373 of 1800 operations due had not ended: ranked as the longest");
    static const char *const hidden[] = {"response_p90_ns", "response_p99_ns", "service_p99_ns", "lateness_p95_ns"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        const struct figure *figure = of(&over, hidden[i]);
        assert_int_equal(figure->status, FIGURE_ABSENT);
        assert_false(figure->has_interval);
        assert_non_null(strstr(figure->note, "373 of 1800 operations due had not ended"));
        assert_non_null(strstr(figure->note, "this percentile is at least"));
    }
    assert_close(of(&over, "response_p99_ns")->value, 1427e6, 0, 0); /* the bound: the longest that ended */
    assert_non_null(strstr(of(&over, "response_p99_ns")->note, "at least 1.42 s"));
    static const char *const ended[] = {"response_mean_ns", "response_stddev_ns", "response_max_ns", "concurrency"};
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        assert_int_not_equal(of(&over, ended[i])->status, FIGURE_ABSENT);
        assert_string_equal(of(&over, ended[i])->note, "of those that ended: 373 of 1800 operations due had not ended");
    }
    assert_close(of(&over, "response_p50_highest_ns")->value, 900e6, 1e-3, 0);
    assert_int_equal(of(&over, "response_p99_highest_ns")->status, FIGURE_ABSENT);
    assert_int_equal(of(&over, "response_p99_lowest_ns")->status, FIGURE_ABSENT);
    assert_non_null(strstr(of(&over, "response_p99_highest_ns")->note, "in trial 1 373 of 1800"));
    synth_free(over.synth);
}

/* The 1782nd of 1800 ended, but the interval's upper rank (1791) did not. */
static void test_an_interval_whose_end_had_not_ended(void **state)
{
    (void)state;
    struct overload over = overloaded(12, 0);
    int64_t low, high;
    double reached;
    assert_true(interval_quantile_ranks(1800, 0.99, 0.95, &low, &high, &reached));
    assert_in_range(high, 1789, 1800);
    const struct figure *p99 = of(&over, "response_p99_ns");
    assert_int_equal(p99->status, FIGURE_MEASURED);
    assert_close(p99->value, 1782e6, 1e-3, 0);
    assert_false(p99->has_interval);
    assert_non_null(
        strstr(p99->note, "12 of 1800 operations due had not ended: the upper end of the interval is not known"));
    assert_true(of(&over, "response_p95_ns")->has_interval);
    synth_free(over.synth);
}

/* Those that failed are no part of the ranking, and that is said. */
static void test_failed_operations_are_left_out(void **state)
{
    (void)state;
    struct overload over = overloaded(0, 800);
    assert_close(of(&over, "response_p50_ns")->value, 500e6, 1e-3, 0);
    assert_int_equal(of(&over, "response_p50_ns")->n, 1000);
    assert_string_equal(of(&over, "response_p50_ns")->note, "without 800 operations that failed");
    assert_string_equal(of(&over, "response_mean_ns")->note, "without 800 operations that failed");
    synth_free(over.synth);
    over = overloaded(0, 0);
    assert_string_equal(of(&over, "response_p50_ns")->note, "");
    assert_string_equal(of(&over, "response_max_ns")->note, "");
    synth_free(over.synth);
}

/* 100 operations of 1 to 100 ms, and some that were given up: those after 50 ms leave p50 open, those after 200 ms do not.
 */
static const struct figure *censored_p50(struct synth *synth, struct pl_arena *arena, int64_t count, int64_t given_up_ns,
                                         const char *name)
{
    int64_t stage = synth_stage(synth, "rate", "?", "rate=100/s"), row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 2, 2);
    struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *response = synth_hist(synth), *censored = synth_hist(synth);
    for (int64_t i = 1; i <= 100; i++)
        hist_record(response, i * PL_NS_PER_MS);
    for (int64_t i = 0; i < count; i++)
        hist_record(censored, given_up_ns);
    slice->response = slice->service = response;
    slice->censored = censored;
    slice->ledger =
        (struct ledger){.due = 100 + count, .completed = 100, .expired = count / 2, .unfinished = count - count / 2};
    struct figures figures = model_figures(synth_study(synth), arena);
    return model_figure(&figures, stage, row, "", name);
}

static void test_what_is_known_of_operations_without_an_end(void **state)
{
    (void)state;
    static const struct {
        int64_t count, given_up_ms;
        bool open;
        double ms; /* p50: its value, or the least it is */
    } cases[] = {{0, 0, false, 50}, {20, 200, false, 60}, {20, 50, true, 50}, {20, 10, true, 40}, {140, 200, true, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new();
        struct pl_arena *arena = pl_arena_new();
        const struct figure *p50 =
            censored_p50(synth, arena, cases[i].count, cases[i].given_up_ms * PL_NS_PER_MS, "response_p50_ns");
        assert_int_equal(p50->status == FIGURE_ABSENT, cases[i].open);
        assert_close(p50->value, cases[i].ms * 1e6, 0.002, 0);
        assert_int_equal(p50->n, 100 + cases[i].count);
        if (cases[i].open)
            assert_non_null(strstr(p50->note, "had not ended: this percentile is at least"));
        pl_arena_free(arena);
        synth_free(synth);
    }
}

/* Whoever was waited for the longest may be one that never came. */
static void test_the_longest_may_not_have_ended(void **state)
{
    (void)state;
    static const struct {
        int64_t count, given_up_ms;
        bool open;
        double ms;
    } cases[] = {{0, 0, false, 100}, {20, 50, false, 100}, {20, 200, true, 200}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synth *synth = synth_new();
        struct pl_arena *arena = pl_arena_new();
        const struct figure *longest =
            censored_p50(synth, arena, cases[i].count, cases[i].given_up_ms * PL_NS_PER_MS, "response_max_ns");
        assert_int_equal(longest->status == FIGURE_ABSENT, cases[i].open);
        assert_close(longest->value, cases[i].ms * 1e6, 1e-9, 0);
        if (cases[i].open)
            assert_non_null(strstr(longest->note, "the longest took at least 200 ms"));
        pl_arena_free(arena);
        synth_free(synth);
    }
}

/* Of the service it is not known how long they had taken: they are ranked as the longest, as ever. */
static void test_of_the_service_their_number_is_known(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct pl_arena *arena = pl_arena_new();
    const struct figure *p50 = censored_p50(synth, arena, 20, 10 * PL_NS_PER_MS, "service_p50_ns");
    assert_int_equal(p50->status, FIGURE_MEASURED);
    assert_close(p50->value, 60e6, 0.002, 0);
    assert_non_null(strstr(p50->note, "20 of 120 operations due had not ended: ranked as the longest"));
    pl_arena_free(arena);
    synth_free(synth);
}

/* A server that never answered: nothing completed, and still the response is known from below. */
static void test_nothing_but_expired(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct pl_arena *arena = pl_arena_new();
    int64_t stage = synth_stage(synth, "rate", "?", "rate=10/s"), row = synth_case(synth, stage, "");
    struct slice *slice = synth_slice(synth, synth_trial(synth, row, 0, 2, 2), PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *censored = synth_hist(synth);
    for (int i = 0; i < 20; i++)
        hist_record(censored, 2 * PL_NS_PER_S);
    slice->censored = censored;
    slice->ledger = (struct ledger){.due = 20, .expired = 20};
    struct figures figures = model_figures(synth_study(synth), arena);
    const struct figure *p50 = model_figure(&figures, stage, row, "", "response_p50_ns");
    assert_int_equal(p50->status, FIGURE_ABSENT);
    assert_close(p50->value, 2e9, 0.002, 0);
    const struct figure *mean = model_figure(&figures, stage, row, "", "response_mean_ns");
    assert_non_null(strstr(mean->note, "no operation was completed"));
    assert_true(isnan(mean->value));
    pl_arena_free(arena);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_latencies_are_merged),
        figures_test(test_steps),
        cmocka_unit_test(test_known_percentiles),
        cmocka_unit_test(test_too_few_operations),
        cmocka_unit_test(test_operations_without_an_end_are_ranked),
        cmocka_unit_test(test_an_interval_whose_end_had_not_ended),
        cmocka_unit_test(test_failed_operations_are_left_out),
        cmocka_unit_test(test_what_is_known_of_operations_without_an_end),
        cmocka_unit_test(test_the_longest_may_not_have_ended),
        cmocka_unit_test(test_of_the_service_their_number_is_known),
        cmocka_unit_test(test_nothing_but_expired),
    };
    return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
