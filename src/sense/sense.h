/* The sensors: one thread that reads the host, each service's processes and PostgreSQL, and the tool itself, and tells what
 * that costs. Readings go through a ring to the conducting thread, which hands them to the sink. Every metric is described
 * in docs/metrics.md. All functions are for the conducting thread. */
#ifndef PL_SENSE_SENSE_H
#define PL_SENSE_SENSE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/sink.h"

struct sense_target {
    const char *source;                      /* the service's name; metrics carry it */
    pid_t pid;                               /* its first process: the tree below it is the service */
    const char *v1_cpuacct, *v1_memory, *v2; /* control group directories, "" when there is none */
    const char *conninfo;                    /* PostgreSQL to ask; NULL: none. A database that the load does not use */
    const char *database;                    /* the load's database: its row of pg_stat_database is read */
};

struct sense_spec {
    const struct sense_target *targets;
    int target_count;
    int64_t interval_ns;     /* 0 = 1 s */
    int64_t quiet_budget_ns; /* most time for smaps_rollup at one quiet point, all services together; 0 = 500 ms */
    uint64_t seed;           /* which backends are sampled at quiet points */
};

struct sense;

/* Opens everything, tells the sink every metric (ids from first_metric_id on), starts the thread. A target that cannot be
 * read in part is not an error: its metrics are not declared, or say in `how` what they were read from instead. */
PL_MUST_CHECK enum pl_code sense_new(const struct sense_spec *spec, int64_t first_metric_id, struct sink *sink,
                                     struct sense **ret_sense, struct pl_err *err);
void sense_free(struct sense *sense); /* NULL is fine */
/* First id that is still free. sense_quiet takes more for relations that it meets for the first time, so ask again after
 * it; and tell the sensors which ids others took meanwhile: theirs go on from next_id. */
int64_t sense_next_metric_id(const struct sense *sense);
void sense_skip_metric_ids(struct sense *sense, int64_t next_id);

/* From now on samples carry this trial; ticks are taken at start_ns, start_ns + interval, ..., until the next call. A tick
 * whose moment passes while another reading goes on is not made up for: it is counted in the tool's metric sense_skipped.
 * start_ns INT64_MAX: no ticks, only marks. */
void sense_begin(struct sense *sense, int64_t trial_id, enum phase phase, int64_t start_ns);
void sense_phase(struct sense *sense, enum phase phase); /* the phase changed; ticks go on */
void sense_end(struct sense *sense);                     /* no more ticks; returns when none is going on */

/* One full reading now; returns when it is in the ring. For exact differences across a window. */
void sense_mark(struct sense *sense, enum phase phase);

/* A mark plus what is too dear to read under load: Pss_Anon of a seeded sample of processes within the budget, sizes of the
 * database, its tables and indexes (as metrics of source "SERVICE/RELATION"). Only at quiet points. New relations are
 * declared to the sink. Conducting thread; blocks for the reading. */
PL_MUST_CHECK enum pl_code sense_quiet(struct sense *sense, enum phase phase, struct sink *sink, struct pl_err *err);

/* Only the memory of backends: Pss_Anon of a seeded sample within the budget. For the moments when the load's connections
 * are open and nothing is under way: before it starts and after it ended. Conducting thread; blocks for the reading. */
void sense_backends(struct sense *sense, enum phase phase);

/* Moves what was read to the sink. When the ring was full meanwhile, also says how many samples are lost (sense_dropped).
 */
PL_MUST_CHECK enum pl_code sense_poll(struct sense *sense, struct sink *sink, struct pl_err *err);

/* Latest values for the live view, of the first target. */
struct sense_glance {
    double memory_bytes, cpu_cores;
};
struct sense_glance sense_look(const struct sense *sense);

#endif
