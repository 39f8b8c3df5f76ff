/* Every step ends at once: the tool's own ceiling. No system call but the clock, as long as there is something to do. */
#include <sys/prctl.h>

#include "base/arena.h"
#include "base/clock.h"
#include "load/load_int.h"

#include "base/ban.h"

struct driver_null {
    struct driver base;
    uint32_t *ended; /* clients whose step was submitted since the last wait */
    int count;
};

static struct driver_null *null_of(struct driver *driver)
{
    return (struct driver_null *)driver;
}

static const char *null_event_loop(const struct driver *driver)
{
    (void)driver;
    return "none";
}

static enum pl_code null_open(struct driver *driver, int clients, struct pl_err *err)
{
    (void)err;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* the default, 50 us, would be lateness */
    null_of(driver)->ended = pl_new((size_t)clients, sizeof(uint32_t));
    return PL_OK;
}

static void null_close(struct driver *driver)
{
    pl_free(null_of(driver)->ended);
    pl_free(driver);
}

static int64_t null_now(struct driver *driver)
{
    (void)driver;
    return pl_clock_ns();
}

static int64_t null_submit(struct driver *driver, uint32_t client, const struct program *program, const struct step *step,
                           const struct value *vars)
{
    (void)program;
    (void)step;
    (void)vars;
    struct driver_null *null = null_of(driver);
    null->ended[null->count++] = client;
    return pl_clock_ns();
}

/* The last submitted ends first: which one does not matter, and nothing has to move. */
static int null_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    struct driver_null *null = null_of(driver);
    if (null->count == 0) {
        pl_clock_sleep_until(until_ns);
        return 0;
    }
    int64_t now_ns = pl_clock_ns();
    int count = 0;
    while (count < capacity && null->count > 0) {
        struct driver_done *one = &done[count++];
        one->client = null->ended[--null->count];
        one->outcome = DRIVER_OK;
        one->done_ns = now_ns;
    }
    return count;
}

static const struct driver_ops null_ops = {
    .name = "null",
    .event_loop = null_event_loop,
    .open = null_open,
    .close = null_close,
    .now = null_now,
    .submit = null_submit,
    .wait = null_wait,
};

struct driver *driver_null_new(const struct driver_setup *setup)
{
    (void)setup;
    struct driver_null *null = pl_new(1, sizeof *null);
    null->base.ops = &null_ops;
    return &null->base;
}
