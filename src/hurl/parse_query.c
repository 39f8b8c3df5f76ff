/* Queries and filters. */
#include "hurl/parse_int.h"

#include <string.h>
#include <strings.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/near.h"
#include "json/json.h"

#include "base/ban.h"

/* ---- the words ---- */

enum query_arguments { QUERY_ALONE, QUERY_NAME, QUERY_COOKIE, QUERY_PATH, QUERY_REGEX, QUERY_VARIABLE, QUERY_CERTIFICATE };

static const struct parse_word query_words[] = {
    {"body", HURL_QUERY_BODY, QUERY_ALONE, NULL},
    {"bytes", HURL_QUERY_BYTES, QUERY_ALONE, NULL},
    {"certificate", HURL_QUERY_CERTIFICATE, QUERY_CERTIFICATE, NULL},
    {"cookie", HURL_QUERY_COOKIE, QUERY_COOKIE, NULL},
    {"duration", HURL_QUERY_DURATION, QUERY_ALONE, NULL},
    {"header", HURL_QUERY_HEADER, QUERY_NAME, NULL},
    {"ip", HURL_QUERY_IP, QUERY_ALONE, NULL},
    {"jsonpath", HURL_QUERY_JSONPATH, QUERY_PATH, NULL},
    {"md5", HURL_QUERY_MD5, QUERY_ALONE, NULL},
    {"rawbytes", HURL_QUERY_RAW_BYTES, QUERY_ALONE, NULL},
    {"redirects", HURL_QUERY_REDIRECTS, QUERY_ALONE, NULL},
    {"regex", HURL_QUERY_REGEX, QUERY_REGEX, NULL},
    {"sha256", HURL_QUERY_SHA256, QUERY_ALONE, NULL},
    {"status", HURL_QUERY_STATUS, QUERY_ALONE, NULL},
    {"url", HURL_QUERY_URL, QUERY_ALONE, NULL},
    {"variable", HURL_QUERY_VARIABLE, QUERY_VARIABLE, NULL},
    {"version", HURL_QUERY_VERSION, QUERY_ALONE, NULL},
    {"xpath", 0, 0, "bodies are not read as HTML or XML; \"regex\" or \"body contains\" may do"},
};

enum filter_arguments {
    FILTER_ALONE,
    FILTER_TEXT,
    FILTER_TWO_TEXTS,
    FILTER_REGEX,
    FILTER_REGEX_AND_TEXT,
    FILTER_PATH,
    FILTER_NUMBER
};

static const struct parse_word filter_words[] = {
    {"base64Decode", HURL_FILTER_BASE64_DECODE, FILTER_ALONE, NULL},
    {"base64Encode", HURL_FILTER_BASE64_ENCODE, FILTER_ALONE, NULL},
    {"base64UrlSafeDecode", HURL_FILTER_BASE64_URL_SAFE_DECODE, FILTER_ALONE, NULL},
    {"base64UrlSafeEncode", HURL_FILTER_BASE64_URL_SAFE_ENCODE, FILTER_ALONE, NULL},
    {"charsetDecode", HURL_FILTER_DECODE, FILTER_TEXT, NULL},
    {"count", HURL_FILTER_COUNT, FILTER_ALONE, NULL},
    {"dateFormat", HURL_FILTER_DATE_FORMAT, FILTER_TEXT, NULL},
    {"daysAfterNow", HURL_FILTER_DAYS_AFTER_NOW, FILTER_ALONE, NULL},
    {"daysBeforeNow", HURL_FILTER_DAYS_BEFORE_NOW, FILTER_ALONE, NULL},
    {"decode", HURL_FILTER_DECODE, FILTER_TEXT, NULL},
    {"first", HURL_FILTER_FIRST, FILTER_ALONE, NULL},
    {"format", HURL_FILTER_DATE_FORMAT, FILTER_TEXT, NULL}, /* the older name of dateFormat */
    {"htmlEscape", HURL_FILTER_HTML_ESCAPE, FILTER_ALONE, NULL},
    {"htmlUnescape", HURL_FILTER_HTML_UNESCAPE, FILTER_ALONE, NULL},
    {"jsonpath", HURL_FILTER_JSONPATH, FILTER_PATH, NULL},
    {"last", HURL_FILTER_LAST, FILTER_ALONE, NULL},
    {"location", HURL_FILTER_LOCATION, FILTER_ALONE, NULL},
    {"nth", HURL_FILTER_NTH, FILTER_NUMBER, NULL},
    {"regex", HURL_FILTER_REGEX, FILTER_REGEX, NULL},
    {"replace", HURL_FILTER_REPLACE, FILTER_TWO_TEXTS, NULL},
    {"replaceRegex", HURL_FILTER_REPLACE_REGEX, FILTER_REGEX_AND_TEXT, NULL},
    {"split", HURL_FILTER_SPLIT, FILTER_TEXT, NULL},
    {"toDate", HURL_FILTER_TO_DATE, FILTER_TEXT, NULL},
    {"toFloat", HURL_FILTER_TO_FLOAT, FILTER_ALONE, NULL},
    {"toHex", HURL_FILTER_TO_HEX, FILTER_ALONE, NULL},
    {"toInt", HURL_FILTER_TO_INT, FILTER_ALONE, NULL},
    {"toString", HURL_FILTER_TO_STRING, FILTER_ALONE, NULL},
    {"urlDecode", HURL_FILTER_URL_DECODE, FILTER_ALONE, NULL},
    {"urlEncode", HURL_FILTER_URL_ENCODE, FILTER_ALONE, NULL},
    {"urlQueryParam", HURL_FILTER_URL_QUERY_PARAM, FILTER_TEXT, NULL},
    {"utf8Decode", HURL_FILTER_UTF8_DECODE, FILTER_ALONE, NULL},
    {"utf8Encode", HURL_FILTER_UTF8_ENCODE, FILTER_ALONE, NULL},
    {"xpath", 0, 0, "bodies are not read as HTML or XML; \"regex\" may do"},
};

