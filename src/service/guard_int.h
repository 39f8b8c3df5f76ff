/* What the guard and service_stop have in common: making processes and their leftovers go away. */
#ifndef PL_SERVICE_GUARD_INT_H
#define PL_SERVICE_GUARD_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/guard.h"

struct guard_item {
    enum guard_what what;
    pid_t pgid;
    char path[320];
};

/* Sends SIGKILL to every process that belongs to the items, again and again until none is left or limit_ns has passed.
 * Returns how many are left; zombies do not count. The caller and process 1 are never touched. */
int guard_kill(const struct guard_item *items, size_t count, int64_t limit_ns);

/* Removes segments, control groups and directories, in this order. Their processes must be gone. False when something
 * stays. */
bool guard_remove_leftovers(const struct guard_item *items, size_t count);

#endif
