/* Markdown that stands in a repository: tables aligned in the source, text from outside escaped so that it can be neither
 * markup nor HTML. */
#include "page/page_int.h"

#include <string.h>

#include "base/limits.h"

#include "base/ban.h"

/* Characters that can begin markup anywhere in a line; a backslash makes each of them plain (CommonMark 2.4). */
static const char special[] = "\\`*_[]|~$";

static bool starts_url(const char *at)
{
    static const char *const starts[] = {"://", "www.", "mailto:", "xmpp:"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncasecmp(at, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Could the character at `at` begin a block (a list, a heading, a rule, a number with a point)? Only at the start of a
 * line. */
static bool begins_block(const char *text, const char *at)
{
    size_t digits = strspn(text, "0123456789");
    bool ends_word = at[1] == ' ' || at[1] == '\0' || at[1] == *at;
    if (at == text)
        return *at == '#' || (ends_word && strchr("-+=:", *at) != NULL);
    return ends_word && digits > 0 && at == text + digits && (*at == '.' || *at == ')');
}

/* Text as Markdown text. `starts`: it may stand at the start of a line, where more is markup than within one. */
static void put_text(struct pl_buf *out, struct pl_arena *arena, const char *raw, bool starts)
{
    const char *text = page_text_line(arena, raw);
    for (const char *at = text; *at != '\0'; at++) {
        bool inside_word = *at == '_' && at > text && is_word(at[-1]) && is_word(at[1]);
        if (starts_url(at))
            pl_buf_printf(out, "&#%d;", (unsigned char)*at);
        else if (*at == '<')
            pl_buf_put(out, "&lt;");
        else if (*at == '>')
            pl_buf_put(out, "&gt;");
        else if (*at == '&')
            pl_buf_put(out, "&amp;");
        else if (*at == '@')
            pl_buf_put(out, "&#64;");
        else if ((strchr(special, *at) != NULL && !inside_word) || (starts && begins_block(text, at)))
            pl_buf_printf(out, "\\%c", *at);
        else
            pl_buf_put_bytes(out, at, 1);
    }
}

/* A code span whose fence is longer than any run of backticks inside; in a table a bar must still be escaped. */
static void put_code(struct pl_buf *out, struct pl_arena *arena, const char *raw, bool in_table)
{
    const char *text = page_text_line(arena, raw);
    size_t run = 0, longest = 0;
    for (const char *at = text; *at != '\0'; at++) {
        run = *at == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    if (text[0] == '\0')
        return;
    /* a backslash before a bar cannot be told from the escape of the bar: such text is no code span */
    if (in_table && strstr(text, "\\|") != NULL) {
        put_text(out, arena, raw, false);
        return;
    }
    for (size_t i = 0; i <= longest; i++)
        pl_buf_put(out, "`");
    bool pad = text[0] == '`' || text[strlen(text) - 1] == '`';
    pl_buf_put(out, pad ? " " : "");
    for (const char *at = text; *at != '\0'; at++)
        pl_buf_printf(out, in_table && *at == '|' ? "\\%c" : "%c", *at);
    pl_buf_put(out, pad ? " " : "");
    for (size_t i = 0; i <= longest; i++)
        pl_buf_put(out, "`");
}

static void put_line(struct pl_buf *out, struct pl_arena *arena, const struct doc_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct doc_span *span = &line->spans[i];
        switch (span->kind) {
        case DOC_SPAN_TEXT:
            put_text(out, arena, span->text, i == 0);
            break;
        case DOC_SPAN_STRONG:
            pl_buf_put(out, "**");
            put_text(out, arena, span->text, false);
            pl_buf_put(out, "**");
            break;
        case DOC_SPAN_CODE:
            put_code(out, arena, span->text, false);
            break;
        case DOC_SPAN_LINK:
            pl_buf_put(out, "[");
            put_text(out, arena, span->text, false);
            pl_buf_printf(out, "](#%s)", span->target);
            break;
        }
    }
}

/* "a", ..., "z", "aa", ... */
static void put_letter(struct pl_buf *out, int note)
{
    if (note >= 26)
        put_letter(out, note / 26 - 1);
    pl_buf_printf(out, "%c", 'a' + note % 26);
}

static void put_cell(struct pl_buf *out, struct pl_arena *arena, const struct doc_cell *cell)
{
    const char *target = cell->target != NULL ? cell->target
                         : cell->source > 0   ? pl_format(arena, "f%d", cell->source)
                                              : NULL;
    if (target != NULL)
        pl_buf_put(out, "[");
    if (cell->code)
        put_code(out, arena, cell->text, true);
    else
        put_text(out, arena, cell->text, false);
    if (target != NULL)
        pl_buf_printf(out, "](#%s)", target);
    for (size_t i = 0; i < cell->note_count; i++) {
        pl_buf_put(out, i == 0 ? " (" : ", ");
        put_letter(out, cell->notes[i]);
        pl_buf_put(out, i + 1 == cell->note_count ? ")" : "");
    }
}

static const char *cell_markdown(struct pl_arena *arena, const struct doc_table *table, size_t row, size_t column)
{
    struct pl_buf buf;
    pl_buf_init(&buf, PL_MAX_PAGE_BYTES);
    if (row == 0) {
        put_text(&buf, arena, table->columns[column].title, false);
        if (table->columns[column].unit[0] != '\0') {
            pl_buf_put(&buf, ", ");
            put_text(&buf, arena, table->columns[column].unit, false);
        }
    } else {
        if (column == 0 && table->row_anchors != NULL)
            pl_buf_printf(&buf, "<a id=\"%s\"></a>", table->row_anchors[row - 1]);
        put_cell(&buf, arena, &table->cells[(row - 1) * table->column_count + column]);
    }
    const char *text = pl_strdup(arena, pl_buf_text(&buf));
    pl_buf_release(&buf);
    return text;
}

static void put_padded(struct pl_buf *out, const char *text, size_t width, bool right)
{
    size_t pad = width - page_text_width(text);
    pl_buf_printf(out, "| %*s%s%*s ", right ? (int)pad : 0, "", text, right ? 0 : (int)pad, "");
}

static void put_rule(struct pl_buf *out, size_t width, bool right)
{
    pl_buf_put(out, "| ");
    for (size_t i = 0; i + (right ? 1 : 0) < width; i++)
        pl_buf_put(out, "-");
    pl_buf_put(out, right ? ": " : " ");
}

static void put_table(struct pl_buf *out, struct pl_arena *arena, const struct doc_table *table)
{
    size_t rows = doc_row_count(table) + 1, columns = table->column_count;
    const char **texts = pl_alloc(arena, rows * columns + 1, sizeof(char *));
    size_t *widths = pl_alloc(arena, columns + 1, sizeof *widths);
    for (size_t i = 0; i < rows * columns; i++) {
        texts[i] = cell_markdown(arena, table, i / columns, i % columns);
        size_t width = page_text_width(texts[i]);
        widths[i % columns] = width > widths[i % columns] ? width : widths[i % columns];
    }
    for (size_t i = 0; i < columns; i++)
        widths[i] = widths[i] < 3 ? 3 : widths[i];
    pl_buf_put(out, "**");
    put_text(out, arena, table->caption, false);
    pl_buf_put(out, "**\n\n");
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++)
            put_padded(out, texts[row * columns + column], widths[column], table->columns[column].number);
        pl_buf_put(out, "|\n");
        for (size_t column = 0; row == 0 && column < columns; column++)
            put_rule(out, widths[column], table->columns[column].number);
        pl_buf_put(out, row == 0 ? "|\n" : "");
    }
    pl_buf_put(out, table->note_count > 0 ? "\n" : "");
    for (size_t i = 0; i < table->note_count; i++) {
        pl_buf_put(out, "- (");
        put_letter(out, (int)i);
        pl_buf_put(out, ") ");
        put_text(out, arena, table->notes[i], false);
        pl_buf_put(out, "\n");
    }
    pl_buf_put(out, "\n");
}

/* Indented code needs no fence, so nothing in the text can end it. */
static void put_listing(struct pl_buf *out, struct pl_arena *arena, const char *raw)
{
    const char *text = page_text_lines(arena, raw);
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (length > 0) {
            pl_buf_put(out, "    ");
            pl_buf_put_bytes(out, text, length);
        }
        pl_buf_put(out, "\n");
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    pl_buf_put(out, "\n");
}

static void put_block(struct pl_buf *out, struct pl_arena *arena, const struct doc_block *block)
{
    switch (block->kind) {
    case DOC_WARNING:
        pl_buf_put(out, "> ");
        put_line(out, arena, &block->line);
        pl_buf_put(out, "\n\n");
        break;
    case DOC_PARAGRAPH:
        put_line(out, arena, &block->line);
        pl_buf_put(out, "\n\n");
        break;
    case DOC_LIST:
        for (size_t i = 0; i < block->count; i++) {
            pl_buf_put(out, "- ");
            put_line(out, arena, block->items[i]);
            pl_buf_put(out, "\n");
        }
        pl_buf_put(out, "\n");
        break;
    case DOC_KEYS:
        for (size_t i = 0; i < block->count; i++) {
            pl_buf_put(out, "- ");
            put_text(out, arena, block->keys[i].label, true);
            pl_buf_put(out, ": **");
            put_cell(out, arena, &block->keys[i].cell);
            pl_buf_put(out, "** ");
            put_text(out, arena, block->keys[i].context, false);
            pl_buf_put(out, "\n");
        }
        pl_buf_put(out, "\n");
        break;
    case DOC_TABLE:
        put_table(out, arena, block->table);
        break;
    case DOC_LISTING:
        put_listing(out, arena, block->text);
        break;
    }
}

void page_markdown(const struct doc *doc, struct pl_buf *out)
{
    pl_buf_put(out, "# ");
    put_text(out, doc->arena, doc->title, false);
    pl_buf_put(out, "\n\n");
    put_text(out, doc->arena, doc->subtitle, true);
    pl_buf_put(out, "\n\n");
    for (size_t i = 0; i < doc->count; i++)
        if (doc->sections[i]->level == 2) {
            pl_buf_put(out, "- [");
            put_text(out, doc->arena, doc->sections[i]->title, false);
            pl_buf_printf(out, "](#%s)\n", doc->sections[i]->anchor);
        }
    pl_buf_put(out, "\n");
    for (size_t i = 0; i < doc->count; i++) {
        const struct doc_section *section = doc->sections[i];
        pl_buf_printf(out, "<a id=\"%s\"></a>\n\n%s ", section->anchor, section->level == 2 ? "##" : "###");
        put_text(out, doc->arena, section->title, false);
        pl_buf_put(out, "\n\n");
        for (size_t k = 0; k < section->count; k++)
            put_block(out, doc->arena, section->blocks[k]);
    }
}
