/* HTTP/1.x responses, read as a client: RFC 9112. The codec does no I/O and takes no memory; the caller feeds it whatever
 * has come, from one byte to many pipelined responses. */
#ifndef PL_WIRE_HTTP1_H
#define PL_WIRE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http1_field {
    const char *name, *value; /* into the caller's bytes; value without white space at its ends */
    uint32_t name_length, value_length;
};

enum http1_result { HTTP1_OK, HTTP1_PARTIAL, HTTP1_BAD, HTTP1_TOO_MANY };

/* How the body of a response ends (RFC 9112, 6.3). */
enum http1_framing { HTTP1_NO_BODY, HTTP1_LENGTH, HTTP1_CHUNKED, HTTP1_UNTIL_CLOSE };

struct http1_head {
    int status;  /* 100..999 */
    int version; /* 10, 11 */
    const char *reason;
    uint32_t reason_length;
    size_t length;   /* of the head in bytes, its empty line included */
    int field_count; /* filled in `fields` */
    enum http1_framing framing;
    int64_t content_length;     /* HTTP1_LENGTH */
    bool keeps_alive;           /* the connection may serve another exchange, as far as the response is concerned */
    bool has_gzip, has_deflate; /* Content-Encoding */
    const char *wrong;          /* BAD: what is wrong, static */
};

/* Reads a head from the beginning of `bytes`. is_head: the request's method was HEAD. `seen`: how many of the bytes were
 * given before without a whole head (0 the first time), so that a head that comes byte by byte costs linear time. Lenient
 * where RFC 9112 allows it (bare LF, no reason), strict where smuggling begins: two different Content-Lengths, a length
 * beside chunked (the length is ignored and the connection not kept), white space before the colon, bytes below 32 in
 * values, obsolete folding are BAD. */
enum http1_result http1_read_head(const char *bytes, size_t length, size_t seen, bool is_head, struct http1_field *fields,
                                  int field_capacity, struct http1_head *ret_head);

/* A chunked body, piece by piece. */
struct http1_chunks {
    uint8_t state;     /* private */
    uint32_t line;     /* private: bytes of the current line, bounded */
    int64_t left;      /* private: of the chunk at hand */
    const char *wrong; /* BAD: what is wrong, static */
};
static inline void http1_chunks_begin(struct http1_chunks *chunks)
{
    *chunks = (struct http1_chunks){0};
}

/* Goes on at bytes[*at]: OK: `*ret_data` points to `*ret_count` > 0 bytes of the body and *at stands behind them; call
 * again. PARTIAL: all was taken, more is needed. BAD. When the last chunk and the trailer have ended, *ret_count is 0 with
 * OK: *at stands behind the body. Extensions and trailers are skipped; a line of them is bounded by 16 KiB. */
enum http1_result http1_read_chunks(struct http1_chunks *chunks, const char *bytes, size_t length, size_t *at,
                                    const char **ret_data, size_t *ret_count);

#endif
