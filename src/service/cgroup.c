/* Finds, makes and fills control groups. */
#include "service/cgroup_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "service/mounts.h"

#include "base/ban.h"

enum { PROC_TEXT_BYTES = 256 * 1024, NAME_TRIES = 100 };

/* The path of the tool in one hierarchy: the line "ID:CONTROLLERS:PATH" whose list has the controller ("" is v2). */
static bool cgroup_self_path(const char *self, const char *controller, char *ret_path, size_t size)
{
    for (const char *line = self; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *path = list != NULL ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (path != NULL) {
            char controllers[256];
            int length = (int)(path - list - 1);
            snprintf(controllers, sizeof controllers, "%.*s", length, list + 1);
            bool match = *controller == '\0' ? length == 0 : service_mount_has_option(controllers, controller);
            if (match && (size_t)(end - path - 1) < size) {
                snprintf(ret_path, size, "%.*s", (int)(end - path - 1), path + 1);
                return true;
            }
        }
        line = *end == '\n' ? end + 1 : end;
    }
    return false;
}

/* Where the tool's group is below the mount point. In a container the mounted root is itself a group: the part of the path
 * that it covers is cut off; a path outside of it (a namespace shows "/..") leaves the mount point. */
static void cgroup_parent(const struct service_mount *mount, const char *self_path, char *ret_parent, size_t size)
{
    const char *below = self_path;
    size_t root = strlen(mount->root);
    if (strcmp(mount->root, "/") != 0) {
        bool inside = strncmp(self_path, mount->root, root) == 0 && (self_path[root] == '/' || self_path[root] == '\0');
        below = inside ? self_path + root : "";
    }
    if (strstr(below, "/..") != NULL || strcmp(below, "/") == 0)
        below = "";
    int needed = snprintf(ret_parent, size, "%s%s", mount->point, below);
    if (needed < 0 || (size_t)needed >= size)
        ret_parent[0] = '\0';
}

void cgroup_find_parents(const char *mountinfo, const char *self, struct cgroup_parents *ret_parents)
{
    struct service_mount mount;
    char path[256];
    *ret_parents = (struct cgroup_parents){0};
    while (service_mount_next(&mountinfo, &mount)) {
        bool v1 = strcmp(mount.type, "cgroup") == 0;
        if (v1 && service_mount_has_option(mount.super_options, "cpuacct") &&
            cgroup_self_path(self, "cpuacct", path, sizeof path))
            cgroup_parent(&mount, path, ret_parents->v1_cpuacct, sizeof ret_parents->v1_cpuacct);
        if (v1 && service_mount_has_option(mount.super_options, "memory") &&
            cgroup_self_path(self, "memory", path, sizeof path))
            cgroup_parent(&mount, path, ret_parents->v1_memory, sizeof ret_parents->v1_memory);
        if (strcmp(mount.type, "cgroup2") == 0 && cgroup_self_path(self, "", path, sizeof path))
            cgroup_parent(&mount, path, ret_parents->v2, sizeof ret_parents->v2);
    }
}

void cgroup_read_parents(struct pl_arena *arena, struct cgroup_parents *ret_parents)
{
    char *mountinfo = pl_alloc(arena, PROC_TEXT_BYTES, 1), *self = pl_alloc(arena, PROC_TEXT_BYTES, 1);
    if (pl_file_read_small("/proc/self/mountinfo", mountinfo, PROC_TEXT_BYTES) < 0)
        mountinfo[0] = '\0';
    if (pl_file_read_small("/proc/self/cgroup", self, PROC_TEXT_BYTES) < 0)
        self[0] = '\0';
    cgroup_find_parents(mountinfo, self, ret_parents);
}

static void cgroup_add_why(struct cgroup *cgroup, struct pl_arena *arena, const char *reason)
{
    cgroup->why = cgroup->why[0] == '\0' ? reason : pl_format(arena, "%s; %s", cgroup->why, reason);
}

static void cgroup_name_layout(struct cgroup *cgroup)
{
    bool v1 = cgroup->v1_cpuacct[0] != '\0' || cgroup->v1_memory[0] != '\0', v2 = cgroup->v2[0] != '\0';
    cgroup->layout = v1 && v2 ? "hybrid" : v1 ? "v1" : v2 ? "v2" : "none";
}

static void cgroup_make_one(struct cgroup *cgroup, const char *parent, const char *name, struct pl_arena *arena,
                            char *ret_path)
{
    enum { PATH_BYTES = sizeof cgroup->v2 };
    if (parent[0] == '\0')
        return;
    for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
        char suffix[16] = "";
        if (attempt > 0)
            snprintf(suffix, sizeof suffix, "-%d", attempt + 1);
        int needed = snprintf(ret_path, PATH_BYTES, "%s/plimsoll-%d-%s%s", parent, (int)getpid(), name, suffix);
        if (needed < 0 || needed >= PATH_BYTES) {
            cgroup_add_why(cgroup, arena, pl_format(arena, "the path of a control group below %s is too long", parent));
            break;
        }
        if (mkdir(ret_path, 0755) == 0)
            return;
        if (errno != EEXIST) {
            cgroup_add_why(cgroup, arena, pl_format(arena, "no control group below %s: %s", parent, strerror(errno)));
            break;
        }
    }
    ret_path[0] = '\0';
}

static bool cgroup_write(const char *directory, const char *file, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length;
    do
        length = write(fd, text, strlen(text));
    while (length < 0 && errno == EINTR);
    int os_errno = errno;
    close(fd);
    errno = os_errno;
    return length >= 0;
}

