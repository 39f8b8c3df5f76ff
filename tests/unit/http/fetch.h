/* What the tests of the engine share: an engine with its counts, requests as short words, and ends that are kept. */
#ifndef PL_TESTS_UNIT_HTTP_FETCH_H
#define PL_TESTS_UNIT_HTTP_FETCH_H

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http.h"
#include "httpserver.h"

enum { FETCH_CLIENTS = 1024, FETCH_BODY_BYTES = 4096 };

struct fetched {
    int count; /* of ends */
    enum http_outcome outcome;
    enum http_phase phase;
    char code[HTTP_CODE_BYTES], text[400], ip[48], server[64], trailer[64];
    int status, version, interim_count;
    size_t header_count, body_length;
    int64_t raw_bytes, body_bytes, submitted_ns, sent_ns, first_byte_ns, done_ns;
    bool is_new_connection, is_resumed, is_tls;
    char body[FETCH_BODY_BYTES]; /* its beginning */
    struct http_certificate certificate;
    int place; /* among all ends */
};

struct fetcher {
    struct http_engine *engine;
    struct http_stats stats;
    int ended, left; /* left: a client that ends goes on as long as there are some */
    const struct http_request *again;
    struct fetched got[FETCH_CLIENTS];
};

static inline struct http_slice slice(const char *text)
{
    return (struct http_slice){text, strlen(text)};
}

static inline struct fetcher *fetcher_new(const struct http_spec *spec)
{
    struct fetcher *fetcher = calloc(1, sizeof *fetcher);
    struct pl_err err = {0};
    assert_non_null(fetcher);
    if (http_engine_new(spec, NULL, &fetcher->engine, &err) != PL_OK)
        fail_msg("%s", err.what);
    http_stats_init(&fetcher->stats);
    http_count_into(fetcher->engine, &fetcher->stats);
    return fetcher;
}

/* Whatever was done: each answer is one that a connection has served. */
static inline void fetcher_free(struct fetcher *fetcher)
{
    http_count_into(fetcher->engine, &fetcher->stats);
    http_engine_free(fetcher->engine);
    assert_int_equal((int64_t)fetcher->stats.exchanges_per_connection.sum, fetcher->stats.answers);
    http_stats_release(&fetcher->stats);
    free(fetcher);
}

static inline struct http_request request_of(int origin, const char *method, const char *target)
{
    return (struct http_request){.origin = origin,
                                 .method = slice(method),
                                 .target = slice(target),
                                 .keeps_body = true,
                                 .is_safe = strcmp(method, "POST") != 0,
                                 .timeout_ns = 20 * PL_NS_PER_S};
}

static inline int origin_of(struct fetcher *fetcher, const struct httpserver *server)
{
    return http_origin(fetcher->engine, false, slice("127.0.0.1"), httpserver_port(server));
}

static inline void fetched_take_headers(struct fetched *got, const struct http_response *response)
{
    for (size_t i = 0; i < response->header_count; i++) {
        const struct http_header *header = &response->headers[i];
        char *into = header->name.length == 6 && strncasecmp(header->name.text, "server", 6) == 0      ? got->server
                     : header->name.length == 9 && strncasecmp(header->name.text, "x-trailer", 9) == 0 ? got->trailer
                                                                                                       : NULL;
        if (into != NULL)
            snprintf(into, sizeof got->server, "%.*s", (int)header->value.length, header->value.text);
    }
}

static inline void fetched_take(struct fetched *got, const struct http_end *end)
{
    got->count++;
    got->outcome = end->outcome;
    got->phase = end->phase;
    memcpy(got->code, end->code, sizeof got->code);
    snprintf(got->text, sizeof got->text, "%s", end->text != NULL ? end->text : "");
    got->submitted_ns = end->submitted_ns;
    got->sent_ns = end->sent_ns;
    got->first_byte_ns = end->first_byte_ns;
    got->done_ns = end->done_ns;
    const struct http_response *response = end->response;
    if (response == NULL)
        return;
    got->status = response->status;
    got->version = response->version;
    got->interim_count = response->interim_count;
    got->header_count = response->header_count;
    got->raw_bytes = response->raw_bytes;
    got->body_bytes = response->body_bytes;
    got->is_new_connection = response->is_new_connection;
    got->is_resumed = response->is_resumed;
    got->is_tls = response->is_tls;
    got->body_length = response->body.length;
    snprintf(got->body, sizeof got->body, "%.*s", (int)response->body.length, response->body.text);
    snprintf(got->ip, sizeof got->ip, "%.*s", (int)response->ip.length, response->ip.text);
    fetched_take_headers(got, response);
}

static inline void fetcher_on_end(void *context, const struct http_end *end)
{
    struct fetcher *fetcher = context;
    struct fetched *got = &fetcher->got[end->client];
    fetched_take(got, end);
    if (end->response != NULL && end->response->is_tls)
        http_certificate(fetcher->engine, end->client, &got->certificate);
    got->place = fetcher->ended++;
    if (fetcher->left > 0) {
        fetcher->left--;
        http_submit(fetcher->engine, end->client, fetcher->again);
    }
}

/* Waits until `count` have ended in all; fails when that takes longer than anything here should. */
static inline void fetch_wait(struct fetcher *fetcher, int count)
{
    int64_t until_ns = pl_clock_ns() + 60 * PL_NS_PER_S;
    while (fetcher->ended < count && pl_clock_ns() < until_ns)
        http_wait(fetcher->engine, until_ns, 16, fetcher_on_end, fetcher);
    assert_int_equal(fetcher->ended, count);
}

/* Lets the engine live for a while, in which nothing needs to end. */
static inline void fetch_idle(struct fetcher *fetcher, int64_t ns)
{
    int64_t until_ns = pl_clock_ns() + ns;
    while (pl_clock_ns() < until_ns)
        http_wait(fetcher->engine, until_ns, 16, fetcher_on_end, fetcher);
}

static inline const struct fetched *fetch_request(struct fetcher *fetcher, uint32_t client,
                                                  const struct http_request *request)
{
    http_submit(fetcher->engine, client, request);
    fetch_wait(fetcher, fetcher->ended + 1);
    return &fetcher->got[client];
}

static inline const struct fetched *fetch(struct fetcher *fetcher, uint32_t client, int origin, const char *method,
                                          const char *target)
{
    struct http_request request = request_of(origin, method, target);
    return fetch_request(fetcher, client, &request);
}

/* `count` requests, each client's next one when its last has ended. */
static inline void fetch_many(struct fetcher *fetcher, int clients, int count, const struct http_request *request)
{
    int before = fetcher->ended;
    fetcher->again = request;
    fetcher->left = count - clients;
    for (int i = 0; i < clients; i++)
        http_submit(fetcher->engine, (uint32_t)i, request);
    fetch_wait(fetcher, before + count);
}

static inline void assert_answered(const struct fetched *got, int status)
{
    if (got->outcome != HTTP_ANSWERED)
        fail_msg("%s: %s", got->code, got->text);
    assert_int_equal(got->status, status);
}

static inline void assert_failed(const struct fetched *got, const char *code)
{
    assert_int_equal(got->outcome, HTTP_FAILED);
    assert_string_equal(got->code, code);
    assert_true(got->text[0] != '\0');
}

#endif
