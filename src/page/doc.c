/* Building a document. */
#include "page/doc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

struct doc *doc_new(struct pl_arena *arena, const char *title, const char *subtitle)
{
    struct doc *doc = pl_alloc(arena, 1, sizeof *doc);
    doc->arena = arena;
    doc->title = title;
    doc->subtitle = subtitle;
    return doc;
}

struct doc_section *doc_section_add(struct doc *doc, int level, const char *anchor, const char *title)
{
    struct doc_section *section = pl_alloc(doc->arena, 1, sizeof *section);
    *section = (struct doc_section){.level = level, .anchor = anchor, .title = title};
    doc->sections =
        pl_grow(doc->arena, doc->sections, doc->count, doc->count + 1, sizeof(struct doc_section *), &doc->capacity);
    doc->sections[doc->count++] = section;
    return section;
}

static struct doc_block *block_add(struct doc *doc, enum doc_block_kind kind)
{
    assert(doc->count > 0);
    struct doc_section *section = doc->sections[doc->count - 1];
    struct doc_block *block = pl_alloc(doc->arena, 1, sizeof *block);
    block->kind = kind;
    section->blocks = pl_grow(doc->arena, section->blocks, section->count, section->count + 1, sizeof(struct doc_block *),
                              &section->capacity);
    section->blocks[section->count++] = block;
    return block;
}

struct doc_line *doc_paragraph(struct doc *doc)
{
    return &block_add(doc, DOC_PARAGRAPH)->line;
}

struct doc_line *doc_warning(struct doc *doc)
{
    return &block_add(doc, DOC_WARNING)->line;
}

struct doc_block *doc_list(struct doc *doc)
{
    return block_add(doc, DOC_LIST);
}

struct doc_line *doc_item(struct doc *doc, struct doc_block *list)
{
    struct doc_line *line = pl_alloc(doc->arena, 1, sizeof *line);
    list->items =
        pl_grow(doc->arena, list->items, list->count, list->count + 1, sizeof(struct doc_line *), &list->capacity);
    list->items[list->count++] = line;
    return line;
}

void doc_listing(struct doc *doc, const char *text)
{
    block_add(doc, DOC_LISTING)->text = text;
}

struct doc_block *doc_keys(struct doc *doc)
{
    return block_add(doc, DOC_KEYS);
}

void doc_key_add(struct doc *doc, struct doc_block *keys, const struct doc_key *key)
{
    keys->keys = pl_grow(doc->arena, keys->keys, keys->count, keys->count + 1, sizeof *key, &keys->capacity);
    keys->keys[keys->count++] = *key;
}

void doc_span_add(struct doc *doc, struct doc_line *line, enum doc_span_kind kind, const char *text, const char *target)
{
    line->spans = pl_grow(doc->arena, line->spans, line->count, line->count + 1, sizeof *line->spans, &line->capacity);
    line->spans[line->count++] = (struct doc_span){kind, text, target};
}

void doc_say(struct doc *doc, struct doc_line *line, const char *fmt, ...)
{
    assert(fmt != NULL);
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0)
        pl_panic("cannot format \"%s\"", fmt);
    char *text = pl_alloc(doc->arena, (size_t)length + 1, 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, args);
    va_end(args);
    doc_span_add(doc, line, DOC_SPAN_TEXT, text, "");
}

void doc_code(struct doc *doc, struct doc_line *line, const char *text)
{
    doc_span_add(doc, line, DOC_SPAN_CODE, text, "");
}

struct doc_table *doc_table(struct doc *doc, const char *anchor, const char *caption)
{
    struct doc_table *table = pl_alloc(doc->arena, 1, sizeof *table);
    table->anchor = anchor;
    table->caption = caption;
    table->key_columns = 1;
    block_add(doc, DOC_TABLE)->table = table;
    return table;
}

void doc_column_add(struct doc *doc, struct doc_table *table, const char *title, bool number, bool shared_unit)
{
    assert(table->cell_count == 0);
    table->columns = pl_grow(doc->arena, table->columns, table->column_count, table->column_count + 1,
                             sizeof *table->columns, &table->column_capacity);
    table->columns[table->column_count++] =
        (struct doc_column){.title = title, .unit = "", .number = number, .shared_unit = shared_unit};
}

struct doc_cell *doc_cell_add(struct doc *doc, struct doc_table *table, const char *text)
{
    table->cells = pl_grow(doc->arena, table->cells, table->cell_count, table->cell_count + 1, sizeof *table->cells,
                           &table->cell_capacity);
    struct doc_cell *cell = &table->cells[table->cell_count++];
    *cell = (struct doc_cell){.text = text};
    return cell;
}

size_t doc_row_count(const struct doc_table *table)
{
    return table->column_count == 0 ? 0 : table->cell_count / table->column_count;
}

int doc_note(struct doc *doc, struct doc_table *table, const char *text)
{
    for (size_t i = 0; i < table->note_count; i++)
        if (strcmp(table->notes[i], text) == 0)
            return (int)i;
    table->notes =
        pl_grow(doc->arena, table->notes, table->note_count, table->note_count + 1, sizeof(char *), &table->note_capacity);
    table->notes[table->note_count] = text;
    return (int)table->note_count++;
}

void doc_cell_note(struct doc *doc, struct doc_table *table, struct doc_cell *cell, const char *text)
{
    int note = doc_note(doc, table, text);
    for (size_t i = 0; i < cell->note_count; i++)
        if (cell->notes[i] == note)
            return;
    int *notes = pl_alloc(doc->arena, cell->note_count + 1, sizeof *notes);
    for (size_t i = 0; i < cell->note_count; i++)
        notes[i] = cell->notes[i];
    notes[cell->note_count++] = note;
    cell->notes = notes;
}
