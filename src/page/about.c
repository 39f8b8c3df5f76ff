/* The top of the page: its most important numbers, what was measured on what, and the plan that did it. */
#include "page/page_int.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/ban.h"

/* How facts read; every other name has its underscores turned into spaces. */
static const char *const fact_labels[][2] = {
    {"cpu_model", "CPU"},
    {"kind", "Kind of service"},
    {"user", "Runs as user"},
    {"ready_ns", "Start until ready"},
    {"program.postgres", "Program"},
    {"program.initdb", "Made by"},
    {"cgroup.layout", "Control groups"},
    {"cgroup.why", "Control groups, why not all"},
    {"url", "URL"},
    {"http.http2", "HTTP/2"},
    {"http.streams", "HTTP/2: requests at a time on one connection"},
    {"http.connections", "Connections open at a time (0: one for each client)"},
    {"http.keep_alive", "Connections serve several requests"},
    {"http.insecure", "Certificates go unverified"},
    {"http.ca_file", "Certificates that are trusted"},
    {"http.connect_timeout", "Time limit of connecting"},
    {"http.max_time", "Time limit of a request"},
    {"http.follow", "Redirects are followed"},
    {"http.compressed", "Asks for compressed answers"},
    {"tls", "TLS"},
    {"device_bytes", "Device size"},
    {"numa_nodes_online", "NUMA nodes online"},
    {"wal_segment_size", "WAL segment size"},
};

const char *page_fact_label(struct page *page, const char *name)
{
    for (size_t i = 0; i < sizeof fact_labels / sizeof *fact_labels; i++)
        if (strcmp(fact_labels[i][0], name) == 0)
            return fact_labels[i][1];
    size_t length = strlen(name);
    if (length > 6 && strcmp(name + length - 6, "_bytes") == 0)
        length -= 6;
    char *label = pl_strndup(page->arena, name, length);
    for (char *at = label; *at != '\0'; at++)
        *at = *at == '_' || *at == '.' ? ' ' : *at;
    if (strncmp(label, "cpu", 3) == 0)
        memcpy(label, "CPU", 3);
    label[0] = (char)toupper((unsigned char)label[0]);
    return label;
}

#define UNKNOWN "unknown: "

static bool is_unknown(const struct fact *fact)
{
    return strncmp(fact->value, UNKNOWN, strlen(UNKNOWN)) == 0;
}

/* What the kernel says when a file is not there or not for us means one thing to a reader; other reasons are told. */
static const char *unknown_words(struct page *page, const struct fact *fact)
{
    static const int plain[] = {ENOENT, ENOTDIR, EACCES, EPERM, ENXIO, ENODEV, EINVAL, EIO, ENODATA, EOPNOTSUPP};
    const char *reason = fact->value + strlen(UNKNOWN);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const char *words = strerrordesc_np(plain[i]);
        size_t length = strlen(reason), tail = words == NULL ? SIZE_MAX : strlen(words);
        if (tail <= length && strcmp(reason + length - tail, words) == 0)
            return "not readable here";
    }
    return pl_format(page->arena, "not known: %s", reason);
}

const char *page_fact_value(struct page *page, const struct fact *fact)
{
    if (is_unknown(fact))
        return unknown_words(page, fact);
    double value;
    char text[64];
    bool number = pl_num_f64(fact->value, strlen(fact->value), &value) == PL_NUM_OK;
    if (number && strcmp(fact->unit, "bytes") == 0)
        return pl_strdup(page->arena, pl_num_text_bytes(text, sizeof text, value));
    if (number && strcmp(fact->unit, "ns") == 0)
        return page_duration(page->arena, value);
    if (number && fabs(value) >= 10000 && value == floor(value))
        return pl_format(page->arena, "%s%s%s", page_number(page->arena, value, 0), fact->unit[0] != '\0' ? " " : "",
                         fact->unit);
    if (strcmp(fact->unit, "count") == 0)
        return fact->value;
    return pl_format(page->arena, "%s%s%s", fact->value, fact->unit[0] != '\0' ? " " : "", fact->unit);
}

static bool is_setting(const struct fact *fact)
{
    return strncmp(fact->name, "setting.", 8) == 0;
}

