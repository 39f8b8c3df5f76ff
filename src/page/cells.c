/* Figures in cells: each is shown in a unit that suits its column, linked to where it came from, and explained when it is
 * not there. */
#include "page/page_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

static const char dash[] = "\xe2\x80\x94";

const struct figure *page_find(const struct page *page, int64_t stage_id, int64_t case_id, const char *subject,
                               const char *name)
{
    return model_figure(page->figures, stage_id, case_id, subject, name);
}

bool page_has(const struct page *page, int64_t stage_id, int64_t case_id, const char *subject, const char *name)
{
    const struct figure *figure = page_find(page, stage_id, case_id, subject, name);
    return figure != NULL && figure->status != FIGURE_ABSENT;
}

int page_method(struct page *page, const char *method)
{
    for (size_t i = 0; i < page->method_count; i++)
        if (strcmp(page->methods[i], method) == 0)
            return (int)i + 1;
    page->methods = pl_grow(page->arena, page->methods, page->method_count, page->method_count + 1, sizeof(char *),
                            &page->method_capacity);
    page->methods[page->method_count++] = method;
    return (int)page->method_count;
}

int page_source(struct page *page, const struct figure *figure)
{
    for (size_t i = 0; i < page->source_count; i++)
        if (page->sources[i] == figure)
            return (int)i + 1;
    page->sources = pl_grow(page->arena, page->sources, page->source_count, page->source_count + 1, sizeof(struct figure *),
                            &page->source_capacity);
    page->sources[page->source_count++] = figure;
    return (int)page->source_count;
}

void page_cell_text(struct page *page, struct doc_table *table, const char *text)
{
    doc_cell_add(page->doc, table, text);
}

void page_cell_code(struct page *page, struct doc_table *table, const char *text)
{
    doc_cell_add(page->doc, table, text)->code = true;
}

/* Why a figure that is there lacks this part; a percentile says it itself. */
static const char *part_lacks(const struct figure *figure)
{
    if (figure->n > (int64_t)figure->trial_count && figure->note[0] != '\0')
        return figure->note;
    return figure->trial_count < 2 ? "one trial: its spread is not known" : "too few values for an interval";
}

void page_cell_figure(struct page *page, struct doc_table *table, const struct figure *figure, enum doc_part part)
{
    struct doc_cell *cell = doc_cell_add(page->doc, table, dash);
    bool bound = figure != NULL && page_is_bound(figure) && part == DOC_VALUE;
    if (!bound && (figure == NULL || figure->status == FIGURE_ABSENT)) {
        doc_cell_note(page->doc, table, cell, figure == NULL ? "not measured in this study" : figure->note);
        return;
    }
    bool known = part == DOC_STDDEV ? !isnan(figure->stddev) : part != DOC_INTERVAL || figure->has_interval;
    if (!known) {
        doc_cell_note(page->doc, table, cell, part_lacks(figure));
        return;
    }
    cell->figure = figure;
    cell->part = part;
    cell->source = page_source(page, figure);
    bool told =
        part == DOC_SPREAD && strncmp(figure->note, "unstable", strlen("unstable")) == 0; /* the spread stands there */
    if ((part == DOC_VALUE || part == DOC_SPREAD) && figure->note[0] != '\0' && !told)
        doc_cell_note(page->doc, table, cell, figure->note);
    if (part == DOC_SPREAD && isnan(figure->stddev))
        doc_cell_note(page->doc, table, cell, part_lacks(figure));
    if (part == DOC_INTERVAL && figure->n == 2 && figure->trial_count == 2)
        doc_cell_note(page->doc, table, cell, "two trials say little about spread");
}

static int compare_doubles(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* First figure of a column, whose unit is that of the whole column; NULL when it shows none. */
static const struct figure *column_figure(const struct doc_table *table, size_t column)
{
    for (size_t i = column; i < table->cell_count; i += table->column_count)
        if (table->cells[i].figure != NULL && table->cells[i].part != DOC_COUNT)
            return table->cells[i].figure;
    return NULL;
}

/* Median size of all that the table shows of one unit: the scale that suits it makes its columns comparable. Zeros have no
 * size. */
static double unit_size(struct page *page, const struct doc_table *table, const char *unit)
{
    double *sizes = pl_alloc(page->arena, table->cell_count + 1, sizeof *sizes);
    size_t count = 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        const struct figure *figure = table->cells[i].figure;
        bool sized = table->cells[i].part == DOC_VALUE || table->cells[i].part == DOC_SPREAD;
        if (figure != NULL && sized && table->columns[i % table->column_count].shared_unit &&
            strcmp(figure->unit, unit) == 0 && figure->value != 0 && isfinite(figure->value))
            sizes[count++] = fabs(figure->value);
    }
    if (count == 0)
        return 0;
    qsort(sizes, count, sizeof *sizes, compare_doubles);
    return sizes[(count - 1) / 2];
}

static void finish_cell(struct page *page, struct doc_cell *cell, const struct page_scale *shared)
{
    if (cell->figure == NULL)
        return;
    struct page_scale own = page_scale_of(cell->figure, cell->figure->value);
    if (shared != NULL && cell->figure->value != 0 && fabs(cell->figure->value * shared->factor) < 0.01 &&
        own.factor > shared->factor && cell->part != DOC_COUNT)
        shared = NULL; /* so much smaller than its column that a row of zeros would hide it */
    struct page_scale scale = shared != NULL ? *shared : own;
    const char *text = page_figure_text(page->arena, cell->figure, cell->part, scale);
    cell->bare = shared != NULL || cell->part == DOC_COUNT || scale.unit[0] == '\0';
    cell->text = cell->bare ? text : pl_format(page->arena, "%s%s%s", text, scale.unit[0] == '/' ? "" : " ", scale.unit);
}

