/* The guard: a small child process that outlives the tool by a moment. It learns of every process group, directory and
 * control group that the study makes; when the tool is gone, however it went (also by SIGKILL), it kills and removes them
 * all. Must be started while the tool has one thread. */
#ifndef PL_SERVICE_GUARD_H
#define PL_SERVICE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct guard;

PL_MUST_CHECK enum pl_code guard_start(struct guard **ret_guard, struct pl_err *err);

/* GUARD_GROUP: the process group and session pgid, and all that descends from it. GUARD_DIRECTORY: the tree, and processes
 * that work inside it and have no terminal (a PostgreSQL backend leaves its server's group, but stays in its directory).
 * GUARD_CGROUP: the control group and what runs in it. GUARD_SYSV: the System V shared memory segment named by the
 * postmaster.pid of a PostgreSQL data directory, once nobody has it attached. GUARD_DSM: PostgreSQL's control segment under
 * /dev/shm and the segments it lists. GUARD_CONTROLLERS: controllers that a control group passes on for the study alone. */
enum guard_what { GUARD_GROUP, GUARD_DIRECTORY, GUARD_CGROUP, GUARD_SYSV, GUARD_DSM, GUARD_CONTROLLERS };
/* pgid: for GUARD_GROUP; for GUARD_CONTROLLERS cgroup.passed_on; else 0. path: absolute, for the others (only directories
 * and control groups whose last part starts with "plimsoll-"), "" or NULL otherwise. Does not fail: a guard that was killed
 * guards nothing any more. */
void guard_add(struct guard *guard, enum guard_what what, pid_t pgid, const char *path);
void guard_remove(struct guard *guard, enum guard_what what, pid_t pgid, const char *path);

/* Removes the tree at an absolute path whose last part starts with "plimsoll-": follows no symbolic link and enters no
 * other file system. True when it is gone, also when it never was there. Needs no guard. */
bool guard_remove_directory(const char *path);

/* Ends it; what is still registered is killed and removed. */
void guard_stop(struct guard *guard);

#endif
