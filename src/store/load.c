/* A whole study out of its file into memory.
 *
 * The file may be damaged or hostile. Its schema must be ours to the letter, so that no view or expression of a stranger
 * runs; each value is checked (row.c); each id must lead somewhere; and the work that SQLite does is bounded by the size of
 * the file, because pages that point at one another could keep it busy for ever. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ban.h"

enum {
    BUSY_TIMEOUT_MS = 5000,
    VALUE_MAX_BYTES = 64 * 1024 * 1024,
    PROGRESS_OPS = 10000 /* between two looks at the budget */
};

/* Operations of SQLite's machine that reading a sound file never needs: a row takes at least 10 bytes and at most some 60
 * operations. */
#define BUDGET_BASE INT64_C(2000000)
#define BUDGET_PER_BYTE 16

/* Address space for all histograms; most of their pages are never touched. */
#define HIST_MAX_BYTES (INT64_C(256) << 30)

/* Version 1 has no counts of attempts, version 2 no groups of tenants and nothing of operations that did not end. */
#define SELECT_SLICES(attempts, group, censored)                                                                           \
    "SELECT id, trial_id, start_ns, end_ns, during, due_in, script, step, due, completed, failed, skipped, expired, "      \
    "unfinished, never_started, " attempts ", response_ns_histogram, service_ns_histogram, lateness_ns_histogram, " group  \
    ", " censored " FROM slice ORDER BY id"
#define ATTEMPTS "retried, retries, serialization, deadlock, above_limit"
#define NO_ATTEMPTS "0, 0, 0, 0, 0"
static const char *const select_slices[STORE_SCHEMA_VERSION + 1] = {
    [1] = SELECT_SLICES(NO_ATTEMPTS, "0", "NULL"),
    [2] = SELECT_SLICES(ATTEMPTS, "0", "NULL"),
    [3] = SELECT_SLICES(ATTEMPTS, "tenant_group", "censored_ns_histogram"),
};

struct list {
    void *items;
    size_t count, cap, item_size;
};

struct owned_param {
    int64_t owner_id, position;
    struct param param;
};

struct slice_key {
    int64_t trial_id, start_ns;
    size_t at; /* in the list, which is in the order of the ids */
};

struct load {
    const char *path;
    sqlite3 *db;
    struct pl_arena *arena;   /* of the caller: what stays */
    struct pl_arena *scratch; /* lists while they grow */
    struct pl_err *err;
    int64_t budget_ops;
    int version; /* of the schema */
    struct study *study;
    struct list heads, facts, stages, stage_params, cases, case_params, scripts, groups, trials, slices, metrics, samples,
        faults;
    int64_t *stage_ids, *case_ids, *trial_ids; /* sorted */
    int64_t last_trial_id;                     /* found last: rows of one trial stand together */
    int64_t last_slice_id;
    int64_t hist_bytes;
};

static void *list_add(struct load *load, struct list *list)
{
    list->items = pl_grow(load->scratch, list->items, list->count, list->count + 1, list->item_size, &list->cap);
    char *item = (char *)list->items + list->count * list->item_size;
    list->count++;
    return item;
}

/* The list where it stays: exactly as long as it is. */
static void *list_keep(struct load *load, const struct list *list)
{
    void *items = pl_alloc(load->arena, list->count, list->item_size);
    if (list->count > 0)
        memcpy(items, list->items, list->count * list->item_size);
    return items;
}

static int id_compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static bool id_is_in(const int64_t *ids, size_t count, int64_t id)
{
    return count > 0 && bsearch(&id, ids, count, sizeof id, id_compare) != NULL;
}

/* The ids of a list, sorted. Every item begins with its id. Twice the same id can only come from a damaged file. */
static int64_t *ids_sorted(struct load *load, const struct list *list, const char *table)
{
    int64_t *ids = pl_alloc(load->scratch, list->count, sizeof *ids);
    for (size_t i = 0; i < list->count; i++)
        memcpy(&ids[i], (const char *)list->items + i * list->item_size, sizeof ids[i]);
    if (list->count > 0)
        qsort(ids, list->count, sizeof *ids, id_compare);
    for (size_t i = 1; i < list->count; i++) {
        if (ids[i] == ids[i - 1])
            pl_err_at(load->err, PL_STORE, load->path, 0, 0, "the study is damaged: table %s has the id %lld twice", table,
                      (long long)ids[i]);
    }
    return ids;
}

