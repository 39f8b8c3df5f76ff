/* The least that a client can do: one thread, the event loop, a Bind, Execute and Sync with one random number for each
 * ReadyForQuery, and nothing else: no script, no clock, no record. What it costs is the floor under bench_pg on a machine.
 * Requests are sent in batches where the kernel has io_uring, or one by one with "direct". Prints one JSON object.
 *
 *     bench_bare CONNINFO CLIENTS SECONDS SCALE [direct]       select-only, prepared */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rng.h"
#include "wire/io.h"
#include "wire/loop.h"
#include "wire/pgconn.h"
#include "wire/pgmsg.h"
#include "wire/ring.h"

enum { MAX_CLIENTS = 10000, EVENTS = WIRE_RING_SENDS };

static PGconn *conns[MAX_CLIENTS];
static struct wire_socket sockets[MAX_CLIENTS];
static struct wire_ring ring;

static int fail(const struct pl_err *err)
{
    char text[1200];
    fprintf(stderr, "%s\n", pl_err_text(err, text, sizeof text));
    return 3;
}

/* false: the connection took less than the whole request, which this program cannot mend. */
static bool send_one(uint32_t client, struct pl_rng *rng, int64_t accounts)
{
    uint8_t bytes[128];
    char number[24];
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    int length = snprintf(number, sizeof number, "%lld", (long long)pl_rng_range(rng, 1, accounts));
    size_t sent;
    pgmsg_put_bind(&out, "P_0", &(struct pgmsg_text){number, (size_t)length}, 1);
    pgmsg_put_execute(&out);
    pgmsg_put_sync(&out);
    if (wire_ring_put(&ring, &sockets[client], client, out.data, (uint32_t)out.len))
        return true;
    return wire_write(&sockets[client], out.data, out.len, &sent) == WIRE_DONE && sent == out.len;
}

static bool send_rest(void)
{
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    return wire_ring_flush(&ring, shorts) == 0;
}

static enum pl_code prepare(struct loop *loop, const char *conninfo, int clients, struct pl_err *err)
{
    static const char sql[] = "PREPARE \"P_0\" AS SELECT abalance FROM pgbench_accounts WHERE aid = $1";
    if (pgconn_open_many(conninfo, clients, 32, pl_clock_ns() + 60 * PL_NS_PER_S, NULL, conns, NULL, err) != PL_OK ||
        loop_init(loop, err) != PL_OK)
        return err->code;
    for (int c = 0; c < clients; c++) {
        if (pgquery_run(conns[c], sql, 10 * PL_NS_PER_S, NULL, err) != PL_OK)
            return err->code;
        sockets[c] = pgconn_socket(conns[c]);
        if (loop_add(loop, sockets[c].fd, (uint32_t)c, LOOP_READ, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

/* Answers are small and come whole; the last message of one is ReadyForQuery. Returns the transactions, -1 when not so. */
static int64_t run(struct loop *loop, int clients, int64_t accounts, int64_t end_ns)
{
    struct pl_rng rng;
    int64_t completed = 0;
    uint8_t in[8192];
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int c = 0; c < clients; c++)
        if (!send_one((uint32_t)c, &rng, accounts))
            return -1;
    while (pl_clock_ns() < end_ns) {
        struct loop_event events[EVENTS];
        if (!send_rest())
            return -1;
        int count = loop_wait(loop, end_ns, events, EVENTS);
        for (int i = 0; i < count; i++) {
            struct wire_socket *socket = &sockets[events[i].tag];
            size_t got;
            enum wire_io result = wire_read(socket, in, sizeof in, &got);
            if (result == WIRE_AGAIN)
                continue;
            if (result != WIRE_DONE || got < 6 || in[got - 6] != 'Z' || !send_one(events[i].tag, &rng, accounts))
                return -1;
            completed++;
        }
    }
    return completed;
}

int main(int argc, char **argv)
{
    int64_t clients, seconds, scale;
    if (argc < 5 || argc > 6 || (argc == 6 && strcmp(argv[5], "direct") != 0) ||
        pl_num_i64(argv[2], strlen(argv[2]), &clients) != PL_NUM_OK || clients < 1 || clients > MAX_CLIENTS ||
        pl_num_i64(argv[3], strlen(argv[3]), &seconds) != PL_NUM_OK || seconds < 1 || seconds > 86400 ||
        pl_num_i64(argv[4], strlen(argv[4]), &scale) != PL_NUM_OK || scale < 1 || scale > 20000) {
        fprintf(stderr, "usage: bench_bare CONNINFO CLIENTS SECONDS SCALE [direct]\n");
        return 2;
    }
    struct pl_err err = {0};
    struct loop loop = {.epoll_fd = -1};
    if (prepare(&loop, argv[1], (int)clients, &err) != PL_OK)
        return fail(&err);
    if (argc == 5)
        (void)wire_ring_init(&ring);
    int64_t completed = run(&loop, (int)clients, 100000 * scale, pl_clock_ns() + seconds * PL_NS_PER_S);
    if (completed < 0) {
        fprintf(stderr, "an answer did not come as expected\n");
        return 3;
    }
    printf("{\"tps\": %.1f, \"completed\": %lld, \"ring\": \"%s\"}\n", (double)completed / (double)seconds,
           (long long)completed, wire_ring_name(&ring));
    return 0; /* the connections end with the process */
}
