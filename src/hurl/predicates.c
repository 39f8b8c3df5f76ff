/* Predicates: a value against what is expected of it. A value of a kind that a predicate is not for fails it, also when it
 * is negated. A query that found nothing fails all of them, and holds when they are negated. */
#include "hurl/run_int.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/ban.h"

enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_KIND /* not for values of this kind */, VERDICT_FAILED /* told */ };

struct asked {
    struct hurl_run *run;
    const struct hurl_predicate *predicate;
    struct hurl_any *value, *operand;
};

/* ---- equality and order ---- */

static bool is_number(const struct hurl_any *value)
{
    return value->kind == HURL_INT || value->kind == HURL_FLOAT || value->kind == HURL_NUMBER;
}

static double as_double(const struct hurl_any *value)
{
    return value->kind == HURL_INT ? (double)value->i : value->d;
}

static int slice_compare(struct hurl_slice a, struct hurl_slice b)
{
    size_t least = a.length < b.length ? a.length : b.length;
    int order = least > 0 ? memcmp(a.text, b.text, least) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static bool is_negative(const struct hurl_any *number)
{
    return number->kind == HURL_INT ? number->i < 0 : number->text.text[0] == '-';
}

/* Integers, one of them at least beyond 64 bits: JSON writes none with zeros in front. */
static int long_compare(const struct hurl_any *a, const struct hurl_any *b)
{
    int sign = is_negative(a) ? -1 : 1, order;
    if (is_negative(a) != is_negative(b))
        return sign;
    if (a->kind == HURL_INT || b->kind == HURL_INT)
        return a->kind == HURL_INT ? -sign : sign;
    order = (a->text.length > b->text.length) - (a->text.length < b->text.length);
    return sign * (order != 0 ? order : slice_compare(a->text, b->text));
}

static int number_compare(const struct hurl_any *a, const struct hurl_any *b)
{
    if (a->kind == HURL_INT && b->kind == HURL_INT)
        return (a->i > b->i) - (a->i < b->i);
    if (a->kind != HURL_FLOAT && b->kind != HURL_FLOAT)
        return long_compare(a, b);
    return (as_double(a) > as_double(b)) - (as_double(a) < as_double(b));
}

static int date_compare(const struct hurl_any *a, const struct hurl_any *b)
{
    return a->i != b->i ? (a->i > b->i) - (a->i < b->i) : (a->nanos > b->nanos) - (a->nanos < b->nanos);
}

static bool values_equal(struct asked *asked, const struct hurl_any *a, const struct hurl_any *b, uint64_t *steps,
                         bool *ret_equal);

static bool lists_equal(struct asked *asked, const struct hurl_any *a, const struct hurl_any *b, uint64_t *steps,
                        bool *ret_equal)
{
    struct hurl_place place = asked->predicate->place;
    size_t a_at = 0, b_at = 0;
    uint32_t a_token = 0, b_token = 0;
    struct hurl_any x, y;
    *ret_equal = a->count == b->count;
    while (*ret_equal && a_at < a->count)
        if (!hurl_list_next(asked->run, place, a, &a_at, &a_token, &x) ||
            !hurl_list_next(asked->run, place, b, &b_at, &b_token, &y) || !values_equal(asked, &x, &y, steps, ret_equal))
            return false;
    return true;
}

/* Lists of values are at most two deep: what is in them is JSON, which is compared there. */
static bool values_equal(struct asked *asked, const struct hurl_any *a, const struct hurl_any *b, uint64_t *steps,
                         bool *ret_equal)
{
    *ret_equal = false;
    if (is_number(a) && is_number(b)) {
        *ret_equal = number_compare(a, b) == 0;
    } else if (a->kind != b->kind) {
        return true;
    } else if (a->kind == HURL_BOOL) {
        *ret_equal = a->b == b->b;
    } else if (a->kind == HURL_TEXT || a->kind == HURL_BYTES) {
        *ret_equal = slice_compare(a->text, b->text) == 0;
    } else if (a->kind == HURL_DATE) {
        *ret_equal = date_compare(a, b) == 0;
    } else if (a->json != NULL && b->json != NULL && a->tokens == NULL && b->tokens == NULL) {
        *ret_equal = json_is_same(a->json, a->token, b->json, b->token, steps);
        asked->run->work->is_too_much = *steps == 0;
        if (*steps == 0)
            return hurl_fail(asked->run, asked->predicate->place, "comparing takes more than %d steps", JSON_STEPS_MOST);
    } else if (a->kind == HURL_LIST) {
        return lists_equal(asked, a, b, steps, ret_equal);
    } else {
        *ret_equal = a->kind == HURL_NULL;
    }
    return true;
}

static enum verdict ask_equal(struct asked *asked)
{
    uint64_t steps = JSON_STEPS_MOST;
    bool is_equal;
    if (asked->value->kind == HURL_UNIT || asked->value->kind == HURL_REDIRECT)
        return VERDICT_KIND;
    if (!values_equal(asked, asked->value, asked->operand, &steps, &is_equal))
        return VERDICT_FAILED;
    return is_equal == (asked->predicate->kind == HURL_EQUALS) ? VERDICT_YES : VERDICT_NO;
}

static enum verdict ask_order(struct asked *asked)
{
    const struct hurl_any *a = asked->value, *b = asked->operand;
    int order;
    if (is_number(a) && is_number(b))
        order = number_compare(a, b);
    else if (a->kind == HURL_TEXT && b->kind == HURL_TEXT)
        order = slice_compare(a->text, b->text);
    else if (a->kind == HURL_DATE && b->kind == HURL_DATE)
        order = date_compare(a, b);
    else
        return VERDICT_KIND;
    switch (asked->predicate->kind) {
    case HURL_GREATER:
        return order > 0 ? VERDICT_YES : VERDICT_NO;
    case HURL_GREATER_OR_EQUAL:
        return order >= 0 ? VERDICT_YES : VERDICT_NO;
    case HURL_LESS:
        return order < 0 ? VERDICT_YES : VERDICT_NO;
    default:
        return order <= 0 ? VERDICT_YES : VERDICT_NO;
    }
}

/* ---- parts ---- */

static enum verdict ask_includes(struct asked *asked)
{
    struct hurl_any *list = asked->value, item;
    uint64_t steps = JSON_STEPS_MOST;
    uint32_t token = 0;
    bool is_equal;
    hurl_collect(&asked->run->work->filter, list);
    if (list->kind != HURL_LIST)
        return VERDICT_KIND;
    for (size_t at = 0; at < list->count;) {
        if (!hurl_list_next(asked->run, asked->predicate->place, list, &at, &token, &item) ||
            !values_equal(asked, &item, asked->operand, &steps, &is_equal))
            return VERDICT_FAILED;
        if (is_equal)
            return VERDICT_YES;
    }
    return VERDICT_NO;
}

static enum verdict ask_part(struct asked *asked)
{
    struct hurl_slice whole = asked->value->text, part = asked->operand->text;
    enum hurl_predicate_kind kind = asked->predicate->kind;
    bool is_text = asked->value->kind == HURL_TEXT && asked->operand->kind == HURL_TEXT;
    if (!is_text && (asked->value->kind != HURL_BYTES || asked->operand->kind != HURL_BYTES))
        return kind == HURL_CONTAINS ? ask_includes(asked) : VERDICT_KIND;
    if (part.length > whole.length)
        return VERDICT_NO;
    if (part.length == 0)
        return VERDICT_YES;
    if (kind == HURL_CONTAINS)
        return memmem(whole.text, whole.length, part.text, part.length) != NULL ? VERDICT_YES : VERDICT_NO;
    size_t from = kind == HURL_ENDS_WITH ? whole.length - part.length : 0;
    return memcmp(whole.text + from, part.text, part.length) == 0 ? VERDICT_YES : VERDICT_NO;
}

static enum verdict ask_matches(struct asked *asked)
{
    struct hurl_slice groups[2];
    bool is_found;
    if (asked->value->kind != HURL_TEXT)
        return VERDICT_KIND;
    if (!hurl_regex_match(asked->run, asked->predicate->place, &asked->predicate->operand.regex, asked->value->text, groups,
                          &is_found))
        return VERDICT_FAILED;
    return is_found ? VERDICT_YES : VERDICT_NO;
}

/* ---- kinds ---- */

static enum verdict ask_exists(struct asked *asked)
{
    (void)asked;
    return VERDICT_YES; /* NOTHING was decided before */
}

#define IS(kind) (1U << (kind))

static enum verdict ask_kind(struct asked *asked)
{
    static const unsigned kinds[] = {
        [HURL_IS_BOOLEAN] = IS(HURL_BOOL),
        [HURL_IS_COLLECTION] = IS(HURL_BYTES) | IS(HURL_LIST) | IS(HURL_OBJECT),
        [HURL_IS_DATE] = IS(HURL_DATE),
        [HURL_IS_FLOAT] = IS(HURL_FLOAT),
        [HURL_IS_INTEGER] = IS(HURL_INT) | IS(HURL_NUMBER),
        [HURL_IS_LIST] = IS(HURL_BYTES) | IS(HURL_LIST),
        [HURL_IS_NUMBER] = IS(HURL_INT) | IS(HURL_NUMBER) | IS(HURL_FLOAT),
        [HURL_IS_OBJECT] = IS(HURL_OBJECT),
        [HURL_IS_STRING] = IS(HURL_TEXT),
    };
    if ((kinds[asked->predicate->kind] & IS(HURL_LIST)) != 0 || asked->predicate->kind == HURL_IS_OBJECT)
        hurl_collect(&asked->run->work->filter, asked->value);
    return (kinds[asked->predicate->kind] & IS(asked->value->kind)) != 0 ? VERDICT_YES : VERDICT_NO;
}

static enum verdict ask_empty(struct asked *asked)
{
    struct hurl_any *value = asked->value;
    hurl_collect(&asked->run->work->filter, value);
    if (value->kind == HURL_TEXT || value->kind == HURL_BYTES)
        return value->text.length == 0 ? VERDICT_YES : VERDICT_NO;
    if (value->kind == HURL_LIST || value->kind == HURL_OBJECT)
        return value->count == 0 ? VERDICT_YES : VERDICT_NO;
    return VERDICT_KIND;
}

/* With or without hyphens, in braces, or as a URN. */
static bool is_uuid(struct hurl_slice text)
{
    static const char urn[] = "urn:uuid:", digits[] = "0123456789abcdefABCDEF";
    if (text.length > sizeof urn && memcmp(text.text, urn, sizeof urn - 1) == 0) {
        text.text += sizeof urn - 1;
        text.length -= sizeof urn - 1;
        if (text.length != 36)
            return false;
    } else if (text.length == 38 && text.text[0] == '{' && text.text[37] == '}') {
        text.text++;
        text.length -= 2;
    }
    if (text.length != 36 && text.length != 32)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        bool is_hyphen = text.length == 36 && (i == 8 || i == 13 || i == 18 || i == 23);
        if (is_hyphen ? text.text[i] != '-' : text.text[i] == '\0' || strchr(digits, text.text[i]) == NULL)
            return false;
    }
    return true;
}

