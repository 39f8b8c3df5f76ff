/* HTTP as a client, for many simulated users in one thread: connections in a pool, HTTP/1.1 and HTTP/2 exchanges, TLS,
 * timeouts. One engine belongs to one worker thread. It knows no scripts: it is told which bytes to send and says what
 * came, when, and what went wrong. Redirects, cookies between requests and checks are its caller's.
 *
 * Control plane: http_engine_new, http_origin_add, http_open, http_engine_free. Data plane: everything else: no blocking,
 * no allocation but where a body, head or request is longer than any before it on that connection, a connection is opened
 * (TLS: OpenSSL's), or nghttp2 asks for memory. */
#ifndef PL_HTTP_HTTP_H
#define PL_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "stats/hist.h"

enum { HTTP_CODE_BYTES = 40, HTTP_HEADERS_MOST = 256 };

/* A slice of text, not ended by NUL. */
struct http_slice {
    const char *text;
    size_t length;
};
struct http_header {
    struct http_slice name, value;
};

/* Zero is a good default for everything but `clients`. */
struct http_spec {
    int clients;     /* of this worker: at most one exchange of each is under way */
    int connections; /* open at a time over all origins; 0: clients (HTTP/2: clients / streams) */
    bool http2;      /* HTTP/2 for all: by ALPN with TLS (no h2: a fault), with prior knowledge without */
    int streams;     /* HTTP/2: at most so many exchanges on a connection, and never more than the server allows; 0: 10 */
    bool http1_0;    /* requests say HTTP/1.0 */
    bool close_each; /* churn: a connection serves one exchange ("Connection: close") */
    int64_t exchanges_per_connection; /* HTTP/1.1: then it is closed and another one opened; 0: no limit */
    int64_t connect_timeout_ns;       /* TCP and TLS together; 0: 10 s */
    int64_t idle_timeout_ns;          /* an idle connection is closed after this; 0: never */
    size_t head_most_bytes;           /* of a response's head; 0: 64 KiB */
    size_t body_keep_most_bytes;      /* of a body that is to be kept; 0: 64 MiB */
    bool insecure;                    /* TLS: certificates are not verified */
    bool no_resumption;
    const char *ca_file;              /* PEM; NULL: the system's */
    const char *cert_file, *key_file; /* client certificate, PEM; NULL: none */
    const char *server_name;          /* SNI (but for an address) and who is verified; NULL: the origin's host, wherever
                                         connect_to or a Host header lead */
    const char *unix_socket;          /* all connections go there; NULL: none */
    const char *const *connect_to;    /* NULL-ended, "HOST:PORT:ADDRESS:PORT" as curl's --connect-to; NULL: none */
    const char *const *sources;       /* NULL-ended: local addresses to connect from, in turn; NULL: the kernel chooses */
};

struct http_engine;

/* Names are looked up (every address; a connection takes the next one in turn, and after a refusal the one after it) and
 * certificates read. PL_INPUT, PL_NOT_FOUND, PL_LIMIT: the spec is wrong. stop: non-zero: give up. */
PL_MUST_CHECK enum pl_code http_engine_new(const struct http_spec *spec, const volatile int *stop,
                                           struct http_engine **ret_engine, struct pl_err *err);
void http_engine_free(struct http_engine *engine); /* closes everything; NULL is fine */

/* Where requests go: scheme, host and port. The index of it; the same for the same. A name that cannot be found is no
 * error: the exchanges with it fail. May be called in the data plane too (a redirect leads elsewhere); a new name then
 * blocks for its lookup, once. scheme "http" or "https"; port 0: the scheme's own. -1: more than 65536 origins, or a wrong
 * host. */
int http_origin(struct http_engine *engine, bool is_tls, struct http_slice host, uint16_t port);

/* What is in use: "epoll", "epoll, sends by io_uring". */
const char *http_engine_loop(const struct http_engine *engine);

/* ---- exchanges ---- */

