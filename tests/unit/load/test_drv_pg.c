/* The PostgreSQL driver against a scripted server: exact messages, everything a server and a network can do wrong. */
#include "load_test.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fakepg.h"
#include "load/drv_pg_int.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static const char point_text[] = "\\set x random(1, 1000)\nSELECT abalance FROM t WHERE aid = :x AND :x < 2000;\n";
static const char block_text[] =
    "\\set x random(1, 1000)\nBEGIN;\nUPDATE t SET a = :x;\nINSERT INTO h VALUES (:x);\nEND;\n";

struct fixture {
    struct pl_arena *arena;
    struct program *point, *block;
};
static struct fixture fixture;

static struct program *compile(const char *name, const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    if (program_compile(name, text, strlen(text), PROGRAM_STRICT, names_new(fixture.arena), fixture.arena, &program,
                        &err) != PL_OK)
        fail_msg("%s", err.what);
    return program;
}

static int group_setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    fixture.arena = pl_arena_new();
    fixture.point = compile("point", point_text);
    fixture.block = compile("block", block_text);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    pl_arena_free(fixture.arena);
    return 0;
}

static struct load_spec spec_for(const struct fakepg *fake, const struct load_script *script, enum plan_protocol protocol)
{
    return (struct load_spec){.driver = LOAD_PG,
                              .conninfo = fakepg_conninfo(fake),
                              .protocol = protocol,
                              .scripts = script,
                              .script_count = 1,
                              .clients = 4,
                              .workers = 2,
                              .operations = 200,
                              .drain_ns = 5 * SEC,
                              .slice_ns = 50 * MS,
                              .connect_timeout_ns = 20 * SEC,
                              .seed = 3};
}

static void check_messages(const struct fakepg *fake, enum plan_protocol protocol, int64_t commands, int64_t parses)
{
    bool simple = protocol == PLAN_SIMPLE;
    int64_t prepared = protocol == PLAN_PREPARED ? parses : 0;
    assert_int_equal(fakepg_received(fake, 'Q'), simple ? commands : 0);
    assert_int_equal(fakepg_received(fake, 'P'), protocol == PLAN_EXTENDED ? commands : prepared);
    assert_int_equal(fakepg_received(fake, 'B'), simple ? 0 : commands);
    assert_int_equal(fakepg_received(fake, 'E'), simple ? 0 : commands);
    assert_int_equal(fakepg_received(fake, 'S'), simple ? 0 : commands + prepared);
    assert_int_equal(fakepg_received(fake, 'D') + fakepg_received(fake, 'C') + fakepg_received(fake, 'H'), 0);
    assert_int_equal(fakepg_completed(fake), commands);
}

/* All protocols, one-step and transaction scripts, whole answers and answers that arrive byte by byte, with and without
 * chatter: the same counts. */
static void test_messages(void **state)
{
    (void)state;
    static const struct fakepg_rule chatter[] = {
        {.when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .every = 1, .act = FAKEPG_CHATTER}};
    for (int i = 0; i < 3 * 2 * 3; i++) {
        enum plan_protocol protocol = (enum plan_protocol)(i % 3);
        const struct program *program = i / 3 % 2 ? fixture.block : fixture.point;
        const struct load_script script = {program, 1};
        struct fakepg_script behaviour = {.one_byte_sends = i / 6 == 1, .rules = chatter, .rule_count = i / 6 == 2};
        struct fakepg *fake = fakepg_start(&behaviour);
        struct load_spec spec = spec_for(fake, &script, protocol);
        struct load_run run;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.completed, 200);
        assert_int_equal(run.result.total.due, 200);
        assert_int_equal(run.memory.fault_count, 0);
        assert_int_equal(run.result.clients_lost, 0);
        assert_int_equal(strncmp(run.result.event_loop, "epoll", 5), 0);
        int64_t steps = (int64_t)program->io_step_count;
        check_messages(fake, protocol, 200 * steps, 4 * steps);
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

static void test_errors_are_counted(void **state)
{
    (void)state;
    static const struct fakepg_rule rules[] = {{.when = FAKEPG_AT_COMMAND,
                                                .connection = FAKEPG_ANY,
                                                .number = 2,
                                                .every = 7,
                                                .act = FAKEPG_ERROR,
                                                .sqlstate = "40001"}};
    for (int i = 0; i < 3 * 2; i++) {
        const struct load_script script = {i / 3 ? fixture.block : fixture.point, 1};
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 1});
        struct load_spec spec = spec_for(fake, &script, (enum plan_protocol)(i % 3));
        struct load_run run;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.due, 200);
        assert_true(run.result.total.failed > 20);
        /* in the block script an error may also meet the ROLLBACK: it fails no operation, but is a fault */
        const struct fault *fault = load_run_fault(&run, "40001");
        assert_non_null(fault);
        assert_int_equal(run.memory.fault_count, 1);
        assert_int_equal(fault->count, fakepg_errors(fake));
        assert_true(i / 3 ? fault->count >= run.result.total.failed : fault->count == run.result.total.failed);
        assert_int_equal(fault->phase, PHASE_MEASURE);
        assert_int_equal(fault->trial_id, 7);
        assert_int_equal(run.result.clients_lost, 0);
        struct ledger failed_steps = {0};
        for (int step = 0; step < (int)script.program->io_step_count; step++) {
            struct ledger sum = load_run_sum(&run, PHASE_COUNT, 0, step, 's', NULL);
            ledger_add(&failed_steps, &sum);
        }
        assert_int_equal(failed_steps.failed, run.result.total.failed);
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

