/* What the load tells of itself and of HTTP becomes figures; where it told nothing there are none. */
#include "support.h"

#include "http_study.h"
#include "model/model.h"

static double value_of(const struct figures *figures, int64_t case_id, const char *name)
{
    const struct figure *figure = model_figure(figures, case_id, case_id, "", name);
    if (figure == NULL || figure->status == FIGURE_ABSENT)
        fail_msg("no %s", name);
    return figure->value;
}

static void test_told(void **state)
{
    (void)state;
    struct synth *synth = http_study();
    struct trial_row *first = &synth->trials[0];
    for (size_t i = 0; i < synth->study.sample_count; i++) { /* one trial differs */
        struct sample *sample = &synth->samples[i];
        const char *name = synth->metrics[sample->metric_id - 1].name;
        if (sample->trial_id == first->id && strcmp(name, "own_lateness_p99_ns") == 0)
            sample->value = 70000;
        if (sample->trial_id == first->id && strcmp(name, "gap_cv") == 0)
            sample->value = 0.99;
    }
    struct pl_arena *arena = pl_arena_new();
    struct figures figures = model_figures(&synth->study, arena);
    assert_close(value_of(&figures, 1, "own_lateness_p99_ns"), 90000, 0, 0); /* the highest */
    assert_close(value_of(&figures, 1, "gap_cv"), 1.0, 1e-12, 0);            /* the mean */
    assert_close(value_of(&figures, 1, "http_requests"), 1240, 0, 0);        /* the sum */
    assert_close(value_of(&figures, 1, "http_status_4xx"), 24, 0, 0);
    assert_close(value_of(&figures, 1, "http_received_bytes"), 12400000, 0, 0);
    assert_close(value_of(&figures, 1, "http_first_byte_p99_ns"), 40000000, 0, 0);
    assert_null(model_figure(&figures, 1, 1, "", "http_tls_p50_ns")); /* never told */
    pl_arena_free(arena);
    synth_free(synth);
}

static void test_nothing_told(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "clients", "?", "clients=1"), row = synth_case(synth, stage, "");
    synth_closed_loop(synth, synth_trial(synth, row, 0, 1, 1), 1e6, 1);
    struct pl_arena *arena = pl_arena_new();
    struct figures figures = model_figures(synth_study(synth), arena);
    assert_null(model_figure(&figures, stage, row, "", "own_lateness_p99_ns"));
    assert_null(model_figure(&figures, stage, row, "", "http_requests"));
    assert_non_null(model_figure(&figures, stage, row, "", "client_bound"));
    pl_arena_free(arena);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told), cmocka_unit_test(test_nothing_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