/* Told elsewhere on the page: why a probe is missing, and the flush latency around the trials. */
static bool is_told_elsewhere(const struct fact *fact)
{
    return strncmp(fact->name, "probe.", 6) == 0 || strncmp(fact->name, "flush_", 6) == 0;
}

/* Facts of one scope as a table of names and values; `settings`: those that are settings, else the others. Of a service
 * that ran in variants those that all of them share. */
static void fact_table(struct page *page, const char *scope, bool settings, const char *anchor, const char *caption)
{
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const struct fact *fact = &page->study->facts[i];
        if (!page_fact_is_shared(page, fact, scope) || is_setting(fact) != settings || is_told_elsewhere(fact))
            continue;
        if (table == NULL) {
            table = doc_table(page->doc, anchor, caption);
            doc_column_add(page->doc, table, settings ? "Setting" : "What", false, false);
            doc_column_add(page->doc, table, "Value", false, false);
            doc_column_add(page->doc, table, "Read from", false, false);
        }
        if (settings)
            page_cell_code(page, table, fact->name + 8);
        else
            page_cell_text(page, table, page_fact_label(page, fact->name));
        if (settings)
            page_cell_code(page, table, page_fact_value(page, fact));
        else
            page_cell_text(page, table, page_fact_value(page, fact));
        page_cell_text(page, table, fact->how);
    }
}

static void stage_table(struct page *page)
{
    const struct study *study = page->study;
    if (study->stage_count == 0)
        return;
    struct doc_table *table = doc_table(page->doc, "t-stages", "Stages of the study");
    doc_column_add(page->doc, table, "Stage", false, false);
    doc_column_add(page->doc, table, "Question", false, false);
    doc_column_add(page->doc, table, "Cases", true, false);
    doc_column_add(page->doc, table, "Trials that count", true, false);
    for (size_t i = 0; i < study->stage_count; i++) {
        size_t cases = 0, trials = 0, done = 0;
        for (size_t k = 0; k < study->trial_count; k++) {
            const struct case_row *row = study_case(study, study->trials[k].case_id);
            bool mine = row != NULL && row->stage_id == study->stages[i].id;
            trials += mine;
            done += mine && study->trials[k].state == TRIAL_DONE;
        }
        for (size_t k = 0; k < study->case_count; k++)
            cases += study->cases[k].stage_id == study->stages[i].id;
        page_cell_code(page, table, study->stages[i].name);
        page_cell_text(page, table, study->stages[i].question);
        page_cell_text(page, table, pl_format(page->arena, "%zu", cases));
        page_cell_text(page, table, pl_format(page->arena, "%zu of %zu", done, trials));
    }
}

/* Does the plan set it? It then stands there as a key. */
static bool plan_sets(const struct page *page, const char *setting)
{
    size_t length = strlen(setting);
    const char *plan = page->study->plan_text;
    for (const char *at = strstr(plan, setting); at != NULL; at = strstr(at + 1, setting)) {
        const char *after = at + length;
        bool begins = at == plan || strchr(" \t\n{,\"'", at[-1]) != NULL;
        after += *after == '"' || *after == '\'';
        after += strspn(after, " \t");
        if (begins && *after == ':')
            return true;
    }
    return false;
}

/* The service whose facts begin here; NULL when they are not a service's, or not its first. */
static const char *service_from(struct page *page, size_t fact)
{
    const struct study *study = page->study;
    static const char *const others[] = {"host", "tool", "plan", "hardware"};
    const char *scope = study->facts[fact].scope;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(scope, others[i]) == 0)
            return NULL;
    const char *service = pl_strndup(page->arena, scope, strcspn(scope, " "));
    for (size_t i = 0; i < fact; i++)
        if (page_is_scope_of(study->facts[i].scope, service))
            return NULL;
    return service;
}

