/* What the script language costs: CPU per random draw over 1,000,000 keys, per evaluation of an expression, and to compile
 * a script of 50,000 lines; each the best of five rounds, in nanoseconds (compile_ms: milliseconds). One JSON object.
 *
 *     bench_draw [DRAWS]        default 1,000,000 a round */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/rng.h"
#include "script/draw_int.h"
#include "script/program.h"

enum { ROUNDS = 5, KEYS = 1000000, LINES = 50000, LINE_BYTES = 64 };

static volatile int64_t kept; /* so that no draw is left out */

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int64_t draw_uniform3(struct pl_rng *rng, int64_t low, int64_t high, double shape)
{
    (void)shape;
    return draw_uniform(rng, low, high);
}

static double time_draws(int64_t (*draw)(struct pl_rng *, int64_t, int64_t, double), double shape, int64_t draws)
{
    double best = 1e300;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int round = 0; round < ROUNDS; round++) {
        double start = cpu_ns();
        int64_t sum = 0;
        for (int64_t i = 0; i < draws; i++)
            sum += draw(&rng, 1, KEYS, shape);
        kept = sum;
        double took = (cpu_ns() - start) / (double)draws;
        best = took < best ? took : best;
    }
    return best;
}

static struct program *compile(struct pl_arena *arena, const char *text, size_t length)
{
    struct names *names = names_new(arena);
    struct program *program = NULL;
    struct pl_err err = {0};
    names_predefine(names, "scale");
    names_predefine(names, "default_seed");
    if (program_compile("bench", text, length, PROGRAM_AS_PGBENCH, names, arena, &program, &err) != PL_OK)
        pl_panic("%s", err.what);
    return program;
}

static double time_expression(const char *text, int64_t runs)
{
    struct pl_arena *arena = pl_arena_new();
    struct program *program = compile(arena, text, strlen(text));
    struct value vars[8] = {{.type = VALUE_INT, .i = 10}, {.type = VALUE_INT, .i = 42}};
    double best = 1e300;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int round = 0; round < ROUNDS; round++) {
        double start = cpu_ns();
        for (int64_t i = 0; i < runs; i++)
            if (program_eval(program, &program->steps[0], vars, &rng) != NULL)
                pl_panic("%s cannot be evaluated", text);
        double took = (cpu_ns() - start) / (double)runs;
        best = took < best ? took : best;
    }
    pl_arena_free(arena);
    return best;
}

static double time_compile_ms(void)
{
    double best = 1e300;
    struct pl_arena *text_arena = pl_arena_new();
    char *text = pl_alloc(text_arena, LINES, LINE_BYTES);
    size_t length = 0;
    for (int i = 0; i < LINES; i++) {
        char *line = text + length;
        int v = i / 2 % 2000;
        length += (size_t)(i % 2 ? snprintf(line, LINE_BYTES, "SELECT abalance FROM t WHERE aid = :v%d;\n", v)
                                 : snprintf(line, LINE_BYTES, "\\set v%d random(1, 100000 * :scale)\n", v));
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct pl_arena *arena = pl_arena_new();
        double start = cpu_ns();
        compile(arena, text, length);
        double took = (cpu_ns() - start) / 1e6;
        best = took < best ? took : best;
        pl_arena_free(arena);
    }
    pl_arena_free(text_arena);
    return best;
}

int main(int argc, char **argv)
{
    static const char *const zipf_names[] = {"0", "0.5", "0.99", "1", "1.001", "1.07", "1.5", "3"};
    int64_t draws = 1000000;
    if (argc > 2 || (argc == 2 && (pl_num_i64(argv[1], strlen(argv[1]), &draws) != PL_NUM_OK || draws < 1))) {
        fprintf(stderr, "usage: bench_draw [DRAWS]\n");
        return 2;
    }
    printf("{\"uniform_ns\": %.1f", time_draws(draw_uniform3, 0, draws));
    for (size_t i = 0; i < sizeof zipf_names / sizeof zipf_names[0]; i++) {
        double shape = 0;
        if (pl_num_f64(zipf_names[i], strlen(zipf_names[i]), &shape) == PL_NUM_OK)
            printf(", \"zipf_%s_ns\": %.1f", zipf_names[i], time_draws(draw_zipfian, shape, draws));
    }
    printf(", \"exponential_ns\": %.1f", time_draws(draw_exponential, 5, draws));
    printf(", \"gaussian_ns\": %.1f", time_draws(draw_gaussian, 2.5, draws));
    printf(", \"aid_ns\": %.1f", time_expression("\\set aid random(1, 100000 * :scale)", draws));
    printf(", \"permute_ns\": %.1f", time_expression("\\set k 1 + permute(:scale, 1000000)", draws));
    printf(", \"compile_ms\": %.1f}\n", time_compile_ms());
    return 0;
}
