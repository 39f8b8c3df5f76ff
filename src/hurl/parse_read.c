/* Places, errors, lines and words of a Hurl file. */
#include "hurl/parse_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/near.h"
#include "base/num.h"
#include "base/utf8.h"

#include "base/ban.h"

/* ---- the whole text ---- */

static void find_lines(struct parser *p)
{
    size_t count = 1;
    for (size_t i = 0; i < p->length; i++)
        count += p->text[i] == '\n';
    size_t *lines = pl_alloc(p->arena, count, sizeof *lines);
    p->line_count = 1;
    for (size_t i = 0; i < p->length; i++)
        if (p->text[i] == '\n')
            lines[p->line_count++] = i + 1;
    p->lines = lines;
}

bool parse_begin(struct parser *p)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* some editors put it at the beginning of UTF-8 */
    if (p->length > PL_MAX_SCRIPT_BYTES) {
        pl_err_at(p->err, PL_LIMIT, p->file, 0, 0, "larger than %d bytes", PL_MAX_SCRIPT_BYTES);
        return false;
    }
    const char *nul = p->length > 0 ? memchr(p->text, '\0', p->length) : NULL;
    if (nul != NULL) {
        pl_err_at(p->err, PL_INPUT, p->file, 0, 0, "byte %zu is NUL: this is not a text file", (size_t)(nul - p->text));
        return false;
    }
    if (p->length >= sizeof mark - 1 && memcmp(p->text, mark, sizeof mark - 1) == 0) {
        p->text += sizeof mark - 1;
        p->length -= sizeof mark - 1;
    }
    find_lines(p);
    for (size_t i = 0, width; i < p->length; i += width) {
        uint32_t code;
        width = pl_utf8_decode((const unsigned char *)p->text + i, p->length - i, &code);
        if (width == 0)
            return parse_fail(p, i, "byte 0x%02x is not UTF-8", (unsigned)(unsigned char)p->text[i]);
    }
    return true;
}

/* ---- places and errors ---- */

