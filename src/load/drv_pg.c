/* PostgreSQL over our own codec. libpq opened the connections; from then on only these functions touch their sockets.
 *
 * Requests are built in one buffer of the driver, or stand prebuilt when nothing in them varies, and leave in one write.
 * What a short write leaves over is not stored: program, step and variables do not change while a step is under way, so the
 * request is built again when the socket takes more. Answers are read into one buffer of the driver; a client keeps only
 * the piece of a message that has not arrived whole. Bodies that nobody needs (rows) are skipped as they come. So a client
 * costs about one KiB, however large its requests and results are. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <libpq-fe.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "load/load_int.h"
#include "wire/io.h"
#include "wire/loop.h"
#include "wire/pgconn.h"
#include "wire/pgmsg.h"

#include "base/ban.h"

enum {
    READ_BYTES = 32 * 1024,
    CARRY_BYTES = 512, /* a longer ErrorResponse is cut short */
    TEXT_BYTES = 256,  /* more than the recorder keeps, so that it decides where to cut */
    EVENTS = 64,
    READS_PER_EVENT = 16, /* then the others get their turn */
    OPEN_AT_ONCE = 32,
    STOP_LOOK_MS = 100,
    NAME_BYTES = 16
};

enum pg_state {
    PG_IDLE,     /* the server waits for us */
    PG_PARSE,    /* preparing a statement, before the trial */
    PG_STEP,     /* a step's request was sent, or part of it; ends with ReadyForQuery */
    PG_ROLLBACK, /* the same with ROLLBACK */
    PG_DEAD      /* nothing is sent or read any more */
};

/* One SQL step of one program. */
struct pg_statement {
    const struct step *step;
    const struct program *program;
    char name[NAME_BYTES];
    uint8_t *fixed; /* the whole request when it has no parameters */
    size_t fixed_length;
};

/* One cache line but for what is rarely needed. */
struct pg_client {
    alignas(64) struct wire_socket socket;
    const struct pg_statement *statement; /* of the request under way */
    const struct value *vars;
    uint32_t sent, length; /* of the request */
    uint32_t skip;         /* bytes of the current body still to be thrown away */
    uint16_t carry_length;
    uint8_t state;
    char transaction; /* as the last ReadyForQuery said */
    bool watches_write;
    bool is_answered; /* something came that may stand before ReadyForQuery */
    bool is_faulty;   /* `code` and the text say why */
    bool is_broken;   /* a write failed; it is in driver_pg.broken */
    bool is_again;    /* it is in driver_pg.again */
    int write_errno;
    char code[DRIVER_CODE_BYTES];
};
_Static_assert(offsetof(struct pg_client, write_errno) <= 64, "what every step touches is one cache line");

struct driver_pg {
    struct driver base;
    struct driver_setup setup;
    struct loop loop;
    bool has_loop;
    int count;
    PGconn **conns;
    struct pg_client *clients;
    uint8_t *carries; /* CARRY_BYTES each */
    char *texts;      /* TEXT_BYTES each: what was wrong */
    uint32_t *broken; /* clients whose write failed, still to be reported */
    uint32_t *again;  /* clients with decrypted bytes left, whose turn was over */
    int broken_count, again_count;
    bool was_again;    /* the events at hand are those of `again` */
    bool ended_faulty; /* of the step whose end is being reported */
    char ended_code[DRIVER_CODE_BYTES], ended_text[TEXT_BYTES];
    struct pg_statement *statements; /* of all programs, in order */
    size_t statement_count;
    size_t *first_statement; /* of each script */
    struct pgmsg_out out;    /* the request that is being built */
    char *query;             /* simple protocol: the text that is being put together */
    uint8_t *in;             /* READ_BYTES + CARRY_BYTES */
    struct loop_event events[EVENTS];
    int event_count, event_next;
};

static struct driver_pg *pg_of(struct driver *driver)
{
    return (struct driver_pg *)driver;
}

/* ---- requests ---- */

