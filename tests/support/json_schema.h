/* Is a JSON document what its published schema says? As much of JSON Schema as the schemas in docs/ use. */
#ifndef PL_TESTS_JSON_SCHEMA_H
#define PL_TESTS_JSON_SCHEMA_H

#include "support.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_type(const json_t *value, const char *type)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {{"object", JSON_OBJECT},
                 {"array", JSON_ARRAY},
                 {"string", JSON_STRING},
                 {"integer", JSON_INTEGER},
                 {"null", JSON_NULL}};
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return json_typeof(value) == types[i].type;
    fail_msg("the schema names a type that this test does not know: %s", type);
    return false;
}

static bool has_type(const json_t *value, const json_t *type)
{
    if (json_is_string(type))
        return is_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (is_type(value, json_string_value(json_array_get(type, i))))
            return true;
    return false;
}

static void validate(const json_t *root, const json_t *schema, const json_t *value, const char *path);

static void validate_object(const json_t *root, const json_t *schema, const json_t *value, const char *path)
{
    const json_t *required = json_object_get(schema, "required"), *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    for (size_t i = 0; i < json_array_size(required); i++)
        if (json_object_get(value, json_string_value(json_array_get(required, i))) == NULL)
            fail_msg("%s lacks \"%s\"", path, json_string_value(json_array_get(required, i)));
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        char below[400];
        snprintf(below, sizeof below, "%s.%s", path, key);
        const json_t *property = json_object_get(properties, key);
        if (property != NULL)
            validate(root, property, member, below);
        else if (json_is_object(others))
            validate(root, others, member, below);
        else if (json_is_false(others))
            fail_msg("%s is not in the schema", below);
    }
}

static void validate(const json_t *root, const json_t *schema, const json_t *value, const char *path)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference != NULL) {
        assert_memory_equal(reference, "#/$defs/", 8);
        const json_t *definition = json_object_get(json_object_get(root, "$defs"), reference + 8);
        assert_non_null(definition);
        validate(root, definition, value, path);
        return;
    }
    const json_t *type = json_object_get(schema, "type"), *values = json_object_get(schema, "enum");
    if (type != NULL && !has_type(value, type))
        fail_msg("%s has the wrong type", path);
    bool found = values == NULL;
    for (size_t i = 0; i < json_array_size(values); i++)
        found |= json_equal(json_array_get(values, i), value) == 1;
    if (!found)
        fail_msg("%s is none of the values allowed", path);
    const json_t *minimum = json_object_get(schema, "minimum");
    if (minimum != NULL && json_number_value(value) < json_number_value(minimum))
        fail_msg("%s is too small", path);
    if (json_is_object(value))
        validate_object(root, schema, value, path);
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++) {
        char below[400];
        snprintf(below, sizeof below, "%s[%zu]", path, i);
        validate(root, items, json_array_get(value, i), below);
    }
}

#endif
