/* Dates by formats of strftime's letters, in UTC: written and read without a locale or a time zone of the machine. */
#include "hurl/run_int.h"

#include <string.h>
#include <strings.h>

#include "base/ban.h"

static const char *const month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};
static const char *const day_names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

enum { DAY_S = 86400 };

/* ---- the calendar ---- */

/* Days since 1970 of a date of the Gregorian calendar; years begin in March, so that the leap day is their last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    *ret_day = of_year - (153 * month + 2) / 5 + 1;
    *ret_month = month + (month < 10 ? 3 : -9);
    *ret_year = year + era * 400 + (*ret_month <= 2);
}

static int64_t month_days(int64_t year, int64_t month)
{
    return month == 12 ? 31 : days_of(year, month + 1, 1) - days_of(year, month, 1);
}

/* Letters that stand for several; NULL: this one does not. */
static const char *composite(char letter)
{
    static const struct {
        char letter;
        const char *means;
    } table[] = {{'D', "%m/%d/%y"},       {'x', "%m/%d/%y"},
                 {'F', "%Y-%m-%d"},       {'v', "%e-%b-%Y"},
                 {'R', "%H:%M"},          {'T', "%H:%M:%S"},
                 {'X', "%H:%M:%S"},       {'r', "%I:%M:%S %p"},
                 {'c', "%a %b %e %T %Y"}, {'+', "%Y-%m-%dT%H:%M:%S%.f%:z"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].letter == letter)
            return table[i].means;
    return NULL;
}

/* ---- writing ---- */

struct parts {
    int64_t year, month, day, hour, minute, second, weekday, yearday, unix_s;
    uint32_t nanos;
};

static struct parts parts_of(const struct hurl_any *date)
{
    struct parts p = {.unix_s = date->i, .nanos = date->nanos};
    int64_t days = date->i / DAY_S - (date->i % DAY_S < 0), rest = date->i - days * DAY_S;
    date_of(days, &p.year, &p.month, &p.day);
    p.hour = rest / 3600;
    p.minute = rest / 60 % 60;
    p.second = rest % 60;
    p.weekday = ((days + 4) % 7 + 7) % 7;
    p.yearday = days - days_of(p.year, 1, 1) + 1;
    return p;
}

/* pad: '0', ' ', or '-' for none. */
static void put_padded(struct hurl_scratch *scratch, int64_t number, int width, char pad)
{
    char digits[24];
    size_t at = sizeof digits;
    bool is_negative = number < 0;
    uint64_t rest = is_negative ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    while (pad != '-' && sizeof digits - at < (size_t)width)
        digits[--at] = pad;
    if (is_negative)
        digits[--at] = '-';
    hurl_scratch_put(scratch, digits + at, sizeof digits - at);
}

/* Nanoseconds; width 0: as many digits as say it, in threes, with the point none for zero. */
static void put_fraction(struct hurl_scratch *scratch, uint32_t nanos, int width, bool has_point)
{
    char digits[9];
    uint32_t rest = nanos;
    if (width == 0)
        width = !has_point ? 9 : nanos == 0 ? 0 : nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
    for (size_t i = 9; i > 0; i--, rest /= 10)
        digits[i - 1] = (char)('0' + rest % 10);
    hurl_scratch_put(scratch, ".", has_point && width > 0);
    hurl_scratch_put(scratch, digits, (size_t)width);
}

/* %f, %3f, %.f, %.3f: the bytes that were read; 0: it is none of them. */
static size_t fraction_at(const char *at, size_t left, int *ret_width, bool *ret_has_point)
{
    size_t i = 0;
    *ret_has_point = left > 0 && at[0] == '.';
    i += *ret_has_point;
    *ret_width = i < left && (at[i] == '3' || at[i] == '6' || at[i] == '9') ? at[i] - '0' : 0;
    i += *ret_width > 0;
    return i < left && at[i] == 'f' ? i + 1 : 0;
}

