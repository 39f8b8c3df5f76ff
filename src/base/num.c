/* Strict numbers with units. Decimal digits are read here; only the final conversion of a fraction uses the C library. */
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PL_HOME_OF_STRTOD
#include "base/ban.h"

struct unit {
    const char *name;
    double factor;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_sign(char c)
{
    return c == '-' || c == '+';
}

/* Where the digits that start at `at` end; with `grouped`, one `_` may stand between two of them. */
static size_t skip_digits(const char *text, size_t length, size_t at, bool grouped)
{
    size_t start = at;
    while (at < length &&
           (is_digit(text[at]) || (grouped && text[at] == '_' && at > start && at + 1 < length && is_digit(text[at + 1]))))
        at++;
    return at;
}

/* Length of the longest decimal number at the start of text; 0 when there is none. */
static size_t num_prefix(const char *text, size_t length)
{
    size_t start = length > 0 && is_sign(text[0]) ? 1 : 0;
    size_t end = skip_digits(text, length, start, true);
    if (end + 1 < length && text[end] == '.' && is_digit(text[end + 1]))
        end = skip_digits(text, length, end + 1, false);
    if (end == start)
        return 0;
    if (end < length && (text[end] == 'e' || text[end] == 'E')) {
        size_t digits = end + 1;
        if (digits < length && is_sign(text[digits]))
            digits++;
        size_t exponent_end = skip_digits(text, length, digits, false);
        if (exponent_end > digits)
            end = exponent_end;
    }
    return end;
}

enum pl_num_result pl_num_i64(const char *text, size_t length, int64_t *ret_value)
{
    size_t i = 0;
    bool negative = false;
    if (i < length && is_sign(text[i]))
        negative = text[i++] == '-';
    if (i == length)
        return PL_NUM_BAD;
    int64_t value = 0;
    bool after_digit = false, overflow = false;
    for (; i < length; i++) {
        if (text[i] == '_' && after_digit && i + 1 < length) {
            after_digit = false;
            continue;
        }
        if (!is_digit(text[i]))
            return PL_NUM_BAD;
        int digit = text[i] - '0';
        /* built up on the negative side, which is one larger */
        overflow = overflow || __builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit, &value);
        after_digit = true;
    }
    if (overflow || (!negative && value == INT64_MIN))
        return PL_NUM_RANGE;
    *ret_value = negative ? value : -value;
    return PL_NUM_OK;
}

enum pl_num_result pl_num_f64(const char *text, size_t length, double *ret_value)
{
    if (length == 0 || num_prefix(text, length) != length)
        return PL_NUM_BAD;
    char copy[128];
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '_')
            continue;
        if (used + 1 == sizeof copy)
            return PL_NUM_RANGE;
        copy[used++] = text[i];
    }
    copy[used] = '\0';
    double value = strtod(copy, NULL); /* the program never calls setlocale, so the point is a point */
    if (!isfinite(value))
        return PL_NUM_RANGE;
    *ret_value = value;
    return PL_NUM_OK;
}

/* A number and the unit right behind it. */
struct quantity {
    double value;  /* of the number alone */
    double factor; /* of the unit; 1 for a bare 0 */
    size_t digits; /* length of the number's text */
};

/* Reads NUMBER UNIT, with nothing between; a bare 0 is allowed without one. */
static enum pl_num_result num_with_unit(const char *text, size_t length, const struct unit *units, struct quantity *ret)
{
    ret->digits = num_prefix(text, length);
    if (ret->digits == 0)
        return PL_NUM_BAD;
    ret->factor = 1;
    enum pl_num_result result = pl_num_f64(text, ret->digits, &ret->value);
    if (result != PL_NUM_OK)
        return result;
    size_t rest = length - ret->digits;
    if (rest == 0)
        return ret->value == 0 ? PL_NUM_OK : PL_NUM_NO_UNIT;
    for (const struct unit *unit = units; unit->name != NULL; unit++)
        if (strlen(unit->name) == rest && memcmp(unit->name, text + ret->digits, rest) == 0) {
            ret->factor = unit->factor;
            return PL_NUM_OK;
        }
    return PL_NUM_BAD_UNIT;
}

/* A non-negative whole number of the smallest unit; exact when the number was written without a fraction. */
static enum pl_num_result num_whole(const char *text, size_t length, const struct unit *units, int64_t *ret_value)
{
    struct quantity quantity;
    enum pl_num_result result = num_with_unit(text, length, units, &quantity);
    if (result != PL_NUM_OK)
        return result;
    int64_t whole;
    result = pl_num_i64(text, quantity.digits, &whole);
    if (result == PL_NUM_BAD) {
        double value = quantity.value * quantity.factor;
        if (value < 0 || value >= 0x1p63)
            return PL_NUM_RANGE;
        whole = (int64_t)llround(value);
    } else if (result != PL_NUM_OK || whole < 0 || __builtin_mul_overflow(whole, (int64_t)quantity.factor, &whole)) {
        return PL_NUM_RANGE;
    }
    *ret_value = whole;
    return PL_NUM_OK;
}

enum pl_num_result pl_num_duration_ns(const char *text, size_t length, int64_t *ret_ns)
{
    static const struct unit units[] = {{"ns", 1},     {"us", 1e3},   {"ms", 1e6},    {"s", 1e9}, {"m", 60e9},
                                        {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {NULL, 0}};
    return num_whole(text, length, units, ret_ns);
}

enum pl_num_result pl_num_bytes(const char *text, size_t length, int64_t *ret_bytes)
{
    static const struct unit units[] = {{"B", 1},         {"KB", 1e3},         {"MB", 1e6},
                                        {"GB", 1e9},      {"TB", 1e12},        {"KiB", 1024},
                                        {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
                                        {NULL, 0}};
    return num_whole(text, length, units, ret_bytes);
}

enum pl_num_result pl_num_rate(const char *text, size_t length, double *ret_per_s)
{
    static const struct unit units[] = {{"/s", 1}, {"/min", 1.0 / 60}, {"/m", 1.0 / 60}, {"/h", 1.0 / 3600}, {NULL, 0}};
    struct quantity quantity;
    enum pl_num_result result = num_with_unit(text, length, units, &quantity);
    if (result != PL_NUM_OK)
        return result;
    double value = quantity.value * quantity.factor;
    if (!(value > 0))
        return PL_NUM_RANGE;
    *ret_per_s = value;
    return PL_NUM_OK;
}

/* Three significant digits or the whole number, without an exponent. */
static void num_text(char *buf, size_t size, double value, const char *unit)
{
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(buf, size, "%.*f %s", decimals, value, unit);
}

const char *pl_num_text_ns(char *buf, size_t size, double ns)
{
    double size_ns = fabs(ns);
    if (ns == 0)
        snprintf(buf, size, "0 s");
    else if (size_ns < 999.5)
        num_text(buf, size, ns, "ns");
    else if (size_ns < 999.5e3)
        num_text(buf, size, ns / 1e3, "\xc2\xb5s");
    else if (size_ns < 999.5e6)
        num_text(buf, size, ns / 1e6, "ms");
    else
        num_text(buf, size, ns / 1e9, "s");
    return buf;
}

const char *pl_num_text_bytes(char *buf, size_t size, double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int power = 0;
    while (fabs(bytes) >= 999.5 && power < 5) {
        bytes /= 1024;
        power++;
    }
    if (power == 0)
        snprintf(buf, size, "%.0f B", bytes);
    else
        num_text(buf, size, bytes, names[power]);
    return buf;
}
