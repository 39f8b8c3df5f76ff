#include "httpserver.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "httpserver_int.h"

enum { EVENTS = 256, LINGER_MS = 2000, STEP_GAP_NS = 20000 };
#define MS INT64_C(1000000)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void count_up(struct httpserver *server, enum httpserver_counter counter, int64_t by)
{
    atomic_fetch_add(&server->counts.counters[counter], by);
}

/* ---- timers: a heap of peers by due_ns, one timer each ---- */

static void heap_put(struct httpserver *server, int at, struct peer *peer)
{
    server->heap[at] = peer;
    peer->heap_at = at;
}

static void heap_sift(struct httpserver *server, int at)
{
    struct peer *peer = server->heap[at];
    for (; at > 0 && server->heap[(at - 1) / 2]->due_ns > peer->due_ns; at = (at - 1) / 2)
        heap_put(server, at, server->heap[(at - 1) / 2]);
    for (int child = 2 * at + 1; child < server->heap_count; child = 2 * at + 1) {
        if (child + 1 < server->heap_count && server->heap[child + 1]->due_ns < server->heap[child]->due_ns)
            child++;
        if (server->heap[child]->due_ns >= peer->due_ns)
            break;
        heap_put(server, at, server->heap[child]);
        at = child;
    }
    heap_put(server, at, peer);
}

static void timer_clear(struct httpserver *server, struct peer *peer)
{
    int at = peer->heap_at;
    if (at < 0)
        return;
    peer->heap_at = -1;
    struct peer *last = server->heap[--server->heap_count];
    if (last != peer) {
        heap_put(server, at, last);
        heap_sift(server, at);
    }
}

static void timer_set(struct httpserver *server, struct peer *peer, int64_t due_ns)
{
    timer_clear(server, peer);
    if (server->heap_count == server->heap_size) {
        server->heap_size = server->heap_size == 0 ? 256 : server->heap_size * 2;
        server->heap = realloc(server->heap, (size_t)server->heap_size * sizeof *server->heap);
        must(server->heap != NULL);
    }
    peer->due_ns = due_ns;
    server->heap[server->heap_count] = peer;
    peer->heap_at = server->heap_count++;
    heap_sift(server, peer->heap_at);
}

/* ---- peers ---- */

/* Events of this turn may still speak of it: its memory goes when the turn is over. */
static void peer_end(struct httpserver *server, struct peer *peer)
{
    if (peer->doomed)
        return;
    bool in_request = peer->state == PEER_READS && peer->in_length > 0;
    if (peer->state == PEER_ANSWERS || in_request)
        count_up(server, HTTPSERVER_ABORTED, 1);
    peer->doomed = true;
    timer_clear(server, peer);
    SSL_free(peer->ssl);
    close(peer->fd);
    count_up(server, HTTPSERVER_OPEN, -1);
    *(peer->before != NULL ? &peer->before->after : &server->peers) = peer->after;
    if (peer->after != NULL)
        peer->after->before = peer->before;
    peer->next_dead = server->dead;
    server->dead = peer;
}

static void peers_bury(struct httpserver *server)
{
    for (struct peer *peer = server->dead, *next; peer != NULL; peer = next) {
        next = peer->next_dead;
        free(peer->in);
        free(peer->out);
        free(peer->pieces);
        free(peer);
    }
    server->dead = NULL;
}

/* The connection ends by our own wish. */
static void peer_finish(struct httpserver *server, struct peer *peer)
{
    peer->state = PEER_SILENT; /* nothing was aborted */
    peer_end(server, peer);
}

static void peer_reset(struct httpserver *server, struct peer *peer)
{
    setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    peer_finish(server, peer);
}

static void peer_watch(struct httpserver *server, struct peer *peer, bool wants_out)
{
    if (peer->wants_out == wants_out)
        return;
    peer->wants_out = wants_out;
    struct epoll_event event = {.events = EPOLLIN | (wants_out ? (uint32_t)EPOLLOUT : 0), .data.ptr = peer};
    must(epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, peer->fd, &event) == 0);
}

/* Ends our side. A close with unread bytes would be a reset, so what still comes is read away. */
static void peer_linger(struct httpserver *server, struct peer *peer)
{
    if (peer->ssl != NULL)
        SSL_shutdown(peer->ssl);
    ERR_clear_error();
    shutdown(peer->fd, SHUT_WR);
    peer->state = PEER_LINGERS;
    peer_watch(server, peer, false);
    timer_set(server, peer, now_ns() + LINGER_MS * MS);
}