static void check_trial(struct load *load, struct row *row, int64_t trial_id)
{
    if (load->err->code != PL_OK || trial_id == load->last_trial_id)
        return;
    if (id_is_in(load->trial_ids, load->trials.count, trial_id))
        load->last_trial_id = trial_id;
    else
        row_bad(row, "there is no trial %lld", (long long)trial_id);
}

static void read_head(struct load *load, struct row *row)
{
    struct study *study = load->study;
    row_i64(row, 0, 1, 1);
    study->title = row_text(row, 1);
    study->plan_text = row_text(row, 2);
    study->plan_path = row_text(row, 3);
    study->subject = row_text(row, 4);
    study->tool_version = row_text(row, 5);
    study->seed = (uint64_t)row_i64(row, 6, INT64_MIN, INT64_MAX);
    study->started_unix_ns = row_i64(row, 7, INT64_MIN, INT64_MAX);
    study->ended_unix_ns = row_i64(row, 8, INT64_MIN, INT64_MAX);
    *(int64_t *)list_add(load, &load->heads) = 1;
}

static void read_fact(struct load *load, struct row *row)
{
    struct fact *fact = list_add(load, &load->facts);
    *fact = (struct fact){.scope = row_text(row, 0),
                          .name = row_text(row, 1),
                          .value = row_text(row, 2),
                          .unit = row_text(row, 3),
                          .how = row_text(row, 4)};
}

static void read_stage(struct load *load, struct row *row)
{
    struct stage_row *stage = list_add(load, &load->stages);
    *stage = (struct stage_row){.id = row_i64(row, 0, 1, INT64_MAX),
                                .kind = row_text(row, 1),
                                .name = row_text(row, 2),
                                .question = row_text(row, 3)};
}

/* Parameters come sorted by owner and position; the positions of each owner are 0, 1, 2, ... */
static void read_param(struct load *load, struct row *row, struct list *list)
{
    const struct owned_param *before = list->count > 0 ? (const struct owned_param *)list->items + list->count - 1 : NULL;
    int64_t owner_id = row_i64(row, 0, 1, INT64_MAX), position = row_i64(row, 1, 0, INT64_MAX), expected = 0;
    if (before != NULL && before->owner_id == owner_id)
        expected = before->position + 1;
    if (position != expected || (before != NULL && owner_id < before->owner_id))
        row_bad(row, "position %lld is out of order", (long long)position);
    struct owned_param *param = list_add(load, list);
    *param = (struct owned_param){
        .owner_id = owner_id, .position = position, .param = {.name = row_text(row, 2), .value = row_text(row, 3)}};
}

static void read_stage_param(struct load *load, struct row *row)
{
    read_param(load, row, &load->stage_params);
}

static void read_case_param(struct load *load, struct row *row)
{
    read_param(load, row, &load->case_params);
}

static void read_case(struct load *load, struct row *row)
{
    struct case_row *item = list_add(load, &load->cases);
    *item = (struct case_row){.id = row_i64(row, 0, 1, INT64_MAX),
                              .stage_id = row_i64(row, 1, 1, INT64_MAX),
                              .ordinal = row_int(row, 2, 0),
                              .label = row_text(row, 3)};
    if (load->err->code == PL_OK && !id_is_in(load->stage_ids, load->stages.count, item->stage_id))
        row_bad(row, "there is no stage %lld", (long long)item->stage_id);
}

static void read_script(struct load *load, struct row *row)
{
    struct script_row *script = list_add(load, &load->scripts);
    *script = (struct script_row){.case_id = row_i64(row, 0, 1, INT64_MAX),
                                  .script = row_int(row, 1, 0),
                                  .step = row_int(row, 2, -1),
                                  .name = row_text(row, 3)};
    if (load->err->code == PL_OK && !id_is_in(load->case_ids, load->cases.count, script->case_id))
        row_bad(row, "there is no case %lld", (long long)script->case_id);
}

static void read_group(struct load *load, struct row *row)
{
    struct group_row *group = list_add(load, &load->groups);
    *group = (struct group_row){.case_id = row_i64(row, 0, 1, INT64_MAX),
                                .group = row_int(row, 1, 0),
                                .name = row_text(row, 2),
                                .tenants = row_i64(row, 3, 0, INT64_MAX),
                                .weight_frac = row_f64(row, 4)};
    if (load->err->code == PL_OK && !id_is_in(load->case_ids, load->cases.count, group->case_id))
        row_bad(row, "there is no case %lld", (long long)group->case_id);
}

