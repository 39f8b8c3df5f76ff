/* PostgreSQL protocol 3 messages: builders into the caller's memory and a parser over the caller's bytes. No I/O, no
 * allocation, no state but the caller's (after picohttpparser: used / partial / bad).
 * Source: PostgreSQL documentation, "Message Formats". */
#ifndef PL_WIRE_PGMSG_H
#define PL_WIRE_PGMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"

enum pgmsg_result { PGMSG_OK, PGMSG_PARTIAL, PGMSG_BAD };

struct pgmsg {
    char type;           /* 'Z', 'C', 'D', 'E', ... */
    const uint8_t *body; /* points into the input */
    size_t length;       /* of the body */
    size_t total;        /* bytes of the whole message: 1 + 4 + length */
};

/* Which types a server may send, one bit each. */
extern const uint64_t pgmsg_known_types[4];

/* Looks at the first message of `in`. PARTIAL: more bytes are needed; ret_msg->total is set when the header is there (0
 * otherwise), so that the reader can skip or wait. BAD: a length below 4 or above PL_MAX_MESSAGE_BYTES, or a type that no
 * server sends (said as soon as that byte is there); total is 0. The other fields are set when total is. Never reads past
 * in + length. Here and not in the source because it runs several times for every step. */
static inline enum pgmsg_result pgmsg_next(const uint8_t *in, size_t length, struct pgmsg *ret_msg)
{
    enum { HEADER_BYTES = 5, LENGTH_BYTES = 4 };
    ret_msg->total = 0;
    if (length == 0)
        return PGMSG_PARTIAL;
    uint8_t type = in[0];
    if ((pgmsg_known_types[type >> 6] >> (type & 63) & 1) == 0)
        return PGMSG_BAD;
    if (length < HEADER_BYTES)
        return PGMSG_PARTIAL;
    uint32_t size;
    memcpy(&size, in + 1, sizeof size);
    size = __builtin_bswap32(size);
    if (size - LENGTH_BYTES > PL_MAX_MESSAGE_BYTES - LENGTH_BYTES) /* a size below 4 wraps round to a large one */
        return PGMSG_BAD;
    ret_msg->type = (char)type;
    ret_msg->body = in + HEADER_BYTES;
    ret_msg->length = size - LENGTH_BYTES;
    ret_msg->total = 1 + (size_t)size;
    return length < ret_msg->total ? PGMSG_PARTIAL : PGMSG_OK;
}

/* Fields of an ErrorResponse or NoticeResponse. Texts point into the body and end in NUL there; "" when absent; the first
 * wins when a field comes twice. severity is the untranslated one where the server gives it. false: malformed (or another
 * type); all texts are "" then. msg must be whole (PGMSG_OK). */
struct pgmsg_error {
    const char *severity, *sqlstate, *message;
};
bool pgmsg_error_parse(const struct pgmsg *msg, struct pgmsg_error *ret_error);

/* The columns of a RowDescription and the fields of a DataRow, one after another. msg must be whole (PGMSG_OK).
 *
 *     struct pgmsg_cursor cursor;
 *     struct pgmsg_text name;
 *     for (pgmsg_columns(&msg, &cursor); pgmsg_next_column(&cursor, &name);) ...
 *     if (cursor.is_bad) ...    malformed, or another type
 *
 * A name points into the body and ends in NUL there; a field points into the body, has no NUL behind it and may hold some,
 * and its text is NULL for SQL NULL. cursor.left is how many are still to come. */
struct pgmsg_text {
    const char *text; /* NULL = SQL NULL */
    size_t length;
};
struct pgmsg_cursor {
    const uint8_t *at, *end;
    size_t left;
    bool is_bad;
};
void pgmsg_columns(const struct pgmsg *msg, struct pgmsg_cursor *ret_cursor);
bool pgmsg_next_column(struct pgmsg_cursor *cursor, struct pgmsg_text *ret_name);
void pgmsg_fields(const struct pgmsg *msg, struct pgmsg_cursor *ret_cursor);
bool pgmsg_next_field(struct pgmsg_cursor *cursor, struct pgmsg_text *ret_field);

/* ReadyForQuery: 'I' idle, 'T' in a transaction, 'E' in a failed one; 0 when malformed. */
char pgmsg_ready_state(const struct pgmsg *msg);

/* Builders append to out; a message that does not fit (or is larger than the protocol or PL_MAX_MESSAGE_BYTES allows) sets
 * `overflow` and writes nothing, nor does any later one until the caller clears `overflow`: out never holds a conversation
 * with a hole. Texts must not contain NUL, except parameters' (which the server refuses). */
struct pgmsg_out {
    uint8_t *data;
    size_t len, cap;
    bool overflow;
};
void pgmsg_put_query(struct pgmsg_out *out, const char *sql, size_t length);
/* A query whose text the caller has put where it belongs: PGMSG_TEXT_AT bytes behind out->data + out->len. */
enum { PGMSG_TEXT_AT = 5 };
void pgmsg_put_query_there(struct pgmsg_out *out, size_t length);
void pgmsg_put_parse(struct pgmsg_out *out, const char *statement, const char *sql, size_t length);
void pgmsg_put_bind(struct pgmsg_out *out, const char *statement, const struct pgmsg_text *params, size_t count);
void pgmsg_put_describe(struct pgmsg_out *out); /* of what was bound last: RowDescription or NoData */
void pgmsg_put_execute(struct pgmsg_out *out);
void pgmsg_put_sync(struct pgmsg_out *out);
void pgmsg_put_copy_fail(struct pgmsg_out *out, const char *why);
void pgmsg_put_terminate(struct pgmsg_out *out);

#endif
