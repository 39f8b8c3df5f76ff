/* Batches of sends over socket pairs. SIGPIPE keeps its default: one that came would end the test. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/ring.h"

enum { PAIRS = WIRE_RING_SENDS };

struct fixture {
    struct wire_ring ring;
    struct wire_socket here[PAIRS], there[PAIRS];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    *state = fixture;
    for (int i = 0; i < PAIRS; i++) {
        int fds[2]; /* blocking: the calls must not be */
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
            return -1;
        fixture->here[i].fd = fds[0];
        fixture->there[i].fd = fds[1];
    }
    wire_ring_init(&fixture->ring);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    wire_ring_release(&fixture->ring);
    wire_ring_release(&fixture->ring); /* once more is fine */
    for (int i = 0; i < PAIRS; i++) {
        if (fixture->here[i].fd >= 0)
            close(fixture->here[i].fd);
        if (fixture->there[i].fd >= 0)
            close(fixture->there[i].fd);
    }
    free(fixture);
    return 0;
}

/* Where the kernel gives none there is nothing to test but that (without_a_ring does). */
static void need_ring(const struct fixture *fixture)
{
    if (fixture->ring.uring == NULL) {
        print_message("skipped: no io_uring here\n");
        skip();
    }
}

static void expect_bytes(struct wire_socket *socket, const void *bytes, size_t length)
{
    uint8_t in[512];
    size_t count;
    assert_in_range(length, 1, sizeof in - 1);
    assert_int_equal(wire_read(socket, in, sizeof in, &count), WIRE_DONE);
    assert_int_equal(count, length);
    assert_memory_equal(in, bytes, length);
}

static void expect_nothing(struct wire_socket *socket)
{
    uint8_t in[16];
    size_t count;
    assert_int_equal(wire_read(socket, in, sizeof in, &count), WIRE_AGAIN);
}

static void put_text(struct fixture *fixture, int pair, const char *text)
{
    assert_true(wire_ring_put(&fixture->ring, &fixture->here[pair], (uint32_t)pair, text, (uint32_t)strlen(text)));
}

/* Every number of sends that fits, twice: nothing goes before the flush, everything with it, to whom it is for. */
static void sends_all(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    need_ring(fixture);
    assert_string_equal(wire_ring_name(&fixture->ring), "io_uring");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 0);
    for (int count = 1; count <= PAIRS; count++) {
        for (int i = 0; i < count; i++) {
            char text[32];
            snprintf(text, sizeof text, "%d of %d", i, count);
            put_text(fixture, i, text); /* `text` is used again at once: the ring has its own */
        }
        expect_nothing(&fixture->there[count - 1]);
        assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 0);
        for (int i = 0; i < count; i++) {
            char text[32];
            int length = snprintf(text, sizeof text, "%d of %d", i, count);
            expect_bytes(&fixture->there[i], text, (size_t)length);
            expect_nothing(&fixture->there[i]);
        }
    }
}

/* What does not fit is refused, and what stands in the ring is not harmed. */
static void refuses_what_does_not_fit(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    static uint8_t large[WIRE_RING_BYTES + 1];
    need_ring(fixture);
    assert_false(wire_ring_put(&fixture->ring, &fixture->here[0], 0, large, sizeof large));
    assert_true(wire_ring_put(&fixture->ring, &fixture->here[0], 0, large, sizeof large - 2));
    assert_true(wire_ring_put(&fixture->ring, &fixture->here[1], 1, "x", 1));
    assert_false(wire_ring_put(&fixture->ring, &fixture->here[2], 2, "y", 1));
    assert_in_range(wire_ring_flush(&fixture->ring, shorts), 0, 1); /* the large one may be more than the socket takes */
    expect_bytes(&fixture->there[1], "x", 1);
    expect_nothing(&fixture->there[2]);
    for (int i = 0; i < WIRE_RING_SENDS; i++)
        put_text(fixture, i, "z");
    assert_false(wire_ring_put(&fixture->ring, &fixture->here[0], 0, "z", 1));
    wire_ring_flush(&fixture->ring, shorts);
    expect_bytes(&fixture->there[WIRE_RING_SENDS - 1], "z", 1);
}

/* Fills the socket until it takes no more; returns how much that was. */
static size_t fill(struct wire_socket *socket)
{
    static uint8_t bytes[4096];
    size_t sum = 0, count;
    while (wire_write(socket, bytes, sizeof bytes, &count) == WIRE_DONE)
        sum += count;
    return sum;
}

static size_t drain(struct wire_socket *socket)
{
    static uint8_t bytes[65536];
    size_t sum = 0, count;
    while (wire_read(socket, bytes, sizeof bytes, &count) == WIRE_DONE)
        sum += count;
    return sum;
}

/* `batch`: with other sends, through the ring; else alone. A full socket takes nothing and is told as AGAIN; the others go.
 */
