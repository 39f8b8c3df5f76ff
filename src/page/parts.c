/* The parts of a load: scripts of a mix, groups of tenants. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct part_kind {
    const char *prefix, *title, *suffix, *caption;
} kinds[] = {
    {MODEL_SCRIPT_PART, "Script", "scripts", "Scripts of the mix"},
    {MODEL_GROUP_PART, "Group", "groups", "Groups of tenants"},
};

static const char *after_prefix(const char *subject, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(subject, prefix, length) == 0 ? subject + length : NULL;
}

bool page_is_part(const char *subject)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (after_prefix(subject, kinds[i].prefix) != NULL)
            return true;
    return false;
}

static const struct part_column {
    const char *title, *name;
} columns[] = {
    {"Throughput", "tps"},
    {"Due", "due"},
    {"Completed", "completed"},
    {"Failed", "failed"},
    {"Expired", "expired"},
    {"Unfinished", "unfinished"},
    {"Errors", "error_frac"},
    {"Response p50", "response_p50_ns"},
    {"p95", "response_p95_ns"},
    {"p99", "response_p99_ns"},
    {"Service p50", "service_p50_ns"},
    {"Service p99", "service_p99_ns"},
};

static struct doc_table *part_table(struct page *page, const struct part_kind *kind, const struct stage_row *stage,
                                    const struct case_row *first, const char *script)
{
    struct doc_table *table =
        doc_table(page->doc, pl_format(page->arena, "t-%s-%lld-%d", kind->suffix, (long long)stage->id, first->ordinal),
                  pl_format(page->arena, "%s%s%s", kind->caption, script[0] != '\0' ? ", " : "", script));
    doc_column_add(page->doc, table, "Case", false, true);
    doc_column_add(page->doc, table, kind->title, false, true);
    for (size_t k = 0; k < COUNT_OF(columns); k++)
        doc_column_add(page->doc, table, columns[k].title, true, true);
    table->key_columns = 2;
    table->small = true;
    return table;
}

/* How many tenants a group has stands beside its name: " (250 tenants, 25 % of the load)". */
static const char *part_name(struct page *page, const struct case_row *row, const struct part_kind *kind, const char *name)
{
    for (size_t i = 0; strcmp(kind->prefix, MODEL_GROUP_PART) == 0 && i < page->study->group_count; i++) {
        const struct group_row *group = &page->study->groups[i];
        if (group->case_id == row->id && strcmp(group->name, name) == 0)
            return pl_format(page->arena, "%s (%s tenant%s, %s %% of the load)", name,
                             page_number(page->arena, (double)group->tenants, 0), group->tenants == 1 ? "" : "s",
                             page_number(page->arena, 100 * group->weight_frac, 1));
    }
    return name;
}

static bool is_of(struct page *page, const struct case_row *row, const struct stage_row *stage, const char *script)
{
    const char *own = page_param(page, row, "script");
    return row->stage_id == stage->id && strcmp(own != NULL ? own : "", script) == 0;
}

void page_part_table(struct page *page, const struct stage_row *stage, const struct case_row *first, const char *script)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct doc_table *table = NULL;
        for (size_t k = 0; k < page->figures->count; k++) {
            const struct figure *figure = &page->figures->items[k];
            const struct case_row *row = study_case(page->study, figure->case_id);
            const char *name = after_prefix(figure->subject, kinds[i].prefix);
            if (name == NULL || row == NULL || strcmp(figure->name, "due") != 0 || !is_of(page, row, stage, script))
                continue;
            if (table == NULL)
                table = part_table(page, &kinds[i], stage, first, script);
            page_cell_text(page, table, page_after_script(page_case_words(page, row), script));
            page_cell_text(page, table, part_name(page, row, &kinds[i], name));
            for (size_t c = 0; c < COUNT_OF(columns); c++)
                page_cell_figure(page, table, page_find(page, stage->id, row->id, figure->subject, columns[c].name),
                                 DOC_VALUE);
        }
        if (table != NULL)
            page_table_finish(page, table);
    }
}
