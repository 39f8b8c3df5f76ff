/* Sections about loads: throughput by clients, latency and cost by rate, the ledger. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

/* A column of a load table: a figure of the case. subject "@" stands for the study's subject. */
struct load_column {
    const char *title, *subject, *name;
    enum doc_part part;
};

static const struct load_column throughput_columns[] = {
    {"Throughput", "", "tps", DOC_VALUE},
    {"Std. deviation", "", "tps", DOC_STDDEV},
    {"95 % interval", "", "tps", DOC_INTERVAL},
    {"With connecting", "", "tps_with_connects", DOC_VALUE},
    {"95 % interval", "", "tps_with_connects", DOC_INTERVAL},
    {"Trials", "", "tps", DOC_COUNT},
    {"Failed", "", "failed", DOC_VALUE},
};
static const struct load_column closed_latency_columns[] = {
    {"p50", "", "response_p50_ns", DOC_VALUE},
    {"p90", "", "response_p90_ns", DOC_VALUE},
    {"p95", "", "response_p95_ns", DOC_VALUE},
    {"p99", "", "response_p99_ns", DOC_VALUE},
    {"p99, 95 % interval", "", "response_p99_ns", DOC_INTERVAL},
    {"p99.9", "", "response_p999_ns", DOC_VALUE},
    {"Highest", "", "response_max_ns", DOC_VALUE},
    {"Mean", "", "response_mean_ns", DOC_VALUE},
};
static const struct load_column cost_columns[] = {
    {"CPU of the service", "@", "cpu_cores", DOC_VALUE},
    {"CPU per operation", "@", "cpu_ns_per_operation", DOC_VALUE},
    {"CPU of the tool", "tool", "cpu_cores", DOC_VALUE},
    {"Load workers busy", "", "load_cpu_frac", DOC_VALUE},
    {"Anonymous memory", "@", "memory_anon_bytes", DOC_VALUE},
    {"Shared memory", "@", "memory_shared_bytes", DOC_VALUE},
    {"Kernel memory", "@", "memory_kernel_bytes", DOC_VALUE},
    {"File cache", "@", "memory_cache_bytes", DOC_VALUE},
    {"Connections", "@", "connections", DOC_VALUE},
    {"One backend, fresh", "@", "backend_fresh_pss_anon_bytes", DOC_VALUE},
    {"One backend, after the load", "@", "backend_pss_anon_bytes", DOC_VALUE},
};
static const struct load_column arrival_columns[] = {
    {"Due", "", "due", DOC_VALUE},
    {"Completed", "", "completed", DOC_VALUE},
    {"Never started", "", "never_started", DOC_VALUE},
    {"Failed", "", "failed_frac", DOC_VALUE},
    {"Achieved", "", "achieved_per_s", DOC_VALUE},
    {"95 % interval", "", "achieved_per_s", DOC_INTERVAL},
    {"Trials", "", "achieved_per_s", DOC_COUNT},
};
/* Of a server that was attached to: nothing of it was read, and operations have time limits. */
static const struct load_column http_throughput_columns[] = {
    {"Throughput", "", "tps", DOC_VALUE},       {"Std. deviation", "", "tps", DOC_STDDEV},
    {"95 % interval", "", "tps", DOC_INTERVAL}, {"Trials", "", "tps", DOC_COUNT},
    {"Completed", "", "completed", DOC_VALUE},  {"Failed", "", "failed", DOC_VALUE},
    {"Expired", "", "expired", DOC_VALUE},      {"Errors", "", "error_frac", DOC_VALUE},
};
static const struct load_column http_arrival_columns[] = {
    {"Offered", "", "offered_per_s", DOC_VALUE},
    {"Achieved", "", "achieved_per_s", DOC_VALUE},
    {"95 % interval", "", "achieved_per_s", DOC_INTERVAL},
    {"Trials", "", "achieved_per_s", DOC_COUNT},
    {"Due", "", "due", DOC_VALUE},
    {"Completed", "", "completed", DOC_VALUE},
    {"Failed", "", "failed", DOC_VALUE},
    {"Expired", "", "expired", DOC_VALUE},
    {"Unfinished", "", "unfinished", DOC_VALUE},
    {"Never started", "", "never_started", DOC_VALUE},
    {"Errors", "", "error_frac", DOC_VALUE},
};
static const struct load_column status_columns[] = {
    {"Requests", "", "http_requests", DOC_VALUE},
    {"Answers", "", "http_answers", DOC_VALUE},
    {"2xx", "", "http_status_2xx", DOC_VALUE},
    {"3xx", "", "http_status_3xx", DOC_VALUE},
    {"4xx", "", "http_status_4xx", DOC_VALUE},
    {"5xx", "", "http_status_5xx", DOC_VALUE},
    {"Other", "", "http_status_other", DOC_VALUE},
    {"1xx before them", "", "http_informational", DOC_VALUE},
    {"Redirects followed", "", "http_redirects", DOC_VALUE},
    {"Sent again", "", "http_retries", DOC_VALUE},
};
static const struct load_column connection_columns[] = {
    {"Opened", "", "http_connections_opened", DOC_VALUE},
    {"Failed", "", "http_connections_failed", DOC_VALUE},
    {"Closed by the server", "", "http_connections_closed_by_peer", DOC_VALUE},
    {"Evicted", "", "http_connections_evicted", DOC_VALUE},
    {"Handshakes, full", "", "http_handshakes_full", DOC_VALUE},
    {"Resumed", "", "http_handshakes_resumed", DOC_VALUE},
    {"Connect p50", "", "http_connect_p50_ns", DOC_VALUE},
    {"p99", "", "http_connect_p99_ns", DOC_VALUE},
    {"First byte p50", "", "http_first_byte_p50_ns", DOC_VALUE},
    {"p99", "", "http_first_byte_p99_ns", DOC_VALUE},
    {"Sent", "", "http_sent_bytes", DOC_VALUE},
    {"Received", "", "http_received_bytes", DOC_VALUE},
    {"Found none free", "", "http_blocked", DOC_VALUE},
};
static const struct load_column client_columns[] = {
    {"CPU of the tool", "tool", "cpu_cores", DOC_VALUE},
    {"Load workers busy", "", "load_cpu_frac", DOC_VALUE},
};
static const struct load_column self_columns[] = {
    {"Own lateness p50", "", "own_lateness_p50_ns", DOC_VALUE},
    {"p99", "", "own_lateness_p99_ns", DOC_VALUE},
    {"Highest", "", "own_lateness_max_ns", DOC_VALUE},
    {"Gaps between starts, CV", "", "gap_cv", DOC_VALUE},
    {"CV as asked", "", "gap_cv_asked", DOC_VALUE},
    {"Busiest worker", "", "busiest_worker_frac", DOC_VALUE},
};
/* Who asks when the last answer is there has no gaps to keep. */
static const struct load_column closed_self_columns[] = {
    {"Own lateness p50", "", "own_lateness_p50_ns", DOC_VALUE},
    {"p99", "", "own_lateness_p99_ns", DOC_VALUE},
    {"Highest", "", "own_lateness_max_ns", DOC_VALUE},
    {"Busiest worker", "", "busiest_worker_frac", DOC_VALUE},
};
static const struct load_column open_latency_columns[] = {
    {"Response p50", "", "response_p50_ns", DOC_VALUE}, {"p95", "", "response_p95_ns", DOC_VALUE},
    {"p99", "", "response_p99_ns", DOC_VALUE},          {"p99, 95 % interval", "", "response_p99_ns", DOC_INTERVAL},
    {"p99.9", "", "response_p999_ns", DOC_VALUE},       {"Highest", "", "response_max_ns", DOC_VALUE},
    {"Service p50", "", "service_p50_ns", DOC_VALUE},   {"Service p99", "", "service_p99_ns", DOC_VALUE},
    {"Lateness p50", "", "lateness_p50_ns", DOC_VALUE}, {"Lateness p99", "", "lateness_p99_ns", DOC_VALUE},
};
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Which parameters name a row: those that vary in the stage, without the script when tables are split by it. */
struct key_params {
    const char *names[16];
    size_t count;
};

