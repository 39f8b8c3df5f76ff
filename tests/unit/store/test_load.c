/* Files that say what no study says: each is an error that names the table and what is wrong. */
#include <sqlite3.h>

#include "study_gen.h"

struct room {
    struct pl_arena *arena;
    char *folder, *path, *bytes;
    size_t length;
};

/* A sound study, kept as bytes so that each damage starts from it. */
static int room_setup(void **state)
{
    struct room *room = pl_new(1, sizeof *room);
    struct pl_rng rng;
    struct pl_err err = {0};
    struct store *store = NULL;
    int commits = 0;
    pl_rng_init(&rng, 21, PL_RNG_TEST, 0);
    room->arena = pl_arena_new();
    room->folder = gen_folder(room->arena);
    room->path = pl_format(room->arena, "%s/x.study", room->folder);
    struct study *made =
        gen_study(room->arena, &rng,
                  &(struct gen_size){.stages = 2, .cases = 2, .iterations = 2, .slices = 6, .metrics = 3, .samples = 6});
    GEN_OK(store_create(room->path, &store, &err), err);
    GEN_OK(gen_write(made, store, &commits, &err), err);
    GEN_OK(store_close(store, &err), err);
    assert_true(made->slice_count > 5 && made->sample_count > 5 && made->fault_count > 2 && made->fact_count > 0);
    store_release_study(made);
    FILE *file = fopen(room->path, "rb");
    room->bytes = pl_alloc(room->arena, 1 << 20, 1);
    room->length = fread(room->bytes, 1, 1 << 20, file);
    fclose(file);
    *state = room;
    return 0;
}

static int room_teardown(void **state)
{
    struct room *room = *state;
    gen_folder_remove(room->arena, room->folder);
    pl_arena_free(room->arena);
    pl_free(room);
    return 0;
}

