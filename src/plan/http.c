/* What plans say of HTTP, and of data for scripts: URLs, variables, feeds, tenants, and what goes with what. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

enum { VARIABLES_MOST = 1000, FEEDS_MOST = 64, COLUMNS_MOST = 100, URL_BYTES = 2000, NAME_BYTES = 63 };

/* ---- names and texts ---- */

static bool has_controls(const struct node *node)
{
    for (size_t i = 0; i < node->length; i++)
        if ((unsigned char)node->text[i] < 0x20 || node->text[i] == 0x7f)
            return true;
    return false;
}

/* What Hurl files take as a variable's name; pgbench's scripts cannot use one with a hyphen. */
static enum pl_code check_variable(struct reader *reader, const struct node *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    if (key->length > 0 && key->length <= NAME_BYTES && strspn(key->text, letters) > 0 &&
        strspn(key->text, more) == key->length)
        return PL_OK;
    plan_fail(reader, key, "%s cannot be the name of a variable", plan_shown(reader->arena, key->text));
    pl_err_hint(reader->err, "Names of variables have letters, digits, \"_\" and \"-\", and begin with a letter or \"_\".");
    return reader->err->code;
}

static enum pl_code check_line(struct reader *reader, const struct node *node, const char *what)
{
    if (!has_controls(node))
        return PL_OK;
    plan_fail(reader, node, "%s has more than one line, or control characters", what);
    pl_err_hint(reader->err, "Write it in one line.");
    return reader->err->code;
}

static bool is_http_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

enum pl_code plan_take_url(struct reader *reader, const struct field *field, const struct node *node, void *at)
{
    (void)field;
    const char *wrong = NULL;
    if (!is_http_url(node->text))
        wrong = "does not begin with http:// or https://";
    else if (node->length > URL_BYTES)
        wrong = "is too long";
    else if (strpbrk(node->text, " \t") != NULL || has_controls(node))
        wrong = "has blanks in it";
    else if (strcspn(strstr(node->text, "://") + 3, "/?#") == 0)
        wrong = "names no host";
    else if (strchr(node->text, '#') != NULL)
        wrong = "has a fragment, which no server sees";
    else if (strchr(node->text, '?') != NULL)
        wrong = "has a query, which no path of a script can follow";
    if (wrong == NULL) {
        plan_hide_url(reader, node);
        memcpy(at, &node->text, sizeof node->text);
        return PL_OK;
    }
    plan_fail(reader, node, "the URL %s", wrong); /* not its text: it may hold a password */
    pl_err_hint(reader->err, "Write scheme, host and port, such as http://127.0.0.1:8080 or https://example.org/api.");
    return reader->err->code;
}

/* ---- variables ---- */

enum pl_code plan_take_variables(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan *plan = into;
    enum pl_code code = plan_need_map(reader, node, "\"variables\"", "{user: \"random(1, 100)\"}");
    if (code == PL_OK && node->count > VARIABLES_MOST)
        code = pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "\"%s\" has %zu entries, more than %d",
                         field->name, node->count, VARIABLES_MOST);
    if (code != PL_OK)
        return code;
    struct plan_variable *variables = pl_alloc(reader->arena, node->count, sizeof *variables);
    for (size_t i = 0; i < node->count && code == PL_OK; i++) {
        const struct node *key = node->keys[i], *value = node->items[i];
        code = check_variable(reader, key);
        if (code == PL_OK && value->type != NODE_SCALAR)
            code = plan_need_scalar(reader, key->text, value);
        if (code == PL_OK)
            code = check_line(reader, value, pl_format(reader->arena, "the variable \"%s\"", key->text));
        variables[i] = (struct plan_variable){.name = key->text, .line = value->line, .col = value->col};
        if (code == PL_OK)
            variables[i].text = plan_node_is_null(value) ? "null" : value->text;
        if (code == PL_OK && plan_setting_is_secret(key->text))
            plan_hide(reader, value);
    }
    plan->variables = variables;
    plan->variable_count = node->count;
    return code;
}

/* ---- feeds ---- */

