/* One worker's run: set up, phases and slices, the loop that waits for the world.
 *
 * Time is the time of events: the driver's done_ns and the timetable's due times, in order. Slices and phases end when the
 * first event at or after their boundary is seen, before it is recorded, so that every event lies in its own slice. */
#include "load/worker_int.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "hurl/hurl.h"

#include "base/ban.h"

/* How long the worker may stay away from the stop flag. */
#define LOOK_NS (100 * PL_NS_PER_MS)
#define NEVER INT64_MAX

/* ---- set up ---- */

static int64_t share_of(int64_t total, int index, int workers)
{
    return total / workers + (index < total % workers);
}

static int64_t share_before(int64_t total, int index, int workers)
{
    int64_t rest = total % workers;
    return total / workers * index + (index < rest ? index : rest);
}

/* The operations of a worker in proportion to its clients; the shares of all workers add up. */
static int64_t quota_share(const struct load_spec *spec, int first_client, int client_count)
{
    __int128_t total = spec->operations;
    return (int64_t)(total * (first_client + client_count) / spec->clients - total * first_client / spec->clients);
}

static void client_init(struct worker *worker, uint32_t index)
{
    struct client *client = &worker->clients[index];
    const struct load_spec *spec = worker->spec;
    const struct load_shape *shape = worker->shape;
    uint64_t global = (uint64_t)worker->first_client + index;
    client->state = CLIENT_IDLE;
    client->vars = worker->vars + index * shape->variable_count;
    if (shape->variable_count > 0)
        memcpy(client->vars, shape->initial, shape->variable_count * sizeof *client->vars);
    if (shape->client_id >= 0)
        client->vars[shape->client_id] = (struct value){.type = VALUE_INT, .i = (int64_t)global};
    pl_rng_init(&client->rng, spec->seed, PL_RNG_SCRIPT, global);
    pl_rng_init(&client->choice, spec->seed, PL_RNG_CHOICE, global);
}

static bool captures(const struct load_shape *shape)
{
    for (int s = 0; s < shape->script_count; s++) {
        const struct program *program = shape->scripts[s].program;
        for (size_t i = 0; i < program->step_count; i++)
            if (program->steps[i].capture != CAPTURE_NOTHING || program->steps[i].call != NULL)
                return true;
        if (hurl_program_captures(program))
            return true;
    }
    return false;
}

/* How many steps a pipeline may have: scripts with pipelines have no loops. 0: none has to be remembered. */
static size_t pipelines_most(const struct load_shape *shape)
{
    size_t most = 0;
    for (int s = 0; s < shape->script_count && shape->steps != LOAD_STEPS_NONE; s++) {
        const struct program *program = shape->scripts[s].program;
        for (size_t i = 0; i < program->step_count; i++)
            if (program->steps[i].kind == STEP_START_PIPELINE && program->step_count > most)
                most = program->step_count;
    }
    return most;
}

static void limits_init(struct worker *worker)
{
    const struct load_spec *spec = worker->spec;
    worker->has_quota = spec->operations > 0;
    worker->per_client = spec->open_loop ? 0 : spec->operations_per_client;
    worker->unfinished = worker->client_count;
    worker->is_by_count = spec->operations > 0 || spec->operations_per_client > 0;
    worker->due_left = worker->is_by_count ? spec->operations_per_client * worker->client_count : NEVER;
    atomic_init(&worker->own_quota, quota_share(spec, worker->first_client, worker->client_count));
}

/* Those who think, come and go, or are of a tenant. */
static void users_init(struct worker *worker, size_t count)
{
    const struct load_spec *spec = worker->spec;
    bool has_thinks = spec->think_ns > 0 || spec->session_operations > 0;
    worker->has_dues = spec->open_loop || has_thinks;
    stage_wakes_init(&worker->thinks, has_thinks ? count : 1);
    if (has_thinks)
        worker->ready = pl_new(count, sizeof *worker->ready);
    if (spec->session_operations > 0) {
        worker->session_left = pl_new(count, sizeof *worker->session_left);
        worker->session_place = pl_new(count, sizeof *worker->session_place);
    }
    if (spec->tenants != NULL) {
        worker->tenant_of = pl_new(count, sizeof *worker->tenant_of);
        worker->tenants = pl_new(spec->tenants->row_count, sizeof *worker->tenants);
    }
}

