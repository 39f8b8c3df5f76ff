/* An older study becomes one of the present version. Done when it is opened to go on with it, never by a reader. */
#include "store/store_int.h"

#include <assert.h>

#include "base/ban.h"

/* Version 2 counts retries, kinds of failures and responses above a limit. SQLite could add columns to the old table, but
 * its text would then not be ours; so the rows move into a new table. They had no second tries and no limit: 0 is true for
 * those; of what kind the failures were was not counted, and 0 stands for it. */
static const char from_1_to_2[] =
    "INSERT INTO slice (id, trial_id, start_ns, end_ns, during, due_in, script, step, due, completed, failed, skipped, "
    "expired, unfinished, never_started, retried, retries, serialization, deadlock, above_limit, response_ns_histogram, "
    "service_ns_histogram, lateness_ns_histogram) "
    "SELECT id, trial_id, start_ns, end_ns, during, due_in, script, step, due, completed, failed, skipped, expired, "
    "unfinished, never_started, 0, 0, 0, 0, 0, response_ns_histogram, service_ns_histogram, lateness_ns_histogram "
    "FROM slice_of_1 ORDER BY id; "
    "DROP TABLE slice_of_1";

enum pl_code store_migrate(struct store *store, int version, struct pl_err *err)
{
    static const char doing[] = "cannot bring the study to the present format";
    assert(version == 1 && STORE_SCHEMA_VERSION == 2);
    /* legacy: a view of the user's goes on naming `slice`, and means the new one */
    enum pl_code code = store_run(store, "PRAGMA legacy_alter_table = ON; BEGIN IMMEDIATE", doing, err);
    if (code == PL_OK)
        code = store_run(store, "ALTER TABLE slice RENAME TO slice_of_1", doing, err);
    if (code == PL_OK)
        code = store_run(store, store_schema_sql("slice", 2), doing, err);
    if (code == PL_OK)
        code = store_run(store, from_1_to_2, doing, err);
    if (code == PL_OK)
        code = store_run(store, "PRAGMA user_version = 2; COMMIT", doing, err);
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(store->db, "PRAGMA legacy_alter_table = OFF", NULL, NULL, NULL);
    return code;
}
