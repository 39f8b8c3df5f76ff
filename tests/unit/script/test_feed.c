/* Feeds: CSV and JSON lines good and bad, patterns, groups, the three orders, draws by weight, many threads. */
#include "script_test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "script/feed.h"

static struct feed *feed_must(const char *path, const char *text, enum feed_order order)
{
    struct pl_err err = {0};
    struct feed *feed = NULL;
    if (feed_parse(path, text, strlen(text), order, names, arena, &feed, &err) != PL_OK)
        fail_msg("%d:%d: %s in:\n%s", err.line, err.col, err.what, text);
    return feed;
}

/* The row as "name=text name=int 5". */
static const char *row_shown(const struct feed *feed, uint32_t row)
{
    const char *shown = "";
    struct value own[64] = {0};
    feed_set(feed, row, own);
    for (size_t i = 0; i < feed->column_count; i++) {
        const struct value *value = &own[feed->columns[i].variable];
        char text[VALUE_DESCRIBE_BYTES];
        if (value->type == VALUE_TEXT) {
            assert_int_equal(strlen(value->text), value->length);
            shown = pl_format(arena, "%s%s%s=%s", shown, i > 0 ? "|" : "", feed->columns[i].name, value->text);
            continue;
        }
        value_describe(value, text);
        shown = pl_format(arena, "%s%s%s=%s", shown, i > 0 ? "|" : "", feed->columns[i].name, text);
    }
    return shown;
}

static void expect_rows(const struct feed *feed, const char *const *rows, size_t count)
{
    assert_int_equal(feed->row_count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(row_shown(feed, (uint32_t)i), rows[i]);
}

static void test_csv(void **state)
{
    (void)state;
    static const char *const rows[] = {"a=1|b-c=x", "a=|b-c=y z", "a=q\"uo,te|b-c=two\nlines", "a= 4 |b-c="};
    static const char *const texts[] = {
        "a,b-c\n1,x\n,y z\n\"q\"\"uo,te\",\"two\nlines\"\n\" 4 \",\n",
        "a,b-c\r\n1,x\r\n\r\n,y z\r\n\"q\"\"uo,te\",\"two\nlines\"\r\n 4 ,\"\"",
        "\xef\xbb\xbf\"a\",\"b-c\"\n\n1,x\n,y z\n\"q\"\"uo,te\",\"two\nlines\"\n 4 ,\n\n\n"};
    for (size_t i = 0; i < COUNT(texts); i++)
        expect_rows(feed_must("t.csv", texts[i], FEED_SEQUENTIAL), rows, COUNT(rows));
    static const char *const one[] = {"u=ann", "u=", "u=bob"};
    expect_rows(feed_must("t.csv", "u\nann\n\"\"\nbob\n\n", FEED_SEQUENTIAL), one, 3);
    /* what the rows set is known to scripts, names with hyphens to those of Hurl */
    assert_true(names_find(names, "b-c", 3) >= 0);
    script_compile(PROGRAM_STRICT, "\\set x :a + 1\nSELECT :x;");
    const struct feed *feed = feed_must("t.csv", texts[0], FEED_SEQUENTIAL);
    assert_int_equal(feed_column(feed, "b-c"), 1);
    assert_int_equal(feed_column(feed, "b"), -1);
    assert_string_equal(feed->groups[0].name, "");
    assert_int_equal(feed->group_count, 1);
}

static void test_json_lines(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "i=int 7|f=double 1.5|b=boolean true|z=null|t=a\xc3\xa9|l=[1, \"x\"]|o={\"k\": null}",
        "i=text|f=int 2|b=null|z=|t=u\"|l=double 0.25|o=boolean false"};
    static const char text[] =
        "{\"i\":7,\"f\":1.5,\"b\":true,\"z\":null,\"t\":\"a\\u00e9\",\"l\":[1, \"x\"],\"o\":{\"k\": null}}\n\n"
        "  {\"o\":false,\"l\":0.25,\"t\":\"u\\\"\",\"z\":\"\",\"b\":null,\"f\":2,\"i\":\"text\"}\r\n";
    static const char *const paths[] = {"x.jsonl", "x.ndjson", "x.json"};
    for (size_t i = 0; i < COUNT(paths); i++)
        expect_rows(feed_must(paths[i], text, FEED_SEQUENTIAL), rows, 2);
}

