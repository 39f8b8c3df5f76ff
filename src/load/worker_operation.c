/* The life of an operation.
 *
 * It becomes DUE: in the closed loop at the moment its client became free or has thought, in the open loop when the
 * timetable says so, and within a session when its user has thought. It belongs to the phase in which it was due. A free
 * client takes it (connect_each: and opens its connection). The client then goes through the steps of its program: what
 * needs nobody else it carries out at once, each SQL step and each request it hands to the driver, and when the driver
 * reports the end of one it goes on with the next; inside a pipeline the SQL steps are queued, and only the end of the
 * pipeline is waited for. After the last step the operation is COMPLETED.
 *
 * An error of the server, of a meta command, or a lost connection ends the try. After a serialization failure or a deadlock
 * there may be another: what is open is rolled back, the client's variables and random stream become what they were at the
 * start, and the script begins again. A script may also try a request again by itself, from one of its steps on. Otherwise
 * the operation has FAILED, or EXPIRED when its step got no answer in time; its client goes on with the next, or ends, as
 * the load's on_error says. What has not ended when the drain is over is UNFINISHED, and what was never sent is counted
 * apart within it. Open loop with a latency limit: what is too late when a client is free for it is SKIPPED.
 *
 * An operation that ends without having waited for anything hands its client over to the wakes, so that a script without
 * SQL neither recurses nor keeps the others from their turn. */
#include <assert.h>
#include <string.h>

#include "load/worker_int.h"

#include "base/ban.h"

static inline void step_record(struct worker *worker, const struct client *client, const struct step *step,
                               int64_t service_ns)
{
    int index = load_shape_step(worker->shape, step);
    if (index < 0)
        return;
    recorder_step(&worker->recorder, client->due_in, client->lane, index, service_ns);
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

/* ---- the end of an operation, however it has ended ---- */

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

static void number_advance(struct worker *worker, struct client *client)
{
    if (++client->number == worker->per_client)
        worker->unfinished--;
}

inline void worker_operation_close(struct worker *worker, uint32_t index, enum operation_end end, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    worker->running--;
    number_advance(worker, client);
    if (__builtin_expect(!client->has_waited, 0))
        worker_has_started(worker, client, client->begun_ns);
    if (__builtin_expect(worker->tenants != NULL, 0) && client->due_in == PHASE_MEASURE) {
        struct load_tenant_count *tenant = &worker->tenants[worker->tenant_of[index]];
        (*(end == OPERATION_COMPLETED ? &tenant->completed : &tenant->failed))++;
    }
    if (__builtin_expect(worker->log.current != NULL, 0))
        operation_log(worker, index,
                      &(struct operation){.due_ns = client->due_ns,
                                          .sent_ns = client->sent_ns < 0 ? 0 : client->sent_ns,
                                          .done_ns = now_ns,
                                          .retries = client->tries - 1,
                                          .script = (int16_t)worker->shape->lanes[client->lane].script,
                                          .end = (uint8_t)end});
}

void worker_tries_count(struct worker *worker, const struct client *client)
{
    if (client->tries <= 1)
        return;
    struct attempts attempts = {.retried = 1, .retries = client->tries - 1};
    attempts_add(&recorder_cell(&worker->recorder, client->due_in, client->lane, -1)->attempts, &attempts);
    attempts_add(&worker->count.attempts, &attempts);
}

void worker_operation_skip(struct worker *worker, uint32_t index, const struct worker_due *due, int64_t now_ns)
{
    recorder_cell(&worker->recorder, worker_due_in(worker, due->due_ns), due->lane, -1)->ledger.skipped++;
    worker->count.ledger.skipped++;
    number_advance(worker, &worker->clients[index]);
    if (worker->log.current != NULL)
        operation_log(worker, index,
                      &(struct operation){.due_ns = due->due_ns,
                                          .done_ns = now_ns,
                                          .script = (int16_t)worker->shape->lanes[due->lane].script,
                                          .end = OPERATION_SKIPPED});
}

static inline void client_proceed(struct worker *worker, uint32_t index, bool is_idle_failure, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    int64_t pause_ns = 0;
    if (__builtin_expect(is_idle_failure || !client->has_waited, 0))
        pause_ns = is_idle_failure || worker->driver->ops->virtual_time ? WORKER_PAUSE_NS : 0;
    if (__builtin_expect(worker->ready != NULL, 0)) {
        worker_client_think(worker, index, pause_ns, now_ns);
    } else if (__builtin_expect((is_idle_failure || !client->has_waited) && !worker->spec->open_loop, 0)) {
        client->state = CLIENT_PAUSED;
        stage_wakes_push(&worker->wakes, index, now_ns + pause_ns);
    } else {
        worker_client_free(worker, index, now_ns);
    }
}

/* Its connection must be idle, or gone, before the next operation. */
inline void worker_client_next(struct worker *worker, uint32_t index, bool has_failed, int64_t now_ns)
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
    client_proceed(worker, index, has_failed && client->sent_ns < 0, now_ns);
}

