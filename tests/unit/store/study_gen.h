/* Random studies: made in memory, written through the store, compared with what was loaded. */
#ifndef PL_TESTS_STUDY_GEN_H
#define PL_TESTS_STUDY_GEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "store/store.h"
#include "support.h"

#define GEN_UNUSED __attribute__((unused))

struct gen_size {
    int stages, cases, iterations, slices, metrics, samples; /* slices and samples: at most, of one trial (and metric) */
};

/* ids that the caller of the sink uses; the stored ones are 1, 2, 3, ... */
GEN_UNUSED static int64_t gen_caller_metric(int64_t stored_id)
{
    return 1000 - stored_id * 7;
}

GEN_UNUSED static const char *gen_text(struct pl_arena *arena, struct pl_rng *rng, const char *prefix)
{
    static const char *const endings[] = {
        "", " 'quoted' \"twice\"", "; DROP TABLE trial;--", "\n\ttwo lines", " \xC3\xA9\xE2\x82\xAC", " 100%s%n", " \\x00"};
    return pl_format(arena, "%s %lld%s", prefix, (long long)pl_rng_range(rng, 0, 999999), endings[pl_rng_range(rng, 0, 6)]);
}

GEN_UNUSED static struct param *gen_params(struct pl_arena *arena, struct pl_rng *rng, size_t *ret_count)
{
    *ret_count = (size_t)pl_rng_range(rng, 0, 4);
    struct param *params = pl_alloc(arena, *ret_count, sizeof *params);
    for (size_t i = 0; i < *ret_count; i++)
        params[i] = (struct param){.name = pl_format(arena, "p%zu", *ret_count - i), .value = gen_text(arena, rng, "")};
    return params;
}

GEN_UNUSED static const struct hist *gen_hist(struct pl_arena *arena, struct pl_rng *rng)
{
    if (pl_rng_range(rng, 0, 3) == 0)
        return NULL;
    struct hist *hist = pl_alloc(arena, 1, sizeof *hist);
    hist_init_latency(hist);
    for (int64_t i = pl_rng_range(rng, 0, 40); i > 0; i--)
        hist_record(hist, (int64_t)pl_rng_exponential(rng, 2e6));
    if (pl_rng_range(rng, 0, 9) == 0)
        hist_record(hist, INT64_C(5000) * 1000000000); /* clipped */
    return hist;
}

GEN_UNUSED static struct trial_row gen_trial(struct pl_arena *arena, struct pl_rng *rng, int64_t case_id, int iteration)
{
    struct trial_row trial = {.case_id = case_id,
                              .iteration = iteration,
                              .attempt = (int)pl_rng_range(rng, 0, 2),
                              .state = (enum trial_state)pl_rng_range(rng, 0, TRIAL_STATE_COUNT - 1),
                              .seed = pl_rng_u64(rng),
                              .started_unix_ns = pl_rng_range(rng, 1, INT64_MAX),
                              .clients = (int)pl_rng_range(rng, 0, 100),
                              .clients_lost = (int)pl_rng_range(rng, 0, 9),
                              .workers = (int)pl_rng_range(rng, 0, 8),
                              .event_loop = pl_rng_range(rng, 0, 1) != 0 ? "epoll" : ""};
    int64_t *const times[] = {&trial.connect_start_ns, &trial.connect_end_ns, &trial.warm_up_start_ns,
                              &trial.measure_start_ns, &trial.measure_end_ns, &trial.drain_end_ns};
    for (size_t i = 0; i < 6; i++)
        *times[i] = pl_rng_range(rng, 0, INT64_MAX);
    trial.why = trial.state == TRIAL_DONE && pl_rng_range(rng, 0, 1) != 0 ? "" : gen_text(arena, rng, "because");
    return trial;
}

