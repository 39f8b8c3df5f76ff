/* docs/study-file.md says what the program does: the same schema, every column, and queries that answer. */
#include <sqlite3.h>

#include "base/file.h"
#include "study_gen.h"

struct room {
    struct pl_arena *arena;
    char *folder, *path, *text;
    sqlite3 *db;
};

/* One trial with known figures: 50 operations in a window of 10 s, half a core of CPU. */
static void study_write(struct store *store, struct pl_err *err)
{
    const struct store_head head = {.title = "t", .plan_text = "", .plan_path = "", .subject = "db", .tool_version = ""};
    const struct fact fact = {
        .scope = "db", .name = "setting.shared_buffers", .value = "256", .unit = "MiB", .how = "SHOW"};
    const struct stage_row stage = {.id = 1, .kind = "rate", .name = "rate", .question = ""};
    const struct case_row row = {.id = 1, .stage_id = 1, .label = "rate=5/s"};
    const struct trial_row trial = {.id = 1,
                                    .case_id = 1,
                                    .why = "",
                                    .event_loop = "epoll",
                                    .warm_up_start_ns = 500000000,
                                    .measure_start_ns = 1000000000,
                                    .measure_end_ns = 11000000000};
    GEN_OK(store_put_head(store, &head, err), *err);
    GEN_OK(store_put_facts(store, &fact, 1, err), *err);
    GEN_OK(store_put_stage(store, &stage, err), *err);
    GEN_OK(store_put_case(store, &row, err), *err);
    GEN_OK(store_trial_begin(store, &trial, err), *err);
    struct sink sink = store_sink(store);
    const struct metric cpu = {.id = 1, .source = "db", .name = "cpu_ns", .unit = "ns", .kind = METRIC_COUNTER, .how = ""};
    const struct metric memory = {.id = 2, .source = "db", .name = "memory_anon_bytes", .unit = "bytes", .how = ""};
    GEN_OK(sink.metric(sink.ctx, &cpu, err), *err);
    GEN_OK(sink.metric(sink.ctx, &memory, err), *err);
    for (int64_t i = 0; i < 10; i++) {
        const struct slice slice = {.trial_id = 1,
                                    .start_ns = (i + 1) * 1000000000,
                                    .end_ns = (i + 2) * 1000000000,
                                    .during = PHASE_MEASURE,
                                    .due_in = PHASE_MEASURE,
                                    .step = -1,
                                    .ledger = {.due = 6, .completed = 5, .failed = 1}};
        struct slice step = slice, later = slice;
        step.step = 0;
        later.during = PHASE_DRAIN;
        later.ledger = (struct ledger){0};
        const struct sample used = {
            .trial_id = 1, .metric_id = 1, .t_ns = slice.end_ns, .phase = PHASE_MEASURE, .value = (double)i * 500000000.0};
        const struct sample held = {
            .trial_id = 1, .metric_id = 2, .t_ns = slice.end_ns, .phase = PHASE_MEASURE, .value = 4096.0};
        GEN_OK(sink.slice(sink.ctx, &slice, err), *err);
        GEN_OK(sink.slice(sink.ctx, &step, err), *err);
        GEN_OK(sink.slice(sink.ctx, &later, err), *err);
        GEN_OK(sink.sample(sink.ctx, &used, err), *err);
        GEN_OK(sink.sample(sink.ctx, &held, err), *err);
    }
    const struct fault fault = {
        .trial_id = 1, .source = "load", .phase = PHASE_MEASURE, .code = "40001", .count = 10, .example = "e"};
    GEN_OK(sink.fault(sink.ctx, &fault, err), *err);
    GEN_OK(store_trial_commit(store, &trial, err), *err);
}

