/* Variables given from outside a script, and what is put in front of one. */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "script/program.h"

#include "base/ban.h"

/* Is it written as a call, a name and an opening parenthesis? Then it is to be one of the language's. */
static bool is_expression(const char *text)
{
    const char *at = text + strspn(text, " \t");
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    at += length;
    return length > 0 && at[strspn(at, " \t")] == '(' && !isdigit((unsigned char)at[-(ptrdiff_t)length]);
}

static struct value constant_of(const char *text, struct pl_arena *arena)
{
    struct value value = {.type = VALUE_INT};
    size_t length = strlen(text);
    if (pl_num_i64(text, length, &value.i) == PL_NUM_OK)
        return value;
    if (pl_num_f64(text, length, &value.d) == PL_NUM_OK)
        value.type = VALUE_DOUBLE;
    else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        value = (struct value){.type = VALUE_BOOL, .b = text[0] == 't'};
    else if (strcmp(text, "null") == 0)
        value = (struct value){.type = VALUE_NULL};
    else
        value = (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = pl_strndup(arena, text, length)};
    return value;
}

static enum pl_code given_fail(const struct program_given *given, const char *what, const char *hint, struct pl_err *err)
{
    if (given->line > 0)
        pl_err_at(err, PL_INPUT, given->source, given->line, given->col, "variable \"%s\": %s", given->name, what);
    else
        pl_err_set(err, PL_INPUT, "%s: variable \"%s\": %s", given->source, given->name, what);
    pl_err_hint(err, "%s", hint);
    return err->code;
}

/* The expression as the one command of a script of its own: one compiler for both. */
static enum pl_code expression_compile(const struct program_given *given, struct names *names, struct pl_arena *arena,
                                       struct step *ret_step, struct pl_err *err)
{
    struct pl_err own = {0};
    struct program *program = NULL;
    char *script = pl_format(arena, "\\set %s %s", given->name, given->text);
    if (strpbrk(given->text, "\n\\") != NULL)
        return given_fail(given, "an expression is one line without a backslash",
                          "Write it as on a \\set line of a pgbench script: random(1, 100 * :scale)", err);
    names_add(names, given->name, strlen(given->name));
    size_t known = names_count(names);
    if (program_compile(given->name, script, strlen(script), PROGRAM_AS_PGBENCH, names, arena, &program, &own) != PL_OK)
        return given_fail(given, own.what, own.hint, err);
    if (names_count(names) > known)
        return given_fail(given, pl_format(arena, "nothing sets \":%s\"", names_at(names, (int)known)),
                          "An expression may use the variables that are given before it.", err);
    *ret_step = program->steps[0];
    ret_step->io_index = ret_step->number = -1;
    return PL_OK;
}

enum pl_code program_give(const struct program_given *given, size_t count, struct names *names, struct pl_arena *arena,
                          struct program_givens *ret_givens, struct pl_err *err)
{
    struct program_constant *constants = pl_alloc(arena, count + 1, sizeof *constants);
    struct step *steps = pl_alloc(arena, count + 1, sizeof *steps);
    struct program_givens givens = {.constants = constants, .steps = steps};
    for (size_t i = 0; i < count; i++) {
        const struct program_given *one = &given[i];
        if (!names_is_valid(one->name, strlen(one->name)))
            return given_fail(one, "not a name", "A name has letters, digits and _, and does not begin with a digit.", err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(given[k].name, one->name) == 0)
                return given_fail(one, "given twice", "Leave one of them out.", err);
        if (is_expression(one->text)) {
            if (expression_compile(one, names, arena, &steps[givens.step_count], err) != PL_OK)
                return err->code;
            givens.step_count++;
        } else {
            names_predefine(names, one->name);
            constants[givens.constant_count++] =
                (struct program_constant){.name = pl_strdup(arena, one->name), .value = constant_of(one->text, arena)};
        }
        names_predefine(names, one->name);
    }
    *ret_givens = givens;
    return PL_OK;
}

const struct program *program_prepend(const struct program *program, const struct step *steps, size_t count,
                                      struct pl_arena *arena)
{
    if (count == 0)
        return program;
    struct program *whole = pl_alloc(arena, 1, sizeof *whole);
    struct step *all = pl_alloc(arena, count + program->step_count, sizeof *all);
    memcpy(all, steps, count * sizeof *all);
    for (size_t i = 0; i < program->step_count; i++) {
        all[count + i] = program->steps[i];
        all[count + i].target += (uint32_t)count;
    }
    *whole = *program;
    whole->steps = all;
    whole->step_count = count + program->step_count;
    return whole;
}
