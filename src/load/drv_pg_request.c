/* What the PostgreSQL driver sends.
 *
 * A request is built in one buffer of the driver, or stands prebuilt when nothing in it varies. What a short write leaves
 * over is not stored: program, step and variables do not change while a step is under way, so that the same request is
 * built again when the socket takes more. Only pipelines are kept by their client, as their variables may change meanwhile.
 */
#include "load/drv_pg_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"

#include "base/ban.h"

enum { SYNC_BYTES = 5, ENVELOPE_BYTES = 160 /* headers, names, Describe, Execute, Sync */ };

const char driver_pg_no_copy[] = "COPY cannot be part of a load script";
const char driver_pg_too_long[] = "the command is longer than a message may be";
static const char rollback_sql[] = "ROLLBACK";

/* ---- room ---- */

/* Room for `more` bytes. false: the requests would be longer than one message may be. */
static bool out_reserve(struct pgmsg_out *out, size_t more)
{
    if (__builtin_expect(more <= out->cap - out->len, 1))
        return true;
    if (more > PL_MAX_MESSAGE_BYTES || out->len > PL_MAX_MESSAGE_BYTES)
        return false;
    out->data = driver_pg_grow(out->data, out->len, out->len + more, 1, &out->cap);
    return true;
}

/* ---- one command ---- */

/* Puts a value that is no number into the query at `at`: a text as it is, a variable that was never set as its :name.
 * Returns how long it is. */
static size_t put_odd_value(const struct pg_statement *statement, const struct value *value, int variable, char *at)
{
    if (value->type == VALUE_TEXT) {
        memcpy(at, value->text, value->length);
        return value->length;
    }
    const char *name = names_at(statement->program->names, variable);
    size_t length = strlen(name);
    *at = ':';
    memcpy(at + 1, name, length);
    return 1 + length;
}

/* Makes room for the texts of variables, besides what all queries need; `used` bytes of the query are there. */
static bool query_widen(struct driver_pg *pg, size_t used, size_t texts_bytes)
{
    if (texts_bytes > PL_MAX_MESSAGE_BYTES - ENVELOPE_BYTES)
        return false;
    pg->out.data = driver_pg_grow(pg->out.data, PGMSG_TEXT_AT + used, pg->longest_bytes + texts_bytes, 1, &pg->out.cap);
    return true;
}

static bool put_simple(struct driver_pg *pg, const struct pg_statement *statement, const struct value *vars)
{
    const struct step *step = statement->step;
    size_t length = 0, texts_bytes = 0;
    char *text = (char *)pg->out.data + PGMSG_TEXT_AT;
    for (size_t i = 0; i < step->piece_count; i++) {
        const struct sql_piece *piece = &step->pieces[i];
        memcpy(text + length, piece->text, piece->length);
        length += piece->length;
        if (piece->variable < 0)
            continue;
        const struct value *value = &vars[piece->variable];
        if (__builtin_expect(value->type != VALUE_TEXT && value->type != VALUE_UNSET, 1)) {
            length += value_text(value, text + length);
            continue;
        }
        texts_bytes += value->type == VALUE_TEXT ? value->length : 0;
        if (!query_widen(pg, length, texts_bytes))
            return false;
        text = (char *)pg->out.data + PGMSG_TEXT_AT;
        length += put_odd_value(statement, value, piece->variable, text + length);
    }
    pgmsg_put_query_there(&pg->out, length);
    return !pg->out.overflow;
}

static inline bool is_short(const struct value *value)
{
    return value->type == VALUE_INT || value->type == VALUE_DOUBLE || value->type == VALUE_BOOL;
}

/* All but the Sync. */
static bool put_extended(struct driver_pg *pg, struct pgmsg_out *out, const struct pg_statement *statement,
                         const struct value *vars, bool sends_parse)
{
    const struct step *step = statement->step;
    struct pgmsg_text params[PL_MAX_PARAMETERS];
    char texts[PL_MAX_PARAMETERS][VALUE_TEXT_BYTES];
    size_t texts_bytes = 0;
    for (size_t i = 0; i < step->parameter_count; i++) {
        const struct value *value = &vars[step->parameters[i]];
        if (__builtin_expect(is_short(value), 1)) {
            params[i] = (struct pgmsg_text){.text = texts[i], .length = value_text(value, texts[i])};
        } else if (value->type == VALUE_TEXT) {
            params[i] = (struct pgmsg_text){.text = value->text, .length = value->length};
            texts_bytes += value->length;
        } else {
            params[i] = (struct pgmsg_text){.text = NULL};
        }
    }
    if (!out_reserve(out, pg->longest_bytes + texts_bytes))
        return false;
    bool is_prepared = pg->setup.spec->protocol == PLAN_PREPARED;
    const char *name = is_prepared ? statement->name : "";
    if (sends_parse || !is_prepared)
        pgmsg_put_parse(out, name, step->prepared_text, strlen(step->prepared_text));
    pgmsg_put_bind(out, name, params, step->parameter_count);
    if (step->capture != CAPTURE_NOTHING)
        pgmsg_put_describe(out);
    pgmsg_put_execute(out);
    return !out->overflow;
}

