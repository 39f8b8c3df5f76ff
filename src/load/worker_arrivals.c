/* What becomes due when.
 *
 * Open loop: operations become due when the timetable says so, whatever the clients do. A free client takes the oldest one
 * that waits; when several clients are free, the one that became free last (its memory and its server's are warm).
 * Operations that wait are not stored: two places in the same stream of arrivals are kept, the next to become due and the
 * next to be started.
 *
 * Sessions: what arrives is a user, whose first operation it is. The client that takes it is the user's until his last
 * operation has ended; each further one becomes due when the one before has ended and he has thought. Closed loop with
 * think time: the same without arrivals and without end. Both streams, arrivals and those who have thought, are counted in
 * order of time, each in the slice of its moment; what is due is started after all events of the worker's turn. */
#include <assert.h>
#include <math.h>

#include "load/worker_int.h"
#include "script/feed.h"

#include "base/ban.h"

/* So many are counted or skipped between two looks at whether the load was told to stop. */
enum { ARRIVALS_AT_ONCE = 4096 };

/* ---- random streams of single operations ---- */

/* Which of the streams is that of the client's operation that comes next: the same for any number of workers. */
static uint64_t place_of_client(const struct worker *worker, uint32_t index)
{
    uint64_t number = (uint64_t)worker->clients[index].number * (uint64_t)worker->spec->clients;
    return number + (uint64_t)worker->first_client + index;
}

/* With the tenant's group, which is the first thing drawn from the place's stream of tenants. */
static int lane_at(const struct worker *worker, int script, uint64_t place)
{
    const struct load_shape *shape = worker->shape;
    if (shape->group_count == 1)
        return script;
    struct pl_rng rng;
    pl_rng_init(&rng, worker->spec->seed, PL_RNG_TENANT, place);
    return script * shape->group_count + load_shape_group(shape, pl_rng_unit(&rng));
}

void worker_tenant_take(struct worker *worker, uint32_t index, const struct worker_due *due)
{
    const struct load_shape *shape = worker->shape;
    struct pl_rng rng;
    pl_rng_init(&rng, worker->spec->seed, PL_RNG_TENANT, due->place);
    if (shape->group_count > 1)
        pl_rng_unit(&rng);
    uint32_t row = feed_draw(shape->tenants, (uint32_t)shape->lanes[due->lane].group, &rng);
    worker->tenant_of[index] = row;
    feed_set(shape->tenants, row, worker->clients[index].vars);
}

/* The client chooses its next operation itself. Arrivals have the streams below 2^63. */
static inline struct worker_due client_choose(struct worker *worker, uint32_t index, int64_t due_ns)
{
    const struct load_shape *shape = worker->shape;
    struct worker_due due = {.due_ns = due_ns};
    if (__builtin_expect(shape->script_count > 1, 0))
        due.lane = load_shape_script(shape, pl_rng_range(&worker->clients[index].choice, 0, shape->weight_sum - 1));
    if (__builtin_expect(worker->tenant_of != NULL, 0)) {
        /* a user is of one tenant as long as he stays: the one of his arrival */
        due.place = worker->session_left != NULL ? worker->session_place[index]
                                                 : place_of_client(worker, index) | UINT64_C(1) << 63;
        due.lane = lane_at(worker, due.lane, due.place);
    }
    return due;
}

/* ---- free clients ---- */

static void free_push(struct worker *worker, uint32_t index, int64_t now_ns)
{
    int at = worker->freed_first + worker->stack_count;
    worker->freed_ns[at < worker->client_count ? at : at - worker->client_count] = now_ns;
    worker->stack[worker->stack_count++] = index;
}

/* The client on top. *ret_since_ns: since when there was a client for the operation that takes this one: clients are alike,
 * so it is the one that has been free for the longest, whichever does it. */
static uint32_t free_pop(struct worker *worker, int64_t *ret_since_ns)
{
    *ret_since_ns = worker->freed_ns[worker->freed_first++];
    if (worker->freed_first == worker->client_count)
        worker->freed_first = 0;
    return worker->stack[--worker->stack_count];
}