/* Of a server that was attached to: how requests were made. */
static void say_requests(struct page *page, struct doc_block *list, const char *service)
{
    const struct study *study = page->study;
    const struct fact *url = study_fact(study, service, "url"), *http2 = study_fact(study, service, "http.http2");
    const struct fact *limit = study_fact(study, service, "http.max_time");
    struct doc_line *line = doc_item(page->doc, list);
    doc_say(page->doc, line, "Requests went to ");
    doc_code(page->doc, line, url != NULL ? url->value : service);
    if (http2 != NULL && limit != NULL)
        doc_say(page->doc, line, " by HTTP/%s, each with a time limit of %s, where a stage does not say otherwise",
                strcmp(http2->value, "yes") == 0 ? "2" : "1.1", page_fact_value(page, limit));
    doc_say(page->doc, line, ". ");
    doc_span_add(page->doc, line, DOC_SPAN_LINK, "How they were made", "settings");
    doc_say(page->doc, line, ".");
}

static void say_plan_settings(struct page *page, struct doc_block *list, const char *service)
{
    struct doc_line *line = NULL;
    const struct fact *kind = study_fact(page->study, service, "kind");
    if (kind != NULL && strcmp(kind->value, "attach") == 0) {
        say_requests(page, list, service);
        return;
    }
    if (page_say_variants(page, list, service))
        return;
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const struct fact *fact = &page->study->facts[i];
        if (strcmp(fact->scope, service) != 0 || !is_setting(fact) || !plan_sets(page, fact->name + 8))
            continue;
        bool first = line == NULL;
        if (first) {
            line = doc_item(page->doc, list);
            doc_say(page->doc, line, "The plan sets, for ");
            doc_code(page->doc, line, service);
        }
        doc_say(page->doc, line, first ? ": " : ", ");
        doc_code(page->doc, line, pl_format(page->arena, "%s = %s", fact->name + 8, page_fact_value(page, fact)));
    }
    if (line == NULL) {
        line = doc_item(page->doc, list);
        doc_say(page->doc, line, "The plan sets nothing for ");
        doc_code(page->doc, line, service);
    }
    doc_say(page->doc, line, ". ");
    doc_span_add(page->doc, line, DOC_SPAN_LINK, "All that differs from the defaults", "settings");
    doc_say(page->doc, line, ".");
}

/* What a reader compares first, in one line. */
static void say_machine(struct page *page, struct doc_block *list)
{
    static const struct {
        const char *name, *before, *after;
    } parts[] = {
        {"cpu_model", "", ""},
        {"cpu_cores", "", " cores"},
        {"cores", "", " cores"},
        {"memory_bytes", "", " memory"},
        {"device_bytes", "disk of ", ""},
        {"file_system", "", ""},
        {"kernel", "", ""},
        {"virtual_machine", "virtual machine: ", ""},
        {"virtualisation", "virtual machine: ", ""},
        {"container", "container: ", ""},
    };
    struct doc_line *line = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct fact *fact = study_fact(page->study, "host", parts[i].name);
        if (fact == NULL || is_unknown(fact) || fact->value[0] == '\0')
            continue;
        if (line == NULL)
            line = doc_item(page->doc, list);
        doc_say(page->doc, line, "%s%s%s%s", line->count == 0 ? "The machine: " : ", ", parts[i].before,
                page_fact_value(page, fact), parts[i].after);
    }
    if (line == NULL)
        return;
    doc_say(page->doc, line, ". ");
    doc_span_add(page->doc, line, DOC_SPAN_LINK, "The machine in full", "machine");
    doc_say(page->doc, line, ".");
}

static bool has_scope(const struct study *study, const char *scope)
{
    for (size_t i = 0; i < study->fact_count; i++)
        if (strcmp(study->facts[i].scope, scope) == 0)
            return true;
    return false;
}

bool page_is_load_only(const struct page *page)
{
    const struct fact *command = study_fact(page->study, "tool", "command");
    return command != NULL && strcmp(command->value, "pgbench") == 0;
}

bool page_is_server_elsewhere(const struct page *page)
{
    const struct fact *place = study_fact(page->study, page->study->subject, "place");
    return place != NULL && strcmp(place->value, "this machine") != 0;
}

bool page_is_attached(const struct page *page)
{
    const struct fact *kind = study_fact(page->study, page->study->subject, "kind");
    return kind != NULL && strcmp(kind->value, "attach") == 0;
}

