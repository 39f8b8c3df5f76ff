#include "http/cookies.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"

#include "base/ban.h"

enum { COOKIES_MOST = 50, COOKIE_BYTES_MOST = 4096, ATTRIBUTE_BYTES_MOST = 1024 };

/* In the jar in the order in which they were first set. `bytes` holds name, value, domain (in lower case) and path one
 * after the other, and stays with its place in the array when the cookie is gone. */
struct http_cookie {
    char *bytes; /* owned */
    uint32_t capacity, name_length, value_length, domain_length, path_length;
    int64_t expires_unix_s; /* INT64_MAX: with the session */
    bool is_host_only, is_secure;
};

/* What a Set-Cookie says. */
struct setting {
    struct http_slice name, value, domain, path;
    int64_t expires_unix_s; /* INT64_MAX: with the session */
    bool has_max_age, is_secure;
};

void http_jar_clear(struct http_jar *jar)
{
    jar->count = 0;
}

void http_jar_release(struct http_jar *jar)
{
    for (int i = 0; i < jar->capacity; i++)
        pl_free(jar->cookies[i].bytes);
    pl_free(jar->cookies);
    *jar = (struct http_jar){0};
}

/* ---- text ---- */

static struct http_slice trimmed(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct http_slice){.text = text, .length = (size_t)(end - text)};
}

static bool is_word(struct http_slice slice, const char *word)
{
    return slice.length == strlen(word) && strncasecmp(slice.text, word, slice.length) == 0;
}

