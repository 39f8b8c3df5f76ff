/* The tool's own ceiling: operations per second and core with a driver that answers at once, and what writing one operation
 * down costs. Prints one JSON object.
 *
 *     bench_null [SECONDS] [CLIENTS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/num.h"
#include "load/load.h"
#include "load/recorder_int.h"

static const char script_text[] = "\\set aid random(1, 100000)\nSELECT :aid;\n";

static enum pl_code slice_drop(void *ctx, const struct slice *slice, struct pl_err *err)
{
    (void)ctx, (void)slice, (void)err;
    return PL_OK;
}

static enum pl_code fault_drop(void *ctx, const struct fault *fault, struct pl_err *err)
{
    (void)ctx, (void)fault, (void)err;
    return PL_OK;
}

static int fail(const struct pl_err *err)
{
    char text[1200];
    fprintf(stderr, "%s\n", pl_err_text(err, text, sizeof text));
    return 3;
}

static struct load_result run(const struct program *program, int clients, int64_t measure_ns, struct pl_err *err)
{
    struct load_script script = {.program = program, .weight = 1};
    struct load_spec spec = {.driver = LOAD_NULL,
                             .scripts = &script,
                             .script_count = 1,
                             .clients = clients,
                             .workers = 1,
                             .warm_up_ns = PL_NS_PER_S / 2,
                             .measure_ns = measure_ns,
                             .drain_ns = PL_NS_PER_S,
                             .seed = 1};
    struct sink sink = {.slice = slice_drop, .fault = fault_drop};
    struct load_result result = {0};
    struct load_glance glance = {0};
    struct load *load = NULL;
    if (load_new(&spec, &load, err) == PL_OK && load_connect(load, NULL, err) == PL_OK) {
        load_start(load, pl_clock_ns());
        while (load_poll(load, 1, &sink, &glance, err) == PL_OK && !glance.ended)
            pl_clock_sleep_until(pl_clock_ns() + 50 * PL_NS_PER_MS);
        if (err->code == PL_OK && load_finish(load, 1, &sink, &result, err) != PL_OK)
            result.window_ns = 0;
    }
    load_free(load);
    return result;
}

/* One whole operation and its one step, with latencies as they spread in life. */
static double recorder_cost_ns(const struct program *program)
{
    enum { OPERATIONS = 5000000, LATENCIES = 4096 };
    struct load_lane lane = {.program = program};
    struct load_shape shape = {.lanes = &lane, .lane_count = 1, .cell_count = 2};
    static struct recorder recorder;
    static int64_t latencies[LATENCIES];
    atomic_int hurry = 0;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int i = 0; i < LATENCIES; i++)
        latencies[i] = (int64_t)pl_rng_exponential(&rng, 400000);
    recorder_init(&recorder, &shape, false, &hurry);
    recorder_start(&recorder, 0, PHASE_MEASURE);
    int64_t start_ns = pl_clock_thread_cpu_ns();
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t service_ns = latencies[i % LATENCIES], lateness_ns = latencies[(i + 7) % LATENCIES] / 64;
        recorder_step(&recorder, PHASE_MEASURE, 0, 0, service_ns);
        recorder_complete(&recorder, PHASE_MEASURE, 0, 0, lateness_ns, lateness_ns + service_ns);
    }
    double cost_ns = (double)(pl_clock_thread_cpu_ns() - start_ns) / OPERATIONS;
    recorder_release(&recorder);
    return cost_ns;
}

int main(int argc, char **argv)
{
    int64_t seconds = 3, clients = 64;
    if (argc > 3 || (argc > 1 && pl_num_i64(argv[1], strlen(argv[1]), &seconds) != PL_NUM_OK) ||
        (argc > 2 && pl_num_i64(argv[2], strlen(argv[2]), &clients) != PL_NUM_OK) || seconds < 1 || seconds > 3600 ||
        clients < 1 || clients > 100000) {
        fprintf(stderr, "usage: bench_null [SECONDS] [CLIENTS]\n");
        return 2;
    }
    struct pl_err err = {0};
    struct pl_arena *arena = pl_arena_new();
    struct program *program;
    if (program_compile("bench", script_text, sizeof script_text - 1, PROGRAM_STRICT, names_new(arena), arena, &program,
                        &err) != PL_OK)
        return fail(&err);
    struct load_result result = run(program, (int)clients, seconds * PL_NS_PER_S, &err);
    if (err.code != PL_OK)
        return fail(&err);
    printf("{\"clients\": %d, \"operations\": %lld, \"per_s\": %.0f, \"cpu_ns_per_operation\": %.1f, "
           "\"per_core_s\": %.0f, \"record_ns\": %.1f}\n",
           (int)clients, (long long)result.completed_in_window,
           (double)result.completed_in_window * 1e9 / (double)result.window_ns,
           (double)result.window_cpu_ns / (double)result.completed_in_window,
           (double)result.completed_in_window * 1e9 / (double)result.window_cpu_ns, recorder_cost_ns(program));
    pl_arena_free(arena);
    return 0;
}
