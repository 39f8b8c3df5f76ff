/* Builds the data set of pgbench, as `pgbench -i` does, in a running PostgreSQL. Prints one JSON object: seconds of the
 * whole and of its steps, and the CPU of this process.
 *
 *     bench_init CONNINFO STEPS SCALE */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/num.h"
#include "service/dataset.h"
#include "wire/pgconn.h"

static void step_print(void *ctx, char step, int64_t duration_ns)
{
    (void)ctx;
    printf("\"%c_s\": %.3f, ", step, (double)duration_ns / 1e9);
}

static int fail(const struct pl_err *err)
{
    char text[2048];
    fprintf(stderr, "bench_init: %s\n", pl_err_text(err, text, sizeof text));
    return 1;
}

int main(int argc, char **argv)
{
    struct pl_err err = {0};
    struct dataset_spec spec = {.fillfactor = 100};
    struct dataset_watch watch = {.step_ended = step_print};
    PGconn *conn = NULL;
    if (argc != 4 || dataset_check_steps(argv[2]) != '\0' ||
        pl_num_i64(argv[3], strlen(argv[3]), &spec.scale) != PL_NUM_OK || spec.scale < 1 || spec.scale > INT32_MAX) {
        fprintf(stderr, "usage: bench_init CONNINFO STEPS SCALE\n");
        return 2;
    }
    spec.steps = argv[2];
    if (pgconn_open(argv[1], 10 * PL_NS_PER_S, &conn, &err) != PL_OK)
        return fail(&err);
    int64_t start_ns = pl_clock_ns();
    printf("{");
    if (dataset_build(conn, &spec, &watch, NULL, &err) != PL_OK)
        return fail(&err);
    int64_t end_ns = pl_clock_ns();
    printf("\"seconds\": %.3f, \"cpu_s\": %.3f}\n", (double)(end_ns - start_ns) / 1e9,
           (double)pl_clock_process_cpu_ns() / 1e9);
    PQfinish(conn);
    return 0;
}