/* One operation of the number that may start; true when the load is not limited by count. */
static bool quota_take(struct worker *worker, const struct client *client)
{
    if (worker->has_quota)
        return atomic_fetch_sub_explicit(worker->quota, 1, memory_order_relaxed) > 0;
    return worker->per_client == 0 || client->number < worker->per_client;
}

void worker_client_free(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    client->state = CLIENT_IDLE;
    if (worker->spec->open_loop) {
        free_push(worker, index, now_ns);
        return;
    }
    if (worker->phase == PHASE_DRAIN || !quota_take(worker, client))
        return;
    struct worker_due due = client_choose(worker, index, now_ns);
    worker_operation_due(worker, &due);
    worker_operation_assign(worker, index, &due);
    worker_operation_start(worker, index, now_ns, now_ns);
}

/* ---- arrivals ---- */

static void place_init(struct worker *worker, struct worker_arrivals *arrivals, int64_t start_ns)
{
    const struct load_spec *spec = worker->spec;
    double rate_per_s = spec->rate_per_s;
    /* a timetable of Poisson arrivals takes one of `workers` equal parts: this one's is to be its share of the clients */
    if (spec->arrivals == PLAN_POISSON)
        rate_per_s *= (double)worker->client_count * worker->workers / spec->clients;
    timetable_init(&arrivals->timetable, spec->arrivals, rate_per_s, worker->index, worker->workers, start_ns, spec->seed);
    arrivals->index = worker->index;
}

void worker_arrivals_init(struct worker *worker, int64_t start_ns)
{
    place_init(worker, &worker->due_next, start_ns);
    place_init(worker, &worker->start_next, start_ns);
}

/* Takes the next arrival. Its lane follows from its index alone, so that both places agree on it. */
static struct worker_due arrival_take(struct worker *worker, struct worker_arrivals *arrivals)
{
    const struct load_shape *shape = worker->shape;
    struct worker_due due = {.due_ns = timetable_peek(&arrivals->timetable), .place = (uint64_t)arrivals->index};
    int script = 0;
    if (shape->script_count > 1) {
        struct pl_rng rng;
        pl_rng_init(&rng, worker->spec->seed, PL_RNG_CHOICE, due.place);
        script = load_shape_script(shape, pl_rng_range(&rng, 0, shape->weight_sum - 1));
    }
    due.lane = lane_at(worker, script, due.place);
    timetable_advance(&arrivals->timetable);
    arrivals->index += worker->workers;
    return due;
}

static int64_t *waiting_of(struct worker *worker, const struct worker_due *due)
{
    return &worker->waiting[due->lane][worker_due_in(worker, due->due_ns) == PHASE_MEASURE];
}

/* Takes the oldest of those that wait. */
static struct worker_due backlog_take(struct worker *worker)
{
    struct worker_due due = arrival_take(worker, &worker->start_next);
    worker->backlog--;
    (*waiting_of(worker, &due))--;
    return due;
}

int64_t worker_arrival_next_ns(const struct worker *worker)
{
    if (worker->phase == PHASE_DRAIN || worker->due_left == 0)
        return INT64_MAX;
    int64_t due_ns = timetable_peek(&worker->due_next.timetable);
    return due_ns < worker->measure_end_ns ? due_ns : INT64_MAX;
}

static void arrival_count(struct worker *worker)
{
    struct worker_due due = arrival_take(worker, &worker->due_next);
    struct worker_self *self = &worker->self;
    worker_advance(worker, due.due_ns);
    worker_operation_due(worker, &due);
    worker->backlog++;
    (*waiting_of(worker, &due))++;
    worker->due_left--;
    if (due.due_ns < worker->measure_start_ns)
        return;
    if (self->last_asked_ns != 0)
        moments_add(&self->gaps_asked, (double)(due.due_ns - self->last_asked_ns));
    self->last_asked_ns = due.due_ns;
}

/* ---- those who think ---- */

/* Its user goes, if it had one. */
static void client_leave(struct worker *worker, uint32_t index, int64_t now_ns)
{
    const struct driver_ops *ops = worker->driver->ops;
    if (worker->session_left != NULL) {
        worker->session_left[index] = 0;
        if (ops->forget != NULL)
            ops->forget(worker->driver, index);
    }
    worker_client_free(worker, index, now_ns);
}

