/* What a run does before the load starts. */
#include "pgbench/run_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/rng.h"
#include "pgbench/say_int.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum { PASSWORD_BYTES = 1024, STOP_POLL_MS = 100 };
#define FOR_EVER_NS (INT64_C(3000000000) * PL_NS_PER_S) /* 95 years; with the longest window before it, it still fits */

/* ---- connecting ---- */

/* A line typed on the terminal. false: there is none, or a signal came before it. */
static bool line_await(int fd, const volatile int *stop, char *line, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, STOP_POLL_MS) <= 0)
        if (*stop != 0)
            return false;
    ssize_t length = read(fd, line, size - 1);
    if (length <= 0)
        return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/* From the terminal itself, so that it works when input and output are elsewhere. false: there is none, or a signal came:
 * the terminal is as it was before in any case. */
static bool password_ask(const volatile int *stop, char *password, size_t size)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    struct termios before, silent;
    bool is_terminal = tcgetattr(fd, &before) == 0;
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    if (is_terminal)
        tcsetattr(fd, TCSAFLUSH, &silent);
    dprintf(fd, "Password: ");
    bool is_given = line_await(fd, stop, password, size);
    if (is_terminal)
        tcsetattr(fd, TCSAFLUSH, &before);
    dprintf(fd, "\n");
    close(fd);
    return is_given;
}

/* conninfo with a password after it. */
static const char *with_password(const char *conninfo, const char *password, struct pl_arena *arena)
{
    char *quoted = pl_alloc(arena, 2 * strlen(password) + 1, 1), *at = quoted;
    for (; *password != '\0'; password++) {
        if (*password == '\'' || *password == '\\')
            *at++ = '\\';
        *at++ = *password;
    }
    return pl_format(arena, "%s password='%s'", conninfo, quoted);
}

/* How long libpq itself would try: connect_timeout for each host, or PGCONNECT_TIMEOUT. */
static int64_t patience_ns(const char *conninfo)
{
    const char *given = getenv("PGCONNECT_TIMEOUT");
    int64_t hosts = 1, timeout_s = 0;
    PQconninfoOption *settings = PQconninfoParse(conninfo, NULL);
    for (const PQconninfoOption *setting = settings; setting != NULL && setting->keyword != NULL; setting++) {
        if (setting->val != NULL && strcmp(setting->keyword, "connect_timeout") == 0)
            given = setting->val;
        if (setting->val != NULL && strcmp(setting->keyword, "host") == 0)
            for (const char *at = setting->val; *at != '\0'; at++)
                hosts += *at == ',';
    }
    bool is_limited = given != NULL && pl_num_i64(given, strlen(given), &timeout_s) == PL_NUM_OK && timeout_s > 0 &&
                      timeout_s < INT32_MAX;
    PQconninfoFree(settings);
    return is_limited ? (timeout_s < 2 ? 2 : timeout_s) * hosts * PL_NS_PER_S : FOR_EVER_NS;
}

/* As libpq prints them when nobody asks for anything else. */
static void print_notice(void *ctx, const PGresult *result)
{
    (void)ctx;
    fputs(PQresultErrorMessage(result), stderr);
}

