/* What the PostgreSQL driver makes of answers in pieces of any size: pipelines and their errors, COPY, what is no answer.
 */
#include "drv_pg_test.h"

#include <endian.h>
#include <stdio.h>

#define BOUND "2\0\0\0\4"
#define PARSED "1\0\0\0\4"
#define COMPLETE "C\0\0\0\x0dSELECT 1\0"
#define EMPTY "I\0\0\0\4"
#define ROW "D\0\0\0\x0b\0\1\0\0\0\1x"
#define ERROR "E\0\0\0\x1aSERROR\0C22012\0Mzero?\0\0"
#define OTHER_ERROR "E\0\0\0\x1aSERROR\0C42P01\0Mtable\0\0"
#define READY "Z\0\0\0\5I"
#define READY_IN_TRANSACTION "Z\0\0\0\5T"
#define READY_FAILED "Z\0\0\0\5E"
#define COPY_IN "G\0\0\0\7\0\0\0"
#define COPY_OUT "H\0\0\0\7\0\0\0"
#define COPY_BOTH "W\0\0\0\7\0\0\0"
#define COPY_DATA "d\0\0\0\x0cone row\n"
#define COPY_DONE "c\0\0\0\4"
#define COPY_FAIL                                                                                                          \
    "f\0\0\0\x29"                                                                                                          \
    "COPY cannot be part of a load script\0"
#define SYNC "S\0\0\0\4"
#define NOTICE "N\0\0\0\x14SNOTICE\0Mhello\0\0"

