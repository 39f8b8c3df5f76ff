/* On what was it measured? Facts about the machine, and a few probes of the disk and of one PostgreSQL. */
#ifndef PL_HARDWARE_HARDWARE_H
#define PL_HARDWARE_HARDWARE_H

#include "base/arena.h"
#include "base/err.h"
#include "record/record.h"
#include "record/sink.h"

/* CPU model, cores, memory, kernel, virtualisation, clock source; file system and device under data_directory (NULL: not
 * told). Facts of scope "host", in the arena. What cannot be read is a fact whose value says so, never missing silently. */
PL_MUST_CHECK enum pl_code hardware_facts(const char *data_directory, struct pl_arena *arena, struct fact **ret_facts,
                                          size_t *ret_count, struct pl_err *err);

/* Declares the probes' metrics (source "hardware") and runs them: write + fsync latency in data_directory with fio (p50,
 * p99), one-row commit latency and SELECT 1 round trip through conninfo (p50, p99; NULL: left out). Each probe is repeated
 * `repeats` times: one sample per metric and repeat. for_ns: how long each may take. A probe whose program is not installed
 * is not declared and is told as a fact "probe.NAME" with the reason (facts are pushed through `note`). */
struct hardware_spec {
    const char *data_directory;
    const char *conninfo;
    int repeats;
    int64_t for_ns;
    int64_t trial_id, first_metric_id;
    void (*note)(void *ctx, const struct fact *fact);
    void *note_ctx;
    const volatile int *stop;
};
PL_MUST_CHECK enum pl_code hardware_probe(const struct hardware_spec *spec, struct sink *sink, int64_t *ret_next_metric_id,
                                          struct pl_err *err);

/* The flush probe alone, short: before and after a study's trials (p50 and p99 of write + fsync of 8 KiB). Own loop of
 * pwrite + fdatasync: it must be cheap and always there. */
PL_MUST_CHECK enum pl_code hardware_flush(const char *directory, int64_t for_ns, int64_t *ret_p50_ns, int64_t *ret_p99_ns,
                                          int64_t *ret_count, struct pl_err *err);

#endif
