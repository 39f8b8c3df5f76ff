/* Expressions of \set: precedence climbing into postfix code, run on a small stack. */
#include "script/expr_int.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "script/draw_int.h"

#include "base/ban.h"

enum { EXPR_STACK = 64, EXPR_NESTING = 100, EXPR_ARGUMENTS = 3 };

/* args[0 .. arity) in, one value out; NULL or what is wrong. */
typedef const char *expr_function(const struct value *args, struct pl_rng *rng, struct value *ret_value);

struct function {
    const char *name;
    int arity;
    expr_function *run;
};

enum op_kind { OP_CONSTANT, OP_VARIABLE, OP_CALL };

struct op {
    enum op_kind kind;
    struct value constant;
    int variable;
    const struct function *function;
};

struct expr {
    const struct op *ops;
    size_t count;
};

/* ---- values ---- */

static struct value value_int(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}

static struct value value_double(double d)
{
    return (struct value){.type = VALUE_DOUBLE, .d = d};
}

static bool is_number(const struct value *value)
{
    return value->type == VALUE_INT || value->type == VALUE_DOUBLE;
}

static double as_double(const struct value *value)
{
    return value->type == VALUE_INT ? (double)value->i : value->d;
}

/* A double takes part as an integer only when it is one in range: rounding is the script's business. */
static const char *as_int(const struct value *value, int64_t *ret_int)
{
    if (value->type == VALUE_INT) {
        *ret_int = value->i;
        return NULL;
    }
    if (value->type != VALUE_DOUBLE)
        return "a number is needed here";
    if (!(value->d >= -9223372036854775808.0 && value->d < 9223372036854775808.0))
        return "a double is out of the range of integers";
    *ret_int = (int64_t)rint(value->d);
    return NULL;
}

/* ---- operators and functions ---- */

enum arithmetic { ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO };

static const char *int_divide(enum arithmetic what, int64_t a, int64_t b, struct value *ret_value)
{
    if (b == 0)
        return "division by zero";
    if (b == -1) { /* the one case that overflows */
        if (what == DIVIDE && a == INT64_MIN)
            return "integer overflow";
        *ret_value = value_int(what == DIVIDE ? -a : 0);
        return NULL;
    }
    *ret_value = value_int(what == DIVIDE ? a / b : a % b);
    return NULL;
}

static const char *int_arithmetic(enum arithmetic what, int64_t a, int64_t b, struct value *ret_value)
{
    int64_t result = 0;
    bool overflow = false;
    switch (what) {
    case ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case DIVIDE:
    case MODULO:
        return int_divide(what, a, b, ret_value);
    }
    if (overflow)
        return "integer overflow";
    *ret_value = value_int(result);
    return NULL;
}

static const char *arithmetic(enum arithmetic what, const struct value *args, struct value *ret_value)
{
    if (!is_number(&args[0]) || !is_number(&args[1]))
        return "arithmetic needs numbers";
    if (args[0].type == VALUE_INT && args[1].type == VALUE_INT)
        return int_arithmetic(what, args[0].i, args[1].i, ret_value);
    double a = as_double(&args[0]), b = as_double(&args[1]);
    switch (what) {
    case ADD:
        *ret_value = value_double(a + b);
        return NULL;
    case SUBTRACT:
        *ret_value = value_double(a - b);
        return NULL;
    case MULTIPLY:
        *ret_value = value_double(a * b);
        return NULL;
    case DIVIDE:
        if (b == 0)
            return "division by zero";
        *ret_value = value_double(a / b);
        return NULL;
    case MODULO:
        break;
    }
    return "% needs integers";
}

#define ARITHMETIC_FUNCTION(name, what)                                                                                    \
    static const char *name(const struct value *args, struct pl_rng *rng, struct value *ret_value)                         \
    {                                                                                                                      \
        (void)rng;                                                                                                         \
        return arithmetic(what, args, ret_value);                                                                          \
    }
ARITHMETIC_FUNCTION(run_add, ADD)
ARITHMETIC_FUNCTION(run_subtract, SUBTRACT)
ARITHMETIC_FUNCTION(run_multiply, MULTIPLY)
ARITHMETIC_FUNCTION(run_divide, DIVIDE)
ARITHMETIC_FUNCTION(run_modulo, MODULO)

static const char *run_negate(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    const struct value pair[] = {value_int(0), args[0]};
    if (args[0].type == VALUE_DOUBLE) { /* 0 - 0.0 would lose the sign */
        *ret_value = value_double(-args[0].d);
        return NULL;
    }
    return arithmetic(SUBTRACT, pair, ret_value);
}

