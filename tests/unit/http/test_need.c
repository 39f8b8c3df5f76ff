/* What is predicted before a run, and that the number in the sentence would work. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "http/http.h"

static struct pl_arena *arena;
static const struct http_limits limits = {.descriptors = 1024, .ports = 28232, .time_wait_s = 60};

/* The number behind `words`. */
static long long number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    assert_non_null(at);
    return strtoll(at + strlen(words), NULL, 10);
}

static void test_descriptors(void **state)
{
    (void)state;
    struct http_need need = {.connections = 1000, .destinations = 1, .sources = 1, .other_descriptors = 24};
    assert_null(http_need_check(&need, &limits, arena));
    need.connections = 1001;
    const char *text = http_need_check(&need, &limits, arena);
    assert_non_null(strstr(text, "descriptors"));
    assert_int_equal(number_after(text, "at most "), 1000);
    assert_int_equal(number_after(text, "limit of "), 1025);
}

static void test_ports(void **state)
{
    (void)state;
    struct http_limits wide = limits;
    wide.descriptors = 1000000;
    struct http_need need = {.connections = 28233, .destinations = 1, .sources = 1};
    const char *text = http_need_check(&need, &wide, arena);
    assert_int_equal(number_after(text, "at most "), 28232);
    assert_int_equal(number_after(text, "work, or "), 2);
    need.connections = 28232;
    assert_null(http_need_check(&need, &wide, arena));
    need = (struct http_need){.connections = 100000, .destinations = 4, .sources = 1};
    assert_null(http_need_check(&need, &wide, arena));
    need = (struct http_need){.connections = 100000, .sources = 1}; /* a Unix socket */
    assert_null(http_need_check(&need, &wide, arena));
}

static void test_churn(void **state)
{
    (void)state;
    struct http_need need = {
        .connections = 10, .destinations = 1, .sources = 1, .new_connections_per_s = 5000, .duration_s = 300};
    const char *text = http_need_check(&need, &limits, arena);
    assert_non_null(text);
    long long rate = number_after(text, "at most "), sources = number_after(text, "work, or ");
    assert_int_equal(rate, (28232 - 10) / 60);
    struct http_need better = need;
    better.new_connections_per_s = (double)rate;
    assert_null(http_need_check(&better, &limits, arena));
    better.new_connections_per_s = (double)rate + 1;
    assert_non_null(http_need_check(&better, &limits, arena));
    better = need;
    better.sources = sources;
    assert_null(http_need_check(&better, &limits, arena));
    better.sources = sources - 1;
    assert_non_null(http_need_check(&better, &limits, arena));
    need.duration_s = 5; /* over before a port would be needed again */
    assert_null(http_need_check(&need, &limits, arena));
}

static void test_of_this_machine(void **state)
{
    (void)state;
    struct http_need need = {.connections = 4, .destinations = 1, .sources = 1, .other_descriptors = 16};
    assert_null(http_need_refusal(&need, arena));
    struct rlimit before, raised;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit low = before;
    low.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &low);
    need.connections = 100;
    assert_null(http_need_refusal(&need, arena)); /* it raised the soft limit */
    getrlimit(RLIMIT_NOFILE, &raised);
    assert_int_equal(raised.rlim_cur, 116);
    setrlimit(RLIMIT_NOFILE, &before);
    need.connections = INT64_C(1) << 40;
    assert_non_null(http_need_refusal(&need, arena));
    setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_of_this_machine),
    };
    arena = pl_arena_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pl_arena_free(arena);
    return failed;
}
