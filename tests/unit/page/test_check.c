/* A page that would state what does not hold is not written. */
#include "support.h"

#include "pages.h"

struct fixture {
    struct synth *synth;
    struct pl_arena *arena;
    struct figures figures;
};

static int setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->synth = full_study();
    fixture->arena = pl_arena_new();
    fixture->figures = model_figures(&fixture->synth->study, fixture->arena);
    *state = fixture;
    return 0;
}

static int setup_compared(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->synth = compared_study();
    fixture->arena = pl_arena_new();
    fixture->figures = model_figures(&fixture->synth->study, fixture->arena);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    pl_arena_free(fixture->arena);
    synth_free(fixture->synth);
    pl_free(fixture);
    return 0;
}

static enum pl_code write_page(const struct fixture *fixture, struct pl_err *err)
{
    struct pl_buf out;
    pl_buf_init(&out, PL_MAX_PAGE_BYTES);
    enum pl_code code = page_write(&fixture->synth->study, &fixture->figures, PAGE_MARKDOWN, &out, err);
    if (code != PL_OK)
        assert_int_equal(out.len, 0); /* nothing of a refused page */
    pl_buf_release(&out);
    return code;
}

/* Changes the first figure of that name of a kind of stage, by a factor and a term. */
static void tamper(struct fixture *fixture, const char *kind, const char *name, double factor, double term)
{
    struct figure *items = pl_alloc(fixture->arena, fixture->figures.count, sizeof *items);
    memcpy(items, fixture->figures.items, fixture->figures.count * sizeof *items);
    for (size_t i = 0; i < fixture->figures.count; i++) {
        const struct stage_row *stage = study_stage(&fixture->synth->study, items[i].stage_id);
        if (strcmp(items[i].name, name) != 0 || items[i].status == FIGURE_ABSENT ||
            strcmp(stage == NULL ? "" : stage->kind, kind) != 0)
            continue;
        items[i].value = items[i].value * factor + term;
        items[i].has_interval = false;
        fixture->figures.items = items;
        return;
    }
    fail_msg("no %s in %s", name, kind);
}

static void test_true_page_is_written(void **state)
{
    struct pl_err err = {0};
    assert_int_equal(write_page(*state, &err), PL_OK);
    assert_int_equal(err.code, PL_OK);
}

static void test_each_derived_figure_is_recomputed(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *kind, *name;
        double factor, term;
    } lies[] = {
        {"rate", "due", 1, 1},
        {"rate", "failed", 1, -1},
        {"rate", "all_completed", 1, 1},
        {"rate", "never_started", 1, 1},
        {"clients", "tps", 1.0001, 0},
        {"rate", "achieved_per_s", 1.0001, 0},
        {"rate", "wal_bytes_per_operation", 1.0001, 0},
        {"rate", "wal_bytes", 1.0001, 0},
        {"clients", "commits_per_operation", 1.0001, 0},
        {"clients", "cpu_ns_per_operation", 1.0001, 0},
        {"storage", "database_bytes_per_operation", 1.0001, 0},
        {"storage", "table_bytes_per_operation", 1.0001, 1},
        {"footprint", "memory_bytes", 1.0001, 0},
        {"footprint", "memory_anon_bytes", 1.0001, 0},
        {"clients", "concurrency", 1.2, 0},
        {"clients", "response_p95_ns", 0.1, 0},
        {"", "trials_done", 1, 1},
    };
    const struct figure *truth = fixture->figures.items;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct pl_err err = {0};
        fixture->figures.items = truth;
        tamper(fixture, lies[i].kind, lies[i].name, lies[i].factor, lies[i].term);
        if (write_page(fixture, &err) != PL_BALANCE)
            fail_msg("a wrong %s of %s went through", lies[i].name, lies[i].kind);
        assert_true(err.what[0] != '\0');
    }
}

static void test_comparisons_are_recomputed(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *kind, *name;
        double factor, term;
    } lies[] = {
        {"clients", "tps_change_frac", 1.001, 0},
        {"clients", "tps_change_corrected_p", 1.001, 0},
        {"clients", "tps_change_corrected_p", 0.5, 0},
        {"clients", "tps_change_p", 0, 0.2}, /* its interval is all on one side */
        {"", "comparisons", 1, 1},
    };
    const struct figure *truth = fixture->figures.items;
    struct pl_err none = {0};
    assert_int_equal(write_page(fixture, &none), PL_OK);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct pl_err err = {0};
        fixture->figures.items = truth;
        tamper(fixture, lies[i].kind, lies[i].name, lies[i].factor, lies[i].term);
        if (write_page(fixture, &err) != PL_BALANCE)
            fail_msg("a wrong %s went through", lies[i].name);
    }
}

static void test_interval_must_hold_its_value(void **state)
{
    struct fixture *fixture = *state;
    struct pl_err err = {0};
    struct figure *items = pl_alloc(fixture->arena, fixture->figures.count, sizeof *items);
    memcpy(items, fixture->figures.items, fixture->figures.count * sizeof *items);
    for (size_t i = 0; i < fixture->figures.count; i++)
        if (items[i].has_interval && strcmp(items[i].name, "tps_with_connects") == 0)
            items[i].low = items[i].value * 1.01;
    fixture->figures.items = items;
    assert_int_equal(write_page(fixture, &err), PL_BALANCE);
    assert_non_null(strstr(err.what, "tps_with_connects"));
    assert_non_null(strstr(err.what, "script=select-only clients=1"));
}

