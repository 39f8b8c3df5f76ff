/* The operators and functions of expressions: two tables. */
#include "script/expr_int.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "script/draw_int.h"
#include "script/hash_int.h"

#include "base/ban.h"

#define FUNCTION(name)                                                                                                     \
    static const char *name(const struct evaluation *at, const struct value *args, int count, struct value *ret_value)
#define UNUSED_ARGUMENTS                                                                                                   \
    (void)at;                                                                                                              \
    (void)args;                                                                                                            \
    (void)count

static const char *give_int(int64_t i, struct value *ret_value)
{
    *ret_value = (struct value){.type = VALUE_INT, .i = i};
    return NULL;
}

static const char *give_double(double d, struct value *ret_value)
{
    *ret_value = (struct value){.type = VALUE_DOUBLE, .d = d};
    return NULL;
}

static const char *give_bool(bool b, struct value *ret_value)
{
    *ret_value = (struct value){.type = VALUE_BOOL, .b = b};
    return NULL;
}

static const char *two_ints(const struct value *args, int64_t *a, int64_t *b)
{
    const char *wrong = expr_as_int(&args[0], a);
    return wrong == NULL ? expr_as_int(&args[1], b) : wrong;
}

static const char *two_doubles(const struct value *args, double *a, double *b)
{
    const char *wrong = expr_as_double(&args[0], a);
    return wrong == NULL ? expr_as_double(&args[1], b) : wrong;
}

/* One double makes the whole operation one of doubles. */
static bool is_double(const struct value *args)
{
    return args[0].type == VALUE_DOUBLE || args[1].type == VALUE_DOUBLE;
}

/* ---- arithmetic ---- */

#define ARITHMETIC(name, sign, builtin, short)                                                                             \
    FUNCTION(name)                                                                                                         \
    {                                                                                                                      \
        UNUSED_ARGUMENTS;                                                                                                  \
        double x, y;                                                                                                       \
        int64_t a, b, result;                                                                                              \
        const char *wrong;                                                                                                 \
        if (is_double(args))                                                                                               \
            return (wrong = two_doubles(args, &x, &y)) != NULL ? wrong : give_double(x sign y, ret_value);                 \
        if ((wrong = two_ints(args, &a, &b)) != NULL)                                                                      \
            return wrong;                                                                                                  \
        return builtin(a, b, &result) ? "bigint " short " out of range" : give_int(result, ret_value);                     \
    }
ARITHMETIC(run_add, +, __builtin_add_overflow, "add")
ARITHMETIC(run_subtract, -, __builtin_sub_overflow, "sub")
ARITHMETIC(run_multiply, *, __builtin_mul_overflow, "mul")

FUNCTION(run_divide)
{
    UNUSED_ARGUMENTS;
    double x, y;
    int64_t a, b;
    const char *wrong;
    if (is_double(args))
        return (wrong = two_doubles(args, &x, &y)) != NULL ? wrong : give_double(x / y, ret_value);
    if ((wrong = two_ints(args, &a, &b)) != NULL)
        return wrong;
    if (b == 0)
        return "division by zero";
    if (b == -1 && a == INT64_MIN)
        return "bigint div out of range";
    return give_int(a / b, ret_value);
}

FUNCTION(run_modulo)
{
    UNUSED_ARGUMENTS;
    int64_t a, b;
    const char *wrong = two_ints(args, &a, &b);
    if (wrong != NULL)
        return wrong;
    if (b == 0)
        return "division by zero";
    return give_int(b == -1 ? 0 : a % b, ret_value); /* INT64_MIN % -1 traps */
}

FUNCTION(run_negate)
{
    const struct value pair[] = {{.type = VALUE_INT}, args[0]};
    return run_subtract(at, pair, count + 1, ret_value);
}

FUNCTION(run_abs)
{
    UNUSED_ARGUMENTS;
    int64_t i;
    if (args[0].type == VALUE_DOUBLE)
        return give_double(fabs(args[0].d), ret_value);
    const char *wrong = expr_as_int(&args[0], &i);
    if (wrong != NULL)
        return wrong;
    return i == INT64_MIN ? "bigint abs out of range" : give_int(i < 0 ? -i : i, ret_value);
}

