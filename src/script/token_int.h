/* Private to src/script: the tokens of expressions. */
#ifndef PL_SCRIPT_TOKEN_INT_H
#define PL_SCRIPT_TOKEN_INT_H

#include "script/compile_int.h"

enum token_kind {
    TOKEN_END,
    TOKEN_CONSTANT,
    TOKEN_MIN_INT, /* 9223372036854775808: an integer after a minus only */
    TOKEN_VARIABLE,
    TOKEN_NAME, /* of a function */
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    /* operators */
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_STAR,
    TOKEN_SLASH,
    TOKEN_PERCENT,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_LESS,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER,
    TOKEN_GREATER_EQUAL,
    TOKEN_BAR,
    TOKEN_HASH,
    TOKEN_AMPERSAND,
    TOKEN_SHIFT_LEFT,
    TOKEN_SHIFT_RIGHT,
    TOKEN_TILDE,
    /* words */
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_NOT,
    TOKEN_IS,
    TOKEN_IS_NULL,
    TOKEN_NOT_NULL,
    TOKEN_NULL,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_CASE,
    TOKEN_WHEN,
    TOKEN_THEN,
    TOKEN_ELSE,
    TOKEN_END_CASE
};

/* Bytes [start, end) of the script's text. */
struct token {
    enum token_kind kind;
    size_t start, end;
    struct value constant;
};

/* The next token of a meta command's rest. An error stands at the last byte of what is wrong, as pgbench's do. */
PL_MUST_CHECK enum pl_code token_next(struct compiler *c, struct meta *meta, struct token *ret_token);

#endif
