/* What the PostgreSQL driver sends, byte for byte. */
#include "drv_pg_test.h"

#include <stdio.h>

/* Messages, put together as text. */
struct text {
    char bytes[64 * 1024];
    size_t length;
};

static void put_u32(struct text *text, size_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        text->bytes[text->length++] = (char)(value >> shift & 0xff);
}

static void put(struct text *text, const void *bytes, size_t length)
{
    assert_true(text->length + length <= sizeof text->bytes);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void put_message(struct text *text, char type, const void *body, size_t length)
{
    put(text, &type, 1);
    put_u32(text, length + 4);
    put(text, body, length);
}

static void put_query(struct text *text, const char *sql)
{
    put_message(text, 'Q', sql, strlen(sql) + 1);
}

static void put_parse(struct text *text, const char *name, const char *sql)
{
    char body[300];
    int length = snprintf(body, sizeof body, "%s%c%s%c%c%c", name, 0, sql, 0, 0, 0);
    put_message(text, 'P', body, (size_t)length);
}

/* values: "NULL" for NULL. */
static void put_bind(struct text *text, const char *name, int count, const char *const *values)
{
    struct text body = {.length = 0};
    put(&body, "", 1);
    put(&body, name, strlen(name) + 1);
    put(&body, "\0\0\0", 3);
    put(&body, &(char){(char)count}, 1);
    for (int i = 0; i < count; i++) {
        bool is_null = strcmp(values[i], "NULL") == 0;
        put_u32(&body, is_null ? UINT32_MAX : strlen(values[i]));
        put(&body, values[i], is_null ? 0 : strlen(values[i]));
    }
    put(&body, "\0\0", 2);
    put_message(text, 'B', body.bytes, body.length);
}

static void put_run(struct text *text, bool describes, bool syncs)
{
    if (describes)
        put_message(text, 'D', "P", 2);
    put_message(text, 'E', "\0\0\0\0", 5);
    if (syncs)
        put_message(text, 'S', "", 0);
}

static const char good[] = "C\0\0\0\x0dSELECT 1\0Z\0\0\0\5I";
static const char parsed_good[] = "1\0\0\0\4"
                                  "2\0\0\0\4"
                                  "C\0\0\0\x0dSELECT 1\0Z\0\0\0\5I";

static void expect(struct driven *driven, const struct text *text)
{
    pair_expect(driven, text->bytes, text->length);
}

/* ---- values ---- */

static void test_simple_pastes(void **state)
{
    (void)state;
    struct driven driven;
    struct text text = {.length = 0};
    driven_pair(&driven, PLAN_SIMPLE, false, "SELECT :i, :d, :b, :n, :t, :unset, ':t', ':unset', 1::int;\n");
    *driven_value(&driven, 0, "i") = (struct value){.type = VALUE_INT, .i = -7};
    *driven_value(&driven, 0, "d") = (struct value){.type = VALUE_DOUBLE, .d = 0.5};
    *driven_value(&driven, 0, "b") = (struct value){.type = VALUE_BOOL, .b = true};
    *driven_value(&driven, 0, "n") = (struct value){.type = VALUE_NULL};
    driven_set_text(&driven, 0, "t", "it's :i");
    pair_submit(&driven);
    put_query(&text, "SELECT -7, 0.5, true, NULL, it's :i, :unset, 'it's :i', ':unset', 1::int");
    expect(&driven, &text);
    assert_int_equal(pair_answer(&driven, good, sizeof good - 1), DRIVER_OK);
    driven_stop(&driven);
}

static void test_extended_binds(void **state)
{
    (void)state;
    struct driven driven;
    struct text text = {.length = 0};
    driven_pair(&driven, PLAN_EXTENDED, false, "SELECT :i, :n, :t, :unset, :i;\n");
    *driven_value(&driven, 0, "i") = (struct value){.type = VALUE_INT, .i = -7};
    *driven_value(&driven, 0, "n") = (struct value){.type = VALUE_NULL};
    driven_set_text(&driven, 0, "t", "it's :i");
    pair_submit(&driven);
    put_parse(&text, "", "SELECT $1, $2, $3, $4, $1");
    put_bind(&text, "", 4, (const char *[]){"-7", "NULL", "it's :i", "NULL"});
    put_run(&text, false, true);
    expect(&driven, &text);
    assert_int_equal(pair_answer(&driven, parsed_good, sizeof parsed_good - 1), DRIVER_OK);
    driven_stop(&driven);
}

/* Texts of every length around what the buffers hold, one after another in the same driver. */
static void test_texts_of_any_length(void **state)
{
    (void)state;
    enum { LONGEST = 20000 };
    static char value[LONGEST + 1];
    for (int protocol = 0; protocol < 2; protocol++) {
        struct driven driven;
        driven_pair(&driven, (enum plan_protocol)protocol, false, "SELECT :t, :t;\n");
        for (size_t length = 0; length <= LONGEST; length += length < 400 ? 1 : 977) {
            static struct text text;
            static char sql[2 * LONGEST + 20];
            text.length = 0;
            memset(value, 'v', length);
            value[length] = '\0';
            driven_set_text(&driven, 0, "t", value);
            pair_submit(&driven);
            if (protocol == PLAN_SIMPLE) {
                snprintf(sql, sizeof sql, "SELECT %s, %s", value, value);
                put_query(&text, sql);
            } else {
                put_parse(&text, "", "SELECT $1, $1");
                put_bind(&text, "", 1, (const char *[]){value});
                put_run(&text, false, true);
            }
            expect(&driven, &text);
            assert_int_equal(pair_answer(&driven, parsed_good, sizeof parsed_good - 1), DRIVER_OK);
        }
        driven_stop(&driven);
    }
}

/* A text that goes through the socket in many pieces. */
static void test_text_longer_than_the_socket(void **state)
{
    (void)state;
    enum { LENGTH = 3000000 };
    char *value = malloc(LENGTH + 1), *got = malloc(LENGTH + 100);
    struct driven driven;
    assert_true(value != NULL && got != NULL);
    for (size_t i = 0; i < LENGTH; i++)
        value[i] = (char)('a' + i % 26);
    value[LENGTH] = '\0';
    driven_pair(&driven, PLAN_SIMPLE, false, "SELECT ':t';\n");
    driven_set_text(&driven, 0, "t", value);
    pair_submit(&driven);
    size_t length = 0, wanted = 5 + strlen("SELECT ''") + LENGTH + 1;
    while (length < wanted) {
        pair_quiet(&driven);
        ssize_t count = recv(driven.peer_fd, got + length, LENGTH + 100 - length, MSG_DONTWAIT);
        length += count > 0 ? (size_t)count : 0;
    }
    assert_int_equal(length, wanted);
    assert_memory_equal(got + 5, "SELECT '", 8);
    assert_memory_equal(got + 13, value, LENGTH);
    assert_string_equal(got + 13 + LENGTH, "'");
    assert_int_equal(pair_answer(&driven, good, sizeof good - 1), DRIVER_OK);
    free(value);
    free(got);
    driven_stop(&driven);
}

/* What no message can hold is refused before anything of it is sent, and the connection lives on. */
static void test_too_long(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        struct text text = {.length = 0};
        driven_pair(&driven, (enum plan_protocol)protocol, true, "SELECT :t;\n");
        /* never looked at: the length alone is too much */
        *driven_value(&driven, 0, "t") = (struct value){.type = VALUE_TEXT, .length = UINT32_MAX, .text = "x"};
        pair_submit(&driven);
        assert_int_equal(driven_wait(&driven, 0), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "54000", "longer");
        assert_true(driven.done.is_script_fault);
        pair_expect(&driven, "", 0);
        driven_set_text(&driven, 0, "t", "1");
        pair_submit(&driven);
        if (protocol == PLAN_SIMPLE) {
            put_query(&text, "SELECT 1");
        } else {
            const char *name = protocol == PLAN_PREPARED ? "P_0" : "";
            put_parse(&text, name, "SELECT $1");
            put_bind(&text, name, 1, (const char *[]){"1"});
            put_run(&text, false, true);
        }
        expect(&driven, &text);
        assert_int_equal(pair_answer(&driven, parsed_good, sizeof parsed_good - 1), DRIVER_OK);
        driven_stop(&driven);
    }
}

