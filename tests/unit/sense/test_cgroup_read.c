/* Control groups: recorded layouts, and real groups where the test may make them. */
#include "pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIXTURES "tests/unit/sense/fixtures/"

enum { TOUCH_BYTES = 64 << 20 };

static struct test_pass test;

static int setup(void **state)
{
    (void)state;
    test_pass_init(&test);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_pass_release(&test);
    return 0;
}

static void test_v1(void **state)
{
    (void)state;
    struct sense_group group = {.v1_cpuacct = FIXTURES "v1/cpuacct", .v1_memory = FIXTURES "v1/memory", .v2 = ""};
    struct sense_group_memory memory;
    struct sense_pids pids = {0};
    sense_group_probe(&group, &test.pass);
    assert_int_equal(group.cpu, SENSE_GROUP_V1);
    assert_int_equal(group.memory, SENSE_GROUP_V1);
    assert_int_equal(group.pids, SENSE_GROUP_V1);
    assert_false(group.io || group.pressure || group.throttled);
    assert_true(sense_group_memory(&group, &test.pass, &memory));
    assert_int_equal(memory.anon, 67792896);
    assert_int_equal(memory.shmem, 67108864);
    assert_int_equal(memory.cache, 0); /* all of `cache` is shmem */
    assert_int_equal(memory.kernel, 704512);
    assert_int_equal(memory.usage, 136052736);
    assert_true(sense_group_cpu_ns(&group, &test.pass) > 0);
    assert_true(sense_group_pids(&group, &test.pass, &pids));
    assert_int_equal(pids.count, 2);
    assert_int_equal(sense_group_threads(&group, &test.pass), 2);
    sense_pids_release(&pids);
}

static void test_v2(void **state)
{
    (void)state;
    struct sense_group group = {.v1_cpuacct = "", .v1_memory = "", .v2 = FIXTURES "v2"};
    struct sense_group_memory memory;
    struct sense_pids pids = {0};
    sense_group_probe(&group, &test.pass);
    assert_int_equal(group.cpu, SENSE_GROUP_V2);
    assert_int_equal(group.memory, SENSE_GROUP_V2);
    assert_int_equal(group.pids, SENSE_GROUP_V2);
    assert_true(group.io && group.pressure && group.throttled);
    assert_true(sense_group_memory(&group, &test.pass, &memory));
    assert_int_equal(memory.anon, 75706368);
    assert_int_equal(memory.shmem, 788836352);
    assert_int_equal(memory.cache, INT64_C(2190802944) - 788836352);
    assert_int_equal(memory.kernel, 109314048);
    assert_int_equal(memory.usage, 2375823360);
    assert_int_equal(sense_group_cpu_ns(&group, &test.pass), INT64_C(48123456000));
    assert_int_equal(sense_group_throttled_ns(&group, &test.pass), INT64_C(345678000));
    assert_true(sense_group_pids(&group, &test.pass, &pids));
    assert_int_equal(pids.count, 3);
    assert_int_equal(pids.pids[2], 403);
    assert_int_equal(sense_group_threads(&group, &test.pass), 4);
    sense_pids_release(&pids);
}

/* Before Linux 5.18 there is no sum of kernel memory; its parts are added. A limit of "max" is no usage. */
static void test_v2_old(void **state)
{
    (void)state;
    struct sense_group group = {.v1_cpuacct = "", .v1_memory = "", .v2 = FIXTURES "v2-old"};
    struct sense_group_memory memory;
    sense_group_probe(&group, &test.pass);
    assert_int_equal(group.cpu, SENSE_GROUP_NONE);
    assert_true(sense_group_memory(&group, &test.pass, &memory));
    assert_int_equal(memory.kernel, 1081344 + 99700736 + 8486912 + 28800);
    assert_int_equal(memory.usage, -1);
}

/* Memory belongs to v1 and the v2 group has none: both are used, each for what it has. */
static void test_hybrid(void **state)
{
    (void)state;
    struct sense_group group = {
        .v1_cpuacct = FIXTURES "v1/cpuacct", .v1_memory = FIXTURES "v1/memory", .v2 = FIXTURES "hybrid"};
    sense_group_probe(&group, &test.pass);
    assert_int_equal(group.cpu, SENSE_GROUP_V1);
    assert_int_equal(group.memory, SENSE_GROUP_V1);
    assert_true(group.pressure);
    assert_false(group.io);
    struct sense_group alone = {.v1_cpuacct = "", .v1_memory = "", .v2 = FIXTURES "hybrid"};
    sense_group_probe(&alone, &test.pass);
    assert_int_equal(alone.cpu, SENSE_GROUP_V2);
    assert_int_equal(alone.memory, SENSE_GROUP_NONE);
    assert_int_equal(sense_group_cpu_ns(&alone, &test.pass), INT64_C(244252000));
}

