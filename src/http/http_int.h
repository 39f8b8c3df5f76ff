/* Private to the room: what the files of the engine share.
 *
 *     engine.c    life of an engine, the waiting loop, due timers
 *     exchange.c  a client's exchange from http_submit to its report
 *     request.c   requests as bytes (HTTP/1.1) or as fields (HTTP/2)
 *     pool.c      origins' connections, the budget, who waits for it
 *     conn.c      a connection: opening, watching, closing
 *     h1.c, h2.c  what is sent and read on an open connection
 *     tls.c, resolve.c, gzip.c, timers.c, stats.c, need.c
 *
 * An exchange is known by its client's index, a connection by its place in `conns`; -1 is none of either. */
#ifndef PL_HTTP_INT_H
#define PL_HTTP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/http.h"
#include "wire/http1.h"
#include "wire/io.h"
#include "wire/loop.h"
#include "wire/ring.h"

struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;
struct bio_method_st;
struct z_stream_s;
struct nghttp2_session;
struct nghttp2_session_callbacks;
struct nghttp2_option;

enum {
    HTTP_READ_BYTES = 64 * 1024,
    HTTP_EVENTS = 64,
    HTTP_ORIGINS_MOST = 65536,
    HTTP_HOST_MOST = 255,              /* bytes of a host's name */
    HTTP_INLINE_BODY_BYTES = 16 * 1024 /* a body that is not longer is sent in one piece with its head */
};

/* ---- timers.c: a heap of due times that are only ever made earlier ---- */

/* An entry's time may be earlier than what its owner really waits for: whoever takes it out looks, and puts it back. So an
 * exchange that ends in time costs the heap nothing. */
struct http_timers {
    uint32_t *heap; /* ids, the first due on top */
    int64_t *keys;  /* by place in the heap */
    int32_t *where; /* by id; -1: not in it */
    int count;
};
void http_timers_init(struct http_timers *timers, size_t ids);
void http_timers_release(struct http_timers *timers);
void http_timers_lower(struct http_timers *timers, uint32_t id, int64_t due_ns); /* to due_ns, or leaves it if earlier */
int64_t http_timers_first_ns(const struct http_timers *timers);                  /* INT64_MAX: empty */
int32_t http_timers_take(struct http_timers *timers, int64_t now_ns); /* one that is due and now is out; -1: none */

/* ---- resolve.c ---- */

struct http_peer {
    struct sockaddr_storage address;
    socklen_t length;
    char text[80]; /* "127.0.0.1:8080" */
    uint16_t ip_length;
    uint8_t ip_at; /* behind the bracket of IPv6 */
    int64_t opened, failed;
};

struct http_origin_entry {
    char *host;      /* in the arena */
    char *authority; /* as Host says it: without the scheme's own port */
    uint16_t port, peer_count;
    uint16_t streams; /* HTTP/2: as many as it allowed last on a connection, and we want; 0: it has not said yet */
    bool is_tls;
    uint32_t turn;      /* the address that is next */
    uint32_t *peers;    /* in the arena */
    int32_t free_first; /* its connections that can take an exchange: the one used last is first */
    struct ssl_session_st *tls_session;
};

/* Finds an index by hash in an open table. */
struct http_table {
    uint32_t *slots; /* index + 1 */
    size_t capacity, count;
};
typedef bool http_is_same(const void *context, uint32_t index, const void *key);
int32_t http_table_find(const struct http_table *table, uint64_t hash, http_is_same *is_same, const void *context,
                        const void *key);
/* hash_of gives the hash of what stands at an index, for growing. */
void http_table_put(struct http_table *table, uint64_t hash, uint32_t index,
                    uint64_t (*hash_of)(const void *context, uint32_t index), const void *context);

struct http_route {
    char *host, *to_host; /* "": any, the same */
    uint16_t port, to_port;
};

PL_MUST_CHECK enum pl_code http_resolve_init(struct http_engine *engine, struct pl_err *err);
void http_resolve_release(struct http_engine *engine);
bool http_is_ip(const char *host); /* an address, without a zone */

/* ---- exchange.c ---- */

/* What an exchange waits for. */
enum exchange_state {
    /* The client has none, or its end is just being reported. */
    EXCHANGE_NONE,
    /* No connection could be had: it stands in the queue of the blocked, first come, first served. */
    EXCHANGE_BLOCKED,
    /* It is attached to a connection that is being opened. */
    EXCHANGE_OPENING,
    /* It is attached to an open connection (HTTP/2: it has a stream), and was sent, in part at least. */
    EXCHANGE_ACTIVE,
    /* It stands among the ended, with all that has to be reported; no connection knows of it any more. */
    EXCHANGE_ENDED
};

