/* Child programs: started in a session of their own, without privileges and with a minimal environment, dying with the
 * tool.
 *
 * A child is killed by the kernel when the thread that started it ends (PR_SET_PDEATHSIG), so call from the conducting
 * thread of a tool that lives as long. It reads /dev/null, works in its own directory, and sees no descriptor of the tool.
 */
#ifndef PL_SERVICE_SPAWN_H
#define PL_SERVICE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

struct cgroup; /* service.h */
struct guard;  /* guard.h */

enum { SPAWN_GROUPS_MAX = 64 };

struct spawn_user {
    bool change; /* false: the child runs as the tool does */
    char name[64];
    uid_t uid;
    gid_t gid;
    gid_t groups[SPAWN_GROUPS_MAX];
    int group_count;
};

/* Who a service runs as. Not root: as the tool, whatever is wanted. Root: `wanted`, or when NULL "postgres", or else
 * "nobody"; a user that is not there, or is root again, is PL_NOT_FOUND or PL_USAGE. */
PL_MUST_CHECK enum pl_code spawn_user_find(const char *wanted, struct spawn_user *ret_user, struct pl_err *err);

/* Can that user reach and enter the directory? Tried in a child; also false when that could not be tried. */
bool spawn_user_can_enter(const struct spawn_user *user, const char *directory);

struct spawn_spec {
    const char *program;           /* absolute path */
    const char *const *argv;       /* NULL-ended, with the program's name first */
    const char *directory;         /* working directory and HOME; NULL: "/" */
    const char *library_path;      /* LD_LIBRARY_PATH; NULL: none */
    const struct spawn_user *user; /* NULL: as the tool */
    struct cgroup *cgroup;         /* joined before the program starts; NULL: none. One that refuses is left out of it */
    struct guard *guard;           /* told of the process group before the program starts; NULL: none */
    struct pl_arena *arena;        /* for cgroup->why; NULL when there is no cgroup */
    int output_fd;                 /* standard output and error; -1: /dev/null */
};

/* Starts it; *ret_pid is also its session and process group. *ret_start_ns (may be NULL): just before the fork.
 * PL_NOT_FOUND or PL_IO when the program cannot be started, with the reason. Who starts a child waits for it. */
PL_MUST_CHECK enum pl_code spawn_start(const struct spawn_spec *spec, pid_t *ret_pid, int64_t *ret_start_ns,
                                       struct pl_err *err);

/* Starts it and waits: *ret_status is that of waitpid. After limit_ns it is killed and the call is PL_SERVICE; when *stop
 * (may be NULL) becomes non-zero PL_INTERRUPTED. Nothing of it is left running. */
PL_MUST_CHECK enum pl_code spawn_run(const struct spawn_spec *spec, int64_t limit_ns, const volatile int *stop,
                                     int *ret_status, struct pl_err *err);

/* The same for a short answer: standard output and error, cut at size, end in NUL in buf. A status that is not 0 is
 * PL_SERVICE. Limit 10 s. */
PL_MUST_CHECK enum pl_code spawn_read(const struct spawn_spec *spec, char *buf, size_t size, struct pl_err *err);

/* Path of an executable file with that name in a directory of $PATH, into buf; false when there is none. */
bool spawn_find_program(const char *name, char *buf, size_t size);

/* The last lines of a file, at most `lines` and as many whole ones as fit; "" when it cannot be read. Returns buf. */
const char *spawn_tail(const char *path, int lines, char *buf, size_t size);

#endif
