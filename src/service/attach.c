/* An HTTP server that somebody else has started: nothing of it is started, set up, watched or stopped here. */
#include "service/attach_int.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/uri.h"

#include "base/ban.h"

/* Whether its host is known, and whether it answers, is for the load to find: both may come up later, and go away in
 * between. Then they are faults of the operations, each with its phase. */
static enum pl_code attach_start(struct service_state *state, const struct service_state *source, const volatile int *stop,
                                 struct pl_err *err)
{
    (void)source, (void)stop;
    struct uri uri;
    size_t at = 0;
    const char *url = state->service.plan->url, *wrong = uri_parse(url, strlen(url), &uri, &at);
    return wrong == NULL ? PL_OK : pl_err_set(err, PL_INPUT, "its URL is wrong: %s", wrong);
}

static enum pl_code attach_start_again(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    return attach_start(state, NULL, stop, err);
}

static enum pl_code attach_load_data(struct service_state *state, void (*progress)(void *ctx, double done), void *ctx,
                                     const volatile int *stop, struct pl_err *err)
{
    (void)state, (void)progress, (void)ctx, (void)stop, (void)err;
    return PL_OK;
}

static enum pl_code attach_tidy(struct service_state *state, const volatile int *stop, struct pl_err *err)
{
    (void)state, (void)stop, (void)err;
    return PL_OK;
}

/* "http://h:8080/api" without "user:password@". */
static const char *url_shown(const char *url, struct pl_arena *arena)
{
    struct uri uri;
    size_t at = 0;
    if (uri_parse(url, strlen(url), &uri, &at) != NULL)
        return "?";
    return pl_format(arena, "%s://%.*s%.*s", uri.is_tls ? "https" : "http", (int)uri.authority_length, uri.authority,
                     (int)uri.path_length, uri.path);
}

/* Whether an address is one of this machine's: then a socket can be bound to it. */
static bool is_here(const struct addrinfo *address)
{
    struct sockaddr_storage any;
    if (address->ai_addrlen > sizeof any)
        return false;
    memcpy(&any, address->ai_addr, address->ai_addrlen);
    if (address->ai_family == AF_INET)
        ((struct sockaddr_in *)&any)->sin_port = 0;
    else if (address->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)&any)->sin6_port = 0;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool here = fd >= 0 && bind(fd, (struct sockaddr *)&any, address->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    return here;
}

/* "this machine", or the host of its URL. */
static const char *place_of(const char *url, struct pl_arena *arena)
{
    struct uri uri;
    size_t at = 0;
    if (uri_parse(url, strlen(url), &uri, &at) != NULL)
        return "?";
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *host = pl_strndup(arena, uri.host, uri.host_length);
    int status = getaddrinfo(host, NULL, &wanted, &found);
    if (status != 0)
        return pl_format(arena, "unknown: the host \"%.200s\" cannot be found: %s", host, gai_strerror(status));
    const char *place = is_here(found) ? "this machine" : host;
    freeaddrinfo(found);
    return place;
}

/* How requests are made where a stage does not say otherwise: as written in the plan, or by default. */
static void push_options(const struct plan_http *http, struct service_facts *facts)
{
    const struct {
        const char *name;
        bool value;
    } choices[] = {{"http.http2", http->http2},
                   {"http.keep_alive", !http->no_keep_alive},
                   {"http.insecure", http->insecure},
                   {"http.follow", http->follow},
                   {"http.compressed", http->compressed}};
    const struct {
        const char *name, *unit;
        int64_t value;
    } numbers[] = {{"http.streams", "count", http->streams},
                   {"http.connections", "count", http->connections},
                   {"http.connect_timeout", "ns", http->connect_timeout_ns},
                   {"http.max_time", "ns", http->max_time_ns}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        service_push_fact(facts, choices[i].name, choices[i].value ? "yes" : "no", "", "plan");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        service_push_fact(facts, numbers[i].name, pl_format(facts->arena, "%lld", (long long)numbers[i].value),
                          numbers[i].unit, "plan");
    if (http->ca_file != NULL)
        service_push_fact(facts, "http.ca_file", http->ca_file, "", "plan");
}

static enum pl_code attach_facts(struct service_state *state, struct service_facts *facts, const volatile int *stop,
                                 struct pl_err *err)
{
    (void)stop, (void)err;
    service_push_fact(facts, "place", place_of(state->service.plan->url, facts->arena), "",
                      "whether a socket can be bound to its address");
    service_push_fact(facts, "url", url_shown(state->service.plan->url, facts->arena), "", "plan");
    push_options(&state->service.plan->http, facts);
    return PL_OK;
}

static void attach_conninfo(const struct service_state *state, const char *database, struct pl_buf *out)
{
    (void)state, (void)database, (void)out;
}

const struct service_kind service_attach = {
    .name = "attach",
    .is_attached = true,
    .start = attach_start,
    .start_again = attach_start_again,
    .load_data = attach_load_data,
    .tidy = attach_tidy,
    .facts = attach_facts,
    .conninfo = attach_conninfo,
};
