/* The tree to a plan, top to bottom, level by level. Stages are in stages.c. */
#include "plan/plan.h"

#include <assert.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

enum { SERVICE_SETTINGS = 1000, TEXT_BYTES = 200 };

const char *plan_beside(struct reader *reader, const char *name)
{
    const char *slash = strrchr(reader->path, '/');
    if (name[0] == '/' || slash == NULL)
        return name;
    return pl_format(reader->arena, "%.*s/%s", (int)(slash - reader->path), reader->path, name);
}

enum pl_code plan_need_map(struct reader *reader, const struct node *node, const char *owner, const char *example)
{
    if (node->type == NODE_MAP)
        return PL_OK;
    plan_fail(reader, node, "%s is not a map", owner);
    pl_err_hint(reader->err, "Write keys and values, such as %s.", example);
    return reader->err->code;
}

enum pl_code plan_refuse_name(struct reader *reader, const struct node *node, const char *what)
{
    plan_fail(reader, node, "%s cannot be the name of a %s", plan_shown(reader->arena, node->text), what);
    pl_err_hint(reader->err,
                "A name has letters, digits, \"_\", \"-\" and \".\", begins with a letter or a digit and has at most "
                "63 characters.");
    return reader->err->code;
}

/* One value of a simple form, stored at the field's offset. */

static enum pl_code take_text(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    for (size_t i = 0; i < node->length; i++)
        if ((unsigned char)node->text[i] < 0x20 && node->text[i] != '\t') {
            plan_fail(reader, node, "\"%s\" has more than one line", field->name);
            pl_err_hint(reader->err, "Write it in one line.");
            return reader->err->code;
        }
    if (node->length == 0 || node->length > TEXT_BYTES) {
        plan_fail(reader, node, "\"%s\" is %s", field->name, node->length == 0 ? "empty" : "too long");
        pl_err_hint(reader->err, "Write a text of 1 to %d bytes.", TEXT_BYTES);
        return reader->err->code;
    }
    memcpy(at, &node->text, sizeof node->text);
    return PL_OK;
}

static enum pl_code take_integer(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    int64_t value;
    enum pl_num_result result = pl_num_i64(node->text, node->length, &value);
    bool out_of_range = result == PL_NUM_RANGE;
    if (result == PL_NUM_OK && (double)value >= field->low && (double)value <= field->high) {
        memcpy(at, &value, sizeof value);
        return PL_OK;
    }
    plan_fail(reader, node, "\"%s\" is %s, %s", field->name, plan_shown(reader->arena, node->text),
              result == PL_NUM_OK || out_of_range ? "out of its range" : "not a whole number");
    pl_err_hint(reader->err, "Write a whole number from %.0f to %.0f.", field->low, field->high);
    return reader->err->code;
}

static enum pl_code take_name(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    (void)field;
    if (!plan_is_name(node->text))
        return plan_refuse_name(reader, node, "stage");
    memcpy(at, &node->text, sizeof node->text);
    return PL_OK;
}

static enum pl_code take_version(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    int64_t major;
    if (pl_num_i64(node->text, node->length, &major) == PL_NUM_OK && major >= 10 && major <= 99 && node->length == 2) {
        memcpy(at, &node->text, sizeof node->text);
        return PL_OK;
    }
    plan_fail(reader, node, "\"%s\" is %s, not a major version of PostgreSQL", field->name,
              plan_shown(reader->arena, node->text));
    pl_err_hint(reader->err, "Write the major version alone, such as 15.");
    return reader->err->code;
}

static enum pl_code take_path(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    if (node->length == 0) {
        plan_fail(reader, node, "\"%s\" is an empty path", field->name);
        pl_err_hint(reader->err, "Write a path, or remove the line.");
        return reader->err->code;
    }
    const char *path = plan_beside(reader, node->text);
    memcpy(at, &path, sizeof path);
    return PL_OK;
}

static enum pl_code take_user(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (strcmp(node->text, "root") == 0) {
        plan_fail(reader, node, "\"%s\" is root", field->name);
        pl_err_hint(reader->err, "PostgreSQL refuses to run as root; name an ordinary user.");
        return reader->err->code;
    }
    if (node->length == 0 || node->length > 32 || node->text[0] == '-' || strspn(node->text, allowed) != node->length) {
        plan_fail(reader, node, "%s cannot be the name of a user", plan_shown(reader->arena, node->text));
        pl_err_hint(reader->err, "Write the name of a user of this system, such as postgres.");
        return reader->err->code;
    }
    memcpy(at, &node->text, sizeof node->text);
    return PL_OK;
}

