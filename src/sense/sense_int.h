/* What the files of this room share: meters, the pass that fills them, and the groups of things that are read.
 *
 * A *pass* is one reading. The sensor thread makes all passes; everything that a pass changes belongs to it. Groups are set
 * up by the conducting thread before the sensor thread starts, which is also when every meter but those of relations is
 * declared. */
#ifndef PL_SENSE_SENSE_INT_H
#define PL_SENSE_SENSE_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/ring.h"
#include "record/sink.h"
#include "sense/parse_int.h"
#include "sense/sense.h"

/* ---- meters (registry.c) ---- */

/* How a counter that steps back is read. */
enum sense_rule {
    SENSE_PLAIN,  /* as it is: gauges, and counters that cannot step back */
    SENSE_CLAMP,  /* sums and samplings that may step back a little: the highest value so far */
    SENSE_REBASE, /* a counter that its owner may reset (statistics after a crash): goes on from where it was */
};

struct sense_def {
    const char *name, *unit;
    enum metric_kind kind;
    enum sense_rule rule;
};

struct sense_meter {
    int64_t id; /* 0: not declared, readings are dropped */
    enum sense_rule rule;
    bool seen;
    double last, base;
};

struct sense_registry {
    struct pl_arena *arena;
    struct metric *metrics;
    size_t count, capacity, told;
    int64_t next_id;
};

/* Texts are copied. */
void sense_registry_add(struct sense_registry *registry, const char *source, const struct sense_def *def, const char *how,
                        struct sense_meter *ret_meter);
/* Tells the sink what it has not been told yet. */
PL_MUST_CHECK enum pl_code sense_registry_tell(struct sense_registry *registry, struct sink *sink, struct pl_err *err);

/* ---- the pass (registry.c) ---- */

enum sense_depth {
    SENSE_BACKENDS, /* the memory of a sample of backends and nothing else */
    SENSE_TICK,     /* under load, every interval: what costs next to nothing */
    SENSE_SLOW,     /* the tick of every other second: more files of single processes */
    SENSE_MARK,     /* everything but what disturbs */
    SENSE_QUIET,    /* that as well */
};
#define SENSE_SLOW_NS (2 * INT64_C(1000000000))

struct sense_pass {
    struct pl_ring *ring;
    enum sense_depth depth;
    enum phase phase;
    int64_t trial_id;
    int64_t t_ns;            /* stamped on what is put; set by sense_pass_stamp when a group was read */
    int64_t quiet_end_ns;    /* no smaps_rollup after that */
    int64_t missed;          /* readings that should have been there, since sense_new */
    _Atomic int64_t dropped; /* samples that the ring had no room for, since sense_new */
    char *text;              /* for one file at a time */
    size_t text_size;
};

void sense_pass_stamp(struct sense_pass *pass);
void sense_pass_put(struct sense_pass *pass, struct sense_meter *meter, double value);
void sense_pass_put_known(struct sense_pass *pass, struct sense_meter *meter, int64_t value); /* -1 is absent */
/* The whole file into pass->text; -1 when it cannot be read. Says nothing about missed. */
long sense_pass_read(struct sense_pass *pass, const char *directory, const char *name);

/* ---- the host (host.c) ---- */

enum { SENSE_HOST_METERS = 32, SENSE_MAX_DISKS = 256 };

struct sense_host {
    struct sense_meter meters[SENSE_HOST_METERS];
    struct sense_disk *disks; /* scratch for SENSE_MAX_DISKS */
    double busy_ns;           /* of the last reading, -1 when it failed */
};

void sense_host_init(struct sense_host *host, struct sense_registry *registry, struct sense_pass *pass);
void sense_host_read(struct sense_host *host, struct sense_pass *pass);
/* foreign CPU: of busy_ns, what is neither known_ns (all targets and the tool). */
void sense_host_put_foreign(struct sense_host *host, struct sense_pass *pass, double known_ns);
bool sense_disk_is_whole(const char *name, const char *sys_block); /* a disk of its own, neither part nor stack of others */

