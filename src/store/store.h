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

#define STORE_SCHEMA_VERSION 1

/* Creates a new study file; a file that is already there is PL_USAGE (hint: --resume or -o). */
PL_MUST_CHECK enum pl_code store_create(const char *path, struct store **ret_store, struct pl_err *err);
/* Opens a study to go on with it. PL_STORE: not a study, of another schema version, not writable, in use by another run. */
PL_MUST_CHECK enum pl_code store_open(const char *path, struct store **ret_store, struct pl_err *err);
enum pl_code store_close(struct store *store, struct pl_err *err); /* checkpoints the WAL into the one file; NULL is fine */

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

/* Facts replace those of the same scope and name. Stages, cases, scripts: ids are given by the caller and must be new. */
PL_MUST_CHECK enum pl_code store_put_facts(struct store *store, const struct fact *facts, size_t count, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_stage(struct store *store, const struct stage_row *stage, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_case(struct store *store, const struct case_row *row, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_put_script(struct store *store, const struct script_row *script, struct pl_err *err);

/* A trial: begin opens the transaction, everything pushed into the sink belongs to it, commit stores the final row. A trial
 * that was begun and not committed leaves no trace. */
PL_MUST_CHECK enum pl_code store_trial_begin(struct store *store, const struct trial_row *trial, struct pl_err *err);
PL_MUST_CHECK enum pl_code store_trial_commit(struct store *store, const struct trial_row *trial, struct pl_err *err);
void store_trial_abandon(struct store *store);

/* The sink writes into the open trial. A metric with the source, name and unit of a stored one is stored once: its samples are
 * kept under the stored id, so that a resumed study needs no care. Metrics may be declared outside a trial. */
struct sink store_sink(struct store *store);

/* For --resume: the trials that are stored, by (case id, iteration, state); and the largest ids in use. */
PL_MUST_CHECK enum pl_code store_trials(struct store *store, struct pl_arena *arena, struct trial_row **ret_trials,
                                        size_t *ret_count, struct pl_err *err);

/* Loads a study for reading; the file is opened read-only and not locked afterwards. Histograms in it are released by
 * store_release_study. */
PL_MUST_CHECK enum pl_code store_load(const char *path, struct pl_arena *arena, struct study **ret_study, struct pl_err *err);
void store_release_study(struct study *study);

#endif
