/* Due times: rates, drift, superposition, the law of Poisson gaps, and skipping. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stage/timetable.h"
#include "stats/interval.h"

static const int64_t second_ns = 1000000000;
static const double rates[] = {0.1, 1, 3, 7, 49.7, 200, 1000, 33333.3, 1e6};
enum { RATES = sizeof rates / sizeof rates[0] };

/* Slot k is due at start + k / rate, to the nanosecond, also after 1e9 slots: in integers, for rates that divide well. */
static void test_constant_exact(void **state)
{
    (void)state;
    static const int64_t whole_rates[] = {1, 3, 7, 200, 1000, 999983, 1000000};
    static const int64_t slots[] = {0, 1, 2, 3, 1000, 999999937, 1000000000, 1000000001};
    for (size_t r = 0; r < sizeof whole_rates / sizeof whole_rates[0]; r++)
        for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
            struct timetable timetable;
            timetable_init(&timetable, PLAN_CONSTANT, (double)whole_rates[r], 0, 1, 5 * second_ns, 1);
            timetable.index = slots[i] - 1;
            timetable_advance(&timetable);
            __uint128_t numerator = (__uint128_t)slots[i] * second_ns * 2 + whole_rates[r];
            assert_int_equal(timetable_peek(&timetable), 5 * second_ns + (int64_t)(numerator / (2 * whole_rates[r])));
        }
}

/* Counts in a window that is long for the rate are rate x time within one slot. */
static void test_constant_rate(void **state)
{
    (void)state;
    for (int r = 0; r < RATES; r++) {
        struct timetable timetable;
        int64_t window_ns = (int64_t)(1e15 / rates[r]); /* a million slots */
        timetable_init(&timetable, PLAN_CONSTANT, rates[r], 0, 1, 17, 1);
        int64_t count = 0;
        while (timetable_peek(&timetable) < 17 + window_ns) {
            timetable_advance(&timetable);
            count++;
        }
        assert_close((double)count, 1e6, 0, 1.5);
        assert_int_equal(count, timetable.index);
    }
}

/* The W workers' slots, merged, are the slots of one worker, none missing, none twice, all to the nanosecond. */
static void test_constant_superposition(void **state)
{
    (void)state;
    static const int worker_counts[] = {2, 3, 7};
    for (int r = 0; r < RATES; r++)
        for (int w = 0; w < 3; w++) {
            struct timetable whole, parts[7];
            int workers = worker_counts[w];
            timetable_init(&whole, PLAN_CONSTANT, rates[r], 0, 1, 1000, 1);
            for (int i = 0; i < workers; i++)
                timetable_init(&parts[i], PLAN_CONSTANT, rates[r], i, workers, 1000, 1);
            for (int k = 0; k < 20000; k++) {
                struct timetable *first = &parts[0];
                for (int i = 1; i < workers; i++)
                    if (timetable_peek(&parts[i]) < timetable_peek(first))
                        first = &parts[i];
                assert_int_equal(timetable_peek(first), timetable_peek(&whole));
                assert_ptr_equal(first, &parts[k % workers]);
                timetable_advance(first);
                timetable_advance(&whole);
            }
        }
}

/* The mean gap of 1e7 slots has a relative standard deviation of 0.032 %. */
static void test_poisson_rate(void **state)
{
    (void)state;
    struct timetable timetable;
    timetable_init(&timetable, PLAN_POISSON, 1e6, 0, 1, 0, 11);
    for (int i = 0; i < 10000000; i++)
        timetable_advance(&timetable);
    double reached = (double)timetable.index / ((double)timetable_peek(&timetable) / 1e9);
    assert_close(reached, 1e6, 0.001, 0);
}

/* Other rates are the same stream on another scale of time. */
static void test_poisson_scale(void **state)
{
    (void)state;
    for (int r = 0; r < RATES; r++) {
        struct timetable timetable, unit;
        timetable_init(&timetable, PLAN_POISSON, rates[r], 0, 1, 0, 11);
        timetable_init(&unit, PLAN_POISSON, 1, 0, 1, 0, 11);
        for (int i = 0; i < 20000; i++) {
            timetable_advance(&timetable);
            timetable_advance(&unit);
        }
        assert_close((double)timetable_peek(&timetable) * rates[r], (double)timetable_peek(&unit), 1e-6, 0);
    }
}

