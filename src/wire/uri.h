/* URLs of HTTP: RFC 3986 as far as a client needs it. No memory is taken. */
#ifndef PL_WIRE_URI_H
#define PL_WIRE_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct uri {
    bool is_tls;      /* https */
    const char *user; /* "user" or "user:password" as written; NULL: none */
    size_t user_length;
    const char *host; /* without the brackets of an IPv6 literal, zone included */
    size_t host_length;
    bool is_ipv6;
    uint16_t port; /* the scheme's own when none is written */
    bool has_port;
    const char *authority; /* host and port as written: what Host says */
    size_t authority_length;
    const char *path; /* with the query, without the fragment: what is requested; "" when empty: "/" is meant, and a
                         query alone begins with '?' */
    size_t path_length;
};

/* An absolute http or https URL into slices of `text`. NULL, or what is wrong with it (static), with *ret_at the byte. */
const char *uri_parse(const char *text, size_t length, struct uri *ret_uri, size_t *ret_at);

/* Appends what a reference (absolute, "//host/x", "/x", "x", "?x") means for somebody who is at `base`, RFC 3986 section
 * 5.2, without a fragment. false: it is neither http nor https, or no URL. */
bool uri_resolve(const char *base, size_t base_length, const char *reference, size_t reference_length, struct pl_buf *into);

/* Appends percent-encoded bytes: everything but unreserved characters. */
void uri_encode(const char *bytes, size_t length, struct pl_buf *into);

#endif