GEN_UNUSED static void gen_stages(struct study *study, struct pl_rng *rng, const struct gen_size *size)
{
    struct pl_arena *arena = study->arena;
    study->stage_count = (size_t)size->stages;
    study->case_count = (size_t)(size->stages * size->cases);
    study->script_count = study->case_count * 3;
    struct stage_row *stages = pl_alloc(arena, study->stage_count, sizeof *stages);
    struct case_row *cases = pl_alloc(arena, study->case_count, sizeof *cases);
    struct script_row *scripts = pl_alloc(arena, study->script_count, sizeof *scripts);
    struct group_row *groups = pl_alloc(arena, study->case_count * 2, sizeof *groups);
    size_t at = 0;
    for (int s = 0; s < size->stages; s++) {
        stages[s] = (struct stage_row){.id = s * 3 + 2,
                                       .kind = "clients",
                                       .name = pl_format(arena, "stage %d", s),
                                       .question = gen_text(arena, rng, "what?")};
        stages[s].params = gen_params(arena, rng, &stages[s].param_count);
        for (int c = 0; c < size->cases; c++, at++) {
            cases[at] = (struct case_row){.id = (int64_t)at + 1, .stage_id = stages[s].id, .ordinal = c};
            cases[at].label = gen_text(arena, rng, "case");
            cases[at].params = gen_params(arena, rng, &cases[at].param_count);
            for (size_t i = 0; i < 3; i++)
                scripts[at * 3 + i] = (struct script_row){.case_id = cases[at].id,
                                                          .script = (int)i / 2,
                                                          .step = (int)i % 2 - 1,
                                                          .name = gen_text(arena, rng, "do")};
            for (int i = 0; i < 2 && c % 2 == 0; i++)
                groups[study->group_count++] = (struct group_row){.case_id = cases[at].id,
                                                                  .group = i,
                                                                  .name = gen_text(arena, rng, "gold"),
                                                                  .tenants = pl_rng_range(rng, 1, 10000),
                                                                  .weight_frac = pl_rng_unit(rng)};
        }
    }
    study->stages = stages;
    study->cases = cases;
    study->scripts = scripts;
    study->groups = groups;
}

GEN_UNUSED static void gen_trials(struct study *study, struct pl_rng *rng, const struct gen_size *size)
{
    study->trial_count = study->case_count * (size_t)size->iterations;
    struct trial_row *trials = pl_alloc(study->arena, study->trial_count, sizeof *trials);
    for (size_t i = 0; i < study->trial_count; i++)
        trials[i] = gen_trial(study->arena, rng, study->cases[i % study->case_count].id, (int)(i / study->case_count));
    for (size_t i = study->trial_count; i > 1; i--) {
        size_t other = (size_t)pl_rng_range(rng, 0, (int64_t)i - 1);
        struct trial_row keep = trials[i - 1];
        trials[i - 1] = trials[other];
        trials[other] = keep;
    }
    for (size_t i = 0; i < study->trial_count; i++) {
        trials[i].ordinal = (int)i;
        trials[i].id = (int64_t)i + 1;
    }
    study->trials = trials;
}

GEN_UNUSED static void gen_slices(struct study *study, struct pl_rng *rng, const struct gen_size *size)
{
    struct slice *slices = pl_alloc(study->arena, study->trial_count * (size_t)size->slices, sizeof *slices);
    for (size_t t = 0; t < study->trial_count; t++) {
        int64_t start_ns = pl_rng_range(rng, 1, INT64_C(1) << 60);
        for (int64_t i = pl_rng_range(rng, 0, size->slices); i > 0; i--) {
            struct slice *slice = &slices[study->slice_count++];
            start_ns += pl_rng_range(rng, 0, 1) * 1000000000; /* several begin together */
            *slice = (struct slice){.trial_id = study->trials[t].id,
                                    .start_ns = start_ns,
                                    .end_ns = start_ns + 1000000000,
                                    .during = (enum phase)pl_rng_range(rng, 0, PHASE_COUNT - 1),
                                    .due_in = (enum phase)pl_rng_range(rng, 0, PHASE_COUNT - 1),
                                    .script = (int)pl_rng_range(rng, 0, 3),
                                    .step = (int)pl_rng_range(rng, -1, 9),
                                    .response = gen_hist(study->arena, rng),
                                    .service = gen_hist(study->arena, rng),
                                    .group = (int)pl_rng_range(rng, 0, 5),
                                    .lateness = gen_hist(study->arena, rng),
                                    .censored = gen_hist(study->arena, rng)};
            int64_t *const counts[] = {&slice->ledger.due,           &slice->ledger.completed,
                                       &slice->ledger.failed,        &slice->ledger.skipped,
                                       &slice->ledger.expired,       &slice->ledger.unfinished,
                                       &slice->ledger.never_started, &slice->attempts.retried,
                                       &slice->attempts.retries,     &slice->attempts.serialization,
                                       &slice->attempts.deadlock,    &slice->attempts.above_limit};
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                *counts[c] = pl_rng_range(rng, 0, INT64_MAX);
        }
    }
    study->slices = slices;
}

