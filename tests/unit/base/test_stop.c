/* Signals that ask for an end, each case in a process of its own: a signal is the whole process's. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"

enum { HURRIED = 77, GOOD = 5, BAD = 9 };

/* What the child does ends in an exit code. */
static int child_status(int (*child)(void))
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(child());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int exit_code(int (*child)(void))
{
    int status = child_status(child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void later(void)
{
    pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_S / 4);
}

static int asks_once(int number)
{
    int64_t before_ns = pl_clock_ns();
    pl_stop_catch(HURRIED);
    if (pl_stop_is_requested() || *pl_stop_flag() != 0)
        return BAD;
    raise(number);
    bool is_good = pl_stop_is_requested() && *pl_stop_flag() != 0 && pl_stop_requested_ns() >= before_ns &&
                   pl_stop_requested_ns() <= pl_clock_ns();
    return is_good ? GOOD : BAD;
}

static int interrupt(void)
{
    return asks_once(SIGINT);
}

static int terminate(void)
{
    return asks_once(SIGTERM);
}

static int hang_up(void)
{
    return asks_once(SIGHUP);
}

static int twice_together(void)
{
    asks_once(SIGTERM);
    int64_t first_ns = pl_stop_requested_ns();
    raise(SIGINT);
    return pl_stop_is_requested() && pl_stop_requested_ns() == first_ns ? GOOD : BAD;
}

static int twice(void)
{
    asks_once(SIGINT);
    later();
    raise(SIGINT);
    return BAD;
}

static int interrupted_then_hung_up(void)
{
    asks_once(SIGINT);
    later();
    raise(SIGHUP);
    return GOOD;
}

static int hung_up_then_interrupted(void)
{
    asks_once(SIGHUP);
    later();
    raise(SIGTERM);
    return BAD;
}

static int under_nohup(void)
{
    signal(SIGHUP, SIG_IGN);
    pl_stop_catch(HURRIED);
    raise(SIGHUP);
    return pl_stop_is_requested() ? BAD : GOOD;
}

static int forgets(void)
{
    asks_once(SIGINT);
    later();
    pl_stop_catch(HURRIED);
    if (pl_stop_is_requested())
        return BAD;
    raise(SIGINT); /* the first one again */
    return pl_stop_is_requested() ? GOOD : BAD;
}

static void test_first(void **state)
{
    (void)state;
    assert_int_equal(exit_code(interrupt), GOOD);
    assert_int_equal(exit_code(terminate), GOOD);
    assert_int_equal(exit_code(hang_up), GOOD);
    assert_int_equal(exit_code(forgets), GOOD);
}

static void test_second(void **state)
{
    (void)state;
    assert_int_equal(exit_code(twice_together), GOOD);
    assert_int_equal(exit_code(twice), HURRIED);
    assert_int_equal(exit_code(hung_up_then_interrupted), HURRIED);
}

static void test_terminal_that_goes_away(void **state)
{
    (void)state;
    assert_int_equal(exit_code(interrupted_then_hung_up), GOOD);
    assert_int_equal(exit_code(under_nohup), GOOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first), cmocka_unit_test(test_second),
                                       cmocka_unit_test(test_terminal_that_goes_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
