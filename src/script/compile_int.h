/* Private to src/script: the state of one compilation, shared by the scanner of SQL, the meta commands and the parser of
 * expressions. Places are byte offsets in the script's text. */
#ifndef PL_SCRIPT_COMPILE_INT_H
#define PL_SCRIPT_COMPILE_INT_H

#include "script/program.h"

/* What the compiler notes about a step and nobody else needs. */
struct step_note {
    size_t place;
    enum condition { NO_CONDITION, CONDITION_IF, CONDITION_ELIF, CONDITION_ELSE, CONDITION_ENDIF } condition;
};

/* A variable that stands inside quotes of a step: whether it is one (step.quotes_variables) is decided at the end. */
struct quoted {
    size_t step;
    int variable;
};

/* A ":name" in the SQL command being scanned: bytes [from, to) of out. */
struct sql_mark {
    size_t from, to;
    int variable;
    enum sql_context { SQL_CODE, SQL_QUOTED, SQL_COMMENT } context;
};

struct compiler {
    const char *file, *text;
    size_t length;
    size_t pos;        /* how far the text is read */
    size_t counted_to; /* lines up to here are in counted_lines */
    int counted_lines;
    bool strict;
    struct pl_arena *arena;
    struct pl_err *err;
    struct names *names;
    struct step *steps;
    struct step_note *notes;
    size_t step_count, step_capacity, note_capacity, io_count, command_count;
    char *out; /* the SQL commands without what the escapes \; and \: add, one after the other, each ends in NUL */
    size_t out_length;
    struct sql_mark *marks;
    size_t mark_count, mark_capacity;
    struct quoted *quoted;
    size_t quoted_count, quoted_capacity;
};

/* A meta command: bytes [start, end) of the text, the backslash first, without the end of the line. */
struct meta {
    size_t start, end;
    size_t pos;       /* how far it is read */
    const char *name; /* as the script writes it, without the backslash */
};

/* An error at a place. `from` is where the command begins that the hint shows, up to the line of the place and a caret;
 * FROM_LINE: only that line. */
#define FROM_LINE SIZE_MAX
PL_PRINTF(5, 6)
enum pl_code compile_fail(struct compiler *c, enum pl_code code, size_t from, size_t place, const char *fmt, ...);

/* The 1-based line of a place; places must not go backwards. */
int compile_line(struct compiler *c, size_t place);

/* Adds a step: numbers it (I/O index, number of the command when it has a text), notes where it stands. */
PL_MUST_CHECK enum pl_code compile_add(struct compiler *c, struct step step, const struct step_note *note);

/* The index of a variable that a command reads. STRICT: it must count as set (error at place, PL_INPUT). */
PL_MUST_CHECK enum pl_code compile_variable(struct compiler *c, size_t from, size_t place, const char *name, size_t length,
                                            int *ret_variable);

/* One SQL command, from pos to its ";", before a meta command, or to the end. */
PL_MUST_CHECK enum pl_code compile_sql(struct compiler *c);

/* One meta command, at the backslash. */
PL_MUST_CHECK enum pl_code compile_meta(struct compiler *c);

/* Steps over blanks and line continuations inside a meta command; false: it ends there. */
bool meta_skip_blanks(const struct compiler *c, struct meta *meta);

/* The rest of a meta command as an expression. */
PL_MUST_CHECK enum pl_code compile_expr(struct compiler *c, struct meta *meta, const struct expr **ret_expr);

#endif
