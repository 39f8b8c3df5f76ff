/* That two studies are the same, to the last bit. */
#ifndef PL_TESTS_STUDY_SAME_H
#define PL_TESTS_STUDY_SAME_H

#include "study_gen.h"

GEN_UNUSED static void gen_assert_params(const struct param *a, size_t a_count, const struct param *b, size_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (size_t i = 0; i < a_count; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_string_equal(a[i].value, b[i].value);
    }
}

GEN_UNUSED static void gen_assert_hist(const struct hist *a, const struct hist *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a == NULL)
        return;
    assert_int_equal(a->lowest, b->lowest);
    assert_int_equal(a->highest, b->highest);
    assert_int_equal(a->digits, b->digits);
    assert_int_equal(a->total, b->total);
    assert_int_equal(a->clipped, b->clipped);
    assert_int_equal(a->min, b->min);
    assert_int_equal(a->max, b->max);
    assert_true(a->sum == b->sum);
    assert_int_equal(a->counts_length, b->counts_length);
    assert_memory_equal(a->counts, b->counts, (size_t)a->counts_length * sizeof *a->counts);
}

GEN_UNUSED static void gen_assert_trial(const struct trial_row *a, const struct trial_row *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->case_id, b->case_id);
    assert_int_equal(a->iteration, b->iteration);
    assert_int_equal(a->ordinal, b->ordinal);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->state, b->state);
    assert_string_equal(a->why, b->why);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->started_unix_ns, b->started_unix_ns);
    assert_int_equal(a->connect_start_ns, b->connect_start_ns);
    assert_int_equal(a->connect_end_ns, b->connect_end_ns);
    assert_int_equal(a->warm_up_start_ns, b->warm_up_start_ns);
    assert_int_equal(a->measure_start_ns, b->measure_start_ns);
    assert_int_equal(a->measure_end_ns, b->measure_end_ns);
    assert_int_equal(a->drain_end_ns, b->drain_end_ns);
    assert_int_equal(a->clients, b->clients);
    assert_int_equal(a->clients_lost, b->clients_lost);
    assert_int_equal(a->workers, b->workers);
    assert_string_equal(a->event_loop, b->event_loop);
}

GEN_UNUSED static void gen_assert_plan(const struct study *a, const struct study *b)
{
    assert_int_equal(a->schema_version, b->schema_version);
    assert_string_equal(a->title, b->title);
    assert_string_equal(a->plan_text, b->plan_text);
    assert_string_equal(a->plan_path, b->plan_path);
    assert_string_equal(a->subject, b->subject);
    assert_string_equal(a->tool_version, b->tool_version);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->started_unix_ns, b->started_unix_ns);
    assert_int_equal(a->fact_count, b->fact_count);
    for (size_t i = 0; i < a->fact_count; i++) {
        assert_string_equal(a->facts[i].scope, b->facts[i].scope);
        assert_string_equal(a->facts[i].name, b->facts[i].name);
        assert_string_equal(a->facts[i].value, b->facts[i].value);
        assert_string_equal(a->facts[i].unit, b->facts[i].unit);
        assert_string_equal(a->facts[i].how, b->facts[i].how);
    }
    assert_int_equal(a->stage_count, b->stage_count);
    for (size_t i = 0; i < a->stage_count; i++) {
        const struct stage_row *x = &a->stages[i], *y = &b->stages[i];
        assert_int_equal(x->id, y->id);
        assert_string_equal(x->kind, y->kind);
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->question, y->question);
        gen_assert_params(x->params, x->param_count, y->params, y->param_count);
    }
    assert_int_equal(a->case_count, b->case_count);
    for (size_t i = 0; i < a->case_count; i++) {
        const struct case_row *x = &a->cases[i], *y = &b->cases[i];
        assert_int_equal(x->id, y->id);
        assert_int_equal(x->stage_id, y->stage_id);
        assert_int_equal(x->ordinal, y->ordinal);
        assert_string_equal(x->label, y->label);
        gen_assert_params(x->params, x->param_count, y->params, y->param_count);
    }
    assert_int_equal(a->script_count, b->script_count);
    for (size_t i = 0; i < a->script_count; i++) {
        assert_int_equal(a->scripts[i].case_id, b->scripts[i].case_id);
        assert_int_equal(a->scripts[i].script, b->scripts[i].script);
        assert_int_equal(a->scripts[i].step, b->scripts[i].step);
        assert_string_equal(a->scripts[i].name, b->scripts[i].name);
    }
    assert_int_equal(a->group_count, b->group_count);
    for (size_t i = 0; i < a->group_count; i++) {
        const struct group_row *x = &a->groups[i], *y = &b->groups[i];
        assert_int_equal(x->case_id, y->case_id);
        assert_int_equal(x->group, y->group);
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->tenants, y->tenants);
        assert_memory_equal(&x->weight_frac, &y->weight_frac, sizeof x->weight_frac);
    }
}

