/* The caller's metric ids and the stored ones. */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

#include "base/ban.h"

static const char *const kind_texts[] = {[METRIC_GAUGE] = "gauge", [METRIC_COUNTER] = "counter"};

const char *metric_kind_text(enum metric_kind kind)
{
    assert(kind <= METRIC_COUNTER);
    return kind_texts[kind];
}

static int identity_compare(const struct metric *left, const struct metric *right)
{
    int order = strcmp(left->source, right->source);
    if (order == 0)
        order = strcmp(left->name, right->name);
    return order != 0 ? order : strcmp(left->unit, right->unit);
}

/* Where the metric stands among the known ones, or would stand. */
static size_t known_place(const struct metric_map *map, const struct metric *metric)
{
    size_t low = 0, high = map->known_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (identity_compare(&map->known[middle]->row, metric) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t alias_place(const struct metric_map *map, int64_t caller_id)
{
    size_t low = 0, high = map->alias_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->aliases[middle].caller_id < caller_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct known_metric *known_get(struct store *store, const struct metric *metric)
{
    struct metric_map *map = &store->metrics;
    size_t at = known_place(map, metric);
    if (at < map->known_count && identity_compare(&map->known[at]->row, metric) == 0)
        return map->known[at];
    struct known_metric *known = pl_alloc(store->arena, 1, sizeof *known);
    known->row = (struct metric){.source = pl_strdup(store->arena, metric->source),
                                 .name = pl_strdup(store->arena, metric->name),
                                 .unit = pl_strdup(store->arena, metric->unit),
                                 .kind = metric->kind,
                                 .how = pl_strdup(store->arena, metric->how)};
    map->known = pl_grow(store->arena, map->known, map->known_count, map->known_count + 1, sizeof(struct known_metric *),
                         &map->known_cap);
    memmove(&map->known[at + 1], &map->known[at], (map->known_count - at) * sizeof(struct known_metric *));
    map->known[at] = known;
    map->known_count++;
    return known;
}

static void alias_set(struct store *store, int64_t caller_id, struct known_metric *known)
{
    struct metric_map *map = &store->metrics;
    size_t at = alias_place(map, caller_id);
    if (at == map->alias_count || map->aliases[at].caller_id != caller_id) {
        map->aliases = pl_grow(store->arena, map->aliases, map->alias_count, map->alias_count + 1, sizeof *map->aliases,
                               &map->alias_cap);
        memmove(&map->aliases[at + 1], &map->aliases[at], (map->alias_count - at) * sizeof *map->aliases);
        map->alias_count++;
    }
    map->aliases[at] = (struct metric_alias){.caller_id = caller_id, .metric = known};
}

static enum pl_code known_read_id(struct store *store, struct known_metric *known, struct pl_err *err)
{
    struct binding binding = binding_start(store, GET_METRIC);
    binding_text(&binding, known->row.source);
    binding_text(&binding, known->row.name);
    binding_text(&binding, known->row.unit);
    int rc = binding.rc == SQLITE_OK ? sqlite3_step(binding.stmt) : binding.rc;
    enum pl_code code = PL_OK;
    if (rc != SQLITE_ROW) {
        code = store_fail(store->db, rc, store->path, "cannot find a metric again", err);
    } else {
        const char *kind = (const char *)sqlite3_column_text(binding.stmt, 1);
        if (kind == NULL || strcmp(kind, metric_kind_text(known->row.kind)) != 0)
            code =
                pl_err_at(err, PL_STORE, store->path, 0, 0, "the metric %s of %s is stored as a %s, and now it is a %s",
                          known->row.name, known->row.source, kind != NULL ? kind : "?", metric_kind_text(known->row.kind));
        else
            known->row.id = sqlite3_column_int64(binding.stmt, 0);
    }
    binding_end(&binding);
    return code;
}

static enum pl_code known_put(struct store *store, struct known_metric *known, const char *how, struct pl_err *err)
{
    struct binding binding = binding_start(store, PUT_METRIC);
    binding_text(&binding, known->row.source);
    binding_text(&binding, known->row.name);
    binding_text(&binding, known->row.unit);
    binding_text(&binding, metric_kind_text(known->row.kind));
    binding_text(&binding, how);
    enum pl_code code = binding_run(&binding, "cannot store a metric", err);
    if (code == PL_OK)
        code = known_read_id(store, known, err);
    if (code == PL_OK && store->trial_open)
        known->of_open_trial = true;
    return code;
}

enum pl_code metrics_declare(struct store *store, const struct metric *metric, struct pl_err *err)
{
    struct known_metric *known = known_get(store, metric);
    if (known->row.id != 0 && known->row.kind == metric->kind && strcmp(known->row.how, metric->how) == 0) {
        alias_set(store, metric->id, known);
        return PL_OK;
    }
    known->row.kind = metric->kind;
    if (strcmp(known->row.how, metric->how) != 0)
        known->row.how = pl_strdup(store->arena, metric->how);
    alias_set(store, metric->id, known);
    return known_put(store, known, metric->how, err);
}

enum pl_code metrics_stored_id(struct store *store, int64_t caller_id, int64_t *ret_id, struct pl_err *err)
{
    const struct metric_map *map = &store->metrics;
    size_t at = alias_place(map, caller_id);
    if (at == map->alias_count || map->aliases[at].caller_id != caller_id)
        return pl_err_at(err, PL_STORE, store->path, 0, 0, "a sample came for metric %lld, which nobody declared",
                         (long long)caller_id);
    struct known_metric *known = map->aliases[at].metric;
    enum pl_code code = known->row.id != 0 ? PL_OK : known_put(store, known, known->row.how, err);
    if (code == PL_OK)
        *ret_id = known->row.id;
    return code;
}

void metrics_trial_ended(struct store *store, bool committed)
{
    for (size_t i = 0; i < store->metrics.known_count; i++) {
        struct known_metric *known = store->metrics.known[i];
        if (known->of_open_trial && !committed)
            known->row.id = 0; /* stored again with its next sample */
        known->of_open_trial = false;
    }
}
