/* Readers of the kernel's text files, as pure functions over text: no file, no clock, no allocation. The text need not end
 * in NUL. A value that is not there, is not a number or does not fit is absent (-1, or the function says false): never a
 * guess. */
#ifndef PL_SENSE_PARSE_INT_H
#define PL_SENSE_PARSE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* First line of /proc/stat, in ticks of USER_HZ, all CPUs together. guest and guest_nice are not here: the kernel has
 * already put them into user and nice. Fields that an old kernel does not have are 0. */
struct sense_cpu {
    int64_t user, nice, kernel, idle, iowait, irq, softirq, steal;
    int64_t running, blocked; /* procs_running, procs_blocked; -1 when absent */
};
bool sense_parse_cpu(const char *text, size_t length, struct sense_cpu *ret_cpu);
int64_t sense_cpu_busy(const struct sense_cpu *cpu);  /* user + nice + system + irq + softirq; steal is not ours */
int64_t sense_cpu_total(const struct sense_cpu *cpu); /* busy + idle + iowait + steal: all time that passed */

/* A *.pressure file. Totals in microseconds, -1 when the line is absent: kernels before 5.13 have no `full` line for CPU.
 */
struct sense_pressure {
    int64_t some_us, full_us;
};
bool sense_parse_pressure(const char *text, size_t length, struct sense_pressure *ret_pressure);

/* /proc/PID/stat. Times in ticks of USER_HZ; start_ticks since boot. The name of the program may hold any character, so the
 * fields are counted from the last ')'. */
struct sense_stat {
    pid_t pid, ppid;
    char state;
    int64_t user, kernel, reaped_user, reaped_kernel;
    int64_t threads, start_ticks, rss_pages;
};
bool sense_parse_stat(const char *text, size_t length, struct sense_stat *ret_stat);

/* Lines "key value", "key: value" and "key:  value kB" (times 1024): memory.stat, cpu.stat, /proc/PID/status, io,
 * smaps_rollup, /proc/meminfo. values[i] is -1 unless keys[i] was found with a number; the first line of a key counts.
 * Returns how many. */
size_t sense_parse_fields(const char *text, size_t length, const char *const *keys, size_t count, int64_t *values);

/* A file that holds one number ("max" is none). */
bool sense_parse_number(const char *text, size_t length, int64_t *ret_value);

/* cgroup v2 io.stat: bytes read and written, summed over devices. An empty file is 0 and 0: nothing was done yet. */
void sense_parse_io_stat(const char *text, size_t length, int64_t *ret_read_bytes, int64_t *ret_write_bytes);

/* One line of /proc/diskstats. */
struct sense_disk {
    char name[32];
    int64_t reads, read_bytes, writes, write_bytes, busy_ms;
    int64_t flushes, flush_ms; /* -1 before Linux 5.5 */
};
/* Fills at most `capacity`, returns how many. Lines that are cut short or have a longer name are left out. */
size_t sense_parse_disks(const char *text, size_t length, struct sense_disk *disks, size_t capacity);

/* /proc/PID/statm, in pages. */
bool sense_parse_statm(const char *text, size_t length, int64_t *ret_resident, int64_t *ret_shared);

/* cgroup.procs: one process id a line. Fills at most `capacity`, returns how many lines there are. */
size_t sense_parse_pids(const char *text, size_t length, pid_t *pids, size_t capacity);

#endif
