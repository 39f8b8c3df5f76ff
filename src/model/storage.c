/* Bytes on disk for each operation: the database as a whole, its tables and their indexes. */
#include "model/model_int.h"

#include <string.h>

#include "base/ban.h"

static const char before_method[] = "The last reading before the load started; mean over trials.";
static const char after_method[] = "The last reading after the load ended; mean over trials.";
static const char growth_method[] = "Last reading after the load minus the last one before it; summed over trials.";
static const char per_operation_method[] =
    "Growth over the load divided by all operations completed in the trial (warm-up and drain "
    "included); ratio of the sums over trials.";

/* One size, before and after: `stem` is "database", "table", "index" or "rows"; tail "_bytes" or "". */
static void put_size(struct model_build *build, const struct model_case *cs, const char *source, const char *metric,
                     const char *subject, const char *stem)
{
    bool bytes = strcmp(stem, "rows") != 0;
    const char *tail = bytes ? "_bytes" : "", *unit = bytes ? "bytes" : "count";
    struct model_values before = model_values_new(build, cs->count), after = model_values_new(build, cs->count);
    struct model_values growth = model_values_new(build, cs->count);
    for (size_t i = 0; i < cs->count; i++) {
        int64_t id = cs->trials[i]->id;
        double first, last;
        const char *why;
        if (!model_read_ends(build, cs->trials[i], source, metric, &first, &last, &why)) {
            model_values_lack(&before, id, why);
            model_values_lack(&after, id, why);
            model_values_lack(&growth, id, why);
            continue;
        }
        model_values_add(&before, id, first, 0);
        model_values_add(&after, id, last, 0);
        model_values_add(&growth, id, last - first, (double)model_completed_in_trial(build->study, id));
    }
    struct model_label label = {pl_format(build->arena, "%s_before%s", stem, tail), subject, unit, before_method};
    model_put_mean(build, &label, &before);
    label.name = pl_format(build->arena, "%s_after%s", stem, tail);
    label.method = after_method;
    model_put_mean(build, &label, &after);
    label.name = pl_format(build->arena, "%s_growth%s", stem, tail);
    label.method = growth_method;
    model_put_sum(build, &label, &growth);
    label.name = pl_format(build->arena, "%s%s_per_operation", stem, tail);
    label.method = per_operation_method;
    label.unit = bytes ? "bytes" : "1";
    struct figure *figure = model_put_ratio(build, &label, &growth);
    if (figure != NULL && bytes)
        model_note(build, figure,
                   figure->value < 0 ? "it shrank while the load ran: space was given back or reused, so this is not a cost"
                                     : "");
}

void model_put_storage(struct model_build *build, const struct model_case *cs)
{
    static const char *const relation_metrics[][2] = {{"table_bytes", "table"}, {"index_bytes", "index"}, {"rows", "rows"}};
    const struct study *study = build->study;
    put_size(build, cs, study->subject, "database_bytes", study->subject, "database");
    size_t own = strlen(study->subject);
    for (size_t i = 0; i < study->metric_count; i++) {
        const struct metric *metric = &study->metrics[i];
        if (strchr(metric->source, '/') == NULL)
            continue;
        bool of_subject = strncmp(metric->source, study->subject, own) == 0 && metric->source[own] == '/';
        const char *relation = of_subject ? metric->source + own + 1 : metric->source;
        for (size_t k = 0; k < sizeof relation_metrics / sizeof *relation_metrics; k++)
            if (strcmp(metric->name, relation_metrics[k][0]) == 0)
                put_size(build, cs, metric->source, metric->name, relation, relation_metrics[k][1]);
    }
}
