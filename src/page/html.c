/* HTML: one file without scripts that asks nobody for anything, readable in light and dark, on paper, by keyboard and
 * aloud. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

static void put_text(struct pl_buf *out, struct pl_arena *arena, const char *raw)
{
    for (const char *at = page_text_line(arena, raw); *at != '\0'; at++) {
        switch (*at) {
        case '&':
            pl_buf_put(out, "&amp;");
            break;
        case '<':
            pl_buf_put(out, "&lt;");
            break;
        case '>':
            pl_buf_put(out, "&gt;");
            break;
        case '"':
            pl_buf_put(out, "&quot;");
            break;
        case '\'':
            pl_buf_put(out, "&#39;");
            break;
        default:
            pl_buf_put_bytes(out, at, 1);
        }
    }
}

static void put_element(struct pl_buf *out, struct pl_arena *arena, const char *element, const char *text)
{
    pl_buf_printf(out, "<%s>", element);
    put_text(out, arena, text);
    pl_buf_printf(out, "</%s>", element);
}

static void put_line(struct pl_buf *out, struct pl_arena *arena, const struct doc_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct doc_span *span = &line->spans[i];
        switch (span->kind) {
        case DOC_SPAN_TEXT:
            put_text(out, arena, span->text);
            break;
        case DOC_SPAN_STRONG:
            put_element(out, arena, "strong", span->text);
            break;
        case DOC_SPAN_CODE:
            put_element(out, arena, "code", span->text);
            break;
        case DOC_SPAN_LINK:
            pl_buf_printf(out, "<a href=\"#%s\">", span->target);
            put_text(out, arena, span->text);
            pl_buf_put(out, "</a>");
            break;
        }
    }
}

static void put_letter(struct pl_buf *out, int note)
{
    if (note >= 26)
        put_letter(out, note / 26 - 1);
    pl_buf_printf(out, "%c", 'a' + note % 26);
}

static void put_cell(struct pl_buf *out, struct pl_arena *arena, const char *anchor, const struct doc_cell *cell)
{
    const char *target = cell->target != NULL ? cell->target
                         : cell->source > 0   ? pl_format(arena, "f%d", cell->source)
                                              : NULL;
    if (target != NULL)
        pl_buf_printf(out, "<a%s href=\"#%s\">", cell->source > 0 ? " class=\"source\"" : "", target);
    if (cell->code)
        put_element(out, arena, "code", cell->text);
    else
        put_text(out, arena, cell->text);
    pl_buf_put(out, target != NULL ? "</a>" : "");
    pl_buf_put(out, cell->note_count > 0 ? "<sup>" : "");
    for (size_t i = 0; i < cell->note_count; i++) {
        pl_buf_printf(out, "%s<a href=\"#%s-n%d\" aria-label=\"note ", i > 0 ? "\xe2\x80\x89" : "", anchor,
                      cell->notes[i] + 1);
        put_letter(out, cell->notes[i]);
        pl_buf_put(out, "\">");
        put_letter(out, cell->notes[i]);
        pl_buf_put(out, "</a>");
    }
    pl_buf_put(out, cell->note_count > 0 ? "</sup>" : "");
}

static void put_head(struct pl_buf *out, struct pl_arena *arena, const struct doc_table *table)
{
    pl_buf_printf(
        out, "<div class=\"wide%s\" role=\"region\" aria-labelledby=\"%s\" tabindex=\"0\">\n<table>\n<caption id=\"%s\">",
        table->small ? " small" : "", table->anchor, table->anchor);
    put_text(out, arena, table->caption);
    pl_buf_put(out, "</caption>\n<thead>\n<tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        pl_buf_printf(out, "<th scope=\"col\"%s>", table->columns[i].number ? " class=\"n\"" : "");
        put_text(out, arena, table->columns[i].title);
        if (table->columns[i].unit[0] != '\0') {
            pl_buf_put(out, "<span class=\"unit\">");
            put_text(out, arena, table->columns[i].unit);
            pl_buf_put(out, "</span>");
        }
        pl_buf_put(out, "</th>");
    }
    pl_buf_put(out, "</tr>\n</thead>\n<tbody>\n");
}

static void put_table(struct pl_buf *out, struct pl_arena *arena, const struct doc_table *table)
{
    put_head(out, arena, table);
    for (size_t row = 0; row < doc_row_count(table); row++) {
        if (table->row_anchors != NULL)
            pl_buf_printf(out, "<tr id=\"%s\">", table->row_anchors[row]);
        else
            pl_buf_put(out, "<tr>");
        for (size_t column = 0; column < table->column_count; column++) {
            const char *element = column < table->key_columns ? "th" : "td";
            pl_buf_printf(out, "<%s%s%s>", element, column < table->key_columns ? " scope=\"row\"" : "",
                          table->columns[column].number ? " class=\"n\"" : "");
            put_cell(out, arena, table->anchor, &table->cells[row * table->column_count + column]);
            pl_buf_printf(out, "</%s>", element);
        }
        pl_buf_put(out, "</tr>\n");
    }
    pl_buf_put(out, "</tbody>\n</table>\n</div>\n");
    if (table->note_count == 0)
        return;
    pl_buf_put(out, "<ol class=\"notes\">\n");
    for (size_t i = 0; i < table->note_count; i++) {
        pl_buf_printf(out, "<li id=\"%s-n%zu\">", table->anchor, i + 1);
        put_text(out, arena, table->notes[i]);
        pl_buf_put(out, "</li>\n");
    }
    pl_buf_put(out, "</ol>\n");
}

static void put_keys(struct pl_buf *out, struct pl_arena *arena, const struct doc_block *block)
{
    pl_buf_put(out, "<dl class=\"keys\">\n");
    for (size_t i = 0; i < block->count; i++) {
        pl_buf_put(out, "<div>");
        put_element(out, arena, "dt", block->keys[i].label);
        pl_buf_put(out, "<dd class=\"value\">");
        put_cell(out, arena, "keys", &block->keys[i].cell);
        pl_buf_put(out, "</dd><dd class=\"context\">");
        put_text(out, arena, block->keys[i].context);
        pl_buf_put(out, "</dd></div>\n");
    }
    pl_buf_put(out, "</dl>\n");
}

static void put_listing(struct pl_buf *out, struct pl_arena *arena, const char *raw)
{
    const char *text = page_text_lines(arena, raw);
    pl_buf_put(out, "<pre tabindex=\"0\"><code>");
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        put_text(out, arena, pl_strndup(arena, text, length));
        pl_buf_put(out, text[length] == '\n' ? "\n" : "");
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    pl_buf_put(out, "</code></pre>\n");
}

static void put_block(struct pl_buf *out, struct pl_arena *arena, const struct doc_block *block)
{
    switch (block->kind) {
    case DOC_PARAGRAPH:
    case DOC_WARNING:
        pl_buf_put(out, block->kind == DOC_WARNING ? "<p class=\"warning\">" : "<p>");
        put_line(out, arena, &block->line);
        pl_buf_put(out, "</p>\n");
        break;
    case DOC_LIST:
        pl_buf_put(out, "<ul>\n");
        for (size_t i = 0; i < block->count; i++) {
            pl_buf_put(out, "<li>");
            put_line(out, arena, block->items[i]);
            pl_buf_put(out, "</li>\n");
        }
        pl_buf_put(out, "</ul>\n");
        break;
    case DOC_KEYS:
        put_keys(out, arena, block);
        break;
    case DOC_TABLE:
        put_table(out, arena, block->table);
        break;
    case DOC_LISTING:
        put_listing(out, arena, block->text);
        break;
    }
}

static void put_top(const struct doc *doc, struct pl_buf *out)
{
    pl_buf_put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
                    "img-src data:; base-uri 'none'; form-action 'none'\">\n<link rel=\"icon\" href=\"data:,\">\n");
    put_element(out, doc->arena, "title", doc->title);
    pl_buf_put(out, "\n<style>");
    for (size_t i = 0; page_style[i] != NULL; i++)
        pl_buf_put(out, page_style[i]);
    pl_buf_put(out, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<div "
                    "class=\"page\">\n<header>\n");
    put_element(out, doc->arena, "h1", doc->title);
    pl_buf_put(out, "\n");
    put_element(out, doc->arena, "p", doc->subtitle);
    pl_buf_put(out, "\n</header>\n<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">On this page</h2>\n<ul>\n");
    for (size_t i = 0; i < doc->count; i++) {
        if (doc->sections[i]->level != 2)
            continue;
        pl_buf_printf(out, "<li><a href=\"#%s\">", doc->sections[i]->anchor);
        put_text(out, doc->arena, doc->sections[i]->title);
        pl_buf_put(out, "</a></li>\n");
    }
    pl_buf_put(out, "</ul>\n</nav>\n<main id=\"main\" tabindex=\"-1\">\n");
}

void page_html(const struct doc *doc, struct pl_buf *out)
{
    put_top(doc, out);
    for (size_t i = 0; i < doc->count; i++) {
        const struct doc_section *section = doc->sections[i];
        const char *heading = section->level == 2 ? "h2" : "h3";
        if (section->level == 2)
            pl_buf_printf(out, "%s<section aria-labelledby=\"%s\">\n", i > 0 ? "</section>\n" : "", section->anchor);
        pl_buf_printf(out, "<%s id=\"%s\">", heading, section->anchor);
        put_text(out, doc->arena, section->title);
        pl_buf_printf(out, "</%s>\n", heading);
        for (size_t k = 0; k < section->count; k++)
            put_block(out, doc->arena, section->blocks[k]);
    }
    pl_buf_put(out, doc->count > 0 ? "</section>\n" : "");
    pl_buf_put(out, "</main>\n</div>\n</body>\n</html>\n");
}
