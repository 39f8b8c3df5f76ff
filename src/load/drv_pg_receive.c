/* What the server says while a step is under way.
 *
 * Answers are read into one buffer of the driver; a client keeps only the piece of a message that has not arrived whole.
 * Bodies that nobody needs (rows, but for \gset and \aset) are skipped as they come. So a client costs about three KiB,
 * however large its results are. */
#include "load/drv_pg_int.h"

#include <assert.h>
#include <string.h>

#include "base/ban.h"

/* ---- faults ---- */

static void fault_set_io(struct driver_pg *pg, struct pg_client *client, enum wire_io result, int os_errno)
{
    const char *name = os_errno == 0 ? NULL : strerrorname_np(os_errno);
    if (name != NULL)
        driver_pg_fault(pg, client, name, strerrordesc_np(os_errno));
    else if (result == WIRE_CLOSED)
        driver_pg_fault(pg, client, "CLOSED", "the server closed the connection");
    else
        driver_pg_fault(pg, client, "TLS", "the encrypted connection failed");
}

static void fault_set_error(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    struct pgmsg_error error;
    if (!pgmsg_error_parse(msg, &error))
        driver_pg_fault(pg, client, "PROTO", "an error message of the server could not be read");
    else
        driver_pg_fault(pg, client, error.sqlstate[0] == '\0' ? "PROTO" : error.sqlstate, error.message);
}

static enum pg_progress protocol_broken(struct driver_pg *pg, struct pg_client *client, const char *text)
{
    driver_pg_fault(pg, client, "PROTO", text);
    return PG_LOST;
}

/* ---- the end of a step ---- */

/* Whatever follows on this connection belongs to no step: what was wrong with this one is put aside. */
static void step_end(struct driver_pg *pg, struct pg_client *client)
{
    client->state = PG_IDLE;
    client->is_answered = client->wants_rows = false;
    pg->ended_faulty = client->is_faulty;
    if (__builtin_expect(client->is_faulty, 0)) {
        pg->ended = client->fault;
        memcpy(pg->ended_text, driver_pg_text(pg, client), PG_TEXT_BYTES);
        client->is_faulty = false;
    }
}

static struct pg_pipeline *pipeline_of(const struct driver_pg *pg, const struct pg_client *client)
{
    return &pg->pipelines[driver_pg_index(pg, client)];
}

/* Every Sync is answered by one ReadyForQuery, and only after all that was queued before it. */
static enum pg_progress pipeline_ready(struct driver_pg *pg, struct pg_client *client)
{
    struct pg_pipeline *pipeline = pipeline_of(pg, client);
    if (client->transaction == 0 || pipeline->next == pipeline->count || pipeline->queue[pipeline->next].statement != NULL)
        return protocol_broken(pg, client, "the server was ready before the pipeline had ended");
    pipeline->next++;
    if (pipeline->next < pipeline->count)
        return PG_MORE;
    if (client->sent < client->length)
        return protocol_broken(pg, client, "the server answered what was not sent yet");
    driver_pg_pipeline_reset(pipeline);
    step_end(pg, client);
    return PG_READY;
}

static enum pg_progress ready_handle(struct driver_pg *pg, struct pg_client *client)
{
    if (client->state == PG_PIPELINE)
        return pipeline_ready(pg, client);
    if (client->transaction == 0 || !client->is_answered || client->sent < client->length)
        return protocol_broken(pg, client, "the server was ready without an answer");
    if (__builtin_expect(client->wants_rows, 0) && !client->is_faulty)
        driver_pg_rows_end(pg, client);
    step_end(pg, client);
    return PG_READY;
}

/* ---- single messages ---- */

/* What is queued up to the next Sync is skipped by the server. */
static enum pg_progress pipeline_error(struct driver_pg *pg, struct pg_client *client)
{
    struct pg_pipeline *pipeline = pipeline_of(pg, client);
    while (pipeline->next < pipeline->count && pipeline->queue[pipeline->next].statement != NULL)
        pipeline->next++;
    return PG_MORE;
}

static enum pg_progress error_handle(struct driver_pg *pg, struct pg_client *client)
{
    client->is_answered = client->state != PG_IDLE;
    if (client->state == PG_PIPELINE)
        return pipeline_error(pg, client);
    return client->state == PG_IDLE ? PG_LOST : PG_MORE; /* unasked, it is the server's last word */
}

