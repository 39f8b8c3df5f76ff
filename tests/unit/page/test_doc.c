/* Building a document. */
#include "pages.h"

static void test_tables(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    doc_section_add(doc, 2, "s", "Section");
    struct doc_table *table = doc_table(doc, "t", "Caption");
    assert_int_equal(doc_row_count(table), 0);
    for (int i = 0; i < 20; i++)
        doc_column_add(doc, table, "Column", false, false);
    for (int i = 0; i < 60; i++)
        doc_cell_add(doc, table, pl_format(arena, "%d", i));
    assert_int_equal(doc_row_count(table), 3);
    assert_string_equal(table->cells[59].text, "59");
    assert_int_equal(doc_note(doc, table, "one"), 0);
    assert_int_equal(doc_note(doc, table, "two"), 1);
    assert_int_equal(doc_note(doc, table, "one"), 0);
    doc_cell_note(doc, table, &table->cells[0], "two");
    doc_cell_note(doc, table, &table->cells[0], "three");
    doc_cell_note(doc, table, &table->cells[0], "two"); /* once is enough */
    assert_int_equal(table->cells[0].note_count, 2);
    assert_int_equal(table->cells[0].notes[1], 2);
    pl_arena_free(arena);
}

static void test_blocks_go_to_the_last_section(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    doc_section_add(doc, 2, "a", "A");
    doc_say(doc, doc_paragraph(doc), "%d of %s", 1, "many");
    struct doc_section *second = doc_section_add(doc, 3, "b", "B");
    struct doc_block *list = doc_list(doc);
    for (int i = 0; i < 30; i++)
        doc_code(doc, doc_item(doc, list), "x");
    doc_listing(doc, "text");
    assert_int_equal(doc->count, 2);
    assert_int_equal(doc->sections[0]->count, 1);
    assert_string_equal(doc->sections[0]->blocks[0]->line.spans[0].text, "1 of many");
    assert_int_equal(second->count, 2);
    assert_int_equal(list->count, 30);
    assert_int_equal(list->items[29]->spans[0].kind, DOC_SPAN_CODE);
    assert_int_equal(second->blocks[1]->kind, DOC_LISTING);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_blocks_go_to_the_last_section),
    };
    return cmocka_run_group_tests_name("doc", tests, NULL, NULL);
}
