/* All readers of the kernel's text files over the same bytes. The first byte chooses one; what it found must be what it
 * promises: numbers that are not negative, names that end, counts within the capacity. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sense/sense_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_cpu(const char *text, size_t length)
{
    struct sense_cpu cpu;
    if (!sense_parse_cpu(text, length, &cpu))
        return;
    require(cpu.user >= 0 && cpu.kernel >= 0 && cpu.steal >= 0 && cpu.running >= -1 && cpu.blocked >= -1);
    require(sense_cpu_busy(&cpu) >= cpu.user && sense_cpu_total(&cpu) >= sense_cpu_busy(&cpu));
}

static void try_pressure(const char *text, size_t length)
{
    struct sense_pressure pressure;
    bool found = sense_parse_pressure(text, length, &pressure);
    require(pressure.some_us >= -1 && pressure.full_us >= -1);
    require(found == (pressure.some_us >= 0 || pressure.full_us >= 0));
}

static void try_stat(const char *text, size_t length)
{
    struct sense_stat stat;
    if (sense_parse_stat(text, length, &stat))
        require(stat.pid >= 0 && stat.ppid >= 0 && stat.user >= 0 && stat.threads >= 0 && stat.rss_pages >= 0);
}

static void try_fields(const char *text, size_t length)
{
    static const char *const keys[] = {"anon", "RssAnon", "Pss_Anon", "usage_usec", "total_rss", "read_bytes"};
    int64_t values[6];
    size_t found = sense_parse_fields(text, length, keys, 6, values), known = 0;
    for (size_t i = 0; i < 6; i++) {
        require(values[i] >= -1);
        known += values[i] >= 0;
    }
    require(found == known);
}

static void try_memory(const char *text, size_t length)
{
    struct sense_group_memory memory = {-1, -1, -1, -1, -1};
    sense_memory_from_v1(text, length, &memory);
    require(memory.anon >= -1 && memory.shmem >= -1 && memory.cache >= -1);
    sense_memory_from_v2(text, length, &memory);
    require(memory.anon >= -1 && memory.shmem >= -1 && memory.cache >= -1 && memory.kernel >= -1);
}

static void try_disks(const char *text, size_t length)
{
    struct sense_disk disks[4];
    size_t count = sense_parse_disks(text, length, disks, 4);
    require(count <= 4);
    for (size_t i = 0; i < count; i++) {
        require(memchr(disks[i].name, '\0', sizeof disks[i].name) != NULL && disks[i].name[0] != '\0');
        require(disks[i].reads >= 0 && disks[i].read_bytes >= 0 && disks[i].write_bytes >= 0 && disks[i].flushes >= -1);
    }
}

static void try_numbers(const char *text, size_t length)
{
    int64_t value = 0, read_bytes, write_bytes, resident = 0, shared = 0;
    pid_t pids[3] = {1, 1, 1};
    if (sense_parse_number(text, length, &value))
        require(value >= 0);
    sense_parse_io_stat(text, length, &read_bytes, &write_bytes);
    require(read_bytes >= 0 && write_bytes >= 0);
    if (sense_parse_statm(text, length, &resident, &shared))
        require(resident >= 0 && shared >= 0);
    size_t count = sense_parse_pids(text, length, pids, 3);
    require(count <= length);
    for (size_t i = 0; i < 3; i++)
        require(pids[i] > 0);
}

static void try_catalog(const char *text, size_t length)
{
    struct pl_arena *arena = pl_arena_new();
    struct sense_pg_query query;
    const char *catalog = pl_strndup(arena, text, length);
    sense_pg_fast_query(catalog, arena, &query);
    require(query.count >= 1 && query.count <= SENSE_PG_METERS);
    sense_pg_slow_query(catalog, "'bench'", arena, &query);
    require(query.count >= 0 && query.count <= SENSE_PG_METERS && (query.count > 0) == (query.sql[0] != '\0'));
    pl_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(const char *text, size_t length) = {try_cpu,    try_pressure, try_stat,    try_fields,
                                                                     try_memory, try_disks,    try_numbers, try_catalog};
    enum { TRIES = sizeof tries / sizeof *tries };
    if (size == 0)
        return 0;
    /* a printable letter, so that a seed is a letter and the text */
    tries[data[0] % TRIES]((const char *)data + 1, size - 1);
    return 0;
}
