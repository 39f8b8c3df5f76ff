/* Connections of the PostgreSQL driver: libpq opens them, from then on only our own codec touches their sockets. All are
 * opened before the trial, and prepare there what they are to run; or, with connect_each, one by one in the worker's event
 * loop while the trial lasts. */
#include "load/drv_pg_int.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

enum { OPEN_AT_ONCE = 32, STOP_LOOK_MS = 100 };

#define BACKLOG_RETRY_NS (2 * PL_NS_PER_MS)

/* ---- before the trial ---- */

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
        driver_pg_start(&pg->clients[c], PG_PARSE);
        driver_pg_send(pg, &pg->clients[c], driver_pg_request(pg, &pg->clients[c]));
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
        int count = driver_pg_wait(&pg->base, look_ns < deadline_ns ? look_ns : deadline_ns, &done, 1);
        if (count > 0 && done.outcome != DRIVER_OK)
            return prepare_failed(statement, &done, err);
        left -= count;
    }
    return PL_OK;
}

/* What cannot be sent is said when it is to run. */
static enum pl_code statements_prepare(struct driver_pg *pg, int64_t deadline_ns, struct pl_err *err)
{
    for (size_t i = 0; i < pg->statement_count; i++) {
        const struct step *step = pg->statements[i].step;
        if (step->kind == STEP_SQL && !step->quotes_variables &&
            statement_prepare(pg, &pg->statements[i], deadline_ns, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

static enum pl_code sockets_take(struct driver_pg *pg, struct pl_err *err)
{
    for (int c = 0; c < pg->count; c++) {
        struct pg_client *client = &pg->clients[c];
        client->socket = pgconn_socket(pg->conns[c]);
        client->transaction = 'I';
        client->state = PG_IDLE;
        if (loop_add(&pg->loop, client->socket.fd, (uint32_t)c, LOOP_READ, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

/* connect_each: a connection string that leads nowhere is found at once, and a host name is not looked up again. */
static enum pl_code connection_try(struct driver_pg *pg, int64_t timeout_ns, struct pl_err *err)
{
    PGconn *conn = NULL;
    if (pgconn_open_unless(pg->setup.spec->conninfo, timeout_ns, pg->setup.stop, &conn, err) != PL_OK)
        return err->code;
    const char *hostaddr = pgconn_looked_up(conn);
    if (hostaddr != NULL) {
        pg->hostaddr = pl_new(strlen(hostaddr) + 1, 1);
        memcpy(pg->hostaddr, hostaddr, strlen(hostaddr) + 1);
    }
    PQfinish(conn);
    return PL_OK;
}

static bool step_captures(const struct step *step)
{
    return step->kind == STEP_SQL && step->capture != CAPTURE_NOTHING;
}

static bool step_begins_pipeline(const struct step *step)
{
    return step->kind == STEP_START_PIPELINE;
}

static bool has_step(const struct load_spec *spec, bool (*is_one)(const struct step *))
{
    for (int s = 0; s < spec->script_count; s++)
        for (size_t i = 0; i < spec->scripts[s].program->step_count; i++)
            if (is_one(&spec->scripts[s].program->steps[i]))
                return true;
    return false;
}

void driver_pg_take_memory(struct driver_pg *pg, size_t count)
{
    const struct load_spec *spec = pg->setup.spec;
    pg->conns = pl_new(count, sizeof *pg->conns);
    pg->clients = load_aligned(count, sizeof *pg->clients);
    pg->carries = pl_new(count, PG_CARRY_BYTES);
    pg->texts = pl_new(count, PG_TEXT_BYTES);
    pg->told = pl_new(count, sizeof *pg->told);
    pg->again = pl_new(count, sizeof *pg->again);
    pg->in = pl_new(PG_READ_BYTES + PG_CARRY_BYTES, 1);
    driver_pg_statements_init(pg);
    if (has_step(spec, step_captures))
        pg->rows = pl_new(count, sizeof *pg->rows);
    if (has_step(spec, step_begins_pipeline))
        pg->pipelines = pl_new(count, sizeof *pg->pipelines);
    assert(pg->rows == NULL || pg->setup.capture != NULL);
    pg->is_lazy = spec->protocol == PLAN_PREPARED && (spec->prepare_lazily || spec->connect_each);
    pg->prepared_words = (pg->statement_count + 63) / 64;
    if (pg->is_lazy)
        pg->prepared = pl_new(count * pg->prepared_words, sizeof *pg->prepared);
    if (spec->connect_each)
        pg->openings = pl_new(count, sizeof *pg->openings);
    pg->opening_first = pg->opening_last = -1;
    for (size_t c = 0; c < count; c++)
        pg->clients[c].socket.fd = -1;
}

enum pl_code driver_pg_open(struct driver *driver, int clients, struct pl_err *err)
{
    struct driver_pg *pg = driver_pg_of(driver);
    const struct load_spec *spec = pg->setup.spec;
    int64_t deadline_ns = pl_clock_ns() + spec->connect_timeout_ns;
    driver_pg_take_memory(pg, (size_t)clients);
    if (loop_init(&pg->loop, err) != PL_OK)
        return err->code;
    pg->has_loop = true;
    (void)wire_ring_init(&pg->ring); /* without one requests go one by one */
    if (spec->open_loop)
        loop_be_punctual(&pg->loop);
    if (spec->connect_each) {
        pg->count = clients;
        return connection_try(pg, spec->connect_timeout_ns, err);
    }
    int at_once = OPEN_AT_ONCE / pg->setup.workers;
    if (pgconn_open_many(spec->conninfo, clients, at_once > 0 ? at_once : 1, deadline_ns, pg->setup.stop, pg->conns, NULL,
                         err) != PL_OK)
        return err->code;
    pg->count = clients;
    if (sockets_take(pg, err) != PL_OK)
        return err->code;
    return spec->protocol == PLAN_PREPARED && !pg->is_lazy ? statements_prepare(pg, deadline_ns, err) : PL_OK;
}

/* ---- one connection for each operation ---- */

static void opening_enter(struct driver_pg *pg, int index)
{
    struct pg_opening *opening = &pg->openings[index];
    *opening = (struct pg_opening){.start_ns = pl_clock_ns(), .previous = pg->opening_last, .next = -1};
    if (pg->opening_last >= 0)
        pg->openings[pg->opening_last].next = index;
    else
        pg->opening_first = index;
    pg->opening_last = index;
}

void driver_pg_opening_leave(struct driver_pg *pg, struct pg_client *client)
{
    struct pg_opening *opening = &pg->openings[driver_pg_index(pg, client)];
    if (opening->previous >= 0)
        pg->openings[opening->previous].next = opening->next;
    else
        pg->opening_first = opening->next;
    if (opening->next >= 0)
        pg->openings[opening->next].previous = opening->previous;
    else
        pg->opening_last = opening->previous;
    pg->opening_waiting -= opening->is_waiting;
    opening->is_waiting = false;
}

/* What libpq waits for. false: the loop cannot watch it. */
static bool opening_watch(struct driver_pg *pg, struct pg_client *client, uint32_t flags)
{
    struct pl_err err = {0};
    uint32_t index = driver_pg_index(pg, client);
    client->socket.fd = PQsocket(pg->conns[index]);
    if (loop_add(&pg->loop, client->socket.fd, index, flags, &err) == PL_OK)
        return true;
    const char *name = strerrorname_np(err.os_errno);
    driver_pg_fault(pg, client, name != NULL ? name : "EIO", err.what);
    return false;
}

static bool opening_is_open(struct driver_pg *pg, struct pg_client *client)
{
    driver_pg_opening_leave(pg, client);
    client->socket = pgconn_socket(pg->conns[driver_pg_index(pg, client)]);
    client->state = PG_IDLE;
    return opening_watch(pg, client, LOOP_READ);
}

/* The connection waits in the list of those that are being opened until the accept queue has room. */
static void opening_wait(struct driver_pg *pg, struct pg_client *client)
{
    uint32_t index = driver_pg_index(pg, client);
    PQfinish(pg->conns[index]);
    pg->conns[index] = NULL;
    if (!pg->openings[index].is_waiting)
        pg->opening_waiting++;
    pg->openings[index].is_waiting = true;
    pg->retry_ns = pl_clock_ns() + BACKLOG_RETRY_NS;
}

/* Does what libpq's answer asks for. false: the connection cannot be opened, and the fault says why. */
static bool opening_follow(struct driver_pg *pg, struct pg_client *client, enum pgconn_progress progress)
{
    struct pgconn_failure failure;
    switch (progress) {
    case PGCONN_READING:
        return opening_watch(pg, client, LOOP_READ);
    case PGCONN_WRITING:
        return opening_watch(pg, client, LOOP_WRITE);
    case PGCONN_OPEN:
        return opening_is_open(pg, client);
    case PGCONN_BACKLOG:
        opening_wait(pg, client);
        return true;
    case PGCONN_FAILED:
        break;
    }
    pgconn_failure(pg->conns[driver_pg_index(pg, client)], &failure);
    driver_pg_fault(pg, client, failure.code, failure.text);
    return false;
}

static void opening_begin(struct driver_pg *pg, struct pg_client *client)
{
    PGconn **conn = &pg->conns[driver_pg_index(pg, client)];
    if (!opening_follow(pg, client, pgconn_begin(pg->setup.spec->conninfo, pg->hostaddr, conn)))
        driver_pg_tell(pg, client);
}

void driver_pg_connect(struct driver *driver, uint32_t index)
{
    struct driver_pg *pg = driver_pg_of(driver);
    struct pg_client *client = &pg->clients[index];
    assert(client->state == PG_CLOSED && pg->openings != NULL);
    client->state = PG_CONNECTING;
    client->transaction = 'I';
    if (pg->is_lazy)
        memset(pg->prepared + index * pg->prepared_words, 0, pg->prepared_words * sizeof *pg->prepared);
    opening_enter(pg, (int)index);
    opening_begin(pg, client);
}

bool driver_pg_opening_advance(struct driver_pg *pg, struct pg_client *client, struct driver_done *done)
{
    loop_remove(&pg->loop, client->socket.fd);
    client->socket.fd = -1;
    if (!opening_follow(pg, client, pgconn_advance(pg->conns[driver_pg_index(pg, client)]))) {
        driver_pg_lost(pg, client, done);
        return true;
    }
    if (client->state != PG_IDLE)
        return false;
    *done = (struct driver_done){.client = driver_pg_index(pg, client), .outcome = DRIVER_OK, .done_ns = pl_clock_ns()};
    return true;
}

static void openings_retry(struct driver_pg *pg)
{
    for (int index = pg->opening_first, next; index >= 0; index = next) {
        next = pg->openings[index].next;
        if (!pg->openings[index].is_waiting)
            continue;
        pg->openings[index].is_waiting = false;
        pg->opening_waiting--;
        opening_begin(pg, &pg->clients[index]);
        if (pg->openings[index].is_waiting) /* still no room */
            return;
    }
}

bool driver_pg_opening_look(struct driver_pg *pg, int64_t *until_ns, struct driver_done *done)
{
    int64_t now_ns = pl_clock_ns();
    if (pg->opening_waiting > 0 && now_ns >= pg->retry_ns)
        openings_retry(pg);
    int64_t deadline_ns = pg->openings[pg->opening_first].start_ns + pg->setup.spec->connect_timeout_ns;
    if (now_ns >= deadline_ns) {
        struct pg_client *client = &pg->clients[pg->opening_first];
        driver_pg_fault(pg, client, "ETIMEDOUT", "the connection was not open when the time to connect was over");
        driver_pg_lost(pg, client, done);
        return true;
    }
    if (deadline_ns < *until_ns)
        *until_ns = deadline_ns;
    if (pg->opening_waiting > 0 && pg->retry_ns < *until_ns)
        *until_ns = pg->retry_ns;
    return false;
}