static void file_put(const struct room *room, const char *bytes, size_t length)
{
    FILE *file = fopen(room->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        print_error("%s: %s\n", sql, message);
    assert_null(message);
}

/* Runs sql on a file whose tables have lost all constraints, and gives them their schema back. */
static void damage(const struct room *room, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
    run(db, "PRAGMA synchronous = OFF; CREATE TEMP TABLE schema_was AS SELECT name AS table_name, sql AS text FROM "
            "sqlite_schema WHERE type = 'table';"
            "PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' NOT NULL', ''), ') STRICT, ', ') '), ') "
            "STRICT', ')')"
            " WHERE type = 'table'");
    run(db, "PRAGMA writable_schema = RESET");
    run(db, sql);
    run(db, "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = (SELECT text FROM schema_was WHERE table_name = name) WHERE type = 'table'");
    sqlite3_close(db);
}

static enum pl_code load(const struct room *room, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    struct study *study = NULL;
    enum pl_code code = store_load(room->path, arena, &study, err);
    if (code == PL_OK)
        store_release_study(study);
    else
        assert_null(study);
    pl_arena_free(arena);
    return code;
}

static void test_the_sound_file_loads(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    damage(room, "SELECT 1");
    GEN_OK(load(room, &err), err);
}

static void test_each_damage_is_named(void **state)
{
    static const struct {
        const char *sql, *what;
    } cases[] = {
        {"UPDATE study SET title = NULL", "table study, row 1: title is not a text"},
        {"UPDATE study SET seed = 'x'", "table study, row 1: seed is not an integer"},
        {"UPDATE study SET plan_text = x'00'", "plan_text is not a text"},
        {"UPDATE study SET plan_text = 'a' || char(0) || 'b'", "plan_text has a zero byte"},
        {"DELETE FROM study", "the study is empty"},
        {"UPDATE fact SET value = x'05' WHERE id = (SELECT min(id) FROM fact)", "value is not a text"},
        {"UPDATE stage SET kind = NULL", "table stage, row 1: kind is not a text"},
        {"INSERT INTO stage_param VALUES (777, 0, 'n', 'v')", "belongs to no stage"},
        {"INSERT INTO stage_param VALUES (2, 9, 'n', 'v')", "table stage_param"},
        {"UPDATE case_row SET stage_id = 777 WHERE id = 3", "table case_row, row 3: there is no stage 777"},
        {"UPDATE case_row SET ordinal = 3000000000 WHERE id = 3", "table case_row, row 3: ordinal is 3000000000"},
        {"INSERT INTO case_param VALUES (777, 0, 'n', 'v')", "belongs to no stage or case"},
        {"UPDATE script SET case_id = 777 WHERE script = 0 AND step = 0 AND case_id = 2", "table script"},
        {"UPDATE script SET step = -2 WHERE step = -1 AND script = 0 AND case_id = 2", "step is -2"},
        {"UPDATE trial SET case_id = 777 WHERE ordinal = 1", "table trial, row 2: there is no case 777"},
        {"UPDATE trial SET state = 'good' WHERE ordinal = 0", "table trial, row 1: state is \"good\""},
        {"UPDATE trial SET state = NULL", "state is not a text"},
        {"UPDATE trial SET clients = -1", "clients is -1"},
        {"UPDATE trial SET why = NULL", "why is not a text"},
        {"UPDATE trial SET seed = 1.5", "seed is not an integer"},
        {"UPDATE slice SET trial_id = 777 WHERE id = 2", "table slice, row 2: there is no trial 777"},
        {"UPDATE slice SET during = 'lunch'", "during is \"lunch\""},
        {"UPDATE slice SET due_in = x'01'", "due_in is not a text"},
        {"UPDATE slice SET end_ns = start_ns - 1", "it ends before it starts"},
        {"UPDATE slice SET due = -5", "due is -5"},
        {"UPDATE slice SET step = 99999999999", "step is 99999999999"},
        {"UPDATE slice SET response_ns_histogram = x''", "response_ns_histogram:"},
        {"UPDATE slice SET service_ns_histogram = x'0102030405'", "service_ns_histogram:"},
        {"UPDATE slice SET tenant_group = -1", "tenant_group is -1"},
        {"UPDATE slice SET censored_ns_histogram = 'text'", "censored_ns_histogram is not a histogram"},
        {"UPDATE tenant_group SET case_id = 777 WHERE tenant_group = 0 AND case_id = 1", "table tenant_group"},
        {"UPDATE tenant_group SET tenants = -2", "tenants is -2"},
        {"UPDATE tenant_group SET weight_frac = 9e999", "weight_frac is not finite"},
        {"UPDATE slice SET lateness_ns_histogram = 'text'", "lateness_ns_histogram is not a histogram"},
        {"UPDATE slice SET response_ns_histogram = response_ns_histogram || x'00' WHERE response_ns_histogram IS NOT NULL",
         "response_ns_histogram"},
        {"UPDATE slice SET service_ns_histogram = zeroblob(70000000) WHERE id = 1", "a value is too large"},
        {"UPDATE slice SET id = -id", "id is -"},
        {"UPDATE metric SET id = 9 WHERE id = 3", "table metric, row 3: id is 9"},
        {"DELETE FROM metric WHERE id = 1", "table metric, row 1: id is 2"},
        {"UPDATE metric SET kind = 'histogram'", "kind is \"histogram\""},
        {"DELETE FROM metric WHERE id = 3", "table sample"},
        {"UPDATE sample SET metric_id = 0 WHERE id = 1", "metric_id is 0"},
        {"UPDATE sample SET trial_id = 777", "there is no trial 777"},
        {"UPDATE sample SET value = NULL", "value is not a number"},
        {"UPDATE sample SET value = 'seven'", "value is not a number"},
        {"UPDATE sample SET value = 9e999", "value is not finite"},
        {"UPDATE sample SET phase = ''", "phase is \"\""},
        {"UPDATE fault SET count = -1", "count is -1"},
        {"UPDATE fault SET trial_id = trial_id + 777", "table fault, row 1: there is no trial 77"},
        {"UPDATE fault SET example = NULL", "example is not a text"},
    };
    struct room *room = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pl_err err = {0};
        file_put(room, room->bytes, room->length);
        damage(room, cases[i].sql);
        load(room, &err);
        if (strstr(err.what, cases[i].what) == NULL)
            print_error("%s: wanted \"%s\", got \"%s\"\n", cases[i].sql, cases[i].what, err.what);
        assert_int_equal(err.code, PL_STORE);
        assert_non_null(strstr(err.what, cases[i].what));
        assert_string_equal(err.file, room->path);
    }
}

/* Bytes changed at random: an error or a study, never a crash, never without end. */
static void test_random_bytes(void **state)
{
    struct room *room = *state;
    struct pl_rng rng;
    pl_rng_init(&rng, 22, PL_RNG_TEST, 0);
    char *bytes = pl_alloc(room->arena, room->length, 1);
    int refused = 0, rounds = 400;
    for (int round = 0; round < rounds; round++) {
        memcpy(bytes, room->bytes, room->length);
        for (int64_t i = pl_rng_range(&rng, 1, 30); i > 0; i--)
            bytes[pl_rng_range(&rng, 0, (int64_t)room->length - 1)] = (char)pl_rng_range(&rng, 0, 255);
        file_put(room, bytes, room->length);
        struct pl_err err = {0};
        if (load(room, &err) != PL_OK) {
            assert_int_equal(err.code, PL_STORE);
            assert_true(err.what[0] != '\0');
            refused++;
        }
    }
    assert_in_range(refused, 50, rounds);
}

