/* Where every number comes from: one entry for each figure that the page shows, and the methods they share. */
#include "page/page_int.h"

#include <math.h>
#include <string.h>

#include "base/ban.h"

/* "1-3, 7" */
static const char *trial_list(struct page *page, const struct figure *figure)
{
    const char *text = "";
    for (size_t i = 0; i < figure->trial_count;) {
        size_t end = i + 1;
        while (end < figure->trial_count && figure->trials[end] == figure->trials[end - 1] + 1)
            end++;
        text = pl_format(page->arena, "%s%s%lld", text, i > 0 ? ", " : "", (long long)figure->trials[i]);
        if (end - i > 1)
            text = pl_format(page->arena, "%s%s%lld", text, end - i > 2 ? "\xe2\x80\x93" : ", ",
                             (long long)figure->trials[end - 1]);
        i = end;
    }
    return text;
}

static void source_row(struct page *page, struct doc_table *table, const struct figure *figure)
{
    const struct case_row *row = study_case(page->study, figure->case_id);
    int method = page_method(page, figure->method);
    page_cell_code(page, table, figure->name);
    page_cell_text(page, table, figure->subject);
    page_cell_text(page, table, row == NULL ? "" : row->label);
    page_cell_text(page, table,
                   pl_format(page->arena, "%s%s", page_is_bound(figure) ? "\xe2\x89\xa5 " : "",
                             page_exact(page->arena, figure->value)));
    page_cell_text(page, table, figure->unit);
    page_cell_text(page, table,
                   figure->has_interval ? pl_format(page->arena, "%.6g\xe2\x80\x93%.6g (%.4g %%)", figure->low,
                                                    figure->high, 100 * figure->confidence)
                                        : "");
    page_cell_text(page, table, isnan(figure->stddev) ? "" : pl_format(page->arena, "%.6g", figure->stddev));
    page_cell_text(page, table, pl_format(page->arena, "%lld", (long long)figure->n));
    page_cell_text(page, table, trial_list(page, figure));
    page_cell_text(page, table, figure_status_name(figure->status));
    struct doc_cell *cell = doc_cell_add(page->doc, table, pl_format(page->arena, "M%d", method));
    cell->target = pl_format(page->arena, "m%d", method);
}

/* Entries of one stage (0: of the study as a whole), in order of their numbers. */
static void source_table(struct page *page, int64_t stage_id, const char *title)
{
    static const struct {
        const char *title;
        bool number;
    } columns[] = {{"Figure", false}, {"Of", false},      {"Case", false},     {"Value", true},
                   {"Unit", false},   {"Interval", true}, {"Std. dev.", true}, {"n", true},
                   {"Trials", false}, {"Status", false},  {"Method", false}};
    struct doc_table *table = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < page->source_count; i++) {
        if (page->sources[i]->stage_id != stage_id)
            continue;
        if (table == NULL) {
            table = doc_table(page->doc, pl_format(page->arena, "t-sources-%lld", (long long)stage_id),
                              pl_format(page->arena, "Figures of %s", title));
            for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
                doc_column_add(page->doc, table, columns[k].title, columns[k].number, false);
            table->small = true;
            table->row_anchors = pl_alloc(page->arena, page->source_count, sizeof(char *));
        }
        table->row_anchors[rows++] = pl_format(page->arena, "f%zu", i + 1);
        source_row(page, table, page->sources[i]);
    }
}

static void method_table(struct page *page)
{
    struct doc_table *table = doc_table(page->doc, "t-methods", "Methods");
    doc_column_add(page->doc, table, "Method", false, false);
    doc_column_add(page->doc, table, "How the figure is obtained", false, false);
    table->small = true;
    table->row_anchors = pl_alloc(page->arena, page->method_count + 1, sizeof(char *));
    for (size_t i = 0; i < page->method_count; i++) {
        table->row_anchors[i] = pl_format(page->arena, "m%zu", i + 1);
        page_cell_text(page, table, pl_format(page->arena, "M%zu", i + 1));
        page_cell_text(page, table, page->methods[i]);
    }
}

void page_provenance(struct page *page)
{
    if (page->source_count == 0)
        return;
    doc_section_add(page->doc, 2, "sources", "Where every number comes from");
    struct doc_line *line = doc_paragraph(page->doc);
    doc_say(page->doc, line,
            "Each number above links to its row here: the value before rounding, its interval, the values behind it "
            "(trials for means, "
            "operations for percentiles), the trials of the study that it was computed from, and the method. Measured: "
            "read as it is. "
            "Computed: from several readings.");
    for (size_t i = 0; i < page->study->stage_count; i++)
        source_table(page, page->study->stages[i].id, page->study->stages[i].name);
    source_table(page, 0, "the study as a whole");
    method_table(page);
}
