/* Timers against a plain list. */
#include "support.h"

#include "http/http_int.h"

static uint64_t random_state = 88172645463325252U;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void test_order(void **state)
{
    (void)state;
    enum { IDS = 200, ROUNDS = 20000 };
    struct http_timers timers;
    int64_t due[IDS];
    http_timers_init(&timers, IDS);
    for (int i = 0; i < IDS; i++)
        due[i] = INT64_MAX;
    int64_t now = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t id = (uint32_t)(random_next() % IDS);
        int64_t when = now + (int64_t)(random_next() % 1000);
        http_timers_lower(&timers, id, when);
        due[id] = when < due[id] ? when : due[id];
        if (round % 3 != 0)
            continue;
        int64_t first = INT64_MAX;
        for (int i = 0; i < IDS; i++)
            first = due[i] < first ? due[i] : first;
        assert_int_equal(http_timers_first_ns(&timers), first);
        now += (int64_t)(random_next() % 20);
        for (int32_t taken; (taken = http_timers_take(&timers, now)) >= 0;) {
            assert_true(due[taken] <= now);
            due[taken] = INT64_MAX;
        }
        for (int i = 0; i < IDS; i++)
            assert_true(due[i] > now);
    }
    http_timers_release(&timers);
}

static void test_empty(void **state)
{
    (void)state;
    struct http_timers timers;
    http_timers_init(&timers, 2);
    assert_int_equal(http_timers_first_ns(&timers), INT64_MAX);
    assert_int_equal(http_timers_take(&timers, INT64_MAX), -1);
    http_timers_lower(&timers, 1, 5);
    http_timers_lower(&timers, 1, 9); /* later: it stays */
    assert_int_equal(http_timers_take(&timers, 4), -1);
    assert_int_equal(http_timers_take(&timers, 5), 1);
    assert_int_equal(http_timers_take(&timers, 100), -1);
    http_timers_release(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
