/* `stages:`: each stage with its kind and its parameters; the matrix under `over:` is in over.c. */
#include "plan/plan.h"

#include <string.h>

#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

enum { KEYS_MAX = 64 };

/* Names of the keys that a stage of this kind takes, of this plan's subject. NULL-ended, each once. */
static void key_names(const struct plan *plan, enum plan_kind kind, bool with_fields, const char *names[static KEYS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; with_fields && i < plan_level_stage.count; i++)
        names[count++] = plan_level_stage.fields[i].name;
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        bool taken = (key->kinds >> kind & 1U) != 0 && plan_key_applies(plan, key);
        for (size_t j = 0; j < count && taken; j++)
            taken = strcmp(names[j], key->name) != 0;
        if (taken && count + 1 < KEYS_MAX)
            names[count++] = key->name;
    }
    names[count] = NULL;
}

static bool is_stage_field(const char *name)
{
    for (size_t i = 0; i < plan_level_stage.count; i++)
        if (strcmp(plan_level_stage.fields[i].name, name) == 0)
            return true;
    return false;
}

/* The kinds that take a parameter of this name; NULL when none does. */
static const char *takers_of(struct reader *reader, const char *name)
{
    const char *kinds[PLAN_KIND_COUNT + 1];
    size_t count = 0;
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        if (plan_stage_key((enum plan_kind)kind, name) != NULL)
            kinds[count++] = plan_kind_names[kind];
    kinds[count] = NULL;
    return count > 0 ? plan_join(reader->arena, kinds, " or ") : NULL;
}

/* A key of a stage or of its `over:` that its kind does not take. */
enum pl_code plan_refuse_key(struct reader *reader, const struct plan_stage *stage, const struct node *key, bool in_over)
{
    const char *names[KEYS_MAX];
    const char *kind = plan_kind_name(stage->kind), *shown = plan_shown(reader->arena, key->text);
    const char *takers = takers_of(reader, key->text);
    if (in_over && is_stage_field(key->text)) {
        plan_fail(reader, key, "%s cannot be varied", shown);
        pl_err_hint(reader->err, "Write a stage of its own for each.");
    } else if (takers != NULL) {
        plan_fail(reader, key, "a stage of kind \"%s\" does not take %s", kind, shown);
        pl_err_hint(reader->err, "It is taken by stages of kind %s.", takers);
    } else {
        plan_fail(reader, key, "unknown key %s in %s of kind \"%s\"", shown, in_over ? "\"over\" of a stage" : "a stage",
                  kind);
        key_names(reader->plan, stage->kind, !in_over, names);
        plan_hint_nearest(reader, key->text, names, "The keys here are");
    }
    return reader->err->code;
}

static enum pl_code take_stated(struct reader *reader, const struct node *map, struct plan_stage *stage)
{
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->keys[i]->text;
        if (is_stage_field(name))
            continue;
        const struct plan_key *key = plan_stage_key(stage->kind, name);
        if (key == NULL)
            return plan_refuse_key(reader, stage, map->keys[i], false);
        enum pl_code code = plan_take_param(reader, key, map->items[i], &stage->params);
        if (code != PL_OK)
            return code;
    }
    return PL_OK;
}

/* Stated, fixed or varied; the place for complaints. */
static const struct node *stated(const struct node *map, const char *name)
{
    const struct node *node = plan_node_find(map, name), *over = plan_node_find(map, "over");
    return node == NULL && over != NULL ? plan_node_find(over, name) : node;
}

static enum pl_code take_defaults(struct reader *reader, const struct node *map, struct plan_stage *stage)
{
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        if ((key->kinds >> stage->kind & 1U) == 0 || stated(map, key->name) != NULL)
            continue;
        if (key->unset == NULL) {
            plan_fail(reader, map, "the stage \"%s\" has no \"%s\"", stage->name, key->name);
            pl_err_hint(reader->err, "Add \"%s:\", or put it into \"over\": %s.", key->name, key->doc);
            return reader->err->code;
        }
        plan_params_set(&stage->params, key, key->unset);
    }
    return PL_OK;
}

