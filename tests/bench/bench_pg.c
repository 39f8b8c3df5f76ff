/* One load against a running PostgreSQL with the data set of pgbench, one worker. Prints one JSON object: throughput, CPU
 * of this process by transaction, latencies, and the books.
 *
 *     bench_pg CONNINFO SCRIPT PROTOCOL CLIENTS SECONDS SCALE [RATE]
 *
 * SCRIPT is a builtin's name, PROTOCOL simple, extended or prepared; with RATE (per second) the loop is open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "load/load.h"

struct sums {
    struct hist response, lateness;
    int64_t faults;
};

static enum pl_code slice_sum(void *ctx, const struct slice *slice, struct pl_err *err)
{
    (void)err;
    struct sums *sums = ctx;
    if (slice->step < 0 && slice->due_in == PHASE_MEASURE) {
        hist_merge(&sums->response, slice->response);
        hist_merge(&sums->lateness, slice->lateness);
    }
    return PL_OK;
}

static enum pl_code fault_sum(void *ctx, const struct fault *fault, struct pl_err *err)
{
    (void)err;
    struct sums *sums = ctx;
    sums->faults += fault->count;
    fprintf(stderr, "%lld x %s: %s\n", (long long)fault->count, fault->code, fault->example);
    return PL_OK;
}

static void cpu_read(double *ret_user_s, double *ret_system_s)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *ret_user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    *ret_system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

/* Anonymous memory of this process, KiB; -1 when it cannot be read. */
static int64_t memory_kib(void)
{
    char text[4096];
    if (pl_file_read_small("/proc/self/status", text, sizeof text) < 0)
        return -1;
    const char *line = strstr(text, "RssAnon:");
    int64_t kib = -1;
    if (line != NULL) {
        line += strcspn(line, "0123456789");
        if (pl_num_i64(line, strspn(line, "0123456789"), &kib) != PL_NUM_OK)
            kib = -1;
    }
    return kib;
}

static int fail(const struct pl_err *err)
{
    char text[1200];
    fprintf(stderr, "%s\n", pl_err_text(err, text, sizeof text));
    return 3;
}

static bool arguments_read(int argc, char **argv, struct load_spec *spec, int64_t *ret_scale)
{
    static const char *const protocols[] = {"simple", "extended", "prepared"};
    int64_t clients, seconds;
    if (argc < 7 || argc > 8)
        return false;
    int protocol = 0;
    while (protocol < 3 && strcmp(argv[3], protocols[protocol]) != 0)
        protocol++;
    if (protocol == 3 || pl_num_i64(argv[4], strlen(argv[4]), &clients) != PL_NUM_OK || clients < 1 || clients > 10000 ||
        pl_num_i64(argv[5], strlen(argv[5]), &seconds) != PL_NUM_OK || seconds < 1 || seconds > 86400 ||
        pl_num_i64(argv[6], strlen(argv[6]), ret_scale) != PL_NUM_OK || *ret_scale < 1)
        return false;
    spec->open_loop = argc == 8;
    if (spec->open_loop && pl_num_f64(argv[7], strlen(argv[7]), &spec->rate_per_s) != PL_NUM_OK)
        return false;
    spec->protocol = (enum plan_protocol)protocol;
    spec->clients = (int)clients;
    spec->measure_ns = seconds * PL_NS_PER_S;
    return builtin_script(argv[2]) != NULL;
}

static enum pl_code run(const struct load_spec *spec, struct sink *sink, struct load_result *result, double cpu[4],
                        int64_t *ret_memory_kib, struct pl_err *err)
{
    struct load *load = NULL;
    if (load_new(spec, &load, err) == PL_OK && load_connect(load, NULL, err) == PL_OK) {
        struct load_glance glance = {0};
        cpu_read(&cpu[0], &cpu[1]);
        load_start(load, pl_clock_ns());
        while (load_poll(load, 1, sink, &glance, err) == PL_OK && !glance.ended)
            pl_clock_sleep_until(pl_clock_ns() + 100 * PL_NS_PER_MS);
        cpu_read(&cpu[2], &cpu[3]);
        *ret_memory_kib = memory_kib();
        enum pl_code code = err->code == PL_OK ? load_finish(load, 1, sink, result, err) : err->code;
        load_free(load);
        return code;
    }
    load_free(load);
    return err->code;
}

static void report(const struct load_result *result, const struct sums *sums, const double cpu[4], int64_t memory)
{
    double count = (double)result->total.completed, end_user_s, end_system_s;
    cpu_read(&end_user_s, &end_system_s);
    printf("{\"tps\": %.1f, \"completed\": %lld, \"due\": %lld, \"failed\": %lld, \"unfinished\": %lld, \"faults\": %lld, ",
           (double)result->completed_in_window * 1e9 / (double)result->window_ns, (long long)result->total.completed,
           (long long)result->total.due, (long long)result->total.failed, (long long)result->total.unfinished,
           (long long)sums->faults);
    printf("\"user_us\": %.3f, \"system_us\": %.3f, \"whole_user_s\": %.3f, \"whole_system_s\": %.3f, ",
           (cpu[2] - cpu[0]) * 1e6 / count, (cpu[3] - cpu[1]) * 1e6 / count, end_user_s, end_system_s);
    printf("\"memory_kib\": %lld, \"response_p50_us\": %.1f, \"response_p99_us\": %.1f, \"lateness_p50_us\": %.1f, "
           "\"lateness_p99_us\": %.1f, \"lateness_max_us\": %.1f}\n",
           (long long)memory, (double)hist_quantile(&sums->response, 0.5) / 1e3,
           (double)hist_quantile(&sums->response, 0.99) / 1e3, (double)hist_quantile(&sums->lateness, 0.5) / 1e3,
           (double)hist_quantile(&sums->lateness, 0.99) / 1e3, (double)sums->lateness.max / 1e3);
}

int main(int argc, char **argv)
{
    struct load_spec spec = {.driver = LOAD_PG, .workers = 1, .drain_ns = 10 * PL_NS_PER_S, .seed = 1};
    int64_t scale, memory = -1;
    if (!arguments_read(argc, argv, &spec, &scale)) {
        fprintf(stderr, "usage: bench_pg CONNINFO SCRIPT simple|extended|prepared CLIENTS SECONDS SCALE [RATE]\n");
        return 2;
    }
    struct pl_err err = {0};
    struct pl_arena *arena = pl_arena_new();
    struct program *program;
    const char *text = builtin_script(argv[2]);
    struct names *names = names_new(arena);
    names_predefine(names, "scale");
    if (program_compile(argv[2], text, strlen(text), PROGRAM_STRICT, names, arena, &program, &err) != PL_OK)
        return fail(&err);
    struct load_script script = {.program = program, .weight = 1};
    struct load_variable variable = {.name = "scale", .value = {.type = VALUE_INT, .i = scale}};
    spec.conninfo = argv[1];
    spec.scripts = &script;
    spec.variables = &variable;
    spec.script_count = spec.variable_count = 1;
    struct sums sums = {0};
    hist_init_latency(&sums.response);
    hist_init_latency(&sums.lateness);
    struct sink sink = {.ctx = &sums, .slice = slice_sum, .fault = fault_sum};
    struct load_result result;
    double cpu[4];
    if (run(&spec, &sink, &result, cpu, &memory, &err) != PL_OK)
        return fail(&err);
    report(&result, &sums, cpu, memory);
    hist_release(&sums.response);
    hist_release(&sums.lateness);
    pl_arena_free(arena);
    return 0;
}
