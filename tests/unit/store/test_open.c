/* Making, opening and closing; every file that is not a study of ours to write. */
#include <fcntl.h>
#include <grp.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "study_same.h"

struct room {
    struct pl_arena *arena;
    char *folder, *path;
    struct study *made; /* by study_make */
    struct pl_err err;
};

static int room_setup(void **state)
{
    struct room *room = pl_new(1, sizeof *room);
    room->arena = pl_arena_new();
    room->folder = gen_folder(room->arena);
    room->path = pl_format(room->arena, "%s/x.study", room->folder);
    *state = room;
    return 0;
}

static int room_teardown(void **state)
{
    struct room *room = *state;
    chmod(room->folder, 0700);
    store_release_study(room->made);
    gen_folder_remove(room->arena, room->folder);
    pl_arena_free(room->arena);
    pl_free(room);
    return 0;
}

/* A finished study with one trial. */
static struct study *study_make(struct room *room)
{
    struct pl_rng rng;
    pl_rng_init(&rng, 11, PL_RNG_TEST, 0);
    struct study *made =
        gen_study(room->arena, &rng,
                  &(struct gen_size){.stages = 1, .cases = 1, .iterations = 1, .slices = 2, .metrics = 1, .samples = 2});
    struct store *store = NULL;
    int commits = 0;
    room->made = made;
    GEN_OK(store_create(room->path, &store, &room->err), room->err);
    GEN_OK(gen_write(made, store, &commits, &room->err), room->err);
    GEN_OK(store_close(store, &room->err), room->err);
    return made;
}

