/* All figures of a study: order, explanation, documentation, and studies with nothing in them. */
#include "figures.h"

#include "base/file.h"

static void test_sorted_unique_and_explained(void **state)
{
    const struct fixture *fixture = *state;
    assert_true(fixture->figures.count > 500);
    for (size_t i = 0; i < fixture->figures.count; i++) {
        const struct figure *figure = &fixture->figures.items[i];
        assert_true(figure->name[0] != '\0' && figure->unit[0] != '\0' && figure->method[0] != '\0');
        if (figure->status == FIGURE_ABSENT)
            assert_true(figure->note[0] != '\0');
        else
            assert_true(isfinite(figure->value));
        if (figure->has_interval)
            assert_true(figure->low <= figure->value && figure->value <= figure->high &&
                        figure->confidence >= 0.95 - 1e-12);
        assert_ptr_equal(model_figure(&fixture->figures, figure->stage_id, figure->case_id, figure->subject, figure->name),
                         figure);
        if (i == 0)
            continue;
        const struct figure *last = figure - 1;
        assert_true(last->stage_id < figure->stage_id ||
                    (last->stage_id == figure->stage_id &&
                     (last->case_id < figure->case_id ||
                      (last->case_id == figure->case_id &&
                       (strcmp(last->name, figure->name) < 0 ||
                        (strcmp(last->name, figure->name) == 0 && strcmp(last->subject, figure->subject) < 0))))));
    }
    assert_null(model_figure(&fixture->figures, 1, 1, "db", "flush_p50_ns"));
    assert_null(model_figure(&fixture->figures, 99, 0, "", "tps"));
}

static void test_only_good_trials_are_used(void **state)
{
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < fixture->figures.count; i++)
        for (size_t k = 0; k < fixture->figures.items[i].trial_count; k++) {
            const struct figure *figure = &fixture->figures.items[i];
            bool told_of_all = strncmp(figure->subject, "trial ", 6) == 0 || figure->stage_id == 0;
            const struct trial_row *trial = study_trial(&fixture->synth->study, figure->trials[k]);
            assert_true(told_of_all || trial->state == TRIAL_DONE);
        }
}

/* Each name must stand in docs/figures.md, in backticks. */
static void test_every_name_is_documented(void **state)
{
    const struct fixture *fixture = *state;
    struct pl_err err = {0};
    char *text;
    size_t length;
    assert_int_equal(pl_file_read("docs/figures.md", 1 << 20, fixture->arena, &text, &length, &err), PL_OK);
    for (size_t i = 0; i < fixture->figures.count; i++) {
        const char *name = pl_format(fixture->arena, "`%s`", fixture->figures.items[i].name);
        if (strstr(text, name) == NULL)
            fail_msg("docs/figures.md does not tell of %s", name);
    }
}

static void test_empty_study(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    struct pl_arena *arena = pl_arena_new();
    struct figures figures = model_figures(synth_study(synth), arena);
    assert_non_null(model_figure(&figures, 0, 0, "", "trials_done"));
    int64_t stage = synth_stage(synth, "clients", "?", "");
    synth_case(synth, stage, "");
    stage = synth_stage(synth, "unheard-of", "?", "");
    synth_case(synth, stage, "");
    figures = model_figures(synth_study(synth), arena);
    const struct figure *tps = model_figure(&figures, 1, 1, "", "tps");
    assert_int_equal(tps->status, FIGURE_ABSENT);
    assert_string_equal(tps->note, "no trial of this case was completed");
    for (size_t i = 0; i < figures.count; i++)
        if (figures.items[i].case_id != 0)
            assert_int_equal(figures.items[i].status, FIGURE_ABSENT);
    pl_arena_free(arena);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_sorted_unique_and_explained),
        figures_test(test_only_good_trials_are_used),
        figures_test(test_every_name_is_documented),
        cmocka_unit_test(test_empty_study),
    };
    return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
