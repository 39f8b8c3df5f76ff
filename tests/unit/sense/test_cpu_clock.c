/* The CPU clock of another process. */
#include "puppet.h"

static void *burner(void *ctx)
{
    burn_ms(*(int *)ctx);
    return NULL;
}

static void test_of_a_child(void **state)
{
    (void)state;
    struct puppet puppet = puppet_start();
    int64_t before = sense_process_cpu_ns(puppet.pid);
    assert_true(before >= 0);
    puppet_do(&puppet, 'b');
    int64_t after = sense_process_cpu_ns(puppet.pid);
    assert_true(after - before >= BURN_MS * PL_NS_PER_MS);
    puppet_stop(&puppet);
}

/* A thread that has ended is still in the sum. */
static void test_ended_threads(void **state)
{
    (void)state;
    pthread_t thread;
    int ms = 30;
    int64_t before = sense_process_cpu_ns(getpid());
    assert_int_equal(pthread_create(&thread, NULL, burner, &ms), 0);
    pthread_join(thread, NULL);
    assert_true(sense_process_cpu_ns(getpid()) - before >= ms * PL_NS_PER_MS);
}

static void test_of_nobody(void **state)
{
    (void)state;
    assert_int_equal(sense_process_cpu_ns(99999990), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_of_a_child), cmocka_unit_test(test_ended_threads),
                                       cmocka_unit_test(test_of_nobody)};
    return cmocka_run_group_tests_name("sense cpu_clock", tests, NULL, NULL);
}
