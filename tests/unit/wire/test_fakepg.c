/* Our codec and sockets against the scripted server of tests/support: also the test of that server, which others rely on.
 */
#include "support.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fakepg.h"
#include "wire/pgconn.h"
#include "wire/pgmsg.h"

#define PATIENCE_NS (60 * PL_NS_PER_S)

struct client {
    PGconn *conn;
    struct wire_socket socket;
    uint8_t in[4096];
    size_t have;
    enum wire_io end; /* why there is no more, WIRE_DONE before that */
    char error[8];    /* SQLSTATE of the last ErrorResponse or NoticeResponse */
};

static void client_open(struct client *client, const struct fakepg *fake)
{
    struct pl_err err = {0};
    memset(client, 0, sizeof *client);
    assert_int_equal(pgconn_open(fakepg_conninfo(fake), PATIENCE_NS, &client->conn, &err), PL_OK);
    client->socket = pgconn_socket(client->conn);
}

static void client_close(struct client *client)
{
    PQfinish(client->conn);
}

static void client_send(struct client *client, const struct pgmsg_out *out)
{
    size_t count;
    assert_false(out->overflow);
    assert_int_equal(wire_write(&client->socket, out->data, out->len, &count), WIRE_DONE);
    assert_int_equal(count, out->len);
}

/* Reads up to and with ReadyForQuery; the types of all messages as text, "!" for bytes that are none, "." at the end of the
 * stream. */
static const char *client_hear(struct client *client, char *types, size_t size)
{
    size_t length = 0;
    for (;;) {
        struct pgmsg msg;
        size_t used = 0;
        enum pgmsg_result result;
        while ((result = pgmsg_next(client->in + used, client->have - used, &msg)) == PGMSG_OK && length + 2 < size) {
            struct pgmsg_error error;
            types[length++] = msg.type;
            used += msg.total;
            if (msg.type == 'E' || msg.type == 'N') {
                assert_true(pgmsg_error_parse(&msg, &error));
                snprintf(client->error, sizeof client->error, "%s", error.sqlstate);
            }
            if (msg.type == 'Z') {
                types[length++] = pgmsg_ready_state(&msg);
                break;
            }
        }
        memmove(client->in, client->in + used, client->have - used);
        client->have -= used;
        types[length] = '\0';
        if (result == PGMSG_BAD)
            return strcat(types, "!");
        if (result == PGMSG_OK)
            return types;
        size_t count;
        client->end = wire_read(&client->socket, client->in + client->have, sizeof client->in - client->have, &count);
        client->have += count;
        if (client->end == WIRE_AGAIN)
            poll(&(struct pollfd){.fd = client->socket.fd, .events = POLLIN}, 1, -1);
        else if (client->end != WIRE_DONE)
            return strcat(types, ".");
    }
}

static void expect_query(struct client *client, const char *sql, const char *expected)
{
    uint8_t bytes[256];
    char types[64];
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    pgmsg_put_query(&out, sql, strlen(sql));
    client_send(client, &out);
    assert_string_equal(client_hear(client, types, sizeof types), expected);
}

static void put_step(struct pgmsg_out *out, const char *statement)
{
    pgmsg_put_bind(out, statement, NULL, 0);
    pgmsg_put_execute(out);
}

static void test_simple(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(NULL);
    struct client client;
    client_open(&client, fake);
    assert_int_equal(fakepg_accepted(fake), 1);
    assert_int_equal(fakepg_open(fake), 1);
    expect_query(&client, "select 1", "TDCZI");
    expect_query(&client, "begin", "CZT");
    expect_query(&client, "update x set y = 1", "CZT");
    expect_query(&client, "END", "CZI");
    expect_query(&client, " ", "IZI");
    assert_int_equal(fakepg_received(fake, 'Q'), 5);
    assert_int_equal(fakepg_completed(fake), 4);
    assert_int_equal(fakepg_errors(fake), 0);
    client_close(&client);
    fakepg_stop(fake);
}

static void test_extended(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(NULL);
    struct client client;
    uint8_t bytes[512];
    char types[64];
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    client_open(&client, fake);
    pgmsg_put_parse(&out, "p0", "BEGIN", 5);
    pgmsg_put_parse(&out, "p1", "SELECT 1", 8);
    pgmsg_put_sync(&out);
    client_send(&client, &out);
    assert_string_equal(client_hear(&client, types, sizeof types), "11ZI");
    out.len = 0;
    put_step(&out, "p0");
    put_step(&out, "p1");
    pgmsg_put_sync(&out);
    client_send(&client, &out);
    assert_string_equal(client_hear(&client, types, sizeof types), "2C2DCZT");
    out.len = 0;
    put_step(&out, "p9"); /* never parsed: an error, the rest up to Sync is skipped */
    put_step(&out, "p1");
    pgmsg_put_sync(&out);
    client_send(&client, &out);
    assert_string_equal(client_hear(&client, types, sizeof types), "EZT");
    assert_string_equal(client.error, "26000");
    assert_int_equal(fakepg_received(fake, 'P'), 2);
    assert_int_equal(fakepg_received(fake, 'B'), 4);
    assert_int_equal(fakepg_received(fake, 'E'), 4);
    assert_int_equal(fakepg_received(fake, 'S'), 3);
    client_close(&client);
    fakepg_stop(fake);
}

