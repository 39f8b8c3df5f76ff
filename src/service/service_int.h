/* What a kind of service brings: one table of calls, one file each. service.c does what all kinds share: the directory, the
 * control groups, the guard, dying and clearing away. */
#ifndef PL_SERVICE_SERVICE_INT_H
#define PL_SERVICE_SERVICE_INT_H

#include "base/buf.h"
#include "service/guard_int.h"
#include "service/service.h"
#include "service/spawn.h"

enum { SERVICE_LEFTOVERS_MAX = 12 };

struct service_kind;

struct service_state {
    struct service service; /* first: the public part */
    const struct service_kind *kind;
    struct pl_arena *arena;
    struct spawn_user user;
    char log_path[160]; /* standard output and error of its first process */
    void *own;          /* of the kind */
    /* Everything that has to go when it ends; the guard knows the same. */
    struct guard_item leftovers[SERVICE_LEFTOVERS_MAX];
    size_t leftover_count;
};

struct service_facts {
    struct pl_arena *arena;
    const char *scope; /* the service's name */
    struct fact *list;
    size_t count, capacity;
};

struct service_kind {
    const char *name;
    bool is_attached; /* it runs already: no user, directory, groups or processes of ours, and `start` only looks */
    /* Makes and starts it inside service.directory, which exists and belongs to the user; sets pid, version and ready_ns.
     * source: a paused one whose files it begins with; NULL: none. On failure the caller clears away. */
    enum pl_code (*start)(struct service_state *state, const struct service_state *source, const volatile int *stop,
                          struct pl_err *err);
    /* Starts it once more, after it was stopped, on the files it left; sets pid and ready_ns. */
    enum pl_code (*start_again)(struct service_state *state, const volatile int *stop, struct pl_err *err);
    enum pl_code (*load_data)(struct service_state *state, void (*progress)(void *ctx, double done), void *ctx,
                              const volatile int *stop, struct pl_err *err);
    enum pl_code (*tidy)(struct service_state *state, const volatile int *stop, struct pl_err *err);
    /* Pushes its own facts; service_facts has pushed the common ones. */
    enum pl_code (*facts)(struct service_state *state, struct service_facts *facts, const volatile int *stop,
                          struct pl_err *err);
    /* The libpq connection string of one of its databases. */
    void (*conninfo)(const struct service_state *state, const char *database, struct pl_buf *out);
    int stop_signal;       /* asks it to end in good order */
    int64_t stop_limit_ns; /* how long it may take */
};

/* Registers what has to go at the end, here and with the guard. */
void service_add_leftover(struct service_state *state, enum guard_what what, pid_t pgid, const char *path);

/* Starts the first process with its output in log_path and sets pid. */
PL_MUST_CHECK enum pl_code service_spawn(struct service_state *state, const char *program, const char *const *argv,
                                         const char *library_path, int64_t *ret_start_ns, struct pl_err *err);

/* Whether the first process is dead; fills exited and exit_status, and kills what is left of its group. Does not block. */
bool service_is_dead(struct service_state *state);

/* All texts are copied. */
void service_push_fact(struct service_facts *facts, const char *name, const char *value, const char *unit, const char *how);

#endif
