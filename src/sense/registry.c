/* Metrics and their ids, and how a reading becomes a sample in the ring. */
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "sense/sense_int.h"

#include "base/ban.h"

void sense_registry_add(struct sense_registry *registry, const char *source, const struct sense_def *def, const char *how,
                        struct sense_meter *ret_meter)
{
    registry->metrics = pl_grow(registry->arena, registry->metrics, registry->count, registry->count + 1,
                                sizeof *registry->metrics, &registry->capacity);
    registry->metrics[registry->count++] = (struct metric){.id = registry->next_id,
                                                           .source = pl_strdup(registry->arena, source),
                                                           .name = pl_strdup(registry->arena, def->name),
                                                           .unit = pl_strdup(registry->arena, def->unit),
                                                           .kind = def->kind,
                                                           .how = pl_strdup(registry->arena, how)};
    *ret_meter = (struct sense_meter){.id = registry->next_id++, .rule = def->rule};
}

enum pl_code sense_registry_tell(struct sense_registry *registry, struct sink *sink, struct pl_err *err)
{
    while (registry->told < registry->count) {
        enum pl_code code = sink->metric(sink->ctx, &registry->metrics[registry->told], err);
        if (code != PL_OK)
            return code;
        registry->told++;
    }
    return PL_OK;
}

void sense_pass_stamp(struct sense_pass *pass)
{
    pass->t_ns = pl_clock_ns();
}

static double meter_follow(struct sense_meter *meter, double value)
{
    if (meter->rule == SENSE_PLAIN)
        return value;
    if (meter->seen && value < meter->last) {
        if (meter->rule == SENSE_CLAMP)
            value = meter->last;
        else
            meter->base += meter->last;
    }
    meter->seen = true;
    meter->last = value;
    return meter->base + value;
}

void sense_pass_put(struct sense_pass *pass, struct sense_meter *meter, double value)
{
    if (meter->id == 0)
        return;
    struct sample sample = {.trial_id = pass->trial_id,
                            .t_ns = pass->t_ns,
                            .phase = pass->phase,
                            .metric_id = meter->id,
                            .value = meter_follow(meter, value)};
    if (!pl_ring_push(pass->ring, &sample))
        atomic_fetch_add_explicit(&pass->dropped, 1, memory_order_relaxed);
}

void sense_pass_put_known(struct sense_pass *pass, struct sense_meter *meter, int64_t value)
{
    if (value >= 0)
        sense_pass_put(pass, meter, (double)value);
}

long sense_pass_read(struct sense_pass *pass, const char *directory, const char *name)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    return pl_file_read_small(path, pass->text, pass->text_size);
}
