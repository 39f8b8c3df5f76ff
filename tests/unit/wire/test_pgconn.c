/* Opening connections: to a real PostgreSQL (plain and TLS), to a scripted server that misbehaves in each phase, to nobody.
 */
#include "support.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fakepg.h"
#include "pgserver.h"
#include "wire/pgconn.h"
#include "wire/pgmsg.h"

#define PATIENCE_NS (60 * PL_NS_PER_S)

struct servers {
    struct pgserver *plain, *tls;
};

static int setup(void **state)
{
    static struct servers servers;
    servers = (struct servers){.plain = pgserver_start(), .tls = pgserver_start_tls()};
    *state = &servers;
    return 0;
}

static int teardown(void **state)
{
    struct servers *servers = *state;
    pgserver_stop(servers->plain);
    pgserver_stop(servers->tls);
    return 0;
}

static const struct pgserver *plain_server(void **state)
{
    return pgserver_or_skip(((struct servers *)*state)->plain);
}

static PGconn *open_one(const char *conninfo)
{
    struct pl_err err = {0};
    PGconn *conn = NULL;
    if (pgconn_open(conninfo, PATIENCE_NS, &conn, &err) != PL_OK)
        fail_msg("%s", err.what);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    return conn;
}

static int64_t ask(PGconn *conn, const char *sql)
{
    struct pl_err err = {0};
    int64_t value = 0;
    if (pgquery_i64(conn, sql, PATIENCE_NS, &value, &err) != PL_OK)
        fail_msg("%s", err.what);
    return value;
}

/* The error of an attempt that must fail; nothing may be left open, and no piece of a secret in the texts. */
static struct pl_err open_fails(const char *conninfo, int64_t timeout_ns, enum pl_code code)
{
    struct pl_err err = {0};
    PGconn *conn = NULL;
    assert_int_equal(pgconn_open(conninfo, timeout_ns, &conn, &err), code);
    assert_int_equal(err.code, code);
    assert_null(conn);
    assert_true(err.what[0] != '\0');
    static const char *const secrets[] = {"hunter2", "s3cret"};
    for (size_t i = 0; i < 2; i++) {
        assert_null(strstr(err.what, secrets[i]));
        assert_null(strstr(err.hint, secrets[i]));
    }
    assert_null(strchr(err.what, '\n'));
    return err;
}

