/* The search against a server of known capacity that answers the truth, or most of the time. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "stats/search.h"

struct judge {
    double capacity;
    double lies; /* the share of trials that come out the wrong way round */
    struct pl_rng rng;
};

static enum search_verdict judge_try(struct judge *judge, double load)
{
    bool passes = load <= judge->capacity;
    if (pl_rng_unit(&judge->rng) < judge->lies)
        passes = !passes;
    return passes ? SEARCH_PASS : SEARCH_FAIL;
}

static void drive(struct search *search, const struct search_spec *spec, struct judge *judge)
{
    double load;
    search_begin(search, spec);
    while (search_next(search, &load)) {
        assert_true(load > 0 && load >= spec->least && (spec->most <= 0 || load <= spec->most));
        search_take(search, judge_try(judge, load));
    }
}

static const struct search_point *point_at(const struct search *search, double load)
{
    for (int i = 0; i < search->point_count; i++)
        if (fabs(search->points[i].load - load) <= 0)
            return &search->points[i];
    return NULL;
}

static void test_honest_trials(void **state)
{
    (void)state;
    static const double starts[] = {1, 100, 3000, 1e6};
    static const double capacities[] = {1.5, 53.948298, 151.595222, 350.090344, 693.312208, 12345, 2e5};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        for (size_t j = 0; j < sizeof capacities / sizeof capacities[0]; j++) {
            struct search search;
            drive(&search, &(struct search_spec){.start = starts[i]}, &(struct judge){.capacity = capacities[j]});
            assert_int_equal(search.end, SEARCH_FOUND);
            assert_true(search.last_pass <= capacities[j] && search.first_fail > capacities[j]);
            assert_true(search.first_fail <= search.last_pass * 1.03);
            assert_true(point_at(&search, search.last_pass)->passes >= 2);
            assert_true(point_at(&search, search.first_fail)->failures >= 2);
            assert_true(search.trials <= 35);
        }
}

/* Of 200 seeds, with one trial in twenty lying, nine in ten answers lie within 5 %. */
static void test_noisy_trials(void **state)
{
    (void)state;
    int good = 0, found = 0, trials = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct judge judge = {.lies = 0.05};
        pl_rng_init(&judge.rng, seed, PL_RNG_TEST, 0);
        judge.capacity = 20 * pow(1000, pl_rng_unit(&judge.rng));
        struct search search;
        drive(&search, &(struct search_spec){.start = 100}, &judge);
        found += search.end == SEARCH_FOUND;
        good += search.end == SEARCH_FOUND && fabs(search.last_pass / judge.capacity - 1) <= 0.05;
        trials += search.trials;
    }
    print_message("# %d of 200 found, %d within 5 %%, %.1f trials each\n", found, good, trials / 200.0);
    assert_true(good >= 180);
}

/* A trial near the limit passes with a chance that falls with the load, as real ones do. */
static void test_soft_limit(void **state)
{
    (void)state;
    int good = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct pl_rng rng;
        pl_rng_init(&rng, seed, PL_RNG_TEST, 0);
        struct search search;
        search_begin(&search, &(struct search_spec){.start = 50});
        double load;
        while (search_next(&search, &load)) {
            double chance = 1 / (1 + exp((load - 1000) / 10)); /* from 9 in 10 to 1 in 10 within 4.4 % of the load */
            search_take(&search, pl_rng_unit(&rng) < chance ? SEARCH_PASS : SEARCH_FAIL);
        }
        good += search.end == SEARCH_FOUND && search.last_pass > 950 && search.last_pass < 1050;
    }
    assert_true(good >= 180);
}

/* A single dip, wherever it comes, does not end the search early: the answer is the same. */
static void test_one_dip(void **state)
{
    (void)state;
    for (int dip = 0; dip < 25; dip++) {
        struct judge judge = {.capacity = 777};
        struct search search;
        double load;
        search_begin(&search, &(struct search_spec){.start = 10});
        for (int trial = 0; search_next(&search, &load); trial++) {
            enum search_verdict verdict = judge_try(&judge, load);
            if (trial == dip)
                verdict = verdict == SEARCH_PASS ? SEARCH_FAIL : SEARCH_PASS;
            search_take(&search, verdict);
        }
        assert_int_equal(search.end, SEARCH_FOUND);
        assert_true(search.last_pass <= 777 && search.last_pass > 777 / 1.031);
    }
}