/* ---- processes (tree.c, processes.c, cpu_clock.c) ---- */

struct sense_pids {
    pid_t *pids;
    size_t count, capacity;
};
void sense_pids_release(struct sense_pids *pids);
void sense_pids_push(struct sense_pids *pids, pid_t pid);

/* CPU of a process and all its threads, ended ones too, in ns; -1 when there is none of that id. */
int64_t sense_process_cpu_ns(pid_t pid);

struct sense_tree;
/* The processes below root, root included. NULL when there is no such process. */
struct sense_tree *sense_tree_new(pid_t root);
void sense_tree_free(struct sense_tree *tree);

struct sense_tree_sums {
    int64_t cpu_ns; /* of the living and of all that were waited for; never steps back */
    int64_t threads;
    struct sense_pids pids; /* the living; owned by the tree, until the next scan */
};
/* full: looks at every process of the host; else at those outside only in turns. False when none of the tree is left. */
bool sense_tree_scan(struct sense_tree *tree, bool full, struct sense_tree_sums *ret_sums);

/* Sums over processes; those that vanish meanwhile are left out. Bytes. */
struct sense_memory_sums {
    int64_t rss, anon; /* VmRSS and RssAnon, over all */
    int64_t shmem_max; /* RssShmem of the process that has most */
    int64_t pte;       /* VmPTE, over all */
};
struct sense_io_sums {
    int64_t read_bytes, write_bytes, cancelled_bytes;
    size_t processes; /* that could be read */
};
int64_t sense_sum_rss(const struct sense_pids *pids, struct sense_pass *pass);
void sense_sum_memory(const struct sense_pids *pids, struct sense_pass *pass, struct sense_memory_sums *ret_sums);
void sense_sum_io(const struct sense_pids *pids, struct sense_pass *pass, struct sense_io_sums *ret_sums);
int64_t sense_sum_descriptors(const struct sense_pids *pids);      /* -1 when none could be read */
int64_t sense_process_hugetlb(pid_t pid, struct sense_pass *pass); /* bytes, -1 unknown */

/* ---- Pss_Anon (quiet.c) ---- */

struct sense_pss {
    size_t population, sampled;
    int64_t anon_bytes, shmem_bytes; /* sums over the sampled */
};
/* Reads smaps_rollup of as many of the processes as fit before pass->quiet_end_ns, in an order that seed and index choose.
 * Reorders pids. Processes that vanished are not in the population. */
struct sense_pss sense_pss_sample(struct sense_pids *pids, uint64_t seed, uint64_t index, struct sense_pass *pass);
/* What reading its smaps_rollup will cost, from its resident size. */
int64_t sense_pss_cost_ns(int64_t resident_bytes);

/* ---- control groups (cgroup_read.c) ---- */

struct sense_group_memory {
    int64_t anon, shmem, kernel, cache, usage; /* bytes, -1 absent; cache without shmem */
};
enum sense_group_kind { SENSE_GROUP_NONE, SENSE_GROUP_V1, SENSE_GROUP_V2 };

/* The group part of a target, found out once. Directories are borrowed. */
struct sense_group {
    const char *v1_cpuacct, *v1_memory, *v2;
    enum sense_group_kind cpu, memory, pids;
    bool io, pressure, throttled;
};
void sense_group_probe(struct sense_group *group, struct sense_pass *pass);
int64_t sense_group_cpu_ns(const struct sense_group *group, struct sense_pass *pass);       /* -1 absent */
int64_t sense_group_throttled_ns(const struct sense_group *group, struct sense_pass *pass); /* -1 absent */
bool sense_group_memory(const struct sense_group *group, struct sense_pass *pass, struct sense_group_memory *ret_memory);
bool sense_group_pids(const struct sense_group *group, struct sense_pass *pass, struct sense_pids *pids);
int64_t sense_group_threads(const struct sense_group *group, struct sense_pass *pass); /* -1 absent */
/* Pure parts, for the tests. */
void sense_memory_from_v1(const char *stat, size_t length, struct sense_group_memory *ret_memory); /* not kernel, usage */
void sense_memory_from_v2(const char *stat, size_t length, struct sense_group_memory *ret_memory); /* not usage */