/* Will another operation of this client, or of its user, become due? As far as it is known now. */
static bool client_goes_on(const struct worker *worker, uint32_t index)
{
    if (worker->phase == PHASE_DRAIN)
        return false;
    if (worker->session_left != NULL)
        return worker->session_left[index] > 0 && worker->due_left > 0;
    if (worker->has_quota)
        return atomic_load_explicit(worker->quota, memory_order_relaxed) > 0;
    return worker->per_client == 0 || worker->clients[index].number < worker->per_client;
}

void worker_client_think(struct worker *worker, uint32_t index, int64_t pause_ns, int64_t now_ns)
{
    const struct load_spec *spec = worker->spec;
    if (!client_goes_on(worker, index)) {
        client_leave(worker, index, now_ns);
        return;
    }
    int64_t think_ns = spec->think_ns, until_ns;
    if (think_ns > 0 && spec->think_exponential) {
        struct pl_rng rng;
        pl_rng_init(&rng, spec->seed, PL_RNG_THINK, place_of_client(worker, index));
        double drawn_ns = rint(pl_rng_exponential(&rng, (double)think_ns));
        think_ns = drawn_ns < (double)(INT64_MAX / 2) ? (int64_t)drawn_ns : INT64_MAX / 2;
    }
    if (think_ns < pause_ns)
        think_ns = pause_ns;
    if (__builtin_add_overflow(now_ns, think_ns, &until_ns))
        until_ns = INT64_MAX;
    worker->clients[index].state = CLIENT_THINKING;
    stage_wakes_push(&worker->thinks, index, until_ns);
}

/* The first of them has thought. */
static void thinker_count(struct worker *worker)
{
    struct stage_wake wake = stage_wakes_pop(&worker->thinks);
    uint32_t index = wake.client;
    struct client *client = &worker->clients[index];
    worker_advance(worker, wake.at_ns);
    bool goes_on = client_goes_on(worker, index) && (worker->session_left != NULL || quota_take(worker, client));
    if (!goes_on) {
        client_leave(worker, index, wake.at_ns);
        return;
    }
    if (worker->session_left != NULL) {
        worker->session_left[index]--;
        worker->due_left--;
    }
    struct worker_due due = client_choose(worker, index, wake.at_ns);
    worker_operation_due(worker, &due);
    worker_operation_assign(worker, index, &due);
    client->state = CLIENT_READY;
    int at = worker->ready_first + worker->ready_count++;
    assert(worker->ready_count <= worker->client_count);
    worker->ready[at < worker->client_count ? at : at - worker->client_count] = index;
}

void worker_thinkers_leave(struct worker *worker, int64_t now_ns)
{
    while (worker->thinks.count > 0)
        client_leave(worker, stage_wakes_pop(&worker->thinks).client, now_ns);
}

void worker_dues_count(struct worker *worker, int64_t now_ns)
{
    for (int counted = 0;; counted++) {
        int64_t arrival_ns = worker->spec->open_loop ? worker_arrival_next_ns(worker) : INT64_MAX;
        int64_t thought_ns = stage_wakes_next_ns(&worker->thinks);
        if (arrival_ns > now_ns && thought_ns > now_ns)
            return;
        if (counted == ARRIVALS_AT_ONCE) {
            counted = 0;
            worker_stop_look(worker);
        } else if (arrival_ns <= thought_ns) {
            arrival_count(worker);
        } else {
            thinker_count(worker);
        }
    }
}

/* ---- starting ---- */

static bool may_start(const struct worker *worker)
{
    return !worker->stopped && (worker->phase != PHASE_DRAIN || worker->spec->at_end == LOAD_START_LATE);
}

bool worker_backlog_may_start(const struct worker *worker)
{
    return worker->backlog > 0 && may_start(worker);
}

static void backlog_skip(struct worker *worker, uint32_t index, int64_t now_ns)
{
    int64_t limit_ns = worker->spec->latency_limit_ns;
    for (int skipped = 0;
         worker_backlog_may_start(worker) && now_ns - timetable_peek(&worker->start_next.timetable) > limit_ns; skipped++) {
        if (skipped == ARRIVALS_AT_ONCE) {
            skipped = 0;
            worker_stop_look(worker);
            continue;
        }
        struct worker_due due = backlog_take(worker);
        worker_operation_skip(worker, index, &due, now_ns);
    }
}

