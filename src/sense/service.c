/* One service: its control groups, or else its process tree; and its PostgreSQL, if it is one. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sense/sense_int.h"

#include "base/ban.h"

enum service_meter {
    SERVICE_CPU,
    SERVICE_CPU_THROTTLED,
    SERVICE_MEMORY_ANON,
    SERVICE_MEMORY_SHARED,
    SERVICE_MEMORY_KERNEL,
    SERVICE_MEMORY_CACHE,
    SERVICE_MEMORY_USAGE,
    SERVICE_MEMORY_TOP,
    SERVICE_PROCESSES,
    SERVICE_THREADS,
    SERVICE_DESCRIPTORS,
    SERVICE_IO_READ,
    SERVICE_IO_WRITE,
    SERVICE_IO_CANCELLED,
    SERVICE_PSI_CPU_SOME,
    SERVICE_PSI_CPU_FULL,
    SERVICE_PSI_IO_SOME,
    SERVICE_PSI_IO_FULL,
    SERVICE_PSI_MEMORY_SOME,
    SERVICE_PSI_MEMORY_FULL,
    SERVICE_BACKEND_PSS,
    SERVICE_BACKEND_SAMPLED,
    SERVICE_BACKEND_POPULATION,
    SERVICE_PSS_ANON,
    SERVICE_PSS_SHARED,
    SERVICE_COUNT
};
_Static_assert((int)SERVICE_COUNT <= (int)SENSE_SERVICE_METERS, "room for every meter of a service");

static const struct sense_def service_defs[SERVICE_COUNT] = {
    [SERVICE_CPU] = {"cpu_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_CPU_THROTTLED] = {"cpu_throttled_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_MEMORY_ANON] = {"memory_anon_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_MEMORY_SHARED] = {"memory_shared_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_MEMORY_KERNEL] = {"memory_kernel_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_MEMORY_CACHE] = {"memory_cache_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_MEMORY_USAGE] = {"memory_usage_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_MEMORY_TOP] = {"memory_top_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_PROCESSES] = {"processes", "count", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_THREADS] = {"threads", "count", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_DESCRIPTORS] = {"file_descriptors", "count", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_IO_READ] = {"io_read_bytes", "bytes", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_IO_WRITE] = {"io_write_bytes", "bytes", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_IO_CANCELLED] = {"io_cancelled_write_bytes", "bytes", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_CPU_SOME] = {"psi_cpu_some_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_CPU_FULL] = {"psi_cpu_full_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_IO_SOME] = {"psi_io_some_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_IO_FULL] = {"psi_io_full_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_MEMORY_SOME] = {"psi_memory_some_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_PSI_MEMORY_FULL] = {"psi_memory_full_ns", "ns", METRIC_COUNTER, SENSE_CLAMP},
    [SERVICE_BACKEND_PSS] = {"backend_pss_anon_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_BACKEND_SAMPLED] = {"backend_pss_anon_sampled", "count", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_BACKEND_POPULATION] = {"backend_pss_anon_population", "count", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_PSS_ANON] = {"memory_pss_anon_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
    [SERVICE_PSS_SHARED] = {"memory_pss_shared_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN},
};

static const struct {
    const char *file;
    int some, full;
} service_pressures[] = {
    {"cpu.pressure", SERVICE_PSI_CPU_SOME, SERVICE_PSI_CPU_FULL},
    {"io.pressure", SERVICE_PSI_IO_SOME, SERVICE_PSI_IO_FULL},
    {"memory.pressure", SERVICE_PSI_MEMORY_SOME, SERVICE_PSI_MEMORY_FULL},
};

/* ---- what there is to read ---- */

static void service_add(struct sense_service *service, struct sense_registry *registry, enum service_meter meter,
                        const char *how)
{
    sense_registry_add(registry, service->source, &service_defs[meter], how, &service->meters[meter]);
}

static bool service_has_processes(const struct sense_service *service)
{
    return service->tree != NULL || service->group.pids != SENSE_GROUP_NONE;
}

static void declare_cpu(struct sense_service *service, struct sense_registry *registry)
{
    static const char *const hows[] = {
        [SENSE_GROUP_NONE] = "process tree: CPU clocks of the living, and cutime + cstime of what they waited for",
        [SENSE_GROUP_V1] = "cgroup v1 cpuacct.usage",
        [SENSE_GROUP_V2] = "cgroup v2 cpu.stat usage_usec",
    };
    if (service->group.cpu != SENSE_GROUP_NONE || service->tree != NULL)
        service_add(service, registry, SERVICE_CPU, hows[service->group.cpu]);
    if (service->group.throttled)
        service_add(service, registry, SERVICE_CPU_THROTTLED, "cgroup v2 cpu.stat throttled_usec");
}

