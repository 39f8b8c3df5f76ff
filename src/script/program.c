/* pgbench script text -> program: finds the commands, compiles each. */
#include "script/program.h"

#include <string.h>

#include "base/limits.h"
#include "script/expr_int.h"

#include "base/ban.h"

static const char *const space = " \t\r\n\f\v";

bool expr_is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool expr_is_name_char(char c)
{
    return expr_is_name_start(c) || (c >= '0' && c <= '9');
}

int expr_name_find(const struct expr_names *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->names[i]) == length && memcmp(names->names[i], name, length) == 0)
            return (int)i;
    return -1;
}

int expr_name_index(struct expr_names *names, const char *name, size_t length)
{
    int found = expr_name_find(names, name, length);
    if (found >= 0)
        return found;
    size_t count = names->count;
    names->names = pl_grow(names->arena, names->names, count, count + 1, sizeof *names->names, &names->name_capacity);
    names->is_set = pl_grow(names->arena, names->is_set, count, count + 1, sizeof *names->is_set, &names->set_capacity);
    names->names[count] = pl_strndup(names->arena, name, length);
    names->is_set[count] = false;
    return (int)names->count++;
}

int expr_name_set(struct expr_names *names, const char *name, size_t length)
{
    int index = expr_name_index(names, name, length); /* may move is_set */
    names->is_set[index] = true;
    return index;
}

struct compiler {
    const char *file, *text;
    size_t length;
    size_t pos, line_start; /* of the line that pos is in */
    int line;
    struct pl_arena *arena;
    struct pl_err *err;
    struct expr_names names;
    struct step *steps;
    size_t step_count, step_capacity, io_count;
};

static enum pl_code fail_at(struct compiler *c, int line, size_t col, const char *what)
{
    return pl_err_at(c->err, PL_INPUT, c->file, line, (int)col, "%s", what);
}

static size_t column(const struct compiler *c)
{
    return c->pos - c->line_start + 1;
}

static char peek(const struct compiler *c, size_t ahead)
{
    return c->pos + ahead < c->length ? c->text[c->pos + ahead] : '\0';
}

static void advance(struct compiler *c)
{
    if (c->text[c->pos] == '\n') {
        c->line++;
        c->line_start = c->pos + 1;
    }
    c->pos++;
}

static enum pl_code add_step(struct compiler *c, struct step step)
{
    if (c->step_count == PL_MAX_STEPS)
        return pl_err_at(c->err, PL_LIMIT, c->file, step.line, 1, "more than %d commands", PL_MAX_STEPS);
    c->steps = pl_grow(c->arena, c->steps, c->step_count, c->step_count + 1, sizeof *c->steps, &c->step_capacity);
    step.io_index = step.kind == STEP_SET ? -1 : (int)c->io_count++;
    c->steps[c->step_count++] = step;
    return PL_OK;
}

/* ---- meta commands ---- */

static void skip_blanks(struct compiler *c, size_t end)
{
    while (c->pos < end && (c->text[c->pos] == ' ' || c->text[c->pos] == '\t'))
        c->pos++;
}

static size_t name_length_at(const char *text, size_t length)
{
    size_t n = 0;
    if (length > 0 && expr_is_name_start(text[0]))
        while (n < length && expr_is_name_char(text[n]))
            n++;
    return n;
}

static enum pl_code compile_set(struct compiler *c, size_t start, size_t end)
{
    skip_blanks(c, end);
    size_t name_length = name_length_at(c->text + c->pos, end - c->pos);
    if (name_length == 0)
        return fail_at(c, c->line, column(c), "\\set needs the name of a variable");
    const char *name = c->text + c->pos;
    c->pos += name_length;
    if (c->pos < end && strchr(space, c->text[c->pos]) == NULL)
        return fail_at(c, c->line, column(c), "a name has only letters, digits and _");
    skip_blanks(c, end);
    if (c->pos == end)
        return fail_at(c, c->line, column(c), "\\set needs an expression after the name");
    struct expr_source source = {
        .file = c->file, .text = c->text + c->pos, .length = end - c->pos, .line = c->line, .col = (int)column(c)};
    struct step step = {.kind = STEP_SET, .line = c->line, .text = pl_strndup(c->arena, c->text + start, end - start)};
    enum pl_code code = expr_compile(&source, &c->names, c->arena, &step.expr, c->err);
    if (code != PL_OK)
        return code;
    step.variable = expr_name_set(&c->names, name, name_length);
    if (c->names.count > PL_MAX_VARIABLES)
        return pl_err_at(c->err, PL_LIMIT, c->file, c->line, 1, "more than %d variables", PL_MAX_VARIABLES);
    return add_step(c, step);
}

