/* The parser of expressions: precedence climbing. From loose to tight: OR; AND; NOT; IS, ISNULL, NOTNULL; comparisons
 * (which do not chain); | # & << >> ~; + -; * / %; the signs. */
#include "script/expr_int.h"

#include <assert.h>
#include <string.h>

#include "script/names_int.h"
#include "script/token_int.h"

#include "base/ban.h"

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_IS, LEVEL_COMPARE, LEVEL_BITS, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_SIGN };

struct parser {
    struct compiler *c;
    struct meta *meta;
    struct token token; /* the next one */
    struct op *ops;
    size_t count, capacity;
    int depth, nesting; /* of the stack; of the text */
};

/* ---- errors and tokens ---- */

static enum pl_code parser_fail(struct parser *parser, const char *what, const struct token *name)
{
    const struct token *token = &parser->token;
    size_t place = token->end > token->start ? token->end - 1 : token->end;
    if (name == NULL)
        return compile_fail(parser->c, PL_INPUT, parser->meta->start, place, "%s in command \"%s\"", what,
                            parser->meta->name);
    return compile_fail(parser->c, PL_INPUT, parser->meta->start, place, "%s (%.*s) in command \"%s\"", what,
                        (int)(name->end - name->start), parser->c->text + name->start, parser->meta->name);
}

static enum pl_code parser_syntax(struct parser *parser)
{
    return parser_fail(parser, "syntax error", NULL);
}

static enum pl_code parser_step(struct parser *parser)
{
    return token_next(parser->c, parser->meta, &parser->token);
}

static enum pl_code parser_expect(struct parser *parser, enum token_kind kind)
{
    return parser->token.kind == kind ? parser_step(parser) : parser_syntax(parser);
}

/* ---- code ---- */

/* Adds an operation that takes `pops` values and puts `pushes`. */
static enum pl_code parser_emit(struct parser *parser, struct op op, int pops, int pushes)
{
    parser->ops =
        pl_grow(parser->c->arena, parser->ops, parser->count, parser->count + 1, sizeof *parser->ops, &parser->capacity);
    parser->ops[parser->count++] = op;
    parser->depth += pushes - pops;
    return parser->depth > EXPR_STACK - EXPR_ARGUMENTS ? parser_fail(parser, "expression too deep", NULL) : PL_OK;
}

static enum pl_code parser_call(struct parser *parser, const struct function *function, int count)
{
    return parser_emit(parser, (struct op){.kind = OP_CALL, .count = count, .function = function}, count, 1);
}

static enum pl_code parser_constant(struct parser *parser, struct value value)
{
    return parser_emit(parser, (struct op){.kind = OP_CONSTANT, .constant = value}, 0, 1);
}

/* Lets the jump at `at` go on at the next operation. */
static void parser_land(struct parser *parser, size_t at)
{
    parser->ops[at].target = (uint32_t)parser->count;
}

/* ---- the grammar ---- */

static enum pl_code parse_expr(struct parser *parser, int level);

static enum pl_code parse_variable(struct parser *parser)
{
    const struct token *token = &parser->token;
    struct op op = {.kind = OP_VARIABLE};
    enum pl_code code = compile_variable(parser->c, parser->meta->start, token->start, parser->c->text + token->start + 1,
                                         token->end - token->start - 1, &op.variable);
    if (code == PL_OK)
        code = parser_emit(parser, op, 0, 1);
    return code == PL_OK ? parser_step(parser) : code;
}

static enum pl_code parse_arguments(struct parser *parser, int *ret_count)
{
    *ret_count = 0;
    if (parser->token.kind == TOKEN_CLOSE)
        return PL_OK;
    for (;;) {
        enum pl_code code = parse_expr(parser, LEVEL_OR);
        ++*ret_count;
        if (code != PL_OK || parser->token.kind != TOKEN_COMMA)
            return code;
        if (*ret_count == EXPR_ARGUMENTS)
            return parser_fail(parser, "too many function arguments, maximum is 16", NULL);
        code = parser_step(parser);
        if (code != PL_OK)
            return code;
    }
}

