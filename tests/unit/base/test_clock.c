/* Only what the kernel guarantees: order and lower bounds, never how long something took. */
#include "support.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

static void test_monotonic_never_falls(void **state)
{
    (void)state;
    int64_t last = pl_clock_ns();
    assert_true(last > 0);
    for (int i = 0; i < 10000; i++) {
        int64_t now = pl_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void test_wall_clock_agrees_with_time(void **state)
{
    (void)state;
    int64_t before = time(NULL), now = pl_clock_unix_ns() / PL_NS_PER_S, after = time(NULL);
    assert_true(before <= now && now <= after + 1);
}

static void test_cpu_time_grows_with_work(void **state)
{
    (void)state;
    int64_t thread = pl_clock_thread_cpu_ns(), process = pl_clock_process_cpu_ns(), wanted = 5 * PL_NS_PER_MS;
    while (pl_clock_thread_cpu_ns() - thread < wanted)
        continue;
    assert_true(pl_clock_process_cpu_ns() - process >= wanted / 2);
}

static void test_sleep_of_the_past_returns(void **state)
{
    (void)state;
    pl_clock_sleep_until(0);
    pl_clock_sleep_until(-5 * PL_NS_PER_S);
    pl_clock_sleep_until(pl_clock_ns() - 1);
}

static volatile sig_atomic_t signals_seen;

static void on_alarm(int number)
{
    (void)number;
    signals_seen++;
}

static void test_sleep_outlasts_signals(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}, old;
    sigaction(SIGALRM, &action, &old);
    struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    int64_t deadline = pl_clock_ns() + 30 * PL_NS_PER_MS;
    setitimer(ITIMER_REAL, &often, NULL);
    pl_clock_sleep_until(deadline);
    int64_t woken = pl_clock_ns();
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_true(woken >= deadline);
    assert_true(signals_seen > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic_never_falls),    cmocka_unit_test(test_wall_clock_agrees_with_time),
        cmocka_unit_test(test_cpu_time_grows_with_work), cmocka_unit_test(test_sleep_of_the_past_returns),
        cmocka_unit_test(test_sleep_outlasts_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
