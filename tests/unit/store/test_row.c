/* Values of a row are what they should be, or an error says which is not. */
#include <math.h>
#include <string.h>

#include "store/store_int.h"
#include "support.h"

struct fixture {
    sqlite3 *db;
    struct pl_arena *arena;
    struct pl_err err;
    struct row row;
};

static void fixture_start(struct fixture *fixture, const char *sql)
{
    *fixture = (struct fixture){.arena = pl_arena_new()};
    assert_int_equal(sqlite3_open(":memory:", &fixture->db), SQLITE_OK);
    fixture->row =
        (struct row){.path = "x.study", .table = "t", .number = 7, .arena = fixture->arena, .err = &fixture->err};
    assert_int_equal(sqlite3_prepare_v2(fixture->db, sql, -1, &fixture->row.stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(fixture->row.stmt), SQLITE_ROW);
}

static void fixture_end(struct fixture *fixture)
{
    sqlite3_finalize(fixture->row.stmt);
    sqlite3_close(fixture->db);
    pl_arena_free(fixture->arena);
}

static void test_good_values(void **state)
{
    (void)state;
    struct fixture f;
    fixture_start(&f, "SELECT -5, 'text', 2.5, 'warm-up', NULL, '', 9223372036854775807");
    assert_int_equal(row_i64(&f.row, 0, -5, -5), -5);
    assert_int_equal(row_int(&f.row, 0, -5), -5);
    const char *text = row_text(&f.row, 1);
    assert_close(row_f64(&f.row, 2), 2.5, 0.0, 0.0);
    assert_int_equal(row_phase(&f.row, 3), PHASE_WARM_UP);
    assert_null(row_hist(&f.row, 4)); /* absent is fine */
    assert_string_equal(row_text(&f.row, 5), "");
    assert_true(row_i64(&f.row, 6, INT64_MIN, INT64_MAX) == INT64_MAX);
    assert_int_equal(f.err.code, PL_OK);
    sqlite3_finalize(f.row.stmt);
    f.row.stmt = NULL;
    assert_string_equal(text, "text"); /* a copy: it outlives the row */
    fixture_end(&f);
}

enum kind { KIND_I64, KIND_INT, KIND_F64, KIND_TEXT, KIND_PHASE, KIND_HIST };

static void read_as(struct row *row, enum kind kind)
{
    switch (kind) {
    case KIND_I64:
        assert_int_equal(row_i64(row, 0, 0, 10), 0);
        break;
    case KIND_INT:
        assert_int_equal(row_int(row, 0, 0), 0);
        break;
    case KIND_F64:
        assert_close(row_f64(row, 0), 0.0, 0.0, 0.0);
        break;
    case KIND_TEXT:
        assert_string_equal(row_text(row, 0), "");
        break;
    case KIND_PHASE:
        assert_int_equal(row_phase(row, 0), 0);
        break;
    case KIND_HIST:
        assert_null(row_hist(row, 0));
        break;
    }
}

static void test_bad_values(void **state)
{
    static const struct {
        const char *sql;
        enum kind kind;
        const char *what;
    } cases[] = {
        {"SELECT NULL AS c", KIND_I64, "c is not an integer"},
        {"SELECT 'x' AS c", KIND_I64, "c is not an integer"},
        {"SELECT 11 AS c", KIND_I64, "c is 11"},
        {"SELECT -1 AS c", KIND_I64, "c is -1"},
        {"SELECT 2147483648 AS c", KIND_INT, "c is 2147483648"},
        {"SELECT 1 AS c", KIND_F64, "c is not a number"},
        {"SELECT 9e999 AS c", KIND_F64, "c is not finite"},
        {"SELECT NULL AS c", KIND_F64, "c is not a number"},
        {"SELECT NULL AS c", KIND_TEXT, "c is not a text"},
        {"SELECT x'41' AS c", KIND_TEXT, "c is not a text"},
        {"SELECT 'a' || char(0) AS c", KIND_TEXT, "zero byte"},
        {"SELECT 'Start' AS c", KIND_PHASE, "c is \"Start\""},
        {"SELECT 3 AS c", KIND_PHASE, "c is not a text"},
        {"SELECT 'h' AS c", KIND_HIST, "c is not a histogram"},
        {"SELECT x'' AS c", KIND_HIST, "c: "},
        {"SELECT x'ff00' AS c", KIND_HIST, "c: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_start(&f, cases[i].sql);
        read_as(&f.row, cases[i].kind);
        assert_int_equal(f.err.code, PL_STORE);
        assert_string_equal(f.err.file, "x.study");
        assert_non_null(strstr(f.err.what, "table t, row 7"));
        assert_non_null(strstr(f.err.what, cases[i].what));
        fixture_end(&f);
    }
}

static void test_the_first_bad_value_stays(void **state)
{
    (void)state;
    struct fixture f;
    fixture_start(&f, "SELECT NULL AS a, NULL AS b, 5 AS c, 'start' AS d");
    row_i64(&f.row, 0, 0, 1);
    row_text(&f.row, 1);
    assert_int_equal(row_i64(&f.row, 2, 0, 9), 0); /* not looked at any more */
    row_bad(&f.row, "something else");
    assert_non_null(strstr(f.err.what, "a is not an integer"));
    fixture_end(&f);
}

static void test_a_histogram(void **state)
{
    (void)state;
    struct fixture f;
    struct hist hist;
    struct pl_buf bytes;
    hist_init_latency(&hist);
    hist_record_n(&hist, 12345, 6);
    pl_buf_init(&bytes, 1 << 20);
    hist_encode(&hist, &bytes);
    fixture_start(&f, "SELECT NULL");
    sqlite3_finalize(f.row.stmt);
    assert_int_equal(sqlite3_prepare_v2(f.db, "SELECT ?", -1, &f.row.stmt, NULL), SQLITE_OK);
    sqlite3_bind_blob64(f.row.stmt, 1, bytes.data, bytes.len, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(f.row.stmt), SQLITE_ROW);
    struct hist *got = row_hist(&f.row, 0);
    assert_non_null(got);
    assert_int_equal(got->total, 6);
    assert_int_equal(got->max, 12345);
    hist_release(got);
    hist_release(&hist);
    fixture_end(&f);
    pl_buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_values),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_the_first_bad_value_stays),
        cmocka_unit_test(test_a_histogram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
