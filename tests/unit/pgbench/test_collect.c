/* Slices add up exactly, and what follows from the sums. */
#include "totals.h"

#include <string.h>

#include "base/rng.h"

/* Any slices in any order: the whole is the sum of the scripts, and each is the sum of its slices. */
static void test_sums(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    options.script_count = 2;
    options.report_per_command = true;
    struct pgbench_total total;
    pgbench_total_init(&total, &options);
    struct pl_rng rng;
    pl_rng_init(&rng, 5, PL_RNG_TEST, 0);
    int64_t completed[2] = {0}, failed[2] = {0}, in_window[2] = {0}, retries[2] = {0}, command[2][3] = {{0}};
    for (int i = 0; i < 2000; i++) {
        struct totals_slice slice = {.script = (int)pl_rng_range(&rng, 0, 1),
                                     .during = pl_rng_range(&rng, 0, 9) == 0 ? PHASE_DRAIN : PHASE_MEASURE,
                                     .ledger = {.completed = pl_rng_range(&rng, 0, 9), .failed = pl_rng_range(&rng, 0, 1)},
                                     .attempts = {.retries = pl_rng_range(&rng, 0, 3)},
                                     .service_us = pl_rng_range(&rng, 10, 1000)};
        slice.ledger.due = slice.ledger.completed + slice.ledger.failed;
        slice.step = (int)pl_rng_range(&rng, -1, slice.script == 0 ? 1 : 2);
        totals_add(&total, &slice);
        if (slice.step >= 0) {
            command[slice.script][slice.step] += slice.ledger.completed;
            continue;
        }
        completed[slice.script] += slice.ledger.completed;
        failed[slice.script] += slice.ledger.failed;
        retries[slice.script] += slice.attempts.retries;
        in_window[slice.script] += slice.during == PHASE_MEASURE ? slice.ledger.completed : 0;
    }
    for (int s = 0; s < 2; s++) {
        const struct pgbench_cell *cell = &total.scripts[s];
        assert_int_equal(cell->ledger.completed, completed[s]);
        assert_int_equal(cell->ledger.failed, failed[s]);
        assert_int_equal(cell->attempts.retries, retries[s]);
        assert_int_equal(cell->completed_in_window, in_window[s]);
        assert_int_equal(cell->response.total, completed[s]);
        assert_int_equal(cell->lateness.total, completed[s]);
        assert_true(ledger_balances(&cell->ledger));
        for (size_t c = 0; c < scripts[s].program->command_count; c++) {
            assert_int_equal(total.commands[s][c].ledger.completed, command[s][c]);
            assert_int_equal(total.commands[s][c].service.total, command[s][c]);
        }
    }
    assert_int_equal(total.whole.ledger.completed, completed[0] + completed[1]);
    assert_int_equal(total.whole.completed_in_window, in_window[0] + in_window[1]);
    assert_int_equal(total.whole.response.total, completed[0] + completed[1]);
    assert_true(total.whole.response.sum == total.scripts[0].response.sum + total.scripts[1].response.sum);
    pgbench_total_release(&total);
}

/* Without -r the slices of commands are not kept, and those of scripts are the same. */
static void test_without_commands(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    struct pgbench_total total;
    pgbench_total_init(&total, &options);
    assert_null(total.commands);
    totals_add(&total, &(struct totals_slice){.step = 1, .during = PHASE_MEASURE, .ledger = {.completed = 5}});
    totals_add(&total, &(struct totals_slice){.step = -1, .during = PHASE_MEASURE, .ledger = {.due = 5, .completed = 5}});
    assert_int_equal(total.whole.ledger.completed, 5);
    pgbench_total_release(&total);
    assert_null(total.scripts);
}

static void test_tps(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    options.script_count = 2;
    struct pgbench_total total;
    pgbench_total_init(&total, &options);
    assert_close(pgbench_tps(&total), 0, 0, 0);
    assert_close(pgbench_tps_with_connecting(&total), 0, 0, 0);
    totals_add(&total, &(struct totals_slice){
                           .script = 0, .step = -1, .during = PHASE_MEASURE, .ledger = {.due = 900, .completed = 900}});
    totals_add(&total, &(struct totals_slice){
                           .script = 1, .step = -1, .during = PHASE_MEASURE, .ledger = {.due = 110, .completed = 100}});
    totals_add(&total, &(struct totals_slice){.script = 1, .step = -1, .during = PHASE_DRAIN, .ledger = {.completed = 10}});
    totals_clock(&total, 2000, 1000);
    assert_close(pgbench_tps(&total), 500, 1e-12, 0);
    assert_close(pgbench_tps_with_connecting(&total), 1000 / 2.02, 1e-12, 0);
    assert_close(pgbench_tps_of(&total, &total.scripts[0]), 450, 1e-12, 0);
    assert_close(pgbench_tps_of(&total, &total.scripts[1]), 50, 1e-12,
                 0); /* what ended after the window is no part of it */
    assert_int_equal(pgbench_ended(&total.scripts[1]), 110);
    options.connect = true;
    assert_close(pgbench_tps_with_connecting(&total), 500, 1e-12, 0);
    pgbench_total_release(&total);
}

