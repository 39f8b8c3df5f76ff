/* Rows into the study file: the head, facts, stages, cases, scripts, trials. */
#include "store/store_int.h"

#include <assert.h>

#include "base/ban.h"

#define INSERT_TRIAL                                                                                                       \
    "INSERT INTO trial (" TRIAL_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

static const char *const statement_texts[STATEMENT_COUNT] = {
    [PUT_HEAD] = "INSERT INTO study (id, title, plan_text, plan_path, subject, tool_version, seed, started_unix_ns, "
                 "ended_unix_ns) VALUES (1, ?, ?, ?, ?, ?, ?, ?, 0)",
    [GET_HEAD] = "SELECT title, plan_text, plan_path, subject, tool_version, seed, started_unix_ns FROM study",
    [PUT_ENDED] = "UPDATE study SET ended_unix_ns = ?",
    [PUT_FACT] = "INSERT INTO fact (scope, name, value, unit, how) VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope, name) "
                 "DO UPDATE SET value = excluded.value, unit = excluded.unit, how = excluded.how",
    [GET_FACTS] = "SELECT scope, name, value, unit, how FROM fact ORDER BY id",
    [PUT_STAGE] = "INSERT INTO stage (id, kind, name, question) VALUES (?, ?, ?, ?)",
    [PUT_STAGE_PARAM] = "INSERT INTO stage_param (stage_id, position, name, value) VALUES (?, ?, ?, ?)",
    [PUT_CASE] = "INSERT INTO case_row (id, stage_id, ordinal, label) VALUES (?, ?, ?, ?)",
    [PUT_CASE_PARAM] = "INSERT INTO case_param (case_id, position, name, value) VALUES (?, ?, ?, ?)",
    [PUT_SCRIPT] = "INSERT INTO script (case_id, script, step, name) VALUES (?, ?, ?, ?)",
    [PUT_GROUP] = "INSERT INTO tenant_group (case_id, tenant_group, name, tenants, weight_frac) VALUES (?, ?, ?, ?, ?)",
    [PUT_TRIAL] = INSERT_TRIAL,
    /* its columns in the order of TRIAL_COLUMNS, so that one function binds both statements */
    [UPDATE_TRIAL] = "UPDATE trial SET case_id = ?2, iteration = ?3, ordinal = ?4, attempt = ?5, state = ?6, why = ?7, "
                     "seed = ?8, started_unix_ns = ?9, connect_start_ns = ?10, connect_end_ns = ?11, "
                     "warm_up_start_ns = ?12, measure_start_ns = ?13, measure_end_ns = ?14, drain_end_ns = ?15, "
                     "clients = ?16, clients_lost = ?17, workers = ?18, event_loop = ?19 WHERE id = ?1",
    [GET_TRIALS] = "SELECT " TRIAL_COLUMNS " FROM trial ORDER BY case_id, iteration, state, ordinal",
    [GET_LARGEST] = "SELECT (SELECT coalesce(max(id), 0) FROM stage), (SELECT coalesce(max(id), 0) FROM case_row), "
                    "(SELECT coalesce(max(id), 0) FROM trial), (SELECT coalesce(max(id), 0) FROM metric), "
                    "(SELECT coalesce(max(ordinal), -1) FROM trial)",
    /* a metric that is read in another way after a resume says both */
    [PUT_METRIC] = "INSERT INTO metric (source, name, unit, kind, how) VALUES (?, ?, ?, ?, ?) "
                   "ON CONFLICT (source, name, unit) DO UPDATE SET how = how || '; ' || excluded.how "
                   "WHERE instr(how, excluded.how) = 0 AND length(how) < 1000",
    [GET_METRIC] = "SELECT id, kind FROM metric WHERE source = ? AND name = ? AND unit = ?",
    [PUT_SLICE] = "INSERT INTO slice (trial_id, start_ns, end_ns, during, due_in, script, step, tenant_group, due, "
                  "completed, failed, skipped, expired, unfinished, never_started, retried, retries, serialization, "
                  "deadlock, above_limit, response_ns_histogram, service_ns_histogram, lateness_ns_histogram, "
                  "censored_ns_histogram) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_SAMPLE] = "INSERT INTO sample (trial_id, metric_id, t_ns, phase, value) VALUES (?, ?, ?, ?, ?)",
    [PUT_FAULT] =
        "INSERT INTO fault (trial_id, source, phase, code, count, first_ns, example) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (trial_id, source, phase, code) DO UPDATE SET count = count + excluded.count, "
        "example = iif(excluded.first_ns < first_ns, excluded.example, example), "
        "first_ns = min(first_ns, excluded.first_ns)",
};