static bool is_address(int family, struct hurl_slice text)
{
    char copy[INET6_ADDRSTRLEN + 1], address[sizeof(struct in6_addr)];
    if (text.length >= sizeof copy || (text.length > 0 && memchr(text.text, '\0', text.length) != NULL))
        return false;
    memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    return inet_pton(family, copy, address) == 1;
}

static enum verdict ask_shape(struct asked *asked)
{
    struct hurl_slice text = asked->value->text;
    bool is_good = false;
    if (asked->value->kind != HURL_TEXT)
        return VERDICT_KIND;
    if (asked->predicate->kind == HURL_IS_ISO_DATE)
        is_good = hurl_date_is_iso(text);
    else if (asked->predicate->kind == HURL_IS_UUID)
        is_good = is_uuid(text);
    else
        is_good = is_address(asked->predicate->kind == HURL_IS_IPV4 ? AF_INET : AF_INET6, text);
    return is_good ? VERDICT_YES : VERDICT_NO;
}

/* ---- the table ---- */

typedef enum verdict ask(struct asked *asked);

static const struct predicate_row {
    const char *expects; /* before the operand, if it has one */
    ask *ask;
    bool is_for_counts; /* also of bytes of which only the count is known */
} rows[] = {
    [HURL_EQUALS] = {"", ask_equal, false},
    [HURL_NOT_EQUALS] = {"something other than ", ask_equal, false},
    [HURL_GREATER] = {"more than ", ask_order, false},
    [HURL_GREATER_OR_EQUAL] = {"at least ", ask_order, false},
    [HURL_LESS] = {"less than ", ask_order, false},
    [HURL_LESS_OR_EQUAL] = {"at most ", ask_order, false},
    [HURL_STARTS_WITH] = {"what starts with ", ask_part, false},
    [HURL_ENDS_WITH] = {"what ends with ", ask_part, false},
    [HURL_CONTAINS] = {"what contains ", ask_part, false},
    [HURL_INCLUDES] = {"a list with ", ask_includes, false},
    [HURL_MATCHES] = {"text that matches the pattern", ask_matches, false},
    [HURL_EXISTS] = {"something", ask_exists, true},
    [HURL_IS_BOOLEAN] = {"a boolean", ask_kind, true},
    [HURL_IS_COLLECTION] = {"a collection", ask_kind, true},
    [HURL_IS_DATE] = {"a date", ask_kind, true},
    [HURL_IS_EMPTY] = {"an empty collection or text", ask_empty, true},
    [HURL_IS_FLOAT] = {"a float", ask_kind, true},
    [HURL_IS_INTEGER] = {"an integer", ask_kind, true},
    [HURL_IS_ISO_DATE] = {"a date by RFC 3339", ask_shape, false},
    [HURL_IS_IPV4] = {"an IPv4 address", ask_shape, false},
    [HURL_IS_IPV6] = {"an IPv6 address", ask_shape, false},
    [HURL_IS_LIST] = {"a list", ask_kind, true},
    [HURL_IS_NUMBER] = {"a number", ask_kind, true},
    [HURL_IS_OBJECT] = {"an object", ask_kind, true},
    [HURL_IS_STRING] = {"text", ask_kind, true},
    [HURL_IS_UUID] = {"a UUID", ask_shape, false},
};

