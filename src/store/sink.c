/* The sink: slices, metrics, samples and faults of the open trial. */
#include "store/store_int.h"

#include <math.h>

#include "base/ban.h"

/* The first error of a trial stays until the trial ends; every later call gives it again. */
static enum pl_code sink_failed(struct store *store, struct pl_err *err)
{
    if (err->code == PL_OK)
        *err = store->failed;
    return store->failed.code;
}

static enum pl_code sink_begin(struct store *store, int64_t trial_id, struct pl_err *err)
{
    if (store->failed.code != PL_OK)
        return sink_failed(store, err);
    if (store->trial_open && store->trial_id == trial_id)
        return PL_OK;
    return pl_err_at(err, PL_STORE, store->path, 0, 0, "something was observed for trial %lld, and trial %lld is open",
                     (long long)trial_id, (long long)store->trial_id);
}

static enum pl_code sink_end(struct store *store, enum pl_code code, const struct pl_err *own, struct pl_err *err)
{
    if (code == PL_OK)
        return PL_OK;
    if (store->trial_open && store->failed.code == PL_OK)
        store->failed = *own;
    if (err->code == PL_OK)
        *err = *own;
    return code;
}

static const struct pl_buf *slice_blob(struct pl_buf *blob, const struct hist *hist)
{
    if (hist == NULL)
        return NULL;
    pl_buf_clear(blob);
    hist_encode(hist, blob);
    return blob;
}

static enum pl_code slice_put(struct store *store, const struct slice *slice, struct pl_err *err)
{
    const struct hist *const hists[SLICE_HISTOGRAMS] = {slice->response, slice->service, slice->lateness, slice->censored};
    const struct pl_buf *blobs[SLICE_HISTOGRAMS];
    for (int i = 0; i < SLICE_HISTOGRAMS; i++) {
        blobs[i] = slice_blob(&store->blobs[i], hists[i]);
        if (blobs[i] != NULL && blobs[i]->full)
            return pl_err_at(err, PL_STORE, store->path, 0, 0, "a histogram takes more than %zu bytes", blobs[i]->max);
    }
    struct binding binding = binding_start(store, PUT_SLICE);
    binding_i64(&binding, slice->trial_id);
    binding_i64(&binding, slice->start_ns);
    binding_i64(&binding, slice->end_ns);
    binding_text(&binding, phase_name(slice->during));
    binding_text(&binding, phase_name(slice->due_in));
    binding_i64(&binding, slice->script);
    binding_i64(&binding, slice->step);
    binding_i64(&binding, slice->group);
    binding_i64(&binding, slice->ledger.due);
    binding_i64(&binding, slice->ledger.completed);
    binding_i64(&binding, slice->ledger.failed);
    binding_i64(&binding, slice->ledger.skipped);
    binding_i64(&binding, slice->ledger.expired);
    binding_i64(&binding, slice->ledger.unfinished);
    binding_i64(&binding, slice->ledger.never_started);
    binding_i64(&binding, slice->attempts.retried);
    binding_i64(&binding, slice->attempts.retries);
    binding_i64(&binding, slice->attempts.serialization);
    binding_i64(&binding, slice->attempts.deadlock);
    binding_i64(&binding, slice->attempts.above_limit);
    for (int i = 0; i < SLICE_HISTOGRAMS; i++)
        binding_blob(&binding, blobs[i]);
    return binding_run(&binding, "cannot store a slice", err);
}

static enum pl_code sink_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct store *store = ctx;
    struct pl_err own = {0};
    enum pl_code code = sink_begin(store, slice->trial_id, &own);
    if (code == PL_OK)
        code = slice_put(store, slice, &own);
    return sink_end(store, code, &own, err);
}

static enum pl_code sink_metric(void *ctx, const struct metric *metric, struct pl_err *err)
{
    struct store *store = ctx;
    if (store->failed.code != PL_OK)
        return sink_failed(store, err);
    struct pl_err own = {0};
    return sink_end(store, metrics_declare(store, metric, &own), &own, err);
}

static enum pl_code sample_put(struct store *store, const struct sample *sample, struct pl_err *err)
{
    int64_t metric_id = 0;
    enum pl_code code = metrics_stored_id(store, sample->metric_id, &metric_id, err);
    if (code != PL_OK)
        return code;
    /* SQLite would turn NAN into NULL */
    if (!isfinite(sample->value))
        return pl_err_at(err, PL_STORE, store->path, 0, 0, "a sample of metric %lld is not a finite number",
                         (long long)sample->metric_id);
    struct binding binding = binding_start(store, PUT_SAMPLE);
    binding_i64(&binding, sample->trial_id);
    binding_i64(&binding, metric_id);
    binding_i64(&binding, sample->t_ns);
    binding_text(&binding, phase_name(sample->phase));
    binding_f64(&binding, sample->value);
    return binding_run(&binding, "cannot store a sample", err);
}

static enum pl_code sink_sample(void *ctx, const struct sample *sample, struct pl_err *err)
{
    struct store *store = ctx;
    struct pl_err own = {0};
    enum pl_code code = sink_begin(store, sample->trial_id, &own);
    if (code == PL_OK)
        code = sample_put(store, sample, &own);
    return sink_end(store, code, &own, err);
}

static enum pl_code fault_put(struct store *store, const struct fault *fault, struct pl_err *err)
{
    struct binding binding = binding_start(store, PUT_FAULT);
    binding_i64(&binding, fault->trial_id);
    binding_text(&binding, fault->source);
    binding_text(&binding, phase_name(fault->phase));
    binding_text(&binding, fault->code);
    binding_i64(&binding, fault->count);
    binding_i64(&binding, fault->first_ns);
    binding_text(&binding, fault->example);
    return binding_run(&binding, "cannot store a fault", err);
}

static enum pl_code sink_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct store *store = ctx;
    struct pl_err own = {0};
    enum pl_code code = sink_begin(store, fault->trial_id, &own);
    if (code == PL_OK)
        code = fault_put(store, fault, &own);
    return sink_end(store, code, &own, err);
}

struct sink store_sink(struct store *store)
{
    return (struct sink){
        .ctx = store, .slice = sink_slice, .metric = sink_metric, .sample = sink_sample, .fault = sink_fault};
}
