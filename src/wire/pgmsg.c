/* PostgreSQL protocol 3, both directions that a client needs. */
#include "wire/pgmsg.h"

#include <assert.h>

#include "base/ban.h"

enum { HEADER_BYTES = 5, LENGTH_BYTES = 4 };

#define BIT(type) (UINT64_C(1) << ((type)&63))

const uint64_t pgmsg_known_types[4] = {
    /* '1' ParseComplete, '2' BindComplete, '3' CloseComplete */
    [0] = BIT('1') | BIT('2') | BIT('3'),
    /* capitals: NotificationResponse, CommandComplete, DataRow, ErrorResponse, CopyInResponse, CopyOutResponse,
     * EmptyQueryResponse, BackendKeyData, NoticeResponse, Authentication*, ParameterStatus, RowDescription,
     * FunctionCallResponse, CopyBothResponse, ReadyForQuery */
    [1] = BIT('A') | BIT('C') | BIT('D') | BIT('E') | BIT('G') | BIT('H') | BIT('I') | BIT('K') | BIT('N') | BIT('R') |
          BIT('S') | BIT('T') | BIT('V') | BIT('W') | BIT('Z') |
          /* small letters: CopyDone, CopyData, NoData, PortalSuspended, ParameterDescription, NegotiateProtocolVersion */
          BIT('c') | BIT('d') | BIT('n') | BIT('s') | BIT('t') | BIT('v'),
};

static inline uint32_t load_u32(const uint8_t *in)
{
    uint32_t value;
    memcpy(&value, in, sizeof value);
    return __builtin_bswap32(value);
}

bool pgmsg_error_parse(const struct pgmsg *msg, struct pgmsg_error *ret_error)
{
    struct pgmsg_error found = {NULL, NULL, NULL};
    const char *severity_translated = NULL;
    *ret_error = (struct pgmsg_error){"", "", ""};
    if (msg->type != 'E' && msg->type != 'N')
        return false;
    const char *at = (const char *)msg->body, *end = at + msg->length;
    while (at < end && *at != '\0') {
        char field = *at++;
        const char *text_end = memchr(at, '\0', (size_t)(end - at));
        if (text_end == NULL)
            return false;
        const char **slot = field == 'V'   ? &found.severity
                            : field == 'S' ? &severity_translated
                            : field == 'C' ? &found.sqlstate
                            : field == 'M' ? &found.message
                                           : NULL;
        if (slot != NULL && *slot == NULL)
            *slot = at;
        at = text_end + 1;
    }
    if (at + 1 != end) /* the list ends in a zero byte, and that is the last one */
        return false;
    if (found.severity == NULL)
        found.severity = severity_translated;
    ret_error->severity = found.severity != NULL ? found.severity : "";
    ret_error->sqlstate = found.sqlstate != NULL ? found.sqlstate : "";
    ret_error->message = found.message != NULL ? found.message : "";
    return true;
}

static inline size_t load_u16(const uint8_t *in)
{
    return (size_t)in[0] << 8 | in[1];
}

static void cursor_init(const struct pgmsg *msg, char type, struct pgmsg_cursor *ret_cursor)
{
    *ret_cursor = (struct pgmsg_cursor){.is_bad = msg->type != type || msg->length < 2};
    if (ret_cursor->is_bad)
        return;
    ret_cursor->at = msg->body + 2;
    ret_cursor->end = msg->body + msg->length;
    ret_cursor->left = load_u16(msg->body);
}

static bool cursor_fail(struct pgmsg_cursor *cursor)
{
    cursor->is_bad = true;
    cursor->left = 0;
    return false;
}

/* false: there is none any more; then nothing may be left over. */
static bool cursor_has_next(struct pgmsg_cursor *cursor)
{
    if (cursor->left > 0)
        return true;
    if (cursor->at != cursor->end)
        cursor->is_bad = true;
    return false;
}

void pgmsg_columns(const struct pgmsg *msg, struct pgmsg_cursor *ret_cursor)
{
    cursor_init(msg, 'T', ret_cursor);
}

bool pgmsg_next_column(struct pgmsg_cursor *cursor, struct pgmsg_text *ret_name)
{
    enum { AFTER_NAME_BYTES = 4 + 2 + 4 + 2 + 4 + 2 }; /* table, column, type, size, modifier, format */
    if (!cursor_has_next(cursor))
        return false;
    const uint8_t *name_end = memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
    if (name_end == NULL || cursor->end - name_end - 1 < AFTER_NAME_BYTES)
        return cursor_fail(cursor);
    *ret_name = (struct pgmsg_text){.text = (const char *)cursor->at, .length = (size_t)(name_end - cursor->at)};
    cursor->at = name_end + 1 + AFTER_NAME_BYTES;
    cursor->left--;
    return true;
}

void pgmsg_fields(const struct pgmsg *msg, struct pgmsg_cursor *ret_cursor)
{
    cursor_init(msg, 'D', ret_cursor);
}