GEN_UNUSED static void gen_assert_slice(const struct slice *a, const struct slice *b)
{
    assert_int_equal(a->trial_id, b->trial_id);
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->end_ns, b->end_ns);
    assert_int_equal(a->during, b->during);
    assert_int_equal(a->due_in, b->due_in);
    assert_int_equal(a->script, b->script);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->group, b->group);
    assert_memory_equal(&a->ledger, &b->ledger, sizeof a->ledger); /* seven int64_t, no padding */
    assert_memory_equal(&a->attempts, &b->attempts, sizeof a->attempts);
    gen_assert_hist(a->response, b->response);
    gen_assert_hist(a->service, b->service);
    gen_assert_hist(a->lateness, b->lateness);
    gen_assert_hist(a->censored, b->censored);
}

/* That `loaded` holds the first `trials` trials of `made`, whole, and nothing else. */
GEN_UNUSED static void gen_assert_trials(const struct study *made, const struct study *loaded, size_t trials)
{
    assert_int_equal(loaded->trial_count, trials);
    for (size_t i = 0; i < trials; i++)
        gen_assert_trial(&loaded->trials[i], &made->trials[i]);
    /* trial ids ascend with the ordinal, so what belongs to the first trials stands first */
    size_t slices = 0, samples = 0, faults = 0;
    while (slices < made->slice_count && made->slices[slices].trial_id <= (int64_t)trials)
        slices++;
    while (samples < made->sample_count && made->samples[samples].trial_id <= (int64_t)trials)
        samples++;
    while (faults < made->fault_count && made->faults[faults].trial_id <= (int64_t)trials)
        faults++;
    assert_int_equal(loaded->slice_count, slices);
    for (size_t i = 0; i < slices; i++)
        gen_assert_slice(&loaded->slices[i], &made->slices[i]);
    assert_int_equal(loaded->sample_count, samples);
    for (size_t i = 0; i < samples; i++) {
        const struct sample *a = &loaded->samples[i], *b = &made->samples[i];
        assert_int_equal(a->trial_id, b->trial_id);
        assert_int_equal(a->metric_id, b->metric_id);
        assert_int_equal(a->t_ns, b->t_ns);
        assert_int_equal(a->phase, b->phase);
        assert_memory_equal(&a->value, &b->value, sizeof a->value); /* to the bit */
    }
    assert_int_equal(loaded->fault_count, faults);
    for (size_t i = 0; i < faults; i++) {
        const struct fault *a = &loaded->faults[i], *b = &made->faults[i];
        assert_int_equal(a->trial_id, b->trial_id);
        assert_string_equal(a->source, b->source);
        assert_int_equal(a->phase, b->phase);
        assert_string_equal(a->code, b->code);
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->first_ns, b->first_ns);
        assert_string_equal(a->example, b->example);
    }
}

GEN_UNUSED static void gen_assert_study(const struct study *made, const struct study *loaded)
{
    gen_assert_plan(made, loaded);
    assert_int_equal(made->ended_unix_ns, loaded->ended_unix_ns);
    assert_int_equal(made->metric_count, loaded->metric_count);
    for (size_t i = 0; i < made->metric_count; i++) {
        const struct metric *a = &made->metrics[i], *b = &loaded->metrics[i];
        assert_int_equal(a->id, b->id);
        assert_string_equal(a->source, b->source);
        assert_string_equal(a->name, b->name);
        assert_string_equal(a->unit, b->unit);
        assert_int_equal(a->kind, b->kind);
        assert_string_equal(a->how, b->how);
    }
    gen_assert_trials(made, loaded, made->trial_count);
}

#endif
