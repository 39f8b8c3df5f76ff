/* The JSON page against its published schema, and against the figures it was written from. */
#include "support.h"

#include <jansson.h>

#include "base/file.h"
#include "json_schema.h"
#include "pages.h"

static json_t *page_of(const struct study *study)
{
    size_t length;
    char *text = page_text_of(study, PAGE_JSON, &length);
    json_error_t error;
    json_t *page = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (page == NULL)
        fail_msg("line %d: %s", error.line, error.text);
    pl_free(text);
    return page;
}

static void test_full_page_follows_the_schema(void **state)
{
    (void)state;
    json_error_t error;
    json_t *schema = json_load_file("docs/page.schema.json", JSON_REJECT_DUPLICATES, &error);
    assert_non_null(schema);
    struct synth *studies[] = {full_study(), small_study()};
    for (size_t i = 0; i < 2; i++) {
        json_t *page = page_of(&studies[i]->study);
        validate(schema, schema, page, "page");
        json_decref(page);
        synth_free(studies[i]);
    }
    json_decref(schema);
}

static void test_figures_have_full_precision(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    struct figures figures = model_figures(&synth->study, synth->arena);
    json_t *page = page_of(&synth->study), *array = json_object_get(page, "figures");
    assert_int_equal(json_array_size(array), figures.count);
    for (size_t i = 0; i < figures.count; i++) {
        const json_t *item = json_array_get(array, i);
        const struct figure *figure = &figures.items[i];
        assert_string_equal(json_string_value(json_object_get(item, "name")), figure->name);
        const json_t *value = json_object_get(item, "value");
        if (figure->status == FIGURE_ABSENT)
            assert_true(json_is_null(value));
        else
            assert_true(json_real_value(value) == figure->value);
        assert_int_equal(json_array_size(json_object_get(item, "trials")), figure->trial_count);
    }
    json_decref(page);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_page_follows_the_schema),
        cmocka_unit_test(test_figures_have_full_precision),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
