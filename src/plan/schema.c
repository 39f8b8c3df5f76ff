/* A JSON schema of plans (draft 2020-12) from the tables: for editors that complete and check while one types. It says no
 * more than the parser does; what no schema can say (known scripts, unique names) is left to the parser. */
#include "plan/plan.h"

#include "base/buf.h"
#include "plan/plan_int.h"

#include "base/ban.h"

static const char duration_pattern[] = "^(0|[0-9_.]+([eE][+-]?[0-9]+)?(ns|us|ms|s|m|min|h|d))$";
static const char name_pattern[] = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$";

/* A JSON string. The tables hold no control characters. */
static void put_string(struct pl_buf *buf, const char *text)
{
    pl_buf_put(buf, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            pl_buf_put(buf, "\\");
        pl_buf_put_bytes(buf, c, 1);
    }
    pl_buf_put(buf, "\"");
}

static void put_strings(struct pl_buf *buf, const char *const *texts)
{
    pl_buf_put(buf, "[");
    for (size_t i = 0; texts[i] != NULL; i++) {
        pl_buf_put(buf, i > 0 ? ", " : "");
        put_string(buf, texts[i]);
    }
    pl_buf_put(buf, "]");
}

/* The members of a map of settings. */
static void put_settings(struct pl_buf *buf)
{
    pl_buf_put(buf, "\"type\": \"object\", \"propertyNames\": {\"pattern\": \"^[a-z_][a-z0-9_.]*$\", \"not\": "
                    "{\"anyOf\": [{\"enum\": [");
    for (const struct owned_setting *owned = plan_owned_settings; owned->name != NULL; owned++)
        pl_buf_printf(buf, "%s\"%s\"", owned == plan_owned_settings ? "" : ", ", owned->name);
    pl_buf_printf(buf, "]}, {\"pattern\": \"^(?!%s$).*(", plan_secret_exception);
    for (size_t i = 0; plan_secret_marks[i] != NULL; i++)
        pl_buf_printf(buf, "%s%s", i == 0 ? "" : "|", plan_secret_marks[i]);
    pl_buf_put(buf, ")\"}]}}, \"additionalProperties\": {\"type\": [\"string\", \"number\", \"boolean\"]}");
}

/* What of any service can be varied: the keys begin with its name. */
static void put_service_axes(struct pl_buf *buf)
{
    static const char name[] = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\\\\.";
    static const char *const values[][2] = {
        {"settings\\\\.[a-z_][a-z0-9_.]*$", "{\"type\": [\"string\", \"number\", \"boolean\"]}"},
        {"version$", "{\"type\": [\"integer\", \"string\"], \"minimum\": 10, \"maximum\": 99, "
                     "\"pattern\": \"^[1-9][0-9]$\"}"},
        {"directory$", "{\"type\": \"string\", \"minLength\": 1}"},
        {"data\\\\.scale$", "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 100000}"}};
    pl_buf_printf(buf,
                  "\n      \"%ssettings$\": {\"anyOf\": [{\"type\": \"object\", \"minProperties\": 1, "
                  "\"additionalProperties\": {",
                  name);
    put_settings(buf);
    pl_buf_printf(buf,
                  "}}, {\"type\": \"array\", \"minItems\": 1, \"uniqueItems\": true, \"items\": "
                  "{\"type\": \"string\", \"pattern\": \"%s\"}}]}",
                  name_pattern);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        pl_buf_printf(buf,
                      ",\n      \"%s%s\": {\"anyOf\": [%s, {\"type\": \"array\", \"minItems\": 1, \"uniqueItems\": true, "
                      "\"items\": %s}]}",
                      name, values[i][0], values[i][1], values[i][1]);
}

static void put_level(struct pl_buf *buf, const struct level *level);