/* The word in a blank-separated list of controllers. */
static bool cgroup_offers(const char *parent, const char *controller)
{
    char path[400], text[1024];
    snprintf(path, sizeof path, "%s/cgroup.controllers", parent);
    if (pl_file_read_small(path, text, sizeof text) < 0)
        return false;
    for (char *p = text; *p != '\0'; p++)
        if (*p == ' ' || *p == '\n')
            *p = ',';
    return service_mount_has_option(text, controller);
}

static const struct {
    const char *controller, *enable, *disable, *file;
} cgroup_wanted[] = {{"memory", "+memory", "-memory", "memory.current"},
                     {"io", "+io", "-io", "io.stat"},
                     {"cpu", "+cpu", "-cpu", "cpu.max"}};

enum { CGROUP_WANTED = sizeof cgroup_wanted / sizeof *cgroup_wanted };

/* What this process has made its own group pass on, bit by bit of cgroup_wanted: a second service finds it enabled, and
 * must know as well that it is to be taken back. Only the conducting thread makes and removes groups. */
static int cgroup_passed_on;

/* A v2 group has memory.* and io.* only when its parent passes these controllers down, which the kernel refuses to a parent
 * that has processes of its own and is not the root. cpu.stat is there in any case. */
static void cgroup_enable(struct cgroup *cgroup, const char *parent, struct pl_arena *arena)
{
    for (size_t i = 0; i < CGROUP_WANTED; i++) {
        char path[400];
        const char *controller = cgroup_wanted[i].controller;
        snprintf(path, sizeof path, "%s/%s", cgroup->v2, cgroup_wanted[i].file);
        bool had = access(path, F_OK) == 0;
        if (had && (cgroup_passed_on >> i & 1) == 0)
            continue;
        if (!had && !cgroup_offers(parent, controller)) {
            cgroup_add_why(cgroup, arena, pl_format(arena, "%s does not offer the %s controller", parent, controller));
        } else if (!had && !cgroup_write(parent, "cgroup.subtree_control", cgroup_wanted[i].enable)) {
            cgroup_add_why(
                cgroup, arena,
                pl_format(arena, "%s cannot pass on the %s controller: %s", parent, controller, strerror(errno)));
        } else {
            cgroup_passed_on |= 1 << i;
            cgroup_add_why(
                cgroup, arena,
                pl_format(arena, "%s passes on the %s controller as long as the study runs", parent, controller));
        }
    }
    cgroup->passed_on = cgroup_passed_on;
}

/* Whether a group of ours, of this or another run, is still below the parent. */
static bool cgroup_is_used(const char *parent)
{
    DIR *directory = opendir(parent);
    bool found = false;
    if (directory == NULL)
        return false;
    for (const struct dirent *entry; !found && (entry = readdir(directory)) != NULL;)
        found = strncmp(entry->d_name, "plimsoll-", strlen("plimsoll-")) == 0;
    closedir(directory);
    return found;
}

void cgroup_take_back(const char *parent, int passed_on)
{
    if (cgroup_is_used(parent))
        return;
    for (size_t i = 0; i < CGROUP_WANTED; i++)
        if ((passed_on >> i & 1) != 0 && cgroup_write(parent, "cgroup.subtree_control", cgroup_wanted[i].disable))
            cgroup_passed_on &= ~(1 << i);
}

void cgroup_make(const struct cgroup_parents *parents, const char *name, struct pl_arena *arena, struct cgroup *ret_cgroup)
{
    *ret_cgroup = (struct cgroup){.layout = "none", .why = ""};
    if (parents->v1_cpuacct[0] == '\0' && parents->v1_memory[0] == '\0' && parents->v2[0] == '\0')
        cgroup_add_why(ret_cgroup, arena, "no control groups are mounted");
    cgroup_make_one(ret_cgroup, parents->v1_cpuacct, name, arena, ret_cgroup->v1_cpuacct);
    cgroup_make_one(ret_cgroup, parents->v1_memory, name, arena, ret_cgroup->v1_memory);
    cgroup_make_one(ret_cgroup, parents->v2, name, arena, ret_cgroup->v2);
    if (ret_cgroup->v2[0] != '\0' && parents->v1_memory[0] == '\0')
        cgroup_enable(ret_cgroup, parents->v2, arena);
    cgroup_name_layout(ret_cgroup);
}

static void cgroup_join_one(struct cgroup *cgroup, pid_t pid, struct pl_arena *arena, char *path)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    if (path[0] == '\0' || cgroup_write(path, "cgroup.procs", text))
        return;
    cgroup_add_why(cgroup, arena, pl_format(arena, "no process may enter %s: %s", path, strerror(errno)));
    rmdir(path);
    path[0] = '\0';
}

void cgroup_join(struct cgroup *cgroup, pid_t pid, struct pl_arena *arena)
{
    cgroup_join_one(cgroup, pid, arena, cgroup->v1_cpuacct);
    cgroup_join_one(cgroup, pid, arena, cgroup->v1_memory);
    cgroup_join_one(cgroup, pid, arena, cgroup->v2);
    cgroup_name_layout(cgroup);
}

size_t cgroup_paths(const struct cgroup *cgroup, const char *ret_paths[3])
{
    const char *all[] = {cgroup->v1_cpuacct, cgroup->v1_memory, cgroup->v2};
    size_t count = 0;
    for (size_t i = 0; i < 3; i++)
        if (all[i][0] != '\0')
            ret_paths[count++] = all[i];
    return count;
}