static enum pl_code parser_check_count(struct parser *parser, const struct function *function, int count,
                                       const struct token *name)
{
    if (count == 0 && function->least == 1 && function->most == EXPR_ARGUMENTS)
        return parser_fail(parser, "at least one argument expected", name);
    if (count < function->least || count > function->most)
        return parser_fail(parser, "unexpected number of arguments", name);
    return PL_OK;
}

/* hash(x) is hash(x, :default_seed). */
static enum pl_code parse_default_seed(struct parser *parser, size_t place)
{
    static const char seed[] = "default_seed";
    struct op op = {.kind = OP_VARIABLE};
    enum pl_code code = compile_variable(parser->c, parser->meta->start, place, seed, strlen(seed), &op.variable);
    return code == PL_OK ? parser_emit(parser, op, 0, 1) : code;
}

static enum pl_code parse_call(struct parser *parser)
{
    struct token name = parser->token;
    const struct function *function = expr_function_find(parser->c->text + name.start, name.end - name.start);
    if (function == NULL)
        return parser_fail(parser, "unexpected function name", &name);
    int count;
    enum pl_code code = parser_step(parser);
    if (code == PL_OK)
        code = parser_expect(parser, TOKEN_OPEN);
    if (code == PL_OK)
        code = parse_arguments(parser, &count);
    if (code != PL_OK)
        return code;
    if (parser->token.kind != TOKEN_CLOSE)
        return parser_syntax(parser);
    code = parser_check_count(parser, function, count, &name);
    if (code == PL_OK && function->is_seeded && count < function->most) {
        code = parse_default_seed(parser, name.start);
        count++;
    }
    if (code == PL_OK)
        code = parser_call(parser, function, count);
    return code == PL_OK ? parser_step(parser) : code;
}

/* WHEN condition THEN value; the jump to the end of the CASE is put into the list of them. */
static enum pl_code parse_when(struct parser *parser, uint32_t *jumps)
{
    enum pl_code code = parser_step(parser);
    if (code == PL_OK)
        code = parse_expr(parser, LEVEL_OR);
    if (code == PL_OK)
        code = parser_expect(parser, TOKEN_THEN);
    size_t test = parser->count;
    if (code == PL_OK)
        code = parser_emit(parser, (struct op){.kind = OP_UNLESS}, 1, 0);
    if (code == PL_OK)
        code = parse_expr(parser, LEVEL_OR);
    if (code == PL_OK)
        code = parser_emit(parser, (struct op){.kind = OP_JUMP, .target = *jumps}, 1, 0);
    if (code != PL_OK)
        return code;
    *jumps = (uint32_t)parser->count - 1;
    parser_land(parser, test);
    return PL_OK;
}

static enum pl_code parse_case(struct parser *parser)
{
    enum pl_code code = parser_step(parser);
    uint32_t jumps = UINT32_MAX;
    if (code == PL_OK && parser->token.kind != TOKEN_WHEN)
        return parser_syntax(parser);
    while (code == PL_OK && parser->token.kind == TOKEN_WHEN)
        code = parse_when(parser, &jumps);
    if (code == PL_OK && parser->token.kind == TOKEN_ELSE) {
        code = parser_step(parser);
        if (code == PL_OK)
            code = parse_expr(parser, LEVEL_OR);
    } else if (code == PL_OK) {
        code = parser_constant(parser, (struct value){.type = VALUE_NULL});
    }
    if (code == PL_OK)
        code = parser_expect(parser, TOKEN_END_CASE);
    if (code != PL_OK)
        return code;
    while (jumps != UINT32_MAX) {
        uint32_t jump = jumps;
        jumps = parser->ops[jump].target;
        parser_land(parser, jump);
    }
    return PL_OK;
}

static enum pl_code parse_minus(struct parser *parser)
{
    enum pl_code code = parser_step(parser);
    if (code == PL_OK && parser->token.kind == TOKEN_MIN_INT) {
        code = parser_constant(parser, (struct value){.type = VALUE_INT, .i = INT64_MIN});
        return code == PL_OK ? parser_step(parser) : code;
    }
    if (code == PL_OK)
        code = parse_expr(parser, LEVEL_SIGN);
    return code == PL_OK ? parser_call(parser, &expr_operators[OPERATOR_NEGATE], 1) : code;
}