GEN_UNUSED static void gen_samples(struct study *study, struct pl_rng *rng, const struct gen_size *size)
{
    struct pl_arena *arena = study->arena;
    study->metric_count = (size_t)size->metrics;
    struct metric *metrics = pl_alloc(arena, study->metric_count, sizeof *metrics);
    for (size_t m = 0; m < study->metric_count; m++)
        metrics[m] = (struct metric){.id = (int64_t)m + 1,
                                     .source = m % 2 != 0 ? "host" : "db",
                                     .name = pl_format(arena, "metric_%zu", m / 2),
                                     .unit = m % 3 != 0 ? "bytes" : "count",
                                     .kind = (enum metric_kind)pl_rng_range(rng, 0, 1),
                                     .how = gen_text(arena, rng, "/proc")};
    struct sample *samples =
        pl_alloc(arena, study->trial_count * study->metric_count * (size_t)size->samples, sizeof *samples);
    for (size_t t = 0; t < study->trial_count; t++) {
        for (size_t m = 0; m < study->metric_count; m++) {
            int64_t t_ns = pl_rng_range(rng, 1, INT64_C(1) << 60);
            for (int64_t i = pl_rng_range(rng, 0, size->samples); i > 0; i--, t_ns += pl_rng_range(rng, 0, 1000))
                samples[study->sample_count++] = (struct sample){.trial_id = study->trials[t].id,
                                                                 .metric_id = (int64_t)m + 1,
                                                                 .t_ns = t_ns,
                                                                 .phase = (enum phase)pl_rng_range(rng, 0, PHASE_COUNT - 1),
                                                                 .value = pl_rng_unit(rng) * 1e12 - 5e11};
        }
    }
    study->metrics = metrics;
    study->samples = samples;
}

GEN_UNUSED static void gen_faults(struct study *study, struct pl_rng *rng)
{
    static const char *const codes[] = {"40001", "57P01", "ECONNRESET"};
    struct fault *faults = pl_alloc(study->arena, study->trial_count * 3, sizeof *faults);
    for (size_t t = 0; t < study->trial_count; t++) {
        for (size_t c = 0; c < 3; c++) {
            if (pl_rng_range(rng, 0, 1) != 0)
                faults[study->fault_count++] = (struct fault){.trial_id = study->trials[t].id,
                                                              .source = "load",
                                                              .phase = PHASE_MEASURE,
                                                              .code = codes[c],
                                                              .count = pl_rng_range(rng, 1, 1000),
                                                              .first_ns = pl_rng_range(rng, 0, INT64_MAX),
                                                              .example = gen_text(study->arena, rng, "ERROR:")};
        }
    }
    study->faults = faults;
}

/* Release with store_release_study and free the arena. */
GEN_UNUSED static struct study *gen_study(struct pl_arena *arena, struct pl_rng *rng, const struct gen_size *size)
{
    struct study *study = pl_alloc(arena, 1, sizeof *study);
    *study = (struct study){.arena = arena,
                            .schema_version = STORE_SCHEMA_VERSION,
                            .title = gen_text(arena, rng, "title"),
                            .plan_text = gen_text(arena, rng, "study: x\n"),
                            .plan_path = gen_text(arena, rng, "plans/x"),
                            .subject = "db",
                            .tool_version = "0.1.0",
                            .seed = pl_rng_u64(rng),
                            .started_unix_ns = pl_rng_range(rng, 1, INT64_MAX),
                            .ended_unix_ns = pl_rng_range(rng, 0, INT64_MAX)};
    study->fact_count = (size_t)pl_rng_range(rng, 0, 5);
    struct fact *facts = pl_alloc(arena, study->fact_count, sizeof *facts);
    for (size_t i = 0; i < study->fact_count; i++)
        facts[i] = (struct fact){.scope = i % 2 != 0 ? "host" : "db",
                                 .name = pl_format(arena, "fact%zu", study->fact_count - i),
                                 .value = gen_text(arena, rng, ""),
                                 .unit = "",
                                 .how = gen_text(arena, rng, "from")};
    study->facts = facts;
    gen_stages(study, rng, size);
    gen_trials(study, rng, size);
    gen_slices(study, rng, size);
    gen_samples(study, rng, size);
    gen_faults(study, rng);
    return study;
}

#define GEN_TRY(call)                                                                                                      \
    do {                                                                                                                   \
        enum pl_code gen_code = (call);                                                                                    \
        if (gen_code != PL_OK)                                                                                             \
            return gen_code;                                                                                               \
    } while (0)

