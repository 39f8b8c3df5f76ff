/* From a message to a request: where it goes, which headers it has, what a redirect makes of it. */
#include "load/drv_http_int.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "wire/bytes.h"

#include "base/ban.h"

static struct http_slice slice_of_text(const char *text)
{
    return (struct http_slice){.text = text, .length = strlen(text)};
}

static struct http_slice slice_of_buf(const struct pl_buf *buf)
{
    return (struct http_slice){.text = pl_buf_text(buf), .length = buf->len};
}

static bool is_same(struct http_slice a, struct http_slice b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static void put_slice(struct pl_buf *buf, struct http_slice slice)
{
    pl_buf_put_bytes(buf, slice.text, slice.length);
}

/* "login.hurl:12: the URL has ...". */
static const char *refuse(struct driver_http *http, const struct http_entry *entry, const char *what, const char *why)
{
    pl_buf_clear(&http->why);
    if (*entry->facts->source != '\0')
        pl_buf_printf(&http->why, "%s:%d: ", entry->facts->source, entry->facts->line);
    pl_buf_printf(&http->why, "%s%s", what, why);
    return pl_buf_text(&http->why);
}

/* ---- credentials ---- */

static void put_base64(const char *text, size_t length, struct pl_buf *into)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)(uint8_t)text[i] << 16;
        bits |= count > 1 ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0;
        bits |= count > 2 ? (uint8_t)text[i + 2] : 0;
        char four[4] = {letters[bits >> 18], letters[bits >> 12 & 63], letters[bits >> 6 & 63], letters[bits & 63]};
        memset(four + count + 1, '=', 3 - count);
        pl_buf_put_bytes(into, four, sizeof four);
    }
}

static int hex_value(char c)
{
    const char *digits = "0123456789abcdef", *at = memchr(digits, c | (c >= 'A' ? 0x20 : 0), 16);
    return at == NULL ? -1 : (int)(at - digits);
}

void driver_http_put_basic(struct http_slice user, bool is_encoded, struct pl_buf *into)
{
    struct pl_buf plain;
    pl_buf_init(&plain, user.length + 1);
    bool has_colon = false;
    for (size_t i = 0; i < user.length; i++) {
        char c = user.text[i];
        has_colon |= c == ':';
        if (is_encoded && c == '%' && i + 2 < user.length && hex_value(user.text[i + 1]) >= 0 &&
            hex_value(user.text[i + 2]) >= 0) {
            c = (char)(hex_value(user.text[i + 1]) << 4 | hex_value(user.text[i + 2]));
            i += 2;
        }
        pl_buf_put_bytes(&plain, &c, 1);
    }
    if (!has_colon)
        pl_buf_put_bytes(&plain, ":", 1);
    pl_buf_put(into, "Basic ");
    put_base64(plain.data, plain.len, into);
    pl_buf_release(&plain);
}

/* ---- where it goes ---- */

int driver_http_origin(struct driver_http *http, const struct uri *uri)
{
    char host[256];
    size_t length = 0;
    if (uri->host_length >= sizeof host)
        return -1;
    for (size_t i = 0; i < uri->host_length; i++) {
        host[length++] = uri->host[i];
        if (uri->is_ipv6 && uri->host_length - i > 3 && memcmp(uri->host + i, "%25", 3) == 0)
            i += 2; /* the zone of an address: in a URL its '%' is encoded */
    }
    return http_origin(http->engine, uri->is_tls, (struct http_slice){.text = host, .length = length}, uri->port);
}

static int cached_origin(struct driver_http *http, struct http_entry *entry, const struct uri *uri)
{
    struct http_slice authority = {.text = uri->authority, .length = uri->authority_length};
    struct http_slice last = slice_of_buf(&entry->last_authority);
    if (entry->is_last_tls == uri->is_tls && is_same(authority, last))
        return entry->last_origin;
    int origin = driver_http_origin(http, uri);
    pl_buf_clear(&entry->last_authority);
    if (origin >= 0) {
        put_slice(&entry->last_authority, authority);
        entry->is_last_tls = uri->is_tls;
        entry->last_origin = origin;
    }
    return origin;
}

