/* Making a study file, and opening one to go on with it.
 *
 * Two runs must not write into one file in turns. SQLite's own locks last for a transaction only, so a run holds a flock on
 * the file as long as it has the store open. The kernel gives up a process's POSIX locks on a file, which SQLite relies on,
 * as soon as the process closes any descriptor of that file: so the descriptor with the flock is closed after SQLite's, and
 * a file that this process has open already is refused before it is opened once more. */
#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ban.h"

enum {
    BUSY_TIMEOUT_MS = 5000, /* a reader of a finished study holds it for less */
    BLOB_MAX_BYTES = 64 * 1024 * 1024
};

static struct store *open_stores; /* of the conducting thread */

char *store_sqlite_path(struct pl_arena *arena, const char *path)
{
    return pl_format(arena, "%s%s", path[0] == '/' ? "" : "./", path);
}

static enum pl_code fail_in_use(const char *path, struct pl_err *err)
{
    pl_err_at(err, PL_STORE, path, 0, 0, "the study is in use by another run");
    pl_err_hint(err, "Wait until that run has ended, or name another file with -o.");
    return err->code;
}

static struct store *store_alloc(const char *path)
{
    struct pl_arena *arena = pl_arena_new();
    struct store *store = pl_alloc(arena, 1, sizeof *store);
    store->arena = arena;
    store->path = pl_strdup(arena, path);
    store->lock_fd = -1;
    for (int i = 0; i < SLICE_HISTOGRAMS; i++)
        pl_buf_init(&store->blobs[i], BLOB_MAX_BYTES);
    store->next = open_stores;
    open_stores = store;
    return store;
}

static void store_unlist(struct store *store)
{
    for (struct store **link = &open_stores; *link != NULL; link = &(*link)->next) {
        if (*link == store) {
            *link = store->next;
            return;
        }
    }
}

void store_free(struct store *store)
{
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(store->statements[i]);
    int rc = sqlite3_close(store->db);
    assert(rc == SQLITE_OK);
    (void)rc;
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    for (int i = 0; i < SLICE_HISTOGRAMS; i++)
        pl_buf_release(&store->blobs[i]);
    store_unlist(store);
    pl_arena_free(store->arena);
}

/* Takes the lock that keeps other runs out, on the descriptor that is open already. */
static enum pl_code lock_take(struct store *store, struct pl_err *err)
{
    struct stat status;
    if (fstat(store->lock_fd, &status) != 0)
        return pl_err_os(err, PL_STORE, errno, "cannot look at %s", store->path);
    store->device = status.st_dev;
    store->inode = status.st_ino;
    if (!S_ISREG(status.st_mode))
        return pl_err_at(err, PL_STORE, store->path, 0, 0, "not a study: not a regular file");
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return PL_OK;
    if (errno == EWOULDBLOCK)
        return fail_in_use(store->path, err);
    return pl_err_os(err, PL_STORE, errno, "cannot lock %s", store->path);
}

static int sqlite_open(struct store *store)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(store_sqlite_path(store->arena, store->path), &store->db, flags, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return SQLITE_OK;
}

enum pl_code store_journal_mode(struct store *store, const char *mode, bool *ret_busy, struct pl_err *err)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = pl_format(store->arena, "PRAGMA journal_mode = %s", mode);
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (ret_busy != NULL)
        *ret_busy = (rc & 0xff) == SQLITE_BUSY;
    enum pl_code code = PL_OK;
    if (rc != SQLITE_ROW) {
        code = store_fail(store->db, rc, store->path, "cannot change the journal of the study", err);
    } else {
        const char *got = (const char *)sqlite3_column_text(stmt, 0);
        if (got == NULL || strcmp(got, mode) != 0) {
            code = pl_err_at(err, PL_STORE, store->path, 0, 0, "the file system does not bear a %s journal", mode);
            pl_err_hint(err,
                        "Put the study on a local disk: a write-ahead log needs memory that is shared through a file.");
        }
    }
    sqlite3_finalize(stmt);
    return code;
}

