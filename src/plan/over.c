/* `over:`: the axes of a stage's matrix. An axis varies a parameter of the stage, or something of a service: bundles of
 * settings, one setting, the version, the folder of its programs, the size of its data. */
#include "plan/plan.h"

#include <string.h>

#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

/* One `over:` under way. */
struct over {
    struct reader *reader;
    const struct node *map;   /* the stage */
    struct plan_stage *stage; /* to be filled */
    struct plan_stage *stages;
    size_t index;
};

static enum pl_code refuse_repeated(struct reader *reader, const char *name, const struct node *node, const char *canonical,
                                    const char *const *before, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(before[i], canonical) == 0) {
            plan_fail(reader, node, "\"%s\" has the value %s twice", name, plan_shown(reader->arena, canonical));
            pl_err_hint(reader->err, "Remove one of the two; to repeat a case, use \"iterations\".");
            return reader->err->code;
        }
    return PL_OK;
}

/* ---- values of one axis: each is checked, and brought to the text in which two spellings of one value are alike ---- */

static enum pl_code take_param_value(struct over *over, const struct plan_axis *axis, const struct node *item,
                                     const char **ret_value, const char **ret_canonical)
{
    struct plan_params scratch = {0};
    enum pl_code code = plan_take_param(over->reader, axis->key, item, &scratch);
    if (code != PL_OK)
        return code;
    *ret_canonical = plan_params_text(&scratch, axis->key, over->reader->arena);
    *ret_value = axis->key->type == PLAN_TYPE_NAME ? *ret_canonical : item->text;
    return PL_OK;
}

/* A setting's name, as a key would stand in `settings:`. */
static struct node setting_name(const struct plan_axis *axis)
{
    return (struct node){
        .type = NODE_SCALAR, .line = axis->line, .col = axis->col, .text = axis->setting, .length = strlen(axis->setting)};
}

static enum pl_code take_setting_value(struct over *over, const struct plan_axis *axis, const struct node *item,
                                       const char **ret_value, const char **ret_canonical)
{
    struct node name = setting_name(axis);
    enum pl_code code = plan_check_setting(over->reader, &name, item);
    *ret_value = *ret_canonical = item->text;
    return code;
}

static const struct field *field_of(const struct level *level, const char *name)
{
    for (size_t i = 0; i < level->count; i++)
        if (strcmp(level->fields[i].name, name) == 0)
            return &level->fields[i];
    return NULL;
}

/* A key of the service itself: what may stand there may stand here. */
static enum pl_code take_service_value(struct over *over, const struct plan_axis *axis, const struct node *item,
                                       const char **ret_value, const char **ret_canonical)
{
    struct plan_service scratch = {0};
    const struct field *field = axis->kind == PLAN_AXIS_SCALE     ? field_of(&plan_level_data, "scale")
                                : axis->kind == PLAN_AXIS_VERSION ? field_of(&plan_level_service, "version")
                                                                  : field_of(&plan_level_service, "directory");
    enum pl_code code = plan_need_scalar(over->reader, axis->name, item);
    if (code == PL_OK)
        code = plan_take_field(over->reader, field, item, &scratch);
    if (code != PL_OK)
        return code;
    *ret_value = axis->kind == PLAN_AXIS_SCALE     ? pl_format(over->reader->arena, "%lld", (long long)scratch.data_scale)
                 : axis->kind == PLAN_AXIS_VERSION ? scratch.version
                                                   : scratch.directory;
    *ret_canonical = *ret_value;
    return PL_OK;
}

static enum pl_code take_values(struct over *over, const struct node *node, struct plan_axis *axis)
{
    struct reader *reader = over->reader;
    size_t count = node->type == NODE_LIST ? node->count : 1;
    if (count == 0) {
        plan_fail(reader, node, "\"%s\" in \"over\" has no values: the matrix is empty", axis->name);
        pl_err_hint(reader->err, "Write at least one value, such as %s: [...].", axis->name);
        return reader->err->code;
    }
    if (count > PL_MAX_CASES) {
        pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "\"%s\" has %zu values, more than %d",
                  axis->name, count, PL_MAX_CASES);
        pl_err_hint(reader->err, "Write fewer values, or several stages.");
        return reader->err->code;
    }
    const char **values = pl_alloc(reader->arena, count, sizeof *values);
    const char **canonical = pl_alloc(reader->arena, count, sizeof *canonical);
    for (size_t i = 0; i < count; i++) {
        const struct node *item = node->type == NODE_LIST ? node->items[i] : node;
        enum pl_code code = axis->kind == PLAN_AXIS_PARAM ? take_param_value(over, axis, item, &values[i], &canonical[i])
                            : axis->kind == PLAN_AXIS_SETTING
                                ? take_setting_value(over, axis, item, &values[i], &canonical[i])
                                : take_service_value(over, axis, item, &values[i], &canonical[i]);
        if (code == PL_OK)
            code = refuse_repeated(reader, axis->name, item, canonical[i], canonical, i);
        if (code != PL_OK)
            return code;
    }
    axis->values = values;
    axis->value_count = count;
    return PL_OK;
}

