/* Time: int64_t nanoseconds of CLOCK_MONOTONIC everywhere; wall-clock time (unix_ns) only in records. */
#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

#include <stdint.h>

#define PL_NS_PER_US INT64_C(1000)
#define PL_NS_PER_MS INT64_C(1000000)
#define PL_NS_PER_S INT64_C(1000000000)

int64_t pl_clock_ns(void);             /* monotonic */
int64_t pl_clock_unix_ns(void);        /* wall clock, since 1970 */
int64_t pl_clock_process_cpu_ns(void); /* CPU of this process, all threads, user + system */
int64_t pl_clock_thread_cpu_ns(void);  /* CPU of the calling thread */

/* Sleeps until the monotonic time deadline_ns, going on after signals; returns at once when it has passed. */
void pl_clock_sleep_until(int64_t deadline_ns);

#endif
