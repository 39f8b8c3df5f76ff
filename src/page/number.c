/* Numbers for people: a fitting unit, and no more digits than are known. */
#include "page/page_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

struct step {
    double from; /* used for sizes of at least this */
    struct page_scale scale;
};

static const struct step times[] = {
    {999.5e6, {"s", 1e-9}}, {999.5e3, {"ms", 1e-6}}, {999.5, {"\xc2\xb5s", 1e-3}}, {0, {"ns", 1}}};
static const struct step sizes[] = {
    {1023.5 * 1073741824.0, {"TiB", 1 / 1099511627776.0}},
    {1023.5 * 1048576.0, {"GiB", 1 / 1073741824.0}},
    {1023.5 * 1024.0, {"MiB", 1 / 1048576.0}},
    {1023.5, {"KiB", 1 / 1024.0}},
    {0, {"B", 1}},
};
static const struct step speeds[] = {
    {1023.5 * 1048576.0, {"GiB/s", 1 / 1073741824.0}},
    {1023.5 * 1024.0, {"MiB/s", 1 / 1048576.0}},
    {1023.5, {"KiB/s", 1 / 1024.0}},
    {0, {"B/s", 1}},
};

static struct page_scale step_for(const struct step *steps, double size)
{
    while (steps->from > size)
        steps++;
    return steps->scale;
}

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

struct page_scale page_scale_of(const struct figure *figure, double size)
{
    size = isfinite(size) ? fabs(size) : 0;
    if (strcmp(figure->unit, "ns") == 0)
        return step_for(times, size);
    if (strcmp(figure->unit, "bytes") == 0)
        return step_for(sizes, size);
    if (strcmp(figure->unit, "bytes/s") == 0)
        return step_for(speeds, size);
    if (strcmp(figure->unit, "1") == 0 && ends_with(figure->name, "_frac"))
        return (struct page_scale){"%", 100};
    if (strcmp(figure->unit, "1/s") == 0)
        return (struct page_scale){"/s", 1};
    if (strcmp(figure->unit, "1/min") == 0)
        return (struct page_scale){"/min", 1};
    if (strcmp(figure->unit, "1") == 0 || strcmp(figure->unit, "count") == 0)
        return (struct page_scale){"", 1};
    return (struct page_scale){figure->unit, 1};
}

int page_decimals(double value, double half_width)
{
    double size = fabs(value);
    if (!(size > 0) || !isfinite(size))
        return 0;
    int top = (int)floor(log10(size / 0.9995)), last = top - 2; /* places: 3 significant digits, of 0.9996 those of 1.00 */
    if (half_width > 0 && isfinite(half_width)) {
        last = (int)floor(log10(half_width)) - 1;
        if (last > top - 1)
            last = top - 1;
        if (last < top - 4)
            last = top - 4;
    }
    return -last;
}

static const char minus[] = "\xe2\x88\x92";

/* Puts commas into the digits before the point, and a real minus sign before them. */
static const char *group_digits(struct pl_arena *arena, const char *digits)
{
    size_t length = strlen(digits), whole = strcspn(digits, "."), start = digits[0] == '-' ? 1 : 0;
    char *text = pl_alloc(arena, length * 2 + 4, 1), *at = text;
    for (size_t i = 0; i < length; i++) {
        if (i > start && i < whole && (whole - i) % 3 == 0)
            *at++ = ',';
        if (digits[i] == '-')
            at = (char *)memcpy(at, minus, sizeof minus - 1) + sizeof minus - 1;
        else
            *at++ = digits[i];
    }
    return text;
}

const char *page_number(struct pl_arena *arena, double value, int decimals)
{
    char digits[400];
    if (!isfinite(value))
        return "\xe2\x80\x94";
    if (value != 0 && (decimals > 8 || fabs(value) >= 1e18)) {
        snprintf(digits, sizeof digits, "%.2e", value);
        return pl_strdup(arena, digits);
    }
    if (decimals < 0) {
        double unit = pow(10, -decimals);
        value = round(value / unit) * unit;
        decimals = 0;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, value);
    if (digits[0] == '-' && strspn(digits + 1, "0.") == strlen(digits + 1))
        memmove(digits, digits + 1, strlen(digits));
    return group_digits(arena, digits);
}