static void test_error_in_transaction(void **state)
{
    (void)state;
    static const struct fakepg_rule rules[] = {{.when = FAKEPG_AT_COMMAND,
                                                .connection = FAKEPG_ANY,
                                                .number = 1,
                                                .every = 5,
                                                .act = FAKEPG_ERROR,
                                                .sqlstate = "40001"}};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 1});
    struct client client;
    client_open(&client, fake);
    for (int turn = 0; turn < 3; turn++) {
        expect_query(&client, "BEGIN", "CZT");
        expect_query(&client, "UPDATE t", "EZE");
        assert_string_equal(client.error, "40001");
        expect_query(&client, "UPDATE t", "EZE");
        assert_string_equal(client.error, "25P02");
        expect_query(&client, "ROLLBACK", "CZI");
        expect_query(&client, "SELECT 1", "TDCZI");
    }
    assert_int_equal(fakepg_errors(fake), 6);
    client_close(&client);
    fakepg_stop(fake);
}

static void test_one_byte_sends(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.one_byte_sends = true});
    struct client client;
    client_open(&client, fake);
    for (int i = 0; i < 20; i++)
        expect_query(&client, "select 1", "TDCZI");
    client_close(&client);
    fakepg_stop(fake);
}

/* Each way to misbehave at the second command of the second connection: the first one never notices. */
static void misbehave(enum fakepg_act act, const char *expected, enum wire_io end, int os_errno)
{
    struct fakepg_rule rule = {.when = FAKEPG_AT_COMMAND, .connection = 1, .number = 1, .act = act};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    struct client first, second;
    client_open(&first, fake);
    client_open(&second, fake);
    expect_query(&second, "select 1", "TDCZI");
    expect_query(&second, "select 1", expected);
    if (end != WIRE_DONE) {
        assert_int_equal(second.end, end);
        assert_int_equal(second.socket.os_errno, os_errno);
    }
    for (int i = 0; i < 3; i++)
        expect_query(&first, "select 1", "TDCZI");
    client_close(&first);
    client_close(&second);
    fakepg_stop(fake);
}

static void test_misbehaviour(void **state)
{
    (void)state;
    misbehave(FAKEPG_RESET, ".", WIRE_FAILED, ECONNRESET);
    misbehave(FAKEPG_CLOSE, ".", WIRE_CLOSED, 0);
    misbehave(FAKEPG_GARBAGE, "!", WIRE_DONE, 0);
    misbehave(FAKEPG_CHATTER, "NSATDCZI", WIRE_DONE, 0);
    misbehave(FAKEPG_ERROR, "EZI", WIRE_DONE, 0);
    misbehave(FAKEPG_HALF, ".", WIRE_CLOSED, 0);
}

static void test_garbage_of_choice(void **state)
{
    (void)state;
    static const struct fakepg_rule rules[] = {
        {.when = FAKEPG_AT_MESSAGE, .number = 0, .act = FAKEPG_GARBAGE, .bytes = "Z\0\0\0\5T", .length = 6}};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 1});
    struct client client;
    client_open(&client, fake);
    expect_query(&client, "select 1", "ZT");
    client_close(&client);
    fakepg_stop(fake);
}

static void test_stall(void **state)
{
    (void)state;
    static const struct fakepg_rule rules[] = {{.when = FAKEPG_AT_COMMAND, .number = 0, .act = FAKEPG_STALL}};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 1});
    struct client stalled, other;
    uint8_t bytes[64];
    size_t count;
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    client_open(&stalled, fake);
    client_open(&other, fake);
    pgmsg_put_query(&out, "select 1", 8);
    client_send(&stalled, &out);
    expect_query(&other, "select 1", "TDCZI");
    assert_int_equal(wire_read(&stalled.socket, stalled.in, sizeof stalled.in, &count), WIRE_AGAIN);
    client_close(&stalled);
    client_close(&other);
    fakepg_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_extended),
        cmocka_unit_test(test_error_in_transaction),
        cmocka_unit_test(test_one_byte_sends),
        cmocka_unit_test(test_misbehaviour),
        cmocka_unit_test(test_garbage_of_choice),
        cmocka_unit_test(test_stall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