struct binding binding_start(struct store *store, enum statement which)
{
    sqlite3_stmt **stmt = &store->statements[which];
    int rc = SQLITE_OK;
    if (*stmt == NULL)
        rc = sqlite3_prepare_v3(store->db, statement_texts[which], -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    return (struct binding){.store = store, .stmt = *stmt, .rc = rc};
}

void binding_i64(struct binding *binding, int64_t value)
{
    if (binding->rc == SQLITE_OK)
        binding->rc = sqlite3_bind_int64(binding->stmt, ++binding->count, value);
}

void binding_f64(struct binding *binding, double value)
{
    if (binding->rc == SQLITE_OK)
        binding->rc = sqlite3_bind_double(binding->stmt, ++binding->count, value);
}

void binding_text(struct binding *binding, const char *text)
{
    if (binding->rc == SQLITE_OK)
        binding->rc = sqlite3_bind_text(binding->stmt, ++binding->count, text, -1, SQLITE_STATIC);
}

void binding_blob(struct binding *binding, const struct pl_buf *blob)
{
    if (binding->rc != SQLITE_OK)
        return;
    if (blob == NULL)
        binding->rc = sqlite3_bind_null(binding->stmt, ++binding->count);
    else
        binding->rc = sqlite3_bind_blob64(binding->stmt, ++binding->count, blob->data, blob->len, SQLITE_STATIC);
}

void binding_end(struct binding *binding)
{
    sqlite3_reset(binding->stmt);
    sqlite3_clear_bindings(binding->stmt);
}

enum pl_code binding_run(struct binding *binding, const char *doing, struct pl_err *err)
{
    int rc = binding->rc;
    if (rc == SQLITE_OK) {
        assert(binding->count == sqlite3_bind_parameter_count(binding->stmt));
        rc = sqlite3_step(binding->stmt);
    }
    enum pl_code code = PL_OK;
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        code = store_fail(binding->store->db, rc, binding->store->path, doing, err);
    binding_end(binding);
    return code;
}

enum pl_code store_run(struct store *store, const char *sql, const char *doing, struct pl_err *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? PL_OK : store_fail(store->db, rc, store->path, doing, err);
}

/* What is not inside a trial is a transaction of its own. Inside one it shares the fate of the trial. */
static enum pl_code write_begin(struct store *store, const char *doing, struct pl_err *err)
{
    if (!store->trial_open)
        return store_run(store, "BEGIN IMMEDIATE", doing, err);
    if (store->failed.code != PL_OK && err->code == PL_OK)
        *err = store->failed;
    return store->failed.code;
}

static void write_roll_back(struct store *store)
{
    /* after some errors SQLite has rolled back already */
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum pl_code write_end(struct store *store, enum pl_code code, const char *doing, struct pl_err *err)
{
    if (store->trial_open) {
        if (code != PL_OK && store->failed.code == PL_OK)
            store->failed = *err;
        return code;
    }
    if (code == PL_OK)
        code = store_run(store, "COMMIT", doing, err);
    if (code != PL_OK)
        write_roll_back(store);
    return code;
}

enum pl_code store_put_head(struct store *store, const struct store_head *head, struct pl_err *err)
{
    static const char doing[] = "cannot store what the study is";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_HEAD);
    binding_text(&binding, head->title);
    binding_text(&binding, head->plan_text);
    binding_text(&binding, head->plan_path);
    binding_text(&binding, head->subject);
    binding_text(&binding, head->tool_version);
    binding_i64(&binding, (int64_t)head->seed);
    binding_i64(&binding, head->started_unix_ns);
    return write_end(store, binding_run(&binding, doing, err), doing, err);
}

enum pl_code store_get_head(struct store *store, struct pl_arena *arena, struct store_head *ret_head, struct pl_err *err)
{
    static const char doing[] = "cannot read what the study is";
    struct binding binding = binding_start(store, GET_HEAD);
    int rc = binding.rc == SQLITE_OK ? sqlite3_step(binding.stmt) : binding.rc;
    struct pl_err own = {0};
    if (rc == SQLITE_ROW) {
        struct row row = {
            .stmt = binding.stmt, .path = store->path, .table = "study", .number = 1, .arena = arena, .err = &own};
        struct store_head head = {.title = row_text(&row, 0),
                                  .plan_text = row_text(&row, 1),
                                  .plan_path = row_text(&row, 2),
                                  .subject = row_text(&row, 3),
                                  .tool_version = row_text(&row, 4),
                                  .seed = (uint64_t)row_i64(&row, 5, INT64_MIN, INT64_MAX),
                                  .started_unix_ns = row_i64(&row, 6, INT64_MIN, INT64_MAX)};
        if (own.code == PL_OK)
            *ret_head = head;
    } else if (rc == SQLITE_DONE) {
        pl_err_at(&own, PL_STORE, store->path, 0, 0, "the study is empty: its run ended before it began to measure");
        pl_err_hint(&own, "Delete the file and run the plan again.");
    } else {
        store_fail(store->db, rc, store->path, doing, &own);
    }
    binding_end(&binding);
    if (own.code != PL_OK && err->code == PL_OK)
        *err = own;
    return own.code;
}

enum pl_code store_put_ended(struct store *store, int64_t ended_unix_ns, struct pl_err *err)
{
    static const char doing[] = "cannot store the end of the study";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_ENDED);
    binding_i64(&binding, ended_unix_ns);
    return write_end(store, binding_run(&binding, doing, err), doing, err);
}

