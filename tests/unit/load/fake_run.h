/* Runs over a driver whose answers a test decides, with what they tell and log. */
#ifndef PL_TESTS_FAKE_RUN_H
#define PL_TESTS_FAKE_RUN_H

#include "fake_driver.h"

enum { FAKE_NOTICES = 4096 };

struct fake_run {
    struct load_run run;
    struct load_notice notices[FAKE_NOTICES];
    size_t notice_count;
    struct operation *operations; /* [worker] one after the other */
    size_t operation_count, operation_cap;
    int64_t last_number[1024]; /* of each client: the log's numbers are consecutive */
    bool is_sampled;           /* they are not */
    int64_t connects, connect_max_ns;
    bool is_deaf; /* notices are taken at the end */
};

static enum pl_code fake_operations(void *ctx, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    (void)worker, (void)err;
    struct fake_run *fake = ctx; /* what it begins with is the sink's own */
    for (size_t i = 0; i < count; i++) {
        const struct operation *operation = &operations[i];
        if (fake->operation_count == fake->operation_cap) {
            fake->operation_cap = fake->operation_cap == 0 ? 1024 : 2 * fake->operation_cap;
            fake->operations = realloc(fake->operations, fake->operation_cap * sizeof *fake->operations);
            assert_non_null(fake->operations);
        }
        if (operation->client < 1024) {
            int64_t *last = &fake->last_number[operation->client];
            assert_true(fake->is_sampled ? operation->number > *last : operation->number == *last + 1);
            *last = operation->number;
        }
        fake->operations[fake->operation_count++] = *operation;
    }
    return PL_OK;
}

static void fake_notices_take(struct load *load, struct fake_run *fake)
{
    while (fake->notice_count < FAKE_NOTICES && load_next_notice(load, &fake->notices[fake->notice_count]))
        fake->notice_count++;
}

/* Runs it; it must succeed and its books must balance. */
UNUSED static void fake_run(const struct load_spec *spec, load_driver_new *driver_new, struct fake_run *fake)
{
    struct load_run *run = &fake->run;
    struct load *load;
    *run = (struct load_run){0};
    fake->is_sampled = spec->sampling_frac > 0 && spec->sampling_frac < 1;
    memory_sink_init(&run->memory);
    struct sink sink = memory_sink(&run->memory); /* ctx: the memory, which is the first thing in the run */
    sink.operations = spec->log_operations ? fake_operations : NULL;
    if (load_new_with(spec, driver_new, &load, &run->err) != PL_OK)
        fail_msg("%s", run->err.what);
    assert_int_equal(load_connect(load, NULL, &run->err), PL_OK);
    load_start(load, START_NS);
    do {
        assert_int_equal(load_poll(load, 7, &sink, &run->glance, &run->err), PL_OK);
        if (!fake->is_deaf)
            fake_notices_take(load, fake);
        sched_yield();
    } while (!run->glance.ended);
    run->code = load_finish(load, 7, &sink, &run->result, &run->err);
    if (run->code != PL_OK)
        fail_msg("%s", run->err.what);
    fake_notices_take(load, fake);
    fake->connects = run->result.connect == NULL ? 0 : run->result.connect->total;
    fake->connect_max_ns = run->result.connect == NULL ? 0 : run->result.connect->max;
    load_run_keep(spec, run);
    load_free(load);
    load_run_check(run);
}

UNUSED static struct fake_run *fake_run_new(void)
{
    return pl_new(1, sizeof(struct fake_run));
}

UNUSED static void fake_run_release(struct fake_run *fake)
{
    load_run_release(&fake->run);
    free(fake->operations);
    pl_free(fake);
    fake_forget();
}

/* Sums over the slices. */
UNUSED static struct attempts fake_attempts(const struct load_run *run, int script, int step)
{
    struct attempts sum = {0};
    for (size_t i = 0; i < run->memory.slice_count; i++) {
        const struct slice *slice = &run->memory.slices[i];
        if ((script < 0 || slice->script == script) && slice->step == step)
            attempts_add(&sum, &slice->attempts);
    }
    return sum;
}

UNUSED static struct attempts fake_result_attempts(const struct load_result *result)
{
    struct attempts sum = result->warm_up_attempts;
    attempts_add(&sum, &result->measured_attempts);
    return sum;
}

/* Of all workers. */
UNUSED static int64_t fake_calls(char what)
{
    int64_t count = 0;
    for (int w = 0; w < FAKE_WORKERS; w++)
        for (size_t i = 0; fake_world.fakes[w] != NULL && i < fake_world.fakes[w]->call_count; i++)
            count += fake_world.fakes[w]->calls[i].what == what;
    return count;
}

UNUSED static int64_t fake_notices(const struct fake_run *fake, enum load_notice_kind kind)
{
    int64_t count = 0;
    for (size_t i = 0; i < fake->notice_count; i++)
        count += fake->notices[i].kind == kind;
    return count;
}

/* ---- what several tests decide ---- */

UNUSED static void fail_with(struct fake_answer *answer, const char *code)
{
    answer->outcome = DRIVER_ERROR;
    answer->code = code;
    answer->text = "the server did not like it";
}

UNUSED static bool is_sql(const struct step *step, const char *word)
{
    return strncmp(step->text, word, strlen(word)) == 0;
}

UNUSED static const char counting[] = "\\set n :n + 1\n\\set x :n * 1000 + random(0, 999)\nBEGIN;\nUPDATE :x;\nEND;\n";

UNUSED static struct load_variable n_zero = {.name = "n", .value = {.type = VALUE_INT, .i = 0}};

UNUSED static struct load_spec counting_spec(struct fake_scripts *scripts)
{
    fake_scripts_init(scripts);
    names_predefine(scripts->names, "n");
    fake_script(scripts, 1, counting);
    struct load_spec spec = fake_spec(scripts);
    spec.variables = &n_zero;
    spec.variable_count = 1;
    return spec;
}

UNUSED static void fail_always(struct fake *fake, int client, const struct step *step, const struct value *vars,
                               struct fake_answer *answer)
{
    (void)fake, (void)client, (void)vars;
    if (is_sql(step, "UPDATE"))
        fail_with(answer, "40P01");
}

UNUSED static const char *wrong_code;
UNUSED static enum driver_outcome wrong_outcome;
UNUSED static bool wrong_is_script;

/* The 5th UPDATE of client 2 goes wrong. */
UNUSED static void fail_fifth(struct fake *fake, int client, const struct step *step, const struct value *vars,
                              struct fake_answer *answer)
{
    (void)vars;
    if (client != 2 || !is_sql(step, "UPDATE") || ++fake->clients[client - fake->first_client].user != 5)
        return;
    fail_with(answer, wrong_code);
    answer->outcome = wrong_outcome;
    answer->is_script_fault = wrong_is_script;
}

#endif
