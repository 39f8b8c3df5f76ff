/* The life of an operation.
 *
 * It becomes DUE: in the closed loop at the moment its client became free, in the open loop when the timetable says so. It
 * belongs to the phase in which it was due. A free client takes it; in the open loop the client that became free last (its
 * memory and its server's are warm), and when none is free it waits, and the oldest waiting one is taken first. Waiting
 * ones are not stored: two places in the same stream of arrivals are kept, the next to become due and the next to be
 * started. The client then evaluates its program's \set steps and hands each SQL step to the driver; when the driver
 * reports the end of one it goes on with the next; after the last the operation is COMPLETED. An error of the server, of a
 * \set, or a lost connection ends it as FAILED. What has not ended when the drain is over is UNFINISHED, and what was never
 * sent is counted apart within it.
 *
 * Time is the time of events: the driver's done_ns and the timetable's due times, in order. Slices and phases end when the
 * first event at or after their boundary is seen, before it is recorded, so that every event lies in its own slice. */
#include "load/worker_int.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

/* How long the worker may stay away from the stop flag. */
#define LOOK_NS (100 * PL_NS_PER_MS)
#define PAUSE_NS PL_NS_PER_MS
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

static void variable_set(const struct program *program, struct value *vars, const char *name, struct value value)
{
    int variable = program_variable(program, name);
    if (variable >= 0)
        vars[variable] = value;
}

static void client_init(struct worker *worker, uint32_t index)
{
    struct client *client = &worker->clients[index];
    const struct load_spec *spec = worker->spec;
    uint64_t global = (uint64_t)worker->first_client + index;
    client->state = CLIENT_IDLE;
    client->vars = worker->vars + index * worker->shape->variable_count;
    pl_rng_init(&client->rng, spec->seed, PL_RNG_SCRIPT, global);
    pl_rng_init(&client->choice, spec->seed, PL_RNG_CHOICE, global);
    for (int s = 0; s < worker->shape->script_count; s++) {
        const struct program *program = worker->shape->scripts[s].program;
        struct value *vars = client->vars + worker->shape->first_variable[s];
        variable_set(program, vars, "client_id", (struct value){.type = VALUE_INT, .i = (int64_t)global});
        variable_set(program, vars, "random_seed", (struct value){.type = VALUE_INT, .i = (int64_t)spec->seed});
        for (int v = 0; v < spec->variable_count; v++)
            variable_set(program, vars, spec->variables[v].name, spec->variables[v].value);
    }
}

void worker_init(struct worker *worker, const struct load_spec *spec, const struct load_shape *shape, int index,
                 int workers, struct driver *driver, struct worker_shared *shared)
{
    *worker = (struct worker){
        .spec = spec, .shape = shape, .shared = shared, .index = index, .workers = workers, .driver = driver};
    worker->first_client = (int)share_before(spec->clients, index, workers);
    worker->client_count = worker->alive = (int)share_of(spec->clients, index, workers);
    worker->has_quota = spec->operations > 0;
    worker->quota = driver->ops->virtual_time ? &worker->own_quota : &shared->quota;
    atomic_init(&worker->own_quota, quota_share(spec, worker->first_client, worker->client_count));
    size_t count = (size_t)worker->client_count;
    worker->clients = load_aligned(count, sizeof *worker->clients);
    worker->vars = pl_new(count * shape->variable_count + 1, sizeof *worker->vars);
    worker->done = pl_new(WORKER_BATCH, sizeof *worker->done);
    worker->stack = pl_new(count, sizeof *worker->stack);
    worker->pause = pl_new(count, sizeof *worker->pause);
    for (uint32_t c = 0; c < count; c++)
        client_init(worker, c);
    recorder_init(&worker->recorder, shape, driver->ops->virtual_time, &shared->stop);
    atomic_init(&worker->phase_seen, PHASE_START);
    atomic_init(&worker->ended, false);
}

void worker_release(struct worker *worker)
{
    recorder_release(&worker->recorder);
    pl_free(worker->clients);
    pl_free(worker->vars);
    pl_free(worker->done);
    pl_free(worker->stack);
    pl_free(worker->pause);
}

