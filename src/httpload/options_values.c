/* Values of single options: strict, and refused with what would be right. */
#include "httpload/options_int.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "httpload/say_int.h"

#include "base/ban.h"

#define LONGEST_NS (INT64_C(100) * 365 * 24 * 3600 * PL_NS_PER_S / 10) /* ten years: sums of a few still fit */
#define RATE_LEAST_PER_S 1e-6
#define RATE_MOST_PER_S 1e9
#define OPERATIONS_OF_A_USER_MOST 1e9

void httpload_texts_add(struct httpload_texts *texts, struct pl_arena *arena, const char *text)
{
    texts->items = pl_grow(arena, texts->items, texts->count, texts->count + 2, sizeof *texts->items, &texts->capacity);
    texts->items[texts->count++] = text;
    texts->items[texts->count] = NULL;
}

bool httpload_value_int(const char *given, const char *text, int64_t low, int64_t high, int64_t *ret_value)
{
    int64_t value = 0;
    enum pl_num_result result = pl_num_i64(text, strlen(text), &value);
    if (result == PL_NUM_OK && value >= low && value <= high) {
        *ret_value = value;
        return true;
    }
    if (result == PL_NUM_OK || result == PL_NUM_RANGE)
        return httpload_say("%s must be a number from %lld to %lld, not %s", given, (long long)low, (long long)high, text);
    return httpload_say("%s: \"%s\" is no whole number", given, text);
}

bool httpload_value_duration(const char *given, const char *text, int64_t low_ns, int64_t *ret_ns)
{
    int64_t ns = 0;
    switch (pl_num_duration_ns(text, strlen(text), &ns)) {
    case PL_NUM_OK:
        break;
    case PL_NUM_NO_UNIT:
        return httpload_say("%s: \"%s\" needs a unit: %ss, %sms, %sm", given, text, text, text, text);
    case PL_NUM_BAD_UNIT:
        return httpload_say("%s: the unit of \"%s\" must be ns, us, ms, s, m (or min), h or d", given, text);
    case PL_NUM_BAD:
    case PL_NUM_RANGE:
        return httpload_say("%s: \"%s\" is no time: 500ms, 10s, 1m", given, text);
    }
    if (ns >= low_ns && ns <= LONGEST_NS) {
        *ret_ns = ns;
        return true;
    }
    return httpload_say("%s must be at least %lld ms and at most ten years, not %s", given,
                        (long long)(low_ns / PL_NS_PER_MS), text);
}

bool httpload_value_rate(const char *given, const char *text, double *ret_per_s)
{
    double per_s = 0;
    switch (pl_num_rate(text, strlen(text), &per_s)) {
    case PL_NUM_OK:
        break;
    case PL_NUM_NO_UNIT:
        return httpload_say("%s: \"%s\" needs a unit: %s/s, %s/min, %s/h", given, text, text, text, text);
    case PL_NUM_BAD_UNIT:
        return httpload_say("%s: the unit of \"%s\" must be /s, /min (or /m) or /h", given, text);
    case PL_NUM_BAD:
    case PL_NUM_RANGE:
        return httpload_say("%s: \"%s\" is no rate: 200/s, 90/min, 1.5/s", given, text);
    }
    if (per_s >= RATE_LEAST_PER_S && per_s <= RATE_MOST_PER_S) {
        *ret_per_s = per_s;
        return true;
    }
    return httpload_say("%s must be from 1e-6/s to 1e9/s, not %s", given, text);
}

bool httpload_value_seed(const char *given, const char *text, uint64_t *ret_seed)
{
    uint64_t seed = 0;
    bool is_good = text[0] != '\0';
    for (const char *at = text; *at != '\0' && is_good; at++)
        is_good = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(seed, (uint64_t)10, &seed) &&
                  !__builtin_add_overflow(seed, (uint64_t)(*at - '0'), &seed);
    if (!is_good)
        return httpload_say("%s: \"%s\" is no number from 0 to 18446744073709551615", given, text);
    *ret_seed = seed;
    return true;
}