/* A script that leaves its transaction open: it is rolled back and the operation has failed. */
static void test_open_transaction(void **state)
{
    (void)state;
    const struct load_script script = {compile("open", "BEGIN;\nSELECT 1;\n"), 1};
    struct fakepg *fake = fakepg_start(NULL);
    struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
    struct load_run run;
    load_run_real(&spec, &run);
    load_run_check(&run);
    assert_int_equal(run.result.total.failed, 200);
    assert_int_equal(load_run_fault(&run, "IN_TRANSACTION")->count, 200);
    /* the last one of each worker may end the load while its ROLLBACK is under way */
    assert_in_range(fakepg_received(fake, 'Q'), 196, 200);
    fakepg_stop(fake);
    load_run_release(&run);
}

/* How a closed connection looks depends on what was still under way. */
static bool is_end(const struct fault *fault)
{
    return strcmp(fault->code, "CLOSED") == 0 || strcmp(fault->code, "ECONNRESET") == 0 ||
           strcmp(fault->code, "EPIPE") == 0;
}

/* One connection meets each kind of fault, at each of its first messages; the other three do the work. */
static void test_one_connection_breaks(void **state)
{
    (void)state;
    static const enum fakepg_act acts[] = {FAKEPG_RESET, FAKEPG_CLOSE, FAKEPG_HALF, FAKEPG_GARBAGE};
    for (int act = 0; act < 4; act++)
        for (int number = 0; number < 24; number++) {
            const struct load_script script = {fixture.block, 1};
            const struct fakepg_rule rule = {
                .when = FAKEPG_AT_MESSAGE, .connection = 1, .number = number, .act = acts[act]};
            struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
            struct load_spec spec = spec_for(fake, &script, (enum plan_protocol)(number % 2 ? PLAN_SIMPLE : PLAN_EXTENDED));
            struct load_run run;
            spec.operations = 100;
            spec.workers = 1; /* with more, the quicker one might leave nothing for the connection that is to break */
            load_run_real(&spec, &run);
            load_run_check(&run);
            assert_int_equal(run.result.clients_lost, 1);
            assert_int_equal(run.result.total.failed, 1);
            assert_int_equal(run.result.total.unfinished, 0);
            assert_int_equal(run.result.total.completed, 99);
            assert_int_equal(run.memory.fault_count, 1);
            const struct fault *fault = &run.memory.faults[0];
            assert_int_equal(fault->count, 1);
            assert_true(fault->example[0] != '\0');
            assert_true(acts[act] == FAKEPG_GARBAGE ? strcmp(fault->code, "PROTO") == 0 : is_end(fault));
            fakepg_stop(fake);
            load_run_release(&run);
        }
}

