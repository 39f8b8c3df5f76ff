/* Side by side: the same load on a service in two settings, versions or folders, with a verdict for each. */
#include "page/page_int.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/ban.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define PLUS_MINUS "\xc2\xb1"

enum { KEYS_MAX = 16 };

/* An interval that reaches further than this to a side says nothing. */
#define WIDEST_FRAC 1.0

static const char *per_cent(const struct page *page, double frac, double half_width)
{
    int decimals = page_decimals(100 * frac, 100 * half_width);
    return page_number(page->arena, 100 * frac, decimals > 2 ? 2 : decimals);
}

const char *page_verdict(const struct page *page, const char *name, const struct figure *change,
                         const struct figure *corrected)
{
    if (change == NULL || change->status == FIGURE_ABSENT || !change->has_interval || corrected == NULL ||
        corrected->status == FIGURE_ABSENT)
        return "too few trials";
    double half = (change->high - change->low) / 2;
    if (corrected->value < MODEL_COMPARISON_LEVEL) {
        bool faster = change->value > 0;
        double from = faster ? change->low : -change->high, to = faster ? change->high : -change->low;
        return pl_format(page->arena, "%s is %s by %s %% (%s to %s %%)", name, faster ? "faster" : "slower",
                         per_cent(page, fabs(change->value), half), per_cent(page, from, half), per_cent(page, to, half));
    }
    double within = fmax(fabs(change->low), fabs(change->high));
    if (within > WIDEST_FRAC)
        return "too few trials";
    /* rounded up, so that what is said holds */
    double step = within < 0.01 ? 1e-4 : within < 0.1 ? 1e-3 : 1e-2;
    return pl_format(page->arena, "no difference was shown: within " PLUS_MINUS "%s %%",
                     page_number(page->arena, 100 * ceil(within / step) * step,
                                 within < 0.01  ? 2
                                 : within < 0.1 ? 1
                                                : 0));
}

/* "custom", "version 16", "shared_buffers = 512MB" */
static const char *arm_name(const struct page *page, const char *axis, const struct case_row *row)
{
    const char *value = param_value(row->params, row->param_count, axis);
    const char *rest = strchr(axis, '.');
    static const char one_setting[] = ".settings.";
    if (rest != NULL && strcmp(rest, ".version") == 0)
        return pl_format(page->arena, "version %s", value);
    if (rest != NULL && strncmp(rest, one_setting, strlen(one_setting)) == 0)
        return pl_format(page->arena, "%s = %s", rest + strlen(one_setting), value);
    return value;
}

/* One table: comparisons of the same parameter and the same two values, of whatever stage. */
struct side_by_side {
    const struct model_comparison *first;
    const char *base, *other; /* names of the arms */
    const char *keys[KEYS_MAX];
    size_t key_count;
    bool names_stage; /* the keys alone do not tell its rows apart */
};

static bool belongs(const struct page *page, const struct model_comparison *comparison, const struct side_by_side *table)
{
    return strcmp(comparison->axis, table->first->axis) == 0 &&
           strcmp(arm_name(page, comparison->axis, comparison->base), table->base) == 0 &&
           strcmp(arm_name(page, comparison->axis, comparison->other), table->other) == 0;
}

static void key_add(struct side_by_side *table, const char *name)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (strcmp(table->keys[i], name) == 0)
            return;
    if (table->key_count < KEYS_MAX && strcmp(name, table->first->axis) != 0)
        table->keys[table->key_count++] = name;
}

static const char *key_value(const struct page *page, const struct model_comparison *comparison, const char *key)
{
    const char *value = page_param(page, comparison->other, key);
    return value != NULL ? value : "";
}

static bool has_same_keys(const struct page *page, const struct side_by_side *table, const struct model_comparison *a,
                          const struct model_comparison *b)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (strcmp(key_value(page, a, table->keys[i]), key_value(page, b, table->keys[i])) != 0)
            return false;
    return true;
}

static struct side_by_side table_of(const struct page *page, const struct model_comparison *list, size_t count, size_t at)
{
    struct side_by_side table = {.first = &list[at]};
    table.base = arm_name(page, list[at].axis, list[at].base);
    table.other = arm_name(page, list[at].axis, list[at].other);
    for (size_t i = 0; i < count; i++) {
        if (!belongs(page, &list[i], &table))
            continue;
        for (size_t k = 0; k < list[i].other->param_count; k++)
            key_add(&table, list[i].other->params[k].name);
    }
    for (size_t i = 0; i < count && !table.names_stage; i++)
        for (size_t k = 0; k < i && !table.names_stage; k++)
            table.names_stage = belongs(page, &list[i], &table) && belongs(page, &list[k], &table) &&
                                has_same_keys(page, &table, &list[i], &list[k]);
    return table;
}