static enum pl_code parse_prefix(struct parser *parser, int level, const struct function *function)
{
    enum pl_code code = parser_step(parser);
    if (code == PL_OK)
        code = parse_expr(parser, level);
    return code == PL_OK && function != NULL ? parser_call(parser, function, 1) : code;
}

static enum pl_code parse_literal(struct parser *parser, struct value value)
{
    enum pl_code code = parser_constant(parser, value);
    return code == PL_OK ? parser_step(parser) : code;
}

static enum pl_code parse_operand(struct parser *parser)
{
    enum pl_code code;
    switch (parser->token.kind) {
    case TOKEN_CONSTANT:
        return parse_literal(parser, parser->token.constant);
    case TOKEN_NULL:
        return parse_literal(parser, (struct value){.type = VALUE_NULL});
    case TOKEN_TRUE:
    case TOKEN_FALSE:
        return parse_literal(parser, (struct value){.type = VALUE_BOOL, .b = parser->token.kind == TOKEN_TRUE});
    case TOKEN_VARIABLE:
        return parse_variable(parser);
    case TOKEN_NAME:
        return parse_call(parser);
    case TOKEN_CASE:
        return parse_case(parser);
    case TOKEN_OPEN:
        code = parse_prefix(parser, LEVEL_OR, NULL);
        return code == PL_OK ? parser_expect(parser, TOKEN_CLOSE) : code;
    case TOKEN_MINUS:
        return parse_minus(parser);
    case TOKEN_PLUS:
        return parse_prefix(parser, LEVEL_SIGN, NULL);
    case TOKEN_TILDE:
        return parse_prefix(parser, LEVEL_SUM, &expr_operators[OPERATOR_NOT_BITS]);
    case TOKEN_NOT:
        return parse_prefix(parser, LEVEL_NOT, &expr_operators[OPERATOR_NOT]);
    default:
        return parser_syntax(parser);
    }
}

/* IS [NOT] NULL, TRUE or FALSE; ISNULL, NOTNULL. */
static enum pl_code parse_is(struct parser *parser)
{
    enum operator test = parser->token.kind == TOKEN_NOT_NULL ? OPERATOR_IS_NOT_NULL : OPERATOR_IS_NULL;
    if (parser->token.kind == TOKEN_IS) {
        enum pl_code code = parser_step(parser);
        bool is_not = code == PL_OK && parser->token.kind == TOKEN_NOT;
        if (is_not)
            code = parser_step(parser);
        if (code != PL_OK)
            return code;
        enum token_kind what = parser->token.kind;
        if (what == TOKEN_NULL)
            test = is_not ? OPERATOR_IS_NOT_NULL : OPERATOR_IS_NULL;
        else if (what == TOKEN_TRUE)
            test = is_not ? OPERATOR_IS_NOT_TRUE : OPERATOR_IS_TRUE;
        else if (what == TOKEN_FALSE)
            test = is_not ? OPERATOR_IS_NOT_FALSE : OPERATOR_IS_FALSE;
        else
            return parser_syntax(parser);
    }
    enum pl_code code = parser_step(parser);
    return code == PL_OK ? parser_call(parser, &expr_operators[test], 1) : code;
}

/* The right side is only computed when the left does not decide. */
static enum pl_code parse_logical(struct parser *parser, enum op_kind kind, int level)
{
    size_t left = parser->count;
    enum pl_code code = parser_emit(parser, (struct op){.kind = kind}, 1, 0);
    if (code == PL_OK)
        code = parser_step(parser);
    if (code == PL_OK)
        code = parse_expr(parser, level + 1);
    if (code == PL_OK)
        code = parser_emit(parser, (struct op){.kind = OP_LOGICAL}, 1, 1);
    if (code == PL_OK)
        parser_land(parser, left);
    return code;
}

