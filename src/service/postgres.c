/* A throwaway PostgreSQL: initdb, settings, start, readiness, facts. */
#include "service/postgres_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/service_int.h"
#include "wire/pgconn.h"

#include "base/ban.h"

#define POSTGRES_PORT 5432
#define INITDB_LIMIT_NS (120 * PL_NS_PER_S)
#define READY_LIMIT_NS (120 * PL_NS_PER_S)
#define READY_PAUSE_NS PL_NS_PER_MS
#define STOP_LIMIT_NS (120 * PL_NS_PER_S) /* it writes all that its buffers hold */
#define COPY_LIMIT_NS (3600 * PL_NS_PER_S)
/* A server that hangs must not hang the tool; a slow one must not be given up too early. */
#define CONNECT_LIMIT_NS (30 * PL_NS_PER_S)
#define ANSWER_LIMIT_NS (60 * PL_NS_PER_S)
#define TIDY_LIMIT_NS (300 * PL_NS_PER_S)

enum { TAIL_LINES = 15, CONF_BYTES_MAX = 1024 * 1024, PID_FILE_STATUS_LINE = 8 };

struct postgres {
    struct postgres_programs programs;
    char data_directory[160];
    bool dsm_noted;
};

static void postgres_put_quoted(struct pl_buf *out, const char *value)
{
    pl_buf_put(out, "'");
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\'' || *p == '\\')
            pl_buf_put(out, "\\");
        pl_buf_put_bytes(out, p, 1);
    }
    pl_buf_put(out, "'");
}

static void postgres_conninfo(const struct service_state *state, const char *database, struct pl_buf *out)
{
    /* options: what PGOPTIONS says in the tool's environment is not part of the study */
    pl_buf_put(out, "host=");
    postgres_put_quoted(out, state->service.socket_directory);
    pl_buf_printf(out, " port=%d user=postgres options='' dbname=", state->service.port);
    postgres_put_quoted(out, database);
}

static enum pl_code postgres_open(const struct service_state *state, const char *database, const volatile int *stop,
                                  PGconn **ret_conn, struct pl_err *err)
{
    char conninfo[512];
    service_conninfo(&state->service, database, conninfo, sizeof conninfo);
    return pgconn_open_unless(conninfo, CONNECT_LIMIT_NS, stop, ret_conn, err);
}

/* The last lines of a log as a hint, when there are any. */
static void postgres_hint_log(const char *path, struct pl_err *err)
{
    char tail[1800];
    if (*spawn_tail(path, TAIL_LINES, tail, sizeof tail) != '\0')
        pl_err_hint(err, "The last lines of its log:\n%s", tail);
}

static enum pl_code postgres_initdb(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    const struct postgres *own = state->own;
    char program[300], log_path[200];
    int status = 0;
    snprintf(program, sizeof program, "%s/initdb", own->programs.directory);
    snprintf(log_path, sizeof log_path, "%s/initdb.log", state->service.directory);
    int log_fd = open(log_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot create \"%s\"", log_path);
    /* --no-sync: files that only exist for this study need not survive a crash of the machine before the server starts */
    const char *const argv[] = {program, "-D",   own->data_directory, "-U", "postgres", "-A", "trust", "--no-locale",
                                "-E",    "UTF8", "--no-sync",         NULL};
    struct spawn_spec spec = {.program = program,
                              .argv = argv,
                              .directory = state->service.directory,
                              .library_path = own->programs.library[0] != '\0' ? own->programs.library : NULL,
                              .user = &state->user,
                              .guard = state->service.guard,
                              .output_fd = log_fd};
    enum pl_code code = spawn_run(&spec, INITDB_LIMIT_NS, stop, &status, err);
    close(log_fd);
    if (code == PL_OK && status != 0) {
        code = pl_err_set(err, PL_SERVICE, "initdb could not make a database cluster");
        postgres_hint_log(log_path, err);
    }
    return code;
}