static void key_param_add(struct key_params *keys, const char *name)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->names[i], name) == 0)
            return;
    if (keys->count < COUNT_OF(keys->names))
        keys->names[keys->count++] = name;
}

static struct key_params key_params_of(struct page *page, const struct stage_row *stage, const char *always)
{
    struct key_params keys = {0};
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        for (size_t k = 0; row->stage_id == stage->id && k < row->param_count; k++)
            if (strcmp(row->params[k].name, "script") != 0)
                key_param_add(&keys, row->params[k].name);
    }
    if (keys.count == 0)
        key_param_add(&keys, always);
    return keys;
}

static const char *script_of(struct page *page, const struct case_row *row)
{
    const char *script = page_param(page, row, "script");
    return script != NULL ? script : "";
}

/* One table of all cases of a stage that run one script. */
static void load_table(struct page *page, const struct stage_row *stage, const char *script, const char *anchor,
                       const char *caption, const struct key_params *keys, const struct load_column *columns,
                       size_t column_count)
{
    struct doc_table *table = doc_table(page->doc, anchor, caption);
    for (size_t i = 0; i < keys->count; i++)
        doc_column_add(page->doc, table, page_param_title(page, keys->names[i]), true, false);
    for (size_t i = 0; i < column_count; i++)
        doc_column_add(page->doc, table, columns[i].title, true, true);
    table->key_columns = keys->count;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        if (row->stage_id != stage->id || strcmp(script_of(page, row), script) != 0)
            continue;
        for (size_t k = 0; k < keys->count; k++) {
            const char *value = page_param(page, row, keys->names[k]);
            page_cell_text(page, table, value != NULL ? value : "");
        }
        for (size_t k = 0; k < column_count; k++) {
            const char *subject = strcmp(columns[k].subject, "@") == 0 ? page->study->subject : columns[k].subject;
            page_cell_figure(page, table, page_find(page, stage->id, row->id, subject, columns[k].name), columns[k].part);
        }
    }
    page_table_finish(page, table);
}