/* A path and query as it is requested: with a '/' in front, and behind the prefix of the base. */
static struct http_slice whole_path(struct driver_http *http, struct http_slice prefix, struct http_slice path)
{
    if (prefix.length == 0 && path.length > 0 && path.text[0] == '/')
        return path;
    pl_buf_clear(&http->path);
    put_slice(&http->path, prefix);
    if (prefix.length == 0 || (path.length > 0 && path.text[0] != '?'))
        pl_buf_put_bytes(&http->path, "/", path.length == 0 || path.text[0] != '/');
    put_slice(&http->path, path);
    return slice_of_buf(&http->path);
}

static struct http_target target_of_uri(struct driver_http *http, const struct uri *uri, int origin)
{
    struct http_target target = {
        .origin = origin, .is_tls = uri->is_tls, .authority = {.text = uri->authority, .length = uri->authority_length}};
    target.path = whole_path(http, (struct http_slice){.text = ""},
                             (struct http_slice){.text = uri->path, .length = uri->path_length});
    if (uri->user != NULL)
        target.user = (struct http_slice){.text = uri->user, .length = uri->user_length};
    return target;
}

static const char *find_target(struct driver_http *http, struct http_entry *entry, const struct http_base *base,
                               struct http_slice url, struct http_target *ret_target)
{
    if (url.length > 0 && (url.text[0] == '/' || url.text[0] == '?')) {
        if (!base->has_url)
            return refuse(http, entry, "the URL is only a path, and there is no base URL that completes it", "");
        if (wire_has_below(url.text, url.length, ' ' + 1) || memchr(url.text, 0x7f, url.length) != NULL)
            return refuse(http, entry, "the URL has ", "a blank or control character");
        *ret_target = (struct http_target){.origin = base->origin,
                                           .is_tls = base->is_tls,
                                           .authority = base->authority,
                                           .path = whole_path(http, base->prefix, url)};
        return NULL;
    }
    struct uri uri;
    size_t at;
    const char *wrong = uri_parse(url.text, url.length, &uri, &at);
    if (wrong != NULL)
        return refuse(http, entry, "the URL has ",
                      at == 0 ? "neither http:// nor https:// nor a / at its beginning" : wrong);
    int origin = cached_origin(http, entry, &uri);
    if (origin < 0)
        return refuse(http, entry, "the URL has ",
                      "one server more than can be told apart, or a host's name that is too long");
    *ret_target = target_of_uri(http, &uri, origin);
    return NULL;
}

static void put_url(const struct http_target *target, struct pl_buf *into)
{
    pl_buf_clear(into);
    pl_buf_put(into, target->is_tls ? "https://" : "http://");
    put_slice(into, target->authority);
    put_slice(into, target->path);
}

/* ---- headers ---- */

struct build {
    struct driver_http *http;
    struct http_client *client;
    bool states_host, has_authorization, has_encoding, expects_continue;
    size_t count;
};

static bool starts_with(struct http_slice name, const char *lower)
{
    return name.length >= strlen(lower) && strncasecmp(name.text, lower, strlen(lower)) == 0;
}

/* What it says about a body that there is none of any more. */
static bool is_of_body(struct http_slice name)
{
    return starts_with(name, "content-") || driver_http_is_named(name, "transfer-encoding") ||
           driver_http_is_named(name, "expect");
}

static void add_header(struct build *build, struct http_slice name, struct http_slice value)
{
    build->http->headers[build->count++] = (struct http_header){.name = name, .value = value};
}

/* Cookies go into one header at the end. */
static void add_cookies(struct build *build, struct http_slice value)
{
    struct pl_buf *cookies = &build->http->cookies;
    if (value.length > 0 && cookies->len > 0)
        pl_buf_put_bytes(cookies, "; ", 2);
    put_slice(cookies, value);
}

