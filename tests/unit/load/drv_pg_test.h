/* The PostgreSQL driver without the engine: what its tests share. A `driven` carries programs out, one client at a time or
 * several, and looks at what the driver reports. */
#ifndef PL_TESTS_DRV_PG_TEST_H
#define PL_TESTS_DRV_PG_TEST_H

#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/load_int.h"
#include "load/drv_pg_int.h"

#define DRIVEN_PATIENCE_NS (60 * PL_NS_PER_S)
#define UNUSED __attribute__((unused))

enum { DRIVEN_SCRIPTS = 4 };

struct driven {
    struct pl_arena *arena;
    struct names *names;
    struct program *programs[DRIVEN_SCRIPTS];
    struct load_script scripts[DRIVEN_SCRIPTS];
    struct load_spec spec;
    struct driver_setup setup;
    struct capture capture;
    struct value *vars; /* [client][variable] */
    struct driver *driver;
    struct driver_done done; /* the last one */
    int peer_fd;             /* driven_pair: the server's side */
};

UNUSED static void driven_init(struct driven *driven, const char *conninfo, enum plan_protocol protocol, int clients)
{
    *driven = (struct driven){.arena = pl_arena_new(), .peer_fd = -1};
    driven->names = names_new(driven->arena);
    driven->spec = (struct load_spec){.driver = LOAD_PG,
                                      .conninfo = conninfo,
                                      .protocol = protocol,
                                      .scripts = driven->scripts,
                                      .clients = clients,
                                      .workers = 1,
                                      .connect_timeout_ns = 20 * PL_NS_PER_S};
}

UNUSED static void driven_script(struct driven *driven, const char *text)
{
    struct pl_err err = {0};
    int index = driven->spec.script_count++;
    assert_true(index < DRIVEN_SCRIPTS);
    if (program_compile("script", text, strlen(text), PROGRAM_AS_PGBENCH, driven->names, driven->arena,
                        &driven->programs[index], &err) != PL_OK)
        fail_msg("%s\n%s", err.what, err.hint);
    driven->scripts[index] = (struct load_script){.program = driven->programs[index], .weight = 1};
}

UNUSED static void driven_new(struct driven *driven)
{
    size_t clients = (size_t)driven->spec.clients, count = names_count(driven->names);
    driven->vars = calloc(clients * count + 1, sizeof *driven->vars);
    assert_non_null(driven->vars);
    capture_init(&driven->capture, clients, count, driven->vars, NULL);
    driven->setup = (struct driver_setup){.spec = &driven->spec, .workers = 1, .capture = &driven->capture};
    driven->driver = driver_pg_new(&driven->setup);
}

/* Opens, or says why not. */
UNUSED static enum pl_code driven_try(struct driven *driven, struct pl_err *err)
{
    driven_new(driven);
    return driven->driver->ops->open(driven->driver, driven->spec.clients, err);
}

UNUSED static void driven_open(struct driven *driven)
{
    struct pl_err err = {0};
    if (driven_try(driven, &err) != PL_OK)
        fail_msg("%s", err.what);
}

/* Compiles one script and opens one client. */
UNUSED static void driven_start(struct driven *driven, const char *conninfo, enum plan_protocol protocol, const char *text)
{
    driven_init(driven, conninfo, protocol, 1);
    driven_script(driven, text);
    driven_open(driven);
}

/* One client on one end of a pair of sockets; the test itself is the server. */
UNUSED static void driven_pair(struct driven *driven, enum plan_protocol protocol, bool prepare_lazily, const char *text)
{
    int fds[2];
    struct pl_err err = {0};
    driven_init(driven, NULL, protocol, 1);
    driven->spec.prepare_lazily = prepare_lazily;
    driven_script(driven, text);
    driven_new(driven);
    struct driver_pg *pg = driver_pg_of(driven->driver);
    driver_pg_take_memory(pg, 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(loop_init(&pg->loop, &err), PL_OK);
    assert_int_equal(loop_add(&pg->loop, fds[0], 0, LOOP_READ, &err), PL_OK);
    pg->has_loop = true;
    pg->count = 1;
    pg->clients[0].socket.fd = fds[0];
    pg->clients[0].transaction = 'I';
    pg->clients[0].state = PG_IDLE;
    driven->peer_fd = fds[1];
}

UNUSED static void driven_stop(struct driven *driven)
{
    int fd = driven->peer_fd >= 0 ? driver_pg_of(driven->driver)->clients[0].socket.fd : -1;
    if (driven->peer_fd >= 0)
        close(driven->peer_fd);
    driven->driver->ops->close(driven->driver);
    if (fd >= 0)
        close(fd);
    capture_release(&driven->capture);
    free(driven->vars);
    pl_arena_free(driven->arena);
}

UNUSED static struct value *driven_vars(struct driven *driven, int client)
{
    return driven->vars + (size_t)client * names_count(driven->names);
}

UNUSED static struct value *driven_value(struct driven *driven, int client, const char *name)
{
    int index = names_find(driven->names, name, strlen(name));
    if (index < 0)
        fail_msg("no variable %s", name);
    return &driven_vars(driven, client)[index];
}

UNUSED static void driven_set_text(struct driven *driven, int client, const char *name, const char *text)
{
    *driven_value(driven, client, name) =
        (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text};
}

UNUSED static void assert_variable(struct driven *driven, const char *name, const char *text)
{
    const struct value *value = driven_value(driven, 0, name);
    if (text == NULL) {
        assert_int_equal(value->type, VALUE_UNSET);
        return;
    }
    assert_int_equal(value->type, VALUE_TEXT);
    assert_string_equal(value->text, text);
    assert_int_equal(value->length, strlen(text));
}

/* Waits for the end of what one client has under way; no other may have anything. */
UNUSED static enum driver_outcome driven_wait(struct driven *driven, int client)
{
    int64_t until_ns = pl_clock_ns() + DRIVEN_PATIENCE_NS;
    memset(&driven->done, 0xa5, sizeof driven->done);
    while (driven->driver->ops->wait(driven->driver, pl_clock_ns() + 50 * PL_NS_PER_MS, &driven->done, 1) == 0)
        if (pl_clock_ns() > until_ns)
            fail_msg("nothing is reported");
    assert_int_equal(driven->done.client, client);
    if (driven->done.outcome == DRIVER_OK) {
        assert_null(driven->done.text);
        assert_null(driven->done.fault_step);
        assert_false(driven->done.is_script_fault);
    } else {
        assert_non_null(driven->done.text);
        assert_true(driven->done.code[0] != '\0');
    }
    return driven->done.outcome;
}

/* Runs a script for one client; ends at the first I/O step that does not end well. */
UNUSED static enum driver_outcome driven_run_for(struct driven *driven, int client, int script)
{
    const struct driver_ops *ops = driven->driver->ops;
    const struct program *program = driven->programs[script];
    struct value *vars = driven_vars(driven, client);
    struct pl_rng rng;
    bool is_queueing = false;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        if (step->kind == STEP_SET) {
            const char *wrong = program_eval(program, step, vars, &rng);
            if (wrong != NULL)
                fail_msg("%s", wrong);
        } else if (step->kind == STEP_START_PIPELINE) {
            is_queueing = true;
        } else if (step->kind == STEP_SYNC_PIPELINE || (is_queueing && step->kind == STEP_SQL)) {
            ops->queue(driven->driver, (uint32_t)client, program, step, vars);
        } else if (step->kind == STEP_SQL || step->kind == STEP_END_PIPELINE) {
            is_queueing = false;
            ops->submit(driven->driver, (uint32_t)client, program, step, vars);
            if (driven_wait(driven, client) != DRIVER_OK)
                return driven->done.outcome;
        }
    }
    return DRIVER_OK;
}

