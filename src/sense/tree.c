/* The processes below one process, and their CPU, without a control group.
 *
 * /proc is scanned, not task/TID/children: one `stat` of a process tells parent, threads and the CPU of its reaped
 * children, which is needed anyway. A process that was found outside is looked at again only every eighth scan (and at full
 * scans), so the cost follows the size of the tree and not of the host; should its id be reused inside meanwhile, it is
 * found a few ticks late. A process that was once inside stays inside when its parent dies.
 *
 * CPU is the sum over living processes of their own clock and of what they got from children they waited for. A process
 * that vanished without anybody waiting for it (its parent ignores SIGCHLD, or died) is noticed as CPU that left the sum
 * and did not come back in a parent; it is kept as `lost_ns`, up to what it had used at the scan before. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "sense/sense_int.h"

#include "base/ban.h"

struct process {
    pid_t pid, ppid;
    bool inside, gone; /* gone: a zombie, whose CPU counts and nothing else */
    int64_t start_ticks, own_ns, reaped_ns, threads;
};

struct process_list {
    struct process *items; /* by pid */
    size_t count, capacity;
};

struct sense_tree {
    pid_t root;
    int64_t root_start_ticks;
    struct process_list now, before;
    uint64_t scans;
    int64_t lost_ns, cpu_ns, tick_ns;
    struct sense_pids pids;
};

enum { TREE_TURNS = 8 };

void sense_pids_push(struct sense_pids *pids, pid_t pid)
{
    if (pids->count == pids->capacity) {
        size_t capacity = pids->capacity > 0 ? pids->capacity * 2 : 64;
        pid_t *grown = pl_new(capacity, sizeof *grown);
        if (pids->count > 0)
            memcpy(grown, pids->pids, pids->count * sizeof *grown);
        pl_free(pids->pids);
        pids->pids = grown;
        pids->capacity = capacity;
    }
    pids->pids[pids->count++] = pid;
}

void sense_pids_release(struct sense_pids *pids)
{
    pl_free(pids->pids);
    *pids = (struct sense_pids){0};
}

static void process_list_push(struct process_list *list, const struct process *process)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? list->capacity * 2 : 256;
        struct process *grown = pl_new(capacity, sizeof *grown);
        if (list->count > 0)
            memcpy(grown, list->items, list->count * sizeof *grown);
        pl_free(list->items);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *process;
}

static int process_compare(const void *a, const void *b)
{
    pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;
    return (left > right) - (left < right);
}

static struct process *process_list_find(const struct process_list *list, pid_t pid)
{
    struct process key = {.pid = pid};
    return list->count > 0 ? bsearch(&key, list->items, list->count, sizeof key, process_compare) : NULL;
}

static bool process_stat(pid_t pid, struct sense_stat *ret_stat)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    long length = pl_file_read_small(path, text, sizeof text);
    return length > 0 && sense_parse_stat(text, (size_t)length, ret_stat);
}

static bool process_look(const struct sense_tree *tree, pid_t pid, struct process *ret_process)
{
    struct sense_stat stat;
    if (!process_stat(pid, &stat))
        return false;
    *ret_process = (struct process){.pid = pid,
                                    .ppid = stat.ppid,
                                    .gone = stat.state == 'Z' || stat.state == 'X',
                                    .start_ticks = stat.start_ticks,
                                    .own_ns = (stat.user + stat.kernel) * tree->tick_ns,
                                    .reaped_ns = (stat.reaped_user + stat.reaped_kernel) * tree->tick_ns,
                                    .threads = stat.threads};
    return true;
}

struct sense_tree *sense_tree_new(pid_t root)
{
    struct sense_stat stat;
    struct sense_tree_sums sums;
    if (root <= 0 || !process_stat(root, &stat))
        return NULL;
    struct sense_tree *tree = pl_new(1, sizeof *tree);
    tree->root = root;
    tree->root_start_ticks = stat.start_ticks;
    tree->tick_ns = INT64_C(1000000000) / sysconf(_SC_CLK_TCK);
    if (!sense_tree_scan(tree, true, &sums)) {
        sense_tree_free(tree);
        return NULL;
    }
    return tree;
}

