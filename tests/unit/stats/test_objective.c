/* Objectives: what the language takes, what it refuses and in which words, and verdicts, also over values that are only
 * known to be at least so much. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "stats/objective.h"

#define MS INT64_C(1000000)

static struct pl_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static struct objective good(const char *text)
{
    struct objective objective = {0};
    struct pl_err err = {0};
    if (objective_parse(text, arena, &objective, &err) != PL_OK)
        fail_msg("\"%s\" was refused: %s\n%s", text, err.what, err.hint);
    assert_string_equal(objective.text, text);
    return objective;
}

/* ---- what it takes ---- */

static const struct {
    const char *text;
    enum objective_measure measure;
    double quantile;
    enum objective_relation relation;
    double limit;
} taken[] = {
    {"p99<50ms", OBJECTIVE_QUANTILE, 0.99, OBJECTIVE_LESS, 50e6},
    {"p99 < 50ms", OBJECTIVE_QUANTILE, 0.99, OBJECTIVE_LESS, 50e6},
    {"  p99\t<  50 ms ", OBJECTIVE_QUANTILE, 0.99, OBJECTIVE_LESS, 50e6},
    {"p99.9 <= 1.5s", OBJECTIVE_QUANTILE, 0.999, OBJECTIVE_AT_MOST, 1.5e9},
    {"p(95)<500", OBJECTIVE_QUANTILE, 0.95, OBJECTIVE_LESS, 500e6},
    {"p(99.99) < 0.5", OBJECTIVE_QUANTILE, 0.9999, OBJECTIVE_LESS, 0.5e6},
    {"p0>1us", OBJECTIVE_QUANTILE, 0, OBJECTIVE_MORE, 1e3},
    {"p100>=1h", OBJECTIVE_QUANTILE, 1, OBJECTIVE_AT_LEAST, 3600e9},
    {"med<10", OBJECTIVE_QUANTILE, 0.5, OBJECTIVE_LESS, 10e6},
    {"median<10", OBJECTIVE_QUANTILE, 0.5, OBJECTIVE_LESS, 10e6},
    {"min>0", OBJECTIVE_QUANTILE, 0, OBJECTIVE_MORE, 0},
    {"max<2s", OBJECTIVE_QUANTILE, 1, OBJECTIVE_LESS, 2e9},
    {"mean<5ms", OBJECTIVE_MEAN, 0, OBJECTIVE_LESS, 5e6},
    {"avg<5", OBJECTIVE_MEAN, 0, OBJECTIVE_LESS, 5e6},
    {"errors<0.1%", OBJECTIVE_ERRORS, 0, OBJECTIVE_LESS, 0.001},
    {"errors <= 0.1 %", OBJECTIVE_ERRORS, 0, OBJECTIVE_AT_MOST, 0.001},
    {"errors<0.001", OBJECTIVE_ERRORS, 0, OBJECTIVE_LESS, 0.001},
    {"errors<=0", OBJECTIVE_ERRORS, 0, OBJECTIVE_AT_MOST, 0},
    {"rate>=200/s", OBJECTIVE_RATE, 0, OBJECTIVE_AT_LEAST, 200},
    {"rate >= 90/min", OBJECTIVE_RATE, 0, OBJECTIVE_AT_LEAST, 1.5},
    {"rate>200", OBJECTIVE_RATE, 0, OBJECTIVE_MORE, 200},
    {"count>=1000", OBJECTIVE_COUNT, 0, OBJECTIVE_AT_LEAST, 1000},
    {"http_req_duration: avg<200", OBJECTIVE_MEAN, 0, OBJECTIVE_LESS, 200e6},
    {"http_req_duration:p(95)<200", OBJECTIVE_QUANTILE, 0.95, OBJECTIVE_LESS, 200e6},
    {"http_req_duration : p(95) < 200", OBJECTIVE_QUANTILE, 0.95, OBJECTIVE_LESS, 200e6},
    {"iteration_duration: max<1000", OBJECTIVE_QUANTILE, 1, OBJECTIVE_LESS, 1e9},
    {"http_req_failed: rate<0.01", OBJECTIVE_ERRORS, 0, OBJECTIVE_LESS, 0.01},
    {"http_reqs: rate>100", OBJECTIVE_RATE, 0, OBJECTIVE_MORE, 100},
    {"http_reqs: count>100", OBJECTIVE_COUNT, 0, OBJECTIVE_MORE, 100},
    {"iterations: count>=1", OBJECTIVE_COUNT, 0, OBJECTIVE_AT_LEAST, 1},
};