const struct parse_words parse_queries = {"query", query_words, sizeof query_words / sizeof query_words[0]};
const struct parse_words parse_filters = {"filter", filter_words, sizeof filter_words / sizeof filter_words[0]};

/* ---- regular expressions ---- */

static void free_regex(void *code)
{
    pcre2_code_free(code);
}

static bool compile_regex(struct parser *p, size_t at, bool needs_group, struct hurl_regex *regex)
{
    enum { PATTERN_BYTES = 16 * 1024 };
    struct hurl_slice pattern = parse_literal(&regex->text);
    int error;
    PCRE2_SIZE offset;
    if (pattern.length > PATTERN_BYTES)
        return parse_fail_code(p, PL_LIMIT, at, "the regular expression is longer than %d bytes", PATTERN_BYTES);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.text, pattern.length, HURL_REGEX_OPTIONS, &error, &offset, NULL);
    if (code == NULL) {
        unsigned char message[120];
        pcre2_get_error_message(error, message, sizeof message);
        size_t place = at + 1 + offset < p->pos ? at + 1 + offset : p->pos - 1;
        return parse_fail(p, place, "the regular expression is wrong: %s", (const char *)message);
    }
    pl_arena_on_free(p->arena, free_regex, code);
    uint32_t groups = 0;
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (needs_group && groups == 0)
        return parse_fail(p, at, "the regular expression has no group: what is in ( ) is taken");
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is no JIT it is interpreted */
    regex->code = code;
    return true;
}

/* "/...\/.../": only the slash is escaped, all else is the expression's. */
static bool read_slashed(struct parser *p, struct hurl_text *ret_text)
{
    struct parse_pieces pieces = {0};
    size_t at = p->pos++;
    for (char c; (c = parse_peek(p, 0)) != '/'; p->pos++) {
        if (c == '\0' || c == '\n')
            return parse_fail(p, at, "the regular expression that begins here does not end on its line");
        if (c == '\\' && parse_peek(p, 1) == '/')
            p->pos++;
        else if (c == '\\' && parse_peek(p, 1) != '\0' && parse_peek(p, 1) != '\n')
            parse_put(p, p->text + p->pos++, 1);
        parse_put(p, p->text + p->pos, 1);
    }
    p->pos++;
    parse_end_text(p, &pieces, ret_text);
    return true;
}

bool parse_regex(struct parser *p, bool needs_group, struct hurl_regex *ret_regex)
{
    size_t at = p->pos;
    char c = parse_peek(p, 0);
    if (c != '"' && c != '/')
        return parse_fail(p, at, "a regular expression is missing: /.../ or \"...\"");
    bool is_read = c == '/' ? read_slashed(p, &ret_regex->text) : parse_text(p, STYLE_QUOTED, &ret_regex->text);
    return is_read && (!hurl_text_is_constant(&ret_regex->text) || compile_regex(p, at, needs_group, ret_regex));
}

/* ---- JSONPath ---- */

static bool read_path(struct parser *p, struct hurl_path *ret_path)
{
    size_t at = p->pos, wrong_at = 0;
    if (!parse_text(p, STYLE_QUOTED, &ret_path->text))
        return false;
    if (!hurl_text_is_constant(&ret_path->text))
        return true;
    struct hurl_slice path = parse_literal(&ret_path->text);
    const char *wrong = json_path_compile(path.text, path.length, p->arena, &ret_path->path, &wrong_at);
    if (wrong == NULL)
        return true;
    size_t place = at + 1 + wrong_at < p->pos ? at + 1 + wrong_at : p->pos - 1;
    return parse_fail(p, place, "the JSONPath is wrong: %s", wrong);
}