/* The words of a refusal as libpq has them on one's screen: without the SQLSTATE ("FATAL:  3D000: "). */
static void say_no_connection(const struct pl_err *err)
{
    const char *state = strstr(err->what, ":  ");
    while (state != NULL &&
           (strspn(state + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 || strncmp(state + 8, ": ", 2) != 0))
        state = strstr(state + 1, ":  ");
    size_t length = state != NULL ? (size_t)(state + 3 - err->what) : strlen(err->what);
    pgbench_say(SAY_ERROR, "%.*s%s%s%s", (int)length, err->what, state != NULL ? state + 10 : "",
                err->code == PL_SERVICE && err->hint[0] != '\0' ? "\n\t" : "", err->code == PL_SERVICE ? err->hint : "");
    if (err->code != PL_SERVICE && err->hint[0] != '\0')
        pgbench_say(SAY_HINT, "%s", err->hint);
}

PGconn *pgbench_connect(struct pgbench_options *options, struct pl_arena *arena, const char *purpose,
                        const volatile int *stop)
{
    static const char no_password[] = "fe_sendauth: no password supplied"; /* libpq never translates it */
    char password[PASSWORD_BYTES];
    struct pl_err err = {0};
    PGconn *conn = NULL;
    int64_t timeout_ns = patience_ns(options->conninfo);
    enum pl_code code = pgconn_open_unless(options->conninfo, timeout_ns, stop, &conn, &err);
    if (code == PL_SERVICE && strstr(err.what, no_password) != NULL && password_ask(stop, password, sizeof password)) {
        options->conninfo = with_password(options->conninfo, password, arena);
        explicit_bzero(password, sizeof password);
        err = (struct pl_err){0};
        code = pgconn_open_unless(options->conninfo, timeout_ns, stop, &conn, &err);
    }
    if (code == PL_OK) {
        PQsetNoticeReceiver(conn, print_notice, NULL);
        return conn;
    }
    if (code == PL_INTERRUPTED || *stop != 0)
        return NULL;
    say_no_connection(&err);
    pgbench_say(SAY_ERROR, "could not create connection for %s", purpose);
    return NULL;
}

/* ---- the server ---- */

void pgbench_setup_header(PGconn *conn)
{
    const char *version = PQparameterStatus(conn, "server_version");
    printf("pgbench (Plimsoll %s, server %s)\n", PLIMSOLL_VERSION, version != NULL ? version : "unknown");
    fflush(stdout);
}

bool pgbench_setup_look(PGconn *conn, const struct pgbench_options *options, const volatile int *stop,
                        struct dataset_found *ret_found)
{
    struct pl_err err = {0};
    *ret_found = (struct dataset_found){.scale = options->scale > 0 ? options->scale : 1};
    if (!options->uses_builtin)
        return true;
    enum pl_code code = dataset_look(conn, stop, ret_found, &err);
    if (code == PL_INTERRUPTED)
        return false;
    if (code != PL_OK) {
        pgbench_say(SAY_ERROR, "%s", err.what);
        if (err.hint[0] != '\0')
            pgbench_say(SAY_HINT, "%s", err.hint);
        return false;
    }
    if (ret_found->scale <= 0) {
        pgbench_say(SAY_ERROR, "invalid count(*) from pgbench_branches: \"%lld\"", (long long)ret_found->scale);
        return false;
    }
    if (options->scale > 0)
        pgbench_say(SAY_WARNING, "scale option ignored, using count from pgbench_branches table (%lld)",
                    (long long)ret_found->scale);
    return true;
}

/* Each refusal begins on a line of its own; some have further lines. */
static void say_refusals(const char *text)
{
    static const char begin[] = "\nERROR:";
    while (*text != '\0') {
        const char *next = strstr(text, begin);
        size_t length = next != NULL ? (size_t)(next - text) : strlen(text);
        pgbench_say(SAY_ERROR, "%.*s", (int)length, text);
        pgbench_say(SAY_DETAIL, "(ignoring this error and continuing anyway)");
        text += length + (next != NULL);
    }
}

bool pgbench_setup_vacuum(PGconn *conn, const struct pgbench_options *options, const volatile int *stop)
{
    if (options->no_vacuum)
        return true;
    struct pl_err err = {0};
    char warning[DATASET_WARNING_BYTES] = "";
    fputs("starting vacuum...", stderr);
    enum pl_code code = dataset_vacuum(conn, options->vacuum_all, stop, warning, &err);
    say_refusals(warning);
    if (code != PL_OK) {
        fputc('\n', stderr);
        pgbench_say_err(&err);
        return false;
    }
    fputs("end.\n", stderr);
    if (options->vacuum_all)
        fputs("starting vacuum pgbench_accounts...end.\n", stderr);
    return true;
}

bool pgbench_setup_can_write(const char *path)
{
    if (path == NULL)
        return true;
    int os_errno = pl_file_write_errno(path);
    char reason[128];
    if (os_errno != 0)
        pgbench_say(SAY_ERROR, "could not write file \"%s\": %s", path, strerror_r(os_errno, reason, sizeof reason));
    return os_errno == 0;
}

/* ---- the load ---- */

static struct value value_int(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}

/* Values that scripts find set; one that -D gives wins over the automatic one of its name. */
static void spec_variables(struct load_spec *spec, const struct pgbench_options *options, const struct dataset_found *found,
                           struct pl_arena *arena)
{
    struct pl_rng rng;
    pl_rng_init(&rng, options->seed, PL_RNG_SCRIPT, UINT64_MAX); /* a stream that no client has */
    const struct load_variable automatic[] = {
        {"scale", value_int(found->scale)},
        {"random_seed", value_int((int64_t)options->seed)},
        {"default_seed", value_int((int64_t)pl_rng_u64(&rng))},
    };
    size_t automatic_count = sizeof automatic / sizeof automatic[0], count = 0;
    struct load_variable *variables = pl_alloc(arena, automatic_count + options->define_count, sizeof *variables);
    for (size_t d = 0; d < options->define_count; d++) {
        const struct pgbench_define *define = &options->defines[d];
        variables[count++] = (struct load_variable){
            define->name, {.type = VALUE_TEXT, .length = (uint32_t)strlen(define->value), .text = define->value}};
    }
    for (size_t a = 0; a < automatic_count; a++) {
        bool is_given = false;
        for (size_t d = 0; d < options->define_count; d++)
            is_given = is_given || strcmp(options->defines[d].name, automatic[a].name) == 0;
        if (!is_given)
            variables[count++] = automatic[a];
    }
    spec->variables = variables;
    spec->variable_count = (int)count;
}

static void spec_scripts(struct load_spec *spec, const struct pgbench_options *options, struct pl_arena *arena,
                         int *ret_script)
{
    struct load_script *scripts = pl_alloc(arena, (size_t)options->script_count, sizeof *scripts);
    for (int s = 0; s < options->script_count; s++) {
        const struct pgbench_script *script = &options->scripts[s];
        if (script->weight == 0)
            continue;
        ret_script[spec->script_count] = s;
        scripts[spec->script_count++] = (struct load_script){.program = script->program, .weight = script->weight};
    }
    spec->scripts = scripts;
}

struct load_spec pgbench_setup_spec(const struct pgbench_options *options, const struct dataset_found *found,
                                    struct pl_arena *arena, int *ret_script)
{
    struct load_spec spec = {
        .driver = LOAD_PG,
        .conninfo = options->conninfo,
        .protocol = options->protocol,
        .clients = (int)options->clients,
        .workers = (int)options->threads,
        .open_loop = options->rate_per_s > 0,
        .rate_per_s = options->rate_per_s,
        .arrivals = PLAN_POISSON,
        .operations_per_client = options->transactions,
        .measure_ns = options->duration_s * PL_NS_PER_S,
        .drain_ns = FOR_EVER_NS,
        .slice_ns = (options->progress_s > 0 ? options->progress_s : 1) * PL_NS_PER_S,
        .seed = options->seed,
        .connect_timeout_ns = FOR_EVER_NS,
        .at_end = LOAD_STOP_AT_END,
        .on_error = options->continue_on_error ? LOAD_GO_ON_AFTER_SQL : LOAD_END_CLIENT,
        .stop_on_lost_client = options->exit_on_abort,
        .max_tries = options->max_tries == 0 ? -1 : (int)options->max_tries,
        .latency_limit_ns = options->latency_limit_ns,
        .connect_each = options->connect,
        .prepare_lazily = true,
        .every_step = options->report_per_command,
        .no_steps = !options->report_per_command && options->study_path == NULL,
        .tell_failures = options->verbose_errors,
        .log_operations = options->log,
        .sampling_frac = options->sampling_rate,
    };
    spec_scripts(&spec, options, arena, ret_script);
    spec_variables(&spec, options, found, arena);
    return spec;
}