/* A header of the script or of the load, in so far as it goes out with this request. */
static void take_header(struct build *build, struct http_slice name, struct http_slice value)
{
    const struct http_client *client = build->client;
    if (client->is_get && is_of_body(name))
        return;
    switch (name.length) {
    case 4:
        if (!driver_http_is_named(name, "host"))
            break;
        if (client->is_elsewhere)
            return;
        build->states_host = true;
        break;
    case 6:
        if (driver_http_is_named(name, "cookie")) {
            if (!client->is_elsewhere)
                add_cookies(build, value);
            return;
        }
        build->expects_continue |= driver_http_is_named(name, "expect") && driver_http_is_named(value, "100-continue");
        break;
    case 13:
        if (!driver_http_is_named(name, "authorization"))
            break;
        if (client->is_elsewhere || build->has_authorization)
            return;
        build->has_authorization = true;
        break;
    case 15:
        build->has_encoding |= driver_http_is_named(name, "accept-encoding");
        break;
    default:
        break;
    }
    add_header(build, name, value);
}

static bool is_stated(const struct hurl_message *message, struct http_slice name)
{
    for (size_t i = 0; i < message->header_count; i++)
        if (message->headers[i].name.length == name.length &&
            strncasecmp(message->headers[i].name.text, name.text, name.length) == 0)
            return true;
    return false;
}

static void take_all(struct build *build, const struct http_target *target)
{
    struct driver_http *http = build->http;
    const struct hurl_message *message = build->client->message;
    for (size_t i = 0; i < message->header_count; i++)
        take_header(build, http_slice_of(message->headers[i].name), http_slice_of(message->headers[i].value));
    if (target->user.text != NULL && !build->has_authorization) {
        pl_buf_clear(&http->authorization);
        driver_http_put_basic(target->user, true, &http->authorization);
        add_header(build, slice_of_text("Authorization"), slice_of_buf(&http->authorization));
        build->has_authorization = true;
    }
    const struct http_base *base = &http->bases[build->client->base];
    for (size_t i = 0; i < base->default_count; i++)
        if (!is_stated(message, base->defaults[i].name))
            take_header(build, base->defaults[i].name, base->defaults[i].value);
    if (build->client->entry->asks_gzip && !build->has_encoding)
        add_header(build, slice_of_text("Accept-Encoding"), slice_of_text("gzip, deflate"));
}

struct http_slice driver_http_cookie_host(struct http_slice authority)
{
    bool is_ipv6 = authority.length > 0 && authority.text[0] == '[';
    const char *begin = authority.text + is_ipv6, *all_end = authority.text + authority.length;
    const char *end = begin == all_end ? NULL : memchr(begin, is_ipv6 ? ']' : ':', (size_t)(all_end - begin));
    return (struct http_slice){.text = begin, .length = (size_t)((end == NULL ? all_end : end) - begin)};
}

struct http_slice driver_http_said_host(const struct driver_http *http, const struct http_client *client,
                                        struct http_slice authority)
{
    const struct hurl_message *message = client->message;
    if (client->is_elsewhere)
        return authority;
    for (size_t i = 0; i < message->header_count; i++)
        if (driver_http_is_named(http_slice_of(message->headers[i].name), "host"))
            return http_slice_of(message->headers[i].value);
    const struct http_base *base = &http->bases[client->base];
    return base->said_host.text != NULL ? base->said_host : authority;
}

static void take_cookies(struct build *build, const struct http_target *target)
{
    struct driver_http *http = build->http;
    struct http_client *client = build->client;
    if (!client->is_elsewhere)
        add_cookies(build, http_slice_of(client->message->cookies));
    if (client->jar.count > 0) {
        size_t length = http->cookies.len;
        if (length > 0)
            pl_buf_put_bytes(&http->cookies, "; ", 2);
        struct http_slice host = driver_http_cookie_host(driver_http_said_host(http, client, target->authority));
        if (!http_jar_header(&client->jar, target->is_tls, host, target->path, pl_clock_unix_ns() / PL_NS_PER_S,
                             &http->cookies))
            http->cookies.len = length;
    }
    if (http->cookies.len > 0)
        add_header(build, slice_of_text("Cookie"), slice_of_buf(&http->cookies));
}