/* ---- bits ---- */

#define BITS(name, result)                                                                                                 \
    FUNCTION(name)                                                                                                         \
    {                                                                                                                      \
        UNUSED_ARGUMENTS;                                                                                                  \
        int64_t a, b;                                                                                                      \
        const char *wrong = two_ints(args, &a, &b);                                                                        \
        return wrong != NULL ? wrong : give_int(result, ret_value);                                                        \
    }
BITS(run_or_bits, a | b)
BITS(run_xor_bits, a ^ b)
BITS(run_and_bits, a &b)
BITS(run_shift_left, (int64_t)((uint64_t)a << (b & 63)))
BITS(run_shift_right, a >> (b & 63))

FUNCTION(run_not_bits)
{
    UNUSED_ARGUMENTS;
    int64_t i;
    const char *wrong = expr_as_int(&args[0], &i);
    return wrong != NULL ? wrong : give_int(~i, ret_value);
}

/* ---- comparisons and booleans ---- */

#define COMPARISON(name, sign)                                                                                             \
    FUNCTION(name)                                                                                                         \
    {                                                                                                                      \
        UNUSED_ARGUMENTS;                                                                                                  \
        double x, y;                                                                                                       \
        int64_t a, b;                                                                                                      \
        const char *wrong;                                                                                                 \
        if (is_double(args))                                                                                               \
            return (wrong = two_doubles(args, &x, &y)) != NULL ? wrong : give_bool(x sign y, ret_value);                   \
        return (wrong = two_ints(args, &a, &b)) != NULL ? wrong : give_bool(a sign b, ret_value);                          \
    }
COMPARISON(run_equal, ==)
COMPARISON(run_not_equal, !=)
COMPARISON(run_less, <)
COMPARISON(run_less_equal, <=)
COMPARISON(run_greater, >)
COMPARISON(run_greater_equal, >=)

FUNCTION(run_not)
{
    UNUSED_ARGUMENTS;
    bool b;
    const char *wrong = expr_as_bool(&args[0], &b);
    return wrong != NULL ? wrong : give_bool(!b, ret_value);
}

#define TEST(name, test)                                                                                                   \
    FUNCTION(name)                                                                                                         \
    {                                                                                                                      \
        UNUSED_ARGUMENTS;                                                                                                  \
        return give_bool(test, ret_value);                                                                                 \
    }
TEST(run_is_null, args[0].type == VALUE_NULL)
TEST(run_is_not_null, args[0].type != VALUE_NULL)
TEST(run_is_true, args[0].type == VALUE_BOOL && args[0].b)
TEST(run_is_not_true, args[0].type != VALUE_BOOL || !args[0].b)
TEST(run_is_false, args[0].type == VALUE_BOOL && !args[0].b)
TEST(run_is_not_false, args[0].type != VALUE_BOOL || args[0].b)

/* ---- types, extremes, reals ---- */

FUNCTION(run_int)
{
    UNUSED_ARGUMENTS;
    int64_t i;
    const char *wrong = expr_as_int(&args[0], &i);
    return wrong != NULL ? wrong : give_int(i, ret_value);
}

FUNCTION(run_double)
{
    UNUSED_ARGUMENTS;
    double d;
    const char *wrong = expr_as_double(&args[0], &d);
    return wrong != NULL ? wrong : give_double(d, ret_value);
}

FUNCTION(run_debug)
{
    UNUSED_ARGUMENTS;
    expr_debug(at, &args[0]);
    *ret_value = args[0];
    return NULL;
}

static const char *extreme(const struct value *args, int count, bool greatest, struct value *ret_value)
{
    bool any_double = false;
    for (int i = 0; i < count; i++)
        any_double = any_double || args[i].type == VALUE_DOUBLE;
    const char *wrong = NULL;
    int64_t best = 0, here = 0;
    double best_double = 0, here_double = 0;
    for (int i = 0; i < count && wrong == NULL; i++) {
        wrong = any_double ? expr_as_double(&args[i], &here_double) : expr_as_int(&args[i], &here);
        if (i == 0 || !(greatest ? best_double > here_double : best_double < here_double))
            best_double = here_double;
        if (i == 0 || (greatest ? here > best : here < best))
            best = here;
    }
    if (wrong != NULL)
        return wrong;
    return any_double ? give_double(best_double, ret_value) : give_int(best, ret_value);
}

