/* Trials as transactions, and going on with a study. */
#include "store_room.h"
#include "study_same.h"

static void test_close_abandons(void **state)
{
    struct room *room = *state;
    begin(room, 1);
    reopen(room);
    assert_int_equal(load(room)->trial_count, 0);
}

static void test_the_final_row_replaces_the_first(void **state)
{
    struct room *room = *state;
    begin(room, 1);
    struct trial_row trial = trial_of(1);
    trial.state = TRIAL_FAILED;
    trial.why = "the server was killed";
    trial.measure_end_ns = 77;
    GEN_OK(store_trial_commit(room->store, &trial, &room->err), room->err);
    gen_assert_trial(&load(room)->trials[0], &trial);
}

static void test_facts_replace(void **state)
{
    struct room *room = *state;
    const struct fact before[] = {{"db", "version", "15.4", "", "SHOW"}, {"host", "memory", "8", "GiB", "/proc"}};
    const struct fact after = {"db", "version", "15.5", "v", "SELECT"};
    GEN_OK(store_put_facts(room->store, before, 2, &room->err), room->err);
    GEN_OK(store_put_facts(room->store, &after, 1, &room->err), room->err);
    struct study *study = load(room);
    assert_int_equal(study->fact_count, 2);
    const struct fact *fact = study_fact(study, "db", "version");
    assert_string_equal(fact->value, "15.5");
    assert_string_equal(fact->unit, "v");
    assert_string_equal(fact->how, "SELECT");
    assert_ptr_equal(fact, &study->facts[0]); /* it keeps its place */
    reopen(room);
    struct fact *facts = NULL;
    size_t count = 0;
    GEN_OK(store_facts(room->store, room->arena, &facts, &count, &room->err), room->err);
    assert_int_equal(count, 2);
    assert_string_equal(facts[0].value, "15.5");
    assert_string_equal(facts[1].scope, "host");
    assert_string_equal(facts[1].name, "memory");
    assert_string_equal(facts[1].unit, "GiB");
    assert_string_equal(facts[1].how, "/proc");
}

static void test_nothing_twice_and_nothing_half(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    assert_int_equal(store_put_head(room->store, &head, &err), PL_STORE);
    err = (struct pl_err){0};
    assert_int_equal(store_put_stage(room->store, &stage, &err), PL_STORE);
    const struct param params[] = {{"a", "1"}};
    struct case_row orphan = {.id = 2, .stage_id = 55, .label = "", .params = params, .param_count = 1};
    err = (struct pl_err){0};
    assert_int_equal(store_put_case(room->store, &orphan, &err), PL_STORE); /* there is no such stage */
    struct trial_row trial = trial_of(1);
    trial.case_id = 55;
    err = (struct pl_err){0};
    assert_int_equal(store_trial_begin(room->store, &trial, &err), PL_STORE);
    trial.case_id = 1;
    err = (struct pl_err){0};
    GEN_OK(store_trial_begin(room->store, &trial, &err), err); /* no trial was left open */
    GEN_OK(store_trial_commit(room->store, &trial, &err), err);
    struct study *study = load(room);
    assert_int_equal(study->case_count, 1);
    assert_int_equal(study->trial_count, 1);
}

static void test_going_on(void **state)
{
    struct room *room = *state;
    struct store_largest largest = {0};
    GEN_OK(store_largest_ids(room->store, &largest, &room->err), room->err);
    assert_int_equal(largest.trial_id, 0);
    assert_int_equal(largest.trial_ordinal, -1);
    declare(room, 4, "memory", "");
    static const int64_t ids[] = {3, 1, 8};
    for (size_t i = 0; i < 3; i++) {
        struct trial_row trial = {
            .id = ids[i], .case_id = 1, .iteration = 3 - (int)i, .ordinal = (int)i, .why = "", .event_loop = ""};
        GEN_OK(store_trial_begin(room->store, &trial, &room->err), room->err);
        GEN_OK(store_trial_commit(room->store, &trial, &room->err), room->err);
    }
    reopen(room);
    struct store_head got = {0};
    GEN_OK(store_get_head(room->store, room->arena, &got, &room->err), room->err);
    assert_string_equal(got.plan_text, head.plan_text);
    assert_true(got.seed == UINT64_MAX);
    assert_int_equal(got.started_unix_ns, 5);
    struct trial_row *trials = NULL;
    size_t count = 0;
    GEN_OK(store_trials(room->store, room->arena, &trials, &count, &room->err), room->err);
    assert_int_equal(count, 3);
    assert_int_equal(trials[0].id, 8); /* by iteration */
    assert_int_equal(trials[2].id, 3);
    GEN_OK(store_largest_ids(room->store, &largest, &room->err), room->err);
    assert_int_equal(largest.stage_id, 1);
    assert_int_equal(largest.case_id, 1);
    assert_int_equal(largest.trial_id, 8);
    assert_int_equal(largest.metric_id, 1);
    assert_int_equal(largest.trial_ordinal, 2);
    assert_int_equal(load(room)->ended_unix_ns, 0);
    GEN_OK(store_put_ended(room->store, 99, &room->err), room->err);
    assert_int_equal(load(room)->ended_unix_ns, 99);
}

static void test_a_study_without_a_head(void **state)
{
    struct room *room = *state;
    char *path = pl_format(room->arena, "%s/y.study", room->folder);
    struct store *store = NULL;
    struct study *study = NULL;
    struct store_head got;
    GEN_OK(store_create(path, &store, &room->err), room->err);
    struct pl_err err = {0};
    assert_int_equal(store_get_head(store, room->arena, &got, &err), PL_STORE);
    assert_non_null(strstr(err.what, "empty"));
    err = (struct pl_err){0};
    assert_int_equal(store_load(path, room->arena, &study, &err), PL_STORE);
    assert_non_null(strstr(err.what, "empty"));
    GEN_OK(store_close(store, &room->err), room->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_close_abandons), TEST(test_the_final_row_replaces_the_first),
        TEST(test_facts_replace),  TEST(test_nothing_twice_and_nothing_half),
        TEST(test_going_on),       TEST(test_a_study_without_a_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
