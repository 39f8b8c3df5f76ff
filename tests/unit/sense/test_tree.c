/* Process trees: who is in them, and the CPU of processes that are gone. Readings are never timed; children say when they
 * are ready. */
#include "puppet.h"

static struct sense_tree_sums scan(struct sense_tree *tree)
{
    struct sense_tree_sums sums = {0};
    assert_true(sense_tree_scan(tree, false, &sums));
    return sums;
}

static void test_cpu_of_the_living(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_tree *tree = sense_tree_new(puppet.pid);
    assert_non_null(tree);
    int64_t before = scan(tree).cpu_ns;
    puppet_do(&puppet, 'b');
    int64_t used = scan(tree).cpu_ns - before;
    assert_true(used >= BURN_MS * PL_NS_PER_MS); /* at least what it burnt by its own clock */
    sense_tree_free(tree);
    puppet_stop(&puppet);
}

/* The child was never seen by a scan: its CPU comes back through the parent that waited for it. */
static void test_cpu_of_the_reaped(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_tree *tree = sense_tree_new(puppet.pid);
    int64_t before = scan(tree).cpu_ns;
    puppet_do(&puppet, 'w');
    puppet_do(&puppet, 'w');
    int64_t used = scan(tree).cpu_ns - before;
    assert_true(used >= (2 * BURN_MS - 20) * PL_NS_PER_MS); /* cutime has ticks of 10 ms */
    sense_tree_free(tree);
    puppet_stop(&puppet);
}

/* A parent that ignores its children: the kernel gives their CPU to nobody. What a scan saw of it is kept. */
static void test_cpu_of_the_lost(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    struct sense_tree *tree = sense_tree_new(puppet.pid);
    int64_t before = scan(tree).cpu_ns, seen = before;
    char order = 'i', answer = 0;
    assert_int_equal(write(puppet.tell, &order, 1), 1);
    for (bool done = false; !done;) {
        struct sense_tree_sums sums = scan(tree);
        assert_true(sums.cpu_ns >= seen); /* never steps back */
        seen = sums.cpu_ns;
        fcntl(puppet.hear, F_SETFL, O_NONBLOCK);
        done = read(puppet.hear, &answer, 1) == 1;
        pl_clock_sleep_until(pl_clock_ns() + 2 * PL_NS_PER_MS);
    }
    int64_t after = scan(tree).cpu_ns;
    assert_true(after >= seen);
    assert_true(after - before >= BURN_MS / 2 * PL_NS_PER_MS);
    sense_tree_free(tree);
    puppet_stop(&puppet);
}

static void test_who_is_inside(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start(), other = puppet_start();
    struct sense_tree *tree = sense_tree_new(puppet.pid);
    assert_int_equal(scan(tree).pids.count, 1);
    for (int i = 0; i < 5; i++)
        puppet_do(&puppet, 'f');
    puppet_do(&other, 'f');
    puppet_do(&puppet, 't');
    struct sense_tree_sums sums = scan(tree);
    assert_int_equal(sums.pids.count, 6);
    assert_true(sums.threads == 7 || (!TEST_THREADS_ARE_OURS && sums.threads > 7));
    for (size_t i = 0; i < sums.pids.count; i++)
        assert_true(sums.pids.pids[i] != other.pid && sums.pids.pids[i] != getpid());
    /* one of the children goes, unwaited: a zombie is no process */
    pid_t gone =
        sums.pids.pids[sums.pids.count - 1] == puppet.pid ? sums.pids.pids[0] : sums.pids.pids[sums.pids.count - 1];
    int64_t cpu_ns = sums.cpu_ns;
    kill(gone, SIGKILL);
    for (int i = 0; i < 1000 && scan(tree).pids.count != 5; i++)
        pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_MS);
    assert_int_equal(scan(tree).pids.count, 5);
    assert_true(scan(tree).cpu_ns >= cpu_ns);
    puppet_stop(&puppet);
    struct sense_tree_sums none;
    for (int i = 0; i < 1000 && sense_tree_scan(tree, true, &none); i++) /* its children die with it, a moment later */
        pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_MS);
    assert_false(sense_tree_scan(tree, true, &none));
    sense_tree_free(tree);
    assert_null(sense_tree_new(puppet.pid));
    assert_null(sense_tree_new(0));
    puppet_stop(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu_of_the_living), cmocka_unit_test(test_cpu_of_the_reaped),
                                       cmocka_unit_test(test_cpu_of_the_lost), cmocka_unit_test(test_who_is_inside)};
    return cmocka_run_group_tests_name("sense tree", tests, NULL, NULL);
}
