/* Sums over a list of processes. One that vanishes between the list and the reading is left out: that is no error. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sense/sense_int.h"

#include "base/ban.h"

static long process_read(struct sense_pass *pass, pid_t pid, const char *name)
{
    char directory[32];
    snprintf(directory, sizeof directory, "/proc/%d", (int)pid);
    return sense_pass_read(pass, directory, name);
}

int64_t sense_sum_rss(const struct sense_pids *pids, struct sense_pass *pass)
{
    int64_t page = sysconf(_SC_PAGESIZE), sum = 0;
    for (size_t i = 0; i < pids->count; i++) {
        int64_t resident, shared;
        long length = process_read(pass, pids->pids[i], "statm");
        if (length > 0 && sense_parse_statm(pass->text, (size_t)length, &resident, &shared))
            sum += resident * page;
    }
    return sum;
}

void sense_sum_memory(const struct sense_pids *pids, struct sense_pass *pass, struct sense_memory_sums *ret_sums)
{
    static const char *const keys[] = {"VmRSS", "RssAnon", "RssShmem", "VmPTE"};
    struct sense_memory_sums sums = {0};
    for (size_t i = 0; i < pids->count; i++) {
        int64_t values[4];
        long length = process_read(pass, pids->pids[i], "status");
        if (length <= 0 || sense_parse_fields(pass->text, (size_t)length, keys, 4, values) < 4)
            continue;
        sums.rss += values[0];
        sums.anon += values[1];
        sums.pte += values[3];
        if (values[2] > sums.shmem_max)
            sums.shmem_max = values[2];
    }
    *ret_sums = sums;
}

void sense_sum_io(const struct sense_pids *pids, struct sense_pass *pass, struct sense_io_sums *ret_sums)
{
    static const char *const keys[] = {"read_bytes", "write_bytes", "cancelled_write_bytes"};
    struct sense_io_sums sums = {0};
    for (size_t i = 0; i < pids->count; i++) {
        int64_t values[3];
        long length = process_read(pass, pids->pids[i], "io");
        if (length <= 0 || sense_parse_fields(pass->text, (size_t)length, keys, 3, values) < 3)
            continue;
        sums.read_bytes += values[0];
        sums.write_bytes += values[1];
        sums.cancelled_bytes += values[2];
        sums.processes++;
    }
    *ret_sums = sums;
}

/* Since Linux 6.2 the size of the folder is the number of descriptors; before, it is 0 and they have to be counted. */
static int64_t process_descriptors(pid_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    if (stat(path, &status) == 0 && status.st_size > 0)
        return status.st_size;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return -1;
    int64_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int64_t sense_sum_descriptors(const struct sense_pids *pids)
{
    int64_t sum = -1;
    for (size_t i = 0; i < pids->count; i++) {
        int64_t count = process_descriptors(pids->pids[i]);
        if (count >= 0)
            sum = (sum < 0 ? 0 : sum) + count;
    }
    return sum;
}

int64_t sense_process_hugetlb(pid_t pid, struct sense_pass *pass)
{
    static const char *const keys[] = {"HugetlbPages"};
    int64_t value = -1;
    long length = process_read(pass, pid, "status");
    if (length > 0)
        sense_parse_fields(pass->text, (size_t)length, keys, 1, &value);
    return value;
}
