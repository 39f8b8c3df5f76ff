/* connect_each: connections that open, that fail in every way, and that try again. (All connections before a trial:
 * test_drv_pg.c.) */
#include "drv_pg_test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/un.h>

#include "fakepg.h"

static int group_setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

static void start(struct driven *driven, const char *conninfo, enum plan_protocol protocol, int clients)
{
    driven_init(driven, conninfo, protocol, clients);
    driven->spec.connect_each = true;
    driven_script(driven, "BEGIN;\nSELECT :client;\nEND;\n");
}

static void begin(struct driven *driven, int client)
{
    driven->driver->ops->connect(driven->driver, (uint32_t)client);
}

static void end(struct driven *driven, int client)
{
    driven->driver->ops->disconnect(driven->driver, (uint32_t)client);
}

/* The number of connections that the server has seen, once it has seen their end. */
static void assert_all_ended(struct fakepg *fake, int64_t accepted)
{
    for (int i = 0; i < 5000 && fakepg_open(fake) > 0; i++)
        pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_MS);
    assert_int_equal(fakepg_open(fake), 0);
    assert_int_equal(fakepg_accepted(fake), accepted);
}

/* One connection to see that there is a server, then one for each operation, each with a goodbye; in the prepared protocol
 * each prepares for itself. */
static void test_one_for_each(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        enum { CLIENTS = 3, ROUNDS = 4 };
        int protocol = i / 2;
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.one_byte_sends = i % 2 == 1});
        struct driven driven;
        start(&driven, fakepg_conninfo(fake), (enum plan_protocol)protocol, CLIENTS);
        driven_open(&driven);
        assert_int_equal(fakepg_accepted(fake), 1);
        for (int round = 0; round < ROUNDS; round++) {
            bool is_open[CLIENTS] = {false};
            for (int c = 0; c < CLIENTS; c++)
                begin(&driven, c);
            for (int left = CLIENTS; left > 0;) {
                int count = driven.driver->ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_S, &driven.done, 1);
                left -= count;
                if (count == 0)
                    continue;
                assert_int_equal(driven.done.outcome, DRIVER_OK);
                assert_false(is_open[driven.done.client]);
                is_open[driven.done.client] = true;
            }
            for (int c = 0; c < CLIENTS; c++) {
                assert_int_equal(driven_run_for(&driven, c, 0), DRIVER_OK);
                end(&driven, c);
            }
        }
        driven_stop(&driven);
        assert_all_ended(fake, 1 + CLIENTS * ROUNDS);
        assert_int_equal(fakepg_received(fake, 'X'), 1 + CLIENTS * ROUNDS);
        assert_int_equal(fakepg_completed(fake), 3 * CLIENTS * ROUNDS);
        assert_int_equal(fakepg_received(fake, 'P'), protocol == PLAN_SIMPLE ? 0 : 3 * CLIENTS * ROUNDS);
        fakepg_stop(fake);
    }
}

/* What the second connection of a client meets, and what is said of it; the third one is well. */
static void test_failures(void **state)
{
    (void)state;
    static const struct {
        struct fakepg_rule rule;
        const char *code, *other_code, *text;
    } cases[] = {
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_ERROR, .sqlstate = "53300"}, "53300", NULL, "said the scripted server"},
        {{.when = FAKEPG_AT_AUTH, .act = FAKEPG_ERROR, .sqlstate = "57P03"}, "57P03", NULL, "said the scripted server"},
        {{.when = FAKEPG_AT_ACCEPT, .act = FAKEPG_CLOSE}, "CLOSED", "ECONNRESET", ""},
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_CLOSE}, "CLOSED", "ECONNRESET", ""},
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_RESET}, "ECONNRESET", "CLOSED", ""},
        {{.when = FAKEPG_AT_AUTH, .act = FAKEPG_CLOSE}, "CLOSED", "ECONNRESET", ""},
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_HALF}, "CLOSED", "ECONNRESET", ""},
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_GARBAGE}, "08001", NULL, ""},
        {{.when = FAKEPG_AT_STARTUP, .act = FAKEPG_STALL}, "ETIMEDOUT", NULL, "time to connect was over"},
        {{.when = FAKEPG_AT_AUTH, .act = FAKEPG_STALL}, "ETIMEDOUT", NULL, "time to connect was over"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fakepg_rule rule = cases[i].rule;
        struct driven driven;
        rule.connection = 2; /* the first is only a trial */
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
        start(&driven, fakepg_conninfo(fake), PLAN_PREPARED, 1);
        driven.spec.connect_timeout_ns = rule.act == FAKEPG_STALL ? 200 * PL_NS_PER_MS : 20 * PL_NS_PER_S;
        driven_open(&driven);
        for (int round = 0; round < 3; round++) {
            begin(&driven, 0);
            assert_int_equal(driven_wait(&driven, 0), round == 1 ? DRIVER_LOST : DRIVER_OK);
            if (round == 1) {
                bool is_other = cases[i].other_code != NULL && strcmp(driven.done.code, cases[i].other_code) == 0;
                assert_done(&driven, DRIVER_LOST, is_other ? cases[i].other_code : cases[i].code, cases[i].text);
                assert_false(driven.done.is_script_fault);
                continue;
            }
            assert_runs(&driven);
            end(&driven, 0);
        }
        driven_stop(&driven);
        fakepg_stop(fake);
    }
}

