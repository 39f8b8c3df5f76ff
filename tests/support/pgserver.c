#include "pgserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"
#include "tlscert.h"

#define FOLDER_PREFIX "/tmp/plimsoll-test-pg-"

enum { MAX_ARGS = 64, START_TIMEOUT_MS = 60000, STOP_TIMEOUT_MS = 20000, TICK_MS = 5 };

static void tick(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000L}, NULL);
}

static bool wants_18(void)
{
    const char *version = getenv("PLIMSOLL_TEST_PG");
    return version != NULL && strcmp(version, "18") == 0;
}

static bool bin_find(char *bin, size_t size)
{
    char path[512];
    const char *named = getenv(wants_18() ? "PLIMSOLL_TEST_PGBIN18" : "PLIMSOLL_TEST_PGBIN");
    if (named != NULL) {
        snprintf(bin, size, "%s", named);
        snprintf(path, sizeof path, "%s/postgres", named);
        return access(path, X_OK) == 0;
    }
    if (wants_18())
        return false;
    glob_t found;
    int best = 0;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int version = (int)strtol(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"), NULL, 10);
        if (version > best) {
            best = version;
            snprintf(bin, size, "/usr/lib/postgresql/%d/bin", version);
        }
    }
    globfree(&found);
    return best > 0;
}

/* Whom the server runs as: PostgreSQL refuses root. */
static void user_find(uid_t *ret_uid, gid_t *ret_gid)
{
    *ret_uid = geteuid();
    *ret_gid = getegid();
    if (*ret_uid != 0)
        return;
    const struct passwd *user = getpwnam("postgres");
    if (user == NULL)
        user = getpwnam("nobody");
    assert_non_null(user);
    *ret_uid = user->pw_uid;
    *ret_gid = user->pw_gid;
}

/* Starts argv as that user with its output in the server's log. It dies with this thread. */
static pid_t child_start(const struct pgserver *server, char *const *argv, int death_signal)
{
    uid_t uid;
    gid_t gid;
    user_find(&uid, &gid);
    char log_path[128];
    snprintf(log_path, sizeof log_path, "%s/log", server->folder);
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644), null = open("/dev/null", O_RDONLY);
    if (log < 0 || null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || chdir("/") != 0)
        _exit(120);
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(gid) != 0 || setuid(uid) != 0))
        _exit(121);
    /* after setuid, which clears it */
    if (prctl(PR_SET_PDEATHSIG, death_signal) != 0 || getppid() != parent)
        _exit(122);
    execv(argv[0], argv);
    _exit(123);
}

