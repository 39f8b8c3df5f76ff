/* Going on with a study: what was measured before and what will be measured now must be the same thing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/num.h"

#include "base/ban.h"

static const char setting_prefix[] = "setting.";

static bool is_setting(const char *name)
{
    return strncmp(name, setting_prefix, strlen(setting_prefix)) == 0;
}

/* Facts on which every figure rests: of any other value they would be another study's. */
static bool is_essential(const struct fact *fact)
{
    static const char *const of_host[] = {"cpu_model", "cpus_allowed", "kernel", "memory_bytes"};
    if (strcmp(fact->scope, "host") != 0)
        return strcmp(fact->name, "server_version") == 0 || is_setting(fact->name);
    for (size_t i = 0; i < sizeof of_host / sizeof of_host[0]; i++)
        if (strcmp(fact->name, of_host[i]) == 0)
            return true;
    return false;
}

static const struct fact *find_fact(const struct fact *facts, size_t count, const char *scope, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].scope, scope) == 0 && strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

/* The memory that a kernel has left for itself differs by some pages from one boot to the next. */
static bool is_same_value(const struct fact *before, const struct fact *now)
{
    enum { BOOT_NOISE_PER_MILLE = 10 };
    double a, b;
    if (strcmp(before->value, now->value) == 0)
        return true;
    return strcmp(now->name, "memory_bytes") == 0 && pl_num_f64(before->value, strlen(before->value), &a) == PL_NUM_OK &&
           pl_num_f64(now->value, strlen(now->value), &b) == PL_NUM_OK && fabs(a - b) * 1000 <= a * BOOT_NOISE_PER_MILLE;
}

static enum pl_code refuse(const struct conduct *c, const char *scope, const char *name, const char *before,
                           const char *now, struct pl_err *err)
{
    pl_err_set(err, PL_USAGE, "\"%s\" cannot go on: %s %s was \"%.100s\" and is now \"%.100s\"", c->spec->study_path, scope,
               name, before, now);
    pl_err_hint(err, "Begin a new study with -o; what was measured in this one is as it was.");
    return err->code;
}

/* A setting that the study has and that is not set any more. */
static enum pl_code check_gone(const struct conduct *c, const struct fact *stored, size_t stored_count,
                               const struct fact *facts, size_t count, struct pl_err *err)
{
    for (size_t i = 0; i < stored_count; i++)
        if (strcmp(stored[i].scope, facts[0].scope) == 0 && is_setting(stored[i].name) &&
            find_fact(facts, count, stored[i].scope, stored[i].name) == NULL)
            return refuse(c, stored[i].scope, stored[i].name, stored[i].value, "the default", err);
    return PL_OK;
}

/* Whether the first value is the one that stays: later ones tell of a restart, or are boot noise. */
static bool is_kept(const struct fact *fact)
{
    return strcmp(fact->name, "ready_ns") == 0 || strcmp(fact->name, "memory_bytes") == 0;
}

enum pl_code conduct_put_facts(struct conduct *c, const struct fact *facts, size_t count, struct pl_err *err)
{
    struct fact *stored = NULL, *fresh = pl_alloc(c->arena, count, sizeof *fresh);
    size_t stored_count = 0, fresh_count = 0;
    enum pl_code code = store_facts(c->store, c->arena, &stored, &stored_count, err);
    if (code != PL_OK || count == 0)
        return code;
    bool was_there = false;
    for (size_t i = 0; i < stored_count && !was_there; i++)
        was_there = strcmp(stored[i].scope, facts[0].scope) == 0;
    for (size_t i = 0; i < count; i++) {
        const struct fact *before = find_fact(stored, stored_count, facts[i].scope, facts[i].name);
        bool essential = was_there && is_essential(&facts[i]);
        if (essential && before == NULL && is_setting(facts[i].name))
            return refuse(c, facts[i].scope, facts[i].name, "the default", facts[i].value, err);
        if (essential && before != NULL && !is_same_value(before, &facts[i]))
            return refuse(c, facts[i].scope, facts[i].name, before->value, facts[i].value, err);
        if (before == NULL || !is_kept(&facts[i]))
            fresh[fresh_count++] = facts[i];
    }
    if (was_there)
        code = check_gone(c, stored, stored_count, facts, count, err);
    return code == PL_OK ? store_put_facts(c->store, fresh, fresh_count, err) : code;
}

enum pl_code conduct_check_same(struct conduct *c, const struct store_head *head, struct pl_err *err)
{
    struct fact *stored = NULL;
    size_t count = 0;
    if (strcmp(head->plan_text, c->plan->text) != 0) {
        pl_err_set(err, PL_USAGE, "\"%s\" is a study of another plan", c->spec->study_path);
        pl_err_hint(err, "Resume it with the plan it was begun with, or begin a new study with -o.");
        return err->code;
    }
    if (store_facts(c->store, c->arena, &stored, &count, err) != PL_OK)
        return err->code;
    const struct fact *quick = find_fact(stored, count, "tool", "quick");
    bool was_quick = quick != NULL && strcmp(quick->value, "yes") == 0;
    if (was_quick != c->spec->quick) {
        pl_err_set(err, PL_USAGE, "\"%s\" was begun %s --quick", c->spec->study_path, was_quick ? "with" : "without");
        pl_err_hint(err, "Go on as it was begun: plimsoll run %s -o %s%s --resume", c->plan->path, c->spec->study_path,
                    was_quick ? " --quick" : "");
        return err->code;
    }
    for (size_t i = 0; i < c->plan->script_count; i++) {
        const struct plan_script *script = &c->plan->scripts[i];
        const char *name = pl_format(c->arena, CONDUCT_SCRIPT_FACT "%s", script->name);
        const struct fact *text = find_fact(stored, count, "plan", name);
        if (text != NULL && strcmp(text->value, conduct_script_kept(script, c->arena)) == 0)
            continue;
        pl_err_set(err, PL_USAGE, "script \"%s\" is not what it was when \"%s\" was begun", script->name,
                   c->spec->study_path);
        pl_err_hint(err, "Put \"%s\" back as it was, or begin a new study with -o.", script->path);
        return err->code;
    }
    enum pl_code code = conduct_data_check_same(c, stored, count, err);
    if (code != PL_OK)
        return code;
    if (strcmp(head->tool_version, PLIMSOLL_VERSION) != 0)
        return refuse(c, "the tool's", "version", head->tool_version, PLIMSOLL_VERSION, err);
    return PL_OK;
}
