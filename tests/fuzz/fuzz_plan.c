/* Any bytes as a plan: refused with a place, a fact and a hint, or read into a plan that keeps its promises. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "plan/plan.h"

static void broken(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

#define HOLDS(condition)                                                                                                   \
    do {                                                                                                                   \
        if (!(condition))                                                                                                  \
            broken(#condition);                                                                                            \
    } while (0)

static void check_service_axis(const struct plan_axis *axis)
{
    HOLDS(axis->name[0] != '\0' && (axis->kind == PLAN_AXIS_PARAM) == (axis->key != NULL));
    HOLDS((axis->kind == PLAN_AXIS_SETTING) == (axis->setting != NULL));
    for (size_t i = 0; i < axis->value_count; i++)
        for (size_t k = 0; k < i && axis->kind != PLAN_AXIS_PARAM; k++)
            HOLDS(strcmp(axis->values[i], axis->values[k]) != 0);
    for (size_t i = 0; i < axis->value_count && axis->kind == PLAN_AXIS_SETTINGS; i++) {
        HOLDS(axis->bundles[i].name == axis->values[i]);
        for (size_t k = 0; k < axis->bundles[i].setting_count; k++)
            HOLDS(plan_setting_refusal(axis->bundles[i].settings[k].name) == NULL);
    }
}

static void check_stage(const struct plan_stage *stage, struct pl_arena *arena)
{
    HOLDS(stage->name != NULL && stage->kind < PLAN_KIND_COUNT && stage->params.iterations >= 1);
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        if ((key->kinds >> stage->kind & 1U) == 0)
            continue;
        struct plan_params again = stage->params;
        const char *text = plan_params_text(&stage->params, key, arena);
        HOLDS(text[0] != '\0');
        plan_params_set(&again, key, text);
        HOLDS(strcmp(plan_params_text(&again, key, arena), text) == 0);
    }
    for (size_t i = 0; i < stage->axis_count; i++) {
        HOLDS(stage->axes[i].value_count >= 1);
        check_service_axis(&stage->axes[i]);
        if (stage->axes[i].kind != PLAN_AXIS_PARAM)
            continue;
        HOLDS((stage->axes[i].key->kinds >> stage->kind & 1U) != 0);
        for (size_t j = 0; j < stage->axes[i].value_count; j++) {
            struct plan_params params = stage->params;
            plan_params_set(&params, stage->axes[i].key, stage->axes[i].values[j]);
        }
    }
}

static void check_plan(const struct plan *plan, struct pl_arena *arena)
{
    HOLDS(plan->title != NULL && plan->page_title != NULL && plan->subject != NULL && plan->service_count >= 1);
    for (size_t i = 0; i < plan->service_count; i++) {
        HOLDS(plan->services[i].name != NULL && strcmp(plan->services[i].kind, "postgres") == 0);
        HOLDS(plan->services[i].data_kind == NULL || plan->services[i].data_scale >= 1);
        for (size_t j = 0; j < plan->services[i].setting_count; j++)
            HOLDS(strpbrk(plan->services[i].settings[j].value, "\r\n") == NULL);
    }
    HOLDS(plan->stage_count >= 1);
    for (size_t i = 0; i < plan->stage_count; i++)
        check_stage(&plan->stages[i], arena);
}

static bool has(const uint8_t *data, size_t size, const char *word)
{
    return memmem(data, size, word, strlen(word)) != NULL;
}

/* Paths under `scripts:` are opened; an escape in quotes can spell any of them. */
static bool may_open_device(const uint8_t *data, size_t size)
{
    bool escape = has(data, size, "\\"), device = has(data, size, "dev") || has(data, size, "proc");
    return has(data, size, "scripts") ? escape || device : escape && device;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const builtins[] = {"tpcb-like", "simple-update", "select-only", NULL};
    if (may_open_device(data, size))
        return 0;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct plan *plan = NULL;
    enum pl_code code = plan_parse("/no-such-folder/plan.yaml", (const char *)data, size, builtins, arena, &plan, &err);
    if (code == PL_OK) {
        HOLDS(err.code == PL_OK);
        check_plan(plan, arena);
    } else {
        HOLDS(code == err.code && (code == PL_INPUT || code == PL_LIMIT) && plan == NULL);
        HOLDS(err.what[0] != '\0' && (code == PL_LIMIT || (err.hint[0] != '\0' && err.line > 0 && err.col > 0)));
        HOLDS(strcmp(err.file, "/no-such-folder/plan.yaml") == 0);
    }
    pl_arena_free(arena);
    return 0;
}
