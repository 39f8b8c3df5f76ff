/* The parts of the hardware room that meet. */
#ifndef PL_HARDWARE_HARDWARE_INT_H
#define PL_HARDWARE_HARDWARE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware/hardware.h"

struct hardware_list {
    struct pl_arena *arena;
    struct fact *facts;
    size_t count, capacity;
};

/* All four are copied into the arena. */
void hardware_push(struct hardware_list *list, const char *name, const char *value, const char *unit, const char *how);

/* The content of a small file without its last newline as a fact, or "unknown: REASON". */
void hardware_push_file(struct hardware_list *list, const char *name, const char *path, const char *unit);

/* Facts of the file system and the device under a directory. */
void hardware_push_storage(struct hardware_list *list, const char *directory);

/* What /proc/cpuinfo says; 0 and "" for what it does not say. */
struct hardware_cpus {
    char model[128];
    int sockets, cores, threads;
    bool hypervisor; /* the flag that a guest sees */
};
void hardware_parse_cpuinfo(const char *text, struct hardware_cpus *ret_cpus);

/* The value of a line KEY=VALUE of os-release(5), without quotes; false when there is none. */
bool hardware_parse_os_release(const char *text, const char *key, char *ret_value, size_t size);

/* The word in brackets of "always [madvise] never", or the whole text. */
void hardware_parse_choice(const char *text, char *ret_choice, size_t size);

struct hardware_fio {
    int64_t flush_p50_ns, flush_p99_ns, flush_count;
    double writes_per_s;
};
/* The answer of `fio --output-format=json` with one job that syncs after each write. PL_INPUT when it is not that. */
PL_MUST_CHECK enum pl_code hardware_parse_fio(const char *text, size_t length, struct hardware_fio *ret_fio,
                                              struct pl_err *err);

/* Runs fio in a directory of its own below `directory`, which is removed again. PL_NOT_FOUND when fio is not installed. */
PL_MUST_CHECK enum pl_code hardware_run_fio(const char *program, const char *directory, int64_t for_ns,
                                            const volatile int *stop, struct hardware_fio *ret_fio, struct pl_err *err);

#endif
