/* Facts about the machine, from /proc and /sys. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "hardware/hardware_int.h"
#include "service/spawn.h"

#include "base/ban.h"

enum { CPUINFO_BYTES = 4 * 1024 * 1024, SMALL_BYTES = 16 * 1024, SOCKETS_MAX = 1024 };

void hardware_push(struct hardware_list *list, const char *name, const char *value, const char *unit, const char *how)
{
    list->facts = pl_grow(list->arena, list->facts, list->count, list->count + 1, sizeof *list->facts, &list->capacity);
    list->facts[list->count++] = (struct fact){.scope = "host",
                                               .name = pl_strdup(list->arena, name),
                                               .value = pl_strdup(list->arena, value),
                                               .unit = pl_strdup(list->arena, unit),
                                               .how = pl_strdup(list->arena, how)};
}

static void hardware_push_count(struct hardware_list *list, const char *name, int64_t value, const char *unit,
                                const char *how)
{
    if (value > 0)
        hardware_push(list, name, pl_format(list->arena, "%lld", (long long)value), unit, how);
    else
        hardware_push(list, name, pl_format(list->arena, "unknown: %s does not say", how), "", how);
}

static void trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
}

void hardware_push_file(struct hardware_list *list, const char *name, const char *path, const char *unit)
{
    char text[1024], choice[256];
    if (pl_file_read_small(path, text, sizeof text) < 0) {
        hardware_push(list, name, pl_format(list->arena, "unknown: %s", strerror(errno)), "", path);
        return;
    }
    trim(text);
    hardware_parse_choice(text, choice, sizeof choice);
    hardware_push(list, name, choice, unit, path);
}

void hardware_parse_choice(const char *text, char *ret_choice, size_t size)
{
    const char *open = strchr(text, '['), *close = open != NULL ? strchr(open, ']') : NULL;
    if (close != NULL)
        snprintf(ret_choice, size, "%.*s", (int)(close - open - 1), open + 1);
    else
        snprintf(ret_choice, size, "%s", text);
}

bool hardware_parse_os_release(const char *text, const char *key, char *ret_value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        if ((size_t)(end - line) > length && memcmp(line, key, length) == 0 && line[length] == '=') {
            const char *value = line + length + 1, *last = end;
            if (last - value >= 2 && (*value == '"' || *value == '\'') && last[-1] == *value) {
                value++;
                last--;
            }
            snprintf(ret_value, size, "%.*s", (int)(last - value), value);
            return true;
        }
        line = *end == '\n' ? end + 1 : end;
    }
    return false;
}

/* The value behind "KEY<tabs>: " when the line has that key, else NULL. */
static const char *cpuinfo_value(const char *line, const char *end, const char *key, size_t *ret_length)
{
    size_t length = strlen(key);
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL || (size_t)(colon - line) < length || memcmp(line, key, length) != 0)
        return NULL;
    for (const char *p = line + length; p < colon; p++)
        if (*p != '\t' && *p != ' ')
            return NULL;
    const char *value = colon + 1;
    while (value < end && *value == ' ')
        value++;
    *ret_length = (size_t)(end - value);
    return value;
}

static bool has_word(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++)
        if (memcmp(text + i, word, size) == 0 && (i == 0 || text[i - 1] == ' ') &&
            (i + size == length || text[i + size] == ' '))
            return true;
    return false;
}

/* Sockets are distinct "physical id"s; cores are "cpu cores" once for each of them. */
struct cpuinfo_count {
    int64_t sockets[SOCKETS_MAX];
    int socket_count;
    int64_t socket;
};

static void cpuinfo_socket(struct cpuinfo_count *seen, int64_t id)
{
    seen->socket = id;
    for (int i = 0; i < seen->socket_count; i++)
        if (seen->sockets[i] == id) {
            seen->socket = -1; /* its cores are counted already */
            return;
        }
    if (seen->socket_count < SOCKETS_MAX)
        seen->sockets[seen->socket_count++] = id;
}

void hardware_parse_cpuinfo(const char *text, struct hardware_cpus *ret_cpus)
{
    struct cpuinfo_count seen = {.socket = -1};
    *ret_cpus = (struct hardware_cpus){0};
    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n'), *value;
        size_t length;
        int64_t number;
        if (cpuinfo_value(line, end, "processor", &length) != NULL)
            ret_cpus->threads++;
        else if ((value = cpuinfo_value(line, end, "model name", &length)) != NULL && ret_cpus->model[0] == '\0')
            snprintf(ret_cpus->model, sizeof ret_cpus->model, "%.*s", (int)length, value);
        else if ((value = cpuinfo_value(line, end, "physical id", &length)) != NULL &&
                 pl_num_i64(value, length, &number) == PL_NUM_OK)
            cpuinfo_socket(&seen, number);
        else if ((value = cpuinfo_value(line, end, "cpu cores", &length)) != NULL && seen.socket >= 0 &&
                 pl_num_i64(value, length, &number) == PL_NUM_OK && number > 0 && number < 100000)
            ret_cpus->cores += (int)number;
        else if ((value = cpuinfo_value(line, end, "flags", &length)) != NULL && has_word(value, length, "hypervisor"))
            ret_cpus->hypervisor = true;
        line = *end == '\n' ? end + 1 : end;
    }
    ret_cpus->sockets = seen.socket_count;
}

