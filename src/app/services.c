/* The services of a study. A service that stages vary runs in variants: each has a data directory of its own that stays
 * until the end, and only the one that is measured runs. All variants with the same version and data begin with a copy of
 * the same files, so that what differs between them is what the plan varies and nothing else. */
#include <string.h>

#include "app/conduct_int.h"
#include "base/clock.h"
#include "base/limits.h"
#include "hardware/hardware.h"

#include "base/ban.h"

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_data(const struct plan_service *a, const struct plan_service *b)
{
    return is_same_text(a->version, b->version) && is_same_text(a->directory, b->directory) &&
           a->data_scale == b->data_scale;
}

static const char *scope_of(const struct plan_service *plan)
{
    return plan->scope != NULL ? plan->scope : plan->name;
}

struct conduct_variant *conduct_variant(struct conduct *c, size_t service, const struct plan_service *plan)
{
    for (size_t i = 0; i < c->variant_count; i++)
        if (c->variants[i]->service == service && strcmp(scope_of(c->variants[i]->plan), scope_of(plan)) == 0)
            return c->variants[i];
    c->variants = pl_grow(c->arena, c->variants, c->variant_count, c->variant_count + 1, sizeof(struct conduct_variant *),
                          &c->variant_capacity);
    struct conduct_variant *variant = pl_alloc(c->arena, 1, sizeof *variant);
    variant->service = service;
    variant->plan = plan;
    c->variants[c->variant_count++] = variant;
    return variant;
}

size_t conduct_variant_count(const struct conduct *c, size_t service)
{
    size_t count = 0;
    for (size_t i = 0; i < c->variant_count; i++)
        count += c->variants[i]->service == service;
    return count;
}

struct conduct_origin *conduct_origin(struct conduct *c, const struct conduct_variant *variant)
{
    for (size_t i = 0; i < c->origin_count; i++)
        if (c->origins[i]->service == variant->service && is_same_data(c->origins[i]->plan, variant->plan))
            return c->origins[i];
    c->origins = pl_grow(c->arena, c->origins, c->origin_count, c->origin_count + 1, sizeof(struct conduct_origin *),
                         &c->origin_capacity);
    struct conduct_origin *origin = pl_alloc(c->arena, 1, sizeof *origin);
    struct plan_service *plan = pl_alloc(c->arena, 1, sizeof *plan);
    *plan = c->plan->services[variant->service]; /* with the settings that all variants share */
    plan->version = variant->plan->version;
    plan->directory = variant->plan->directory;
    plan->data_scale = variant->plan->data_scale;
    *origin = (struct conduct_origin){.service = variant->service, .plan = plan};
    c->origins[c->origin_count++] = origin;
    return origin;
}

/* ---- sensors and facts ---- */

static enum pl_code put_service_facts(struct conduct *c, struct conduct_variant *variant, struct pl_err *err)
{
    struct fact *facts = NULL;
    size_t count = 0;
    if (variant->facts_put)
        return PL_OK;
    enum pl_code code = service_facts(variant->kept, c->spec->stop, c->arena, &facts, &count, err);
    if (code == PL_OK)
        code = conduct_put_facts(c, facts, count, err);
    variant->facts_put = code == PL_OK;
    return code;
}

static enum pl_code put_host_facts(struct conduct *c, struct pl_err *err)
{
    struct fact *facts = NULL;
    size_t count = 0;
    if (c->host_facts_put)
        return PL_OK;
    const char *directory = c->subject->is_attached ? NULL : c->subject->directory;
    enum pl_code code = hardware_facts(directory, c->arena, &facts, &count, err);
    if (code == PL_OK)
        code = conduct_put_facts(c, facts, count, err);
    c->host_facts_put = code == PL_OK;
    return code;
}

static enum pl_code open_sensors(struct conduct *c, struct pl_err *err)
{
    struct sense_target targets[PL_MAX_SERVICES];
    int count = 0;
    for (size_t i = 0; i < c->plan->service_count; i++) {
        struct service *service = c->services[i];
        char conninfo[512];
        if (service->is_attached) /* it may be on another machine: nothing of it can be read */
            continue;
        service_conninfo(service, SERVICE_SENSOR_DATABASE, conninfo, sizeof conninfo);
        struct sense_target target = {.source = service->name,
                                      .pid = service->pid,
                                      .v1_cpuacct = service->cgroup.v1_cpuacct,
                                      .v1_memory = service->cgroup.v1_memory,
                                      .v2 = service->cgroup.v2,
                                      .conninfo = pl_strdup(c->arena, conninfo),
                                      .database = SERVICE_DATA_DATABASE};
        /* the subject first: the live view shows the first target */
        if (service == c->subject && count > 0) {
            targets[count] = targets[0];
            targets[0] = target;
        } else {
            targets[count] = target;
        }
        count++;
    }
    struct sense_spec spec = {.targets = targets, .target_count = count, .seed = c->plan->seed};
    enum pl_code code = sense_new(&spec, c->next_metric_id, &c->sink, &c->sense, err);
    if (code == PL_OK)
        c->next_metric_id = sense_next_metric_id(c->sense);
    return code;
}

static void close_sensors(struct conduct *c)
{
    sense_free(c->sense);
    c->sense = NULL;
}

/* ---- starting and stopping one ---- */

/* Its files are gone with it: the next start makes it anew. */
static void drop(struct conduct *c, struct service **kept, enum service_stop how)
{
    struct pl_err err = {0};
    struct service *service = *kept;
    if (service == NULL)
        return;
    bool was_running = service->pid > 0 && !service->exited;
    if (service_stop(service, how, &err) != PL_OK && how == SERVICE_STOP_CLEAN && was_running)
        live_say(c->spec->live, "%s: %s", service->name, err.what);
    *kept = NULL;
}