/* Where the load generator may have been the limit, the numbers are of it and not of the service. */
static void warn_client_bound(struct page *page, const struct stage_row *stage, const char *script)
{
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        if (row->stage_id != stage->id || strcmp(script_of(page, row), script) != 0 ||
            !page_has(page, stage->id, row->id, "", "client_bound"))
            continue;
        const struct figure *bound = page_find(page, stage->id, row->id, "", "client_bound");
        if (bound->value < 0.5)
            continue;
        struct doc_line *line = doc_warning(page->doc);
        doc_span_add(page->doc, line, DOC_SPAN_STRONG, "Client-bound: yes.", "");
        doc_say(page->doc, line, " In the case ");
        doc_code(page->doc, line, page_case_name(page, row));
        doc_say(page->doc, line, " the load's workers were busy ");
        page_say_figure(page, line, page_find(page, stage->id, row->id, "", "load_cpu_frac"));
        doc_say(page->doc, line,
                " of the time: what is shown may be the limit of the load generator and not of the service.");
    }
}

static bool is_first_of_script(struct page *page, const struct case_row *row)
{
    for (const struct case_row *before = page->study->cases; before < row; before++)
        if (before->stage_id == row->stage_id && strcmp(script_of(page, before), script_of(page, row)) == 0)
            return false;
    return true;
}

static bool is_step(struct page *page, const struct stage_row *stage, const char *script, const struct figure *figure)
{
    const struct case_row *row = study_case(page->study, figure->case_id);
    return figure->stage_id == stage->id && row != NULL && figure->subject[0] != '\0' && !page_is_part(figure->subject) &&
           strcmp(figure->name, "service_mean_ns") == 0 && strcmp(script_of(page, row), script) == 0;
}

