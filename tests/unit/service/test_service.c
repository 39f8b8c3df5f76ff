/* A real throwaway PostgreSQL: start, settings, groups, death, stop, and that nothing is ever left. */
#include "service_support.h"

#include <grp.h>
#include <sys/prctl.h>

#include "service/service.h"

static int cgroup_processes(const char *directory, pid_t *pids, int max)
{
    char path[400], text[65536];
    int count = 0;
    snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    if (pl_file_read_small(path, text, sizeof text) < 0)
        return -1;
    for (char *at = text; *at != '\0'; count++) {
        pid_t pid = (pid_t)strtol(at, &at, 10);
        if (count < max)
            pids[count] = pid;
        at += *at == '\n';
    }
    return count;
}

static bool holds(const pid_t *pids, int count, pid_t pid)
{
    for (int i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* Every process of the server, backends too, is in each of the service's groups. */
static void check_groups(const struct service *service)
{
    const char *groups[] = {service->cgroup.v1_cpuacct, service->cgroup.v1_memory, service->cgroup.v2};
    pid_t all[256], members[256];
    char conninfo[512];
    PGconn *conn = PQconnectdb(service_conninfo(service, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo));
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    int count = processes_in(service->directory, all, 256);
    assert_in_range(count, 5, 255); /* postmaster, checkpointer, writer, WAL writer, a backend ... */
    assert_true(holds(all, count, service->pid));
    assert_true(holds(all, count, PQbackendPID(conn)));
    for (int i = 0; i < 3; i++) {
        if (groups[i][0] == '\0')
            continue;
        int inside = cgroup_processes(groups[i], members, 256);
        for (int j = 0; j < count; j++)
            if (is_alive(all[j]) && !holds(members, inside, all[j]))
                fail_msg("process %d is not in %s", (int)all[j], groups[i]);
        assert_false(holds(members, inside, getpid()));
    }
    PQfinish(conn);
}

static void check_gone(const char *directory, const struct cgroup *cgroup)
{
    assert_int_equal(processes_in(directory, NULL, 0), 0);
    assert_false(path_exists(directory));
    const char *groups[] = {cgroup->v1_cpuacct, cgroup->v1_memory, cgroup->v2};
    for (int i = 0; i < 3; i++)
        assert_false(groups[i][0] != '\0' && path_exists(groups[i]));
}

static void starts_applies_settings_and_stops(void **state)
{
    (void)state;
    need_postgres();
    static const struct plan_setting settings[] = {{.name = "shared_buffers", .value = "16MB"},
                                                   {.name = "work_mem", .value = "7MB"},
                                                   {.name = "fsync", .value = "on"},
                                                   {.name = "cluster_name", .value = "it's a \\ 'test"}};
    struct plan_service plan = plain_plan();
    plan.settings = settings;
    plan.setting_count = sizeof settings / sizeof *settings;
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service;
    struct fault fault;
    assert_ok(guard_start(&guard, &err));
    assert_ok(service_start(&plan, guard, NULL, arena, &service, &err));
    assert_true(service->ready_ns > 0);
    assert_true(service_check(service, arena, &fault));
    assert_string_equal(query_in(service, SERVICE_SENSOR_DATABASE, "SHOW work_mem"), "7MB");
    assert_string_equal(query_in(service, SERVICE_SENSOR_DATABASE, "SHOW shared_buffers"), "16MB");
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE, "SHOW cluster_name"), "it's a \\ 'test");
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE, "SHOW listen_addresses"), "");
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE, "SELECT current_setting('server_version')"),
                        service->version);
    struct stat status;
    assert_int_equal(stat(service->directory, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    check_groups(service);
    assert_ok(service_load_data(service, NULL, NULL, NULL, &err)); /* the plan names none */
    assert_ok(service_tidy(service, NULL, &err));
    char directory[128];
    struct cgroup cgroup = service->cgroup;
    snprintf(directory, sizeof directory, "%s", service->directory);
    assert_ok(service_stop(service, SERVICE_STOP_CLEAN, &err));
    assert_true(service->exited);
    assert_true(WIFEXITED(service->exit_status));
    assert_int_equal(WEXITSTATUS(service->exit_status), 0);
    check_gone(directory, &cgroup);
    assert_ok(service_stop(service, SERVICE_STOP_CLEAN, &err)); /* twice is fine */
    assert_false(service_check(service, arena, &fault));
    guard_stop(guard);
    pl_arena_free(arena);
}

/* Shared memory segments that exist now, as one text. */
static void list_segments(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    DIR *shm = opendir("/dev/shm");
    for (const struct dirent *entry; shm != NULL && (entry = readdir(shm)) != NULL;)
        if (strncmp(entry->d_name, "PostgreSQL.", strlen("PostgreSQL.")) == 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s\n", entry->d_name);
    if (shm != NULL)
        closedir(shm);
}

/* The control segment that a running server has mapped, and its System V segment's id. */
static void find_segments(const struct service *service, char *dsm, size_t size, long *sysv)
{
    char path[256], text[8192];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)service->pid);
    FILE *maps = fopen(path, "r");
    dsm[0] = '\0';
    assert_non_null(maps);
    while (fgets(text, sizeof text, maps) != NULL) {
        char *at = strstr(text, "/dev/shm/PostgreSQL.");
        if (at != NULL) {
            at[strcspn(at, " \n")] = '\0';
            snprintf(dsm, size, "%s", at);
        }
    }
    fclose(maps);
    snprintf(path, sizeof path, "%s/data/postmaster.pid", service->directory);
    assert_true(pl_file_read_small(path, text, sizeof text) > 0);
    char *line = text;
    for (int i = 0; i < 6; i++)
        line = strchr(line, '\n') + 1;
    strtol(line, &line, 10);
    *sysv = strtol(line, NULL, 10);
}

