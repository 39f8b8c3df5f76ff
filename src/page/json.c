/* JSON: the study's rows, every figure in full precision, and the document. The schema is docs/page.schema.json. */
#include "page/page_int.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"
#include "record/as_json.h"

#include "base/ban.h"

#define PAGE_SCHEMA_VERSION 2

static json_t *json_params(struct pl_arena *arena, const struct param *params, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(object, pl_utf8_repair(arena, params[i].name), record_json_text(arena, params[i].value));
    return object;
}

static json_t *json_study(struct pl_arena *arena, const struct study *study)
{
    json_t *object = json_object();
    json_object_set_new(object, "title", record_json_text(arena, study->title));
    json_object_set_new(object, "subject", record_json_text(arena, study->subject));
    json_object_set_new(object, "tool_version", record_json_text(arena, study->tool_version));
    json_object_set_new(object, "seed", record_json_text(arena, pl_format(arena, "%llu", (unsigned long long)study->seed)));
    json_object_set_new(object, "study_schema_version", json_integer(study->schema_version));
    json_object_set_new(object, "started_unix_ns", json_integer(study->started_unix_ns));
    json_object_set_new(object, "ended_unix_ns",
                        study->ended_unix_ns > 0 ? json_integer(study->ended_unix_ns) : json_null());
    json_object_set_new(object, "plan_path", record_json_text(arena, study->plan_path));
    json_object_set_new(object, "plan_text", record_json_text(arena, study->plan_text));
    return object;
}

