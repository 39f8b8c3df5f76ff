/* The parser of JSONPath: recursive descent over the text, straight into the tables that find.c walks. */
#include "json/json_int.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

#include "base/ban.h"

struct parser {
    const char *text;
    size_t length, at;
    struct pl_arena *arena;
    const char *wrong;
    int depth;   /* of parentheses and signs */
    int nesting; /* of filters */
    int tests;
};

static bool parse_path(struct parser *parser, const struct json_path **ret_path);
static bool parse_or(struct parser *parser, const struct json_test **ret_test);

/* ---- characters ---- */

static bool parser_fail(struct parser *parser, const char *wrong)
{
    if (parser->wrong == NULL)
        parser->wrong = wrong;
    return false;
}

static char parser_here(const struct parser *parser)
{
    return parser->at < parser->length ? parser->text[parser->at] : '\0';
}

static void parser_blanks(struct parser *parser)
{
    while (parser->at < parser->length && strchr(" \t\r\n", parser->text[parser->at]) != NULL &&
           parser->text[parser->at] != '\0')
        parser->at++;
}

static bool parser_take(struct parser *parser, const char *sign)
{
    size_t length = strlen(sign);
    if (parser->length - parser->at < length || memcmp(parser->text + parser->at, sign, length) != 0)
        return false;
    parser->at += length;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' ||
           (unsigned char)c >= 0x80;
}

/* ---- names, strings, numbers ---- */

/* A name after a dot. Wider than RFC 9535, as Hurl's: it may begin with a digit and hold a minus. */
static bool parse_name(struct parser *parser, struct json_selector *selector)
{
    size_t start = parser->at;
    while (parser->at < parser->length && is_name_char(parser->text[parser->at]))
        parser->at++;
    if (parser->at == start)
        return parser_fail(parser, "a name is due here");
    *selector = (struct json_selector){.kind = SELECT_NAME,
                                       .name = pl_strndup(parser->arena, parser->text + start, parser->at - start),
                                       .name_length = parser->at - start};
    return true;
}

/* At a quote of either kind. */
static bool parse_string(struct parser *parser, char **ret_text, size_t *ret_length)
{
    char quote = parser_here(parser);
    char *out = pl_alloc(parser->arena, parser->length - parser->at + 1, 1);
    size_t length = 0, size;
    for (parser->at++; parser->at < parser->length;) {
        const char *here = parser->text + parser->at;
        if (*here == quote) {
            parser->at++;
            *ret_text = out;
            *ret_length = length;
            return true;
        }
        if (*here != '\\') {
            if ((unsigned char)*here < 0x20)
                return parser_fail(parser, "a control character in a string");
            out[length++] = *here;
            parser->at++;
            continue;
        }
        bool is_quote = parser->at + 1 < parser->length && here[1] == '\'';
        size_t used = is_quote ? 2 : json_escape_read(here, parser->length - parser->at, out + length, &size);
        if (used == 0)
            return parser_fail(parser, "an escape that JSON does not have");
        if (is_quote)
            out[length] = '\'';
        length += is_quote ? 1 : size;
        parser->at += used;
    }
    return parser_fail(parser, "a string that does not end");
}

/* An integer that a double holds exactly, as RFC 9535 wants it. */
static bool parse_integer(struct parser *parser, int64_t *ret_integer)
{
    static const int64_t most = (INT64_C(1) << 53) - 1;
    size_t start = parser->at;
    parser->at += parser_here(parser) == '-';
    size_t digits = parser->at;
    while (is_digit(parser_here(parser)))
        parser->at++;
    if (parser->at == digits)
        return parser_fail(parser, "an index is due here");
    if (pl_num_i64(parser->text + start, parser->at - start, ret_integer) != PL_NUM_OK || *ret_integer > most ||
        *ret_integer < -most)
        return parser_fail(parser, "an index too large");
    return true;
}

/* ---- selectors ---- */

static bool parse_slice(struct parser *parser, struct json_selector *selector)
{
    selector->kind = SELECT_SLICE;
    selector->step = 1;
    parser_blanks(parser);
    if (is_digit(parser_here(parser)) || parser_here(parser) == '-') {
        selector->has_end = true;
        if (!parse_integer(parser, &selector->end))
            return false;
        parser_blanks(parser);
    }
    if (!parser_take(parser, ":"))
        return true;
    parser_blanks(parser);
    return is_digit(parser_here(parser)) || parser_here(parser) == '-' ? parse_integer(parser, &selector->step) : true;
}