/* Control characters would make two headers of one. */
static bool are_clean(const struct http_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct http_slice name = headers[i].name, value = headers[i].value;
        if (name.length == 0 || wire_has_below(name.text, name.length, ' ' + 1) ||
            memchr(name.text, ':', name.length) != NULL)
            return false;
        if (wire_has_below(value.text, value.length, ' '))
            for (size_t at = 0; at < value.length; at++)
                if ((uint8_t)value.text[at] < ' ' && value.text[at] != '\t')
                    return false;
    }
    return true;
}

static bool is_method(struct http_slice method, const char *name)
{
    return method.length == strlen(name) && memcmp(method.text, name, method.length) == 0;
}

/* Whether sending it twice does what sending it once does: RFC 9110, 9.2.2. */
static bool is_repeatable(struct http_slice method)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_method(method, names[i]))
            return true;
    return false;
}

static void headers_reserve(struct driver_http *http, size_t count)
{
    if (count <= http->header_capacity)
        return;
    pl_free(http->headers);
    http->headers = pl_new(2 * count, sizeof *http->headers);
    http->header_capacity = 2 * count;
}

const char *driver_http_build(struct driver_http *http, struct http_client *client, const struct http_target *target,
                              struct http_request *ret_request)
{
    const struct hurl_message *message = client->message;
    const struct http_base *base = &http->bases[client->base];
    struct build build = {.http = http, .client = client};
    headers_reserve(http, message->header_count + base->default_count + 3);
    pl_buf_clear(&http->cookies);
    take_all(&build, target);
    take_cookies(&build, target);
    if (!are_clean(http->headers, build.count))
        return refuse(http, client->entry, "a header has ", "no name, or a control character in it");
    bool has_body = message->has_body && !client->is_get;
    *ret_request = (struct http_request){.origin = target->origin,
                                         .method = client->is_get ? slice_of_text("GET") : http_slice_of(message->method),
                                         .target = target->path,
                                         .headers = http->headers,
                                         .header_count = build.count,
                                         .has_body = has_body,
                                         .expects_continue = build.expects_continue && has_body && message->body.length > 0,
                                         .keeps_body = client->entry->facts->keeps_body,
                                         .decodes = client->entry->facts->keeps_body};
    if (has_body)
        ret_request->body = http_slice_of(message->body);
    if (!build.states_host && !client->is_elsewhere)
        ret_request->authority = base->said_host;
    ret_request->is_safe = is_repeatable(ret_request->method);
    client->origin = target->origin;
    return NULL;
}

/* ---- the first request of a step ---- */

static struct hurl_slice keep_slice(char **at, struct hurl_slice slice)
{
    struct hurl_slice copy = {.text = *at, .length = slice.length};
    if (slice.length > 0)
        memcpy(*at, slice.text, slice.length);
    *at += slice.length;
    return copy;
}

static void kept_reserve(struct http_client *client, size_t bytes, size_t headers)
{
    if (bytes > client->kept_capacity) {
        pl_free(client->kept);
        client->kept_capacity = bytes < 128 ? 128 : bytes + bytes / 4;
        client->kept = pl_new(client->kept_capacity, 1);
    }
    if (headers > client->kept_header_capacity) {
        pl_free(client->kept_headers);
        client->kept_header_capacity = headers + 2;
        client->kept_headers = pl_new(client->kept_header_capacity, sizeof *client->kept_headers);
    }
}

