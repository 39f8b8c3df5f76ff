/* The data set of a measured service: all steps, told as one fraction for a bar. */
#include <string.h>

#include "service/dataset.h"
#include "service/postgres_int.h"

#include "base/ban.h"

/* How much of the whole is done after a step, measured at scale 50. */
static const double AFTER_COPY = 0.70, AFTER_VACUUM = 0.75;

struct bar {
    void (*progress)(void *ctx, double done);
    void *ctx;
};

static void bar_rows(void *ctx, const char *table, int64_t done, int64_t total, int64_t elapsed_ns)
{
    const struct bar *bar = ctx;
    (void)elapsed_ns;
    if (strcmp(table, "pgbench_accounts") == 0)
        bar->progress(bar->ctx, AFTER_COPY * (double)done / (double)total);
}

static void bar_step_ended(void *ctx, char step, int64_t duration_ns)
{
    const struct bar *bar = ctx;
    (void)duration_ns;
    if (step == 'v' || step == 'p')
        bar->progress(bar->ctx, step == 'v' ? AFTER_VACUUM : 1);
}

enum pl_code dataset_load_tpcb(PGconn *conn, int64_t scale, void (*progress)(void *ctx, double done), void *ctx,
                               const volatile int *stop, struct pl_err *err)
{
    struct dataset_spec spec = {.steps = "dtgvp", .scale = scale, .fillfactor = 100};
    struct bar bar = {.progress = progress, .ctx = ctx};
    struct dataset_watch watch = {.ctx = &bar, .rows = bar_rows, .step_ended = bar_step_ended};
    if (scale < 1 || scale > INT32_MAX)
        return pl_err_set(err, PL_USAGE, "the scale %lld is out of range", (long long)scale);
    if (progress == NULL)
        return dataset_build(conn, &spec, NULL, stop, err);
    progress(ctx, 0);
    return dataset_build(conn, &spec, &watch, stop, err);
}