/* ---- phases and slices ---- */

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
    } else if (phase == PHASE_DRAIN) {
        if (worker->phase == PHASE_MEASURE)
            worker->window_cpu_ns = pl_clock_thread_cpu_ns() - worker->window_cpu_start_ns;
        worker->measure_end_ns = at_ns;
        worker->drain_end_ns = at_ns + worker->spec->drain_ns;
        worker->next_phase_ns = NEVER;
    }
    worker->phase = phase;
    atomic_store_explicit(&worker->phase_seen, (int)phase, memory_order_relaxed);
}

static void boundaries_cross(struct worker *worker, int64_t now_ns)
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
}

/* To be called with the time of every event before anything of it is recorded. */
static inline void time_advance(struct worker *worker, int64_t now_ns)
{
    if (now_ns > worker->last_ns)
        worker->last_ns = now_ns;
    if (__builtin_expect(now_ns >= worker->next_cut_ns, 0))
        boundaries_cross(worker, now_ns);
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

/* ---- operations ---- */

static struct ledger *ledger_of(struct worker *worker, enum phase due_in, int script)
{
    return &recorder_cell(&worker->recorder, due_in, script, -1)->ledger;
}

static enum phase phase_due_in(const struct worker *worker, int64_t due_ns)
{
    return due_ns < worker->measure_start_ns ? PHASE_WARM_UP : PHASE_MEASURE;
}

static void operation_due(struct worker *worker, int script, int64_t due_ns)
{
    ledger_of(worker, phase_due_in(worker, due_ns), script)->due++;
    worker->count.due++;
}

static void client_free(struct worker *worker, uint32_t index, int64_t now_ns);

/* After an operation: the connection must be idle before the next one. */
static void client_after(struct worker *worker, uint32_t index, bool recovering, int64_t now_ns)
{
    worker->running--;
    if (recovering)
        worker->clients[index].state = CLIENT_RECOVERING;
    else
        client_free(worker, index, now_ns);
}

static bool client_recovers(struct worker *worker, uint32_t index)
{
    const struct driver_ops *ops = worker->driver->ops;
    return ops->recover != NULL && ops->recover(worker->driver, index);
}

static void operation_count_failed(struct worker *worker, const struct client *client)
{
    ledger_of(worker, client->due_in, client->script)->failed++;
    worker->count.failed++;
}

static void operation_complete(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    bool recovering = client_recovers(worker, index);
    if (__builtin_expect(recovering, 0)) {
        recorder_fault(&worker->recorder, worker->phase, "IN_TRANSACTION",
                       "the script ended inside a transaction, which was rolled back", now_ns);
        operation_count_failed(worker, client);
    } else {
        recorder_complete(&worker->recorder, client->due_in, client->script, client->due_ns, client->sent_ns, now_ns);
        worker->count.completed++;
    }
    client_after(worker, index, recovering, now_ns);
}

static void client_pause(struct worker *worker, uint32_t index, int64_t now_ns)
{
    worker->clients[index].state = CLIENT_PAUSED;
    worker->clients[index].free_ns = now_ns + PAUSE_NS;
    worker->pause[(worker->pause_first + worker->pause_count++) % worker->client_count] = index;
}

/* A \set went wrong. */
static void operation_fail_in_script(struct worker *worker, uint32_t index, const char *wrong, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    recorder_fault(&worker->recorder, worker->phase, "SCRIPT", wrong, now_ns);
    operation_count_failed(worker, client);
    bool recovering = client_recovers(worker, index);
    if (!recovering && !worker->spec->open_loop && client->sent_ns < 0) {
        worker->running--;
        client_pause(worker, index, now_ns);
    } else {
        client_after(worker, index, recovering, now_ns);
    }
}

/* Goes on at the client's next step, up to the next I/O step or the end. */
static void operation_continue(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker->shape->scripts[client->script].program;
    struct value *vars = client->vars + worker->shape->first_variable[client->script];
    for (; client->step < program->step_count; client->step++) {
        const struct step *step = &program->steps[client->step];
        if (step->kind == STEP_SET) {
            const char *wrong = program_eval(step, vars, &client->rng);
            if (__builtin_expect(wrong != NULL, 0)) {
                operation_fail_in_script(worker, index, wrong, now_ns);
                return;
            }
        } else {
            client->step_sent_ns = worker->driver->ops->submit(worker->driver, index, program, step, vars);
            if (client->sent_ns < 0)
                client->sent_ns = client->step_sent_ns;
            return;
        }
    }
    operation_complete(worker, index, now_ns);
}

static void operation_start(struct worker *worker, uint32_t index, int script, int64_t due_ns, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    client->state = CLIENT_RUNNING;
    client->script = script;
    client->due_in = phase_due_in(worker, due_ns);
    client->step = 0;
    client->due_ns = due_ns;
    client->sent_ns = -1;
    worker->running++;
    operation_continue(worker, index, now_ns);
}

/* ---- closed loop ---- */

static int client_choose(struct worker *worker, struct client *client)
{
    const struct load_shape *shape = worker->shape;
    if (shape->script_count == 1)
        return 0;
    return load_shape_script(shape, pl_rng_range(&client->choice, 0, shape->weight_sum - 1));
}

/* One operation of the number that may start; true when the load is not limited by count. */
static bool quota_take(struct worker *worker)
{
    return !worker->has_quota || atomic_fetch_sub_explicit(worker->quota, 1, memory_order_relaxed) > 0;
}

static bool quota_is_used_up(const struct worker *worker)
{
    return worker->has_quota && atomic_load_explicit(worker->quota, memory_order_relaxed) <= 0;
}

static void client_free(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    client->state = CLIENT_IDLE;
    if (worker->spec->open_loop) {
        worker->stack[worker->stack_count++] = index;
        return;
    }
    if (worker->phase == PHASE_DRAIN || !quota_take(worker))
        return;
    int script = client_choose(worker, client);
    operation_due(worker, script, now_ns);
    operation_start(worker, index, script, now_ns, now_ns);
}

static void pauses_end(struct worker *worker, int64_t now_ns)
{
    while (worker->pause_count > 0) {
        uint32_t index = worker->pause[worker->pause_first];
        struct client *client = &worker->clients[index];
        if (client->state == CLIENT_PAUSED && client->free_ns > now_ns)
            return;
        worker->pause_first = (worker->pause_first + 1) % worker->client_count;
        worker->pause_count--;
        if (client->state == CLIENT_PAUSED)
            client_free(worker, index, now_ns);
    }
}

static int64_t pause_end_next_ns(const struct worker *worker)
{
    return worker->pause_count == 0 ? NEVER : worker->clients[worker->pause[worker->pause_first]].free_ns;
}

/* ---- open loop ---- */

static void arrivals_init(struct worker *worker, struct worker_arrivals *arrivals, int64_t start_ns)
{
    const struct load_spec *spec = worker->spec;
    timetable_init(&arrivals->timetable, spec->arrivals, spec->rate_per_s, worker->index, worker->workers, start_ns,
                   spec->seed);
    arrivals->index = worker->index;
}

/* Takes the next arrival. Its script follows from its index alone, so that both places agree on it. */
static int64_t arrival_take(struct worker *worker, struct worker_arrivals *arrivals, int *ret_script)
{
    const struct load_shape *shape = worker->shape;
    *ret_script = 0;
    if (shape->script_count > 1) {
        struct pl_rng rng;
        pl_rng_init(&rng, worker->spec->seed, PL_RNG_CHOICE, (uint64_t)arrivals->index);
        *ret_script = load_shape_script(shape, pl_rng_range(&rng, 0, shape->weight_sum - 1));
    }
    int64_t due_ns = timetable_peek(&arrivals->timetable);
    timetable_advance(&arrivals->timetable);
    arrivals->index += worker->workers;
    return due_ns;
}

static int64_t arrival_next_ns(const struct worker *worker)
{
    if (!worker->spec->open_loop || worker->phase == PHASE_DRAIN)
        return NEVER;
    int64_t due_ns = timetable_peek(&worker->due_next.timetable);
    return due_ns < worker->measure_end_ns ? due_ns : NEVER;
}

/* Starts waiting operations while there are free clients. */
static void backlog_start(struct worker *worker, int64_t now_ns)
{
    if (worker->phase == PHASE_DRAIN && now_ns >= worker->drain_end_ns)
        return;
    while (worker->backlog > 0 && worker->stack_count > 0 && !worker->stopped) {
        uint32_t index = worker->stack[--worker->stack_count];
        if (worker->clients[index].state != CLIENT_IDLE)
            continue; /* it died while it was free */
        int script;
        int64_t due_ns = arrival_take(worker, &worker->start_next, &script);
        worker->backlog--;
        operation_start(worker, index, script, due_ns, now_ns);
    }
}

/* Counts everything that is due by now_ns. */
static void arrivals_count(struct worker *worker, int64_t now_ns)
{
    while (arrival_next_ns(worker) <= now_ns) {
        int script;
        int64_t due_ns = arrival_take(worker, &worker->due_next, &script);
        time_advance(worker, due_ns);
        operation_due(worker, script, due_ns);
        worker->backlog++;
    }
}

/* ---- events ---- */

static void client_lose(struct worker *worker, uint32_t index)
{
    struct client *client = &worker->clients[index];
    if (client->state == CLIENT_RUNNING) {
        operation_count_failed(worker, client);
        worker->running--;
    }
    client->state = CLIENT_DEAD;
    worker->alive--;
    atomic_fetch_sub_explicit(&worker->shared->alive, 1, memory_order_relaxed);
}

static void step_end(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    int io_index = worker->shape->scripts[client->script].program->steps[client->step].io_index;
    if (__builtin_expect(done->outcome == DRIVER_OK, 1)) {
        recorder_step(&worker->recorder, client->due_in, client->script, io_index, done->done_ns - client->step_sent_ns);
        client->step++;
        operation_continue(worker, done->client, done->done_ns);
        return;
    }
    recorder_cell(&worker->recorder, client->due_in, client->script, io_index)->ledger.failed++;
    if (done->outcome == DRIVER_LOST) {
        client_lose(worker, done->client);
        return;
    }
    operation_count_failed(worker, client);
    client_after(worker, done->client, client_recovers(worker, done->client), done->done_ns);
}

static void event_handle(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    if (__builtin_expect(done->outcome != DRIVER_OK, 0))
        recorder_fault(&worker->recorder, worker->phase, done->code, done->text, done->done_ns);
    switch (client->state) {
    case CLIENT_RUNNING:
        step_end(worker, done);
        break;
    case CLIENT_RECOVERING:
        if (done->outcome == DRIVER_LOST)
            client_lose(worker, done->client);
        else
            client_free(worker, done->client, done->done_ns);
        break;
    case CLIENT_IDLE:
    case CLIENT_PAUSED:
        assert(done->outcome == DRIVER_LOST);
        client_lose(worker, done->client);
        break;
    case CLIENT_DEAD:
        break;
    }
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
            event_handle(worker, &worker->done[i]);
    }
}

