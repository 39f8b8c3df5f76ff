/* The schema of a study file, version 3, and the check that a file has exactly this one. docs/study-file.md repeats the
 * text and explains each column; a test holds the two together. */
#include "store/store_int.h"

#include <string.h>

#include "base/ban.h"

/* The parts that tables have had in several versions. */
#define TRIAL_BEFORE_WHY                                                                                                   \
    "CREATE TABLE trial (\n"                                                                                               \
    "    id INTEGER PRIMARY KEY CHECK (id > 0),\n"                                                                         \
    "    case_id INTEGER NOT NULL REFERENCES case_row (id),\n"                                                             \
    "    iteration INTEGER NOT NULL CHECK (iteration >= 0),\n"                                                             \
    "    ordinal INTEGER NOT NULL UNIQUE CHECK (ordinal >= 0), -- order of execution\n"                                    \
    "    attempt INTEGER NOT NULL CHECK (attempt >= 0),\n"                                                                 \
    "    state TEXT NOT NULL CHECK (state IN ('done', 'failed', 'void', 'interrupted')),\n"
#define TRIAL_AFTER_WHY                                                                                                    \
    "    seed INTEGER NOT NULL, -- the 64 bits as a signed number\n"                                                       \
    "    started_unix_ns INTEGER NOT NULL,\n"                                                                              \
    "    connect_start_ns INTEGER NOT NULL, -- monotonic, as all that follow; 0: did not come so far\n"                    \
    "    connect_end_ns INTEGER NOT NULL,\n"                                                                               \
    "    warm_up_start_ns INTEGER NOT NULL,\n"                                                                             \
    "    measure_start_ns INTEGER NOT NULL,\n"                                                                             \
    "    measure_end_ns INTEGER NOT NULL,\n"                                                                               \
    "    drain_end_ns INTEGER NOT NULL,\n"                                                                                 \
    "    clients INTEGER NOT NULL CHECK (clients >= 0),\n"                                                                 \
    "    clients_lost INTEGER NOT NULL CHECK (clients_lost >= 0),\n"                                                       \
    "    workers INTEGER NOT NULL CHECK (workers >= 0),\n"                                                                 \
    "    event_loop TEXT NOT NULL, -- '' when the trial had no load\n"                                                     \
    "    UNIQUE (case_id, iteration, attempt)\n"                                                                           \
    ") STRICT"
#define SLICE_PLACE                                                                                                        \
    "CREATE TABLE slice (\n"                                                                                               \
    "    id INTEGER PRIMARY KEY CHECK (id > 0),\n"                                                                         \
    "    trial_id INTEGER NOT NULL REFERENCES trial (id),\n"                                                               \
    "    start_ns INTEGER NOT NULL,\n"                                                                                     \
    "    end_ns INTEGER NOT NULL CHECK (end_ns >= start_ns),\n"                                                            \
    "    during TEXT NOT NULL CHECK (during IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),\n"            \
    "    due_in TEXT NOT NULL CHECK (due_in IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),\n"            \
    "    script INTEGER NOT NULL CHECK (script >= 0),\n"                                                                   \
    "    step INTEGER NOT NULL CHECK (step >= -1), -- -1: the whole operation\n"
#define SLICE_LEDGER                                                                                                       \
    "    due INTEGER NOT NULL CHECK (due >= 0),\n"                                                                         \
    "    completed INTEGER NOT NULL CHECK (completed >= 0),\n"                                                             \
    "    failed INTEGER NOT NULL CHECK (failed >= 0),\n"                                                                   \
    "    skipped INTEGER NOT NULL CHECK (skipped >= 0),\n"                                                                 \
    "    expired INTEGER NOT NULL CHECK (expired >= 0),\n"                                                                 \
    "    unfinished INTEGER NOT NULL CHECK (unfinished >= 0),\n"                                                           \
    "    never_started INTEGER NOT NULL CHECK (never_started >= 0),\n"
