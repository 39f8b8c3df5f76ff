/* What the tests of this room share: processes as /proc shows them, and a PostgreSQL to skip without. */
#ifndef PL_TESTS_SERVICE_SUPPORT_H
#define PL_TESTS_SERVICE_SUPPORT_H

#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/guard.h"
#include "service/service.h"

#define UNUSED __attribute__((unused))

/* True when the process is there and no zombie. */
UNUSED static bool is_alive(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (pl_file_read_small(path, text, sizeof text) <= 0)
        return false;
    const char *at = strrchr(text, ')');
    return at != NULL && at[2] != 'Z' && at[2] != 'X';
}

/* Processes whose working directory is inside the directory; their numbers into pids (may be NULL). */
UNUSED static int processes_in(const char *directory, pid_t *pids, int max)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        char path[300], target[600];
        snprintf(path, sizeof path, "/proc/%.20s/cwd", entry->d_name);
        ssize_t length =
            entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? readlink(path, target, sizeof target - 1) : -1;
        if (length <= 0)
            continue;
        target[length] = '\0';
        if (strncmp(target, directory, strlen(directory)) != 0)
            continue;
        if (pids != NULL && count < max)
            pids[count] = (pid_t)strtol(entry->d_name, NULL, 10);
        count++;
    }
    closedir(proc);
    return count;
}

/* A child of `parent` with that command name; 0 when there is none. */
UNUSED static pid_t child_named(pid_t parent, const char *name)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL && found == 0;) {
        char path[64], text[1024], start[128];
        snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || pl_file_read_small(path, text, sizeof text) <= 0)
            continue;
        char *close_paren = strrchr(text, ')');
        snprintf(start, sizeof start, "(%s)", name);
        if (close_paren != NULL && strstr(text, start) != NULL && strtol(close_paren + 4, NULL, 10) == parent)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(proc);
    return found;
}

UNUSED static bool path_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* Waits up to 60 s until the condition holds; the limit only decides how long a broken build takes to fail. */
#define wait_until(condition)                                                                                              \
    do {                                                                                                                   \
        int64_t limit_ns = pl_clock_ns() + 60 * PL_NS_PER_S;                                                               \
        while (!(condition) && pl_clock_ns() < limit_ns)                                                                   \
            pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);                                                        \
        assert_true(condition);                                                                                            \
    } while (0)

UNUSED static bool has_postgres(void)
{
    static int known = -1;
    if (known < 0) {
        DIR *root = opendir("/usr/lib/postgresql");
        known = root != NULL || access("/usr/bin/pg_config", X_OK) == 0;
        if (root != NULL)
            closedir(root);
        if (known == 0)
            print_message("skipped: PostgreSQL is not installed (Debian package postgresql-15)\n");
    }
    return known == 1;
}

#define need_postgres()                                                                                                    \
    do {                                                                                                                   \
        if (!has_postgres())                                                                                               \
            skip();                                                                                                        \
    } while (0)

/* A query's single value as text in a static buffer. */
UNUSED static const char *query_in(const struct service *service, const char *database, const char *sql)
{
    static char text[4096];
    char conninfo[512];
    PGconn *conn = PQconnectdb(service_conninfo(service, database, conninfo, sizeof conninfo));
    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("connect: %s", PQerrorMessage(conn));
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    snprintf(text, sizeof text, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(conn);
    return text;
}

#define assert_ok(call)                                                                                                    \
    do {                                                                                                                   \
        enum pl_code code_of_call = (call);                                                                                \
        char text_of_err[1024];                                                                                            \
        if (code_of_call != PL_OK)                                                                                         \
            fail_msg("%s: %s", #call, pl_err_text(&err, text_of_err, sizeof text_of_err));                                 \
    } while (0)

UNUSED static struct plan_service plain_plan(void)
{
    return (struct plan_service){.name = "db", .kind = "postgres"};
}

/* A temporary directory of the test's own, with a blank and a quote in its name, that any user may use. */
UNUSED static int make_temporary(void **state)
{
    static char path[] = "/tmp/pl test' XXXXXX";
    if (mkdtemp(path) == NULL || chmod(path, 01777) < 0)
        return -1;
    *state = path;
    return setenv("TMPDIR", path, 1);
}

UNUSED static int remove_temporary(void **state)
{
    return rmdir(*state);
}

UNUSED static int own_temporary_directories(void)
{
    int count = 0;
    DIR *tmp = opendir(getenv("TMPDIR"));
    assert_non_null(tmp);
    for (const struct dirent *entry; (entry = readdir(tmp)) != NULL;)
        count += strncmp(entry->d_name, "plimsoll-", strlen("plimsoll-")) == 0;
    closedir(tmp);
    return count;
}

UNUSED static void check_refused(const struct plan_service *plan, enum pl_code code, const char *what, const char *hint)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct service *service = NULL;
    assert_int_equal(service_start(plan, NULL, NULL, arena, &service, &err), code);
    if (strstr(err.what, what) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("what: %s\nhint: %s", err.what, err.hint);
    assert_null(service);
    pl_arena_free(arena);
}

#endif
