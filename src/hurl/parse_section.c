/* Sections: "[Name]" and the lines that follow it. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/near.h"

#include "base/ban.h"

/* ---- the words ---- */

enum section_side { OF_REQUEST, OF_RESPONSE };

static const struct parse_word section_words[] = {
    {"Asserts", SECTION_ASSERTS, OF_RESPONSE, NULL},
    {"BasicAuth", SECTION_AUTH, OF_REQUEST, NULL},
    {"Captures", SECTION_CAPTURES, OF_RESPONSE, NULL},
    {"Cookies", SECTION_COOKIES, OF_REQUEST, NULL},
    {"Form", SECTION_FORM, OF_REQUEST, NULL},
    {"FormParams", SECTION_FORM, OF_REQUEST, NULL},
    {"Multipart", SECTION_MULTIPART, OF_REQUEST, NULL},
    {"MultipartFormData", SECTION_MULTIPART, OF_REQUEST, NULL},
    {"Options", SECTION_OPTIONS, OF_REQUEST, NULL},
    {"Query", SECTION_QUERY, OF_REQUEST, NULL},
    {"QueryStringParams", SECTION_QUERY, OF_REQUEST, NULL},
};

const struct parse_words parse_sections = {"section", section_words, sizeof section_words / sizeof section_words[0]};

/* "[1]", "[true]" and "[null]" are JSON. */
static bool is_json_word(struct hurl_slice word)
{
    return word.length == 0 || parse_is_digit(word.text[0]) || parse_slice_is(word, "true") ||
           parse_slice_is(word, "false") || parse_slice_is(word, "null");
}

bool parse_is_section(const struct parser *p)
{
    size_t end = 1;
    if (parse_peek(p, 0) != '[')
        return false;
    while (parse_is_alnum(parse_peek(p, end)))
        end++;
    return parse_peek(p, end) == ']' && !is_json_word((struct hurl_slice){.text = p->text + p->pos + 1, .length = end - 1});
}

/* ---- lines "key: value" ---- */

/* Bytes from `at` on up to and with `end`, on this line. */
static size_t length_to(const struct parser *p, size_t at, const char *end)
{
    size_t from = at, length = strlen(end);
    for (char c; (c = parse_peek(p, at)) != '\0' && c != '\n'; at++)
        if (c == end[0] && (length == 1 || parse_peek(p, at + 1) == end[1]))
            return at + length - from;
    return at - from;
}

/* Bytes of one character of a key, or of an escape or an expression in it; 0: it is none. */
static size_t key_piece(const struct parser *p, size_t at)
{
    char c = parse_peek(p, at), next = parse_peek(p, at + 1);
    if (c == '\\' && next == 'u')
        return length_to(p, at, "}");
    if (c == '\\')
        return 2;
    if (c == '{' && next == '{')
        return length_to(p, at, "}}");
    return c != '\0' && (parse_is_name_char(c) || strchr(".[]@$", c) != NULL);
}

bool parse_is_key(const struct parser *p)
{
    size_t at = 0;
    for (size_t length; parse_peek(p, 0) != '[' && (length = key_piece(p, at)) > 0;)
        at += length;
    if (at == 0)
        return false;
    while (parse_peek(p, at) == ' ' || parse_peek(p, at) == '\t')
        at++;
    return parse_peek(p, at) == ':';
}

/* The key and the colon; pos is at the value then. */
static bool read_key(struct parser *p, struct hurl_text *ret_key)
{
    if (!parse_text(p, STYLE_KEY, ret_key))
        return false;
    parse_skip_blanks(p);
    if (parse_peek(p, 0) != ':')
        return parse_fail(p, p->pos, "\":\" is missing after the key");
    p->pos++;
    parse_skip_blanks(p);
    return true;
}

bool parse_check_header(struct parser *p, size_t at, const struct hurl_pair *pair)
{
    for (size_t i = 0; i < pair->name.piece_count; i++)
        for (size_t c = 0; c < pair->name.pieces[i].length; c++) {
            char byte = pair->name.pieces[i].text[c];
            if (!parse_is_alnum(byte) && (byte == '\0' || strchr("!#$%&'*+-.^_`|~", byte) == NULL))
                return parse_fail(p, at, "the name of a header consists of letters, digits and !#$%%&'*+-.^_`|~");
        }
    for (size_t i = 0; i < pair->value.piece_count; i++)
        for (size_t c = 0; c < pair->value.pieces[i].length; c++) {
            char byte = pair->value.pieces[i].text[c];
            if (byte == '\0' || byte == '\r' || byte == '\n')
                return parse_fail(p, at, "the value of a header holds no end of line and no NUL");
        }
    return true;
}

static void add_pair(struct parser *p, struct parse_pairs *pairs, const struct hurl_pair *pair)
{
    pairs->list = pl_grow(p->arena, pairs->list, pairs->count, pairs->count + 1, sizeof *pairs->list, &pairs->capacity);
    pairs->list[pairs->count++] = *pair;
}

