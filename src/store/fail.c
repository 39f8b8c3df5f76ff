/* SQLite's result codes as errors that a person can act on. */
#include "store/store_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

struct failure {
    int rc;             /* primary result code */
    const char *reason; /* NULL: what SQLite says */
    const char *hint;
};

static const struct failure failures[] = {
    {SQLITE_FULL, "the disk is full",
     "Free space on the file system of the study and go on with `plimsoll run --resume`: all finished trials are in the "
     "file."},
    {SQLITE_READONLY, "the file or its folder cannot be written",
     "Give this user write permission for the file and its folder, or name another file with -o."},
    {SQLITE_CANTOPEN, "the file, or the -wal and -shm files beside it, cannot be opened",
     "Check that the file is there and that this user may write in its folder."},
    {SQLITE_PERM, "permission denied", "Check the permissions of the file and its folder."},
    {SQLITE_AUTH, "permission denied", "Check the permissions of the file and its folder."},
    {SQLITE_NOTADB, "not a study: the file is not an SQLite database", "Name a file that `plimsoll run` has written."},
    {SQLITE_CORRUPT, "the file is damaged",
     "Use a copy from before, or save what is left with the command .recover of the sqlite3 shell."},
    {SQLITE_BUSY, "another program is using the file", "Close the other program (a sqlite3 shell?) and try again."},
    {SQLITE_LOCKED, "another program is using the file", "Close the other program (a sqlite3 shell?) and try again."},
    {SQLITE_PROTOCOL, "another program is using the file", "Close the other program (a sqlite3 shell?) and try again."},
    {SQLITE_IOERR, "input/output error",
     "Check the disk (dmesg says more), then go on with `plimsoll run --resume`: all finished trials are in the file."},
    {SQLITE_TOOBIG, "a value is too large", "A study holds no value of more than 64 MB."},
    {SQLITE_INTERRUPT, "the file is damaged: its pages lead in circles", "Use a copy from before."},
};

/* Which of SQLite's codes come with an errno of their own. */
static bool has_errno(int primary)
{
    return primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL || primary == SQLITE_READONLY;
}

enum pl_code store_fail(sqlite3 *db, int rc, const char *path, const char *doing, struct pl_err *err)
{
    if (err->code != PL_OK)
        return err->code;
    int primary = rc & 0xff, os_errno = db != NULL && has_errno(primary) ? sqlite3_system_errno(db) : 0;
    const char *reason = NULL, *hint = "";
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (failures[i].rc == primary) {
            reason = failures[i].reason;
            hint = failures[i].hint;
        }
    }
    if (reason == NULL)
        reason = db != NULL && primary != SQLITE_NOMEM ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    pl_err_at(err, PL_STORE, path, 0, 0, "%s: %s", doing, reason);
    if (os_errno == ENOSPC || os_errno == EDQUOT)
        hint = failures[0].hint;
    if (os_errno != 0) {
        size_t used = strlen(err->what);
        snprintf(err->what + used, sizeof err->what - used, " (%s)", strerror(os_errno));
        err->os_errno = os_errno;
    }
    if (hint[0] != '\0')
        pl_err_hint(err, "%s", hint);
    return err->code;
}
