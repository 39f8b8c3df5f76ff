/* What a case makes of the plan's services. */
#include <string.h>

#include "base/num.h"
#include "record/study.h"
#include "stage/stage_int.h"

#include "base/ban.h"

struct settings {
    struct plan_setting *list;
    size_t count, capacity;
};

/* In place of the one of that name, else behind all others. */
static void settings_put(struct settings *settings, const struct plan_setting *setting, struct pl_arena *arena)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].name, setting->name) == 0) {
            settings->list[i] = *setting;
            return;
        }
    settings->list =
        pl_grow(arena, settings->list, settings->count, settings->count + 1, sizeof *settings->list, &settings->capacity);
    settings->list[settings->count++] = *setting;
}

static void settings_put_all(struct settings *settings, const struct plan_setting *list, size_t count,
                             struct pl_arena *arena)
{
    for (size_t i = 0; i < count; i++)
        settings_put(settings, &list[i], arena);
}

static void apply_axis(struct plan_service *service, struct settings *settings, const struct plan_axis *axis, size_t digit,
                       struct pl_arena *arena)
{
    const char *value = axis->values[digit];
    switch (axis->kind) {
    case PLAN_AXIS_PARAM:
        break;
    case PLAN_AXIS_SETTINGS:
        settings_put_all(settings, axis->bundles[digit].settings, axis->bundles[digit].setting_count, arena);
        break;
    case PLAN_AXIS_SETTING:
        settings_put(settings, &(struct plan_setting){axis->setting, value, axis->line, axis->col}, arena);
        break;
    case PLAN_AXIS_VERSION:
        service->version = value;
        break;
    case PLAN_AXIS_DIRECTORY:
        service->directory = value;
        break;
    case PLAN_AXIS_SCALE:
        if (pl_num_i64(value, strlen(value), &service->data_scale) != PL_NUM_OK)
            pl_panic("the scale \"%s\" is no number, although it was checked", value);
        break;
    }
}

static void make_variant(struct plan_service *service, const struct plan_stage *stage, size_t index, const size_t *digits,
                         struct pl_arena *arena)
{
    struct settings settings = {0};
    settings_put_all(&settings, service->settings, service->setting_count, arena);
    for (size_t i = 0; i < stage->axis_count; i++)
        if (stage->axes[i].kind != PLAN_AXIS_PARAM && stage->axes[i].service == index)
            apply_axis(service, &settings, &stage->axes[i], digits[i], arena);
    service->settings = settings.list;
    service->setting_count = settings.count;
}

const struct plan_service *stage_variants(const struct plan *plan, const struct plan_stage *stage, const size_t *digits,
                                          const struct case_row *row, struct pl_arena *arena)
{
    bool any = false;
    for (size_t i = 0; i < stage->axis_count; i++)
        any |= stage->axes[i].kind != PLAN_AXIS_PARAM;
    if (!any)
        return plan->services;
    struct plan_service *services = pl_alloc(arena, plan->service_count, sizeof *services);
    for (size_t i = 0; i < plan->service_count; i++) {
        services[i] = plan->services[i];
        services[i].scope = param_scope(row->params, row->param_count, services[i].name, arena);
        if (services[i].scope != services[i].name)
            make_variant(&services[i], stage, i, digits, arena);
    }
    return services;
}
