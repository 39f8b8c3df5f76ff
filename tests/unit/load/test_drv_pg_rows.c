/* \gset and \aset: rows in pieces of any size, what is set and what is not. */
#include "drv_pg_test.h"

#include <stdio.h>

/* A result as the server sends it, put together from texts. */
struct answer {
    char bytes[256 * 1024];
    size_t length;
};
static struct answer answer;

static void put(const void *bytes, size_t length)
{
    assert_true(answer.length + length <= sizeof answer.bytes);
    memcpy(answer.bytes + answer.length, bytes, length);
    answer.length += length;
}

static void put_number(size_t value, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        put(&(char){(char)(value >> shift & 0xff)}, 1);
}

/* Returns where the length stands, for put_end. */
static size_t put_begin(char type)
{
    put(&type, 1);
    put_number(0, 4);
    return answer.length - 4;
}

static void put_end(size_t at)
{
    size_t length = answer.length - at, all = answer.length;
    answer.length = at;
    put_number(length, 4);
    answer.length = all;
}

static void put_columns(int count, const char *const *names)
{
    size_t at = put_begin('T');
    put_number((size_t)count, 2);
    for (int i = 0; i < count; i++) {
        put(names[i], strlen(names[i]) + 1);
        put("\0\0\0\1\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0", 18);
    }
    put_end(at);
}

static void put_row(int count, const char *const *values)
{
    size_t at = put_begin('D');
    put_number((size_t)count, 2);
    for (int i = 0; i < count; i++) {
        put_number(values[i] == NULL ? UINT32_MAX : strlen(values[i]), 4);
        if (values[i] != NULL)
            put(values[i], strlen(values[i]));
    }
    put_end(at);
}

#define COLUMNS(...) put_columns(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
#define ROW(...) put_row(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static void put_complete(const char *tag)
{
    size_t at = put_begin('C');
    put(tag, strlen(tag) + 1);
    put_end(at);
}

static void put_ready(void)
{
    put("Z\0\0\0\5I", 6);
}

static enum driver_outcome run(struct driven *driven)
{
    pair_submit(driven);
    return pair_answer(driven, answer.bytes, answer.length);
}

static void start(struct driven *driven, const char *text)
{
    driven_pair(driven, PLAN_SIMPLE, false, text);
    answer.length = 0;
}

/* Every boundary of a \gset whose row has a text, an empty text and a NULL; a column that nobody uses. */
static void test_gset_at_every_boundary(void **state)
{
    (void)state;
    size_t length = 1;
    for (size_t split = 0; split <= length; split++) {
        struct driven driven;
        start(&driven, "SELECT 1 \\gset p_\nSELECT :p_a, :p_b, :p_c;\n");
        COLUMNS("a", "unused", "b", "c");
        ROW("it's", "x", "", NULL);
        put_complete("SELECT 1");
        put_ready();
        length = answer.length;
        pair_submit(&driven);
        assert_int_equal(pair_answer_split(&driven, answer.bytes, length, split), DRIVER_OK);
        assert_variable(&driven, "p_a", "it's");
        assert_variable(&driven, "p_b", "");
        assert_int_equal(driven_value(&driven, 0, "p_c")->type, VALUE_NULL);
        assert_int_equal(names_find(driven.names, "p_unused", 8), -1);
        driven_stop(&driven);
    }
    assert_true(length > 100);
}

static void test_aset_at_every_boundary(void **state)
{
    (void)state;
    size_t length = 1;
    for (size_t split = 0; split <= length; split++) {
        struct driven driven;
        start(&driven, "SELECT 1 \\; UPDATE \\; SELECT 2 \\; SELECT 3 \\aset\nSELECT :a, :b, :c;\n");
        driven_set_text(&driven, 0, "c", "before");
        COLUMNS("a");
        ROW("1");
        ROW("22");
        put_complete("SELECT 2");
        put_complete("UPDATE 5");
        COLUMNS("a", "b");
        ROW("333", "4");
        ROW("5", "666");
        put_complete("SELECT 2");
        COLUMNS("c"); /* without a row it stays as it was */
        put_complete("SELECT 0");
        put_ready();
        length = answer.length;
        pair_submit(&driven);
        assert_int_equal(pair_answer_split(&driven, answer.bytes, length, split), DRIVER_OK);
        assert_variable(&driven, "a", "5");
        assert_variable(&driven, "b", "666");
        assert_variable(&driven, "c", "before");
        driven_stop(&driven);
    }
}