static enum pl_code schema_write(struct store *store, struct pl_err *err)
{
    static const char doing[] = "cannot write the schema of the study";
    char *head = pl_format(store->arena, "BEGIN IMMEDIATE; PRAGMA application_id = %d; PRAGMA user_version = %d",
                           STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
    enum pl_code code = store_run(store, head, doing, err);
    for (size_t i = 0; code == PL_OK && i < store_schema_count; i++)
        code = store_run(store, store_schema[i].sql, doing, err);
    if (code == PL_OK)
        code = store_run(store, "COMMIT", doing, err);
    return code;
}

/* From here on each commit is on the disk when it returns: FULL syncs the log at each one. */
static enum pl_code writing_start(struct store *store, struct pl_err *err)
{
    enum pl_code code = store_journal_mode(store, "wal", NULL, err);
    if (code == PL_OK)
        code = store_run(store, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", "cannot set up the study", err);
    return code;
}

/* A file that could not be finished is of no use to anybody. */
static void husk_remove(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    struct pl_arena *arena = pl_arena_new();
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        unlink(pl_format(arena, "%s%s", path, endings[i]));
    pl_arena_free(arena);
}

static enum pl_code create_fill(struct store *store, struct pl_err *err)
{
    enum pl_code code = lock_take(store, err);
    if (code != PL_OK)
        return code;
    int rc = sqlite_open(store);
    if (rc != SQLITE_OK)
        return store_fail(store->db, rc, store->path, "cannot create the study", err);
    code = schema_write(store, err);
    if (code == PL_OK)
        code = writing_start(store, err);
    return code;
}

enum pl_code store_create(const char *path, struct store **ret_store, struct pl_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        pl_err_at(err, PL_USAGE, path, 0, 0, "the file exists already");
        pl_err_hint(err, "Go on with it with --resume, or name another file with -o.");
        return err->code;
    }
    if (fd < 0) {
        pl_err_os(err, PL_STORE, errno, "cannot create the study %s", path);
        pl_err_hint(err, "Name a file with -o in a folder that is there and that this user may write.");
        return err->code;
    }
    struct store *store = store_alloc(path);
    store->lock_fd = fd;
    enum pl_code code = create_fill(store, err);
    if (code != PL_OK) {
        store_free(store);
        husk_remove(path);
        return code;
    }
    *ret_store = store;
    return PL_OK;
}

static enum pl_code open_not_twice(const char *path, struct pl_err *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        pl_err_os(err, PL_STORE, errno, "cannot open the study %s", path);
        pl_err_hint(err, "Start it without --resume.");
        return err->code;
    }
    for (const struct store *other = open_stores; other != NULL; other = other->next) {
        if (other->device == status.st_dev && other->inode == status.st_ino)
            return fail_in_use(path, err);
    }
    return PL_OK;
}

/* That nothing else writes, and that we may: the first write must not fail after hours of measuring. */
static enum pl_code open_probe(struct store *store, struct pl_err *err)
{
    static const char doing[] = "cannot write into the study";
    enum pl_code code = store_run(store, "BEGIN IMMEDIATE", doing, err);
    if (code == PL_OK)
        code = store_run(store, "ROLLBACK", doing, err);
    return code;
}

static enum pl_code open_check(struct store *store, struct pl_err *err)
{
    enum pl_code code = lock_take(store, err);
    if (code != PL_OK)
        return code;
    int rc = sqlite_open(store);
    if (rc != SQLITE_OK)
        return store_fail(store->db, rc, store->path, "cannot open the study", err);
    int version = 0;
    code = store_schema_check(store->db, store->path, &version, &rc, err);
    if (code == PL_OK)
        code = writing_start(store, err);
    if (code == PL_OK)
        code = open_probe(store, err);
    if (code == PL_OK && version < STORE_SCHEMA_VERSION)
        code = store_migrate(store, version, err);
    return code;
}

enum pl_code store_open(const char *path, struct store **ret_store, struct pl_err *err)
{
    enum pl_code code = open_not_twice(path, err);
    if (code != PL_OK)
        return code;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        pl_err_os(err, PL_STORE, errno, "cannot open the study %s for writing", path);
        pl_err_hint(err, "Give this user write permission for the file and its folder, or start a new study with -o.");
        return err->code;
    }
    struct store *store = store_alloc(path);
    store->lock_fd = fd;
    code = open_check(store, err);
    if (code != PL_OK) {
        store_free(store);
        return code;
    }
    *ret_store = store;
    return PL_OK;
}
