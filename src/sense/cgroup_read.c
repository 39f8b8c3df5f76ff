/* Control groups of both versions behind one interface. Where a host has both (hybrid), v1 is asked first for CPU, which it
 * counts in ns, and for memory, which v2 does not have there. Groups below the service's own are included in every figure
 * but the lists of processes and threads. */
#include <stdio.h>
#include <string.h>

#include "sense/sense_int.h"

#include "base/ban.h"

static bool group_number(struct sense_pass *pass, const char *directory, const char *name, int64_t *ret_value)
{
    if (directory[0] == '\0')
        return false;
    long length = sense_pass_read(pass, directory, name);
    return length > 0 && sense_parse_number(pass->text, (size_t)length, ret_value);
}

static int64_t group_field(struct sense_pass *pass, const char *directory, const char *name, const char *key)
{
    int64_t value = -1;
    if (directory[0] == '\0')
        return -1;
    long length = sense_pass_read(pass, directory, name);
    if (length > 0)
        sense_parse_fields(pass->text, (size_t)length, &key, 1, &value);
    return value;
}

void sense_memory_from_v1(const char *stat, size_t length, struct sense_group_memory *ret_memory)
{
    /* v1: `rss` is anonymous memory and its swap cache, `cache` holds shmem; total_* count the groups below as well */
    static const char *const keys[] = {"total_rss", "total_cache", "total_shmem", "rss", "cache", "shmem"};
    int64_t values[6];
    sense_parse_fields(stat, length, keys, 6, values);
    const int64_t *own = values[0] >= 0 ? values : values + 3;
    ret_memory->anon = own[0];
    ret_memory->shmem = own[2];
    ret_memory->cache = own[1] >= 0 && own[2] >= 0 && own[1] >= own[2] ? own[1] - own[2] : -1;
}

void sense_memory_from_v2(const char *stat, size_t length, struct sense_group_memory *ret_memory)
{
    /* `kernel` is the sum since Linux 5.18; before, its larger parts are added */
    static const char *const keys[] = {"anon", "file", "shmem", "kernel", "kernel_stack", "pagetables", "slab", "percpu"};
    int64_t values[8];
    sense_parse_fields(stat, length, keys, 8, values);
    ret_memory->anon = values[0];
    ret_memory->shmem = values[2];
    ret_memory->cache = values[1] >= 0 && values[2] >= 0 && values[1] >= values[2] ? values[1] - values[2] : -1;
    ret_memory->kernel = values[3];
    if (values[3] >= 0)
        return;
    for (int i = 4; i < 8; i++)
        if (values[i] >= 0)
            ret_memory->kernel = (ret_memory->kernel < 0 ? 0 : ret_memory->kernel) + values[i];
}

bool sense_group_memory(const struct sense_group *group, struct sense_pass *pass, struct sense_group_memory *ret_memory)
{
    struct sense_group_memory memory = {-1, -1, -1, -1, -1};
    const char *directory = group->memory == SENSE_GROUP_V1 ? group->v1_memory : group->v2;
    if (group->memory == SENSE_GROUP_NONE)
        return false;
    long length = sense_pass_read(pass, directory, "memory.stat");
    if (length <= 0)
        return false;
    if (group->memory == SENSE_GROUP_V1) {
        sense_memory_from_v1(pass->text, (size_t)length, &memory);
        group_number(pass, directory, "memory.kmem.usage_in_bytes", &memory.kernel);
        group_number(pass, directory, "memory.usage_in_bytes", &memory.usage);
    } else {
        sense_memory_from_v2(pass->text, (size_t)length, &memory);
        group_number(pass, directory, "memory.current", &memory.usage);
    }
    *ret_memory = memory;
    return memory.anon >= 0;
}

int64_t sense_group_cpu_ns(const struct sense_group *group, struct sense_pass *pass)
{
    int64_t value = -1;
    if (group->cpu == SENSE_GROUP_V1)
        group_number(pass, group->v1_cpuacct, "cpuacct.usage", &value);
    else if (group->cpu == SENSE_GROUP_V2 && (value = group_field(pass, group->v2, "cpu.stat", "usage_usec")) >= 0)
        value = value > INT64_MAX / 1000 ? -1 : value * 1000;
    return value;
}

int64_t sense_group_throttled_ns(const struct sense_group *group, struct sense_pass *pass)
{
    int64_t value = group->throttled ? group_field(pass, group->v2, "cpu.stat", "throttled_usec") : -1;
    return value < 0 || value > INT64_MAX / 1000 ? -1 : value * 1000;
}

static const char *group_pids_directory(const struct sense_group *group)
{
    if (group->pids == SENSE_GROUP_V2)
        return group->v2;
    return group->v1_memory[0] != '\0' ? group->v1_memory : group->v1_cpuacct;
}

/* Into the front of pids, which grows as it has to. */
bool sense_group_pids(const struct sense_group *group, struct sense_pass *pass, struct sense_pids *pids)
{
    pids->count = 0;
    if (group->pids == SENSE_GROUP_NONE)
        return false;
    long length = sense_pass_read(pass, group_pids_directory(group), "cgroup.procs");
    if (length < 0)
        return false;
    size_t count = sense_parse_pids(pass->text, (size_t)length, NULL, 0);
    while (pids->capacity < count)
        sense_pids_push(pids, 0);
    pids->count = sense_parse_pids(pass->text, (size_t)length, pids->pids, pids->capacity);
    return true;
}

int64_t sense_group_threads(const struct sense_group *group, struct sense_pass *pass)
{
    if (group->pids == SENSE_GROUP_NONE)
        return -1;
    const char *name = group->pids == SENSE_GROUP_V2 ? "cgroup.threads" : "tasks";
    long length = sense_pass_read(pass, group_pids_directory(group), name);
    return length < 0 ? -1 : (int64_t)sense_parse_pids(pass->text, (size_t)length, NULL, 0);
}

void sense_group_probe(struct sense_group *group, struct sense_pass *pass)
{
    struct sense_group_memory memory;
    struct sense_pids pids = {0};
    const enum sense_group_kind kinds[] = {SENSE_GROUP_V1, SENSE_GROUP_V2};
    for (size_t i = 0; i < 2 && group->cpu == SENSE_GROUP_NONE; i++) {
        group->cpu = kinds[i];
        if (sense_group_cpu_ns(group, pass) < 0)
            group->cpu = SENSE_GROUP_NONE;
    }
    for (size_t i = 0; i < 2 && group->memory == SENSE_GROUP_NONE; i++) {
        group->memory = kinds[i];
        if ((kinds[i] == SENSE_GROUP_V1 ? group->v1_memory : group->v2)[0] == '\0' ||
            !sense_group_memory(group, pass, &memory))
            group->memory = SENSE_GROUP_NONE;
    }
    for (size_t i = 0; i < 2 && group->pids == SENSE_GROUP_NONE; i++) {
        group->pids = kinds[i];
        if (group_pids_directory(group)[0] == '\0' || !sense_group_pids(group, pass, &pids))
            group->pids = SENSE_GROUP_NONE;
    }
    sense_pids_release(&pids);
    if (group->v2[0] == '\0')
        return;
    group->io = sense_pass_read(pass, group->v2, "io.stat") >= 0;
    group->pressure = sense_pass_read(pass, group->v2, "cpu.pressure") > 0;
    group->throttled = group_field(pass, group->v2, "cpu.stat", "throttled_usec") >= 0;
}