static void declare_memory(struct sense_service *service, struct sense_registry *registry, const char *pool)
{
    static const struct {
        enum service_meter meter;
        const char *v1, *v2, *tree; /* NULL: cannot be known there */
    } rows[] = {
        {SERVICE_MEMORY_ANON, "cgroup v1 memory.stat rss (anonymous and swap cache)", "cgroup v2 memory.stat anon",
         "/proc/PID/status RssAnon, sum over the process tree: pages inherited by fork count in every child, so it is too "
         "high; memory_pss_anon_bytes is exact at quiet points"},
        {SERVICE_MEMORY_SHARED, "cgroup v1 memory.stat shmem", "cgroup v2 memory.stat shmem",
         "/proc/PID/status RssShmem, of the process that has mapped most: a lower bound"},
        {SERVICE_MEMORY_KERNEL, "cgroup v1 memory.kmem.usage_in_bytes",
         "cgroup v2 memory.stat kernel (before Linux 5.18: kernel_stack + pagetables + slab + percpu)",
         "/proc/PID/status VmPTE, sum over the process tree: page tables only"},
        {SERVICE_MEMORY_CACHE, "cgroup v1 memory.stat cache less shmem", "cgroup v2 memory.stat file less shmem", NULL},
        {SERVICE_MEMORY_USAGE, "cgroup v1 memory.usage_in_bytes: everything, file cache too",
         "cgroup v2 memory.current: everything, file cache too", NULL},
    };
    if (service->group.memory == SENSE_GROUP_NONE && !service_has_processes(service))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char how[320];
        const char *text = service->group.memory == SENSE_GROUP_V1   ? rows[i].v1
                           : service->group.memory == SENSE_GROUP_V2 ? rows[i].v2
                                                                     : rows[i].tree;
        if (text == NULL)
            continue;
        snprintf(how, sizeof how, "%s%s", text, rows[i].meter == SERVICE_MEMORY_SHARED ? pool : "");
        service_add(service, registry, rows[i].meter, how);
    }
    if (service->group.memory == SENSE_GROUP_NONE) {
        service_add(service, registry, SERVICE_PSS_ANON,
                    "/proc/PID/smaps_rollup Pss_Anon, sum over all processes, at quiet points when all fit the budget");
        service_add(service, registry, SERVICE_PSS_SHARED,
                    "/proc/PID/smaps_rollup Pss_Shmem, sum over all processes, at quiet points when all fit the budget");
    }
}

static void declare_processes(struct sense_service *service, struct sense_registry *registry)
{
    static const char *const processes[] = {[SENSE_GROUP_NONE] = "process tree by parent ids in /proc",
                                            [SENSE_GROUP_V1] = "cgroup v1 cgroup.procs",
                                            [SENSE_GROUP_V2] = "cgroup v2 cgroup.procs"};
    static const char *const threads[] = {[SENSE_GROUP_NONE] = "/proc/PID/stat, sum over the process tree",
                                          [SENSE_GROUP_V1] = "cgroup v1 tasks",
                                          [SENSE_GROUP_V2] = "cgroup v2 cgroup.threads"};
    if (service->group.io) {
        service_add(service, registry, SERVICE_IO_READ, "cgroup v2 io.stat rbytes");
        service_add(service, registry, SERVICE_IO_WRITE, "cgroup v2 io.stat wbytes");
    }
    if (!service_has_processes(service))
        return;
    service_add(service, registry, SERVICE_PROCESSES, processes[service->group.pids]);
    service_add(service, registry, SERVICE_THREADS, threads[service->group.pids]);
    service_add(service, registry, SERVICE_DESCRIPTORS, "/proc/PID/fd, sum over its processes, every 2 s and at marks");
    service_add(
        service, registry, SERVICE_MEMORY_TOP,
        "/proc/PID VmRSS, sum over its processes: shared memory counts once for each; what top suggests, not a cost");
    if (service->group.io)
        return;
    service_add(service, registry, SERVICE_IO_READ,
                "/proc/PID/io read_bytes, sum over its processes with those they waited for, every 2 s and at marks");
    service_add(service, registry, SERVICE_IO_WRITE,
                "/proc/PID/io write_bytes, sum over its processes with those they waited for, every 2 s and at marks");
    service_add(service, registry, SERVICE_IO_CANCELLED,
                "/proc/PID/io cancelled_write_bytes: part of io_write_bytes that was deleted before it was written");
}