/* Whole numbers that were counted are exact; everything else has the digits that its interval allows. */
static int figure_decimals(const struct figure *figure, double factor)
{
    double value = figure->value * factor;
    if (strcmp(figure->unit, "count") == 0 && value == floor(value))
        return 0;
    double half_width = figure->has_interval ? (figure->high - figure->low) / 2 * factor : 0;
    if (strcmp(figure->unit, "bytes") == 0 && factor == 1 && fabs(value) >= 100)
        return 0;
    if (strcmp(figure->unit, "cores") == 0 && half_width == 0 && fabs(value) < 1)
        return fabs(value) < 0.0005 ? page_decimals(value, 0) - 2 : 3; /* thousandths of a core */
    int decimals = page_decimals(value, half_width), most = page_decimals(value, 0) + 1;
    bool coarse =
        strcmp(figure->unit, "ns") == 0; /* histograms keep three digits, so a fourth is the last that may mean something */
    return coarse && decimals > most ? most : decimals;
}

/* Sizes may shrink; everything else that is measured starts at nothing. */
static bool can_be_negative(const struct figure *figure)
{
    static const char *const grown[] = {"database_", "table_", "index_", "rows_"};
    if (strstr(figure->name, "_growth") != NULL || strstr(figure->name, "_change_frac") != NULL)
        return true;
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        if (strncmp(figure->name, grown[i], strlen(grown[i])) == 0 && ends_with(figure->name, "_per_operation"))
            return true;
    return false;
}

bool page_is_bound(const struct figure *figure)
{
    return figure->status == FIGURE_ABSENT && isfinite(figure->value) && figure->value > 0;
}

/* Rounded down, so that what is said holds. */
static const char *bound_text(struct pl_arena *arena, double value, int decimals)
{
    double unit = pow(10, -decimals);
    return pl_format(arena, "\xe2\x89\xa5 %s", page_number(arena, floor(value / unit) * unit, decimals));
}

static const char *interval_text(struct pl_arena *arena, const struct figure *figure, double factor, int decimals)
{
    double low = figure->low < 0 && figure->high >= 0 && !can_be_negative(figure) ? 0 : figure->low;
    return pl_format(arena, low < 0 ? "%s to %s" : "%s\xe2\x80\x93%s", page_number(arena, low * factor, decimals),
                     page_number(arena, figure->high * factor, decimals));
}

const char *page_figure_text(struct pl_arena *arena, const struct figure *figure, enum doc_part part,
                             struct page_scale scale)
{
    int decimals = figure_decimals(figure, scale.factor);
    switch (part) {
    case DOC_VALUE:
        if (page_is_bound(figure))
            return bound_text(arena, figure->value * scale.factor, decimals);
        return page_number(arena, figure->value * scale.factor, decimals);
    case DOC_STDDEV:
        return isnan(figure->stddev)
                   ? ""
                   : page_number(arena, figure->stddev * scale.factor, page_decimals(figure->stddev * scale.factor, 0) - 1);
    case DOC_INTERVAL:
        return !figure->has_interval ? "" : interval_text(arena, figure, scale.factor, decimals);
    case DOC_SPREAD: {
        const char *value = page_figure_text(arena, figure, DOC_VALUE, scale);
        const char *spread = page_figure_text(arena, figure, DOC_STDDEV, scale);
        return spread[0] == '\0' ? value : pl_format(arena, "%s \xc2\xb1 %s", value, spread);
    }
    case DOC_COUNT:
        return page_number(arena, (double)figure->n, 0);
    }
    return "";
}

const char *page_exact(struct pl_arena *arena, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back = 0;
        if (pl_num_f64(text, strlen(text), &back) == PL_NUM_OK && back == value)
            break;
    }
    return pl_strdup(arena, text);
}

const char *page_time(struct pl_arena *arena, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / PL_NS_PER_S);
    struct tm parts;
    char text[64];
    if (unix_ns <= 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        return "not recorded";
    return pl_strdup(arena, text);
}

const char *page_duration(struct pl_arena *arena, double ns)
{
    struct page_scale scale = step_for(times, fabs(ns));
    return pl_format(arena, "%s %s", page_number(arena, ns * scale.factor, page_decimals(ns * scale.factor, 0)),
                     scale.unit);
}