static bool is_same(struct http_slice a, struct http_slice b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Digits at *at, at most `most` of them; false: none, or more. */
static bool take_digits(const char **at, const char *end, int most, int *ret_value)
{
    int value = 0, count = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at, count++) {
        if (count == most)
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret_value = value;
    return count > 0;
}

/* ---- dates, RFC 6265, 5.1.1 ---- */

struct date {
    int year, month, day, hour, minute, second;
    bool has_year, has_month, has_day, has_time;
};

static bool is_date_delimiter(char c)
{
    return c == '\t' || (c >= ' ' && c <= '/') || (c >= ';' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

static bool take_time(struct http_slice token, struct date *date)
{
    const char *at = token.text, *end = at + token.length;
    if (!take_digits(&at, end, 2, &date->hour) || at == end || *at++ != ':' || !take_digits(&at, end, 2, &date->minute) ||
        at == end || *at++ != ':' || !take_digits(&at, end, 2, &date->second))
        return false;
    return date->has_time = true;
}

static bool take_month(struct http_slice token, struct date *date)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int month = 0; month < 12 && token.length >= 3; month++)
        if (strncasecmp(token.text, names + month * 3, 3) == 0) {
            date->month = month + 1;
            return date->has_month = true;
        }
    return false;
}

static bool take_number(struct http_slice token, int least, int most, int *ret_value)
{
    const char *at = token.text, *end = at + token.length;
    if (!take_digits(&at, end, most, ret_value))
        return false;
    return at - token.text >= least;
}

static void take_date_token(struct http_slice token, struct date *date)
{
    if (!date->has_time && take_time(token, date))
        return;
    if (!date->has_day && take_number(token, 1, 2, &date->day)) {
        date->has_day = true;
        return;
    }
    if (!date->has_month && take_month(token, date))
        return;
    if (!date->has_year && take_number(token, 2, 4, &date->year)) {
        date->has_year = true;
        date->year += date->year < 70 ? 2000 : date->year < 100 ? 1900 : 0;
    }
}

/* Days since 1970 of the proleptic Gregorian calendar, for years from 1601: the year begins in March. */
static int64_t days_of(int year, int month, int day)
{
    int y = year - (month <= 2), m = (month + 9) % 12;
    return INT64_C(365) * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool parse_date(struct http_slice text, int64_t *ret_unix_s)
{
    struct date date = {0};
    const char *at = text.text, *end = at + text.length;
    while (at < end) {
        while (at < end && is_date_delimiter(*at))
            at++;
        const char *begin = at;
        while (at < end && !is_date_delimiter(*at))
            at++;
        take_date_token((struct http_slice){.text = begin, .length = (size_t)(at - begin)}, &date);
    }
    if (!date.has_time || !date.has_day || !date.has_month || !date.has_year || date.day < 1 || date.day > 31 ||
        date.year < 1601 || date.hour > 23 || date.minute > 59 || date.second > 59)
        return false;
    *ret_unix_s = days_of(date.year, date.month, date.day) * 86400 + date.hour * 3600 + date.minute * 60 + date.second;
    return true;
}

/* ---- Set-Cookie, RFC 6265, 5.2 ---- */

static void take_max_age(struct http_slice value, int64_t now_unix_s, struct setting *setting)
{
    bool is_negative = value.length > 0 && value.text[0] == '-';
    int64_t seconds = 0;
    if (value.length == (size_t)is_negative)
        return;
    for (size_t i = is_negative; i < value.length; i++) {
        if (value.text[i] < '0' || value.text[i] > '9')
            return;
        if (seconds < INT32_MAX)
            seconds = seconds * 10 + (value.text[i] - '0');
    }
    setting->has_max_age = true;
    setting->expires_unix_s = is_negative || seconds == 0 ? INT64_MIN : now_unix_s + seconds;
}

static void take_attribute(struct http_slice name, struct http_slice value, int64_t now_unix_s, struct setting *setting)
{
    if (value.length > ATTRIBUTE_BYTES_MOST)
        return;
    if (is_word(name, "expires")) {
        int64_t unix_s;
        if (!setting->has_max_age && parse_date(value, &unix_s))
            setting->expires_unix_s = unix_s;
    } else if (is_word(name, "max-age")) {
        take_max_age(value, now_unix_s, setting);
    } else if (is_word(name, "domain")) {
        bool has_dot = value.length > 0 && value.text[0] == '.';
        setting->domain = (struct http_slice){.text = value.text + has_dot, .length = value.length - has_dot};
    } else if (is_word(name, "path")) {
        bool is_path = value.length > 0 && value.text[0] == '/';
        setting->path = is_path ? value : (struct http_slice){.text = NULL};
    } else if (is_word(name, "secure")) {
        setting->is_secure = true;
    }
}

static bool parse_setting(struct http_slice text, int64_t now_unix_s, struct setting *setting)
{
    const char *at = text.text, *end = at + text.length;
    bool is_first = true;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        struct http_slice name = trimmed(at, equals == NULL ? stop : equals);
        struct http_slice value = equals == NULL ? (struct http_slice){.text = stop} : trimmed(equals + 1, stop);
        if (!is_first) {
            take_attribute(name, value, now_unix_s, setting);
        } else {
            if (equals == NULL || name.length == 0 || name.length + value.length > COOKIE_BYTES_MOST)
                return false;
            setting->name = name;
            setting->value = value;
            is_first = false;
        }
        at = stop + (stop < end);
    }
    return !is_first;
}

/* ---- where a cookie belongs, RFC 6265, 5.1.3 and 5.1.4 ---- */

static bool is_address(struct http_slice host)
{
    if (memchr(host.text, ':', host.length) != NULL)
        return true;
    for (size_t i = 0; i < host.length; i++)
        if (host.text[i] != '.' && (host.text[i] < '0' || host.text[i] > '9'))
            return false;
    return true;
}

static bool is_in_domain(struct http_slice host, struct http_slice domain)
{
    if (host.length < domain.length || domain.length == 0)
        return false;
    size_t more = host.length - domain.length;
    if (strncasecmp(host.text + more, domain.text, domain.length) != 0)
        return false;
    return more == 0 || (host.text[more - 1] == '.' && !is_address(host));
}

static bool is_in_path(struct http_slice path, struct http_slice of)
{
    if (path.length < of.length || memcmp(path.text, of.text, of.length) != 0)
        return false;
    return path.length == of.length || of.text[of.length - 1] == '/' || path.text[of.length] == '/';
}

/* Without the query; "/" when there is none. */
static struct http_slice only_path(struct http_slice target)
{
    const char *query = target.length == 0 ? NULL : memchr(target.text, '?', target.length);
    size_t length = query == NULL ? target.length : (size_t)(query - target.text);
    if (length == 0 || target.text[0] != '/')
        return (struct http_slice){.text = "/", .length = 1};
    return (struct http_slice){.text = target.text, .length = length};
}

static struct http_slice folder_of(struct http_slice path)
{
    size_t length = path.length;
    while (length > 1 && path.text[length - 1] != '/')
        length--;
    return (struct http_slice){.text = path.text, .length = length > 1 ? length - 1 : 1};
}

/* ---- the jar ---- */

static struct http_slice cookie_name(const struct http_cookie *cookie)
{
    return (struct http_slice){.text = cookie->bytes, .length = cookie->name_length};
}

static struct http_slice cookie_domain(const struct http_cookie *cookie)
{
    return (struct http_slice){.text = cookie->bytes + cookie->name_length + cookie->value_length,
                               .length = cookie->domain_length};
}

static struct http_slice cookie_path(const struct http_cookie *cookie)
{
    struct http_slice domain = cookie_domain(cookie);
    return (struct http_slice){.text = domain.text + domain.length, .length = cookie->path_length};
}

static int find_cookie(const struct http_jar *jar, const struct setting *setting)
{
    for (int i = 0; i < jar->count; i++) {
        const struct http_cookie *cookie = &jar->cookies[i];
        struct http_slice domain = cookie_domain(cookie);
        if (is_same(cookie_name(cookie), setting->name) && is_same(cookie_path(cookie), setting->path) &&
            domain.length == setting->domain.length && strncasecmp(domain.text, setting->domain.text, domain.length) == 0)
            return i;
    }
    return -1;
}

/* Its memory goes behind the others. */
static void remove_cookie(struct http_jar *jar, int index)
{
    struct http_cookie gone = jar->cookies[index];
    jar->count--;
    memmove(&jar->cookies[index], &jar->cookies[index + 1], (size_t)(jar->count - index) * sizeof gone);
    jar->cookies[jar->count] = gone;
}

/* A place for one more, at the end; the oldest goes, but before it those that have expired. */
static struct http_cookie *add_cookie(struct http_jar *jar, int64_t now_unix_s)
{
    if (jar->count == COOKIES_MOST) {
        for (int i = jar->count - 1; i >= 0; i--)
            if (jar->cookies[i].expires_unix_s <= now_unix_s)
                remove_cookie(jar, i);
        if (jar->count == COOKIES_MOST)
            remove_cookie(jar, 0);
    }
    if (jar->count == jar->capacity) {
        int capacity = jar->capacity == 0 ? 2 : 2 * jar->capacity;
        if (capacity > COOKIES_MOST)
            capacity = COOKIES_MOST;
        struct http_cookie *cookies = pl_new((size_t)capacity, sizeof *cookies);
        if (jar->count > 0)
            memcpy(cookies, jar->cookies, jar->count * sizeof *cookies);
        pl_free(jar->cookies);
        jar->cookies = cookies;
        jar->capacity = (uint16_t)capacity;
    }
    return &jar->cookies[jar->count++];
}

static char *put_slice(char *into, struct http_slice slice)
{
    if (slice.length > 0)
        memcpy(into, slice.text, slice.length);
    return into + slice.length;
}

static void fill_cookie(struct http_cookie *cookie, const struct setting *setting, bool is_host_only)
{
    size_t bytes = setting->name.length + setting->value.length + setting->domain.length + setting->path.length;
    if (bytes > cookie->capacity) {
        pl_free(cookie->bytes);
        cookie->bytes = pl_new(bytes, 1);
        cookie->capacity = (uint32_t)bytes;
    }
    char *domain = put_slice(put_slice(cookie->bytes, setting->name), setting->value),
         *path = put_slice(domain, setting->domain);
    for (char *c = domain; c < path; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c | 0x20);
    put_slice(path, setting->path);
    cookie->name_length = (uint32_t)setting->name.length;
    cookie->value_length = (uint32_t)setting->value.length;
    cookie->domain_length = (uint32_t)setting->domain.length;
    cookie->path_length = (uint32_t)setting->path.length;
    cookie->expires_unix_s = setting->expires_unix_s;
    cookie->is_host_only = is_host_only;
    cookie->is_secure = setting->is_secure;
}

/* Whether the domain that a cookie asks for may be had by this host: its own, or one above it, but for a name without a
 * dot, which is as good as a public suffix. */
static bool may_have_domain(struct http_slice host, struct http_slice domain)
{
    if (!is_in_domain(host, domain))
        return false;
    return host.length == domain.length || memchr(domain.text, '.', domain.length) != NULL;
}

void http_jar_set(struct http_jar *jar, struct http_slice set_cookie, struct http_slice host, struct http_slice path,
                  int64_t now_unix_s)
{
    struct setting setting = {.expires_unix_s = INT64_MAX};
    if (host.length == 0 || host.length > ATTRIBUTE_BYTES_MOST || !parse_setting(set_cookie, now_unix_s, &setting))
        return;
    bool is_host_only = setting.domain.length == 0;
    if (is_host_only)
        setting.domain = host;
    else if (!may_have_domain(host, setting.domain))
        return;
    if (setting.path.text == NULL)
        setting.path = folder_of(only_path(path));
    if (setting.path.length > ATTRIBUTE_BYTES_MOST)
        return;
    int index = find_cookie(jar, &setting);
    if (setting.expires_unix_s <= now_unix_s) {
        if (index >= 0)
            remove_cookie(jar, index);
        return;
    }
    fill_cookie(index >= 0 ? &jar->cookies[index] : add_cookie(jar, now_unix_s), &setting, is_host_only);
}

static bool is_for(const struct http_cookie *cookie, bool is_tls, struct http_slice host, struct http_slice path,
                   int64_t now_unix_s)
{
    struct http_slice domain = cookie_domain(cookie);
    if (cookie->expires_unix_s <= now_unix_s || (cookie->is_secure && !is_tls))
        return false;
    if (!is_in_domain(host, domain) || (cookie->is_host_only && host.length != domain.length))
        return false;
    return is_in_path(path, cookie_path(cookie));
}

bool http_jar_header(const struct http_jar *jar, bool is_tls, struct http_slice host, struct http_slice path,
                     int64_t now_unix_s, struct pl_buf *into)
{
    const struct http_cookie *sent[COOKIES_MOST]; /* longer paths first, of the same length the older ones */
    int count = 0;
    path = only_path(path);
    for (int i = 0; i < jar->count; i++) {
        const struct http_cookie *cookie = &jar->cookies[i];
        if (!is_for(cookie, is_tls, host, path, now_unix_s))
            continue;
        int at = count++;
        for (; at > 0 && sent[at - 1]->path_length < cookie->path_length; at--)
            sent[at] = sent[at - 1];
        sent[at] = cookie;
    }
    for (int i = 0; i < count; i++) {
        if (i > 0)
            pl_buf_put_bytes(into, "; ", 2);
        pl_buf_put_bytes(into, sent[i]->bytes, sent[i]->name_length);
        pl_buf_put_bytes(into, "=", 1);
        pl_buf_put_bytes(into, sent[i]->bytes + sent[i]->name_length, sent[i]->value_length);
    }
    return count > 0;
}
