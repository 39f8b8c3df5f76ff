/* Which processes the guard finds. */
#include "service_support.h"

#include <sys/prctl.h>

#include "service/guard_int.h"
#include "service/spawn.h"

static char *make_directory(const char *prefix)
{
    static char path[128];
    snprintf(path, sizeof path, "/tmp/%sXXXXXX", prefix);
    assert_non_null(mkdtemp(path));
    return path;
}

struct told {
    pid_t guard, shell;
    char directory[128];
};

/* A tool with a guarded shell that has three kinds of offspring: one in its group, one in a session of its own, and one
 * whose parent has gone. None of the last two dies with the shell. */
static _Noreturn void be_a_tool(int fd)
{
    struct guard *guard;
    struct pl_err err = {0};
    struct told told = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test itself fails */
    if (guard_start(&guard, &err) != PL_OK)
        _exit(3);
    snprintf(told.directory, sizeof told.directory, "%s", make_directory("plimsoll-"));
    guard_add(guard, GUARD_DIRECTORY, 0, told.directory);
    char script[512];
    snprintf(
        script, sizeof script,
        "mkdir deep; cd deep; touch file; setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000 & touch ../ready; wait");
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct spawn_spec spec = {
        .program = "/bin/sh", .argv = argv, .directory = told.directory, .guard = guard, .output_fd = -1};
    if (spawn_start(&spec, &told.shell, NULL, &err) != PL_OK)
        _exit(4);
    char ready[256];
    snprintf(ready, sizeof ready, "%s/ready", told.directory);
    while (!path_exists(ready) || processes_in(told.directory, NULL, 0) < 4)
        pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_MS);
    told.guard = child_named(getpid(), "plimsoll-guard");
    if (write(fd, &told, sizeof told) != sizeof told)
        _exit(5);
    for (;;)
        pause();
}

static void kills_and_removes_when_the_tool_is_killed(void **state)
{
    (void)state;
    int fds[2];
    struct told told;
    pid_t pids[16];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t tool = fork();
    if (tool == 0)
        be_a_tool(fds[1]);
    close(fds[1]);
    assert_int_equal(read(fds[0], &told, sizeof told), sizeof told);
    close(fds[0]);
    int count = processes_in(told.directory, pids, 16);
    assert_in_range(count, 4, 8); /* a shell that just made one of them may still be there */
    /* what a terminal sends to everyone does not end it */
    kill(told.guard, SIGINT);
    kill(told.guard, SIGTERM);
    kill(told.guard, SIGHUP);
    pl_clock_sleep_until(pl_clock_ns() + 50 * PL_NS_PER_MS);
    assert_true(is_alive(told.guard));
    kill(tool, SIGKILL);
    waitpid(tool, NULL, 0);
    wait_until(!is_alive(told.guard));
    for (int i = 0; i < count; i++)
        assert_false(is_alive(pids[i]));
    assert_false(path_exists(told.directory));
}

/* Somebody who looks at the files from a terminal is not part of what is measured. */
static void a_process_with_a_terminal_is_spared(void **state)
{
    (void)state;
    char directory[128];
    snprintf(directory, sizeof directory, "%s", make_directory("plimsoll-"));
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal) | unlockpt(terminal), 0);
    const char *name = ptsname(terminal);
    int fds[2];
    char byte;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t looker = fork();
    if (looker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid();
        if (open(name, O_RDWR) < 0 || chdir(directory) < 0 || write(fds[1], "x", 1) != 1)
            _exit(3);
        for (;;)
            pause();
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    struct guard_item item = {.what = GUARD_DIRECTORY};
    snprintf(item.path, sizeof item.path, "%s", directory);
    assert_int_equal(guard_kill(&item, 1, PL_NS_PER_S), 0);
    assert_true(is_alive(looker));
    kill(looker, SIGKILL);
    waitpid(looker, NULL, 0);
    close(fds[0]);
    close(fds[1]);
    close(terminal);
    assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_and_removes_when_the_tool_is_killed),
        cmocka_unit_test(a_process_with_a_terminal_is_spared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
