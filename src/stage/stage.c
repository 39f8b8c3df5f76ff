/* The table of stage kinds, and a stage's expansion into cases and trials. */
#include "stage/stage.h"

#include <assert.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "stage/stage_int.h"

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
static const int64_t restart_ns = 2 * PL_NS_PER_S;
static const int64_t operation_ns = 3 * PL_NS_PER_MS; /* of one client; */
static const int64_t most_operations_per_s = 2000;    /* however many there are */

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

static int64_t operations_estimate_ns(int64_t operations, int64_t clients)
{
    double alone_ns = (double)operations / (double)clients * (double)operation_ns;
    double crowded_ns = (double)operations / (double)most_operations_per_s * (double)PL_NS_PER_S;
    double ns = alone_ns > crowded_ns ? alone_ns : crowded_ns;
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
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
            return add_ns(connect_ns, operations_estimate_ns(params->operations, params->clients));
        if (params->transactions > 0)
            return add_ns(connect_ns, operations_estimate_ns(params->transactions * params->clients, params->clients));
        return connect_ns + params->warm_up_ns + params->for_ns;
    case ACT_COOLDOWN:
        return params->cooldown_ns;
    case ACT_END:
        break;
    }
    return 0;
}

static const struct plan_axis *axis_of(const struct plan_stage *stage, const struct plan_key *key)
{
    for (size_t i = 0; i < stage->axis_count; i++)
        if (stage->axes[i].kind == PLAN_AXIS_PARAM && stage->axes[i].key == key)
            return &stage->axes[i];
    return NULL;
}

static const char *axis_value(const struct plan_axis *axis, size_t index, struct pl_arena *arena)
{
    struct plan_params scratch = {0};
    if (axis->kind != PLAN_AXIS_PARAM)
        return axis->values[index];
    plan_params_set(&scratch, axis->key, axis->values[index]);
    return plan_params_text(&scratch, axis->key, arena);
}

/* "[1, 4, 16]" */
static const char *axis_text(const struct plan_axis *axis, struct pl_arena *arena)
{
    struct pl_buf buf;
    pl_buf_init(&buf, PL_MAX_PLAN_BYTES);
    for (size_t i = 0; i < axis->value_count; i++)
        pl_buf_printf(&buf, "%s%s", i == 0 ? "[" : ", ", axis_value(axis, i, arena));
    pl_buf_put(&buf, "]");
    const char *text = pl_strdup(arena, pl_buf_text(&buf));
    pl_buf_release(&buf);
    return text;
}

static void fill_stage_row(struct stage *stage, const struct plan *whole, struct pl_arena *arena)
{
    const struct plan_stage *plan = stage->plan;
    struct param *params = pl_alloc(arena, plan_stage_key_count + plan->axis_count, sizeof *params);
    size_t count = 0;
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        const struct plan_axis *axis = axis_of(plan, key);
        if ((key->kinds >> plan->kind & 1U) == 0 || !plan_key_applies(whole, key))
            continue;
        params[count].name = key->name;
        params[count++].value = axis != NULL ? axis_text(axis, arena) : plan_params_text(&plan->params, key, arena);
    }
    for (size_t i = 0; i < plan->axis_count; i++)
        if (plan->axes[i].kind != PLAN_AXIS_PARAM)
            params[count++] = (struct param){plan->axes[i].name, axis_text(&plan->axes[i], arena)};
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
static void fill_case(const struct stage *stage, const struct plan *plan, size_t ordinal, struct stage_case *into,
                      struct pl_arena *arena)
{
    const struct plan_stage *of = stage->plan;
    struct param *params = pl_alloc(arena, of->axis_count, sizeof *params);
    size_t *digits = pl_alloc(arena, of->axis_count, sizeof *digits), rest = ordinal;
    into->params = of->params;
    for (size_t i = of->axis_count; i-- > 0;) {
        const struct plan_axis *axis = &of->axes[i];
        digits[i] = rest % axis->value_count;
        rest /= axis->value_count;
        if (axis->kind == PLAN_AXIS_PARAM)
            plan_params_set(&into->params, axis->key, axis->values[digits[i]]);
        params[i] = (struct param){axis->name, axis_value(axis, digits[i], arena)};
    }
    into->row = (struct case_row){.ordinal = (int)ordinal, .params = params, .param_count = of->axis_count};
    into->row.label = case_label(&into->row, arena);
    into->services = stage_variants(plan, of, digits, &into->row, arena);
}

static void fill_estimate(struct stage *stage)
{
    for (size_t i = 0; i < stage->trial_count; i++) {
        if (stage->restarts)
            stage->estimate_ns = add_ns(stage->estimate_ns, restart_ns);
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

enum pl_code stage_expand(const struct plan *plan, const struct plan_stage *plan_stage, struct pl_arena *arena,
                          struct stage **ret_stage, struct pl_err *err)
{
    size_t case_count = 0;
    enum pl_code code = count_cases(plan_stage, plan->path, &case_count, err);
    if (code != PL_OK)
        return code;
    struct stage *stage = pl_alloc(arena, 1, sizeof *stage);
    stage->plan = plan_stage;
    stage->kind = stage_kind_of(plan_stage->kind);
    stage->case_count = case_count;
    stage->cases = pl_alloc(arena, case_count, sizeof *stage->cases);
    for (size_t i = 0; i < case_count; i++)
        fill_case(stage, plan, i, &stage->cases[i], arena);
    for (size_t i = 0; i < plan_stage->axis_count; i++)
        stage->restarts |= plan_stage->axes[i].kind != PLAN_AXIS_PARAM;
    fill_stage_row(stage, plan, arena);
    stage_order(stage, plan->seed, arena);
    fill_estimate(stage);
    *ret_stage = stage;
    return PL_OK;
}
