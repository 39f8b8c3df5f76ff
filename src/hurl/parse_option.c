/* [Options]: a table of what Hurl has, and what each does under load. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

/* ---- the words ---- */

enum option_kind {
    OPTION_NOTHING, /* a boolean that means nothing under load */
    OPTION_VERBOSITY,
    OPTION_COMPRESSED,
    OPTION_CONNECT_TIMEOUT,
    OPTION_DELAY,
    OPTION_HEADER,
    OPTION_HTTP_1_0,
    OPTION_HTTP_1_1,
    OPTION_HTTP_2,
    OPTION_INSECURE,
    OPTION_LOCATION,
    OPTION_MAX_REDIRS,
    OPTION_MAX_TIME,
    OPTION_REPEAT,
    OPTION_RETRY,
    OPTION_RETRY_INTERVAL,
    OPTION_SKIP,
    OPTION_UNIX_SOCKET,
    OPTION_USER,
    OPTION_VARIABLE,
    OPTION_REFUSED
};

/* arguments: whether it is a boolean; refused ones that are false ask for nothing and are taken. */
static const struct parse_word option_words[] = {
    {"aws-sigv4", OPTION_REFUSED, false, "requests are not signed"},
    {"cacert", OPTION_REFUSED, false, "it belongs to the whole load: --cacert"},
    {"cert", OPTION_REFUSED, false, "it belongs to the whole load: --cert"},
    {"compressed", OPTION_COMPRESSED, true, NULL},
    {"connect-timeout", OPTION_CONNECT_TIMEOUT, false, NULL},
    {"connect-to", OPTION_REFUSED, false, "it belongs to the whole load: --connect-to"},
    {"delay", OPTION_DELAY, false, NULL},
    {"digest", OPTION_REFUSED, true, "of authentication only Basic is done"},
    {"header", OPTION_HEADER, false, NULL},
    {"http1.0", OPTION_HTTP_1_0, true, NULL},
    {"http1.1", OPTION_HTTP_1_1, true, NULL},
    {"http2", OPTION_HTTP_2, true, NULL},
    {"http3", OPTION_REFUSED, true, "HTTP/1.1 and HTTP/2 are spoken"},
    {"insecure", OPTION_INSECURE, true, NULL},
    {"ipv4", OPTION_REFUSED, true, "all addresses of a name are used; write the address into the URL"},
    {"ipv6", OPTION_REFUSED, true, "all addresses of a name are used; write the address into the URL"},
    {"key", OPTION_REFUSED, false, "it belongs to the whole load: --key"},
    {"limit-rate", OPTION_REFUSED, false, "bodies are sent and received as fast as it goes"},
    {"location", OPTION_LOCATION, true, NULL},
    {"location-trusted", OPTION_REFUSED, true, "credentials are not sent to another host; \"location\" follows redirects"},
    {"max-redirs", OPTION_MAX_REDIRS, false, NULL},
    {"max-time", OPTION_MAX_TIME, false, NULL},
    {"negotiate", OPTION_REFUSED, true, "of authentication only Basic is done"},
    {"netrc", OPTION_REFUSED, true, "credentials stand in the script or its variables"},
    {"netrc-file", OPTION_REFUSED, false, "credentials stand in the script or its variables"},
    {"netrc-optional", OPTION_REFUSED, true, "credentials stand in the script or its variables"},
    {"ntlm", OPTION_REFUSED, true, "of authentication only Basic is done"},
    {"output", OPTION_REFUSED, false, "responses are not written to files"},
    {"path-as-is", OPTION_REFUSED, true, "write the path as it should be sent"},
    {"pinned-pub-key", OPTION_REFUSED, false, "certificates are verified, or not (\"insecure\")"},
    {"proxy", OPTION_REFUSED, false, "what is measured should be the server"},
    {"repeat", OPTION_REPEAT, false, NULL},
    {"resolve", OPTION_REFUSED, false, "the whole load may go elsewhere: --connect-to"},
    {"retry", OPTION_RETRY, false, NULL},
    {"retry-interval", OPTION_RETRY_INTERVAL, false, NULL},
    {"skip", OPTION_SKIP, true, NULL},
    {"unix-socket", OPTION_UNIX_SOCKET, false, NULL},
    {"user", OPTION_USER, false, NULL},
    {"variable", OPTION_VARIABLE, false, NULL},
    {"verbose", OPTION_NOTHING, true, NULL},
    {"verbosity", OPTION_VERBOSITY, false, NULL},
    {"very-verbose", OPTION_NOTHING, true, NULL},
};

