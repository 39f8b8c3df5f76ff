/* Private to the driver of HTTP: what it knows of each request of the scripts, of each tenant and of each client.
 * drv_http.c: the life of a step; drv_http_request.c: what is sent; drv_http_open.c: all that is done before the load. */
#ifndef PL_LOAD_DRV_HTTP_INT_H
#define PL_LOAD_DRV_HTTP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"
#include "http/cookies.h"
#include "http/http.h"
#include "hurl/hurl.h"
#include "load/load.h"
#include "load/load_int.h"
#include "wire/uri.h"

/* Faults of one wait that can have a text; as many ends are reported at most. */
enum { HTTP_TEXTS = 64 };

/* Where requests go whose URL is only a path, and what is added to all: of one tenant, or of the load. */
struct http_base {
    bool has_url;
    bool is_tls;
    int origin;
    struct http_slice authority;  /* of the URL, as written */
    struct http_slice prefix;     /* its path, without a '/' at its end */
    struct http_slice said_host;  /* what Host says instead; text NULL: nothing else */
    struct http_header *defaults; /* for requests that do not state the name; of two of a name the first counts */
    size_t default_count;
};

/* A request that is the same each time, of one base. */
struct http_prepared {
    struct http_request request;
    struct http_slice url;
};

/* A STEP_HTTP. */
struct http_entry {
    const struct hurl_request *hurl;
    const struct hurl_facts *facts;
    int64_t max_time_ns;
    bool follows, asks_gzip;
    struct hurl_message message;    /* of a constant one: what it renders to */
    struct http_prepared *prepared; /* [base]; NULL: it is not constant, or would take too much memory */
    /* The authority that its last absolute URL named, and the origin of that: "" for none yet. */
    struct pl_buf last_authority;
    bool is_last_tls;
    int last_origin;
};

/* Where a request goes. */
struct http_target {
    int origin;
    bool is_tls;
    struct http_slice authority; /* of the URL */
    struct http_slice path;      /* what is requested */
    struct http_slice user;      /* text NULL: none in the URL */
};

struct http_client {
    struct http_entry *entry; /* of the step under way; NULL: none */
    const struct value *vars;
    const struct http_prepared *prepared; /* what was sent is this; NULL: something else */
    uint32_t base;
    uint32_t last_tenant; /* whose cookies are in the jar */
    struct http_jar jar;
    int64_t begun_ns, deadline_ns, sent_ns; /* sent_ns: of the first request; 0: not yet known, -1: never */

    /* What a redirect goes on from: the entry's message or `rendered`, whose texts stand in `kept` or in the work: there
     * they are good until another message is rendered. `url` is absolute, of the request under way; a prepared one brings
     * its own. */
    const struct hurl_message *message;
    struct hurl_message rendered;
    struct pl_buf url;
    char *kept;
    size_t kept_capacity;
    struct hurl_header *kept_headers;
    size_t kept_header_capacity;
    int redirects;
    int origin, first_origin;
    bool is_get;       /* a redirect has made it a GET without a body */
    bool is_elsewhere; /* a redirect has led away from the first origin: what is secret stays behind */
};

struct driver_http {
    struct driver base;
    struct driver_setup setup;
    const struct load_http *load;
    struct pl_arena *arena;
    struct http_engine *engine;
    bool is_http2;
    struct hurl_work *work;
    struct pl_rng rng;

    struct http_entry *entries; /* [script][io_index] */
    size_t *first_entry;        /* of each script */
    size_t entry_count;
    struct http_base *bases; /* [tenant]; without tenants one */
    size_t base_count;

    struct http_client *clients;
    int client_count;
    uint32_t *told; /* clients whose step could not be sent */
    int told_count;

    /* of one wait */
    struct driver_done *done;
    int done_count;
    int64_t last_ns;
    char (*texts)[LOAD_NOTICE_TEXT_BYTES];
    int text_count;

    /* of one request */
    struct http_header *headers;
    size_t header_capacity;
    struct pl_buf path, cookies, authorization, location, why;
    /* of one response */
    struct hurl_header judged[HTTP_HEADERS_MOST];

    struct http_stats warm_up, measured;
    struct http_stats *counting; /* one of these */
    int64_t redirects;
};

static inline struct driver_http *driver_http_of(struct driver *driver)
{
    return (struct driver_http *)driver;
}

static inline struct http_slice http_slice_of(struct hurl_slice slice)
{
    return (struct http_slice){.text = slice.text, .length = slice.length};
}
static inline struct hurl_slice hurl_slice_of(struct http_slice slice)
{
    return (struct hurl_slice){.text = slice.text, .length = slice.length};
}

/* lower: begins with a letter. */
static inline bool driver_http_is_named(struct http_slice name, const char *lower)
{
    return name.length == strlen(lower) && (name.text[0] | 0x20) == *lower &&
           strncasecmp(name.text, lower, name.length) == 0;
}

/* ---- drv_http_open.c ---- */

PL_MUST_CHECK enum pl_code driver_http_open(struct driver_http *http, int clients, struct pl_err *err);

/* ---- drv_http_request.c ---- */

/* The request of a client's message that goes to `target`, but for its time limit. Its texts stand until the next one is
 * built; those of its body as the message's. NULL, or why it cannot be sent (until the next call). */
const char *driver_http_build(struct driver_http *http, struct http_client *client, const struct http_target *target,
                              struct http_request *ret_request);
/* The same of the client's step, from its beginning: renders what is not constant. */
const char *driver_http_first(struct driver_http *http, struct http_client *client, struct http_request *ret_request);
/* What comes after a redirect with this status to a URL. */
const char *driver_http_next(struct driver_http *http, struct http_client *client, int status, struct http_slice location,
                             struct http_request *ret_request);
/* What Host says in the client's request under way to an authority. */
struct http_slice driver_http_said_host(const struct driver_http *http, const struct http_client *client,
                                        struct http_slice authority);
/* Of that, what cookies belong to. */
struct http_slice driver_http_cookie_host(struct http_slice authority);
/* The URL of the client's request under way. */
struct http_slice driver_http_url(const struct http_client *client);
/* The origin of a URL; -1: there is no room for it. */
int driver_http_origin(struct driver_http *http, const struct uri *uri);
/* Appends "Basic ..." of "user:password"; is_encoded: of a URL. */
void driver_http_put_basic(struct http_slice user, bool is_encoded, struct pl_buf *into);

#endif
