/* Dispatch over the kinds of service, and what they share. */
#include "service/service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/attach_int.h"
#include "service/cgroup_int.h"
#include "service/postgres_int.h"
#include "service/service_int.h"

#include "base/ban.h"

#define SERVICE_KILL_LIMIT_NS (30 * PL_NS_PER_S)

enum { TAIL_LINES = 15 };

static const struct service_kind *const service_kinds[] = {&service_attach, &postgres_kind};

static struct service_state *service_state_of(struct service *service)
{
    return (struct service_state *)service; /* its first member */
}

void service_add_leftover(struct service_state *state, enum guard_what what, pid_t pgid, const char *path)
{
    if (state->leftover_count == SERVICE_LEFTOVERS_MAX)
        pl_panic("service %s registers more than %d things", state->service.name, SERVICE_LEFTOVERS_MAX);
    struct guard_item *item = &state->leftovers[state->leftover_count++];
    *item = (struct guard_item){.what = what, .pgid = pgid};
    snprintf(item->path, sizeof item->path, "%s", path != NULL ? path : "");
    if (state->service.guard != NULL)
        guard_add(state->service.guard, what, pgid, path);
}

/* Ends all its processes and removes what it made, but for the first `keep` things. False when something stayed. */
static bool service_clear(struct service_state *state, size_t keep)
{
    struct service *service = &state->service;
    bool all = guard_kill(state->leftovers, state->leftover_count, SERVICE_KILL_LIMIT_NS) == 0;
    if (service->pid > 0 && !service->exited)
        while (waitpid(service->pid, &service->exit_status, 0) < 0 && errno == EINTR)
            continue;
    if (keep > state->leftover_count)
        keep = state->leftover_count;
    all &= guard_remove_leftovers(state->leftovers + keep, state->leftover_count - keep);
    for (size_t i = keep; i < state->leftover_count && service->guard != NULL; i++)
        guard_remove(service->guard, state->leftovers[i].what, state->leftovers[i].pgid, state->leftovers[i].path);
    state->leftover_count = keep;
    service->pid = 0;
    return all;
}

/* A directory of its own that only its user can enter. */
static enum pl_code service_make_directory(struct service_state *state, struct pl_err *err)
{
    enum { SOCKET_NAME_BYTES = sizeof "/.s.PGSQL.65535", SUN_PATH_BYTES = 107 };
    struct service *service = &state->service;
    char path[4096];
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0')
        parent = "/tmp";
    if (parent[0] != '/') {
        pl_err_set(err, PL_USAGE, "TMPDIR is \"%.200s\", which is not an absolute path", parent);
        pl_err_hint(err, "It names the disk that is measured: give its whole path.");
        return err->code;
    }
    int needed = snprintf(path, sizeof path, "%s/plimsoll-XXXXXX", parent);
    if (needed < 0 || (size_t)needed >= sizeof service->directory || needed + SOCKET_NAME_BYTES > SUN_PATH_BYTES) {
        pl_err_set(err, PL_USAGE, "the temporary directory \"%.200s\" has too long a name for a socket in it", parent);
        pl_err_hint(err, "Set TMPDIR to a directory whose path has fewer than %d characters.",
                    SUN_PATH_BYTES - SOCKET_NAME_BYTES - (int)strlen("/plimsoll-XXXXXX"));
        return err->code;
    }
    if (mkdtemp(path) == NULL)
        return pl_err_os(err, PL_USAGE, errno, "cannot make a directory in \"%.200s\"", parent);
    snprintf(service->directory, sizeof service->directory, "%.*s", (int)sizeof service->directory - 1, path);
    snprintf(service->socket_directory, sizeof service->socket_directory, "%s", service->directory);
    snprintf(state->log_path, sizeof state->log_path, "%s/log", service->directory);
    service_add_leftover(state, GUARD_DIRECTORY, 0, service->directory);
    if (state->user.change && chown(path, state->user.uid, state->user.gid) < 0)
        return pl_err_os(err, PL_IO, errno, "cannot give \"%.200s\" to the user \"%s\"", path, state->user.name);
    if (state->user.change && !spawn_user_can_enter(&state->user, path)) {
        pl_err_set(err, PL_USAGE, "the user \"%s\" cannot enter \"%.200s\"", state->user.name, parent);
        pl_err_hint(err, "Set TMPDIR to a directory that others may pass through, or name another `user` for the service.");
        return err->code;
    }
    return PL_OK;
}

