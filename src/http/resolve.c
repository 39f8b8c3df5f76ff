/* Origins and where they lead: names, addresses, Unix sockets, and the ways around them. */
#include "http/http_int.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/num.h"

#include "base/ban.h"

enum { PEERS_OF_A_NAME_MOST = 64, PEERS_MOST = 1 << 20 };

#define UNIX_PATH_BYTES sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* ---- tables ---- */

static uint64_t hash_bytes(const void *bytes, size_t length, uint64_t hash)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
#define HASH_START UINT64_C(0xcbf29ce484222325)

int32_t http_table_find(const struct http_table *table, uint64_t hash, http_is_same *is_same, const void *context,
                        const void *key)
{
    if (table->capacity == 0)
        return -1;
    for (size_t at = hash & (table->capacity - 1); table->slots[at] != 0; at = (at + 1) & (table->capacity - 1))
        if (is_same(context, table->slots[at] - 1, key))
            return (int32_t)(table->slots[at] - 1);
    return -1;
}

static void slot_take(struct http_table *table, uint64_t hash, uint32_t index)
{
    size_t at = hash & (table->capacity - 1);
    while (table->slots[at] != 0)
        at = (at + 1) & (table->capacity - 1);
    table->slots[at] = index + 1;
}

void http_table_put(struct http_table *table, uint64_t hash, uint32_t index,
                    uint64_t (*hash_of)(const void *context, uint32_t index), const void *context)
{
    if (2 * (table->count + 1) > table->capacity) {
        struct http_table larger = {.capacity = table->capacity == 0 ? 64 : 2 * table->capacity, .count = table->count};
        larger.slots = pl_new(larger.capacity, sizeof *larger.slots);
        for (size_t i = 0; i < table->capacity; i++)
            if (table->slots[i] != 0)
                slot_take(&larger, hash_of(context, table->slots[i] - 1), table->slots[i] - 1);
        pl_free(table->slots);
        *table = larger;
    }
    slot_take(table, hash, index);
    table->count++;
}

/* Room for one more item behind `count`. */
static void *room_for(void *items, size_t count, size_t item_size, size_t *capacity)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity == 0 ? 16 : 2 * *capacity;
    char *grown = pl_new(larger, item_size);
    if (count > 0)
        memcpy(grown, items, count * item_size);
    pl_free(items);
    *capacity = larger;
    return grown;
}

/* ---- addresses ---- */

static void peer_describe(struct http_peer *peer)
{
    char ip[INET6_ADDRSTRLEN] = "";
    if (peer->address.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&peer->address;
        inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip);
        snprintf(peer->text, sizeof peer->text, "%s:%u", ip, (unsigned)ntohs(in->sin_port));
    } else if (peer->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&peer->address;
        inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof ip);
        snprintf(peer->text, sizeof peer->text, "[%s]:%u", ip, (unsigned)ntohs(in6->sin6_port));
        peer->ip_at = 1;
    } else {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&peer->address;
        snprintf(peer->text, sizeof peer->text, "unix:%.70s", un->sun_path);
    }
    peer->ip_length = (uint16_t)strlen(ip);
}

static uint64_t peer_hash(const struct http_peer *peer)
{
    return hash_bytes(&peer->address, peer->length, HASH_START);
}

static uint64_t peer_hash_at(const void *context, uint32_t index)
{
    return peer_hash(&((const struct http_engine *)context)->peers[index]);
}

static bool peer_is(const void *context, uint32_t index, const void *key)
{
    const struct http_peer *peer = &((const struct http_engine *)context)->peers[index], *asked = key;
    return peer->length == asked->length && memcmp(&peer->address, &asked->address, peer->length) == 0;
}

/* -1: there are too many. */
static int32_t peer_index(struct http_engine *engine, const void *address, socklen_t length)
{
    struct http_peer peer = {.length = length};
    memcpy(&peer.address, address, length);
    int32_t index = http_table_find(&engine->peer_table, peer_hash(&peer), peer_is, engine, &peer);
    if (index >= 0)
        return index;
    if (engine->peer_count == PEERS_MOST)
        return -1;
    peer_describe(&peer);
    engine->peers = room_for(engine->peers, engine->peer_count, sizeof *engine->peers, &engine->peer_capacity);
    engine->peers[engine->peer_count] = peer;
    http_table_put(&engine->peer_table, peer_hash(&peer), (uint32_t)engine->peer_count, peer_hash_at, engine);
    return (int32_t)engine->peer_count++;
}

bool http_engine_address(const struct http_engine *engine, size_t index, struct http_address *ret_address)
{
    if (index >= engine->peer_count)
        return false;
    const struct http_peer *peer = &engine->peers[index];
    *ret_address = (struct http_address){.opened = peer->opened, .failed = peer->failed};
    snprintf(ret_address->text, sizeof ret_address->text, "%s", peer->text);
    return true;
}

