/* Random expressions that pgbench's language and SQL read alike, each as two texts: same operators, same parentheses (few,
 * so that precedence counts); in SQL every literal is a column of a row, so that nothing is folded before it is evaluated.
 *
 * Left out is where pgbench's manual, or pgbench, differs from SQL: NULL on the left of AND and OR, and among the arguments
 * of greatest and least, makes the result NULL; booleans cannot be compared; % and bits take doubles; division of doubles
 * by zero and overflow give Infinity; sqrt and ln of negative numbers give NaN; a shift takes any count. */
#ifndef PL_TESTS_RANDOM_EXPR_H
#define PL_TESTS_RANDOM_EXPR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

enum { RANDOM_EXPR_BYTES = 1 << 16 };

struct random_expr {
    struct pl_rng rng;
    char ours[RANDOM_EXPR_BYTES], server[RANDOM_EXPR_BYTES], columns[RANDOM_EXPR_BYTES];
    size_t ours_length, server_length, columns_length;
    int literals;
};

enum level { LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_BITS, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_ATOM };

static void random_int(struct random_expr *e, enum level level, int depth);
static void random_double(struct random_expr *e, enum level level, int depth);
static void random_bool(struct random_expr *e, enum level level, int depth);

static int dice(struct random_expr *e, int sides)
{
    return (int)pl_rng_range(&e->rng, 0, sides - 1);
}

static void put_ours(struct random_expr *e, const char *text)
{
    e->ours_length += (size_t)snprintf(e->ours + e->ours_length, RANDOM_EXPR_BYTES - e->ours_length, "%s", text);
}

static void put_server(struct random_expr *e, const char *text)
{
    e->server_length += (size_t)snprintf(e->server + e->server_length, RANDOM_EXPR_BYTES - e->server_length, "%s", text);
}

static void put(struct random_expr *e, const char *text)
{
    put_ours(e, text);
    put_server(e, text);
}

static void put_literal(struct random_expr *e, const char *text, const char *type)
{
    char name[16];
    snprintf(name, sizeof name, "c%d", ++e->literals);
    put_ours(e, text);
    put_server(e, name);
    e->columns_length += (size_t)snprintf(e->columns + e->columns_length, RANDOM_EXPR_BYTES - e->columns_length,
                                          "%s(%s)::%s AS %s", e->literals > 1 ? ", " : "", text, type, name);
}

static void int_literal(struct random_expr *e, bool may_be_null)
{
    static const char *const edges[] = {"9223372036854775807", "-9223372036854775808", "4294967296", "0", "1", "2"};
    char text[32];
    int which = dice(e, 20);
    if (which == 0 && may_be_null) {
        put_literal(e, "NULL", "int8");
    } else if (which < 4) {
        put_literal(e, edges[dice(e, 6)], "int8");
    } else {
        snprintf(text, sizeof text, "%lld",
                 (long long)pl_rng_range(&e->rng, which < 12 ? 0 : -10, which < 12 ? 9 : 100000));
        put_literal(e, text, "int8");
    }
}

static void double_literal(struct random_expr *e, bool may_be_null)
{
    char text[32];
    int which = dice(e, 20);
    if (which == 0 && may_be_null) {
        put_literal(e, "NULL", "float8");
        return;
    }
    snprintf(text, sizeof text, which < 10 ? "%.1f" : "%.6e", (double)pl_rng_range(&e->rng, -100000, 100000) / 8 + 0.0625);
    put_literal(e, text, "float8");
}

static void random_case(struct random_expr *e, int depth, void (*value)(struct random_expr *, enum level, int),
                        enum level level)
{
    put(e, "CASE ");
    for (int i = dice(e, 2); i >= 0; i--) {
        put(e, "WHEN ");
        random_bool(e, LEVEL_OR, depth - 1);
        put(e, " THEN ");
        value(e, level, depth - 1);
        put(e, " ");
    }
    if (dice(e, 2)) {
        put(e, "ELSE ");
        value(e, level, depth - 1);
        put(e, " ");
    }
    put(e, "END");
}

static void random_extreme(struct random_expr *e, void (*literal)(struct random_expr *, bool))
{
    put(e, dice(e, 2) ? "greatest(" : "least(");
    literal(e, false);
    for (int i = dice(e, 3); i > 0; i--) {
        put(e, ", ");
        literal(e, false);
    }
    put(e, ")");
}

static void int_call(struct random_expr *e, int depth)
{
    switch (dice(e, 4)) {
    case 0:
        put(e, "abs(");
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, ")");
        break;
    case 1:
        put(e, "mod(");
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, ", ");
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, ")");
        break;
    case 2:
        put_ours(e, "int");
        put(e, "(");
        random_double(e, LEVEL_SUM, depth - 1);
        put(e, ")");
        put_server(e, "::int8");
        break;
    default:
        random_extreme(e, int_literal);
    }
}

