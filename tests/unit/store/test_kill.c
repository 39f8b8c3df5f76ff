/* A run that is killed at any moment leaves whole trials; a study that is being written can be read. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "study_same.h"

static const struct gen_size size = {.stages = 1, .cases = 4, .iterations = 10, .slices = 4, .metrics = 3, .samples = 10};

/* Writes until it is killed; says that the head is in, then each commit, through the pipe. */
static pid_t writer_start(const struct study *made, const char *path, int *ret_pipe)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = gen_fork();
    if (child != 0) {
        close(ends[1]);
        *ret_pipe = ends[0];
        return child;
    }
    struct pl_err err = {0};
    struct store *store = NULL;
    bool good = store_create(path, &store, &err) == PL_OK && gen_write_plan(made, store, &err) == PL_OK &&
                gen_write_metrics(made, store, &err) == PL_OK && write(ends[1], "h", 1) == 1;
    for (size_t i = 0; good && i < made->trial_count; i++)
        good = gen_write_trial(made, &made->trials[i], store, &err) == PL_OK &&
               store_trial_commit(store, &made->trials[i], &err) == PL_OK && write(ends[1], "c", 1) == 1;
    good = good && store_close(store, &err) == PL_OK;
    _exit(good ? 0 : 1);
}

static int writer_wait(pid_t child, int pipe_end)
{
    int said = 0, status = 0;
    for (char byte; read(pipe_end, &byte, 1) == 1;)
        said++;
    close(pipe_end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return said;
}

/* 0 when there is no such file: a study whose log is gone but which was killed before it said so gets an empty one from
 * whoever opens it next, and one that is being read when it is closed keeps an empty one. */
static int64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : 0;
}

static void test_killed_at_random_moments(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 9, PL_RNG_TEST, 0);
    struct pl_arena *arena = pl_arena_new();
    char *folder = gen_folder(arena), *path = pl_format(arena, "%s/x.study", folder);
    struct study *made = gen_study(arena, &rng, &size);
    for (int round = 0; round < 20; round++) {
        int pipe_end;
        pid_t child = writer_start(made, path, &pipe_end);
        char byte;
        assert_int_equal(read(pipe_end, &byte, 1), 1);
        pl_clock_sleep_until(pl_clock_ns() + pl_rng_range(&rng, 0, 60) * PL_NS_PER_MS);
        kill(child, SIGKILL);
        int commits = writer_wait(child, pipe_end);
        struct pl_err err = {0};
        struct study *loaded = NULL;
        int64_t file_bytes = size_of(path), log_bytes = size_of(pl_format(arena, "%s-wal", path));
        GEN_OK(store_load(path, arena, &loaded, &err), err);
        /* who reads changes nothing */
        assert_int_equal(size_of(path), file_bytes);
        assert_int_equal(size_of(pl_format(arena, "%s-wal", path)), log_bytes);
        assert_in_range(loaded->trial_count, commits, commits + 1); /* killed between the commit and its word */
        gen_assert_plan(made, loaded);
        gen_assert_trials(made, loaded, loaded->trial_count);
        /* and the rest can be added: the study becomes the one that was to be written */
        struct store *store = NULL;
        GEN_OK(store_open(path, &store, &err), err);
        GEN_OK(gen_write_metrics(made, store, &err), err);
        for (size_t i = loaded->trial_count; i < made->trial_count; i++) {
            GEN_OK(gen_write_trial(made, &made->trials[i], store, &err), err);
            GEN_OK(store_trial_commit(store, &made->trials[i], &err), err);
        }
        GEN_OK(store_put_ended(store, made->ended_unix_ns, &err), err);
        GEN_OK(store_close(store, &err), err);
        store_release_study(loaded);
        GEN_OK(store_load(path, arena, &loaded, &err), err);
        gen_assert_study(made, loaded);
        store_release_study(loaded);
        gen_folder_remove(arena, folder);
        folder = gen_folder(arena);
        path = pl_format(arena, "%s/x.study", folder);
    }
    store_release_study(made);
    gen_folder_remove(arena, folder);
    pl_arena_free(arena);
}

static void test_read_while_it_is_written(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 10, PL_RNG_TEST, 0);
    struct pl_arena *arena = pl_arena_new();
    char *folder = gen_folder(arena), *path = pl_format(arena, "%s/x.study", folder);
    struct study *made = gen_study(arena, &rng, &size), *loaded = NULL;
    int pipe_end, said = 0;
    pid_t child = writer_start(made, path, &pipe_end);
    for (char byte; read(pipe_end, &byte, 1) == 1;) {
        struct pl_err err = {0};
        struct pl_arena *reading = pl_arena_new();
        said++;
        GEN_OK(store_load(path, reading, &loaded, &err), err);
        assert_in_range(loaded->trial_count, said - 1, made->trial_count); /* at least what was said to be committed */
        gen_assert_trials(made, loaded, loaded->trial_count);
        store_release_study(loaded);
        pl_arena_free(reading);
    }
    assert_int_equal(said, made->trial_count + 1);
    writer_wait(child, pipe_end);
    assert_int_equal(size_of(pl_format(arena, "%s-wal", path)), 0);
    struct pl_err err = {0};
    GEN_OK(store_load(path, arena, &loaded, &err), err);
    assert_int_equal(loaded->trial_count, made->trial_count);
    gen_assert_trials(made, loaded, loaded->trial_count);
    store_release_study(loaded);
    store_release_study(made);
    gen_folder_remove(arena, folder);
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_random_moments),
        cmocka_unit_test(test_read_while_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