static void add_key_columns(struct page *page, struct doc_table *into, const struct side_by_side *table)
{
    if (table->names_stage)
        doc_column_add(page->doc, into, "Stage", false, false);
    for (size_t i = 0; i < table->key_count; i++)
        doc_column_add(page->doc, into, page_param_title(page, table->keys[i]), true, false);
    into->key_columns = table->key_count + table->names_stage;
}

static void add_keys(struct page *page, struct doc_table *into, const struct side_by_side *table,
                     const struct model_comparison *comparison)
{
    if (table->names_stage)
        page_cell_code(page, into, comparison->stage->name);
    for (size_t i = 0; i < table->key_count; i++)
        page_cell_text(page, into, key_value(page, comparison, table->keys[i]));
}

/* What a test of a comparison gave. */
static const struct figure *outcome(const struct page *page, const struct model_comparison *comparison, const char *name)
{
    return page_find(page, comparison->stage->id, comparison->other->id, comparison->axis, name);
}

static void throughput_row(struct page *page, struct doc_table *into, const struct side_by_side *table,
                           const struct model_comparison *comparison)
{
    const struct case_row *const arms[] = {comparison->base, comparison->other};
    add_keys(page, into, table, comparison);
    for (size_t i = 0; i < COUNT_OF(arms); i++) {
        int64_t stage = comparison->stage->id;
        page_cell_figure(page, into, page_find(page, stage, arms[i]->id, "", "tps"), DOC_SPREAD);
        page_cell_figure(page, into, page_find(page, stage, arms[i]->id, "", "tps_with_connects"), DOC_SPREAD);
    }
    page_cell_text(page, into,
                   page_verdict(page, table->other, outcome(page, comparison, "tps_change_frac"),
                                outcome(page, comparison, "tps_change_corrected_p")));
}

/* Of a paired test each value has two trials. */
static const char *test_words(const struct page *page, const struct figure *change)
{
    if (change == NULL || change->status == FIGURE_ABSENT)
        return "";
    bool paired = (int64_t)change->trial_count == 2 * change->n;
    return paired ? pl_format(page->arena, "paired, %lld pair%s", (long long)change->n, change->n == 1 ? "" : "s")
                  : pl_format(page->arena, "Welch, %lld trials", (long long)change->n);
}

static void difference_row(struct page *page, struct doc_table *into, const struct side_by_side *table,
                           const struct model_comparison *comparison)
{
    const struct figure *change = outcome(page, comparison, "tps_change_frac");
    add_keys(page, into, table, comparison);
    page_cell_figure(page, into, change, DOC_VALUE);
    page_cell_figure(page, into, change, DOC_INTERVAL);
    page_cell_text(page, into, test_words(page, change));
    page_cell_figure(page, into, outcome(page, comparison, "tps_change_p"), DOC_VALUE);
    page_cell_figure(page, into, outcome(page, comparison, "tps_change_corrected_p"), DOC_VALUE);
}

static void throughput_table(struct page *page, const struct side_by_side *table, const struct model_comparison *list,
                             size_t count, size_t number)
{
    struct doc_table *into =
        doc_table(page->doc, pl_format(page->arena, "t-compare-%zu", number),
                  pl_format(page->arena, "Throughput, %s and %s side by side", table->base, table->other));
    const char *const arms[] = {table->base, table->other};
    add_key_columns(page, into, table);
    for (size_t i = 0; i < COUNT_OF(arms); i++) {
        doc_column_add(page->doc, into, arms[i], true, true);
        doc_column_add(page->doc, into, pl_format(page->arena, "%s, with connecting", arms[i]), true, true);
    }
    doc_column_add(page->doc, into, "Verdict", false, false);
    for (size_t i = 0; i < count; i++)
        if (belongs(page, &list[i], table))
            throughput_row(page, into, table, &list[i]);
    page_table_finish(page, into);
}

static void difference_table(struct page *page, const struct side_by_side *table, const struct model_comparison *list,
                             size_t count, size_t number)
{
    static const char *const titles[] = {"Difference", "95 % interval", "Test", "p", "p, corrected"};
    struct doc_table *into = doc_table(page->doc, pl_format(page->arena, "t-difference-%zu", number),
                                       pl_format(page->arena, "Throughput of %s against %s", table->other, table->base));
    add_key_columns(page, into, table);
    for (size_t i = 0; i < COUNT_OF(titles); i++)
        doc_column_add(page->doc, into, titles[i], i != 2, i < 2);
    for (size_t i = 0; i < count; i++)
        if (belongs(page, &list[i], table))
            difference_row(page, into, table, &list[i]);
    page_table_finish(page, into);
}

