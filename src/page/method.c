/* Sections about the measurement itself: how it was done, how quiet the host was, what went wrong, what is not known. */
#include "page/page_int.h"

#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct stage_row *stage_of(const struct page *page, const struct trial_row *trial)
{
    const struct case_row *row = study_case(page->study, trial->case_id);
    return row == NULL ? NULL : study_stage(page->study, row->stage_id);
}

/* Trials are stored by ordinal. Interleaved: no case has two trials before every case has had one. */
static void say_order(struct page *page, struct doc_block *list, const struct stage_row *stage)
{
    const struct study *study = page->study;
    int last = 0, most = 0;
    size_t cases = 0;
    bool interleaved = true;
    for (size_t i = 0; i < study->case_count; i++)
        cases += study->cases[i].stage_id == stage->id;
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct trial_row *trial = &study->trials[i];
        if (stage_of(page, trial) != stage || trial->attempt > 0)
            continue;
        interleaved &= trial->iteration >= last;
        last = trial->iteration;
        most = trial->iteration > most ? trial->iteration : most;
    }
    if (cases < 2 || most == 0)
        return;
    struct doc_line *line = doc_item(page->doc, list);
    doc_say(page->doc, line, "Stage ");
    doc_code(page->doc, line, stage->name);
    if (interleaved)
        doc_say(page->doc, line,
                ": %zu cases, %d iterations, interleaved: each iteration runs every case once, in an order of its own, "
                "so that a drift of the machine touches all cases alike.",
                cases, most + 1);
    else
        doc_say(page->doc, line,
                ": %zu cases, %d iterations, not interleaved: a drift of the machine can look like a difference "
                "between cases.",
                cases, most + 1);
}

/* "epoll", or all that were used. */
static const char *event_loops(struct page *page)
{
    const char *all = "";
    for (size_t i = 0; i < page->study->trial_count; i++) {
        const char *loop = page->study->trials[i].event_loop;
        if (loop[0] != '\0' && strstr(all, loop) == NULL)
            all = pl_format(page->arena, "%s%s%s", all, all[0] == '\0' ? "" : ", ", loop);
    }
    return all;
}

/* The phases of a stage, from the clock of its first trial that counts. */
static void say_phases(struct page *page, struct doc_block *list, const struct stage_row *stage)
{
    for (size_t i = 0; i < page->study->trial_count; i++) {
        const struct trial_row *trial = &page->study->trials[i];
        if (stage_of(page, trial) != stage || trial->state != TRIAL_DONE ||
            trial->measure_end_ns <= trial->measure_start_ns)
            continue;
        struct doc_line *line = doc_item(page->doc, list);
        doc_say(page->doc, line, "Phases of a trial of ");
        doc_code(page->doc, line, stage->name);
        doc_say(page->doc, line, ": ");
        if (trial->connect_end_ns > trial->connect_start_ns)
            doc_say(page->doc, line, "all clients connect and prepare (%s), then the clock starts; ",
                    page_duration(page->arena, (double)(trial->connect_end_ns - trial->connect_start_ns)));
        if (trial->warm_up_start_ns > 0 && trial->measure_start_ns > trial->warm_up_start_ns)
            doc_say(page->doc, line, "warm-up %s, ",
                    page_duration(page->arena, (double)(trial->measure_start_ns - trial->warm_up_start_ns)));
        doc_say(page->doc, line, "measured window %s",
                page_duration(page->arena, (double)(trial->measure_end_ns - trial->measure_start_ns)));
        if (trial->drain_end_ns > trial->measure_end_ns)
            doc_say(page->doc, line, ", then what is under way ends (%s)",
                    page_duration(page->arena, (double)(trial->drain_end_ns - trial->measure_end_ns)));
        doc_say(page->doc, line, ". Times are of its first trial.");
        return;
    }
}