static const char rollback_sql[] = "ROLLBACK";

static void build_simple(struct driver_pg *pg, const struct step *step, const struct value *vars)
{
    size_t length = 0;
    for (size_t i = 0; i < step->piece_count; i++) {
        const struct sql_piece *piece = &step->pieces[i];
        memcpy(pg->query + length, piece->text, piece->length);
        length += piece->length;
        if (piece->variable >= 0)
            length += value_text(&vars[piece->variable], pg->query + length);
    }
    pgmsg_put_query(&pg->out, pg->query, length);
}

static void build_extended(struct driver_pg *pg, const struct pg_statement *statement, const struct value *vars)
{
    const struct step *step = statement->step;
    struct pgmsg_text params[PL_MAX_PARAMETERS];
    char texts[PL_MAX_PARAMETERS][VALUE_TEXT_BYTES];
    for (size_t i = 0; i < step->parameter_count; i++) {
        const struct value *value = &vars[step->parameters[i]];
        params[i].length = value_text(value, texts[i]);
        params[i].text = value->type == VALUE_NULL || value->type == VALUE_UNSET ? NULL : texts[i];
    }
    bool prepared = pg->setup.spec->protocol == PLAN_PREPARED;
    if (!prepared)
        pgmsg_put_parse(&pg->out, "", step->prepared_text, strlen(step->prepared_text));
    pgmsg_put_bind(&pg->out, prepared ? statement->name : "", params, step->parameter_count);
    pgmsg_put_execute(&pg->out);
    pgmsg_put_sync(&pg->out);
}

/* The request of what the client is doing: the bytes stand until the next call. */
static const uint8_t *request_build(struct driver_pg *pg, struct pg_client *client)
{
    const struct pg_statement *statement = client->statement;
    if (client->state == PG_STEP && statement->fixed != NULL) {
        client->length = (uint32_t)statement->fixed_length;
        return statement->fixed;
    }
    pg->out.len = 0;
    if (client->state == PG_ROLLBACK) {
        pgmsg_put_query(&pg->out, rollback_sql, sizeof rollback_sql - 1);
    } else if (client->state == PG_PARSE) {
        pgmsg_put_parse(&pg->out, statement->name, statement->step->prepared_text, strlen(statement->step->prepared_text));
        pgmsg_put_sync(&pg->out);
    } else if (pg->setup.spec->protocol == PLAN_SIMPLE) {
        build_simple(pg, statement->step, client->vars);
    } else {
        build_extended(pg, statement, client->vars);
    }
    assert(!pg->out.overflow); /* the buffer was made for the longest */
    client->length = (uint32_t)pg->out.len;
    return pg->out.data;
}

/* ---- faults ---- */

static uint32_t index_of(const struct driver_pg *pg, const struct pg_client *client)
{
    return (uint32_t)(client - pg->clients);
}

static char *text_of(const struct driver_pg *pg, const struct pg_client *client)
{
    return pg->texts + (size_t)index_of(pg, client) * TEXT_BYTES;
}

/* The first thing that went wrong in a step explains it. */
static void fault_set(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text)
{
    if (client->is_faulty)
        return;
    client->is_faulty = true;
    snprintf(client->code, sizeof client->code, "%s", code);
    snprintf(text_of(pg, client), TEXT_BYTES, "%s", text);
}

static void fault_set_io(struct driver_pg *pg, struct pg_client *client, enum wire_io result, int os_errno)
{
    const char *name = os_errno == 0 ? NULL : strerrorname_np(os_errno);
    if (name != NULL)
        fault_set(pg, client, name, strerrordesc_np(os_errno));
    else if (result == WIRE_CLOSED)
        fault_set(pg, client, "CLOSED", "the server closed the connection");
    else
        fault_set(pg, client, "TLS", "the encrypted connection failed");
}

static void fault_set_error(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    struct pgmsg_error error;
    if (!pgmsg_error_parse(msg, &error))
        fault_set(pg, client, "PROTO", "an error message of the server could not be read");
    else
        fault_set(pg, client, error.sqlstate[0] == '\0' ? "PROTO" : error.sqlstate, error.message);
}