static bool has_sysv(long id)
{
    char text[65536];
    if (pl_file_read_small("/proc/sysvipc/shm", text, sizeof text) <= 0)
        return false;
    for (char *line = strchr(text, '\n'); line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n')) {
        char *at = line + 1;
        strtol(at, &at, 10);
        if (strtol(at, NULL, 10) == id)
            return true;
    }
    return false;
}

static void kill_leaves_nothing(void **state)
{
    (void)state;
    need_postgres();
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service;
    char dsm[128], before[8192];
    long sysv;
    assert_ok(guard_start(&guard, &err));
    assert_ok(service_start(&plan, guard, NULL, arena, &service, &err));
    find_segments(service, dsm, sizeof dsm, &sysv);
    assert_true(dsm[0] != '\0' && path_exists(dsm) && has_sysv(sysv));
    list_segments(before, sizeof before);
    assert_non_null(strstr(before, dsm + strlen("/dev/shm/")));
    /* a backend that never looks whether its server lives */
    char conninfo[512];
    PGconn *conn = PQconnectdb(service_conninfo(service, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo));
    assert_int_equal(PQsendQuery(conn, "SELECT count(*) FROM generate_series(1, 100000000000)"), 1);
    int backend = PQbackendPID(conn);
    char directory[128];
    struct cgroup cgroup = service->cgroup;
    snprintf(directory, sizeof directory, "%s", service->directory);
    assert_ok(service_stop(service, SERVICE_STOP_KILL, &err));
    assert_false(is_alive(backend));
    check_gone(directory, &cgroup);
    assert_false(path_exists(dsm));
    assert_false(has_sysv(sysv));
    PQfinish(conn);
    guard_stop(guard);
    pl_arena_free(arena);
}

static void a_killed_server_is_a_fault(void **state)
{
    (void)state;
    need_postgres();
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service;
    struct fault fault;
    assert_ok(guard_start(&guard, &err));
    assert_ok(service_start(&plan, guard, NULL, arena, &service, &err));
    assert_int_equal(kill(service->pid, SIGKILL), 0);
    wait_until(!service_check(service, arena, &fault));
    assert_true(service->exited);
    assert_string_equal(fault.code, "SIGKILL");
    assert_string_equal(fault.source, "db");
    assert_int_equal(fault.count, 1);
    assert_non_null(strstr(fault.example, "database system is ready"));
    char directory[128];
    struct cgroup cgroup = service->cgroup;
    snprintf(directory, sizeof directory, "%s", service->directory);
    assert_ok(service_stop(service, SERVICE_STOP_CLEAN, &err));
    check_gone(directory, &cgroup);
    guard_stop(guard);
    pl_arena_free(arena);
}

static void stop_flag_interrupts_the_start(void **state)
{
    (void)state;
    need_postgres();
    volatile int stop = 1;
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct service *service = NULL;
    assert_int_equal(service_start(&plan, NULL, &stop, arena, &service, &err), PL_INTERRUPTED);
    assert_int_equal(own_temporary_directories(), 0);
    pl_arena_free(arena);
}

