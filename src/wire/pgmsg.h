/* PostgreSQL protocol 3 messages: builders into the caller's memory and a parser over the caller's bytes. No I/O, no
 * allocation, no state but the caller's (after picohttpparser: used / partial / bad).
 * Source: PostgreSQL documentation, "Message Formats". */
#ifndef PL_WIRE_PGMSG_H
#define PL_WIRE_PGMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pgmsg_result { PGMSG_OK, PGMSG_PARTIAL, PGMSG_BAD };

struct pgmsg {
    char type;           /* 'Z', 'C', 'D', 'E', ... */
    const uint8_t *body; /* points into the input */
    size_t length;       /* of the body */
    size_t total;        /* bytes of the whole message: 1 + 4 + length */
};

/* Looks at the first message of `in`. PARTIAL: more bytes are needed; ret_msg->total is set when the header is there (0
 * otherwise), so that the reader can skip or wait. BAD: a length below 4 or above PL_MAX_MESSAGE_BYTES, or a type that no
 * server sends (said as soon as that byte is there); total is 0. The other fields are set when total is. Never reads past
 * in + length. */
enum pgmsg_result pgmsg_next(const uint8_t *in, size_t length, struct pgmsg *ret_msg);

/* Fields of an ErrorResponse or NoticeResponse. Texts point into the body and end in NUL there; "" when absent; the first
 * wins when a field comes twice. severity is the untranslated one where the server gives it. false: malformed (or another
 * type); all texts are "" then. msg must be whole (PGMSG_OK). */
struct pgmsg_error {
    const char *severity, *sqlstate, *message;
};
bool pgmsg_error_parse(const struct pgmsg *msg, struct pgmsg_error *ret_error);

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
struct pgmsg_text {
    const char *text; /* NULL = SQL NULL */
    size_t length;
};
void pgmsg_put_query(struct pgmsg_out *out, const char *sql, size_t length);
void pgmsg_put_parse(struct pgmsg_out *out, const char *statement, const char *sql, size_t length);
void pgmsg_put_bind(struct pgmsg_out *out, const char *statement, const struct pgmsg_text *params, size_t count);
void pgmsg_put_execute(struct pgmsg_out *out);
void pgmsg_put_sync(struct pgmsg_out *out);
void pgmsg_put_terminate(struct pgmsg_out *out);

#endif
