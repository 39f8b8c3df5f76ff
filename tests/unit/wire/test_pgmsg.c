/* The codec. Every input stands right before a page that cannot be read. */
#include "support.h"

#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/limits.h"
#include "wire/pgmsg.h"

/* All types that the documentation lists for the server's side. */
static const char server_types[] = "123ACDEGHIKNRSTVWZcdnstv";

static uint8_t *guarded(const void *bytes, size_t length)
{
    uint8_t *copy = support_guard_alloc(length);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static enum pgmsg_result next_of(const void *bytes, size_t length, struct pgmsg *msg)
{
    uint8_t *in = guarded(bytes, length);
    enum pgmsg_result result = pgmsg_next(in, length, msg);
    if (msg->total != 0)
        assert_ptr_equal(msg->body, in + 5);
    support_guard_free(in, length);
    return result;
}

static void test_every_type(void **state)
{
    (void)state;
    for (int type = 0; type < 256; type++) {
        bool known = type != 0 && strchr(server_types, type) != NULL;
        uint8_t bytes[] = {(uint8_t)type, 0, 0, 0, 6, 'a', 'b'};
        struct pgmsg msg;
        for (size_t length = 1; length < sizeof bytes; length++) {
            assert_int_equal(next_of(bytes, length, &msg), known ? PGMSG_PARTIAL : PGMSG_BAD);
            assert_int_equal(msg.total, known && length >= 5 ? 7 : 0);
        }
        assert_int_equal(next_of(bytes, sizeof bytes, &msg), known ? PGMSG_OK : PGMSG_BAD);
        assert_int_equal(msg.total, known ? 7 : 0);
        if (known) {
            assert_int_equal(msg.type, (char)type);
            assert_int_equal(msg.length, 2);
        }
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        uint32_t size;
        enum pgmsg_result result;
    } cases[] = {{0, PGMSG_BAD},
                 {1, PGMSG_BAD},
                 {3, PGMSG_BAD},
                 {4, PGMSG_OK},
                 {5, PGMSG_PARTIAL},
                 {PL_MAX_MESSAGE_BYTES - 1, PGMSG_PARTIAL},
                 {PL_MAX_MESSAGE_BYTES, PGMSG_PARTIAL},
                 {PL_MAX_MESSAGE_BYTES + 1U, PGMSG_BAD},
                 {0x7fffffff, PGMSG_BAD},
                 {0x80000000, PGMSG_BAD},
                 {0xffffffff, PGMSG_BAD}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t size = cases[i].size;
        uint8_t bytes[] = {'D', (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size};
        struct pgmsg msg;
        assert_int_equal(next_of(bytes, sizeof bytes, &msg), cases[i].result);
        assert_int_equal(msg.total, cases[i].result == PGMSG_BAD ? 0 : (size_t)size + 1);
    }
    struct pgmsg msg;
    assert_int_equal(next_of("", 0, &msg), PGMSG_PARTIAL);
    assert_int_equal(msg.total, 0);
}

/* What PostgreSQL 15 said in one session: start, simple and extended queries, errors, notices, COPY both ways,
 * notification, function call, and its end by pg_terminate_backend. */
static const uint8_t *conversation(struct pl_arena *arena, size_t *ret_length)
{
    struct pl_err err = {0};
    char *text = NULL;
    assert_int_equal(pl_file_read("tests/unit/wire/conversation.bin", 1 << 20, arena, &text, ret_length, &err), PL_OK);
    return (const uint8_t *)text;
}

enum { MAX_MESSAGES = 200 };

/* Where each message of the conversation ends. */
static size_t ends_of(const uint8_t *bytes, size_t length, size_t *ends)
{
    size_t count = 0, used = 0;
    struct pgmsg msg;
    while (used < length) {
        assert_int_equal(pgmsg_next(bytes + used, length - used, &msg), PGMSG_OK);
        used += msg.total;
        assert_true(count < MAX_MESSAGES);
        ends[count++] = used;
    }
    return count;
}

static void test_conversation(void **state)
{
    (void)state;
    static const char types[] = "RSSSSSSSSSSSSSKZTDCZTDDDDDDDDDDDDDDDDDDDDCZEZEZNCZIZCZEZEZCZTDCTDCCCZEZEZ1tT2TDC3Z12DsZ1tn"
                                "EZHdddcCZGCZCZCAZCSZVZTDE";
    struct pl_arena *arena = pl_arena_new();
    size_t length, ends[MAX_MESSAGES];
    const uint8_t *bytes = conversation(arena, &length);
    size_t count = ends_of(bytes, length, ends);
    assert_int_equal(count, strlen(types));
    for (size_t i = 0; i < count; i++) {
        struct pgmsg msg;
        size_t start = i > 0 ? ends[i - 1] : 0;
        assert_int_equal(pgmsg_next(bytes + start, length - start, &msg), PGMSG_OK);
        assert_int_equal(msg.type, types[i]);
    }
    pl_arena_free(arena);
}

/* However the stream is cut, the messages before the cut are found, and the one that is cut is known to be. */
static void test_every_split(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    size_t length, ends[MAX_MESSAGES];
    const uint8_t *bytes = conversation(arena, &length);
    size_t count = ends_of(bytes, length, ends);
    for (size_t cut = 0; cut <= length; cut++) {
        uint8_t *in = guarded(bytes, cut);
        size_t used = 0, found = 0;
        struct pgmsg msg;
        enum pgmsg_result result;
        while ((result = pgmsg_next(in + used, cut - used, &msg)) == PGMSG_OK) {
            used += msg.total;
            assert_int_equal(used, ends[found++]);
        }
        assert_int_equal(result, PGMSG_PARTIAL);
        assert_true(found == count || ends[found] > cut);
        assert_int_equal(msg.total, cut - used >= 5 ? ends[found] - used : 0);
        support_guard_free(in, cut);
    }
    pl_arena_free(arena);
}

static void test_conversation_errors(void **state)
{
    (void)state;
    static const struct {
        const char *severity, *sqlstate, *message;
    } expected[] = {{"ERROR", "22012", "division by zero"},
                    {"ERROR", "42601", "syntax error at or near \"selec\""},
                    {"NOTICE", "00000", "hello"},
                    {"ERROR", "42703", "column \"nope\" does not exist"},
                    {"ERROR", "25P02", "current transaction is aborted, commands ignored until end of transaction block"},
                    {"ERROR", "23505", "duplicate key value violates unique constraint \"t_pkey\""},
                    {"ERROR", "23502", "null value in column \"b\" of relation \"t\" violates not-null constraint"},
                    {"ERROR", "26000", "prepared statement \"nope\" does not exist"},
                    {"FATAL", "57P01", "terminating connection due to administrator command"}};
    struct pl_arena *arena = pl_arena_new();
    size_t length, used = 0, found = 0;
    const uint8_t *bytes = conversation(arena, &length);
    struct pgmsg msg;
    char states[100] = "";
    while (pgmsg_next(bytes + used, length - used, &msg) == PGMSG_OK) {
        struct pgmsg_error error;
        used += msg.total;
        if (msg.type == 'E' || msg.type == 'N') {
            assert_true(pgmsg_error_parse(&msg, &error));
            assert_string_equal(error.severity, expected[found].severity);
            assert_string_equal(error.sqlstate, expected[found].sqlstate);
            assert_string_equal(error.message, expected[found].message);
            found++;
        }
        if (msg.type == 'Z')
            states[strlen(states)] = pgmsg_ready_state(&msg);
    }
    assert_int_equal(found, sizeof expected / sizeof expected[0]);
    assert_non_null(strstr(states, "ITEEI")); /* begin, failure, refusal, rollback */
    pl_arena_free(arena);
}

static bool error_of(char type, const void *body, size_t length, struct pgmsg_error *error, uint8_t **ret_in)
{
    *ret_in = guarded(body, length);
    struct pgmsg msg = {.type = type, .body = *ret_in, .length = length, .total = length + 5};
    return pgmsg_error_parse(&msg, error);
}

static void check_malformed(char type, const void *body, size_t length)
{
    struct pgmsg_error error;
    uint8_t *in;
    assert_false(error_of(type, body, length, &error, &in));
    assert_string_equal(error.severity, "");
    assert_string_equal(error.sqlstate, "");
    assert_string_equal(error.message, "");
    support_guard_free(in, length);
}

static const char whole_error[] = "SFEHLER\0VERROR\0C42P01\0Mno such table\0Dmore\0Hdo so\0P15\0Fa.c\0L1\0Rf\0";

static void test_error_malformed(void **state)
{
    (void)state;
    struct pgmsg_error error;
    uint8_t *in;
    /* whole_error's own NUL is the terminator: every shorter piece lacks something */
    for (size_t length = 0; length < sizeof whole_error; length++)
        check_malformed('E', whole_error, length);
    assert_true(error_of('E', whole_error, sizeof whole_error, &error, &in));
    support_guard_free(in, sizeof whole_error);
    for (int type = 0; type < 256; type++)
        if (type != 'E' && type != 'N')
            check_malformed((char)type, whole_error, sizeof whole_error);
    check_malformed('E', "Mtext\0\0x", 8);  /* something behind the terminator */
    check_malformed('E', "Mtext\0\0\0", 8); /* two terminators */
    check_malformed('E', "M", 1);           /* a field without a text */
    check_malformed('E', "M\0", 2);         /* no terminator */
    check_malformed('E', "Mtext\0S", 7);
    check_malformed('N', "\0\0", 2);
}

static void test_error_fields(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t length;
        const char *severity, *sqlstate, *message;
    } cases[] = {
        {whole_error, sizeof whole_error, "ERROR", "42P01", "no such table"},
        {"", 1, "", "", ""},              /* no field at all is well formed */
        {"SFATAL\0", 8, "FATAL", "", ""}, /* servers before 9.6 */
        {"VWARNING\0SWARNUNG\0", 19, "WARNING", "", ""},
        {"C40001\0C40P01\0Mone\0Mtwo\0", 25, "", "40001", "one"}, /* the first wins */
        {"S\0V\0C\0M\0", 9, "", "", ""},
        {"zunknown\0Mm\0", 13, "", "", "m"},
        {"\xff\xff\0Mm\0", 7, "", "", "m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (const char *type = "EN"; *type != '\0'; type++) {
            struct pgmsg_error error;
            uint8_t *in;
            assert_true(error_of(*type, cases[i].body, cases[i].length, &error, &in));
            assert_string_equal(error.severity, cases[i].severity);
            assert_string_equal(error.sqlstate, cases[i].sqlstate);
            assert_string_equal(error.message, cases[i].message);
            support_guard_free(in, cases[i].length);
        }
    }
}

#define COLUMN_REST "\0\0\0\1\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"

static struct pgmsg message_of(char type, const void *body, size_t length)
{
    return (struct pgmsg){.type = type, .body = body, .length = length, .total = 5 + length};
}

/* How many columns or fields come before the end, which is_bad must be. */
static size_t count_parts(char type, const void *body, size_t length, bool is_bad)
{
    struct pgmsg msg = message_of(type, body, length);
    struct pgmsg_cursor cursor;
    struct pgmsg_text part;
    size_t count = 0;
    if (type == 'T')
        for (pgmsg_columns(&msg, &cursor); pgmsg_next_column(&cursor, &part); count++)
            assert_int_equal(strlen(part.text), part.length);
    else
        for (pgmsg_fields(&msg, &cursor); pgmsg_next_field(&cursor, &part); count++)
            continue;
    assert_int_equal(cursor.is_bad, is_bad);
    assert_int_equal(cursor.left, 0);
    return count;
}

static void test_columns(void **state)
{
    (void)state;
    static const char body[] = "\0\3one\0" COLUMN_REST "\0" COLUMN_REST "three\0" COLUMN_REST;
    struct pgmsg msg = message_of('T', body, sizeof body - 1);
    struct pgmsg_cursor cursor;
    struct pgmsg_text name;
    static const char *const names[] = {"one", "", "three"};
    pgmsg_columns(&msg, &cursor);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cursor.left, 3 - i);
        assert_true(pgmsg_next_column(&cursor, &name));
        assert_string_equal(name.text, names[i]);
        assert_int_equal(name.length, strlen(names[i]));
    }
    assert_false(pgmsg_next_column(&cursor, &name));
    assert_false(cursor.is_bad);
    assert_int_equal(count_parts('T', "\0\0", 2, false), 0);
    /* cut anywhere, or with something behind it */
    for (size_t length = 0; length < sizeof body - 1; length++) {
        uint8_t *cut = guarded(body, length);
        assert_true(count_parts('T', cut, length, true) < 3);
        support_guard_free(cut, length);
    }
    assert_int_equal(count_parts('T', body, sizeof body, true), 3);
    msg.type = 'D'; /* another type */
    pgmsg_columns(&msg, &cursor);
    assert_true(cursor.is_bad);
    assert_false(pgmsg_next_column(&cursor, &name));
}

