/* Sections about what the service needs: footprint, write-ahead log, storage. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

static const struct quantity {
    const char *label, *name, *max_name;
} quantities[] = {
    {"Anonymous memory", "memory_anon_bytes", "memory_anon_max_bytes"},
    {"Shared memory, once", "memory_shared_bytes", "memory_shared_max_bytes"},
    {"Kernel memory and page tables", "memory_kernel_bytes", "memory_kernel_max_bytes"},
    {"Together", "memory_bytes", "memory_max_bytes"},
    {"File cache, beside it", "memory_cache_bytes", "memory_cache_max_bytes"},
    {"As top would add it up", "memory_top_bytes", NULL},
    {"CPU", "cpu_cores", NULL},
    {"Connections", "connections", "connections_max"},
    {"Transactions", "transactions_per_min", NULL},
    {"Processes", "processes", "processes_max"},
    {"Threads", "threads", "threads_max"},
    {"File descriptors", "file_descriptors", "file_descriptors_max"},
    {"Start until ready", "ready_ns", NULL},
};

static void footprint_table(struct page *page, const struct case_row *row)
{
    const char *subject = page->study->subject;
    const char *caption = row->label[0] == '\0' ? pl_format(page->arena, "%s with no load", subject)
                                                : pl_format(page->arena, "%s with no load: %s", subject, row->label);
    struct doc_table *table = doc_table(page->doc, pl_format(page->arena, "t-footprint-%lld", (long long)row->id), caption);
    doc_column_add(page->doc, table, "What", false, false);
    doc_column_add(page->doc, table, "Mean", true, false);
    doc_column_add(page->doc, table, "Highest", true, false);
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        page_cell_text(page, table, quantities[i].label);
        page_cell_figure(page, table, page_find(page, row->stage_id, row->id, subject, quantities[i].name), DOC_VALUE);
        if (quantities[i].max_name == NULL)
            page_cell_text(page, table, "");
        else
            page_cell_figure(page, table, page_find(page, row->stage_id, row->id, subject, quantities[i].max_name),
                             DOC_VALUE);
    }
    page_table_finish(page, table);
}

void page_footprint(struct page *page)
{
    bool first = true;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct stage_row *stage = study_stage(page->study, row->stage_id);
        if (stage == NULL || strcmp(stage->kind, "footprint") != 0)
            continue;
        if (first) {
            doc_section_add(page->doc, 2, "footprint", "Footprint: the cost of doing nothing");
            struct doc_line *line = doc_paragraph(page->doc);
            doc_say(page->doc, line,
                    "Memory is taken apart, so that nothing counts twice: what processes own (anonymous), what they "
                    "share, counted once, and what the kernel holds for them. The file cache is given back when "
                    "others need it, so it stands apart.");
        }
        first = false;
        footprint_table(page, row);
    }
}

/* --- write-ahead log --- */

static void wal_row(struct page *page, struct doc_table *table, const struct stage_row *stage, const struct case_row *row)
{
    static const char *const names[] = {
        "wal_bytes_per_operation", "wal_bytes_per_operation", "wal_bytes_per_s", "wal_records_per_operation",
        "wal_fpi_per_operation",   "wal_fpi_at_most_frac",    "checkpoints",     "commits_per_operation"};
    page_cell_code(page, table, stage->name);
    page_cell_text(page, table, page_case_words(page, row));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        page_cell_figure(page, table, page_find(page, stage->id, row->id, page->study->subject, names[i]),
                         i == 1 ? DOC_INTERVAL : DOC_VALUE);
}

