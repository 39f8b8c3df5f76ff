/* HdrHistogram's percentile listing: its exact text, and what must hold for every histogram. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "stats/hgrm.h"

enum { MAX_BYTES = 1 << 20 };

static void test_exact_text(void **state)
{
    (void)state;
    struct hist hist;
    struct pl_buf out;
    pl_buf_init(&out, MAX_BYTES);
    hist_init(&hist, 1, 1000000, 3);
    for (int64_t value = 1; value <= 10; value++)
        hist_record(&hist, value * 100);
    hist_hgrm_put(&hist, 100, &out);
    assert_string_equal(pl_buf_text(&out), "       Value   Percentile   TotalCount 1/(1-Percentile)\n"
                                           "\n"
                                           "       1.000     0.000000            1         1.00\n"
                                           "       1.000     0.100000            1         1.11\n"
                                           "       2.000     0.200000            2         1.25\n"
                                           "       3.000     0.300000            3         1.43\n"
                                           "       4.000     0.400000            4         1.67\n"
                                           "       5.000     0.500000            5         2.00\n"
                                           "       6.000     0.550000            6         2.22\n"
                                           "       6.000     0.600000            6         2.50\n"
                                           "       7.000     0.650000            7         2.86\n"
                                           "       7.000     0.700000            7         3.33\n"
                                           "       8.000     0.750000            8         4.00\n"
                                           "       8.000     0.775000            8         4.44\n"
                                           "       8.000     0.800000            8         5.00\n"
                                           "       9.000     0.825000            9         5.71\n"
                                           "       9.000     0.850000            9         6.67\n"
                                           "       9.000     0.875000            9         8.00\n"
                                           "       9.000     0.887500            9         8.89\n"
                                           "       9.000     0.900000            9        10.00\n"
                                           "      10.000     0.912500           10        11.43\n"
                                           "      10.000     1.000000           10          inf\n"
                                           "#[Mean    =        5.500, StdDeviation   =        3.028]\n"
                                           "#[Max     =       10.000, Total count    =           10]\n"
                                           "#[Buckets =           10, SubBuckets     =         2048]\n");
    hist_release(&hist);
    pl_buf_release(&out);
}

static void test_empty(void **state)
{
    (void)state;
    struct hist hist;
    struct pl_buf out;
    pl_buf_init(&out, MAX_BYTES);
    hist_init_latency(&hist);
    hist_hgrm_put(&hist, 1e6, &out);
    assert_non_null(
        strstr(pl_buf_text(&out), "\n\n       0.000     1.000000            0          inf\n#[Mean    =        0.000,"));
    assert_non_null(strstr(pl_buf_text(&out), "Total count    =            0]"));
    hist_release(&hist);
    pl_buf_release(&out);
}

/* A line of the listing; false: not one. */
static bool line_read(const char *line, double *ret_value, double *ret_share, long long *ret_count, double *ret_inverse)
{
    return sscanf(line, "%lf %lf %lld %lf", ret_value, ret_share, ret_count, ret_inverse) == 4;
}

static void check_listing(const struct hist *hist, const char *text)
{
    double last_value = 0, last_share = -1, value = 0, share = 0, inverse = 0;
    long long last_count = 0, count = 0;
    int lines = 0;
    const char *line = strstr(text, "\n\n") + 2;
    for (; *line != '#'; line = strchr(line, '\n') + 1, lines++) {
        assert_true(line_read(line, &value, &share, &count, &inverse));
        assert_true(value >= last_value && share >= last_share && count >= last_count);
        assert_true(share <= 1 && count >= 1 && count <= hist->total);
        /* the share of values that are at most `value` is at least the level (which is printed with six decimals) */
        assert_true((double)count / (double)hist->total >= share - 1e-6);
        assert_close(value, (double)hist_value_at_rank(hist, count) / 1e6, 0, 0.00051);
        /* and no smaller value would do: the level's own quantile */
        double level = 1 - ldexp(1, -(lines / 5)) * (10 - lines % 5) / 10;
        if (isfinite(inverse) && lines > 0)
            assert_close(value, (double)hist_quantile(hist, level) / 1e6, 0, 0.00051);
        last_value = value;
        last_share = share;
        last_count = count;
    }
    assert_close(share, 1, 0, 0);
    assert_int_equal(count, hist->total);
    assert_close(value, (double)hist->max / 1e6, 0, 0.00051);
    assert_in_range(lines, 2, 330);
    double mean, max;
    long long total;
    assert_int_equal(sscanf(line, "#[Mean    = %lf, StdDeviation   = %*f]\n#[Max     = %lf, Total count    = %lld]", &mean,
                            &max, &total),
                     3);
    assert_close(mean, hist_mean(hist) / 1e6, 0, 0.00051);
    assert_close(max, (double)hist->max / 1e6, 0, 0.00051);
    assert_int_equal(total, hist->total);
}

static void test_any_histogram(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 5, 0, 0);
    struct hist hist;
    hist_init_latency(&hist);
    for (int round = 0; round < 200; round++) {
        struct pl_buf out;
        pl_buf_init(&out, MAX_BYTES);
        hist_clear(&hist);
        for (int64_t i = pl_rng_range(&rng, 1, round % 2 == 0 ? 20 : 20000); i > 0; i--)
            hist_record(&hist, (int64_t)pl_rng_exponential(&rng, 3e6));
        if (round % 10 == 0)
            hist_record_n(&hist, INT64_C(4000) * 1000000000, pl_rng_range(&rng, 1, 3)); /* clipped */
        hist_hgrm_put(&hist, 1e6, &out);
        check_listing(&hist, pl_buf_text(&out));
        pl_buf_release(&out);
    }
    hist_release(&hist);
}

/* The greatest count there can be: the levels end. */
static void test_counts_of_64_bits(void **state)
{
    (void)state;
    struct hist hist;
    struct pl_buf out;
    pl_buf_init(&out, MAX_BYTES);
    hist_init_latency(&hist);
    hist_record_n(&hist, 1000000, INT64_MAX - 1);
    hist_record(&hist, 5000000);
    hist_hgrm_put(&hist, 1e6, &out);
    const char *text = pl_buf_text(&out);
    assert_non_null(strstr(text, "       5.000     1.000000 9223372036854775807          inf\n"));
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    assert_in_range(lines, 300, 330);
    hist_release(&hist);
    pl_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_text),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_any_histogram),
        cmocka_unit_test(test_counts_of_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
