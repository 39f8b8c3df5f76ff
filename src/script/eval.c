/* Runs the code of expressions; what else a step computes when it is carried out. */
#include "script/expr_int.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

/* ---- what is wrong ---- */

enum { WRONG_BYTES = 512 };
static _Thread_local char wrong_text[WRONG_BYTES];

const char *expr_wrong(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(wrong_text, sizeof wrong_text, fmt, args);
    va_end(args);
    return wrong_text;
}

/* ---- types ---- */

static const char *cannot_coerce(const struct value *value, const char *to)
{
    static const char *const names[] = {[VALUE_UNSET] = "none", [VALUE_NULL] = "null",     [VALUE_BOOL] = "boolean",
                                        [VALUE_INT] = "int",    [VALUE_DOUBLE] = "double", [VALUE_TEXT] = "text"};
    return expr_wrong("cannot coerce %s to %s", names[value->type], to);
}

const char *expr_as_bool(const struct value *value, bool *ret_bool)
{
    if (value->type != VALUE_BOOL)
        return cannot_coerce(value, "boolean");
    *ret_bool = value->b;
    return NULL;
}

static const char *round_to_int(double d, int64_t *ret_int)
{
    double rounded = rint(d);
    if (rounded >= -0x1p63 && rounded < 0x1p63) {
        *ret_int = (int64_t)rounded;
        return NULL;
    }
    char text[EXPR_FIXED_BYTES];
    return expr_wrong("double to int overflow for %s", expr_fixed(d, text));
}

const char *expr_fixed(double d, char *buf)
{
    if (isfinite(d))
        snprintf(buf, EXPR_FIXED_BYTES, "%f", d);
    else
        value_text(&(struct value){.type = VALUE_DOUBLE, .d = d}, buf);
    return buf;
}

const char *expr_as_int(const struct value *value, int64_t *ret_int)
{
    if (value->type == VALUE_INT) {
        *ret_int = value->i;
        return NULL;
    }
    return value->type == VALUE_DOUBLE ? round_to_int(value->d, ret_int) : cannot_coerce(value, "int");
}

const char *expr_as_double(const struct value *value, double *ret_double)
{
    if (value->type == VALUE_DOUBLE)
        *ret_double = value->d;
    else if (value->type == VALUE_INT)
        *ret_double = (double)value->i;
    else
        return cannot_coerce(value, "double");
    return NULL;
}

bool expr_is_true(const struct value *value)
{
    switch (value->type) {
    case VALUE_BOOL:
        return value->b;
    case VALUE_INT:
        return value->i != 0;
    case VALUE_DOUBLE:
        return value->d != 0;
    case VALUE_UNSET:
    case VALUE_NULL:
    case VALUE_TEXT:
        break;
    }
    return false;
}

/* ---- the machine ---- */

static const char *load_variable(const struct evaluation *at, int variable, struct value *ret_value)
{
    const struct value *value = &at->vars[variable];
    if (value->type == VALUE_UNSET)
        return expr_wrong("undefined variable \"%s\"", names_at(at->program->names, variable));
    if (value->type == VALUE_TEXT)
        return value_read(names_at(at->program->names, variable), value, ret_value);
    *ret_value = *value;
    return NULL;
}

static const char *call(const struct evaluation *at, const struct op *op, struct value *args)
{
    if (!op->function->takes_null) {
        for (int i = 0; i < op->count; i++) {
            if (args[i].type == VALUE_NULL) {
                args[0] = (struct value){.type = VALUE_NULL};
                return NULL;
            }
        }
    }
    struct value result;
    const char *wrong = op->function->run(at, args, op->count, &result);
    if (wrong == NULL)
        args[0] = result;
    return wrong;
}

/* NULL on the left decides, too: the right side is not looked at. */
static const char *decide(const struct value *left, bool decisive, bool *ret_decided)
{
    bool b = decisive;
    const char *wrong = left->type == VALUE_NULL ? NULL : expr_as_bool(left, &b);
    *ret_decided = b == decisive;
    return wrong;
}