/* The lower end is confirmed last: after the load that failed, the server was seen to be well again. */
static void test_ends_with_a_step_down(void **state)
{
    (void)state;
    struct judge judge = {.capacity = 640};
    struct search search;
    double load, last = 0, before = 0;
    search_begin(&search, &(struct search_spec){.start = 10});
    while (search_next(&search, &load)) {
        before = last;
        last = load;
        search_take(&search, judge_try(&judge, load));
    }
    assert_true(last <= 640 && before > 640);
    assert_close(last, search.last_pass, 0, 0);
    assert_close(before, search.first_fail, 0, 0);
}

static void test_limits(void **state)
{
    (void)state;
    struct search search;
    drive(&search, &(struct search_spec){.start = 10, .most = 500}, &(struct judge){.capacity = 1e9});
    assert_int_equal(search.end, SEARCH_ABOVE_MOST);
    assert_close(search.last_pass, 500, 0, 0);
    assert_close(search.first_fail, 0, 0, 0);
    assert_true(point_at(&search, 500)->passes >= 2);
    drive(&search, &(struct search_spec){.start = 10, .least = 3}, &(struct judge){.capacity = 1});
    assert_int_equal(search.end, SEARCH_BELOW_LEAST);
    assert_close(search.first_fail, 3, 0, 0);
    assert_close(search.last_pass, 0, 0, 0);
    assert_true(point_at(&search, 3)->failures >= 2);
    drive(&search, &(struct search_spec){.start = 9000, .least = 3, .most = 500}, &(struct judge){.capacity = 499});
    assert_int_equal(search.end, SEARCH_FOUND);
    drive(&search, &(struct search_spec){.start = 7, .tolerance_frac = 0.001, .confirmations = 5, .trials_most = 100},
          &(struct judge){.capacity = 555});
    assert_int_equal(search.end, SEARCH_FOUND);
    assert_true(search.last_pass > 555 / 1.0011 && search.last_pass <= 555);
    assert_true(point_at(&search, search.last_pass)->passes >= 5);
    assert_true(point_at(&search, search.first_fail)->failures >= 5);
    drive(&search, &(struct search_spec){.start = 1, .trials_most = 5}, &(struct judge){.capacity = 1e9});
    assert_int_equal(search.end, SEARCH_GAVE_UP);
    assert_int_equal(search.trials, 5);
    assert_close(search.last_pass, 16, 0, 0);
    drive(&search, &(struct search_spec){.start = 1, .trials_most = 5000}, &(struct judge){.lies = 1}); /* none passes */
    assert_true(search.point_count <= SEARCH_POINTS_MOST);
}

/* Pure chance never hangs it, nor makes it leave its memory. */
static void test_pure_noise(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct judge judge = {.capacity = 100, .lies = 0.5};
        pl_rng_init(&judge.rng, seed, PL_RNG_TEST, 0);
        struct search search;
        drive(&search, &(struct search_spec){.start = 10, .tolerance_frac = 1e-6, .trials_most = 2000}, &judge);
        assert_true(search.trials <= 2000 && search.point_count <= SEARCH_POINTS_MOST);
        int votes = 0;
        for (int i = 0; i < search.point_count; i++) {
            votes += search.points[i].passes + search.points[i].failures;
            assert_true(i == 0 || search.points[i].load > search.points[i - 1].load);
        }
        assert_int_equal(votes, search.trials);
    }
}

static void test_no_data(void **state)
{
    (void)state;
    struct search search;
    double load, again;
    search_begin(&search, &(struct search_spec){.start = 10});
    assert_true(search_next(&search, &load));
    for (int i = 1; i < SEARCH_NO_DATA_MOST; i++)
        search_take(&search, SEARCH_NO_DATA);
    assert_true(search_next(&search, &again));
    assert_close(again, load, 0, 0); /* the same again */
    search_take(&search, SEARCH_PASS);
    for (int i = 1; i < SEARCH_NO_DATA_MOST; i++)
        search_take(&search, SEARCH_NO_DATA);
    assert_true(search_next(&search, &again));
    assert_close(again, 2 * load, 0, 0);
    search_take(&search, SEARCH_NO_DATA);
    assert_false(search_next(&search, &again));
    assert_int_equal(search.end, SEARCH_GAVE_UP);
    assert_close(search.last_pass, 10, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest_trials),
        cmocka_unit_test(test_noisy_trials),
        cmocka_unit_test(test_soft_limit),
        cmocka_unit_test(test_one_dip),
        cmocka_unit_test(test_ends_with_a_step_down),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pure_noise),
        cmocka_unit_test(test_no_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