static bool put_step(struct driver_pg *pg, const struct pg_client *client)
{
    const struct pg_statement *statement = client->statement;
    if (pg->setup.spec->protocol == PLAN_SIMPLE)
        return put_simple(pg, statement, client->vars);
    if (!put_extended(pg, &pg->out, statement, client->vars, client->sends_parse))
        return false;
    pgmsg_put_sync(&pg->out);
    return true;
}

/* The requests that are no steps. */
static bool put_other(struct driver_pg *pg, const struct pg_client *client)
{
    const struct step *step = client->statement != NULL ? client->statement->step : NULL;
    switch (client->state) {
    case PG_ROLLBACK:
        pgmsg_put_query(&pg->out, rollback_sql, sizeof rollback_sql - 1);
        return true;
    case PG_PARSE:
        pgmsg_put_parse(&pg->out, client->statement->name, step->prepared_text, strlen(step->prepared_text));
        pgmsg_put_sync(&pg->out);
        return true;
    default:
        assert(client->state == PG_COPY_FAIL);
        pgmsg_put_copy_fail(&pg->out, driver_pg_no_copy);
        if (pg->setup.spec->protocol != PLAN_SIMPLE) /* the first one was taken for a part of the COPY */
            pgmsg_put_sync(&pg->out);
        return true;
    }
}

const uint8_t *driver_pg_request(struct driver_pg *pg, struct pg_client *client)
{
    if (__builtin_expect(client->state == PG_STEP, 1)) {
        const struct pg_statement *statement = client->statement;
        if (statement->fixed != NULL && !client->sends_parse) {
            client->length = (uint32_t)statement->fixed_length;
            return statement->fixed;
        }
    } else if (client->state == PG_PIPELINE) {
        const struct pg_pipeline *pipeline = &pg->pipelines[driver_pg_index(pg, client)];
        client->length = (uint32_t)pipeline->out.len;
        return pipeline->out.data;
    }
    if (client->sent > 0 && pg->out_owner == client) /* the rest of a long one, with nothing built between */
        return pg->out.data;
    pg->out.len = 0;
    pg->out.overflow = false;
    pg->out_owner = client;
    if (!(__builtin_expect(client->state == PG_STEP, 1) ? put_step(pg, client) : put_other(pg, client)))
        return NULL;
    assert(!pg->out.overflow);
    client->length = (uint32_t)pg->out.len;
    return pg->out.data;
}

/* ---- pipelines ---- */

static void pipeline_add(struct pg_pipeline *pipeline, const struct pg_statement *statement, bool sends_parse)
{
    pipeline->queue =
        driver_pg_grow(pipeline->queue, pipeline->count, pipeline->count + 1, sizeof *pipeline->queue, &pipeline->capacity);
    pipeline->queue[pipeline->count++] = (struct pg_queued){.statement = statement, .sends_parse = sends_parse};
}

static void pipeline_refuse_length(struct pg_pipeline *pipeline)
{
    pipeline->refused_code = "54000";
    pipeline->refused_text = driver_pg_too_long;
}

static void pipeline_add_sync(struct pg_pipeline *pipeline)
{
    if (!out_reserve(&pipeline->out, SYNC_BYTES)) {
        pipeline_refuse_length(pipeline);
        return;
    }
    pgmsg_put_sync(&pipeline->out);
    pipeline_add(pipeline, NULL, false);
}

const char *driver_pg_refusal(const struct driver_pg *pg, const struct step *step, bool in_pipeline, const char **ret_code)
{
    *ret_code = "PIPELINE";
    if (in_pipeline && pg->setup.spec->protocol == PLAN_SIMPLE)
        return "cannot use pipeline mode with the simple query protocol";
    if (in_pipeline && step->capture != CAPTURE_NOTHING)
        return "\\gset and \\aset are not allowed in pipeline mode";
    *ret_code = "QUOTES";
    if (step->quotes_variables && pg->setup.spec->protocol != PLAN_SIMPLE)
        return "a variable inside quotes or a comment needs the simple protocol";
    return NULL;
}

void driver_pg_queue(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                     const struct value *vars)
{
    struct driver_pg *pg = driver_pg_of(driver);
    struct pg_pipeline *pipeline = &pg->pipelines[index];
    if (pipeline->refused_text != NULL)
        return;
    if (step->kind == STEP_SYNC_PIPELINE) {
        pipeline_add_sync(pipeline);
        return;
    }
    pipeline->refused_text = driver_pg_refusal(pg, step, true, &pipeline->refused_code);
    pipeline->refused_step = step;
    if (pipeline->refused_text != NULL)
        return;
    const struct pg_statement *statement = driver_pg_statement(pg, program, step);
    bool sends_parse = pg->is_lazy && !driver_pg_is_prepared(pg, &pg->clients[index], statement);
    if (put_extended(pg, &pipeline->out, statement, vars, sends_parse))
        pipeline_add(pipeline, statement, sends_parse);
    else
        pipeline_refuse_length(pipeline);
}

