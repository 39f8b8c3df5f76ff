/* HTML: escapes, and what the page promises to those who read it. */
#include "pages.h"

static void test_exact_escapes(void **state)
{
    (void)state;
    static const struct {
        bool code;
        const char *text, *expected;
    } cases[] = {
        {false, "<a href=\"x\">'&'", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;"},
        {true, "a<b", "<code>a&lt;b</code>"},
        {false, "&lt;", "&amp;lt;"},
        {false, "a\nb\x01", "a b\xe2\x90\x81"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *page = render_cell(PAGE_HTML, cases[i].text, cases[i].code);
        assert_holds(page, cases[i].expected);
        pl_free(page);
    }
}

/* What the page promises to those who read it: one file, nothing fetched, a language, a way past the contents, captions. */
static void test_html_stands_alone(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    size_t length, tables = 0, captions = 0, scopes = 0;
    char *html = page_text_of(&synth->study, PAGE_HTML, &length);
    static const char *const forbidden[] = {"<script", "http://", "https://", "src=", "@import", "url(", "<img", "<iframe"};
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(html, forbidden[i]) != NULL)
            fail_msg("the page holds \"%s\"", forbidden[i]);
    static const char *const needed[] = {"<html lang=\"en\">",        "class=\"skip\" href=\"#main\"",
                                         "prefers-color-scheme:dark", "@media print",
                                         "name=\"viewport\"",         "default-src 'none'",
                                         "<main id=\"main\""};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (strstr(html, needed[i]) == NULL)
            fail_msg("the page lacks \"%s\"", needed[i]);
    for (const char *at = html; (at = strstr(at, "<table>")) != NULL; at++)
        tables++;
    for (const char *at = html; (at = strstr(at, "<caption id=")) != NULL; at++)
        captions++;
    for (const char *at = html; (at = strstr(at, "<th scope=")) != NULL; at++)
        scopes++;
    assert_true(tables > 15);
    assert_int_equal(tables, captions);
    assert_true(scopes > tables * 3);
    pl_free(html);
    synth_free(synth);
}

/* Every link inside the page leads somewhere, and no anchor is given twice. */
static void test_links_lead_somewhere(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    size_t length, links = 0;
    char *html = page_text_of(&synth->study, PAGE_HTML, &length);
    for (const char *at = html; (at = strstr(at, "href=\"#")) != NULL; at++, links++) {
        char id[128];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at + 7, "\""), at + 7);
        const char *target = strstr(html, id);
        if (target == NULL)
            fail_msg("a link leads nowhere:%s", id);
        assert_null(strstr(target + 1, id));
    }
    assert_true(links > 300);
    pl_free(html);
    synth_free(synth);
}

/* The key columns of a table head its rows, numbers stand to the right, notes are linked and read aloud as notes. */
static void test_tables_are_semantic(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    struct pl_buf out;
    doc_section_add(doc, 2, "s", "Section");
    struct doc_table *table = doc_table(doc, "t", "Caption");
    doc_column_add(doc, table, "Name", false, false);
    doc_column_add(doc, table, "Value", true, false);
    table->columns[1].unit = "ms";
    doc_cell_add(doc, table, "a");
    doc_cell_note(doc, table, doc_cell_add(doc, table, "1"), "a warning");
    pl_buf_init(&out, 1 << 20);
    page_html(doc, &out);
    const char *page = pl_buf_text(&out);
    assert_holds(page, "role=\"region\" aria-labelledby=\"t\" tabindex=\"0\"");
    assert_holds(page, "<caption id=\"t\">Caption</caption>");
    assert_holds(page, "<th scope=\"col\" class=\"n\">Value<span class=\"unit\">ms</span></th>");
    assert_holds(page,
                 "<th scope=\"row\">a</th><td class=\"n\">1<sup><a href=\"#t-n1\" aria-label=\"note a\">a</a></sup></td>");
    assert_holds(page, "<li id=\"t-n1\">a warning</li>");
    pl_buf_release(&out);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_escapes),
        cmocka_unit_test(test_html_stands_alone),
        cmocka_unit_test(test_links_lead_somewhere),
        cmocka_unit_test(test_tables_are_semantic),
    };
    return cmocka_run_group_tests_name("html", tests, NULL, NULL);
}