/* Several steps, or just the one that is the operation? */
static bool has_steps(struct page *page, const struct stage_row *stage, const char *script)
{
    const struct figure *last = NULL;
    for (size_t i = 0; i < page->figures->count; i++) {
        const struct figure *figure = &page->figures->items[i];
        if (!is_step(page, stage, script, figure))
            continue;
        if (last != NULL && last->case_id == figure->case_id)
            return true;
        last = figure;
    }
    return false;
}

/* Service times of the steps of one case, where there are several. */
static void step_table(struct page *page, const struct stage_row *stage, const char *script)
{
    static const char *const names[] = {"service_p50_ns", "service_p95_ns", "service_p99_ns", "service_mean_ns"};
    static const char *const titles[] = {"Case", "Step", "p50", "p95", "p99", "Mean", "Operations"};
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->figures->count; i++) {
        const struct figure *figure = &page->figures->items[i];
        const struct case_row *row = study_case(page->study, figure->case_id);
        if (!is_step(page, stage, script, figure))
            continue;
        if (table == NULL) {
            table = doc_table(page->doc,
                              pl_format(page->arena, "t-steps-%lld-%s", (long long)stage->id,
                                        pl_format(page->arena, "%lld", (long long)row->id)),
                              pl_format(page->arena, "Service time of each step of %s", script));
            for (size_t k = 0; k < COUNT_OF(titles); k++)
                doc_column_add(page->doc, table, titles[k], k > 1, true);
            table->key_columns = 2;
            table->small = true;
        }
        page_cell_text(page, table, page_after_script(page_case_words(page, row), script));
        page_cell_code(page, table, page_after_script(figure->subject, script));
        for (size_t k = 0; k < COUNT_OF(names); k++)
            page_cell_figure(page, table, page_find(page, stage->id, row->id, figure->subject, names[k]), DOC_VALUE);
        page_cell_figure(page, table, figure, DOC_COUNT);
    }
    if (table != NULL)
        page_table_finish(page, table);
}

/* Parameters that say nothing unless they were stated. */
static bool is_default(const char *name, const char *value)
{
    static const char *const silent[][2] = {
        {"think", "0s"}, {"max_time", "0s"}, {"think_law", "constant"}, {"session_law", "fixed"}};
    if (value == NULL || value[0] == '\0' || strcmp(value, "0") == 0 || strcmp(value, "service") == 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(silent); i++)
        if (strcmp(name, silent[i][0]) == 0 && strcmp(value, silent[i][1]) == 0)
            return true;
    return false;
}

static void script_heading(struct page *page, const struct stage_row *stage, const struct case_row *row, const char *script)
{
    doc_section_add(page->doc, 3, pl_format(page->arena, "s-%lld-%d", (long long)stage->id, row->ordinal),
                    script[0] == '\0' ? stage->name : pl_format(page->arena, "%s: %s", stage->name, script));
    struct doc_line *line = doc_paragraph(page->doc);
    doc_say(page->doc, line, "%s", stage->question);
    static const char *const told[] = {"clients",     "operations", "transactions", "for",         "warm_up",
                                       "protocol",    "arrivals",   "think",        "think_law",   "session",
                                       "session_law", "http2",      "streams",      "connections", "keep_alive",
                                       "max_time",    "follow",     "compressed",   "workers",     "iterations"};
    const char *operations = param_value(stage->params, stage->param_count, "operations");
    const char *transactions = param_value(stage->params, stage->param_count, "transactions");
    bool is_counted =
        (operations != NULL && strcmp(operations, "0") != 0) || (transactions != NULL && strcmp(transactions, "0") != 0);
    bool first = true;
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        const char *value = param_value(stage->params, stage->param_count, told[i]);
        bool is_time = strcmp(told[i], "for") == 0 || strcmp(told[i], "warm_up") == 0; /* by count there is neither */
        if (is_default(told[i], value) || (is_counted && is_time))
            continue;
        doc_say(page->doc, line, first ? " (" : ", ");
        doc_code(page->doc, line, pl_format(page->arena, "%s: %s", told[i], value));
        first = false;
    }
    doc_say(page->doc, line, "%s", first ? "" : ")");
    const char *session = page_param(page, row, "session");
    if (session != NULL && strcmp(session, "0") != 0)
        doc_say(page->doc, line,
                " The rate is that at which users arrive, each of whom carries out several operations; "
                "what is offered and achieved is counted in operations.");
}