static void test_one_term(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        const struct objective objective = good(taken[i].text);
        const struct objective_term *term = &objective.terms[0];
        assert_int_equal(objective.term_count, 1);
        if (term->measure != taken[i].measure || term->relation != taken[i].relation)
            fail_msg("\"%s\" was read as something else", taken[i].text);
        assert_close(term->quantile, taken[i].quantile, 1e-12, 0);
        assert_close(term->limit, taken[i].limit, 1e-12, 0);
    }
}

static void test_many_terms(void **state)
{
    (void)state;
    static const char *const texts[] = {"p99<50ms and errors<0.1% and rate>=200/s",
                                        "p99<50ms && errors<0.1% && rate>=200/s", "p99<50ms&&errors<0.1%&&rate>=200/s",
                                        "p99<50 ms and errors<0.1 % and rate>=200/s"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct objective objective = good(texts[i]);
        assert_int_equal(objective.term_count, 3);
        assert_int_equal(objective.terms[0].measure, OBJECTIVE_QUANTILE);
        assert_int_equal(objective.terms[1].measure, OBJECTIVE_ERRORS);
        assert_int_equal(objective.terms[2].measure, OBJECTIVE_RATE);
    }
    const struct objective objective = good("p99 < 50 ms and http_req_failed: rate<0.01");
    assert_string_equal(objective.terms[0].text, "p99 < 50 ms");
    assert_string_equal(objective.terms[1].text, "http_req_failed: rate<0.01");
}

/* ---- what it refuses ---- */

#define MEASURES "a percentile (p50, p99.9, p(95)), med, min, max, mean, avg, errors, rate or count is right here"
#define TIME "a time is right here: 50ms, 1.5s, or a number of ms"
#define RELATION "<, <=, > or >= is right here"

