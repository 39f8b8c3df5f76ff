/* Preparing a study: everything that can be found wrong is found before anything is started or written. */
#include <string.h>

#include "app/conduct_int.h"
#include "base/num.h"

#include "base/ban.h"

static bool has_load(const struct stage *stage)
{
    for (const enum stage_act *act = stage->kind->acts; *act != ACT_END; act++)
        if (*act == ACT_LOAD)
            return true;
    return false;
}

/* A builtin script needs the tables that the data set brings. */
static enum pl_code check_data(const struct conduct *c, const struct stage *stage, const char *script, struct pl_err *err)
{
    if (conduct_script_of(c->plan, script) != NULL || c->plan->subject->data_kind != NULL)
        return PL_OK;
    pl_err_at(err, PL_INPUT, c->plan->path, stage->plan->line, stage->plan->col,
              "script \"%s\" needs the tables of a data set, and service \"%s\" has none", script, c->plan->subject->name);
    pl_err_hint(err, "Give the service `data: {kind: tpcb, scale: 10}`, or name a script of your own.");
    return err->code;
}

/* What the server will refuse is better said before it is started. */
static enum pl_code check_connections(const struct conduct *c, const struct stage *stage,
                                      const struct stage_case *stage_case, struct pl_err *err)
{
    enum { DEFAULT_MAX_CONNECTIONS = 100, OWN_CONNECTIONS = 3 }; /* sensors and conductor */
    int64_t most = DEFAULT_MAX_CONNECTIONS, needed = stage_case->params.clients + OWN_CONNECTIONS;
    const struct plan_service *subject = &stage_case->services[c->plan->subject - c->plan->services];
    for (size_t i = 0; i < subject->setting_count; i++)
        if (strcmp(subject->settings[i].name, "max_connections") == 0 &&
            pl_num_i64(subject->settings[i].value, strlen(subject->settings[i].value), &most) != PL_NUM_OK)
            return PL_OK; /* the server will say what is wrong with it */
    if (needed <= most)
        return PL_OK;
    pl_err_at(err, PL_INPUT, c->plan->path, stage->plan->line, stage->plan->col,
              "%lld clients do not fit: \"%s\" takes %lld connections, and %d are the tool's own",
              (long long)stage_case->params.clients, subject->scope, (long long)most, OWN_CONNECTIONS);
    pl_err_hint(err, "Set `max_connections: %lld` or more in the service's settings.", (long long)needed);
    return err->code;
}

static enum pl_code check_case(const struct conduct *c, const struct stage *stage, const struct stage_case *stage_case,
                               const struct conduct_load *load, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    if (plan_speech_of(c->plan->subject) == PLAN_HTTP) {
        code = conduct_check_tenants(c, load->tenants, err);
        return code == PL_OK ? conduct_check_ports(c, stage, stage_case, load, err) : code;
    }
    struct plan_share shares[PLAN_MIX_SCRIPTS];
    size_t count = plan_mix(load->mix, c->arena, shares);
    for (size_t i = 0; i < count && code == PL_OK; i++)
        code = check_data(c, stage, shares[i].script, err);
    return code == PL_OK ? check_connections(c, stage, stage_case, err) : code;
}

/* Expands every stage, numbers the cases, compiles every script: errors of the plan come before anything is done. */
enum pl_code conduct_prepare(struct conduct *c, struct pl_err *err)
{
    int64_t case_id = 0;
    size_t load_capacity = 0;
    if (conduct_check_certificates(c, err) != PL_OK)
        return err->code;
    c->stages = pl_alloc(c->arena, c->plan->stage_count, sizeof(struct stage *));
    for (size_t s = 0; s < c->plan->stage_count; s++) {
        enum pl_code code = stage_expand(c->plan, &c->plan->stages[s], c->arena, &c->stages[s], err);
        if (code != PL_OK)
            return code;
        struct stage *stage = c->stages[s];
        stage->row.id = (int64_t)s + 1;
        for (size_t i = 0; i < stage->case_count; i++) {
            stage->cases[i].row.stage_id = stage->row.id;
            stage->cases[i].row.id = ++case_id;
            c->loads = pl_grow(c->arena, c->loads, (size_t)case_id - 1, (size_t)case_id, sizeof(struct conduct_load *),
                               &load_capacity);
            if (!has_load(stage))
                continue;
            c->case_count = (size_t)case_id;
            code = conduct_load_of(c, stage->cases[i].params.script, &c->loads[case_id - 1], err);
            if (code == PL_OK)
                code = check_case(c, stage, &stage->cases[i], c->loads[case_id - 1], err);
            if (code != PL_OK)
                return code;
        }
    }
    return PL_OK;
}

enum pl_code conduct_check(const struct plan *plan, struct pl_arena *arena, struct conduct_outline *ret_outline,
                           struct pl_err *err)
{
    const struct conduct_spec spec = {.plan = plan};
    struct conduct c = {.spec = &spec, .plan = plan, .arena = arena};
    enum pl_code code = conduct_prepare(&c, err);
    if (code != PL_OK)
        return code;
    for (size_t s = 0; s < plan->stage_count; s++)
        for (size_t i = 0; i < c.stages[s]->case_count; i++)
            for (size_t k = 0; k < plan->service_count; k++)
                conduct_variant(&c, k, &c.stages[s]->cases[i].services[k])->wanted = true;
    conduct_outline_make(&c, ret_outline);
    conduct_data_outline(&c, ret_outline);
    ret_outline->variants = pl_alloc(arena, c.variant_count, sizeof(struct plan_service *));
    for (size_t i = 0; i < c.variant_count; i++)
        if (conduct_variant_count(&c, c.variants[i]->service) > 1)
            ret_outline->variants[ret_outline->variant_count++] = c.variants[i]->plan;
    return PL_OK;
}
