/* The engine over the simulated server against closed forms (expected values: queueing theory as tabled for M/M/c, checked
 * there against two other programs). Long virtual runs at fixed seeds; tolerances are about four standard errors of the
 * estimates. */
#include "load_test.h"

#include <math.h>

static struct load_spec queue_spec(double rate_per_s, int servers, double mean_service_ns)
{
    return (struct load_spec){.driver = LOAD_SIM,
                              .sim = {.servers = servers, .mean_service_ns = mean_service_ns},
                              .scripts = &load_test_script_one,
                              .script_count = 1,
                              .clients = 4000, /* never all busy: the queue is the server's */
                              .workers = 1,
                              .open_loop = true,
                              .rate_per_s = rate_per_s,
                              .arrivals = PLAN_POISSON,
                              .warm_up_ns = 60 * SEC,
                              .drain_ns = 3600 * SEC,
                              .slice_ns = 600 * SEC,
                              .seed = 42};
}

struct expected {
    double mean_s, p50_s, p95_s, p99_s;
};

static void check_queue(const struct load_spec *spec, const struct expected *expected, double rel)
{
    struct load_run run;
    struct hist response, lateness;
    hist_init_latency(&response);
    hist_init_latency(&lateness);
    load_run_virtual(spec, &run);
    load_run_check(&run);
    struct ledger sum = load_run_sum(&run, PHASE_MEASURE, 0, -1, 'r', &response);
    load_run_sum(&run, PHASE_MEASURE, 0, -1, 'l', &lateness);
    assert_int_equal(sum.due, sum.completed);
    assert_close((double)sum.due, spec->rate_per_s * (double)spec->measure_ns / 1e9, 0.01, 0);
    assert_int_equal(lateness.max, 0); /* virtual time: everything starts when it is due */
    assert_close(hist_mean(&response) / 1e9, expected->mean_s, rel, 0);
    assert_close((double)hist_quantile(&response, 0.5) / 1e9, expected->p50_s, rel, 0);
    assert_close((double)hist_quantile(&response, 0.95) / 1e9, expected->p95_s, rel, 0);
    assert_close((double)hist_quantile(&response, 0.99) / 1e9, expected->p99_s, 1.5 * rel, 0);
    hist_release(&response);
    hist_release(&lateness);
    load_run_release(&run);
}

/* The response of M/M/1 is exponential with mean S / (1 - rho). */
static void check_single(double rho, double hours, double rel)
{
    struct load_spec spec = queue_spec(100 * rho, 1, 10e6);
    spec.measure_ns = (int64_t)(hours * 3600) * SEC;
    double mean = 0.010 / (1 - rho);
    check_queue(&spec, &(struct expected){mean, mean * log(2), mean * log(20), mean * log(100)}, rel);
}

static void test_mm1_half(void **state)
{
    (void)state;
    check_single(0.5, 3, 0.015);
}

static void test_mm1_eight_tenths(void **state)
{
    (void)state;
    check_single(0.8, 5, 0.025);
}

/* The published example: 75 per second against 100: R 0.04 s, p50, p95, p99 27.7259, 119.8293, 184.2068 ms. */
static void test_mm1_75_of_100(void **state)
{
    (void)state;
    struct load_spec spec = queue_spec(75, 1, 10e6);
    spec.measure_ns = 4 * 3600 * SEC;
    check_queue(&spec, &(struct expected){0.04, 0.0277259, 0.1198293, 0.1842068}, 0.025);
}

/* P(T > t) of M/M/c with mu = 1: e^-t (1 + C (1 - e^(-theta t)) / theta), theta = c - a - 1. */
static double mmc_tail(double c, double a, double wait, double t)
{
    double theta = c - a - 1;
    return exp(-t) * (1 + wait * (fabs(theta) < 1e-12 ? t : (1 - exp(-theta * t)) / theta));
}