/* ---- bundles ---- */

/* The bundle that an earlier stage has written down. */
static const struct plan_bundle *known_bundle(const struct over *over, size_t service, const char *name)
{
    for (size_t s = 0; s < over->index; s++)
        for (size_t i = 0; i < over->stages[s].axis_count; i++) {
            const struct plan_axis *axis = &over->stages[s].axes[i];
            for (size_t k = 0; axis->kind == PLAN_AXIS_SETTINGS && axis->service == service && k < axis->value_count; k++)
                if (strcmp(axis->bundles[k].name, name) == 0)
                    return &axis->bundles[k];
        }
    return NULL;
}

static const char *const *known_bundle_names(const struct over *over, size_t service)
{
    const char **names = NULL;
    size_t count = 0, capacity = 0;
    for (size_t s = 0; s < over->index; s++)
        for (size_t i = 0; i < over->stages[s].axis_count; i++) {
            const struct plan_axis *axis = &over->stages[s].axes[i];
            for (size_t k = 0; axis->kind == PLAN_AXIS_SETTINGS && axis->service == service && k < axis->value_count; k++) {
                bool known = false;
                for (size_t n = 0; n < count && !known; n++)
                    known = strcmp(names[n], axis->values[k]) == 0;
                if (known)
                    continue;
                names = pl_grow(over->reader->arena, names, count, count + 1, sizeof *names, &capacity);
                names[count++] = axis->values[k];
            }
        }
    names = pl_grow(over->reader->arena, names, count, count + 1, sizeof *names, &capacity);
    names[count] = NULL;
    return names;
}

static enum pl_code take_bundle(struct over *over, const struct plan_axis *axis, const struct node *name,
                                const struct node *settings, struct plan_bundle *bundle)
{
    struct reader *reader = over->reader;
    if (!plan_is_name(name->text))
        return plan_refuse_name(reader, name, "bundle");
    const struct plan_bundle *first = known_bundle(over, axis->service, name->text);
    if (first != NULL) {
        plan_fail(reader, name, "the bundle \"%s\" of service \"%s\" is written down twice", name->text,
                  reader->plan->services[axis->service].name);
        pl_err_hint(reader->err, "The first is in line %d; to use it again, name it: %s: [%s].", first->line, axis->name,
                    first->name);
        return reader->err->code;
    }
    *bundle = (struct plan_bundle){.name = name->text, .line = name->line, .col = name->col};
    return plan_take_settings(reader, settings, pl_format(reader->arena, "the bundle \"%s\"", name->text),
                              &bundle->settings, &bundle->setting_count);
}

static enum pl_code name_bundle(struct over *over, const struct plan_axis *axis, const struct node *item,
                                struct plan_bundle *bundle)
{
    struct reader *reader = over->reader;
    enum pl_code code = plan_need_scalar(reader, axis->name, item);
    if (code != PL_OK)
        return code;
    const struct plan_bundle *known = known_bundle(over, axis->service, item->text);
    if (known != NULL) {
        *bundle = *known;
        return PL_OK;
    }
    const char *const *names = known_bundle_names(over, axis->service);
    plan_fail(reader, item, "\"%s\" names the unknown bundle %s", axis->name, plan_shown(reader->arena, item->text));
    if (names[0] != NULL)
        plan_hint_nearest(reader, item->text, names, "The bundles of earlier stages are");
    pl_err_hint(reader->err, "Write it down with its settings: %s: {default: {}, custom: {shared_buffers: 512MB}}.",
                axis->name);
    return reader->err->code;
}

static enum pl_code take_bundles(struct over *over, const struct node *node, struct plan_axis *axis)
{
    struct reader *reader = over->reader;
    if (node->type == NODE_SCALAR || node->count == 0 || node->count > PL_MAX_CASES) {
        bool empty = node->type != NODE_SCALAR ? node->count == 0 : plan_node_is_null(node);
        plan_fail(reader, node, "\"%s\" %s", axis->name,
                  empty                       ? "in \"over\" has no values: the matrix is empty"
                  : node->type == NODE_SCALAR ? "is one value, not a map of bundles"
                                              : "has too many bundles");
        pl_err_hint(reader->err,
                    "Write bundles of settings by name, such as {default: {}, custom: {shared_buffers: 512MB}}.");
        return reader->err->code;
    }
    struct plan_bundle *bundles = pl_alloc(reader->arena, node->count, sizeof *bundles);
    const char **names = pl_alloc(reader->arena, node->count, sizeof *names);
    for (size_t i = 0; i < node->count; i++) {
        enum pl_code code = node->type == NODE_MAP ? take_bundle(over, axis, node->keys[i], node->items[i], &bundles[i])
                                                   : name_bundle(over, axis, node->items[i], &bundles[i]);
        if (code == PL_OK)
            code = refuse_repeated(reader, axis->name, node->items[i], bundles[i].name, names, i);
        if (code != PL_OK)
            return code;
        names[i] = bundles[i].name;
    }
    axis->bundles = bundles;
    axis->values = names;
    axis->value_count = node->count;
    return PL_OK;
}