static void test_fields(void **state)
{
    (void)state;
    static const char body[] = "\0\4\0\0\0\2ab\xff\xff\xff\xff\0\0\0\0\0\0\0\3x\0z";
    struct pgmsg msg = message_of('D', body, sizeof body - 1);
    struct pgmsg_cursor cursor;
    struct pgmsg_text field;
    static const struct pgmsg_text expected[] = {{"ab", 2}, {NULL, 0}, {"", 0}, {"x\0z", 3}};
    pgmsg_fields(&msg, &cursor);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(cursor.left, 4 - i);
        assert_true(pgmsg_next_field(&cursor, &field));
        assert_int_equal(field.length, expected[i].length);
        assert_int_equal(field.text == NULL, expected[i].text == NULL);
        if (field.length > 0)
            assert_memory_equal(field.text, expected[i].text, field.length);
    }
    assert_false(pgmsg_next_field(&cursor, &field));
    assert_false(cursor.is_bad);
    assert_int_equal(count_parts('D', "\0\0", 2, false), 0);
    for (size_t length = 0; length < sizeof body - 1; length++) {
        uint8_t *cut = guarded(body, length);
        assert_true(count_parts('D', cut, length, true) < 4);
        support_guard_free(cut, length);
    }
    assert_int_equal(count_parts('D', body, sizeof body, true), 4);
    assert_int_equal(count_parts('D', "\0\1\xff\xff\xff\xfe", 6, true), 0); /* a length below zero that is not NULL's */
    msg.type = 'T';
    pgmsg_fields(&msg, &cursor);
    assert_true(cursor.is_bad);
    assert_false(pgmsg_next_field(&cursor, &field));
}

