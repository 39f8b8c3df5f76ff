/* What the files of this room share. */
#ifndef PL_PAGE_PAGE_INT_H
#define PL_PAGE_PAGE_INT_H

#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "page/doc.h"
#include "page/page.h"
#include "record/study.h"

/* A page under construction. */
struct page {
    const struct study *study;
    const struct figures *figures;
    struct pl_arena *arena;
    struct doc *doc;
    const struct figure **sources; /* what the page shows, in order of first use: provenance entry i + 1 */
    size_t source_count, source_capacity;
    const char **methods; /* distinct method sentences, in order of first use: anchor m<i + 1> */
    size_t method_count, method_capacity;
};

/* --- number.c: numbers for people --- */
struct page_scale {
    const char *unit; /* "ms", "MiB", "%", ... ; "" when the number stands alone */
    double factor;    /* shown = value * factor */
};
/* The unit in which a value of this size reads best. */
struct page_scale page_scale_of(const struct figure *figure, double size);
/* Decimals after the point for a value that is known to +- half_width (0: unknown, three significant digits). May be
 * negative: rounded before the point. */
int page_decimals(double value, double half_width);
/* "12,345.6": rounded, thousands apart, no exponent unless tiny. */
const char *page_number(struct pl_arena *arena, double value, int decimals);
/* An absent percentile of which a lower bound is known: its value (model.h). */
bool page_is_bound(const struct figure *figure);
/* What a cell shows of its figure, in the scale, without the unit; "" when that part is not known. The lower
 * end of an interval is shown as 0 when the quantity cannot be below; the figure keeps it. */
const char *page_figure_text(struct pl_arena *arena, const struct figure *figure, enum doc_part part,
                             struct page_scale scale);
/* Full precision, as a machine reads it. */
const char *page_exact(struct pl_arena *arena, double value);
const char *page_time(struct pl_arena *arena, int64_t unix_ns); /* "2026-11-30 09:00 UTC" */
const char *page_duration(struct pl_arena *arena, double ns);   /* "1.23 ms" */

/* --- text.c: bytes from outside --- */
/* As repaired, and made one visible line: white space becomes a space, control characters their pictures (U+2400...),
 * characters that turn the direction of writing U+FFFD. */
const char *page_text_line(struct pl_arena *arena, const char *text);
/* The same for several lines: line feeds stay, tabs become spaces. */
const char *page_text_lines(struct pl_arena *arena, const char *text);
size_t page_text_width(const char *text); /* characters, of valid UTF-8 */

/* --- cells.c: figures in tables --- */
const struct figure *page_find(const struct page *page, int64_t stage_id, int64_t case_id, const char *subject,
                               const char *name);
bool page_has(const struct page *page, int64_t stage_id, int64_t case_id, const char *subject,
              const char *name); /* not absent */
void page_cell_text(struct page *page, struct doc_table *table, const char *text);
void page_cell_code(struct page *page, struct doc_table *table, const char *text);
/* NULL or absent figures become a dash with the reason as a note. */
void page_cell_figure(struct page *page, struct doc_table *table, const struct figure *figure, enum doc_part part);
/* Fills the texts of all figure cells: columns with a shared unit get one, the other cells carry theirs. */
void page_table_finish(struct page *page, struct doc_table *table);
/* A figure outside a table: its value with its unit, and the number of its provenance entry. */
struct doc_cell page_key_cell(struct page *page, const struct figure *figure);
void page_say_figure(struct page *page, struct doc_line *line, const struct figure *figure); /* a link to its provenance */
int page_method(struct page *page, const char *method);                                      /* number, from 1 */
int page_source(struct page *page, const struct figure *figure);

/* --- helpers over the study (cells.c) --- */
const char *page_param(const struct page *page, const struct case_row *row, const char *name); /* case, else stage; NULL */
const char *page_case_name(const struct page *page, const struct case_row *row);  /* its label, or the stage's name */
const char *page_case_words(const struct page *page, const struct case_row *row); /* "tpcb-like, 4 clients" */
const char *page_version(const struct page *page, const char *service);           /* "PostgreSQL 15.14"; NULL: not known */
bool page_is_scope_of(const char *scope, const char *service);                    /* of it, or of one of its variants */
/* Where the caption names the script, "tpcb-like, 4 clients" and "tpcb-like step 1" need not. */
const char *page_after_script(const char *text, const char *script);
const char *page_param_title(const struct page *page,
                             const char *name); /* "clients" -> "Clients", "db.data.scale" -> "Scale" */
size_t page_done_trials(const struct page *page, int64_t case_id);
bool page_is_load(const struct stage_row *stage);

/* --- facts (about.c, variants.c) --- */
/* `plimsoll pgbench --study`: the server was there before, and nothing but the load was watched. */
bool page_is_load_only(const struct page *page);
bool page_is_server_elsewhere(const struct page *page);
/* The subject was running already, and nothing of it was read. */
bool page_is_attached(const struct page *page);
const char *page_fact_label(struct page *page, const char *name);
const char *page_fact_value(struct page *page, const struct fact *fact);
/* Of this scope; or, of a service that ran in variants, the first one's, when all variants have it with the same value. */
bool page_fact_is_shared(const struct page *page, const struct fact *fact, const char *scope);
/* One item that names the variants of the service; false, and nothing said, when it has none. */
bool page_say_variants(struct page *page, struct doc_block *list, const char *service);
/* What its variants do not share; nothing when it has none. */
void page_variant_table(struct page *page, const char *service, const char *anchor);

/* --- parts.c: scripts of a mix, groups of tenants --- */
bool page_is_part(const char *subject);
/* Tables of the parts of all cases of a stage with one script or mix; nothing where loads have none. first: names them. */
void page_part_table(struct page *page, const struct stage_row *stage, const struct case_row *first, const char *script);

/* --- sections, each silent when the study has nothing for it --- */
void page_about(struct page *page);
void page_glance(struct page *page);
void page_hardware(struct page *page);
void page_footprint(struct page *page);
void page_compare(struct page *page);
void page_clients(struct page *page);
void page_rate(struct page *page);
void page_wal(struct page *page);
void page_storage(struct page *page);
void page_methods(struct page *page);
void page_settings(struct page *page);
void page_machine(struct page *page);
void page_noise(struct page *page);
void page_ledgers(struct page *page);
void page_faults(struct page *page);
void page_limits(struct page *page);
void page_provenance(struct page *page);
void page_plan(struct page *page);

/* --- compare.c --- */
/* "custom is faster by 12 % (8 to 16 %)", "no difference was shown: within ±5 %", "too few trials". `name` is the arm's;
 * change and corrected are its figures, NULL when there are none. */
const char *page_verdict(const struct page *page, const char *name, const struct figure *change,
                         const struct figure *corrected);

/* --- check.c --- */
PL_MUST_CHECK enum pl_code page_check(const struct study *study, const struct figures *figures, struct pl_err *err);

/* --- renderers --- */
void page_markdown(const struct doc *doc, struct pl_buf *out);
void page_html(const struct doc *doc, struct pl_buf *out);
PL_MUST_CHECK enum pl_code page_json(const struct page *page, struct pl_buf *out, struct pl_err *err);
extern const char *const page_style[]; /* style.c: the HTML page's style sheet, in pieces, NULL-ended */

#endif