/* CommandComplete or EmptyQueryResponse. */
static enum pg_progress command_end(struct driver_pg *pg, struct pg_client *client)
{
    client->is_answered = client->state != PG_IDLE;
    if (__builtin_expect(client->wants_rows, 0))
        driver_pg_rows_result(pg, client);
    if (client->state != PG_PIPELINE)
        return PG_MORE;
    struct pg_pipeline *pipeline = pipeline_of(pg, client);
    if (pipeline->next == pipeline->count || pipeline->queue[pipeline->next].statement == NULL)
        return protocol_broken(pg, client, "the server answered more than the pipeline had");
    pipeline->next++;
    return PG_MORE;
}

/* ParseComplete: from now on the connection has the statement, whatever becomes of its first run. */
static void statement_remember(struct driver_pg *pg, struct pg_client *client)
{
    const struct pg_statement *statement = client->sends_parse ? client->statement : NULL;
    if (client->state == PG_PIPELINE) {
        const struct pg_pipeline *pipeline = pipeline_of(pg, client);
        if (pipeline->next < pipeline->count && pipeline->queue[pipeline->next].sends_parse)
            statement = pipeline->queue[pipeline->next].statement;
    }
    if (statement != NULL)
        pg->prepared[driver_pg_index(pg, client) * pg->prepared_words + statement->index / 64] |= UINT64_C(1)
                                                                                                  << statement->index % 64;
    client->is_answered = client->is_answered || client->state == PG_PARSE;
}

/* The server waits for data. It takes a Sync for a part of them, and ends the connection at any other message: only a COPY
 * with nothing but Syncs behind it can be given up. */
static enum pg_progress copy_in_handle(struct driver_pg *pg, struct pg_client *client)
{
    driver_pg_fault_script(pg, client, "COPY", driver_pg_no_copy);
    if (client->state == PG_STEP) {
        if (client->sent < client->length) /* a part of the Sync is still here */
            return PG_LOST;
        client->state = PG_COPY_FAIL;
        client->sent = 0;
        driver_pg_send(pg, client, driver_pg_request(pg, client));
        return PG_MORE;
    }
    if (client->state != PG_PIPELINE || !driver_pg_pipeline_fail_copy(pipeline_of(pg, client)))
        return PG_LOST;
    driver_pg_send(pg, client, driver_pg_request(pg, client));
    return PG_MORE;
}

static enum pg_progress row_handle(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    if (!client->wants_rows)
        return PG_MORE;
    bool is_good = msg->type == 'T' ? driver_pg_rows_describe(pg, client, msg) : driver_pg_rows_row(pg, client, msg);
    return is_good ? PG_MORE : protocol_broken(pg, client, "a result of the server could not be read");
}

/* msg need not be whole, but for those that is_needed names. */
static enum pg_progress message_handle(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    switch (msg->type) {
    case 'Z':
        client->transaction = pgmsg_ready_state(msg);
        return ready_handle(pg, client);
    case 'E':
        fault_set_error(pg, client, msg);
        return error_handle(pg, client);
    case 'C':
    case 'I':
        return command_end(pg, client);
    case '1':
        statement_remember(pg, client);
        return PG_MORE;
    case 'T':
    case 'D':
        return row_handle(pg, client, msg);
    case 'G':
        return copy_in_handle(pg, client);
    case 'H':
        driver_pg_fault_script(pg, client, "COPY", driver_pg_no_copy);
        return client->state == PG_IDLE ? PG_LOST : PG_MORE; /* its data are skipped */
    case 'W':
        driver_pg_fault_script(pg, client, "COPY", driver_pg_no_copy);
        return PG_LOST;
    default:
        return PG_MORE;
    }
}

/* ---- bytes ---- */

/* The connection is gone. When the step had ended before, that comes first. */
static enum pg_progress progress_lost(struct driver_pg *pg, struct pg_client *client, enum pg_progress before)
{
    if (before != PG_READY)
        return PG_LOST;
    if (!client->is_broken) {
        client->is_broken = true;
        driver_pg_tell(pg, client);
    }
    return PG_READY;
}

/* An ErrorResponse that is longer than we keep: the whole fields of its beginning, and the cut one as far as it goes. */
static enum pg_progress error_cut(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, const struct pgmsg *whole)
{
    size_t end = PG_CARRY_BYTES - 2; /* behind it: the end of the field, the end of the list */
    while ((bytes[end] & 0xc0U) == 0x80U && end > (size_t)(whole->body - bytes))
        end--; /* not in the middle of a UTF-8 character */
    struct pgmsg cut = *whole;
    bytes[end] = bytes[end + 1] = '\0';
    cut.length = end + 2 - (size_t)(whole->body - bytes);
    if (bytes[end - 1] == '\0') /* it was cut behind a field's end: the list ends one byte earlier */
        cut.length--;
    fault_set_error(pg, client, &cut);
    return error_handle(pg, client);
}