/* Due times are the sums of the gaps, however many: the same draws added in 128-bit integers of 2^-20 ns. */
static void test_poisson_no_drift(void **state)
{
    (void)state;
    struct timetable timetable;
    struct pl_rng rng;
    timetable_init(&timetable, PLAN_POISSON, 0.1, 0, 1, 77, 3);
    pl_rng_init(&rng, 3, PL_RNG_ARRIVAL, 0);
    __uint128_t sum = 0;
    int64_t before = 77;
    for (int i = 0; i < 2000000; i++) {
        sum += (__uint128_t)(pl_rng_exponential(&rng, 1e10) * 0x1p20);
        int64_t due = timetable_peek(&timetable), exact = 77 + (int64_t)(sum >> 20);
        assert_true(due >= before);
        if (due - exact > 3 || exact - due > 3)
            fail_msg("slot %d is due at %jd, %jd ns late", i, (intmax_t)due, (intmax_t)(due - exact));
        before = due;
        timetable_advance(&timetable);
    }
    assert_true(before > (int64_t)1e16); /* past 2^53 ns, where a plain sum of doubles has lost its nanoseconds */
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov over the gaps of W workers' merged due times. */
static double merged_gaps_p(double rate_per_s, int workers, uint64_t seed)
{
    enum { WINDOW_SLOTS = 20000 };
    int64_t end_ns = (int64_t)(WINDOW_SLOTS / rate_per_s * 1e9);
    int64_t *due = calloc(2 * WINDOW_SLOTS, sizeof *due);
    double *gaps = calloc(2 * WINDOW_SLOTS, sizeof *gaps), p;
    assert_true(due != NULL && gaps != NULL);
    size_t count = 0;
    for (int i = 0; i < workers; i++) {
        struct timetable timetable;
        timetable_init(&timetable, PLAN_POISSON, rate_per_s, i, workers, 0, seed);
        for (; timetable_peek(&timetable) < end_ns && count < 2 * WINDOW_SLOTS; timetable_advance(&timetable))
            due[count++] = timetable_peek(&timetable);
    }
    /* the count itself is Poisson: sd sqrt(20000) = 141; five of them */
    assert_in_range(count, WINDOW_SLOTS - 707, WINDOW_SLOTS + 707);
    qsort(due, count, sizeof *due, compare);
    for (size_t i = 0; i < count; i++)
        gaps[i] = (double)(due[i] - (i > 0 ? due[i - 1] : 0));
    ks_test_exponential(gaps, count, 1e9 / rate_per_s, &p);
    free(due);
    free(gaps);
    return p;
}

static void test_poisson_law(void **state)
{
    (void)state;
    static const int worker_counts[] = {1, 2, 5, 16};
    for (int w = 0; w < 4; w++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            assert_true(merged_gaps_p(1000, worker_counts[w], seed) > 0.001);
}

static void test_law_is_noticed(void **state)
{
    (void)state;
    /* the test above can fail: evenly spaced gaps are not exponential */
    double gaps[2000], p;
    struct timetable timetable;
    timetable_init(&timetable, PLAN_CONSTANT, 1000, 0, 1, 0, 1);
    for (int i = 0; i < 2000; i++) {
        int64_t before = timetable_peek(&timetable);
        timetable_advance(&timetable);
        gaps[i] = (double)(timetable_peek(&timetable) - before);
    }
    ks_test_exponential(gaps, 2000, 1e6, &p);
    assert_true(p < 1e-6);
}

/* The streams of two workers share nothing: the correlation of 100000 gaps has a standard deviation of 0.0032. */
static void test_workers_independent(void **state)
{
    (void)state;
    struct timetable a, b;
    double sum = 0;
    enum { COUNT = 100000 };
    timetable_init(&a, PLAN_POISSON, 2000, 0, 2, 0, 9);
    timetable_init(&b, PLAN_POISSON, 2000, 1, 2, 0, 9);
    for (int i = 0; i < COUNT; i++) {
        int64_t a_before = timetable_peek(&a), b_before = timetable_peek(&b);
        timetable_advance(&a);
        timetable_advance(&b);
        double a_gap = (double)(timetable_peek(&a) - a_before) / 1e6 - 1;
        double b_gap = (double)(timetable_peek(&b) - b_before) / 1e6 - 1;
        sum += a_gap * b_gap;
    }
    assert_close(sum / COUNT, 0, 0, 0.016);
}

static void test_deterministic(void **state)
{
    (void)state;
    struct timetable a, same, other_seed, other_worker;
    timetable_init(&a, PLAN_POISSON, 1000, 1, 4, 50, 9);
    timetable_init(&same, PLAN_POISSON, 1000, 1, 4, 50, 9);
    timetable_init(&other_seed, PLAN_POISSON, 1000, 1, 4, 50, 10);
    timetable_init(&other_worker, PLAN_POISSON, 1000, 2, 4, 50, 9);
    int seed_hits = 0, worker_hits = 0;
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(timetable_peek(&a), timetable_peek(&same));
        seed_hits += timetable_peek(&a) == timetable_peek(&other_seed);
        worker_hits += timetable_peek(&a) == timetable_peek(&other_worker);
        timetable_advance(&a);
        timetable_advance(&same);
        timetable_advance(&other_seed);
        timetable_advance(&other_worker);
    }
    assert_true(seed_hits < 10 && worker_hits < 10);
}

/* Taking until a deadline leaves the timetable as if the slots had been taken one by one. */
static void test_take_until(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 4, PL_RNG_TEST, 0);
    for (int round = 0; round < 2000; round++) {
        struct timetable at_once, single;
        enum plan_arrivals arrivals = round % 2 == 0 ? PLAN_CONSTANT : PLAN_POISSON;
        double rate = rates[pl_rng_range(&rng, 0, RATES - 1)];
        int workers = (int)pl_rng_range(&rng, 1, 5), worker = (int)pl_rng_range(&rng, 0, workers - 1);
        int64_t deadline = 1000;
        timetable_init(&at_once, arrivals, rate, worker, workers, 1000, (uint64_t)round);
        single = at_once;
        for (int i = 0; i < 20; i++) {
            /* also exactly on a slot, one before and one after it, and in the past */
            deadline += (int64_t)((double)pl_rng_range(&rng, -5, 60) * 1e9 / rate);
            if (i % 4 == 0)
                deadline = timetable_peek(&single) + pl_rng_range(&rng, -1, 1);
            int64_t count = 0;
            for (; timetable_peek(&single) < deadline; timetable_advance(&single))
                count++;
            assert_int_equal(timetable_take_until(&at_once, deadline), count);
            assert_int_equal(timetable_peek(&at_once), timetable_peek(&single));
            assert_int_equal(at_once.index, single.index);
            assert_int_equal(timetable_take_until(&at_once, deadline), 0);
        }
    }
}