/* Discards what the driver has sent. */
static void drain(const struct driven *driven)
{
    static char bytes[64 * 1024];
    while (recv(driven->peer_fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

/* After a loss the descriptor is no more the driver's, and it is not libpq's. */
static void lost_stop(struct driven *driven, int fd)
{
    assert_int_equal(driven->done.outcome, DRIVER_LOST);
    close(fd);
    driven_stop(driven);
}

static int fd_of(const struct driven *driven)
{
    return driver_pg_of(driven->driver)->clients[0].socket.fd;
}

/* ---- pipelines ---- */

/* Steps: 0 start, 1..3 SQL, 4 sync, 5..6 SQL, 7 end. */
static const char pipeline_text[] = "\\startpipeline\nSELECT 1;\nSELECT 2;\nSELECT 3;\n\\syncpipeline\n"
                                    "SELECT 4;\nSELECT 5;\n\\endpipeline\n";

static const struct {
    const char *bytes;
    size_t length;
    const char *code; /* NULL: it ends well */
    int step;         /* that is said to have failed */
    char transaction;
} answers[] = {
    {BYTES(BOUND COMPLETE BOUND ROW ROW COMPLETE BOUND EMPTY READY BOUND COMPLETE BOUND ROW COMPLETE READY), NULL, 0, 'I'},
    {BYTES(BOUND COMPLETE BOUND ROW NOTICE ERROR READY BOUND COMPLETE BOUND COMPLETE READY), "22012", 2, 'I'},
    {BYTES(ERROR READY BOUND COMPLETE BOUND COMPLETE READY_IN_TRANSACTION), "22012", 1, 'T'},
    {BYTES(BOUND COMPLETE BOUND COMPLETE BOUND COMPLETE READY BOUND COMPLETE ERROR READY), "22012", 6, 'I'},
    {BYTES(BOUND COMPLETE BOUND COMPLETE BOUND COMPLETE READY ERROR READY_FAILED), "22012", 5, 'E'},
    {BYTES(BOUND COMPLETE BOUND COMPLETE BOUND OTHER_ERROR READY_FAILED ERROR READY_FAILED), "42P01", 3, 'E'},
    /* an error of the Sync itself: a constraint that was deferred */
    {BYTES(BOUND COMPLETE BOUND COMPLETE BOUND COMPLETE ERROR READY BOUND COMPLETE BOUND COMPLETE READY), "22012", 0, 'I'},
    {BYTES(BOUND COMPLETE BOUND COMPLETE BOUND COMPLETE READY BOUND COMPLETE BOUND COMPLETE ERROR READY), "22012", 0, 'I'},
};

static void test_pipeline_at_every_boundary(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct driven driven;
        driven_pair(&driven, PLAN_PREPARED, false, pipeline_text);
        for (size_t split = 0; split <= answers[i].length; split++) {
            const struct driver_ops *ops = driven.driver->ops;
            pair_submit(&driven);
            drain(&driven);
            enum driver_outcome outcome = pair_answer_split(&driven, answers[i].bytes, answers[i].length, split);
            assert_int_equal(outcome, answers[i].code == NULL ? DRIVER_OK : DRIVER_ERROR);
            assert_int_equal(ops->in_transaction(driven.driver, 0), answers[i].transaction != 'I');
            if (answers[i].code == NULL)
                continue;
            assert_done(&driven, DRIVER_ERROR, answers[i].code, "");
            assert_false(driven.done.is_script_fault);
            assert_ptr_equal(driven.done.fault_step,
                             answers[i].step == 0 ? NULL : &driven.programs[0]->steps[answers[i].step]);
        }
        driven_stop(&driven);
    }
}

/* Answers that do not belong to what was queued: nothing on this connection can be trusted any more. */
static void test_pipeline_senseless(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {BYTES(BOUND COMPLETE READY)},
        {BYTES(READY)},
        {BYTES(COMPLETE COMPLETE COMPLETE COMPLETE)},
        {BYTES(COMPLETE COMPLETE COMPLETE READY COMPLETE COMPLETE READY READY)},
        {BYTES(ERROR COMPLETE)},
        {BYTES(ERROR READY READY)},
        {BYTES(COMPLETE COMPLETE COMPLETE "Z\0\0\0\5X")},
        {BYTES(COMPLETE COMPLETE COMPLETE READY COPY_BOTH)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct driven driven;
        driven_pair(&driven, PLAN_PREPARED, false, pipeline_text);
        int fd = fd_of(&driven);
        pair_submit(&driven);
        if (i == 3) { /* it ends well, and then the loss is told */
            assert_int_equal(pair_answer(&driven, cases[i].bytes, cases[i].length), DRIVER_OK);
            assert_int_equal(driven_wait(&driven, 0), DRIVER_LOST);
        } else {
            assert_int_equal(pair_answer(&driven, cases[i].bytes, cases[i].length), DRIVER_LOST);
        }
        lost_stop(&driven, fd);
    }
}

/* What was prepared before an error is remembered, what was skipped is not. */
static void test_pipeline_lazy(void **state)
{
    (void)state;
    static const char failed[] = PARSED BOUND COMPLETE PARSED BOUND ERROR READY PARSED BOUND COMPLETE ERROR READY;
    for (size_t split = 0; split < sizeof failed; split++) {
        struct driven driven;
        driven_pair(&driven, PLAN_PREPARED, true, pipeline_text);
        struct driver_pg *pg = driver_pg_of(driven.driver);
        pair_submit(&driven);
        drain(&driven);
        assert_int_equal(pair_answer_split(&driven, failed, sizeof failed - 1, split), DRIVER_ERROR);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(driver_pg_is_prepared(pg, &pg->clients[0], &pg->statements[i]), i != 2 && i != 4);
        driven_stop(&driven);
    }
}

/* Requests and answers that are together far more than both sockets hold: whoever only writes waits for ever. */
static void test_pipeline_both_ways(void **state)
{
    (void)state;
    enum { COMMANDS = 300, BYTES_EACH = 5000 };
    static char script[COMMANDS * 20], value[BYTES_EACH + 1], in[1 << 16], row[BYTES_EACH + 11];
    size_t length = (size_t)sprintf(script, "\\startpipeline\n");
    for (int i = 0; i < COMMANDS; i++)
        length += (size_t)sprintf(script + length, "SELECT :t;\n");
    strcpy(script + length, "\\endpipeline\n");
    memset(value, 'v', BYTES_EACH);
    memcpy(row, "D\0\0\x13\x92\0\1\0\0\x13\x88", 11);
    memset(row + 11, 'r', BYTES_EACH);
    struct driven driven;
    driven_pair(&driven, PLAN_EXTENDED, false, script);
    driven_set_text(&driven, 0, "t", value);
    pair_submit(&driven);
    /* the server: for each 5 KB that came in, an answer of 5 KB; it does not read on before that is taken */
    size_t received = 0, all = driver_pg_of(driven.driver)->clients[0].length;
    assert_true(all > (size_t)COMMANDS * BYTES_EACH);
    for (int answered = 0; answered < COMMANDS;) {
        size_t sent = 0, whole = sizeof row + sizeof(COMPLETE) - 1;
        char one[sizeof row + sizeof(COMPLETE)];
        memcpy(one, row, sizeof row);
        memcpy(one + sizeof row, COMPLETE, sizeof(COMPLETE));
        while (sent < whole) {
            ssize_t count = send(driven.peer_fd, one + sent, whole - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += count > 0 ? (size_t)count : 0;
            pair_quiet(&driven);
        }
        answered++;
        while (received < all * (size_t)answered / COMMANDS) {
            ssize_t count = recv(driven.peer_fd, in, sizeof in, MSG_DONTWAIT);
            received += count > 0 ? (size_t)count : 0;
            pair_quiet(&driven);
        }
    }
    assert_int_equal(received, all);
    assert_int_equal(pair_answer(&driven, BYTES(READY)), DRIVER_OK);
    driven_stop(&driven);
}

/* ---- COPY ---- */

/* The data are skipped, the connection goes on, and the step has failed by the script's fault. */
static void test_copy_out(void **state)
{
    (void)state;
    static const char answer[] = COPY_OUT COPY_DATA COPY_DATA COPY_DONE COMPLETE READY;
    struct driven driven;
    driven_pair(&driven, PLAN_SIMPLE, false, "COPY t TO STDOUT;\n");
    for (size_t split = 0; split < sizeof answer; split++) {
        pair_submit(&driven);
        assert_int_equal(pair_answer_split(&driven, answer, sizeof answer - 1, split), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "COPY", "COPY");
        assert_true(driven.done.is_script_fault);
    }
    driven_stop(&driven);
}

static void test_copy_in(void **state)
{
    (void)state;
    static const char begin[] = NOTICE COPY_IN, end[] = ERROR READY;
    for (int protocol = 0; protocol < 3; protocol++) {
        struct driven driven;
        driven_pair(&driven, (enum plan_protocol)protocol, false, "COPY t FROM STDIN;\n");
        for (size_t split = 0; split < sizeof begin - 1; split++) {
            pair_submit(&driven);
            drain(&driven);
            if (split > 0)
                pair_send(&driven, begin, split);
            pair_quiet(&driven);
            if (split < sizeof NOTICE - 1 + 5)
                pair_expect(&driven, "", 0);
            pair_send(&driven, begin + split, sizeof begin - 1 - split);
            pair_quiet(&driven);
            /* in the extended protocol the server has taken the first Sync for a part of the COPY */
            pair_expect(&driven, COPY_FAIL SYNC,
                        sizeof COPY_FAIL SYNC - 1 - (protocol == PLAN_SIMPLE ? sizeof SYNC - 1 : 0));
            assert_int_equal(pair_answer(&driven, end, sizeof end - 1), DRIVER_ERROR);
            assert_done(&driven, DRIVER_ERROR, "COPY", "COPY");
            assert_true(driven.done.is_script_fault);
        }
        driven_stop(&driven);
    }
}

/* As the last command of a pipeline it can be given up; with commands behind it the server ends the connection. */
static void test_copy_in_pipeline(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\\startpipeline\nSELECT 1;\n\\syncpipeline\nCOPY t FROM STDIN;\n\\syncpipeline\n\\syncpipeline\n\\endpipeline\n",
        "\\startpipeline\nSELECT 1;\n\\syncpipeline\nCOPY t FROM STDIN;\nSELECT 1;\n\\endpipeline\n"};
    for (int i = 0; i < 2; i++) {
        struct driven driven;
        driven_pair(&driven, PLAN_EXTENDED, false, texts[i]);
        int fd = fd_of(&driven);
        for (int round = 0; round < 3; round++) {
            pair_submit(&driven);
            drain(&driven);
            pair_send(&driven, BYTES(PARSED BOUND COMPLETE READY PARSED BOUND COPY_IN));
            if (i == 1) {
                assert_int_equal(driven_wait(&driven, 0), DRIVER_LOST);
                assert_done(&driven, DRIVER_LOST, "COPY", "COPY");
                assert_true(driven.done.is_script_fault);
                assert_ptr_equal(driven.done.fault_step, &driven.programs[0]->steps[3]);
                break;
            }
            pair_quiet(&driven);
            pair_expect(&driven, BYTES(COPY_FAIL SYNC));
            assert_int_equal(pair_answer(&driven, BYTES(ERROR READY)), DRIVER_ERROR);
            assert_done(&driven, DRIVER_ERROR, "COPY", "COPY");
            assert_ptr_equal(driven.done.fault_step, &driven.programs[0]->steps[3]);
        }
        if (i == 1)
            lost_stop(&driven, fd);
        else
            driven_stop(&driven);
    }
}

static void test_copy_out_in_pipeline(void **state)
{
    (void)state;
    static const char answer[] =
        BOUND COMPLETE BOUND COPY_OUT COPY_DATA COPY_DONE COMPLETE BOUND COMPLETE READY BOUND COMPLETE BOUND COMPLETE READY;
    struct driven driven;
    driven_pair(&driven, PLAN_PREPARED, false, pipeline_text);
    for (size_t split = 0; split < sizeof answer; split++) {
        pair_submit(&driven);
        drain(&driven);
        assert_int_equal(pair_answer_split(&driven, answer, sizeof answer - 1, split), DRIVER_ERROR);
        assert_done(&driven, DRIVER_ERROR, "COPY", "COPY");
        assert_ptr_equal(driven.done.fault_step, &driven.programs[0]->steps[2]);
    }
    driven_stop(&driven);
}

static void test_copy_unasked(void **state)
{
    (void)state;
    static const char *const bytes[] = {COPY_IN, COPY_OUT, COPY_BOTH};
    for (int i = 0; i < 3; i++) {
        struct driven driven;
        driven_pair(&driven, PLAN_SIMPLE, false, "SELECT 1;\n");
        int fd = fd_of(&driven);
        assert_int_equal(pair_answer(&driven, bytes[i], 8), DRIVER_LOST);
        assert_done(&driven, DRIVER_LOST, "COPY", "COPY");
        lost_stop(&driven, fd);
    }
}

/* ---- the client is closed while it is busy ---- */

static void test_disconnect(void **state)
{
    (void)state;
    static const char half[] = BOUND ROW COMPLETE "Z\0\0";
    for (size_t sent = 0; sent < sizeof half; sent++) {
        struct driven driven;
        driven_pair(&driven, PLAN_PREPARED, false, pipeline_text);
        int fd = fd_of(&driven);
        pair_submit(&driven);
        drain(&driven);
        pair_send(&driven, half, sent);
        if (sent % 2 == 0)
            pair_quiet(&driven);
        driven.driver->ops->disconnect(driven.driver, 0);
        driven.driver->ops->disconnect(driven.driver, 0); /* is as once */
        pair_quiet(&driven);
        assert_false(driven.driver->ops->in_transaction(driven.driver, 0));
        char byte;
        assert_int_equal(recv(driven.peer_fd, &byte, 1, MSG_DONTWAIT), 0); /* the end, and no word before it */
        close(fd);
        driven_stop(&driven);
    }
}

/* A write that fails is told; closing the client before takes that back. */
static void test_disconnect_after_failed_write(void **state)
{
    (void)state;
    for (int disconnects = 0; disconnects < 2; disconnects++) {
        struct driven driven;
        driven_pair(&driven, PLAN_SIMPLE, false, "SELECT 1;\n");
        int fd = fd_of(&driven);
        close(driven.peer_fd);
        driven.peer_fd = -1;
        pair_submit(&driven);
        if (disconnects) {
            driven.driver->ops->disconnect(driven.driver, 0);
            pair_quiet(&driven);
        } else {
            assert_int_equal(driven_wait(&driven, 0), DRIVER_LOST);
            pair_quiet(&driven);
        }
        close(fd);
        driven_stop(&driven);
    }
}

/* A text is cut at the border of a character, whoever cuts it: what is kept of a message, or of its text. */
static void test_errors_are_cut_between_characters(void **state)
{
    (void)state;
    enum { MOST = 4000 };
    static char body[MOST + 32], bytes[MOST + 64];
    static const size_t lengths[] = {PG_TEXT_BYTES - 8, PG_CARRY_BYTES - 40, MOST};
    for (size_t i = 0; i < 3; i++)
        for (size_t in_pieces = 0; in_pieces < 2; in_pieces++)
            for (size_t shift = 0; shift < 4; shift++) {
                struct driven driven;
                driven_pair(&driven, PLAN_SIMPLE, false, "SELECT 1;\n");
                size_t at = 7;
                memcpy(body, "C22012", at);
                body[at++] = 'M';
                memset(body + at, 'x', shift);
                size_t begin = at;
                at += shift;
                for (; at - begin < lengths[i]; at += 3)
                    memcpy(body + at, "\xe2\x82\xac", 3);
                body[at++] = '\0';
                body[at++] = '\0';
                uint32_t length = htobe32((uint32_t)at + 4);
                bytes[0] = 'E';
                memcpy(bytes + 1, &length, 4);
                memcpy(bytes + 5, body, at);
                memcpy(bytes + 5 + at, READY, 6);
                struct driver_pg *pg = driver_pg_of(driven.driver);
                driver_pg_start(&pg->clients[0], PG_STEP);
                size_t total = at + 5 + 6, piece = in_pieces ? 700 : total;
                enum pg_progress progress = PG_MORE;
                for (size_t done = 0; done < total; done += piece) {
                    size_t carried = pg->clients[0].carry_length, part = total - done < piece ? total - done : piece;
                    memcpy(pg->in, pg->carries, carried);
                    memcpy(pg->in + carried, bytes + done, part);
                    pg->clients[0].carry_length = 0;
                    progress = driver_pg_bytes(pg, &pg->clients[0], pg->in, carried + part);
                }
                assert_int_equal(progress, PG_READY);
                assert_string_equal(pg->ended.code, "22012");
                size_t kept = strlen(pg->ended_text);
                assert_true(kept <= PG_TEXT_BYTES - 1 && kept + 3 > (i == 0 ? lengths[0] : PG_TEXT_BYTES - 3));
                assert_int_equal((kept - shift) % 3, 0);
                driven_stop(&driven);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipeline_at_every_boundary),
        cmocka_unit_test(test_pipeline_senseless),
        cmocka_unit_test(test_pipeline_lazy),
        cmocka_unit_test(test_pipeline_both_ways),
        cmocka_unit_test(test_copy_out),
        cmocka_unit_test(test_copy_in),
        cmocka_unit_test(test_copy_in_pipeline),
        cmocka_unit_test(test_copy_out_in_pipeline),
        cmocka_unit_test(test_copy_unasked),
        cmocka_unit_test(test_disconnect),
        cmocka_unit_test(test_disconnect_after_failed_write),
        cmocka_unit_test(test_errors_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
