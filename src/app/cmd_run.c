/* plimsoll run: a plan is carried out, a study kept, its page written. */
#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/conduct.h"
#include "app/publish.h"
#include "base/arena.h"
#include "base/stop.h"
#include "plan/plan.h"
#include "script/program.h"

#include "base/ban.h"

/* "plans/quick.yaml" -> "quick.study", in the current folder. */
static const char *default_study_path(const char *plan_path, struct pl_arena *arena)
{
    const char *slash = strrchr(plan_path, '/'), *name = slash != NULL ? slash + 1 : plan_path;
    const char *dot = strrchr(name, '.');
    return pl_format(arena, "%.*s.study", dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

struct run_options {
    const char *study_path, *only;
    bool resume, quick;
};

static int report(const struct run_options *options, const struct conduct_result *result, enum pl_code code,
                  const struct pl_err *err, const char *plan_path)
{
    int exit_code = code != PL_OK ? app_fail(err) : result->trials_failed > 0 ? APP_FAILED : APP_GOOD;
    if (!result->opened) /* the study file is the command's input, and nothing was changed */
        return code == PL_STORE ? APP_BAD_INPUT : exit_code;
    if (exit_code == APP_BAD_INPUT || code == PL_STORE)
        return exit_code;
    struct pl_err page = {0};
    if (publish_beside(options->study_path, stdout, &page) != PL_OK)
        exit_code = exit_code == APP_GOOD || exit_code == APP_FAILED ? app_fail(&page) : exit_code;
    if (result->trials_failed > 0)
        printf("%d trial%s failed: the page says which and why\n", result->trials_failed,
               result->trials_failed == 1 ? "" : "s");
    if (result->trials_void > 0)
        printf("%d trial%s void: the page says which and why\n", result->trials_void,
               result->trials_void == 1 ? " is" : "s are");
    if (!result->completed)
        printf("the study is not complete: plimsoll run %s -o %s%s --resume\n", plan_path, options->study_path,
               options->quick ? " --quick" : "");
    return exit_code;
}

/* libpq reads PGSERVICE, PGTARGETSESSIONATTRS and more: what is set for other servers must not reach the measured one. */
static void environment_clean(void)
{
    for (char **entry = environ; *entry != NULL;) {
        char name[64];
        const char *equals = strchr(*entry, '=');
        size_t length = equals == NULL ? strlen(*entry) : (size_t)(equals - *entry);
        if (strncmp(*entry, "PG", 2) == 0 && length < sizeof name) {
            memcpy(name, *entry, length);
            name[length] = '\0';
            unsetenv(name); /* moves the next entry here */
        } else {
            entry++;
        }
    }
}

static int run_plan(struct run_options *chosen, const char *plan_path, struct pl_arena *arena)
{
    struct plan *plan = NULL;
    struct pl_err err = {0};
    if (chosen->study_path == NULL)
        chosen->study_path = default_study_path(plan_path, arena);
    if (plan_read(plan_path, builtin_script_names, arena, &plan, &err) != PL_OK)
        return app_fail(&err);
    if (!chosen->resume && publish_check_free(chosen->study_path, &err) != PL_OK)
        return app_fail(&err);
    environment_clean();
    if (chosen->quick)
        conduct_make_quick(plan, arena);
    struct live live;
    live_init(&live, stdout);
    pl_stop_catch(app_exit_of(PL_INTERRUPTED)); /* in a hurry: the guard kills and removes what was started */
    struct conduct_spec spec = {.plan = plan,
                                .study_path = chosen->study_path,
                                .resume = chosen->resume,
                                .only = chosen->only,
                                .quick = chosen->quick,
                                .live = &live,
                                .stop = pl_stop_flag()};
    struct conduct_result result = {0};
    enum pl_code code = conduct_run(&spec, &result, &err);
    return report(chosen, &result, code, &err, plan_path);
}

int cmd_run(int argc, char **argv, const struct app_command *command)
{
    struct run_options chosen = {0};
    const struct app_option options[] = {
        {"output", 'o', "FILE.study", "the study file; default: the plan's name in the current folder", &chosen.study_path,
         NULL},
        {"resume", 0, NULL, "go on with the study after its last finished trial", NULL, &chosen.resume},
        {"only", 0, "STAGE", "run one stage of the plan", &chosen.only, NULL},
        {"quick", 0, NULL, "try the plan out: short, 2 iterations, few transactions, scale 1", NULL, &chosen.quick},
    };
    struct app_operands operands = {.capacity = 1};
    struct pl_err err = {0};
    if (app_options_parse(command, options, sizeof options / sizeof options[0], argc, argv, &operands, &err) != PL_OK)
        return app_fail(&err);
    if (operands.help)
        return APP_GOOD;
    if (operands.count == 0) {
        pl_err_set(&err, PL_USAGE, "\"run\" needs a plan");
        pl_err_hint(&err, "plans/quick.yaml is one to begin with.");
        return app_fail(&err);
    }
    struct pl_arena *arena = pl_arena_new();
    int exit_code = run_plan(&chosen, operands.items[0], arena);
    pl_arena_free(arena);
    return exit_code;
}
