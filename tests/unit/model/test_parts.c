/* Scripts of a mix and groups of tenants: each with its own ledger and latencies, which make up the whole. */
#include "support.h"

#include "http_study.h"
#include "model/model.h"

struct fixture {
    struct synth *synth;
    struct pl_arena *arena;
    struct figures figures;
};

static int setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->synth = http_study();
    fixture->arena = pl_arena_new();
    fixture->figures = model_figures(&fixture->synth->study, fixture->arena);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    pl_arena_free(fixture->arena);
    synth_free(fixture->synth);
    pl_free(fixture);
    return 0;
}

static const struct figure *find(const struct fixture *fixture, int64_t case_id, const char *subject, const char *name)
{
    const struct figure *figure = model_figure(&fixture->figures, case_id, case_id, subject, name); /* a case a stage */
    if (figure == NULL)
        fail_msg("no %s of \"%s\"", name, subject);
    return figure;
}

static void test_ledgers_of_parts(void **state)
{
    const struct fixture *fixture = *state;
    static const char *const names[] = {"due", "completed", "failed", "expired"};
    static const struct {
        const char *subject;
        double counts[4], tps;
    } parts[] = {{"script:browse", {804, 800, 4, 0}, 40},
                 {"script:buy", {436, 400, 0, 36}, 20},
                 {"group:gold", {824, 800, 4, 20}, 40},
                 {"group:others", {416, 400, 0, 16}, 20}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (size_t k = 0; k < 4; k++)
            assert_close(find(fixture, 2, parts[i].subject, names[k])->value, parts[i].counts[k], 0, 0);
        assert_close(find(fixture, 2, parts[i].subject, "tps")->value, parts[i].tps, 1e-12, 0);
        assert_close(find(fixture, 2, parts[i].subject, "error_frac")->value,
                     (parts[i].counts[2] + parts[i].counts[3]) / parts[i].counts[0], 1e-12, 0);
    }
    for (size_t k = 0; k < 4; k++) /* both ways of dividing give the whole */
        assert_close(find(fixture, 2, "", names[k])->value,
                     find(fixture, 2, "group:gold", names[k])->value + find(fixture, 2, "group:others", names[k])->value, 0,
                     0);
    assert_close(find(fixture, 2, "", "error_frac")->value, 40.0 / 1240, 1e-12, 0);
    assert_close(find(fixture, 2, "", "failed_frac")->value, 4.0 / 1240, 1e-12, 0);
}

/* browse by others: 1 to 100 ms, nothing censored. buy: the same with what expired after 50 ms. */
static void test_latencies_of_parts(void **state)
{
    const struct fixture *fixture = *state;
    const struct figure *p50 = find(fixture, 2, "script:buy", "response_p50_ns");
    /* of 436 the rank 218; up to 50 ms: 200 that ended, 36 more from there on: somewhere among those */
    assert_int_equal(p50->status, FIGURE_ABSENT);
    assert_close(p50->value, 50 * HTTP_MS, 0.002, 0);
    assert_non_null(strstr(p50->note, "36 of 436 operations due had not ended: this percentile is at least 50"));
    assert_int_equal(p50->n, 436);
    const struct figure *group = find(fixture, 2, "group:gold", "response_p90_ns");
    assert_int_equal(group->status, FIGURE_ABSENT);
    assert_close(group->value, 259 * HTTP_MS, 0.002, 0);
    assert_close(find(fixture, 2, "script:browse", "response_p50_ns")->value, 100 * HTTP_MS, 0.002, 0);
}

/* A load of one script and no tenants is its own only part. */
static void test_no_parts_of_one(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(model_figure(&fixture->figures, 1, 1, "script:browse", "due"));
    for (size_t i = 0; i < fixture->figures.count; i++)
        if (fixture->figures.items[i].case_id == 1)
            assert_null(strstr(fixture->figures.items[i].subject, MODEL_GROUP_PART));
}

static void test_steps_of_a_mix(void **state)
{
    const struct fixture *fixture = *state;
    const struct figure *first = find(fixture, 2, "buy step 1: GET /", "service_p99_ns");
    const struct figure *second = find(fixture, 2, "buy step 2: POST /buy", "service_p99_ns");
    assert_true(first->status != FIGURE_ABSENT);
    assert_int_equal(first->n, 400);
    assert_int_equal(second->n, 436); /* with those that expired in it */
    assert_int_equal(second->status, FIGURE_ABSENT);
    assert_non_null(strstr(second->note, "36 steps expired: this percentile is at least"));
    assert_non_null(strstr(second->method, "took at least as long as it had when it was given up"));
}

/* A marked trial is used, and every figure that it is in says so. */
static void test_marks(void **state)
{
    const struct fixture *fixture = *state;
    const struct figure *tps = find(fixture, 2, "", "tps");
    assert_int_equal(tps->n, 2);
    assert_non_null(strstr(tps->note, "1 of 2 trials is marked (trial 4: the load's own lateness had"));
    assert_non_null(strstr(find(fixture, 2, "group:gold", "service_p50_ns")->note, "1 of 2 trials is marked"));
    assert_null(strstr(find(fixture, 1, "", "tps")->note, "marked"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ledgers_of_parts),
        TEST(test_latencies_of_parts),
        TEST(test_no_parts_of_one),
        TEST(test_steps_of_a_mix),
        TEST(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