enum moved { MOVED, MOVED_AGAIN, MOVED_END };

static enum moved tls_moved(const struct peer *peer, int result, size_t *ret_count)
{
    int why = SSL_get_error(peer->ssl, result);
    ERR_clear_error();
    *ret_count = 0;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? MOVED_AGAIN : MOVED_END;
}

static enum moved peer_recv(const struct peer *peer, char *bytes, size_t size, size_t *ret_count)
{
    if (peer->ssl != NULL) {
        int result = SSL_read_ex(peer->ssl, bytes, size, ret_count);
        return result == 1 ? MOVED : tls_moved(peer, result, ret_count);
    }
    ssize_t count = recv(peer->fd, bytes, size, MSG_DONTWAIT);
    *ret_count = count > 0 ? (size_t)count : 0;
    if (count > 0)
        return MOVED;
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? MOVED_AGAIN : MOVED_END;
}

static enum moved peer_send(const struct peer *peer, const char *bytes, size_t size, size_t *ret_count)
{
    if (peer->ssl != NULL) {
        int result = SSL_write_ex(peer->ssl, bytes, size, ret_count);
        return result == 1 ? MOVED : tls_moved(peer, result, ret_count);
    }
    ssize_t count = send(peer->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    *ret_count = count > 0 ? (size_t)count : 0;
    if (count > 0)
        return MOVED;
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? MOVED_AGAIN : MOVED_END;
}

/* ---- saying ---- */

/* True: the piece is through. */
static bool piece_send(struct httpserver *server, struct peer *peer, struct piece *piece)
{
    while (piece->left > 0) {
        if (piece->step > 0 && now_ns() < peer->not_before_ns) {
            timer_set(server, peer, peer->not_before_ns);
            return false;
        }
        size_t most = piece->kind == PIECE_FILL ? sizeof server->filling : (size_t)piece->left;
        size_t size = (size_t)piece->left < most ? (size_t)piece->left : most, count;
        if (piece->step > 0 && size > (size_t)piece->step)
            size = (size_t)piece->step;
        enum moved moved =
            peer_send(peer, piece->kind == PIECE_FILL ? server->filling : peer->out + peer->out_at, size, &count);
        if (moved == MOVED_END)
            peer_end(server, peer);
        if (moved == MOVED_AGAIN)
            peer_watch(server, peer, true);
        if (moved != MOVED)
            return false;
        piece->left -= (int64_t)count;
        if (piece->kind == PIECE_BYTES)
            peer->out_at += count;
        if (piece->step > 0) /* so that the client may have read it: else the kernel makes one packet of them again */
            peer->not_before_ns = now_ns() + STEP_GAP_NS;
    }
    return true;
}

static bool piece_wait(struct httpserver *server, struct peer *peer, struct piece *piece)
{
    if (!piece->begun) {
        piece->begun = true;
        piece->left += now_ns();
    }
    if (now_ns() >= piece->left)
        return true;
    timer_set(server, peer, piece->left);
    return false;
}

/* With the lock held. */
static void piece_done(struct httpserver *server, struct peer *peer)
{
    if (peer->count == NULL)
        return; /* a path of the server's own, or done with its last bytes */
    peer->count->answers++;
    server->counts.answers++;
    if (peer->log_at >= 0)
        server->counts.log[peer->log_at].answered_ns = now_ns();
    peer->count = NULL;
}

/* Who has read the answer finds it counted: its last bytes go while the counts are locked. */
static bool piece_send_counted(struct httpserver *server, struct peer *peer, struct piece *piece)
{
    bool is_last = piece + 1 < peer->pieces + peer->piece_count && piece[1].kind == PIECE_DONE;
    if (!is_last)
        return piece_send(server, peer, piece);
    pthread_mutex_lock(&server->counts.lock);
    bool is_through = piece_send(server, peer, piece);
    if (is_through)
        piece_done(server, peer);
    pthread_mutex_unlock(&server->counts.lock);
    return is_through;
}

/* True: go on with the next one. */
static bool piece_meet(struct httpserver *server, struct peer *peer, struct piece *piece)
{
    switch (piece->kind) {
    case PIECE_BYTES:
    case PIECE_FILL:
        return piece_send_counted(server, peer, piece);
    case PIECE_WAIT:
        return piece_wait(server, peer, piece);
    case PIECE_DONE:
        pthread_mutex_lock(&server->counts.lock);
        piece_done(server, peer);
        pthread_mutex_unlock(&server->counts.lock);
        return true;
    case PIECE_IDLE:
        peer->idle_until_ns = now_ns() + piece->left;
        timer_set(server, peer, peer->idle_until_ns);
        return true;
    case PIECE_CLOSE:
        peer_linger(server, peer);
        return false;
    case PIECE_END:
        peer_finish(server, peer);
        return false;
    case PIECE_RESET:
        peer_reset(server, peer);
        return false;
    case PIECE_SILENCE:
        peer->state = PEER_SILENT;
        return false;
    }
    return false;
}

/* True: all that there was to say has been said, and the peer lives. */
static bool peer_say(struct httpserver *server, struct peer *peer)
{
    while (peer->piece_at < peer->piece_count) {
        if (!piece_meet(server, peer, &peer->pieces[peer->piece_at]))
            return false;
        peer->piece_at++;
    }
    peer_watch(server, peer, false);
    peer->piece_at = peer->piece_count = 0;
    peer->out_at = peer->out_length = 0;
    if (peer->state == PEER_ANSWERS)
        peer->state = PEER_READS;
    return true;
}

/* ---- hearing ---- */

static void request_log(struct httpserver *server, struct peer *peer, const struct request *request, int64_t came_ns)
{
    struct counts *counts = &server->counts;
    peer->log_at = -1;
    peer->count = NULL;
    if (strncmp(request->path, "/_", 2) == 0)
        return;
    if (server->stall_at_ns == 0 && server->spec.stall_ms > 0)
        server->stall_at_ns = came_ns + server->spec.stall_after_ms * MS;
    pthread_mutex_lock(&counts->lock);
    peer->count = counts_at(counts, COUNT_PATH, request->path);
    peer->count->requests++;
    counts->requests++;
    server->answer_number++;
    counts_at(counts, COUNT_HOST, request->host)->requests++;
    if (request->authorization[0] != '\0')
        counts_at(counts, COUNT_AUTHORIZATION, request->authorization)->requests++;
    if (counts->log_count < LOG_MOST) {
        peer->log_at = (int64_t)counts->log_count;
        counts->log[counts->log_count++] =
            (struct httpserver_arrival){.came_ns = came_ns, .connection = peer->number, .path = peer->count->key + 1};
    }
    pthread_mutex_unlock(&counts->lock);
    count_up(server, HTTPSERVER_BODY_BYTES, request->content_length);
}

static void peer_drop_input(struct peer *peer, size_t from, size_t length)
{
    memmove(peer->in + from, peer->in + from + length, peer->in_length - from - length);
    peer->in_length -= length;
}

static void peer_refuse(struct peer *peer, const char *status)
{
    answer_refusal(peer, status);
    peer->state = PEER_ANSWERS;
    peer->in_length = 0;
}

/* True: a request was answered, or refused; false: more must come. */
static bool peer_meet_request(struct httpserver *server, struct peer *peer, int64_t came_ns)
{
    struct request *request = &server->request;
    const char *end = peer->in_length > 0 ? memmem(peer->in, peer->in_length, "\r\n\r\n", 4) : NULL;
    if (end == NULL) {
        if (peer->in_length > HEAD_MOST)
            peer_refuse(peer, "431 Request Header Fields Too Large");
        return peer->state == PEER_ANSWERS;
    }
    size_t head_length = (size_t)(end - peer->in) + 4;
    if (!request_read(peer->in, head_length, request) || request->is_chunked) {
        peer_refuse(peer, request->is_chunked ? "501 Not Implemented" : "400 Bad Request");
        return true;
    }
    bool is_kept = request->content_length <= BODY_KEPT_MOST;
    if (!peer->head_met) {
        peer->head_met = true;
        peer->idle_until_ns = 0;
        peer->skip_left = is_kept ? 0 : request->content_length;
        int pieces = peer->piece_count;
        if (answer_head(server, peer, request) && peer->pieces[peer->piece_count - 1].kind == PIECE_CLOSE) {
            must(pieces == 0);
            request_log(server, peer, request, came_ns);
            peer->state = PEER_ANSWERS;
            peer->in_length = 0;
            return true;
        }
    }
    size_t behind = peer->in_length - head_length, body = is_kept ? (size_t)request->content_length : 0;
    if (peer->skip_left > 0) {
        size_t skip = (int64_t)behind < peer->skip_left ? behind : (size_t)peer->skip_left;
        peer_drop_input(peer, head_length, skip);
        peer->skip_left -= (int64_t)skip;
    }
    if (peer->skip_left > 0 || behind < body) {
        peer_say(server, peer); /* a 100, perhaps */
        return false;
    }
    request->body = peer->in + head_length;
    request->body_length = body;
    peer->served++;
    request_log(server, peer, request, came_ns);
    peer->state = PEER_ANSWERS;
    peer->head_met = false;
    answer_request(server, peer, request);
    peer_drop_input(peer, 0, head_length + body);
    return true;
}

/* Answers what has come, one request after the other, as long as the answers go out at once. */
static void peer_meet(struct httpserver *server, struct peer *peer, int64_t came_ns)
{
    while (!peer->doomed && peer->state == PEER_READS && peer_meet_request(server, peer, came_ns))
        if (!peer_say(server, peer))
            return;
}

static void peer_read(struct httpserver *server, struct peer *peer)
{
    enum moved moved = MOVED;
    while (moved == MOVED && !peer->doomed && peer->in_length <= (size_t)2 * BODY_KEPT_MOST) {
        if (peer->in_size - peer->in_length < 4096) {
            peer->in_size = peer->in_size == 0 ? 8192 : peer->in_size * 2;
            peer->in = realloc(peer->in, peer->in_size);
            must(peer->in != NULL);
        }
        size_t count;
        moved = peer_recv(peer, peer->in + peer->in_length, peer->in_size - peer->in_length, &count);
        peer->in_length += count;
        if (peer->state == PEER_LINGERS || peer->state == PEER_SILENT)
            peer->in_length = 0;
        if (peer->state == PEER_READS && count > 0)
            peer_meet(server, peer, now_ns());
    }
    if (moved == MOVED_END && !peer->doomed)
        peer_end(server, peer);
}

static void peer_shake(struct httpserver *server, struct peer *peer)
{
    int result = SSL_accept(peer->ssl);
    if (result != 1) {
        size_t none;
        if (tls_moved(peer, result, &none) == MOVED_END)
            peer_finish(server, peer);
        return;
    }
    count_up(server, SSL_session_reused(peer->ssl) ? HTTPSERVER_RESUMED : HTTPSERVER_HANDSHAKES, 1);
    const char *name = SSL_get_servername(peer->ssl, TLSEXT_NAMETYPE_host_name);
    if (name != NULL) {
        pthread_mutex_lock(&server->counts.lock);
        counts_at(&server->counts, COUNT_NAME, name)->requests++;
        pthread_mutex_unlock(&server->counts.lock);
    }
    peer->state = PEER_READS;
}

static void peer_event(struct httpserver *server, struct peer *peer)
{
    if (peer->doomed)
        return;
    if (peer->state == PEER_HANDSHAKE)
        peer_shake(server, peer);
    if (peer->doomed || peer->state == PEER_HANDSHAKE)
        return;
    if (peer->piece_at < peer->piece_count && peer->state != PEER_LINGERS && peer->state != PEER_SILENT &&
        peer->wants_out && peer_say(server, peer))
        peer_meet(server, peer, now_ns());
    if (!peer->doomed)
        peer_read(server, peer);
}

static void peer_timer(struct httpserver *server, struct peer *peer)
{
    if (peer->state == PEER_LINGERS) {
        peer_finish(server, peer);
    } else if (peer->piece_at < peer->piece_count) {
        if (peer_say(server, peer))
            peer_meet(server, peer, now_ns());
    } else if (peer->state == PEER_READS && peer->idle_until_ns > 0 && peer->in_length == 0) {
        peer_finish(server, peer);
    }
}

static void peer_accept(struct httpserver *server)
{
    int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct peer *peer = calloc(1, sizeof *peer);
    must(peer != NULL);
    *peer = (struct peer){.fd = fd,
                          .number = server->peer_number++,
                          .heap_at = -1,
                          .log_at = -1,
                          .state = PEER_READS,
                          .after = server->peers};
    if (server->peers != NULL)
        server->peers->before = peer;
    server->peers = peer;
    count_up(server, HTTPSERVER_CONNECTIONS, 1);
    count_up(server, HTTPSERVER_OPEN, 1);
    if (httpserver_counter(server, HTTPSERVER_OPEN) > httpserver_counter(server, HTTPSERVER_OPEN_MOST))
        atomic_store(&server->counts.counters[HTTPSERVER_OPEN_MOST], httpserver_counter(server, HTTPSERVER_OPEN));
    if (server->spec.mode == HTTPSERVER_RESETS)
        peer_reset(server, peer);
    else if (server->spec.mode == HTTPSERVER_CLOSES)
        peer_finish(server, peer);
    if (peer->doomed)
        return;
    if (server->spec.mode == HTTPSERVER_IGNORES) {
        peer->state = PEER_SILENT;
        return;
    }
    if (server->tls != NULL) {
        peer->ssl = SSL_new(server->tls);
        must(peer->ssl != NULL && SSL_set_fd(peer->ssl, fd) == 1);
        peer->state = PEER_HANDSHAKE;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    must(epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
}

/* ---- the loop ---- */

static void server_stall(struct httpserver *server)
{
    int64_t began_ns = now_ns(), end_ns = began_ns + server->spec.stall_ms * MS;
    atomic_store(&server->counts.counters[HTTPSERVER_STALL_BEGAN_NS], began_ns);
    struct timespec end = {.tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
    server->stall_at_ns = -1;
    atomic_store(&server->counts.counters[HTTPSERVER_STALL_ENDED_NS], now_ns());
}

static int server_wait(struct httpserver *server, struct epoll_event *events)
{
    int64_t until_ns = server->heap_count > 0 ? server->heap[0]->due_ns : INT64_MAX;
    if (server->stall_at_ns > 0 && server->stall_at_ns < until_ns)
        until_ns = server->stall_at_ns;
    int64_t wait_ns = until_ns == INT64_MAX ? 0 : until_ns - now_ns();
    wait_ns = wait_ns < 0 ? 0 : wait_ns;
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    return epoll_pwait2(server->epoll_fd, events, EVENTS, until_ns == INT64_MAX ? NULL : &wait, NULL);
}

static void *server_run(void *arg)
{
    struct httpserver *server = arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL); /* OpenSSL writes without MSG_NOSIGNAL */
    struct epoll_event events[EVENTS];
    while (!atomic_load(&server->stop)) {
        int count = server_wait(server, events);
        if (server->stall_at_ns > 0 && now_ns() >= server->stall_at_ns)
            server_stall(server);
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr == server)
                peer_accept(server);
            else if (events[i].data.ptr != NULL)
                peer_event(server, events[i].data.ptr);
        for (int64_t now = now_ns(); server->heap_count > 0 && server->heap[0]->due_ns <= now;) {
            struct peer *peer = server->heap[0];
            timer_clear(server, peer);
            peer_timer(server, peer);
        }
        peers_bury(server);
    }
    return NULL;
}

/* ---- starting and stopping ---- */

static int alpn_choose(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in,
                       unsigned int in_length, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl;
    (void)context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, length, ours, sizeof ours - 1, in, in_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void start_tls(struct httpserver *server)
{
    server->tls = SSL_CTX_new(TLS_server_method());
    must(server->tls != NULL);
    must(SSL_CTX_use_certificate_chain_file(server->tls, server->spec.cert_path) == 1);
    must(SSL_CTX_use_PrivateKey_file(server->tls, server->spec.key_path, SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_mode(server->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(server->tls, alpn_choose, NULL);
    if (server->spec.no_tickets) {
        SSL_CTX_set_num_tickets(server->tls, 0);
        SSL_CTX_set_options(server->tls, SSL_OP_NO_TICKET);
        SSL_CTX_set_session_cache_mode(server->tls, SSL_SESS_CACHE_OFF);
    }
}

/* A backlog of one, and more connections than that which nobody takes: what comes then gets no answer to its SYN. */
static void start_black_hole(struct httpserver *server, const struct sockaddr *address, socklen_t length)
{
    must(listen(server->listen_fd, 0) == 0);
    for (size_t i = 0; i < sizeof server->fillers / sizeof server->fillers[0]; i++) {
        server->fillers[i] = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        must(server->fillers[i] >= 0);
        must(connect(server->fillers[i], address, length) == 0 || errno == EINPROGRESS || errno == EAGAIN);
    }
    nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL); /* the loopback's handshakes are through by then */
}

static void start_listening(struct httpserver *server)
{
    struct sockaddr_storage address = {0};
    socklen_t length;
    if (server->spec.unix_path != NULL) {
        struct sockaddr_un *path = (struct sockaddr_un *)&address;
        path->sun_family = AF_UNIX;
        must(strlen(server->spec.unix_path) < sizeof path->sun_path);
        strcpy(path->sun_path, server->spec.unix_path);
        length = sizeof *path;
    } else {
        struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
        char port[8];
        snprintf(port, sizeof port, "%u", server->spec.port);
        must(getaddrinfo(server->spec.host != NULL ? server->spec.host : "127.0.0.1", port, &hints, &found) == 0);
        memcpy(&address, found->ai_addr, found->ai_addrlen);
        length = found->ai_addrlen;
        freeaddrinfo(found);
    }
    server->listen_fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(server->listen_fd >= 0);
    setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    must(bind(server->listen_fd, (struct sockaddr *)&address, length) == 0);
    socklen_t size = sizeof address;
    must(getsockname(server->listen_fd, (struct sockaddr *)&address, &size) == 0);
    if (address.ss_family == AF_INET)
        server->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6)
        server->port = ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    if (server->spec.mode == HTTPSERVER_BLACK_HOLE)
        start_black_hole(server, (struct sockaddr *)&address, length);
    else if (server->spec.mode != HTTPSERVER_REFUSES)
        must(listen(server->listen_fd, 4096) == 0);
}

struct httpserver *httpserver_start(const struct httpserver_spec *spec)
{
    struct httpserver *server = calloc(1, sizeof *server);
    must(server != NULL);
    server->spec = *spec;
    memset(server->fillers, -1, sizeof server->fillers);
    memset(server->filling, 'x', sizeof server->filling);
    counts_init(&server->counts);
    if (spec->cert_path != NULL)
        start_tls(server);
    start_listening(server);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC);
    must(server->epoll_fd >= 0 && server->wake_fd >= 0);
    struct epoll_event wake = {.events = EPOLLIN}, accepts = {.events = EPOLLIN, .data.ptr = server};
    must(epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->wake_fd, &wake) == 0);
    if (spec->mode != HTTPSERVER_REFUSES && spec->mode != HTTPSERVER_BLACK_HOLE)
        must(epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->listen_fd, &accepts) == 0);
    must(pthread_create(&server->thread, NULL, server_run, server) == 0);
    return server;
}

void httpserver_stop(struct httpserver *server)
{
    if (server == NULL)
        return;
    atomic_store(&server->stop, true);
    uint64_t one = 1;
    must(write(server->wake_fd, &one, sizeof one) == sizeof one);
    pthread_join(server->thread, NULL);
    while (server->peers != NULL)
        peer_end(server, server->peers);
    peers_bury(server);
    for (size_t i = 0; i < sizeof server->fillers / sizeof server->fillers[0]; i++)
        if (server->fillers[i] >= 0)
            close(server->fillers[i]);
    close(server->listen_fd);
    close(server->wake_fd);
    close(server->epoll_fd);
    if (server->spec.unix_path != NULL)
        unlink(server->spec.unix_path);
    SSL_CTX_free(server->tls);
    counts_release(&server->counts);
    free(server->heap);
    free(server);
}

/* ---- looking ---- */

uint16_t httpserver_port(const struct httpserver *server)
{
    return server->port;
}

static struct count count_of(struct httpserver *server, enum count_kind kind, const char *text)
{
    pthread_mutex_lock(&server->counts.lock);
    struct count count = {.requests = server->counts.requests, .answers = server->counts.answers};
    if (text != NULL)
        count = *counts_at(&server->counts, kind, text);
    pthread_mutex_unlock(&server->counts.lock);
    return count;
}

int64_t httpserver_requests(struct httpserver *server, const char *path)
{
    return count_of(server, COUNT_PATH, path).requests;
}

int64_t httpserver_answers(struct httpserver *server, const char *path)
{
    return count_of(server, COUNT_PATH, path).answers;
}

int64_t httpserver_by_host(struct httpserver *server, const char *host)
{
    return count_of(server, COUNT_HOST, host).requests;
}

int64_t httpserver_by_authorization(struct httpserver *server, const char *authorization)
{
    return count_of(server, COUNT_AUTHORIZATION, authorization).requests;
}

int64_t httpserver_by_name(struct httpserver *server, const char *name)
{
    return count_of(server, COUNT_NAME, name).requests;
}

int64_t httpserver_counter(struct httpserver *server, enum httpserver_counter counter)
{
    return atomic_load(&server->counts.counters[counter]);
}

const struct httpserver_arrival *httpserver_log(struct httpserver *server, size_t *ret_count)
{
    pthread_mutex_lock(&server->counts.lock);
    *ret_count = server->counts.log_count;
    pthread_mutex_unlock(&server->counts.lock);
    return server->counts.log;
}
