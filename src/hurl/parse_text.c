/* Strings of a Hurl file: escapes and templates, and the variables in them. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/limits.h"
#include "base/near.h"
#include "base/utf8.h"

#include "base/ban.h"

/* ---- literal bytes ---- */

void parse_put(struct parser *p, const char *bytes, size_t length)
{
    size_t need = p->scratch_length + length;
    p->scratch = pl_grow(p->arena, p->scratch, p->scratch_length, need, 1, &p->scratch_capacity);
    if (length > 0)
        memcpy(p->scratch + p->scratch_length, bytes, length);
    p->scratch_length = need;
}

/* At the "u" of \u{1f600}. */
static bool put_unicode(struct parser *p, size_t at)
{
    enum { DIGITS_MOST = 8 };
    uint32_t code = 0;
    int digits = 0;
    p->pos++;
    bool is_right = parse_peek(p, 0) == '{';
    p->pos += is_right;
    for (int digit; is_right && digits < DIGITS_MOST && (digit = parse_hex_digit(parse_peek(p, 0))) >= 0; digits++) {
        code = code * 16 + (uint32_t)digit;
        p->pos++;
    }
    if (digits == 0 || parse_peek(p, 0) != '}')
        return parse_fail(p, at, "a character is written as \\u{1f600}: hexadecimal digits in braces");
    p->pos++;
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return parse_fail(p, at, "there is no character U+%04X", (unsigned)code);
    char bytes[4];
    parse_put(p, bytes, (size_t)(pl_utf8_encode(bytes, code) - bytes));
    return true;
}

bool parse_put_escape(struct parser *p)
{
    static const char written[] = "\"`#:;\\/{} bfnrt", meant[] = "\"`#:;\\/{} \b\f\n\r\t";
    size_t at = p->pos++;
    char c = parse_peek(p, 0);
    if (c == 'u')
        return put_unicode(p, at);
    const char *found = c != '\0' ? strchr(written, c) : NULL;
    if (found == NULL)
        return parse_fail(p, at, "there is no such escape: a backslash itself is written \\\\");
    parse_put(p, &meant[found - written], 1);
    p->pos++;
    return true;
}

/* ---- variables ---- */

static bool is_waiting(const struct parser *p, int variable)
{
    return p->waiting[variable] != 0;
}