static void service_make_groups(struct service_state *state)
{
    struct cgroup_parents parents;
    const char *paths[3];
    cgroup_read_parents(state->arena, &parents);
    cgroup_make(&parents, state->service.name, state->arena, &state->service.cgroup);
    size_t count = cgroup_paths(&state->service.cgroup, paths);
    for (size_t i = 0; i < count; i++)
        service_add_leftover(state, GUARD_CGROUP, 0, paths[i]);
    if (state->service.cgroup.passed_on != 0)
        service_add_leftover(state, GUARD_CONTROLLERS, state->service.cgroup.passed_on, parents.v2);
}

static enum pl_code service_start_kind(struct service_state *state, const struct service_state *source,
                                       const volatile int *stop, struct pl_err *err)
{
    enum pl_code code = spawn_user_find(state->service.plan->user, &state->user, err);
    if (code == PL_OK)
        code = service_make_directory(state, err);
    if (code != PL_OK)
        return code;
    service_make_groups(state);
    return state->kind->start(state, source, stop, err);
}

static enum pl_code service_make(const struct plan_service *plan, const struct service_state *source, struct guard *guard,
                                 const volatile int *stop, struct pl_arena *arena, struct service **ret_service,
                                 struct pl_err *err)
{
    struct service_state *state = pl_alloc(arena, 1, sizeof *state);
    for (size_t i = 0; i < sizeof service_kinds / sizeof *service_kinds; i++)
        if (strcmp(service_kinds[i]->name, plan->kind) == 0)
            state->kind = service_kinds[i];
    if (state->kind == NULL)
        return pl_err_set(err, PL_USAGE, "there is no service kind \"%s\"", plan->kind);
    state->arena = arena;
    state->service = (struct service){.name = plan->name, .kind = state->kind->name, .plan = plan, .guard = guard};
    state->service.cgroup = (struct cgroup){.layout = "none", .why = ""};
    state->service.is_attached = state->kind->is_attached;
    enum pl_code code = state->kind->is_attached ? state->kind->start(state, source, stop, err)
                                                 : service_start_kind(state, source, stop, err);
    if (code != PL_OK) {
        service_clear(state, 0);
        pl_err_context(err, "service \"%s\"", plan->name);
        return code;
    }
    *ret_service = &state->service;
    return PL_OK;
}

enum pl_code service_start(const struct plan_service *plan, struct guard *guard, const volatile int *stop,
                           struct pl_arena *arena, struct service **ret_service, struct pl_err *err)
{
    return service_make(plan, NULL, guard, stop, arena, ret_service, err);
}

enum pl_code service_start_copy(const struct plan_service *plan, const struct service *source, struct guard *guard,
                                const volatile int *stop, struct pl_arena *arena, struct service **ret_service,
                                struct pl_err *err)
{
    return service_make(plan, (const struct service_state *)source, guard, stop, arena, ret_service, err);
}

enum pl_code service_spawn(struct service_state *state, const char *program, const char *const *argv,
                           const char *library_path, int64_t *ret_start_ns, struct pl_err *err)
{
    int log_fd = open(state->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot open \"%s\"", state->log_path);
    struct spawn_spec spec = {.program = program,
                              .argv = argv,
                              .directory = state->service.directory,
                              .library_path = library_path,
                              .user = &state->user,
                              .cgroup = &state->service.cgroup,
                              .guard = state->service.guard,
                              .arena = state->arena,
                              .output_fd = log_fd};
    enum pl_code code = spawn_start(&spec, &state->service.pid, ret_start_ns, err);
    close(log_fd);
    if (code == PL_OK)
        service_add_leftover(state, GUARD_GROUP, state->service.pid, NULL);
    return code;
}

