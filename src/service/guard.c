/* The guard process: a list of items, filled by messages, wiped when the other end of the socket closes. */
#include "service/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "service/guard_int.h"

#include "base/ban.h"

/* Long enough for a kernel that is busy writing out a dying server's files. */
#define GUARD_KILL_LIMIT_NS (30 * PL_NS_PER_S)

enum { GUARD_SOCKET = 3 };

struct guard {
    int fd;
    pid_t pid;
};

/* One packet: the socket keeps packets whole, so that a tool that dies while it writes leaves no half of one. */
struct guard_message {
    bool add;
    struct guard_item item;
};

struct guard_list {
    struct guard_item *items;
    size_t count, capacity;
};

static bool guard_same(const struct guard_item *a, const struct guard_item *b)
{
    return a->what == b->what && a->pgid == b->pgid && strcmp(a->path, b->path) == 0;
}

static void guard_list_apply(struct guard_list *list, const struct guard_message *message)
{
    size_t at = 0;
    while (at < list->count && !guard_same(&list->items[at], &message->item))
        at++;
    if (!message->add) {
        if (at < list->count)
            list->items[at] = list->items[--list->count];
        return;
    }
    if (at < list->count)
        return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        struct guard_item *items = pl_new(capacity, sizeof *items);
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        pl_free(list->items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = message->item;
}

/* Cuts every tie to the tool: terminal, signals, open files (a pipe that the tool writes to must close when the tool ends),
 * working directory. */
static void guard_detach(int fd)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGTSTP};
    setsid();
    prctl(PR_SET_NAME, "plimsoll-guard");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd != GUARD_SOCKET)
        dup2(fd, GUARD_SOCKET);
    for (int i = 0; i < GUARD_SOCKET && null_fd >= 0; i++)
        dup2(null_fd, i);
    close_range(GUARD_SOCKET + 1, ~0U, 0);
    if (chdir("/") < 0)
        _exit(1);
}

static _Noreturn void guard_main(int fd)
{
    struct guard_list list = {0};
    struct guard_message message;
    guard_detach(fd);
    for (;;) {
        ssize_t length = recv(GUARD_SOCKET, &message, sizeof message, 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length != (ssize_t)sizeof message)
            break;
        guard_list_apply(&list, &message);
    }
    guard_kill(list.items, list.count, GUARD_KILL_LIMIT_NS);
    guard_remove_leftovers(list.items, list.count);
    _exit(0);
}

enum pl_code guard_start(struct guard **ret_guard, struct pl_err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return pl_err_os(err, PL_IO, errno, "cannot make a socket for the guard");
    pid_t pid = fork();
    if (pid < 0) {
        int os_errno = errno;
        close(fds[0]);
        close(fds[1]);
        return pl_err_os(err, PL_IO, os_errno, "cannot start the guard");
    }
    if (pid == 0)
        guard_main(fds[1]);
    close(fds[1]);
    struct guard *guard = pl_new(1, sizeof *guard);
    guard->fd = fds[0];
    guard->pid = pid;
    *ret_guard = guard;
    return PL_OK;
}

static void guard_send(struct guard *guard, bool add, enum guard_what what, pid_t pgid, const char *path)
{
    struct guard_message message;
    memset(&message, 0, sizeof message);
    message.add = add;
    message.item.what = what;
    message.item.pgid = pgid;
    if (path != NULL)
        snprintf(message.item.path, sizeof message.item.path, "%s", path);
    while (send(guard->fd, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

void guard_add(struct guard *guard, enum guard_what what, pid_t pgid, const char *path)
{
    guard_send(guard, true, what, pgid, path);
}

void guard_remove(struct guard *guard, enum guard_what what, pid_t pgid, const char *path)
{
    guard_send(guard, false, what, pgid, path);
}

void guard_stop(struct guard *guard)
{
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pl_free(guard);
}