static void test_quotes(void **state)
{
    (void)state;
    for (int protocol = PLAN_EXTENDED; protocol <= PLAN_PREPARED; protocol++) {
        struct driven driven;
        driven_pair(&driven, (enum plan_protocol)protocol, true, "\\set t 1\nSELECT ':t';\n");
        pair_submit(&driven);
        assert_int_equal(driven_wait(&driven, 0), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "QUOTES", "quotes");
        assert_true(driven.done.is_script_fault);
        pair_expect(&driven, "", 0);
        driven_stop(&driven);
    }
}

/* One Query for the whole compound; one Parse, which the server refuses. */
static void test_compounds(void **state)
{
    (void)state;
    struct driven driven;
    struct text text = {.length = 0};
    driven_pair(&driven, PLAN_SIMPLE, false, "SELECT 1 \\; SELECT 2 \\; SELECT 3;\n");
    pair_submit(&driven);
    put_query(&text, "SELECT 1 ; SELECT 2 ; SELECT 3");
    expect(&driven, &text);
    static const char answers[] = "C\0\0\0\x0dSELECT 1\0C\0\0\0\x0dSELECT 1\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\5I";
    for (size_t split = 0; split < sizeof answers; split++) {
        if (split > 0) {
            pair_submit(&driven);
            expect(&driven, &text);
        }
        assert_int_equal(pair_answer_split(&driven, answers, sizeof answers - 1, split), DRIVER_OK);
    }
    driven_stop(&driven);
}

