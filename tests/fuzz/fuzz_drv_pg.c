/* What a server sends while steps are under way, in pieces of any size. The first byte says how large the pieces are (0:
 * they vary, by the bytes themselves), the second what the client is doing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "load/load_int.h"
#include "load/drv_pg_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char script_text[] = "SELECT 1;\nSELECT 1 \\gset\nSELECT 1 \\; SELECT 2 \\aset p_\nSELECT :a, :b, :p_a;\n"
                                  "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\n";

enum doing { NOTHING, PARSES, RUNS, ROLLS_BACK, RUNS_GSET, RUNS_ASET, RUNS_PIPELINE, DOING_COUNT };

static struct {
    struct program *program;
    struct load_script script;
    struct load_spec spec;
    struct driver_setup setup;
    struct capture capture;
    struct value *vars;
    struct driver_pg *pg;
    int fds[2];
} bench;

static void bench_init(void)
{
    struct pl_err err = {0};
    struct pl_arena *arena = pl_arena_new(); /* lives as long as the process */
    struct names *names = names_new(arena);
    if (program_compile("fuzz", script_text, sizeof script_text - 1, PROGRAM_AS_PGBENCH, names, arena, &bench.program,
                        &err) != PL_OK ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, bench.fds) != 0)
        abort();
    bench.script = (struct load_script){.program = bench.program, .weight = 1};
    bench.spec = (struct load_spec){.driver = LOAD_PG,
                                    .protocol = PLAN_PREPARED,
                                    .prepare_lazily = true,
                                    .scripts = &bench.script,
                                    .script_count = 1,
                                    .clients = 1};
    bench.vars = pl_alloc(arena, names_count(names), sizeof *bench.vars);
    capture_init(&bench.capture, 1, names_count(names), bench.vars, NULL);
    bench.setup = (struct driver_setup){.spec = &bench.spec, .workers = 1, .capture = &bench.capture};
    bench.pg = driver_pg_of(driver_pg_new(&bench.setup));
    driver_pg_take_memory(bench.pg, 1);
    if (loop_init(&bench.pg->loop, &err) != PL_OK || loop_add(&bench.pg->loop, bench.fds[0], 0, LOOP_READ, &err) != PL_OK)
        abort();
}

static void client_begin(struct driver_pg *pg, enum doing doing)
{
    struct driver *driver = &pg->base;
    const struct step *steps = bench.program->steps;
    struct pg_client *client = pg->clients;
    switch (doing) {
    case RUNS:
    case RUNS_GSET:
    case RUNS_ASET:
        driver->ops->submit(driver, 0, bench.program, &steps[doing == RUNS ? 0 : doing == RUNS_GSET ? 1 : 2], bench.vars);
        break;
    case RUNS_PIPELINE:
        for (size_t i = 5; i < 9; i++)
            driver->ops->queue(driver, 0, bench.program, &steps[i], bench.vars);
        driver->ops->submit(driver, 0, bench.program, &steps[9], bench.vars);
        break;
    case PARSES:
    case ROLLS_BACK:
        client->statement = &pg->statements[0];
        driver_pg_start(client, doing == PARSES ? PG_PARSE : PG_ROLLBACK);
        driver_pg_send(pg, client, driver_pg_request(pg, client));
        break;
    default:
        break;
    }
}

static void piece_handle(struct driver_pg *pg, const uint8_t *bytes, size_t length, enum pg_progress *progress)
{
    struct pg_client *client = pg->clients;
    size_t carried = client->carry_length;
    memcpy(pg->in, pg->carries, carried);
    memcpy(pg->in + carried, bytes, length);
    client->carry_length = 0;
    *progress = driver_pg_bytes(pg, client, pg->in, carried + length);
    assert(client->carry_length < PG_CARRY_BYTES);
    assert(!client->is_faulty || (strlen(client->fault.code) > 0 && strlen(pg->texts) < PG_TEXT_BYTES));
    assert(*progress != PG_LOST || client->is_faulty);
    assert(*progress != PG_READY || client->state == PG_IDLE);
    assert(pg->told_count <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t sent[4096];
    if (size < 2 || size > 4 * PG_READ_BYTES)
        return 0;
    if (bench.pg == NULL)
        bench_init();
    struct driver_pg *pg = bench.pg;
    enum doing doing = (enum doing)(data[1] % DOING_COUNT);
    pg->clients[0] = (struct pg_client){.socket = {.fd = bench.fds[0]}, .state = PG_IDLE, .transaction = 'I'};
    pg->told_count = 0;
    memset(pg->prepared, 0, pg->prepared_words * sizeof *pg->prepared);
    driver_pg_pipeline_reset(pg->pipelines);
    enum pg_progress progress = PG_MORE;
    client_begin(pg, doing);
    for (size_t at = 2; at < size && progress != PG_LOST && !pg->clients[0].is_broken;) {
        size_t piece = data[0] == 0 ? 1 + (size_t)data[at] : data[0];
        piece = piece < size - at ? piece : size - at;
        piece_handle(pg, data + at, piece, &progress);
        if (progress == PG_READY && !pg->clients[0].is_broken)
            client_begin(pg, doing);
        at += piece;
        while (recv(bench.fds[1], sent, sizeof sent, MSG_DONTWAIT) > 0)
            continue;
    }
    return 0;
}
