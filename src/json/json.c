/* The reader of JSON: one pass, recursive down to JSON_DEPTH_MOST. Keys are tokens like values: the members of an object
 * are pairs of a STRING and what follows it. */
#include "json/json.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "json/json_int.h"

#include "base/ban.h"

struct reader {
    struct json *json;
    const char *text;
    size_t length, at;
    const char *wrong;
};

/* ---- tokens ---- */

static void json_widen(struct json *json)
{
    enum { FIRST = 64 };
    size_t capacity = json->capacity == 0 ? FIRST : json->capacity * 2;
    struct json_token *tokens = pl_new(capacity, sizeof *tokens);
    if (json->count > 0)
        memcpy(tokens, json->tokens, json->count * sizeof *tokens);
    pl_free(json->tokens);
    json->tokens = tokens;
    json->capacity = capacity;
}

void json_release(struct json *json)
{
    pl_free(json->tokens);
    *json = (struct json){0};
}

static bool reader_fail(struct reader *reader, const char *wrong)
{
    if (reader->wrong == NULL)
        reader->wrong = wrong;
    return false;
}

/* The new token's index; its extent is filled in later. */
static bool reader_add(struct reader *reader, enum json_kind kind, size_t start, uint32_t *ret_token)
{
    struct json *json = reader->json;
    if (json->count == JSON_TOKENS_MOST)
        return reader_fail(reader, "more values than are read");
    if (json->count == json->capacity)
        json_widen(json);
    *ret_token = (uint32_t)json->count++;
    json->tokens[*ret_token] = (struct json_token){.kind = (uint8_t)kind, .at = (uint32_t)start};
    return true;
}

static bool reader_end(struct reader *reader, uint32_t token)
{
    struct json_token *t = &reader->json->tokens[token];
    t->bytes = (uint32_t)(reader->at - t->at);
    t->after = (uint32_t)reader->json->count;
    return true;
}

/* ---- characters ---- */