static void declare_pressure(struct sense_service *service, struct sense_registry *registry, struct sense_pass *pass)
{
    for (size_t i = 0; service->group.pressure && i < sizeof service_pressures / sizeof *service_pressures; i++) {
        struct sense_pressure pressure;
        char how[64];
        long length = sense_pass_read(pass, service->group.v2, service_pressures[i].file);
        if (length <= 0 || !sense_parse_pressure(pass->text, (size_t)length, &pressure))
            continue;
        snprintf(how, sizeof how, "cgroup v2 %s, total", service_pressures[i].file);
        if (pressure.some_us >= 0)
            service_add(service, registry, (enum service_meter)service_pressures[i].some, how);
        if (pressure.full_us >= 0)
            service_add(service, registry, (enum service_meter)service_pressures[i].full, how);
    }
}

static void declare_pss(struct sense_service *service, struct sense_registry *registry)
{
    if (!service_has_processes(service) || service->pid <= 0)
        return;
    bool backends = service->postgres != NULL;
    service_add(service, registry, SERVICE_BACKEND_PSS,
                backends ? "/proc/PID/smaps_rollup Pss_Anon, mean over a seeded sample of client backends, at quiet points"
                         : "/proc/PID/smaps_rollup Pss_Anon, mean over a seeded sample of its processes, at quiet points");
    service_add(service, registry, SERVICE_BACKEND_SAMPLED, "how many processes were read for backend_pss_anon_bytes");
    service_add(service, registry, SERVICE_BACKEND_POPULATION, "how many processes backend_pss_anon_bytes stands for");
}

void sense_service_init(struct sense_service *service, const struct sense_target *target, uint64_t seed,
                        struct sense_registry *registry, struct sense_pass *pass)
{
    const char *pool = "";
    *service = (struct sense_service){
        .source = pl_strdup(registry->arena, target->source), .pid = target->pid, .cpu_ns = -1, .seed = seed};
    service->group.v1_cpuacct = pl_strdup(registry->arena, target->v1_cpuacct != NULL ? target->v1_cpuacct : "");
    service->group.v1_memory = pl_strdup(registry->arena, target->v1_memory != NULL ? target->v1_memory : "");
    service->group.v2 = pl_strdup(registry->arena, target->v2 != NULL ? target->v2 : "");
    sense_group_probe(&service->group, pass);
    if (service->group.cpu == SENSE_GROUP_NONE || service->group.pids == SENSE_GROUP_NONE)
        service->tree = sense_tree_new(target->pid);
    declare_cpu(service, registry);
    if (target->conninfo != NULL)
        service->postgres = sense_postgres_new(target, registry);
    if (target->pid > 0 && sense_process_hugetlb(target->pid, pass) > 0) {
        service->hugetlb_bytes = service->postgres != NULL ? sense_postgres_shared_bytes(service->postgres) : -1;
        pool = ", and shared_memory_size once: it is in huge pages";
        if (service->hugetlb_bytes < 0) {
            service->hugetlb_bytes = sense_process_hugetlb(target->pid, pass);
            pool = ", and HugetlbPages of the first process once";
        }
    }
    declare_memory(service, registry, pool);
    declare_processes(service, registry);
    declare_pressure(service, registry, pass);
    declare_pss(service, registry);
}

void sense_service_release(struct sense_service *service)
{
    sense_tree_free(service->tree);
    sense_postgres_free(service->postgres);
    sense_pids_release(&service->pids);
}

/* ---- reading it ---- */

static void read_group_cpu(struct sense_service *service, struct sense_pass *pass)
{
    int64_t cpu_ns = sense_group_cpu_ns(&service->group, pass);
    sense_pass_stamp(pass);
    if (cpu_ns < 0)
        pass->missed++;
    else
        service->cpu_ns = (double)cpu_ns;
    sense_pass_put_known(pass, &service->meters[SERVICE_CPU], cpu_ns);
    if (service->group.throttled)
        sense_pass_put_known(pass, &service->meters[SERVICE_CPU_THROTTLED],
                             sense_group_throttled_ns(&service->group, pass));
}

