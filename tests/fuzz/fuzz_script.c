/* Any bytes are either refused with a place or become a program that can be run: every step is carried out (no more than a
 * bounded number of them), whatever the variables hold. The first byte chooses: its bit 0x40 that the
 * rules are strict, its lowest three what the variables hold. */
#include <assert.h>
#include <string.h>

#include "script/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MOST = 2000, TEXT_MOST = 1 << 16 };

static void fill(struct value *vars, size_t count, unsigned what)
{
    static const char *const texts[] = {"1", "null", "on", "-9223372036854775809", "1e5", "", "it's", " 7", "nan"};
    for (size_t i = 0; i < count; i++) {
        const char *text = texts[i % (sizeof texts / sizeof texts[0])];
        struct value values[] = {{.type = VALUE_INT, .i = (int64_t)i - 3},
                                 {.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text},
                                 {.type = VALUE_UNSET},
                                 {.type = VALUE_DOUBLE, .d = (double)i * 1e17},
                                 {.type = VALUE_NULL},
                                 {.type = VALUE_BOOL, .b = i % 2}};
        vars[i] = values[what < 6 ? what : (i + what) % 6];
    }
}

static void check_sql(const struct step *step, const struct names *names)
{
    assert(step->piece_count >= 1 && step->message_count >= 1);
    for (size_t p = 0; p < step->piece_count; p++) {
        assert((step->pieces[p].variable < 0) == (p + 1 == step->piece_count));
        assert(step->pieces[p].variable < (int)names_count(names));
        assert(memchr(step->pieces[p].text, '\0', step->pieces[p].length) == NULL);
    }
    assert(strlen(step->prepared_text) < TEXT_MOST * 4);
    for (size_t p = 0; p < step->parameter_count; p++)
        assert(step->parameters[p] >= 0 && step->parameters[p] < (int)names_count(names));
}

static void run(const struct program *program, struct value *vars)
{
    static char text[TEXT_MOST];
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_SCRIPT, 0);
    size_t at = 0;
    for (int count = 0; at < program->step_count && count < STEPS_MOST; count++) {
        const struct step *step = &program->steps[at++];
        bool taken = true;
        int64_t ns = 0;
        switch (step->kind) {
        case STEP_SET:
            if (program_eval(program, step, vars, &rng) == NULL) {
                assert(vars[step->variable].type != VALUE_UNSET && vars[step->variable].type != VALUE_TEXT);
                assert(value_text(&vars[step->variable], text) < VALUE_TEXT_BYTES);
                assert(value_describe(&vars[step->variable], text) < VALUE_DESCRIBE_BYTES);
            }
            break;
        case STEP_IF:
            if (program_branch(program, step, vars, &rng, &taken) == NULL && !taken)
                at = step->target;
            break;
        case STEP_JUMP:
            at = step->target;
            break;
        case STEP_SLEEP:
            if (program_sleep_ns(program, step, vars, &ns) == NULL)
                assert(ns >= 0);
            break;
        case STEP_SHELL:
        case STEP_SETSHELL:
            if (program_shell_text(program, step, vars, text, sizeof text) == NULL)
                assert(strlen(text) < sizeof text);
            break;
        case STEP_SQL:
            check_sql(step, program->names);
            break;
        default:
            break;
        }
        assert(at <= program->step_count);
    }
}

static void check_numbers(const struct program *program)
{
    int number = 0, io = 0;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        assert(step->number == (step->text != NULL ? number++ : -1));
        assert(step->io_index == (step->kind == STEP_SQL || step->kind == STEP_END_PIPELINE ? io++ : -1));
        assert(step->line >= 1 && step->target <= program->step_count);
    }
    assert((size_t)number == program->command_count && (size_t)io == program->io_step_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned what = data[0];
    bool strict = (what & 0x40) != 0;
    struct pl_arena *arena = pl_arena_new();
    struct program *program = NULL;
    struct names *names = names_new(arena);
    names_predefine(names, "scale");
    names_predefine(names, "default_seed");
    struct pl_err err = {0};
    if (program_compile("fuzz.sql", (const char *)data + 1, size - 1, strict ? PROGRAM_STRICT : PROGRAM_AS_PGBENCH, names,
                        arena, &program, &err) == PL_OK) {
        struct value *vars = pl_alloc(arena, names_count(names) + 1, sizeof *vars);
        check_numbers(program);
        fill(vars, names_count(names), what & 7);
        run(program, vars);
        assert(!strict || program->io_step_count > 0);
    } else {
        assert(err.code != PL_OK && err.what[0] != '\0');
    }
    pl_arena_free(arena);
    return 0;
}