static const char *how_it_ran(const struct page *page)
{
    return page_is_load_only(page) || page_is_attached(page) ? "running already, and was loaded"
                                                             : "started, loaded and watched";
}

void page_about(struct page *page)
{
    const struct study *study = page->study;
    doc_section_add(page->doc, 2, "measured", "What was measured, on what");
    struct doc_line *line = doc_paragraph(page->doc);
    const char *version = page_version(page, study->subject);
    doc_say(page->doc, line, "The subject is ");
    doc_code(page->doc, line, study->subject);
    if (version != NULL) {
        doc_say(page->doc, line, " (");
        doc_code(page->doc, line, version);
        doc_say(page->doc, line, ")");
    }
    doc_say(page->doc, line, ". It was %s from %s", how_it_ran(page), page_time(page->arena, study->started_unix_ns));
    if (study->ended_unix_ns > 0)
        doc_say(page->doc, line, " to %s", page_time(page->arena, study->ended_unix_ns));
    doc_say(page->doc, line, " by Plimsoll ");
    doc_code(page->doc, line, study->tool_version);
    doc_say(
        page->doc, line,
        page_is_server_elsewhere(page)
            ? " from another machine, the one that this page describes. The numbers hold for these two machines, the "
              "network between them, this version and these settings. Each links to how it was obtained."
            : " on one machine. The numbers hold for this machine, this version and these settings. Each links to how it "
              "was obtained.");
    if (study->ended_unix_ns <= 0) {
        line = doc_warning(page->doc);
        doc_say(page->doc, line, "The study was not completed: this page shows what had been measured until then.");
    }
    struct doc_block *list = study->fact_count > 0 ? doc_list(page->doc) : NULL;
    if (list != NULL)
        say_machine(page, list);
    for (size_t i = 0; i < study->fact_count && !page_is_load_only(page); i++)
        if (service_from(page, i) != NULL)
            say_plan_settings(page, list, service_from(page, i));
    stage_table(page);
}

void page_settings(struct page *page)
{
    const struct study *study = page->study;
    bool any = has_scope(study, "tool");
    for (size_t i = 0; i < study->fact_count; i++)
        any |= service_from(page, i) != NULL;
    if (!any)
        return;
    doc_section_add(page->doc, 2, "settings",
                    page_is_attached(page) ? "How requests were made" : "All settings that differ from the defaults");
    if (!page_is_load_only(page) && !page_is_attached(page))
        doc_say(page->doc, doc_paragraph(page->doc),
                "Some of these are not the plan's: they come from making the data directory, or keep a service apart from "
                "others on the machine.");
    for (size_t i = 0; i < study->fact_count; i++) {
        const char *service = service_from(page, i);
        if (service == NULL)
            continue;
        fact_table(page, service, false, pl_format(page->arena, "t-facts-%zu", i),
                   pl_format(page->arena, "The service %s", service));
        fact_table(page, service, true, pl_format(page->arena, "t-settings-%zu", i),
                   pl_format(page->arena, "Settings of %s that %sdiffer from the defaults", service,
                             page_is_load_only(page) ? "" : "the plan sets or that "));
        page_variant_table(page, service, pl_format(page->arena, "t-variants-%zu", i));
    }
    fact_table(page, "tool", false, "t-tool", "The tool");
}

void page_machine(struct page *page)
{
    if (!has_scope(page->study, "host"))
        return;
    doc_section_add(page->doc, 2, "machine", "The machine in full");
    fact_table(page, "host", false, "t-host", "The machine");
}

static const char *const probes[][2] = {
    {"flush_p50_ns", "Write of 8 KiB and flush, p50"},
    {"flush_p99_ns", "Write of 8 KiB and flush, p99"},
    {"flush_per_s", "Writes with flush"},
    {"commit_p50_ns", "Commit of one row, p50"},
    {"commit_p99_ns", "Commit of one row, p99"},
    {"round_trip_p50_ns", "Round trip of SELECT 1, p50"},
    {"round_trip_p99_ns", "Round trip of SELECT 1, p99"},
};