static int compare_ints(const void *a, const void *b)
{
    const int *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void check_many(const struct pgserver *server, int count, int at_once)
{
    struct pl_err err = {0};
    PGconn **conns = calloc((size_t)count, sizeof *conns);
    int64_t *took_ns = calloc((size_t)count, sizeof *took_ns);
    int *pids = calloc((size_t)count, sizeof *pids);
    assert_true(conns != NULL && took_ns != NULL && pids != NULL);
    int64_t start_ns = pl_clock_ns();
    enum pl_code code =
        pgconn_open_many(server->conninfo, count, at_once, start_ns + PATIENCE_NS, NULL, conns, took_ns, &err);
    int64_t all_ns = pl_clock_ns() - start_ns;
    if (code != PL_OK)
        fail_msg("%s", err.what);
    for (int i = 0; i < count; i++) {
        assert_int_equal(PQstatus(conns[i]), CONNECTION_OK);
        assert_in_range(took_ns[i], 1, all_ns);
        pids[i] = PQbackendPID(conns[i]);
    }
    qsort(pids, (size_t)count, sizeof *pids, compare_ints);
    for (int i = 1; i < count; i++)
        assert_true(pids[i - 1] < pids[i]);
    /* not more than asked for, once those that came before have left */
    while (ask(conns[0], "select count(*) from pg_stat_activity where application_name = 'plimsoll'") > count)
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    for (int i = 0; i < count; i++)
        PQfinish(conns[i]);
    free(conns);
    free(took_ns);
    free(pids);
}

/* Waits until the backends of other connections are gone: they leave a moment after their clients. */
static void wait_alone(const struct pgserver *server)
{
    PGconn *conn = open_one(server->conninfo);
    while (ask(conn, "select count(*) from pg_stat_activity where backend_type = 'client backend'") > 1)
        pl_clock_sleep_until(pl_clock_ns() + 5 * PL_NS_PER_MS);
    PQfinish(conn);
}

static void test_many(void **state)
{
    const struct pgserver *server = plain_server(state);
    static const struct {
        int count, at_once;
    } cases[] = {{200, 200}, {50, 7}, {3, 1}, {1, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wait_alone(server);
        check_many(server, cases[i].count, cases[i].at_once);
    }
    wait_alone(server);
}

static void test_many_tls(void **state)
{
    const struct pgserver *server = pgserver_or_skip(((struct servers *)*state)->tls);
    check_many(server, 20, 8);
}

static void test_none(void **state)
{
    (void)state;
    struct pl_err err = {0};
    assert_int_equal(pgconn_open_many("host=/nowhere", 0, 5, 0, NULL, NULL, NULL, &err), PL_OK);
}

/* More than max_connections: an error with the server's words, and nothing left open. */
static void test_too_many(void **state)
{
    const struct pgserver *server = plain_server(state);
    enum { COUNT = 320 };
    static PGconn *conns[COUNT];
    struct pl_err err = {0};
    wait_alone(server);
    assert_int_equal(pgconn_open_many(server->conninfo, COUNT, 50, pl_clock_ns() + PATIENCE_NS, NULL, conns, NULL, &err),
                     PL_SERVICE);
    assert_non_null(strstr(err.what, "53300"));
    assert_non_null(strstr(err.what, "of 320"));
    for (int i = 0; i < COUNT; i++)
        assert_null(conns[i]);
    wait_alone(server);
}

static void test_descriptors_raised(void **state)
{
    const struct pgserver *server = plain_server(state);
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = 30, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    wait_alone(server);
    check_many(server, 60, 20);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_wrong_database(void **state)
{
    const struct pgserver *server = plain_server(state);
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "%s dbname=nope password=hunter2", server->conninfo);
    struct pl_err err = open_fails(conninfo, PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "3D000"));
    assert_non_null(strstr(err.what, "database \"nope\" does not exist"));
    assert_null(strstr(err.what, "LOCATION"));
}

static void test_password(void **state)
{
    const struct pgserver *server = plain_server(state);
    struct pl_err err = {0};
    char conninfo[400];
    PGconn *conn = open_one(server->conninfo);
    assert_int_equal(pgquery_run(conn, "create role guarded login password 's3cret'", PATIENCE_NS, NULL, &err), PL_OK);
    PQfinish(conn);
    snprintf(conninfo, sizeof conninfo, "%s user=guarded password=s3cret", server->conninfo);
    PQfinish(open_one(conninfo));
    snprintf(conninfo, sizeof conninfo, "%s user=guarded password=hunter2", server->conninfo);
    err = open_fails(conninfo, PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "28P01"));
    snprintf(conninfo, sizeof conninfo, "%s user=guarded passfile=/nowhere", server->conninfo);
    err = open_fails(conninfo, PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "no password supplied"));
}

static void test_uri(void **state)
{
    const struct pgserver *server = plain_server(state);
    char uri[400];
    snprintf(uri, sizeof uri, "postgresql://postgres:hunter2@/postgres?host=%s&port=%d", server->folder, server->port);
    PGconn *conn = open_one(uri);
    assert_int_equal(ask(conn, "select 7"), 7);
    PQfinish(conn);
}

/* What libpq would quote in its complaint is not passed on. */
static void test_bad_conninfo(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "host=/tmp password=my hunter2",
        "password='hunter2",
        "hunter2",
        "hunter2=1 host=/tmp",
        "postgresql://u:hunter2@[::1",
        "postgresql://u:p@h/d?hunter2=x",
        "postgresql://u:s3cret@hunter2@host/d",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pl_err err = open_fails(bad[i], PATIENCE_NS, PL_INPUT);
        assert_true(err.hint[0] != '\0');
    }
}

