/* Whatever a server sends: the codec stays inside its input, and says the same of a message however much follows it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/pgmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_text(const struct pgmsg *msg, const char *text)
{
    if (*text == '\0')
        return;
    const uint8_t *at = (const uint8_t *)text;
    must(at > msg->body && at < msg->body + msg->length);
    must(memchr(at, '\0', (size_t)(msg->body + msg->length - at)) != NULL);
}

/* Rows and their descriptions: every part inside the body, none over another, and all of the body used when all is good. */
static void check_parts(const struct pgmsg *msg, void (*begin)(const struct pgmsg *, struct pgmsg_cursor *),
                        bool (*next)(struct pgmsg_cursor *, struct pgmsg_text *), char type)
{
    struct pgmsg_cursor cursor;
    struct pgmsg_text part;
    const char *before = (const char *)msg->body, *end = before + msg->length;
    begin(msg, &cursor);
    must(msg->type == type || cursor.is_bad);
    size_t count = 0, all = cursor.left;
    for (; next(&cursor, &part); count++) {
        must(msg->type == type && cursor.left == all - count - 1);
        if (part.text == NULL)
            continue;
        must(part.text >= before && part.text + part.length <= end);
        must(type == 'D' || (part.text[part.length] == '\0' && strlen(part.text) == part.length));
        before = part.text + part.length;
    }
    must(cursor.left == 0 && (cursor.is_bad || (count == all && (const char *)cursor.at == end)));
    must(!next(&cursor, &part));
}

static void check_message(const uint8_t *in, const struct pgmsg *msg)
{
    must(msg->body == in + 5 && msg->total == 5 + msg->length);
    struct pgmsg again;
    must(pgmsg_next(in, msg->total, &again) == PGMSG_OK && again.total == msg->total && again.type == msg->type);
    must(pgmsg_next(in, msg->total - 1, &again) == PGMSG_PARTIAL);
    must(again.total == (msg->total > 5 ? msg->total : 0));
    struct pgmsg_error error;
    bool is_error = pgmsg_error_parse(msg, &error);
    must(!is_error || msg->type == 'E' || msg->type == 'N');
    must(is_error || (*error.severity == '\0' && *error.sqlstate == '\0' && *error.message == '\0'));
    check_text(msg, error.severity);
    check_text(msg, error.sqlstate);
    check_text(msg, error.message);
    check_parts(msg, pgmsg_columns, pgmsg_next_column, 'T');
    check_parts(msg, pgmsg_fields, pgmsg_next_field, 'D');
    char state = pgmsg_ready_state(msg);
    must(state == 0 || (msg->type == 'Z' && msg->length == 1 && (char)msg->body[0] == state));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;
    struct pgmsg msg;
    enum pgmsg_result result;
    while ((result = pgmsg_next(data + used, size - used, &msg)) == PGMSG_OK) {
        must(msg.total <= size - used);
        check_message(data + used, &msg);
        used += msg.total;
    }
    must(result == PGMSG_PARTIAL ? msg.total == 0 || msg.total > size - used : msg.total == 0);
    return 0;
}
