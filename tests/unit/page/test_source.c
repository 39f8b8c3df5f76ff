/* Where every number comes from. */
#include "pages.h"

static void test_rows(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "**Figures of clients**");
    /* trials of one case lie four apart: no range; the value is not rounded */
    assert_holds(page, "`wal_bytes_per_operation` ");
    assert_holds(page, " 993.099173553719 | bytes ");
    assert_holds(page, "| 3, 7, 11 ");
    assert_holds(page, "<a id=\"m1\"></a>M1 ");
    assert_holds(page, "Student's t interval.");
    pl_free(page);
}

/* Trials that follow each other are a range. */
static void test_ranges(void **state)
{
    (void)state;
    struct synth *synth = synth_new();
    int64_t row = synth_case(synth, synth_stage(synth, "clients", "?", "clients=1"), "");
    for (int i = 0; i < 5; i++)
        synth_closed_loop(synth, synth_trial(synth, row, i, 3, 1), 1e6, 0);
    synth->trials[3].state = TRIAL_VOID;
    char *page = markdown_of(synth);
    assert_holds(page, "| 1\xe2\x80\x93"
                       "3, 5 ");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
