/* One document, before any format: sections of paragraphs, lists, key figures and tables. The renderers (markdown.c,
 * html.c, json.c) know nothing of studies, and what fills a document knows nothing of formats.
 *
 * Every text is data: it may hold any bytes from outside, and a renderer escapes all of it. Markup exists only as structure
 * (spans, cells, links). Everything lives in the arena given to doc_new. */
#ifndef PL_PAGE_DOC_H
#define PL_PAGE_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "record/record.h"

enum doc_span_kind {
    DOC_SPAN_TEXT,
    DOC_SPAN_STRONG,
    DOC_SPAN_CODE, /* names, settings, versions: text that a machine would read */
    DOC_SPAN_LINK  /* to an anchor of this document */
};

struct doc_span {
    enum doc_span_kind kind;
    const char *text;
    const char *target; /* anchor, without '#'; "" unless a link */
};

struct doc_line {
    struct doc_span *spans;
    size_t count, capacity;
};

/* Which part of its figure a cell shows. DOC_SPREAD: value and standard deviation, "1,234 ± 56". */
enum doc_part { DOC_VALUE, DOC_STDDEV, DOC_INTERVAL, DOC_COUNT, DOC_SPREAD };

struct doc_cell {
    const char *text;            /* as printed for people; "" for an empty cell */
    const struct figure *figure; /* NULL for plain text */
    enum doc_part part;
    bool code;
    bool bare;          /* no unit in the text: the column's title has it */
    int source;         /* number of the provenance entry; 0 = none. Its anchor is f<source> */
    const char *target; /* anchor the cell links to; NULL = none, or that of `source` */
    int *notes;         /* indices of table notes */
    size_t note_count;
};

struct doc_column {
    const char *title;
    const char *unit; /* "" or the unit of all its numbers */
    bool number;      /* set to the right */
    bool shared_unit; /* its figures are shown in one unit, named in the title */
};

struct doc_table {
    const char *anchor, *caption;
    struct doc_column *columns;
    size_t column_count, column_capacity;
    size_t key_columns;     /* the first so many name the row */
    struct doc_cell *cells; /* row by row */
    size_t cell_count, cell_capacity;
    const char **row_anchors; /* NULL, or one for each row */
    const char **notes;       /* printed below, lettered a, b, c */
    size_t note_count, note_capacity;
    bool small; /* reference material: set smaller */
};

/* A figure that stands at the top of the page. */
struct doc_key {
    const char *label;
    struct doc_cell cell;
    const char *context; /* "at 16 clients" */
};

enum doc_block_kind { DOC_PARAGRAPH, DOC_WARNING, DOC_LIST, DOC_KEYS, DOC_TABLE, DOC_LISTING };

struct doc_block {
    enum doc_block_kind kind;
    struct doc_line line;    /* DOC_PARAGRAPH, DOC_WARNING */
    struct doc_line **items; /* DOC_LIST */
    struct doc_key *keys;    /* DOC_KEYS */
    size_t count, capacity;  /* of items or keys */
    struct doc_table *table; /* DOC_TABLE */
    const char *text;        /* DOC_LISTING: several lines, verbatim */
};

struct doc_section {
    int level; /* 2 or 3 */
    const char *anchor, *title;
    struct doc_block **blocks;
    size_t count, capacity;
};

struct doc {
    struct pl_arena *arena;
    const char *title, *subtitle;
    struct doc_section **sections;
    size_t count, capacity;
};

struct doc *doc_new(struct pl_arena *arena, const char *title, const char *subtitle);
struct doc_section *doc_section_add(struct doc *doc, int level, const char *anchor, const char *title);

/* Blocks go to the end of the last section. */
struct doc_line *doc_paragraph(struct doc *doc);
struct doc_line *doc_warning(struct doc *doc);
struct doc_block *doc_list(struct doc *doc);
struct doc_line *doc_item(struct doc *doc, struct doc_block *list);
void doc_listing(struct doc *doc, const char *text);
struct doc_block *doc_keys(struct doc *doc);
void doc_key_add(struct doc *doc, struct doc_block *keys, const struct doc_key *key);

void doc_span_add(struct doc *doc, struct doc_line *line, enum doc_span_kind kind, const char *text, const char *target);
void doc_say(struct doc *doc, struct doc_line *line, const char *fmt, ...) PL_PRINTF(3, 4);
void doc_code(struct doc *doc, struct doc_line *line, const char *text);

struct doc_table *doc_table(struct doc *doc, const char *anchor, const char *caption);
void doc_column_add(struct doc *doc, struct doc_table *table, const char *title, bool number, bool shared_unit);
struct doc_cell *doc_cell_add(struct doc *doc, struct doc_table *table, const char *text); /* valid until the next one */
size_t doc_row_count(const struct doc_table *table);

/* Index of the note, which is added unless the table has it already. */
int doc_note(struct doc *doc, struct doc_table *table, const char *text);
void doc_cell_note(struct doc *doc, struct doc_table *table, struct doc_cell *cell, const char *text);

#endif