/* "flush_p50_ns", "lowest" -> the figure flush_p50_lowest_ns */
static const struct figure *find_with(struct page *page, int64_t stage_id, int64_t case_id, const char *name,
                                      const char *word)
{
    const char *tail = strrchr(name, '_');
    if (strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_per_s") == 0)
        tail = name + strlen(name) - 6;
    return page_find(page, stage_id, case_id, "",
                     pl_format(page->arena, "%.*s_%s%s", (int)(tail - name), name, word, tail));
}

static void probe_table(struct page *page, const struct stage_row *stage, const struct case_row *row)
{
    struct doc_table *table =
        doc_table(page->doc, pl_format(page->arena, "t-probes-%lld", (long long)row->id),
                  row->label[0] == '\0' ? "What the machine can do"
                                        : pl_format(page->arena, "What the machine can do: %s", row->label));
    static const char *const titles[] = {"Measurement", "Median", "Lowest", "Highest", "Repeats"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        doc_column_add(page->doc, table, titles[i], i > 0, false);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const struct figure *median = page_find(page, stage->id, row->id, "", probes[i][0]);
        page_cell_text(page, table, probes[i][1]);
        page_cell_figure(page, table, median, DOC_VALUE);
        page_cell_figure(page, table, find_with(page, stage->id, row->id, probes[i][0], "lowest"), DOC_VALUE);
        page_cell_figure(page, table, find_with(page, stage->id, row->id, probes[i][0], "highest"), DOC_VALUE);
        page_cell_figure(page, table, median, DOC_COUNT);
    }
    page_table_finish(page, table);
}

void page_hardware(struct page *page)
{
    const struct study *study = page->study;
    bool any = false;
    for (size_t i = 0; i < study->stage_count; i++)
        any |= strcmp(study->stages[i].kind, "hardware") == 0;
    if (!any)
        return;
    doc_section_add(page->doc, 2, "hardware", "Reference environment");
    struct doc_line *line = doc_paragraph(page->doc);
    doc_say(page->doc, line,
            "Compare this machine with yours before you use the numbers. Where a commit waits for the disk, latency "
            "follows the "
            "flush latency; CPU costs follow the speed of one core; memory follows neither.");
    for (size_t i = 0; i < study->case_count; i++) {
        const struct stage_row *stage = study_stage(study, study->cases[i].stage_id);
        if (stage != NULL && strcmp(stage->kind, "hardware") == 0)
            probe_table(page, stage, &study->cases[i]);
    }
}

/* The largest (or smallest) of one figure over all cases of a kind of stage; NULL when there is none. */
static const struct figure *best_of(struct page *page, const char *kind, const char *subject, const char *name,
                                    bool largest)
{
    const struct figure *best = NULL;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct stage_row *stage = study_stage(page->study, row->stage_id);
        if (stage == NULL || strcmp(stage->kind, kind) != 0 || !page_has(page, stage->id, row->id, subject, name))
            continue;
        const struct figure *figure = page_find(page, stage->id, row->id, subject, name);
        if (best == NULL || (largest ? figure->value > best->value : figure->value < best->value))
            best = figure;
    }
    return best;
}

/* How many of a figure's trials say of themselves that they may be the load generator's. */
static size_t marked_of(const struct page *page, const struct figure *figure)
{
    size_t count = 0;
    for (size_t i = 0; i < figure->trial_count; i++) {
        const struct trial_row *trial = study_trial(page->study, figure->trials[i]);
        count += trial != NULL && trial->state == TRIAL_DONE && trial->why[0] != '\0';
    }
    return count;
}

/* "tpcb-like, 4 clients; 95 %: 480-520" */
static const char *case_context(struct page *page, const struct figure *figure)
{
    const struct case_row *row = study_case(page->study, figure->case_id);
    const char *words = row == NULL ? "" : page_case_words(page, row);
    if (marked_of(page, figure) > 0)
        words = pl_format(page->arena, "%s%smarked: %zu of %zu trials may show the load generator instead", words,
                          words[0] != '\0' ? "; " : "", marked_of(page, figure), figure->trial_count);
    if (!figure->has_interval || figure->low == figure->high)
        return words;
    struct page_scale scale = page_scale_of(figure, figure->value);
    bool two = figure->n == 2 && figure->trial_count == 2;
    return pl_format(page->arena, "%s; 95 %% interval %s%s%s%s", words,
                     page_figure_text(page->arena, figure, DOC_INTERVAL, scale), scale.unit[0] == '/' ? "" : " ",
                     scale.unit, two ? " of two trials, which say little about spread" : "");
}