enum pl_code plan_take_feeds(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan *plan = into;
    enum pl_code code = plan_need_map(reader, node, "\"feeds\"", "users: {file: users.csv}");
    if (code == PL_OK && node->count > FEEDS_MOST)
        code = pl_err_at(reader->err, PL_LIMIT, reader->path, node->line, node->col, "\"%s\" has %zu entries, more than %d",
                         field->name, node->count, FEEDS_MOST);
    if (code != PL_OK)
        return code;
    struct plan_feed *feeds = pl_alloc(reader->arena, node->count, sizeof *feeds);
    for (size_t i = 0; i < node->count && code == PL_OK; i++) {
        const struct node *key = node->keys[i];
        if (!plan_is_name(key->text))
            return plan_refuse_name(reader, key, "feed");
        feeds[i] = (struct plan_feed){.name = key->text, .line = key->line, .col = key->col};
        code = plan_take_level(reader, &plan_level_feed, node->items[i], pl_format(reader->arena, "feed \"%s\"", key->text),
                               "{file: users.csv}", &feeds[i]);
    }
    plan->feeds = feeds;
    plan->feed_count = node->count;
    return code;
}

/* ---- tenants ---- */

static bool is_header(const char *name)
{
    return strncmp(name, PLAN_HEADER_PREFIX, strlen(PLAN_HEADER_PREFIX)) == 0;
}

/* Headers whose values open doors. */
static bool is_secret_header(const char *name)
{
    static const char *const known[] = {"authorization", "proxy-authorization", "cookie"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcasecmp(name, known[i]) == 0)
            return true;
    return plan_setting_is_secret(name) || strcasestr(name, "key") != NULL;
}

static enum pl_code check_header(struct reader *reader, const struct node *key)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    const char *name = key->text + strlen(PLAN_HEADER_PREFIX);
    if (name[0] != '\0' && strspn(name, token) == strlen(name))
        return PL_OK;
    plan_fail(reader, key, "%s cannot be the name of a header", plan_shown(reader->arena, name));
    pl_err_hint(reader->err, "Write the header's name behind \"header.\", such as header.X-Tenant.");
    return reader->err->code;
}

/* Columns under construction. */
struct columns {
    struct plan_column *list;
    size_t count, capacity;
};

static enum pl_code add_column(struct reader *reader, struct columns *columns, const struct node *key,
                               const struct node *value)
{
    enum pl_code code = plan_need_scalar(reader, key->text, value);
    if (code == PL_OK)
        code = check_line(reader, value, pl_format(reader->arena, "\"%s\"", key->text));
    if (code != PL_OK)
        return code;
    if (strcmp(key->text, "url") == 0 && !is_http_url(value->text)) {
        plan_fail(reader, value, "the URL of the tenants does not begin with http:// or https://");
        pl_err_hint(reader->err, "Write a pattern such as http://127.0.0.1:8080/t{n}.");
        return reader->err->code;
    }
    if (columns->count == COLUMNS_MOST)
        return pl_err_at(reader->err, PL_LIMIT, reader->path, key->line, key->col, "the tenants have more than %d columns",
                         COLUMNS_MOST);
    if (strcmp(key->text, "url") == 0)
        plan_hide_url(reader, value);
    else if (strcmp(key->text, "user") == 0 || plan_setting_is_secret(key->text) ||
             (is_header(key->text) && is_secret_header(key->text + strlen(PLAN_HEADER_PREFIX))))
        plan_hide(reader, value);
    columns->list = pl_grow(reader->arena, columns->list, columns->count, columns->count + 1, sizeof *columns->list,
                            &columns->capacity);
    columns->list[columns->count++] = (struct plan_column){.name = key->text, .text = value->text};
    return PL_OK;
}

static enum pl_code add_variables(struct reader *reader, struct columns *columns, const struct node *node)
{
    enum pl_code code = plan_need_map(reader, node, "\"variables\" of the tenants", "{shop: \"{n:04}\"}");
    for (size_t i = 0; code == PL_OK && i < node->count; i++) {
        code = check_variable(reader, node->keys[i]);
        for (size_t k = 0; code == PL_OK && k < plan_level_tenants.count; k++)
            if (strcmp(plan_level_tenants.fields[k].name, node->keys[i]->text) == 0) {
                plan_fail(reader, node->keys[i], "\"%s\" is a column of its own", node->keys[i]->text);
                pl_err_hint(reader->err, "Write it beside \"variables\", or choose another name.");
                code = reader->err->code;
            }
        if (code == PL_OK)
            code = add_column(reader, columns, node->keys[i], node->items[i]);
    }
    return code;
}

