/* fork, prepare, exec. Between fork and exec only async-signal-safe calls are made: the tool may have threads.
 *
 * The child waits for one byte before it goes on. Until then the tool has told the guard and filled the control groups, so
 * there is no moment at which the tool can die and leave an unknown process, and the program's memory is charged to its
 * group from the first page on. */
#include "service/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/cgroup_int.h"
#include "service/guard_int.h"

#include "base/ban.h"

enum { READ_TAIL_BYTES = 64 * 1024 };

#define SPAWN_READ_LIMIT_NS (10 * PL_NS_PER_S)
#define SPAWN_KILL_LIMIT_NS (10 * PL_NS_PER_S)

/* What a child reports when it cannot become the program. */
enum spawn_step { STEP_SESSION, STEP_USER, STEP_DEATH_SIGNAL, STEP_DIRECTORY, STEP_FILES, STEP_EXEC, STEP_COUNT };

struct spawn_report {
    enum spawn_step step;
    int os_errno;
};

/* All that the child needs, made before the fork. */
struct spawn_child {
    const struct spawn_spec *spec;
    const char *directory;
    char *environment[8];
    pid_t parent;
    int go_fd, report_fd;
};

static enum pl_code spawn_user_fill(const struct passwd *entry, struct spawn_user *ret_user, struct pl_err *err)
{
    *ret_user = (struct spawn_user){.change = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
    snprintf(ret_user->name, sizeof ret_user->name, "%s", entry->pw_name);
    ret_user->group_count = SPAWN_GROUPS_MAX;
    if (getgrouplist(entry->pw_name, entry->pw_gid, ret_user->groups, &ret_user->group_count) < 0)
        return pl_err_set(err, PL_LIMIT, "the user \"%s\" is in more than %d groups", entry->pw_name, SPAWN_GROUPS_MAX);
    return PL_OK;
}

enum pl_code spawn_user_find(const char *wanted, struct spawn_user *ret_user, struct pl_err *err)
{
    if (geteuid() != 0) {
        *ret_user = (struct spawn_user){.uid = geteuid(), .gid = getegid()};
        const struct passwd *self = getpwuid(geteuid());
        snprintf(ret_user->name, sizeof ret_user->name, "%s", self != NULL ? self->pw_name : "");
        return PL_OK;
    }
    const struct passwd *entry = getpwnam(wanted != NULL ? wanted : "postgres");
    if (entry == NULL && wanted == NULL)
        entry = getpwnam("nobody");
    if (entry == NULL) {
        pl_err_set(err, PL_NOT_FOUND, "there is no user \"%s\" to run the service as", wanted != NULL ? wanted : "nobody");
        pl_err_hint(err, "Name an existing user that is not root as the service's `user`.");
        return err->code;
    }
    if (entry->pw_uid == 0) {
        pl_err_set(err, PL_USAGE, "the service cannot run as \"%s\", which is root", entry->pw_name);
        pl_err_hint(err, "Name a user without privileges; PostgreSQL refuses to run as root.");
        return err->code;
    }
    return spawn_user_fill(entry, ret_user, err);
}

static _Noreturn void spawn_fail(const struct spawn_child *child, enum spawn_step step)
{
    struct spawn_report report = {.step = step, .os_errno = errno};
    ssize_t ignored = write(child->report_fd, &report, sizeof report);
    (void)ignored;
    _exit(127);
}

/* What the tool ignores or blocks would stay so across exec. The kernel is asked itself: the C library keeps the first two
 * real-time signals from its callers, and make(1) hands them down ignored. */
static void spawn_reset_signals(void)
{
    static const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } by_default = {.handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool become_user(const struct spawn_user *user)
{
    return setgroups((size_t)user->group_count, user->groups) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
           setresuid(user->uid, user->uid, user->uid) == 0;
}

bool spawn_user_can_enter(const struct spawn_user *user, const char *directory)
{
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0)
        _exit(become_user(user) && chdir(directory) == 0 ? 0 : 1);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void spawn_drop_privileges(const struct spawn_child *child)
{
    const struct spawn_user *user = child->spec->user;
    if (user != NULL && user->change && !become_user(user))
        spawn_fail(child, STEP_USER);
}

static void spawn_redirect(const struct spawn_child *child)
{
    int in_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int out_fd = child->spec->output_fd >= 0 ? child->spec->output_fd : in_fd;
    /* copies above 2 first: a tool that was started with its standard files closed may have any of these numbers in use */
    int in_copy = fcntl(in_fd, F_DUPFD_CLOEXEC, 3), out_copy = fcntl(out_fd, F_DUPFD_CLOEXEC, 3);
    if (in_copy < 0 || out_copy < 0 || dup2(in_copy, 0) < 0 || dup2(out_copy, 1) < 0 || dup2(out_copy, 2) < 0)
        spawn_fail(child, STEP_FILES);
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

static _Noreturn void spawn_child_main(const struct spawn_child *child)
{
    char go;
    ssize_t length;
    if (setsid() < 0)
        spawn_fail(child, STEP_SESSION);
    spawn_reset_signals();
    while ((length = read(child->go_fd, &go, 1)) < 0 && errno == EINTR)
        continue;
    if (length != 1)
        _exit(127); /* the tool is gone */
    spawn_drop_privileges(child);
    /* a change of user clears it, so only now; and the parent may have died before the call */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        spawn_fail(child, STEP_DEATH_SIGNAL);
    if (getppid() != child->parent)
        _exit(127);
    umask(077);
    if (chdir(child->directory) < 0)
        spawn_fail(child, STEP_DIRECTORY);
    spawn_redirect(child);
    /* exec takes the array without const, and does not write to it */
    execve(child->spec->program, (char *const *)(uintptr_t)child->spec->argv, child->environment);
    spawn_fail(child, STEP_EXEC);
}

static void spawn_make_environment(struct spawn_child *child, struct pl_arena *arena)
{
    size_t count = 0;
    child->environment[count++] = pl_strdup(arena, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    child->environment[count++] = pl_strdup(arena, "LANG=C");
    child->environment[count++] = pl_strdup(arena, "TZ=UTC");
    child->environment[count++] = pl_format(arena, "HOME=%s", child->directory);
    if (child->spec->library_path != NULL)
        child->environment[count++] = pl_format(arena, "LD_LIBRARY_PATH=%s", child->spec->library_path);
    child->environment[count] = NULL;
}

static enum pl_code spawn_say_why(const struct spawn_spec *spec, const struct spawn_report *report, struct pl_err *err)
{
    static const char *const steps[STEP_COUNT] = {
        [STEP_SESSION] = "cannot make a session for",           [STEP_USER] = "cannot become the user of",
        [STEP_DEATH_SIGNAL] = "cannot tie the life to ours of", [STEP_DIRECTORY] = "cannot enter the directory of",
        [STEP_FILES] = "cannot redirect the files of",          [STEP_EXEC] = "cannot start"};
    bool missing = report->step == STEP_EXEC && report->os_errno == ENOENT;
    pl_err_os(err, missing ? PL_NOT_FOUND : PL_IO, report->os_errno, "%s \"%s\"", steps[report->step], spec->program);
    if (report->os_errno == EACCES && spec->user != NULL && spec->user->change)
        pl_err_hint(err, "It runs as the user \"%s\", who must be able to reach and read it.", spec->user->name);
    return err->code;
}

/* Parent's side after the fork: lets the child go and learns whether it became the program. */
static enum pl_code spawn_release(const struct spawn_spec *spec, pid_t pid, int go_fd, int report_fd, struct pl_err *err)
{
    struct spawn_report report;
    if (spec->guard != NULL)
        guard_add(spec->guard, GUARD_GROUP, pid, NULL);
    if (spec->cgroup != NULL)
        cgroup_join(spec->cgroup, pid, spec->arena);
    ssize_t length;
    while ((length = write(go_fd, "g", 1)) < 0 && errno == EINTR)
        continue;
    while ((length = read(report_fd, &report, sizeof report)) < 0 && errno == EINTR)
        continue;
    if (length != (ssize_t)sizeof report)
        return PL_OK;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (spec->guard != NULL)
        guard_remove(spec->guard, GUARD_GROUP, pid, NULL);
    return spawn_say_why(spec, &report, err);
}

static void spawn_close(int fds[4])
{
    for (int i = 0; i < 4; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

enum pl_code spawn_start(const struct spawn_spec *spec, pid_t *ret_pid, int64_t *ret_start_ns, struct pl_err *err)
{
    int fds[4] = {-1, -1, -1, -1}; /* go: 0 read, 1 write; report: 2 read, 3 write */
    if (pipe2(fds, O_CLOEXEC) < 0 || pipe2(fds + 2, O_CLOEXEC) < 0) {
        pl_err_os(err, PL_IO, errno, "cannot make a pipe to start \"%s\"", spec->program);
        spawn_close(fds);
        return err->code;
    }
    struct pl_arena *arena = pl_arena_new();
    struct spawn_child child = {.spec = spec, .directory = spec->directory != NULL ? spec->directory : "/"};
    child.parent = getpid();
    child.go_fd = fds[0];
    child.report_fd = fds[3];
    spawn_make_environment(&child, arena);
    int64_t start_ns = pl_clock_ns();
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]); /* or the child would wait for itself when the tool dies */
        spawn_child_main(&child);
    }
    int os_errno = errno;
    close(fds[0]);
    close(fds[3]);
    fds[0] = fds[3] = -1;
    enum pl_code code = pid > 0 ? spawn_release(spec, pid, fds[1], fds[2], err)
                                : pl_err_os(err, PL_IO, os_errno, "cannot start a process for \"%s\"", spec->program);
    spawn_close(fds);
    pl_arena_free(arena);
    if (code == PL_OK) {
        *ret_pid = pid;
        if (ret_start_ns != NULL)
            *ret_start_ns = start_ns;
    }
    return code;
}

/* Waits until the child ends (true), or the limit or the stop comes. The dead child is left as it is: as long as it is
 * there nobody else can get its number. */
static bool spawn_wait(pid_t pid, int64_t deadline_ns, const volatile int *stop)
{
    for (int64_t pause_ns = PL_NS_PER_MS / 4;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        if (pl_clock_ns() >= deadline_ns || (stop != NULL && *stop != 0))
            return false;
        pl_clock_sleep_until(pl_clock_ns() + pause_ns);
        if (pause_ns < 5 * PL_NS_PER_MS)
            pause_ns *= 2;
    }
}

enum pl_code spawn_run(const struct spawn_spec *spec, int64_t limit_ns, const volatile int *stop, int *ret_status,
                       struct pl_err *err)
{
    pid_t pid;
    enum pl_code code = spawn_start(spec, &pid, NULL, err);
    if (code != PL_OK)
        return code;
    bool ended = spawn_wait(pid, pl_clock_ns() + limit_ns, stop);
    struct guard_item group = {.what = GUARD_GROUP, .pgid = pid};
    guard_kill(&group, 1, SPAWN_KILL_LIMIT_NS);
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
    if (spec->guard != NULL)
        guard_remove(spec->guard, GUARD_GROUP, pid, NULL);
    if (ended)
        return PL_OK;
    if (stop != NULL && *stop != 0)
        return pl_err_set(err, PL_INTERRUPTED, "interrupted while \"%s\" ran", spec->program);
    return pl_err_set(err, PL_SERVICE, "\"%s\" did not end within %lld s", spec->program,
                      (long long)(limit_ns / PL_NS_PER_S));
}

enum pl_code spawn_read(const struct spawn_spec *spec, char *buf, size_t size, struct pl_err *err)
{
    struct spawn_spec with_output = *spec;
    int status = 0;
    with_output.output_fd = memfd_create("plimsoll-output", MFD_CLOEXEC);
    if (with_output.output_fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot make a file for the output of \"%s\"", spec->program);
    enum pl_code code = spawn_run(&with_output, SPAWN_READ_LIMIT_NS, NULL, &status, err);
    ssize_t length = code == PL_OK ? pread(with_output.output_fd, buf, size - 1, 0) : 0;
    close(with_output.output_fd);
    buf[length > 0 ? length : 0] = '\0';
    if (code == PL_OK && status != 0)
        code = pl_err_set(err, PL_SERVICE, "\"%s\" failed: %.200s", spec->program, buf);
    return code;
}

bool spawn_find_program(const char *name, char *buf, size_t size)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/bin:/bin"; *at != '\0';) {
        const char *end = strchrnul(at, ':');
        int needed = snprintf(buf, size, "%.*s/%s", (int)(end - at), at, name);
        struct stat status;
        if (*at == '/' && needed > 0 && (size_t)needed < size && stat(buf, &status) == 0 && S_ISREG(status.st_mode) &&
            access(buf, X_OK) == 0)
            return true;
        at = *end == ':' ? end + 1 : end;
    }
    return false;
}

const char *spawn_tail(const char *path, int lines, char *buf, size_t size)
{
    buf[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0)
        return buf;
    char *text = pl_new(READ_TAIL_BYTES, 1);
    ssize_t length = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        off_t from = status.st_size > READ_TAIL_BYTES ? status.st_size - READ_TAIL_BYTES : 0;
        length = pread(fd, text, READ_TAIL_BYTES, from);
    }
    close(fd);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    ssize_t start = length;
    for (int line = 0; line < lines && start > 0; line++) {
        ssize_t before = start - (start < length); /* over the newline that ended the line before */
        while (before > 0 && text[before - 1] != '\n')
            before--;
        if ((size_t)(length - before) >= size)
            break;
        start = before;
    }
    /* a single line that does not fit: better its end than nothing */
    if (start == length && length > 0)
        start = length - (ssize_t)size + 1 > 0 ? length - (ssize_t)size + 1 : 0;
    if (length > start)
        snprintf(buf, size, "%.*s", (int)(length - start), text + start);
    pl_free(text);
    return buf;
}
