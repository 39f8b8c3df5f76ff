/* epoll with nanosecond deadlines. */
#include "wire/loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

/* More descriptors than this are possible; they only cost a system call at every loop_change. */
enum { MAX_REMEMBERED = 1 << 20, ADDED = 0x80 };

/* Of a punctual loop. */
enum { WAKE_UP_STEP_NS = 2100, WAKE_DOWN_STEP_NS = 900, WAKE_MOST_NS = 100000, PUNCTUAL_FROM_NS = 500000 };

static int remembered_count(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max > MAX_REMEMBERED)
        return MAX_REMEMBERED;
    return (int)limit.rlim_max;
}

enum pl_code loop_init(struct loop *loop, struct pl_err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot make an event loop");
    struct epoll_event none;
    if (epoll_pwait2(fd, &none, 1, &(struct timespec){0}, NULL) < 0 && errno != EINTR) {
        int os_errno = errno;
        close(fd);
        pl_err_os(err, PL_IO, os_errno, "cannot wait with nanosecond deadlines");
        pl_err_hint(err, "epoll_pwait2 is needed, which Linux has since 5.11.");
        return err->code;
    }
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    *loop = (struct loop){.epoll_fd = fd};
    loop->flags_count = remembered_count();
    /* fresh pages of the kernel are only taken where a descriptor is used */
    loop->flags = pl_new((size_t)loop->flags_count, sizeof *loop->flags);
    return PL_OK;
}

void loop_release(struct loop *loop)
{
    if (loop->flags != NULL)
        close(loop->epoll_fd);
    pl_free(loop->flags);
    *loop = (struct loop){.epoll_fd = -1};
}

const char *loop_name(void)
{
    return "epoll";
}

static struct epoll_event interest(uint32_t tag, uint32_t flags)
{
    uint32_t events =
        ((flags & LOOP_READ) != 0 ? (uint32_t)EPOLLIN : 0) | ((flags & LOOP_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0);
    return (struct epoll_event){.events = events | EPOLLRDHUP, .data.u64 = tag};
}

static void remember(struct loop *loop, int fd, uint32_t flags)
{
    if (fd < loop->flags_count)
        loop->flags[fd] = (uint8_t)flags;
}

enum pl_code loop_add(struct loop *loop, int fd, uint32_t tag, uint32_t flags, struct pl_err *err)
{
    assert((flags & ~(uint32_t)(LOOP_READ | LOOP_WRITE)) == 0);
    struct epoll_event event = interest(tag, flags);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return pl_err_os(err, PL_IO, errno, "cannot watch descriptor %d", fd);
    remember(loop, fd, ADDED | flags);
    return PL_OK;
}

void loop_change(struct loop *loop, int fd, uint32_t tag, uint32_t flags)
{
    assert((flags & ~(uint32_t)(LOOP_READ | LOOP_WRITE)) == 0 && fd >= 0);
    if (fd < loop->flags_count && loop->flags[fd] == (ADDED | flags))
        return;
    struct epoll_event event = interest(tag, flags);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
        pl_panic("loop_change: descriptor %d is not in the loop (errno %d)", fd, errno);
    remember(loop, fd, ADDED | flags);
}

void loop_remove(struct loop *loop, int fd)
{
    /* refused when it was never added or is closed already: then there is nothing to remove */
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    if (fd >= 0)
        remember(loop, fd, 0);
}

static uint32_t flags_of(uint32_t events)
{
    return ((events & EPOLLIN) != 0 ? (uint32_t)LOOP_READ : 0) | ((events & EPOLLOUT) != 0 ? (uint32_t)LOOP_WRITE : 0) |
           ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0 ? (uint32_t)LOOP_HANGUP : 0);
}

void loop_be_punctual(struct loop *loop)
{
    loop->is_punctual = true;
}

/* Waits at most left_ns >= 0 (INT64_MAX: without end). */
static int wait_for(struct loop *loop, int64_t left_ns, struct loop_event *events, int capacity)
{
    struct epoll_event got[LOOP_MAX_EVENTS];
    struct timespec timeout = {0}, *timeout_or_none = left_ns == INT64_MAX ? NULL : &timeout;
    if (left_ns > 0)
        timeout = (struct timespec){.tv_sec = left_ns / PL_NS_PER_S, .tv_nsec = left_ns % PL_NS_PER_S};
    int count =
        epoll_pwait2(loop->epoll_fd, got, capacity < LOOP_MAX_EVENTS ? capacity : LOOP_MAX_EVENTS, timeout_or_none, NULL);
    if (count < 0 && errno != EINTR)
        pl_panic("loop_wait: errno %d", errno);
    for (int i = 0; i < count; i++)
        events[i] = (struct loop_event){.tag = (uint32_t)got[i].data.u64, .flags = flags_of(got[i].events)};
    return count;
}

/* Follows the 70th percentile of what waking takes: a step up weighs more than a step down in that proportion. */
static void wake_learn(struct loop *loop, int64_t took_ns)
{
    loop->wake_ns += took_ns > loop->wake_ns ? WAKE_UP_STEP_NS : -WAKE_DOWN_STEP_NS;
    if (loop->wake_ns > WAKE_MOST_NS)
        loop->wake_ns = WAKE_MOST_NS;
    if (loop->wake_ns < 0)
        loop->wake_ns = 0;
}

static int wait_punctually(struct loop *loop, int64_t now_ns, int64_t deadline_ns, struct loop_event *events, int capacity)
{
    int64_t timer_ns = deadline_ns - loop->wake_ns;
    int count = wait_for(loop, timer_ns - now_ns, events, capacity);
    if (count == 0)
        wake_learn(loop, pl_clock_ns() - timer_ns);
    while (count == 0 && pl_clock_ns() < deadline_ns)
        count = wait_for(loop, 0, events, capacity);
    return count > 0 ? count : 0;
}

int loop_wait(struct loop *loop, int64_t deadline_ns, struct loop_event *events, int capacity)
{
    assert(capacity > 0);
    int64_t left_ns = INT64_MAX;
    if (deadline_ns != INT64_MAX) {
        int64_t now_ns = pl_clock_ns();
        left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        if (loop->is_punctual && left_ns >= PUNCTUAL_FROM_NS)
            return wait_punctually(loop, now_ns, deadline_ns, events, capacity);
    }
    int count = wait_for(loop, left_ns, events, capacity);
    return count > 0 ? count : 0;
}