/* The text before a last ":WORD". */
static const char *before_word(struct pl_arena *arena, const char *text, const char *word, bool *ret_found)
{
    size_t length = strlen(text), tail = strlen(word) + 1;
    *ret_found = length > tail && text[length - tail] == ':' && strcmp(text + length - tail + 1, word) == 0;
    return *ret_found ? pl_strndup(arena, text, length - tail) : text;
}

bool httpload_value_think(struct httpload_parse *parse, const char *given, const char *text)
{
    const char *time = before_word(parse->arena, text, "exponential", &parse->chosen.think_exponential);
    const char *colon = strchr(time, ':');
    if (colon != NULL)
        return httpload_say("%s: a time may be followed by \":exponential\", not by \"%s\"", given, colon);
    return httpload_value_duration(given, time, 0, &parse->chosen.think_ns);
}

bool httpload_value_sessions(struct httpload_parse *parse, const char *given, const char *text)
{
    double count;
    const char *number = before_word(parse->arena, text, "geometric", &parse->chosen.session_geometric);
    if (pl_num_f64(number, strlen(number), &count) != PL_NUM_OK || count < 1 || count > OPERATIONS_OF_A_USER_MOST)
        return httpload_say("%s: \"%s\" is no number of operations from 1 to 1e9; \":geometric\" may follow it", given,
                            text);
    if (!parse->chosen.session_geometric && count != (double)(int64_t)count)
        return httpload_say("%s: %s operations cannot be carried out; as a mean they can: %s:geometric", given, text, text);
    parse->chosen.session_operations = count;
    return true;
}

static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return length > 0;
}

bool httpload_value_method(struct httpload_parse *parse, const char *given, const char *text)
{
    if (!is_token(text, strlen(text)))
        return httpload_say("%s: \"%s\" is no method: GET, POST, PUT, ...", given, text);
    static const char *const usual[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (strcasecmp(text, usual[i]) == 0 && strcmp(text, usual[i]) != 0)
            return httpload_say("%s: \"%s\" is another method than %s, which is meant: capitals matter", given, text,
                                usual[i]);
    parse->chosen.method = text;
    return true;
}

static bool is_name(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

/* What would go out beside what the load states itself, or beside another one. */
static bool header_fits(const struct httpload_parse *parse, const char *given, const char *text, size_t length)
{
    if (is_name(text, length, "Content-Length") || is_name(text, length, "Transfer-Encoding"))
        return httpload_say("%s: \"%.*s\" follows from the body and is stated by the load", given, (int)length, text);
    for (size_t i = 0; i < parse->chosen.headers.count; i++)
        if (is_name(text, length,
                    pl_strndup(parse->arena, parse->chosen.headers.items[i], strcspn(parse->chosen.headers.items[i], ":"))))
            return httpload_say("%s: \"%.*s\" is given twice; a Hurl file may have several of one name", given, (int)length,
                                text);
    return true;
}

/* Headers may be secret: a wrong one is not repeated. */
bool httpload_value_header(struct httpload_parse *parse, const char *given, const char *text)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return httpload_say("%s: a header is written 'Name: value', and a colon is missing", given);
    if (!is_token(text, (size_t)(colon - text)))
        return httpload_say("%s: what stands before the colon is no name of a header", given);
    for (const char *at = colon; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            return httpload_say("%s: the value of \"%.*s\" holds a control character", given, (int)(colon - text), text);
    if (!header_fits(parse, given, text, (size_t)(colon - text)))
        return false;
    httpload_texts_add(&parse->chosen.headers, parse->arena, text);
    return true;
}

bool httpload_value_user(struct httpload_parse *parse, const char *given, const char *text)
{
    if (strchr(text, ':') == NULL)
        return httpload_say("%s is NAME:PASSWORD, and the colon is missing (NAME: has an empty password)", given);
    parse->chosen.user = text;
    return true;
}

bool httpload_value_variable(struct httpload_parse *parse, const char *given, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return httpload_say("%s is NAME=VALUE, and \"=\" is missing in \"%s\"", given, text);
    if (!program_is_given_name(text, (size_t)(equals - text)))
        return httpload_say("%s: \"%.*s\" is no name of a variable: letters, digits, _ and -, a letter first", given,
                            (int)(equals - text), text);
    httpload_texts_add(&parse->chosen.variables, parse->arena, text);
    return true;
}

/* HOST:PORT:ADDRESS:PORT; hosts and ports may be empty, and addresses stand in brackets when they hold colons. */
bool httpload_value_connect_to(struct httpload_parse *parse, const char *given, const char *text)
{
    int colons = 0;
    bool in_brackets = false;
    for (const char *at = text; *at != '\0'; at++) {
        in_brackets = *at == '[' || (in_brackets && *at != ']');
        colons += *at == ':' && !in_brackets;
    }
    if (colons != 3 || in_brackets)
        return httpload_say("%s is HOST:PORT:ADDRESS:PORT (an IPv6 address in brackets), not \"%s\"", given, text);
    httpload_texts_add(&parse->chosen.connect_to, parse->arena, text);
    return true;
}

bool httpload_value_source(struct httpload_parse *parse, const char *given, const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, text, address) != 1 && inet_pton(AF_INET6, text, address) != 1)
        return httpload_say("%s: \"%s\" is no IP address: 192.0.2.7 or 2001:db8::7", given, text);
    httpload_texts_add(&parse->chosen.sources, parse->arena, text);
    return true;
}

