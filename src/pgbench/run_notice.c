/* What workers have to say, in pgbench's words. */
#include "pgbench/run_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

enum { WORDS_BYTES = LOAD_NOTICE_TEXT_BYTES + 16 }; /* with a severity before them */

/* The step of a notice; NULL: outside of any. */
static const struct step *step_of(const struct pgbench_options *options, const struct load_notice *notice)
{
    const struct program *program = options->scripts[notice->script].program;
    return notice->step < 0 || (size_t)notice->step >= program->step_count ? NULL : &program->steps[notice->step];
}

static int command_of(const struct step *step)
{
    return step == NULL ? 0 : step->number;
}

/* The word of a meta command as messages have it. */
static const char *step_word(const struct step *step)
{
    static const char *const words[STEP_KIND_COUNT] = {
        [STEP_SET] = "set",
        [STEP_SQL] = "SQL",
        [STEP_SLEEP] = "sleep",
        [STEP_SHELL] = "shell",
        [STEP_SETSHELL] = "setshell",
        [STEP_IF] = "if",
        [STEP_JUMP] = "else",
        [STEP_NOTHING] = "endif",
        [STEP_START_PIPELINE] = "startpipeline",
        [STEP_SYNC_PIPELINE] = "syncpipeline",
        [STEP_END_PIPELINE] = "endpipeline",
    };
    if (step->kind == STEP_IF && step->text != NULL && strncmp(step->text, "\\elif", 5) == 0)
        return "elif";
    return words[step->kind];
}