const struct parse_words parse_options = {"option", option_words, sizeof option_words / sizeof option_words[0]};

/* ---- values ---- */

/* Something that must be known before the load begins stands as a variable. */
static bool fail_variable(struct parser *p)
{
    return parse_fail(p, p->pos, "a variable is not supported here: this is settled before the load begins");
}

static bool read_boolean(struct parser *p, bool *ret_value)
{
    size_t at = p->pos;
    if (parse_starts(p, "{{"))
        return fail_variable(p);
    struct hurl_slice word = parse_word(p);
    *ret_value = parse_slice_is(word, "true");
    if (*ret_value || parse_slice_is(word, "false"))
        return true;
    p->pos = at;
    return parse_fail(p, at, "true or false should stand here");
}

/* -1: without limit */
static bool read_count(struct parser *p, int64_t *ret_count)
{
    size_t at = p->pos;
    if (!parse_is_digit(parse_peek(p, 0)) && parse_peek(p, 0) != '-')
        return parse_fail(p, at, "a whole number should stand here, or -1 for no limit");
    return parse_integer(p, ret_count) && (*ret_count >= -1 || parse_fail(p, at, "the number is below -1"));
}

/* A number with ms, s, m, h, or without: then unit_ns. */
static bool read_duration(struct parser *p, int64_t unit_ns, int64_t *ret_ns)
{
    static const struct parse_word units[] = {{"ms", 0, 0, NULL}, {"s", 1, 0, NULL}, {"m", 2, 0, NULL}, {"h", 3, 0, NULL}};
    static const int64_t unit_lengths[] = {PL_NS_PER_MS, PL_NS_PER_S, 60 * PL_NS_PER_S, 3600 * PL_NS_PER_S};
    static const struct parse_words words = {"unit of time", units, sizeof units / sizeof units[0]};
    size_t at = p->pos;
    int64_t number;
    if (!parse_is_digit(parse_peek(p, 0)))
        return parse_fail(p, at, "a duration should stand here: a whole number with ms, s, m or h");
    if (!parse_integer(p, &number))
        return false;
    if (parse_peek(p, 0) == '.')
        return parse_fail(p, at, "a duration is a whole number with ms, s, m or h: 1500ms, not 1.5s");
    size_t unit_at = p->pos;
    struct hurl_slice unit = parse_word(p);
    const struct parse_word *found = parse_find(&words, unit);
    if (unit.length > 0 && found == NULL)
        return parse_fail_word(p, unit_at, unit, &words, NULL);
    return !__builtin_mul_overflow(number, found != NULL ? unit_lengths[found->kind] : unit_ns, ret_ns) ||
           parse_fail(p, at, "the duration is too long");
}

/* A single expression as the whole value. */
static bool read_template(struct parser *p, struct hurl_text *ret_text)
{
    struct parse_pieces pieces = {0};
    if (!parse_put_expression(p, &pieces))
        return false;
    parse_end_text(p, &pieces, ret_text);
    return true;
}

enum amount_form { AMOUNT_BOOLEAN, AMOUNT_COUNT, AMOUNT_MS };

static bool read_amount(struct parser *p, enum amount_form form, struct parse_amount *amount)
{
    bool flag = false;
    int64_t ns = 0;
    *amount = (struct parse_amount){.is_set = true, .is_template = parse_starts(p, "{{"), .at = p->pos};
    if (amount->is_template)
        return read_template(p, &amount->text);
    bool is_read = form == AMOUNT_BOOLEAN ? read_boolean(p, &flag)
                   : form == AMOUNT_COUNT ? read_count(p, &amount->number)
                                          : read_duration(p, PL_NS_PER_MS, &ns);
    if (form == AMOUNT_BOOLEAN)
        amount->number = flag;
    else if (form == AMOUNT_MS)
        amount->number = ns / PL_NS_PER_MS;
    return is_read;
}

/* ---- single options ---- */