/* All connections break: the load ends by itself, long before its time. */
static void test_all_connections_break(void **state)
{
    (void)state;
    static const struct fakepg_rule rule = {
        .when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 5, .act = FAKEPG_CLOSE};
    for (int i = 0; i < 3; i++) {
        const struct load_script script = {fixture.point, 1};
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
        struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
        struct load_run run;
        if (i > 0) {
            spec.operations = 0;
            spec.measure_ns = 3600 * SEC;
            spec.open_loop = i == 2;
            spec.rate_per_s = 2000;
        }
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.clients_lost, 4);
        assert_int_equal(run.result.total.completed, 4 * 5);
        assert_int_equal(run.result.total.failed, 4);
        assert_true(run.result.total.unfinished == run.result.total.never_started);
        int64_t faults = 0;
        for (size_t f = 0; f < run.memory.fault_count; f++) {
            assert_true(is_end(&run.memory.faults[f]));
            faults += run.memory.faults[f].count;
        }
        assert_int_equal(faults, 4);
        assert_true(run.result.measure_end_ns - run.result.measure_start_ns < 600 * SEC);
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

/* A server that falls silent: what is under way when the drain ends is unfinished, neither failed nor lost. */
static void test_silent_server(void **state)
{
    (void)state;
    static const struct fakepg_rule rule = {
        .when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 3, .act = FAKEPG_STALL};
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        const struct load_script script = {fixture.point, 1};
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
        struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
        struct load_run run;
        spec.operations = 0;
        spec.measure_ns = 200 * MS;
        spec.drain_ns = 100 * MS;
        spec.open_loop = open_loop;
        spec.rate_per_s = 1000;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.completed, 4 * 3);
        assert_int_equal(run.result.total.unfinished - run.result.total.never_started, 4);
        assert_int_equal(run.result.total.due, open_loop ? 200 : 4 * 3 + 4);
        assert_int_equal(run.memory.fault_count, 0);
        assert_true(run.result.drain_end_ns >= run.result.measure_end_ns + 100 * MS);
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

/* The worker looks at the clock a little after the drain has ended, when a slice would already have begun behind it: that
 * slice must not come to be. */
static void test_drain_ends_beside_a_slice(void **state)
{
    (void)state;
    static const struct fakepg_rule rule = {
        .when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 3, .act = FAKEPG_STALL};
    for (int64_t before_ns = 0; before_ns <= 2; before_ns++) {
        const struct load_script script = {fixture.point, 1};
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1});
        struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
        struct load_run run;
        spec.operations = 0;
        spec.slice_ns = 50 * MS;
        spec.measure_ns = SEC; /* long enough for a starved client to come to its third command */
        spec.drain_ns = 50 * MS - before_ns;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.unfinished, 4);
        for (size_t i = 0; i < run.memory.slice_count; i++) {
            assert_true(run.memory.slices[i].end_ns >= run.memory.slices[i].start_ns);
            assert_true(run.memory.slices[i].end_ns <= run.result.drain_end_ns);
        }
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

/* Answers made of given bytes, in place of the answer to the third command of each connection. */
static void run_with_bytes(const void *bytes, size_t length, enum plan_protocol protocol, struct load_run *run)
{
    const struct load_script script = {fixture.point, 1};
    const struct fakepg_rule rule = {.when = FAKEPG_AT_COMMAND,
                                     .connection = FAKEPG_ANY,
                                     .number = 2,
                                     .act = FAKEPG_GARBAGE,
                                     .bytes = bytes,
                                     .length = length};
    for (int one_byte = 0; one_byte < 2; one_byte++) {
        struct fakepg *fake =
            fakepg_start(&(struct fakepg_script){.rules = &rule, .rule_count = 1, .one_byte_sends = one_byte});
        struct load_spec spec = spec_for(fake, &script, protocol);
        spec.operations = 100;
        spec.workers = 1; /* with more, the quicker one might leave too little for the other's connections */
        if (one_byte)
            load_run_release(run);
        load_run_real(&spec, run);
        load_run_check(run);
        fakepg_stop(fake);
    }
}

static size_t message_put(char *out, char type, const void *body, size_t length)
{
    out[0] = type;
    out[1] = (char)((length + 4) >> 24 & 0xff);
    out[2] = (char)((length + 4) >> 16 & 0xff);
    out[3] = (char)((length + 4) >> 8 & 0xff);
    out[4] = (char)((length + 4) & 0xff);
    memcpy(out + 5, body, length);
    return length + 5;
}

/* A COPY fails its step and no more; only replication's kind, which nothing can end, costs the connection. */
static void test_copy_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        int lost;
    } cases[] = {
        {BYTES(
             "G\0\0\0\7\0\0\0" /* then what a server says to CopyFail */ "E\0\0\0\x1aSERROR\0C57014\0Mgiven\0\0Z\0\0\0\5I"),
         0},
        {BYTES("H\0\0\0\7\0\0\0d\0\0\0\x08row\nd\0\0\0\x08row\nc\0\0\0\4C\0\0\0\x0b"
               "COPY 2\0Z\0\0\0\5I"),
         0},
        {BYTES("W\0\0\0\7\0\0\0"), 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct load_run run;
        run_with_bytes(cases[i].bytes, cases[i].length, PLAN_SIMPLE, &run);
        assert_int_equal(run.result.clients_lost, cases[i].lost);
        assert_int_equal(run.result.total.failed, 4);
        assert_int_equal(run.memory.fault_count, 1);
        assert_int_equal(load_run_fault(&run, "COPY")->count, 4);
        load_run_release(&run);
    }
}