static enum pl_code take_choice(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    for (size_t i = 0; field->choices[i] != NULL; i++)
        if (strcmp(field->choices[i], node->text) == 0) {
            memcpy(at, &field->choices[i], sizeof field->choices[i]);
            return PL_OK;
        }
    plan_fail(reader, node, "unknown kind %s", plan_shown(reader->arena, node->text));
    plan_hint_nearest(reader, node->text, field->choices, "The kinds known here are");
    return reader->err->code;
}

static enum pl_code take_order(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    for (int64_t i = 0; field->choices[i] != NULL; i++)
        if (strcmp(field->choices[i], node->text) == 0) {
            memcpy(at, &i, sizeof i);
            return PL_OK;
        }
    plan_fail(reader, node, "\"%s\" cannot be %s", field->name, plan_shown(reader->arena, node->text));
    plan_hint_nearest(reader, node->text, field->choices, "The choices are");
    return reader->err->code;
}

/* The words that YAML readers take for true and false. */
static enum pl_code take_truth(struct reader *reader, const struct field *field, const struct node *node, bool *ret_truth)
{
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(node->text, words[i][k]) == 0) {
                *ret_truth = k == 1;
                return PL_OK;
            }
    plan_fail(reader, node, "\"%s\" is %s, neither yes nor no", field->name, plan_shown(reader->arena, node->text));
    pl_err_hint(reader->err, "Write yes or no.");
    return reader->err->code;
}

static enum pl_code take_flag(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    return take_truth(reader, field, node, at);
}

static enum pl_code take_no_flag(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    bool truth = false;
    enum pl_code code = take_truth(reader, field, node, &truth);
    if (code == PL_OK)
        *(bool *)at = !truth;
    return code;
}

/* As a stage's parameter of the same type and range is taken. */
static enum pl_code take_duration(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    const struct plan_key key = {.name = field->name, .type = PLAN_TYPE_DURATION, .low = field->low, .high = field->high};
    struct plan_params scratch = {0};
    enum pl_code code = plan_take_param(reader, &key, node, &scratch);
    if (code == PL_OK)
        memcpy(at, &scratch, sizeof(int64_t));
    return code;
}

static enum pl_code take_kind(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        if (strcmp(plan_kind_names[kind], node->text) == 0) {
            *(enum plan_kind *)at = (enum plan_kind)kind;
            return PL_OK;
        }
    plan_fail(reader, node, "unknown stage kind %s", plan_shown(reader->arena, node->text));
    plan_hint_nearest(reader, node->text, field->choices, "The stage kinds are");
    return reader->err->code;
}

/* What has keys of its own. */

enum pl_code plan_check_setting(struct reader *reader, const struct node *key, const struct node *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    const char *shown = plan_shown(reader->arena, key->text);
    if (key->length == 0 || key->length > 63 || strspn(key->text, letters) == 0 || strspn(key->text, more) != key->length) {
        plan_fail(reader, key, "%s cannot be the name of a setting", shown);
        pl_err_hint(reader->err,
                    "Names of settings have lower-case letters, digits, \"_\" and \".\", such as shared_buffers.");
        return reader->err->code;
    }
    const char *refusal = plan_setting_refusal(key->text);
    if (refusal != NULL) {
        plan_fail(reader, key,
                  plan_setting_is_secret(key->text) ? "the setting %s is refused: %s"
                                                    : "the setting %s belongs to Plimsoll: %s",
                  shown, refusal);
        pl_err_hint(reader->err, "Remove it from \"settings\".");
        return reader->err->code;
    }
    enum pl_code code = plan_need_scalar(reader, key->text, value);
    if (code != PL_OK)
        return code;
    for (size_t i = 0; i < value->length; i++)
        if ((unsigned char)value->text[i] < 0x20) {
            plan_fail(reader, value, "the setting %s has more than one line", shown);
            pl_err_hint(reader->err, "Write its value in one line, as the configuration file of the server would have it.");
            return reader->err->code;
        }
    return PL_OK;
}

enum pl_code plan_take_settings(struct reader *reader, const struct node *node, const char *owner,
                                const struct plan_setting **ret_settings, size_t *ret_count)
{
    enum pl_code code = plan_need_map(reader, node, owner, "{shared_buffers: 256MB}");
    if (code != PL_OK)
        return code;
    if (node->count > SERVICE_SETTINGS)
        return pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "%s has %zu entries, more than %d",
                         owner, node->count, SERVICE_SETTINGS);
    struct plan_setting *settings = pl_alloc(reader->arena, node->count, sizeof *settings);
    for (size_t i = 0; i < node->count; i++) {
        code = plan_check_setting(reader, node->keys[i], node->items[i]);
        if (code != PL_OK)
            return code;
        settings[i] =
            (struct plan_setting){node->keys[i]->text, node->items[i]->text, node->keys[i]->line, node->keys[i]->col};
    }
    *ret_settings = settings;
    *ret_count = node->count;
    return PL_OK;
}

