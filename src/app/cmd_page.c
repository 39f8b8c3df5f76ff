/* plimsoll page: the page of a stored study. */
#include "app/app.h"

#include "app/publish.h"

#include "base/ban.h"

int cmd_page(int argc, char **argv, const struct app_command *command)
{
    bool formats[PAGE_FORMAT_COUNT] = {false};
    const char *output = NULL;
    const struct app_option options[] = {
        {"html", 0, NULL, "one HTML file (the default, unless FILE ends in .md or .json)", NULL, &formats[PAGE_HTML]},
        {"md", 0, NULL, "Markdown", NULL, &formats[PAGE_MARKDOWN]},
        {"json", 0, NULL, "JSON, with full precision", NULL, &formats[PAGE_JSON]},
        {"output", 'o', "FILE", "where to; default: standard output", &output, NULL},
    };
    struct app_operands operands = {.capacity = 1};
    struct pl_err err = {0};
    if (app_options_parse(command, options, sizeof options / sizeof options[0], argc, argv, &operands, &err) != PL_OK)
        return app_fail(&err);
    if (operands.help)
        return APP_GOOD;
    enum page_format format = output != NULL ? publish_format_of(output) : PAGE_HTML;
    int chosen = 0;
    for (int i = 0; i < PAGE_FORMAT_COUNT; i++)
        if (formats[i]) {
            format = (enum page_format)i;
            chosen++;
        }
    if (output != NULL && operands.count == 1 && publish_is_same_file(operands.items[0], output)) {
        pl_err_set(&err, PL_USAGE, "\"%s\" is the study itself", output);
        pl_err_hint(&err, "Name another file for the page.");
    } else if (chosen > 1)
        pl_err_set(&err, PL_USAGE, "--html, --md and --json exclude one another");
    else if (operands.count == 0)
        pl_err_set(&err, PL_USAGE, "\"page\" needs a study file");
    else if (publish_page(operands.items[0], format, output != NULL ? output : "-", &err) == PL_OK)
        return APP_GOOD;
    app_fail(&err);
    /* the study is this command's input */
    return err.code == PL_STORE ? APP_BAD_INPUT : app_exit_of(err.code);
}
