/* Shared memory of a PostgreSQL that can no longer clear it away itself.
 *
 * A server keeps a small System V segment as a lock (src/backend/port/sysv_shmem.c) and "dynamic shared memory" segments as
 * /dev/shm/PostgreSQL.N, listed in a control segment (src/backend/storage/ipc/dsm.c). After SIGKILL both stay until a
 * server starts in the same data directory, which for a throwaway one never happens. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "service/postgres_int.h"

#include "base/ban.h"

#define DSM_PREFIX "/dev/shm/PostgreSQL."

enum { DSM_MAGIC = (int)0x9a503d32, DSM_ITEMS_MAX = 100000, MAPS_BYTES = 4 * 1024 * 1024, PID_FILE_SHM_LINE = 7 };

/* struct dsm_control_header and dsm_control_item of dsm.c, the same since version 14. */
struct dsm_item {
    uint32_t handle, references;
    size_t first_page, page_count;
    void *unused;
    bool pinned;
};
struct dsm_header {
    uint32_t magic, item_count, item_max;
};

/* The id in the line "KEY ID" of postmaster.pid; -1 for none. Sets the owner of the file. */
static int postgres_find_sysv(const char *data_directory, uid_t *ret_owner)
{
    char path[256], text[1024];
    int64_t id;
    snprintf(path, sizeof path, "%s/postmaster.pid", data_directory);
    struct stat status;
    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) || pl_file_read_small(path, text, sizeof text) < 0)
        return -1;
    *ret_owner = status.st_uid;
    const char *line = text;
    for (int number = 1; number < PID_FILE_SHM_LINE && line != NULL; number++) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line == NULL)
        return -1;
    line += strspn(line, " ");
    line += strspn(line, "-0123456789");
    line += strspn(line, " ");
    size_t digits = strspn(line, "0123456789");
    if (digits == 0 || pl_num_i64(line, digits, &id) != PL_NUM_OK || id > INT32_MAX)
        return -1;
    return (int)id;
}

bool postgres_remove_sysv(const char *data_directory)
{
    struct shmid_ds segment;
    uid_t owner;
    int id = postgres_find_sysv(data_directory, &owner);
    if (id < 0)
        return true;
    if (shmctl(id, IPC_STAT, &segment) < 0)
        return errno == EINVAL || errno == EIDRM;
    return segment.shm_nattch == 0 && segment.shm_perm.uid == owner && shmctl(id, IPC_RMID, NULL) == 0;
}

void postgres_find_dsm(pid_t pid, char *ret_path, size_t size)
{
    char path[64];
    ret_path[0] = '\0';
    char *maps = pl_new(MAPS_BYTES, 1);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    if (pl_file_read_small(path, maps, MAPS_BYTES) > 0) {
        const char *found = strstr(maps, DSM_PREFIX);
        size_t length = found != NULL ? strcspn(found, " \n") : 0;
        if (length > 0 && length < size)
            snprintf(ret_path, size, "%.*s", (int)length, found);
    }
    pl_free(maps);
}

static bool postgres_is_dsm_path(const char *path)
{
    size_t prefix = strlen(DSM_PREFIX);
    return strncmp(path, DSM_PREFIX, prefix) == 0 && path[prefix] != '\0' &&
           path[prefix + strspn(path + prefix, "0123456789")] == '\0';
}

/* Unlinks the segments listed in the bytes of a control segment, as long as they belong to the same user. */
static void postgres_remove_listed(const char *bytes, size_t length, uid_t owner)
{
    struct dsm_header header;
    const size_t first = 16; /* the items are aligned to 8 */
    if (length < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != (uint32_t)DSM_MAGIC || header.item_count > DSM_ITEMS_MAX)
        return;
    for (size_t i = 0; i < header.item_count; i++) {
        struct dsm_item item;
        struct stat status;
        char path[64];
        if (first + (i + 1) * sizeof item > length)
            return;
        memcpy(&item, bytes + first + i * sizeof item, sizeof item);
        snprintf(path, sizeof path, DSM_PREFIX "%u", item.handle);
        /* references 0: the slot is free, its old handle may be another server's by now */
        if (item.references > 0 && lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner)
            unlink(path);
    }
}

bool postgres_remove_dsm(const char *control_path)
{
    struct stat status;
    if (!postgres_is_dsm_path(control_path))
        return false;
    if (lstat(control_path, &status) < 0)
        return errno == ENOENT;
    if (S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size < 64 * 1024 * 1024) {
        size_t size = (size_t)status.st_size + 1;
        char *bytes = pl_new(size, 1);
        long length = pl_file_read_small(control_path, bytes, size);
        if (length > 0)
            postgres_remove_listed(bytes, (size_t)length, status.st_uid);
        pl_free(bytes);
    }
    return unlink(control_path) == 0;
}