static void clock_start(struct worker *worker, int64_t start_ns)
{
    const struct load_spec *spec = worker->spec;
    int64_t warm_up_ns = worker->has_quota ? 0 : spec->warm_up_ns;
    worker->start_ns = worker->last_ns = start_ns;
    worker->measure_start_ns = start_ns + warm_up_ns;
    worker->measure_end_ns = worker->has_quota ? NEVER : worker->measure_start_ns + spec->measure_ns;
    worker->next_slice_ns = start_ns + spec->slice_ns;
    worker->next_phase_ns = worker->measure_start_ns;
    worker->cpu_start_ns = pl_clock_thread_cpu_ns();
    enum phase phase = warm_up_ns > 0 ? PHASE_WARM_UP : PHASE_MEASURE;
    recorder_start(&worker->recorder, start_ns, phase);
    phase_enter(worker, phase, start_ns);
    cut_plan(worker);
    if (spec->open_loop) {
        arrivals_init(worker, &worker->due_next, start_ns);
        arrivals_init(worker, &worker->start_next, start_ns);
    }
}

static void clients_start(struct worker *worker)
{
    /* open loop: the stack is filled from the far end, so that client 0 is used first */
    bool open_loop = worker->spec->open_loop;
    for (uint32_t i = 0; i < (uint32_t)worker->client_count; i++) {
        uint32_t index = open_loop ? (uint32_t)worker->client_count - 1 - i : i;
        if (worker->clients[index].state == CLIENT_IDLE)
            client_free(worker, index, worker->start_ns);
    }
}

