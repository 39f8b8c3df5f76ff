/* Markdown: escapes, and tables that are aligned in the source. */
#include "pages.h"

static void test_exact_escapes(void **state)
{
    (void)state;
    static const struct {
        bool code;
        const char *text, *expected;
    } cases[] = {
        {false, "a|b", "a\\|b"},
        {false, "snake_case and _this_", "snake_case and \\_this\\_"},
        {false, "[x](y)", "\\[x\\](y)"},
        {false, "<b>&", "&lt;b&gt;&amp;"},
        {false, "see http://x.example", "see http&#58;//x.example"},
        {false, "www.x.example", "&#119;ww.x.example"},
        {false, "1.5 ms - fine", "1.5 ms - fine"},
        {true, "a|b", "`a\\|b`"},
        {true, "a`b", "``a`b``"},
        {true, "`", "`` ` ``"},
        {true, "a\\|b", "a\\\\\\|b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *page = render_cell(PAGE_MARKDOWN, cases[i].text, cases[i].code);
        assert_holds(page, cases[i].expected);
        pl_free(page);
    }
}

/* What begins a block counts at the start of a line, and nowhere else. */
static void test_starts_of_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {"- item", "# no heading", "1. no number", "+ item", "=== ", "---"};
    static const char *const expected[] = {"- \\- item\n", "- \\# no heading\n", "- 1\\. no number\n",
                                           "- \\+ item\n", "- \\=== \n",         "- \\---\n"};
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    struct pl_buf out;
    doc_section_add(doc, 2, "s", "Section");
    struct doc_block *list = doc_list(doc);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        doc_say(doc, doc_item(doc, list), "%s", texts[i]);
    pl_buf_init(&out, 1 << 20);
    page_markdown(doc, &out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_holds(pl_buf_text(&out), expected[i]);
    pl_buf_release(&out);
    pl_arena_free(arena);
}

static void test_aligned_in_the_source(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    struct pl_buf out;
    doc_section_add(doc, 2, "s", "Section");
    struct doc_table *table = doc_table(doc, "t", "Caption");
    doc_column_add(doc, table, "Name", false, false);
    doc_column_add(doc, table, "\xc2\xb5s", true, false);
    doc_cell_add(doc, table, "a longer name");
    doc_cell_add(doc, table, "12,345");
    doc_cell_add(doc, table, "b");
    doc_cell_note(doc, table, doc_cell_add(doc, table, "1"), "why");
    pl_buf_init(&out, 1 << 20);
    page_markdown(doc, &out);
    assert_holds(pl_buf_text(&out), "**Caption**\n\n"
                                    "| Name          |     \xc2\xb5s |\n"
                                    "| ------------- | -----: |\n"
                                    "| a longer name | 12,345 |\n"
                                    "| b             |  1 (a) |\n\n"
                                    "- (a) why\n");
    pl_buf_release(&out);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_escapes),
        cmocka_unit_test(test_starts_of_lines),
        cmocka_unit_test(test_aligned_in_the_source),
    };
    return cmocka_run_group_tests_name("markdown", tests, NULL, NULL);
}
