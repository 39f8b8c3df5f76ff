/* The open loop: operations become due when the timetable says so, whatever the clients do.
 *
 * A free client takes the oldest one that waits; when several clients are free, the one that became free last (its memory
 * and its server's are warm). Operations that wait are not stored: two places in the same stream of arrivals are kept, the
 * next to become due and the next to be started. */
#include "load/worker_int.h"

#include "base/ban.h"

static void place_init(struct worker *worker, struct worker_arrivals *arrivals, int64_t start_ns)
{
    const struct load_spec *spec = worker->spec;
    timetable_init(&arrivals->timetable, spec->arrivals, spec->rate_per_s, worker->index, worker->workers, start_ns,
                   spec->seed);
    arrivals->index = worker->index;
}

void worker_arrivals_init(struct worker *worker, int64_t start_ns)
{
    place_init(worker, &worker->due_next, start_ns);
    place_init(worker, &worker->start_next, start_ns);
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

int64_t worker_arrival_next_ns(const struct worker *worker)
{
    if (worker->phase == PHASE_DRAIN || worker->due_left == 0)
        return INT64_MAX;
    int64_t due_ns = timetable_peek(&worker->due_next.timetable);
    return due_ns < worker->measure_end_ns ? due_ns : INT64_MAX;
}

void worker_arrivals_count(struct worker *worker, int64_t now_ns)
{
    while (worker_arrival_next_ns(worker) <= now_ns) {
        int script;
        int64_t due_ns = arrival_take(worker, &worker->due_next, &script);
        worker_advance(worker, due_ns);
        worker_operation_due(worker, script, due_ns);
        worker->backlog++;
        worker->due_left--;
    }
}

bool worker_backlog_may_start(const struct worker *worker)
{
    return worker->backlog > 0 && !worker->stopped &&
           (worker->phase != PHASE_DRAIN || worker->spec->at_end == LOAD_START_LATE);
}

static void backlog_skip(struct worker *worker, uint32_t index, int64_t now_ns)
{
    int64_t limit_ns = worker->spec->latency_limit_ns;
    while (worker->backlog > 0 && now_ns - timetable_peek(&worker->start_next.timetable) > limit_ns) {
        int script;
        int64_t due_ns = arrival_take(worker, &worker->start_next, &script);
        worker->backlog--;
        worker_operation_skip(worker, index, script, due_ns, now_ns);
    }
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
        if (worker->backlog == 0)
            return;
        int script;
        int64_t due_ns = arrival_take(worker, &worker->start_next, &script);
        worker->stack_count--;
        worker->backlog--;
        started++;
        worker_operation_start(worker, index, script, due_ns, now_ns);
    }
}

void worker_backlog_write_off(struct worker *worker)
{
    for (; worker->backlog > 0; worker->backlog--) {
        int script;
        int64_t due_ns = arrival_take(worker, &worker->start_next, &script);
        struct ledger unfinished = {.unfinished = 1, .never_started = 1};
        ledger_add(&recorder_cell(&worker->recorder, worker_due_in(worker, due_ns), script, -1)->ledger, &unfinished);
        ledger_add(&worker->count.ledger, &unfinished);
    }
}
