/* Closed forms against values that were derived by hand or printed in the literature. */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "model/queue.h"

static void test_three_servers(void **state)
{
    (void)state;
    assert_close(queue_erlang_b(3, 2), 4.0 / 19, 1e-14, 0);
    assert_close(queue_erlang_c(3, 2), 4.0 / 9, 1e-14, 0);
    assert_close(queue_mmc_wait(3, 2, 1), 4.0 / 9, 1e-14, 0);
    assert_close(queue_mmc_response(3, 2, 1), 1.4444444444, 1e-10, 0);
}

static void test_one_server(void **state)
{
    (void)state;
    assert_close(queue_mmc_response(1, 75, 0.01), 0.04, 1e-13, 0);
    assert_close(queue_mmc_response_quantile(1, 75, 0.01, 0.50), 0.0277259, 0, 5e-8);
    assert_close(queue_mmc_response_quantile(1, 75, 0.01, 0.95), 0.1198293, 0, 5e-8);
    assert_close(queue_mmc_response_quantile(1, 75, 0.01, 0.99), 0.1842068, 0, 5e-8);
    /* exactly exponential with rate mu - lambda */
    for (double q = 0.001; q < 1; q += 0.0371)
        assert_close(queue_mmc_response_quantile(1, 75, 0.01, q), -log1p(-q) / 25, 1e-10, 0);
    assert_close(queue_erlang_c(1, 0.75), 0.75, 1e-15, 0);
    assert_close(queue_erlang_b(1, 0.75), 0.75 / 1.75, 1e-15, 0);
}

static void test_tables(void **state)
{
    (void)state;
    assert_close(queue_erlang_c(2, 1.5), 9.0 / 14, 1e-14, 0);
    assert_close(queue_mmc_wait(2, 1.5, 1), 9.0 / 7, 1e-14, 0);
    assert_close(queue_erlang_b(8, 6), 1458.0 / 11963, 1e-14, 0);
    assert_close(queue_erlang_c(8, 6), 5832.0 / 16337, 1e-14, 0);
    assert_close(queue_erlang_c(8, 6), 0.3569810859, 1e-9, 0);
    assert_close(queue_mmc_wait(8, 6, 1), 0.1784905429, 1e-9, 0);
    assert_close(queue_erlang_c(4, 3), 27.0 / 53, 1e-14, 0);
    assert_close(queue_mmc_wait(4, 300, 0.01), 27.0 / 5300, 1e-13, 0);
    assert_close(queue_erlang_c(10, 9), 0.6687315241, 1e-9, 0);
    assert_close(queue_erlang_c(20, 20 * 0.8), queue_mmc_wait(20, 16, 1) * 4, 1e-13, 0);
}

/* c = 8, a = 6: the wait is exponential with rate 2 above an atom, its p95 and p99 are published; the response tail must
 * agree with the convolution, integrated by Simpson's rule. */
static double tail_by_integration(int servers, double lambda, double service, double t)
{
    double mu = 1 / service, c = queue_erlang_c(servers, lambda * service), drain = servers * mu - lambda, sum = 0;
    int steps = 20000;
    for (int i = 0; i <= steps; i++) {
        double w = t * i / steps, weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
        sum += weight * c * drain * exp(-drain * w) * exp(-mu * (t - w));
    }
    return (1 - c) * exp(-mu * t) + sum * t / steps / 3 + c * exp(-drain * t);
}

static void test_tail_is_the_convolution(void **state)
{
    (void)state;
    double c = queue_erlang_c(8, 6);
    assert_close(log(c / 0.05) / 2, 0.982830, 1e-6, 0);
    assert_close(log(c / 0.01) / 2, 1.787549, 1e-6, 0);
    static const struct {
        int servers;
        double lambda, service;
    } cases[] = {{8, 6, 1}, {4, 300, 0.01}, {1, 75, 0.01}, {2, 1.5, 1}, {3, 0.1, 1}, {16, 15.5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (double t = 0.1; t < 12; t *= 1.7) {
            double at = t * cases[i].service;
            assert_close(queue_mmc_response_tail(cases[i].servers, cases[i].lambda, cases[i].service, at),
                         tail_by_integration(cases[i].servers, cases[i].lambda, cases[i].service, at), 1e-9, 1e-14);
        }
}

/* theta = c mu - lambda - mu = 0: the formula's own limit, and nothing jumps around it. */
static void test_theta_zero(void **state)
{
    (void)state;
    double c = queue_erlang_c(3, 2);
    for (double t = 0.01; t < 30; t *= 2) {
        double exact = exp(-t) * (1 + c * t);
        assert_close(queue_mmc_response_tail(3, 2, 1, t), exact, 1e-13, 0);
        assert_close(queue_mmc_response_tail(3, 2 + 1e-9, 1, t), exact, 1e-7, 0);
        assert_close(queue_mmc_response_tail(3, 2 - 1e-9, 1, t), exact, 1e-7, 0);
    }
    double q99 = queue_mmc_response_quantile(3, 2, 1, 0.99);
    assert_close(exp(-q99) * (1 + c * q99), 0.01, 1e-10, 0);
}

static void test_quantile_inverts_tail(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_TEST, 0);
    for (int i = 0; i < 500; i++) {
        int servers = (int)pl_rng_range(&rng, 1, 40);
        double service = exp(8 * pl_rng_unit(&rng) - 4), rho = 0.995 * pl_rng_unit(&rng),
               q = 0.001 + 0.998 * pl_rng_unit(&rng);
        double lambda = rho * servers / service, t = queue_mmc_response_quantile(servers, lambda, service, q);
        assert_close(queue_mmc_response_tail(servers, lambda, service, t), 1 - q, 1e-8, 1e-11);
        assert_true(queue_mmc_response_tail(servers, lambda, service, t * 1.01) < 1 - q);
    }
}

static void test_edges(void **state)
{
    (void)state;
    assert_true(isnan(queue_mmc_wait(1, 100, 0.01)));
    assert_true(isnan(queue_mmc_response(2, 201, 0.01)));
    assert_true(isnan(queue_erlang_c(2, 2)));
    assert_true(isnan(queue_erlang_b(0, 1)));
    assert_true(isnan(queue_erlang_b(1, -1)));
    assert_true(isnan(queue_erlang_b(1, (double)NAN)));
    assert_true(isnan(queue_mmc_response_quantile(1, 50, 0.01, 1)));
    assert_true(isnan(queue_mmc_response_quantile(1, 50, 0.01, 0)));
    assert_true(isnan(queue_mmc_response_tail(1, 50, 0.01, (double)NAN)));
    assert_close(queue_mmc_response(4, 0, 2), 2, 0, 0);
    assert_close(queue_erlang_b(3, 0), 0, 0, 0);
    assert_close(queue_mmc_response_tail(1, 75, 0.01, 0), 1, 0, 0);
    assert_close(queue_mmc_response_tail(1, 75, 0.01, 1e9), 0, 0, 0);
    assert_true(queue_erlang_b(100000, 99000) > 0 && queue_erlang_b(100000, 99000) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_servers), cmocka_unit_test(test_one_server),
        cmocka_unit_test(test_tables),        cmocka_unit_test(test_tail_is_the_convolution),
        cmocka_unit_test(test_theta_zero),    cmocka_unit_test(test_quantile_inverts_tail),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