#define SLICE_ATTEMPTS                                                                                                     \
    "    retried INTEGER NOT NULL CHECK (retried >= 0),\n"                                                                 \
    "    retries INTEGER NOT NULL CHECK (retries >= 0),\n"                                                                 \
    "    serialization INTEGER NOT NULL CHECK (serialization >= 0), -- of failed\n"                                        \
    "    deadlock INTEGER NOT NULL CHECK (deadlock >= 0), -- of failed\n"                                                  \
    "    above_limit INTEGER NOT NULL CHECK (above_limit >= 0), -- of completed\n"
#define SLICE_HISTOGRAMS_ENDED                                                                                             \
    "    response_ns_histogram BLOB, -- NULL: absent\n"                                                                    \
    "    service_ns_histogram BLOB,\n"

/* In the order of creation: what refers stands after what it refers to. SQLite keeps each text as it is written here, with
 * its comments, so that `.schema` in the sqlite3 shell explains a file that has gone astray from its documentation. */
const struct schema_object store_schema[] = {
    {"study", "CREATE TABLE study (\n"
              "    id INTEGER PRIMARY KEY CHECK (id = 1), -- one row\n"
              "    title TEXT NOT NULL,\n"
              "    plan_text TEXT NOT NULL,\n"
              "    plan_path TEXT NOT NULL,\n"
              "    subject TEXT NOT NULL, -- the service the study is about\n"
              "    tool_version TEXT NOT NULL,\n"
              "    seed INTEGER NOT NULL, -- the 64 bits as a signed number\n"
              "    started_unix_ns INTEGER NOT NULL,\n"
              "    ended_unix_ns INTEGER NOT NULL -- 0: not completed\n"
              ") STRICT"},
    {"fact", "CREATE TABLE fact (\n"
             "    id INTEGER PRIMARY KEY,\n"
             "    scope TEXT NOT NULL, -- 'host', 'tool', 'plan' or a service\n"
             "    name TEXT NOT NULL,\n"
             "    value TEXT NOT NULL,\n"
             "    unit TEXT NOT NULL, -- '' when it has none\n"
             "    how TEXT NOT NULL, -- where it was read\n"
             "    UNIQUE (scope, name)\n"
             ") STRICT"},
    {"stage", "CREATE TABLE stage (\n"
              "    id INTEGER PRIMARY KEY CHECK (id > 0),\n"
              "    kind TEXT NOT NULL,\n"
              "    name TEXT NOT NULL UNIQUE,\n"
              "    question TEXT NOT NULL\n"
              ") STRICT"},
    {"stage_param", "CREATE TABLE stage_param (\n"
                    "    stage_id INTEGER NOT NULL REFERENCES stage (id),\n"
                    "    position INTEGER NOT NULL CHECK (position >= 0),\n"
                    "    name TEXT NOT NULL,\n"
                    "    value TEXT NOT NULL,\n"
                    "    PRIMARY KEY (stage_id, position)\n"
                    ") STRICT, WITHOUT ROWID"},
    {"case_row", "CREATE TABLE case_row (\n"
                 "    id INTEGER PRIMARY KEY CHECK (id > 0),\n"
                 "    stage_id INTEGER NOT NULL REFERENCES stage (id),\n"
                 "    ordinal INTEGER NOT NULL CHECK (ordinal >= 0), -- position in the stage's matrix\n"
                 "    label TEXT NOT NULL,\n"
                 "    UNIQUE (stage_id, ordinal)\n"
                 ") STRICT"},
    {"case_param", "CREATE TABLE case_param (\n"
                   "    case_id INTEGER NOT NULL REFERENCES case_row (id),\n"
                   "    position INTEGER NOT NULL CHECK (position >= 0),\n"
                   "    name TEXT NOT NULL,\n"
                   "    value TEXT NOT NULL,\n"
                   "    PRIMARY KEY (case_id, position)\n"
                   ") STRICT, WITHOUT ROWID"},
    {"script", "CREATE TABLE script (\n"
               "    case_id INTEGER NOT NULL REFERENCES case_row (id),\n"
               "    script INTEGER NOT NULL CHECK (script >= 0),\n"
               "    step INTEGER NOT NULL CHECK (step >= -1), -- -1 names the script itself\n"
               "    name TEXT NOT NULL,\n"
               "    PRIMARY KEY (case_id, script, step)\n"
               ") STRICT, WITHOUT ROWID"},
    {"tenant_group", "CREATE TABLE tenant_group (\n"
                     "    case_id INTEGER NOT NULL REFERENCES case_row (id),\n"
                     "    tenant_group INTEGER NOT NULL CHECK (tenant_group >= 0),\n"
                     "    name TEXT NOT NULL,\n"
                     "    tenants INTEGER NOT NULL CHECK (tenants >= 0), -- how many belong to it\n"
                     "    weight_frac REAL NOT NULL, -- its share of the load as asked\n"
                     "    PRIMARY KEY (case_id, tenant_group)\n"
                     ") STRICT, WITHOUT ROWID"},
    {"trial", TRIAL_BEFORE_WHY
     "    why TEXT NOT NULL, -- a sentence; of a trial that is done '', or why it is marked\n" TRIAL_AFTER_WHY},
    {"slice", SLICE_PLACE
     "    tenant_group INTEGER NOT NULL CHECK (tenant_group >= 0), -- 0 when there are no tenants\n" SLICE_LEDGER
         SLICE_ATTEMPTS SLICE_HISTOGRAMS_ENDED "    lateness_ns_histogram BLOB,\n"
     "    censored_ns_histogram BLOB -- expired and unfinished ones, as at least so long\n"
     ") STRICT"},
    {"metric", "CREATE TABLE metric (\n"
               "    id INTEGER PRIMARY KEY CHECK (id > 0), -- 1, 2, 3, ...\n"
               "    source TEXT NOT NULL, -- 'host', 'tool', 'load' or a service\n"
               "    name TEXT NOT NULL,\n"
               "    unit TEXT NOT NULL,\n"
               "    kind TEXT NOT NULL CHECK (kind IN ('gauge', 'counter')),\n"
               "    how TEXT NOT NULL, -- the file or view it was read from\n"
               "    UNIQUE (source, name, unit)\n"
               ") STRICT"},
    {"sample", "CREATE TABLE sample (\n"
               "    id INTEGER PRIMARY KEY,\n"
               "    trial_id INTEGER NOT NULL REFERENCES trial (id),\n"
               "    metric_id INTEGER NOT NULL REFERENCES metric (id),\n"
               "    t_ns INTEGER NOT NULL, -- monotonic, when the reading ended\n"
               "    phase TEXT NOT NULL CHECK (phase IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),\n"
               "    value REAL NOT NULL -- in the unit of the metric\n"
               ") STRICT"},
    {"fault", "CREATE TABLE fault (\n"
              "    trial_id INTEGER NOT NULL REFERENCES trial (id),\n"
              "    source TEXT NOT NULL,\n"
              "    phase TEXT NOT NULL CHECK (phase IN ('start', 'settle', 'warm-up', 'measure', 'drain', 'after')),\n"
              "    code TEXT NOT NULL, -- SQLSTATE, errno name, 'EXIT', 'SIGKILL'\n"
              "    count INTEGER NOT NULL CHECK (count >= 0),\n"
              "    first_ns INTEGER NOT NULL, -- monotonic\n"
              "    example TEXT NOT NULL, -- text of the first one\n"
              "    PRIMARY KEY (trial_id, source, phase, code)\n"
              ") STRICT, WITHOUT ROWID"},
};
const size_t store_schema_count = sizeof store_schema / sizeof *store_schema;

