/* Child programs: what they inherit, how they fail, that they die. */
#include "service_support.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <pwd.h>

#include "service/spawn.h"

static const char *run_shell(const char *script, const struct spawn_user *user)
{
    static char text[8192];
    struct pl_err err = {0};
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct spawn_spec spec = {.program = "/bin/sh", .argv = argv, .directory = "/tmp", .user = user, .output_fd = -1};
    assert_ok(spawn_read(&spec, text, sizeof text, &err));
    return text;
}

static void gets_a_minimal_environment(void **state)
{
    (void)state;
    setenv("PGPASSWORD", "hunter2", 1);
    signal(SIGPIPE, SIG_IGN);
    /* one of those that the C library keeps to itself */
    const unsigned long ignored[4] = {(unsigned long)SIG_IGN};
    assert_int_equal(syscall(SYS_rt_sigaction, 33, ignored, NULL, sizeof ignored[0]), 0);
    const char *text = run_shell("pwd; env; grep SigIgn /proc/self/status; grep SigBlk /proc/self/status", NULL);
    assert_true(strncmp(text, "/tmp\n", 5) == 0);
    assert_non_null(strstr(text, "LANG=C\n"));
    assert_non_null(strstr(text, "TZ=UTC\n"));
    assert_non_null(strstr(text, "HOME=/tmp\n"));
    assert_non_null(strstr(text, "SigIgn:\t0000000000000000"));
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
    assert_null(strstr(text, "hunter2"));
    signal(SIGPIPE, SIG_DFL);
    unsetenv("PGPASSWORD");
}

static void gets_no_descriptor_and_no_input(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0); /* without CLOEXEC */
    /* 3 is the directory that ls reads */
    assert_string_equal(run_shell("ls /proc/self/fd; readlink /proc/self/fd/0", NULL), "0\n1\n2\n3\n/dev/null\n");
    close(fds[0]);
    close(fds[1]);
}

static void leads_a_session_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(run_shell("set -- $(cut -d' ' -f5,6 /proc/$$/stat); test $1 = $$ -a $2 = $$ && echo yes", NULL),
                        "yes\n");
}

static void drops_privileges(void **state)
{
    (void)state;
    struct spawn_user user;
    struct pl_err err = {0};
    assert_ok(spawn_user_find("nobody", &user, &err));
    if (geteuid() != 0) {
        assert_false(user.change);
        print_message("skipped: not root, so there is nothing to drop\n");
        skip();
    }
    const struct passwd *nobody = getpwnam("nobody");
    char expected[64];
    snprintf(expected, sizeof expected, "%d %d %d\n", (int)nobody->pw_uid, (int)nobody->pw_gid, (int)nobody->pw_gid);
    assert_string_equal(run_shell("echo $(id -u) $(id -g) $(id -G)", &user), expected);
    assert_null(strstr(run_shell("cat /etc/shadow 2>&1 || true", &user), "root:"));
    assert_int_equal(spawn_user_find("no-such-user", &user, &err), PL_NOT_FOUND);
}

static void says_why_it_cannot_start(void **state)
{
    (void)state;
    const char *const argv[] = {"x", NULL};
    struct pl_err err = {0};
    pid_t pid = 0;
    struct spawn_spec spec = {.program = "/no/such/program", .argv = argv, .output_fd = -1};
    assert_int_equal(spawn_start(&spec, &pid, NULL, &err), PL_NOT_FOUND);
    assert_int_equal(err.os_errno, ENOENT);
    assert_non_null(strstr(err.what, "/no/such/program"));
    assert_int_equal(pid, 0);
    err = (struct pl_err){0};
    spec.program = "/etc/passwd";
    assert_int_equal(spawn_start(&spec, &pid, NULL, &err), PL_IO);
    assert_int_equal(err.os_errno, EACCES);
    err = (struct pl_err){0};
    spec.program = "/bin/sh";
    spec.directory = "/no/such/directory";
    assert_int_equal(spawn_start(&spec, &pid, NULL, &err), PL_IO);
    assert_non_null(strstr(err.what, "directory"));
}