static void say_sensors(struct page *page, struct doc_block *list)
{
    const struct study *study = page->study;
    struct doc_line *line = doc_item(page->doc, list);
    doc_say(page->doc, line, "Sensors: ");
    if (page_has(page, 0, 0, "tool", "sense_cpu_cores")) {
        doc_say(page->doc, line, "they used ");
        page_say_figure(page, line, page_find(page, 0, 0, "tool", "sense_cpu_cores"));
        if (page_has(page, 0, 0, "tool", "sense_pass_ns")) {
            doc_say(page->doc, line, "; one reading of everything took ");
            page_say_figure(page, line, page_find(page, 0, 0, "tool", "sense_pass_ns"));
            doc_say(page->doc, line, ", at most ");
            page_say_figure(page, line, page_find(page, 0, 0, "tool", "sense_pass_max_ns"));
        }
        doc_say(page->doc, line, ".");
    } else {
        doc_say(page->doc, line, "what they cost is not known.");
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"sense_missed", "sense_skipped", "sense_dropped"};
        static const char *const words[] = {" readings failed.",
                                            " readings were left out because the one before still went on.",
                                            " samples were lost for want of room."};
        const struct figure *count = page_find(page, 0, 0, "tool", names[i]);
        if (count == NULL || count->status == FIGURE_ABSENT || !(count->value > 0))
            continue;
        doc_say(page->doc, line, " ");
        page_say_figure(page, line, count);
        doc_say(page->doc, line, "%s", words[i]);
    }
    for (size_t i = 0; i < study->fact_count; i++) {
        const struct fact *fact = &study->facts[i];
        if (strstr(fact->name, "cgroup") == NULL)
            continue;
        line = doc_item(page->doc, list);
        doc_say(page->doc, line,
                strstr(fact->name, "why") != NULL ? "Not all control groups are used for "
                                                  : "Layout of the control groups of ");
        doc_code(page->doc, line, fact->scope);
        doc_say(page->doc, line, ": %s", fact->value);
    }
}

void page_methods(struct page *page)
{
    const struct study *study = page->study;
    doc_section_add(page->doc, 2, "method", "How it was measured");
    struct doc_block *list = doc_list(page->doc);
    doc_say(
        page->doc, doc_item(page->doc, list),
        "Means are over trials, with Student's t interval. Percentiles come from the histograms of all trials merged, "
        "never from "
        "averages of percentiles; operations that had not ended count too, as each figure's method says, failed ones are "
        "left out. Their intervals come from order statistics. Costs for each operation are ratios of sums. "
        "Intervals hold at 95 %% unless said otherwise.");
    doc_say(page->doc, doc_item(page->doc, list),
            "Numbers are rounded to what their interval allows. Units of bytes are powers of 1024.");
    for (size_t i = 0; i < study->stage_count; i++)
        say_order(page, list, &study->stages[i]);
    for (size_t i = 0; i < study->stage_count; i++)
        if (strcmp(study->stages[i].kind, "hardware") != 0)
            say_phases(page, list, &study->stages[i]);
    if (event_loops(page)[0] != '\0') {
        struct doc_line *line = doc_item(page->doc, list);
        doc_say(page->doc, line, "Event loop of the load: ");
        doc_code(page->doc, line, event_loops(page));
        doc_say(page->doc, line, ". Seed of the study: %llu; each trial has a seed made from it.",
                (unsigned long long)study->seed);
    }
    say_sensors(page, list);
}

/* --- noise --- */

static const struct noise_column {
    const char *title, *name;
    double quiet; /* above this the host was not quiet */
    const char *loud;
} noise_columns[] = {
    {"Busy, mean", "noise_cpu_busy_frac", 0, NULL},
    {"Steal, mean", "noise_steal_frac", 0, NULL},
    {"Steal, worst", "noise_steal_max_frac", 0.01, "the hypervisor took CPU time away"},
    {"Waiting for CPU", "noise_cpu_wait_frac", 0, NULL},
    {"Waiting for I/O", "noise_io_wait_frac", 0, NULL},
    {"Waiting for memory", "noise_memory_wait_frac", 0.01, "tasks waited for memory"},
    {"Foreign CPU, mean", "noise_foreign_cpu_cores", 0, NULL},
    {"Foreign CPU, worst", "noise_foreign_cpu_max_cores", 0.2, "other programs used the CPU"},
    {"Run queue", "noise_run_queue", 0, NULL},
};