static const struct {
    const char *text, *what, *caret; /* caret: the second line of the hint */
} refused[] = {
    {"", "a measure is missing", "^ " MEASURES},
    {"   ", "a measure is missing", "   ^ " MEASURES},
    {"<50ms", "a measure is missing", "^ " MEASURES},
    {"q99<50ms", "\"q99\" is no measure", "^ " MEASURES},
    {"P99<50ms", "\"P99\" is no measure", "^ " MEASURES},
    {"p<50ms", "\"p\" is no measure", "^ " MEASURES},
    {"p101<50ms", "there is no percentile 101", " ^ a number from 0 to 100 is right here"},
    {"p(101)<50ms", "there is no percentile 101", "  ^ a number from 0 to 100 is right here"},
    {"p(x)<50ms", "\"x\" is no percentile", "  ^ a number from 0 to 100 is right here"},
    {"p(95<50ms", "the bracket of p( does not end", " ^ a closing bracket is missing: p(95)"},
    {"p99x<50ms", "\"99x\" is no percentile", " ^ a number from 0 to 100 is right here"},
    {"p99", "a relation is missing", "   ^ " RELATION},
    {"p99 50ms", "a relation is missing", "    ^ " RELATION},
    {"p99==50ms", "measured values are never compared for equality", "   ^ " RELATION},
    {"p99!=50ms", "measured values are never compared for equality", "   ^ " RELATION},
    {"p99<", "a limit is missing", "    ^ what it is compared with is missing here"},
    {"p99< and mean<5", "\"and\" is no time", "     ^ " TIME},
    {"p99<50mss", "\"50mss\" is no time", "    ^ " TIME},
    {"p99<50/s", "\"50/s\" is no time", "    ^ " TIME},
    {"p99<fast", "\"fast\" is no time", "    ^ " TIME},
    {"p99<-1", "there is no such time", "    ^ a time from 0 to 1e12 ms is right here"},
    {"errors<101%", "\"101%\" is no share", "       ^ a share is right here: 0.1%, or a fraction from 0 to 1"},
    {"errors<2", "\"2\" is no share", "       ^ a share is right here: 0.1%, or a fraction from 0 to 1"},
    {"errors<5ms", "\"5ms\" is no share", "       ^ a share is right here: 0.1%, or a fraction from 0 to 1"},
    {"rate>5ms", "\"5ms\" is no rate", "     ^ a rate is right here: 200/s, 90/min, or a number per second"},
    {"count>1.5", "\"1.5\" is no count", "      ^ a whole number is right here"},
    {"count>5%", "\"5%\" is no count", "      ^ a whole number is right here"},
    {"p99<50ms or mean<5ms", "alternatives are not known: all terms must hold",
     "         ^ \"and\" or the end is right here"},
    {"p99<50ms||mean<5ms", "\"50ms||mean\" is no time", "    ^ " TIME},
    {"p99<50ms || mean<5ms", "alternatives are not known: all terms must hold",
     "         ^ \"and\" or the end is right here"},
    {"p99<50ms mean<5ms", "it goes on behind a term", "         ^ \"and\" or the end is right here"},
    {"p99<50ms and", "a measure is missing", "            ^ " MEASURES},
    {"p99<50ms, mean<5", "\"50ms,\" is no time", "    ^ " TIME},
    {"http_req_blocked: avg<5", "\"http_req_blocked\" is no metric that can be judged",
     "^ http_req_duration, iteration_duration, http_req_failed, http_reqs or iterations is right here"},
    {"http_req_duration{name:x}: avg<5", "a metric of some tags only is not known",
     "                 ^ name the metric alone"},
    {"http_req_duration: rate<5", "\"rate\" is no measure of this metric",
     "                   ^ p(N), med, min, max or avg is right here"},
    {"http_req_failed: p(95)<5", "\"p\" is no measure of this metric", "                 ^ rate is right here"},
    {"http_reqs: avg<5", "\"avg\" is no measure of this metric", "           ^ rate or count is right here"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct objective objective = {.text = "untouched"};
        struct pl_err err = {0};
        char what[300], hint[600];
        snprintf(what, sizeof what, "objective \"%s\": %s", refused[i].text, refused[i].what);
        snprintf(hint, sizeof hint, "%s\n%s", refused[i].text, refused[i].caret);
        assert_int_equal(objective_parse(refused[i].text, arena, &objective, &err), PL_INPUT);
        assert_string_equal(err.what, what);
        assert_string_equal(err.hint, hint);
        assert_string_equal(objective.text, "untouched");
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct objective objective;
    struct pl_err long_err = {0}, many_err = {0};
    char text[500];
    memset(text, ' ', sizeof text);
    text[401] = '\0';
    assert_int_equal(objective_parse(text, arena, &objective, &long_err), PL_INPUT);
    assert_string_equal(long_err.what, "an objective has at most 400 bytes, this one 401");
    size_t length = 0;
    for (int i = 0; i < 33; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%sp1>0", i == 0 ? "" : "&&");
    assert_int_equal(objective_parse(text, arena, &objective, &many_err), PL_INPUT);
    assert_non_null(strstr(many_err.what, "an objective has at most 32 terms"));
}

/* Whatever the bytes are, it ends, and says where. */
static void test_any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "p9(.)<>=&% \t:{}amensrtoucx_0-+\x01\xff";
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_SCRIPT, 0);
    for (int i = 0; i < 20000; i++) {
        char text[24];
        size_t length = pl_rng_u64(&rng) % sizeof text;
        for (size_t k = 0; k < length; k++)
            text[k] = bytes[pl_rng_u64(&rng) % (sizeof bytes - 1)];
        text[length] = '\0';
        struct objective objective;
        struct pl_err err = {0};
        if (objective_parse(text, arena, &objective, &err) == PL_OK)
            assert_true(objective.term_count >= 1);
        else
            assert_non_null(strchr(err.hint, '^'));
    }
}

/* ---- verdicts ---- */

static struct hist response, censored;

static int hists_setup(void **state)
{
    hist_init_latency(&response);
    hist_init_latency(&censored);
    return setup(state);
}

static int hists_teardown(void **state)
{
    hist_release(&response);
    hist_release(&censored);
    return teardown(state);
}

static enum objective_verdict verdict_of(const char *text, const struct objective_view *view)
{
    const struct objective objective = good(text);
    return objective_judge(&objective, view);
}

static void assert_verdicts(const struct objective_view *view, const char *const *texts, enum objective_verdict verdict)
{
    for (; *texts != NULL; texts++)
        if (verdict_of(*texts, view) != verdict)
            fail_msg("\"%s\" has verdict %d instead of %d", *texts, (int)verdict_of(*texts, view), (int)verdict);
}

