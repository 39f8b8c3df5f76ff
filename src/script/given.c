/* Variables given from outside a script, and what is put in front of one. */
#include <string.h>

#include "base/num.h"
#include "script/expr_int.h"
#include "script/names_int.h"
#include "script/program.h"

#include "base/ban.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

/* A text is an expression when it begins as a call does, a name and right behind it a parenthesis, or when a function of
 * the language is called in it. "Ann (admin)" is neither. */
static bool is_expression(const char *text)
{
    for (const char *at = text + strspn(text, " \t"), *begin = at; *at != '\0';) {
        const char *start = at;
        while (is_word(*at))
            at++;
        if (at == start) {
            at++;
            continue;
        }
        const char *next = at + strspn(at, " \t");
        if (is_letter(*start) &&
            ((start == begin && *at == '(') || (*next == '(' && expr_function_find(start, (size_t)(at - start)) != NULL)))
            return true;
    }
    return false;
}

/* A number when it is written as numbers are: "007" and "+49" stay texts, which expressions read as numbers all the same.
 */
static bool is_canonical(const struct value *value, const char *text)
{
    char written[VALUE_TEXT_BYTES];
    value_text(value, written);
    return strcmp(written, text) == 0;
}

static struct value constant_of(const char *text, struct pl_arena *arena)
{
    struct value value = {.type = VALUE_INT};
    size_t length = strlen(text);
    if (pl_num_i64(text, length, &value.i) == PL_NUM_OK && is_canonical(&value, text))
        return value;
    value.type = VALUE_DOUBLE;
    if (pl_num_f64(text, length, &value.d) == PL_NUM_OK && is_canonical(&value, text))
        return value;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return (struct value){.type = VALUE_BOOL, .b = text[0] == 't'};
    if (strcmp(text, "null") == 0)
        return (struct value){.type = VALUE_NULL};
    return (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = pl_strndup(arena, text, length)};
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
    bool is_plain = names_is_valid(given->name, strlen(given->name));
    char *script = pl_format(arena, "\\set %s %s", is_plain ? given->name : "_given", given->text);
    if (strpbrk(given->text, "\n\\") != NULL)
        return given_fail(given, "an expression is one line without a backslash",
                          "Write it as on a \\set line of a pgbench script: random(1, 100 * :scale)", err);
    if (program_compile(given->name, script, strlen(script), PROGRAM_AS_PGBENCH, names, arena, &program, &own) != PL_OK)
        return given_fail(given, own.what, own.hint, err);
    *ret_step = program->steps[0];
    ret_step->io_index = ret_step->number = -1;
    return PL_OK;
}

bool program_is_given_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!names_is_char(name[i]) && name[i] != '-' && name[i] != '.')
            return false;
    return length > 0 && !(name[0] >= '0' && name[0] <= '9') && name[0] != '-' && name[0] != '.';
}

static enum pl_code give_expression(const struct program_given *given, struct names *names, struct pl_arena *arena,
                                    struct program_givens *givens, struct step *ret_step, struct pl_err *err)
{
    /* compiling marks the target as set: what the expression uses must be set before */
    size_t known = names_count(names);
    bool *was_set = pl_alloc(arena, known + 1, sizeof *was_set);
    for (size_t i = 0; i < known; i++)
        was_set[i] = names_is_set(names, (int)i);
    if (expression_compile(given, names, arena, ret_step, err) != PL_OK)
        return err->code;
    for (size_t i = 0; i < ret_step->expr->count; i++) {
        const struct op *op = &ret_step->expr->ops[i];
        if (op->kind == OP_VARIABLE && ((size_t)op->variable >= known || !was_set[op->variable]))
            return given_fail(given, pl_format(arena, "nothing sets \":%s\"", names_at(names, op->variable)),
                              "An expression may use the variables that are given before it.", err);
    }
    ret_step->variable = names_predefine(names, given->name);
    givens->step_count++;
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
        if (!program_is_given_name(one->name, strlen(one->name)))
            return given_fail(one, "not a name", "A name has letters, digits, _, - and ., and begins with a letter or _.",
                              err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(given[k].name, one->name) == 0)
                return given_fail(one, "given twice", "Leave one of them out.", err);
        if (is_expression(one->text)) {
            if (give_expression(one, names, arena, &givens, &steps[givens.step_count], err) != PL_OK)
                return err->code;
            continue;
        }
        names_predefine(names, one->name);
        constants[givens.constant_count++] =
            (struct program_constant){.name = pl_strdup(arena, one->name), .value = constant_of(one->text, arena)};
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