/* The letters that are numbers. */
static bool put_number_letter(struct hurl_scratch *scratch, const struct parts *p, char letter, char pad)
{
    int64_t hour12 = p->hour % 12 == 0 ? 12 : p->hour % 12;
    const struct {
        char letter, pad;
        int width;
        int64_t number;
    } table[] = {{'Y', '0', 4, p->year},    {'C', '0', 2, p->year / 100}, {'y', '0', 2, (p->year % 100 + 100) % 100},
                 {'m', '0', 2, p->month},   {'d', '0', 2, p->day},        {'e', ' ', 2, p->day},
                 {'j', '0', 3, p->yearday}, {'H', '0', 2, p->hour},       {'k', ' ', 2, p->hour},
                 {'I', '0', 2, hour12},     {'l', ' ', 2, hour12},        {'M', '0', 2, p->minute},
                 {'S', '0', 2, p->second},  {'w', '0', 1, p->weekday},    {'u', '0', 1, p->weekday == 0 ? 7 : p->weekday},
                 {'s', '-', 0, p->unix_s}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].letter != letter)
            continue;
        put_padded(scratch, table[i].number, table[i].width, pad != '\0' ? pad : table[i].pad);
        return true;
    }
    return false;
}

static bool put_word_letter(struct hurl_scratch *scratch, const struct parts *p, char letter)
{
    const char *month = month_names[p->month - 1], *day = day_names[p->weekday], *word = NULL;
    size_t length = 0;
    switch (letter) {
    case 'B':
        word = month;
        break;
    case 'b':
    case 'h':
        word = month;
        length = 3;
        break;
    case 'A':
        word = day;
        break;
    case 'a':
        word = day;
        length = 3;
        break;
    case 'p':
        word = p->hour < 12 ? "AM" : "PM";
        break;
    case 'P':
        word = p->hour < 12 ? "am" : "pm";
        break;
    case 'Z':
        word = "UTC";
        break;
    case 'z':
        word = "+0000";
        break;
    case 't':
        word = "\t";
        break;
    case 'n':
        word = "\n";
        break;
    case '%':
        word = "%";
        break;
    default:
        return false;
    }
    hurl_scratch_put(scratch, word, length > 0 ? length : strlen(word));
    return true;
}

static char put_format(struct hurl_scratch *scratch, const struct parts *p, const char *format, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        int width;
        bool has_point;
        if (format[i] != '%') {
            hurl_scratch_put(scratch, format + i, 1);
            continue;
        }
        size_t used = fraction_at(format + i + 1, length - i - 1, &width, &has_point);
        if (used > 0) {
            put_fraction(scratch, p->nanos, width, has_point);
            i += used;
            continue;
        }
        i++;
        if (i + 1 < length && format[i] == ':' && format[i + 1] == 'z') {
            hurl_scratch_put(scratch, "+00:00", 6);
            i++;
            continue;
        }
        char pad = i + 1 < length && (format[i] == '-' || format[i] == '_' || format[i] == '0') ? format[i] : '\0';
        i += pad != '\0';
        char letter = i < length ? format[i] : '%';
        const char *means = composite(letter);
        if (means != NULL)
            put_format(scratch, p, means, strlen(means));
        else if (i >= length ||
                 (!put_number_letter(scratch, p, letter, pad == '_' ? ' ' : pad) && !put_word_letter(scratch, p, letter)))
            return letter;
    }
    return '\0';
}

char hurl_date_put(struct hurl_scratch *scratch, const struct hurl_any *date, struct hurl_slice format)
{
    struct parts p = parts_of(date);
    return put_format(scratch, &p, format.text, format.length);
}

/* ---- reading ---- */