static json_t *json_facts(struct pl_arena *arena, const struct study *study)
{
    json_t *array = json_array();
    for (size_t i = 0; i < study->fact_count; i++) {
        const struct fact *fact = &study->facts[i];
        json_t *object = json_object();
        json_object_set_new(object, "scope", record_json_text(arena, fact->scope));
        json_object_set_new(object, "name", record_json_text(arena, fact->name));
        json_object_set_new(object, "value", record_json_text(arena, fact->value));
        json_object_set_new(object, "unit", record_json_text(arena, fact->unit));
        json_object_set_new(object, "how", record_json_text(arena, fact->how));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_stages(struct pl_arena *arena, const struct study *study)
{
    json_t *array = json_array();
    for (size_t i = 0; i < study->stage_count; i++) {
        const struct stage_row *stage = &study->stages[i];
        json_t *object = json_object(), *cases = json_array();
        json_object_set_new(object, "id", json_integer(stage->id));
        json_object_set_new(object, "kind", record_json_text(arena, stage->kind));
        json_object_set_new(object, "name", record_json_text(arena, stage->name));
        json_object_set_new(object, "question", record_json_text(arena, stage->question));
        json_object_set_new(object, "params", json_params(arena, stage->params, stage->param_count));
        for (size_t k = 0; k < study->case_count; k++) {
            const struct case_row *row = &study->cases[k];
            if (row->stage_id != stage->id)
                continue;
            json_t *item = json_object();
            json_object_set_new(item, "id", json_integer(row->id));
            json_object_set_new(item, "ordinal", json_integer(row->ordinal));
            json_object_set_new(item, "label", record_json_text(arena, row->label));
            json_object_set_new(item, "params", json_params(arena, row->params, row->param_count));
            json_array_append_new(cases, item);
        }
        json_object_set_new(object, "cases", cases);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_groups(struct pl_arena *arena, const struct study *study)
{
    json_t *array = json_array();
    for (size_t i = 0; i < study->group_count; i++) {
        const struct group_row *group = &study->groups[i];
        json_t *object = json_object();
        json_object_set_new(object, "case", json_integer(group->case_id));
        json_object_set_new(object, "group", json_integer(group->group));
        json_object_set_new(object, "name", record_json_text(arena, group->name));
        json_object_set_new(object, "tenants", json_integer(group->tenants));
        json_object_set_new(object, "weight_frac", record_json_real(group->weight_frac));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_trials(struct pl_arena *arena, const struct study *study)
{
    json_t *array = json_array();
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct trial_row *trial = &study->trials[i];
        json_t *object = json_object();
        json_object_set_new(object, "id", json_integer(trial->id));
        json_object_set_new(object, "case", json_integer(trial->case_id));
        json_object_set_new(object, "iteration", json_integer(trial->iteration));
        json_object_set_new(object, "ordinal", json_integer(trial->ordinal));
        json_object_set_new(object, "attempt", json_integer(trial->attempt));
        json_object_set_new(object, "state", record_json_text(arena, trial_state_name(trial->state)));
        json_object_set_new(object, "why", record_json_text(arena, trial->why));
        json_object_set_new(object, "seed",
                            record_json_text(arena, pl_format(arena, "%llu", (unsigned long long)trial->seed)));
        json_object_set_new(object, "started_unix_ns", json_integer(trial->started_unix_ns));
        json_object_set_new(object, "connect_ns", json_integer(trial->connect_end_ns - trial->connect_start_ns));
        json_object_set_new(object, "window_ns", json_integer(trial->measure_end_ns - trial->measure_start_ns));
        json_object_set_new(object, "clients", json_integer(trial->clients));
        json_object_set_new(object, "clients_lost", json_integer(trial->clients_lost));
        json_object_set_new(object, "workers", json_integer(trial->workers));
        json_object_set_new(object, "event_loop", record_json_text(arena, trial->event_loop));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_faults(struct pl_arena *arena, const struct study *study)
{
    json_t *array = json_array();
    for (size_t i = 0; i < study->fault_count; i++) {
        const struct fault *fault = &study->faults[i];
        json_t *object = json_object();
        json_object_set_new(object, "trial", json_integer(fault->trial_id));
        json_object_set_new(object, "source", record_json_text(arena, fault->source));
        json_object_set_new(object, "phase", record_json_text(arena, phase_name(fault->phase)));
        json_object_set_new(object, "code", record_json_text(arena, fault->code));
        json_object_set_new(object, "count", json_integer(fault->count));
        json_object_set_new(object, "example", record_json_text(arena, fault->example));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_figure(struct pl_arena *arena, const struct figure *figure)
{
    bool absent = figure->status == FIGURE_ABSENT;
    json_t *object = json_object(), *trials = json_array(), *interval = json_null();
    for (size_t i = 0; i < figure->trial_count; i++)
        json_array_append_new(trials, json_integer(figure->trials[i]));
    if (!absent && figure->has_interval) {
        interval = json_object();
        json_object_set_new(interval, "low", record_json_real(figure->low));
        json_object_set_new(interval, "high", record_json_real(figure->high));
        json_object_set_new(interval, "confidence", record_json_real(figure->confidence));
    }
    json_object_set_new(object, "stage", figure->stage_id > 0 ? json_integer(figure->stage_id) : json_null());
    json_object_set_new(object, "case", figure->case_id > 0 ? json_integer(figure->case_id) : json_null());
    json_object_set_new(object, "name", record_json_text(arena, figure->name));
    json_object_set_new(object, "subject", record_json_text(arena, figure->subject));
    json_object_set_new(object, "value", absent ? json_null() : record_json_real(figure->value));
    json_object_set_new(object, "unit", record_json_text(arena, figure->unit));
    json_object_set_new(object, "interval", interval);
    json_object_set_new(object, "stddev", absent ? json_null() : record_json_real(figure->stddev));
    json_object_set_new(object, "n", json_integer(figure->n));
    json_object_set_new(object, "status", record_json_text(arena, figure_status_name(figure->status)));
    json_object_set_new(object, "method", record_json_text(arena, figure->method));
    json_object_set_new(object, "note", record_json_text(arena, figure->note));
    json_object_set_new(object, "trials", trials);
    return object;
}

/* --- the document --- */

static json_t *json_cell(const struct page *page, const struct doc_cell *cell)
{
    static const char *const parts[] = {"value", "stddev", "interval", "n", "spread"};
    json_t *object = json_object();
    json_object_set_new(object, "text", record_json_text(page->arena, cell->text));
    if (cell->figure != NULL) {
        json_object_set_new(object, "figure", json_integer((json_int_t)(cell->figure - page->figures->items)));
        json_object_set_new(object, "part", json_string(parts[cell->part]));
    }
    if (cell->note_count > 0) {
        json_t *notes = json_array();
        for (size_t i = 0; i < cell->note_count; i++)
            json_array_append_new(notes, json_integer(cell->notes[i]));
        json_object_set_new(object, "notes", notes);
    }
    return object;
}

static json_t *json_line(struct pl_arena *arena, const struct doc_line *line)
{
    const char *text = "";
    for (size_t i = 0; i < line->count; i++)
        text = pl_format(arena, "%s%s", text, line->spans[i].text);
    return record_json_text(arena, text);
}

static json_t *json_table(const struct page *page, const struct doc_table *table)
{
    json_t *object = json_object(), *columns = json_array(), *rows = json_array(), *notes = json_array();
    for (size_t i = 0; i < table->column_count; i++) {
        json_t *column = json_object();
        json_object_set_new(column, "title", record_json_text(page->arena, table->columns[i].title));
        json_object_set_new(column, "unit", record_json_text(page->arena, table->columns[i].unit));
        json_array_append_new(columns, column);
    }
    for (size_t i = 0; i < doc_row_count(table); i++) {
        json_t *row = json_array();
        for (size_t k = 0; k < table->column_count; k++)
            json_array_append_new(row, json_cell(page, &table->cells[i * table->column_count + k]));
        json_array_append_new(rows, row);
    }
    for (size_t i = 0; i < table->note_count; i++)
        json_array_append_new(notes, record_json_text(page->arena, table->notes[i]));
    json_object_set_new(object, "type", json_string("table"));
    json_object_set_new(object, "anchor", record_json_text(page->arena, table->anchor));
    json_object_set_new(object, "caption", record_json_text(page->arena, table->caption));
    json_object_set_new(object, "columns", columns);
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "notes", notes);
    return object;
}

static json_t *json_block(const struct page *page, const struct doc_block *block)
{
    static const char *const types[] = {"paragraph", "warning", "list", "keys", "table", "listing"};
    if (block->kind == DOC_TABLE)
        return json_table(page, block->table);
    json_t *object = json_object(), *items = json_array();
    json_object_set_new(object, "type", json_string(types[block->kind]));
    for (size_t i = 0; i < block->count && block->kind == DOC_LIST; i++)
        json_array_append_new(items, json_line(page->arena, block->items[i]));
    for (size_t i = 0; i < block->count && block->kind == DOC_KEYS; i++) {
        json_t *key = json_cell(page, &block->keys[i].cell);
        json_object_set_new(key, "label", record_json_text(page->arena, block->keys[i].label));
        json_object_set_new(key, "context", record_json_text(page->arena, block->keys[i].context));
        json_array_append_new(items, key);
    }
    if (block->kind == DOC_LIST || block->kind == DOC_KEYS)
        json_object_set(object, "items", items);
    else if (block->kind == DOC_LISTING)
        json_object_set_new(object, "text", record_json_text(page->arena, block->text));
    else
        json_object_set_new(object, "text", json_line(page->arena, &block->line));
    json_decref(items);
    return object;
}

static json_t *json_document(const struct page *page)
{
    json_t *object = json_object(), *sections = json_array();
    for (size_t i = 0; i < page->doc->count; i++) {
        const struct doc_section *section = page->doc->sections[i];
        json_t *item = json_object(), *blocks = json_array();
        for (size_t k = 0; k < section->count; k++)
            json_array_append_new(blocks, json_block(page, section->blocks[k]));
        json_object_set_new(item, "level", json_integer(section->level));
        json_object_set_new(item, "anchor", record_json_text(page->arena, section->anchor));
        json_object_set_new(item, "title", record_json_text(page->arena, section->title));
        json_object_set_new(item, "blocks", blocks);
        json_array_append_new(sections, item);
    }
    json_object_set_new(object, "title", record_json_text(page->arena, page->doc->title));
    json_object_set_new(object, "subtitle", record_json_text(page->arena, page->doc->subtitle));
    json_object_set_new(object, "sections", sections);
    return object;
}

static int write_part(const char *bytes, size_t length, void *ctx)
{
    struct pl_buf *out = ctx;
    pl_buf_put_bytes(out, bytes, length);
    return out->full ? -1 : 0;
}

enum pl_code page_json(const struct page *page, struct pl_buf *out, struct pl_err *err)
{
    json_t *root = json_object(), *figures = json_array();
    for (size_t i = 0; i < page->figures->count; i++)
        json_array_append_new(figures, json_figure(page->arena, &page->figures->items[i]));
    json_object_set_new(root, "schema", json_string("plimsoll-page"));
    json_object_set_new(root, "schema_version", json_integer(PAGE_SCHEMA_VERSION));
    json_object_set_new(root, "study", json_study(page->arena, page->study));
    json_object_set_new(root, "facts", json_facts(page->arena, page->study));
    json_object_set_new(root, "stages", json_stages(page->arena, page->study));
    json_object_set_new(root, "groups", json_groups(page->arena, page->study));
    json_object_set_new(root, "trials", json_trials(page->arena, page->study));
    json_object_set_new(root, "faults", json_faults(page->arena, page->study));
    json_object_set_new(root, "figures", figures);
    json_object_set_new(root, "document", json_document(page));
    int failed = json_dump_callback(root, write_part, out, JSON_INDENT(1));
    json_decref(root);
    pl_buf_put(out, "\n");
    if (failed != 0 && !out->full)
        return pl_err_set(err, PL_IO, "the page cannot be written as JSON");
    return PL_OK;
}
