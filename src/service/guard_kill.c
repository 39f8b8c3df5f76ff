/* Finds the processes of guarded items in /proc and kills them.
 *
 * A process group alone is not enough: each PostgreSQL backend calls setsid() and so leaves its server's group, and when
 * the server is dead its backends are children of process 1. So membership is the union of group or session, control group,
 * working directory, and descent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "service/guard_int.h"

#include "base/ban.h"

struct guard_process {
    pid_t pid, parent, group, session;
    int terminal;
    bool member;
};

struct guard_processes {
    struct guard_process *list;
    size_t count, capacity;
};

/* The next blank-separated integer; 0 when there is none. */
static int64_t guard_number(const char **at)
{
    int64_t value = 0;
    while (**at == ' ' || **at == '\n')
        (*at)++;
    size_t length = strcspn(*at, " \n");
    if (length == 0 || pl_num_i64(*at, length, &value) != PL_NUM_OK)
        value = 0;
    *at += length;
    return value;
}

/* Fields 3 to 7 of /proc/PID/stat (proc(5)); the name before them may hold anything, also ')'. False for a dead one. */
static bool guard_read_process(const char *name, struct guard_process *process)
{
    char path[64], text[1024];
    int64_t pid;
    if (pl_num_i64(name, strlen(name), &pid) != PL_NUM_OK || pid <= 1 || pid > INT32_MAX)
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (pl_file_read_small(path, text, sizeof text) <= 0)
        return false;
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return false;
    at += 3;
    *process = (struct guard_process){.pid = (pid_t)pid};
    process->parent = (pid_t)guard_number(&at);
    process->group = (pid_t)guard_number(&at);
    process->session = (pid_t)guard_number(&at);
    process->terminal = (int)guard_number(&at);
    return process->pid != getpid();
}

static void guard_processes_read(struct guard_processes *all)
{
    all->count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        struct guard_process process;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !guard_read_process(entry->d_name, &process))
            continue;
        if (all->count == all->capacity) {
            size_t capacity = all->capacity == 0 ? 256 : all->capacity * 2;
            struct guard_process *list = pl_new(capacity, sizeof *list);
            if (all->count > 0)
                memcpy(list, all->list, all->count * sizeof *list);
            pl_free(all->list);
            all->list = list;
            all->capacity = capacity;
        }
        all->list[all->count++] = process;
    }
    closedir(proc);
}

static bool guard_works_in(pid_t pid, const char *directory)
{
    char path[64], target[512];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    size_t prefix = strlen(directory);
    return strncmp(target, directory, prefix) == 0 && (target[prefix] == '\0' || target[prefix] == '/');
}

static void guard_mark_cgroup(struct guard_processes *all, const char *cgroup)
{
    enum { TEXT_BYTES = 256 * 1024 };
    char path[400];
    snprintf(path, sizeof path, "%s/cgroup.kill", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        /* kills atomically, also what forks right now; the list below then only tells who is still dying */
        ssize_t ignored = write(fd, "1", 1);
        (void)ignored;
        close(fd);
    }
    char *text = pl_new(TEXT_BYTES, 1);
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    if (pl_file_read_small(path, text, TEXT_BYTES) > 0)
        for (const char *at = text; *at != '\0';) {
            pid_t pid = (pid_t)guard_number(&at);
            for (size_t i = 0; i < all->count && pid > 0; i++)
                all->list[i].member |= all->list[i].pid == pid;
            while (*at == '\n' || *at == ' ')
                at++;
        }
    pl_free(text);
}

static void guard_mark(struct guard_processes *all, const struct guard_item *item)
{
    if (item->what == GUARD_CGROUP)
        guard_mark_cgroup(all, item->path);
    for (size_t i = 0; i < all->count; i++) {
        struct guard_process *process = &all->list[i];
        if (item->what == GUARD_GROUP)
            process->member |= process->group == item->pgid || process->session == item->pgid;
        else if (item->what == GUARD_DIRECTORY && process->terminal == 0)
            process->member |= guard_works_in(process->pid, item->path);
    }
}

/* Children of members are members; repeated until nothing changes, since the list is in no order of descent. */
static void guard_mark_descendants(struct guard_processes *all)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < all->count; i++)
            for (size_t j = 0; j < all->count && !all->list[i].member; j++)
                if (all->list[j].member && all->list[j].pid == all->list[i].parent) {
                    all->list[i].member = true;
                    changed = true;
                }
    }
}

/* One pass; returns the living members that it may signal. */
static int guard_kill_once(struct guard_processes *all, const struct guard_item *items, size_t count)
{
    int found = 0;
    guard_processes_read(all);
    for (size_t i = 0; i < count; i++)
        guard_mark(all, &items[i]);
    guard_mark_descendants(all);
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].member && kill(all->list[i].pid, SIGKILL) == 0)
            found++;
    return found;
}

int guard_kill(const struct guard_item *items, size_t count, int64_t limit_ns)
{
    struct guard_processes all = {0};
    int64_t deadline_ns = pl_clock_ns() + limit_ns, pause_ns = PL_NS_PER_MS;
    int left;
    while ((left = guard_kill_once(&all, items, count)) > 0 && pl_clock_ns() < deadline_ns) {
        pl_clock_sleep_until(pl_clock_ns() + pause_ns);
        if (pause_ns < 20 * PL_NS_PER_MS)
            pause_ns *= 2;
    }
    pl_free(all.list);
    return left;
}