/* The study's own settings first: of several lines for one name the server takes the last. */
static enum pl_code postgres_put_conf(const struct service_state *state, struct pl_buf *out, struct pl_err *err)
{
    const struct plan_service *plan = state->service.plan;
    pl_buf_put(out, "\nlisten_addresses = ''\nunix_socket_permissions = 0700\nlog_destination = 'stderr'\n"
                    "logging_collector = off\nlog_line_prefix = '%m [%p] '\nlc_messages = 'C'\n");
    pl_buf_printf(out, "port = %d\n", POSTGRES_PORT);
    pl_buf_put(out, "unix_socket_directories = ");
    /* a directory name with a comma would be taken for two without the inner quotes */
    pl_buf_put(out, "'\"");
    for (const char *p = state->service.socket_directory; *p != '\0'; p++) {
        if (*p == '\'' || *p == '\\' || *p == '"')
            pl_buf_put_bytes(out, p, 1);
        pl_buf_put_bytes(out, p, 1);
    }
    pl_buf_put(out, "\"'\n");
    for (size_t i = 0; i < plan->setting_count; i++) {
        enum pl_code code = postgres_put_setting(out, plan->settings[i].name, plan->settings[i].value, err);
        if (code != PL_OK)
            return code;
    }
    return out->full ? pl_err_set(err, PL_LIMIT, "the settings are longer than %d bytes", CONF_BYTES_MAX) : PL_OK;
}

static enum pl_code postgres_write_conf(const struct service_state *state, struct pl_err *err)
{
    const struct postgres *own = state->own;
    char path[200];
    struct pl_buf text;
    pl_buf_init(&text, CONF_BYTES_MAX);
    enum pl_code code = postgres_put_conf(state, &text, err);
    snprintf(path, sizeof path, "%s/postgresql.conf", own->data_directory);
    int fd = code == PL_OK ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (code == PL_OK && fd < 0)
        code = pl_err_os(err, PL_IO, errno, "cannot open \"%s\"", path);
    for (size_t done = 0; code == PL_OK && done < text.len;) {
        ssize_t length = write(fd, text.data + done, text.len - done);
        if (length < 0 && errno != EINTR)
            code = pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", path);
        done += length > 0 ? (size_t)length : 0;
    }
    if (fd >= 0)
        close(fd);
    pl_buf_release(&text);
    return code;
}

/* The server's own word in postmaster.pid: "starting", "ready"; "" when it has said nothing yet. pg_ctl looks there too:
 * asking the server itself so often would cost it a process each time. */
static void postgres_read_status(const char *data_directory, char *ret_status, size_t size)
{
    char path[200], text[1024];
    ret_status[0] = '\0';
    snprintf(path, sizeof path, "%s/postmaster.pid", data_directory);
    if (pl_file_read_small(path, text, sizeof text) < 0)
        return;
    const char *line = text;
    for (int number = 1; number < PID_FILE_STATUS_LINE && line != NULL; number++) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line != NULL)
        snprintf(ret_status, size, "%.*s", (int)strcspn(line, " \n"), line);
}

/* A control segment that only a server in good order removes itself. It is there before the server says "starting". */
static void postgres_note_dsm(struct service_state *state)
{
    struct postgres *own = state->own;
    char path[128];
    postgres_find_dsm(state->service.pid, path, sizeof path);
    if (path[0] != '\0' && !own->dsm_noted) {
        service_add_leftover(state, GUARD_DSM, 0, path);
        own->dsm_noted = true;
    }
}

/* Whether it answers a query; takes the time of the answer and its version. */
static bool postgres_answers(struct service_state *state, int64_t start_ns, const volatile int *stop)
{
    PGconn *conn = NULL;
    struct pl_err ignored = {0}; /* it is asked again, until the time is over */
    if (postgres_open(state, SERVICE_SENSOR_DATABASE, stop, &conn, &ignored) != PL_OK)
        return false;
    bool good = pgquery_run_unless(conn, "SELECT 1", ANSWER_LIMIT_NS, stop, NULL, &ignored) == PL_OK;
    if (good) {
        const char *version = PQparameterStatus(conn, "server_version");
        state->service.ready_ns = pl_clock_ns() - start_ns;
        snprintf(state->service.version, sizeof state->service.version, "%s", version != NULL ? version : "");
    }
    PQfinish(conn);
    return good;
}

static enum pl_code postgres_wait_ready(struct service_state *state, int64_t start_ns, const volatile int *stop,
                                        struct pl_err *err)
{
    const struct postgres *own = state->own;
    for (;;) {
        char status[32];
        postgres_read_status(own->data_directory, status, sizeof status);
        if (status[0] != '\0' && !own->dsm_noted)
            postgres_note_dsm(state);
        if (strcmp(status, "ready") == 0 && postgres_answers(state, start_ns, stop))
            return PL_OK;
        if (service_is_dead(state)) {
            pl_err_set(err, PL_SERVICE, "PostgreSQL %s did not start", own->programs.version);
            break;
        }
        if (stop != NULL && *stop != 0)
            return pl_err_set(err, PL_INTERRUPTED, "interrupted while PostgreSQL started");
        if (pl_clock_ns() - start_ns > READY_LIMIT_NS) {
            pl_err_set(err, PL_SERVICE, "PostgreSQL %s did not answer within %lld s", own->programs.version,
                       (long long)(READY_LIMIT_NS / PL_NS_PER_S));
            break;
        }
        pl_clock_sleep_until(pl_clock_ns() + READY_PAUSE_NS);
    }
    postgres_hint_log(state->log_path, err);
    return err->code;
}

