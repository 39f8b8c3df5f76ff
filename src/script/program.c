/* pgbench script text -> program: finds the commands, has each compiled, joins the branches of conditions. */
#include "script/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "script/compile_int.h"
#include "script/names_int.h"

#include "base/ban.h"

/* ---- errors ---- */

static bool is_blank(char c)
{
    return c != '\0' && strchr(" \t\r\n\f\v", c) != NULL;
}

static size_t line_begin(const struct compiler *c, size_t place)
{
    while (place > 0 && c->text[place - 1] != '\n')
        place--;
    return place;
}

static size_t line_end(const struct compiler *c, size_t place)
{
    while (place < c->length && c->text[place] != '\n')
        place++;
    return place > 0 && place <= c->length && c->text[place - 1] == '\r' ? place - 1 : place;
}

/* The command up to the line of the place, then a caret under it. What is too long to read is left out on both sides. */
static void hint_place(struct compiler *c, size_t from, size_t place)
{
    enum { SIDE = 300, MOST = 2 * SIDE };
    size_t end = line_end(c, place), begin = line_begin(c, place);
    end = end < place ? place : end;
    from = from == FROM_LINE ? begin : from;
    if (end - from > MOST) {
        from = begin > from ? begin : from;
        from = place - from > SIDE ? place - SIDE : from;
        end = end - place > SIDE ? place + SIDE : end;
    }
    begin = begin > from ? begin : from;
    char pad[MOST + 1];
    size_t width = 0;
    for (size_t i = begin; i < place; i++)
        if (((unsigned char)c->text[i] & 0xc0) != 0x80) /* one column for each UTF-8 character */
            pad[width++] = c->text[i] == '\t' ? '\t' : ' ';
    pl_err_hint(c->err, "%.*s\n%.*s^ error found here", (int)(end - from), c->text + from, (int)width, pad);
}