static void key_add(struct page *page, struct doc_block **keys, const char *label, const struct figure *figure)
{
    if (figure == NULL)
        return;
    if (*keys == NULL)
        *keys = doc_keys(page->doc);
    doc_key_add(
        page->doc, *keys,
        &(struct doc_key){.label = label, .cell = page_key_cell(page, figure), .context = case_context(page, figure)});
}

/* NULL when there is no such figure, or it is absent. */
static const struct figure *present(struct page *page, int64_t stage_id, int64_t case_id, const char *subject,
                                    const char *name)
{
    return page_has(page, stage_id, case_id, subject, name) ? page_find(page, stage_id, case_id, subject, name) : NULL;
}

/* Whether another stage of the same kind has a case with this script. */
static bool is_asked_elsewhere(const struct page *page, const struct stage_row *stage, const char *script)
{
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct stage_row *other = study_stage(page->study, row->stage_id);
        const char *own = page_param(page, row, "script");
        if (other != NULL && other != stage && strcmp(other->kind, stage->kind) == 0 && own != NULL &&
            strcmp(own, script) == 0)
            return true;
    }
    return false;
}

/* The best throughput of every script. */
static void key_throughputs(struct page *page, struct doc_block **keys)
{
    const struct study *study = page->study;
    for (size_t i = 0; i < study->case_count; i++) {
        const struct case_row *row = &study->cases[i];
        const struct stage_row *stage = study_stage(study, row->stage_id);
        const char *script = page_param(page, row, "script");
        if (stage == NULL || strcmp(stage->kind, "clients") != 0)
            continue;
        const struct figure *best = NULL;
        bool first = true;
        for (size_t k = 0; k < study->case_count; k++) {
            const char *other = page_param(page, &study->cases[k], "script");
            bool same = study->cases[k].stage_id == stage->id &&
                        strcmp(other != NULL ? other : "", script != NULL ? script : "") == 0;
            const struct figure *tps = page_find(page, stage->id, study->cases[k].id, "", "tps");
            first &= !(same && k < i);
            if (same && tps != NULL && tps->status != FIGURE_ABSENT && (best == NULL || tps->value > best->value))
                best = tps;
        }
        if (first && best != NULL)
            key_add(page, keys,
                    pl_format(page->arena, "Highest throughput, %s%s", script != NULL ? script : stage->name,
                              script != NULL && is_asked_elsewhere(page, stage, script)
                                  ? pl_format(page->arena, " (%s)", stage->name)
                                  : ""),
                    best);
    }
}

static double count_of(struct page *page, const struct case_row *row, const char *name)
{
    return page_has(page, row->stage_id, row->id, "", name) ? page_find(page, row->stage_id, row->id, "", name)->value : 0;
}

/* What ended late may be under way when the window ends, one operation for each client; beyond that a backlog of this share
 * of all operations means that the queue grew. */
#define BACKLOG_FRAC 0.05

/* Everything came to a good end, and about as fast as it was due: what only the drain after the window caught up with was
 * not kept up with. */
