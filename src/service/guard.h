/* The guard: a small child process that outlives the tool by a moment. It learns of every process group, directory and control
 * group that the study makes; when the tool is gone, however it went (also by SIGKILL), it kills and removes them all.
 * Must be started while the tool has one thread. */
#ifndef PL_SERVICE_GUARD_H
#define PL_SERVICE_GUARD_H

#include <sys/types.h>

#include "base/err.h"

struct guard;

PL_MUST_CHECK enum pl_code guard_start(struct guard **ret_guard, struct pl_err *err);

enum guard_what { GUARD_GROUP, GUARD_DIRECTORY, GUARD_CGROUP };
/* pgid: for GUARD_GROUP; path: absolute, for the others (only directories whose last part starts with "plimsoll-"). */
void guard_add(struct guard *guard, enum guard_what what, pid_t pgid, const char *path);
void guard_remove(struct guard *guard, enum guard_what what, pid_t pgid, const char *path);

/* Ends it; what is still registered is killed and removed. */
void guard_stop(struct guard *guard);

#endif