void page_wal(struct page *page)
{
    static const char *const titles[] = {
        "Stage",           "Case",           "WAL per operation", "95 % interval", "WAL written",
        "Records per op.", "Images per op.", "Images, at most",   "Checkpoints",   "Commits per op."};
    const struct study *study = page->study;
    struct doc_table *table = NULL;
    for (size_t i = 0; i < study->case_count; i++) {
        const struct case_row *row = &study->cases[i];
        const struct stage_row *stage = study_stage(study, row->stage_id);
        if (stage == NULL || !page_is_load(stage) ||
            !page_has(page, stage->id, row->id, study->subject, "wal_bytes_per_operation"))
            continue;
        if (table == NULL) {
            doc_section_add(page->doc, 2, "wal", "Write-ahead log");
            doc_say(page->doc, doc_paragraph(page->doc),
                    "Bytes of write-ahead log come from log positions read before and after each trial, so they are exact; "
                    "they are "
                    "divided by all operations that were completed in between. After a checkpoint the first change of a "
                    "page writes a "
                    "full image of it: a short run may hold too many or too few of these, which is why the checkpoints it "
                    "saw are "
                    "shown. Size the log's disk, its archive and a replica's network by the rate written.");
            table = doc_table(page->doc, "t-wal", "Write-ahead log by case");
            for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
                doc_column_add(page->doc, table, titles[k], k > 1, true);
            table->key_columns = 2;
        }
        wal_row(page, table, stage, row);
    }
    if (table != NULL)
        page_table_finish(page, table);
}

/* --- storage --- */

static void storage_figures(struct page *page, struct doc_table *table, const struct case_row *row, const char *subject,
                            const char *stem, const char *tail)
{
    static const char *const words[] = {"before", "after", "growth"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        page_cell_figure(
            page, table,
            page_find(page, row->stage_id, row->id, subject, pl_format(page->arena, "%s_%s%s", stem, words[i], tail)),
            DOC_VALUE);
    const struct figure *each =
        page_find(page, row->stage_id, row->id, subject, pl_format(page->arena, "%s%s_per_operation", stem, tail));
    page_cell_figure(page, table, each, DOC_VALUE);
}

static void storage_table(struct page *page, const struct case_row *row)
{
    static const char *const titles[] = {"What", "Part", "Before", "After", "Growth, all trials", "Per operation"};
    static const char *const parts[][3] = {
        {"table", "_bytes", "table"}, {"index", "_bytes", "indexes"}, {"rows", "", "rows"}};
    struct doc_table *table =
        doc_table(page->doc, pl_format(page->arena, "t-storage-%lld", (long long)row->id),
                  row->label[0] == '\0' ? "Bytes on disk" : pl_format(page->arena, "Bytes on disk: %s", row->label));
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        doc_column_add(page->doc, table, titles[i], i > 1, false);
    table->key_columns = 2;
    page_cell_text(page, table, "database");
    page_cell_text(page, table, "all of it");
    storage_figures(page, table, row, page->study->subject, "database", "_bytes");
    for (size_t i = 0; i < page->figures->count; i++) {
        const struct figure *figure = &page->figures->items[i];
        if (figure->stage_id != row->stage_id || figure->case_id != row->id ||
            strcmp(figure->name, "table_before_bytes") != 0)
            continue;
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const char *probe = pl_format(page->arena, "%s_before%s", parts[k][0], parts[k][1]);
            if (!page_has(page, row->stage_id, row->id, figure->subject, probe))
                continue;
            page_cell_code(page, table, figure->subject);
            page_cell_text(page, table, parts[k][2]);
            storage_figures(page, table, row, figure->subject, parts[k][0], parts[k][1]);
        }
    }
    page_table_finish(page, table);
}

void page_storage(struct page *page)
{
    bool first = true;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct stage_row *stage = study_stage(page->study, row->stage_id);
        if (stage == NULL || strcmp(stage->kind, "storage") != 0)
            continue;
        if (first) {
            doc_section_add(page->doc, 2, "storage", "Storage");
            doc_say(page->doc, doc_paragraph(page->doc),
                    "Sizes are read at rest, before and after the load. Growth is divided by all operations of the trials. "
                    "Where rows "
                    "are updated, growth holds space of old versions that vacuum gives back for new ones, so a long run "
                    "grows less "
                    "per operation than a short one; rows that are only added cost what is shown.");
        }
        first = false;
        storage_table(page, row);
    }
}
