/* An HTTP server that somebody else has started: nothing of it is started, set up, watched or stopped here. */
#include "service/attach_int.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/uri.h"

#include "base/ban.h"

/* The host of a URL and its addresses, which the caller frees. */
static enum pl_code attach_find(const char *url, struct pl_arena *arena, const char **ret_host, struct addrinfo **ret_found,
                                struct pl_err *err)
{
    struct uri uri;
    size_t at = 0;
    const char *wrong = uri_parse(url, strlen(url), &uri, &at);
    if (wrong != NULL)
        return pl_err_set(err, PL_INPUT, "its URL is wrong: %s", wrong);
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    *ret_host = pl_strndup(arena, uri.host, uri.host_length);
    int status = getaddrinfo(*ret_host, NULL, &wanted, ret_found);
    if (status == 0)
        return PL_OK;
    pl_err_set(err, PL_SERVICE, "the host \"%.200s\" cannot be found: %s", *ret_host, gai_strerror(status));
    pl_err_hint(err, "Check the name in the plan's `url:`, and that this machine's resolver knows it.");
    return err->code;
}

/* A wrong URL and an unknown host are better known now than as the faults of every operation. Whether it answers is for the
 * load to find: it may come up later, and go away in between. */
static enum pl_code attach_start(struct service_state *state, const struct service_state *source, const volatile int *stop,
                                 struct pl_err *err)
{
    (void)source, (void)stop;
    struct addrinfo *found = NULL;
    const char *host = NULL;
    enum pl_code code = attach_find(state->service.plan->url, state->arena, &host, &found, err);
    if (code == PL_OK)
        freeaddrinfo(found);
    return code;
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
    struct addrinfo *found = NULL;
    const char *host = NULL, *place = "?";
    struct pl_err unused = {0};
    if (attach_find(url, arena, &host, &found, &unused) != PL_OK)
        return place;
    place = is_here(found) ? "this machine" : host;
    freeaddrinfo(found);
    return place;
}

static enum pl_code attach_facts(struct service_state *state, struct service_facts *facts, const volatile int *stop,
                                 struct pl_err *err)
{
    (void)stop, (void)err;
    service_push_fact(facts, "place", place_of(state->service.plan->url, facts->arena), "",
                      "whether a socket can be bound to its address");
    service_push_fact(facts, "url", url_shown(state->service.plan->url, facts->arena), "", "plan");
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
