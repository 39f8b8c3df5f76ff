/* Leaving one file behind. */
#include "store/store_int.h"

#include "base/ban.h"

/* Moves the log into the file. SQLite waits for readers as long as for anybody (open.c); a reader that stays longer leaves
 * the log beside the file, where nothing is lost but where a copy of the file alone would be incomplete. */
static enum pl_code close_checkpoint(struct store *store, struct pl_err *err)
{
    static const char doing[] = "cannot move the log of the study into the file";
    int rc = sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if ((rc & 0xff) == SQLITE_BUSY) {
        pl_err_at(err, PL_STORE, store->path, 0, 0, "%s: another program is reading it", doing);
        pl_err_hint(err, "Nothing is lost: keep the -wal file beside it together with the file.");
        return err->code;
    }
    if (rc != SQLITE_OK)
        return store_fail(store->db, rc, store->path, doing, err);
    /* A plain file can be read where no log can be made: on a read-only disk, by another user. */
    bool busy = false;
    struct pl_err own = {0};
    sqlite3_busy_timeout(store->db, 0);
    if (store_journal_mode(store, "delete", &busy, &own) != PL_OK && !busy) {
        if (err->code == PL_OK)
            *err = own;
        return own.code;
    }
    return PL_OK;
}

enum pl_code store_close(struct store *store, struct pl_err *err)
{
    if (store == NULL)
        return PL_OK;
    store_trial_abandon(store);
    struct pl_err own = {0};
    enum pl_code code = close_checkpoint(store, &own);
    if (code != PL_OK && err->code == PL_OK)
        *err = own;
    store_free(store);
    return code;
}