/* ---- which axis a key is ---- */

/* The service whose name and a point the key begins with; the longest, for names may have points themselves. Plan's service
 * count when there is none. */
static size_t service_of(const struct plan *plan, const char *key)
{
    size_t best = plan->service_count, longest = 0;
    for (size_t i = 0; i < plan->service_count; i++) {
        size_t length = strlen(plan->services[i].name);
        if (strncmp(key, plan->services[i].name, length) == 0 && key[length] == '.' && length >= longest) {
            best = i;
            longest = length;
        }
    }
    return best;
}

static enum pl_code refuse_service_key(struct over *over, const struct node *name)
{
    struct reader *reader = over->reader;
    const struct plan *plan = reader->plan;
    size_t service = service_of(plan, name->text), count = 0;
    if (service == plan->service_count) {
        const char **names = pl_alloc(reader->arena, plan->service_count + 1, sizeof *names);
        for (size_t i = 0; i < plan->service_count; i++)
            names[i] = plan->services[i].name;
        const char *first = pl_strndup(reader->arena, name->text, strcspn(name->text, "."));
        plan_fail(reader, name, "%s names the unknown service %s", plan_shown(reader->arena, name->text),
                  plan_shown(reader->arena, first));
        plan_hint_nearest(reader, first, names, "The services are");
        return reader->err->code;
    }
    const char *known[8];
    for (const struct service_axis *axis = plan_service_axes; axis->name != NULL; axis++)
        known[count++] = pl_format(reader->arena, "%s.%s", plan->services[service].name, axis->name);
    known[count] = NULL;
    plan_fail(reader, name, "%s is nothing that can be varied", plan_shown(reader->arena, name->text));
    plan_hint_nearest(reader, name->text, known, "What can be varied of a service is");
    return reader->err->code;
}

/* Fills what the axis is of. */
static enum pl_code find_axis(struct over *over, const struct node *name, struct plan_axis *axis)
{
    static const char one_setting[] = "settings.";
    const struct plan *plan = over->reader->plan;
    *axis = (struct plan_axis){.name = name->text, .line = name->line, .col = name->col};
    axis->key = plan_stage_key(over->stage->kind, name->text);
    if (axis->key != NULL)
        return PL_OK;
    if (strchr(name->text, '.') == NULL)
        return plan_refuse_key(over->reader, over->stage, name, true);
    axis->service = service_of(plan, name->text);
    if (axis->service == plan->service_count)
        return refuse_service_key(over, name);
    const char *rest = name->text + strlen(plan->services[axis->service].name) + 1;
    for (const struct service_axis *known = plan_service_axes; known->name != NULL; known++)
        if (strcmp(known->name, rest) == 0 && known->kind != PLAN_AXIS_SETTING) {
            axis->kind = known->kind;
            return PL_OK;
        }
    if (strncmp(rest, one_setting, strlen(one_setting)) != 0)
        return refuse_service_key(over, name);
    axis->kind = PLAN_AXIS_SETTING;
    axis->setting = rest + strlen(one_setting);
    return PL_OK;
}

/* What Plimsoll does not start it cannot start otherwise. */
static enum pl_code check_is_started(struct over *over, const struct plan_axis *axis, const struct node *name)
{
    const struct plan_service *service = &over->reader->plan->services[axis->service];
    if (axis->kind == PLAN_AXIS_PARAM || plan_speech_of(service) != PLAN_HTTP)
        return PL_OK;
    plan_fail(over->reader, name, "service \"%s\" is attached: nothing of it can be varied", service->name);
    pl_err_hint(over->reader->err, "Vary parameters of the stage, or measure each server in a study of its own.");
    return over->reader->err->code;
}

static enum pl_code check_has_data(struct over *over, const struct plan_axis *axis, const struct node *name)
{
    const struct plan_service *service = &over->reader->plan->services[axis->service];
    if (axis->kind != PLAN_AXIS_SCALE || service->data_kind != NULL)
        return PL_OK;
    plan_fail(over->reader, name, "service \"%s\" has no data whose scale could be varied", service->name);
    pl_err_hint(over->reader->err, "Give it data, such as `data: {kind: tpcb}`.");
    return over->reader->err->code;
}

