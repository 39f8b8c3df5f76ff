/* What a server sends while an exchange is under way, in pieces of any size: HTTP/1.1 responses, or HTTP/2 frames. The
 * first byte says which of both, how large the pieces are (0: all at once) and what is done with the body; the second what
 * was asked for. Whatever comes: the exchange ends once at most, and when the connection ends it has ended. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { H2 = 1, KEEPS = 2, DECODES = 4, PIECE_SHIFT = 3, HEAD = 1, HAS_BODY = 2, WAITS = 4 };

static struct {
    int listener;
    struct http_engine *engines[2];
    int origins[2];
} bench;

static char path[80];

static void path_remove(void)
{
    unlink(path);
}

static void bench_init(void)
{
    snprintf(path, sizeof path, "/tmp/plimsoll-fuzz-%d.sock", (int)getpid());
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    path_remove();
    atexit(path_remove);
    bench.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(bench.listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(bench.listener, 8) != 0)
        abort();
    for (int i = 0; i < 2; i++) {
        struct pl_err err = {0};
        struct http_spec spec = {
            .clients = 1, .http2 = i == 1, .unix_socket = path, .head_most_bytes = 4096, .body_keep_most_bytes = 65536};
        if (http_engine_new(&spec, NULL, &bench.engines[i], &err) != PL_OK)
            abort();
        bench.origins[i] = http_origin(bench.engines[i], false, (struct http_slice){"fuzz.test", 9}, 80);
    }
}

static void on_end(void *context, const struct http_end *end)
{
    int *ends = context;
    ++*ends;
    assert(*ends == 1 && end->client == 0);
    const struct http_response *response = end->response;
    assert((response != NULL) == (end->outcome == HTTP_ANSWERED));
    if (response == NULL) {
        assert(end->code[0] != '\0' && end->text != NULL && strlen(end->text) > 0);
        return;
    }
    assert(response->status >= 200 && response->status <= 999);
    size_t sum = 0; /* every byte that is handed out can be read */
    for (size_t i = 0; i < response->header_count; i++) {
        const struct http_header *header = &response->headers[i];
        for (size_t at = 0; at < header->name.length; at++)
            sum += (unsigned char)header->name.text[at];
        for (size_t at = 0; at < header->value.length; at++)
            sum += (unsigned char)header->value.text[at];
    }
    for (size_t at = 0; at < response->body.length; at++)
        sum += (unsigned char)response->body.text[at];
    assert(sum < SIZE_MAX);
}

/* Lets the engine see what is there; returns when it waits for more. */
static void turn(struct http_engine *engine, int *ends)
{
    for (int i = 0; i < 4; i++)
        http_wait(engine, 0, 16, on_end, ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (bench.engines[0] == NULL)
        bench_init();
    uint8_t how = data[0], what = data[1];
    data += 2;
    size -= 2;
    int is_h2 = (how & H2) != 0, ends = 0;
    struct http_engine *engine = bench.engines[is_h2];
    struct http_request request = {.origin = bench.origins[is_h2],
                                   .method =
                                       (what & HEAD) != 0 ? (struct http_slice){"HEAD", 4} : (struct http_slice){"GET", 3},
                                   .target = {"/", 1},
                                   .keeps_body = (how & KEEPS) != 0,
                                   .decodes = (how & DECODES) != 0,
                                   .has_body = (what & HAS_BODY) != 0,
                                   .body = {"abc", 3},
                                   .expects_continue = (what & WAITS) != 0,
                                   .is_safe = true,
                                   .timeout_ns = INT64_MAX};
    http_submit(engine, 0, &request);
    turn(engine, &ends);
    int peer = accept4(bench.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert(peer >= 0);
    size_t piece = how >> PIECE_SHIFT;
    for (size_t at = 0; at < size && ends == 0;) {
        size_t count = piece == 0 || piece > size - at ? size - at : piece;
        ssize_t sent = send(peer, data + at, count, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
        turn(engine, &ends);
    }
    close(peer);
    turn(engine, &ends);
    if (ends == 0) /* it may have been sent again, or still be waiting to: nobody serves it */
        http_forget(engine, 0);
    for (int again; (again = accept4(bench.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
        close(again);
    turn(engine, &(int){0});
    return 0;
}
