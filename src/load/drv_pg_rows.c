/* The rows that \gset and \aset ask for.
 *
 * A client reads them into memory of its own: the names of a result's columns become indexes of variables when its
 * description comes, the values of a row replace those of the row before, and the end of a result decides what stays. \aset
 * keeps the last row of each result, \gset only what the last result said. Nothing is set before the whole request has
 * succeeded, so that a failed one leaves all variables as they were. */
#include "load/drv_pg_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

#include "base/ban.h"

void *driver_pg_grow(void *old, size_t count, size_t need, size_t item_size, size_t *capacity)
{
    enum { LEAST_BYTES = 128 };
    if (need <= *capacity)
        return old;
    size_t wanted = *capacity * 2 > need ? *capacity * 2 : need;
    if (wanted * item_size < LEAST_BYTES)
        wanted = LEAST_BYTES / item_size;
    void *memory = pl_new(wanted, item_size);
    if (count > 0)
        memcpy(memory, old, count * item_size);
    pl_free(old);
    *capacity = wanted;
    return memory;
}

void driver_pg_rows_release(struct pg_rows *rows)
{
    pl_free(rows->message);
    pl_free(rows->variables);
    pl_free(rows->assignments);
    pl_free(rows->texts);
    pl_free(rows->name);
}

static void result_forget(struct pg_rows *rows)
{
    rows->assignment_count = rows->first_assignment;
    rows->texts_length = rows->first_text;
}

void driver_pg_rows_begin(struct pg_rows *rows)
{
    rows->first_assignment = rows->first_text = 0;
    result_forget(rows);
    rows->row_count = rows->ended_row_count = 0;
    rows->is_described = false;
    rows->is_wrong_name = false;
    rows->message_length = 0;
}

void driver_pg_rows_gather(struct pg_rows *rows, const uint8_t *bytes, size_t length)
{
    size_t have = rows->message_length;
    rows->message = driver_pg_grow(rows->message, have, have + length, 1, &rows->message_capacity);
    memcpy(rows->message + have, bytes, length);
    rows->message_length = have + length;
}

static struct pg_rows *rows_of(const struct driver_pg *pg, const struct pg_client *client)
{
    return &pg->rows[driver_pg_index(pg, client)];
}

/* The variable of a column, -1 when no program has it. */
static int column_variable(struct pg_rows *rows, const struct pg_statement *statement, const struct pgmsg_text *column)
{
    size_t prefix = strlen(statement->step->prefix), length = prefix + column->length;
    rows->name = driver_pg_grow(rows->name, 0, length + 1, 1, &rows->name_capacity);
    memcpy(rows->name, statement->step->prefix, prefix);
    memcpy(rows->name + prefix, column->text, column->length + 1);
    bool is_number = rows->name[0] >= '0' && rows->name[0] <= '9';
    if ((is_number || !names_is_valid(rows->name, length)) && !rows->is_wrong_name) {
        rows->is_wrong_name = true;
        snprintf(rows->wrong_name, sizeof rows->wrong_name, "%s", rows->name);
    }
    return names_find(statement->program->names, rows->name, length);
}

bool driver_pg_rows_describe(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    struct pg_rows *rows = rows_of(pg, client);
    struct pgmsg_cursor cursor;
    struct pgmsg_text name;
    if (rows->is_described) /* a result in a result */
        return false;
    if (client->statement->step->capture == CAPTURE_ONE_ROW) { /* what an earlier result said does not count */
        rows->first_assignment = rows->first_text = 0;
        rows->is_wrong_name = false;
        result_forget(rows);
    }
    rows->is_described = true;
    rows->column_count = 0;
    for (pgmsg_columns(msg, &cursor); pgmsg_next_column(&cursor, &name);) {
        size_t count = rows->column_count;
        rows->variables =
            driver_pg_grow(rows->variables, count, count + 1, sizeof *rows->variables, &rows->column_capacity);
        rows->variables[rows->column_count++] = column_variable(rows, client->statement, &name);
    }
    return !cursor.is_bad;
}

static void assignment_add(struct pg_rows *rows, int variable, const struct pgmsg_text *field)
{
    size_t count = rows->assignment_count, at = rows->texts_length;
    rows->assignments =
        driver_pg_grow(rows->assignments, count, count + 1, sizeof *rows->assignments, &rows->assignment_capacity);
    rows->texts = driver_pg_grow(rows->texts, at, at + field->length + 1, 1, &rows->texts_capacity);
    rows->assignments[rows->assignment_count++] =
        (struct pg_assignment){.variable = variable, .is_null = field->text == NULL, .at = at, .length = field->length};
    if (field->length > 0)
        memcpy(rows->texts + at, field->text, field->length);
    rows->texts_length = at + field->length;
}

bool driver_pg_rows_row(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg)
{
    struct pg_rows *rows = rows_of(pg, client);
    struct pgmsg_cursor cursor;
    struct pgmsg_text field;
    pgmsg_fields(msg, &cursor);
    if (!rows->is_described || cursor.left != rows->column_count)
        return false;
    rows->row_count++;
    result_forget(rows);
    for (size_t column = 0; pgmsg_next_field(&cursor, &field); column++) {
        if (field.length > 0 && memchr(field.text, '\0', field.length) != NULL)
            return false;
        if (rows->variables[column] >= 0)
            assignment_add(rows, rows->variables[column], &field);
    }
    return !cursor.is_bad;
}

/* pgbench's words. */
static void fault_name(struct driver_pg *pg, struct pg_client *client, const struct pg_rows *rows)
{
    char text[128];
    snprintf(text, sizeof text, "%s: invalid variable name: \"%s\"",
             client->statement->step->capture == CAPTURE_ONE_ROW ? "gset" : "aset", rows->wrong_name);
    driver_pg_fault_script(pg, client, "NAME", text);
}

void driver_pg_rows_result(struct driver_pg *pg, struct pg_client *client)
{
    struct pg_rows *rows = rows_of(pg, client);
    if (client->statement->step->capture == CAPTURE_ALL) {
        if (rows->row_count > 0 && rows->is_wrong_name)
            fault_name(pg, client, rows);
        rows->is_wrong_name = false;
    } else if (!rows->is_described) { /* an UPDATE: no row, whatever was before */
        rows->first_assignment = rows->first_text = 0;
        result_forget(rows);
    }
    rows->first_assignment = rows->assignment_count;
    rows->first_text = rows->texts_length;
    rows->ended_row_count = rows->row_count;
    rows->row_count = 0;
    rows->is_described = false;
}

void driver_pg_rows_end(struct driver_pg *pg, struct pg_client *client)
{
    const struct pg_rows *rows = rows_of(pg, client);
    if (client->statement->step->capture == CAPTURE_ONE_ROW && rows->ended_row_count != 1) {
        char text[64];
        snprintf(text, sizeof text, "expected one row, got %lld", (long long)rows->ended_row_count);
        driver_pg_fault_script(pg, client, "ROWS", text);
        return;
    }
    if (rows->is_wrong_name) {
        fault_name(pg, client, rows);
        return;
    }
    for (size_t i = 0; i < rows->assignment_count; i++) {
        const struct pg_assignment *assignment = &rows->assignments[i];
        capture_set(pg->setup.capture, driver_pg_index(pg, client), assignment->variable,
                    assignment->is_null ? NULL : rows->texts + assignment->at, assignment->length);
    }
}