/* What older versions had otherwise, or (sql NULL) did not have. */
static const struct older_object {
    int last_version; /* the newest that has it like this */
    struct schema_object object;
} older_schema[] = {
    {1,
     {"slice", SLICE_PLACE SLICE_LEDGER SLICE_HISTOGRAMS_ENDED "    lateness_ns_histogram BLOB\n"
                                                               ") STRICT"}},
    {2,
     {"slice", SLICE_PLACE SLICE_LEDGER SLICE_ATTEMPTS SLICE_HISTOGRAMS_ENDED "    lateness_ns_histogram BLOB\n"
                                                                              ") STRICT"}},
    {2, {"trial", TRIAL_BEFORE_WHY "    why TEXT NOT NULL, -- '' when done\n" TRIAL_AFTER_WHY}},
    {2, {"tenant_group", NULL}},
};

const char *store_schema_sql(const char *name, int version)
{
    for (size_t i = 0; i < sizeof older_schema / sizeof *older_schema; i++)
        if (version <= older_schema[i].last_version && strcmp(older_schema[i].object.name, name) == 0)
            return older_schema[i].object.sql;
    for (size_t i = 0; i < store_schema_count; i++)
        if (strcmp(store_schema[i].name, name) == 0)
            return store_schema[i].sql;
    return NULL;
}