static void read_trial(struct load *load, struct row *row)
{
    struct trial_row *trial = list_add(load, &load->trials);
    row_trial(row, trial);
    if (load->err->code == PL_OK && !id_is_in(load->case_ids, load->cases.count, trial->case_id))
        row_bad(row, "there is no case %lld", (long long)trial->case_id);
}

static struct hist *slice_hist(struct load *load, struct row *row, int column)
{
    struct hist *hist = row_hist(row, column);
    if (hist == NULL)
        return NULL;
    load->hist_bytes += (int64_t)hist->counts_length * (int64_t)sizeof *hist->counts;
    if (load->hist_bytes > HIST_MAX_BYTES)
        row_bad(row, "the histograms take more than %lld bytes", (long long)HIST_MAX_BYTES);
    return hist;
}

static void read_slice(struct load *load, struct row *row)
{
    struct slice slice = {
        .trial_id = row_i64(row, 1, 1, INT64_MAX),
        .start_ns = row_i64(row, 2, INT64_MIN, INT64_MAX),
        .end_ns = row_i64(row, 3, INT64_MIN, INT64_MAX),
        .during = row_phase(row, 4),
        .due_in = row_phase(row, 5),
        .script = row_int(row, 6, 0),
        .step = row_int(row, 7, -1),
        .ledger = {.due = row_i64(row, 8, 0, INT64_MAX),
                   .completed = row_i64(row, 9, 0, INT64_MAX),
                   .failed = row_i64(row, 10, 0, INT64_MAX),
                   .skipped = row_i64(row, 11, 0, INT64_MAX),
                   .expired = row_i64(row, 12, 0, INT64_MAX),
                   .unfinished = row_i64(row, 13, 0, INT64_MAX),
                   .never_started = row_i64(row, 14, 0, INT64_MAX)},
        .attempts = {.retried = row_i64(row, 15, 0, INT64_MAX),
                     .retries = row_i64(row, 16, 0, INT64_MAX),
                     .serialization = row_i64(row, 17, 0, INT64_MAX),
                     .deadlock = row_i64(row, 18, 0, INT64_MAX),
                     .above_limit = row_i64(row, 19, 0, INT64_MAX)},
    };
    slice.group = row_int(row, 23, 0);
    load->last_slice_id = row_i64(row, 0, load->last_slice_id + 1, INT64_MAX - 1);
    check_trial(load, row, slice.trial_id);
    if (slice.end_ns < slice.start_ns)
        row_bad(row, "it ends before it starts");
    if (load->err->code != PL_OK)
        return;
    slice.response = slice_hist(load, row, 20);
    slice.service = slice_hist(load, row, 21);
    slice.lateness = slice_hist(load, row, 22);
    slice.censored = slice_hist(load, row, 24);
    *(struct slice *)list_add(load, &load->slices) = slice;
}

static const char *metric_kind_name_of(int value)
{
    return metric_kind_text((enum metric_kind)value);
}

static void read_metric(struct load *load, struct row *row)
{
    struct metric *metric = list_add(load, &load->metrics);
    int64_t expected = (int64_t)load->metrics.count;
    *metric = (struct metric){.id = row_i64(row, 0, expected, expected),
                              .source = row_text(row, 1),
                              .name = row_text(row, 2),
                              .unit = row_text(row, 3),
                              .kind = (enum metric_kind)row_enum(row, 4, metric_kind_name_of, METRIC_COUNTER + 1),
                              .how = row_text(row, 5)};
}

static void read_sample(struct load *load, struct row *row)
{
    struct sample *sample = list_add(load, &load->samples);
    *sample = (struct sample){.trial_id = row_i64(row, 0, 1, INT64_MAX),
                              .metric_id = row_i64(row, 1, 1, (int64_t)load->metrics.count),
                              .t_ns = row_i64(row, 2, INT64_MIN, INT64_MAX),
                              .phase = row_phase(row, 3),
                              .value = row_f64(row, 4)};
    check_trial(load, row, sample->trial_id);
}

static void read_fault(struct load *load, struct row *row)
{
    struct fault *fault = list_add(load, &load->faults);
    *fault = (struct fault){.trial_id = row_i64(row, 0, 1, INT64_MAX),
                            .source = row_text(row, 1),
                            .phase = row_phase(row, 2),
                            .code = row_text(row, 3),
                            .count = row_i64(row, 4, 0, INT64_MAX),
                            .first_ns = row_i64(row, 5, INT64_MIN, INT64_MAX),
                            .example = row_text(row, 6)};
    check_trial(load, row, fault->trial_id);
}

