/* Footprint, write-ahead log, storage. */
#include "pages.h"

static void test_tables(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "| Together                      |");
    assert_holds(page, "shared memory is counted once for every process that maps it");
    assert_holds(page, "| `storage` | tpcb-like              |     [3,940]");
    assert_holds(page, "| `pgbench_history`  | table     |");
    assert_holds(page, "a trial held 1 checkpoint: full-page images follow a checkpoint");
    assert_holds(page, "nothing was written to the write-ahead log");
    pl_free(page);
}

/* Without a stage of the kind there is no section of it. */
static void test_nothing_to_tell(void **state)
{
    (void)state;
    char *page = markdown_of(small_study());
    assert_lacks(page, "## Footprint");
    assert_lacks(page, "## Write-ahead log");
    assert_lacks(page, "## Storage");
    assert_lacks(page, "## Latency and cost by rate");
    assert_holds(page, "## Throughput by number of clients");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_nothing_to_tell),
    };
    return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