static void forget_running(struct conduct *c, size_t service)
{
    c->services[service] = NULL;
    c->running[service] = NULL;
}

/* Takes a running one from the stage; its files stay for the next time, unless it did not stop in good order. */
static void pause_running(struct conduct *c, size_t i)
{
    struct pl_err err = {0};
    struct conduct_variant *variant = c->running[i];
    if (service_pause(variant->kept, &err) != PL_OK) {
        live_say(c->spec->live, "%s: %s; it is made anew", scope_of(variant->plan), err.what);
        drop(c, &variant->kept, SERVICE_STOP_KILL);
    }
    forget_running(c, i);
}

/* The files that variants begin with: built once, on a server with the settings that they share, and never run again. */
static enum pl_code make_origin(struct conduct *c, struct conduct_origin *origin, struct pl_err *err)
{
    const struct plan_service *plan = origin->plan;
    if (origin->kept != NULL)
        return PL_OK;
    if (plan->data_kind != NULL)
        live_say(c->spec->live, "%s: building its data, scale %lld", plan->name, (long long)plan->data_scale);
    enum pl_code code = service_start(plan, c->guard, c->spec->stop, c->arena, &origin->kept, err);
    if (code != PL_OK) {
        origin->kept = NULL;
        return code;
    }
    code = service_load_data(origin->kept, NULL, NULL, c->spec->stop, err);
    return code == PL_OK ? service_pause(origin->kept, err) : code;
}

static enum pl_code make_variant(struct conduct *c, struct conduct_variant *variant, struct pl_err *err)
{
    const struct plan_service *plan = variant->plan;
    bool is_copy = conduct_variant_count(c, variant->service) > 1;
    struct conduct_origin *origin = is_copy ? conduct_origin(c, variant) : NULL;
    enum pl_code code = is_copy ? make_origin(c, origin, err) : PL_OK;
    if (code != PL_OK)
        return code;
    if (plan_speech_of(plan) == PLAN_SQL)
        live_say(c->spec->live, "%s: starting PostgreSQL%s", scope_of(plan), is_copy ? " on a copy of the data" : "");
    if (is_copy)
        code = service_start_copy(plan, origin->kept, c->guard, c->spec->stop, c->arena, &variant->kept, err);
    else
        code = service_start(plan, c->guard, c->spec->stop, c->arena, &variant->kept, err);
    if (code != PL_OK) {
        variant->kept = NULL;
        return code;
    }
    if (variant->kept->is_attached)
        return PL_OK;
    live_say(c->spec->live, "%s: PostgreSQL %s is ready after %.0f ms%s", scope_of(plan), variant->kept->version,
             (double)variant->kept->ready_ns / 1e6, !is_copy && plan->data_kind != NULL ? "; loading its data" : "");
    return is_copy ? PL_OK : service_load_data(variant->kept, NULL, NULL, c->spec->stop, err);
}

static enum pl_code start_variant(struct conduct *c, struct conduct_variant *variant, struct pl_err *err)
{
    enum pl_code code =
        variant->kept != NULL ? service_continue(variant->kept, c->spec->stop, err) : make_variant(c, variant, err);
    if (variant->kept != NULL) { /* also after an error: it is cleared away with the others */
        c->services[variant->service] = variant->kept;
        c->running[variant->service] = variant;
        if (&c->plan->services[variant->service] == c->plan->subject)
            c->subject = variant->kept;
    }
    return code == PL_OK ? put_service_facts(c, variant, err) : code;
}

/* ---- all of them ---- */

enum pl_code conduct_services_start(struct conduct *c, const struct stage *stage, const struct stage_case *stage_case,
                                    struct pl_err *err)
{
    for (size_t i = 0; i < c->plan->service_count; i++) {
        struct conduct_variant *wanted = conduct_variant(c, i, &stage_case->services[i]);
        /* of a stage that varies services each trial begins with one that has just started: all trials start alike */
        bool afresh = stage->restarts && conduct_variant_count(c, i) > 1;
        if (c->services[i] != NULL && (c->running[i] != wanted || afresh)) {
            close_sensors(c);
            pause_running(c, i);
        }
    }
    for (size_t i = 0; i < c->plan->service_count; i++) {
        struct conduct_variant *wanted = conduct_variant(c, i, &stage_case->services[i]);
        enum pl_code code = c->services[i] == NULL ? start_variant(c, wanted, err) : PL_OK;
        if (code != PL_OK)
            return code;
    }
    if (c->sense != NULL)
        return PL_OK;
    enum pl_code code = put_host_facts(c, err);
    return code == PL_OK ? open_sensors(c, err) : code;
}

enum pl_code conduct_variants_make(struct conduct *c, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < c->variant_count && code == PL_OK; i++) {
        struct conduct_variant *variant = c->variants[i];
        if (!variant->wanted || conduct_variant_count(c, variant->service) < 2)
            continue;
        code = start_variant(c, variant, err);
        if (code == PL_OK)
            pause_running(c, variant->service);
    }
    return code;
}

void conduct_services_drop(struct conduct *c)
{
    close_sensors(c);
    for (size_t i = c->plan->service_count; i-- > 0;) {
        if (c->running[i] != NULL)
            drop(c, &c->running[i]->kept, SERVICE_STOP_KILL);
        forget_running(c, i);
    }
}

void conduct_services_stop(struct conduct *c)
{
    close_sensors(c);
    for (size_t i = c->variant_count; i-- > 0;)
        drop(c, &c->variants[i]->kept, SERVICE_STOP_CLEAN);
    for (size_t i = c->origin_count; i-- > 0;)
        drop(c, &c->origins[i]->kept, SERVICE_STOP_CLEAN);
    for (size_t i = 0; i < c->plan->service_count; i++)
        forget_running(c, i);
}