static bool is_over(const struct worker *worker)
{
    if (worker->phase == PHASE_DRAIN) {
        bool more_to_start = worker->backlog > 0 && worker->alive > 0 && !worker->stopped;
        return worker->last_ns >= worker->drain_end_ns || (worker->running == 0 && !more_to_start);
    }
    if (worker->running > 0 || worker->spec->open_loop)
        return false;
    return worker->alive == 0 || quota_is_used_up(worker);
}

/* What has not ended is written off, so that the ledger balances. */
static void run_finish(struct worker *worker)
{
    for (int i = 0; i < worker->client_count; i++) {
        const struct client *client = &worker->clients[i];
        if (client->state == CLIENT_RUNNING) {
            ledger_of(worker, client->due_in, client->script)->unfinished++;
            worker->count.unfinished++;
        }
    }
    for (; worker->backlog > 0; worker->backlog--) {
        int script;
        int64_t due_ns = arrival_take(worker, &worker->start_next, &script);
        struct ledger *ledger = ledger_of(worker, phase_due_in(worker, due_ns), script);
        ledger->unfinished++;
        ledger->never_started++;
        worker->count.unfinished++;
        worker->count.never_started++;
    }
    int64_t end_ns = worker->last_ns;
    if (worker->phase != PHASE_DRAIN) { /* by count, or all connections are gone: the window ends with its last event */
        if (worker->phase == PHASE_MEASURE)
            worker->window_cpu_ns = pl_clock_thread_cpu_ns() - worker->window_cpu_start_ns;
        worker->measure_end_ns = end_ns;
        worker->drain_end_ns = end_ns;
    } else if (end_ns < worker->drain_end_ns) {
        worker->drain_end_ns = end_ns;
    }
    recorder_finish(&worker->recorder, worker->drain_end_ns);
    worker->cpu_ns = pl_clock_thread_cpu_ns() - worker->cpu_start_ns;
}