enum pl_code compile_fail(struct compiler *c, enum pl_code code, size_t from, size_t place, const char *fmt, ...)
{
    char what[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    int line = 1;
    for (size_t i = 0; i < place && i < c->length; i++)
        line += c->text[i] == '\n';
    code = pl_err_at(c->err, code, c->file, line, (int)(place - line_begin(c, place)) + 1, "%s", what);
    hint_place(c, from, place);
    return code;
}

/* ---- what all commands need ---- */

int compile_line(struct compiler *c, size_t place)
{
    for (; c->counted_to < place; c->counted_to++)
        c->counted_lines += c->text[c->counted_to] == '\n';
    return c->counted_lines + 1;
}

enum pl_code compile_add(struct compiler *c, struct step step, const struct step_note *note)
{
    if (c->step_count == PL_MAX_STEPS)
        return compile_fail(c, PL_LIMIT, note->place, note->place, "more than %d commands", PL_MAX_STEPS);
    size_t count = c->step_count++;
    c->steps = pl_grow(c->arena, c->steps, count, count + 1, sizeof *c->steps, &c->step_capacity);
    c->notes = pl_grow(c->arena, c->notes, count, count + 1, sizeof *c->notes, &c->note_capacity);
    bool is_io = step.kind == STEP_SQL || step.kind == STEP_END_PIPELINE;
    step.line = compile_line(c, note->place);
    step.io_index = is_io ? (int)c->io_count++ : -1;
    step.number = step.text != NULL ? (int)c->command_count++ : -1;
    c->steps[count] = step;
    c->notes[count] = *note;
    return PL_OK;
}

enum pl_code compile_variable(struct compiler *c, size_t from, size_t place, const char *name, size_t length,
                              int *ret_variable)
{
    int variable = names_add(c->names, name, length);
    if (c->strict && !names_is_set(c->names, variable))
        return compile_fail(c, PL_INPUT, from, place, "variable \"%s\" is used before it is set",
                            names_at(c->names, variable));
    if (names_count(c->names) > PL_MAX_VARIABLES)
        return compile_fail(c, PL_LIMIT, from, place, "more than %d variables", PL_MAX_VARIABLES);
    *ret_variable = variable;
    return PL_OK;
}

/* ---- conditions ---- */

enum { NONE = -1 };

/* An open condition knows the step whose test, when false, goes on at the branch that comes next, and the jumps that end
 * its branches (a list through their targets). */
struct open_condition {
    size_t step; /* of \if */
    int last_test;
    int jumps;
    bool has_else;
};

/* number: of the command that pgbench would name, counted from 1. */
PL_PRINTF(4, 5)
static enum pl_code condition_fail(struct compiler *c, size_t step, size_t number, const char *fmt, ...)
{
    char what[100];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    size_t place = c->notes[step].place;
    return compile_fail(c, PL_INPUT, place, place, "condition error in script \"%s\" command %zu: %s", c->file, number,
                        what);
}

static size_t command_number(const struct compiler *c, size_t step)
{
    return (size_t)c->steps[step].number + 1;
}

static enum pl_code condition_else(struct compiler *c, struct open_condition *open, size_t step)
{
    bool is_elif = c->notes[step].condition == CONDITION_ELIF;
    const char *name = is_elif ? "elif" : "else";
    if (open->has_else)
        return condition_fail(c, step, command_number(c, step), "\\%s after \\else", name);
    if (is_elif) { /* the jump before it ends the branch above */
        c->steps[step - 1].target = (uint32_t)open->jumps;
        open->jumps = (int)step - 1;
        c->steps[open->last_test].target = (uint32_t)step;
        open->last_test = (int)step;
    } else {
        c->steps[step].target = (uint32_t)open->jumps;
        open->jumps = (int)step;
        c->steps[open->last_test].target = (uint32_t)step + 1;
        open->last_test = NONE;
        open->has_else = true;
    }
    return PL_OK;
}

static void condition_end(struct compiler *c, const struct open_condition *open, size_t step)
{
    if (open->last_test != NONE)
        c->steps[open->last_test].target = (uint32_t)step;
    for (int jump = open->jumps; jump != NONE;) {
        int next = (int)c->steps[jump].target;
        c->steps[jump].target = (uint32_t)step;
        jump = next;
    }
}

static enum pl_code join_conditions(struct compiler *c)
{
    static const char *const names[] = {"", "if", "elif", "else", "endif"};
    struct open_condition *open = pl_alloc(c->arena, c->step_count + 1, sizeof *open);
    size_t depth = 0;
    for (size_t i = 0; i < c->step_count; i++) {
        enum condition condition = c->notes[i].condition;
        if (condition == NO_CONDITION)
            continue;
        if (condition == CONDITION_IF) {
            open[depth++] = (struct open_condition){.step = i, .last_test = (int)i, .jumps = NONE};
            continue;
        }
        if (depth == 0)
            return condition_fail(c, i, command_number(c, i), "\\%s without matching \\if", names[condition]);
        if (condition == CONDITION_ENDIF)
            condition_end(c, &open[--depth], i);
        else if (condition_else(c, &open[depth - 1], i) != PL_OK)
            return c->err->code;
    }
    if (depth == 0)
        return PL_OK;
    return condition_fail(c, open[depth - 1].step, c->command_count + 1, "\\if without matching \\endif");
}

/* ---- the whole ---- */

/* Blanks and "--" comments between commands. A block comment belongs to the command that follows: it may be a hint. */
static void skip_between(struct compiler *c)
{
    for (;;) {
        while (c->pos < c->length && (is_blank(c->text[c->pos]) || c->text[c->pos] == ';'))
            c->pos++;
        if (c->pos + 1 >= c->length || c->text[c->pos] != '-' || c->text[c->pos + 1] != '-')
            return;
        while (c->pos < c->length && c->text[c->pos] != '\n')
            c->pos++;
    }
}

static enum pl_code compile_all(struct compiler *c)
{
    for (;;) {
        skip_between(c);
        if (c->pos >= c->length)
            return join_conditions(c);
        bool is_meta = c->text[c->pos] == '\\' && !(c->pos + 1 < c->length && strchr(";:", c->text[c->pos + 1]) != NULL);
        enum pl_code code = is_meta ? compile_meta(c) : compile_sql(c);
        if (code != PL_OK)
            return code;
    }
}

/* A name inside quotes that nothing sets is no variable: "12:ab". */
static void settle_quotes(struct compiler *c)
{
    for (size_t i = 0; i < c->quoted_count; i++)
        if (names_is_set(c->names, c->quoted[i].variable))
            c->steps[c->quoted[i].step].quotes_variables = true;
}

static enum pl_code check_whole(struct compiler *c)
{
    if (c->strict && c->io_count == 0) {
        pl_err_at(c->err, PL_INPUT, c->file, 0, 0, "the script has no SQL command");
        pl_err_hint(c->err, "A script needs at least one command that the server carries out.");
        return c->err->code;
    }
    if (c->step_count == 0)
        return pl_err_at(c->err, PL_INPUT, c->file, 0, 0, "empty command list for script \"%s\"", c->file);
    return PL_OK;
}

enum pl_code program_compile(const char *name, const char *text, size_t length, enum program_strictness strictness,
                             struct names *names, struct pl_arena *arena, struct program **ret_program, struct pl_err *err)
{
    if (length > PL_MAX_SCRIPT_BYTES)
        return pl_err_at(err, PL_LIMIT, name, 0, 0, "larger than %d bytes", PL_MAX_SCRIPT_BYTES);
    const char *nul = length > 0 ? memchr(text, '\0', length) : NULL;
    if (nul != NULL)
        return pl_err_at(err, PL_INPUT, name, 0, 0, "byte %zu is NUL: this is not a text file", (size_t)(nul - text));
    struct compiler c = {.file = name,
                         .text = pl_strndup(arena, text, length),
                         .length = length,
                         .strict = strictness == PROGRAM_STRICT,
                         .arena = arena,
                         .err = err,
                         .names = names,
                         .out = pl_alloc(arena, 2 * length + 2, 1)};
    enum pl_code code = compile_all(&c);
    if (code == PL_OK)
        code = check_whole(&c);
    if (code != PL_OK)
        return code;
    settle_quotes(&c);
    struct program *program = pl_alloc(arena, 1, sizeof *program);
    *program = (struct program){.name = pl_strdup(arena, name),
                                .steps = c.steps,
                                .step_count = c.step_count,
                                .io_step_count = c.io_count,
                                .command_count = c.command_count,
                                .names = names};
    *ret_program = program;
    return PL_OK;
}

int program_variable(const struct program *program, const char *name)
{
    return names_find(program->names, name, strlen(name));
}