char *store_schema_text(struct pl_arena *arena)
{
    char *text = pl_strdup(arena, "");
    for (size_t i = 0; i < store_schema_count; i++)
        text = pl_format(arena, "%s%s;\n", text, store_schema[i].sql);
    return text;
}

static int pragma_i64(sqlite3 *db, const char *sql, int64_t *ret_value)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *ret_value = sqlite3_column_int64(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static enum pl_code schema_version_check(int64_t version, const char *path, struct pl_err *err)
{
    if (version >= STORE_SCHEMA_OLDEST && version <= STORE_SCHEMA_VERSION)
        return PL_OK;
    pl_err_at(err, PL_STORE, path, 0, 0, "this study has format %lld, and this Plimsoll reads formats %d to %d",
              (long long)version, STORE_SCHEMA_OLDEST, STORE_SCHEMA_VERSION);
    if (version > STORE_SCHEMA_VERSION)
        pl_err_hint(err, "A newer Plimsoll wrote it: use that one, or a later one.");
    else
        pl_err_hint(err, "Use the Plimsoll that wrote it.");
    return err->code;
}

/* Whether the file has the object with exactly this text: a table that is a view of the same name, or has other
 * constraints, would break what the readers rely on. */
static int schema_object_compare(sqlite3 *db, const char *name, const char *expected, bool *ret_same)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE name = ?", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(stmt, 0);
        *ret_same = sql != NULL && strcmp(sql, expected) == 0;
    } else {
        *ret_same = false;
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

enum pl_code store_schema_check(sqlite3 *db, const char *path, int *ret_version, int *ret_rc, struct pl_err *err)
{
    int64_t application = 0, version = 0;
    int rc = pragma_i64(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = pragma_i64(db, "PRAGMA user_version", &version);
    *ret_rc = rc;
    if (rc != SQLITE_OK)
        return store_fail(db, rc, path, "cannot open the study", err);
    if (application != STORE_APPLICATION_ID) {
        pl_err_at(err, PL_STORE, path, 0, 0, "not a study: the file is an empty or a foreign SQLite database");
        pl_err_hint(err, "Name a file that `plimsoll run` has written.");
        return err->code;
    }
    enum pl_code code = schema_version_check(version, path, err);
    *ret_version = (int)version;
    for (size_t i = 0; code == PL_OK && i < store_schema_count; i++) {
        bool same = false;
        const char *name = store_schema[i].name, *expected = store_schema_sql(name, (int)version);
        if (expected == NULL)
            continue;
        *ret_rc = rc = schema_object_compare(db, name, expected, &same);
        if (rc != SQLITE_OK)
            return store_fail(db, rc, path, "cannot read the schema of the study", err);
        if (!same) {
            code = pl_err_at(err, PL_STORE, path, 0, 0, "the study is damaged: \"%s\" is not as format %d has it", name,
                             (int)version);
            pl_err_hint(err, "Something else changed the file: use a copy from before.");
        }
    }
    return code;
}