struct scan {
    const char *text;
    size_t length, at;
    int64_t year, month, day, yearday, hour, minute, second, offset_s, unix_s;
    uint32_t nanos;
    int half; /* of the day: 0 unknown, 1 before noon, 2 after it */
    bool has_unix;
    char wrong; /* a letter that is not understood */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool scan_number(struct scan *scan, size_t most_digits, int64_t low, int64_t high, int64_t *ret)
{
    size_t start = scan->at;
    int64_t number = 0;
    while (scan->at < scan->length && is_digit(scan->text[scan->at]) && scan->at - start < most_digits)
        number = number * 10 + (scan->text[scan->at++] - '0');
    *ret = number;
    return scan->at > start && number >= low && number <= high;
}

static void scan_blanks(struct scan *scan)
{
    while (scan->at < scan->length && is_blank(scan->text[scan->at]))
        scan->at++;
}

/* A word of a list, whole or its first three letters. */
static bool scan_word(struct scan *scan, const char *const *words, size_t count, int64_t *ret_index)
{
    for (size_t i = 0; i < count; i++) {
        size_t left = scan->length - scan->at, length = strlen(words[i]);
        length = left >= length && strncasecmp(words[i], scan->text + scan->at, length) == 0 ? length : 3;
        if (left >= 3 && strncasecmp(words[i], scan->text + scan->at, length) == 0) {
            scan->at += length;
            *ret_index = (int64_t)i;
            return true;
        }
    }
    return false;
}

/* Digits behind the second; more than nine are read over. */
static bool scan_fraction(struct scan *scan, bool has_point)
{
    uint32_t unit = 100000000;
    if (has_point && (scan->at == scan->length || scan->text[scan->at] != '.'))
        return true;
    scan->at += has_point;
    size_t start = scan->at;
    scan->nanos = 0;
    for (; scan->at < scan->length && is_digit(scan->text[scan->at]); scan->at++, unit /= 10)
        scan->nanos += (uint32_t)(scan->text[scan->at] - '0') * unit;
    return scan->at > start;
}

/* +hh:mm, +hhmm, +hh, or Z. */
static bool scan_offset(struct scan *scan)
{
    int64_t hours, minutes = 0;
    if (scan->at == scan->length)
        return false;
    char sign = scan->text[scan->at++];
    if (sign == 'Z' || sign == 'z')
        return true;
    if ((sign != '+' && sign != '-') || !scan_number(scan, 2, 0, 23, &hours))
        return false;
    bool has_colon = scan->at < scan->length && scan->text[scan->at] == ':';
    scan->at += has_colon;
    bool has_minutes = has_colon || (scan->at < scan->length && is_digit(scan->text[scan->at]));
    if (has_minutes && !scan_number(scan, 2, 0, 59, &minutes))
        return false;
    scan->offset_s = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
    return true;
}

static bool scan_half(struct scan *scan)
{
    if (scan->length - scan->at < 2)
        return false;
    bool is_am = strncasecmp(scan->text + scan->at, "AM", 2) == 0, is_pm = strncasecmp(scan->text + scan->at, "PM", 2) == 0;
    scan->half = is_am ? 1 : 2;
    scan->at += 2;
    return is_am || is_pm;
}

static bool scan_year(struct scan *scan)
{
    bool is_negative = scan->at < scan->length && scan->text[scan->at] == '-';
    scan->at += is_negative || (scan->at < scan->length && scan->text[scan->at] == '+');
    if (!scan_number(scan, 4, 0, 9999, &scan->year))
        return false;
    scan->year = is_negative ? -scan->year : scan->year;
    return true;
}

static bool scan_unix(struct scan *scan)
{
    bool is_negative = scan->at < scan->length && scan->text[scan->at] == '-';
    scan->at += is_negative;
    scan->has_unix = scan_number(scan, 12, 0, INT64_C(999999999999), &scan->unix_s);
    scan->unix_s = is_negative ? -scan->unix_s : scan->unix_s;
    return scan->has_unix;
}

/* The letters that are plain numbers; blanks may stand before them. */
static bool scan_number_letter(struct scan *scan, char letter, bool *ret_is_one)
{
    const struct {
        char letter;
        size_t digits;
        int64_t low, high, *field;
    } table[] = {{'m', 2, 1, 12, &scan->month},    {'d', 2, 1, 31, &scan->day},  {'e', 2, 1, 31, &scan->day},
                 {'j', 3, 1, 366, &scan->yearday}, {'H', 2, 0, 23, &scan->hour}, {'k', 2, 0, 23, &scan->hour},
                 {'I', 2, 1, 12, &scan->hour},     {'l', 2, 1, 12, &scan->hour}, {'M', 2, 0, 59, &scan->minute},
                 {'S', 2, 0, 60, &scan->second}};
    *ret_is_one = true;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].letter != letter)
            continue;
        scan_blanks(scan);
        return scan_number(scan, table[i].digits, table[i].low, table[i].high, table[i].field);
    }
    *ret_is_one = false;
    return false;
}

static bool scan_letter(struct scan *scan, char letter)
{
    int64_t index;
    bool is_number, is_good = scan_number_letter(scan, letter, &is_number);
    if (is_number)
        return is_good;
    switch (letter) {
    case 'Y':
        return scan_year(scan);
    case 'y':
        is_good = scan_number(scan, 2, 0, 99, &scan->year);
        scan->year += scan->year < 70 ? 2000 : 1900;
        return is_good;
    case 'b':
    case 'B':
    case 'h':
        is_good = scan_word(scan, month_names, 12, &index);
        scan->month = is_good ? index + 1 : 0;
        return is_good;
    case 'a':
    case 'A':
        return scan_word(scan, day_names, 7, &index);
    case 'p':
    case 'P':
        return scan_half(scan);
    case 's':
        return scan_unix(scan);
    case 'z':
        return scan_offset(scan);
    case 'Z':
        while (scan->at < scan->length && !is_blank(scan->text[scan->at]))
            scan->at++;
        return true;
    case 'n':
    case 't':
        scan_blanks(scan);
        return true;
    case '%':
        return scan->at < scan->length && scan->text[scan->at++] == '%';
    default:
        scan->wrong = letter;
        return false;
    }
}