/* ---- origins ---- */

struct origin_key {
    bool is_tls;
    uint16_t port;
    struct http_slice host;
};

/* Names are the same in either case of their letters. */
static uint64_t origin_hash(const struct origin_key *key)
{
    char lower[HTTP_HOST_MOST];
    for (size_t i = 0; i < key->host.length; i++) {
        char c = key->host.text[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    uint32_t rest = (uint32_t)key->port << 1 | (uint32_t)key->is_tls;
    return hash_bytes(&rest, sizeof rest, hash_bytes(lower, key->host.length, HASH_START));
}

static uint64_t origin_hash_at(const void *context, uint32_t index)
{
    const struct http_origin_entry *origin = &((const struct http_engine *)context)->origins[index];
    return origin_hash(&(struct origin_key){origin->is_tls, origin->port, {origin->host, strlen(origin->host)}});
}

static bool origin_is(const void *context, uint32_t index, const void *key)
{
    const struct http_origin_entry *origin = &((const struct http_engine *)context)->origins[index];
    const struct origin_key *asked = key;
    return origin->is_tls == asked->is_tls && origin->port == asked->port &&
           strncasecmp(origin->host, asked->host.text, asked->host.length) == 0 && origin->host[asked->host.length] == '\0';
}

bool http_is_ip(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Looks the name up; an origin without addresses is what a name that nobody knows becomes. */
static void origin_resolve(struct http_engine *engine, struct http_origin_entry *origin, const char *host, uint16_t port)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = http_is_ip(host) ? AI_NUMERICHOST : 0}, *found = NULL;
    if ((engine->stop != NULL && *engine->stop != 0) || getaddrinfo(host, service, &hints, &found) != 0)
        return;
    uint32_t peers[PEERS_OF_A_NAME_MOST];
    for (struct addrinfo *at = found; at != NULL && origin->peer_count < PEERS_OF_A_NAME_MOST; at = at->ai_next) {
        bool is_usable = at->ai_family == AF_INET || at->ai_family == AF_INET6;
        int32_t index = is_usable ? peer_index(engine, at->ai_addr, at->ai_addrlen) : -1;
        if (index >= 0)
            peers[origin->peer_count++] = (uint32_t)index;
    }
    freeaddrinfo(found);
    if (origin->peer_count == 0)
        return;
    origin->peers = pl_alloc(engine->arena, origin->peer_count, sizeof *origin->peers);
    memcpy(origin->peers, peers, origin->peer_count * sizeof *peers);
}

static void origin_lead(struct http_engine *engine, struct http_origin_entry *origin)
{
    if (engine->spec.unix_socket != NULL) {
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        memcpy(un.sun_path, engine->spec.unix_socket, strlen(engine->spec.unix_socket));
        origin->peers = pl_alloc(engine->arena, 1, sizeof *origin->peers);
        origin->peers[0] = (uint32_t)peer_index(engine, &un, sizeof un);
        origin->peer_count = 1;
        return;
    }
    const char *host = origin->host;
    uint16_t port = origin->port;
    for (size_t i = 0; i < engine->route_count; i++) {
        const struct http_route *route = &engine->routes[i];
        if ((route->host[0] != '\0' && strcasecmp(route->host, host) != 0) || (route->port != 0 && route->port != port))
            continue;
        host = route->to_host[0] != '\0' ? route->to_host : host;
        port = route->to_port != 0 ? route->to_port : port;
        break;
    }
    origin_resolve(engine, origin, host, port);
}

int http_origin(struct http_engine *engine, bool is_tls, struct http_slice host, uint16_t port)
{
    if (host.length >= 2 && host.text[0] == '[' && host.text[host.length - 1] == ']')
        host = (struct http_slice){host.text + 1, host.length - 2};
    if (host.length == 0 || host.length > HTTP_HOST_MOST)
        return -1;
    for (size_t i = 0; i < host.length; i++)
        if (host.text[i] <= ' ' || host.text[i] == 0x7f || strchr("/?#@[]\\\"<>", host.text[i]) != NULL)
            return -1;
    uint16_t own_port = is_tls ? 443 : 80;
    struct origin_key key = {is_tls, port != 0 ? port : own_port, host};
    uint64_t hash = origin_hash(&key);
    int32_t index = http_table_find(&engine->origin_table, hash, origin_is, engine, &key);
    if (index >= 0 || engine->origin_count == HTTP_ORIGINS_MOST)
        return index;
    engine->origins = room_for(engine->origins, engine->origin_count, sizeof *engine->origins, &engine->origin_capacity);
    struct http_origin_entry *origin = &engine->origins[engine->origin_count];
    *origin = (struct http_origin_entry){.port = key.port, .is_tls = is_tls, .free_first = -1};
    origin->host = pl_strndup(engine->arena, host.text, host.length);
    bool needs_brackets = strchr(origin->host, ':') != NULL;
    const char *before = needs_brackets ? "[" : "", *behind = needs_brackets ? "]" : "";
    int length = (int)strcspn(origin->host, "%"); /* the zone of an address is of this machine alone (RFC 6874, 4) */
    origin->authority = key.port == own_port ? pl_format(engine->arena, "%s%.*s%s", before, length, origin->host, behind)
                                             : pl_format(engine->arena, "%s%.*s%s:%u", before, length, origin->host, behind,
                                                         (unsigned)key.port);
    origin_lead(engine, origin);
    if (is_tls)
        http_tls_trust(engine);
    http_table_put(&engine->origin_table, hash, (uint32_t)engine->origin_count, origin_hash_at, engine);
    return (int)engine->origin_count++;
}

/* ---- the spec's part ---- */

/* The piece up to the next colon that stands outside of brackets, without these. */
static struct http_slice piece_next(const char **at)
{
    const char *start = *at;
    struct http_slice piece = {start, 0};
    if (*start == '[') {
        const char *end = strchr(start, ']');
        if (end == NULL)
            end = start + strlen(start);
        piece = (struct http_slice){start + 1, (size_t)(end - start) - 1};
        *at = *end != '\0' ? end + 1 : end;
    } else {
        piece.length = strcspn(start, ":");
        *at = start + piece.length;
    }
    if (**at == ':')
        ++*at;
    return piece;
}

static bool port_parse(struct http_slice text, uint16_t *ret_port)
{
    int64_t value = 0;
    if (text.length > 0 && (pl_num_i64(text.text, text.length, &value) != PL_NUM_OK || value < 1 || value > 65535))
        return false;
    *ret_port = (uint16_t)value;
    return true;
}

static enum pl_code routes_init(struct http_engine *engine, struct pl_err *err)
{
    const char *const *texts = engine->spec.connect_to;
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    engine->routes = pl_alloc(engine->arena, count + 1, sizeof *engine->routes);
    for (; engine->route_count < count; engine->route_count++) {
        struct http_route *route = &engine->routes[engine->route_count];
        const char *at = texts[engine->route_count];
        struct http_slice host = piece_next(&at), port = piece_next(&at), to_host = piece_next(&at);
        struct http_slice to_port = {at, strlen(at)};
        if (!port_parse(port, &route->port) || !port_parse(to_port, &route->to_port)) {
            pl_err_set(err, PL_INPUT, "\"%.200s\" does not say where to connect to", texts[engine->route_count]);
            pl_err_hint(err, "It is written as HOST:PORT:ADDRESS:PORT, where each part may be empty.");
            return err->code;
        }
        route->host = pl_strndup(engine->arena, host.text, host.length);
        route->to_host = pl_strndup(engine->arena, to_host.text, to_host.length);
    }
    return PL_OK;
}

static enum pl_code sources_init(struct http_engine *engine, struct pl_err *err)
{
    const char *const *texts = engine->spec.sources;
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL)
        count++;
    engine->sources = pl_alloc(engine->arena, count + 1, sizeof *engine->sources);
    for (size_t i = 0; i < count; i++) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found = NULL;
        if (getaddrinfo(texts[i], NULL, &hints, &found) != 0) {
            pl_err_set(err, PL_INPUT, "\"%.200s\" is no local address", texts[i]);
            pl_err_hint(err, "An IPv4 or IPv6 address of this machine is needed, such as 127.0.0.2.");
            return err->code;
        }
        struct http_peer *source = &engine->sources[engine->source_count++];
        memcpy(&source->address, found->ai_addr, found->ai_addrlen);
        source->length = found->ai_addrlen;
        freeaddrinfo(found);
    }
    return PL_OK;
}

enum pl_code http_resolve_init(struct http_engine *engine, struct pl_err *err)
{
    const char *path = engine->spec.unix_socket;
    if (path != NULL && (path[0] == '\0' || strlen(path) >= UNIX_PATH_BYTES)) {
        pl_err_set(err, PL_INPUT, "\"%.200s\" cannot be the path of a Unix socket", path);
        pl_err_hint(err, "The path of a Unix socket has 1 to %zu bytes.", UNIX_PATH_BYTES - 1);
        return err->code;
    }
    enum pl_code code = routes_init(engine, err);
    return code == PL_OK ? sources_init(engine, err) : code;
}

void http_resolve_release(struct http_engine *engine)
{
    for (size_t i = 0; i < engine->origin_count; i++)
        http_tls_forget_session(&engine->origins[i]);
    pl_free(engine->origins);
    pl_free(engine->origin_table.slots);
    pl_free(engine->peer_table.slots);
    pl_free(engine->peers);
}