/* ---- preparing when a command first runs ---- */

static void expect_lazy(struct driven *driven, bool with_parse)
{
    struct text text = {.length = 0};
    if (with_parse)
        put_parse(&text, "P_0", "SELECT $1");
    put_bind(&text, "P_0", 1, (const char *[]){"NULL"});
    put_run(&text, false, true);
    pair_submit(driven);
    expect(driven, &text);
}

/* Answers, and whether the next run has to prepare. */
static void test_lazy_parse(void **state)
{
    (void)state;
    static const char not_parsed[] = "E\0\0\0\x1aSERROR\0C42P01\0Mtable\0\0Z\0\0\0\5I";
    static const char parsed_failed[] = "1\0\0\0\4"
                                        "2\0\0\0\4"
                                        "E\0\0\0\x1aSERROR\0C22012\0Mzero?\0\0Z\0\0\0\5I";
    static const char skipped[] = "E\0\0\0\x1aSERROR\0C25P02\0Mabort\0\0Z\0\0\0\5E";
    for (size_t split = 0; split < sizeof parsed_failed; split++) {
        struct driven driven;
        driven_pair(&driven, PLAN_PREPARED, true, "SELECT :x;\n");
        expect_lazy(&driven, true);
        assert_int_equal(pair_answer(&driven, not_parsed, sizeof not_parsed - 1), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "42P01", "table");
        assert_false(driven.done.is_script_fault);
        expect_lazy(&driven, true);
        assert_int_equal(pair_answer(&driven, skipped, sizeof skipped - 1), DRIVER_ERROR);
        expect_lazy(&driven, true);
        assert_int_equal(pair_answer_split(&driven, parsed_failed, sizeof parsed_failed - 1, split), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "22012", "zero");
        for (int i = 0; i < 2; i++) {
            expect_lazy(&driven, false);
            assert_int_equal(pair_answer(&driven, good, sizeof good - 1), DRIVER_OK);
        }
        driven_stop(&driven);
    }
}