static enum pl_code compile_meta(struct compiler *c)
{
    size_t start = c->pos, end = start, command_col = column(c);
    while (end < c->length && c->text[end] != '\n')
        end++;
    size_t next = end;
    while (end > start && strchr(space, c->text[end - 1]) != NULL)
        end--;
    size_t word = start + 1;
    while (word < end && strchr(space, c->text[word]) == NULL)
        word++;
    if (word - start != 4 || memcmp(c->text + start, "\\set", 4) != 0) {
        pl_err_at(c->err, PL_INPUT, c->file, c->line, (int)command_col, "meta command \"%s\" is not known",
                  pl_strndup(c->arena, c->text + start, word - start));
        pl_err_hint(c->err, "The meta command that a script may use is \\set.");
        return c->err->code;
    }
    c->pos = word;
    enum pl_code code = compile_set(c, start, end);
    c->pos = next;
    return code;
}

/* ---- SQL commands ---- */

/* Skips what is neither a command nor part of one: white space and comments. */
static enum pl_code skip_between(struct compiler *c);

/* Steps over a quoted text, a dollar quote or a comment that starts at pos; *ret_skipped: there was one. An end that is
 * missing is an error at the start. The rules are PostgreSQL's (manual, "Lexical Structure"). */
static enum pl_code skip_opaque(struct compiler *c, bool *ret_skipped);

static enum pl_code skip_quoted(struct compiler *c, char quote, bool with_backslash)
{
    int line = c->line;
    size_t col = column(c);
    for (advance(c); c->pos < c->length;) {
        if (with_backslash && peek(c, 0) == '\\' && c->pos + 1 < c->length) {
            advance(c);
            advance(c);
        } else if (peek(c, 0) == quote && peek(c, 1) == quote) {
            advance(c);
            advance(c);
        } else if (peek(c, 0) == quote) {
            advance(c);
            return PL_OK;
        } else {
            advance(c);
        }
    }
    return fail_at(c, line, col, "the quote that begins here does not end");
}

static enum pl_code skip_block_comment(struct compiler *c)
{
    int line = c->line, depth = 0;
    size_t col = column(c);
    while (c->pos < c->length) {
        if (peek(c, 0) == '/' && peek(c, 1) == '*') {
            depth++;
            advance(c);
        } else if (peek(c, 0) == '*' && peek(c, 1) == '/') {
            depth--;
            advance(c);
        }
        advance(c);
        if (depth == 0)
            return PL_OK;
    }
    return fail_at(c, line, col, "the comment that begins here does not end");
}

/* Length of a dollar-quote tag ($$ or $name$) at pos; 0 when there is none. */
static size_t dollar_tag(const struct compiler *c)
{
    size_t name = name_length_at(c->text + c->pos + 1, c->length - c->pos - 1);
    bool after_name = c->pos > 0 && expr_is_name_char(c->text[c->pos - 1]);
    return !after_name && peek(c, 1 + name) == '$' ? name + 2 : 0;
}

static enum pl_code skip_dollar_quote(struct compiler *c, size_t tag_length)
{
    int line = c->line;
    size_t col = column(c);
    const char *tag = c->text + c->pos;
    for (size_t i = 0; i < tag_length; i++)
        advance(c);
    while (c->pos < c->length) {
        if (c->length - c->pos >= tag_length && memcmp(c->text + c->pos, tag, tag_length) == 0) {
            for (size_t i = 0; i < tag_length; i++)
                advance(c);
            return PL_OK;
        }
        advance(c);
    }
    return fail_at(c, line, col, "the dollar quote that begins here does not end");
}

