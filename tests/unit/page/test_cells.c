/* Figures in cells: shared units, dashes with their reason, links to provenance. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "page/page_int.h"

static struct figure figures_of_test[] = {
    {.name = "response_p99_ns",
     .subject = "",
     .unit = "ns",
     .value = 4.2e6,
     .n = 400,
     .stddev = (double)NAN,
     .method = "A.",
     .note = ""},
    {.name = "response_p99_ns",
     .subject = "",
     .unit = "ns",
     .value = 52e3,
     .n = 400,
     .stddev = (double)NAN,
     .method = "A.",
     .note = ""},
    {.name = "response_p99_ns",
     .subject = "",
     .unit = "ns",
     .value = 9.9e6,
     .n = 400,
     .stddev = (double)NAN,
     .method = "B.",
     .note = "odd"},
    {.name = "tps", .subject = "", .unit = "1/s", .status = FIGURE_ABSENT, .method = "A.", .note = "no trial was done"},
};

static struct page page;

static int setup(void **state)
{
    (void)state;
    page = (struct page){.arena = pl_arena_new()};
    page.doc = doc_new(page.arena, "T", "S");
    doc_section_add(page.doc, 2, "s", "Section");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(page.arena);
    return 0;
}

static void test_shared_unit(void **state)
{
    (void)state;
    struct doc_table *table = doc_table(page.doc, "t", "Caption");
    doc_column_add(page.doc, table, "p99", true, true);
    for (size_t i = 0; i < 3; i++)
        page_cell_figure(&page, table, &figures_of_test[i], DOC_VALUE);
    page_cell_figure(&page, table, &figures_of_test[3], DOC_VALUE);
    page_cell_figure(&page, table, &figures_of_test[3], DOC_VALUE);
    page_cell_figure(&page, table, NULL, DOC_VALUE);
    page_table_finish(&page, table);
    assert_string_equal(table->columns[0].unit, "ms"); /* that of the middle one */
    assert_string_equal(table->cells[0].text, "4.20");
    assert_string_equal(table->cells[1].text, "0.0520");
    assert_string_equal(table->cells[2].text, "9.90");
    assert_string_equal(table->cells[3].text, "\xe2\x80\x94");
    assert_int_equal(table->cells[3].source, 0);
    /* the same reason is told once */
    assert_int_equal(table->note_count, 3);
    assert_string_equal(table->notes[table->cells[2].notes[0]], "odd");
    assert_string_equal(table->notes[table->cells[3].notes[0]], "no trial was done");
    assert_int_equal(table->cells[4].notes[0], table->cells[3].notes[0]);
    assert_string_equal(table->notes[table->cells[5].notes[0]], "not measured in this study");
}

static void test_own_units_and_sources(void **state)
{
    (void)state;
    struct doc_table *table = doc_table(page.doc, "t", "Caption");
    doc_column_add(page.doc, table, "p99", true, false);
    page_cell_figure(&page, table, &figures_of_test[0], DOC_VALUE);
    page_cell_figure(&page, table, &figures_of_test[1], DOC_VALUE);
    page_cell_figure(&page, table, &figures_of_test[0], DOC_INTERVAL); /* it has none */
    page_table_finish(&page, table);
    assert_string_equal(table->columns[0].unit, "");
    assert_string_equal(table->cells[0].text, "4.20 ms");
    assert_string_equal(table->cells[1].text, "52.0 \xc2\xb5s");
    assert_string_equal(table->cells[2].text, "\xe2\x80\x94");
    assert_int_equal(table->cells[0].source, page_source(&page, &figures_of_test[0]));
    assert_int_not_equal(table->cells[0].source, table->cells[1].source);
    assert_int_equal(page_method(&page, "A."), page_method(&page, "A."));
    assert_int_not_equal(page_method(&page, "A."), page_method(&page, "B."));
}

/* A percentile that lies among operations without an end: its bound, rounded down, with the reason. */
static void test_bound(void **state)
{
    (void)state;
    static const struct figure bound = {.name = "response_p99_ns",
                                        .subject = "",
                                        .unit = "ns",
                                        .value = 27.39e6,
                                        .n = 400,
                                        .stddev = (double)NAN,
                                        .status = FIGURE_ABSENT,
                                        .method = "A.",
                                        .note = "7 of 400 had not ended"};
    struct doc_table *table = doc_table(page.doc, "t", "Caption");
    doc_column_add(page.doc, table, "p99", true, true);
    doc_column_add(page.doc, table, "Interval", true, true);
    page_cell_figure(&page, table, &bound, DOC_VALUE);
    page_cell_figure(&page, table, &bound, DOC_INTERVAL);
    page_table_finish(&page, table);
    assert_string_equal(table->cells[0].text, "\xe2\x89\xa5 27.3");
    assert_string_equal(table->cells[1].text, "\xe2\x80\x94");
    assert_int_equal(table->note_count, 1);
    assert_string_equal(table->notes[table->cells[1].notes[0]], "7 of 400 had not ended");
}

/* Said once for a table, at each interval that it is true of. */
static void test_two_trials(void **state)
{
    (void)state;
    static const int64_t ids[] = {1, 2, 3};
    struct figure two = {.name = "tps",
                         .subject = "",
                         .unit = "1/s",
                         .value = 500,
                         .has_interval = true,
                         .low = -2390,
                         .high = 3410,
                         .n = 2,
                         .method = "A.",
                         .note = "",
                         .trials = ids,
                         .trial_count = 2};
    struct figure three = two;
    three.n = 3;
    three.trial_count = 3;
    struct doc_table *table = doc_table(page.doc, "t", "Caption");
    doc_column_add(page.doc, table, "Interval", true, true);
    page_cell_figure(&page, table, &two, DOC_INTERVAL);
    page_cell_figure(&page, table, &two, DOC_INTERVAL);
    page_cell_figure(&page, table, &three, DOC_INTERVAL);
    page_table_finish(&page, table);
    assert_int_equal(table->note_count, 1);
    assert_string_equal(table->notes[0], "two trials say little about spread");
    assert_int_equal(table->cells[1].note_count, 1);
    assert_int_equal(table->cells[2].note_count, 0);
    assert_memory_equal(table->cells[0].text, "0\xe2\x80\x93", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shared_unit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_trials, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_units_and_sources, setup, teardown),
    };
    return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
