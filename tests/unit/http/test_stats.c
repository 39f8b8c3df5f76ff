/* Counts are added field by field: none is left out, and none is counted twice. */
#include "support.h"

#include <string.h>

#include "http/http.h"

static void fill(struct http_stats *stats, int64_t start)
{
    http_stats_init(stats);
    int64_t *counts[] = {&stats->requests,
                         &stats->answers,
                         &stats->other_statuses,
                         &stats->interim,
                         &stats->sent_bytes,
                         &stats->received_bytes,
                         &stats->body_bytes,
                         &stats->connections_opened,
                         &stats->connections_failed,
                         &stats->connections_closed_by_peer,
                         &stats->connections_evicted,
                         &stats->handshakes_full,
                         &stats->handshakes_resumed,
                         &stats->retries,
                         &stats->continues,
                         &stats->blocked};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = start + (int64_t)i;
    for (int i = 0; i < 600; i++)
        stats->statuses[i] = start * i;
    struct hist *hists[] = {&stats->connect,      &stats->tls,           &stats->first_byte,
                            &stats->blocked_wait, &stats->continue_wait, &stats->exchanges_per_connection};
    for (size_t i = 0; i < sizeof hists / sizeof *hists; i++)
        hist_record_n(hists[i], 100 * (int64_t)(i + 1), start);
}

static void test_add(void **state)
{
    (void)state;
    struct http_stats a, b, sum;
    fill(&a, 3);
    fill(&b, 10);
    http_stats_init(&sum);
    http_stats_add(&sum, &a);
    http_stats_add(&sum, &b);
    /* up to the histograms the struct is numbers alone: each is the sum of two */
    const int64_t *of_a = (const int64_t *)&a, *of_b = (const int64_t *)&b, *of_sum = (const int64_t *)&sum;
    for (size_t i = 0; i < offsetof(struct http_stats, connect) / sizeof(int64_t); i++)
        assert_int_equal(of_sum[i], of_a[i] + of_b[i]);
    assert_int_equal(sum.requests, 13);
    const struct hist *hists[] = {&sum.connect,      &sum.tls,           &sum.first_byte,
                                  &sum.blocked_wait, &sum.continue_wait, &sum.exchanges_per_connection};
    for (size_t i = 0; i < sizeof hists / sizeof *hists; i++) {
        assert_int_equal(hists[i]->total, 13);
        assert_int_equal(hists[i]->max, 100 * (int64_t)(i + 1));
    }
    http_stats_release(&a);
    http_stats_release(&b);
    http_stats_release(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_add)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
