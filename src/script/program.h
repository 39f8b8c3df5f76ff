/* What one simulated user does, compiled: a program of steps over one set of variables. pgbench script files and the
 * builtin scripts compile to it, and Hurl files (src/hurl). A program is immutable after
 * compilation and shared by all threads; each client has its own `struct value vars[]`, one for each of the names that its
 * programs were compiled with (names_count). Programs of one load share one set of names: a variable that one script sets
 * is there for the next one of the same client, and keeps its value from operation to operation.
 *
 * program_eval and program_branch never allocate and may run in the data plane. */
#ifndef PL_SCRIPT_PROGRAM_H
#define PL_SCRIPT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"

enum value_type { VALUE_UNSET, VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE, VALUE_TEXT };

/* VALUE_TEXT comes from outside (-D, \gset, \aset, \setshell): `text` is borrowed, ends in NUL and holds none. Where an
 * expression meets it, it is read as NULL (the word), a boolean, an int64 or a double, in this order. */
struct value {
    enum value_type type;
    uint32_t length; /* VALUE_TEXT: bytes before the NUL */
    union {
        bool b;
        int64_t i;
        double d;
        const char *text;
    };
};

/* The variables that the programs of one load know; a variable's index is its position in every client's vars. Grows while
 * programs are compiled, is read by everybody afterwards. */
struct names;
struct names *names_new(struct pl_arena *arena);
/* The index of a name, added when it is new. */
int names_add(struct names *names, const char *name, size_t length);
/* The same, and it counts as set before the first operation ("scale", "client_id", -D). */
int names_predefine(struct names *names, const char *name);
/* -1 when there is none. */
int names_find(const struct names *names, const char *name, size_t length);
/* The same, and it counts as used: by a program that is being compiled. So does what names_add finds or adds. */
int names_use(struct names *names, const char *name, size_t length);
/* Which names one program uses: forget, compile it, ask. It may be more than are read: those that it only sets are among
 * them. */
void names_forget_uses(struct names *names);
bool names_is_used(const struct names *names, int index);
const char *names_at(const struct names *names, int index);
size_t names_count(const struct names *names);
/* May this be the name of a variable? Letters, digits, _ and bytes above 127; the first is no digit. */
bool names_is_valid(const char *name, size_t length);

/* Postfix code of one expression; see expr.c for the operations. */
struct expr;

enum step_kind {
    STEP_SET,            /* variable = expression */
    STEP_SQL,            /* one SQL message: one command, or several joined by \; */
    STEP_SLEEP,          /* wait for `amount` units */
    STEP_SHELL,          /* run a command of the shell; its exit status must be 0 */
    STEP_SETSHELL,       /* the same, and the integer it prints becomes the variable */
    STEP_IF,             /* \if and \elif: goes on with the next step when the expression is true, else at `target` */
    STEP_JUMP,           /* goes on at `target`: the end of a branch; \else when it has a text */
    STEP_NOTHING,        /* \endif */
    STEP_START_PIPELINE, /* from here on SQL steps are queued, and only \endpipeline waits */
    STEP_SYNC_PIPELINE,
    STEP_END_PIPELINE, /* an I/O step: ends when all that was queued has been answered */
    STEP_HTTP,         /* an I/O step: one request and its answer, redirects included */
    STEP_CALL,         /* what only the script's language knows: `call` says whether to go on with the next step or at
                          `target` */
    STEP_FEED,         /* takes the next row of `feed` into its variables */
    STEP_KIND_COUNT
};

enum step_capture { CAPTURE_NOTHING, CAPTURE_ONE_ROW, CAPTURE_ALL }; /* none, \gset, \aset */

/* A piece of a SQL text: literal bytes, then (unless it is the last) a variable. */
struct sql_piece {
    const char *text;
    size_t length;
    int variable; /* index, or -1 in the last piece */
};

/* A word of \shell and \setshell, or the amount of \sleep: a literal text, or a variable (then text is its ":name"). */
struct step_word {
    const char *text;
    int variable; /* -1: literal */
};