FUNCTION(run_greatest)
{
    UNUSED_ARGUMENTS;
    return extreme(args, count, true, ret_value);
}

FUNCTION(run_least)
{
    UNUSED_ARGUMENTS;
    return extreme(args, count, false, ret_value);
}

#define REAL(name, result)                                                                                                 \
    FUNCTION(name)                                                                                                         \
    {                                                                                                                      \
        UNUSED_ARGUMENTS;                                                                                                  \
        double x;                                                                                                          \
        const char *wrong = expr_as_double(&args[0], &x);                                                                  \
        return wrong != NULL ? wrong : give_double(result, ret_value);                                                     \
    }
REAL(run_exp, exp(x))
REAL(run_ln, log(x))
REAL(run_sqrt, sqrt(x))

FUNCTION(run_pi)
{
    UNUSED_ARGUMENTS;
    return give_double(M_PI, ret_value);
}

FUNCTION(run_power)
{
    UNUSED_ARGUMENTS;
    double x, y;
    const char *wrong = two_doubles(args, &x, &y);
    return wrong != NULL ? wrong : give_double(pow(x, y), ret_value);
}

/* ---- random draws ---- */

static const char *check_range(const struct value *args, int64_t *low, int64_t *high)
{
    const char *wrong = two_ints(args, low, high);
    if (wrong != NULL)
        return wrong;
    if (*low > *high)
        return "empty range given to random";
    return (uint64_t)*high - (uint64_t)*low >= INT64_MAX ? "random range is too large" : NULL;
}

FUNCTION(run_random)
{
    UNUSED_ARGUMENTS;
    int64_t low, high;
    const char *wrong = check_range(args, &low, &high);
    return wrong != NULL ? wrong : give_int(draw_uniform(at->rng, low, high), ret_value);
}

static const char *check_shape(const struct value *args, int64_t *low, int64_t *high, double *shape)
{
    const char *wrong = check_range(args, low, high);
    return wrong == NULL ? expr_as_double(&args[2], shape) : wrong;
}

FUNCTION(run_exponential)
{
    UNUSED_ARGUMENTS;
    int64_t low, high;
    double shape;
    char text[EXPR_FIXED_BYTES];
    const char *wrong = check_shape(args, &low, &high, &shape);
    if (wrong != NULL)
        return wrong;
    if (!(shape > 0))
        return expr_wrong("exponential parameter must be greater than zero (not %s)", expr_fixed(shape, text));
    return give_int(draw_exponential(at->rng, low, high, shape), ret_value);
}

FUNCTION(run_gaussian)
{
    UNUSED_ARGUMENTS;
    int64_t low, high;
    double shape;
    char text[EXPR_FIXED_BYTES];
    const char *wrong = check_shape(args, &low, &high, &shape);
    if (wrong != NULL)
        return wrong;
    if (!(shape >= DRAW_GAUSSIAN_LEAST))
        return expr_wrong("gaussian parameter must be at least %f (not %s)", DRAW_GAUSSIAN_LEAST, expr_fixed(shape, text));
    return give_int(draw_gaussian(at->rng, low, high, shape), ret_value);
}

FUNCTION(run_zipfian)
{
    UNUSED_ARGUMENTS;
    int64_t low, high;
    double shape;
    char text[EXPR_FIXED_BYTES];
    const char *wrong = check_shape(args, &low, &high, &shape);
    if (wrong != NULL)
        return wrong;
    if (!(shape >= 0) || !isfinite(shape))
        return expr_wrong("zipfian parameter must be at least 0 (not %s)", expr_fixed(shape, text));
    return give_int(draw_zipfian(at->rng, low, high, shape), ret_value);
}

/* ---- hashes ---- */

FUNCTION(run_fnv1a)
{
    UNUSED_ARGUMENTS;
    int64_t value, seed;
    const char *wrong = two_ints(args, &value, &seed);
    return wrong != NULL ? wrong : give_int(hash_fnv1a(value, seed), ret_value);
}