void sense_tree_free(struct sense_tree *tree)
{
    if (tree == NULL)
        return;
    pl_free(tree->now.items);
    pl_free(tree->before.items);
    sense_pids_release(&tree->pids);
    pl_free(tree);
}

static pid_t pid_of_name(const char *name)
{
    pid_t pid = 0;
    for (; *name >= '0' && *name <= '9' && pid < 100000000; name++)
        pid = pid * 10 + (*name - '0');
    return *name == '\0' ? pid : 0;
}

/* Puts every process of the host into `now`; those known to be outside as they were. */
static bool tree_collect(struct sense_tree *tree, bool full)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return false;
    bool sorted = true;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        pid_t pid = pid_of_name(entry->d_name);
        if (pid == 0)
            continue;
        struct process process;
        const struct process *known = process_list_find(&tree->before, pid);
        bool skip = known != NULL && !known->inside && !full && ((uint64_t)pid + tree->scans) % TREE_TURNS != 0;
        if (skip)
            process = *known;
        else if (!process_look(tree, pid, &process))
            continue;
        else
            process.inside = (pid == tree->root && process.start_ticks == tree->root_start_ticks) ||
                             (known != NULL && known->inside && known->start_ticks == process.start_ticks);
        sorted = sorted && (tree->now.count == 0 || tree->now.items[tree->now.count - 1].pid < pid);
        process_list_push(&tree->now, &process);
    }
    closedir(proc);
    if (!sorted)
        qsort(tree->now.items, tree->now.count, sizeof *tree->now.items, process_compare);
    return true;
}

/* Children of what is inside are inside. One round is the rule, as parents mostly have the lower ids. */
static void tree_spread(struct sense_tree *tree)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < tree->now.count; i++) {
            struct process *process = &tree->now.items[i];
            if (process->inside)
                continue;
            const struct process *parent = process_list_find(&tree->now, process->ppid);
            if (parent != NULL && parent->inside)
                process->inside = changed = true;
        }
    }
}

/* What vanished since the last scan, less what parents got for it meanwhile. Both sides are rounded to ticks. */
static void tree_account_lost(struct sense_tree *tree)
{
    int64_t vanished_ns = 0, vanished = 0, reaped_ns = 0;
    for (size_t i = 0; i < tree->before.count; i++) {
        const struct process *old = &tree->before.items[i];
        if (!old->inside)
            continue;
        const struct process *still = process_list_find(&tree->now, old->pid);
        if (still != NULL && still->inside && still->start_ticks == old->start_ticks) {
            reaped_ns += still->reaped_ns - old->reaped_ns;
        } else {
            vanished_ns += old->own_ns + old->reaped_ns;
            vanished++;
        }
    }
    int64_t missing_ns = vanished_ns - reaped_ns;
    if (missing_ns > 2 * tree->tick_ns * (vanished + 1))
        tree->lost_ns += missing_ns;
}

bool sense_tree_scan(struct sense_tree *tree, bool full, struct sense_tree_sums *ret_sums)
{
    struct process_list swap = tree->before;
    tree->before = tree->now;
    tree->now = swap;
    tree->now.count = 0;
    tree->scans++;
    tree->pids.count = 0;
    if (!tree_collect(tree, full))
        return false;
    tree_spread(tree);
    int64_t cpu_ns = 0, threads = 0;
    for (size_t i = 0; i < tree->now.count; i++) {
        struct process *process = &tree->now.items[i];
        if (!process->inside)
            continue;
        int64_t clock_ns = sense_process_cpu_ns(process->pid);
        if (clock_ns >= process->own_ns)
            process->own_ns = clock_ns;
        cpu_ns += process->own_ns + process->reaped_ns;
        if (process->gone)
            continue;
        threads += process->threads;
        sense_pids_push(&tree->pids, process->pid);
    }
    tree_account_lost(tree);
    if (cpu_ns + tree->lost_ns > tree->cpu_ns)
        tree->cpu_ns = cpu_ns + tree->lost_ns;
    *ret_sums = (struct sense_tree_sums){.cpu_ns = tree->cpu_ns, .threads = threads, .pids = tree->pids};
    return tree->pids.count > 0;
}