static enum pl_code take_settings(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan_service *service = into;
    (void)field;
    return plan_take_settings(reader, node, "\"settings\"", &service->settings, &service->setting_count);
}

enum pl_code plan_take_level(struct reader *reader, const struct level *level, const struct node *node, const char *owner,
                             const char *example, void *into)
{
    enum pl_code code = plan_need_map(reader, node, owner, example);
    if (code == PL_OK)
        code = plan_check_known(reader, level, node, owner);
    return code == PL_OK ? plan_take_fields(reader, level, node, owner, into) : code;
}

static enum pl_code take_data(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    (void)field;
    return plan_take_level(reader, &plan_level_data, node, "\"data\"", "{kind: tpcb, scale: 10}", into);
}

static enum pl_code take_page(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    (void)field;
    return plan_take_level(reader, &plan_level_page, node, "\"page\"", "{title: Hardware requirements}", into);
}

static enum pl_code take_http(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    (void)field;
    return plan_take_level(reader, &plan_level_http, node, "\"http\"", "{http2: yes, max_time: 5s}", into);
}

static enum pl_code take_service(struct reader *reader, const struct node *key, const struct node *node,
                                 struct plan_service *service)
{
    if (!plan_is_name(key->text))
        return plan_refuse_name(reader, key, "service");
    for (size_t i = 0; plan_reserved_services[i] != NULL; i++)
        if (strcmp(plan_reserved_services[i], key->text) == 0) {
            plan_fail(reader, key, "\"%s\" cannot be the name of a service: figures use it for something else", key->text);
            pl_err_hint(reader->err, "Choose another name than %s.",
                        plan_join(reader->arena, plan_reserved_services, " and "));
            return reader->err->code;
        }
    *service = (struct plan_service){.name = key->text, .scope = key->text, .line = key->line, .col = key->col};
    const char *owner = pl_format(reader->arena, "service \"%s\"", key->text);
    enum pl_code code = plan_take_level(reader, &plan_level_service, node, owner, "{kind: postgres}", service);
    return code == PL_OK ? plan_check_service(reader, service, node) : code;
}

static enum pl_code take_services(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan *plan = into;
    enum pl_code code = plan_need_map(reader, node, "\"services\"", "db: {kind: postgres}");
    if (code != PL_OK)
        return code;
    if (node->count == 0) {
        plan_fail(reader, node, "\"%s\" is empty", field->name);
        pl_err_hint(reader->err, "Name at least one service, such as db: {kind: postgres}.");
        return reader->err->code;
    }
    if (node->count > PL_MAX_SERVICES)
        return pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "\"%s\" has %zu entries, more than %d",
                         field->name, node->count, PL_MAX_SERVICES);
    struct plan_service *services = pl_alloc(reader->arena, node->count, sizeof *services);
    for (size_t i = 0; i < node->count && code == PL_OK; i++)
        code = take_service(reader, node->keys[i], node->items[i], &services[i]);
    plan->services = services;
    plan->service_count = node->count;
    return code;
}

static const char hurl_end[] = ".hurl";

static enum pl_code read_script(struct reader *reader, const struct node *node, struct plan_script *script)
{
    struct pl_err file_err = {0};
    char *text;
    if (pl_file_read(script->path, PL_MAX_SCRIPT_BYTES, reader->arena, &text, &script->length, &file_err) != PL_OK) {
        bool told = file_err.file[0] != '\0'; /* then `what` leaves the path out */
        pl_err_at(reader->err, PL_INPUT, reader->path, node->line, node->col, "script \"%s\": %s%s%s", script->name,
                  told ? plan_shown(reader->arena, script->path) : "", told ? " " : "", file_err.what);
        pl_err_hint(reader->err, "Paths of scripts are relative to the folder of the plan.");
        return reader->err->code;
    }
    if (script->length == 0) {
        plan_fail(reader, node, "script \"%s\": %s is empty", script->name, plan_shown(reader->arena, script->path));
        pl_err_hint(reader->err,
                    script->is_hurl ? "Write at least one request into it." : "Write at least one SQL command into it.");
        return reader->err->code;
    }
    script->text = text;
    return PL_OK;
}