/* ---- filters ---- */

static bool read_regex_and_text(struct parser *p, struct hurl_filter *filter)
{
    return parse_regex(p, false, &filter->regex) && parse_blanks(p, "the second argument of the filter") &&
           parse_text(p, STYLE_QUOTED, &filter->second);
}

static bool read_filter_arguments(struct parser *p, enum filter_arguments arguments, struct hurl_filter *filter)
{
    if (arguments != FILTER_ALONE && !parse_blanks(p, "the argument of the filter"))
        return false;
    switch (arguments) {
    case FILTER_ALONE:
        return true;
    case FILTER_TEXT:
        return parse_text(p, STYLE_QUOTED, &filter->text);
    case FILTER_TWO_TEXTS:
        if (parse_peek(p, 0) == '/') { /* older files: replace /a/ "b" */
            filter->kind = HURL_FILTER_REPLACE_REGEX;
            return read_regex_and_text(p, filter);
        }
        return parse_text(p, STYLE_QUOTED, &filter->text) && parse_blanks(p, "the second argument of the filter") &&
               parse_text(p, STYLE_QUOTED, &filter->second);
    case FILTER_REGEX:
        return parse_regex(p, true, &filter->regex);
    case FILTER_REGEX_AND_TEXT:
        return read_regex_and_text(p, filter);
    case FILTER_PATH:
        return read_path(p, &filter->path);
    case FILTER_NUMBER:
        if (parse_starts(p, "{{"))
            return parse_fail(p, p->pos, "a variable as the index of \"nth\" is not supported: write a number");
        return parse_integer(p, &filter->number);
    }
    return true;
}

bool parse_filter_list(struct parser *p, bool in_expression, const struct hurl_filter **ret_filters, size_t *ret_count)
{
    struct hurl_filter *list = NULL;
    size_t count = 0, capacity = 0;
    for (;;) {
        size_t before = p->pos;
        parse_skip_blanks(p);
        size_t at = p->pos;
        struct hurl_slice word = parse_word(p);
        const struct parse_word *found = at > before && word.length > 0 ? parse_find(&parse_filters, word) : NULL;
        if (found == NULL) {
            p->pos = before;
            if (in_expression && word.length > 0 && at > before)
                return parse_fail_word(p, at, word, &parse_filters, NULL);
            break;
        }
        if (found->refused != NULL)
            return parse_refuse(p, at, &parse_filters, found);
        list = pl_grow(p->arena, list, count, count + 1, sizeof *list, &capacity);
        list[count] = (struct hurl_filter){.kind = (enum hurl_filter_kind)found->kind, .place = parse_place(p, at)};
        if (!read_filter_arguments(p, (enum filter_arguments)found->arguments, &list[count]))
            return false;
        count++;
    }
    *ret_filters = list;
    *ret_count = count;
    return true;
}

/* ---- queries ---- */

static const struct {
    const char *name;
    enum hurl_cookie_attribute attribute;
} cookie_attributes[] = {{"Value", HURL_COOKIE_VALUE},        {"Expires", HURL_COOKIE_EXPIRES},
                         {"Max-Age", HURL_COOKIE_MAX_AGE},    {"Domain", HURL_COOKIE_DOMAIN},
                         {"Path", HURL_COOKIE_PATH},          {"Secure", HURL_COOKIE_SECURE},
                         {"HttpOnly", HURL_COOKIE_HTTP_ONLY}, {"SameSite", HURL_COOKIE_SAME_SITE}};
enum { COOKIE_ATTRIBUTES = sizeof cookie_attributes / sizeof cookie_attributes[0] };

/* "name[Attribute]": what is in brackets at the end of the text is taken off it. */
static bool take_cookie_attribute(struct parser *p, struct hurl_query *query)
{
    struct hurl_text *text = &query->text;
    struct hurl_piece *pieces = pl_alloc(p->arena, text->piece_count + 1, sizeof *pieces);
    struct hurl_piece *last = text->piece_count > 0 ? &pieces[text->piece_count - 1] : NULL;
    if (last != NULL)
        memcpy(pieces, text->pieces, text->piece_count * sizeof *pieces);
    const char *bracket = last != NULL && last->length > 0 ? memrchr(last->text, '[', last->length) : NULL;
    if (bracket == NULL || last->text[last->length - 1] != ']' || last->variable >= 0)
        return true;
    const char *from = bracket + 1, *to = last->text + last->length - 1;
    size_t at = p->pos - 1 - (size_t)(last->text + last->length - from);
    while (from < to && *from == ' ')
        from++;
    while (from < to && to[-1] == ' ')
        to--;
    last->length = (size_t)(bracket - last->text);
    text->pieces = pieces;
    text->piece_count -= last->length == 0;
    const char *names[COOKIE_ATTRIBUTES];
    for (size_t i = 0; i < COOKIE_ATTRIBUTES; i++) {
        names[i] = cookie_attributes[i].name;
        query->cookie = cookie_attributes[i].attribute;
        if (strlen(names[i]) == (size_t)(to - from) && strncasecmp(names[i], from, (size_t)(to - from)) == 0)
            return true;
    }
    const char *name = parse_shown(p, from, (size_t)(to - from)), *near = pl_near(name, names, COOKIE_ATTRIBUTES);
    if (near != NULL)
        return parse_fail(p, at, "a cookie has no attribute \"%s\": did you mean \"%s\"?", name, near);
    return parse_fail(p, at, "a cookie has no attribute \"%s\"", name);
}

