/* Filters: a table of what each takes and the function that does it. Those on numbers, lists and JSON are here. */
#include "hurl/run_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

/* ---- numbers ---- */

static bool filter_wrong(struct hurl_run *run, const struct hurl_filter *filter, const struct hurl_any *value,
                         const char *what)
{
    char shown[HURL_SHOW_BYTES];
    return hurl_fail(run, filter->place, "%s is not %s", hurl_show(run, value, shown), what);
}

static bool filter_to_int(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    int64_t i = value->i;
    if (value->kind == HURL_FLOAT) { /* as far as it goes */
        if (isnan(value->d))
            return filter_wrong(run, filter, value, "an integer");
        i = value->d >= 0x1p63 ? INT64_MAX : value->d < -0x1p63 ? INT64_MIN : (int64_t)value->d;
    } else if (value->kind == HURL_TEXT || value->kind == HURL_NUMBER) {
        if ((value->text.length > 0 && memchr(value->text.text, '_', value->text.length) != NULL) ||
            pl_num_i64(value->text.text, value->text.length, &i) != PL_NUM_OK)
            return filter_wrong(run, filter, value, "an integer of 64 bits");
    }
    *value = hurl_int_value(i);
    return true;
}

static bool filter_to_float(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    double d = value->d; /* of FLOAT and NUMBER */
    if (value->kind == HURL_INT)
        d = (double)value->i;
    else if (value->kind == HURL_TEXT &&
             ((value->text.length > 0 && memchr(value->text.text, '_', value->text.length) != NULL) ||
              pl_num_f64(value->text.text, value->text.length, &d) != PL_NUM_OK))
        return filter_wrong(run, filter, value, "a number");
    *value = (struct hurl_any){.kind = HURL_FLOAT, .d = d};
    return true;
}

static bool filter_to_string(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice text;
    if (!hurl_as_text(run, filter->place, value, &text))
        return false;
    *value = hurl_text_value(text.text, text.length);
    return true;
}

/* ---- collections ---- */

static bool filter_count(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    (void)run;
    (void)filter;
    *value = hurl_int_value((int64_t)(value->kind == HURL_BYTES ? value->text.length : value->count));
    return true;
}

static bool filter_nth(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_any list = *value;
    int64_t count = (int64_t)list.count, index = filter->number;
    if (filter->kind != HURL_FILTER_NTH)
        index = filter->kind == HURL_FILTER_FIRST ? 0 : -1;
    index += index < 0 ? count : 0;
    if (index >= 0 && index < count)
        return hurl_list_at(run, filter->place, &list, (size_t)index, value);
    if (filter->kind == HURL_FILTER_NTH)
        return hurl_fail(run, filter->place, "the list has %lld item%s, and none has the index %lld", (long long)count,
                         count == 1 ? "" : "s", (long long)filter->number);
    *value = (struct hurl_any){.kind = HURL_NOTHING};
    return true;
}

static size_t split_count(struct hurl_slice text, struct hurl_slice separator)
{
    size_t count = 1;
    const char *end = text.text + text.length;
    for (const char *at = text.text; (at = memmem(at, (size_t)(end - at), separator.text, separator.length)) != NULL;
         at += separator.length)
        count++;
    return count;
}

static bool filter_split(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice separator, text = value->text;
    if (!hurl_text_render(run, &filter->text, &separator))
        return false;
    if (separator.length == 0)
        return hurl_fail(run, filter->place, "the separator is empty");
    size_t count = split_count(text, separator);
    struct hurl_any *items = hurl_scratch_take(run->scratch, count * sizeof *items);
    if (items == NULL)
        return hurl_fail_full(run, filter->place);
    const char *at = text.text, *end = text.text + text.length;
    for (size_t i = 0; i < count; i++) {
        const char *stop = memmem(at, (size_t)(end - at), separator.text, separator.length);
        stop = stop != NULL ? stop : end;
        items[i] = hurl_text_value(at, (size_t)(stop - at));
        at = stop + (stop < end ? separator.length : 0);
    }
    *value = (struct hurl_any){.kind = HURL_LIST, .count = count, .items = items};
    return true;
}

static bool filter_location(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    const struct hurl_response *response = run->response;
    if (response == NULL || value->i + 1 != response->redirect_count)
        return hurl_fail(run, filter->place, "of redirects only the last one's location is kept");
    *value = hurl_text_value(response->url.text, response->url.length);
    return true;
}

/* ---- text ---- */

static bool filter_replace(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice from, to, text = value->text;
    if (!hurl_text_render(run, &filter->text, &from) || !hurl_text_render(run, &filter->second, &to))
        return false;
    if (from.length == 0)
        return hurl_fail(run, filter->place, "what is to be replaced is empty");
    const char *at = text.text, *end = text.text + text.length;
    hurl_scratch_open(run->scratch);
    while (!run->scratch->is_full) {
        const char *found = memmem(at, (size_t)(end - at), from.text, from.length);
        hurl_scratch_put(run->scratch, at, (size_t)((found != NULL ? found : end) - at));
        if (found == NULL)
            break;
        hurl_scratch_put(run->scratch, to.text, to.length);
        at = found + from.length;
    }
    struct hurl_slice done = hurl_scratch_close(run->scratch);
    *value = hurl_text_value(done.text, done.length);
    return run->scratch->is_full ? hurl_fail_full(run, filter->place) : true;
}

/* A list or object is read again from its text, so that a filter's table is free for the next. */
static bool filter_jsonpath(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice text = value->text;
    struct json *json = &run->work->filter;
    const struct json_path *path;
    size_t at;
    if (!hurl_path_compiled(run, filter->place, &filter->path, &path)) /* before the table is used: it may have filters */
        return false;
    if (value->kind != HURL_TEXT) {
        hurl_scratch_open(run->scratch);
        bool is_json = hurl_put_json(run->scratch, value);
        text = hurl_scratch_close(run->scratch);
        if (run->scratch->is_full)
            return hurl_fail_full(run, filter->place);
        if (!is_json)
            return hurl_fail(run, filter->place, "the list is none of JSON");
    }
    const char *wrong = json_read(json, text.text, text.length, &at);
    if (wrong != NULL)
        return hurl_fail(run, filter->place, "the text is not JSON: %s at byte %zu", wrong, at);
    return hurl_path_run(run, filter->place, &filter->path, json, &run->work->filter_search, value);
}

/* ---- dates ---- */

bool hurl_filter_to_date(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice format;
    struct hurl_any date;
    char wrong, shown[HURL_SHOW_BYTES], text[HURL_SHOW_BYTES];
    if (!hurl_text_render(run, &filter->text, &format))
        return false;
    if (hurl_date_parse(value->text, format, &date, &wrong)) {
        *value = date;
        return true;
    }
    if (wrong != '\0')
        return hurl_fail(run, filter->place, "the format has %%%s, which is not understood",
                         hurl_show_text(run, &wrong, 1, shown));
    return hurl_fail(run, filter->place, "%s is no date of the format \"%s\"", hurl_show(run, value, text),
                     hurl_show_text(run, format.text, format.length, shown));
}

bool hurl_filter_date_format(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice format;
    char shown[HURL_SHOW_BYTES];
    if (!hurl_text_render(run, &filter->text, &format))
        return false;
    hurl_scratch_open(run->scratch);
    char wrong = hurl_date_put(run->scratch, value, format);
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    *value = hurl_text_value(text.text, text.length);
    if (wrong != '\0')
        return hurl_fail(run, filter->place, "the format has %%%s, which is not understood",
                         hurl_show_text(run, &wrong, 1, shown));
    return run->scratch->is_full ? hurl_fail_full(run, filter->place) : true;
}

/* Whole days; of a date on the other side of now a negative number. */
bool hurl_filter_days(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    enum { DAY_S = 86400 };
    (void)run;
    int64_t away_s = value->i - pl_clock_unix_ns() / PL_NS_PER_S;
    *value = hurl_int_value((filter->kind == HURL_FILTER_DAYS_AFTER_NOW ? away_s : -away_s) / DAY_S);
    return true;
}

/* ---- the table ---- */

#define TAKES(kind) (1U << (kind))

static const struct filter_row {
    const char *name, *takes;
    unsigned kinds;
    hurl_filter_function *run;
} rows[] = {
    [HURL_FILTER_BASE64_DECODE] = {"base64Decode", "text", TAKES(HURL_TEXT), hurl_filter_base64},
    [HURL_FILTER_BASE64_ENCODE] = {"base64Encode", "bytes", TAKES(HURL_BYTES), hurl_filter_base64},
    [HURL_FILTER_BASE64_URL_SAFE_DECODE] = {"base64UrlSafeDecode", "text", TAKES(HURL_TEXT), hurl_filter_base64},
    [HURL_FILTER_BASE64_URL_SAFE_ENCODE] = {"base64UrlSafeEncode", "bytes", TAKES(HURL_BYTES), hurl_filter_base64},
    [HURL_FILTER_COUNT] = {"count", "a collection", TAKES(HURL_LIST) | TAKES(HURL_OBJECT) | TAKES(HURL_BYTES),
                           filter_count},
    [HURL_FILTER_DATE_FORMAT] = {"dateFormat", "a date", TAKES(HURL_DATE), hurl_filter_date_format},
    [HURL_FILTER_DAYS_AFTER_NOW] = {"daysAfterNow", "a date", TAKES(HURL_DATE), hurl_filter_days},
    [HURL_FILTER_DAYS_BEFORE_NOW] = {"daysBeforeNow", "a date", TAKES(HURL_DATE), hurl_filter_days},
    [HURL_FILTER_DECODE] = {"decode", "bytes", TAKES(HURL_BYTES), hurl_filter_decode},
    [HURL_FILTER_FIRST] = {"first", "a list", TAKES(HURL_LIST), filter_nth},
    [HURL_FILTER_HTML_ESCAPE] = {"htmlEscape", "text", TAKES(HURL_TEXT), hurl_filter_html_escape},
    [HURL_FILTER_HTML_UNESCAPE] = {"htmlUnescape", "text", TAKES(HURL_TEXT), hurl_filter_html_unescape},
    [HURL_FILTER_JSONPATH] = {"jsonpath", "text, a list or an object",
                              TAKES(HURL_TEXT) | TAKES(HURL_LIST) | TAKES(HURL_OBJECT), filter_jsonpath},
    [HURL_FILTER_LAST] = {"last", "a list", TAKES(HURL_LIST), filter_nth},
    [HURL_FILTER_LOCATION] = {"location", "a redirect", TAKES(HURL_REDIRECT), filter_location},
    [HURL_FILTER_NTH] = {"nth", "a list", TAKES(HURL_LIST), filter_nth},
    [HURL_FILTER_REGEX] = {"regex", "text", TAKES(HURL_TEXT), hurl_filter_regex},
    [HURL_FILTER_REPLACE] = {"replace", "text", TAKES(HURL_TEXT), filter_replace},
    [HURL_FILTER_REPLACE_REGEX] = {"replaceRegex", "text", TAKES(HURL_TEXT), hurl_filter_replace_regex},
    [HURL_FILTER_SPLIT] = {"split", "text", TAKES(HURL_TEXT), filter_split},
    [HURL_FILTER_TO_DATE] = {"toDate", "text", TAKES(HURL_TEXT), hurl_filter_to_date},
    [HURL_FILTER_TO_FLOAT] = {"toFloat", "text or a number",
                              TAKES(HURL_TEXT) | TAKES(HURL_INT) | TAKES(HURL_FLOAT) | TAKES(HURL_NUMBER), filter_to_float},
    [HURL_FILTER_TO_HEX] = {"toHex", "bytes", TAKES(HURL_BYTES), hurl_filter_hex},
    [HURL_FILTER_TO_INT] = {"toInt", "text or a number",
                            TAKES(HURL_TEXT) | TAKES(HURL_INT) | TAKES(HURL_FLOAT) | TAKES(HURL_NUMBER), filter_to_int},
    [HURL_FILTER_TO_STRING] = {"toString", "a value with a text",
                               TAKES(HURL_NULL) | TAKES(HURL_BOOL) | TAKES(HURL_INT) | TAKES(HURL_FLOAT) |
                                   TAKES(HURL_NUMBER) | TAKES(HURL_TEXT) | TAKES(HURL_DATE),
                               filter_to_string},
    [HURL_FILTER_URL_DECODE] = {"urlDecode", "text", TAKES(HURL_TEXT), hurl_filter_url_decode},
    [HURL_FILTER_URL_ENCODE] = {"urlEncode", "text", TAKES(HURL_TEXT), hurl_filter_url_encode},
    [HURL_FILTER_URL_QUERY_PARAM] = {"urlQueryParam", "text", TAKES(HURL_TEXT), hurl_filter_query_param},
    [HURL_FILTER_UTF8_DECODE] = {"utf8Decode", "bytes", TAKES(HURL_BYTES), hurl_filter_utf8},
    [HURL_FILTER_UTF8_ENCODE] = {"utf8Encode", "text", TAKES(HURL_TEXT), hurl_filter_utf8},
};

static bool filter_run(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    const struct filter_row *row = &rows[filter->kind];
    char shown[HURL_SHOW_BYTES];
    bool is_secret = value->is_secret;
    if (value->kind == HURL_NOTHING)
        return hurl_fail(run, filter->place, "%s: there is no value to apply it to", row->name);
    if (row->kinds == TAKES(HURL_LIST) || filter->kind == HURL_FILTER_COUNT)
        hurl_collect(&run->work->filter, value);
    if ((row->kinds & TAKES(value->kind)) == 0)
        return hurl_fail(run, filter->place, "%s: it takes %s, and the value is %s", row->name, row->takes,
                         hurl_show(run, value, shown));
    if (value->kind == HURL_BYTES && value->text.text == NULL && filter->kind != HURL_FILTER_COUNT)
        return hurl_fail(run, filter->place, "%s: of these bytes only the count is known", row->name);
    if (!row->run(run, filter, value)) {
        hurl_fail_in(run, row->name);
        return false;
    }
    value->is_secret |= is_secret && filter->kind != HURL_FILTER_COUNT;
    return true;
}

bool hurl_filters_run(struct hurl_run *run, const struct hurl_filter *filters, size_t count, struct hurl_any *value)
{
    for (size_t i = 0; i < count; i++)
        if (!filter_run(run, &filters[i], value))
            return false;
    return true;
}