/* Numbers and texts are what the file says: none is rounded, and no byte of a list changes. */
static void test_json_exact(void **state)
{
    (void)state;
    static const char *const rows[] = {"a=18446744073709551616|b=[0.1,1e2,18446744073709551616]|c=double 0.1",
                                       "a=int -9223372036854775808|b=1e400|c=\xf0\x9f\x98\x80/\xc3\xa9\"\t"};
    static const char text[] = "\xef\xbb\xbf{\"a\":18446744073709551616,\"b\":[0.1,1e2,18446744073709551616],\"c\":0.1}\r\n"
                               "{\"\\u0061\":-9223372036854775808,\"b\":1e400,\"c\":\"\\ud83d\\ude00\\/\xc3\xa9\\\"\\t\"}";
    expect_rows(feed_must("x.jsonl", text, FEED_SEQUENTIAL), rows, 2);
}

static const struct bad {
    const char *path, *text;
    int line, col;
    const char *what;
} bads[] = {{"t.csv", "", 1, 1, "there is no row"},
            {"t.csv", "a,b\n", 2, 1, "there is no row"},
            {"t.csv", "\na\n1\n", 1, 1, "the first line is empty"},
            {"t.csv", "a,b\n1\n", 2, 1, "a row of 1 cells below 2 columns"},
            {"t.csv", "a,b\n1,2\n1,2,3\n", 3, 5, "a row of 3 cells below 2 columns"},
            {"t.csv", "a,\n1,2\n", 1, 3, "no variable may be named \"\""},
            {"t.csv", "a,b c\n1,2\n", 1, 3, "no variable may be named \"b c\""},
            {"t.csv", "\x1b[2J\n1\n", 1, 1, "no variable may be named \"?[2J\""},
            {"t.jsonl", "\x1b[2J\n", 1, 1, "not JSON: no value that JSON has"},
            {"t.csv", "a:b\n1\n", 1, 1, "no variable may be named \"a:b\""},
            {"t.csv", "a,b,a\n1,2,3\n", 1, 5, "two columns are named \"a\""},
            {"t.csv", "a,weight,weight\n1,2,3\n", 1, 10, "two columns are named \"weight\""},
            {"t.csv", "a,group,group\n1,2,3\n", 1, 9, "two columns are named \"group\""},
            {"t.csv", "a,weight\n1,0\n", 2, 3, "the weight \"0\" is no number above 0"},
            {"t.csv", "a,weight\n1,-1\n", 2, 3, "is no number above 0"},
            {"t.csv", "a,weight\n1,\n", 2, 3, "the weight \"\" is no number above 0"},
            {"t.csv", "a,weight\n1,1\n1,nan\n", 3, 3, "the weight \"nan\" is no number above 0"},
            {"t.csv", "a,b\n1,\"x\n", 2, 3, "a quote that is not closed"},
            {"t.csv", "a,b\n1,\"x\"y\n", 2, 3, "text beside a quoted cell"},
            {"t.csv", "a,b\n1,x\"y\n", 2, 3, "text beside a quoted cell"},
            {"t.csv", "a\n1\n\"x\ny\"\n\"z", 5, 1, "a quote that is not closed"},
            {"t.jsonl", "", 1, 1, "there is no row"},
            {"t.jsonl", "{}\n", 2, 1, "there is no column"},
            {"t.jsonl", "{\"a\":1}\n[1]\n", 2, 1, "not an object"},
            {"t.jsonl", "{\"a\":1}\nnope\n", 2, 1, "not JSON"},
            {"t.jsonl", "{\"a\":1}\n{\"a\":1,\n", 2, 8, "not JSON: a member of an object without its name"},
            {"t.jsonl", "{\"a\":1} x\n", 1, 9, "not JSON: something behind the value"},
            {"t.jsonl", "{\"a\":1}\n{\"b\":1}\n", 2, 1, "the first row has no member \"b\""},
            {"t.jsonl", "{\"a\":1}\n{\"a\":1,\"b\":2}\n", 2, 1, "a row of 2 members, the first has 1"},
            {"t.jsonl", "{\"a\":1,\"a\":2}\n", 1, 1, "two columns are named \"a\""},
            {"t.jsonl", "{\"a\":1,\"b\":2}\n{\"a\":1,\"a\":2}\n", 2, 1, "two members are named \"a\""},
            {"t.jsonl", "{\"a\":1}\n{\"a\\u0000b\":1}\n", 2, 1, "the first row has no member \"a"},
            {"t.jsonl", "{\"a b\":1}\n", 1, 1, "no variable may be named \"a b\""},
            {"t.jsonl", "{\"a\":1,\"weight\":\"x\"}\n", 1, 1, "the weight \"x\" is no number above 0"},
            {"t.jsonl", "{\"a\":\"x\\u0000y\"}\n", 1, 1, "a value with a zero byte"}};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bads); i++) {
        struct pl_err err = {0};
        struct feed *feed = NULL;
        enum pl_code code =
            feed_parse(bads[i].path, bads[i].text, strlen(bads[i].text), FEED_RANDOM, names, arena, &feed, &err);
        bool is_at = err.line == bads[i].line && (err.col == bads[i].col);
        if (code != PL_INPUT || strstr(err.what, bads[i].what) == NULL || !is_at || err.hint[0] == '\0' ||
            strcmp(err.file, bads[i].path) != 0)
            fail_msg("%s\n%d:%d: %s", bads[i].text, err.line, err.col, err.what);
        assert_null(feed);
    }
    struct pl_err err = {0};
    struct feed *feed;
    assert_int_equal(feed_parse("t.csv", "a\nx\0y\n", 6, FEED_RANDOM, names, arena, &feed, &err), PL_INPUT);
    assert_string_equal(err.what, "a value with a zero byte");
    err = (struct pl_err){0};
    assert_int_equal(feed_read("/nowhere/t.csv", FEED_RANDOM, names, arena, &feed, &err), PL_NOT_FOUND);
}

