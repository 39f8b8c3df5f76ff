/* What one simulated user's browser would remember: the cookies of a session (RFC 6265 without the public suffix list).
 * Memory is taken when the first cookie comes; a jar holds at most 50 cookies of at most 4096 bytes, the oldest goes. */
#ifndef PL_HTTP_COOKIES_H
#define PL_HTTP_COOKIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/http.h"

struct http_jar {
    struct http_cookie *cookies; /* owned */
    uint16_t count, capacity;
};

void http_jar_clear(struct http_jar *jar); /* keeps its memory */
void http_jar_release(struct http_jar *jar);

/* A Set-Cookie value of a response to a request for host and path. Malformed ones, and those for another domain, are
 * ignored. now_unix_s decides what has expired. */
void http_jar_set(struct http_jar *jar, struct http_slice set_cookie, struct http_slice host, struct http_slice path,
                  int64_t now_unix_s);

/* Appends "a=1; b=2" of those that belong to a request; false: there are none, nothing was appended. */
bool http_jar_header(const struct http_jar *jar, bool is_tls, struct http_slice host, struct http_slice path,
                     int64_t now_unix_s, struct pl_buf *into);

#endif
