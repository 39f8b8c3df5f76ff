/* Commands of the shell. They block the worker, with all its clients: a script that has one does not measure the server
 * alone, whoever runs it. */
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

#include "base/ban.h"

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