static bool is_kept_up(struct page *page, const struct case_row *row)
{
    static const char *const losses[] = {"unfinished", "failed", "expired", "skipped"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (count_of(page, row, losses[i]) > 0)
            return false;
    double due = count_of(page, row, "due"), under_way = 0;
    for (size_t i = 0; i < page->study->trial_count; i++) {
        const struct trial_row *trial = &page->study->trials[i];
        under_way += trial->case_id == row->id && trial->state == TRIAL_DONE ? trial->clients : 0;
    }
    return due - count_of(page, row, "completed_in_window") <= BACKLOG_FRAC * due + under_way;
}

/* By the rate that was asked for: under overload a higher one achieves less. */
static void key_rate(struct page *page, struct doc_block **keys, bool *ret_none)
{
    const struct study *study = page->study;
    const struct case_row *best = NULL;
    double best_rate = 0;
    for (size_t i = 0; i < study->case_count; i++) {
        const struct case_row *row = &study->cases[i];
        const struct stage_row *stage = study_stage(study, row->stage_id);
        const char *text = page_param(page, row, "rate");
        double rate;
        if (stage == NULL || strcmp(stage->kind, "rate") != 0 || text == NULL ||
            !page_has(page, stage->id, row->id, "", "achieved_per_s") ||
            pl_num_rate(text, strlen(text), &rate) != PL_NUM_OK)
            continue;
        *ret_none |= best == NULL;
        if (!is_kept_up(page, row) || (best != NULL && rate <= best_rate))
            continue;
        best = row;
        best_rate = rate;
        *ret_none = false;
    }
    if (best == NULL)
        return;
    static const char *const percentiles[][2] = {{"Response p99 at the highest rate kept up", "response_p99_ns"},
                                                 {"Response p95 at the highest rate kept up", "response_p95_ns"},
                                                 {"Response p50 at the highest rate kept up", "response_p50_ns"}};
    const struct figure *response = NULL;
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles && response == NULL; i++) {
        response = present(page, best->stage_id, best->id, "", percentiles[i][1]); /* few operations have no high one */
        key_add(page, keys, percentiles[i][0], response);
    }
    const char *subject = study->subject;
    key_add(page, keys, "CPU at the highest rate kept up", present(page, best->stage_id, best->id, subject, "cpu_cores"));
}

static bool was_quick(const struct study *study)
{
    const struct fact *quick = study_fact(study, "tool", "quick");
    return quick != NULL && strcmp(quick->value, "yes") == 0;
}

static void warn_marked(struct page *page)
{
    const struct study *study = page->study;
    size_t marked = 0;
    for (size_t i = 0; i < study->trial_count; i++)
        marked += study->trials[i].state == TRIAL_DONE && study->trials[i].why[0] != '\0';
    if (marked == 0)
        return;
    struct doc_line *line = doc_warning(page->doc);
    doc_say(page->doc, line,
            "%zu of %zu trials %s marked: the load generator did not keep its schedule there, or was the limit "
            "itself. Their figures are shown, each with a note: ",
            marked, study->trial_count, marked == 1 ? "is" : "are");
    doc_span_add(page->doc, line, DOC_SPAN_LINK, "which, and why", "faults");
    doc_say(page->doc, line, ".");
}

/* What a reader must know before the first number. */
static void warn_first(struct page *page)
{
    const struct study *study = page->study;
    if (was_quick(study))
        doc_say(
            page->doc, doc_warning(page->doc),
            "This study only tried its plan out (--quick): every duration was cut to at most one second, iterations to "
            "two, transactions of each client to one in 500, data to scale 1 (a scale that is varied to one hundredth, at "
            "least 1). Do not use its figures.");
    size_t failed = 0;
    for (size_t i = 0; i < study->trial_count; i++)
        failed += study->trials[i].state == TRIAL_FAILED;
    if (failed > 0)
        doc_say(page->doc, doc_warning(page->doc),
                "%zu of %zu trials failed and are not in the figures: see what went wrong.", failed, study->trial_count);
    warn_marked(page);
    for (size_t i = 0; i < study->case_count; i++) {
        const struct case_row *row = &study->cases[i];
        const bool expired = count_of(page, row, "expired") > 0;
        const struct figure *share = page_find(page, row->stage_id, row->id, "", expired ? "error_frac" : "failed_frac");
        if (share == NULL || share->status == FIGURE_ABSENT || !(share->value > 0))
            continue;
        const struct stage_row *stage = study_stage(study, row->stage_id);
        struct doc_line *line = doc_warning(page->doc);
        doc_say(page->doc, line, expired ? "Operations failed or got no answer in time in " : "Operations failed in ");
        doc_code(page->doc, line, stage != NULL ? stage->name : "");
        doc_say(page->doc, line, " (%s): ", page_case_words(page, row));
        page_say_figure(page, line, share);
        doc_say(page->doc, line, ". Throughput and latencies are of those that succeeded.");
    }
}

