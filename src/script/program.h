/* What one simulated user does, compiled: a program of steps over one set of variables. pgbench script files and the
 * builtin scripts compile to it; other script languages will compile to the same form. A program is immutable after
 * compilation and shared by all threads; each client has its own `struct value vars[program->variable_count]`.
 *
 * program_eval never allocates and may run in the data plane. */
#ifndef PL_SCRIPT_PROGRAM_H
#define PL_SCRIPT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"

enum value_type { VALUE_UNSET, VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE };

struct value {
    enum value_type type;
    union {
        bool b;
        int64_t i;
        double d;
    };
};

/* Postfix code of one expression; see expr.c for the operations. */
struct expr;

enum step_kind {
    STEP_SET, /* variable = expression */
    STEP_SQL, /* one SQL command, one round trip */
    STEP_KIND_COUNT
};

/* A piece of a SQL text: literal bytes, then (unless it is the last) a variable. */
struct sql_piece {
    const char *text;
    size_t length;
    int variable; /* index, or -1 in the last piece */
};

struct step {
    enum step_kind kind;
    int line;                       /* 1-based, in the script's text */
    int io_index;                   /* 0.. among the program's I/O steps; -1 for STEP_SET */
    const char *text;               /* the command as written, for messages and reports */
    int variable;                   /* STEP_SET: assigned index */
    const struct expr *expr;        /* STEP_SET */
    const struct sql_piece *pieces; /* STEP_SQL, simple protocol: text with values pasted in */
    size_t piece_count;
    const char *prepared_text; /* STEP_SQL, extended and prepared: :name replaced by $1, $2, ... */
    const int *parameters;     /* variable of $1, $2, ... */
    size_t parameter_count;
};

struct program {
    const char *name;         /* script name, "tpcb-like" */
    const struct step *steps; /* at least one I/O step */
    size_t step_count;
    size_t io_step_count;
    const char *const *variables; /* names; index = position */
    size_t variable_count;
};

/* Compiles a pgbench script. `name` names it in errors (file:line:column). PL_INPUT: syntax, an unknown function or meta
 * command (named, never ignored), a variable never set; PL_LIMIT. predefined: NULL-ended names that the engine sets before
 * the first operation ("scale", "client_id", ...). */
PL_MUST_CHECK enum pl_code program_compile(const char *name, const char *text, size_t length, const char *const *predefined,
                                           struct pl_arena *arena, struct program **ret_program, struct pl_err *err);

/* Variable index by name, -1 when the program does not use it. */
int program_variable(const struct program *program, const char *name);

/* Evaluates a STEP_SET and assigns. On failure (division by zero, overflow, ...) returns a static text that says what went
 * wrong and changes nothing; NULL = done. No allocation. */
const char *program_eval(const struct step *step, struct value *vars, struct pl_rng *rng);

/* Text of a value as SQL would read it ("NULL" in simple mode), into buf of at least VALUE_TEXT_BYTES; returns the length.
 */
enum { VALUE_TEXT_BYTES = 32 };
size_t value_text(const struct value *value, char *buf);

/* Builtin scripts in pgbench's script language: "tpcb-like", "simple-update", "select-only". NULL when there is none. */
const char *builtin_script(const char *name);
extern const char *const builtin_script_names[]; /* NULL-ended */

#endif
