/* Text of expressions to tokens. */
#include "script/token_int.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "script/expr_int.h"
#include "script/names_int.h"

#include "base/ban.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char text_at(const struct compiler *c, const struct meta *meta, size_t place)
{
    return place < meta->end ? c->text[place] : '\0';
}

static size_t skip_digits(const struct compiler *c, const struct meta *meta, size_t place)
{
    while (is_digit(text_at(c, meta, place)))
        place++;
    return place;
}

/* Where a number ends that begins here: digits with a point among, before or after them, and an exponent. */
static size_t number_end(const struct compiler *c, const struct meta *meta, bool *ret_is_double)
{
    size_t end = skip_digits(c, meta, meta->pos);
    *ret_is_double = text_at(c, meta, end) == '.';
    if (*ret_is_double)
        end = skip_digits(c, meta, end + 1);
    if ((text_at(c, meta, end) | 32) == 'e') {
        size_t sign = end + 1;
        sign += text_at(c, meta, sign) == '+' || text_at(c, meta, sign) == '-';
        size_t after = skip_digits(c, meta, sign);
        if (after > sign) {
            *ret_is_double = true;
            return after;
        }
    }
    return end;
}

static enum pl_code number_fail(struct compiler *c, const struct meta *meta, const struct token *token, const char *what)
{
    return compile_fail(c, PL_INPUT, meta->start, token->end - 1, "%s constant overflow (%.*s) in command \"%s\"", what,
                        (int)(token->end - token->start), c->text + token->start, meta->name);
}

static enum pl_code token_number(struct compiler *c, const struct meta *meta, struct token *token)
{
    bool is_double;
    token->end = number_end(c, meta, &is_double);
    const char *text = c->text + token->start;
    size_t length = token->end - token->start;
    token->kind = TOKEN_CONSTANT;
    if (is_double) {
        token->constant.type = VALUE_DOUBLE;
        return value_read_decimal(text, length, &token->constant.d) ? PL_OK : number_fail(c, meta, token, "double");
    }
    token->constant.type = VALUE_INT;
    if (pl_num_i64(text, length, &token->constant.i) == PL_NUM_OK)
        return PL_OK;
    if (length != 19 || memcmp(text, "9223372036854775808", 19) != 0)
        return number_fail(c, meta, token, "bigint");
    token->kind = TOKEN_MIN_INT;
    return PL_OK;
}

static void token_word(const struct compiler *c, const struct meta *meta, struct token *token)
{
    static const struct {
        const char *text;
        enum token_kind kind;
    } words[] = {{"and", TOKEN_AND},   {"or", TOKEN_OR},          {"not", TOKEN_NOT},          {"is", TOKEN_IS},
                 {"null", TOKEN_NULL}, {"isnull", TOKEN_IS_NULL}, {"notnull", TOKEN_NOT_NULL}, {"true", TOKEN_TRUE},
                 {"case", TOKEN_CASE}, {"false", TOKEN_FALSE},    {"when", TOKEN_WHEN},        {"then", TOKEN_THEN},
                 {"else", TOKEN_ELSE}, {"end", TOKEN_END_CASE}};
    while (names_is_char(text_at(c, meta, token->end)))
        token->end++;
    token->kind = TOKEN_NAME;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == token->end - token->start &&
            strncasecmp(words[i].text, c->text + token->start, token->end - token->start) == 0)
            token->kind = words[i].kind;
}

static bool token_sign(const struct compiler *c, const struct meta *meta, struct token *token)
{
    static const struct {
        char text[3];
        enum token_kind kind;
    } signs[] = {/* the longer first */
                 {"<>", TOKEN_NOT_EQUAL},  {"!=", TOKEN_NOT_EQUAL},   {"<=", TOKEN_LESS_EQUAL}, {">=", TOKEN_GREATER_EQUAL},
                 {"<<", TOKEN_SHIFT_LEFT}, {">>", TOKEN_SHIFT_RIGHT}, {"<", TOKEN_LESS},        {">", TOKEN_GREATER},
                 {"=", TOKEN_EQUAL},       {"+", TOKEN_PLUS},         {"-", TOKEN_MINUS},       {"*", TOKEN_STAR},
                 {"/", TOKEN_SLASH},       {"%", TOKEN_PERCENT},      {"|", TOKEN_BAR},         {"#", TOKEN_HASH},
                 {"&", TOKEN_AMPERSAND},   {"~", TOKEN_TILDE},        {"(", TOKEN_OPEN},        {")", TOKEN_CLOSE},
                 {",", TOKEN_COMMA}};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        size_t length = strlen(signs[i].text);
        if (length <= meta->end - meta->pos && memcmp(signs[i].text, c->text + meta->pos, length) == 0) {
            token->kind = signs[i].kind;
            token->end = token->start + length;
            return true;
        }
    }
    return false;
}

enum pl_code token_next(struct compiler *c, struct meta *meta, struct token *ret_token)
{
    bool is_end = !meta_skip_blanks(c, meta);
    *ret_token = (struct token){.kind = TOKEN_END, .start = meta->pos, .end = meta->pos};
    if (is_end)
        return PL_OK;
    char here = text_at(c, meta, meta->pos), next = text_at(c, meta, meta->pos + 1);
    enum pl_code code = PL_OK;
    size_t name = here == ':' ? names_length_at(c->text + meta->pos + 1, meta->end - meta->pos - 1, true) : 0;
    if (is_digit(here) || (here == '.' && is_digit(next))) {
        code = token_number(c, meta, ret_token);
    } else if (names_is_char(here)) {
        token_word(c, meta, ret_token);
    } else if (name > 0) {
        ret_token->kind = TOKEN_VARIABLE;
        ret_token->end += 1 + name;
    } else if (!token_sign(c, meta, ret_token)) {
        return compile_fail(c, PL_INPUT, meta->start, meta->pos, "unexpected character (%c) in command \"%s\"", here,
                            meta->name);
    }
    meta->pos = ret_token->end;
    return code;
}