void page_table_finish(struct page *page, struct doc_table *table)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const struct figure *first = column_figure(table, column);
        bool shared = table->columns[column].shared_unit && first != NULL;
        struct page_scale scale = {"", 1};
        if (shared) {
            scale = page_scale_of(first, unit_size(page, table, first->unit));
            table->columns[column].unit = scale.unit;
        }
        for (size_t i = column; i < table->cell_count; i += table->column_count)
            finish_cell(page, &table->cells[i], shared ? &scale : NULL);
    }
}

struct doc_cell page_key_cell(struct page *page, const struct figure *figure)
{
    struct doc_cell cell = {.figure = figure, .source = page_source(page, figure)};
    finish_cell(page, &cell, NULL);
    return cell;
}

void page_say_figure(struct page *page, struct doc_line *line, const struct figure *figure)
{
    struct doc_cell cell = page_key_cell(page, figure);
    doc_span_add(page->doc, line, DOC_SPAN_LINK, cell.text, pl_format(page->arena, "f%d", cell.source));
}

const char *page_param(const struct page *page, const struct case_row *row, const char *name)
{
    const char *value = param_value(row->params, row->param_count, name);
    const struct stage_row *stage = study_stage(page->study, row->stage_id);
    if (value == NULL && stage != NULL)
        value = param_value(stage->params, stage->param_count, name);
    return value;
}

const char *page_case_name(const struct page *page, const struct case_row *row)
{
    const struct stage_row *stage = study_stage(page->study, row->stage_id);
    return row->label[0] != '\0' || stage == NULL ? row->label : stage->name;
}

/* Of what a service is the name stands elsewhere: "db.data.scale" -> "scale", "db.version" -> "version". */
static const char *param_word(const char *name)
{
    const char *point = strchr(name, '.');
    if (point == NULL)
        return name;
    return strcmp(point, ".data.scale") == 0 ? "scale" : point + 1;
}

const char *page_case_words(const struct page *page, const struct case_row *row)
{
    const char *words = "", *script = page_param(page, row, "script");
    if (script != NULL)
        words = script;
    for (size_t i = 0; i < row->param_count; i++) {
        const struct param *param = &row->params[i];
        const char *comma = words[0] == '\0' ? "" : ", ";
        if (strcmp(param->name, "clients") == 0)
            words = pl_format(page->arena, "%s%s%s client%s", words, comma, param->value,
                              strcmp(param->value, "1") == 0 ? "" : "s");
        else if (strcmp(param->name, "rate") == 0)
            words = pl_format(page->arena, "%s%s%s", words, comma, param->value);
        else if (strcmp(param->name, "transactions") == 0)
            words = pl_format(page->arena, "%s%s%s transactions each", words, comma, param->value);
        else if (strcmp(param->name, "script") != 0)
            words = pl_format(page->arena, "%s%s%s %s", words, comma, param_word(param->name), param->value);
    }
    return words[0] != '\0' ? words : pl_format(page->arena, "stage %s", page_case_name(page, row));
}

bool page_is_scope_of(const char *scope, const char *service)
{
    size_t length = strlen(service);
    return strncmp(scope, service, length) == 0 && (scope[length] == '\0' || scope[length] == ' ');
}

/* "15.14", or all versions that its variants have. */
static const char *versions_of(const struct page *page, const char *service, const char *name)
{
    const char *all = NULL;
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const struct fact *fact = &page->study->facts[i];
        if (!page_is_scope_of(fact->scope, service) || strcmp(fact->name, name) != 0)
            continue;
        if (all == NULL)
            all = fact->value;
        else if (strstr(all, fact->value) == NULL)
            all = pl_format(page->arena, "%s, %s", all, fact->value);
    }
    return all;
}

const char *page_version(const struct page *page, const char *service)
{
    const char *version = versions_of(page, service, "version"), *kind = versions_of(page, service, "kind");
    if (version == NULL)
        version = versions_of(page, service, "server_version");
    if (version == NULL)
        return NULL;
    bool postgres = kind != NULL && strcmp(kind, "postgres") == 0;
    return pl_format(page->arena, "%s%s", postgres ? "PostgreSQL " : "", version);
}

const char *page_param_title(const struct page *page, const char *name)
{
    static const char *const titles[][2] = {{"http2", "HTTP/2"},
                                            {"keep_alive", "Connections kept"},
                                            {"max_time", "Time limit"},
                                            {"think_law", "Law of think times"},
                                            {"session_law", "Law of sessions"}};
    const char *point = strchr(name, '.');
    if (point != NULL && strcmp(point, ".data.scale") == 0)
        return "Scale";
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(name, titles[i][0]) == 0)
            return titles[i][1];
    char *title = pl_strdup(page->arena, point != NULL ? point + 1 : name);
    if (title[0] >= 'a' && title[0] <= 'z')
        title[0] = (char)(title[0] - 'a' + 'A');
    return title;
}

const char *page_after_script(const char *text, const char *script)
{
    size_t length = strlen(script);
    if (length == 0 || strncmp(text, script, length) != 0)
        return text;
    const char *rest = text + length + strspn(text + length, ", ");
    return rest[0] != '\0' ? rest : text;
}

size_t page_done_trials(const struct page *page, int64_t case_id)
{
    size_t count = 0;
    for (size_t i = 0; i < page->study->trial_count; i++)
        count += page->study->trials[i].case_id == case_id && page->study->trials[i].state == TRIAL_DONE;
    return count;
}

bool page_is_load(const struct stage_row *stage)
{
    static const char *const kinds[] = {"clients", "rate", "storage"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(stage->kind, kinds[i]) == 0)
            return true;
    return false;
}