/* What only some loads need. */
static void extras_init(struct worker *worker, size_t count)
{
    const struct load_spec *spec = worker->spec;
    size_t variables = worker->shape->variable_count;
    if (spec->max_tries < 0 || spec->max_tries > 1) {
        worker->saved = pl_new(count * variables + 1, sizeof *worker->saved);
        worker->saved_rng = pl_new(count, sizeof *worker->saved_rng);
        if (spec->tell_failures)
            worker->saved_text = pl_new(count, sizeof *worker->saved_text);
    }
    if (spec->open_loop) {
        worker->waiting = pl_new((size_t)worker->shape->lane_count, sizeof *worker->waiting);
        worker->freed_ns = pl_new(count, sizeof *worker->freed_ns);
    }
    users_init(worker, count);
    worker->queued_most = pipelines_most(worker->shape);
    if (worker->queued_most > 0) {
        worker->queued = pl_new(count * worker->queued_most, sizeof *worker->queued);
        worker->queued_count = pl_new(count, sizeof *worker->queued_count);
    }
    /* the driver of HTTP renders and judges with the variables that the captures hold, whether anything is captured or not
     */
    worker->has_capture = spec->driver == LOAD_HTTP || captures(worker->shape);
    if (worker->has_capture)
        capture_init(&worker->capture, count, variables, worker->vars, worker->saved);
    if (spec->connect_each) {
        worker->connect = pl_new(1, sizeof *worker->connect);
        hist_init_latency(worker->connect);
    }
    recorder_log_init(&worker->log, spec->log_operations, &worker->shared->stop);
    recorder_notices_init(&worker->notices, worker->client_count, spec->tell_failures);
}

void worker_init(struct worker *worker, const struct load_spec *spec, const struct load_shape *shape, int index,
                 int workers, struct worker_shared *shared)
{
    *worker = (struct worker){.spec = spec, .shape = shape, .shared = shared, .index = index, .workers = workers};
    worker->first_client = (int)share_before(spec->clients, index, workers);
    worker->client_count = worker->alive = (int)share_of(spec->clients, index, workers);
    limits_init(worker);
    size_t count = (size_t)worker->client_count;
    worker->clients = load_aligned(count, sizeof *worker->clients);
    worker->vars = pl_new(count * shape->variable_count + 1, sizeof *worker->vars);
    worker->done = pl_new(WORKER_BATCH, sizeof *worker->done);
    worker->stack = pl_new(count, sizeof *worker->stack);
    stage_wakes_init(&worker->wakes, count);
    hist_init_latency(&worker->self.lateness);
    for (uint32_t c = 0; c < count; c++)
        client_init(worker, c);
    extras_init(worker, count);
    atomic_init(&worker->phase_seen, PHASE_START);
    atomic_init(&worker->ended, false);
}

void worker_take_driver(struct worker *worker, struct driver *driver)
{
    worker->driver = driver;
    worker->quota = driver->ops->virtual_time ? &worker->own_quota : &worker->shared->quota;
    recorder_init(&worker->recorder, worker->shape, driver->ops->virtual_time, &worker->shared->stop);
}

void worker_release(struct worker *worker)
{
    recorder_release(&worker->recorder);
    recorder_log_release(&worker->log);
    recorder_notices_release(&worker->notices);
    if (worker->connect != NULL)
        hist_release(worker->connect);
    pl_free(worker->connect);
    if (worker->has_capture)
        capture_release(&worker->capture);
    stage_wakes_release(&worker->wakes);
    stage_wakes_release(&worker->thinks);
    hist_release(&worker->self.lateness);
    pl_free(worker->ready);
    pl_free(worker->session_left);
    pl_free(worker->session_place);
    pl_free(worker->tenant_of);
    pl_free(worker->tenants);
    pl_free(worker->freed_ns);
    pl_free(worker->waiting);
    pl_free(worker->queued);
    pl_free(worker->queued_count);
    pl_free(worker->saved);
    pl_free(worker->saved_rng);
    pl_free(worker->saved_text);
    pl_free(worker->clients);
    pl_free(worker->vars);
    pl_free(worker->done);
    pl_free(worker->stack);
}

/* ---- phases and slices ---- */

/* Whoever has no limit may ask for the longest time there is. */
static int64_t time_after(int64_t at_ns, int64_t length_ns)
{
    int64_t end_ns;
    return __builtin_add_overflow(at_ns, length_ns, &end_ns) ? NEVER : end_ns;
}

/* After the end of the drain nothing is cut any more: the last slice ends there, however late the worker looks. */
static void cut_plan(struct worker *worker)
{
    bool is_last = worker->phase == PHASE_DRAIN && worker->next_slice_ns >= worker->drain_end_ns;
    int64_t slice_ns = is_last ? NEVER : worker->next_slice_ns;
    worker->next_cut_ns = slice_ns < worker->next_phase_ns ? slice_ns : worker->next_phase_ns;
}