static const char *run_abs(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    if (!is_number(&args[0]))
        return "abs needs a number";
    if (args[0].type == VALUE_INT ? args[0].i < 0 : args[0].d < 0)
        return run_negate(args, rng, ret_value);
    *ret_value = args[0];
    return NULL;
}

static const char *extreme(const struct value *args, double sign, struct value *ret_value)
{
    if (!is_number(&args[0]) || !is_number(&args[1]))
        return "least and greatest need numbers";
    if (args[0].type == VALUE_INT && args[1].type == VALUE_INT)
        *ret_value = (sign > 0) == (args[0].i >= args[1].i) ? args[0] : args[1];
    else
        *ret_value = value_double(sign * fmax(sign * as_double(&args[0]), sign * as_double(&args[1])));
    return NULL;
}

static const char *run_greatest(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    return extreme(args, 1, ret_value);
}

static const char *run_least(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    return extreme(args, -1, ret_value);
}

static const char *run_int(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    int64_t i;
    const char *wrong = as_int(&args[0], &i);
    if (wrong == NULL)
        *ret_value = value_int(i);
    return wrong;
}

static const char *run_double(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    if (!is_number(&args[0]))
        return "double needs a number";
    *ret_value = value_double(as_double(&args[0]));
    return NULL;
}

#define REAL_FUNCTION(name, call)                                                                                          \
    static const char *run_##name(const struct value *args, struct pl_rng *rng, struct value *ret_value)                   \
    {                                                                                                                      \
        (void)rng;                                                                                                         \
        if (!is_number(&args[0]))                                                                                          \
            return #name " needs a number";                                                                                \
        *ret_value = value_double(call(as_double(&args[0])));                                                              \
        return NULL;                                                                                                       \
    }
REAL_FUNCTION(exp, exp)
REAL_FUNCTION(ln, log)
REAL_FUNCTION(sqrt, sqrt)

static const char *run_pi(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)args;
    (void)rng;
    *ret_value = value_double(M_PI);
    return NULL;
}

static const char *run_power(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    (void)rng;
    if (!is_number(&args[0]) || !is_number(&args[1]))
        return "power needs numbers";
    *ret_value = value_double(pow(as_double(&args[0]), as_double(&args[1])));
    return NULL;
}

static const char *run_random(const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    int64_t low, high, drawn;
    const char *wrong;
    if ((wrong = as_int(&args[0], &low)) != NULL || (wrong = as_int(&args[1], &high)) != NULL ||
        (wrong = draw_uniform(rng, low, high, &drawn)) != NULL)
        return wrong;
    *ret_value = value_int(drawn);
    return NULL;
}

typedef const char *draw_function(struct pl_rng *rng, int64_t low, int64_t high, double parameter, int64_t *ret_value);

static const char *draw_shaped(draw_function *draw, const struct value *args, struct pl_rng *rng, struct value *ret_value)
{
    int64_t low, high, drawn;
    const char *wrong;
    if (!is_number(&args[2]))
        return "the parameter of a distribution must be a number";
    if ((wrong = as_int(&args[0], &low)) != NULL || (wrong = as_int(&args[1], &high)) != NULL ||
        (wrong = draw(rng, low, high, as_double(&args[2]), &drawn)) != NULL)
        return wrong;
    *ret_value = value_int(drawn);
    return NULL;
}

