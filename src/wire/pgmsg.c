/* PostgreSQL protocol 3, both directions that a client needs. */
#include "wire/pgmsg.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

#include "base/ban.h"

enum { HEADER_BYTES = 5, LENGTH_BYTES = 4 };

#define BIT(type) (UINT64_C(1) << ((type)&63))

/* Which types a server may send, one bit each. */
static const uint64_t known_types[4] = {
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

enum pgmsg_result pgmsg_next(const uint8_t *in, size_t length, struct pgmsg *ret_msg)
{
    ret_msg->total = 0;
    if (length == 0)
        return PGMSG_PARTIAL;
    uint8_t type = in[0];
    if ((known_types[type >> 6] >> (type & 63) & 1) == 0)
        return PGMSG_BAD;
    if (length < HEADER_BYTES)
        return PGMSG_PARTIAL;
    uint32_t size = load_u32(in + 1);
    if (size - LENGTH_BYTES > PL_MAX_MESSAGE_BYTES - LENGTH_BYTES) /* a size below 4 wraps round to a large one */
        return PGMSG_BAD;
    ret_msg->type = (char)type;
    ret_msg->body = in + HEADER_BYTES;
    ret_msg->length = size - LENGTH_BYTES;
    ret_msg->total = 1 + (size_t)size;
    return length < ret_msg->total ? PGMSG_PARTIAL : PGMSG_OK;
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

void pgmsg_put_terminate(struct pgmsg_out *out)
{
    message_begin(out, 'X', 0);
}
