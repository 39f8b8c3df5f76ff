/* Bytes on disk for each operation. */
#include "figures.h"

static void test_storage(void **state)
{
    const struct fixture *fixture = *state;
    double operations = find(fixture, "storage", "", "", "all_completed")->value;
    assert_figure(fixture, "storage", "", "db", "database_before_bytes", 160e6);
    assert_figure(fixture, "storage", "", "db", "database_after_bytes", 160e6 + 60 * operations);
    assert_figure(fixture, "storage", "", "db", "database_growth_bytes", 60 * operations);
    assert_figure(fixture, "storage", "", "db", "database_bytes_per_operation", 60);
    assert_figure(fixture, "storage", "", "pgbench_history", "table_bytes_per_operation", 52);
    assert_figure(fixture, "storage", "", "pgbench_history", "rows_per_operation", 1);
    assert_figure(fixture, "storage", "", "pgbench_accounts", "index_bytes_per_operation", 8);
    assert_figure(fixture, "storage", "", "pgbench_accounts", "table_growth_bytes", 0);
    assert_figure(fixture, "storage", "", "db", "wal_records", 40000 * 6.011);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        figures_test(test_storage),
    };
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