/* One warning for each way in which the host was not quiet, naming the stages it touched. */
static void warn_noise(struct page *page, const struct noise_column *column)
{
    struct doc_line *line = NULL;
    for (size_t i = 0; column->loud != NULL && i < page->study->stage_count; i++) {
        const struct stage_row *stage = &page->study->stages[i];
        if (!page_has(page, stage->id, 0, "", column->name))
            continue;
        const struct figure *figure = page_find(page, stage->id, 0, "", column->name);
        if (figure->value <= column->quiet)
            continue;
        if (line == NULL) {
            line = doc_warning(page->doc);
            doc_say(page->doc, line, "The host was not quiet: %s (at worst ", column->loud);
        } else {
            doc_say(page->doc, line, ", ");
        }
        page_say_figure(page, line, figure);
        doc_say(page->doc, line, " in ");
        doc_code(page->doc, line, stage->name);
    }
    if (line != NULL)
        doc_say(page->doc, line, "). Latencies and costs may be too high.");
}

static void say_flush(struct page *page)
{
    if (!page_has(page, 0, 0, "", "flush_before_p99_ns") && !page_has(page, 0, 0, "", "flush_after_p99_ns"))
        return;
    struct doc_table *table = doc_table(page->doc, "t-flush", "Write of 8 KiB and flush, before and after the trials");
    static const char *const titles[] = {"When", "p50",         "p50, lowest", "p50, highest",
                                         "p99",  "p99, lowest", "p99, highest"};
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        doc_column_add(page->doc, table, titles[i], i > 0, true);
    for (size_t i = 0; i < 2; i++) {
        static const char *const whens[] = {"before", "after"};
        static const char *const tails[] = {"p50_ns", "p50_lowest_ns", "p50_highest_ns",
                                            "p99_ns", "p99_lowest_ns", "p99_highest_ns"};
        page_cell_text(page, table, whens[i]);
        for (size_t k = 0; k < COUNT_OF(tails); k++)
            page_cell_figure(page, table,
                             page_find(page, 0, 0, "", pl_format(page->arena, "flush_%s_%s", whens[i], tails[k])),
                             DOC_VALUE);
    }
    page_table_finish(page, table);
}

void page_noise(struct page *page)
{
    const struct study *study = page->study;
    if (study->stage_count == 0 || page_is_load_only(page)) /* the limits say that nobody looked */
        return;
    doc_section_add(page->doc, 2, "noise", "How quiet the host was");
    for (size_t i = 0; i < COUNT_OF(noise_columns); i++)
        warn_noise(page, &noise_columns[i]);
    struct doc_table *table = doc_table(page->doc, "t-noise", "The host while trials were measured, by stage");
    doc_column_add(page->doc, table, "Stage", false, false);
    for (size_t i = 0; i < COUNT_OF(noise_columns); i++)
        doc_column_add(page->doc, table, noise_columns[i].title, true, true);
    for (size_t i = 0; i < study->stage_count; i++) {
        bool any = false;
        for (size_t k = 0; k < COUNT_OF(noise_columns); k++)
            any |= page_has(page, study->stages[i].id, 0, "", noise_columns[k].name);
        if (!any)
            continue;
        page_cell_code(page, table, study->stages[i].name);
        for (size_t k = 0; k < COUNT_OF(noise_columns); k++)
            page_cell_figure(page, table, page_find(page, study->stages[i].id, 0, "", noise_columns[k].name), DOC_VALUE);
    }
    page_table_finish(page, table);
    say_flush(page);
}

/* --- what went wrong --- */

static void trial_cells(struct page *page, struct doc_table *table, int64_t trial_id)
{
    const struct trial_row *trial = study_trial(page->study, trial_id);
    const struct case_row *row = trial == NULL ? NULL : study_case(page->study, trial->case_id);
    const struct stage_row *stage = row == NULL ? NULL : study_stage(page->study, row->stage_id);
    page_cell_text(page, table, pl_format(page->arena, "%lld", (long long)trial_id));
    page_cell_code(page, table, stage == NULL ? "" : stage->name);
    page_cell_text(page, table, row == NULL ? "" : page_case_words(page, row));
}

static bool is_marked(const struct trial_row *trial)
{
    return trial->state == TRIAL_DONE && trial->why[0] != '\0';
}