FUNCTION(run_murmur2)
{
    UNUSED_ARGUMENTS;
    int64_t value, seed;
    const char *wrong = two_ints(args, &value, &seed);
    return wrong != NULL ? wrong : give_int(hash_murmur2(value, seed), ret_value);
}

FUNCTION(run_permute)
{
    UNUSED_ARGUMENTS;
    int64_t value, size, seed;
    const char *wrong = two_ints(args, &value, &size);
    if (wrong == NULL)
        wrong = expr_as_int(&args[2], &seed);
    if (wrong != NULL)
        return wrong;
    if (size <= 0)
        return "permute size parameter must be greater than zero";
    return give_int(hash_permute(value, size, seed), ret_value);
}

/* ---- the tables ---- */

const struct function expr_operators[] = {
    [OPERATOR_ADD] = {.run = run_add},
    [OPERATOR_SUBTRACT] = {.run = run_subtract},
    [OPERATOR_MULTIPLY] = {.run = run_multiply},
    [OPERATOR_DIVIDE] = {.run = run_divide},
    [OPERATOR_MODULO] = {.run = run_modulo},
    [OPERATOR_EQUAL] = {.run = run_equal},
    [OPERATOR_NOT_EQUAL] = {.run = run_not_equal},
    [OPERATOR_LESS] = {.run = run_less},
    [OPERATOR_LESS_EQUAL] = {.run = run_less_equal},
    [OPERATOR_GREATER] = {.run = run_greater},
    [OPERATOR_GREATER_EQUAL] = {.run = run_greater_equal},
    [OPERATOR_OR_BITS] = {.run = run_or_bits},
    [OPERATOR_XOR_BITS] = {.run = run_xor_bits},
    [OPERATOR_AND_BITS] = {.run = run_and_bits},
    [OPERATOR_SHIFT_LEFT] = {.run = run_shift_left},
    [OPERATOR_SHIFT_RIGHT] = {.run = run_shift_right},
    [OPERATOR_NOT_BITS] = {.run = run_not_bits},
    [OPERATOR_NEGATE] = {.run = run_negate},
    [OPERATOR_NOT] = {.run = run_not},
    [OPERATOR_IS_NULL] = {.run = run_is_null, .takes_null = true},
    [OPERATOR_IS_NOT_NULL] = {.run = run_is_not_null, .takes_null = true},
    [OPERATOR_IS_TRUE] = {.run = run_is_true, .takes_null = true},
    [OPERATOR_IS_NOT_TRUE] = {.run = run_is_not_true, .takes_null = true},
    [OPERATOR_IS_FALSE] = {.run = run_is_false, .takes_null = true},
    [OPERATOR_IS_NOT_FALSE] = {.run = run_is_not_false, .takes_null = true},
};

static const struct function functions[] = {
    {"abs", 1, 1, run_abs, false, false},
    {"debug", 1, 1, run_debug, true, false},
    {"double", 1, 1, run_double, false, false},
    {"exp", 1, 1, run_exp, false, false},
    {"greatest", 1, EXPR_ARGUMENTS, run_greatest, false, false},
    {"hash", 1, 2, run_murmur2, false, true},
    {"hash_fnv1a", 1, 2, run_fnv1a, false, true},
    {"hash_murmur2", 1, 2, run_murmur2, false, true},
    {"int", 1, 1, run_int, false, false},
    {"least", 1, EXPR_ARGUMENTS, run_least, false, false},
    {"ln", 1, 1, run_ln, false, false},
    {"mod", 2, 2, run_modulo, false, false},
    {"permute", 2, 3, run_permute, false, true},
    {"pi", 0, 0, run_pi, false, false},
    {"pow", 2, 2, run_power, false, false},
    {"power", 2, 2, run_power, false, false},
    {"random", 2, 2, run_random, false, false},
    {"random_exponential", 3, 3, run_exponential, false, false},
    {"random_gaussian", 3, 3, run_gaussian, false, false},
    {"random_zipfian", 3, 3, run_zipfian, false, false},
    {"sqrt", 1, 1, run_sqrt, false, false},
};

const struct function *expr_function_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) == length && strncasecmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}