static double mmc_quantile(double c, double a, double wait, double q)
{
    double low = 0, high = 1000;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (mmc_tail(c, a, wait, middle) > 1 - q)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Erlang C and the mean wait (in services) from the table; S is 10 ms. */
static void check_many(int servers, double load, double wait, double mean_wait)
{
    struct load_spec spec = queue_spec(100 * load, servers, 10e6);
    spec.measure_ns = (int64_t)(10800 / load) * SEC;
    check_queue(&spec,
                &(struct expected){.mean_s = 0.01 * (1 + mean_wait),
                                   .p50_s = 0.01 * mmc_quantile(servers, load, wait, 0.5),
                                   .p95_s = 0.01 * mmc_quantile(servers, load, wait, 0.95),
                                   .p99_s = 0.01 * mmc_quantile(servers, load, wait, 0.99)},
                0.025);
}

static void test_mm2(void **state)
{
    (void)state;
    check_many(2, 1.5, 9.0 / 14, 9.0 / 7);
}

static void test_mm3(void **state)
{
    (void)state;
    check_many(3, 2, 4.0 / 9, 4.0 / 9);
}

static void test_mm8(void **state)
{
    (void)state;
    check_many(8, 6, 5832.0 / 16337, 0.1784905429);
}

/* N clients, c servers, constant S: the servers that have work are always busy, X = min(N, c) / S, and R = N / X. */
static void test_closed_constant(void **state)
{
    (void)state;
    static const struct {
        int clients, servers;
    } cases[] = {{1, 1}, {1, 4}, {3, 4}, {4, 4}, {5, 4}, {64, 4}, {1000, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int clients = cases[i].clients, busy = clients < cases[i].servers ? clients : cases[i].servers;
        struct load_spec spec = {.driver = LOAD_SIM,
                                 .sim = {.servers = cases[i].servers, .mean_service_ns = 1e6, .law = LOAD_SIM_CONSTANT},
                                 .scripts = &load_test_script_one,
                                 .script_count = 1,
                                 .clients = clients,
                                 .workers = 1,
                                 .warm_up_ns = 2 * SEC,
                                 .measure_ns = 5 * SEC,
                                 .drain_ns = SEC,
                                 .seed = 1};
        struct load_run run;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.completed_in_window, 5000 * busy);
        assert_int_equal(run.result.window_ns, 5 * SEC);
        struct hist response;
        hist_init_latency(&response);
        load_run_sum(&run, PHASE_MEASURE, 0, -1, 'r', &response);
        if (clients % busy == 0) {
            assert_int_equal(response.min, (int64_t)MS * clients / busy);
            assert_int_equal(response.max, (int64_t)MS * clients / busy);
        }
        assert_close(hist_mean(&response), 1e6 * clients / busy, 0.001, 0);
        hist_release(&response);
        load_run_release(&run);
    }
}

/* The server stands still for two of twenty seconds. Of all operations the share (2 s - x) / 20 s waits longer than x:
 * those who measure from the moment of sending with a free client see nothing of it. */
static void check_stall(int clients)
{
    struct load_spec spec = {.driver = LOAD_SIM,
                             .sim = {.servers = 64,
                                     .mean_service_ns = 1e6,
                                     .law = LOAD_SIM_CONSTANT,
                                     .stall_at_ns = 9 * SEC,
                                     .stall_ns = 2 * SEC},
                             .scripts = &load_test_script_one,
                             .script_count = 1,
                             .clients = clients,
                             .workers = 1,
                             .open_loop = true,
                             .rate_per_s = 1000,
                             .arrivals = PLAN_CONSTANT,
                             .measure_ns = 20 * SEC,
                             .drain_ns = 10 * SEC,
                             .seed = 1};
    struct load_run run;
    load_run_virtual(&spec, &run);
    load_run_check(&run);
    struct hist response;
    hist_init_latency(&response);
    struct ledger sum = load_run_sum(&run, PHASE_MEASURE, 0, -1, 'r', &response);
    assert_int_equal(sum.due, 20000);
    assert_int_equal(sum.completed, 20000);
    assert_close((double)hist_quantile(&response, 0.95), 1.0e9, 0.05, 0);
    assert_close((double)hist_quantile(&response, 0.97), 1.4e9, 0.05, 0);
    assert_close((double)hist_quantile(&response, 0.99), 1.8e9, 0.05, 0);
    assert_close((double)response.max, 2.0e9, 0.05, 0);
    assert_true(hist_quantile(&response, 0.85) <= 2 * MS);
    hist_release(&response);
    load_run_release(&run);
}

static void test_stall(void **state)
{
    (void)state;
    check_stall(4000);
    check_stall(64); /* most wait for a client, and count from when they were due */
}

/* The server stands still for two of ten seconds, and works off what has come meanwhile at 64,000 a second: who is due u
 * after the beginning of the stall waits 2 s - u (1 - load), so the share (2 s - x) / (1 - load) / 10 s waits longer than
 * x, however the operations arrive. A client that waits for its answers before it asks again hardly sees it. */
static void test_stall_of_any_arrivals(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct load_spec spec = {.driver = LOAD_SIM,
                                 .sim = {.servers = 64,
                                         .mean_service_ns = 1e6,
                                         .law = LOAD_SIM_CONSTANT,
                                         .stall_at_ns = 4 * SEC,
                                         .stall_ns = 2 * SEC},
                                 .scripts = &load_test_script_one,
                                 .script_count = 1,
                                 .clients = variant == 2 ? 8 : 64,
                                 .workers = 1,
                                 .open_loop = variant < 2,
                                 .rate_per_s = 10000,
                                 .arrivals = variant == 0 ? PLAN_CONSTANT : PLAN_POISSON,
                                 .measure_ns = 10 * SEC,
                                 .drain_ns = 10 * SEC,
                                 .seed = 3};
        struct load_run run;
        load_run_virtual(&spec, &run);
        load_run_check(&run);
        struct hist response;
        hist_init_latency(&response);
        struct ledger sum = load_run_sum(&run, PHASE_MEASURE, 0, -1, 'r', &response);
        assert_int_equal(sum.due, sum.completed);
        if (variant < 2) {
            double load = 10.0 / 64;
            assert_close((double)hist_quantile(&response, 0.90), (2 - 0.10 * 10 * (1 - load)) * 1e9, 0.05, 0);
            assert_close((double)hist_quantile(&response, 0.99), (2 - 0.01 * 10 * (1 - load)) * 1e9, 0.05, 0);
            assert_int_equal(run.self.lateness.max, 0); /* the clients were all taken: not the load's own fault */
        } else {
            assert_true(hist_quantile(&response, 0.99) <= 2 * MS);
        }
        hist_release(&response);
        load_run_release(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mm1_half),
        cmocka_unit_test(test_mm1_eight_tenths),
        cmocka_unit_test(test_mm1_75_of_100),
        cmocka_unit_test(test_mm2),
        cmocka_unit_test(test_mm3),
        cmocka_unit_test(test_mm8),
        cmocka_unit_test(test_closed_constant),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_stall_of_any_arrivals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
