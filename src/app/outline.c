/* What a study will take before its first trial: variants of services, disk, time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "app/conduct_int.h"
#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

/* What is assumed of sizes and speeds; tpcb: measured at scale 100, with its indexes. */
static const int64_t cluster_bytes = INT64_C(64) << 20; /* an empty one, with the first segments of its log */
static const int64_t scale_bytes = INT64_C(16) << 20;
static const int64_t transaction_bytes = 100; /* a row of the history, and the dead rows of a while */
static const int64_t cluster_ns = 3 * PL_NS_PER_S;
static const int64_t scale_ns = PL_NS_PER_S / 5;
static const int64_t copy_bytes_per_s = INT64_C(200) << 20;

static int64_t sum(int64_t a, int64_t b)
{
    int64_t both;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

static int64_t product(int64_t a, int64_t b)
{
    int64_t both;
    return __builtin_mul_overflow(a, b, &both) ? INT64_MAX : both;
}

static int64_t data_bytes(const struct plan_service *plan)
{
    if (plan_speech_of(plan) == PLAN_HTTP) /* it runs already */
        return 0;
    return plan->data_kind == NULL ? cluster_bytes : sum(cluster_bytes, product(plan->data_scale, scale_bytes));
}

/* What the counted loads of all wanted trials leave behind in the variants they run on. */
static int64_t growth_bytes(const struct conduct *c)
{
    int64_t operations = 0;
    if (plan_speech_of(c->plan->subject) == PLAN_HTTP)
        return 0;
    for (size_t s = 0; s < c->plan->stage_count; s++)
        for (size_t i = 0; conduct_wants(c, c->stages[s]) && i < c->stages[s]->case_count; i++) {
            const struct plan_params *params = &c->stages[s]->cases[i].params;
            int64_t each = sum(params->operations, product(params->transactions, params->clients));
            operations = sum(operations, product(each, params->iterations));
        }
    return product(operations, transaction_bytes);
}

void conduct_outline_make(struct conduct *c, struct conduct_outline *ret_outline)
{
    struct conduct_outline outline = {0};
    for (size_t i = 0; i < c->variant_count; i++) {
        const struct conduct_variant *variant = c->variants[i];
        if (!variant->wanted || plan_speech_of(variant->plan) == PLAN_HTTP)
            continue;
        int64_t bytes = data_bytes(variant->plan);
        bool is_copy = conduct_variant_count(c, variant->service) > 1;
        outline.disk_bytes = sum(outline.disk_bytes, bytes);
        outline.start_ns = sum(outline.start_ns, is_copy ? sum(PL_NS_PER_S, product(bytes / copy_bytes_per_s, PL_NS_PER_S))
                                                         : sum(cluster_ns, product(variant->plan->data_scale, scale_ns)));
        if (is_copy)
            conduct_origin(c, variant); /* it is known from now on */
    }
    for (size_t i = 0; i < c->origin_count; i++) {
        outline.disk_bytes = sum(outline.disk_bytes, data_bytes(c->origins[i]->plan));
        outline.start_ns = sum(outline.start_ns, sum(cluster_ns, product(c->origins[i]->plan->data_scale, scale_ns)));
    }
    outline.disk_bytes = sum(outline.disk_bytes, growth_bytes(c));
    const char *place = getenv("TMPDIR");
    outline.place = place != NULL && place[0] != '\0' ? place : "/tmp";
    struct statvfs files;
    outline.free_bytes = -1;
    if (statvfs(outline.place, &files) == 0)
        outline.free_bytes = product((int64_t)files.f_bavail, (int64_t)files.f_frsize);
    *ret_outline = outline;
}

enum pl_code conduct_check_disk(struct conduct *c, struct pl_err *err)
{
    struct conduct_outline outline;
    char needed[32], free[32];
    conduct_outline_make(c, &outline);
    if (outline.free_bytes < 0 || outline.disk_bytes <= outline.free_bytes)
        return PL_OK;
    pl_err_set(err, PL_USAGE, "the data of the study need about %s in \"%.200s\", and %s are free",
               pl_num_text_bytes(needed, sizeof needed, (double)outline.disk_bytes), outline.place,
               pl_num_text_bytes(free, sizeof free, (double)outline.free_bytes));
    pl_err_hint(err, "Set TMPDIR to a directory on a larger disk; it is the disk that is measured.");
    return err->code;
}