/* ---- operands ---- */

static bool operand_value(struct hurl_run *run, const struct hurl_predicate *predicate, struct hurl_any *ret)
{
    const struct hurl_operand *operand = &predicate->operand;
    *ret = (struct hurl_any){.kind = HURL_NOTHING};
    switch (operand->kind) {
    case HURL_OPERAND_NONE:
        return true;
    case HURL_OPERAND_NULL:
        ret->kind = HURL_NULL;
        return true;
    case HURL_OPERAND_BOOL:
        ret->kind = HURL_BOOL;
        ret->b = operand->b;
        return true;
    case HURL_OPERAND_INT:
        *ret = hurl_int_value(operand->i);
        return true;
    case HURL_OPERAND_DOUBLE:
        ret->kind = HURL_FLOAT;
        ret->d = operand->d;
        return true;
    case HURL_OPERAND_TEXT:
        ret->kind = HURL_TEXT;
        for (size_t i = 0; i < operand->text.piece_count; i++)
            ret->is_secret |=
                operand->text.pieces[i].variable >= 0 && hurl_variable_is_secret(run, operand->text.pieces[i].variable);
        return hurl_text_render(run, &operand->text, &ret->text);
    case HURL_OPERAND_BYTES:
        ret->kind = HURL_BYTES;
        ret->text = operand->bytes;
        return true;
    case HURL_OPERAND_VARIABLE:
        break;
    }
    return hurl_piece_value(run, &operand->text.pieces[0], ret);
}

