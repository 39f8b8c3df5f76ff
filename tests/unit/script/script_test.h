/* What the tests of this room share: a script, compiled, with one client's variables. */
#ifndef PL_TESTS_SCRIPT_TEST_H
#define PL_TESTS_SCRIPT_TEST_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "script/program.h"

#define UNUSED __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Of the test that runs; script_setup and script_teardown are its cmocka functions. */
static struct pl_arena *arena;
static struct names *names;
static struct value vars[64];
static struct pl_rng rng;

UNUSED static int script_setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    names = names_new(arena);
    memset(vars, 0, sizeof vars);
    vars[names_predefine(names, "scale")] = (struct value){.type = VALUE_INT, .i = 10};
    vars[names_predefine(names, "default_seed")] = (struct value){.type = VALUE_INT, .i = 42};
    pl_rng_init(&rng, 5, PL_RNG_SCRIPT, 0);
    return 0;
}

UNUSED static int script_teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

UNUSED static struct program *script_compile(enum program_strictness strictness, const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    if (program_compile("s.sql", text, strlen(text), strictness, names, arena, &program, &err) != PL_OK)
        fail_msg("%d:%d: %s in \"%s\"", err.line, err.col, err.what, text);
    assert_true(names_count(names) <= COUNT(vars));
    return program;
}

/* Sets a variable to text, as -D does. */
UNUSED static void script_define(const char *name, const char *text)
{
    vars[names_predefine(names, name)] = (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text};
}

/* The value of an expression, or what is wrong with it. */
UNUSED static const char *script_value(const char *expression, struct value *ret_value)
{
    struct program *program = script_compile(PROGRAM_AS_PGBENCH, pl_format(arena, "\\set result %s\n", expression));
    const char *wrong = program_eval(program, &program->steps[0], vars, &rng);
    *ret_value = vars[program->steps[0].variable];
    return wrong;
}

/* The same as debug() would show it. */
UNUSED static const char *script_shown(const char *expression)
{
    struct value value;
    const char *wrong = script_value(expression, &value);
    char *text = pl_alloc(arena, VALUE_DESCRIBE_BYTES, 1);
    value_describe(&value, text);
    return wrong != NULL ? pl_strdup(arena, wrong) : text;
}

/* Appends to a text that has room for it; returns the new length. */
__attribute__((unused, format(printf, 3, 4))) static size_t script_add(char *text, size_t length, const char *fmt, ...)
{
    enum { PART_BYTES = 256 };
    va_list args;
    va_start(args, fmt);
    int part = vsnprintf(text + length, PART_BYTES, fmt, args);
    va_end(args);
    assert_in_range(part, 0, PART_BYTES - 1);
    return length + (size_t)part;
}

/* What the simple protocol would send, with {name} for each variable. */
UNUSED static const char *script_sent(const struct step *step)
{
    const char *text = "";
    for (size_t i = 0; i < step->piece_count; i++) {
        assert_true((step->pieces[i].variable < 0) == (i + 1 == step->piece_count));
        text = pl_format(arena, "%s%.*s", text, (int)step->pieces[i].length, step->pieces[i].text);
        if (step->pieces[i].variable >= 0)
            text = pl_format(arena, "%s{%s}", text, names_at(names, step->pieces[i].variable));
    }
    return text;
}

#endif
