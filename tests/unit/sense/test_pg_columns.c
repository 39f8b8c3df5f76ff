/* Which columns are asked of which server, from recorded catalogs. */
#include "pass.h"

#include <stdio.h>

#include "base/file.h"

static char *catalog_of(int version, struct pl_arena *arena)
{
    struct pl_err err = {0};
    char path[100], *text = NULL;
    size_t length;
    snprintf(path, sizeof path, "tests/unit/sense/fixtures/catalog-%d.txt", version);
    assert_int_equal(pl_file_read(path, 1 << 20, arena, &text, &length, &err), PL_OK);
    return text;
}

static const char *how_of(const struct sense_pg_query *query, const char *metric)
{
    const char *how = "";
    for (int i = 0; i < query->count; i++) {
        if (strcmp(query->defs[i].name, metric) != 0)
            continue;
        assert_string_equal(how, ""); /* no metric twice */
        how = query->hows[i];
    }
    return how;
}

static void test_where_versions_differ(void **state)
{
    (void)state;
    static const struct {
        const char *metric, *how[4]; /* in 15, 16, 17, 18 */
    } rows[] = {
        {"checkpoints_timed",
         {"pg_stat_bgwriter.checkpoints_timed", "pg_stat_bgwriter.checkpoints_timed", "pg_stat_checkpointer.num_timed",
          "pg_stat_checkpointer.num_timed"}},
        {"checkpoints_requested",
         {"pg_stat_bgwriter.checkpoints_req", "pg_stat_bgwriter.checkpoints_req", "pg_stat_checkpointer.num_requested",
          "pg_stat_checkpointer.num_requested"}},
        {"checkpoints_done", {"", "", "", "pg_stat_checkpointer.num_done"}},
        {"checkpoint_buffers",
         {"pg_stat_bgwriter.buffers_checkpoint", "pg_stat_bgwriter.buffers_checkpoint",
          "pg_stat_checkpointer.buffers_written", "pg_stat_checkpointer.buffers_written"}},
        {"backend_buffers", {"pg_stat_bgwriter.buffers_backend", "pg_stat_bgwriter.buffers_backend", "", ""}},
        {"wal_writes",
         {"pg_stat_wal.wal_write", "pg_stat_wal.wal_write", "pg_stat_wal.wal_write",
          "pg_stat_io.writes, sum of object wal"}},
        {"relation_writes",
         {"", "pg_stat_io.writes, sum of relations and temp relations",
          "pg_stat_io.writes, sum of relations and temp relations",
          "pg_stat_io.writes, sum of relations and temp relations"}},
        {"wal_fpi", {"pg_stat_wal.wal_fpi", "pg_stat_wal.wal_fpi", "pg_stat_wal.wal_fpi", "pg_stat_wal.wal_fpi"}},
        {"commits",
         {"pg_stat_database.xact_commit of the load's database", "pg_stat_database.xact_commit of the load's database",
          "pg_stat_database.xact_commit of the load's database", "pg_stat_database.xact_commit of the load's database"}},
    };
    struct pl_arena *arena = pl_arena_new();
    for (int version = 15; version <= 18; version++) {
        struct sense_pg_query query;
        sense_pg_slow_query(catalog_of(version, arena), "'bench'", arena, &query);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            assert_string_equal(how_of(&query, rows[i].metric), rows[i].how[version - 15]);
        assert_non_null(strstr(query.sql, "datname = 'bench'"));
    }
    pl_arena_free(arena);
}

/* A column that the catalog does not have is in no query: dropping any line changes the text or leaves it as it was. */
static void test_dropped_columns(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const char *catalog = catalog_of(16, arena);
    struct sense_pg_query whole;
    sense_pg_slow_query(catalog, "'x'", arena, &whole);
    for (const char *line = catalog; *line != '\0';) {
        size_t here = strcspn(line, "\n"), rest = here + (line[here] != '\0');
        char *less = pl_format(arena, "%.*s%s", (int)(line - catalog), catalog, line + rest);
        const char *column = strchr(pl_strndup(arena, line, here), '.');
        struct sense_pg_query query;
        sense_pg_slow_query(less, "'x'", arena, &query);
        assert_true(query.count <= whole.count);
        if (strncmp(line, "pg_stat_wal.", 12) == 0) /* its columns have names of their own */
            assert_null(strstr(query.sql, pl_format(arena, "v1.%s)", column + 1)));
        line += rest;
    }
    struct sense_pg_query none;
    sense_pg_slow_query("", "'x'", arena, &none);
    assert_int_equal(none.count, 0);
    assert_string_equal(none.sql, "");
    pl_arena_free(arena);
}

/* Without the right to see other sessions their number is not known: it is not said to be 0. */
static void test_activity_needs_a_role(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    char *catalog = catalog_of(15, arena);
    struct sense_pg_query query;
    sense_pg_fast_query(catalog, arena, &query);
    assert_string_not_equal(how_of(&query, "connections_idle_in_transaction"), "");
    assert_string_not_equal(how_of(&query, "wal_lsn_bytes"), "");
    *strstr(catalog, "role.") = '\0';
    sense_pg_fast_query(catalog, arena, &query);
    assert_int_equal(query.count, 1);
    assert_string_equal(query.defs[0].name, "wal_lsn_bytes");
    assert_null(strstr(query.sql, "pg_stat_activity"));
    pl_arena_free(arena);
}

static void test_conninfo(void **state)
{
    (void)state;
    static const struct {
        const char *conninfo, *database;
        const char *has[3], *lacks;
    } rows[] = {
        {"host=/tmp dbname=postgres user=me", "bench", {"host='/tmp'", "dbname='bench'", "user='me'"}, "postgres"},
        {"host=/tmp dbname=postgres application_name=app",
         NULL,
         {"dbname='postgres'", "application_name='plimsoll-sense'", "host='/tmp'"},
         "app'"},
        {"postgresql://me:p%40ss@localhost:5555/postgres",
         "it's \\ me",
         {"dbname='it\\'s \\\\ me'", "password='p@ss'", "port='5555'"},
         "postgres"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = sense_pg_conninfo(rows[i].conninfo, rows[i].database);
        assert_non_null(text);
        for (size_t k = 0; k < 3; k++)
            assert_non_null(strstr(text, rows[i].has[k]));
        assert_null(strstr(text, rows[i].lacks));
        char *again = sense_pg_conninfo(text, rows[i].database); /* what is written can be read, and stays the same */
        assert_string_equal(again, text);
        pl_free(text);
        pl_free(again);
    }
    assert_null(sense_pg_conninfo("no such = thing = 'here", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_where_versions_differ), cmocka_unit_test(test_dropped_columns),
                                       cmocka_unit_test(test_activity_needs_a_role), cmocka_unit_test(test_conninfo)};
    return cmocka_run_group_tests_name("sense pg_columns", tests, NULL, NULL);
}