static void stop_look(struct worker *worker)
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
    int64_t until_ns = earliest(worker->next_cut_ns, worker->last_ns + LOOK_NS);
    if (worker->stack_count > 0) /* with nobody free to start it an arrival only has to be counted, which can wait */
        until_ns = earliest(until_ns, arrival_next_ns(worker));
    until_ns = earliest(until_ns, pause_end_next_ns(worker));
    return worker->phase == PHASE_DRAIN ? earliest(until_ns, worker->drain_end_ns) : until_ns;
}

void worker_run(struct worker *worker, int64_t start_ns)
{
    const struct driver_ops *ops = worker->driver->ops;
    bool open_loop = worker->spec->open_loop;
    wait_for_start(worker, start_ns);
    clock_start(worker, start_ns);
    stop_look(worker);
    clients_start(worker);
    while (!is_over(worker)) {
        int64_t before_ns = worker->last_ns;
        bool in_window = worker->phase == PHASE_MEASURE;
        int count = ops->wait(worker->driver, wait_until_ns(worker), worker->done, WORKER_BATCH);
        for (int i = 0; i < count; i++) {
            int64_t now_ns = worker->done[i].done_ns;
            arrivals_count(worker, now_ns);
            time_advance(worker, now_ns);
            if (worker->phase == PHASE_DRAIN && now_ns >= worker->drain_end_ns)
                break;
            event_handle(worker, &worker->done[i]);
            backlog_start(worker, now_ns);
        }
        if (count == 0 || open_loop || worker->pause_count > 0) {
            int64_t now_ns = ops->now(worker->driver);
            arrivals_count(worker, now_ns);
            time_advance(worker, now_ns);
            pauses_end(worker, now_ns);
            backlog_start(worker, now_ns);
        }
        if (in_window && worker->last_ns - before_ns > worker->longest_gap_ns)
            worker->longest_gap_ns = worker->last_ns - before_ns;
        stop_look(worker);
    }
    run_finish(worker);
    atomic_store_explicit(&worker->ended, true, memory_order_release);
}