void driver_pg_pipeline_end(struct pg_pipeline *pipeline)
{
    pipeline_add_sync(pipeline);
}

bool driver_pg_pipeline_fail_copy(struct pg_pipeline *pipeline)
{
    size_t next = pipeline->next + 1;
    while (next < pipeline->count && pipeline->queue[next].statement == NULL)
        next++;
    bool is_last =
        next == pipeline->count && next >= pipeline->next + 2 && pipeline->queue[pipeline->next].statement != NULL;
    if (!is_last || !out_reserve(&pipeline->out, ENVELOPE_BYTES))
        return false;
    pgmsg_put_copy_fail(&pipeline->out, driver_pg_no_copy);
    pgmsg_put_sync(&pipeline->out);
    pipeline->count = pipeline->next + 2; /* of the Syncs behind it only the new one is answered */
    return true;
}

void driver_pg_pipeline_reset(struct pg_pipeline *pipeline)
{
    pipeline->out.len = 0;
    pipeline->out.overflow = false;
    pipeline->count = pipeline->next = 0;
    pipeline->refused_text = NULL;
    pipeline->refused_step = NULL;
}

/* ---- statements ---- */

static size_t longest_of(const struct pg_statement *statement)
{
    const struct step *step = statement->step;
    size_t simple = 0;
    for (size_t p = 0; p < step->piece_count; p++) {
        const struct sql_piece *piece = &step->pieces[p];
        size_t name = piece->variable >= 0 && statement->program->names != NULL
                          ? strlen(names_at(statement->program->names, piece->variable)) + 1
                          : 0;
        simple += piece->length + (name > VALUE_TEXT_BYTES ? name : VALUE_TEXT_BYTES);
    }
    size_t extended =
        (step->prepared_text != NULL ? strlen(step->prepared_text) : 0) + step->parameter_count * (4 + VALUE_TEXT_BYTES);
    return (simple > extended ? simple : extended) + ENVELOPE_BYTES;
}

/* Prebuilds a request in which nothing varies. */
static void statement_fix(struct driver_pg *pg, struct pg_statement *statement)
{
    bool is_simple = pg->setup.spec->protocol == PLAN_SIMPLE;
    bool varies = !is_simple && statement->step->parameter_count > 0;
    for (size_t p = 0; is_simple && p < statement->step->piece_count; p++)
        varies = varies || statement->step->pieces[p].variable >= 0;
    if (varies || statement->step->kind != STEP_SQL)
        return;
    struct pg_client asks = {.statement = statement, .state = PG_STEP};
    const uint8_t *request = driver_pg_request(pg, &asks);
    assert(request != NULL); /* scripts are far shorter than messages may be */
    statement->fixed = pl_new(asks.length, 1);
    memcpy(statement->fixed, request, asks.length);
    statement->fixed_length = asks.length;
}

void driver_pg_statements_init(struct driver_pg *pg)
{
    const struct load_spec *spec = pg->setup.spec;
    pg->first_statement = pl_new((size_t)spec->script_count, sizeof *pg->first_statement);
    for (int s = 0; s < spec->script_count; s++) {
        pg->first_statement[s] = pg->statement_count;
        pg->statement_count += spec->scripts[s].program->io_step_count;
    }
    pg->statements = pl_new(pg->statement_count + 1, sizeof *pg->statements);
    uint32_t next = 0;
    pg->longest_bytes = ENVELOPE_BYTES; /* ROLLBACK, CopyFail */
    for (int s = 0; s < spec->script_count; s++) {
        const struct program *program = spec->scripts[s].program;
        for (size_t i = 0; i < program->step_count; i++) {
            if (program->steps[i].io_index < 0)
                continue;
            struct pg_statement *statement = &pg->statements[next];
            *statement = (struct pg_statement){.step = &program->steps[i], .program = program, .index = next};
            const char *code;
            statement->is_plain = statement->step->kind == STEP_SQL && statement->step->capture == CAPTURE_NOTHING &&
                                  driver_pg_refusal(pg, statement->step, false, &code) == NULL;
            snprintf(statement->name, sizeof statement->name, "P_%u", next++);
            size_t bytes = longest_of(statement);
            pg->longest_bytes = bytes > pg->longest_bytes ? bytes : pg->longest_bytes;
        }
    }
    pg->out = (struct pgmsg_out){.data = pl_new(pg->longest_bytes, 1), .cap = pg->longest_bytes};
    for (size_t i = 0; i < pg->statement_count; i++)
        statement_fix(pg, &pg->statements[i]);
    pg->out_owner = NULL;
}

void driver_pg_statements_release(struct driver_pg *pg)
{
    for (size_t i = 0; i < pg->statement_count; i++)
        pl_free(pg->statements[i].fixed);
    pl_free(pg->statements);
    pl_free(pg->first_statement);
    pl_free(pg->out.data);
}