struct http_fault {
    enum http_phase phase;
    const char *word; /* static */
    const char *text; /* static */
};

struct http_exchange {
    uint8_t state, outcome;
    bool is_head, has_body, keeps_body, decodes, is_safe, expects_continue, closes; /* of the request */
    bool has_inline_body;                                                           /* `bytes` hold it */
    bool is_begun;                                                                  /* HTTP/2: its stream was opened */
    bool is_retried, awaits_continue, wants_fresh, is_tls, is_new_connection, is_resumed;
    uint8_t refusals; /* streams that the server did not begin */
    uint8_t version;
    int32_t conn;           /* ACTIVE, OPENING */
    int32_t last_conn;      /* its own one, if that still says so */
    int32_t previous, next; /* in the list of its connection, of the blocked or of the ended */
    uint32_t origin;
    int32_t peer; /* where its connection led; -1: nowhere yet */
    int32_t stream;
    int status, interim_count;
    uint32_t fields; /* HTTP/2: in `head` */
    int64_t submitted_ns, sent_ns, first_byte_ns, done_ns, deadline_ns;
    int64_t continue_ns;     /* awaits_continue: when it began to wait */
    int64_t blocked_ns;      /* when it had to wait for a connection; 0: it has not */
    const char *bytes;       /* HTTP/1.1: the request; wire's, or `out` */
    size_t length;           /* of bytes */
    size_t sent, may_send;   /* of bytes and then body */
    struct http_slice body;  /* the caller's */
    int64_t raw_bytes;       /* of the response's body */
    struct pl_buf out;       /* the request; HTTP/2: its fields */
    struct pl_buf head, got; /* of a response that did not come in one piece */
    struct http_fault fault;
};

/* ---- conn.c ---- */

enum conn_state {
    /* The place is free. */
    CONN_NONE,
    /* connect() is under way to one of the origin's addresses. When it fails the next one is tried, as long as there is
     * one that was not. Its exchanges are OPENING. */
    CONN_CONNECTING,
    /* TCP stands, the TLS handshake goes on. Its exchanges are OPENING. */
    CONN_TLS,
    /* Open and without an exchange: in the list of the idle, from which it may be taken for another origin, and in its
     * origin's list. What comes now (but for HTTP/2) is the end of it. */
    CONN_IDLE,
    /* Open, with its exchange (HTTP/2: one or more). */
    CONN_BUSY
};

/* Where an HTTP/1.1 connection stands in its response. */
enum h1_stage { H1_HEAD, H1_LENGTH, H1_CHUNKED, H1_UNTIL_CLOSE };

struct http_h2 {
    struct nghttp2_session *session;
    struct pl_buf unsent; /* what the socket did not take */
    size_t unsent_at;
    struct http_engine *engine;
    int64_t now_ns;           /* of the read or write */
    struct http_exchange *at; /* of the stream that was asked for last: most callbacks are about the same one again */
    int32_t at_stream;        /* 0: none is known */
    bool is_finished;         /* no new streams: the server goes away */
};

struct http_conn {
    struct wire_socket socket;
    uint8_t state, stage;
    bool watches_write, is_again, is_dirty, is_listed, is_hung_up, is_broken, is_resumed;
    bool is_in_ring;               /* its request was not handed to the kernel yet */
    uint16_t streams, stream_most; /* exchanges on it, or waiting for it to open */
    uint16_t tried;                /* addresses */
    uint32_t origin, turn, peer;
    int32_t first;          /* of its exchanges */
    int32_t last_client;    /* whose it was last */
    int32_t previous, next; /* in its origin's list, or the free places */
    int32_t idle_previous, idle_next;
    int write_errno;
    int64_t served, counted;  /* counted: of them, in exchanges_per_connection */
    int64_t begun_ns, tls_ns; /* when opening it began, and TLS */
    int64_t due_ns;           /* when opening it must have ended, or idling; INT64_MAX: never */
    int64_t retry_ns;         /* CONNECTING: when it is tried again, as the queue of a Unix socket is full; 0: it is not */
    int64_t left;             /* of the body */
    size_t seen;              /* of a partial head */
    struct http1_chunks chunks;
    struct http_h2 *h2;
};

struct http_engine {
    struct http_spec spec;
    const volatile int *stop;
    struct pl_arena *arena;
    struct loop loop;
    bool has_loop;
    struct wire_ring ring;
    struct http_stats own_stats, *stats;
    struct http_timers timers; /* ids: clients, then connections */