/* null, true, false, a number, a text in quotes or not. */
static bool read_value(struct parser *p, struct parse_definition *definition)
{
    size_t at = p->pos;
    struct hurl_text text;
    bool is_quoted = parse_peek(p, 0) == '"';
    if (!parse_text(p, is_quoted ? STYLE_QUOTED : STYLE_VALUE, &text))
        return false;
    struct value *value = &definition->value;
    definition->is_template = !hurl_text_is_constant(&text);
    definition->text = text;
    if (definition->is_template)
        return true;
    struct hurl_slice literal = parse_literal(&text);
    if (memchr(literal.text, '\0', literal.length) != NULL)
        return parse_fail(p, at, "the value of a variable holds no NUL");
    *value = (struct value){.type = VALUE_TEXT, .length = (uint32_t)literal.length, .text = literal.text};
    if (is_quoted)
        return true;
    int64_t number;
    double fraction;
    if (parse_slice_is(literal, "null"))
        *value = (struct value){.type = VALUE_NULL};
    else if (parse_slice_is(literal, "true") || parse_slice_is(literal, "false"))
        *value = (struct value){.type = VALUE_BOOL, .b = literal.text[0] == 't'};
    else if (memchr(literal.text, '_', literal.length) != NULL) /* no number of Hurl's */
        return true;
    else if (pl_num_i64(literal.text, literal.length, &number) == PL_NUM_OK)
        *value = (struct value){.type = VALUE_INT, .i = number};
    else if (pl_num_f64(literal.text, literal.length, &fraction) == PL_NUM_OK)
        *value = (struct value){.type = VALUE_DOUBLE, .d = fraction};
    return true;
}

static bool read_definition(struct parser *p, struct parse_entry *entry)
{
    struct parse_definition definition = {.at = p->pos};
    size_t at = p->pos;
    while (parse_is_name_char(parse_peek(p, 0)))
        p->pos++;
    struct hurl_slice name = parse_since(p, at);
    parse_skip_blanks(p);
    if (parse_peek(p, 0) != '=')
        return parse_fail(p, p->pos, "a variable is set as \"variable: name=value\"");
    p->pos++;
    parse_skip_blanks(p);
    if (!read_value(p, &definition) || !parse_set_variable(p, at, name, &definition.variable))
        return false;
    entry->definitions = pl_grow(p->arena, entry->definitions, entry->definition_count, entry->definition_count + 1,
                                 sizeof definition, &entry->definition_capacity);
    entry->definitions[entry->definition_count++] = definition;
    return true;
}

static bool read_header(struct parser *p, struct parse_pairs *headers)
{
    size_t at = p->pos;
    struct hurl_text text;
    struct hurl_pair pair = {.place = parse_place(p, at)};
    if (!parse_text(p, STYLE_VALUE, &text))
        return false;
    if (!parse_split(p, &text, &pair.name, &pair.value) || pair.name.piece_count == 0)
        return parse_fail(p, at, "a header is written as \"header: Name: value\"");
    headers->list = pl_grow(p->arena, headers->list, headers->count, headers->count + 1, sizeof pair, &headers->capacity);
    headers->list[headers->count++] = pair;
    return parse_check_header(p, at, &pair);
}

static bool read_user(struct parser *p, struct hurl_request *request)
{
    size_t at = p->pos;
    struct hurl_text text;
    if (request->has_basic_auth)
        return parse_fail(p, at, "the request has both [BasicAuth] and the option \"user\"");
    if (!parse_text(p, STYLE_VALUE, &text))
        return false;
    request->has_basic_auth = true;
    return parse_split(p, &text, &request->user, &request->password) ||
           parse_fail(p, at, "\"name:password\" should stand here; each may be a {{variable}}");
}

static bool read_verbosity(struct parser *p)
{
    size_t at = p->pos;
    struct hurl_slice word = parse_word(p);
    return parse_slice_is(word, "brief") || parse_slice_is(word, "verbose") || parse_slice_is(word, "debug") ||
           parse_fail(p, at, "brief, verbose or debug should stand here");
}

static bool read_unix_socket(struct parser *p, struct hurl_facts *facts)
{
    struct hurl_slice path;
    size_t at = p->pos;
    if (!parse_constant_text(p, STYLE_VALUE, "the path of a socket", &path))
        return false;
    facts->unix_socket = path.text;
    return path.length > 0 || parse_fail(p, at, "the path of a socket is missing");
}

static bool read_version(struct parser *p, enum option_kind kind, struct hurl_facts *facts)
{
    bool is_wanted;
    if (!read_boolean(p, &is_wanted))
        return false;
    enum hurl_version version = kind == OPTION_HTTP_1_0   ? HURL_VERSION_1_0
                                : kind == OPTION_HTTP_1_1 ? HURL_VERSION_1_1
                                                          : HURL_VERSION_2;
    if (is_wanted)
        facts->version = version;
    else if (facts->version == version)
        facts->version = HURL_VERSION_ANY;
    return true;
}

