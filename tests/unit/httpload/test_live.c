/* The line of each second. */
#include "made.h"

#include <stdlib.h>

static void look(struct httpload_live *live, double at_s, int64_t completed, enum phase phase)
{
    const struct load_glance glance = {
        .phase = phase, .completed_per_s = 123.4, .p50_ns = 2 * MS, .p99_ns = 30 * MS, .completed = completed, .failed = 3};
    httpload_live_look(live, &glance, START + (int64_t)(at_s * 1e9));
}

static void test_lines(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct httpload_live live;
    httpload_live_begin(&live, out, false, START);
    look(&live, 0.5, 50, PHASE_WARM_UP);
    look(&live, 1.01, 100, PHASE_WARM_UP);
    look(&live, 1.5, 150, PHASE_MEASURE);
    look(&live, 4.2, 400, PHASE_MEASURE); /* it did not get to run: one line, not three */
    look(&live, 4.9, 490, PHASE_MEASURE);
    look(&live, 5.0, 500, PHASE_DRAIN);
    httpload_live_end(&live);
    fclose(out);
    assert_string_equal(text, "     1 s       123.4/s  p50   2.00 ms  p99   30.0 ms  completed 100  failed 3  warm-up\n"
                              "     4 s       123.4/s  p50   2.00 ms  p99   30.0 ms  completed 400  failed 3\n"
                              "     5 s       123.4/s  p50   2.00 ms  p99   30.0 ms  completed 500  failed 3  drain\n");
    free(text);
}

static void test_terminal(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct httpload_live live;
    httpload_live_begin(&live, out, true, START);
    look(&live, 1, 100, PHASE_WARM_UP);
    look(&live, 2, 200, PHASE_MEASURE);
    httpload_live_end(&live);
    fclose(out);
    assert_null(strchr(text, '\n'));
    assert_int_equal(text[0], '\r');
    assert_int_equal(text[length - 1], '\r');             /* and it was taken off again */
    assert_non_null(strstr(text, "failed 3         \r")); /* over what was longer */
    free(text);
    httpload_live_begin(&live, NULL, false, START);
    look(&live, 1, 100, PHASE_MEASURE);
    httpload_live_end(&live);
}

/* A line that is broken in two could not be taken off. */
static void test_narrow_terminal(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct httpload_live live;
    httpload_live_begin(&live, out, true, START);
    live.columns = 30;
    look(&live, 1, 100, PHASE_WARM_UP);
    look(&live, 2, 200, PHASE_MEASURE);
    live.columns = 20;
    look(&live, 3, 200, PHASE_MEASURE);
    httpload_live_end(&live);
    fclose(out);
    assert_string_equal(text, "\r     1 s       123.4/s  p50  \r     2 s       123.4/s  p50  \r     3 s       123."
                              "\r                   \r");
    free(text);
}

static void test_columns_are_aligned(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct httpload_live live;
    const struct load_glance glance = {.completed_per_s = 94522.4, .p50_ns = 142 * US, .p99_ns = 4 * MS};
    httpload_live_begin(&live, out, false, START);
    httpload_live_look(&live, &glance, START + SECOND);
    httpload_live_end(&live);
    fclose(out);
    assert_string_equal(text, "     1 s      94,522/s  p50    142 \xc2\xb5s  p99   4.00 ms  completed 0  failed 0\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_terminal),
                                       cmocka_unit_test(test_narrow_terminal), cmocka_unit_test(test_columns_are_aligned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
