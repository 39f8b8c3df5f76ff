/* Names of the enums and the ledger's arithmetic. */
#include "record/record.h"

#include <string.h>

#include "base/rng.h"
#include "support.h"

static void test_names_are_distinct(void **state)
{
    (void)state;
    for (int i = 0; i < PHASE_COUNT; i++) {
        assert_true(strlen(phase_name((enum phase)i)) > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(phase_name((enum phase)i), phase_name((enum phase)j));
    }
    for (int i = 0; i < TRIAL_STATE_COUNT; i++) {
        assert_true(strlen(trial_state_name((enum trial_state)i)) > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(trial_state_name((enum trial_state)i), trial_state_name((enum trial_state)j));
    }
    assert_string_equal(phase_name(PHASE_START), "start");
    assert_string_equal(phase_name(PHASE_WARM_UP), "warm-up");
    assert_string_equal(phase_name(PHASE_AFTER), "after");
    assert_string_equal(trial_state_name(TRIAL_VOID), "void");
    assert_string_equal(figure_status_name(FIGURE_MEASURED), "measured");
    assert_string_equal(figure_status_name(FIGURE_COMPUTED), "computed");
    assert_string_equal(figure_status_name(FIGURE_ASSUMED), "assumed");
    assert_string_equal(figure_status_name(FIGURE_ABSENT), "absent");
}

static struct ledger ledger_random(struct pl_rng *rng)
{
    struct ledger ledger = {.completed = pl_rng_range(rng, 0, 1000),
                            .failed = pl_rng_range(rng, 0, 1000),
                            .skipped = pl_rng_range(rng, 0, 1000),
                            .expired = pl_rng_range(rng, 0, 1000),
                            .unfinished = pl_rng_range(rng, 0, 1000)};
    ledger.never_started = pl_rng_range(rng, 0, ledger.unfinished);
    ledger.due = ledger.completed + ledger.failed + ledger.skipped + ledger.expired + ledger.unfinished;
    return ledger;
}

static void test_sums_of_balanced_ledgers_balance(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int round = 0; round < 200; round++) {
        struct ledger total = {0}, parts[5];
        int64_t due = 0, never_started = 0, failed = 0;
        for (int i = 0; i < 5; i++) {
            parts[i] = ledger_random(&rng);
            assert_true(ledger_balances(&parts[i]));
            ledger_add(&total, &parts[i]);
            due += parts[i].due;
            never_started += parts[i].never_started;
            failed += parts[i].failed;
        }
        assert_true(ledger_balances(&total));
        assert_int_equal(total.due, due);
        assert_int_equal(total.never_started, never_started);
        assert_int_equal(total.failed, failed);
    }
}

static void test_any_lost_operation_breaks_the_balance(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 2, PL_RNG_TEST, 0);
    for (int round = 0; round < 100; round++) {
        struct ledger good = ledger_random(&rng);
        int64_t *const counts[] = {&good.due,     &good.completed, &good.failed,
                                   &good.skipped, &good.expired,   &good.unfinished};
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            ++*counts[i];
            assert_false(ledger_balances(&good));
            --*counts[i];
        }
        assert_true(ledger_balances(&good));
    }
}

static void test_impossible_ledgers_do_not_balance(void **state)
{
    (void)state;
    struct ledger negative = {.due = 0, .completed = 1, .failed = -1};
    assert_false(ledger_balances(&negative));
    struct ledger never_sent = {.due = 2, .completed = 1, .unfinished = 1, .never_started = 2};
    assert_false(ledger_balances(&never_sent));
    never_sent.never_started = -1;
    assert_false(ledger_balances(&never_sent));
    struct ledger overflow = {.due = INT64_MIN, .completed = INT64_MAX, .failed = 1};
    assert_false(ledger_balances(&overflow));
    struct ledger empty = {0};
    assert_true(ledger_balances(&empty));
}

static void test_attempts_add_up(void **state)
{
    (void)state;
    struct attempts sum = {1, 2, 3, 4, 5};
    const struct attempts more = {10, 200, 3000, 40000, INT64_MAX - 5};
    attempts_add(&sum, &more);
    assert_int_equal(sum.retried, 11);
    assert_int_equal(sum.retries, 202);
    assert_int_equal(sum.serialization, 3003);
    assert_int_equal(sum.deadlock, 40004);
    assert_int_equal(sum.above_limit, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_distinct),
        cmocka_unit_test(test_sums_of_balanced_ledgers_balance),
        cmocka_unit_test(test_any_lost_operation_breaks_the_balance),
        cmocka_unit_test(test_impossible_ledgers_do_not_balance),
        cmocka_unit_test(test_attempts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