static bool page_has_done(const struct page *page)
{
    for (size_t i = 0; i < page->study->trial_count; i++)
        if (page->study->trials[i].state == TRIAL_DONE)
            return true;
    return false;
}

void page_glance(struct page *page)
{
    const char *subject = page->study->subject;
    struct doc_block *keys = NULL;
    doc_section_add(page->doc, 2, "glance", "At a glance");
    warn_first(page);
    key_add(page, &keys, "Idle memory, without file cache", best_of(page, "footprint", subject, "memory_bytes", false));
    key_add(page, &keys, "Idle CPU", best_of(page, "footprint", subject, "cpu_cores", false));
    key_throughputs(page, &keys);
    bool none_kept_up = false;
    key_rate(page, &keys, &none_kept_up);
    const struct figure *wal = best_of(page, "storage", subject, "wal_bytes_per_operation", true);
    if (wal == NULL)
        wal = best_of(page, "rate", subject, "wal_bytes_per_operation", true);
    key_add(page, &keys, "Write-ahead log per operation", wal);
    key_add(page, &keys, "Disk per operation", best_of(page, "storage", subject, "database_bytes_per_operation", true));
    if (keys == NULL && !none_kept_up)
        doc_say(page->doc, doc_paragraph(page->doc),
                page_has_done(page) ? "There is too little for a figure that would stand here: see the tables."
                                    : "The study holds no trial from which a figure can be given.");
    if (none_kept_up)
        doc_say(page->doc, doc_paragraph(page->doc),
                "No rate that was tested was kept up: at each of them operations failed, were skipped or had not ended, or "
                "a queue of them grew, so no response time stands here.");
}

/* Feeds and tenants, as the study read them: rows and a hash each, in this order. */
static void data_table(struct page *page)
{
    struct doc_table *table = NULL;
    for (size_t i = 0; i + 1 < page->study->fact_count; i++) {
        const struct fact *rows = &page->study->facts[i];
        const char *end = strstr(rows->name, ".rows");
        if (strcmp(rows->scope, "plan") != 0 || end == NULL || strcmp(end, ".rows") != 0)
            continue;
        const char *name = pl_strndup(page->arena, rows->name, (size_t)(end - rows->name));
        const struct fact *hash = study_fact(page->study, "plan", pl_format(page->arena, "%s.hash", name));
        if (table == NULL) {
            table = doc_table(page->doc, "t-data", "Data that scripts were given");
            doc_column_add(page->doc, table, "Data", false, false);
            doc_column_add(page->doc, table, "From", false, false);
            doc_column_add(page->doc, table, "Rows", true, false);
            doc_column_add(page->doc, table, "Hash of what they say", false, false);
        }
        page_cell_code(page, table, name);
        page_cell_text(page, table, rows->how);
        page_cell_text(page, table, page_fact_value(page, rows));
        page_cell_code(page, table, hash != NULL ? hash->value : "");
    }
}

void page_plan(struct page *page)
{
    if (page->study->plan_text[0] == '\0')
        return;
    const bool is_command = page_is_load_only(page);
    doc_section_add(page->doc, 2, "plan", is_command ? "The command" : "The plan");
    struct doc_line *line = doc_paragraph(page->doc);
    if (is_command) {
        doc_say(page->doc, line,
                "This command, passwords left out, did it. Running it again measures the same on your machine.");
    } else {
        doc_say(page->doc, line, "This file, ");
        doc_code(page->doc, line, page->study->plan_path);
        doc_say(page->doc, line,
                was_quick(page->study) ? ", says what the study was to do; --quick cut its durations, iterations and data."
                                       : ", says what the study did. Running it again measures the same on your machine.");
    }
    doc_listing(page->doc, page->study->plan_text);
    data_table(page);
    static const char script[] = "script."; /* the scripts of the plan, as it read them */
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const struct fact *fact = &page->study->facts[i];
        if (strcmp(fact->scope, "plan") != 0 || strncmp(fact->name, script, strlen(script)) != 0)
            continue;
        line = doc_paragraph(page->doc);
        doc_say(page->doc, line, "The script ");
        doc_code(page->doc, line, fact->name + strlen(script));
        doc_say(page->doc, line, ":");
        doc_listing(page->doc, fact->value);
    }
}
