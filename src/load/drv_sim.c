/* Servers that are none.
 *
 * Null: every step ends at once: the tool's own ceiling. No system call but the clock, as long as there is something to do.
 *
 * Simulated: `servers` of them behind one first-come-first-served queue, in virtual time. The next event is the end of a
 * service (a heap holds those under way) or the worker's own deadline, whichever comes first; the clock jumps there. */
#include <assert.h>
#include <math.h>
#include <sys/prctl.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "load/load_int.h"
#include "stage/wakes.h"

#include "base/ban.h"

/* ---- null ---- */

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

/* ---- simulated ---- */

struct driver_sim {
    struct driver base;
    struct load_sim law;
    struct pl_rng rng;
    int64_t now_ns;
    int64_t stall_start_ns, stall_end_ns;
    struct stage_wakes services; /* under way, by their ends */
    uint32_t *queue;             /* ring of waiting clients */
    int clients, queue_first, queue_count;
};

static struct driver_sim *sim_of(struct driver *driver)
{
    return (struct driver_sim *)driver;
}

static const char *sim_event_loop(const struct driver *driver)
{
    (void)driver;
    return "virtual";
}

static enum pl_code sim_open(struct driver *driver, int clients, struct pl_err *err)
{
    (void)err;
    struct driver_sim *sim = sim_of(driver);
    sim->clients = clients;
    sim->queue = pl_new((size_t)clients, sizeof *sim->queue);
    stage_wakes_init(&sim->services, (size_t)clients);
    return PL_OK;
}

static void sim_close(struct driver *driver)
{
    struct driver_sim *sim = sim_of(driver);
    pl_free(sim->queue);
    stage_wakes_release(&sim->services);
    pl_free(sim);
}

static void sim_start(struct driver *driver, int64_t start_ns)
{
    struct driver_sim *sim = sim_of(driver);
    sim->now_ns = start_ns;
    sim->stall_start_ns = start_ns + sim->law.stall_at_ns;
    sim->stall_end_ns = sim->stall_start_ns + sim->law.stall_ns;
}

static int64_t sim_now(struct driver *driver)
{
    return sim_of(driver)->now_ns;
}

static int64_t service_end_ns(struct driver_sim *sim)
{
    int64_t service_ns =
        llround(sim->law.law == LOAD_SIM_CONSTANT ? sim->law.mean_service_ns
                                                  : pl_rng_exponential(&sim->rng, sim->law.mean_service_ns));
    int64_t begin_ns = sim->now_ns;
    if (begin_ns >= sim->stall_start_ns && begin_ns < sim->stall_end_ns)
        begin_ns = sim->stall_end_ns;
    else if (begin_ns < sim->stall_start_ns && begin_ns + service_ns > sim->stall_start_ns)
        service_ns += sim->stall_end_ns - sim->stall_start_ns;
    return begin_ns + service_ns;
}

static void service_begin(struct driver_sim *sim, uint32_t client)
{
    stage_wakes_push(&sim->services, client, service_end_ns(sim));
}

static int64_t sim_submit(struct driver *driver, uint32_t client, const struct program *program, const struct step *step,
                          const struct value *vars)
{
    (void)program;
    (void)step;
    (void)vars;
    struct driver_sim *sim = sim_of(driver);
    if (sim->services.count < (size_t)sim->law.servers) {
        service_begin(sim, client);
    } else {
        assert(sim->queue_count < sim->clients);
        sim->queue[(sim->queue_first + sim->queue_count++) % sim->clients] = client;
    }
    return sim->now_ns;
}

/* One end at a time: what the worker does about it happens at that very moment. */
static int sim_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    (void)capacity;
    struct driver_sim *sim = sim_of(driver);
    if (sim->services.count == 0 || stage_wakes_next_ns(&sim->services) > until_ns) {
        if (until_ns > sim->now_ns)
            sim->now_ns = until_ns;
        return 0;
    }
    struct stage_wake ended = stage_wakes_pop(&sim->services);
    sim->now_ns = ended.at_ns;
    if (sim->queue_count > 0) {
        uint32_t client = sim->queue[sim->queue_first];
        sim->queue_first = (sim->queue_first + 1) % sim->clients;
        sim->queue_count--;
        service_begin(sim, client);
    }
    *done = (struct driver_done){.client = ended.client, .outcome = DRIVER_OK, .done_ns = ended.at_ns};
    return 1;
}

static const struct driver_ops sim_ops = {
    .name = "sim",
    .virtual_time = true,
    .event_loop = sim_event_loop,
    .open = sim_open,
    .close = sim_close,
    .start = sim_start,
    .now = sim_now,
    .submit = sim_submit,
    .wait = sim_wait,
};

struct driver *driver_sim_new(const struct driver_setup *setup)
{
    struct driver_sim *sim = pl_new(1, sizeof *sim);
    sim->base.ops = &sim_ops;
    sim->law = setup->spec->sim;
    pl_rng_init(&sim->rng, setup->spec->seed, PL_RNG_SERVICE, (uint64_t)setup->worker);
    return &sim->base;
}
