/* The reference of all keys as Markdown, from the tables. */
#include "plan/plan.h"

#include "base/buf.h"
#include "plan/plan_int.h"

#include "base/ban.h"

static const char *form_text(const struct field *field)
{
    static const char *const texts[FORM_COUNT] = {[FORM_TEXT] = "one line of text",
                                                  [FORM_INTEGER] = "whole number",
                                                  [FORM_NAME] = "name",
                                                  [FORM_VERSION] = "whole number",
                                                  [FORM_PATH] = "path",
                                                  [FORM_USER] = "user name",
                                                  [FORM_CHOICE] = "one of",
                                                  [FORM_KIND] = "one of",
                                                  [FORM_SETTINGS] = "map: setting to value",
                                                  [FORM_DATA] = "map, see below",
                                                  [FORM_PAGE] = "map, see below",
                                                  [FORM_SERVICES] = "map: name to service",
                                                  [FORM_SUBJECT] = "name of a service",
                                                  [FORM_SCRIPTS] = "map: name to path",
                                                  [FORM_STAGES] = "list of stages",
                                                  [FORM_OVER] = "map: key to values",
                                                  [FORM_FLAG] = "`yes` or `no`",
                                                  [FORM_NO_FLAG] = "`yes` or `no`",
                                                  [FORM_DURATION] = "duration",
                                                  [FORM_ORDER] = "one of",
                                                  [FORM_URL] = "URL",
                                                  [FORM_HTTP] = "map, see below",
                                                  [FORM_VARIABLES] = "map: name to value",
                                                  [FORM_FEEDS] = "map: name to feed",
                                                  [FORM_TENANTS] = "map, see below",
                                                  [FORM_PATTERN] = "pattern",
                                                  [FORM_PATTERNS] = "map: name to pattern"};
    return texts[field->form];
}

static void put_choices(struct pl_buf *buf, const char *const *choices)
{
    for (size_t i = 0; choices[i] != NULL; i++)
        pl_buf_printf(buf, "%s`%s`", i > 0 ? ", " : "", choices[i]);
}

static void put_level(struct pl_buf *buf, const struct level *level, struct pl_arena *arena)
{
    pl_buf_printf(buf, "### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", level->heading);
    for (size_t i = 0; i < level->count; i++) {
        const struct field *field = &level->fields[i];
        pl_buf_printf(buf, "| `%s` | %s", field->name, form_text(field));
        if (field->choices != NULL) {
            pl_buf_put(buf, " ");
            put_choices(buf, field->choices);
        }
        if (field->form == FORM_INTEGER)
            pl_buf_printf(buf, ", %.0f to %.0f", field->low, field->high);
        if (field->form == FORM_DURATION)
            pl_buf_printf(buf, ", %s to %s", plan_number_text(PLAN_TYPE_DURATION, field->low, arena),
                          plan_number_text(PLAN_TYPE_DURATION, field->high, arena));
        if (field->unset != NULL)
            pl_buf_printf(buf, " | `%s`", field->unset);
        else
            pl_buf_printf(buf, " | %s", field->required ? "required" : field->fallback);
        pl_buf_printf(buf, " | %s |\n", field->doc);
    }
    pl_buf_put(buf, "\n");
}

static void put_key(struct pl_buf *buf, const struct plan_key *key, struct pl_arena *arena)
{
    static const char *const types[] = {[PLAN_TYPE_COUNT] = "whole number",
                                        [PLAN_TYPE_DURATION] = "duration",
                                        [PLAN_TYPE_RATE] = "rate",
                                        [PLAN_TYPE_NAME] = "name of a script, or map: name to weight",
                                        [PLAN_TYPE_CHOICE] = "one of "};
    pl_buf_printf(buf, "| `%s` | %s", key->name, types[key->type]);
    if (key->type == PLAN_TYPE_CHOICE)
        put_choices(buf, key->choices);
    else if (key->type != PLAN_TYPE_NAME)
        pl_buf_printf(buf, ", %s to %s", plan_number_text(key->type, key->low, arena),
                      plan_number_text(key->type, key->high, arena));
    if (key->unset != NULL)
        pl_buf_printf(buf, " | `%s` | ", key->unset);
    else
        pl_buf_put(buf, " | required | ");
    const char *before = "";
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
        if ((key->kinds >> kind & 1U) != 0) {
            pl_buf_printf(buf, "%s%s", before, plan_kind_names[kind]);
            before = ", ";
        }
    if (key->speech != PLAN_ANY_SPEECH)
        pl_buf_put(buf, key->speech == PLAN_HTTP ? "; over HTTP" : "; over SQL");
    pl_buf_printf(buf, " | %s |\n", key->doc);
}

void plan_keys_markdown(struct pl_buf *buf)
{
    const struct level *const levels[] = {&plan_level_top,  &plan_level_service, &plan_level_data, &plan_level_http,
                                          &plan_level_feed, &plan_level_tenants, &plan_level_page, &plan_level_stage};
    struct pl_arena *arena = pl_arena_new();
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        put_level(buf, levels[i], arena);
    pl_buf_put(buf, "### Parameters of a stage\n\n| key | value | default | taken by | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < plan_stage_key_count; i++)
        put_key(buf, &plan_stage_keys[i], arena);
    pl_buf_put(buf,
               "\n### What of a service a stage can vary\n\nBehind the name of the service and a point, in `over:` of any "
               "stage.\n\n| key | value | meaning |\n|---|---|---|\n");
    for (const struct service_axis *axis = plan_service_axes; axis->name != NULL; axis++)
        pl_buf_printf(buf, "| `%s` | %s | %s |\n", axis->name, axis->values, axis->doc);
    pl_buf_put(buf, "\n### Settings that a plan cannot change\n\n| setting | why |\n|---|---|\n");
    for (const struct owned_setting *owned = plan_owned_settings; owned->name != NULL; owned++)
        pl_buf_printf(buf, "| `%s` | %s |\n", owned->name, owned->why);
    pl_buf_put(buf, "| every name with ");
    for (size_t i = 0; plan_secret_marks[i] != NULL; i++)
        pl_buf_printf(buf, "%s`%s`", i == 0 ? "" : plan_secret_marks[i + 1] == NULL ? " or " : ", ", plan_secret_marks[i]);
    pl_buf_printf(buf, " in it, except `%s` | %s |\n", plan_secret_exception, plan_secret_why);
    pl_arena_free(arena);
}