/* Fills service->pids; where there is no group for CPU or processes, the tree says both. */
static void read_processes(struct sense_service *service, struct sense_pass *pass)
{
    int64_t threads = -1, tree_cpu_ns = -1;
    bool found = false;
    service->pids.count = 0;
    if (service->tree != NULL) {
        struct sense_tree_sums sums;
        found = sense_tree_scan(service->tree, pass->depth >= SENSE_MARK, &sums);
        for (size_t i = 0; found && i < sums.pids.count; i++)
            sense_pids_push(&service->pids, sums.pids.pids[i]);
        threads = found ? sums.threads : -1;
        tree_cpu_ns = found ? sums.cpu_ns : -1;
    }
    if (service->group.pids != SENSE_GROUP_NONE) {
        found = sense_group_pids(&service->group, pass, &service->pids);
        threads = found ? sense_group_threads(&service->group, pass) : -1;
    }
    sense_pass_stamp(pass);
    if (service->group.cpu == SENSE_GROUP_NONE && tree_cpu_ns >= 0)
        service->cpu_ns = (double)tree_cpu_ns;
    if (service->group.cpu == SENSE_GROUP_NONE)
        sense_pass_put_known(pass, &service->meters[SERVICE_CPU], tree_cpu_ns);
    if (!found) {
        pass->missed++;
        return;
    }
    sense_pass_put(pass, &service->meters[SERVICE_PROCESSES], (double)service->pids.count);
    sense_pass_put_known(pass, &service->meters[SERVICE_THREADS], threads);
}

static void read_group_memory(struct sense_service *service, struct sense_pass *pass)
{
    struct sense_group_memory memory;
    if (!sense_group_memory(&service->group, pass, &memory)) {
        pass->missed++;
        return;
    }
    sense_pass_stamp(pass);
    bool ended = service_has_processes(service) && service->pids.count == 0; /* huge pages went with the last process */
    int64_t shared = memory.shmem < 0 ? -1 : memory.shmem + (ended ? 0 : service->hugetlb_bytes);
    sense_pass_put_known(pass, &service->meters[SERVICE_MEMORY_ANON], memory.anon);
    sense_pass_put_known(pass, &service->meters[SERVICE_MEMORY_SHARED], shared);
    sense_pass_put_known(pass, &service->meters[SERVICE_MEMORY_KERNEL], memory.kernel);
    sense_pass_put_known(pass, &service->meters[SERVICE_MEMORY_CACHE], memory.cache);
    sense_pass_put_known(pass, &service->meters[SERVICE_MEMORY_USAGE], memory.usage);
    service->memory_bytes =
        (double)memory.anon + (shared > 0 ? (double)shared : 0) + (memory.kernel > 0 ? (double)memory.kernel : 0);
}

static void read_tree_memory(struct sense_service *service, struct sense_pass *pass)
{
    struct sense_memory_sums sums;
    sense_sum_memory(&service->pids, pass, &sums);
    sense_pass_stamp(pass);
    if (sums.rss == 0) /* all of them are gone */
        return;
    double shared = (double)(sums.shmem_max + service->hugetlb_bytes);
    sense_pass_put(pass, &service->meters[SERVICE_MEMORY_ANON], (double)sums.anon);
    sense_pass_put(pass, &service->meters[SERVICE_MEMORY_SHARED], shared);
    sense_pass_put(pass, &service->meters[SERVICE_MEMORY_KERNEL], (double)sums.pte);
    sense_pass_put(pass, &service->meters[SERVICE_MEMORY_TOP], (double)sums.rss);
    service->memory_bytes = (double)sums.anon + shared + (double)sums.pte;
}

/* What takes a file of each process. */
static void read_each_process(struct sense_service *service, struct sense_pass *pass)
{
    if (service->group.memory != SENSE_GROUP_NONE && service->pids.count > 0) {
        int64_t rss = sense_sum_rss(&service->pids, pass);
        sense_pass_stamp(pass);
        sense_pass_put(pass, &service->meters[SERVICE_MEMORY_TOP], (double)rss);
    }
    int64_t descriptors = sense_sum_descriptors(&service->pids);
    sense_pass_stamp(pass);
    sense_pass_put_known(pass, &service->meters[SERVICE_DESCRIPTORS], descriptors);
    if (service->group.io)
        return;
    struct sense_io_sums io;
    sense_sum_io(&service->pids, pass, &io);
    sense_pass_stamp(pass);
    if (io.processes == 0)
        return;
    sense_pass_put(pass, &service->meters[SERVICE_IO_READ], (double)io.read_bytes);
    sense_pass_put(pass, &service->meters[SERVICE_IO_WRITE], (double)io.write_bytes);
    sense_pass_put(pass, &service->meters[SERVICE_IO_CANCELLED], (double)io.cancelled_bytes);
}

