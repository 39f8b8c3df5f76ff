/* Removes what dead processes leave behind: shared memory, control groups, directory trees. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/cgroup_int.h"
#include "service/guard_int.h"
#include "service/postgres_int.h"

#include "base/ban.h"

enum { TREE_DEPTH_MAX = 64, REMOVE_TRIES = 100 };

/* Absolute, and the last part is one that only Plimsoll gives. */
static bool guard_is_ours(const char *path)
{
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash != NULL && strncmp(slash + 1, "plimsoll-", strlen("plimsoll-")) == 0 &&
           strstr(path, "/../") == NULL;
}

/* Empties the directory behind fd, which it closes. */
static void guard_empty_directory(int fd, dev_t device, int depth)
{
    struct stat status;
    DIR *directory = NULL;
    if (depth < TREE_DEPTH_MAX && fstat(fd, &status) == 0 && status.st_dev == device)
        directory = fdopendir(fd);
    if (directory == NULL) {
        close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0 || (errno != EISDIR && errno != EPERM))
            continue;
        int child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child < 0)
            continue;
        guard_empty_directory(child, device, depth + 1);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(directory);
}

bool guard_remove_directory(const char *path)
{
    if (!guard_is_ours(path))
        return false;
    /* a second pass finds what a readdir that ran beside the removal passed over */
    for (int attempt = 0; attempt < 3; attempt++) {
        struct stat status;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno == ENOENT;
        if (fstat(fd, &status) == 0)
            guard_empty_directory(fd, status.st_dev, 0);
        else
            close(fd);
        if (rmdir(path) == 0 || errno == ENOENT)
            return true;
    }
    return false;
}

/* The kernel lets go of a group a moment after its last process. */
static bool guard_remove_cgroup(const char *path)
{
    if (!guard_is_ours(path))
        return false;
    for (int attempt = 0; attempt < REMOVE_TRIES; attempt++) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return true;
        if (errno != EBUSY)
            return false;
        pl_clock_sleep_until(pl_clock_ns() + 20 * PL_NS_PER_MS);
    }
    return false;
}

static bool guard_remove_one(const struct guard_item *item)
{
    switch (item->what) {
    case GUARD_GROUP:
        return true;
    case GUARD_DIRECTORY:
        return guard_remove_directory(item->path);
    case GUARD_CGROUP:
        return guard_remove_cgroup(item->path);
    case GUARD_SYSV:
        return postgres_remove_sysv(item->path);
    case GUARD_DSM:
        return postgres_remove_dsm(item->path);
    case GUARD_CONTROLLERS:
        cgroup_take_back(item->path, item->pgid);
        return true;
    }
    return false;
}

bool guard_remove_leftovers(const struct guard_item *items, size_t count)
{
    static const enum guard_what order[] = {GUARD_SYSV, GUARD_DSM, GUARD_CGROUP, GUARD_CONTROLLERS, GUARD_DIRECTORY};
    bool all = true;
    for (size_t step = 0; step < sizeof order / sizeof *order; step++)
        for (size_t i = 0; i < count; i++)
            if (items[i].what == order[step])
                all &= guard_remove_one(&items[i]);
    return all;
}
