/* A layer over SQLite's own file layer that counts what changes files, and at the n-th such call fails or kills the
 * process. */
#ifndef PL_TESTS_FAULT_VFS_H
#define PL_TESTS_FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum fault_action { FAULT_NONE, FAULT_FAIL_ONCE, FAULT_FAIL_ON, FAULT_EXIT };

static struct {
    sqlite3_vfs vfs, *real;
    int syncs;
    int calls; /* writes, syncs, truncates so far */
    int at;    /* the call to fail at, from 1 */
    enum fault_action action;
    int rc;           /* SQLITE_FULL or SQLITE_IOERR_WRITE */
    bool failed;      /* something was failed */
    bool failed_sync; /* it was a sync: what was written before is in the file all the same */
} fault;

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* right behind this struct */
};

static sqlite3_file *fault_real(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

static bool fault_now(bool sync)
{
    fault.calls++;
    bool now = fault.action == FAULT_FAIL_ON ? fault.calls >= fault.at : fault.calls == fault.at;
    if (!now || fault.action == FAULT_NONE)
        return false;
    if (fault.action == FAULT_EXIT)
        _exit(9);
    if (!fault.failed)
        fault.failed_sync = sync;
    fault.failed = true;
    return true;
}

static int fault_close(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xClose(fault_real(file));
}

static int fault_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    return fault_real(file)->pMethods->xRead(fault_real(file), bytes, count, offset);
}

/* Half of what was to be written gets there, as on a disk that is full. */
static int fault_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    sqlite3_file *real = fault_real(file);
    if (fault_now(false)) {
        real->pMethods->xWrite(real, bytes, count / 2, offset);
        return fault.rc;
    }
    return real->pMethods->xWrite(real, bytes, count, offset);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (fault_now(false))
        return fault.rc == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_TRUNCATE;
    return fault_real(file)->pMethods->xTruncate(fault_real(file), size);
}

/* The disk is not asked to sync: these tests end processes, not machines. */
static int fault_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    fault.syncs++;
    if (fault_now(true))
        return fault.rc == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_FSYNC;
    return SQLITE_OK;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return fault_real(file)->pMethods->xFileSize(fault_real(file), size);
}

static int fault_lock(sqlite3_file *file, int level)
{
    return fault_real(file)->pMethods->xLock(fault_real(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
    return fault_real(file)->pMethods->xUnlock(fault_real(file), level);
}

static int fault_check_lock(sqlite3_file *file, int *result)
{
    return fault_real(file)->pMethods->xCheckReservedLock(fault_real(file), result);
}

static int fault_control(sqlite3_file *file, int op, void *arg)
{
    return fault_real(file)->pMethods->xFileControl(fault_real(file), op, arg);
}

static int fault_sector(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xSectorSize(fault_real(file));
}

static int fault_device(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xDeviceCharacteristics(fault_real(file));
}

static int fault_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory)
{
    return fault_real(file)->pMethods->xShmMap(fault_real(file), page, size, extend, memory);
}

static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return fault_real(file)->pMethods->xShmLock(fault_real(file), offset, count, flags);
}

static void fault_shm_barrier(sqlite3_file *file)
{
    fault_real(file)->pMethods->xShmBarrier(fault_real(file));
}

static int fault_shm_unmap(sqlite3_file *file, int remove)
{
    return fault_real(file)->pMethods->xShmUnmap(fault_real(file), remove);
}

static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_device,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    struct fault_file *own = (struct fault_file *)file;
    own->base.pMethods = NULL;
    own->real = (sqlite3_file *)(own + 1);
    int rc = fault.real->xOpen(fault.real, name, own->real, flags, ret_flags);
    if (own->real->pMethods != NULL)
        own->base.pMethods = &fault_methods;
    return rc;
}

/* From now on SQLite goes through the layer. */
static void fault_install(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "plimsoll-fault";
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = fault_open;
    sqlite3_vfs_register(&fault.vfs, 1);
}

static void fault_set(enum fault_action action, int at, int rc)
{
    fault.calls = fault.syncs = 0;
    fault.at = at;
    fault.action = action;
    fault.rc = rc;
    fault.failed = fault.failed_sync = false;
}

#endif
