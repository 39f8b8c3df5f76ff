/* JSON as a body: kept as it is written, with templates in strings and in place of values. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/ban.h"

struct json_reader {
    struct parser *p;
    struct parse_pieces pieces;
    int depth;
};

static bool read_value(struct json_reader *reader);

/* Takes one byte over. */
static void keep(struct json_reader *reader)
{
    parse_put(reader->p, reader->p->text + reader->p->pos++, 1);
}

static void keep_spaces(struct json_reader *reader)
{
    for (char c; (c = parse_peek(reader->p, 0)) == ' ' || c == '\t' || c == '\n' || c == '\r';)
        keep(reader);
}

/* ---- strings ---- */

static bool read_escape(struct json_reader *reader)
{
    enum { DIGITS = 4 };
    struct parser *p = reader->p;
    size_t at = p->pos;
    char c = parse_peek(p, 1);
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL)
        return parse_fail(p, at, "JSON has no such escape: a backslash itself is written \\\\");
    keep(reader);
    keep(reader);
    for (int i = 0; c == 'u' && i < DIGITS; i++) {
        if (parse_hex_digit(parse_peek(p, 0)) < 0)
            return parse_fail(p, at, "\\u needs four hexadecimal digits in JSON");
        keep(reader);
    }
    return true;
}

static bool read_string(struct json_reader *reader)
{
    struct parser *p = reader->p;
    size_t at = p->pos;
    keep(reader);
    for (char c; (c = parse_peek(p, 0)) != '"';) {
        if (c == '\0' || c == '\n' || c == '\r')
            return parse_fail(p, at, "the string that begins here does not end on its line");
        if ((unsigned char)c < ' ')
            return parse_fail(p, p->pos, "JSON holds no control characters: a tab is written \\t");
        if (c == '{' && parse_peek(p, 1) == '{') {
            if (!parse_put_expression(p, &reader->pieces))
                return false;
        } else if (c == '\\') {
            if (!read_escape(reader))
                return false;
        } else {
            keep(reader);
        }
    }
    keep(reader);
    return true;
}

/* ---- numbers and words ---- */

static bool read_digits(struct json_reader *reader)
{
    size_t at = reader->p->pos;
    while (parse_is_digit(parse_peek(reader->p, 0)))
        keep(reader);
    return reader->p->pos > at || parse_fail(reader->p, at, "a digit is missing");
}

static bool read_number(struct json_reader *reader)
{
    struct parser *p = reader->p;
    if (parse_peek(p, 0) == '-')
        keep(reader);
    if (parse_peek(p, 0) == '0' && parse_is_digit(parse_peek(p, 1)))
        return parse_fail(p, p->pos, "a JSON number begins with no 0");
    if (!read_digits(reader))
        return false;
    if (parse_peek(p, 0) == '.') {
        keep(reader);
        if (!read_digits(reader))
            return false;
    }
    if ((parse_peek(p, 0) | 0x20) == 'e') {
        keep(reader);
        if (parse_peek(p, 0) == '+' || parse_peek(p, 0) == '-')
            keep(reader);
        return read_digits(reader);
    }
    return true;
}

static bool read_word(struct json_reader *reader)
{
    struct parser *p = reader->p;
    size_t at = p->pos;
    struct hurl_slice word = parse_word(p);
    if (!parse_slice_is(word, "true") && !parse_slice_is(word, "false") && !parse_slice_is(word, "null")) {
        p->pos = at;
        return parse_fail(p, at, "a JSON value is missing");
    }
    parse_put(p, word.text, word.length);
    return true;
}

/* ---- lists and objects ---- */

/* One member or item, without what separates it. */
static bool read_item(struct json_reader *reader, bool is_object)
{
    struct parser *p = reader->p;
    if (is_object) {
        if (parse_peek(p, 0) != '"')
            return parse_fail(p, p->pos, "a member of a JSON object should begin here: \"name\": value");
        if (!read_string(reader))
            return false;
        keep_spaces(reader);
        if (parse_peek(p, 0) != ':')
            return parse_fail(p, p->pos, "\":\" is missing after the name of the member");
        keep(reader);
        keep_spaces(reader);
    }
    return read_value(reader);
}

static bool read_items(struct json_reader *reader)
{
    struct parser *p = reader->p;
    size_t open = p->pos;
    bool is_object = parse_peek(p, 0) == '{';
    char close = is_object ? '}' : ']';
    keep(reader);
    keep_spaces(reader);
    for (bool is_first = true; parse_peek(p, 0) != close; is_first = false) {
        size_t comma = p->pos;
        if (parse_peek(p, 0) == '\0')
            return parse_fail(p, open, "the JSON %s that begins here does not end", is_object ? "object" : "list");
        if (!is_first && parse_peek(p, 0) != ',')
            return parse_fail(p, p->pos, "\",\" or \"%c\" is missing", close);
        if (!is_first) {
            keep(reader);
            keep_spaces(reader);
            if (parse_peek(p, 0) == close)
                return parse_fail(p, comma, "the comma before \"%c\" is too much", close);
        }
        if (!read_item(reader, is_object))
            return false;
        keep_spaces(reader);
    }
    keep(reader);
    return true;
}

static bool read_value(struct json_reader *reader)
{
    struct parser *p = reader->p;
    char c = parse_peek(p, 0);
    if (parse_starts(p, "{{"))
        return parse_put_expression(p, &reader->pieces);
    if (c == '"')
        return read_string(reader);
    if (parse_is_digit(c) || c == '-')
        return read_number(reader);
    if (c != '{' && c != '[')
        return read_word(reader);
    if (reader->depth == PARSE_DEPTH_MOST)
        return parse_fail_code(p, PL_LIMIT, p->pos, "the JSON is more than %d levels deep", PARSE_DEPTH_MOST);
    reader->depth++;
    bool is_read = read_items(reader);
    reader->depth--;
    return is_read;
}

bool parse_json(struct parser *p, struct hurl_text *ret_text)
{
    struct json_reader reader = {.p = p};
    if (!read_value(&reader))
        return false;
    parse_end_text(p, &reader.pieces, ret_text);
    return true;
}
