/* The steps of a program that the client carries out itself: variables, branches, sleeps, what is put into a pipeline,
 * commands of the shell. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "load/worker_int.h"
#include "script/feed.h"

#include "base/ban.h"

/* ---- commands of the shell: they block the worker, with all its clients: a script that has one does not measure the
 * server alone, whoever runs it ---- */

enum { LINE_BYTES = 16 * 1024, OUTPUT_BYTES = 64 };

extern char **environ;

static PL_PRINTF(1, 2) const char *wrong(const char *fmt, ...)
{
    static _Thread_local char text[WORKER_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    return text;
}

/* The worker blocks all signals, and the tool may ignore some: its commands have them as any program does. output: what its
 * standard output becomes; -1: stays the tool's. */
static int shell_start(char *line, int output, pid_t *ret_pid)
{
    char shell[] = "/bin/sh", option[] = "-c", *const argv[] = {shell, option, line, NULL};
    sigset_t none, all;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawn_file_actions_init(&actions);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int result = posix_spawn(ret_pid, shell, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return result;
}

/* Exit status 0? may_pipe: or it, or the last command of its shell, was ended by writing what nobody reads. */
static bool shell_succeeds(pid_t pid, bool may_pipe)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (may_pipe && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
        return true;
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (may_pipe && WEXITSTATUS(status) == 128 + SIGPIPE));
}

/* The first line, or its first OUTPUT_BYTES - 1 bytes. Not to the end of the output: something that the command left in the
 * background may hold it open. */
static size_t output_read(int fd, char *output)
{
    size_t length = 0;
    while (length < OUTPUT_BYTES - 1 && memchr(output, '\n', length) == NULL) {
        ssize_t got = read(fd, output + length, OUTPUT_BYTES - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    output[length] = '\0';
    return length;
}

/* The first line's integer, with blanks around it. */
static const char *output_parse(const char *name, char *output, int64_t *ret_value)
{
    output[strcspn(output, "\n")] = '\0';
    const char *begin = output + strspn(output, " \t\r\f\v");
    size_t length = strlen(begin);
    while (length > 0 && strchr(" \t\r\f\v", begin[length - 1]) != NULL)
        length--;
    if (pl_num_i64(begin, length, ret_value) != PL_NUM_OK || strchr(begin, '_') != NULL)
        return wrong("%s: shell command must return an integer (not \"%s\")", name, output);
    return NULL;
}

static const char *shell_read(const char *name, char *line, int64_t *ret_value)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return wrong("%s: could not launch shell command: %s", name, strerrordesc_np(errno));
    int result = shell_start(line, ends[1], &pid);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        return wrong("%s: could not launch shell command: %s", name, strerrordesc_np(result));
    }
    char output[OUTPUT_BYTES];
    size_t length = output_read(ends[0], output);
    close(ends[0]);
    bool succeeds = shell_succeeds(pid, length > 0);
    if (length == 0)
        return wrong("%s: could not read result of shell command", name);
    if (!succeeds)
        return wrong("%s: shell command failed", name);
    return output_parse(name, output, ret_value);
}

const char *worker_shell(const struct program *program, const struct step *step, struct value *vars)
{
    static _Thread_local char line[LINE_BYTES];
    const char *name = step->words[0].text;
    const char *text_wrong = program_shell_text(program, step, vars, line, sizeof line);
    if (text_wrong != NULL)
        return text_wrong;
    if (step->kind == STEP_SETSHELL) {
        int64_t value = 0;
        const char *read_wrong = shell_read(name, line, &value);
        if (read_wrong == NULL)
            vars[step->variable] = (struct value){.type = VALUE_INT, .i = value};
        return read_wrong;
    }
    pid_t pid;
    if (shell_start(line, -1, &pid) != 0 || !shell_succeeds(pid, false))
        return wrong("%s: could not launch shell command", name);
    return NULL;
}

/* ---- steps ---- */

static const char *pipeline_wrong(const struct worker *worker, const struct client *client, const struct step *step)
{
    if (step->kind == STEP_SQL)
        return step->capture == CAPTURE_ONE_ROW ? "\\gset is not allowed in pipeline mode"
               : step->capture == CAPTURE_ALL   ? "\\aset is not allowed in pipeline mode"
                                                : NULL;
    if (step->kind != STEP_START_PIPELINE)
        return client->in_pipeline ? NULL : "not in pipeline mode";
    return worker->spec->protocol == PLAN_SIMPLE ? "cannot use pipeline mode with the simple query protocol"
           : client->in_pipeline                 ? "already in pipeline mode"
                                                 : NULL;
}

/* The steps of a pipeline, and SQL within one. */
static enum worker_step step_in_pipeline(struct worker *worker, uint32_t index, const struct step *step,
                                         const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    *ret_wrong = pipeline_wrong(worker, client, step);
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    if (step->kind == STEP_END_PIPELINE || (step->kind == STEP_SQL && ops->queue == NULL))
        return WORKER_STEP_SUBMITS;
    if (step->kind == STEP_START_PIPELINE) {
        client->in_pipeline = true;
        if (worker->queued != NULL)
            worker->queued_count[index] = 0;
    } else if (ops->queue != NULL) {
        ops->queue(worker->driver, index, worker_program(worker, client), step, client->vars);
    }
    client->step++;
    return WORKER_STEP_OVER;
}

static enum worker_step step_sleep(struct worker *worker, uint32_t index, const struct step *step, const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker_program(worker, client);
    int64_t sleep_ns = 0, until_ns;
    *ret_wrong = program_sleep_ns(program, step, client->vars, &sleep_ns);
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    client->step_sent_ns = worker->driver->ops->now(worker->driver);
    if (__builtin_add_overflow(client->step_sent_ns, sleep_ns < 0 ? 0 : sleep_ns, &until_ns))
        until_ns = INT64_MAX;
    if (!client->has_waited)
        worker_has_started(worker, client, client->step_sent_ns);
    client->state = CLIENT_SLEEPING;
    client->has_waited = true;
    stage_wakes_push(&worker->wakes, index, until_ns);
    return WORKER_STEP_WAITS;
}

static const char *step_feed(const struct step *step, struct client *client)
{
    uint32_t row;
    if (!feed_take(step->feed, &client->rng, &row))
        return wrong("all rows of %s have been used", step->feed->name);
    feed_set(step->feed, row, client->vars);
    return NULL;
}

enum worker_step worker_step(struct worker *worker, uint32_t index, const struct step *step, const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker_program(worker, client);
    struct step_scene scene;
    bool goes_on = true;
    *ret_wrong = NULL;
    switch (step->kind) {
    case STEP_SET:
        *ret_wrong = program_eval(program, step, client->vars, &client->rng);
        break;
    case STEP_IF:
        *ret_wrong = program_branch(program, step, client->vars, &client->rng, &goes_on);
        break;
    case STEP_JUMP:
        goes_on = false;
        break;
    case STEP_NOTHING:
        break;
    case STEP_SHELL:
    case STEP_SETSHELL:
        *ret_wrong = worker_shell(program, step, client->vars);
        break;
    case STEP_SLEEP:
        return step_sleep(worker, index, step, ret_wrong);
    case STEP_SQL:
    case STEP_START_PIPELINE:
    case STEP_SYNC_PIPELINE:
    case STEP_END_PIPELINE:
        return step_in_pipeline(worker, index, step, ret_wrong);
    case STEP_HTTP:
        return WORKER_STEP_SUBMITS;
    case STEP_CALL:
        scene = worker_scene(worker, index);
        *ret_wrong = step->call(step, &scene, &goes_on);
        break;
    case STEP_FEED:
        *ret_wrong = step_feed(step, client);
        break;
    case STEP_KIND_COUNT:
        assert(false);
    }
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    client->step = goes_on ? client->step + 1 : step->target;
    return WORKER_STEP_OVER;
}