/* Rows far larger than every buffer, in pieces of many sizes, and small ones after them in the same memory. */
static void test_long_rows(void **state)
{
    (void)state;
    enum { LONGEST = 100000 };
    static char value[LONGEST + 1];
    struct driven driven;
    start(&driven, "SELECT 1 \\gset\nSELECT :a, :b;\n");
    for (size_t length = 1, i = 0; length <= LONGEST; length = length * 7 / 4 + 1, i++) {
        for (int repeat = 0; repeat < 2; repeat++) {
            size_t wanted = repeat == 0 ? length : 3;
            memset(value, 'a' + (int)i, wanted);
            value[wanted] = '\0';
            answer.length = 0;
            COLUMNS("a", "b");
            ROW(value, "end");
            put_complete("SELECT 1");
            put_ready();
            pair_submit(&driven);
            for (size_t sent = 0, piece = 1 + i * 331 % 1000; sent < answer.length;
                 sent += piece, piece = piece * 3 / 2 + 1) {
                if (piece > answer.length - sent)
                    piece = answer.length - sent;
                pair_send(&driven, answer.bytes + sent, piece);
                if (sent + piece < answer.length)
                    pair_quiet(&driven);
            }
            assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
            assert_variable(&driven, "a", value);
            assert_variable(&driven, "b", "end");
        }
    }
    driven_stop(&driven);
}

/* Rows that must not be one: how many it says, and that nothing is set. */
static void test_gset_wants_one_row(void **state)
{
    (void)state;
    for (int rows = 0; rows < 4; rows++) {
        char text[64];
        struct driven driven;
        start(&driven, "SELECT 1 \\gset\nSELECT :a;\n");
        COLUMNS("a");
        for (int i = 0; i < rows; i++)
            ROW("1");
        put_complete("SELECT");
        put_ready();
        snprintf(text, sizeof text, "expected one row, got %d", rows);
        assert_int_equal(run(&driven), rows == 1 ? DRIVER_OK : DRIVER_ERROR);
        if (rows != 1) {
            assert_done(&driven, DRIVER_ERROR, "ROWS", text);
            assert_true(driven.done.is_script_fault);
        }
        assert_variable(&driven, "a", rows == 1 ? "1" : NULL);
        /* the same client again: nothing of the last time is left */
        answer.length = 0;
        put_complete("UPDATE 1");
        put_ready();
        assert_int_equal(run(&driven), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "ROWS", "expected one row, got 0");
        driven_stop(&driven);
    }
}

/* Only the last result of a compound counts. */
static void test_gset_takes_the_last_result(void **state)
{
    (void)state;
    for (int last = 0; last < 3; last++) {
        struct driven driven;
        start(&driven, "SELECT 1 \\; SELECT 2 \\; SELECT 3 \\gset\nSELECT :a, :b;\n");
        COLUMNS("a", "?column?");
        ROW("1", "2");
        ROW("3", "4");
        put_complete("SELECT 2");
        COLUMNS("b");
        put_complete("SELECT 0");
        if (last == 0) {
            COLUMNS("b");
            ROW("5");
            put_complete("SELECT 1");
        } else if (last == 1) {
            put_complete("UPDATE 7");
        } else {
            put("I\0\0\0\4", 5);
        }
        put_ready();
        assert_int_equal(run(&driven), last == 0 ? DRIVER_OK : DRIVER_ERROR);
        if (last > 0)
            assert_done(&driven, DRIVER_ERROR, "ROWS", "expected one row, got 0");
        assert_variable(&driven, "a", NULL);
        assert_variable(&driven, "b", last == 0 ? "5" : NULL);
        driven_stop(&driven);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *script, *column, *wrong;
    } cases[] = {
        {"SELECT 1 \\gset\n", "?column?", "gset: invalid variable name: \"?column?\""},
        {"SELECT 1 \\aset\n", "?column?", "aset: invalid variable name: \"?column?\""},
        {"SELECT 1 \\gset\n", "", "gset: invalid variable name: \"\""},
        {"SELECT 1 \\gset\n", "7a", "gset: invalid variable name: \"7a\""},
        {"SELECT 1 \\gset\n", "a b", "gset: invalid variable name: \"a b\""},
        {"SELECT 1 \\gset p\n", "7", NULL},
        {"SELECT 1 \\gset\n",
         "gr\xc3\xb6\xc3\x9f"
         "e",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[100];
        struct driven driven;
        snprintf(script, sizeof script, "%sSELECT :good;\n", cases[i].script);
        start(&driven, script);
        COLUMNS("good", cases[i].column);
        ROW("1", "2");
        put_complete("SELECT 1");
        put_ready();
        assert_int_equal(run(&driven), cases[i].wrong == NULL ? DRIVER_OK : DRIVER_ERROR);
        if (cases[i].wrong != NULL) {
            assert_done(&driven, DRIVER_ERROR, "NAME", cases[i].wrong);
            assert_true(driven.done.is_script_fault);
            assert_variable(&driven, "good", NULL);
        }
        driven_stop(&driven);
    }
}

/* A wrong name in a result without a row is nobody's business to \aset; to \gset the missing row is the first thing. */
static void test_names_without_rows(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct driven driven;
        start(&driven, all ? "SELECT 1 \\aset\n" : "SELECT 1 \\gset\n");
        COLUMNS("?column?");
        put_complete("SELECT 0");
        put_ready();
        assert_int_equal(run(&driven), all ? DRIVER_OK : DRIVER_ERROR);
        if (!all)
            assert_done(&driven, DRIVER_ERROR, "ROWS", "got 0");
        driven_stop(&driven);
    }
}

