/* The table of stage kinds, and a stage's expansion into cases and trials. */
#include "stage/stage.h"

#include <assert.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rng.h"

#include "base/ban.h"

static const enum stage_act probe_acts[] = {ACT_PROBE, ACT_END};
static const enum stage_act idle_acts[] = {ACT_SETTLE, ACT_IDLE, ACT_SIZES, ACT_END};
static const enum stage_act load_acts[] = {ACT_TIDY, ACT_SETTLE, ACT_LOAD, ACT_COOLDOWN, ACT_END};
static const enum stage_act growth_acts[] = {ACT_TIDY, ACT_SIZES, ACT_LOAD, ACT_SIZES, ACT_END};

static const struct stage_kind kinds[PLAN_KIND_COUNT] = {
    [PLAN_HARDWARE] = {PLAN_HARDWARE, "On what was this measured?", probe_acts, false},
    [PLAN_FOOTPRINT] = {PLAN_FOOTPRINT, "What does it cost to do nothing?", idle_acts, false},
    [PLAN_CLIENTS] = {PLAN_CLIENTS, "How much work gets done when clients ask as fast as they can?", load_acts, false},
    [PLAN_RATE] = {PLAN_RATE, "What do latency and cost come to when operations arrive at a given rate?", load_acts, true},
    [PLAN_STORAGE] = {PLAN_STORAGE, "How many bytes of disk and of WAL does an operation leave behind?", growth_acts,
                      false},
};

/* What an estimate assumes for what no plan states. Only the time left that people see depends on it. */
static const int64_t probe_ns = 10 * PL_NS_PER_S;
static const int64_t tidy_ns = 1 * PL_NS_PER_S;
static const int64_t sizes_ns = 100 * PL_NS_PER_MS;
static const int64_t connect_ns = 100 * PL_NS_PER_MS;
static const int64_t operation_ns = 3 * PL_NS_PER_MS;

const struct stage_kind *stage_kind_of(enum plan_kind kind)
{
    assert(kind < PLAN_KIND_COUNT);
    return &kinds[kind];
}

static int64_t add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t act_estimate_ns(enum stage_act act, const struct plan_params *params)
{
    switch (act) {
    case ACT_PROBE:
        return probe_ns;
    case ACT_SETTLE:
        return params->settle_ns;
    case ACT_IDLE:
        return params->for_ns;
    case ACT_TIDY:
        return tidy_ns;
    case ACT_SIZES:
        return sizes_ns;
    case ACT_LOAD:
        if (params->operations > 0)
            return connect_ns + params->operations / params->clients * operation_ns;
        return connect_ns + params->warm_up_ns + params->for_ns;
    case ACT_COOLDOWN:
        return params->cooldown_ns;
    case ACT_END:
        break;
    }
    return 0;
}

static bool is_varied(const struct plan_stage *stage, const struct plan_key *key)
{
    for (size_t i = 0; i < stage->axis_count; i++)
        if (stage->axes[i].key == key)
            return true;
    return false;
}

static const char *axis_value(const struct plan_axis *axis, size_t index, struct pl_arena *arena)
{
    struct plan_params scratch = {0};
    plan_params_set(&scratch, axis->key, axis->values[index]);
    return plan_params_text(&scratch, axis->key, arena);
}

/* "[1, 4, 16]" */
static const char *axis_text(const struct plan_stage *stage, const struct plan_key *key, struct pl_arena *arena)
{
    struct pl_buf buf;
    pl_buf_init(&buf, PL_MAX_PLAN_BYTES);
    for (size_t i = 0; i < stage->axis_count; i++)
        for (size_t j = 0; stage->axes[i].key == key && j < stage->axes[i].value_count; j++)
            pl_buf_printf(&buf, "%s%s", j == 0 ? "[" : ", ", axis_value(&stage->axes[i], j, arena));
    pl_buf_put(&buf, "]");
    const char *text = pl_strdup(arena, pl_buf_text(&buf));
    pl_buf_release(&buf);
    return text;
}

static void fill_stage_row(struct stage *stage, struct pl_arena *arena)
{
    const struct plan_stage *plan = stage->plan;
    struct param *params = pl_alloc(arena, plan_stage_key_count, sizeof *params);
    size_t count = 0;
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        if ((key->kinds >> plan->kind & 1U) == 0)
            continue;
        params[count].name = key->name;
        params[count++].value =
            is_varied(plan, key) ? axis_text(plan, key, arena) : plan_params_text(&plan->params, key, arena);
    }
    stage->row = (struct stage_row){.kind = plan_kind_name(plan->kind),
                                    .name = plan->name,
                                    .question = stage->kind->question,
                                    .params = params,
                                    .param_count = count};
}

static const char *case_label(const struct case_row *row, struct pl_arena *arena)
{
    const char *label = "";
    for (size_t i = 0; i < row->param_count; i++)
        label = pl_format(arena, "%s%s%s=%s", label, i > 0 ? " " : "", row->params[i].name, row->params[i].value);
    return label;
}