/* ---- of a pair ---- */

#define BYTES(literal) (literal), sizeof(literal) - 1

/* Starts the first I/O step, or the whole pipeline, after what stands before it. */
UNUSED static void pair_submit(struct driven *driven)
{
    const struct driver_ops *ops = driven->driver->ops;
    const struct program *program = driven->programs[0];
    bool is_queueing = false;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        bool is_io = step->kind == STEP_SQL || step->kind == STEP_SYNC_PIPELINE;
        is_queueing = is_queueing || step->kind == STEP_START_PIPELINE;
        if (is_io && is_queueing) {
            ops->queue(driven->driver, 0, program, step, driven->vars);
        } else if (is_io || step->kind == STEP_END_PIPELINE) {
            ops->submit(driven->driver, 0, program, step, driven->vars);
            return;
        }
    }
}

/* What the driver has sent since the last time is exactly this. */
UNUSED static void pair_expect(const struct driven *driven, const char *bytes, size_t length)
{
    static char got[64 * 1024];
    ssize_t count = recv(driven->peer_fd, got, sizeof got, MSG_DONTWAIT);
    assert_int_equal(count < 0 ? 0 : count, length);
    if (length > 0)
        assert_memory_equal(got, bytes, length);
}

UNUSED static void pair_send(const struct driven *driven, const char *bytes, size_t length)
{
    if (length > 0)
        assert_int_equal(send(driven->peer_fd, bytes, length, MSG_NOSIGNAL), length);
}

/* Nothing is reported of what has come so far. */
UNUSED static void pair_quiet(struct driven *driven)
{
    struct driver_done done;
    for (int i = 0; i < 3; i++)
        if (driven->driver->ops->wait(driven->driver, 0, &done, 1) != 0)
            fail_msg("reported too early: %d %s", done.outcome, done.code);
}

UNUSED static enum driver_outcome pair_answer(struct driven *driven, const char *bytes, size_t length)
{
    pair_send(driven, bytes, length);
    return driven_wait(driven, 0);
}

/* The answer in two pieces, the first of `split` bytes; split == length: byte by byte. Its end is not reported before its
 * last byte has come. */
UNUSED static enum driver_outcome pair_answer_split(struct driven *driven, const char *bytes, size_t length, size_t split)
{
    size_t sent = 0;
    while (sent < length - 1) {
        size_t piece = split == length ? 1 : sent == 0 && split > 0 ? split : length - sent;
        pair_send(driven, bytes + sent, piece);
        sent += piece;
        if (sent < length)
            pair_quiet(driven);
    }
    pair_send(driven, bytes + sent, length - sent);
    return driven_wait(driven, 0);
}

UNUSED static enum driver_outcome driven_run(struct driven *driven)
{
    return driven_run_for(driven, 0, 0);
}

UNUSED static void assert_done(const struct driven *driven, enum driver_outcome outcome, const char *code, const char *text)
{
    if (driven->done.outcome != outcome || strcmp(driven->done.code, code) != 0 || strstr(driven->done.text, text) == NULL)
        fail_msg("outcome %d, %s: %s", driven->done.outcome, driven->done.code, driven->done.text);
}

UNUSED static void assert_runs(struct driven *driven)
{
    if (driven_run(driven) != DRIVER_OK)
        fail_msg("%s: %s", driven->done.code, driven->done.text);
}

UNUSED static void assert_script_fault(struct driven *driven, const char *code, const char *text)
{
    assert_int_equal(driven_run(driven), DRIVER_ERROR);
    assert_done(driven, DRIVER_ERROR, code, text);
    assert_true(driven->done.is_script_fault);
}

#endif