static bool parse_filter(struct parser *parser, struct json_selector *selector)
{
    selector->kind = SELECT_FILTER;
    if (parser->nesting == PATH_NESTING_MOST)
        return parser_fail(parser, "filters nested too deep");
    parser->nesting++;
    parser_blanks(parser);
    bool is_good = parse_or(parser, &selector->test);
    parser->nesting--;
    return is_good;
}

static bool parse_selector(struct parser *parser, struct json_selector *selector)
{
    char here = parser_here(parser), *name;
    *selector = (struct json_selector){.kind = SELECT_NAME};
    if (here == '\'' || here == '"') {
        if (!parse_string(parser, &name, &selector->name_length))
            return false;
        selector->name = name;
        return true;
    }
    if (parser_take(parser, "*")) {
        selector->kind = SELECT_ALL;
        return true;
    }
    if (parser_take(parser, "?"))
        return parse_filter(parser, selector);
    if (here == '(')
        return parser_fail(parser, "scripts in parentheses are not understood; [-1] is the last item");
    if (here != ':') {
        selector->kind = SELECT_INDEX;
        selector->has_start = true;
        if (!parse_integer(parser, &selector->start))
            return false;
        parser_blanks(parser);
    }
    return parser_take(parser, ":") ? parse_slice(parser, selector) : true;
}

/* Behind the bracket. */
static bool parse_selectors(struct parser *parser, struct json_segment *segment)
{
    struct json_selector *list = NULL;
    size_t capacity = 0;
    for (;;) {
        parser_blanks(parser);
        list = pl_grow(parser->arena, list, segment->selector_count, segment->selector_count + 1, sizeof *list, &capacity);
        if (!parse_selector(parser, &list[segment->selector_count++]))
            return false;
        parser_blanks(parser);
        if (parser_take(parser, "]"))
            break;
        if (!parser_take(parser, ","))
            return parser_fail(parser, "] or a comma is due here");
    }
    segment->selectors = list;
    return true;
}

/* Behind the dots. */
static bool parse_dotted(struct parser *parser, struct json_segment *segment)
{
    if (parser_take(parser, "["))
        return parse_selectors(parser, segment);
    struct json_selector *selector = pl_alloc(parser->arena, 1, sizeof *selector);
    segment->selectors = selector;
    segment->selector_count = 1;
    if (parser_take(parser, "*")) {
        selector->kind = SELECT_ALL;
        return true;
    }
    return parse_name(parser, selector);
}

/* ---- paths ---- */

/* false with no error: the path ends here. */
static bool parse_segment(struct parser *parser, struct json_segment *segment)
{
    size_t before = parser->at;
    parser_blanks(parser);
    *segment = (struct json_segment){0};
    if (parser_take(parser, "..")) {
        segment->descends = true;
        return parse_dotted(parser, segment);
    }
    if (parser_take(parser, "."))
        return parse_dotted(parser, segment);
    if (parser_take(parser, "["))
        return parse_selectors(parser, segment);
    parser->at = before;
    return false;
}

static bool segment_is_single(const struct json_segment *segment)
{
    return !segment->descends && segment->selector_count == 1 && segment->selectors[0].kind <= SELECT_INDEX;
}

/* Behind the $ or @. */
static bool parse_path(struct parser *parser, const struct json_path **ret_path)
{
    struct json_path *path = pl_alloc(parser->arena, 1, sizeof *path);
    struct json_segment *segments = NULL, segment;
    size_t capacity = 0;
    while (parse_segment(parser, &segment)) {
        if (path->segment_count == PATH_SEGMENTS_MOST)
            return parser_fail(parser, "a path too long");
        segments =
            pl_grow(parser->arena, segments, path->segment_count, path->segment_count + 1, sizeof *segments, &capacity);
        path->single_count += path->single_count == path->segment_count && segment_is_single(&segment);
        segments[path->segment_count++] = segment;
    }
    path->segments = segments;
    *ret_path = path;
    return parser->wrong == NULL;
}

/* ---- operands ---- */

/* A value written in a filter, as a text of JSON with its one token. */
static void operand_literal(struct parser *parser, struct json_operand *operand, enum json_kind kind, const char *text,
                            size_t length)
{
    struct json_token *token = pl_alloc(parser->arena, 1, sizeof *token);
    *token = (struct json_token){.kind = (uint8_t)kind, .bytes = (uint32_t)length, .after = 1};
    operand->kind = OPERAND_LITERAL;
    operand->literal =
        (struct json){.text = pl_strndup(parser->arena, text, length), .length = length, .tokens = token, .count = 1};
}

