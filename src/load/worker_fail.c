/* How an operation fails, whether it is tried again, and what becomes of its client. */
#include <assert.h>
#include <string.h>

#include "load/worker_int.h"

#include "base/ban.h"

/* The cell of the client's current step among the steps of its lane: slice.step, or -1 when it has none. */
static int cell_of_step(const struct worker *worker, const struct client *client)
{
    const struct program *program = worker_program(worker, client);
    return client->step < program->step_count ? load_shape_step(worker->shape, &program->steps[client->step]) : -1;
}

static struct recorder_cell *cell_of(struct worker *worker, const struct client *client, int step)
{
    return recorder_cell(&worker->recorder, client->due_in, client->lane, step);
}

/* ---- what is told ---- */

static void notice_push(struct worker *worker, enum load_notice_kind kind, uint32_t index,
                        const struct worker_failure *failure, int64_t now_ns)
{
    const struct client *client = &worker->clients[index];
    struct load_notice notice = {.kind = kind,
                                 .client = worker->first_client + (int)index,
                                 .worker = worker->index,
                                 .script = worker->shape->lanes[client->lane].script,
                                 .step = failure->in_step ? (int)client->step : -1,
                                 .tries = client->tries,
                                 .at_ns = now_ns,
                                 .due_ns = client->due_ns,
                                 .is_lost = failure->is_lost,
                                 .while_connecting = failure->while_connecting};
    recorder_text(notice.code, sizeof notice.code, failure->code);
    recorder_text(notice.text, sizeof notice.text, failure->text);
    recorder_notice(&worker->notices, &notice);
}

/* ---- clients that end ---- */

/* It is as one whose connection was lost. */
static void client_end(struct worker *worker, uint32_t index, bool is_lost)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    if (!is_lost && ops->disconnect != NULL)
        ops->disconnect(worker->driver, index);
    client->state = CLIENT_DEAD;
    worker->alive--;
    atomic_fetch_sub_explicit(&worker->shared->alive, 1, memory_order_relaxed);
    worker->lost += is_lost;
    worker->ended_early++;
    if (worker->per_client > 0 && client->number < worker->per_client)
        worker->unfinished--;
    int go_on = 0;
    if (worker->spec->stop_on_lost_client)
        atomic_compare_exchange_strong(&worker->shared->stop, &go_on, 1);
}

/* No operation is under way of the client: will it get none any more, by what is known now? */
static bool client_is_done(const struct worker *worker, const struct client *client)
{
    if (worker->per_client > 0 && client->number >= worker->per_client)
        return true;
    return worker->phase == PHASE_DRAIN && !worker_backlog_may_start(worker);
}

/* One that had nothing to do any more is not missed. */
void worker_client_lose(struct worker *worker, uint32_t index, const struct worker_failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    if (client->state == CLIENT_PAUSED)
        stage_wakes_remove(&worker->wakes, index);
    else if (client->state == CLIENT_THINKING)
        stage_wakes_remove(&worker->thinks, index);
    if (client_is_done(worker, client)) {
        client->state = CLIENT_DEAD;
        return;
    }
    notice_push(worker, LOAD_CLIENT_ENDED, index, failure, now_ns);
    client_end(worker, index, true);
}

/* ---- failed, expired ---- */

static bool client_is_ended_by(const struct worker *worker, const struct client *client,
                               const struct worker_failure *failure)
{
    const struct load_spec *spec = worker->spec;
    if (failure->is_lost) /* connect_each: a new connection can be opened */
        return !spec->connect_each || spec->on_error != LOAD_GO_ON;
    if (failure->end == OPERATION_SERIALIZATION || failure->end == OPERATION_DEADLOCK)
        return false;
    /* what was queued can only be forgotten together with the connection */
    if (client->in_pipeline && worker->driver->ops->queue != NULL && !spec->connect_each)
        return true;
    return spec->on_error == LOAD_END_CLIENT || (spec->on_error == LOAD_GO_ON_AFTER_SQL && failure->is_script_fault);
}

static void failure_count(struct worker *worker, const struct client *client, const struct worker_failure *failure)
{
    struct attempts attempts = {.serialization = failure->end == OPERATION_SERIALIZATION,
                                .deadlock = failure->end == OPERATION_DEADLOCK};
    int step = failure->in_step ? cell_of_step(worker, client) : -1;
    if (step >= 0) {
        struct recorder_cell *cell = cell_of(worker, client, step);
        cell->ledger.failed++;
        attempts_add(&cell->attempts, &attempts);
        worker->count.step_failed++;
    }
    struct recorder_cell *cell = cell_of(worker, client, -1);
    cell->ledger.failed++;
    attempts_add(&cell->attempts, &attempts);
    attempts_add(&worker->count.attempts, &attempts);
    worker->count.ledger.failed++;
}

static void expiry_count(struct worker *worker, const struct client *client, const struct worker_failure *failure,
                         int64_t now_ns)
{
    int step = failure->in_step ? cell_of_step(worker, client) : -1;
    if (step >= 0) {
        recorder_expire(&worker->recorder, client->due_in, client->lane, step, now_ns - client->step_sent_ns);
        worker->count.step_expired++;
    }
    recorder_expire(&worker->recorder, client->due_in, client->lane, -1, now_ns - client->due_ns);
    worker->count.ledger.expired++;
}

