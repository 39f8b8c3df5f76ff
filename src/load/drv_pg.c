/* PostgreSQL over our own codec: the life of a client between the worker's calls and the loop's events. */
#include "load/drv_pg_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "load/recorder_int.h"

#include "base/ban.h"

/* ---- faults ---- */

static void fault_set(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text,
                      bool is_script_fault)
{
    if (client->is_faulty)
        return;
    client->is_faulty = true;
    client->fault = (struct pg_fault){.is_script_fault = is_script_fault};
    if (client->state == PG_PIPELINE) {
        const struct pg_pipeline *pipeline = &pg->pipelines[driver_pg_index(pg, client)];
        if (pipeline->next < pipeline->count && pipeline->queue[pipeline->next].statement != NULL)
            client->fault.step = pipeline->queue[pipeline->next].statement->step;
    }
    snprintf(client->fault.code, sizeof client->fault.code, "%s", code);
    recorder_text(driver_pg_text(pg, client), PG_TEXT_BYTES, text);
}

void driver_pg_fault(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text)
{
    fault_set(pg, client, code, text, false);
}

void driver_pg_fault_script(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text)
{
    fault_set(pg, client, code, text, true);
}

void driver_pg_tell(struct driver_pg *pg, struct pg_client *client)
{
    pg->told[pg->told_count++] = driver_pg_index(pg, client);
}

/* ---- sending ---- */