const char *expr_eval(const struct expr *expr, const struct evaluation *at, struct value *ret_value)
{
    struct value stack[EXPR_STACK];
    size_t top = 0; /* values on the stack */
    const char *wrong = NULL;
    for (size_t i = 0; i < expr->count && wrong == NULL; i++) {
        const struct op *op = &expr->ops[i];
        bool flag;
        switch (op->kind) {
        case OP_CONSTANT:
            stack[top++] = op->constant;
            break;
        case OP_VARIABLE:
            wrong = load_variable(at, op->variable, &stack[top++]);
            break;
        case OP_CALL:
            top -= (size_t)op->count;
            wrong = call(at, op, &stack[top++]);
            break;
        case OP_AND:
        case OP_OR:
            wrong = decide(&stack[top - 1], op->kind == OP_OR, &flag);
            if (flag)
                i = op->target - 1;
            else
                top--;
            break;
        case OP_LOGICAL:
            wrong = stack[top - 1].type == VALUE_NULL ? NULL : expr_as_bool(&stack[top - 1], &flag);
            break;
        case OP_UNLESS:
            if (!expr_is_true(&stack[--top]))
                i = op->target - 1;
            break;
        case OP_JUMP:
            i = op->target - 1;
            break;
        }
    }
    if (wrong != NULL)
        return wrong;
    assert(top == 1);
    *ret_value = stack[0];
    return NULL;
}

/* ---- steps ---- */

const char *program_eval(const struct program *program, const struct step *step, struct value *vars, struct pl_rng *rng)
{
    const struct evaluation at = {program, step, vars, rng};
    struct value result;
    const char *wrong = expr_eval(step->expr, &at, &result);
    if (wrong == NULL)
        vars[step->variable] = result;
    return wrong;
}

const char *program_branch(const struct program *program, const struct step *step, const struct value *vars,
                           struct pl_rng *rng, bool *ret_taken)
{
    const struct evaluation at = {program, step, vars, rng};
    struct value result;
    const char *wrong = expr_eval(step->expr, &at, &result);
    if (wrong == NULL)
        *ret_taken = expr_is_true(&result);
    return wrong;
}

const char *program_sleep_ns(const struct program *program, const struct step *step, const struct value *vars,
                             int64_t *ret_ns)
{
    const struct step_word *word = step->words;
    double amount = step->sleep_literal;
    if (word->variable >= 0) {
        const struct value *value = &vars[word->variable];
        const char *name = names_at(program->names, word->variable);
        struct value number = *value;
        char text[VALUE_TEXT_BYTES];
        if (value->type == VALUE_UNSET)
            return expr_wrong("sleep: undefined variable \"%s\"", name);
        if ((value->type == VALUE_TEXT && value_read(name, value, &number) != NULL) ||
            (number.type != VALUE_INT && number.type != VALUE_DOUBLE)) {
            if (value->type != VALUE_TEXT)
                value_text(value, text);
            return expr_wrong("sleep: invalid sleep time \"%s\" for variable \"%s\"",
                              value->type == VALUE_TEXT ? value->text : text, name);
        }
        if (number.type == VALUE_INT && !__builtin_mul_overflow(number.i, step->unit_ns, ret_ns)) {
            *ret_ns = *ret_ns > 0 ? *ret_ns : 0;
            return NULL;
        }
        amount = number.type == VALUE_INT ? (double)number.i : number.d;
    }
    double ns = rint(amount * (double)step->unit_ns);
    if (!(ns < 0x1p63))
        return expr_wrong("sleep: sleep time out of range");
    *ret_ns = ns > 0 ? (int64_t)ns : 0;
    return NULL;
}

const char *program_shell_text(const struct program *program, const struct step *step, const struct value *vars, char *buf,
                               size_t size)
{
    (void)program;
    size_t length = 0;
    for (size_t i = 0; i < step->word_count; i++) {
        const struct step_word *word = &step->words[i];
        const struct value *value = word->variable >= 0 ? &vars[word->variable] : NULL;
        if (value != NULL && value->type == VALUE_UNSET)
            return expr_wrong("%s: undefined variable \"%s\"", step->words[0].text, word->text);
        char number[VALUE_TEXT_BYTES];
        const char *text = value == NULL ? word->text : value->type == VALUE_TEXT ? value->text : number;
        if (text == number)
            value_text(value, number);
        size_t blank = i > 0, need = blank + strlen(text) + 1;
        if (need > size - length)
            return expr_wrong("%s: shell command is too long", step->words[0].text);
        if (blank)
            buf[length++] = ' ';
        memcpy(buf + length, text, need - blank);
        length += need - blank - 1;
    }
    return NULL;
}