/* Of which studies a table is: of services that were started and watched, of those that were attached to, of those whose
 * load told the figures. */
enum load_when { ALWAYS, STARTED, ATTACHED, TOLD };

struct load_tables {
    const char *suffix, *caption;
    const struct load_column *columns;
    size_t count;
    enum load_when when;
};

/* Whether any case of the stage with this script has any of the figures. */
static bool has_any(struct page *page, const struct stage_row *stage, const char *script, const struct load_tables *tables)
{
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        for (size_t k = 0; row->stage_id == stage->id && strcmp(script_of(page, row), script) == 0 && k < tables->count;
             k++)
            if (page_has(page, stage->id, row->id, tables->columns[k].subject, tables->columns[k].name))
                return true;
    }
    return false;
}

static bool is_shown(struct page *page, const struct stage_row *stage, const char *script, const struct load_tables *tables)
{
    if (tables->when == STARTED || tables->when == ATTACHED)
        return page_is_attached(page) == (tables->when == ATTACHED);
    return tables->when == ALWAYS || has_any(page, stage, script, tables);
}

static void load_stage(struct page *page, const struct stage_row *stage, const char *key, const struct load_tables *tables,
                       size_t table_count)
{
    struct key_params keys = key_params_of(page, stage, key);
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const char *script = script_of(page, row);
        if (row->stage_id != stage->id || !is_first_of_script(page, row))
            continue;
        script_heading(page, stage, row, script);
        warn_client_bound(page, stage, script);
        for (size_t k = 0; k < table_count; k++)
            if (is_shown(page, stage, script, &tables[k]))
                load_table(page, stage, script,
                           pl_format(page->arena, "t-%s-%lld-%d", tables[k].suffix, (long long)stage->id, row->ordinal),
                           pl_format(page->arena, "%s%s%s", tables[k].caption, script[0] != '\0' ? ", " : "", script),
                           &keys, tables[k].columns, tables[k].count);
        page_part_table(page, stage, row, script);
        if (has_steps(page, stage, script))
            step_table(page, stage, script);
    }
}

void page_clients(struct page *page)
{
    static const struct load_tables tables[] = {
        {"throughput", "Throughput by clients", throughput_columns, COUNT_OF(throughput_columns), STARTED},
        {"throughput", "Throughput by clients", http_throughput_columns, COUNT_OF(http_throughput_columns), ATTACHED},
        {"latency", "Response time by clients", closed_latency_columns, COUNT_OF(closed_latency_columns), ALWAYS},
        {"cost", "CPU and memory by clients", cost_columns, COUNT_OF(cost_columns), STARTED},
        {"status", "Requests and answers", status_columns, COUNT_OF(status_columns), TOLD},
        {"connections", "Connections", connection_columns, COUNT_OF(connection_columns), TOLD},
        {"client", "The load generator", client_columns, COUNT_OF(client_columns), ATTACHED},
        {"self", "Was the load generator in time?", closed_self_columns, COUNT_OF(closed_self_columns), TOLD},
    };
    bool first = true;
    for (size_t i = 0; i < page->study->stage_count; i++) {
        if (strcmp(page->study->stages[i].kind, "clients") != 0)
            continue;
        if (first) {
            doc_section_add(page->doc, 2, "clients", "Throughput by number of clients");
            doc_say(page->doc, doc_paragraph(page->doc),
                    "A closed loop: each client sends its next operation as soon as the last one has ended, so throughput "
                    "and response "
                    "time depend on each other. This says what the service can do at most, not how it answers at a given "
                    "load.");
        }
        first = false;
        load_stage(page, &page->study->stages[i], "clients", tables, COUNT_OF(tables));
    }
}