/* Of the forms that came with HTTP. */
static void put_form_http(struct pl_buf *buf, const struct field *field)
{
    switch ((int)field->form) {
    case FORM_ORDER:
        pl_buf_put(buf, "\"enum\": ");
        put_strings(buf, field->choices);
        break;
    case FORM_FLAG:
    case FORM_NO_FLAG:
        pl_buf_put(buf, "\"enum\": [true, false, \"yes\", \"no\", \"on\", \"off\"]");
        break;
    case FORM_DURATION:
        pl_buf_printf(buf, "\"type\": \"string\", \"pattern\": \"%s\"", duration_pattern);
        break;
    case FORM_URL:
        pl_buf_put(buf, "\"type\": \"string\", \"pattern\": \"^https?://\"");
        break;
    case FORM_HTTP:
        put_level(buf, &plan_level_http);
        break;
    case FORM_VARIABLES:
    case FORM_PATTERNS:
        pl_buf_put(buf, "\"type\": \"object\", \"additionalProperties\": {\"type\": [\"string\", \"number\", "
                        "\"boolean\", \"null\"]}");
        break;
    case FORM_PATTERN:
        pl_buf_put(buf, "\"type\": [\"string\", \"number\"]");
        break;
    case FORM_FEEDS:
        pl_buf_printf(buf, "\"type\": \"object\", \"propertyNames\": {\"pattern\": \"%s\"}, \"additionalProperties\": {",
                      name_pattern);
        put_level(buf, &plan_level_feed);
        pl_buf_put(buf, "}");
        break;
    case FORM_TENANTS:
        pl_buf_put(buf, "\"patternProperties\": {\"^header\\\\.\": {\"type\": [\"string\", \"number\"]}}, ");
        put_level(buf, &plan_level_tenants);
        break;
    }
}

/* The members of a field's schema, without the braces. */
static void put_form(struct pl_buf *buf, const struct field *field)
{
    if (field->form >= FORM_FLAG) {
        put_form_http(buf, field);
        return;
    }
    switch ((int)field->form) {
    case FORM_INTEGER:
        pl_buf_printf(buf, "\"type\": \"integer\", \"minimum\": %.0f, \"maximum\": %.0f", field->low, field->high);
        break;
    case FORM_VERSION:
        pl_buf_put(buf,
                   "\"type\": [\"integer\", \"string\"], \"minimum\": 10, \"maximum\": 99, \"pattern\": \"^[1-9][0-9]$\"");
        break;
    case FORM_NAME:
    case FORM_SUBJECT:
        pl_buf_printf(buf, "\"type\": \"string\", \"pattern\": \"%s\"", name_pattern);
        break;
    case FORM_CHOICE:
    case FORM_KIND:
        pl_buf_put(buf, "\"enum\": ");
        put_strings(buf, field->choices);
        break;
    case FORM_SETTINGS:
        put_settings(buf);
        break;
    case FORM_SCRIPTS:
        pl_buf_printf(buf,
                      "\"type\": \"object\", \"propertyNames\": {\"pattern\": \"%s\"}, "
                      "\"additionalProperties\": {\"type\": \"string\"}",
                      name_pattern);
        break;
    case FORM_SERVICES:
        pl_buf_printf(buf, "\"type\": \"object\", \"minProperties\": 1, \"propertyNames\": {\"pattern\": \"%s\", ",
                      name_pattern);
        pl_buf_put(buf, "\"not\": {\"enum\": ");
        put_strings(buf, plan_reserved_services);
        pl_buf_put(buf, "}}, \"additionalProperties\": {");
        put_level(buf, &plan_level_service);
        pl_buf_put(buf, "}");
        break;
    case FORM_DATA:
        put_level(buf, &plan_level_data);
        break;
    case FORM_PAGE:
        put_level(buf, &plan_level_page);
        break;
    case FORM_STAGES:
        pl_buf_put(buf, "\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": \"#/$defs/stage\"}");
        break;
    case FORM_TEXT:
    case FORM_PATH:
    case FORM_USER:
    case FORM_OVER: /* written by the stage's kind */
        pl_buf_put(buf, "\"type\": \"string\", \"minLength\": 1");
        break;
    }
}

/* The members of a map's schema. */
static void put_level(struct pl_buf *buf, const struct level *level)
{
    pl_buf_put(buf, "\"type\": \"object\", \"additionalProperties\": false, \"properties\": {");
    for (size_t i = 0; i < level->count; i++) {
        pl_buf_printf(buf, "%s\n    \"%s\": {", i > 0 ? "," : "", level->fields[i].name);
        put_form(buf, &level->fields[i]);
        pl_buf_put(buf, ", \"description\": ");
        put_string(buf, level->fields[i].doc);
        pl_buf_put(buf, "}");
    }
    pl_buf_put(buf, "}, \"required\": [");
    const char *before = "";
    for (size_t i = 0; i < level->count; i++)
        if (level->fields[i].required) {
            pl_buf_printf(buf, "%s\"%s\"", before, level->fields[i].name);
            before = ", ";
        }
    pl_buf_put(buf, "]");
}