static void file_write(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

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

/* Neither to be gone on with nor to be read, for the same reason, which names the file and says what to do. */
static void assert_refused(struct room *room, const char *what)
{
    struct store *store = NULL;
    struct study *study = NULL;
    struct pl_err open_err = {0}, load_err = {0};
    char text[1200];
    assert_int_equal(store_open(room->path, &store, &open_err), PL_STORE);
    assert_null(store);
    assert_int_equal(store_load(room->path, room->arena, &study, &load_err), PL_STORE);
    assert_null(study);
    if (strstr(open_err.what, what) == NULL || strstr(load_err.what, what) == NULL)
        print_error("wanted: %s\nopen: %s\nload: %s\n", what, open_err.what, load_err.what);
    assert_non_null(strstr(open_err.what, what));
    assert_non_null(strstr(load_err.what, what));
    assert_non_null(strstr(pl_err_text(&open_err, text, sizeof text), room->path));
    assert_non_null(strstr(pl_err_text(&load_err, text, sizeof text), room->path));
}

static void test_a_file_that_is_there_is_not_overwritten(void **state)
{
    struct room *room = *state;
    file_write(room->path, "mine", 4);
    struct store *store = NULL;
    assert_int_equal(store_create(room->path, &store, &room->err), PL_USAGE);
    assert_non_null(strstr(room->err.hint, "--resume"));
    assert_non_null(strstr(room->err.hint, "-o"));
    struct stat status;
    assert_int_equal(stat(room->path, &status), 0);
    assert_int_equal(status.st_size, 4);
}

static void test_what_is_not_a_study(void **state)
{
    struct room *room = *state;
    assert_refused(room, "No such file");
    file_write(room->path, "", 0);
    assert_refused(room, "not a study");
    file_write(room->path, "study: a plan file that was named by mistake\n", 45);
    assert_refused(room, "not a study");
    char text[8192];
    memset(text, 'x', sizeof text);
    file_write(room->path, text, sizeof text);
    assert_refused(room, "not a study");
    unlink(room->path);
    sql(room->path, "CREATE TABLE study (id INTEGER)");
    assert_refused(room, "foreign SQLite database");
    unlink(room->path);
    assert_int_equal(mkdir(room->path, 0700), 0);
    struct store *store = NULL;
    struct study *study = NULL;
    struct pl_err err = {0};
    assert_int_equal(store_open(room->path, &store, &err), PL_STORE);
    err = (struct pl_err){0};
    assert_int_equal(store_load(room->path, room->arena, &study, &err), PL_STORE);
    assert_int_equal(rmdir(room->path), 0);
}

static void test_other_versions(void **state)
{
    struct room *room = *state;
    study_make(room);
    sql(room->path, "PRAGMA user_version = 4");
    assert_refused(room, "format 4");
    struct store *store = NULL;
    assert_int_equal(store_open(room->path, &store, &room->err), PL_STORE);
    assert_non_null(strstr(room->err.hint, "newer"));
    sql(room->path, "PRAGMA user_version = 0");
    assert_refused(room, "format 0");
}

static void test_another_schema(void **state)
{
    struct room *room = *state;
    study_make(room);
    sql(room->path, "ALTER TABLE fault RENAME TO old_fault; CREATE VIEW fault AS SELECT * FROM old_fault");
    assert_refused(room, "\"fault\" is not as format 3 has it");
}

/* Additions do no harm: an index or a view of the user's own. */
static void test_additions_are_welcome(void **state)
{
    struct room *room = *state;
    struct study *made = study_make(room), *loaded = NULL;
    sql(room->path,
        "CREATE INDEX mine ON sample (metric_id, t_ns); CREATE VIEW done AS SELECT * FROM trial WHERE state = 'done'");
    GEN_OK(store_load(room->path, room->arena, &loaded, &room->err), room->err);
    gen_assert_study(made, loaded);
    store_release_study(loaded);
}

static void test_truncated_at_every_page(void **state)
{
    struct room *room = *state;
    study_make(room);
    struct stat status;
    assert_int_equal(stat(room->path, &status), 0);
    for (off_t length = status.st_size - 100; length > 0; length -= 2048) {
        assert_int_equal(truncate(room->path, length), 0);
        struct study *loaded = NULL;
        struct store *store = NULL;
        struct pl_err err = {0};
        assert_int_equal(store_load(room->path, room->arena, &loaded, &err), PL_STORE);
        assert_true(err.hint[0] != '\0');
        err = (struct pl_err){0};
        if (store_open(room->path, &store, &err) == PL_OK) /* the schema is whole, the rest shows when it is read */
            store_close(store, &err);
        if (err.code != PL_OK)
            assert_int_equal(err.code, PL_STORE);
    }
}

/* Whether this process holds a POSIX lock on the file, as another one sees it. */
static bool is_locked(const char *path)
{
    pid_t child = gen_fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR | O_CLOEXEC);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

static void test_two_runs_on_one_file(void **state)
{
    struct room *room = *state;
    struct store *first = NULL, *second = NULL;
    struct fact fact = {.scope = "host", .name = "n", .value = "v", .unit = "", .how = ""};
    GEN_OK(store_create(room->path, &first, &room->err), room->err);
    GEN_OK(store_put_facts(first, &fact, 1, &room->err), room->err);
    assert_true(is_locked(room->path));
    assert_int_equal(store_open(room->path, &second, &room->err), PL_STORE);
    assert_non_null(strstr(room->err.what, "in use by another run"));
    assert_true(is_locked(room->path));
    struct pl_err err = {0};
    GEN_OK(store_close(first, &err), err);
    GEN_OK(store_open(room->path, &second, &err), err);
    GEN_OK(store_close(second, &err), err);
}

/* The lock of a run that was killed is gone with it, and a run in another process keeps this one out. */
static void test_a_run_in_another_process(void **state)
{
    struct room *room = *state;
    study_make(room);
    int ready[2], go[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = gen_fork();
    if (child == 0) {
        struct store *store = NULL;
        struct pl_err err = {0};
        char byte = store_open(room->path, &store, &err) == PL_OK ? 'y' : 'n';
        close(go[1]);
        bool told = write(ready[1], &byte, 1) == 1;
        _exit(told && read(go[0], &byte, 1) == 0 ? 0 : 1); /* without closing the store */
    }
    char byte = 'n';
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    struct store *store = NULL;
    assert_int_equal(store_open(room->path, &store, &room->err), PL_STORE);
    assert_non_null(strstr(room->err.what, "in use by another run"));
    close(go[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    struct pl_err err = {0};
    GEN_OK(store_open(room->path, &store, &err), err);
    GEN_OK(store_close(store, &err), err);
    close(ready[0]);
    close(ready[1]);
    close(go[0]);
}

static void test_another_writer(void **state)
{
    struct room *room = *state;
    study_make(room);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    struct store *store = NULL;
    assert_int_equal(store_open(room->path, &store, &room->err), PL_STORE);
    assert_non_null(strstr(room->err.what, "another program is using the file"));
    sqlite3_close(db);
}

/* Runs `act` as a user without rights; true when it gave true. */
static bool as_nobody(struct room *room, bool (*act)(struct room *))
{
    pid_t child = gen_fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        _exit(act(room) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 2);
    return WEXITSTATUS(status) == 0;
}

static bool loads(struct room *room)
{
    struct study *study = NULL;
    struct pl_err err = {0};
    bool good = store_load(room->path, room->arena, &study, &err) == PL_OK && study->trial_count == 1;
    store_release_study(good ? study : NULL);
    return good;
}

static bool told_to_copy(struct room *room)
{
    struct study *study = NULL;
    struct pl_err err = {0};
    return store_load(room->path, room->arena, &study, &err) == PL_STORE && strstr(err.hint, "-wal") != NULL;
}

static bool open_is_refused(struct room *room)
{
    struct store *store = NULL;
    struct pl_err err = {0};
    return store_open(room->path, &store, &err) == PL_STORE && err.hint[0] != '\0';
}

static bool create_is_refused(struct room *room)
{
    struct store *store = NULL;
    struct pl_err err = {0};
    return store_create(pl_format(room->arena, "%s/y.study", room->folder), &store, &err) == PL_STORE &&
           strstr(err.what, "y.study") != NULL && strstr(err.hint, "-o") != NULL;
}

static void test_a_folder_that_cannot_be_written(void **state)
{
    struct room *room = *state;
    study_make(room);
    assert_int_equal(chmod(room->folder, 0555), 0);
    assert_int_equal(chmod(room->path, 0444), 0);
    assert_true(as_nobody(room, loads));
    assert_true(as_nobody(room, open_is_refused));
    assert_true(as_nobody(room, create_is_refused));
    assert_int_equal(chmod(room->path, 0666), 0);
    assert_true(as_nobody(room, open_is_refused)); /* the file may be written, the log beside it may not be made */
    assert_true(loads(room));
}

/* A copy of a study whose run was killed, without the log and with it, where no log can be opened. */
static void test_a_log_in_a_folder_that_cannot_be_written(void **state)
{
    struct room *room = *state;
    study_make(room);
    sql(room->path, "PRAGMA journal_mode = wal");
    assert_int_equal(chmod(room->path, 0444), 0);
    assert_int_equal(chmod(room->folder, 0555), 0);
    assert_true(as_nobody(room, loads)); /* nothing in the log: the file alone is the study */
    assert_int_equal(chmod(room->folder, 0755), 0);
    char *log = pl_format(room->arena, "%s-wal", room->path);
    char bytes[5000] = {0};
    file_write(log, bytes, sizeof bytes);
    assert_int_equal(chmod(log, 0444), 0);
    assert_int_equal(chmod(room->folder, 0555), 0);
    assert_true(as_nobody(room, told_to_copy));
}

static void test_names_that_sqlite_takes_for_something_else(void **state)
{
    struct room *room = *state;
    char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(room->folder), 0);
    static const char *const names[] = {":memory:", "file:x?mode=memory", "a b#c%41.study", "-o"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct store *store = NULL;
        struct pl_err err = {0};
        GEN_OK(store_create(names[i], &store, &err), err);
        GEN_OK(store_close(store, &err), err);
        struct stat status;
        assert_int_equal(stat(names[i], &status), 0);
        assert_true(status.st_size > 4096);
        GEN_OK(store_open(names[i], &store, &err), err);
        GEN_OK(store_close(store, &err), err);
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(chdir(old), 0);
    free(old);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_that_is_there_is_not_overwritten),
        TEST(test_what_is_not_a_study),
        TEST(test_other_versions),
        TEST(test_another_schema),
        TEST(test_additions_are_welcome),
        TEST(test_truncated_at_every_page),
        TEST(test_two_runs_on_one_file),
        TEST(test_a_run_in_another_process),
        TEST(test_another_writer),
        TEST(test_a_folder_that_cannot_be_written),
        TEST(test_a_log_in_a_folder_that_cannot_be_written),
        TEST(test_names_that_sqlite_takes_for_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
