/* The order of trials. Iteration by iteration, so that a slow change of the host hits all cases alike. What is to be
 * compared (the arms of a cell: the same load on differing services) runs next to each other, so that what changes from
 * minute to minute hits both, and each arm comes first as often as last. */
#include <assert.h>

#include "base/rng.h"
#include "stage/stage_int.h"

#include "base/ban.h"

/* The cases as a table of cells by arms. */
struct grid {
    size_t cells, arms;
    int *cases; /* [cell * arms + arm] */
};

static bool is_arm(const struct plan_axis *axis)
{
    return axis->kind != PLAN_AXIS_PARAM && axis->kind != PLAN_AXIS_SCALE; /* other data are another load */
}

static struct grid grid_of(const struct stage *stage, struct pl_arena *arena)
{
    const struct plan_stage *plan = stage->plan;
    struct grid grid = {.cells = 1, .arms = 1};
    for (size_t i = 0; i < plan->axis_count; i++)
        *(is_arm(&plan->axes[i]) ? &grid.arms : &grid.cells) *= plan->axes[i].value_count;
    assert(grid.cells * grid.arms == stage->case_count);
    grid.cases = pl_alloc(arena, stage->case_count, sizeof *grid.cases);
    for (size_t ordinal = 0; ordinal < stage->case_count; ordinal++) {
        size_t cell = 0, arm = 0, weight = stage->case_count;
        for (size_t i = 0; i < plan->axis_count; i++) {
            size_t count = plan->axes[i].value_count, digit = 0;
            weight /= count;
            digit = ordinal / weight % count;
            if (is_arm(&plan->axes[i]))
                arm = arm * count + digit;
            else
                cell = cell * count + digit;
        }
        grid.cases[cell * grid.arms + arm] = (int)ordinal;
    }
    return grid;
}

/* FNV-1a: gives each stage its own order. */
static uint64_t name_hash(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

/* Fisher and Yates. */
static void shuffle(int *items, size_t count, struct pl_rng *rng)
{
    for (size_t i = count; i-- > 1;) {
        size_t other = (size_t)pl_rng_range(rng, 0, (int64_t)i);
        int swap = items[i];
        items[i] = items[other];
        items[other] = swap;
    }
}

static void reverse(int *items, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        int swap = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swap;
    }
}

/* All cases are placed in every iteration, and those that have no trial left drop out: so the order of earlier iterations
 * does not depend on how many follow. */
void stage_order(struct stage *stage, uint64_t seed, struct pl_arena *arena)
{
    int64_t iterations = 0;
    for (size_t i = 0; i < stage->case_count; i++) {
        stage->trial_count += (size_t)stage->cases[i].params.iterations;
        if (stage->cases[i].params.iterations > iterations)
            iterations = stage->cases[i].params.iterations;
    }
    stage->trials = pl_alloc(arena, stage->trial_count, sizeof *stage->trials);
    struct grid grid = grid_of(stage, arena);
    int *cells = pl_alloc(arena, grid.cells, sizeof *cells);
    struct pl_rng rng;
    pl_rng_init(&rng, seed, PL_RNG_ORDER, name_hash(stage->plan->name));
    size_t count = 0;
    for (int iteration = 0; iteration < iterations; iteration++) {
        for (size_t i = 0; i < grid.cells; i++)
            cells[i] = (int)i;
        shuffle(cells, grid.cells, &rng);
        for (size_t i = 0; i < grid.cells; i++) {
            if (iteration % 2 == 0)
                shuffle(&grid.cases[i * grid.arms], grid.arms, &rng);
            else
                reverse(&grid.cases[i * grid.arms], grid.arms);
        }
        for (size_t i = 0; i < grid.cells * grid.arms; i++) {
            int index = grid.cases[(size_t)cells[i / grid.arms] * grid.arms + i % grid.arms];
            if (iteration < stage->cases[index].params.iterations)
                stage->trials[count++] = (struct stage_trial){index, iteration};
        }
    }
    assert(count == stage->trial_count);
}
