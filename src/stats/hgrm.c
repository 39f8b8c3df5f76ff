#include "stats/hgrm.h"

#include <math.h>

#include "base/ban.h"

/* Level `tick` of half distance `half` is 1 - 2^-half * (10 - tick) / 10, with tick 0..4: five steps of a tenth halve what
 * is left. Kept in integers, so that no level is reached a value too late or too early by rounding. */
struct level {
    int half, tick;
};

/* Values that lie at or below the level: the nearest rank. */
static int64_t level_rank(struct level level, int64_t total)
{
    __int128_t above = (__int128_t)total * (10 - level.tick) / ((__int128_t)10 << level.half);
    return total - (int64_t)above;
}

/* 1 / (1 - level) */
static double level_inverse(struct level level)
{
    return (double)(UINT64_C(1) << level.half) * 10 / (10 - level.tick);
}

static struct level level_next(struct level level)
{
    return level.tick < 4 ? (struct level){level.half, level.tick + 1} : (struct level){level.half + 1, 0};
}

static void line_put(struct pl_buf *out, int digits, double value, double share, int64_t count, double inverse)
{
    pl_buf_printf(out, "%12.*f %12f %12lld %12.2f\n", digits, value, share, (long long)count, inverse);
}

void hist_hgrm_put(const struct hist *hist, double unit, struct pl_buf *out)
{
    pl_buf_printf(out, "%12s %12s %12s %12s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    struct hist_bucket bucket = {.index = -1};
    int64_t reached = 0;
    /* total is below 2^63: at half 63 the rank is the last one */
    for (struct level level = {0, 0}; reached < hist->total; level = level_next(level)) {
        int64_t rank = level_rank(level, hist->total);
        while ((reached < rank || reached == 0) && hist_next_bucket(hist, &bucket))
            reached += bucket.count;
        int64_t value = hist_value_at_rank(hist, reached);
        double inverse = level_inverse(level);
        line_put(out, hist->digits, (double)value / unit, 1 - 1 / inverse, reached, inverse);
    }
    line_put(out, hist->digits, (double)hist->max / unit, 1, hist->total, (double)INFINITY);
    double mean = hist->total > 0 ? hist_mean(hist) : 0, stddev = hist->total > 1 ? hist_stddev(hist) : 0;
    pl_buf_printf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean / unit, stddev / unit);
    pl_buf_printf(out, "#[Max     = %12.3f, Total count    = %12lld]\n", (double)hist->max / unit, (long long)hist->total);
    pl_buf_printf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", hist->counts_length / hist->sub_bucket_half_count - 1,
                  hist->sub_bucket_count);
}
