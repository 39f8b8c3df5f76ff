/* Private to src/script: expressions of \set, compiled to postfix code. */
#ifndef PL_SCRIPT_EXPR_INT_H
#define PL_SCRIPT_EXPR_INT_H

#include "script/program.h"

/* Names of variables, growing while a script is compiled; the index is the position. */
struct expr_names {
    struct pl_arena *arena;
    const char **names;
    bool *is_set; /* by the engine or by a \set before this point */
    size_t count, name_capacity, set_capacity;
};

/* Index of a name, added when it is new. */
int expr_name_index(struct expr_names *names, const char *name, size_t length);
/* The same, and the variable counts as set from here on. */
int expr_name_set(struct expr_names *names, const char *name, size_t length);
/* -1 when there is none. */
int expr_name_find(const struct expr_names *names, const char *name, size_t length);

/* Where the text of an expression stands, for errors: position `text` of the file `file` is line:col. */
struct expr_source {
    const char *file;
    const char *text;
    size_t length;
    int line, col;
};

/* Compiles the whole text. Every variable must be set in names. */
PL_MUST_CHECK enum pl_code expr_compile(const struct expr_source *source, const struct expr_names *names,
                                        struct pl_arena *arena, const struct expr **ret_expr, struct pl_err *err);

/* Computes. NULL, or a static text that says what is wrong. No allocation. */
const char *expr_eval(const struct expr *expr, const struct value *vars, struct pl_rng *rng, struct value *ret_value);

bool expr_is_name_start(char c);
bool expr_is_name_char(char c);

#endif