static bool read_certificate(struct parser *p, struct hurl_query *query)
{
    static const struct parse_word fields[] = {
        {"Subject", HURL_CERTIFICATE_SUBJECT, 0, NULL},
        {"Issuer", HURL_CERTIFICATE_ISSUER, 0, NULL},
        {"Start-Date", HURL_CERTIFICATE_START_DATE, 0, NULL},
        {"Expire-Date", HURL_CERTIFICATE_EXPIRE_DATE, 0, NULL},
        {"Serial-Number", HURL_CERTIFICATE_SERIAL, 0, NULL},
        {"Subject-Alt-Name", 0, 0, "of a certificate subject, issuer, dates and serial number are kept"},
        {"Value", 0, 0, "of a certificate subject, issuer, dates and serial number are kept"},
    };
    static const struct parse_words words = {"certificate field", fields, sizeof fields / sizeof fields[0]};
    size_t at = p->pos;
    struct hurl_slice name;
    if (!parse_constant_text(p, STYLE_QUOTED, "the field of a certificate", &name))
        return false;
    const struct parse_word *found = parse_find(&words, name);
    if (found == NULL)
        return parse_fail_word(p, at + 1, name, &words, NULL);
    query->certificate = (enum hurl_certificate_field)found->kind;
    return found->refused == NULL || parse_refuse(p, at + 1, &words, found);
}

/* The name of a header, or the names of a path, as far as they are known before the load. */
static bool is_named_secret(const struct hurl_query *query)
{
    const struct hurl_text *text = query->kind == HURL_QUERY_JSONPATH ? &query->path.text : &query->text;
    bool has_name = query->kind == HURL_QUERY_JSONPATH || query->kind == HURL_QUERY_HEADER;
    for (size_t i = 0; has_name && i < text->piece_count; i++)
        if (hurl_name_is_secret(text->pieces[i].text, text->pieces[i].length))
            return true;
    return false;
}

static bool read_query_arguments(struct parser *p, enum query_arguments arguments, struct hurl_query *query)
{
    struct hurl_slice name;
    if (arguments != QUERY_ALONE && !parse_blanks(p, "the argument of the query"))
        return false;
    switch (arguments) {
    case QUERY_ALONE:
        return true;
    case QUERY_NAME:
        return parse_text(p, STYLE_QUOTED, &query->text);
    case QUERY_COOKIE:
        return parse_text(p, STYLE_QUOTED, &query->text) && take_cookie_attribute(p, query);
    case QUERY_PATH:
        return read_path(p, &query->path);
    case QUERY_REGEX:
        return parse_regex(p, true, &query->regex);
    case QUERY_VARIABLE: /* whether it may be set is known at the end of the response */
        if (!parse_constant_text(p, STYLE_QUOTED, "the name of a variable", &name))
            return false;
        query->text = parse_constant(p, name.text, name.length);
        return true;
    case QUERY_CERTIFICATE:
        return read_certificate(p, query);
    }
    return true;
}

bool parse_query(struct parser *p, struct hurl_query *ret_query)
{
    size_t at = p->pos;
    struct hurl_slice word = parse_word(p);
    const struct parse_word *found = parse_find(&parse_queries, word);
    if (word.length == 0)
        return parse_fail(p, at, "a query is missing: status, header \"...\", jsonpath \"...\", body, ...");
    if (found == NULL)
        return parse_fail_word(p, at, word, &parse_queries, NULL);
    if (found->refused != NULL)
        return parse_refuse(p, at, &parse_queries, found);
    *ret_query =
        (struct hurl_query){.kind = (enum hurl_query_kind)found->kind, .place = parse_place(p, at), .variable = -1};
    if (!read_query_arguments(p, (enum query_arguments)found->arguments, ret_query))
        return false;
    ret_query->is_secret = is_named_secret(ret_query);
    return parse_filter_list(p, false, &ret_query->filters, &ret_query->filter_count);
}
