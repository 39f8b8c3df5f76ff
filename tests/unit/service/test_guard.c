/* The guard process: what it holds, remembers and survives. */
#include "service_support.h"

static char *make_directory(const char *prefix)
{
    static char path[128];
    snprintf(path, sizeof path, "/tmp/%sXXXXXX", prefix);
    assert_non_null(mkdtemp(path));
    return path;
}

/* A reader of the tool's output must see its end when the tool ends, not when the guard does. */
static void holds_no_descriptor_of_the_tool(void **state)
{
    (void)state;
    struct guard *guard;
    struct pl_err err = {0};
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0); /* without CLOEXEC, on purpose */
    assert_ok(guard_start(&guard, &err));
    close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 0);
    close(fds[0]);
    guard_stop(guard);
}

/* More items than its list starts with. */
static void remembers_many(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static char paths[MANY][128];
    struct guard *guard;
    struct pl_err err = {0};
    assert_ok(guard_start(&guard, &err));
    for (int i = 0; i < MANY; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", make_directory("plimsoll-"));
        guard_add(guard, GUARD_DIRECTORY, 0, paths[i]);
    }
    guard_stop(guard);
    for (int i = 0; i < MANY; i++)
        assert_false(path_exists(paths[i]));
}

static void a_guard_that_was_killed_breaks_nothing(void **state)
{
    (void)state;
    struct guard *guard;
    struct pl_err err = {0};
    assert_ok(guard_start(&guard, &err));
    pid_t pid = child_named(getpid(), "plimsoll-guard");
    wait_until((pid = child_named(getpid(), "plimsoll-guard")) != 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    wait_until(!is_alive(pid));
    guard_add(guard, GUARD_DIRECTORY, 0, "/tmp/plimsoll-nowhere"); /* no SIGPIPE */
    guard_stop(guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_no_descriptor_of_the_tool),
        cmocka_unit_test(remembers_many),
        cmocka_unit_test(a_guard_that_was_killed_breaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