static void test_none(void **state)
{
    (void)state;
    struct sense_group group = {.v1_cpuacct = "", .v1_memory = "/nowhere", .v2 = ""};
    struct sense_group_memory memory;
    struct sense_pids pids = {0};
    sense_group_probe(&group, &test.pass);
    assert_int_equal(group.cpu, SENSE_GROUP_NONE);
    assert_int_equal(group.memory, SENSE_GROUP_NONE);
    assert_int_equal(group.pids, SENSE_GROUP_NONE);
    assert_int_equal(sense_group_cpu_ns(&group, &test.pass), -1);
    assert_false(sense_group_memory(&group, &test.pass, &memory));
    assert_false(sense_group_pids(&group, &test.pass, &pids));
}

/* ---- real groups ---- */

struct group_paths {
    char v1_cpuacct[300], v1_memory[300], v2[300];
};

/* Below the group this process is in: it may not be allowed to stand beside it. */
static bool own_group(const char *controller, char *path, size_t size)
{
    char line[400], wanted[64];
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool found = false;
    snprintf(wanted, sizeof wanted, ":%s:", controller);
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *at = strstr(line, wanted);
        line[strcspn(line, "\n")] = '\0';
        found = at != NULL && (controller[0] != '\0' || strncmp(line, "0::", 3) == 0);
        if (found)
            snprintf(path, size, "/sys/fs/cgroup/%s%s/plimsoll-test-%d", controller[0] != '\0' ? controller : "unified",
                     strcmp(at + strlen(wanted), "/") == 0 ? "" : at + strlen(wanted), (int)getpid());
    }
    if (file != NULL)
        fclose(file);
    return found && mkdir(path, 0755) == 0;
}

static void enter(const char *directory)
{
    char path[400], text[32];
    if (directory[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int length = snprintf(text, sizeof text, "%d", (int)getpid());
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        _exit(99);
    close(fd);
}

static void burn(int64_t cpu_ns)
{
    int64_t until = pl_clock_process_cpu_ns() + cpu_ns;
    while (pl_clock_process_cpu_ns() < until)
        ;
}

/* Enters the groups, touches 64 MiB of each kind, lets a child burn 50 ms and exit, says so, and waits to be ended. */
static void child_main(const struct group_paths *paths, int say)
{
    enter(paths->v1_cpuacct);
    enter(paths->v1_memory);
    enter(paths->v2);
    test_touch(MAP_PRIVATE, TOUCH_BYTES);
    test_touch(MAP_SHARED, TOUCH_BYTES);
    pid_t pid = fork();
    if (pid == 0) {
        burn(50 * PL_NS_PER_MS);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    if (write(say, "x", 1) != 1)
        _exit(97);
    for (;;)
        pause();
}

static void remove_group(const char *directory)
{
    for (int i = 0; directory[0] != '\0' && i < 200 && rmdir(directory) != 0 && errno == EBUSY; i++)
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
}

static void test_real_groups(void **state)
{
    (void)state;
    struct group_paths paths = {"", "", ""};
    if (!own_group("cpuacct", paths.v1_cpuacct, sizeof paths.v1_cpuacct))
        paths.v1_cpuacct[0] = '\0';
    if (!own_group("memory", paths.v1_memory, sizeof paths.v1_memory))
        paths.v1_memory[0] = '\0';
    if (!own_group("", paths.v2, sizeof paths.v2))
        paths.v2[0] = '\0';
    if (paths.v1_cpuacct[0] == '\0' && paths.v1_memory[0] == '\0' && paths.v2[0] == '\0') {
        print_message("no control group can be made here\n");
        skip();
    }
    int said[2];
    char byte;
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0)
        child_main(&paths, said[1]);
    close(said[1]);
    bool ready = read(said[0], &byte, 1) == 1;
    close(said[0]);
    struct sense_target target = {
        .source = "job", .pid = pid, .v1_cpuacct = paths.v1_cpuacct, .v1_memory = paths.v1_memory, .v2 = paths.v2};
    struct sense_service service;
    sense_service_init(&service, &target, 1, &test.registry, &test.pass);
    double values[4];
    static const char *const names[] = {"cpu_ns", "memory_anon_bytes", "memory_shared_bytes", "processes"};
    for (size_t i = 0; i < 4; i++) {
        sense_service_read(&service, &test.pass);
        values[i] = test_pass_last(&test, "job", names[i]);
    }
    enum sense_group_kind cpu = service.group.cpu, memory = service.group.memory;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sense_service_read(&service, &test.pass);
    double processes_after = test_pass_last(&test, "job", "processes");
    sense_service_release(&service);
    remove_group(paths.v1_cpuacct);
    remove_group(paths.v1_memory);
    remove_group(paths.v2);
    assert_true(ready);
    assert_true(cpu != SENSE_GROUP_NONE);
    assert_true(values[0] >= 50e6); /* the burnt CPU of a process that is gone is in it */
    if (memory != SENSE_GROUP_NONE) {
        /* the kernel charges in batches of 64 pages for each CPU and brings its counters up to date now and then */
        assert_close(values[1], TOUCH_BYTES, 0.05, 0);
        assert_close(values[2], TOUCH_BYTES, 0.01, 0);
    }
    assert_close(values[3], 1, 0, 0);
    assert_close(processes_after, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_v1, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_v2, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_v2_old, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_hybrid, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_none, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_real_groups, setup, teardown)};
    return cmocka_run_group_tests_name("sense cgroup_read", tests, NULL, NULL);
}
