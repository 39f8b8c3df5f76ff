/* Holm's correction against a worked example, against published measurements, and by what it promises: of studies in which
 * nothing differs at most one in twenty raises an alarm. */
#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "stats/holm.h"
#include "stats/interval.h"

static void test_worked_example(void **state)
{
    (void)state;
    const double p[] = {.01, .04, .03, .005};
    double corrected[4];
    assert_int_equal(holm_correct(p, 4, corrected), 4);
    const double expected[] = {.03, .06, .06, .02};
    for (int i = 0; i < 4; i++)
        assert_close(corrected[i], expected[i], 1e-15, 0);
}

static void test_edges(void **state)
{
    (void)state;
    double nothing = 7;
    assert_int_equal(holm_correct(&nothing, 0, &nothing), 0);
    assert_true(nothing == 7);
    double one = .03;
    assert_int_equal(holm_correct(&one, 1, &one), 1); /* in place */
    assert_true(one == .03);
    double high[] = {.9, .8, .7};
    holm_correct(high, 3, high);
    assert_true(high[0] == 1 && high[1] == 1 && high[2] == 1);
    double equal[] = {.01, .01, .01};
    holm_correct(equal, 3, equal);
    for (int i = 0; i < 3; i++)
        assert_close(equal[i], .03, 1e-15, 0);
}

static void test_tests_that_were_not_made(void **state)
{
    (void)state;
    const double p[] = {(double)NAN, .02, (double)NAN, .01};
    double corrected[4];
    assert_int_equal(holm_correct(p, 4, corrected), 2);
    assert_true(isnan(corrected[0]) && isnan(corrected[2]));
    assert_close(corrected[1], .02, 1e-15, 0);
    assert_close(corrected[3], .02, 1e-15, 0);
}

static void test_properties(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_TEST, 0);
    for (int round = 0; round < 500; round++) {
        double p[40], corrected[40];
        size_t count = (size_t)pl_rng_range(&rng, 1, 40);
        for (size_t i = 0; i < count; i++)
            p[i] = pl_rng_unit(&rng) * pl_rng_unit(&rng) * pl_rng_unit(&rng);
        holm_correct(p, count, corrected);
        for (size_t i = 0; i < count; i++) {
            assert_true(corrected[i] >= p[i] && corrected[i] <= 1);
            assert_true(corrected[i] <= fmin(1, p[i] * (double)count) * (1 + 1e-12)); /* never worse than Bonferroni */
            for (size_t k = 0; k < count; k++)                                        /* the order stays */
                assert_true(p[k] <= p[i] ? corrected[k] <= corrected[i] : corrected[k] >= corrected[i]);
        }
    }
}

/* Transactions per second, including connecting, as mean and standard deviation over 16 runs: PostgreSQL 7.4.7 and 8.0.2
 * with their default, then with their custom configuration; one row for each of 14 cells. */
static const double published[14][4][2] = {
    {{962.73632, 29.086186}, {953.260669, 21.815866}, {813.449004, 9.970749}, {782.031602, 8.553368}},
    {{754.651548, 55.605972}, {731.888242, 86.161566}, {648.031414, 47.744621}, {692.136361, 72.189804}},
    {{854.735562, 44.001954}, {767.431864, 188.428087}, {799.75421, 21.63613}, {731.694843, 25.333766}},
    {{763.375935, 33.593844}, {500.750047, 25.816311}, {762.773254, 50.898084}, {741.568574, 46.721595}},
    {{1229.821973, 97.525503}, {755.576707, 103.414956}, {1255.842707, 123.810027}, {1307.79354, 108.549542}},
    {{660.484103, 142.643989}, {568.936432, 59.662275}, {805.540444, 307.536674}, {987.550751, 101.364224}},
    {{555.908418, 240.436292}, {597.125856, 276.075116}, {681.863024, 133.815933}, {673.535169, 6.276083}},
    {{421.267767, 25.599591}, {376.349208, 28.443268}, {467.89607, 189.202178}, {452.12671, 184.444421}},
    {{611.550012, 57.845445}, {547.253691, 46.996599}, {853.060159, 405.833183}, {792.108344, 418.012036}},
    {{477.634012, 8.837929}, {458.476533, 7.153815}, {514.394037, 12.722759}, {498.797344, 13.715204}},
    {{477.113876, 22.823954}, {442.119135, 9.498558}, {501.430803, 34.725833}, {465.294982, 29.038351}},
    {{248.580078, 10.233475}, {209.251153, 12.360038}, {353.439508, 21.345201}, {343.424252, 19.799562}},
    {{576.293783, 23.319332}, {525.282367, 21.170633}, {666.010195, 108.821857}, {621.154547, 97.457609}},
    {{403.184606, 13.202705}, {396.556664, 13.155769}, {474.941586, 12.800575}, {460.82788, 10.495588}},
};

