/* The host: /proc/stat, pressure, disks, memory. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sense/sense_int.h"

#include "base/ban.h"

enum host_meter {
    HOST_CPU_USER,
    HOST_CPU_NICE,
    HOST_CPU_SYSTEM,
    HOST_CPU_IRQ,
    HOST_CPU_IOWAIT,
    HOST_CPU_IDLE,
    HOST_CPU_STEAL,
    HOST_CPU_BUSY,
    HOST_CPU_TOTAL,
    HOST_CPU_FOREIGN,
    HOST_RUN_QUEUE,
    HOST_BLOCKED,
    HOST_PSI_CPU_SOME,
    HOST_PSI_IO_SOME,
    HOST_PSI_IO_FULL,
    HOST_PSI_MEMORY_SOME,
    HOST_PSI_MEMORY_FULL,
    HOST_MEMORY_AVAILABLE,
    HOST_MEMORY_DIRTY,
    HOST_DISK_READS,
    HOST_DISK_READ_BYTES,
    HOST_DISK_WRITES,
    HOST_DISK_WRITE_BYTES,
    HOST_DISK_BUSY,
    HOST_DISK_FLUSHES,
    HOST_DISK_FLUSH_TIME,
    HOST_COUNT
};
_Static_assert((int)HOST_COUNT <= (int)SENSE_HOST_METERS, "room for every meter of the host");

#define CPU_COUNTER(name)                                                                                                  \
    {                                                                                                                      \
        name, "ns", METRIC_COUNTER, SENSE_CLAMP                                                                            \
    }

static const struct sense_def host_defs[HOST_COUNT] = {
    [HOST_CPU_USER] = CPU_COUNTER("cpu_user_ns"),
    [HOST_CPU_NICE] = CPU_COUNTER("cpu_nice_ns"),
    [HOST_CPU_SYSTEM] = CPU_COUNTER("cpu_system_ns"),
    [HOST_CPU_IRQ] = CPU_COUNTER("cpu_irq_ns"),
    [HOST_CPU_IOWAIT] = CPU_COUNTER("cpu_iowait_ns"),
    [HOST_CPU_IDLE] = CPU_COUNTER("cpu_idle_ns"),
    [HOST_CPU_STEAL] = CPU_COUNTER("cpu_steal_ns"),
    [HOST_CPU_BUSY] = CPU_COUNTER("cpu_busy_ns"),
    [HOST_CPU_TOTAL] = CPU_COUNTER("cpu_total_ns"),
    [HOST_CPU_FOREIGN] = CPU_COUNTER("foreign_cpu_ns"),
    [HOST_RUN_QUEUE] = {"run_queue", "count", METRIC_GAUGE, SENSE_PLAIN},
    [HOST_BLOCKED] = {"processes_blocked", "count", METRIC_GAUGE, SENSE_PLAIN},
    [HOST_PSI_CPU_SOME] = CPU_COUNTER("psi_cpu_some_ns"),
    [HOST_PSI_IO_SOME] = CPU_COUNTER("psi_io_some_ns"),
    [HOST_PSI_IO_FULL] = CPU_COUNTER("psi_io_full_ns"),
    [HOST_PSI_MEMORY_SOME] = CPU_COUNTER("psi_memory_some_ns"),
    [HOST_PSI_MEMORY_FULL] = CPU_COUNTER("psi_memory_full_ns"),
    [HOST_MEMORY_AVAILABLE] = {"memory_available_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [HOST_MEMORY_DIRTY] = {"memory_dirty_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [HOST_DISK_READS] = {"disk_reads", "count", METRIC_COUNTER, SENSE_CLAMP},
    [HOST_DISK_READ_BYTES] = {"disk_read_bytes", "bytes", METRIC_COUNTER, SENSE_CLAMP},
    [HOST_DISK_WRITES] = {"disk_writes", "count", METRIC_COUNTER, SENSE_CLAMP},
    [HOST_DISK_WRITE_BYTES] = {"disk_write_bytes", "bytes", METRIC_COUNTER, SENSE_CLAMP},
    [HOST_DISK_BUSY] = CPU_COUNTER("disk_busy_ns"),
    [HOST_DISK_FLUSHES] = {"disk_flushes", "count", METRIC_COUNTER, SENSE_CLAMP},
    [HOST_DISK_FLUSH_TIME] = CPU_COUNTER("disk_flush_ns"),
};

static const struct {
    const char *name;
    int some, full; /* -1: not asked for. `full` of the CPU is not defined for a whole system: the kernel writes 0 */
} host_pressures[] = {
    {"cpu", HOST_PSI_CPU_SOME, -1},
    {"io", HOST_PSI_IO_SOME, HOST_PSI_IO_FULL},
    {"memory", HOST_PSI_MEMORY_SOME, HOST_PSI_MEMORY_FULL},
};

