/* Every write, sync and truncate of a whole study fails once, or all from one on, or is the last thing that the process
 * does. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "fault_vfs.h"
#include "study_same.h"

struct scene {
    struct pl_arena *arena;
    char *folder, *path;
    struct study *made;
};

static struct scene scene_new(uint64_t seed)
{
    struct scene scene = {.arena = pl_arena_new()};
    struct pl_rng rng;
    pl_rng_init(&rng, seed, PL_RNG_TEST, 0);
    scene.folder = gen_folder(scene.arena);
    scene.path = pl_format(scene.arena, "%s/x.study", scene.folder);
    scene.made =
        gen_study(scene.arena, &rng,
                  &(struct gen_size){.stages = 1, .cases = 1, .iterations = 2, .slices = 3, .metrics = 2, .samples = 4});
    return scene;
}

static void scene_free(struct scene *scene)
{
    store_release_study(scene->made);
    gen_folder_remove(scene->arena, scene->folder);
    pl_arena_free(scene->arena);
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static void files_remove(struct scene *scene)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < 4; i++)
        unlink(pl_format(scene->arena, "%s%s", scene->path, endings[i]));
}

struct outcome {
    bool created, failed, close_failed;
    int commits;
};

static void assert_told(const struct pl_err *err)
{
    assert_int_equal(err->code, PL_STORE);
    assert_true(err->what[0] != '\0');
    assert_non_null(strstr(pl_err_text(err, (char[1200]){0}, 1200), "x.study"));
}

/* Writes the study until the first error, as the conductor does: an error ends the run, and the store is closed. */
static struct outcome scene_write(struct scene *scene)
{
    struct outcome outcome = {0};
    struct pl_err err = {0}, close_err = {0};
    struct store *store = NULL;
    if (store_create(scene->path, &store, &err) != PL_OK) {
        assert_told(&err);
        return (struct outcome){.failed = true};
    }
    outcome.created = true;
    outcome.failed = gen_write(scene->made, store, &outcome.commits, &err) != PL_OK;
    if (outcome.failed)
        assert_told(&err);
    outcome.close_failed = store_close(store, &close_err) != PL_OK;
    if (outcome.close_failed)
        assert_told(&close_err);
    assert_int_equal(close_err.code != PL_OK, outcome.close_failed);
    return outcome;
}

/* Loads what is there; -1 when the study has no head yet. */
static int stored_trials(struct scene *scene)
{
    struct pl_err err = {0};
    struct study *loaded = NULL;
    if (store_load(scene->path, scene->arena, &loaded, &err) != PL_OK) {
        assert_int_equal(err.code, PL_STORE);
        assert_non_null(strstr(err.what, "its run ended before"));
        return -1;
    }
    int trials = (int)loaded->trial_count;
    /* whole ones only, and what was written before them; facts and stages are there as soon as one trial is */
    gen_assert_trials(scene->made, loaded, loaded->trial_count);
    if (trials > 0)
        gen_assert_plan(scene->made, loaded);
    store_release_study(loaded);
    return trials;
}

/* After the fault is over a run can go on with the file. */
static void assert_can_go_on(struct scene *scene)
{
    struct pl_err err = {0};
    struct store *store = NULL;
    struct trial_row *trials = NULL;
    size_t count = 0;
    GEN_OK(store_open(scene->path, &store, &err), err);
    GEN_OK(store_trials(store, scene->arena, &trials, &count, &err), err);
    GEN_OK(store_close(store, &err), err);
    assert_false(exists(pl_format(scene->arena, "%s-wal", scene->path)));
}

static void check_fault(struct scene *scene, enum fault_action action, int at, int rc)
{
    fault_set(action, at, rc);
    struct outcome outcome = scene_write(scene);
    bool failed = fault.failed, failed_sync = fault.failed_sync;
    fault_set(FAULT_NONE, 0, 0);
    if (!outcome.created) {
        assert_true(failed);
        assert_false(exists(scene->path)); /* no husk */
        return;
    }
    int trials = stored_trials(scene);
    int known = trials < 0 ? 0 : trials;
    if (action == FAULT_FAIL_ON && failed_sync && outcome.failed)
        /* what was written before a sync that failed is in the log, and no later write could take it back */
        assert_in_range(known, outcome.commits, outcome.commits + 1);
    else
        assert_int_equal(known, outcome.commits);
    assert_can_go_on(scene);
    assert_int_equal(stored_trials(scene), trials);
    files_remove(scene);
}