static void test_ready_state(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        uint8_t *in = guarded((uint8_t[]){(uint8_t)byte}, 1);
        struct pgmsg msg = {.type = 'Z', .body = in, .length = 1, .total = 6};
        assert_int_equal(pgmsg_ready_state(&msg), byte == 'I' || byte == 'T' || byte == 'E' ? byte : 0);
        msg.type = 'C';
        assert_int_equal(pgmsg_ready_state(&msg), 0);
        support_guard_free(in, 1);
    }
    uint8_t *none = guarded("", 0), *two = guarded("II", 2);
    assert_int_equal(pgmsg_ready_state(&(struct pgmsg){.type = 'Z', .body = none, .length = 0, .total = 5}), 0);
    assert_int_equal(pgmsg_ready_state(&(struct pgmsg){.type = 'Z', .body = two, .length = 2, .total = 7}), 0);
    support_guard_free(none, 0);
    support_guard_free(two, 2);
}

/* Builders, each with the bytes that the documentation asks for. */
typedef void build_fn(struct pgmsg_out *out);

static void build_query(struct pgmsg_out *out)
{
    pgmsg_put_query(out, "select 1;garbage", 8);
}

static void build_query_empty(struct pgmsg_out *out)
{
    pgmsg_put_query(out, NULL, 0);
}

