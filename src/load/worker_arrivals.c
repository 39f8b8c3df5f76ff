/* The open loop: operations become due when the timetable says so, whatever the clients do.
 *
 * A free client takes the oldest one that waits; when several clients are free, the one that became free last (its memory
 * and its server's are warm). Operations that wait are not stored: two places in the same stream of arrivals are kept, the
 * next to become due and the next to be started. */
#include "load/worker_int.h"

#include "base/ban.h"

/* So many are counted or skipped between two looks at whether the load was told to stop. */
enum { ARRIVALS_AT_ONCE = 4096 };

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

static int64_t *waiting_of(struct worker *worker, int script, int64_t due_ns)
{
    return &worker->waiting[script][worker_due_in(worker, due_ns) == PHASE_MEASURE];
}

/* Takes the oldest of those that wait. */
static int64_t backlog_take(struct worker *worker, int *ret_script)
{
    int64_t due_ns = arrival_take(worker, &worker->start_next, ret_script);
    worker->backlog--;
    (*waiting_of(worker, *ret_script, due_ns))--;
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
    for (int counted = 0; worker_arrival_next_ns(worker) <= now_ns; counted++) {
        if (counted == ARRIVALS_AT_ONCE) {
            counted = 0;
            worker_stop_look(worker);
            continue;
        }
        int script;
        int64_t due_ns = arrival_take(worker, &worker->due_next, &script);
        worker_advance(worker, due_ns);
        worker_operation_due(worker, script, due_ns);
        worker->backlog++;
        (*waiting_of(worker, script, due_ns))++;
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
    for (int skipped = 0;
         worker_backlog_may_start(worker) && now_ns - timetable_peek(&worker->start_next.timetable) > limit_ns; skipped++) {
        if (skipped == ARRIVALS_AT_ONCE) {
            skipped = 0;
            worker_stop_look(worker);
            continue;
        }
        int script;
        int64_t due_ns = backlog_take(worker, &script);
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
        if (!worker_backlog_may_start(worker))
            return;
        int script;
        int64_t due_ns = backlog_take(worker, &script);
        worker->stack_count--;
        started++;
        worker_operation_start(worker, index, script, due_ns, now_ns);
    }
}

void worker_backlog_write_off(struct worker *worker)
{
    for (int i = 0; worker->backlog > 0 && i < 2 * worker->shape->script_count; i++) {
        int script = i / 2;
        int64_t count = worker->waiting[script][i % 2];
        struct ledger unfinished = {.unfinished = count, .never_started = count};
        enum phase due_in = i % 2 == 1 ? PHASE_MEASURE : PHASE_WARM_UP;
        ledger_add(&recorder_cell(&worker->recorder, due_in, script, -1)->ledger, &unfinished);
        ledger_add(&worker->count.ledger, &unfinished);
    }
    worker->backlog = 0;
}
