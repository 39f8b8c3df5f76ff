/* Look-ups in a study. */
#include "record/study.h"

#include <string.h>

#include "base/rng.h"
#include "support.h"

static const struct fact facts[] = {
    {"host", "kernel", "6.1", "", "uname"}, {"db", "kernel", "none", "", ""}, {"db", "version", "15.4", "", "SHOW"}};
static const struct stage_row stages[] = {{.id = 3, .name = "idle"}, {.id = 9, .name = "load"}};
static const struct case_row cases[] = {{.id = 5, .stage_id = 9}, {.id = 4, .stage_id = 3}};
static const struct trial_row trials[] = {{.id = 8, .ordinal = 0}, {.id = 2, .ordinal = 1}};
static const struct metric metrics[] = {{.id = 1, .source = "host", .name = "cpu_ns"},
                                        {.id = 2, .source = "db", .name = "cpu_ns"}};

static void test_lookups_find_what_is_there(void **state)
{
    (void)state;
    struct study study = {.facts = facts,
                          .fact_count = 3,
                          .stages = stages,
                          .stage_count = 2,
                          .cases = cases,
                          .case_count = 2,
                          .trials = trials,
                          .trial_count = 2,
                          .metrics = metrics,
                          .metric_count = 2};
    assert_ptr_equal(study_fact(&study, "db", "kernel"), &facts[1]);
    assert_ptr_equal(study_fact(&study, "db", "version"), &facts[2]);
    assert_null(study_fact(&study, "host", "version"));
    assert_ptr_equal(study_stage(&study, 9), &stages[1]);
    assert_null(study_stage(&study, 1));
    assert_ptr_equal(study_case(&study, 4), &cases[1]);
    assert_null(study_case(&study, 0));
    assert_ptr_equal(study_trial(&study, 2), &trials[1]);
    assert_null(study_trial(&study, 1));
    assert_ptr_equal(study_metric(&study, "db", "cpu_ns"), &metrics[1]);
    assert_null(study_metric(&study, "db", "memory"));
}

static void test_lookups_in_an_empty_study(void **state)
{
    (void)state;
    struct study study = {0};
    size_t count = 7;
    assert_null(study_fact(&study, "", ""));
    assert_null(study_stage(&study, 0));
    assert_null(study_metric(&study, "", ""));
    assert_null(study_samples(&study, 1, 1, &count));
    assert_int_equal(count, 0);
    assert_null(param_value(NULL, 0, "rate"));
}

static void test_param_value(void **state)
{
    (void)state;
    const struct param params[] = {{"clients", "16"}, {"script", "tpcb-like"}};
    assert_string_equal(param_value(params, 2, "script"), "tpcb-like");
    assert_null(param_value(params, 1, "script"));
    assert_null(param_value(params, 2, "scrip"));
}

/* Against a count by hand, with gaps among trials and metrics. */
static void test_samples_are_found_by_trial_and_metric(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, PL_RNG_TEST, 0);
    for (int round = 0; round < 50; round++) {
        struct sample samples[600];
        size_t counts[8][8] = {{0}}, first[8][8] = {{0}}, total = 0;
        for (int trial = 1; trial < 8; trial += 2) {
            for (int metric = 1; metric < 8; metric++) {
                counts[trial][metric] = (size_t)pl_rng_range(&rng, 0, 9);
                first[trial][metric] = total;
                for (size_t i = 0; i < counts[trial][metric]; i++)
                    samples[total++] = (struct sample){.trial_id = trial, .metric_id = metric, .t_ns = (int64_t)i};
            }
        }
        struct study study = {.samples = samples, .sample_count = total};
        for (int trial = 0; trial < 8; trial++) {
            for (int metric = 0; metric < 8; metric++) {
                size_t count = 99;
                const struct sample *found = study_samples(&study, trial, metric, &count);
                assert_int_equal(count, counts[trial][metric]);
                if (count > 0)
                    assert_ptr_equal(found, &samples[first[trial][metric]]);
                else
                    assert_null(found);
            }
        }
    }
}

static void test_param_scope(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct param params[] = {
        {"clients", "4"}, {"db.settings", "custom"}, {"dbx.version", "15"}, {"db.data.scale", "10"}, {"db", "no"}};
    const struct param turned[] = {{"db.data.scale", "10"}, {"dbx.version", "15"}, {"db.settings", "custom"}};
    assert_string_equal(param_scope(params, 5, "db", arena), "db data.scale=10 settings=custom");
    assert_string_equal(param_scope(turned, 3, "db", arena), "db data.scale=10 settings=custom");
    assert_string_equal(param_scope(params, 5, "dbx", arena), "dbx version=15");
    static const char other[] = "other";
    assert_ptr_equal(param_scope(params, 5, other, arena), other);
    assert_ptr_equal(param_scope(NULL, 0, other, arena), other);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups_find_what_is_there),
        cmocka_unit_test(test_lookups_in_an_empty_study),
        cmocka_unit_test(test_param_value),
        cmocka_unit_test(test_param_scope),
        cmocka_unit_test(test_samples_are_found_by_trial_and_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