static enum pl_code take_columns(struct reader *reader, const struct node *node, struct plan_tenants *tenants)
{
    struct columns columns = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct node *key = node->keys[i];
        enum pl_code code = PL_OK;
        if (strcmp(key->text, "variables") == 0)
            code = add_variables(reader, &columns, node->items[i]);
        else if (strcmp(key->text, "count") != 0)
            code = add_column(reader, &columns, key, node->items[i]);
        if (code != PL_OK)
            return code;
    }
    if (columns.count == 0) {
        plan_fail(reader, node, "the tenants do not differ in anything");
        pl_err_hint(reader->err, "Write what they differ in, such as url: http://127.0.0.1:8080/t{n}.");
        return reader->err->code;
    }
    tenants->columns = columns.list;
    tenants->column_count = columns.count;
    return PL_OK;
}

/* `header.NAME` is none of the level's keys. */
static enum pl_code check_keys(struct reader *reader, const struct node *node)
{
    struct node known = *node;
    known.keys = pl_alloc(reader->arena, node->count, sizeof *known.keys);
    known.items = pl_alloc(reader->arena, node->count, sizeof *known.items);
    known.count = 0;
    for (size_t i = 0; i < node->count; i++) {
        if (is_header(node->keys[i]->text)) {
            enum pl_code code = check_header(reader, node->keys[i]);
            if (code != PL_OK)
                return code;
            continue;
        }
        known.keys[known.count] = node->keys[i];
        known.items[known.count++] = node->items[i];
    }
    return plan_check_known(reader, &plan_level_tenants, &known, "\"tenants\"");
}

enum pl_code plan_take_tenants(struct reader *reader, const struct field *field, const struct node *node, void *into)
{
    struct plan *plan = into;
    (void)field;
    struct plan_tenants *tenants = pl_alloc(reader->arena, 1, sizeof *tenants);
    *tenants = (struct plan_tenants){.line = node->line, .col = node->col};
    enum pl_code code = plan_need_map(reader, node, "\"tenants\"", "{count: 100, url: \"http://127.0.0.1:8080/t{n}\"}");
    if (code == PL_OK)
        code = check_keys(reader, node);
    if (code == PL_OK)
        code = plan_take_fields(reader, &plan_level_tenants, node, "\"tenants\"", tenants);
    if (code != PL_OK)
        return code;
    plan->tenants = tenants;
    if (tenants->path != NULL && node->count > 1) {
        plan_fail(reader, node, "\"tenants\" has a \"file\" and other keys beside it");
        pl_err_hint(reader->err, "A file holds all columns itself: remove the other keys, or \"file\".");
        return reader->err->code;
    }
    if (tenants->path != NULL)
        return PL_OK;
    if (plan_node_find(node, "count") == NULL) {
        plan_fail(reader, node, "\"tenants\" has neither \"file\" nor \"count\"");
        pl_err_hint(reader->err, "Name a file of targets, or say how many are made of patterns: count: 100.");
        return reader->err->code;
    }
    return take_columns(reader, node, tenants);
}

/* ---- what goes with what ---- */

enum pl_code plan_check_service(struct reader *reader, const struct plan_service *service, const struct node *map)
{
    static const char *const of_started[] = {"version", "directory", "user", "settings", "data", NULL};
    static const char *const of_attached[] = {"url", "http", NULL};
    bool attached = plan_speech_of(service) == PLAN_HTTP;
    for (const char *const *name = attached ? of_started : of_attached; *name != NULL; name++)
        for (size_t i = 0; i < map->count; i++) {
            if (strcmp(map->keys[i]->text, *name) != 0)
                continue;
            plan_fail(reader, map->keys[i], "service \"%s\" of kind \"%s\" does not take \"%s\"", service->name,
                      service->kind, *name);
            pl_err_hint(reader->err, attached
                                         ? "An attached server runs already: Plimsoll neither starts it nor sets it up."
                                         : "It belongs to services of kind attach.");
            return reader->err->code;
        }
    if (!attached || service->url != NULL)
        return PL_OK;
    plan_fail(reader, map, "service \"%s\" of kind \"attach\" has no \"url\"", service->name);
    pl_err_hint(reader->err, "Add where it is, such as url: http://127.0.0.1:8080.");
    return reader->err->code;
}

