/* Predicates and what they compare with. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/num.h"

#include "base/ban.h"

/* ---- the words ---- */

enum operand_class { OPERAND_NOTHING, OPERAND_ANY, OPERAND_ORDERED, OPERAND_TEXT_OR_BYTES, OPERAND_PATTERN };

static const struct parse_word predicate_words[] = {
    {"==", HURL_EQUALS, OPERAND_ANY, NULL},
    {"!=", HURL_NOT_EQUALS, OPERAND_ANY, NULL},
    {">", HURL_GREATER, OPERAND_ORDERED, NULL},
    {">=", HURL_GREATER_OR_EQUAL, OPERAND_ORDERED, NULL},
    {"<", HURL_LESS, OPERAND_ORDERED, NULL},
    {"<=", HURL_LESS_OR_EQUAL, OPERAND_ORDERED, NULL},
    {"equals", HURL_EQUALS, OPERAND_ANY, NULL}, /* words of older files */
    {"notEquals", HURL_NOT_EQUALS, OPERAND_ANY, NULL},
    {"greaterThan", HURL_GREATER, OPERAND_ORDERED, NULL},
    {"greaterThanOrEquals", HURL_GREATER_OR_EQUAL, OPERAND_ORDERED, NULL},
    {"lessThan", HURL_LESS, OPERAND_ORDERED, NULL},
    {"lessThanOrEquals", HURL_LESS_OR_EQUAL, OPERAND_ORDERED, NULL},
    {"startsWith", HURL_STARTS_WITH, OPERAND_TEXT_OR_BYTES, NULL},
    {"endsWith", HURL_ENDS_WITH, OPERAND_TEXT_OR_BYTES, NULL},
    {"contains", HURL_CONTAINS, OPERAND_TEXT_OR_BYTES, NULL},
    {"includes", HURL_INCLUDES, OPERAND_ANY, NULL},
    {"matches", HURL_MATCHES, OPERAND_PATTERN, NULL},
    {"exists", HURL_EXISTS, OPERAND_NOTHING, NULL},
    {"isBoolean", HURL_IS_BOOLEAN, OPERAND_NOTHING, NULL},
    {"isCollection", HURL_IS_COLLECTION, OPERAND_NOTHING, NULL},
    {"isDate", HURL_IS_DATE, OPERAND_NOTHING, NULL},
    {"isEmpty", HURL_IS_EMPTY, OPERAND_NOTHING, NULL},
    {"isFloat", HURL_IS_FLOAT, OPERAND_NOTHING, NULL},
    {"isInteger", HURL_IS_INTEGER, OPERAND_NOTHING, NULL},
    {"isIpv4", HURL_IS_IPV4, OPERAND_NOTHING, NULL},
    {"isIpv6", HURL_IS_IPV6, OPERAND_NOTHING, NULL},
    {"isIsoDate", HURL_IS_ISO_DATE, OPERAND_NOTHING, NULL},
    {"isList", HURL_IS_LIST, OPERAND_NOTHING, NULL},
    {"isNumber", HURL_IS_NUMBER, OPERAND_NOTHING, NULL},
    {"isObject", HURL_IS_OBJECT, OPERAND_NOTHING, NULL},
    {"isString", HURL_IS_STRING, OPERAND_NOTHING, NULL},
    {"isUuid", HURL_IS_UUID, OPERAND_NOTHING, NULL},
};

const struct parse_words parse_predicates = {"predicate", predicate_words,
                                             sizeof predicate_words / sizeof predicate_words[0]};

/* ---- operands ---- */

/* An integer, or a number with a fraction or an exponent; one that is too large for 64 bits is a double, too. */
static bool read_number(struct parser *p, struct hurl_operand *operand)
{
    size_t at = p->pos;
    bool is_integer = true;
    p->pos += parse_peek(p, 0) == '-';
    for (char c; (c = parse_peek(p, 0)) != '\0'; p->pos++) {
        bool is_sign = (c == '-' || c == '+') && (p->text[p->pos - 1] | 0x20) == 'e';
        if (!parse_is_digit(c) && c != '.' && (c | 0x20) != 'e' && !is_sign)
            break;
        is_integer = is_integer && parse_is_digit(c);
    }
    struct hurl_slice text = parse_since(p, at);
    if (parse_starts(p, "ms") || parse_starts(p, "s"))
        return parse_fail(p, p->pos, "a number has no unit here: durations are in milliseconds");
    operand->kind = HURL_OPERAND_INT;
    if (is_integer && pl_num_i64(text.text, text.length, &operand->i) == PL_NUM_OK)
        return true;
    operand->kind = HURL_OPERAND_DOUBLE;
    return pl_num_f64(text.text, text.length, &operand->d) == PL_NUM_OK ||
           parse_fail(p, at, "this is no number: %s", parse_shown(p, text.text, text.length));
}

static bool read_multi_line(struct parser *p, struct hurl_operand *operand)
{
    struct hurl_body body = {0};
    size_t at = p->pos;
    if (!parse_multi_line(p, &body))
        return false;
    operand->kind = body.kind == HURL_BODY_BYTES ? HURL_OPERAND_BYTES : HURL_OPERAND_TEXT;
    operand->text = body.text;
    operand->bytes = body.bytes;
    return body.kind != HURL_BODY_GRAPHQL || parse_fail(p, at, "a GraphQL query is no value to compare with");
}