/* The schema of one value of a stage parameter. */
static void put_value(struct pl_buf *buf, const struct plan_key *key)
{
    pl_buf_put(buf, "{");
    switch (key->type) {
    case PLAN_TYPE_COUNT:
        pl_buf_printf(buf, "\"type\": \"integer\", \"minimum\": %.0f, \"maximum\": %.0f", key->low, key->high);
        break;
    case PLAN_TYPE_DURATION:
        pl_buf_printf(buf, "\"type\": \"string\", \"pattern\": \"%s\"", duration_pattern);
        break;
    case PLAN_TYPE_RATE:
        pl_buf_put(buf, "\"type\": \"string\", \"pattern\": \"^[0-9_.]+([eE][+-]?[0-9]+)?/(s|m|min|h)$\"");
        break;
    case PLAN_TYPE_NAME: /* or weights by name */
        pl_buf_put(buf, "\"type\": [\"string\", \"object\"], \"pattern\": \"^[A-Za-z0-9][A-Za-z0-9_.@+-]*$\", ");
        pl_buf_printf(buf,
                      "\"minProperties\": 1, \"propertyNames\": {\"pattern\": \"%s\"}, "
                      "\"additionalProperties\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": %.0f}",
                      name_pattern, PLAN_MIX_WEIGHT);
        break;
    case PLAN_TYPE_CHOICE:
        pl_buf_put(buf, "\"enum\": ");
        put_strings(buf, key->choices);
        break;
    }
    pl_buf_put(buf, "}");
}

/* Every parameter of the kind; in `over:` also as a list. */
static void put_params(struct pl_buf *buf, enum plan_kind kind, bool in_over)
{
    const char *before = "";
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        if ((key->kinds >> kind & 1U) == 0)
            continue;
        pl_buf_printf(buf, "%s\n      \"%s\": {\"anyOf\": [", before, key->name);
        put_value(buf, key);
        if (in_over) {
            pl_buf_put(buf, ", {\"type\": \"array\", \"minItems\": 1, \"uniqueItems\": true, \"items\": ");
            put_value(buf, key);
            pl_buf_put(buf, "}");
        }
        pl_buf_put(buf, "], \"description\": ");
        put_string(buf, key->doc);
        if (key->unset != NULL && !in_over) {
            pl_buf_put(buf, ", \"default\": ");
            if (key->type == PLAN_TYPE_COUNT)
                pl_buf_put(buf, key->unset);
            else
                put_string(buf, key->unset);
        }
        pl_buf_put(buf, "}");
        before = ",";
    }
}

static void put_kind(struct pl_buf *buf, enum plan_kind kind)
{
    pl_buf_printf(
        buf, "    {\"type\": \"object\", \"title\": \"%s\", \"additionalProperties\": false, \"required\": [\"kind\"],",
        plan_kind_names[kind]);
    pl_buf_printf(buf,
                  "\n     \"properties\": {\n      \"kind\": {\"const\": \"%s\"},\n      \"name\": {\"type\": \"string\", "
                  "\"pattern\": \"%s\"},\n      \"over\": {\"type\": \"object\", \"minProperties\": 1, "
                  "\"additionalProperties\": false, \"properties\": {",
                  plan_kind_names[kind], name_pattern);
    put_params(buf, kind, true);
    pl_buf_put(buf, "}, \"patternProperties\": {");
    put_service_axes(buf);
    pl_buf_put(buf, "}},");
    put_params(buf, kind, false);
    pl_buf_put(buf, "}");
    const char *before = ",\n     \"allOf\": [";
    bool any = false;
    for (size_t i = 0; i < plan_stage_key_count; i++)
        if ((plan_stage_keys[i].kinds >> kind & 1U) != 0 && plan_stage_keys[i].unset == NULL) {
            const char *name = plan_stage_keys[i].name;
            pl_buf_printf(buf,
                          "%s{\"oneOf\": [{\"required\": [\"%s\"]}, {\"required\": [\"over\"], \"properties\": {\"over\": "
                          "{\"required\": [\"%s\"]}}}]}",
                          before, name, name);
            before = ", ";
            any = true;
        }
    pl_buf_put(buf, any ? "]}" : "}");
}

void plan_keys_json_schema(struct pl_buf *buf)
{
    pl_buf_put(buf, "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"title\": \"Plimsoll plan\", ");
    put_level(buf, &plan_level_top);
    pl_buf_put(buf, ",\n  \"$defs\": {\"stage\": {\"oneOf\": [\n");
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++) {
        put_kind(buf, (enum plan_kind)kind);
        pl_buf_put(buf, kind + 1 < PLAN_KIND_COUNT ? ",\n" : "\n");
    }
    pl_buf_put(buf, "  ]}}}\n");
}
