/* Numbers with units: what is accepted is inside its range, and means the same when it is written again. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_whole(enum pl_num_result (*parse)(const char *, size_t, int64_t *), const char *unit, const char *text,
                        size_t length)
{
    int64_t value = -4711, again;
    enum pl_num_result result = parse(text, length, &value);
    if (result != PL_NUM_OK) {
        require(value == -4711);
        return;
    }
    char written[40];
    int written_length = snprintf(written, sizeof written, "%" PRId64 "%s", value, unit);
    require(parse(written, (size_t)written_length, &again) == PL_NUM_OK && again == value);
}

static void check_real(enum pl_num_result (*parse)(const char *, size_t, double *), const char *unit, const char *text,
                       size_t length)
{
    double value = -4711.5, again;
    if (parse(text, length, &value) != PL_NUM_OK) {
        require(value == -4711.5);
        return;
    }
    require(isfinite(value));
    char written[60];
    int written_length = snprintf(written, sizeof written, "%.17g%s", value, unit);
    require(parse(written, (size_t)written_length, &again) == PL_NUM_OK && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_whole(pl_num_i64, "", text, size);
    check_whole(pl_num_duration_ns, "ns", text, size);
    check_whole(pl_num_bytes, "B", text, size);
    check_real(pl_num_f64, "", text, size);
    check_real(pl_num_rate, "/s", text, size);
    return 0;
}
