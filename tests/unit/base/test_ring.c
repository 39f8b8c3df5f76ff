#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/ring.h"
#include "base/rng.h"

struct item {
    int64_t number, twice;
    char filler[24];
};

static void test_first_in_first_out(void **state)
{
    (void)state;
    struct pl_ring ring;
    pl_ring_init(&ring, sizeof(int), 5); /* eight after rounding up */
    int out = -1;
    assert_false(pl_ring_pop(&ring, &out));
    for (int i = 0; i < 8; i++)
        assert_true(pl_ring_push(&ring, &i));
    int more = 99;
    assert_false(pl_ring_push(&ring, &more));
    for (int i = 0; i < 8; i++) {
        assert_true(pl_ring_pop(&ring, &out));
        assert_int_equal(out, i);
    }
    assert_false(pl_ring_pop(&ring, &out));
    assert_int_equal(out, 7);
    pl_ring_release(&ring);
}

static void test_one_place(void **state)
{
    (void)state;
    struct pl_ring ring;
    pl_ring_init(&ring, sizeof(int), 1);
    for (int i = 0; i < 10; i++) {
        int out = -1, more = 99;
        assert_true(pl_ring_push(&ring, &i));
        assert_false(pl_ring_push(&ring, &more));
        assert_true(pl_ring_pop(&ring, &out));
        assert_int_equal(out, i);
    }
    pl_ring_release(&ring);
}

/* Against a plain queue, with positions that pass the largest size_t on the way. */
static void test_against_a_queue(void **state)
{
    (void)state;
    struct pl_ring ring;
    pl_ring_init(&ring, sizeof(int64_t), 16);
    atomic_store(&ring.head, SIZE_MAX - 100);
    atomic_store(&ring.tail, SIZE_MAX - 100);
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_TEST, 0);
    int64_t pushed = 0, popped = 0;
    for (int i = 0; i < 20000; i++) {
        if (pl_rng_range(&rng, 0, 1) == 0) {
            assert_int_equal(pl_ring_push(&ring, &pushed), pushed - popped < 16);
            pushed += pushed - popped < 16;
        } else {
            int64_t out = -1;
            assert_int_equal(pl_ring_pop(&ring, &out), pushed > popped);
            if (pushed > popped)
                assert_int_equal(out, popped++);
        }
    }
    assert_true(popped > 1000);
    pl_ring_release(&ring);
}

enum { ITEMS = 200000 };

static void *produce(void *context)
{
    struct pl_ring *ring = context;
    for (int64_t i = 0; i < ITEMS; i++) {
        struct item item = {.number = i, .twice = 2 * i};
        memset(item.filler, (int)(i & 0x7f), sizeof item.filler);
        while (!pl_ring_push(ring, &item))
            sched_yield();
    }
    return NULL;
}

static void test_two_threads(void **state)
{
    (void)state;
    struct pl_ring ring;
    pl_ring_init(&ring, sizeof(struct item), 64);
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, produce, &ring), 0);
    int64_t wrong = 0;
    for (int64_t i = 0; i < ITEMS; i++) {
        struct item item;
        while (!pl_ring_pop(&ring, &item))
            sched_yield();
        wrong += item.number != i || item.twice != 2 * i || item.filler[0] != (i & 0x7f) || item.filler[23] != (i & 0x7f);
    }
    pthread_join(producer, NULL);
    assert_int_equal(wrong, 0);
    struct item none;
    assert_false(pl_ring_pop(&ring, &none));
    pl_ring_release(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_against_a_queue),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