enum pl_code plan_check_script_speech(struct reader *reader, const struct node *node, const char *script)
{
    const struct plan *plan = reader->plan;
    const struct plan_script *file = NULL;
    for (size_t i = 0; i < plan->script_count; i++)
        if (strcmp(plan->scripts[i].name, script) == 0)
            file = &plan->scripts[i];
    bool is_hurl = file != NULL && file->is_hurl, wants_hurl = plan_speech_of(plan->subject) == PLAN_HTTP;
    if (is_hurl == wants_hurl)
        return PL_OK;
    plan_fail(reader, node, "script \"%s\" %s, and the subject \"%s\" is reached by %s", script,
              is_hurl ? "has requests of HTTP" : "has commands of SQL", plan->subject->name, wants_hurl ? "HTTP" : "SQL");
    if (wants_hurl)
        pl_err_hint(reader->err, "Name a script whose file ends in .hurl; builtin scripts speak SQL.");
    else
        pl_err_hint(reader->err, "Name a script of SQL, or make the subject a service of kind attach.");
    return reader->err->code;
}

/* Where a key of the stage stands, fixed or varied; NULL: nowhere. */
static const struct node *key_node(const struct node *map, const char *name)
{
    const struct node *over = plan_node_find(map, "over");
    const struct node *const maps[] = {map, over};
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; maps[m] != NULL && maps[m]->type == NODE_MAP && i < maps[m]->count; i++)
            if (strcmp(maps[m]->keys[i]->text, name) == 0)
                return maps[m]->keys[i];
    return NULL;
}

static const struct {
    enum plan_kind kind;
    const char *why;
} not_of_http[] = {
    {PLAN_HARDWARE, "its probes run beside the data of a service that Plimsoll has started"},
    {PLAN_FOOTPRINT, "nothing can be read of the memory and the CPU of a server that Plimsoll has not started"},
    {PLAN_STORAGE, "the sizes of its data cannot be read"},
};

static enum pl_code check_kind(struct reader *reader, const struct plan_stage *stage, const struct node *map)
{
    for (size_t i = 0; i < sizeof not_of_http / sizeof not_of_http[0]; i++) {
        if (not_of_http[i].kind != stage->kind)
            continue;
        plan_fail(reader, map, "a stage of kind \"%s\" cannot be asked of the attached service \"%s\": %s",
                  plan_kind_name(stage->kind), reader->plan->subject->name, not_of_http[i].why);
        pl_err_hint(reader->err, "Of an attached service stages of kind clients and rate can be asked.");
        return reader->err->code;
    }
    return PL_OK;
}

/* Users that wait between operations, and sessions. */
static enum pl_code check_sessions(struct reader *reader, const struct plan_stage *stage, const struct node *map)
{
    const struct node *think = key_node(map, "think"), *law = key_node(map, "session_law");
    bool has_session = stage->params.session > 0 || key_node(map, "session") != NULL;
    if (stage->kind != PLAN_RATE || has_session || (think == NULL && law == NULL))
        return PL_OK;
    const struct node *at = think != NULL ? think : law;
    plan_fail(reader, at, "\"%s\" without \"session\": in a stage of kind \"rate\" only users with sessions wait",
              at->text);
    pl_err_hint(reader->err, "Add \"session:\" with the number of operations of a user, or remove \"%s\".", at->text);
    return reader->err->code;
}

enum pl_code plan_check_speech(struct reader *reader, const struct plan_stage *stage, const struct node *map)
{
    const struct plan *plan = reader->plan;
    bool attached = plan_speech_of(plan->subject) == PLAN_HTTP;
    enum pl_code code = attached ? check_kind(reader, stage, map) : PL_OK;
    for (size_t i = 0; code == PL_OK && i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        const struct node *at = (key->kinds >> stage->kind & 1U) != 0 ? key_node(map, key->name) : NULL;
        if (at == NULL || plan_key_applies(plan, key))
            continue;
        plan_fail(reader, at, "\"%s\" is of %s, and the subject \"%s\" is reached by %s", key->name,
                  attached ? "SQL" : "HTTP", plan->subject->name, attached ? "HTTP" : "SQL");
        pl_err_hint(reader->err, "Remove it.");
        return reader->err->code;
    }
    if (code == PL_OK && !attached && plan->tenants != NULL) {
        pl_err_at(reader->err, PL_INPUT, reader->path, plan->tenants->line, plan->tenants->col,
                  "\"tenants\" are targets of HTTP, and the subject \"%s\" is reached by SQL", plan->subject->name);
        pl_err_hint(reader->err, "Remove them, or name a file of test data under \"feeds\".");
        return reader->err->code;
    }
    return code == PL_OK ? check_sessions(reader, stage, map) : code;
}