static void load_query(struct load *load, const char *table, const char *sql, void (*read)(struct load *, struct row *))
{
    if (load->err->code != PL_OK)
        return;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(load->db, sql, -1, &stmt, NULL);
    struct row row = {.stmt = stmt, .path = load->path, .table = table, .arena = load->arena, .err = load->err};
    while (rc == SQLITE_OK && load->err->code == PL_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        row.number++;
        read(load, &row);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE) {
        store_fail(load->db, rc, load->path, "cannot read the study", load->err);
    }
    sqlite3_finalize(stmt);
}

/* Where the parameters of one owner stand in the list, which is sorted by owner. */
static size_t param_place(const struct list *params, int64_t owner_id)
{
    const struct owned_param *items = params->items;
    size_t low = 0, high = params->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].owner_id < owner_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct param *params_take(struct load *load, const struct list *list, int64_t owner_id, size_t *ret_count)
{
    size_t first = param_place(list, owner_id), count = 0;
    const struct owned_param *items = list->items;
    while (first + count < list->count && items[first + count].owner_id == owner_id)
        count++;
    struct param *params = pl_alloc(load->arena, count, sizeof *params);
    for (size_t i = 0; i < count; i++)
        params[i] = items[first + i].param;
    *ret_count = count;
    return params;
}

/* Gives stages and cases their parameters, and finds parameters that belong to nobody. */
static void params_attach(struct load *load)
{
    struct stage_row *stages = load->stages.items;
    struct case_row *cases = load->cases.items;
    size_t taken = 0;
    for (size_t i = 0; i < load->stages.count; i++) {
        stages[i].params = params_take(load, &load->stage_params, stages[i].id, &stages[i].param_count);
        taken += stages[i].param_count;
    }
    for (size_t i = 0; i < load->cases.count; i++) {
        cases[i].params = params_take(load, &load->case_params, cases[i].id, &cases[i].param_count);
        taken += cases[i].param_count;
    }
    if (taken != load->stage_params.count + load->case_params.count)
        pl_err_at(load->err, PL_STORE, load->path, 0, 0, "the study is damaged: a parameter belongs to no stage or case");
}

static void load_tables(struct load *load)
{
    load_query(
        load, "study",
        "SELECT id, title, plan_text, plan_path, subject, tool_version, seed, started_unix_ns, ended_unix_ns FROM study",
        read_head);
    if (load->err->code == PL_OK && load->heads.count != 1) {
        pl_err_at(load->err, PL_STORE, load->path, 0, 0, "the study is empty: its run ended before it began to measure");
        pl_err_hint(load->err, "Run the plan again.");
        return;
    }
    load_query(load, "fact", "SELECT scope, name, value, unit, how FROM fact ORDER BY id", read_fact);
    load_query(load, "stage", "SELECT id, kind, name, question FROM stage ORDER BY id", read_stage);
    load->stage_ids = ids_sorted(load, &load->stages, "stage");
    load_query(load, "stage_param", "SELECT stage_id, position, name, value FROM stage_param ORDER BY stage_id, position",
               read_stage_param);
    load_query(load, "case_row", "SELECT id, stage_id, ordinal, label FROM case_row ORDER BY id", read_case);
    load->case_ids = ids_sorted(load, &load->cases, "case_row");
    load_query(load, "case_param", "SELECT case_id, position, name, value FROM case_param ORDER BY case_id, position",
               read_case_param);
    params_attach(load);
    load_query(load, "script", "SELECT case_id, script, step, name FROM script ORDER BY case_id, script, step",
               read_script);
    if (store_schema_sql("tenant_group", load->version) != NULL)
        load_query(load, "tenant_group",
                   "SELECT case_id, tenant_group, name, tenants, weight_frac FROM tenant_group "
                   "ORDER BY case_id, tenant_group",
                   read_group);
    load_query(load, "trial", "SELECT " TRIAL_COLUMNS " FROM trial NOT INDEXED ORDER BY ordinal", read_trial);
    load->trial_ids = ids_sorted(load, &load->trials, "trial");
    load_query(load, "slice", select_slices[load->version], read_slice);
    load_query(load, "metric", "SELECT id, source, name, unit, kind, how FROM metric ORDER BY id", read_metric);
    load_query(load, "sample",
               "SELECT trial_id, metric_id, t_ns, phase, value FROM sample ORDER BY trial_id, metric_id, t_ns, id",
               read_sample);
    load_query(
        load, "fault",
        "SELECT trial_id, source, phase, code, count, first_ns, example FROM fault ORDER BY trial_id, source, phase, code",
        read_fault);
}

