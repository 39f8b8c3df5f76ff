#include "wire/uri.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "wire/bytes.h"

#include "base/ban.h"

static const char hex_digits[] = "0123456789ABCDEF";

static bool is_letter(char c)
{
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_unreserved(char c)
{
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/* Length of "http://" or "https://" at the beginning; 0: neither. */
static size_t scheme_length(const char *text, size_t length)
{
    if (length >= 7 && strncasecmp(text, "http://", 7) == 0)
        return 7;
    return length >= 8 && strncasecmp(text, "https://", 8) == 0 ? 8 : 0;
}

/* [at, end) is what stands between the brackets. */
static bool is_ipv6(const char *at, size_t length)
{
    const char *zone = memchr(at, '%', length);
    size_t count = zone == NULL ? length : (size_t)(zone - at);
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (count >= sizeof text || (zone != NULL && count + 1 == length))
        return false;
    memcpy(text, at, count);
    text[count] = '\0';
    for (size_t i = count + 1; i < length; i++)
        if (!is_unreserved(at[i]) && at[i] != '%')
            return false;
    return inet_pton(AF_INET6, text, &address) == 1;
}

static const char *parse_port(const char *text, size_t at, size_t end, struct uri *uri, size_t *ret_at)
{
    *ret_at = at;
    unsigned port = 0;
    for (size_t i = at; i < end; i++) {
        if (!is_digit(text[i])) {
            *ret_at = i;
            return "a port that is no number";
        }
        port = port * 10 + (unsigned)(text[i] - '0');
        if (port > UINT16_MAX)
            return "a port above 65535";
    }
    if (at < end && port == 0)
        return "port 0";
    uri->has_port = at < end;
    if (uri->has_port)
        uri->port = (uint16_t)port;
    return NULL;
}

/* [at, end) is "host", "host:port", "[::1]" or "[::1]:port". */
static const char *parse_host(const char *text, size_t at, size_t end, struct uri *uri, size_t *ret_at)
{
    *ret_at = at;
    uri->authority = text + at;
    uri->authority_length = end - at;
    size_t stop;
    if (at < end && text[at] == '[') {
        const char *close = memchr(text + at, ']', end - at);
        if (close == NULL)
            return "a bracket that is not closed";
        uri->is_ipv6 = true;
        uri->host = text + at + 1;
        uri->host_length = (size_t)(close - uri->host);
        if (!is_ipv6(uri->host, uri->host_length))
            return "no IPv6 address in the brackets";
        stop = (size_t)(close + 1 - text);
        *ret_at = stop;
        if (stop < end && text[stop] != ':')
            return "something behind the bracket that is no port";
    } else {
        for (stop = at; stop < end && text[stop] != ':'; stop++)
            if (!is_unreserved(text[stop])) {
                *ret_at = stop;
                return "a character that no host's name has";
            }
        uri->host = text + at;
        uri->host_length = stop - at;
        if (uri->host_length == 0)
            return "no host";
    }
    return stop < end ? parse_port(text, stop + 1, end, uri, ret_at) : NULL;
}

const char *uri_parse(const char *text, size_t length, struct uri *ret_uri, size_t *ret_at)
{
    struct uri uri = {.user = NULL};
    size_t begin = scheme_length(text, length), end = begin;
    *ret_at = 0;
    if (begin == 0)
        return "neither http:// nor https://";
    uri.is_tls = begin == 8;
    uri.port = uri.is_tls ? 443 : 80;
    if (wire_has_below(text, length, ' ' + 1) || memchr(text, 0x7f, length) != NULL) {
        while ((uint8_t)text[*ret_at] > ' ' && text[*ret_at] != 0x7f)
            ++*ret_at;
        return "a blank or control character";
    }
    size_t host = begin;
    for (; end < length && text[end] != '/' && text[end] != '?' && text[end] != '#'; end++)
        if (text[end] == '@')
            host = end + 1;
    if (host > begin) {
        uri.user = text + begin;
        uri.user_length = host - 1 - begin;
    }
    const char *wrong = parse_host(text, host, end, &uri, ret_at);
    if (wrong != NULL)
        return wrong;
    const char *fragment = memchr(text + end, '#', length - end);
    uri.path = text + end;
    uri.path_length = (fragment == NULL ? length : (size_t)(fragment - text)) - end;
    *ret_uri = uri;
    return NULL;
}

/* ---- references ---- */

/* Text that is put into a URL: white space and bytes above 127, which servers write into Location, percent-encoded. */
static void put_reference(const char *text, size_t length, struct pl_buf *into)
{
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c == ' ' || c == '\t' || c >= 0x80) {
            char encoded[3] = {'%', hex_digits[c >> 4], hex_digits[c & 15]};
            pl_buf_put_bytes(into, encoded, sizeof encoded);
        } else {
            pl_buf_put_bytes(into, text + i, 1);
        }
    }
}

