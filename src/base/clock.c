/* The only home of clock_gettime. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

#define PL_HOME_OF_CLOCK
#include "base/ban.h"

static int64_t clock_read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * PL_NS_PER_S + now.tv_nsec;
}

int64_t pl_clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t pl_clock_unix_ns(void)
{
    return clock_read_ns(CLOCK_REALTIME);
}

int64_t pl_clock_process_cpu_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t pl_clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void pl_clock_sleep_until(int64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = deadline_ns / PL_NS_PER_S, .tv_nsec = deadline_ns % PL_NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
        continue;
}