/* Each command of each script has its own bit, beyond the first word of the set too. */
static void test_lazy_many(void **state)
{
    (void)state;
    enum { COMMANDS = 150 };
    static char script[COMMANDS * 20];
    size_t length = 0;
    for (int i = 0; i < COMMANDS; i++)
        length += (size_t)sprintf(script + length, "SELECT %d;\n", i);
    struct driven driven;
    driven_pair(&driven, PLAN_PREPARED, true, script);
    const struct program *program = driven.programs[0];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COMMANDS; i++) {
            char name[16], sql[16];
            struct text text = {.length = 0};
            int index = round == 1 ? COMMANDS - 1 - i : i;
            snprintf(name, sizeof name, "P_%d", index);
            snprintf(sql, sizeof sql, "SELECT %d", index);
            if (round == 0)
                put_parse(&text, name, sql);
            put_bind(&text, name, 0, NULL);
            put_run(&text, false, true);
            driven.driver->ops->submit(driven.driver, 0, program, &program->steps[index], driven.vars);
            expect(&driven, &text);
            assert_int_equal(
                pair_answer(&driven, round == 0 ? parsed_good : good, (round == 0 ? sizeof parsed_good : sizeof good) - 1),
                DRIVER_OK);
        }
    driven_stop(&driven);
}

static void test_gset_describes(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        struct text text = {.length = 0};
        const char *name = protocol == PLAN_PREPARED ? "P_0" : "";
        driven_pair(&driven, (enum plan_protocol)protocol, true, "SELECT 1 AS a \\gset\n");
        pair_submit(&driven);
        const char *sql = driven.programs[0]->steps[0].prepared_text;
        if (protocol == PLAN_SIMPLE) {
            put_query(&text, sql);
        } else {
            put_parse(&text, name, sql);
            put_bind(&text, name, 0, NULL);
            put_run(&text, true, true);
        }
        expect(&driven, &text);
        driven_stop(&driven);
    }
}

/* ---- pipelines ---- */

static const char pipeline_text[] = "\\startpipeline\nSELECT :x;\nSELECT 2;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\n";

static void put_pipeline(struct text *text, enum plan_protocol protocol, bool with_parse, const char *x)
{
    static const char *const sqls[] = {"SELECT $1", "SELECT 2", "SELECT 3"};
    for (int i = 0; i < 3; i++) {
        char name[16] = "";
        if (protocol == PLAN_PREPARED)
            snprintf(name, sizeof name, "P_%d", i);
        if (with_parse)
            put_parse(text, name, sqls[i]);
        put_bind(text, name, i == 0, &x);
        put_run(text, false, i > 0);
    }
}

/* Nothing is sent before the end; values are those of the time when they were queued. */
static void test_pipeline(void **state)
{
    (void)state;
    static const char parsed[] = "1\0\0\0\4"
                                 "2\0\0\0\4"
                                 "C\0\0\0\x0dSELECT 1\0";
    for (int protocol = PLAN_EXTENDED; protocol <= PLAN_PREPARED; protocol++) {
        struct driven driven;
        driven_pair(&driven, (enum plan_protocol)protocol, true, pipeline_text);
        const struct program *program = driven.programs[0];
        const struct driver_ops *ops = driven.driver->ops;
        for (int round = 0; round < 3; round++) {
            struct text text = {.length = 0}, answer = {.length = 0};
            bool with_parse = protocol == PLAN_EXTENDED || round == 0;
            *driven_value(&driven, 0, "x") = (struct value){.type = VALUE_INT, .i = round};
            for (size_t i = 1; i < 5; i++) {
                ops->queue(driven.driver, 0, program, &program->steps[i], driven.vars);
                *driven_value(&driven, 0, "x") = (struct value){.type = VALUE_INT, .i = 99};
            }
            pair_expect(&driven, "", 0);
            pair_quiet(&driven);
            ops->submit(driven.driver, 0, program, &program->steps[5], driven.vars);
            put_pipeline(&text, (enum plan_protocol)protocol, with_parse, (const char *[]){"0", "1", "2"}[round]);
            expect(&driven, &text);
            for (int i = 0; i < 3; i++) {
                put(&answer, with_parse ? parsed : parsed + 5, sizeof parsed - 1 - (with_parse ? 0 : 5));
                if (i > 0)
                    put(&answer, "Z\0\0\0\5I", 6);
            }
            assert_int_equal(pair_answer(&driven, answer.bytes, answer.length), DRIVER_OK);
        }
        driven_stop(&driven);
    }
}