static int count_calls(struct scene *scene)
{
    fault_set(FAULT_NONE, 0, 0);
    struct outcome outcome = scene_write(scene);
    assert_false(outcome.failed);
    assert_false(outcome.close_failed);
    assert_int_equal(outcome.commits, (int)scene->made->trial_count);
    assert_int_equal(stored_trials(scene), outcome.commits);
    int calls = fault.calls;
    files_remove(scene);
    return calls;
}

static void check_all(uint64_t seed, enum fault_action action, int rc)
{
    struct scene scene = scene_new(seed);
    int calls = count_calls(&scene);
    assert_true(calls > 40);
    for (int at = 1; at <= calls; at++)
        check_fault(&scene, action, at, rc);
    scene_free(&scene);
}

static void test_one_write_fails_on_a_full_disk(void **state)
{
    (void)state;
    check_all(1, FAULT_FAIL_ONCE, SQLITE_FULL);
}

static void test_one_write_fails_on_a_bad_disk(void **state)
{
    (void)state;
    check_all(2, FAULT_FAIL_ONCE, SQLITE_IOERR_WRITE);
}

static void test_the_disk_stays_full(void **state)
{
    (void)state;
    check_all(3, FAULT_FAIL_ON, SQLITE_FULL);
}

static void test_the_disk_stays_bad(void **state)
{
    (void)state;
    check_all(4, FAULT_FAIL_ON, SQLITE_IOERR_WRITE);
}

/* The child says each commit through a pipe, one byte; returns how many it said before it ended. */
static int child_commits(struct scene *scene, int at)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = gen_fork();
    if (child == 0) {
        struct pl_err err = {0};
        struct store *store = NULL;
        fault_set(FAULT_EXIT, at, 0);
        bool good = store_create(scene->path, &store, &err) == PL_OK && gen_write_plan(scene->made, store, &err) == PL_OK &&
                    gen_write_metrics(scene->made, store, &err) == PL_OK;
        for (size_t i = 0; good && i < scene->made->trial_count; i++) {
            good = gen_write_trial(scene->made, &scene->made->trials[i], store, &err) == PL_OK &&
                   store_trial_commit(store, &scene->made->trials[i], &err) == PL_OK && write(ends[1], "c", 1) == 1;
        }
        good = good && store_close(store, &err) == PL_OK;
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    int commits = 0, status = 0;
    for (char byte; read(ends[0], &byte, 1) == 1;)
        commits++;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 1);
    return commits;
}

static void test_the_process_ends_at_any_write(void **state)
{
    (void)state;
    struct scene scene = scene_new(5);
    int calls = count_calls(&scene), husks = 0;
    for (int at = 1; at <= calls; at++) {
        int commits = child_commits(&scene, at);
        struct pl_err err = {0};
        struct study *loaded = NULL;
        if (store_load(scene.path, scene.arena, &loaded, &err) != PL_OK) {
            /* it ended while the file was made, or before the head was in it */
            assert_int_equal(err.code, PL_STORE);
            assert_int_equal(commits, 0);
            husks++;
        } else {
            assert_in_range(loaded->trial_count, commits, commits + 1);
            gen_assert_trials(scene.made, loaded, loaded->trial_count);
            store_release_study(loaded);
            assert_can_go_on(&scene);
        }
        files_remove(&scene);
    }
    assert_in_range(husks, 1, calls / 2);
    scene_free(&scene);
}

/* A trial that was said to be stored has left the caches of the system. */
static void test_each_commit_is_synced(void **state)
{
    (void)state;
    struct scene scene = scene_new(6);
    struct pl_err err = {0};
    struct store *store = NULL;
    fault_set(FAULT_NONE, 0, 0);
    GEN_OK(store_create(scene.path, &store, &err), err);
    GEN_OK(gen_write_plan(scene.made, store, &err), err);
    GEN_OK(gen_write_metrics(scene.made, store, &err), err);
    for (size_t i = 0; i < scene.made->trial_count; i++) {
        GEN_OK(gen_write_trial(scene.made, &scene.made->trials[i], store, &err), err);
        int before = fault.syncs;
        GEN_OK(store_trial_commit(store, &scene.made->trials[i], &err), err);
        assert_true(fault.syncs > before);
    }
    GEN_OK(store_close(store, &err), err);
    scene_free(&scene);
}

int main(void)
{
    fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_write_fails_on_a_full_disk),
        cmocka_unit_test(test_one_write_fails_on_a_bad_disk),
        cmocka_unit_test(test_the_disk_stays_full),
        cmocka_unit_test(test_the_disk_stays_bad),
        cmocka_unit_test(test_the_process_ends_at_any_write),
        cmocka_unit_test(test_each_commit_is_synced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