/* 1e15 slots are skipped at once: one by one this test would not end. */
static void test_take_until_far(void **state)
{
    (void)state;
    struct timetable timetable;
    timetable_init(&timetable, PLAN_CONSTANT, 1e7, 1, 2, 0, 1);
    int64_t count = timetable_take_until(&timetable, 100000000 * second_ns);
    assert_int_equal(count, INT64_C(500000000000000));
    assert_int_equal(timetable_peek(&timetable), 100000000 * second_ns + 100);
    /* times that do not fit are never due */
    timetable_init(&timetable, PLAN_CONSTANT, 0.001, 0, 1, 0, 1);
    timetable_take_until(&timetable, INT64_MAX);
    assert_true(timetable_peek(&timetable) == INT64_MAX);
    assert_int_equal(timetable_take_until(&timetable, INT64_MAX), 0);
    timetable_init(&timetable, PLAN_POISSON, 0.001, 0, 256, 0, 1);
    timetable_take_until(&timetable, INT64_MAX);
    assert_true(timetable_peek(&timetable) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_exact),
        cmocka_unit_test(test_constant_rate),
        cmocka_unit_test(test_constant_superposition),
        cmocka_unit_test(test_poisson_rate),
        cmocka_unit_test(test_poisson_scale),
        cmocka_unit_test(test_poisson_no_drift),
        cmocka_unit_test(test_poisson_law),
        cmocka_unit_test(test_law_is_noticed),
        cmocka_unit_test(test_workers_independent),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_take_until),
        cmocka_unit_test(test_take_until_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
