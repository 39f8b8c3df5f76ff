/* Side by side: verdicts in words, the tables, what differs between the two. */
#include <jansson.h>

#include "pages.h"

static const char *verdict(const struct page *page, double value, double low, double high, double p)
{
    const struct figure change = {.value = value,
                                  .has_interval = !isnan(low),
                                  .low = low,
                                  .high = high,
                                  .confidence = 0.95,
                                  .status = FIGURE_COMPUTED};
    const struct figure corrected = {.value = p, .status = isnan(p) ? FIGURE_ABSENT : FIGURE_COMPUTED};
    return page_verdict(page, "custom", &change, &corrected);
}

static void test_verdicts(void **state)
{
    (void)state;
    struct page page = {.arena = pl_arena_new()};
    const double none = (double)NAN;
    assert_string_equal(verdict(&page, .12, .08, .16, .001), "custom is faster by 12.0 % (8.0 to 16.0 %)");
    assert_string_equal(verdict(&page, -.3, -.5, -.1, .049), "custom is slower by 30 % (10 to 50 %)");
    assert_string_equal(verdict(&page, 1.5, 1.2, 1.9, .001), "custom is faster by 150 % (120 to 190 %)");
    assert_string_equal(verdict(&page, .0041, .0029, .0053, .001), "custom is faster by 0.41 % (0.29 to 0.53 %)");
    /* at the level itself nothing is shown */
    assert_string_equal(verdict(&page, .12, .08, .16, .05), "no difference was shown: within \xc2\xb1"
                                                            "16 %");
    assert_string_equal(verdict(&page, .01, -.021, .0412, .6), "no difference was shown: within \xc2\xb1"
                                                               "4.2 %");
    assert_string_equal(verdict(&page, -.001, -.0061, .004, .6), "no difference was shown: within \xc2\xb1"
                                                                 "0.61 %");
    assert_string_equal(verdict(&page, -.1, -.9, .7, 1), "no difference was shown: within \xc2\xb1"
                                                         "90 %");
    /* an interval that wide says nothing, and neither does none */
    assert_string_equal(verdict(&page, .1, -.9, 1.1, 1), "too few trials");
    assert_string_equal(verdict(&page, .5, none, none, none), "too few trials");
    assert_string_equal(verdict(&page, .5, .4, .6, none), "too few trials");
    assert_string_equal(page_verdict(&page, "custom", NULL, NULL), "too few trials");
    pl_arena_free(page.arena);
}

static void test_page(void **state)
{
    (void)state;
    char *page = markdown_of(compared_study());
    assert_holds(page, "## Default and custom");
    assert_holds(page, "custom is faster by ");
    assert_holds(page, "custom is slower by ");
    assert_holds(page, "no difference was shown: within \xc2\xb1");
    assert_holds(page, "too few trials");
    assert_holds(page, "default, with connecting, /s");
    assert_holds(page, "Holm's correction for [3]");
    assert_holds(page, "paired, 4 pairs");
    /* what differs, with the side that has the default */
    assert_holds(page, "What differs between default and custom");
    assert_holds(page, "`shared_buffers`");
    assert_holds(page, "`the default`");
    assert_holds(page, "The plan runs `db` in 4 variants");
    assert_holds(page, "(`PostgreSQL 15.14`)");
    pl_free(page);
}

/* A stage of its own for each size: one table, whose rows the sizes tell apart; the same size twice needs the stage. */
static void test_stages_in_one_table(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct synth *synth = synth_new();
        for (int s = 0; s < 2; s++) {
            int64_t stage = synth_stage(synth, "clients", "?", "script=tpcb-like clients=1");
            synth->stages[synth->study.stage_count - 1].name = s == 0 ? "small" : "large";
            for (int k = 0; k < 2; k++) {
                int64_t row = synth_case(
                    synth, stage,
                    pl_format(synth->arena, "db.data.scale=%d db.settings=%s", same == 1 ? 1 : s + 1, k == 0 ? "a" : "b"));
                for (int i = 0; i < 2; i++)
                    synth_closed_loop(synth, synth_trial(synth, row, i, 1, 1), 1e6 * (1 + 0.01 * i), 1);
            }
        }
        char *page = markdown_of(synth);
        const char *table = strstr(page, "**Throughput, a and b side by side**");
        assert_non_null(table);
        assert_null(strstr(table + 1, "**Throughput, a and b side by side**"));
        const char *heads = strstr(table, "| ");
        assert_int_equal(strncmp(heads, "| Stage", 7) == 0, same == 1);
        pl_free(page);
    }
}

/* In JSON the cells of the table say which figure they show, and that it is the value with its spread. */
static void test_json_cells(void **state)
{
    (void)state;
    struct synth *synth = compared_study();
    size_t length;
    char *text = page_text_of(&synth->study, PAGE_JSON, &length);
    json_t *root = json_loadb(text, length, 0, NULL), *section, *block, *found = NULL;
    size_t i, k;
    assert_non_null(root);
    json_array_foreach(json_object_get(json_object_get(root, "document"), "sections"), i, section)
        json_array_foreach(json_object_get(section, "blocks"), k,
                           block) if (json_object_get(block, "anchor") != NULL &&
                                      strcmp(json_string_value(json_object_get(block, "anchor")), "t-compare-1") == 0)
            found = block;
    assert_non_null(found);
    json_t *rows = json_object_get(found, "rows"), *figures = json_object_get(root, "figures");
    assert_int_equal(json_array_size(rows), 4);
    for (size_t row = 0; row < 4; row++) {
        static const char *const names[] = {"tps", "tps_with_connects", "tps", "tps_with_connects"};
        for (size_t column = 0; column < 4; column++) {
            json_t *cell = json_array_get(json_array_get(rows, row), 2 + column);
            assert_string_equal(json_string_value(json_object_get(cell, "part")), "spread");
            json_t *figure = json_array_get(figures, (size_t)json_integer_value(json_object_get(cell, "figure")));
            assert_string_equal(json_string_value(json_object_get(figure, "name")), names[column]);
        }
    }
    json_decref(root);
    pl_free(text);
    synth_free(synth);
}

static void test_nothing_to_compare(void **state)
{
    (void)state;
    char *page = markdown_of(small_study());
    assert_lacks(page, "id=\"compare\"");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts), cmocka_unit_test(test_page),
                                       cmocka_unit_test(test_stages_in_one_table), cmocka_unit_test(test_json_cells),
                                       cmocka_unit_test(test_nothing_to_compare)};
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
