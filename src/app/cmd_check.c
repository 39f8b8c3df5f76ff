/* plimsoll check: what a plan would do. */
#include "app/app.h"

#include <stdio.h>
#include <string.h>

#include "app/conduct.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/num.h"
#include "plan/plan.h"
#include "script/program.h"
#include "stage/stage.h"

#include "base/ban.h"

/* Two units: "2 d 3 h", "1 min 50 s", "10 s". */
static void print_duration(int64_t ns)
{
    static const struct {
        int64_t s;
        const char *name, *part;
        int64_t part_s;
    } units[] = {{86400, "d", "h", 3600}, {3600, "h", "min", 60}, {60, "min", "s", 1}};
    int64_t seconds = (ns + PL_NS_PER_S / 2) / PL_NS_PER_S;
    if (ns >= INT64_MAX - PL_NS_PER_S) {
        printf("longer than 290 years");
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (seconds >= units[i].s) {
            printf("%lld %s %lld %s", (long long)(seconds / units[i].s), units[i].name,
                   (long long)(seconds % units[i].s / units[i].part_s), units[i].part);
            return;
        }
    printf("%lld s", (long long)seconds);
}

/* Without "user:password@". */
static void print_url(const char *url)
{
    const char *authority = strstr(url, "://") + 3;
    const char *end = authority + strcspn(authority, "/?#"), *at = memrchr(authority, '@', (size_t)(end - authority));
    printf(" to %.*s%s", (int)(authority - url), url, at != NULL ? at + 1 : authority);
}

static void print_services(const struct plan *plan)
{
    for (size_t i = 0; i < plan->service_count; i++) {
        const struct plan_service *service = &plan->services[i];
        printf("service %s: %s", service->name, service->kind);
        if (plan_speech_of(service) == PLAN_SQL)
            printf(", version %s", service->version != NULL ? service->version : "newest found");
        if (service->data_kind != NULL)
            printf(", data %s at scale %lld", service->data_kind, (long long)service->data_scale);
        if (service->url != NULL)
            print_url(service->url);
        printf("%s\n", service == plan->subject ? " (the subject)" : "");
        for (size_t s = 0; s < service->setting_count; s++)
            printf("  %s = %s\n", service->settings[s].name, service->settings[s].value);
    }
}

/* What stages vary of services, and what it takes to make that. */
static void print_outline(const struct conduct_outline *outline)
{
    char needed[32], free[32];
    for (size_t i = 0; i < outline->variant_count; i++) {
        const struct plan_service *variant = outline->variants[i];
        printf("variant %s", variant->scope);
        for (size_t s = 0; s < variant->setting_count; s++)
            printf("%s%s = %s", s == 0 ? ": " : ", ", variant->settings[s].name, variant->settings[s].value);
        printf("\n");
    }
    if (outline->disk_bytes == 0)
        return;
    printf("disk: about %s in %s for data, and write-ahead log beside them",
           pl_num_text_bytes(needed, sizeof needed, (double)outline->disk_bytes), outline->place);
    if (outline->free_bytes >= 0)
        printf("; %s are free", pl_num_text_bytes(free, sizeof free, (double)outline->free_bytes));
    printf("\n");
}

static void print_stage(const struct stage *stage)
{
    printf("stage %s (%s): %zu case%s, %zu trial%s, about ", stage->row.name, stage->row.kind, stage->case_count,
           stage->case_count == 1 ? "" : "s", stage->trial_count, stage->trial_count == 1 ? "" : "s");
    print_duration(stage->estimate_ns);
    printf("\n  %s\n", stage->row.question);
    for (size_t i = 0; i < stage->row.param_count; i++)
        printf("%s%s=%s", i == 0 ? "  " : " ", stage->row.params[i].name, stage->row.params[i].value);
    if (stage->row.param_count > 0)
        printf("\n");
    for (size_t i = 0; i < stage->case_count; i++)
        if (stage->cases[i].row.label[0] != '\0')
            printf("  %s\n", stage->cases[i].row.label);
}

static int check_plan(const char *path)
{
    struct pl_arena *arena = pl_arena_new();
    struct plan *plan = NULL;
    struct pl_err err = {0};
    int64_t total_ns = 0;
    size_t trials = 0;
    struct conduct_outline outline;
    enum pl_code code = plan_read(path, builtin_script_names, arena, &plan, &err);
    if (code == PL_OK)
        code = conduct_check(plan, arena, &outline, &err);
    if (code == PL_OK) {
        printf("study: %s\n", plan->title);
        print_services(plan);
        print_outline(&outline);
        for (size_t i = 0; i < outline.data_count; i++)
            printf("%s\n", outline.data[i]);
    }
    for (size_t i = 0; code == PL_OK && i < plan->stage_count; i++) {
        struct stage *stage = NULL;
        code = stage_expand(plan, &plan->stages[i], arena, &stage, &err);
        if (code != PL_OK)
            break;
        print_stage(stage);
        if (__builtin_add_overflow(total_ns, stage->estimate_ns, &total_ns))
            total_ns = INT64_MAX;
        trials += stage->trial_count;
    }
    if (code == PL_OK) {
        printf("in all: %zu trial%s, about ", trials, trials == 1 ? "" : "s");
        print_duration(total_ns);
        if (outline.start_ns > 0) {
            printf(", and about ");
            print_duration(outline.start_ns);
            printf(" for the services and their data");
        }
        printf("; nothing was started\n");
    }
    pl_arena_free(arena);
    return code == PL_OK ? APP_GOOD : app_fail(&err);
}

static int print_reference(void (*write)(struct pl_buf *))
{
    struct pl_buf text;
    pl_buf_init(&text, PL_MAX_PAGE_BYTES);
    write(&text);
    fputs(pl_buf_text(&text), stdout);
    pl_buf_release(&text);
    return APP_GOOD;
}

int cmd_check(int argc, char **argv, const struct app_command *command)
{
    bool keys = false, schema = false;
    const struct app_option options[] = {
        {"keys", 0, NULL, "print every key of a plan, with type, default and range", NULL, &keys},
        {"schema", 0, NULL, "print the JSON schema of a plan, for editors", NULL, &schema},
    };
    struct app_operands operands = {.capacity = 1};
    struct pl_err err = {0};
    if (app_options_parse(command, options, sizeof options / sizeof options[0], argc, argv, &operands, &err) != PL_OK)
        return app_fail(&err);
    if (operands.help)
        return APP_GOOD;
    if ((keys || schema) && (operands.count > 0 || (keys && schema))) {
        pl_err_set(&err, PL_USAGE, "--keys and --schema stand alone");
        return app_fail(&err);
    }
    if (keys)
        return print_reference(plan_keys_markdown);
    if (schema)
        return print_reference(plan_keys_json_schema);
    if (operands.count == 1)
        return check_plan(operands.items[0]);
    pl_err_set(&err, PL_USAGE, "\"check\" needs a plan");
    return app_fail(&err);
}