/* A message of which only `length` bytes are there, and what follows them is not. */
static enum pg_progress partial_handle(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, size_t length,
                                       const struct pgmsg *msg)
{
    bool is_needed = msg->total == 0 || msg->type == 'E' || msg->type == 'Z';
    if (is_needed && length < PG_CARRY_BYTES) {
        memcpy(pg->carries + (size_t)driver_pg_index(pg, client) * PG_CARRY_BYTES, bytes, length);
        client->carry_length = (uint16_t)length;
        return PG_MORE;
    }
    client->skip = (uint32_t)(msg->total - length);
    if (msg->type == 'E')
        return error_cut(pg, client, bytes, msg);
    if (client->wants_rows && (msg->type == 'T' || msg->type == 'D')) {
        struct pg_rows *rows = &pg->rows[driver_pg_index(pg, client)];
        rows->message_length = 0;
        driver_pg_rows_gather(rows, bytes, length);
        client->gathers = true;
        return PG_MORE;
    }
    return message_handle(pg, client, msg);
}

/* `length` bytes of the message that is being skipped or gathered. */
static enum pg_progress skipped_handle(struct driver_pg *pg, struct pg_client *client, const uint8_t *bytes, size_t length)
{
    client->skip -= (uint32_t)length;
    if (__builtin_expect(!client->gathers, 1))
        return PG_MORE;
    struct pg_rows *rows = &pg->rows[driver_pg_index(pg, client)];
    driver_pg_rows_gather(rows, bytes, length);
    if (client->skip > 0)
        return PG_MORE;
    struct pgmsg msg;
    client->gathers = false;
    enum pgmsg_result result = pgmsg_next(rows->message, rows->message_length, &msg);
    assert(result == PGMSG_OK && msg.total == rows->message_length);
    (void)result;
    return message_handle(pg, client, &msg);
}

/* Most messages: what comes before the end of a command and is nobody's business. */
static inline bool is_passed_over(const struct pg_client *client, char type)
{
    return (type == '2' || type == 'D' || type == 'T') && !client->wants_rows;
}

enum pg_progress driver_pg_bytes(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, size_t length)
{
    enum pg_progress progress = PG_MORE, step;
    while (length > 0) {
        size_t used;
        if (client->skip > 0) {
            used = client->skip < length ? client->skip : length;
            step = skipped_handle(pg, client, bytes, used);
        } else {
            struct pgmsg msg;
            enum pgmsg_result result = pgmsg_next(bytes, length, &msg);
            if (result == PGMSG_OK) {
                used = msg.total;
                step = is_passed_over(client, msg.type) ? PG_MORE : message_handle(pg, client, &msg);
            } else if (result == PGMSG_PARTIAL) {
                used = length;
                step = partial_handle(pg, client, bytes, length, &msg);
            } else {
                step = protocol_broken(pg, client, "the server sent bytes that are not the PostgreSQL protocol");
                used = 0;
            }
        }
        if (step == PG_LOST)
            return progress_lost(pg, client, progress);
        if (step == PG_READY)
            progress = PG_READY;
        bytes += used;
        length -= used;
    }
    return progress;
}

enum pg_progress driver_pg_receive(struct driver_pg *pg, struct pg_client *client)
{
    enum { READS_PER_EVENT = 16 }; /* then the others get their turn */
    enum pg_progress progress = PG_MORE;
    bool more = true;
    for (int reads = 0; more; reads++) {
        if (reads == READS_PER_EVENT) {
            if (!client->is_again && wire_has_buffered(&client->socket))
                pg->again[pg->again_count++] = driver_pg_index(pg, client);
            client->is_again = client->is_again || wire_has_buffered(&client->socket);
            break;
        }
        size_t carried = client->carry_length, count = 0;
        enum wire_io result = wire_read(&client->socket, pg->in + carried, PG_READ_BYTES, &count);
        if (result == WIRE_AGAIN)
            break;
        if (result != WIRE_DONE) {
            fault_set_io(pg, client, result, client->socket.os_errno);
            return progress_lost(pg, client, progress);
        }
        memcpy(pg->in, pg->carries + (size_t)driver_pg_index(pg, client) * PG_CARRY_BYTES, carried);
        client->carry_length = 0;
        enum pg_progress step = driver_pg_bytes(pg, client, pg->in, carried + count);
        if (step == PG_LOST)
            return progress_lost(pg, client, progress);
        if (step == PG_READY)
            progress = PG_READY;
        more = !client->is_broken && (count == PG_READ_BYTES || wire_has_buffered(&client->socket));
    }
    if (client->socket.wants_write || client->watches_write)
        driver_pg_watch(pg, client);
    return progress;
}