/* A load that loses time between operations: twice the clients for the same work. */
static void test_littles_law_on_the_study(void **state)
{
    struct fixture *fixture = *state;
    struct pl_err err = {0};
    for (size_t i = 0; i < fixture->synth->study.trial_count; i++)
        fixture->synth->trials[i].clients *= 2;
    fixture->figures = model_figures(&fixture->synth->study, fixture->arena);
    assert_int_equal(write_page(fixture, &err), PL_BALANCE);
    assert_non_null(strstr(err.what, "Little"));
}

/* Four clients, a window of one second of which they spend one half on operations that were due in it; before that one
 * operation of each took `crossing_ms`, and ended in the window. `late_ms`: one that was due in it and ended after it. */
static enum pl_code write_crossed(int64_t crossing_ms, int64_t late_ms, struct pl_err *err)
{
    enum { CLIENTS = 4 };
    struct fixture fixture = {.synth = synth_new(), .arena = pl_arena_new()};
    struct synth *synth = fixture.synth;
    int64_t stage = synth_stage(synth, "clients", "?", "script=x clients=4 for=1s warm_up=1s");
    struct trial_row *trial = synth_trial(synth, synth_case(synth, stage, ""), 0, 1, CLIENTS);
    const struct {
        enum phase during, due_in;
        int64_t count, took_ms;
    } parts[] = {{PHASE_MEASURE, PHASE_WARM_UP, CLIENTS, crossing_ms},
                 {PHASE_MEASURE, PHASE_MEASURE, 1000, 2},
                 {PHASE_DRAIN, PHASE_MEASURE, late_ms > 0 ? 1 : 0, late_ms}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct slice *slice = synth_slice(synth, trial, parts[i].during, parts[i].due_in, -1);
        struct hist *response = synth_hist(synth);
        for (int64_t k = 0; k < parts[i].count; k++)
            hist_record(response, parts[i].took_ms * PL_NS_PER_MS);
        slice->response = response;
        slice->ledger = (struct ledger){.due = parts[i].count, .completed = parts[i].count};
    }
    fixture.figures = model_figures(synth_study(synth), fixture.arena);
    enum pl_code code = write_page(&fixture, err);
    pl_arena_free(fixture.arena);
    synth_free(synth);
    return code;
}

/* A machine that stands still while the window begins: what was under way then took more of it than any later operation. */
static void test_littles_law_where_operations_cross_the_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t crossing_ms, late_ms;
        bool holds;
    } cases[] = {{600, 0, true}, {500, 0, true},    {499, 0, false},      {10, 0, false},
                 {499, 4, true}, {600, 2500, true}, {600, 3000000, true}, {480, 3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pl_err err = {0};
        enum pl_code code = write_crossed(cases[i].crossing_ms, cases[i].late_ms, &err);
        if ((code == PL_OK) != cases[i].holds)
            fail_msg("case %zu: %s", i, err.what);
        if (code != PL_OK)
            assert_non_null(strstr(err.what, "Little"));
    }
}

/* Clients that are done after so many operations each may be idle at the end, but never do more than they can. */
static void test_littles_law_of_counted_clients(void **state)
{
    struct fixture *fixture = *state;
    struct synth *synth = fixture->synth;
    for (size_t i = 0; i < synth->study.stage_count; i++) {
        struct stage_row *stage = &synth->stages[i];
        struct param *params = pl_alloc(fixture->arena, stage->param_count + 1, sizeof *params);
        memcpy(params, stage->params, stage->param_count * sizeof *params);
        params[stage->param_count] = (struct param){"transactions", "1000"};
        stage->params = params;
        stage->param_count++;
    }
    struct pl_err err = {0};
    for (size_t i = 0; i < synth->study.trial_count; i++)
        synth->trials[i].clients *= 2; /* half of them were idle */
    fixture->figures = model_figures(&synth->study, fixture->arena);
    assert_int_equal(write_page(fixture, &err), PL_OK);
    for (size_t i = 0; i < synth->study.trial_count; i++)
        synth->trials[i].clients = synth->trials[i].clients > 0 ? 1 : 0; /* where four worked */
    fixture->figures = model_figures(&synth->study, fixture->arena);
    assert_int_equal(write_page(fixture, &err), PL_BALANCE);
    assert_non_null(strstr(err.what, "Little"));
}

static void test_a_page_has_a_largest_size(void **state)
{
    struct fixture *fixture = *state;
    struct pl_err err = {0};
    struct pl_buf out;
    pl_buf_init(&out, 1000);
    assert_int_equal(page_write(&fixture->synth->study, &fixture->figures, PAGE_HTML, &out, &err), PL_LIMIT);
    pl_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_true_page_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_derived_figure_is_recomputed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_comparisons_are_recomputed, setup_compared, teardown),
        cmocka_unit_test(test_littles_law_where_operations_cross_the_ends),
        cmocka_unit_test_setup_teardown(test_littles_law_of_counted_clients, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interval_must_hold_its_value, setup, teardown),
        cmocka_unit_test_setup_teardown(test_littles_law_on_the_study, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_page_has_a_largest_size, setup, teardown),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