GEN_UNUSED static enum pl_code gen_write_plan(const struct study *study, struct store *store, struct pl_err *err)
{
    struct store_head head = {.title = study->title,
                              .plan_text = study->plan_text,
                              .plan_path = study->plan_path,
                              .subject = study->subject,
                              .tool_version = study->tool_version,
                              .seed = study->seed,
                              .started_unix_ns = study->started_unix_ns};
    GEN_TRY(store_put_head(store, &head, err));
    GEN_TRY(store_put_facts(store, study->facts, study->fact_count, err));
    for (size_t i = 0; i < study->stage_count; i++)
        GEN_TRY(store_put_stage(store, &study->stages[i], err));
    for (size_t i = 0; i < study->case_count; i++)
        GEN_TRY(store_put_case(store, &study->cases[i], err));
    for (size_t i = 0; i < study->script_count; i++)
        GEN_TRY(store_put_script(store, &study->scripts[i], err));
    for (size_t i = 0; i < study->group_count; i++)
        GEN_TRY(store_put_group(store, &study->groups[i], err));
    return PL_OK;
}

GEN_UNUSED static enum pl_code gen_write_metrics(const struct study *study, struct store *store, struct pl_err *err)
{
    struct sink sink = store_sink(store);
    for (size_t i = 0; i < study->metric_count; i++) {
        struct metric metric = study->metrics[i];
        metric.id = gen_caller_metric(metric.id);
        GEN_TRY(sink.metric(sink.ctx, &metric, err));
    }
    return PL_OK;
}

/* Everything of one trial but the commit. */
GEN_UNUSED static enum pl_code gen_write_trial(const struct study *study, const struct trial_row *trial,
                                               struct store *store, struct pl_err *err)
{
    struct sink sink = store_sink(store);
    struct trial_row begun = {.id = trial->id,
                              .case_id = trial->case_id,
                              .iteration = trial->iteration,
                              .ordinal = trial->ordinal,
                              .attempt = trial->attempt,
                              .state = TRIAL_INTERRUPTED,
                              .why = "it runs",
                              .event_loop = ""};
    GEN_TRY(store_trial_begin(store, &begun, err));
    for (size_t i = 0; i < study->slice_count; i++) {
        if (study->slices[i].trial_id == trial->id)
            GEN_TRY(sink.slice(sink.ctx, &study->slices[i], err));
    }
    for (size_t i = 0; i < study->sample_count; i++) {
        struct sample sample = study->samples[i];
        sample.metric_id = gen_caller_metric(sample.metric_id);
        if (sample.trial_id == trial->id)
            GEN_TRY(sink.sample(sink.ctx, &sample, err));
    }
    for (size_t i = 0; i < study->fault_count; i++) {
        if (study->faults[i].trial_id == trial->id)
            GEN_TRY(sink.fault(sink.ctx, &study->faults[i], err));
    }
    return PL_OK;
}

/* The whole study into a store that is open. *commits counts the trials whose commit gave PL_OK. */
GEN_UNUSED static enum pl_code gen_write(const struct study *study, struct store *store, int *commits, struct pl_err *err)
{
    *commits = 0;
    GEN_TRY(gen_write_plan(study, store, err));
    GEN_TRY(gen_write_metrics(study, store, err));
    for (size_t i = 0; i < study->trial_count; i++) {
        GEN_TRY(gen_write_trial(study, &study->trials[i], store, err));
        GEN_TRY(store_trial_commit(store, &study->trials[i], err));
        ++*commits;
    }
    return store_put_ended(store, study->ended_unix_ns, err);
}

/* The thread sanitizer writes out what is buffered when a child ends: nothing may be. */
GEN_UNUSED static pid_t gen_fork(void)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    return child;
}

/* A folder of the test's own, and a path in it. */
GEN_UNUSED static char *gen_folder(struct pl_arena *arena)
{
    const char *base = getenv("TMPDIR");
    char *folder = pl_format(arena, "%s/plimsoll-store-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    return folder;
}

GEN_UNUSED static void gen_folder_remove(struct pl_arena *arena, const char *folder)
{
    static const char *const names[] = {"x.study", "y.study"};
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t n = 0; n < 2; n++) {
        for (size_t e = 0; e < 4; e++)
            unlink(pl_format(arena, "%s/%s%s", folder, names[n], endings[e]));
    }
    assert_int_equal(rmdir(folder), 0);
}

#define GEN_OK(call, err)                                                                                                  \
    do {                                                                                                                   \
        if ((call) != PL_OK) {                                                                                             \
            print_error("%s\n%s\n", (err).what, (err).hint);                                                               \
            _fail(__FILE__, __LINE__);                                                                                     \
        }                                                                                                                  \
    } while (0)

#endif