enum pl_code store_put_facts(struct store *store, const struct fact *facts, size_t count, struct pl_err *err)
{
    static const char doing[] = "cannot store a fact";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    for (size_t i = 0; code == PL_OK && i < count; i++) {
        struct binding binding = binding_start(store, PUT_FACT);
        binding_text(&binding, facts[i].scope);
        binding_text(&binding, facts[i].name);
        binding_text(&binding, facts[i].value);
        binding_text(&binding, facts[i].unit);
        binding_text(&binding, facts[i].how);
        code = binding_run(&binding, doing, err);
    }
    return write_end(store, code, doing, err);
}

enum pl_code store_facts(struct store *store, struct pl_arena *arena, struct fact **ret_facts, size_t *ret_count,
                         struct pl_err *err)
{
    struct fact *facts = NULL;
    size_t count = 0, cap = 0;
    struct pl_err own = {0};
    struct binding binding = binding_start(store, GET_FACTS);
    int rc = binding.rc;
    while (rc == SQLITE_OK && own.code == PL_OK && (rc = sqlite3_step(binding.stmt)) == SQLITE_ROW) {
        facts = pl_grow(arena, facts, count, count + 1, sizeof *facts, &cap);
        struct row row = {.stmt = binding.stmt,
                          .path = store->path,
                          .table = "fact",
                          .number = (int64_t)count + 1,
                          .arena = arena,
                          .err = &own};
        facts[count++] = (struct fact){.scope = row_text(&row, 0),
                                       .name = row_text(&row, 1),
                                       .value = row_text(&row, 2),
                                       .unit = row_text(&row, 3),
                                       .how = row_text(&row, 4)};
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE && own.code == PL_OK)
        store_fail(store->db, rc, store->path, "cannot read the facts of the study", &own);
    binding_end(&binding);
    if (own.code != PL_OK) {
        if (err->code == PL_OK)
            *err = own;
        return own.code;
    }
    *ret_facts = facts;
    *ret_count = count;
    return PL_OK;
}