/* Makes the texts of what was rendered the client's own: the body, and what may be sent again after a redirect. */
static void keep_rendered(struct http_client *client)
{
    struct hurl_message *message = &client->rendered;
    bool keeps_body = message->has_body && message->body.length > 0 && !message->is_body_lasting;
    size_t bytes = keeps_body ? message->body.length : 0;
    size_t count = client->entry->follows ? message->header_count : 0;
    if (client->entry->follows)
        bytes += message->cookies.length;
    for (size_t i = 0; i < count; i++)
        bytes += message->headers[i].name.length + message->headers[i].value.length;
    kept_reserve(client, bytes, count);
    char *at = client->kept;
    if (keeps_body)
        message->body = keep_slice(&at, message->body);
    if (!client->entry->follows)
        return;
    message->cookies = keep_slice(&at, message->cookies);
    for (size_t i = 0; i < count; i++) {
        client->kept_headers[i].name = keep_slice(&at, message->headers[i].name);
        client->kept_headers[i].value = keep_slice(&at, message->headers[i].value);
    }
    message->headers = client->kept_headers;
}

const char *driver_http_first(struct driver_http *http, struct http_client *client, struct http_request *ret_request)
{
    struct http_entry *entry = client->entry;
    client->prepared = NULL;
    client->redirects = 0;
    client->is_get = client->is_elsewhere = false;
    client->message = &entry->message;
    if (!entry->facts->is_constant) {
        const char *wrong = hurl_render(entry->hurl, client->vars, http->work, &client->rendered);
        if (wrong != NULL)
            return wrong;
        keep_rendered(client);
        client->message = &client->rendered;
    }
    struct http_target target;
    const char *wrong = find_target(http, entry, &http->bases[client->base], http_slice_of(client->message->url), &target);
    if (wrong == NULL)
        wrong = driver_http_build(http, client, &target, ret_request);
    if (wrong != NULL)
        return wrong;
    ret_request->timeout_ns = entry->max_time_ns;
    client->first_origin = target.origin;
    pl_buf_clear(&client->url);
    put_url(&target, &client->url);
    return NULL;
}

/* ---- what comes after a redirect ---- */

struct http_slice driver_http_url(const struct http_client *client)
{
    return client->prepared != NULL ? client->prepared->url : slice_of_buf(&client->url);
}

/* Where a redirect leads. An authority that is the one of the URL, or the one that Host said, is where we are. */
static int next_origin(struct driver_http *http, const struct http_client *client, const struct uri *from,
                       const struct uri *to)
{
    struct http_slice old = {.text = from->authority, .length = from->authority_length};
    struct http_slice new = {.text = to->authority, .length = to->authority_length};
    if (from->is_tls == to->is_tls && (is_same(old, new) || is_same(driver_http_said_host(http, client, old), new)))
        return client->origin;
    return driver_http_origin(http, to);
}

const char *driver_http_next(struct driver_http *http, struct http_client *client, int status, struct http_slice location,
                             struct http_request *ret_request)
{
    static const char no_url[] = "the redirect leads to what is no URL of HTTP";
    struct http_slice url = driver_http_url(client);
    struct uri from, to;
    size_t at;
    pl_buf_clear(&http->location);
    if (uri_parse(url.text, url.length, &from, &at) != NULL ||
        !uri_resolve(url.text, url.length, location.text, location.length, &http->location) ||
        uri_parse(http->location.data, http->location.len, &to, &at) != NULL)
        return refuse(http, client->entry, no_url, "");
    int origin = next_origin(http, client, &from, &to);
    if (origin < 0)
        return refuse(http, client->entry, no_url, ", or to one server more than can be told apart");
    if (client->prepared != NULL)
        client->first_origin = client->origin;
    client->prepared = NULL;
    client->is_elsewhere = origin != client->first_origin;
    client->is_get |= status <= 303 && !is_method(http_slice_of(client->message->method), "HEAD");
    pl_buf_clear(&client->url);
    put_slice(&client->url, slice_of_buf(&http->location));
    struct http_target target = target_of_uri(http, &to, origin);
    return driver_http_build(http, client, &target, ret_request);
}