static enum pl_code skip_opaque(struct compiler *c, bool *ret_skipped)
{
    char first = peek(c, 0), second = peek(c, 1);
    size_t tag;
    *ret_skipped = true;
    if (first == '\'') {
        bool escapes =
            c->pos > 0 && (c->text[c->pos - 1] | 32) == 'e' && (c->pos == 1 || !expr_is_name_char(c->text[c->pos - 2]));
        return skip_quoted(c, '\'', escapes);
    }
    if (first == '"')
        return skip_quoted(c, '"', false);
    if (first == '/' && second == '*')
        return skip_block_comment(c);
    if (first == '-' && second == '-') {
        while (c->pos < c->length && peek(c, 0) != '\n')
            advance(c);
        return PL_OK;
    }
    if (first == '$' && (tag = dollar_tag(c)) > 0)
        return skip_dollar_quote(c, tag);
    *ret_skipped = false;
    return PL_OK;
}

static enum pl_code skip_between(struct compiler *c)
{
    while (c->pos < c->length) {
        bool skipped = false;
        if (strchr(space, peek(c, 0)) != NULL) {
            advance(c);
        } else if (peek(c, 0) == ';') {
            advance(c); /* an empty command */
        } else if ((peek(c, 0) == '-' && peek(c, 1) == '-') || (peek(c, 0) == '/' && peek(c, 1) == '*')) {
            enum pl_code code = skip_opaque(c, &skipped);
            if (code != PL_OK)
                return code;
        } else {
            break;
        }
    }
    return PL_OK;
}

static bool at_line_start(const struct compiler *c)
{
    for (size_t i = c->line_start; i < c->pos; i++)
        if (c->text[i] != ' ' && c->text[i] != '\t')
            return false;
    return true;
}

/* A SQL command under construction. */
struct sql {
    size_t start, piece_start;
    int line;
    struct sql_piece *pieces;
    size_t piece_count, piece_capacity;
    int *parameters;
    size_t parameter_count, parameter_capacity;
    char *numbered; /* with $1, $2, ... */
    size_t numbered_length, numbered_capacity;
};

static void sql_add_piece(struct compiler *c, struct sql *sql, size_t end, int variable)
{
    sql->pieces =
        pl_grow(c->arena, sql->pieces, sql->piece_count, sql->piece_count + 1, sizeof *sql->pieces, &sql->piece_capacity);
    sql->pieces[sql->piece_count++] =
        (struct sql_piece){.text = c->text + sql->piece_start, .length = end - sql->piece_start, .variable = variable};
}

static void sql_put_numbered(struct compiler *c, struct sql *sql, const char *text, size_t length)
{
    sql->numbered = pl_grow(c->arena, sql->numbered, sql->numbered_length, sql->numbered_length + length + 1, 1,
                            &sql->numbered_capacity);
    memcpy(sql->numbered + sql->numbered_length, text, length);
    sql->numbered_length += length;
    sql->numbered[sql->numbered_length] = '\0';
}

/* The same variable is the same parameter, so that its type is inferred once. */
static enum pl_code sql_add_variable(struct compiler *c, struct sql *sql, int variable)
{
    size_t number = 0;
    while (number < sql->parameter_count && sql->parameters[number] != variable)
        number++;
    if (number == sql->parameter_count) {
        if (number == PL_MAX_PARAMETERS)
            return pl_err_at(c->err, PL_LIMIT, c->file, c->line, (int)column(c), "more than %d variables in one command",
                             PL_MAX_PARAMETERS);
        sql->parameters =
            pl_grow(c->arena, sql->parameters, number, number + 1, sizeof *sql->parameters, &sql->parameter_capacity);
        sql->parameters[sql->parameter_count++] = variable;
    }
    const char *text = pl_format(c->arena, "$%zu", number + 1);
    sql_put_numbered(c, sql, text, strlen(text));
    return PL_OK;
}

/* At a ":" that may begin a variable. */
static enum pl_code sql_colon(struct compiler *c, struct sql *sql)
{
    if (peek(c, 1) == ':') { /* a cast */
        c->pos += 2;
        return PL_OK;
    }
    size_t length = name_length_at(c->text + c->pos + 1, c->length - c->pos - 1);
    if (length == 0) {
        c->pos++;
        return PL_OK;
    }
    const char *name = c->text + c->pos + 1;
    int variable = expr_name_find(&c->names, name, length);
    if (variable < 0 || !c->names.is_set[variable])
        return pl_err_at(c->err, PL_INPUT, c->file, c->line, (int)column(c), "variable \"%s\" is used before it is set",
                         pl_strndup(c->arena, name, length));
    sql_add_piece(c, sql, c->pos, variable);
    sql_put_numbered(c, sql, c->text + sql->piece_start, c->pos - sql->piece_start);
    enum pl_code code = sql_add_variable(c, sql, variable);
    c->pos += 1 + length;
    sql->piece_start = c->pos;
    return code;
}