/* Settings whose values differ between the two, as the servers told them. */
static void differing_settings(struct page *page, const struct side_by_side *table, size_t number)
{
    static const char prefix[] = "setting.";
    const struct study *study = page->study;
    const char *service = pl_strndup(page->arena, table->first->axis, strcspn(table->first->axis, "."));
    const char *const scopes[] = {
        param_scope(table->first->base->params, table->first->base->param_count, service, page->arena),
        param_scope(table->first->other->params, table->first->other->param_count, service, page->arena)};
    struct doc_table *into = NULL;
    for (size_t i = 0; i < study->fact_count; i++) {
        const struct fact *fact = &study->facts[i];
        bool is_setting = strncmp(fact->name, prefix, strlen(prefix)) == 0;
        int side = strcmp(fact->scope, scopes[0]) == 0 ? 0 : strcmp(fact->scope, scopes[1]) == 0 ? 1 : -1;
        if (side < 0 || (!is_setting && strcmp(fact->name, "server_version") != 0))
            continue;
        const struct fact *counterpart = study_fact(study, scopes[1 - side], fact->name);
        if ((side == 1 && counterpart != NULL) || (counterpart != NULL && strcmp(counterpart->value, fact->value) == 0))
            continue; /* told by the other side, or alike */
        if (into == NULL) {
            into = doc_table(page->doc, pl_format(page->arena, "t-differing-%zu", number),
                             pl_format(page->arena, "What differs between %s and %s", table->base, table->other));
            doc_column_add(page->doc, into, "Setting", false, false);
            doc_column_add(page->doc, into, table->base, false, false);
            doc_column_add(page->doc, into, table->other, false, false);
            into->key_columns = 1;
        }
        const char *absent = "the default";
        page_cell_code(page, into, is_setting ? fact->name + strlen(prefix) : fact->name);
        page_cell_code(page, into, side == 0 ? fact->value : counterpart != NULL ? counterpart->value : absent);
        page_cell_code(page, into, side == 1 ? fact->value : counterpart != NULL ? counterpart->value : absent);
    }
}

static void say_how(struct page *page)
{
    const struct figure *tested = page_find(page, 0, 0, "", "comparisons");
    struct doc_line *line = doc_paragraph(page->doc);
    doc_say(
        page->doc, line,
        "Transactions per second as mean " PLUS_MINUS " standard deviation over the trials, without and with the time in "
        "which all clients connected. The same load runs on both right after each other, in an order that is turned around "
        "from one iteration to the next, each time on a server that has just started, with empty buffers of its own. The "
        "difference is of the throughput without connecting; its interval holds at 95 %%. A verdict "
        "says that one is faster only where the t test of the pairs (where trials are missing: Welch's test, as the "
        "method of the figure says) holds after Holm's correction for ");
    if (tested != NULL && tested->status != FIGURE_ABSENT)
        page_say_figure(page, line, tested);
    else
        doc_say(page->doc, line, "all");
    doc_say(page->doc, line,
            " comparisons of this study: with no difference anywhere, at most one such study in twenty shows any.");
}

/* "Default and custom", when that is all. */
static const char *heading(const struct page *page, const struct model_comparison *list, size_t count)
{
    struct side_by_side first = table_of(page, list, count, 0);
    for (size_t i = 0; i < count; i++)
        if (!belongs(page, &list[i], &first))
            return "Side by side";
    char *title = pl_format(page->arena, "%s and %s", first.base, first.other);
    title[0] = (char)toupper((unsigned char)title[0]);
    return title;
}

void page_compare(struct page *page)
{
    size_t count = 0, tables = 0;
    const struct model_comparison *list = model_comparisons(page->study, page->arena, &count);
    if (count == 0)
        return;
    doc_section_add(page->doc, 2, "compare", heading(page, list, count));
    say_how(page);
    for (size_t i = 0; i < count; i++) {
        struct side_by_side table = table_of(page, list, count, i);
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = !belongs(page, &list[k], &table);
        if (!first)
            continue;
        throughput_table(page, &table, list, count, ++tables);
        difference_table(page, &table, list, count, tables);
        differing_settings(page, &table, tables);
    }
}
