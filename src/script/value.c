/* Values as text, and text as values. */
#include "script/program.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "script/expr_int.h"

#include "base/ban.h"

/* ---- to text ---- */

/* The hot path: snprintf costs ten times as much. */
static size_t value_integer_text(int64_t value, char *buf)
{
    char digits[20];
    size_t count = 0, length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        buf[length++] = '-';
    while (count > 0)
        buf[length++] = digits[--count];
    buf[length] = '\0';
    return length;
}

static size_t value_word(const char *word, char *buf)
{
    size_t length = strlen(word);
    memcpy(buf, word, length + 1);
    return length;
}

/* 15 digits as pgbench has them, 17 where those would be another number. */
static size_t value_double_text(double d, char *buf)
{
    if (!isfinite(d))
        return value_word(isnan(d) ? "NaN" : d > 0 ? "Infinity" : "-Infinity", buf);
    double back;
    int length = snprintf(buf, VALUE_TEXT_BYTES, "%.15g", d);
    if (pl_num_f64(buf, (size_t)length, &back) != PL_NUM_OK || back != d)
        length = snprintf(buf, VALUE_TEXT_BYTES, "%.17g", d);
    assert(length > 0 && length < VALUE_TEXT_BYTES);
    return (size_t)length;
}

size_t value_text(const struct value *value, char *buf)
{
    switch (value->type) {
    case VALUE_INT:
        return value_integer_text(value->i, buf);
    case VALUE_DOUBLE:
        return value_double_text(value->d, buf);
    case VALUE_BOOL:
        return value_word(value->b ? "true" : "false", buf);
    case VALUE_TEXT:
        memcpy(buf, value->text, (size_t)value->length + 1);
        return value->length;
    case VALUE_UNSET:
    case VALUE_NULL:
        break;
    }
    return value_word("NULL", buf);
}

/* ---- from text ---- */

static bool is_word(const char *text, size_t length, const char *word, size_t least)
{
    return length >= least && length <= strlen(word) && strncasecmp(text, word, length) == 0;
}

/* Beginnings of the words count: "t", "of". */
static bool read_bool(const char *text, size_t length, bool *ret_bool)
{
    *ret_bool = is_word(text, length, "true", 1) || is_word(text, length, "yes", 1) || is_word(text, length, "on", 2);
    return *ret_bool || is_word(text, length, "false", 1) || is_word(text, length, "no", 1) ||
           is_word(text, length, "off", 2);
}

static bool is_digits(const char *text, size_t length)
{
    size_t i = length > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0, first = i;
    while (i < length && text[i] >= '0' && text[i] <= '9')
        i++;
    return i == length && i > first;
}

bool value_read_decimal(const char *text, size_t length, double *ret_double)
{
    enum { MOST = 120 };
    char copy[MOST + 3] = "";
    size_t used = 0;
    bool is_zero = true;
    for (size_t i = 0; i < length; i++) {
        bool before = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
        bool after = i + 1 < length && text[i + 1] >= '0' && text[i + 1] <= '9';
        if (text[i] == '_' || used >= MOST || (text[i] == '.' && !before && !after))
            return false;
        if (text[i] == '.' && !before)
            copy[used++] = '0';
        copy[used++] = text[i];
        if (text[i] == '.' && !after)
            copy[used++] = '0';
        is_zero =
            is_zero && !(text[i] >= '1' && text[i] <= '9' && memchr(text, 'e', i) == NULL && memchr(text, 'E', i) == NULL);
    }
    return pl_num_f64(copy, used, ret_double) == PL_NUM_OK && (*ret_double != 0 || is_zero);
}

static bool read_double(const char *text, size_t length, double *ret_double)
{
    if (value_read_decimal(text, length, ret_double))
        return true;
    bool has_sign = length > 0 && (text[0] == '+' || text[0] == '-');
    const char *word = text + has_sign;
    size_t word_length = length - has_sign;
    if (is_word(word, word_length, "inf", 3) || is_word(word, word_length, "infinity", 8))
        *ret_double = text[0] == '-' ? -INFINITY : INFINITY;
    else if (is_word(word, word_length, "nan", 3))
        *ret_double = NAN;
    else
        return false;
    return true;
}

const char *value_read(const char *name, const struct value *value, struct value *ret_value)
{
    const char *text = value->text;
    size_t length = value->length;
    bool b;
    double d;
    int64_t i;
    if (is_word(text, length, "null", 4)) {
        *ret_value = (struct value){.type = VALUE_NULL};
        return NULL;
    }
    if (read_bool(text, length, &b)) {
        *ret_value = (struct value){.type = VALUE_BOOL, .b = b};
        return NULL;
    }
    while (length > 0 && strchr(" \t\r\n\f\v", *text) != NULL) {
        text++;
        length--;
    }
    if (is_digits(text, length)) {
        if (pl_num_i64(text, length, &i) != PL_NUM_OK)
            return expr_wrong("value \"%s\" is out of range for type bigint", value->text);
        *ret_value = (struct value){.type = VALUE_INT, .i = i};
        return NULL;
    }
    if (!read_double(text, length, &d))
        return expr_wrong("malformed variable \"%s\" value: \"%s\"", name, value->text);
    *ret_value = (struct value){.type = VALUE_DOUBLE, .d = d};
    return NULL;
}

/* ---- debug() ---- */

static program_debug *debug_hook;
static void *debug_context;

void program_on_debug(program_debug *hook, void *context)
{
    debug_hook = hook;
    debug_context = context;
}

void expr_debug(const struct evaluation *at, const struct value *value)
{
    if (debug_hook != NULL)
        debug_hook(debug_context, at->program, at->step, value);
}

size_t value_describe(const struct value *value, char *buf)
{
    switch (value->type) {
    case VALUE_BOOL:
        return (size_t)snprintf(buf, VALUE_DESCRIBE_BYTES, "boolean %s", value->b ? "true" : "false");
    case VALUE_INT:
        return (size_t)snprintf(buf, VALUE_DESCRIBE_BYTES, "int %lld", (long long)value->i);
    case VALUE_DOUBLE: {
        memcpy(buf, "double ", 7);
        return 7 + value_double_text(value->d, buf + 7);
    }
    case VALUE_UNSET:
    case VALUE_NULL:
    case VALUE_TEXT:
        break;
    }
    return value_word(value->type == VALUE_NULL ? "null" : "none", buf);
}