/* The point of the matrix with this number: the last axis is the fastest digit. */
static void fill_case(const struct stage *stage, size_t ordinal, struct stage_case *into, struct pl_arena *arena)
{
    const struct plan_stage *plan = stage->plan;
    struct param *params = pl_alloc(arena, plan->axis_count, sizeof *params);
    size_t rest = ordinal;
    into->params = plan->params;
    for (size_t i = plan->axis_count; i-- > 0;) {
        const struct plan_axis *axis = &plan->axes[i];
        size_t index = rest % axis->value_count;
        rest /= axis->value_count;
        plan_params_set(&into->params, axis->key, axis->values[index]);
        params[i] = (struct param){axis->key->name, axis_value(axis, index, arena)};
    }
    into->row = (struct case_row){.ordinal = (int)ordinal, .params = params, .param_count = plan->axis_count};
    into->row.label = case_label(&into->row, arena);
}

/* FNV-1a: gives each stage its own order. */
static uint64_t name_hash(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

/* Iteration by iteration, so that a slow change of the host hits all cases alike; shuffled (Fisher and Yates), so that no
 * case always follows the same other one. All cases are shuffled in every iteration, and those that have no trial left drop
 * out: so the order of earlier iterations does not depend on how many follow. */
static void fill_trials(struct stage *stage, uint64_t seed, struct pl_arena *arena)
{
    int64_t iterations = 0;
    for (size_t i = 0; i < stage->case_count; i++) {
        stage->trial_count += (size_t)stage->cases[i].params.iterations;
        if (stage->cases[i].params.iterations > iterations)
            iterations = stage->cases[i].params.iterations;
    }
    stage->trials = pl_alloc(arena, stage->trial_count, sizeof *stage->trials);
    int *order = pl_alloc(arena, stage->case_count, sizeof *order);
    struct pl_rng rng;
    pl_rng_init(&rng, seed, PL_RNG_ORDER, name_hash(stage->plan->name));
    size_t count = 0;
    for (int iteration = 0; iteration < iterations; iteration++) {
        for (size_t i = 0; i < stage->case_count; i++)
            order[i] = (int)i;
        for (size_t i = stage->case_count; i-- > 1;) {
            size_t other = (size_t)pl_rng_range(&rng, 0, (int64_t)i);
            int swap = order[i];
            order[i] = order[other];
            order[other] = swap;
        }
        for (size_t i = 0; i < stage->case_count; i++)
            if (iteration < stage->cases[order[i]].params.iterations)
                stage->trials[count++] = (struct stage_trial){order[i], iteration};
    }
    assert(count == stage->trial_count);
}

static void fill_estimate(struct stage *stage)
{
    for (size_t i = 0; i < stage->trial_count; i++) {
        const struct plan_params *params = &stage->cases[stage->trials[i].case_index].params;
        for (const enum stage_act *act = stage->kind->acts; *act != ACT_END; act++)
            stage->estimate_ns = add_ns(stage->estimate_ns, act_estimate_ns(*act, params));
    }
}

static enum pl_code count_cases(const struct plan_stage *plan_stage, const char *plan_path, size_t *ret_count,
                                struct pl_err *err)
{
    size_t count = 1;
    for (size_t i = 0; i < plan_stage->axis_count; i++) {
        const struct plan_axis *axis = &plan_stage->axes[i];
        count *= axis->value_count; /* both factors are at most PL_MAX_CASES */
        if (count > PL_MAX_CASES) {
            pl_err_at(err, PL_LIMIT, plan_path, axis->line, axis->col, "the matrix of stage \"%s\" has more than %d cases",
                      plan_stage->name, PL_MAX_CASES);
            pl_err_hint(err, "Vary fewer parameters, give fewer values, or write several stages.");
            return err->code;
        }
    }
    *ret_count = count;
    return PL_OK;
}

enum pl_code stage_expand(const struct plan_stage *plan_stage, const char *plan_path, uint64_t seed, struct pl_arena *arena,
                          struct stage **ret_stage, struct pl_err *err)
{
    size_t case_count = 0;
    enum pl_code code = count_cases(plan_stage, plan_path, &case_count, err);
    if (code != PL_OK)
        return code;
    struct stage *stage = pl_alloc(arena, 1, sizeof *stage);
    stage->plan = plan_stage;
    stage->kind = stage_kind_of(plan_stage->kind);
    stage->case_count = case_count;
    stage->cases = pl_alloc(arena, case_count, sizeof *stage->cases);
    for (size_t i = 0; i < case_count; i++)
        fill_case(stage, i, &stage->cases[i], arena);
    fill_stage_row(stage, arena);
    fill_trials(stage, seed, arena);
    fill_estimate(stage);
    *ret_stage = stage;
    return PL_OK;
}