static void operation_complete(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    if (__builtin_expect(client->in_pipeline, 0)) {
        worker_operation_fail_in_script(worker, index, "IN_PIPELINE", "the script ended with a pipeline open", now_ns);
        return;
    }
    if (__builtin_expect(ops->in_transaction != NULL && ops->in_transaction(worker->driver, index), 0)) {
        worker_operation_fail_in_script(worker, index, "IN_TRANSACTION",
                                        "the script ended inside a transaction, which was rolled back", now_ns);
        return;
    }
    if (__builtin_expect(!client->has_waited, 0)) {
        now_ns = worker_look(worker);
        if (worker_is_past_end(worker))
            return; /* the clock says that it did not end in time */
    }
    int64_t sent_ns = client->sent_ns < 0 ? client->begun_ns : client->sent_ns;
    recorder_complete(&worker->recorder, client->due_in, client->lane, client->due_ns, sent_ns, now_ns);
    worker->count.ledger.completed++;
    int64_t limit_ns = worker->spec->latency_limit_ns;
    if (__builtin_expect(limit_ns > 0 && now_ns - client->due_ns > limit_ns, 0)) {
        recorder_cell(&worker->recorder, client->due_in, client->lane, -1)->attempts.above_limit++;
        worker->count.attempts.above_limit++;
    }
    if (__builtin_expect(client->tries > 1, 0))
        worker_tries_count(worker, client);
    worker_operation_close(worker, index, OPERATION_COMPLETED, now_ns);
    worker_client_next(worker, index, false, now_ns);
}

/* ---- steps ---- */

static void step_submit(struct worker *worker, uint32_t index, const struct step *step)
{
    struct client *client = &worker->clients[index];
    client->step_sent_ns =
        worker->driver->ops->submit(worker->driver, index, worker_program(worker, client), step, client->vars);
    if (!client->has_waited)
        worker_has_started(worker, client, client->step_sent_ns);
    client->has_waited = true;
    client->sends_first = client->sent_ns < 0;
    if (client->sends_first)
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

void worker_operation_continue(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker_program(worker, client);
    int64_t clock_ns = -1;
    while (client->step < program->step_count) {
        const struct step *step = &program->steps[client->step];
        const char *wrong = NULL;
        enum worker_step result = WORKER_STEP_OVER;
        if ((step->kind == STEP_SQL && !client->in_pipeline) || step->kind == STEP_HTTP) {
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
            worker_operation_fail_in_script(worker, index, "SCRIPT", wrong, now_ns);
            return;
        }
    }
    operation_complete(worker, index, now_ns);
}

/* ---- the beginning of an operation ---- */

static void client_save(struct worker *worker, uint32_t index)
{
    size_t count = worker->shape->variable_count;
    memcpy(worker->saved + index * count, worker->clients[index].vars, count * sizeof *worker->saved);
    worker->saved_rng[index] = worker->clients[index].rng;
}

static inline void operation_begin(struct worker *worker, uint32_t index, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    client->state = CLIENT_RUNNING;
    client->begun_ns = now_ns;
    if (__builtin_expect(worker->saved != NULL, 0))
        client_save(worker, index);
    worker_operation_continue(worker, index, now_ns);
}

void worker_operation_start(struct worker *worker, uint32_t index, int64_t could_ns, int64_t now_ns)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    worker->self.could_ns = could_ns;
    if (__builtin_expect(worker->connect == NULL, 1)) {
        operation_begin(worker, index, now_ns);
    } else if (ops->connect == NULL) {
        hist_record(worker->connect, 0);
        operation_begin(worker, index, now_ns);
    } else {
        client->state = CLIENT_CONNECTING;
        client->has_waited = true;
        client->step_sent_ns = ops->now(worker->driver);
        worker_has_started(worker, client, client->step_sent_ns);
        ops->connect(worker->driver, index);
    }
}

/* ---- events ---- */

static enum operation_end end_of(const struct driver_done *done)
{
    if (done->outcome == DRIVER_EXPIRED)
        return OPERATION_EXPIRED;
    if (done->outcome != DRIVER_ERROR || done->is_script_fault)
        return OPERATION_FAILED;
    return strcmp(done->code, "40001") == 0   ? OPERATION_SERIALIZATION
           : strcmp(done->code, "40P01") == 0 ? OPERATION_DEADLOCK
                                              : OPERATION_FAILED;
}