static bool parse_number(struct parser *parser, struct json_operand *operand)
{
    size_t start = parser->at, digits;
    enum json_kind kind = JSON_INTEGER;
    parser->at += parser_here(parser) == '-';
    digits = parser->at;
    while (is_digit(parser_here(parser)))
        parser->at++;
    if (parser->at == digits)
        return parser_fail(parser, "a value, @ or $ is due here");
    if (parser_here(parser) == '.') {
        kind = JSON_FLOAT;
        for (parser->at++, digits = parser->at; is_digit(parser_here(parser));)
            parser->at++;
        if (parser->at == digits)
            return parser_fail(parser, "a number without digits after its point");
    }
    if ((parser_here(parser) | 32) == 'e') {
        kind = JSON_FLOAT;
        parser->at++;
        parser->at += parser_here(parser) == '-' || parser_here(parser) == '+';
        for (digits = parser->at; is_digit(parser_here(parser));)
            parser->at++;
        if (parser->at == digits)
            return parser_fail(parser, "a number without digits in its exponent");
    }
    operand_literal(parser, operand, kind, parser->text + start, parser->at - start);
    return true;
}

static bool parse_operand(struct parser *parser, struct json_operand *operand);

/* length(...) and count(...), behind the parenthesis. */
static bool parse_function(struct parser *parser, struct json_operand *operand, enum operand_kind kind)
{
    struct json_operand *argument = pl_alloc(parser->arena, 1, sizeof *argument);
    if (++parser->depth > PATH_DEPTH_MOST)
        return parser_fail(parser, "an expression nested too deep");
    parser_blanks(parser);
    if (!parse_operand(parser, argument))
        return false;
    if (kind == OPERAND_COUNT && argument->kind != OPERAND_PATH)
        return parser_fail(parser, "count() takes a path");
    parser_blanks(parser);
    if (!parser_take(parser, ")"))
        return parser_fail(parser, ") is due here");
    parser->depth--;
    *operand = (struct json_operand){.kind = kind, .argument = argument};
    return true;
}

static bool parse_word(struct parser *parser, struct json_operand *operand)
{
    static const struct {
        const char *text;
        enum json_kind kind;
    } words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
    size_t start = parser->at;
    while (parser->at < parser->length && is_name_char(parser->text[parser->at]))
        parser->at++;
    size_t length = parser->at - start;
    if (parser_here(parser) == '(') {
        if (length == 6 && memcmp(parser->text + start, "length", 6) == 0) {
            parser->at++;
            return parse_function(parser, operand, OPERAND_LENGTH);
        }
        if (length == 5 && memcmp(parser->text + start, "count", 5) == 0) {
            parser->at++;
            return parse_function(parser, operand, OPERAND_COUNT);
        }
        parser->at = start;
        return parser_fail(parser, "of functions, length() and count() are understood");
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].text) == length && memcmp(words[i].text, parser->text + start, length) == 0) {
            operand_literal(parser, operand, words[i].kind, words[i].text, length);
            return true;
        }
    }
    parser->at = start;
    return parser_fail(parser, "a value, @ or $ is due here");
}

static bool parse_operand(struct parser *parser, struct json_operand *operand)
{
    char here = parser_here(parser), *text;
    size_t length;
    *operand = (struct json_operand){.kind = OPERAND_PATH};
    if (here == '@' || here == '$') {
        parser->at++;
        operand->from_root = here == '$';
        return parse_path(parser, &operand->path);
    }
    if (here == '\'' || here == '"') {
        if (!parse_string(parser, &text, &length))
            return false;
        operand_literal(parser, operand, JSON_STRING, text, length);
        return true;
    }
    return (here >= 'a' && here <= 'z') ? parse_word(parser, operand) : parse_number(parser, operand);
}

/* ---- filters ---- */

static bool operand_is_value(const struct json_operand *operand)
{
    if (operand->kind == OPERAND_LENGTH)
        return operand_is_value(operand->argument);
    return operand->kind != OPERAND_PATH || operand->path->single_count == operand->path->segment_count;
}

