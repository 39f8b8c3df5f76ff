#include "httpload/figures_int.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/ban.h"

enum { DIGITS = 5, DIGITS_PLAIN = 6, PLACES_MOST = 6 };

/* So many places behind the point that `digits` digits are significant, as far as there are places for them. */
static int places_of(double value, int digits)
{
    int whole = fabs(value) < 1e-300 ? 1 : (int)floor(log10(fabs(value))) + 1;
    int places = digits - whole;
    return places < 0 ? 0 : places > PLACES_MOST ? PLACES_MOST : places;
}

static void zeros_strip(char *text)
{
    char *point = strchr(text, '.'), *end = text + strlen(text);
    if (point == NULL)
        return;
    while (end > point + 1 && end[-1] == '0')
        end--;
    if (end == point + 1)
        end = point;
    *end = '\0';
}

/* No value here is negative. */
static void thousands_part(char *text, size_t size)
{
    size_t whole = strcspn(text, "."), length = strlen(text);
    for (size_t left = whole; left > 3 && length + 2 <= size; left -= 3) {
        memmove(text + left - 2, text + left - 3, length - left + 4);
        text[left - 3] = ',';
        length++;
    }
}

const char *httpload_figure(char *buf, size_t size, double value)
{
    httpload_figure_plain(buf, size, value);
    if (isfinite(value)) {
        snprintf(buf, size, "%.*f", places_of(value, DIGITS), value);
        zeros_strip(buf);
        thousands_part(buf, size);
    }
    return buf;
}

const char *httpload_figure_plain(char *buf, size_t size, double value)
{
    snprintf(buf, size, "%.*f", isfinite(value) ? places_of(value, DIGITS_PLAIN) : 0, value);
    zeros_strip(buf);
    return buf;
}

const char *httpload_figure_ms(char *buf, size_t size, double ns)
{
    double ms = ns / (double)PL_NS_PER_MS;
    snprintf(buf, size, "%.*f", ms < 100 ? 3 : ms < 1000 ? 2 : ms < 10000 ? 1 : 0, ms);
    return buf;
}

static bool is_continued(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

int httpload_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += !is_continued(*text);
    return columns;
}

size_t httpload_columns_fit(const char *text, int columns)
{
    size_t at = 0;
    for (; text[at] != '\0'; at++)
        if (!is_continued(text[at]) && columns-- <= 0)
            break;
    return at;
}
