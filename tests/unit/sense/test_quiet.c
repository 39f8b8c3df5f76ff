/* The sample of smaps_rollup: what it costs is reckoned before, the seed decides who is in it. */
#include "pass.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 12 };

static struct test_pass test;
static pid_t children[CHILDREN];

/* Child i has i MiB of its own. */
static void child_main(int i, int say)
{
    size_t bytes = (size_t)i << 20;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (bytes > 0)
        test_touch(MAP_PRIVATE, bytes);
    if (write(say, "x", 1) != 1)
        _exit(91);
    for (;;)
        pause();
}

static int setup(void **state)
{
    (void)state;
    int said[2];
    char byte;
    test_pass_init(&test);
    assert_int_equal(pipe(said), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0)
            child_main(i, said[1]);
        assert_int_equal(read(said[0], &byte, 1), 1);
    }
    close(said[0]);
    close(said[1]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    test_pass_release(&test);
    return 0;
}

static struct sense_pids all(void)
{
    struct sense_pids pids = {0};
    for (int i = 0; i < CHILDREN; i++)
        sense_pids_push(&pids, children[i]);
    return pids;
}

static void test_cost(void **state)
{
    (void)state;
    assert_int_equal(sense_pss_cost_ns(INT64_C(1) << 30), 18 * PL_NS_PER_MS);
    assert_int_equal(sense_pss_cost_ns(0), 0);
    assert_close((double)sense_pss_cost_ns(INT64_C(200) << 30), 3.6e9, 1e-9, 0);
    assert_close((double)sense_pss_cost_ns(INT64_C(1) << 50), 18e6 * (1 << 20), 1e-9, 0); /* 1 PiB: no overflow */
}

static void test_all_within_budget(void **state)
{
    (void)state;
    struct sense_pids pids = all();
    sense_pids_push(&pids, 99999990); /* is not there: not in the population */
    test.pass.quiet_end_ns = INT64_MAX;
    struct sense_pss pss = sense_pss_sample(&pids, 1, 0, &test.pass);
    assert_int_equal(pss.sampled, CHILDREN);
    assert_int_equal(pss.population, CHILDREN);
    assert_true(pss.anon_bytes >= ((int64_t)CHILDREN * (CHILDREN - 1) / 2) << 20); /* 0 + 1 + ... MiB */
    sense_pids_release(&pids);
}

static void test_no_budget(void **state)
{
    (void)state;
    struct sense_pids pids = all();
    test.pass.quiet_end_ns = pl_clock_ns();
    struct sense_pss pss = sense_pss_sample(&pids, 1, 0, &test.pass);
    assert_int_equal(pss.sampled, 0);
    assert_int_equal(pss.population, CHILDREN);
    assert_int_equal(pss.anon_bytes, 0);
    sense_pids_release(&pids);
}

static bool same_order(const struct sense_pids *a, const struct sense_pids *b)
{
    return a->count == b->count && memcmp(a->pids, b->pids, a->count * sizeof *a->pids) == 0;
}

static void test_seed_decides(void **state)
{
    (void)state;
    struct sense_pids first = all(), again = all(), later = all(), other = all();
    sense_pss_sample(&first, 7, 0, &test.pass);
    sense_pss_sample(&again, 7, 0, &test.pass);
    sense_pss_sample(&later, 7, 1, &test.pass);
    sense_pss_sample(&other, 8, 0, &test.pass);
    assert_true(same_order(&first, &again));
    assert_false(same_order(&first, &later));
    assert_false(same_order(&first, &other));
    sense_pids_release(&first);
    sense_pids_release(&again);
    sense_pids_release(&later);
    sense_pids_release(&other);
}

/* Each process comes first equally often: chi square with 11 degrees of freedom, 99.9 % point 31.26 */
static void test_order_is_fair(void **state)
{
    (void)state;
    enum { ROUNDS = 2400 };
    int firsts[CHILDREN] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct sense_pids pids = {0};
        for (int i = 0; i < CHILDREN; i++)
            sense_pids_push(&pids, 99999000 + i); /* none exists: only the order is made */
        sense_pss_sample(&pids, 3, (uint64_t)round, &test.pass);
        firsts[pids.pids[0] - 99999000]++;
        sense_pids_release(&pids);
    }
    double chi_square = 0, expected = (double)ROUNDS / CHILDREN;
    for (int i = 0; i < CHILDREN; i++)
        chi_square += (firsts[i] - expected) * (firsts[i] - expected) / expected;
    assert_true(chi_square < 31.26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cost), cmocka_unit_test(test_all_within_budget),
                                       cmocka_unit_test(test_no_budget), cmocka_unit_test(test_seed_decides),
                                       cmocka_unit_test(test_order_is_fair)};
    return cmocka_run_group_tests_name("sense quiet", tests, setup, teardown);
}