struct told {
    pid_t postmaster, guard, backend;
    char directory[128];
    struct cgroup cgroup;
    char dsm[128];
    long sysv;
};

/* A tool that starts a service, tells of it, and waits for its end. `unprivileged`: as nobody. */
static _Noreturn void be_a_tool(int fd, bool unprivileged)
{
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service;
    struct told told = {0};
    char conninfo[512], text[1024];
    if (unprivileged &&
        (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
        _exit(3);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test itself fails */
    prctl(PR_SET_DUMPABLE, 1);        /* a change of user clears it, and with it the right to read one's own /proc/self */
    if (guard_start(&guard, &err) != PL_OK || service_start(&plan, guard, NULL, arena, &service, &err) != PL_OK) {
        fprintf(stderr, "%s\n", pl_err_text(&err, text, sizeof text));
        _exit(4);
    }
    PGconn *conn = PQconnectdb(service_conninfo(service, SERVICE_DATA_DATABASE, conninfo, sizeof conninfo));
    if (PQsendQuery(conn, "SELECT count(*) FROM generate_series(1, 100000000000)") == 0)
        _exit(5);
    told.backend = PQbackendPID(conn);
    told.postmaster = service->pid;
    told.guard = child_named(getpid(), "plimsoll-guard");
    told.cgroup = service->cgroup;
    told.cgroup.layout = told.cgroup.why = NULL;
    snprintf(told.directory, sizeof told.directory, "%s", service->directory);
    find_segments(service, told.dsm, sizeof told.dsm, &told.sysv);
    if (unprivileged && (strcmp(service->cgroup.layout, "none") != 0 || service->cgroup.why[0] == '\0'))
        _exit(6);
    if (write(fd, &told, sizeof told) != sizeof told)
        _exit(7);
    for (;;)
        pause();
}

/* SIGKILL of the tool: the guard removes everything. */
static void check_killed_tool(bool unprivileged)
{
    int fds[2], status;
    struct told told;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t tool = fork();
    if (tool == 0)
        be_a_tool(fds[1], unprivileged);
    close(fds[1]);
    ssize_t length = read(fds[0], &told, sizeof told);
    if (length != (ssize_t)sizeof told) {
        waitpid(tool, &status, 0);
        fail_msg("the tool ended with status %x", (unsigned)status);
    }
    close(fds[0]);
    assert_true(is_alive(told.postmaster) && is_alive(told.backend) && is_alive(told.guard));
    assert_true(path_exists(told.directory) && path_exists(told.dsm) && has_sysv(told.sysv));
    assert_int_equal(kill(tool, SIGKILL), 0);
    assert_int_equal(waitpid(tool, &status, 0), tool);
    wait_until(!is_alive(told.guard));
    assert_false(is_alive(told.postmaster));
    assert_false(is_alive(told.backend));
    check_gone(told.directory, &told.cgroup);
    assert_false(path_exists(told.dsm));
    assert_false(has_sysv(told.sysv));
}

static void a_killed_tool_leaves_nothing(void **state)
{
    (void)state;
    need_postgres();
    check_killed_tool(false);
}

static void an_ordinary_user_can_do_it_too(void **state)
{
    (void)state;
    need_postgres();
    if (geteuid() != 0) {
        print_message("skipped: the other tests ran as an ordinary user already\n");
        skip();
    }
    check_killed_tool(true);
}

static void a_temporary_directory_with_a_long_name_is_refused(void **state)
{
    (void)state;
    char old[4096], name[512] = "/tmp/";
    snprintf(old, sizeof old, "%s", getenv("TMPDIR"));
    memset(name + 5, 'x', 100);
    setenv("TMPDIR", name, 1);
    struct plan_service plan = plain_plan();
    check_refused(&plan, PL_USAGE, "too long", "Set TMPDIR");
    setenv("TMPDIR", old, 1);
}

/* A paused one keeps its files and nothing else; a copy begins with the same rows under its own settings; what is then done
 * to either is not seen by the other. */
static void pauses_copies_and_goes_on(void **state)
{
    (void)state;
    need_postgres();
    static const struct plan_setting settings[] = {{.name = "work_mem", .value = "7MB"}};
    static const char *const told[] = {"work_mem", NULL};
    struct plan_service plan = plain_plan(), other = plain_plan();
    plan.told = told;
    other.settings = settings;
    other.setting_count = 1;
    other.scope = "db settings=other";
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service, *copy;
    assert_ok(guard_start(&guard, &err));
    assert_ok(service_start(&plan, guard, NULL, arena, &service, &err));
    query_in(service, SERVICE_DATA_DATABASE, "CREATE TABLE kept AS SELECT 42 AS answer; SELECT 1");
    struct cgroup cgroup = service->cgroup;
    assert_ok(service_pause(service, &err));
    assert_int_equal(service->pid, 0);
    assert_int_equal(processes_in(service->directory, NULL, 0), 0);
    assert_true(path_exists(service->directory));
    assert_false(cgroup.v1_memory[0] != '\0' && path_exists(cgroup.v1_memory));
    assert_ok(service_start_copy(&other, service, guard, NULL, arena, &copy, &err));
    assert_string_not_equal(copy->directory, service->directory);
    assert_string_equal(query_in(copy, SERVICE_DATA_DATABASE, "SELECT answer FROM kept"), "42");
    assert_string_equal(query_in(copy, SERVICE_DATA_DATABASE, "SHOW work_mem"), "7MB");
    query_in(copy, SERVICE_DATA_DATABASE, "UPDATE kept SET answer = 43 RETURNING answer");
    assert_ok(service_continue(service, NULL, &err)); /* both at once: sockets and data are apart */
    check_groups(service);
    assert_true(service->ready_ns > 0);
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE, "SELECT answer FROM kept"), "42");
    assert_string_equal(query_in(service, SERVICE_DATA_DATABASE, "SHOW work_mem"), "4MB");
    struct fact *facts = NULL;
    size_t count = 0, found = 0;
    assert_ok(service_facts(service, NULL, arena, &facts, &count, &err));
    for (size_t i = 0; i < count; i++)
        found += strcmp(facts[i].name, "setting.work_mem") == 0 && strcmp(facts[i].value, "4MB") == 0;
    assert_int_equal(found, 1); /* told, although it is the default */
    assert_ok(service_facts(copy, NULL, arena, &facts, &count, &err));
    assert_string_equal(facts[0].scope, "db settings=other");
    for (int round = 0; round < 3; round++) { /* as often as one likes */
        assert_ok(service_pause(copy, &err));
        assert_ok(service_continue(copy, NULL, &err));
    }
    assert_string_equal(query_in(copy, SERVICE_DATA_DATABASE, "SELECT answer FROM kept"), "43");
    char directories[2][128];
    snprintf(directories[0], sizeof directories[0], "%s", service->directory);
    snprintf(directories[1], sizeof directories[1], "%s", copy->directory);
    assert_ok(service_pause(service, &err));
    assert_ok(service_stop(service, SERVICE_STOP_CLEAN, &err)); /* also when it is paused */
    assert_ok(service_stop(copy, SERVICE_STOP_CLEAN, &err));
    for (int i = 0; i < 2; i++)
        check_gone(directories[i], &cgroup);
    guard_stop(guard);
    pl_arena_free(arena);
}