static void test_read(void **state)
{
    (void)state;
    char path[] = "/tmp/plimsoll-feed-XXXXXX.csv";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a\n1\n2\n", 6), 6);
    close(fd);
    struct pl_err err = {0};
    struct feed *feed;
    assert_int_equal(feed_read(path, FEED_SEQUENTIAL, names, arena, &feed, &err), PL_OK);
    assert_int_equal(feed->row_count, 2);
    assert_string_equal(feed->name, path);
    unlink(path);
}

static void test_limits(void **state)
{
    (void)state;
    enum { COLUMNS = 257, CELL = 1024 * 1024 + 1, GROUPS = 1001 };
    struct pl_err err = {0};
    struct feed *feed;
    char *text = pl_alloc(arena, CELL + 100, 1);
    memcpy(text, "a\n", 2);
    memset(text + 2, 'x', CELL);
    assert_int_equal(feed_parse("t.csv", text, CELL + 1, FEED_RANDOM, names, arena, &feed, &err), PL_OK);
    assert_int_equal(feed_parse("t.csv", text, CELL + 2, FEED_RANDOM, names, arena, &feed, &err), PL_INPUT);
    assert_string_equal(err.what, "a value longer than 1 MiB");
    size_t length = 0;
    for (int i = 0; i < COLUMNS; i++)
        length = script_add(text, length, "%sc%d", i > 0 ? "," : "", i);
    err = (struct pl_err){0};
    assert_int_equal(feed_parse("t.csv", text, length, FEED_RANDOM, names, arena, &feed, &err), PL_INPUT);
    assert_string_equal(err.what, "more than 256 columns");
    for (int groups = GROUPS - 1; groups <= GROUPS; groups++) {
        length = script_add(text, 0, "a,group\n");
        for (int i = 0; i < 2 * groups; i++)
            length = script_add(text, length, "1,g%d\n", i % groups);
        err = (struct pl_err){0};
        enum pl_code code = feed_parse("t.csv", text, length, FEED_RANDOM, names, arena, &feed, &err);
        assert_int_equal(code, groups == GROUPS ? PL_INPUT : PL_OK);
        if (code != PL_OK)
            assert_string_equal(err.what, "more than 1,000 groups");
    }
    const struct feed_pattern pattern = {"a", "{n}"};
    err = (struct pl_err){0};
    assert_int_equal(feed_from_pattern("p", &pattern, 1, 5000001, names, arena, &feed, &err), PL_INPUT);
    assert_string_equal(err.what, "more than 5,000,000 rows");
}