static enum pl_code sql_finish(struct compiler *c, struct sql *sql, size_t end)
{
    while (end > sql->piece_start && strchr(space, c->text[end - 1]) != NULL)
        end--;
    sql_add_piece(c, sql, end, -1);
    sql_put_numbered(c, sql, c->text + sql->piece_start, end - sql->piece_start);
    return add_step(c, (struct step){.kind = STEP_SQL,
                                     .line = sql->line,
                                     .text = pl_strndup(c->arena, c->text + sql->start, end - sql->start),
                                     .pieces = sql->pieces,
                                     .piece_count = sql->piece_count,
                                     .prepared_text = sql->numbered,
                                     .parameters = sql->parameters,
                                     .parameter_count = sql->parameter_count});
}

/* A command ends at ";", before a meta command, or with the text. */
static enum pl_code compile_sql(struct compiler *c)
{
    struct sql sql = {.start = c->pos, .piece_start = c->pos, .line = c->line};
    enum pl_code code = PL_OK;
    while (code == PL_OK && c->pos < c->length) {
        char here = peek(c, 0);
        bool skipped = false;
        if (here == ';' || (here == '\\' && at_line_start(c)))
            break;
        if (here == '\\' && peek(c, 1) == ';') {
            fail_at(c, c->line, column(c), "several commands in one message (\\;) are not supported");
            pl_err_hint(c->err, "Write them as commands of their own.");
            return c->err->code;
        }
        code = skip_opaque(c, &skipped);
        if (code == PL_OK && !skipped) {
            if (here == ':')
                code = sql_colon(c, &sql);
            else
                advance(c);
        }
    }
    if (code != PL_OK)
        return code;
    code = sql_finish(c, &sql, c->pos);
    if (peek(c, 0) == ';')
        advance(c);
    return code;
}

static enum pl_code compile_all(struct compiler *c)
{
    for (;;) {
        enum pl_code code = skip_between(c);
        if (code != PL_OK || c->pos >= c->length)
            return code;
        code = peek(c, 0) == '\\' ? compile_meta(c) : compile_sql(c);
        if (code != PL_OK)
            return code;
    }
}

enum pl_code program_compile(const char *name, const char *text, size_t length, const char *const *predefined,
                             struct pl_arena *arena, struct program **ret_program, struct pl_err *err)
{
    if (length > PL_MAX_SCRIPT_BYTES)
        return pl_err_at(err, PL_LIMIT, name, 0, 0, "larger than %d bytes", PL_MAX_SCRIPT_BYTES);
    const char *nul = memchr(text, '\0', length);
    if (nul != NULL)
        return pl_err_at(err, PL_INPUT, name, 0, 0, "byte %zu is NUL: this is not a text file", (size_t)(nul - text));
    struct compiler c = {.file = name,
                         .text = pl_strndup(arena, text, length),
                         .length = length,
                         .line = 1,
                         .arena = arena,
                         .err = err,
                         .names = {.arena = arena}};
    for (size_t i = 0; predefined[i] != NULL; i++)
        expr_name_set(&c.names, predefined[i], strlen(predefined[i]));
    enum pl_code code = compile_all(&c);
    if (code != PL_OK)
        return code;
    if (c.io_count == 0) {
        pl_err_at(err, PL_INPUT, name, 0, 0, "the script has no SQL command");
        pl_err_hint(err, "A script needs at least one command that the server carries out.");
        return err->code;
    }
    struct program *program = pl_alloc(arena, 1, sizeof *program);
    *program = (struct program){.name = pl_strdup(arena, name),
                                .steps = c.steps,
                                .step_count = c.step_count,
                                .io_step_count = c.io_count,
                                .variables = c.names.names,
                                .variable_count = c.names.count};
    *ret_program = program;
    return PL_OK;
}

int program_variable(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->variable_count; i++)
        if (strcmp(program->variables[i], name) == 0)
            return (int)i;
    return -1;
}

const char *program_eval(const struct step *step, struct value *vars, struct pl_rng *rng)
{
    struct value result;
    const char *wrong = expr_eval(step->expr, vars, rng, &result);
    if (wrong == NULL)
        vars[step->variable] = result;
    return wrong;
}