    struct http_exchange *exchanges;
    int32_t blocked_first, blocked_last, ended_first, ended_last;
    bool is_serving; /* the blocked are being given connections */

    struct http_conn *conns;
    int conn_most, conn_count;
    int32_t conn_free, idle_first, idle_last; /* idle_first: not used for longest */
    uint32_t *again, *dirty;
    int again_count, dirty_count;
    uint32_t source_turn;

    struct http_origin_entry *origins;
    size_t origin_count, origin_capacity;
    struct http_table origin_table, peer_table;
    struct http_peer *peers;
    size_t peer_count, peer_capacity;
    struct http_peer *sources;
    size_t source_count;
    struct http_route *routes;
    size_t route_count;

    struct ssl_ctx_st *tls;
    struct bio_method_st *bio_method;
    struct ssl_st *reported_tls; /* of the exchange that is being reported */
    bool trusts;                 /* the system's certificates were read */
    bool owns_reported_tls;      /* its connection is closed already */
    char reported_ip[48];        /* what is being reported may lead to another origin: the addresses may move */

    struct nghttp2_session_callbacks *h2_callbacks;
    struct nghttp2_option *h2_option;
    struct z_stream_s *inflater;
    struct pl_buf decoded;

    struct loop_event events[2 * HTTP_EVENTS];
    int event_count, event_next;
    http_on_end *on_end; /* during http_wait */
    void *context;
    int reported;
    size_t keep_bytes; /* a client's buffer of more than that is given back */
    struct http1_field fields[HTTP_HEADERS_MOST];
    struct http_header headers[HTTP_HEADERS_MOST];
    char *in;  /* HTTP_READ_BYTES */
    char *out; /* HTTP_READ_BYTES: what a session has to say */
};

static inline uint32_t http_conn_index(const struct http_engine *engine, const struct http_conn *conn)
{
    return (uint32_t)(conn - engine->conns);
}
static inline int32_t http_client_of(const struct http_engine *engine, const struct http_exchange *exchange)
{
    return (int32_t)(exchange - engine->exchanges);
}
static inline uint32_t http_conn_timer(const struct http_engine *engine, const struct http_conn *conn)
{
    return (uint32_t)engine->spec.clients + http_conn_index(engine, conn);
}

/* ---- exchange.c ---- */

/* A wrong end: it goes among the ended, detached from everything. */
void http_exchange_fail(struct http_engine *engine, struct http_exchange *exchange, struct http_fault fault);
/* A whole answer has come. Once for each, with the connection's `served`. */
void http_exchange_count(struct http_engine *engine, const struct http_exchange *exchange);
/* The answer stands in the exchange's own memory (HTTP/2): counted, and among the ended. */
void http_exchange_answer(struct http_engine *engine, struct http_exchange *exchange);
/* Reports an HTTP/1.1 answer now; the exchange is detached already. Head and body stand where they were read. */
void http_exchange_report(struct http_engine *engine, struct http_exchange *exchange, struct http_response *response);
void http_exchange_report_ended(struct http_engine *engine); /* the first of the ended */
void http_exchange_due(struct http_engine *engine, struct http_exchange *exchange, int64_t now_ns);
/* The phase it is in. */
enum http_phase http_exchange_phase(const struct http_engine *engine, const struct http_exchange *exchange);
/* Its request may be sent again: takes it from its connection and puts it before all that are blocked. false: it may not.
 */
bool http_exchange_retry(struct http_engine *engine, struct http_exchange *exchange, bool was_refused);

/* ---- request.c ---- */

/* Fills out, bytes, length, closes. */
void http_request_keep(struct http_engine *engine, struct http_exchange *exchange, const struct http_request *request);

/* Fields kept one after the other: two lengths, then name and value. */
void http_fields_put(struct pl_buf *buf, const char *name, size_t name_length, const char *value, size_t value_length);
/* Walks them: *at starts at 0. */
bool http_fields_next(const struct pl_buf *buf, size_t *at, struct http_header *ret_field);
bool http_is_named(struct http_slice name, const char *lower, size_t length); /* lower: begins with a letter */

/* ---- pool.c ---- */