static bool read_variable(struct parser *p, struct hurl_operand *operand)
{
    struct parse_pieces pieces = {0};
    operand->kind = HURL_OPERAND_VARIABLE;
    if (!parse_put_expression(p, &pieces))
        return false;
    parse_end_text(p, &pieces, &operand->text);
    return true;
}

static bool read_named(struct parser *p, struct hurl_operand *operand)
{
    size_t at = p->pos;
    if (parse_is_bytes(p)) {
        operand->kind = HURL_OPERAND_BYTES;
        return parse_bytes(p, &operand->bytes);
    }
    struct hurl_slice word = parse_word(p);
    operand->b = parse_slice_is(word, "true");
    operand->kind = parse_slice_is(word, "null") ? HURL_OPERAND_NULL : HURL_OPERAND_BOOL;
    if (operand->b || operand->kind == HURL_OPERAND_NULL || parse_slice_is(word, "false"))
        return true;
    p->pos = at;
    return parse_fail(p, at, "a value is missing: \"text\", a number, true, false, null, {{variable}}, hex,...;");
}

static bool read_operand(struct parser *p, struct hurl_operand *operand)
{
    char c = parse_peek(p, 0);
    if (parse_starts(p, "```"))
        return read_multi_line(p, operand);
    if (parse_starts(p, "{{"))
        return read_variable(p, operand);
    if (parse_is_digit(c) || c == '-')
        return read_number(p, operand);
    if (c == '/')
        return parse_fail(p, p->pos, "a regular expression goes with \"matches\"");
    if (c != '"' && c != '`')
        return read_named(p, operand);
    operand->kind = HURL_OPERAND_TEXT;
    return parse_text(p, c == '"' ? STYLE_QUOTED : STYLE_BACKTICK, &operand->text);
}

static bool check_class(struct parser *p, size_t at, enum operand_class class, const struct hurl_operand *operand)
{
    enum hurl_operand_kind kind = operand->kind;
    bool is_text = kind == HURL_OPERAND_TEXT, is_number = kind == HURL_OPERAND_INT || kind == HURL_OPERAND_DOUBLE;
    if (class == OPERAND_ORDERED && !is_text && !is_number && kind != HURL_OPERAND_VARIABLE)
        return parse_fail(p, at, "only numbers and texts have an order");
    if (class == OPERAND_TEXT_OR_BYTES && !is_text && kind != HURL_OPERAND_BYTES)
        return parse_fail(p, at, "a text in quotes or bytes (hex,...; base64,...; file,...;) should stand here");
    return true;
}

static bool read_pattern(struct parser *p, struct hurl_operand *operand)
{
    operand->kind = HURL_OPERAND_TEXT;
    if (!parse_regex(p, false, &operand->regex))
        return false;
    operand->text = operand->regex.text;
    return true;
}

/* ---- predicates ---- */

static struct hurl_slice predicate_word(struct parser *p)
{
    size_t at = p->pos;
    struct hurl_slice word = parse_word(p);
    for (char c; word.length == 0 && (c = parse_peek(p, 0)) != '\0' && strchr("=!<>", c) != NULL;)
        p->pos++;
    return parse_since(p, at);
}

static bool fail_missing(struct parser *p, size_t at)
{
    return parse_fail(p, at, "a predicate is missing: == ..., contains \"...\", exists, ...");
}

bool parse_predicate(struct parser *p, struct hurl_predicate *ret_predicate)
{
    if (parse_is_line_end(p))
        return fail_missing(p, p->pos);
    if (!parse_blanks(p, "the predicate"))
        return false;
    size_t at = p->pos;
    struct hurl_slice word = predicate_word(p);
    bool is_negated = parse_slice_is(word, "not");
    *ret_predicate = (struct hurl_predicate){.is_negated = is_negated, .place = parse_place(p, at)};
    if (is_negated) {
        if (parse_is_line_end(p))
            return fail_missing(p, p->pos);
        if (!parse_blanks(p, "the predicate"))
            return false;
        at = p->pos;
        word = predicate_word(p);
    }
    const struct parse_word *found = parse_find(&parse_predicates, word);
    if (word.length == 0)
        return fail_missing(p, at);
    if (found == NULL)
        return parse_fail_word(p, at, word, is_negated ? &parse_predicates : &parse_filters,
                               is_negated ? NULL : &parse_predicates);
    ret_predicate->kind = (enum hurl_predicate_kind)found->kind;
    enum operand_class class = (enum operand_class)found->arguments;
    if (class == OPERAND_NOTHING)
        return true;
    size_t before = p->pos;
    parse_skip_blanks(p);
    size_t operand_at = p->pos;
    if (before == operand_at && parse_is_alnum(found->name[0]) && !parse_is_line_end(p))
        return parse_blanks(p, "what it compares with");
    if (class == OPERAND_PATTERN)
        return read_pattern(p, &ret_predicate->operand);
    return read_operand(p, &ret_predicate->operand) && check_class(p, operand_at, class, &ret_predicate->operand);
}