struct step;
struct feed;         /* feed.h */
struct hurl_request; /* src/hurl/hurl.h */

/* One client as a step of another language sees it: it may read and set its variables. set_text copies (NULL: the value
 * NULL); vars[variable] may be set directly to what is no text or outlives the load. */
struct step_scene {
    struct value *vars;
    struct pl_rng *rng;
    uint32_t client; /* of the worker */
    void (*set_text)(void *context, uint32_t client, int variable, const char *text, size_t length);
    void *context;
};

/* Data plane: no blocking, no allocation. Returns what went wrong, as program_eval, or NULL; then *ret_goes_on: with the
 * next step, or (false) at step->target. */
typedef const char *step_call(const struct step *step, struct step_scene *scene, bool *ret_goes_on);

struct step {
    enum step_kind kind;
    int line;                       /* 1-based, in the script's text */
    int io_index;                   /* 0.. among the program's I/O steps (SQL, END_PIPELINE, HTTP); -1 for the others */
    int number;                     /* 0.. among the commands of the script as written (those with a text); -1 for a jump
                                       that \elif implies */
    const char *text;               /* the command as written (SQL: with its ";", "\;" without the backslash), for messages
                                       and reports; NULL for an implied jump */
    int variable;                   /* SET, SETSHELL: assigned index */
    const struct expr *expr;        /* SET, IF */
    uint32_t target;                /* IF, JUMP: index of a step; may be step_count, the end */
    const struct sql_piece *pieces; /* SQL, simple protocol: text with values pasted in, also inside quotes */
    size_t piece_count;
    const char *prepared_text; /* SQL, extended and prepared: :name replaced by $1, $2, ... outside quotes and comments */
    const int *parameters;     /* variable of $1, $2, ... */
    size_t parameter_count;
    int message_count;             /* SQL: commands in the text, 1 + the number of \; */
    enum step_capture capture;     /* SQL */
    const char *prefix;            /* of the captured variables' names; "" for none */
    const struct step_word *words; /* SHELL, SETSHELL: the command; SLEEP: words[0] is the amount */
    size_t word_count;
    int64_t unit_ns;       /* SLEEP: 1e3, 1e6 or 1e9 */
    double sleep_literal;  /* SLEEP with a literal amount: in units */
    bool quotes_variables; /* SQL: a variable stands inside quotes or a comment: only the simple protocol can paste it */
    const struct hurl_request *http; /* HTTP */
    step_call *call;         /* CALL: see there. HTTP, may be NULL: called when the request has failed in any way but
                                by its time limit; goes on: the operation fails; not: there is another try, which
                                begins at `target`, and this one counts as a failed step and a retry */
    const void *data;        /* of `call` */
    const struct feed *feed; /* FEED */
};

struct program {
    const char *name;         /* script name, "tpcb-like" */
    const struct step *steps; /* at least one I/O step, unless the language was lenient */
    size_t step_count;
    size_t io_step_count;
    size_t command_count; /* commands as written: the steps with a number */
    const struct names *names;
};

/* How strict program_compile is. In a plan a script must be right before anything is started: a variable that nothing can
 * set, a :name that is none, no SQL command at all, are errors. A pgbench script is taken as pgbench takes it: what is not
 * a variable when a command runs stays in the text (simple protocol) or is NULL, an unset variable in an expression is an
 * error when it is evaluated, and a script may consist of meta commands alone. */
enum program_strictness { PROGRAM_STRICT, PROGRAM_AS_PGBENCH };

/* Compiles a pgbench script. `name` names it in errors (file:line:column). PL_INPUT: syntax, an unknown function or meta
 * command (named, never ignored), STRICT: a variable never set; PL_LIMIT. names: those that are predefined, and those of
 * the load's other programs; new ones are added. Time is linear in the length of the text. The hint of an error is the line
 * with a caret under the place:  "\set x 1 +* 2\n          ^ error found here". */
PL_MUST_CHECK enum pl_code program_compile(const char *name, const char *text, size_t length,
                                           enum program_strictness strictness, struct names *names, struct pl_arena *arena,
                                           struct program **ret_program, struct pl_err *err);

