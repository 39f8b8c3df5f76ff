/* --quick: the same plan, so small that it can be tried out. */
#include <stdio.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

enum { QUICK_ITERATIONS = 2, QUICK_OPERATIONS = 200, TRANSACTIONS_DIVISOR = 500, SCALE_DIVISOR = 100 };

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* Smaller, and never nothing. */
static int64_t divided(int64_t value, int64_t divisor)
{
    return value == 0 ? 0 : value < divisor ? 1 : value / divisor;
}

/* Values that are cut must go on differing: each is at least one more than the one before it. */
static const char *const *cut_values(const struct plan_axis *axis, int64_t divisor, struct pl_arena *arena)
{
    const char **values = pl_alloc(arena, axis->value_count, sizeof *values);
    int64_t last = -1;
    for (size_t i = 0; i < axis->value_count; i++) {
        int64_t value;
        if (pl_num_i64(axis->values[i], strlen(axis->values[i]), &value) != PL_NUM_OK)
            pl_panic("\"%s\" is no number, although it was checked", axis->values[i]);
        value = divided(value, divisor);
        last = value > last ? value : last + 1;
        values[i] = pl_format(arena, "%lld", (long long)last);
    }
    return values;
}

static void cut_axes(struct plan_stage *stage, struct pl_arena *arena)
{
    struct plan_axis *axes = pl_alloc(arena, stage->axis_count, sizeof *axes);
    for (size_t i = 0; i < stage->axis_count; i++) {
        axes[i] = stage->axes[i];
        bool counts = axes[i].kind == PLAN_AXIS_PARAM &&
                      (strcmp(axes[i].key->name, "transactions") == 0 || strcmp(axes[i].key->name, "operations") == 0);
        if (counts)
            axes[i].values = cut_values(&axes[i], TRANSACTIONS_DIVISOR, arena);
        else if (axes[i].kind == PLAN_AXIS_SCALE)
            axes[i].values = cut_values(&axes[i], SCALE_DIVISOR, arena);
    }
    stage->axes = axes;
}

void conduct_make_quick(struct plan *plan, struct pl_arena *arena)
{
    struct plan_stage *stages = pl_alloc(arena, plan->stage_count, sizeof *stages);
    for (size_t i = 0; i < plan->stage_count; i++) {
        stages[i] = plan->stages[i];
        struct plan_params *params = &stages[i].params;
        params->settle_ns = at_most(params->settle_ns, PL_NS_PER_S / 5);
        params->warm_up_ns = at_most(params->warm_up_ns, PL_NS_PER_S / 5);
        params->for_ns = at_most(params->for_ns, PL_NS_PER_S);
        params->cooldown_ns = at_most(params->cooldown_ns, 0);
        params->think_ns = at_most(params->think_ns, PL_NS_PER_S);
        params->iterations = at_most(params->iterations, QUICK_ITERATIONS);
        params->operations = at_most(params->operations, QUICK_OPERATIONS);
        params->transactions = divided(params->transactions, TRANSACTIONS_DIVISOR);
        cut_axes(&stages[i], arena);
    }
    struct plan_service *services = pl_alloc(arena, plan->service_count, sizeof *services);
    for (size_t i = 0; i < plan->service_count; i++) {
        services[i] = plan->services[i];
        services[i].data_scale = at_most(services[i].data_scale, 1);
    }
    plan->subject = &services[plan->subject - plan->services];
    plan->stages = stages;
    plan->services = services;
}
