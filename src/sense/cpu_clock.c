/* The CPU clock of another process: nanoseconds, all its threads, those that ended too, in two system calls. */
#define PL_HOME_OF_CLOCK
#include <time.h>

#include "sense/sense_int.h"

#include "base/ban.h"

int64_t sense_process_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return -1;
    return (int64_t)time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}