static void test_patterns(void **state)
{
    (void)state;
    static const struct feed_pattern columns[] = {{"host", "t{n:04}.example"},
                                                  {"id", "{n}"},
                                                  {"odd", "{x}{n:0}{n:4}{{n}}{"},
                                                  {"weight", "{n}.5"},
                                                  {"group", "g{n:02}"}};
    struct pl_err err = {0};
    struct feed *feed;
    assert_int_equal(feed_from_pattern("tenants", columns, COUNT(columns), 120, names, arena, &feed, &err), PL_OK);
    assert_int_equal(feed->row_count, 120);
    assert_int_equal(feed->column_count, 3);
    assert_int_equal(feed->group_count, 120);
    assert_string_equal(row_shown(feed, 0), "host=t0001.example|id=1|odd={x}{n:0}{n:4}{1}{");
    assert_string_equal(row_shown(feed, 119), "host=t0120.example|id=120|odd={x}{n:0}{n:4}{120}{");
    assert_string_equal(feed->groups[7].name, "g08");
    assert_close(feed->groups[7].weight, 8.5, 0, 0);
    assert_int_equal(feed_from_pattern("tenants", columns, COUNT(columns), 0, names, arena, &feed, &err), PL_INPUT);
    assert_string_equal(err.what, "there is no row");
}

static void test_orders(void **state)
{
    (void)state;
    static const char text[] = "a\n0\n1\n2\n3\n4\n";
    struct feed *sequential = feed_must("t.csv", text, FEED_SEQUENTIAL), *unique = feed_must("t.csv", text, FEED_UNIQUE);
    uint32_t row;
    for (uint32_t i = 0; i < 23; i++) {
        assert_true(feed_take(sequential, &rng, &row));
        assert_int_equal(row, i % 5);
        assert_int_equal(feed_take(unique, &rng, &row), i < 5);
        if (i < 5)
            assert_int_equal(row, i);
    }
}

/* The statistic of Pearson's test. */
static double chi_square(const uint64_t *counts, const double *weights, size_t count, double draws)
{
    double sum = 0, statistic = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    for (size_t i = 0; i < count; i++) {
        double expected = draws * weights[i] / sum;
        statistic += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    }
    return statistic;
}

/* Wilson and Hilferty's bound of the distribution with k degrees, exceeded once in a million runs. */
static double chi_square_bound(double k)
{
    double z = 4.75;
    return k * pow(1 - 2 / (9 * k) + z * sqrt(2 / (9 * k)), 3);
}

