/* SQLite's result codes become errors that say which file, what, why, and what to do. */
#include <errno.h>
#include <string.h>

#include "store/store_int.h"
#include "support.h"

static void test_what_a_user_can_mend_has_a_hint(void **state)
{
    static const struct {
        int rc;
        const char *reason, *hint;
    } cases[] = {
        {SQLITE_FULL, "the disk is full", "--resume"},
        {SQLITE_READONLY, "cannot be written", "write permission"},
        {SQLITE_READONLY_DIRECTORY, "cannot be written", "write permission"},
        {SQLITE_CANTOPEN, "cannot be opened", "folder"},
        {SQLITE_NOTADB, "not a study", "plimsoll run"},
        {SQLITE_CORRUPT, "damaged", ".recover"},
        {SQLITE_CORRUPT_INDEX, "damaged", ".recover"},
        {SQLITE_BUSY, "another program", "Close the other program"},
        {SQLITE_BUSY_SNAPSHOT, "another program", "Close the other program"},
        {SQLITE_IOERR_FSYNC, "input/output error", "--resume"},
        {SQLITE_INTERRUPT, "in circles", "copy"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_err err = {0};
        assert_int_equal(store_fail(NULL, cases[i].rc, "a/x.study", "cannot store a slice", &err), PL_STORE);
        assert_string_equal(err.file, "a/x.study");
        assert_ptr_equal(strstr(err.what, "cannot store a slice: "), err.what);
        assert_non_null(strstr(err.what, cases[i].reason));
        assert_non_null(strstr(err.hint, cases[i].hint));
    }
}

static void test_the_first_error_wins(void **state)
{
    (void)state;
    struct pl_err err = {0};
    store_fail(NULL, SQLITE_FULL, "x", "first", &err);
    struct pl_err before = err;
    assert_int_equal(store_fail(NULL, SQLITE_CORRUPT, "y", "second", &err), PL_STORE);
    assert_memory_equal(&err, &before, sizeof err);
}

static void test_other_codes_say_what_sqlite_says(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    struct pl_err err = {0};
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    int rc = sqlite3_exec(db, "CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1)", NULL, NULL, NULL);
    store_fail(db, rc, "x", "cannot", &err);
    assert_non_null(strstr(err.what, "UNIQUE constraint failed: t.a"));
    sqlite3_close(db);
}

static void test_the_systems_reason_is_named(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    struct pl_err err = {0};
    int rc = sqlite3_open_v2("/nowhere/at/all", &db, SQLITE_OPEN_READONLY, NULL);
    store_fail(db, rc, "x", "cannot", &err);
    assert_int_equal(err.os_errno, ENOENT);
    assert_non_null(strstr(err.what, strerror(ENOENT)));
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_user_can_mend_has_a_hint),
        cmocka_unit_test(test_the_first_error_wins),
        cmocka_unit_test(test_other_codes_say_what_sqlite_says),
        cmocka_unit_test(test_the_systems_reason_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