static void unused_trials(struct page *page)
{
    static const char *const titles[] = {"Trial", "Stage", "Case", "Iteration", "State", "Why"};
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->study->trial_count; i++) {
        const struct trial_row *trial = &page->study->trials[i];
        if (trial->state == TRIAL_DONE)
            continue;
        if (table == NULL) {
            table = doc_table(page->doc, "t-trials", "Trials that no figure uses");
            for (size_t k = 0; k < COUNT_OF(titles); k++)
                doc_column_add(page->doc, table, titles[k], k == 0 || k == 3, false);
        }
        trial_cells(page, table, trial->id);
        page_cell_text(page, table, pl_format(page->arena, "%d", trial->iteration + 1));
        page_cell_text(page, table, trial_state_name(trial->state));
        page_cell_text(page, table, trial->why);
    }
}

/* Trials in which the load did not keep its schedule, or was the limit: used, and to be read with that in mind. */
static void marked_trials(struct page *page)
{
    static const char *const titles[] = {"Trial", "Stage", "Case", "Iteration", "Mark"};
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->study->trial_count; i++) {
        const struct trial_row *trial = &page->study->trials[i];
        if (!is_marked(trial))
            continue;
        if (table == NULL) {
            table = doc_table(page->doc, "t-marked", "Trials that are marked");
            for (size_t k = 0; k < COUNT_OF(titles); k++)
                doc_column_add(page->doc, table, titles[k], k == 0 || k == 3, false);
        }
        trial_cells(page, table, trial->id);
        page_cell_text(page, table, pl_format(page->arena, "%d", trial->iteration + 1));
        page_cell_text(page, table, trial->why);
    }
}

static void fault_table(struct page *page)
{
    static const char *const titles[] = {"Trial", "Stage", "Case", "From", "Phase", "Code", "Times", "First message"};
    struct doc_table *table = NULL;
    for (size_t i = 0; i < page->study->fault_count; i++) {
        const struct fault *fault = &page->study->faults[i];
        if (table == NULL) {
            table = doc_table(page->doc, "t-faults", "Faults");
            for (size_t k = 0; k < COUNT_OF(titles); k++)
                doc_column_add(page->doc, table, titles[k], k == 0 || k == 6, false);
        }
        trial_cells(page, table, fault->trial_id);
        page_cell_text(page, table, fault->source);
        page_cell_text(page, table, phase_name(fault->phase));
        page_cell_code(page, table, fault->code);
        page_cell_text(page, table, page_number(page->arena, (double)fault->count, 0));
        page_cell_text(page, table, fault->example);
    }
}

void page_faults(struct page *page)
{
    size_t unused = 0, marked = 0;
    for (size_t i = 0; i < page->study->trial_count; i++) {
        unused += page->study->trials[i].state != TRIAL_DONE;
        marked += is_marked(&page->study->trials[i]);
    }
    doc_section_add(page->doc, 2, "faults", "What went wrong");
    if (unused == 0 && marked == 0 && page->study->fault_count == 0) {
        doc_say(page->doc, doc_paragraph(page->doc),
                "Nothing: no trial failed or was void, and no operation met an error.");
        return;
    }
    doc_say(page->doc, doc_paragraph(page->doc),
            "%zu of %zu trials failed, were void or were interrupted. They are kept in the study and "
            "shown here; no figure uses them.",
            unused, page->study->trial_count);
    unused_trials(page);
    if (marked > 0)
        doc_say(page->doc, doc_paragraph(page->doc),
                "%zu of %zu trials %s marked: the load generator did not keep its schedule there, or was the limit itself. "
                "Their figures are shown, each with a note.",
                marked, page->study->trial_count, marked == 1 ? "is" : "are");
    marked_trials(page);
    fault_table(page);
}

/* --- what is not known --- */

