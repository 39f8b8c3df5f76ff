/* Private to src/script: expressions. The parser (expr.c) turns them into code for a stack of values, with jumps where an
 * operand may be left out; eval.c runs it, functions.c holds the operators and functions. */
#ifndef PL_SCRIPT_EXPR_INT_H
#define PL_SCRIPT_EXPR_INT_H

#include "script/program.h"

enum { EXPR_STACK = 256, EXPR_NESTING = 200, EXPR_ARGUMENTS = 16 };

/* Where an evaluation happens: what functions may look at. */
struct evaluation {
    const struct program *program;
    const struct step *step;
    const struct value *vars;
    struct pl_rng *rng;
};

/* args[0 .. count) in, one value out; NULL or what is wrong. */
typedef const char *expr_function(const struct evaluation *at, const struct value *args, int count,
                                  struct value *ret_value);

struct function {
    const char *name;
    int least, most; /* arguments */
    expr_function *run;
    bool takes_null; /* all others give NULL when an argument is NULL and are not called */
    bool is_seeded;  /* the last argument, when it is left out, is :default_seed */
};

enum operator{
    OPERATOR_ADD,
    OPERATOR_SUBTRACT,
    OPERATOR_MULTIPLY,
    OPERATOR_DIVIDE,
    OPERATOR_MODULO,
    OPERATOR_EQUAL,
    OPERATOR_NOT_EQUAL,
    OPERATOR_LESS,
    OPERATOR_LESS_EQUAL,
    OPERATOR_GREATER,
    OPERATOR_GREATER_EQUAL,
    OPERATOR_OR_BITS,
    OPERATOR_XOR_BITS,
    OPERATOR_AND_BITS,
    OPERATOR_SHIFT_LEFT,
    OPERATOR_SHIFT_RIGHT,
    OPERATOR_NOT_BITS,
    OPERATOR_NEGATE,
    OPERATOR_NOT,
    OPERATOR_IS_NULL,
    OPERATOR_IS_NOT_NULL,
    OPERATOR_IS_TRUE,
    OPERATOR_IS_NOT_TRUE,
    OPERATOR_IS_FALSE,
    OPERATOR_IS_NOT_FALSE
};
extern const struct function expr_operators[];

/* NULL when there is none; the case of letters does not matter. */
const struct function *expr_function_find(const char *name, size_t length);

enum op_kind {
    OP_CONSTANT, /* puts a value */
    OP_VARIABLE, /* puts a variable's value; text from outside is read as a value here */
    OP_CALL,     /* takes `count` values, puts one */
    OP_AND,      /* the left side of AND is on top: goes on without it when it is true, else it is the result: `target` */
    OP_OR,       /* the same for OR and false */
    OP_LOGICAL,  /* the right side of AND or OR is on top: it must be a boolean or NULL */
    OP_UNLESS,   /* takes a condition: `target` when it is not true */
    OP_JUMP      /* `target` */
};

struct op {
    enum op_kind kind;
    int count;
    union {
        int variable;
        uint32_t target;
        const struct function *function;
        struct value constant;
    };
};

struct expr {
    const struct op *ops;
    size_t count;
};

/* Computes. NULL, or what is wrong. No allocation. */
const char *expr_eval(const struct expr *expr, const struct evaluation *at, struct value *ret_value);

/* What is wrong, formatted: valid in this thread until its next call. */
const char *expr_wrong(const char *fmt, ...) PL_PRINTF(1, 2);

/* A double as messages show it, with six digits after the point, into buf of EXPR_FIXED_BYTES; returns buf. */
enum { EXPR_FIXED_BYTES = 400 };
const char *expr_fixed(double d, char *buf);

/* A value of another type where one is needed; NULL or what is wrong. The value is not NULL and no text. */
const char *expr_as_bool(const struct value *value, bool *ret_bool);
const char *expr_as_int(const struct value *value, int64_t *ret_int);
const char *expr_as_double(const struct value *value, double *ret_double);
/* Conditions: zero and NULL are false. */
bool expr_is_true(const struct value *value);

/* Reads the text of a variable as a value. */
const char *value_read(const char *name, const struct value *text, struct value *ret_value);

/* A decimal number, a point without digits on one side of it included; false: it is none, or out of the range of doubles.
 */
bool value_read_decimal(const char *text, size_t length, double *ret_double);

/* What debug() calls. */
void expr_debug(const struct evaluation *at, const struct value *value);

#endif