bool httpload_value_tenants(struct httpload_parse *parse, const char *given, const char *text)
{
    if (parse->chosen.tenants_text != NULL)
        return httpload_say("%s was given twice: tenants are one file, or one number", given);
    parse->chosen.tenants_text = text;
    if (text[0] != '\0' && strspn(text, "0123456789_") == strlen(text))
        return httpload_value_int(given, text, 1, 5000000, &parse->chosen.tenant_count);
    return httpload_value_file(given, text, &parse->chosen.tenants_text);
}

/* A pattern may be a credential: a wrong one is not repeated. */
bool httpload_value_tenant(struct httpload_parse *parse, const char *given, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return httpload_say("%s is COLUMN=PATTERN: 'host=t{n}.example'", given);
    for (const char *at = strchr(equals, '{'); at != NULL; at = strchr(at + 1, '{')) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        bool is_place = length > 0 && (at[1 + length] == '}' || at[1 + length] == ':');
        if (is_place && (length != 1 || at[1] != 'n'))
            return httpload_say(
                "%s: the column \"%.*s\" holds a place that is none: {n} is the tenant's number, {n:04} the "
                "same with zeros",
                given, (int)(equals - text), text);
    }
    httpload_texts_add(&parse->chosen.tenant_columns, parse->arena, text);
    return true;
}

bool httpload_value_file(const char *given, const char *text, const char **ret_path)
{
    if (text[0] == '\0')
        return httpload_say("%s needs the name of a file", given);
    *ret_path = text;
    return true;
}

bool httpload_feed_split(struct pl_arena *arena, const char *text, const char **ret_path, enum feed_order *ret_order)
{
    static const struct {
        const char *name;
        enum feed_order order;
    } orders[] = {{"sequential", FEED_SEQUENTIAL}, {"random", FEED_RANDOM}, {"unique", FEED_UNIQUE}};
    *ret_path = text;
    *ret_order = FEED_SEQUENTIAL;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        bool is_found;
        const char *path = before_word(arena, text, orders[i].name, &is_found);
        if (is_found) {
            *ret_path = path;
            *ret_order = orders[i].order;
            return true;
        }
    }
    const char *colon = strrchr(text, ':');
    if (text[0] == '\0')
        return httpload_say("--feed needs the name of a file");
    if (colon != NULL && strchr(colon, '.') == NULL && strchr(colon, '/') == NULL)
        return httpload_say("--feed: \"%s\" is no order: sequential, random or unique", colon + 1);
    return true;
}
