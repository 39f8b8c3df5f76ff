/* An HTTP/1.1 server for tests: one thread with epoll that answers each path in a way of its own, right or wrong, counts
 * what it did and logs when requests came. It is also a program (httpserver_main.c), which the end-to-end tests start.
 *
 *     struct httpserver *server = httpserver_start(&(struct httpserver_spec){0});
 *     ... httpserver_port(server) ... httpserver_requests(server, "/plain") ...
 *     httpserver_stop(server);
 *
 * Paths. HEAD works for each; a request that asks for it has its connection closed after the answer:
 *   /plain                     200, 13 bytes: "hello, world\n"; so do /head, /stall and "/"
 *   /length/N  /big/N          200 with N bytes
 *   /status/N                  that status, a small body where it may have one
 *   /204  /304                 without a body; 304 states a Content-Length
 *   /interim                   100, 102 and 103 before the 200
 *   /chunked                   chunk extensions and trailers, split across packets at awkward places
 *   /eof  /eof10               body to the end of the connection, said by HTTP/1.1 and left unsaid by HTTP/1.0
 *   /close                     "Connection: close" with a length
 *   /idle-close[/MS]           closes without a word behind the answer, or when nothing came for MS ms
 *   /bytewise[/PATH]           PATH's answer, every byte a packet of its own
 *   /two                       an answer with a second one behind it that nobody asked for
 *   /delay/MS[/PATH]           PATH's answer after so long
 *   /slow-body                 ten pieces, 10 ms apart
 *   /hole                      no answer, ever
 *   /drop                      the connection ends in an orderly way without an answer
 *   /drop-reused[/PATH]        as /drop when it is not the connection's first request; else PATH's answer
 *   /reset                     the connection is reset without an answer
 *   /half/head/END /half/body/END   half of it, then END: reset, close or silence
 *   /malformed/WHAT            status, version, length, negative, two-lengths, space, nul, fold, chunk, large, many, noise
 *   /redirect/N  /redirect-to?URL   302, N times or once
 *   /set-cookie[?TEXT]         Set-Cookie: TEXT, or sid=s and a number; /cookies gives the Cookie header back as JSON
 *   /auth                      401 unless it is user:pass by basic authentication
 *   /echo                      method, target, headers, body as JSON
 *   /json                      an object with a number and a token that differ each time
 *   /gzip[/N]  /deflate        encoded when it was asked for; /gzip-bomb: 64 MB of zeros in 64 KB, always
 *   /continue[/refuse|/never]  what happens to "Expect: 100-continue": 100 (as for every path), a final 417, or nothing
 *   /early                     a final 413 before the body was read
 * Not counted and not logged: /_counts (JSON), /_log (a line for each request), /_forget (starts both anew). */
#ifndef PL_TESTS_HTTPSERVER_H
#define PL_TESTS_HTTPSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum httpserver_mode {
    HTTPSERVER_SERVES,
    HTTPSERVER_REFUSES,    /* the port is taken, but nobody listens */
    HTTPSERVER_BLACK_HOLE, /* the backlog is full: connecting never ends */
    HTTPSERVER_RESETS,     /* resets each connection as soon as it is accepted */
    HTTPSERVER_CLOSES,     /* closes it */
    HTTPSERVER_IGNORES     /* accepts it and never reads: with TLS the handshake never ends */
};

struct httpserver_spec {
    enum httpserver_mode mode;
    const char *host;                 /* an address; NULL: 127.0.0.1 */
    uint16_t port;                    /* 0: a free one */
    const char *unix_path;            /* listens there instead; the socket is removed by httpserver_stop; NULL: no */
    const char *cert_path, *key_path; /* TLS with this certificate; NULL: no TLS */
    bool no_tickets;                  /* TLS: no resumption */
    int step_bytes;                   /* every answer in packets of at most so many bytes; 0: no */
    int64_t stall_after_ms, stall_ms; /* so long after the first request it stands still for so long; 0: never */
};

struct httpserver;

struct httpserver *httpserver_start(const struct httpserver_spec *spec); /* aborts when it cannot */
void httpserver_stop(struct httpserver *server);                         /* NULL is fine */
uint16_t httpserver_port(const struct httpserver *server);

/* ---- what it counts; any thread, any time. A path is the target without its query. NULL: all ---- */

int64_t httpserver_requests(struct httpserver *server, const char *path); /* received whole, body included */
int64_t httpserver_answers(struct httpserver *server, const char *path);  /* final answers sent whole and well formed */
int64_t httpserver_by_host(struct httpserver *server, const char *host);  /* requests with this Host header */
int64_t httpserver_by_authorization(struct httpserver *server, const char *authorization);
int64_t httpserver_by_name(struct httpserver *server, const char *name); /* TLS connections with this SNI */

enum httpserver_counter {
    HTTPSERVER_CONNECTIONS,    /* accepted */
    HTTPSERVER_OPEN,           /* open now */
    HTTPSERVER_OPEN_MOST,      /* open at a time at most */
    HTTPSERVER_HANDSHAKES,     /* TLS, full */
    HTTPSERVER_RESUMED,        /* TLS, resumed */
    HTTPSERVER_CONTINUES,      /* 100 sent because it was asked for */
    HTTPSERVER_ABORTED,        /* connections that the client ended in the middle of a request or an answer */
    HTTPSERVER_BODY_BYTES,     /* of request bodies */
    HTTPSERVER_STALL_BEGAN_NS, /* CLOCK_MONOTONIC */
    HTTPSERVER_STALL_ENDED_NS,
    HTTPSERVER_COUNTERS
};
int64_t httpserver_counter(struct httpserver *server, enum httpserver_counter counter);

/* The log: each request in the order in which they came. Read it when nothing is under way any more. */
struct httpserver_arrival {
    int64_t came_ns;     /* CLOCK_MONOTONIC, when its last byte was read */
    int64_t answered_ns; /* when the last byte of its answer was given to the kernel; 0: never */
    int32_t connection, status;
    const char *path; /* stands until httpserver_stop */
};
const struct httpserver_arrival *httpserver_log(struct httpserver *server, size_t *ret_count);

#endif