static bool read_redirects(struct parser *p, struct hurl_facts *facts)
{
    int64_t count;
    size_t at = p->pos;
    if (parse_starts(p, "{{"))
        return fail_variable(p);
    if (!read_count(p, &count))
        return false;
    facts->max_redirects = (int)count;
    return count <= INT32_MAX || parse_fail(p, at, "the number is too large");
}

static bool read_timeout(struct parser *p, int64_t *ret_ns)
{
    return parse_starts(p, "{{") ? fail_variable(p) : read_duration(p, PL_NS_PER_S, ret_ns);
}

static bool read_repeat(struct parser *p, struct parse_amount *repeat)
{
    size_t at = p->pos;
    return read_amount(p, AMOUNT_COUNT, repeat) &&
           (repeat->is_template || repeat->number >= 0 ||
            parse_fail(p, at, "an operation that repeats without limit never ends: the load repeats the script"));
}

static bool read_refused(struct parser *p, size_t at, const struct parse_word *word)
{
    if (word->arguments && parse_starts(p, "false")) {
        p->pos += strlen("false");
        return true;
    }
    return parse_refuse(p, at, &parse_options, word);
}

/* ---- all of them ---- */

static bool read_option(struct parser *p, size_t at, const struct parse_word *word, struct parse_entry *entry,
                        struct parse_pairs *headers)
{
    struct hurl_facts *facts = &entry->request->facts;
    bool ignored;
    switch ((enum option_kind)word->kind) {
    case OPTION_NOTHING:
        return read_boolean(p, &ignored);
    case OPTION_VERBOSITY:
        return read_verbosity(p);
    case OPTION_COMPRESSED:
        return read_boolean(p, &facts->decodes);
    case OPTION_CONNECT_TIMEOUT:
        return read_timeout(p, &facts->connect_timeout_ns);
    case OPTION_DELAY:
        return read_amount(p, AMOUNT_MS, &entry->delay);
    case OPTION_HEADER:
        return read_header(p, headers);
    case OPTION_HTTP_1_0:
    case OPTION_HTTP_1_1:
    case OPTION_HTTP_2:
        return read_version(p, (enum option_kind)word->kind, facts);
    case OPTION_INSECURE:
        return read_boolean(p, &facts->is_insecure);
    case OPTION_LOCATION:
        return read_boolean(p, &facts->follows);
    case OPTION_MAX_REDIRS:
        return read_redirects(p, facts);
    case OPTION_MAX_TIME:
        return read_timeout(p, &facts->max_time_ns);
    case OPTION_REPEAT:
        return read_repeat(p, &entry->repeat);
    case OPTION_RETRY:
        return read_amount(p, AMOUNT_COUNT, &entry->retry);
    case OPTION_RETRY_INTERVAL:
        return read_amount(p, AMOUNT_MS, &entry->interval);
    case OPTION_SKIP:
        return read_amount(p, AMOUNT_BOOLEAN, &entry->skip);
    case OPTION_UNIX_SOCKET:
        return read_unix_socket(p, facts);
    case OPTION_USER:
        return read_user(p, entry->request);
    case OPTION_VARIABLE:
        return read_definition(p, entry);
    case OPTION_REFUSED:
        return read_refused(p, at, word);
    }
    return true;
}

/* Bytes of the name of an option that stands here with its colon; 0: none does. */
static size_t option_length(const struct parser *p)
{
    size_t length = 0;
    for (char c; parse_is_alnum(c = parse_peek(p, length)) || (c != '\0' && strchr("-._", c) != NULL);)
        length++;
    size_t colon = length;
    while (parse_peek(p, colon) == ' ' || parse_peek(p, colon) == '\t')
        colon++;
    return parse_peek(p, colon) == ':' ? length : 0;
}

bool parse_option_lines(struct parser *p, struct parse_entry *entry, struct parse_pairs *headers)
{
    bool may_wait = p->may_wait; /* options are done in their order, before the request */
    p->may_wait = false;
    size_t length;
    for (parse_skip_lines(p); (length = option_length(p)) > 0; parse_skip_lines(p)) {
        size_t at = p->pos;
        struct hurl_slice name = {.text = p->text + at, .length = length};
        const struct parse_word *word = parse_find(&parse_options, name);
        if (word == NULL)
            return parse_fail_word(p, at, name, &parse_options, NULL);
        p->pos += length;
        parse_skip_blanks(p);
        p->pos++;
        parse_skip_blanks(p);
        if (!read_option(p, at, word, entry, headers) || !parse_line_end(p))
            return false;
    }
    p->may_wait = may_wait;
    return true;
}
