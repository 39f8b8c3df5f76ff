/* The life of an operation.
 *
 * It becomes DUE: in the closed loop at the moment its client became free, in the open loop when the timetable says so. It
 * belongs to the phase in which it was due. A free client takes it (connect_each: and opens its connection). The client
 * then goes through the steps of its program: what needs nobody else it carries out at once, each SQL step it hands to the
 * driver, and when the driver reports the end of one it goes on with the next; inside a pipeline the SQL steps are queued,
 * and only the end of the pipeline is waited for. After the last step the operation is COMPLETED.
 *
 * An error of the server, of a meta command, or a lost connection ends the try. After a serialization failure or a deadlock
 * there may be another: what is open is rolled back, the client's variables and random stream become what they were at the
 * start, and the script begins again. Otherwise the operation has FAILED; its client goes on with the next, or ends, as the
 * load's on_error says. What has not ended when the drain is over is UNFINISHED, and what was never sent is counted apart
 * within it. Open loop with a latency limit: what is too late when a client is free for it is SKIPPED.
 *
 * An operation that ends without having waited for anything hands its client over to the wakes, so that a script without
 * SQL neither recurses nor keeps the others from their turn. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "load/worker_int.h"

#include "base/ban.h"

#define PAUSE_NS PL_NS_PER_MS

/* Why a try ended. */
struct failure {
    const char *code, *text;
    enum operation_end end; /* SERIALIZATION, DEADLOCK, FAILED */
    bool is_script_fault;   /* the script's doing, not the server's */
    bool is_lost, while_connecting;
    bool in_step; /* the client's current step is to blame */
};

static struct ledger *ledger_of(struct worker *worker, enum phase due_in, int script)
{
    return &recorder_cell(&worker->recorder, due_in, script, -1)->ledger;
}

static const struct program *program_of(const struct worker *worker, const struct client *client)
{
    return worker->shape->scripts[client->script].program;
}

/* The cell of the client's current step; NULL when it has none. */
static struct recorder_cell *cell_of_step(struct worker *worker, const struct client *client)
{
    const struct program *program = program_of(worker, client);
    int step = client->step < program->step_count ? load_shape_step(worker->shape, &program->steps[client->step]) : -1;
    return step < 0 ? NULL : recorder_cell(&worker->recorder, client->due_in, client->script, step);
}

static inline void step_record(struct worker *worker, const struct client *client, const struct step *step,
                               int64_t service_ns)
{
    int index = load_shape_step(worker->shape, step);
    if (index < 0)
        return;
    recorder_step(&worker->recorder, client->due_in, client->script, index, service_ns);
    worker->count.step_completed++;
}

/* Of a pipeline that has ended: what was queued before `end` (NULL: all of it) has completed. */
static void queued_record(struct worker *worker, uint32_t index, const struct step *end)
{
    const struct client *client = &worker->clients[index];
    if (worker->queued == NULL)
        return;
    const struct worker_queued *queued = worker->queued + index * worker->queued_most;
    for (uint32_t i = 0; i < worker->queued_count[index] && queued[i].step != end; i++)
        step_record(worker, client, queued[i].step, queued[i].service_ns);
}

/* The step was carried out without waiting for anything. */
static void step_pass(struct worker *worker, uint32_t index, const struct step *step, int64_t service_ns)
{
    bool is_queued = worker->driver->ops->queue != NULL && (step->kind == STEP_SQL || step->kind == STEP_SYNC_PIPELINE);
    if (!is_queued) {
        step_record(worker, &worker->clients[index], step, service_ns);
        return;
    }
    assert(worker->queued_count[index] < worker->queued_most);
    worker->queued[index * worker->queued_most + worker->queued_count[index]++] =
        (struct worker_queued){.step = step, .service_ns = service_ns};
}

/* ---- what is told ---- */