/* A variable that is given from outside the script (a plan's `variables:`, --variable): a number, true, false or null, a
 * text, or an expression of the script language that is evaluated at the beginning of each operation. It is an expression
 * when it calls a function ("random(1, :users)"); what looks like a call and is none of the language's is an error. */
struct program_given {
    const char *name, *text;
    const char *source; /* for errors: the plan's path, or "--variable"; with line and col 0 when there is none */
    int line, col;
};
struct program_constant {
    const char *name;
    struct value value;
};
struct program_givens {
    const struct program_constant *constants;
    size_t constant_count;
    const struct step *steps; /* STEP_SETs, in the order given */
    size_t step_count;
};
/* A name as the columns of data files have them: what names_is_valid takes, and "-" and "." behind the first character, as
 * Hurl's names have. Expressions cannot use those. */
bool program_is_given_name(const char *name, size_t length);
/* Names are added to `names`, so that scripts compiled later know them. PL_INPUT at the place given. */
PL_MUST_CHECK enum pl_code program_give(const struct program_given *given, size_t count, struct names *names,
                                        struct pl_arena *arena, struct program_givens *ret_givens, struct pl_err *err);

/* The program with steps in front of it that are no commands of the script (number and io_index -1). Shares what it can
 * with the original. */
const struct program *program_prepend(const struct program *program, const struct step *steps, size_t count,
                                      struct pl_arena *arena);

/* Variable index by name, -1 when no program of the load uses it. */
int program_variable(const struct program *program, const char *name);

/* Evaluates a STEP_SET and assigns. On failure (division by zero, overflow, ...) returns a text that says what went wrong
 * (static, or of this thread and valid until its next call) and changes nothing; NULL = done. No allocation. */
const char *program_eval(const struct program *program, const struct step *step, struct value *vars, struct pl_rng *rng);

/* Evaluates a STEP_IF. Errors as above. */
const char *program_branch(const struct program *program, const struct step *step, const struct value *vars,
                           struct pl_rng *rng, bool *ret_taken);

/* How long a STEP_SLEEP is to wait: any amount below 2^63 ns, fractions of a unit included. Errors as above. */
const char *program_sleep_ns(const struct program *program, const struct step *step, const struct value *vars,
                             int64_t *ret_ns);

/* The words of a STEP_SHELL or STEP_SETSHELL as one command line into buf (words are joined by blanks, a variable is
 * replaced by its text, "::name" is ":name"). Errors as above, also when it does not fit. */
const char *program_shell_text(const struct program *program, const struct step *step, const struct value *vars, char *buf,
                               size_t size);

/* Text of a value as SQL would read it ("NULL" in simple mode), into buf of at least VALUE_TEXT_BYTES (VALUE_TEXT: of at
 * least length + 1); returns the length. */
enum { VALUE_TEXT_BYTES = 32 };
size_t value_text(const struct value *value, char *buf);
/* Bytes that value_text may need. */
static inline size_t value_text_bytes(const struct value *value)
{
    return value->type == VALUE_TEXT ? (size_t)value->length + 1 : VALUE_TEXT_BYTES;
}

/* What debug(x) does, besides giving x: nothing, or this, in the thread that evaluates. Set before the threads start. */
typedef void program_debug(void *context, const struct program *program, const struct step *step,
                           const struct value *value);
void program_on_debug(program_debug *hook, void *context);

/* A value with its type, as debug() shows it ("int 5", "double 0.5", "boolean true", "null"), into buf of at least
 * VALUE_DESCRIBE_BYTES; returns the length. */
enum { VALUE_DESCRIBE_BYTES = 48 };
size_t value_describe(const struct value *value, char *buf);

/* Builtin scripts in pgbench's script language: "tpcb-like", "simple-update", "select-only". NULL when there is none. */
const char *builtin_script(const char *name);
extern const char *const builtin_script_names[]; /* NULL-ended */
/* What a list of them shows: "<builtin: TPC-B (sort of)>", ... as pgbench writes it in its reports. */
const char *builtin_script_title(const char *name);

#endif