static void reader_blanks(struct reader *reader)
{
    while (reader->at < reader->length) {
        char c = reader->text[reader->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        reader->at++;
    }
}

static char reader_here(const struct reader *reader)
{
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX. */
static bool read_unit(const char *text, size_t left, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (left < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0)
            return false;
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

size_t json_escape_read(const char *text, size_t left, char *out, size_t *ret_size)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint32_t unit, low;
    const char *letter = left >= 2 && text[1] != '\0' ? strchr(letters, text[1]) : NULL;
    if (letter != NULL) {
        *out = meant[letter - letters];
        *ret_size = 1;
        return 2;
    }
    if (left < 2 || text[1] != 'u' || !read_unit(text + 2, left - 2, &unit))
        return 0;
    size_t used = 6;
    if (unit >= 0xD800 && unit <= 0xDFFF) { /* must be one of a pair, the high one first */
        if (unit > 0xDBFF || left < 12 || text[6] != '\\' || text[7] != 'u' || !read_unit(text + 8, left - 8, &low) ||
            low < 0xDC00 || low > 0xDFFF)
            return 0;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        used = 12;
    }
    *ret_size = (size_t)(pl_utf8_encode(out, unit) - out);
    return used;
}

/* ---- strings ---- */

/* How many bytes, in steps of eight, need no look one by one: no quote, backslash, control or byte above 127 among them. A
 * borrow from the byte below may make a plain byte look like one of those, never the other way round. */
static size_t plain_bytes(const char *text, size_t left)
{
    static const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    size_t done = 0;
    uint64_t eight;
    for (; left - done >= sizeof eight; done += sizeof eight) {
        memcpy(&eight, text + done, sizeof eight);
        uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
        if (((eight | (eight - ones * 0x20) | (quote - ones) | (backslash - ones)) & tops) != 0)
            break;
    }
    return done;
}

/* At the quote. */
static bool reader_string(struct reader *reader)
{
    uint32_t token, code;
    bool is_escaped = false;
    if (!reader_add(reader, JSON_STRING, reader->at + 1, &token))
        return false;
    reader->at++;
    reader->at += plain_bytes(reader->text + reader->at, reader->length - reader->at);
    while (reader->at < reader->length) {
        unsigned char c = (unsigned char)reader->text[reader->at];
        if (c == '"') {
            reader_end(reader, token);
            reader->json->tokens[token].is_escaped = is_escaped;
            reader->at++;
            return true;
        }
        if (c == '\\') {
            size_t used =
                json_escape_read(reader->text + reader->at, reader->length - reader->at, (char[4]){0}, &(size_t){0});
            if (used == 0)
                return reader_fail(reader, "an escape that JSON does not have");
            reader->at += used;
            is_escaped = true;
        } else if (c < 0x20) {
            return reader_fail(reader, "a control character in a string");
        } else if (c < 0x80) {
            reader->at++;
        } else {
            size_t size =
                pl_utf8_decode((const unsigned char *)reader->text + reader->at, reader->length - reader->at, &code);
            if (size == 0)
                return reader_fail(reader, "a byte that is not UTF-8");
            reader->at += size;
        }
        if (c == '\\' || c >= 0x80)
            reader->at += plain_bytes(reader->text + reader->at, reader->length - reader->at);
    }
    return reader_fail(reader, "a string that does not end");
}

/* ---- numbers and words ---- */

static bool reader_digits(struct reader *reader)
{
    size_t start = reader->at;
    while (is_digit(reader_here(reader)))
        reader->at++;
    return reader->at > start;
}

static bool reader_number(struct reader *reader)
{
    uint32_t token;
    if (!reader_add(reader, JSON_INTEGER, reader->at, &token))
        return false;
    reader->at += reader_here(reader) == '-';
    bool is_zero = reader_here(reader) == '0';
    size_t start = reader->at;
    if (!reader_digits(reader) || (is_zero && reader->at > start + 1))
        return reader_fail(reader, "no number that JSON has");
    if (reader_here(reader) == '.') {
        reader->at++;
        reader->json->tokens[token].kind = JSON_FLOAT;
        if (!reader_digits(reader))
            return reader_fail(reader, "a number without digits after its point");
    }
    if (reader_here(reader) == 'e' || reader_here(reader) == 'E') {
        reader->at++;
        reader->json->tokens[token].kind = JSON_FLOAT;
        reader->at += reader_here(reader) == '+' || reader_here(reader) == '-';
        if (!reader_digits(reader))
            return reader_fail(reader, "a number without digits in its exponent");
    }
    return reader_end(reader, token);
}

static bool reader_word(struct reader *reader, const char *word, enum json_kind kind)
{
    uint32_t token;
    size_t length = strlen(word);
    if (reader->length - reader->at < length || memcmp(reader->text + reader->at, word, length) != 0)
        return reader_fail(reader, "no value that JSON has");
    if (!reader_add(reader, kind, reader->at, &token))
        return false;
    reader->at += length;
    return reader_end(reader, token);
}

/* ---- lists and objects ---- */

static bool reader_value(struct reader *reader, int depth);

static bool reader_member(struct reader *reader, int depth)
{
    if (reader_here(reader) != '"')
        return reader_fail(reader, "a member of an object without its name in quotes");
    size_t key = reader->json->count;
    if (!reader_string(reader))
        return false;
    reader->json->tokens[key].is_key = true;
    reader_blanks(reader);
    if (reader_here(reader) != ':')
        return reader_fail(reader, "no colon after the name of a member");
    reader->at++;
    reader_blanks(reader);
    return reader_value(reader, depth);
}

/* At the bracket. */
static bool reader_items(struct reader *reader, enum json_kind kind, int depth)
{
    uint32_t token;
    char close = kind == JSON_LIST ? ']' : '}';
    if (depth == JSON_DEPTH_MOST)
        return reader_fail(reader, "values nested deeper than are read");
    if (!reader_add(reader, kind, reader->at, &token))
        return false;
    reader->at++;
    reader_blanks(reader);
    if (reader_here(reader) == close) {
        reader->at++;
        return reader_end(reader, token);
    }
    for (;;) {
        if (!(kind == JSON_LIST ? reader_value(reader, depth + 1) : reader_member(reader, depth + 1)))
            return false;
        reader->json->tokens[token].count++;
        reader_blanks(reader);
        char here = reader_here(reader);
        if (here != ',' && here != close)
            return reader_fail(reader, kind == JSON_LIST ? "no comma and no ] after an item of a list"
                                                         : "no comma and no } after a member of an object");
        reader->at++;
        if (here == close)
            return reader_end(reader, token);
        reader_blanks(reader);
    }
}

static bool reader_value(struct reader *reader, int depth)
{
    switch (reader_here(reader)) {
    case '{':
        return reader_items(reader, JSON_OBJECT, depth);
    case '[':
        return reader_items(reader, JSON_LIST, depth);
    case '"':
        return reader_string(reader);
    case 't':
        return reader_word(reader, "true", JSON_TRUE);
    case 'f':
        return reader_word(reader, "false", JSON_FALSE);
    case 'n':
        return reader_word(reader, "null", JSON_NULL);
    default:
        break;
    }
    if (reader_here(reader) == '-' || is_digit(reader_here(reader)))
        return reader_number(reader);
    return reader_fail(reader,
                       reader->at == reader->length ? "the text ends where a value is due" : "no value that JSON has");
}

const char *json_read(struct json *json, const char *text, size_t length, size_t *ret_at)
{
    struct reader reader = {.json = json, .text = text, .length = length};
    json->text = text;
    json->length = length;
    json->count = 0;
    if (length > JSON_BYTES_MOST) {
        *ret_at = JSON_BYTES_MOST;
        return "a text larger than is read as JSON";
    }
    reader_blanks(&reader);
    if (reader_value(&reader, 0)) {
        reader_blanks(&reader);
        if (reader.at == length)
            return NULL;
        reader_fail(&reader, "something behind the value");
    }
    json->count = 0;
    *ret_at = reader.at;
    return reader.wrong;
}

/* ---- what tokens say ---- */

/* The next byte of a checked string, or the character that an escape stands for (at most 4 bytes). */
static size_t unescape_one(const char *at, size_t left, char *out, size_t *ret_size)
{
    if (*at == '\\')
        return json_escape_read(at, left, out, ret_size);
    *out = *at;
    *ret_size = 1;
    return 1;
}

size_t json_unescape(const struct json *json, uint32_t token, char *out)
{
    const struct json_token *t = &json->tokens[token];
    const char *text = json->text + t->at;
    size_t length = 0, size;
    if (!t->is_escaped) {
        memcpy(out, text, t->bytes);
        return t->bytes;
    }
    for (size_t i = 0; i < t->bytes; length += size)
        i += unescape_one(text + i, t->bytes - i, out + length, &size);
    return length;
}

char *json_escape(const char *text, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef", controls[] = "\b\f\n\r\t", letters[] = "bfnrt";
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        uint32_t code = 0;
        if (c >= 0x80) {
            size_t size = pl_utf8_decode((const unsigned char *)text + i, length - i, &code);
            out = pl_utf8_encode(out, size > 0 ? code : PL_UTF8_REPLACEMENT);
            i += size > 0 ? size : 1;
            continue;
        }
        const char *control = c != '\0' && c < 0x20 ? strchr(controls, c) : NULL;
        if (c == '"' || c == '\\' || control != NULL) {
            *out++ = '\\';
            *out++ = control != NULL ? letters[control - controls] : (char)c;
        } else if (c < 0x20) {
            memcpy(out, "\\u00", 4);
            out[4] = digits[c >> 4];
            out[5] = digits[c & 15];
            out += 6;
        } else {
            *out++ = (char)c;
        }
        i++;
    }
    return out;
}

bool json_get_integer(const struct json *json, uint32_t token, int64_t *ret_integer)
{
    const struct json_token *t = &json->tokens[token];
    return t->kind == JSON_INTEGER && pl_num_i64(json->text + t->at, t->bytes, ret_integer) == PL_NUM_OK;
}

/* The exponent of a number, "e-12" at its end; 0 without one. As large as it counts. */
static int64_t long_exponent(const char *text, size_t length)
{
    int64_t exponent = 0;
    bool is_negative = length > 1 && text[1] == '-';
    for (size_t i = 1; i < length; i++)
        if (is_digit(text[i]) && exponent < 1000000000)
            exponent = exponent * 10 + (text[i] - '0');
    return is_negative ? -exponent : exponent;
}

/* A number of more digits than pl_num_f64 takes: those that a double can tell apart decide, the rest is its size. */
static double double_long(const char *text, size_t length)
{
    enum { KEPT = 40 };
    char copy[KEPT + 32];
    size_t used = 0, i = text[0] == '-';
    double sign = text[0] == '-' ? -1 : 1, value;
    int64_t exponent = 0;
    bool after_point = false, is_significant = false;
    for (; i < length && (text[i] | 32) != 'e'; i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        is_significant = is_significant || text[i] != '0';
        if (is_significant && used < KEPT)
            copy[used++] = text[i];
        else
            exponent += is_significant;
        exponent -= after_point;
    }
    exponent += long_exponent(text + i, length - i);
    if (!is_significant || exponent < -1000)
        return sign * 0.0;
    if (exponent > 400)
        return sign * HUGE_VAL;
    copy[used++] = 'e';
    copy[used++] = exponent < 0 ? '-' : '+';
    exponent = exponent < 0 ? -exponent : exponent;
    for (int64_t unit = 1000; unit > 0; unit /= 10)
        copy[used++] = (char)('0' + exponent / unit % 10);
    if (pl_num_f64(copy, used, &value) == PL_NUM_OK)
        return sign * value;
    return copy[used - 5] == '-' ? sign * 0.0 : sign * HUGE_VAL;
}

double json_as_double(const struct json *json, uint32_t token)
{
    const struct json_token *t = &json->tokens[token];
    double value;
    if (t->bytes < 100 && pl_num_f64(json->text + t->at, t->bytes, &value) == PL_NUM_OK)
        return value;
    return double_long(json->text + t->at, t->bytes);
}

bool json_string_is(const struct json *json, uint32_t token, const char *text, size_t length)
{
    const struct json_token *t = &json->tokens[token];
    const char *own = json->text + t->at;
    if (!t->is_escaped)
        return t->bytes == length && memcmp(own, text, length) == 0;
    size_t done = 0, size;
    char part[4];
    for (size_t i = 0; i < t->bytes; done += size) {
        i += unescape_one(own + i, t->bytes - i, part, &size);
        if (length - done < size || memcmp(text + done, part, size) != 0)
            return false;
    }
    return done == length;
}

uint32_t json_member(const struct json *json, uint32_t object, const char *name, size_t length, uint64_t *steps)
{
    uint32_t found = 0, at = object + 1;
    for (uint32_t i = 0; i < json->tokens[object].count && json_step(steps); i++) {
        if (json->tokens[at].bytes >= length)
            json_step_bytes(steps, length);
        if (json_string_is(json, at, name, length))
            found = at + 1;
        at = json->tokens[at + 1].after;
    }
    return found;
}

/* ---- equality ---- */

static bool number_equal(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token)
{
    int64_t a_integer, b_integer;
    const struct json_token *x = &a->tokens[a_token], *y = &b->tokens[b_token];
    bool a_fits = json_get_integer(a, a_token, &a_integer), b_fits = json_get_integer(b, b_token, &b_integer);
    if (a_fits && b_fits)
        return a_integer == b_integer;
    if (x->kind == JSON_INTEGER && y->kind == JSON_INTEGER) /* digits beyond 64 bits: none has zeros in front */
        return !a_fits && !b_fits && x->bytes == y->bytes && memcmp(a->text + x->at, b->text + y->at, x->bytes) == 0;
    return json_as_double(a, a_token) == json_as_double(b, b_token);
}

/* The next character of a checked string. */
static uint32_t string_next(const char *text, size_t length, size_t *at)
{
    uint32_t code = 0;
    char part[4];
    size_t size;
    if (text[*at] == '\\') {
        *at += json_escape_read(text + *at, length - *at, part, &size);
        pl_utf8_decode((const unsigned char *)part, size, &code);
    } else {
        *at += pl_utf8_decode((const unsigned char *)text + *at, length - *at, &code);
    }
    return code;
}

int json_string_compare(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token)
{
    const struct json_token *x = &a->tokens[a_token], *y = &b->tokens[b_token];
    size_t i = 0, k = 0;
    while (i < x->bytes && k < y->bytes) {
        uint32_t left = string_next(a->text + x->at, x->bytes, &i), right = string_next(b->text + y->at, y->bytes, &k);
        if (left != right)
            return left < right ? -1 : 1;
    }
    return (i < x->bytes) - (k < y->bytes);
}

static bool string_equal(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token)
{
    const struct json_token *y = &b->tokens[b_token];
    if (!y->is_escaped)
        return json_string_is(a, a_token, b->text + y->at, y->bytes);
    return json_string_compare(a, a_token, b, b_token) == 0;
}

/* The value of the member of an object of b that is called as the key, a token of a. */
static uint32_t same_member(const struct json *a, uint32_t key, const struct json *b, uint32_t object, uint64_t *steps)
{
    uint32_t found = 0, at = object + 1;
    for (uint32_t i = 0; i < b->tokens[object].count && json_step(steps); i++) {
        if (b->tokens[at].bytes >= a->tokens[key].bytes)
            json_step_bytes(steps, a->tokens[key].bytes);
        if (string_equal(a, key, b, at))
            found = at + 1;
        at = b->tokens[at + 1].after;
    }
    return found;
}

bool json_is_same(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token, uint64_t *steps)
{
    const struct json_token *x = &a->tokens[a_token], *y = &b->tokens[b_token];
    if (!json_step(steps))
        return false;
    if (x->kind == JSON_INTEGER || x->kind == JSON_FLOAT)
        return (y->kind == JSON_INTEGER || y->kind == JSON_FLOAT) && number_equal(a, a_token, b, b_token);
    if (x->kind != y->kind)
        return false;
    if (x->kind == JSON_STRING) {
        json_step_bytes(steps, x->bytes < y->bytes ? x->bytes : y->bytes);
        return string_equal(a, a_token, b, b_token);
    }
    if (x->kind < JSON_LIST)
        return true;
    if (x->count != y->count)
        return false;
    uint32_t a_at = a_token + 1, b_at = b_token + 1;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t a_value = a_at + (x->kind == JSON_OBJECT);
        uint32_t b_value = x->kind == JSON_OBJECT ? same_member(a, a_at, b, b_token, steps) : b_at;
        if (b_value == 0 || !json_is_same(a, a_value, b, b_value, steps))
            return false;
        a_at = a->tokens[a_value].after;
        b_at = x->kind == JSON_LIST ? b->tokens[b_at].after : b_at;
    }
    return true;
}