void worker_operation_fail(struct worker *worker, uint32_t index, const struct worker_failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    if (failure->end == OPERATION_EXPIRED)
        expiry_count(worker, client, failure, now_ns);
    else
        failure_count(worker, client, failure);
    worker_tries_count(worker, client);
    worker_operation_close(worker, index, failure->end, now_ns);
    if (client_is_ended_by(worker, client, failure)) {
        notice_push(worker, LOAD_CLIENT_ENDED, index, failure, now_ns);
        client_end(worker, index, failure->is_lost);
        return;
    }
    if (worker->spec->tell_failures)
        notice_push(worker, LOAD_FAILURE, index, failure, now_ns);
    client->is_open = client->is_open && !failure->is_lost;
    worker_client_next(worker, index, true, now_ns);
}

void worker_operation_fail_in_script(struct worker *worker, uint32_t index, const char *code, const char *text,
                                     int64_t now_ns)
{
    recorder_fault(&worker->recorder, worker->phase, code, text, now_ns);
    const struct client *client = &worker->clients[index];
    struct worker_failure failure = {.code = code,
                                     .text = text,
                                     .end = OPERATION_FAILED,
                                     .is_script_fault = true,
                                     .in_step = client->step < worker_program(worker, client)->step_count};
    worker_operation_fail(worker, index, &failure, now_ns);
}

/* ---- further tries ---- */

static bool may_try_again(const struct worker *worker, const struct client *client, int64_t now_ns)
{
    const struct load_spec *spec = worker->spec;
    return worker->saved != NULL && (spec->max_tries < 0 || client->tries < spec->max_tries) &&
           worker->phase != PHASE_DRAIN &&
           (spec->latency_limit_ns == 0 || now_ns - client->due_ns <= spec->latency_limit_ns);
}

static void client_restore(struct worker *worker, uint32_t index)
{
    size_t count = worker->shape->variable_count;
    memcpy(worker->clients[index].vars, worker->saved + index * count, count * sizeof *worker->saved);
    worker->clients[index].rng = worker->saved_rng[index];
}

/* There is another try, from a step on; the current one made it necessary. */
static void try_begin(struct worker *worker, uint32_t index, const struct worker_failure *failure, uint32_t step,
                      int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    int failed = cell_of_step(worker, client);
    if (failed >= 0) {
        cell_of(worker, client, failed)->attempts.retries++;
        worker->count.step_retries++;
    }
    if (worker->spec->tell_failures)
        notice_push(worker, LOAD_RETRY, index, failure, now_ns);
    client->tries++;
    client->step = step;
    client->state = CLIENT_RUNNING;
}

/* Nothing is open any more after a try that failed. */
static void operation_try_again(struct worker *worker, uint32_t index, const struct worker_failure *failure, int64_t now_ns)
{
    if (!may_try_again(worker, &worker->clients[index], now_ns)) {
        worker_operation_fail(worker, index, failure, now_ns);
        return;
    }
    try_begin(worker, index, failure, 0, now_ns);
    client_restore(worker, index);
    worker_operation_continue(worker, index, now_ns);
}

void worker_try_fail(struct worker *worker, uint32_t index, const struct worker_failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    bool may_be_retried = failure->end == OPERATION_SERIALIZATION || failure->end == OPERATION_DEADLOCK;
    if (!may_be_retried || !may_try_again(worker, client, now_ns)) {
        worker_operation_fail(worker, index, failure, now_ns);
    } else if (ops->recover != NULL && ops->recover(worker->driver, index)) {
        client->state = CLIENT_ROLLING_BACK;
        client->failed_as = (uint8_t)failure->end;
        if (worker->saved_text != NULL)
            recorder_text(worker->saved_text[index], LOAD_NOTICE_TEXT_BYTES, failure->text);
    } else {
        operation_try_again(worker, index, failure, now_ns);
    }
}

void worker_rollback_end(struct worker *worker, const struct driver_done *done)
{
    const struct client *client = &worker->clients[done->client];
    struct worker_failure failure = {.code = client->failed_as == OPERATION_DEADLOCK ? "40P01" : "40001",
                                     .text = worker->saved_text == NULL ? NULL : worker->saved_text[done->client],
                                     .end = (enum operation_end)client->failed_as,
                                     .in_step = true};
    if (done->outcome == DRIVER_LOST) {
        failure = (struct worker_failure){
            .code = done->code, .text = done->text, .end = OPERATION_FAILED, .is_lost = true, .in_step = true};
        worker_operation_fail(worker, done->client, &failure, done->done_ns);
    } else {
        operation_try_again(worker, done->client, &failure, done->done_ns);
    }
}

void worker_step_again(struct worker *worker, uint32_t index, const struct worker_failure *failure, uint32_t target,
                       int64_t now_ns)
{
    const struct client *client = &worker->clients[index];
    int step = cell_of_step(worker, client);
    if (step >= 0) {
        cell_of(worker, client, step)->ledger.failed++;
        worker->count.step_failed++;
    }
    try_begin(worker, index, failure, target, now_ns);
    worker_operation_continue(worker, index, now_ns);
}
