/* The event loop: readiness of sockets and a deadline in nanoseconds. epoll (epoll_pwait2) is the reference back end.
 * One loop belongs to one thread. No allocation after init. */
#ifndef PL_WIRE_LOOP_H
#define PL_WIRE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop {
    int epoll_fd;
};

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

struct loop_event {
    uint32_t tag;     /* as given to loop_add */
    uint32_t flags;   /* LOOP_READ | LOOP_WRITE | LOOP_HANGUP */
};

PL_MUST_CHECK enum pl_code loop_init(struct loop *loop, struct pl_err *err);
void loop_release(struct loop *loop);
const char *loop_name(void); /* "epoll" */

PL_MUST_CHECK enum pl_code loop_add(struct loop *loop, int fd, uint32_t tag, uint32_t flags, struct pl_err *err);
void loop_change(struct loop *loop, int fd, uint32_t tag, uint32_t flags);
void loop_remove(struct loop *loop, int fd);

/* Waits for events until the monotonic time deadline_ns (in the past: does not wait; INT64_MAX: no deadline). Returns how
 * many were written to events (0 at the deadline or after a signal). The timer has no slack beyond the kernel's own: the
 * calling thread's slack is set to 1 ns by loop_init. */
int loop_wait(struct loop *loop, int64_t deadline_ns, struct loop_event *events, int capacity);

#endif
