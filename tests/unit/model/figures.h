/* The figures of the full study, and what tests ask of them. */
#ifndef PL_TESTS_FIGURES_H
#define PL_TESTS_FIGURES_H

#include "support.h"

#include "full_study.h"
#include "model/model.h"

#define MIB 1048576.0

struct fixture {
    struct synth *synth;
    struct pl_arena *arena;
    struct figures figures;
};

static inline int fixture_setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->synth = full_study();
    fixture->arena = pl_arena_new();
    fixture->figures = model_figures(&fixture->synth->study, fixture->arena);
    *state = fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    pl_arena_free(fixture->arena);
    synth_free(fixture->synth);
    pl_free(fixture);
    return 0;
}

static inline int64_t stage_of(const struct fixture *fixture, const char *kind)
{
    for (size_t i = 0; i < fixture->synth->study.stage_count; i++)
        if (strcmp(fixture->synth->study.stages[i].kind, kind) == 0)
            return fixture->synth->study.stages[i].id;
    fail_msg("no stage %s", kind);
    return 0;
}

static inline int64_t case_of(const struct fixture *fixture, const char *kind, const char *label)
{
    for (size_t i = 0; i < fixture->synth->study.case_count; i++)
        if (fixture->synth->study.cases[i].stage_id == stage_of(fixture, kind) &&
            strcmp(fixture->synth->study.cases[i].label, label) == 0)
            return fixture->synth->study.cases[i].id;
    fail_msg("no case %s", label);
    return 0;
}

static inline const struct figure *find(const struct fixture *fixture, const char *kind, const char *label,
                                        const char *subject, const char *name)
{
    const struct figure *figure =
        model_figure(&fixture->figures, stage_of(fixture, kind), case_of(fixture, kind, label), subject, name);
    if (figure == NULL)
        fail_msg("no figure %s of \"%s\" in %s %s", name, subject, kind, label);
    return figure;
}

static inline void assert_figure(const struct fixture *fixture, const char *kind, const char *label, const char *subject,
                                 const char *name, double expected)
{
    const struct figure *figure = find(fixture, kind, label, subject, name);
    if (figure->status == FIGURE_ABSENT)
        fail_msg("%s of \"%s\" is absent: %s", name, subject, figure->note);
    if (fabs(figure->value - expected) > 1e-9 * fabs(expected) + 1e-12)
        fail_msg("%s of \"%s\" is %.12g, expected %.12g", name, subject, figure->value, expected);
    assert_true(figure->n > 0);
    assert_true(figure->method[0] != '\0');
}

static inline void assert_absent(const struct fixture *fixture, const char *kind, const char *label, const char *subject,
                                 const char *name, const char *why)
{
    const struct figure *figure = find(fixture, kind, label, subject, name);
    assert_int_equal(figure->status, FIGURE_ABSENT);
    if (strstr(figure->note, why) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", name, figure->note, why);
}

#define figures_test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif
