/* Regular expressions, by PCRE2 with limits on how long one may try: the query, the filters and `matches`. */
#include "hurl/run_int.h"

#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/clock.h"
#include "base/utf8.h"

#include "base/ban.h"

enum {
    TEXT_MOST = 4 << 20,      /* bytes that are searched */
    SEARCH_MOST_NS = 50000000 /* of this thread's time, for one query, filter or predicate */
};

/* One query, filter or predicate over a text, which is UTF-8. */
struct search {
    struct hurl_run *run;
    struct hurl_place place;
    pcre2_code *code;
    struct hurl_slice subject;
    int64_t start_ns; /* 0: no time has been looked at yet */
};

bool hurl_is_utf8(struct hurl_slice text)
{
    uint32_t code;
    for (size_t i = 0; i < text.length;) {
        uint64_t eight;
        while (text.length - i >= sizeof eight) { /* most text is ASCII */
            memcpy(&eight, text.text + i, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) != 0)
                break;
            i += sizeof eight;
        }
        if (i == text.length)
            return true;
        size_t size = pl_utf8_decode((const unsigned char *)text.text + i, text.length - i, &code);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

static bool regex_code(struct hurl_run *run, struct hurl_place place, const struct hurl_regex *regex, pcre2_code **ret_code)
{
    struct hurl_slice pattern;
    int error;
    size_t at;
    *ret_code = regex->code;
    if (regex->code != NULL)
        return true;
    if (!hurl_text_render(run, &regex->text, &pattern))
        return false;
    struct hurl_slot *slot = hurl_slot_of(run->work, regex, pattern);
    if (slot->code == NULL)
        slot->code = pcre2_compile((PCRE2_SPTR)slot->text, slot->length, HURL_REGEX_OPTIONS, &error, &at,
                                   run->work->compile_context);
    *ret_code = slot->code;
    if (slot->code != NULL)
        return true;
    PCRE2_UCHAR why[120] = "";
    pcre2_get_error_message(error, why, sizeof why);
    return hurl_fail(run, place, "the pattern is not a regular expression: %s at byte %zu", (const char *)why, at);
}

static bool search_fail_slow(struct search *search)
{
    char size[64] = "";
    search->run->work->is_too_much = true;
    if (search->subject.length > 1024)
        snprintf(size, sizeof size, " of %zu bytes", search->subject.length);
    return hurl_fail(search->run, search->place, "the pattern takes too long on this text%s", size);
}

static bool search_begin(struct search *search)
{
    if (search->subject.length > TEXT_MOST) {
        search->run->work->is_too_much = true;
        return hurl_fail(search->run, search->place, "a text of %zu bytes is not searched by a pattern: %d are at most",
                         search->subject.length, TEXT_MOST);
    }
    return hurl_is_utf8(search->subject) ? true : hurl_fail(search->run, search->place, "the text is not UTF-8");
}

/* PCRE2 tries from one byte after the other, and from each of them a pattern like \w+@ may look through all that follows:
 * without a bound that is the square of the text's length, which a server chooses. So the bytes to try from are given out
 * in parts, the smaller the longer the text is, and between them the time is looked at. A short text is one part. */
static size_t search_part(size_t left)
{
    enum { WORK = 1 << 28, LEAST = 512 };
    size_t part = WORK / (left + 1);
    return part < LEAST ? LEAST : part;
}

/* From a byte of the subject on. The groups are in the work's match data. */
static bool search_from(struct search *search, size_t from, bool *ret_found)
{
    struct hurl_work *work = search->run->work;
    struct hurl_slice subject = search->subject;
    int result = PCRE2_ERROR_NOMATCH;
    while (result == PCRE2_ERROR_NOMATCH && from <= subject.length) {
        size_t left = subject.length - from, part = search_part(left),
               last = part > left ? subject.length : from + part - 1;
        pcre2_set_offset_limit(work->match_context, last);
        result = pcre2_match(search->code, (PCRE2_SPTR)(subject.text != NULL ? subject.text : ""), subject.length, from,
                             PCRE2_NO_UTF_CHECK, work->match_data, work->match_context);
        for (from = last + 1; from < subject.length && ((unsigned char)subject.text[from] & 0xC0) == 0x80;)
            from++;
        if (result != PCRE2_ERROR_NOMATCH || from > subject.length)
            break;
        int64_t now_ns = pl_clock_thread_cpu_ns();
        search->start_ns = search->start_ns == 0 ? now_ns : search->start_ns;
        if (now_ns - search->start_ns > SEARCH_MOST_NS)
            return search_fail_slow(search);
    }
    *ret_found = result >= 0;
    if (result >= 0 || result == PCRE2_ERROR_NOMATCH)
        return true;
    if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
        result == PCRE2_ERROR_JIT_STACKLIMIT)
        return search_fail_slow(search);
    return hurl_fail(search->run, search->place, "the pattern cannot be matched (PCRE2 error %d)", result);
}

bool hurl_regex_match(struct hurl_run *run, struct hurl_place place, const struct hurl_regex *regex,
                      struct hurl_slice subject, struct hurl_slice ret[2], bool *ret_found)
{
    struct search search = {.run = run, .place = place, .subject = subject};
    ret[0] = ret[1] = (struct hurl_slice){0};
    if (!search_begin(&search) || !regex_code(run, place, regex, &search.code) || !search_from(&search, 0, ret_found))
        return false;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(run->work->match_data);
    uint32_t groups = 0;
    pcre2_pattern_info(search.code, PCRE2_INFO_CAPTURECOUNT, &groups);
    for (size_t i = 0; *ret_found && i < 2 && i <= groups; i++)
        if (at[2 * i] != PCRE2_UNSET && at[2 * i] <= at[2 * i + 1])
            ret[i] = (struct hurl_slice){subject.text + at[2 * i], at[2 * i + 1] - at[2 * i]};
    return true;
}

bool hurl_filter_regex(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice groups[2];
    bool is_found;
    if (!hurl_regex_match(run, filter->place, &filter->regex, value->text, groups, &is_found))
        return false;
    *value = groups[1].text != NULL ? hurl_text_value(groups[1].text, groups[1].length)
                                    : (struct hurl_any){.kind = HURL_NOTHING};
    return true;
}

/* ---- replacing ---- */

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void put_group(struct hurl_run *run, pcre2_code *code, struct hurl_slice subject, const char *name, size_t length)
{
    enum { NAME_MOST = 32 };
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(run->work->match_data);
    uint32_t pairs = pcre2_get_ovector_count(run->work->match_data), groups = 0;
    char copy[NAME_MOST + 1];
    int number = 0;
    if (length == 0 || length > NAME_MOST)
        return;
    memcpy(copy, name, length);
    copy[length] = '\0';
    if (strspn(copy, "0123456789") == length)
        for (size_t i = 0; i < length && number < 10000; i++)
            number = number * 10 + (copy[i] - '0');
    else
        number = pcre2_substring_number_from_name(code, (PCRE2_SPTR)copy);
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (number < 0 || (uint32_t)number > groups || (uint32_t)number >= pairs || at[2 * number] == PCRE2_UNSET ||
        at[2 * number] > at[2 * number + 1])
        return;
    hurl_scratch_put(run->scratch, subject.text + at[2 * number], at[2 * number + 1] - at[2 * number]);
}

/* $1, ${1}, $name and ${name} are what a group took; $$ is a dollar. */
static void put_replacement(struct hurl_run *run, pcre2_code *code, struct hurl_slice subject, struct hurl_slice with)
{
    for (size_t i = 0; i < with.length;) {
        const char *dollar = memchr(with.text + i, '$', with.length - i);
        size_t end = dollar != NULL ? (size_t)(dollar - with.text) : with.length;
        hurl_scratch_put(run->scratch, with.text + i, end - i);
        if (dollar == NULL)
            return;
        i = end + 1;
        bool has_brace = i < with.length && with.text[i] == '{';
        size_t start = i + has_brace, stop = start;
        while (stop < with.length && is_word(with.text[stop]))
            stop++;
        bool is_group = stop > start && (!has_brace || (stop < with.length && with.text[stop] == '}'));
        if (is_group) {
            put_group(run, code, subject, with.text + start, stop - start);
            i = stop + has_brace;
        } else {
            hurl_scratch_put(run->scratch, "$", 1);
            i += i < with.length && with.text[i] == '$';
        }
    }
}

/* All matches one after the other; an empty one right behind another is none. */
static bool replace_all(struct search *search, struct hurl_slice with)
{
    struct hurl_run *run = search->run;
    struct hurl_slice subject = search->subject;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(run->work->match_data);
    size_t copied = 0, from = 0;
    bool is_found, is_behind = false;
    search->start_ns = pl_clock_thread_cpu_ns();
    for (unsigned count = 1; from <= subject.length; count++) {
        enum { LOOKS = 64 }; /* at the time, once in so many matches */
        if (!search_from(search, from, &is_found))
            return false;
        if (!is_found)
            break;
        size_t start = at[0], end = at[1];
        if (end < start) /* \K in a lookahead */
            return hurl_fail(run, search->place, "the pattern matches backwards");
        if (end > start || !(is_behind && start == from)) {
            hurl_scratch_put(run->scratch, subject.text + copied, start - copied);
            put_replacement(run, search->code, subject, with);
            copied = end;
        }
        is_behind = end > start;
        from = end;
        if (end == start) { /* over one character, which is kept */
            for (from++; from < subject.length && ((unsigned char)subject.text[from] & 0xC0) == 0x80;)
                from++;
        }
        if (run->scratch->is_full)
            return hurl_fail_full(run, search->place);
        if (count % LOOKS == 0 && pl_clock_thread_cpu_ns() - search->start_ns > SEARCH_MOST_NS)
            return search_fail_slow(search);
    }
    hurl_scratch_put(run->scratch, subject.text + copied, subject.length - copied);
    return true;
}

bool hurl_filter_replace_regex(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice with;
    struct search search = {.run = run, .place = filter->place, .subject = value->text};
    if (!search_begin(&search) || !hurl_text_render(run, &filter->second, &with) ||
        !regex_code(run, filter->place, &filter->regex, &search.code))
        return false;
    hurl_scratch_open(run->scratch);
    bool is_good = replace_all(&search, with);
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    *value = hurl_text_value(text.text, text.length);
    return is_good && run->scratch->is_full ? hurl_fail_full(run, filter->place) : is_good;
}
