/* The heap of times against a list. */
#include "support.h"

#include <stdbool.h>

#include "base/rng.h"
#include "stage/wakes.h"

enum { CLIENTS = 200 };

static struct stage_wake list[CLIENTS];
static size_t count;

static size_t first(void)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (list[i].at_ns < list[best].at_ns || (list[i].at_ns == list[best].at_ns && list[i].order < list[best].order))
            best = i;
    return best;
}

static bool list_remove(uint32_t client)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].client == client) {
            list[i] = list[--count];
            return true;
        }
    return false;
}

static void test_against_a_list(void **state)
{
    (void)state;
    struct stage_wakes wakes;
    struct pl_rng rng;
    uint64_t order = 0;
    stage_wakes_init(&wakes, CLIENTS);
    assert_true(stage_wakes_next_ns(&wakes) == INT64_MAX);
    pl_rng_init(&rng, 8, PL_RNG_TEST, 0);
    for (int i = 0; i < 100000; i++) {
        uint32_t client = (uint32_t)pl_rng_range(&rng, 0, CLIENTS - 1);
        int64_t what = pl_rng_range(&rng, 0, 9);
        if (what < 5) {
            stage_wakes_remove(&wakes, client);
            list_remove(client);
            list[count++] = (struct stage_wake){.at_ns = pl_rng_range(&rng, 0, 50), .order = order++, .client = client};
            stage_wakes_push(&wakes, client, list[count - 1].at_ns);
        } else if (what < 8 && count > 0) {
            struct stage_wake expected = list[first()], got = stage_wakes_pop(&wakes);
            assert_int_equal(got.client, expected.client);
            assert_int_equal(got.at_ns, expected.at_ns);
            list_remove(expected.client);
        } else {
            stage_wakes_remove(&wakes, client); /* also when it is not there */
            list_remove(client);
        }
        assert_int_equal(wakes.count, count);
        assert_int_equal(stage_wakes_next_ns(&wakes), count == 0 ? INT64_MAX : list[first()].at_ns);
    }
    stage_wakes_release(&wakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_a_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