static void test_weights(void **state)
{
    (void)state;
    enum { ROWS = 400, GROUPS = 7, DRAWS = 2000000 };
    static char text[ROWS * 40];
    static double weights[ROWS];
    static uint64_t counts[ROWS];
    size_t length = script_add(text, 0, "a,weight,group\n");
    struct pl_rng random;
    pl_rng_init(&random, 17, PL_RNG_TEST, 0);
    for (int i = 0; i < ROWS; i++) {
        weights[i] = i % 50 == 0 ? 30 : (double)pl_rng_range(&random, 1, 1000) / 100;
        length = script_add(text, length, "%d,%.17g,g%d\n", i, weights[i], (int)(i * 31 % GROUPS));
    }
    struct feed *feed = feed_must("t.csv", text, FEED_RANDOM);
    assert_int_equal(feed->group_count, GROUPS);
    uint32_t row;
    for (int i = 0; i < DRAWS; i++) {
        assert_true(feed_take(feed, &random, &row));
        counts[row]++;
    }
    assert_in_range((uint64_t)chi_square(counts, weights, ROWS, DRAWS), 200, (uint64_t)chi_square_bound(ROWS - 1));
    for (uint32_t g = 0; g < GROUPS; g++) {
        double own[ROWS], total = 0;
        uint64_t seen[ROWS];
        size_t used = 0;
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < DRAWS / GROUPS; i++)
            counts[feed_draw(feed, g, &random)]++;
        for (int i = 0; i < ROWS; i++) {
            if (feed->group_of[i] != g) {
                assert_int_equal(counts[i], 0);
                continue;
            }
            own[used] = weights[i];
            seen[used++] = counts[i];
            total += weights[i];
        }
        assert_int_equal(used, feed->groups[g].row_count);
        assert_close(feed->groups[g].weight, total, 1e-12, 0);
        assert_true(chi_square(seen, own, used, DRAWS / GROUPS) < chi_square_bound((double)used - 1));
    }
}

/* A single row, equal weights, and weights of very different size. */
static void test_extreme_weights(void **state)
{
    (void)state;
    static const char *const texts[] = {"a\n1\n", "a,weight\n1,1e-300\n", "a,weight\n1,1e300\n2,1e300\n3,1e300\n",
                                        "a,weight\n1,1e-300\n2,1\n3,1e300\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct feed *feed = feed_must("t.csv", texts[i], FEED_RANDOM);
        uint64_t counts[3] = {0};
        for (int k = 0; k < 30000; k++) {
            uint32_t row;
            assert_true(feed_take(feed, &rng, &row));
            assert_true(row < feed->row_count);
            counts[row]++;
        }
        if (i == 2)
            for (int k = 0; k < 3; k++)
                assert_in_range(counts[k], 9500, 10500);
        if (i == 3)
            assert_int_equal(counts[2], 30000);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, ROWS = 20000 };

struct taker {
    const struct feed *unique, *sequential;
    unsigned char seen[ROWS];
    unsigned turns[ROWS];
};

static void *take(void *argument)
{
    struct taker *taker = argument;
    struct pl_rng own;
    struct value values[64];
    uint32_t row;
    pl_rng_init(&own, 1, PL_RNG_TEST, 0);
    while (feed_take(taker->unique, &own, &row)) {
        taker->seen[row]++;
        feed_set(taker->unique, row, values);
    }
    for (int i = 0; i < ROWS; i++) {
        feed_take(taker->sequential, &own, &row);
        taker->turns[row]++;
    }
    return NULL;
}

/* Each row of UNIQUE goes to one thread, once; rows of SEQUENTIAL come equally often. */
static void test_threads(void **state)
{
    (void)state;
    static struct taker takers[THREADS];
    struct feed_pattern pattern = {"a", "{n}"};
    struct pl_err err = {0};
    struct feed *unique, *sequential;
    pthread_t threads[THREADS];
    assert_int_equal(feed_from_pattern("p", &pattern, 1, ROWS, names, arena, &unique, &err), PL_OK);
    assert_int_equal(feed_from_pattern("p", &pattern, 1, ROWS, names, arena, &sequential, &err), PL_OK);
    unique->order = FEED_UNIQUE;
    sequential->order = FEED_SEQUENTIAL;
    for (int i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.unique = unique, .sequential = sequential};
        assert_int_equal(pthread_create(&threads[i], NULL, take, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int row = 0; row < ROWS; row++) {
        unsigned seen = 0, turns = 0;
        for (int i = 0; i < THREADS; i++) {
            seen += takers[i].seen[row];
            turns += takers[i].turns[row];
        }
        assert_int_equal(seen, 1);
        assert_int_equal(turns, THREADS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_csv, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_json_lines, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_json_exact, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_bad, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_read, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_limits, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_patterns, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_orders, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_weights, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_extreme_weights, script_setup, script_teardown),
        cmocka_unit_test_setup_teardown(test_threads, script_setup, script_teardown),
    };
    return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