static void test_nobody(void **state)
{
    (void)state;
    struct pl_err err = open_fails("host=/nowhere/at/all password=hunter2", PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "/nowhere/at/all"));
    assert_non_null(strstr(err.what, "No such file or directory"));
    assert_non_null(strstr(err.hint, "Is the server running"));
    /* port 1 of loopback: refused at once */
    err = open_fails("host=127.0.0.1 port=1 user=u dbname=d password=hunter2", PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "refused"));
    /* the second host is tried after the first */
    err = open_fails("host=/nowhere/a,/nowhere/b", PATIENCE_NS, PL_SERVICE);
    assert_non_null(strstr(err.what, "/nowhere/a"));
    assert_non_null(strstr(err.what, "/nowhere/b"));
}

static void test_second_host(void **state)
{
    const struct pgserver *server = plain_server(state);
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "host=/nowhere,%s user=postgres dbname=postgres", server->folder);
    PQfinish(open_one(conninfo));
}

static struct pl_err fake_fails(enum fakepg_when when, enum fakepg_act act, int64_t timeout_ns)
{
    struct fakepg_rule rule = {.when = when, .connection = FAKEPG_ANY, .act = act};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    struct pl_err err = open_fails(fakepg_conninfo(fake), timeout_ns, PL_SERVICE);
    fakepg_stop(fake);
    return err;
}

/* Drives one connection as an event loop would. Returns how it ended. */
static enum pgconn_progress drive(const char *conninfo, const char *hostaddr, PGconn **ret_conn)
{
    enum pgconn_progress progress = pgconn_begin(conninfo, hostaddr, ret_conn);
    assert_non_null(*ret_conn);
    while (progress == PGCONN_READING || progress == PGCONN_WRITING) {
        struct pollfd one = {.fd = PQsocket(*ret_conn), .events = progress == PGCONN_READING ? POLLIN : POLLOUT};
        assert_int_equal(poll(&one, 1, 60000), 1);
        progress = pgconn_advance(*ret_conn);
    }
    return progress;
}

static void test_step_by_step(void **state)
{
    const struct servers *servers = *state;
    const struct pgserver *both[] = {plain_server(state), servers->tls};
    for (int i = 0; i < 2; i++) {
        PGconn *conn;
        assert_int_equal(drive(both[i]->conninfo, NULL, &conn), PGCONN_OPEN);
        assert_int_equal(PQstatus(conn), CONNECTION_OK);
        assert_int_equal(PQsslInUse(conn), i);
        assert_null(pgconn_looked_up(conn)); /* a folder, an address: nothing was looked up */
        assert_int_equal(ask(conn, "SELECT 42"), 42);
        PQfinish(conn);
    }
}

/* A host name is looked up once, and the address serves the next connection. */
static void test_looked_up(void **state)
{
    const struct pgserver *server = pgserver_or_skip(((struct servers *)*state)->tls);
    char conninfo[300];
    snprintf(conninfo, sizeof conninfo, "host=localhost port=%d user=postgres dbname=postgres sslmode=require",
             server->port);
    PGconn *conn = open_one(conninfo), *again;
    const char *address = pgconn_looked_up(conn);
    assert_non_null(address);
    assert_string_equal(address, "127.0.0.1");
    snprintf(conninfo, sizeof conninfo, "host=no.such.name.invalid port=%d user=postgres dbname=postgres", server->port);
    assert_int_equal(drive(conninfo, address, &again), PGCONN_OPEN);
    PQfinish(again);
    PQfinish(conn);
    /* a choice of hosts stays libpq's */
    snprintf(conninfo, sizeof conninfo, "host=localhost,localhost port=%d user=postgres dbname=postgres", server->port);
    conn = open_one(conninfo);
    assert_null(pgconn_looked_up(conn));
    PQfinish(conn);
    snprintf(conninfo, sizeof conninfo, "host=localhost hostaddr=127.0.0.1 port=%d user=postgres dbname=postgres",
             server->port);
    conn = open_one(conninfo);
    assert_null(pgconn_looked_up(conn));
    PQfinish(conn);
}