static enum pl_code postgres_run(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    struct postgres *own = state->own;
    char program[300];
    int64_t start_ns = 0;
    snprintf(program, sizeof program, "%s/postgres", own->programs.directory);
    /* the whole path: by a bare name the programs would look for themselves on PATH, and find another version */
    const char *const argv[] = {program, "-D", own->data_directory, NULL};
    service_add_leftover(state, GUARD_SYSV, 0, own->data_directory);
    enum pl_code code = service_spawn(state, program, argv, own->programs.library[0] != '\0' ? own->programs.library : NULL,
                                      &start_ns, err);
    if (code == PL_OK)
        code = postgres_wait_ready(state, start_ns, stop, err);
    if (code != PL_OK && !service_is_dead(state))
        postgres_note_dsm(state); /* it is about to be killed */
    return code;
}

/* What was copied must not be on its way to the disk while something is measured. */
static enum pl_code postgres_flush_copy(const struct postgres *own, struct pl_err *err)
{
    int fd = open(own->data_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || syncfs(fd) < 0)
        pl_err_os(err, PL_IO, errno, "cannot flush \"%s\"", own->data_directory);
    if (fd >= 0)
        close(fd);
    return err->code;
}

static enum pl_code postgres_copy(struct service_state *state, const struct service_state *source, const volatile int *stop,
                                  struct pl_err *err)
{
    const struct postgres *own = state->own, *from = source->own;
    char program[300], log_path[200];
    int status = 0;
    if (!spawn_find_program("cp", program, sizeof program))
        return pl_err_set(err, PL_NOT_FOUND, "there is no program \"cp\" on PATH");
    snprintf(log_path, sizeof log_path, "%s/copy.log", state->service.directory);
    int log_fd = open(log_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot create \"%s\"", log_path);
    const char *const argv[] = {"cp", "-a", "--reflink=auto", "--", from->data_directory, own->data_directory, NULL};
    struct spawn_spec spec = {.program = program,
                              .argv = argv,
                              .directory = state->service.directory,
                              .user = &state->user,
                              .guard = state->service.guard,
                              .output_fd = log_fd};
    enum pl_code code = spawn_run(&spec, COPY_LIMIT_NS, stop, &status, err);
    close(log_fd);
    if (code == PL_OK && status != 0) {
        code = pl_err_set(err, PL_SERVICE, "the data directory could not be copied");
        postgres_hint_log(log_path, err);
    }
    return code == PL_OK ? postgres_flush_copy(own, err) : code;
}

static enum pl_code postgres_create_database(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    PGconn *conn = NULL;
    enum pl_code code = postgres_open(state, SERVICE_SENSOR_DATABASE, stop, &conn, err);
    if (code != PL_OK)
        return code;
    code = pgquery_run_unless(conn, "CREATE DATABASE " SERVICE_DATA_DATABASE, ANSWER_LIMIT_NS, stop, NULL, err);
    PQfinish(conn);
    return code;
}

static enum pl_code postgres_start(struct service_state *state, const struct service_state *source,
                                   const volatile int *stop, struct pl_err *err)
{
    struct postgres *own = pl_alloc(state->arena, 1, sizeof *own);
    state->own = own;
    state->service.port = POSTGRES_PORT;
    snprintf(own->data_directory, sizeof own->data_directory, "%s/data", state->service.directory);
    enum pl_code code = postgres_find(state->service.plan, &state->user, state->arena, &own->programs, err);
    if (code == PL_OK)
        code = source != NULL ? postgres_copy(state, source, stop, err) : postgres_initdb(state, stop, err);
    if (code == PL_OK)
        code = postgres_write_conf(state, err); /* of a copy: behind the lines of its source, which they replace */
    if (code == PL_OK)
        code = postgres_run(state, stop, err);
    return code == PL_OK && source == NULL ? postgres_create_database(state, stop, err) : code;
}

static enum pl_code postgres_start_again(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    struct postgres *own = state->own;
    own->dsm_noted = false;
    return postgres_run(state, stop, err);
}