/* The name of a variable, or the names that may be meant. */
static bool fail_unset(struct parser *p, size_t at, struct hurl_slice name)
{
    const char *text = parse_shown(p, name.text, name.length);
    size_t count = names_count(p->names), known = 0;
    const char **list = pl_alloc(p->arena, count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (!is_waiting(p, (int)i))
            list[known++] = names_at(p->names, (int)i);
    const char *near = pl_near(text, list, known);
    if (near != NULL)
        return parse_fail(p, at, "nothing sets the variable \"%s\" before it is used here: did you mean \"%s\"?", text,
                          near);
    return parse_fail(p, at, "nothing sets the variable \"%s\" before it is used here", text);
}

static bool add_variable(struct parser *p, size_t at, struct hurl_slice name, int *ret_variable)
{
    if (names_find(p->names, name.text, name.length) < 0 && names_count(p->names) >= PL_MAX_VARIABLES)
        return parse_fail_code(p, PL_LIMIT, at, "more than %d variables", PL_MAX_VARIABLES);
    *ret_variable = names_add(p->names, name.text, name.length);
    return true;
}

bool parse_variable(struct parser *p, size_t at, struct hurl_slice name, int *ret_variable)
{
    *ret_variable = names_use(p->names, name.text, name.length);
    if (*ret_variable >= 0 && !is_waiting(p, *ret_variable))
        return true;
    if (!p->may_wait)
        return fail_unset(p, at, name);
    if (!add_variable(p, at, name, ret_variable))
        return false;
    p->waiting_count += !is_waiting(p, *ret_variable);
    if (!is_waiting(p, *ret_variable))
        p->waiting[*ret_variable] = at + 1;
    return true;
}

bool parse_set_variable(struct parser *p, size_t at, struct hurl_slice name, int *ret_variable)
{
    static const char *const reserved[] = {"newUuid", "newDate", "getEnv"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (parse_slice_is(name, reserved[i]))
            return parse_fail(p, at, "\"%s\" is a function: no variable may have its name", reserved[i]);
    for (size_t i = 0; i < name.length; i++)
        if (!parse_is_name_char(name.text[i]))
            return parse_fail(p, at, "the name of a variable consists of letters, digits, _ and -");
    if (name.length == 0)
        return parse_fail(p, at, "the name of a variable is missing");
    if (!add_variable(p, at, name, ret_variable))
        return false;
    p->waiting_count -= is_waiting(p, *ret_variable);
    p->waiting[*ret_variable] = 0;
    names_predefine(p->names, names_at(p->names, *ret_variable));
    return true;
}

bool parse_settle(struct parser *p)
{
    int first = -1;
    for (size_t i = 0; p->waiting_count > 0 && i < names_count(p->names); i++)
        if (is_waiting(p, (int)i) && (first < 0 || p->waiting[i] < p->waiting[first]))
            first = (int)i;
    if (first < 0)
        return true;
    const char *name = names_at(p->names, first);
    return fail_unset(p, p->waiting[first] - 1, (struct hurl_slice){.text = name, .length = strlen(name)});
}

/* ---- expressions ---- */

static bool read_function(struct parser *p, size_t at, struct hurl_slice name, struct hurl_piece *piece)
{
    static const char *const generators[] = {"randomBool",     "randomEmail",  "randomFirstName", "randomFullName",
                                             "randomLastName", "randomString", "randomInt",       "randomWord"};
    piece->variable = -1;
    piece->function = parse_slice_is(name, "newUuid")   ? HURL_NEW_UUID
                      : parse_slice_is(name, "newDate") ? HURL_NEW_DATE
                                                        : HURL_NO_FUNCTION;
    if (piece->function != HURL_NO_FUNCTION)
        return true;
    if (parse_slice_is(name, "getEnv"))
        return parse_fail(p, at, "the function \"getEnv\" is not supported: give the value with --variable or in the plan");
    for (size_t i = 0; i < sizeof generators / sizeof generators[0]; i++)
        if (parse_slice_is(name, generators[i]) && names_find(p->names, name.text, name.length) < 0)
            return parse_fail(p, at,
                              "the function \"%s\" is not supported: draw the value per operation, with "
                              "--variable 'x=random(1, 100)' or from a data file",
                              generators[i]);
    return parse_variable(p, at, name, &piece->variable);
}

/* What stands between the braces, up to and with "}}". */
static bool read_expression(struct parser *p, struct hurl_piece *piece)
{
    size_t open = p->pos;
    p->pos += 2;
    parse_skip_blanks(p);
    size_t at = p->pos;
    while (parse_is_name_char(parse_peek(p, 0)))
        p->pos++;
    struct hurl_slice name = parse_since(p, at);
    if (name.length == 0)
        return parse_fail(p, at, "the name of a variable is missing after \"{{\"");
    piece->place = parse_place(p, open);
    if (!read_function(p, at, name, piece) || !parse_filter_list(p, true, &piece->filters, &piece->filter_count))
        return false;
    parse_skip_blanks(p);
    if (!parse_starts(p, "}}"))
        return parse_fail(p, p->pos, "\"}}\" is missing: an expression is a variable and its filters");
    p->pos += 2;
    return true;
}

static struct hurl_piece *add_piece(struct parser *p, struct parse_pieces *pieces)
{
    pieces->list =
        pl_grow(p->arena, pieces->list, pieces->count, pieces->count + 1, sizeof *pieces->list, &pieces->capacity);
    struct hurl_piece *piece = &pieces->list[pieces->count++];
    *piece = (struct hurl_piece){
        .text = pl_strndup(p->arena, p->scratch, p->scratch_length), .length = p->scratch_length, .variable = -1};
    p->scratch_length = 0;
    return piece;
}

bool parse_put_expression(struct parser *p, struct parse_pieces *pieces)
{
    return read_expression(p, add_piece(p, pieces));
}

void parse_end_text(struct parser *p, struct parse_pieces *pieces, struct hurl_text *ret_text)
{
    if (p->scratch_length > 0)
        add_piece(p, pieces);
    *ret_text = (struct hurl_text){.pieces = pieces->list, .piece_count = pieces->count};
}

struct hurl_text parse_constant(struct parser *p, const char *text, size_t length)
{
    struct parse_pieces pieces = {0};
    struct hurl_text result;
    parse_put(p, text, length);
    parse_end_text(p, &pieces, &result);
    return result;
}

struct hurl_slice parse_literal(const struct hurl_text *constant)
{
    if (constant->piece_count == 0)
        return (struct hurl_slice){.text = "", .length = 0};
    return (struct hurl_slice){.text = constant->pieces[0].text, .length = constant->pieces[0].length};
}

/* ---- strings ---- */

/* Whether a string of the style ends before this byte. */
static bool is_end(const struct parser *p, enum parse_style style)
{
    char c = parse_peek(p, 0);
    if (c == '\0' || c == '\n' || (c == '\r' && parse_peek(p, 1) == '\n'))
        return true;
    switch (style) {
    case STYLE_VALUE:
        return c == '#';
    case STYLE_QUOTED:
        return c == '"';
    case STYLE_BACKTICK:
        return c == '`';
    case STYLE_KEY:
        return !parse_is_name_char(c) && strchr(".[]@$", c) == NULL;
    case STYLE_FILE_NAME:
        return strchr("#; \t{}", c) != NULL;
    }
    return true;
}

/* Bytes, escapes and expressions up to the end. Blanks at the end of a VALUE are left out. */
static bool read_text(struct parser *p, enum parse_style style, struct parse_pieces *pieces)
{
    for (;;) {
        size_t blanks = p->pos;
        if (style == STYLE_VALUE)
            parse_skip_blanks(p);
        bool is_expression = parse_starts(p, "{{"), is_escape = parse_peek(p, 0) == '\\';
        if (!is_expression && !is_escape && is_end(p, style)) {
            p->pos = blanks;
            return true;
        }
        parse_put(p, p->text + blanks, p->pos - blanks);
        if (is_expression) {
            if (!parse_put_expression(p, pieces))
                return false;
        } else if (is_escape) {
            if (!parse_put_escape(p))
                return false;
        } else {
            parse_put(p, p->text + p->pos++, 1);
        }
    }
}

bool parse_text(struct parser *p, enum parse_style style, struct hurl_text *ret_text)
{
    struct parse_pieces pieces = {0};
    size_t at = p->pos;
    bool is_delimited = style == STYLE_QUOTED || style == STYLE_BACKTICK;
    char delimiter = style == STYLE_QUOTED ? '"' : '`';
    if (is_delimited && parse_peek(p, 0) != delimiter)
        return parse_fail(p, at, "a string in quotes is missing");
    p->pos += is_delimited;
    if (!read_text(p, style, &pieces))
        return false;
    if (is_delimited && parse_peek(p, 0) != delimiter)
        return parse_fail(p, at, "the string that begins here does not end on its line");
    p->pos += is_delimited;
    parse_end_text(p, &pieces, ret_text);
    return true;
}

bool parse_constant_text(struct parser *p, enum parse_style style, const char *what, struct hurl_slice *ret_text)
{
    struct hurl_text text;
    size_t at = p->pos;
    if (!parse_text(p, style, &text))
        return false;
    if (!hurl_text_is_constant(&text))
        return parse_fail(p, at, "%s may not hold a variable: it must be known before the load begins", what);
    *ret_text = parse_literal(&text);
    return true;
}

bool parse_split(struct parser *p, const struct hurl_text *text, struct hurl_text *ret_before, struct hurl_text *ret_after)
{
    const char *colon = NULL;
    size_t index = 0;
    for (; index < text->piece_count; index++)
        if ((colon = memchr(text->pieces[index].text, ':', text->pieces[index].length)) != NULL)
            break;
    if (colon == NULL)
        return false;
    struct hurl_piece *pieces = pl_alloc(p->arena, text->piece_count + 1, sizeof *pieces);
    memcpy(pieces, text->pieces, (index + 1) * sizeof *pieces);
    memcpy(pieces + index + 1, text->pieces + index, (text->piece_count - index) * sizeof *pieces);
    struct hurl_piece *before = &pieces[index], *after = before + 1;
    *before = (struct hurl_piece){.text = before->text, .length = (size_t)(colon - before->text), .variable = -1};
    const char *end = after->text + after->length;
    after->text = colon + 1;
    while (after->text < end && (*after->text == ' ' || *after->text == '\t'))
        after->text++;
    after->length = (size_t)(end - after->text);
    bool is_bare = after->length == 0 && after->variable < 0 && after->function == HURL_NO_FUNCTION;
    *ret_before = (struct hurl_text){.pieces = pieces, .piece_count = index + (before->length > 0)};
    *ret_after =
        (struct hurl_text){.pieces = is_bare ? NULL : after, .piece_count = is_bare ? 0 : text->piece_count - index};
    return true;
}
