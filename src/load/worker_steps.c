/* The steps of a program that the client carries out itself: variables, branches, sleeps, what is put into a pipeline. */
#include <assert.h>

#include "load/worker_int.h"

#include "base/ban.h"

static const char *pipeline_wrong(const struct worker *worker, const struct client *client, const struct step *step)
{
    if (step->kind == STEP_SQL)
        return step->capture == CAPTURE_ONE_ROW ? "\\gset is not allowed in pipeline mode"
               : step->capture == CAPTURE_ALL   ? "\\aset is not allowed in pipeline mode"
                                                : NULL;
    if (step->kind != STEP_START_PIPELINE)
        return client->in_pipeline ? NULL : "not in pipeline mode";
    return worker->spec->protocol == PLAN_SIMPLE ? "cannot use pipeline mode with the simple query protocol"
           : client->in_pipeline                 ? "already in pipeline mode"
                                                 : NULL;
}

/* The steps of a pipeline, and SQL within one. */
static enum worker_step step_in_pipeline(struct worker *worker, uint32_t index, const struct step *step,
                                         const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct driver_ops *ops = worker->driver->ops;
    *ret_wrong = pipeline_wrong(worker, client, step);
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    if (step->kind == STEP_END_PIPELINE || (step->kind == STEP_SQL && ops->queue == NULL))
        return WORKER_STEP_SUBMITS;
    if (step->kind == STEP_START_PIPELINE) {
        client->in_pipeline = true;
        if (worker->queued != NULL)
            worker->queued_count[index] = 0;
    } else if (ops->queue != NULL) {
        ops->queue(worker->driver, index, worker->shape->scripts[client->script].program, step, client->vars);
    }
    client->step++;
    return WORKER_STEP_OVER;
}

static enum worker_step step_sleep(struct worker *worker, uint32_t index, const struct step *step, const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker->shape->scripts[client->script].program;
    int64_t sleep_ns = 0, until_ns;
    *ret_wrong = program_sleep_ns(program, step, client->vars, &sleep_ns);
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    client->step_sent_ns = worker->driver->ops->now(worker->driver);
    if (__builtin_add_overflow(client->step_sent_ns, sleep_ns < 0 ? 0 : sleep_ns, &until_ns))
        until_ns = INT64_MAX;
    client->state = CLIENT_SLEEPING;
    client->has_waited = true;
    load_wakes_push(&worker->wakes, index, until_ns);
    return WORKER_STEP_WAITS;
}

enum worker_step worker_step(struct worker *worker, uint32_t index, const struct step *step, const char **ret_wrong)
{
    struct client *client = &worker->clients[index];
    const struct program *program = worker->shape->scripts[client->script].program;
    bool goes_on = true;
    *ret_wrong = NULL;
    switch (step->kind) {
    case STEP_SET:
        *ret_wrong = program_eval(program, step, client->vars, &client->rng);
        break;
    case STEP_IF:
        *ret_wrong = program_branch(program, step, client->vars, &client->rng, &goes_on);
        break;
    case STEP_JUMP:
        goes_on = false;
        break;
    case STEP_NOTHING:
        break;
    case STEP_SHELL:
    case STEP_SETSHELL:
        *ret_wrong = worker_shell(program, step, client->vars);
        break;
    case STEP_SLEEP:
        return step_sleep(worker, index, step, ret_wrong);
    case STEP_SQL:
    case STEP_START_PIPELINE:
    case STEP_SYNC_PIPELINE:
    case STEP_END_PIPELINE:
        return step_in_pipeline(worker, index, step, ret_wrong);
    case STEP_KIND_COUNT:
        assert(false);
    }
    if (*ret_wrong != NULL)
        return WORKER_STEP_WRONG;
    client->step = goes_on ? client->step + 1 : step->target;
    return WORKER_STEP_OVER;
}