static void notice_push(struct worker *worker, enum load_notice_kind kind, uint32_t index, const struct failure *failure,
                        int64_t now_ns)
{
    const struct client *client = &worker->clients[index];
    struct load_notice notice = {.kind = kind,
                                 .client = worker->first_client + (int)index,
                                 .worker = worker->index,
                                 .script = client->script,
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

/* Of the operations that are to be logged those are chosen that their client and number say, so that the choice is the
 * same for any number of workers. */
static bool is_sampled(const struct worker *worker, uint32_t index)
{
    double frac = worker->spec->sampling_frac;
    if (!(frac > 0 && frac < 1))
        return true;
    struct pl_rng rng;
    uint64_t number = (uint64_t)worker->clients[index].number * (uint64_t)worker->spec->clients;
    pl_rng_init(&rng, worker->spec->seed, PL_RNG_SAMPLE, number + (uint64_t)worker->first_client + index);
    return pl_rng_unit(&rng) < frac;
}

static void operation_log(struct worker *worker, uint32_t index, const struct operation *operation)
{
    if (!is_sampled(worker, index))
        return;
    struct operation logged = *operation;
    logged.client = (int32_t)(worker->first_client + (int)index);
    logged.number = worker->clients[index].number;
    recorder_log_add(&worker->log, &logged);
}

/* ---- the end of an operation ---- */

static void number_advance(struct worker *worker, struct client *client)
{
    if (++client->number == worker->per_client)
        worker->unfinished--;
}

/* What is counted of every operation that has ended, however. */
static inline void operation_close(struct worker *worker, uint32_t index, enum operation_end end, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    worker->running--;
    number_advance(worker, client);
    if (__builtin_expect(worker->log.current != NULL, 0))
        operation_log(worker, index,
                      &(struct operation){.due_ns = client->due_ns,
                                          .sent_ns = client->sent_ns < 0 ? 0 : client->sent_ns,
                                          .done_ns = now_ns,
                                          .retries = client->tries - 1,
                                          .script = client->script,
                                          .end = (uint8_t)end});
}

static void retries_count(struct worker *worker, const struct client *client)
{
    if (client->tries <= 1)
        return;
    struct attempts attempts = {.retried = 1, .retries = client->tries - 1};
    attempts_add(&recorder_cell(&worker->recorder, client->due_in, client->script, -1)->attempts, &attempts);
    attempts_add(&worker->count.attempts, &attempts);
}

/* The client is as one whose connection was lost. */
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

static void client_pause(struct worker *worker, uint32_t index, int64_t until_ns)
{
    worker->clients[index].state = CLIENT_PAUSED;
    load_wakes_push(&worker->wakes, index, until_ns);
}

/* After an operation: its connection must be idle, or gone, before the next one. */
static inline void client_next(struct worker *worker, uint32_t index, bool has_failed, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    if (__builtin_expect(worker->spec->connect_each, 0)) {
        if (client->is_open && ops->disconnect != NULL)
            ops->disconnect(worker->driver, index);
        client->is_open = false;
    } else if (has_failed && ops->recover != NULL && ops->recover(worker->driver, index)) {
        client->state = CLIENT_RECOVERING;
        return;
    }
    bool is_idle_failure = has_failed && client->sent_ns < 0;
    if (__builtin_expect((is_idle_failure || !client->has_waited) && !worker->spec->open_loop, 0))
        client_pause(worker, index, is_idle_failure || worker->driver->ops->virtual_time ? now_ns + PAUSE_NS : now_ns);
    else
        worker_client_free(worker, index, now_ns);
}

/* ---- failures ---- */

static bool client_is_ended_by(const struct worker *worker, const struct client *client, const struct failure *failure)
{
    const struct load_spec *spec = worker->spec;
    if (failure->is_lost) /* connect_each: a new connection can be opened */
        return !spec->connect_each || spec->on_error != LOAD_GO_ON;
    if (failure->end != OPERATION_FAILED)
        return false;
    /* what was queued can only be forgotten together with the connection */
    if (client->in_pipeline && worker->driver->ops->queue != NULL && !spec->connect_each)
        return true;
    return spec->on_error == LOAD_END_CLIENT || (spec->on_error == LOAD_GO_ON_AFTER_SQL && failure->is_script_fault);
}

static void failure_count(struct worker *worker, const struct client *client, const struct failure *failure)
{
    struct attempts attempts = {.serialization = failure->end == OPERATION_SERIALIZATION,
                                .deadlock = failure->end == OPERATION_DEADLOCK};
    struct recorder_cell *cell = failure->in_step ? cell_of_step(worker, client) : NULL;
    if (cell != NULL) {
        cell->ledger.failed++;
        attempts_add(&cell->attempts, &attempts);
        worker->count.step_failed++;
    }
    cell = recorder_cell(&worker->recorder, client->due_in, client->script, -1);
    cell->ledger.failed++;
    attempts_add(&cell->attempts, &attempts);
    attempts_add(&worker->count.attempts, &attempts);
    worker->count.ledger.failed++;
    retries_count(worker, client);
}

/* There is no other try. */
static void operation_fail(struct worker *worker, uint32_t index, const struct failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    failure_count(worker, client, failure);
    operation_close(worker, index, failure->end, now_ns);
    if (client_is_ended_by(worker, client, failure)) {
        notice_push(worker, LOAD_CLIENT_ENDED, index, failure, now_ns);
        client_end(worker, index, failure->is_lost);
        return;
    }
    if (worker->spec->tell_failures)
        notice_push(worker, LOAD_FAILURE, index, failure, now_ns);
    client->is_open = client->is_open && !failure->is_lost;
    client_next(worker, index, true, now_ns);
}

static void operation_fail_in_script(struct worker *worker, uint32_t index, const char *code, const char *text,
                                     int64_t now_ns)
{
    recorder_fault(&worker->recorder, worker->phase, code, text, now_ns);
    bool in_step = worker->clients[index].step < program_of(worker, &worker->clients[index])->step_count;
    operation_fail(
        worker, index,
        &(struct failure){.code = code, .text = text, .end = OPERATION_FAILED, .is_script_fault = true, .in_step = in_step},
        now_ns);
}

/* ---- further tries ---- */

static bool may_try_again(const struct worker *worker, const struct client *client, int64_t now_ns)
{
    const struct load_spec *spec = worker->spec;
    return worker->saved != NULL && (spec->max_tries < 0 || client->tries < spec->max_tries) &&
           worker->phase != PHASE_DRAIN &&
           (spec->latency_limit_ns == 0 || now_ns - client->due_ns <= spec->latency_limit_ns);
}

static void client_save(struct worker *worker, uint32_t index)
{
    size_t count = worker->shape->variable_count;
    memcpy(worker->saved + index * count, worker->clients[index].vars, count * sizeof *worker->saved);
    worker->saved_rng[index] = worker->clients[index].rng;
}

static void client_restore(struct worker *worker, uint32_t index)
{
    size_t count = worker->shape->variable_count;
    memcpy(worker->clients[index].vars, worker->saved + index * count, count * sizeof *worker->saved);
    worker->clients[index].rng = worker->saved_rng[index];
}

static void operation_continue(struct worker *worker, uint32_t index, int64_t now_ns);

/* Nothing is open any more after a try that failed. */
static void operation_try_again(struct worker *worker, uint32_t index, const struct failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    if (!may_try_again(worker, client, now_ns)) {
        operation_fail(worker, index, failure, now_ns);
        return;
    }
    struct recorder_cell *cell = cell_of_step(worker, client);
    if (cell != NULL) {
        cell->attempts.retries++;
        worker->count.step_retries++;
    }
    if (worker->spec->tell_failures)
        notice_push(worker, LOAD_RETRY, index, failure, now_ns);
    client_restore(worker, index);
    client->tries++;
    client->step = 0;
    client->state = CLIENT_RUNNING;
    operation_continue(worker, index, now_ns);
}

static void try_fail(struct worker *worker, uint32_t index, const struct failure *failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    if (failure->end == OPERATION_FAILED || !may_try_again(worker, client, now_ns)) {
        operation_fail(worker, index, failure, now_ns);
    } else if (ops->recover != NULL && ops->recover(worker->driver, index)) {
        client->state = CLIENT_ROLLING_BACK;
        client->failed_as = (uint8_t)failure->end;
        if (worker->saved_text != NULL)
            recorder_text(worker->saved_text[index], LOAD_NOTICE_TEXT_BYTES, failure->text);
    } else {
        operation_try_again(worker, index, failure, now_ns);
    }
}

static void rollback_end(struct worker *worker, const struct driver_done *done)
{
    const struct client *client = &worker->clients[done->client];
    struct failure failure = {.code = client->failed_as == OPERATION_DEADLOCK ? "40P01" : "40001",
                              .text = worker->saved_text == NULL ? NULL : worker->saved_text[done->client],
                              .end = (enum operation_end)client->failed_as,
                              .in_step = true};
    if (done->outcome == DRIVER_LOST) {
        failure = (struct failure){
            .code = done->code, .text = done->text, .end = OPERATION_FAILED, .is_lost = true, .in_step = true};
        operation_fail(worker, done->client, &failure, done->done_ns);
    } else {
        operation_try_again(worker, done->client, &failure, done->done_ns);
    }
}

/* ---- steps ---- */

static void operation_complete(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    if (__builtin_expect(client->in_pipeline, 0)) {
        operation_fail_in_script(worker, index, "IN_PIPELINE", "the script ended with a pipeline open", now_ns);
        return;
    }
    if (__builtin_expect(ops->in_transaction != NULL && ops->in_transaction(worker->driver, index), 0)) {
        operation_fail_in_script(worker, index, "IN_TRANSACTION",
                                 "the script ended inside a transaction, which was rolled back", now_ns);
        return;
    }
    if (__builtin_expect(!client->has_waited, 0)) {
        now_ns = worker_look(worker);
        if (worker_is_past_end(worker))
            return; /* the clock says that it did not end in time */
    }
    int64_t sent_ns = client->sent_ns < 0 ? client->begun_ns : client->sent_ns;
    recorder_complete(&worker->recorder, client->due_in, client->script, client->due_ns, sent_ns, now_ns);
    worker->count.ledger.completed++;
    int64_t limit_ns = worker->spec->latency_limit_ns;
    if (__builtin_expect(limit_ns > 0 && now_ns - client->due_ns > limit_ns, 0)) {
        recorder_cell(&worker->recorder, client->due_in, client->script, -1)->attempts.above_limit++;
        worker->count.attempts.above_limit++;
    }
    if (__builtin_expect(client->tries > 1, 0))
        retries_count(worker, client);
    operation_close(worker, index, OPERATION_COMPLETED, now_ns);
    client_next(worker, index, false, now_ns);
}

static void step_submit(struct worker *worker, uint32_t index, const struct step *step)
{
    struct client *client = &worker->clients[index];
    client->step_sent_ns =
        worker->driver->ops->submit(worker->driver, index, program_of(worker, client), step, client->vars);
    client->has_waited = true;
    if (client->sent_ns < 0)
        client->sent_ns = client->step_sent_ns;
}

/* Of meta commands and queued SQL the time is only looked at when it is recorded. */
static bool is_timed(const struct worker *worker, const struct step *step)
{
    return worker->shape->steps == LOAD_STEPS_EVERY || (worker->shape->steps == LOAD_STEPS_IO && step->io_index >= 0);
}

/* Carries the client's current step out and records it. *clock_ns: the end of the step before, when the clock was looked at
 * then, else negative; *now_ns becomes later when the step took its time, and the step waits when nothing that happens now
 * can be recorded any more. */
static __attribute__((noinline)) enum worker_step step_carry_out(struct worker *worker, uint32_t index,
                                                                 const struct step *step, int64_t *clock_ns,
                                                                 int64_t *now_ns, const char **ret_wrong)
{
    const struct driver_ops *ops = worker->driver->ops;
    bool timed = is_timed(worker, step);
    if (timed && *clock_ns < 0)
        *clock_ns = ops->now(worker->driver);
    enum worker_step result = worker_step(worker, index, step, ret_wrong);
    if (step->kind == STEP_SHELL || step->kind == STEP_SETSHELL) {
        *now_ns = worker_look(worker);
        if (worker_is_past_end(worker))
            return WORKER_STEP_WAITS;
    }
    if (timed && result == WORKER_STEP_OVER) {
        int64_t end_ns = ops->now(worker->driver);
        step_pass(worker, index, step, end_ns - *clock_ns);
        *clock_ns = end_ns;
    }
    return result;
}

/* Goes on at the client's next step, up to the next that waits or the end. */
static void operation_continue(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct program *program = program_of(worker, client);
    int64_t clock_ns = -1;
    while (client->step < program->step_count) {
        const struct step *step = &program->steps[client->step];
        const char *wrong = NULL;
        enum worker_step result = WORKER_STEP_OVER;
        if (step->kind == STEP_SQL && !client->in_pipeline) {
            result = WORKER_STEP_SUBMITS;
        } else if (step->kind == STEP_SET && worker->shape->steps != LOAD_STEPS_EVERY) {
            wrong = program_eval(program, step, client->vars, &client->rng);
            client->step += wrong == NULL;
        } else {
            result = step_carry_out(worker, index, step, &clock_ns, &now_ns, &wrong);
        }
        if (result == WORKER_STEP_SUBMITS)
            step_submit(worker, index, step);
        if (result == WORKER_STEP_SUBMITS || result == WORKER_STEP_WAITS)
            return;
        if (__builtin_expect(wrong != NULL, 0)) {
            operation_fail_in_script(worker, index, "SCRIPT", wrong, now_ns);
            return;
        }
    }
    operation_complete(worker, index, now_ns);
}

/* ---- the beginning of an operation ---- */

static inline void operation_begin(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    client->state = CLIENT_RUNNING;
    client->begun_ns = now_ns;
    if (__builtin_expect(worker->saved != NULL, 0))
        client_save(worker, index);
    operation_continue(worker, index, now_ns);
}

void worker_operation_due(struct worker *worker, int script, int64_t due_ns)
{
    ledger_of(worker, worker_due_in(worker, due_ns), script)->due++;
    worker->count.ledger.due++;
}

void worker_operation_start(struct worker *worker, uint32_t index, int script, int64_t due_ns, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    client->script = (int16_t)script;
    client->due_in = (uint8_t)worker_due_in(worker, due_ns);
    client->step = 0;
    client->tries = 1;
    client->in_pipeline = client->has_waited = false;
    client->due_ns = due_ns;
    client->sent_ns = -1;
    worker->running++;
    if (__builtin_expect(worker->connect == NULL, 1)) {
        operation_begin(worker, index, now_ns);
    } else if (ops->connect == NULL) {
        hist_record(worker->connect, 0);
        operation_begin(worker, index, now_ns);
    } else {
        client->state = CLIENT_CONNECTING;
        client->has_waited = true;
        client->step_sent_ns = ops->now(worker->driver);
        ops->connect(worker->driver, index);
    }
}

void worker_operation_skip(struct worker *worker, uint32_t index, int script, int64_t due_ns, int64_t now_ns)
{
    ledger_of(worker, worker_due_in(worker, due_ns), script)->skipped++;
    worker->count.ledger.skipped++;
    number_advance(worker, &worker->clients[index]);
    if (worker->log.current != NULL)
        operation_log(
            worker, index,
            &(struct operation){.due_ns = due_ns, .done_ns = now_ns, .script = (int16_t)script, .end = OPERATION_SKIPPED});
}

static int client_choose(struct worker *worker, struct client *client)
{
    const struct load_shape *shape = worker->shape;
    if (shape->script_count == 1)
        return 0;
    return load_shape_script(shape, pl_rng_range(&client->choice, 0, shape->weight_sum - 1));
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
        worker->stack[worker->stack_count++] = index;
        return;
    }
    if (worker->phase == PHASE_DRAIN || !quota_take(worker, client))
        return;
    int script = client_choose(worker, client);
    worker_operation_due(worker, script, now_ns);
    worker_operation_start(worker, index, script, now_ns, now_ns);
}

/* ---- events ---- */

static enum operation_end end_of(const struct driver_done *done)
{
    if (done->outcome != DRIVER_ERROR || done->is_script_fault)
        return OPERATION_FAILED;
    return strcmp(done->code, "40001") == 0   ? OPERATION_SERIALIZATION
           : strcmp(done->code, "40P01") == 0 ? OPERATION_DEADLOCK
                                              : OPERATION_FAILED;
}

static struct failure failure_of(const struct driver_done *done, bool in_step)
{
    return (struct failure){.code = done->code,
                            .text = done->text,
                            .end = end_of(done),
                            .is_script_fault = done->outcome == DRIVER_ERROR && done->is_script_fault,
                            .is_lost = done->outcome == DRIVER_LOST,
                            .in_step = in_step};
}

static void step_end(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    const struct program *program = program_of(worker, client);
    const struct step *step = &program->steps[client->step];
    if (__builtin_expect(client->in_pipeline && (step->kind == STEP_END_PIPELINE || done->outcome != DRIVER_OK), 0)) {
        client->in_pipeline = false;
        /* what stands before the command that the server refused was answered; the script's faults may have kept all of it
         * from being sent */
        bool is_answered = done->outcome == DRIVER_ERROR && !done->is_script_fault && done->fault_step != NULL;
        if (done->outcome == DRIVER_OK || is_answered)
            queued_record(worker, done->client, is_answered ? done->fault_step : NULL);
    }
    if (__builtin_expect(done->outcome == DRIVER_OK, 1)) {
        step_record(worker, client, step, done->done_ns - client->step_sent_ns);
        client->step++;
        operation_continue(worker, done->client, done->done_ns);
        return;
    }
    struct failure failure = failure_of(done, true);
    if (done->outcome == DRIVER_ERROR && done->fault_step != NULL)
        client->step = (uint32_t)(done->fault_step - program->steps);
    try_fail(worker, done->client, &failure, done->done_ns);
}

static void connect_end(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    if (done->outcome == DRIVER_OK) {
        client->is_open = true;
        hist_record(worker->connect, done->done_ns - client->step_sent_ns);
        operation_begin(worker, done->client, done->done_ns);
        return;
    }
    struct failure failure = failure_of(done, false);
    failure.is_lost = failure.while_connecting = true;
    operation_fail(worker, done->client, &failure, done->done_ns);
}

/* No operation is under way of the client: will it get none any more, by what is known now? */
static bool client_is_done(const struct worker *worker, const struct client *client)
{
    if (worker->per_client > 0 && client->number >= worker->per_client)
        return true;
    return worker->phase == PHASE_DRAIN && !worker_backlog_may_start(worker);
}

/* Its connection is gone, and no operation was under way. One that had nothing to do any more is not missed. */
static void client_lose(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    load_wakes_remove(&worker->wakes, done->client);
    if (client_is_done(worker, client)) {
        client->state = CLIENT_DEAD;
        return;
    }
    struct failure failure = failure_of(done, false);
    notice_push(worker, LOAD_CLIENT_ENDED, done->client, &failure, done->done_ns);
    client_end(worker, done->client, true);
}

void worker_event(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    struct failure failure;
    if (__builtin_expect(done->outcome != DRIVER_OK, 0))
        recorder_fault(&worker->recorder, worker->phase, done->code, done->text, done->done_ns);
    if (__builtin_expect(client->state == CLIENT_RUNNING, 1)) { /* the others take turns in a table of jumps */
        step_end(worker, done);
        return;
    }
    switch ((enum client_state)client->state) {
    case CLIENT_CONNECTING:
        connect_end(worker, done);
        break;
    case CLIENT_ROLLING_BACK:
        rollback_end(worker, done);
        break;
    case CLIENT_RECOVERING:
        if (done->outcome == DRIVER_LOST)
            client_lose(worker, done);
        else
            worker_client_free(worker, done->client, done->done_ns);
        break;
    case CLIENT_SLEEPING:
        assert(done->outcome == DRIVER_LOST);
        load_wakes_remove(&worker->wakes, done->client);
        failure = failure_of(done, true);
        operation_fail(worker, done->client, &failure, done->done_ns);
        break;
    case CLIENT_IDLE:
    case CLIENT_PAUSED:
        assert(done->outcome == DRIVER_LOST);
        client_lose(worker, done);
        break;
    case CLIENT_RUNNING:
    case CLIENT_DEAD:
        break;
    }
}

void worker_wake(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    if (client->state == CLIENT_PAUSED) {
        worker_client_free(worker, index, now_ns);
        return;
    }
    assert(client->state == CLIENT_SLEEPING);
    client->state = CLIENT_RUNNING;
    step_record(worker, client, &program_of(worker, client)->steps[client->step], now_ns - client->step_sent_ns);
    client->step++;
    operation_continue(worker, index, now_ns);
}

void worker_write_off(struct worker *worker)
{
    for (int i = 0; i < worker->client_count; i++) {
        const struct client *client = &worker->clients[i];
        if (client->state != CLIENT_RUNNING && client->state != CLIENT_CONNECTING && client->state != CLIENT_SLEEPING &&
            client->state != CLIENT_ROLLING_BACK)
            continue;
        struct ledger unfinished = {.unfinished = 1, .never_started = client->state == CLIENT_CONNECTING};
        ledger_add(ledger_of(worker, client->due_in, client->script), &unfinished);
        ledger_add(&worker->count.ledger, &unfinished);
        retries_count(worker, client);
    }
}