static void read_group_io(struct sense_service *service, struct sense_pass *pass)
{
    int64_t read_bytes, write_bytes;
    long length = sense_pass_read(pass, service->group.v2, "io.stat");
    if (length < 0) {
        pass->missed++;
        return;
    }
    sense_parse_io_stat(pass->text, (size_t)length, &read_bytes, &write_bytes);
    sense_pass_stamp(pass);
    sense_pass_put(pass, &service->meters[SERVICE_IO_READ], (double)read_bytes);
    sense_pass_put(pass, &service->meters[SERVICE_IO_WRITE], (double)write_bytes);
}

static void read_pressure(struct sense_service *service, struct sense_pass *pass)
{
    for (size_t i = 0; i < sizeof service_pressures / sizeof *service_pressures; i++) {
        struct sense_pressure pressure;
        if (service->meters[service_pressures[i].some].id == 0)
            continue;
        long length = sense_pass_read(pass, service->group.v2, service_pressures[i].file);
        if (length <= 0 || !sense_parse_pressure(pass->text, (size_t)length, &pressure)) {
            pass->missed++;
            continue;
        }
        sense_pass_stamp(pass);
        if (pressure.some_us >= 0)
            sense_pass_put(pass, &service->meters[service_pressures[i].some], (double)pressure.some_us * 1e3);
        if (pressure.full_us >= 0)
            sense_pass_put(pass, &service->meters[service_pressures[i].full], (double)pressure.full_us * 1e3);
    }
}

void sense_service_read_backends(struct sense_service *service, struct sense_pass *pass)
{
    if (service->meters[SERVICE_BACKEND_PSS].id == 0)
        return;
    struct sense_pids pids = {0};
    bool found = true;
    if (service->postgres != NULL)
        found = sense_postgres_backends(service->postgres, pass, &pids);
    else
        for (size_t i = 0; i < service->pids.count; i++)
            sense_pids_push(&pids, service->pids.pids[i]);
    if (found) {
        struct sense_pss pss = sense_pss_sample(&pids, service->seed, service->quiet_count++, pass);
        sense_pass_stamp(pass);
        sense_pass_put(pass, &service->meters[SERVICE_BACKEND_SAMPLED], (double)pss.sampled);
        sense_pass_put(pass, &service->meters[SERVICE_BACKEND_POPULATION], (double)pss.population);
        if (pss.sampled > 0)
            sense_pass_put(pass, &service->meters[SERVICE_BACKEND_PSS], (double)pss.anon_bytes / (double)pss.sampled);
    } else {
        pass->missed++;
    }
    sense_pids_release(&pids);
}

/* The sum over all of them, or nothing: a part of it is no figure. */
static void read_whole_pss(struct sense_service *service, struct sense_pass *pass)
{
    struct sense_pss pss = sense_pss_sample(&service->pids, service->seed, service->quiet_count++, pass);
    sense_pass_stamp(pass);
    if (pss.sampled == 0 || pss.sampled < pss.population)
        return;
    sense_pass_put(pass, &service->meters[SERVICE_PSS_ANON], (double)pss.anon_bytes);
    sense_pass_put(pass, &service->meters[SERVICE_PSS_SHARED], (double)(pss.shmem_bytes + service->hugetlb_bytes));
}

void sense_service_read(struct sense_service *service, struct sense_pass *pass)
{
    service->cpu_ns = -1;
    if (service->group.cpu != SENSE_GROUP_NONE)
        read_group_cpu(service, pass);
    if (service_has_processes(service))
        read_processes(service, pass);
    if (service->group.memory != SENSE_GROUP_NONE)
        read_group_memory(service, pass);
    else if (service_has_processes(service))
        read_tree_memory(service, pass);
    if (service_has_processes(service) && pass->depth >= SENSE_SLOW)
        read_each_process(service, pass);
    if (service->group.io)
        read_group_io(service, pass);
    read_pressure(service, pass);
    if (pass->depth == SENSE_QUIET)
        sense_service_read_backends(service, pass);
    if (pass->depth == SENSE_QUIET && service->meters[SERVICE_PSS_ANON].id != 0)
        read_whole_pss(service, pass);
}