static void check_failure(const char *conninfo, const char *code, const char *words)
{
    PGconn *conn;
    struct pgconn_failure failure;
    assert_int_equal(drive(conninfo, NULL, &conn), PGCONN_FAILED);
    pgconn_failure(conn, &failure);
    PQfinish(conn);
    if (strcmp(failure.code, code) != 0 || strstr(failure.text, words) == NULL)
        fail_msg("%s: %s", failure.code, failure.text);
    assert_null(strstr(failure.text, "hunter2"));
    assert_null(strchr(failure.text, '\n'));
}

static void test_failure_codes(void **state)
{
    const struct pgserver *server = plain_server(state);
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "%s dbname=nothing password=hunter2", server->conninfo);
    check_failure(conninfo, "3D000", "database \"nothing\" does not exist");
    snprintf(conninfo, sizeof conninfo, "%s user=nobody_here", server->conninfo);
    check_failure(conninfo, "28000", "nobody_here");
    check_failure("host=/nowhere/at/all user=u password=hunter2", "ENOENT", "No such file");
    check_failure("host=127.0.0.1 port=1 user=u", "ECONNREFUSED", "refused");
    struct fakepg_rule rule = {.when = FAKEPG_AT_STARTUP, .connection = FAKEPG_ANY, .act = FAKEPG_GARBAGE};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    check_failure(fakepg_conninfo(fake), "08001", "expected authentication request");
    fakepg_stop(fake);
    rule.act = FAKEPG_CLOSE;
    fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    check_failure(fakepg_conninfo(fake), "CLOSED", "closed the connection");
    fakepg_stop(fake);
}

/* Every way to misbehave in every phase of the start. */
static void test_misbehaviour(void **state)
{
    (void)state;
    static const enum fakepg_when phases[] = {FAKEPG_AT_ACCEPT, FAKEPG_AT_STARTUP, FAKEPG_AT_AUTH};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        struct pl_err err = fake_fails(phases[i], FAKEPG_ERROR, PATIENCE_NS);
        assert_non_null(strstr(err.what, "57P03"));
        assert_non_null(strstr(err.what, "said the scripted server"));
        fake_fails(phases[i], FAKEPG_RESET, PATIENCE_NS);
        fake_fails(phases[i], FAKEPG_CLOSE, PATIENCE_NS);
        fake_fails(phases[i], FAKEPG_HALF, PATIENCE_NS);
        fake_fails(phases[i], FAKEPG_GARBAGE, PL_NS_PER_S / 2); /* libpq may wait for the rest of a long message */
        err = fake_fails(phases[i], FAKEPG_STALL, PL_NS_PER_S / 10);
        assert_string_equal(err.what, "0 of 1 connections were open when the time to connect was over");
    }
}

static void test_chatter_and_bytes(void **state)
{
    (void)state;
    struct fakepg_rule rule = {.when = FAKEPG_AT_AUTH, .connection = FAKEPG_ANY, .act = FAKEPG_CHATTER};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1, .one_byte_sends = true});
    PQfinish(open_one(fakepg_conninfo(fake)));
    fakepg_stop(fake);
}

/* One of many stalls: the others are closed again. */
static void test_one_of_many_stalls(void **state)
{
    (void)state;
    struct fakepg_rule rule = {.when = FAKEPG_AT_STARTUP, .connection = 5, .act = FAKEPG_STALL};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    PGconn *conns[20];
    struct pl_err err = {0};
    assert_int_equal(
        pgconn_open_many(fakepg_conninfo(fake), 20, 4, pl_clock_ns() + PL_NS_PER_S / 2, NULL, conns, NULL, &err),
        PL_SERVICE);
    assert_non_null(strstr(err.what, "19 of 20"));
    for (int i = 0; i < 20; i++)
        assert_null(conns[i]);
    while (fakepg_open(fake) > 1) /* the stalled one is not looked at any more */
        pl_clock_sleep_until(pl_clock_ns() + PL_NS_PER_MS);
    fakepg_stop(fake);
}

static int stop_now = 1;
static volatile int stop_later;

static void *stop_soon(void *arg)
{
    pl_clock_sleep_until(pl_clock_ns() + 30 * PL_NS_PER_MS);
    __atomic_store_n(&stop_later, 1, __ATOMIC_RELAXED);
    return arg;
}