static void test_verdicts(void **state)
{
    (void)state;
    static const char *const hold[] = {"p50<2ms",     "p50 <= 1.001ms", "max>=100ms", "p99>50ms", "errors<=10%",
                                       "errors>0.09", "rate>=9/s",      "count>=90",  "min<=1ms", "mean>1ms and mean<100ms",
                                       NULL},
                             *const fail[] = {"p50<1ms",
                                              "p50>2ms",
                                              "max<100ms",
                                              "p99<50ms",
                                              "errors<10%",
                                              "rate>9/s",
                                              "count>90",
                                              "p50<2ms and p99<50ms",
                                              "p99<50ms and p50<2ms",
                                              NULL};
    hist_record_n(&response, 1 * MS, 88);
    hist_record_n(&response, 100 * MS, 2);
    const struct objective_view view = {.response = &response, .due = 100, .completed = 90, .window_s = 10};
    assert_verdicts(&view, hold, OBJECTIVE_HOLDS);
    assert_verdicts(&view, fail, OBJECTIVE_FAILS);
    const struct objective objective = good("mean<1s");
    double value;
    bool at_least;
    assert_int_equal(objective_judge_term(&objective.terms[0], &view, &value, &at_least), OBJECTIVE_HOLDS);
    assert_close(value, (88.0 * 1e6 + 2 * 100e6) / 90, 1e-12, 0);
    assert_false(at_least);
}

static void test_nothing_is_no_pass(void **state)
{
    (void)state;
    static const char *const all[] = {"p99<50ms", "mean<1s", "errors<1", "rate>=0", "rate<1", "count>=0", "max>0", NULL},
                             *const of_latency[] = {"p99<50ms", "p99>50ms", "mean<1s", "p99<1s and errors<=100%", NULL};
    const struct objective_view nothing = {.response = &response, .censored = &censored, .window_s = 10},
                                failed = {.response = &response, .due = 5, .window_s = 10};
    assert_verdicts(&nothing, all, OBJECTIVE_NO_DATA);
    assert_verdicts(&failed, of_latency, OBJECTIVE_NO_DATA);
    assert_int_equal(verdict_of("errors<50%", &failed), OBJECTIVE_FAILS);
    assert_int_equal(verdict_of("p99<1s and errors<50%", &failed), OBJECTIVE_FAILS);
    assert_int_equal(verdict_of("rate<1/s", &failed), OBJECTIVE_HOLDS);
}

/* 90 answers of 1 ms, 10 without one after 40 ms: above p90 everything is at least 40 ms. */
static void test_censored(void **state)
{
    (void)state;
    static const char *const
        hold[] = {"p50<2ms", "p90<2ms", "p99>30ms", "p99>=39ms", "max>30ms", "mean>4ms", "min<2ms", NULL},
        *const fail[] = {"p99<30ms", "p99<=39ms", "max<40ms", "mean<4ms", "p50>2ms", NULL},
        *const unknown[] = {"p99<50ms", "p99<=50ms", "p99>50ms", "max<1s", "mean<10ms", "mean>10ms", "p50<2ms and p99<50ms",
                            NULL};
    hist_record_n(&response, 1 * MS, 90);
    hist_record_n(&censored, 40 * MS, 10);
    const struct objective_view view = {
        .response = &response, .censored = &censored, .due = 100, .completed = 90, .window_s = 10};
    assert_verdicts(&view, hold, OBJECTIVE_HOLDS);
    assert_verdicts(&view, fail, OBJECTIVE_FAILS);
    assert_verdicts(&view, unknown, OBJECTIVE_NO_DATA);
    const struct objective objective = good("p99<50ms");
    double value;
    bool at_least;
    assert_int_equal(objective_judge_term(&objective.terms[0], &view, &value, &at_least), OBJECTIVE_NO_DATA);
    assert_true(at_least);
    assert_close(value, 40e6, 1e-3, 0);
}

/* A server that never answers. */
static void test_black_hole(void **state)
{
    (void)state;
    hist_record_n(&censored, 2000 * MS, 100);
    const struct objective_view view = {.response = &response, .censored = &censored, .due = 100, .window_s = 1};
    assert_int_equal(verdict_of("p99<50ms", &view), OBJECTIVE_FAILS);
    assert_int_equal(verdict_of("p99>50ms", &view), OBJECTIVE_HOLDS);
    assert_int_equal(verdict_of("p99<5s", &view), OBJECTIVE_NO_DATA);
    assert_int_equal(verdict_of("errors<1%", &view), OBJECTIVE_FAILS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_term, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_terms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_verdicts, hists_setup, hists_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_no_pass, hists_setup, hists_teardown),
        cmocka_unit_test_setup_teardown(test_censored, hists_setup, hists_teardown),
        cmocka_unit_test_setup_teardown(test_black_hole, hists_setup, hists_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