static int room_setup(void **state)
{
    struct room *room = pl_new(1, sizeof *room);
    struct pl_err err = {0};
    struct store *store = NULL;
    size_t length = 0;
    room->arena = pl_arena_new();
    room->folder = gen_folder(room->arena);
    room->path = pl_format(room->arena, "%s/x.study", room->folder);
    GEN_OK(store_create(room->path, &store, &err), err);
    study_write(store, &err);
    GEN_OK(store_close(store, &err), err);
    GEN_OK(pl_file_read("docs/study-file.md", 1 << 20, room->arena, &room->text, &length, &err), err);
    assert_int_equal(sqlite3_open_v2(room->path, &room->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    *state = room;
    return 0;
}

static int room_teardown(void **state)
{
    struct room *room = *state;
    sqlite3_close(room->db);
    gen_folder_remove(room->arena, room->folder);
    pl_arena_free(room->arena);
    pl_free(room);
    return 0;
}

static void test_the_schema_is_the_one_in_the_program(void **state)
{
    struct room *room = *state;
    const char *heading = strstr(room->text, "\n## Schema\n");
    assert_non_null(heading);
    const char *start = strstr(heading, "```sql\n");
    assert_non_null(start);
    start += strlen("```sql\n");
    const char *end = strstr(start, "```");
    assert_non_null(end);
    assert_string_equal(pl_strndup(room->arena, start, (size_t)(end - start)), store_schema_text(room->arena));
}

static void assert_documented(struct room *room, const char *table, const char *column)
{
    const char *section = strstr(room->text, pl_format(room->arena, "\n### %s\n", table));
    if (section == NULL) {
        fail_msg("the table %s has no section", table);
        return;
    }
    const char *end = strstr(section + 1, "\n##"), *row = strstr(section, pl_format(room->arena, "\n| `%s` |", column));
    if (row == NULL || row > end)
        print_error("the column %s of %s has no row\n", column, table);
    assert_true(row != NULL && row < end);
}

static void test_every_column_is_explained(void **state)
{
    struct room *room = *state;
    sqlite3_stmt *stmt = NULL;
    int columns = 0;
    assert_int_equal(sqlite3_prepare_v2(room->db,
                                        "SELECT m.name, i.name FROM sqlite_schema m, pragma_table_info(m.name) i "
                                        "WHERE m.type = 'table'",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    for (; sqlite3_step(stmt) == SQLITE_ROW; columns++)
        assert_documented(room, (const char *)sqlite3_column_text(stmt, 0), (const char *)sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
    assert_true(columns > 80);
}

/* Runs the query; returns the last column of its first row. */
static double answer(struct room *room, const char *sql, int *ret_rows)
{
    sqlite3_stmt *stmt = NULL;
    double value = 0.0;
    if (sqlite3_prepare_v2(room->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        print_error("%s\n%s\n", sql, sqlite3_errmsg(room->db));
    assert_non_null(stmt);
    int rc;
    *ret_rows = 0;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        if ((*ret_rows)++ == 0)
            value = sqlite3_column_double(stmt, sqlite3_column_count(stmt) - 1);
    }
    assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(stmt);
    return value;
}

static void test_the_example_queries_answer(void **state)
{
    struct room *room = *state;
    const char *at = strstr(room->text, "\n## Example queries\n"), *end = strstr(room->text, "\n## Schema\n");
    int queries = 0;
    while ((at = strstr(at, "```sql\n")) != NULL && at < end) {
        at += strlen("```sql\n");
        const char *stop = strstr(at, "```");
        char *sql = pl_strndup(room->arena, at, (size_t)(stop - at));
        int rows;
        double value = answer(room, sql, &rows);
        if (rows == 0)
            print_error("no rows: %s\n", sql);
        assert_true(rows > 0);
        if (strstr(sql, "operations_per_s") != NULL)
            assert_close(value, 5.0, 0.0, 0.0);
        if (strstr(sql, "cpu_cores") != NULL)
            assert_close(value, 0.5, 0.0, 0.0);
        if (strstr(sql, "missing") != NULL)
            assert_close(value, 0.0, 0.0, 0.0);
        if (strstr(sql, "memory_anon_bytes") != NULL) {
            assert_int_equal(rows, 10);
            assert_close(value, 4096.0, 0.0, 0.0);
        }
        queries++;
        at = stop + 3;
    }
    assert_in_range(queries, 5, 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_schema_is_the_one_in_the_program),
        TEST(test_every_column_is_explained),
        TEST(test_the_example_queries_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