static void test_covered(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    struct pgbench_total total;
    pgbench_total_init(&total, &options);
    totals_clock(&total, 10000, 0);
    options.duration_s = 10;
    assert_close(pgbench_covered_frac(&total), 1, 0, 0);
    pgbench_total_client_ended(&total, 6 * PL_NS_PER_S); /* of four: half of its time is lost */
    assert_close(pgbench_covered_frac(&total), 0.875, 1e-12, 0);
    pgbench_total_client_ended(&total, 1 * PL_NS_PER_S);
    assert_close(pgbench_covered_frac(&total), 0.625, 1e-12, 0);
    assert_int_equal(total.first_ended_ns, PL_NS_PER_S);
    pgbench_total_client_ended(&total, 300 * PL_NS_PER_S); /* after the window: nothing of its time is lost */
    assert_close(pgbench_covered_frac(&total), 0.625, 1e-12, 0);
    options.duration_s = 20; /* asked for; with nobody left the window ended after 10 */
    assert_close(pgbench_covered_frac(&total), 1 - (15 + 20) / 80., 1e-12, 0);
    total.was_interrupted = true;
    assert_close(pgbench_covered_frac(&total), 0.625, 1e-12, 0);
    options.duration_s = 0;
    options.transactions = 100;
    total.whole.ledger.completed = 90;
    total.whole.ledger.failed = 10;
    assert_close(pgbench_covered_frac(&total), 0.25, 1e-12, 0);
    pgbench_total_release(&total);
}

/* An interruption after the end of the window takes nothing from it. */
static void test_window_whole(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    struct pgbench_total total;
    pgbench_total_init(&total, &options);
    totals_clock(&total, 3000, 0);
    assert_true(pgbench_is_window_whole(&total));
    total.was_interrupted = true; /* 4 clients, 10 transactions each */
    totals_add(&total, &(struct totals_slice){.step = -1, .ledger = {.due = 39, .completed = 38, .failed = 1}});
    assert_false(pgbench_is_window_whole(&total));
    totals_add(&total, &(struct totals_slice){.step = -1, .ledger = {.due = 1, .completed = 1}});
    assert_true(pgbench_is_window_whole(&total));
    options.duration_s = 4;
    assert_false(pgbench_is_window_whole(&total));
    options.duration_s = 3;
    assert_true(pgbench_is_window_whole(&total));
    pgbench_total_release(&total);
}

static void test_client_bound(void **state)
{
    (void)state;
    struct pgbench_script scripts[2];
    struct pgbench_options options = totals_options(scripts);
    struct pgbench_total total;
    char why[300];
    double busy;
    pgbench_total_init(&total, &options);
    assert_false(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    assert_string_equal(why, "nothing was measured");
    struct totals_slice slice = {.step = -1,
                                 .during = PHASE_MEASURE,
                                 .ledger = {.due = 1000, .completed = 1000},
                                 .service_us = 100,
                                 .lateness_us = 5000};
    totals_add(&total, &slice);
    totals_clock(&total, 1000, 1000);
    assert_false(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    assert_close(busy, 0.05, 1e-12, 0);
    total.result.window_cpu_ns = 2 * 950 * PL_NS_PER_MS;
    assert_true(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    assert_close(busy, 0.95, 1e-12, 0);
    assert_non_null(strstr(why, "95.0 %"));
    /* in an open loop late, although the clients were free (0.1 s of 4 s): the client's doing */
    total.result.window_cpu_ns = 0;
    options.rate_per_s = 1000;
    assert_true(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    assert_non_null(strstr(why, "5.0"));
    /* with -C the opening of the connections lies before the sending */
    options.connect = true;
    assert_false(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    options.connect = false;
    /* late because the clients were busy: the server's */
    slice.service_us = 3000;
    totals_add(&total, &slice);
    assert_false(pgbench_is_client_bound(&total, &busy, why, sizeof why));
    pgbench_total_release(&total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_without_commands), cmocka_unit_test(test_tps),
        cmocka_unit_test(test_covered), cmocka_unit_test(test_window_whole),     cmocka_unit_test(test_client_bound),
    };
    return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}