bool parse_pairs(struct parser *p, bool are_headers, struct parse_pairs *pairs)
{
    for (parse_skip_lines(p); parse_is_key(p); parse_skip_lines(p)) {
        size_t at = p->pos;
        struct hurl_pair pair = {.place = parse_place(p, at)};
        if (!read_key(p, &pair.name) || !parse_text(p, STYLE_VALUE, &pair.value) ||
            (are_headers && !parse_check_header(p, at, &pair)) || !parse_line_end(p))
            return false;
        add_pair(p, pairs, &pair);
    }
    return true;
}

/* ---- [Multipart] ---- */

/* By the ending of a file's name, as Hurl takes it. */
static const char *content_type_of(struct hurl_slice name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {{".gif", "image/gif"},       {".jpg", "image/jpeg"},     {".jpeg", "image/jpeg"}, {".png", "image/png"},
                 {".svg", "image/svg+xml"},   {".txt", "text/plain"},     {".htm", "text/html"},   {".html", "text/html"},
                 {".pdf", "application/pdf"}, {".xml", "application/xml"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t length = strlen(types[i].ending);
        if (name.length >= length && memcmp(name.text + name.length - length, types[i].ending, length) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* "file,NAME; TYPE", at the name. */
static bool read_file_part(struct parser *p, struct hurl_part *part)
{
    struct hurl_slice name;
    part->is_file = true;
    p->pos += strlen("file,");
    if (!parse_included(p, &name, &part->file))
        return false;
    part->file_name = parse_constant(p, name.text, name.length);
    parse_skip_blanks(p);
    if (!parse_is_line_end(p))
        return parse_text(p, STYLE_VALUE, &part->content_type);
    const char *type = content_type_of(name);
    part->content_type = parse_constant(p, type, strlen(type));
    return true;
}

static bool read_parts(struct parser *p, struct hurl_request *request)
{
    struct hurl_part *list = NULL;
    size_t count = 0, capacity = 0;
    for (parse_skip_lines(p); parse_is_key(p); parse_skip_lines(p)) {
        list = pl_grow(p->arena, list, count, count + 1, sizeof *list, &capacity);
        struct hurl_part *part = &list[count++];
        *part = (struct hurl_part){0};
        if (!read_key(p, &part->name))
            return false;
        bool is_read = parse_starts(p, "file,") ? read_file_part(p, part) : parse_text(p, STYLE_VALUE, &part->value);
        if (!is_read || !parse_line_end(p))
            return false;
    }
    request->parts = list;
    request->part_count = count;
    return true;
}

/* ---- [BasicAuth], [Captures], [Asserts] ---- */

/* A response while its sections are read: a query `variable` is settled at the end, when all captures are known. */
struct expectations {
    struct hurl_capture *captures;
    size_t capture_count, capture_capacity;
    struct hurl_assert *asserts;
    size_t assert_count, assert_capacity;
};

static bool read_auth(struct parser *p, struct hurl_request *request)
{
    struct parse_pairs pairs = {0};
    parse_skip_lines(p);
    size_t at = p->pos;
    if (!parse_pairs(p, false, &pairs))
        return false;
    if (pairs.count > 1)
        return parse_fail(p, at, "[BasicAuth] has one line: \"name: password\"");
    if (pairs.count == 1 && request->has_basic_auth)
        return parse_fail(p, at, "the request has both [BasicAuth] and the option \"user\"");
    if (pairs.count == 1) {
        request->has_basic_auth = true;
        request->user = pairs.list[0].name;
        request->password = pairs.list[0].value;
    }
    return true;
}

static bool read_redact(struct parser *p, bool *ret_is_redacted)
{
    if (parse_is_line_end(p))
        return true;
    if (!parse_blanks(p, "what follows"))
        return false;
    size_t at = p->pos;
    struct hurl_slice word = parse_word(p);
    *ret_is_redacted = parse_slice_is(word, "redact");
    if (*ret_is_redacted)
        return true;
    char c = parse_peek(p, 0);
    if (parse_find(&parse_predicates, word) != NULL || (word.length == 0 && c != '\0' && strchr("=!<>", c) != NULL))
        return parse_fail(p, at, "a capture has no predicate: that belongs into [Asserts]");
    if (word.length == 0)
        return parse_line_end(p);
    if (pl_near(parse_shown(p, word.text, word.length), (const char *const[]){"redact"}, 1) != NULL)
        return parse_fail(p, at, "there is no \"%.*s\" here: did you mean \"redact\"?", (int)word.length, word.text);
    return parse_fail_word(p, at, word, &parse_filters, NULL);
}

static bool read_captures(struct parser *p, struct expectations *all)
{
    for (parse_skip_lines(p); parse_is_key(p); parse_skip_lines(p)) {
        size_t at = p->pos;
        struct hurl_text name;
        struct hurl_capture capture = {.place = parse_place(p, at)};
        if (!read_key(p, &name))
            return false;
        if (!hurl_text_is_constant(&name))
            return parse_fail(p, at, "the name of a capture may not hold a variable");
        if (!parse_query(p, &capture.query) || !read_redact(p, &capture.is_redacted) || !parse_line_end(p) ||
            !parse_set_variable(p, at, parse_literal(&name), &capture.variable))
            return false;
        all->captures = pl_grow(p->arena, all->captures, all->capture_count, all->capture_count + 1, sizeof capture,
                                &all->capture_capacity);
        all->captures[all->capture_count++] = capture;
    }
    return true;
}

/* Asserts begin with small letters, and so do a few bodies; a request does not. */
static bool is_assert(const struct parser *p)
{
    struct hurl_slice word = {.text = p->text + p->pos, .length = 0};
    while (parse_is_alnum(parse_peek(p, word.length)))
        word.length++;
    return word.length > 0 && word.text[0] >= 'a' && word.text[0] <= 'z' && !is_json_word(word) && !parse_is_bytes(p);
}

static bool read_asserts(struct parser *p, struct expectations *all)
{
    for (parse_skip_lines(p); is_assert(p); parse_skip_lines(p)) {
        size_t at = p->pos;
        struct hurl_assert assertion = {0};
        if (!parse_query(p, &assertion.query) || !parse_predicate(p, &assertion.predicate))
            return false;
        struct hurl_slice shown = parse_since(p, at);
        const char *line = memchr(shown.text, '\n', shown.length);
        assertion.text = parse_shown(p, shown.text, line == NULL ? shown.length : (size_t)(line - shown.text));
        if (!parse_line_end(p))
            return false;
        all->asserts = pl_grow(p->arena, all->asserts, all->assert_count, all->assert_count + 1, sizeof assertion,
                               &all->assert_capacity);
        all->asserts[all->assert_count++] = assertion;
    }
    return true;
}

/* ---- all sections of a request or a response ---- */

/* "[Name]" and the end of its line. seen: the kinds that the request or response had. */
static bool read_section_name(struct parser *p, enum section_side side, bool *seen, enum parse_section *ret_section)
{
    size_t at = p->pos++;
    struct hurl_slice word = parse_word(p);
    const struct parse_word *found = parse_find(&parse_sections, word);
    p->pos++;
    if (found == NULL)
        return parse_fail_word(p, at + 1, word, &parse_sections, NULL);
    if (found->arguments == OF_RESPONSE && side == OF_REQUEST)
        return parse_fail(p, at, "[%s] belongs to a response: \"HTTP 200\" or \"HTTP *\" should stand above it",
                          found->name);
    if (found->arguments != (int)side)
        return parse_fail(p, at, "[%s] belongs to a request, above the response", found->name);
    if (seen[found->kind])
        return parse_fail(p, at, "a second section [%s]", found->name);
    seen[found->kind] = true;
    *ret_section = (enum parse_section)found->kind;
    return parse_line_end(p);
}

static bool read_request_section(struct parser *p, enum parse_section section, struct parse_entry *entry,
                                 struct parse_pairs *headers)
{
    struct hurl_request *request = entry->request;
    struct parse_pairs pairs = {0};
    if (section == SECTION_AUTH)
        return read_auth(p, request);
    if (section == SECTION_MULTIPART)
        return read_parts(p, request);
    if (section == SECTION_OPTIONS)
        return parse_option_lines(p, entry, headers);
    if (!parse_pairs(p, false, &pairs))
        return false;
    if (section == SECTION_QUERY) {
        request->query = pairs.list;
        request->query_count = pairs.count;
    } else if (section == SECTION_FORM) {
        request->form = pairs.list;
        request->form_count = pairs.count;
    } else {
        request->cookies = pairs.list;
        request->cookie_count = pairs.count;
    }
    return true;
}

bool parse_request_sections(struct parser *p, struct parse_entry *entry, struct parse_pairs *headers)
{
    bool seen[SECTION_COUNT] = {false};
    enum parse_section section;
    for (parse_skip_lines(p); parse_is_section(p); parse_skip_lines(p))
        if (!read_section_name(p, OF_REQUEST, seen, &section) || !read_request_section(p, section, entry, headers))
            return false;
    return true;
}

static void settle_query(const struct parser *p, struct hurl_query *query)
{
    if (query->kind != HURL_QUERY_VARIABLE)
        return;
    struct hurl_slice name = parse_literal(&query->text);
    int variable = names_use(p->names, name.text, name.length);
    query->variable = variable >= 0 && p->waiting[variable] == 0 ? variable : -1;
}

bool parse_response_sections(struct parser *p, struct hurl_request *request)
{
    bool seen[SECTION_COUNT] = {false};
    struct expectations all = {0};
    enum parse_section section;
    for (parse_skip_lines(p); parse_is_section(p); parse_skip_lines(p))
        if (!read_section_name(p, OF_RESPONSE, seen, &section) ||
            !(section == SECTION_CAPTURES ? read_captures(p, &all) : read_asserts(p, &all)))
            return false;
    for (size_t i = 0; i < all.capture_count; i++)
        settle_query(p, &all.captures[i].query);
    for (size_t i = 0; i < all.assert_count; i++)
        settle_query(p, &all.asserts[i].query);
    request->captures = all.captures;
    request->capture_count = all.capture_count;
    request->asserts = all.asserts;
    request->assert_count = all.assert_count;
    return true;
}