struct http_request {
    int origin;
    struct http_slice method;          /* a token */
    struct http_slice target;          /* "/path?query", also "*" */
    struct http_slice authority;       /* Host or :authority; text NULL: the origin's own */
    const struct http_header *headers; /* no Host, Content-Length, Transfer-Encoding or Connection, but where the script
                                          states them: then they are sent instead of the engine's own */
    size_t header_count;
    struct http_slice more_headers; /* "Name: value\r\n" lines, each ended; HTTP/1.1 sends them as they are */
    struct http_slice body;
    bool has_body;         /* says Content-Length, also 0 */
    bool expects_continue; /* sends the body after 100, a final status stops it, or after 1 s */
    bool keeps_body;
    bool decodes;       /* of the kept body Content-Encoding gzip and deflate are undone (the caller asked for them) */
    bool is_safe;       /* may be sent again on a fresh connection when a reused one ends before any byte of an answer: a
                           safe method, or one the caller knows to be repeatable. Counted in `retries` */
    int64_t timeout_ns; /* from the call of http_submit until the whole answer; INT64_MAX: none */
    struct http_slice wire; /* HTTP/1.1: made by http_prepare from this request; text NULL: none. Used when the connection
                               is as it assumed */
};

/* The bytes of the request on HTTP/1.1, for requests that are the same each time. The caller keeps them. */
void http_prepare(const struct http_engine *engine, const struct http_request *request, struct pl_buf *into);

enum http_outcome {
    HTTP_ANSWERED, /* a whole final response came, whatever its status */
    HTTP_FAILED,
    HTTP_EXPIRED /* the timeout came first */
};
/* How far an exchange has come, or in which part of it something went wrong. */
enum http_phase {
    HTTP_WAIT,    /* for a connection of the budget */
    HTTP_RESOLVE, /* the name */
    HTTP_CONNECT, /* TCP */
    HTTP_TLS,     /* the handshake */
    HTTP_SEND,    /* the request */
    HTTP_HEAD,    /* waiting for the response's head */
    HTTP_BODY,    /* reading its body */
    HTTP_PHASE_COUNT
};
const char *http_phase_name(enum http_phase phase); /* "wait", "resolve", "connect", "tls", "send", "head", "body" */

struct http_response {
    int status;                        /* final: 200 and above; 101 is a fault */
    int version;                       /* 10, 11, 20 */
    const struct http_header *headers; /* HTTP/2: trailers behind them */
    size_t header_count;
    struct http_slice body; /* keeps_body: decoded as asked; else empty */
    int64_t raw_bytes;      /* of the body as it came, without chunk headers */
    int64_t body_bytes;     /* decoded; -1: it is encoded and was not decoded */
    int interim_count;      /* 1xx that came before */
    bool is_tls, is_new_connection, is_resumed;
    struct http_slice ip; /* of the peer, as text; empty for a Unix socket */
};

/* The peer's certificate of the exchange that is being reported; empty strings without TLS. */
struct http_certificate {
    char subject[256], issuer[256], serial[64];
    int64_t start_unix_s, expire_unix_s;
};
void http_certificate(const struct http_engine *engine, uint32_t client, struct http_certificate *ret_certificate);

struct http_end {
    uint32_t client;
    enum http_outcome outcome;
    enum http_phase phase;      /* FAILED, EXPIRED */
    char code[HTTP_CODE_BYTES]; /* FAILED: "connect:ECONNREFUSED", "resolve:NOT_FOUND", "tls:CERTIFICATE" (verification),
                                   "tls:HANDSHAKE", "head:CLOSED", "head:MALFORMED", "head:TOO_LARGE", "body:ECONNRESET",
                                   "body:TRUNCATED" (ends with a TLS connection that was not closed as TLS wants it),
                                   "wait:DESCRIPTORS", "connect:PORTS" (EADDRNOTAVAIL), ... : a phase, then an errno name or
                                   a word. EXPIRED: "head:EXPIRED": the phase it was in */
    const char *text;           /* FAILED, EXPIRED: a sentence's worth of detail, valid during the call */
    int64_t submitted_ns, sent_ns, first_byte_ns, done_ns; /* sent_ns: the first byte of the request was handed to the
                                                              kernel (HTTP/2: to nghttp2's output); 0: never. Of an exchange
                                                              that was sent again: the first time */
    const struct http_response *response;                  /* ANSWERED; valid during the call */
};