static enum pl_code put_params(struct store *store, enum statement which, int64_t owner_id, const struct param *params,
                               size_t count, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (size_t i = 0; code == PL_OK && i < count; i++) {
        struct binding binding = binding_start(store, which);
        binding_i64(&binding, owner_id);
        binding_i64(&binding, (int64_t)i);
        binding_text(&binding, params[i].name);
        binding_text(&binding, params[i].value);
        code = binding_run(&binding, "cannot store a parameter", err);
    }
    return code;
}

enum pl_code store_put_stage(struct store *store, const struct stage_row *stage, struct pl_err *err)
{
    static const char doing[] = "cannot store a stage";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_STAGE);
    binding_i64(&binding, stage->id);
    binding_text(&binding, stage->kind);
    binding_text(&binding, stage->name);
    binding_text(&binding, stage->question);
    code = binding_run(&binding, doing, err);
    if (code == PL_OK)
        code = put_params(store, PUT_STAGE_PARAM, stage->id, stage->params, stage->param_count, err);
    return write_end(store, code, doing, err);
}

enum pl_code store_put_case(struct store *store, const struct case_row *row, struct pl_err *err)
{
    static const char doing[] = "cannot store a case";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_CASE);
    binding_i64(&binding, row->id);
    binding_i64(&binding, row->stage_id);
    binding_i64(&binding, row->ordinal);
    binding_text(&binding, row->label);
    code = binding_run(&binding, doing, err);
    if (code == PL_OK)
        code = put_params(store, PUT_CASE_PARAM, row->id, row->params, row->param_count, err);
    return write_end(store, code, doing, err);
}

enum pl_code store_put_script(struct store *store, const struct script_row *script, struct pl_err *err)
{
    static const char doing[] = "cannot store the name of a script";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_SCRIPT);
    binding_i64(&binding, script->case_id);
    binding_i64(&binding, script->script);
    binding_i64(&binding, script->step);
    binding_text(&binding, script->name);
    return write_end(store, binding_run(&binding, doing, err), doing, err);
}

enum pl_code store_put_group(struct store *store, const struct group_row *group, struct pl_err *err)
{
    static const char doing[] = "cannot store the name of a group of tenants";
    enum pl_code code = write_begin(store, doing, err);
    if (code != PL_OK)
        return code;
    struct binding binding = binding_start(store, PUT_GROUP);
    binding_i64(&binding, group->case_id);
    binding_i64(&binding, group->group);
    binding_text(&binding, group->name);
    binding_i64(&binding, group->tenants);
    binding_f64(&binding, group->weight_frac);
    return write_end(store, binding_run(&binding, doing, err), doing, err);
}

static enum pl_code put_trial(struct store *store, enum statement which, const struct trial_row *trial, const char *doing,
                              struct pl_err *err)
{
    struct binding binding = binding_start(store, which);
    binding_i64(&binding, trial->id);
    binding_i64(&binding, trial->case_id);
    binding_i64(&binding, trial->iteration);
    binding_i64(&binding, trial->ordinal);
    binding_i64(&binding, trial->attempt);
    binding_text(&binding, trial_state_name(trial->state));
    binding_text(&binding, trial->why);
    binding_i64(&binding, (int64_t)trial->seed);
    binding_i64(&binding, trial->started_unix_ns);
    binding_i64(&binding, trial->connect_start_ns);
    binding_i64(&binding, trial->connect_end_ns);
    binding_i64(&binding, trial->warm_up_start_ns);
    binding_i64(&binding, trial->measure_start_ns);
    binding_i64(&binding, trial->measure_end_ns);
    binding_i64(&binding, trial->drain_end_ns);
    binding_i64(&binding, trial->clients);
    binding_i64(&binding, trial->clients_lost);
    binding_i64(&binding, trial->workers);
    binding_text(&binding, trial->event_loop);
    return binding_run(&binding, doing, err);
}

