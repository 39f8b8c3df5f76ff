/* The live view on something that is no terminal, and the block itself. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/live.h"

static char *text;
static size_t length;

static struct live open_live(FILE **ret_out, bool is_terminal)
{
    struct live live = {0};
    *ret_out = open_memstream(&text, &length);
    live.out = *ret_out;
    live.width = 80;
    live.is_terminal = is_terminal;
    live.trials = 2;
    return live;
}

static void test_plain(void **state)
{
    (void)state;
    FILE *out;
    struct live live = open_live(&out, false);
    live_trial(&live, "clients", "clients=4", 0, 3);
    struct live_view view = {.phase = "measure", .has_load = true, .completed_per_s = 100};
    live_update(&live, &view);
    live_say(&live, "a line with %d", 1);
    live_stopping(&live);
    live_stopping(&live);
    live_end(&live);
    fclose(out);
    assert_string_equal(text, "[1/2] clients: clients=4, iteration 1 of 3\na line with 1\n"
                              "stopping: what is under way is drained; press Ctrl-C again to stop at once\n");
    free(text);
}

static void test_block(void **state)
{
    (void)state;
    FILE *out;
    struct live live = open_live(&out, true);
    live_trial(&live, "clients", "clients=4", 0, 1);
    struct live_view view = {.phase = "measure",
                             .done_frac = 0.5,
                             .left_ns = 65000000000,
                             .has_load = true,
                             .completed_per_s = 1234,
                             .p50_ns = 250000,
                             .p99_ns = 1500000,
                             .failed = 2,
                             .expired = 7,
                             .memory_bytes = 64.0 * 1048576,
                             .cpu_cores = 0.5};
    live_update(&live, &view);
    live_update(&live, &view); /* too soon: not drawn again */
    live_say(&live, "said");
    fclose(out);
    assert_non_null(strstr(text, " 1/2  clients: clients=4  measure\n"));
    assert_non_null(strstr(text, "1:05 left"));
    assert_non_null(strstr(text, "1234/s  p50 250"));
    assert_non_null(strstr(text, "failed 2  expired 7  |  subject: 64"));
    assert_non_null(strstr(text, "\r\x1b[3A\x1b[Jsaid\n"));
    assert_null(strstr(strstr(text, "1:05 left") + 1, "1:05 left"));
    free(text);
}

/* A server that runs elsewhere: nothing of it is read, and nothing is shown. */
static void test_nothing_of_the_subject(void **state)
{
    (void)state;
    FILE *out;
    struct live live = open_live(&out, true);
    live_trial(&live, "clients", "clients=4", 0, 1);
    struct live_view view = {
        .phase = "measure", .has_load = true, .completed_per_s = 1234, .p99_ns = 1500000, .memory_bytes = -1};
    live_update(&live, &view);
    fclose(out);
    assert_non_null(strstr(text, "1234/s"));
    assert_null(strstr(text, "subject"));
    assert_null(strstr(text, "cores"));
    free(text);
}

static void test_control_bytes(void **state)
{
    (void)state;
    FILE *out;
    struct live live = open_live(&out, false);
    live_say(&live, "%s", "a\x1b[2Jb\x7f\r");
    fclose(out);
    assert_string_equal(text, "a?[2Jb??\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_block),
                                       cmocka_unit_test(test_nothing_of_the_subject), cmocka_unit_test(test_control_bytes)};
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
