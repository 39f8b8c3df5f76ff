/* The event loop over socket pairs. */
#include "support.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/loop.h"

struct fixture {
    struct loop loop;
    int here, there; /* a socket pair */
};

static int setup(void **state)
{
    static struct fixture fixture;
    struct pl_err err = {0};
    int pair[2];
    fixture = (struct fixture){0};
    assert_int_equal(loop_init(&fixture.loop, &err), PL_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    fixture.here = pair[0];
    fixture.there = pair[1];
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    loop_release(&fixture->loop);
    loop_release(&fixture->loop); /* once more is fine */
    if (fixture->here >= 0)
        close(fixture->here);
    if (fixture->there >= 0)
        close(fixture->there);
    return 0;
}

static void add(struct fixture *fixture, uint32_t tag, uint32_t flags)
{
    struct pl_err err = {0};
    assert_int_equal(loop_add(&fixture->loop, fixture->here, tag, flags, &err), PL_OK);
    assert_int_equal(err.code, PL_OK);
}

/* The flags that a poll of the loop gives for the tag; 0 when nothing happened. */
static uint32_t poll_flags(struct fixture *fixture, uint32_t tag)
{
    struct loop_event events[4];
    int count = loop_wait(&fixture->loop, 0, events, 4);
    assert_in_range(count, 0, 1);
    if (count == 0)
        return 0;
    assert_int_equal(events[0].tag, tag);
    return events[0].flags;
}

static void say(int fd)
{
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
}

static void hear(int fd)
{
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 1);
}

static void test_init(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(loop_name(), "epoll");
    assert_int_equal(prctl(PR_GET_TIMERSLACK), 1);
    assert_true(fixture->loop.epoll_fd >= 0);
}

static void test_deadlines_of(struct fixture *fixture)
{
    struct loop_event events[4];
    static const int64_t past[] = {INT64_MIN, -1, 0, 1};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++)
        assert_int_equal(loop_wait(&fixture->loop, past[i], events, 4), 0);
    /* never too early, whatever the length of the wait */
    static const int64_t waits_ns[] = {1, 999, 50000, 1000001, 20 * PL_NS_PER_MS};
    for (size_t i = 0; i < sizeof waits_ns / sizeof waits_ns[0]; i++) {
        int64_t deadline_ns = pl_clock_ns() + waits_ns[i];
        assert_int_equal(loop_wait(&fixture->loop, deadline_ns, events, 4), 0);
        assert_true(pl_clock_ns() >= deadline_ns);
    }
}

static void test_deadlines(void **state)
{
    struct fixture *fixture = *state;
    struct loop_event events[4];
    add(fixture, 1, LOOP_READ);
    test_deadlines_of(fixture);
    /* what is ready is told, also with a deadline in the past, in the far future, and with none */
    say(fixture->there);
    static const int64_t any[] = {0, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++) {
        assert_int_equal(loop_wait(&fixture->loop, any[i], events, 4), 1);
        assert_int_equal(events[0].tag, 1);
        assert_int_equal(events[0].flags, LOOP_READ);
    }
}

/* A punctual loop sets its timer early, and still never comes back before the deadline; what happens meanwhile is told. */
static void test_punctual(void **state)
{
    struct fixture *fixture = *state;
    struct loop_event events[4];
    add(fixture, 1, LOOP_READ);
    loop_be_punctual(&fixture->loop);
    test_deadlines_of(fixture);
    for (int i = 0; i < 200; i++) {
        int64_t deadline_ns = pl_clock_ns() + 600000;
        assert_int_equal(loop_wait(&fixture->loop, deadline_ns, events, 4), 0);
        assert_true(pl_clock_ns() >= deadline_ns);
        assert_in_range(fixture->loop.wake_ns, 0, 100000);
    }
    assert_true(fixture->loop.wake_ns > 0); /* no wait ends at its very deadline: it has learned something */
    say(fixture->there);
    int64_t deadline_ns = pl_clock_ns() + 3600 * PL_NS_PER_S;
    assert_int_equal(loop_wait(&fixture->loop, deadline_ns, events, 4), 1);
    assert_true(pl_clock_ns() < deadline_ns);
}

static void on_signal(int number)
{
    (void)number;
}

static void test_signal(void **state)
{
    struct fixture *fixture = *state;
    struct loop_event events[4];
    struct sigaction action = {.sa_handler = on_signal}, before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    /* again and again, so that one that comes before the wait does no harm */
    struct itimerval timer = {.it_value.tv_usec = 5000, .it_interval.tv_usec = 5000}, none = {{0}, {0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    assert_int_equal(loop_wait(&fixture->loop, INT64_MAX, events, 4), 0);
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
}

static void test_add_change_remove(void **state)
{
    struct fixture *fixture = *state;
    uint32_t tag = 0xfffffffeU; /* all 32 bits come back */
    add(fixture, tag, LOOP_READ);
    assert_int_equal(poll_flags(fixture, tag), 0);
    loop_change(&fixture->loop, fixture->here, tag, LOOP_READ | LOOP_WRITE);
    assert_int_equal(poll_flags(fixture, tag), LOOP_WRITE);
    say(fixture->there);
    assert_int_equal(poll_flags(fixture, tag), LOOP_READ | LOOP_WRITE);
    loop_change(&fixture->loop, fixture->here, tag, LOOP_WRITE);
    assert_int_equal(poll_flags(fixture, tag), LOOP_WRITE);
    loop_change(&fixture->loop, fixture->here, tag, LOOP_READ);
    assert_int_equal(poll_flags(fixture, tag), LOOP_READ);
    assert_int_equal(poll_flags(fixture, tag), LOOP_READ); /* level-triggered: told until it is read */
    hear(fixture->here);
    assert_int_equal(poll_flags(fixture, tag), 0);
    loop_change(&fixture->loop, fixture->here, tag, 0);
    say(fixture->there);
    assert_int_equal(poll_flags(fixture, tag), 0);
    loop_remove(&fixture->loop, fixture->here);
    loop_remove(&fixture->loop, fixture->here); /* no harm */
    add(fixture, 7, LOOP_READ);
    assert_int_equal(poll_flags(fixture, 7), LOOP_READ);
    loop_remove(&fixture->loop, fixture->here);
    assert_int_equal(poll_flags(fixture, 7), 0);
    loop_remove(&fixture->loop, -1);
}

/* With the same flags the kernel is not asked: it would refuse, since the descriptor is gone. */
static void test_change_is_free(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 3, LOOP_READ | LOOP_WRITE);
    close(fixture->here);
    loop_change(&fixture->loop, fixture->here, 3, LOOP_READ | LOOP_WRITE);
    fixture->here = -1;
}

/* A descriptor that is used again starts with the flags it is added with. */
static void test_reuse(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 3, LOOP_READ);
    loop_remove(&fixture->loop, fixture->here);
    add(fixture, 4, LOOP_WRITE);
    loop_change(&fixture->loop, fixture->here, 4, LOOP_READ);
    assert_int_equal(poll_flags(fixture, 4), 0);
}