static enum pl_code postgres_load_data(struct service_state *state, void (*progress)(void *ctx, double done), void *ctx,
                                       const volatile int *stop, struct pl_err *err)
{
    const struct plan_service *plan = state->service.plan;
    PGconn *conn = NULL;
    if (strcmp(plan->data_kind, "tpcb") != 0)
        return pl_err_set(err, PL_USAGE, "there is no data set \"%s\" for PostgreSQL", plan->data_kind);
    enum pl_code code = postgres_open(state, SERVICE_DATA_DATABASE, stop, &conn, err);
    if (code != PL_OK)
        return code;
    code = dataset_load_tpcb(conn, plan->data_scale, progress, ctx, stop, err);
    PQfinish(conn);
    return code;
}

static enum pl_code postgres_tidy(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    PGconn *conn = NULL;
    enum pl_code code = postgres_open(state, SERVICE_DATA_DATABASE, stop, &conn, err);
    if (code != PL_OK)
        return code;
    code = pgquery_run_unless(conn, "VACUUM", TIDY_LIMIT_NS, stop, NULL, err);
    if (code == PL_OK)
        code = pgquery_run_unless(conn, "CHECKPOINT", TIDY_LIMIT_NS, stop, NULL, err);
    PQfinish(conn);
    return code;
}

static bool postgres_is_in_plan(const struct plan_service *plan, const char *name)
{
    for (size_t i = 0; i < plan->setting_count; i++)
        if (strcasecmp(plan->settings[i].name, name) == 0)
            return true;
    for (size_t i = 0; plan->told != NULL && plan->told[i] != NULL; i++)
        if (strcasecmp(plan->told[i], name) == 0)
            return true;
    return false;
}

/* Of no use to a reader: paths below the temporary directory, and the state of the connection that asks. */
static bool postgres_is_passing(const char *name)
{
    static const char *const places[] = {"config_file",
                                         "data_directory",
                                         "hba_file",
                                         "ident_file",
                                         "external_pid_file",
                                         "unix_socket_directories",
                                         "transaction_deferrable",
                                         "transaction_isolation",
                                         "transaction_read_only"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(name, places[i]) == 0)
            return true;
    return false;
}

/* One row of pg_settings: name, value, source. */
static void postgres_push_setting(const struct service_state *state, const char *name, const char *value,
                                  const char *source, struct service_facts *facts)
{
    /* what every page prints, wherever the value came from */
    static const struct {
        const char *setting, *fact;
    } always[] = {{"server_version", "server_version"},
                  {"block_size", "block_size"},
                  {"wal_segment_size", "wal_segment_size"},
                  {"data_checksums", "data_checksums"},
                  {"ssl", "tls"}};
    const char *how = pl_format(facts->arena, "pg_settings, source %s", source);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i].setting) == 0)
            service_push_fact(facts, always[i].fact, value, "", how);
    bool in_plan = postgres_is_in_plan(state->service.plan, name), is_default = strcmp(source, "default") == 0;
    if ((is_default && !in_plan) || postgres_is_passing(name) || strcmp(source, "client") == 0)
        return;
    if (plan_setting_is_secret(name))
        value = "(not recorded)";
    service_push_fact(facts, pl_format(facts->arena, "setting.%s", name), value, "", how);
}

static enum pl_code postgres_facts(struct service_state *state, struct service_facts *facts, const volatile int *stop,
                                   struct pl_err *err)
{
    const struct postgres *own = state->own;
    PGconn *conn = NULL;
    enum pl_code code = postgres_open(state, SERVICE_SENSOR_DATABASE, stop, &conn, err);
    if (code != PL_OK)
        return code;
    service_push_fact(facts, "program.postgres", pl_format(facts->arena, "%s/postgres", own->programs.directory), "",
                      "search");
    service_push_fact(facts, "program.initdb", pl_format(facts->arena, "%s/initdb", own->programs.directory), "", "search");
    PGresult *rows = NULL;
    code = pgquery_run_unless(conn, "SELECT name, current_setting(name), source FROM pg_settings ORDER BY name",
                              ANSWER_LIMIT_NS, stop, &rows, err);
    for (int row = 0; code == PL_OK && row < PQntuples(rows); row++)
        postgres_push_setting(state, PQgetvalue(rows, row, 0), PQgetvalue(rows, row, 1), PQgetvalue(rows, row, 2), facts);
    PQclear(rows);
    PQfinish(conn);
    return code;
}

const struct service_kind postgres_kind = {.name = "postgres",
                                           .start = postgres_start,
                                           .start_again = postgres_start_again,
                                           .load_data = postgres_load_data,
                                           .tidy = postgres_tidy,
                                           .facts = postgres_facts,
                                           .conninfo = postgres_conninfo,
                                           .stop_signal = SIGINT,
                                           .stop_limit_ns = STOP_LIMIT_NS};