static enum pl_code take_script(struct reader *reader, const struct node *key, const struct node *node,
                                struct plan_script *script)
{
    if (!plan_is_name(key->text))
        return plan_refuse_name(reader, key, "script");
    for (size_t i = 0; reader->builtin_names[i] != NULL; i++)
        if (strcmp(reader->builtin_names[i], key->text) == 0) {
            plan_fail(reader, key, "\"%s\" is the name of a builtin script", key->text);
            pl_err_hint(reader->err, "Choose another name, so that the page cannot be misread.");
            return reader->err->code;
        }
    enum pl_code code = plan_need_scalar(reader, key->text, node);
    if (code != PL_OK)
        return code;
    *script = (struct plan_script){
        .name = key->text, .path = plan_beside(reader, node->text), .line = key->line, .col = key->col};
    script->is_hurl =
        node->length > strlen(hurl_end) && strcmp(node->text + node->length - strlen(hurl_end), hurl_end) == 0;
    return read_script(reader, node, script);
}

static enum pl_code take_scripts(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan *plan = into;
    enum pl_code code = plan_need_map(reader, node, "\"scripts\"", "{mine: mine.sql}");
    if (code != PL_OK)
        return code;
    if (node->count > PL_MAX_SCRIPTS)
        return pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "\"%s\" has %zu entries, more than %d",
                         field->name, node->count, PL_MAX_SCRIPTS);
    struct plan_script *scripts = pl_alloc(reader->arena, node->count, sizeof *scripts);
    for (size_t i = 0; i < node->count && code == PL_OK; i++)
        code = take_script(reader, node->keys[i], node->items[i], &scripts[i]);
    plan->scripts = scripts;
    plan->script_count = node->count;
    return code;
}

/* Once all services are known. */
static enum pl_code find_subject(struct reader *reader, const struct node *root)
{
    struct plan *plan = reader->plan;
    const struct node *node = plan_node_find(root, "subject");
    enum pl_code code = node != NULL ? plan_need_scalar(reader, "subject", node) : PL_OK;
    if (code != PL_OK)
        return code;
    const char **names = pl_alloc(reader->arena, plan->service_count + 1, sizeof *names);
    for (size_t i = 0; i < plan->service_count; i++)
        names[i] = plan->services[i].name;
    if (node == NULL && plan->service_count > 1) {
        plan_fail(reader, root, "the plan has %zu services and no \"subject\"", plan->service_count);
        pl_err_hint(reader->err, "Add \"subject:\" with the one that the study is about: %s.",
                    plan_join(reader->arena, names, " or "));
        return reader->err->code;
    }
    for (size_t i = 0; i < plan->service_count; i++)
        if (node == NULL || strcmp(names[i], node->text) == 0) {
            plan->subject = &plan->services[i];
            return PL_OK;
        }
    plan_fail(reader, node, "\"subject\" is %s, which is no service of the plan", plan_shown(reader->arena, node->text));
    plan_hint_nearest(reader, node->text, names, "The services are");
    return reader->err->code;
}

static enum pl_code take_stages(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    (void)field;
    assert(into == reader->plan);
    enum pl_code code = find_subject(reader, reader->root);
    return code == PL_OK ? plan_take_stages(reader, node) : code;
}

/* `whole`: takes the struct of the level instead of the field in it. */
static const struct {
    enum pl_code (*take)(struct reader *reader, const struct field *field, const struct node *node, void *into);
    bool whole;
} takers[FORM_COUNT] = {
    [FORM_TEXT] = {take_text, false},
    [FORM_INTEGER] = {take_integer, false},
    [FORM_NAME] = {take_name, false},
    [FORM_VERSION] = {take_version, false},
    [FORM_PATH] = {take_path, false},
    [FORM_USER] = {take_user, false},
    [FORM_CHOICE] = {take_choice, false},
    [FORM_KIND] = {take_kind, false},
    [FORM_SETTINGS] = {take_settings, true},
    [FORM_DATA] = {take_data, true},
    [FORM_PAGE] = {take_page, true},
    [FORM_SERVICES] = {take_services, true},
    [FORM_SCRIPTS] = {take_scripts, true},
    [FORM_STAGES] = {take_stages, true},
    [FORM_OVER] = {NULL, true},
    [FORM_SUBJECT] = {NULL, true},
    [FORM_FLAG] = {take_flag, false},
    [FORM_NO_FLAG] = {take_no_flag, false},
    [FORM_DURATION] = {take_duration, false},
    [FORM_ORDER] = {take_order, false},
    [FORM_URL] = {plan_take_url, false},
    [FORM_HTTP] = {take_http, true},
    [FORM_VARIABLES] = {plan_take_variables, true},
    [FORM_FEEDS] = {plan_take_feeds, true},
    [FORM_TENANTS] = {plan_take_tenants, true},
    [FORM_PATTERN] = {NULL, true},
    [FORM_PATTERNS] = {NULL, true},
};