bool pgmsg_next_field(struct pgmsg_cursor *cursor, struct pgmsg_text *ret_field)
{
    if (!cursor_has_next(cursor))
        return false;
    if (cursor->end - cursor->at < LENGTH_BYTES)
        return cursor_fail(cursor);
    uint32_t length = load_u32(cursor->at);
    cursor->at += LENGTH_BYTES;
    cursor->left--;
    *ret_field = (struct pgmsg_text){0};
    if (length == UINT32_MAX)
        return true;
    if (length > (size_t)(cursor->end - cursor->at))
        return cursor_fail(cursor);
    *ret_field = (struct pgmsg_text){.text = (const char *)cursor->at, .length = length};
    cursor->at += length;
    return true;
}

char pgmsg_ready_state(const struct pgmsg *msg)
{
    if (msg->type != 'Z' || msg->length != 1)
        return 0;
    char state = (char)msg->body[0];
    return state == 'I' || state == 'T' || state == 'E' ? state : 0;
}

/* Starts a message with `body` bytes behind the length, if it fits. NULL: it does not. */
static uint8_t *message_begin(struct pgmsg_out *out, char type, size_t body)
{
    assert(out->len <= out->cap);
    if (out->overflow || body > PL_MAX_MESSAGE_BYTES - LENGTH_BYTES || HEADER_BYTES + body > out->cap - out->len) {
        out->overflow = true;
        return NULL;
    }
    uint8_t *at = out->data + out->len;
    uint32_t size = __builtin_bswap32((uint32_t)(body + LENGTH_BYTES));
    *at = (uint8_t)type;
    memcpy(at + 1, &size, sizeof size);
    out->len += HEADER_BYTES + body;
    return at + HEADER_BYTES;
}

_Static_assert((int)HEADER_BYTES == (int)PGMSG_TEXT_AT, "a query's text follows its header");

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t length)
{
    if (length > 0) /* memcpy must not see NULL */
        memcpy(at, bytes, length);
    return at + length;
}

static uint8_t *put_u16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    return put_bytes(at, &value, sizeof value);
}

/* a + b, or more than any message may hold when either is already too much: sums of caller's lengths cannot wrap. */
static size_t add_size(size_t a, size_t b)
{
    return a > PL_MAX_MESSAGE_BYTES || b > PL_MAX_MESSAGE_BYTES ? (size_t)PL_MAX_MESSAGE_BYTES + 1 : a + b;
}

void pgmsg_put_query(struct pgmsg_out *out, const char *sql, size_t length)
{
    uint8_t *at = message_begin(out, 'Q', add_size(length, 1));
    if (at == NULL)
        return;
    at = put_bytes(at, sql, length);
    *at++ = '\0';
    assert(at == out->data + out->len);
}

void pgmsg_put_query_there(struct pgmsg_out *out, size_t length)
{
    uint8_t *at = message_begin(out, 'Q', add_size(length, 1));
    if (at != NULL)
        at[length] = '\0';
}

void pgmsg_put_parse(struct pgmsg_out *out, const char *statement, const char *sql, size_t length)
{
    size_t name = strlen(statement) + 1;
    uint8_t *at = message_begin(out, 'P', add_size(add_size(name, length), 1 + 2));
    if (at == NULL)
        return;
    at = put_bytes(at, statement, name);
    at = put_bytes(at, sql, length);
    *at++ = '\0';
    at = put_u16(at, 0); /* no parameter types are stated: the server infers them */
    assert(at == out->data + out->len);
}

void pgmsg_put_bind(struct pgmsg_out *out, const char *statement, const struct pgmsg_text *params, size_t count)
{
    size_t name = strlen(statement) + 1, body = add_size(name, 1 + 2 + 2 + 2);
    for (size_t i = 0; i < count; i++)
        body = add_size(body, add_size(4, params[i].text != NULL ? params[i].length : 0));
    if (count > UINT16_MAX)
        out->overflow = true;
    uint8_t *at = message_begin(out, 'B', body);
    if (at == NULL)
        return;
    *at++ = '\0'; /* the unnamed portal */
    at = put_bytes(at, statement, name);
    at = put_u16(at, 0); /* all parameters as text */
    at = put_u16(at, count);
    for (size_t i = 0; i < count; i++) {
        if (params[i].text == NULL) {
            at = put_u32(at, UINT32_MAX);
            continue;
        }
        at = put_u32(at, (uint32_t)params[i].length);
        at = put_bytes(at, params[i].text, params[i].length);
    }
    at = put_u16(at, 0); /* all results as text */
    assert(at == out->data + out->len);
}

void pgmsg_put_describe(struct pgmsg_out *out)
{
    uint8_t *at = message_begin(out, 'D', 1 + 1);
    if (at != NULL)
        memcpy(at, "P", 1 + 1); /* the unnamed portal */
}

void pgmsg_put_execute(struct pgmsg_out *out)
{
    uint8_t *at = message_begin(out, 'E', 1 + 4);
    if (at != NULL)
        memset(at, 0, 1 + 4); /* the unnamed portal, all rows */
}

void pgmsg_put_sync(struct pgmsg_out *out)
{
    message_begin(out, 'S', 0);
}

void pgmsg_put_copy_fail(struct pgmsg_out *out, const char *why)
{
    size_t length = strlen(why) + 1;
    uint8_t *at = message_begin(out, 'f', length);
    if (at != NULL)
        memcpy(at, why, length);
}

void pgmsg_put_terminate(struct pgmsg_out *out)
{
    message_begin(out, 'X', 0);
}