/* Where there is no room for the message its text is not put either. */
static void build_query_there(struct pgmsg_out *out)
{
    if (out->cap - out->len > PGMSG_TEXT_AT + 8)
        memcpy(out->data + out->len + PGMSG_TEXT_AT, "select 1", 8);
    pgmsg_put_query_there(out, 8);
}

static void build_parse(struct pgmsg_out *out)
{
    pgmsg_put_parse(out, "P0", "select $1", 9);
}

static void build_parse_unnamed(struct pgmsg_out *out)
{
    pgmsg_put_parse(out, "", "", 0);
}

static void build_bind(struct pgmsg_out *out)
{
    struct pgmsg_text params[] = {{"42", 2}, {NULL, 7}, {"", 0}, {"a\0b", 3}};
    pgmsg_put_bind(out, "P0", params, 4);
}

static void build_copy_fail(struct pgmsg_out *out)
{
    pgmsg_put_copy_fail(out, "why");
}

static void build_bind_none(struct pgmsg_out *out)
{
    pgmsg_put_bind(out, "", NULL, 0);
}

#define BUILD(builder, literal)                                                                                            \
    {                                                                                                                      \
        builder, literal, sizeof(literal) - 1                                                                              \
    }
static const struct {
    build_fn *build;
    const char *bytes;
    size_t length;
} builds[] = {
    BUILD(build_query, "Q\0\0\0\x0d"
                       "select 1\0"),
    BUILD(build_query_there, "Q\0\0\0\x0d"
                             "select 1\0"),
    BUILD(build_query_empty, "Q\0\0\0\5\0"),
    BUILD(build_parse, "P\0\0\0\x13"
                       "P0\0"
                       "select $1\0"
                       "\0\0"),
    BUILD(build_parse_unnamed, "P\0\0\0\x08"
                               "\0\0\0\0"),
    BUILD(build_bind, "B\0\0\0\x23"
                      "\0P0\0"
                      "\0\0"
                      "\0\4"
                      "\0\0\0\2"
                      "42"
                      "\xff\xff\xff\xff"
                      "\0\0\0\0"
                      "\0\0\0\3"
                      "a\0b"
                      "\0\0"),
    BUILD(build_bind_none, "B\0\0\0\x0c\0\0\0\0\0\0\0\0"),
    BUILD(pgmsg_put_execute, "E\0\0\0\x09\0\0\0\0\0"),
    BUILD(pgmsg_put_describe, "D\0\0\0\6P\0"),
    BUILD(build_copy_fail, "f\0\0\0\x08why\0"),
    BUILD(pgmsg_put_sync, "S\0\0\0\4"),
    BUILD(pgmsg_put_terminate, "X\0\0\0\4"),
};
enum { BUILD_COUNT = sizeof builds / sizeof builds[0] };