static void test_large_rows_are_skipped(void **state)
{
    (void)state;
    enum { ROW = 3000 };
    static char bytes[40 * (ROW + 5) + 100], row[ROW];
    struct load_run run;
    size_t length = 0;
    for (int i = 0; i < 20; i++)
        length += message_put(bytes + length, 'D', row, (size_t)(ROW - i * 100));
    length += message_put(bytes + length, 'C', "SELECT 20", 10);
    run_with_bytes(bytes, length, PLAN_PREPARED, &run); /* Sync brings ReadyForQuery */
    assert_int_equal(run.result.total.completed, 100);
    assert_int_equal(run.memory.fault_count, 0);
    load_run_release(&run);
}

/* Error texts of every length around what is kept: the code is found, the text is cut. */
static void test_long_errors_are_cut(void **state)
{
    (void)state;
    for (size_t text = PG_CARRY_BYTES - 72; text < PG_CARRY_BYTES + 18; text++) {
        char body[PG_CARRY_BYTES + 188], bytes[PG_CARRY_BYTES + 288];
        struct load_run run;
        size_t length = 0;
        memcpy(body, "SERROR\0VERROR\0C22012\0M", 22);
        memset(body + 22, 'x', text);
        memcpy(body + 22 + text, "\0Ffile.c\0\0", 11);
        length = message_put(bytes, 'E', body, 22 + text + 10);
        length += message_put(bytes + length, 'Z', "I", 1);
        run_with_bytes(bytes, length, PLAN_SIMPLE, &run);
        const struct fault *fault = load_run_fault(&run, "22012");
        assert_non_null(fault);
        assert_int_equal(run.memory.fault_count, 1);
        assert_int_equal(fault->count, 4);
        assert_int_equal(run.result.clients_lost, 0);
        assert_int_equal(strlen(fault->example), 199);
        assert_int_equal(strspn(fault->example, "x"), 199);
        load_run_release(&run);
    }
}

/* A second ReadyForQuery, an error that cannot be read, a ReadyForQuery in no known state. */
static void test_senseless_messages(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {{"Z\0\0\0\5IZ\0\0\0\5I", 12},
                 {"Z\0\0\0\5X", 6},
                 {"Z\0\0\0\6II", 7},
                 {"E\0\0\0\7Cxx", 8},
                 {"E\0\0\0\5\0Z\0\0\0\5I", 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct load_run run;
        if (i == 3) { /* followed by ReadyForQuery: the connection lives on, the operation has failed */
            char bytes[32];
            memcpy(bytes, cases[i].bytes, 8);
            size_t length = 8 + message_put(bytes + 8, 'Z', "I", 1);
            run_with_bytes(bytes, length, PLAN_SIMPLE, &run);
        } else {
            run_with_bytes(cases[i].bytes, cases[i].length, PLAN_SIMPLE, &run);
        }
        assert_int_equal(run.result.clients_lost, i < 3 ? 4 : 0);
        assert_int_equal(load_run_fault(&run, "PROTO")->count, 4);
        load_run_release(&run);
    }
}

/* ---- requests larger than a socket takes at once ---- */

static void test_short_writes(void **state)
{
    (void)state;
    enum { TEXT = 60000 };
    static char text[TEXT + 64];
    size_t length = (size_t)sprintf(text, "\\set x random(1, 9)\nSELECT :x, '");
    memset(text + length, 'y', TEXT - 2000);
    length += TEXT - 2000;
    sprintf(text + length, "', :x;\n");
    const struct load_script script = {compile("large", text), 1};
    for (int i = 0; i < 2; i++) {
        struct fakepg *fake = fakepg_start(NULL);
        struct load_spec spec = spec_for(fake, &script, i ? PLAN_EXTENDED : PLAN_SIMPLE);
        struct load_run run;
        spec.operations = 40;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.total.completed, 40);
        check_messages(fake, spec.protocol, 40, 0);
        fakepg_stop(fake);
        load_run_release(&run);
    }
}

/* ---- connecting ---- */