static void phase_enter(struct worker *worker, enum phase phase, int64_t at_ns)
{
    if (phase == PHASE_MEASURE) {
        worker->window_cpu_start_ns = pl_clock_thread_cpu_ns();
        worker->next_phase_ns = worker->measure_end_ns;
        if (worker->driver->ops->measure != NULL)
            worker->driver->ops->measure(worker->driver);
    } else if (phase == PHASE_DRAIN) {
        if (worker->phase == PHASE_MEASURE)
            worker->window_cpu_ns = pl_clock_thread_cpu_ns() - worker->window_cpu_start_ns;
        worker->measure_end_ns = at_ns;
        worker->drain_end_ns = time_after(at_ns, worker->spec->drain_ns);
        worker->next_phase_ns = NEVER;
    }
    worker->phase = phase;
    atomic_store_explicit(&worker->phase_seen, (int)phase, memory_order_relaxed);
    if (phase == PHASE_DRAIN)
        worker_thinkers_leave(worker, at_ns);
}

void worker_boundaries_cross(struct worker *worker, int64_t now_ns)
{
    while (now_ns >= worker->next_cut_ns) {
        int64_t at_ns = worker->next_cut_ns;
        if (at_ns == worker->next_phase_ns) {
            enum phase phase = worker->phase == PHASE_WARM_UP ? PHASE_MEASURE : PHASE_DRAIN;
            recorder_cut_phase(&worker->recorder, at_ns, phase);
            phase_enter(worker, phase, at_ns);
        } else {
            recorder_cut(&worker->recorder, at_ns);
        }
        if (at_ns == worker->next_slice_ns)
            worker->next_slice_ns += worker->spec->slice_ns;
        cut_plan(worker);
    }
    recorder_log_flush(&worker->log);
}

int64_t worker_look(struct worker *worker)
{
    int64_t now_ns = worker->driver->ops->now(worker->driver);
    if (worker->has_dues)
        worker_dues_count(worker, now_ns);
    worker_advance(worker, now_ns);
    return now_ns;
}

/* The load was told to stop: nothing starts any more. */
static void drain_early(struct worker *worker)
{
    worker->stopped = true;
    if (worker->phase == PHASE_DRAIN)
        return;
    recorder_cut_phase(&worker->recorder, worker->last_ns, PHASE_DRAIN);
    phase_enter(worker, PHASE_DRAIN, worker->last_ns);
    cut_plan(worker);
}

/* ---- the run ---- */

static void wait_for_start(struct worker *worker, int64_t start_ns)
{
    const struct driver_ops *ops = worker->driver->ops;
    if (ops->start != NULL)
        ops->start(worker->driver, start_ns);
    int64_t now_ns;
    while ((now_ns = ops->now(worker->driver)) < start_ns && atomic_load(&worker->shared->stop) == 0) {
        int64_t until_ns = start_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : start_ns;
        int count = ops->wait(worker->driver, until_ns, worker->done, WORKER_BATCH);
        for (int i = 0; i < count; i++)
            worker_event(worker, &worker->done[i]);
    }
}

static void clock_start(struct worker *worker, int64_t start_ns)
{
    const struct load_spec *spec = worker->spec;
    int64_t warm_up_ns = worker->is_by_count ? 0 : spec->warm_up_ns;
    worker->start_ns = worker->last_ns = start_ns;
    worker->measure_start_ns = start_ns + warm_up_ns;
    worker->measure_end_ns = worker->is_by_count ? NEVER : time_after(worker->measure_start_ns, spec->measure_ns);
    worker->next_slice_ns = start_ns + spec->slice_ns;
    worker->next_phase_ns = worker->measure_start_ns;
    worker->cpu_start_ns = pl_clock_thread_cpu_ns();
    enum phase phase = warm_up_ns > 0 ? PHASE_WARM_UP : PHASE_MEASURE;
    recorder_start(&worker->recorder, start_ns, phase);
    phase_enter(worker, phase, start_ns);
    cut_plan(worker);
    if (spec->open_loop)
        worker_arrivals_init(worker, start_ns);
}

static void clients_start(struct worker *worker)
{
    /* open loop: the stack is filled from the far end, so that client 0 is used first */
    bool open_loop = worker->spec->open_loop;
    for (uint32_t i = 0; i < (uint32_t)worker->client_count; i++) {
        uint32_t index = open_loop ? (uint32_t)worker->client_count - 1 - i : i;
        if (worker->clients[index].state == CLIENT_IDLE)
            worker_client_free(worker, index, worker->start_ns);
    }
}

static bool is_over(const struct worker *worker)
{
    if (worker->phase == PHASE_DRAIN) {
        bool more_to_start = worker_backlog_may_start(worker) && worker->alive > 0;
        return worker->last_ns >= worker->drain_end_ns || (worker->running == worker->held && !more_to_start);
    }
    if (worker->running > 0)
        return false;
    if (worker->spec->open_loop)
        return worker->due_left == 0 && (worker->backlog == 0 || worker->alive == 0);
    return worker->alive == 0 || (worker->per_client > 0 && worker->unfinished == 0) ||
           (worker->has_quota && atomic_load_explicit(worker->quota, memory_order_relaxed) <= 0);
}

