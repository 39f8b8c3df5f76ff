/* A driver in virtual time whose answers a test decides, and which writes down what it was asked. */
#ifndef PL_TESTS_FAKE_DRIVER_H
#define PL_TESTS_FAKE_DRIVER_H

#include "load_test.h"

#include <stdio.h>

#include "base/arena.h"
#include "hurl/hurl_int.h"
#include "load/load_int.h"
#include "load/recorder_int.h"
#include "stage/wakes.h"

enum { FAKE_WORKERS = 8, FAKE_CALLS = 1 << 16 };

/* 's'ubmit, 'q'ueue, 'c'onnect, 'd'isconnect, 'r'ecover, 'f'orget. */
struct fake_call {
    char what;
    int client; /* of the whole load */
    int64_t at_ns;
    const struct step *step;
    int64_t value; /* of the variable "x", when there is one */
};

struct fake_answer {
    int64_t delay_ns;
    enum driver_outcome outcome;
    const char *code, *text;
    bool is_script_fault;
    const struct step *fault_step;
    int64_t sent_after_ns; /* the driver says that it was sent so long after submit; -1: that it never was; 0: nothing */
};

struct fake_client {
    bool is_open, is_dead, in_transaction;
    int64_t submits, queued;
    int64_t user;              /* a test's own */
    struct fake_answer answer; /* of what is under way */
    int64_t submitted_ns;
};

struct fake {
    struct driver base;
    struct driver_setup setup;
    int first_client, count;
    int64_t now_ns;
    struct stage_wakes ends;
    struct fake_client *clients;
    struct fake_call calls[FAKE_CALLS]; /* the first ones */
    size_t call_count;
    int64_t measures, measure_ns; /* how often the window began, and when it last did */
};

/* What a test decides: an answer that is OK after 1 ms comes in. client: of the whole load. */
typedef void fake_decide(struct fake *fake, int client, const struct step *step, const struct value *vars,
                         struct fake_answer *answer);

static struct {
    fake_decide *decide;         /* NULL: everything is OK */
    fake_decide *decide_connect; /* the same */
    int lost_client; /* of the whole load: reported as lost at lost_at_ns, when that is not 0; it has no step under way */
    int64_t lost_at_ns;
    int64_t submit_ns; /* the time that each submit takes the worker */
    struct fake *fakes[FAKE_WORKERS];
    const struct driver_ops *ops;
} fake_world;

static struct fake *fake_of(struct driver *driver)
{
    return (struct fake *)driver;
}

static void fake_note(struct fake *fake, char what, uint32_t client, const struct program *program, const struct step *step,
                      const struct value *vars)
{
    if (fake->call_count == FAKE_CALLS)
        return;
    int x = program == NULL || program->names == NULL ? -1 : program_variable(program, "x");
    fake->calls[fake->call_count++] = (struct fake_call){.what = what,
                                                         .client = fake->first_client + (int)client,
                                                         .at_ns = fake->now_ns,
                                                         .step = step,
                                                         .value = x < 0 ? 0 : vars[x].i};
}

static const char *fake_event_loop(const struct driver *driver)
{
    (void)driver;
    return "fake";
}

static enum pl_code fake_open(struct driver *driver, int clients, struct pl_err *err)
{
    (void)err;
    struct fake *fake = fake_of(driver);
    fake->count = clients;
    fake->clients = pl_new((size_t)clients, sizeof *fake->clients);
    stage_wakes_init(&fake->ends, (size_t)clients);
    for (int c = 0; c < clients; c++)
        fake->clients[c].is_open = !fake->setup.spec->connect_each;
    return PL_OK;
}

/* What it wrote down stays until fake_forget. */
static void fake_close(struct driver *driver)
{
    struct fake *fake = fake_of(driver);
    pl_free(fake->clients);
    stage_wakes_release(&fake->ends);
}

static void fake_start(struct driver *driver, int64_t start_ns)
{
    fake_of(driver)->now_ns = start_ns;
}

static int64_t fake_now(struct driver *driver)
{
    return fake_of(driver)->now_ns;
}

static void fake_begin(struct fake *fake, uint32_t client, const struct step *step, const struct value *vars,
                       fake_decide *decide)
{
    struct fake_answer *answer = &fake->clients[client].answer;
    *answer = (struct fake_answer){.delay_ns = MS};
    if (decide != NULL)
        decide(fake, fake->first_client + (int)client, step, vars, answer);
    fake->clients[client].submitted_ns = fake->now_ns;
    stage_wakes_push(&fake->ends, client, fake->now_ns + answer->delay_ns);
}