/* A comparison, or a path that must find something. */
static bool parse_comparison(struct parser *parser, struct json_test *test)
{
    static const struct {
        const char *sign;
        enum test_kind kind;
        bool is_swapped;
    } signs[] = {{"==", TEST_EQUAL, false},        {"!=", TEST_NOT_EQUAL, false}, {"<=", TEST_LESS_OR_EQUAL, false},
                 {">=", TEST_LESS_OR_EQUAL, true}, {"<", TEST_LESS, false},       {">", TEST_LESS, true}};
    struct json_operand left, right;
    size_t start = parser->at;
    if (!parse_operand(parser, &left))
        return false;
    parser_blanks(parser);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (!parser_take(parser, signs[i].sign))
            continue;
        parser_blanks(parser);
        if (!parse_operand(parser, &right))
            return false;
        if (!operand_is_value(&left) || !operand_is_value(&right))
            return parser_fail(parser, "a path that may find several values cannot be compared");
        *test = (struct json_test){
            .kind = signs[i].kind, .a = signs[i].is_swapped ? right : left, .b = signs[i].is_swapped ? left : right};
        return true;
    }
    if (parser_here(parser) == '=')
        return parser_fail(parser, "the sign of equality is ==");
    if (left.kind != OPERAND_PATH) {
        parser->at = start;
        return parser_fail(parser, "a value alone is no condition");
    }
    *test = (struct json_test){.kind = TEST_EXISTS, .a = left};
    return true;
}

static bool parse_basic(struct parser *parser, const struct json_test **ret_test)
{
    struct json_test *test = pl_alloc(parser->arena, 1, sizeof *test);
    *ret_test = test;
    if (++parser->tests > PATH_TESTS_MOST)
        return parser_fail(parser, "more conditions than are understood");
    if (++parser->depth > PATH_DEPTH_MOST)
        return parser_fail(parser, "an expression nested too deep");
    bool is_good;
    if (parser_take(parser, "!")) {
        parser_blanks(parser);
        test->kind = TEST_NOT;
        is_good = parse_basic(parser, &test->left);
    } else if (parser_take(parser, "(")) {
        parser_blanks(parser);
        is_good = parse_or(parser, ret_test);
        parser_blanks(parser);
        if (is_good && !parser_take(parser, ")"))
            return parser_fail(parser, ") is due here");
    } else {
        is_good = parse_comparison(parser, test);
    }
    parser->depth--;
    return is_good;
}

static bool parse_joined(struct parser *parser, enum test_kind kind, const struct json_test **ret_test)
{
    const char *sign = kind == TEST_OR ? "||" : "&&";
    if (!(kind == TEST_OR ? parse_joined(parser, TEST_AND, ret_test) : parse_basic(parser, ret_test)))
        return false;
    for (;;) {
        parser_blanks(parser);
        if (!parser_take(parser, sign))
            return true;
        parser_blanks(parser);
        struct json_test *test = pl_alloc(parser->arena, 1, sizeof *test);
        *test = (struct json_test){.kind = kind, .left = *ret_test};
        if (!(kind == TEST_OR ? parse_joined(parser, TEST_AND, &test->right) : parse_basic(parser, &test->right)))
            return false;
        *ret_test = test;
    }
}

static bool parse_or(struct parser *parser, const struct json_test **ret_test)
{
    return parse_joined(parser, TEST_OR, ret_test);
}

/* ---- the whole ---- */

static bool is_utf8(const char *text, size_t length, size_t *ret_at)
{
    uint32_t code;
    for (size_t size, i = 0; i < length; i += size) {
        size = pl_utf8_decode((const unsigned char *)text + i, length - i, &code);
        *ret_at = i;
        if (size == 0)
            return false;
    }
    return true;
}

const char *json_path_compile(const char *text, size_t length, struct pl_arena *arena, const struct json_path **ret,
                              size_t *ret_at)
{
    enum { BYTES_MOST = 65536 };
    struct parser parser = {.text = text, .length = length, .arena = arena};
    *ret_at = 0;
    if (length > BYTES_MOST)
        return "a path too long";
    if (!is_utf8(text, length, ret_at))
        return "a byte that is not UTF-8";
    if (!parser_take(&parser, "$"))
        parser_fail(&parser, "a path begins with $");
    else if (parse_path(&parser, ret)) {
        parser_blanks(&parser);
        if (parser.at == length)
            return NULL;
        parser_fail(&parser, "a dot or [ is due here");
    }
    *ret_at = parser.at;
    return parser.wrong;
}
