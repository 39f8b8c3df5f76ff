/* Between the sources of the HTTP server for tests. */
#ifndef PL_TESTS_HTTPSERVER_INT_H
#define PL_TESTS_HTTPSERVER_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/ssl.h>

#include "httpserver.h"

enum {
    HEAD_MOST = 64 * 1024,
    BODY_KEPT_MOST = 1024 * 1024, /* longer bodies of requests are counted, not kept */
    PIECES_MOST = 128,
    COUNTS_MOST = 1 << 16,
    LOG_MOST = 1 << 21,
    TEXT_MOST = 4096
};

/* cmocka's assertions belong to the test's thread, and the program has none. */
#define must(holds)                                                                                                        \
    do {                                                                                                                   \
        if (!(holds)) {                                                                                                    \
            fprintf(stderr, "httpserver: %s:%d: %s\n", __FILE__, __LINE__, #holds);                                        \
            abort();                                                                                                       \
        }                                                                                                                  \
    } while (0)

/* ---- counts ---- */

enum count_kind { COUNT_PATH = 'p', COUNT_HOST = 'h', COUNT_AUTHORIZATION = 'a', COUNT_NAME = 'n' };
struct count {
    char *key; /* kind and text; NULL: free */
    int64_t requests, answers;
};
/* One writer, the server's thread; the lock is for readers, and for what they must not see half done. */
struct counts {
    pthread_mutex_t lock;
    struct count *table; /* COUNTS_MOST, open addressing */
    size_t used;
    int64_t requests, answers;
    struct httpserver_arrival *log; /* LOG_MOST */
    size_t log_count;
    atomic_llong counters[HTTPSERVER_COUNTERS];
};
void counts_init(struct counts *counts);
void counts_release(struct counts *counts);
void counts_forget(struct counts *counts);
struct count *counts_at(struct counts *counts, enum count_kind kind, const char *text); /* with the lock held */
/* What the paths of the server's own say; the caller frees it. */
char *counts_json(struct counts *counts, size_t *ret_length);
char *counts_log(struct counts *counts, size_t *ret_length);

/* ---- requests ---- */

struct request {
    char method[32], target[TEXT_MOST], path[TEXT_MOST], host[512], authorization[TEXT_MOST], cookie[TEXT_MOST];
    const char *query; /* into target, behind the "?"; "" when there is none */
    bool is_head, closes, accepts_gzip, accepts_deflate, expects_continue, is_chunked;
    int64_t content_length;
    const char *head; /* the bytes */
    size_t head_length;
    const char *body; /* what was kept of it */
    size_t body_length;
};
/* `bytes` hold a whole head. False: no request. */
bool request_read(const char *bytes, size_t length, struct request *request);

/* ---- answers ---- */

/* What is to be done for an answer, one thing after the other. */
enum piece_kind {
    PIECE_BYTES,   /* of `out`: `left` */
    PIECE_FILL,    /* `left` bytes of filling */
    PIECE_WAIT,    /* `left` ns */
    PIECE_DONE,    /* the answer is whole */
    PIECE_IDLE,    /* from now on the connection is closed after `left` ns without a request */
    PIECE_CLOSE,   /* in an orderly way; what comes meanwhile is read away */
    PIECE_END,     /* closed at once */
    PIECE_RESET,   /* the client sees ECONNRESET */
    PIECE_SILENCE, /* nothing more, ever */
};
struct piece {
    enum piece_kind kind;
    int step; /* BYTES: at most so many in one packet; 0: no limit */
    bool begun;
    int64_t left;
};

struct peer {
    int fd, number, served;
    SSL *ssl;
    enum peer_state {
        PEER_HANDSHAKE,
        PEER_READS,   /* waits for a request, or for the rest of one */
        PEER_ANSWERS, /* there are pieces to be dealt with */
        PEER_LINGERS, /* we have ended; what the client says is read away */
        PEER_SILENT
    } state;
    bool wants_out, head_met, doomed;
    char *in, *out;
    size_t in_length, in_size, out_at, out_length, out_size;
    int64_t skip_left; /* of a body that is too long to be kept */
    struct piece *pieces;
    int piece_at, piece_count;
    int64_t due_ns, not_before_ns, idle_until_ns;
    int heap_at; /* -1: no timer */
    struct count *count;
    int64_t log_at; /* -1: not logged */
    struct peer *next_dead, *before, *after;
};

struct httpserver {
    struct httpserver_spec spec;
    int listen_fd, wake_fd, epoll_fd, fillers[8];
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    SSL_CTX *tls;
    struct counts counts;
    int64_t answer_number;
    int peer_number;
    int64_t stall_at_ns; /* 0: not known yet; -1: behind us */
    struct peer *peers, *dead, **heap;
    int heap_count, heap_size;
    struct request request; /* the one at hand */
    char filling[64 * 1024];
};

/* Puts what is to be done for a request into peer->pieces. */
void answer_request(struct httpserver *server, struct peer *peer, const struct request *request);
/* The same at the moment the head has come and a body is to follow; false: nothing to be said before that. */
bool answer_head(struct httpserver *server, struct peer *peer, const struct request *request);
void answer_refusal(struct peer *peer, const char *status); /* and closes */

#endif