static int slice_key_compare(const void *left, const void *right)
{
    const struct slice_key *a = left, *b = right;
    if (a->trial_id != b->trial_id)
        return a->trial_id < b->trial_id ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* By trial and start, and in the order in which they were stored where these are the same. SQLite does not sort them: it
 * would carry the histograms along. */
static const struct slice *slices_sorted(struct load *load)
{
    size_t count = load->slices.count;
    const struct slice *from = load->slices.items;
    struct slice *slices = pl_alloc(load->arena, count, sizeof *slices);
    struct slice_key *keys = pl_alloc(load->scratch, count, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct slice_key){.trial_id = from[i].trial_id, .start_ns = from[i].start_ns, .at = i};
    if (count > 0)
        qsort(keys, count, sizeof *keys, slice_key_compare);
    for (size_t i = 0; i < count; i++)
        slices[i] = from[keys[i].at];
    return slices;
}

static void study_fill(struct load *load)
{
    struct study *study = load->study;
    study->facts = list_keep(load, &load->facts);
    study->fact_count = load->facts.count;
    study->stages = list_keep(load, &load->stages);
    study->stage_count = load->stages.count;
    study->cases = list_keep(load, &load->cases);
    study->case_count = load->cases.count;
    study->trials = list_keep(load, &load->trials);
    study->trial_count = load->trials.count;
    study->scripts = list_keep(load, &load->scripts);
    study->script_count = load->scripts.count;
    study->groups = list_keep(load, &load->groups);
    study->group_count = load->groups.count;
    study->slices = slices_sorted(load);
    study->slice_count = load->slices.count;
    study->metrics = list_keep(load, &load->metrics);
    study->metric_count = load->metrics.count;
    study->samples = list_keep(load, &load->samples);
    study->sample_count = load->samples.count;
    study->faults = list_keep(load, &load->faults);
    study->fault_count = load->faults.count;
}

static void hist_drop(const struct hist *hist)
{
    if (hist != NULL)
        hist_release((struct hist *)(uintptr_t)hist);
}

static void slices_release(const struct slice *slices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hist_drop(slices[i].response);
        hist_drop(slices[i].service);
        hist_drop(slices[i].lateness);
        hist_drop(slices[i].censored);
    }
}

static int budget_check(void *ctx)
{
    struct load *load = ctx;
    load->budget_ops -= PROGRESS_OPS;
    return load->budget_ops < 0;
}

