/* Finding the command, and what all commands share. */
#include "app/app.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "httpload/httpload.h"
#include "pgbench/pgbench.h"

#include "base/ban.h"

/* Its options, messages and exit codes are pgbench's. */
static int run_pgbench(int argc, char **argv, const struct app_command *command)
{
    (void)command;
    return pgbench_main(argc, argv);
}

static int run_http(int argc, char **argv, const struct app_command *command)
{
    (void)command;
    return httpload_main(argc, argv);
}

const struct app_command app_commands[] = {
    {"run", "PLAN [-o FILE.study] [--resume] [--only STAGE] [--quick]", "carry out a plan, keep a study, write its page",
     cmd_run},
    {"check", "PLAN | --keys | --schema", "say what a plan would do and how long it takes, without doing it", cmd_check},
    {"page", "STUDY [--html|--md|--json] [-o FILE]", "write the page of a study", cmd_page},
    {"pgbench", "[OPTION]... [DBNAME]", "run pgbench's options and scripts as pgbench does, and say more about the result",
     run_pgbench},
    {"http", "[OPTION]... URL | FILE.hurl[@WEIGHT]...", "load a server by HTTP without a plan, and say what it does to it",
     run_http},
    {NULL, NULL, NULL, NULL},
};

static void print_help(FILE *out)
{
    fputs("usage: plimsoll COMMAND ...\n\nPlimsoll measures what a server costs and says what hardware it needs.\n\n", out);
    for (const struct app_command *command = app_commands; command->name != NULL; command++)
        fprintf(out, "  plimsoll %-7s %s\n                   %s\n", command->name, command->usage, command->summary);
    fputs(
        "\n  plimsoll COMMAND --help   the options of a command\n  plimsoll --version\n\n"
        "Exit codes: 0 good; 1 an objective was missed; 2 usage or plan error, nothing changed; 3 something failed while\n"
        "running, what was measured is kept; 4 (of \"plimsoll http\") an objective could not be judged; 130 interrupted.\n"
        "Of \"plimsoll pgbench\": as pgbench, 1 wrong usage or not started; 2 the run is not complete.\n",
        out);
}

int app_exit_of(enum pl_code code)
{
    switch (code) {
    case PL_OK:
        return APP_GOOD;
    case PL_USAGE:
    case PL_INPUT:
    case PL_NOT_FOUND:
    case PL_LIMIT:
        return APP_BAD_INPUT;
    case PL_INTERRUPTED:
        return APP_INTERRUPTED;
    case PL_IO:
    case PL_STORE:
    case PL_SERVICE:
    case PL_BALANCE:
    case PL_CODE_COUNT:
        break;
    }
    return APP_FAILED;
}

int app_fail(const struct pl_err *err)
{
    char text[4096];
    fprintf(stderr, "plimsoll: %s\n", pl_err_text(err, text, sizeof text));
    return app_exit_of(err->code);
}

static int unknown_command(const char *name)
{
    struct pl_err err = {0};
    pl_err_set(&err, PL_USAGE, "there is no command \"%.60s\"", name);
    const char *names[sizeof app_commands / sizeof app_commands[0]];
    size_t count = 0;
    for (const struct app_command *command = app_commands; command->name != NULL; command++)
        names[count++] = command->name;
    const char *near = pl_near(name, names, count);
    if (near != NULL)
        pl_err_hint(&err, "Did you mean \"%s\"?", near);
    else
        pl_err_hint(&err, "\"plimsoll --help\" lists the commands.");
    return app_fail(&err);
}

/* What was printed must have arrived: a full disk is an error, a reader that has seen enough is not. */
static int printed(int exit_code)
{
    if ((fflush(stdout) == 0 && ferror(stdout) == 0) || errno == EPIPE || exit_code != APP_GOOD)
        return exit_code;
    struct pl_err err = {0};
    pl_err_os(&err, PL_IO, errno, "cannot write to standard output");
    return app_fail(&err);
}

/* By a link to the program, as a shell finds it: any folder before the name. */
static bool is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

int app_main(int argc, char **argv)
{
    /* a peer that goes away is an error of the write, not the end of the program */
    signal(SIGPIPE, SIG_IGN);
    if (argc > 0 && is_called(argv[0], "pgbench"))
        return pgbench_main(argc, argv);
    if (argc < 2) {
        print_help(stderr);
        return APP_BAD_INPUT;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return APP_GOOD;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("plimsoll " PLIMSOLL_VERSION);
        return APP_GOOD;
    }
    for (const struct app_command *command = app_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return printed(command->run(argc - 1, argv + 1, command));
    return unknown_command(name);
}