bool service_is_dead(struct service_state *state)
{
    struct service *service = &state->service;
    siginfo_t info = {.si_pid = 0};
    if (service->exited || service->pid <= 0)
        return true;
    if (waitid(P_PID, (id_t)service->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != service->pid)
        return false;
    /* its number cannot be given away as long as it is not reaped */
    kill(-service->pid, SIGKILL);
    while (waitpid(service->pid, &service->exit_status, 0) < 0 && errno == EINTR)
        continue;
    service->exited = true;
    return true;
}

bool service_check(struct service *service, struct pl_arena *arena, struct fault *ret_fault)
{
    struct service_state *state = service_state_of(service);
    if (service->is_attached || !service_is_dead(state))
        return true;
    const char *code = "STOPPED", *abbreviation;
    if (service->exited && WIFSIGNALED(service->exit_status)) {
        abbreviation = sigabbrev_np(WTERMSIG(service->exit_status));
        code = pl_format(arena, "SIG%s", abbreviation != NULL ? abbreviation : "?");
    } else if (service->exited) {
        code = pl_format(arena, "EXIT %d", WEXITSTATUS(service->exit_status));
    }
    char *tail = pl_alloc(arena, 4096, 1);
    *ret_fault = (struct fault){.source = service->name, .code = code, .count = 1, .first_ns = pl_clock_ns()};
    ret_fault->example = spawn_tail(state->log_path, TAIL_LINES, tail, 4096);
    return false;
}

enum pl_code service_load_data(struct service *service, void (*progress)(void *ctx, double done), void *ctx,
                               const volatile int *stop, struct pl_err *err)
{
    struct service_state *state = service_state_of(service);
    if (service->plan->data_kind == NULL)
        return PL_OK;
    enum pl_code code = state->kind->load_data(state, progress, ctx, stop, err);
    if (code != PL_OK && code != PL_INTERRUPTED)
        pl_err_context(err, "data of service \"%s\"", service->name);
    return code;
}

const char *service_conninfo(const struct service *service, const char *database, char *buf, size_t size)
{
    const struct service_state *state = (const struct service_state *)service;
    struct pl_buf out;
    pl_buf_init(&out, size - 1);
    state->kind->conninfo(state, database, &out);
    snprintf(buf, size, "%s", pl_buf_text(&out));
    pl_buf_release(&out);
    return buf;
}

enum pl_code service_tidy(struct service *service, const volatile int *stop, struct pl_err *err)
{
    struct service_state *state = service_state_of(service);
    enum pl_code code = state->kind->tidy(state, stop, err);
    if (code != PL_OK && code != PL_INTERRUPTED)
        pl_err_context(err, "tidying service \"%s\"", service->name);
    return code;
}

void service_push_fact(struct service_facts *facts, const char *name, const char *value, const char *unit, const char *how)
{
    facts->list = pl_grow(facts->arena, facts->list, facts->count, facts->count + 1, sizeof *facts->list, &facts->capacity);
    facts->list[facts->count++] = (struct fact){.scope = pl_strdup(facts->arena, facts->scope),
                                                .name = pl_strdup(facts->arena, name),
                                                .value = pl_strdup(facts->arena, value),
                                                .unit = pl_strdup(facts->arena, unit),
                                                .how = pl_strdup(facts->arena, how)};
}

/* Of what we have started. */
static void push_own_facts(const struct service *service, struct service_facts *facts)
{
    const struct service_state *state = (const struct service_state *)service;
    service_push_fact(facts, "user", state->user.name, "", "getpwnam");
    if (service->plan->data_kind != NULL) {
        service_push_fact(facts, "data_kind", service->plan->data_kind, "", "plan");
        service_push_fact(facts, "data_scale", pl_format(facts->arena, "%lld", (long long)service->plan->data_scale), "",
                          "plan");
    }
    service_push_fact(facts, "ready_ns", pl_format(facts->arena, "%lld", (long long)service->ready_ns), "ns",
                      "from the start of the process to the first good answer");
    service_push_fact(facts, "cgroup.layout", service->cgroup.layout, "", "mkdir");
    if (service->cgroup.why[0] != '\0')
        service_push_fact(facts, "cgroup.why", service->cgroup.why, "", "mkdir");
}

enum pl_code service_facts(struct service *service, const volatile int *stop, struct pl_arena *arena,
                           struct fact **ret_facts, size_t *ret_count, struct pl_err *err)
{
    struct service_state *state = service_state_of(service);
    struct service_facts facts = {.arena = arena,
                                  .scope = service->plan->scope != NULL ? service->plan->scope : service->name};
    service_push_fact(&facts, "kind", service->kind, "", "plan");
    if (!service->is_attached)
        push_own_facts(service, &facts);
    enum pl_code code = state->kind->facts(state, &facts, stop, err);
    if (code != PL_OK) {
        pl_err_context(err, "facts of service \"%s\"", service->name);
        return code;
    }
    *ret_facts = facts.list;
    *ret_count = facts.count;
    return PL_OK;
}

/* Asks it to end in good order. False when it did not in time. */
static bool service_end(struct service_state *state)
{
    struct service *service = &state->service;
    if (service_is_dead(state))
        return true;
    int64_t deadline_ns = pl_clock_ns() + state->kind->stop_limit_ns;
    kill(service->pid, state->kind->stop_signal);
    kill(service->pid, SIGCONT); /* somebody may have paused it: it would not see the signal */
    while (!service_is_dead(state)) {
        if (pl_clock_ns() >= deadline_ns)
            return false;
        pl_clock_sleep_until(pl_clock_ns() + 2 * PL_NS_PER_MS);
    }
    return true;
}

enum pl_code service_pause(struct service *service, struct pl_err *err)
{
    enum { DIRECTORY = 1 }; /* the first thing that is registered */
    struct service_state *state = service_state_of(service);
    bool was_alive = !service_is_dead(state), in_time = service_end(state);
    if (!service_clear(state, DIRECTORY))
        return pl_err_set(err, PL_SERVICE, "service \"%s\" left something behind", service->name);
    if (!was_alive || !in_time || !WIFEXITED(service->exit_status) || WEXITSTATUS(service->exit_status) != 0)
        return pl_err_set(err, PL_SERVICE, "service \"%s\" did not stop in good order", service->name);
    return PL_OK;
}

enum pl_code service_continue(struct service *service, const volatile int *stop, struct pl_err *err)
{
    struct service_state *state = service_state_of(service);
    service->exited = false;
    service->exit_status = 0;
    service_make_groups(state);
    enum pl_code code = state->kind->start_again(state, stop, err);
    if (code != PL_OK)
        pl_err_context(err, "service \"%s\"", service->name);
    return code;
}

enum pl_code service_stop(struct service *service, enum service_stop how, struct pl_err *err)
{
    struct service_state *state = service_state_of(service);
    bool late = how == SERVICE_STOP_CLEAN && !service_end(state);
    if (!service_clear(state, 0))
        return pl_err_set(err, PL_SERVICE, "service \"%s\" left something behind in \"%s\"", service->name,
                          service->directory);
    if (late)
        return pl_err_set(err, PL_SERVICE, "service \"%s\" did not stop within %lld s and was killed", service->name,
                          (long long)(state->kind->stop_limit_ns / PL_NS_PER_S));
    return PL_OK;
}