enum pl_code plan_take_field(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    if (takers[field->form].take == NULL) /* its owner does it, once it knows more */
        return PL_OK;
    if (takers[field->form].whole)
        return takers[field->form].take(reader, field, node, into);
    enum pl_code code = plan_need_scalar(reader, field->name, node);
    return code == PL_OK ? takers[field->form].take(reader, field, node, (char *)into + field->offset) : code;
}

enum pl_code plan_take_fields(struct reader *reader, const struct level *level, const struct node *map, const char *owner,
                              void *into)
{
    for (size_t i = 0; i < level->count; i++) {
        const struct field *field = &level->fields[i];
        const struct node *node = plan_node_find(map, field->name);
        if (node == NULL && field->required) {
            plan_fail(reader, map, "%s has no \"%s\"", owner, field->name);
            if (field->choices != NULL)
                pl_err_hint(reader->err, "Add \"%s:\" with %s.", field->name,
                            plan_join(reader->arena, field->choices, " or "));
            pl_err_hint(reader->err, "Add \"%s:\": %s.", field->name, field->doc);
            return reader->err->code;
        }
        struct node unset = {.type = NODE_SCALAR, .line = map->line, .col = map->col};
        if (node == NULL && field->unset != NULL) {
            unset.text = field->unset;
            unset.length = strlen(field->unset);
            node = &unset;
        }
        enum pl_code code = node != NULL ? plan_take_field(reader, field, node, into) : PL_OK;
        if (code != PL_OK)
            return code;
    }
    return PL_OK;
}

static enum pl_code parse_tree(struct reader *reader, const struct node *root)
{
    if (root->type != NODE_MAP) {
        plan_fail(reader, root, plan_node_is_null(root) ? "the plan is empty" : "the plan is not a map of keys");
        pl_err_hint(reader->err, "A plan needs at least \"study:\", \"services:\" and \"stages:\"; see docs/plans.md.");
        return reader->err->code;
    }
    reader->root = root;
    enum pl_code code = plan_take_level(reader, &plan_level_top, root, "the plan", "study: ...", reader->plan);
    if (code == PL_OK && reader->plan->page_title == NULL)
        reader->plan->page_title = reader->plan->title;
    return code;
}

enum pl_code plan_parse(const char *path, const char *text, size_t length, const char *const *builtin_names,
                        struct pl_arena *arena, struct plan **ret_plan, struct pl_err *err)
{
    if (length > PL_MAX_PLAN_BYTES)
        return pl_err_at(err, PL_LIMIT, path, 0, 0, "has %zu bytes, more than the %d allowed", length, PL_MAX_PLAN_BYTES);
    struct plan *plan = pl_alloc(arena, 1, sizeof *plan);
    plan->path = pl_strdup(arena, path);
    struct reader reader = {.path = plan->path, .builtin_names = builtin_names, .arena = arena, .err = err, .plan = plan};
    struct node *root = NULL;
    enum pl_code code = plan_node_read(plan->path, text, length, arena, &root, err);
    if (code == PL_OK)
        code = parse_tree(&reader, root);
    if (code != PL_OK)
        return code;
    plan->text = plan_text_kept(&reader, text, length, &plan->length);
    *ret_plan = plan;
    return PL_OK;
}

enum pl_code plan_read(const char *path, const char *const *builtin_names, struct pl_arena *arena, struct plan **ret_plan,
                       struct pl_err *err)
{
    char *text;
    size_t length;
    enum pl_code code = pl_file_read(path, PL_MAX_PLAN_BYTES, arena, &text, &length, err);
    if (code == PL_OK)
        return plan_parse(path, text, length, builtin_names, arena, ret_plan, err);
    if (code == PL_INPUT)
        pl_err_hint(err, "Name the plan file in it, such as %s/quick.yaml.", path);
    else if (code == PL_LIMIT)
        pl_err_hint(err, "A plan is a short text file; is this the right one?");
    else if (code == PL_NOT_FOUND)
        pl_err_hint(err, "Check the path; the plans that come with Plimsoll are in the folder plans.");
    return code;
}
