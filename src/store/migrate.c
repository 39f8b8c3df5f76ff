/* An older study becomes one of the present version. Done when it is opened to go on with it, never by a reader. */
#include "store/store_int.h"

#include <assert.h>

#include "base/ban.h"

/* SQLite could add columns to an old table, but its text would then not be ours; so the rows move into new tables.
 *
 * Version 2 counts retries, kinds of failures and responses above a limit. What version 1 holds had no second tries and no
 * limit: 0 is true for those; of what kind the failures were was not counted, and 0 stands for it. Version 3 has groups of
 * tenants and histograms of what did not end: before it there were no tenants, and of what did not end only the number
 * was kept. */
#define MOVE_SLICES(attempts)                                                                                              \
    "INSERT INTO slice (id, trial_id, start_ns, end_ns, during, due_in, script, step, tenant_group, due, completed, "      \
    "failed, skipped, expired, unfinished, never_started, retried, retries, serialization, deadlock, above_limit, "        \
    "response_ns_histogram, service_ns_histogram, lateness_ns_histogram, censored_ns_histogram) "                          \
    "SELECT id, trial_id, start_ns, end_ns, during, due_in, script, step, 0, due, completed, failed, skipped, expired, "   \
    "unfinished, never_started, " attempts ", response_ns_histogram, service_ns_histogram, lateness_ns_histogram, NULL "   \
    "FROM slice_before ORDER BY id; "                                                                                      \
    "DROP TABLE slice_before"

static const char *const move_slices[STORE_SCHEMA_VERSION] = {
    [1] = MOVE_SLICES("0, 0, 0, 0, 0"),
    [2] = MOVE_SLICES("retried, retries, serialization, deadlock, above_limit"),
};

static const char move_trials[] =
    "INSERT INTO trial (" TRIAL_COLUMNS ") SELECT " TRIAL_COLUMNS " FROM trial_before ORDER BY id; DROP TABLE trial_before";

/* What is in the parameters of the connection that a migration needs otherwise. legacy: a view of the user's, and the
 * tables that refer to trials, go on naming `slice` and `trial`, and mean the new ones; foreign keys would follow the
 * renamed table, and cannot be switched inside a transaction. */
static const char before[] = "PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE";
static const char after[] = "PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON";

enum pl_code store_migrate(struct store *store, int version, struct pl_err *err)
{
    static const char doing[] = "cannot bring the study to the present format";
    assert(version >= STORE_SCHEMA_OLDEST && version < STORE_SCHEMA_VERSION && STORE_SCHEMA_VERSION == 3);
    const char *const steps[] = {before,
                                 "ALTER TABLE slice RENAME TO slice_before; ALTER TABLE trial RENAME TO trial_before",
                                 store_schema_sql("tenant_group", STORE_SCHEMA_VERSION),
                                 store_schema_sql("trial", STORE_SCHEMA_VERSION),
                                 move_trials,
                                 store_schema_sql("slice", STORE_SCHEMA_VERSION),
                                 move_slices[version],
                                 "PRAGMA user_version = 3; COMMIT"};
    enum pl_code code = PL_OK;
    for (size_t i = 0; code == PL_OK && i < sizeof steps / sizeof steps[0]; i++)
        code = store_run(store, steps[i], doing, err);
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(store->db, after, NULL, NULL, NULL);
    return code;
}