/* Only a Sync is sent for an empty one. */
static void test_empty_pipeline(void **state)
{
    (void)state;
    struct driven driven;
    driven_pair(&driven, PLAN_EXTENDED, false, "\\startpipeline\n\\endpipeline\nSELECT 1;\n");
    pair_submit(&driven);
    pair_expect(&driven, BYTES("S\0\0\0\4"));
    assert_int_equal(pair_answer(&driven, BYTES("Z\0\0\0\5I")), DRIVER_OK);
    driven_stop(&driven);
}

/* What cannot be sent: nothing of the pipeline is, and its end says which step it was. */
static void test_pipeline_refused(void **state)
{
    (void)state;
    static const struct {
        enum plan_protocol protocol;
        const char *text, *code;
        size_t step;
    } cases[] = {
        {PLAN_SIMPLE, "\\startpipeline\nSELECT 1;\n\\endpipeline\n", "PIPELINE", 1},
        {PLAN_EXTENDED, "\\set x 1\n\\startpipeline\nSELECT 1;\nSELECT ':x';\nSELECT 3;\n\\endpipeline\n", "QUOTES", 3},
        {PLAN_PREPARED, "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT :t;\n\\endpipeline\n", "54000", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct driven driven;
        driven_pair(&driven, cases[i].protocol, true, cases[i].text);
        if (i == 2)
            *driven_value(&driven, 0, "t") = (struct value){.type = VALUE_TEXT, .length = UINT32_MAX, .text = "x"};
        for (int round = 0; round < 2; round++) {
            pair_submit(&driven);
            assert_int_equal(driven_wait(&driven, 0), DRIVER_ERROR);
            assert_done(&driven, DRIVER_ERROR, cases[i].code, "");
            assert_true(driven.done.is_script_fault);
            assert_ptr_equal(driven.done.fault_step, &driven.programs[0]->steps[cases[i].step]);
            pair_expect(&driven, "", 0);
        }
        driven_stop(&driven);
    }
}

/* A pipeline that its script did not end is forgotten with the connection. */
static void test_pipeline_left_open(void **state)
{
    (void)state;
    struct driven driven;
    driven_pair(&driven, PLAN_EXTENDED, false, "\\startpipeline\nSELECT 1;\n\\endpipeline\n");
    const struct program *program = driven.programs[0];
    int fd = driver_pg_of(driven.driver)->clients[0].socket.fd;
    driven.driver->ops->queue(driven.driver, 0, program, &program->steps[1], driven.vars);
    driven.driver->ops->disconnect(driven.driver, 0);
    pair_expect(&driven, "", 0);
    assert_int_equal(driver_pg_of(driven.driver)->pipelines[0].count, 0);
    assert_int_equal(driver_pg_of(driven.driver)->pipelines[0].out.len, 0);
    close(fd);
    driven_stop(&driven);
}

/* Scripts of meta commands alone need no server's answer, but may be loaded. */
static void test_nothing_to_send(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        driven_pair(&driven, (enum plan_protocol)protocol, true, "\\set x 1\n");
        pair_submit(&driven);
        pair_quiet(&driven);
        driven_stop(&driven);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_pastes),
        cmocka_unit_test(test_extended_binds),
        cmocka_unit_test(test_texts_of_any_length),
        cmocka_unit_test(test_text_longer_than_the_socket),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_compounds),
        cmocka_unit_test(test_lazy_parse),
        cmocka_unit_test(test_lazy_many),
        cmocka_unit_test(test_gset_describes),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_empty_pipeline),
        cmocka_unit_test(test_pipeline_refused),
        cmocka_unit_test(test_pipeline_left_open),
        cmocka_unit_test(test_nothing_to_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