static int64_t fake_submit(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                           const struct value *vars)
{
    struct fake *fake = fake_of(driver);
    struct fake_client *client = &fake->clients[index];
    assert_true(client->is_open && !client->is_dead);
    fake->now_ns += fake_world.submit_ns;
    fake_note(fake, 's', index, program, step, vars);
    client->submits++;
    if (step->kind == STEP_END_PIPELINE)
        client->queued = 0;
    else
        assert_int_equal(client->queued, 0);
    if (strncmp(step->text, "BEGIN", 5) == 0)
        client->in_transaction = true;
    if (strncmp(step->text, "END", 3) == 0)
        client->in_transaction = false;
    fake_begin(fake, index, step, vars, fake_world.decide);
    return fake->now_ns;
}

static void fake_queue(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                       const struct value *vars)
{
    struct fake *fake = fake_of(driver);
    assert_true(fake->clients[index].is_open && !fake->clients[index].is_dead);
    fake->clients[index].queued++;
    fake_note(fake, 'q', index, program, step, vars);
}

static void fake_connect(struct driver *driver, uint32_t index)
{
    struct fake *fake = fake_of(driver);
    struct fake_client *client = &fake->clients[index];
    assert_true(fake->setup.spec->connect_each && !client->is_open);
    fake_note(fake, 'c', index, NULL, NULL, NULL);
    client->is_open = true;
    client->is_dead = client->in_transaction = false;
    fake_begin(fake, index, NULL, NULL, fake_world.decide_connect);
}

static void fake_disconnect(struct driver *driver, uint32_t index)
{
    struct fake *fake = fake_of(driver);
    struct fake_client *client = &fake->clients[index];
    assert_true(client->is_open);
    fake_note(fake, 'd', index, NULL, NULL, NULL);
    client->is_open = client->in_transaction = false;
    client->queued = 0;
}

static bool fake_in_transaction(struct driver *driver, uint32_t index)
{
    return fake_of(driver)->clients[index].in_transaction;
}

static bool fake_recover(struct driver *driver, uint32_t index)
{
    struct fake *fake = fake_of(driver);
    struct fake_client *client = &fake->clients[index];
    assert_true(client->is_open && !client->is_dead);
    if (!client->in_transaction)
        return false;
    client->in_transaction = false;
    fake_note(fake, 'r', index, NULL, NULL, NULL);
    fake_begin(fake, index, NULL, NULL, NULL);
    return true;
}

static bool fake_loses(const struct fake *fake, int64_t until_ns)
{
    int client = fake_world.lost_client - fake->first_client;
    return fake_world.lost_at_ns > 0 && client >= 0 && client < fake->count && !fake->clients[client].is_dead &&
           fake_world.lost_at_ns <= until_ns && fake_world.lost_at_ns <= stage_wakes_next_ns(&fake->ends);
}

static int fake_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    (void)capacity;
    struct fake *fake = fake_of(driver);
    if (fake_loses(fake, until_ns)) {
        uint32_t lost = (uint32_t)(fake_world.lost_client - fake->first_client);
        fake->clients[lost].is_dead = true;
        fake->now_ns = fake_world.lost_at_ns > fake->now_ns ? fake_world.lost_at_ns : fake->now_ns;
        *done = (struct driver_done){
            .client = lost, .outcome = DRIVER_LOST, .done_ns = fake->now_ns, .code = "CLOSED", .text = "it went away"};
        return 1;
    }
    if (stage_wakes_next_ns(&fake->ends) > until_ns) {
        fake->now_ns = until_ns > fake->now_ns ? until_ns : fake->now_ns;
        return 0;
    }
    struct stage_wake end = stage_wakes_pop(&fake->ends);
    struct fake_client *client = &fake->clients[end.client];
    const struct fake_answer *answer = &client->answer;
    fake->now_ns = end.at_ns > fake->now_ns ? end.at_ns : fake->now_ns;
    *done = (struct driver_done){.client = end.client,
                                 .outcome = answer->outcome,
                                 .is_script_fault = answer->is_script_fault,
                                 .fault_step = answer->fault_step,
                                 .done_ns = fake->now_ns,
                                 .sent_ns = answer->sent_after_ns <= 0 ? answer->sent_after_ns
                                                                       : client->submitted_ns + answer->sent_after_ns,
                                 .text = answer->text};
    if (answer->code != NULL)
        memcpy(done->code, answer->code, strlen(answer->code) + 1);
    if (answer->outcome == DRIVER_LOST)
        client->is_open = false;
    return 1;
}