struct hurl_place parse_place(const struct parser *p, size_t at)
{
    size_t low = 0, high = p->line_count; /* the line is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return (struct hurl_place){.line = (int)low + 1, .col = (int)(at - p->lines[low]) + 1};
}

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

/* The line of the place and a caret under it. What is too long to read is left out on both sides. */
static void hint_place(struct parser *p, size_t at)
{
    enum { SIDE = 300, MOST = 2 * SIDE };
    size_t from = p->lines[parse_place(p, at).line - 1], end = at;
    while (end < p->length && p->text[end] != '\n')
        end++;
    while (end > at && p->text[end - 1] == '\r')
        end--;
    from = at - from > SIDE ? at - SIDE : from;
    end = end - at > SIDE ? at + SIDE : end;
    char line[MOST + 1], pad[MOST + 1];
    size_t width = 0;
    for (size_t i = from; i < end; i++)
        line[i - from] = is_control(p->text[i]) ? '?' : p->text[i];
    for (size_t i = from; i < at; i++)
        if (((unsigned char)p->text[i] & 0xc0) != 0x80) /* one column for each UTF-8 character */
            pad[width++] = p->text[i] == '\t' ? '\t' : ' ';
    pl_err_hint(p->err, "%.*s\n%.*s^ error found here", (int)(end - from), line, (int)width, pad);
}

static bool fail_at(struct parser *p, enum pl_code code, size_t at, const char *fmt, va_list args)
{
    char what[400];
    vsnprintf(what, sizeof what, fmt, args);
    struct hurl_place place = parse_place(p, at);
    pl_err_at(p->err, code, p->file, place.line, place.col, "%s", what);
    hint_place(p, at);
    return false;
}

bool parse_fail(struct parser *p, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_at(p, PL_INPUT, at, fmt, args);
    va_end(args);
    return false;
}

bool parse_fail_code(struct parser *p, enum pl_code code, size_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_at(p, code, at, fmt, args);
    va_end(args);
    return false;
}

static size_t add_names(const struct parse_words *words, const char **names, size_t count, size_t most)
{
    for (size_t i = 0; words != NULL && i < words->count && count < most; i++)
        if (words->list[i].name[0] != '\0')
            names[count++] = words->list[i].name;
    return count;
}

/* ": there are a, b, c", or nothing when those are too many. */
static const char *list_names(struct parser *p, const struct parse_words *words)
{
    enum { LIST_BYTES = 250 };
    const char *list = "";
    for (size_t i = 0; i < words->count && strlen(list) <= LIST_BYTES; i++)
        if (words->list[i].refused == NULL)
            list = pl_format(p->arena, "%s%s%s", list, list[0] == '\0' ? ": there are " : ", ", words->list[i].name);
    return strlen(list) <= LIST_BYTES ? list : "";
}

bool parse_fail_word(struct parser *p, size_t at, struct hurl_slice word, const struct parse_words *words,
                     const struct parse_words *others)
{
    enum { NAMES_MOST = 128 };
    const char *names[NAMES_MOST];
    const char *text = parse_shown(p, word.text, word.length);
    const char *or_what = others != NULL ? others->what : "";
    size_t count = add_names(words, names, 0, NAMES_MOST);
    count = add_names(others, names, count, NAMES_MOST);
    const char *near = pl_near(text, names, count);
    if (near != NULL)
        return parse_fail(p, at, "there is no %s%s%s \"%s\": did you mean \"%s\"?", words->what,
                          others != NULL ? " or " : "", or_what, text, near);
    return parse_fail(p, at, "there is no %s%s%s \"%s\"%s", words->what, others != NULL ? " or " : "", or_what, text,
                      others != NULL ? "" : list_names(p, words));
}

bool parse_refuse(struct parser *p, size_t at, const struct parse_words *words, const struct parse_word *word)
{
    return parse_fail(p, at, "the %s \"%s\" is not supported: %s", words->what, word->name, word->refused);
}

/* ---- bytes, lines, words ---- */

char parse_peek(const struct parser *p, size_t ahead)
{
    return ahead < p->length - p->pos ? p->text[p->pos + ahead] : '\0';
}

bool parse_starts(const struct parser *p, const char *text)
{
    size_t length = strlen(text);
    return length <= p->length - p->pos && memcmp(p->text + p->pos, text, length) == 0;
}

bool parse_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool parse_is_alnum(char c)
{
    return parse_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool parse_is_name_char(char c)
{
    return parse_is_alnum(c) || c == '_' || c == '-' || (unsigned char)c > 127;
}

static size_t blanks_end(const struct parser *p, size_t at)
{
    while (at < p->length && (p->text[at] == ' ' || p->text[at] == '\t'))
        at++;
    return at;
}

void parse_skip_blanks(struct parser *p)
{
    p->pos = blanks_end(p, p->pos);
}

/* Where the next line begins when nothing but blanks and a comment stand on this one, else NOT_AN_END. */
enum { NOT_AN_END = -1 };
static int64_t line_end(const struct parser *p)
{
    size_t at = blanks_end(p, p->pos);
    if (at < p->length && p->text[at] == '#')
        while (at < p->length && p->text[at] != '\n')
            at++;
    if (at + 1 < p->length && p->text[at] == '\r' && p->text[at + 1] == '\n')
        at++;
    if (at == p->length)
        return (int64_t)at;
    return p->text[at] == '\n' ? (int64_t)at + 1 : NOT_AN_END;
}

bool parse_is_line_end(const struct parser *p)
{
    return line_end(p) != NOT_AN_END;
}

bool parse_line_end(struct parser *p)
{
    int64_t end = line_end(p);
    if (end != NOT_AN_END) {
        p->pos = (size_t)end;
        return true;
    }
    size_t at = blanks_end(p, p->pos), to = at;
    while (to < p->length && strchr(" \t\r\n", p->text[to]) == NULL)
        to++;
    return parse_fail(p, at, "\"%s\" is too much: the line should end here", parse_shown(p, p->text + at, to - at));
}

void parse_skip_lines(struct parser *p)
{
    for (int64_t end; p->pos < p->length && (end = line_end(p)) != NOT_AN_END;)
        p->pos = (size_t)end;
    parse_skip_blanks(p);
}

bool parse_blanks(struct parser *p, const char *before)
{
    size_t at = p->pos;
    parse_skip_blanks(p);
    return p->pos > at || parse_fail(p, at, "a blank is missing before %s", before);
}

struct hurl_slice parse_since(const struct parser *p, size_t at)
{
    return (struct hurl_slice){.text = p->text + at, .length = p->pos - at};
}

struct hurl_slice parse_word(struct parser *p)
{
    size_t at = p->pos;
    while (parse_is_alnum(parse_peek(p, 0)))
        p->pos++;
    return parse_since(p, at);
}

bool parse_slice_is(struct hurl_slice slice, const char *text)
{
    return slice.length == strlen(text) && memcmp(slice.text, text, slice.length) == 0;
}

const struct parse_word *parse_find(const struct parse_words *words, struct hurl_slice word)
{
    for (size_t i = 0; i < words->count; i++)
        if (parse_slice_is(word, words->list[i].name))
            return &words->list[i];
    return NULL;
}

const char *parse_shown(struct parser *p, const char *text, size_t length)
{
    bool is_cut = length > PARSE_SHOWN_BYTES;
    length = is_cut ? PARSE_SHOWN_BYTES : length;
    while (is_cut && ((unsigned char)text[length] & 0xc0) == 0x80) /* not inside a UTF-8 character */
        length--;
    char *shown = pl_format(p->arena, "%.*s%s", (int)length, text, is_cut ? "..." : "");
    for (char *at = shown; *at != '\0'; at++)
        if (is_control(*at))
            *at = ' ';
    return shown;
}

bool parse_integer(struct parser *p, int64_t *ret_number)
{
    size_t at = p->pos;
    p->pos += parse_peek(p, 0) == '-';
    while (parse_is_digit(parse_peek(p, 0)))
        p->pos++;
    enum pl_num_result result = pl_num_i64(p->text + at, p->pos - at, ret_number);
    if (result == PL_NUM_OK)
        return true;
    p->pos = at;
    return parse_fail(p, at, result == PL_NUM_RANGE ? "the number does not fit 64 bits" : "a whole number is missing");
}

int parse_hex_digit(char c)
{
    if (parse_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