static void test_builders(void **state)
{
    (void)state;
    for (int i = 0; i < BUILD_COUNT; i++) {
        size_t length = builds[i].length;
        struct pgmsg_out out = {.data = support_guard_alloc(length), .cap = length};
        builds[i].build(&out);
        assert_false(out.overflow);
        assert_int_equal(out.len, length);
        assert_memory_equal(out.data, builds[i].bytes, length);
        support_guard_free(out.data, length);
    }
}

/* At every capacity that is too small: nothing is written, and what comes later is not written either. */
static void test_overflow(void **state)
{
    (void)state;
    for (int i = 0; i < BUILD_COUNT; i++) {
        for (size_t cap = 0; cap < builds[i].length + 3; cap++) {
            struct pgmsg_out out = {.data = support_guard_alloc(cap + 3), .len = 3, .cap = cap + 3};
            memset(out.data, 0xa5, cap + 3);
            builds[i].build(&out);
            assert_int_equal(out.overflow, cap < builds[i].length);
            assert_int_equal(out.len, cap < builds[i].length ? 3 : 3 + builds[i].length);
            for (size_t k = 0; k < cap + 3; k++)
                if (k < 3 || k >= out.len)
                    assert_int_equal(out.data[k], 0xa5);
            if (out.overflow) {
                pgmsg_put_sync(&out);
                assert_int_equal(out.len, 3);
                out.overflow = false;
                pgmsg_put_sync(&out);
                assert_int_equal(out.len, cap >= 5 ? 8 : 3);
            }
            support_guard_free(out.data, cap + 3);
        }
    }
}

/* One write per step: the messages of a step stand one behind the other, and read back as what they are. */
static void test_step(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    size_t length = 0;
    for (int i = 0; i < BUILD_COUNT; i++) {
        builds[i].build(&out);
        assert_memory_equal(out.data + length, builds[i].bytes, builds[i].length);
        length += builds[i].length;
    }
    assert_int_equal(out.len, length);
    assert_false(out.overflow);
}

/* Lengths that no message can have are refused before a byte of the text is looked at. */
static void test_absurd_lengths(void **state)
{
    (void)state;
    static const size_t lengths[] = {PL_MAX_MESSAGE_BYTES, SIZE_MAX, SIZE_MAX - 4, SIZE_MAX / 2, (size_t)1 << 32};
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct pgmsg_out out = {.data = bytes, .cap = SIZE_MAX};
        pgmsg_put_query(&out, "x", lengths[i]);
        assert_true(out.overflow && out.len == 0);
        out.overflow = false;
        pgmsg_put_parse(&out, "s", "x", lengths[i]);
        assert_true(out.overflow && out.len == 0);
        out.overflow = false;
        struct pgmsg_text params[] = {{"x", lengths[i]}, {"x", lengths[i]}};
        pgmsg_put_bind(&out, "s", params, 2);
        assert_true(out.overflow && out.len == 0);
    }
    struct pgmsg_text *many = pl_new(65536, sizeof *many);
    struct pgmsg_out out = {.data = pl_new(1 << 20, 1), .cap = 1 << 20};
    pgmsg_put_bind(&out, "s", many, 65536);
    assert_true(out.overflow && out.len == 0);
    out.overflow = false;
    pgmsg_put_bind(&out, "s", many, 65535);
    assert_false(out.overflow);
    assert_int_equal(out.len, 5 + 1 + 2 + 2 + 2 + 65535 * 4 + 2);
    pl_free(out.data);
    pl_free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_conversation_errors),
        cmocka_unit_test(test_error_malformed),
        cmocka_unit_test(test_error_fields),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_ready_state),
        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_absurd_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
