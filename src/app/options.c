/* Options by table. */
#include "app/app.h"

#include <stdio.h>
#include <string.h>

#include "base/near.h"

#include "base/ban.h"

enum { OPTIONS_MAX = 32 };

static void print_command_help(const struct app_command *command, const struct app_option *options, size_t count)
{
    printf("usage: plimsoll %s %s\n\n%s.\n\n", command->name, command->usage, command->summary);
    for (size_t i = 0; i < count; i++) {
        char left[60];
        char letter[8] = "    ";
        if (options[i].letter != 0)
            snprintf(letter, sizeof letter, "-%c, ", options[i].letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, options[i].name,
                 options[i].argument != NULL ? options[i].argument : "");
        printf("  %-26s %s\n", left, options[i].help);
    }
    printf("  -h, --help                 this text\n");
}

static const struct app_option *option_find(const struct app_option *options, size_t count, const char *argument,
                                            size_t length)
{
    for (size_t i = 0; i < count; i++) {
        bool is_long = length > 2 && strlen(options[i].name) == length - 2 &&
                       memcmp(argument + 2, options[i].name, length - 2) == 0 && memcmp(argument, "--", 2) == 0;
        bool is_short = options[i].letter != 0 && length == 2 && argument[0] == '-' && argument[1] == options[i].letter;
        if (is_long || is_short)
            return &options[i];
    }
    return NULL;
}

static enum pl_code option_unknown(const struct app_command *command, const struct app_option *options, size_t count,
                                   const char *argument, struct pl_err *err)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < count; i++)
        names[i] = options[i].name;
    pl_err_set(err, PL_USAGE, "\"%s\" has no option \"%.60s\"", command->name, argument);
    const char *near = pl_near(argument + strspn(argument, "-"), names, count);
    if (near != NULL)
        pl_err_hint(err, "Did you mean \"--%s\"?", near);
    else
        pl_err_hint(err, "\"plimsoll %s --help\" lists the options.", command->name);
    return err->code;
}

/* Handles argv[*i]; moves *i over an argument that stands apart. */
static enum pl_code option_take(const struct app_command *command, const struct app_option *options, size_t count, int argc,
                                char **argv, int *i, struct pl_err *err)
{
    const char *argument = argv[*i], *equals = strncmp(argument, "--", 2) == 0 ? strchr(argument, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const struct app_option *option = option_find(options, count, argument, length);
    if (option == NULL)
        return option_unknown(command, options, count, argument, err);
    if (option->argument == NULL) {
        if (equals != NULL)
            return pl_err_set(err, PL_USAGE, "option \"--%s\" takes no value", option->name);
        *option->flag = true;
        return PL_OK;
    }
    if (*option->text != NULL)
        return pl_err_set(err, PL_USAGE, "option \"--%s\" is given twice", option->name);
    if (equals == NULL && *i + 1 >= argc)
        return pl_err_set(err, PL_USAGE, "option \"--%s\" needs its %s", option->name, option->argument);
    *option->text = equals != NULL ? equals + 1 : argv[++*i];
    if ((*option->text)[0] == '\0')
        return pl_err_set(err, PL_USAGE, "option \"--%s\" needs its %s, and it is empty", option->name, option->argument);
    return PL_OK;
}

enum pl_code app_options_parse(const struct app_command *command, const struct app_option *options, size_t option_count,
                               int argc, char **argv, struct app_operands *operands, struct pl_err *err)
{
    bool options_end = false;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (!options_end && (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)) {
            print_command_help(command, options, option_count);
            operands->help = true;
            return PL_OK;
        }
        if (!options_end && strcmp(argument, "--") == 0) {
            options_end = true;
        } else if (!options_end && argument[0] == '-' && argument[1] != '\0') {
            enum pl_code code = option_take(command, options, option_count, argc, argv, &i, err);
            if (code != PL_OK)
                return code;
        } else if (operands->count == operands->capacity) {
            pl_err_set(err, PL_USAGE, "\"%.80s\" is one argument too many", argument);
            pl_err_hint(err, "usage: plimsoll %s %s", command->name, command->usage);
            return err->code;
        } else {
            operands->items[operands->count++] = argument;
        }
    }
    return PL_OK;
}