/* ---- PostgreSQL (postgres.c, pg_columns.c) ---- */

enum { SENSE_PG_METERS = 64 };

/* One query and what its columns are. */
struct sense_pg_query {
    const char *sql; /* "" when there is nothing to ask */
    int count;
    struct sense_def defs[SENSE_PG_METERS];
    const char *hows[SENSE_PG_METERS];
};
/* catalog: lines "view.column" (and "role.pg_read_all_stats" when other sessions can be seen), as sense_pg_catalog_sql asks
 * for them. database: as an SQL literal, quotes included. */
extern const char sense_pg_catalog_sql[];
void sense_pg_fast_query(const char *catalog, struct pl_arena *arena, struct sense_pg_query *ret_query);
void sense_pg_slow_query(const char *catalog, const char *database, struct pl_arena *arena,
                         struct sense_pg_query *ret_query);

/* A table or index of the load's database, as a quiet pass found it. */
struct sense_relation {
    bool is_index;
    const char *name;
    double table_bytes, index_bytes, rows; /* -1 absent; an index has only index_bytes */
    int64_t t_ns;
};

struct sense_postgres;
/* NULL when the server cannot be asked. `source` and the texts are copied. */
struct sense_postgres *sense_postgres_new(const struct sense_target *target, struct sense_registry *registry);
void sense_postgres_free(struct sense_postgres *postgres);
int64_t sense_postgres_shared_bytes(const struct sense_postgres *postgres); /* shared_memory_size; -1 unknown */
void sense_postgres_read(struct sense_postgres *postgres, struct sense_pass *pass);
/* At quiet passes: process ids of the client backends, our own left out; false when they cannot be had. */
bool sense_postgres_backends(struct sense_postgres *postgres, struct sense_pass *pass, struct sense_pids *pids);
/* What the last quiet pass found; until the next one. */
size_t sense_postgres_relations(const struct sense_postgres *postgres, const struct sense_relation **ret_relations);
/* conninfo (string or URI) with another database (NULL: the same) and our application_name, as a string of its own that
 * pl_free takes back; NULL when it does not parse. It may hold a password. */
char *sense_pg_conninfo(const char *conninfo, const char *database);

/* ---- a service (service.c) ---- */

enum { SENSE_SERVICE_METERS = 32 };

struct sense_service {
    const char *source;
    pid_t pid;
    struct sense_meter meters[SENSE_SERVICE_METERS];
    struct sense_group group;
    struct sense_tree *tree;         /* NULL when the groups say everything, or there is no process */
    struct sense_postgres *postgres; /* NULL when there is none */
    struct sense_pids pids;
    int64_t hugetlb_bytes; /* the pool in huge pages; 0 when none are in use */
    double cpu_ns;         /* of the last reading, -1 when it failed */
    double memory_bytes;   /* latest anonymous + shared + kernel, as far as known */
    uint64_t seed, quiet_count;
};

void sense_service_init(struct sense_service *service, const struct sense_target *target, uint64_t seed,
                        struct sense_registry *registry, struct sense_pass *pass);
void sense_service_release(struct sense_service *service);
void sense_service_read(struct sense_service *service, struct sense_pass *pass); /* all but its PostgreSQL */
/* The memory of a sample of its backends alone. */
void sense_service_read_backends(struct sense_service *service, struct sense_pass *pass);

/* ---- the tool (tool.c) ---- */

enum { SENSE_TOOL_METERS = 16 };

struct sense_tool {
    struct sense_meter meters[SENSE_TOOL_METERS];
    int64_t dropped_id; /* of sense_dropped: sense_poll tells it too */
};
void sense_tool_init(struct sense_tool *tool, struct sense_registry *registry);
/* start_ns: when the pass began; skipped: ticks that were not taken. Returns the CPU of the process in ns. */
double sense_tool_read(struct sense_tool *tool, struct sense_pass *pass, int64_t start_ns, int64_t skipped);

#endif
