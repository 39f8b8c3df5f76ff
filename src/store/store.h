/* The study file: SQLite, STRICT tables, one transaction per trial. The schema is documented in docs/study-file.md.
 * One connection, one thread (the conducting one). */
#ifndef PL_STORE_STORE_H
#define PL_STORE_STORE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "record/sink.h"
#include "record/study.h"

struct store;

#define STORE_SCHEMA_VERSION 3
#define STORE_SCHEMA_OLDEST 1 /* that can still be read, and brought up to date */

/* Creates a new study file; a file that is already there is PL_USAGE (hint: --resume or -o). When it fails no file stays.
 */
PL_MUST_CHECK enum pl_code store_create(const char *path, struct store **ret_store, struct pl_err *err);
/* Opens a study to go on with it; one of an older schema version is brought to the present one first, in one transaction.
 * PL_STORE: not a study, of a version that is not known, not writable, in use by another run. */
PL_MUST_CHECK enum pl_code store_open(const char *path, struct store **ret_store, struct pl_err *err);
/* Abandons an open trial and checkpoints the WAL into the one file; the store is gone also when it fails. NULL is fine.
 * PL_STORE: the checkpoint failed, what was committed is then in the file and its -wal together. */
enum pl_code store_close(struct store *store, struct pl_err *err);

/* Each of the functions below is one transaction of its own, or belongs to the open trial when there is one. */

/* What the study is: written once by store_create's caller. */
struct store_head {
    const char *title, *plan_text, *plan_path, *subject, *tool_version;
    uint64_t seed;
    int64_t started_unix_ns;
};
PL_MUST_CHECK enum pl_code store_put_head(struct store *store, const struct store_head *head, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_get_head(struct store *store, struct pl_arena *arena, struct store_head *ret_head,
                                          struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_ended(struct store *store, int64_t ended_unix_ns, struct pl_err *err);

/* Facts replace those of the same scope and name. Stages, cases, scripts, groups: ids are given by the caller and must be
 * new. */
PL_MUST_CHECK enum pl_code store_put_facts(struct store *store, const struct fact *facts, size_t count, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_facts(struct store *store, struct pl_arena *arena, struct fact **ret_facts,
                                       size_t *ret_count, struct pl_err *err); /* as stored so far; in the arena */
PL_MUST_CHECK enum pl_code store_put_stage(struct store *store, const struct stage_row *stage, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_case(struct store *store, const struct case_row *row, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_script(struct store *store, const struct script_row *script, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_group(struct store *store, const struct group_row *group, struct pl_err *err);

/* A trial: begin opens the transaction, everything pushed into the sink belongs to it, commit stores the final row. A trial
 * that was begun and not committed leaves no trace. After begin or commit failed no trial is open. One trial at a time. */
PL_MUST_CHECK enum pl_code store_trial_begin(struct store *store, const struct trial_row *trial, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_trial_commit(struct store *store, const struct trial_row *trial, struct pl_err *err);
void store_trial_abandon(struct store *store);

/* The sink writes into the open trial. A metric with the source, name and unit of a stored one is stored once: its samples
 * are kept under the stored id, so that a resumed study needs no care. Metrics may be declared outside a trial, and stay
 * declared when the trial is abandoned. Several faults of one trial, source, phase and code are one row with the sum of
 * their counts. */
struct sink store_sink(struct store *store);

/* For --resume: the trials that are stored, sorted by case id, iteration, name of the state, ordinal. NULL when there are
 * none. */
PL_MUST_CHECK enum pl_code store_trials(struct store *store, struct pl_arena *arena, struct trial_row **ret_trials,
                                        size_t *ret_count, struct pl_err *err);

/* For --resume: the largest ids in use, 0 when there is none; trial_ordinal is -1 then. */
struct store_largest {
    int64_t stage_id, case_id, trial_id, metric_id;
    int trial_ordinal;
};
PL_MUST_CHECK enum pl_code store_largest_ids(struct store *store, struct store_largest *ret_largest, struct pl_err *err);

/* Loads a study for reading; the file is opened read-only and not locked afterwards. Histograms in it are released by
 * store_release_study. A run may be writing at the same time: what was committed when the reading began is loaded.
 * A study of an older schema version is read as it is: what that version did not hold is 0 or NULL, and
 * study->schema_version says which it was. PL_STORE: not there, not a study, of a version that is not known, damaged (bytes
 * from anywhere are checked), or its run had not begun. */
PL_MUST_CHECK enum pl_code store_load(const char *path, struct pl_arena *arena, struct study **ret_study,
                                      struct pl_err *err);
void store_release_study(struct study *study); /* NULL is fine */

/* The SQL that makes an empty study of this version. */
char *store_schema_text(struct pl_arena *arena);

#endif