void http_pool_init(struct http_engine *engine);
/* Gives the exchange a connection. false: it has to wait. */
bool http_pool_place(struct http_engine *engine, struct http_exchange *exchange);
void http_pool_block(struct http_engine *engine, struct http_exchange *exchange);
void http_pool_block_first(struct http_engine *engine, struct http_exchange *exchange);
void http_pool_unblock(struct http_engine *engine, struct http_exchange *exchange);
/* Gives connections to the blocked, as far as there are any. */
void http_pool_serve(struct http_engine *engine);
void http_pool_attach(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
void http_pool_detach(struct http_engine *engine, struct http_exchange *exchange);
/* Brings the lists and the state of an open connection in line with its exchanges. */
void http_pool_sort(struct http_engine *engine, struct http_conn *conn);
void http_pool_leave(struct http_engine *engine, struct http_conn *conn); /* it is in no list */
struct http_conn *http_pool_take(struct http_engine *engine);             /* a free place */
void http_pool_give(struct http_engine *engine, struct http_conn *conn);

/* ---- conn.c ---- */

void http_conn_open(struct http_engine *engine, uint32_t origin, struct http_exchange *exchange);
void http_conn_event(struct http_engine *engine, struct http_conn *conn, uint32_t flags);
void http_conn_due(struct http_engine *engine, struct http_conn *conn, int64_t now_ns);
void http_conn_watch(struct http_engine *engine, struct http_conn *conn, bool write);
void http_conn_again(struct http_engine *engine, struct http_conn *conn);
void http_conn_close(struct http_engine *engine, struct http_conn *conn); /* it has no exchange */
void http_conn_count(struct http_engine *engine, struct http_conn *conn); /* what it served since it was counted last */
/* It is broken: its exchanges are sent again or fail. phase HTTP_PHASE_COUNT: the one that each is in. */
void http_conn_fail(struct http_engine *engine, struct http_conn *conn, struct http_fault fault);
struct http_fault http_fault_io(enum http_phase phase, enum wire_io result, int os_errno);
/* Of a connection that could not be read; the phase is each exchange's. */
struct http_fault http_fault_read(const struct http_conn *conn, enum wire_io result);

/* ---- h1.c ---- */

void http_h1_begin(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
void http_h1_event(struct http_engine *engine, struct http_conn *conn);
/* A write moved so much. */
void http_h1_sent(struct http_engine *engine, struct http_conn *conn, enum wire_io result, size_t count);
void http_h1_continue(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
/* After a read: may more stand in TLS? Then it is looked at again before the next wait. */
void http_conn_look_again(struct http_engine *engine, struct http_conn *conn);

/* ---- h2.c ---- */

void http_h2_init(struct http_engine *engine);
void http_h2_release(struct http_engine *engine);
void http_h2_open(struct http_engine *engine, struct http_conn *conn); /* its session, and all that waits for it */
void http_h2_close(struct http_conn *conn);
void http_h2_begin(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
void http_h2_event(struct http_engine *engine, struct http_conn *conn);
void http_h2_cancel(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
void http_h2_continue(struct http_engine *engine, struct http_conn *conn, struct http_exchange *exchange);
void http_h2_flush(struct http_engine *engine); /* what the sessions have to say */
void http_h2_sent(struct http_engine *engine, struct http_conn *conn, enum wire_io result, const char *bytes, size_t length,
                  size_t count);

/* ---- tls.c ---- */

PL_MUST_CHECK enum pl_code http_tls_init(struct http_engine *engine, struct pl_err *err);
void http_tls_release(struct http_engine *engine);
/* There is an origin with TLS: reads the system's certificates, which takes a while, if these are to be trusted. */
void http_tls_trust(struct http_engine *engine);
/* false: OpenSSL could not. */
bool http_tls_begin(struct http_engine *engine, struct http_conn *conn);
enum http_tls_progress { HTTP_TLS_READING, HTTP_TLS_WRITING, HTTP_TLS_DONE, HTTP_TLS_FAILED };
enum http_tls_progress http_tls_advance(struct http_engine *engine, struct http_conn *conn, struct http_fault *ret_fault);
const char *http_tls_reason(const struct http_conn *conn); /* of its last fault, in OpenSSL's words; NULL: none */
/* The server has closed the conversation as TLS wants it; without that what ended may have been cut off. */
bool http_tls_said_goodbye(const struct http_conn *conn);
void http_tls_end(struct http_engine *engine, struct http_conn *conn);
void http_tls_reported(struct http_engine *engine); /* nobody asks for its certificate any more */
void http_tls_forget_session(struct http_origin_entry *origin);

/* ---- gzip.c ---- */

enum http_encoding { HTTP_ENCODING_NONE, HTTP_ENCODING_GZIP, HTTP_ENCODING_DEFLATE, HTTP_ENCODING_OTHER };
enum http_encoding http_encoding_of(const struct http_header *headers, size_t count);
/* Into `decoded` of the engine. false: ret_word and ret_text say why. */
bool http_decode(struct http_engine *engine, enum http_encoding encoding, struct http_slice body, const char **ret_word,
                 const char **ret_text);
void http_decode_release(struct http_engine *engine);

#endif