static void test_stop(void **state)
{
    (void)state;
    struct fakepg_rule rule = {.when = FAKEPG_AT_STARTUP, .connection = FAKEPG_ANY, .act = FAKEPG_STALL};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
    PGconn *conns[3];
    struct pl_err err = {0};
    int64_t deadline_ns = pl_clock_ns() + PATIENCE_NS;
    assert_int_equal(pgconn_open_many(fakepg_conninfo(fake), 3, 3, deadline_ns, &stop_now, conns, NULL, &err),
                     PL_INTERRUPTED);
    assert_null(conns[0]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
    err = (struct pl_err){0};
    assert_int_equal(pgconn_open_many(fakepg_conninfo(fake), 3, 3, deadline_ns, &stop_later, conns, NULL, &err),
                     PL_INTERRUPTED);
    pthread_join(thread, NULL);
    assert_true(pl_clock_ns() < deadline_ns);
    fakepg_stop(fake);
}

/* A Unix socket whose accept queue is full: connect says EAGAIN, and the rest waits its turn. */
struct narrow {
    int listener, accepted;
    atomic_bool stop;
};

/* Takes one connection at a time, and ends each. */
static void *narrow_run(void *arg)
{
    struct narrow *narrow = arg;
    static const char no[] = "E\0\0\0\x17SFATAL\0C57P03\0Mno\0"; /* the C string's own NUL ends the list of fields */
    while (!atomic_load(&narrow->stop)) {
        if (poll(&(struct pollfd){.fd = narrow->listener, .events = POLLIN}, 1, 10) <= 0)
            continue;
        int fd = accept4(narrow->listener, NULL, NULL, SOCK_CLOEXEC);
        narrow->accepted += fd >= 0;
        if (narrow->accepted == 10)
            send(fd, no, sizeof no, MSG_NOSIGNAL);
        else if (fd >= 0)
            continue; /* left open and silent */
        close(fd);
    }
    return NULL;
}

static void test_backlog(void **state)
{
    (void)state;
    char folder[] = "/tmp/plimsoll-test-full-XXXXXX", conninfo[200];
    PGconn *conns[10];
    struct pl_err err = {0};
    assert_non_null(mkdtemp(folder));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", folder);
    snprintf(conninfo, sizeof conninfo, "host=%s user=u dbname=d", folder);
    struct narrow narrow = {.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(narrow.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(narrow.listener, 0), 0);
    /* nobody accepts: time runs out, which is not the fault of the tenth connection */
    assert_int_equal(pgconn_open_many(conninfo, 10, 10, pl_clock_ns() + PL_NS_PER_S / 5, NULL, conns, NULL, &err),
                     PL_SERVICE);
    assert_string_equal(err.what, "0 of 10 connections were open when the time to connect was over");
    /* one by one: all ten arrive, and only the tenth gets an answer */
    pthread_t thread;
    while (poll(&(struct pollfd){.fd = narrow.listener, .events = POLLIN}, 1, 0) > 0)
        close(accept4(narrow.listener, NULL, NULL, SOCK_CLOEXEC));
    assert_int_equal(pthread_create(&thread, NULL, narrow_run, &narrow), 0);
    err = (struct pl_err){0};
    assert_int_equal(pgconn_open_many(conninfo, 10, 10, pl_clock_ns() + PATIENCE_NS, NULL, conns, NULL, &err), PL_SERVICE);
    assert_non_null(strstr(err.what, "57P03"));
    atomic_store(&narrow.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(narrow.accepted, 10);
    close(narrow.listener);
    unlink(address.sun_path);
    rmdir(folder);
}

/* The socket of a real connection under our codec: prepare, run, fail, go on. */
static void converse(struct wire_socket *wire, const struct pgmsg_out *out, const char *expected)
{
    static uint8_t in[65536];
    char types[200];
    size_t have = 0, used = 0, length = 0, count;
    assert_int_equal(wire_write(wire, out->data, out->len, &count), WIRE_DONE);
    assert_int_equal(count, out->len);
    for (struct pgmsg msg = {0}; msg.type != 'Z';) {
        enum pgmsg_result result = pgmsg_next(in + used, have - used, &msg);
        assert_true(result != PGMSG_BAD && length < sizeof types - 1);
        if (result == PGMSG_OK) {
            used += msg.total;
            types[length++] = msg.type;
            continue;
        }
        msg.type = 0;
        enum wire_io io = wire_read(wire, in + have, sizeof in - have, &count);
        assert_true(io == WIRE_DONE || io == WIRE_AGAIN);
        have += count;
        if (io == WIRE_AGAIN)
            poll(&(struct pollfd){.fd = wire->fd, .events = POLLIN}, 1, -1);
    }
    types[length] = '\0';
    assert_string_equal(types, expected);
    assert_int_equal(used, have);
}

static void check_codec(const struct pgserver *server, bool tls)
{
    PGconn *conn = open_one(server->conninfo);
    struct wire_socket wire = pgconn_socket(conn);
    uint8_t bytes[1024];
    struct pgmsg_out out = {.data = bytes, .cap = sizeof bytes};
    struct pgmsg_text params[] = {{"41", 2}, {NULL, 0}}, bad[] = {{"x", 1}, {NULL, 0}};
    assert_int_equal(wire.ssl != NULL, tls);
    pgmsg_put_parse(&out, "p0", "select $1::int + 1, $2::text", 28);
    pgmsg_put_sync(&out);
    converse(&wire, &out, "1Z");
    for (int i = 0; i < 50; i++) {
        out.len = 0;
        pgmsg_put_bind(&out, "p0", i % 2 == 0 ? params : bad, 2);
        pgmsg_put_execute(&out);
        pgmsg_put_sync(&out);
        converse(&wire, &out, i % 2 == 0 ? "2DCZ" : "EZ");
    }
    out.len = 0;
    pgmsg_put_query(&out, "begin; select 1; rollback", 25);
    converse(&wire, &out, "CTDCCZ");
    assert_false(wire_has_buffered(&wire));
    PQfinish(conn);
}

static void test_codec(void **state)
{
    check_codec(plain_server(state), false);
}

static void test_codec_tls(void **state)
{
    check_codec(pgserver_or_skip(((struct servers *)*state)->tls), true);
}

/* What a backend says last can be read, and then the end; plain and through TLS. */
static void check_killed(const struct pgserver *server)
{
    PGconn *conn = open_one(server->conninfo), *other = open_one(server->conninfo);
    char sql[100], bytes[4096];
    snprintf(sql, sizeof sql, "select pg_terminate_backend(%d, 60000)::int", PQbackendPID(conn));
    struct wire_socket wire = pgconn_socket(conn);
    assert_int_equal(ask(other, sql), 1);
    size_t have = 0, count;
    enum wire_io io;
    while ((io = wire_read(&wire, bytes + have, sizeof bytes - have, &count)) == WIRE_DONE || io == WIRE_AGAIN) {
        have += count;
        if (io == WIRE_AGAIN)
            poll(&(struct pollfd){.fd = wire.fd, .events = POLLIN}, 1, -1);
    }
    assert_int_equal(io, WIRE_CLOSED);
    struct pgmsg msg;
    struct pgmsg_error error;
    assert_int_equal(pgmsg_next((const uint8_t *)bytes, have, &msg), PGMSG_OK);
    assert_true(pgmsg_error_parse(&msg, &error));
    assert_string_equal(error.sqlstate, "57P01");
    PQfinish(conn);
    PQfinish(other);
}

static void test_killed(void **state)
{
    check_killed(plain_server(state));
    check_killed(pgserver_or_skip(((struct servers *)*state)->tls));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_many_tls),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_descriptors_raised),
        cmocka_unit_test(test_wrong_database),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_uri),
        cmocka_unit_test(test_bad_conninfo),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_second_host),
        cmocka_unit_test(test_step_by_step),
        cmocka_unit_test(test_looked_up),
        cmocka_unit_test(test_failure_codes),
        cmocka_unit_test(test_misbehaviour),
        cmocka_unit_test(test_chatter_and_bytes),
        cmocka_unit_test(test_one_of_many_stalls),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_backlog),
        cmocka_unit_test(test_codec),
        cmocka_unit_test(test_codec_tls),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
