/* The top of the page: what was measured, on what, and the most important numbers. */
#include "pages.h"

static void test_full_study(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "Highest throughput, select-only: **[10,020/s]");
    assert_holds(page, "** select-only, 4 clients; 95 % interval 9,280");
    assert_holds(page, "Idle memory, without file cache: **[97.0 MiB]");
    assert_holds(page, "Disk per operation: **[60.0 B]");
    assert_holds(page, "The subject is `db` (`PostgreSQL 15.14`).");
    assert_holds(page, "| Memory         | 23.5 GiB          |");
    assert_holds(page, "| `shared_buffers` | `256MB` |");
    assert_holds(page, "[420 \xc2\xb5s]");
    assert_holds(page, "- (a) the server did not answer");
    assert_lacks(page, "Flush before");
    assert_lacks(page, "was not completed");
    assert_holds(page, "    study: A study of known answers\n");
    pl_free(page);
}

static void test_study_that_was_broken_off(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    synth->study.ended_unix_ns = 0;
    char *page = markdown_of(synth);
    assert_holds(page, "> The study was not completed");
    pl_free(page);
    synth = synth_new();
    page = markdown_of(synth);
    assert_holds(page, "holds no trial from which a figure can be given");
    pl_free(page);
}

/* Units of facts are read, not printed raw. */
static void test_facts(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    synth_fact(synth, "host", "disk_size_bytes", "1099511627776", "bytes", "x");
    synth_fact(synth, "host", "device_size", "536870912", "512-byte sectors", "x");
    synth_fact(synth, "host", "cpu_governor", "unknown: no such file", "", "x");
    synth_fact(synth, "host", "probe.commit", "hidden here", "", "x");
    char *page = markdown_of(synth);
    assert_holds(page, "| Disk size    | 1.00 TiB ");
    assert_holds(page, "| 536,870,912 512-byte sectors |");
    assert_holds(page, "| CPU governor | unknown: no such file ");
    assert_lacks(page, "hidden here");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_study),
        cmocka_unit_test(test_study_that_was_broken_off),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests_name("about", tests, NULL, NULL);
}