static void fake_user_gone(struct driver *driver, uint32_t index)
{
    fake_note(fake_of(driver), 'f', index, NULL, NULL, NULL);
}

static void fake_measure(struct driver *driver)
{
    struct fake *fake = fake_of(driver);
    fake->measures++;
    fake->measure_ns = fake->now_ns;
}

/* Every worker adds one. */
static void fake_gather(struct driver *driver, struct load_http_result *into)
{
    (void)driver;
    into->redirects++;
    into->measured.requests++;
}

UNUSED static const struct driver_ops fake_ops = {
    .name = "fake",
    .virtual_time = true,
    .event_loop = fake_event_loop,
    .open = fake_open,
    .close = fake_close,
    .start = fake_start,
    .now = fake_now,
    .submit = fake_submit,
    .wait = fake_wait,
    .queue = fake_queue,
    .connect = fake_connect,
    .disconnect = fake_disconnect,
    .in_transaction = fake_in_transaction,
    .recover = fake_recover,
    .forget = fake_user_gone,
    .measure = fake_measure,
    .gather = fake_gather,
};

UNUSED static struct driver *fake_new(const struct driver_setup *setup)
{
    struct fake *fake = pl_new(1, sizeof *fake);
    int rest = setup->spec->clients % setup->workers;
    fake->base.ops = fake_world.ops == NULL ? &fake_ops : fake_world.ops;
    fake->setup = *setup;
    fake->first_client =
        setup->spec->clients / setup->workers * setup->worker + (setup->worker < rest ? setup->worker : rest);
    fake_world.fakes[setup->worker] = fake;
    return &fake->base;
}

UNUSED static void fake_forget(void)
{
    for (int w = 0; w < FAKE_WORKERS; w++)
        pl_free(fake_world.fakes[w]);
    memset(&fake_world, 0, sizeof fake_world);
}

/* ---- scripts ---- */

struct fake_scripts {
    struct pl_arena *arena;
    struct names *names;
    struct load_script scripts[4];
    int count;
};

UNUSED static void fake_scripts_init(struct fake_scripts *scripts)
{
    *scripts = (struct fake_scripts){.arena = pl_arena_new()};
    scripts->names = names_new(scripts->arena);
    names_predefine(scripts->names, "client_id");
    names_predefine(scripts->names, "random_seed");
}

UNUSED static const struct program *fake_script(struct fake_scripts *scripts, int weight, const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    char name[16];
    snprintf(name, sizeof name, "s%d", scripts->count);
    if (program_compile(pl_strdup(scripts->arena, name), text, strlen(text), PROGRAM_AS_PGBENCH, scripts->names,
                        scripts->arena, &program, &err) != PL_OK)
        fail_msg("%s", err.what);
    scripts->scripts[scripts->count++] = (struct load_script){.program = program, .weight = weight};
    return program;
}

/* A program of steps made by hand, which live as long as the scripts. */
UNUSED static const struct program *fake_program(struct fake_scripts *scripts, int weight, const struct step *steps,
                                                 size_t count)
{
    static const struct hurl_request request; /* nobody looks at it */
    struct program *program = pl_alloc(scripts->arena, 1, sizeof *program);
    struct step *copies = pl_alloc(scripts->arena, count, sizeof *copies);
    *program = (struct program){.name = "by hand", .steps = copies, .step_count = count, .names = scripts->names};
    for (size_t i = 0; i < count; i++) {
        copies[i] = steps[i];
        copies[i].io_index = copies[i].number = -1;
        copies[i].http = copies[i].kind == STEP_HTTP ? &request : NULL;
        if (copies[i].kind == STEP_HTTP || copies[i].kind == STEP_SQL)
            copies[i].io_index = copies[i].number = (int)program->io_step_count++;
    }
    program->command_count = program->io_step_count;
    scripts->scripts[scripts->count++] = (struct load_script){.program = program, .weight = weight};
    return program;
}

/* Closed loop, one worker, four clients, for one second. */
UNUSED static struct load_spec fake_spec(const struct fake_scripts *scripts)
{
    return (struct load_spec){.protocol = PLAN_EXTENDED,
                              .scripts = scripts->scripts,
                              .script_count = scripts->count,
                              .clients = 4,
                              .workers = 1,
                              .arrivals = PLAN_CONSTANT,
                              .measure_ns = SEC,
                              .drain_ns = 3600 * SEC,
                              .seed = 11};
}

#endif