static const struct binary {
    enum token_kind token;
    int level;
    enum operator operator;
} binaries[] = {{TOKEN_PLUS, LEVEL_SUM, OPERATOR_ADD},
                {TOKEN_MINUS, LEVEL_SUM, OPERATOR_SUBTRACT},
                {TOKEN_STAR, LEVEL_PRODUCT, OPERATOR_MULTIPLY},
                {TOKEN_SLASH, LEVEL_PRODUCT, OPERATOR_DIVIDE},
                {TOKEN_PERCENT, LEVEL_PRODUCT, OPERATOR_MODULO},
                {TOKEN_EQUAL, LEVEL_COMPARE, OPERATOR_EQUAL},
                {TOKEN_NOT_EQUAL, LEVEL_COMPARE, OPERATOR_NOT_EQUAL},
                {TOKEN_LESS, LEVEL_COMPARE, OPERATOR_LESS},
                {TOKEN_LESS_EQUAL, LEVEL_COMPARE, OPERATOR_LESS_EQUAL},
                {TOKEN_GREATER, LEVEL_COMPARE, OPERATOR_GREATER},
                {TOKEN_GREATER_EQUAL, LEVEL_COMPARE, OPERATOR_GREATER_EQUAL},
                {TOKEN_BAR, LEVEL_BITS, OPERATOR_OR_BITS},
                {TOKEN_HASH, LEVEL_BITS, OPERATOR_XOR_BITS},
                {TOKEN_AMPERSAND, LEVEL_BITS, OPERATOR_AND_BITS},
                {TOKEN_SHIFT_LEFT, LEVEL_BITS, OPERATOR_SHIFT_LEFT},
                {TOKEN_SHIFT_RIGHT, LEVEL_BITS, OPERATOR_SHIFT_RIGHT}};

static enum pl_code parse_binary(struct parser *parser, const struct binary *binary)
{
    enum pl_code code = parser_step(parser);
    if (code == PL_OK)
        code = parse_expr(parser, binary->level + 1);
    if (code == PL_OK)
        code = parser_call(parser, &expr_operators[binary->operator], 2);
    return code;
}

static const struct binary *binary_find(enum token_kind token)
{
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (binaries[i].token == token)
            return &binaries[i];
    return NULL;
}

/* One operator behind the operand that was read, if it binds at least as tightly as `level`. */
static enum pl_code parse_rest(struct parser *parser, int level, bool after_compare, bool *ret_found, bool *ret_compared)
{
    enum token_kind token = parser->token.kind;
    const struct binary *binary = binary_find(token);
    bool is_test = token == TOKEN_IS || token == TOKEN_IS_NULL || token == TOKEN_NOT_NULL;
    *ret_compared = false;
    *ret_found = true;
    if (token == TOKEN_OR && level <= LEVEL_OR)
        return parse_logical(parser, OP_OR, LEVEL_OR);
    if (token == TOKEN_AND && level <= LEVEL_AND)
        return parse_logical(parser, OP_AND, LEVEL_AND);
    if (is_test && level <= LEVEL_IS)
        return parse_is(parser);
    if (binary != NULL && level <= binary->level) {
        *ret_compared = binary->level == LEVEL_COMPARE;
        return after_compare && *ret_compared ? parser_syntax(parser) : parse_binary(parser, binary);
    }
    *ret_found = false;
    return PL_OK;
}

static enum pl_code parse_expr(struct parser *parser, int level)
{
    if (++parser->nesting > EXPR_NESTING)
        return parser_fail(parser, "expression too deep", NULL);
    enum pl_code code = parse_operand(parser);
    bool found = true, compared = false;
    while (code == PL_OK && found)
        code = parse_rest(parser, level, compared, &found, &compared);
    parser->nesting--;
    return code;
}

enum pl_code compile_expr(struct compiler *c, struct meta *meta, const struct expr **ret_expr)
{
    struct parser parser = {.c = c, .meta = meta};
    enum pl_code code = parser_step(&parser);
    if (code == PL_OK)
        code = parse_expr(&parser, LEVEL_OR);
    if (code == PL_OK && parser.token.kind != TOKEN_END)
        code = parser_syntax(&parser);
    if (code != PL_OK)
        return code;
    assert(parser.depth == 1);
    struct expr *expr = pl_alloc(c->arena, 1, sizeof *expr);
    *expr = (struct expr){.ops = parser.ops, .count = parser.count};
    *ret_expr = expr;
    return PL_OK;
}