/* An error after a row, or in place of its end: nothing is set. */
static void test_error_sets_nothing(void **state)
{
    (void)state;
    static const char error[] = "E\0\0\0\x1aSERROR\0C22012\0Mzero?\0\0";
    for (int all = 0; all < 2; all++) {
        struct driven driven;
        start(&driven, all ? "SELECT 1 \\; SELECT 2 \\aset\nSELECT :a;\n" : "SELECT 1 \\; SELECT 2 \\gset\nSELECT :a;\n");
        COLUMNS("a");
        ROW("1");
        put_complete("SELECT 1");
        put(error, sizeof error - 1);
        put_ready();
        assert_int_equal(run(&driven), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "22012", "zero");
        assert_false(driven.done.is_script_fault);
        assert_variable(&driven, "a", NULL);
        driven_stop(&driven);
    }
}

/* What is no result: the connection cannot be trusted any more. */
static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {BYTES("D\0\0\0\x0b\0\1\0\0\0\1x")},              /* no description */
        {BYTES("T\0\0\0\7\0\1a")},                        /* cut */
        {BYTES("T\0\0\0\6\0\0T\0\0\0\6\0\0")},            /* two of them */
        {BYTES("T\0\0\0\6\0\0D\0\0\0\x0b\0\1\0\0\0\1x")}, /* a field too many */
        {BYTES("T\0\0\0\x1a\0\1a\0\0\0\0\1\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
               "D\0\0\0\6\0\0")}, /* one too few */
        {BYTES("T\0\0\0\x1a\0\1a\0\0\0\0\1\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
               "D\0\0\0\x0b\0\1\0\0\0\1\0")}, /* a NUL in a text */
        {BYTES("T\0\0\0\x1a\0\1a\0\0\0\0\1\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
               "D\0\0\0\x0b\0\1\0\0\0\2x")}, /* longer than it is */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t split = 0; split <= cases[i].length; split++) {
            struct driven driven;
            start(&driven, "SELECT 1 \\gset\nSELECT :a;\n");
            pair_submit(&driven);
            int fd = driver_pg_of(driven.driver)->clients[0].socket.fd;
            assert_int_equal(pair_answer_split(&driven, cases[i].bytes, cases[i].length, split), DRIVER_LOST);
            assert_done(&driven, DRIVER_LOST, "PROTO", "");
            assert_variable(&driven, "a", NULL);
            close(fd);
            driven_stop(&driven);
        }
}

/* A step without \gset between two with it: its rows are skipped, however large. */
static void test_others_are_skipped(void **state)
{
    (void)state;
    struct driven driven;
    start(&driven, "SELECT 1 \\gset\nSELECT :a;\n");
    const struct program *program = driven.programs[0];
    for (int i = 0; i < 6; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        answer.length = 0;
        COLUMNS("a");
        ROW(value);
        put_complete("SELECT 1");
        put_ready();
        driven.driver->ops->submit(driven.driver, 0, program, &program->steps[i % 2], driven.vars);
        assert_int_equal(pair_answer_split(&driven, answer.bytes, answer.length, answer.length), DRIVER_OK);
        snprintf(value, sizeof value, "%d", i - i % 2);
        assert_variable(&driven, "a", value);
    }
    driven_stop(&driven);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gset_at_every_boundary),
        cmocka_unit_test(test_aset_at_every_boundary),
        cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_gset_wants_one_row),
        cmocka_unit_test(test_gset_takes_the_last_result),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_without_rows),
        cmocka_unit_test(test_error_sets_nothing),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_others_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