static int folder_remove_part(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

static void folder_remove(const char *folder)
{
    nftw(folder, folder_remove_part, 32, FTW_DEPTH | FTW_PHYS);
}

static int folder_lock(const char *folder, int flags)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lock", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Removes what tests left behind that were killed. */
static void folders_sweep(void)
{
    glob_t found;
    if (glob(FOLDER_PREFIX "*", 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int fd = folder_lock(found.gl_pathv[i], 0);
        if (fd < 0)
            continue;
        folder_remove(found.gl_pathv[i]);
        close(fd);
    }
    globfree(&found);
}

static void fail_with_log(struct pgserver *server, const char *what)
{
    char path[128], line[512];
    snprintf(path, sizeof path, "%s/log", server->folder);
    print_error("%s\n", what);
    FILE *log = fopen(path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL)
        print_error("  %s", line);
    if (log != NULL)
        fclose(log);
    pgserver_stop(server);
    fail_msg("%s", what);
}

/* The eighth line of postmaster.pid says "ready", as pg_ctl reads it. */
static bool is_ready(const struct pgserver *server)
{
    char path[128], line[256] = "";
    snprintf(path, sizeof path, "%s/data/postmaster.pid", server->folder);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    int number = 0;
    while (number < 8 && fgets(line, sizeof line, file) != NULL)
        number++;
    fclose(file);
    return number == 8 && strncmp(line, "ready", 5) == 0;
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void own(const char *path)
{
    uid_t uid;
    gid_t gid;
    user_find(&uid, &gid);
    if (geteuid() == 0)
        assert_int_equal(chown(path, uid, gid), 0);
}

static void data_init(struct pgserver *server)
{
    char program[300], data[128], path[160];
    snprintf(program, sizeof program, "%s/initdb", server->bin);
    snprintf(data, sizeof data, "%s/data", server->folder);
    char *argv[] = {program,
                    "--no-sync",
                    "--no-instructions",
                    "--auth=trust",
                    "--username=postgres",
                    "--encoding=UTF8",
                    "--locale=C",
                    "-D",
                    data,
                    NULL};
    int status = -1;
    waitpid(child_start(server, argv, SIGKILL), &status, 0);
    if (status != 0)
        fail_with_log(server, "initdb failed");
    snprintf(path, sizeof path, "%s/pg_hba.conf", data);
    FILE *hba = fopen(path, "w");
    assert_non_null(hba);
    fputs("local all guarded scram-sha-256\nlocal all all trust\n"
          "host all guarded all scram-sha-256\nhost all all all trust\n"
          "local replication all trust\n",
          hba);
    assert_int_equal(fclose(hba), 0);
}

struct arguments {
    char texts[MAX_ARGS][160];
    char *argv[2 * MAX_ARGS];
    int count, texts_count;
};

static void argument_set(struct arguments *args, const char *setting)
{
    static char dash_c[] = "-c";
    assert_true(args->texts_count < MAX_ARGS && args->count + 3 < 2 * MAX_ARGS);
    char *text = args->texts[args->texts_count++];
    snprintf(text, sizeof args->texts[0], "%s", setting);
    args->argv[args->count++] = dash_c;
    args->argv[args->count++] = text;
}

static void argument_set_path(struct arguments *args, const char *name, const struct pgserver *server, const char *file)
{
    char text[160];
    snprintf(text, sizeof text, "%s=%s%s", name, server->folder, file);
    argument_set(args, text);
}

static void postmaster_start(struct pgserver *server, const char *const *settings, bool tls)
{
    char program[300], data[128], text[64];
    static char dash_d[] = "-D";
    struct arguments args = {.count = 0};
    snprintf(program, sizeof program, "%s/postgres", server->bin);
    snprintf(data, sizeof data, "%s/data", server->folder);
    args.argv[args.count++] = program;
    args.argv[args.count++] = dash_d;
    args.argv[args.count++] = data;
    static const char *const defaults[] = {"fsync=off",     "max_connections=300",    "shared_buffers=32MB",
                                           "lc_messages=C", "log_line_prefix=%m %p ", "log_checkpoints=off"};
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        argument_set(&args, defaults[i]);
    snprintf(text, sizeof text, "port=%d", server->port);
    argument_set(&args, text);
    argument_set_path(&args, "unix_socket_directories", server, "");
    argument_set(&args, tls ? "listen_addresses=127.0.0.1" : "listen_addresses=");
    if (tls) {
        argument_set(&args, "ssl=on");
        argument_set_path(&args, "ssl_cert_file", server, "/cert.pem");
        argument_set_path(&args, "ssl_key_file", server, "/key.pem");
    }
    for (size_t i = 0; settings != NULL && settings[i] != NULL; i++)
        argument_set(&args, settings[i]);
    server->pid = child_start(server, args.argv, SIGQUIT);
    for (int waited = 0; !is_ready(server); waited += TICK_MS) {
        int status;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            fail_with_log(server, "PostgreSQL ended while starting");
        }
        if (waited > START_TIMEOUT_MS)
            fail_with_log(server, "PostgreSQL was not ready within 60 s");
        tick();
    }
}

struct pgserver *pgserver_start_with(const char *const *settings, bool tls)
{
    char bin[sizeof((struct pgserver *)NULL)->bin];
    if (!bin_find(bin, sizeof bin))
        return NULL;
    struct pgserver *server = calloc(1, sizeof *server);
    assert_non_null(server);
    memcpy(server->bin, bin, sizeof bin);
    snprintf(server->folder, sizeof server->folder, FOLDER_PREFIX "XXXXXX");
    folders_sweep();
    assert_non_null(mkdtemp(server->folder));
    server->lock_fd = folder_lock(server->folder, O_CREAT);
    assert_true(server->lock_fd >= 0);
    own(server->folder);
    server->port = tls ? free_port() : 5432;
    snprintf(server->conninfo, sizeof server->conninfo, "host=%s port=%d user=postgres dbname=postgres%s",
             tls ? "127.0.0.1" : server->folder, server->port, tls ? " sslmode=require" : "");
    data_init(server);
    if (tls) {
        char cert[128], key[128];
        snprintf(cert, sizeof cert, "%s/cert.pem", server->folder);
        snprintf(key, sizeof key, "%s/key.pem", server->folder);
        tlscert_write(cert, key);
        own(cert);
        own(key);
    }
    postmaster_start(server, settings, tls);
    return server;
}

struct pgserver *pgserver_start(void)
{
    return pgserver_start_with(NULL, false);
}

struct pgserver *pgserver_start_tls(void)
{
    return pgserver_start_with(NULL, true);
}

static bool wait_for_end(struct pgserver *server, int timeout_ms)
{
    for (int waited = 0; waited <= timeout_ms; waited += TICK_MS) {
        pid_t pid = waitpid(server->pid, NULL, WNOHANG);
        if (pid == server->pid || (pid < 0 && errno == ECHILD))
            return true;
        tick();
    }
    return false;
}

void pgserver_stop(struct pgserver *server)
{
    if (server == NULL)
        return;
    if (server->pid > 0) {
        kill(server->pid, SIGINT);
        if (!wait_for_end(server, STOP_TIMEOUT_MS)) {
            kill(server->pid, SIGQUIT);
            if (!wait_for_end(server, STOP_TIMEOUT_MS))
                kill(server->pid, SIGKILL);
        }
    }
    folder_remove(server->folder);
    close(server->lock_fd);
    free(server);
}

struct pgserver *pgserver_or_skip(struct pgserver *server)
{
    if (server == NULL) {
        const char *why = getenv("PLIMSOLL_TEST_NO_PG18");
        if (wants_18())
            print_message("# skipped: %s\n",
                          why != NULL ? why : "no PostgreSQL 18 in PLIMSOLL_TEST_PGBIN18 (tools/postgres18)");
        else
            print_message("# skipped: no PostgreSQL found\n");
        skip();
    }
    return server;
}