/* RFC 3986, 5.2.4, in place: a path that begins with '/', or is empty. What is written never gets ahead of what is read. */
static size_t remove_dots(char *path, size_t length)
{
    size_t read = 0, wrote = 0;
    while (read < length) {
        size_t next = read + 1;
        while (next < length && path[next] != '/')
            next++;
        size_t segment = next - read - 1;
        bool is_dot = segment == 1 && path[read + 1] == '.';
        bool is_dots = segment == 2 && path[read + 1] == '.' && path[read + 2] == '.';
        if (is_dots)
            while (wrote > 0 && path[--wrote] != '/')
                ;
        if (!is_dot && !is_dots) {
            memmove(path + wrote, path + read, next - read);
            wrote += next - read;
        } else if (next == length) {
            path[wrote++] = '/';
        }
        read = next;
    }
    return wrote;
}

/* Appends a path and a query; of the path dots are removed. */
static void put_path(const char *base, size_t base_length, const char *path, size_t path_length, struct pl_buf *into)
{
    size_t start = into->len;
    pl_buf_put_bytes(into, base, base_length);
    put_reference(path, path_length, into);
    if (!into->full && into->len > start)
        into->len = start + remove_dots(into->data + start, into->len - start);
}

static size_t find(const char *text, size_t length, char c)
{
    const char *at = length == 0 ? NULL : memchr(text, c, length);
    return at == NULL ? length : (size_t)(at - text);
}

static bool has_scheme(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (is_letter(text[at]) || (at > 0 && (is_digit(text[at]) || memchr("+-.", text[at], 3) != NULL))))
        at++;
    return at > 0 && at < length && text[at] == ':';
}

/* What follows scheme and authority of `text`, an absolute URL: where it begins. */
static size_t authority_end(const char *text, size_t length)
{
    size_t at = scheme_length(text, length);
    while (at < length && text[at] != '/' && text[at] != '?')
        at++;
    return at;
}

/* reference: without fragment and scheme. */
static void put_relative(const char *base, size_t base_length, const char *reference, size_t length, struct pl_buf *into)
{
    size_t path = find(reference, length, '?');
    if (length >= 2 && memcmp(reference, "//", 2) == 0) {
        size_t end = 2 + find(reference + 2, path - 2, '/');
        pl_buf_put_bytes(into, base, scheme_length(base, base_length) - 2);
        pl_buf_put_bytes(into, reference, end);
        put_path(NULL, 0, reference + end, path - end, into);
        put_reference(reference + path, length - path, into);
        return;
    }
    size_t begin = authority_end(base, base_length), base_path = begin + find(base + begin, base_length - begin, '?');
    pl_buf_put_bytes(into, base, begin);
    if (path > 0 && reference[0] == '/') {
        put_path(NULL, 0, reference, path, into);
    } else if (path > 0) {
        size_t folder = base_path;
        while (folder > begin && base[folder - 1] != '/')
            folder--;
        if (folder == begin)
            put_path("/", 1, reference, path, into);
        else
            put_path(base + begin, folder - begin, reference, path, into);
    } else {
        pl_buf_put_bytes(into, base + begin, (length == 0 ? base_length : base_path) - begin);
    }
    put_reference(reference + path, length - path, into);
}

bool uri_resolve(const char *base, size_t base_length, const char *reference, size_t reference_length, struct pl_buf *into)
{
    size_t start = into->len, at, length = find(reference, reference_length, '#');
    base_length = find(base, base_length, '#');
    struct uri uri;
    if (scheme_length(reference, length) > 0) {
        size_t end = authority_end(reference, length), path = end + find(reference + end, length - end, '?');
        pl_buf_put_bytes(into, reference, end);
        put_path(NULL, 0, reference + end, path - end, into);
        put_reference(reference + path, length - path, into);
    } else if (!has_scheme(reference, length) && uri_parse(base, base_length, &uri, &at) == NULL) {
        put_relative(base, base_length, reference, length, into);
    }
    if (!into->full && into->len > start && uri_parse(into->data + start, into->len - start, &uri, &at) == NULL) {
        pl_buf_put_bytes(into, "", 0);
        return true;
    }
    into->len = start;
    if (into->data != NULL)
        into->data[start] = '\0';
    return false;
}

void uri_encode(const char *bytes, size_t length, struct pl_buf *into)
{
    for (size_t i = 0, run; i < length; i += run) {
        for (run = 0; i + run < length && is_unreserved(bytes[i + run]); run++)
            ;
        pl_buf_put_bytes(into, bytes + i, run);
        if (run == 0) {
            uint8_t c = (uint8_t)bytes[i];
            char encoded[3] = {'%', hex_digits[c >> 4], hex_digits[c & 15]};
            pl_buf_put_bytes(into, encoded, sizeof encoded);
            run = 1;
        }
    }
}