static void check_connect_fails(struct fakepg *fake, const struct load_spec *spec, enum pl_code expected, const char *part)
{
    struct load *load;
    struct pl_err err = {0};
    assert_int_equal(load_new(spec, &load, &err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &err), expected);
    if (strstr(err.what, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, err.what);
    load_free(load);
    fakepg_stop(fake);
}

static void test_connect_faults(void **state)
{
    (void)state;
    const struct load_script script = {fixture.point, 1};
    static const struct fakepg_rule refuse = {
        .when = FAKEPG_AT_STARTUP, .connection = 2, .act = FAKEPG_ERROR, .sqlstate = "53300"};
    struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &refuse, .rule_count = 1});
    struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
    check_connect_fails(fake, &spec, PL_SERVICE, "53300");

    static const struct fakepg_rule silent = {.when = FAKEPG_AT_STARTUP, .connection = 1, .act = FAKEPG_STALL};
    fake = fakepg_start(&(struct fakepg_script){.rules = &silent, .rule_count = 1});
    spec = spec_for(fake, &script, PLAN_PREPARED);
    spec.connect_timeout_ns = 200 * MS;
    check_connect_fails(fake, &spec, PL_SERVICE, "time");

    static const struct fakepg_rule no_table = {
        .when = FAKEPG_AT_MESSAGE, .connection = 3, .number = 0, .act = FAKEPG_ERROR, .sqlstate = "42P01"};
    fake = fakepg_start(&(struct fakepg_script){.rules = &no_table, .rule_count = 1});
    spec = spec_for(fake, &script, PLAN_PREPARED);
    check_connect_fails(fake, &spec, PL_SERVICE, "script \"point\", line 2");

    static const struct fakepg_rule gone = {.when = FAKEPG_AT_MESSAGE, .connection = 0, .number = 0, .act = FAKEPG_CLOSE};
    fake = fakepg_start(&(struct fakepg_script){.rules = &gone, .rule_count = 1});
    spec = spec_for(fake, &script, PLAN_PREPARED);
    check_connect_fails(fake, &spec, PL_SERVICE, "script \"point\", line 2: the server cannot prepare the command: ");

    static const struct fakepg_rule hangs = {.when = FAKEPG_AT_MESSAGE, .connection = 0, .number = 0, .act = FAKEPG_STALL};
    fake = fakepg_start(&(struct fakepg_script){.rules = &hangs, .rule_count = 1});
    spec = spec_for(fake, &script, PLAN_PREPARED);
    spec.connect_timeout_ns = 200 * MS;
    check_connect_fails(fake, &spec, PL_SERVICE, "not prepared");

    fake = fakepg_start(NULL);
    spec = spec_for(fake, &script, PLAN_PREPARED);
    spec.conninfo = "host=/nowhere/at/all user=u password=geheim";
    struct load *load;
    struct pl_err err = {0};
    assert_int_equal(load_new(&spec, &load, &err), PL_OK);
    assert_int_equal(load_connect(load, NULL, &err), PL_SERVICE);
    assert_null(strstr(err.what, "geheim"));
    assert_null(strstr(err.hint, "geheim"));
    load_free(load);
    fakepg_stop(fake);
}

static volatile sig_atomic_t stop_flag;
static void stop_set(int signal_number)
{
    (void)signal_number;
    stop_flag = 1;
}

/* Ctrl-C while the server says nothing. */
static void test_interrupted_while_connecting(void **state)
{
    (void)state;
    static const struct fakepg_rule silent[] = {
        {.when = FAKEPG_AT_STARTUP, .connection = FAKEPG_ANY, .act = FAKEPG_STALL},
        {.when = FAKEPG_AT_MESSAGE, .connection = FAKEPG_ANY, .number = 0, .act = FAKEPG_STALL}};
    for (int i = 0; i < 2; i++) {
        const struct load_script script = {fixture.point, 1};
        struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = &silent[i], .rule_count = 1});
        struct load_spec spec = spec_for(fake, &script, PLAN_PREPARED);
        struct load *load;
        struct pl_err err = {0};
        stop_flag = 0;
        signal(SIGALRM, stop_set);
        ualarm(100000, 0);
        assert_int_equal(load_new(&spec, &load, &err), PL_OK);
        assert_int_equal(load_connect(load, &stop_flag, &err), PL_INTERRUPTED);
        load_free(load);
        fakepg_stop(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_errors_are_counted),
        cmocka_unit_test(test_open_transaction),
        cmocka_unit_test(test_one_connection_breaks),
        cmocka_unit_test(test_all_connections_break),
        cmocka_unit_test(test_silent_server),
        cmocka_unit_test(test_drain_ends_beside_a_slice),
        cmocka_unit_test(test_copy_is_refused),
        cmocka_unit_test(test_large_rows_are_skipped),
        cmocka_unit_test(test_long_errors_are_cut),
        cmocka_unit_test(test_senseless_messages),
        cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_connect_faults),
        cmocka_unit_test(test_interrupted_while_connecting),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
