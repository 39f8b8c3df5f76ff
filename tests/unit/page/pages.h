/* What the tests of the page share: a page as text, from a study in memory. */
#ifndef PL_TESTS_PAGES_H
#define PL_TESTS_PAGES_H

#include "support.h"

#include "../model/full_study.h"
#include "../model/http_study.h"
#include "base/limits.h"
#include "page/page_int.h"

/* Heap text; free with pl_free. */
static inline char *page_text_of(const struct study *study, enum page_format format, size_t *ret_length)
{
    struct pl_arena *arena = pl_arena_new();
    struct figures figures = model_figures(study, arena);
    struct pl_buf out;
    struct pl_err err = {0};
    char why[1200];
    pl_buf_init(&out, PL_MAX_PAGE_BYTES);
    if (page_write(study, &figures, format, &out, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, why, sizeof why));
    char *text = pl_new(out.len + 1, 1);
    memcpy(text, pl_buf_text(&out), out.len);
    *ret_length = out.len;
    pl_buf_release(&out);
    pl_arena_free(arena);
    return text;
}

/* Fails unless the page holds the text. */
static inline void assert_holds(const char *page, const char *text)
{
    if (strstr(page, text) == NULL)
        fail_msg("the page does not hold \"%s\"", text);
}

static inline void assert_lacks(const char *page, const char *text)
{
    if (strstr(page, text) != NULL)
        fail_msg("the page holds \"%s\"", text);
}

/* The Markdown page of a study that is freed with it. */
static inline char *markdown_of(struct synth *synth)
{
    size_t length;
    char *page = page_text_of(synth_study(synth), PAGE_MARKDOWN, &length);
    synth_free(synth);
    return page;
}

/* A document of one table of one cell. */
static inline char *render_cell(enum page_format format, const char *text, bool code)
{
    struct pl_arena *arena = pl_arena_new();
    struct doc *doc = doc_new(arena, "T", "S");
    struct pl_buf out;
    doc_section_add(doc, 2, "s", "Section");
    struct doc_table *table = doc_table(doc, "t", "Caption");
    doc_column_add(doc, table, "Column", false, false);
    doc_cell_add(doc, table, text)->code = code;
    pl_buf_init(&out, 1 << 20);
    if (format == PAGE_HTML)
        page_html(doc, &out);
    else
        page_markdown(doc, &out);
    char *copy = pl_new(out.len + 1, 1);
    memcpy(copy, pl_buf_text(&out), out.len);
    pl_buf_release(&out);
    pl_arena_free(arena);
    return copy;
}

/* One stage, one case: small enough to be read as a whole. */
static inline struct synth *small_study(void)
{
    struct synth *synth = synth_new();
    synth_fact(synth, "db", "server_version", "15.14", "", "pg_settings");
    int64_t stage = synth_stage(synth, "clients", "How much does it do?", "script=tpcb-like clients=2 for=3s iterations=2");
    int64_t row = synth_case(synth, stage, "clients=2");
    for (int i = 0; i < 2; i++)
        synth_closed_loop(synth, synth_trial(synth, row, i, 3, 2), 1e6 * (1 + 0.02 * i), 10);
    synth_study(synth);
    return synth;
}

/* Pairs of trials of one load on two settings: faster, slower, no difference, too few trials. The response times of a trial
 * are uniform, so that throughput is what `mean_ns` makes it; the last cell has one trial a side. */
static inline struct synth *compared_study(void)
{
    static const struct {
        const char *cell;
        double base_ns, other_ns, noise;
        int iterations;
    } cells[] = {{"db.data.scale=1 clients=1", 2e6, 1.7e6, 0.01, 4},
                 {"db.data.scale=1 clients=2", 2e6, 2.5e6, 0.02, 4},
                 {"db.data.scale=10 clients=1", 2e6, 2.01e6, 0.03, 4},
                 {"db.data.scale=10 clients=2", 2e6, 1.5e6, 0, 1}};
    static const char *const scopes[] = {"db data.scale=1 settings=default", "db data.scale=1 settings=custom",
                                         "db data.scale=10 settings=default", "db data.scale=10 settings=custom"};
    struct synth *synth = synth_new();
    for (int i = 0; i < 4; i++) {
        synth_fact(synth, scopes[i], "server_version", "15.14", "", "pg_settings");
        synth_fact(synth, scopes[i], "kind", "postgres", "", "plan");
        synth_fact(synth, scopes[i], "setting.shared_buffers", i % 2 == 0 ? "128MB" : "512MB", "", "pg_settings");
        synth_fact(synth, scopes[i], "setting.max_connections", "200", "", "pg_settings");
        if (i % 2 == 1)
            synth_fact(synth, scopes[i], "setting.wal_compression", "pglz", "", "pg_settings");
    }
    int64_t stage = synth_stage(synth, "clients", "How much does it do?", "script=tpcb-like for=1s iterations=4");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        int64_t rows[2];
        static const char *const arms[] = {"default", "custom"};
        for (int k = 0; k < 2; k++)
            rows[k] = synth_case(synth, stage, pl_format(synth->arena, "%s db.settings=%s", cells[i].cell, arms[k]));
        for (int iteration = 0; iteration < cells[i].iterations; iteration++)
            for (int k = 0; k < 2; k++) {
                double off = cells[i].noise * ((iteration * 2 + k) % 3 - 1);
                int clients = cells[i].cell[strlen(cells[i].cell) - 1] - '0';
                synth_closed_loop(synth, synth_trial(synth, rows[k], iteration, 1, clients),
                                  (k == 0 ? cells[i].base_ns : cells[i].other_ns) * (1 + off), 10);
            }
    }
    synth_study(synth);
    return synth;
}

#endif
