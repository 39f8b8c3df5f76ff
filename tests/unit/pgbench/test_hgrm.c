/* The listing of --hdr: the responses of all scripts, in milliseconds. Its form is tested beside its writer, stats/hgrm.c.
 */
#include "outputs.h"

#include "stats/hgrm.h"

static void test_listing(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    struct pl_err err = {0};
    pgbench_total_init(&total, &outputs->options);
    hist_record_n(&total.whole.response, 2 * MS, 99);
    hist_record(&total.whole.response, 1500 * MS);
    hist_record(&total.whole.service, 7777 * MS);
    OK(pgbench_hgrm_write(outputs_path(outputs, "r.hgrm"), &total, &err), err);
    const char *text = outputs_read(outputs, "r.hgrm");
    struct pl_buf expected;
    pl_buf_init(&expected, 1 << 20);
    hist_hgrm_put(&total.whole.response, 1e6, &expected);
    assert_string_equal(text, pl_buf_text(&expected));
    assert_non_null(strstr(text, "    1500.000     1.000000          100          inf\n#[Mean    =       16.980,"));
    pl_buf_release(&expected);
    assert_int_equal(pgbench_hgrm_write(outputs_path(outputs, "no/r.hgrm"), &total, &err), PL_IO);
    assert_non_null(strstr(err.what, "no/r.hgrm"));
    pgbench_total_release(&total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {OUTPUTS_TEST(test_listing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