/* A SQLSTATE: five digits and capital letters. */
static bool is_sqlstate(const char *code)
{
    return strlen(code) == 5 && strspn(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5;
}

/* The server's message with its severity before it, as the server itself writes it. */
static const char *server_words(const struct load_notice *notice, char *buf, size_t size)
{
    static const char *const severities[] = {"ERROR:", "FATAL:", "PANIC:"};
    for (size_t i = 0; i < sizeof severities / sizeof severities[0]; i++)
        if (strncmp(notice->text, severities[i], strlen(severities[i])) == 0)
            return notice->text;
    if (!is_sqlstate(notice->code))
        return notice->text;
    snprintf(buf, size, "%s  %s", notice->is_lost ? "FATAL:" : "ERROR:", notice->text);
    return buf;
}

static void say_meta_error(const struct load_notice *notice, const struct step *step)
{
    const char *word = step == NULL ? "set" : step_word(step);
    bool is_evaluated = step == NULL || step->kind == STEP_SET || step->kind == STEP_IF;
    pgbench_say(SAY_ERROR, "%s", notice->text);
    pgbench_say(SAY_ERROR, "client %d aborted in command %d (%s) of script %d; %s of meta-command failed", notice->client,
                command_of(step), word, notice->script, is_evaluated ? "evaluation" : "execution");
}

/* The driver's text says which name; pgbench repeats it. */
static void say_bad_name(const struct load_notice *notice, const struct step *step)
{
    const char *first = strchr(notice->text, '"'), *last = strrchr(notice->text, '"');
    int length = first != NULL && last > first ? (int)(last - first - 1) : 0;
    pgbench_say(SAY_ERROR, "%s", notice->text);
    pgbench_say(SAY_ERROR, "client %d script %d command %d query 0: error storing into variable %.*s", notice->client,
                notice->script, command_of(step), length, first != NULL ? first + 1 : "");
}

static void say_lost(const struct load_notice *notice, const struct step *step)
{
    char buf[WORDS_BYTES];
    if (notice->while_connecting) {
        pgbench_say(SAY_ERROR, "%s", server_words(notice, buf, sizeof buf));
        pgbench_say(SAY_ERROR, "client %d aborted while establishing connection", notice->client);
    } else if (step == NULL) {
        pgbench_say(SAY_ERROR, "client %d aborted: the server closed its connection while it was idle: %s", notice->client,
                    server_words(notice, buf, sizeof buf));
    } else if (is_sqlstate(notice->code)) {
        pgbench_say(SAY_ERROR, "client %d script %d aborted in command %d query 0: %s", notice->client, notice->script,
                    step->number, server_words(notice, buf, sizeof buf));
    } else {
        pgbench_say(SAY_ERROR,
                    "client %d aborted in command %d (%s) of script %d; perhaps the backend died while processing: %s",
                    notice->client, step->number, step_word(step), notice->script, notice->text);
    }
}

static void say_ended(const struct load_notice *notice, const struct step *step)
{
    char buf[WORDS_BYTES];
    if (notice->is_lost || notice->while_connecting)
        say_lost(notice, step);
    else if (strcmp(notice->code, "SCRIPT") == 0)
        say_meta_error(notice, step);
    else if (strcmp(notice->code, "IN_TRANSACTION") == 0)
        pgbench_say(SAY_ERROR, "client %d aborted: end of script reached without completing the last transaction",
                    notice->client);
    else if (strcmp(notice->code, "IN_PIPELINE") == 0)
        pgbench_say(SAY_ERROR, "client %d aborted: end of script reached with pipeline open", notice->client);
    else if (strcmp(notice->code, "ROWS") == 0)
        pgbench_say(SAY_ERROR, "client %d script %d command %d query 0: %s", notice->client, notice->script,
                    command_of(step), notice->text);
    else if (strcmp(notice->code, "NAME") == 0)
        say_bad_name(notice, step);
    else if (strcmp(notice->code, "COPY") == 0)
        pgbench_say(SAY_ERROR, "client %d aborted in command %d of script %d: COPY is not supported in pgbench, aborting",
                    notice->client, command_of(step), notice->script);
    else
        pgbench_say(SAY_ERROR, "client %d script %d aborted in command %d query 0: %s", notice->client, notice->script,
                    command_of(step), server_words(notice, buf, sizeof buf));
}

/* "(try 2/3, 84.514% of the maximum time of tries was used)" */
static void say_try(const struct pgbench_options *options, const struct load_notice *notice, const char *what)
{
    char of[32] = "", used[96] = "";
    if (options->max_tries > 0)
        snprintf(of, sizeof of, "/%lld", (long long)options->max_tries);
    if (options->latency_limit_ns > 0)
        snprintf(used, sizeof used, ", %.3f%% of the maximum time of tries was used",
                 100.0 * (double)(notice->at_ns - notice->due_ns) / (double)options->latency_limit_ns);
    pgbench_say(SAY_INFO, "client %d %s (try %d%s%s)", notice->client, what, notice->tries, of, used);
}

void pgbench_notice_say(const struct pgbench_options *options, const struct load_notice *notice)
{
    const struct step *step = step_of(options, notice);
    char buf[WORDS_BYTES];
    if (notice->kind == LOAD_CLIENT_ENDED) {
        say_ended(notice, step);
        return;
    }
    pgbench_say(SAY_INFO, "client %d got an error in command %d (%s) of script %d; %s", notice->client, command_of(step),
                step == NULL ? "SQL" : step_word(step), notice->script, server_words(notice, buf, sizeof buf));
    say_try(options, notice,
            notice->kind == LOAD_RETRY ? "repeats the transaction after the error" : "ends the failed transaction");
}

void pgbench_debug_say(void *context, const struct program *program, const struct step *step, const struct value *value)
{
    const struct pgbench_options *options = context;
    char line[VALUE_DESCRIBE_BYTES + 64], text[VALUE_DESCRIBE_BYTES];
    int script = 0;
    while (script < options->script_count - 1 && options->scripts[script].program != program)
        script++;
    size_t length = value_describe(value, text);
    int size =
        snprintf(line, sizeof line, "debug(script=%d,command=%d): %.*s\n", script, command_of(step) + 1, (int)length, text);
    if (write(STDERR_FILENO, line, (size_t)size) < 0)
        return; /* nobody reads it */
}
