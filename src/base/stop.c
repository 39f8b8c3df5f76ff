#include "base/stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/ban.h"

#define TOGETHER_NS (PL_NS_PER_S / 5)

static volatile int stop_requested;
static volatile int64_t stop_requested_ns;
static volatile int stop_exit_code;

static void on_stop(int number)
{
    int64_t now_ns = pl_clock_ns();
    if (stop_requested != 0 && number != SIGHUP && now_ns - stop_requested_ns > TOGETHER_NS)
        _exit(stop_exit_code);
    if (stop_requested == 0)
        stop_requested_ns = now_ns;
    stop_requested = 1;
}

void pl_stop_catch(int hurried_exit_code)
{
    struct sigaction action = {.sa_handler = on_stop}, before;
    stop_requested = 0;
    stop_exit_code = hurried_exit_code;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

const volatile int *pl_stop_flag(void)
{
    return &stop_requested;
}

bool pl_stop_is_requested(void)
{
    return stop_requested != 0;
}

int64_t pl_stop_requested_ns(void)
{
    return stop_requested_ns;
}
