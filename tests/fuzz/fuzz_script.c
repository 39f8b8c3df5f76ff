/* Any bytes are either refused with a place or become a program that can be evaluated. */
#include <assert.h>

#include "script/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const predefined[] = {"scale", "client_id", NULL};
    struct pl_arena *arena = pl_arena_new();
    struct program *program = NULL;
    struct pl_err err = {0};
    if (program_compile("fuzz.sql", (const char *)data, size, predefined, arena, &program, &err) == PL_OK) {
        struct value *vars = pl_alloc(arena, program->variable_count + 1, sizeof *vars);
        for (size_t i = 0; i < program->variable_count; i++)
            vars[i] = (struct value){.type = VALUE_INT, .i = 10};
        struct pl_rng rng;
        pl_rng_init(&rng, 1, PL_RNG_SCRIPT, 0);
        for (size_t i = 0; i < program->step_count; i++) {
            char text[VALUE_TEXT_BYTES];
            if (program->steps[i].kind == STEP_SET && program_eval(&program->steps[i], vars, &rng) == NULL)
                assert(value_text(&vars[program->steps[i].variable], text) < sizeof text);
        }
        assert(program->io_step_count > 0);
    } else {
        assert(err.code != PL_OK && err.what[0] != '\0');
    }
    pl_arena_free(arena);
    return 0;
}
