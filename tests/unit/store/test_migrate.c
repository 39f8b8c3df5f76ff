/* Studies of older formats: read as they are, and brought to the present one when they are gone on with. */
#include <sqlite3.h>

#include "base/file.h"
#include "store/store_int.h"
#include "study_same.h"

struct room {
    struct pl_arena *arena;
    char *folder, *path;
    int version; /* of the format */
    struct store *store;
    struct study *loaded;
};

static void sql(const char *path, const char *text)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        print_error("%s\n", message);
    assert_null(message);
    sqlite3_close(db);
}

static int room_of(void **state, int version)
{
    struct room *room = pl_new(1, sizeof *room);
    struct pl_err err = {0};
    char *text = NULL;
    size_t length = 0;
    room->arena = pl_arena_new();
    room->folder = gen_folder(room->arena);
    room->path = pl_format(room->arena, "%s/x.study", room->folder);
    const char *made = pl_format(room->arena, "tests/unit/store/format%d.sql", version);
    GEN_OK(pl_file_read(made, 1 << 20, room->arena, &text, &length, &err), err);
    sql(room->path, text);
    room->version = version;
    *state = room;
    return 0;
}

static int room_setup_1(void **state)
{
    return room_of(state, 1);
}

static int room_setup_2(void **state)
{
    return room_of(state, 2);
}

static int room_teardown(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    store_release_study(room->loaded);
    GEN_OK(store_close(room->store, &err), err);
    gen_folder_remove(room->arena, room->folder);
    pl_arena_free(room->arena);
    pl_free(room);
    return 0;
}

static struct study *load(struct room *room)
{
    struct pl_err err = {0};
    store_release_study(room->loaded);
    GEN_OK(store_load(room->path, room->arena, &room->loaded, &err), err);
    return room->loaded;
}

static void assert_rows(const struct study *study, int version)
{
    static const struct attempts attempts[] = {[1] = {0}, [2] = {4, 5, 3, 2, 1}};
    assert_int_equal(study->slice_count, 3);
    const struct slice *slice = &study->slices[1];
    const struct ledger ledger = {.due = 5, .completed = 2, .failed = 1, .skipped = 1, .unfinished = 1, .never_started = 1};
    assert_memory_equal(&slice->ledger, &ledger, sizeof ledger);
    assert_memory_equal(&slice->attempts, &attempts[version], sizeof attempts[version]);
    assert_int_equal(slice->group, 0);
    assert_null(slice->censored);
    assert_int_equal(study->group_count, 0);
    assert_int_equal(slice->response->total, 2);
    assert_int_equal(slice->response->max, 2000);
    assert_null(study->slices[2].response);
    assert_int_equal(study->slices[2].service->min, 1000);
    assert_int_equal(study->slices[0].lateness->max, 5000);
    assert_int_equal(study->fault_count, 1);
    assert_int_equal(study->sample_count, 1);
}

static int64_t number(const char *path, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

static void test_reading_changes_nothing(void **state)
{
    struct room *room = *state;
    const struct study *study = load(room);
    assert_int_equal(study->schema_version, room->version);
    assert_rows(study, room->version);
    assert_int_equal(number(room->path, "PRAGMA user_version"), room->version);
    assert_int_equal(number(room->path, "SELECT count(*) FROM pragma_table_info('slice')"), room->version == 1 ? 18 : 23);
}

static void test_going_on_migrates(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    sql(room->path, "CREATE VIEW mine AS SELECT sum(completed) FROM slice; CREATE INDEX fast ON sample (t_ns)");
    GEN_OK(store_open(room->path, &room->store, &err), err);
    assert_int_equal(number(room->path, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_rows(load(room), room->version);
    assert_int_equal(room->loaded->schema_version, STORE_SCHEMA_VERSION);
    assert_int_equal(number(room->path, "SELECT max(id) FROM slice"), 5);
    assert_int_equal(number(room->path, "SELECT * FROM mine"), 5);

    const struct trial_row trial = {.id = 2, .case_id = 1, .iteration = 1, .ordinal = 1, .why = "", .event_loop = ""};
    const struct slice slice = {.trial_id = 2,
                                .step = -1,
                                .ledger = {.failed = 6},
                                .attempts = {4, 5, 3, 2, 1},
                                .during = PHASE_MEASURE,
                                .group = 7};
    const struct group_row group = {.case_id = 1, .group = 7, .name = "gold", .tenants = 3, .weight_frac = 0.25};
    GEN_OK(store_put_group(room->store, &group, &err), err);
    struct sink sink = store_sink(room->store);
    GEN_OK(store_trial_begin(room->store, &trial, &err), err);
    GEN_OK(sink.slice(sink.ctx, &slice, &err), err);
    GEN_OK(store_trial_commit(room->store, &trial, &err), err);
    GEN_OK(store_close(room->store, &err), err);
    room->store = NULL;
    assert_int_equal(load(room)->slice_count, 4);
    gen_assert_slice(&room->loaded->slices[3], &slice);
    assert_string_equal(study_group(room->loaded, 1, 7)->name, "gold");
    /* what refers to trials refers to the new table, and the constraint is watched again */
    assert_int_equal(number(room->path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(number(room->path, "SELECT count(*) FROM pragma_foreign_key_list('sample') WHERE \"table\" = 'trial'"),
                     1);
    assert_int_equal(number(room->path, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%_before%'"), 0);
    GEN_OK(store_open(room->path, &room->store, &err), err); /* once is enough */
}

/* A value that the table does not allow stops it, and leaves the file as it was. */
static void test_a_failed_migration_leaves_the_old_study(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    sql(room->path, "PRAGMA ignore_check_constraints = ON; UPDATE slice SET failed = -1 WHERE id = 5");
    assert_int_equal(store_open(room->path, &room->store, &err), PL_STORE);
    assert_non_null(strstr(err.what, "cannot bring the study to the present format"));
    room->store = NULL;
    assert_int_equal(number(room->path, "PRAGMA user_version"), room->version);
    assert_int_equal(number(room->path, "SELECT count(*) FROM slice"), 3);
    assert_int_equal(number(room->path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_before'"), 0);
    sql(room->path, "UPDATE slice SET failed = 1 WHERE id = 5");
    assert_rows(load(room), room->version);
}

/* Its tables must be those of its own format. */
static void test_an_old_study_with_other_tables(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    sql(room->path, "ALTER TABLE slice ADD COLUMN tenant_group INTEGER");
    assert_int_equal(store_load(room->path, room->arena, &room->loaded, &err), PL_STORE);
    assert_non_null(strstr(err.what, pl_format(room->arena, "\"slice\" is not as format %d has it", room->version)));
}

#define TEST(name)                                                                                                         \
    cmocka_unit_test_setup_teardown(name, room_setup_1, room_teardown),                                                    \
        cmocka_unit_test_setup_teardown(name, room_setup_2, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reading_changes_nothing),
        TEST(test_going_on_migrates),
        TEST(test_a_failed_migration_leaves_the_old_study),
        TEST(test_an_old_study_with_other_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
