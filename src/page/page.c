/* The page as a whole: which sections, in which order, in which format. */
#include "page/page.h"

#include "base/limits.h"
#include "page/page_int.h"

#include "base/ban.h"

static void (*const sections[])(struct page *page) = {
    page_glance, page_about,   page_hardware, page_compare, page_footprint,  page_clients,
    page_rate,   page_wal,     page_storage,  page_methods, page_settings,   page_machine,
    page_noise,  page_ledgers, page_faults,   page_limits,  page_provenance, page_plan,
};

static struct doc *document(struct page *page)
{
    const struct study *study = page->study;
    const char *version = page_version(page, study->subject);
    const struct fact *cpu = page_is_server_elsewhere(page) ? NULL : study_fact(study, "host", "cpu_model");
    const struct fact *title = study_fact(study, "plan", "title");
    page->doc = doc_new(page->arena, title != NULL && title->value[0] != '\0' ? title->value : study->title,
                        pl_format(page->arena, "%s%s%s%s%s, measured %s", study->subject, version != NULL ? ": " : "",
                                  version != NULL ? version : "", cpu != NULL ? " on " : "", cpu != NULL ? cpu->value : "",
                                  page_time(page->arena, study->started_unix_ns)));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](page);
    return page->doc;
}

enum pl_code page_write(const struct study *study, const struct figures *figures, enum page_format format,
                        struct pl_buf *out, struct pl_err *err)
{
    enum pl_code code = page_check(study, figures, err);
    if (code != PL_OK)
        return code;
    struct page page = {.study = study, .figures = figures, .arena = pl_arena_new()};
    struct doc *doc = document(&page);
    struct pl_buf text;
    pl_buf_init(&text, PL_MAX_PAGE_BYTES);
    if (format == PAGE_MARKDOWN)
        page_markdown(doc, &text);
    else if (format == PAGE_HTML)
        page_html(doc, &text);
    else
        code = page_json(&page, &text, err);
    if (code == PL_OK)
        pl_buf_put_bytes(out, pl_buf_text(&text), text.len);
    if (code == PL_OK && (text.full || out->full))
        code = pl_err_set(err, PL_LIMIT, "the page is larger than %d bytes", PL_MAX_PAGE_BYTES);
    pl_buf_release(&text);
    pl_arena_free(page.arena);
    return code;
}
