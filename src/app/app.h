/* The command line: what the commands share. The only room that prints and that decides on exit codes. */
#ifndef PL_APP_APP_H
#define PL_APP_APP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum app_exit {
    APP_GOOD = 0,
    APP_MISSED = 1,    /* the study ran, a stated objective was missed */
    APP_BAD_INPUT = 2, /* usage or plan error: nothing was changed */
    APP_FAILED = 3,    /* something failed while running; what was measured until then is kept */
    APP_INTERRUPTED = 130
};

/* One option of a command. Long names only, but for -o and -h. */
struct app_option {
    const char *name;     /* without the dashes */
    char letter;          /* 0: none */
    const char *argument; /* name of its argument in the help; NULL: a flag */
    const char *help;
    const char **text; /* set when it has an argument */
    bool *flag;        /* set otherwise */
};

struct app_command {
    const char *name;
    const char *usage;   /* "PLAN [-o FILE.study] ..." */
    const char *summary; /* one line */
    int (*run)(int argc, char **argv, const struct app_command *command);
};
extern const struct app_command app_commands[]; /* ends with a NULL name */

/* What stands on a command line besides options. */
struct app_operands {
    const char *items[2];
    int capacity; /* how many the command takes, at most 2 */
    int count;
    bool help; /* --help was given, and the command's help has been printed */
};

/* Parses argv[1 ..] by the table. An option or operand that does not fit is PL_USAGE with a hint. */
PL_MUST_CHECK enum pl_code app_options_parse(const struct app_command *command, const struct app_option *options,
                                             size_t option_count, int argc, char **argv, struct app_operands *operands,
                                             struct pl_err *err);

/* Prints an error to standard error as "plimsoll: ..." and gives the exit code that fits it. */
int app_fail(const struct pl_err *err);
int app_exit_of(enum pl_code code);

int app_main(int argc, char **argv);

int cmd_run(int argc, char **argv, const struct app_command *command);
int cmd_check(int argc, char **argv, const struct app_command *command);
int cmd_page(int argc, char **argv, const struct app_command *command);

#endif
