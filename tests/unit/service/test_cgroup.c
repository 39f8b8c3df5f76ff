/* Finding the tool's groups in recorded texts of several hosts, and making groups below a directory that stands for them.
 */
#include "service_support.h"

#include "service/cgroup_int.h"
#include "service/guard_int.h"

static void check_parents(const char *mountinfo, const char *self, const char *cpuacct, const char *memory, const char *v2)
{
    struct cgroup_parents parents;
    cgroup_find_parents(mountinfo, self, &parents);
    assert_string_equal(parents.v1_cpuacct, cpuacct);
    assert_string_equal(parents.v1_memory, memory);
    assert_string_equal(parents.v2, v2);
}

static void finds_the_groups_of_several_hosts(void **state)
{
    (void)state;
    /* hybrid with one tree per controller, the tool in a memory group */
    check_parents("31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                  "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
                  "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                  "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
                  "4:memory:/process_api/a9eb\n2:cpuacct:/\n0::/\n", "/sys/fs/cgroup/cpuacct",
                  "/sys/fs/cgroup/memory/process_api/a9eb", "/sys/fs/cgroup/unified");
    /* v2 only, as systemd mounts it */
    check_parents("29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
                  "0::/user.slice/user-1000.slice/session-2.scope\n", "", "",
                  "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
    /* v1 only, controllers together, inside a container that sees the host's paths */
    check_parents("700 690 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:13 - cgroup cgroup rw,cpu,cpuacct\n"
                  "701 690 0:31 /docker/abc /sys/fs/cgroup/memory ro master:14 - cgroup cgroup rw,memory\n",
                  "9:memory:/docker/abc/inner\n4:cpu,cpuacct:/docker/abc\n", "/sys/fs/cgroup/cpu,cpuacct",
                  "/sys/fs/cgroup/memory/inner", "");
    /* a control group namespace: the path leads out of what is mounted */
    check_parents("29 23 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/../other\n", "", "", "/sys/fs/cgroup");
    check_parents("29 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/abc\n", "", "",
                  "/sys/fs/cgroup");
    check_parents("", "", "", "", "");
    check_parents("nonsense\n1 2 x:y / / rw - cgroup2\n", "::::\n0\n", "", "", "");
}

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void makes_groups_and_says_what_is_missing(void **state)
{
    (void)state;
    char root[] = "/tmp/plimsoll-XXXXXX", expected[300], path[400];
    struct pl_arena *arena = pl_arena_new();
    struct cgroup_parents parents = {0};
    struct cgroup cgroup, second;
    assert_non_null(mkdtemp(root));
    cgroup_make(&parents, "db", arena, &cgroup);
    assert_string_equal(cgroup.layout, "none");
    assert_non_null(strstr(cgroup.why, "mounted"));
    /* a v2 parent that offers memory but cannot pass it on: there is no subtree_control to write */
    snprintf(parents.v2, sizeof parents.v2, "%s", root);
    write_file(root, "cgroup.controllers", "cpuset memory pids\n");
    cgroup_make(&parents, "db", arena, &cgroup);
    assert_string_equal(cgroup.layout, "v2");
    snprintf(expected, sizeof expected, "%s/plimsoll-%d-db", root, (int)getpid());
    assert_string_equal(cgroup.v2, expected);
    assert_non_null(strstr(cgroup.why, "cannot pass on the memory controller"));
    assert_non_null(strstr(cgroup.why, "does not offer the io controller"));
    /* one that can: what is asked for is written */
    write_file(root, "cgroup.subtree_control", "");
    cgroup_make(&parents, "db", arena, &second);
    assert_string_not_equal(second.v2, cgroup.v2);
    assert_non_null(strstr(second.why, "passes on the memory controller as long as"));
    assert_int_not_equal(second.passed_on, 0);
    assert_int_equal(cgroup.passed_on, 0);
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", root);
    char text[64];
    assert_true(pl_file_read_small(path, text, sizeof text) > 0);
    assert_string_equal(text, "+memory");
    /* a second service that finds it there has to take it back as well; as long as any group is there it stays */
    struct cgroup third;
    cgroup_make(&parents, "db", arena, &third);
    assert_int_equal(third.passed_on, second.passed_on);
    assert_int_equal(rmdir(third.v2), 0);
    cgroup_take_back(root, third.passed_on);
    assert_true(pl_file_read_small(path, text, sizeof text) > 0);
    assert_string_equal(text, "+memory");
    assert_int_equal(rmdir(second.v2), 0);
    cgroup_take_back(root, second.passed_on);
    assert_true(pl_file_read_small(path, text, sizeof text) > 0);
    assert_string_equal(text, "+memory"); /* the first one is still there */
    assert_int_equal(rmdir(cgroup.v2), 0);
    struct guard_item item = {.what = GUARD_CONTROLLERS, .pgid = second.passed_on};
    snprintf(item.path, sizeof item.path, "%s", root);
    assert_true(guard_remove_leftovers(&item, 1));
    assert_true(pl_file_read_small(path, text, sizeof text) > 0);
    assert_string_equal(text, "-memory");
    assert_int_equal(mkdir(cgroup.v2, 0755), 0);
    /* a group that takes no process is given up */
    cgroup_join(&cgroup, getpid(), arena);
    assert_string_equal(cgroup.layout, "none");
    assert_string_equal(cgroup.v2, "");
    assert_non_null(strstr(cgroup.why, "no process may enter"));
    assert_false(path_exists(expected));
    snprintf(parents.v1_memory, sizeof parents.v1_memory, "/no/such/parent");
    cgroup_make(&parents, "db", arena, &cgroup);
    assert_string_equal(cgroup.layout, "v2");
    assert_non_null(strstr(cgroup.why, "/no/such/parent"));
    assert_true(guard_remove_directory(root));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_groups_of_several_hosts),
        cmocka_unit_test(makes_groups_and_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