static enum pl_code take_axis(struct over *over, const struct node *name, const struct node *values, struct plan_axis *axis)
{
    struct reader *reader = over->reader;
    enum pl_code code = find_axis(over, name, axis);
    if (code != PL_OK)
        return code;
    const struct node *fixed = plan_node_find(over->map, name->text);
    if (fixed != NULL) {
        plan_fail(reader, name, "\"%s\" is both varied here and fixed", name->text);
        pl_err_hint(reader->err, "It is fixed in line %d, column %d; remove one of the two.", fixed->line, fixed->col);
        return reader->err->code;
    }
    code = check_is_started(over, axis, name);
    if (code == PL_OK)
        code = check_has_data(over, axis, name);
    if (code == PL_OK)
        code = axis->kind == PLAN_AXIS_SETTINGS ? take_bundles(over, values, axis) : take_values(over, values, axis);
    if (code == PL_OK && axis->kind == PLAN_AXIS_PARAM)
        plan_params_set(&over->stage->params, axis->key, axis->values[0]);
    return code;
}

/* A setting that stands in a bundle and is an axis of its own would have two values. */
static enum pl_code check_settings_once(struct over *over, const struct plan_axis *one, const struct plan_axis *all)
{
    for (size_t k = 0; k < all->value_count; k++)
        for (size_t i = 0; i < all->bundles[k].setting_count; i++) {
            const struct plan_setting *setting = &all->bundles[k].settings[i];
            if (strcmp(setting->name, one->setting) != 0)
                continue;
            pl_err_at(over->reader->err, PL_INPUT, over->reader->path, one->line, one->col,
                      "the setting \"%s\" is varied twice", one->setting);
            pl_err_hint(over->reader->err, "It also stands in the bundle \"%s\", in line %d; remove one of the two.",
                        all->bundles[k].name, setting->line);
            return over->reader->err->code;
        }
    return PL_OK;
}

static enum pl_code check_axes(struct over *over, const struct plan_axis *axes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            bool both = axes[i].kind == PLAN_AXIS_SETTING && axes[k].kind == PLAN_AXIS_SETTINGS &&
                        axes[i].service == axes[k].service;
            enum pl_code code = both ? check_settings_once(over, &axes[i], &axes[k]) : PL_OK;
            if (code != PL_OK)
                return code;
        }
    return PL_OK;
}

enum pl_code plan_take_over(struct reader *reader, const struct node *map, struct plan_stage *stages, size_t index)
{
    const struct node *node = plan_node_find(map, "over");
    if (node == NULL)
        return PL_OK;
    bool empty = node->type == NODE_SCALAR ? plan_node_is_null(node) : node->count == 0;
    if (empty || node->type != NODE_MAP) {
        plan_fail(reader, node, empty ? "\"over\" is empty: the matrix has no case" : "\"over\" is not a map");
        pl_err_hint(reader->err, "Write parameters with their values, such as {iterations: [1, 2]}, or remove \"over\".");
        return reader->err->code;
    }
    struct over over = {.reader = reader, .map = map, .stage = &stages[index], .stages = stages, .index = index};
    struct plan_axis *axes = pl_alloc(reader->arena, node->count, sizeof *axes);
    for (size_t i = 0; i < node->count; i++) {
        enum pl_code code = take_axis(&over, node->keys[i], node->items[i], &axes[i]);
        if (code != PL_OK)
            return code;
    }
    enum pl_code code = check_axes(&over, axes, node->count);
    stages[index].axes = axes;
    stages[index].axis_count = node->count;
    return code;
}

/* ---- what the services are told ---- */

struct names {
    const char **list;
    size_t count, capacity;
};

static void names_add(struct reader *reader, struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    names->list =
        pl_grow(reader->arena, names->list, names->count, names->count + 2, sizeof *names->list, &names->capacity);
    names->list[names->count++] = name;
    names->list[names->count] = NULL;
}

void plan_tell_services(struct reader *reader)
{
    struct plan *plan = reader->plan;
    struct plan_service *services = pl_alloc(reader->arena, plan->service_count, sizeof *services);
    for (size_t i = 0; i < plan->service_count; i++) {
        struct names told = {0};
        for (size_t s = 0; s < plan->stage_count; s++)
            for (size_t a = 0; a < plan->stages[s].axis_count; a++) {
                const struct plan_axis *axis = &plan->stages[s].axes[a];
                if (axis->kind == PLAN_AXIS_SETTING && axis->service == i)
                    names_add(reader, &told, axis->setting);
                for (size_t k = 0; axis->kind == PLAN_AXIS_SETTINGS && axis->service == i && k < axis->value_count; k++)
                    for (size_t n = 0; n < axis->bundles[k].setting_count; n++)
                        names_add(reader, &told, axis->bundles[k].settings[n].name);
            }
        services[i] = plan->services[i];
        services[i].told = told.list;
    }
    plan->subject = &services[plan->subject - plan->services];
    plan->services = services;
}