/* The server goes while the load runs. */
static void test_nobody_is_there_any_more(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(NULL);
    struct driven driven;
    char conninfo[200];
    snprintf(conninfo, sizeof conninfo, "%s", fakepg_conninfo(fake));
    start(&driven, conninfo, PLAN_SIMPLE, 2);
    driven_open(&driven);
    fakepg_stop(fake);
    for (int round = 0; round < 3; round++)
        for (int c = 0; c < 2; c++) {
            begin(&driven, c);
            assert_int_equal(driven_wait(&driven, c), DRIVER_LOST);
            assert_done(&driven, DRIVER_LOST, "ENOENT", "No such file or directory");
        }
    /* told, but not yet reported when the client is closed */
    begin(&driven, 0);
    end(&driven, 0);
    struct driver_done done;
    assert_int_equal(driven.driver->ops->wait(driven.driver, 0, &done, 1), 0);
    driven_stop(&driven);
}

static void test_nowhere(void **state)
{
    (void)state;
    static const char *const conninfos[] = {"host=/nowhere/at/all user=u password=geheim",
                                            "host=127.0.0.1 port=1 user=u password=geheim", "no connection string geheim"};
    for (size_t i = 0; i < 3; i++) {
        struct driven driven;
        struct pl_err err = {0};
        start(&driven, conninfos[i], PLAN_SIMPLE, 2);
        assert_int_equal(driven_try(&driven, &err), i < 2 ? PL_SERVICE : PL_INPUT);
        assert_null(strstr(err.what, "geheim"));
        driven_stop(&driven);
    }
}

/* Closed at any moment while it is being opened, and opened again: nothing of the old one is seen. */
static void test_closed_while_opening(void **state)
{
    (void)state;
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.one_byte_sends = true});
    struct driven driven;
    start(&driven, fakepg_conninfo(fake), PLAN_EXTENDED, 2);
    driven_open(&driven);
    for (int steps = 0; steps < 40; steps++) {
        begin(&driven, 0);
        begin(&driven, 1);
        int opened = 0;
        for (int i = 0; i < steps; i++)
            opened += driven.driver->ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_MS, &driven.done, 1);
        end(&driven, 0);
        end(&driven, 1);
        assert_in_range(opened, 0, 2);
        begin(&driven, 0);
        assert_int_equal(driven_wait(&driven, 0), DRIVER_OK);
        assert_runs(&driven);
        end(&driven, 0);
    }
    driven_stop(&driven);
    fakepg_stop(fake);
}

/* Those whose time is over are reported in the order in which they began, also when others between them have ended. */
static void test_time_is_over_for_many(void **state)
{
    (void)state;
    enum { CLIENTS = 8 };
    struct fakepg_rule rules[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        rules[i] = (struct fakepg_rule){
            .when = FAKEPG_AT_AUTH, .connection = 1 + i, .act = i % 3 == 1 ? FAKEPG_CHATTER : FAKEPG_STALL};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = CLIENTS});
    struct driven driven;
    start(&driven, fakepg_conninfo(fake), PLAN_SIMPLE, CLIENTS);
    driven.spec.connect_timeout_ns = 300 * PL_NS_PER_MS;
    driven_open(&driven);
    for (int c = 0; c < CLIENTS; c++)
        begin(&driven, c);
    end(&driven, 3);
    int lost = 0, last = -1;
    for (int left = CLIENTS - 1; left > 0;) {
        int count = driven.driver->ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_S, &driven.done, 1);
        left -= count;
        if (count == 0 || driven.done.outcome == DRIVER_OK)
            continue;
        assert_done(&driven, DRIVER_LOST, "ETIMEDOUT", "");
        assert_true((int)driven.done.client > last);
        last = (int)driven.done.client;
        lost++;
    }
    assert_true(lost >= 4); /* those with chatter end well unless the machine stood still */
    driven_stop(&driven);
    fakepg_stop(fake);
}

/* A Unix socket whose accept queue is full: the connections wait their turn, and all of them get it. */
static void test_full_accept_queue(void **state)
{
    (void)state;
    enum { CLIENTS = 6 };
    char folder[] = "/tmp/plimsoll-test-full-XXXXXX", conninfo[200];
    assert_non_null(mkdtemp(folder));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", folder);
    snprintf(conninfo, sizeof conninfo, "host=%s user=u dbname=d", folder);
    struct fakepg *fake = fakepg_start(NULL);
    struct driven driven;
    start(&driven, fakepg_conninfo(fake), PLAN_SIMPLE, CLIENTS);
    driven_open(&driven);
    driven.spec.conninfo = conninfo; /* from now on: one that takes two and then none */
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), accepted = 0;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 0), 0);
    for (int c = 0; c < CLIENTS; c++)
        begin(&driven, c);
    int lost = 0;
    for (int i = 0; lost < CLIENTS && i < 20000; i++) {
        if (i > 20 && poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 0) > 0) {
            close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
            accepted++;
        }
        lost += driven.driver->ops->wait(driven.driver, pl_clock_ns() + PL_NS_PER_MS, &driven.done, 1);
        if (i == 20) /* as many as fit, and of the others none has failed */
            assert_int_equal(lost, 0);
    }
    assert_int_equal(lost, CLIENTS);
    assert_int_equal(accepted, CLIENTS);
    driven_stop(&driven);
    close(listener);
    unlink(address.sun_path);
    rmdir(folder);
    fakepg_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_for_each),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_nobody_is_there_any_more),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_closed_while_opening),
        cmocka_unit_test(test_time_is_over_for_many),
        cmocka_unit_test(test_full_accept_queue),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