static int load_open(struct load *load, const char *name, int flags)
{
    sqlite3_close(load->db);
    load->db = NULL;
    flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(name, &load->db, flags, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_busy_timeout(load->db, BUSY_TIMEOUT_MS);
    sqlite3_limit(load->db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
    sqlite3_db_config(load->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(load->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_progress_handler(load->db, PROGRESS_OPS, budget_check, load);
    /* BEGIN: everything below reads one state, whatever a run commits meanwhile */
    return sqlite3_exec(load->db, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; BEGIN", NULL, NULL, NULL);
}

/* The path as a URI that makes SQLite trust that nobody writes. */
static char *immutable_uri(struct pl_arena *arena, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";
    char *encoded = pl_alloc(arena, strlen(path) * 3 + 1, 1), *at = encoded;
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '%' || *c == '?' || *c == '#') {
            *at++ = '%';
            *at++ = hex[(unsigned char)*c >> 4];
            *at++ = hex[(unsigned char)*c & 15];
        } else {
            *at++ = *c;
        }
    }
    return pl_format(arena, path[0] == '/' ? "file://%s?immutable=1" : "file:%s?immutable=1", encoded);
}

/* Size of the log beside the open file, 0 when there is none. */
static int64_t log_bytes(const struct load *load)
{
    struct stat status;
    const char *name = load->db != NULL ? sqlite3_db_filename(load->db, "main") : NULL;
    return name != NULL && stat(sqlite3_filename_wal(name), &status) == 0 ? status.st_size : 0;
}

/* SQLite fills up a last page that is cut short with zeros. While there is a log the file may end anywhere. */
static void check_tail(struct load *load)
{
    struct stat status;
    sqlite3_stmt *stmt = NULL;
    if (log_bytes(load) > 0 || stat(load->path, &status) != 0)
        return;
    int rc = sqlite3_prepare_v2(load->db, "PRAGMA page_size", -1, &stmt, NULL);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && status.st_size % sqlite3_column_int64(stmt, 0) != 0) {
        pl_err_at(load->err, PL_STORE, load->path, 0, 0, "the file is damaged: its last page is cut short");
        pl_err_hint(load->err,
                    "Use a copy from before, or save what is left with the command .recover of the sqlite3 shell.");
    }
    sqlite3_finalize(stmt);
}

static enum pl_code load_begin(struct load *load)
{
    struct stat status;
    if (stat(load->path, &status) != 0) {
        pl_err_os(load->err, PL_STORE, errno, "cannot open the study %s", load->path);
        pl_err_hint(load->err, "Name a file that `plimsoll run` has written.");
        return load->err->code;
    }
    if (!S_ISREG(status.st_mode))
        return pl_err_at(load->err, PL_STORE, load->path, 0, 0, "not a study: not a regular file");
    load->budget_ops = BUDGET_BASE + status.st_size * BUDGET_PER_BYTE;
    const char *name = store_sqlite_path(load->scratch, load->path);
    struct pl_err own = {0};
    int rc = load_open(load, name, 0);
    load->budget_ops += log_bytes(load) * BUDGET_PER_BYTE;
    if (rc != SQLITE_OK)
        store_fail(load->db, rc, load->path, "cannot open the study", &own);
    else if (store_schema_check(load->db, load->path, &load->version, &rc, &own) == PL_OK)
        return PL_OK;
    int primary = rc & 0xff;
    if ((primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) && log_bytes(load) > 0) {
        own = (struct pl_err){0};
        pl_err_at(&own, PL_STORE, load->path, 0, 0, "the log of the study cannot be read in this folder");
        pl_err_hint(&own, "Copy the file together with its -wal file into a folder that this user may write.");
    } else if (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) {
        own = (struct pl_err){0};
        rc = load_open(load, immutable_uri(load->scratch, name), SQLITE_OPEN_URI);
        if (rc != SQLITE_OK)
            store_fail(load->db, rc, load->path, "cannot open the study", &own);
        else if (store_schema_check(load->db, load->path, &load->version, &rc, &own) == PL_OK)
            return PL_OK;
    }
    if (load->err->code == PL_OK)
        *load->err = own;
    return own.code;
}

static void load_lists_init(struct load *load)
{
    load->heads.item_size = sizeof(int64_t);
    load->facts.item_size = sizeof(struct fact);
    load->stages.item_size = sizeof(struct stage_row);
    load->stage_params.item_size = load->case_params.item_size = sizeof(struct owned_param);
    load->cases.item_size = sizeof(struct case_row);
    load->scripts.item_size = sizeof(struct script_row);
    load->groups.item_size = sizeof(struct group_row);
    load->trials.item_size = sizeof(struct trial_row);
    load->slices.item_size = sizeof(struct slice);
    load->metrics.item_size = sizeof(struct metric);
    load->samples.item_size = sizeof(struct sample);
    load->faults.item_size = sizeof(struct fault);
}

enum pl_code store_load(const char *path, struct pl_arena *arena, struct study **ret_study, struct pl_err *err)
{
    struct pl_err own = {0};
    struct load load = {.path = path, .arena = arena, .scratch = pl_arena_new(), .err = &own};
    load_lists_init(&load);
    load.study = pl_alloc(arena, 1, sizeof *load.study);
    load.study->arena = arena;
    if (load_begin(&load) == PL_OK)
        check_tail(&load);
    load.study->schema_version = load.version;
    if (own.code == PL_OK)
        load_tables(&load);
    if (own.code == PL_OK) {
        study_fill(&load);
        *ret_study = load.study;
    } else {
        slices_release(load.slices.items, load.slices.count);
        if (err->code == PL_OK)
            *err = own;
    }
    sqlite3_close(load.db);
    pl_arena_free(load.scratch);
    return own.code;
}

void store_release_study(struct study *study)
{
    if (study == NULL)
        return;
    slices_release(study->slices, study->slice_count);
    study->slices = NULL;
    study->slice_count = 0;
}