/* What has not ended is written off, so that the ledger balances. */
static void run_finish(struct worker *worker)
{
    int64_t end_ns = worker->last_ns;
    if (worker->phase != PHASE_DRAIN) { /* by count, or all connections are gone: the window ends with its last event */
        if (worker->phase == PHASE_MEASURE)
            worker->window_cpu_ns = pl_clock_thread_cpu_ns() - worker->window_cpu_start_ns;
        worker->measure_end_ns = end_ns;
        worker->drain_end_ns = end_ns;
    } else if (end_ns < worker->drain_end_ns) {
        worker->drain_end_ns = end_ns;
    }
    worker_write_off(worker, worker->drain_end_ns);
    worker_backlog_write_off(worker, worker->drain_end_ns);
    recorder_finish(&worker->recorder, worker->drain_end_ns);
    recorder_log_finish(&worker->log);
    worker->cpu_ns = pl_clock_thread_cpu_ns() - worker->cpu_start_ns;
}

void worker_stop_look(struct worker *worker)
{
    int stop = atomic_load_explicit(&worker->shared->stop, memory_order_relaxed);
    if (__builtin_expect(stop != 0, 0)) {
        if (!worker->stopped)
            drain_early(worker);
        if (stop > 1) {
            worker->drain_end_ns = worker->last_ns;
            cut_plan(worker);
        }
    } else if (__builtin_expect(worker->alive == 0, 0) && worker->phase != PHASE_DRAIN &&
               atomic_load_explicit(&worker->shared->alive, memory_order_relaxed) == 0) {
        drain_early(worker);
    }
}

static int64_t earliest(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static int64_t wait_until_ns(const struct worker *worker)
{
    if (worker->ready_count > 0) /* they got ready while others were started */
        return worker->last_ns;
    int64_t until_ns = earliest(worker->next_cut_ns, worker->last_ns + LOOK_NS);
    if (worker->spec->open_loop && worker->stack_count > 0) {
        /* with nobody free to start it an arrival only has to be counted, which can wait */
        until_ns = earliest(until_ns, worker_arrival_next_ns(worker));
        if (worker_backlog_may_start(worker)) /* there were too many to start at once */
            until_ns = worker->last_ns;
    }
    until_ns = earliest(until_ns, stage_wakes_next_ns(&worker->wakes));
    until_ns = earliest(until_ns, stage_wakes_next_ns(&worker->thinks));
    return worker->phase == PHASE_DRAIN ? earliest(until_ns, worker->drain_end_ns) : until_ns;
}

/* Not all at once: what wakes may be over at once and wake again. */
static void wakes_end(struct worker *worker)
{
    for (int i = 0; i < WORKER_BATCH && stage_wakes_next_ns(&worker->wakes) <= worker->last_ns; i++) {
        if (worker_is_past_end(worker))
            return;
        worker_wake(worker, stage_wakes_pop(&worker->wakes).client, worker->last_ns);
    }
}

static void events_handle(struct worker *worker, int count)
{
    bool open_loop = worker->spec->open_loop, has_dues = worker->has_dues;
    for (int i = 0; i < count; i++) {
        int64_t now_ns = worker->done[i].done_ns;
        if (has_dues)
            worker_dues_count(worker, now_ns);
        worker_advance(worker, now_ns);
        if (worker_is_past_end(worker))
            return;
        worker_event(worker, &worker->done[i]);
        if (open_loop)
            worker_backlog_start(worker, now_ns);
    }
}

void worker_run(struct worker *worker, int64_t start_ns)
{
    const struct driver_ops *ops = worker->driver->ops;
    bool open_loop = worker->spec->open_loop;
    wait_for_start(worker, start_ns);
    clock_start(worker, start_ns);
    worker_stop_look(worker);
    clients_start(worker);
    while (!is_over(worker)) {
        int64_t before_ns = worker->last_ns;
        bool in_window = worker->phase == PHASE_MEASURE;
        int count = ops->wait(worker->driver, wait_until_ns(worker), worker->done, WORKER_BATCH);
        events_handle(worker, count);
        if (count == 0 || worker->has_dues || worker->wakes.count > 0) {
            int64_t now_ns = worker_look(worker);
            wakes_end(worker);
            worker_ready_start(worker, now_ns);
            if (open_loop)
                worker_backlog_start(worker, now_ns);
        }
        if (in_window && worker->last_ns - before_ns > worker->longest_gap_ns)
            worker->longest_gap_ns = worker->last_ns - before_ns;
        worker_stop_look(worker);
    }
    run_finish(worker);
    atomic_store_explicit(&worker->ended, true, memory_order_release);
}