/* All figures that are absent for one reason make one item. */
static void absent_item(struct page *page, struct doc_block *list, size_t first)
{
    const struct figure *items = page->figures->items;
    const char *names[6];
    size_t count = 0, more = 0;
    for (size_t i = 0; i < page->figures->count; i++) {
        if (items[i].status != FIGURE_ABSENT || strcmp(items[i].note, items[first].note) != 0)
            continue;
        if (i < first)
            return;
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known |= strcmp(names[k], items[i].name) == 0;
        if (!known && count < COUNT_OF(names))
            names[count++] = items[i].name;
        else
            more += !known;
    }
    struct doc_line *line = doc_item(page->doc, list);
    for (size_t k = 0; k < count; k++) {
        doc_say(page->doc, line, k > 0 ? ", " : "");
        doc_code(page->doc, line, names[k]);
    }
    if (more > 0)
        doc_say(page->doc, line, " and %zu more", more);
    doc_say(page->doc, line, ": %s", items[first].note);
}

static void say_few_trials(struct page *page, struct doc_block *list)
{
    size_t few = 0;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct stage_row *stage = study_stage(page->study, page->study->cases[i].stage_id);
        few += stage != NULL && page_is_load(stage) && page_done_trials(page, page->study->cases[i].id) < 3;
    }
    if (few > 0)
        doc_say(page->doc, doc_item(page->doc, list),
                "%zu case%s with a load rest%s on fewer than three trials: how much such a figure varies from run to run "
                "is hardly known.",
                few, few == 1 ? "" : "s", few == 1 ? "s" : "");
}

static void say_checkpoints(struct page *page, struct doc_block *list)
{
    size_t cases = 0, few = 0;
    for (size_t i = 0; i < page->study->case_count; i++) {
        const struct case_row *row = &page->study->cases[i];
        const struct figure *count = page_find(page, row->stage_id, row->id, page->study->subject, "checkpoints");
        if (count == NULL || count->status == FIGURE_ABSENT)
            continue;
        cases++;
        few += count->value < 2 * (double)count->trial_count;
    }
    if (few > 0)
        doc_say(page->doc, doc_item(page->doc, list),
                "In %zu of %zu cases a trial saw fewer than two checkpoints: write-ahead log per operation and its share "
                "of full-page "
                "images may differ in a run of hours.",
                few, cases);
}

static void say_window(struct page *page, struct doc_block *list)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < page->study->trial_count; i++) {
        int64_t window_ns = page->study->trials[i].measure_end_ns - page->study->trials[i].measure_start_ns;
        longest_ns = window_ns > longest_ns ? window_ns : longest_ns;
    }
    if (longest_ns > 0)
        doc_say(page->doc, doc_item(page->doc, list),
                "The longest measured window was %s. What shows only over hours or days (vacuum, growth of memory and "
                "data, long "
                "checkpoints) is not in these figures.",
                page_duration(page->arena, (double)longest_ns));
}

void page_limits(struct page *page)
{
    doc_section_add(page->doc, 2, "limits", "What was not measured");
    struct doc_block *list = doc_list(page->doc);
    doc_say(
        page->doc, doc_item(page->doc, list),
        "Nothing outside the rates, clients and data sizes in the tables was measured, and nothing is extrapolated to it.");
    if (page_is_attached(page))
        doc_say(
            page->doc, doc_item(page->doc, list),
            "The server was running already: nothing was read of its memory, CPU and disk, so no figure stands here for "
            "them.");
    if (page_is_load_only(page))
        doc_say(
            page->doc, doc_item(page->doc, list),
            "Only the load was watched: nothing was read of the server's memory, CPU, disk and write-ahead log, nor of how "
            "quiet the host was, so no figure stands here for them.");
    if (page_is_server_elsewhere(page))
        doc_say(page->doc, doc_item(page->doc, list),
                "The load generator ran on another machine than the server: the network between them is in every latency.");
    else
        doc_say(
            page->doc, doc_item(page->doc, list),
            "The load generator ran on the same machine as the service: no network lies between them, and they share its "
            "CPU. The tool's own use %s.",
            page_is_load_only(page) || page_is_attached(page) ? "is shown" : "is shown beside the service's");
    doc_say(page->doc, doc_item(page->doc, list),
            "Intervals of percentiles treat operations as independent. Operations of one run are not quite, so these "
            "intervals are "
            "rather too narrow; the spread over trials is the safer guide.");
    say_window(page, list);
    say_few_trials(page, list);
    say_checkpoints(page, list);
    for (size_t i = 0; i < page->figures->count; i++)
        if (page->figures->items[i].status == FIGURE_ABSENT)
            absent_item(page, list, i);
}