static void push_cpus(struct hardware_list *list)
{
    static const char how[] = "/proc/cpuinfo";
    struct hardware_cpus cpus;
    char *text = pl_new(CPUINFO_BYTES, 1);
    if (pl_file_read_small(how, text, CPUINFO_BYTES) < 0)
        text[0] = '\0';
    hardware_parse_cpuinfo(text, &cpus);
    pl_free(text);
    hardware_push(list, "cpu_model", cpus.model[0] != '\0' ? cpus.model : "unknown: /proc/cpuinfo has no model name", "",
                  how);
    hardware_push_count(list, "cpu_sockets", cpus.sockets, "count", how);
    hardware_push_count(list, "cpu_cores", cpus.cores, "count", how);
    hardware_push_count(list, "cpu_threads", cpus.threads, "count", how);
    hardware_push_count(list, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN), "count", "sysconf");
    cpu_set_t allowed;
    bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    hardware_push_count(list, "cpus_allowed", known ? CPU_COUNT(&allowed) : 0, "count", "sched_getaffinity");
    hardware_push(list, "hypervisor_flag", cpus.hypervisor ? "yes" : "no", "", how);
    hardware_push_file(list, "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
}

static void push_meminfo(struct hardware_list *list, const char *text, const char *name, const char *key)
{
    static const char how[] = "/proc/meminfo";
    const char *line = strstr(text, key);
    int64_t kib;
    const char *value = line != NULL ? line + strlen(key) : "";
    value += strspn(value, " ");
    if (pl_num_i64(value, strspn(value, "0123456789"), &kib) == PL_NUM_OK)
        hardware_push(list, name, pl_format(list->arena, "%lld", (long long)kib * 1024), "bytes", how);
    else
        hardware_push(list, name, pl_format(list->arena, "unknown: %s does not say", how), "", how);
}

static void push_memory(struct hardware_list *list)
{
    char text[SMALL_BYTES];
    if (pl_file_read_small("/proc/meminfo", text, sizeof text) < 0)
        text[0] = '\0';
    push_meminfo(list, text, "memory_bytes", "MemTotal:");
    push_meminfo(list, text, "swap_bytes", "SwapTotal:");
    hardware_push_file(list, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled", "");
    hardware_push_file(list, "huge_pages", "/proc/sys/vm/nr_hugepages", "count");
    hardware_push_file(list, "overcommit", "/proc/sys/vm/overcommit_memory", "");
    hardware_push_file(list, "numa_nodes_online", "/sys/devices/system/node/online", "");
}

static void push_system(struct hardware_list *list)
{
    char text[SMALL_BYTES], value[256];
    struct utsname name;
    if (uname(&name) == 0) {
        hardware_push(list, "kernel", pl_format(list->arena, "%s %s", name.sysname, name.release), "", "uname");
        hardware_push(list, "architecture", name.machine, "", "uname");
    } else {
        hardware_push(list, "kernel", pl_format(list->arena, "unknown: %s", strerror(errno)), "", "uname");
    }
    bool known = pl_file_read_small("/etc/os-release", text, sizeof text) >= 0 &&
                 hardware_parse_os_release(text, "PRETTY_NAME", value, sizeof value);
    hardware_push(list, "distribution", known ? value : "unknown: /etc/os-release does not say", "", "/etc/os-release");
    hardware_push_file(list, "clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "");
}

/* systemd-detect-virt answers "none" with status 1; it prefers a container to the machine below it, so both are asked. */
static void push_virtualisation(struct hardware_list *list, const char *name, const char *option)
{
    char program[512], answer[128];
    struct pl_err failed = {0};
    if (!spawn_find_program("systemd-detect-virt", program, sizeof program)) {
        hardware_push(list, name, "unknown: systemd-detect-virt is not installed", "", "systemd-detect-virt");
        return;
    }
    const char *const argv[] = {"systemd-detect-virt", option, NULL};
    struct spawn_spec spec = {.program = program, .argv = argv, .output_fd = -1};
    bool good = spawn_read(&spec, answer, sizeof answer, &failed) == PL_OK;
    trim(answer);
    if (good || strcmp(answer, "none") == 0)
        hardware_push(list, name, answer, "", pl_format(list->arena, "systemd-detect-virt %s", option));
    else
        hardware_push(list, name, pl_format(list->arena, "unknown: %s", failed.what), "", "systemd-detect-virt");
}

enum pl_code hardware_facts(const char *data_directory, struct pl_arena *arena, struct fact **ret_facts, size_t *ret_count,
                            struct pl_err *err)
{
    (void)err; /* what cannot be read is a fact too */
    struct hardware_list list = {.arena = arena};
    push_cpus(&list);
    push_memory(&list);
    push_system(&list);
    push_virtualisation(&list, "virtual_machine", "--vm");
    push_virtualisation(&list, "container", "--container");
    if (access("/sys/hypervisor/type", R_OK) == 0)
        hardware_push_file(&list, "hypervisor_type", "/sys/hypervisor/type", "");
    if (data_directory != NULL)
        hardware_push_storage(&list, data_directory);
    *ret_facts = list.facts;
    *ret_count = list.count;
    return PL_OK;
}