#define DRAW_FUNCTION(law)                                                                                                 \
    static const char *run_##law(const struct value *args, struct pl_rng *rng, struct value *ret_value)                    \
    {                                                                                                                      \
        return draw_shaped(draw_##law, args, rng, ret_value);                                                              \
    }
DRAW_FUNCTION(exponential)
DRAW_FUNCTION(gaussian)
DRAW_FUNCTION(zipfian)

static const struct function operators[] = {
    {"+", 2, run_add}, {"-", 2, run_subtract}, {"*", 2, run_multiply}, {"/", 2, run_divide}, {"%", 2, run_modulo}};
static const struct function negation = {"-", 1, run_negate};

static const struct function functions[] = {{"abs", 1, run_abs},
                                            {"double", 1, run_double},
                                            {"exp", 1, run_exp},
                                            {"greatest", 2, run_greatest},
                                            {"int", 1, run_int},
                                            {"least", 2, run_least},
                                            {"ln", 1, run_ln},
                                            {"mod", 2, run_modulo},
                                            {"pi", 0, run_pi},
                                            {"pow", 2, run_power},
                                            {"power", 2, run_power},
                                            {"random", 2, run_random},
                                            {"random_exponential", 3, run_exponential},
                                            {"random_gaussian", 3, run_gaussian},
                                            {"random_zipfian", 3, run_zipfian},
                                            {"sqrt", 1, run_sqrt}};

/* ---- parser ---- */

struct parser {
    const struct expr_source *source;
    const struct expr_names *names;
    struct pl_arena *arena;
    struct pl_err *err;
    size_t pos;
    struct op *ops;
    size_t count, capacity;
    int depth, nesting; /* of the stack; of the text */
};

PL_PRINTF(3, 4) static enum pl_code parser_fail(struct parser *parser, size_t pos, const char *fmt, ...)
{
    char what[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    const struct expr_source *source = parser->source;
    return pl_err_at(parser->err, PL_INPUT, source->file, source->line, source->col + (int)pos, "%s", what);
}

static char parser_peek(struct parser *parser)
{
    const struct expr_source *source = parser->source;
    while (parser->pos < source->length && strchr(" \t\r\n\f\v", source->text[parser->pos]) != NULL)
        parser->pos++;
    return parser->pos < source->length ? source->text[parser->pos] : '\0';
}

/* Adds an operation; `pops` values are taken from the stack and one is put. */
static enum pl_code parser_emit(struct parser *parser, struct op op, int pops)
{
    parser->ops =
        pl_grow(parser->arena, parser->ops, parser->count, parser->count + 1, sizeof *parser->ops, &parser->capacity);
    parser->ops[parser->count++] = op;
    parser->depth += 1 - pops;
    if (parser->depth > EXPR_STACK)
        return parser_fail(parser, parser->pos, "the expression is too deep");
    return PL_OK;
}

static enum pl_code parse_sum(struct parser *parser);

static enum pl_code parse_number(struct parser *parser)
{
    const char *text = parser->source->text + parser->pos;
    size_t length = 0, left = parser->source->length - parser->pos;
    while (length < left && (expr_is_name_char(text[length]) || text[length] == '.' ||
                             ((text[length] == '+' || text[length] == '-') && (text[length - 1] | 32) == 'e')))
        length++;
    struct op op = {.kind = OP_CONSTANT};
    int64_t i;
    double d;
    if (pl_num_i64(text, length, &i) == PL_NUM_OK)
        op.constant = value_int(i);
    else if (pl_num_f64(text, length, &d) == PL_NUM_OK && memchr(text, '_', length) == NULL)
        op.constant = value_double(d);
    else
        return parser_fail(parser, parser->pos, "\"%s\" is not a number in the range of 64 bits",
                           pl_strndup(parser->arena, text, length));
    parser->pos += length;
    return parser_emit(parser, op, 0);
}

static size_t parser_name_length(const struct parser *parser)
{
    size_t end = parser->pos;
    while (end < parser->source->length && expr_is_name_char(parser->source->text[end]))
        end++;
    return end - parser->pos;
}

static enum pl_code parse_variable(struct parser *parser)
{
    size_t start = parser->pos++;
    size_t length = parser_name_length(parser);
    const char *name = parser->source->text + parser->pos;
    if (length == 0 || !expr_is_name_start(name[0]))
        return parser_fail(parser, start, "a variable name must follow \":\"");
    int variable = expr_name_find(parser->names, name, length);
    if (variable < 0 || !parser->names->is_set[variable])
        return parser_fail(parser, start, "variable \"%s\" is used before it is set",
                           pl_strndup(parser->arena, name, length));
    parser->pos += length;
    return parser_emit(parser, (struct op){.kind = OP_VARIABLE, .variable = variable}, 0);
}

static const struct function *function_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}

static enum pl_code parse_arguments(struct parser *parser, int *ret_count)
{
    *ret_count = 0;
    if (parser_peek(parser) == ')') {
        parser->pos++;
        return PL_OK;
    }
    for (;;) {
        enum pl_code code = parse_sum(parser);
        if (code != PL_OK)
            return code;
        ++*ret_count;
        char next = parser_peek(parser);
        if (next != ',' && next != ')')
            return parser_fail(parser, parser->pos, "\",\" or \")\" is missing");
        parser->pos++;
        if (next == ')')
            return PL_OK;
    }
}

static enum pl_code parse_call(struct parser *parser)
{
    size_t start = parser->pos, length = parser_name_length(parser);
    const char *name = pl_strndup(parser->arena, parser->source->text + start, length);
    const struct function *function = function_find(name, length);
    if (function == NULL) {
        parser_fail(parser, start, "there is no function \"%s\"", name);
        pl_err_hint(parser->err, "The functions are abs, double, exp, greatest, int, least, ln, mod, pi, power, random, "
                                 "random_exponential, random_gaussian, random_zipfian and sqrt.");
        return parser->err->code;
    }
    parser->pos += length;
    if (parser_peek(parser) != '(')
        return parser_fail(parser, parser->pos, "\"(\" is missing after \"%s\"", name);
    parser->pos++;
    int count;
    enum pl_code code = parse_arguments(parser, &count);
    if (code != PL_OK)
        return code;
    if (count != function->arity) {
        parser_fail(parser, start, "wrong number of arguments for \"%s\"", name);
        pl_err_hint(parser->err, "It takes %d, and %d are given.", function->arity, count);
        return parser->err->code;
    }
    return parser_emit(parser, (struct op){.kind = OP_CALL, .function = function}, count);
}

static enum pl_code parse_operand(struct parser *parser)
{
    char first = parser_peek(parser);
    if (first == '\0')
        return parser_fail(parser, parser->pos, "the expression ends where a value is expected");
    if ((first >= '0' && first <= '9') || first == '.')
        return parse_number(parser);
    if (first == ':')
        return parse_variable(parser);
    if (expr_is_name_start(first))
        return parse_call(parser);
    if (first == '(') {
        parser->pos++;
        enum pl_code code = parse_sum(parser);
        if (code != PL_OK)
            return code;
        if (parser_peek(parser) != ')')
            return parser_fail(parser, parser->pos, "\")\" is missing");
        parser->pos++;
        return PL_OK;
    }
    return parser_fail(parser, parser->pos, "unexpected \"%c\"", first);
}

static enum pl_code parse_signed(struct parser *parser)
{
    char first = parser_peek(parser);
    if (first != '-' && first != '+')
        return parse_operand(parser);
    parser->pos++;
    if (++parser->nesting > EXPR_NESTING)
        return parser_fail(parser, parser->pos, "the expression is nested too deeply");
    enum pl_code code = parse_signed(parser);
    parser->nesting--;
    if (code == PL_OK && first == '-')
        code = parser_emit(parser, (struct op){.kind = OP_CALL, .function = &negation}, 1);
    return code;
}

static const struct function *operator_find(char c, const char *among)
{
    if (c == '\0' || strchr(among, c) == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (operators[i].name[0] == c)
            return &operators[i];
    return NULL;
}

static enum pl_code parse_chain(struct parser *parser, enum pl_code (*part)(struct parser *), const char *among)
{
    enum pl_code code = part(parser);
    const struct function *function;
    while (code == PL_OK && (function = operator_find(parser_peek(parser), among)) != NULL) {
        parser->pos++;
        code = part(parser);
        if (code == PL_OK)
            code = parser_emit(parser, (struct op){.kind = OP_CALL, .function = function}, 2);
    }
    return code;
}

static enum pl_code parse_product(struct parser *parser)
{
    return parse_chain(parser, parse_signed, "*/%");
}

static enum pl_code parse_sum(struct parser *parser)
{
    if (++parser->nesting > EXPR_NESTING)
        return parser_fail(parser, parser->pos, "the expression is nested too deeply");
    enum pl_code code = parse_chain(parser, parse_product, "+-");
    parser->nesting--;
    return code;
}

enum pl_code expr_compile(const struct expr_source *source, const struct expr_names *names, struct pl_arena *arena,
                          const struct expr **ret_expr, struct pl_err *err)
{
    struct parser parser = {.source = source, .names = names, .arena = arena, .err = err};
    enum pl_code code = parse_sum(&parser);
    if (code != PL_OK)
        return code;
    char rest = parser_peek(&parser);
    if (rest != '\0')
        return parser_fail(&parser, parser.pos, "unexpected \"%c\" after the expression", rest);
    struct expr *expr = pl_alloc(arena, 1, sizeof *expr);
    *expr = (struct expr){.ops = parser.ops, .count = parser.count};
    *ret_expr = expr;
    return PL_OK;
}

const char *expr_eval(const struct expr *expr, const struct value *vars, struct pl_rng *rng, struct value *ret_value)
{
    struct value stack[EXPR_STACK + EXPR_ARGUMENTS];
    size_t top = 0;
    for (size_t i = 0; i < expr->count; i++) {
        const struct op *op = &expr->ops[i];
        if (op->kind == OP_CONSTANT) {
            stack[top++] = op->constant;
        } else if (op->kind == OP_VARIABLE) {
            stack[top++] = vars[op->variable];
        } else {
            top -= (size_t)op->function->arity;
            struct value result;
            const char *wrong = op->function->run(&stack[top], rng, &result);
            if (wrong != NULL)
                return wrong;
            stack[top++] = result;
        }
    }
    assert(top == 1);
    *ret_value = stack[0];
    return NULL;
}
