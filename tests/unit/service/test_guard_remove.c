/* What the guard removes and what it leaves. */
#include "service_support.h"

#include "service/guard_int.h"

static char *make_directory(const char *prefix)
{
    static char path[128];
    snprintf(path, sizeof path, "/tmp/%sXXXXXX", prefix);
    assert_non_null(mkdtemp(path));
    return path;
}

static void put_file(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void stop_removes_what_is_registered_and_nothing_else(void **state)
{
    (void)state;
    struct guard *guard;
    struct pl_err err = {0};
    char ours[128], kept[128], foreign[128], outside[128], path[300], link[300];
    snprintf(ours, sizeof ours, "%s", make_directory("plimsoll-"));
    snprintf(kept, sizeof kept, "%s", make_directory("plimsoll-"));
    snprintf(foreign, sizeof foreign, "%s", make_directory("foreign-"));
    snprintf(outside, sizeof outside, "%s", make_directory("outside-"));
    put_file(foreign, "file");
    put_file(outside, "file");
    for (const char *name = "/a\0/a/b\0/a/b/c\0"; *name != '\0'; name += strlen(name) + 1) {
        snprintf(path, sizeof path, "%s%s", ours, name);
        assert_int_equal(mkdir(path, 0700), 0);
        put_file(path, "file");
    }
    snprintf(link, sizeof link, "%s/a/link", ours);
    assert_int_equal(symlink(outside, link), 0);
    assert_ok(guard_start(&guard, &err));
    guard_add(guard, GUARD_DIRECTORY, 0, ours);
    guard_add(guard, GUARD_DIRECTORY, 0, kept);
    guard_add(guard, GUARD_DIRECTORY, 0, foreign); /* not one of ours by its name */
    guard_remove(guard, GUARD_DIRECTORY, 0, kept);
    guard_stop(guard);
    assert_false(path_exists(ours));
    assert_true(path_exists(kept));
    snprintf(path, sizeof path, "%s/file", foreign);
    assert_true(path_exists(path));
    snprintf(path, sizeof path, "%s/file", outside);
    assert_true(path_exists(path));
    unlink(path);
    snprintf(path, sizeof path, "%s/file", foreign);
    unlink(path);
    assert_int_equal(rmdir(outside) | rmdir(foreign) | rmdir(kept), 0);
}

static void a_link_in_place_of_the_directory_is_not_followed(void **state)
{
    (void)state;
    char outside[128], link[160];
    snprintf(outside, sizeof outside, "%s", make_directory("outside-"));
    put_file(outside, "file");
    snprintf(link, sizeof link, "/tmp/plimsoll-link-%d", (int)getpid());
    assert_int_equal(symlink(outside, link), 0);
    assert_false(guard_remove_directory(link));
    char path[300];
    snprintf(path, sizeof path, "%s/file", outside);
    assert_true(path_exists(path));
    assert_false(guard_remove_directory("relative/plimsoll-x"));
    assert_false(guard_remove_directory("/tmp/plimsoll-x/../tmp"));
    assert_true(guard_remove_directory("/tmp/plimsoll-that-never-was"));
    assert_int_equal(unlink(path) | unlink(link) | rmdir(outside), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_removes_what_is_registered_and_nothing_else),
        cmocka_unit_test(a_link_in_place_of_the_directory_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