static void trial_ended(struct store *store, bool committed)
{
    if (!committed)
        write_roll_back(store);
    store->trial_open = false;
    store->trial_id = 0;
    store->failed = (struct pl_err){0};
    metrics_trial_ended(store, committed);
}

enum pl_code store_trial_begin(struct store *store, const struct trial_row *trial, struct pl_err *err)
{
    static const char doing[] = "cannot begin to store a trial";
    assert(!store->trial_open);
    enum pl_code code = store_run(store, "BEGIN IMMEDIATE", doing, err);
    if (code != PL_OK)
        return code;
    store->trial_open = true;
    store->trial_id = trial->id;
    code = put_trial(store, PUT_TRIAL, trial, doing, err);
    if (code != PL_OK)
        trial_ended(store, false);
    return code;
}

enum pl_code store_trial_commit(struct store *store, const struct trial_row *trial, struct pl_err *err)
{
    static const char doing[] = "cannot store a trial";
    assert(store->trial_open && trial->id == store->trial_id);
    enum pl_code code = store->failed.code;
    if (code != PL_OK && err->code == PL_OK)
        *err = store->failed;
    if (code == PL_OK)
        code = put_trial(store, UPDATE_TRIAL, trial, doing, err);
    if (code == PL_OK)
        code = store_run(store, "COMMIT", doing, err);
    trial_ended(store, code == PL_OK);
    return code;
}

void store_trial_abandon(struct store *store)
{
    if (store->trial_open)
        trial_ended(store, false);
}

enum pl_code store_trials(struct store *store, struct pl_arena *arena, struct trial_row **ret_trials, size_t *ret_count,
                          struct pl_err *err)
{
    struct trial_row *trials = NULL;
    size_t count = 0, cap = 0;
    struct pl_err own = {0};
    struct binding binding = binding_start(store, GET_TRIALS);
    int rc = binding.rc;
    while (rc == SQLITE_OK && own.code == PL_OK && (rc = sqlite3_step(binding.stmt)) == SQLITE_ROW) {
        trials = pl_grow(arena, trials, count, count + 1, sizeof *trials, &cap);
        struct row row = {.stmt = binding.stmt,
                          .path = store->path,
                          .table = "trial",
                          .number = (int64_t)count + 1,
                          .arena = arena,
                          .err = &own};
        row_trial(&row, &trials[count++]);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE && own.code == PL_OK)
        store_fail(store->db, rc, store->path, "cannot read the trials of the study", &own);
    binding_end(&binding);
    if (own.code != PL_OK) {
        if (err->code == PL_OK)
            *err = own;
        return own.code;
    }
    *ret_trials = trials;
    *ret_count = count;
    return PL_OK;
}

enum pl_code store_largest_ids(struct store *store, struct store_largest *ret_largest, struct pl_err *err)
{
    struct binding binding = binding_start(store, GET_LARGEST);
    int rc = binding.rc == SQLITE_OK ? sqlite3_step(binding.stmt) : binding.rc;
    enum pl_code code = PL_OK;
    if (rc == SQLITE_ROW)
        *ret_largest = (struct store_largest){.stage_id = sqlite3_column_int64(binding.stmt, 0),
                                              .case_id = sqlite3_column_int64(binding.stmt, 1),
                                              .trial_id = sqlite3_column_int64(binding.stmt, 2),
                                              .metric_id = sqlite3_column_int64(binding.stmt, 3),
                                              .trial_ordinal = sqlite3_column_int(binding.stmt, 4)};
    else
        code = store_fail(store->db, rc, store->path, "cannot read the ids of the study", err);
    binding_end(&binding);
    return code;
}