static void a_status_that_is_not_0_is_an_error(void **state)
{
    (void)state;
    char text[64];
    struct pl_err err = {0};
    const char *const argv[] = {"sh", "-c", "echo broken >&2; exit 3", NULL};
    struct spawn_spec spec = {.program = "/bin/sh", .argv = argv, .output_fd = -1};
    assert_int_equal(spawn_read(&spec, text, sizeof text, &err), PL_SERVICE);
    assert_non_null(strstr(err.what, "broken"));
}

/* The limit and the stop flag end the whole group, with what it started. */
static void is_killed_with_all_it_started(void **state)
{
    (void)state;
    char directory[] = "/tmp/plimsoll-XXXXXX";
    assert_non_null(mkdtemp(directory));
    const char *const argv[] = {"sh", "-c", "sleep 1000 & sleep 1000", NULL};
    struct spawn_spec spec = {.program = "/bin/sh", .argv = argv, .directory = directory, .output_fd = -1};
    struct pl_err err = {0};
    int status = 0;
    assert_int_equal(spawn_run(&spec, 100 * PL_NS_PER_MS, NULL, &status, &err), PL_SERVICE);
    assert_int_equal(processes_in(directory, NULL, 0), 0);
    volatile int stop = 1;
    err = (struct pl_err){0};
    assert_int_equal(spawn_run(&spec, 100 * PL_NS_PER_S, &stop, &status, &err), PL_INTERRUPTED);
    assert_int_equal(processes_in(directory, NULL, 0), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* Without any guard: the kernel's signal on the parent's death. */
static void dies_with_its_parent(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t tool = fork();
    if (tool == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char *const argv[] = {"sleep", "1000", NULL};
        struct spawn_spec spec = {.program = "/bin/sleep", .argv = argv, .output_fd = -1};
        struct pl_err err = {0};
        pid_t child = 0;
        if (spawn_start(&spec, &child, NULL, &err) != PL_OK || write(fds[1], &child, sizeof child) != sizeof child)
            _exit(3);
        for (;;)
            pause();
    }
    close(fds[1]);
    pid_t child;
    assert_int_equal(read(fds[0], &child, sizeof child), sizeof child);
    close(fds[0]);
    assert_true(is_alive(child));
    kill(tool, SIGKILL);
    waitpid(tool, NULL, 0);
    wait_until(!is_alive(child));
}

static void check_tail(const char *content, int lines, size_t size, const char *expected)
{
    char path[] = "/tmp/plimsoll-tail-XXXXXX", buf[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
    assert_true(size <= sizeof buf);
    assert_string_equal(spawn_tail(path, lines, buf, size), expected);
    unlink(path);
}

static void tail_gives_whole_last_lines(void **state)
{
    (void)state;
    char buf[16];
    check_tail("one\ntwo\nthree\n", 2, 64, "two\nthree");
    check_tail("one\ntwo\nthree\n", 9, 64, "one\ntwo\nthree");
    check_tail("one\ntwo\nthree", 1, 64, "three");
    check_tail("one\ntwo\nthree\n", 9, 10, "two\nthree");
    check_tail("one\ntwo\nthree\n", 9, 9, "three");
    check_tail("0123456789\n", 9, 5, "6789");
    check_tail("\n\n", 3, 5, "");
    check_tail("", 3, 5, "");
    assert_string_equal(spawn_tail("/no/such/file", 3, buf, sizeof buf), "");
}

static void finds_programs_on_the_path(void **state)
{
    (void)state;
    char buf[256], old[4096];
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    setenv("PATH", "/nowhere::relative:/bin", 1);
    assert_true(spawn_find_program("sh", buf, sizeof buf));
    assert_string_equal(buf, "/bin/sh");
    assert_false(spawn_find_program("no-such-program", buf, sizeof buf));
    assert_false(spawn_find_program("sh", buf, 4));
    setenv("PATH", old, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_a_minimal_environment),    cmocka_unit_test(gets_no_descriptor_and_no_input),
        cmocka_unit_test(leads_a_session_of_its_own),    cmocka_unit_test(drops_privileges),
        cmocka_unit_test(says_why_it_cannot_start),      cmocka_unit_test(a_status_that_is_not_0_is_an_error),
        cmocka_unit_test(is_killed_with_all_it_started), cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(tail_gives_whole_last_lines),   cmocka_unit_test(finds_programs_on_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
