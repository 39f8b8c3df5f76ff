/* A plan of an HTTP server that says everything that can be said, secrets included. */
#ifndef PL_TESTS_HTTP_PLAN_H
#define PL_TESTS_HTTP_PLAN_H

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"

static const char *const http_builtins[] = {"tpcb-like", NULL};

static const char http_plan_text[] =
    "\xef\xbb\xbfstudy: Gr\xc3\xb6\xc3\x9f"
    "e\n"
    "services:\n  web:\n    kind: attach\n    url: http://bob:hunter2@127.0.0.1:8080/api   # here\n"
    "    http: {http2: yes, keep_alive: no, max_time: 500ms, ca_file: ca.pem}\n"
    "scripts: {browse: get.hurl, buy: get.hurl}\n"
    "variables: {user: \"random(1, 9)\", password: hunter3, nothing: , api_token: \"a\\\"b\"}\n"
    "feeds: {users: {file: users.csv, order: unique}, words: {file: /w.jsonl}}\n"
    "tenants:\n  count: 1_000\n  url: https://eve:hunter4@t{n}.example.org\n  user: u{n}:hunter5\n"
    "  header.X-Shop: \"{n:04}\"\n  header.Authorization: >-\n    Bearer hunter6\n  weight: 2\n"
    "  variables: {shop: \"s{n}\"}\n"
    "stages:\n  - {kind: rate, rate: 10/s, session: 5, think: 1s, over: {script: [browse, {browse: 3, buy: 1}]}}\n";

/* A folder with the file that the plan's scripts name. */
struct http_place {
    struct pl_arena *arena;
    char folder[32];
    const char *script, *plan;
};

static inline void http_place_make(struct http_place *place)
{
    place->arena = pl_arena_new();
    snprintf(place->folder, sizeof place->folder, "/tmp/plan-http-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    place->script = pl_format(place->arena, "%s/get.hurl", place->folder);
    place->plan = pl_format(place->arena, "%s/p.yaml", place->folder);
    FILE *file = fopen(place->script, "w");
    assert_non_null(file);
    fprintf(file, "GET /\n");
    fclose(file);
}

static inline void http_place_remove(struct http_place *place)
{
    unlink(place->script);
    rmdir(place->folder);
    pl_arena_free(place->arena);
}

static inline struct plan *http_place_parse(struct http_place *place, const char *text)
{
    struct pl_err err = {0};
    struct plan *plan = NULL;
    char message[1100];
    if (plan_parse(place->plan, text, strlen(text), http_builtins, place->arena, &plan, &err) != PL_OK)
        fail_msg("%s", pl_err_text(&err, message, sizeof message));
    return plan;
}

#endif