static void random_int(struct random_expr *e, enum level level, int depth)
{
    static const char *const operators[][4] = {[LEVEL_BITS] = {" | ", " # ", " & ", " & "},
                                               [LEVEL_SUM] = {" + ", " - ", "+", " -"},
                                               [LEVEL_PRODUCT] = {" * ", " / ", " % ", "*"}};
    int which = dice(e, 10);
    if (level == LEVEL_ATOM) {
        if (depth <= 0 || which < 4) {
            int_literal(e, true);
        } else if (which < 6) {
            put(e, "(");
            random_int(e, LEVEL_BITS, depth - 1);
            put(e, ")");
        } else if (which == 6) {
            put(e, "- ");
            random_int(e, LEVEL_ATOM, depth - 1);
        } else if (which == 7) {
            random_case(e, depth, random_int, LEVEL_BITS);
        } else {
            int_call(e, depth);
        }
    } else if (depth > 0 && which < 5) {
        random_int(e, level, depth - 1);
        put(e, operators[level][dice(e, 4)]);
        put(e, " ");
        random_int(e, level + 1, depth - 1);
    } else if (depth > 0 && level == LEVEL_BITS && which == 5) {
        char count[8];
        snprintf(count, sizeof count, "%d", dice(e, 64));
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, dice(e, 2) ? " << " : " >> ");
        put(e, count);
    } else if (depth > 0 && level == LEVEL_BITS && which == 6) {
        put(e, "~ ");
        random_int(e, LEVEL_SUM, depth - 1);
    } else {
        random_int(e, level + 1, depth);
    }
}

static void double_call(struct random_expr *e, int depth)
{
    switch (dice(e, 5)) {
    case 0:
        put(e, "sqrt(abs(");
        random_double(e, LEVEL_SUM, depth - 1);
        put(e, "))");
        break;
    case 1:
        put_ours(e, "double");
        put(e, "(");
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, ")");
        put_server(e, "::float8");
        break;
    case 2:
        put(e, "abs(");
        random_double(e, LEVEL_SUM, depth - 1);
        put(e, ")");
        break;
    case 3:
        put(e, "pi()");
        break;
    default:
        random_extreme(e, double_literal);
    }
}

static void random_double(struct random_expr *e, enum level level, int depth)
{
    int which = dice(e, 10);
    if (level == LEVEL_ATOM) {
        if (depth <= 0 || which < 4) {
            double_literal(e, true);
        } else if (which < 6) {
            put(e, "(");
            random_double(e, LEVEL_SUM, depth - 1);
            put(e, ")");
        } else if (which == 6) {
            random_case(e, depth, random_double, LEVEL_SUM);
        } else {
            double_call(e, depth);
        }
    } else if (depth > 0 && which < 3) { /* an integer beside a double */
        random_int(e, level, depth - 1);
        put(e, level == LEVEL_SUM ? " + " : " * ");
        random_double(e, level + 1, depth - 1);
    } else if (depth > 0 && which < 6) {
        random_double(e, level, depth - 1);
        put(e, level == LEVEL_SUM ? " - " : " * ");
        random_double(e, level + 1, depth - 1);
    } else if (depth > 0 && level == LEVEL_PRODUCT && which == 6) {
        random_double(e, level, depth - 1);
        put(e, " / ");
        double_literal(e, true); /* never zero */
    } else {
        random_double(e, level + 1, depth);
    }
}

/* Never NULL. */
static void random_test(struct random_expr *e, int depth)
{
    static const char *const null_tests[] = {" IS NULL", " IS NOT NULL", " ISNULL", " NOTNULL"};
    static const char *const bool_tests[] = {" IS TRUE",      " IS NOT TRUE", " IS FALSE",
                                             " IS NOT FALSE", " IS NULL",     " NOTNULL"};
    if (dice(e, 3) == 0) {
        random_int(e, LEVEL_BITS, depth - 1);
        put(e, null_tests[dice(e, 4)]);
    } else {
        random_bool(e, LEVEL_COMPARE, depth - 1);
        put(e, bool_tests[dice(e, 6)]);
    }
}

static void random_compare(struct random_expr *e, int depth)
{
    static const char *const operators[] = {" = ", " <> ", " != ", " < ", " <= ", " > ", " >= ", "< "};
    int types = dice(e, 4);
    if (types & 1)
        random_int(e, LEVEL_BITS, depth - 1);
    else
        random_double(e, LEVEL_SUM, depth - 1);
    put(e, operators[dice(e, 8)]);
    if (types & 2)
        random_int(e, LEVEL_BITS, depth - 1);
    else
        random_double(e, LEVEL_SUM, depth - 1);
}

static void random_bool(struct random_expr *e, enum level level, int depth)
{
    static const char *const literals[] = {"TRUE", "FALSE", "NULL"};
    int which = dice(e, 10);
    if (depth <= 0) {
        put_literal(e, literals[dice(e, 3)], "bool");
    } else if (level == LEVEL_COMPARE) {
        if (which < 7) {
            random_compare(e, depth);
        } else {
            put(e, "(");
            random_bool(e, LEVEL_OR, depth - 1);
            put(e, ")");
        }
    } else if (level == LEVEL_NOT && which < 3) {
        put(e, "NOT ");
        random_bool(e, LEVEL_NOT, depth - 1);
    } else if (level == LEVEL_NOT && which < 6) {
        random_test(e, depth);
    } else if (level < LEVEL_NOT && which < 6) {
        random_test(e, depth);
        put(e, level == LEVEL_OR ? " OR " : " AND ");
        random_bool(e, level, depth - 1);
    } else {
        random_bool(e, level + 1, depth);
    }
}

/* The next expression into e->ours and e->server (a whole SELECT). */
static void random_expr_next(struct random_expr *e)
{
    e->ours_length = e->server_length = e->columns_length = 0;
    e->literals = 0;
    e->columns[0] = '\0';
    put_server(e, "SELECT ");
    int type = dice(e, 3), depth = 1 + dice(e, 5);
    if (type == 0)
        random_int(e, LEVEL_BITS, depth);
    else if (type == 1)
        random_double(e, LEVEL_SUM, depth);
    else
        random_bool(e, LEVEL_OR, depth);
    if (e->literals > 0) {
        put_server(e, " FROM (SELECT ");
        put_server(e, e->columns);
        put_server(e, " OFFSET 0) AS row");
    }
}

#endif
