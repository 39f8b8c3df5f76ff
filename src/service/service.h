/* Services: starting what is measured, knowing that it lives, stopping it, leaving nothing behind. */
#ifndef PL_SERVICE_SERVICE_H
#define PL_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "record/record.h"

struct guard; /* guard.h */

/* The control groups of one service. "" = not available there. */
struct cgroup {
    char v1_cpuacct[256], v1_memory[256], v2[256]; /* directories */
    const char *layout;                            /* "v1", "v2", "hybrid", "none": the study names it */
    const char *why; /* why it is not all that the host could give, and what was changed for it; "" otherwise */
    int passed_on;   /* which controllers the parent of v2 passes on for this study alone; see cgroup_take_back */
};

enum service_stop { SERVICE_STOP_CLEAN, SERVICE_STOP_KILL };

struct service {
    const char *name, *kind;
    char version[64]; /* as the server itself says it */
    pid_t pid;        /* its first process; 0 when not running */
    struct cgroup cgroup;
    char directory[128]; /* private temporary directory, removed at the end */
    char socket_directory[128];
    int port;
    int64_t ready_ns; /* from the start of the process to the first good answer */
    bool exited;      /* found dead by service_check */
    int exit_status;  /* of waitpid, when exited */
    const struct plan_service *plan;
    struct guard *guard;
    bool is_attached; /* somebody else runs it: no process, no directory; it is always taken to live */
};

/* Starts a service and waits until it answers. Errors: PL_NOT_FOUND (which paths were tried, which package brings it),
 * PL_SERVICE (would not start: with the last lines of its log in the hint), PL_IO, PL_INTERRUPTED.
 * The service lives in memory of the arena. */
PL_MUST_CHECK enum pl_code service_start(const struct plan_service *plan, struct guard *guard, const volatile int *stop,
                                         struct pl_arena *arena, struct service **ret_service, struct pl_err *err);

/* As service_start, but on a copy of the files of a paused service of the same kind, version and user: all that are started
 * so begin with the same bytes. The copy has reached the disk before the service starts. */
PL_MUST_CHECK enum pl_code service_start_copy(const struct plan_service *plan, const struct service *source,
                                              struct guard *guard, const volatile int *stop, struct pl_arena *arena,
                                              struct service **ret_service, struct pl_err *err);

/* Stops it in good order and keeps its directory, for service_continue, service_start_copy and at last service_stop. After
 * an error (it was dead, or had to be killed) only service_stop is left. */
PL_MUST_CHECK enum pl_code service_pause(struct service *service, struct pl_err *err);

/* Starts a paused one again and waits until it answers; errors are those of service_start, and only service_stop is left.
 */
PL_MUST_CHECK enum pl_code service_continue(struct service *service, const volatile int *stop, struct pl_err *err);

/* Builds the plan's data set, if it names one, in the database service_database() names. progress may be NULL: called with
 * [0, 1] now and then. */
PL_MUST_CHECK enum pl_code service_load_data(struct service *service, void (*progress)(void *ctx, double done), void *ctx,
                                             const volatile int *stop, struct pl_err *err);

/* libpq connection string for the data's database ("bench"), or for the one the sensors use ("postgres"). */
const char *service_conninfo(const struct service *service, const char *database, char *buf, size_t size);
#define SERVICE_DATA_DATABASE "bench"
#define SERVICE_SENSOR_DATABASE "postgres"

/* Is it alive? Does not block. When it died, fills *ret_fault (code "SIGKILL" or "EXIT 1", example: last log lines; texts
 * live in the arena) and returns false. */
bool service_check(struct service *service, struct pl_arena *arena, struct fault *ret_fault);

/* Vacuums what the load touches and takes a checkpoint, so that trials start alike (ACT_TIDY). PL_INTERRUPTED soon after
 * *stop (may be NULL) is not zero. */
PL_MUST_CHECK enum pl_code service_tidy(struct service *service, const volatile int *stop, struct pl_err *err);

/* What it is, for the study: version, settings that differ from the defaults and those of the plan, paths of programs. No
 * secrets. Array in the arena. */
PL_MUST_CHECK enum pl_code service_facts(struct service *service, const volatile int *stop, struct pl_arena *arena,
                                         struct fact **ret_facts, size_t *ret_count, struct pl_err *err);

/* Stops it, with all its processes, and removes its directory and groups. Safe to call twice and on a dead one. Always
 * leaves nothing behind; an error says that it had to be killed. */
enum pl_code service_stop(struct service *service, enum service_stop how, struct pl_err *err);

#endif