static bool scan_format(struct scan *scan, const char *format, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        int width;
        bool has_point;
        if (is_blank(format[i])) {
            scan_blanks(scan);
            continue;
        }
        if (format[i] != '%') {
            if (scan->at == scan->length || scan->text[scan->at++] != format[i])
                return false;
            continue;
        }
        size_t used = fraction_at(format + i + 1, length - i - 1, &width, &has_point);
        if (used > 0) {
            i += used;
            if (!scan_fraction(scan, has_point))
                return false;
            continue;
        }
        i++;
        i += i + 1 < length && (strchr("-_0", format[i]) != NULL || (format[i] == ':' && format[i + 1] == 'z'));
        const char *means = i < length ? composite(format[i]) : NULL;
        if (!(means != NULL ? scan_format(scan, means, strlen(means)) : scan_letter(scan, i < length ? format[i] : '?')))
            return false;
    }
    return true;
}

static bool scan_date(struct scan *scan, struct hurl_any *ret_date)
{
    *ret_date = (struct hurl_any){.kind = HURL_DATE, .i = scan->unix_s, .nanos = scan->nanos};
    if (scan->has_unix)
        return true;
    bool has_yearday = scan->yearday > 0 && scan->month == 0;
    if (scan->year == INT64_MIN || (!has_yearday && (scan->month == 0 || scan->day == 0)))
        return false;
    if (!has_yearday && scan->day > month_days(scan->year, scan->month))
        return false;
    int64_t days =
        has_yearday ? days_of(scan->year, 1, 1) + scan->yearday - 1 : days_of(scan->year, scan->month, scan->day);
    if (scan->half > 0)
        scan->hour = scan->hour % 12 + (scan->half == 2 ? 12 : 0);
    ret_date->i = days * DAY_S + scan->hour * 3600 + scan->minute * 60 + scan->second - scan->offset_s;
    return true;
}

bool hurl_date_parse(struct hurl_slice text, struct hurl_slice format, struct hurl_any *ret_date, char *ret_wrong)
{
    struct scan scan = {.text = text.text, .length = text.length, .year = INT64_MIN};
    bool is_good = scan_format(&scan, format.text, format.length) && scan.at == scan.length && scan_date(&scan, ret_date);
    *ret_wrong = scan.wrong;
    return is_good;
}

bool hurl_date_of_http(struct hurl_slice text, struct hurl_any *ret_date)
{
    /* the year of two digits first: the other would read it as one of the first century */
    static const char *const formats[] = {"%a, %d %b %Y %H:%M:%S %Z", "%a, %d-%b-%y %H:%M:%S %Z",
                                          "%a, %d-%b-%Y %H:%M:%S %Z", "%a %b %e %H:%M:%S %Y"};
    char wrong;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (hurl_date_parse(text, (struct hurl_slice){formats[i], strlen(formats[i])}, ret_date, &wrong))
            return true;
    return false;
}

/* RFC 3339: all fields with all their digits, and an offset with a colon. */
bool hurl_date_is_iso(struct hurl_slice text)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";
    enum { SHAPE = sizeof shape - 1 };
    static const char format[] = "%Y-%m-%dT%H:%M:%S%.f%z";
    struct hurl_any date;
    char copy[64], wrong;
    if (text.length <= SHAPE || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.text, text.length);
    for (size_t i = 0; i < SHAPE; i++)
        if (shape[i] == 'd' ? !is_digit(copy[i])
                            : copy[i] != shape[i] && !(shape[i] == 'T' && (copy[i] == 't' || copy[i] == ' ')))
            return false;
    copy[10] = 'T';
    char last = copy[text.length - 1];
    if (last != 'Z' && last != 'z' && copy[text.length - 3] != ':')
        return false;
    return hurl_date_parse((struct hurl_slice){copy, text.length}, (struct hurl_slice){format, sizeof format - 1}, &date,
                           &wrong);
}