/* How many operations the user that arrived at this place carries out after the first. */
static int64_t session_draw(const struct worker *worker, uint64_t place)
{
    double mean = worker->spec->session_operations;
    if (!worker->spec->session_geometric)
        return (int64_t)mean - 1;
    struct pl_rng rng;
    pl_rng_init(&rng, worker->spec->seed, PL_RNG_SESSION, place);
    double unit = pl_rng_unit(&rng);
    return mean > 1 ? (int64_t)floor(log1p(-unit) / log1p(-1 / mean)) : 0;
}

void worker_backlog_start(struct worker *worker, int64_t now_ns)
{
    for (int started = 0; started < WORKER_BATCH && worker->stack_count > 0 && worker_backlog_may_start(worker) &&
                          !worker_is_past_end(worker);) {
        uint32_t index = worker->stack[worker->stack_count - 1];
        if (worker->last_ns > now_ns) /* what was started may have taken its time */
            now_ns = worker->last_ns;
        if (worker->clients[index].state != CLIENT_IDLE) { /* it died while it was free */
            worker->stack_count--;
            continue;
        }
        if (worker->spec->latency_limit_ns > 0)
            backlog_skip(worker, index, now_ns);
        if (!worker_backlog_may_start(worker))
            return;
        struct worker_due due = backlog_take(worker);
        int64_t could_ns;
        free_pop(worker, &could_ns);
        started++;
        if (worker->session_left != NULL) {
            worker->session_left[index] = session_draw(worker, due.place);
            worker->session_place[index] = due.place;
        }
        worker->self.is_arrival = true;
        worker_operation_assign(worker, index, &due);
        worker_operation_start(worker, index, could_ns > due.due_ns ? could_ns : due.due_ns, now_ns);
        worker->self.is_arrival = false;
    }
}

void worker_ready_start(struct worker *worker, int64_t now_ns)
{
    /* not those that get ready meanwhile */
    for (int left = worker->ready_count; left > 0 && !worker_is_past_end(worker); left--) {
        uint32_t index = worker->ready[worker->ready_first++];
        if (worker->ready_first == worker->client_count)
            worker->ready_first = 0;
        worker->ready_count--;
        if (worker->last_ns > now_ns)
            now_ns = worker->last_ns;
        if (worker->clients[index].state != CLIENT_READY) /* it died while it was */
            continue;
        if (may_start(worker)) {
            worker_operation_start(worker, index, worker->clients[index].due_ns, now_ns);
        } else {
            worker->clients[index].state = CLIENT_HELD;
            worker->held++;
        }
    }
}

void worker_gap_count(struct worker *worker, int64_t at_ns)
{
    struct worker_self *self = &worker->self;
    if (self->last_start_ns != 0)
        moments_add(&self->gaps, (double)(at_ns - self->last_start_ns));
    self->last_start_ns = at_ns;
}

void worker_backlog_write_off(struct worker *worker, int64_t end_ns)
{
    if (worker->backlog == 0)
        return;
    int64_t count = 0;
    for (int lane = 0; lane < worker->shape->lane_count; lane++)
        count += worker->waiting[lane][0] + worker->waiting[lane][1];
    struct ledger unfinished = {.unfinished = count, .never_started = count};
    ledger_add(&worker->count.ledger, &unfinished);
    for (int looked = 0; worker->backlog > 0; worker->backlog--, looked++) {
        if (looked == ARRIVALS_AT_ONCE) {
            looked = 0;
            if (atomic_load_explicit(&worker->shared->stop, memory_order_relaxed) >= RECORDER_ABANDONED)
                break; /* nobody takes what is recorded */
        }
        struct worker_due due = arrival_take(worker, &worker->start_next);
        recorder_unfinished(&worker->recorder, worker_due_in(worker, due.due_ns), due.lane, false, end_ns - due.due_ns);
    }
    worker->backlog = 0;
}
