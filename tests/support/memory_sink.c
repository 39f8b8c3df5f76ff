#include "memory_sink.h"

#include <string.h>

void memory_sink_init(struct memory_sink *memory)
{
    *memory = (struct memory_sink){.arena = pl_arena_new()};
}

static void hist_drop(const struct hist *hist)
{
    if (hist != NULL)
        hist_release((struct hist *)(uintptr_t)hist);
}

void memory_sink_release(struct memory_sink *memory)
{
    for (size_t i = 0; i < memory->slice_count; i++) {
        hist_drop(memory->slices[i].response);
        hist_drop(memory->slices[i].service);
        hist_drop(memory->slices[i].lateness);
        hist_drop(memory->slices[i].censored);
    }
    pl_arena_free(memory->arena);
    *memory = (struct memory_sink){0};
}

static enum pl_code sink_call(struct memory_sink *memory, struct pl_err *err)
{
    memory->calls++;
    if (memory->fail_at != 0 && memory->calls >= memory->fail_at)
        return pl_err_set(err, PL_STORE, "the sink was told to fail at call %zu", memory->fail_at);
    return PL_OK;
}

static const struct hist *hist_copy(struct memory_sink *memory, const struct hist *from)
{
    if (from == NULL)
        return NULL;
    struct hist *copy = pl_alloc(memory->arena, 1, sizeof *copy);
    hist_init(copy, from->lowest, from->highest, from->digits);
    hist_merge(copy, from);
    return copy;
}

static enum pl_code sink_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct memory_sink *memory = ctx;
    enum pl_code code = sink_call(memory, err);
    if (code != PL_OK)
        return code;
    memory->slices = pl_grow(memory->arena, memory->slices, memory->slice_count, memory->slice_count + 1,
                             sizeof *memory->slices, &memory->slice_cap);
    struct slice *copy = &memory->slices[memory->slice_count++];
    *copy = *slice;
    copy->response = hist_copy(memory, slice->response);
    copy->service = hist_copy(memory, slice->service);
    copy->lateness = hist_copy(memory, slice->lateness);
    copy->censored = slice->censored == NULL || slice->censored->total == 0 ? NULL : hist_copy(memory, slice->censored);
    return PL_OK;
}

static enum pl_code sink_metric(void *ctx, const struct metric *metric, struct pl_err *err)
{
    struct memory_sink *memory = ctx;
    enum pl_code code = sink_call(memory, err);
    if (code != PL_OK)
        return code;
    memory->metrics = pl_grow(memory->arena, memory->metrics, memory->metric_count, memory->metric_count + 1,
                              sizeof *memory->metrics, &memory->metric_cap);
    struct metric *copy = &memory->metrics[memory->metric_count++];
    *copy = *metric;
    copy->source = pl_strdup(memory->arena, metric->source);
    copy->name = pl_strdup(memory->arena, metric->name);
    copy->unit = pl_strdup(memory->arena, metric->unit);
    copy->how = pl_strdup(memory->arena, metric->how);
    return PL_OK;
}

static enum pl_code sink_sample(void *ctx, const struct sample *sample, struct pl_err *err)
{
    struct memory_sink *memory = ctx;
    enum pl_code code = sink_call(memory, err);
    if (code != PL_OK)
        return code;
    memory->samples = pl_grow(memory->arena, memory->samples, memory->sample_count, memory->sample_count + 1,
                              sizeof *memory->samples, &memory->sample_cap);
    memory->samples[memory->sample_count++] = *sample;
    return PL_OK;
}

static enum pl_code sink_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct memory_sink *memory = ctx;
    enum pl_code code = sink_call(memory, err);
    if (code != PL_OK)
        return code;
    memory->faults = pl_grow(memory->arena, memory->faults, memory->fault_count, memory->fault_count + 1,
                             sizeof *memory->faults, &memory->fault_cap);
    struct fault *copy = &memory->faults[memory->fault_count++];
    *copy = *fault;
    copy->source = pl_strdup(memory->arena, fault->source);
    copy->code = pl_strdup(memory->arena, fault->code);
    copy->example = pl_strdup(memory->arena, fault->example);
    return PL_OK;
}

struct sink memory_sink(struct memory_sink *memory)
{
    return (struct sink){
        .ctx = memory, .slice = sink_slice, .metric = sink_metric, .sample = sink_sample, .fault = sink_fault};
}

const struct metric *memory_sink_metric(const struct memory_sink *memory, const char *source, const char *name)
{
    for (size_t i = 0; i < memory->metric_count; i++) {
        if (strcmp(memory->metrics[i].source, source) == 0 && strcmp(memory->metrics[i].name, name) == 0)
            return &memory->metrics[i];
    }
    return NULL;
}