/* A stored text beside a value of another kind is read as JSON: "12" from a file of test data is a number there. */
static bool settle_stored(struct hurl_run *run, struct hurl_place place, struct json *json, struct hurl_any *value,
                          const struct hurl_any *beside)
{
    size_t at;
    bool is_secret = value->is_secret;
    if (value->kind != HURL_TEXT || !value->is_stored || beside->kind == HURL_TEXT || beside->kind == HURL_BYTES ||
        beside->kind == HURL_NOTHING || beside->kind == HURL_DATE ||
        json_read(json, value->text.text, value->text.length, &at) != NULL || json->tokens[0].kind == JSON_STRING)
        return true;
    bool is_good = hurl_from_json(run, place, json, 0, value);
    value->is_secret = is_secret;
    return is_good;
}

static bool predicate_told(struct asked *asked, enum verdict verdict)
{
    const struct hurl_predicate *predicate = asked->predicate;
    char value[HURL_SHOW_BYTES], operand[HURL_SHOW_BYTES] = "";
    const char *is_not = predicate->is_negated ? "not " : "";
    asked->operand->is_secret |= asked->value->is_secret;
    if (asked->operand->kind != HURL_NOTHING && predicate->kind != HURL_MATCHES)
        hurl_show(asked->run, asked->operand, operand);
    if (predicate->kind == HURL_EXISTS && asked->value->kind == HURL_NOTHING)
        return hurl_fail(asked->run, predicate->place, "it does not");
    return hurl_fail(asked->run, predicate->place, "expected %s%s%s, got %s%s", is_not, rows[predicate->kind].expects,
                     operand, hurl_show(asked->run, asked->value, value),
                     verdict == VERDICT_KIND ? ", which it is not for" : "");
}

bool hurl_predicate_run(struct hurl_run *run, const struct hurl_predicate *predicate, struct hurl_any *value)
{
    const struct predicate_row *row = &rows[predicate->kind];
    struct hurl_any operand;
    struct asked asked = {.run = run, .predicate = predicate, .value = value, .operand = &operand};
    enum verdict verdict = VERDICT_NO;
    /* the operand may have filters, which use the table of the value's */
    if (value->json == &run->work->filter && !hurl_keep(run, predicate->place, &run->work->kept, value))
        return false;
    if (!operand_value(run, predicate, &operand) ||
        (operand.json == &run->work->filter && !hurl_keep(run, predicate->place, &run->work->operand, &operand)) ||
        !settle_stored(run, predicate->place, &run->work->operand, &operand, value) ||
        !settle_stored(run, predicate->place, &run->work->filter, value, &operand))
        return false;
    if (value->kind == HURL_BYTES && value->text.text == NULL && !row->is_for_counts)
        return hurl_fail(run, predicate->place, "of these bytes only the count is known");
    if (value->kind != HURL_NOTHING)
        verdict = row->ask(&asked);
    if (verdict == VERDICT_FAILED)
        return false;
    if (verdict == VERDICT_KIND || (verdict == VERDICT_YES) == predicate->is_negated)
        return predicate_told(&asked, verdict);
    return true;
}