/* A server that was killed has no files to go on with. */
static void a_dead_one_cannot_be_paused(void **state)
{
    (void)state;
    need_postgres();
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0}, paused = {0};
    struct service *service;
    assert_ok(service_start(&plan, NULL, NULL, arena, &service, &err));
    kill(service->pid, SIGKILL);
    assert_int_equal(service_pause(service, &paused), PL_SERVICE);
    assert_non_null(strstr(paused.what, "did not stop in good order"));
    char directory[128];
    struct cgroup cgroup = service->cgroup;
    snprintf(directory, sizeof directory, "%s", service->directory);
    assert_ok(service_stop(service, SERVICE_STOP_KILL, &err));
    check_gone(directory, &cgroup);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_applies_settings_and_stops),
        cmocka_unit_test(kill_leaves_nothing),
        cmocka_unit_test(a_killed_server_is_a_fault),
        cmocka_unit_test(stop_flag_interrupts_the_start),
        cmocka_unit_test(a_killed_tool_leaves_nothing),
        cmocka_unit_test(an_ordinary_user_can_do_it_too),
        cmocka_unit_test(pauses_copies_and_goes_on),
        cmocka_unit_test(a_dead_one_cannot_be_paused),
        cmocka_unit_test(a_temporary_directory_with_a_long_name_is_refused),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