enum { PAGE_BYTES = 4096, LEVELS = 8, CHILDREN = 400 };

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* An inner page of a table whose children are all the same page. */
static void page_of_one_child(unsigned char *page, uint32_t child)
{
    memset(page, 0, PAGE_BYTES);
    int end = PAGE_BYTES;
    for (int i = 0; i < CHILDREN; i++) {
        end -= 5;
        put_u32(&page[end], child);
        page[end + 4] = 100; /* the largest rowid below it */
        page[12 + 2 * i] = (unsigned char)(end >> 8);
        page[13 + 2 * i] = (unsigned char)end;
    }
    page[0] = 5;
    page[3] = CHILDREN >> 8;
    page[4] = CHILDREN & 255;
    page[5] = (unsigned char)(end >> 8);
    page[6] = (unsigned char)end;
    put_u32(&page[8], child);
}

static uint32_t root_page(const char *path, const char *table)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?", -1, &stmt, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    uint32_t root = (uint32_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return root;
}

/* Level upon level of such pages: a small file with 400^8 ways to one leaf. The reading ends all the same. */
static void test_pages_in_circles(void **state)
{
    static const char *const tables[] = {"sample", "metric", "slice", "fact", "trial"};
    struct room *room = *state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        file_put(room, room->bytes, room->length);
        uint32_t root = root_page(room->path, tables[t]), pages = (uint32_t)(room->length / PAGE_BYTES);
        size_t length = room->length + LEVELS * PAGE_BYTES;
        unsigned char *bytes = pl_alloc(room->arena, length, 1);
        memcpy(bytes, room->bytes, room->length);
        unsigned char *root_bytes = bytes + (size_t)(root - 1) * PAGE_BYTES;
        memcpy(bytes + room->length, root_bytes, PAGE_BYTES);
        for (uint32_t level = 1; level < LEVELS; level++)
            page_of_one_child(bytes + room->length + (size_t)level * PAGE_BYTES, pages + level);
        page_of_one_child(root_bytes, pages + LEVELS);
        put_u32(bytes + 28, pages + LEVELS);
        file_put(room, (char *)bytes, length);
        struct pl_err err = {0};
        assert_int_equal(load(room, &err), PL_STORE);
        assert_non_null(strstr(err.what, "damaged"));
    }
}

static void test_a_legitimate_large_study_is_inside_the_budget(void **state)
{
    struct room *room = *state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(room->path, &db), SQLITE_OK);
    run(db, "INSERT INTO sample (trial_id, metric_id, t_ns, phase, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
            "SELECT i + 1 "
            "FROM n WHERE i < 300000) SELECT (SELECT min(id) FROM trial), 1 + i % 3, -i, 'start', 0.0 FROM n;"
            "INSERT INTO slice (trial_id, start_ns, end_ns, during, due_in, script, step, tenant_group, due, completed, "
            "failed, "
            "skipped, expired, unfinished, never_started, retried, retries, serialization, deadlock, above_limit) "
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            "SELECT (SELECT min(id) FROM trial), -i, -i, 'start', 'start', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 "
            "FROM n");
    sqlite3_close(db);
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct study *study = NULL;
    GEN_OK(store_load(room->path, arena, &study, &err), err);
    assert_true(study->sample_count > 300000 && study->slice_count > 100000);
    for (size_t i = 1; i < study->sample_count; i++) {
        const struct sample *a = &study->samples[i - 1], *b = &study->samples[i];
        assert_true(a->trial_id < b->trial_id || (a->trial_id == b->trial_id && a->metric_id < b->metric_id) ||
                    (a->trial_id == b->trial_id && a->metric_id == b->metric_id && a->t_ns <= b->t_ns));
    }
    for (size_t i = 1; i < study->slice_count; i++) {
        const struct slice *a = &study->slices[i - 1], *b = &study->slices[i];
        assert_true(a->trial_id < b->trial_id || (a->trial_id == b->trial_id && a->start_ns <= b->start_ns));
    }
    store_release_study(study);
    pl_arena_free(arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_sound_file_loads),
        TEST(test_each_damage_is_named),
        TEST(test_random_bytes),
        TEST(test_pages_in_circles),
        TEST(test_a_legitimate_large_study_is_inside_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
