/* Bytes from a study file: either refused, or a consistent histogram whose bytes they are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats/hist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check(const struct hist *hist, const uint8_t *data, size_t size)
{
    struct pl_buf bytes;
    pl_buf_init(&bytes, size + 1);
    hist_encode(hist, &bytes);
    require(bytes.len == size && memcmp(bytes.data, data, size) == 0);
    pl_buf_release(&bytes);
    require(hist_quantile(hist, 0) == hist->min && hist_quantile(hist, 1) == hist->max);
    if (hist->total == 0)
        return;
    require(hist_mean(hist) >= (double)hist->min * (1 - 1e-15) && hist_mean(hist) <= (double)hist->max * (1 + 1e-15));
    require(hist->total < 2 || hist_stddev(hist) >= 0);
    int64_t median = hist_quantile(hist, 0.5);
    require(median >= hist->min && median <= hist->max);
    require(hist_count_at_most(hist, median) >= hist->total - hist->total / 2 || median > hist->highest);
    require(hist_count_at_most(hist, INT64_MAX) == hist->total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hist hist, sum;
    struct pl_err err = {0};
    if (hist_decode(data, size, &hist, &err) != PL_OK) {
        require(err.code == PL_INPUT && err.what[0] != '\0');
        return 0;
    }
    require(err.code == PL_OK);
    check(&hist, data, size);
    hist_init(&sum, hist.lowest, hist.highest, hist.digits);
    hist_merge(&sum, &hist);
    check(&sum, data, size);
    hist_release(&sum);
    hist_release(&hist);
    return 0;
}