static void test_many_remembered(void **state)
{
    struct fixture *fixture = *state;
    fixture->loop.flags_count = 0; /* as if every descriptor were beyond what is remembered */
    add(fixture, 3, LOOP_READ);
    loop_change(&fixture->loop, fixture->here, 3, LOOP_WRITE);
    loop_change(&fixture->loop, fixture->here, 3, LOOP_WRITE);
    assert_int_equal(poll_flags(fixture, 3), LOOP_WRITE);
    loop_remove(&fixture->loop, fixture->here);
}

static void test_hangup(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 5, LOOP_READ);
    say(fixture->there);
    close(fixture->there);
    fixture->there = -1;
    assert_int_equal(poll_flags(fixture, 5), LOOP_READ | LOOP_HANGUP); /* the last byte can still be read */
    hear(fixture->here);
    assert_true((poll_flags(fixture, 5) & LOOP_HANGUP) != 0);
    loop_change(&fixture->loop, fixture->here, 5, 0);
    assert_int_equal(poll_flags(fixture, 5), LOOP_HANGUP); /* also when nothing was asked for */
    loop_remove(&fixture->loop, fixture->here);
    assert_int_equal(poll_flags(fixture, 5), 0);
}

static void test_half_close(void **state)
{
    struct fixture *fixture = *state;
    add(fixture, 5, LOOP_READ);
    assert_int_equal(shutdown(fixture->there, SHUT_WR), 0);
    assert_int_equal(poll_flags(fixture, 5), LOOP_READ | LOOP_HANGUP);
}

static void test_refused(void **state)
{
    struct fixture *fixture = *state;
    struct pl_err err = {0};
    add(fixture, 5, LOOP_READ);
    assert_int_equal(loop_add(&fixture->loop, fixture->here, 6, LOOP_READ, &err), PL_IO); /* twice */
    assert_true(err.os_errno != 0);
    err = (struct pl_err){0};
    assert_int_equal(loop_add(&fixture->loop, -1, 6, LOOP_READ, &err), PL_IO);
    err = (struct pl_err){0};
    assert_int_equal(loop_add(&fixture->loop, 1 << 20, 6, LOOP_READ, &err), PL_IO);
}

/* No descriptor left: an error, and nothing leaks. */
static void test_no_descriptors(void **state)
{
    (void)state;
    struct rlimit before, none;
    struct loop loop;
    struct pl_err err = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum pl_code code = loop_init(&loop, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, PL_IO);
    assert_non_null(strstr(err.what, "event loop"));
}

enum { PAIRS = 300 };

static void test_many(void **state)
{
    struct fixture *fixture = *state;
    static int pairs[PAIRS][2];
    static struct loop_event events[PAIRS];
    static int seen[PAIRS];
    struct pl_err err = {0};
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
        assert_int_equal(loop_add(&fixture->loop, pairs[i][0], (uint32_t)i, LOOP_READ, &err), PL_OK);
        say(pairs[i][1]);
    }
    /* a small array gets what fits; the others come when these were read */
    memset(seen, 0, sizeof seen);
    int total = 0;
    static const int capacities[] = {1, 7, LOOP_MAX_EVENTS, PAIRS};
    for (int turn = 0; total < PAIRS; turn++) {
        int capacity = capacities[turn % 4];
        int count = loop_wait(&fixture->loop, 0, events, capacity);
        assert_in_range(count, 1, capacity < LOOP_MAX_EVENTS ? capacity : LOOP_MAX_EVENTS);
        for (int i = 0; i < count; i++) {
            assert_int_equal(events[i].flags, LOOP_READ);
            assert_int_equal(seen[events[i].tag]++, 0);
            hear(pairs[events[i].tag][0]);
        }
        total += count;
    }
    assert_int_equal(loop_wait(&fixture->loop, 0, events, PAIRS), 0);
    for (int i = 0; i < PAIRS; i++) {
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
}

#define LOOP_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_init),       LOOP_TEST(test_deadlines),         LOOP_TEST(test_punctual),
        LOOP_TEST(test_signal),     LOOP_TEST(test_add_change_remove), LOOP_TEST(test_change_is_free),
        LOOP_TEST(test_reuse),      LOOP_TEST(test_many_remembered),   LOOP_TEST(test_hangup),
        LOOP_TEST(test_half_close), LOOP_TEST(test_refused),           LOOP_TEST(test_no_descriptors),
        LOOP_TEST(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