/* Parts have no folder of their own in /sys/block. What stands on other disks (dm, md) would count its bytes twice; loop,
 * ram and zram are no devices. */
bool sense_disk_is_whole(const char *name, const char *sys_block)
{
    static const char *const others[] = {"loop", "ram", "zram", "dm-", "md", "sr", "fd"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    int length = snprintf(path, sizeof path, "%s/%s", sys_block, name);
    return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

static size_t host_disks(struct sense_host *host, struct sense_pass *pass)
{
    long length = sense_pass_read(pass, "/proc", "diskstats");
    if (length < 0)
        return 0;
    size_t count = sense_parse_disks(pass->text, (size_t)length, host->disks, SENSE_MAX_DISKS), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (sense_disk_is_whole(host->disks[i].name, "/sys/block"))
            host->disks[kept++] = host->disks[i];
    return kept;
}

static void host_declare(struct sense_host *host, struct sense_registry *registry, enum host_meter from, enum host_meter to,
                         const char *how)
{
    for (int i = (int)from; i <= (int)to; i++)
        sense_registry_add(registry, "host", &host_defs[i], how, &host->meters[i]);
}

static void host_declare_cpu(struct sense_host *host, struct sense_registry *registry, struct sense_pass *pass)
{
    struct sense_cpu cpu;
    long length = sense_pass_read(pass, "/proc", "stat");
    if (length < 0 || !sense_parse_cpu(pass->text, (size_t)length, &cpu))
        return;
    host_declare(host, registry, HOST_CPU_USER, HOST_CPU_STEAL, "/proc/stat, all CPUs; guest time is inside user");
    host_declare(host, registry, HOST_CPU_BUSY, HOST_CPU_BUSY, "/proc/stat: user + nice + system + irq + softirq");
    host_declare(host, registry, HOST_CPU_TOTAL, HOST_CPU_TOTAL, "/proc/stat: busy + idle + iowait + steal");
    host_declare(host, registry, HOST_CPU_FOREIGN, HOST_CPU_FOREIGN,
                 "/proc/stat busy less the CPU of all services and of the tool");
    if (cpu.running >= 0)
        host_declare(host, registry, HOST_RUN_QUEUE, HOST_RUN_QUEUE,
                     "/proc/stat procs_running, the sensor's own thread left out");
    if (cpu.blocked >= 0)
        host_declare(host, registry, HOST_BLOCKED, HOST_BLOCKED, "/proc/stat procs_blocked");
}

static void host_declare_pressure(struct sense_host *host, struct sense_registry *registry, struct sense_pass *pass)
{
    for (size_t i = 0; i < sizeof host_pressures / sizeof *host_pressures; i++) {
        struct sense_pressure pressure;
        char how[64];
        long length = sense_pass_read(pass, "/proc/pressure", host_pressures[i].name);
        if (length < 0 || !sense_parse_pressure(pass->text, (size_t)length, &pressure))
            continue;
        snprintf(how, sizeof how, "/proc/pressure/%s, total", host_pressures[i].name);
        if (pressure.some_us >= 0)
            host_declare(host, registry, host_pressures[i].some, host_pressures[i].some, how);
        if (pressure.full_us >= 0 && host_pressures[i].full >= 0)
            host_declare(host, registry, host_pressures[i].full, host_pressures[i].full, how);
    }
}

static void host_declare_disks(struct sense_host *host, struct sense_registry *registry, struct sense_pass *pass)
{
    size_t count = host_disks(host, pass);
    if (count == 0)
        return;
    struct pl_buf how;
    pl_buf_init(&how, 512);
    pl_buf_put(&how, "/proc/diskstats, sum of");
    bool flushes = true;
    for (size_t i = 0; i < count; i++) {
        pl_buf_printf(&how, " %s", host->disks[i].name);
        flushes = flushes && host->disks[i].flushes >= 0;
    }
    host_declare(host, registry, HOST_DISK_READS, HOST_DISK_BUSY, pl_buf_text(&how));
    if (flushes)
        host_declare(host, registry, HOST_DISK_FLUSHES, HOST_DISK_FLUSH_TIME, pl_buf_text(&how));
    pl_buf_release(&how);
}

void sense_host_init(struct sense_host *host, struct sense_registry *registry, struct sense_pass *pass)
{
    host->busy_ns = -1;
    host->disks = pl_alloc(registry->arena, SENSE_MAX_DISKS, sizeof *host->disks);
    host_declare_cpu(host, registry, pass);
    host_declare_pressure(host, registry, pass);
    if (sense_pass_read(pass, "/proc", "meminfo") > 0) {
        host_declare(host, registry, HOST_MEMORY_AVAILABLE, HOST_MEMORY_AVAILABLE, "/proc/meminfo MemAvailable");
        host_declare(host, registry, HOST_MEMORY_DIRTY, HOST_MEMORY_DIRTY, "/proc/meminfo Dirty");
    }
    host_declare_disks(host, registry, pass);
}

static void host_read_cpu(struct sense_host *host, struct sense_pass *pass)
{
    struct sense_cpu cpu;
    long length = sense_pass_read(pass, "/proc", "stat");
    host->busy_ns = -1;
    if (length < 0 || !sense_parse_cpu(pass->text, (size_t)length, &cpu)) {
        pass->missed++;
        return;
    }
    double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    sense_pass_stamp(pass);
    const int64_t ticks[] = {[HOST_CPU_USER] = cpu.user,
                             [HOST_CPU_NICE] = cpu.nice,
                             [HOST_CPU_SYSTEM] = cpu.kernel,
                             [HOST_CPU_IRQ] = cpu.irq + cpu.softirq,
                             [HOST_CPU_IOWAIT] = cpu.iowait,
                             [HOST_CPU_IDLE] = cpu.idle,
                             [HOST_CPU_STEAL] = cpu.steal,
                             [HOST_CPU_BUSY] = sense_cpu_busy(&cpu),
                             [HOST_CPU_TOTAL] = sense_cpu_total(&cpu)};
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        sense_pass_put(pass, &host->meters[i], (double)ticks[i] * tick_ns);
    sense_pass_put_known(pass, &host->meters[HOST_RUN_QUEUE], cpu.running > 0 ? cpu.running - 1 : cpu.running);
    sense_pass_put_known(pass, &host->meters[HOST_BLOCKED], cpu.blocked);
    host->busy_ns = (double)sense_cpu_busy(&cpu) * tick_ns;
}

static void host_read_pressure(struct sense_host *host, struct sense_pass *pass)
{
    for (size_t i = 0; i < sizeof host_pressures / sizeof *host_pressures; i++) {
        struct sense_meter *some = &host->meters[host_pressures[i].some];
        struct sense_pressure pressure;
        if (some->id == 0)
            continue;
        long length = sense_pass_read(pass, "/proc/pressure", host_pressures[i].name);
        if (length < 0 || !sense_parse_pressure(pass->text, (size_t)length, &pressure)) {
            pass->missed++;
            continue;
        }
        sense_pass_stamp(pass);
        if (pressure.some_us >= 0)
            sense_pass_put(pass, some, (double)pressure.some_us * 1e3);
        if (pressure.full_us >= 0 && host_pressures[i].full >= 0)
            sense_pass_put(pass, &host->meters[host_pressures[i].full], (double)pressure.full_us * 1e3);
    }
}

static void host_read_memory(struct sense_host *host, struct sense_pass *pass)
{
    static const char *const keys[] = {"MemAvailable", "Dirty"};
    int64_t values[2];
    long length = sense_pass_read(pass, "/proc", "meminfo");
    if (length < 0 || sense_parse_fields(pass->text, (size_t)length, keys, 2, values) == 0) {
        pass->missed++;
        return;
    }
    sense_pass_stamp(pass);
    sense_pass_put_known(pass, &host->meters[HOST_MEMORY_AVAILABLE], values[0]);
    sense_pass_put_known(pass, &host->meters[HOST_MEMORY_DIRTY], values[1]);
}

static void host_read_disks(struct sense_host *host, struct sense_pass *pass)
{
    if (host->meters[HOST_DISK_READS].id == 0)
        return;
    size_t count = host_disks(host, pass);
    if (count == 0) {
        pass->missed++;
        return;
    }
    double sums[HOST_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct sense_disk *disk = &host->disks[i];
        sums[HOST_DISK_READS] += (double)disk->reads;
        sums[HOST_DISK_READ_BYTES] += (double)disk->read_bytes;
        sums[HOST_DISK_WRITES] += (double)disk->writes;
        sums[HOST_DISK_WRITE_BYTES] += (double)disk->write_bytes;
        sums[HOST_DISK_BUSY] += (double)disk->busy_ms * 1e6;
        sums[HOST_DISK_FLUSHES] += (double)disk->flushes;
        sums[HOST_DISK_FLUSH_TIME] += (double)disk->flush_ms * 1e6;
    }
    sense_pass_stamp(pass);
    for (int i = HOST_DISK_READS; i <= HOST_DISK_FLUSH_TIME; i++)
        sense_pass_put(pass, &host->meters[i], sums[i]);
}

void sense_host_read(struct sense_host *host, struct sense_pass *pass)
{
    host_read_cpu(host, pass);
    host_read_pressure(host, pass);
    host_read_memory(host, pass);
    host_read_disks(host, pass);
}

void sense_host_put_foreign(struct sense_host *host, struct sense_pass *pass, double known_ns)
{
    if (host->busy_ns >= 0)
        sense_pass_put(pass, &host->meters[HOST_CPU_FOREIGN], host->busy_ns - known_ns);
}