static void tells_full(struct fixture *fixture, bool batch)
{
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    size_t before = fill(&fixture->here[3]);
    if (batch)
        put_text(fixture, 2, "first");
    put_text(fixture, 3, "does not fit");
    if (batch)
        put_text(fixture, 4, "last");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 1);
    assert_int_equal(shorts[0].tag, 3);
    assert_int_equal(shorts[0].result, WIRE_AGAIN);
    assert_int_equal(shorts[0].moved, 0);
    if (batch) {
        expect_bytes(&fixture->there[2], "first", 5);
        expect_bytes(&fixture->there[4], "last", 4);
    }
    assert_int_equal(drain(&fixture->there[3]), before);
}

static void full_socket(void **state)
{
    need_ring(*state);
    tells_full(*state, true);
    tells_full(*state, false);
}

/* A part of the bytes went: DONE with how many, and they are there. */
static void tells_part(struct fixture *fixture, bool batch)
{
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    static uint8_t large[60000];
    int small = 2048; /* the kernel takes at least twice as much, and less than `large` */
    assert_int_equal(setsockopt(fixture->here[5].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    assert_true(wire_ring_put(&fixture->ring, &fixture->here[5], 5, large, sizeof large));
    if (batch)
        put_text(fixture, 6, "whole");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 1);
    assert_int_equal(shorts[0].tag, 5);
    assert_int_equal(shorts[0].result, WIRE_DONE);
    assert_in_range(shorts[0].moved, 1, sizeof large - 1);
    assert_int_equal(drain(&fixture->there[5]), shorts[0].moved);
    if (batch)
        expect_bytes(&fixture->there[6], "whole", 5);
}

static void part_of_a_request(void **state)
{
    need_ring(*state);
    tells_part(*state, true);
    tells_part(*state, false);
}

static void peer_is_gone(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    need_ring(fixture);
    close(fixture->there[7].fd);
    close(fixture->there[8].fd);
    fixture->there[7].fd = fixture->there[8].fd = -1;
    put_text(fixture, 7, "to nobody");
    put_text(fixture, 9, "to somebody");
    put_text(fixture, 8, "to nobody");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(shorts[i].tag, 7 + i);
        assert_int_equal(shorts[i].result, WIRE_CLOSED);
        assert_int_equal(shorts[i].os_errno, EPIPE);
        assert_int_equal(shorts[i].moved, 0);
    }
    expect_bytes(&fixture->there[9], "to somebody", 11);
    put_text(fixture, 7, "alone");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 1);
    assert_int_equal(shorts[0].result, WIRE_CLOSED);
    assert_int_equal(shorts[0].os_errno, EPIPE);
}

/* A descriptor that is no socket fails, and the reason is the kernel's. */
static void broken_descriptor(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    need_ring(fixture);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(wire_ring_put(&fixture->ring, &(struct wire_socket){.fd = fd}, 70, "x", 1));
    put_text(fixture, 1, "good");
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 1);
    assert_int_equal(shorts[0].tag, 70);
    assert_int_equal(shorts[0].result, WIRE_FAILED);
    assert_int_equal(shorts[0].os_errno, ENOTSOCK);
    expect_bytes(&fixture->there[1], "good", 4);
    close(fd);
}

/* What is forgotten is not sent, also when it was the only one, and its room is given back with the next flush. */
static void forgets(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    static uint8_t large[WIRE_RING_BYTES];
    need_ring(fixture);
    put_text(fixture, 0, "a");
    put_text(fixture, 1, "b");
    put_text(fixture, 2, "c");
    wire_ring_forget(&fixture->ring, 1);
    wire_ring_forget(&fixture->ring, 40); /* was never put */
    assert_int_equal(wire_ring_flush(&fixture->ring, shorts), 0);
    expect_bytes(&fixture->there[0], "a", 1);
    expect_nothing(&fixture->there[1]);
    expect_bytes(&fixture->there[2], "c", 1);
    put_text(fixture, 3, "d");
    wire_ring_forget(&fixture->ring, 3);
    assert_true(wire_ring_put(&fixture->ring, &fixture->here[4], 4, large, sizeof large));
    wire_ring_flush(&fixture->ring, shorts);
    expect_nothing(&fixture->there[3]);
}

/* TLS makes its own records. */
static void refuses_tls(void **state)
{
    struct fixture *fixture = *state;
    struct wire_socket socket = fixture->here[0];
    socket.ssl = (void *)fixture;
    assert_false(wire_ring_put(&fixture->ring, &socket, 0, "x", 1));
}

/* A kernel that gives no ring: everything goes the other way, and nothing leaks. */
static void without_a_ring(void **state)
{
    struct fixture *fixture = *state;
    struct wire_ring none;
    struct wire_ring_short shorts[WIRE_RING_SENDS];
    struct rlimit limit, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    tight = limit;
    tight.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    bool has = wire_ring_init(&none);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_false(has);
    assert_string_equal(wire_ring_name(&none), "");
    assert_false(wire_ring_put(&none, &fixture->here[0], 0, "x", 1));
    wire_ring_forget(&none, 0);
    assert_int_equal(wire_ring_flush(&none, shorts), 0);
    wire_ring_release(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sends_all, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(full_socket, setup, teardown),
        cmocka_unit_test_setup_teardown(part_of_a_request, setup, teardown),
        cmocka_unit_test_setup_teardown(peer_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_descriptor, setup, teardown),
        cmocka_unit_test_setup_teardown(forgets, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_ring, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
