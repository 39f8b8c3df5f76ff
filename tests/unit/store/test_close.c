/* What is left when a store is closed. */
#include <sqlite3.h>

#include "store_room.h"

static bool has_log(struct room *room)
{
    return access(pl_format(room->arena, "%s-wal", room->path), F_OK) == 0;
}

static void test_one_file_is_left(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    assert_true(has_log(room));
    GEN_OK(store_close(room->store, &err), err);
    room->store = NULL;
    assert_false(has_log(room));
    assert_int_not_equal(access(pl_format(room->arena, "%s-shm", room->path), F_OK), 0);
    /* in rollback mode: bytes 18 and 19 of the file are 1, so that nobody who reads it has to make a log */
    char header[20] = {0};
    FILE *file = fopen(room->path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
    fclose(file);
    assert_int_equal(header[18], 1);
    assert_int_equal(header[19], 1);
    assert_int_equal(load(room)->case_count, 1);
}

/* Somebody reads for longer than the store waits: nothing is lost, and the caller is told. */
static void test_a_reader_that_stays(void **state)
{
    struct room *room = *state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM trial", NULL, NULL, NULL), SQLITE_OK);
    struct fact fact = {.scope = "host", .name = "late", .value = "1", .unit = "", .how = ""};
    GEN_OK(store_put_facts(room->store, &fact, 1, &room->err), room->err);
    assert_int_equal(store_close(room->store, &room->err), PL_STORE);
    room->store = NULL;
    assert_non_null(strstr(room->err.hint, "Nothing is lost"));
    assert_non_null(study_fact(load(room), "host", "late"));
    sqlite3_close(db);
    struct pl_err err = {0};
    GEN_OK(store_open(room->path, &room->store, &err), err);
    GEN_OK(store_close(room->store, &err), err);
    room->store = NULL;
    assert_false(has_log(room));
}

/* Somebody who has it open and does not read is no hindrance. */
static void test_an_idle_reader(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM trial", NULL, NULL, NULL), SQLITE_OK);
    GEN_OK(store_close(room->store, &err), err);
    room->store = NULL;
    sqlite3_close(db);
    assert_int_equal(load(room)->case_count, 1);
}

static void test_close_of_nothing(void **state)
{
    (void)state;
    struct pl_err err = {0};
    assert_int_equal(store_close(NULL, &err), PL_OK);
    store_release_study(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_file_is_left),
        TEST(test_a_reader_that_stays),
        TEST(test_an_idle_reader),
        TEST(test_close_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