static struct worker_failure failure_of(const struct driver_done *done, bool in_step)
{
    return (struct worker_failure){.code = done->code,
                                   .text = done->text,
                                   .end = end_of(done),
                                   .is_script_fault = done->outcome == DRIVER_ERROR && done->is_script_fault,
                                   .is_lost = done->outcome == DRIVER_LOST,
                                   .in_step = in_step};
}

/* The driver knows better than its submit when the step was sent. */
static void sent_correct(struct client *client, const struct driver_done *done)
{
    bool was_sent = done->sent_ns > 0;
    client->step_sent_ns = was_sent ? done->sent_ns : done->done_ns;
    if (client->sends_first)
        client->sent_ns = was_sent ? done->sent_ns : -1;
}

/* Its script may try a request again from another step on, as long as the load was not told to stop. */
static void step_fail(struct worker *worker, const struct step *step, const struct driver_done *done)
{
    struct worker_failure failure = failure_of(done, true);
    if (step->kind == STEP_HTTP && step->call != NULL && done->outcome == DRIVER_ERROR && !worker->stopped) {
        struct step_scene scene = worker_scene(worker, done->client);
        bool goes_on = true;
        const char *wrong = step->call(step, &scene, &goes_on);
        if (wrong != NULL) {
            worker_operation_fail_in_script(worker, done->client, "SCRIPT", wrong, done->done_ns);
            return;
        }
        if (!goes_on) {
            worker_step_again(worker, done->client, &failure, step->target, done->done_ns);
            return;
        }
    }
    worker_try_fail(worker, done->client, &failure, done->done_ns);
}

static void step_end(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    const struct program *program = worker_program(worker, client);
    const struct step *step = &program->steps[client->step];
    if (__builtin_expect(done->sent_ns != 0, 0))
        sent_correct(client, done);
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
        worker_operation_continue(worker, done->client, done->done_ns);
        return;
    }
    if (done->outcome == DRIVER_ERROR && done->fault_step != NULL)
        client->step = (uint32_t)(done->fault_step - program->steps);
    step_fail(worker, step, done);
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
    struct worker_failure failure = failure_of(done, false);
    failure.is_lost = failure.while_connecting = true;
    worker_operation_fail(worker, done->client, &failure, done->done_ns);
}

void worker_event(struct worker *worker, const struct driver_done *done)
{
    struct client *client = &worker->clients[done->client];
    struct worker_failure failure;
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
        worker_rollback_end(worker, done);
        break;
    case CLIENT_RECOVERING:
        failure = failure_of(done, false);
        if (failure.is_lost)
            worker_client_lose(worker, done->client, &failure, done->done_ns);
        else
            client_proceed(worker, done->client, false, done->done_ns);
        break;
    case CLIENT_READY:
        assert(done->outcome == DRIVER_LOST);
        client->has_waited = true; /* for its turn: it was never started */
        failure = failure_of(done, false);
        worker_operation_fail(worker, done->client, &failure, done->done_ns);
        break;
    case CLIENT_SLEEPING:
        assert(done->outcome == DRIVER_LOST);
        stage_wakes_remove(&worker->wakes, done->client);
        failure = failure_of(done, true);
        worker_operation_fail(worker, done->client, &failure, done->done_ns);
        break;
    case CLIENT_IDLE:
    case CLIENT_PAUSED:
    case CLIENT_THINKING:
        assert(done->outcome == DRIVER_LOST);
        failure = failure_of(done, false);
        worker_client_lose(worker, done->client, &failure, done->done_ns);
        break;
    case CLIENT_HELD: /* with nothing to do any more it is not missed */
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
    step_record(worker, client, &worker_program(worker, client)->steps[client->step], now_ns - client->step_sent_ns);
    client->step++;
    worker_operation_continue(worker, index, now_ns);
}

void worker_write_off(struct worker *worker, int64_t end_ns)
{
    for (int i = 0; i < worker->client_count; i++) {
        const struct client *client = &worker->clients[i];
        bool was_started =
            client->state == CLIENT_RUNNING || client->state == CLIENT_SLEEPING || client->state == CLIENT_ROLLING_BACK;
        if (!was_started && client->state != CLIENT_CONNECTING && client->state != CLIENT_READY &&
            client->state != CLIENT_HELD)
            continue;
        struct ledger unfinished = {.unfinished = 1, .never_started = !was_started};
        recorder_unfinished(&worker->recorder, client->due_in, client->lane, was_started, end_ns - client->due_ns);
        ledger_add(&worker->count.ledger, &unfinished);
        worker_tries_count(worker, client);
    }
}
