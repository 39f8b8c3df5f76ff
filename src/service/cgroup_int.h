/* Control groups of a service, nested below the tool's own (cgroups(7); Documentation/admin-guide/cgroup-v1 and -v2). */
#ifndef PL_SERVICE_CGROUP_INT_H
#define PL_SERVICE_CGROUP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "service/service.h"

/* Directories of the groups that the tool itself is in; "" where the host has no such tree. */
struct cgroup_parents {
    char v1_cpuacct[256], v1_memory[256], v2[256];
};

/* From the texts of /proc/self/mountinfo and /proc/self/cgroup. No I/O. */
void cgroup_find_parents(const char *mountinfo, const char *self, struct cgroup_parents *ret_parents);

/* The same for this process, read now. */
void cgroup_read_parents(struct pl_arena *arena, struct cgroup_parents *ret_parents);

/* Makes the groups "plimsoll-PID-NAME" below the parents, as many as the host lets it. What is not possible is left "" and
 * told in `why`, never an error. `why` lives in the arena. */
void cgroup_make(const struct cgroup_parents *parents, const char *name, struct pl_arena *arena, struct cgroup *ret_cgroup);

/* Lets the parent of a v2 group stop passing on controllers that cgroup_make made it pass on (cgroup.passed_on), once no
 * group of ours is below it any more. What the kernel refuses stays. */
void cgroup_take_back(const char *parent, int passed_on);

/* Puts a process into every group; one that refuses it is removed and told in `why`. */
void cgroup_join(struct cgroup *cgroup, pid_t pid, struct pl_arena *arena);

/* The group directories, without those that are "". Returns how many. */
size_t cgroup_paths(const struct cgroup *cgroup, const char *ret_paths[3]);

#endif