/* A load ends after a time, or after a number of operations in all or of each client. */
static enum pl_code check_length(struct reader *reader, const struct node *map, const struct plan_stage *stage)
{
    static const char *const lengths[] = {"operations", "transactions", "for", "warm_up"};
    enum { COUNTS = 2, LENGTHS = sizeof lengths / sizeof lengths[0] };
    const int64_t counts[COUNTS] = {stage->params.operations, stage->params.transactions};
    for (size_t i = 0; i < COUNTS; i++) {
        const struct node *count = stated(map, lengths[i]);
        if (count == NULL || (count->type == NODE_SCALAR && counts[i] == 0))
            continue;
        for (size_t k = i + 1; k < LENGTHS; k++) {
            const struct node *other = stated(map, lengths[k]);
            if (other == NULL || (k < COUNTS && other->type == NODE_SCALAR && counts[k] == 0))
                continue;
            plan_fail(reader, count, "\"%s\" and \"%s\" cannot both be given", lengths[i], lengths[k]);
            pl_err_hint(reader->err, "A load ends after a number of operations or after a time; \"%s\" is in line %d.",
                        lengths[k], other->line);
            return reader->err->code;
        }
    }
    return PL_OK;
}

static enum pl_code check_name(struct reader *reader, const struct node *map, const struct plan_stage *stages, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(stages[i].name, stages[index].name) != 0)
            continue;
        const struct node *name = plan_node_find(map, "name");
        plan_fail(reader, name != NULL ? name : map, "a second stage has the name \"%s\"", stages[index].name);
        pl_err_hint(reader->err, "The first is in line %d; give one of them a \"name:\" of its own.", stages[i].line);
        return reader->err->code;
    }
    return PL_OK;
}

static enum pl_code take_stage(struct reader *reader, const struct node *node, struct plan_stage *stages, size_t index)
{
    struct plan_stage *stage = &stages[index];
    if (node->type != NODE_MAP) {
        plan_fail(reader, node, "stage %zu is not a map", index + 1);
        pl_err_hint(reader->err, "Write it as a map with a kind, such as {kind: hardware}.");
        return reader->err->code;
    }
    stage->line = node->line;
    stage->col = node->col;
    const char *owner = pl_format(reader->arena, "stage %zu", index + 1);
    enum pl_code code = plan_take_fields(reader, &plan_level_stage, node, owner, stage);
    if (code != PL_OK)
        return code;
    if (stage->name == NULL)
        stage->name = plan_kind_name(stage->kind);
    code = check_name(reader, node, stages, index);
    if (code == PL_OK)
        code = take_stated(reader, node, stage);
    if (code == PL_OK)
        code = plan_take_over(reader, node, stages, index);
    if (code == PL_OK)
        code = take_defaults(reader, node, stage);
    if (code == PL_OK)
        code = check_length(reader, node, stage);
    return code == PL_OK ? plan_check_speech(reader, stage, node) : code;
}

enum pl_code plan_take_stages(struct reader *reader, const struct node *list)
{
    struct plan *plan = reader->plan;
    if (list->type != NODE_LIST || list->count == 0) {
        bool empty = list->type == NODE_LIST || plan_node_is_null(list);
        plan_fail(reader, list, empty ? "\"stages\" is empty" : "\"stages\" is not a list");
        pl_err_hint(reader->err, "Write at least one stage as an item of a list: - {kind: hardware}.");
        return reader->err->code;
    }
    if (list->count > PL_MAX_STAGES) {
        pl_err_at(reader->err, PL_LIMIT, reader->path, list->line, list->col, "the plan has %zu stages, more than %d",
                  list->count, PL_MAX_STAGES);
        pl_err_hint(reader->err, "Split it into several plans.");
        return reader->err->code;
    }
    struct plan_stage *stages = pl_alloc(reader->arena, list->count, sizeof *stages);
    for (size_t i = 0; i < list->count; i++) {
        enum pl_code code = take_stage(reader, list->items[i], stages, i);
        if (code != PL_OK)
            return code;
    }
    plan->stages = stages;
    plan->stage_count = list->count;
    plan_tell_services(reader);
    return PL_OK;
}