/* ---- sending ---- */

static void client_watch(struct driver_pg *pg, struct pg_client *client)
{
    bool write = (client->sent < client->length && !client->socket.wants_read) || client->socket.wants_write;
    if (write == client->watches_write)
        return;
    client->watches_write = write;
    loop_change(&pg->loop, client->socket.fd, index_of(pg, client), write ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* Its loss is reported by the next wait. */
static void client_break(struct driver_pg *pg, struct pg_client *client)
{
    client->is_broken = true;
    pg->broken[pg->broken_count++] = index_of(pg, client);
}

/* Writes what is left of the request. */
static void request_send(struct driver_pg *pg, struct pg_client *client, const uint8_t *request)
{
    if (client->is_broken)
        return;
    size_t count = 0;
    enum wire_io result = wire_write(&client->socket, request + client->sent, client->length - client->sent, &count);
    client->sent += (uint32_t)count;
    if (__builtin_expect(result == WIRE_DONE && client->sent == client->length, 1)) {
        if (client->watches_write)
            client_watch(pg, client);
        return;
    }
    if (result == WIRE_DONE || result == WIRE_AGAIN) {
        client_watch(pg, client);
        return;
    }
    /* why it failed may stand in what the server sent before: wait reads that first */
    client->sent = client->length;
    client->write_errno = client->socket.os_errno;
    client_break(pg, client);
}

static void request_start(struct pg_client *client, enum pg_state state)
{
    client->state = (uint8_t)state;
    client->sent = 0;
    client->is_answered = false;
    client->is_faulty = client->is_faulty && client->is_broken; /* what broke it is still to be reported */
}

static const struct pg_statement *statement_of(const struct driver_pg *pg, const struct program *program,
                                               const struct step *step)
{
    const struct load_script *scripts = pg->setup.spec->scripts;
    int script = 0;
    while (scripts[script].program != program)
        script++;
    return &pg->statements[pg->first_statement[script] + (size_t)step->io_index];
}

static int64_t pg_submit(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                         const struct value *vars)
{
    struct driver_pg *pg = pg_of(driver);
    struct pg_client *client = &pg->clients[index];
    assert(client->state == PG_IDLE);
    client->statement = statement_of(pg, program, step);
    client->vars = vars;
    request_start(client, PG_STEP);
    const uint8_t *request = request_build(pg, client);
    int64_t sent_ns = pl_clock_ns();
    request_send(pg, client, request);
    return sent_ns;
}

static bool pg_recover(struct driver *driver, uint32_t index)
{
    struct driver_pg *pg = pg_of(driver);
    struct pg_client *client = &pg->clients[index];
    if (client->transaction == 'I')
        return false;
    request_start(client, PG_ROLLBACK);
    request_send(pg, client, request_build(pg, client));
    return true;
}

/* ---- receiving ---- */

/* Whatever follows on this connection belongs to no step: what was wrong with this one is put aside. */
static void step_end(struct driver_pg *pg, struct pg_client *client)
{
    client->state = PG_IDLE;
    client->is_answered = false;
    pg->ended_faulty = client->is_faulty;
    if (__builtin_expect(client->is_faulty, 0)) {
        memcpy(pg->ended_code, client->code, sizeof pg->ended_code);
        memcpy(pg->ended_text, text_of(pg, client), TEXT_BYTES);
        client->is_faulty = false;
    }
}

enum pg_progress { PG_MORE, PG_READY, PG_LOST };

static enum pg_progress message_handle(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    switch (msg->type) {
    case 'Z':
        client->transaction = pgmsg_ready_state(msg);
        if (client->transaction != 0 && client->is_answered && client->sent == client->length) {
            step_end(pg, client);
            return PG_READY;
        }
        fault_set(pg, client, "PROTO", "the server was ready without an answer");
        return PG_LOST;
    case 'E':
        fault_set_error(pg, client, msg);
        client->is_answered = client->state != PG_IDLE;
        return client->state == PG_IDLE ? PG_LOST : PG_MORE; /* unasked, it is the server's last word */
    case '1':
    case 'C':
    case 'I':
        client->is_answered = client->state != PG_IDLE;
        return PG_MORE;
    case 'G':
    case 'H':
    case 'W':
        fault_set(pg, client, "COPY", "COPY cannot be part of a load script");
        return PG_LOST;
    default:
        return PG_MORE;
    }
}

/* The connection is gone. When the step had ended before, that comes first. */
static enum pg_progress progress_lost(struct driver_pg *pg, struct pg_client *client, enum pg_progress before)
{
    if (before != PG_READY)
        return PG_LOST;
    if (!client->is_broken)
        client_break(pg, client);
    return PG_READY;
}

/* An ErrorResponse that is longer than we keep: the whole fields of its beginning, and the cut one as far as it goes. */
static void error_cut(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, const struct pgmsg *whole)
{
    struct pgmsg cut = *whole;
    cut.length = CARRY_BYTES - (size_t)(whole->body - bytes);
    bytes[CARRY_BYTES - 1] = bytes[CARRY_BYTES - 2] = '\0'; /* the end of the field, the end of the list */
    if (bytes[CARRY_BYTES - 3] == '\0') /* it was cut behind a field's end: the list ends one byte earlier */
        cut.length--;
    fault_set_error(pg, client, &cut);
}

/* Goes through `length` bytes at `bytes`; what has to be seen again together with what follows it goes into the carry. */
static enum pg_progress bytes_handle(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, size_t length)
{
    enum pg_progress progress = PG_MORE;
    while (length > 0) {
        if (client->skip > 0) {
            size_t skipped = client->skip < length ? client->skip : length;
            client->skip -= (uint32_t)skipped;
            bytes += skipped;
            length -= skipped;
            continue;
        }
        struct pgmsg msg;
        enum pgmsg_result result = pgmsg_next(bytes, length, &msg);
        if (result == PGMSG_BAD) {
            fault_set(pg, client, "PROTO", "the server sent bytes that are not the PostgreSQL protocol");
            return progress_lost(pg, client, progress);
        }
        if (result == PGMSG_PARTIAL) {
            bool is_needed = msg.total == 0 || msg.type == 'E' || msg.type == 'Z';
            if (is_needed && length < CARRY_BYTES) {
                memcpy(pg->carries + (size_t)index_of(pg, client) * CARRY_BYTES, bytes, length);
                client->carry_length = (uint16_t)length;
                return progress;
            }
            if (msg.type == 'E') {
                error_cut(pg, client, bytes, &msg);
                client->is_answered = client->state != PG_IDLE;
            } else if (message_handle(pg, client, &msg) == PG_LOST) {
                return progress_lost(pg, client, progress);
            }
            client->skip = (uint32_t)msg.total;
            continue;
        }
        enum pg_progress step = message_handle(pg, client, &msg);
        if (step == PG_LOST)
            return progress_lost(pg, client, progress);
        if (step == PG_READY)
            progress = PG_READY;
        bytes += msg.total;
        length -= msg.total;
    }
    return progress;
}

static enum pg_progress client_receive(struct driver_pg *pg, struct pg_client *client)
{
    enum pg_progress progress = PG_MORE;
    bool more = true;
    for (int reads = 0; more; reads++) {
        if (reads == READS_PER_EVENT) {
            if (!client->is_again && wire_has_buffered(&client->socket))
                pg->again[pg->again_count++] = index_of(pg, client);
            client->is_again = client->is_again || wire_has_buffered(&client->socket);
            break;
        }
        size_t carried = client->carry_length, count = 0;
        enum wire_io result = wire_read(&client->socket, pg->in + carried, READ_BYTES, &count);
        if (result == WIRE_AGAIN)
            break;
        if (result != WIRE_DONE) {
            fault_set_io(pg, client, result, client->socket.os_errno);
            return progress_lost(pg, client, progress);
        }
        memcpy(pg->in, pg->carries + (size_t)index_of(pg, client) * CARRY_BYTES, carried);
        client->carry_length = 0;
        enum pg_progress step = bytes_handle(pg, client, pg->in, carried + count);
        if (step == PG_LOST)
            return progress_lost(pg, client, progress);
        if (step == PG_READY)
            progress = PG_READY;
        more = !client->is_broken && (count == READ_BYTES || wire_has_buffered(&client->socket));
    }
    if (client->socket.wants_write || client->watches_write)
        client_watch(pg, client);
    return progress;
}

/* ---- events ---- */

static void client_lost(struct driver_pg *pg, struct pg_client *client, struct driver_done *done)
{
    client->state = PG_DEAD;
    loop_remove(&pg->loop, client->socket.fd);
    shutdown(client->socket.fd, SHUT_RDWR); /* tells the server; the descriptor is libpq's and stays */
    *done = (struct driver_done){.client = index_of(pg, client), .outcome = DRIVER_LOST, .done_ns = pl_clock_ns()};
    memcpy(done->code, client->code, sizeof done->code);
    done->text = text_of(pg, client);
}

static void client_ready(struct driver_pg *pg, const struct pg_client *client, struct driver_done *done)
{
    done->client = index_of(pg, client);
    done->done_ns = pl_clock_ns();
    done->outcome = DRIVER_OK;
    done->text = NULL;
    if (__builtin_expect(pg->ended_faulty, 0)) {
        done->outcome = DRIVER_ERROR;
        memcpy(done->code, pg->ended_code, sizeof done->code);
        done->text = pg->ended_text;
    }
}

/* true: `done` was filled. */
static bool event_handle(struct driver_pg *pg, const struct loop_event *event, struct driver_done *done)
{
    struct pg_client *client = &pg->clients[event->tag];
    if (client->state == PG_DEAD)
        return false;
    if (client->sent < client->length)
        request_send(pg, client, request_build(pg, client));
    switch (client_receive(pg, client)) {
    case PG_READY:
        client_ready(pg, client, done);
        return true;
    case PG_LOST:
        client_lost(pg, client, done);
        return true;
    case PG_MORE:
        break;
    }
    return false;
}

/* Reports the client whose write failed last. false: it was reported already. */
static bool broken_report(struct driver_pg *pg, struct driver_done *done)
{
    struct pg_client *client = &pg->clients[pg->broken[--pg->broken_count]];
    if (client->state == PG_DEAD)
        return false;
    if (!client->is_faulty && client_receive(pg, client) != PG_LOST) /* nothing there that explains it */
        fault_set_io(pg, client, WIRE_FAILED, client->write_errno);
    client_lost(pg, client, done);
    return true;
}

/* Clients that the kernel will not announce take turns with those that it does. */
static void events_fill(struct driver_pg *pg, int64_t until_ns)
{
    pg->event_next = 0;
    pg->was_again = pg->again_count > 0 && !pg->was_again;
    if (!pg->was_again) {
        pg->event_count = loop_wait(&pg->loop, pg->again_count > 0 ? 0 : until_ns, pg->events, EVENTS);
        return;
    }
    for (pg->event_count = 0; pg->event_count < EVENTS && pg->again_count > 0; pg->event_count++) {
        uint32_t index = pg->again[--pg->again_count];
        pg->clients[index].is_again = false;
        pg->events[pg->event_count] = (struct loop_event){.tag = index, .flags = LOOP_READ};
    }
}

/* One end at a time, so that the worker answers each before the next is looked at. */
static int pg_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    (void)capacity;
    struct driver_pg *pg = pg_of(driver);
    while (pg->broken_count > 0)
        if (broken_report(pg, done))
            return 1;
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

/* ---- opening and closing ---- */

static size_t longest_request(const struct driver_pg *pg)
{
    size_t longest = 64; /* ROLLBACK */
    for (size_t i = 0; i < pg->statement_count; i++) {
        const struct step *step = pg->statements[i].step;
        size_t simple = 0;
        for (size_t p = 0; p < step->piece_count; p++)
            simple += step->pieces[p].length + VALUE_TEXT_BYTES;
        size_t extended = strlen(step->prepared_text) + step->parameter_count * (4 + VALUE_TEXT_BYTES);
        size_t need = (simple > extended ? simple : extended) + 128; /* headers, names, Execute, Sync */
        longest = need > longest ? need : longest;
    }
    return longest;
}

static void statement_fix(struct driver_pg *pg, struct pg_statement *statement)
{
    if (statement->step->parameter_count > 0)
        return;
    struct pg_client asks = {.statement = statement, .state = PG_STEP};
    const uint8_t *request = request_build(pg, &asks);
    statement->fixed = pl_new(asks.length, 1);
    memcpy(statement->fixed, request, asks.length);
    statement->fixed_length = asks.length;
}

static void statements_init(struct driver_pg *pg)
{
    const struct load_spec *spec = pg->setup.spec;
    pg->first_statement = pl_new((size_t)spec->script_count, sizeof *pg->first_statement);
    for (int s = 0; s < spec->script_count; s++) {
        pg->first_statement[s] = pg->statement_count;
        pg->statement_count += spec->scripts[s].program->io_step_count;
    }
    pg->statements = pl_new(pg->statement_count, sizeof *pg->statements);
    size_t next = 0;
    for (int s = 0; s < spec->script_count; s++) {
        const struct program *program = spec->scripts[s].program;
        for (size_t i = 0; i < program->step_count; i++) {
            if (program->steps[i].io_index < 0)
                continue;
            struct pg_statement *statement = &pg->statements[next];
            statement->step = &program->steps[i];
            statement->program = program;
            snprintf(statement->name, sizeof statement->name, "P_%zu", next++);
        }
    }
    size_t longest = longest_request(pg);
    pg->out = (struct pgmsg_out){.data = pl_new(longest, 1), .cap = longest};
    pg->query = pl_new(longest, 1);
    for (size_t i = 0; i < pg->statement_count; i++)
        statement_fix(pg, &pg->statements[i]);
}

static enum pl_code prepare_failed(const struct pg_statement *statement, const struct driver_done *done, struct pl_err *err)
{
    pl_err_set(err, PL_SERVICE, "script \"%s\", line %d: the server cannot prepare the command: %s (%s)",
               statement->program->name, statement->step->line, done->text, done->code);
    pl_err_hint(err, "The tables and columns that the script uses must exist before the load starts.");
    return err->code;
}

/* Prepares one statement in all connections at once. */
static enum pl_code statement_prepare(struct driver_pg *pg, const struct pg_statement *statement, int64_t deadline_ns,
                                      struct pl_err *err)
{
    for (int c = 0; c < pg->count; c++) {
        pg->clients[c].statement = statement;
        request_start(&pg->clients[c], PG_PARSE);
        request_send(pg, &pg->clients[c], request_build(pg, &pg->clients[c]));
    }
    for (int left = pg->count; left > 0;) {
        int64_t now_ns = pl_clock_ns();
        if (pg->setup.stop != NULL && __atomic_load_n(pg->setup.stop, __ATOMIC_RELAXED) != 0)
            return pl_err_set(err, PL_INTERRUPTED, "interrupted while preparing");
        if (now_ns >= deadline_ns) {
            pl_err_set(err, PL_SERVICE, "script \"%s\", line %d: not prepared in all connections when the time was over",
                       statement->program->name, statement->step->line);
            pl_err_hint(err, "The server may be overloaded, or a lock may be held on a table that the script uses.");
            return err->code;
        }
        int64_t look_ns = now_ns + STOP_LOOK_MS * PL_NS_PER_MS;
        struct driver_done done;
        int count = pg_wait(&pg->base, look_ns < deadline_ns ? look_ns : deadline_ns, &done, 1);
        if (count > 0 && done.outcome != DRIVER_OK)
            return prepare_failed(statement, &done, err);
        left -= count;
    }
    return PL_OK;
}

static enum pl_code sockets_take(struct driver_pg *pg, struct pl_err *err)
{
    if (loop_init(&pg->loop, err) != PL_OK)
        return err->code;
    pg->has_loop = true;
    if (pg->setup.spec->open_loop)
        loop_be_punctual(&pg->loop);
    for (int c = 0; c < pg->count; c++) {
        pg->clients[c].socket = pgconn_socket(pg->conns[c]);
        pg->clients[c].transaction = 'I';
        if (loop_add(&pg->loop, pg->clients[c].socket.fd, (uint32_t)c, LOOP_READ, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

static enum pl_code pg_open(struct driver *driver, int clients, struct pl_err *err)
{
    struct driver_pg *pg = pg_of(driver);
    const struct load_spec *spec = pg->setup.spec;
    int64_t deadline_ns = pl_clock_ns() + spec->connect_timeout_ns;
    size_t count = (size_t)clients;
    pg->conns = pl_new(count, sizeof *pg->conns);
    pg->clients = load_aligned(count, sizeof *pg->clients);
    pg->carries = pl_new(count, CARRY_BYTES);
    pg->texts = pl_new(count, TEXT_BYTES);
    pg->broken = pl_new(count, sizeof *pg->broken);
    pg->again = pl_new(count, sizeof *pg->again);
    pg->in = pl_new(READ_BYTES + CARRY_BYTES, 1);
    statements_init(pg);
    int at_once = OPEN_AT_ONCE / pg->setup.workers;
    if (pgconn_open_many(spec->conninfo, clients, at_once > 0 ? at_once : 1, deadline_ns, pg->setup.stop, pg->conns, NULL,
                         err) != PL_OK)
        return err->code;
    pg->count = clients;
    if (sockets_take(pg, err) != PL_OK)
        return err->code;
    for (size_t i = 0; spec->protocol == PLAN_PREPARED && i < pg->statement_count; i++)
        if (statement_prepare(pg, &pg->statements[i], deadline_ns, err) != PL_OK)
            return err->code;
    return PL_OK;
}

static void connections_close(struct driver_pg *pg)
{
    for (int c = 0; c < pg->count; c++) {
        int fd = PQsocket(pg->conns[c]);
        if (pg->has_loop && fd >= 0)
            loop_remove(&pg->loop, fd);
        /* libpq says goodbye, and would wait for a server that takes nothing */
        if (pg->clients[c].state != PG_IDLE && fd >= 0)
            shutdown(fd, SHUT_RDWR);
        PQfinish(pg->conns[c]);
    }
}

static void pg_close(struct driver *driver)
{
    struct driver_pg *pg = pg_of(driver);
    connections_close(pg);
    if (pg->has_loop)
        loop_release(&pg->loop);
    for (size_t i = 0; i < pg->statement_count; i++)
        pl_free(pg->statements[i].fixed);
    pl_free(pg->statements);
    pl_free(pg->first_statement);
    pl_free(pg->out.data);
    pl_free(pg->query);
    pl_free(pg->conns);
    pl_free(pg->clients);
    pl_free(pg->carries);
    pl_free(pg->texts);
    pl_free(pg->broken);
    pl_free(pg->again);
    pl_free(pg->in);
    pl_free(pg);
}

static const struct driver_ops pg_ops = {
    .name = "pg",
    .event_loop = loop_name,
    .open = pg_open,
    .close = pg_close,
    .now = pg_now,
    .submit = pg_submit,
    .wait = pg_wait,
    .recover = pg_recover,
};

struct driver *driver_pg_new(const struct driver_setup *setup)
{
    struct driver_pg *pg = pl_new(1, sizeof *pg);
    pg->base.ops = &pg_ops;
    pg->setup = *setup;
    return &pg->base;
}
