/* What goes in comes out: random studies, to the last bit. */
#include <sqlite3.h>
#include <sys/stat.h>

#include "study_same.h"

static void round_trip(struct pl_rng *rng, const struct gen_size *size)
{
    struct pl_arena *arena = pl_arena_new();
    char *folder = gen_folder(arena), *path = pl_format(arena, "%s/x.study", folder);
    struct study *made = gen_study(arena, rng, size), *loaded = NULL;
    struct pl_err err = {0};
    struct store *store = NULL;
    int commits = 0;
    GEN_OK(store_create(path, &store, &err), err);
    GEN_OK(gen_write(made, store, &commits, &err), err);
    GEN_OK(store_close(store, &err), err);
    struct stat status;
    assert_int_not_equal(stat(pl_format(arena, "%s-wal", path), &status), 0);
    assert_int_not_equal(stat(pl_format(arena, "%s-shm", path), &status), 0);
    GEN_OK(store_load(path, arena, &loaded, &err), err);
    gen_assert_study(made, loaded);
    /* reading leaves nothing beside the file */
    assert_int_not_equal(stat(pl_format(arena, "%s-wal", path), &status), 0);
    store_release_study(loaded);
    store_release_study(made);
    gen_folder_remove(arena, folder);
    pl_arena_free(arena);
}

static void test_random_studies(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_TEST, 0);
    for (int round = 0; round < 12; round++) {
        struct gen_size size = {.stages = (int)pl_rng_range(&rng, 1, 3),
                                .cases = (int)pl_rng_range(&rng, 1, 3),
                                .iterations = (int)pl_rng_range(&rng, 1, 3),
                                .slices = (int)pl_rng_range(&rng, 1, 8),
                                .metrics = (int)pl_rng_range(&rng, 1, 8),
                                .samples = (int)pl_rng_range(&rng, 1, 20)};
        round_trip(&rng, &size);
    }
}

static void test_a_study_without_trials(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 8, PL_RNG_TEST, 0);
    round_trip(&rng, &(struct gen_size){.stages = 0});
    round_trip(&rng, &(struct gen_size){.stages = 2, .cases = 2, .iterations = 0, .metrics = 3});
}

/* A run of any length takes the same memory: SQLite's, and the store's own. */
static int64_t memory_of_a_trial(const char *path, int slices)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct store *store = NULL;
    GEN_OK(store_create(path, &store, &err), err);
    struct stage_row stage = {.id = 1, .kind = "rate", .name = "rate", .question = ""};
    struct case_row row = {.id = 1, .stage_id = 1, .label = ""};
    struct trial_row trial = {.id = 1, .case_id = 1, .why = "", .event_loop = "epoll"};
    struct metric metric = {.id = 1, .source = "db", .name = "cpu_ns", .unit = "ns", .how = ""};
    struct hist hist;
    hist_init_latency(&hist);
    for (int64_t value = 1000; value < 100000000; value += value / 50)
        hist_record(&hist, value);
    GEN_OK(store_put_stage(store, &stage, &err), err);
    GEN_OK(store_put_case(store, &row, &err), err);
    struct sink sink = store_sink(store);
    GEN_OK(sink.metric(sink.ctx, &metric, &err), err);
    GEN_OK(store_trial_begin(store, &trial, &err), err);
    sqlite3_memory_highwater(1);
    for (int64_t i = 0; i < slices; i++) {
        struct slice slice = {
            .trial_id = 1, .start_ns = i, .end_ns = i + 1, .step = -1, .response = &hist, .service = &hist};
        struct sample sample = {.trial_id = 1, .metric_id = 1, .t_ns = i, .value = (double)i};
        GEN_OK(sink.slice(sink.ctx, &slice, &err), err);
        for (int s = 0; s < 20; s++)
            GEN_OK(sink.sample(sink.ctx, &sample, &err), err);
    }
    int64_t most = sqlite3_memory_highwater(0);
    GEN_OK(store_trial_commit(store, &trial, &err), err);
    GEN_OK(store_close(store, &err), err);
    hist_release(&hist);
    pl_arena_free(arena);
    return most;
}

static void test_memory_does_not_grow_with_the_run(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    char *folder = gen_folder(arena);
    int64_t few = memory_of_a_trial(pl_format(arena, "%s/x.study", folder), 1000);
    int64_t many = memory_of_a_trial(pl_format(arena, "%s/y.study", folder), 4000);
    assert_true(few > 0);
    assert_true(many < few + few / 10);
    gen_folder_remove(arena, folder);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_studies),
        cmocka_unit_test(test_a_study_without_trials),
        cmocka_unit_test(test_memory_does_not_grow_with_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