void driver_pg_watch(struct driver_pg *pg, struct pg_client *client)
{
    bool write = (client->sent < client->length && !client->socket.wants_read) || client->socket.wants_write;
    if (write == client->watches_write)
        return;
    client->watches_write = write;
    loop_change(&pg->loop, client->socket.fd, driver_pg_index(pg, client), write ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* A write moved so much of the request. */
static void client_sent(struct driver_pg *pg, struct pg_client *client, enum wire_io result, size_t count)
{
    client->sent += (uint32_t)count;
    if (__builtin_expect(result == WIRE_DONE && client->sent == client->length, 1)) {
        if (client->watches_write)
            driver_pg_watch(pg, client);
        return;
    }
    if (result == WIRE_DONE || result == WIRE_AGAIN) {
        driver_pg_watch(pg, client);
        return;
    }
    /* why it failed may stand in what the server sent before: wait reads that first */
    client->sent = client->length;
    client->write_errno = client->socket.os_errno;
    client->is_broken = true;
    driver_pg_tell(pg, client);
}

void driver_pg_send(struct driver_pg *pg, struct pg_client *client, const uint8_t *request)
{
    if (client->is_broken)
        return;
    if (client->sent == 0 &&
        wire_ring_put(&pg->ring, &client->socket, driver_pg_index(pg, client), request, client->length)) {
        client->sent = client->length; /* sends_flush says when it is not so */
        return;
    }
    size_t count = 0;
    enum wire_io result = wire_write(&client->socket, request + client->sent, client->length - client->sent, &count);
    client_sent(pg, client, result, count);
}

static void sends_flush(struct driver_pg *pg)
{
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    int count = wire_ring_flush(&pg->ring, shorts);
    for (int i = 0; i < count; i++) {
        struct pg_client *client = &pg->clients[shorts[i].tag];
        client->sent = 0;
        client->socket.os_errno = shorts[i].os_errno;
        client_sent(pg, client, shorts[i].result, shorts[i].moved);
    }
}

/* The step ends without having been sent. */
static void step_refuse(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text)
{
    driver_pg_fault_script(pg, client, code, text);
    client->state = PG_REFUSED;
    client->sent = client->length = 0;
    if (!client->is_broken) /* then it is among the told, and lost */
        driver_pg_tell(pg, client);
}

static int64_t pipeline_submit(struct driver_pg *pg, struct pg_client *client)
{
    struct pg_pipeline *pipeline = &pg->pipelines[driver_pg_index(pg, client)];
    int64_t sent_ns = pl_clock_ns();
    driver_pg_start(client, PG_PIPELINE);
    driver_pg_pipeline_end(pipeline);
    if (pipeline->refused_text == NULL) {
        driver_pg_send(pg, client, driver_pg_request(pg, client));
        return sent_ns;
    }
    client->state = PG_REFUSED;
    step_refuse(pg, client, pipeline->refused_code, pipeline->refused_text);
    client->fault.step = pipeline->refused_step;
    driver_pg_pipeline_reset(pipeline);
    return sent_ns;
}

/* A step that asks for more than to be sent. */
static int64_t special_submit(struct driver_pg *pg, struct pg_client *client)
{
    const struct pg_statement *statement = client->statement;
    if (statement->step->kind == STEP_END_PIPELINE)
        return pipeline_submit(pg, client);
    driver_pg_start(client, PG_STEP);
    client->sends_parse = pg->is_lazy && !driver_pg_is_prepared(pg, client, statement);
    client->wants_rows = statement->step->capture != CAPTURE_NOTHING;
    if (client->wants_rows)
        driver_pg_rows_begin(&pg->rows[driver_pg_index(pg, client)]);
    const char *code = NULL, *refusal = driver_pg_refusal(pg, statement->step, false, &code);
    const uint8_t *request = refusal == NULL ? driver_pg_request(pg, client) : NULL;
    int64_t sent_ns = pl_clock_ns();
    if (request != NULL)
        driver_pg_send(pg, client, request);
    else if (refusal != NULL)
        step_refuse(pg, client, code, refusal);
    else
        step_refuse(pg, client, "54000", driver_pg_too_long);
    return sent_ns;
}

static int64_t pg_submit(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                         const struct value *vars)
{
    struct driver_pg *pg = driver_pg_of(driver);
    struct pg_client *client = &pg->clients[index];
    assert(client->state == PG_IDLE);
    client->statement = driver_pg_statement(pg, program, step);
    client->vars = vars;
    if (__builtin_expect(!client->statement->is_plain, 0))
        return special_submit(pg, client);
    driver_pg_start(client, PG_STEP);
    if (pg->is_lazy)
        client->sends_parse = !driver_pg_is_prepared(pg, client, client->statement);
    const uint8_t *request = driver_pg_request(pg, client);
    int64_t sent_ns = pl_clock_ns();
    if (__builtin_expect(request != NULL, 1))
        driver_pg_send(pg, client, request);
    else
        step_refuse(pg, client, "54000", driver_pg_too_long);
    return sent_ns;
}

static bool pg_in_transaction(struct driver *driver, uint32_t index)
{
    const struct pg_client *client = &driver_pg_of(driver)->clients[index];
    return client->state == PG_IDLE && client->transaction != 'I';
}

static bool pg_recover(struct driver *driver, uint32_t index)
{
    struct driver_pg *pg = driver_pg_of(driver);
    struct pg_client *client = &pg->clients[index];
    if (!pg_in_transaction(driver, index))
        return false;
    driver_pg_start(client, PG_ROLLBACK);
    driver_pg_send(pg, client, driver_pg_request(pg, client));
    return true;
}

/* ---- ending ---- */

static void list_remove(uint32_t *list, int *count, uint32_t index)
{
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (list[i] != index)
            list[kept++] = list[i];
    *count = kept;
}

/* Events of the old connection must not meet a new one. */
static void events_remove(struct driver_pg *pg, uint32_t index)
{
    int kept = pg->event_next;
    for (int i = pg->event_next; i < pg->event_count; i++)
        if (pg->events[i].tag != index)
            pg->events[kept++] = pg->events[i];
    pg->event_count = kept;
}

void driver_pg_close(struct driver_pg *pg, struct pg_client *client)
{
    uint32_t index = driver_pg_index(pg, client);
    bool is_idle = client->state == PG_IDLE && !client->is_broken && !client->is_faulty;
    int fd = client->socket.fd;
    if (client->state == PG_CONNECTING)
        driver_pg_opening_leave(pg, client);
    list_remove(pg->told, &pg->told_count, index);
    list_remove(pg->again, &pg->again_count, index);
    events_remove(pg, index);
    wire_ring_forget(&pg->ring, index);
    if (fd >= 0)
        loop_remove(&pg->loop, fd);
    if (fd >= 0 && !is_idle) /* libpq says goodbye, and would wait for a server that takes nothing */
        shutdown(fd, SHUT_RDWR);
    PQfinish(pg->conns[index]);
    pg->conns[index] = NULL;
    if (pg->pipelines != NULL)
        driver_pg_pipeline_reset(&pg->pipelines[index]);
    client->socket = (struct wire_socket){.fd = -1};
    client->state = PG_CLOSED;
    client->sent = client->length = client->skip = 0;
    client->carry_length = 0;
    client->watches_write = client->is_broken = client->is_faulty = client->is_again = client->gathers = false;
    client->sends_parse = client->wants_rows = false;
}

void driver_pg_lost(struct driver_pg *pg, struct pg_client *client, struct driver_done *done)
{
    *done = (struct driver_done){.client = driver_pg_index(pg, client),
                                 .outcome = DRIVER_LOST,
                                 .is_script_fault = client->fault.is_script_fault,
                                 .fault_step = client->fault.step,
                                 .done_ns = pl_clock_ns(),
                                 .text = driver_pg_text(pg, client)};
    memcpy(done->code, client->fault.code, sizeof done->code);
    driver_pg_close(pg, client);
}

static void pg_disconnect(struct driver *driver, uint32_t index)
{
    struct driver_pg *pg = driver_pg_of(driver);
    if (pg->clients[index].state != PG_CLOSED)
        driver_pg_close(pg, &pg->clients[index]);
}

/* ---- events ---- */

static void client_ready(struct driver_pg *pg, const struct pg_client *client, struct driver_done *done)
{
    done->client = driver_pg_index(pg, client);
    done->done_ns = pl_clock_ns();
    done->outcome = DRIVER_OK;
    done->is_script_fault = false;
    done->fault_step = NULL;
    done->text = NULL;
    if (__builtin_expect(pg->ended_faulty, 0)) {
        done->outcome = DRIVER_ERROR;
        done->is_script_fault = pg->ended.is_script_fault;
        done->fault_step = pg->ended.step;
        memcpy(done->code, pg->ended.code, sizeof done->code);
        done->text = pg->ended_text;
    }
}

/* true: `done` was filled. */
static bool event_handle(struct driver_pg *pg, const struct loop_event *event, struct driver_done *done)
{
    struct pg_client *client = &pg->clients[event->tag];
    if (__builtin_expect(client->state <= PG_CONNECTING, 0))
        return client->state == PG_CONNECTING && driver_pg_opening_advance(pg, client, done);
    if (client->sent < client->length)
        driver_pg_send(pg, client, driver_pg_request(pg, client));
    switch (driver_pg_receive(pg, client)) {
    case PG_READY:
        client_ready(pg, client, done);
        return true;
    case PG_LOST:
        driver_pg_lost(pg, client, done);
        return true;
    case PG_MORE:
        break;
    }
    return false;
}

/* Reports the client that was told last: its write failed, it could not be connected, or its step was not sent. */
static void told_report(struct driver_pg *pg, struct driver_done *done)
{
    struct pg_client *client = &pg->clients[pg->told[--pg->told_count]];
    if (client->state == PG_REFUSED && !client->is_broken) {
        client->state = PG_IDLE;
        client->is_faulty = false;
        *done = (struct driver_done){.client = driver_pg_index(pg, client),
                                     .outcome = DRIVER_ERROR,
                                     .is_script_fault = client->fault.is_script_fault,
                                     .fault_step = client->fault.step,
                                     .done_ns = pl_clock_ns(),
                                     .text = driver_pg_text(pg, client)};
        memcpy(done->code, client->fault.code, sizeof done->code);
        return;
    }
    if (!client->is_faulty && driver_pg_receive(pg, client) != PG_LOST) { /* nothing there that explains it */
        const char *name = client->write_errno == 0 ? NULL : strerrorname_np(client->write_errno);
        driver_pg_fault(pg, client, name != NULL ? name : "CLOSED",
                        name != NULL ? strerrordesc_np(client->write_errno) : "the server closed the connection");
    }
    driver_pg_lost(pg, client, done);
}

/* Clients that the kernel will not announce take turns with those that it does. */
static void events_fill(struct driver_pg *pg, int64_t until_ns)
{
    pg->event_next = 0;
    pg->was_again = pg->again_count > 0 && !pg->was_again;
    if (!pg->was_again) {
        pg->event_count = loop_wait(&pg->loop, pg->again_count > 0 ? 0 : until_ns, pg->events, PG_EVENTS);
        return;
    }
    for (pg->event_count = 0; pg->event_count < PG_EVENTS && pg->again_count > 0; pg->event_count++) {
        uint32_t index = pg->again[--pg->again_count];
        pg->clients[index].is_again = false;
        pg->events[pg->event_count] = (struct loop_event){.tag = index, .flags = LOOP_READ};
    }
}

/* One end at a time, so that the worker answers each before the next is looked at. */
int driver_pg_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    (void)capacity;
    struct driver_pg *pg = driver_pg_of(driver);
    if (__builtin_expect(pg->opening_first >= 0, 0) && driver_pg_opening_look(pg, &until_ns, done))
        return 1;
    if (pg->event_next == pg->event_count)
        sends_flush(pg);
    if (pg->told_count > 0) {
        told_report(pg, done);
        return 1;
    }
    if (pg->event_next == pg->event_count)
        events_fill(pg, until_ns);
    while (pg->event_next < pg->event_count)
        if (event_handle(pg, &pg->events[pg->event_next++], done))
            return 1;
    return 0;
}

static int64_t pg_now(struct driver *driver)
{
    (void)driver;
    return pl_clock_ns();
}

/* ---- closing ---- */

static void pg_close(struct driver *driver)
{
    struct driver_pg *pg = driver_pg_of(driver);
    for (int c = 0; c < pg->count; c++) {
        driver_pg_close(pg, &pg->clients[c]);
        if (pg->rows != NULL)
            driver_pg_rows_release(&pg->rows[c]);
        if (pg->pipelines != NULL) {
            pl_free(pg->pipelines[c].out.data);
            pl_free(pg->pipelines[c].queue);
        }
    }
    if (pg->has_loop)
        loop_release(&pg->loop);
    wire_ring_release(&pg->ring);
    driver_pg_statements_release(pg);
    pl_free(pg->conns);
    pl_free(pg->clients);
    pl_free(pg->carries);
    pl_free(pg->texts);
    pl_free(pg->prepared);
    pl_free(pg->rows);
    pl_free(pg->pipelines);
    pl_free(pg->openings);
    pl_free(pg->hostaddr);
    pl_free(pg->told);
    pl_free(pg->again);
    pl_free(pg->in);
    pl_free(pg);
}

static const char *pg_event_loop(const struct driver *driver)
{
    const struct driver_pg *pg = (const struct driver_pg *)driver;
    return wire_ring_name(&pg->ring)[0] != '\0' ? "epoll, sends by io_uring" : loop_name();
}

static const struct driver_ops pg_ops = {
    .name = "pg",
    .event_loop = pg_event_loop,
    .open = driver_pg_open,
    .close = pg_close,
    .now = pg_now,
    .submit = pg_submit,
    .wait = driver_pg_wait,
    .queue = driver_pg_queue,
    .connect = driver_pg_connect,
    .disconnect = pg_disconnect,
    .in_transaction = pg_in_transaction,
    .recover = pg_recover,
};

struct driver *driver_pg_new(const struct driver_setup *setup)
{
    struct driver_pg *pg = pl_new(1, sizeof *pg);
    pg->base.ops = &pg_ops;
    pg->setup = *setup;
    pg->opening_first = pg->opening_last = -1;
    return &pg->base;
}
