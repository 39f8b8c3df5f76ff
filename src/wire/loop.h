/* The event loop: readiness of sockets and a deadline in nanoseconds. epoll (epoll_pwait2) is the reference back end.
 * Level-triggered: what was not dealt with is told again. One loop belongs to one thread. No allocation after init. */
#ifndef PL_WIRE_LOOP_H
#define PL_WIRE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop {
    int epoll_fd;
    uint8_t *flags;  /* by descriptor: what the kernel was told last; owned */
    int flags_count; /* descriptors from here on are not remembered */
    bool is_punctual;
    int64_t wake_ns; /* punctual: how long waking takes, as far as it has been seen */
};

/* HANGUP (the peer is gone, or the socket is broken) is always told, also when it was not asked for; with READ beside it
 * while there is something to read. Remove the descriptor then, or it is told for ever. */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

struct loop_event {
    uint32_t tag;   /* as given to loop_add */
    uint32_t flags; /* LOOP_READ | LOOP_WRITE | LOOP_HANGUP */
};

/* PL_IO: no descriptor left, or a kernel without epoll_pwait2 (before 5.11). */
PL_MUST_CHECK enum pl_code loop_init(struct loop *loop, struct pl_err *err);
void loop_release(struct loop *loop); /* a loop that was zeroed or released already is fine */
const char *loop_name(void);          /* "epoll" */

/* From here on waits end at their deadline and not when the thread has been woken for it: waking takes tens of microseconds
 * where an idle (virtual) CPU must be called back first. The timer is set earlier by as much as waking was seen to take (at
 * most 100 us), and what is left is polled. Only waits of 500 us and more do so, which bounds the polling to a few per cent
 * of a core. */
void loop_be_punctual(struct loop *loop);

/* flags: LOOP_READ | LOOP_WRITE, or 0 for HANGUP alone. PL_IO when the kernel refuses. */
PL_MUST_CHECK enum pl_code loop_add(struct loop *loop, int fd, uint32_t tag, uint32_t flags, struct pl_err *err);

/* fd must have been added; tag must be the one of loop_add. Costs nothing when the flags are as they were. */
void loop_change(struct loop *loop, int fd, uint32_t tag, uint32_t flags);

/* Before fd is closed. A descriptor that is not in the loop is fine. */
void loop_remove(struct loop *loop, int fd);

/* Waits for events until the monotonic time deadline_ns (in the past: does not wait; INT64_MAX: no deadline). Returns how
 * many were written to events (0 at the deadline or after a signal), at most LOOP_MAX_EVENTS a call. The timer has no slack
 * beyond the kernel's own: the calling thread's slack is set to 1 ns by loop_init. */
enum { LOOP_MAX_EVENTS = 256 };
int loop_wait(struct loop *loop, int64_t deadline_ns, struct loop_event *events, int capacity);

#endif