void page_rate(struct page *page)
{
    static const struct load_tables tables[] = {
        {"arrivals", "Operations by rate", arrival_columns, COUNT_OF(arrival_columns), STARTED},
        {"arrivals", "Operations by rate", http_arrival_columns, COUNT_OF(http_arrival_columns), ATTACHED},
        {"latency", "Latency by rate", open_latency_columns, COUNT_OF(open_latency_columns), ALWAYS},
        {"cost", "CPU and memory by rate", cost_columns, COUNT_OF(cost_columns), STARTED},
        {"status", "Requests and answers", status_columns, COUNT_OF(status_columns), TOLD},
        {"connections", "Connections", connection_columns, COUNT_OF(connection_columns), TOLD},
        {"client", "The load generator", client_columns, COUNT_OF(client_columns), ATTACHED},
        {"self", "Did the load keep its schedule?", self_columns, COUNT_OF(self_columns), TOLD},
    };
    bool first = true;
    for (size_t i = 0; i < page->study->stage_count; i++) {
        if (strcmp(page->study->stages[i].kind, "rate") != 0)
            continue;
        if (first) {
            doc_section_add(page->doc, 2, "rate", "Latency and cost by rate");
            struct doc_line *line = doc_paragraph(page->doc);
            doc_say(
                page->doc, line,
                "An open loop: operations are due at a fixed rate whether or not earlier ones have ended. Response is "
                "counted from "
                "the moment an operation was due, service from the moment it was sent; lateness lies between the two. "
                "The rates "
                "are those that were tested, not the most that the service can take. A rate was kept up when all "
                "operations due "
                "in the window were completed, and at most one in twenty of them, and one for each client, after its end.");
        }
        first = false;
        load_stage(page, &page->study->stages[i], "rate", tables, COUNT_OF(tables));
    }
}

/* --- the ledger --- */

static void ledger_row(struct page *page, struct doc_table *table, const struct case_row *row, bool window)
{
    static const char *const names[] = {"due", "completed", "failed", "skipped", "expired", "unfinished", "never_started"};
    const struct stage_row *stage = study_stage(page->study, row->stage_id);
    page_cell_code(page, table, stage->name);
    page_cell_text(page, table, page_case_words(page, row));
    page_cell_text(page, table, window ? "window" : "whole trial");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        page_cell_figure(
            page, table,
            page_find(page, row->stage_id, row->id, "", window ? names[i] : pl_format(page->arena, "all_%s", names[i])),
            DOC_VALUE);
}

void page_ledgers(struct page *page)
{
    static const char *const titles[] = {"Stage",  "Case",    "Part",    "Due",        "Completed",
                                         "Failed", "Skipped", "Expired", "Unfinished", "Never started"};
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct stage_row *stage = study_stage(page->study, row->stage_id);
        if (stage == NULL || !page_is_load(stage) || !page_has(page, stage->id, row->id, "", "due"))
            continue;
        if (table == NULL) {
            doc_section_add(page->doc, 2, "ledger", "Where every operation went");
            doc_say(page->doc, doc_paragraph(page->doc),
                    "Every operation that was due ended in exactly one of five ways: due = completed + failed + skipped + "
                    "expired + "
                    "unfinished. Operations that were never started are among the unfinished. The sums were checked again "
                    "when this "
                    "page was written. Window: operations due inside the measured window. Whole trial: warm-up included.");
            table = doc_table(page->doc, "t-ledger", "Operations by how they ended, summed over trials");
            for (size_t k = 0; k < COUNT_OF(titles); k++)
                doc_column_add(page->doc, table, titles[k], k > 2, true);
            table->key_columns = 3;
        }
        ledger_row(page, table, row, true);
        ledger_row(page, table, row, false);
    }
    if (table != NULL)
        page_table_finish(page, table);
}