static double published_p(int cell, int a, int b)
{
    struct moments sides[2];
    const int index[] = {a, b};
    for (int i = 0; i < 2; i++) {
        const double *side = published[cell][index[i]];
        sides[i] = (struct moments){.n = 16, .mean = side[0], .m2 = side[1] * side[1] * 15};
    }
    return t_test_welch(&sides[0], &sides[1], 0.95).p;
}

static void test_published_measurements(void **state)
{
    (void)state;
    static const int pairs[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    double p[56], corrected[56];
    int raw = 0, held = 0;
    for (int cell = 0; cell < 14; cell++)
        for (int pair = 0; pair < 4; pair++)
            p[cell * 4 + pair] = published_p(cell, pairs[pair][0], pairs[pair][1]);
    assert_int_equal(holm_correct(p, 56, corrected), 56);
    for (int i = 0; i < 56; i++) {
        raw += p[i] < 0.05;
        held += corrected[i] < 0.05;
    }
    assert_int_equal(raw, 34);
    assert_int_equal(held, 23);
    /* 611.55 and 853.06, but with a spread of half the mean: lost */
    assert_close(p[8 * 4 + 2], .0318744, 1e-4, 0);
    assert_true(corrected[8 * 4 + 2] > 0.05);
}

static double normal(struct pl_rng *rng)
{
    return sqrt(-2 * log(1 - pl_rng_unit(rng))) * cos(2 * M_PI * pl_rng_unit(rng));
}

/* One study of a system against itself: 14 cells, 16 pairs each. Whether it raises an alarm, without and with correction.
 */
static void study_of_nothing(struct pl_rng *rng, bool *ret_raw, bool *ret_corrected)
{
    double p[14], corrected[14];
    for (int cell = 0; cell < 14; cell++) {
        double a[16], b[16];
        for (int i = 0; i < 16; i++) {
            double block = 20 * normal(rng); /* what both of a pair share */
            a[i] = 1000 + block + 50 * normal(rng);
            b[i] = 1000 + block + 50 * normal(rng);
        }
        p[cell] = t_test_paired(a, b, 16, 0.95).p;
    }
    holm_correct(p, 14, corrected);
    *ret_raw = *ret_corrected = false;
    for (int cell = 0; cell < 14; cell++) {
        *ret_raw |= p[cell] < 0.05;
        *ret_corrected |= corrected[cell] < 0.05;
    }
}

static void test_family_wise_error(void **state)
{
    (void)state;
    enum { STUDIES = 2000 };
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_TEST, 0);
    int raw = 0, corrected = 0;
    for (int i = 0; i < STUDIES; i++) {
        bool of_raw, of_corrected;
        study_of_nothing(&rng, &of_raw, &of_corrected);
        raw += of_raw;
        corrected += of_corrected;
    }
    print_message("# false alarms in %d studies of nothing: %d without correction, %d with it\n", STUDIES, raw, corrected);
    /* without: 1 - .95^14 = 51 %; with: at most 5 %, whose standard error is 0.49 % here */
    assert_in_range(raw, STUDIES * 45 / 100, STUDIES * 58 / 100);
    assert_in_range(corrected, STUDIES * 3 / 100, STUDIES * 64 / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),           cmocka_unit_test(test_edges),
        cmocka_unit_test(test_tests_that_were_not_made), cmocka_unit_test(test_properties),
        cmocka_unit_test(test_published_measurements),   cmocka_unit_test(test_family_wise_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