/* Begins an exchange of a client that has none under way; its end is reported by http_wait. Everything that `request`
 * points to is copied or sent, except body and wire, which must stand until the end. Returns the engine's time. */
int64_t http_submit(struct http_engine *engine, uint32_t client, const struct http_request *request);

/* Called from http_wait for each exchange that has ended. May call http_submit for that client. */
typedef void http_on_end(void *context, const struct http_end *end);

/* Waits until something ends or until_ns; at most `most` ends are reported in one call. Returns how many. */
int http_wait(struct http_engine *engine, int64_t until_ns, int most, http_on_end *on_end, void *context);

/* Forgets an exchange without a report (its connection is closed; on HTTP/2 its stream is reset), and the client's
 * preference for its last connection: the next exchange is a new user's. */
void http_forget(struct http_engine *engine, uint32_t client);

/* ---- what it counts ---- */

struct http_stats {
    int64_t requests, answers; /* sent: the kernel (HTTP/2: nghttp2's output) has it; whole final responses. A server that
                                  reads to the end counts the same */
    int64_t statuses[600];     /* [100..599] final ones */
    int64_t other_statuses, interim;
    int64_t sent_bytes, received_bytes; /* on the sockets, without TLS's own */
    int64_t body_bytes;                 /* received, before decoding */
    int64_t connections_opened, connections_failed, connections_closed_by_peer, connections_evicted;
    int64_t handshakes_full, handshakes_resumed;
    int64_t retries;   /* sent once more: a reused connection ended before any byte of an answer, or HTTP/2 refused it */
    int64_t continues; /* 100-continue that were waited for; their wait is in `continue_wait` */
    int64_t blocked;   /* exchanges that waited for a connection of the budget */
    struct hist connect, tls, first_byte, blocked_wait, continue_wait; /* ns */
    struct hist exchanges_per_connection; /* of connections that were closed, and at the end of those that are open: their
                                             sum is `answers` */
};
void http_stats_init(struct http_stats *stats);
void http_stats_release(struct http_stats *stats);
void http_stats_add(struct http_stats *into, const struct http_stats *from);

/* Everything from now on is counted there. The engine starts with a struct of its own, which nobody reads. What open
 * connections have served is recorded in exchanges_per_connection of where it was counted so far: call it once more at the
 * end, also with the same struct. */
void http_count_into(struct http_engine *engine, struct http_stats *stats);

/* Per address: "127.0.0.1:8080", how many connections were opened and failed. Index 0.. until it says false. Control plane,
 * after the load. */
struct http_address {
    char text[80];
    int64_t opened, failed;
};
bool http_engine_address(const struct http_engine *engine, size_t index, struct http_address *ret_address);

/* ---- before the run ---- */

/* What a load will need, to be held against the limits of this process and machine. */
struct http_need {
    int64_t connections;          /* at a time, of all workers */
    int64_t destinations;         /* distinct (address, port) pairs; 0: Unix socket, no ports needed */
    int64_t sources;              /* local addresses; at least 1 */
    double new_connections_per_s; /* 0: they are kept. Closed sockets hold their port for 60 s when we close first */
    double duration_s;
    int other_descriptors;
};
/* NULL, or a sentence with the number that would work (in the arena). Raises the soft limit of descriptors first. */
const char *http_need_refusal(const struct http_need *need, struct pl_arena *arena);
/* The same with the limits given (for tests). */
struct http_limits {
    int64_t descriptors, ports, time_wait_s;
};
const char *http_need_check(const struct http_need *need, const struct http_limits *limits, struct pl_arena *arena);

#endif
